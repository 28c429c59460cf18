/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints whose zero the initial state defines (Cline 2002, section 4.4.1): anchors, axes and
 * lengths move so that C = 0 there, while body a keeps what defines the joint.
 *
 *      ball, hinge, universal, fixed   anchor_b becomes the place of anchor_a (b a particle: the
 *                                      reverse)
 *      hinge, planar, cylindrical      axis_b becomes the direction of axis_a
 *      universal, wheel                axis_b loses its part along axis_a
 *      slider, line, wheel,            anchor_a moves perpendicular to axis_a, onto the line
 *      cylindrical                     through p_b
 *      planar                          anchor_a moves along axis_a, into the plane of p_b
 *      curve                           anchor_a moves by the gap, and the curve with it
 *      distance                        length becomes the distance
 * The relative orientation of slider and fixed joints is that of the initial state in any case. */
#include "models/multibody/model_private.h"

#include <string.h>

/* axis_b along axis_a, or (across) what is left of it without its part along axis_a */
static perp_status set_axis(perp_ctx *ctx, perp_joint_def *def, const perp_pose *A,
                            const perp_pose *B, bool across, const char *who)
{
  double n[3], u[3];
  perp_turn(3, A->R, def->axis_a, n);
  if (across) {
    perp_turn(3, B->R, def->axis_b, u);
    const double part = perp_dot(3, n, u) / perp_dot(3, n, n), before = perp_dot(3, u, u);
    for (int i = 0; i < 3; i++) n[i] = u[i] - part * n[i];
    if (!(perp_dot(3, n, n) > 1e-12 * before))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: axis_a and axis_b are parallel, and so define no zero of the joint",
                       who);
  }
  perp_turn_back(3, B->R, n, def->axis_b);
  return PERP_OK;
}

perp_status perp_joint_define_zero(perp_ctx *ctx, perp_joint_def *def, const perp_curve *curve,
                                   int d, const double *qa, const double *qb, bool keep_a,
                                   bool keep_b, const char *who)
{
  perp_pose A, B;
  double delta[3] = { 0 }, r[3] = { 0 }, gap[3] = { 0 }, tangent[3];
  perp_pose_or_world(d, qa, &A);
  perp_pose_or_world(d, qb, &B);
  perp_between(d, &A, def->anchor_a, &B, def->anchor_b, delta);
  perp_turn_back(d, A.R, delta, r);
  switch (def->kind) {
  case PERP_JOINT_DISTANCE:
    def->length = sqrt(perp_dot(d, delta, delta));
    if (def->length > 0) return PERP_OK;
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: its points coincide, and so define no length", who);
  case PERP_JOINT_CURVE:
    perp_curve_gap(curve, r, gap, tangent);
    break;
  case PERP_JOINT_SLIDER:
  case PERP_JOINT_LINE:
  case PERP_JOINT_WHEEL:
  case PERP_JOINT_CYLINDRICAL:
  case PERP_JOINT_PLANAR: {
    const double along = perp_dot(d, r, def->axis_a) / perp_dot(d, def->axis_a, def->axis_a);
    for (int i = 0; i < d; i++) gap[i] = r[i] - along * def->axis_a[i];
    if (def->kind == PERP_JOINT_PLANAR)
      for (int i = 0; i < d; i++) gap[i] = along * def->axis_a[i];
    if (def->kind == PERP_JOINT_CYLINDRICAL || def->kind == PERP_JOINT_PLANAR)
      PERP_TRY(set_axis(ctx, def, &A, &B, false, who));
    if (def->kind == PERP_JOINT_WHEEL) PERP_TRY(set_axis(ctx, def, &A, &B, true, who));
    break;
  }
  case PERP_JOINT_BALL:
  case PERP_JOINT_HINGE:
  case PERP_JOINT_UNIVERSAL:
  case PERP_JOINT_FIXED:
    if (keep_a && keep_b)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: two particles at different positions define no zero of the joint", who);
    if (keep_b) {
      memcpy(gap, r, sizeof gap);
      break;
    }
    perp_turn_back(d, B.R, delta, r);
    for (int i = 0; i < d; i++) def->anchor_b[i] -= r[i];
    if (d == 3 && (def->kind == PERP_JOINT_HINGE || def->kind == PERP_JOINT_UNIVERSAL))
      return set_axis(ctx, def, &A, &B, def->kind == PERP_JOINT_UNIVERSAL, who);
    return PERP_OK;
  case PERP_JOINT_RECTANGULAR: {
    double axis[3] = { 0 }, n1[3] = { 0 }, n[3];
    if (d == 2) return PERP_OK;
    perp_turn(3, B.R, def->axis_b, axis);
    perp_turn_back(3, A.R, axis, n1);
    perp_cross(def->axis_a, n1, n);
    const double off = perp_dot(3, n, r) / perp_dot(3, n, n);
    for (int i = 0; i < 3; i++) gap[i] = off * n[i];
    break;
  }
  case PERP_JOINT_PIN_SLOT: {
    double axis[3], s[3];
    perp_turn(3, def->hinge_first != 0 ? B.R : A.R,
              def->hinge_first != 0 ? def->axis_b : def->axis_a, axis);
    perp_turn_back(3, A.R, axis, s);
    const double along = perp_dot(3, r, s) / perp_dot(3, s, s);
    for (int i = 0; i < 3; i++) gap[i] = r[i] - along * s[i];
    break;
  }
  case PERP_JOINT_CARTESIAN:
  case PERP_JOINT_CHAIN:
  case PERP_JOINT_SKEW_HINGES: /* every initial state holds */
  case PERP_JOINT_PLUGIN:      /* by itself */
    return PERP_OK;
  }
  for (int i = 0; i < d; i++) def->anchor_a[i] += gap[i];
  return PERP_OK;
}
