/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction limits followed along a path: parametric principal pivoting on the boxed problem with
 * limits that move along.
 *
 * One parameter s makes everything that is wrong with the sets at hand right, at s = 1:
 *
 *      w = A lambda + b + s e,   lo - s g <= lambda <= hi + s g
 *
 *      |lambda_i| <= mu_i lambda_n(i) + s g_i
 *
 * w complementary, with e and g as large as what is broken, and a little more, each by a generic
 * factor.  As long as no row changes its set, lambda and w are linear in s: w_F = 0 is one system
 * of equations, not symmetric, with two right-hand sides.  s goes down until a row meets its end
 * and changes over; the row then has to go into its new set, which says whether s goes on down or
 * turns round for a while, as the parameter of Lemke's method does.  At s = 0 the problem is
 * solved.
 *
 * From the sets of the last boxed solution (which few rows leave), and where that does not end,
 * from those of a large s: all one-sided rows at their bounds, all others between theirs, where
 * nothing slides.  These are the only sets for a large s where A is definite, and as lambda' w <= 0
 * keeps lambda bounded the path has then no other end than s = 0. A semidefinite A is made definite
 * by SHIFT W, W its diagonal, and the solution moved to that of A by proximal steps, each from the
 * sets of the one before.  Rounding may end a path that is nearly vertical, in lambda alone, before
 * that: of redundant contacts.
 *
 * Ours; the limits are those of Vondrak 2005, 6.5.3.  A pivot costs an LU factorization, k^3 / 3
 * multiplications.  Pivots are counted with those of the method, and their work is bounded as that
 * of all others. */
#include "solvers/lcp/pivoting/clamped.h"

#include <lapacke.h>
#include <string.h>

static const double SHIFT = 1e-9;    /* of the diagonal */
static const double NOTHING = 1e-13; /* of the largest multiplier: not broken */
static const double ROOM = 0.1;     /* of the largest multiplier, that all rows have at a large s */
static const double ENOUGH = 1e-12; /* residual of a solution, */
static const double GAINS = 0.1;    /* which a proximal step makes no smaller by this factor; */
static const double SETTLED = 1e-9; /* where proximal steps converge slowly */
enum { PROXIMAL_MOST = 30 };
enum {
  PIVOTS_NEAR = 1,
  PIVOTS_FAR = 10
}; /* of a path, for each row: from sets at hand, from a large s */

/* A row is fixed where nothing lies between its bounds. */
static bool follow_fixed(const perp_clamped *clamped, const perp_lcp *lcp, int i)
{
  return lcp->fric_of[i] >= 0 ? lcp->mu[i] == 0 : clamped->P.lo[i] == clamped->P.hi[i];
}

/* lo = lo[0] + s lo[1], hi likewise, of row i. */
static void follow_bounds(const perp_clamped *clamped, const perp_lcp *lcp, int i, double lo[2],
                          double hi[2])
{
  const perp_clamped_path *path = &clamped->path;
  const int j = lcp->fric_of[i];
  hi[0] = j < 0 ? clamped->P.hi[i] : lcp->mu[i] * path->lambda[j];
  hi[1] = j < 0 ? path->give[i] : lcp->mu[i] * path->rate[j] + path->give[i];
  lo[0] = j < 0 ? clamped->P.lo[i] : -hi[0];
  lo[1] = -hi[1];
}

/* Does the limit of row i, which is at it, move with a row of F?  Then by how much of it. */
static double follow_slope(const perp_clamped *clamped, const perp_lcp *lcp, int i, const int *slot)
{
  const int j = lcp->fric_of[i];
  if (j < 0 || slot[i] >= 0 || slot[j] < 0) return 0;
  return clamped->set[i] == AT_HI ? lcp->mu[i] : -lcp->mu[i];
}

/* The sets as a list of F, whose number of rows is returned; the other rows at their bounds, limits
 * without what F adds to them; w and its rate with these. */
