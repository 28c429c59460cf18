/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dense output of the ODE driver: as accurate between the steps as the march, which does not
 * notice. */
#include "tests/ode_problems.h"
#include "tests/tap.h"

static perp_ctx ctx;

static perp_ode *begin(const char *method, const ode_problem *p, double h)
{
  perp_spec spec;
  perp_ode *ode = NULL;
  if (perp_spec_parse(&ctx, PERP_KIND_ode, method, &spec) != PERP_OK ||
      perp_ode_create(&ctx, &spec, &p->sys, h, &ode) != PERP_OK ||
      perp_ode_restart(&ctx, ode, 0, p->q0, p->v0) != PERP_OK)
    bail("%s: %s", method, ctx.msg);
  perp_spec_free(&spec);
  return ode;
}

static double error_at(const ode_problem *p, double t, const double *q, const double *v)
{
  double qe[4], ve[3], worst = 0;
  p->exact(p, t, qe, ve);
  for (int i = 0; i < p->sys.nq; i++) worst = fmax(worst, fabs(q[i] - qe[i]));
  for (int i = 0; i < p->sys.nv; i++) worst = fmax(worst, fabs(v[i] - ve[i]));
  return worst;
}

static const struct {
  const char *method;
  double h;
  int order; /* of a fixed step; 0: adaptive */
} cases[] = {
  { "euler", 0.05, 1 },
  { "rk4", 0.1, 4 },
  { "dopri5", 0.1, 5 },
  { "gsl:rk8pd", 0.24, 8 },
  { "rk4:tol=1e-8", 0.1, 0 },
  { "dopri5:tol=1e-9", 0.1, 0 },
  { "gsl:rk8pd:tol=1e-12", 0.1, 0 },
  { "gsl:bsimp:tol=1e-8", 0.1, 0 },
  { "gsl:msadams:tol=1e-8", 0.01, 0 },
  { "gsl:msbdf:tol=1e-6", 0.01, 0 },
  { "implicit-midpoint", 0.05, 2 },
  { "verlet", 0.05, 2 },
  { "verlet:tol=1e-6", 0.05, 0 },
};
enum { CASES = sizeof cases / sizeof *cases };

/* largest errors at the ends of the steps and between them */
static void errors(const ode_problem *p, const char *method, double h, double *ends,
                   double *between)
{
  double q[4], v[3];
  perp_ode *asked = begin(method, p, h), *alone = begin(method, p, h);
  const size_t bytes_q = (size_t)p->sys.nq * sizeof *q, bytes_v = (size_t)p->sys.nv * sizeof *v;
  int apart = 0, wrong_ends = 0;
  double before[7];
  *ends = *between = 0;
  while (perp_ode_time(asked) < p->t_end) {
    const double t0 = perp_ode_time(asked);
    memcpy(before, perp_ode_q(asked), bytes_q);
    memcpy(before + 4, perp_ode_v(asked), bytes_v);
    perp_ode_step(&ctx, asked, p->t_end, NULL);
    perp_ode_step(&ctx, alone, p->t_end, NULL);
    const double t = perp_ode_time(asked);
    *ends = fmax(*ends, error_at(p, t, perp_ode_q(asked), perp_ode_v(asked)));
    for (int i = 1; i < 8; i++) {
      const double at = t0 + i * (t - t0) / 8;
      if (perp_ode_dense_at(&ctx, asked, at, q, v) != PERP_OK) bail("%s: %s", method, ctx.msg);
      *between = fmax(*between, error_at(p, at, q, v));
    }
    perp_ode_dense_at(&ctx, asked, t0, q, v);
    wrong_ends += memcmp(q, before, bytes_q) != 0 || memcmp(v, before + 4, bytes_v) != 0;
    perp_ode_dense_at(&ctx, asked, t, q, v);
    wrong_ends += memcmp(q, perp_ode_q(asked), bytes_q) != 0 ||
                  memcmp(v, perp_ode_v(asked), bytes_v) != 0;
    apart += t != perp_ode_time(alone) ||
             memcmp(perp_ode_q(asked), perp_ode_q(alone), bytes_q) != 0 ||
             memcmp(perp_ode_v(asked), perp_ode_v(alone), bytes_v) != 0;
  }
  const perp_ode_counters *a = perp_ode_count(asked), *b = perp_ode_count(alone);
  ok(apart == 0 && a->steps == b->steps && a->rhs == b->rhs && a->rejected == b->rejected,
     "%s, %s: the same march to the last bit, asked or not", p->name, method);
  ok(a->dense > 0 && b->dense == 0, "... its own derivatives are counted apart: %d", (int)a->dense);
  ok(wrong_ends == 0, "... at both ends it is the state itself");
  perp_ode_destroy(asked);
  perp_ode_destroy(alone);
}

