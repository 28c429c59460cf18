/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Short simulations of the contact scenes against their truths, at the default step of 1/240 s
 * unless the order of convergence is the question.  Bounds are the goals of the project, or what
 * first order in h gives; rounding and the tolerance of the solvers (1e-8) stay below by a decade
 * or more. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <string.h>

static perp_ctx ctx;

static double metric_of(const perp_request *request, const char *metric)
{
  perp_result result;
  if (perp_simulate(&ctx, request, &result) != PERP_OK) bail("%s: %s", request->scene, ctx.msg);
  const double value = result.reason > 0 ? perp_result_metric(&result, metric) : nan("");
  perp_result_free(&result);
  return value;
}

static double at(const char *scene, double h, double t_end, const char *metric)
{
  return metric_of(&(perp_request){ .scene = scene, .h = h, .t_end = t_end }, metric);
}

/* ---- every solver that declares friction ---- */

/* circular cones or friction rows are solved; peers answer for themselves */
static bool takes_friction(const perp_desc *d)
{
  /* the two pivoting methods serve the polyhedral cone, which has no friction rows */
  const bool polyhedral = strcmp(d->name, "lemke") == 0 || strcmp(d->name, "keller") == 0;
  return polyhedral ||
         ((d->caps & (PERP_LCP_FRICTION | PERP_LCP_CONE)) && !(d->caps & PERP_LCP_PEER));
}

static void incline(void)
{
  static const char *const slides = "incline:theta=30deg,mu=0.3";
  static const char *const sticks = "incline:theta=20deg,mu=0.5,azimuth=37deg";
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (!takes_friction(d)) continue;
    perp_request r = { .scene = slides, .lcp = d->name, .t_end = 0.25 };
    /* the goal is 1 %; a tolerance of 1e-8 leaves 1e-7 */
    below(metric_of(&r, "accel.rel.err"), 1e-6, "%s: slides with g (sin - mu cos)", d->name);
    /* no friction at all: rows without room between their bounds */
    below(metric_of(&(perp_request){ .scene = "impact-chain:ratio=2", .lcp = d->name },
                    "impact.rel.err"),
          1e-7, "%s: impacts without friction", d->name);
    if (d->caps & PERP_LCP_CONE)
      below(metric_of(&(perp_request){ .scene = "anisotropic-slide:direction=30deg,grain=20deg",
                                       .lcp = d->name,
                                       .contact = "cone",
                                       .t_end = 0.25 },
                      "accel.rel.err"),
            1e-5, "%s: friction with a grain is not opposite to the slip", d->name);
    r.scene = sticks;
    below(metric_of(&r, "pose.drift.max"), 1e-7, "%s: 20 deg, mu = 0.5 sticks", d->name);
  }
  /* more friction than normal force: the box tips */
  static const char *const tips[] = { "theta=50deg,mu=1.1", "theta=20deg,mu=1.5,speed=-1",
                                      "theta=60deg,mu=1.5,azimuth=45deg,tilt=gravity" };
  static const char *const slips[] = { "theta=50deg,mu=0.9", "theta=20deg,mu=1.5",
                                       "theta=50deg,mu=1.3,azimuth=45deg,tilt=gravity" };
  for (int i = 0; i < 3; i++) {
    char scene[128];
    snprintf(scene, sizeof scene, "incline:%s", tips[i]);
    ok(isnan(at(scene, 0, 0.25, "accel.rel.err")), "%s: no truth, the box tips", scene);
    snprintf(scene, sizeof scene, "incline:%s", slips[i]);
    below(at(scene, 0, 1, "accel.rel.err"), 1e-6, "%s: the box does not tip", scene);
  }
}

/* ---- linearized friction cones err as predicted ---- */

static void linearized(void)
{
  /* a = g (sin theta - mu' cos theta): mu' = sqrt 2 mu on the diagonal of a box, mu / sqrt 2
   * between two edges of a cone with four; exact where the cone is circular */
  static const struct {
    const char *azimuth, *lcp, *contact;
    double factor;
  } rows[] = {
    { "45deg", "dantzig", "box", M_SQRT2 },
    { "0deg", "dantzig", "box", 1 },
    { "45deg", "lemke", "polyhedral:directions=4", M_SQRT1_2 },
    { "0deg", "lemke", "polyhedral:directions=4", 1 },
    { "45deg", "lemke", "polyhedral:directions=8", 1 },
    /* an odd number has no opposites: friction is along a direction one way, between two the other
       way */
    { "0deg", "lemke", "polyhedral:directions=7", 0.90096886790241915 },
    { "180deg", "lemke", "polyhedral:directions=7", 1 },
    { "0deg", "block-gs", "polyhedral:directions=7", 0.90096886790241915 },
    { "0deg", "lemke", "polyhedral:directions=3", 0.5 },
    { "180deg", "lemke", "polyhedral:directions=3", 1 },
    { "31deg", "block-gs", "cone", 1 },
    { "77deg", "cone-newton", "cone", 1 },
  };
  const double mu = 0.3, c = cos(M_PI / 6), s = 0.5;
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char scene[128];
    snprintf(scene, sizeof scene, "incline:theta=30deg,mu=0.3,shape=point,tilt=gravity,azimuth=%s",
             rows[i].azimuth);
    const perp_request r = { .scene = scene,
                             .formulation = "velocity:align=none,residual=1e-12",
                             .lcp = rows[i].lcp,
                             .contact = rows[i].contact,
                             .t_end = 0.25 };
    const double predicted = fabs(rows[i].factor - 1) * mu * c / (s - mu * c);
    near(metric_of(&r, "accel.rel.err"), predicted, 1e-10, 0, "%s at %s: off by %.3f",
         rows[i].contact, rows[i].azimuth, predicted);
  }
}

