/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/journal.h"
#include "experiments/base/json.h"
#include "experiments/base/memory.h"
#include "solvers/core/input.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static const double sync_interval = 2; /* s */

perp_status perp_journal_open(perp_ctx *ctx, const char *dir, perp_journal *journal)
{
  *journal = (perp_journal){ .fd = -1 };
  struct utsname machine = { 0 };
  uname(&machine);
  machine.nodename[strcspn(machine.nodename, "./")] = '\0';
  for (int n = 0; n < 10000 && journal->fd < 0; n++) {
    free(journal->path);
    journal->path = perp_xprintf("%s/%s-%ld-%d.jsonl", dir, machine.nodename, (long)getpid(), n);
    journal->fd = open(journal->path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (journal->fd < 0 && errno != EEXIST) break;
  }
  journal->synced = perp_clock_wall();
  if (journal->fd >= 0) return PERP_OK;
  PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s: %s", journal->path, strerror(errno));
  free(journal->path);
  journal->path = NULL;
  return PERP_ERR_IO;
}

/* What is written is on the disk.  A file system that knows no such thing (EINVAL, EROFS: a pipe,
 * some of FUSE) has it as safe as it can. */
static perp_status journal_sync(perp_ctx *ctx, const perp_journal *journal)
{
  int failed;
  do failed = fdatasync(journal->fd);
  while (failed != 0 && errno == EINTR);
  if (failed == 0 || errno == EINVAL || errno == EROFS) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s to the disk: %s", journal->path,
                   strerror(errno));
}

perp_status perp_journal_write(perp_ctx *ctx, perp_journal *journal, const char *line, size_t n)
{
  char *whole = perp_xalloc(n + 1, 1);
  memcpy(whole, line, n);
  whole[n] = '\n';
  ssize_t written;
  do written = write(journal->fd, whole, n + 1);
  while (written < 0 && errno == EINTR);
  int why = errno;
  free(whole);
  if (written != (ssize_t)(n + 1))
    return PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s: %s", journal->path,
                     written < 0 ? strerror(why) : "disk full");
  double now = perp_clock_wall();
  if (now - journal->synced > sync_interval) {
    journal->synced = now;
    return journal_sync(ctx, journal);
  }
  return PERP_OK;
}

perp_status perp_journal_close(perp_ctx *ctx, perp_journal *journal)
{
  if (journal->path == NULL) return PERP_OK;
  perp_status status = journal_sync(ctx, journal);
  if (close(journal->fd) != 0 && status == PERP_OK)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot write %s: %s", journal->path, strerror(errno));
  free(journal->path);
  *journal = (perp_journal){ .fd = -1 };
  return status;
}

static int is_journal(const struct dirent *entry)
{
  size_t n = strlen(entry->d_name);
  return n > 6 && strcmp(entry->d_name + n - 6, ".jsonl") == 0;
}

/* Line by line: journals may be longer than the memory. */
static perp_status journal_read_file(perp_ctx *ctx, const char *path, perp_journal_fn *each,
                                     void *user, int *torn)
{
  FILE *file;
  char *line = NULL;
  size_t size = 0;
  ssize_t n;
  perp_status status;
  PERP_TRY(perp_input_open(ctx, path, HUGE_VAL, &file));
  while ((status = perp_input_line(ctx, path, file, &line, &size, &n)) == PERP_OK && n > 0) {
    if (line[n - 1] == '\n') n--;
    json_t *object = perp_json_read(line, (size_t)n);
    if (json_is_object(object))
      each(user, object);
    else if (n > 0)
      ++*torn;
    json_decref(object);
  }
  free(line);
  fclose(file);
  return status;
}

perp_status perp_journal_read(perp_ctx *ctx, const char *dir, perp_journal_fn *each, void *user,
                              int *torn)
{
  *torn = 0;
  struct dirent **entry = NULL;
  int n = scandir(dir, &entry, is_journal, alphasort);
  perp_status status = PERP_OK;
  if (n < 0)
    return errno == ENOENT
               ? PERP_OK
               : PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", dir, strerror(errno));
  for (int i = 0; i < n; i++) {
    char *path = perp_xprintf("%s/%s", dir, entry[i]->d_name);
    if (status == PERP_OK) status = journal_read_file(ctx, path, each, user, torn);
    free(path);
    free(entry[i]);
  }
  free(entry);
  return status;
}
