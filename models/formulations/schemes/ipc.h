/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Incremental potential contact: its workspace, the incremental potential (ipc_energy.c) and the
 * distances in it (ipc_touch.c).
 *
 * The distances: of each vertex of one shape to the other shape,
 * and of each edge of one to each edge of the other.
 *
 * A shape is a core (a point, a segment, a convex polytope) and a radius around it, or a
 * half-space. The distance of two features is the least one of their points,
 *
 *      d(q) = min |p_b - p_a| - r_a - r_b,
 *
 * whose gradient is that of points that are fixed at the closest ones, and whose second derivative
 * has the slide of the closest points along their edges and faces (see perp_ipc_hessian). */
#ifndef PERP_IPC_H
#define PERP_IPC_H

#include "models/collision/broad.h"
#include "models/formulations/schemes/scheme.h"
#include "models/geometry/shapes_private.h"
#include "solvers/linalg/sparse_lu.h"

enum { PERP_IPC_DOFS = 12 }; /* (v, w) of body a, then of body b, w in the frames of the bodies */

typedef struct perp_ipc_touch {
  int shape[2], body[2];
  unsigned feature;  /* 24 bits, as of perp_contact.id */
  double p[2][3];    /* closest points of the cores, world */
  double n[3];       /* unit, from a to b */
  double core, d;    /* m: of the cores, of the surfaces */
  int slides;        /* directions in which the closest points slide along their features ... */
  double t[2][3];    /* ... d(p_b - p_a) of each, */
  int side[2];       /* of the feature of this side */
  double w;          /* mollifier of nearly parallel edges (Li et al. 2020), 1 elsewhere, and */
  double edge[2][3]; /* where it is less, unit directions of the edges, world */
} perp_ipc_touch;

typedef void perp_ipc_visit(void *user, const perp_ipc_touch *touch);

/* Visit all pairs of features of two shapes that are nearer than `reach`, at the lifted poses of
 * their bodies; n unit: a direction from a to b, by which features are passed over early.  False:
 * the shapes overlap or touch.  O(features), and of those near the other shape O(pairs).  No
 * allocation. */
bool perp_ipc_touches(const perp_model *model, int shape_a, const perp_pose *pose_a, int shape_b,
                      const perp_pose *pose_b, const double n[3], double reach,
                      perp_ipc_visit *visit, void *user);
/* The closest point of the surface of a side. */
void perp_ipc_surface(const perp_model *model, const perp_ipc_touch *touch, int side, double p[3]);
/* g [12] = dd/dq, the derivative by increments of (x, rotation vector in the body frame) of both
 * bodies. */
void perp_ipc_gradient(const perp_ipc_touch *touch, const perp_pose pose[2],
                       double g[PERP_IPC_DOFS]);
/* m [12] = dw/dq, W [12 x 12] = d2w/dq2 of a touch with w < 1. */
void perp_ipc_mollifier(const perp_ipc_touch *touch, const perp_pose pose[2],
                        double m[PERP_IPC_DOFS], double W[PERP_IPC_DOFS * PERP_IPC_DOFS]);
/* H [12 x 12] = d2d/dq2: with u = p_b - p_a, D = |u|, U = du/dq at fixed points of the bodies, T
 * the slides, S = (T'T)^-1 and m = n . d2u/dq ds,
 *
 *      H = U'(1 - nn' - T S T')U / D - U'T S m' - m S T'U - D m S m' + n . d2u/dq2. */
void perp_ipc_hessian(const perp_ipc_touch *touch, const perp_pose pose[2],
                      double H[PERP_IPC_DOFS * PERP_IPC_DOFS]);

/* ---- workspace ---- */

struct perp_ipc_opts {
  double dhat, kappa, eps_v, tol, inset;
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

/* ---- ipc_shapes.c ---- */

/* PERP_ERR_UNSUPPORTED: shapes without features, restitution, two coefficients of friction,
 * compliant joints; the message names them. */
perp_status perp_ipc_serves(perp_ctx *ctx, const perp_model *model);
/* Shape i of w->thin becomes thinner by w->inset / 2 on all sides; w->hull[i] is its hull then.
 * PERP_ERR_UNSUPPORTED: polytopes, and shapes of which nothing is left. */
perp_status perp_ipc_thin(perp_ctx *ctx, perp_ipc *w, int i);

/* ---- ipc_energy.c: E at the iterate, q ---- */

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
