/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Incremental potential contact: its workspace, and the incremental potential E at the iterate. */
#ifndef PERP_IPC_ENERGY_H
#define PERP_IPC_ENERGY_H

#include "models/collision/broad.h"
#include "models/formulations/schemes/ipc_touch.h"
#include "models/formulations/schemes/scheme.h"
#include "models/geometry/shapes_private.h"
#include "solvers/linalg/sparse_lu.h"

struct perp_ipc_opts {
  double dhat, eps_v, tol, inset;
  int friction_iterations, max_iter;
};

enum { PERP_IPC_CAUSE = 160 };

/* Two points that touched when friction was looked at. */
typedef struct perp_ipc_grip {
  perp_contact contact;
  double r[2][3];     /* in the frames of the bodies */
  double start[2][3]; /* at the start of the step */
  double t[2][3];     /* tangents */
  double belt[3];     /* m: what moving surfaces add to the displacement */
  double weight;      /* mu L */
  double force[3];    /* h^2 times the force on b */
} perp_ipc_grip;

typedef struct perp_ipc {
  perp_scheme s; /* first */
  struct perp_ipc_opts o;
  double dhat, K, rho, inset; /* inset: m */
  perp_model thin;            /* the model with shapes that are thinner by inset / 2 */
  perp_shape *shape;          /* [n_shapes] of it */
  perp_hull **hull;           /* [n_shapes] those that are its own */
  perp_broad broad;
  perp_pose *start; /* [bodies + 1] at the start of the step, lifted, the world first */
  perp_pose *place; /* [bodies + 1] at the iterate */
  double *y, *x, *g, *p, *trial, *scratch; /* [nv] or [nq] */
  double *l, *l_new, *Jp;                  /* [m] */
  double *H;                               /* [nvb nvb bodies] */
  int *head;                               /* [bodies] couplings of a body */
  double *rhs;                             /* [nv + m] */
  perp_arena touches, grips, told;
  perp_ipc_touch *touch;
  double *couple; /* [nvb nvb touches] d2E/dq_a dq_b */
  int *next;      /* [2 touches] couplings, those of grips behind those of touches */
  int n_touch, cap_touch;
  perp_ipc_grip *grip;
  int n_grip, cap_grip;
  perp_contact *contact;
  int cap_contact;
  perp_sparse_lu lu;
  double size;  /* m: largest coordinate */
  double noise; /* rounding of the merit */
  bool bold;    /* the last Newton step was taken whole: H is the Hessian, no bound of it */
  char cause[PERP_IPC_CAUSE];
} perp_ipc;

/* ---- E at the iterate, q ---- */

/* Poses, joints and x at (t, q): the iterate. */
void perp_ipc_evaluate(perp_ipc *w, double t, const double *q);
/* fn of all pairs of shapes that the broad phase has, with their distance and a direction from a to
 * b.  False: fn said so, or they overlap. */
typedef bool perp_ipc_pair_fn(perp_ipc *w, int a, int b, double distance, const double n[3],
                              void *user);
bool perp_ipc_pairs(perp_ipc *w, perp_ipc_pair_fn *fn, void *user);
/* w->touch of the iterate; false: shapes touch, or w->s.status. */
bool perp_ipc_touching(perp_ipc *w);
/* h^2 times the normal force of a touch. */
double perp_ipc_normal(const perp_ipc *w, const perp_ipc_touch *touch);
/* E - l_new'C + rho |C|^2 / 2 in a step h, infinite where shapes touch; w->noise: its rounding. */
double perp_ipc_merit(perp_ipc *w, double h);
/* g, H and couplings of E, with the touches of the iterate; forces of the grips.  False: LAPACK
 * found no eigenvalues. */
bool perp_ipc_derive(perp_ipc *w, double h);
/* w->p and w->l_new of g, H, the couplings and the joints.  False: singular, or w->s.status. */
bool perp_ipc_solve(perp_ipc *w);
/* Room for n of what layout carves, *cap at most; what was there is lost.  False: w->s.status. */
bool perp_ipc_room(perp_ipc *w, perp_arena *arena, perp_layout_fn *layout, int *cap, int n);

#endif
