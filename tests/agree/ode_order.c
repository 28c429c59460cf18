/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order that each descriptor claims, observed on closed solutions: an oscillator, a plain field
 * that depends on time, a pendulum (elliptic functions) and a free rigid body with its attitude
 * (Jacobi elliptic functions).
 *
 * order = Theil-Sen slope of log(error) over log(h), half octaves of h, errors above round-off
 * only. */
#include "tests/ode_order.h"

static perp_ctx ctx;

/* Where theory says something else than the order of the method. */
static const struct exception {
  const char *method, *problem;
  double order;
  const char *why;
} exceptions[] = {
  { "gsl:rk8pd", "oscillator", 9,
    "on y' = A y its polynomial in h A has the term 1/9! of the exponential to 0.3 %" },
};

static const struct exception *exception_of(const char *method, const char *problem)
{
  for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
    if (strcmp(exceptions[i].method, method) == 0 && strcmp(exceptions[i].problem, problem) == 0)
      return &exceptions[i];
  return NULL;
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  const ode_problem problems[] = { oscillator(), circle(), pendulum(), rigid() };
  static const double pace[] = { 0.5, 1, 2, 1 }; /* how fast they change */
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    const perp_ode_desc *desc = (const perp_ode_desc *)d;
    if (desc->order == 0) continue;
    perp_spec spec;
    perp_spec_parse(&ctx, PERP_KIND_ode, d->name, &spec);
    for (int k = 0; k < 4; k++) {
      ode_problem p = problems[k];
      if (p.sys.nv == 0 && (d->caps & PERP_ODE_SECOND_ORDER) != 0) continue;
      const bool high = desc->order >= 7;
      const struct exception *e = exception_of(d->name, p.name);
      double x[POINTS], y[POINTS], order = e != NULL ? e->order : desc->order;
      int points, first = (int)(p.t_end * pace[k] * coarsest(desc->order));
      double slope = observed(&ctx, &spec, &p, first, x, y, &points);
      if (!ok(fabs(slope - order) <= (high ? 0.25 : 0.1),
              "%s: order %g on the %s: %.3f (%d points)%s%s", d->name, order, p.name, slope, points,
              e != NULL ? "; " : "", e != NULL ? e->why : ""))
        for (int j = 0; j < points; j++)
          printf("# %4.0f steps: error %.3e\n", exp(-x[j]), exp(y[j]));
    }
    perp_spec_free(&spec);
  }

  /* bsimp has an order of its own for each system; at order 12 a factor of four in h goes from no
   * digit to all of them, so the slope is seen on a few coarse steps only and is known less well */
  perp_spec spec;
  perp_spec_parse(&ctx, PERP_KIND_ode, "gsl:bsimp", &spec);
  const perp_ode_desc *bsimp = (const perp_ode_desc *)spec.d;
  ode_problem p = rigid();
  p.t_end = 8;
  void *ws;
  bsimp->create(&ctx, &p.sys, spec.opts, &ws);
  int order = bsimp->current_order(ws), points;
  bsimp->destroy(ws);
  double x[POINTS], y[POINTS], slope = observed(&ctx, &spec, &p, 2, x, y, &points);
  ok(order == 12 && fabs(slope - order) <= 1.5, "gsl:bsimp: order %d on the %s: %.1f (%d points)",
     order, p.name, slope, points);
  perp_spec_free(&spec);
  return tap_done();
}
