/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/local.h"

#include <complex.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/klu.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

/* Pivots of an earlier matrix are taken again unless they make numbers grow by more than this. */
static const double GROWTH = 1e-4;

perp_status perp_local_analyse(perp_ctx *ctx, perp_local *local)
{
  klu_common *common = calloc(1, sizeof *common);
  if (common == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a sparse system");
  klu_defaults(common);
  local->klu = common;
  local->symbolic = klu_analyze(local->n, local->start, local->row, common);
  return local->symbolic != NULL
             ? PERP_OK
             : PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "KLU: status %d", common->status);
}

void perp_local_analysis_free(perp_local *local)
{
  klu_symbolic *symbolic = local->symbolic;
  if (symbolic != NULL) klu_free_symbolic(&symbolic, local->klu);
  free(local->klu);
  local->symbolic = local->klu = NULL;
}

perp_status perp_local_lu_create(perp_ctx *ctx, const perp_local *local, bool pairs,
                                 perp_local_lu *lu)
{
  *lu = (perp_local_lu){ .pairs = pairs };
  if (local->sparse) return PERP_OK;
  lu->pivots = calloc((size_t)local->n, sizeof *lu->pivots);
  return lu->pivots != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pivots");
}

static void local_lu_forget(perp_local *local, perp_local_lu *lu)
{
  klu_numeric *numeric = lu->numeric;
  if (numeric == NULL) return;
  if (lu->pairs)
    klu_z_free_numeric(&numeric, local->klu);
  else
    klu_free_numeric(&numeric, local->klu);
  lu->numeric = NULL;
}

void perp_local_lu_destroy(perp_local *local, perp_local_lu *lu)
{
  local_lu_forget(local, lu);
  free(lu->pivots);
  *lu = (perp_local_lu){ 0 };
}

static bool local_lu_finite(size_t n, const double *x)
{
  double sum = 0; /* of finite numbers times zero: zero */
  for (size_t i = 0; i < n; i++) sum += x[i] * 0;
  return sum == 0;
}

/* A: real numbers, or pairs of them. */
static bool local_lu_sparse(perp_local *local, double *A, perp_local_lu *lu)
{
  klu_common *common = local->klu;
  if (lu->numeric != NULL) {
    const int made =
        lu->pairs
            ? klu_z_refactor(local->start, local->row, A, local->symbolic, lu->numeric, common) &&
                  klu_z_rgrowth(local->start, local->row, A, local->symbolic, lu->numeric, common)
            : klu_refactor(local->start, local->row, A, local->symbolic, lu->numeric, common) &&
                  klu_rgrowth(local->start, local->row, A, local->symbolic, lu->numeric, common);
    if (made && common->status == KLU_OK && common->rgrowth > GROWTH) return true;
    local_lu_forget(local, lu);
  }
  lu->numeric = lu->pairs ? klu_z_factor(local->start, local->row, A, local->symbolic, common)
                          : klu_factor(local->start, local->row, A, local->symbolic, common);
  return lu->numeric != NULL && common->status == KLU_OK;
}

bool perp_local_factor(perp_local *local, double *A, perp_local_lu *lu)
{
  const int w = local->width;
  if (!local_lu_finite(perp_local_length(local), A)) return false;
  if (local->sparse) return local_lu_sparse(local, A, lu);
  return LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, local->n, local->n, w, w, A, 3 * w + 1,
                             lu->pivots) == 0;
}

void perp_local_solve(perp_local *local, const double *A, const perp_local_lu *lu, double *b)
{
  const int w = local->width;
  if (local->sparse) {
    klu_solve(local->symbolic, lu->numeric, local->n, 1, b, local->klu);
    return;
  }
  for (int i = 0; i < local->n; i++) local->x1[local->at[i]] = b[i];
  LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', local->n, w, w, 1, A, 3 * w + 1, lu->pivots, local->x1,
                      local->n);
  for (int i = 0; i < local->n; i++) b[i] = local->x1[local->at[i]];
}

bool perp_local_factor_complex(perp_local *local, double _Complex *A, perp_local_lu *lu)
{
  const int w = local->width;
  if (!local_lu_finite(2 * perp_local_length(local), (const double *)A)) return false;
  if (local->sparse) return local_lu_sparse(local, (double *)A, lu);
  return LAPACKE_zgbtrf_work(LAPACK_COL_MAJOR, local->n, local->n, w, w, A, 3 * w + 1,
                             lu->pivots) == 0;
}

void perp_local_solve_complex(perp_local *local, const double _Complex *A, const perp_local_lu *lu,
                              double _Complex *b, double _Complex *scratch)
{
  const int w = local->width;
  if (local->sparse) {
    klu_z_solve(local->symbolic, lu->numeric, local->n, 1, (double *)b, local->klu);
    return;
  }
  for (int i = 0; i < local->n; i++) scratch[local->at[i]] = b[i];
  LAPACKE_zgbtrs_work(LAPACK_COL_MAJOR, 'N', local->n, w, w, 1, A, 3 * w + 1, lu->pivots, scratch,
                      local->n);
  for (int i = 0; i < local->n; i++) b[i] = scratch[local->at[i]];
}
