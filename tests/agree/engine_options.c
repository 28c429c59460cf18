/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What engines refuse, and what single options of theirs do: options that have an effect which is
 * known, and defaults that are those of the engine. */
#include "tests/run_model.h"

static perp_ctx ctx;

static bool here(const char *engine)
{
  const perp_engine_calls *calls;
  const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine, engine);
  if (d != NULL && perp_engine_load(&ctx, d, &calls) == PERP_OK) return true;
  skip("not here", "%s", engine);
  return false;
}

/* State at t_end of steps of h; how many problems the engine said to have failed in. */
static int64_t run_engine(perp_model *m, const char *name, double h, double t_end, double *q,
                          double *v)
{
  perp_parts parts = { .formulation = { 0 } };
  perp_sim *sim;
  double t;
  const double *at, *rate;
  if (perp_spec_parse(&ctx, PERP_KIND_engine, name, &parts.engine) != PERP_OK ||
      perp_sim_create(&ctx, m, &parts, h, &sim) != PERP_OK)
    bail("%s: %s", name, ctx.msg);
  perp_parts_free(&parts);
  run_to(&ctx, sim, t_end);
  perp_sim_state(sim, &t, &at, &rate);
  memcpy(q, at, (size_t)perp_model_nq(m) * sizeof *q);
  memcpy(v, rate, (size_t)perp_model_nv(m) * sizeof *v);
  const int64_t failures = perp_sim_contacts(sim)->failures;
  perp_sim_destroy(sim);
  return failures;
}

/* Wherever in the model it is, what an engine does not have is refused by name. */
static void refusals(void)
{
  const perp_engine_desc *d = (const perp_engine_desc *)perp_find(&ctx, PERP_KIND_engine, "bullet");
  for (int breaks = 0; breaks < 2; breaks++) {
    perp_model *m = run_model(&ctx, 3);
    for (int k = 0; k < 2; k++) {
      run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1) });
      run_joint(&ctx, m,
                (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                  .a = k - 1,
                                  .b = k,
                                  .axis_a = { 1 },
                                  .axis_b = { 1 },
                                  .strength = breaks && k == 0 ? 1 : 0 });
    }
    if (!breaks)
      run_drive(&ctx, m,
                (perp_drive_def){
                    .lower = -HUGE_VAL, .upper = HUGE_VAL, .damping = 1, .max_force = HUGE_VAL });
    run_finish(&ctx, m);
    ok(perp_engine_serves(&ctx, d, m) == PERP_ERR_UNSUPPORTED &&
           strstr(ctx.msg, breaks ? "break" : "dampers") != NULL,
       "refused: %s", ctx.msg);
    perp_model_destroy(m);
  }
}

/* A ball without weight that starts `deep` in a floor and falls: its height and speed at t. */
static void meets(const char *name, int dim, double deep, double fall, double e, double t,
                  double *z, double *speed)
{
  double q[7], v[6];
  const perp_surface surface = { .restitution = e };
  perp_model *m = run_model(&ctx, dim);
  perp_body_def b = { .mass = perp_mass_sphere(1, 0.5) };
  perp_model_gravity(m, 0);
  b.x[dim - 1] = 0.5 - deep;
  b.v[dim - 1] = -fall;
  run_body(&ctx, m, b);
  run_shape(&ctx, m,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
  run_shape(&ctx, m,
            (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.5, .surface = surface });
  run_finish(&ctx, m);
  run_engine(m, name, 1e-3, t, q, v);
  *z = q[dim - 1], *speed = v[dim - 1];
  perp_model_destroy(m);
}

static void rises(const char *name, int dim, double deep, double t, double *z, double *speed)
{
  meets(name, dim, deep, 0, 0, t, z, speed);
}

/* Cubes on each other, each `ratio` times as heavy as the one below. */
static perp_model *cubes(int n, double ratio)
{
  perp_model *m = run_model(&ctx, 3);
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  for (int k = 0; k < n; k++) {
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = perp_mass_box(pow(ratio, k), 1, 1, 1), .x = { 0, 0, k + 0.5 } });
    run_shape(&ctx, m,
              (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                                .body = k,
                                .half = { 0.5, 0.5, 0.5 },
                                .surface = { 0.5, (double)NAN, 0 } });
  }
  return run_finish(&ctx, m);
}

/* How much the velocity of a free, turning brick changes across the axis it turns about. */
static double turning(const char *name)
{
  double q[7], v[6];
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 0.6, 0.2), .w = { 0.3, 2, 0.1 } });
  perp_model_gravity(m, 0);
  run_finish(&ctx, m);
  run_engine(m, name, 1e-3, 0.5, q, v);
  perp_model_destroy(m);
  return hypot(v[3] - 0.3, v[5] - 0.1);
}

