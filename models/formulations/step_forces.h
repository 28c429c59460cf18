/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of a step: of joints as vectors, of drives, of contacts by pair of bodies. */
#ifndef PERP_STEP_FORCES_H
#define PERP_STEP_FORCES_H

#include "models/multibody/reaction.h"
#include "models/stepping/formulation.h"

#ifdef __cplusplus
extern "C" {
#endif

/* All contacts of two bodies: force [N] on body b and torque [N m] about `point` [m], world axes;
 * body a < b, which may be the world, gets the opposite.  point: the mean of the contact points,
 * weighted with their normal forces. */
typedef struct perp_pair_force {
  int a, b;
  double force[3], torque[3], point[3];
  double weight; /* N, sum of the normal forces */
} perp_pair_force;

/* Two states, the ends of a step, and what the step reported. */
typedef struct perp_step_span {
  double t0, t1;
  const double *q0, *v0, *q1, *v1;
  const perp_step_info *info;
} perp_step_span;

typedef struct perp_step_forces {
  perp_model *model;
  perp_forces_time time;
  int joints, drives, bodies; /* of the model */
  perp_reaction *joint;       /* [joints] */
  bool *unique; /* [joints] is the force of the joint the only one with this motion? else it is that
                   of the least norm of all multipliers */
  double *drive;         /* [drives] along the coordinate of the drive, N or N m, limits included */
  int n_pairs;           /* pairs of bodies that have contacts */
  perp_pair_force *pair; /* [n_pairs] */
  bool joints_known, drives_known, contacts_known;
  struct perp_step_forces_scratch *scratch;
} perp_step_forces;

/* For steps of sim, whose model, finished, is borrowed.  PERP_ERR_UNSUPPORTED, with the reason and
 * what to use instead: engines that do not report forces of joints, simulation groups.
 * PERP_ERR_NOMEM.  Allocates all but what more contact pairs than ever need. */
perp_status perp_step_forces_create(perp_ctx *ctx, perp_model *model, const perp_sim *sim,
                                    perp_step_forces **out);
void perp_step_forces_destroy(perp_step_forces *forces); /* NULL is fine */
/* Of the step that was made last.  AT_START: at t0, else for the time from t0 to t1.  Unknown parts
 * are NaN, and their *_known false.  AT_STATE, and steps in joint coordinates: the multipliers of
 * least norm of
 *
 *      M a = f + J' lambda,  J a = -Jdot v      at t1            (AT_STATE)
 *      M (v1 - v0) / h = f + J_d' drive + J_c' contacts + J' lambda        (means)
 *
 * which are those of the recursion of Newton and Euler along a tree.  redundant: rows that depend
 * on others (perp_sim_redundant), < 0: not known.  O(bodies + joints + contacts), beside the
 * multipliers of joint coordinates O(m^3), and O(m^3) where rows depend on others. */
perp_status perp_step_forces_at(perp_ctx *ctx, perp_step_forces *forces, const perp_step_span *span,
                                int redundant);
/* Of joints at one state with its multipliers lambda [m], as dense output has them; NaN or NULL: as
 * AT_STATE.  Drives and contacts are not known. */
perp_status perp_step_forces_state(perp_ctx *ctx, perp_step_forces *forces, double t,
                                   const double *q, const double *v, const double *lambda,
                                   int redundant);

#ifdef __cplusplus
}
#endif

#endif
