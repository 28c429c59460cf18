/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces and joints of plug-ins against something else: those of perp that they say again, closed
 * forms, other KKT solvers; and what is refused. */
#include "models/multibody/model_private.h"
#include "models/multibody/subset.h"
#include "tests/run_model.h"

#include <math.h>
#include <stdlib.h>

static perp_ctx ctx;

/* ---- joints that perp has, said again ---- */

struct anchors {
  double a[3], b[3];
};
static const perp_opt anchor_options[] = {
  PERP_VECTOR(struct anchors, a, "a", 0, 0, 0, "m", "of a"),
  PERP_VECTOR(struct anchors, b, "b", 0, 0, 0, "m", "of b"), PERP_OPTIONS_END
};

static int ball_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)n;
  *angles = 0;
  return dim;
}

static void ball_evaluate(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                          double *J)
{
  const struct anchors *o = opts;
  double p[2][3];
  (void)n;
  perp_body_point(&body[0], o->a, p[0]);
  perp_body_point(&body[1], o->b, p[1]);
  for (int i = 0; i < dim; i++) {
    const double e[3] = { i == 0, i == 1, i == 2 };
    C[i] = p[1][i] - p[0][i];
    if (J == NULL) continue;
    perp_body_row(&body[0], o->a, e, -1, dim, J + i);
    perp_body_row(&body[1], o->b, e, 1, dim, J + 6 * dim + i);
  }
}

static void ball_bias(const void *opts, int dim, int n, const perp_body_state *body, double *gamma)
{
  const struct anchors *o = opts;
  (void)n;
  for (int side = 0; side < 2; side++) {
    const double *s = side == 0 ? o->a : o->b, *w = body[side].w;
    double u[3], y[3];
    perp_cross(w, s, u);
    perp_cross(w, u, u);
    perp_body_direction(&body[side], u, y);
    for (int i = 0; i < dim; i++) gamma[i] += side == 0 ? -y[i] : y[i];
  }
}

enum { EVERYWHERE = PERP_JOINT_IN_SPACE | PERP_JOINT_IN_PLANE };
static const perp_joint_desc my_ball = {
  .d = { .name = "my-ball", PERP_OPTIONS(anchor_options, struct anchors), .caps = EVERYWHERE },
  .bodies_min = 2,
  .bodies_max = 2,
  .rows = ball_rows,
  .evaluate = ball_evaluate,
  .bias = ball_bias
};
/* without Jdot v */
static const perp_joint_desc my_plain_ball = { .d = { .name = "my-plain-ball",
                                                      PERP_OPTIONS(anchor_options, struct anchors),
                                                      .caps = EVERYWHERE },
                                               .bodies_min = 2,
                                               .bodies_max = 2,
                                               .rows = ball_rows,
                                               .evaluate = ball_evaluate };

/* A hanging chain in space or the plane, swinging; joints of perp, or others. */
static perp_model *chain(int dim, int links, const perp_joint_desc *ball)
{
  perp_model *m;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < links; i++) {
    perp_body_def body = { .mass = perp_mass_box(1 + 0.2 * i, 0.4, 0.1, 0.15),
                           .x = { 0.2 + 0.4 * i } };
    const struct anchors at = { { i == 0 ? 0 : 0.2 }, { -0.2 } };
    perp_joint_def def = { .kind = PERP_JOINT_BALL,
                           .anchor_a = { at.a[0] },
                           .anchor_b = { at.b[0] } };
    const int pair[2] = { i - 1, i };
    if (ball != NULL && perp_joint_define(&ctx, ball, &at, 2, pair, &def) != PERP_OK)
      bail("%s", ctx.msg);
    def.a = pair[0], def.b = pair[1];
    /* about the joint behind it, turning in all directions */
    body.v[1] = 0.2, body.w[2] = 1, body.w[0] = dim == 3 ? 0.7 : 0;
    body.v[1] = 0.2 + 0.4 * i;
    if (perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK ||
        perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

/* q at t_end; info of the last step */
static bool march(perp_model *m, run_parts parts, double h, double t_end, double *q_end)
{
  perp_sim *sim = run_start(&ctx, m, parts, h);
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  bool good = true;
  for (perp_sim_state(sim, &t, &q, &v); good && t < t_end - 1e-9; perp_sim_state(sim, &t, &q, &v)) {
    good = perp_sim_step(&ctx, sim, t_end, &info) == PERP_OK && info.reason >= 0;
    if (!good)
      printf("# %s: %s at t = %g: %s\n", parts.formulation, perp_reason_name(info.reason), t,
             ctx.msg);
  }
  memcpy(q_end, q, (size_t)perp_model_nq(m) * sizeof *q);
  perp_sim_destroy(sim);
  return good;
}

static double apart(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i] - y[i]) <= most)) most = fabs(x[i] - y[i]);
  return most;
}

