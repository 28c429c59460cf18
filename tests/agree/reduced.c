/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates under ODE solvers: the same motion as maximal coordinates with constraints, the
 * order of the solver, and bounded energy of symplectic methods over 1e5 steps. */
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "tests/tap.h"

#include <string.h>

enum { NQ = 7 * 16, NV = 6 * 16 };

static perp_ctx ctx;

static void parse(perp_kind kind, const char *text, perp_spec *spec)
{
  if (perp_spec_parse(&ctx, kind, text, spec) != PERP_OK) bail("%s", ctx.msg);
}

static void open_scene(const char *text, perp_scene *scene)
{
  perp_spec spec;
  parse(PERP_KIND_scene, text, &spec);
  if (perp_scene_create(&ctx, &spec, scene) != PERP_OK) bail("%s: %s", text, ctx.msg);
  perp_spec_free(&spec);
}

static perp_sim *start(perp_model *model, const char *formulation, const char *ode, double h)
{
  perp_parts parts = { 0 };
  perp_sim *sim;
  parse(PERP_KIND_formulation, formulation, &parts.formulation);
  parse(PERP_KIND_ode, ode, &parts.ode);
  if (perp_sim_create(&ctx, model, &parts, h, &sim) != PERP_OK)
    bail("%s %s: %s", formulation, ode, ctx.msg);
  perp_spec_free(&parts.formulation);
  perp_spec_free(&parts.ode);
  return sim;
}

static void advance(perp_sim *sim, double t_end, double *q, double *v, const perp_model *model)
{
  double t = 0;
  const double *qt, *vt;
  perp_step_info info;
  while (t < t_end) {
    if (perp_sim_step(&ctx, sim, t_end, &info) != PERP_OK || info.reason < 0)
      bail("stopped at %g: %s", t, perp_reason_name(info.reason));
    perp_sim_state(sim, &t, &qt, &vt);
  }
  memcpy(q, qt, (size_t)perp_model_nq(model) * sizeof *q);
  memcpy(v, vt, (size_t)perp_model_nv(model) * sizeof *v);
}

/* largest part of q1 [-] q0 */
static double apart(const perp_model *model, const double *q0, const double *q1)
{
  double dq[NV], most = 0;
  perp_model_difference(model, q0, q1, dq);
  for (int i = 0; i < perp_model_nv(model); i++) most = fmax(most, fabs(dq[i]));
  return most;
}

/* ---- the same motion as with constraints ---- */

static int add_box(perp_model *m, double x, double y, double z)
{
  int index;
  perp_body_def body = { .mass = perp_mass_box(1 + x * x, 0.3, 0.2, 0.1), .x = { x, y, z } };
  if (perp_model_add_body(&ctx, m, &body, &index) != PERP_OK) bail("%s", ctx.msg);
  return index;
}

static void join(perp_model *m, perp_joint_kind kind, int a, int b, const double p[3],
                 const double axis[3], const double axis_b[3], double length)
{
  perp_joint_def def = { .kind = kind, .a = a, .b = b, .length = length };
  for (int i = 0; i < 3; i++) {
    def.anchor_a[i] = p[i] - (a < 0 ? 0 : perp_model_body(m, a)->x[i]);
    def.anchor_b[i] = p[i] - (b < 0 ? 0 : perp_model_body(m, b)->x[i]);
    def.axis_a[i] = axis[i];
    def.axis_b[i] = axis_b[i];
  }
  if (length > 0) def.anchor_b[1] += length; /* all bodies start unturned */
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK) bail("%s", ctx.msg);
}

