/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small problems of statics.
 *
 *   see-saw  a plank on a hinge carries a box at each side, m_1 at -l_1 and m_2 at l_2: at rest iff
 *            m_1 l_1 = m_2 l_2; else it starts with the angular acceleration
 *            g (m_1 l_1 - m_2 l_2) / I, all turning as one body
 *   wedge    a ball or a wedge in a groove between two walls of half angle a, frictionless:
 *            N = m g / (2 sin a) at each wall
 *   press    a box between the floor and a plate on a vertical slider, pressed by F: the box
 *            carries F + m_p g, the floor m g more
 *   crush    Vondrak's test of critical contacts (2005, sections 6.5.2 and 9.1): a box between two
 *            fixed plates that are `squeeze` too near.  Where overlap asks bodies to part, both ask
 *            for accelerations that exclude each other: w_1 = a + x >= 0, w_2 = -a - y >= 0,
 *            y > x.  The box is to be stopped, and then nothing moves */
#include "models/scenes/scene_builder.h"

#include <math.h>

/* ---- see-saw --------------------------------------------------------------------------------- */

struct seesaw_opts {
  double m1, l1, m2, l2, plank, edge, mu, gravity;
  int dim;
};
static const perp_opt seesaw_options[] = {
  PERP_OPT_POSITIVE(struct seesaw_opts, m1, 1, "kg", "box on the left"),
  PERP_OPT_POSITIVE(struct seesaw_opts, l1, 1, "m", "its lever"),
  PERP_OPT_POSITIVE(struct seesaw_opts, m2, 2, "kg", "box on the right"),
  PERP_OPT_POSITIVE(struct seesaw_opts, l2, 0.5, "m", "its lever"),
  PERP_OPT_POSITIVE(struct seesaw_opts, plank, 5, "kg", "mass of the plank"),
  PERP_OPT_POSITIVE(struct seesaw_opts, edge, 0.2, "m", "of the boxes"),
  PERP_OPT_MU(struct seesaw_opts, mu, 0.6),
  PERP_OPT_G(struct seesaw_opts),
  PERP_OPT_DIM(struct seesaw_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_seesaw(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct seesaw_opts *o = opts;
  const double a = o->edge, t = a / 4, L = 2 * fmax(o->l1, o->l2) + 2 * a;
  const double size[3] = { L, 2 * a, t }, cube[3] = { a, a, a };
  const double origin[3] = { 0 }, left[3] = { -o->l1, 0, (t + a) / 2 },
               right[3] = { o->l2, 0, (t + a) / 2 };
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  const int plank = perp_build_box(&y, "plank", o->plank, size, origin, 0, 0);
  const perp_joint_def hinge = perp_scene_joint(PERP_JOINT_HINGE, "hinge", PERP_WORLD, plank, 1);
  perp_build_joint(&y, &hinge);
  const int b1 = perp_build_box(&y, "left", o->m1, cube, left, 0, 0);
  const int b2 = perp_build_box(&y, "right", o->m2, cube, right, 0, 0);
  PERP_TRY(perp_build_end(&y, a, 1));
  const double torque = o->gravity * (o->m1 * o->l1 - o->m2 * o->l2);
  const double height = (t + a) / 2, own = a * a / 6 + height * height;
  const double I = o->plank * (L * L + t * t) / 12 + o->m1 * (o->l1 * o->l1 + own) +
                   o->m2 * (o->l2 * o->l2 + own);
  if (fabs(torque) > 1e-12 * o->gravity * o->m1 * o->l1) {
    const double alpha = torque / I;
    /* the levers change with the angle: the first 20 ms */
    return perp_gauge_accel(ctx, scene, b2, (const double[3]){ -alpha * height, 0, alpha * o->l2 },
                            o->gravity, 0, 0.02);
  }
  const perp_force_truth forces[2] = { { plank, b1, o->m1 * o->gravity },
                                       { plank, b2, o->m2 * o->gravity } };
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, 3, a / 2, 0));
  return perp_gauge_force(ctx, scene, 2, forces, fmax(forces[0].exact, forces[1].exact), 0);
}

const perp_scene_desc perp_scene_see_saw = {
  .d = { .name = "see-saw",
         .summary = "a plank on a hinge with two boxes: rests iff m1 l1 = m2 l2",
         .reference = "statics, and dynamics of one rigid body",
         .equation = "I alpha = g (m1 l1 - m2 l2)",
         PERP_OPTIONS(seesaw_options, struct seesaw_opts) },
  .build = build_seesaw,
};

/* ---- wedge ----------------------------------------------------------------------------------- */

enum { BALL, WEDGE };
static const char *const wedge_shapes[] = { "ball", "wedge", NULL };

