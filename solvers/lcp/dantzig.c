/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dantzig's pivoting for boxed problems with symmetric positive semidefinite A (Vondrak 6.2.4-6.2.5 with
 * the erratum of the step limits, STAR 4.2; Baraff's algorithm).
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * Index sets: F (clamped: lo < lambda < hi, w = 0), at lo with w >= 0, at hi with w <= 0; the other rows
 * are open.  An open row i is driven until it is in one of the sets, while the rows in the sets stay
 * there (6.19-6.20):
 *
 *      d lambda_i = +-1,   d lambda_F = -A_FF^-1 A_Fi d lambda_i,   d w_N = A_NF d lambda_F + A_Ni d lambda_i,
 *      d w_i = s d lambda_i   with the Schur complement  s = A_ii - A_iF A_FF^-1 A_Fi >= 0.
 *
 * The step ends when w_i = 0, when lambda_i meets its other bound, or when a row of the sets meets the end
 * of its line and changes over: a row leaves F (O(k^2) removal from L D L') or joins it (O(k^2) append).
 *
 * Semidefinite A.  s is compared with its own A_ii.  If it vanishes, (d lambda_F, d lambda_i) is a null
 * vector of A: w does not move at all, the step runs along the null vector until a bound stops it, and F
 * loses that row; nothing stops it only if the problem has no solution, which the null vector then proves.
 * A dependent row inside its bounds with w = 0 is parked: it keeps lambda, is watched like any other row
 * and joins F when its w begins to move, which it does only after F has become smaller.
 *
 * Before any pivot (option crash): F is guessed by a few block principal pivots, all rows at once, each a
 * blocked Cholesky factorization; on most problems nothing remains to be driven.  Without it only the
 * unbounded rows are eliminated in one factorization and the rest goes row by row.  A guess lambda gives
 * the first F: the rows strictly between their bounds.
 *
 * Ties are decided by a second number beside each basic variable, its derivative under a generic inward
 * perturbation of the vertex where the drive began (lexicographic rule), so no drive cycles; every drive
 * closes one row for good.  At the end the basic solution is refined and all rows are checked.
 *
 * Friction rows (Vondrak 6.5.3): the others are solved first with lambda = 0 in the friction rows, then
 * all rows with the limits mu lambda_n fixed.  With friction = refreshed this is repeated with new limits,
 * from the last sets, until they agree with the normal multipliers: Newton steps on the limits, shortened
 * fixed-point steps where those do not help, PERP_STALLED when neither does.
 *
 * Reuse (option): where the same A comes again with another b or other bounds, the factor of the last F is
 * kept and only the rows that differ change: O(k^2) each instead of O(k^3 / 3).  Nothing is
 * compared: every answer is checked against A as it is, and where the check fails the problem is solved
 * from the beginning.  Matrices that change from step to step gain nothing.
 *
 * Cost O(n k) per step and O(k^3 / 3) per factorization for k = |F|; memory 2 n^2 numbers.  Factored
 * input: perp_lcp_solve forms A once per solve.  Nonsymmetric A: PERP_UNSUITED (noise of
 * 1e-3 is refined away as far as that converges). */
#include "solvers/lcp/dantzig_impl.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char *const friction_names[] = { "refreshed", "fixed", NULL };
static const char *const order_names[] = { "worst", "index", NULL };
static const perp_opt dantzig_options[] = {
  PERP_INT(struct dantzig_opts, max_iter, 0, 0, 1e9, "steps before giving up; 0: 50 n + 1000"),
  PERP_BOOL(struct dantzig_opts, crash, true,
            "guess the clamped set by block principal pivots first"),
  PERP_BOOL(
      struct dantzig_opts, reuse, false,
      "A at the same address is the matrix of the solve before: keep its factor, change the rows "
      "of F that differ"),
  PERP_ENUM(struct dantzig_opts, order, ORDER_WORST, order_names,
            "which open row is driven next: the worst (STAR 4.2) or the first (Vondrak 6.2.5)"),
  PERP_ENUM(
      struct dantzig_opts, friction, FRICTION_REFRESHED, friction_names,
      "limits of friction rows: refreshed until they agree with the normal multipliers, or fixed"),
  PERP_OPTIONS_END
};

/* an entry of a direction below TINY times the largest is zero */
static const double TINY = 1e-11;
static const double REFINE = 1e-13;
/* shift of a singular A_FF in the crash, relative to its diagonal; 1e-8 ... 1e-4 serve equally well */
static const double SHIFT = 1e-6;

enum { CRASH_ROUNDS = 50, CRASH_PATIENCE = 6, ROUNDS = 6 };

static void layout(struct dantzig *D, int max_n)
{
  perp_arena *a = &D->arena;
  int n = max_n;
  perp_pivot_layout(&D->P, a, n);
  D->K.cap = n;
  D->K.ld = (size_t)n + (n % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  D->K.L = PERP_CARVE(a, double, D->K.ld *(size_t)n);
  D->K.d = PERP_CARVE(a, double, n);
  D->K.x = PERP_CARVE(a, double, 2 * n);
  D->K.order = PERP_CARVE(a, int, n);
  D->rows = PERP_CARVE(a, int, n);
  D->pos = PERP_CARVE(a, int, n);
  D->ell = PERP_CARVE(a, double, n);
  D->dir = PERP_CARVE(a, double, n);
  D->res = PERP_CARVE(a, double, n);
  D->w = PERP_CARVE(a, double, n);
  D->dw = PERP_CARVE(a, double, n);
  D->lp = PERP_CARVE(a, double, n);
  D->wp = PERP_CARVE(a, double, n);
  D->proof = PERP_CARVE(a, double, n);
  D->guess = PERP_CARVE(a, double, n);
  D->set = PERP_CARVE(a, signed char, n);
  D->saved = PERP_CARVE(a, signed char, n);
  D->state = PERP_CARVE(a, signed char, n);
  D->ignore = PERP_CARVE(a, unsigned char, n);
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  if (max_n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "dantzig: max_n = %d is negative", max_n);
  struct dantzig *D = calloc(1, sizeof *D);
  if (D == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "dantzig: no memory");
  D->o = *(const struct dantzig_opts *)opts;
  layout(D, max_n);
  perp_status st = perp_arena_reserve(ctx, &D->arena);
  if (st != PERP_OK) {
    free(D);
    return st;
  }
  layout(D, max_n);
  *ws = D;
  return PERP_OK;
}

static void destroy(void *ws)
{
  struct dantzig *D = ws;
  if (D == NULL) return;
  perp_arena_free(&D->arena);
  free(D);
}

void perp_dantzig_trace(struct dantzig *D, const char *what, int entering, int leaving, double step)
{
  if (D->ctx == NULL || D->ctx->trace == NULL) return;
  for (int i = 0; i < D->P.n; i++)
    D->state[i] = D->set[i] == AT_LO || D->set[i] == AT_HI ? D->set[i] : PERP_ROW_FREE;
  PERP_TRACE(D->ctx, .method = "dantzig", .what = what, .iteration = D->stats->iterations,
             .entering = entering, .leaving = leaving, .step = step, .residual = (double)NAN,
             .n = D->P.n, .x = D->lambda, .w = D->w, .state = D->state);
}

/* ---- crash: block principal pivots ------------------------------------------------------------------- */

static int count_broken(const struct dantzig *D, double zero)
{
  int count = 0;
  for (int i = 0; i < D->P.n; i++)
    count += D->pos[i] >= 0 ? perp_dantzig_outside(D, i, zero) != CLAMPED
                            : perp_dantzig_breaks(D, i, zero) != 0;
  return count;
}

/* All broken rows change over at once, as long as their number falls (with some patience: it need not
 * fall steadily).  When A_FF turns out to be singular and the set is not yet right, A + SHIFT diag(A) takes
 * its place: without it the sets oscillate along null vectors, with it all rows that share a load stay in F.
 * At the end the rows that depend on others are parked where the shifted problem put them.  0 when A is
 * not semidefinite. */
static int crash(struct dantzig *D)
{
  int n = D->P.n, best = n + 1, patience = CRASH_PATIENCE;
  int changes = D->kept ? perp_dantzig_differences(D) : n;
  double shift = 0;
  for (int round = 0; round < CRASH_ROUNDS; round++) {
    if (!perp_dantzig_factor(D, changes, shift) || !perp_dantzig_basic_solution(D, shift)) return 0;
    double zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D);
    changes = count_broken(D, zero);
    perp_dantzig_trace(D, "block", -1, -1, changes);
    if (changes == 0 && shift == 0) return 1;
    if (changes < best) {
      best = changes;
      patience = CRASH_PATIENCE;
      memcpy(D->saved, D->set, (size_t)n);
    } else if (--patience == 0)
      break;
    if (changes == 0 || D->stats->iterations >= D->limit) break;
    D->stats->iterations++;
    if (shift == 0 && D->dependent > 0) { /* the same set again, now with a shift */
      for (int i = 0; i < n; i++)
        if (D->ignore[i]) D->set[i] = CLAMPED;
      shift = SHIFT;
      changes = best = n + 1;
      continue;
    }
    for (int i = 0; i < n; i++)
      if (D->pos[i] < 0) {
        if (perp_dantzig_breaks(D, i, zero)) D->set[i] = CLAMPED;
      } else if (perp_dantzig_outside(D, i, zero) != CLAMPED) {
        D->set[i] = (signed char)perp_dantzig_outside(D, i, zero);
        D->lambda[i] = D->set[i] == AT_LO ? D->P.lo[i] : D->P.hi[i];
      }
  }
  memcpy(D->set, D->saved, (size_t)n);
  for (int i = 0; i < n; i++)
    if (D->set[i] == PARKED)
      perp_dantzig_park(D, i);
    else if (D->set[i] != CLAMPED)
      D->lambda[i] = D->set[i] == AT_LO ? D->P.lo[i] : D->P.hi[i];
  return perp_dantzig_factor(D, n, 0) && perp_dantzig_basic_solution(D, 0);
}

/* Rows of F outside of their bounds leave it, until lambda is feasible and w_F = 0: what a drive needs.  0 when
 * A is not semidefinite. */
static int make_feasible(struct dantzig *D)
{
  for (int changes = 1; changes > 0;) {
    double zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D);
    changes = 0;
    for (int u = 0; u < D->K.k; u++) {
      int i = D->rows[u], to = perp_dantzig_outside(D, i, zero);
      if (to == CLAMPED) {
        D->lambda[i] = perp_smaller(perp_larger(D->lambda[i], D->P.lo[i]), D->P.hi[i]);
        continue;
      }
      D->set[i] = (signed char)to;
      D->lambda[i] = to == AT_LO ? D->P.lo[i] : D->P.hi[i];
      changes++;
    }
    if (changes > 0) {
      if (!perp_dantzig_factor(D, changes, 0) || !perp_dantzig_basic_solution(D, 0)) return 0;
    }
  }
  return 1;
}

