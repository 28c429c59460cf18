/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Curves through knots by blending local polynomials: see blend.h. */
#include "models/figures/blend.h"

#include "models/geometry/kinematics.h"

#include <stdbool.h>
#include <string.h>

enum { WINDOW = 5 };

/* A vector with its rate and acceleration; a rotation with its angular velocity, in its frame, and
 * the rate of that. */
typedef struct blend_jet {
  double x[3], v[3], a[3];
} blend_jet;
typedef struct blend_turn {
  double q[4], w[3], wdot[3];
} blend_turn;

/* ---- where, and how much of which ---- */

double perp_blend_weight(double s)
{
  const double s2 = s * s, s6 = s2 * s2 * s2;
  if (!(s > 0)) return 0;
  if (s >= 1) return 1;
  return s6 * (462 + s * (-1980 + s * (3465 + s * (-3080 + s * (1386 - 252 * s)))));
}

/* The span i of `time`, and b with its rates there. */
static int blend_span(int n, const double *t, double time, double b[3])
{
  int lo = 0, hi = n - 1;
  while (hi - lo > 1) {
    const int mid = lo + (hi - lo) / 2;
    if (t[mid] <= time)
      lo = mid;
    else
      hi = mid;
  }
  const double h = t[lo + 1] - t[lo], s = (time - t[lo]) / h, r = 1 - s, sr = s * r;
  b[0] = perp_blend_weight(s);
  b[1] = 2772 * sr * sr * sr * sr * sr / h;
  b[2] = 13860 * sr * sr * sr * sr * (r - s) / (h * h);
  return lo;
}

/* The first knot of the window of knot i, and how many. */
static int blend_window(int n, int i, int *count)
{
  *count = n < WINDOW ? n : WINDOW;
  int first = i - WINDOW / 2;
  if (first > n - *count) first = n - *count;
  return first < 0 ? 0 : first;
}

/* The polynomial through y_k at t_k, k = 0 ... n-1 (Newton's divided differences), with two
 * derivatives at `time`. */
static void blend_polynomial(int n, const double *t, const double *y, double time, double p[3])
{
  double c[WINDOW];
  memcpy(c, y, (size_t)n * sizeof *c);
  for (int k = 1; k < n; k++)
    for (int i = n - 1; i >= k; i--) c[i] = (c[i] - c[i - 1]) / (t[i] - t[i - k]);
  p[0] = c[n - 1], p[1] = p[2] = 0;
  for (int i = n - 2; i >= 0; i--) {
    const double s = time - t[i];
    p[2] = p[2] * s + 2 * p[1];
    p[1] = p[1] * s + p[0];
    p[0] = p[0] * s + c[i];
  }
}

/* ---- numbers ---- */

static void blend_local(int n, const double *t, const double *knots, int stride, int i, double time,
                        double p[3])
{
  int count;
  double y[WINDOW];
  const int first = blend_window(n, i, &count);
  for (int k = 0; k < count; k++) y[k] = knots[(first + k) * stride];
  blend_polynomial(count, t + first, y, time, p);
}

void perp_blend_number(int n, const double *t, const double *knots, int stride, double time,
                       double y[3])
{
  const bool before = n < 2 || time < t[0], after = !before && time > t[n - 1];
  if (before || after) {
    y[0] = knots[before ? 0 : (n - 1) * stride], y[1] = y[2] = 0;
    return;
  }
  double b[3], p[3], d[3];
  const int i = blend_span(n, t, time, b);
  blend_local(n, t, knots, stride, i, time, p);
  blend_local(n, t, knots, stride, i + 1, time, d);
  for (int k = 0; k < 3; k++) d[k] -= p[k];
  y[0] = p[0] + b[0] * d[0];
  y[1] = p[1] + b[1] * d[0] + b[0] * d[1];
  y[2] = p[2] + b[2] * d[0] + 2 * b[1] * d[1] + b[0] * d[2];
}

/* ---- rotations ---- */

/* Functions of y = |r|^2, and their derivatives by y (Iserles, Munthe-Kaas, Norsett and Zanna 2000,
 * section 2, for the derivative of the exponential map and its inverse; the frame that turns: r ->
 * -r):
 *
 *      w = r' - c1 r x r' + c2 r x (r x r')      c1 = (1 - cos) / y,   c2 = (1 - sin / |r|) / y
 *      r' = w + r x w / 2 + c r x (r x w)        c = (1 - a cot a) / y,  a = |r| / 2 */
