/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates of a kinematic tree, and its forward dynamics: see reduced_dynamics.c.
 *
 * Private to models/formulations: the formulation `reduced` marches these coordinates in time. */
#ifndef PERP_REDUCED_TREE_H
#define PERP_REDUCED_TREE_H

#include "models/multibody/model.h"

/* How a body hangs on its parent.  Rates per kind, in the order of the joint velocities u:
 *   FREE      xdot (world), w (child frame)         q = position, quaternion
 *   BALL      relative w (child frame)              q = quaternion child -> parent
 *   HINGE     rate about axis_p                     q = angle from the initial state
 *   UNIVERSAL rates about axis_p, then axis_c       q = two angles
 *   SLIDER    rate along axis_p                     q = displacement p_c - p_p along the axis
 *   FIXED     none
 *   DISTANCE  two rates of the massless rod (its frame: x along the rod, no spin), relative w
 *                                                   q = quaternion rod -> parent, child -> parent
 *   PLANAR    xdot, ydot, angledot                  q = x, y, angle (free body in the plane)
 *   PLANAR_DISTANCE  rod rate, relative body rate   q = two angles
 *   CHAIN_n   rates of n slides and hinges from the parent on (chain.h), of the joints rectangular,
 *             cartesian, skew-hinges, pin-slot and chain
 *                                                   q = their coordinates, 0 in the initial state
 */
typedef enum perp_reduced_kind {
  PERP_REDUCED_FREE,
  PERP_REDUCED_BALL,
  PERP_REDUCED_HINGE,
  PERP_REDUCED_UNIVERSAL,
  PERP_REDUCED_SLIDER,
  PERP_REDUCED_FIXED,
  PERP_REDUCED_DISTANCE,
  PERP_REDUCED_PLANAR,
  PERP_REDUCED_PLANAR_DISTANCE,
  PERP_REDUCED_CHAIN_2,
  PERP_REDUCED_CHAIN_3,
  PERP_REDUCED_CHAIN_4,
  PERP_REDUCED_CHAIN_5
} perp_reduced_kind;

/* One body with the joint to its parent.  Spatial 6-vectors are (angular, linear), world axes,
 * taken at the centre of mass of the body. */
typedef struct perp_reduced_node {
  perp_reduced_kind kind;
  int body, parent; /* parent: node index, -1 = world */
  int iq, nq, iu, nu;
  double anchor_p[3], anchor_c[3]; /* joint point in parent and child frame */
  double axis_p[3], axis_c[3];     /* unit, in parent and child frame */
  double rel[9], rel_angle;        /* orientation child -> parent of the initial state */
  double length;
  int joint;   /* that leads to it from the parent; -1: none */
  bool turned; /* it was written from child to parent */
  const struct perp_chain
      *chain; /* of a chain, from the centre of the parent to that of the child */
  double
      armature[PERP_CHAIN_AXES]; /* on the diagonal of D: of kinds whose rates are those of axes */
  double mass, inertia[9];
  /* position and velocity */
  double R[9], x[3], w[3], xdot[3], angle;
  double r[3];    /* x - x of the parent */
  double S[36];   /* 6 x nu: a = X a_parent + S udot + zeta */
  double zeta[6]; /* accelerations that velocities cause */
  /* articulated body */
  double I[36], p[6], U[36], L[36], y[6], a[6];
} perp_reduced_node;

typedef struct perp_reduced_tree {
  const perp_model *model;
  int dim, n, nq, nu;       /* bodies, joint coordinates and joint velocities */
  perp_reduced_node *node;  /* [n] parents before children */
  struct perp_chain *chain; /* [n] of nodes that have one, in turn */
  int n_chains;
  bool *cut; /* [joints] constraints, not edges of the tree: they close loops or have no coordinates
              */
  int cut_rows; /* rows of these */
} perp_reduced_tree;

/* Sort the bodies of a finished model into a spanning tree rooted in the world (or in the first
 * body of a part that floats), breadth first, so that loops are cut far from it.
 * PERP_ERR_UNSUPPORTED, naming it, for a soft joint, for an armature on an axis that has no
 * coordinate of its own.  O(n). free() destroys *out, which is NULL on
 * failure. */
