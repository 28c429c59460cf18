/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse Schur complement: A lambda = c - J M^-1 f with A = J M^-1 J' + S stored sparsely and factored by
 * CHOLMOD's simplicial L D L'; a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section
 * 3.2.1, which notes that A is positive definite where J has full rank).
 *
 * Two groups are neighbours in A when they share a body.  A body with k joints makes a dense block of k
 * groups, so that A of a chain is sparse and A of a star is full: there the KKT matrix is sparser.
 *
 * Dependent rows: regularized and refined, see impl.h.
 * Cost: linear for chains and for trees of bounded degree (a minimum-degree order makes no fill there);
 * with fill the sum over columns of (entries of the column of L)^2.  Memory: entries of A and of L. */
#include "solvers/kkt/sparse.h"

struct opts {
  double rank_tol, infeasible_tol, delta;
};
static const perp_opt options[] = { KKT_RANK_OPTIONS(struct opts), KKT_DELTA_OPTION(struct opts),
                                    PERP_OPTIONS_END };

struct ws {
  struct opts opt;
  kkt_sparse A;
  kkt_assembly assembly;
  int nv, m;
  bool dependent; /* the last factor is that of A + shift I */
  int *at;        /* [m] row of A in the permuted matrix */
  double *diag;   /* [m] A_ii, permuted */
  double *x;      /* [m] permuted */
  double *v, *b;  /* [nv], [m] */
  double *refine; /* [KKT_REFINE_SCRATCH] */
};

static void schur_sparse_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  PERP_INTS(a, w->m, &w->at);
  PERP_DOUBLES(a, w->m, &w->diag, &w->x, &w->b);
  PERP_DOUBLES(a, w->nv, &w->v);
  PERP_DOUBLES(a, KKT_REFINE_SCRATCH(w->nv, w->m), &w->refine);
}

static void schur_sparse_destroy(void *ws)
{
  struct ws *w = ws;
  if (w == NULL) return;
  perp_kkt_assembly_free(&w->assembly);
  perp_kkt_sparse_free(&w->A);
  free(w);
}

/* Graph of groups: neighbours share a body.  ptr [nc+1]; adj NULL: count only. */
static int64_t group_graph(const perp_blocks *B, int *ptr, int *adj)
{
  int64_t n = 0;
  for (int g = 0; g < B->nc; g++) {
    if (adj != NULL) ptr[g] = (int)n;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++)
      for (int t = B->tptr[B->jblk[k]]; t < B->tptr[B->jblk[k] + 1]; t++) {
        int h = B->jgrp[B->tsub[t]];
        if (h == g) continue;
        if (adj != NULL) adj[n] = h;
        n++;
      }
  }
  if (adj != NULL) ptr[B->nc] = (int)n;
  return n;
}

static perp_status schur_sparse_analyse(perp_ctx *ctx, struct ws *w, const perp_blocks *B)
{
  int64_t n = group_graph(B, NULL, NULL);
  if (n > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "schur-sparse: %lld blocks in A are too many",
                     (long long)n);
  kkt_graph *G;
  PERP_TRY(perp_kkt_graph_create(ctx, "schur-sparse", B->nc, (size_t)n, &G));
  for (int g = 0; g < B->nc; g++) G->size[g] = B->cptr[g + 1] - B->cptr[g];
  group_graph(B, G->ptr, G->adj);
  perp_status status = perp_kkt_graph_order(ctx, "schur-sparse", G);
  if (status == PERP_OK) status = perp_kkt_sparse_create(ctx, "schur-sparse", G, &w->A);
  free(G);
  PERP_TRY(status);
  return perp_kkt_assembly_create(ctx, B, perp_kkt_sparse_locate, &w->A, &w->assembly);
}

