/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Places and states of bodies as scenes write them.
 *
 * Points are (x, y, height): world coordinates (x, y, z) in space; in the plane y is left out and
 * the point is (x, height). */
#ifndef PERP_PLACES_H
#define PERP_PLACES_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* One body that moves in the vertical plane: centre of mass (x, height), angle from +x to the
 * height, and their rates. */
typedef struct perp_planar {
  double x, height, angle, vx, vheight, rate;
} perp_planar;
/* (x, y, height) to coordinates. */
void perp_scene_point(int dim, const double p[3], double x[3]);
/* To the coordinates and rates of body b in (q, v). */
void perp_planar_state(int dim, int b, const perp_planar *planar, double *q, double *v);
/* The definition of a body that is in the state of body b of (q, v). */
perp_body_def perp_body_at(int dim, perp_mass mass, int b, const double *q, const double *v);

#ifdef __cplusplus
}
#endif

#endif
