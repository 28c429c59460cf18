/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mechanisms against their references: closed loops, redundant and singular constraints, stiffness.
 */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <float.h>

static perp_ctx ctx;

static const struct {
  const char *scene, *ode, *kkt;
  double t_end, h, bound; /* bound: of err.q.max */
} cases[] = {
  /* adaptive: the defaults, tol = 1e-9 a step; worst seen 8e-10 and 3e-9 */
  { "pendulum-dae", "gsl:rk8pd", "tree", 10, 0, 1e-8 },
  { "andrews", "gsl:rk8pd", "tree", 0.03, 0, 1e-8 },
  { "andrews", "gsl:rk8pd:tol=1e-11", "schur-dense", 0.05, 0, 1e-8 },
  { "andrews:start=iftomm", "gsl:rk8pd:tol=1e-11", "kkt-sparse", 0.05, 0, 1e-8 },
  { "andrews", "rk4", "tree", 0.03, 1e-5, 1e-8 },
  /* ten singular positions; tol 1e-9 has 1e-8 and rk4 has 2e-10 */
  { "four-bar", "gsl:rk8pd", "schur-svd", 10, 0, 1e-6 },
  { "four-bar", "gsl:rk8pd", "kkt-sparse", 10, 0, 1e-6 },
  { "four-bar", "rk4", "tree", 10, 1e-3, 1e-6 },
  { "four-bar", "rk4", "schur-dense", 10, 1e-3, 1e-6 },
  { "four-bar:dim=3", "rk4", "schur-svd", 10, 4e-3, 1e-5 },
  /* plain DAE problems of index 3; slider-crank: the fast vibrations are 1e-4 of the motion */
  { "car-axis", "gsl:rk8pd", NULL, 3, 0, 1e-8 },
  { "car-axis:stabilize=none", "rk4", NULL, 3, 1e-3, 1e-5 },
  { "car-axis:stabilize=baumgarte", "rk4", NULL, 3, 1e-3, 1e-5 },
  { "slider-crank", "gsl:rk8pd:tol=1e-13", NULL, 0.1, 0, 1e-7 },
  { "slider-crank", "rk4", NULL, 0.1, 2e-6, 1e-6 },
  /* one redundant row at all times; worst seen 4e-11 */
  { "bricard", "gsl:rk8pd", "schur-svd", 10, 0, 1e-5 },
  { "bricard", "gsl:rk8pd", "kkt-sparse", 10, 0, 1e-5 },
  { "bricard", "gsl:rk8pd", "schur-dense", 10, 0, 1e-5 },
  { "bricard", "rk4", "kkt-sparse", 10, 5e-3, 1e-5 },
  { "bricard", "rk4", "tree", 10, 5e-3, 1e-5 },
};

static perp_result run(perp_request request)
{
  perp_result result;
  if (perp_simulate(&ctx, &request, &result) != PERP_OK) bail("%s: %s", request.scene, ctx.msg);
  return result;
}

static void references(void)
{
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_result r = run((perp_request){ .scene = cases[i].scene,
                                        .ode = cases[i].ode,
                                        .kkt = cases[i].kkt,
                                        .h = cases[i].h,
                                        .t_end = cases[i].t_end });
    const double err = perp_result_metric(&r, "err.q.max");
    ok(r.reason > 0, "%s, %s, %s: reaches %g s%s%s", cases[i].scene, r.ode, r.kkt, cases[i].t_end,
       r.reason > 0 ? "" : ": ", r.message);
    below(err, cases[i].bound, "%s, %s, %s: err.q.max = %.2g", cases[i].scene, r.ode, r.kkt, err);
    perp_result_free(&r);
  }
}

/* what the sources print against the references: errors as found when the references were made */
static void published(void)
{
  perp_result r = run((perp_request){ .scene = "andrews", .ode = "gsl:rk8pd", .t_end = 1e-3 });
  ok(r.published.what[0] != '\0' && r.published.t == 0.03, "andrews: digits are printed by %s",
     r.published.what);
  near(r.published.err_q, 2.7e-10, 0.05e-10, 0, "andrews: printed positions are off by %.2g",
       r.published.err_q);
  near(r.published.err_v, 5.1e-8, 0.05e-8, 0, "andrews: printed velocities are off by %.2g",
       r.published.err_v);
  perp_result_free(&r);
}

static void fewer_digits(const char *scene, double err_q)
{
  perp_result r = run((perp_request){ .scene = scene, .t_end = 1e-2 });
  near(r.published.err_q, err_q, 0.02 * err_q, 0, "%s: printed positions are off by %.2g", scene,
       r.published.err_q);
  perp_result_free(&r);
}

