/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ball and chain: N light rods and a heavy point at the tip, from the horizontal at rest (by
 * default 10 rods of 0.1 m and 0.1 kg, 10 kg).  The point is a body of its own, held at its centre
 * of mass by a ball joint, so that it never turns and the mass ratio of 1 : 100 meets the solvers
 * at one joint. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

struct ball_opts {
  int links;
  double length, mass, ball, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_INT(struct ball_opts, links, 10, 1, 1000000, "Number of rods."),
  PERP_OPT_POSITIVE(struct ball_opts, length, 0.1, "m", "Length of a rod."),
  PERP_OPT_POSITIVE(struct ball_opts, mass, 0.1, "kg", "Mass of a rod."),
  PERP_OPT_POSITIVE(struct ball_opts, ball, 10, "kg", "Mass of the ball at the tip."),
  PERP_OPT_NONNEGATIVE(struct ball_opts, gravity, 9.81, "m/s^2", "Gravitational acceleration."),
  PERP_OPT_DIM(struct ball_opts, 3),
  PERP_OPTIONS_END
};

static perp_status ball_and_chain_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct ball_opts *o = opts;
  perp_links *links = perp_links_create(ctx, o->dim, o->links + 1);
  if (links == NULL) return PERP_ERR_NOMEM;
  for (int i = 0; i < o->links; i++)
    links->link[i] = (perp_link){ PERP_LINK_BODY, o->length, o->length / 2,
                                  perp_mass_thin_rod(o->mass, o->length) };
  links->link[o->links] = (perp_link){ PERP_LINK_CARRIED, 0, 0,
                                       perp_mass_sphere(o->ball, o->length / 2) };
  perp_status status = perp_links_model(ctx, scene, links, PERP_JOINT_BALL, o->gravity, 1, NULL,
                                        NULL);
  if (status == PERP_OK && o->links == 10 && o->length == 0.1 && o->mass == 0.1 && o->ball == 10 &&
      o->gravity == 9.81)
    status = perp_links_file(ctx, scene, links, "C_ball_and_chain10.csv", 1e-15);
  free(links);
  PERP_TRY(status);
  return o->links <= 64 ? perp_truth_reduced(ctx, scene, 2, 1e-9) : PERP_OK;
}

const perp_scene_desc perp_scene_ball_and_chain = {
  .d = { .name = "ball-and-chain",
         .summary = "Light rods with a heavy ball at the tip: mass ratio 1 : 100",
         .reference = "reference solution of perp to 26 digits",
         PERP_OPTIONS(options, struct ball_opts) },
  .build = ball_and_chain_build,
};
