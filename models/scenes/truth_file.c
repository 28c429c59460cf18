/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reference files as truths: comma-separated, one header line, first column t. */
#include "models/scenes/build.h"
#include "models/scenes/paths.h"
#include "solvers/core/input.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_BYTES = 1 << 30 };

struct file_truth {
  int rows, n, nq;
  double *row; /* [rows][1 + n]: t, then the columns that are wanted; borrowed when: */
  bool shared;
  perp_truth_map *map;
  max_align_t map_user[];
};

static double *row_at(const struct file_truth *truth, int row)
{
  return truth->row + (size_t)row * (size_t)(1 + truth->n);
}

static int first_at(const struct file_truth *truth, double t)
{
  return perp_truth_first(truth->row, truth->rows, truth->n, t);
}

static double truth_file_next_time(void *user, double t)
{
  const struct file_truth *truth = user;
  int row = first_at(truth, t);
  return row < truth->rows ? row_at(truth, row)[0] : HUGE_VAL;
}

static perp_status truth_file_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct file_truth *truth = user;
  const double *row = row_at(truth, first_at(truth, t));
  if (row == row_at(truth, truth->rows) || !perp_truth_same(t, row[0]))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the reference file has no row at t = %.17g s", t);
  if (truth->map != NULL) {
    truth->map(truth->map_user, row[0], row + 1, q, v);
  } else {
    memcpy(q, row + 1, (size_t)truth->nq * sizeof *q);
    memcpy(v, row + 1 + truth->nq, (size_t)(truth->n - truth->nq) * sizeof *v);
  }
  return PERP_OK;
}

static void truth_file_destroy(void *user)
{
  struct file_truth *truth = user;
  if (!truth->shared) free(truth->row);
  free(truth);
}

/* ---- files that were read before ----
 * A process that runs one short cell after the other would spend most of its time on reading
 * digits.  What is kept stays for the life of the process; a file that is another one by now is
 * read again. */

enum { KEPT = 16 };
static struct kept {
  char key[640]; /* the file as the system knows it, and the columns */
  int rows;
  double *row;
} kept[KEPT];
static int n_kept;
static pthread_mutex_t kept_lock = PTHREAD_MUTEX_INITIALIZER;

/* "": none, it does not fit. */
static void truth_file_key(FILE *in, int n, const char *const *names, char *key, size_t size)
{
  struct stat file;
  key[0] = '\0';
  if (fstat(fileno(in), &file) != 0) return;
  size_t used = (size_t)snprintf(key, size, "%lld %lld %lld %lld.%09ld", (long long)file.st_dev,
                                 (long long)file.st_ino, (long long)file.st_size,
                                 (long long)file.st_mtim.tv_sec, file.st_mtim.tv_nsec);
  for (int i = 0; i < n && used < size; i++)
    used += (size_t)snprintf(key + used, size - used, ",%s", names[i]);
  if (used >= size) key[0] = '\0';
}

static bool truth_file_known(const char *key, struct file_truth *truth)
{
  pthread_mutex_lock(&kept_lock);
  for (int i = 0; i < n_kept && !truth->shared; i++)
    if (strcmp(kept[i].key, key) == 0) {
      truth->rows = kept[i].rows;
      truth->row = kept[i].row;
      truth->shared = true;
    }
  pthread_mutex_unlock(&kept_lock);
  return truth->shared;
}

static void truth_file_keep(const char *key, struct file_truth *truth)
{
  pthread_mutex_lock(&kept_lock);
  if (n_kept < KEPT && key[0] != '\0') {
    struct kept *k = &kept[n_kept++];
    snprintf(k->key, sizeof k->key, "%s", key);
    k->rows = truth->rows;
    k->row = truth->row;
    truth->shared = true;
  }
  pthread_mutex_unlock(&kept_lock);
}

/* Where reference files live: see perp_scene_create. */
static perp_status truth_file_open(perp_ctx *ctx, const char *file, FILE **in)
{
  const char *home = getenv("PERP_HOME");
  const char *const roots[][2] = { { home, "/tests/data/reference/" },
                                   { PERP_SOURCE_DIR, "/tests/data/reference/" },
                                   { PERP_DATA_DIR, "/reference/" } };
  char path[4096];
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    if (roots[i][0] == NULL || roots[i][0][0] == '\0') continue;
    snprintf(path, sizeof path, "%s%s%s", roots[i][0], roots[i][1], file);
    if (access(path, F_OK) == 0) return perp_input_open(ctx, path, MOST_BYTES, in);
  }
  return PERP_FAIL(ctx, PERP_ERR_IO,
                   "reference file %s exists neither in tests/data/reference of %s nor in %s; set "
                   "PERP_HOME to the source tree, or use truth=none if the scene has that option",
                   file, home != NULL ? home : PERP_SOURCE_DIR, PERP_DATA_DIR "/reference");
}

