/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulation impulse against balance of momentum, closed forms and the reversal of time. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double G = 9.80665;

static perp_surface rough(double mu, double mu_dynamic, double e)
{
  return (perp_surface){ .mu = mu, .mu_dynamic = mu_dynamic, .restitution = e };
}

static void floor_of(perp_model *model, perp_surface surface)
{
  run_shape(&ctx, model,
            (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface });
}

/* Two boxes on one joint slide on the floor: what each gains in a step are its weight and the
 * impulses of contacts and joint that the step reports. */
static void balance(void)
{
  const double H = 2e-3;
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, G);
  floor_of(model, rough(0.5, 0.3, 0));
  for (int i = 0; i < 2; i++) {
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(2, 0.4, 0.4, 0.4),
                              .x = { 0.6 * i, 0, 0.2 },
                              .v = { 2, 0.5, 0 } });
    run_shape(&ctx, model,
              (perp_shape_def){ .kind = PERP_SHAPE_BOX,
                                .body = i,
                                .half = { 0.2, 0.2, 0.2 },
                                .surface = rough(0.5, 0.3, 0) });
  }
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_BALL,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { 0.3, 0, 0 },
                              .anchor_b = { -0.3, 0, 0 } });
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model,
                            (run_parts){ "impulse", "", "", "", "block-gs:tol=1e-13", "cone" }, H);
  double before[12], off = 0, t, speed[2] = { 0 };
  const double *q, *v;
  for (int n = 0; n < 60; n++) {
    perp_step_info info;
    perp_sim_state(sim, &t, &q, &v);
    memcpy(before, v, sizeof before);
    if (n == 10) speed[0] = hypot(v[0] + v[6], v[1] + v[7]) / 2;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    double gain[2][3] = { { 0, 0, -2 * G * H }, { 0, 0, -2 * G * H } };
    for (int k = 0; k < 3; k++) {
      gain[0][k] -= H * info.lambda[k];
      gain[1][k] += H * info.lambda[k];
      for (int i = 0; i < info.n_contacts; i++)
        for (int side = 0; side < 2; side++)
          if (info.contacts[i].body[side] >= 0)
            gain[info.contacts[i].body[side]][k] += (side == 0 ? -1 : 1) * info.impulse[3 * i + k];
      for (int b = 0; b < 2; b++)
        off = fmax(off, fabs(2 * (v[6 * b + k] - before[6 * b + k]) - gain[b][k]));
    }
  }
  speed[1] = hypot(v[0] + v[6], v[1] + v[7]) / 2;
  below(off, 1e-10, "boxes on a joint gain what is reported: off by %.1e N s", off);
  near((speed[0] - speed[1]) / (50 * H), 0.3 * G, 0, 1e-3, "they slide with mu_dynamic");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A ball falls on the floor from a height, or starts in it: where it comes to rest, at which speed
 * it leaves. */
static void ball(void)
{
  static const struct {
    double z, v, gravity, e;
    const char *stab;
    double t_end, z_end, v_end;
    const char *what;
  } cases[] = {
    { 0.1037, -1, 0, 0, "", 0.02, 0.1, 0, "a plastic impact ends on the floor" },
    { 0.1037, -1, 0, 0.5, "", 0.02, HUGE_VAL, 0.5, "e = 0.5 leaves half of the speed" },
    { 0.09, 0, 0, 0, "baumgarte:alpha=5,beta=0", 0.5, HUGE_VAL, HUGE_VAL, "a depth is given back" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = run_model(&ctx, 3);
    double q[7], v[6];
    perp_model_gravity(model, cases[i].gravity);
    floor_of(model, rough(0, 0, cases[i].e));
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_sphere(1, 0.1),
                              .x = { 0, 0, cases[i].z },
                              .v = { 0, 0, cases[i].v } });
    run_shape(&ctx, model,
              (perp_shape_def){
                  .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = rough(0, 0, cases[i].e) });
    run_finish(&ctx, model);
    run_fresh(&ctx, model, (run_parts){ "impulse", "", "", cases[i].stab }, 1e-3, cases[i].t_end, q,
              v);
    if (cases[i].stab[0] != '\0') { /* contacts that the stabilization corrects are counted */
      int64_t problems[2];
      for (int k = 0; k < 2; k++) {
        perp_sim *sim = run_start(&ctx, model,
                                  (run_parts){ "impulse", "", "", k == 0 ? "none" : "post" }, 1e-3);
        run_to(&ctx, sim, 1e-3);
        problems[k] = perp_sim_contacts(sim)->problems;
        perp_sim_destroy(sim);
      }
      ok(problems[1] > problems[0], "post: %ld problems instead of %ld", (long)problems[1],
         (long)problems[0]);
    }
    const bool place = isinf(cases[i].z_end) || fabs(q[2] - cases[i].z_end) < 1e-9,
               rate = isinf(cases[i].v_end) || fabs(v[2] - cases[i].v_end) < 1e-9;
    ok(place && rate && q[2] > 0.0999, "%s: at %.6g m, %.6g m/s", cases[i].what, q[2], v[2]);
    perp_model_destroy(model);
  }
}

