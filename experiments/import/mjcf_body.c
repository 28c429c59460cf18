/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree of bodies: numbers in the order of a walk in depth, joints and geoms of a body before
 * the bodies on it, as in MuJoCo.  A <frame> has no body: its pose is part of those of its
 * elements. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

typedef struct body_frame { /* what elements are in */
  double x[3], quat[4];
  const char *childclass;
} body_frame;

/* The pose of an element in a frame, in the body that the frame is in. */
static void body_place(const body_frame *frame, const double x[3], const double quat[4],
                       double out_x[3], double out_quat[4])
{
  double R[9];
  perp_quat_matrix(frame->quat, R);
  for (int i = 0; i < 3; i++)
    out_x[i] = frame->x[i] + (R[i] * x[0] + R[i + 3] * x[1] + R[i + 6] * x[2]);
  perp_quat_product(frame->quat, quat, out_quat);
  perp_quat_unit(out_quat);
}

static bool body_plain(const body_frame *frame)
{
  return frame->x[0] == 0 && frame->x[1] == 0 && frame->x[2] == 0 && frame->quat[0] == 1;
}

static body_frame body_inner(mjcf *mj, const xmlNode *node, const body_frame *frame)
{
  const mjcf_element element = { .mj = mj, .node = node, .n = 1, .layer = &node };
  double x[3] = { 0 }, quat[4];
  body_frame inner = *frame;
  mjcf_numbers(&element, "pos", 3, 3, x);
  mjcf_orientation(&element, quat);
  body_place(frame, x, quat, inner.x, inner.quat);
  const char *childclass = perp_xml_text(mj->robot, node, "childclass");
  if (childclass != NULL) inner.childclass = childclass;
  return inner;
}

static void body_site(mjcf *mj, const xmlNode *node, int body, const body_frame *frame)
{
  const mjcf_element element = mjcf_layers(mj, node, "site", frame->childclass);
  const char *name = perp_xml_text(mj->robot, node, "name");
  double x[3] = { 0 }, quat[4], ends[6];
  mjcf_numbers(&element, "pos", 3, 3, x);
  mjcf_orientation(&element, quat);
  if (mjcf_numbers(&element, "fromto", 6, 6, ends) == 6) {
    double axis[3];
    for (int i = 0; i < 3; i++) x[i] = (ends[i] + ends[3 + i]) / 2, axis[i] = ends[i] - ends[3 + i];
    const double size = sqrt(perp_dot(3, axis, axis));
    for (int i = 0; i < 3; i++) axis[i] /= size > 0 ? size : 1;
    mjcf_z_to(axis, quat);
  }
  mj->site = perp_pool_grown(&mj->robot->pool, mj->site, mj->n_sites, sizeof *mj->site);
  mjcf_site *site = &mj->site[mj->n_sites];
  *site = (mjcf_site){ .name = name != NULL ? name : "", .body = body };
  body_place(frame, x, quat, site->x, site->quat);
  mjcf_table_add(mj, &mj->sites, node, "site", name, mj->n_sites++);
}

/* ---- inertia ---- */

static void body_inertial(mjcf *mj, const xmlNode *node, perp_robot_body *body)
{
  const mjcf_element element = { .mj = mj, .node = node, .n = 1, .layer = &node };
  perp_robot *robot = mj->robot;
  perp_robot_solid solid = { .volume = 1 };
  double quat[4], v[6], x[3] = { 0 }, mass = 0;
  if (mjcf_numbers(&element, "pos", 3, 3, x) == 0 && !perp_robot_refused(robot))
    perp_xml_refuse(robot, node, "write pos=\"x y z\"", "<inertial> needs the attribute 'pos'");
  if (mjcf_numbers(&element, "mass", 1, 1, &mass) == 0 && !perp_robot_refused(robot))
    perp_xml_refuse(robot, node, "write a mass in kg", "<inertial> needs the attribute 'mass'");
  const bool turned = mjcf_orientation(&element, quat);
  const int full = mjcf_numbers(&element, "fullinertia", 6, 6, v);
  if (full == 6) {
    if (turned)
      perp_xml_refuse(robot, node, "write it along the axes of the body, without an orientation",
                      "<inertial> has both fullinertia and an orientation");
    const double I[9] = { v[0], v[3], v[4], v[3], v[1], v[5], v[4], v[5], v[2] };
    memcpy(solid.inertia, I, sizeof I);
  } else if (mjcf_numbers(&element, "diaginertia", 3, 3, v) == 3)
    for (int i = 0; i < 3; i++) solid.inertia[4 * i] = v[i];
  else if (!perp_robot_refused(robot))
    perp_xml_refuse(robot, node, "write diaginertia, or fullinertia, in kg m^2",
                    "<inertial> has no moments of inertia");
  if (mass < 0)
    perp_xml_refuse(robot, node, "write a mass in kg", "the mass is negative: %g", mass);
  perp_robot_solid_place(&solid, x, quat);
  body->mass = mass;
  memcpy(body->com, x, sizeof x);
  memcpy(body->inertia, solid.inertia, sizeof body->inertia);
}

