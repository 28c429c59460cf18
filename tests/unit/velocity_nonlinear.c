/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The nonlinear step against its closed form: with the impulse along the radius at the end of the
 * step, a point on a rod or on a ball ends where the ray to its free end meets the circle.  And
 * against others: order 1, gaps of a box that tips, restitution and unfit methods refused. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double G = 9.81;

enum { STEPS = 400 };

static perp_model *point(int dim, double x, double z, double vx)
{
  perp_model *m = run_model(&ctx, dim);
  perp_body_def body = { .mass = perp_mass_sphere(2, 0.25) };
  body.x[0] = x, body.x[dim - 1] = z;
  body.v[0] = vx;
  perp_model_gravity(m, G);
  run_body(&ctx, m, body);
  return m;
}

/* q+ = L y / |y| with y = q + h v + h^2 g, of a rod of length L; of a ball only where y is inside.
 */
static void closed(int dim, double length, bool opens, double h, double *x, double *v)
{
  double y[3], norm = 0;
  for (int i = 0; i < dim; i++) {
    y[i] = x[i] + h * v[i] - (i == dim - 1 ? h * h * G : 0);
    norm += y[i] * y[i];
  }
  norm = sqrt(norm);
  const double scale = opens && norm >= length ? 1 : length / norm;
  for (int i = 0; i < dim; i++) {
    v[i] = (scale * y[i] - x[i]) / h;
    x[i] = scale * y[i];
  }
}

/* largest error of the positions, over the length; *off: largest error of the distance from the
 * centre */
static double against_closed(perp_model *m, run_parts parts, int dim, double length, bool opens,
                             double h, double *off)
{
  perp_sim *sim = run_start(&ctx, m, parts, h);
  double t, x[3], v[3], worst = 0;
  const double *q, *u;
  perp_sim_state(sim, &t, &q, &u);
  memcpy(x, q, (size_t)dim * sizeof *x);
  memcpy(v, u, (size_t)dim * sizeof *v);
  *off = 0;
  for (int n = 0; n < STEPS; n++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("step %d: %s", n, perp_reason_name(info.reason));
    closed(dim, length, opens, h, x, v);
    perp_sim_state(sim, &t, &q, &u);
    double norm = 0, wanted = 0;
    for (int i = 0; i < dim; i++) {
      worst = fmax(worst, fabs(q[i] - x[i]));
      norm += q[i] * q[i];
      wanted += x[i] * x[i];
    }
    *off = fmax(*off, fabs(sqrt(norm) - sqrt(wanted)));
  }
  perp_sim_destroy(sim);
  return worst / length;
}

static void rod(int dim)
{
  double off;
  perp_model *m = point(dim, 1.2, 0, 0);
  run_joint(
      &ctx, m,
      (perp_joint_def){ .kind = PERP_JOINT_DISTANCE, .a = PERP_WORLD, .b = 0, .length = 1.2 });
  run_finish(&ctx, m);
  const double d = against_closed(m, (run_parts){ "velocity-nonlinear" }, dim, 1.2, false, 0.01,
                                  &off);
  below(d, 1e-11, "%d-d: a point on a rod is off its closed form by %.2g of its length", dim, d);
  below(off, 1e-13, "%d-d: the rod is too long by %.2g m", dim, off);
  against_closed(m, (run_parts){ "velocity" }, dim, 1.2, false, 0.01, &off);
  ok(off > 1e-5, "%d-d: the linear step leaves %.2g m", dim, off);
  perp_model_destroy(m);
}

/* A ball slides without friction over a fixed one, and leaves it. */
static void ball(int dim)
{
  const double R = 1, r = 0.25, h = 2e-3;
  double off;
  perp_model *m = point(dim, 0.1, sqrt((R + r) * (R + r) - 0.01), 0.2);
  for (int i = 0; i < 2; i++) {
    const perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE,
                                   .body = i == 0 ? PERP_WORLD : 0,
                                   .radius = i == 0 ? R : r };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  const run_parts parts = { "velocity-nonlinear", .lcp = "dantzig", .contact = "frictionless" };
  const double d = against_closed(m, parts, dim, R + r, true, h, &off);
  below(d, 1e-11, "%d-d: a ball on a ball is off its closed form by %.2g", dim, d);
  below(off, 1e-12, "%d-d: the gap at the end of a step is off by %.2g m", dim, off);
  perp_model_destroy(m);
}

