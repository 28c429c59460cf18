/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elements of a robot, what is said about them, and where its bodies are in the initial state. */
#include "experiments/import/robot.h"

#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is said ---- */

static void robot_say(perp_robot_report *to, const char *kind, const char *fmt, va_list ap)
{
  const size_t from = to->said.n + strlen(kind);
  perp_text_add(&to->said, "%s", kind);
  perp_text_vadd(&to->said, fmt, ap);
  for (size_t i = from; i < to->said.n; i++) /* a name of the file breaks no line of the scene */
    if ((unsigned char)to->said.s[i] < ' ') to->said.s[i] = ' ';
  perp_text_add(&to->said, "\n");
}

void perp_robot_lost(perp_robot *robot, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  robot_say(robot->to, "lost: ", fmt, ap);
  robot->to->lost++;
  va_end(ap);
}

void perp_robot_note(perp_robot *robot, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  robot_say(robot->to, "note: ", fmt, ap);
  va_end(ap);
}

void perp_robot_refuse(perp_robot *robot, const char *file, int line, const char *hint,
                       const char *fmt, ...)
{
  va_list ap;
  if (perp_robot_refused(robot)) return;
  va_start(ap, fmt);
  perp_text_vadd(&robot->to->error, fmt, ap);
  perp_text_add(&robot->to->hint, "%s", hint);
  perp_text_add(&robot->to->file, "%s", file != NULL ? file : robot->path);
  robot->to->line = line;
  va_end(ap);
}

bool perp_robot_refused(const perp_robot *robot)
{
  return robot->to->error.n > 0;
}

void perp_robot_read_file(perp_robot *robot, const char *path)
{
  if (strchr(path, '\n') == NULL) perp_text_add(&robot->to->files, "%s\n", path);
}

/* ---- elements ---- */

static const double robot_identity[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };

void perp_robot_begin(perp_robot *robot, perp_robot_report *to, const char *path, const char *key)
{
  *robot = (perp_robot){ .to = to,
                         .path = path,
                         .key = key,
                         .format = "",
                         .name = "",
                         .timestep = 0.002,
                         .gravity = { 0, 0, -9.81 },
                         .acts = PERP_ROBOT_ALL };
  perp_robot_add_body(robot, -1)->name = "world";
}

perp_robot_body *perp_robot_add_body(perp_robot *robot, int parent)
{
  robot->body = perp_pool_grown(&robot->pool, robot->body, robot->n_bodies, sizeof *robot->body);
  perp_robot_body *body = &robot->body[robot->n_bodies++];
  *body = (perp_robot_body){ .name = "", .parent = parent, .quat = { 1 } };
  return body;
}

perp_robot_joint *perp_robot_add_joint(perp_robot *robot, int body, perp_robot_joint_kind kind)
{
  robot->joint = perp_pool_grown(&robot->pool, robot->joint, robot->n_joints, sizeof *robot->joint);
  perp_robot_joint *joint = &robot->joint[robot->n_joints++];
  *joint = (perp_robot_joint){ .name = "", .body = body, .kind = kind, .axis = { 0, 0, 1 } };
  if (kind == PERP_ROBOT_BALL) joint->q[0] = 1;
  if (kind == PERP_ROBOT_FREE) joint->q[3] = 1;
  return joint;
}

perp_robot_geom *perp_robot_add_geom(perp_robot *robot, int body, perp_robot_geom_kind kind)
{
  robot->geom = perp_pool_grown(&robot->pool, robot->geom, robot->n_geoms, sizeof *robot->geom);
  perp_robot_geom *geom = &robot->geom[robot->n_geoms++];
  *geom = (perp_robot_geom){ .name = "",
                             .body = body,
                             .kind = kind,
                             .quat = { 1 },
                             .asset = -1,
                             .contype = 1,
                             .conaffinity = 1,
                             .condim = 3,
                             .friction = { 1, 0.005, 0.0001 } };
  return geom;
}

perp_robot_mesh *perp_robot_add_mesh(perp_robot *robot)
{
  robot->mesh = perp_pool_grown(&robot->pool, robot->mesh, robot->n_meshes, sizeof *robot->mesh);
  perp_robot_mesh *mesh = &robot->mesh[robot->n_meshes++];
  *mesh = (perp_robot_mesh){ .name = "" };
  return mesh;
}

