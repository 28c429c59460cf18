/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The convex relaxation of friction against its own theory: what slides ends each step mu |v| h
 * above the surface, to rounding, and no other law does; what is set down at a speed hops, however
 * short the steps are. */
#include "experiments/scenes/scene_file.h"
#include "experiments/simulate/simulate.h"
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81;

static double metric_of(const perp_request *request, const char *metric)
{
  perp_result result;
  if (perp_simulate(&ctx, request, &result) != PERP_OK) bail("%s: %s", request->scene, ctx.msg);
  const double value = result.reason > 0 ? perp_result_metric(&result, metric) : nan("");
  perp_result_free(&result);
  return value;
}

/* ---- down an incline, from rest ---- */

/* Speed after n steps of a block that would slide with a.  The first step lifts it by mu v h, which
 * presses it down on the incline and makes it slower: v+ - v = a h - mu (u_n+ - u_n) with u_n = mu
 * (v+ - v), a geometric sequence. */
static double slid(double a, double mu, double h, int n)
{
  const double rate = mu * mu / (1 + mu * mu);
  return a * h * (n - mu * mu * (1 - pow(rate, n)));
}

static void incline(void)
{
  static const struct {
    const char *options, *formulation, *contact;
    double theta, mu, seen; /* seen: of mu, by a cone of edges */
    int n;                  /* steps of a second */
  } rows[] = {
    { "", "velocity:residual=1e-12", "convex", 30, 0.3, 1, 240 },
    { "", "velocity:residual=1e-12", "convex", 30, 0.3, 1, 960 },
    { "", "velocity:residual=1e-12", "convex", 50, 0.7, 1, 100 },
    { "dim=2,", "velocity:residual=1e-12", "convex", 40, 0.5, 1, 240 },
    { "azimuth=31deg,", "velocity:residual=1e-12", "convex:directions=4", 30, 0.3, 1, 240 },
    { "azimuth=31deg,", "velocity:residual=1e-12,joints=rows", "convex:directions=6", 30, 0.3, 1,
      240 },
    /* between two of eight fixed generators */
    { "tilt=gravity,azimuth=22.5deg,", "velocity:residual=1e-12,align=none", "convex", 30, 0.3,
      0.92387953251128674, 240 },
    { "tilt=gravity,azimuth=90deg,", "velocity:residual=1e-12,align=none", "convex:directions=4",
      30, 0.3, 1, 240 },
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char scene[128];
    const double mu = rows[i].mu * rows[i].seen, theta = rows[i].theta * M_PI / 180;
    const double h = 1.0 / rows[i].n, a = g * (sin(theta) - mu * cos(theta));
    snprintf(scene, sizeof scene, "incline:%stheta=%gdeg,mu=%g", rows[i].options, rows[i].theta,
             rows[i].mu);
    const perp_request r = { .scene = scene,
                             .formulation = rows[i].formulation,
                             .lcp = "dantzig",
                             .contact = rows[i].contact,
                             .h = h,
                             .t_end = 1 };
    const double lift = mu * h * slid(a, mu, h, rows[i].n);
    near(metric_of(&r, "lift.max"), lift, 1e-10 * lift, 0, "%s, %s at %g s: floats at %.6g m",
         rows[i].contact, scene, h, lift);
    below(metric_of(&r, "pen.max"), 1e-12, "... and sinks nowhere");
  }
  static const char *const others[][2] = { { "box", "dantzig" },
                                           { "polyhedral", "lemke" },
                                           { "cone", "block-gs" } };
  for (int i = 0; i < 3; i++)
    below(metric_of(&(perp_request){ .scene = "incline:theta=30deg,mu=0.3",
                                     .formulation = "velocity:residual=1e-12",
                                     .contact = others[i][0],
                                     .lcp = others[i][1],
                                     .t_end = 1 },
                    "lift.max"),
          1e-9, "%s: does not float", others[i][0]);
  const perp_request smooth = { .scene = "incline:theta=30deg,mu=0",
                                .contact = "convex",
                                .t_end = 1 };
  below(metric_of(&smooth, "lift.max"), 1e-12, "mu = 0: does not float");
  below(metric_of(&smooth, "accel.rel.err"), 1e-12, "... and slides with g sin theta");
  near(metric_of(&smooth, "lcp.rows.max"), 4, 0, 0, "... of one row a contact");
}

/* ---- every solver, and what stands ---- */

