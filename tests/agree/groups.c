/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulation groups against one global step: the same bits where groups never meet and h is equal,
 * to the order of the method where they merge, for every formulation; twice the same. */
#include "tests/run_model.h"

static perp_ctx ctx;

enum { BODIES_MAX = 32 };

static double difference(int n, const double *a, const double *b)
{
  double worst = 0;
  for (int i = 0; i < n; i++) worst = fmax(worst, fabs(a[i] - b[i]));
  return worst;
}

/* chains of 1, 2 and 3 links, far from each other, and a spring between two free bodies */
static perp_model *mechanisms(void)
{
  perp_model *model = run_model(&ctx, 3);
  for (int c = 0, first = 0; c < 3; first += ++c)
    for (int i = 0; i <= c; i++) {
      run_body(&ctx, model,
               (perp_body_def){ .mass = perp_mass_box(1 + 0.3 * c, 0.1, 0.02, 0.03),
                                .x = { 0.1 * i + 0.05, c, 0 } });
      run_joint(&ctx, model,
                (perp_joint_def){ .kind = PERP_JOINT_BALL,
                                  .a = i == 0 ? PERP_WORLD : first + i - 1,
                                  .b = first + i,
                                  .anchor_a = { i == 0 ? 0 : 0.05, i == 0 ? c : 0, 0 },
                                  .anchor_b = { -0.05, 0, 0 } });
    }
  for (int i = 0; i < 2; i++)
    run_body(&ctx, model,
             (perp_body_def){
                 .mass = perp_mass_sphere(1 + i, 0.1), .x = { i, 5, 0 }, .w = { 1 + i, 2, 3 } });
  perp_force_def spring = {
    .kind = PERP_FORCE_SPRING, .a = 6, .b = 7, .stiffness = 30, .damping = 0.1, .length = 0.8
  };
  run_force(&ctx, model, spring);
  return run_finish(&ctx, model);
}

static void compare(perp_model *model, run_parts global, double h, double t_end, double tol)
{
  double q[2][7 * BODIES_MAX], v[2][6 * BODIES_MAX], again[7 * BODIES_MAX];
  char name[96];
  const int nq = perp_model_nq(model), nv = perp_model_nv(model);
  run_parts parts = global;
  snprintf(name, sizeof name, "groups:idle=inf,of=(%s)", global.formulation);
  parts.formulation = name;
  perp_reason all = run_fresh(&ctx, model, global, h, t_end, q[0], v[0]);
  perp_reason each = run_fresh(&ctx, model, parts, h, t_end, q[1], v[1]);
  run_fresh(&ctx, model, parts, h, t_end, again, NULL);
  double dq = difference(nq, q[0], q[1]), dv = difference(nv, v[0], v[1]);
  if (tol == 0)
    ok(all > 0 && each > 0 && memcmp(q[0], q[1], (size_t)nq * sizeof(double)) == 0 &&
           memcmp(v[0], v[1], (size_t)nv * sizeof(double)) == 0,
       "%s %s: the same bits in groups (%.3g, %.3g)", global.formulation, global.ode, dq, dv);
  else
    ok(all > 0 && each > 0 && dq <= tol && dv <= 100 * tol,
       "%s %s: in groups within %.3g (%.3g, %.3g)", global.formulation, global.ode, tol, dq, dv);
  ok(memcmp(again, q[1], (size_t)nq * sizeof(double)) == 0, "%s %s: twice the same",
     global.formulation, global.ode);
}

static void apart(void)
{
  /* the tolerance of methods that iterate over all bodies at once: their own, times the growth of a
   * second */
  static const struct {
    const char *formulation, *ode, *kkt, *stab;
    double tol;
  } cases[] = {
    { "velocity", "symplectic-euler", "tree", "", 0 },
    /* the order of elimination is that of the whole matrix: rounding */
    { "velocity", "symplectic-euler", "kkt-sparse", "", 1e-12 },
    { "acceleration", "rk4", "tree", "baumgarte", 0 },
    { "acceleration", "gsl:rk8pd", "tree", "none", 0 },
    { "acceleration:state=momentum", "rk4", "tree", "none", 0 },
    /* the default corrects when the error of all joints is above a tolerance */
    { "acceleration", "rk4", "tree", "", 1e-12 },
    { "acceleration", "implicit-midpoint", "tree", "", 1e-9 },
    { "acceleration", "dopri5:tol=1e-11", "tree", "", 1e-6 },
    { "reduced", "rk4", "", "", 0 },
    { "regularized", "symplectic-euler", "tree", "", 0 },
    { "penalty", "symplectic-euler", "", "", 0 },
    { "impulse", "", "", "", 1e-9 },
    { "ggl", "", "", "", 1e-9 },
  };
  perp_model *model = mechanisms();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    compare(model, (run_parts){ cases[i].formulation, cases[i].ode, cases[i].kkt, cases[i].stab },
            1e-3, 0.5, cases[i].tol);
  perp_model_destroy(model);
}

