/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stiff systems: what the implicit methods are for, and that the explicit ones say so when they
 * fail; and methods that must agree with each other. */
#include "tests/ode_problems.h"
#include "tests/tap.h"

static perp_ctx ctx;

static perp_ode *start(const char *text, const perp_ode_sys *sys, double h, const double *q,
                       const double *v)
{
  perp_spec spec;
  perp_ode *ode;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, text, &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, sys, h, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 0, q, v) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  return ode;
}

/* q' = -rate (q - cos t) - sin t, q = cos t (Prothero and Robinson) */
static const double rate = 1e6;
static perp_ode_answer slow_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)v, (void)intermediate, (void)a;
  qdot[0] = -rate * (q[0] - cos(t)) - sin(t);
  return PERP_ODE_OK;
}

/* a mass on a stiff, strongly damped spring, pulled by a slow force: q'' = -k (q - sin t) - d q' */
static perp_ode_answer damper_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)intermediate;
  qdot[0] = v[0];
  a[0] = -1e6 * (q[0] - sin(t)) - 1e4 * v[0];
  return PERP_ODE_OK;
}

static perp_ode_answer swing_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)intermediate;
  qdot[0] = v[0];
  a[0] = -q[0];
  return PERP_ODE_OK;
}

/* The forced solution: of q'' + d q' + k q = k sin t. */
static void damper_exact(double t, double *q, double *v)
{
  const double k = 1e6, d = 1e4, s = k - 1, n = s * s + d * d;
  *q = k * (s * sin(t) - d * cos(t)) / n;
  *v = k * (s * cos(t) + d * sin(t)) / n;
}

/* van der Pol of the test set for initial value problems: y'' = ((1 - y^2) y' - y) / 1e-6 from (2,
 * 0); *calls counts evaluations */
static perp_ode_answer pol_deriv(void *user, double t, double h, const double *q, const double *v,
                                 bool intermediate, double *qdot, double *a)
{
  (void)t, (void)h, (void)v, (void)a, (void)intermediate;
  ++*(int *)user;
  qdot[0] = q[1];
  qdot[1] = ((1 - q[0] * q[0]) * q[1] - q[0]) / 1e-6;
  return PERP_ODE_OK;
}

