/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints that no other scene has alone, each with an exact motion (Vondrak 2005, section 7.3):
 *
 *   universal  a rod on two crossed axes, the first one upright: swings and goes round; in joint
 *              coordinates
 *   weld       two boxes fixed to each other, thrown spinning: x = parabola -+ arm (cos w t, sin w
 *              t), alpha = w t
 *   rail       a rod hangs from a ring without mass that slides on a horizontal line.  Its centre
 *              keeps its horizontal
 *              speed, and   (I + m l^2 sin^2 a) a'' = -m l sin a (g + l cos a a'^2)
 *   wheel      a wheel that spins on its axle, is steered about the upright and sprung along it:
 *              both rates are constant, z'' = -k z / m, and the joint carries the gyroscopic moment
 *              J spin steer */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

/* ---- universal ------------------------------------------------------------------------------- */

struct universal_opts {
  double mass, length, speed, gravity;
};
static const perp_opt universal_options[] = {
  PERP_OPT_POSITIVE(struct universal_opts, mass, 2, "kg", "of the rod"),
  PERP_OPT_POSITIVE(struct universal_opts, length, 1, "m", "of the rod"),
  PERP_OPT_FINITE(struct universal_opts, speed, 3, "rad/s",
                  "about the upright axis at the start, where the rod is level"),
  PERP_OPT_G(struct universal_opts), PERP_OPTIONS_END
};

static perp_status build_universal(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct universal_opts *o = opts;
  const double L = o->length;
  const perp_body_def rod = { .name = "rod",
                              .mass = perp_mass_box(o->mass, L, 0.2 * L, 0.1 * L),
                              .x = { L / 2 },
                              .v = { 0, o->speed * L / 2 },
                              .w = { 0, 0, o->speed } };
  const perp_joint_def joint = { .name = "universal",
                                 .kind = PERP_JOINT_UNIVERSAL,
                                 .a = PERP_WORLD,
                                 .anchor_b = { -L / 2 },
                                 .axis_a = { 0, 0, 1 },
                                 .axis_b = { 0, 1, 0 } };
  const perp_scene_parts parts = { .gravity = o->gravity, .body = &rod, .joint = &joint };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 5, 1e-3));
  scene->tip[0] = L / 2;
  return perp_truth_reduced(ctx, scene, 20, 1e-9);
}

const perp_scene_desc perp_scene_universal = {
  .d = { .name = "universal",
         .summary = "a rod on a universal joint: swings and goes round",
         .reference = "Vondrak 2005, section 7.3; joint coordinates",
         .equation = "axis_a . axis_b = 0, p_a = p_b",
         PERP_OPTIONS(universal_options, struct universal_opts) },
  .build = build_universal,
};

/* ---- weld ------------------------------------------------------------------------------------ */

struct weld_opts {
  double mass, ratio, length, spin, speed, gravity;
};
static const perp_opt weld_options[] = {
  PERP_OPT_POSITIVE(struct weld_opts, mass, 1, "kg", "of the first box"),
  PERP_OPT_POSITIVE(struct weld_opts, ratio, 3, "", "mass of the second box over it"),
  PERP_OPT_POSITIVE(struct weld_opts, length, 1, "m", "between the centres"),
  PERP_OPT_FINITE(struct weld_opts, spin, 4, "rad/s", "about the upright"),
  PERP_OPT_FINITE(struct weld_opts, speed, 5, "m/s", "upwards"),
  PERP_OPT_G(struct weld_opts),
  PERP_OPTIONS_END
};

static void single_joints_thrown(void *user, double t, double *q, double *v)
{
  const struct weld_opts *o = user;
  const double w = o->spin, c = cos(w * t), s = sin(w * t);
  memset(q, 0, 14 * sizeof *q);
  memset(v, 0, 12 * sizeof *v);
  for (int i = 0; i < 2; i++, q += 7, v += 6) {
    const double arm = o->length * (i == 0 ? -o->ratio : 1) / (1 + o->ratio);
    q[0] = arm * c, q[1] = arm * s, q[2] = (o->speed - o->gravity * t / 2) * t;
    q[3] = cos(w * t / 2), q[6] = sin(w * t / 2);
    v[0] = -arm * w * s, v[1] = arm * w * c, v[2] = o->speed - o->gravity * t;
    v[5] = w;
  }
}