static const run_parts all_ways[] = {
  { .formulation = "velocity" },
  { .formulation = "velocity", .stab = "post" },
  { .formulation = "velocity-implicit" },
  { .formulation = "acceleration", .ode = "rk4" },
  { .formulation = "acceleration", .ode = "rk4", .stab = "post" },
  { .formulation = "acceleration", .ode = "implicit-midpoint" },
  { .formulation = "ggl" },
  { .formulation = "generalized-alpha" },
  { .formulation = "radau5" },
  { .formulation = "penalty" },
  { .formulation = "regularized" },
  { .formulation = "impulse" },
};
enum { WAYS = sizeof all_ways / sizeof *all_ways };

static void test_same_joint(int dim)
{
  perp_model *own = chain(dim, 3, NULL), *mine = chain(dim, 3, &my_ball),
             *plain = chain(dim, 3, &my_plain_ball);
  const int nq = perp_model_nq(own);
  double q[3][21];
  ok(perp_model_m(own) == perp_model_m(mine), "as many rows");
  for (int i = 0; i < WAYS; i++) {
    const run_parts w = all_ways[i];
    const bool good = march(own, w, 2e-3, 0.2, q[0]) && march(mine, w, 2e-3, 0.2, q[1]) &&
                      march(plain, w, 2e-3, 0.2, q[2]);
    const char *with = w.stab != NULL ? w.stab : w.ode != NULL ? w.ode : "defaults";
    ok(good && apart(nq, q[0], q[1]) < 1e-11,
       "%dD, %s, %s: a ball joint said again moves as that of perp: %.2g", dim, w.formulation, with,
       apart(nq, q[0], q[1]));
    ok(good && apart(nq, q[0], q[2]) < 1e-9, "%dD, %s, %s: without Jdot v too: %.2g", dim,
       w.formulation, with, apart(nq, q[0], q[2]));
  }
  /* joint coordinates: all its joints are loops there, and hold as rk4 does */
  const run_parts reduced = { .formulation = "reduced", .ode = "rk4" };
  const bool cut = march(own, reduced, 1e-3, 0.2, q[0]) && march(mine, reduced, 1e-3, 0.2, q[1]);
  ok(cut && apart(nq, q[0], q[1]) < 1e-6,
     "%dD, reduced: cut open, it moves as the tree of perp: %.2g", dim, apart(nq, q[0], q[1]));
  run_refused(&ctx, mine, (run_parts){ .formulation = "point-mass" }, "my-ball");
  perp_model_destroy(own);
  perp_model_destroy(mine);
  perp_model_destroy(plain);
}

/* ---- forces that perp has, said again ---- */

struct spring {
  double k, c, length;
};
static const perp_opt spring_options[] = {
  PERP_REAL(struct spring, k, 0, 0, HUGE_VAL, 0, "N/m", "stiffness"),
  PERP_REAL(struct spring, c, 0, 0, HUGE_VAL, 0, "Ns/m", "damping"),
  PERP_REAL(struct spring, length, 0, 0, HUGE_VAL, 0, "m", "length"), PERP_OPTIONS_END
};

static double spring_line(const perp_body_state *body, double n[3], double *rate)
{
  double d = 0;
  *rate = 0;
  for (int i = 0; i < 3; i++) {
    n[i] = body[1].x[i] - body[0].x[i];
    d += n[i] * n[i];
  }
  d = sqrt(d);
  for (int i = 0; i < 3; i++) {
    n[i] /= d;
    *rate += n[i] * (body[1].v[i] - body[0].v[i]);
  }
  return d;
}

