/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newton's method for a stationary direction of h on the sphere, where a few smooth pieces meet.
 *
 * With pieces a_i of A and b_j of B (at -d), h = max a_i + max b_j.  Where the pieces of two sets
 * are the largest,
 *
 *      sum lambda_i grad a_i + sum kappa_j grad b_j = t d,   sum lambda = sum kappa = 1,   |d| = 1
 *
 *      a_i = a_0,   b_j = b_0,   t = h(d):
 *
 * the point t d of A - B is square to the sphere of radius |t| (grad a . d = a as support functions
 * are homogeneous of degree 1).  Linearized, these are at most 6 equations, symmetric; they are
 * consistent but singular where features are parallel, so that pivots below rounding are left out
 * (polish_units).  With lambda, kappa >= 0 and no other piece above, the direction is stationary,
 * and where t < 0 the nearest points of A and B are proved. */
#include "models/geometry/convex.h"

#include <string.h>

enum { STEPS = 30, HALVINGS = 20, ROWS = 8 };
/* of a try with the pieces that are likely to meet */
enum { QUICK_STEPS = 10, QUICK_HALVINGS = 3 };
/* Newton's steps to the floor of a valley, halvings of a step along it */
enum { FLOOR = 3, ON_FLOOR = 8 };
static const double STRIDE = 0.3;   /* longest step, rad */
static const double RANK = 1e-11;   /* of the largest entry: pivots that count */
static const double PROVED = 4e-15; /* of the size */
static const double SIGN = 1e-10;   /* of a multiplier that is 0 */

/* pieces of one body; m: their multipliers */
typedef struct polish_side {
  const perp_convex *c;
  double sign; /* -1: b, asked along -d */
  int n, id[PERP_CONVEX_PIECES];
  double m[PERP_CONVEX_PIECES];
  perp_convex_piece p[PERP_CONVEX_PIECES];
} polish_side;

static void polish_at(polish_side *side, const double d[3], double size)
{
  const double e[3] = { side->sign * d[0], side->sign * d[1], side->sign * d[2] };
  for (int k = 0; k < side->n; k++) {
    perp_convex_piece_at(side->c, side->id[k], e, &side->p[k]);
    side->p[k].value /= size;
    for (int i = 0; i < 3; i++) side->p[k].grad[i] *= side->sign / size;
    for (int i = 0; i < 9; i++) side->p[k].H[i] /= size;
  }
}

/* x of A x = b [n], A [ROWS x ROWS] by columns, by elimination with complete pivoting; what has no
 * pivot is 0 */
static void polish_solve(int n, double *A, double *b, double *x)
{
  int column[ROWS], rank = 0;
  double largest = 0;
  for (int i = 0; i < n; i++) column[i] = i;
  for (int k = 0; k < n; k++) {
    double best = 0;
    int r = k, c = k;
    for (int j = k; j < n; j++)
      for (int i = k; i < n; i++)
        if (fabs(A[i + ROWS * j]) > best) best = fabs(A[i + ROWS * j]), r = i, c = j;
    largest = fmax(largest, best);
    if (!(best > RANK * largest)) break;
    rank = k + 1;
    for (int j = 0; j < n; j++) {
      const double y = A[k + ROWS * j];
      A[k + ROWS * j] = A[r + ROWS * j], A[r + ROWS * j] = y;
    }
    for (int i = 0; i < n; i++) {
      const double y = A[i + ROWS * k];
      A[i + ROWS * k] = A[i + ROWS * c], A[i + ROWS * c] = y;
    }
    const double y = b[k];
    b[k] = b[r], b[r] = y;
    const int z = column[k];
    column[k] = column[c], column[c] = z;
    for (int i = k + 1; i < n; i++) {
      const double f = A[i + ROWS * k] / A[k + ROWS * k];
      for (int j = k; j < n; j++) A[i + ROWS * j] -= f * A[k + ROWS * j];
      b[i] -= f * b[k];
    }
  }
  for (int i = 0; i < n; i++) x[i] = 0;
  for (int k = rank - 1; k >= 0; k--) {
    double y = b[k];
    for (int j = k + 1; j < rank; j++) y -= A[k + ROWS * j] * x[column[j]];
    x[column[k]] = y / A[k + ROWS * k];
  }
}

