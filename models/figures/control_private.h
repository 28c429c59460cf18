/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One joint of a reference, and what follows it.  Private to its controllers. */
#ifndef PERP_CONTROL_PRIVATE_H
#define PERP_CONTROL_PRIVATE_H

#include "models/figures/control.h"
#include "models/multibody/reduced_tree.h"

/* A joint of the tree: the coordinates that it leaves free. */
typedef struct perp_follow {
  const perp_goal *goal;
  perp_reduced_kind kind; /* free, planar, ball, hinge, slider */
  int iq, nq, iu, nu;
  double anchor_p[3], anchor_c[3], axis_p[3], axis_c[3], rel[9]; /* as of perp_reduced_node */
  /* of forces; of a root unbounded */
  bool feeds, muscle;
  double k[6], c[6]; /* [nu], of a muscle times |tau_ref| */
  double max_force;
} perp_follow;

/* Outer and inner body of it (inner NULL: the world, of a root). */
typedef struct perp_follow_ends {
  const perp_body_state *inner, *outer;
} perp_follow_ends;

/* The element of a joint has its bodies as (inner, outer), that of a root (outer). */
perp_follow_ends perp_follow_bodies(const perp_follow *follow, const perp_body_state *body);
/* Orientation of the outer body against the inner one that the reference has (9) and its angular
 * velocity in the frame of the outer body: of ball, hinge, free and planar. */
void perp_follow_turn(const perp_follow *follow, const perp_goal_at *at, double R[9], double w[3]);
/* The same as `at` of a perp_turning. */
void perp_follow_turning(const perp_follow *follow, double t, bool reversed, double q[4],
                         double w[3]);

/* A point of a body, m in its frame. */
typedef struct perp_follow_mark {
  const perp_goal *goal;
  int body;
  double point[3];
} perp_follow_mark;

/* As plug-ins of their kinds, with a perp_follow (a perp_follow_mark) as options; they are no
 * scene's to name. */
extern const perp_force_desc perp_follow_force;
extern const perp_joint_desc perp_follow_joint, perp_follow_point;

#endif
