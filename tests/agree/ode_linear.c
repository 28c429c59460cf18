/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One step of each method on random linear systems y' = A y is R(h A) y with its own rational
 * function R: plain systems, systems of second order with q' = v, mild and stiff. */
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 8 };
static perp_ctx ctx;
static perp_rng *rng;

typedef struct linear {
  int nq, nv;
  double A[MOST][MOST];
} linear;

static void times(int n, double A[MOST][MOST], const double *x, double *y)
{
  double out[MOST] = { 0 };
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) out[i] += A[i][j] * x[j];
  memcpy(y, out, sizeof out);
}

/* x with (sum_k c_k (hA)^k) x = y: elimination with row exchanges */
static void solved(int n, double h, double A[MOST][MOST], const double *c, int degree,
                   const double *y, double *x)
{
  double M[MOST][MOST + 1];
  for (int j = 0; j < n; j++) { /* column j by Horner */
    double e[MOST] = { 0 }, col[MOST] = { 0 };
    e[j] = 1;
    for (int k = degree; k >= 0; k--) {
      times(n, A, col, col);
      for (int i = 0; i < n; i++) col[i] = h * col[i] + c[k] * e[i];
    }
    for (int i = 0; i < n; i++) M[i][j] = col[i];
  }
  for (int i = 0; i < n; i++) M[i][n] = y[i];
  for (int k = 0; k < n; k++) {
    int best = k;
    for (int i = k + 1; i < n; i++)
      if (fabs(M[i][k]) > fabs(M[best][k])) best = i;
    for (int j = 0; j <= n; j++) {
      const double swap = M[k][j];
      M[k][j] = M[best][j], M[best][j] = swap;
    }
    for (int i = k + 1; i < n; i++) {
      const double l = M[i][k] / M[k][k];
      for (int j = k; j <= n; j++) M[i][j] -= l * M[k][j];
    }
  }
  for (int i = n - 1; i >= 0; i--) {
    x[i] = M[i][n];
    for (int j = i + 1; j < n; j++) x[i] -= M[i][j] * x[j];
    x[i] /= M[i][i];
  }
}

static perp_ode_answer deriv(void *user, double t, double h, const double *q, const double *v,
                             bool intermediate, double *qdot, double *a)
{
  linear *s = user;
  double y[MOST], f[MOST];
  (void)t, (void)h, (void)intermediate;
  memcpy(y, q, (size_t)s->nq * sizeof *q);
  if (s->nv > 0) memcpy(y + s->nq, v, (size_t)s->nv * sizeof *v);
  times(s->nq + s->nv, s->A, y, f);
  if (qdot != NULL) memcpy(qdot, f, (size_t)s->nq * sizeof *f);
  if (s->nv > 0) memcpy(a, f + s->nq, (size_t)s->nv * sizeof *f);
  return PERP_ODE_OK;
}

/* R = numerator / denominator in powers of z, applied `times` with h / times */
typedef struct method {
  const char *name;
  int parts, top, bottom;
  double over[8], under[4];
  double stiff; /* |h A| at most */
  double tol;
} method;
#define EXP5 1, 1, 1 / 2., 1 / 6., 1 / 24., 1 / 120.
static const method methods[] = {
  { "euler", 1, 1, 0, { 1, 1 }, { 1 }, 1, 1e-14 },
  { "heun", 1, 2, 0, { 1, 1, 0.5 }, { 1 }, 1, 1e-14 },
  { "midpoint", 1, 2, 0, { 1, 1, 0.5 }, { 1 }, 1, 1e-14 },
  { "rk4", 1, 4, 0, { 1, 1, 1 / 2., 1 / 6., 1 / 24. }, { 1 }, 1, 1e-14 },
  { "dopri5", 1, 6, 0, { EXP5, 1 / 600. }, { 1 }, 1, 1e-14 },
  { "cash-karp", 1, 6, 0, { EXP5, 1 / 800. }, { 1 }, 1, 1e-14 },
  { "gsl:rkck", 1, 6, 0, { EXP5, 1 / 800. }, { 1 }, 1, 1e-14 },
  { "gsl:rkf45", 1, 6, 0, { EXP5, 1 / 2080. }, { 1 }, 1, 1e-14 },
  { "gsl:rk4", 2, 4, 0, { 1, 1, 1 / 2., 1 / 6., 1 / 24. }, { 1 }, 1, 1e-14 },
  { "implicit-midpoint", 1, 1, 1, { 1, 0.5 }, { 1, -0.5 }, 300, 1e-10 },
  { "gsl:rk1imp", 2, 0, 1, { 1 }, { 1, -1 }, 30, 1e-9 },
  { "gsl:rk2imp", 2, 1, 1, { 1, 0.5 }, { 1, -0.5 }, 30, 1e-9 },
  { "gsl:rk4imp", 2, 2, 2, { 1, 0.5, 1 / 12. }, { 1, -0.5, 1 / 12. }, 30, 1e-9 },
};

