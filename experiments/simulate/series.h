/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The series of a run: a table of samples in memory, and the CSV file that it becomes. */
#ifndef PERP_SERIES_H
#define PERP_SERIES_H

#include "experiments/metrics/metrics.h"
#include "experiments/simulate/force_log.h"
#include "experiments/simulate/simulate.h"

/* The columns of a run. */
perp_status perp_series_create(perp_ctx *ctx, const perp_measure *measure,
                               const perp_force_log *log, perp_series *series); /* log NULL: none */
/* Forces of the row that is the last one, or of the row that waits for them. */
void perp_series_forces(perp_series *series, int row, const perp_force_log *log);
/* One more row: what was measured last, and the state. */
perp_status perp_series_row(perp_ctx *ctx, perp_series *series, const perp_measure *measure,
                            const double *q, const double *v);

/* A series as CSV, written while it grows: time and the named fields ("drift.pos", "q" for q0, q1,
 * ...; none = all), units in the head, numbers with the fewest digits that read back identically,
 * not a number = empty. */
typedef struct perp_series_file {
  const char *path; /* "-" is stdout */
  const char *const *fields;
  int n_fields;
  FILE *out; /* NULL before the first row */
  int rows;  /* written so far */
  bool failed;
  int why; /* errno of the failure */
} perp_series_file;
/* The rows that series has more; opens the file when it is the first. */
void perp_series_add(perp_series_file *file, const perp_series *series);
/* false: not all could be written (errno) */
bool perp_series_close(perp_series_file *file);

#endif
