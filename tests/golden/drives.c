/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A limit, motors at the bound of their force, and soft rows agree with their closed forms to 1e-6
 * with direct, pivoting, iterative and Newton solvers, as `perp simulate SCENE --lcp NAME` runs
 * them. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

static perp_ctx ctx;

static double metric_of(const perp_request *request, const char *name)
{
  perp_result result;
  if (perp_simulate(&ctx, request, &result) != PERP_OK) bail("%s: %s", request->scene, ctx.msg);
  const double value = result.reason > 0 ? perp_result_metric(&result, name) : nan("");
  perp_result_free(&result);
  return value;
}

static double metric_with(const char *formulation, const char *ode, const char *scene,
                          const char *lcp, double h, const char *name)
{
  /* contact problems are solved to 1e-8 unless asked otherwise, of which friction, and what is left
   * of the force beside it, make 1e-6 in an iterative solver: asked for 1e-9 */
  const perp_request request = {
    .scene = scene, .formulation = formulation, .ode = ode, .lcp = lcp, .h = h
  };
  return metric_of(&request, name);
}

static double metric(const char *scene, const char *lcp, double h, const char *name)
{
  return metric_with("velocity:residual=1e-9", NULL, scene, lcp, h, name);
}

/* the same closed forms event by event: times and ways are met as well, not to first order only */
static void acceleration(const char *lcp)
{
  static const struct {
    const char *scene, *metric;
  } cases[] = {
    { "stop", "force.rel.err" },
    { "stop", "event.err" },
    { "stop:mass=0.3,length=2,angle=1.2", "event.err" },
    { "motor", "accel.rel.err" },
    { "motor", "err.q.max" },
    { "motor:force=1.5", "err.q.max" },
    { "motor:velocity=-0.35,force=7", "err.q.max" }, /* has its velocity within a step */
    { "pusher", "accel.rel.err" },
    { "pusher", "force.rel.err" },
    { "pusher:force=8", "accel.rel.err" },
    { "soft", "err.q.max" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    below(metric_with("acceleration:residual=1e-9", "rk4", cases[i].scene, lcp, 0, cases[i].metric),
          1e-6, "%s, acceleration, %s: %s", cases[i].scene, lcp, cases[i].metric);
}

int main(void)
{
  static const char *const solvers[] = { "dantzig", "lemke", "pgs", "fischer-newton" };
  static const struct {
    const char *scene, *metric;
  } cases[] = {
    { "stop", "force.rel.err" },
    { "stop:mass=0.3,length=2,angle=1.2", "force.rel.err" },
    { "motor", "accel.rel.err" },           /* limited force against dry friction: moves */
    { "motor:force=1.5", "accel.rel.err" }, /* sticks */
    { "pusher", "accel.rel.err" },          /* against Coulomb friction: slides */
    { "pusher:force=8", "accel.rel.err" },  /* sticks */
    { "soft", "path.err.max" },
    { "soft:stiffness=1e5,damping=20", "path.err.max" },
  };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < 4; i++)
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
      below(metric(cases[k].scene, solvers[i], 0, cases[k].metric), 1e-6, "%s, %s: %s",
            cases[k].scene, solvers[i], cases[k].metric);
  /* a soft row of a joint is solved with the others: no complementarity problem */
  below(metric("soft:row=joint", NULL, 0, "path.err.max"), 1e-6, "soft:row=joint: path.err.max");
  /* the contacts of the block that carry nothing have a sliding speed of any size */
  static const char *const polyhedral[] = { "lemke", "keller", "minmap-newton" };
  for (int i = 0; i < 3; i++) {
    const perp_request request = {
      .scene = "pusher", .contact = "polyhedral", .lcp = polyhedral[i], .h = 5e-3
    };
    below(metric_of(&request, "accel.rel.err"), 1e-6, "pusher at 5 ms, polyhedral, %s",
          polyhedral[i]);
  }
  for (int i = 0; i < 4; i++) acceleration(solvers[i]);
  /* first order in h: the time of an impact, and the continuous oscillator */
  below(metric("stop", "dantzig", 1e-4, "event.err"), 2e-4,
        "stop: the time of the fall at h = 0.1 ms");
  const double coarse = metric("soft", "dantzig", 2e-3, "err.q.max"),
               fine = metric("soft", "dantzig", 1e-3, "err.q.max");
  near(coarse / fine, 2, 0.03, 0, "soft: first order to the continuous oscillator");
  return tap_done();
}