static perp_status build_weld(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct weld_opts *o = opts;
  const double L = o->length;
  struct weld_opts start = *o;
  double q[14], v[12];
  single_joints_thrown(&start, 0, q, v);
  perp_body_def box[2] = {
    perp_body_at(3, perp_mass_box(o->mass, 0.4 * L, 0.2 * L, 0.1 * L), 0, q, v),
    perp_body_at(3, perp_mass_box(o->mass * o->ratio, 0.3 * L, 0.3 * L, 0.2 * L), 1, q, v)
  };
  box[0].name = "first";
  box[1].name = "second";
  const perp_joint_def joint = { .name = "weld",
                                 .kind = PERP_JOINT_FIXED,
                                 .a = 0,
                                 .b = 1,
                                 .anchor_a = { L / 2 },
                                 .anchor_b = { -L / 2 } };
  const perp_scene_parts parts = {
    .gravity = o->gravity, .body = box, .n_bodies = 2, .joint = &joint
  };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 5, 1e-3));
  return perp_truth_add(ctx, scene, "closed form", 1e-13, single_joints_thrown, o, sizeof *o);
}

const perp_scene_desc perp_scene_weld = {
  .d = { .name = "weld",
         .summary = "two boxes fixed to each other, thrown spinning",
         .reference = "Vondrak 2005, section 7.3; closed form",
         .equation = "x = parabola + arm (cos w t, sin w t)",
         PERP_OPTIONS(weld_options, struct weld_opts) },
  .build = build_weld,
};

/* ---- rail ------------------------------------------------------------------------------------ */

struct rail_opts {
  double mass, length, angle, speed, gravity;
};
static const perp_opt rail_options[] = {
  PERP_OPT_POSITIVE(struct rail_opts, mass, 2, "kg", "of the rod"),
  PERP_OPT_POSITIVE(struct rail_opts, length, 1, "m", "of the rod"),
  PERP_REAL(struct rail_opts, angle, 1.2, -M_PI, M_PI, PERP_OPEN_MIN | PERP_OPEN_MAX, "rad",
            "from the vertical, at the start"),
  PERP_OPT_FINITE(struct rail_opts, speed, 0.5, "m/s", "along the rail"),
  PERP_OPT_G(struct rail_opts),
  PERP_OPTIONS_END
};

struct swing {
  struct rail_opts o;
  double inertia, t, angle, rate;
};

static double swing_rate(const struct swing *s, double angle, double rate)
{
  const double m = s->o.mass, l = s->o.length / 2;
  return -m * l * sin(angle) * (s->o.gravity + l * cos(angle) * rate * rate) /
         (s->inertia + m * l * l * sin(angle) * sin(angle));
}

/* the one equation, by the classical Runge-Kutta method with steps of at most 0.1 ms: 1e-13 */
static void swing_to(struct swing *s, double t)
{
  if (t < s->t) s->t = 0, s->angle = s->o.angle, s->rate = 0;
  const int n = (int)ceil((t - s->t) / 1e-4);
  const double h = n > 0 ? (t - s->t) / n : 0;
  for (int i = 0; i < n; i++) {
    const double a1 = swing_rate(s, s->angle, s->rate), v2 = s->rate + h / 2 * a1;
    const double a2 = swing_rate(s, s->angle + h / 2 * s->rate, v2), v3 = s->rate + h / 2 * a2;
    const double a3 = swing_rate(s, s->angle + h / 2 * v2, v3), v4 = s->rate + h * a3;
    const double a4 = swing_rate(s, s->angle + h * v3, v4);
    s->angle += h / 6 * (s->rate + 2 * v2 + 2 * v3 + v4);
    s->rate += h / 6 * (a1 + 2 * a2 + 2 * a3 + a4);
  }
  s->t = t;
}

static void single_joints_hanging(void *user, double t, double *q, double *v)
{
  struct swing *s = user;
  const double l = s->o.length / 2;
  swing_to(s, t);
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[0] = s->o.speed * t, q[2] = -l * cos(s->angle);
  q[3] = cos(s->angle / 2), q[5] = sin(s->angle / 2);
  v[0] = s->o.speed, v[2] = l * sin(s->angle) * s->rate;
  v[4] = s->rate;
}