/* ---- driving one row ------------------------------------------------------------------------------------ */

enum { STOP_NONE, STOP_CLOSED, STOP_OTHER_BOUND, STOP_LEAVES, STOP_JOINS };

struct stop {
  int what, row, to;
  double theta, theta_p;
};

static void consider(struct stop *best, double limit, int what, int row, int to, double dist,
                     double dist_p, double rate)
{
  double theta = dist / rate, theta_p = dist_p / rate;
  if (theta > limit) return;
  if (best->what == STOP_NONE || (best->what != STOP_CLOSED && theta_p < best->theta_p))
    *best = (struct stop){ what, row, to, theta, theta_p };
}

/* dir and dw for d lambda_i = sign; returns d w_i = |s|, 0 along a null vector, -1 when A is indefinite */
static double direction(struct dantzig *D, int i, double sign)
{
  int n = D->P.n, k = D->K.k;
  double s = perp_dantzig_schur(D, i), size = 1;
  if (s < 0) return -1;
  for (int u = 0; u < k; u++) D->dir[u] = -sign * D->ell[u] / D->K.d[u];
  perp_ldl_backward(&D->K, D->dir);
  const double *col = D->P.A + (size_t)i * D->P.lda;
  for (int round = 0; round < 3; round++) {
    double worst = 0;
    for (int j = 0; j < n; j++) D->dw[j] = sign * col[j];
    perp_pivot_columns(&D->P, k, D->rows, D->dir, D->dw);
    D->stats->matvecs++;
    for (int u = 0; u < k; u++) {
      size = perp_larger(size, fabs(D->dir[u]));
      D->res[u] = -D->dw[D->rows[u]];
      worst = perp_larger(worst, fabs(D->res[u]) / D->P.a[D->rows[u]]);
    }
    if (worst <= REFINE * size) break;
    perp_ldl_solve(&D->K, D->res);
    for (int u = 0; u < k; u++) D->dir[u] += D->res[u];
  }
  for (int u = 0; u < k; u++) D->dw[D->rows[u]] = 0;
  return s;
}

