/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/ode/radau.h"

#include <complex.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* Hairer and Wanner II, section IV.8: nodes, the matrix T and its inverse, the eigenvalues of
 * A^-1 */
#define SQRT6 2.449489742783178098197284
static const double node[3] = { (4 - SQRT6) / 10, (4 + SQRT6) / 10, 1 };
static const double T[3][3] = {
  { 9.1232394870892942792e-02, -0.14125529502095420843, -3.0029194105147424492e-02 },
  { 0.24171793270710701896, 0.20412935229379993199, 0.38294211275726193779 },
  { 0.96604818261509293619, 1, 0 }
};
static const double T_inverse[3][3] = {
  { 4.3255798900631553510, 0.33919925181580986954, 0.54177053993587487119 },
  { -4.1787185915519047273, -0.32768282076106238708, 0.47662355450055045196 },
  { -0.50287263494578687595, 2.5719269498556054292, -0.59603920482822492497 }
};
/* gamma = 1 / ((6 + 81^(1/3) - 9^(1/3)) / 30), alpha + i beta likewise */
static const double gamma_ = 3.6378342527444957322, alpha = 2.6810828736277521339,
                    beta = 3.0504301992474105694;
static const double error_weight[3] = { -(13 + 7 * SQRT6) / 3, (-13 + 7 * SQRT6) / 3, -1.0 / 3 };

enum { NEWTON_MOST = 10, NEWTON_EXACT = 60, INSIDE_MOST = 3 };
static const double ROUND = 1e-10;
static const double KEEP_EXACT = 0.05;
static const double KEEP = 1e-3; /* contraction with which J is good for the next step */

static void radau_layout(void *ws, perp_arena *a)
{
  perp_radau *r = ws;
  const int n = r->local->n;
  const size_t length = perp_local_length(r->local);
  for (int i = 0; i < 3; i++) PERP_DOUBLES(a, n, &r->z[i], &r->past[i], &r->w[i], &r->g[i]);
  PERP_DOUBLES(a, n, &r->y, &r->e, &r->scale, &r->difference);
  PERP_DOUBLES(a, length, &r->J, &r->E1);
  r->E2 = PERP_CARVE(a, double _Complex, length);
  r->pair = PERP_CARVE(a, double _Complex, n);
  r->scratch = PERP_CARVE(a, double _Complex, n);
}

perp_status perp_radau_create(perp_ctx *ctx, perp_radau *r)
{
  PERP_TRY(perp_arena_layout(ctx, &r->arena, radau_layout, r));
  PERP_TRY(perp_local_lu_create(ctx, r->local, false, &r->lu1));
  PERP_TRY(perp_local_lu_create(ctx, r->local, true, &r->lu2));
  perp_radau_reset(r);
  return PERP_OK;
}

void perp_radau_destroy(perp_radau *r)
{
  if (r->local != NULL) perp_local_lu_destroy(r->local, &r->lu1);
  if (r->local != NULL) perp_local_lu_destroy(r->local, &r->lu2);
  perp_arena_free(&r->arena);
}

void perp_radau_reset(perp_radau *r)
{
  r->kept = false;
  r->h = r->h_past = 0;
}

void perp_radau_weights(double s, double l[3])
{
  for (int i = 0; i < 3; i++) {
    l[i] = s / node[i];
    for (int j = 0; j < 3; j++)
      if (j != i) l[i] *= (s - node[j]) / (node[i] - node[j]);
  }
}

double perp_radau_norm(const perp_radau *r, const double *x)
{
  double sum = 0;
  int counted = 0;
  for (int i = 0; i < r->local->n; i++) {
    if (r->scale[i] == HUGE_VAL) continue;
    const double e = x[i] / r->scale[i];
    sum += e * e;
    counted++;
  }
  return counted > 0 ? sqrt(sum / counted) : 0;
}

/* ---- matrices ---- */

static bool radau_f(perp_radau *r, double t, const double *y, double *f)
{
  r->evaluations++;
  return r->f(r->user, t, y, f);
}

static bool radau_at_start(void *user, const double *y, double *f)
{
  perp_radau *r = user;
  return r->f(r->user, r->t, y, f);
}

/* J at (t, y), where f is f_at */
static perp_reason radau_jacobian(perp_radau *r, double t, const double *y, const double *f_at)
{
  r->t = t;
  if (!perp_local_jacobian(r->local, radau_at_start, r, y, f_at, r->difference, r->J,
                           &r->evaluations))
    return PERP_NOT_FINITE;
  r->kept = r->fresh = true;
  r->h = 0;
  return PERP_EXACT;
}

