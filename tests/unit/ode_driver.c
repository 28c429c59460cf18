/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver of the ODE solvers: time grid, events, invalid and changed states, error control. */
#include "solvers/ode/control.h"
#include "tests/ode_problems.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;
static const double g = 9.81;

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

/* ---- a ball above a floor at q = 0 ---- */

struct ball {
  double restitution; /* < 0: the floor is not handled, only refused */
  double reach;       /* |q| below which the ball is on the floor */
  bool refuse_in_deriv, always_changed;
  long accepted, regular, wrong;
  double t_accepted;
  const perp_ode *ode; /* whose time is that of the regular states */
};

static perp_ode_answer ball_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)h;
  struct ball *b = user;
  if (!intermediate) {
    b->regular++;
    if (b->ode != NULL && t != perp_ode_time(b->ode)) b->wrong++;
  }
  qdot[0] = v[0];
  a[0] = -g;
  return b->refuse_in_deriv && q[0] < 0 ? PERP_ODE_INVALID : PERP_ODE_OK;
}

static perp_ode_answer ball_accept(void *user, double t, double *q, double *v)
{
  struct ball *b = user;
  if (b->refuse_in_deriv) {
    b->t_accepted = t;
    return PERP_ODE_OK;
  }
  if (q[0] < -b->reach) return PERP_ODE_INVALID;
  b->accepted++;
  b->t_accepted = t;
  if (b->restitution >= 0 && q[0] <= b->reach && v[0] < 0) {
    v[0] *= -b->restitution;
    return PERP_ODE_CHANGED;
  }
  return b->always_changed ? PERP_ODE_CHANGED : PERP_ODE_OK;
}

static double height(void *user, double t, const double *q, const double *v)
{
  (void)user, (void)t, (void)v;
  return q[0];
}

static perp_ode_sys ball_sys(struct ball *b)
{
  return (perp_ode_sys){ .nq = 1, .nv = 1, .user = b, .deriv = ball_deriv, .accept = ball_accept };
}

/* ---- time ---- */

static void time_grid(void)
{
  ode_problem p = oscillator();
  perp_ode *ode = start("rk4", &p.sys, 0.1, p.q0, p.v0);
  perp_stats stats;
  ok(perp_ode_advance(&ctx, ode, 1, &stats) == PERP_ODE_REACHED && perp_ode_time(ode) == 1 &&
         perp_ode_count(ode)->steps == 10,
     "10 steps of 0.1 are 1");
  ok(stats.reason == PERP_EXACT && stats.matvecs == 40 && isnan(stats.residual),
     "statistics of fixed steps");
  ok(perp_ode_count(ode)->h_least == 0.1 && perp_ode_count(ode)->h_most == 0.1,
     "whole steps are h itself");
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  long wrong = 0;
  for (int k = 1; k <= 100000; k++) {
    perp_ode_step(&ctx, ode, HUGE_VAL, NULL);
    if (perp_ode_time(ode) != k * 0.1) wrong++;
  }
  ok(wrong == 0, "t_k = t_0 + k h to the last bit");

  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  int64_t before = perp_ode_count(ode)->steps;
  perp_ode_advance(&ctx, ode, 0.25, NULL);
  ok(perp_ode_time(ode) == 0.25 && perp_ode_count(ode)->steps == before + 3, "a cut step");
  perp_ode_step(&ctx, ode, 1, NULL);
  near(perp_ode_time(ode), 0.3, 1e-15, 0, "then back to the grid");
  perp_ode_advance(&ctx, ode, 1, NULL);
  ok(perp_ode_time(ode) == 1 && perp_ode_count(ode)->steps == before + 11, "and on it");
  perp_ode_destroy(ode);

  ode = start("rk4", &p.sys, 1.0 / 3, p.q0, p.v0);
  perp_ode_advance(&ctx, ode, 7, NULL);
  ok(perp_ode_time(ode) == 7 && perp_ode_count(ode)->steps == 21, "21 steps of 1/3 are 7");
  double t_lost = 1e17;
  perp_ode_restart(&ctx, ode, t_lost, p.q0, p.v0);
  ok(perp_ode_step(&ctx, ode, HUGE_VAL, &stats) == PERP_ODE_STOPPED &&
         stats.reason == PERP_STEP_TOO_SMALL,
     "a step that is lost in t is refused");
  perp_ode_destroy(ode);
  ode = start("dopri5:tol=1e-6", &p.sys, 1.0 / 3, p.q0, p.v0);
  perp_ode_restart(&ctx, ode, t_lost, p.q0, p.v0);
  ok(perp_ode_advance(&ctx, ode, 2 * t_lost, &stats) == PERP_ODE_STOPPED &&
         stats.reason == PERP_STEP_TOO_SMALL,
     "so it is with error control");
  perp_ode_destroy(ode);
}