static void blend_exp_terms(double y, double c1[2], double c2[2])
{
  if (y < 1.0 / 16) {
    c1[0] = 0.5 - y / 24 * (1 - y / 30 * (1 - y / 56 * (1 - y / 90)));
    c1[1] = -1.0 / 24 * (1 - y / 15 * (1 - y * 3 / 112 * (1 - y * 2 / 135)));
    c2[0] = 1.0 / 6 - y / 120 * (1 - y / 42 * (1 - y / 72 * (1 - y / 110)));
    c2[1] = -1.0 / 120 * (1 - y / 21 * (1 - y / 48 * (1 - y * 2 / 165)));
    return;
  }
  const double r = sqrt(y), c = cos(r), s = sin(r) / r;
  c1[0] = (1 - c) / y;
  c1[1] = (0.5 * s - c1[0]) / y;
  c2[0] = (1 - s) / y;
  c2[1] = (0.5 * (s - c) / y - c2[0]) / y;
}
static void blend_log_terms(double y, double c[2])
{
  if (y < 1.0 / 16) {
    c[0] = 1.0 / 12 + y * (1.0 / 720 +
                           y * (1.0 / 30240 + y * (1.0 / 1209600 + y * (1.0 / 47900160 +
                                                                        y * 691 / 1307674368000))));
    c[1] = 1.0 / 720 + y * (2.0 / 30240 + y * (3.0 / 1209600 +
                                               y * (4.0 / 47900160 + y * 5 * 691 / 1307674368000)));
    return;
  }
  const double a = 0.5 * sqrt(y), s = sin(a), g = a * cos(a) / s,
               dg = (g / a - a / (s * s)) / (8 * a);
  c[0] = (1 - g) / y;
  c[1] = (-dg - c[0]) / y;
}

static void blend_add(double *y, double alpha, const double *x)
{
  for (int i = 0; i < 3; i++) y[i] += alpha * x[i];
}

/* y += k1 r x v + k2 r x (r x v), and the derivative of that along r', with k1' and k2' */
static void blend_series(const double r[3], const double rdot[3], const double v[3], double k1,
                         double k2, double k1dot, double k2dot, double *y, double *ydot)
{
  double rv[3], rrv[3], sv[3], srv[3], rsv[3];
  perp_cross(r, v, rv);
  perp_cross(r, rv, rrv);
  if (y != NULL) {
    blend_add(y, k1, rv);
    blend_add(y, k2, rrv);
  }
  if (ydot == NULL) return;
  perp_cross(rdot, v, sv);
  perp_cross(rdot, rv, srv);
  perp_cross(r, sv, rsv);
  blend_add(ydot, k1dot, rv);
  blend_add(ydot, k1, sv);
  blend_add(ydot, k2dot, rrv);
  blend_add(ydot, k2, srv);
  blend_add(ydot, k2, rsv);
}

/* exp of a vector that moves */
static void blend_exp(const blend_jet *jet, blend_turn *turn)
{
  static const double one[4] = { 1, 0, 0, 0 };
  double c1[2], c2[2];
  blend_exp_terms(perp_dot(3, jet->x, jet->x), c1, c2);
  const double ydot = 2 * perp_dot(3, jet->x, jet->v);
  perp_quat_retract(one, jet->x, turn->q);
  memcpy(turn->w, jet->v, sizeof turn->w);
  memcpy(turn->wdot, jet->a, sizeof turn->wdot);
  /* w = Jr r', wdot = Jr r'' + (Jr)' r' */
  blend_series(jet->x, jet->v, jet->v, -c1[0], c2[0], -c1[1] * ydot, c2[1] * ydot, turn->w,
               turn->wdot);
  blend_series(jet->x, jet->v, jet->a, -c1[0], c2[0], 0, 0, turn->wdot, NULL);
}

/* log of a rotation that turns */
static void blend_log(const blend_turn *turn, blend_jet *jet)
{
  static const double one[4] = { 1, 0, 0, 0 };
  double c[2];
  perp_quat_difference(one, turn->q, jet->x);
  blend_log_terms(perp_dot(3, jet->x, jet->x), c);
  memcpy(jet->v, turn->w, sizeof jet->v);
  blend_series(jet->x, jet->v, turn->w, 0.5, c[0], 0, 0, jet->v, NULL);
  const double ydot = 2 * perp_dot(3, jet->x, jet->v);
  memcpy(jet->a, turn->wdot, sizeof jet->a);
  blend_series(jet->x, jet->v, turn->wdot, 0.5, c[0], 0, 0, jet->a, NULL);
  blend_series(jet->x, jet->v, turn->w, 0.5, c[0], 0, c[1] * ydot, NULL, jet->a);
}