perp_robot_field *perp_robot_add_field(perp_robot *robot)
{
  robot->field = perp_pool_grown(&robot->pool, robot->field, robot->n_fields, sizeof *robot->field);
  perp_robot_field *field = &robot->field[robot->n_fields++];
  *field = (perp_robot_field){ .name = "" };
  return field;
}

perp_robot_equality *perp_robot_add_equality(perp_robot *robot, perp_robot_equality_kind kind)
{
  robot->equality = perp_pool_grown(&robot->pool, robot->equality, robot->n_equalities,
                                    sizeof *robot->equality);
  perp_robot_equality *equality = &robot->equality[robot->n_equalities++];
  *equality = (perp_robot_equality){
    .name = "", .kind = kind, .a = -1, .b = -1, .active = true, .turn = { 1 }, .poly = { 0, 1 }
  };
  return equality;
}

perp_robot_tendon *perp_robot_add_tendon(perp_robot *robot)
{
  robot->tendon = perp_pool_grown(&robot->pool, robot->tendon, robot->n_tendons,
                                  sizeof *robot->tendon);
  perp_robot_tendon *tendon = &robot->tendon[robot->n_tendons++];
  *tendon = (perp_robot_tendon){ .name = "", .rest = { NAN, NAN } };
  return tendon;
}

perp_robot_actuator *perp_robot_add_actuator(perp_robot *robot)
{
  robot->actuator = perp_pool_grown(&robot->pool, robot->actuator, robot->n_actuators,
                                    sizeof *robot->actuator);
  perp_robot_actuator *actuator = &robot->actuator[robot->n_actuators++];
  *actuator = (perp_robot_actuator){ .name = "", .target = -1, .whose = "", .gear = 1, .gain = 1 };
  return actuator;
}

void perp_robot_add_exclude(perp_robot *robot, int a, int b)
{
  robot->exclude = perp_pool_grown(&robot->pool, robot->exclude, robot->n_excludes,
                                   sizeof *robot->exclude);
  robot->exclude[robot->n_excludes++] = (perp_robot_pair){ a, b };
}

void perp_robot_add_pair(perp_robot *robot, int a, int b)
{
  robot->pair = perp_pool_grown(&robot->pool, robot->pair, robot->n_pairs, sizeof *robot->pair);
  robot->pair[robot->n_pairs++] = (perp_robot_pair){ a, b };
}

/* ---- joints of bodies, roots ---- */

void perp_robot_finish(perp_robot *robot)
{
  const int n = robot->n_joints;
  perp_robot_joint *sorted = perp_pool_alloc(&robot->pool, (size_t)n + 1, sizeof *sorted);
  int *place = perp_pool_alloc(&robot->pool, (size_t)n + 1, sizeof *place), at = 0;
  for (int b = 0; b < robot->n_bodies; b++) robot->body[b].n_joints = 0;
  for (int joint = 0; joint < n; joint++) robot->body[robot->joint[joint].body].n_joints++;
  for (int b = 0; b < robot->n_bodies; b++) {
    perp_robot_body *body = &robot->body[b];
    body->joint = at;
    at += body->n_joints;
    body->root = b == 0 ? 0 : body->n_joints > 0 ? b : robot->body[body->parent].root;
    body->n_joints = 0;
  }
  for (int joint = 0; joint < n; joint++) {
    perp_robot_body *body = &robot->body[robot->joint[joint].body];
    place[joint] = body->joint + body->n_joints++;
    sorted[place[joint]] = robot->joint[joint];
  }
  robot->joint = sorted;
  for (int e = 0; e < robot->n_equalities; e++) {
    perp_robot_equality *equality = &robot->equality[e];
    if (equality->kind != PERP_ROBOT_COUPLE) continue;
    if (equality->a >= 0) equality->a = place[equality->a];
    if (equality->b >= 0) equality->b = place[equality->b];
  }
  for (int tendon = 0; tendon < robot->n_tendons; tendon++)
    for (int term = 0; term < robot->tendon[tendon].n_terms; term++)
      robot->tendon[tendon].term[term].joint = place[robot->tendon[tendon].term[term].joint];
  for (int actuator = 0; actuator < robot->n_actuators; actuator++)
    if (robot->actuator[actuator].at == PERP_ROBOT_AT_JOINT &&
        robot->actuator[actuator].target >= 0)
      robot->actuator[actuator].target = place[robot->actuator[actuator].target];
}

/* ---- poses ---- */

