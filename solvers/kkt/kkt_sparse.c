/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse KKT matrix: CHOLMOD's simplicial L D L' of
 *
 *      K_delta = [ M  -J'           ]          (Vondrak 2005, eq. 6.48 with the signs of kkt.h;
 *                [-J  -(S + delta I)]           STAR 2012, section 3.2.1: always sparse and
 * symmetric)
 *
 * CHOLMOD has no 2 x 2 pivots; with delta > 0 the matrix is quasi-definite, so that L D L' exists
 * in every order, with positive pivots for bodies and negative ones for joints.  A joint that comes
 * before its bodies meets pivots of size delta and loses log10(trace(A) / m / delta) digits, so the
 * order is constrained (elimination.h).  Each solve is refined against the true system (delta = 0)
 * until the residual is at round-off or stalls.
 *
 * Dependent rows need no detection: the same refinement tends to the multiplier of least norm
 * (kkt_private.h), and what contradictory rows leave is seen in the residual. Cost: linear for
 * trees in any shape, stars included; (nonzeros of L) a pass.  Memory: nonzeros of L. */
#include "solvers/kkt/elimination.h"
#include "solvers/kkt/kernels.h"

#define ACCEPTED 1e-8              /* componentwise backward error, where refinement stalls */
#define REACHED  (4 * DBL_EPSILON) /* a step of refinement that is nothing but rounding */
enum { MORE_PASSES = 10 };

struct opts {
  double delta;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, delta, KKT_DELTA, 0, 1e-2, PERP_OPEN_MIN, "",
            "Regularization of the factorized matrix, in units of trace(J M^-1 J') / m."),
  PERP_OPTIONS_END
};

enum { USUAL_PASSES = 8 }; /* of refinement: 1 to 25 on the shipped scenes */

struct ws {
  struct opts opt;
  kkt_sparse K;
  double cost_pass; /* an apply with both residuals */
  int nv, m, nb, nc, subs;
  kkt_place *body;  /* [nb] M_b */
  kkt_place *joint; /* [nc] S of a group */
  kkt_place *sub;   /* [subs] sub-matrices */
  int *at;          /* [nv + m] row of K in the permuted matrix */
  double *x;        /* [nv + m] permuted */
  double *diag;     /* [m] */
  double *refine;   /* [KKT_REFINE_SCRATCH] */
};

static void kkt_sparse_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const size_t n = (size_t)work->nv + (size_t)work->m;
  perp_kkt_sparse_layout(&work->K, arena);
  work->body = PERP_CARVE(arena, kkt_place, work->nb);
  work->joint = PERP_CARVE(arena, kkt_place, work->nc);
  work->sub = PERP_CARVE(arena, kkt_place, work->subs);
  work->at = PERP_CARVE(arena, int, n);
  work->x = PERP_CARVE(arena, double, n);
  work->diag = PERP_CARVE(arena, double, work->m);
  work->refine = PERP_CARVE(arena, double, KKT_REFINE_SCRATCH(work->nv, work->m));
}

static void kkt_sparse_destroy(void *ws)
{
  if (ws != NULL) perp_kkt_sparse_free(&((struct ws *)ws)->K);
  free(ws);
}

/* Where everything is in K. */
static void kkt_sparse_place(struct ws *work, const perp_blocks *blocks)
{
  for (int body = 0; body < blocks->nb; body++) {
    work->body[body] = perp_kkt_sparse_locate(&work->K, body, body);
    for (int i = blocks->bptr[body]; i < blocks->bptr[body + 1]; i++)
      work->at[i] = work->K.row[body] + i - blocks->bptr[body];
  }
  for (int joint = 0; joint < blocks->nc; joint++) {
    work->joint[joint] = perp_kkt_sparse_locate(&work->K, blocks->nb + joint, blocks->nb + joint);
    for (int i = blocks->cptr[joint]; i < blocks->cptr[joint + 1]; i++)
      work->at[work->nv + i] = work->K.row[blocks->nb + joint] + i - blocks->cptr[joint];
    for (int sub = blocks->jptr[joint]; sub < blocks->jptr[joint + 1]; sub++)
      work->sub[sub] = perp_kkt_sparse_locate(&work->K, blocks->jblk[sub], blocks->nb + joint);
  }
}

