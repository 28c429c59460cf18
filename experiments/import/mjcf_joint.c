/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

static perp_robot_joint *joint_add(mjcf *mj, const xmlNode *node, int body,
                                   perp_robot_joint_kind kind)
{
  perp_robot *robot = mj->robot;
  const char *name = perp_xml_text(robot, node, "name");
  if (body == 0) {
    perp_xml_refuse(robot, node, "put it into a <body>", "the world has no joint: <%s>",
                    node->name);
    return NULL;
  }
  if (robot->body[body].mocap) perp_xml_refuse(robot, node, "", "a mocap body has no joint");
  if (kind == PERP_ROBOT_FREE && robot->body[body].parent != 0) {
    perp_xml_refuse(robot, node, "put the body into <worldbody>",
                    "a free joint connects a body with the world only");
    return NULL;
  }
  mjcf_table_add(mj, &mj->joints, node, "joint", name, robot->n_joints);
  perp_robot_joint *joint = perp_robot_add_joint(robot, body, kind);
  joint->name = name != NULL ? name : "";
  return joint;
}

void mjcf_free_read(mjcf *mj, const xmlNode *node, int body)
{
  joint_add(mj, node, body, PERP_ROBOT_FREE);
}

/* Where the joint is, in a frame of the body. */
static void joint_place(const mjcf_element *element, perp_robot_joint *joint, const double x[3],
                        const double quat[4])
{
  double place[3] = { 0 }, axis[3] = { 0, 0, 1 }, R[9];
  mjcf_numbers(element, "pos", 3, 3, place);
  mjcf_numbers(element, "axis", 3, 3, axis);
  const double size = sqrt(perp_dot(3, axis, axis));
  if (!(size > 1e-14)) {
    perp_xml_refuse(element->mj->robot, mjcf_with(element, "axis"), "write a direction",
                    "the axis of joint '%s' is zero", joint->name);
    return;
  }
  for (int i = 0; i < 3; i++) axis[i] /= size;
  perp_quat_matrix(quat, R);
  const bool plain = quat[0] == 1;
  for (int i = 0; i < 3; i++) {
    joint->axis[i] = plain ? axis[i] : R[i] * axis[0] + R[i + 3] * axis[1] + R[i + 6] * axis[2];
    joint->x[i] = plain ? x[i] + place[i]
                        : x[i] + (R[i] * place[0] + R[i + 3] * place[1] + R[i + 6] * place[2]);
  }
}

void mjcf_joint_read(mjcf *mj, const mjcf_element *element, int body, const double x[3],
                     const double quat[4])
{
  static const char *const kinds[] = { "free", "ball", "slide", "hinge", NULL };
  perp_robot *robot = mj->robot;
  const perp_robot_joint_kind kind = (perp_robot_joint_kind)mjcf_word(element, "type", kinds,
                                                                      PERP_ROBOT_HINGE);
  perp_robot_joint *joint = joint_add(mj, element->node, body, kind);
  if (joint == NULL) return;
  double pair[2];
  if (kind != PERP_ROBOT_FREE) joint_place(element, joint, x, quat);
  const mjcf_compiler *compiler = mjcf_compiler_of(element->node);
  const bool angle = (kind == PERP_ROBOT_HINGE || kind == PERP_ROBOT_BALL) && !compiler->radian;
  const double unit = angle ? M_PI / 180 : 1;
  mjcf_numbers(element, "range", 2, 2, joint->range);
  joint->limited = kind != PERP_ROBOT_FREE &&
                   mjcf_limited(element, "limited", "range", joint->range);
  for (int i = 0; i < 2; i++) joint->range[i] *= unit;
  if (kind == PERP_ROBOT_SLIDE || kind == PERP_ROBOT_HINGE) {
    joint->ref = mjcf_number(element, "ref", 0) * unit;
    joint->springref = mjcf_number(element, "springref", 0) * unit;
  }
  joint->margin = mjcf_number(element, "margin", 0); /* rad, always */
  joint->stiffness = mjcf_number(element, "stiffness", 0);
  joint->damping = mjcf_number(element, "damping", 0);
  joint->armature = mjcf_number(element, "armature", 0);
  joint->frictionloss = mjcf_number(element, "frictionloss", 0);
  if (mjcf_numbers(element, "springdamper", 2, 2, pair) == 2 && (pair[0] > 0 || pair[1] > 0))
    perp_robot_lost(robot,
                    "springdamper (%g s, %g) of joint %s: a spring and a damper from its inertia",
                    pair[0], pair[1], joint->name);
  mjcf_numbers(element, "actuatorfrcrange", 2, 2, joint->force);
  joint->bounded = mjcf_limited(element, "actuatorfrclimited", "actuatorfrcrange", joint->force);
  if (mjcf_flag(element, "actuatorgravcomp", false))
    perp_robot_note(
        robot,
        "actuatorgravcomp of joint %s: its gravity compensation acts without the bounds "
        "of the actuators",
        joint->name);
  const double sizes[4] = { joint->stiffness, joint->damping, joint->armature,
                            joint->frictionloss };
  for (int i = 0; i < 4; i++)
    if (sizes[i] < 0)
      perp_xml_refuse(robot, element->node, "write 0 or more",
                      "joint '%s' has a negative stiffness, damping, armature or frictionloss: %g",
                      joint->name, sizes[i]);
}

void mjcf_joints_rest(mjcf *mj)
{
  perp_robot *robot = mj->robot;
  for (int j = 0; j < robot->n_joints; j++) {
    perp_robot_joint *joint = &robot->joint[j];
    const perp_robot_body *body = &robot->body[joint->body];
    if (joint->kind == PERP_ROBOT_SLIDE || joint->kind == PERP_ROBOT_HINGE)
      joint->q[0] = joint->ref;
    else if (joint->kind == PERP_ROBOT_FREE) {
      memcpy(joint->q, body->x, sizeof body->x);
      memcpy(joint->q + 3, body->quat, sizeof body->quat);
    }
  }
}
