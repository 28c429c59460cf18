/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints of SDF: axes in the frame of the child, and what couples them. */
#include "experiments/import/sdf_private.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
  TYPE_REVOLUTE,
  TYPE_CONTINUOUS,
  TYPE_PRISMATIC,
  TYPE_BALL,
  TYPE_UNIVERSAL,
  TYPE_FIXED,
  TYPE_REVOLUTE2,
  TYPE_SCREW,
  TYPE_GEARBOX
};

static const char *const sdf_types[] = { "revolute",  "continuous", "prismatic", "ball",
                                         "universal", "fixed",      "revolute2", "screw",
                                         "gearbox",   NULL };

/* v (frame a) in the world, or back. */
static void sdf_turned(const perp_tree_pose *pose, bool back, const double v[3], double w[3])
{
  double R[9];
  perp_quat_matrix(pose->quat, R);
  for (int i = 0; i < 3; i++)
    w[i] = back ? R[3 * i] * v[0] + R[3 * i + 1] * v[1] + R[3 * i + 2] * v[2]
                : R[i] * v[0] + R[i + 3] * v[1] + R[i + 6] * v[2];
}

/* The link that a frame moves with; NULL after an error. */
static const perp_sdf_frame *sdf_end(perp_sdf *sdf, const perp_sdf_joint *joint, const char *name)
{
  const perp_sdf_frame *frame = perp_sdf_find(sdf, joint->scope, name, joint->at);
  for (int i = 0; frame != NULL && frame->link < 0 && i < 100; i++)
    frame = frame->attached != NULL ? perp_sdf_find(sdf, "", frame->attached, joint->at) : NULL;
  if ((frame == NULL || frame->link < 0) && !perp_robot_refused(sdf->robot))
    perp_xml_refuse(sdf->robot, joint->at, "use the name of a link",
                    "'%s' of joint '%s' moves with no link", name, joint->name);
  return frame != NULL && frame->link >= 0 ? frame : NULL;
}

/* Until version 1.4 of the format an axis is in the frame of the model, from 1.5 in that of the
 * joint. */
static bool sdf_axes_of_models(perp_robot *robot, const xmlNode *at)
{
  const char *version = perp_xml_text(robot, perp_xml_calls.xmlDocGetRootElement(at->doc),
                                      "version");
  int major = 0, minor = 0;
  return version != NULL && sscanf(version, "%6d.%6d", &major, &minor) == 2 && major == 1 &&
         minor < 5;
}

/* Axis number k (axis, axis2) as a unit vector of the world. */
static bool sdf_direction(perp_sdf *sdf, const perp_sdf_joint *joint, int k, double world[3])
{
  const xmlNode *at = perp_xml_child(joint->at, k == 0 ? "axis" : "axis2"),
                *xyz = perp_xml_child(at, "xyz");
  double axis[3] = { 0, 0, 1 }, size = 0;
  const char *in = xyz != NULL ? perp_xml_text(sdf->robot, xyz, "expressed_in") : NULL;
  perp_sdf_numbers(sdf, at, "xyz", 3, axis);
  for (int i = 0; i < 3; i++) size += axis[i] * axis[i];
  if (!(size > 0))
    perp_xml_refuse(sdf->robot, at, "write its direction", "an axis of joint '%s' has no length",
                    joint->name);
  const bool model = perp_sdf_true(sdf, at, "use_parent_model_frame",
                                   sdf_axes_of_models(sdf->robot, joint->at));
  const perp_sdf_frame *frame = perp_sdf_find(sdf, joint->scope,
                                              in != NULL && in[0] != '\0' ? in
                                              : model                     ? "__model__"
                                                                          : joint->name,
                                              joint->at);
  if (perp_robot_refused(sdf->robot)) return false;
  for (int i = 0; i < 3; i++) axis[i] /= sqrt(size);
  sdf_turned(&frame->pose, false, axis, world);
  return true;
}

