/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Chains of slides and hinges between two bodies, with massless links between: see chain.c. */
#ifndef PERP_CHAIN_H
#define PERP_CHAIN_H

#include "models/multibody/model_private.h"

/* A chain ready for evaluation: axes from body a on, in the frame of a as they are at q = 0, which
 * is the initial state. */
typedef struct perp_chain {
  int n;
  bool slides[PERP_CHAIN_AXES];
  double along[PERP_CHAIN_AXES][3], at[PERP_CHAIN_AXES][3]; /* at: m, of hinges */
  double R[9], x[3]; /* q = 0: orientation of b, and the place of `end`, in a */
  double end[3];     /* m, in b: the point of b that is compared */
  double size;       /* m: an angle of 1 rad counts as this length */
} perp_chain;

/* Of a simulation: what the chain was at the last accepted state.  basis: 6 x 6 column-major,
 * orthonormal in (m, size rad) in the frame of a: n directions that the axes had at some state,
 * then 6 - n across them. */
typedef struct perp_chain_memory {
  double q[PERP_CHAIN_AXES], basis[36];
} perp_chain_memory;

/* A chain at a pose of its bodies. */
typedef struct perp_chain_at {
  double R[9], x[3];                                        /* of b in a, as in perp_chain */
  double q[PERP_CHAIN_AXES];                                /* coordinates of the axes */
  double along[PERP_CHAIN_AXES][3], at[PERP_CHAIN_AXES][3]; /* axes at q, in a */
  double D[9], E[6];             /* what is left: orientation of b against the end of the chain */
  double M[6 * PERP_CHAIN_AXES]; /* -dE/dq */
  double Kinv[PERP_CHAIN_AXES * PERP_CHAIN_AXES]; /* inverse of basis' M, row-major */
  double det;                                     /* of basis' M */
  double basis[36];
} perp_chain_at;

/* A frame that axes move one after the other. */
typedef struct perp_chain_motion {
  double R[9], w[3], alpha[3]; /* in: of body a; out: of body b */
  double x[3], v[3], a[3];     /* of the end, from the origin of a, as if that were at rest */
  double along[PERP_CHAIN_AXES][3], at[PERP_CHAIN_AXES][3];
} perp_chain_motion;

/* Has the joint a chain?  Those of rectangular, cartesian, skew hinges and pin-slot serve joint
 * coordinates alone. */
bool perp_chain_is(const perp_joint_def *def);
/* From the definition and the initial coordinates of the bodies (NULL: the world). */
void perp_chain_compile(const perp_joint_def *def, int dim, const double *qa, const double *qb,
                        perp_chain *chain);
/* The memory at q [n], NULL: at 0.  Returns the smallest part of a direction that those before it
 * do not have. */
double perp_chain_start(const perp_chain *chain, const double *q, perp_chain_memory *memory);
/* The chain as seen from the centre of body b (turned), or from that of a, to the centre of the
 * other one. */
void perp_chain_centred(const perp_chain *chain, bool turned, perp_chain *out);
/* Places, velocities and, where u is not NULL, accelerations for udot = 0. */
void perp_chain_move(const perp_chain *chain, const double *q, const double *u,
                     perp_chain_motion *m);
/* Coordinates and derivatives at the poses A, B in space.  O(n^3), some microseconds; no
 * allocation. */
void perp_chain_solve(const perp_chain *chain, const perp_chain_memory *memory, const perp_pose *A,
                      const perp_pose *B, perp_chain_at *at);
/* y [6]: the derivative of coordinate i, or of row i - n, is y . (rate of E that the bodies make).
 * Returns its value. */
double perp_chain_covector(const perp_chain *chain, const perp_chain_at *at, int i, double y[6]);
/* Every ld-th number of Ja and Jb [6], unless they are NULL, of what y is the covector of. */
void perp_chain_jacobian(const perp_chain *chain, const perp_chain_at *at, const perp_pose *A,
                         const double y[6], int ld, double *Ja, double *Jb);
/* u [n], the rates of the coordinates, and g [6] so that y . g is the second derivative of what y
 * is the covector of where the velocities va, vb [6] are constant. */
void perp_chain_bias(const perp_chain *chain, const perp_chain_at *at, const perp_pose *A,
                     const double *va, const double *vb, double *u, double g[6]);
/* All chains with hinges at the poses of eval, an accepted state, in sim.chain of the model.  The
 * first joint whose axes have become dependent, -1: none has. */
int perp_chains_follow(perp_model *model, const perp_eval *eval);
/* The joints of kind chain at the poses of eval. */
void perp_chains_evaluate(const perp_model *model, perp_eval *eval);
/* What that has found of one, or *own where nobody has evaluated them. */
const perp_chain_at *perp_chain_found(const perp_model *model, const perp_joint *joint,
                                      const perp_eval *eval, perp_chain_at *own);
/* An accepted state.  false: the axes have become dependent, or have passed such a position. */
bool perp_chain_follow(const perp_chain *chain, const perp_pose *A, const perp_pose *B,
                       perp_chain_memory *memory);

#endif