static int follow_held(perp_clamped *clamped, const perp_lcp *lcp, int *rows, int *slot)
{
  perp_clamped_path *path = &clamped->path;
  int k = 0;
  for (int i = 0; i < lcp->n; i++) {
    slot[i] = clamped->set[i] == CLAMPED ? k : -1;
    if (slot[i] >= 0) rows[k++] = i;
    path->lambda[i] = path->rate[i] = 0;
    path->w[i] = clamped->P.b[i] - SHIFT * perp_clamped_weight(clamped, i) * clamped->center[i];
    path->w_rate[i] = path->push[i];
  }
  for (int pass = 0; pass < 2; pass++) /* friction after what it depends on */
    for (int i = 0; i < lcp->n; i++) {
      const bool friction = lcp->fric_of[i] >= 0;
      if (friction != (pass == 1) || slot[i] >= 0 || (friction && lcp->mu[i] == 0)) continue;
      double lo[2], hi[2];
      follow_bounds(clamped, lcp, i, lo, hi);
      path->lambda[i] = clamped->set[i] == AT_HI ? hi[0] : lo[0];
      path->rate[i] = clamped->set[i] == AT_HI ? hi[1] : lo[1];
      if (path->lambda[i] != 0) perp_pivot_columns(&clamped->P, 1, &i, path->lambda + i, path->w);
      if (path->rate[i] != 0) perp_pivot_columns(&clamped->P, 1, &i, path->rate + i, path->w_rate);
    }
  return k;
}

/* A_FF with the columns of friction at its limit in those of the rows that it depends on, and the
 * shift. */
static void follow_matrix(perp_clamped *clamped, const perp_lcp *lcp, int k, const int *rows,
                          const int *slot)
{
  double *B = clamped->K.L;
  for (int u = 0; u < k; u++) {
    const double *col = clamped->P.A + (size_t)rows[u] * clamped->P.lda;
    for (int r = 0; r < k; r++) B[r + (size_t)u * clamped->K.ld] = col[rows[r]];
    B[u + (size_t)u * clamped->K.ld] += SHIFT * perp_clamped_weight(clamped, rows[u]);
  }
  for (int i = 0; i < lcp->n; i++) {
    const double slope = follow_slope(clamped, lcp, i, slot);
    if (slope == 0) continue;
    const double *col = clamped->P.A + (size_t)i * clamped->P.lda;
    for (int r = 0; r < k; r++)
      B[r + (size_t)slot[lcp->fric_of[i]] * clamped->K.ld] += slope * col[rows[r]];
  }
}

/* path->lambda + s path->rate and path->w + s path->w_rate for the sets at hand.  0: singular. */
static int follow_solve(perp_clamped *clamped, const perp_lcp *lcp)
{
  perp_clamped_path *path = &clamped->path;
  const int n = lcp->n;
  int *rows = clamped->list, *slot = clamped->list + n;
  double *x = clamped->K.x;
  const int k = follow_held(clamped, lcp, rows, slot);
  clamped->stats->work += 4 * clamped->P.product + (double)k * k * (2 + k / 3.0);
  clamped->stats->factorizations++;
  for (int u = 0; u < k; u++) {
    x[u] = -path->w[rows[u]];
    x[k + u] = -path->w_rate[rows[u]];
  }
  follow_matrix(clamped, lcp, k, rows, slot);
  if (k > 0 && LAPACKE_dgesv_work(LAPACK_COL_MAJOR, k, 2, clamped->K.L, (int)clamped->K.ld,
                                  clamped->K.order, x, k) != 0)
    return 0;
  for (int u = 0; u < k; u++) {
    if (!isfinite(x[u]) || !isfinite(x[k + u])) return 0;
    path->lambda[rows[u]] = x[u];
    path->rate[rows[u]] = x[k + u];
  }
  for (int i = 0; i < n; i++) {
    const double slope = follow_slope(clamped, lcp, i, slot);
    if (slope == 0) continue;
    path->lambda[i] += slope * path->lambda[lcp->fric_of[i]];
    path->rate[i] += slope * path->rate[lcp->fric_of[i]];
  }
  perp_pivot_slack(&clamped->P, path->lambda, path->w);
  memcpy(path->w_rate, path->push, (size_t)n * sizeof *path->w_rate);
  for (int i = 0; i < n; i++) {
    if (path->rate[i] != 0) perp_pivot_columns(&clamped->P, 1, &i, path->rate + i, path->w_rate);
    const double shift = SHIFT * perp_clamped_weight(clamped, i);
    path->w[i] += shift * (path->lambda[i] - clamped->center[i]);
    path->w_rate[i] += shift * path->rate[i];
  }
  return 1;
}