/* Speed of a cube on a floor that is pushed by 0.4 of its largest friction for 1 s. */
static double sticking_speed(const char *name)
{
  double q[7], v[6];
  const perp_surface surface = { .mu = 0.5, .mu_dynamic = 0.5 };
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 0, 0, 0.5 } });
  run_shape(&ctx, m,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
  run_shape(
      &ctx, m,
      (perp_shape_def){ .kind = PERP_SHAPE_BOX, .half = { 0.5, 0.5, 0.5 }, .surface = surface });
  run_force(&ctx, m, (perp_force_def){ .kind = PERP_FORCE_POINT, .value = { 2 } });
  run_finish(&ctx, m);
  run_engine(m, name, 1e-3, 1, q, v);
  perp_model_destroy(m);
  return v[0];
}

/* What a step leaves of a pin that is 1 cm off. */
static double pinned(const char *name)
{
  double q[7], v[6];
  perp_model *m = run_model(&ctx, 3);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 0, 0.01 } });
  run_joint(&ctx, m,
            (perp_joint_def){
                .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = 0, .start = PERP_START_VIOLATES });
  perp_model_gravity(m, 0);
  run_finish(&ctx, m);
  run_engine(m, name, 1e-3, 1e-3, q, v);
  perp_model_destroy(m);
  return q[2];
}

/* The fall of the top of five cubes on each other, and its speed at t. */
static double tower(const char *name, int dim, double h, double t, double *speed)
{
  double q[35], v[30];
  perp_model *m = run_model(&ctx, dim);
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  for (int k = 0; k < 5; k++) {
    perp_body_def cube = { .mass = perp_mass_box(1, 1, 1, 1) };
    cube.x[dim - 1] = k + 0.5;
    run_body(&ctx, m, cube);
    run_shape(&ctx, m,
              (perp_shape_def){ .kind = PERP_SHAPE_BOX, .body = k, .half = { 0.5, 0.5, 0.5 } });
  }
  run_finish(&ctx, m);
  run_engine(m, name, h, t, q, v);
  perp_model_destroy(m);
  const int nq = dim == 3 ? 7 : 3, nv = dim == 3 ? 6 : 3;
  *speed = v[4 * nv + dim - 1];
  return 4.5 - q[4 * nq + dim - 1];
}

/* Settings of the engines with an effect in closed form: of a ball 0.1 m deep in a floor a step of
 * 1 ms corrects the part erp; a compliance cfm divides what a step of mass 1 does by 1 + cfm / h;
 * one sweep of a relaxed method makes omega times its step. */
static void corrected(void)
{
  static const struct {
    const char *engine, *options;
    double deep, part;
  } cases[] = {
    { "ode", "ode", 0.1, 0.2 },
    { "ode", "ode:erp=0.4", 0.1, 0.4 },
    { "ode", "ode:cfm=1e-3", 0.1, 0.1 },
    { "ode", "ode:cfm=3e-3", 0.1, 0.05 },
    { "ode", "ode:iterations=1,over_relaxation=0.5", 0.1, 0.1 },
    { "ode", "ode:iterations=1,over_relaxation=1.5", 0.1, 0.3 },
    { "bullet", "bullet", 0.1, 0.2 },
    { "bullet", "bullet:erp_contact=0.5", 0.1, 0.5 },
    { "bullet", "bullet:cfm=1e-3", 0.1, 0.1 },
    { "dart", "dart", 1e-5, 0.01 }, /* deeper ones at a bounded speed */
    { "dart", "dart:erp=0.05", 1e-5, 0.05 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double z, speed;
    if (!here(cases[i].engine)) continue;
    rises(cases[i].options, 3, cases[i].deep, 1e-3, &z, &speed);
    near((z - 0.5 + cases[i].deep) / cases[i].deep, cases[i].part, 0, 1e-5,
         "%s: the part of a depth that a step corrects", cases[i].options);
  }
}

/* A ball with e = 0.5 at 1 m/s rebounds above the threshold of the engine. */
static void rebounds(void)
{
  static const struct {
    const char *engine, *option;
    int dim;
  } cases[] = { { "bullet", "bullet:rebound_speed", 3 },
                { "bullet", "bullet:bodies=featherstone,rebound_speed", 3 },
                { "box2d", "box2d:threshold", 2 } };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int above = 0; above < 2 && here(cases[i].engine); above++) {
      char text[64];
      double z, speed;
      snprintf(text, sizeof text, "%s=%g", cases[i].option, above ? 0.9 : 1.1);
      meets(text, cases[i].dim, 0, 1, 0.5, 0.02, &z, &speed);
      near(speed, above ? 0.5 : 0, 1e-6, 0, "%s: a ball at 1 m/s", text);
    }
  for (int k = 1; k < 3 && here("simbody"); k++) { /* Hunt and Crossley: e = 1 - c v for small v */
    char text[64];
    double z, speed;
    snprintf(text, sizeof text, "simbody:dissipation=%d,accuracy=1e-6", k);
    meets(text, 3, -1e-3, 0.01, 0, 0.4, &z, &speed);
    near(1 - speed / 0.01, 0.01 * k, 0, 0.05, "%s: restitution", text);
  }
}