static perp_status kkt_sparse_create(perp_ctx *ctx, const perp_blocks *blocks, const void *opts,
                                     void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, blocks));
  kkt_graph *graph;
  const int subs = blocks->jptr[blocks->nc];
  PERP_TRY(
      perp_kkt_graph_create(ctx, "kkt-sparse", blocks->nb + blocks->nc, 2 * (int64_t)subs, &graph));
  /* Graph of bodies (0 ... nb-1) and groups (nb ...), edges: sub-matrices. */
  int n = 0, *size = graph->size, *ptr = graph->ptr;
  for (int b = 0; b < blocks->nb; b++) {
    *size++ = blocks->bptr[b + 1] - blocks->bptr[b];
    *ptr++ = n;
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++)
      graph->adj[n++] = blocks->nb + blocks->jgrp[blocks->tsub[t]];
  }
  for (int g = 0; g < blocks->nc; g++) {
    *size++ = blocks->cptr[g + 1] - blocks->cptr[g];
    *ptr++ = n;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) graph->adj[n++] = blocks->jblk[k];
  }
  *ptr = n;
  struct ws like = { .opt = *(const struct opts *)opts,
                     .K = { .n_nodes = graph->n_nodes, .n_above = graph->n_edges },
                     .nv = blocks->nv,
                     .m = blocks->m,
                     .nb = blocks->nb,
                     .nc = blocks->nc,
                     .subs = subs };
  perp_status status = perp_kkt_elimination(ctx, "kkt-sparse", blocks, graph);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "kkt-sparse", &like, sizeof like, kkt_sparse_layout, ws);
  struct ws *work = *ws;
  if (work != NULL) status = perp_kkt_sparse_create(ctx, "kkt-sparse", graph, &work->K);
  free(graph);
  if (status != PERP_OK) {
    kkt_sparse_destroy(work);
    *ws = NULL;
    return status;
  }
  kkt_sparse_place(work, blocks);
  work->cost_pass = work->K.cost_solve +
                    2.0 * (blocks->mptr[blocks->nb] + 2.0 * blocks->joff[subs]);
  return PERP_OK;
}

/* K_delta; entries that are always zero are zero since create. */
static void kkt_sparse_form(struct ws *work, const perp_blocks *blocks, double shift)
{
  double *K = work->K.A->x;
  for (int body = 0; body < blocks->nb; body++) {
    int d = blocks->bptr[body + 1] - blocks->bptr[body];
    double *x = K + work->body[body].start;
    for (int k = 0; k < d; k++, x += work->body[body].ld + k)
      for (int i = 0; i <= k; i++) x[i] = blocks->M[blocks->mptr[body] + i + k * d];
  }
  for (int joint = 0; joint < blocks->nc; joint++) {
    int row = blocks->cptr[joint], r = blocks->cptr[joint + 1] - row;
    double *x = K + work->joint[joint].start;
    for (int k = 0; k < r; k++, x += work->joint[joint].ld + k)
      x[k] = -(shift + (blocks->s != NULL ? blocks->s[row + k] : 0));
    for (int n = blocks->jptr[joint]; n < blocks->jptr[joint + 1]; n++) {
      int d = blocks->bptr[blocks->jblk[n] + 1] - blocks->bptr[blocks->jblk[n]];
      const double *J = blocks->J + blocks->joff[n];
      x = K + work->sub[n].start;
      if (work->sub[n].transposed)
        for (int k = 0; k < d; k++, x += work->sub[n].ld + k)
          for (int i = 0; i < r; i++) x[i] = -J[i + k * r];
      else
        for (int k = 0; k < r; k++, x += work->sub[n].ld + k)
          for (int i = 0; i < d; i++) x[i] = -J[k + i * r];
    }
  }
}

static perp_status kkt_sparse_factor(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                     perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "kkt-sparse", blocks, work->nv, work->m));
  stats->factorizations++;
  stats->work += work->K.cost_factor;
  stats->reason = PERP_EXACT;
  if (work->nv + work->m == 0) return PERP_OK;
  double mean = perp_kkt_mean_diagonal(blocks, work->diag);
  kkt_sparse_form(work, blocks, work->opt.delta * (mean > 0 ? mean : 1));
  bool good = perp_kkt_sparse_factor(&work->K) && mean <= DBL_MAX;
  for (int i = 0; good && i < work->nv + work->m; i++) {
    double p = kkt_sparse_pivot(&work->K, work->at[i]);
    good = i < work->nv ? p > 0 && p <= DBL_MAX : p < 0 && p >= -DBL_MAX;
  }
  if (!good) stats->reason = perp_kkt_why_no_factor(blocks);
  return PERP_OK;
}

static void kkt_sparse_apply(void *ws, const perp_blocks *blocks, const double *f, const double *c,
                             double *a, double *lambda)
{
  struct ws *work = ws;
  (void)blocks;
  for (int i = 0; i < work->nv; i++) work->x[work->at[i]] = f[i];
  for (int i = 0; i < work->m; i++) work->x[work->at[work->nv + i]] = -c[i];
  perp_kkt_sparse_solve(&work->K, work->x);
  for (int i = 0; i < work->nv; i++) a[i] = work->x[work->at[i]];
  for (int i = 0; i < work->m; i++) lambda[i] = work->x[work->at[work->nv + i]];
}

/* Refinement until a step is rounding: rows whose terms are themselves nothing but rounding, as
 * across the plane of a plane motion, end that of perp_kkt_refine too early.  False where it does
 * not converge: a and lambda are as they were. */