/* the row that ends the step */
static struct stop ratio_test(const struct dantzig *D, int i, double sign, double s)
{
  int n = D->P.n, k = D->K.k;
  const double *lo = D->P.lo, *hi = D->P.hi, *lambda = D->lambda, *w = D->w, *dw = D->dw;
  double size = 1, zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D);
  for (int u = 0; u < k; u++) size = perp_larger(size, fabs(D->dir[u]));
  double tiny = TINY * size, own = sign > 0 ? hi[i] - lambda[i] : lambda[i] - lo[i];
  /* first pass: the longest step that violates nothing by more than zero */
  double limit = own;
  if (s > 0) limit = perp_smaller(limit, fabs(w[i]) / s);
  for (int u = 0; u < k; u++) {
    int j = D->rows[u];
    double r = D->dir[u];
    if (r < -tiny) limit = perp_smaller(limit, (lambda[j] - lo[j] + zero) / -r);
    if (r > tiny) limit = perp_smaller(limit, (hi[j] - lambda[j] + zero) / r);
  }
  for (int j = 0; j < n; j++) {
    if (D->set[j] == CLAMPED || D->ignore[j]) continue;
    double a = D->P.a[j], r = D->set[j] == AT_LO   ? -dw[j]
                              : D->set[j] == AT_HI ? dw[j]
                                                   : fabs(dw[j]);
    if (r > tiny * a)
      limit = perp_smaller(limit, (D->set[j] == PARKED ? 0 : fabs(w[j]) + zero * a) / r);
  }
  /* second pass: among those the end of the drive first, else the least perturbed ratio */
  struct stop best = { .what = STOP_NONE };
  if (limit == HUGE_VAL) return best;
  if (s > 0) consider(&best, limit, STOP_CLOSED, i, CLAMPED, fabs(w[i]), 0, s);
  consider(&best, limit, STOP_OTHER_BOUND, i, sign > 0 ? AT_HI : AT_LO, own, 0, 1);
  for (int u = 0; u < k; u++) {
    int j = D->rows[u];
    double r = D->dir[u];
    if (r < -tiny) consider(&best, limit, STOP_LEAVES, j, AT_LO, lambda[j] - lo[j], D->lp[j], -r);
    if (r > tiny) consider(&best, limit, STOP_LEAVES, j, AT_HI, hi[j] - lambda[j], -D->lp[j], r);
  }
  for (int j = 0; j < n; j++) {
    if (D->set[j] == CLAMPED || D->ignore[j]) continue;
    double sgn = D->set[j] == AT_LO ? 1 : D->set[j] == AT_HI ? -1 : dw[j] > 0 ? -1 : 1;
    double r = -sgn * dw[j], dist = D->set[j] == PARKED ? 0 : sgn * w[j];
    if (r > tiny * D->P.a[j])
      consider(&best, limit, STOP_JOINS, j, CLAMPED, dist, D->set[j] == PARKED ? 0 : sgn * D->wp[j],
               r);
  }
  if (best.theta < 0) best.theta = 0;
  return best;
}