/* A B of two that turn */
static void blend_compose(const blend_turn *A, const blend_turn *B, blend_turn *C)
{
  double R[9], w[3], u[3], x[3];
  perp_quat_matrix(B->q, R);
  perp_turn_back(3, R, A->w, w);
  perp_turn_back(3, R, A->wdot, u);
  perp_cross(B->w, w, x);
  blend_turn out;
  perp_quat_product(A->q, B->q, out.q);
  for (int i = 0; i < 3; i++) {
    out.w[i] = B->w[i] + w[i];
    out.wdot[i] = B->wdot[i] + u[i] - x[i];
  }
  *C = out;
}

/* The way back, A^-1. */
static void blend_inverse(const blend_turn *A, blend_turn *B)
{
  double R[9];
  blend_turn out = { .q = { A->q[0], -A->q[1], -A->q[2], -A->q[3] } };
  perp_quat_matrix(A->q, R);
  perp_turn(3, R, A->w, out.w);
  perp_turn(3, R, A->wdot, out.wdot);
  for (int i = 0; i < 3; i++) out.w[i] = -out.w[i], out.wdot[i] = -out.wdot[i];
  *B = out;
}

/* r + 2 pi k r / |r| next to `from` */
static void blend_continue(const double from[3], double r[3])
{
  const double turn = 2 * 3.14159265358979323846, size = sqrt(perp_dot(3, r, r));
  if (!(size > 0)) return;
  const double k = nearbyint((perp_dot(3, from, r) / size - size) / turn);
  for (int i = 0; i < 3; i++) r[i] *= 1 + turn * k / size;
}

static void blend_local_turn(int n, const double *t, const double *knots, int stride, int i,
                             double time, blend_turn *P)
{
  int count;
  const int first = blend_window(n, i, &count), c = count / 2;
  double r[3][WINDOW] = { { 0 } };
  blend_jet jet;
  for (int side = -1; side <= 1; side += 2) {
    double last[3] = { 0 }, x[3];
    for (int k = c + side; k >= 0 && k < count; k += side) {
      perp_quat_difference(knots + (first + c) * stride, knots + (first + k) * stride, x);
      blend_continue(last, x);
      memcpy(last, x, sizeof last);
      for (int d = 0; d < 3; d++) r[d][k] = x[d];
    }
  }
  for (int d = 0; d < 3; d++) {
    double y[3];
    blend_polynomial(count, t + first, r[d], time, y);
    jet.x[d] = y[0], jet.v[d] = y[1], jet.a[d] = y[2];
  }
  blend_turn E, base = { .q = { 0 } };
  memcpy(base.q, knots + (first + c) * stride, sizeof base.q);
  blend_exp(&jet, &E);
  blend_compose(&base, &E, P);
}

void perp_blend_rotation(int n, const double *t, const double *knots, int stride, double time,
                         double q[4], double w[3], double wdot[3])
{
  const bool before = n < 2 || time < t[0], after = !before && time > t[n - 1];
  if (before || after) {
    memcpy(q, knots + (before ? 0 : (n - 1) * stride), 4 * sizeof *q);
    memset(w, 0, 3 * sizeof *w);
    memset(wdot, 0, 3 * sizeof *wdot);
    return;
  }
  double b[3];
  blend_turn P, Q, D;
  blend_jet L, jet;
  const int i = blend_span(n, t, time, b);
  blend_local_turn(n, t, knots, stride, i, time, &P);
  blend_local_turn(n, t, knots, stride, i + 1, time, &Q);
  blend_inverse(&P, &D);
  blend_compose(&D, &Q, &D);
  blend_log(&D, &L);
  for (int k = 0; k < 3; k++) {
    jet.x[k] = b[0] * L.x[k];
    jet.v[k] = b[1] * L.x[k] + b[0] * L.v[k];
    jet.a[k] = b[2] * L.x[k] + 2 * b[1] * L.v[k] + b[0] * L.a[k];
  }
  blend_exp(&jet, &D);
  blend_compose(&P, &D, &P);
  perp_quat_unit(P.q);
  memcpy(q, P.q, sizeof P.q);
  memcpy(w, P.w, sizeof P.w);
  memcpy(wdot, P.wdot, sizeof P.wdot);
}
