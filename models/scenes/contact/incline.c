/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A block on an incline with Coulomb friction.
 *
 * With the unit vectors d down the slope and n normal to it, a block at rest sticks iff tan
 * theta <= mu; otherwise, and while it moves down, a = g (sin theta - mu cos theta) d; while it
 * moves up, a = g (sin theta + mu cos theta) d until it stops.  Any starting speed along the slope
 * (positive: down) has a closed form in at most two phases.
 *
 * shape=point has no torque at all: its contact is at the centre of mass (a ball of the contact
 * geometry that is centred above it), so that all shapes of normal force are alike.  The box stands
 * on its four corners and tips only if min(tan theta, mu) > 1.
 *
 * tilt=plane turns the plane and the block with it; tilt=gravity keeps the plane horizontal and
 * adds the horizontal part of gravity as a constant force, so that the tangents that a contact
 * model draws from the normal stay along x and y at every azimuth: the errors of linearized cones
 * are then predictable. */
#include "models/scenes/scene_builder.h"

#include <math.h>
#include <string.h>

enum { BOX, POINT };
static const char *const shapes[] = { "box", "point", NULL };
enum { PLANE, GRAVITY };
static const char *const tilts[] = { "plane", "gravity", NULL };

struct incline_opts {
  double theta, mu, azimuth, speed, edge, mass, gravity;
  int shape, tilt, dim;
};
static const perp_opt options[] = {
  PERP_REAL(struct incline_opts, theta, M_PI / 6, 0, M_PI_2, PERP_OPEN_MAX, "rad", "inclination"),
  PERP_OPT_MU(struct incline_opts, mu, 0.3),
  PERP_REAL(struct incline_opts, azimuth, 0, -2 * M_PI, 2 * M_PI, 0, "rad",
            "horizontal direction of the way down, from x; space only"),
  PERP_OPT_FINITE(struct incline_opts, speed, 0, "m/s", "initial speed down the slope"),
  PERP_OPT_POSITIVE(struct incline_opts, edge, 1, "m", "edge of the box"),
  PERP_OPT_POSITIVE(struct incline_opts, mass, 1, "kg", "mass"),
  PERP_OPT_G(struct incline_opts),
  PERP_ENUM(struct incline_opts, shape, BOX, shapes, "a box, or a contact without torque"),
  PERP_ENUM(struct incline_opts, tilt, PLANE, tilts, "what is inclined"),
  PERP_OPT_DIM(struct incline_opts, 3),
  PERP_OPTIONS_END
};

struct slide {
  int dim;
  double x0[3], down[3]; /* (x, y, height) */
  double quat[4], angle;
  double speed, a[2], stop; /* signed accelerations down the slope before and after `stop` [s] */
};

/* distance and speed down the slope */
static void incline_along(const struct slide *s, double t, double *way, double *speed)
{
  const double t1 = fmin(t, s->stop), t2 = t - t1;
  *way = s->speed * t1 + s->a[0] * t1 * t1 / 2 + s->a[1] * t2 * t2 / 2;
  *speed = t < s->stop ? s->speed + s->a[0] * t : s->a[1] * t2;
}

static void incline_exact(void *user, double t, double *q, double *v)
{
  const struct slide *s = user;
  double way, speed, p[3], rate[3];
  incline_along(s, t, &way, &speed);
  for (int i = 0; i < 3; i++) p[i] = s->x0[i] + way * s->down[i], rate[i] = speed * s->down[i];
  memset(v, 0, (s->dim == 3 ? 6 : 3) * sizeof *v);
  double x[3];
  perp_scene_point(s->dim, p, x);
  memcpy(q, x, (size_t)s->dim * sizeof *x);
  perp_scene_point(s->dim, rate, x);
  memcpy(v, x, (size_t)s->dim * sizeof *x);
  if (s->dim == 3)
    memcpy(q + 3, s->quat, sizeof s->quat);
  else
    q[2] = s->angle;
}

