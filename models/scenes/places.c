/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/places.h"

#include <math.h>
#include <string.h>

perp_body_def perp_body_at(int dim, perp_mass mass, int b, const double *q, const double *v)
{
  perp_body_def def = { .mass = mass };
  q += (dim == 3 ? 7 : 3) * b;
  v += (dim == 3 ? 6 : 3) * b;
  memcpy(def.x, q, (size_t)dim * sizeof *q);
  memcpy(def.v, v, (size_t)dim * sizeof *v);
  if (dim == 2) {
    def.angle = q[2];
    def.w[2] = v[2];
  } else {
    memcpy(def.quat, q + 3, sizeof def.quat);
    memcpy(def.w, v + 3, sizeof def.w);
  }
  return def;
}

void perp_scene_point(int dim, const double p[3], double x[3])
{
  x[0] = p[0];
  x[1] = dim == 3 ? p[1] : p[2];
  x[2] = dim == 3 ? p[2] : 0;
}

void perp_planar_state(int dim, int b, const perp_planar *planar, double *q, double *v)
{
  if (dim == 2) {
    const double pose[3] = { planar->x, planar->height, planar->angle },
                 speed[3] = { planar->vx, planar->vheight, planar->rate };
    memcpy(q + 3 * b, pose, sizeof pose);
    memcpy(v + 3 * b, speed, sizeof speed);
  } else {
    const double c = cos(planar->angle / 2), s = sin(planar->angle / 2);
    const double pose[7] = { planar->x, 0, planar->height, c, 0, -s, 0 };
    const double speed[6] = { planar->vx, 0, planar->vheight, 0, -planar->rate, 0 };
    memcpy(q + 7 * b, pose, sizeof pose);
    memcpy(v + 6 * b, speed, sizeof speed);
  }
}
