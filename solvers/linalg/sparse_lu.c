/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/sparse_lu.h"

#include <math.h>
#include <stdlib.h>
#include <suitesparse/klu.h>

static void sparse_lu_forget(perp_sparse_lu *L)
{
  klu_symbolic *symbolic = L->symbolic;
  klu_numeric *numeric = L->numeric;
  if (numeric != NULL) klu_free_numeric(&numeric, L->common);
  if (symbolic != NULL) klu_free_symbolic(&symbolic, L->common);
  L->symbolic = L->numeric = NULL;
}

void perp_sparse_lu_close(perp_sparse_lu *L)
{
  sparse_lu_forget(L);
  free(L->common);
  free(L->start);
  free(L->mark);
  free(L->row);
  free(L->value);
  free(L->sum);
  *L = (perp_sparse_lu){ 0 };
}

perp_status perp_sparse_lu_reserve(perp_ctx *ctx, perp_sparse_lu *L, int n, size_t numbers)
{
  if (n <= L->max_n && numbers <= L->room) return PERP_OK;
  const size_t rows = (size_t)(n > L->max_n ? n : L->max_n);
  const size_t room = numbers > L->room ? numbers + numbers / 4 : L->room;
  perp_sparse_lu_close(L);
  L->common = calloc(1, sizeof(klu_common));
  L->start = calloc(rows + 1, sizeof *L->start);
  L->mark = calloc(rows + 1, sizeof *L->mark);
  L->row = calloc(room + 1, sizeof *L->row);
  L->value = calloc(room + 1, sizeof *L->value);
  L->sum = calloc(rows + 1, sizeof *L->sum);
  if (L->common == NULL || L->start == NULL || L->mark == NULL || L->row == NULL ||
      L->value == NULL || L->sum == NULL) {
    perp_sparse_lu_close(L);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a sparse matrix of %zu numbers", numbers);
  }
  klu_defaults(L->common);
  L->max_n = (int)rows;
  L->room = room;
  return PERP_OK;
}

void perp_sparse_lu_begin(perp_sparse_lu *L, int n)
{
  sparse_lu_forget(L);
  L->n = 0;
  L->start[0] = L->start[1] = 0;
  for (int i = 0; i < n; i++) L->mark[i] = -1;
}

void perp_sparse_lu_add(perp_sparse_lu *L, int i, double value)
{
  int *end = &L->start[L->n + 1];
  if (L->mark[i] != L->n) {
    L->mark[i] = L->n;
    L->sum[i] = 0;
    if ((size_t)*end < L->room) L->row[*end] = i;
    ++*end;
  }
  L->sum[i] += value;
}

void perp_sparse_lu_column(perp_sparse_lu *L)
{
  for (int k = L->start[L->n]; k < L->start[L->n + 1] && (size_t)k < L->room; k++)
    L->value[k] = L->sum[L->row[k]];
  L->n++;
  if (L->n < L->max_n) L->start[L->n + 1] = L->start[L->n];
}

bool perp_sparse_lu_factor(perp_sparse_lu *L)
{
  klu_common *common = L->common;
  if (L->n == 0) return true;
  if ((size_t)L->start[L->n] > L->room) return false;
  L->symbolic = klu_analyze(L->n, L->start, L->row, common);
  if (L->symbolic == NULL) return false;
  L->numeric = klu_factor(L->start, L->row, L->value, L->symbolic, common);
  if (L->numeric == NULL) return false;
  klu_flops(L->symbolic, L->numeric, common);
  return common->status == KLU_OK && isfinite(common->flops);
}

void perp_sparse_lu_solve(const perp_sparse_lu *L, double *x)
{
  if (L->n > 0) klu_solve(L->symbolic, L->numeric, L->n, 1, x, L->common);
}

double perp_sparse_lu_work(const perp_sparse_lu *L)
{
  const klu_common *common = L->common;
  return L->n > 0 ? 0.5 * common->flops : 0;
}

double perp_sparse_lu_nnz(const perp_sparse_lu *L)
{
  const klu_numeric *numeric = L->numeric;
  return L->n > 0 && numeric != NULL ? (double)numeric->lnz + numeric->unz + numeric->nzoff : 0;
}
