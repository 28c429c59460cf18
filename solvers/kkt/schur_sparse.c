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

static void schur_sparse_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_direct_layout(&work->direct, arena);
  perp_kkt_sparse_layout(&work->A, arena);
  perp_kkt_assembly_layout(&work->assembly, arena);
  PERP_DOUBLES(arena, work->direct.m, &work->diag, &work->x, &work->b);
  work->v = PERP_CARVE(arena, double, work->direct.nv);
  work->at = PERP_CARVE(arena, int, work->direct.m);
}

static void schur_sparse_destroy(void *ws)
{
  if (ws != NULL) perp_kkt_sparse_free(&((struct ws *)ws)->A);
  free(ws);
}

/* Factor A + shift I.  False when a pivot is not above tol A_ii. */
static bool schur_sparse_factor(void *ws, const perp_blocks *blocks, double tol, double shift)
{
  struct ws *work = ws;
  if (blocks->m == 0) return true;
  perp_kkt_sparse_clear(&work->A);
  perp_kkt_assemble(&work->assembly, blocks, shift, work->A.A->x);
  for (int i = 0; i < blocks->m; i++)
    work->diag[work->at[i]] = ((double *)work->A.A->x)[work->assembly.diagonal[i]];
  if (!perp_kkt_sparse_factor(&work->A)) return false;
  bool good = true;
  for (int i = 0; i < blocks->m; i++) {
    double p = kkt_sparse_pivot(&work->A, i);
    good &= p > tol * work->diag[i] && p <= DBL_MAX;
  }
  return good;
}

static void schur_sparse_apply(void *ws, const perp_blocks *blocks, const double *f,
                               const double *c, double *a, double *lambda)
{
  struct ws *work = ws;
  perp_kkt_schur_rhs(blocks, f, c, work->b, work->v);
  for (int i = 0; i < blocks->m; i++) work->x[work->at[i]] = work->b[i];
  perp_kkt_sparse_solve(&work->A, work->x);
  for (int i = 0; i < blocks->m; i++) lambda[i] = work->x[work->at[i]];
  perp_kkt_schur_motion(blocks, f, lambda, a, work->v);
}

static perp_status schur_sparse_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                       void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .direct = perp_kkt_direct_of("schur-sparse", blocks, opts, schur_sparse_factor,
                                                  schur_sparse_apply) };
  PERP_TRY(perp_kkt_assembly_count(ctx, blocks, &like.assembly));
  kkt_graph *graph;
  PERP_TRY(perp_kkt_graph_schur(ctx, "schur-sparse", blocks, &graph));
  like.A.n_nodes = graph->n_nodes;
  like.A.n_above = graph->n_edges;
  perp_status status = perp_kkt_graph_order(ctx, "schur-sparse", graph);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "schur-sparse", &like, sizeof like, schur_sparse_layout,
                                   ws);
  struct ws *work = *ws;
  if (work != NULL) status = perp_kkt_sparse_create(ctx, "schur-sparse", graph, &work->A);
  free(graph);
  if (status != PERP_OK) {
    schur_sparse_destroy(work);
    *ws = NULL;
    return status;
  }
  work->direct.cost_factor = perp_kkt_cost_schur(blocks) + work->A.cost_factor;
  work->direct.cost_solve = perp_kkt_cost_sides(blocks) + work->A.cost_solve;
  perp_kkt_assembly_fill(blocks, perp_kkt_sparse_locate, &work->A, &work->assembly);
  for (int g = 0; g < blocks->nc; g++)
    for (int i = blocks->cptr[g]; i < blocks->cptr[g + 1]; i++)
      work->at[i] = work->A.row[g] + i - blocks->cptr[g];
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
