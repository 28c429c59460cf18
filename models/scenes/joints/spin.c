/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spinning and rolling bodies on a plane, which need small steps of their own.
 *
 *   rolling-disc    a thin disc starts at 70 degrees; reference file, rolling without slip
 *   spinning-wheel  a thin disc that leans and turns steadily: with theta between its axis and the
 *                   vertical, its centre on a circle of radius rho at the rate W, n = -(rho/R) W
 *                   about its axis,
 *                        W^2 = (g/R) cos(theta) / (sin(theta) (3/2 rho/R + 1/4 cos(theta)))
 *                   from dL/dt = r x F about the centre, r = -R e_2, F = m (a + g z)
 *   rattleback      an ellipsoid whose inertia is turned against its shape: the spin reverses;
 *                   reference file, rolling without slip
 *   tippe-top       a ball with its centre of mass off its middle turns over by sliding friction.
 *                   Jellett's constant L . r (r from the centre of mass to the contact) is kept by
 *                   any contact force (with Coulomb friction)
 *   turntable       a ball on a turning plane: its centre runs on a circle at 2/7 of the table's
 *                   rate
 *
 * The disc is an ellipsoid of half axes (R, R, thickness): its lowest point is that of the thin
 * disc up to O(thickness^2 / R). */
#include "models/kinematics/kinematics.h"
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

/* ---- rolling bodies -------------------------------------------------------------------------- */

/* World vector from the centre of an ellipsoid to its lowest point. */
static void spin_lowest(const double quat[4], const double half[3], double r[3])
{
  double R[9], n[3], s[3], size = 0;
  perp_quat_matrix(quat, R);
  for (int i = 0; i < 3; i++) n[i] = R[2 + 3 * i] * half[i]; /* half_i (R' z)_i */
  for (int i = 0; i < 3; i++) size += n[i] * n[i];
  for (int i = 0; i < 3; i++) s[i] = -half[i] * n[i] / sqrt(size);
  perp_turn(3, R, s, r);
}

/* A body on an ellipsoid that touches the floor and rolls there: place and velocity from its quat
 * and spin. */
static perp_status rolling_body(perp_ctx *ctx, perp_scene *scene, perp_body_def *def,
                                const double half[3], double mu, double gravity, double t_end)
{
  perp_builder y = perp_build_begin(ctx, scene, 3, gravity, mu, 0);
  perp_build_floor(&y);
  double r[3], R[9], spin[3];
  spin_lowest(def->quat, half, r);
  perp_quat_matrix(def->quat, R);
  perp_turn(3, R, def->w, spin);
  def->x[2] = -r[2];
  perp_cross(r, spin, def->v); /* v + w x r = 0 */
  if (y.status == PERP_OK) y.status = perp_model_add_body(ctx, scene->model, def, NULL);
  perp_shape_def shape = { .kind = PERP_SHAPE_ELLIPSOID };
  memcpy(shape.half, half, sizeof shape.half);
  perp_build_shape(&y, &shape);
  PERP_TRY(perp_build_end(&y, half[0], t_end));
  scene->tip_body = 0;
  scene->dissipative = false; /* no slip, no loss */
  return PERP_OK;
}

static const char *const columns[] = { "x",  "y",  "z",  "qw",  "qx",  "qy", "qz",
                                       "vx", "vy", "vz", "wbx", "wby", "wbz" };

/* ---- disc and wheel -------------------------------------------------------------------------- */

static perp_mass thin_disc(double m, double R)
{
  const double I = m * R * R / 4;
  return (perp_mass){ m, { I, 0, 0, 0, I, 0, 0, 0, 2 * I } };
}

