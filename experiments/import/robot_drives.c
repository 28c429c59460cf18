/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Limits, springs, damping, armature and dry friction of joints as drives: limits, and the servo
 * -stiffness (q - springref) - damping q' without a bound; dry friction is a motor of velocity 0
 * and that force. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"

#include <math.h>
#include <string.h>

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
static bool drives_locked(const perp_rs *rs, int joint, double *at)
{
  const perp_robot *robot = rs->robot;
  if (!(robot->acts & PERP_ROBOT_EQUALITIES)) return false;
  for (int e = 0; e < robot->n_equalities; e++) {
    const perp_robot_equality *equality = &robot->equality[e];
    if (equality->kind != PERP_ROBOT_COUPLE || !equality->active || equality->a != joint ||
        equality->b >= 0)
      continue;
    *at = equality->poly[0] + robot->joint[joint].ref;
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

/* What acts along one coordinate: limits, a spring, a damper, dry friction, inertia. */
typedef struct drives_law {
  const char *name;
  bool limited;
  double lower, upper, stiffness, rest, damping, dry, armature, margin;
} drives_law;

static void drives_write(perp_rs *rs, int joint, const drives_law *law)
{
  const perp_rs_axis *axis = &rs->axis[joint];
  const double q = rs->robot->joint[joint].q[0];
  if (law->limited || law->stiffness > 0 || law->damping > 0 || law->armature > 0) {
    perp_rs_drive_begin(rs, law->name, axis, q);
    if (law->limited) {
      perp_rs_number(rs, "lower", axis->sign > 0 ? law->lower : -law->upper);
      perp_rs_number(rs, "upper", axis->sign > 0 ? law->upper : -law->lower);
    }
    if (law->stiffness > 0) {
      perp_rs_number(rs, "stiffness", law->stiffness);
      perp_rs_number(rs, "target", axis->sign * law->rest);
    }
    if (law->damping > 0) perp_rs_number(rs, "damping", law->damping);
    if (law->stiffness > 0 || law->damping > 0) perp_rs_number(rs, "max_force", HUGE_VAL);
    if (law->armature > 0) perp_rs_number(rs, "armature", law->armature);
    fputs(" }\n", rs->out);
  }
  if (law->limited && law->margin != 0)
    perp_robot_lost(rs->robot,
                    "margin %.4g of joint %s: in MuJoCo the limits act before they are reached",
                    law->margin, law->name);
  if (law->dry > 0) {
    perp_rs_drive_begin(rs, perp_pool_printf(&rs->robot->pool, "%s, dry friction", law->name), axis,
                        q);
    perp_rs_number(rs, "velocity", 0);
    perp_rs_number(rs, "max_force", law->dry);
    fputs(" }\n", rs->out);
  }
  if (law->damping > 0 || law->dry > 0 || law->limited) rs->dissipative = true;
}

static void drives_joint(perp_rs *rs, int j)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_joint *joint = &robot->joint[j];
  drives_law law = {
    .name = perp_rs_joint_name(rs, j),
    .limited = joint->limited && robot->acts & PERP_ROBOT_LIMITS,
    .lower = joint->range[0],
    .upper = joint->range[1],
    .stiffness = robot->acts & PERP_ROBOT_SPRINGS ? joint->stiffness : 0,
    .rest = joint->springref,
    .damping = robot->acts & PERP_ROBOT_DAMPERS ? joint->damping : 0,
    .dry = robot->acts & PERP_ROBOT_DRY ? joint->frictionloss : 0,
    .armature = joint->armature,
    .margin = joint->margin,
  };
  if (law.limited) law.limited = drives_limits(rs, law.name, &rs->axis[j], &law.lower, &law.upper);
  if (drives_locked(rs, j, &law.lower)) {
    law.upper = law.lower;
    law.limited = true;
  }
  drives_write(rs, j, &law);
}

/* q_a = value + slope q_b of a coupling that the scene has. */
static bool drives_tie(const perp_rs *rs, const perp_robot_equality *equality, double *slope,
                       double *value)
{
  const perp_robot *robot = rs->robot;
  const double *poly = equality->poly;
  if (equality->kind != PERP_ROBOT_COUPLE || !equality->active || equality->b < 0 ||
      !(robot->acts & PERP_ROBOT_EQUALITIES) || poly[2] != 0 || poly[3] != 0 || poly[4] != 0 ||
      rs->axis[equality->a].joint == NULL || rs->axis[equality->b].joint == NULL)
    return false;
  *slope = poly[1];
  *value = poly[0] + robot->joint[equality->a].ref - *slope * robot->joint[equality->b].ref;
  return true;
}

/* The term of a joint in a sum, a new one where there is none. */
static perp_robot_term *drives_term(perp_robot_term *term, int *n, int joint)
{
  int i = 0;
  while (i < *n && term[i].joint != joint) i++;
  if (i == *n) term[(*n)++] = (perp_robot_term){ joint, 0 };
  return &term[i];
}

bool perp_rs_tendon_single(const perp_rs *rs, int t, perp_rs_single *out)
{
  enum { MOST = 8, PASSES = 4 };
  const perp_robot *robot = rs->robot;
  const perp_robot_tendon *tendon = &robot->tendon[t];
  perp_robot_term term[2 * MOST];
  int n = tendon->n_terms;
  if (n < 1 || n > MOST) return false;
  memcpy(term, tendon->term, (size_t)n * sizeof *term);
  *out = (perp_rs_single){ { -1, 0 }, 0 };
  for (int pass = 0; pass < PASSES && n > 1; pass++)
    for (int equality = 0; equality < robot->n_equalities && n > 1; equality++) {
      double slope, value;
      int at = 0;
      while (at < n && term[at].joint != robot->equality[equality].a) at++;
      if (at == n || !drives_tie(rs, &robot->equality[equality], &slope, &value)) continue;
      const double factor = term[at].factor;
      term[at] = term[--n];
      out->offset += factor * value;
      if (slope != 0) drives_term(term, &n, robot->equality[equality].b)->factor += factor * slope;
    }
  out->term = term[0];
  return n == 1 && term[0].factor != 0 && rs->axis[term[0].joint].joint != NULL;
}

/* A length l = factor q + offset: what acts on l acts by factor on q. */
static void drives_tendon(perp_rs *rs, int t, const perp_rs_single *single)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_tendon *tendon = &robot->tendon[t];
  const double c = single->term.factor, o = single->offset, *range = tendon->range;
  const int joint = single->term.joint;
  drives_law law = {
    .name = perp_pool_printf(&rs->robot->pool, "tendon %s",
                             perp_rs_name(rs, tendon->name, "tendon", t)),
    .limited = tendon->limited && robot->acts & PERP_ROBOT_LIMITS,
    .lower = (range[c > 0 ? 0 : 1] - o) / c,
    .upper = (range[c > 0 ? 1 : 0] - o) / c,
    .stiffness = robot->acts & PERP_ROBOT_SPRINGS ? c * c * tendon->stiffness : 0,
    .rest = (tendon->rest[0] - o) / c,
    .damping = robot->acts & PERP_ROBOT_DAMPERS ? c * c * tendon->damping : 0,
    .dry = robot->acts & PERP_ROBOT_DRY ? fabs(c) * tendon->frictionloss : 0,
    .armature = c * c * tendon->armature,
    .margin = tendon->margin / fabs(c),
  };
  if (law.stiffness > 0 && tendon->rest[0] != tendon->rest[1]) {
    perp_robot_lost(rs->robot,
                    "spring of %s: it has no force between two lengths, [%.4g, %.4g] m; no force "
                    "from it",
                    law.name, tendon->rest[0], tendon->rest[1]);
    law.stiffness = 0;
  }
  if (law.limited)
    law.limited = drives_limits(rs, law.name, &rs->axis[joint], &law.lower, &law.upper);
  drives_write(rs, joint, &law);
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
  if (joint->limited && robot->acts & PERP_ROBOT_LIMITS)
    perp_robot_lost(rs->robot, "limits [%.4g, %.4g] of joint %s, %s: the joint moves freely here",
                    joint->range[0], joint->range[1], name, whose);
  if (joint->stiffness != 0 && robot->acts & PERP_ROBOT_SPRINGS)
    perp_robot_lost(rs->robot,
                    "stiffness %.4g of joint %s, %s: a force towards the reference position",
                    joint->stiffness, name, whose);
  if (joint->damping != 0 && joint->kind != PERP_ROBOT_FREE && robot->acts & PERP_ROBOT_DAMPERS)
    perp_robot_lost(rs->robot, "damping %.4g of joint %s, %s: a force against the motion",
                    joint->damping, name, whose);
  if (joint->armature != 0)
    perp_robot_lost(rs->robot, "armature %.4g of joint %s, %s: inertia of this motion alone",
                    joint->armature, name, whose);
  if (joint->frictionloss != 0 && robot->acts & PERP_ROBOT_DRY)
    perp_robot_lost(rs->robot, "dry friction %.4g of joint %s, %s: a force against the motion",
                    joint->frictionloss, name, whose);
}