/* ---- events ---- */

static void events(void)
{
  struct ball b = { .restitution = -1, .reach = HUGE_VAL };
  perp_ode_sys sys = ball_sys(&b);
  sys.event = height;
  const double fall = sqrt(2 / g), one = 1, rest = 0;
  double t = 0;
  /* all these are exact on a parabola */
  static const char *const exact[] = { "midpoint", "rk4",       "verlet",    "implicit-midpoint",
                                       "dopri5",   "gsl:rk8pd", "gsl:rk2imp" };
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++) {
    perp_ode *ode = start(exact[i], &sys, 0.1, &one, &rest);
    perp_stats stats;
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
    t = perp_ode_time(ode);
    if (!ok(stop == PERP_ODE_EVENT && stats.reason == PERP_EXACT && fabs(t - fall) <= 2e-13 &&
                perp_ode_q(ode)[0] >= 0 && perp_ode_q(ode)[0] < 1e-12,
            "%s: stops when the ball meets the floor", exact[i]))
      printf("# t off by %.3g, height %.3g\n", t - fall, perp_ode_q(ode)[0]);
    ok(perp_ode_count(ode)->bisections < 20, "%s: in few attempts (%d)", exact[i],
       (int)perp_ode_count(ode)->bisections);
    stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_REACHED && perp_ode_time(ode) == 1, "%s: and goes on below it", exact[i]);
    near(perp_ode_q(ode)[0], 1 - g / 2, 1e-12, 0, "%s: along the same parabola", exact[i]);
    perp_ode_destroy(ode);
  }

  /* the pendulum passes the vertical at a quarter of its period, and a whole period later again */
  ode_problem p = pendulum();
  p.sys.event = height;
  const double quarter = gsl_sf_ellint_Kcomp(sin(p.q0[0] / 2), GSL_PREC_DOUBLE) / sqrt(pendulum_g);
  static const struct {
    const char *method;
    double allowed;
  } any[] = { { "rk4", 1e-7 },
              { "verlet", 2e-3 },
              { "gsl:rk8pd:tol=1e-12", 1e-11 },
              { "gsl:msadams:tol=1e-10", 1e-8 },
              { "gsl:msbdf:tol=1e-9", 1e-6 },
              { "gsl:msadams", 1e-8 },
              { "implicit-midpoint:tol=1e-8", 1e-5 } };
  for (size_t i = 0; i < sizeof any / sizeof *any; i++) {
    perp_ode *ode = start(any[i].method, &p.sys, 0.01, p.q0, p.v0);
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 10, NULL);
    near(perp_ode_time(ode), quarter, any[i].allowed, 0, "%s: a quarter of the period",
         any[i].method);
    ok(stop == PERP_ODE_EVENT && perp_ode_q(ode)[0] >= 0 && perp_ode_q(ode)[0] < 1e-11,
       "%s: just before the event", any[i].method);
    stop = perp_ode_advance(&ctx, ode, 10, NULL);
    near(perp_ode_time(ode), 5 * quarter, 5 * any[i].allowed, 0,
         "%s: the rising passage is no event, the next falling one is", any[i].method);
    ok(stop == PERP_ODE_EVENT, "%s: second event", any[i].method);
    perp_ode_destroy(ode);
  }

  /* a ball thrown up from the floor starts at zero and comes back within one long step */
  double zero = 0, up = 3, down = -1;
  perp_ode *ode = start("rk4", &sys, 1, &zero, &up);
  ok(perp_ode_advance(&ctx, ode, 1, NULL) == PERP_ODE_EVENT, "a ball thrown up from the floor");
  near(perp_ode_time(ode), 2 * up / g, 1e-12, 0, "comes back");
  perp_ode_restart(&ctx, ode, 0, &zero, &down);
  ok(perp_ode_advance(&ctx, ode, 1, NULL) == PERP_ODE_EVENT && perp_ode_time(ode) < 1e-11,
     "a ball thrown down from the floor is an event at once");
  ok(perp_ode_advance(&ctx, ode, 1, NULL) == PERP_ODE_REACHED, "but only once");
  perp_ode_destroy(ode);
}

