/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/columns.h"

#include <math.h>
#include <string.h>

static perp_status columns_pattern(perp_ctx *ctx, const char *what, int n, const int *start,
                                   const int *index)
{
  if (start[0] != 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "%s begin at %d", what, start[0]);
  for (int j = 0; j < n; j++) {
    if (start[j + 1] < start[j])
      return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: %d ends before it begins", what, j);
    for (int k = start[j]; k < start[j + 1]; k++)
      if (index[k] < 0 || index[k] >= n || (k > start[j] && index[k] <= index[k - 1]))
        return PERP_FAIL(ctx, PERP_ERR_DIM, "%s: %d has index %d, n = %d, or one twice", what, j,
                         index[k], n);
  }
  return PERP_OK;
}

perp_status perp_columns_check(perp_ctx *ctx, const perp_columns *C)
{
  if (C->n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d", C->n);
  PERP_TRY(columns_pattern(ctx, "columns", C->n, C->start, C->row));
  PERP_TRY(columns_pattern(ctx, "rows", C->n, C->rstart, C->col));
  if (C->start[C->n] != C->rstart[C->n])
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%d numbers by columns, %d by rows", C->start[C->n],
                     C->rstart[C->n]);
  return PERP_OK;
}

static void *columns_copied(perp_arena *a, const void *from, size_t count, size_t size)
{
  void *to = perp_arena_carve(a, count, size);
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

perp_columns *perp_columns_copy(const perp_columns *C, perp_arena *a)
{
  const size_t n = (size_t)C->n, numbers = (size_t)C->start[C->n];
  perp_columns *copy = perp_arena_carve(a, 1, sizeof *copy);
  const perp_columns parts = { .n = C->n,
                               .start = columns_copied(a, C->start, n + 1, sizeof(int)),
                               .row = columns_copied(a, C->row, numbers, sizeof(int)),
                               .value = columns_copied(a, C->value, numbers, sizeof(double)),
                               .rstart = columns_copied(a, C->rstart, n + 1, sizeof(int)),
                               .col = columns_copied(a, C->col, numbers, sizeof(int)),
                               .rvalue = columns_copied(a, C->rvalue, numbers, sizeof(double)) };
  if (copy != NULL) *copy = parts;
  return copy;
}

void perp_columns_turn(int n, const int *start, const int *row, const double *value, int *rstart,
                       int *col, double *rvalue)
{
  for (int i = 0; i <= n; i++) rstart[i] = 0;
  for (int k = 0; k < start[n]; k++) rstart[row[k] + 1]++;
  for (int i = 0; i < n; i++) rstart[i + 1] += rstart[i];
  for (int j = 0; j < n; j++)
    for (int k = start[j]; k < start[j + 1]; k++) {
      const int at = rstart[row[k]]++;
      col[at] = j;
      rvalue[at] = value[k];
    }
  for (int i = n; i > 0; i--) rstart[i] = rstart[i - 1];
  rstart[0] = 0;
}

double perp_columns_at(const perp_columns *C, int i, int j)
{
  int from = C->start[j], to = C->start[j + 1];
  while (from < to) {
    const int middle = from + (to - from) / 2;
    if (C->row[middle] < i)
      from = middle + 1;
    else
      to = middle;
  }
  return from < C->start[j + 1] && C->row[from] == i ? C->value[from] : 0;
}

void perp_columns_form(const perp_columns *C, double *A, int lda)
{
  for (int j = 0; j < C->n; j++) {
    double *a = A + (size_t)j * (size_t)lda;
    memset(a, 0, (size_t)C->n * sizeof *a);
    for (int k = C->start[j]; k < C->start[j + 1]; k++) a[C->row[k]] = C->value[k];
  }
}

void perp_columns_times(const perp_columns *C, const double *x, double *y)
{
  for (int j = 0; j < C->n; j++)
    for (int k = C->start[j]; x[j] != 0 && k < C->start[j + 1]; k++)
      y[C->row[k]] += C->value[k] * x[j];
}

void perp_columns_turned_times(const perp_columns *C, const double *x, double *y)
{
  for (int j = 0; j < C->n; j++) {
    double sum = 0;
    for (int k = C->start[j]; k < C->start[j + 1]; k++) sum += C->value[k] * x[C->row[k]];
    y[j] += sum;
  }
}

void perp_columns_row(const perp_columns *C, int i, double *y)
{
  memset(y, 0, (size_t)C->n * sizeof *y);
  for (int k = C->rstart[i]; k < C->rstart[i + 1]; k++) y[C->col[k]] = C->rvalue[k];
}

double perp_columns_skew(const perp_columns *C)
{
  double most = 0;
  for (int j = 0; j < C->n; j++) { /* column j beside row j, both ascending */
    int k = C->start[j], l = C->rstart[j];
    const int end = C->start[j + 1], last = C->rstart[j + 1];
    while (k < end || l < last) {
      const int i = k < end ? C->row[k] : C->n, h = l < last ? C->col[l] : C->n;
      const double x = i <= h ? C->value[k++] : 0, y = h <= i ? C->rvalue[l++] : 0;
      most = fmax(most, fabs(x - y));
    }
  }
  return most;
}
