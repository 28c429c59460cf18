/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies of motion with the plot failure-matrix(PART), as failure-matrix(engine): how the cells of
 * each of these parts ended on each scene, and why. */
#ifndef PERP_ENDINGS_H
#define PERP_ENDINGS_H

#include "experiments/results/results.h"

typedef struct perp_ending {
  perp_cell_status worst; /* PERP_CELL_PLANNED: no cell of theirs was run */
  int n, of;              /* cells that ended so, of those that were run */
  int cell;               /* the first of them */
} perp_ending;

typedef struct perp_endings {
  const char *part;
  perp_names rows, scenes;
  perp_ending *at; /* [rows.n * scenes.n] in the pool of the results */
} perp_endings;

/* false: the study does not ask for it, or has no such part or no scene. */
bool perp_results_endings(perp_results *results, perp_endings *endings);
/* In 80 columns: a letter for each ending, then the causes of each row. */
void perp_endings_print(perp_results *results, const perp_endings *endings, FILE *out);

#endif