/* Drive row i into one of the sets.  PERP_RUNNING when it is; PERP_RAY with the null vector in proof. */
static perp_reason drive(struct dantzig *D, int i)
{
  int n = D->P.n;
  double zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D), sign = perp_dantzig_breaks(D, i, zero);
  for (int j = 0; j < n; j++) {
    double p = perp_pivot_generic(j);
    D->ignore[j] = j == i || D->P.lo[j] == D->P.hi[j] ||
                   (D->pos[j] < 0 && perp_dantzig_breaks(D, j, zero) != 0);
    D->wp[j] = D->set[j] == AT_LO ? p * D->P.a[j] : D->set[j] == AT_HI ? -p * D->P.a[j] : 0;
    D->lp[j] = D->set[j] != CLAMPED                                     ? 0
               : D->lambda[j] - D->P.lo[j] <= D->P.hi[j] - D->lambda[j] ? p
                                                                        : -p;
  }
  for (;;) {
    if (D->stats->iterations >= D->limit) return PERP_MAX_ITER;
    double s = direction(D, i, sign);
    if (s < 0) return PERP_UNSUITED;
    struct stop r = ratio_test(D, i, sign, s);
    if (r.what == STOP_NONE) {
      for (int j = 0; j < n; j++) D->proof[j] = 0;
      for (int u = 0; u < D->K.k; u++) D->proof[D->rows[u]] = D->dir[u];
      D->proof[i] = sign;
      return PERP_RAY;
    }
    if (!isfinite(r.theta)) return PERP_NOT_FINITE;
    /* (6.19), (6.20) times the step */
    for (int u = 0; u < D->K.k; u++) {
      int j = D->rows[u];
      D->lambda[j] = perp_smaller(perp_larger(D->lambda[j] + r.theta * D->dir[u], D->P.lo[j]),
                                  D->P.hi[j]);
      D->lp[j] += r.theta_p * D->dir[u];
    }
    D->lambda[i] += sign * r.theta;
    for (int j = 0; j < n; j++) {
      D->w[j] += r.theta * D->dw[j];
      D->wp[j] += r.theta_p * D->dw[j];
    }
    D->stats->iterations++;
    perp_dantzig_trace(D, "pivot", i,
                       r.what == STOP_CLOSED || r.what == STOP_OTHER_BOUND ? -1 : r.row, r.theta);
    switch (r.what) {
    case STOP_CLOSED:
      D->w[i] = 0;
      perp_dantzig_join(D, i, s);
      return PERP_RUNNING;
    case STOP_OTHER_BOUND:
      D->set[i] = (signed char)r.to;
      D->lambda[i] = r.to == AT_LO ? D->P.lo[i] : D->P.hi[i];
      return PERP_RUNNING;
    case STOP_LEAVES:
      perp_dantzig_leave(D, r.row, r.to);
      D->lp[r.row] = D->wp[r.row] = 0;
      break;
    default: {
      double sj = perp_dantzig_schur(D, r.row);
      if (sj > 0) {
        perp_dantzig_join(D, r.row, sj);
        D->w[r.row] = D->wp[r.row] = D->lp[r.row] = 0;
      } else /* its motion was rounding: the last check will tell */
        D->ignore[r.row] = 1;
    }
    }
    if (s == 0 && sign * D->w[i] > 0) { /* only rounding moved w_i, and past 0: as good as closed */
      D->w[i] = 0;
      if (D->lambda[i] > D->P.lo[i] && D->lambda[i] < D->P.hi[i]) D->set[i] = PARKED;
      return PERP_RUNNING;
    }
  }
}

