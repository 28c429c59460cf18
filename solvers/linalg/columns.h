/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A square matrix that is mostly zeros, by compressed columns and by compressed rows. */
#ifndef PERP_COLUMNS_H
#define PERP_COLUMNS_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_columns {
  int n;
  const int *start, *row;  /* [n + 1], [start[n]] column j: numbers start[j] ... start[j + 1] - 1,
                              rows ascending */
  const double *value;     /* [start[n]] */
  const int *rstart, *col; /* [n + 1], [start[n]] the same numbers row by row, columns ascending */
  const double *rvalue;    /* [start[n]] */
} perp_columns;

/* Are the patterns as described above?  PERP_ERR_DIM with the place otherwise.  That both hold the
 * same numbers is a promise.  O(n + numbers), no allocation. */
perp_status perp_columns_check(perp_ctx *ctx, const perp_columns *columns);
/* A deep copy of columns in what the arena holds; a counting pass, and NULL, where that is nothing
 * yet.
 */
perp_columns *perp_columns_copy(const perp_columns *columns, perp_arena *arena);
/* Fill rstart, col and rvalue (arrays of the caller, sizes as above) from start, row and value. O(n
 * + numbers). */
void perp_columns_turn(int n, const int *start, const int *row, const double *value, int *rstart,
                       int *col, double *rvalue);
/* The entry (i, j), by bisection of column j. */
double perp_columns_at(const perp_columns *columns, int i, int j);
/* A = C, column-major with leading dimension lda.  O(n^2), no allocation. */
void perp_columns_form(const perp_columns *columns, double *A, int lda);
/* y += C x, y += C' x      x, y [n].   O(numbers), no allocation. */
void perp_columns_times(const perp_columns *columns, const double *x, double *y);
void perp_columns_turned_times(const perp_columns *columns, const double *x, double *y);
/* y [n] = row i. */
void perp_columns_row(const perp_columns *columns, int i, double *y);
/* max |C_ij - C_ji|.  O(numbers), no allocation. */
double perp_columns_skew(const perp_columns *columns);

#ifdef __cplusplus
}
#endif

#endif
