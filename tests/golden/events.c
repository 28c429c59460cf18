/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts on the acceleration level, event-driven, against closed forms.  rk4 is exact for
 * parabolas, so that bounds of impact scenes are rounding and the location of events (1e-12 of a
 * step, 1e-9 of a body); ten times the worst seen. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static double run(perp_request r, const char *metric, perp_result *result)
{
  perp_result own;
  if (result == NULL) result = &own;
  if (r.formulation == NULL) r.formulation = "acceleration";
  if (r.ode == NULL) r.ode = "rk4";
  if (perp_simulate(&ctx, &r, result) != PERP_OK) bail("%s: %s", r.scene, ctx.msg);
  const double value = result->reason > 0 ? perp_result_metric(result, metric) : (double)NAN;
  if (result == &own) perp_result_free(&own);
  return value;
}

#define RUN(metric, ...) run((perp_request){ __VA_ARGS__ }, metric, NULL)

/* ---- impacts ---- */

static void bounces(void)
{
  static const char *const methods[] = {
    "rk4", "midpoint", "dopri5:tol=1e-9", "implicit-midpoint", "verlet", "gsl:rkf45"
  };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++)
    below(RUN("event.err", .scene = "bouncing-ball:e=0.5", .ode = methods[i]),
          i == 2 || i == 5 ? 1e-9 : 1e-10, "%s: times of the first bounces", methods[i]);
  /* An adaptive step goes from bounce to bounce.  A contact that touched at its start is closed
   * where its own gap is, not deeper by what counts as touching. */
  for (int i = 0; i < 3; i++) {
    static const char *const gaps[] = { "acceleration:gap=1e-9", "acceleration:gap=1e-10",
                                        "acceleration:gap=1e-11" };
    below(RUN("event.err", .scene = "bouncing-ball:e=0.5", .ode = "dopri5:tol=1e-9",
              .formulation = gaps[i]),
          1e-10, "%s: what counts as touching does not move the bounces", gaps[i]);
  }
  below(RUN("event.err", .scene = "bouncing-ball:impacts=20",
            .formulation = "acceleration:impact=poisson"),
        1e-10, "Poisson's law: times of twenty bounces");
  below(RUN("event.err", .scene = "bouncing-ball", .formulation = "acceleration:state=momentum"),
        1e-10, "momentum form: times of the first bounces");
  /* the bounces end where they become slower than the threshold, near the Zeno time */
  perp_result r;
  run((perp_request){ .scene = "bouncing-ball:e=0.5" }, "event.err", &r);
  const double v1 = sqrt(2 * 9.81), expected = ceil(log(0.01 / v1) / log(0.5)) + 1;
  near((double)r.contact_count.impacts, expected, 0, 0, "e = 0.5: impacts down to the threshold");
  near((double)r.contact_count.plastic, 1, 0, 0, "of which the last one is plastic");
  near(r.q[2], 0.1, 1e-9, 0, "then the ball rests on the floor");
  near(r.v[2], 0, 1e-12, 0, "without a velocity");
  perp_result_free(&r);
  below(RUN("energy.gain.rel", .scene = "bouncing-ball:e=1"), 1e-12, "e = 1: no energy is made");
  below(RUN("impact.rel.err", .scene = "oblique-impact"), 1e-12, "oblique impact that slips");
  below(RUN("impact.rel.err", .scene = "oblique-impact:mu=0.9"), 1e-12,
        "oblique impact that sticks");
  below(RUN("impact.rel.err", .scene = "impact-chain:balls=4,ratio=2,e=0.7"), 1e-12,
        "impacts in a row of unequal masses");
}