/* ---- invalid and changed states ---- */

static void invalid(void)
{
  const double fall = sqrt(2 / g), one = 1, rest = 0;
  static const char *const methods[] = { "euler",
                                         "verlet",
                                         "rk4",
                                         "dopri5:tol=1e-8",
                                         "implicit-midpoint",
                                         "gsl:rk4imp:tol=1e-6",
                                         "gsl:msadams:tol=1e-8",
                                         "gsl:msbdf:tol=1e-8" };
  perp_stats stats;
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    struct ball b = { .restitution = -1 };
    perp_ode_sys sys = ball_sys(&b);
    perp_ode *ode = start(methods[i], &sys, 0.1, &one, &rest);
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
    double t = perp_ode_time(ode), q = perp_ode_q(ode)[0];
    ok(stop == PERP_ODE_STOPPED && stats.reason == PERP_INVALID_STATE,
       "%s: a floor that nobody handles stops it", methods[i]);
    ok(q >= 0 && q < 1e-10, "%s: next to the floor (%.1e)", methods[i], q);
    /* euler is off by g h t / 2 = 0.22 in height; the others follow the parabola */
    near(t, fall, i == 0 ? 0.06 : 1e-7, 0, "%s: at the latest valid time", methods[i]);
    ok(b.t_accepted == t, "%s: the state kept is the last one accepted", methods[i]);
    ok(perp_ode_count(ode)->bisections > 0, "%s: by bisection", methods[i]);
    perp_ode_destroy(ode);
  }
  /* the same said by deriv, for methods that look at the end of the step */
  static const char *const look_ahead[] = { "verlet", "rk4", "dopri5:tol=1e-8" };
  for (size_t i = 0; i < sizeof look_ahead / sizeof *look_ahead; i++) {
    struct ball b = { .restitution = -1, .refuse_in_deriv = true };
    perp_ode_sys sys = ball_sys(&b);
    perp_ode *ode = start(look_ahead[i], &sys, 0.1, &one, &rest);
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_STOPPED && stats.reason == PERP_INVALID_STATE && perp_ode_q(ode)[0] >= 0 &&
           perp_ode_q(ode)[0] < 1e-8,
       "%s: a trial state that deriv refuses shortens the step (q = %.1e)", look_ahead[i],
       perp_ode_q(ode)[0]);
    perp_ode_destroy(ode);
  }
  struct ball b = { .restitution = -1 };
  perp_ode_sys sys = ball_sys(&b);
  perp_ode *ode = start("rk4", &sys, 0.1, &one, &rest);
  double below_floor = -1;
  ok(perp_ode_restart(&ctx, ode, 0, &below_floor, &rest) == PERP_ERR_ARG,
     "an invalid state to start from is refused");
  perp_ode_destroy(ode);
}

