/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What point-mass reports, against closed forms: multipliers of rigidity and of hinges, velocities,
 * angles, contacts. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const char *const solves[] = { "point-mass:tol=1e-15",
                                      "point-mass:solve=simultaneous,tol=1e-15" };

static perp_step_info steps(perp_sim *sim, int n, double t_max, const double **q, const double **v)
{
  perp_step_info info = { .reason = PERP_EXACT };
  double t;
  for (int i = 0; i < n; i++)
    if (perp_sim_step(&ctx, sim, t_max, &info) != PERP_OK || info.reason < 0) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, q, v);
  return info;
}

/* A free body: B_j'' = w x (w x B_j) + w' x B_j = lambda_j B_j + sum_k Lambda_jk B_k, and so
 *
 *      lambda_j = w_j^2 - |w|^2,    Lambda_jk = 2 w_j w_k |B_j| |B_k| / (|B_j|^2 + |B_k|^2)
 */
static void rigidity(const char *formulation)
{
  const double H = 1e-3, w[3] = { 1, -2, 3 }, I[3] = { 1, 1.5, 2 };
  const int pair[3][2] = { { 1, 2 }, { 0, 2 }, { 0, 1 } };
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  perp_body_def body = { .mass.mass = 1, .w = { 1, -2, 3 } };
  for (int k = 0; k < 3; k++) body.mass.inertia[4 * k] = I[k];
  run_body(&ctx, model, body);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation }, H);
  const double *q, *v;
  const perp_step_info info = steps(sim, 2, HUGE_VAL, &q, &v);
  double off = 0;
  for (int i = 0; i < 3; i++) {
    const int j = pair[i][0], k = pair[i][1];
    const double gj = 2.25 - I[j], gk = 2.25 - I[k];
    const double lambda = H * H * (w[i] * w[i] - 14),
                 Lambda = H * H * 2 * w[j] * w[k] * sqrt(gj * gk) / (gj + gk);
    off = fmax(off, fabs(info.rigidity[i] / lambda - 1));
    off = fmax(off, fabs(fabs(info.rigidity[3 + i] / Lambda) - 1));
  }
  below(off, 0.02, "%s: multipliers of rigidity, within %.2g of them", formulation, off);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A pendulum whose centre is beside the middle of its hinge: force and torque of that are those of
 * the acceleration level. */
static void hinge(const char *formulation)
{
  perp_model *model = run_model(&ctx, 3);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_box(2, 0.3, 0.4, 0.5), .x = { 0.5, 0.3, 0 } });
  run_joint(&ctx, model,
            (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_b = { -0.5, -0.3, 0 },
                              .axis_a = { 0, 1, 0 },
                              .axis_b = { 0, 1, 0 } });
  run_finish(&ctx, model);
  const char *const forms[] = { formulation, "acceleration" };
  double lambda[2][5], off = 0;
  for (int i = 0; i < 2; i++) {
    const double *q, *v;
    perp_sim *sim = run_start(
        &ctx, model, (run_parts){ forms[i], i == 0 ? "" : "rk4", "", i == 0 ? "" : "none" }, 1e-3);
    const perp_step_info info = steps(sim, 200, HUGE_VAL, &q, &v);
    memcpy(lambda[i], info.lambda, sizeof lambda[i]);
    perp_sim_destroy(sim);
  }
  for (int k = 0; k < 5; k++) off = fmax(off, fabs(lambda[0][k] - lambda[1][k]));
  below(off, 1e-3, "%s: force and torque of a hinge: %.2g of %.2g N", formulation, off,
        fabs(lambda[1][2]));
  perp_model_destroy(model);
}

/* m x'' = -k x - d x' is followed to h^2, to a time that is no multiple of h, and again from the
 * start; a body in the plane turns on. */
static void motion(void)
{
  perp_model *model = run_model(&ctx, 2);
  perp_model_gravity(model, 0);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x[0] = 2, .w[2] = 10 });
  run_force(&ctx, model,
            (perp_force_def){ .kind = PERP_FORCE_SPRING,
                              .a = PERP_WORLD,
                              .b = 0,
                              .anchor_a[0] = 0.5,
                              .stiffness = 17,
                              .damping = 2,
                              .length = 0.5 });
  run_finish(&ctx, model);
  const double t_end = 1.0037, e = exp(-t_end), x = e * (cos(4 * t_end) + sin(4 * t_end) / 4);
  double off[2];
  for (int k = 0; k < 2; k++) {
    const double h = k == 0 ? 1.0 / 64 : 1.0 / 128; /* exact */
    double first[3], again[3];
    const double *q, *v;
    perp_sim *sim = run_start(&ctx, model, (run_parts){ "point-mass" }, h);
    for (int i = 0; i < 2; i++) {
      if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), perp_model_v0(model)) != PERP_OK)
        bail("%s", ctx.msg);
      steps(sim, (int)ceil(t_end / h), t_end, &q, &v);
      memcpy(i == 0 ? first : again, q, sizeof first);
      steps(sim, 2, HUGE_VAL, &q, &v); /* more, which are forgotten */
    }
    off[k] = fabs(first[0] - 1 - x);
    ok(memcmp(first, again, sizeof first) == 0, "h = %g s: the same from a second start", h);
    near(first[2], 10 * t_end, 0.1, 0, "h = %g s: an angle goes on beyond a turn", h);
    perp_sim_destroy(sim);
  }
  ok(off[0] < 1e-3 && off[1] < 0.35 * off[0], "damped oscillation, order 2: off by %.2g m, %.2g m",
     off[0], off[1]);
  perp_model_destroy(model);
}