static void sdf_axis(perp_sdf *sdf, const perp_sdf_joint *joint, int k, perp_robot_joint *axis)
{
  const xmlNode *at = perp_xml_child(joint->at, k == 0 ? "axis" : "axis2"),
                *limit = perp_xml_child(at, "limit"), *dynamics = perp_xml_child(at, "dynamics");
  const char *unit = axis->kind == PERP_ROBOT_HINGE ? "rad" : "m";
  static const char *const read[] = { "xyz",   "limit", "dynamics", "use_parent_model_frame",
                                      "mimic", NULL };
  const double low = perp_sdf_number(sdf, limit, "lower", -1e16),
               high = perp_sdf_number(sdf, limit, "upper", 1e16),
               effort = perp_sdf_number(sdf, limit, "effort", -1),
               speed = perp_sdf_number(sdf, limit, "velocity", -1);
  if (low > high)
    perp_xml_refuse(sdf->robot, limit, "exchange the numbers",
                    "joint '%s': its lower limit, %g %s, is above the upper one, %g %s",
                    joint->name, low, unit, high, unit);
  axis->limited = low > -1e15 || high < 1e15;
  axis->range[0] = fmax(low, -1e10);
  axis->range[1] = fmin(high, 1e10);
  axis->damping = perp_sdf_number(sdf, dynamics, "damping", 0);
  axis->frictionloss = perp_sdf_number(sdf, dynamics, "friction", 0);
  axis->stiffness = perp_sdf_number(sdf, dynamics, "spring_stiffness", 0);
  axis->springref = perp_sdf_number(sdf, dynamics, "spring_reference", 0);
  if (axis->damping < 0 || axis->frictionloss < 0 || axis->stiffness < 0)
    perp_xml_refuse(sdf->robot, dynamics, "write it without a sign",
                    "joint '%s': its damping, friction or stiffness is negative", joint->name);
  if (effort > 0 && effort < 1e15)
    perp_tree_say(&sdf->tree, false,
                  "effort bounds actuators; an SDF has none, and nothing is bounded by it",
                  perp_pool_printf(&sdf->robot->pool, "%s %g %s", joint->name, effort,
                                   unit[0] == 'r' ? "N m" : "N"));
  if (speed > 0 && speed < 1e15)
    perp_tree_say(&sdf->tree, true,
                  "largest velocities are bounds of actuators, which are not there",
                  perp_pool_printf(&sdf->robot->pool, "%s %g %s/s", joint->name, speed, unit));
  perp_sdf_rest(sdf, at, read, perp_pool_printf(&sdf->robot->pool, "joint %s", joint->name));
}

static void sdf_axes(perp_sdf *sdf, const perp_sdf_joint *from, perp_tree_joint *joint, int type,
                     const perp_tree_pose *child, const perp_tree_pose *anchor)
{
  static const double z[3] = { 0, 0, 1 };
  const int n = type == TYPE_FIXED ? 0 : type == TYPE_UNIVERSAL || type == TYPE_REVOLUTE2 ? 2 : 1;
  double world[3], axis[3];
  for (int k = 0; k < n && !perp_robot_refused(sdf->robot); k++) {
    perp_robot_joint *one;
    if (type == TYPE_BALL) {
      one = perp_tree_add_axis(joint, PERP_ROBOT_BALL, z);
      if (perp_xml_child(from->at, "axis") != NULL)
        perp_robot_lost(sdf->robot, "axis of ball joint %s: its damping or friction", from->name);
    } else {
      if (!sdf_direction(sdf, from, k, world)) return;
      sdf_turned(child, true, world, axis);
      one = perp_tree_add_axis(joint, type == TYPE_PRISMATIC ? PERP_ROBOT_SLIDE : PERP_ROBOT_HINGE,
                               axis);
      sdf_axis(sdf, from, k, one);
    }
    memcpy(one->x, anchor->x, sizeof one->x);
  }
  if (type != TYPE_SCREW || perp_robot_refused(sdf->robot)) return;
  perp_robot_joint *slide = perp_tree_add_axis(joint, PERP_ROBOT_SLIDE, joint->axis[0].axis);
  memcpy(slide->x, anchor->x, sizeof slide->x);
}

