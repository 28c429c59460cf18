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

static void radau_layout(void *ws, perp_arena *arena)
{
  perp_radau *radau = ws;
  const int n = radau->local->n;
  const size_t length = perp_local_length(radau->local);
  for (int i = 0; i < 3; i++)
    PERP_DOUBLES(arena, n, &radau->z[i], &radau->past[i], &radau->w[i], &radau->g[i]);
  PERP_DOUBLES(arena, n, &radau->y, &radau->e, &radau->scale, &radau->difference);
  PERP_DOUBLES(arena, length, &radau->J, &radau->E1);
  radau->E2 = PERP_CARVE(arena, double _Complex, length);
  radau->pair = PERP_CARVE(arena, double _Complex, n);
  radau->scratch = PERP_CARVE(arena, double _Complex, n);
}

perp_status perp_radau_create(perp_ctx *ctx, perp_radau *radau)
{
  PERP_TRY(perp_arena_layout(ctx, &radau->arena, radau_layout, radau));
  PERP_TRY(perp_local_lu_create(ctx, radau->local, false, &radau->lu1));
  PERP_TRY(perp_local_lu_create(ctx, radau->local, true, &radau->lu2));
  perp_radau_reset(radau);
  return PERP_OK;
}

void perp_radau_destroy(perp_radau *radau)
{
  if (radau->local != NULL) perp_local_lu_destroy(radau->local, &radau->lu1);
  if (radau->local != NULL) perp_local_lu_destroy(radau->local, &radau->lu2);
  perp_arena_free(&radau->arena);
}

void perp_radau_reset(perp_radau *radau)
{
  radau->kept = false;
  radau->h = radau->h_past = 0;
}

void perp_radau_weights(double s, double l[3])
{
  for (int i = 0; i < 3; i++) {
    l[i] = s / node[i];
    for (int j = 0; j < 3; j++)
      if (j != i) l[i] *= (s - node[j]) / (node[i] - node[j]);
  }
}

double perp_radau_norm(const perp_radau *radau, const double *x)
{
  double sum = 0;
  int counted = 0;
  for (int i = 0; i < radau->local->n; i++) {
    if (radau->scale[i] == HUGE_VAL) continue;
    const double e = x[i] / radau->scale[i];
    sum += e * e;
    counted++;
  }
  return counted > 0 ? sqrt(sum / counted) : 0;
}

/* ---- matrices ---- */

static bool radau_f(perp_radau *radau, double t, const double *y, double *f)
{
  radau->evaluations++;
  return radau->f(radau->user, t, y, f);
}

static bool radau_at_start(void *user, const double *y, double *f)
{
  perp_radau *radau = user;
  return radau->f(radau->user, radau->t, y, f);
}

/* J at (t, y), where f is f_at */
static perp_reason radau_jacobian(perp_radau *radau, double t, const double *y, const double *f_at)
{
  radau->t = t;
  if (!perp_local_jacobian(radau->local, radau_at_start, radau, y, f_at, radau->difference,
                           radau->J, &radau->evaluations))
    return PERP_NOT_FINITE;
  radau->kept = radau->fresh = true;
  radau->h = 0;
  return PERP_EXACT;
}

/* J between the first two stages of the iterate. */
static perp_reason radau_jacobian_inside(perp_radau *radau, double t, double h, const double *y0)
{
  const double at = t + h * (node[0] + node[1]) / 2;
  for (int k = 0; k < radau->local->n; k++)
    radau->y[k] = y0[k] + (radau->z[0][k] + radau->z[1][k]) / 2;
  if (!radau_f(radau, at, radau->y, radau->e)) return PERP_NOT_FINITE;
  return radau_jacobian(radau, at, radau->y, radau->e);
}