/* V diag(value) V' */
static void body_principal(double inertia[9], const double value[3], const double V[9])
{
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      inertia[i + 3 * j] = 0;
      for (int k = 0; k < 3; k++) inertia[i + 3 * j] += V[i + 3 * k] * value[k] * V[j + 3 * k];
    }
}

/* The bounds of the compiler, and whether there is a body with this inertia. */
static void body_check(mjcf *mj, const xmlNode *node, perp_robot_body *body)
{
  const mjcf_compiler *compiler = mjcf_compiler_of(node);
  double value[3], V[9];
  if (compiler->least_mass > 0) body->mass = fmax(body->mass, compiler->least_mass);
  perp_robot_eigen(body->inertia, value, V);
  if (compiler->least_inertia > 0 && value[0] < compiler->least_inertia) {
    for (int i = 0; i < 3; i++) value[i] = fmax(value[i], compiler->least_inertia);
    body_principal(body->inertia, value, V);
  }
  const char *name = body->name[0] != '\0' ? body->name : "without a name";
  if (value[0] < -1e-12 * fabs(value[2]))
    perp_xml_refuse(mj->robot, node, "correct the moments",
                    "the inertia of body '%s' is not "
                    "positive: principal moments %g, %g, %g kg m^2",
                    name, value[0], value[1], value[2]);
  else if (value[0] + value[1] < value[2] * (1 - 1e-8) - 1e-300) {
    if (!compiler->balance)
      perp_xml_refuse(mj->robot, node,
                      "correct the moments, or write balanceinertia=\"true\" into <compiler>",
                      "no body has the inertia of body '%s': the largest principal moment is more "
                      "than the sum of the others (%g, %g, %g kg m^2)",
                      name, value[0], value[1], value[2]);
    const double mean = (value[0] + value[1] + value[2]) / 3, all[3] = { mean, mean, mean };
    body_principal(body->inertia, all, V);
  }
}

/* ---- elements of a body ---- */

static void body_lost(mjcf *mj, const xmlNode *node, const char *body)
{
  const char *name = perp_xml_text(mj->robot, node, "name");
  if (name == NULL) name = perp_xml_text(mj->robot, node, "prefix");
  if (perp_xml_is(node, "composite")) {
    const char *type = perp_xml_text(mj->robot, node, "type");
    perp_robot_lost(mj->robot,
                    "composite %s of type %s in body %s: its bodies, joints and contacts",
                    name != NULL ? name : "", type != NULL ? type : "?", body);
  } else if (perp_xml_is(node, "flexcomp"))
    perp_robot_lost(mj->robot, "flexcomp %s in body %s: a deformable body, its mass and contacts",
                    name != NULL ? name : "", body);
  else
    perp_robot_lost(mj->robot, "plugin in body %s: forces that it computes", body);
}

/* Is the mass of geoms needed for this body? */
static bool body_from_geoms(const xmlNode *node)
{
  const mjcf_from_geom from = mjcf_compiler_of(node)->from_geom;
  return from == MJCF_ALWAYS || (from == MJCF_AUTO && perp_xml_child(node, "inertial") == NULL);
}

