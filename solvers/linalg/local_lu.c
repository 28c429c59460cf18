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

perp_status perp_local_analyse(perp_ctx *ctx, perp_local *s)
{
  klu_common *c = calloc(1, sizeof *c);
  if (c == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a sparse system");
  klu_defaults(c);
  s->klu = c;
  s->symbolic = klu_analyze(s->n, s->start, s->row, c);
  return s->symbolic != NULL ? PERP_OK
                             : PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "KLU: status %d", c->status);
}

void perp_local_analysis_free(perp_local *s)
{
  klu_symbolic *symbolic = s->symbolic;
  if (symbolic != NULL) klu_free_symbolic(&symbolic, s->klu);
  free(s->klu);
  s->symbolic = s->klu = NULL;
}

perp_status perp_local_lu_create(perp_ctx *ctx, const perp_local *s, bool pairs, perp_local_lu *lu)
{
  *lu = (perp_local_lu){ .pairs = pairs };
  if (s->sparse) return PERP_OK;
  lu->pivots = calloc((size_t)s->n, sizeof *lu->pivots);
  return lu->pivots != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pivots");
}

static void local_lu_forget(perp_local *s, perp_local_lu *lu)
{
  klu_numeric *numeric = lu->numeric;
  if (numeric == NULL) return;
  if (lu->pairs)
    klu_z_free_numeric(&numeric, s->klu);
  else
    klu_free_numeric(&numeric, s->klu);
  lu->numeric = NULL;
}

void perp_local_lu_destroy(perp_local *s, perp_local_lu *lu)
{
  local_lu_forget(s, lu);
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
static bool local_lu_sparse(perp_local *s, double *A, perp_local_lu *lu)
{
  klu_common *c = s->klu;
  if (lu->numeric != NULL) {
    const int made = lu->pairs ? klu_z_refactor(s->start, s->row, A, s->symbolic, lu->numeric, c) &&
                                     klu_z_rgrowth(s->start, s->row, A, s->symbolic, lu->numeric, c)
                               : klu_refactor(s->start, s->row, A, s->symbolic, lu->numeric, c) &&
                                     klu_rgrowth(s->start, s->row, A, s->symbolic, lu->numeric, c);
    if (made && c->status == KLU_OK && c->rgrowth > GROWTH) return true;
    local_lu_forget(s, lu);
  }
  lu->numeric = lu->pairs ? klu_z_factor(s->start, s->row, A, s->symbolic, c)
                          : klu_factor(s->start, s->row, A, s->symbolic, c);
  return lu->numeric != NULL && c->status == KLU_OK;
}

bool perp_local_factor(perp_local *s, double *A, perp_local_lu *lu)
{
  const int w = s->width;
  if (!local_lu_finite(perp_local_length(s), A)) return false;
  if (s->sparse) return local_lu_sparse(s, A, lu);
  return LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, s->n, s->n, w, w, A, 3 * w + 1, lu->pivots) == 0;
}

void perp_local_solve(perp_local *s, const double *A, const perp_local_lu *lu, double *b)
{
  const int w = s->width;
  if (s->sparse) {
    klu_solve(s->symbolic, lu->numeric, s->n, 1, b, s->klu);
    return;
  }
  for (int i = 0; i < s->n; i++) s->x1[s->at[i]] = b[i];
  LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', s->n, w, w, 1, A, 3 * w + 1, lu->pivots, s->x1, s->n);
  for (int i = 0; i < s->n; i++) b[i] = s->x1[s->at[i]];
}

bool perp_local_factor_complex(perp_local *s, double _Complex *A, perp_local_lu *lu)
{
  const int w = s->width;
  if (!local_lu_finite(2 * perp_local_length(s), (const double *)A)) return false;
  if (s->sparse) return local_lu_sparse(s, (double *)A, lu);
  return LAPACKE_zgbtrf_work(LAPACK_COL_MAJOR, s->n, s->n, w, w, A, 3 * w + 1, lu->pivots) == 0;
}

void perp_local_solve_complex(perp_local *s, const double _Complex *A, const perp_local_lu *lu,
                              double _Complex *b, double _Complex *scratch)
{
  const int w = s->width;
  if (s->sparse) {
    klu_z_solve(s->symbolic, lu->numeric, s->n, 1, (double *)b, s->klu);
    return;
  }
  for (int i = 0; i < s->n; i++) scratch[s->at[i]] = b[i];
  LAPACKE_zgbtrs_work(LAPACK_COL_MAJOR, 'N', s->n, w, w, 1, A, 3 * w + 1, lu->pivots, scratch,
                      s->n);
  for (int i = 0; i < s->n; i++) b[i] = scratch[s->at[i]];
}
