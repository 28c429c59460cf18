/* SPDX-License-Identifier: GPL-3.0-or-later */
/* URDF, the format of ROS: links, joints, and MuJoCo's block <mujoco> in it.
 *
 * A joint has the frame of its child: the child's frame is at <origin> in the frame of the parent,
 * and turns about, or slides along, <axis> in the frame of the child.  As MuJoCo has it, a link
 * without <inertial> has the mass of its collision shapes, and <visual> is nothing. */
#include "experiments/import/robot_inertia.h"
#include "experiments/import/robot_search.h"
#include "experiments/import/robot_tree.h"

#include <math.h>
#include <string.h>

static const char EFFORT[] =
    "effort bounds actuators; a URDF has none, and nothing is bounded by it",
                  VELOCITY[] = "largest velocities are bounds of actuators, which are not there";

typedef struct urdf_options { /* <mujoco> */
  const char *meshdir;        /* NULL: none */
  bool strippath, balance;
  double boundmass, boundinertia, total;
  int from_geoms; /* 0: false, 1: true, 2: where there is no inertial */
} urdf_options;

typedef struct urdf {
  perp_robot *robot;
  perp_tree tree;
  urdf_options opt;
  const char *folder;
} urdf;

static bool urdf_floats; /* of the command */

void perp_urdf_floating(bool floating)
{
  urdf_floats = floating;
}

/* ---- attributes ---- */

static double urdf_number(urdf *robot, const xmlNode *at, const char *key, double otherwise)
{
  double v = otherwise;
  return at != NULL && perp_xml_numbers(robot->robot, at, key, 1, 1, &v) == 1 ? v : otherwise;
}

/* The name that an element must have. */
static const char *urdf_name(urdf *robot, const xmlNode *at, const char *key)
{
  const char *name = at != NULL ? perp_xml_text(robot->robot, at, key) : NULL;
  if (at != NULL && (name == NULL || name[0] == '\0'))
    perp_xml_refuse(robot->robot, at, "give it a name", "<%s> has no attribute '%s'", at->name,
                    key);
  return name != NULL ? name : "";
}

static void urdf_origin(urdf *robot, const xmlNode *of, perp_tree_pose *pose)
{
  double xyz[3] = { 0 }, rpy[3] = { 0 };
  const xmlNode *at = perp_xml_child(of, "origin");
  perp_tree_identity(pose);
  if (at == NULL) return;
  perp_xml_numbers(robot->robot, at, "xyz", 3, 3, xyz);
  const int n = perp_xml_numbers(robot->robot, at, "rpy", 3, 3, rpy);
  double quat[4] = { 1 };
  perp_tree_rpy(xyz, rpy, pose);
  if (n > 0 || perp_xml_numbers(robot->robot, at, "quat_xyzw", 4, 4, quat) == 0) return;
  const double size = sqrt(quat[0] * quat[0] + quat[1] * quat[1] + quat[2] * quat[2] +
                           quat[3] * quat[3]);
  if (!(size > 0))
    perp_xml_refuse(robot->robot, at, "write x y z w", "its quaternion has no length");
  else
    for (int i = 0; i < 4; i++) pose->quat[i] = quat[(i + 3) % 4] / size;
}

/* Elements that are not read; those in `quiet` have no physics. */
static void urdf_rest(urdf *robot, const xmlNode *of, const char *const *read, const char *whose)
{
  for (const xmlNode *at = perp_xml_child(of, NULL); at != NULL; at = perp_xml_next(at, NULL)) {
    int i = 0;
    while (read[i] != NULL && !perp_xml_is(at, read[i])) i++;
    if (read[i] != NULL) continue;
    const char *prefix = at->ns != NULL ? (const char *)at->ns->prefix : NULL;
    if ((prefix != NULL && strcmp(prefix, "xacro") == 0) ||
        strncmp((const char *)at->name, "xacro:", 6) == 0)
      perp_xml_refuse(robot->robot, at,
                      "xacro FILE > robot.urdf makes a URDF of it (package xacro of "
                      "ROS)",
                      "<%s> is a macro of xacro: this is no URDF yet", at->name);
    else
      perp_robot_lost(robot->robot, "%s of %s (line %d): no part of a scene",
                      (const char *)at->name, whose, perp_xml_line(at));
  }
}

/* ---- links ---- */

