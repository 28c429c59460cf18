/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Volume of the overlap of two shapes, and its gradient, where both have a closed form. */
#ifndef PERP_OVERLAP_H
#define PERP_OVERLAP_H

#include "models/collision/collision.h"

/* The overlap of shapes a and b.  Moving b by dx, and turning it by dw about x, changes its volume
 * by
 *
 *      dV = -area n . dx - area (p - x) x n . dw,
 *
 * so that a force along n at p is the gradient of a function of V.  volume: m^3, in the plane m^2;
 * area: m^2, m; 0 of shapes that are apart, and of one inside the other. */
typedef struct perp_overlap {
  double volume, area;
  double n[3],
      p[3]; /* world; unit, from a to b; centroid of the section.  Undefined where the area is 0 */
} perp_overlap;

/* Does this pair have one: a plane with a sphere, a box, a polytope or an ellipsoid, or two
 * spheres? */
bool perp_overlap_serves(const perp_model *model, int shape_a, int shape_b);
/* Of a pair that has one, at the poses of the bodies.  Spheres: cap and lens.  Polytopes:
 * divergence theorem over the faces, cut at the plane, O(edges).  Ellipsoids: the cap of the sphere
 * that they are the image of.  Relative errors are of rounding over the depth in parts of the size.
 * No allocation. */
void perp_overlap_of(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                     const perp_pose *pose_b, perp_overlap *out);
#endif
