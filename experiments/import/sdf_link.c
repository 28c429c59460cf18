/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links of SDF: mass and shapes. */
#include "experiments/import/sdf_private.h"

#include <math.h>
#include <string.h>

enum { MOST_FRICTION = 1000 };

static void sdf_inertial(perp_sdf *sdf, perp_tree_link *link, const xmlNode *at)
{
  static const char *const keys[6] = { "ixx", "iyy", "izz", "ixy", "ixz", "iyz" };
  perp_tree_pose pose;
  double I[6];
  const xmlNode *inertia = perp_xml_child(at, "inertia");
  perp_sdf_pose(sdf, at, &pose, NULL);
  /* the defaults of SDF */
  for (int k = 0; k < 6; k++) I[k] = perp_sdf_number(sdf, inertia, keys[k], k < 3 ? 1 : 0);
  const double mass = perp_sdf_number(sdf, at, "mass", 1);
  if (mass < 0)
    perp_xml_refuse(sdf->robot, at, "write the mass in kg",
                    "link '%s': its mass, %g kg, is negative", link->name, mass);
  perp_tree_inertial(link, mass, I, &pose);
}

/* The z axis of a plane along its normal. */
static void sdf_plane(perp_sdf *sdf, const xmlNode *shape, perp_tree_pose *pose)
{
  double n[3] = { 0, 0, 1 }, size = 0;
  perp_sdf_numbers(sdf, shape, "normal", 3, n);
  for (int i = 0; i < 3; i++) size += n[i] * n[i];
  if (!(size > 0)) {
    perp_xml_refuse(sdf->robot, shape, "write a direction", "the normal of a plane has no length");
    return;
  }
  for (int i = 0; i < 3; i++) n[i] /= sqrt(size);
  perp_tree_pose turn = { .quat = { 1 + n[2], -n[1], n[0], 0 } }; /* from z to n */
  if (n[2] < -1 + 1e-12) turn = (perp_tree_pose){ .quat = { 0, 1, 0, 0 } };
  double length = 0;
  for (int i = 0; i < 4; i++) length += turn.quat[i] * turn.quat[i];
  for (int i = 0; i < 4; i++) turn.quat[i] /= sqrt(length);
  perp_tree_times(pose, &turn, pose);
}

static void sdf_surface(perp_sdf *sdf, const xmlNode *collision, perp_robot_geom *geom,
                        const char *whose)
{
  const xmlNode *surface = perp_xml_child(collision, "surface"),
                *friction = perp_xml_child(surface, "friction"),
                *ode = perp_xml_child(friction, "ode"),
                *bullet = perp_xml_child(friction, "bullet"),
                *bounce = perp_xml_child(surface, "bounce");
  geom->friction[1] = geom->friction[2] = 0;
  geom->friction[0] = perp_sdf_number(sdf, ode, "mu", perp_sdf_number(sdf, bullet, "friction", 1));
  const double across = perp_sdf_number(sdf, ode, "mu2", geom->friction[0]);
  if (across != geom->friction[0])
    perp_tree_say(&sdf->tree, true, "mu2: friction is mu in all directions", whose);
  if (geom->friction[0] < 0 || geom->friction[0] > MOST_FRICTION) { /* of ODE: infinite */
    geom->friction[0] = MOST_FRICTION;
    perp_tree_say(&sdf->tree, false, "friction is 1000 where it is negative or more", whose);
  }
  if (perp_sdf_number(sdf, bounce, "restitution_coefficient", 0) > 0)
    perp_tree_say(&sdf->tree, true, "restitution_coefficient: contacts do not rebound", whose);
  if (perp_xml_child(surface, "contact") != NULL)
    perp_tree_say(&sdf->tree, true, "<contact> of surfaces: contacts are rigid", whose);
}

