/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of the files reduced_*.c: the table of joint kinds, vectors and 3 x 3 matrices
 * (column-major). */
#ifndef PERP_REDUCED_PRIVATE_H
#define PERP_REDUCED_PRIVATE_H

#include "models/multibody/reduced_tree.h"
#include "models/multibody/model_private.h"

#include <math.h>
#include <string.h>

typedef perp_reduced_node node;

/* The parent of bodies that hang on the world. */
static const node world_node = { .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
static inline const node *parent_of(const perp_reduced_tree *tree, const node *child)
{
  return child->parent < 0 ? &world_node : &tree->node[child->parent];
}

PERP_INLINE void turn(const double R[9], const double s[3], double y[3])
{
  perp_turn(3, R, s, y);
}
PERP_INLINE void turn_back(const double R[9], const double s[3], double y[3])
{
  perp_turn_back(3, R, s, y);
}
PERP_INLINE double dot(const double a[3], const double b[3])
{
  return perp_dot(3, a, b);
}

/* y += w x (w x s) */
PERP_INLINE void add_centripetal(const double w[3], const double s[3], double y[3])
{
  double u[3];
  perp_cross(w, s, u);
  perp_cross(w, u, u);
  for (int i = 0; i < 3; i++) y[i] += u[i];
}

/* y += sign w x s */
PERP_INLINE void add_cross(double sign, const double w[3], const double s[3], double y[3])
{
  double u[3];
  perp_cross(w, s, u);
  for (int i = 0; i < 3; i++) y[i] += sign * u[i];
}

/* C = A B, 3 x 3 */
PERP_INLINE void multiply(const double A[9], const double B[9], double C[9])
{
  for (int j = 0; j < 3; j++) turn(A, B + 3 * j, C + 3 * j);
}

/* C = A' B */
PERP_INLINE void multiply_transposed(const double A[9], const double B[9], double C[9])
{
  for (int j = 0; j < 3; j++) turn_back(A, B + 3 * j, C + 3 * j);
}

/* n = s / |s|, whatever the size of s */
PERP_INLINE void unit(const double s[3], double n[3])
{
  double most = fmax(fabs(s[0]), fmax(fabs(s[1]), fabs(s[2]))), u[3];
  for (int i = 0; i < 3; i++) u[i] = s[i] / most;
  double length = sqrt(dot(u, u));
  for (int i = 0; i < 3; i++) n[i] = u[i] / length;
}

/* A body as its parent sees it, in world axes: orientation in the parent, angular velocity, from
 * the joint point of the parent to that of the child; and its own state. */
typedef struct perp_reduced_relative {
  int dim;
  const perp_model *model;
  const node *parent;
  const double *q, *v;
  double R[9], w[3], d[3], ddot[3];
} perp_reduced_relative;

/* What a joint does to its child, in world axes: its angular velocity from the parent; its joint
 * point, from its centre of mass; from the joint point of the parent to that, with the rate of it
 * and the acceleration that velocities cause. */
typedef struct perp_reduced_moved {
  int dim;
  const node *parent;
  double w[3], rho_c[3], d[3], ddot[3], bias[3];
} perp_reduced_moved;

/* Where a quaternion is among the coordinates of a joint, and which of its rates turn it: q[quat]
 * by u[rate ... ] (rod: two rates). */
typedef struct perp_reduced_rotor {
  int quat, rate;
  bool rod;
} perp_reduced_rotor;

/* A kind of joint: reduced_kinds.c. */
typedef struct perp_reduced_joint {
  int nq, nu;
  int plain, n_rotors; /* coordinates: first plain numbers, then quaternions */
  perp_reduced_rotor rotor[2];
  signed char
      group[PERP_CHAIN_AXES]; /* columns that act one after the other: how many act together */
  bool still; /* no Coriolis or centrifugal term reaches the coordinates at the world */
  /* NULL: there are none */
  void (*coordinates)(const node *child, const perp_reduced_relative *at, double *q, double *u);
  void (*move)(node *child, const double *q, const double *u, perp_reduced_moved *move);
  void (*place)(node *child, const double *q, const double *u); /* of free bodies, else NULL */
} perp_reduced_joint;

extern const perp_reduced_joint perp_reduced_joints[]; /* by perp_reduced_kind */

/* Pose of body b (PERP_WORLD: of the world) of the maximal state; the plane is z = 0. */
void perp_reduced_pose(const perp_model *model, const double *qm, int b, double x[3], double R[9],
                       double *angle);

#endif