static void changed(void)
{
  const double fall = sqrt(2 / g), one = 1, rest = 0;
  static const char *const methods[] = { "verlet",
                                         "rk4",
                                         "dopri5:tol=1e-8",
                                         "implicit-midpoint",
                                         "midpoint:tol=1e-6",
                                         "gsl:msadams:tol=1e-9" };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    struct ball b = { .restitution = 1, .reach = 1e-10 };
    perp_ode_sys sys = ball_sys(&b);
    perp_ode *ode = start(methods[i], &sys, 0.01, &one, &rest);
    b.ode = ode;
    /* three bounces, then half-way up */
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 5 * fall + 0.5 * fall, NULL);
    ok(stop == PERP_ODE_REACHED && perp_ode_count(ode)->changed == 3, "%s: three bounces",
       methods[i]);
    /* 1e-6: impacts are found to 1e-10 m, the rest is the tolerance */
    near(perp_ode_q(ode)[0], 0.75, 1e-6, 0, "%s: height after them", methods[i]);
    if (!ok(b.wrong == 0 && b.regular > 0, "%s: deriv is asked as regular at regular states only",
            methods[i]))
      printf("# %ld of %ld wrong\n", b.wrong, b.regular);
    perp_ode_destroy(ode);
  }

  /* bounces that pile up: 0.5^n, all before 3 fall */
  struct ball b = { .restitution = 0.5, .reach = 1e-13 };
  perp_ode_sys sys = ball_sys(&b);
  perp_ode *ode = start("rk4", &sys, 0.01, &one, &rest);
  perp_stats stats;
  perp_ode_stop stop = perp_ode_advance(&ctx, ode, 10, &stats);
  ok(stop == PERP_ODE_STOPPED &&
         (stats.reason == PERP_STALLED || stats.reason == PERP_INVALID_STATE) &&
         perp_ode_count(ode)->steps < 100000,
     "infinitely many bounces end with %s", perp_reason_name(stats.reason));
  near(perp_ode_time(ode), 3 * fall, 1e-3, 0, "before the time at which they pile up");
  perp_ode_destroy(ode);

  /* a state that is changed at every step leaves the time grid alone */
  struct ball c = { .restitution = -1, .reach = HUGE_VAL, .always_changed = true };
  sys = ball_sys(&c);
  ode = start("verlet", &sys, 0.1, &one, &rest);
  long wrong = 0;
  for (int k = 1; k <= 1000; k++) {
    perp_ode_step(&ctx, ode, HUGE_VAL, NULL);
    if (perp_ode_time(ode) != k * 0.1) wrong++;
  }
  ok(wrong == 0 && perp_ode_count(ode)->changed == 1001, "changed states stay on the grid");
  ok(c.accepted == 1001, "accept is called once at each state");
  perp_ode_destroy(ode);
}

/* ---- error control ---- */