/* ---- statics ---- */

static void statics(void)
{
  static const char *const scenes[] = { "stack:boxes=5",  "stack:boxes=5,dim=2",
                                        "wedge",          "wedge:shape=ball",
                                        "see-saw",        "card-house",
                                        "cylinders",      "wall:rows=3,columns=3",
                                        "pyramid:rows=4", "mass-ratio" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    below(at(scenes[i], 0, 0.5, "force.rel.err"), 1e-8, "%s: forces of statics", scenes[i]);
    below(at(scenes[i], 0, 0.5, "pose.drift.max"), 1e-7, "%s: nothing moves", scenes[i]);
  }
  const perp_request settled = { .scene = "stack:boxes=20", .t_end = 1 };
  below(metric_of(&settled, "pose.drift.max"), 1e-7, "stack of 20 stands still for 1 s");
  static const char *const lcps[] = { "lemke", "fischer-newton", "block-gs" };
  for (int i = 0; i < 3; i++) {
    const perp_request r = { .scene = "stack:boxes=20", .lcp = lcps[i], .t_end = 0.1 };
    below(metric_of(&r, "pose.drift.max"), 1e-6, "%s: stack of 20 stands still", lcps[i]);
    near(metric_of(&r, "lcp.failures"), 0, 0, 0, "%s: every step is solved", lcps[i]);
  }
  /* a guess good enough to be used again: sweeps that stopped at the tolerance crept 2e-7 in this
   * time */
  below(metric_of(&(perp_request){ .scene = "stack:boxes=20", .lcp = "block-gs", .t_end = 1 },
                  "pose.drift.max"),
        5e-8, "block-gs: stack of 20 does not creep");

  /* verdicts on both sides of the threshold, 5 % away */
  static const char *const verdicts[] = {
    "arch:thickness=0.1005",
    "arch:thickness=0.0909",
    "arch:thickness=0.2,mu=0.315",
    "arch:thickness=0.2,mu=0.285",
    "arch:voussoirs=11,thickness=0.1098",
    "arch:voussoirs=11,thickness=0.0994",
    "card-house:mu=0.185",
    "card-house:mu=0.16",
    "ladder:theta=42deg",
    "ladder:theta=43deg",
    "overhang:factor=0.98",
    "overhang:factor=1.02",
    "tipping-box:theta=0.45",
    "tipping-box:theta=0.48",
    "tipping-box:theta=0.29,mu=0.3",
    "tipping-box:theta=0.3,mu=0.3",
    "cylinders:mu=0.28",
    "cylinders:mu=0.255",
    "cylinders:floor=0.094",
    "cylinders:floor=0.085",
  };
  for (size_t i = 0; i < sizeof verdicts / sizeof *verdicts; i++)
    near(at(verdicts[i], 0, 0, "verdict.err"), 0, 0, 0, "%s: %s", verdicts[i],
         i % 2 == 0 ? "stands" : "falls");
}

/* ---- motions and impacts ---- */

/* slope of log(err) over log(h) between h0 and h0 / 2^n; NaN fails the caller */
static double slope(const char *scene, const char *metric, double h0, int n, double t_end)
{
  const double coarse = at(scene, h0, t_end, metric);
  const double fine = at(scene, h0 / (1 << n), t_end, metric);
  return log(coarse / fine) / (n * log(2));
}

