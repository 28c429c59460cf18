/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published figures on constraint drift: Cline 2002, figures 5.6-5.10 (six links of 100 mm, h = 1
 * ms), and Vondrak 2005, figure 9.1 (carousel).  The texts leave open which velocity moves the
 * positions, and Vondrak's on which level, so that all variants are pinned here. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static perp_ctx ctx;

static perp_result run(perp_request request)
{
  perp_result result;
  if (perp_simulate(&ctx, &request, &result) != PERP_OK) bail("%s: %s", request.scene, ctx.msg);
  return result;
}

/* Largest |C| of the chain to 0.8 s, mm.  Velocity level: the numbers that a planar model of its
 * own gave, with two digits (9.7, 2.8, 1.1, blow-up, 0.19 before the post-step for an explicit
 * position update; 2.7, 0.8, 0.3, 0.03, 0.06 for a semi-implicit one).  Cline: 20, 5, 3, jagged,
 * 0.5. */
static const struct {
  const char *formulation, *ode, *stab, *metric;
  double mm, tolerance; /* < 0: diverges */
} chain[] = {
  { "velocity", "euler", "none", "drift.pos.max", 9.7, 0.05 },
  { "velocity", "euler", "baumgarte:alpha=50", "drift.pos.max", 2.8, 0.05 },
  { "velocity", "euler", "baumgarte:alpha=200", "drift.pos.max", 1.1, 0.05 },
  { "velocity", "euler", "baumgarte:alpha=2000", "drift.pos.max", -1, 0 },
  { "velocity", "euler", "post", "drift.pos.pre", 0.19, 0.05 },
  { "velocity", "symplectic-euler", "none", "drift.pos.max", 2.7, 0.05 },
  { "velocity", "symplectic-euler", "baumgarte:alpha=50", "drift.pos.max", 0.8, 0.05 },
  { "velocity", "symplectic-euler", "baumgarte:alpha=200", "drift.pos.max", 0.3, 0.05 },
  { "velocity", "symplectic-euler", "baumgarte:alpha=2000", "drift.pos.max", 0.03, 0.15 },
  { "velocity", "symplectic-euler", "post", "drift.pos.pre", 0.06, 0.05 },
  /* acceleration level: our own */
  { "acceleration", "euler", "none", "drift.pos.max", 5.58, 0.01 },
  { "acceleration", "euler", "baumgarte:alpha=50", "drift.pos.max", 1.89, 0.01 },
  { "acceleration", "euler", "baumgarte:alpha=200", "drift.pos.max", 0.731, 0.01 },
  { "acceleration", "euler", "baumgarte:alpha=2000", "drift.pos.max", -1, 0 },
  { "acceleration", "symplectic-euler", "none", "drift.pos.max", 48.2, 0.01 },
  { "acceleration", "symplectic-euler", "baumgarte:alpha=50", "drift.pos.max", 1.50, 0.01 },
  { "acceleration", "symplectic-euler", "baumgarte:alpha=200", "drift.pos.max", 0.587, 0.01 },
};

static void cline(void)
{
  static const char *const spaces[] = { "chain:links=6,truth=none",
                                        "chain:links=6,truth=none,dim=2" };
  for (int s = 0; s < 2; s++) {
    for (size_t i = 0; i < sizeof chain / sizeof *chain; i++) {
      perp_result r = run((perp_request){ .scene = spaces[s],
                                          .formulation = chain[i].formulation,
                                          .ode = chain[i].ode,
                                          .stab = chain[i].stab,
                                          .h = 1e-3,
                                          .t_end = 0.8 });
      double mm = 1e3 * perp_result_metric(&r, chain[i].metric);
      if (chain[i].mm < 0)
        ok(r.reason < 0, "%s: %s, %s, %s diverges", s ? "plane" : "space", chain[i].formulation,
           chain[i].ode, chain[i].stab);
      else
        near(mm, chain[i].mm, 0, chain[i].tolerance, "%s: %s, %s, %s: %.3g mm",
             s ? "plane" : "space", chain[i].formulation, chain[i].ode, chain[i].stab, mm);
      perp_result_free(&r);
    }
  }
}