/* One joint of each kind in a tree, held by the world or floating, with a spring and drag. */
static perp_model *zoo(bool floating)
{
  static const double x[3] = { 1, 0, 0 }, y[3] = { 0, 1, 0 }, z[3] = { 0, 0, 1 },
                      slant[3] = { 1, 2, -1 };
  perp_model *m;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  int root = add_box(m, 0, 0, 0), arm = add_box(m, 0.4, 0, 0), cross = add_box(m, 0.8, 0.1, 0),
      slide = add_box(m, 0, 0.5, 0), stiff = add_box(m, 0, 0.5, 0.4),
      swing = add_box(m, -0.3, 0, -0.6), ball = add_box(m, -0.4, -0.2, 0.1);
  if (!floating)
    join(m, PERP_JOINT_HINGE, PERP_WORLD, root, (double[3]){ -0.1, 0, 0.1 }, slant, slant, 0);
  join(m, PERP_JOINT_HINGE, root, arm, (double[3]){ 0.2, 0, 0 }, y, y, 0);
  join(m, PERP_JOINT_UNIVERSAL, cross, arm, (double[3]){ 0.6, 0, 0 }, z, x, 0);
  join(m, PERP_JOINT_SLIDER, root, slide, (double[3]){ 0, 0.3, 0 }, slant, slant, 0);
  join(m, PERP_JOINT_FIXED, slide, stiff, (double[3]){ 0, 0.5, 0.2 }, x, x, 0);
  join(m, PERP_JOINT_DISTANCE, root, swing, (double[3]){ -0.1, 0, -0.2 }, x, x, 0.4);
  join(m, PERP_JOINT_BALL, ball, root, (double[3]){ -0.2, -0.1, 0 }, x, x, 0);
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = slide,
                                  .b = ball,
                                  .stiffness = 40,
                                  .damping = 0.5,
                                  .length = 0.3,
                                  .anchor_a = { 0.05, 0, 0.02 } };
  const perp_force_def drag = {
    .kind = PERP_FORCE_DRAG, .a = cross, .b = PERP_WORLD, .linear = 0.2, .angular = 0.01
  };
  if (perp_model_add_force(&ctx, m, &spring) != PERP_OK ||
      perp_model_add_force(&ctx, m, &drag) != PERP_OK)
    bail("%s", ctx.msg);
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static void same_motion(void)
{
  for (int floating = 0; floating < 2; floating++) {
    const char *what = floating ? "floating tree" : "tree on the world";
    perp_model *m = zoo(floating);
    double q[2][NQ], v[2][NV], C[NV];
    perp_sim *reduced = start(m, "reduced", "gsl:rk8pd:tol=1e-13", 1e-4);
    perp_sim *maximal = start(m, "acceleration", "gsl:rk8pd:tol=1e-12", 1e-4);
    advance(reduced, 1, q[0], v[0], m);
    advance(maximal, 1, q[1], v[1], m);
    /* both errors are of the order of their tolerance times 1e3 steps */
    below(apart(m, q[0], q[1]), 1e-9, "%s: joint coordinates and constraints move alike", what);
    ok(apart(m, q[0], perp_model_q0(m)) > 0.5, "%s: it has moved", what);
    perp_model_error(m, 1, q[0], C);
    double drift = 0;
    for (int i = 0; i < perp_model_m(m); i++) drift = fmax(drift, fabs(C[i]));
    below(drift, 1e-14, "%s: joints hold to rounding", what);

    /* a restart at that state goes on with it */
    double q2[NQ], v2[NV];
    if (perp_sim_restart(&ctx, reduced, 0, q[0], v[0]) != PERP_OK) bail("%s", ctx.msg);
    if (perp_sim_restart(&ctx, maximal, 0, q[0], v[0]) != PERP_OK) bail("%s", ctx.msg);
    advance(reduced, 0.3, q2, v2, m);
    advance(maximal, 0.3, q[1], v[1], m);
    below(apart(m, q2, q[1]), 1e-9, "%s: and after a restart in the middle", what);
    perp_sim_destroy(reduced);
    perp_sim_destroy(maximal);
    perp_model_destroy(m);
  }
}

/* ---- order of the solver ---- */