static void spring_force(const void *opts, int dim, int n, const perp_body_state *body, double t,
                         double *f)
{
  const struct spring *o = opts;
  double u[3], rate;
  const double d = spring_line(body, u, &rate), T = o->k * (d - o->length) + o->c * rate;
  (void)dim, (void)n, (void)t;
  for (int i = 0; i < 3; i++) f[i] += T * u[i], f[6 + i] -= T * u[i];
}

static double spring_energy(const void *opts, int dim, int n, const perp_body_state *body, double t)
{
  const struct spring *o = opts;
  double u[3], rate;
  const double d = spring_line(body, u, &rate) - o->length;
  (void)dim, (void)n, (void)t;
  return 0.5 * o->k * d * d;
}

/* What the rows of velocity-implicit have of one, too: not how the line of the damping turns. */
static void spring_gradient(const void *opts, int dim, int n, const perp_body_state *body, double t,
                            double *dq, double *dv)
{
  const struct spring *o = opts;
  double u[3], rate;
  const double d = spring_line(body, u, &rate), T = o->k * (d - o->length), g = T / d;
  (void)dim, (void)t;
  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++)
      for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++) {
          const double sign = a == b ? -1 : 1;
          const int at = 6 * a + i + (6 * b + j) * 6 * n;
          dq[at] = sign * (g * (i == j) + (o->k - g) * u[i] * u[j]);
          dv[at] = sign * o->c * u[i] * u[j];
        }
}

static unsigned spring_promises(const void *opts)
{
  const struct spring *o = opts;
  return EVERYWHERE | PERP_FORCE_AT_CENTRES | PERP_FORCE_INTERNAL |
         (o->c > 0 ? PERP_FORCE_NEEDS_VELOCITY : PERP_FORCE_CONSERVATIVE);
}

#define SPRING(gradient_of)                                                                        \
  {                                                                                                \
    .d = { .name = "my-spring",                                                                    \
           PERP_OPTIONS(spring_options, struct spring),                                            \
           .caps = EVERYWHERE | PERP_FORCE_AT_CENTRES | PERP_FORCE_INTERNAL |                      \
                   PERP_FORCE_CONSERVATIVE },                                                      \
    .bodies_min = 2, .bodies_max = 2, .force = spring_force, .energy = spring_energy,              \
    .gradient = gradient_of, .promises = spring_promises                                           \
  }
static const perp_force_desc my_spring = SPRING(spring_gradient), my_plain_spring = SPRING(NULL);