static void control(void)
{
  near(perp_ode_step_factor(1.0 / 32, 0, 4, false), 1.8, 1e-15, 0, "0.9 32^(1/5)");
  near(perp_ode_step_factor(1.0 / 32, 1.0 / 32, 4, false), 0.95 * pow(2, 0.3), 1e-14, 0,
       "0.95 32^(0.7/5) 32^(-0.4/5)");
  near(perp_ode_step_factor(32, 0, 4, false), 0.45, 1e-15, 0, "0.9 32^(-1/5)");
  near(perp_ode_step_factor(0, 0, 4, false), 5, 0, 0, "growth is limited");
  near(perp_ode_step_factor(1e30, 0, 4, false), 0.2, 0, 0, "and shrinking");
  near(perp_ode_step_factor(0, 0, 4, true), 1, 0, 0, "no growth after a refusal");
  near(perp_ode_step_factor((double)NAN, 0, 4, false), 0.2, 0, 0, "NaN shrinks");
  near(perp_ode_step_factor(HUGE_VAL, 0, 4, false), 0.2, 0, 0, "infinity shrinks");
  near(perp_ode_keep_factor(0.05, 4, false), 1, 0, 0, "a multistep method keeps its step");
  ok(perp_ode_keep_factor(1.0001, 4, false) < 0.9 && perp_ode_step_factor(1.0001, 0, 0, false) < 1,
     "a refused step always shrinks");

  const perp_ode_control relative = { .tol = 1e-3 }, absolute = { .tol = 1e-3, .atol = 1e-2 };
  const struct perp_ode_scale scale = { 10, 1 };
  const double y0[] = { 1, 0, -2 }, y1[] = { 2, 0, 1 }, err[] = { 0.003, 0, 0.002 };
  /* E = 1e-3 * 2 + 1e-3 * 10, and for the velocity 1e-3 * 2 + 1e-3 * 2 (y0 is in the scale already)
   */
  near(perp_ode_error_ratio(&relative, scale, 1e-3, 2, 1, y0, y1, err), 0.002 / 0.003, 0, 1e-15,
       "error relative to the scales of q and v");
  near(perp_ode_error_ratio(&absolute, scale, 1e-3, 2, 1, y0, y1, err), 0.003 / 0.012, 0, 1e-15,
       "with an absolute tolerance");
  const double bad[] = { 0, (double)NAN, 1 }, inf[] = { 0, HUGE_VAL, 1 };
  ok(isnan(perp_ode_error_ratio(&relative, scale, 1e-3, 2, 1, y0, y1, bad)),
     "NaN is no small error");
  ok(perp_ode_error_ratio(&relative, scale, 1e-3, 2, 1, y0, y1, inf) == HUGE_VAL,
     "nor is infinity");
  for (int n = 1; n < 10; n++) {
    double x[10] = { 0 };
    ok(perp_finite(n, x), "%d zeros are finite", n);
    for (int i = 0; i < n; i++) {
      x[i] = i % 3 == 0 ? (double)NAN : i % 3 == 1 ? HUGE_VAL : -HUGE_VAL;
      if (perp_finite(n, x)) ok(0, "x[%d] of %d is not finite", i, n);
      x[i] = -DBL_MAX;
    }
    ok(perp_finite(n, x), "%d large numbers are finite", n);
  }
}

/* What contacts at rest give: accelerations that are the rounding of forces in balance, another one
 * wherever t or q differ in a digit. */
static perp_ode_answer rest_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)intermediate;
  uint64_t bits[2];
  memcpy(bits, &t, sizeof t);
  memcpy(bits + 1, q, sizeof *q);
  uint64_t digits = (bits[0] ^ (bits[1] << 7)) * 6364136223846793005u;
  for (int i = 0; i < 2; i++) qdot[i] = v[i];
  a[0] = 1e-14 * (ldexp((double)(digits >> 11), -53) - 0.5);
  a[1] = 0;
  return PERP_ODE_OK;
}

/* A small swing far from the origin: q = 1 + 1e-9 cos t. */
static perp_ode_answer swing_deriv(void *user, double t, double h, const double *q, const double *v,
                                   bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)intermediate;
  qdot[0] = v[0];
  a[0] = 1 - q[0];
  return PERP_ODE_OK;
}

