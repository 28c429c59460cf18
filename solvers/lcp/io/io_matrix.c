/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/io/io_matrix.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void perp_io_matrix_open(int rows, int columns, perp_io_matrix *matrix)
{
  *matrix = (perp_io_matrix){ .rows = rows, .columns = columns };
}

void perp_io_matrix_free(perp_io_matrix *matrix)
{
  free(matrix->start);
  free(matrix->row);
  free(matrix->value);
  free(matrix->entry);
  *matrix = (perp_io_matrix){ 0 };
}

perp_status perp_io_matrix_add(perp_ctx *ctx, perp_io_matrix *matrix, int i, int j, double value,
                               int line)
{
  if (matrix->count == matrix->room) {
    const size_t room = matrix->room > 0 ? 2 * matrix->room : 256;
    if (matrix->count >= INT_MAX / 2)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "a matrix of more than %d entries", INT_MAX / 2);
    PERP_TRY(perp_lcp_affords(ctx, (double)room * sizeof *matrix->entry,
                              "reading the entries of a "
                              "matrix"));
    perp_entry *more = realloc(matrix->entry, room * sizeof *more);
    if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu entries", room);
    matrix->entry = more;
    matrix->room = room;
  }
  matrix->entry[matrix->count++] = (perp_entry){ i, j, line, value };
  return PERP_OK;
}

/* Columns of what io_matrix_by_rows has ordered, rows ascending, each place once. */
static void io_matrix_compress(perp_io_matrix *matrix, const int *order, perp_twice rule,
                               perp_entry *twice)
{
  for (size_t k = 0; k < matrix->count; k++) matrix->start[matrix->entry[k].j + 1]++;
  for (int j = 0; j < matrix->columns; j++) matrix->start[j + 1] += matrix->start[j];
  int *length = matrix->row + matrix->count; /* [columns] */
  for (int j = 0; j < matrix->columns; j++) length[j] = 0;
  for (size_t k = 0; k < matrix->count; k++) {
    const perp_entry *entry = &matrix->entry[order[k]];
    const int at = matrix->start[entry->j] + length[entry->j];
    if (length[entry->j] > 0 && matrix->row[at - 1] == entry->i) {
      matrix->value[at - 1] = rule == PERP_TWICE_ADDS ? matrix->value[at - 1] + entry->value
                                                      : entry->value;
      if (rule == PERP_TWICE_REFUSED && twice != NULL && twice->line < 0) *twice = *entry;
      continue;
    }
    matrix->row[at] = entry->i;
    matrix->value[at] = entry->value;
    length[entry->j]++;
  }
  int to = 0; /* close the gaps that doubles and sums of zero have left */
  for (int j = 0; j < matrix->columns; j++) {
    const int from = matrix->start[j];
    matrix->start[j] = to;
    for (int k = from; k < from + length[j]; k++) {
      if (matrix->value[k] == 0) continue;
      matrix->row[to] = matrix->row[k];
      matrix->value[to++] = matrix->value[k];
    }
  }
  matrix->start[matrix->columns] = to;
}

perp_status perp_io_matrix_close(perp_ctx *ctx, perp_io_matrix *matrix, perp_twice rule,
                                 perp_entry *twice)
{
  if (twice != NULL) twice->line = -1;
  const size_t columns = (size_t)matrix->columns, rows = (size_t)matrix->rows;
  int *from = calloc(rows + 1, sizeof *from), *order = malloc((matrix->count + 1) * sizeof *order);
  matrix->start = calloc(columns + 2, sizeof *matrix->start);
  matrix->row = malloc((matrix->count + columns + 1) * sizeof *matrix->row);
  matrix->value = malloc((matrix->count + 1) * sizeof *matrix->value);
  perp_status status = PERP_OK;
  if (from == NULL || order == NULL || matrix->start == NULL || matrix->row == NULL ||
      matrix->value == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a matrix of %d x %d", matrix->rows,
                       matrix->columns);
  else {
    /* The entries by rows, in the order in which they came: places in matrix->entry.  from [rows +
     * 1] scratch, zeros. */
    for (size_t k = 0; k < matrix->count; k++) from[matrix->entry[k].i + 1]++;
    for (int i = 0; i < matrix->rows; i++) from[i + 1] += from[i];
    for (size_t k = 0; k < matrix->count; k++) order[from[matrix->entry[k].i]++] = (int)k;
    io_matrix_compress(matrix, order, rule, twice);
  }
  free(from);
  free(order);
  free(matrix->entry);
  matrix->entry = NULL;
  matrix->count = matrix->room = 0;
  return status;
}

perp_status perp_io_matrix_into(perp_ctx *ctx, const perp_io_matrix *matrix,
                                perp_lcp_problem *problem)
{
  const int n = matrix->columns, numbers = matrix->start[n];
  if (!perp_lcp_mostly_zeros(n, numbers)) {
    PERP_TRY(perp_lcp_problem_add_dense(ctx, problem));
    double *A = perp_lcp_edit(problem).A;
    for (int j = 0; j < n; j++)
      for (int k = matrix->start[j]; k < matrix->start[j + 1]; k++)
        A[(size_t)matrix->row[k] + (size_t)j * (size_t)n] = matrix->value[k];
    return PERP_OK;
  }
  int *index = malloc(((size_t)n + 1 + (size_t)numbers) * sizeof *index);
  double *turned = malloc((size_t)numbers * sizeof *turned + 1);
  perp_status status;
  if (index == NULL || turned == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d numbers", numbers);
  else {
    int *col = index + n + 1;
    perp_columns_turn(n, matrix->start, matrix->row, matrix->value, index, col, turned);
    status = perp_lcp_problem_set_columns(
        ctx, problem,
        &(perp_columns){ n, matrix->start, matrix->row, matrix->value, index, col, turned });
  }
  free(index);
  free(turned);
  return status;
}

perp_status perp_lcp_friction_problem(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *matrix,
                                      const double *q, const double *mu, perp_lcp_problem *out)
{
  const int m = dim * nc;
  PERP_TRY(
      perp_lcp_problem_new(ctx, m, PERP_PART_FRICTION | (dim == 3 ? PERP_PART_CONE : 0u), out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  if (m > 0) memcpy(arrays.b, q, (size_t)m * sizeof *arrays.b);
  for (int c = 0; c < nc; c++)
    for (int k = 1; k < dim; k++) {
      arrays.fric_of[dim * c + k] = dim * c;
      arrays.mu[dim * c + k] = mu[c];
      if (k == 1 && dim == 3) arrays.cone[dim * c + 1] = 1;
    }
  return matrix != NULL && m > 0 ? perp_io_matrix_into(ctx, matrix, out) : PERP_OK;
}
