/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Couples against spinning and rolling, against closed forms: a ball that rolls to rest on a slope
 * and stays there iff tan(theta) <= rolling / R, one that spins to rest, a puck that slides and
 * spins, a ball that takes a free slab along; pairs of materials; joints eliminated and as rows.
 * What does not serve couples says so. */
#include "tests/run_model.h"

static perp_ctx ctx;
static const double g = 9.81, R = 0.1, mass = 1;

static perp_model *ball_on(int dim, double theta, perp_surface surface, double v, double spin)
{
  perp_model *m = run_model(&ctx, dim);
  const double up[3] = { sin(theta), dim == 2 ? cos(theta) : 0, cos(theta) };
  const double along[3] = { cos(theta), dim == 2 ? -sin(theta) : 0, -sin(theta) };
  perp_body_def ball = { .mass = perp_mass_sphere(mass, R) };
  perp_shape_def round = { .kind = PERP_SHAPE_SPHERE, .radius = R, .surface = surface };
  perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                           .body = PERP_WORLD,
                           .quat = { cos(theta / 2), 0, sin(theta / 2), 0 },
                           .angle = -theta,
                           .surface = { .mu = surface.mu, .mu_dynamic = (double)NAN } };
  for (int i = 0; i < dim; i++) {
    ball.x[i] = R * up[i];
    ball.v[i] = v * along[i];
  }
  if (dim == 3) {
    ball.w[1] = v / R;
    ball.w[2] = spin;
  } else
    ball.w[2] = -v / R;
  run_body(&ctx, m, ball);
  run_shape(&ctx, m, round);
  run_shape(&ctx, m, floor);
  return run_finish(&ctx, m);
}

static const run_parts ways[] = {
  { "velocity", "", "", "", "dantzig", "box" },
  { "velocity", "", "", "", "", "box:limits=fixed" },
  { "velocity", "", "", "", "block-gs", "cone" },
  { "velocity", "", "", "", "pgs:max_iter=10000", "cone" },
  { "velocity:joints=rows", "", "", "", "", "cone" },
  { "velocity-implicit", "", "", "", "", "cone" },
};
enum { WAYS = sizeof ways / sizeof *ways };

static void rolling(void)
{
  const perp_surface s = { .mu = 0.8, .mu_dynamic = (double)NAN, .rolling = 0.005 };
  double q[7], v[6];
  for (int dim = 2; dim <= 3; dim++)
    for (int i = 0; i < WAYS; i++) {
      const char *by = ways[i].contact, *how = ways[i].formulation;
      for (int k = 0; k < 3; k++) {
        const double theta = (double[]){ 0, 0.045, 0.1 }[k], speed = 0.5;
        const double a = 5.0 / 7 * g * (sin(theta) - s.rolling / R * cos(theta));
        perp_model *m = ball_on(dim, theta, s, speed, 0);
        const double way = speed * 0.4 + a * 0.08, fast = speed + a * 0.4;
        if (run_fresh(&ctx, m, ways[i], 5e-4, 0.4, q, v) < 0) bail("ends early");
        near(hypot(v[0], v[dim - 1]), fast, 2e-3, 0, "%d-d, %s, %s, %g rad: speed", dim, how, by,
             theta);
        near(q[0], way * cos(theta) + R * sin(theta), 3e-4, 0, "%d-d, %s, %s, %g rad: way", dim,
             how, by, theta);
        perp_model_destroy(m);
      }
      for (int k = 0; k < 2; k++) { /* put down on either side of atan(rolling / R) */
        const double theta = atan(s.rolling / R) * (k == 0 ? 0.99 : 1.01);
        perp_model *m = ball_on(dim, theta, s, 0, 0);
        if (run_fresh(&ctx, m, ways[i], 1e-3, 1, q, v) < 0) bail("ends early");
        const double fast = 5.0 / 7 * g * (sin(theta) - s.rolling / R * cos(theta));
        near(hypot(v[0], v[dim - 1]), k == 0 ? 0 : fast, k == 0 ? 1e-9 : 0.02 * fast, 0,
             "%d-d, %s, %s: %s", dim, how, by, k == 0 ? "stays" : "begins to roll");
        perp_model_destroy(m);
      }
    }
}