static void sdf_collision(perp_sdf *sdf, perp_tree_link *link, const xmlNode *at,
                          const char *folder, const perp_sdf_group *group)
{
  static const char *const kinds[] = { "box",       "cylinder", "sphere", "capsule",
                                       "ellipsoid", "plane",    "mesh",   NULL };
  static const perp_robot_geom_kind kind_of[] = { PERP_ROBOT_BOX,       PERP_ROBOT_CYLINDER,
                                                  PERP_ROBOT_SPHERE,    PERP_ROBOT_CAPSULE,
                                                  PERP_ROBOT_ELLIPSOID, PERP_ROBOT_PLANE,
                                                  PERP_ROBOT_MESH };
  perp_tree_pose pose;
  const xmlNode *geometry = perp_xml_child(at, "geometry"), *shape = perp_xml_child(geometry, NULL);
  const char *name = perp_xml_text(sdf->robot, at, "name"),
             *whose = perp_pool_printf(&sdf->robot->pool, "collision %s of link %s",
                                       name != NULL ? name : "", link->name);
  int kind = 0;
  while (kinds[kind] != NULL && !perp_xml_is(shape, kinds[kind])) kind++;
  if (shape == NULL || perp_xml_is(shape, "empty")) return;
  if (kinds[kind] == NULL) {
    perp_robot_lost(sdf->robot, "<%s> of %s: it collides with nothing", (const char *)shape->name,
                    whose);
    return;
  }
  const char *base;
  perp_sdf_pose(sdf, at, &pose, &base);
  if (base != NULL && strcmp(base, "__link__") != 0)
    perp_xml_refuse(sdf->robot, at, "write its pose in the frame of the link",
                    "the pose of %s is relative to '%s'", whose, base);
  if (kind == 5) sdf_plane(sdf, shape, &pose);
  perp_robot_geom *geom = perp_tree_add_geom(&sdf->tree, link, kind_of[kind], &pose);
  geom->name = name != NULL ? perp_pool_printf(&sdf->robot->pool, "%s/%s", link->name, name) : "";
  geom->contype = group->contype;
  geom->conaffinity = group->conaffinity;
  sdf_surface(sdf, at, geom, whose);
  int n = 3;
  if (kind == 0) {
    double size[3] = { 0 };
    perp_sdf_numbers(sdf, shape, "size", 3, size);
    for (int i = 0; i < 3; i++) geom->size[i] = size[i] / 2;
  } else if (kind == 4)
    perp_sdf_numbers(sdf, shape, "radii", 3, geom->size);
  else if (kind < 4) {
    geom->size[0] = perp_sdf_number(sdf, shape, "radius", 0);
    if (kind != 2) geom->size[1] = perp_sdf_number(sdf, shape, "length", 0) / 2;
    n = kind == 2 ? 1 : 2;
  } else
    n = 0;
  for (int i = 0; i < n; i++)
    if (!(geom->size[i] > 0))
      perp_xml_refuse(sdf->robot, shape, "write lengths in m, larger than 0", "<%s> has no size",
                      shape->name);
  if (kind != 6) return;
  double scale[3] = { 1, 1, 1 };
  perp_sdf_numbers(sdf, shape, "scale", 3, scale);
  const char *uri = perp_sdf_text(sdf, shape, "uri");
  if (perp_xml_child(shape, "submesh") != NULL)
    perp_robot_lost(sdf->robot, "submesh of %s: the whole mesh is taken", whose);
  if (!perp_robot_refused(sdf->robot))
    geom->asset = perp_tree_mesh(&sdf->tree, folder, uri, scale, shape);
}

void perp_sdf_link(perp_sdf *sdf, const xmlNode *at, const char *scope, const char *folder,
                   bool fixed, const perp_sdf_group *group)
{
  static const char *const read[] = { "pose",           "inertial",    "collision",
                                      "visual",         "gravity",     "self_collide",
                                      "light",          "enable_wind", "must_be_base_link",
                                      "velocity_decay", "kinematic",   NULL };
  const char *name = perp_pool_printf(&sdf->robot->pool, "%s%s", scope,
                                      perp_xml_text(sdf->robot, at, "name"));
  perp_tree_link *link = perp_tree_add_link(&sdf->tree, name, at);
  if (link == NULL) return;
  link->fixed = fixed || perp_sdf_true(sdf, at, "kinematic", false);
  link->no_gravity = !perp_sdf_true(sdf, at, "gravity", true);
  /* SDF: a link that says nothing of its mass has 1 kg and 1 kg m^2 */
  perp_tree_inertial(link, 1, (const double[6]){ 1, 1, 1, 0, 0, 0 }, &link->pose);
  const xmlNode *inertial = perp_xml_child(at, "inertial");
  if (inertial != NULL)
    sdf_inertial(sdf, link, inertial);
  else if (!link->fixed)
    perp_tree_say(&sdf->tree, false,
                  "links without <inertial> have 1 kg and 1 kg m^2, the default of SDF", name);
  const xmlNode *decay = perp_xml_child(at, "velocity_decay");
  if (perp_sdf_number(sdf, decay, "linear", 0) != 0 ||
      perp_sdf_number(sdf, decay, "angular", 0) != 0)
    perp_tree_say(&sdf->tree, true, "velocity_decay damps the motion of links", name);
  for (const xmlNode *node = perp_xml_child(at, "collision");
       node != NULL && !perp_robot_refused(sdf->robot); node = perp_xml_next(node, "collision"))
    sdf_collision(sdf, link, node, folder, group);
  perp_sdf_rest(sdf, at, read, perp_pool_printf(&sdf->robot->pool, "link %s", name));
}
