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

#define REACHED (4 * DBL_EPSILON) /* a step of refinement that is nothing but rounding */
enum { MORE_PASSES = 10 };

struct opts {
  double delta, tol, infeasible_tol;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, delta, 1e-10, 0, 1e-2, PERP_OPEN_MIN, "",
            "Regularization of the factorized matrix, in units of trace(J M^-1 J') / m."),
  PERP_REAL(
      struct opts, tol, 1e-8, 0, 1, PERP_OPEN_MIN, "",
      "Residual (componentwise backward error) that is accepted if iterative refinement stalls."),
  KKT_INFEASIBLE_OPTION(struct opts), PERP_OPTIONS_END
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

static void kkt_sparse_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  const size_t n = (size_t)w->nv + (size_t)w->m;
  perp_kkt_sparse_layout(&w->K, a);
  w->body = PERP_CARVE(a, kkt_place, w->nb);
  w->joint = PERP_CARVE(a, kkt_place, w->nc);
  w->sub = PERP_CARVE(a, kkt_place, w->subs);
  w->at = PERP_CARVE(a, int, n);
  w->x = PERP_CARVE(a, double, n);
  w->diag = PERP_CARVE(a, double, w->m);
  w->refine = PERP_CARVE(a, double, KKT_REFINE_SCRATCH(w->nv, w->m));
}

static void kkt_sparse_destroy(void *ws)
{
  if (ws != NULL) perp_kkt_sparse_free(&((struct ws *)ws)->K);
  free(ws);
}

/* Where everything is in K. */
static void kkt_sparse_place(struct ws *w, const perp_blocks *B)
{
  for (int b = 0; b < B->nb; b++) {
    w->body[b] = perp_kkt_sparse_locate(&w->K, b, b);
    for (int i = B->bptr[b]; i < B->bptr[b + 1]; i++) w->at[i] = w->K.row[b] + i - B->bptr[b];
  }
  for (int g = 0; g < B->nc; g++) {
    w->joint[g] = perp_kkt_sparse_locate(&w->K, B->nb + g, B->nb + g);
    for (int i = B->cptr[g]; i < B->cptr[g + 1]; i++)
      w->at[w->nv + i] = w->K.row[B->nb + g] + i - B->cptr[g];
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++)
      w->sub[k] = perp_kkt_sparse_locate(&w->K, B->jblk[k], B->nb + g);
  }
}

static perp_status kkt_sparse_create(perp_ctx *ctx, const perp_blocks *B, const void *opts,
                                     void **ws)
{
  *ws = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  kkt_graph *graph;
  const int subs = B->jptr[B->nc];
  PERP_TRY(perp_kkt_graph_create(ctx, "kkt-sparse", B->nb + B->nc, 2 * (int64_t)subs, &graph));
  /* Graph of bodies (0 ... nb-1) and groups (nb ...), edges: sub-matrices. */
  int n = 0, *size = graph->size, *ptr = graph->ptr;
  for (int b = 0; b < B->nb; b++) {
    *size++ = B->bptr[b + 1] - B->bptr[b];
    *ptr++ = n;
    for (int t = B->tptr[b]; t < B->tptr[b + 1]; t++) graph->adj[n++] = B->nb + B->jgrp[B->tsub[t]];
  }
  for (int g = 0; g < B->nc; g++) {
    *size++ = B->cptr[g + 1] - B->cptr[g];
    *ptr++ = n;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) graph->adj[n++] = B->jblk[k];
  }
  *ptr = n;
  struct ws like = { .opt = *(const struct opts *)opts,
                     .K = { .n_nodes = graph->n_nodes, .n_above = graph->n_edges },
                     .nv = B->nv,
                     .m = B->m,
                     .nb = B->nb,
                     .nc = B->nc,
                     .subs = subs };
  perp_status status = perp_kkt_elimination(ctx, "kkt-sparse", B, graph);
  if (status == PERP_OK)
    status = perp_workspace_create(ctx, "kkt-sparse", &like, sizeof like, kkt_sparse_layout, ws);
  struct ws *w = *ws;
  if (w != NULL) status = perp_kkt_sparse_create(ctx, "kkt-sparse", graph, &w->K);
  free(graph);
  if (status != PERP_OK) {
    kkt_sparse_destroy(w);
    *ws = NULL;
    return status;
  }
  kkt_sparse_place(w, B);
  w->cost_pass = w->K.cost_solve + 2.0 * (B->mptr[B->nb] + 2.0 * B->joff[subs]);
  return PERP_OK;
}