/* A cone bounds the couple against rolling alike in all directions. */
static void rolling_askew(void)
{
  const perp_surface s = { .mu = 0.8, .mu_dynamic = (double)NAN, .rolling = 0.005 };
  const double azimuth = 0.7, fast = 0.5 - 5.0 / 7 * g * s.rolling / R * 0.2;
  double q[7], v[6];
  for (int i = 0; i < WAYS; i++) {
    if (strcmp(ways[i].contact, "cone") != 0) continue;
    perp_model *m = run_model(&ctx, 3);
    run_body(&ctx, m,
             (perp_body_def){ .mass = perp_mass_sphere(mass, R),
                              .x = { 0, 0, R },
                              .v = { 0.5 * cos(azimuth), 0.5 * sin(azimuth) },
                              .w = { -0.5 / R * sin(azimuth), 0.5 / R * cos(azimuth) } });
    run_shape(&ctx, m, (perp_shape_def){ .kind = PERP_SHAPE_SPHERE, .radius = R, .surface = s });
    run_shape(
        &ctx, m,
        (perp_shape_def){ .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { .mu = 0.8 } });
    run_finish(&ctx, m);
    if (run_fresh(&ctx, m, ways[i], 1e-3, 0.2, q, v) < 0) bail("ends early");
    near(v[0], fast * cos(azimuth), 1e-5, 0, "%s by %s: a ball that rolls askew, x",
         ways[i].formulation, ways[i].lcp);
    near(v[1], fast * sin(azimuth), 1e-5, 0, "%s by %s: a ball that rolls askew, y",
         ways[i].formulation, ways[i].lcp);
    perp_model_destroy(m);
  }
}

static void spinning(void)
{
  const perp_surface s = { .mu = 0.5, .mu_dynamic = (double)NAN, .torsion = 0.004 };
  const double a = s.torsion * g / (0.4 * R * R), w0 = 10;
  double q[7], v[6];
  for (int i = 0; i < WAYS; i++) {
    perp_model *m = ball_on(3, 0, s, 0, w0);
    if (run_fresh(&ctx, m, ways[i], 1e-3, 0.5, q, v) < 0) bail("ends early");
    near(v[5], w0 - a * 0.5, 1e-9, 0, "%s, %s: the spin falls", ways[i].formulation,
         ways[i].contact);
    if (run_fresh(&ctx, m, ways[i], 1e-3, 1.2, q, v) < 0) bail("ends early");
    near(v[5], 0, 1e-9, 0, "%s, %s: and ends", ways[i].formulation, ways[i].contact);
    near(hypot(q[0], q[1]), 0, 1e-12, 0, "%s, %s: on the spot", ways[i].formulation,
         ways[i].contact);
    perp_model_destroy(m);
  }
}

/* With the ellipsoid a puck slides and spins to one end, whatever way it goes; laws that bound both
 * alone end the sliding after v / (mu g), as if it did not spin. */
