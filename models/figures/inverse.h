/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse dynamics: the forces of the joints of a given motion (Cline 2002, section 5.1.1).
 *
 * A tree of bodies has joint coordinates q [nq] with rates u [nu] (of each joint those that it
 * leaves free) and the root of each part that floats six more (three in the plane).  With J the
 * rows of the joints and H those of their free rates, u = H v, the forces tau [nu] of muscles,
 * motors or of whoever holds the root obey
 *
 *      M a = f + J' lambda + H' tau                (Cline 2002, eq. 5.1 and 5.2)
 *      (J' H') (lambda; tau) = M a - f             (Cline 2002, eq. 5.3)
 *
 * where f are the forces of the model: gravity, springs, drags, the gyroscopic term.  (J; H) is
 * square and regular, so that a motion has one answer.  tau . u is the power of the joints; tau of
 * a root that floats is the force [N] at its centre of mass in the world and the torque [Nm] in its
 * frame, which nobody holds where nothing but the ground touches the figure: perp_inverse_ground
 * finds forces of the ground that take its place.
 *
 * Two ways to it: perp_inverse_recursive, O(n), in joint coordinates, and perp_inverse_kkt, by any
 * KKT formulation, in the coordinates of the model.  They share the model and f, and nothing else.
 * Drives of the model are not asked: tau is the whole force along their coordinates.
 *
 * Coordinates of each kind of joint (child: the body farther from the world):
 *      ball        q: quaternion child -> parent      u: relative angular velocity in the frame of
 * the child hinge       the angle from the initial state; universal: two of them; slider:
 * displacement along the axis distance    the massless rod and the child: two rates of the rod
 * (about y and z of its quaternion, x along it; those of perp_inverse_kkt are in the frame that
 * perp_inverse_joints gives it), three (one in the plane) of the child root        position and
 * quaternion; xdot in the world, w in its frame; in the plane x, y, angle */
#ifndef PERP_INVERSE_H
#define PERP_INVERSE_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_inverse perp_inverse;

/* For a finished model, which must outlive it.  PERP_ERR_UNSUPPORTED, naming the joint: a loop (its
 * forces have no one answer), soft joints, joints without coordinates (line, wheel, curve, planar,
 * cylindrical), prescribed motions; PERP_ERR_NOMEM: *out is NULL.  Allocates all that it needs;
 * O(n). */
perp_status perp_inverse_create(perp_ctx *ctx, const perp_model *model, perp_inverse **out);
void perp_inverse_destroy(perp_inverse *inverse); /* NULL is fine */

int perp_inverse_nq(const perp_inverse *inverse);
int perp_inverse_nu(const perp_inverse *inverse);

/* What the rate u_i and the force tau_i are of. */
typedef struct perp_inverse_coordinate {
  int body, joint;  /* joint -1: the root of a part that floats */
  const char *part; /* "x", "y", "z" of a force (root) or displacement; "rx", "ry", "rz" of a
                       torque; "angle", "angle2" */
  const char *unit; /* of tau: "N", "Nm" */
} perp_inverse_coordinate;
/* i < nu.  O(n). */
perp_inverse_coordinate perp_inverse_what(const perp_inverse *inverse, int i);

/* (q, u) of a state of the model (qm [model nq], vm [model nv]); what is off the joints is
 * projected.  O(n). */
void perp_inverse_joints(perp_inverse *inverse, const double *qm, const double *vm, double *q,
                         double *u);
/* The state and the accelerations am [model nv] of the model at (q, u, udot).  am NULL: without;
 * udot may be NULL then.  O(n). */
void perp_inverse_state(perp_inverse *inverse, const double *q, const double *u, const double *udot,
                        double *qm, double *vm, double *am);

/* tau [nu] of the motion (q, u, udot) at the time t [s].  external [model nv]: generalized forces
 * beyond those of the model, as of contacts (perp_inverse_add_force); NULL: none.  O(n), no
 * allocation. */
void perp_inverse_recursive(perp_inverse *inverse, double t, const double *q, const double *u,
                            const double *udot, const double *external, double *tau);

/* The same from the state (qm, vm) and the accelerations am of the model, as the saddle point
 * system of kkt.h with the rows G = (J; H), one group of them a joint: M a = f + external + G' mu,
 * G a = G am.  kkt: the formulation, NULL or empty: "kkt-sparse" (refined, the most exact one). tau
 * [nu], lambda [model m] out.  The accelerations should hold the joints, J am + Jdot v = 0: else
 * lambda has what it takes to break them.  PERP_ERR_ARG: the formulation stopped (singular, not
 * finite), errors of perp_kkt_create; tau and lambda are undefined then.  Cost: that of the
 * formulation.  Allocates. */
perp_status perp_inverse_kkt(perp_ctx *ctx, perp_inverse *inverse, const char *kkt, double t,
                             const double *qm, const double *vm, const double *am,
                             const double *external, double *tau, double *lambda);

/* tau [nu] at (q, u) as forces of the drives of the model, force [drives], Nm or N: with the
 * coordinates x of the drives (perp_model_drive_coordinate) force_k = sum over i of tau_i du_i /
 * dxdot_k, so that where a joint has drives along all that it leaves free, sum of force_k xdot_k =
 * tau . u of it; of a ball joint these are the axes a, node and b, which are not orthogonal.  What
 * a drive along only some of a joint's freedoms gives is its part if the others stand still.  NaN:
 * a drive of a joint that is not hinge, slider, universal or ball.  O(n + drives), no allocation.
 */
void perp_inverse_drives(perp_inverse *inverse, const double *q, const double *u, const double *tau,
                         double *force);

/* f [model nv] += the generalized force of `force` [N, world] at the point s [m] (frame of the
 * body) at qm. */
void perp_inverse_add_force(const perp_model *model, const double *qm, int body, const double s[3],
                            const double force[3], double *f);

typedef struct perp_inverse_contact {
  int body;
  double point[3];      /* m, in the frame of the body */
  double normal[3], mu; /* in the world, unit: out of the ground; in the plane two numbers */
  double force[3];      /* N, out */
} perp_inverse_contact;

/* Forces of the ground at n contacts that take the place of the root forces of all parts that
 * float, as far as it can push and rub: sum of them equal to the root part of tau in the least
 * squares sense (torques about the centre of mass of the root count by its length scale, `length`
 * m), each inside its friction pyramid of 8 edges, and of all answers one with small forces (|sum -
 * root|^2 + delta |force|^2 over the edges), by non-negative least squares (Lawson and Hanson 1974,
 * algorithm NNLS).  tau [nu]: of perp_inverse_recursive without them, at (q, u, udot); out: what is
 * left with them, its root part included.  *left: of that the largest root force, N or Nm.
 * PERP_ERR_ARG: numbers that are not finite, bodies that do not exist; PERP_ERR_NOMEM.  Allocates;
 * O(n^2) a pivot. */
perp_status perp_inverse_ground(perp_ctx *ctx, perp_inverse *inverse, double t, const double *q,
                                const double *u, const double *udot, double length, int n,
                                perp_inverse_contact *contacts, double *tau, double *left);

#ifdef __cplusplus
}
#endif

#endif