static void urdf_inertial(urdf *robot, perp_tree_link *link, const xmlNode *at)
{
  static const char *const keys[6] = { "ixx", "iyy", "izz", "ixy", "ixz", "iyz" };
  perp_tree_pose pose;
  double I[6];
  const xmlNode *inertia = perp_xml_child(at, "inertia");
  urdf_origin(robot, at, &pose);
  for (int k = 0; k < 6; k++) I[k] = urdf_number(robot, inertia, keys[k], 0);
  double mass = urdf_number(robot, perp_xml_child(at, "mass"), "value", 0);
  if (mass < 0) {
    perp_xml_refuse(robot->robot, at, "write the mass in kg",
                    "link '%s': its mass, %g kg, is negative", link->name, mass);
    return;
  }
  perp_tree_inertial(link, mass, I, &pose);
}

static bool urdf_sizes(urdf *robot, const xmlNode *at, const perp_robot_geom *geom, int n)
{
  for (int i = 0; i < n; i++)
    if (!(geom->size[i] > 0)) {
      perp_xml_refuse(robot->robot, at, "write lengths in m, larger than 0", "<%s> has no size",
                      at->name);
      return false;
    }
  return true;
}

static void urdf_mesh(urdf *robot, const xmlNode *at, perp_robot_geom *geom)
{
  double scale[3] = { 1, 1, 1 };
  const char *name = urdf_name(robot, at, "filename");
  const int n = perp_xml_numbers(robot->robot, at, "scale", 1, 3, scale);
  if (n == 1) scale[1] = scale[2] = scale[0];
  if (perp_robot_refused(robot->robot)) return;
  if (robot->opt.meshdir != NULL || robot->opt.strippath) { /* as MuJoCo's block says */
    const char *slash = strrchr(name, '/'), *own = slash != NULL ? slash + 1 : name;
    const char *path = perp_pool_printf(
        &robot->robot->pool, "%s%s%s", robot->opt.meshdir != NULL ? robot->opt.meshdir : "",
        robot->opt.meshdir != NULL ? "/" : "", robot->opt.strippath ? own : name);
    if (perp_robot_search(robot->robot, robot->folder, path) != NULL) name = path;
  }
  geom->asset = perp_tree_mesh(&robot->tree, robot->folder, name, scale, at);
}

static void urdf_collision(urdf *robot, perp_tree_link *link, const xmlNode *at)
{
  static const char *const kinds[] = { "box", "cylinder", "sphere", "capsule", "mesh", NULL };
  static const perp_robot_geom_kind kind_of[] = { PERP_ROBOT_BOX, PERP_ROBOT_CYLINDER,
                                                  PERP_ROBOT_SPHERE, PERP_ROBOT_CAPSULE,
                                                  PERP_ROBOT_MESH };
  perp_tree_pose pose;
  const char *name = perp_xml_text(robot->robot, at, "name");
  const xmlNode *geometry = perp_xml_child(at, "geometry"), *shape = perp_xml_child(geometry, NULL);
  int kind = 0;
  if (shape == NULL) {
    perp_robot_note(robot->robot, "a collision of link %s has no geometry", link->name);
    return;
  }
  while (kinds[kind] != NULL && !perp_xml_is(shape, kinds[kind])) kind++;
  if (kinds[kind] == NULL) {
    perp_xml_refuse(robot->robot, shape, "use box, cylinder, sphere, capsule or mesh",
                    "<%s> is no shape of a collision", shape->name);
    return;
  }
  urdf_origin(robot, at, &pose);
  perp_robot_geom *geom = perp_tree_add_geom(&robot->tree, link, kind_of[kind], &pose);
  geom->name = name != NULL ? name : "";
  if (kind == 0) {
    double size[3] = { 0 };
    perp_xml_numbers(robot->robot, shape, "size", 3, 3, size);
    for (int i = 0; i < 3; i++) geom->size[i] = size[i] / 2;
    urdf_sizes(robot, shape, geom, 3);
  } else if (kind < 4) {
    geom->size[0] = urdf_number(robot, shape, "radius", 0);
    if (kind != 2) geom->size[1] = urdf_number(robot, shape, "length", 0) / 2;
    urdf_sizes(robot, shape, geom, kind == 2 ? 1 : 2);
  } else
    urdf_mesh(robot, shape, geom);
}

