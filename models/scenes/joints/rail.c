/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A rod hangs from a ring without mass that slides on a horizontal line (Vondrak 2005, section
 * 7.3).  Its centre keeps its horizontal speed, and
 *
 *      (I + m l^2 sin^2 a) a'' = -m l sin a (g + l cos a a'^2) */
#include "models/scenes/scene_builder.h"
#include "solvers/core/finite.h"

#include <math.h>
#include <string.h>

struct rail_opts {
  double mass, length, angle, speed, gravity;
};
static const perp_opt rail_options[] = {
  PERP_OPT_POSITIVE(struct rail_opts, mass, 2, "kg", "Mass of the rod."),
  PERP_OPT_POSITIVE(struct rail_opts, length, 1, "m", "Length of the rod."),
  PERP_REAL(struct rail_opts, angle, 1.2, -M_PI, M_PI, PERP_OPEN_MIN | PERP_OPEN_MAX, "rad",
            "Initial angle of the rod from the vertical."),
  PERP_OPT_FINITE(struct rail_opts, speed, 0.5, "m/s", "Initial speed of the ring along the rail."),
  PERP_OPT_G(struct rail_opts),
  PERP_OPTIONS_END
};

struct swing {
  struct rail_opts o;
  double inertia, t, angle, rate;
};

static double swing_rate(const struct swing *swing, double angle, double rate)
{
  const double m = swing->o.mass, l = swing->o.length / 2;
  return -m * l * sin(angle) * (swing->o.gravity + l * cos(angle) * rate * rate) /
         (swing->inertia + m * l * l * sin(angle) * sin(angle));
}

static void rail_hanging(void *user, double t, double *q, double *v)
{
  struct swing *s = user;
  const double l = s->o.length / 2;
  /* the one equation, by the classical Runge-Kutta method with steps of at most 0.1 ms: 1e-13 */
  if (t < s->t) s->t = 0, s->angle = s->o.angle, s->rate = 0;
  const int n = perp_whole(ceil((t - s->t) / 1e-4), 1 << 30);
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
  memset(q, 0, 7 * sizeof *q);
  memset(v, 0, 6 * sizeof *v);
  q[0] = s->o.speed * t, q[2] = -l * cos(s->angle);
  q[3] = cos(s->angle / 2), q[5] = sin(s->angle / 2);
  v[0] = s->o.speed, v[2] = l * sin(s->angle) * s->rate;
  v[4] = s->rate;
}

static perp_status build_rail(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct rail_opts *chosen = opts;
  const double L = chosen->length;
  const perp_body_def rod = { .name = "rod",
                              .mass = perp_mass_box(chosen->mass, 0.1 * L, 0.1 * L, L),
                              .x = { 0, 0, -L / 2 * cos(chosen->angle) },
                              .quat = { cos(chosen->angle / 2), 0, sin(chosen->angle / 2) },
                              .v = { chosen->speed } };
  const perp_joint_def joint = { .name = "ring",
                                 .kind = PERP_JOINT_LINE,
                                 .a = PERP_WORLD,
                                 .anchor_b = { 0, 0, L / 2 },
                                 .axis_a = { 1 } };
  const struct swing start = { .o = *chosen,
                               .inertia = rod.mass.inertia[4],
                               .angle = chosen->angle };
  const perp_scene_parts parts = { .gravity = chosen->gravity, .body = &rod, .joint = &joint };
  PERP_TRY(perp_scene_assemble(ctx, scene, &parts, 5, 1e-3));
  scene->tip[2] = -L / 2;
  return perp_truth_add(ctx, scene, "one differential equation", 1e-13, rail_hanging, &start,
                        sizeof start);
}

const perp_scene_desc perp_scene_rail = {
  .d = { .name = "rail",
         .summary = "Rod that hangs from a ring sliding on a line",
         .reference = "Vondrak 2005, section 7.3; reduced to one equation",
         .equation = "(I + m l^2 sin^2 a) a'' = -m l sin a (g + l cos a a'^2)",
         PERP_OPTIONS(rail_options, struct rail_opts) },
  .build = build_rail,
};