/* Largest error of the chain to t_end, mm, where gravity is fitted to Cline's figures: one
 * number, 50.25 m/s^2. */
static double fitted(const char *stab, double t_end, const char *metric)
{
  perp_result r = run((perp_request){ .scene = "chain:links=6,gravity=50.25,dim=2,truth=none",
                                      .formulation = "velocity",
                                      .ode = "symplectic-euler",
                                      .stab = stab,
                                      .h = 1e-3,
                                      .t_end = t_end });
  const double mm = r.reason < 0 ? (double)INFINITY : 1e3 * perp_result_metric(&r, metric);
  perp_result_free(&r);
  return mm;
}

static void cline_fitted(void)
{
  static const struct {
    const char *stab, *metric;
    double published, factor; /* mm; measured: 1.12, 1.02, 1.08, 1.39, 1.46 */
  } figures[] = {
    { "none", "drift.pos.max", 20, 1.4 },
    { "baumgarte:alpha=50", "drift.pos.max", 5, 1.4 },
    { "baumgarte:alpha=200", "drift.pos.max", 3, 1.4 },
    { "baumgarte:alpha=2000", "drift.pos.max", 5, 1.6 }, /* undamped, and jagged in gravity too */
    { "post:velocity=false", "drift.pos.pre", 0.5, 1.6 },
  };
  for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
    const double mm = fitted(figures[i].stab, 0.8, figures[i].metric);
    ok(mm < figures[i].factor * figures[i].published &&
           mm > figures[i].published / figures[i].factor,
       "gravity 50.25 m/s^2: %s: %.3g mm, published about %g", figures[i].stab, mm,
       figures[i].published);
  }
  below(fitted("post:velocity=false", 0.8, "drift.pos.max"), 0.01,
        "gravity 50.25 m/s^2: corrected, the error stays below Cline's 0.01 mm");
  ok(fitted("none", 0.6, "drift.pos.max") > 20 / 1.4,
     "gravity 50.25 m/s^2: by 0.6 s, as he reads it off");
  /* "the graph has stair steps because of the periodic nature of the swinging chain": level, up,
   * level */
  static const double t[] = { 0.20, 0.38, 0.52, 0.56 };
  double mm[4];
  for (int i = 0; i < 4; i++) mm[i] = fitted("none", t[i], "drift.pos.max");
  ok(mm[1] < 1.05 * mm[0] && mm[2] > 2 * mm[1] && mm[3] < 1.05 * mm[2],
     "stairs: %.3g, %.3g, %.3g, %.3g mm at %g, %g, %g, %g s", mm[0], mm[1], mm[2], mm[3], t[0],
     t[1], t[2], t[3]);
}

/* One metric of a scene on the velocity level under semi-implicit Euler, contacts acting when they
 * are reached. */
static double errs(const char *scene, const char *stab, double h, const char *metric)
{
  perp_result r = run((perp_request){ .scene = scene,
                                      .formulation = "velocity:gap=false",
                                      .ode = "symplectic-euler",
                                      .stab = stab,
                                      .h = h });
  if (r.reason < 0) bail("%s, %s: %s", scene, stab, perp_reason_name(r.reason));
  const double value = perp_result_metric(&r, metric);
  perp_result_free(&r);
  return value;
}

/* Cline 2002, figure 5.13 and section 5.2.3. */
static void cline_errors(void)
{
  static const char five[] = "pushed-rectangle:rectangles=5",
                    apart[] = "chain:links=6,dim=2,error=0.2";
  ok(errs(five, "none", 0, "pen.max") > 0.01, "five rectangles err by a centimetre");
  below(errs(five, "post", 0, "pen.max"), 1e-8, "post-stabilization removes their error");
  below(errs(apart, "post", 1e-3, "energy.rel.max"), 0.05,
        "links far apart: corrected positions throw no bodies");
  ok(errs(apart, "post:velocity=true", 1e-3, "energy.rel.max") > 0.95,
     "links far apart: a correction that enters the velocity throws them");
  below(errs(apart, "baumgarte:alpha=20", 1e-3, "energy.rel.max"), 0.8,
        "links far apart: feedback that is not too large does better than that");
}

