/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Distances of incremental potential contact: of each vertex of one shape to the other shape, and
 * of each edge of one to each edge of the other.
 *
 * A shape is a core (a point, a segment, a convex polytope) and a radius around it, or a
 * half-space. The distance of two features is the least one of their points,
 *
 *      d(q) = min |p_b - p_a| - r_a - r_b,
 *
 * whose gradient is that of points that are fixed at the closest ones, and whose second derivative
 * has the slide of the closest points along their edges and faces (see perp_ipc_hessian). */
#ifndef PERP_IPC_TOUCH_H
#define PERP_IPC_TOUCH_H

#include "models/collision/collision.h"
#include "models/multibody/model_private.h"

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

#endif
