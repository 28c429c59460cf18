/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of variable order have no order to observe; their error must follow the tolerance: from
 * 1e-4 to 1e-10 the largest error on the way stays within a factor of ten of a constant times the
 * tolerance, and that constant is near one on spans of a few radians; of peers, which make their
 * own steps, it is what it is, up to 300.
 *
 * Of methods that have no estimate but step doubling, and under control=truncation, errors fall
 * with the tolerance from 1e-4 on, whatever their order.  The truncation estimate of one step is
 * the error of this step. */
#include "tests/ode_problems.h"
#include "tests/tap.h"

enum { TOLERANCES = 7 };

static double error_with(perp_ctx *ctx, const char *text, const ode_problem *p)
{
  perp_spec spec;
  perp_ode *ode;
  perp_spec_parse(ctx, PERP_KIND_ode, text, &spec);
  if (perp_ode_create(ctx, &spec, &p->sys, 1e-3, &ode) != PERP_OK) bail("%s", ctx->msg);
  perp_ode_restart(ctx, ode, 0, p->q0, p->v0);
  double error = 0;
  while (perp_ode_time(ode) < p->t_end) {
    if (perp_ode_step(ctx, ode, p->t_end, NULL) != PERP_ODE_REACHED) {
      error = HUGE_VAL;
      break;
    }
    error = fmax(error, ode_error(p, ode));
  }
  perp_ode_destroy(ode);
  perp_spec_free(&spec);
  return error;
}

/* Vondrak 2005, section 2.2: at q = cos t the first step after the doubled one has the estimate
 * h^2/2 |y''| over E; E is atol here.  Steps of the same length, so that it is the error of one
 * step from the exact state up to O(h^3), but for the slope of the doubled step, which is that of a
 * quarter of it: 3/4. */
static void truncation_size(perp_ctx *ctx, const char *method)
{
  const double h = 1e-3, atol = 1;
  char text[96];
  snprintf(text, sizeof text, "%s:tol=1e-4,atol=%g,h_max=%g,control=truncation", method, atol, h);
  perp_spec spec;
  perp_ode *ode;
  const ode_problem p = oscillator();
  perp_spec_parse(ctx, PERP_KIND_ode, text, &spec);
  if (perp_ode_create(ctx, &spec, &p.sys, h, &ode) != PERP_OK) bail("%s", ctx->msg);
  double worst = 1;
  for (int k = 0; k < 6;
       k++) { /* at times where neither q'' nor v'' is near zero: the larger one counts */
    double q = cos(0.5 + k), v = -sin(0.5 + k);
    perp_ode_restart(ctx, ode, 0, &q, &v);
    perp_stats stats;
    if (perp_ode_step(ctx, ode, 1, NULL) != PERP_ODE_REACHED) bail("no first step");
    const double t = perp_ode_time(ode), q0 = *perp_ode_q(ode), v0 = *perp_ode_v(ode);
    if (perp_ode_step(ctx, ode, 1, &stats) != PERP_ODE_REACHED) bail("no second step");
    const double g = perp_ode_time(ode) - t; /* exact flow: a rotation */
    const double e_q = *perp_ode_q(ode) - (q0 * cos(g) + v0 * sin(g));
    const double e_v = *perp_ode_v(ode) - (v0 * cos(g) - q0 * sin(g));
    const double ratio = stats.residual * atol / fmax(fabs(e_q), fabs(e_v));
    worst = fabs(log(ratio)) > fabs(log(worst)) ? ratio : worst;
  }
  ok(fabs(worst - 1) < 0.3, "%s: estimate of the truncation error / error of the step: %.3f",
     method, worst);
  perp_ode_destroy(ode);
  perp_spec_free(&spec);
}

/* Two decades of tolerance are two of error: `control` is doubling or truncation. */
static void control_follows(perp_ctx *ctx, const char *method, const char *control)
{
  const ode_problem problems[] = { oscillator(), pendulum(), rigid() };
  for (int k = 0; k < 3; k++) {
    double error[3];
    for (int j = 0; j < 3; j++) {
      char text[64];
      snprintf(text, sizeof text, "%s:tol=1e-%d,control=%s", method, 4 + j, control);
      error[j] = error_with(ctx, text, &problems[k]);
    }
    const double decades = log10(error[0] / error[2]);
    ok(fabs(decades - 2) < 0.6,
       "%s, control=%s, on the %s: errors %.2g ... %.2g, %.2f decades for two", method, control,
       problems[k].name, error[0], error[2], decades);
  }
}

static void truncation_refused(perp_ctx *ctx)
{
  const ode_problem p = oscillator();
  static const char *const others[] = { "rk4", "midpoint", "verlet", "dopri5",
                                        "implicit-midpoint" };
  for (int i = 0; i < 5; i++) {
    char text[64];
    perp_spec spec;
    perp_ode *ode;
    snprintf(text, sizeof text, "%s:tol=1e-4,control=truncation", others[i]);
    perp_spec_parse(ctx, PERP_KIND_ode, text, &spec);
    ok(perp_ode_create(ctx, &spec, &p.sys, 1e-3, &ode) == PERP_ERR_UNSUPPORTED &&
           strstr(ctx->msg, "control=truncation") != NULL,
       "%s refuses it", others[i]);
    perp_spec_free(&spec);
  }
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  const ode_problem problems[] = { oscillator(), circle(), pendulum(), rigid() };
  const perp_desc *d;
  int methods = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    if ((d->caps & PERP_ODE_VARIABLE_ORDER) == 0) {
      if ((d->caps & PERP_ODE_EMBEDDED) == 0) control_follows(&ctx, d->name, "doubling");
      continue;
    }
    methods++;
    for (int k = 0; k < 4; k++) {
      double ratio[TOLERANCES], mean = 0, spread = 1;
      for (int j = 0; j < TOLERANCES; j++) {
        char text[64];
        snprintf(text, sizeof text, "%s:tol=1e-%d", d->name, 4 + j);
        ratio[j] = error_with(&ctx, text, &problems[k]) / pow(10, -4 - j);
        mean += log(ratio[j]) / TOLERANCES;
      }
      mean = exp(mean);
      for (int j = 0; j < TOLERANCES; j++)
        spread = fmax(spread, fmax(ratio[j] / mean, mean / ratio[j]));
      bool follows = spread <= 10 && mean > 0.1 && mean < (d->caps & PERP_ODE_PEER ? 300 : 30);
      if (!ok(follows, "%s on the %s: error = %.1f tol within a factor of %.1f", d->name,
              problems[k].name, mean, spread))
        for (int j = 0; j < TOLERANCES; j++)
          printf("# tol 1e-%d: error %.2f tol\n", 4 + j, ratio[j]);
    }
  }
  static const char *const first[] = { "euler", "symplectic-euler" };
  for (int i = 0; i < 2; i++) {
    truncation_size(&ctx, first[i]);
    control_follows(&ctx, first[i], "truncation");
  }
  truncation_refused(&ctx);
  ok(methods >= 2, "%d methods of variable order", methods);
  return tap_done();
}