/* J between the first two stages of the iterate. */
static perp_reason radau_jacobian_inside(perp_radau *r, double t, double h, const double *y0)
{
  const double at = t + h * (node[0] + node[1]) / 2;
  for (int k = 0; k < r->local->n; k++) r->y[k] = y0[k] + (r->z[0][k] + r->z[1][k]) / 2;
  if (!radau_f(r, at, r->y, r->e)) return PERP_NOT_FINITE;
  return radau_jacobian(r, at, r->y, r->e);
}

static perp_reason radau_matrices(perp_radau *r, double t, double h, const double *y0,
                                  const double *f0)
{
  const size_t length = perp_local_length(r->local);
  if (!r->kept) {
    const perp_reason reason = radau_jacobian(r, t, y0, f0);
    if (reason < 0) return reason;
  }
  if (fabs(r->h - h) <= 1e-9 * h) return PERP_EXACT; /* but for the rounding of times */
  for (size_t i = 0; i < length; i++) r->E1[i] = -r->J[i];
  for (size_t i = 0; i < length; i++) r->E2[i] = -r->J[i];
  for (int i = 0; i < r->local->n; i++) {
    if (!r->differential[i]) continue;
    const size_t at = perp_local_place(r->local, i, i);
    r->E1[at] += gamma_ / h;
    double *pair = (double *)(r->E2 + at);
    pair[0] += alpha / h;
    pair[1] += beta / h;
  }
  r->factorizations += 2;
  r->h = 0;
  if (!perp_local_factor(r->local, r->E1, &r->lu1) ||
      !perp_local_factor_complex(r->local, r->E2, &r->lu2))
    return PERP_SINGULAR;
  r->h = h;
  return PERP_EXACT;
}

/* ---- Newton's method ---- */

static void radau_transform(const double M[3][3], double *const in[3], double *const out[3], int n)
{
  for (int k = 0; k < n; k++) {
    const double a = in[0][k], b = in[1][k], c = in[2][k];
    for (int i = 0; i < 3; i++) out[i][k] = M[i][0] * a + M[i][1] * b + M[i][2] * c;
  }
}

/* W += the correction, in g; false: no value of f. */
static bool radau_correct(perp_radau *r, double t, double h, const double *y0)
{
  const int n = r->local->n;
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < n; k++) r->y[k] = y0[k] + r->z[i][k];
    if (!radau_f(r, t + node[i] * h, r->y, r->g[i])) return false;
  }
  radau_transform(T_inverse, r->g, r->g, n);
  for (int k = 0; k < n; k++) {
    if (r->differential[k]) {
      r->g[0][k] -= gamma_ / h * r->w[0][k];
      r->g[1][k] -= (alpha * r->w[1][k] - beta * r->w[2][k]) / h;
      r->g[2][k] -= (alpha * r->w[2][k] + beta * r->w[1][k]) / h;
    }
    double *pair = (double *)(r->pair + k);
    pair[0] = r->g[1][k];
    pair[1] = r->g[2][k];
  }
  perp_local_solve(r->local, r->E1, &r->lu1, r->g[0]);
  perp_local_solve_complex(r->local, r->E2, &r->lu2, r->pair, r->scratch);
  for (int k = 0; k < n; k++) {
    r->g[1][k] = creal(r->pair[k]);
    r->g[2][k] = cimag(r->pair[k]);
    for (int i = 0; i < 3; i++) r->w[i][k] += r->g[i][k];
  }
  radau_transform(T, r->w, r->z, n);
  r->iterations++;
  return true;
}

/* Is Z found?  now: size of the i-th correction.  EXACT: yes, MAX_ITER: no, and it will not be,
 * RUNNING: go on. */
static perp_reason radau_found(perp_radau *r, double tol, int i, double now, double last,
                               double before)
{
  if (now == 0) return PERP_EXACT;
  if (i == 0) { /* the guess was it */
    if (!(tol > 0 && r->h_past > 0 && now <= 1e-3 * tol)) return PERP_RUNNING;
    r->theta = KEEP / 2;
    return PERP_EXACT;
  }
  const double ratio = now / last;
  r->theta = i == 1 ? ratio : sqrt(ratio * before);
  if (tol == 0) {
    if (now <= 1e-15 || (now < ROUND && ratio > 0.5)) return PERP_EXACT;
    return ratio > 0.9 || (ratio > 0.3 && !r->fresh) ? PERP_MAX_ITER : PERP_RUNNING;
  }
  if (!(r->theta < 0.99)) return PERP_MAX_ITER;
  const double left = r->theta / (1 - r->theta) * now;
  if (left <= tol) return PERP_EXACT;
  return left * pow(r->theta, NEWTON_MOST - 2 - i) > tol ? PERP_MAX_ITER
                                                         : PERP_RUNNING; /* it will not get there */
}

