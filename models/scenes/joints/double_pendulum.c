/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Double pendulum in one plane, horizontal and at rest: two uniform rods, or two point masses on
 * massless rods.  Point masses are bodies held at their centres of mass by distance joints, so that
 * nothing turns them. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

enum { ROD, POINT };
static const char *const bodies[] = { "rod", "point", NULL };

struct double_opts {
  double length, mass, gravity;
  int body, dim;
};
static const perp_opt options[] = {
  PERP_OPT_POSITIVE(struct double_opts, length, 1, "m", "Length of each link."),
  PERP_OPT_POSITIVE(struct double_opts, mass, 1, "kg", "Mass of each link."),
  PERP_OPT_NONNEGATIVE(struct double_opts, gravity, 9.81, "m/s^2", "Gravitational acceleration."),
  PERP_ENUM(struct double_opts, body, ROD, bodies,
            "Type of the links: uniform rods on hinges, or point masses on distance joints."),
  PERP_OPT_DIM(struct double_opts, 2),
  PERP_OPTIONS_END
};

static perp_status double_pendulum_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct double_opts *o = opts;
  perp_link link = { PERP_LINK_POINT, o->length, 0, perp_mass_sphere(o->mass, o->length / 10) };
  if (o->body == ROD)
    link = (perp_link){ PERP_LINK_BODY, o->length, o->length / 2,
                        perp_mass_thin_rod(o->mass, o->length) };
  perp_links *links = perp_links_create(ctx, o->dim, 2);
  if (links == NULL) return PERP_ERR_NOMEM;
  links->link[0] = links->link[1] = link;
  perp_status status = perp_links_model(ctx, scene, links, PERP_JOINT_HINGE, o->gravity, 10, NULL,
                                        NULL);
  if (status == PERP_OK && o->length == 1 && o->gravity == 9.81)
    status = perp_links_file(
        ctx, scene, links,
        o->body == ROD ? "C_double_pendulum_rods.csv" : "C_double_pendulum_point.csv", 1e-15);
  free(links);
  PERP_TRY(status);
  scene->tip[0] = o->body == ROD ? o->length / 2 : 0;
  return perp_truth_reduced(ctx, scene, 60, 1e-9);
}

const perp_scene_desc perp_scene_double_pendulum = {
  .d = { .name = "double-pendulum",
         .summary = "Double pendulum of rods or point masses, released at rest from the horizontal",
         .reference = "reference solutions of perp to 28 digits",
         PERP_OPTIONS(options, struct double_opts) },
  .build = double_pendulum_build,
};