static perp_reason radau_matrices(perp_radau *radau, double t, double h, const double *y0,
                                  const double *f0)
{
  const size_t length = perp_local_length(radau->local);
  if (!radau->kept) {
    const perp_reason reason = radau_jacobian(radau, t, y0, f0);
    if (reason < 0) return reason;
  }
  if (fabs(radau->h - h) <= 1e-9 * h) return PERP_EXACT; /* but for the rounding of times */
  for (size_t i = 0; i < length; i++) radau->E1[i] = -radau->J[i];
  for (size_t i = 0; i < length; i++) radau->E2[i] = -radau->J[i];
  for (int i = 0; i < radau->local->n; i++) {
    if (!radau->differential[i]) continue;
    const size_t at = perp_local_place(radau->local, i, i);
    radau->E1[at] += gamma_ / h;
    double *pair = (double *)(radau->E2 + at);
    pair[0] += alpha / h;
    pair[1] += beta / h;
  }
  radau->factorizations += 2;
  radau->h = 0;
  if (!perp_local_factor(radau->local, radau->E1, &radau->lu1) ||
      !perp_local_factor_complex(radau->local, radau->E2, &radau->lu2))
    return PERP_SINGULAR;
  radau->h = h;
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
static bool radau_correct(perp_radau *radau, double t, double h, const double *y0)
{
  const int n = radau->local->n;
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < n; k++) radau->y[k] = y0[k] + radau->z[i][k];
    if (!radau_f(radau, t + node[i] * h, radau->y, radau->g[i])) return false;
  }
  radau_transform(T_inverse, radau->g, radau->g, n);
  for (int k = 0; k < n; k++) {
    if (radau->differential[k]) {
      radau->g[0][k] -= gamma_ / h * radau->w[0][k];
      radau->g[1][k] -= (alpha * radau->w[1][k] - beta * radau->w[2][k]) / h;
      radau->g[2][k] -= (alpha * radau->w[2][k] + beta * radau->w[1][k]) / h;
    }
    double *pair = (double *)(radau->pair + k);
    pair[0] = radau->g[1][k];
    pair[1] = radau->g[2][k];
  }
  perp_local_solve(radau->local, radau->E1, &radau->lu1, radau->g[0]);
  perp_local_solve_complex(radau->local, radau->E2, &radau->lu2, radau->pair, radau->scratch);
  for (int k = 0; k < n; k++) {
    radau->g[1][k] = creal(radau->pair[k]);
    radau->g[2][k] = cimag(radau->pair[k]);
    for (int i = 0; i < 3; i++) radau->w[i][k] += radau->g[i][k];
  }
  radau_transform(T, radau->w, radau->z, n);
  radau->iterations++;
  return true;
}

/* Is Z found?  now: size of the i-th correction.  EXACT: yes, MAX_ITER: no, and it will not be,
 * RUNNING: go on. */
static perp_reason radau_found(perp_radau *radau, double tol, int i, double now, double last,
                               double before)
{
  if (now == 0) return PERP_EXACT;
  if (i == 0) { /* the guess was it */
    if (!(tol > 0 && radau->h_past > 0 && now <= 1e-3 * tol)) return PERP_RUNNING;
    radau->theta = KEEP / 2;
    return PERP_EXACT;
  }
  const double ratio = now / last;
  radau->theta = i == 1 ? ratio : sqrt(ratio * before);
  if (tol == 0) {
    if (now <= 1e-15 || (now < ROUND && ratio > 0.5)) return PERP_EXACT;
    return ratio > 0.9 || (ratio > 0.3 && !radau->fresh) ? PERP_MAX_ITER : PERP_RUNNING;
  }
  if (!(radau->theta < 0.99)) return PERP_MAX_ITER;
  const double left = radau->theta / (1 - radau->theta) * now;
  if (left <= tol) return PERP_EXACT;
  return left * pow(radau->theta, NEWTON_MOST - 2 - i) > tol
             ? PERP_MAX_ITER
             : PERP_RUNNING; /* it will not get there */
}