static void rest(void)
{
  static const char *const methods[] = { "dopri5:tol=1e-6",     "rk4:tol=1e-6",
                                         "verlet:tol=1e-6",     "gsl:msadams:tol=1e-6",
                                         "gsl:rk2imp:tol=1e-6", "gsl:msbdf:tol=1e-6",
                                         "gsl:rk8pd:tol=1e-12", "dopri5:tol=1e-13" };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    const double q0[2] = { 1, 0.5 }, v0[2] = { 0 };
    perp_ode_sys sys = { .nq = 2, .nv = 2, .deriv = rest_deriv };
    perp_ode *ode = start(methods[i], &sys, 1e-3, q0, v0);
    perp_stats stats;
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_REACHED && fabs(perp_ode_q(ode)[0] - 1) < 1e-13 &&
           perp_ode_q(ode)[1] == 0.5 && perp_ode_count(ode)->steps < 1000,
       "%s: what is at rest stays there: %s at t = %g s, %ld steps", methods[i],
       perp_reason_name(stats.reason), perp_ode_time(ode), (long)perp_ode_count(ode)->steps);
    perp_ode_destroy(ode);

    if (strstr(methods[i], "1e-6") == NULL) continue; /* below the rounding of q beside its swing */
    const double q1 = 1 + 1e-9, v1 = 0;
    perp_ode_sys swing = { .nq = 1, .nv = 1, .deriv = swing_deriv };
    ode = start(methods[i], &swing, 1e-3, &q1, &v1);
    stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_REACHED, "%s: a small motion: to the end", methods[i]);
    near(perp_ode_v(ode)[0], -(q1 - 1) * sin(1), 1e-13, 0, "a small velocity is not rest");
    perp_ode_destroy(ode);
  }
}

/* q' = q^2 from 1 has its pole at t = 1 */
static perp_ode_answer pole_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)v, (void)intermediate, (void)a;
  qdot[0] = q[0] * q[0];
  return PERP_ODE_OK;
}

/* v' = -1e4 sign(v): the implicit equation has no solution once v is small */
static perp_ode_answer dry_deriv(void *user, double t, double h, const double *q, const double *v,
                                 bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)q, (void)intermediate;
  qdot[0] = v[0];
  a[0] = v[0] > 0 ? -1e4 : 1e4;
  return PERP_ODE_OK;
}

static void honest_failures(void)
{
  const perp_ode_sys pole = { .nq = 1, .deriv = pole_deriv };
  const double one = 1, zero = 0;
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    if ((d->caps & PERP_ODE_SECOND_ORDER) != 0) continue;
    char text[64];
    snprintf(text, sizeof text, "%s:tol=1e-5", d->name);
    perp_ode *ode = start(text, &pole, 1e-3, &one, NULL);
    perp_stats stats;
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 2, &stats);
    /* first order, relative tolerance 1e-5: the pole moves by as much as sqrt(1e-5) times a few */
    if (!ok(stop == PERP_ODE_STOPPED && stats.reason < 0 && fabs(perp_ode_time(ode) - 1) < 0.1 &&
                perp_ode_q(ode)[0] > 100 && isfinite(perp_ode_q(ode)[0]),
            "%s: stops before a pole (%s)", text, perp_reason_name(stats.reason)))
      printf("# stop %d t %.17g q %.3g\n", stop, perp_ode_time(ode), perp_ode_q(ode)[0]);
    perp_ode_destroy(ode);
  }
  const perp_ode_sys dry = { .nq = 1, .nv = 1, .deriv = dry_deriv };
  perp_stats stats;
  for (int tol = 0; tol < 2; tol++) {
    perp_ode *ode = start(tol ? "implicit-midpoint:tol=1e-6,h_min=1e-8" : "implicit-midpoint", &dry,
                          0.01, &zero, &one);
    perp_ode_stop stop = perp_ode_advance(&ctx, ode, 1, &stats);
    ok(stop == PERP_ODE_STOPPED && stats.reason == PERP_MAX_ITER && isfinite(perp_ode_v(ode)[0]),
       "implicit-midpoint%s: no solution is reported as such", tol ? " with error control" : "");
    perp_ode_destroy(ode);
  }
  /* a limit on the step that the tolerance cannot live with */
  ode_problem p = pendulum();
  perp_ode *ode = start("rk4:tol=1e-12,h_min=0.05", &p.sys, 0.1, p.q0, p.v0);
  ok(perp_ode_advance(&ctx, ode, 1, &stats) == PERP_ODE_STOPPED &&
         stats.reason == PERP_STEP_TOO_SMALL && perp_ode_time(ode) == 0,
     "h_min is respected");
  perp_ode_destroy(ode);
  ode = start("rk4:tol=1e-3,h_max=0.02", &p.sys, 0.01, p.q0, p.v0);
  ok(perp_ode_advance(&ctx, ode, 1, &stats) == PERP_ODE_REACHED &&
         perp_ode_count(ode)->h_most <= 0.02 && perp_ode_h(ode) <= 0.02,
     "h_max is respected");
  perp_ode_destroy(ode);
}

