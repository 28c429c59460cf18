/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Schur complement as a band matrix: A lambda = c - J M^-1 f with A = J M^-1 J' + S, P A P' = U' U
 * by LAPACK's band Cholesky (dpbtrf); a = M^-1 (f + J' lambda)   (Vondrak 2005, eq. 6.8 and 6.48;
 * STAR 2012, section 3.2.1).
 *
 * P keeps the numbering of the rows, or orders the groups by Cuthill and McKee where that gives the
 * narrower band (graph.h).  A chain of joints with r rows has a band of 2 r - 1 diagonals above the
 * main one in its best order, a ring 3 r - 1.  A body with k joints makes a block of all their
 * rows: the band of a star is full, and the cost that of schur-dense.
 *
 * Dependent rows: regularized and refined, see kkt_private.h.
 * Cost: of a band of k diagonals m k^2 for the factor and 4 m k a solve.  Memory: m k, and the
 * blocks of A. */
#include "solvers/kkt/graph.h"
#include "solvers/kkt/assembly.h"

#include <lapacke.h>

_Static_assert(sizeof(lapack_int) == sizeof(int), "LAPACK with 32-bit integers");

struct ws {
  kkt_direct direct; /* first */
  kkt_assembly assembly;
  int k;         /* diagonals above the main one */
  double *A;     /* [(k+1) m] A_ij at k + i - j + j (k+1), i <= j, or its factor */
  int *at;       /* [m] row of A in the permuted matrix */
  double *diag;  /* [m] A_ii, permuted */
  double *x, *b; /* [m] permuted; as given */
  double *v;     /* [nv] */
};

static void schur_band_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  perp_kkt_direct_layout(&work->direct, arena);
  perp_kkt_assembly_layout(&work->assembly, arena);
  work->A = PERP_CARVE(arena, double, ((size_t)work->k + 1) * (size_t)work->direct.m);
  PERP_DOUBLES(arena, work->direct.m, &work->diag, &work->x, &work->b);
  work->v = PERP_CARVE(arena, double, work->direct.nv);
  work->at = PERP_CARVE(arena, int, work->direct.m);
}

/* Factor A + shift I.  False when a pivot is not above tol A_ii. */
static bool schur_band_factor(void *ws, const perp_blocks *blocks, double tol, double shift)
{
  struct ws *work = ws;
  const int m = blocks->m, k = work->k, ld = k + 1;
  if (m == 0) return true;
  memset(work->A, 0, sizeof *work->A * (size_t)ld * (size_t)m);
  perp_kkt_assemble(&work->assembly, blocks, shift, work->A);
  for (int i = 0; i < m; i++) work->diag[i] = work->A[k + (size_t)i * (size_t)ld];
  if (LAPACKE_dpbtrf_work(LAPACK_COL_MAJOR, 'U', m, k, work->A, ld) != 0) return false;
  bool good = true;
  for (int i = 0; i < m; i++) {
    const double u = work->A[k + (size_t)i * (size_t)ld];
    good &= u * u > tol * work->diag[i] && u <= DBL_MAX;
  }
  return good;
}

static void schur_band_apply(void *ws, const perp_blocks *blocks, const double *f, const double *c,
                             double *a, double *lambda)
{
  struct ws *work = ws;
  const int ldb = blocks->m;
  perp_kkt_schur_rhs(blocks, f, c, work->b, work->v);
  for (int i = 0; i < ldb; i++) work->x[work->at[i]] = work->b[i];
  if (ldb > 0)
    LAPACKE_dpbtrs_work(LAPACK_COL_MAJOR, 'U', ldb, work->k, 1, work->A, work->k + 1, work->x, ldb);
  for (int i = 0; i < ldb; i++) lambda[i] = work->x[work->at[i]];
  perp_kkt_schur_motion(blocks, f, lambda, a, work->v);
}

/* Half of the sum of the squares of the lengths of the columns of U: of 1, 2, ... k + 1, k + 1, ...
 */
static double schur_band_cost(double m, double k)
{
  const double n = k + 1 < m ? k + 1 : m;
  return n * (n + 1) * (2 * n + 1) / 12 + (m - n) * n * n / 2;
}

static perp_status schur_band_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                     void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  struct ws like = { .direct = perp_kkt_direct_of("schur-band", blocks, opts, schur_band_factor,
                                                  schur_band_apply) };
  kkt_graph *graph;
  PERP_TRY(perp_kkt_assembly_count(ctx, blocks, &like.assembly));
  PERP_TRY(perp_kkt_graph_schur(ctx, "schur-band", blocks, &graph));
  like.k = perp_kkt_graph_narrow(graph);
  like.direct.cost_factor = perp_kkt_cost_schur(blocks) + schur_band_cost(blocks->m, like.k);
  like.direct.cost_solve = perp_kkt_cost_sides(blocks) + 2.0 * blocks->m * (like.k + 1) -
                           like.k * (like.k + 1.0);
  const perp_status status = perp_workspace_create(ctx, "schur-band", &like, sizeof like,
                                                   schur_band_layout, ws);
  struct ws *work = *ws;
  if (work != NULL) {
    const kkt_dense_shape band = { graph->row, like.k, like.k };
    perp_kkt_assembly_fill(blocks, perp_kkt_dense_locate, &band, &work->assembly);
    for (int g = 0; g < blocks->nc; g++)
      for (int i = blocks->cptr[g]; i < blocks->cptr[g + 1]; i++)
        work->at[i] = graph->row[g] + i - blocks->cptr[g];
  }
  free(graph);
  return status;
}

const perp_kkt_desc perp_kkt_schur_band = {
  .d = { .name = "schur-band",
         .summary = "Schur complement as a band matrix, band Cholesky factorization of LAPACK, "
                    "Cuthill-McKee ordering",
         .reference = "Vondrak 2005, eq. 6.8, 6.48; STAR 2012, section 3.2.1; Cuthill and McKee "
                      "1969",
         .equation = "P A P' = U' U,  A = J M^-1 J' + S,  a = M^-1 (f + J' lambda)",
         PERP_OPTIONS(perp_kkt_direct_options, struct kkt_direct_opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = schur_band_create,
  .factor = perp_kkt_direct_factor,
  .solve = perp_kkt_direct_solve,
  .destroy = free,
  .cost = perp_kkt_direct_cost,
};