/* To t = 2, for which the test set gives the solution to 16 digits. */
static void van_der_pol(void)
{
  static const double exact[2] = { 1.7061677321704833, -0.8928097010247975 };
  static const double start_q[2] = { 2, 0 };
  static const struct {
    double tol, allowed;
    int calls;
  } cases[] = { { 1e-4, 1e-3, 6000 }, { 1e-6, 1e-5, 12000 }, { 1e-8, 1e-7, 27000 } };
  for (int i = 0; i < 3; i++) {
    int calls = 0;
    char name[64];
    const perp_ode_sys sys = { .nq = 2, .deriv = pol_deriv, .user = &calls };
    snprintf(name, sizeof name, "radau5:tol=%g,atol=%g", cases[i].tol, cases[i].tol);
    perp_ode *ode = start(name, &sys, 1e-6, start_q, NULL);
    perp_stats stats;
    const perp_ode_stop stop = perp_ode_advance(&ctx, ode, 2, &stats);
    ok(stop == PERP_ODE_REACHED, "van der Pol, %s: %d steps, %d refused, %d derivatives", name,
       (int)perp_ode_count(ode)->steps, (int)perp_ode_count(ode)->rejected, calls);
    ok(calls < cases[i].calls, "  no more than %d", cases[i].calls);
    for (int k = 0; k < 2; k++) near(perp_ode_q(ode)[k], exact[k], 0, cases[i].allowed, "  y%d", k);
    perp_ode_destroy(ode);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  const double one = 1;
  perp_stats stats;

  /* 2 s of a slow solution, 2e6 times the fast time constant */
  const perp_ode_sys slow = { .nq = 1, .deriv = slow_deriv };
  static const struct {
    const char *method;
    int most_steps;
    double allowed;
  } implicit[] = {
    { "gsl:rk1imp:tol=1e-5", 3000, 1e-4 },
    { "gsl:bsimp:tol=1e-5", 300, 1e-4 },
    { "gsl:msbdf:tol=1e-6", 300, 1e-4 },
    { "radau5:tol=1e-6", 40, 1e-5 },
    /* A-stable but not L-stable: errors of the fast part are carried on with a sign that alternates
     */
    { "gsl:rk2imp:tol=1e-5", 300, 1e-3 },
    { "gsl:rk4imp:tol=1e-5", 300, 1e-3 },
    { "implicit-midpoint:tol=1e-5", 3000, 1e-3 },
  };
  for (size_t i = 0; i < sizeof implicit / sizeof *implicit; i++) {
    perp_ode *ode = start(implicit[i].method, &slow, 1e-3, &one, NULL);
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 2, &stats);
    int steps = (int)perp_ode_count(ode)->steps;
    if (!ok(stop == PERP_ODE_REACHED && steps <= implicit[i].most_steps, "%s: %d steps",
            implicit[i].method, steps))
      printf("# stop %d (%s), %d steps, %d rejected, t = %g\n", stop,
             perp_reason_name(stats.reason), steps, (int)perp_ode_count(ode)->rejected,
             perp_ode_time(ode));
    near(perp_ode_q(ode)[0], cos(2), implicit[i].allowed, 0, "%s: error", implicit[i].method);
    perp_ode_destroy(ode);
  }
  perp_ode *ode = start("dopri5:tol=1e-5", &slow, 1e-3, &one, NULL);
  perp_ode_advance(&ctx, ode, 0.02, &stats);
  ok(perp_ode_count(ode)->steps > 2000,
     "dopri5 needs steps of the fast time constant (%d for 0.02 s)",
     (int)perp_ode_count(ode)->steps);
  perp_ode_destroy(ode);

  /* mechanical and with fixed steps, h d = 100 */
  const perp_ode_sys damper = { .nq = 1, .nv = 1, .deriv = damper_deriv };
  const perp_ode_sys swing = { .nq = 1, .nv = 1, .deriv = swing_deriv };
  double q0, v0, q, v;
  damper_exact(0, &q0, &v0);
  damper_exact(3, &q, &v);
  ode = start("implicit-midpoint", &damper, 0.01, &q0, &v0);
  perp_ode_stop stop = perp_ode_advance(&ctx, ode, 3, &stats);
  ok(stop == PERP_ODE_REACHED && stats.factorizations > 0,
     "implicit-midpoint: Newton serves h d = 100");
  near(perp_ode_q(ode)[0], q, 1e-4, 0, "implicit-midpoint: position");
  near(perp_ode_v(ode)[0], v, 1e-2, 0, "implicit-midpoint: velocity");
  perp_ode_destroy(ode);
  ode = start("radau5", &damper, 0.1, &q0, &v0);
  stop = perp_ode_advance(&ctx, ode, 3, &stats);
  ok(stop == PERP_ODE_REACHED, "radau5 with fixed steps, h d = 1000");
  near(perp_ode_q(ode)[0], q, 1e-7, 0, "radau5: position");
  near(perp_ode_v(ode)[0], v, 3e-6, 0, "radau5: velocity");
  perp_ode_destroy(ode);
  /* from rest but for rounding: the size of the velocities is that of what the step makes of them
   */
  const double still = 1, rounding = 7e-16;
  static const char *const from_rest[] = { "radau5", "radau5:tol=1e-8" };
  for (int i = 0; i < 2; i++) {
    ode = start(from_rest[i], &swing, 0.05, &still, &rounding);
    stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_REACHED, "%s starts from rest", from_rest[i]);
    near(perp_ode_q(ode)[0], cos(1), 1e-7, 0, "  and swings");
    perp_ode_destroy(ode);
  }
  ode = start("gsl:rk1imp", &damper, 0.01, &q0, &v0);
  stop = perp_ode_advance(&ctx, ode, 3, &stats);
  ok(stop == PERP_ODE_REACHED, "gsl:rk1imp with fixed steps");
  near(perp_ode_q(ode)[0], q, 1e-2, 0, "gsl:rk1imp: position");
  perp_ode_destroy(ode);
  static const char *const explicit[] = { "euler", "rk4", "symplectic-euler", "verlet",
                                          "gsl:rk8pd" };
  for (size_t i = 0; i < sizeof explicit / sizeof *explicit; i++) {
    ode = start(explicit[i], &damper, 0.01, &q0, &v0);
    stop = perp_ode_advance(&ctx, ode, 3, &stats);
    if (!ok(stop == PERP_ODE_STOPPED && stats.reason == PERP_NOT_FINITE &&
                isfinite(perp_ode_q(ode)[0]) && isfinite(perp_ode_v(ode)[0]),
            "%s: blows up, says so, and keeps its last finite state", explicit[i]))
      printf("# stop %d reason %s q %g\n", stop, perp_reason_name(stats.reason),
             perp_ode_q(ode)[0]);
    perp_ode_destroy(ode);
  }

  /* the same formula twice: ours and GSL's, to round-off of 200 steps; GSL's Newton leaves 1e-12 a
   * step */
  static const char *const twins[][2] = { { "cash-karp", "gsl:rkck" },
                                          { "implicit-midpoint", "gsl:rk2imp" },
                                          { "rk4", "gsl:rk4" } };
  for (int i = 0; i < 3; i++) {
    ode_problem p = circle();
    /* GSL's rk4 and rk2imp return two half steps */
    perp_ode *ours = start(twins[i][0], &p.sys, i == 0 ? 0.01 : 0.005, p.q0, NULL);
    perp_ode *theirs = start(twins[i][1], &p.sys, 0.01, p.q0, NULL);
    perp_ode_advance(&ctx, ours, 2, NULL);
    perp_ode_advance(&ctx, theirs, 2, NULL);
    for (int j = 0; j < 2; j++)
      near(perp_ode_q(ours)[j], perp_ode_q(theirs)[j], i == 1 ? 1e-11 : 1e-13, 0, "%s = %s: q[%d]",
           twins[i][0], twins[i][1], j);
    ok(ode_error(&p, ours) > 1e-12, "%s: and not because both are exact", twins[i][0]);
    perp_ode_destroy(ours);
    perp_ode_destroy(theirs);
  }
  van_der_pol();
  return tap_done();
}
