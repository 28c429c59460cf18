/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates from the maximal state and back; positions, velocities, motion subspaces S and
 * the accelerations zeta that velocities cause, from the root to the leaves.  What the kinds of
 * joints have of their own is the table of reduced_kinds.c. */
#include "models/multibody/reduced_private.h"

void perp_reduced_from_model(perp_reduced_tree *tree, const double *qm, const double *vm, double *q,
                             double *u)
{
  const int dim = tree->dim, nqb = dim == 3 ? 7 : 3, nvb = dim == 3 ? 6 : 3;
  for (int i = 0; i < tree->n; i++) {
    node *k = &tree->node[i];
    const node *l = parent_of(tree, k);
    perp_reduced_relative at = {
      .dim = dim, .parent = l, .q = qm + k->body * nqb, .v = vm + k->body * nvb
    };
    /* pose and velocity, as given */
    perp_reduced_pose(tree->model, qm, k->body, k->x, k->R, &k->angle);
    for (int c = 0; c < 3; c++) k->xdot[c] = c < dim ? at.v[c] : 0;
    if (dim == 3)
      turn(k->R, at.v + 3, k->w);
    else
      k->w[0] = k->w[1] = 0, k->w[2] = at.v[2];

    /* relative motion: orientation, angular velocity, joint points */
    double rho_p[3], rho_c[3];
    multiply_transposed(l->R, k->R, at.R);
    turn(l->R, k->anchor_p, rho_p);
    turn(k->R, k->anchor_c, rho_c);
    for (int c = 0; c < 3; c++) {
      at.w[c] = k->w[c] - l->w[c];
      at.d[c] = (k->x[c] + rho_c[c]) - (l->x[c] + rho_p[c]);
      at.ddot[c] = k->xdot[c] - l->xdot[c];
    }
    add_cross(1, k->w, rho_c, at.ddot);
    add_cross(-1, l->w, rho_p, at.ddot);
    const perp_reduced_joint *joint = &perp_reduced_joints[k->kind];
    if (joint->coordinates != NULL) joint->coordinates(k, &at, q + k->iq, u + k->iu);
  }
}

void perp_reduced_kinematics(perp_reduced_tree *tree, const double *q, const double *u)
{
  for (int i = 0; i < tree->n; i++) {
    node *k = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[k->kind];
    const node *l = parent_of(tree, k);
    memset(k->zeta, 0, sizeof k->zeta);
    if (joint->place != NULL) {
      joint->place(k, q + k->iq, u + k->iu);
      memcpy(k->r, k->x, sizeof k->r);
      continue;
    }
    perp_reduced_moved move = { .dim = tree->dim, .parent = l };
    k->angle = l->angle + k->rel_angle;
    joint->move(k, q + k->iq, u + k->iu, &move);

    /* centre of mass:  x = xp + rho_p + d - rho_c */
    const double *rho_c = move.rho_c, minus[3] = { -rho_c[0], -rho_c[1], -rho_c[2] };
    double rho_p[3];
    turn(l->R, k->anchor_p, rho_p);
    for (int c = 0; c < 3; c++) {
      k->w[c] = l->w[c] + move.w[c];
      k->r[c] = rho_p[c] + move.d[c] - rho_c[c];
      k->x[c] = l->x[c] + k->r[c];
      k->xdot[c] = l->xdot[c] + move.ddot[c];
      k->zeta[3 + c] = move.bias[c];
    }
    add_cross(1, l->w, rho_p, k->xdot);
    add_cross(-1, k->w, rho_c, k->xdot);
    add_centripetal(l->w, rho_p, k->zeta + 3);
    add_centripetal(k->w, minus, k->zeta + 3);
    add_cross(1, k->zeta, minus, k->zeta + 3);
  }
}

void perp_reduced_to_model(const perp_reduced_tree *tree, double *qm, double *vm)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    if (tree->dim == 3) {
      double *q = qm + 7 * k->body, *v = vm + 6 * k->body;
      memcpy(q, k->x, sizeof k->x);
      perp_matrix_quat(k->R, q + 3);
      memcpy(v, k->xdot, sizeof k->xdot);
      turn_back(k->R, k->w, v + 3);
    } else {
      double *q = qm + 3 * k->body, *v = vm + 3 * k->body;
      q[0] = k->x[0], q[1] = k->x[1], q[2] = k->angle;
      v[0] = k->xdot[0], v[1] = k->xdot[1], v[2] = k->w[2];
    }
  }
}