static void order(void)
{
  double q[3][14], end[4];
  perp_model *m = run_chain(&ctx, 3, 2, PERP_JOINT_BALL, false);
  run_fresh(&ctx, m, (run_parts){ "acceleration", "dopri5:tol=1e-12" }, 1e-3, 0.3, q[0], NULL);
  for (int i = 0; i < 2; i++) {
    const double h = i == 0 ? 1e-3 : 5e-4;
    if (run_fresh(&ctx, m, (run_parts){ "velocity-nonlinear" }, h, 0.3, q[1], NULL) < 0)
      bail("the chain stops");
    end[i] = 0;
    for (int j = 0; j < 14; j++) end[i] = fmax(end[i], fabs(q[1][j] - q[0][j]));
  }
  near(log2(end[0] / end[1]), 1, 0.1, 0, "two links in space: order 1 (%.3g, %.3g)", end[0],
       end[1]);
  perp_model_destroy(m);
}

/* A box that tips over an edge: its deepest corner is on the floor at the end of each step. */
static double tips(const char *formulation)
{
  perp_model *m = run_model(&ctx, 2);
  const double lean = 0.3;
  perp_body_def body = { .mass = perp_mass_box(1, 0.4, 1, 1), .angle = lean };
  body.x[1] = 0.2 * sin(lean) + 0.5 * cos(lean);
  perp_model_gravity(m, G);
  run_body(&ctx, m, body);
  for (int i = 0; i < 2; i++) {
    const perp_shape_def shape = { .kind = i == 0 ? PERP_SHAPE_PLANE : PERP_SHAPE_BOX,
                                   .body = i == 0 ? PERP_WORLD : 0,
                                   .half = { 0.2, 0.5 },
                                   .surface = { .mu = 1 } };
    run_shape(&ctx, m, shape);
  }
  run_finish(&ctx, m);
  perp_sim *sim = run_start(
      &ctx, m,
      (run_parts){ formulation, .lcp = "dantzig", .contact = "box",
                   .stab = strcmp(formulation, "velocity") == 0 ? "none" : "" },
      0.01);
  double worst = 0, t;
  const double *q, *v;
  for (int n = 0; n < 40; n++) {
    perp_step_info info;
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s: %s", formulation, perp_reason_name(info.reason));
    perp_sim_state(sim, &t, &q, &v);
    const double low = q[1] - 0.2 * fabs(sin(q[2])) - 0.5 * fabs(cos(q[2]));
    worst = fmax(worst, fabs(low));
  }
  perp_sim_destroy(sim);
  perp_model_destroy(m);
  return worst;
}

static void refused(void)
{
  perp_model *m = point(3, 0, 1, 0);
  perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = 0.25, .surface.restitution = 0.5 };
  run_shape(&ctx, m, shape);
  run_finish(&ctx, m);
  run_refused(&ctx, m, (run_parts){ "velocity-nonlinear" }, "restitution");
  perp_model_destroy(m);
  m = point(3, 0, 1, 0);
  shape.surface.restitution = 0;
  run_shape(&ctx, m, shape);
  run_finish(&ctx, m);
  run_refused(&ctx, m, (run_parts){ "velocity-nonlinear", .contact = "convex" }, "convex");
  perp_model_destroy(m);
  m = run_chain(&ctx, 3, 2, PERP_JOINT_BALL, false);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "velocity-nonlinear:iterations=1" }, 0.01);
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  ok(info.reason == PERP_MAX_ITER, "one linearization does not end the step: %s",
     perp_reason_name(info.reason));
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int dim = 2; dim <= 3; dim++) {
    rod(dim);
    ball(dim);
  }
  order();
  const double nonlinear = tips("velocity-nonlinear"), linear = tips("velocity");
  below(nonlinear, 1e-12, "a box that tips: its corner is off the floor by %.2g m", nonlinear);
  ok(linear > 1e-5, "the linear step leaves %.2g m", linear);
  refused();
  return tap_done();
}
