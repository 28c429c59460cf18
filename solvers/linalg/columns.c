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

perp_status perp_columns_check(perp_ctx *ctx, const perp_columns *columns)
{
  if (columns->n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d", columns->n);
  PERP_TRY(columns_pattern(ctx, "columns", columns->n, columns->start, columns->row));
  PERP_TRY(columns_pattern(ctx, "rows", columns->n, columns->rstart, columns->col));
  if (columns->start[columns->n] != columns->rstart[columns->n])
    return PERP_FAIL(ctx, PERP_ERR_DIM, "%d numbers by columns, %d by rows",
                     columns->start[columns->n], columns->rstart[columns->n]);
  return PERP_OK;
}

static void *columns_copied(perp_arena *arena, const void *from, size_t count, size_t size)
{
  void *to = perp_arena_carve(arena, count, size);
  if (to != NULL && count > 0) memcpy(to, from, count * size);
  return to;
}

perp_columns *perp_columns_copy(const perp_columns *columns, perp_arena *arena)
{
  const size_t n = (size_t)columns->n, numbers = (size_t)columns->start[columns->n];
  perp_columns *copy = perp_arena_carve(arena, 1, sizeof *copy);
  const perp_columns parts = {
    .n = columns->n,
    .start = columns_copied(arena, columns->start, n + 1, sizeof(int)),
    .row = columns_copied(arena, columns->row, numbers, sizeof(int)),
    .value = columns_copied(arena, columns->value, numbers, sizeof(double)),
    .rstart = columns_copied(arena, columns->rstart, n + 1, sizeof(int)),
    .col = columns_copied(arena, columns->col, numbers, sizeof(int)),
    .rvalue = columns_copied(arena, columns->rvalue, numbers, sizeof(double))
  };
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

double perp_columns_at(const perp_columns *columns, int i, int j)
{
  int from = columns->start[j], to = columns->start[j + 1];
  while (from < to) {
    const int middle = from + (to - from) / 2;
    if (columns->row[middle] < i)
      from = middle + 1;
    else
      to = middle;
  }
  return from < columns->start[j + 1] && columns->row[from] == i ? columns->value[from] : 0;
}

void perp_columns_form(const perp_columns *columns, double *A, int lda)
{
  for (int j = 0; j < columns->n; j++) {
    double *a = A + (size_t)j * (size_t)lda;
    memset(a, 0, (size_t)columns->n * sizeof *a);
    for (int k = columns->start[j]; k < columns->start[j + 1]; k++)
      a[columns->row[k]] = columns->value[k];
  }
}

void perp_columns_times(const perp_columns *columns, const double *x, double *y)
{
  for (int j = 0; j < columns->n; j++)
    for (int k = columns->start[j]; x[j] != 0 && k < columns->start[j + 1]; k++)
      y[columns->row[k]] += columns->value[k] * x[j];
}

void perp_columns_turned_times(const perp_columns *columns, const double *x, double *y)
{
  for (int j = 0; j < columns->n; j++) {
    double sum = 0;
    for (int k = columns->start[j]; k < columns->start[j + 1]; k++)
      sum += columns->value[k] * x[columns->row[k]];
    y[j] += sum;
  }
}

void perp_columns_row(const perp_columns *columns, int i, double *y)
{
  memset(y, 0, (size_t)columns->n * sizeof *y);
  for (int k = columns->rstart[i]; k < columns->rstart[i + 1]; k++)
    y[columns->col[k]] = columns->rvalue[k];
}

double perp_columns_skew(const perp_columns *columns)
{
  double most = 0;
  for (int j = 0; j < columns->n; j++) { /* column j beside row j, both ascending */
    int k = columns->start[j], l = columns->rstart[j];
    const int end = columns->start[j + 1], last = columns->rstart[j + 1];
    while (k < end || l < last) {
      const int i = k < end ? columns->row[k] : columns->n,
                h = l < last ? columns->col[l] : columns->n;
      const double x = i <= h ? columns->value[k++] : 0, y = h <= i ? columns->rvalue[l++] : 0;
      most = fmax(most, fabs(x - y));
    }
  }
  return most;
}