static void sharing(void)
{
  const double mu = 0.3, torsion = 0.015, rho = torsion / mu, v0 = 1, w0 = 20, t = 0.2;
  const double U = hypot(v0, rho * w0), left = 1 - mu * g * t / U;
  static const run_parts with[] = {
    { "velocity", "", "", "", "lemke", "elliptic" },
    { "velocity", "", "", "", "", "elliptic" },
    { "velocity:joints=rows", "", "", "", "keller", "elliptic" },
    { "velocity", "", "", "", "", "cone" },
  };
  double q[7], v[6];
  for (int k = 0; k < 3; k++)
    for (int i = 0; i < 4; i++) {
      const double azimuth = (double[]){ 0, 0.7, 2.5 }[k];
      perp_model *m = run_model(&ctx, 3);
      const perp_surface s = { .mu = mu, .mu_dynamic = (double)NAN, .torsion = torsion };
      perp_shape_def shape[2] = {
        { .kind = PERP_SHAPE_SPHERE, .radius = 0.01, .surface = s },
        { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { .mu = mu, .mu_dynamic = mu } },
      };
      run_body(
          &ctx, m,
          (perp_body_def){
              .mass = { .mass = mass, .inertia = { 1e9, 0, 0, 0, 1e9, 0, 0, 0, mass * rho * rho } },
              .x = { 0, 0, 0.01 },
              .v = { v0 * cos(azimuth), v0 * sin(azimuth), 0 },
              .w = { 0, 0, w0 } });
      for (int l = 0; l < 2; l++)
        if (perp_model_add_shape(&ctx, m, &shape[l], NULL) != PERP_OK) bail("%s", ctx.msg);
      run_finish(&ctx, m);
      if (run_fresh(&ctx, m, with[i], 1e-3, t, q, v) < 0) bail("ends early");
      const bool shares = i < 3;
      near(hypot(v[0], v[1]), shares ? v0 * left : v0 - mu * g * t, 1e-6, 0,
           "%s by %s, %g rad: sliding", with[i].contact, with[i].lcp, azimuth);
      near(v[5], shares ? w0 * left : w0 - torsion * g / (rho * rho) * t, 2e-5, 0,
           "%s by %s, %g rad: spinning", with[i].contact, with[i].lcp, azimuth);
      if (run_fresh(&ctx, m, with[i], 1e-3, 0.6, q, v) < 0) bail("ends early");
      near(fmax(hypot(v[0], v[1]), fabs(v[5])), 0, 1e-7, 0, "%s by %s, %g rad: the end",
           with[i].contact, with[i].lcp, azimuth);
      perp_model_destroy(m);
    }
}

/* The floor has no friction: what the ball loses the slab gains, until both turn alike. */
static void together(void)
{
  const double w0 = 5, edge = 0.4, thick = 0.05, M = 0.5;
  for (int i = 0; i < WAYS; i++) {
    perp_model *m = run_model(&ctx, 3);
    perp_body_def slab = { .mass = perp_mass_box(M, edge, edge, thick), .x = { 0, 0, thick / 2 } };
    perp_body_def ball = { .mass = perp_mass_sphere(mass, R),
                           .x = { 0, 0, thick + R },
                           .w = { 0, 0, w0 } };
    perp_shape_def shape[3] = {
      /* the contacts of the ball come behind those of the floor */
      { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD },
      { .kind = PERP_SHAPE_BOX,
        .half = { edge / 2, edge / 2, thick / 2 },
        .surface = { .mu = 0.5, .mu_dynamic = (double)NAN } },
      { .kind = PERP_SHAPE_SPHERE,
        .body = 1,
        .radius = R,
        .surface = { .mu = 0.5, .mu_dynamic = (double)NAN, .torsion = 0.002 } },
    };
    run_body(&ctx, m, slab);
    run_body(&ctx, m, ball);
    for (int k = 0; k < 3; k++)
      if (perp_model_add_shape(&ctx, m, &shape[k], NULL) != PERP_OK) bail("%s", ctx.msg);
    run_finish(&ctx, m);
    const double Is = M * edge * edge / 6, Ib = 0.4 * mass * R * R;
    const double tau = 0.002 * mass * g, t = 0.05;
    double q[14], v[12];
    if (run_fresh(&ctx, m, ways[i], 1e-4, t, q, v) < 0) bail("ends early");
    near(v[11], w0 - tau / Ib * t, 1e-6, 0, "%s, %s: the ball", ways[i].formulation,
         ways[i].contact);
    near(v[5], tau / Is * t, 1e-6, 0, "%s, %s: the slab", ways[i].formulation, ways[i].contact);
    if (run_fresh(&ctx, m, ways[i], 1e-3, 2, q, v) < 0) bail("ends early");
    const double both = Ib * w0 / (Ib + Is);
    near(v[11], both, 1e-6, 0, "%s, %s: in the end the ball turns", ways[i].formulation,
         ways[i].contact);
    near(v[5], both, 1e-6, 0, "%s, %s: as the slab does", ways[i].formulation, ways[i].contact);
    perp_model_destroy(m);
  }
}

