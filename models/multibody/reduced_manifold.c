/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates as a manifold: quaternions of ball joints, free bodies and rods are moved on
 * the unit sphere, all other coordinates are plain numbers. */
#include "models/multibody/reduced_private.h"

static void reduced_manifold_spin(const perp_reduced_rotor *rotor, const double *u, double w[3])
{
  const double *s = u + rotor->rate;
  w[0] = rotor->rod ? 0 : s[0];
  w[1] = rotor->rod ? s[0] : s[1];
  w[2] = rotor->rod ? s[1] : s[2];
}

void perp_reduced_qdot(const perp_reduced_tree *tree, const double *q, const double *u,
                       double *qdot)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    for (int c = 0; c < joint->plain; c++) qdot[child->iq + c] = u[child->iu + c];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++) {
      double w[3];
      const int at = child->iq + joint->rotor[rotor].quat;
      reduced_manifold_spin(&joint->rotor[rotor], u + child->iu, w);
      perp_quat_rate(q + at, w, qdot + at);
    }
  }
}

void perp_reduced_retract(const perp_reduced_tree *tree, const double *q, const double *dq,
                          double *q_out)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    for (int c = 0; c < joint->plain; c++)
      q_out[child->iq + c] = q[child->iq + c] + dq[child->iu + c];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++) {
      double w[3];
      const int at = child->iq + joint->rotor[rotor].quat;
      reduced_manifold_spin(&joint->rotor[rotor], dq + child->iu, w);
      perp_quat_retract(q + at, w, q_out + at);
    }
  }
}

/* Two directions on the sphere that a rod points to: across a step of angle a neighbouring ways
 * grow apart as sin a / a */
static void reduced_manifold_transport_rod(const double d[2], const double p[2], double start[2],
                                           double end[2])
{
  const double a2 = d[0] * d[0] + d[1] * d[1], a = sqrt(a2);
  /* a cot a - 1 and a / sin a - 1, both over a^2 */
  double cot = -1.0 / 3 - a2 / 45, sine = 1.0 / 6 + 7 * a2 / 360;
  if (a > 1e-3) cot = (a / tan(a) - 1) / a2, sine = (a / sin(a) - 1) / a2;
  const double across = d[0] * p[1] - d[1] * p[0];
  const double n[2] = { -d[1] * across, d[0] * across }; /* a^2 times the part of p across d */
  for (int i = 0; i < 2; i++) {
    start[i] = p[i] + cot * n[i];
    end[i] = p[i] + sine * n[i];
  }
}

void perp_reduced_transport(const perp_reduced_tree *tree, const double *dq, const double *p,
                            double *start, double *end)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    memcpy(start + child->iu, p + child->iu, (size_t)child->nu * sizeof *p);
    memcpy(end + child->iu, p + child->iu, (size_t)child->nu * sizeof *p);
    for (int rotor = 0; rotor < joint->n_rotors; rotor++) {
      const int at = child->iu + joint->rotor[rotor].rate;
      if (joint->rotor[rotor].rod)
        reduced_manifold_transport_rod(dq + at, p + at, start + at, end + at);
      else
        perp_quat_transport(dq + at, p + at, start + at, end + at);
    }
  }
}

void perp_reduced_difference(const perp_reduced_tree *tree, const double *q0, const double *q1,
                             double *dq)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    for (int c = 0; c < joint->plain; c++)
      dq[child->iu + c] = q1[child->iq + c] - q0[child->iq + c];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++) {
      const int at = child->iq + joint->rotor[rotor].quat;
      double w[3], *d = dq + child->iu + joint->rotor[rotor].rate;
      perp_quat_difference(q0 + at, q1 + at, w);
      if (joint->rotor[rotor].rod)
        d[0] = w[1], d[1] = w[2]; /* the spin of a rod has no meaning */
      else
        memcpy(d, w, sizeof w);
    }
  }
}

bool perp_reduced_rods(const perp_reduced_tree *tree)
{
  for (int i = 0; i < tree->n; i++) {
    const perp_reduced_joint *joint = &perp_reduced_joints[tree->node[i].kind];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++)
      if (joint->rotor[rotor].rod) return true;
  }
  return false;
}

void perp_reduced_dexpinv(const perp_reduced_tree *tree, const double *u, const double *v,
                          double *du)
{
  if (du != v) memcpy(du, v, (size_t)tree->nu * sizeof *v);
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++) {
      const int at = child->iu + joint->rotor[rotor].rate;
      perp_quat_dexpinv(u + at, v + at, du + at);
    }
  }
}

void perp_reduced_project(const perp_reduced_tree *tree, double *q)
{
  for (int i = 0; i < tree->n; i++) {
    const node *child = &tree->node[i];
    const perp_reduced_joint *joint = &perp_reduced_joints[child->kind];
    for (int rotor = 0; rotor < joint->n_rotors; rotor++)
      perp_quat_unit(q + child->iq + joint->rotor[rotor].quat);
  }
}
