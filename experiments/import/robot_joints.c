/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints.  A body may hang on several joints: those that together are a joint of perp become that
 * one, where both leave the same motions free:
 *
 *      hinge                                      hinge
 *      slide                                      slider
 *      ball                                       ball
 *      three hinges in one point, the second      ball, the hinges its angles
 *        across both others
 *      two hinges in one point at a right angle   universal
 *      other two hinges                           skew-hinges
 *      two slides                                 rectangular
 *      three slides that span space               cartesian
 *      two slides and a hinge across both         planar
 *      a slide and a hinge along one axis         cylindrical
 *      other slide and hinge                      pin-slot
 *      a slide, then a ball                       line
 *      other three to five slides and hinges      chain
 *      free; six slides and hinges; three slides  none
 *        and a ball
 *
 * Others are refused, as are axes that depend on each other in the initial state: nothing tells
 * their coordinates apart. */
#include "experiments/base/json.h"
#include "experiments/import/robot_scene.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

static double joints_length(const double v[3])
{
  return sqrt(perp_dot(3, v, v));
}

static bool joints_same_point(const perp_robot *robot, int joint, int k)
{
  const double *p = robot->joint[joint].x, *q = robot->joint[k].x;
  const double size = fmax(joints_length(p), 1e-3);
  return fabs(p[0] - q[0]) + fabs(p[1] - q[1]) + fabs(p[2] - q[2]) < 1e-12 * size;
}

static bool joints_across(const perp_robot *robot, int j, int k)
{
  return fabs(perp_dot(3, robot->joint[j].axis, robot->joint[k].axis)) < 1e-10;
}

static bool joints_parallel(const perp_robot *robot, int joint, int k)
{
  double c[3];
  perp_cross(robot->joint[joint].axis, robot->joint[k].axis, c);
  return joints_length(c) < 1e-6;
}

static bool joints_are(const perp_robot *robot, int first, int n,
                       const perp_robot_joint_kind *kinds, int n_kinds)
{
  if (n != n_kinds) return false;
  for (int i = 0; i < n; i++)
    if (robot->joint[first + i].kind != kinds[i]) return false;
  return true;
}

/* Slides whose axes span space. */
static bool joints_span(const perp_robot *robot, int first)
{
  double c[3];
  perp_cross(robot->joint[first].axis, robot->joint[first + 1].axis, c);
  return fabs(perp_dot(3, c, robot->joint[first + 2].axis)) > 1e-6;
}

typedef enum joints_kind {
  KIND_NONE,
  KIND_HINGE,
  KIND_SLIDER,
  KIND_BALL,
  KIND_UNIVERSAL,
  KIND_PLANAR,
  KIND_CYLINDRICAL,
  KIND_LINE,
  KIND_SKEW,
  KIND_RECTANGULAR,
  KIND_CARTESIAN,
  KIND_PIN_SLOT,
  KIND_CHAIN,
  KIND_DEPENDENT,
  KIND_NOT
} joints_kind;

/* Of joints that are hinges and slides: the one hinge, -1 where there is another number of them. */
static int joints_hinge(const perp_robot *robot, int first, int n)
{
  int hinge = -1;
  for (int joint = first; joint < first + n; joint++) {
    if (robot->joint[joint].kind == PERP_ROBOT_SLIDE) continue;
    if (robot->joint[joint].kind != PERP_ROBOT_HINGE || hinge >= 0) return -1;
    hinge = joint;
  }
  return hinge;
}

/* Are the slides and hinges independent in the initial state?  Each as a motion (m, rad times the
 * distance of the hinges) less what those before have of it. */
