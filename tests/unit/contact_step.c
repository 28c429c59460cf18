/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stepping with contacts against closed forms: one body on a plane, friction and its
 * linearization, impacts, and what a formulation reports about contacts. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81, h = 1e-2;

/* the ground z = 0 (y = 0 in the plane) */
static void ground(perp_model *model, double mu, double mu_dynamic, double e)
{
  perp_shape_def def = { .kind = PERP_SHAPE_PLANE,
                         .body = PERP_WORLD,
                         .surface = { .mu = mu, .mu_dynamic = mu_dynamic, .restitution = e } };
  run_shape(&ctx, model, def);
}

static void shape(perp_model *model, int body, perp_shape_kind kind, double size, double mu,
                  double mu_dynamic)
{
  perp_shape_def def = { .kind = kind,
                         .body = body,
                         .radius = size,
                         .half = { size, size, size },
                         .surface = { .mu = mu, .mu_dynamic = mu_dynamic } };
  run_shape(&ctx, model, def);
}

/* A unit cube of 1 kg on the ground, pushed sideways so that gravity seems tilted by theta in the
 * direction phi. */
static perp_model *incline(double theta, double phi, double mu, double mu_dynamic)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g * cos(theta));
  run_body(&ctx, model, (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 0, 0, 0.5 } });
  ground(model, mu, mu_dynamic, 0);
  shape(model, 0, PERP_SHAPE_BOX, 0.5, mu, mu_dynamic);
  perp_force_def push = { .kind = PERP_FORCE_POINT,
                          .value = { g * sin(theta) * cos(phi), g * sin(theta) * sin(phi), 0 } };
  run_force(&ctx, model, push);
  return run_finish(&ctx, model);
}

/* v of body 0 after n steps */
static const double *after(perp_sim *sim, int n)
{
  double t;
  const double *q, *v;
  perp_step_info info = { 0 };
  for (int k = 0; k < n; k++)
    if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK || info.reason < 0)
      bail("step %d: %s %s", k, perp_reason_name(info.reason), ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  return v;
}

static double deg(double x)
{
  return x * M_PI / 180;
}

/* mean acceleration along the slope in 50 steps */
static double acceleration(double theta, double phi, double mu, run_parts parts)
{
  perp_model *model = incline(theta, phi, mu, mu);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  const double *v = after(sim, 50);
  double a = (v[0] * cos(phi) + v[1] * sin(phi)) / (50 * h);
  const perp_contact_count *count = perp_sim_contacts(sim);
  if (count->failures > 0) printf("# %d failures\n", (int)count->failures);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
  return a;
}

static void test_incline(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box" },
    { .lcp = "dantzig", .contact = "box:limits=fixed" },
    { .lcp = "lemke", .contact = "polyhedral:directions=8" },
    { .lcp = "lemke", .contact = "polyhedral:directions=4" },
    { .lcp = "fischer-newton", .contact = "box" },
    { .lcp = "fischer-newton", .contact = "polyhedral" },
    { .lcp = "pgs", .contact = "box" },
    { .lcp = "block-gs", .contact = "cone" },
    { .lcp = "block-gs", .contact = "polyhedral" },
    { .lcp = "block-gs", .contact = "polyhedral:directions=4" },
    { .lcp = "keller", .contact = "polyhedral" },
    { .lcp = "lemke" },
    { .lcp = "dantzig" },
    { .contact = "cone" },
    { .lcp = NULL },
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    const char *lcp = parts[i].lcp != NULL ? parts[i].lcp : "default",
               *contact = parts[i].contact != NULL ? parts[i].contact : "default";
    /* 1e-6: ten times what the tolerance of a solution, 1e-8 of impulses of g h, leaves */
    for (int k = 0; k < 3; k++) {
      double phi = deg(k == 0 ? 0 : k == 1 ? 45 : 70);
      near(acceleration(deg(30), phi, 0.3, parts[i]), g * (sin(deg(30)) - 0.3 * cos(deg(30))), 1e-6,
           0, "%s, %s: 30 degrees, mu = 0.3, azimuth %.0f slides with g (sin - mu cos)", lcp,
           contact, phi / M_PI * 180);
    }
    near(acceleration(deg(20), deg(20), 0.5, parts[i]), 0, 1e-6, 0,
         "%s, %s: 20 degrees, mu = 0.5 sticks", lcp, contact);
  }
}