static void motions(void)
{
  static const struct {
    const char *scene, *metric;
    double bound;
  } rows[] = {
    { "rolling-sphere", "speed.rel.err", 1e-8 },
    { "rolling-sphere:speed=2,spin=-100,dim=2", "speed.rel.err", 1e-8 },
    { "rolling-slope:mu=0.1", "accel.rel.err", 1e-8 },
    { "rolling-slope:mu=0.3,body=cylinder", "accel.rel.err", 1e-8 },
    { "see-saw:m2=1", "accel.rel.err", 1e-2 }, /* levers change with the angle */
    { "oblique-impact", "impact.rel.err", 1e-8 },
    { "oblique-impact:mu=0.05,dim=2", "impact.rel.err", 1e-8 },
    { "oblique-impact:spin=-80", "impact.rel.err", 1e-8 },
    { "impact-chain:ratio=2", "impact.rel.err", 1e-8 },
    { "impact-chain:balls=6,e=0.7,dim=2", "impact.rel.err", 1e-8 },
    { "desk", "speed.rel.err", 1e-8 },
    { "jam", "pose.drift.max", 1e-8 },
    { "jam:dim=2", "force.rel.err", 1e-8 },
    { "cradle", "impact.together.err", 1e-2 }, /* time stepping: all at once */
    { "painleve", "impact.rel.err", 1e-2 },    /* g h / u_0 = 4e-3 */
    { "painleve:mu=0.5", "accel.rel.err", 1e-2 },
    { "coulomb-oscillator", "err.tip.end", 1e-3 }, /* of a swing of 0.2 m */
    { "rolling-sphere", "event.err", 1.0 / 240 },
    { "coulomb-oscillator", "event.err", 2.5 / 240 },
    { "pushed-rectangle", "pen.max", 1e-8 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    below(at(rows[i].scene, 0, 0, rows[i].metric), rows[i].bound, "%s: %s", rows[i].scene,
          rows[i].metric);

  /* first order.  Impacts fall anywhere in a step, so that the slope is of five halvings and wide
   */
  static const struct {
    const char *scene, *metric;
    double h0;
    int halvings;
    double t_end, lo, hi;
  } orders[] = {
    { "bouncing-ball:e=0.5", "apex.rel.err", 1.0 / 240, 5, 0, 0.8, 1.6 },
    { "bouncing-ball:e=0.8", "apex.rel.err", 1.0 / 240, 5, 0, 0.8, 1.6 },
    { "painleve", "impact.rel.err", 1.0 / 240, 2, 0, 0.98, 1.02 },
    { "dominoes", "event.err", 1e-3, 2, 0, 0.7, 1.3 },
    { "rattleback", "err.q.max", 4e-4, 2, 0.5, 0.95, 1.05 },
    { "rolling-disc", "err.q.max", 1e-3, 2, 1, 0.98, 1.02 },
    { "spinning-wheel", "err.q.max", 1e-3, 2, 1, 0.98, 1.02 },
    { "turntable", "path.err.max", 2e-3, 2, 3, 0.98, 1.02 },
    { "rolling-sphere", "err.tip.max", 1.0 / 240, 2, 0, 0.98, 1.02 },
    { "rolling-resistance", "err.place.max", 4e-3, 2, 0, 0.95, 1.05 },
    { "spinning-ball", "err.turn.max", 4e-3, 2, 0, 0.95, 1.05 },
  };
  for (size_t i = 0; i < sizeof orders / sizeof *orders; i++) {
    const double p = slope(orders[i].scene, orders[i].metric, orders[i].h0, orders[i].halvings,
                           orders[i].t_end);
    ok(p >= orders[i].lo && p <= orders[i].hi, "%s: order %.3f of %s", orders[i].scene, p,
       orders[i].metric);
  }
}

/* ---- contact error with and without post-stabilization (Cline 2002, section 5.2.2, figure 5.11)
 * ---- */

static void cline(void)
{
  /* contacts are known once they are closed, as in his simulator: then they have an error */
  perp_request r = { .scene = "pushed-rectangle", .formulation = "velocity:gap=false" };
  r.stab = "none";
  const double without = metric_of(&r, "pen.max");
  ok(without > 0.01, "pushed rectangle: %.3g m of contact error without stabilization", without);
  r.stab = "post";
  /* the tolerance of the scheme, 1e-9 m */
  below(metric_of(&r, "pen.max"), 1.1e-9, "with post it is eliminated completely");

  /* his tolerance and halved steps: the error is below the tolerance, and 0 with post */
  r.formulation = "velocity:gap=false,tolerance=1.2e-3,halvings=100";
  below(metric_of(&r, "contact.err.max"), 1e-8, "with a tolerance and halved steps, too");
  r.stab = "none";
  const double most = metric_of(&r, "contact.err.max");
  ok(most > 0.9e-3 && most <= 1.2e-3 && metric_of(&r, "pen.max") == 0,
     "without post the error is %.4g of 1.2 mm, and nothing penetrates", 1e3 * most);
  /* a box that touches the ground and stays there, 1 mm nearer than the tolerance */
  perp_request box = { .scene = "stack:boxes=1",
                       .formulation = "velocity:gap=false,tolerance=1e-3",
                       .stab = "none" };
  near(metric_of(&box, "contact.err.max"), 1e-3, 1e-9, 0, "contact error of a box at rest");
  box.formulation = "velocity:gap=false";
  ok(isnan(metric_of(&box, "contact.err.max")), "without a tolerance there is none");
}

/* ---- energy never grows ---- */

static void energy(void)
{
  /* frictional or plastic scenes: rounding and the tolerance of the solver */
  static const char *const scenes[] = { "incline",
                                        "rolling-sphere",
                                        "oblique-impact",
                                        "stack:boxes=3",
                                        "arch:thickness=0.09",
                                        "dominoes",
                                        "coulomb-oscillator",
                                        "falling:objects=8,side=3",
                                        "tippe-top" };
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++)
    below(at(scenes[i], 0, 0.5, "energy.gain.rel"), 1e-6, "%s: energy does not grow", scenes[i]);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  incline();
  linearized();
  statics();
  motions();
  cline();
  energy();
  return tap_done();
}
