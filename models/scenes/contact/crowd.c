/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Many bodies.
 *
 *   falling   spheres and cubes fall into a container (object i is a sphere of 0.5 m for even i, a
 *             cube of 0.8 m for odd i, 1 kg, layers at a pitch of 1.3 m, jitter from a linear
 *             congruential sequence).  Cylinders and cones, 0.8 m across and high, start in any
 *             orientation.  Chaotic: energy, penetration and time are what is measured
 *   jam       balls packed in a box without room, each with a random velocity: plastic impacts, so
 *             that nothing may move; the floor carries the weight (STAR 2012, section 7.3) */
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { MIXED, SPHERES, CUBES, CYLINDERS, CONES, SOLIDS };
static const char *const crowd_shapes[] = { "mixed", "spheres", "cubes", "cylinders",
                                            "cones", "solids",  NULL };

struct fall_opts {
  int objects;
  double side, mu, e, gravity;
  int shape, dim;
};
static const perp_opt fall_options[] = {
  PERP_INT(struct fall_opts, objects, 100, 1, 1000000, "Number of objects."),
  PERP_REAL(struct fall_opts, side, 10, 1.3, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Side length of the container."),
  PERP_OPT_MU(struct fall_opts, mu, 0.5),
  PERP_REAL(struct fall_opts, e, 0, 0, 1, 0, "", "Coefficient of restitution."),
  PERP_OPT_G(struct fall_opts),
  PERP_ENUM(
      struct fall_opts, shape, MIXED, crowd_shapes,
      "Shape of the objects: spheres, cubes, or both in turn (mixed); in space also cylinders, "
      "cones, or all four in turn (solids)."),
  PERP_OPT_DIM(struct fall_opts, 3),
  PERP_OPTIONS_END
};

/* numbers in [0, 1) of the catalogue's sequence */
static double crowd_jitter(uint64_t *s)
{
  *s = *s * 6364136223846793005u + 1442695040888963407u;
  return (double)(*s >> 11) / 9007199254740992.0;
}

static void crowd_walls(perp_builder *builder, double half_x, double half_y)
{
  perp_build_floor(builder);
  perp_build_plane(builder, "wall", (const double[3]){ -half_x, 0, 0 }, M_PI_2, 0);
  perp_build_plane(builder, "wall", (const double[3]){ half_x, 0, 0 }, -M_PI_2, 0);
  if (builder->dim == 2) return;
  perp_build_plane(builder, "wall", (const double[3]){ 0, -half_y, 0 }, M_PI_2, M_PI_2);
  perp_build_plane(builder, "wall", (const double[3]){ 0, half_y, 0 }, -M_PI_2, M_PI_2);
}

static int fall_shape(int shape, int i)
{
  static const int in_turn[] = { SPHERES, CUBES, CYLINDERS, CONES };
  return shape == MIXED ? in_turn[i % 2] : shape == SOLIDS ? in_turn[i % 4] : shape;
}

/* A cylinder or a cone, 1 kg, its axis in any direction. */
static void fall_turned(perp_builder *builder, bool cone, const double p[3], uint64_t *state)
{
  const double m = 1, r = 0.4, l = 0.8, along = 0.3 * m * r * r,
               square = 0.15 * m * r * r + 0.0375 * m * l * l;
  const double tilt = M_PI * crowd_jitter(state), azimuth = 2 * M_PI * crowd_jitter(state);
  perp_body_def def = { .mass = { m, { along, 0, 0, 0, square, 0, 0, 0, square } } };
  if (!cone) {
    const double axis = 0.5 * m * r * r, other = m * (3 * r * r + l * l) / 12;
    def.mass = (perp_mass){ m, { axis, 0, 0, 0, other, 0, 0, 0, other } };
  }
  perp_shape_def shape = { .kind = cone ? PERP_SHAPE_CONE : PERP_SHAPE_CYLINDER,
                           .radius = r,
                           .length = l };
  shape.body = perp_build_body(builder, &def, p, tilt, azimuth);
  perp_build_shape(builder, &shape);
}

static perp_status build_fall(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct fall_opts *chosen = opts;
  const double pitch = 1.3, cube[3] = { 0.8, 0.8, 0.8 };
  const int across = (int)floor(chosen->side / pitch),
            layer = chosen->dim == 3 ? across * across : across;
  uint64_t state = 12345;
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu,
                                          chosen->e);
  crowd_walls(&builder, chosen->side / 2, chosen->side / 2);
  for (int object = 0; object < chosen->objects; object++) {
    const int k = object % layer;
    double p[3];
    p[0] = (k % across - (across - 1) / 2.0) * pitch + 0.1 * (crowd_jitter(&state) - 0.5);
    p[1] = chosen->dim == 3
               ? (k / across - (across - 1) / 2.0) * pitch + 0.1 * (crowd_jitter(&state) - 0.5)
               : 0;
    p[2] = 1 + pitch * (object / layer);
    const int shape = fall_shape(chosen->shape, object);
    if (shape == SPHERES)
      perp_build_ball(&builder, NULL, 1, 0.5, 0.4, p);
    else if (shape == CYLINDERS || shape == CONES)
      fall_turned(&builder, shape == CONES, p, &state);
    else
      perp_build_box(&builder, NULL, 1, cube, p, 0, 0);
  }
  return perp_build_end(&builder, 1, 5);
}

