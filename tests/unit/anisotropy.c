/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Anisotropic friction.  A point of mass 1 kg slides over a floor with a grain and is braked.  With
 * y = S u the law of most dissipation is  y' = -mu g S^2 y / |y|,  integrated here by itself; along
 * its solutions y_2 / y_1^(r^2) is constant, and the slip turns towards the smaller friction until
 * it stops.  The metric of Coulomb's law knows the ellipse. */
#include "tests/run_model.h"

#include <math.h>

static perp_ctx ctx;
static const double g = 9.81, mu = 0.1, r = 2;

/* Surfaces of the floor and of the ball, whose contact is at its centre of mass; the ball is turned
 * about z by `yaw`. */
static perp_model *slider_at(double speed, const perp_surface *floor, const perp_surface *ball,
                             double yaw)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  run_body(&ctx, model,
           (perp_body_def){ .mass = perp_mass_sphere(1, 0.1),
                            .quat = { cos(yaw / 2), 0, 0, sin(yaw / 2) },
                            .v = { speed, speed, 0 } });
  const perp_shape_def plane = { .body = PERP_WORLD, .kind = PERP_SHAPE_PLANE, .surface = *floor };
  const perp_shape_def sphere = {
    .body = 0, .kind = PERP_SHAPE_SPHERE, .x = { 0, 0, 0.1 }, .radius = 0.1, .surface = *ball
  };
  run_shape(&ctx, model, plane);
  run_shape(&ctx, model, sphere);
  return model;
}

static perp_model *slider(const perp_surface *floor, const perp_surface *ball, double yaw)
{
  return slider_at(1, floor, ball, yaw);
}

static const perp_surface plain = { .mu = mu, .mu_dynamic = mu };
/* across^2 / mu: the geometric mean with the other surface is r mu */
static const perp_surface grained = {
  .mu = mu, .mu_dynamic = mu, .mu_across = r * r * mu, .along = { 2, 0, 0 }
};

static void rate(const double *u, double *f)
{
  const double s = hypot(u[0], r * u[1]);
  f[0] = -mu * g * u[0] / s;
  f[1] = -mu * g * r * r * u[1] / s;
}

/* u at t, by Runge and Kutta's method */
static void exact(double t, double *u)
{
  const int n = 20000;
  const double h = t / n;
  u[0] = u[1] = 1;
  for (int i = 0; i < n; i++) {
    double k[4][2], z[2];
    rate(u, k[0]);
    for (int j = 0; j < 2; j++) z[j] = u[j] + h / 2 * k[0][j];
    rate(z, k[1]);
    for (int j = 0; j < 2; j++) z[j] = u[j] + h / 2 * k[1][j];
    rate(z, k[2]);
    for (int j = 0; j < 2; j++) z[j] = u[j] + h * k[2][j];
    rate(z, k[3]);
    for (int j = 0; j < 2; j++) u[j] += h / 6 * (k[0][j] + 2 * k[1][j] + 2 * k[2][j] + k[3][j]);
  }
}

static const run_parts cones[] = {
  { .lcp = "auto", .contact = "cone" },
  { .lcp = "block-gs", .contact = "cone" },
  { .lcp = "staggered", .contact = "cone" },
  { .lcp = "auto", .contact = "cone", .formulation = "velocity-implicit" },
  { .lcp = "lemke", .contact = "polyhedral:directions=64" },
};
enum { CONES = sizeof cones / sizeof *cones };