perp_status perp_reduced_create(perp_ctx *ctx, const perp_model *model, perp_reduced_tree **out);

/* Joint coordinates (q, u) of the maximal state (qm, vm).  A state off the joints is projected:
 * each joint takes the part of the relative motion that it allows. */
void perp_reduced_from_model(perp_reduced_tree *tree, const double *qm, const double *vm, double *q,
                             double *u);
/* Positions, velocities, S and zeta of all bodies at (q, u). */
void perp_reduced_kinematics(perp_reduced_tree *tree, const double *q, const double *u);
/* The maximal state after perp_reduced_kinematics. */
void perp_reduced_to_model(const perp_reduced_tree *tree, double *qm, double *vm);
/* Articulated-body algorithm after perp_reduced_kinematics: udot [nu] from the generalized forces f
 * [nv] of the model (with the gyroscopic term).  false when a joint inertia is not positive
 * definite. O(n), no allocation. */
bool perp_reduced_accelerate(perp_reduced_tree *tree, const double *f, double *udot);
/* What forces f [nv] alone do to the bodies, in du [nu] and in the accelerations: the factors are
 * those of the last of the two functions around this one.  O(n). */
void perp_reduced_respond(perp_reduced_tree *tree, const double *f, double *du);
/* a [nv]: accelerations of the model after any of these. */
void perp_reduced_accelerations(const perp_reduced_tree *tree, double *a);
/* u [nu] from the momenta p [nu] = H(q) u, after perp_reduced_kinematics at q; the accelerations
 * that it has left for perp_reduced_accelerate are lost.  O(n).  false as above. */
bool perp_reduced_velocity(perp_reduced_tree *tree, const double *p, double *u);
/* The momenta p = H(q) u and g = dL/dq by increments as perp_reduced_retract takes them, with the
 * generalized forces f [nv] of the model without the gyroscopic term; after perp_reduced_kinematics
 * at (q, u).  O(n), see reduced_momentum.c. */
void perp_reduced_momentum(perp_reduced_tree *tree, const double *u, const double *f, double *p,
                           double *g);
/* start, end [nu]: the derivative by the start, negative, and by the end of a step dq of what has
 * the derivative p by dq. */
void perp_reduced_transport(const perp_reduced_tree *tree, const double *dq, const double *p,
                            double *start, double *end);
/* The accelerations of all bodies from udot [nu], after perp_reduced_kinematics;
 * perp_reduced_accelerations reads them.  O(n). */
void perp_reduced_move(perp_reduced_tree *tree, const double *udot);
/* tau [nu]: the forces of the joints, tau . u their power, with which the generalized forces f [nv]
 * of the model (with the gyroscopic term) give the accelerations of perp_reduced_move, just called;
 * they stay.  O(n), see reduced_inverse.c. */
void perp_reduced_inverse(perp_reduced_tree *tree, const double *f, double *tau);
/* qdot = N(q) u,  q_out = q [+] dq,  dq = q1 [-] q0,  unit quaternions. */
void perp_reduced_qdot(const perp_reduced_tree *tree, const double *q, const double *u,
                       double *qdot);
void perp_reduced_retract(const perp_reduced_tree *tree, const double *q, const double *dq,
                          double *q_out);
void perp_reduced_difference(const perp_reduced_tree *tree, const double *q0, const double *q1,
                             double *dq);
/* Are there rods of distances?  Their directions are no group. */
bool perp_reduced_rods(const perp_reduced_tree *tree);
/* du = dexp^-1_u(v), the rate of an increment u, of trees without rods.  du may alias v. */
void perp_reduced_dexpinv(const perp_reduced_tree *tree, const double *u, const double *v,
                          double *du);
void perp_reduced_project(const perp_reduced_tree *tree, double *q);
/* True when udot depends on q only: no force element needs velocities, and every body has a joint
 * of its own to the world of a kind whose coordinates no Coriolis or centrifugal term reaches. */
bool perp_reduced_position_only(const perp_reduced_tree *tree);

#endif