/* K_delta; entries that are always zero are zero since create. */
static void kkt_sparse_form(struct ws *w, const perp_blocks *B, double shift)
{
  double *K = w->K.A->x;
  for (int b = 0; b < B->nb; b++) {
    int d = B->bptr[b + 1] - B->bptr[b];
    double *x = K + w->body[b].start;
    for (int k = 0; k < d; k++, x += w->body[b].ld + k)
      for (int i = 0; i <= k; i++) x[i] = B->M[B->mptr[b] + i + k * d];
  }
  for (int g = 0; g < B->nc; g++) {
    int row = B->cptr[g], r = B->cptr[g + 1] - row;
    double *x = K + w->joint[g].start;
    for (int k = 0; k < r; k++, x += w->joint[g].ld + k)
      x[k] = -(shift + (B->s != NULL ? B->s[row + k] : 0));
    for (int n = B->jptr[g]; n < B->jptr[g + 1]; n++) {
      int d = B->bptr[B->jblk[n] + 1] - B->bptr[B->jblk[n]];
      const double *J = B->J + B->joff[n];
      x = K + w->sub[n].start;
      if (w->sub[n].transposed)
        for (int k = 0; k < d; k++, x += w->sub[n].ld + k)
          for (int i = 0; i < r; i++) x[i] = -J[i + k * r];
      else
        for (int k = 0; k < r; k++, x += w->sub[n].ld + k)
          for (int i = 0; i < d; i++) x[i] = -J[k + i * r];
    }
  }
}

static perp_status kkt_sparse_factor(perp_ctx *ctx, void *ws, const perp_blocks *B,
                                     perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "kkt-sparse", B, w->nv, w->m));
  stats->factorizations++;
  stats->work += w->K.cost_factor;
  stats->reason = PERP_EXACT;
  if (w->nv + w->m == 0) return PERP_OK;
  double mean = perp_kkt_mean_diagonal(B, w->diag);
  kkt_sparse_form(w, B, w->opt.delta * (mean > 0 ? mean : 1));
  bool good = perp_kkt_sparse_factor(&w->K) && mean <= DBL_MAX;
  for (int i = 0; good && i < w->nv + w->m; i++) {
    double p = kkt_sparse_pivot(&w->K, w->at[i]);
    good = i < w->nv ? p > 0 && p <= DBL_MAX : p < 0 && p >= -DBL_MAX;
  }
  if (!good) stats->reason = perp_kkt_why_no_factor(B);
  return PERP_OK;
}

static void kkt_sparse_apply(void *ws, const perp_blocks *B, const double *f, const double *c,
                             double *a, double *lambda)
{
  struct ws *w = ws;
  (void)B;
  for (int i = 0; i < w->nv; i++) w->x[w->at[i]] = f[i];
  for (int i = 0; i < w->m; i++) w->x[w->at[w->nv + i]] = -c[i];
  perp_kkt_sparse_solve(&w->K, w->x);
  for (int i = 0; i < w->nv; i++) a[i] = w->x[w->at[i]];
  for (int i = 0; i < w->m; i++) lambda[i] = w->x[w->at[w->nv + i]];
}

/* Refinement until a step is rounding: rows whose terms are themselves nothing but rounding, as
 * across the plane of a plane motion, end that of perp_kkt_refine too early.  False where it does
 * not converge: a and lambda are as they were. */