/* Two bodies on a floor without weight, one held by a spring to the world, one to the other. */
static perp_model *springs(int dim, const struct spring *of, const perp_force_desc *spring)
{
  perp_model *m;
  if (perp_model_create(&ctx, dim, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 2; i++) {
    const perp_body_def body = { .mass = perp_mass_box(1 + i, 0.2, 0.3, 0.4),
                                 .x = { 1 + i, 0.1 * i, 0.05 },
                                 .v = { 0.1, 0.5 - i, 0.2 * i },
                                 .w = { 0.3, 0.2, 0.1 } };
    if (perp_model_add_body(&ctx, m, &body, NULL) != PERP_OK) bail("%s", ctx.msg);
  }
  for (int i = 0; i < 2; i++) {
    const int pair[2] = { i - 1, i };
    perp_force_def def = {
      .kind = PERP_FORCE_SPRING, .stiffness = of->k, .damping = of->c, .length = of->length
    };
    if (spring != NULL && perp_force_define(&ctx, spring, of, 2, pair, &def) != PERP_OK)
      bail("%s", ctx.msg);
    def.a = pair[0], def.b = pair[1];
    run_force(&ctx, m, def);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static void test_same_force(int dim, double c)
{
  const struct spring of = { 200, c, 0.6 };
  perp_model *own = springs(dim, &of, NULL), *mine = springs(dim, &of, &my_spring),
             *plain = springs(dim, &of, &my_plain_spring);
  const int nq = perp_model_nq(own);
  double q[3][14], T, V[2];
  for (int i = 0; i < WAYS; i++) {
    run_parts w = all_ways[i];
    if (strcmp(w.formulation, "velocity-implicit") == 0)
      w.formulation = "velocity-implicit:gradient=full";
    const bool good = march(own, w, 2e-3, 0.2, q[0]) && march(mine, w, 2e-3, 0.2, q[1]) &&
                      march(plain, w, 2e-3, 0.2, q[2]);
    ok(good && apart(nq, q[0], q[1]) < 1e-11,
       "%dD, c = %g, %s: a spring said again moves as that of perp: %.2g", dim, c, w.formulation,
       apart(nq, q[0], q[1]));
    ok(good && apart(nq, q[0], q[2]) < (c > 0 ? 1e-3 : 1e-8),
       "%dD, %s: without a gradient too: %.2g", dim, w.formulation, apart(nq, q[0], q[2]));
  }
  const double *at = perp_model_q0(own), *v = perp_model_v0(own);
  perp_model_energy(own, 0, at, v, &T, &V[0]);
  perp_model_energy(mine, 0, at, v, &T, &V[1]);
  ok(fabs(V[0] - V[1]) < 1e-13, "its energy");
  ok(perp_model_forces_need_velocity(own) == perp_model_forces_need_velocity(mine),
     "it needs velocities as that of perp");
  perp_model_destroy(own);
  perp_model_destroy(mine);
  perp_model_destroy(plain);
}

/* ---- closed forms ---- */

/* A screw along z: z = pitch / 2 pi (angle about z), of as many turns as it takes. */
static int screw_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}

static void screw_evaluate(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                           double *J)
{
  static const double ex[3] = { 1, 0, 0 }, ez[3] = { 0, 0, 1 }, centre[3] = { 0 };
  const double rise = *(const double *)opts / (2 * M_PI);
  double u[3];
  (void)dim, (void)n;
  perp_body_direction(&body[1], ex, u);
  const double angle = atan2(u[1], u[0]), r2 = u[0] * u[0] + u[1] * u[1];
  const double turns = nearbyint((body[1].x[2] / rise - angle) / (2 * M_PI));
  C[0] = body[1].x[2] - rise * (angle + 2 * M_PI * turns);
  if (J == NULL) return;
  const double across[3] = { -u[1] / r2, u[0] / r2, 0 };
  perp_body_row(&body[1], centre, ez, 1, 1, J + 6);
  perp_body_row_turn(&body[1], ex, across, -rise, 1, J + 6);
}

static const perp_opt screw_options[] = {
  { "pitch", "m", "a turn", PERP_OPT_REAL, 0, 0.1, 0, 10, 0, NULL, NULL }, PERP_OPTIONS_END
};
static const perp_joint_desc my_screw = { .d = { .name = "my-screw",
                                                 .opts = screw_options,
                                                 .opts_size = sizeof(double),
                                                 .caps = PERP_JOINT_IN_SPACE },
                                          .bodies_min = 2,
                                          .bodies_max = 2,
                                          .rows = screw_rows,
                                          .evaluate = screw_evaluate };

/* A nut runs down a screw, up to 1/3 of a radian a step: z'' = -m g / (m + I (2 pi / pitch)^2),
 * several turns of it. */
static void test_screw(void)
{
  const double pitch = 0.05, g = 9.81, I = 0.4 * 2 * 0.03 * 0.03, k = 2 * M_PI / pitch;
  const double a = 2 * g / (2 + I * k * k), t = 1;
  const perp_body_def nut = { .mass = perp_mass_sphere(2, 0.03) };
  const perp_joint_def guide = {
    .kind = PERP_JOINT_CYLINDRICAL, .a = PERP_WORLD, .axis_a = { 0, 0, 1 }, .axis_b = { 0, 0, 1 }
  };
  const int pair[2] = { PERP_WORLD, 0 };
  perp_joint_def screw;
  perp_model *m;
  double q[7] = { 0 };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &nut, NULL) != PERP_OK ||
      perp_model_add_joint(&ctx, m, &guide, NULL) != PERP_OK ||
      perp_joint_define(&ctx, &my_screw, &pitch, 2, pair, &screw) != PERP_OK ||
      perp_model_add_joint(&ctx, m, &screw, NULL) != PERP_OK ||
      perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  const struct {
    run_parts parts;
    double within;
  } ways[] = { { { .formulation = "velocity" }, 1e-2 },
               { { .formulation = "velocity-implicit" }, 1e-2 },
               { { .formulation = "acceleration", .ode = "rk4" }, 1e-5 },
               { { .formulation = "reduced", .ode = "rk4" }, 1e-5 },
               { { .formulation = "ggl" }, 1e-9 },
               { { .formulation = "generalized-alpha" }, 1e-6 },
               { { .formulation = "radau5" }, 1e-9 } };
  for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
    const bool good = march(m, ways[i].parts, 2e-3, t, q);
    ok(good && fabs(q[2] + a * t * t / 2) < ways[i].within && a * t * t / 2 > 3 * pitch,
       "%s: a nut runs down %.1f turns of a screw: z off by %.2g m", ways[i].parts.formulation,
       a * t * t / 2 / pitch, fabs(q[2] + a * t * t / 2));
  }
  perp_model_destroy(m);
}

