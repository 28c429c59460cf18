/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shapes: what bodies collide with.  A body may carry any number of shapes (a compound); shapes on
 * PERP_WORLD do not move.  Shapes have no mass: mass properties are those of the body. */
#ifndef PERP_SHAPE_H
#define PERP_SHAPE_H

#include "solvers/core/core.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum perp_shape_kind {
  PERP_SHAPE_SPHERE,   /* radius; a disc in the plane */
  PERP_SHAPE_CAPSULE,  /* radius around the segment of `length` along the shape's x axis, centred */
  PERP_SHAPE_BOX,      /* half edges half[0], half[1] (, half[2]) along the shape's axes */
  PERP_SHAPE_POLYTOPE, /* convex hull of vertices (a convex polygon in the plane) */
  PERP_SHAPE_PLANE,    /* the half-space below the shape's z axis (y axis in the plane): the surface
                        * passes through the shape's origin, its outward normal is that axis */
  PERP_SHAPE_ELLIPSOID, /* half axes half[]; space only */
  PERP_SHAPE_CYLINDER,  /* radius around the segment of `length` along the shape's x axis, centred,
                         * with flat ends;  space only */
  PERP_SHAPE_CONE, /* base of `radius` at x = -length / 4, apex at x = 3/4 length on the shape's x
                    * axis: its origin is its centre of mass; space only */
  PERP_SHAPE_MESH, /* triangles, on PERP_WORLD and in space only: a surface without thickness that
                    * is touched from both sides, open or closed; nothing is inside */
  PERP_SHAPE_HEIGHT_FIELD /* heights over a grid, on PERP_WORLD and in space only: solid below, down
                             to `depth` */
} perp_shape_kind;

enum { PERP_MATERIALS_MAX = 65535 };
/* The surface of a shape.  A pair of surfaces has mu = sqrt(mu_a mu_b), likewise for mu_dynamic,
 * and the larger one of e, torsion and rolling, unless the model says otherwise
 * (perp_model_friction), or of the two materials (perp_model_add_pair). */
typedef struct perp_surface {
  double mu;          /* coefficient of (static) friction, >= 0 */
  double mu_dynamic;  /* of sliding, 0 <= mu_dynamic <= mu; NaN: the same as mu */
  double restitution; /* e in [0, 1] */
  int material; /* a number of the caller's, 1 ... PERP_MATERIALS_MAX, by which pairs are told; 0:
                   none */
  /* Anisotropic friction, in space only: mu holds along the direction `along` of the frame of the
   * shape, made tangential, and mu_across > 0 across it; the limits of friction are an ellipse
   * (STAR 2012, section 2.1.4), and friction dissipates most.  A surface whose normal is `along`
   * has mu alone.  mu_across 0: isotropic, along is not read. */
  double mu_across, along[3];
  /* m, >= 0: couples of a contact that resist spinning about its normal, at most torsion lambda_n
   * (space only), and rolling, at most rolling lambda_n (models/contact/laws/contact.h); 0: none */
  double torsion, rolling;
} perp_surface;

typedef struct perp_shape_def {
  const char *name; /* may be NULL */
  perp_shape_kind kind;
  int body; /* or PERP_WORLD */
  double x[3], quat[4],
      angle; /* pose in the body frame; quat all zero = identity; angle in the plane */
  double radius, length, half[3];
  const double *vertices; /* [3 n_vertices] (2 per vertex in the plane), shape frame; copied */
  int n_vertices;
  perp_surface surface;
  /* m/s, in the frame of the shape: the surface runs along itself as a belt does, and the shape
   * stays where it is.  Friction acts on what the other body has beside it; the part along the
   * normal of a contact is not felt.  A signal of the model may be added to each number
   * (perp_signal_ref in model.h). */
  double belt[3];
  int belt_signal[3];
  /* A pair is tested when neither body is the other's joint neighbour (unless either shape says
   * collide_joined) and the groups differ or are 0: shapes of one nonzero group never touch each
   * other. Shapes of one body, and shapes of the world, never touch each other. */
  int group;
  bool collide_joined;
  /* Mesh: n_triangles triples of numbers of vertices, from 0; copied.  No triangle may lack an
   * area. */
  const int *triangles;
  int n_triangles;
  /* Height field: heights[i + grid[0] j] along the shape's z axis at x = i spacing[0], y = j
   * spacing[1], in the frame of the shape; copied.  A cell is two triangles that share the diagonal
   * from (i, j) to (i + 1, j + 1).  Solid to `depth` m below the surface; 0: the longer side of the
   * grid. */
  const double *heights;
  int grid[2];
  double spacing[2], depth;
} perp_shape_def;

#ifdef __cplusplus
}
#endif

#endif
