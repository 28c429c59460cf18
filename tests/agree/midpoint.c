/* SPDX-License-Identifier: GPL-3.0-or-later */
/* velocity-midpoint where its memory, its curvature and the rest of a step act: closed forms, and
 * the acceleration level in fine steps. */
#include "tests/run_model.h"

static perp_ctx ctx;

static void shape(perp_model *model, perp_shape_def def, double mu, double dynamic, double e)
{
  def.surface = (perp_surface){ .mu = mu, .mu_dynamic = dynamic, .restitution = e };
  run_shape(&ctx, model, def);
}

/* A slider of a body along x of the plane, with a force along it. */
static int slider(perp_model *model, double x, double y, double v, double force)
{
  const int b = run_body(&ctx, model,
                         (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.01 } },
                                          .x = { x, y },
                                          .v = { v } });
  const perp_joint_def rail = { .kind = PERP_JOINT_SLIDER,
                                .a = PERP_WORLD,
                                .b = b,
                                .anchor_a = { x, y },
                                .axis_a = { 1 },
                                .axis_b = { 1 } };
  const perp_force_def pull = { .kind = PERP_FORCE_POINT, .a = b, .value = { force } };
  run_joint(&ctx, model, rail);
  if (force != 0) run_force(&ctx, model, pull);
  return b;
}

/* ---- sliding that turns ---- */

/* A plate on three feet that slides and turns: friction of each foot opposes its motion. */
static void turning(void)
{
  static const double feet[3][2] = { { 0.2, 0 }, { -0.1, 0.15 }, { -0.1, -0.15 } };
  perp_model *model = run_model(&ctx, 3);
  run_body(
      &ctx, model,
      (perp_body_def){ .mass = { .mass = 2, .inertia = { 0.02, 0, 0, 0, 0.02, 0, 0, 0, 0.04 } },
                       .x[2] = 0.05,
                       .v = { 1, 0.2, 0 },
                       .w[2] = 8 });
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0.3, 0.3, 0);
  for (int i = 0; i < 3; i++) {
    const perp_shape_def foot = { .kind = PERP_SHAPE_SPHERE,
                                  .x = { feet[i][0], feet[i][1] },
                                  .radius = 0.05 };
    shape(model, foot, 0.3, 0.3, 0);
  }
  run_finish(&ctx, model);
  double want[7], q[7], v[6], off[2];
  run_fresh(&ctx, model, (run_parts){ "acceleration", "rk4" }, 1e-3, 0.1, want, v);
  for (int i = 0; i < 2; i++) {
    run_fresh(&ctx, model, (run_parts){ "velocity-midpoint" }, 4e-3 / (i + 1), 0.1, q, v);
    off[i] = hypot(q[0] - want[0], q[1] - want[1]);
  }
  near(log2(off[0] / off[1]), 2, 0.1, 0, "velocity-midpoint: order 2 where sliding turns");
  below(off[1], 1e-6, "velocity-midpoint: at 2 ms the plate is off by %.2g m", off[1]);
  perp_model_destroy(model);
}

/* A disk of 0.1 m on a fixed one of 1 m, 0.3 rad from the top, of this speed and turn. */
static perp_model *on_a_disk(double mu, double dynamic, double speed, double w)
{
  perp_model *model = run_model(&ctx, 2);
  const double x = sin(0.3), y = cos(0.3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.005 } },
                            .x = { 1.1 * x, 1.1 * y },
                            .v = { speed * y, -speed * x },
                            .w = { [2] = w } });
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = PERP_WORLD, .radius = 1 }, mu,
        dynamic, 0);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1 }, mu, dynamic, 0);
  return run_finish(&ctx, model);
}

/* Normals turn: what rolls, or slides, on a curved surface. */
static void curved(const char *what, double mu, double dynamic, double speed, double w)
{
  perp_model *model = on_a_disk(mu, dynamic, speed, w);
  double want[3], q[3], v[3], off[2];
  run_fresh(&ctx, model, (run_parts){ "acceleration", "rk4" }, 1e-3, 0.2, want, v);
  for (int i = 0; i < 2; i++) {
    run_fresh(&ctx, model, (run_parts){ "velocity-midpoint" }, 4e-3 / (i + 1), 0.2, q, v);
    off[i] = hypot(hypot(q[0] - want[0], q[1] - want[1]), 0.1 * (q[2] - want[2]));
  }
  near(log2(off[0] / off[1]), 2, 0.15, 0, "%s: order 2 on a disk", what);
  below(off[1], 1e-5, "%s: at 2 ms off by %.2g m", what, off[1]);
  perp_model_destroy(model);
}

/* ---- friction that is nearly used up, at once ---- */

/* A block at rest is pulled by a damper with 0.99 of the force that moves it, from the moment on in
 * which an impact elsewhere sets the other end in motion.  It stays: the jump of its friction says
 * nothing of how that grows. */