void perp_sdf_joints(perp_sdf *sdf)
{
  static const char *const read[] = { "parent",
                                      "child",
                                      "pose",
                                      "axis",
                                      "axis2",
                                      "thread_pitch",
                                      "screw_thread_pitch",
                                      "gearbox_ratio",
                                      "gearbox_reference_body",
                                      NULL };
  for (int j = 0; j < sdf->n_joints && !perp_robot_refused(sdf->robot); j++) {
    const perp_sdf_joint *from = &sdf->joint[j];
    const int type = perp_xml_word(sdf->robot, from->at, "type", sdf_types, -1);
    const char *parent = perp_sdf_text(sdf, from->at, "parent");
    if (type < 0 && !perp_robot_refused(sdf->robot))
      perp_xml_refuse(sdf->robot, from->at, "revolute, prismatic, ball, universal, fixed, ...",
                      "joint '%s' has no type", from->name);
    if (perp_robot_refused(sdf->robot) || type == TYPE_GEARBOX) continue;
    const perp_sdf_frame *child = sdf_end(sdf, from, perp_sdf_text(sdf, from->at, "child")),
                         *own = perp_sdf_find(sdf, from->scope, from->name, from->at), *base = NULL;
    const bool world = strcmp(parent, "world") == 0;
    if (child != NULL && !world) base = sdf_end(sdf, from, parent);
    if (child == NULL || own == NULL || (base == NULL && !world)) return;
    if (base == child) {
      perp_xml_refuse(sdf->robot, from->at, "name two links",
                      "joint '%s' connects a link with itself", from->name);
      return;
    }
    if (sdf->tree.link[child->link].fixed) {
      perp_robot_note(sdf->robot, "joint %s: its child is static", from->name);
      continue;
    }
    perp_tree_joint *joint = perp_tree_add_joint(
        &sdf->tree, perp_pool_printf(&sdf->robot->pool, "%s%s", from->scope, from->name), from->at);
    if (joint == NULL) return;
    perp_tree_pose anchor;
    joint->parent = world ? PERP_TREE_WORLD : base->link;
    joint->child = child->link;
    joint->pose = child->pose;
    if (!world) perp_tree_between(&base->pose, &child->pose, &joint->pose);
    perp_tree_between(&child->pose, &own->pose, &anchor);
    sdf_axes(sdf, from, joint, type, &child->pose, &anchor);
    perp_sdf_rest(sdf, from->at, read, perp_pool_printf(&sdf->robot->pool, "joint %s", from->name));
  }
}

/* ---- couplings ---- */

static perp_tree_joint *sdf_joint_at(perp_sdf *sdf, const xmlNode *at)
{
  for (int joint = 0; joint < sdf->tree.n_joints; joint++)
    if (sdf->tree.joint[joint].at == at) return &sdf->tree.joint[joint];
  return NULL;
}

/* q_a = offset + factor q_b of joints of the robot */
static void sdf_couple(perp_sdf *sdf, const char *name, int a, int b, double factor, double offset)
{
  perp_robot_equality *couple = perp_robot_add_equality(sdf->robot, PERP_ROBOT_COUPLE);
  couple->name = name;
  couple->a = a;
  couple->b = b;
  couple->poly[0] = offset;
  couple->poly[1] = factor;
}

/* The pitch is the way of one turn, right-handed.  thread_pitch, which is older, is -2 pi / pitch.
 */
static void sdf_screw(perp_sdf *sdf, const xmlNode *at)
{
  const perp_tree_joint *joint = sdf_joint_at(sdf, at);
  const double old = perp_sdf_number(sdf, at, "thread_pitch", 1);
  double pitch = perp_sdf_number(sdf, at, "screw_thread_pitch", 0);
  if (perp_xml_child(at, "screw_thread_pitch") == NULL && old != 0) pitch = -2 * M_PI / old;
  if (joint == NULL || joint->number < 0 || perp_robot_refused(sdf->robot)) return;
  sdf_couple(sdf, joint->name, joint->number + 1, joint->number, pitch / (2 * M_PI), 0);
}

/* The hinge between a reference body and another one: its coordinate, seen from the reference along
 * a direction, is *sign q.  -1: there is none. */
