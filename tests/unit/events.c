/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts on the acceleration level: forces at one state against closed forms, with the curvature
 * of the shapes in Jdot v, what a step reports, and what is refused. */
#include "models/scenes/scene.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81;

static void add_shape(perp_model *model, perp_shape_def def, double mu, double e)
{
  def.surface = (perp_surface){ .mu = mu, .mu_dynamic = mu, .restitution = e };
  run_shape(&ctx, model, def);
}

/* normal force of the first contact of the first step */
static double normal_force(perp_model *model, run_parts parts, double h)
{
  perp_step_info info;
  perp_sim *sim = run_start(&ctx, model, parts, h);
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  double t, force = (double)NAN;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  if (info.reason >= 0 && info.n_contacts > 0)
    force = (info.contacts[0].n[0] * info.impulse[0] + info.contacts[0].n[1] * info.impulse[1] +
             info.contacts[0].n[2] * info.impulse[2]) /
            t;
  perp_sim_destroy(sim);
  return force;
}

/* A ball on a fixed ball, at the angle phi from the top, sliding down at v without friction:
 * N = m (g cos phi - v^2 / (R + r)) */
static perp_model *ball_on_ball(double phi, double v, double R, double r)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  const double a = R + r;
  run_body(&ctx, model,
           (perp_body_def){ .name = "ball",
                            .mass = perp_mass_sphere(2, r),
                            .x = { a * sin(phi), 0, a * cos(phi) },
                            .v = { v * cos(phi), 0, -v * sin(phi) } });
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = PERP_WORLD, .radius = R },
            0, 0);
  add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = r }, 0, 0);
  return run_finish(&ctx, model);
}

static void curvature(void)
{
  const run_parts parts = { .formulation = "acceleration", .ode = "rk4" };
  for (int i = 0; i < 4; i++) {
    const double phi = 0.1 + 0.15 * i, v = 0.4 * i, R = 1, r = 0.3;
    perp_model *model = ball_on_ball(phi, v, R, r);
    near(normal_force(model, parts, 1e-3), 2 * (g * cos(phi) - v * v / (R + r)), 1e-9, 0,
         "ball on a ball at %.2f rad and %.1f m/s: normal force", phi, v);
    perp_model_destroy(model);
  }
  /* it leaves where m v^2 / a = m g cos phi: cos phi = 2/3 cos phi_0 from rest */
  const double a = 1.3, phi0 = 0.2, leave = acos(2. / 3 * cos(phi0));
  perp_model *model = ball_on_ball(phi0, 0, 1, 0.3);
  perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
  perp_step_info info;
  double t, height = 0;
  const double *q, *v;
  for (int k = 0; k < 2000; k++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    if (info.n_contacts == 0 || info.impulse[2] == 0) break;
    height = q[2];
  }
  /* v sin phi h = 2.9 mm a step */
  near(height, a * cos(leave), 3e-3, 0, "it leaves at cos phi = 2/3 cos phi_0, within a step");
  near(0.5 * 2 * (v[0] * v[0] + v[2] * v[2]) + 2 * g * q[2], 2 * g * a * cos(phi0), 1e-6, 0,
       "and has lost no energy but what the step in which it leaves does to it");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A ball of 50 mm at 100 m/s, or a brick, against a plate of 1 mm: it moves 0.4 m in a step. */
static void fast(const char *ode, int dim, perp_shape_kind kind, double at)
{
  const double v0 = 100, r = 0.05, h = 1. / 240;
  perp_model *model = run_model(&ctx, dim);
  perp_model_gravity(model, 0);
  run_body(&ctx, model,
           (perp_body_def){
               .mass = perp_mass_sphere(1, r), .x = { -at }, .v = { v0 }, .w = { 0, 0, 0 } });
  add_shape(model, (perp_shape_def){ .kind = kind, .body = 0, .radius = r, .half = { r, r, r } }, 0,
            0.5);
  perp_shape_def plate = { .kind = PERP_SHAPE_BOX, .body = PERP_WORLD, .half = { 5e-4, 1, 1 } };
  add_shape(model, plate, 0, 0.5);
  run_finish(&ctx, model);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ .formulation = "acceleration", .ode = ode },
                            h);
  const perp_reason reason = run_to(&ctx, sim, 0.05);
  double t;
  const double *q, *v;
  perp_sim_state(sim, &t, &q, &v);
  const double hit = (at - r - 5e-4) / v0;
  near(v[0], -50, 1e-9, 0, "%s in %dD at %g m: a fast body rebounds from a thin plate (%s)", ode,
       dim, at, perp_reason_name(reason));
  near(q[0], -r - 5e-4 - 50 * (0.05 - hit), 1e-7, 0, "... when it meets it");
  near((double)perp_sim_contacts(sim)->impacts, 1, 0, 0, "... once");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void tunnel(void)
{
  fast("rk4", 3, PERP_SHAPE_SPHERE, 1.03);
  fast("rk4", 2, PERP_SHAPE_SPHERE, 1.03);
  fast("rk4", 3, PERP_SHAPE_BOX, 0.95);
  fast("symplectic-euler", 3, PERP_SHAPE_SPHERE, 1.2);
  fast("dopri5:tol=1e-9", 3, PERP_SHAPE_SPHERE, 1.03);
  /* two bodies that come towards each other */
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, 0);
  for (int i = 0; i < 2; i++) {
    const double sign = i == 0 ? 1 : -1;
    run_body(&ctx, model,
             (perp_body_def){
                 .mass = perp_mass_sphere(1, 0.02), .x = { -0.93 * sign }, .v = { 90 * sign } });
    add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = i, .radius = 0.02 }, 0,
              1);
  }
  run_finish(&ctx, model);
  double v[12];
  run_fresh(&ctx, model, (run_parts){ .formulation = "acceleration", .ode = "rk4" }, 1. / 240, 0.05,
            NULL, v);
  near(v[0], -90, 1e-9, 0, "two fast balls meet");
  perp_model_destroy(model);
}