/* h = 10 ms, damping rates of 1e4 1/s: stiffly accurate enough, or gone at once */
static void flyball(void)
{
  static const char *const explicit_methods[] = { "euler", "heun", "rk4", "dopri5" };
  perp_result r = run((perp_request){ .scene = "flyball", .ode = "gsl:rk4imp", .h = 1e-2 });
  ok(r.reason > 0, "flyball, gsl:rk4imp at 10 ms: reaches %g s", r.t);
  below(perp_result_metric(&r, "err.tip.max"), 1e-3,
        "flyball, gsl:rk4imp at 10 ms: error of s %.2g m", perp_result_metric(&r, "err.tip.max"));
  perp_result_free(&r);
  r = run((perp_request){ .scene = "flyball", .ode = "gsl:rk2imp", .h = 1e-2 });
  below(perp_result_metric(&r, "err.tip.max"), 1e-3,
        "flyball, gsl:rk2imp at 10 ms: error of s %.2g m", perp_result_metric(&r, "err.tip.max"));
  perp_result_free(&r);
  /* time stepping: first order, at most five times the work of explicit springs */
  r = run((perp_request){
      .scene = "flyball", .formulation = "velocity-implicit", .h = 1e-2, .t_end = 0.5 });
  const double error = perp_result_metric(&r, "err.tip.max"),
               work = perp_result_metric(&r, "kkt.work") / perp_result_metric(&r, "steps");
  below(error, 1e-2, "flyball, velocity-implicit at 10 ms: error of s %.2g m", error);
  perp_result_free(&r);
  r = run(
      (perp_request){ .scene = "flyball", .formulation = "velocity", .h = 1e-4, .t_end = 1e-2 });
  const double plain = perp_result_metric(&r, "kkt.work") / perp_result_metric(&r, "steps");
  below(work, 5 * plain, "flyball, velocity-implicit: %.3g times the work of velocity a step",
        work / plain);
  perp_result_free(&r);
  for (size_t i = 0; i < sizeof explicit_methods / sizeof *explicit_methods; i++) {
    r = run((perp_request){
        .scene = "flyball", .formulation = "acceleration", .ode = explicit_methods[i], .h = 1e-2 });
    ok(r.reason < 0 && r.t < 0.1, "flyball, %s at 10 ms: %s", explicit_methods[i], r.message);
    perp_result_free(&r);
  }
}

/* Multistep methods keep their history over projections, also of a mechanism that starts at rest
 * and gets fast, and nothing depends on the first step. */
static void multistep(const char *scene, double t_end)
{
  static const char *const methods[] = { "gsl:msadams:tol=1e-6", "gsl:msbdf:tol=1e-6" };
  static const char *const stabs[] = { "none", "post:velocity=true", "baumgarte" };
  const double first[] = { 1e-4 * t_end, 1e-3 * t_end, 1e-6 * t_end };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    double steps[3], err[3];
    for (int k = 0; k < 3; k++) {
      perp_result r = run((perp_request){ .scene = scene,
                                          .formulation = "acceleration",
                                          .ode = methods[i],
                                          .stab = stabs[k],
                                          .t_end = t_end });
      steps[k] = perp_result_metric(&r, "steps");
      err[k] = perp_result_metric(&r, "err.q.max");
      perp_result_free(&r);
    }
    for (int k = 1; k < 3; k++) {
      below(steps[k], 1.5 * steps[0], "%s, %s with %s: %g steps, %g without", scene, methods[i],
            stabs[k], steps[k], steps[0]);
      below(err[k], 1.2 * err[0], "%s, %s with %s: error %.2g, %.2g without", scene, methods[i],
            stabs[k], err[k], err[0]);
    }
    for (int k = 0; k < 3; k++) {
      perp_result r = run((perp_request){ .scene = scene,
                                          .formulation = "acceleration",
                                          .ode = methods[i],
                                          .stab = "baumgarte",
                                          .h = first[k],
                                          .t_end = t_end });
      near(perp_result_metric(&r, "steps"), steps[2], 0.15 * steps[2], 0,
           "%s, %s with baumgarte, first step %g s: as many steps", scene, methods[i], first[k]);
      perp_result_free(&r);
    }
  }
}

/* Neither do contacts at rest: under error control their feedback, too, goes by the rate of the
 * motion. */
static void contact_first_step(void)
{
  const double first[] = { 1e-2, 1e-5 };
  double steps[2];
  for (int k = 0; k < 2; k++) {
    perp_result r = run((perp_request){ .scene = "incline",
                                        .formulation = "acceleration",
                                        .ode = "dopri5:tol=1e-6",
                                        .stab = "baumgarte",
                                        .h = first[k],
                                        .t_end = 1 });
    steps[k] = perp_result_metric(&r, "steps");
    below(perp_result_metric(&r, "err.q.max"), 1e-12, "sliding box, first step %g s", first[k]);
    perp_result_free(&r);
  }
  /* steps grow by at most five: the shorter start takes five of them */
  below(steps[1], steps[0] + 6, "sliding box: %g steps with a first of 10 ms, %g with 10 us",
        steps[0], steps[1]);
}