/* Index of each wanted name in the header line; -1 when missing. */
static void find_columns(char *header, int n, const char *const *names, int *column)
{
  for (int i = 0; i < n; i++) column[i] = -1;
  char *save = NULL, *at = strtok_r(header, ",\r\n", &save);
  for (int c = 0; at != NULL; at = strtok_r(NULL, ",\r\n", &save), c++)
    for (int i = 0; i < n; i++)
      if (strcmp(at, names[i]) == 0) column[i] = c;
}

/* one line into the next row, for which there is room */
static perp_status truth_file_read_row(perp_ctx *ctx, const char *file, int number,
                                       const char *text, const int *column,
                                       struct file_truth *truth)
{
  double *row = row_at(truth, truth->rows);
  int found = 0;
  for (int c = 0;; c++) {
    char *end;
    double x = strtod(text, &end);
    if (end == text || !isfinite(x))
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: column %d is not a number", file, number,
                       c + 1);
    if (c == 0) row[0] = x;
    for (int i = 0; i < truth->n; i++)
      if (column[i] == c) row[1 + i] = x, found++;
    if (*end != ',') break;
    text = end + 1;
  }
  if (found < truth->n)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: the row has too few columns", file, number);
  if (truth->rows > 0 && row[0] <= row_at(truth, truth->rows - 1)[0])
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: the time must increase from row to row", file,
                     number);
  truth->rows++;
  return PERP_OK;
}

static perp_status truth_file_read(perp_ctx *ctx, FILE *in, const char *file,
                                   struct file_truth *truth, const char *const *names, int *column,
                                   char **line, size_t *size)
{
  ssize_t n = 0;
  PERP_TRY(perp_input_line(ctx, file, in, line, size, &n));
  if (n < 0 || strncmp(*line, "t,", 2) != 0)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: expected a header that starts with 't,'", file);
  find_columns(*line, truth->n, names, column);
  for (int i = 0; i < truth->n; i++)
    if (column[i] < 0)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: the column '%s' is missing", file, names[i]);
  for (int number = 2, room = 0;; number++) {
    PERP_TRY(perp_input_line(ctx, file, in, line, size, &n));
    if (n < 0) break;
    if (truth->rows == room) {
      room = 2 * room + 64;
      double *bigger = realloc(truth->row, (size_t)room * (size_t)(1 + truth->n) * sizeof *bigger);
      if (bigger == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", file);
      truth->row = bigger;
    }
    PERP_TRY(truth_file_read_row(ctx, file, number, *line, column, truth));
  }
  return truth->rows > 0 ? PERP_OK
                         : PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: the file has no rows", file);
}

perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, const void *user,
                            size_t size)
{
  char what[sizeof scene->truth->what], *line = NULL;
  snprintf(what, sizeof what, "file %s", file);
  FILE *in;
  PERP_TRY(truth_file_open(ctx, file, &in));
  struct file_truth *file_truth = calloc(1, sizeof *file_truth + size);
  int *column = malloc((size_t)n * sizeof *column);
  size_t room = 0;
  perp_status status = PERP_OK;
  if (file_truth == NULL || column == NULL) {
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", file);
  } else {
    *file_truth = (struct file_truth){ .n = n, .map = map };
    file_truth->nq = scene->model != NULL ? perp_model_nq(scene->model) : scene->ode->nq;
    if (size > 0) memcpy(file_truth->map_user, user, size);
    char key[sizeof kept[0].key];
    truth_file_key(in, n, names, key, sizeof key);
    if (!truth_file_known(key, file_truth)) {
      status = truth_file_read(ctx, in, file, file_truth, names, column, &line, &room);
      if (status == PERP_OK) truth_file_keep(key, file_truth);
    }
  }
  fclose(in);
  free(column);
  free(line);
  perp_truth *truth = status == PERP_OK ? perp_truth_slot(ctx, scene, what) : NULL;
  if (truth == NULL) {
    if (file_truth != NULL) truth_file_destroy(file_truth);
    return status == PERP_OK ? PERP_ERR_NOMEM : status;
  }
  truth->t_end = row_at(file_truth, file_truth->rows - 1)[0];
  truth->uncertainty = uncertainty;
  truth->user = file_truth;
  truth->state = truth_file_state;
  truth->next_time = truth_file_next_time;
  truth->destroy = truth_file_destroy;
  return PERP_OK;
}