struct disc_opts {
  double tilt, wx, wy, wz, radius, thickness, mass, mu, gravity;
};
static const perp_opt disc_options[] = {
  PERP_REAL(struct disc_opts, tilt, 7 * M_PI / 18, 0.01, M_PI_2, 0, "rad",
            "axis from the vertical, turned about x"),
  PERP_OPT_FINITE(struct disc_opts, wx, 0.5, "rad/s", "initial spin in the body frame"),
  PERP_OPT_FINITE(struct disc_opts, wy, 1, "rad/s", "initial spin in the body frame"),
  PERP_OPT_FINITE(struct disc_opts, wz, -8, "rad/s", "initial spin about the axis"),
  PERP_OPT_POSITIVE(struct disc_opts, radius, 0.25, "m", "radius"),
  PERP_OPT_POSITIVE(struct disc_opts, thickness, 1e-4, "m", "half axis of the ellipsoid"),
  PERP_OPT_POSITIVE(struct disc_opts, mass, 1, "kg", "mass"),
  PERP_OPT_MU(struct disc_opts, mu, 0.8),
  PERP_OPT_G(struct disc_opts),
  PERP_OPTIONS_END
};

static perp_status build_disc(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct disc_opts *o = opts;
  const double half[3] = { o->radius, o->radius, o->thickness };
  perp_body_def disc = { .name = "disc",
                         .mass = thin_disc(o->mass, o->radius),
                         .quat = { cos(o->tilt / 2), sin(o->tilt / 2) },
                         .w = { o->wx, o->wy, o->wz } };
  PERP_TRY(rolling_body(ctx, scene, &disc, half, o->mu, o->gravity, 2));
  scene->h = 5e-4;
  const bool benchmark = fabs(o->tilt - 7 * M_PI / 18) < 1e-15 && o->wx == 0.5 && o->wy == 1 &&
                         o->wz == -8 && o->radius == 0.25 && o->gravity == 9.81 && o->mu >= 0.26 &&
                         o->thickness <= 1e-4;
  if (!benchmark) return PERP_OK;
  return perp_truth_file(ctx, scene, "C_rolling_disc.csv", 1e-6, 13, columns, NULL, NULL, 0);
}

const perp_scene_desc perp_scene_rolling_disc = {
  .d = { .name = "rolling-disc",
         .summary = "a thin disc rolls, leaning, without slip",
         .reference = "own reference to 27 digits",
         .equation = "I w' + w x I w = r x F, v + w x r = 0",
         PERP_OPTIONS(disc_options, struct disc_opts) },
  .build = build_disc,
};

struct wheel_opts {
  double lean, turn, radius, thickness, mass, mu, gravity;
};
static const perp_opt wheel_options[] = {
  PERP_REAL(struct wheel_opts, lean, M_PI / 9, 0, 1.5, PERP_OPEN_MIN, "rad",
            "of the wheel from the vertical"),
  PERP_OPT_POSITIVE(struct wheel_opts, turn, 1, "m", "radius of the circle of its centre"),
  PERP_OPT_POSITIVE(struct wheel_opts, radius, 0.25, "m", "radius"),
  PERP_OPT_POSITIVE(struct wheel_opts, thickness, 1e-4, "m", "half axis of the ellipsoid"),
  PERP_OPT_POSITIVE(struct wheel_opts, mass, 1, "kg", "mass"),
  PERP_OPT_MU(struct wheel_opts, mu, 0.8),
  PERP_OPT_G(struct wheel_opts),
  PERP_OPTIONS_END
};

struct wheel {
  double R, theta, rho, W, n; /* n: rate about the axis */
};

static void spin_steady(void *user, double t, double *q, double *v)
{
  const struct wheel *s = user;
  const double turned = s->W * t, rolled = (s->n - s->W * cos(s->theta)) * t;
  q[0] = s->rho * sin(turned);
  q[1] = s->rho * (1 - cos(turned));
  q[2] = s->R * sin(s->theta);
  v[0] = s->rho * s->W * cos(turned);
  v[1] = s->rho * s->W * sin(turned);
  v[2] = 0;
  /* Rz(turned) Rx(theta) Rz(rolled) */
  const double c = cos(s->theta / 2), d = sin(s->theta / 2);
  const double sum = (turned + rolled) / 2, diff = (turned - rolled) / 2;
  q[3] = c * cos(sum);
  q[4] = d * cos(diff);
  q[5] = d * sin(diff);
  q[6] = c * sin(sum);
  /* W sin(theta) e_2 + n e_3 in the body frame */
  v[3] = s->W * sin(s->theta) * sin(rolled);
  v[4] = s->W * sin(s->theta) * cos(rolled);
  v[5] = s->n;
}

