/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keller's principal pivoting for positive definite, P- and positive semidefinite matrices,
 * symmetric or not, boxed (STAR 4.2; Cottle, Pang and Stone, The Linear Complementarity Problem).
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * Major cycle: of the rows whose w has the wrong sign take the worst, r, and drive lambda_r until
 * w_r = 0 or lambda_r meets its other bound.  On the way the rows that are in order stay so: a
 * blocking row j changes over by a principal pivot, and where its diagonal pivot is zero (a
 * semidefinite A) by a 2 x 2 pivot with r, after which w_r instead of lambda_r is driven.  That is
 * the almost complementary path of path.h with t = |w_r|, covering vector -+ e_r and the rows not
 * yet in order left out; each major cycle settles one row, so there are at most n of them: more
 * mean that settled rows come back, by rounding or an A outside the domain, PERP_CYCLED.  A cycle
 * that ends on a ray is taken back, and the next worst row driven first.  STAR prints (64c) with
 * the sign of the Schur complement reversed: the driven w_r grows with A_rr - A_rA A_AA^-1 A_Ar >
 * 0.
 *
 * Against dantzig: the same pivots where A is symmetric and positive definite, a drive being a
 * major cycle; here A may have any symmetry, and there is an explicit inverse instead of L D L'.
 * Against lemke: one row at a time instead of all rows along a covering vector.
 *
 * Cost O(|S|^2 + n |S|) per pivot, memory 1.2 n^2 numbers.  A ray along which lambda_r grows
 * without end has a direction z with z_i (A z)_i = 0 in the basic rows and z_r (A z)_r <= 0: no
 * P-matrix has one, and for semidefinite A it proves that there is no solution.  Where (A + A') z
 * != 0 it proves that A is outside the domain, PERP_UNSUITED; else PERP_RAY.  Singular principal
 * submatrices of matrices outside these classes end there too, or in PERP_SINGULAR. */
#include "solvers/lcp/pivoting/path.h"

#include <stdlib.h>
#include <string.h>

struct keller_opts {
  int max_iter;
};
static const perp_opt keller_options[] = { PERP_INT(struct keller_opts, max_iter, 0, 0, 1e9,
                                                    "Maximum number of pivots. 0: 25 n + 1000."),
                                           PERP_OPTIONS_END };

struct keller {
  struct keller_opts o;
  perp_path path;
  signed char *saved;   /* [max_n] index sets before a major cycle */
  unsigned char *avoid; /* [max_n] rows that ended on a ray since the last settled one */
};

static void keller_layout(void *ws, perp_arena *arena)
{
  struct keller *keller = ws;
  perp_path_layout(&keller->path, arena);
  keller->saved = PERP_CARVE(arena, signed char, keller->path.P.max_n);
  keller->avoid = PERP_CARVE(arena, unsigned char, keller->path.P.max_n);
}

static perp_status keller_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct keller keller = { .o = *(const struct keller_opts *)opts, .path.P.max_n = max_n };
  return perp_workspace_create(ctx, "keller", &keller, sizeof keller, keller_layout, ws);
}

/* Mark the rows out of order; returns the worst not to be avoided, -1 when there is none. */
static int worst_row(perp_path *path, const unsigned char *avoid)
{
  int worst = -1;
  double most = 0, zs = path->P.bscale;
  for (int i = 0; i < path->P.n; i++) zs = perp_larger(zs, fabs(path->lambda[i]));
  for (int i = 0; i < path->P.n; i++) {
    if (path->kind[i] != PERP_PATH_NORMAL && path->kind[i] != PERP_PATH_OPEN) continue;
    double bad = (path->st[i] == PERP_ROW_LO ? -path->w[i] : path->w[i]) / path->P.a[i];
    path->kind[i] = PERP_PATH_NORMAL;
    if (path->st[i] == PERP_ROW_FREE || !(bad > PERP_PIVOT_ZERO * zs)) continue;
    path->kind[i] = PERP_PATH_OPEN;
    if (bad > most && !avoid[i]) {
      most = bad;
      worst = i;
    }
  }
  return worst;
}

/* the almost complementary vertex with t = |w_r| */
static void keller_begin(perp_path *path, int r)
{
  int n = path->P.n, m = path->K.m;
  double sign = path->w[r] < 0 ? 1 : -1;
  for (int i = 0; i < n; i++) {
    double p = perp_pivot_generic(i);
    int low = path->lambda[i] - path->P.lo[i] <= path->P.hi[i] - path->lambda[i];
    path->c[i] = 0;
    path->wp[i] = path->st[i] == PERP_ROW_FREE ? 0
                  : path->st[i] == PERP_ROW_LO ? p * path->P.a[i]
                                               : -p * path->P.a[i];
    path->lp[i] = path->st[i] != PERP_ROW_FREE ? 0 : low ? p : -p;
  }
  path->c[r] = sign;
  path->ct = 1 / path->P.a[r];
  path->t = fabs(path->w[r]);
  path->tp = 0;
  for (int u = 0; u < m; u++) path->f[u] = 0;
  perp_path_append(path, r, -1, sign);
  perp_path_t_first(path, m);
  path->w[r] = path->wp[r] = 0;
  path->kind[r] = PERP_PATH_NORMAL;
  path->target = r;
  path->target_bound = sign > 0 ? PERP_ROW_HI : PERP_ROW_LO;
}

