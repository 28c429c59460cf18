/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of a step against the balance of momentum of its bodies, and statics. */
#include "models/formulations/step_forces.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double G = 9.80665;

static void box(perp_model *model, perp_body_def body)
{
  body.mass = perp_mass_box(2, 0.4, 0.4, 0.4);
  if (perp_model_dim(model) == 2) body.mass.inertia[8] = 2 * 0.32 / 12;
  run_body(&ctx, model, body);
}

static void box_shape(perp_model *model, int body)
{
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                              .body = body,
                              .half = { 0.2, 0.2, 0.2 },
                              .surface = { .mu = 0.5, .mu_dynamic = 0.5 } });
}

/* Step n of a simulation: its forces, and the states before and after. */
typedef struct last {
  perp_step_forces *forces;
  perp_sim *sim;
  double h, q0[14], v0[12];
  const double *q1, *v1;
} last;

static last forces_of(perp_model *model, run_parts parts, double h, int n)
{
  last x = { .h = h };
  perp_step_info info = { .reason = PERP_EXACT };
  double t0 = 0, t1 = 0;
  x.sim = run_start(&ctx, model, parts, h);
  for (int i = 0; i < n; i++) {
    perp_sim_state(x.sim, &t0, &x.q1, &x.v1);
    memcpy(x.q0, x.q1, (size_t)perp_model_nq(model) * sizeof *x.q1);
    memcpy(x.v0, x.v1, (size_t)perp_model_nv(model) * sizeof *x.v1);
    if (perp_sim_step(&ctx, x.sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
  }
  perp_sim_state(x.sim, &t1, &x.q1, &x.v1);
  const perp_step_span span = { t0, t1, x.q0, x.v0, x.q1, x.v1, &info };
  if (perp_step_forces_create(&ctx, model, x.sim, &x.forces) != PERP_OK ||
      perp_step_forces_at(&ctx, x.forces, &span, -1) != PERP_OK)
    bail("%s", ctx.msg);
  return x;
}

static void close_last(last *x)
{
  perp_step_forces_destroy(x->forces);
  perp_sim_destroy(x->sim);
}

/* Two boxes, one on the other, slide and spin on the floor; the shapes come in the other order than
 * their bodies, the floor last. */
static void contacts(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, G);
  box(model, (perp_body_def){ .x = { 0, 0, 0.2 }, .v = { 1, 0.3, 0 }, .w = { 0, 0, 3 } });
  box(model, (perp_body_def){ .x = { 0.05, 0, 0.6 }, .v = { 0.5, 0, 0 }, .w = { 0, 0, -2 } });
  box_shape(model, 1);
  box_shape(model, 0);
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE,
                              .body = PERP_WORLD,
                              .surface = { .mu = 0.5, .mu_dynamic = 0.5 } });
  run_finish(&ctx, model);
  last x = forces_of(model, (run_parts){ "velocity" }, 1e-3, 20);
  double force[2][3] = { { 0, 0, -2 * G }, { 0, 0, -2 * G } }, torque[2][3] = { { 0 } }, off = 0,
         size = 0;
  for (int i = 0; i < x.forces->n_pairs; i++)
    for (int side = 0; side < 2; side++) {
      const perp_pair_force *p = &x.forces->pair[i];
      const int body = side == 0 ? p->a : p->b;
      const double sign = side == 0 ? -1 : 1;
      double arm[3], moment[3];
      if (body < 0) continue;
      for (int k = 0; k < 3; k++) arm[k] = p->point[k] - x.q0[7 * body + k];
      perp_cross(arm, p->force, moment);
      for (int k = 0; k < 3; k++) {
        force[body][k] += sign * p->force[k];
        torque[body][k] += sign * (p->torque[k] + moment[k]);
      }
    }
  for (int b = 0; b < 2; b++)
    for (int k = 0; k < 3; k++) {
      const double a = (x.v1[6 * b + k] - x.v0[6 * b + k]) / x.h,
                   turn = (x.v1[6 * b + 3 + k] - x.v0[6 * b + 3 + k]) / x.h;
      off = fmax(off, fabs(2 * a - force[b][k]));
      /* of a cube, which spins about z alone */
      off = fmax(off, fabs(2 * 0.32 / 12 * turn - torque[b][k]));
      size = fmax(size, fabs(torque[b][k]));
    }
  ok(x.forces->n_pairs == 2 && off < 1e-6 && size > 1,
     "contacts: forces and torques (up to %.2g N m) of %d pairs are what the bodies gain: %.1e",
     size, x.forces->n_pairs, off);
  close_last(&x);
  perp_model_destroy(model);
}

/* In joint coordinates: a beam on a hinge and, at its end, on the ground: half of its weight each.
 */
static void statics(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, G);
  box(model, (perp_body_def){ .x = { 0.6, 0.2 } });
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .x = { 0.6, -0.1, 0 } });
  run_shape(
      &ctx, model,
      (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .collide_joined = true });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a = { 0, 0.2 },
                              .anchor_b = { -0.6, 0 } });
  run_finish(&ctx, model);
  last x = forces_of(model, (run_parts){ "reduced" }, 1e-3, 10);
  ok(x.forces->joints_known && x.forces->n_pairs == 1 &&
         fabs(x.forces->joint[0].force[1] - G) < 1e-6 &&
         fabs(x.forces->pair[0].force[1] - G) < 1e-6,
     "reduced: hinge %.6g N, ground %.6g N of a beam of %.6g N", x.forces->joint[0].force[1],
     x.forces->n_pairs > 0 ? x.forces->pair[0].force[1] : 0, 2 * G);
  close_last(&x);
  perp_model_destroy(model);
}

/* A block on a slider of an arm that turns: what it gains is the force of the slider in the middle
 * of the step, to h^2. */
static void middle(void)
{
  double off[2];
  for (int i = 0; i < 2; i++) {
    perp_model *model = run_model(&ctx, 2);
    perp_model_gravity(model, 0);
    box(model, (perp_body_def){ .w = { 0, 0, 5 } });
    box(model, (perp_body_def){ .x = { 1 }, .v = { 1, 5 }, .w = { 0, 0, 5 } });
    run_joint(&ctx, model, (perp_joint_def){ .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0 });
    run_joint(&ctx, model,
              (perp_joint_def){
                  .kind = PERP_JOINT_SLIDER, .a = 0, .b = 1, .anchor_a = { 1 }, .axis_a = { 1 } });
    run_finish(&ctx, model);
    last x = forces_of(model, (run_parts){ "velocity-midpoint" }, i == 0 ? 2e-3 : 1e-3,
                       i == 0 ? 50 : 100);
    off[i] = 0;
    for (int k = 0; k < 2; k++)
      off[i] = fmax(off[i],
                    fabs(2 * (x.v1[3 + k] - x.v0[3 + k]) / x.h - x.forces->joint[1].force[k]));
    close_last(&x);
    perp_model_destroy(model);
  }
  ok(off[0] < 0.01 && off[1] < 0.3 * off[0] + 1e-9,
     "velocity-midpoint: a slider that turns: off by %.2g N, %.2g N", off[0], off[1]);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  contacts();
  statics();
  middle();
  return tap_done();
}