static perp_status spin_build_wheel(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct wheel_opts *o = opts;
  const double theta = M_PI_2 - o->lean, k = o->turn / o->radius, c = cos(theta), s = sin(theta);
  struct wheel wheel = { .R = o->radius, .theta = theta, .rho = o->turn };
  wheel.W = sqrt(o->gravity / o->radius * c / (s * (1.5 * k + 0.25 * c)));
  wheel.n = -k * wheel.W;
  const double half[3] = { o->radius, o->radius, o->thickness };
  perp_body_def disc = { .name = "wheel",
                         .mass = thin_disc(o->mass, o->radius),
                         .quat = { cos(theta / 2), sin(theta / 2) },
                         .w = { 0, wheel.W * s, wheel.n } };
  PERP_TRY(rolling_body(ctx, scene, &disc, half, o->mu, o->gravity, 2 * M_PI / wheel.W));
  scene->h = 5e-4;
  return perp_truth_add(ctx, scene, "closed form: steady turning of a thin disc", 1e-6, spin_steady,
                        &wheel, sizeof wheel);
}

const perp_scene_desc perp_scene_spinning_wheel = {
  .d = { .name = "spinning-wheel",
         .summary = "a wheel that leans and turns steadily in a circle",
         .reference = "closed form, derived in the file",
         .equation = "W^2 = (g/R) cos / (sin (3/2 rho/R + 1/4 cos))",
         PERP_OPTIONS(wheel_options, struct wheel_opts) },
  .build = spin_build_wheel,
};

/* ---- rattleback ------------------------------------------------------------------------------ */

struct rattle_opts {
  double spin, rock, turned, mass, mu, gravity;
};
static const perp_opt rattle_options[] = {
  PERP_OPT_FINITE(struct rattle_opts, spin, 5, "rad/s", "initial rate about the vertical"),
  PERP_OPT_FINITE(struct rattle_opts, rock, 0.1, "rad/s",
                  "initial rate about the short horizontal axis"),
  PERP_REAL(struct rattle_opts, turned, -M_PI / 36, -M_PI_2, M_PI_2, 0, "rad",
            "inertia against the shape, about the vertical"),
  PERP_OPT_POSITIVE(struct rattle_opts, mass, 0.014660765716752368, "kg", "mass"),
  PERP_OPT_MU(struct rattle_opts, mu, 0.8),
  PERP_OPT_G(struct rattle_opts),
  PERP_OPTIONS_END
};

static perp_status build_rattle(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rattle_opts *o = opts;
  const double half[3] = { 0.05, 0.01, 0.01 };
  const double of_mass = o->mass / 0.014660765716752368;
  const double I1 = 5.864306286700948e-7 * of_mass, I2 = 7.623598172711232e-6 * of_mass;
  const double c = cos(o->turned), s = sin(o->turned), xy = (I1 - I2) * s * c;
  const double xx = I1 * c * c + I2 * s * s, yy = I1 * s * s + I2 * c * c;
  perp_body_def stone = { .name = "rattleback",
                          .mass = { o->mass, { xx, xy, 0, xy, yy, 0, 0, 0, I2 } },
                          .quat = { 1 },
                          .w = { 0, o->rock, o->spin } };
  PERP_TRY(rolling_body(ctx, scene, &stone, half, o->mu, o->gravity, 3));
  scene->h = 2e-4;
  if (o->spin != 5 || o->rock != 0.1 || fabs(o->turned + M_PI / 36) > 1e-15 ||
      o->mass != 0.014660765716752368 || o->gravity != 9.81 || o->mu < 0.31)
    return PERP_OK;
  return perp_truth_file(ctx, scene, "C_rattleback_modia_noslip.csv", 1e-12, 13, columns, NULL,
                         NULL, 0);
}