const perp_scene_desc perp_scene_falling = {
  .d = { .name = "falling",
         .summary = "Spheres, cubes, cylinders or cones that fall into a container",
         .reference = "none: a chaotic scene, evaluated by energy and penetration",
         PERP_OPTIONS(fall_options, struct fall_opts) },
  .build = build_fall,
};

/* ---- jam ----
 *
 * With e > 0 Newton's law has no solution.  Along a row of balls from wall to wall the speeds at
 * which contacts part add up to zero, as the walls stand still, and the law asks for u+ >= -e u > 0
 * at each that approaches and u+ >= 0 at the others.  Without friction Poisson's law always has
 * one, as u+ = 0 satisfies what it asks of velocities (Anitescu and Potra 1997), and nothing moves.
 */

struct jam_opts {
  int side, seed;
  double radius, mass, speed, mu, e, gravity;
  int dim;
};
static const perp_opt jam_options[] = {
  PERP_INT(struct jam_opts, side, 4, 1, 100, "Number of balls along each side of the box."),
  PERP_INT(struct jam_opts, seed, 1, 0, 1000000000, "Seed of the random initial velocities."),
  PERP_OPT_POSITIVE(struct jam_opts, radius, 0.1, "m", "Radius of a ball."),
  PERP_OPT_POSITIVE(struct jam_opts, mass, 1, "kg", "Mass of a ball."),
  PERP_OPT_NONNEGATIVE(struct jam_opts, speed, 1, "m/s", "Largest initial velocity."),
  PERP_OPT_MU(struct jam_opts, mu, 0),
  PERP_REAL(struct jam_opts, e, 0, 0, 1, 0, "",
            "Coefficient of restitution. Above 0 Newton's impact law has no solution (unsolved); "
            "use the option impact=poisson of the formulation."),
  PERP_OPT_G(struct jam_opts),
  PERP_OPT_DIM(struct jam_opts, 3),
  PERP_OPTIONS_END
};

static perp_status build_jam(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct jam_opts *o = opts;
  const int n = o->side, deep = o->dim == 3 ? n : 1, balls = n * n * deep;
  const double R = o->radius;
  perp_rng *rng = perp_rng_create((uint64_t)o->seed);
  if (rng == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for random numbers");
  perp_builder builder = perp_build_begin(ctx, scene, o->dim, o->gravity, o->mu, o->e);
  crowd_walls(&builder, n * R, n * R);
  perp_build_plane(&builder, "lid", (const double[3]){ 0, 0, 2 * n * R }, M_PI, 0);
  for (int i = 0; i < balls; i++) {
    const double p[3] = { (2 * (i % n) + 1 - n) * R,
                          o->dim == 3 ? (2 * (i / (n * n)) + 1 - n) * R : 0,
                          (2 * (i / n % n) + 1) * R };
    for (int k = 0; k < 3; k++) builder.v[k] = perp_rng_uniform(rng, -o->speed, o->speed) / sqrt(3);
    perp_build_ball(&builder, NULL, o->mass, R, 0.4, p);
  }
  perp_rng_destroy(rng);
  PERP_TRY(perp_build_end(&builder, R, 1));
  PERP_TRY(perp_gauge_rest(ctx, scene, 0, balls, 0, 0));
  if (o->e > 0) return PERP_OK;
  /* lid and floor: what both give in the end is the weight */
  const double weight = balls * o->mass * o->gravity;
  const perp_force_truth sum = { PERP_WORLD, PERP_ANY_BODY, weight };
  return perp_gauge_force(ctx, scene, 1, &sum, weight, 0.1);
}

const perp_scene_desc perp_scene_jam = {
  .d = { .name = "jam",
         .summary = "Balls packed in a box without room, with random velocities: nothing may move",
         .reference = "STAR 2012, section 7.3",
         PERP_OPTIONS(jam_options, struct jam_opts) },
  .build = build_jam,
};
