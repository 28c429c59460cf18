/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse Schur complement: A lambda = c - J M^-1 f with A = J M^-1 J' + S stored sparsely and
 * factored by CHOLMOD's simplicial L D L'; a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8, 6.48;
 * STAR 2012, section 3.2.1, which notes that A is positive definite where J has full rank).
 *
 * Two groups are neighbours in A when they share a body.  A body with k joints makes a dense block
 * of k groups, so that A of a chain is sparse and A of a star is full: there the KKT matrix is
 * sparser.
 *
 * Dependent rows: regularized and refined, see kkt_private.h.
 * Cost: linear for chains and for trees of bounded degree (a minimum-degree order makes no fill
 * there); with fill the sum over columns of (entries of the column of L)^2.  Memory: entries of A
 * and of L. */
#include "solvers/kkt/sparse.h"

struct ws {
  kkt_direct direct; /* first */
  kkt_sparse A;
  kkt_assembly assembly;
  int *at;       /* [m] row of A in the permuted matrix */
  double *diag;  /* [m] A_ii, permuted */
  double *x, *b; /* [m] permuted; as given */
  double *v;     /* [nv] */
};

static void schur_sparse_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  perp_kkt_direct_layout(&w->direct, a);
  perp_kkt_sparse_layout(&w->A, a);
  perp_kkt_assembly_layout(&w->assembly, a);
  PERP_DOUBLES(a, w->direct.m, &w->diag, &w->x, &w->b);
  w->v = PERP_CARVE(a, double, w->direct.nv);
  w->at = PERP_CARVE(a, int, w->direct.m);
}

static void schur_sparse_destroy(void *ws)
{
  if (ws != NULL) perp_kkt_sparse_free(&((struct ws *)ws)->A);
  free(ws);
}

/* Factor A + shift I.  False when a pivot is not above tol A_ii. */
static bool schur_sparse_factor(void *ws, const perp_blocks *B, double tol, double shift)
{
  struct ws *w = ws;
  if (B->m == 0) return true;
  perp_kkt_sparse_clear(&w->A);
  perp_kkt_assemble(&w->assembly, B, shift, w->A.A->x);
  for (int i = 0; i < B->m; i++) w->diag[w->at[i]] = ((double *)w->A.A->x)[w->assembly.diagonal[i]];
  if (!perp_kkt_sparse_factor(&w->A)) return false;
  bool good = true;
  for (int i = 0; i < B->m; i++) {
    double p = kkt_sparse_pivot(&w->A, i);
    good &= p > tol * w->diag[i] && p <= DBL_MAX;
  }
  return good;
}

static void schur_sparse_apply(void *ws, const perp_blocks *B, const double *f, const double *c,
                               double *a, double *lambda)
{
  struct ws *w = ws;
  perp_kkt_schur_rhs(B, f, c, w->b, w->v);
  for (int i = 0; i < B->m; i++) w->x[w->at[i]] = w->b[i];
  perp_kkt_sparse_solve(&w->A, w->x);
  for (int i = 0; i < B->m; i++) lambda[i] = w->x[w->at[i]];
  perp_kkt_schur_motion(B, f, lambda, a, w->v);
}

static perp_status schur_sparse_create(perp_ctx *ctx, const perp_blocks *B, const void *opts,
                                       void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  struct ws like = { .direct = perp_kkt_direct_of("schur-sparse", B, opts, schur_sparse_factor,
                                                  schur_sparse_apply) };
  PERP_TRY(perp_kkt_assembly_count(ctx, B, &like.assembly));
  kkt_graph *graph;
  PERP_TRY(perp_kkt_graph_schur(ctx, "schur-sparse", B, &graph));
  like.A.n_nodes = graph->n_nodes;
  like.A.n_above = graph->n_edges;
  perp_status status = perp_kkt_graph_order(ctx, "schur-sparse", graph);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "schur-sparse", &like, sizeof like, schur_sparse_layout,
                                   ws);
  struct ws *w = *ws;
  if (w != NULL) status = perp_kkt_sparse_create(ctx, "schur-sparse", graph, &w->A);
  free(graph);
  if (status != PERP_OK) {
    schur_sparse_destroy(w);
    *ws = NULL;
    return status;
  }
  w->direct.cost_factor = perp_kkt_cost_schur(B) + w->A.cost_factor;
  w->direct.cost_solve = perp_kkt_cost_sides(B) + w->A.cost_solve;
  perp_kkt_assembly_fill(B, perp_kkt_sparse_locate, &w->A, &w->assembly);
  for (int g = 0; g < B->nc; g++)
    for (int i = B->cptr[g]; i < B->cptr[g + 1]; i++) w->at[i] = w->A.row[g] + i - B->cptr[g];
  return PERP_OK;
}

const perp_kkt_desc perp_kkt_schur_sparse = {
  .d = { .name = "schur-sparse",
         .summary = "Sparse Schur complement, simplicial L D L' factorization of CHOLMOD, "
                    "minimum-degree ordering",
         .reference = "Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section 3.2.1",
         .equation = "P A P' = L D L',  A = J M^-1 J' + S,  a = M^-1 (f + J' lambda)",
         PERP_OPTIONS(perp_kkt_direct_options, struct kkt_direct_opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = schur_sparse_create,
  .factor = perp_kkt_direct_factor,
  .solve = perp_kkt_direct_solve,
  .destroy = schur_sparse_destroy,
  .cost = perp_kkt_direct_cost,
};
