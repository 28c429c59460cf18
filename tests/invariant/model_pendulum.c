/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pendulum against Jacobi elliptic functions: order of every method in the acceleration
 * formulation, order one of the velocity formulation, with and without stabilization, by ball
 * joint, hinge, distance joint, in space and in the plane; the reaction force against Newton's
 * law; the long run of the acceptance. */
#include "tests/run_model.h"

#include <gsl/gsl_sf_elljac.h>
#include <gsl/gsl_sf_ellint.h>

static perp_ctx ctx;

/* Released from rest at the angle theta0 from the downward vertical, w0^2 = g / l_reduced:
 *      sin(theta / 2) = k cd(w0 t | k^2),   k = sin(theta0 / 2)  */
static double angle_at(double theta0, double w0, double t, double *rate)
{
  double k = sin(theta0 / 2), sn, cn, dn;
  gsl_sf_elljac_e(w0 * t, k * k, &sn, &cn, &dn);
  double s = k * cn / dn;
  /* d cd(u)/du = -(1 - k^2) sn / dn^2 */
  if (rate != NULL) *rate = -2 * k * w0 * (1 - k * k) * sn / (dn * dn) / sqrt(1 - s * s);
  return 2 * asin(s);
}

enum shape { BALL, HINGE, PLANE, ROPE };
static const char *const shape_names[] = { "ball joint", "hinge", "hinge in the plane",
                                           "distance joint" };
static const double length = 1.2, mass = 2, theta0 = 2;

/* A rod of `length` swinging about its end; the rope: a bead on a massless rope, a ball whose
 * inertia plays no part. */
static perp_model *pendulum(enum shape shape, int copies, double *w0)
{
  int dim = shape == PLANE ? 2 : 3;
  perp_model *model = run_model(&ctx, dim);
  double s = sin(theta0), c = cos(theta0), reach = shape == ROPE ? length : length / 2;
  double Ic = mass * length * length / 12;
  perp_body_def rod = { .mass = { mass, { 0.01 * Ic, 0, 0, 0, Ic, 0, 0, 0, Ic } } };
  if (shape == ROPE) rod.mass = perp_mass_sphere(mass, 0.1);
  /* local x along the rod, from the end to the tip; it hangs along -z (-y in the plane) at theta
   * = 0 */
  rod.x[0] = reach * s;
  rod.x[dim - 1] = -reach * c;
  rod.angle = theta0 - M_PI / 2;
  rod.quat[0] = cos((M_PI / 2 - theta0) / 2); /* about y, which turns x towards -z */
  rod.quat[2] = sin((M_PI / 2 - theta0) / 2);
  int body = run_body(&ctx, model, rod);
  perp_joint_def joint = { .kind = shape == BALL   ? PERP_JOINT_BALL
                                   : shape == ROPE ? PERP_JOINT_DISTANCE
                                                   : PERP_JOINT_HINGE,
                           .a = PERP_WORLD,
                           .b = body,
                           .axis_a[1] = 1,
                           .axis_b[1] = 1,
                           .length = length };
  if (shape != ROPE) joint.anchor_b[0] = -reach;
  for (int i = 0; i < copies; i++) run_joint(&ctx, model, joint);
  *w0 = sqrt(9.81 / (shape == ROPE ? length : 2 * length / 3));
  return run_finish(&ctx, model);
}

/* distance of the centre of mass from the closed form; rate (may be NULL): of its velocity */
static double error_at(enum shape shape, double w0, double t, const double *q, const double *v,
                       double *rate)
{
  double thetadot, theta = angle_at(theta0, w0, t, &thetadot);
  double r = shape == ROPE ? length : length / 2, s = sin(theta), c = cos(theta);
  int up = shape == PLANE ? 1 : 2;
  if (rate != NULL) *rate = hypot(v[0] - r * c * thetadot, v[up] - r * s * thetadot);
  return hypot(q[0] - r * s, q[up] + r * c);
}

