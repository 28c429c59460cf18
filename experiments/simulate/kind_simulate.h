/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kind of study whose cells are simulations. */
#ifndef PERP_KIND_SIMULATE_H
#define PERP_KIND_SIMULATE_H

#include "experiments/study/plan.h"
#include "experiments/simulate/simulate.h"

extern const perp_cell_kind perp_kind_simulate;

/* The simulation of a cell of this kind; the texts are those of the cell. */
perp_request perp_kind_simulate_request(const perp_cell *cell);
/* A series as CSV, written while it grows: time and the named fields ("drift.pos", "q" for q0, q1, ...; none = all),
 * units in the head, numbers with the fewest digits that read back identically, not a number = empty. */
typedef struct perp_series_file {
  const char *path; /* "-" is stdout */
  const char *const *fields;
  int n_fields;
  FILE *out; /* NULL before the first row */
  int rows;  /* written so far */
  bool failed;
} perp_series_file;
/* The rows that s has more; opens the file when it is the first. */
void perp_series_add(perp_series_file *f, const perp_series *s);
/* false: not all could be written (errno) */
bool perp_series_close(perp_series_file *f);

#endif