/* ---- one boxed problem -------------------------------------------------------------------------------------- */

/* the row to drive next, -1 when all are closed */
static int next_open(const struct dantzig *D)
{
  int next = -1;
  double zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D), most = 0;
  for (int i = 0; i < D->P.n; i++) {
    if (D->pos[i] >= 0 || !perp_dantzig_breaks(D, i, zero)) continue;
    if (D->o.order == ORDER_INDEX) return i;
    double size = fabs(D->w[i]) / D->P.a[i];
    if (size > most) {
      most = size;
      next = i;
    }
  }
  return next;
}

/* First sets: from lambda (warm), or lambda = 0 where the bounds allow it, and F the rows that are not
 * content with that, or only just. */
static void first_sets(struct dantzig *D, int warm)
{
  int n = D->P.n;
  for (int i = 0; i < n; i++) {
    double lo = D->P.lo[i], hi = D->P.hi[i], x = warm ? D->lambda[i] : 0;
    if (!D->kept) D->pos[i] = -1;
    D->lambda[i] = x <= lo ? lo : x >= hi ? hi : x;
    D->set[i] = x <= lo ? AT_LO : x >= hi ? AT_HI : CLAMPED;
    if (!D->o.crash && !warm && x > lo && x < hi && (lo > -HUGE_VAL || hi < HUGE_VAL))
      D->set[i] = PARKED;
  }
  if (!D->kept) D->K.k = 0;
  if (!D->o.crash || warm) return;
  perp_pivot_slack(&D->P, D->lambda, D->w);
  double zero = PERP_PIVOT_ZERO * perp_dantzig_scale_of(D);
  for (int i = 0; i < n; i++) {
    double w = D->w[i] / D->P.a[i];
    if (D->P.lo[i] < D->P.hi[i] &&
        ((D->set[i] == AT_LO && w <= zero) || (D->set[i] == AT_HI && w >= -zero)))
      D->set[i] = CLAMPED;
  }
}