/* the rows and columns of the differences of gradients of one side, from `row` on */
static int polish_border(const polish_side *side, const double d[3], int row, double *A, double *b)
{
  for (int k = 1; k < side->n; k++, row++) {
    double g[3];
    perp_sub(side->p[k].grad, side->p[0].grad, g);
    for (int i = 0; i < 3; i++) A[i + ROWS * row] = A[row + ROWS * i] = g[i];
    b[row] = -perp_dot(3, g, d);
  }
  return row;
}

static void polish_multipliers(polish_side *side, const double *x)
{
  side->m[0] = 1;
  for (int k = 1; k < side->n; k++) {
    side->m[k] = x[k - 1];
    side->m[0] -= x[k - 1];
  }
}

/* d turned by the step x, no farther than STRIDE */
static void polish_turn(const double start[3], double part, const double x[3], double d[3])
{
  perp_along(start, part, x, d);
  const double norm = perp_norm(d);
  for (int i = 0; i < 3; i++) d[i] /= norm;
}

/* the largest of the pieces of one side; *spread: less the smallest */
static double polish_top(const polish_side *side, double *spread)
{
  double high = side->p[0].value, low = high;
  for (int k = 1; k < side->n; k++) {
    high = fmax(high, side->p[k].value);
    low = fmin(low, side->p[k].value);
  }
  *spread = fmax(*spread, high - low);
  return high;
}

/* d down to the floor of a valley, where the two pieces of one side are equal: it winds, and a step
 * along it leaves it. */
static void polish_floor(polish_side *side, double size, double d[3])
{
  for (int k = 0; k < FLOOR; k++) {
    double g[3];
    perp_sub(side->p[1].grad, side->p[0].grad, g);
    const double up = perp_dot(3, g, d), len = perp_norm(g);
    perp_along(g, -up, d, g);
    const double slope = perp_norm(g);
    if (!(fabs(up) > 1e-16 * len) || !(fabs(up) < STRIDE * slope)) return;
    polish_turn((const double[3]){ d[0], d[1], d[2] }, -up / (slope * slope), g, d);
    polish_at(side, d, size);
  }
}

/* The step x of d, and the pieces there.  Where these are as large as each other h itself says how
 * far it may go: on a thin ellipsoid, or near the axis of a circle, the whole step leads astray
 * from outside of the range where h is quadratic.  Where two pieces of one side meet, h is asked on
 * the floor of their valley: beside it every step but a tiny one seems to lead up (Maratos 1978).
 * Of a quick try false: it would take more halvings. */
static bool polish_go(polish_side *a, polish_side *b, double size, bool quick, double part,
                      double x[3], double d[3])
{
  const double start[3] = { d[0], d[1], d[2] };
  double spread = 0, slope = 0;
  const double h = polish_top(a, &spread) + polish_top(b, &spread), slack = 1e-14 * (1 + fabs(h));
  const bool met = spread <= 1e-9;
  for (int k = 0; k < a->n; k++) slope += fmax(a->m[k], 0) * perp_dot(3, x, a->p[k].grad);
  for (int k = 0; k < b->n; k++) slope += fmax(b->m[k], 0) * perp_dot(3, x, b->p[k].grad);
  if (met && a->n + b->n == 2 && slope > slack) part = -part;
  const int halvings = quick ? QUICK_HALVINGS : a->n + b->n == 3 ? ON_FLOOR : HALVINGS;
  for (int k = 0; k < halvings; k++, part *= 0.5) {
    polish_turn(start, part, x, d);
    polish_at(a, d, size);
    polish_at(b, d, size);
    if (met && a->n + b->n == 3) {
      polish_floor(a->n == 2 ? a : b, size, d);
      polish_at(a->n == 2 ? b : a, d, size);
    }
    if (!met || polish_top(a, &spread) + polish_top(b, &spread) <= h + slack) return true;
  }
  if (quick) return false;
  if (a->n + b->n == 2) return true;
  polish_turn(start, fmin(1, STRIDE / perp_norm(x)), x, d);
  polish_at(a, d, size);
  polish_at(b, d, size);
  return true;
}