static void orders(void)
{
  static const struct {
    const char *ode;
    double order, h, tolerance;
  } cases[] = {
    /* steps at which the slope has settled and rounding is far; dopri5 meets rounding before it
       settles */
    { "euler", 1, 1e-3, 0.1 },
    { "symplectic-euler", 1, 1e-3, 0.1 },
    { "midpoint", 2, 4e-3, 0.1 },
    { "heun", 2, 4e-3, 0.1 },
    { "rk4", 4, 8e-3, 0.1 },
    { "verlet", 2, 4e-3, 0.1 },
    { "implicit-midpoint", 2, 4e-3, 0.1 },
    { "dopri5", 5, 32e-3, 0.4 },
  };
  static const char *const scenes[] = { "chain:links=3", "pendulum", "pendulum:body=rod,dim=3" };
  static const int finer[] = { 8, 1, 1 }; /* the chain of 0.1 m links moves faster */
  for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
    perp_scene scene;
    open_scene(scenes[s], &scene);
    const perp_truth *truth = &scene.truth[scene.n_truths - 1];
    double q_ref[NQ], v_ref[NV], q[NQ], v[NV];
    /* a multiple of all steps; later the chain bends so fast that rk4 shows its fifth-order term */
    const double t_end = s == 0 ? 0.128 : 0.256;
    if (truth->state(truth->user, &ctx, t_end, q_ref, v_ref) != PERP_OK) bail("%s", ctx.msg);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      double error[2];
      for (int k = 0; k < 2; k++) {
        perp_sim *sim = start(scene.model, "reduced", cases[i].ode, cases[i].h / (finer[s] << k));
        advance(sim, t_end, q, v, scene.model);
        error[k] = apart(scene.model, q_ref, q);
        perp_sim_destroy(sim);
      }
      near(log2(error[0] / error[1]), cases[i].order, cases[i].tolerance, 0,
           "%s, %s: order %g (errors %.2g, %.2g)", scenes[s], cases[i].ode, cases[i].order,
           error[0], error[1]);
    }
    perp_scene_destroy(&scene);
  }
}

/* ---- bounded energy ---- */

static double energy(const perp_model *m, perp_sim *sim)
{
  double t, kinetic, potential;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  perp_model_energy(m, t, q, v, &kinetic, &potential);
  return kinetic + potential;
}

/* largest energy error in the first and in the last tenth of 1e5 steps */
static void wander(const char *scene_name, const char *ode, double h, double *early, double *late)
{
  enum { STEPS = 100000 };
  perp_scene scene;
  perp_step_info info;
  open_scene(scene_name, &scene);
  perp_sim *sim = start(scene.model, "reduced", ode, h);
  const double E0 = energy(scene.model, sim);
  *early = *late = 0;
  for (int i = 0; i < STEPS; i++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: stopped: %s", ode, perp_reason_name(info.reason));
    if (i < STEPS / 10) *early = fmax(*early, fabs(energy(scene.model, sim) - E0));
    if (i >= STEPS - STEPS / 10) *late = fmax(*late, fabs(energy(scene.model, sim) - E0));
  }
  perp_sim_destroy(sim);
  perp_scene_destroy(&scene);
}

static void bounded(void)
{
  static const char *const scenes[] = {
    "pendulum", "pendulum:body=rod", "pendulum:body=rod,dim=3", "pendulum:dim=3",
    "spring",   "spring:dim=3"
  };
  static const char *const methods[] = { "symplectic-euler", "verlet", "implicit-midpoint" };
  double early, late;
  for (size_t s = 0; s < sizeof scenes / sizeof *scenes; s++) {
    for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
      wander(scenes[s], methods[i], 5e-3, &early, &late);
      /* no growth: a bounded oscillation has the same extremes in any tenth; 1e-9 J is rounding */
      ok(late <= 1.02 * early + 1e-9, "%s, %s: energy error %.3g J early, %.3g J after 1e5 steps",
         scenes[s], methods[i], early, late);
    }
  }
  wander("pendulum", "rk4", 5e-3, &early, &late);
  ok(late > 5 * early, "control: rk4 drifts, %.3g J early, %.3g J late", early, late);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  same_motion();
  orders();
  bounded();
  return tap_done();
}