/* p = x + R s */
static void robot_point(const double x[3], const double R[9], const double s[3], double p[3])
{
  for (int i = 0; i < 3; i++) p[i] = x[i] + (R[i] * s[0] + R[i + 3] * s[1] + R[i + 6] * s[2]);
}

/* The body turns about the anchor of a joint, from the turn that the joint found. */
static void robot_turned(perp_robot_body *body, const perp_robot_joint *joint, const double by[4])
{
  static const double origin[3] = { 0 };
  double turn[4], arm[3];
  perp_quat_product(body->turn, by, turn);
  memcpy(body->turn, turn, sizeof turn);
  perp_quat_unit(body->turn);
  perp_quat_matrix(body->turn, body->R);
  robot_point(origin, body->R, joint->x, arm);
  for (int i = 0; i < 3; i++) body->at[i] = joint->anchor[i] - arm[i];
}

static void robot_pose_joint(perp_robot_body *body, perp_robot_joint *joint)
{
  static const double origin[3] = { 0 };
  if (joint->kind == PERP_ROBOT_FREE) {
    memcpy(body->at, joint->q, sizeof body->at);
    memcpy(body->turn, joint->q + 3, sizeof body->turn);
    perp_quat_unit(body->turn);
    perp_quat_matrix(body->turn, body->R);
  }
  robot_point(body->at, body->R, joint->x, joint->anchor);
  robot_point(origin, body->R, joint->axis, joint->along);
  const double q = joint->q[0] - joint->ref;
  if (joint->kind == PERP_ROBOT_SLIDE)
    for (int i = 0; i < 3; i++) body->at[i] += q * joint->along[i];
  else if (joint->kind == PERP_ROBOT_BALL)
    robot_turned(body, joint, joint->q);
  else if (joint->kind == PERP_ROBOT_HINGE && q != 0) {
    const double s = sin(q / 2);
    const double by[4] = { cos(q / 2), s * joint->axis[0], s * joint->axis[1], s * joint->axis[2] };
    robot_turned(body, joint, by);
  }
}

/* What a joint adds to the velocity of the frame of its body; the pose of the body is known. */
static void robot_velocity_joint(perp_robot_body *body, const perp_robot_joint *joint)
{
  static const double origin[3] = { 0 };
  double w[3] = { 0 }, arm[3], c[3];
  if (joint->kind == PERP_ROBOT_FREE) {
    memcpy(body->velocity, joint->v, sizeof body->velocity);
    robot_point(origin, body->R, joint->v + 3, body->turning);
    return;
  }
  if (joint->kind == PERP_ROBOT_SLIDE) {
    for (int i = 0; i < 3; i++) body->velocity[i] += joint->v[0] * joint->along[i];
    return;
  }
  if (joint->kind == PERP_ROBOT_BALL)
    robot_point(origin, body->R, joint->v, w);
  else
    for (int i = 0; i < 3; i++) w[i] = joint->v[0] * joint->along[i];
  for (int i = 0; i < 3; i++) arm[i] = body->at[i] - joint->anchor[i];
  perp_cross(w, arm, c);
  for (int i = 0; i < 3; i++) {
    body->turning[i] += w[i];
    body->velocity[i] += c[i];
  }
}

void perp_robot_pose(perp_robot *robot)
{
  memcpy(robot->body[0].R, robot_identity, sizeof robot_identity);
  robot->body[0].turn[0] = 1;
  for (int b = 1; b < robot->n_bodies; b++) {
    perp_robot_body *body = &robot->body[b];
    const perp_robot_body *parent = &robot->body[body->parent];
    double arm[3], c[3];
    robot_point(parent->at, parent->R, body->x, body->at);
    perp_quat_product(parent->turn, body->quat, body->turn);
    perp_quat_unit(body->turn);
    perp_quat_matrix(body->turn, body->R);
    for (int joint = 0; joint < body->n_joints; joint++)
      robot_pose_joint(body, &robot->joint[body->joint + joint]);
    for (int i = 0; i < 3; i++) arm[i] = body->at[i] - parent->at[i];
    perp_cross(parent->turning, arm, c);
    for (int i = 0; i < 3; i++) {
      body->turning[i] = parent->turning[i];
      body->velocity[i] = parent->velocity[i] + c[i];
    }
    for (int joint = 0; joint < body->n_joints; joint++)
      robot_velocity_joint(body, &robot->joint[body->joint + joint]);
  }
}