/* f = (A sin(w t), 0, 0) on a mass: x = A / (m w^2) (w t - sin(w t)). */
static void driven_force(const void *opts, int dim, int n, const perp_body_state *body, double t,
                         double *f)
{
  (void)opts, (void)dim, (void)n, (void)body;
  f[0] = 3 * sin(2 * t);
}
static const perp_force_desc my_drive = {
  .d = { .name = "my-drive", .caps = EVERYWHERE | PERP_FORCE_AT_CENTRES | PERP_FORCE_NEEDS_TIME },
  .bodies_min = 1,
  .bodies_max = 1,
  .force = driven_force
};

static void test_time(void)
{
  const perp_body_def mass = { .mass = perp_mass_sphere(2, 0.1), .particle = true };
  const int body = 0;
  perp_force_def def;
  perp_model *m;
  double q[3] = { 0 };
  if (perp_model_create(&ctx, 2, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &mass, NULL) != PERP_OK ||
      perp_force_define(&ctx, &my_drive, NULL, 1, &body, &def) != PERP_OK ||
      perp_model_add_force(&ctx, m, &def) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_model_depends_on_time(m), "a force that needs the time makes its model depend on it");
  const double x = 3.0 / (2 * 4) * (2 - sin(2.0));
  const bool moved = march(m, (run_parts){ .formulation = "acceleration", .ode = "rk4" }, 1e-2, 1,
                           q);
  ok(moved && fabs(q[0] - x) < 1e-8, "and is given it: x off by %.2g m", fabs(q[0] - x));
  run_refused(&ctx, m, (run_parts){ .formulation = "groups" }, "time");
  perp_model_destroy(m);
}

/* ---- three bodies and more ---- */

static int rope_rows(const void *opts, int dim, int n, unsigned *angles)
{
  (void)opts, (void)dim, (void)n;
  *angles = 0;
  return 1;
}

static void rope_evaluate(const void *opts, int dim, int n, const perp_body_state *body, double *C,
                          double *J)
{
  (void)dim;
  C[0] = -*(const double *)opts;
  for (int i = 0; i + 1 < n; i++) {
    double u[3], d = 0;
    for (int k = 0; k < 3; k++) u[k] = body[i + 1].x[k] - body[i].x[k], d += u[k] * u[k];
    d = sqrt(d);
    C[0] += d;
    for (int k = 0; J != NULL && k < 3; k++) {
      J[6 * i + k] -= u[k] / d;
      J[6 * (i + 1) + k] += u[k] / d;
    }
  }
}

static perp_status rope_zero(perp_ctx *of, void *opts, int dim, int n, const perp_body_state *body)
{
  double C[1];
  (void)of;
  *(double *)opts = 0;
  rope_evaluate(opts, dim, n, body, C, NULL);
  *(double *)opts = C[0];
  return PERP_OK;
}

static const perp_opt rope_options[] = {
  { "length", "m", "of it", PERP_OPT_REAL, 0, 1, 0, 100, 0, NULL, NULL }, PERP_OPTIONS_END
};
static const perp_joint_desc my_rope = { .d = { .name = "my-rope",
                                                .opts = rope_options,
                                                .opts_size = sizeof(double),
                                                .caps = EVERYWHERE | PERP_JOINT_AT_CENTRES },
                                         .bodies_min = 2,
                                         .bodies_max = 8,
                                         .rows = rope_rows,
                                         .zero = rope_zero,
                                         .evaluate = rope_evaluate };