struct wedge_opts {
  double angle, size, mass, mu, gravity;
  int shape, dim;
};
static const perp_opt wedge_options[] = {
  PERP_REAL(struct wedge_opts, angle, M_PI / 6, 0.01, 1.5, 0, "rad", "half angle of the groove"),
  PERP_OPT_POSITIVE(struct wedge_opts, size, 0.5, "m", "radius of the ball, height of the wedge"),
  PERP_OPT_POSITIVE(struct wedge_opts, mass, 1, "kg", "mass"),
  PERP_OPT_MU(struct wedge_opts, mu, 0),
  PERP_OPT_G(struct wedge_opts),
  PERP_ENUM(struct wedge_opts, shape, WEDGE, wedge_shapes, "what is in the groove"),
  PERP_OPT_DIM(struct wedge_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_wedge(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct wedge_opts *o = opts;
  const double origin[3] = { 0 }, s = o->size;
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  y.depth = s;
  perp_build_plane(&y, "left wall", origin, M_PI_2 - o->angle, 0);
  perp_build_plane(&y, "right wall", origin, o->angle - M_PI_2, 0);
  if (o->shape == BALL) {
    const double p[3] = { 0, 0, s / sin(o->angle) };
    perp_build_ball(&y, "ball", o->mass, s, 0.4, p);
  } else {
    const double w = s * tan(o->angle), corner[6] = { 0, 0, w, s, -w, s };
    perp_build_polygon(&y, "wedge", o->mass, 3, corner);
  }
  PERP_TRY(perp_build_end(&y, s, 1));
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, 1, s / 2, 0));
  if (o->mu > 0) return PERP_OK; /* friction makes the forces undetermined */
  const perp_force_truth both = { PERP_WORLD, 0, o->mass * o->gravity / sin(o->angle) };
  return perp_gauge_force(ctx, scene, 1, &both, both.exact, 0);
}

const perp_scene_desc perp_scene_wedge = {
  .d = { .name = "wedge",
         .summary = "a wedge or a ball in a groove between two walls",
         .reference = "statics of the V groove",
         .equation = "N = m g / (2 sin a)",
         PERP_OPTIONS(wedge_options, struct wedge_opts) },
  .build = build_wedge,
};

/* ---- press ----------------------------------------------------------------------------------- */

struct press_opts {
  double load, edge, mass, plate_mass, mu, gravity;
  int dim;
};
static const perp_opt press_options[] = {
  PERP_OPT_NONNEGATIVE(struct press_opts, load, 1e5, "N", "on the plate, downwards"),
  PERP_OPT_POSITIVE(struct press_opts, edge, 1, "m", "of the box"),
  PERP_OPT_POSITIVE(struct press_opts, mass, 1, "kg", "of the box"),
  PERP_OPT_POSITIVE(struct press_opts, plate_mass, 10, "kg", "of the plate"),
  PERP_OPT_MU(struct press_opts, mu, 0.5),
  PERP_OPT_G(struct press_opts),
  PERP_OPT_DIM(struct press_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_press(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct press_opts *o = opts;
  const double a = o->edge, cube[3] = { a, a, a }, slab[3] = { 2 * a, 2 * a, a / 5 };
  const double middle[3] = { 0, 0, a / 2 }, above[3] = { 0, 0, a + a / 10 };
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&y);
  const int box = perp_build_box(&y, "box", o->mass, cube, middle, 0, 0);
  const int plate = perp_build_box(&y, "plate", o->plate_mass, slab, above, 0, 0);
  const int up = o->dim - 1;
  const perp_joint_def slider = perp_scene_joint(PERP_JOINT_SLIDER, "slider", PERP_WORLD, plate,
                                                 up);
  perp_build_joint(&y, &slider);
  perp_force_def press = { .kind = PERP_FORCE_POINT, .a = plate };
  press.value[up] = -o->load;
  perp_build_force(&y, &press);
  PERP_TRY(perp_build_end(&y, a, 1));
  scene->driven = true;
  const double top = o->load + o->plate_mass * o->gravity, floor = top + o->mass * o->gravity;
  const perp_force_truth forces[2] = { { PERP_WORLD, box, floor }, { box, plate, top } };
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, 2, a / 2, 0));
  return perp_gauge_force(ctx, scene, 2, forces, floor, 0);
}

const perp_scene_desc perp_scene_press = {
  .d = { .name = "press",
         .summary = "a box under a loaded plate: large forces",
         .reference = "statics",
         .equation = "N = F + m g",
         PERP_OPTIONS(press_options, struct press_opts) },
  .build = build_press,
};

/* ---- crush ----------------------------------------------------------------------------------- */

struct crush_opts {
  double squeeze, edge, mass, mu, gravity;
  int dim;
};
static const perp_opt crush_options[] = {
  PERP_REAL(struct crush_opts, squeeze, 0.01, 0, 0.5, 0, "",
            "how much the upper plate is too low, in edges"),
  PERP_OPT_POSITIVE(struct crush_opts, edge, 1, "m", "of the box"),
  PERP_OPT_POSITIVE(struct crush_opts, mass, 1, "kg", "of the box"),
  PERP_OPT_MU(struct crush_opts, mu, 0.5),
  PERP_OPT_G(struct crush_opts),
  PERP_OPT_DIM(struct crush_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_crush(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct crush_opts *o = opts;
  const double a = o->edge, cube[3] = { a, a, a }, slab[3] = { 2 * a, 2 * a, a / 5 };
  const double middle[3] = { 0, 0, a / 2 }, above[3] = { 0, 0, a + a / 10 - o->squeeze * a };
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, 0);
  perp_build_floor(&y);
  const int box = perp_build_box(&y, "box", o->mass, cube, middle, 0, 0);
  perp_build_box(&y, "plate", 0, slab, above, 0, 0);
  PERP_TRY(perp_build_end(&y, a, 1));
  return perp_gauge_rest(ctx, scene, box, 1, a / 2, 0);
}

const perp_scene_desc perp_scene_crush = {
  .d = { .name = "crush",
         .summary = "a box crushed by two fixed plates: contacts that cannot be satisfied",
         .reference = "statics; Vondrak 2005, sections 6.5.2 and 9.1 (critical contacts)",
         .equation = "w_1 = a + x >= 0, w_2 = -a - y >= 0, y > x: no a",
         PERP_OPTIONS(crush_options, struct crush_opts) },
  .build = build_crush,
};
