/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Keyframes: the one that is the initial state. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <stdlib.h>
#include <string.h>

static const int key_q[] = { 7, 4, 1, 1 }, key_v[] = { 6, 3, 1, 1 };

static const xmlNode *key_next(const mjcf *mj, const xmlNode *node)
{
  const xmlNode *section = node != NULL ? node->parent : perp_xml_child(mj->root, "keyframe");
  const xmlNode *next = node != NULL ? perp_xml_next(node, "key") : perp_xml_child(section, "key");
  while (next == NULL && section != NULL) {
    section = perp_xml_next(section, "keyframe");
    next = perp_xml_child(section, "key");
  }
  return next;
}

static const char *key_name(mjcf *mj, const xmlNode *node, int number)
{
  const char *name = perp_xml_text(mj->robot, node, "name");
  return name != NULL && name[0] != '\0' ? name
                                         : perp_pool_printf(&mj->robot->pool, "number %d", number);
}

/* The numbers of an attribute, exactly n of them; NULL: it is not there, or refused. */
static const double *key_numbers(mjcf *mj, const xmlNode *node, const char *key, int n)
{
  int got;
  const double *v = perp_xml_list(mj->robot, node, key, &got);
  if (v == NULL || got == n) return v;
  perp_xml_refuse(mj->robot, node, "write one number for each coordinate",
                  "'%s' of a keyframe has %d numbers, and the model %d", key, got, n);
  return NULL;
}

static void key_set(mjcf *mj, const xmlNode *node)
{
  perp_robot *robot = mj->robot;
  int nq = 0, nv = 0, mocap = 0;
  for (int j = 0; j < robot->n_joints; j++) {
    nq += key_q[robot->joint[j].kind];
    nv += key_v[robot->joint[j].kind];
  }
  for (int body = 1; body < robot->n_bodies; body++) mocap += robot->body[body].mocap;
  const double *q = key_numbers(mj, node, "qpos", nq), *v = key_numbers(mj, node, "qvel", nv),
               *ctrl = key_numbers(mj, node, "ctrl", robot->n_actuators),
               *place = key_numbers(mj, node, "mpos", 3 * mocap),
               *turn = key_numbers(mj, node, "mquat", 4 * mocap);
  for (int j = 0; j < robot->n_joints; j++) {
    perp_robot_joint *joint = &robot->joint[j];
    const int n = key_q[joint->kind], m = key_v[joint->kind];
    if (q != NULL) {
      memcpy(joint->q, q, (size_t)n * sizeof *q);
      double *quat = n == 7 ? joint->q + 3 : joint->q;
      if (n >= 4 && perp_dot(3, quat, quat) + quat[3] * quat[3] > 0)
        perp_quat_unit(quat);
      else if (n >= 4)
        perp_xml_refuse(robot, node, "write a quaternion",
                        "the quaternion of joint '%s' is zero in a keyframe", joint->name);
      q += n;
    }
    if (v != NULL) {
      memcpy(joint->v, v, (size_t)m * sizeof *v);
      v += m;
    }
  }
  for (int actuator = 0; ctrl != NULL && actuator < robot->n_actuators; actuator++)
    robot->actuator[actuator].ctrl = ctrl[actuator];
  for (int body = 1, k = 0; body < robot->n_bodies; body++) {
    if (!robot->body[body].mocap) continue;
    if (place != NULL) memcpy(robot->body[body].x, place + 3 * k, sizeof robot->body[body].x);
    if (turn != NULL) {
      memcpy(robot->body[body].quat, turn + 4 * k, sizeof robot->body[body].quat);
      perp_quat_unit(robot->body[body].quat);
    }
    k++;
  }
}

void mjcf_key_read(mjcf *mj)
{
  perp_robot *robot = mj->robot;
  const char *wanted = robot->key;
  const xmlNode *found = NULL, *first = key_next(mj, NULL);
  perp_text names = { 0 };
  int n = 0, number = -1;
  if (wanted != NULL && wanted[0] != '\0' && strspn(wanted, "0123456789") == strlen(wanted) &&
      strlen(wanted) < 9)
    number = atoi(wanted);
  for (const xmlNode *node = first; node != NULL; node = key_next(mj, node), n++) {
    const char *name = perp_xml_text(robot, node, "name");
    if (n < 10) perp_text_add(&names, "%s%s", n > 0 ? ", " : "keyframes: ", key_name(mj, node, n));
    if (wanted != NULL && name != NULL && strcmp(name, wanted) == 0) found = node;
    if (found == NULL && n == number) found = node;
  }
  if (wanted != NULL && found == NULL)
    perp_robot_refuse(robot, NULL, 0,
                      n > 0 ? names.s : "leave out --key: the file has no keyframes",
                      "there is no keyframe '%s'", wanted);
  else if (found != NULL)
    key_set(mj, found);
  else if (n > 0)
    perp_robot_note(
        robot,
        "%d keyframe%s (%s%s): the initial state is the pose as drawn; perp import --key "
        "NAME uses a keyframe",
        n, n > 1 ? "s" : "", key_name(mj, first, 0), n > 1 ? ", ..." : "");
  perp_text_free(&names);
}