static int sdf_geared(perp_sdf *sdf, int reference, int other, const double along[3], double *sign)
{
  for (int j = 0; j < sdf->tree.n_joints; j++) {
    const perp_tree_joint *joint = &sdf->tree.joint[j];
    const bool ahead = joint->parent == reference && joint->child == other,
               back = joint->parent == other && joint->child == reference;
    double axis[3], s = 0;
    if (!(ahead || back) || joint->n != 1 || joint->axis[0].kind != PERP_ROBOT_HINGE ||
        joint->number < 0)
      continue;
    sdf_turned(&sdf->tree.link[joint->child].pose, false, joint->axis[0].axis, axis);
    for (int i = 0; i < 3; i++) s += axis[i] * along[i];
    *sign = (s < 0 ? -1 : 1) * (ahead ? 1 : -1);
    return fabs(s) > 1 - 1e-6 ? joint->number : -1;
  }
  return -1;
}

/* theta_2 = -ratio theta_1: angles from the reference body to the parent along axis, and to the
 * child along axis2 */
static void sdf_gearbox(perp_sdf *sdf, const perp_sdf_joint *from)
{
  const xmlNode *at = from->at;
  const perp_sdf_frame *reference = sdf_end(sdf, from,
                                            perp_sdf_text(sdf, at, "gearbox_reference_body")),
                       *parent = reference != NULL
                                     ? sdf_end(sdf, from, perp_sdf_text(sdf, at, "parent"))
                                     : NULL,
                       *child = parent != NULL ? sdf_end(sdf, from, perp_sdf_text(sdf, at, "child"))
                                               : NULL;
  const double ratio = perp_sdf_number(sdf, at, "gearbox_ratio", 1);
  double a1[3], a2[3], s1 = 1, s2 = 1;
  if (child == NULL || !sdf_direction(sdf, from, 0, a1)) return;
  memcpy(a2, a1, sizeof a2);
  if (perp_xml_child(at, "axis2") != NULL && !sdf_direction(sdf, from, 1, a2)) return;
  const int one = sdf_geared(sdf, reference->link, parent->link, a1, &s1),
            two = sdf_geared(sdf, reference->link, child->link, a2, &s2);
  if (one < 0 || two < 0)
    perp_robot_lost(sdf->robot,
                    "gearbox %s: its links have no hinges on its reference body along its axes",
                    from->name);
  else
    sdf_couple(sdf, from->name, two, one, -ratio * s1 * s2, 0);
}

/* q = multiplier (q of another joint - reference) + offset */
static void sdf_mimic(perp_sdf *sdf, const perp_sdf_joint *from)
{
  const xmlNode *at = perp_xml_child(perp_xml_child(from->at, "axis"), "mimic");
  if (at == NULL) return;
  const char *name = perp_xml_text(sdf->robot, at, "joint");
  const perp_tree_joint *own = sdf_joint_at(sdf, from->at), *other = NULL;
  const perp_sdf_frame *frame = perp_sdf_find(sdf, from->scope, name != NULL ? name : "", at);
  if (frame != NULL) other = sdf_joint_at(sdf, frame->at);
  if (perp_robot_refused(sdf->robot)) return;
  if (own == NULL || other == NULL || own->number < 0 || other->number < 0 || own->n != 1 ||
      other->n != 1 || own == other) {
    perp_robot_lost(sdf->robot, "mimic of joint %s: it or joint %s has no single coordinate",
                    from->name, name);
    return;
  }
  const double factor = perp_sdf_number(sdf, at, "multiplier", 1),
               offset = perp_sdf_number(sdf, at, "offset", 0),
               reference = perp_sdf_number(sdf, at, "reference", 0);
  sdf_couple(sdf, perp_pool_printf(&sdf->robot->pool, "%s_mimic", own->name), own->number,
             other->number, factor, offset - factor * reference);
}

void perp_sdf_couplings(perp_sdf *sdf)
{
  for (int joint = 0; joint < sdf->n_joints && !perp_robot_refused(sdf->robot); joint++) {
    const int type = perp_xml_word(sdf->robot, sdf->joint[joint].at, "type", sdf_types, -1);
    if (type == TYPE_SCREW) sdf_screw(sdf, sdf->joint[joint].at);
    if (type == TYPE_GEARBOX) sdf_gearbox(sdf, &sdf->joint[joint]);
    sdf_mimic(sdf, &sdf->joint[joint]);
  }
}
