/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/series.h"

#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SERIES_FIXED = 9 };

perp_status perp_series_create(perp_ctx *ctx, const perp_measure *m, perp_series *s)
{
  static const char *const names[SERIES_FIXED] = { "t[s]",           "drift.pos", "drift.pos.pre",
                                                   "drift.pos.mean", "drift.vel", "energy[J]",
                                                   "err.q",          "err.v",     "err.tip[m]" };
  s->columns = SERIES_FIXED + m->nq + m->nv;
  s->header = calloc((size_t)s->columns, sizeof *s->header);
  if (s->header == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the series");
  for (int i = 0; i < SERIES_FIXED; i++) snprintf(s->header[i], PERP_NAME_MAX, "%s", names[i]);
  for (int i = 0; i < m->nq; i++) snprintf(s->header[SERIES_FIXED + i], PERP_NAME_MAX, "q%d", i);
  for (int i = 0; i < m->nv; i++)
    snprintf(s->header[SERIES_FIXED + m->nq + i], PERP_NAME_MAX, "v%d", i);
  return PERP_OK;
}

perp_status perp_series_row(perp_ctx *ctx, perp_series *s, const perp_measure *m, const double *q,
                            const double *v)
{
  if (s->rows == s->room) {
    int cap = 2 * s->room + 256;
    double *values = realloc(s->values, (size_t)cap * (size_t)s->columns * sizeof *values);
    if (values == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the series");
    s->values = values;
    s->room = cap;
  }
  double *row = s->values + (size_t)s->rows++ * (size_t)s->columns;
  const double fixed[SERIES_FIXED] = {
    m->now.t,      m->now.drift_pos, m->now.drift_pre, m->now.drift_pos_mean, m->now.drift_vel,
    m->now.energy, m->now.err_q,     m->now.err_v,     m->now.err_tip
  };
  memcpy(row, fixed, sizeof fixed);
  memcpy(row + SERIES_FIXED, q, (size_t)m->nq * sizeof *row);
  if (m->nv > 0) memcpy(row + SERIES_FIXED + m->nq, v, (size_t)m->nv * sizeof *row);
  return PERP_OK;
}

/* ---- the file ---- */

static bool *wanted_columns(const perp_series_file *f, const perp_series *s)
{
  bool *wanted = perp_xalloc((size_t)s->columns + 1, sizeof *wanted);
  for (int c = 0; c < s->columns; c++) {
    size_t n = strcspn(s->header[c], "[");
    size_t letters = strspn(s->header[c], "abcdefghijklmnopqrstuvwxyz");
    wanted[c] = f->n_fields == 0 || c == 0; /* the time always */
    for (int i = 0; i < f->n_fields; i++) {
      const char *field = f->fields[i];
      bool whole = strlen(field) == n && strncmp(field, s->header[c], n) == 0;
      /* "q" stands for q0, q1, ... */
      bool group = strlen(field) == letters && letters < n &&
                   strspn(s->header[c] + letters, "0123456789") == n - letters &&
                   strncmp(field, s->header[c], letters) == 0;
      wanted[c] = wanted[c] || whole || group;
    }
  }
  return wanted;
}

static void write_row(FILE *out, const perp_series *s, const bool *wanted, int r)
{
  const char *comma = "";
  for (int c = 0; c < s->columns; c++) {
    if (!wanted[c]) continue;
    fputs(comma, out);
    comma = ",";
    double v = r >= 0 ? s->values[(size_t)r * (size_t)s->columns + (size_t)c] : 0;
    char text[40] = "";
    if (r < 0)
      fputs(s->header[c], out);
    else if (isfinite(v)) {
      perp_format_real(v, text, sizeof text);
      fputs(text, out);
    } else if (!isnan(v))
      fputs(v > 0 ? "inf" : "-inf", out);
  }
  putc('\n', out);
}

void perp_series_add(perp_series_file *f, const perp_series *s)
{
  if (f->failed || s->columns == 0 || (f->out != NULL && f->rows == s->rows)) return;
  bool *wanted = wanted_columns(f, s);
  if (f->out == NULL) {
    f->out = strcmp(f->path, "-") == 0 ? stdout : perp_growing_open(f->path);
    if (f->out != NULL) write_row(f->out, s, wanted, -1);
  }
  for (; f->out != NULL && f->rows < s->rows; f->rows++) write_row(f->out, s, wanted, f->rows);
  f->failed = f->out == NULL || fflush(f->out) != 0 || ferror(f->out);
  free(wanted);
}

bool perp_series_close(perp_series_file *f)
{
  bool good = !f->failed;
  if (f->out != NULL && f->out != stdout) good = fclose(f->out) == 0 && good;
  f->out = NULL;
  return good;
}