static perp_status build_rail(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rail_opts *o = opts;
  const double L = o->length;
  const perp_body_def rod = { .name = "rod",
                              .mass = perp_mass_box(o->mass, 0.1 * L, 0.1 * L, L),
                              .x = { 0, 0, -L / 2 * cos(o->angle) },
                              .quat = { cos(o->angle / 2), 0, sin(o->angle / 2) },
                              .v = { o->speed } };
  const perp_joint_def joint = { .name = "ring",
                                 .kind = PERP_JOINT_LINE,
                                 .a = PERP_WORLD,
                                 .anchor_b = { 0, 0, L / 2 },
                                 .axis_a = { 1 } };
  const struct swing start = { .o = *o, .inertia = rod.mass.inertia[4], .angle = o->angle };
  const perp_scene_parts parts = { .gravity = o->gravity, .body = &rod, .joint = &joint };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 5, 1e-3));
  scene->tip[2] = -L / 2;
  return perp_truth_add(ctx, scene, "one equation", 1e-13, single_joints_hanging, &start,
                        sizeof start);
}

const perp_scene_desc perp_scene_rail = {
  .d = { .name = "rail",
         .summary = "a rod hangs from a ring that slides on a line",
         .reference = "Vondrak 2005, section 7.3; reduced to one equation",
         .equation = "(I + m l^2 sin^2 a) a'' = -m l sin a (g + l cos a a'^2)",
         PERP_OPTIONS(rail_options, struct rail_opts) },
  .build = build_rail,
};

/* ---- wheel ----------------------------------------------------------------------------------- */

struct wheel_opts {
  double mass, radius, spin, steer, stiffness, start;
};
static const perp_opt wheel_options[] = {
  PERP_OPT_POSITIVE(struct wheel_opts, mass, 10, "kg", "of the wheel"),
  PERP_OPT_POSITIVE(struct wheel_opts, radius, 0.3, "m", "of the wheel"),
  PERP_OPT_FINITE(struct wheel_opts, spin, 20, "rad/s", "about the axle"),
  PERP_OPT_FINITE(struct wheel_opts, steer, 0.5, "rad/s", "about the upright"),
  PERP_OPT_POSITIVE(struct wheel_opts, stiffness, 1e3, "N/m", "of the strut"),
  PERP_REAL(struct wheel_opts, start, 0.05, -1, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "m",
            "displacement of the strut at the start"),
  PERP_OPTIONS_END
};

enum { STRUT = 10 }; /* m, the length of the spring at rest */

static void single_joints_steered(void *user, double t, double *q, double *v)
{
  const struct wheel_opts *o = user;
  const double w = sqrt(o->stiffness / o->mass), spin = o->spin * t, steer = o->steer * t;
  const double c = cos(steer / 2), s = sin(steer / 2), C = cos(spin / 2), S = sin(spin / 2);
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[2] = o->start * cos(w * t);
  q[3] = c * C, q[4] = -s * S, q[5] = c * S, q[6] = s * C;
  v[2] = -o->start * w * sin(w * t);
  v[3] = -o->steer * sin(spin), v[4] = o->spin, v[5] = o->steer * cos(spin);
}

static perp_status single_joints_build_wheel(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct wheel_opts *o = opts;
  const double r = o->radius, width = 0.5 * r;
  const double across = o->mass * (3 * r * r + width * width) / 12, along = o->mass * r * r / 2;
  const perp_body_def wheel = { .name = "wheel",
                                .mass = { .mass = o->mass,
                                          .inertia = { across, 0, 0, 0, along, 0, 0, 0, across } },
                                .x = { 0, 0, o->start },
                                .w = { 0, o->spin, o->steer } };
  const perp_joint_def joint = { .name = "strut",
                                 .kind = PERP_JOINT_WHEEL,
                                 .a = PERP_WORLD,
                                 .axis_a = { 0, 0, 1 },
                                 .axis_b = { 0, 1, 0 } };
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = PERP_WORLD,
                                  .anchor_a = { 0, 0, -STRUT },
                                  .stiffness = o->stiffness,
                                  .length = STRUT };
  const perp_scene_parts parts = { .body = &wheel, .joint = &joint, .force = &spring };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 5, 1e-3));
  scene->tip[2] = r;
  return perp_truth_add(ctx, scene, "closed form", 1e-13, single_joints_steered, o, sizeof *o);
}

const perp_scene_desc perp_scene_wheel = {
  .d = { .name = "wheel",
         .summary = "a wheel spins on its axle, steered about its strut and sprung along it",
         .reference = "Vondrak 2005, section 7.3; closed form",
         .equation = "m z'' = -k z, spin and steering at constant rates",
         PERP_OPTIONS(wheel_options, struct wheel_opts) },
  .build = single_joints_build_wheel,
};