static void urdf_link(urdf *robot, const xmlNode *at)
{
  static const char *const read[] = { "inertial", "collision", "visual", "contact", NULL };
  const char *name = urdf_name(robot, at, "name");
  if (perp_tree_find_link(&robot->tree, name) >= 0)
    perp_xml_refuse(robot->robot, at, "rename one of them", "two links are called '%s'", name);
  perp_tree_link *link = perp_tree_add_link(&robot->tree, name, at);
  const xmlNode *inertial = perp_xml_child(at, "inertial");
  if (link == NULL) return;
  if (inertial != NULL && robot->opt.from_geoms != 1) urdf_inertial(robot, link, inertial);
  if (robot->opt.from_geoms == 0) link->inertial = true;
  for (const xmlNode *node = perp_xml_child(at, "collision");
       node != NULL && !perp_robot_refused(robot->robot); node = perp_xml_next(node, "collision"))
    urdf_collision(robot, link, node);
  urdf_rest(robot, at, read, perp_pool_printf(&robot->robot->pool, "link %s", name));
  if (perp_xml_child(at, "contact") != NULL)
    perp_robot_lost(robot->robot,
                    "contact of link %s: stiffness, damping or friction of its contacts", name);
  if (!link->inertial || !(link->mass > 0)) return;
  link->mass = fmax(link->mass, robot->opt.boundmass);
  double *I = link->inertia;
  for (int i = 0; i < 3; i++) I[4 * i] = fmax(I[4 * i], robot->opt.boundinertia);
  if (robot->opt.balance) {
    double value[3], V[9];
    perp_robot_eigen(I, value, V);
    if (value[0] + value[1] < value[2]) {
      const double mean = (value[0] + value[1] + value[2]) / 3;
      memset(I, 0, 9 * sizeof *I);
      I[0] = I[4] = I[8] = mean;
      perp_robot_note(robot->robot,
                      "link %s: the compiler option balanceinertia makes its moments %.4g kg m^2",
                      name, mean);
    }
  }
}

/* ---- joints ---- */

static void urdf_limit(urdf *robot, const perp_tree_joint *joint, perp_robot_joint *axis,
                       const xmlNode *at)
{
  const bool turns = axis->kind == PERP_ROBOT_HINGE;
  const char *unit = turns ? "rad" : "m";
  const double low = urdf_number(robot, at, "lower", 0), high = urdf_number(robot, at, "upper", 0),
               effort = urdf_number(robot, at, "effort", 0),
               speed = urdf_number(robot, at, "velocity", 0);
  if (low > high)
    perp_xml_refuse(robot->robot, at, "exchange the numbers",
                    "joint '%s': its lower limit, %g %s, is above the upper one, %g %s",
                    joint->name, low, unit, high, unit);
  if (low < high) {
    axis->limited = true;
    axis->range[0] = low;
    axis->range[1] = high;
  } else if (low == high)
    perp_tree_say(&robot->tree, false,
                  "joints whose limits are equal have none, as in MuJoCo (ROS locks them)",
                  joint->name);
  if (effort > 0)
    perp_tree_say(&robot->tree, false, EFFORT,
                  perp_pool_printf(&robot->robot->pool, "%s %g %s", joint->name, effort,
                                   turns ? "N m" : "N"));
  if (speed > 0)
    perp_tree_say(&robot->tree, true, VELOCITY,
                  perp_pool_printf(&robot->robot->pool, "%s %g %s/s", joint->name, speed, unit));
  axis->fastest = speed;
}

/* Two directions across an axis. */
static void urdf_across(const double axis[3], double a[3], double b[3])
{
  const int k = fabs(axis[0]) < 0.6 ? 0 : 1;
  double size = 0;
  for (int i = 0; i < 3; i++) a[i] = (i == k) - axis[k] * axis[i];
  for (int i = 0; i < 3; i++) size += a[i] * a[i];
  for (int i = 0; i < 3; i++) a[i] /= sqrt(size);
  for (int i = 0; i < 3; i++)
    b[i] = axis[(i + 1) % 3] * a[(i + 2) % 3] - axis[(i + 2) % 3] * a[(i + 1) % 3];
}

