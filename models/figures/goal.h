/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A motion that controllers follow, in joint coordinates, with the forces that it takes. */
#ifndef PERP_GOAL_H
#define PERP_GOAL_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_goal perp_goal;

/* q [nq], u [nu], udot [nu] of perp_inverse (models/figures/inverse.h) at t; the same numbers for
 * the same t.  perp_playback_joints is one. */
typedef void perp_goal_fn(void *user, double t, double *q, double *u, double *udot);

/* The motion of a finished model.  model: a tree without controllers, as perp_inverse_create asks
 * for it.  On PERP_OK *out owns model and user (destroy NULL: not that); else they stay with the
 * caller and *out is NULL.  Errors: those of perp_inverse_create.  O(n), allocates. */
perp_status perp_goal_create(perp_ctx *ctx, perp_model *model, perp_goal_fn *motion, void *user,
                             void (*destroy)(void *user), perp_goal **out);
/* The same that holds the initial posture of the model. */
perp_status perp_goal_hold(perp_ctx *ctx, perp_model *model, perp_goal **out);
void perp_goal_destroy(perp_goal *goal); /* NULL is fine */
const perp_model *perp_goal_model(const perp_goal *goal);
/* The state of the model at t: q [nq], v [nv].  O(n). */
void perp_goal_state(const perp_goal *goal, double t, double *q, double *v);

/* Of the joint coordinates from `first` on (at most 7) of one joint: q, u, udot, and the forces tau
 * of inverse dynamics. */
typedef struct perp_goal_at {
  double q[7], u[6], udot[6], tau[6];
} perp_goal_at;
/* iq, nq, iu, nu: places and numbers of the joint.  Times are asked for again and again: the
 * numbers of the last one are kept, so that all joints of a model cost one evaluation of the motion
 * and, with forces, one recursion, O(n).  Threads may call it at a time.  No allocation. */
void perp_goal_of(const perp_goal *goal, double t, int iq, int nq, int iu, int nu, bool forces,
                  perp_goal_at *out);

/* A body of the model at t: place, orientation (quaternion), velocities and accelerations, in the
 * plane those of z = 0; w and wdot in its own frame.  Kept in the same way, O(n) for all bodies. */
typedef struct perp_goal_body {
  double x[3], quat[4], v[3], w[3], a[3], wdot[3];
} perp_goal_body;
void perp_goal_body_of(const perp_goal *goal, double t, int body, perp_goal_body *out);

#ifdef __cplusplus
}
#endif

#endif