const perp_scene_desc perp_scene_rattleback = {
  .d = { .name = "rattleback",
         .summary = "a celtic stone: its spin reverses",
         .reference = "own reference to 26 digits, parameters of Modia3D",
         .equation = "I w' + w x I w = r x F, v + w x r = 0",
         PERP_OPTIONS(rattle_options, struct rattle_opts) },
  .build = build_rattle,
};

/* ---- tippe top ------------------------------------------------------------------------------- */

struct tippe_opts {
  double spin, tilt, radius, offset, mass, mu, gravity;
};
static const perp_opt tippe_options[] = {
  PERP_OPT_FINITE(struct tippe_opts, spin, 155, "rad/s", "initial rate about its axis"),
  PERP_REAL(struct tippe_opts, tilt, 0.1, 0, M_PI, 0, "rad", "axis from the vertical"),
  PERP_OPT_POSITIVE(struct tippe_opts, radius, 0.02, "m", "radius"),
  PERP_REAL(struct tippe_opts, offset, 0.3, 0, 1, PERP_OPEN_MAX, "",
            "centre of mass below the middle, in radii"),
  PERP_OPT_POSITIVE(struct tippe_opts, mass, 0.02, "kg", "mass"),
  PERP_OPT_MU(struct tippe_opts, mu, 0.3),
  PERP_OPT_POSITIVE(struct tippe_opts, gravity, 9.82, "m/s^2", "gravity"),
  PERP_OPTIONS_END
};

struct jellett {
  double R, offset, I1, I3, first, worst;
  bool started;
};

static void jellett_sample(void *user, double t, const double *q, const double *v,
                           const perp_step_info *info)
{
  struct jellett *g = user;
  double rot[9], L[3], r[3];
  (void)t, (void)info;
  perp_quat_matrix(q + 3, rot);
  const double body[3] = { g->I1 * v[3], g->I1 * v[4], g->I3 * v[5] };
  perp_turn(3, rot, body, L);
  for (int i = 0; i < 3; i++) r[i] = g->offset * rot[6 + i] - (i == 2 ? g->R : 0);
  const double now = perp_dot(3, L, r);
  if (!g->started) g->first = now;
  g->started = true;
  const double err = fabs(now - g->first);
  if (!(err <= g->worst) && !isnan(g->worst)) g->worst = err;
}

static double jellett_value(const void *user)
{
  const struct jellett *g = user;
  return g->started && g->first != 0 ? g->worst / fabs(g->first) : nan("");
}

static perp_status build_tippe(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct tippe_opts *o = opts;
  const double R = o->radius, a = o->offset * R, c = cos(o->tilt);
  const double I3 = 0.4 * o->mass * R * R, I1 = 131.0 / 350 * o->mass * R * R;
  perp_builder y = perp_build_begin(ctx, scene, 3, o->gravity, o->mu, 0);
  perp_build_floor(&y);
  perp_body_def def = { .name = "top",
                        .mass = { o->mass, { I1, 0, 0, 0, I1, 0, 0, 0, I3 } },
                        .x = { 0, 0, R - a * c },
                        .quat = { cos(o->tilt / 2), sin(o->tilt / 2), 0, 0 },
                        .w = { 0, 0, o->spin } };
  if (y.status == PERP_OK) y.status = perp_model_add_body(ctx, scene->model, &def, NULL);
  perp_shape_def ball = { .kind = PERP_SHAPE_SPHERE, .x = { 0, 0, a }, .radius = R };
  perp_build_shape(&y, &ball);
  PERP_TRY(perp_build_end(&y, R, 8));
  scene->h = 5e-4;
  const struct jellett g = { .R = R, .offset = a, .I1 = I1, .I3 = I3 };
  return perp_gauge_add(ctx, scene, "invariant.rel.max", &g, sizeof g, jellett_sample,
                        jellett_value);
}