static void urdf_axes(urdf *robot, const xmlNode *at, perp_tree_joint *joint, int type)
{
  double axis[3] = { 1, 0, 0 }, a[3], b[3], size = 0;
  const xmlNode *limit = perp_xml_child(at, "limit"), *dynamics = perp_xml_child(at, "dynamics");
  const xmlNode *element = perp_xml_child(at, "axis");
  if (element != NULL) perp_xml_numbers(robot->robot, element, "xyz", 3, 3, axis);
  for (int i = 0; i < 3; i++) size += axis[i] * axis[i];
  if (type == 6) perp_tree_add_axis(joint, PERP_ROBOT_BALL, axis); /* of Bullet */
  if (type == 3 || type == 6) return;
  if (!(size > 0)) {
    perp_xml_refuse(robot->robot, element, "write its direction",
                    "the axis of joint '%s' has no length", joint->name);
    return;
  }
  for (int i = 0; i < 3; i++) axis[i] /= sqrt(size);
  if (type == 4)
    perp_tree_add_axis(joint, PERP_ROBOT_FREE, axis);
  else if (type == 5) {
    urdf_across(axis, a, b);
    perp_tree_add_axis(joint, PERP_ROBOT_SLIDE, a)->name = perp_pool_printf(&robot->robot->pool,
                                                                            "%s_x", joint->name);
    perp_tree_add_axis(joint, PERP_ROBOT_SLIDE, b)->name = perp_pool_printf(&robot->robot->pool,
                                                                            "%s_y", joint->name);
    perp_tree_add_axis(joint, PERP_ROBOT_HINGE, axis);
  } else {
    perp_robot_joint *one = perp_tree_add_axis(
        joint, type == 2 ? PERP_ROBOT_SLIDE : PERP_ROBOT_HINGE, axis);
    if (limit != NULL && type != 1) urdf_limit(robot, joint, one, limit);
    if (limit == NULL && type != 1)
      perp_tree_say(&robot->tree, false, "joints without <limit> are not limited", joint->name);
    if (limit != NULL && type == 1 && urdf_number(robot, limit, "velocity", 0) > 0)
      perp_tree_say(&robot->tree, true, VELOCITY,
                    perp_pool_printf(&robot->robot->pool, "%s %g rad/s", joint->name,
                                     urdf_number(robot, limit, "velocity", 0)));
  }
  for (int k = 0; k < joint->n && dynamics != NULL && type != 4; k++) {
    joint->axis[k].damping = urdf_number(robot, dynamics, "damping", 0);
    joint->axis[k].frictionloss = urdf_number(robot, dynamics, "friction", 0);
    if (joint->axis[k].damping < 0 || joint->axis[k].frictionloss < 0)
      perp_xml_refuse(robot->robot, dynamics, "write it without a sign",
                      "joint '%s': its damping or friction is negative", joint->name);
  }
}

static int urdf_end(urdf *robot, const xmlNode *joint, const char *which)
{
  const xmlNode *at = perp_xml_child(joint, which);
  if (at == NULL) {
    perp_xml_refuse(robot->robot, joint, "write <parent link=\"...\"/> and <child link=\"...\"/>",
                    "the joint has no <%s>", which);
    return -1;
  }
  const char *name = urdf_name(robot, at, "link");
  const int link = perp_tree_find_link(&robot->tree, name);
  if (link < 0 && !perp_robot_refused(robot->robot))
    perp_xml_refuse(robot->robot, at, "use the name of a link of the file", "there is no link '%s'",
                    name);
  return link;
}

static void urdf_joint(urdf *robot, const xmlNode *at)
{
  static const char *const types[] = { "revolute", "continuous", "prismatic", "fixed",
                                       "floating", "planar",     "spherical", NULL };
  static const char *const read[] = { "origin",      "parent",   "child", "axis",
                                      "limit",       "dynamics", "mimic", "safety_controller",
                                      "calibration", NULL };
  const char *name = urdf_name(robot, at, "name");
  const int parent = urdf_end(robot, at, "parent"), child = urdf_end(robot, at, "child"),
            type = perp_xml_word(robot->robot, at, "type", types, -1);
  if (perp_robot_refused(robot->robot)) return;
  if (type < 0) {
    perp_xml_refuse(robot->robot, at, "revolute, continuous, prismatic, fixed, floating or planar",
                    "joint '%s' has no type", name);
    return;
  }
  if (perp_tree_find_joint(&robot->tree, name) >= 0)
    perp_xml_refuse(robot->robot, at, "rename one of them", "two joints are called '%s'", name);
  for (int j = 0; j < robot->tree.n_joints; j++)
    if (robot->tree.joint[j].child == child)
      perp_xml_refuse(robot->robot, at, "a URDF is a tree; SDF and MJCF have loops",
                      "link '%s' is the child of two joints, '%s' and '%s'",
                      robot->tree.link[child].name, robot->tree.joint[j].name, name);
  if (parent == child)
    perp_xml_refuse(robot->robot, at, "name two links", "joint '%s' connects link '%s' with itself",
                    name, robot->tree.link[child].name);
  perp_tree_joint *joint = perp_tree_add_joint(&robot->tree, name, at);
  if (joint == NULL) return;
  joint->parent = parent;
  joint->child = child;
  urdf_origin(robot, at, &joint->pose);
  urdf_axes(robot, at, joint, type);
  urdf_rest(robot, at, read, perp_pool_printf(&robot->robot->pool, "joint %s", name));
  for (int k = 7; k < 9; k++)
    if (perp_xml_child(at, read[k]) != NULL)
      perp_tree_say(
          &robot->tree, true,
          perp_pool_printf(&robot->robot->pool, "%s, which is of a controller, of joints", read[k]),
          name);
}