static void jolted(void)
{
  perp_model *model = run_model(&ctx, 2);
  const int block = run_body(
      &ctx, model,
      (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.01 } }, .x = { 0, 0.1 } });
  const int pulls = slider(model, 1, 0.1, 0, 0), hits = slider(model, 1.3, 0.1, -3, 0);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0.5, 0.1, 0);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_BOX, .body = block, .half = { 0.1, 0.1 } }, 0.5,
        0.1, 0);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = pulls, .radius = 0.05 }, 0, 0,
        1);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = hits, .radius = 0.05 }, 0, 0,
        1);
  const perp_force_def damper = {
    .kind = PERP_FORCE_SPRING, .a = block, .b = pulls, .damping = 0.99 * 0.5 * 9.81 / 3
  };
  run_force(&ctx, model, damper);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "velocity-midpoint" }, 1e-3);
  const perp_reason reason = run_to(&ctx, sim, 0.1);
  double t;
  const double *q, *v;
  perp_ode_counters made;
  perp_stats kkt;
  perp_sim_state(sim, &t, &q, &v);
  perp_sim_counters(sim, &made, &kkt);
  ok(reason >= 0 && v[3] < -2, "jolted: the other end moves (%g m/s)", v[3]);
  below(fabs(q[0]), 1e-7, "jolted: the block stays (%.2g m)", q[0]);
  below((double)made.rhs, 210, "jolted: %d evaluations in 100 steps", (int)made.rhs);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- the rest of a step, in first order ---- */

/* A disk falls 1 m: it leaves with e of the speed that it came with, whatever is left of the gap
 * in the step that meets the ground. */
static void rests(double h)
{
  perp_model *model = run_model(&ctx, 2);
  run_body(&ctx, model,
           (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.005 } }, .x = { 0, 1.1 } });
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0, 0, 0.7);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1 }, 0, 0, 0.7);
  run_finish(&ctx, model);
  const double fall = sqrt(2 / 9.81), speed = 9.81 * fall;
  double q[3], v[3];
  run_fresh(&ctx, model, (run_parts){ "velocity-midpoint:parts=1" }, h, fall + 0.1, q, v);
  near(v[1], 0.7 * speed - 0.981, 2 * 9.81 * h, 0, "parts=1, %g s: speed after a bounce", h);
  perp_model_destroy(model);
}

/* A body at the lower end of 1 mm of rail, held there by a force; a ball of 10 m/s hits it within
 * the step.  What they do together passes the upper end, which no row had: it gets one. */
static void passes(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  const int block = slider(model, 0, 0, 0, -1), ball = slider(model, -0.203, 0, 10, 0);
  run_drive(&ctx, model, (perp_drive_def){ .joint = 0, .lower = 0, .upper = 1e-3 });
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = block, .radius = 0.1 }, 0, 0,
        0);
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = ball, .radius = 0.1 }, 0, 0, 0);
  run_finish(&ctx, model);
  double q[6], v[6];
  run_fresh(&ctx, model, (run_parts){ "velocity-midpoint:parts=1" }, 1e-3, 1e-3, q, v);
  near(q[0], 1e-3, 1e-9, 0, "parts=1: the other end of the rail holds");
  perp_model_destroy(model);
}

/* ---- limits that start deep ---- */

static void deep(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  const int block = slider(model, 0, 0, 0, 0);
  run_drive(&ctx, model, (perp_drive_def){ .joint = 0, .lower = 0.05, .upper = 1 });
  shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = block, .radius = 0.1 }, 0, 0,
        0);
  run_finish(&ctx, model);
  double q[3], v[3];
  run_fresh(&ctx, model, (run_parts){ "velocity-midpoint" }, 1e-3, 0.1, q, v);
  near(q[0], 0.01, 2e-4, 0, "a limit that starts deep is left with push");
  perp_model_destroy(model);
}

/* A bead at the end of its slider on an arm that turns freely: with the arm it turns as one body,
 * whichever limit holds it. */
static void whirls(bool upper)
{
  const double w = 3, r = 0.5, t = 0.5, sign = upper ? 1 : -1;
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  run_body(&ctx, model,
           (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.1 } }, .w = { [2] = w } });
  run_body(&ctx, model,
           (perp_body_def){ .mass = { .mass = 1, .inertia = { [8] = 0.01 } },
                            .x = { r },
                            .v = { 0, w * r },
                            .w = { [2] = w } });
  run_joint(&ctx, model, (perp_joint_def){ .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0 });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { r },
                              .axis_a = { sign },
                              .axis_b = { sign } });
  run_drive(&ctx, model,
            (perp_drive_def){ .joint = 1, .lower = upper ? -1 : 0, .upper = upper ? 0 : 1 });
  run_finish(&ctx, model);
  double q[6], v[6];
  run_fresh(&ctx, model, (run_parts){ "velocity-midpoint" }, 2e-3, t, q, v);
  near(hypot(q[3], q[4]), r, 1e-5, 0, "a bead is held by its %s limit", upper ? "upper" : "lower");
  near(q[2], w * t, 1e-5, 0, "and turns with its arm");
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  turning();
  curved("slides", 0.1, 0.1, 1, 0);
  curved("spins", 0.1, 0.1, 0.5, -20);
  curved("rolls", 1, 0.05, 0.3, -3);
  curved("rolls up", 1, 0.05, -1, 10);
  jolted();
  rests(1e-3);
  rests(0.7e-3);
  passes();
  deep();
  whirls(false);
  whirls(true);
  return tap_done();
}
