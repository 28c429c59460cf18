/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft contacts against closed forms: how deep a body lies, the discrete oscillation of spring and
 * damper, the softness and feedback that stand for them, and what Baumgarte's feedback gives back
 * in a step. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81, h = 1e-2;

/* a box (4 points in space, 2 in the plane) or a ball of 2 kg with its lowest point at z */
static perp_model *on_ground(int dim, perp_shape_kind kind, double z, double vz)
{
  const int up = dim - 1;
  perp_model *model = run_model(&ctx, dim);
  perp_model_gravity(model, g);
  perp_body_def body = { .mass = kind == PERP_SHAPE_BOX ? perp_mass_box(2, 1, 1, 1)
                                                        : perp_mass_sphere(2, 0.5) };
  body.x[up] = 0.5 + z;
  body.v[up] = vz;
  run_body(&ctx, model, body);
  for (int i = 0; i < 2; i++) {
    perp_shape_def shape = { .kind = i == 0 ? PERP_SHAPE_PLANE : kind,
                             .body = i == 0 ? PERP_WORLD : 0,
                             .radius = 0.5,
                             .half = { 0.5, 0.5, 0.5 },
                             .surface = { .mu = 0.5, .mu_dynamic = 0.5, .restitution = 0.7 } };
    run_shape(&ctx, model, shape);
  }
  return run_finish(&ctx, model);
}

/* height of the lowest point above the ground and its rate */
static void lowest(const perp_sim *sim, int dim, double *z, double *vz)
{
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  *z = q[dim - 1] - 0.5;
  *vz = v[dim - 1];
}

static void one_step(perp_sim *sim)
{
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
    bail("%s %s", perp_reason_name(info.reason), ctx.msg);
}

/* At rest the points carry the weight: k depth = m g / points. */
static void test_statics(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box" },
    { .lcp = "lemke", .contact = "polyhedral" },
    { .lcp = "block-gs", .contact = "cone" },
    { .lcp = "dantzig", .contact = "frictionless" },
  };
  for (int dim = 2; dim <= 3; dim++)
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
      run_parts p = parts[i];
      p.formulation = "velocity:stiffness=5000,damping=150";
      const int points = dim == 3 ? 4 : 2;
      perp_model *model = on_ground(dim, PERP_SHAPE_BOX, 1e-3, 0);
      perp_sim *sim = run_start(&ctx, model, p, h);
      double z, vz;
      for (int k = 0; k < 600; k++) one_step(sim);
      lowest(sim, dim, &z, &vz);
      /* the solver leaves 1e-8 of the impulse of the weight */
      near(z, -2 * g / (points * 5000), 0, 1e-6, "%s, %s, dim %d: sinks by m g / (%d k)", p.lcp,
           p.contact, dim, points);
      below(fabs(vz), 1e-9, "%s, %s, dim %d: at rest", p.lcp, p.contact, dim);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

