/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reaction forces: the multipliers of a joint as a force and a torque. */
#ifndef PERP_REACTION_H
#define PERP_REACTION_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a joint does to its body b: `force` [N] at `point` [m], and `torque` [N m] about it, all in
 * world axes; body a gets the opposite of both, at the same point.  Only the rows of the joint:
 * what a drive does along a coordinate that the joint leaves free is no part of it.
 *
 * axes: the frame of the joint, unit vectors in the world, e_k = axes + 3 k.  e_0 is axis_a, e_1
 * and e_2 = e_0 x e_1 the perpendiculars of its rows, all fixed in body a.  Of a joint without an
 * axis (ball, fixed, plug-ins) they are those of body a; of a distance e_0 points from a to b.
 * local_force, local_torque: the components along e_0, e_1, e_2.
 *
 * In the plane the third components of forces are 0, torques are about z (component 2), and e_2 is
 * z. */
typedef struct perp_reaction {
  double point[3], force[3], torque[3];
  double axes[9], local_force[3], local_torque[3];
} perp_reaction;

/* Of joint i (perp_model_joint) with the multipliers lambda [m] at q [nq]:
 *
 *      J_b' lambda = (F, R_b' tau),      force = F,      torque = tau + (x_b - point) x F
 *
 * with J_b the columns of body b in J (blocks, as assembled at q) and x_b its centre of mass; where
 * b is the world, minus the sum over the other bodies.  point is anchor_b, of a plug-in the centre
 * of mass of b (of its first body, where b is the world).  lambda as forces gives forces, as
 * impulses N s and N m s.  Serves every joint that has rows, plug-ins, motions and rows on
 * velocities among them.  O(rows bodies of the joint), no allocation.
 * Vondrak 2005, eq. 6.4: the force of constraints is J' lambda. */
void perp_model_reaction(const perp_model *model, const double *q, const perp_blocks *blocks, int i,
                         const double *lambda, perp_reaction *reaction);

#ifdef __cplusplus
}
#endif

#endif