/* issue: the linearization is exactly predictable when the tangents do not follow the sliding */
static void test_anisotropy(void)
{
  const double theta = deg(30), mu = 0.3, exact = g * (sin(theta) - mu * cos(theta));
  const char *fixed = "velocity:align=none,residual=1e-12";
  run_parts box = { .formulation = fixed, .lcp = "dantzig", .contact = "box" };
  run_parts four = { .formulation = fixed, .lcp = "lemke", .contact = "polyhedral:directions=4" };
  run_parts cone = { .formulation = fixed, .lcp = "block-gs", .contact = "cone" };
  near(acceleration(theta, 0, mu, box), exact, 1e-9, 0, "box along its axis is exact");
  near(acceleration(theta, deg(45), mu, box), exact - (sqrt(2) - 1) * mu * cos(theta) * g, 1e-9, 0,
       "box at 45 degrees: too slow by (sqrt 2 - 1) mu cos(theta) g");
  near(acceleration(theta, deg(45), mu, four), exact + (1 - sqrt(0.5)) * mu * cos(theta) * g, 1e-9,
       0, "four directions at 45 degrees: too fast by (1 - 1/sqrt 2) mu cos(theta) g");
  for (int k = 3; k < 8; k += 2) { /* odd numbers, whose directions have no opposites */
    char odd[32];
    snprintf(odd, sizeof odd, "polyhedral:directions=%d", k);
    run_parts some = { .formulation = fixed, .lcp = "lemke", .contact = odd };
    near(acceleration(theta, M_PI / k, mu, some), exact, 1e-9, 0,
         "%d directions, sliding against one of them: exact", k);
  }
  for (int k = 0; k < 12; k++) {
    double phi = deg(7.0 + 29 * k);
    near(acceleration(theta, phi, mu, cone), exact, 1e-10, 0, "cone at azimuth %.0f is exact",
         phi / M_PI * 180);
    double worst = fabs(acceleration(deg(20), phi, 0.5, cone));
    worst = fmax(worst, fabs(acceleration(deg(20), phi, 0.5, box)));
    below(worst, 1e-10, "20 degrees, mu = 0.5 sticks at azimuth %.0f with cone and box",
          phi / M_PI * 180);
  }
}