/* In contact: v+ = (v - h g - h k z / m) / (1 + h c / m + h^2 k / m), z+ = z + h v+. */
static void test_oscillation(void)
{
  static const struct {
    const char *formulation;
    double k, c;
  } cases[] = {
    { "velocity:stiffness=2000,damping=10", 2000, 10 },
    { "velocity:stiffness=2000", 2000, 0 },
    { "velocity:stiffness=100000,damping=1000", 1e5, 1e3 },
    { "velocity:damping=40", 0, 40 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    /* half as deep again as at rest: always in contact */
    const double k = cases[i].k, c = cases[i].c, m = 2, start = k > 0 ? -1.5 * m * g / k : -0.01;
    perp_model *model = on_ground(3, PERP_SHAPE_SPHERE, start, 0);
    perp_sim *sim = run_start(
        &ctx, model,
        (run_parts){ .formulation = cases[i].formulation, .lcp = "dantzig", .contact = "box" }, h);
    double z = start, v = 0, worst = 0, got_z, got_v;
    int steps = 0;
    for (; steps < 60; steps++) {
      double next = (v - h * g - h * k * z / m) / (1 + h * c / m + h * h * k / m);
      if (next < v - h * g) break; /* it would pull */
      v = next;
      z += h * v;
      one_step(sim);
      lowest(sim, 3, &got_z, &got_v);
      worst = fmax(worst, fmax(fabs(got_z - z), h * fabs(got_v - v)));
    }
    ok(steps == 60, "%s: %d steps in contact", cases[i].formulation, steps);
    below(worst, 1e-10, "%s: the discrete oscillation", cases[i].formulation);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* A ball that falls on a spring rises again, without dampers to nearly its height, and never
 * pulled. */
static void test_bounce(void)
{
  perp_model *model = on_ground(3, PERP_SHAPE_SPHERE, 0.2, 0);
  double z, vz, top[2] = { 0, 0 };
  for (int damped = 0; damped < 2; damped++) {
    perp_sim *sim = run_start(&ctx, model,
                              (run_parts){ .formulation = damped
                                                              ? "velocity:stiffness=2e4,damping=100"
                                                              : "velocity:stiffness=2e4",
                                           .lcp = "dantzig",
                                           .contact = "box" },
                              1e-4);
    for (int k = 0; k < 4500; k++) {
      one_step(sim);
      lowest(sim, 3, &z, &vz);
      if (k > 2200) top[damped] = fmax(top[damped], z);
    }
    perp_sim_destroy(sim);
  }
  /* implicit in the step, first order: omega h = 0.01, half a turn, 2 pi / 2 of it lost at most */
  ok(top[0] < 0.2 && top[0] > 0.2 * (1 - 0.04), "a spring gives back the height: %g of 0.2 m",
     top[0]);
  ok(top[1] > 0 && top[1] < 0.6 * top[0], "a damper takes of it: %g m", top[1]);
  perp_model_destroy(model);
}

/* S and alpha of the same spring and damper, by the options softness and baumgarte:alpha. */
static void test_equivalence(void)
{
  const double k = 3000, c = 60, S = 1 / (h * (h * k + c)), alpha = k / (h * k + c);
  char formulation[2][80], stab[80];
  snprintf(formulation[0], sizeof formulation[0], "velocity:stiffness=%.17g,damping=%.17g", k, c);
  snprintf(formulation[1], sizeof formulation[1], "velocity:softness=%.17g", S);
  snprintf(stab, sizeof stab, "baumgarte:alpha=%.17g,push=1e9", alpha);
  perp_model *model = on_ground(3, PERP_SHAPE_SPHERE, -0.01, 0);
  double q[2][7], v[2][6];
  for (int i = 0; i < 2; i++)
    run_fresh(&ctx, model,
              (run_parts){ .formulation = formulation[i],
                           .stab = i == 1 ? stab : NULL,
                           .lcp = "dantzig",
                           .contact = "frictionless" },
              h, 2, q[i], v[i]);
  near(q[1][2], q[0][2], 1e-12, 0, "softness 1/(h(hk + c)) and feedback k/(hk + c): a spring");
  below(q[0][2], 0.5 - 1e-3, "which is below the surface");
  perp_model_destroy(model);
}

/* Baumgarte on contacts, rigid: each step gives back the part h alpha of the depth.  (As long as
 * gravity takes the velocity of the step before, which stays with the body.) */
static void test_feedback(void)
{
  static const struct {
    const char *stab;
    double part;
  } cases[] = { { "baumgarte", 0.2 }, { "baumgarte:alpha=50", 0.5 }, { "none", 0 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = on_ground(3, PERP_SHAPE_BOX, -0.001, 0);
    perp_sim *sim = run_start(
        &ctx, model, (run_parts){ .stab = cases[i].stab, .lcp = "dantzig", .contact = "box" }, h);
    double z = -0.001, vz, worst = 0;
    for (int k = 0; k < 8; k++) {
      double before = z;
      one_step(sim);
      lowest(sim, 3, &z, &vz);
      worst = fmax(worst, fabs(z - (1 - cases[i].part) * before));
    }
    below(worst, 1e-9, "%s: the part %g of the depth is given back", cases[i].stab, cases[i].part);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

static void test_refusal(void)
{
  perp_model *model = on_ground(3, PERP_SHAPE_BOX, 0, 0);
  perp_parts parts;
  perp_sim *sim = NULL;
  run_parts names = { .formulation = "velocity:softness=1,stiffness=10" };
  if (run_parse(&ctx, &names, &parts) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_sim_create(&ctx, model, &parts, h, &sim) == PERP_ERR_OPTION, "softness and stiffness: %s",
     ctx.msg);
  run_free(&parts);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_statics();
  test_oscillation();
  test_bounce();
  test_equivalence();
  test_feedback();
  test_refusal();
  return tap_done();
}
