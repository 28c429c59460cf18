/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading whole files and telling their kind. */
#include "solvers/lcp/io/io.h"

#include "solvers/core/input.h"
#include "solvers/lcp/io/io_scan.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- whole files ---- */

/* What a device at standard input, which may have no end, gives at most. */
static const double device_bytes = 1 << 20;

/* How much may be read; more than that of a regular file is refused at once. */
static perp_status io_open(perp_ctx *ctx, const char *path, double most, FILE **file)
{
  struct stat st;
  PERP_TRY(perp_input_open(ctx, path, HUGE_VAL, file));
  const bool large = fstat(fileno(*file), &st) == 0 && (double)st.st_size > most;
  return large ? perp_lcp_affords(ctx, (double)st.st_size, path) : PERP_OK;
}

static perp_status io_read_all(perp_ctx *ctx, const char *path, FILE *file, double most,
                               char **data, size_t *size)
{
  size_t room = 0;
  for (;;) {
    if ((double)*size > most) /* standard input, or a file that grows */
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s has more than the limit of %.3g MB%s", path,
                       most / 1e6, most > device_bytes ? "; --memory SIZE raises it" : "");
    if (*size == room) {
      room = (size_t)fmin(room > 0 ? 2 * (double)room : 1 << 16, most + 2);
      char *more = realloc(*data, room);
      if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for the file", path);
      *data = more;
    }
    const size_t got = fread(*data + *size, 1, room - *size, file);
    *size += got;
    if (ferror(file))
      return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path, strerror(errno));
    if (got == 0) return PERP_OK;
  }
}

static perp_status io_load(perp_ctx *ctx, const char *path, char **data, size_t *size)
{
  const bool standard = strcmp(path, "-") == 0;
  struct stat st;
  double most = ctx != NULL && ctx->memory > 0 ? ctx->memory : PERP_MEMORY;
  if (standard && fstat(STDIN_FILENO, &st) == 0 && S_ISCHR(st.st_mode))
    most = fmin(most, device_bytes);
  FILE *file = stdin;
  *data = NULL;
  *size = 0;
  perp_status status = standard ? PERP_OK : io_open(ctx, path, most, &file);
  if (status == PERP_OK)
    status = io_read_all(ctx, standard ? "standard input" : path, file, most, data, size);
  if (!standard && file != NULL) fclose(file);
  if (status != PERP_OK) {
    free(*data);
    *data = NULL;
  }
  return status;
}

static bool io_starts(const char *data, size_t size, const char *with)
{
  size_t n = strlen(with);
  return size >= n && memcmp(data, with, n) == 0;
}

static const char hdf5_magic[] = "\211HDF\r\n\032\n";

/* What was read makes sense and is finite: entries of one place add up, and the sum can overflow.
 */
static perp_status io_check(perp_ctx *ctx, const char *name, int line,
                            const perp_lcp_problem *problem)
{
  bool finite = true;
  perp_ctx why;
  perp_ctx_init(&why);
  if (perp_lcp_check(&why, &problem->p, &finite) != PERP_OK)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: %s", name, line, why.msg);
  if (!finite)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: an entry of A or b overflows", name, line);
  return PERP_OK;
}

/* Text formats.  companion: the second file of a Matrix Market pair, NULL when there is none. */
static perp_status io_read_text(perp_ctx *ctx, const char *name, const char *data, size_t size,
                                const char *companion, size_t companion_size,
                                const char *companion_name, perp_lcp_problem *out)
{
  perp_scan scan;
  *out = (perp_lcp_problem){ 0 };
  bool own = io_starts(data, size, "perp-lcp"), mtx = io_starts(data, size, "%%MatrixMarket");
  size_t lead = 0;
  while (lead < size && perp_scan_blank(data[lead])) lead++;
  bool json = lead < size && data[lead] == '{';
  if (size == 0) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: the file is empty", name);
  PERP_TRY(perp_scan_open(ctx, name, data, size, own ? '#' : mtx ? '%' : '\0', &scan));
  perp_status status = own    ? perp_lcp_read_own(&scan, out)
                       : mtx  ? perp_lcp_read_mtx(&scan, companion, companion_size, companion_name,
                                                  out)
                       : json ? perp_lcp_read_json(&scan, out)
                              : perp_lcp_read_dat(&scan, out);
  int line = scan.line;
  perp_scan_close(&scan);
  if (status == PERP_OK) {
    status = io_check(ctx, name, line, out);
  } else if (status == PERP_ERR_NOMEM && ctx != NULL) { /* a size that the machine does not have */
    char why[sizeof ctx->msg];
    snprintf(why, sizeof why, "%s", ctx->msg);
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: %s", name, line, why);
  }
  if (status != PERP_OK) perp_lcp_problem_free(out);
  return status;
}