/* Error control on the velocity level: the error of a step is that of its positions, O(h^2),
 * whatever the constraints of its start do to the velocity at its end, O(h), and that of the motion
 * is in proportion to the tolerance: a tenth of it takes ten times the steps. */
static void velocity_level(void)
{
  static const char *const methods[] = { "symplectic-euler:tol=1e-4", "symplectic-euler:tol=1e-5",
                                         "euler:tol=1e-4", "euler:tol=1e-5" };
  static const char *const scenes[] = { "pendulum", "double-pendulum", "heavy-top" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    double steps[4], err[4];
    for (int k = 0; k < 4; k++) {
      perp_result r = run((perp_request){
          .scene = scenes[i], .formulation = "velocity", .ode = methods[k], .t_end = 1 });
      steps[k] = perp_result_metric(&r, "steps");
      err[k] = perp_result_metric(&r, "err.q.max");
      perp_result_free(&r);
    }
    for (int k = 0; k < 4; k += 2) {
      near(steps[k + 1], 10 * steps[k], 1.5 * steps[k], 0,
           "%s, velocity level: %g steps of %s, %g of %s", scenes[i], steps[k], methods[k],
           steps[k + 1], methods[k + 1]);
      near(err[k + 1], 0.1 * err[k], 0.03 * err[k], 0, "... and an error of %.2g, %.2g", err[k],
           err[k + 1]);
    }
  }
}

/* Steps in momenta under error control, by two half steps: a hundredth of the tolerance, a smaller
 * error. */
static void momenta(void)
{
  static const char *const methods[] = { "symplectic-euler:tol=1e-4", "symplectic-euler:tol=1e-6",
                                         "verlet:tol=1e-5", "verlet:tol=1e-8" };
  double err[4];
  for (int k = 0; k < 4; k++) {
    perp_result r = run((perp_request){
        .scene = "double-pendulum", .formulation = "reduced", .ode = methods[k], .t_end = 1 });
    err[k] = perp_result_metric(&r, "err.q.max");
    perp_result_free(&r);
    if (k % 2 == 1)
      below(err[k], 0.2 * err[k - 1], "double-pendulum in momenta, %s: error %.2g, %s: %.2g",
            methods[k - 1], err[k - 1], methods[k], err[k]);
  }
}

/* Loops in joint coordinates: the motion of the truth; one redundant row for each loop of bricard
 * and of four-bar in space; joints that hold to rounding at every step. */
static void loops(void)
{
  static const struct {
    const char *scene;
    double t_end, err;
    int roundings; /* of 1 m that a joint is held to: five loops are 5 m long */
  } mechanisms[] = { { "four-bar", 2, 1e-8, 45 },       { "four-bar:loops=5", 1, 1e-8, 225 },
                     { "four-bar:dim=3", 1, 1e-8, 45 }, { "bricard", 5, 1e-9, 45 },
                     { "andrews", 0.03, 1e-9, 45 },     { "flyball", 0.5, 1e-8, 45 } };
  for (size_t i = 0; i < sizeof mechanisms / sizeof *mechanisms; i++) {
    perp_result r = run((perp_request){ .scene = mechanisms[i].scene,
                                        .formulation = "reduced",
                                        .ode = "gsl:rk8pd:tol=1e-11",
                                        .t_end = mechanisms[i].t_end });
    const double err = perp_result_metric(&r, "err.q.max"),
                 drift = perp_result_metric(&r, "drift.pos.max");
    below(err, mechanisms[i].err, "%s in joint coordinates: error %.2g", mechanisms[i].scene, err);
    below(drift, mechanisms[i].roundings * DBL_EPSILON, "... and joints that hold: %.2g", drift);
    perp_result_free(&r);
  }
}

/* The inertia of a rotor is a row with a multiplier, but no constraint. */
static void armature(void)
{
  perp_result r = run((perp_request){ .scene = "geared-arm",
                                      .formulation = "acceleration",
                                      .ode = "rk4",
                                      .h = 1e-3,
                                      .t_end = 0.5 });
  below(perp_result_metric(&r, "drift.vel.max"), 1e-8, "geared-arm: velocity error %.2g",
        perp_result_metric(&r, "drift.vel.max"));
  below(perp_result_metric(&r, "drift.acc.max"), 1e-8, "geared-arm: acceleration error %.2g",
        perp_result_metric(&r, "drift.acc.max"));
  perp_result_free(&r);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  references();
  published();
  fewer_digits("car-axis", 6.5e-13);
  fewer_digits("slider-crank", 3.0e-8); /* the printed start is rounded */
  fewer_digits("pendulum-dae", 6.6e-12);
  flyball();
  armature();
  multistep("pendulum", 10);
  multistep("andrews", 0.03);
  contact_first_step();
  velocity_level();
  momenta();
  loops();
  return tap_done();
}