static void solid(perp_model *model, perp_body_def body, perp_shape_def shape)
{
  shape.body = run_body(&ctx, model, body);
  run_shape(&ctx, model, shape);
}

/* boxes on the floor, apart from each other, each with a spin; `meet`: a ball rolls into the row */
static perp_model *boxes(bool meet)
{
  perp_model *model = run_model(&ctx, 3);
  /* with friction what is hit tumbles, and no two solutions stay near each other */
  const double mu = meet ? 0 : 0.4;
  perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                           .body = PERP_WORLD,
                           .surface = { .mu = mu, .mu_dynamic = mu } };
  run_shape(&ctx, model, floor);
  for (int i = 0; i < 4; i++)
    solid(model,
          (perp_body_def){ .mass = perp_mass_box(1 + i, 0.2, 0.2, 0.2),
                           .x = { 0.35 * i, 0, 0.1 },
                           .v = { 0, 0.2 * i, 0 },
                           .w = { 0, 0, meet ? 0 : 1 + i } },
          (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                            .half = { 0.1, 0.1, 0.1 },
                            .surface = { .mu = mu, .mu_dynamic = mu } });
  if (meet)
    solid(
        model,
        (perp_body_def){ .mass = perp_mass_sphere(20, 0.1), .x = { -1, 0, 0.1 }, .v = { 3, 0, 0 } },
        (perp_shape_def){
            .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = { .mu = mu, .mu_dynamic = mu } });
  return run_finish(&ctx, model);
}

static void contacts(void)
{
  perp_model *model = boxes(false);
  static const char *const solvers[][2] = { { "dantzig", "box" },
                                            { "pgs:tol=1e-12,max_iter=10000", "box" },
                                            { "lemke", "polyhedral" },
                                            { "block-gs", "cone" } };
  for (int i = 0; i < 4; i++)
    compare(model,
            (run_parts){ "velocity", "symplectic-euler", "tree", "", solvers[i][0], solvers[i][1] },
            1e-3, 0.5, 0);
  perp_model_destroy(model);

  /* merged groups start with other guesses: the difference is that of two solutions of one problem
   * (a guess within the tolerance is not taken for one: this motion makes a hundred times of what
   * it leaves) */
  model = boxes(true);
  compare(model,
          (run_parts){ "velocity:reuse=false", "symplectic-euler", "tree", "", "dantzig", "box" },
          1e-3, 1, 1e-9);
  /* several steps between common times: a meeting is found late, and rolled back */
  double q[2][7 * 5];
  run_fresh(&ctx, model, (run_parts){ "velocity:reuse=false", "", "", "", "dantzig" }, 1e-3, 1,
            q[0], NULL);
  run_fresh(
      &ctx, model,
      (run_parts){ "groups:frame=8e-3,idle=inf,of=(velocity:reuse=false)", "", "", "", "dantzig" },
      1e-3, 1, q[1], NULL);
  double d = difference(7 * 5, q[0], q[1]);
  ok(d < 1e-9, "with eight steps between common times: %.3g", d);
  perp_model_destroy(model);
}

/* Steps of their own: two balls thrown at each other, a plastic impact off the line of centres, and
 * a third one that nobody meets.  The time of impact is known to a step: the error falls with h, as
 * that of one step for all. */
static void order(void)
{
  static const double x[3][2] = { { -0.5, 0 }, { 0.5, 0.05 }, { 5, 0 } };
  static const double v[3][2] = { { 1, 2 }, { -1.3, 2.1 }, { 0.1, 3 } };
  perp_model *model = run_model(&ctx, 3);
  for (int i = 0; i < 3; i++)
    solid(model,
          (perp_body_def){ .mass = perp_mass_sphere(1, 0.1),
                           .x = { x[i][0], x[i][1], 0 },
                           .v = { v[i][0], 0, v[i][1] } },
          (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1 });
  run_finish(&ctx, model);
  double truth[7 * 3], q[7 * 3], error[2][2];
  run_fresh(&ctx, model, (run_parts){ "velocity", "", "", "" }, 1e-3 / 64, 1, truth, NULL);
  static const char *const forms[2][2] = { { "groups:travel=16e-3", "groups:travel=2e-3" },
                                           { "velocity", "velocity" } };
  for (int form = 0; form < 2; form++)
    for (int i = 0; i < 2; i++) {
      run_fresh(&ctx, model, (run_parts){ forms[form][i], "", "", "" }, i == 0 ? 8e-3 : 1e-3, 1, q,
                NULL);
      error[form][i] = difference(7 * 3, truth, q);
    }
  ok(error[0][1] < 0.3 * error[0][0] && error[0][0] < error[1][0] && error[0][1] < error[1][1],
     "steps of their own converge: %.3g, %.3g (one step for all: %.3g, %.3g)", error[0][0],
     error[0][1], error[1][0], error[1][1]);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  apart();
  contacts();
  order();
  return tap_done();
}
