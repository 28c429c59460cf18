/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of joints along the coordinates of drives: by their power, force_k = tau . (du / dxdot_k).
 */
#include "models/figures/inverse_private.h"
#include "models/multibody/chain.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

/* The child against the parent turns about e (world, unit) where xdot of the drive is 1, and all
 * other angles stand still. axis_a in A (R_a), axis_b in B; the drive tells of b against a. */
static void inverse_drives_axis(const perp_drive_def *drive, const perp_joint_def *joint,
                                const double *Ra, const double *Rb, double e[3])
{
  double a[3], b[3];
  perp_turn(3, Ra, joint->axis_a, a);
  perp_turn(3, Rb, joint->axis_b, b);
  if (drive->axis == PERP_DRIVE_NODE)
    perp_cross(a, b, e);
  else
    memcpy(e, drive->axis == PERP_DRIVE_A ? a : b, sizeof a);
  const double size = sqrt(perp_dot(3, e, e));
  for (int i = 0; i < 3; i++) e[i] /= size;
}

static double inverse_drives_one(const perp_inverse *inverse, const perp_drive_def *drive,
                                 const perp_reduced_node *node, const double *tau)
{
  const perp_joint_def *joint = perp_model_joint(inverse->model, drive->joint);
  static const double one[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
  const double sign = joint->b == node->body ? 1 : -1;
  const double *up = node->parent < 0 ? one : inverse->tree->node[node->parent].R;
  double e[3], local[3];
  switch (node->kind) {
  case PERP_REDUCED_SLIDER:
  case PERP_REDUCED_HINGE:
    return sign * tau[node->iu];
  case PERP_REDUCED_UNIVERSAL: {
    /* the first rate is about the axis of the parent */
    const bool first = (drive->axis == PERP_DRIVE_A) == (sign > 0);
    return sign * tau[node->iu + (first ? 0 : 1)];
  }
  case PERP_REDUCED_BALL:
    inverse_drives_axis(drive, joint, sign > 0 ? up : node->R, sign > 0 ? node->R : up, e);
    perp_turn_back(3, node->R, e, local);
    return sign * perp_dot(3, local, tau + node->iu);
  case PERP_REDUCED_CHAIN_2:
  case PERP_REDUCED_CHAIN_3:
  case PERP_REDUCED_CHAIN_4:
  case PERP_REDUCED_CHAIN_5: { /* of its own axis alone, in the order from the parent on */
    const int axis = perp_chain_axis_of(drive->axis);
    return tau[node->iu + (node->turned ? node->nu - 1 - axis : axis)];
  }
  default:
    return (double)NAN;
  }
}

void perp_inverse_drives(perp_inverse *inverse, const double *q, const double *u, const double *tau,
                         double *force)
{
  perp_reduced_kinematics(inverse->tree, q, u);
  for (int i = 0; i < perp_model_drives(inverse->model); i++) {
    const perp_drive_def *drive = perp_model_drive(inverse->model, i);
    const perp_joint_def *joint = perp_model_joint(inverse->model, drive->joint);
    const int a = joint->a < 0 ? -1 : inverse->node_of[joint->a],
              b = joint->b < 0 ? -1 : inverse->node_of[joint->b];
    const int n = b >= 0 && inverse->joint[b] == drive->joint ? b : a;
    force[i] = inverse_drives_one(inverse, drive, &inverse->tree->node[n], tau);
  }
}