static void solvers(void)
{
  const double mu = 0.3, h = 1.0 / 240,
               lift = mu * h * slid(g * (0.5 - mu * cos(M_PI / 6)), mu, h, 60);
  const perp_contact_desc *law = (const void *)perp_find(&ctx, PERP_KIND_contact, "convex");
  const perp_desc *d;
  perp_spec spec;
  if (perp_spec_parse(&ctx, PERP_KIND_contact, "convex", &spec) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL; i++) {
    if (law->fits(&ctx, spec.opts, 3, d) != PERP_OK ||
        d->caps & (PERP_LCP_PEER | PERP_LCP_STRUCTURED) ||
        strcmp(d->name, "enumerate") == 0) /* 20 rows at most */
      continue;
    const perp_request r = {
      .scene = "incline:theta=30deg,mu=0.3", .contact = "convex", .lcp = d->name, .t_end = 0.25
    };
    near(metric_of(&r, "lcp.failures"), 0, 0, 0, "%s: solves every step", d->name);
    near(metric_of(&r, "lift.max"), lift, 1e-3 * lift, 0, "%s: floats", d->name);
  }
  perp_spec_free(&spec);
  static const char *const still[] = { "stack:boxes=5", "stack:boxes=5,dim=2",
                                       "wall:rows=3,columns=3", "card-house",
                                       "arch:thickness=0.1005" };
  for (size_t i = 0; i < sizeof still / sizeof *still; i++) {
    const perp_request r = { .scene = still[i], .contact = "convex", .t_end = 0.5 };
    if (i < 4) below(metric_of(&r, "force.rel.err"), 1e-7, "%s: forces of statics", still[i]);
    below(metric_of(&r, "pose.drift.max"), 1e-6, "%s: nothing moves", still[i]);
  }
}

/* ---- set down at a speed ---- */

/* A body of 1 kg on the ground, at the speed v0 along x; a box, or a sphere. */
static perp_model *set_down(perp_surface surface, double v0, double vz, bool sphere)
{
  const double half = 0.1;
  perp_model *model = run_model(&ctx, 3);
  perp_shape_def plane = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = surface };
  run_shape(&ctx, model, plane);
  const perp_body_def body = { .mass = sphere ? perp_mass_sphere(1, half)
                                              : perp_mass_box(1, 2 * half, 2 * half, 2 * half),
                               .x = { 0, 0, half },
                               .v = { v0, 0, vz } };
  perp_shape_def shape = { .kind = sphere ? PERP_SHAPE_SPHERE : PERP_SHAPE_BOX,
                           .body = run_body(&ctx, model, body),
                           .radius = half,
                           .half = { half, half, half },
                           .surface = surface };
  if (sphere) memset(shape.half, 0, sizeof shape.half);
  if (!sphere) shape.radius = 0;
  run_shape(&ctx, model, shape);
  return run_finish(&ctx, model);
}

static const run_parts convex = { .formulation = "velocity:residual=1e-12",
                                  .lcp = "dantzig",
                                  .contact = "convex" };

/* It hops by mu v (1 + mu^2)^-1 up, flies, lands, and comes to rest on the ground. */
static void hops(void)
{
  const double mu = 0.3, v0 = 2;
  double apex[2];
  for (int i = 0; i < 2; i++) {
    const double h = i == 0 ? 1.0 / 240 : 1.0 / 960;
    perp_model *model = set_down((perp_surface){ .mu = mu, .mu_dynamic = mu }, v0, 0, false);
    perp_sim *sim = run_start(&ctx, model, convex, h);
    const double vt = (v0 - mu * g * h) / (1 + mu * mu);
    double t = 0, up = mu * vt, height = 0, off = 0;
    const double *q, *v;
    perp_step_info info = { .reason = PERP_RUNNING };
    apex[i] = 0;
    for (int k = 0; t < 1.5; k++) {
      if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0) bail("hops");
      perp_sim_state(sim, &t, &q, &v);
      if (k == 0)
        ok(fabs(v[0] - vt) < 1e-10 && fabs(v[2] - mu * vt) < 1e-10,
           "set down at %g m/s it leaves at %g, %g m/s: %.12g, %.12g", v0, vt, mu * vt, v[0], v[2]);
      double force = 0;
      for (int c = 0; c < info.n_contacts; c++) force += info.impulse[3 * c + 2];
      if (force > 1e-9 * h) off = fmax(off, fabs(q[2] - 0.1 - mu * fabs(v[0]) * h));
      apex[i] = fmax(apex[i], q[2] - 0.1);
    }
    for (double u = up; u > 0; u -= g * h) height += h * u;
    near(apex[i], height, 1e-9, 0, "... hops %.6g m", height);
    below(off, 1e-9, "... is mu |v| h above the ground whenever it presses");
    ok(fabs(v[0]) < 1e-9 && fabs(q[2] - 0.1) < 1e-9, "... and rests on it: %g m/s, %g m", v[0],
       q[2] - 0.1);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
  ok(apex[1] > 0.95 * apex[0], "steps of a quarter do not lower the hop: %g, %g m", apex[0],
     apex[1]);
}