/* One step of d; returns its length, infinite where a quick try ends. */
static double polish_step(polish_side *a, polish_side *b, double size, bool quick, double *t,
                          double d[3])
{
  double A[ROWS * ROWS] = { 0 }, rhs[ROWS], x[ROWS], unit[ROWS];
  for (int i = 0; i < 9; i++) {
    double *entry = &A[i % 3 + ROWS * (i / 3)];
    for (int k = 0; k < a->n; k++) *entry += a->m[k] * a->p[k].H[i];
    for (int k = 0; k < b->n; k++) *entry += b->m[k] * b->p[k].H[i];
    if (i % 4 == 0) *entry -= *t;
  }
  for (int i = 0; i < 3; i++) rhs[i] = -a->p[0].grad[i] - b->p[0].grad[i];
  const int middle = polish_border(a, d, 3, A, rhs), last = polish_border(b, d, middle, A, rhs);
  for (int i = 0; i < 3; i++) A[i + ROWS * last] = A[last + ROWS * i] = -d[i];
  rhs[last] = 0;
  /* Units in which a pivot can be told from rounding: those of d in which its curvatures are 1
   * where they are large (flat ellipsoids), those of a multiplier in which the difference of
   * gradients is (short edges).  Without them such an edge on such an ellipsoid has a pivot of g^2
   * / H, which is as small as that of parallel features.  Rows and columns of A are multiplied by
   * unit, which keeps it symmetric. */
  const int n = last + 1;
  double bend = 1;
  for (int j = 0; j < 3; j++)
    for (int i = 0; i < 3; i++) bend = fmax(bend, fabs(A[i + ROWS * j]));
  for (int i = 0; i < 3; i++) unit[i] = 1 / sqrt(bend);
  for (int j = 3; j < n; j++) {
    const double len = perp_norm(A + ROWS * j);
    unit[j] = len > 0 ? sqrt(bend) / len : 1;
  }
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) A[i + ROWS * j] *= unit[i] * unit[j];
    rhs[j] *= unit[j];
  }
  polish_solve(last + 1, A, rhs, x);
  for (int i = 0; i <= last; i++) x[i] *= unit[i];
  polish_multipliers(a, x + 3);
  polish_multipliers(b, x + middle);
  *t = x[last];
  const double len = perp_norm(x), part = len > STRIDE ? STRIDE / len : 1;
  return isfinite(len) && !polish_go(a, b, size, quick, part, x, d) ? HUGE_VAL : len;
}

/* the point of one side that the multipliers say, in units of the problem */
static void polish_point(const polish_side *side, double size, double y[3], bool *good)
{
  for (int i = 0; i < 3; i++) y[i] = 0;
  for (int k = 0; k < side->n; k++) {
    *good = *good && side->m[k] >= -SIGN;
    perp_along(y, side->sign * size * side->m[k], side->p[k].grad, y);
  }
}

/* the largest numbers there are */
static double polish_scale(const perp_convex *a, const perp_convex *b, double size, double h)
{
  return size + fabs(h) + perp_norm(b->c) + a->size + b->size;
}

static void polish_judge(const perp_convex *a, const perp_convex *b, const polish_side *sa,
                         const polish_side *sb, const double d[3], double size,
                         perp_convex_best *best)
{
  perp_convex_best x = perp_convex_candidate(d, perp_convex_gap(a, b, d));
  bool within = true;
  double r[3];
  polish_point(sa, size, x.a, &within);
  polish_point(sb, size, x.b, &within);
  perp_sub(x.a, x.b, r);
  perp_along(r, -x.h, d, r);
  const double scale = polish_scale(a, b, size, x.h);
  if (within) x.off = perp_norm(r);
  x.exact = x.off <= PROVED * scale;
  const double slack = 1e-15 * scale;
  if (x.h < best->h - slack || (x.off < best->off && x.h <= best->h + slack)) *best = x;
}

