/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two scenes of the seeds where somebody pushes.
 *
 *   pushed-rectangle  a rectangle in a box, pulled about by a spring from a point on a heavy wheel
 *                     that turns evenly: impacts, rest, sliding and rolling, with one contact and
 *                     with several, as the hand does it in Cline 2002, figures 5.11 and 5.12
 *                     (section 5.2.2).  Its claim: with post-stabilization no contact error above
 *                     the tolerance is left (pen.max).  rectangles=5: figure 5.13, the first one is
 *                     pulled through the others, in two columns beside and above it
 *   desk              boxes stacked on a desk that lies on a table without friction; a ball hits
 *                     the desk (Vondrak 2005, section 9.1, TestFriction), plastically.  Friction
 *                     brings the boxes to the speed of the desk: v = m_b v_0 / (m_b + m_d + sum m)
 *                     for all, by momentum */
#include "models/scenes/scene_builder.h"

#include <math.h>

struct pushed_opts {
  int rectangles;
  double mu, e, stiffness, rate, gravity;
};
static const perp_opt pushed_options[] = {
  PERP_INT(struct pushed_opts, rectangles, 1, 1, 10, "in the box; the first one is pulled"),
  PERP_OPT_MU(struct pushed_opts, mu, 0.3),
  PERP_REAL(struct pushed_opts, e, 0.2, 0, 1, 0, "", "restitution"),
  PERP_OPT_POSITIVE(struct pushed_opts, stiffness, 60, "N/m", "of the spring"),
  PERP_OPT_POSITIVE(struct pushed_opts, rate, 1.7, "rad/s", "of the wheel"),
  PERP_OPT_G(struct pushed_opts),
  PERP_OPTIONS_END
};

static perp_status build_pushed(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct pushed_opts *o = opts;
  const double half = 1.5, size[3] = { 1, 0.5, 0.5 }, start[3] = { -0.5, 0, 0.25 };
  const double centre[3] = { 0, 0, half };
  perp_builder y = perp_build_begin(ctx, scene, 2, o->gravity, o->mu, o->e);
  perp_build_floor(&y);
  perp_build_plane(&y, "left", (const double[3]){ -half, 0, 0 }, M_PI_2, 0);
  perp_build_plane(&y, "right", (const double[3]){ half, 0, 0 }, -M_PI_2, 0);
  perp_build_plane(&y, "ceiling", (const double[3]){ 0, 0, 2 * half }, M_PI, 0);
  const int rectangle = perp_build_box(&y, "rectangle", 1, size, start, 0, 0);
  for (int i = 1; i < o->rectangles; i++) { /* 0.05 m of air between them */
    const double p[3] = { i % 2 == 0 ? start[0] : 0.7, 0, start[2] + i / 2 * 0.55 };
    perp_build_box(&y, "other", 1, size, p, 0, 0);
  }
  y.spin = o->rate;
  perp_body_def def = { .name = "wheel", .mass = { 1e5, { 1e6, 0, 0, 0, 1e6, 0, 0, 0, 1e6 } } };
  const int wheel = perp_build_body(&y, &def, centre, 0, 0);
  const perp_joint_def axle = {
    .name = "axle", .kind = PERP_JOINT_BALL, .a = PERP_WORLD, .b = wheel, .anchor_a = { 0, half }
  };
  perp_build_joint(&y, &axle);
  const perp_force_def hand = { .kind = PERP_FORCE_SPRING,
                                .a = wheel,
                                .b = rectangle,
                                .anchor_a = { 1.4, 0 },
                                .anchor_b = { 0.4, 0.2 },
                                .stiffness = o->stiffness,
                                .damping = 1 };
  perp_build_force(&y, &hand);
  PERP_TRY(perp_build_end(&y, 0.5, 3500.0 / 240)); /* 3500 steps, as in the figure */
  scene->driven = true;
  scene->tip_body = rectangle;
  return PERP_OK;
}

const perp_scene_desc perp_scene_pushed_rectangle = {
  .d = { .name = "pushed-rectangle",
         .summary =
             "a rectangle pushed about in a box: contact error with and without stabilization",
         .reference =
             "Cline 2002, section 5.2.2, figures 5.11 and 5.13 (the hand is a spring on a wheel)",
         PERP_OPTIONS(pushed_options, struct pushed_opts) },
  .build = build_pushed,
};

/* ---- desk ------------------------------------------------------------------------------------ */

struct desk_opts {
  int boxes;
  double speed, ball, desk, mass, mu, gravity;
  int dim;
};
static const perp_opt desk_options[] = {
  PERP_INT(struct desk_opts, boxes, 3, 0, 100, "on the desk"),
  PERP_OPT_POSITIVE(struct desk_opts, speed, 5, "m/s", "of the ball"),
  PERP_OPT_POSITIVE(struct desk_opts, ball, 2, "kg", "mass of the ball"),
  PERP_OPT_POSITIVE(struct desk_opts, desk, 5, "kg", "mass of the desk"),
  PERP_OPT_POSITIVE(struct desk_opts, mass, 1, "kg", "mass of a box"),
  PERP_OPT_POSITIVE(struct desk_opts, mu, 0.5, "", "friction of boxes and desk"),
  PERP_OPT_G(struct desk_opts),
  PERP_OPT_DIM(struct desk_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_desk(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct desk_opts *o = opts;
  const double thick = 0.1, length = 1.6, box[3] = { 0.4, 0.4, 0.1 };
  const double slab[3] = { length, 0.8, thick }, R = thick / 2, gap = 0.05;
  const double desk[3] = { 0, 0, thick / 2 }, ball[3] = { -length / 2 - gap - R, 0, R };
  perp_builder y = perp_build_begin(ctx, scene, o->dim, o->gravity, 0, 0);
  perp_build_plane(&y, "table", (const double[3]){ 0 }, 0, 0);
  /* without friction: it slides */
  y.v[0] = o->speed;
  perp_build_ball(&y, "ball", o->ball, R, 0.4, ball);
  y.surface.mu = o->mu;
  perp_build_box(&y, "desk", o->desk, slab, desk, 0, 0);
  for (int i = 0; i < o->boxes; i++) {
    const double p[3] = { 0.3, 0, thick + (i + 0.5) * box[2] };
    perp_build_box(&y, "box", o->mass, box, p, 0, 0);
  }
  const double mass = o->ball + o->desk + o->boxes * o->mass, v = o->ball * o->speed / mass;
  const double sliding = o->ball * o->speed / (o->ball + o->desk) / (o->mu * o->gravity);
  PERP_TRY(perp_build_end(&y, box[0], gap / o->speed + 1.2 * sliding + 0.2));
  const double exact[6] = { v }, weight[6] = { 1, 1, o->dim == 3 };
  return perp_gauge_velocities(ctx, scene, "speed.rel.err", 0.95 * scene->t_end, weight, exact, v);
}

const perp_scene_desc perp_scene_desk = {
  .d = { .name = "desk",
         .summary = "a ball hits a desk with stacked boxes on a table without friction",
         .reference = "Vondrak 2005, section 9.1, TestFriction; momentum in closed form",
         .equation = "v = m_b v0 / (m_b + m_d + sum m)",
         PERP_OPTIONS(desk_options, struct desk_opts) },
  .build = build_desk,
};