static void post_stabilization(void)
{
  perp_request request = { .scene = "chain:links=6",
                           .formulation = "velocity",
                           .ode = "symplectic-euler",
                           .kkt = "tree",
                           .stab = "post",
                           .h = 1e-3,
                           .t_end = 0.8 };
  perp_result post = run(request);
  below(perp_result_metric(&post, "drift.pos.max"), 1e-5,
        "post-stabilization: joints hold to 10 um");
  request.stab = "none";
  perp_result none = run(request);
  ok(perp_result_metric(&none, "drift.pos.max") > 1e-3, "without: they drift by millimetres");
  request.stab = "baumgarte"; /* full feedback, alpha = 1/h */
  perp_result full = run(request);
  /* drift is not accuracy: 0.26 mm off at the end against 12 mm of the method that holds the joints
   */
  below(perp_result_metric(&full, "err.tip.end"), 0.4e-3, "full feedback: the tip ends %.2g mm off",
        1e3 * perp_result_metric(&full, "err.tip.end"));
  ok(perp_result_metric(&post, "err.tip.end") > 5e-3, "exact joints: the tip ends %.2g mm off",
     1e3 * perp_result_metric(&post, "err.tip.end"));
  perp_result_free(&post);
  perp_result_free(&none);
  perp_result_free(&full);
}

/* average constraint error of the carousel's joints in 10 s, no stabilization */
static double carousel(const char *formulation, const char *ode, perp_reason *reason)
{
  perp_result r = run((perp_request){ .scene = "carousel:truth=none",
                                      .formulation = formulation,
                                      .ode = ode,
                                      .stab = "none",
                                      .h = 1e-3,
                                      .t_end = 10 });
  double mean = perp_result_metric(&r, "drift.pos.mean");
  *reason = r.reason;
  perp_result_free(&r);
  return mean;
}

static void vondrak(void)
{
  perp_reason reason;
  double euler = carousel("acceleration", "euler", &reason);
  ok(reason < 0 || euler > 0.1, "acceleration level: Euler fails (%s, mean |C| %.2g m)",
     perp_reason_name(reason), euler);
  double midpoint = carousel("acceleration", "midpoint", &reason);
  ok(reason > 0 && midpoint < 1e-3,
     "acceleration level: midpoint holds the chains, mean |C| %.2g m", midpoint);
  double rk4 = carousel("acceleration", "rk4", &reason);
  ok(reason > 0 && rk4 < 0.01 * midpoint,
     "acceleration level: Runge-Kutta holds them better, %.2g m", rk4);
  double velocity = carousel("velocity", "symplectic-euler", &reason);
  ok(reason > 0 && velocity < 5e-3, "velocity level: Euler does well, mean |C| %.2g m", velocity);
}

/* Vondrak 2005, figure 9.2, TestChain: its links have shapes. */
static void colliding_chain(void)
{
  perp_result r = run((perp_request){ .scene = "chain:links=32,joint=mixed,collide=true",
                                      .formulation = "velocity",
                                      .ode = "symplectic-euler",
                                      .kkt = "tree",
                                      .h = 1e-3,
                                      .t_end = 2.5 });
  ok(r.reason > 0 && perp_result_metric(&r, "contacts.max") >= 2, "colliding chain: links touch");
  below(perp_result_metric(&r, "pen.max"), 1e-6, "colliding chain: links stay apart");
  below(perp_result_metric(&r, "drift.pos.max"), 5e-3, "colliding chain: joints hold");
  perp_result_free(&r);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  cline();
  cline_fitted();
  cline_errors();
  post_stabilization();
  vondrak();
  colliding_chain();
  return tap_done();
}