/* Balls on a floor, tied by one rope, pulled over it by the first one; a chain hangs on the second.
 * collide: they touch. */
static perp_model *tied(int n, bool collide, double apart_by)
{
  perp_model *m;
  int body[8];
  double length = 1;
  perp_joint_def def;
  const perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                                 .body = PERP_WORLD,
                                 .surface = { .mu = 0.3, .mu_dynamic = 0.3 } };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &floor, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  for (int i = 0; i < n; i++) {
    const perp_body_def ball = { .mass = perp_mass_sphere(1, 0.1),
                                 .x = { apart_by * i, 0.05 * (i % 2), 0.1 },
                                 .v = { i == 0 ? 0 : 0, 0, 0 } };
    perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = floor.surface };
    if (perp_model_add_body(&ctx, m, &ball, &body[i]) != PERP_OK) bail("%s", ctx.msg);
    shape.body = body[i];
    run_shape(&ctx, m, shape);
  }
  const perp_force_def pull = { .kind = PERP_FORCE_POINT, .a = 0, .value = { -20, 3, 2 } };
  if (perp_joint_define(&ctx, &my_rope, &length, n, body, &def) != PERP_OK) bail("%s", ctx.msg);
  def.start = PERP_START_ZERO;
  def.collide = collide;
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK ||
      perp_model_add_force(&ctx, m, &pull) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  return m;
}

/* Several islands side by side on a floor, pulled apart, each with another number of bodies on its
 * rope. */