/* From the Z at hand; *close out: the last correction was smaller than the first. */
static perp_reason radau_iterate(perp_radau *radau, double t, double h, const double *y0,
                                 double tol, bool *close)
{
  const int most = tol > 0 ? NEWTON_MOST : NEWTON_EXACT;
  double last = 0, before = 0, first = 0;
  radau_transform(T_inverse, radau->z, radau->w, radau->local->n);
  *close = false;
  for (int i = 0; i < most; i++) {
    if (!radau_correct(radau, t, h, y0)) return PERP_NOT_FINITE;
    const double a = perp_radau_norm(radau, radau->g[0]), b = perp_radau_norm(radau, radau->g[1]),
                 c = perp_radau_norm(radau, radau->g[2]), now = sqrt((a * a + b * b + c * c) / 3);
    if (!(now < HUGE_VAL)) return PERP_NOT_FINITE;
    radau->newton = i + 1;
    if (i == 0) first = now;
    *close = now < 0.1 * first;
    const perp_reason reason = radau_found(radau, tol, i, now, last, before);
    if (reason != PERP_RUNNING) return reason;
    before = i > 0 ? now / last : 0;
    last = now;
  }
  return PERP_MAX_ITER;
}

perp_reason perp_radau_solve(perp_radau *radau, double t, double h, const double *y0,
                             const double *f0, double tol)
{
  bool close = false;
  radau->fresh = false;
  if (radau->theta > (tol > 0 ? KEEP : KEEP_EXACT)) radau->kept = false;
  radau->theta = KEEP;
  for (;;) {
    perp_reason reason = radau_matrices(radau, t, h, y0, f0);
    if (reason < 0) break;
    /* Z of the polynomial of the step before, continued */
    for (int i = 0; i < 3; i++) {
      double l[3] = { 0 };
      if (radau->h_past > 0) perp_radau_weights(1 + node[i] * h / radau->h_past, l);
      for (int k = 0; k < radau->local->n; k++)
        radau->z[i][k] = radau->h_past > 0 ? l[0] * radau->past[0][k] + l[1] * radau->past[1][k] +
                                                 (l[2] - 1) * radau->past[2][k]
                                           : 0;
    }
    reason = radau_iterate(radau, t, h, y0, tol, &close);
    if (reason >= 0) return reason;
    if (radau->fresh && (close || radau->h_past == 0)) break;
    if (radau->fresh) radau->h_past = 0; /* perhaps the guess was bad */
    radau->kept = radau->fresh;
  }
  /* on from a Z that is not far, with a Jacobian inside of the step, as stiff directions turn */
  for (int i = 0; i < INSIDE_MOST && close; i++) {
    if (radau_jacobian_inside(radau, t, h, y0) < 0 || radau_matrices(radau, t, h, y0, f0) < 0)
      break;
    if (radau_iterate(radau, t, h, y0, tol, &close) >= 0) {
      radau->theta = 1; /* it is no Jacobian of the next step */
      return PERP_EXACT;
    }
  }
  radau->kept = false;
  return PERP_MAX_ITER;
}

void perp_radau_accept(perp_radau *radau, double h)
{
  for (int i = 0; i < 3; i++) {
    double *past = radau->past[i];
    radau->past[i] = radau->z[i];
    radau->z[i] = past;
  }
  radau->h_past = h;
}

bool perp_radau_error(perp_radau *radau, double t, double h, const double *y0, const double *f0,
                      bool again, double *err)
{
  const int n = radau->local->n;
  for (int k = 0; k < n; k++) {
    const double slope = radau->differential[k] ? (error_weight[0] * radau->z[0][k] +
                                                   error_weight[1] * radau->z[1][k] +
                                                   error_weight[2] * radau->z[2][k]) /
                                                      h
                                                : 0;
    radau->e[k] = slope;
    err[k] = slope + f0[k];
  }
  perp_local_solve(radau->local, radau->E1, &radau->lu1, err);
  if (!again) return true;
  for (int k = 0; k < n; k++) radau->y[k] = y0[k] + err[k];
  if (!radau_f(radau, t, radau->y, err)) return false;
  for (int k = 0; k < n; k++) err[k] += radau->e[k];
  perp_local_solve(radau->local, radau->E1, &radau->lu1, err);
  return true;
}
