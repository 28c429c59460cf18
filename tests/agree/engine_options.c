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

/* A ball without weight that starts `deep` in a floor: its height and speed at t. */
static void rises(const char *name, int dim, double deep, double t, double *z, double *speed)
{
  double q[7], v[6];
  perp_model *m = run_model(&ctx, dim);
  perp_body_def b = { .mass = perp_mass_sphere(1, 0.5) };
  perp_model_gravity(m, 0);
  b.x[dim - 1] = 0.5 - deep;
  run_body(&ctx, m, b);
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.5 });
  run_finish(&ctx, m);
  run_engine(m, name, 1e-3, t, q, v);
  *z = q[dim - 1], *speed = v[dim - 1];
  perp_model_destroy(m);
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

int main(void)
{
  double z, speed, q[3][14], v[12];
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  refusals();
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