/* Below g h the lift needs no flight.  Faster than `slip` the friction that counts is mu_dynamic.
 */
static void dynamic(void)
{
  const double h = 1e-3;
  perp_model *model = set_down((perp_surface){ .mu = 0.5, .mu_dynamic = 0.2 }, 0.02, 0, false);
  perp_sim *sim = run_start(&ctx, model, convex, h);
  const double *q, *v;
  double t, off = 0;
  perp_step_info info;
  for (int k = 0; k < 5; k++) {
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
    perp_sim_state(sim, &t, &q, &v);
    off = fmax(off, fabs(q[2] - 0.1 - 0.2 * v[0] * h));
  }
  ok(off < 1e-12 && v[0] > 1e-3, "mu_dynamic: floats at mu_dynamic |v| h, off by %g m at %g m/s",
     off, v[0]);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

static void rebounds(void)
{
  const double h = 1e-3, mu = 0.1, e = 0.5, down = 3;
  const perp_surface surface = { .mu = mu, .mu_dynamic = mu, .restitution = e };
  perp_model *model = set_down(surface, 4, -down, true);
  perp_sim *sim = run_start(&ctx, model, convex, h);
  const double *q, *v;
  double t;
  perp_step_info info;
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  const double slide = v[0] - 0.1 * v[4]; /* of the lowest point; it has hardly turned */
  ok(slide > 1 && fabs(v[2] - (e * down + mu * slide)) < 1e-2,
     "restitution: up at e |u_n| + mu |u_t| = %g m/s: %g", e * down + mu * slide, v[2]);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* ---- on springs ---- */

/* Above where a block without the artefact is, on a spring and a damper: of the ramp mu v, (h + c /
 * k) times, and late by c / k.  Rising, it presses more and is slower, by mu times the speed at
 * which it rises.  The heavy inertia keeps it from turning: the contact is halfway between the
 * surfaces, not in its centre. */
static void springs(void)
{
  const double mu = 0.3, h = 1.0 / 240, late = 5.0 / 100, t_end = 1.5;
  const double a = g * (0.5 - mu * cos(M_PI / 6));
  double height[2];
  for (int i = 0; i < 2; i++) {
    perp_scene scene;
    perp_spec spec;
    if (perp_spec_parse(&ctx, PERP_KIND_scene,
                        "incline:theta=30deg,mu=0.3,shape=point,edge=20,tilt=gravity",
                        &spec) != PERP_OK ||
        perp_scene_create(&ctx, &spec, &scene) != PERP_OK)
      bail("%s", ctx.msg);
    const run_parts parts = { .formulation = "velocity:stiffness=100,damping=5,residual=1e-12",
                              .lcp = i == 0 ? "dantzig" : "lemke",
                              .contact = i == 0 ? "convex" : "polyhedral" };
    double q[7], v[6];
    run_fresh(&ctx, scene.model, parts, h, t_end, q, v);
    height[i] = q[2];
    perp_scene_destroy(&scene);
    perp_spec_free(&spec);
  }
  const double expected = mu * a * (t_end - late - mu * mu * (h + late)) * (h + late);
  ok(height[0] < 0, "springs: the block still presses them in: %g m", height[0]);
  near(height[0] - height[1], expected, 0.003 * expected, 0,
       "... and is higher by mu |v| (h + c / k) = %g m", expected);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  incline();
  solvers();
  hops();
  dynamic();
  rebounds();
  springs();
  const perp_surface rough = { .mu = 0.3, .mu_dynamic = 0.3 };
  perp_model *model = set_down(rough, 1, 0, false);
  run_refused(&ctx, model, (run_parts){ .formulation = "velocity:gap=false", .contact = "convex" },
              "gap=true");
  run_refused(&ctx, model,
              (run_parts){ .formulation = "velocity:impact=poisson", .contact = "convex" },
              "impact=newton");
  run_refused(&ctx, model, (run_parts){ .formulation = "velocity:substeps=2", .contact = "convex" },
              "polyhedral");
  run_refused(&ctx, model,
              (run_parts){ .formulation = "acceleration", .ode = "rk4", .contact = "convex" },
              "--formulation velocity");
  run_refused(&ctx, model,
              (run_parts){ .formulation = "groups", .lcp = "dantzig", .contact = "convex" },
              "margin");
  run_refused(&ctx, model, (run_parts){ .lcp = "murty", .contact = "convex" }, "semidefinite");
  perp_model_destroy(model);
  return tap_done();
}