/* put lambda into its bounds; returns the largest change */
static double clamp(struct dantzig *D)
{
  double change = 0;
  for (int i = 0; i < D->P.n; i++) {
    double x = perp_smaller(perp_larger(D->lambda[i], D->P.lo[i]), D->P.hi[i]);
    change = perp_larger(change, fabs(x - D->lambda[i]));
    D->lambda[i] = x;
  }
  return change;
}

perp_reason perp_dantzig_solve_box(struct dantzig *D, int warm)
{
  first_sets(D, warm);
  if (D->o.crash) {
    if (!crash(D)) return PERP_UNSUITED;
  } else {
    if (!perp_dantzig_factor(D, D->kept ? perp_dantzig_differences(D) : D->P.n, 0) ||
        !perp_dantzig_basic_solution(D, 0))
      return PERP_UNSUITED;
  }
  perp_dantzig_trace(D, "start", -1, -1, 0);
  perp_reason reason = PERP_RUNNING;
  for (int round = 0; round < ROUNDS; round++) {
    int i, fresh = 1;
    if (!make_feasible(D)) return PERP_UNSUITED;
    reason = PERP_RUNNING;
    while (reason == PERP_RUNNING && (i = next_open(D)) >= 0) {
      fresh = 0;
      reason = drive(D, i);
      if (reason == PERP_RAY && perp_pivot_proves_infeasible(&D->P, D->proof))
        return PERP_INFEASIBLE;
    }
    if (reason == PERP_MAX_ITER || reason == PERP_NOT_FINITE) return reason;
    /* other failures may come from rounding in an ill-conditioned F: once more with a fresh one */
    if (!fresh || perp_pivot_residual(&D->P, D->lambda, D->w) > REFINE) perp_dantzig_refine(D);
    if (clamp(D) > 0) perp_pivot_slack(&D->P, D->lambda, D->w);
    if (perp_pivot_residual(&D->P, D->lambda, D->w) <= PERP_PIVOT_DONE) return PERP_EXACT;
    if (!perp_dantzig_factor(D, D->P.n, 0) || !perp_dantzig_basic_solution(D, 0))
      return PERP_UNSUITED;
  }
  return reason == PERP_RUNNING ? PERP_INACCURATE : reason;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  struct dantzig *D = ws;
  perp_reason reason = PERP_RUNNING;
  int n = p->n, warm = 0, friction = 0;
  for (int i = 0; i < n; i++) {
    warm |= lambda[i] != 0;
    friction |= p->fric_of != NULL && p->fric_of[i] >= 0;
  }
  D->kept = D->kept && D->o.reuse && !friction && D->P.A == p->A && D->P.n == n &&
            D->P.lda == (size_t)p->lda && !D->P.sparse;
  D->ctx = ctx;
  D->stats = stats;
  D->lambda = lambda;
  D->limit = D->o.max_iter > 0 ? D->o.max_iter : 50 * n + 1000;
  if (D->kept) {
    memcpy(D->guess, lambda, (size_t)n * sizeof *lambda);
    perp_pivot_retake(&D->P, p);
    reason = perp_dantzig_solve_box(D, warm);
    /* the numbers of A have changed after all, or the updates wore out */
    if (reason != PERP_EXACT) {
      memcpy(lambda, D->guess, (size_t)n * sizeof *lambda);
      D->kept = false;
    }
  }
  if (!D->kept) {
    PERP_TRY(perp_pivot_take(ctx, &D->P, p));
    reason = friction ? perp_dantzig_solve_friction(D, p, warm) : perp_dantzig_solve_box(D, warm);
  }
  D->kept = D->o.reuse && reason == PERP_EXACT && !friction;
  if ((reason == PERP_RAY || reason == PERP_INFEASIBLE) && certificate != NULL)
    memcpy(certificate, D->proof, (size_t)n * sizeof *certificate);
  for (int i = 0; i < n; i++)
    if (!isfinite(lambda[i])) lambda[i] = perp_smaller(perp_larger(0, D->P.lo[i]), D->P.hi[i]);
  stats->reason = reason;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_dantzig = {
  .d = { "dantzig",
         "Dantzig's pivoting with L D L' of the clamped set, symmetric semidefinite, lo-hi",
         "Vondrak 2005, 6.2.4-6.2.5, 6.5.3; STAR 2012, 4.2",
         "w = A lambda + b, lo <= lambda <= hi complementary, A = A' >= 0", dantzig_options,
         sizeof(struct dantzig_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_SEMIDEFINITE |
             PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = create,
  .solve = solve,
  .destroy = destroy,
};