/* the largest error in position and velocity over eight times up to 1 s, so that no zero of the
 * error function at one of them can pass for accuracy */
static double error_of(enum shape shape, run_parts parts, double h)
{
  double w0, t, worst = 0, rate;
  const double *q, *v;
  perp_model *model = pendulum(shape, 1, &w0);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  for (int k = 1; k <= 8; k++) {
    perp_reason reason = run_to(&ctx, sim, k / 8.0);
    if (reason < 0) bail("%s: %s", parts.ode, perp_reason_name(reason));
    perp_sim_state(sim, &t, &q, &v);
    worst = fmax(worst, error_at(shape, w0, t, q, v, &rate));
    worst = fmax(worst, rate);
  }
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return worst;
}

/* the slope of log(error) between two steps; dopri5's leading error term is so small that the
 * next one still shows where rounding begins */
static void order(enum shape shape, run_parts parts, double want, double h)
{
  double coarse = error_of(shape, parts, h), fine = error_of(shape, parts, h / 2);
  double got = log2(coarse / fine);
  near(got, want, strcmp(parts.ode, "dopri5") == 0 ? 0.2 : 0.1, 0,
       "%s, %s, %s, %s: order %g (errors %.2g, %.2g)", shape_names[shape], parts.formulation,
       parts.ode, parts.stab, want, coarse, fine);
}

static void orders(void)
{
  static const struct {
    const char *ode;
    double order, h;
  } methods[] = {
    { "euler", 1, 1.0 / 8192 },    { "symplectic-euler", 1, 1.0 / 8192 },
    { "midpoint", 2, 1.0 / 1024 }, { "heun", 2, 1.0 / 1024 },
    { "verlet", 2, 1.0 / 1024 },   { "implicit-midpoint", 2, 1.0 / 1024 },
    { "rk4", 4, 1.0 / 256 },       { "cash-karp", 5, 1.0 / 64 },
    { "dopri5", 5, 1.0 / 128 },
  };
  for (size_t i = 0; i < sizeof methods / sizeof *methods; i++) {
    run_parts p = { "acceleration", methods[i].ode, "schur-dense", "none" };
    order(i % 2 == 0 ? BALL : HINGE, p, methods[i].order, methods[i].h);
    p.stab = "post:velocity=true";
    order(PLANE, p, methods[i].order, methods[i].h);
  }
  order(ROPE, (run_parts){ "acceleration", "rk4", "tree", "none" }, 4, 1.0 / 256);
  order(BALL, (run_parts){ "acceleration", "rk4", "tree", "baumgarte:alpha=10" }, 4, 1.0 / 512);
  order(BALL, (run_parts){ "acceleration:state=momentum", "rk4", "tree", "none" }, 4, 1.0 / 256);
  order(PLANE,
        (run_parts){ "acceleration:state=momentum", "midpoint", "tree", "post:velocity=true" }, 2,
        1.0 / 1024);
  static const char *const first[] = { "euler", "symplectic-euler" };
  for (int i = 0; i < 2; i++) {
    order(BALL, (run_parts){ "velocity", first[i], "tree", "none" }, 1, 1.0 / 8192);
    order(HINGE, (run_parts){ "velocity", first[i], "tree", "baumgarte" }, 1, 1.0 / 8192);
    order(PLANE, (run_parts){ "velocity", first[i], "schur-dense", "post" }, 1, 1.0 / 8192);
    order(ROPE, (run_parts){ "velocity", first[i], "tree", "post:velocity=true" }, 1, 1.0 / 8192);
  }
}

/* lambda is the force on the body: with C = p_b - p_a, the world's hand on the end of the rod,
 * F = m (a - g), a of the centre of mass from the closed form */