/* What is broken at s = 0, by more than nothing, becomes e and g; wide: and all other rows that
 * have an end there get room. Returns how many are broken, -1: the sets have no solution. */
static int follow_cover(perp_clamped *clamped, const perp_lcp *lcp, bool wide)
{
  perp_clamped_path *path = &clamped->path;
  const int n = lcp->n;
  int broken = 0;
  memset(path->give, 0, (size_t)n * sizeof *path->give);
  memset(path->push, 0, (size_t)n * sizeof *path->push);
  if (!follow_solve(clamped, lcp)) return -1;
  double zs = clamped->P.bscale;
  for (int i = 0; i < n; i++) zs = perp_larger(zs, fabs(path->lambda[i]));
  for (int i = 0; i < n; i++) {
    double lo[2], hi[2];
    if (follow_fixed(clamped, lcp, i)) continue;
    follow_bounds(clamped, lcp, i, lo, hi);
    const bool inside = clamped->set[i] == CLAMPED;
    const double side = clamped->set[i] == AT_HI ? -1 : 1, unit = inside ? 1 : clamped->P.a[i];
    double by = inside ? perp_larger(lo[0] - path->lambda[i], path->lambda[i] - hi[0])
                       : -side * path->w[i] / clamped->P.a[i];
    if (by <= NOTHING * zs) by = 0;
    broken += by > 0;
    if (wide && by > -HUGE_VAL) by = perp_larger(by, 0) + ROOM * zs;
    if (!(by > 0)) continue;
    by *= perp_pivot_generic(i);
    if (inside)
      path->give[i] = by;
    else
      path->push[i] = side * unit * by;
  }
  return broken;
}

/* The next row that meets its end when s moves in the direction dir: how far, and its new set. */
static double follow_stop(const perp_clamped *clamped, const perp_lcp *lcp, double s, double dir,
                          int *row, signed char *to)
{
  const perp_clamped_path *path = &clamped->path;
  double least = HUGE_VAL;
  *row = -1;
  for (int i = 0; i < lcp->n; i++) {
    if (follow_fixed(clamped, lcp, i)) continue;
    double lo[2], hi[2], left[2], rate[2];
    follow_bounds(clamped, lcp, i, lo, hi);
    const double at = path->lambda[i] + s * path->rate[i], w = path->w[i] + s * path->w_rate[i];
    if (clamped->set[i] == CLAMPED) {
      left[0] = at - lo[0] - s * lo[1];
      left[1] = hi[0] + s * hi[1] - at;
      rate[0] = dir * (path->rate[i] - lo[1]);
      rate[1] = dir * (hi[1] - path->rate[i]);
    } else {
      const double side = clamped->set[i] == AT_HI ? -1 : 1;
      left[0] = side * w;
      rate[0] = dir * side * path->w_rate[i];
      left[1] = rate[1] = 0;
    }
    for (int e = 0; e < 2; e++) {
      if (!(rate[e] < 0) || left[e] == HUGE_VAL) continue;
      const double step = perp_larger(left[e], 0) / -rate[e];
      if (step >= least) continue;
      least = step;
      *row = i;
      *to = clamped->set[i] != CLAMPED ? CLAMPED : e == 0 ? AT_LO : AT_HI;
    }
  }
  return least;
}

