/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass, centre of mass and inertia of geoms, and bodies that get theirs from them.  Private to
 * experiments/import. */
#ifndef PERP_ROBOT_INERTIA_H
#define PERP_ROBOT_INERTIA_H

#include "experiments/import/robot.h"

/* How the inside of a mesh is found. */
typedef enum perp_robot_inside {
  PERP_ROBOT_INSIDE_CONVEX, /* of the convex hull */
  PERP_ROBOT_INSIDE_EXACT,  /* the volume that the triangles enclose, by signed tetrahedra */
  PERP_ROBOT_INSIDE_LEGACY, /* MuJoCo's: the size of every tetrahedron to the centre of the surface
                             */
  PERP_ROBOT_INSIDE_SHELL   /* the surface itself, of equal thickness */
} perp_robot_inside;

/* A homogeneous solid in the frame of its geom, of density 1: volume [m^3] (shell: area [m^2]),
 * centre, and inertia (symmetric, column-major) about its centre. */
typedef struct perp_robot_solid {
  double volume, com[3], inertia[9];
} perp_robot_solid;

/* The solid of a geom; shell: its surface only.  Planes and height fields have none: volume 0. */
void perp_robot_solid_of(const perp_robot *robot, const perp_robot_geom *geom, bool shell,
                         perp_robot_inside inside, perp_robot_solid *solid);
/* Of triangles.  false: the volume is not positive (the triangles are turned inside out, or flat),
 * or there is no hull. */
bool perp_robot_solid_of_mesh(const perp_robot_mesh *mesh, perp_robot_inside inside,
                              perp_robot_solid *solid);

/* The solid with another mass (volume: 1 times it), turned and moved by a pose. */
void perp_robot_solid_place(perp_robot_solid *solid, const double x[3], const double quat[4]);
/* body += mass of the solid: mass, com, inertia of the body, the solid in the frame of the body.
 * mass is that of all of it. */
void perp_robot_body_add(perp_robot_body *body, double mass, const perp_robot_solid *solid);

/* Eigenvalues of a symmetric matrix, ascending, and eigenvectors V (columns), right-handed. */
void perp_robot_eigen(const double inertia[9], double value[3], double V[9]);

#endif
