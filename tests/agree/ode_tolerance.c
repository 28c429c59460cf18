/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Methods of variable order have no order to observe; their error must follow the tolerance: from 1e-4 to
 * 1e-10 the largest error on the way stays within a factor of ten of a constant times the tolerance, and that
 * constant is near one on spans of a few radians; of peers, which make their own steps, it is what it is, up to 300. */
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

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  perp_register_solvers(&ctx);
  const ode_problem problems[] = { oscillator(), circle(), pendulum(), rigid() };
  const perp_desc *d;
  int methods = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_ode, i)) != NULL; i++) {
    if ((d->caps & PERP_ODE_VARIABLE_ORDER) == 0) continue;
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
  ok(methods >= 2, "%d methods of variable order", methods);
  return tap_done();
}