static bool joints_independent(const perp_robot *robot, int first, int n)
{
  double v[6][6], size = 0;
  const double *end = NULL;
  for (int i = 0; i < n; i++)
    if (robot->joint[first + i].kind == PERP_ROBOT_HINGE) end = robot->joint[first + i].anchor;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < 3 && robot->joint[first + i].kind == PERP_ROBOT_HINGE; k++)
      size = fmax(size, fabs(robot->joint[first + i].anchor[k] - end[k]));
  if (!(size > 1e-9)) size = 1;
  for (int i = 0; i < n; i++) {
    const perp_robot_joint *joint = &robot->joint[first + i];
    double arm[3], before = 0, after = 0;
    for (int k = 0; k < 6; k++) v[i][k] = k < 3 ? joint->along[k] : 0;
    if (joint->kind == PERP_ROBOT_HINGE) {
      for (int k = 0; k < 3; k++) arm[k] = end[k] - joint->anchor[k], v[i][3 + k] = size * v[i][k];
      perp_cross(joint->along, arm, v[i]);
    }
    for (int k = 0; k < 6; k++) before += v[i][k] * v[i][k];
    for (int pass = 0; pass < 2; pass++)
      for (int j = 0; j < i; j++) {
        double part = 0;
        for (int k = 0; k < 6; k++) part += v[i][k] * v[j][k];
        for (int k = 0; k < 6; k++) v[i][k] -= part * v[j][k];
      }
    for (int k = 0; k < 6; k++) after += v[i][k] * v[i][k];
    if (!(after > 1e-12 * before)) return false;
    for (int k = 0; k < 6; k++) v[i][k] /= sqrt(after);
  }
  return true;
}

/* Slides and hinges that are no other joint. */
static joints_kind joints_chain(const perp_robot *robot, int first, int n)
{
  for (int joint = first; joint < first + n; joint++)
    if (robot->joint[joint].kind != PERP_ROBOT_SLIDE &&
        robot->joint[joint].kind != PERP_ROBOT_HINGE)
      return KIND_NOT;
  if (n < 3) return KIND_NOT;
  return n > 6 || !joints_independent(robot, first, n) ? KIND_DEPENDENT
         : n == 6                                      ? KIND_NONE
                                                       : KIND_CHAIN;
}

/* Slides beside a hinge.  Two that cross at a right angle before a hinge across both have
 * coordinates in a planar joint. */
static joints_kind joints_slides(const perp_robot *robot, int first, int n)
{
  const int hinge = joints_hinge(robot, first, n);
  double c[3];
  if (hinge < 0 || n < 2 || n > 3) return joints_chain(robot, first, n);
  const int joint = hinge == first ? first + 1 : first;
  perp_cross(robot->joint[hinge].axis, robot->joint[joint].axis, c);
  if (n == 2) return joints_length(c) < 1e-10 ? KIND_CYLINDRICAL : KIND_PIN_SLOT;
  return hinge == first + 2 && joints_across(robot, hinge, first) &&
                 joints_across(robot, hinge, first + 1) && joints_across(robot, first, first + 1)
             ? KIND_PLANAR
             : joints_chain(robot, first, n);
}

static joints_kind joints_kind_of(const perp_robot *robot, int first, int n)
{
  static const perp_robot_joint_kind free[] = { PERP_ROBOT_FREE },
                                     hinge[] = { PERP_ROBOT_HINGE, PERP_ROBOT_HINGE,
                                                 PERP_ROBOT_HINGE },
                                     slide[] = { PERP_ROBOT_SLIDE }, ball[] = { PERP_ROBOT_BALL },
                                     place[] = { PERP_ROBOT_SLIDE, PERP_ROBOT_SLIDE,
                                                 PERP_ROBOT_SLIDE, PERP_ROBOT_BALL };
  if (joints_are(robot, first, n, free, 1)) return KIND_NONE;
  if (joints_are(robot, first, n, hinge, 1)) return KIND_HINGE;
  if (joints_are(robot, first, n, slide, 1)) return KIND_SLIDER;
  if (joints_are(robot, first, n, ball, 1)) return KIND_BALL;
  if (joints_are(robot, first, n, hinge, 2) && joints_same_point(robot, first, first + 1) &&
      joints_across(robot, first, first + 1))
    return KIND_UNIVERSAL;
  if (joints_are(robot, first, n, hinge, 2)) return KIND_SKEW;
  if (joints_are(robot, first, n, hinge, 3) && joints_same_point(robot, first, first + 1) &&
      joints_same_point(robot, first, first + 2) && joints_across(robot, first, first + 1) &&
      joints_across(robot, first + 1, first + 2))
    return KIND_BALL;
  if (joints_are(robot, first, n, place, 2) && !joints_parallel(robot, first, first + 1))
    return KIND_RECTANGULAR;
  if (joints_are(robot, first, n, place, 3) && joints_span(robot, first)) return KIND_CARTESIAN;
  if (joints_are(robot, first, n, place + 2, 2)) return KIND_LINE;
  if (joints_are(robot, first, n, place, 4) && joints_span(robot, first)) return KIND_NONE;
  return joints_slides(robot, first, n);
}

