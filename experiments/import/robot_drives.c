/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, springs, damping, armature and dry friction of joints as drives: limits, and the servo
 * -stiffness (q - springref) - damping q' without a bound; dry friction is a motor of velocity 0
 * and that force. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"

#include <math.h>

void perp_rs_drive_begin(perp_rs *rs, const char *name, const perp_rs_axis *axis, double zero)
{
  fputs("  - { name: ", rs->out);
  perp_write_quoted(rs->out, name);
  fputs(", joint: ", rs->out);
  perp_write_quoted(rs->out, axis->joint);
  fprintf(rs->out, ", axis: %s", axis->axis);
  perp_rs_number(rs, "zero", axis->sign * zero);
}

/* A joint that an equality constraint locks: where. */
static bool drives_locked(const perp_rs *rs, int j, double *at)
{
  const perp_robot *robot = rs->robot;
  if (robot->off.equality || robot->off.constraint) return false;
  for (int e = 0; e < robot->n_equalities; e++) {
    const perp_robot_equality *equality = &robot->equality[e];
    if (equality->kind != PERP_ROBOT_COUPLE || !equality->active || equality->a != j ||
        equality->b >= 0)
      continue;
    *at = equality->poly[0] + robot->joint[j].ref;
    return true;
  }
  return false;
}

/* Limits where the angle is known: the side that is beyond becomes infinite.  Is one left? */
static bool drives_limits(perp_rs *rs, const char *name, const perp_rs_axis *axis, double *lower,
                          double *upper)
{
  double *const side[] = { lower, upper };
  for (int i = 0; i < 2; i++) {
    if (*side[i] >= axis->least && *side[i] <= axis->most) continue;
    perp_robot_lost(rs->robot,
                    "limit %.4g rad of joint %s: perp computes this angle between %.4g and %.4g "
                    "only",
                    *side[i], name, axis->least, axis->most);
    *side[i] = i == 0 ? -HUGE_VAL : HUGE_VAL;
  }
  return *lower > -HUGE_VAL || *upper < HUGE_VAL;
}

static void drives_joint(perp_rs *rs, int j)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_joint *joint = &robot->joint[j];
  const perp_rs_axis *axis = &rs->axis[j];
  const char *name = perp_rs_joint_name(rs, j);
  const double q = joint->q[0], k = robot->off.spring ? 0 : joint->stiffness,
               c = robot->off.damper ? 0 : joint->damping;
  const double dry = robot->off.frictionloss || robot->off.constraint ? 0 : joint->frictionloss;
  double lower = joint->range[0], upper = joint->range[1];
  bool limited = joint->limited && !robot->off.limit && !robot->off.constraint;
  if (limited) limited = drives_limits(rs, name, axis, &lower, &upper);
  if (drives_locked(rs, j, &lower)) {
    upper = lower;
    limited = true;
  }
  if (limited || k > 0 || c > 0 || joint->armature > 0) {
    perp_rs_drive_begin(rs, name, axis, q);
    if (limited) {
      perp_rs_number(rs, "lower", axis->sign > 0 ? lower : -upper);
      perp_rs_number(rs, "upper", axis->sign > 0 ? upper : -lower);
    }
    if (k > 0) {
      perp_rs_number(rs, "stiffness", k);
      perp_rs_number(rs, "target", axis->sign * joint->springref);
    }
    if (c > 0) perp_rs_number(rs, "damping", c);
    if (k > 0 || c > 0) perp_rs_number(rs, "max_force", HUGE_VAL);
    if (joint->armature > 0) perp_rs_number(rs, "armature", joint->armature);
    fputs(" }\n", rs->out);
  }
  if (limited && joint->margin != 0)
    perp_robot_lost(rs->robot,
                    "margin %.4g of joint %s: in MuJoCo the limits act before they are reached",
                    joint->margin, name);
  if (dry > 0) {
    perp_rs_drive_begin(rs, perp_pool_printf(&rs->robot->pool, "%s, dry friction", name), axis, q);
    perp_rs_number(rs, "velocity", 0);
    perp_rs_number(rs, "max_force", dry);
    fputs(" }\n", rs->out);
  }
  if (c > 0 || dry > 0 || limited) rs->dissipative = true;
}

/* What a joint without a drive would do: balls, free bodies, angles of a ball. */
static void drives_lost(perp_rs *rs, int j)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_joint *joint = &robot->joint[j];
  const char *name = perp_rs_joint_name(rs, j);
  const perp_robot_body *root = &robot->body[robot->body[joint->body].root];
  const char *whose = joint->kind == PERP_ROBOT_BALL    ? "a ball joint"
                      : root->n_joints > 3              ? "one of the motions of a free body"
                      : joint->kind == PERP_ROBOT_HINGE ? "an angle of a ball joint"
                                                        : "a free body";
  if (joint->limited && !robot->off.limit && !robot->off.constraint)
    perp_robot_lost(rs->robot, "limits [%.4g, %.4g] of joint %s, %s: the joint moves freely here",
                    joint->range[0], joint->range[1], name, whose);
  if (joint->stiffness != 0 && !robot->off.spring)
    perp_robot_lost(rs->robot,
                    "stiffness %.4g of joint %s, %s: a force towards the reference position",
                    joint->stiffness, name, whose);
  if (joint->damping != 0 && joint->kind != PERP_ROBOT_FREE && !robot->off.damper)
    perp_robot_lost(rs->robot, "damping %.4g of joint %s, %s: a force against the motion",
                    joint->damping, name, whose);
  if (joint->armature != 0)
    perp_robot_lost(rs->robot, "armature %.4g of joint %s, %s: inertia of this motion alone",
                    joint->armature, name, whose);
  if (joint->frictionloss != 0 && !robot->off.frictionloss && !robot->off.constraint)
    perp_robot_lost(rs->robot, "dry friction %.4g of joint %s, %s: a force against the motion",
                    joint->frictionloss, name, whose);
}

void perp_rs_drives(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  fputs("drives:\n", rs->out);
  for (int j = 0; j < robot->n_joints; j++)
    if (rs->axis[j].joint != NULL)
      drives_joint(rs, j);
    else
      drives_lost(rs, j);
}