/* A ball with a rod on its centre, the joint eliminated or as rows; without friction no couples. */
static void jointed(const char *law, bool couples)
{
  double q[2][7 * 2], v[2][6 * 2];
  for (int rows = 0; rows < 2; rows++) {
    perp_model *m = run_model(&ctx, 3);
    const perp_surface s = { .mu = 0.8,
                             .mu_dynamic = (double)NAN,
                             .rolling = couples ? 0.01 : 0,
                             .torsion = couples ? 0.002 : 0 };
    perp_body_def ball = { .mass = perp_mass_sphere(mass, R),
                           .x = { 0, 0, R },
                           .v = { 0.6, 0, 0 },
                           .w = { 0, 0.6 / R, 3 } };
    perp_body_def rod = { .mass = perp_mass_box(0.2, 0.02, 0.02, 0.3),
                          .x = { 0, 0, R + 0.15 },
                          .v = { 0.3, -0.15, 0 },
                          .w = { 1, -2, 0 } };
    perp_joint_def joint = { .kind = PERP_JOINT_BALL, .a = 0, .b = 1, .anchor_b = { 0, 0, -0.15 } };
    perp_shape_def shape[2] = {
      { .kind = PERP_SHAPE_SPHERE, .radius = R, .surface = s },
      { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = { 0.8, (double)NAN, 0 } },
    };
    run_body(&ctx, m, ball);
    run_body(&ctx, m, rod);
    if (perp_model_add_joint(&ctx, m, &joint, NULL) != PERP_OK) bail("%s", ctx.msg);
    for (int k = 0; k < 2; k++)
      if (perp_model_add_shape(&ctx, m, &shape[k], NULL) != PERP_OK) bail("%s", ctx.msg);
    run_finish(&ctx, m);
    const run_parts parts = {
      rows ? "velocity:joints=rows" : "velocity:joints=eliminate", "", "", "", "", law
    };
    if (run_fresh(&ctx, m, parts, 1e-3, 0.25, q[rows], v[rows]) < 0) bail("ends early");
    perp_model_destroy(m);
  }
  for (int i = 0; i < 12; i++)
    near(v[1][i], v[0][i], 1e-6, 0, "%s, velocity %d: the joint as rows as eliminated", law, i);
}

static void told(void)
{
  perp_surface s = { .mu = 0.5, .mu_dynamic = (double)NAN, .torsion = 0.01, .rolling = 0.01 };
  perp_model *m = ball_on(3, 0, s, 0.1, 1);
  run_refused(&ctx, m, (run_parts){ "acceleration", "rk4" }, "resist spinning or rolling");
  run_refused(&ctx, m, (run_parts){ "velocity", "", "", "", "lemke", "polyhedral" }, "couples");
  run_refused(&ctx, m, (run_parts){ "velocity", "", "", "", "", "convex" }, "couples");
  run_refused(&ctx, m, (run_parts){ "velocity", "", "", "", "", "elliptic" }, "against rolling");
  run_refused(&ctx, m, (run_parts){ "velocity", "", "", "", "dantzig", "elliptic" },
              "use --lcp lemke");
  perp_model_destroy(m);
  m = run_model(&ctx, 2);
  run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_sphere(mass, R) });
  perp_shape_def disc = { .kind = PERP_SHAPE_SPHERE, .radius = R, .surface = s };
  ok(perp_model_add_shape(&ctx, m, &disc, NULL) == PERP_ERR_ARG, "torsion in the plane: %s",
     ctx.msg);
  disc.surface.torsion = 0;
  disc.surface.rolling = -1;
  ok(perp_model_add_shape(&ctx, m, &disc, NULL) == PERP_ERR_ARG, "rolling < 0: %s", ctx.msg);
  perp_model_destroy(m);
}

