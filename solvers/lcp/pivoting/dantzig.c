/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dantzig's pivoting for boxed problems with symmetric positive semidefinite A (Vondrak 6.2.4-6.2.5
 * with the erratum of the step limits, STAR 4.2; Baraff's algorithm).
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * Index sets: F (clamped: lo < lambda < hi, w = 0), at lo with w >= 0, at hi with w <= 0; the other
 * rows are open.  An open row i is driven until it is in one of the sets, while the rows in the
 * sets stay there (Vondrak 2005, eq. 6.19, 6.20):
 *
 *      d lambda_i = +-1,   d lambda_F = -A_FF^-1 A_Fi d lambda_i
 *
 *      d w_N = A_NF d lambda_F + A_Ni d lambda_i,   d w_i = s d lambda_i
 *
 * with the Schur complement s = A_ii - A_iF A_FF^-1 A_Fi >= 0.
 *
 * The step ends when w_i = 0, when lambda_i meets its other bound, or when a row of the sets meets
 * the end of its line and changes over: a row leaves F (O(k^2) removal from L D L') or joins it
 * (O(k^2) append).
 *
 * Semidefinite A.  s is compared with its own A_ii.  If it vanishes, (d lambda_F, d lambda_i) is a
 * null vector of A: w does not move at all, the step runs along the null vector until a bound stops
 * it, and F loses that row; nothing stops it only if the problem has no solution, which the null
 * vector then proves. A dependent row inside its bounds with w = 0 is parked: it keeps lambda, is
 * watched like any other row and joins F when its w begins to move, which it does only after F has
 * become smaller.
 *
 * First the unbounded rows, and those that a guess lambda has strictly between their bounds, are
 * eliminated in one factorization; all others are driven, one after the other.  With start=bpp
 * another method comes first: the block rounds of block principal pivoting (bpp.c), which on most
 * problems leave nothing to be driven.  That is the fastest way and is then mostly that method's
 * work.
 *
 * Ties are decided by a second number beside each basic variable, its derivative under a generic
 * inward perturbation of the vertex where the drive began (lexicographic rule), so no drive cycles;
 * every drive closes one row for good.  At the end the basic solution is refined and all rows are
 * checked.
 *
 * Friction rows (Vondrak 6.5.3): clamped_limits.c.
 *
 * Reuse (option): where the same A comes again with another b or other bounds, the factor of the
 * last F is kept and only the rows that differ change: O(k^2) each instead of O(k^3 / 3).  Nothing
 * is compared: every answer is checked against A as it is, and where the check fails the problem is
 * solved from the beginning.  Matrices that change from step to step gain nothing.
 *
 * Cost O(n k) per step and O(k^3 / 3) per factorization for k = |F|; memory 2 n^2 numbers. Factored
 * input: perp_lcp_solve forms A once per solve.  Nonsymmetric A: PERP_UNSUITED (noise of
 * 1e-3 is refined away as far as that converges).
 *
 * In STAR 2012, eq. 63 and 64, of pure problems, are the steps to the first row that meets its end.
 */
#include "solvers/lcp/pivoting/clamped.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORDER_WORST, ORDER_INDEX };
enum { START_NONE, START_BPP };
static const char *const order_names[] = { "worst", "index", NULL };
static const char *const start_names[] = { "none", "bpp", NULL };

struct dantzig_opts {
  int max_iter, friction, order, start;
  bool reuse;
};
static const perp_opt dantzig_options[] = {
  PERP_INT(struct dantzig_opts, max_iter, 0, 0, 1e9, "Maximum number of pivots. 0: 50 n + 1000."),
  PERP_ENUM(struct dantzig_opts, start, START_NONE, start_names,
            "First phase: none, or bpp (rounds of block principal pivoting)."),
  PERP_ENUM(struct dantzig_opts, order, ORDER_WORST, order_names,
            "Violated row that is pivoted next: worst (largest violation, STAR 4.2) or index "
            "(lowest index, Vondrak 6.2.5)."),
  PERP_BOOL(struct dantzig_opts, reuse, false,
            "Reuse the factorization of the previous solve if A has the same address. If the "
            "result fails the check, A is factorized again."),
  PERP_ENUM(struct dantzig_opts, friction, PERP_LIMITS_REFRESHED, perp_clamped_limits,
            "Friction limits: refreshed (iterated until they agree with the normal multipliers), "
            "or fixed (computed once from the problem without friction)."),
  PERP_OPTIONS_END
};

/* an entry of a direction below TINY times the largest is zero */
static const double TINY = 1e-11;
static const double REFINE = 1e-13;
/* w_F of a basic solution, relative to the multipliers, that shows a nonsymmetric A */
static const double FOREIGN = 1e-4;

enum { ROUNDS = 6 };

/* Rows of F outside of their bounds leave it, until lambda is feasible and w_F = 0: what a drive
 * needs.  0 when A is not semidefinite. */
static int make_feasible(perp_clamped *clamped)
{
  for (int changes = 1; changes > 0;) {
    double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped);
    changes = 0;
    for (int u = 0; u < clamped->K.k; u++) {
      int i = clamped->rows[u], to = perp_clamped_outside(clamped, i, zero);
      if (to == CLAMPED) {
        clamped->lambda[i] = perp_smaller(perp_larger(clamped->lambda[i], clamped->P.lo[i]),
                                          clamped->P.hi[i]);
        continue;
      }
      perp_clamped_to_bound(clamped, i, to);
      changes++;
    }
    if (changes > 0) {
      if (!perp_clamped_factor(clamped, changes, 0) || !perp_clamped_basic_solution(clamped, 0))
        return 0;
    }
  }
  return 1;
}