static void reaction(const char *formulation, const char *ode, double h, double rtol)
{
  double w0, t, rate, theta, r = length / 2;
  perp_model *model = pendulum(BALL, 1, &w0);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation, ode, "tree", "" }, h);
  const double *q, *v;
  run_to(&ctx, sim, 0.5);
  perp_sim_state(sim, &t, &q, &v);
  /* the multiplier of a step belongs to its start */
  perp_step_info info;
  perp_sim_step(&ctx, sim, 1, &info);
  theta = angle_at(theta0, w0, t, &rate);
  double alpha = -w0 * w0 * sin(theta);
  double ax = r * (alpha * cos(theta) - rate * rate * sin(theta));
  double az = r * (alpha * sin(theta) + rate * rate * cos(theta));
  double Fx = mass * ax, Fz = mass * (az + 9.81), scale = hypot(Fx, Fz);
  below(hypot(info.lambda[0] - Fx, info.lambda[2] - Fz) / scale, rtol,
        "%s: the multiplier is the reaction force (%.4g, %.4g) N", formulation, Fx, Fz);
  near(info.lambda[1], 0, 1e-9, 0, "%s: and has no part across the plane of motion", formulation);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* the same joint twice: J has dependent rows, the motion does not care */
static void redundant(const char *kkt)
{
  double w0, once[7], twice[7], worst = 0;
  perp_model *one = pendulum(HINGE, 1, &w0), *two = pendulum(HINGE, 2, &w0);
  run_parts p = { "acceleration", "rk4", kkt, "post:velocity=true" };
  perp_reason r1 = run_fresh(&ctx, one, p, 1.0 / 256, 1, once, NULL);
  perp_reason r2 = run_fresh(&ctx, two, p, 1.0 / 256, 1, twice, NULL);
  for (int i = 0; i < 7; i++) worst = fmax(worst, fabs(once[i] - twice[i]));
  ok(r1 > 0 && r2 > 0, "%s: a pendulum held by the same hinge twice runs (%s)", kkt,
     perp_reason_name(r2));
  /* regularization of 1e-10 of the diagonal, refined */
  below(worst, 1e-9, "%s: and swings as the one held once", kkt);
  p = (run_parts){ "velocity", "symplectic-euler", kkt, "baumgarte" };
  run_fresh(&ctx, one, p, 1.0 / 256, 1, once, NULL);
  r2 = run_fresh(&ctx, two, p, 1.0 / 256, 1, twice, NULL);
  worst = 0;
  for (int i = 0; i < 7; i++) worst = fmax(worst, fabs(once[i] - twice[i]));
  ok(r2 > 0 && worst < 1e-8, "%s: on the velocity level too (difference %.2g)", kkt, worst);
  perp_model_destroy(one);
  perp_model_destroy(two);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  orders();
  reaction("acceleration", "rk4", 1.0 / 512, 1e-8);
  reaction("velocity", "symplectic-euler", 1.0 / 16384, 1e-3);
  redundant("schur-dense");
  redundant("tree");
  /* 10 s, h = 1 ms, Baumgarte on the acceleration level: below 1e-6 m */
  double w0, q[7];
  perp_model *model = pendulum(BALL, 1, &w0);
  perp_reason reason = run_fresh(
      &ctx, model, (run_parts){ "acceleration", "rk4", "tree", "baumgarte" }, 1e-3, 10, q, NULL);
  ok(reason > 0, "10 s run to their end");
  below(error_at(BALL, w0, 10, q, NULL, NULL), 1e-6,
        "rk4, h = 1 ms, Baumgarte: position after 10 s");
  static const char *const stabs[] = { "none", "baumgarte", "post", "post:velocity=true" };
  for (int i = 0; i < 4; i++) {
    reason = run_fresh(&ctx, model,
                       (run_parts){ "acceleration", "gsl:rk8pd:tol=1e-12", "tree", stabs[i] }, 1e-3,
                       10, q, NULL);
    ok(reason > 0, "rk8pd, %s: 10 s run to their end", stabs[i]);
    below(error_at(BALL, w0, 10, q, NULL, NULL), 1e-9, "rk8pd, tol 1e-12, %s: position after 10 s",
          stabs[i]);
  }
  perp_model_destroy(model);
  return tap_done();
}