/* Painleve's rod, a case with a solution */
static void painleve(void)
{
  static const struct {
    const char *lcp, *contact, *sliding;
  } rows[] = { { "lemke", "polyhedral:directions=8", "column" },
               { "lemke", "frictionless", "iterate" },
               { "auto", "cone", "column" },
               { "fischer-newton", "box", "column" },
               { "dantzig", "box", "iterate" },
               { "enumerate", "box", "column" } };
  perp_spec spec = { 0 };
  perp_scene scene;
  if (perp_spec_parse(&ctx, PERP_KIND_scene, "painleve:theta=30deg", &spec) != PERP_OK ||
      perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
    bail("%s", ctx.msg);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char formulation[64];
    const bool frictionless = strcmp(rows[i].contact, "frictionless") == 0;
    snprintf(formulation, sizeof formulation, "acceleration:residual=1e-13,sliding=%s",
             rows[i].sliding);
    const run_parts parts = {
      .formulation = formulation, .ode = "rk4", .lcp = rows[i].lcp, .contact = rows[i].contact
    };
    /* without friction: A_nn = 1 + 3 cos^2 = 3.25 */
    near(normal_force(scene.model, parts, 1e-3), frictionless ? 9.81 / 3.25 : 15.04777118252486, 0,
         1e-10, "Painleve's rod at 30 deg, mu = 2, by %s with %s", rows[i].lcp, rows[i].contact);
  }
  perp_scene_destroy(&scene);
  perp_spec_free(&spec);
}

static void refused(const char *formulation, const char *lcp, const char *contact, const char *mend)
{
  const run_parts names = {
    .formulation = formulation, .ode = "rk4", .lcp = lcp, .contact = contact
  };
  perp_model *model = ball_on_ball(0, 0, 1, 0.3);
  perp_parts parts;
  perp_sim *sim = NULL;
  if (run_parse(&ctx, &names, &parts) != PERP_OK) bail("%s", ctx.msg);
  const perp_status status = perp_sim_create(&ctx, model, &parts, 1e-3, &sim);
  ok(status == PERP_ERR_UNSUPPORTED && strstr(ctx.msg, mend) != NULL,
     "%s with %s, %s: refused (%s)", formulation, lcp, contact, ctx.msg);
  perp_sim_destroy(sim);
  run_free(&parts);
  perp_model_destroy(model);
}

/* a ball falls on the floor */
static void location(void)
{
  static const struct {
    const char *formulation;
    double bound; /* of the height at which it turns, m */
  } rows[] = { { "acceleration", 1e-9 },
               { "acceleration:locate=1e-4", 4.5e-4 },
               { "acceleration:gap=1e-4", 1e-4 } };
  for (int i = 0; i < 3; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, g);
    run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_sphere(1, 0.1), .x = { 0, 0, 1.1 } });
    add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD }, 0, 0.5);
    add_shape(model, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .body = 0, .radius = 0.1 }, 0,
              0.5);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ rows[i].formulation, "rk4" }, 1e-2);
    double t, turn = HUGE_VAL, deepest = 0;
    const double *q, *v;
    perp_step_info info;
    for (int k = 0; k < 100; k++) {
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
        bail("%s", ctx.msg);
      perp_sim_state(sim, &t, &q, &v);
      if (turn == HUGE_VAL && v[2] > 0) turn = q[2] - 0.1;
      deepest = fmin(deepest, q[2] - 0.1);
    }
    near(turn, 0, rows[i].bound, 0, "%s: turns where it touches, within %g m", rows[i].formulation,
         rows[i].bound);
    below(-deepest, fmax(1e-9, i == 2 ? 1e-4 : 0), "%s: overlap", rows[i].formulation);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  curvature();
  tunnel();
  painleve();
  location();
  refused("acceleration:sliding=column", "dantzig", "box", "sliding=iterate");
  refused("acceleration", "lemke", "box", "polyhedral");
  refused("acceleration", "dantzig", "polyhedral:directions=8", "box");
  return tap_done();
}