/* the complementary basis before the cycle that ended on a ray */
static void take_back(struct keller *keller)
{
  perp_path *path = &keller->path;
  memcpy(path->st, keller->saved, (size_t)path->P.n);
  for (int i = 0; i < path->P.n; i++) {
    if (path->kind[i] == PERP_PATH_PARKED) path->kind[i] = PERP_PATH_FREE;
    if (path->st[i] != PERP_ROW_FREE) perp_path_rest(path, i, path->st[i] == PERP_ROW_LO);
  }
  perp_path_core(path);
  perp_path_recompute(path, 3);
}

static perp_reason keller_run(struct keller *keller)
{
  perp_path *path = &keller->path;
  perp_path_sets(path, path->warm);
  perp_path_core(path);
  if (path->warm && !perp_path_clean(path)) {
    perp_path_sets(path, false);
    perp_path_core(path);
  }
  for (int round = 0; round < 5; round++) {
    int r, settled = 0;
    perp_path_recompute(path, 3);
    memset(keller->avoid, 0, (size_t)path->P.n);
    while ((r = worst_row(path, keller->avoid)) >= 0) {
      memcpy(keller->saved, path->st, (size_t)path->P.n);
      keller_begin(path, r);
      perp_reason reason = perp_path_follow(path, r, true);
      if (reason == PERP_RUNNING) {
        if (++settled > path->P.n) return PERP_CYCLED;
        memset(keller->avoid, 0, (size_t)path->P.n);
        continue;
      }
      if (reason != PERP_RAY) return reason;
      path->stats->work += (double)path->P.n * path->P.n;
      if (perp_pivot_proves_infeasible(&path->P, path->dp)) return PERP_INFEASIBLE;
      if (perp_pivot_spent(&path->P, path->stats)) return PERP_MAX_ITER;
      /* open rows may have grown worse along the ray: one of them may bring it to an end */
      memcpy(path->wp, path->dp, (size_t)path->P.n * sizeof *path->wp);
      keller->avoid[r] = 1;
      path->stats->iterations++;
      take_back(keller);
      memcpy(path->dp, path->wp, (size_t)path->P.n * sizeof *path->dp);
      if (worst_row(path, keller->avoid) < 0) return PERP_RAY;
    }
    /* refine the basic solution and look at all rows again */
    perp_path_recompute(path, 3);
    if (perp_pivot_settle(&path->P, path->lambda, path->w) <= PERP_PIVOT_DONE) return PERP_EXACT;
    if (perp_path_parked_proof(path)) return PERP_INFEASIBLE;
    if (!perp_path_clean(path)) return PERP_SINGULAR;
  }
  return PERP_INACCURATE;
}

/* Is A neither semidefinite nor P, by the direction z in path->dp with all z_i (A z)_i <= 0?  A
 * P-matrix has no such z, and for a semidefinite A it has z'Az = 0, so that (A + A') z = 0. */
static bool keller_outside(perp_path *path)
{
  int n = path->P.n;
  double most = 0, size = 0;
  for (int i = 0; i < n; i++) {
    const double *col = path->P.A + (size_t)i * path->P.lda;
    double sum = 0, terms = 0;
    for (int j = 0; j < n; j++) {
      double x = path->P.A[(size_t)i + (size_t)j * path->P.lda];
      sum += (x + col[j]) * path->dp[j];
      terms += (fabs(x) + fabs(col[j])) * fabs(path->dp[j]);
    }
    most = perp_larger(most, fabs(sum) / path->P.a[i]);
    size = perp_larger(size, terms / path->P.a[i]);
  }
  return most > 1e-10 * size; /* more than rounding */
}

static perp_status keller_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                double *certificate, perp_stats *stats)
{
  struct keller *keller = ws;
  perp_path *path = &keller->path;
  PERP_TRY(perp_path_take(ctx, path, lcp, "keller", lambda, certificate, stats));
  path->limit = keller->o.max_iter > 0 ? keller->o.max_iter : 25 * lcp->n + 1000;
  stats->reason = keller_run(keller);
  if (stats->reason == PERP_RAY && keller_outside(path)) stats->reason = PERP_UNSUITED;
  if ((stats->reason == PERP_RAY || stats->reason == PERP_INFEASIBLE) && certificate != NULL)
    memcpy(certificate, path->dp, (size_t)lcp->n * sizeof *certificate);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_keller = {
  .d = { "keller",
         "Keller's principal pivoting row by row for semidefinite A and P-matrices, with bounds",
         "STAR 2012, 4.2; Cottle, Pang & Stone, The Linear Complementarity Problem",
         "w = A lambda + b, lo <= lambda <= hi complementary", keller_options,
         sizeof(struct keller_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE |
             PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = keller_create,
  .solve = keller_solve,
  .destroy = free,
  .serves = "Positive semidefinite and P-matrices of any symmetry, bounds of any kind. It ends "
            "after at most n major cycles, or with a ray. The ray proves infeasibility, or that A "
            "is outside these classes.",
  .ties = "The end of the major cycle has priority. Then the smallest ratio of a generic inward "
          "perturbation of the vertex.",
  .cost = "O(|S|^2 + n |S|) per pivot for |S| basic lambda. Memory: 1.2 n^2 numbers.",
  .counts = "Pivots, and major cycles that are reverted.",
  .same = "dantzig", /* where A is symmetric and positive definite */
};
