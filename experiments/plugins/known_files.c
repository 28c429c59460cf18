/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which plug-in files this user has run by studies: a line "hash path" each, in a file of the
 * user's own.  A results folder is data, and data cannot add to it. */
#include "experiments/plugins/plugin_files.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>

/* Its folder; NULL: there is no home. */
static char *known_folder(void)
{
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state != NULL && state[0] == '/') return perp_xprintf("%s/perp", state);
  if (home != NULL && home[0] == '/') return perp_xprintf("%s/.local/state/perp", home);
  return NULL;
}

static char *known_line(const char *path, uint64_t hash)
{
  return perp_xprintf("%016llx %s\n", (unsigned long long)hash, path);
}

/* A whole line of the text. */
static bool known_has(const char *text, const char *line)
{
  for (const char *s = text; s != NULL && *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strncmp(s, line, strlen(line)) == 0) return true;
  return false;
}

bool perp_plugin_known(const char *path, uint64_t hash)
{
  char *folder = known_folder(), *line = known_line(path, hash);
  char *file = folder != NULL ? perp_xprintf("%s/plugins", folder) : NULL;
  char *text = file != NULL ? perp_read_file(file, NULL) : NULL;
  const bool known = strchr(path, '\n') == NULL && known_has(text, line);
  free(text);
  free(file);
  free(line);
  free(folder);
  return known;
}

void perp_plugin_remember(const char *path, uint64_t hash)
{
  char *folder = known_folder();
  perp_ctx quiet;
  perp_ctx_init(&quiet);
  if (folder != NULL && strchr(path, '\n') == NULL && !perp_plugin_known(path, hash) &&
      perp_make_dirs(&quiet, folder) == PERP_OK) {
    char *file = perp_xprintf("%s/plugins", folder), *line = known_line(path, hash);
    FILE *f = fopen(file, "ae"); /* a line at once: several may write */
    if (f != NULL) {
      fputs(line, f);
      fclose(f);
    }
    free(file);
    free(line);
  }
  free(folder);
}
