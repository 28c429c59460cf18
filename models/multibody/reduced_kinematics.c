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
    node *child = &tree->node[i];
    const node *parent = parent_of(tree, child);
    perp_reduced_relative at = { .dim = dim,
                                 .model = tree->model,
                                 .parent = parent,
                                 .q = qm + child->body * nqb,
                                 .v = vm + child->body * nvb };
    /* pose and velocity, as given */
    perp_reduced_pose(tree->model, qm, child->body, child->x, child->R, &child->angle);
    for (int c = 0; c < 3; c++) child->xdot[c] = c < dim ? at.v[c] : 0;
    if (dim == 3)
      turn(child->R, at.v + 3, child->w);
    else
      child->w[0] = child->w[1] = 0, child->w[2] = at.v[2];

    /* relative motion: orientation, angular velocity, joint points */
    double rho_p[3], rho_c[3];
    multiply_transposed(parent->R, child->R, at.R);
    turn(parent->R, child->anchor_p, rho_p);
    turn(child->R, child->anchor_c, rho_c);
    for (int c = 0; c < 3; c++) {
      at.w[c] = child->w[c] - parent->w[c];
      at.d[c] = (child->x[c] + rho_c[c]) - (parent->x[c] + rho_p[c]);
      at.ddot[c] = child->xdot[c] - parent->xdot[c];
    }
    add_cross(1, child->w, rho_c, at.ddot);
    add_cross(-1, parent->w, rho_p, at.ddot);
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    if (joint->coordinates != NULL) joint->coordinates(child, &at, q + child->iq, u + child->iu);
  }
}

void perp_reduced_kinematics(perp_reduced_tree *tree, const double *q, const double *u)
{
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    const node *parent = parent_of(tree, child);
    memset(child->zeta, 0, sizeof child->zeta);
    if (joint->place != NULL) {
      joint->place(child, q + child->iq, u + child->iu);
      memcpy(child->r, child->x, sizeof child->r);
      continue;
    }
    perp_reduced_moved move = { .dim = tree->dim, .parent = parent };
    child->angle = parent->angle + child->rel_angle;
    joint->move(child, q + child->iq, u + child->iu, &move);

    /* centre of mass:  x = xp + rho_p + d - rho_c */
    const double *rho_c = move.rho_c, minus[3] = { -rho_c[0], -rho_c[1], -rho_c[2] };
    double rho_p[3];
    turn(parent->R, child->anchor_p, rho_p);
    for (int c = 0; c < 3; c++) {
      child->w[c] = parent->w[c] + move.w[c];
      child->r[c] = rho_p[c] + move.d[c] - rho_c[c];
      child->x[c] = parent->x[c] + child->r[c];
      child->xdot[c] = parent->xdot[c] + move.ddot[c];
      child->zeta[3 + c] = move.bias[c];
    }
    add_cross(1, parent->w, rho_p, child->xdot);
    add_cross(-1, child->w, rho_c, child->xdot);
    add_centripetal(parent->w, rho_p, child->zeta + 3);
    add_centripetal(child->w, minus, child->zeta + 3);
    add_cross(1, child->zeta, minus, child->zeta + 3);
  }
}

void perp_reduced_to_model(const perp_reduced_tree *tree, double *qm, double *vm)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    if (tree->dim == 3) {
      double *q = qm + 7 * child->body, *v = vm + 6 * child->body;
      memcpy(q, child->x, sizeof child->x);
      perp_matrix_quat(child->R, q + 3);
      memcpy(v, child->xdot, sizeof child->xdot);
      turn_back(child->R, child->w, v + 3);
    } else {
      double *q = qm + 3 * child->body, *v = vm + 3 * child->body;
      q[0] = child->x[0], q[1] = child->x[1], q[2] = child->angle;
      v[0] = child->xdot[0], v[1] = child->xdot[1], v[2] = child->w[2];
    }
  }
}
