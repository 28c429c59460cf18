/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The pendulum as differential-algebraic equations are tested with it:
 *
 *      x'' = -x lambda,   y'' = -y lambda - 1,   x^2 + y^2 = 1
 *
 *      (x, y) = (1, 0),   (x', y') = (0, 1)
 *
 * index 3 as it stands; the formulations and stabilizations of perp are what lowers the index.  A
 * point mass under gravity 1 with a distance joint; |multiplier| of the joint = lambda, since |(x,
 * y)| = 1.  Invariants: x x' + y y' = 0, x'^2 + y'^2 = lambda + y. */
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>

static void pendulum_dae_map(void *user, double t, const double *row, double *q, double *v)
{
  (void)user, (void)t;
  q[0] = row[0], q[1] = row[1], q[2] = 0;
  v[0] = row[2], v[1] = row[3], v[2] = 0;
}

static perp_status pendulum_dae_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "x", "y", "vx", "vy" };
  static const double theta = 0, omega = 1;
  /* MEBDFDAE and MEBDFI at their tightest tolerance, t = 1 */
  static const double printed[2] = { 0.867348640604551746, 0.497701050476373918 };
  (void)opts;
  perp_links *links = perp_links_create(ctx, 2, 1);
  if (links == NULL) return PERP_ERR_NOMEM;
  links->link[0] = (perp_link){ PERP_LINK_POINT, 1, 0, { 1, { [8] = 1 } } };
  perp_status status = perp_links_model(ctx, scene, links, PERP_JOINT_BALL, 1, 10, &theta, &omega);
  free(links);
  PERP_TRY(status);
  PERP_TRY(perp_truth_file(ctx, scene, "B_pendulum_dae.csv", 1e-15, 4, columns, pendulum_dae_map,
                           NULL, 0));
  return perp_truth_printed(ctx, scene, "MEBDFDAE and MEBDFI, pendulum of index 1 to 3", 1, 2, 2,
                            printed, NULL);
}

const perp_scene_desc perp_scene_pendulum_dae = {
  .d = { .name = "pendulum-dae",
         .summary = "Pendulum of the DAE literature, with gravity 1 and an initial speed",
         .reference = "MEBDFDAE and MEBDFI test problems; reference solution of perp",
         .equation = "x'' = -x lambda,  y'' = -y lambda - 1,  x^2 + y^2 = 1" },
  .build = pendulum_dae_build,
};
