/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Laws of contacts and motors on the acceleration level against closed forms: which coefficient of
 * friction acts where, a depth that is given back, a motor whose velocity is a signal. */
#include "tests/run_model.h"

static perp_ctx ctx;
static int64_t problems; /* that had to be solved in the last run */
static const double G = 9.80665, MU = 0.5, MU_DYNAMIC = 0.3;

/* A box of 2 kg on the floor, or a ball of 2 kg above it by `gap`; a force pushes it along x, with
 * a rate that of sin(rate t). */
static void moved(perp_shape_kind kind, double gap, const double v0[3], double force, double rate,
                  double e, const char *stab, double t_end, double q[7], double v[6])
{
  perp_model *model = run_model(&ctx, 3);
  const perp_surface surface = { .mu = MU, .mu_dynamic = MU_DYNAMIC, .restitution = e };
  const bool box = kind == PERP_SHAPE_BOX;
  perp_model_gravity(model, G);
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
  run_body(&ctx, model,
           (perp_body_def){ .mass = box ? perp_mass_box(2, 1, 1, 0.2) : perp_mass_sphere(2, 0.1),
                            .x = { 0, 0, 0.1 + gap },
                            .v = { v0[0], v0[1], v0[2] } });
  run_shape(&ctx, model,
            (perp_shape_def){
                .kind = kind, .radius = 0.1, .half = { 0.5, 0.5, 0.1 }, .surface = surface });
  perp_force_def push = { .kind = PERP_FORCE_POINT, .a = 0 };
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = force, .rate = rate };
  if (rate == 0)
    push.value[0] = force;
  else if (perp_model_add_signal(&ctx, model, &sine, &push.value_signal[0]) != PERP_OK)
    bail("%s", ctx.msg);
  run_force(&ctx, model, push);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "acceleration", "rk4", "", stab }, 1e-3);
  if (run_to(&ctx, sim, t_end) < 0) bail("%s", ctx.msg);
  double t;
  const double *q1, *v1;
  perp_sim_state(sim, &t, &q1, &v1);
  memcpy(q, q1, 7 * sizeof *q);
  memcpy(v, v1, 6 * sizeof *v);
  problems = perp_sim_contacts(sim)->problems;
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void friction(void)
{
  double q[7], v[6];
  moved(PERP_SHAPE_BOX, 0, (double[]){ 3, 0, 0 }, 0, 0, 0, "", 0.5, q, v);
  near(v[0], 3 - 0.5 * MU_DYNAMIC * G, 1e-6, 0, "a box slides with mu_dynamic");
  moved(PERP_SHAPE_BOX, 0, (double[]){ 0, 0, 0 }, 0.4 * 2 * G, 0, 0, "", 0.5, q, v);
  below(fabs(v[0]), 1e-6, "a box at rest is held by mu");
  moved(PERP_SHAPE_SPHERE, 0, (double[]){ 0, 0, 0 }, 1.4 * 2 * G, 0, 0, "", 0.5, q, v);
  ok(fabs(v[0] - 0.5 * G) < 1e-6 && problems < 5,
     "a ball rolls by 0.4 m g of friction, and goes on with that: %ld problems in 500 steps",
     (long)problems);
  moved(PERP_SHAPE_BOX, 0, (double[]){ 0, 0, 0 }, 0.6 * 2 * G, 0, 0, "", 0.5, q, v);
  near(v[0], 0.5 * (0.6 - MU_DYNAMIC) * G, 1e-2, 0, "and let go by more");
  /* by a force m g sin(2 t) from the time at which it is mu m g */
  const double t = asin(MU) / 2;
  moved(PERP_SHAPE_BOX, 0, (double[]){ 0, 0, 0 }, 2 * G, 2, 0, "", 0.5, q, v);
  near(v[0], G * (cos(2 * t) - cos(1)) / 2 - MU_DYNAMIC * G * (0.5 - t), 1e-6, 0,
       "a growing force lets it go when it is mu m g");
  /* 2 m/s at the floor after 0.1 s, and back at half of that */
  const double vn = 2, vz = -(vn - 0.1 * G);
  moved(PERP_SHAPE_SPHERE, 0.1 * vn - 0.005 * G, (double[]){ 5, 0, vz }, 0, 0, 0.5, "", 0.15, q, v);
  near(v[0], 5 - MU_DYNAMIC * 1.5 * vn, 1e-6, 0, "an impact that slides takes mu_dynamic");
  near(v[2], 0.5 * vn - 0.05 * G, 1e-6, 0, "and e");
}

static void depth(void)
{
  double q[7], v[6];
  moved(PERP_SHAPE_BOX, -1e-3, (double[]){ 0, 0, 0 }, 0, 0, 0, "baumgarte", 1, q, v);
  ok(q[2] > 0.1 - 1e-4 && q[2] < 0.1 + 1e-4, "feedback leaves %.2g m of a depth of 1 mm",
     0.1 - q[2]);
}

/* xdot = sin(3 t) */
static void motor(void)
{
  const perp_signal_def sine = { .kind = PERP_SIGNAL_SINE, .amplitude = 1, .rate = 3 };
  perp_drive_def drive = { .lower = -HUGE_VAL, .upper = HUGE_VAL, .max_force = HUGE_VAL };
  perp_model *model = run_model(&ctx, 3);
  double q[7], v[6];
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(2, 0.1) });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a[0] = 1 });
  if (perp_model_add_signal(&ctx, model, &sine, &drive.velocity_signal) != PERP_OK)
    bail("%s", ctx.msg);
  run_drive(&ctx, model, drive);
  run_finish(&ctx, model);
  run_fresh(&ctx, model, (run_parts){ "acceleration", "rk4" }, 1e-3, 1, q, v);
  near(v[0], sin(3), 1e-9, 0, "a motor has the velocity of its signal");
  near(q[0], (1 - cos(3)) / 3, 1e-9, 0, "and its place");
  perp_model_destroy(model);
}

/* Boxes that rattle on the floor have steps of first order; a body that flies beside them has not
 * their forces. */
static void rattle(void)
{
  enum { BOXES = 4 };
  const double t_end = 1.5;
  perp_model *model = run_model(&ctx, 3);
  const perp_surface surface = { .mu = 0.5, .mu_dynamic = 0.5, .restitution = 0.5 };
  perp_model_gravity(model, G);
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
  for (int i = 0; i < BOXES; i++) {
    perp_body_def body = { .mass = perp_mass_box(2, 0.4, 0.3, 0.2),
                           .x = { i, 0, 0.3 },
                           .v = { 0.1 * i, 0, 0 },
                           .w = { 1, 0.5 * i, 2 } };
    run_body(&ctx, model, body);
    run_shape(
        &ctx, model,
        (perp_shape_def){
            .kind = PERP_SHAPE_BOX, .body = i, .half = { 0.2, 0.15, 0.1 }, .surface = surface });
  }
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[2] = 10, .v = { 1, 0, 2 } });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "acceleration", "rk4" }, 1e-2);
  double t;
  const double *q, *v;
  if (run_to(&ctx, sim, t_end) < 0) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  q += 7 * BOXES;
  const int64_t piled = perp_sim_contacts(sim)->piled;
  ok(piled > 0 && fabs(q[2] - (10 + 2 * t_end - G * t_end * t_end / 2)) < 1e-9 &&
         fabs(q[0] - t_end) < 1e-9,
     "a body flies beside %ld steps of first order: at %.9g m", (long)piled, q[2]);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  friction();
  depth();
  motor();
  rattle();
  return tap_done();
}