static void accuracy(void)
{
  const ode_problem problems[] = { oscillator(), circle() };
  for (int i = 0; i < CASES; i++)
    for (int k = 0; k < 2; k++) {
      const ode_problem *p = &problems[k];
      if (p->sys.nv == 0 && strncmp(cases[i].method, "verlet", 6) == 0) continue;
      double ends, between, ends_2, between_2;
      errors(p, cases[i].method, cases[i].h, &ends, &between);
      /* a start of their own costs multistep methods another error of the size of the tolerance */
      const bool history = strncmp(cases[i].method, "gsl:ms", 6) == 0;
      below(between, (history ? 2.5 : 1.5) * ends + 1e-14,
            "%s, %s: %.2g between the steps, %.2g at them", p->name, cases[i].method, between,
            ends);
      if (cases[i].order == 0) continue;
      errors(p, cases[i].method, cases[i].h / 2, &ends_2, &between_2);
      ok(log2(between / between_2) > cases[i].order - 0.3, "%s, %s: order %.2f between the steps",
         p->name, cases[i].method, log2(between / between_2));
    }
}

/* ---- projection and jumps ---- */

/* the circle field, moved back to the circle after each step */
static perp_ode_answer to_circle(void *user, double t, double *q, double *v)
{
  (void)user, (void)t, (void)v;
  const double r = hypot(q[0], q[1]);
  q[0] /= r;
  q[1] /= r;
  return PERP_ODE_CHANGED;
}

static void projection(void)
{
  ode_problem p = circle();
  p.sys.accept = to_circle;
  perp_ode *ode = begin("heun", &p, 0.2);
  double q[2], gap = 0, kink = 0, radius = 0;
  while (perp_ode_time(ode) < p.t_end) {
    const double t0 = perp_ode_time(ode);
    perp_ode_step(&ctx, ode, p.t_end, NULL);
    const double t = perp_ode_time(ode), near_end = t - 1e-9 * (t - t0);
    perp_ode_dense_at(&ctx, ode, near_end, q, NULL);
    gap = fmax(gap, hypot(q[0] - perp_ode_q(ode)[0], q[1] - perp_ode_q(ode)[1]));
    radius = fmax(radius, fabs(hypot(q[0], q[1]) - 1));
    perp_ode_dense_at(&ctx, ode, t0 + 0.5 * (t - t0), q, NULL);
    kink = fmax(kink, fabs(hypot(q[0], q[1]) - 1));
  }
  below(gap, 1e-8, "projection: dense output joins the state behind it");
  below(radius, 1e-8, "... which is on the circle");
  below(kink, 0.02, "... and nowhere far from it");
  perp_ode_destroy(ode);
}

static perp_ode_answer ball_deriv(void *user, double t, double h, const double *q, const double *v,
                                  bool intermediate, double *qdot, double *a)
{
  (void)user, (void)t, (void)h, (void)q, (void)intermediate;
  if (qdot != NULL) qdot[0] = v[0];
  a[0] = -10;
  return PERP_ODE_OK;
}

static perp_ode_answer ball_accept(void *user, double t, double *q, double *v)
{
  (void)user, (void)t;
  if (q[0] > 1e-9 || v[0] >= 0) return PERP_ODE_OK;
  v[0] = -v[0];
  return PERP_ODE_CHANGED;
}

static double ball_height(void *user, double t, const double *q, const double *v)
{
  (void)user, (void)t, (void)v;
  return q[0];
}

static void jumps(void)
{
  const ode_problem p = {
    .name = "ball",
    .sys = { .nq = 1, .nv = 1, .deriv = ball_deriv, .accept = ball_accept, .event = ball_height },
    .q0 = { 5 }
  };
  perp_ode *ode = begin("rk4", &p, 10);
  double q, v;
  ok(perp_ode_step(&ctx, ode, 10, NULL) == PERP_ODE_EVENT, "a ball falls for 1 s");
  perp_ode_dense_at(&ctx, ode, 0.5, &q, &v);
  near(q, 5 - 1.25, 1e-14, 0, "... and is where it was half-way");
  near(v, -5, 1e-14, 0, "... as fast as it was");
  perp_ode_dense_at(&ctx, ode, perp_ode_time(ode), &q, &v);
  near(v, -10, 1e-8, 0, "the end of the step is the state before the impact");
  near(perp_ode_v(ode)[0], 10, 1e-8, 0, "... the state of the driver the one after it");
  perp_ode_destroy(ode);
}

static void refusals(void)
{
  const ode_problem p = oscillator();
  perp_ode *ode = begin("rk4", &p, 0.1);
  double q, v;
  ok(perp_ode_dense_at(&ctx, ode, 0, &q, &v) == PERP_ERR_ARG, "refused: no step yet");
  perp_ode_step(&ctx, ode, 1, NULL);
  perp_ode_step(&ctx, ode, 1, NULL);
  ok(perp_ode_dense_at(&ctx, ode, 0.05, &q, &v) == PERP_ERR_ARG, "refused: an earlier step");
  ok(perp_ode_dense_at(&ctx, ode, 0.25, &q, &v) == PERP_ERR_ARG, "refused: a later one");
  ok(perp_ode_dense_at(&ctx, ode, (double)NAN, &q, &v) == PERP_ERR_ARG, "refused: no number");
  ok(perp_ode_dense_at(&ctx, ode, 0.15, &q, &v) == PERP_OK, "the last step is open");
  perp_ode_restart(&ctx, ode, 0, p.q0, p.v0);
  ok(perp_ode_dense_at(&ctx, ode, 0, &q, &v) == PERP_ERR_ARG, "refused: a new start");
  perp_ode_destroy(ode);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  accuracy();
  projection();
  jumps();
  refusals();
  return tap_done();
}