/* In which direction of s does row i, which has just come into its set, go into it? */
static double follow_direction(const perp_clamped *clamped, const perp_lcp *lcp, int i,
                               signed char from)
{
  const perp_clamped_path *path = &clamped->path;
  double lo[2], hi[2];
  follow_bounds(clamped, lcp, i, lo, hi);
  const double into = clamped->set[i] == AT_LO   ? path->w_rate[i]
                      : clamped->set[i] == AT_HI ? -path->w_rate[i]
                      : from == AT_LO            ? path->rate[i] - lo[1]
                                                 : hi[1] - path->rate[i];
  return into > 0 ? 1 : -1;
}

/* From the sets at hand along the path to s = 0, with the shift. */
static int follow_path(perp_clamped *clamped, const perp_lcp *lcp, bool wide)
{
  const int broken = follow_cover(clamped, lcp, wide);
  if (broken <= 0) return broken == 0;
  const int most = (wide ? PIVOTS_FAR : PIVOTS_NEAR) * lcp->n;
  double s = 1, dir = -1;
  int row = -1;
  signed char to, from = CLAMPED;
  for (int pivots = 0; pivots < most && !perp_clamped_over(clamped); pivots++) {
    if (!follow_solve(clamped, lcp)) return 0;
    if (row >= 0) dir = follow_direction(clamped, lcp, row, from);
    const double step = follow_stop(clamped, lcp, s, dir, &row, &to);
    if (dir < 0 && step >= s) return 1;
    if (row < 0) return 0;
    s += dir * step;
    from = clamped->set[row];
    clamped->set[row] = to;
    clamped->stats->iterations++;
    perp_clamped_trace(clamped, "follow", from == CLAMPED ? -1 : row, from == CLAMPED ? row : -1,
                       s);
  }
  return 0;
}

/* Proximal steps to the solution of A, with limits that agree. */
static int follow_solves(perp_clamped *clamped, const perp_lcp *lcp, bool wide)
{
  const size_t size = (size_t)lcp->n * sizeof *clamped->lambda;
  double last = HUGE_VAL;
  for (int step = 0; step < PROXIMAL_MOST; step++) {
    if (!follow_path(clamped, lcp, wide && step == 0)) return 0;
    memcpy(clamped->center, clamped->path.lambda, size);
    memcpy(clamped->lambda, clamped->path.lambda, size);
    for (int i = 0; i < lcp->n; i++) {
      if (lcp->fric_of[i] < 0) continue;
      clamped->P.hi[i] = lcp->mu[i] * perp_larger(clamped->lambda[lcp->fric_of[i]], 0);
      clamped->P.lo[i] = -clamped->P.hi[i];
    }
    const double rel = perp_pivot_settle(&clamped->P, clamped->lambda, clamped->w);
    if (rel <= ENOUGH && !(rel < GAINS * last)) return 1;
    last = rel;
  }
  return last <= SETTLED;
}

int perp_clamped_follow(perp_clamped *clamped, const perp_lcp *lcp)
{
  const int n = lcp->n;
  const size_t size = (size_t)n * sizeof *clamped->lambda;
  for (int i = 0; i < n; i++)
    if (lcp->fric_of[i] >= 0 && clamped->P.lo[lcp->fric_of[i]] < 0) return 0;
  perp_clamped_mark(clamped);
  memcpy(clamped->center, clamped->lambda, size);
  for (int i = 0; i < n; i++)
    if (clamped->set[i] == PARKED) clamped->set[i] = CLAMPED;
  if (follow_solves(clamped, lcp, false)) return 1;
  memset(clamped->center, 0, size);
  /* Sets of a large s. */
  for (int i = 0; i < lcp->n; i++) {
    const bool low = clamped->P.lo[i] > -HUGE_VAL, high = clamped->P.hi[i] < HUGE_VAL;
    if (follow_fixed(clamped, lcp, i))
      clamped->set[i] = AT_LO;
    else
      clamped->set[i] = lcp->fric_of[i] >= 0 || low == high ? CLAMPED : low ? AT_LO : AT_HI;
  }
  if (follow_solves(clamped, lcp, true)) return 1;
  perp_clamped_back(clamped, lcp);
  return 0;
}