static void cradle(void)
{
  /* judged at the first state after a given time: 1e-3 is the change of velocities in a step */
  static const char *const sequential = "acceleration:order=sequential";
  below(RUN("impact.rel.err", .scene = "cradle", .formulation = sequential), 2e-3,
        "pair by pair: one ball in, one ball out");
  below(RUN("impact.rel.err", .scene = "cradle:moving=2", .formulation = sequential), 2e-3,
        "pair by pair: two in, two out");
  below(RUN("impact.rel.err", .scene = "cradle:e=0.5", .formulation = sequential), 2e-3,
        "pair by pair, e = 0.5");
  below(RUN("impact.together.err", .scene = "cradle"), 2e-3,
        "together: Newton's law at all contacts");
  below(RUN("err.q.max", .scene = "cradle", .formulation = sequential, .h = 1e-3), 1e-6,
        "pair by pair: elliptic functions through the impact");
  static const char *const kkts[] = { "schur-dense", "kkt-sparse", "schur-cg:tol=1e-13" };
  for (int i = 0; i < 3; i++)
    below(RUN("impact.together.err", .scene = "cradle", .kkt = kkts[i]), 2e-3,
          "joints eliminated by %s", kkts[i]);
}

/* ---- friction ---- */

static void friction(void)
{
  below(RUN("speed.rel.err", .scene = "rolling-sphere"), 1e-12,
        "the sphere rolls at 5/7 of its speed");
  below(RUN("event.err", .scene = "rolling-sphere"), 1e-10, "from the right moment on");
  below(RUN("accel.rel.err", .scene = "rolling-slope"), 1e-12, "rolling down a slope");
  /* rk4 of an oscillator: (w h)^4 / 120 an oscillation */
  const double coarse = RUN("event.err", .scene = "coulomb-oscillator"),
               fine = RUN("event.err", .scene = "coulomb-oscillator", .h = 1. / 480);
  below(coarse, 1e-6, "oscillator with dry friction: time of its end");
  near(log2(coarse / fine), 4, 0.4, 0, "which converges with the order of rk4 through all stops");
  static const char *const lcps[] = { "lemke", "fischer-newton", "dantzig",
                                      "pgs",   "block-gs",       "enumerate" };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++) {
    below(RUN("accel.rel.err", .scene = "incline:shape=point", .lcp = lcps[i], .t_end = 0.2), 1e-7,
          "%s: slides down the incline", lcps[i]);
    below(RUN("creep.vel.max",
              .scene = "incline:theta=20deg,mu=0.5,shape=point,azimuth=30deg,tilt=gravity",
              .lcp = lcps[i], .t_end = 0.2),
          1e-7, "%s: does not creep", lcps[i]);
  }
  below(RUN("accel.rel.err", .scene = "incline", .formulation = "acceleration:sliding=lagged"),
        1e-10, "the last normal force is the right one where it is constant");
}

/* Painleve: solved where a solution exists, refused where there is none */
static void painleve(void)
{
  static const char *const lcps[] = { "lemke", "fischer-newton", "dantzig", "auto", "pgs" };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++) {
    perp_result r;
    run((perp_request){ .scene = "painleve", .lcp = lcps[i] }, "truth.err", &r);
    ok(r.reason < 0 && r.t == 0 && strstr(r.message, "Painleve") != NULL,
       "%s: no acceleration-level solution: %s", lcps[i], r.message);
    perp_result_free(&r);
  }
}

/* ---- statics ---- */

static void statics(void)
{
  static const char *const scenes[] = {
    "stack:boxes=5", "stack:boxes=5,dim=2", "wedge", "see-saw", "card-house",
    "cylinders",     "mass-ratio:ratio=1e4"
  };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    below(RUN("force.rel.err", .scene = scenes[i], .t_end = 0.2), 1e-9, "%s: forces", scenes[i]);
    below(RUN("pose.drift.max", .scene = scenes[i], .t_end = 0.2), 1e-10, "%s: rests", scenes[i]);
  }
  /* implicit methods ask at rest for no more than the forces are known to */
  static const char *const lcps[] = { "lemke", "dantzig", "pgs" };
  for (size_t i = 0; i < sizeof lcps / sizeof *lcps; i++)
    below(RUN("pose.drift.max", .scene = "stack:boxes=3", .ode = "implicit-midpoint",
              .lcp = lcps[i], .t_end = 3),
          1e-9, "implicit-midpoint, %s: a stack rests to the end", lcps[i]);
  below(RUN("event.err", .scene = "dominoes:dominoes=5"), 1e-7, "times of a row of dominoes");
  below(RUN("path.err.max", .scene = "turntable", .t_end = 1), 1e-8, "a ball on a turning table");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  bounces();
  cradle();
  friction();
  painleve();
  statics();
  return tap_done();
}
