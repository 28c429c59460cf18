/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the scenes with contact share: building bodies with shapes.  Private.
 *
 * Points are (x, y, height): world coordinates (x, y, z) in space; in the plane y is left out and
 * the point is (x, height).  Orientations are (tilt, azimuth): the axis that was up leans by `tilt`
 * [rad] from the vertical towards the horizontal direction `azimuth` (+x at 0), R = Rz(azimuth)
 * Ry(tilt); in the plane the azimuth is left out and a tilt is an angle of -tilt. */
#ifndef PERP_SCENE_BUILDER_H
#define PERP_SCENE_BUILDER_H

#include "models/scenes/build.h"

/* ---- building ---- */

/* Remembers the first failure: after it nothing is done any more, and perp_build_end returns it. */
typedef struct perp_builder {
  perp_ctx *ctx;
  perp_scene *scene;
  int dim;
  perp_surface surface; /* of the shapes to come */
  double v[3],
      spin;     /* of the next body, then zero: (x, y, height) m/s; rad/s from x to the height */
  double depth; /* m, of polygons in space, along y */
  bool collide_joined; /* of the shapes to come, see shape.h */
  perp_status status;
} perp_builder;

/* A model of the scene with gravity [m/s^2]; surface with mu and e for all shapes. */
perp_builder perp_build_begin(perp_ctx *ctx, perp_scene *scene, int dim, double gravity, double mu,
                              double e);
/* name: of the body and its shape, may be NULL. */
/* Half-space of the world through p, below its surface. */
void perp_build_plane(perp_builder *builder, const char *name, const double p[3], double tilt,
                      double azimuth);
/* The floor: the half-space below height 0. */
void perp_build_floor(perp_builder *builder);
/* A box of the world or, with m > 0, a body.  size: edges along x, y, height.  Returns the body. */
int perp_build_box(perp_builder *builder, const char *name, double m, const double size[3],
                   const double p[3], double tilt, double azimuth);
/* A ball (a disc in the plane) of radius r, inertia factor k: I = k m r^2. */
int perp_build_ball(perp_builder *builder, const char *name, double m, double r, double k,
                    const double p[3]);
/* A body whose contact has no torque: a ball of radius r above its centre of mass touches the
 * ground there. */
int perp_build_foot(perp_builder *builder, const char *name, double m, double r, const double p[3],
                    double tilt, double azimuth);
/* A thin rod of length 2 half along x, as a mass; its shape is a needle whose ends are vertices: a
 * rhombus, an octahedron in space. */
int perp_build_needle(perp_builder *builder, const char *name, double m, double half,
                      const double p[3], double tilt);
/* A convex polygon with n <= 16 corners (x, height) counter-clockwise, uniform density, mass m; in
 * space a prism from y = -depth/2 to depth/2.  The body frame is parallel to the world's, at the
 * centre of mass. */
int perp_build_polygon(perp_builder *builder, const char *name, double m, int n,
                       const double *corners);
/* A body of its own kind; position, orientation, velocity and spin as above are added to def. */
int perp_build_body(perp_builder *builder, perp_body_def *def, const double p[3], double tilt,
                    double azimuth);
void perp_build_shape(perp_builder *builder, perp_shape_def *def);
void perp_build_joint(perp_builder *builder, const perp_joint_def *def);
void perp_build_force(perp_builder *builder, const perp_force_def *def);
/* Finish the model.  size [m]: of a typical body.  Sets t_end and h = 1/240 s; the scene is marked
 * dissipative. */
perp_status perp_build_end(perp_builder *builder, double size, double t_end);

/* Rate from x to the height of a body that turns in the vertical plane only. */
double perp_build_rate(int dim, int b, const double *v);

/* ---- statics, for their scenes and for tests ---- */

/* Positive iff a semicircular arch of n straight-edged voussoirs of thickness t = t/R stands with
 * friction mu: see arch.c. */
double perp_arch_margin(int n, double t, double mu);
/* Least friction with which a card house stands: see thresholds.c. */
double perp_card_house_mu(double theta, double length, double thickness);

#endif