/* Steps grow and shrink with the solution, and the first one is found however wrong it is. */
static void adapts(void)
{
  ode_problem p = pendulum();
  static const double first[] = { 1e-9, 1e-3, 10 };
  for (int i = 0; i < 3; i++) {
    perp_ode *ode = start("dopri5:tol=1e-8", &p.sys, first[i], p.q0, p.v0);
    ok(perp_ode_advance(&ctx, ode, p.t_end, NULL) == PERP_ODE_REACHED, "first step %g s", first[i]);
    below(ode_error(&p, ode), 1e-6, "first step %g s: error", first[i]);
    below((double)perp_ode_count(ode)->steps, 100, "first step %g s: steps", first[i]);
    perp_ode_destroy(ode);
  }
  /* sampled often, cut steps must not spoil the proposal */
  perp_ode *ode = start("dopri5:tol=1e-5", &p.sys, 0.01, p.q0, p.v0);
  perp_ode_advance(&ctx, ode, 1, NULL);
  double h = perp_ode_h(ode);
  perp_ode_advance(&ctx, ode, 1 + 1e-9, NULL);
  ok(perp_ode_h(ode) >= h && h > 0.05, "a step that was cut leaves the proposal of %.2g s", h);
  perp_ode_destroy(ode);
}

/* q'' = force - q - q'/2 */
struct pushed {
  double force;
};

static perp_ode_answer pushed_deriv(void *user, double t, double h, const double *q,
                                    const double *v, bool intermediate, double *qdot, double *a)
{
  const struct pushed *p = user;
  (void)t, (void)h, (void)intermediate;
  if (qdot != NULL) qdot[0] = v[0];
  a[0] = p->force - q[0] - 0.5 * v[0];
  return PERP_ODE_OK;
}

/* A group of unknowns at rest has the scale of its first motion: the same linear problem in units a
 * million times smaller or larger takes the same steps to the same numbers, from rest, from q = 0
 * and from nothing but a force. */