/* From the Z at hand; *close out: the last correction was smaller than the first. */
static perp_reason radau_iterate(perp_radau *r, double t, double h, const double *y0, double tol,
                                 bool *close)
{
  const int most = tol > 0 ? NEWTON_MOST : NEWTON_EXACT;
  double last = 0, before = 0, first = 0;
  radau_transform(T_inverse, r->z, r->w, r->local->n);
  *close = false;
  for (int i = 0; i < most; i++) {
    if (!radau_correct(r, t, h, y0)) return PERP_NOT_FINITE;
    const double a = perp_radau_norm(r, r->g[0]), b = perp_radau_norm(r, r->g[1]),
                 c = perp_radau_norm(r, r->g[2]), now = sqrt((a * a + b * b + c * c) / 3);
    if (!(now < HUGE_VAL)) return PERP_NOT_FINITE;
    r->newton = i + 1;
    if (i == 0) first = now;
    *close = now < 0.1 * first;
    const perp_reason reason = radau_found(r, tol, i, now, last, before);
    if (reason != PERP_RUNNING) return reason;
    before = i > 0 ? now / last : 0;
    last = now;
  }
  return PERP_MAX_ITER;
}

perp_reason perp_radau_solve(perp_radau *r, double t, double h, const double *y0, const double *f0,
                             double tol)
{
  bool close = false;
  r->fresh = false;
  if (r->theta > (tol > 0 ? KEEP : KEEP_EXACT)) r->kept = false;
  r->theta = KEEP;
  for (;;) {
    perp_reason reason = radau_matrices(r, t, h, y0, f0);
    if (reason < 0) break;
    /* Z of the polynomial of the step before, continued */
    for (int i = 0; i < 3; i++) {
      double l[3] = { 0 };
      if (r->h_past > 0) perp_radau_weights(1 + node[i] * h / r->h_past, l);
      for (int k = 0; k < r->local->n; k++)
        r->z[i][k] = r->h_past > 0
                         ? l[0] * r->past[0][k] + l[1] * r->past[1][k] + (l[2] - 1) * r->past[2][k]
                         : 0;
    }
    reason = radau_iterate(r, t, h, y0, tol, &close);
    if (reason >= 0) return reason;
    if (r->fresh && (close || r->h_past == 0)) break;
    if (r->fresh) r->h_past = 0; /* perhaps the guess was bad */
    r->kept = r->fresh;
  }
  /* on from a Z that is not far, with a Jacobian inside of the step, as stiff directions turn */
  for (int i = 0; i < INSIDE_MOST && close; i++) {
    if (radau_jacobian_inside(r, t, h, y0) < 0 || radau_matrices(r, t, h, y0, f0) < 0) break;
    if (radau_iterate(r, t, h, y0, tol, &close) >= 0) {
      r->theta = 1; /* it is no Jacobian of the next step */
      return PERP_EXACT;
    }
  }
  r->kept = false;
  return PERP_MAX_ITER;
}

void perp_radau_accept(perp_radau *r, double h)
{
  for (int i = 0; i < 3; i++) {
    double *past = r->past[i];
    r->past[i] = r->z[i];
    r->z[i] = past;
  }
  r->h_past = h;
}

bool perp_radau_error(perp_radau *r, double t, double h, const double *y0, const double *f0,
                      bool again, double *err)
{
  const int n = r->local->n;
  for (int k = 0; k < n; k++) {
    const double slope = r->differential[k]
                             ? (error_weight[0] * r->z[0][k] + error_weight[1] * r->z[1][k] +
                                error_weight[2] * r->z[2][k]) /
                                   h
                             : 0;
    r->e[k] = slope;
    err[k] = slope + f0[k];
  }
  perp_local_solve(r->local, r->E1, &r->lu1, err);
  if (!again) return true;
  for (int k = 0; k < n; k++) r->y[k] = y0[k] + err[k];
  if (!radau_f(r, t, r->y, err)) return false;
  for (int k = 0; k < n; k++) err[k] += r->e[k];
  perp_local_solve(r->local, r->E1, &r->lu1, err);
  return true;
}