/* "hip_x, hip_z (hinge, hinge)" */
static const char *joints_words(perp_rs *rs, int first, int n)
{
  static const char *const kinds[] = { "free", "ball", "slide", "hinge" };
  perp_pool *pool = &rs->robot->pool;
  const char *at = "";
  for (int i = 0; i < n; i++)
    at = perp_pool_printf(pool, "%s%s%s", at, i > 0 ? ", " : "", perp_rs_joint_name(rs, first + i));
  for (int i = 0; i < n; i++)
    at = perp_pool_printf(pool, "%s%s%s", at, i > 0 ? ", " : " (",
                          kinds[rs->robot->joint[first + i].kind]);
  return perp_pool_printf(pool, "%s)", at);
}

/* What joint j of the robot is a coordinate of. */
static void joints_axis(perp_rs *rs, int j, const char *joint, const char *axis, double sign)
{
  rs->axis[j] = (perp_rs_axis){ joint, axis, sign, -HUGE_VAL, HUGE_VAL };
}

/* Three hinges in one point: the angles of a ball joint.  The second one is about the node, axis_a
 * x axis_b or against it, and is known between the places where these are parallel. */
static void joints_angles(perp_rs *rs, int body, const char *name)
{
  const perp_robot *robot = rs->robot;
  const int first = robot->body[body].joint;
  const double *a = robot->joint[first].along, *b = robot->joint[first + 2].along;
  double node[3], axis[3];
  perp_cross(a, b, node);
  const double size = joints_length(node), between = atan2(size, perp_dot(3, a, b));
  if (size < 1e-6) {
    perp_robot_note(rs->robot,
                    "joint %s: its first and last axis are parallel in the initial state, where "
                    "its angles are undefined",
                    name);
    return;
  }
  const double sign = perp_dot(3, node, robot->joint[first + 1].along) < 0 ? -1 : 1;
  perp_rs_local(rs, robot->body[body].parent, false, a, axis);
  perp_rs_vector(rs, "axis_a", 3, axis);
  perp_rs_local(rs, body, false, b, axis);
  perp_rs_vector(rs, "axis_b", 3, axis);
  joints_axis(rs, first, name, "a", 1);
  joints_axis(rs, first + 1, name, "node", sign);
  joints_axis(rs, first + 2, name, "b", 1);
  perp_rs_axis *middle = &rs->axis[first + 1];
  middle->least = robot->joint[first + 1].q[0] - (sign > 0 ? between : M_PI - between);
  middle->most = middle->least + M_PI;
}

/* A world direction, in the frame of a body. */
static void joints_direction(perp_rs *rs, const char *key, int body, const double world[3])
{
  double axis[3];
  perp_rs_local(rs, body, false, world, axis);
  perp_rs_vector(rs, key, 3, axis);
}

/* Two scalar joints, in either order: skew hinges, two slides, a slide and a hinge; three slides.
 */