/* the two phases: until the initial speed is used up, and after */
static void incline_phases(const struct incline_opts *o, struct slide *s)
{
  const double pull = o->gravity * sin(o->theta), grip = o->mu * o->gravity * cos(o->theta);
  const double from_rest = fmax(0, pull - grip);
  s->speed = o->speed;
  s->a[0] = o->speed < 0 ? pull + grip : o->speed > 0 ? pull - grip : from_rest;
  s->a[1] = from_rest;
  s->stop = HUGE_VAL;
  if (o->speed * s->a[0] < 0) s->stop = -o->speed / s->a[0];
}

static perp_status incline_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct incline_opts *o = opts;
  if (o->dim == 2 && o->azimuth != 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "incline: azimuth needs space (dim=3)");
  const double tilt = o->tilt == PLANE ? o->theta : 0, azimuth = o->azimuth;
  const double n[3] = { sin(tilt) * cos(azimuth), sin(tilt) * sin(azimuth), cos(tilt) };
  struct slide s = { .dim = o->dim, .angle = -tilt };
  const double slope[3] = { cos(tilt) * cos(azimuth), cos(tilt) * sin(azimuth), -sin(tilt) };
  memcpy(s.down, slope, sizeof slope);
  perp_build_quat(tilt, azimuth, s.quat);
  incline_phases(o, &s);

  /* inclined gravity: its part along z is the model's, its horizontal part a force */
  const double g = o->tilt == PLANE ? o->gravity : o->gravity * cos(o->theta);
  perp_builder y = perp_build_begin(ctx, scene, o->dim, g, o->mu, 0);
  const double origin[3] = { 0 };
  perp_build_plane(&y, "slope", origin, tilt, azimuth);
  const double lift = o->shape == BOX ? o->edge / 2 : 0;
  for (int i = 0; i < 3; i++) {
    s.x0[i] = lift * n[i];
    y.v[i] = o->speed * slope[i];
  }
  int block;
  if (o->shape == BOX) {
    const double size[3] = { o->edge, o->edge, o->edge };
    /* with inclined gravity the block turns with the plane only: its edges stay along x and y */
    block = perp_build_box(&y, "block", o->mass, size, s.x0, tilt, o->tilt == PLANE ? azimuth : 0);
  } else {
    block = perp_build_foot(&y, "block", o->mass, o->edge / 2, s.x0, tilt,
                            o->tilt == PLANE ? azimuth : 0);
  }
  if (o->tilt == GRAVITY) {
    perp_build_quat(0, 0, s.quat);
    const double pull = o->mass * o->gravity * sin(o->theta);
    const double force[3] = { pull * cos(azimuth), pull * sin(azimuth), 0 };
    perp_force_def weight = { .kind = PERP_FORCE_POINT, .a = block };
    perp_scene_point(o->dim, force, weight.value);
    perp_build_force(&y, &weight);
    scene->driven = true;
  }
  PERP_TRY(perp_build_end(&y, o->edge, 1));
  scene->tip_body = block;
  PERP_TRY(perp_truth_add(ctx, scene, "closed form: Coulomb friction", 1e-15, incline_exact, &s,
                          sizeof s));
  /* mean acceleration over the default run */
  double way, speed, a[3];
  incline_along(&s, scene->t_end, &way, &speed);
  for (int i = 0; i < 3; i++) a[i] = (speed - o->speed) / scene->t_end * s.down[i];
  PERP_TRY(perp_gauge_accel(ctx, scene, block, a, o->gravity, 0, scene->t_end));
  /* from one half of a block's weight on, the force is known whatever the phase */
  const perp_force_truth normal = { PERP_WORLD, block, o->mass * o->gravity * cos(o->theta) };
  PERP_TRY(perp_gauge_force(ctx, scene, 1, &normal, normal.exact, 0));
  if (o->speed == 0 && s.a[1] == 0) PERP_TRY(perp_gauge_rest(ctx, scene, block, 1, o->edge / 2, 0));
  return PERP_OK;
}

const perp_scene_desc perp_scene_incline = {
  .d = { .name = "incline",
         .summary = "a block on an incline with friction: sticks iff tan theta <= mu, else slides",
         .reference = "closed form; Boeing & Braunl 2007 (angle at which a box starts)",
         .equation = "a = g (sin theta - mu cos theta)",
         PERP_OPTIONS(options, struct incline_opts) },
  .build = incline_build,
};