static perp_model *ropes(void)
{
  static const int first[4] = { 0, 3, 5, 9 };
  const perp_shape_def floor = { .kind = PERP_SHAPE_PLANE,
                                 .body = PERP_WORLD,
                                 .surface = { .mu = 0.3, .mu_dynamic = 0.3 } };
  perp_model *m;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK ||
      perp_model_add_shape(&ctx, m, &floor, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  for (int r = 0; r < 3; r++) {
    int body[4];
    const int n = first[r + 1] - first[r];
    perp_joint_def def;
    for (int i = 0; i < n; i++) {
      const perp_body_def ball = { .mass = perp_mass_sphere(1 + 0.1 * i, 0.1),
                                   .x = { 0.4 * i, 2 * r + 0.1 * (i % 2), 0.1 },
                                   .v = { 0.2 * i - 0.1 * r } };
      perp_shape_def shape = { .kind = PERP_SHAPE_SPHERE, .radius = 0.1, .surface = floor.surface };
      if (perp_model_add_body(&ctx, m, &ball, &body[i]) != PERP_OK) bail("%s", ctx.msg);
      shape.body = body[i];
      run_shape(&ctx, m, shape);
    }
    const perp_force_def pull = { .kind = PERP_FORCE_POINT,
                                  .a = body[0],
                                  .value = { -8, 1 + r, 0 } };
    if (perp_joint_define(&ctx, &my_rope, NULL, n, body, &def) != PERP_OK) bail("%s", ctx.msg);
    def.start = PERP_START_ZERO;
    def.softness = 1e-3; /* it may move at the start */
    if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK ||
        perp_model_add_force(&ctx, m, &pull) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_model_finish(&ctx, m) != PERP_OK) bail("%s", ctx.msg);
  return m;
}

static int touching(const perp_model *m)
{
  perp_sim *sim = run_start(&ctx, (perp_model *)(uintptr_t)m,
                            (run_parts){ .formulation = "velocity", .lcp = "dantzig" }, 1e-3);
  perp_step_info info = { 0 };
  if (perp_sim_step(&ctx, sim, 1e-3, &info) != PERP_OK) bail("%s", ctx.msg);
  int pairs = 0;
  for (int i = 0; i < info.n_contacts; i++)
    pairs += info.contacts[i].body[0] >= 0 && info.contacts[i].body[1] >= 0;
  perp_sim_destroy(sim);
  return pairs;
}

static void test_many(void)
{
  perp_model *m = tied(4, false, 0.5);
  double q[2][28], *length = calloc(1, sizeof *length);
  ok(perp_model_m(m) == 1 && perp_model_blocks(m)->jptr[1] == 4, "one row over four bodies");
  const run_parts eliminate = { .formulation = "velocity:joints=eliminate", .lcp = "dantzig" },
                  rows = { .formulation = "velocity:joints=rows", .lcp = "dantzig" };
  bool good = march(m, eliminate, 1e-3, 0.2, q[0]) && march(m, rows, 1e-3, 0.2, q[1]);
  ok(good && apart(28, q[0], q[1]) < 1e-8,
     "with contacts: eliminated and as rows it is the same: %.2g", apart(28, q[0], q[1]));
  double C[1];
  perp_model_error(m, 0, q[0], C);
  ok(fabs(C[0]) < 1e-3 && q[0][0] < -0.05, "the rope holds (%.2g m) while it is pulled (%.2g m)",
     C[0], q[0][0]);
  perp_model_destroy(m);

  double many[2][63];
  m = ropes();
  good = march(m, eliminate, 1e-3, 0.2, many[0]) && march(m, rows, 1e-3, 0.2, many[1]);
  ok(good && apart(63, many[0], many[1]) < 1e-8,
     "three islands with ropes over 3, 2 and 4 bodies: %.2g", apart(63, many[0], many[1]));
  perp_model_destroy(m);

  m = tied(3, false, 0.19);
  ok(touching(m) == 0, "its bodies do not touch each other");
  perp_model_destroy(m);
  m = tied(3, true, 0.19);
  ok(touching(m) == 2, "unless they may: %d", touching(m));
  perp_model_destroy(m);
  free(length);
}

/* A rope over bodies of a chain: a loop over three.  All KKT solvers that serve loops have one
 * answer. */
static void test_kkt(void)
{
  perp_model *m;
  double q[2][28], length = 1;
  const int body[3] = { 0, 2, 3 };
  perp_joint_def def;
  if (perp_model_create(&ctx, 3, &m) != PERP_OK) bail("%s", ctx.msg);
  for (int i = 0; i < 4; i++) {
    const perp_body_def link = { .mass = perp_mass_box(1, 0.4, 0.1, 0.1),
                                 .x = { 0.2 + 0.4 * i, 0.02 * i * i } };
    const perp_joint_def ball = { .kind = PERP_JOINT_BALL,
                                  .a = i - 1,
                                  .b = i,
                                  .anchor_a = { i == 0 ? 0 : 0.2 },
                                  .start = PERP_START_ZERO };
    if (perp_model_add_body(&ctx, m, &link, NULL) != PERP_OK ||
        perp_model_add_joint(&ctx, m, &ball, NULL) != PERP_OK)
      bail("%s", ctx.msg);
  }
  if (perp_joint_define(&ctx, &my_rope, &length, 3, body, &def) != PERP_OK) bail("%s", ctx.msg);
  def.start = PERP_START_ZERO;
  if (perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK || perp_model_finish(&ctx, m) != PERP_OK)
    bail("%s", ctx.msg);
  run_parts parts = { .formulation = "acceleration", .ode = "rk4", .kkt = "kkt-dense" };
  ok(march(m, parts, 2e-3, 0.3, q[0]), "a chain with a rope over three of its bodies");
  const perp_desc *d;
  int tried = 0;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_kkt, i)) != NULL; i++) {
    if (!(d->caps & PERP_KKT_LOOPS)) continue;
    parts.kkt = d->name;
    tried++;
    const bool good = march(m, parts, 2e-3, 0.3, q[1]);
    ok(good && apart(28, q[0], q[1]) < 1e-7, "%s has the same motion: %.2g", d->name,
       apart(28, q[0], q[1]));
  }
  ok(tried >= 3, "%d KKT solvers", tried);
  bool good = march(m, (run_parts){ .formulation = "reduced", .ode = "rk4" }, 2e-3, 0.3, q[1]);
  ok(good && apart(28, q[0], q[1]) < 1e-6, "and so have joint coordinates: %.2g",
     apart(28, q[0], q[1]));
  /* groups and subsets */
  perp_subset part;
  const int two[2] = { 0, 1 }, all[4] = { 0, 1, 2, 3 };
  ok(perp_subset_create(&ctx, m, two, 2, &part) == PERP_ERR_ARG &&
         strstr(ctx.msg, "outside") != NULL,
     "a subset that cuts a joint is refused: %s", ctx.msg);
  ok(perp_subset_create(&ctx, m, all, 4, &part) == PERP_OK &&
         perp_model_m(part.model) == perp_model_m(m),
     "one of all has it");
  double C[20];
  perp_model_error(part.model, 0, perp_model_q0(part.model), C);
  ok(fabs(C[12]) < 1e-14, "with the options that its zero made: %.2g", C[12]);
  perp_subset_destroy(&part);
  good = march(m, (run_parts){ .formulation = "velocity" }, 1e-3, 0.1, q[0]) &&
         march(m, (run_parts){ .formulation = "groups" }, 1e-3, 0.1, q[1]);
  ok(good && apart(28, q[0], q[1]) < 1e-12, "a group of all moves as they do without groups: %.2g",
     apart(28, q[0], q[1]));
  perp_model_destroy(m);
}