/* ---- driving one row ---- */

enum { STOP_NONE, STOP_CLOSED, STOP_OTHER_BOUND, STOP_LEAVES, STOP_JOINS };

/* dir and dw for d lambda_i = sign; returns d w_i = |s|, 0 along a null vector, -1 when A is
 * indefinite */
static double dantzig_direction(perp_clamped *clamped, int i, double sign)
{
  int n = clamped->P.n, k = clamped->K.k;
  double s = perp_clamped_schur(clamped, i), size = 1;
  if (s < 0) return -1;
  for (int u = 0; u < k; u++) clamped->dir[u] = -sign * clamped->ell[u] / clamped->K.d[u];
  perp_ldl_backward(&clamped->K, clamped->dir);
  const double *col = clamped->P.A + (size_t)i * clamped->P.lda;
  for (int round = 0; round < 3; round++) {
    double worst = 0;
    for (int j = 0; j < n; j++) clamped->dw[j] = sign * col[j];
    perp_pivot_columns(&clamped->P, k, clamped->rows, clamped->dir, clamped->dw);
    clamped->stats->matvecs++;
    clamped->stats->work += perp_pivot_cost(&clamped->P, k);
    perp_clamped_count(clamped, 1);
    for (int u = 0; u < k; u++) {
      size = perp_larger(size, fabs(clamped->dir[u]));
      clamped->res[u] = -clamped->dw[clamped->rows[u]];
      worst = perp_larger(worst, fabs(clamped->res[u]) / clamped->P.a[clamped->rows[u]]);
    }
    if (worst <= REFINE * size) break;
    perp_ldl_solve(&clamped->K, clamped->res);
    for (int u = 0; u < k; u++) clamped->dir[u] += clamped->res[u];
  }
  for (int u = 0; u < k; u++) clamped->dw[clamped->rows[u]] = 0;
  return s;
}

/* what ends the step */
static perp_stop dantzig_first(const perp_clamped *clamped, int i, double sign, double s)
{
  perp_stops stops = { .at = clamped->stop, .limit = HUGE_VAL };
  /* What may end the step: row i at its other bound or closed, rows of F at a bound, others whose w
   * vanishes. */
  const double *lo = clamped->P.lo, *hi = clamped->P.hi, *lambda = clamped->lambda;
  const double own = sign > 0 ? hi[i] - lambda[i] : lambda[i] - lo[i];
  const double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped);
  double size = 1;
  for (int u = 0; u < clamped->K.k; u++) size = perp_larger(size, fabs(clamped->dir[u]));
  const double tiny = TINY * size;
  perp_stops_add(
      &stops, own, own,
      (perp_stop){ .what = STOP_OTHER_BOUND, .row = i, .to = sign > 0 ? AT_HI : AT_LO, .rate = 1 });
  if (s > 0)
    perp_stops_add(&stops, fabs(clamped->w[i]), fabs(clamped->w[i]),
                   (perp_stop){ .what = STOP_CLOSED, .row = i, .ends = true, .rate = s });
  for (int u = 0; u < clamped->K.k; u++) {
    const int j = clamped->rows[u];
    const bool up = clamped->dir[u] > 0;
    const double distance = up ? hi[j] - lambda[j] : lambda[j] - lo[j];
    if (fabs(clamped->dir[u]) > tiny)
      perp_stops_add(&stops, distance, distance + zero,
                     (perp_stop){ .what = STOP_LEAVES,
                                  .row = j,
                                  .to = up ? AT_HI : AT_LO,
                                  .rate = fabs(clamped->dir[u]),
                                  .theta_p = up ? -clamped->lp[j] : clamped->lp[j] });
  }
  for (int j = 0; j < clamped->P.n; j++) {
    if (clamped->set[j] == CLAMPED || clamped->ignore[j]) continue;
    const bool parked = clamped->set[j] == PARKED;
    const double side = clamped->set[j] == AT_LO || (parked && !(clamped->dw[j] > 0)) ? 1 : -1;
    const double rate = -side * clamped->dw[j], a = clamped->P.a[j];
    if (rate > tiny * a)
      perp_stops_add(&stops, parked ? 0 : side * clamped->w[j],
                     parked ? 0 : fabs(clamped->w[j]) + zero * a,
                     (perp_stop){ .what = STOP_JOINS,
                                  .row = j,
                                  .rate = rate,
                                  .theta_p = parked ? 0 : side * clamped->wp[j] });
  }
  if (perp_stops_end(&stops) == 0) return (perp_stop){ .what = STOP_NONE };
  perp_stop first = *perp_stops_least(&stops);
  if (first.theta < 0) first.theta = 0;
  return first;
}