static void units(void)
{
  /* A first order step from rest at q = 0 is wrong by all of its q, however short: there a
   * tolerance of its own is needed, atol.  Implicit methods take differences of a size of their own
   * where v is at rest: they agree to rounding only. */
  static const struct {
    const char *name;
    bool starts, counts;
  } m[] = { { "gsl:msadams", false, true },          { "gsl:msbdf", false, false },
            { "gsl:msadams:tol=1e-6", false, true }, { "gsl:msbdf:tol=1e-6", false, false },
            { "gsl:rk1imp:tol=1e-4", false, false }, { "gsl:rk2imp:tol=1e-6", true, false },
            { "gsl:rk4imp:tol=1e-6", true, false },  { "gsl:bsimp:tol=1e-6", true, false },
            { "dopri5:tol=1e-6", true, true },       { "gsl:rk8pd:tol=1e-6", true, true } };
  static const struct {
    double q, v, force;
    const char *what;
  } from[] = { { 1, 0, 0, "rest" }, { 0, 1, 0, "q = 0" }, { 0, 0, 1, "a force only" } };
  for (size_t i = 0; i < sizeof m / sizeof *m; i++)
    for (int k = 0; k < (m[i].starts ? 3 : 2); k++) {
      double q[3], v[3];
      long steps[3], rhs[3];
      for (int r = 0; r < 3; r++) {
        const double unit = r == 0 ? 1 : ldexp(1, r == 1 ? -20 : 20);
        struct pushed p = { .force = unit * from[k].force };
        const perp_ode_sys sys = { .nq = 1, .nv = 1, .deriv = pushed_deriv, .user = &p };
        const double q0 = unit * from[k].q, v0 = unit * from[k].v;
        perp_ode *ode = start(m[i].name, &sys, 0.01, &q0, &v0);
        ok(perp_ode_advance(&ctx, ode, 2, NULL) == PERP_ODE_REACHED, "%s from %s: unit %g",
           m[i].name, from[k].what, unit);
        q[r] = perp_ode_q(ode)[0] / unit;
        v[r] = perp_ode_v(ode)[0] / unit;
        steps[r] = (long)perp_ode_count(ode)->steps;
        rhs[r] = (long)perp_ode_count(ode)->rhs;
        perp_ode_destroy(ode);
      }
      const double off = fmax(fmax(fabs(q[1] - q[0]), fabs(q[2] - q[0])),
                              fmax(fabs(v[1] - v[0]), fabs(v[2] - v[0])));
      const bool same = steps[1] == steps[0] && steps[2] == steps[0] && rhs[1] == rhs[0] &&
                        rhs[2] == rhs[0];
      ok(m[i].counts ? same && off <= 1e-12 : off <= 1e-7,
         "%s from %s: %ld, %ld, %ld steps, %ld, %ld, %ld evaluations, off by %.2g", m[i].name,
         from[k].what, steps[0], steps[1], steps[2], rhs[0], rhs[1], rhs[2], off);
    }
  for (size_t i = 0; i < sizeof m / sizeof *m; i++) {
    if (m[i].starts) continue;
    char text[64];
    snprintf(text, sizeof text, "%s%satol=1e-9", m[i].name,
             strchr(m[i].name, '=') != NULL ? "," : ":tol=1e-6,");
    struct pushed p = { .force = 1 };
    const perp_ode_sys sys = { .nq = 1, .nv = 1, .deriv = pushed_deriv, .user = &p };
    const double zero = 0, w = sqrt(1 - 0.0625);
    perp_ode *ode = start(text, &sys, 0.01, &zero, &zero);
    ok(perp_ode_advance(&ctx, ode, 2, NULL) == PERP_ODE_REACHED, "%s from a force only", text);
    near(perp_ode_q(ode)[0], 1 - exp(-0.5) * (cos(2 * w) + 0.25 / w * sin(2 * w)), 1e-2, 0,
         "%s: q = 1 - exp(-t/4) (cos w t + sin w t / 4 w)", text);
    perp_ode_destroy(ode);
  }
}

/* v' = 6 t: a step of Newmark's method from rest has the positions 6 beta h^3, of which h^3 is
 * right (beta = 1/6, linear acceleration). */
static perp_ode_answer ramp(void *user, double t, double h, const double *q, const double *v,
                            bool intermediate, double *qdot, double *a)
{
  (void)user, (void)h, (void)q, (void)intermediate;
  qdot[0] = v[0];
  a[0] = 6 * t;
  return PERP_ODE_OK;
}

static void newmark(void)
{
  static const char *const methods[] = { "lie-newmark", "lie-newmark:beta=0",
                                         "lie-newmark:beta=0.16666666666666666" };
  static const double beta[] = { 0.25, 0, 1.0 / 6 }, zero = 0;
  const perp_ode_sys sys = { .nq = 1, .nv = 1, .deriv = ramp };
  for (int i = 0; i < 3; i++) {
    perp_ode *ode = start(methods[i], &sys, 0.5, &zero, &zero);
    perp_ode_step(&ctx, ode, HUGE_VAL, NULL);
    const double *q = perp_ode_q(ode), *v = perp_ode_v(ode);
    near(q[0], 6 * beta[i] * 0.125, 0, 1e-14, "%s: position after a step", methods[i]);
    near(v[0], 0.75, 0, 1e-14, "%s: velocity", methods[i]);
    perp_ode_destroy(ode);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  time_grid();
  events();
  invalid();
  changed();
  control();
  rest();
  honest_failures();
  adapts();
  units();
  newmark();
  return tap_done();
}