/* ---- refused ---- */

static void refuse_joint(perp_model *m, const perp_joint_desc *desc, int n, const int *body,
                         perp_joint_start start, const char *word)
{
  perp_joint_def def = {
    .kind = PERP_JOINT_PLUGIN, .plugin = desc, .n_bodies = n, .body = body, .start = start
  };
  const int joints = perp_model_joints(m);
  ok(perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK && strstr(ctx.msg, word) != NULL &&
         perp_model_joints(m) == joints,
     "refused: %s", ctx.msg);
}

static void test_refused(void)
{
  perp_model *m;
  const perp_body_def solid = { .mass = perp_mass_sphere(1, 0.1) },
                      point = { .mass = perp_mass_sphere(1, 0.1), .particle = true, .x = { 1 } };
  if (perp_model_create(&ctx, 3, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &solid, NULL) != PERP_OK ||
      perp_model_add_body(&ctx, m, &point, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  refuse_joint(m, &my_screw, 2, (const int[]){ -1, 5 }, 0, "body 5 does not exist");
  refuse_joint(m, &my_screw, 2, (const int[]){ 0, 0 }, 0, "twice");
  refuse_joint(m, &my_screw, 1, (const int[]){ 0 }, 0, "needs 2 bodies: got 1");
  refuse_joint(m, &my_screw, 2, (const int[]){ 0, 1 }, 0, "particle");
  refuse_joint(m, &my_screw, 2, (const int[]){ -1, 0 }, PERP_START_ZERO, "zero");
  refuse_joint(m, NULL, 2, (const int[]){ -1, 0 }, 0, "not complete");
  refuse_joint(m, &my_screw, 2, NULL, 0, "got 0");
  perp_joint_def def;
  perp_drive_def drive = { .lower = -1, .upper = 1 };
  if (perp_joint_define(&ctx, &my_rope, NULL, 2, (const int[]){ 0, 1 }, &def) != PERP_OK ||
      perp_model_add_joint(&ctx, m, &def, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  ok(perp_model_add_drive(&ctx, m, &drive, NULL) == PERP_ERR_UNSUPPORTED,
     "a drive on one is refused: %s", ctx.msg);
  def.row[1].stiffness = 1;
  ok(perp_model_add_joint(&ctx, m, &def, NULL) == PERP_ERR_ARG &&
         strstr(ctx.msg, "its 1 rows") != NULL,
     "a figure of a row that it has not is refused: %s", ctx.msg);
  perp_force_def force = { .kind = PERP_FORCE_PLUGIN };
  ok(perp_model_add_force(&ctx, m, &force) == PERP_ERR_ARG &&
         strstr(ctx.msg, "not complete") != NULL,
     "refused: %s", ctx.msg);
  perp_model_destroy(m);
  if (perp_model_create(&ctx, 2, &m) != PERP_OK ||
      perp_model_add_body(&ctx, m, &solid, NULL) != PERP_OK)
    bail("%s", ctx.msg);
  refuse_joint(m, &my_screw, 2, (const int[]){ -1, 0 }, 0, "does not exist in the plane");
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  for (int dim = 2; dim <= 3; dim++) {
    test_same_joint(dim);
    test_same_force(dim, 0);
    test_same_force(dim, 4);
  }
  test_screw();
  test_time();
  test_many();
  test_kkt();
  test_refused();
  return tap_done();
}
