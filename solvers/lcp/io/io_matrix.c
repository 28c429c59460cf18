/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/io/io_matrix.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

void perp_io_matrix_open(int rows, int columns, perp_io_matrix *m)
{
  *m = (perp_io_matrix){ .rows = rows, .columns = columns };
}

void perp_io_matrix_free(perp_io_matrix *m)
{
  free(m->start);
  free(m->row);
  free(m->value);
  free(m->entry);
  *m = (perp_io_matrix){ 0 };
}

perp_status perp_io_matrix_add(perp_ctx *ctx, perp_io_matrix *m, int i, int j, double value,
                               int line)
{
  if (m->count == m->room) {
    const size_t room = m->room > 0 ? 2 * m->room : 256;
    if (m->count >= INT_MAX / 2)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "a matrix of more than %d entries", INT_MAX / 2);
    PERP_TRY(perp_lcp_affords(ctx, (double)room * sizeof *m->entry,
                              "reading the entries of a "
                              "matrix"));
    perp_entry *more = realloc(m->entry, room * sizeof *more);
    if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %zu entries", room);
    m->entry = more;
    m->room = room;
  }
  m->entry[m->count++] = (perp_entry){ i, j, line, value };
  return PERP_OK;
}

/* Columns of what io_matrix_by_rows has ordered, rows ascending, each place once. */
static void io_matrix_compress(perp_io_matrix *m, const int *order, perp_twice rule,
                               perp_entry *twice)
{
  for (size_t k = 0; k < m->count; k++) m->start[m->entry[k].j + 1]++;
  for (int j = 0; j < m->columns; j++) m->start[j + 1] += m->start[j];
  int *length = m->row + m->count; /* [columns] */
  for (int j = 0; j < m->columns; j++) length[j] = 0;
  for (size_t k = 0; k < m->count; k++) {
    const perp_entry *e = &m->entry[order[k]];
    const int at = m->start[e->j] + length[e->j];
    if (length[e->j] > 0 && m->row[at - 1] == e->i) {
      m->value[at - 1] = rule == PERP_TWICE_ADDS ? m->value[at - 1] + e->value : e->value;
      if (rule == PERP_TWICE_REFUSED && twice != NULL && twice->line < 0) *twice = *e;
      continue;
    }
    m->row[at] = e->i;
    m->value[at] = e->value;
    length[e->j]++;
  }
  int to = 0; /* close the gaps that doubles and sums of zero have left */
  for (int j = 0; j < m->columns; j++) {
    const int from = m->start[j];
    m->start[j] = to;
    for (int k = from; k < from + length[j]; k++) {
      if (m->value[k] == 0) continue;
      m->row[to] = m->row[k];
      m->value[to++] = m->value[k];
    }
  }
  m->start[m->columns] = to;
}

perp_status perp_io_matrix_close(perp_ctx *ctx, perp_io_matrix *m, perp_twice rule,
                                 perp_entry *twice)
{
  if (twice != NULL) twice->line = -1;
  const size_t columns = (size_t)m->columns, rows = (size_t)m->rows;
  int *from = calloc(rows + 1, sizeof *from), *order = malloc((m->count + 1) * sizeof *order);
  m->start = calloc(columns + 2, sizeof *m->start);
  m->row = malloc((m->count + columns + 1) * sizeof *m->row);
  m->value = malloc((m->count + 1) * sizeof *m->value);
  perp_status status = PERP_OK;
  if (from == NULL || order == NULL || m->start == NULL || m->row == NULL || m->value == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a matrix of %d x %d", m->rows,
                       m->columns);
  else {
    /* The entries by rows, in the order in which they came: places in m->entry.  from [rows + 1]
     * scratch, zeros. */
    for (size_t k = 0; k < m->count; k++) from[m->entry[k].i + 1]++;
    for (int i = 0; i < m->rows; i++) from[i + 1] += from[i];
    for (size_t k = 0; k < m->count; k++) order[from[m->entry[k].i]++] = (int)k;
    io_matrix_compress(m, order, rule, twice);
  }
  free(from);
  free(order);
  free(m->entry);
  m->entry = NULL;
  m->count = m->room = 0;
  return status;
}

perp_status perp_io_matrix_into(perp_ctx *ctx, const perp_io_matrix *m, perp_lcp_problem *p)
{
  const int n = m->columns, numbers = m->start[n];
  if (!perp_lcp_mostly_zeros(n, numbers)) {
    PERP_TRY(perp_lcp_problem_add_dense(ctx, p));
    double *A = perp_lcp_edit(p).A;
    for (int j = 0; j < n; j++)
      for (int k = m->start[j]; k < m->start[j + 1]; k++)
        A[(size_t)m->row[k] + (size_t)j * (size_t)n] = m->value[k];
    return PERP_OK;
  }
  int *index = malloc(((size_t)n + 1 + (size_t)numbers) * sizeof *index);
  double *turned = malloc((size_t)numbers * sizeof *turned + 1);
  perp_status status;
  if (index == NULL || turned == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d numbers", numbers);
  else {
    int *col = index + n + 1;
    perp_columns_turn(n, m->start, m->row, m->value, index, col, turned);
    status = perp_lcp_problem_set_columns(
        ctx, p, &(perp_columns){ n, m->start, m->row, m->value, index, col, turned });
  }
  free(index);
  free(turned);
  return status;
}

perp_status perp_lcp_friction_problem(perp_ctx *ctx, int dim, int nc, const perp_io_matrix *W,
                                      const double *q, const double *mu, perp_lcp_problem *out)
{
  const int m = dim * nc;
  PERP_TRY(
      perp_lcp_problem_new(ctx, m, PERP_PART_FRICTION | (dim == 3 ? PERP_PART_CONE : 0u), out));
  perp_lcp_arrays x = perp_lcp_edit(out);
  if (m > 0) memcpy(x.b, q, (size_t)m * sizeof *x.b);
  for (int c = 0; c < nc; c++)
    for (int k = 1; k < dim; k++) {
      x.fric_of[dim * c + k] = dim * c;
      x.mu[dim * c + k] = mu[c];
      if (k == 1 && dim == 3) x.cone[dim * c + 1] = 1;
    }
  return W != NULL && m > 0 ? perp_io_matrix_into(ctx, W, out) : PERP_OK;
}
