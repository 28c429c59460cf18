/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces in formulations that take them at the end of the step: their gradient as soft rows, of
 * plug-ins, and of all forces but pairs where gradients are differences.
 *
 * With A = -h^2 df/dq - h df/dv of a force, the step has (M + A) v+ on the left and -h df/dv v on
 * the right (Cline 2002, eq. 2.52). A = sum sigma_i u_i u_i' is a row u_i' v+ + S p = 0 with S = 1
 * / sigma_i for each eigenvector with sigma_i > 0: the KKT system of bodies, joints and these rows
 * is the one with M + A (Woodbury), and M stays what it is.  The symmetric part of both derivatives
 * is taken; the skew part, and directions in which the force pushes away from where it is (sigma_i
 * <= 0), are those of the explicit step. */
#ifndef PERP_FORCE_GRADIENT_H
#define PERP_FORCE_GRADIENT_H

#include "models/stepping/constrained.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A force element of a model, and the joints beside it that hold its rows. */
typedef struct perp_force_gradient {
  int force, joint, size; /* size: N, velocities of its bodies */
  bool differences;       /* not what a plug-in says of its derivatives */
} perp_force_gradient;

/* Room for one of size N. */
typedef struct perp_force_gradient_room {
  double *dq, *dv, *sigma, *work, *g; /* [N N], [N N], [N], [4 N], [N] */
} perp_force_gradient_room;

/* Add a force (not pairs) to a model that is being built, and its rows, empty so far. */
perp_status perp_force_gradient_add(perp_ctx *ctx, perp_model *model, const perp_force_def *el,
                                    bool differences, perp_force_gradient *out);
void perp_force_gradient_layout(perp_force_gradient_room *room, int size, perp_arena *arena);
/* The rows in a step h from v: k is evaluated at its start, k.f = M v + h f.  J and softness of the
 * rows, and k.f.  Where the gradient is not finite, neither is k.f.  O(N^3), no allocation. */
void perp_force_gradient_rows(const perp_force_gradient *gradient,
                              const perp_force_gradient_room *room, perp_model *model,
                              perp_constrained *system, double h, const double *v);

#ifdef __cplusplus
}
#endif

#endif