/* Limits and dry friction of MuJoCo are springs and dampers of its solver. */
static void drives_rigid(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  int limits = 0, dry = 0;
  if (strcmp(robot->format, "MJCF") != 0) return;
  for (int joint = 0; joint < robot->n_joints; joint++) {
    limits += robot->joint[joint].limited && robot->acts & PERP_ROBOT_LIMITS;
    dry += robot->joint[joint].frictionloss > 0 && robot->acts & PERP_ROBOT_DRY;
  }
  for (int tendon = 0; tendon < robot->n_tendons; tendon++) {
    limits += robot->tendon[tendon].limited && robot->acts & PERP_ROBOT_LIMITS;
    dry += robot->tendon[tendon].frictionloss > 0 && robot->acts & PERP_ROBOT_DRY;
  }
  if (limits > 0)
    perp_robot_note(rs->robot,
                    "limits (%d) are compliant in MuJoCo (solreflimit, solimplimit): here they "
                    "are rigid",
                    limits);
  if (dry > 0)
    perp_robot_note(rs->robot,
                    "dry friction (%d) is compliant in MuJoCo (solreffriction, solimpfriction): "
                    "here it is exact",
                    dry);
}

void perp_rs_drives(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  fputs("drives:\n", rs->out);
  for (int joint = 0; joint < robot->n_joints; joint++)
    if (rs->axis[joint].joint != NULL)
      drives_joint(rs, joint);
    else
      drives_lost(rs, joint);
  for (int tendon = 0; tendon < robot->n_tendons; tendon++) {
    perp_rs_single single;
    if (perp_rs_tendon_single(rs, tendon, &single)) drives_tendon(rs, tendon, &single);
  }
  drives_rigid(rs);
}