static perp_status schur_sparse_create(perp_ctx *ctx, const perp_blocks *B, const void *opts,
                                       void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  struct ws like = { .opt = *(const struct opts *)opts, .nv = B->nv, .m = B->m };
  PERP_TRY(perp_workspace_create(ctx, "schur-sparse", &like, sizeof like, schur_sparse_layout, ws));
  struct ws *w = *ws;
  const perp_status status = w->m > 0 ? schur_sparse_analyse(ctx, w, B) : PERP_OK;
  if (status != PERP_OK) {
    schur_sparse_destroy(w);
    *ws = NULL;
    return status;
  }
  for (int g = 0; g < B->nc; g++)
    for (int i = B->cptr[g]; i < B->cptr[g + 1]; i++) w->at[i] = w->A.row[g] + i - B->cptr[g];
  return PERP_OK;
}

/* Factor A + shift I.  False when a pivot is not above tol A_ii. */
static bool schur_sparse_factor_shifted(void *ws, const perp_blocks *B, double tol, double shift)
{
  struct ws *w = ws;
  perp_kkt_sparse_clear(&w->A);
  perp_kkt_assemble(&w->assembly, B, shift, w->A.A->x);
  for (int i = 0; i < w->m; i++) w->diag[w->at[i]] = ((double *)w->A.A->x)[w->assembly.diagonal[i]];
  if (!perp_kkt_sparse_factor(&w->A)) return false;
  bool good = true;
  for (int i = 0; i < w->m; i++) {
    double p = kkt_sparse_pivot(&w->A, i);
    good &= p > tol * w->diag[i] && p <= DBL_MAX;
  }
  return good;
}

static perp_status schur_sparse_factor(perp_ctx *ctx, void *ws, const perp_blocks *B,
                                       perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-sparse", B, w->nv, w->m));
  stats->factorizations++;
  stats->reason = PERP_EXACT;
  w->dependent = false;
  if (w->m == 0 || schur_sparse_factor_shifted(w, B, w->opt.rank_tol, 0)) return PERP_OK;

  stats->reason = perp_kkt_why_no_factor(B);
  if (stats->reason == PERP_NOT_FINITE) return PERP_OK;
  w->dependent = perp_kkt_factor_dependent(w, schur_sparse_factor_shifted, B, w->opt.delta, w->x,
                                           stats);
  return PERP_OK;
}

static void schur_sparse_apply(void *ws, const perp_blocks *B, const double *f, const double *c,
                               double *a, double *lambda)
{
  struct ws *w = ws;
  perp_kkt_schur_rhs(B, f, c, w->b, w->v);
  for (int i = 0; i < w->m; i++) w->x[w->at[i]] = w->b[i];
  if (w->m > 0) perp_kkt_sparse_solve(&w->A, w->x);
  for (int i = 0; i < w->m; i++) lambda[i] = w->x[w->at[i]];
  perp_kkt_schur_motion(B, f, lambda, a, w->v);
}

static perp_status schur_sparse_solve(perp_ctx *ctx, void *ws, const perp_blocks *B,
                                      const double *f, const double *c, double *a, double *lambda,
                                      perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "schur-sparse", B, w->nv, w->m));
  perp_blocks known;
  if (w->m > 0) B = kkt_use_diagonal(B, &known, w->assembly.diag);
  if (w->dependent)
    return perp_kkt_solve_dependent(w, schur_sparse_apply, B, f, c, a, lambda,
                                    w->opt.infeasible_tol, stats, w->refine);
  schur_sparse_apply(w, B, f, c, a, lambda);
  return kkt_take(B, a, lambda, stats);
}

const perp_kkt_desc perp_kkt_schur_sparse = {
  .d = { .name = "schur-sparse",
         .summary =
             "sparse Schur complement, CHOLMOD's simplicial L D L' in a minimum-degree order",
         .reference = "Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section 3.2.1",
         .equation = "P A P' = L D L',  A = J M^-1 J' + S,  a = M^-1 (f + J' lambda)",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = schur_sparse_create,
  .factor = schur_sparse_factor,
  .solve = schur_sparse_solve,
  .destroy = schur_sparse_destroy,
};