/* More iterations are nearer to the solution, answers of the step before are a better start. */
static void iterations(void)
{
  double off[3], speed[2];
  static const char *const dart[] = { "dart:solver=pgs,iterations=2",
                                      "dart:solver=pgs,iterations=8",
                                      "dart:solver=pgs,iterations=30" };
  for (int k = 0; k < 3 && here("dart"); k++) off[k] = fabs(tower(dart[k], 3, 1e-3, 0.1, speed));
  if (here("dart"))
    ok(3 * off[1] < off[0] && 3 * off[2] < off[1],
       "dart: 2, 8, 30 sweeps let a tower sink by %.2g, %.2g, %.2g m", off[0], off[1], off[2]);
  static const char *const mujoco[] = { "mujoco:solver=newton,tolerance=0",
                                        "mujoco:solver=pgs,iterations=100,tolerance=0",
                                        "mujoco:solver=pgs,iterations=10000,tolerance=0" };
  for (int k = 0; k < 3 && here("mujoco"); k++) off[k] = tower(mujoco[k], 3, 4e-3, 0.5, speed);
  if (here("mujoco"))
    ok(fabs(off[1] - off[0]) > 3 * fabs(off[2] - off[0]),
       "mujoco: 100 and 10000 sweeps are %.2g and %.2g m off", fabs(off[1] - off[0]),
       fabs(off[2] - off[0]));
  static const char *const warm[][2] = { { "box2d:velocity=2", "box2d:velocity=2,warm=false" },
                                         { "bullet:iterations=2",
                                           "bullet:iterations=2,warm=false" } };
  for (int i = 0; i < 2; i++) {
    if (!here(i == 0 ? "box2d" : "bullet")) continue;
    for (int k = 0; k < 2; k++) tower(warm[i][k], 2 + i, 1.0 / 60, 1, &speed[k]);
    ok(5 * fabs(speed[0]) < fabs(speed[1]),
       "%s: a tower falls at %.2g m/s, with a warm start at %.2g", warm[i][1], -speed[1],
       -speed[0]);
  }
}

int main(void)
{
  double z, speed, q[3][14], v[12];
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  refusals();
  corrected();
  rebounds();
  iterations();
  if (here("bullet")) {
    ok(turning("bullet") > 0.1, "bullet: a brick turns by Euler's equations");
    below(turning("bullet:gyroscopic=false"), 1e-12, "bullet:gyroscopic=false: its velocity stays");
    near(pinned("bullet:erp=0.5"), 0.5 * 0.01, 1e-9, 0, "bullet:erp=0.5: half of a joint's error");
    near(pinned("bullet"), 0.8 * 0.01, 1e-9, 0, "bullet: a fifth of it is the default");
  }
  if (here("simbody"))
    near(sticking_speed("simbody:transition=0.02") / sticking_speed("simbody"), 2, 0, 0.03,
         "simbody: what friction holds slides in proportion to the transition velocity");
  if (here("chipmunk")) { /* what remains after a second is the bias */
    rises("chipmunk:bias=0.1,slop=0.01", 2, 0.05, 0.5, &z, &speed);
    near(0.5 - z - 0.01, 0.04 * sqrt(0.1), 0, 1e-2, "chipmunk: depth that its bias leaves");
  }
  for (int k = 0; k < 2 && here("bullet"); k++) { /* 0.2 of the depth in a step */
    const char *name = k == 0 ? "bullet" : "bullet:split=false";
    rises(name, 3, 0.1, 1e-3, &z, &speed);
    near(z, 0.4 + 0.02, 1e-6, 0, "%s: a deep contact is corrected", name);
    near(speed, k == 0 ? 0 : 20, 1e-3, 0, "%s: at a speed of %g m/s", name, speed);
  }
  perp_model *two = cubes(2, 1000), *one = cubes(1, 1);
  if (here("mujoco")) {
    static const char *const name[] = { "mujoco:tolerance=0,solver=newton",
                                        "mujoco:tolerance=0,solver=cg",
                                        "mujoco:tolerance=0,solver=pgs" };
    double off[3] = { 0 };
    for (int k = 0; k < 3; k++) {
      run_engine(two, name[k], 0.004, 0.5, q[k], v);
      for (int i = 0; i < 14; i++) off[k] = fmax(off[k], fabs(q[k][i] - q[0][i]));
    }
    ok(10 * off[1] < off[2],
       "mujoco: conjugate gradients come nearer to Newton's method (%.2g) than sweeps (%.2g)",
       off[1], off[2]);
  }
  if (here("ode")) {
    const int64_t failed = run_engine(two, "ode:solver=step", 1.0 / 240, 2, q[0], v);
    ok(failed > 0 && run_engine(one, "ode:solver=step", 1.0 / 240, 0.1, q[0], v) == 0,
       "ode: failures (%d) are not those of the next simulation", (int)failed);
  }
  perp_model_destroy(two);
  perp_model_destroy(one);
  return tap_done();
}