static double error_of(const method *m, linear *s, double h, bool second, int *iterations)
{
  const int n = s->nq + s->nv;
  const perp_ode_sys sys = { .user = s, .nq = s->nq, .nv = s->nv, .deriv = deriv };
  double y[MOST] = { 0 }, x[MOST], worst = 0, size = 0;
  perp_spec spec;
  perp_ode *ode;
  perp_stats stats = { 0 };
  for (int i = 0; i < n; i++) y[i] = perp_rng_normal(rng);
  if (perp_spec_parse(&ctx, PERP_KIND_ode, m->name, &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, &sys, h, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 0, y, second ? y + s->nq : NULL) != PERP_OK)
    bail("%s: %s", m->name, ctx.msg);
  perp_spec_free(&spec);
  const perp_ode_stop stop = perp_ode_step(&ctx, ode, HUGE_VAL, &stats);
  for (int k = 0; k < m->parts; k++) {
    double part = h / m->parts, sum[MOST] = { 0 };
    for (int p = m->top; p >= 0; p--) {
      times(n, s->A, sum, sum);
      for (int i = 0; i < n; i++) sum[i] = part * sum[i] + m->over[p] * y[i];
    }
    solved(n, part, s->A, m->under, m->bottom, sum, x);
    memcpy(y, x, sizeof y);
  }
  for (int i = 0; i < n; i++) {
    const double got = i < s->nq ? perp_ode_q(ode)[i] : perp_ode_v(ode)[i - s->nq];
    worst = fmax(worst, fabs(got - y[i]));
    size = fmax(size, fabs(y[i]));
  }
  const perp_ode_counters *count = perp_ode_count(ode);
  if ((int)count->iterations > *iterations) *iterations = (int)count->iterations;
  perp_ode_destroy(ode);
  return stop == PERP_ODE_REACHED && stats.reason == PERP_EXACT ? worst / (1 + size) : HUGE_VAL;
}

/* A with eigenvalues that do not grow fast: random, less twice its size */
static void random_system(linear *s, int n, bool second)
{
  *s = (linear){ .nq = n, .nv = second ? n : 0 };
  const int rows = second ? n : 0, all = s->nq + s->nv;
  for (int i = 0; i < n && second; i++) s->A[i][n + i] = 1;
  for (int i = rows; i < all; i++)
    for (int j = 0; j < all; j++)
      s->A[i][j] = 0.3 * perp_rng_normal(rng) - (i == j) - (second && i == j + n);
}

static perp_ode_answer deriv_clock(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)v, (void)intermediate, (void)a;
  qdot[0] = cos(t) - 1e3 * (q[0] - sin(t)); /* q = sin t */
  return PERP_ODE_OK;
}

/* Bader and Deuflhard's method asks for df/dt, too. */
static void right_hand_side_of_time(void)
{
  const perp_ode_sys sys = { .nq = 1, .deriv = deriv_clock };
  perp_spec spec;
  perp_ode *ode;
  perp_stats stats = { 0 };
  const double start = sin(2);
  if (perp_spec_parse(&ctx, PERP_KIND_ode, "gsl:bsimp", &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, &sys, 0.1, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 2, &start, NULL) != PERP_OK)
    bail("gsl:bsimp: %s", ctx.msg);
  perp_spec_free(&spec);
  for (int k = 0; k < 10; k++) perp_ode_step(&ctx, ode, HUGE_VAL, &stats);
  near(perp_ode_q(ode)[0], sin(perp_ode_time(ode)), 0, 1e-9, "gsl:bsimp, a force of time, to %g s",
       perp_ode_time(ode));
  perp_ode_destroy(ode);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  rng = perp_rng_create(41);
  for (size_t k = 0; k < sizeof methods / sizeof *methods; k++)
    for (int second = 0; second < 2; second++) {
      double worst = 0;
      int iterations = 0;
      for (int trial = 0; trial < 40; trial++) {
        linear s;
        random_system(&s, 1 + trial % 4, second != 0);
        const double h = trial % 2 == 0 ? 0.1 : methods[k].stiff * 0.5;
        worst = fmax(worst, error_of(&methods[k], &s, h, second != 0, &iterations));
      }
      below(worst, methods[k].tol, "%s, %s: one step is R(h A) y", methods[k].name,
            second ? "second order" : "first order");
      if (strcmp(methods[k].name, "implicit-midpoint") == 0)
        ok(iterations <= 20, "  Newton's method on a linear system: %d iterations", iterations);
    }
  perp_rng_destroy(rng);
  right_hand_side_of_time();
  return tap_done();
}
