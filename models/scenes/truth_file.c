/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reference files as truths: comma-separated, one header line, first column t. */
#include "models/scenes/build.h"
#include "models/scenes/paths.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct file_truth {
  int rows, n;
  double *t, *value; /* [rows], [rows * n] row-major */
  perp_truth_map *map;
  void *map_user;
};

/* A run reaches a time t_k as k h: rounding leaves it this close to the grid. */
static bool same_time(double t, double grid)
{
  return fabs(t - grid) <= 1e-10 * fmax(1, grid);
}

static int first_at(const struct file_truth *f, double t)
{
  int lo = 0, hi = f->rows; /* the first row that is not before t */
  while (lo < hi) {
    int mid = lo + (hi - lo) / 2;
    if (f->t[mid] < t && !same_time(t, f->t[mid]))
      lo = mid + 1;
    else
      hi = mid;
  }
  return lo;
}

static double truth_file_next_time(void *user, double t)
{
  const struct file_truth *f = user;
  int row = first_at(f, t);
  return row < f->rows ? f->t[row] : HUGE_VAL;
}

static perp_status truth_file_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  const struct file_truth *f = user;
  int row = first_at(f, t);
  if (row == f->rows || !same_time(t, f->t[row]))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the reference has no row at t = %.17g s", t);
  f->map(f->map_user, f->t[row], f->value + (size_t)row * (size_t)f->n, q, v);
  return PERP_OK;
}

static void truth_file_destroy(void *user)
{
  struct file_truth *f = user;
  if (f == NULL) return;
  free(f->map_user);
  free(f->t);
  free(f->value);
  free(f);
}

/* Where reference files live: see perp_scene_create. */
static FILE *open_reference(perp_ctx *ctx, const char *file)
{
  const char *home = getenv("PERP_HOME");
  const char *const roots[][2] = { { home, "/tests/data/reference/" },
                                   { PERP_SOURCE_DIR, "/tests/data/reference/" },
                                   { PERP_DATA_DIR, "/reference/" } };
  char path[4096];
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++) {
    if (roots[i][0] == NULL || roots[i][0][0] == '\0') continue;
    snprintf(path, sizeof path, "%s%s%s", roots[i][0], roots[i][1], file);
    FILE *in = fopen(path, "r");
    if (in != NULL) return in;
  }
  PERP_FAIL(
      ctx, PERP_ERR_IO,
      "reference file %s is neither in tests/data/reference of %s nor in %s; set PERP_HOME to "
      "the source tree, or use truth=none where the scene has that option",
      file, home != NULL ? home : PERP_SOURCE_DIR, PERP_DATA_DIR "/reference");
  return NULL;
}

/* Index of each wanted name in the header line; -1 when missing. */
static void find_columns(char *header, int n, const char *const *names, int *column)
{
  for (int i = 0; i < n; i++) column[i] = -1;
  char *save = NULL;
  int c = 0;
  for (char *s = strtok_r(header, ",\r\n", &save); s != NULL;
       s = strtok_r(NULL, ",\r\n", &save), c++)
    for (int i = 0; i < n; i++)
      if (strcmp(s, names[i]) == 0) column[i] = c;
}

static perp_status truth_file_read_rows(perp_ctx *ctx, FILE *in, const char *file,
                                        struct file_truth *f, const char *const *names, int *column,
                                        char **line, size_t *size)
{
  if (getline(line, size, in) < 0 || strncmp(*line, "t,", 2) != 0)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: expected a header that starts with 't,'", file);
  find_columns(*line, f->n, names, column);
  for (int i = 0; i < f->n; i++)
    if (column[i] < 0)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:1: no column '%s'", file, names[i]);

  int room = 0;
  for (int number = 2; getline(line, size, in) >= 0; number++) {
    if (f->rows == room) {
      room = 2 * room + 64;
      double *t = realloc(f->t, (size_t)room * sizeof *t);
      if (t != NULL) f->t = t;
      double *value = realloc(f->value, (size_t)room * (size_t)f->n * sizeof *value);
      if (value != NULL) f->value = value;
      if (t == NULL || value == NULL)
        return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %s", file);
    }
    double *row = f->value + (size_t)f->rows * (size_t)f->n;
    char *s = *line;
    int found = 0;
    for (int c = 0;; c++) {
      char *end;
      double x = strtod(s, &end);
      if (end == s || !isfinite(x))
        return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: column %d is not a number", file, number,
                         c + 1);
      if (c == 0) f->t[f->rows] = x;
      for (int i = 0; i < f->n; i++)
        if (column[i] == c) row[i] = x, found++;
      if (*end != ',') break;
      s = end + 1;
    }
    if (found < f->n)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: the row is too short", file, number);
    if (f->rows > 0 && f->t[f->rows] <= f->t[f->rows - 1])
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: time does not rise", file, number);
    f->rows++;
  }
  if (f->rows == 0) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: no rows", file);
  return PERP_OK;
}

perp_status perp_truth_file(perp_ctx *ctx, perp_scene *scene, const char *file, double uncertainty,
                            int n, const char *const *names, perp_truth_map *map, void *map_user)
{
  struct file_truth *f = calloc(1, sizeof *f);
  int *column = malloc((size_t)n * sizeof *column);
  char *line = NULL;
  size_t size = 0;
  perp_status status = PERP_OK;
  if (f == NULL || column == NULL || scene->n_truths == PERP_SCENE_TRUTHS) {
    free(map_user);
    free(f);
    f = NULL;
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no room for the reference %s", file);
  } else {
    *f = (struct file_truth){ .n = n, .map = map, .map_user = map_user };
    FILE *in = open_reference(ctx, file);
    status = in == NULL ? PERP_ERR_IO
                        : truth_file_read_rows(ctx, in, file, f, names, column, &line, &size);
    if (in != NULL) fclose(in);
  }
  free(column);
  free(line);
  if (status != PERP_OK) {
    truth_file_destroy(f);
    return status;
  }
  perp_truth *truth = &scene->truth[scene->n_truths++];
  *truth = (perp_truth){ .t_end = f->t[f->rows - 1],
                         .uncertainty = uncertainty,
                         .user = f,
                         .state = truth_file_state,
                         .next_time = truth_file_next_time,
                         .destroy = truth_file_destroy };
  snprintf(truth->what, sizeof truth->what, "file %s", file);
  return PERP_OK;
}