/* from best->d on one choice of pieces; true: a stationary direction has been found */
static bool polish_newton(const perp_convex *a, const perp_convex *b, polish_side *sa,
                          polish_side *sb, const double start[3], double size, bool quick,
                          perp_convex_best *best)
{
  const int steps = quick ? QUICK_STEPS : STEPS;
  double d[3] = { start[0], start[1], start[2] }, t = perp_convex_gap(a, b, d) / size;
  double before = HUGE_VAL;
  for (int k = 0; k < sa->n; k++) sa->m[k] = 1.0 / sa->n;
  for (int k = 0; k < sb->n; k++) sb->m[k] = 1.0 / sb->n;
  polish_at(sa, d, size);
  polish_at(sb, d, size);
  for (int k = 0; k < steps; k++) {
    const double len = polish_step(sa, sb, size, quick, &t, d);
    if (!isfinite(len) || !isfinite(d[0])) return false;
    if (len < 1e-15 || (len < 1e-12 && len >= 0.5 * before)) break;
    before = len;
  }
  polish_judge(a, b, sa, sb, d, size, best);
  return best->exact && memcmp(best->d, d, sizeof d) == 0;
}

/* different pieces among the vertices */
static int polish_pieces(int n, const perp_convex_vertex *vertex, bool of_b, int *id)
{
  int count = 0;
  for (int k = 0; k < n; k++) {
    const int piece = of_b ? vertex[k].ib : vertex[k].ia;
    bool there = false;
    for (int i = 0; i < count; i++) there = there || id[i] == piece;
    if (!there && count < PERP_CONVEX_PIECES) id[count++] = piece;
  }
  return count;
}

static void polish_choose(polish_side *side, int n, const int *id, int mask)
{
  side->n = 0;
  for (int k = 0; k < n; k++)
    if (mask >> k & 1) side->id[side->n++] = id[k];
}

bool perp_convex_polish_quick(const perp_convex *a, const perp_convex *b, int n,
                              const perp_convex_vertex *vertex, double size, perp_convex_best *best)
{
  const double start[3] = { best->d[0], best->d[1], best->d[2] };
  polish_side sa = { .c = a, .sign = 1 }, sb = { .c = b, .sign = -1 };
  sa.n = polish_pieces(n, vertex, false, sa.id);
  sb.n = polish_pieces(n, vertex, true, sb.id);
  return sa.n > 0 && sb.n > 0 && sa.n + sb.n <= 4 &&
         polish_newton(a, b, &sa, &sb, start, size, true, best);
}

void perp_convex_polish(const perp_convex *a, const perp_convex *b, int n,
                        const perp_convex_vertex *vertex, double size, perp_convex_best *best)
{
  int ia[PERP_CONVEX_PIECES], ib[PERP_CONVEX_PIECES];
  const int na = polish_pieces(n, vertex, false, ia), nb = polish_pieces(n, vertex, true, ib);
  const double start[3] = { best->d[0], best->d[1], best->d[2] };
  polish_side sa = { .c = a, .sign = 1 }, sb = { .c = b, .sign = -1 };
  for (int pieces = 2; pieces <= 4; pieces++)
    for (int ma = 1; ma < 1 << na; ma++)
      for (int mb = 1; mb < 1 << nb; mb++) {
        if (__builtin_popcount((unsigned)ma) + __builtin_popcount((unsigned)mb) != pieces) continue;
        polish_choose(&sa, na, ia, ma);
        polish_choose(&sb, nb, ib, mb);
        if (polish_newton(a, b, &sa, &sb, start, size, false, best)) return;
      }
  const double scale = polish_scale(a, b, size, best->h);
  perp_convex_witness(a, b, na, ia, nb, ib, 4 * PROVED * scale, best);
  best->exact = best->off <= PROVED * scale;
}