/* q = offset + multiplier q of another joint */
static void urdf_mimic(urdf *robot, const xmlNode *joint)
{
  const xmlNode *at = perp_xml_child(joint, "mimic");
  const int own = perp_tree_find_joint(&robot->tree, urdf_name(robot, joint, "name"));
  if (at == NULL || own < 0) return;
  const int other = perp_tree_find_joint(&robot->tree, urdf_name(robot, at, "joint"));
  const double factor = urdf_number(robot, at, "multiplier", 1),
               offset = urdf_number(robot, at, "offset", 0);
  if (perp_robot_refused(robot->robot)) return;
  if (other < 0 || other == own) {
    perp_xml_refuse(robot->robot, at, "use the name of another joint",
                    "joint '%s' cannot follow joint '%s'", robot->tree.joint[own].name,
                    perp_xml_text(robot->robot, at, "joint"));
    return;
  }
  const perp_tree_joint *a = &robot->tree.joint[own], *b = &robot->tree.joint[other];
  if (a->n != 1 || b->n != 1 || a->number < 0 || b->number < 0 ||
      a->axis[0].kind < PERP_ROBOT_SLIDE || b->axis[0].kind < PERP_ROBOT_SLIDE) {
    perp_robot_lost(robot->robot, "mimic of joint %s: it or joint %s has no single coordinate",
                    a->name, b->name);
    return;
  }
  perp_robot_equality *couple = perp_robot_add_equality(robot->robot, PERP_ROBOT_COUPLE);
  couple->name = perp_pool_printf(&robot->robot->pool, "%s_mimic", a->name);
  couple->a = a->number;
  couple->b = b->number;
  couple->poly[0] = offset;
  couple->poly[1] = factor;
}

/* ---- MuJoCo's block ---- */

static void urdf_compiler(urdf *robot, const xmlNode *at)
{
  static const char *const bools[] = { "false", "true", NULL }, *const autos[] = { "false", "true",
                                                                                   "auto", NULL };
  static const char *const read[] = { "meshdir",
                                      "assetdir",
                                      "strippath",
                                      "balanceinertia",
                                      "boundmass",
                                      "boundinertia",
                                      "settotalmass",
                                      "inertiafromgeom",
                                      "discardvisual",
                                      "fusestatic",
                                      "angle",
                                      "texturedir",
                                      NULL };
  const char *dir = perp_xml_text(robot->robot, at, "meshdir");
  if (dir == NULL) dir = perp_xml_text(robot->robot, at, "assetdir");
  if (dir != NULL) robot->opt.meshdir = dir;
  robot->opt.strippath = perp_xml_word(robot->robot, at, "strippath", bools, 1) == 1;
  robot->opt.balance = perp_xml_word(robot->robot, at, "balanceinertia", bools, 0) == 1;
  robot->opt.boundmass = urdf_number(robot, at, "boundmass", 0);
  robot->opt.boundinertia = urdf_number(robot, at, "boundinertia", 0);
  robot->opt.total = urdf_number(robot, at, "settotalmass", -1);
  robot->opt.from_geoms = perp_xml_word(robot->robot, at, "inertiafromgeom", autos, 2);
  for (const xmlAttr *attribute = at->properties; attribute != NULL; attribute = attribute->next) {
    int i = 0;
    while (read[i] != NULL && strcmp(read[i], (const char *)attribute->name) != 0) i++;
    if (read[i] == NULL)
      perp_robot_lost(robot->robot, "option %s of the compiler in <mujoco>",
                      (const char *)attribute->name);
  }
}