static bool kkt_sparse_settles(struct ws *work, const perp_blocks *blocks, const double *f,
                               const double *c, double *a, double *lambda, perp_stats *stats)
{
  double *rf = work->refine, *rc = rf + blocks->nv, *da = rc + blocks->m, *dl = da + blocks->nv;
  double *a_before = dl + blocks->m, *lambda_before = a_before + blocks->nv, last = HUGE_VAL;
  memcpy(a_before, a, (size_t)blocks->nv * sizeof *a);
  memcpy(lambda_before, lambda, (size_t)blocks->m * sizeof *lambda);
  for (int pass = 0; pass < MORE_PASSES; pass++) {
    /* rf = f + J'lambda - M a, rc = c - J a - S lambda */
    perp_blocks_M(blocks, a, rf);
    for (int i = 0; i < blocks->nv; i++) rf[i] = f[i] - rf[i];
    perp_blocks_Jt(blocks, 1, lambda, rf);
    for (int i = 0; i < blocks->m; i++)
      rc[i] = blocks->s != NULL ? c[i] - blocks->s[i] * lambda[i] : c[i];
    perp_blocks_J(blocks, -1, a, rc);
    kkt_sparse_apply(work, blocks, rf, rc, da, dl);
    /* The larger of |da| / |a| and |dl| / |lambda|; |a| at least that without constraints, as a
     * body at rest has nothing but rounding.  scratch [nv] */
    double ends[2][2] = { { 0 } };
    perp_blocks_Minv(blocks, f, rf);
    for (int i = 0; i < blocks->nv; i++) {
      ends[0][0] = fmax(ends[0][0], fabs(da[i]));
      ends[0][1] = fmax(ends[0][1], fmax(fabs(a[i]), fabs(rf[i])));
    }
    for (int i = 0; i < blocks->m; i++) {
      ends[1][0] = fmax(ends[1][0], fabs(dl[i]));
      ends[1][1] = fmax(ends[1][1], fabs(lambda[i]));
    }
    const double step = fmax(ends[0][0] / fmax(ends[0][1], DBL_MIN),
                             ends[1][0] / fmax(ends[1][1], DBL_MIN));
    if (!(step < last / 2)) break;
    last = step;
    for (int i = 0; i < blocks->nv; i++) a[i] += da[i];
    for (int i = 0; i < blocks->m; i++) lambda[i] += dl[i];
    stats->iterations++;
    if (step <= REACHED) return true;
  }
  memcpy(a, a_before, (size_t)blocks->nv * sizeof *a);
  memcpy(lambda, lambda_before, (size_t)blocks->m * sizeof *lambda);
  return false;
}

static perp_status kkt_sparse_solve(perp_ctx *ctx, void *ws, const perp_blocks *blocks,
                                    const double *f, const double *c, double *a, double *lambda,
                                    perp_stats *stats)
{
  struct ws *work = ws;
  PERP_TRY(kkt_same_size(ctx, "kkt-sparse", blocks, work->nv, work->m));
  if (!perp_finite(work->nv, f) || !perp_finite(work->m, c))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  const int passes = stats->iterations;
  double residual = perp_kkt_refine(work, kkt_sparse_apply, blocks, f, c, a, lambda, stats,
                                    work->refine);
  if (!(residual <= HUGE_VAL) || !perp_finite(work->nv, a) || !perp_finite(work->m, lambda))
    return kkt_give_up(blocks, a, lambda, stats, PERP_NOT_FINITE);
  const bool good = residual <= ACCEPTED ||
                    kkt_sparse_settles(work, blocks, f, c, a, lambda, stats);
  stats->work += (stats->iterations - passes) * work->cost_pass;
  if (good) {
    stats->reason = PERP_CONVERGED;
    return PERP_OK;
  }
  /* Only the constraints may be left over, as with the other formulations
   * (perp_kkt_judge_dependent). */
  double violation = perp_kkt_violation(blocks, c, a, lambda, work->refine);
  if (violation > KKT_INFEASIBLE)
    stats->reason = PERP_INFEASIBLE;
  else
    stats->reason = residual <= violation ? PERP_REGULARIZED : PERP_INACCURATE;
  return PERP_OK;
}

static void kkt_sparse_cost(const void *ws, double *factor, double *solve)
{
  const struct ws *work = ws;
  *factor = work->K.cost_factor;
  *solve = USUAL_PASSES * work->cost_pass;
}

const perp_kkt_desc perp_kkt_kkt_sparse = {
  .d = { .name = "kkt-sparse",
         .summary = "Sparse KKT matrix with S + delta I, simplicial L D L' factorization of "
                    "CHOLMOD, iterative refinement",
         .reference = "Vondrak 2005, eq. 6.48; STAR 2012, section 3.2.1",
         .equation = "P [M -J'; -J -(S + delta I)] P' = L D L', refined against delta = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_KKT_SPARSE | PERP_KKT_REDUNDANT | PERP_KKT_MIN_NORM | PERP_KKT_LOOPS },
  .create = kkt_sparse_create,
  .factor = kkt_sparse_factor,
  .solve = kkt_sparse_solve,
  .destroy = kkt_sparse_destroy,
  .cost = kkt_sparse_cost,
};
