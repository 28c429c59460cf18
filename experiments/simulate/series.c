/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/series.h"

#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_FIXED = 9 };

perp_status perp_series_create(perp_ctx *ctx, const perp_measure *measure,
                               const perp_force_log *log, perp_series *series)
{
  static const char *const names[SERIES_FIXED] = { "t[s]",           "drift.pos", "drift.pos.pre",
                                                   "drift.pos.mean", "drift.vel", "energy[J]",
                                                   "err.q",          "err.v",     "err.tip[m]" };
  series->forces = SERIES_FIXED + measure->nq + measure->nv;
  series->columns = series->forces + (log != NULL ? log->columns : 0);
  series->header = calloc((size_t)series->columns, sizeof *series->header);
  if (series->header == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the series");
  for (int i = 0; i < SERIES_FIXED; i++)
    snprintf(series->header[i], PERP_HEADER_MAX, "%s", names[i]);
  for (int i = 0; i < measure->nq; i++)
    snprintf(series->header[SERIES_FIXED + i], PERP_HEADER_MAX, "q%d", i);
  for (int i = 0; i < measure->nv; i++)
    snprintf(series->header[SERIES_FIXED + measure->nq + i], PERP_HEADER_MAX, "v%d", i);
  for (int column = series->forces; column < series->columns; column++)
    memcpy(series->header[column], log->header[column - series->forces], PERP_HEADER_MAX);
  return PERP_OK;
}

void perp_series_forces(perp_series *series, int row, const perp_force_log *log)
{
  double *to = series->values + (size_t)row * (size_t)series->columns + series->forces;
  memcpy(to, log->row, (size_t)log->columns * sizeof *to);
}

perp_status perp_series_row(perp_ctx *ctx, perp_series *series, const perp_measure *measure,
                            const double *q, const double *v)
{
  if (series->rows == series->room) {
    int cap = 2 * series->room + 256;
    double *values = realloc(series->values,
                             (size_t)cap * (size_t)series->columns * sizeof *values);
    if (values == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the series");
    series->values = values;
    series->room = cap;
  }
  double *row = series->values + (size_t)series->rows++ * (size_t)series->columns;
  const double fixed[SERIES_FIXED] = { measure->now.t,         measure->now.drift_pos,
                                       measure->now.drift_pre, measure->now.drift_pos_mean,
                                       measure->now.drift_vel, measure->now.energy,
                                       measure->now.err_q,     measure->now.err_v,
                                       measure->now.err_tip };
  memcpy(row, fixed, sizeof fixed);
  memcpy(row + SERIES_FIXED, q, (size_t)measure->nq * sizeof *row);
  if (measure->nv > 0)
    memcpy(row + SERIES_FIXED + measure->nq, v, (size_t)measure->nv * sizeof *row);
  for (int column = series->forces; column < series->columns; column++) row[column] = (double)NAN;
  return PERP_OK;
}

/* ---- the file ---- */

static bool *wanted_columns(const perp_series_file *file, const perp_series *series)
{
  bool *wanted = perp_xalloc((size_t)series->columns + 1, sizeof *wanted);
  for (int column = 0; column < series->columns; column++) {
    size_t n = strcspn(series->header[column], "[");
    size_t letters = strspn(series->header[column], "abcdefghijklmnopqrstuvwxyz");
    wanted[column] = file->n_fields == 0 || column == 0; /* the time always */
    for (int i = 0; i < file->n_fields; i++) {
      const char *field = file->fields[i];
      bool whole = strlen(field) == n && strncmp(field, series->header[column], n) == 0;
      /* "q" stands for q0, q1, ... */
      bool group = strlen(field) == letters && letters < n &&
                   strspn(series->header[column] + letters, "0123456789") == n - letters &&
                   strncmp(field, series->header[column], letters) == 0;
      /* "elbow" stands for all forces of that joint */
      const size_t length = strlen(field);
      const bool part = column >= series->forces && length < n &&
                        series->header[column][length] == '.' &&
                        strncmp(field, series->header[column], length) == 0;
      wanted[column] = wanted[column] || whole || group || part;
    }
  }
  return wanted;
}

static void write_row(FILE *out, const perp_series *series, const bool *wanted, int r)
{
  const char *comma = "";
  for (int column = 0; column < series->columns; column++) {
    if (!wanted[column]) continue;
    fputs(comma, out);
    comma = ",";
    double v = r >= 0 ? series->values[(size_t)r * (size_t)series->columns + (size_t)column] : 0;
    char text[40] = "";
    if (r < 0)
      fputs(series->header[column], out);
    else if (isfinite(v)) {
      perp_format_real(v, text, sizeof text);
      fputs(text, out);
    } else if (!isnan(v))
      fputs(v > 0 ? "inf" : "-inf", out);
  }
  putc('\n', out);
}

void perp_series_add(perp_series_file *file, const perp_series *series)
{
  if (file->failed || series->columns == 0 || (file->out != NULL && file->rows == series->rows))
    return;
  bool *wanted = wanted_columns(file, series);
  if (file->out == NULL) {
    file->out = strcmp(file->path, "-") == 0 ? stdout : perp_growing_open(file->path);
    if (file->out != NULL) write_row(file->out, series, wanted, -1);
  }
  const int ready = series->waits ? series->row : series->rows; /* forces come a step later */
  for (; file->out != NULL && file->rows < ready; file->rows++)
    write_row(file->out, series, wanted, file->rows);
  file->failed = file->out == NULL || fflush(file->out) != 0 || ferror(file->out);
  if (file->failed && file->why == 0) file->why = errno;
  free(wanted);
}

bool perp_series_close(perp_series_file *file)
{
  bool good = !file->failed;
  if (file->out != NULL && file->out != stdout && fclose(file->out) != 0) {
    if (good) file->why = errno;
    good = false;
  }
  file->out = NULL;
  errno = file->why;
  return good;
}
