/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/templates.h"

#include "experiments/base/build.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>

/* Template files are where the studies are: the source tree that the launcher names, the installed
 * ones, the tree the program was built in. */
static char *template_text(perp_ctx *ctx, const char *name)
{
  const char *home = getenv("PERP_HOME");
  char *dirs[] = { home != NULL ? perp_xprintf("%s/experiments/templates", home) : NULL,
                   perp_xstrdup(PERP_TEMPLATES_INSTALLED), perp_xstrdup(PERP_TEMPLATES_SOURCE) };
  char *text = NULL;
  for (int i = 0; i < 3; i++) {
    if (dirs[i] == NULL) continue;
    char *path = perp_xprintf("%s/%s.in", dirs[i], name);
    if (text == NULL) text = perp_read_file(path, NULL);
    free(path);
    free(dirs[i]);
  }
  if (text == NULL) PERP_FAIL(ctx, PERP_ERR_IO, "the template %s.in is missing", name);
  return text;
}

perp_status perp_template_fill(perp_ctx *ctx, const char *name, const perp_mark *marks, int n,
                               perp_text *out)
{
  char *text = template_text(ctx, name);
  if (text == NULL) return PERP_ERR_IO;
  for (const char *s = text; *s != '\0';) {
    size_t length = 0;
    for (int i = 0; *s == '@' && i < n && length == 0; i++)
      if (strncmp(s, marks[i].mark, strlen(marks[i].mark)) == 0) {
        length = strlen(marks[i].mark);
        perp_text_add(out, "%s", marks[i].value);
      }
    if (length == 0) perp_text_put(out, s, length = 1);
    s += length;
  }
  free(text);
  return PERP_OK;
}
