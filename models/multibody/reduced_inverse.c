/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inverse dynamics of a tree: the recursion of Newton and Euler (Luh, Walker and Paul 1980; in the
 * notation of R. Featherstone, Rigid Body Dynamics Algorithms, 2008, chapter 5, but at the centres
 * of mass and in world axes).
 *
 * From the root to the leaves accelerations, from the leaves to the root the wrench F_i that body i
 * gets through its joint,
 *
 *      a_i = X_i a_l + S_i udot_i + zeta_i
 *
 *      F_i = diag(R I R', m 1) a_i - f_i + sum over children X_c' F_c,   tau_i = S_i' F_i
 *
 * with f_i the force of the model on body i, gravity and the gyroscopic torque in it. */
#include "models/multibody/reduced_private.h"

void perp_reduced_move(perp_reduced_tree *tree, const double *udot)
{
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    memcpy(child->a, child->zeta, sizeof child->a);
    if (child->parent >= 0) {
      const node *parent = &tree->node[child->parent];
      for (int c = 0; c < 6; c++) child->a[c] += parent->a[c];
      add_cross(1, parent->a, child->r, child->a + 3);
    }
    for (int c = 0; c < child->nu; c++) {
      child->y[c] = udot[child->iu + c];
      for (int r = 0; r < 6; r++) child->a[r] += child->S[r + 6 * c] * child->y[c];
    }
  }
}

/* F = (torque, force) that the accelerations of the body need beyond its own force f */
static void reduced_inverse_body(const perp_reduced_tree *tree, const node *child, const double *f,
                                 double F[6])
{
  double w[3], L[3];
  turn_back(child->R, child->a, w);
  turn(child->inertia, w, L);
  turn(child->R, L, F);
  for (int c = 0; c < 3; c++) F[3 + c] = child->mass * child->a[3 + c];
  if (tree->dim == 3) {
    const double *fb = f + 6 * child->body;
    double tau[3];
    turn(child->R, fb + 3, tau);
    for (int c = 0; c < 3; c++) F[c] -= tau[c], F[3 + c] -= fb[c];
  } else {
    const double *fb = f + 3 * child->body;
    F[2] -= fb[2], F[3] -= fb[0], F[4] -= fb[1];
  }
}

void perp_reduced_inverse(perp_reduced_tree *tree, const double *f, double *tau)
{
  for (int i = 0; i < tree->n; i++) reduced_inverse_body(tree, &tree->node[i], f, tree->node[i].p);
  for (int i = tree->n - 1; i >= 0; i--) {
    node *child = &tree->node[i];
    for (int c = 0; c < child->nu; c++) {
      double s = c < PERP_CHAIN_AXES ? child->armature[c] * child->y[c] : 0;
      for (int r = 0; r < 6; r++) s += child->S[r + 6 * c] * child->p[r];
      tau[child->iu + c] = s;
    }
    if (child->parent < 0) continue;
    node *parent = &tree->node[child->parent];
    for (int c = 0; c < 6; c++) parent->p[c] += child->p[c];
    add_cross(1, child->r, child->p + 3, parent->p);
  }
}