/* A ball hits the next one, which within the step hits a third one: none gets an impulse twice. */
static void line(void)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  for (int i = 0; i < 3; i++) {
    run_body(&ctx, model,
             (perp_body_def){
                 .mass = perp_mass_sphere(1, 0.1), .x[0] = 0.2001 * i, .v[0] = i == 0 ? 2 : 0 });
    run_shape(&ctx, model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.1 });
  }
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "impulse" }, 1e-3);
  perp_step_info info;
  double gain[3] = { 2, 0, 0 }, t;
  const double *q, *v;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < info.n_contacts; i++)
    for (int side = 0; side < 2; side++)
      gain[info.contacts[i].body[side]] += (side == 0 ? -1 : 1) * info.impulse[3 * i];
  ok(info.n_contacts == 2 && v[12] > 0.1 && fabs(v[0] - gain[0]) < 1e-9 &&
         fabs(v[6] - gain[1]) < 1e-9 && fabs(v[12] - gain[2]) < 1e-9,
     "a line of balls: %.4g, %.4g and %.4g m/s are what contacts gave them", v[0], v[6], v[12]);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A block meets the limit of its slider and leaves it at half of the speed. */
static void limit(void)
{
  perp_model *model = run_model(&ctx, 3);
  double q[7], v[6];
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .v[0] = 1 });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER, .a = PERP_WORLD, .b = 0, .axis_a[0] = 1 });
  run_drive(&ctx, model,
            (perp_drive_def){ .lower = -HUGE_VAL, .upper = 0.0105, .restitution = 0.5 });
  run_finish(&ctx, model);
  run_fresh(&ctx, model, (run_parts){ "impulse" }, 1e-3, 0.03, q, v);
  near(v[0], -0.5, 1e-9, 0, "a limit with e = 0.5");
  perp_model_destroy(model);
}

/* A free body without symmetry: back in time it comes to where it was, with a floor far below, too.
 */
static void reversal(bool shapes)
{
  const double H = 0.02;
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  perp_body_def body = { .mass.mass = 1, .w = { 1, -2, 3 } };
  for (int k = 0; k < 3; k++) body.mass.inertia[4 * k] = 1 + 0.4 * k;
  body.x[2] = 5;
  run_body(&ctx, model, body);
  if (shapes) {
    floor_of(model, rough(0, 0, 0));
    run_shape(&ctx, model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = 0.1 });
  }
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "impulse" }, H);
  double t, there[7], back[6], off = 0;
  const double *q, *v;
  run_to(&ctx, sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  memcpy(there, q, sizeof there);
  for (int k = 0; k < 6; k++) back[k] = -v[k];
  if (perp_sim_restart(&ctx, sim, 0, there, back) != PERP_OK) bail("%s", ctx.msg);
  run_to(&ctx, sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  for (int k = 0; k < 7; k++) off = fmax(off, fabs(q[k] - perp_model_q0(model)[k]));
  below(off, 1e-10, "a body that turns comes back: off by %.1e", off);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* x'' = -17 x - 2 x' + cos(3 t): order 2 for forces of velocity and of time. */
static void order(void)
{
  /* x = a cos 3t + b sin 3t + e^-t (c cos 4t + d sin 4t), x(0) = 1, x'(0) = 0 */
  const double a = 8.0 / 100, b = 6.0 / 100, c = 1 - a, d = (c - 3 * b) / 4, t = 1,
               x = a * cos(3 * t) + b * sin(3 * t) + exp(-t) * (c * cos(4 * t) + d * sin(4 * t));
  perp_model *model = run_model(&ctx, 2);
  perp_force_def push = { .kind = PERP_FORCE_POINT, .a = 0 };
  const perp_signal_def cosine = {
    .kind = PERP_SIGNAL_SINE, .amplitude = 1, .rate = 3, .phase = M_PI / 2
  };
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 2 });
  if (perp_model_add_signal(&ctx, model, &cosine, &push.value_signal[0]) != PERP_OK)
    bail("%s", ctx.msg);
  run_force(&ctx, model, push);
  run_force(&ctx, model,
            (perp_force_def){ .kind = PERP_FORCE_SPRING,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a[0] = 0.5,
                              .stiffness = 17,
                              .damping = 2,
                              .length = 0.5 });
  run_finish(&ctx, model);
  double off[2];
  for (int i = 0; i < 2; i++) {
    double q[3];
    run_fresh(&ctx, model, (run_parts){ "impulse" }, i == 0 ? 0.02 : 0.01, t, q, NULL);
    off[i] = fabs(q[0] - 1 - x);
  }
  ok(off[0] < 1e-3 && off[1] < 0.3 * off[0], "a driven oscillator, order 2: off by %.2g m, %.2g m",
     off[0], off[1]);
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  balance();
  ball();
  line();
  limit();
  reversal(false);
  reversal(true);
  order();
  return tap_done();
}