static void urdf_mujoco(urdf *robot, const xmlNode *block)
{
  for (const xmlNode *at = perp_xml_child(block, NULL); at != NULL; at = perp_xml_next(at, NULL)) {
    if (perp_xml_is(at, "compiler"))
      urdf_compiler(robot, at);
    else if (perp_xml_is(at, "option")) {
      robot->robot->timestep = urdf_number(robot, at, "timestep", robot->robot->timestep);
      perp_xml_numbers(robot->robot, at, "gravity", 3, 3, robot->robot->gravity);
      for (const xmlAttr *attribute = at->properties; attribute != NULL;
           attribute = attribute->next)
        if (strcmp((const char *)attribute->name, "timestep") != 0 &&
            strcmp((const char *)attribute->name, "gravity") != 0)
          perp_robot_lost(robot->robot, "option %s in <mujoco>", (const char *)attribute->name);
      if (!(robot->robot->timestep > 0))
        perp_xml_refuse(robot->robot, at, "write a time in s", "the timestep is not positive");
    } else if (!perp_xml_is(at, "size") && !perp_xml_is(at, "statistic") &&
               !perp_xml_is(at, "visual"))
      perp_robot_lost(robot->robot, "%s in <mujoco>", (const char *)at->name);
  }
}

static void urdf_total(urdf *robot)
{
  double mass = 0;
  for (int b = 1; b < robot->robot->n_bodies; b++) mass += robot->robot->body[b].mass;
  if (!(robot->opt.total > 0) || !(mass > 0)) return;
  for (int b = 1; b < robot->robot->n_bodies; b++) {
    perp_robot_body *body = &robot->robot->body[b];
    body->mass *= robot->opt.total / mass;
    for (int i = 0; i < 9; i++) body->inertia[i] *= robot->opt.total / mass;
  }
}

void perp_urdf_read(perp_robot *robot, xmlDoc *doc)
{
  static const char *const read[] = { "link",         "joint",  "mujoco", "material",
                                      "transmission", "gazebo", NULL };
  urdf file = { .robot = robot, .opt = { .total = -1, .from_geoms = 2 } };
  const xmlNode *root = perp_xml_calls.xmlDocGetRootElement(doc);
  const char *name = perp_xml_text(robot, root, "name");
  robot->format = "URDF";
  robot->name = name != NULL ? name : "";
  file.tree.robot = robot;
  file.tree.floating = urdf_floats;
  file.folder = perp_robot_folder(robot, robot->path);
  urdf_rest(&file, root, read, "the robot");
  for (const xmlNode *at = perp_xml_child(root, "mujoco"); at != NULL;
       at = perp_xml_next(at, "mujoco"))
    urdf_mujoco(&file, at);
  for (const xmlNode *at = perp_xml_child(root, "link"); at != NULL && !perp_robot_refused(robot);
       at = perp_xml_next(at, "link"))
    urdf_link(&file, at);
  for (const xmlNode *at = perp_xml_child(root, "joint"); at != NULL && !perp_robot_refused(robot);
       at = perp_xml_next(at, "joint"))
    urdf_joint(&file, at);
  if (file.tree.n_links == 0)
    perp_xml_refuse(robot, root, "a URDF has at least one <link>", "the robot has no link");
  if (!perp_robot_refused(robot)) perp_tree_build(&file.tree);
  for (const xmlNode *at = perp_xml_child(root, "joint"); at != NULL && !perp_robot_refused(robot);
       at = perp_xml_next(at, "joint"))
    urdf_mimic(&file, at);
  for (const xmlNode *at = perp_xml_child(root, NULL); at != NULL; at = perp_xml_next(at, NULL))
    if (perp_xml_is(at, "transmission") || perp_xml_is(at, "gazebo")) {
      const bool gazebo = perp_xml_is(at, "gazebo");
      const char *of = perp_xml_text(robot, at, gazebo ? "reference" : "name");
      perp_tree_say(&file.tree, true,
                    gazebo ? "gazebo: what Gazebo reads beyond URDF (friction, sensors, plugins)"
                           : "transmission: actuators and gears that are behind joints",
                    of != NULL ? of : "of the robot");
    }
  perp_tree_tell(&file.tree);
  if (!perp_robot_refused(robot)) urdf_total(&file);
}
