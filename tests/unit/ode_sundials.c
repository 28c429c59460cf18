/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The driver around methods that make their own steps (CVODE, ARKStep): events, roll-back, dense
 * output, projections inside of a step, limits.  Where SUNDIALS is installed. */
#include "tests/ode_problems.h"
#include "tests/tap.h"

static perp_ctx ctx;
static const char *const methods[] = { "sundials:cvode-adams", "sundials:cvode-bdf",
                                       "sundials:arkode", "sundials:arkode:order=3" };
enum { METHODS = 4, CIRCLE = 2 };

static perp_ode *begin(const char *method, const char *options, const perp_ode_sys *sys,
                       const double *q, const double *v)
{
  char text[128];
  perp_spec spec;
  perp_ode *ode = NULL;
  const bool more = strncmp(method, "sundials:arkode:", 16) == 0;
  snprintf(text, sizeof text, "%s%c%s", method, more ? ',' : ':', options);
  if (perp_spec_parse(&ctx, PERP_KIND_ode, text, &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, sys, 1e-3, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 0, q, v) != PERP_OK)
    bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
  return ode;
}

/* ---- a ball above a floor, g = 10 from 5 m: on the floor at 1, 3, 5 s ---- */

struct ball {
  double t_wall; /* no state after it is valid */
  long accepted;
};

static perp_ode_answer ball_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)q, (void)intermediate;
  qdot[0] = v[0];
  a[0] = -10;
  return PERP_ODE_OK;
}

static perp_ode_answer ball_accept(void *user, double t, double *q, double *v)
{
  struct ball *b = user;
  b->accepted++;
  if (t > b->t_wall) return PERP_ODE_INVALID;
  if (q[0] > 1e-9 || v[0] >= 0) return PERP_ODE_OK;
  v[0] = -v[0];
  return PERP_ODE_CHANGED;
}

static double ball_height(void *user, double t, const double *q, const double *v)
{
  (void)user, (void)t, (void)v;
  return q[0];
}

static void bounces(const char *method)
{
  struct ball b = { .t_wall = HUGE_VAL };
  const perp_ode_sys sys = {
    .nq = 1, .nv = 1, .user = &b, .deriv = ball_deriv, .accept = ball_accept, .event = ball_height
  };
  const double five = 5, zero = 0;
  perp_ode *ode = begin(method, "tol=1e-9", &sys, &five, &zero);
  double worst = 0, q = 0, v = 0;
  for (int k = 0; k < 3; k++) {
    if (perp_ode_advance(&ctx, ode, 10, NULL) != PERP_ODE_EVENT) worst = HUGE_VAL;
    worst = fmax(worst, fabs(perp_ode_time(ode) - (2 * k + 1)));
    worst = fmax(worst, fabs(perp_ode_v(ode)[0] - 10) / 10);
    if (perp_ode_dense_at(&ctx, ode, perp_ode_time(ode), &q, &v) != PERP_OK || !(v < 0))
      worst = HUGE_VAL; /* the state before the impact */
  }
  below(worst, 1e-6, "%s: bounces at 1, 3 and 5 s", method);
  ok(perp_ode_count(ode)->changed == 3, "... which are three changes of the state");
  perp_ode_destroy(ode);
}

static void wall(const char *method)
{
  struct ball b = { .t_wall = 0.6180339 };
  const perp_ode_sys sys = {
    .nq = 1, .nv = 1, .user = &b, .deriv = ball_deriv, .accept = ball_accept
  };
  const double five = 5, zero = 0;
  perp_stats stats;
  perp_ode *ode = begin(method, "tol=1e-9", &sys, &five, &zero);
  const perp_ode_stop stop = perp_ode_advance(&ctx, ode, 10, &stats);
  const double t = perp_ode_time(ode);
  ok(stop == PERP_ODE_STOPPED && stats.reason == PERP_INVALID_STATE, "%s: stops at a wall", method);
  near(t, b.t_wall, 1e-9, 0, "... at the last valid state");
  near(perp_ode_q(ode)[0], 5 - 5 * t * t, 1e-6, 0, "... which is where it was there");
  perp_ode_destroy(ode);
}

/* ---- dense output ---- */

static double error_at(const ode_problem *p, double t, const double *q, const double *v)
{
  double qe[4], ve[3], worst = 0;
  p->exact(p, t, qe, ve);
  for (int i = 0; i < p->sys.nq; i++) worst = fmax(worst, fabs(q[i] - qe[i]));
  for (int i = 0; i < p->sys.nv; i++) worst = fmax(worst, fabs(v[i] - ve[i]));
  return worst;
}

