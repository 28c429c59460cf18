/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joint coordinates as a manifold: quaternions of ball joints, free bodies and rods are moved on the unit sphere, all
 * other coordinates are plain numbers. */
#include "models/reduced/reduced_private.h"

/* Where the quaternions of a joint are and which rates turn them: q[quat] by u[rate ... ] (rod: two rates) */
typedef struct rotor {
  int quat, rate;
  bool rod;
} rotor;

static int reduced_manifold_rotors(const node *k, rotor r[2])
{
  switch (k->kind) {
  case PERP_REDUCED_FREE:
    r[0] = (rotor){ k->iq + 3, k->iu + 3, false };
    return 1;
  case PERP_REDUCED_BALL:
    r[0] = (rotor){ k->iq, k->iu, false };
    return 1;
  case PERP_REDUCED_DISTANCE:
    r[0] = (rotor){ k->iq, k->iu, true };
    r[1] = (rotor){ k->iq + 4, k->iu + 2, false };
    return 2;
  default:
    return 0;
  }
}

static void reduced_manifold_spin(const rotor *r, const double *u, double w[3])
{
  const double *s = u + r->rate;
  w[0] = r->rod ? 0 : s[0];
  w[1] = r->rod ? s[0] : s[1];
  w[2] = r->rod ? s[1] : s[2];
}

/* coordinates of a joint before its quaternions, which are plain numbers */
static int reduced_manifold_plain(const node *k)
{
  rotor r[2];
  return reduced_manifold_rotors(k, r) > 0 ? r[0].quat - k->iq : k->nq;
}

void perp_reduced_qdot(const perp_reduced_tree *tree, const double *q, const double *u,
                       double *qdot)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = reduced_manifold_rotors(k, r), np = reduced_manifold_plain(k);
    for (int c = 0; c < np; c++) qdot[k->iq + c] = u[k->iu + c];
    for (int c = 0; c < n; c++) {
      double w[3];
      reduced_manifold_spin(&r[c], u, w);
      perp_quat_rate(q + r[c].quat, w, qdot + r[c].quat);
    }
  }
}

void perp_reduced_retract(const perp_reduced_tree *tree, const double *q, const double *dq,
                          double *q_out)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = reduced_manifold_rotors(k, r), np = reduced_manifold_plain(k);
    for (int c = 0; c < np; c++) q_out[k->iq + c] = q[k->iq + c] + dq[k->iu + c];
    for (int c = 0; c < n; c++) {
      double w[3];
      reduced_manifold_spin(&r[c], dq, w);
      perp_quat_retract(q + r[c].quat, w, q_out + r[c].quat);
    }
  }
}

void perp_reduced_difference(const perp_reduced_tree *tree, const double *q0, const double *q1,
                             double *dq)
{
  for (int i = 0; i < tree->n; i++) {
    const node *k = &tree->node[i];
    rotor r[2];
    const int n = reduced_manifold_rotors(k, r), np = reduced_manifold_plain(k);
    for (int c = 0; c < np; c++) dq[k->iu + c] = q1[k->iq + c] - q0[k->iq + c];
    for (int c = 0; c < n; c++) {
      double w[3], *d = dq + r[c].rate;
      perp_quat_difference(q0 + r[c].quat, q1 + r[c].quat, w);
      if (r[c].rod)
        d[0] = w[1], d[1] = w[2]; /* the spin of a rod has no meaning */
      else
        memcpy(d, w, sizeof w);
    }
  }
}

void perp_reduced_project(const perp_reduced_tree *tree, double *q)
{
  for (int i = 0; i < tree->n; i++) {
    rotor r[2];
    const int n = reduced_manifold_rotors(&tree->node[i], r);
    for (int c = 0; c < n; c++) perp_quat_unit(q + r[c].quat);
  }
}