static void test_two_coefficients(void)
{
  /* pushed with tan 25 = 0.466: sticks below mu = 0.5; once it slides, mu_dynamic = 0.3 decides */
  run_parts parts = { .lcp = "dantzig", .contact = "box" };
  perp_model *model = incline(deg(25), 0, 0.5, 0.3);
  perp_sim *sim = run_start(&ctx, model, parts, h);
  near(after(sim, 50)[0], 0, 1e-7, 0, "static friction holds");
  double q[7], v[6] = { 0.1 };
  memcpy(q, perp_model_q0(model), sizeof q);
  if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
  near(after(sim, 50)[0], 0.1 + 50 * h * g * (sin(deg(25)) - 0.3 * cos(deg(25))), 1e-6, 0,
       "sliding friction is the dynamic one");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* A cube that slides at 0.1 m/s when its contact begins: by mu up to the speed `slip`, by
 * mu_dynamic above it. */
static void test_slip(void)
{
  static const char *const formulations[] = {
    "velocity",     "velocity-midpoint", "reduced", "moreau-jean", "nonsmooth-alpha",
    "si-baumgarte", "si-split",          "si-ngs",  "soft-step",   "avbd"
  };
  static const double step = 1e-3;
  for (size_t i = 0; i < sizeof formulations / sizeof *formulations; i++)
    for (int slow = 0; slow < 2; slow++) {
      const bool steps = i < 5; /* the others make sweeps of their own */
      char text[64];
      snprintf(text, sizeof text, "%s:slip=%g", formulations[i], slow ? 0.2 : 0.05);
      perp_model *model = incline(0, 0, 0.5, 0.3);
      perp_sim *sim = run_start(&ctx, model,
                                steps ? (run_parts){ text, .lcp = "dantzig", .contact = "box" }
                                      : (run_parts){ text },
                                step);
      double q[7], v[6] = { 0.1 };
      memcpy(q, perp_model_q0(model), sizeof q);
      if (perp_sim_restart(&ctx, sim, 0, q, v) != PERP_OK) bail("%s", ctx.msg);
      near((0.1 - after(sim, 1)[0]) / (g * step), slow ? 0.5 : 0.3, 0, 0.015, "%s: friction", text);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

/* Less work than a sweep on one contact takes leaves its problem unsolved, and it is counted so. */
static void test_budget(void)
{
  static const char *const options[] = { "velocity:budget",           "velocity-midpoint:budget",
                                         "velocity-nonlinear:budget", "reduced:budget",
                                         "moreau-jean:budget",        "nonsmooth-alpha:budget",
                                         "impulse:contact.budget" };
  for (size_t i = 0; i < sizeof options / sizeof *options; i++)
    for (int little = 0; little < 2; little++) {
      char text[64];
      snprintf(text, sizeof text, "%s=%g", options[i], little ? 1e-9 : 1);
      perp_model *model = incline(deg(30), 0, 0.3, 0.3);
      perp_sim *sim = run_start(&ctx, model, (run_parts){ text, .lcp = "pgs", .contact = "box" },
                                h);
      perp_step_info info;
      for (int k = 0; k < 4; k++)
        if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
      const perp_contact_count *count = perp_sim_contacts(sim);
      ok(count->problems > 0 && (count->failures > 0) == (little == 1), "%s: %d of %d unsolved",
         text, (int)count->failures, (int)count->problems);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

static perp_model *ball(double z, double vz, double e)
{
  perp_model *model = run_model(&ctx, 3);
  perp_model_gravity(model, g);
  perp_body_def def = { .mass = perp_mass_sphere(2, 0.1), .x = { 0, 0, z }, .v = { 0, 0, vz } };
  run_body(&ctx, model, def);
  ground(model, 0.5, 0.5, e);
  shape(model, 0, PERP_SHAPE_SPHERE, 0.1, 0.5, 0.5);
  return run_finish(&ctx, model);
}

/* Two more levels and a scheme of positions: a ball at 1 m/s rebounds above the threshold. */
static void test_thresholds(void)
{
  static const struct {
    const char *formulation, *threshold;
    run_parts parts;
  } of[] = {
    { "acceleration", "threshold", { .ode = "rk4", .lcp = "dantzig" } },
    { "impulse", "contact.threshold", { .lcp = "dantzig" } },
    { "xpbd", "threshold", { 0 } },
  };
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    for (int above = 0; above < 2; above++) {
      char text[64];
      run_parts parts = of[i].parts;
      snprintf(text, sizeof text, "%s:%s=%g", of[i].formulation, of[i].threshold,
               above ? 0.9 : 1.1);
      parts.formulation = text;
      perp_model *model = ball(0.105, -1, 0.5);
      perp_model_gravity(model, 0);
      perp_sim *sim = run_start(&ctx, model, parts, 1e-3);
      near(after(sim, 10)[2], above ? 0.5 : 0, 1e-9, 0, "%s: a ball at 1 m/s", text);
      perp_sim_destroy(sim);
      perp_model_destroy(model);
    }
}

static void test_ball(void)
{
  double t;
  const double *q, *v;
  perp_step_info info;
  /* at rest: the impulse of a step is m g h */
  perp_model *model = ball(0.1, 0, 0);
  perp_sim *sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig" }, h);
  if (perp_sim_step(&ctx, sim, HUGE_VAL, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_state(sim, &t, &q, &v);
  ok(info.n_contacts == 1 && info.contacts != NULL && info.impulse != NULL, "one contact reported");
  near(info.impulse[2], 2 * g * h, 1e-15, 0, "its impulse is m g h");
  near(fabs(v[2]) + fabs(q[2] - 0.1), 0, 1e-16, 0, "and nothing moves");
  perp_sim_destroy(sim);
  perp_model_destroy(model);

  /* falling 1 mm above the ground at 1 m/s: the step ends on the ground */
  model = ball(0.101, -1, 0);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig" }, h);
  after(sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  near(v[2], -0.001 / h, 1e-14, 0, "Stewart and Trinkle: v+ = -gap / h");
  near(q[2], 0.1, 1e-16, 0, "the gap is closed at the end of the step");
  perp_sim_destroy(sim);
  run_parts closed = { .formulation = "velocity:gap=false", .lcp = "dantzig" };
  sim = run_start(&ctx, model, closed, h);
  after(sim, 1);
  perp_sim_state(sim, &t, &q, &v);
  near(v[2], -1 - g * h, 1e-14, 0, "Anitescu and Potra: an open contact is not seen");
  perp_sim_destroy(sim);
  perp_model_destroy(model);

  /* impact with e = 0.5 */
  model = ball(0.101, -1, 0.5);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig" }, h);
  near(after(sim, 1)[2], 0.5, 1e-14, 0, "Newton: v+ = -e v-");
  perp_sim_destroy(sim);
  run_parts slow = { .formulation = "velocity:threshold=2m/s", .lcp = "dantzig" };
  sim = run_start(&ctx, model, slow, h);
  near(after(sim, 1)[2], -0.001 / h, 1e-14, 0, "below the threshold there is no rebound");
  perp_sim_destroy(sim);
  perp_model_destroy(model);

  /* 1 mm deep: feedback of a fifth of the depth a step, limited speed, or a post-step */
  model = ball(0.099, 0, 0);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig", .stab = "baumgarte" }, h);
  near(after(sim, 1)[2], 0.2 * 0.001 / h, 1e-14, 0, "baumgarte pushes a fifth of the depth out");
  perp_sim_destroy(sim);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig", .stab = "baumgarte:push=0.01" }, h);
  near(after(sim, 1)[2], 0.01, 1e-14, 0, "no faster than the limit");
  perp_sim_destroy(sim);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig", .stab = "none" }, h);
  near(after(sim, 1)[2], 0, 1e-14, 0, "none leaves it");
  perp_sim_destroy(sim);
  sim = run_start(&ctx, model, (run_parts){ .lcp = "dantzig", .stab = "post" }, h);
  near(after(sim, 1)[2], 0, 1e-14, 0, "post does not touch the velocity");
  perp_sim_state(sim, &t, &q, &v);
  near(q[2], 0.1, 1e-15, 0, "and removes the penetration completely");
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* An approach bounces when it is faster than the threshold, not when it is as fast; and when the
 * gap closes in the step, also at its very end.  Numbers are binary fractions: exact. */
static void test_threshold(void)
{
  static const double step = 0x1p-10, radius = 0.125;
  static const struct {
    const char *formulation;
    double z, v, e, after;
  } cases[] = {
    /* touching */
    { "velocity:threshold=1", 0, -1, 0.5, 0 },
    { "velocity:threshold=1", 0, -1 - 0x1p-40, 0.5, 0.5 + 0x1p-41 },
    { "velocity:threshold=1", 0, -1 + 0x1p-40, 0.5, 0 },
    { "velocity:threshold=1", 0, -2, 0, 0 },
    { "velocity:threshold=0", 0, -0x1p-20, 0.5, 0x1p-21 },
    { "velocity", 0, -0.0099, 0.5, 0 }, /* by default below 0.01 m/s not */
    { "velocity", 0, -0.0101, 0.5, 0.00505 },
    { "velocity:threshold=1,impact=poisson", 0, -1, 0.5, 0 },
    { "velocity:threshold=1,impact=poisson", 0, -1.5, 0.5, 0.75 },
    /* 2^-10 m above at 1 m/s: the gap closes at the end of the step; a little more does not */
    { "velocity:threshold=0.5", 0x1p-10, -1, 0.5, 0.5 },
    { "velocity:threshold=0.5", 0x1p-10 + 0x1p-40, -1, 0.5, -1 },
    { "velocity:threshold=1", 0x1p-10, -1, 0.5, -1 },
    { "velocity:threshold=1", 0x1p-11, -1, 0.5, -0.5 }, /* as far as the ground */
    { "velocity:threshold=0.5", 0x1p-11, -1, 0.5, 0.5 },
    { "velocity:threshold=0.5,impact=poisson", 0x1p-11, -1, 0.5, 0.5 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, 0);
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_sphere(2, radius),
                              .x = { 0, 0, radius + cases[i].z },
                              .v = { 0, 0, cases[i].v } });
    ground(model, 0, 0, cases[i].e);
    shape(model, 0, PERP_SHAPE_SPHERE, radius, 0, 0);
    run_finish(&ctx, model);
    run_parts parts = { .formulation = cases[i].formulation, .lcp = "dantzig" };
    perp_sim *sim = run_start(&ctx, model, parts, step);
    near(after(sim, 1)[2], cases[i].after, 1e-14, 0, "%s: %.13g m above, at %.13g m/s, e = %g",
         cases[i].formulation, cases[i].z, cases[i].v, cases[i].e);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* an oblique impact that slides: the tangential impulse is mu (1 + e) m v_n by either law */
static void test_impact_laws(void)
{
  static const run_parts parts[] = {
    { .lcp = "dantzig", .contact = "box" },
    { .lcp = "dantzig", .contact = "box", .formulation = "velocity:impact=poisson" },
    { .lcp = "lemke", .contact = "polyhedral", .formulation = "velocity:impact=poisson" },
    { .lcp = "block-gs", .contact = "cone", .formulation = "velocity:impact=poisson" },
    { .lcp = "dantzig", .contact = "box", .formulation = "velocity:impact=stronge" },
    { .lcp = "block-gs", .contact = "cone", .formulation = "velocity:impact=stronge" },
    { .lcp = "block-gs", .contact = "cone", .formulation = "velocity:impact=chatterjee-ruina" },
    { .lcp = "dantzig", .contact = "box", .formulation = "acceleration:impact=stronge" },
    { .lcp = "dantzig", .contact = "box", .formulation = "regularized:impact=chatterjee-ruina" }
  };
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, 0);
    perp_body_def def = { .mass = perp_mass_sphere(2, 0.1),
                          .x = { 0, 0, 0.101 },
                          .v = { 3, 0, -1 } };
    run_body(&ctx, model, def);
    ground(model, 0.2, 0.2, 0.5);
    shape(model, 0, PERP_SHAPE_SPHERE, 0.1, 0.2, 0.2);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, parts[i], h);
    const double *v = after(sim, 1);
    const char *law = parts[i].formulation != NULL ? parts[i].formulation : "Newton";
    near(v[2], 0.5, 1e-7, 0, "%s, %s: rebound with e v", law, parts[i].contact);
    near(v[0], 3 - 0.2 * 1.5, 1e-7, 0, "%s, %s: slides with mu (1 + e)", law, parts[i].contact);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
    /* what gravity does to a ball at rest in a step is faster than the threshold, and no impact */
    model = run_model(&ctx, 3);
    def.x[2] = 0.1, def.v[0] = def.v[2] = 0;
    run_body(&ctx, model, def);
    ground(model, 0.2, 0.2, 0.5);
    shape(model, 0, PERP_SHAPE_SPHERE, 0.1, 0.2, 0.2);
    run_finish(&ctx, model);
    sim = run_start(&ctx, model, parts[i], h);
    if (i < 7)
      near(after(sim, 5)[2], 0, 1e-9, 0, "%s, %s: at rest it stays", law, parts[i].contact);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* sliding, then rolling: v -> 5/7 v0 at t = 2 v0 / (7 mu g), then constant */
static void test_rolling(void)
{
  static const run_parts parts[] = { { .lcp = "dantzig", .contact = "box" },
                                     { .lcp = "lemke", .contact = "polyhedral" },
                                     { .lcp = "block-gs", .contact = "cone" } };
  for (size_t i = 0; i < 3; i++) {
    perp_model *model = run_model(&ctx, 3);
    perp_model_gravity(model, g);
    perp_body_def def = { .mass = perp_mass_sphere(2, 0.1),
                          .x = { 0, 0, 0.1 },
                          .v = { 0.6, 0.8, 0 } };
    run_body(&ctx, model, def);
    ground(model, 0.2, 0.2, 0);
    shape(model, 0, PERP_SHAPE_SPHERE, 0.1, 0.2, 0.2);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, parts[i], 1e-3);
    const double *v = after(sim, 60);
    near(hypot(v[0], v[1]), 1 - 0.2 * g * 0.06, 1e-7, 0, "%s: sliding sphere slows by mu g",
         parts[i].contact);
    v = after(sim, 200);
    near(hypot(v[0], v[1]), 5.0 / 7, 1e-7, 0, "%s: rolling at 5/7 of its speed", parts[i].contact);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

/* in the plane */
static void test_plane(void)
{
  static const run_parts parts[] = { { .lcp = "dantzig", .contact = "box" },
                                     { .lcp = "lemke", .contact = "polyhedral" },
                                     { .lcp = "block-gs", .contact = "cone" } };
  for (size_t i = 0; i < 3; i++) {
    perp_model *model = run_model(&ctx, 2);
    perp_model_gravity(model, g);
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(1, 1, 1, 1), .x = { 0, 0.5 }, .v = { 2 } });
    ground(model, 0.3, 0.3, 0);
    shape(model, 0, PERP_SHAPE_BOX, 0.5, 0.3, 0.3);
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, parts[i], h);
    near(after(sim, 40)[0], 2 - 0.3 * g * 0.4, 1e-6, 0, "%s: a square slides with mu g",
         parts[i].contact);
    near(after(sim, 60)[0], 0, 1e-7, 0, "%s: and stops", parts[i].contact);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

static void test_refusals(void)
{
  static const run_parts wrong[] = { { .lcp = "lemke", .contact = "cone" },
                                     { .lcp = "lemke", .contact = "box" },
                                     { .lcp = "dantzig", .contact = "polyhedral" },
                                     { .lcp = "pgs", .contact = "polyhedral" },
                                     { .lcp = "jacobi", .contact = "polyhedral" } };
  perp_model *model = ball(0.1, 0, 0);
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    perp_parts parts;
    perp_sim *sim = NULL;
    if (run_parse(&ctx, &wrong[i], &parts) != PERP_OK) bail("%s", ctx.msg);
    ok(perp_sim_create(&ctx, model, &parts, h, &sim) == PERP_ERR_UNSUPPORTED &&
           strstr(ctx.msg, "--contact") != NULL,
       "%s with %s is refused: %s", wrong[i].contact, wrong[i].lcp, ctx.msg);
    perp_sim_destroy(sim);
    run_free(&parts);
  }
  perp_model_destroy(model);
  for (int i = 0; i < 3; i++) { /* that would gain energy, or be no number */
    const double e[] = { 1.5, -0.1, (double)NAN };
    const perp_shape_def bad = {
      .kind = PERP_SHAPE_SPHERE, .body = PERP_WORLD, .radius = 1, .surface = { .restitution = e[i] }
    };
    model = run_model(&ctx, 3);
    ok(perp_model_add_shape(&ctx, model, &bad, NULL) == PERP_ERR_ARG &&
           strstr(ctx.msg, "restitution") != NULL,
       "refused: %s", ctx.msg);
    perp_model_destroy(model);
  }
}

/* Steps as they are counted, of fixed length or not, in parts or not, are those that a caller sees.
 */
static void test_counts(void)
{
  static const char *const formulation[] = { "velocity", "velocity:substeps=3" };
  static const char *const ode[] = { "symplectic-euler", "symplectic-euler:tol=1e-4" };
  perp_model *model = incline(deg(40), 0.3, 0.3, 0.3);
  for (int i = 0; i < 4; i++) {
    perp_sim *sim = run_start(&ctx, model, (run_parts){ formulation[i / 2], ode[i % 2] }, h);
    const double *q, *v;
    perp_ode_counters count;
    double least = HUGE_VAL, most = 0, t = 0;
    int steps = 0;
    for (; t < 0.5; steps++) {
      const double before = t;
      after(sim, 1);
      perp_sim_state(sim, &t, &q, &v);
      least = fmin(least, t - before), most = fmax(most, t - before);
    }
    perp_sim_counters(sim, &count, NULL);
    ok(count.steps == steps && fabs(count.h_least - least) < 1e-12 &&
           fabs(count.h_most - most) < 1e-12,
       "%s, %s: %d steps of %.3g to %.3g s; counted %d of %.3g to %.3g", formulation[i / 2],
       ode[i % 2], steps, least, most, (int)count.steps, count.h_least, count.h_most);
    perp_sim_destroy(sim);
  }
  perp_model_destroy(model);
}

/* A bar turns about its middle until it meets a fixed ball, which it must not enter: also where its
 * body has one more, small shape behind the bar. */
static void test_last_shape(void)
{
  static const char *const formulations[] = { "velocity", "velocity-nonlinear",
                                              "velocity-midpoint" };
  const double meets = 1 - asin(0.15 / 0.8);
  for (int i = 0; i < 3; i++) {
    perp_model *model = run_model(&ctx, 2);
    perp_model_gravity(model, 0);
    run_body(&ctx, model,
             (perp_body_def){ .mass = perp_mass_box(1, 2, 0.1, 0.1), .w = { 0, 0, 10 } });
    run_joint(&ctx, model, (perp_joint_def){ .kind = PERP_JOINT_HINGE, .a = PERP_WORLD, .b = 0 });
    run_shape(&ctx, model, (perp_shape_def){ .kind = PERP_SHAPE_BOX, .half = { 1, 0.05, 0.05 } });
    shape(model, 0, PERP_SHAPE_SPHERE, 0.01, 0, 0);
    run_shape(&ctx, model,
              (perp_shape_def){ .kind = PERP_SHAPE_SPHERE,
                                .body = PERP_WORLD,
                                .radius = 0.1,
                                .x = { 0.8 * cos(1), 0.8 * sin(1) },
                                .collide_joined = true });
    run_finish(&ctx, model);
    perp_sim *sim = run_start(&ctx, model, (run_parts){ formulations[i] }, 3e-3);
    double t = 0, most = 0;
    const double *q, *v;
    while (t < 0.2) {
      after(sim, 1);
      perp_sim_state(sim, &t, &q, &v);
      most = fmax(most, q[2]);
    }
    near(most, meets, 1e-3, 0, "%s: a bar with one more shape turns as far as it can",
         formulations[i]);
    perp_sim_destroy(sim);
    perp_model_destroy(model);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  test_ball();
  test_incline();
  test_anisotropy();
  test_two_coefficients();
  test_threshold();
  test_thresholds();
  test_slip();
  test_budget();
  test_impact_laws();
  test_rolling();
  test_plane();
  test_refusals();
  test_counts();
  test_last_shape();
  return tap_done();
}