static void joints_pair(perp_rs *rs, int r, joints_kind kind, const char *name)
{
  const perp_robot *robot = rs->robot;
  const perp_robot_body *body = &robot->body[r];
  const int first = body->joint, last = first + 1, hinge = joints_hinge(robot, first, 2);
  double anchor[3];
  perp_rs_local(rs, body->parent, true, robot->joint[hinge >= 0 ? hinge : first].anchor, anchor);
  perp_rs_vector(rs, "anchor_a", 3, anchor);
  if (kind == KIND_SKEW) /* fixed in the body, to the last digit */
    for (int i = 0; i < 3; i++) anchor[i] = robot->joint[last].x[i] - rs->com[3 * r + i];
  else
    perp_rs_local(rs, r, true, robot->joint[hinge >= 0 ? hinge : first].anchor, anchor);
  perp_rs_vector(rs, "anchor_b", 3, anchor);
  joints_direction(rs, "axis_a", body->parent, robot->joint[first].along);
  joints_direction(rs, "axis_b", r, robot->joint[last].along);
  if (kind == KIND_CARTESIAN) joints_direction(rs, "axis_c", r, robot->joint[first + 2].along);
  if (kind == KIND_PIN_SLOT) fprintf(rs->out, ", first: %s", hinge == first ? "hinge" : "slide");
  joints_axis(rs, first, name, "a", 1);
  joints_axis(rs, last, name, "b", 1);
  if (kind == KIND_CARTESIAN) joints_axis(rs, first + 2, name, "c", 1);
}

/* The axes of a chain, in the world. */
static void joints_axes(perp_rs *rs, int body, const char *name)
{
  static const char *const letters[] = { "a", "b", "c", "d", "e" };
  const perp_robot *robot = rs->robot;
  const int first = robot->body[body].joint;
  fputs(", axes: [", rs->out);
  for (int i = 0; i < robot->body[body].n_joints; i++) {
    const perp_robot_joint *joint = &robot->joint[first + i];
    fprintf(rs->out, "%s{ %s: [", i > 0 ? ", " : "",
            joint->kind == PERP_ROBOT_SLIDE ? "slide" : "hinge");
    for (int k = 0; k < 3; k++) {
      if (k > 0) fputs(", ", rs->out);
      perp_rs_digits(rs, joint->along[k]);
    }
    fputs("]", rs->out);
    if (joint->kind == PERP_ROBOT_HINGE) perp_rs_vector(rs, "at", 3, joint->anchor);
    fputs(" }", rs->out);
    joints_axis(rs, first + i, name, letters[i], 1);
  }
  fputs("]", rs->out);
}

/* Slides across each other before their hinge are fixed in the parent, and have coordinates. */
static void joints_planar(perp_rs *rs, int body, int hinge, const char *name)
{
  const perp_robot *robot = rs->robot;
  const int first = robot->body[body].joint;
  double across[3];
  joints_direction(rs, "axis_c", robot->body[body].parent, robot->joint[first].along);
  perp_cross(robot->joint[hinge].along, robot->joint[first].along, across);
  joints_axis(rs, first, name, "along", 1);
  joints_axis(rs, first + 1, name, "across",
              perp_dot(3, across, robot->joint[first + 1].along) < 0 ? -1 : 1);
}

/* One joint, or several that are one joint of perp. */
static void joints_known(perp_rs *rs, int body, joints_kind kind, const char *name)
{
  const perp_robot *robot = rs->robot;
  const int first = robot->body[body].joint, n = robot->body[body].n_joints,
            parent = robot->body[body].parent;
  const bool slides = kind == KIND_PLANAR || kind == KIND_CYLINDRICAL;
  const int lead = slides ? joints_hinge(robot, first, n) : first,
            last = slides ? lead : first + n - 1; /* whose axes are those of perp */
  double anchor[3];
  perp_rs_local(rs, parent, true, robot->joint[kind == KIND_LINE ? last : lead].anchor, anchor);
  perp_rs_vector(rs, "anchor_a", 3, anchor);
  if (kind == KIND_LINE) /* that of the ball, on the line of the slide */
    for (int i = 0; i < 3; i++) anchor[i] = robot->joint[first + 1].x[i] - rs->com[3 * body + i];
  else if (kind == KIND_SLIDER || slides)
    perp_rs_local(rs, body, true, robot->joint[lead].anchor, anchor);
  else /* fixed in the body, to the last digit */
    for (int i = 0; i < 3; i++) anchor[i] = robot->joint[lead].x[i] - rs->com[3 * body + i];
  perp_rs_vector(rs, "anchor_b", 3, anchor);
  if (kind == KIND_LINE) {
    joints_direction(rs, "axis_a", parent, robot->joint[first].along);
    joints_axis(rs, first, name, "along", 1);
  } else if (kind != KIND_BALL) {
    joints_direction(rs, "axis_a", parent, robot->joint[lead].along);
    joints_direction(rs, "axis_b", body, robot->joint[last].along);
    joints_axis(rs, lead, name, "a", 1);
    if (kind == KIND_UNIVERSAL) joints_axis(rs, last, name, "b", 1);
  } else if (n == 3)
    joints_angles(rs, body, name);
  if (kind == KIND_CYLINDRICAL) {
    const int slide = lead == first ? first + 1 : first;
    const bool same = perp_dot(3, robot->joint[lead].along, robot->joint[slide].along) > 0;
    joints_axis(rs, slide, name, "along", same ? 1 : -1);
  }
  if (kind == KIND_PLANAR) joints_planar(rs, body, lead, name);
}