const perp_scene_desc perp_scene_tippe_top = {
  .d = { .name = "tippe-top",
         .summary = "a top that turns over by sliding friction; Jellett's constant is kept",
         .reference = "Jellett 1872, with Coulomb friction",
         .equation = "L . r = const",
         PERP_OPTIONS(tippe_options, struct tippe_opts) },
  .build = build_tippe,
};

/* ---- turntable ------------------------------------------------------------------------------- */

struct table_opts {
  double rate, distance, speed, radius, mass, mu, gravity;
};
static const perp_opt table_options[] = {
  PERP_OPT_POSITIVE(struct table_opts, rate, 2, "rad/s", "of the table"),
  PERP_OPT_FINITE(struct table_opts, distance, 0.5, "m", "of the ball from the axis"),
  PERP_OPT_FINITE(struct table_opts, speed, 0.3, "m/s", "of the ball, across"),
  PERP_OPT_POSITIVE(struct table_opts, radius, 0.05, "m", "radius of the ball"),
  PERP_OPT_POSITIVE(struct table_opts, mass, 0.1, "kg", "mass of the ball"),
  PERP_OPT_MU(struct table_opts, mu, 1),
  PERP_OPT_G(struct table_opts),
  PERP_OPTIONS_END
};

struct circle {
  double x, rho, rate, height;
};

static void spin_circle(const void *user, double t, double p[3])
{
  const struct circle *c = user;
  p[0] = c->x + c->rho * cos(c->rate * t);
  p[1] = c->rho * sin(c->rate * t);
  p[2] = c->height;
}

static perp_status build_table(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct table_opts *o = opts;
  enum { HEAVY = 100000 }; /* the table is that much heavier, and 100 m wide: it feels nothing */
  const double origin[3] = { 0 }, R = o->radius;
  perp_builder y = perp_build_begin(ctx, scene, 3, o->gravity, o->mu, 0);
  perp_body_def table = { .name = "table",
                          .mass = perp_mass_cylinder(HEAVY * o->mass, 100, 1),
                          .w = { 0, 0, o->rate } };
  perp_shape_def top = { .kind = PERP_SHAPE_PLANE };
  const int a = perp_build_solid(&y, &table, &top, origin, 0, 0);
  const perp_joint_def axle = perp_scene_joint(PERP_JOINT_HINGE, "axle", PERP_WORLD, a, 2);
  perp_build_joint(&y, &axle);
  /* rolls on the table: v + w x (-R z) = rate z x r, with r = (d, 0), v = (0, s): w_x = (rate d -
   * s) / R */
  const double p[3] = { o->distance, 0, R };
  perp_body_def def = { .name = "ball",
                        .mass = perp_mass_sphere(o->mass, R),
                        .w = { (o->rate * o->distance - o->speed) / R, 0, 0 } };
  y.v[1] = o->speed;
  perp_shape_def sphere = { .kind = PERP_SHAPE_SPHERE, .radius = R };
  const int ball = perp_build_solid(&y, &def, &sphere, p, 0, 0);
  const double rate = 2.0 / 7 * o->rate;
  PERP_TRY(perp_build_end(&y, R, 2 * M_PI / rate));
  scene->driven = true; /* the axle */
  scene->h = 1e-3;
  const struct circle c = { o->distance - o->speed / rate, o->speed / rate, rate, R };
  return perp_gauge_path(ctx, scene, ball, spin_circle, &c, sizeof c);
}

const perp_scene_desc perp_scene_turntable = {
  .d = { .name = "turntable",
         .summary =
             "a ball rolls on a turning table: its centre runs on a circle at 2/7 of the rate",
         .reference = "closed form",
         .equation = "v = 2/7 W z x (r - r_c)",
         PERP_OPTIONS(table_options, struct table_opts) },
  .build = build_table,
};