static bool kkt_sparse_settles(struct ws *w, const perp_blocks *B, const double *f, const double *c,
                               double *a, double *lambda, perp_stats *stats)
{
  double *rf = w->refine, *rc = rf + B->nv, *da = rc + B->m, *dl = da + B->nv;
  double *a_before = dl + B->m, *lambda_before = a_before + B->nv, last = HUGE_VAL;
  memcpy(a_before, a, (size_t)B->nv * sizeof *a);
  memcpy(lambda_before, lambda, (size_t)B->m * sizeof *lambda);
  for (int pass = 0; pass < MORE_PASSES; pass++) {
    /* rf = f + J'lambda - M a, rc = c - J a - S lambda */
    perp_blocks_M(B, a, rf);
    for (int i = 0; i < B->nv; i++) rf[i] = f[i] - rf[i];
    perp_blocks_Jt(B, 1, lambda, rf);
    for (int i = 0; i < B->m; i++) rc[i] = B->s != NULL ? c[i] - B->s[i] * lambda[i] : c[i];
    perp_blocks_J(B, -1, a, rc);
    kkt_sparse_apply(w, B, rf, rc, da, dl);
    /* The larger of |da| / |a| and |dl| / |lambda|; |a| at least that without constraints, as a
     * body at rest has nothing but rounding.  scratch [nv] */
    double ends[2][2] = { { 0 } };
    perp_blocks_Minv(B, f, rf);
    for (int i = 0; i < B->nv; i++) {
      ends[0][0] = fmax(ends[0][0], fabs(da[i]));
      ends[0][1] = fmax(ends[0][1], fmax(fabs(a[i]), fabs(rf[i])));
    }
    for (int i = 0; i < B->m; i++) {
      ends[1][0] = fmax(ends[1][0], fabs(dl[i]));
      ends[1][1] = fmax(ends[1][1], fabs(lambda[i]));
    }
    const double step = fmax(ends[0][0] / fmax(ends[0][1], DBL_MIN),
                             ends[1][0] / fmax(ends[1][1], DBL_MIN));
    if (!(step < last / 2)) break;
    last = step;
    for (int i = 0; i < B->nv; i++) a[i] += da[i];
    for (int i = 0; i < B->m; i++) lambda[i] += dl[i];
    stats->iterations++;
    if (step <= REACHED) return true;
  }
  memcpy(a, a_before, (size_t)B->nv * sizeof *a);
  memcpy(lambda, lambda_before, (size_t)B->m * sizeof *lambda);
  return false;
}

static perp_status kkt_sparse_solve(perp_ctx *ctx, void *ws, const perp_blocks *B, const double *f,
                                    const double *c, double *a, double *lambda, perp_stats *stats)
{
  struct ws *w = ws;
  PERP_TRY(kkt_same_size(ctx, "kkt-sparse", B, w->nv, w->m));
  if (!perp_finite(w->nv, f) || !perp_finite(w->m, c))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  const int passes = stats->iterations;
  double residual = perp_kkt_refine(w, kkt_sparse_apply, B, f, c, a, lambda, stats, w->refine);
  if (!(residual <= HUGE_VAL) || !perp_finite(w->nv, a) || !perp_finite(w->m, lambda))
    return kkt_give_up(B, a, lambda, stats, PERP_NOT_FINITE);
  const bool good = residual <= w->opt.tol || kkt_sparse_settles(w, B, f, c, a, lambda, stats);
  stats->work += (stats->iterations - passes) * w->cost_pass;
  if (good) {
    stats->reason = PERP_CONVERGED;
    return PERP_OK;
  }
  /* Only the constraints may be left over, as with the other formulations
   * (perp_kkt_judge_dependent). */
  double violation = perp_kkt_violation(B, c, a, lambda, w->refine);
  if (violation > w->opt.infeasible_tol)
    stats->reason = PERP_INFEASIBLE;
  else
    stats->reason = residual <= violation ? PERP_REGULARIZED : PERP_INACCURATE;
  return PERP_OK;
}

static void kkt_sparse_cost(const void *ws, double *factor, double *solve)
{
  const struct ws *w = ws;
  *factor = w->K.cost_factor;
  *solve = USUAL_PASSES * w->cost_pass;
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
