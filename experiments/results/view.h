/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The results of a study arranged for drawing: which columns vary, which cells form a curve, which
 * curves share a figure. */
#ifndef PERP_RESULTS_VIEW_H
#define PERP_RESULTS_VIEW_H

#include "experiments/results/results.h"

enum { PERP_VIEW_AXES = 8 };

/* Cells that differ in the abscissa only, by ascending abscissa; under error control, in the
 * tolerance. */
typedef struct perp_group {
  const char *label; /* the subject: the varying plug-ins that are not the facet */
  int facet, colour;
  int n;
  int *cell;
} perp_group;

typedef struct perp_view {
  const perp_results *results;
  /* plug-ins that take more than one value; the scene unless it is the abscissa */
  int axis[PERP_VIEW_AXES], n_axes;
  int subject;        /* index into axis: told apart by colour; -1 when nothing varies */
  const char *x_name; /* "h [s]", a number of the scene ("links"), or "tol"; NULL: no abscissa */
  double *x;          /* [cells] */
  double *order; /* [cells] along a curve: the tolerance under error control, else the abscissa */
  perp_names facet; /* labels: the varying plug-ins that are not the subject */
  int n_groups;
  perp_group *group;
  int *group_of; /* [cells] */
  int *in_facet; /* [n_groups] the groups facet by facet, each in the order of the study */
  int *first;    /* [facet.n + 1] where a facet begins there */
} perp_view;

/* All memory from pool; results are borrowed. */
void perp_view_build(const perp_ctx *ctx, perp_pool *pool, const perp_results *results,
                     perp_view *view);

/* Do its figures stand: did it reach the end of its work, with all problems solved or without? */
bool perp_view_stands(const perp_view *view, int cell);
/* "unsolved 12.5 %", "fixed-work", ...; "" for a cell that is ok.  From pool. */
const char *perp_view_mark(perp_pool *pool, const perp_view *view, int cell);
/* Under error control the step is not what is varied. */
bool perp_view_adaptive(const perp_view *view, int cell);
/* The text of a parameter, "(tol)" in place of the tolerance: cells of one curve have the same. */
const char *perp_view_name(perp_pool *pool, const perp_view *view, int cell, int param);
/* "rk4, post": what tells a cell from the others, without the parameter left_out (-1: with all).
 * From pool. */
const char *perp_view_label(perp_pool *pool, const perp_view *view, int cell, int left_out);
/* Canonical text of a parameter of a cell; "" when it has none (param -1 too). */
const char *perp_view_text(const perp_view *view, int cell, int param);

#endif