/* Drive row i into one of the sets.  PERP_RUNNING when it is; PERP_RAY with the null vector in
 * proof. */
static perp_reason dantzig_drive(perp_clamped *clamped, int i)
{
  int n = clamped->P.n;
  double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped),
         sign = perp_clamped_breaks(clamped, i, zero);
  for (int j = 0; j < n; j++) {
    double p = perp_pivot_generic(j);
    clamped->ignore[j] = j == i || clamped->P.lo[j] == clamped->P.hi[j] ||
                         (clamped->pos[j] < 0 && perp_clamped_breaks(clamped, j, zero) != 0);
    clamped->wp[j] = clamped->set[j] == AT_LO   ? p * clamped->P.a[j]
                     : clamped->set[j] == AT_HI ? -p * clamped->P.a[j]
                                                : 0;
    clamped->lp[j] = clamped->set[j] != CLAMPED ? 0
                     : clamped->lambda[j] - clamped->P.lo[j] <=
                             clamped->P.hi[j] - clamped->lambda[j]
                         ? p
                         : -p;
  }
  for (;;) {
    if (perp_clamped_over(clamped)) return PERP_MAX_ITER;
    double s = dantzig_direction(clamped, i, sign);
    if (s < 0) return PERP_UNSUITED;
    const perp_stop stop = dantzig_first(clamped, i, sign, s);
    if (stop.what == STOP_NONE) {
      for (int j = 0; j < n; j++) clamped->proof[j] = 0;
      for (int u = 0; u < clamped->K.k; u++) clamped->proof[clamped->rows[u]] = clamped->dir[u];
      clamped->proof[i] = sign;
      return PERP_RAY;
    }
    if (!isfinite(stop.theta)) return PERP_NOT_FINITE;
    /* (6.19), (6.20) times the step */
    for (int u = 0; u < clamped->K.k; u++) {
      int j = clamped->rows[u];
      clamped->lambda[j] = perp_smaller(
          perp_larger(clamped->lambda[j] + stop.theta * clamped->dir[u], clamped->P.lo[j]),
          clamped->P.hi[j]);
      clamped->lp[j] += stop.theta_p * clamped->dir[u];
    }
    clamped->lambda[i] += sign * stop.theta;
    for (int j = 0; j < n; j++) {
      clamped->w[j] += stop.theta * clamped->dw[j];
      clamped->wp[j] += stop.theta_p * clamped->dw[j];
    }
    clamped->stats->iterations++;
    perp_clamped_trace(clamped, "pivot", i,
                       stop.what == STOP_CLOSED || stop.what == STOP_OTHER_BOUND ? -1 : stop.row,
                       stop.theta);
    switch (stop.what) {
    case STOP_CLOSED:
      clamped->w[i] = 0;
      perp_clamped_join(clamped, i, s);
      return PERP_RUNNING;
    case STOP_OTHER_BOUND:
      perp_clamped_to_bound(clamped, i, stop.to);
      return PERP_RUNNING;
    case STOP_LEAVES:
      perp_clamped_leave(clamped, stop.row, stop.to);
      clamped->lp[stop.row] = clamped->wp[stop.row] = 0;
      break;
    default: {
      double sj = perp_clamped_schur(clamped, stop.row);
      if (sj > 0) {
        perp_clamped_join(clamped, stop.row, sj);
        clamped->w[stop.row] = clamped->wp[stop.row] = clamped->lp[stop.row] = 0;
      } else /* its motion was rounding: the last check will tell */
        clamped->ignore[stop.row] = 1;
    }
    }
    if (s == 0 &&
        sign * clamped->w[i] > 0) { /* only rounding moved w_i, and past 0: as good as closed */
      clamped->w[i] = 0;
      if (clamped->lambda[i] > clamped->P.lo[i] && clamped->lambda[i] < clamped->P.hi[i])
        clamped->set[i] = PARKED;
      return PERP_RUNNING;
    }
  }
}

