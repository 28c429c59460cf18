/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/run/folder.h"

#include "experiments/base/env.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

/* Its parts, and how what a run leaves in them ends.  The last one is made for --keep-program only.
 */
static const struct {
  const char *dir, *suffix;
} parts[] = { { "journal", ".jsonl" }, { "series", ".csv" }, { "replay", ".json" },
              { "log", ".err" },       { "env", ".json" },   { "derived", "" },
              { "program", "" } };
enum { PARTS = sizeof parts / sizeof *parts };

perp_status perp_folder_make(perp_ctx *ctx, const char *dir)
{
  PERP_TRY(perp_make_dirs(ctx, dir));
  for (int part = 0; part < PARTS - 1; part++) PERP_TRY(perp_make_part(ctx, dir, parts[part].dir));
  return PERP_OK;
}

perp_status perp_folder_lock(perp_ctx *ctx, const char *dir, bool shared, int *fd)
{
  char *path = perp_xprintf("%s/.lock", dir);
  *fd = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
  free(path);
  if (*fd < 0) return PERP_FAIL(ctx, PERP_ERR_IO, "cannot write into %s: %s", dir, strerror(errno));
  if (flock(*fd, (shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_IO,
                   "another perp run is using %s: wait for it, or choose another folder (-o)", dir);
}

void perp_folder_forget(const char *dir)
{
  for (int part = 0; part < PARTS; part++) {
    char *path = perp_xprintf("%s/%s", dir, parts[part].dir);
    perp_remove_files(path, parts[part].suffix);
    free(path);
  }
}

perp_status perp_folder_study(perp_ctx *ctx, const char *dir, const perp_study *study)
{
  char *path = perp_xprintf("%s/study.yaml", dir);
  perp_out out;
  perp_status status = perp_out_open(ctx, path, &out);
  free(path);
  PERP_TRY(status);
  fprintf(out.f, "# %s%s%s, as it was run, with profile and --set merged\n", study->name,
          study->profile != NULL ? ", profile " : "", study->profile != NULL ? study->profile : "");
  perp_tree_write(study->root, out.f);
  return perp_out_close(ctx, &out, true);
}

perp_status perp_folder_env(perp_ctx *ctx, const char *dir)
{
  char id[17], *text = perp_env_json(true);
  perp_env_id(id);
  char *path = perp_xprintf("%s/env/%s.json", dir, id);
  perp_status status = perp_exists(path) ? PERP_OK : perp_write_file(ctx, path, text, strlen(text));
  free(path);
  free(text);
  return status;
}

char *perp_folder_log_tail(const char *path)
{
  enum { TAIL = 2000 };
  size_t n = 0;
  char *text = perp_read_file(path, &n);
  if (text == NULL) return NULL;
  if (n == 0) unlink(path);
  char *from = text + (n > TAIL ? n - TAIL : 0);
  while (((unsigned char)*from & 0xc0) == 0x80) from++; /* not in the middle of a letter */
  memmove(text, from, strlen(from) + 1);
  /* the journal must stay readable whatever a child printed */
  for (char *at = text; *at != '\0'; at++)
    if (((unsigned char)*at < 0x20 && *at != '\n' && *at != '\t') || (unsigned char)*at >= 0x80)
      *at = '?';
  if (text[0] != '\0') return text;
  free(text);
  return NULL;
}
