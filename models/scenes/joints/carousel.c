/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Carousel: a hub on a vertical hinge with four hanging chains, all in rigid rotation at t = 0
 * (Vondrak 2005, section 9.1.4, figure 9.1: constraint errors of different ODE solvers; his
 * parameters are not given, these are ours).
 *
 * Hub: disc, m = 10 kg, radius 0.5 m, thickness 0.1 m.  Chain k hangs from (r cos, r sin, 0)(k
 * pi/2) along -z: 5 boxes 0.1 x 0.02 x 0.02 m of 0.04 kg on ball joints.  omega = (0, 0, 4) rad/s,
 * no motor. */
#include "models/scenes/build.h"

#include <math.h>

struct carousel_opts {
  int chains, links;
  double omega, radius, length, mass, hub, gravity;
  int truth;
};
static const perp_opt options[] = {
  PERP_INT(struct carousel_opts, chains, 4, 1, 1000, "number of chains"),
  PERP_INT(struct carousel_opts, links, 5, 1, 1000, "links of each chain"),
  PERP_OPT_FINITE(struct carousel_opts, omega, 4, "rad/s", "initial rotation"),
  PERP_OPT_POSITIVE(struct carousel_opts, radius, 0.5, "m", "radius of the hub"),
  PERP_OPT_POSITIVE(struct carousel_opts, length, 0.1, "m", "length of a link"),
  PERP_OPT_POSITIVE(struct carousel_opts, mass, 0.04, "kg", "mass of a link"),
  PERP_OPT_POSITIVE(struct carousel_opts, hub, 10, "kg", "mass of the hub"),
  PERP_OPT_NONNEGATIVE(struct carousel_opts, gravity, 9.81, "m/s^2", "gravity"),
  PERP_ENUM(struct carousel_opts, truth, PERP_TRUTH_AUTO, perp_truth_names,
            "reference: joint coordinates up to 255 bodies"),
  PERP_OPTIONS_END
};

static perp_status add_chain(perp_ctx *ctx, perp_model *model, const struct carousel_opts *o, int k)
{
  const double angle = 2 * M_PI * k / o->chains, c = cos(angle), s = sin(angle);
  const double x = o->radius * c, y = o->radius * s, half = o->length / 2;
  for (int i = 0; i < o->links; i++) {
    const int body = 1 + k * o->links + i;
    /* x of the link points down: first +90 degrees about y, then the angle about z */
    const double cz = cos(angle / 2), sz = sin(angle / 2), r = sqrt(0.5);
    perp_body_def link = {
      .mass = perp_mass_box(o->mass, o->length, 0.02, 0.02),
      .x = { x, y, -(i + 0.5) * o->length },
      .quat = { cz * r, -sz * r, cz * r, sz * r },
      .v = { -o->omega * y, o->omega * x, 0 },
      .w = { -o->omega, 0, 0 }, /* the vertical in the frame of the link is -x */
    };
    perp_joint_def joint = {
      .kind = PERP_JOINT_BALL, .a = i == 0 ? 0 : body - 1, .b = body, .anchor_b = { -half, 0, 0 }
    };
    if (i == 0)
      joint.anchor_a[0] = x, joint.anchor_a[1] = y;
    else
      joint.anchor_a[0] = half;
    PERP_TRY(perp_model_add_body(ctx, model, &link, NULL));
    PERP_TRY(perp_model_add_joint(ctx, model, &joint, NULL));
  }
  return PERP_OK;
}

static perp_status carousel_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct carousel_opts *o = opts;
  if (o->truth == PERP_TRUTH_FILE)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "carousel: there is no reference file; truth = auto | reduced | none");
  perp_body_def hub = { .name = "hub",
                        .mass = perp_mass_cylinder(o->hub, o->radius, 0.1),
                        .w = { 0, 0, o->omega } };
  const perp_joint_def shaft = perp_scene_joint(PERP_JOINT_HINGE, "shaft", PERP_WORLD, 0, 2);
  PERP_TRY(perp_model_create(ctx, 3, &scene->model));
  PERP_TRY(perp_model_add_body(ctx, scene->model, &hub, NULL));
  PERP_TRY(perp_model_add_joint(ctx, scene->model, &shaft, NULL));
  for (int k = 0; k < o->chains; k++) PERP_TRY(add_chain(ctx, scene->model, o, k));
  PERP_TRY(perp_scene_finish(ctx, scene, o->gravity, 10, 1e-3));
  scene->tip_body = o->links; /* the last link of the first chain */
  scene->tip[0] = o->length / 2;
  if (o->truth == PERP_TRUTH_REDUCED ||
      (o->truth == PERP_TRUTH_AUTO && 1 + o->chains * o->links <= 255))
    return perp_truth_reduced(ctx, scene, 10, 1e-6);
  return PERP_OK;
}

const perp_scene_desc perp_scene_carousel = {
  .d = { .name = "carousel",
         .summary = "a turning hub with four hanging chains",
         .reference = "Vondrak 2005, section 9.1.4, figure 9.1; parameters are our own",
         PERP_OPTIONS(options, struct carousel_opts) },
  .build = carousel_build,
};
