/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The forces of joints against those that the exact state needs: with the order of each formulation
 * and stabilization. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

static perp_ctx ctx;

static double error(const char *scene, const char *formulation, const char *ode, const char *stab,
                    double h, double t_end)
{
  const perp_request request = { .scene = scene,
                                 .formulation = formulation,
                                 .ode = ode,
                                 .stab = stab,
                                 .h = h,
                                 .t_end = t_end,
                                 .sample_every = h };
  perp_result r;
  if (perp_simulate(&ctx, &request, &r) != PERP_OK) bail("%s: %s", scene, ctx.msg);
  if (r.reason < 0) bail("%s, %s, %s: %s", scene, formulation, stab, r.message);
  const double found = perp_result_metric(&r, "lambda.err.max");
  perp_result_free(&r);
  return found;
}

/* largest: of the error at h / 2 */
static void order(const char *scene, const char *formulation, const char *ode, const char *stab,
                  double h, double t_end, double expected, double largest)
{
  const double coarse = error(scene, formulation, ode, stab, h, t_end),
               fine = error(scene, formulation, ode, stab, h / 2, t_end);
  below(fine, largest, "%s, %s, %s, %s: lambda is off by %.2g", scene, formulation, ode, stab,
        fine);
  ok(log2(coarse / fine) > expected - 0.25, "%s, %s, %s, %s: order %.2f, expected %g", scene,
     formulation, ode, stab, log2(coarse / fine), expected);
}

int main(void)
{
  static const char *const scenes[] = { "pendulum", "chain:links=3,dim=3", "heavy-top",
                                        "carousel" };
  static const char *const stabs[] = { "none",         "baumgarte",          "post",
                                       "split",        "post:velocity=true", "velocity-projection",
                                       "gradient-flow" };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    for (size_t k = 0; k < sizeof stabs / sizeof *stabs; k++)
      order(scenes[i], "velocity", "symplectic-euler", stabs[k], 5e-4, 0.1, 1, 0.06);
    order(scenes[i], "acceleration", "rk4", "post:velocity=true", 2e-3, 0.1, 4, 1e-5);
    order(scenes[i], "acceleration", "heun", "post:velocity=true", 1e-3, 0.1, 2, 1e-2);
  }
  order("andrews", "acceleration", "rk4", "post:velocity=true", 2e-5, 0.01, 4, 1e-5);
  order("andrews", "acceleration", "rk4", "none", 2e-5, 0.01, 4, 1e-5);
  return tap_done();
}