/* ---- one boxed problem ---- */

/* the row to drive next, -1 when all are closed */
static int next_open(const perp_clamped *clamped)
{
  int next = -1;
  double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped), most = 0;
  for (int i = 0; i < clamped->P.n; i++) {
    if (clamped->pos[i] >= 0 || !perp_clamped_breaks(clamped, i, zero)) continue;
    if (clamped->order == ORDER_INDEX) return i;
    double size = fabs(clamped->w[i]) / clamped->P.a[i];
    if (size > most) {
      most = size;
      next = i;
    }
  }
  return next;
}

static perp_reason dantzig_box(perp_clamped *clamped, int warm)
{
  if (clamped->start == START_BPP) {
    if (!perp_bpp_start(clamped, warm)) return PERP_UNSUITED;
  } else {
    /* The rows that the guess has between its bounds are clamped, without a guess those without
     * bounds. */
    perp_clamped_first_sets(clamped, warm);
    for (int i = 0; i < clamped->P.n && !warm; i++)
      if (clamped->set[i] == CLAMPED &&
          (clamped->P.lo[i] > -HUGE_VAL || clamped->P.hi[i] < HUGE_VAL))
        clamped->set[i] = PARKED;
    if (!perp_clamped_factor(clamped,
                             clamped->kept ? perp_clamped_differences(clamped) : clamped->P.n, 0) ||
        !perp_clamped_basic_solution(clamped, 0))
      return PERP_UNSUITED;
  }
  perp_clamped_trace(clamped, "start", -1, -1, 0);
  perp_reason reason = PERP_RUNNING;
  for (int round = 0; round < ROUNDS; round++) {
    int i, fresh = 1;
    if (!make_feasible(clamped)) return PERP_UNSUITED;
    reason = PERP_RUNNING;
    while (reason == PERP_RUNNING && (i = next_open(clamped)) >= 0) {
      fresh = 0;
      reason = dantzig_drive(clamped, i);
      if (reason == PERP_RAY && perp_pivot_proves_infeasible(&clamped->P, clamped->proof))
        return PERP_INFEASIBLE;
    }
    if (reason == PERP_MAX_ITER || reason == PERP_NOT_FINITE) return reason;
    /* other failures may come from rounding in an ill-conditioned F: once more with a fresh one */
    if (perp_clamped_done(clamped, !fresh)) return PERP_EXACT;
    if (!perp_clamped_factor(clamped, clamped->P.n, 0) || !perp_clamped_basic_solution(clamped, 0))
      return PERP_UNSUITED;
  }
  return reason == PERP_RUNNING ? PERP_INACCURATE : reason;
}

static perp_status dantzig_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  const struct dantzig_opts *chosen = opts;
  perp_clamped clamped = {
    .name = "dantzig",
    .box = dantzig_box,
    .max_iter = chosen->max_iter,
    .limits = chosen->friction,
    .reuse = chosen->reuse,
    .start = chosen->start,
    .order = chosen->order,
    .foreign = FOREIGN,
    .P.max_n = max_n,
  };
  return perp_workspace_create(ctx, clamped.name, &clamped, sizeof clamped, perp_clamped_layout,
                               ws);
}

const perp_lcp_desc perp_lcp_dantzig = {
  .d = { "dantzig",
         "Dantzig's pivoting row by row for symmetric semidefinite A, bounds and friction limits",
         "Vondrak 2005, 6.2.4-6.2.5, 6.5.3; STAR 2012, 4.2; Baraff 1994",
         "w = A lambda + b, lo <= lambda <= hi complementary, A = A' >= 0", dantzig_options,
         sizeof(struct dantzig_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_SEMIDEFINITE |
             PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = dantzig_create,
  .solve = perp_clamped_solve,
  .destroy = free,
  .serves = "Symmetric positive semidefinite A, bounds of any kind; without friction it ends after "
            "finitely many pivots. Friction limits: a fixed point with Newton steps, else a path "
            "of index sets. For definite A this path ends at a solution, up to rounding.",
  .ties = "The row that is pivoted in has priority. Then the smallest ratio of a generic inward "
          "perturbation of the vertex.",
  .cost = "O(n k + k^2) per pivot for k rows between their bounds, O(k^3 / 3) per full "
          "factorization. Memory: 2 n^2 numbers.",
  .counts = "Pivots, including those on the path of friction limits. With start=bpp its rounds "
            "count as well.",
};