static int ball(perp_model *model, double mass, double x, double z, double e)
{
  const int body = run_body(
      &ctx, model, (perp_body_def){ .mass = perp_mass_sphere(mass, 0.1), .x = { x, 0, z } });
  run_shape(&ctx, model,
            (perp_shape_def){
                .kind = PERP_SHAPE_SPHERE, .body = body, .radius = 0.1, .surface.restitution = e });
  return body;
}

static void contacts(void)
{
  /* one ball bounces, of the others one rests on the floor and one on that */
  enum { STEPS = 400 };
  const double H = 1e-3, G = 9.80665;
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, G);
  run_shape(&ctx, model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD });
  ball(model, 1, 1, 0.3, 1);
  ball(model, 1, 0, 0.1, 0);
  ball(model, 3, 0, 0.3, 0);
  ball(model, 1, 5, 5, 1);
  ball(model, 3, 4.5, 5, 1);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ "point-mass" }, H);
  const double *q, *v;
  double v0[30] = { 0 };
  v0[18] = -1; /* towards that of 3 kg */
  if (perp_sim_restart(&ctx, sim, 0, perp_model_q0(model), v0) != PERP_OK) bail("%s", ctx.msg);
  double least = HUGE_VAL, most = 0, off = 0;
  for (int n = 0; n < STEPS; n++) {
    const perp_step_info info = steps(sim, 1, HUGE_VAL, &q, &v);
    const double energy = v[2] * v[2] / 2 + G * (q[2] - 0.1);
    least = fmin(least, energy);
    most = fmax(most, energy);
    for (int i = 0; n > 0 && i < info.n_contacts; i++) {
      const perp_contact *x = &info.contacts[i];
      const int other = x->body[0] + x->body[1];
      if (other != 0 && other != 3) continue; /* floor and ball 1, balls 1 and 2 */
      off = fmax(off, fabs(fabs(info.impulse[3 * i + 2]) - (other == 0 ? 4 : 3) * G * H));
    }
  }
  const perp_contact_count *count = perp_sim_contacts(sim);
  ok(least > 0.9 * 0.2 * G && most < 1.1 * 0.2 * G,
     "a ball that bounces beside balls at rest never stands still: energy of %.3g J to %.3g J",
     least, most);
  ok(fabs(v[18] - 0.5) < 1e-9 && fabs(v[24] + 0.5) < 1e-9, "an elastic impact of 1 kg and 3 kg");
  below(off, 1e-5 * G * H, "impulses at rest are the weights: off by %.2g N s", off);
  ok(count->failures == 0 && count->contacts == 3, "up to %d contacts, %ld not solved",
     count->contacts, (long)count->failures);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* Between two planes at 45 degrees each has weight / sqrt(2), along its normal; from a depth of
 * 0.01 m the ball comes back at 1 m/s. */
static void wedge(void)
{
  const double H = 1e-3, G = 9.80665;
  for (int deep = 0; deep < 2; deep++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, deep ? 0 : G);
    for (int side = -1; side <= 1; side += 2)
      run_shape(&ctx, model,
                (perp_shape_def){ .kind = PERP_SHAPE_PLANE,
                                  .body = PERP_WORLD,
                                  .quat = { cos(M_PI / 8), 0, side * sin(M_PI / 8), 0 } });
    ball(model, 1, 0, 0.1 * sqrt(2) - (deep ? 0.01 : 0), 0);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ "point-mass" }, H);
    const double *q, *v;
    const perp_step_info info = steps(sim, 5, HUGE_VAL, &q, &v);
    double sum[3] = { 0 }, across = 0;
    for (int i = 0; i < info.n_contacts; i++) {
      const double *p = info.impulse + 3 * i, *n = info.contacts[i].n;
      for (int k = 0; k < 3; k++) sum[k] += p[k];
      across = fmax(across, fabs(perp_dot(3, p, p) - pow(perp_dot(3, p, n), 2)));
    }
    if (deep)
      near(q[2], 0.1 * sqrt(2) - 0.01 + 5 * H * sqrt(2), 1e-9, 0, "from a depth: 1 m/s");
    else
      ok(fabs(sum[2] - G * H) < 1e-9 && fabs(sum[0]) < 1e-9 && across < 1e-12,
         "a wedge: forces along its two normals carry the weight");
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) rigidity(solves[i]);
  for (int i = 0; i < 2; i++) hinge(solves[i]);
  motion();
  contacts();
  wedge();
  return tap_done();
}