static void test_braking(void)
{
  double u[2];
  exact(0.5, u);
  for (int i = 0; i < CONES; i++) {
    double v[6], error[2];
    for (int k = 0; k < 2; k++) {
      perp_model *model = run_finish(&ctx, slider(&grained, &plain, 0));
      perp_sim *sim = run_start(&ctx, model, cones[i], k == 0 ? 1e-3 : 2.5e-4);
      double t;
      const double *at, *rate_at;
      run_to(&ctx, sim, 0.5);
      perp_sim_state(sim, &t, &at, &rate_at);
      memcpy(v, rate_at, sizeof v);
      error[k] = hypot(v[0] - u[0], v[1] - u[1]);
      const perp_contact_coulomb off = perp_sim_contacts(sim)->coulomb;
      if (k == 0 && strcmp(cones[i].contact, "cone") == 0)
        ok(off.measured && fmax(off.violation, off.angle) < 1e-6,
           "%s: Coulomb's law of the ellipse holds to %.2g mu N, %.2g rad", cones[i].lcp,
           off.violation, off.angle);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
    ok(error[0] < 2e-3 && error[1] < error[0] / 3,
       "%s, %s: braked as the differential equation says, to %.2g, %.2g in a quarter of the step",
       cones[i].lcp, cones[i].contact, error[0], error[1]);
    near(r * v[1] / pow(v[0], r * r), r, 0, 2e-2, "and y_2 / y_1^4 stays");
  }
}

/* The grain belongs to the surface that has it, and turns with its body; a pair of materials has
 * its own. */
static void test_owner(void)
{
  double u[2], v[6];
  exact(0.5, u);
  perp_model *model = run_finish(&ctx, slider(&plain, &grained, 0));
  run_fresh(&ctx, model, cones[0], 2.5e-4, 0.5, NULL, v);
  near(hypot(v[0] - u[0], v[1] - u[1]), 0, 1e-3, 0, "the grain of the body");
  perp_model_destroy(model);
  model = run_finish(&ctx, slider(&plain, &grained, M_PI / 2));
  run_fresh(&ctx, model, cones[0], 2.5e-4, 0.5, NULL, v);
  near(hypot(v[1] - u[0], v[0] - u[1]), 0, 1e-3, 0, "which is turned with it");
  perp_model_destroy(model);
  perp_surface up = grained;
  up.along[0] = 0, up.along[2] = 1;
  model = run_finish(&ctx, slider(&up, &plain, 0));
  run_fresh(&ctx, model, cones[0], 1e-3, 0.5, NULL, v);
  near(hypot(v[0], v[1]), sqrt(2) - mu * g * 0.5, 0, 1e-9, "along the normal there is no grain");
  perp_model_destroy(model);
  perp_surface a = grained, b = plain, pair = { .mu = mu, .mu_across = r * mu };
  a.material = 1, b.material = 2;
  pair.mu_dynamic = pair.restitution = pair.torsion = pair.rolling = (double)NAN;
  for (int k = 0; k < 2; k++) {
    model = slider(&a, &b, 0);
    if (k == 1) pair.mu_across = (double)NAN;
    if (perp_model_add_pair(&ctx, model, 1, 2, &pair) != PERP_OK) bail("%s", ctx.msg);
    run_finish(&ctx, model);
    run_fresh(&ctx, model, cones[0], 2.5e-4, 0.5, NULL, v);
    if (k == 0)
      near(hypot(v[0] - u[0], v[1] - u[1]), 0, 1e-3, 0, "a pair of materials has mu_across");
    else
      near(hypot(v[0], v[1]), sqrt(2) - mu * g * 0.5, 0, 1e-9, "or is isotropic with mu alone");
    perp_model_destroy(model);
  }
}

/* At rest the pull that holds is inside the ellipse: 0.9 and 1.1 of its radius at any angle. */
static void test_sticking(void)
{
  for (int i = 0; i < 8; i++) {
    const double angle = 0.3 + i, radius = mu * g / hypot(cos(angle), sin(angle) / r);
    for (int k = 0; k < 2; k++) {
      perp_model *model = slider_at(0, &grained, &plain, 0);
      const double pull = (k == 0 ? 0.9 : 1.1) * radius;
      double v[6];
      const perp_force_def force = { .kind = PERP_FORCE_POINT,
                                     .b = PERP_WORLD,
                                     .value = { pull * cos(angle), pull * sin(angle), 0 } };
      run_force(&ctx, model, force);
      run_finish(&ctx, model);
      run_fresh(&ctx, model, cones[i % CONES], 1e-3, 0.1, NULL, v);
      ok((hypot(v[0], v[1]) < 1e-9) == (k == 0), "%s: a pull of %g of the limit at %.2g rad %s",
         cones[i % CONES].lcp, k == 0 ? 0.9 : 1.1, angle, k == 0 ? "is held" : "is not");
      perp_model_destroy(model);
    }
  }
}

static void refused_surface(perp_surface s, int dim, const char *word)
{
  perp_model *model = run_model(&ctx, dim);
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1) });
  const perp_shape_def def = { .body = 0, .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = s };
  ok(perp_model_add_shape(&ctx, model, &def, NULL) != PERP_OK && strstr(ctx.msg, word) != NULL,
     "refused: %s", ctx.msg);
  perp_model_destroy(model);
}

static void test_refused(void)
{
  perp_surface s = grained;
  refused_surface(s, 2, "space");
  s.along[0] = 0;
  refused_surface(s, 3, "along");
  s = grained;
  s.mu_across = -1;
  refused_surface(s, 3, "mu_across");
  s = grained;
  s.mu_dynamic = 0.05;
  refused_surface(s, 3, "mu_dynamic");
  s = grained;
  s.mu = s.mu_dynamic = 0;
  refused_surface(s, 3, "mu > 0");
  perp_model *model = slider(&grained, &grained, 0);
  ok(perp_model_finish(&ctx, model) == PERP_ERR_UNSUPPORTED, "refused: %s", ctx.msg);
  perp_model_destroy(model);
  model = run_finish(&ctx, slider(&grained, &plain, 0));
  run_refused(&ctx, model, (run_parts){ .formulation = "acceleration" }, "anisotropic");
  run_refused(&ctx, model, (run_parts){ .formulation = "impulse" }, "anisotropic");
  run_refused(&ctx, model, (run_parts){ .formulation = "xpbd" }, "anisotropic");
  perp_model_destroy(model);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_braking();
  test_owner();
  test_sticking();
  test_refused();
  return tap_done();
}