static void joints_one(perp_rs *rs, int r)
{
  static const char *const kinds[] = {
    "",     "hinge",       "slider",      "ball",      "universal", "planar", "cylindrical",
    "line", "skew-hinges", "rectangular", "cartesian", "pin-slot",  "chain"
  };
  const perp_robot *robot = rs->robot;
  const perp_robot_body *body = &robot->body[r];
  const int first = body->joint, n = body->n_joints;
  const joints_kind kind = joints_kind_of(robot, first, n);
  if (kind == KIND_DEPENDENT) {
    perp_robot_refuse(
        rs->robot, body->file, body->line,
        "remove one of them, start from another position (--key), or give each joint "
        "its own body with a mass",
        "body '%s' is connected to %s: these axes depend on each other in the initial "
        "state, so that nothing tells their coordinates apart",
        rs->body[r], joints_words(rs, first, n));
    return;
  }
  if (kind == KIND_NOT) {
    perp_robot_refuse(
        rs->robot, body->file, body->line,
        "give each joint its own body with a mass; one body may have up to six hinges and slides, "
        "or a ball alone or behind one slide or three",
        "body '%s' is connected to %s: perp has no joint with these degrees of freedom",
        rs->body[r], joints_words(rs, first, n));
    return;
  }
  if (kind == KIND_NONE) return;
  const char *name = "";
  for (int i = 0; i < n; i++)
    name = perp_pool_printf(&rs->robot->pool, "%s%s%s", name, i > 0 ? "+" : "",
                            perp_rs_joint_name(rs, first + i));
  name = perp_rs_fresh(rs, &rs->joints, name);
  fprintf(rs->out, "  - { kind: %s, name: ", kinds[kind]);
  perp_write_quoted(rs->out, name);
  perp_rs_body(rs, "a", body->parent);
  perp_rs_body(rs, "b", r);
  if (kind == KIND_CHAIN)
    joints_axes(rs, r, name);
  else if (kind >= KIND_SKEW)
    joints_pair(rs, r, kind, name);
  else
    joints_known(rs, r, kind, name);
  /* MuJoCo leaves out contacts of a body with its parent, but for those with the world */
  if (robot->body[body->parent].root == 0 || !(robot->acts & PERP_ROBOT_PARENT_FILTER))
    fputs(", collide: true", rs->out);
  fputs(" }\n", rs->out);
  if (n > 1)
    perp_robot_note(rs->robot, "joints %s of body %s: one %s joint%s", joints_words(rs, first, n),
                    rs->body[r], kinds[kind], kind == KIND_BALL ? " with three angles" : "");
}

void perp_rs_joints(perp_rs *rs)
{
  const perp_robot *robot = rs->robot;
  rs->axis = perp_pool_alloc(&rs->robot->pool, (size_t)robot->n_joints + 1, sizeof *rs->axis);
  fputs("joints:\n", rs->out);
  for (int root = 1; root < robot->n_bodies && !perp_robot_refused(robot); root++)
    if (robot->body[root].root == root) joints_one(rs, root);
}