/* What two materials have with each other stands above what each has. */
static void pairs(void)
{
  const double both[] = { 0.001, 0, (double)NAN };
  for (int k = 0; k < 3; k++) {
    perp_model *m = run_model(&ctx, 3);
    perp_shape_def round = {
      .kind = PERP_SHAPE_SPHERE,
      .radius = R,
      .surface = { .mu = 0.5, .mu_dynamic = (double)NAN, .material = 1, .torsion = 0.004 }
    };
    perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                             .body = PERP_WORLD,
                             .surface = { .mu = 0.5, .mu_dynamic = (double)NAN, .material = 2 } };
    run_body(
        &ctx, m,
        (perp_body_def){ .mass = perp_mass_sphere(mass, R), .x = { 0, 0, R }, .w = { 0, 0, 10 } });
    const perp_surface pair = { .mu = (double)NAN,
                                .mu_dynamic = (double)NAN,
                                .restitution = (double)NAN,
                                .torsion = both[k],
                                .rolling = (double)NAN };
    if (perp_model_add_shape(&ctx, m, &round, NULL) != PERP_OK ||
        perp_model_add_shape(&ctx, m, &floor, NULL) != PERP_OK ||
        perp_model_add_pair(&ctx, m, 1, 2, &pair) != PERP_OK)
      bail("%s", ctx.msg);
    run_finish(&ctx, m);
    const double torsion = isnan(both[k]) ? 0.004 : both[k];
    double q[7], v[6];
    if (run_fresh(&ctx, m, ways[0], 1e-3, 0.1, q, v) < 0) bail("ends early");
    near(v[5], 10 - torsion * g / (0.4 * R * R) * 0.1, 1e-9, 0, "a pair with torsion = %g",
         both[k]);
    perp_model_destroy(m);
  }
}

/* A rolling ball, then an arm that meets the limit of its hinge: rows of the arm take the place of
 * those of the couples, and are no couples. */
static void beside_limits(void)
{
  static const char *const solvers[] = { "", "pgs", "block-gs" };
  const perp_surface s = { .mu = 0.5, .mu_dynamic = (double)NAN, .torsion = 0.01, .rolling = 0.01 };
  for (int i = 0; i < 3; i++) {
    perp_model *m = run_model(&ctx, 3);
    perp_shape_def floor = { .kind = PERP_SHAPE_PLANE, .body = PERP_WORLD, .surface = s },
                   round = { .kind = PERP_SHAPE_SPHERE, .body = 1, .radius = R, .surface = s };
    run_body(&ctx, m, (perp_body_def){ .mass = perp_mass_box(1, 1, 0.1, 0.1), .x = { 0.5, 5, 0 } });
    run_body(&ctx, m,
             (perp_body_def){ .mass = perp_mass_sphere(mass, R),
                              .x = { 0, 0, R },
                              .v = { 1, 0, 0 },
                              .w = { 0, 1 / R, 0 } });
    run_joint(&ctx, m,
              (perp_joint_def){ .kind = PERP_JOINT_HINGE,
                                .a = PERP_WORLD,
                                .b = 0,
                                .anchor_a = { 0, 5, 0 },
                                .anchor_b = { -0.5, 0, 0 },
                                .axis_a = { 0, 1, 0 },
                                .axis_b = { 0, 1, 0 } });
    run_drive(&ctx, m, (perp_drive_def){ .joint = 0, .lower = -0.05, .upper = 0.05 });
    run_shape(&ctx, m, floor);
    run_shape(&ctx, m, round);
    run_finish(&ctx, m);
    double q[14];
    const run_parts parts = { "velocity", "", "", "", solvers[i], "cone" };
    ok(run_fresh(&ctx, m, parts, 1e-3, 0.5, q, NULL) >= 0, "%s: a ball rolls beside an arm: %s",
       solvers[i][0] != '\0' ? solvers[i] : "auto", ctx.msg);
    near(q[2], -0.5 * sin(0.05), 0, 1e-3, "the arm is at its limit");
    near(q[9], R, 0, 1e-4, "the ball is on the floor");
    perp_model_destroy(m);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rolling();
  rolling_askew();
  spinning();
  sharing();
  together();
  jointed("box", true);
  jointed("frictionless", false);
  pairs();
  beside_limits();
  told();
  return tap_done();
}
