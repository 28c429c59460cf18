/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Momenta of joint coordinates, and the derivatives of the Lagrangian L = T - V by the coordinates.
 *
 * With the momentum h = (angular, linear) of all bodies beyond a joint and the forces F on them,
 * both at the centre of mass of the child, and a column S of the joint there,
 *
 *      p = S . h,   g = dL/dq = (v x S) . h + S . F,   v x S = (w x S_w, w x S_x + xdot x S_w)
 *
 * where v is the velocity, taken at the centre of mass of the child, of a body that the joint has
 * not moved yet: turning all that is beyond leaves its own rates alone, so that the velocities
 * there change by S x (velocity - v).  S of a rod is a translation across it that turns with it:
 * its change adds -u d, d along the rod, to w x S. The derivatives are those by an increment as
 * perp_reduced_retract takes it, with u held: (I u) x u of a turning body is no part of g.  R.
 * Featherstone, Rigid Body Dynamics Algorithms, 2008, section 2.9 on S and its rate.
 *
 * O(n), no allocation. */
#include "models/multibody/reduced_private.h"

/* The vector along the rod that S turns with, of the length of the rod. */
static void reduced_momentum_rod(const node *child, double d[3])
{
  static const double e_z[3] = { 0, 0, 1 };
  perp_cross(child->S + 3, child->kind == PERP_REDUCED_DISTANCE ? child->S + 9 : e_z, d);
  for (int i = 0; child->kind == PERP_REDUCED_DISTANCE && i < 3; i++) d[i] /= child->length;
}

static double reduced_momentum_dot(const double a[6], const double b[6])
{
  return dot(a, b) + dot(a + 3, b + 3);
}

/* p and g of a joint: h and f are the momentum of what is beyond it and the force on that. */
static void reduced_momentum_joint(const node *child, const double *u, const double h[6],
                                   const double f[6], double *p, double *g)
{
  const signed char *group = perp_reduced_joints[child->kind].group;
  const bool rod = child->kind == PERP_REDUCED_DISTANCE ||
                   child->kind == PERP_REDUCED_PLANAR_DISTANCE;
  double v[6];
  memcpy(v, child->w, 3 * sizeof *v);
  memcpy(v + 3, child->xdot, 3 * sizeof *v);
  int last = 0;
  while (last + 1 < PERP_CHAIN_AXES && group[last + 1] > 0) last++;
  for (int i = last, end = child->nu; i >= 0; i--) {
    const int first = end - group[i];
    for (int c = first; c < end; c++)
      for (int a = 0; a < 6; a++) v[a] -= child->S[6 * c + a] * u[c];
    for (int c = first; c < end; c++) {
      const double *S = child->S + 6 * c;
      double moved[6] = { 0 };
      add_cross(1, v, S, moved);
      add_cross(1, v, S + 3, moved + 3);
      add_cross(1, v + 3, S, moved + 3);
      if (rod && i == 0) {
        double d[3];
        reduced_momentum_rod(child, d);
        for (int a = 0; a < 3; a++) moved[3 + a] -= u[c] * d[a];
      }
      p[c] = reduced_momentum_dot(S, h) + (c < PERP_CHAIN_AXES ? child->armature[c] * u[c] : 0);
      g[c] = reduced_momentum_dot(S, f) + reduced_momentum_dot(moved, h);
    }
    end = first;
  }
}

void perp_reduced_momentum(perp_reduced_tree *tree, const double *u, const double *f, double *p,
                           double *g)
{
  /* each body alone: momentum in y, force in p */
  for (int i = 0; i < tree->n; i++) {
    node *child = &tree->node[i];
    double w[3], L[3];
    turn_back(child->R, child->w, w);
    turn(child->inertia, w, L);
    turn(child->R, L, child->y);
    for (int a = 0; a < 3; a++) child->y[3 + a] = child->mass * child->xdot[a];
    if (tree->dim == 3) {
      const double *fb = f + 6 * child->body;
      turn(child->R, fb + 3, child->p);
      memcpy(child->p + 3, fb, 3 * sizeof *fb);
    } else {
      const double *fb = f + 3 * child->body;
      memset(child->p, 0, sizeof child->p);
      child->p[2] = fb[2], child->p[3] = fb[0], child->p[4] = fb[1];
    }
  }
  for (int i = tree->n - 1; i >= 0; i--) {
    const node *child = &tree->node[i];
    reduced_momentum_joint(child, u + child->iu, child->y, child->p, p + child->iu, g + child->iu);
    if (child->parent < 0) continue;
    node *parent = &tree->node[child->parent];
    for (int a = 0; a < 6; a++) parent->y[a] += child->y[a], parent->p[a] += child->p[a];
    add_cross(1, child->r, child->y + 3, parent->y);
    add_cross(1, child->r, child->p + 3, parent->p);
  }
}