/* The interpolant is that of the method: a few times its error, and the march does not notice. */
static void dense(const char *method, const ode_problem *p)
{
  perp_ode *asked = begin(method, "tol=1e-8", &p->sys, p->q0, p->v0),
           *alone = begin(method, "tol=1e-8", &p->sys, p->q0, p->v0);
  double ends = 0, between = 0, q[4], v[3];
  while (perp_ode_time(asked) < p->t_end) {
    const double t0 = perp_ode_time(asked);
    perp_ode_step(&ctx, asked, p->t_end, NULL);
    perp_ode_step(&ctx, alone, p->t_end, NULL);
    const double t = perp_ode_time(asked);
    ends = fmax(ends, error_at(p, t, perp_ode_q(asked), perp_ode_v(asked)));
    for (int i = 0; i < 8; i++) {
      const double at = t0 + i * (t - t0) / 8;
      if (perp_ode_dense_at(&ctx, asked, at, q, v) != PERP_OK) bail("%s: %s", method, ctx.msg);
      between = fmax(between, error_at(p, at, q, v));
    }
  }
  const perp_ode_counters *a = perp_ode_count(asked), *b = perp_ode_count(alone);
  ok(a->steps == b->steps && a->rhs == b->rhs && a->rejected == b->rejected &&
         perp_ode_time(alone) == p->t_end &&
         memcmp(perp_ode_q(asked), perp_ode_q(alone), (size_t)p->sys.nq * sizeof *q) == 0,
     "%s, %s: the same march to the last bit, asked or not (%d steps)", method, p->name,
     (int)a->steps);
  below(between, 3 * ends + 1e-8, "... %.2g between the steps, %.2g at them", between, ends);
  perp_ode_destroy(asked);
  perp_ode_destroy(alone);
}

/* ---- a circle as a constraint ---- */

struct circle {
  long projected;
};

static perp_ode_answer circle_onto(void *user, double t, double *q, double *v)
{
  const double r = hypot(q[0], q[1]);
  (void)t, (void)v;
  ((struct circle *)user)->projected++;
  for (int i = 0; i < CIRCLE; i++) q[i] /= r;
  return PERP_ODE_OK;
}

static perp_ode_answer circle_accept(void *user, double t, double *q, double *v)
{
  if (fabs(hypot(q[0], q[1]) - 1) < 1e-12) return PERP_ODE_OK;
  circle_onto(user, t, q, v);
  return PERP_ODE_CHANGED;
}

/* Who projects in the step keeps the history: no state is changed, and steps are as many as
 * without. */
static void projections(const char *method)
{
  ode_problem p = circle();
  struct circle c = { 0 };
  perp_ode *ode = begin(method, "tol=1e-8", &p.sys, p.q0, NULL);
  perp_ode_advance(&ctx, ode, p.t_end, NULL);
  const int64_t free_steps = perp_ode_count(ode)->steps;
  perp_ode_destroy(ode);
  p.sys.user = &c;
  p.sys.onto = circle_onto;
  p.sys.accept = circle_accept;
  ode = begin(method, "tol=1e-8", &p.sys, p.q0, NULL);
  perp_ode_advance(&ctx, ode, p.t_end, NULL);
  const perp_ode_counters *n = perp_ode_count(ode);
  const bool inside = strcmp(method, "sundials:cvode-adams") != 0;
  near(hypot(perp_ode_q(ode)[0], perp_ode_q(ode)[1]), 1, 2e-12, 0, "%s: ends on the circle",
       method);
  if (inside)
    ok(n->changed == 0 && c.projected >= n->steps && 2 * n->steps < 3 * free_steps,
       "... %d projections in %d steps (%d without)", (int)c.projected, (int)n->steps,
       (int)free_steps);
  else
    ok(n->changed > 0 && n->steps > free_steps, "... started again %d times in %d steps",
       (int)n->changed, (int)n->steps);
  below(error_at(&p, p.t_end, perp_ode_q(ode), NULL), 1e-4, "... where it should be");
  perp_ode_destroy(ode);
}

/* ---- limits ---- */

static void limits(const char *method)
{
  const ode_problem p = pendulum();
  perp_stats stats;
  perp_ode *ode = begin(method, "tol=1e-5,h_max=0.01", &p.sys, p.q0, p.v0);
  perp_ode_advance(&ctx, ode, 1, NULL);
  const perp_ode_counters *n = perp_ode_count(ode);
  ok(n->steps >= 100 && n->h_most <= 0.01 * (1 + 1e-12), "%s: longest step %.3g", method,
     n->h_most);
  perp_ode_destroy(ode);
  ode = begin(method, "tol=1e-10,h_min=0.2", &p.sys, p.q0, p.v0);
  const perp_ode_stop stop = perp_ode_advance(&ctx, ode, 4, &stats);
  ok(stop == PERP_ODE_STOPPED &&
         (stats.reason == PERP_STEP_TOO_SMALL || stats.reason == PERP_MAX_ITER),
     "... a shortest step that is too long: %s", perp_reason_name(stats.reason));
  perp_ode_destroy(ode);
  ode = begin(method, "h_min=1e-9", &p.sys, p.q0, p.v0); /* tol = 0: 1e-8, steps up to h */
  perp_ode_advance(&ctx, ode, 0.1, &stats);
  n = perp_ode_count(ode);
  ok(n->h_most <= 1e-3 * (1 + 1e-12) && n->steps >= 100, "... tol = 0: steps up to h");
  perp_ode_destroy(ode);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  if (perp_find(&ctx, PERP_KIND_ode, methods[0]) == NULL) {
    skip("built without SUNDIALS", "methods with steps of their own");
    return tap_done();
  }
  const ode_problem problems[] = { oscillator(), circle() };
  for (int i = 0; i < METHODS; i++) {
    bounces(methods[i]);
    wall(methods[i]);
    for (int k = 0; k < 2; k++) dense(methods[i], &problems[k]);
    projections(methods[i]);
    limits(methods[i]);
  }
  return tap_done();
}