static void body_elements(mjcf *mj, const xmlNode *node, int body, const body_frame *frame,
                          perp_robot_body *from)
{
  perp_robot *robot = mj->robot;
  for (const xmlNode *child = perp_xml_child(node, NULL);
       child != NULL && !perp_robot_refused(robot); child = perp_xml_next(child, NULL)) {
    if (perp_xml_is(child, "frame")) {
      const body_frame inner = body_inner(mj, child, frame);
      body_elements(mj, child, body, &inner, from);
    } else if (perp_xml_is(child, "joint")) {
      const mjcf_element element = mjcf_layers(mj, child, "joint", frame->childclass);
      mjcf_joint_read(mj, &element, body, frame->x, frame->quat);
    } else if (perp_xml_is(child, "freejoint"))
      mjcf_free_read(mj, child, body);
    else if (perp_xml_is(child, "geom")) {
      const mjcf_element element = mjcf_layers(mj, child, "geom", frame->childclass);
      mjcf_geom_read(mj, &element, body, frame->x, frame->quat, from);
    } else if (perp_xml_is(child, "site"))
      body_site(mj, child, body, frame);
    else if (perp_xml_is(child, "composite") || perp_xml_is(child, "flexcomp") ||
             perp_xml_is(child, "plugin"))
      body_lost(mj, child, robot->body[body].name);
  }
}

static void body_bodies(mjcf *mj, const xmlNode *node, int parent, const body_frame *frame);

static void body_one(mjcf *mj, const xmlNode *node, int parent, const body_frame *frame)
{
  perp_robot *robot = mj->robot;
  const mjcf_element element = { .mj = mj, .node = node, .n = 1, .layer = &node };
  const char *name = perp_xml_text(robot, node, "name"),
             *childclass = perp_xml_text(robot, node, "childclass");
  const int b = robot->n_bodies;
  perp_robot_body *body = perp_robot_add_body(robot, parent), from = { .parent = -1 };
  double x[3] = { 0 }, quat[4];
  body->name = name != NULL ? name : "";
  body->file = perp_xml_file(node);
  body->line = perp_xml_line(node);
  mjcf_numbers(&element, "pos", 3, 3, x);
  mjcf_orientation(&element, quat);
  if (body_plain(frame)) {
    memcpy(body->x, x, sizeof x);
    memcpy(body->quat, quat, sizeof quat);
  } else
    body_place(frame, x, quat, body->x, body->quat);
  body->mocap = mjcf_flag(&element, "mocap", false);
  body->gravcomp = mjcf_number(&element, "gravcomp", 0);
  mjcf_table_add(mj, &mj->bodies, node, "body", name, b);
  if (body->mocap && parent != 0)
    perp_xml_refuse(robot, node, "", "body '%s' is mocap, but not a child of the world",
                    body->name);
  const body_frame own = { .quat = { 1 },
                           .childclass = childclass != NULL ? childclass : frame->childclass };
  const xmlNode *inertial = perp_xml_child(node, "inertial");
  if (inertial != NULL && perp_xml_next(inertial, "inertial") != NULL)
    perp_xml_refuse(robot, perp_xml_next(inertial, "inertial"), "remove one",
                    "body '%s' has two <inertial>", body->name);
  if (inertial != NULL) body_inertial(mj, inertial, body);
  body_elements(mj, node, b, &own, body_from_geoms(node) ? &from : NULL);
  body = &robot->body[b];
  if (body_from_geoms(node) && from.mass > 0) {
    body->mass = from.mass;
    memcpy(body->com, from.com, sizeof from.com);
    memcpy(body->inertia, from.inertia, sizeof from.inertia);
  }
  if (!perp_robot_refused(robot)) body_check(mj, node, body);
  body_bodies(mj, node, b, &own);
}

static void body_bodies(mjcf *mj, const xmlNode *node, int parent, const body_frame *frame)
{
  for (const xmlNode *child = perp_xml_child(node, NULL);
       child != NULL && !perp_robot_refused(mj->robot); child = perp_xml_next(child, NULL)) {
    if (perp_xml_is(child, "frame")) {
      const body_frame inner = body_inner(mj, child, frame);
      body_bodies(mj, child, parent, &inner);
    } else if (perp_xml_is(child, "body"))
      body_one(mj, child, parent, frame);
  }
}

void mjcf_worldbody_read(mjcf *mj)
{
  mjcf_table_add(mj, &mj->bodies, mj->root, "body", "world", 0);
  for (int pass = 0; pass < 2; pass++)
    for (const xmlNode *node = perp_xml_child(mj->root, "worldbody");
         node != NULL && !perp_robot_refused(mj->robot); node = perp_xml_next(node, "worldbody")) {
      const body_frame frame = { .quat = { 1 },
                                 .childclass = perp_xml_text(mj->robot, node, "childclass") };
      if (pass == 0)
        body_elements(mj, node, 0, &frame, NULL);
      else
        body_bodies(mj, node, 0, &frame);
    }
}