perp_status perp_lcp_read_memory(perp_ctx *ctx, const char *name, const char *data, size_t size,
                                 perp_lcp_problem *out)
{
  return io_read_text(ctx, name, data, size, NULL, 0, NULL, out);
}

perp_status perp_lcp_read(perp_ctx *ctx, const char *path, perp_lcp_problem *out)
{
  char *data, *second = NULL, *name = NULL;
  size_t size, second_size = 0;
  *out = (perp_lcp_problem){ 0 };
  PERP_TRY(io_load(ctx, path, &data, &size));
  const char *shown = strcmp(path, "-") == 0 ? "<stdin>" : path;
  perp_status status = PERP_OK;
  if (io_starts(data, size, hdf5_magic)) {
    status = perp_lcp_read_fclib(ctx, path, out);
    if (status == PERP_OK) status = io_check(ctx, path, 1, out);
    if (status != PERP_OK) perp_lcp_problem_free(out);
    free(data);
    return status;
  }
  size_t length = strlen(path);
  if (io_starts(data, size, "%%MatrixMarket") && length > 4 &&
      strcmp(path + length - 4, ".mtx") == 0) {
    if (asprintf(&name, "%.*s_b.mtx", (int)(length - 4), path) < 0) {
      free(data);
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a file name");
    }
    if (access(name, F_OK) == 0) status = io_load(ctx, name, &second, &second_size);
  }
  if (status == PERP_OK)
    status = io_read_text(ctx, shown, data, size, second, second_size, name, out);
  free(data);
  free(second);
  free(name);
  return status;
}

/* ---- vectors ---- */

perp_status perp_lcp_read_vector_memory(perp_ctx *ctx, const char *name, const char *data,
                                        size_t size, int n, double *x)
{
  perp_scan scan;
  char *copy = NULL;
  const char *from = data;
  size_t left = size;
  /* JSON: the numbers of the "lambda" array, as perp lcp solve --json writes it */
  static const char key[] = "\"lambda\"";
  const char *found = memmem(data, size, key, sizeof key - 1);
  int line = 1;
  if (found != NULL && memchr(data, '{', size) != NULL) {
    const char *end = data + size, *open = memchr(found, '[', (size_t)(end - found));
    const char *close = open != NULL ? memchr(open, ']', (size_t)(end - open)) : NULL;
    if (close == NULL)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: the array lambda is missing", name);
    for (const char *at = data; at < open; at++) line += *at == '\n';
    left = (size_t)(close - open) - 1;
    copy = malloc(left + 1);
    if (copy == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d numbers", n);
    for (size_t i = 0; i < left; i++) {
      char c = open[1 + i];
      copy[i] = c == ',' || c == '"' ? ' ' : c;
    }
    from = copy;
  }
  perp_status status = perp_scan_open(ctx, name, from, left, '#', &scan);
  if (status == PERP_OK) {
    char word[2];
    scan.line = line;
    status = perp_scan_reals(&scan, "lambda", (size_t)n, x);
    if (status == PERP_OK && perp_scan_word(&scan, word, sizeof word))
      status = perp_scan_fail(&scan, scan.word_line, "more than n = %d numbers", n);
    perp_scan_close(&scan);
  }
  free(copy);
  return status;
}

perp_status perp_lcp_read_vector(perp_ctx *ctx, const char *path, int n, double *x)
{
  char *data;
  size_t size;
  PERP_TRY(io_load(ctx, path, &data, &size));
  perp_status status = perp_lcp_read_vector_memory(ctx, strcmp(path, "-") == 0 ? "<stdin>" : path,
                                                   data, size, n, x);
  free(data);
  return status;
}
