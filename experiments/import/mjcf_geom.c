/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Geoms: their shape, what they collide with, the mass that they give to their body. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <string.h>

static const char *const geom_kinds[] = { "plane",    "hfield", "sphere", "capsule", "ellipsoid",
                                          "cylinder", "box",    "mesh",   "sdf",     NULL };
enum { GEOM_SDF = PERP_ROBOT_MESH + 1 };

static void geom_turn(const double quat[4], const double x[3], double out[3])
{
  double R[9];
  perp_quat_matrix(quat, R);
  for (int i = 0; i < 3; i++) out[i] = R[i] * x[0] + R[i + 3] * x[1] + R[i + 6] * x[2];
}

/* ---- sizes ---- */

static void geom_sizes(const mjcf_element *element, perp_robot_geom *geom, bool ends)
{
  static const int need[] = { 0, 0, 1, 2, 3, 2, 3, 0 };
  const bool three = geom->kind == PERP_ROBOT_BOX || geom->kind == PERP_ROBOT_ELLIPSOID;
  double size[3] = { 0 };
  const int n = mjcf_numbers(element, "size", 1, 3, size), wanted = ends ? 1 : need[geom->kind];
  if (perp_robot_refused(element->mj->robot)) return;
  if (n < wanted) {
    perp_xml_refuse(element->mj->robot, element->node, "write half sizes in m",
                    "geom '%s' of type %s needs %d sizes: got %d", geom->name,
                    geom_kinds[geom->kind], wanted, n);
    return;
  }
  if (ends && three) { /* square, the length along z is that between the ends */
    size[1] = size[0];
    size[2] = geom->size[2];
  } else if (ends)
    size[1] = geom->size[1];
  for (int i = 0; i < need[geom->kind]; i++)
    if (!(size[i] > 0))
      perp_xml_refuse(element->mj->robot, element->node, "write half sizes in m",
                      "size %d of geom '%s' is not positive: %g", i + 1, geom->name, size[i]);
  memcpy(geom->size, size, sizeof size);
}

/* The pose, and along which length, from the ends of the axis. */
static bool geom_ends(const mjcf_element *element, perp_robot_geom *geom)
{
  double v[6], axis[3];
  if (mjcf_numbers(element, "fromto", 6, 6, v) == 0) return false;
  if (geom->kind < PERP_ROBOT_CAPSULE || geom->kind > PERP_ROBOT_BOX) {
    perp_xml_refuse(element->mj->robot, mjcf_with(element, "fromto"), "write pos and size",
                    "geom '%s' of type %s has no ends", geom->name, geom_kinds[geom->kind]);
    return false;
  }
  for (int i = 0; i < 3; i++) {
    geom->x[i] = (v[i] + v[3 + i]) / 2;
    axis[i] = v[i] - v[3 + i];
  }
  const double length = sqrt(perp_dot(3, axis, axis));
  if (!(length > 1e-14)) {
    perp_xml_refuse(element->mj->robot, mjcf_with(element, "fromto"), "write two different places",
                    "the ends of geom '%s' are the same", geom->name);
    return false;
  }
  for (int i = 0; i < 3; i++) axis[i] /= length;
  mjcf_z_to(axis, geom->quat);
  geom->size[geom->kind == PERP_ROBOT_BOX || geom->kind == PERP_ROBOT_ELLIPSOID ? 2 : 1] = length /
                                                                                           2;
  return true;
}

/* ---- a primitive that fits a mesh ---- */

/* The quaternion of a rotation matrix. */
static void fit_turn(const double m[9], double quat[4])
{
  const double trace = m[0] + m[4] + m[8];
  if (trace > -1 + 1e-9) {
    quat[0] = sqrt(1 + trace) / 2;
    quat[1] = (m[5] - m[7]) / (4 * quat[0]);
    quat[2] = (m[6] - m[2]) / (4 * quat[0]);
    quat[3] = (m[1] - m[3]) / (4 * quat[0]);
  } else { /* half a turn: the axis is the largest column of m + 1 */
    int k = m[0] > m[4] ? 0 : 1;
    if (m[8] > m[4 * k]) k = 2;
    for (int i = 0; i < 3; i++) quat[1 + i] = m[i + 3 * k] + (i == k);
    quat[0] = 0;
  }
  perp_quat_unit(quat);
}

/* Around all vertices, in the principal frame R at com; the centre moves to the middle. */
static void fit_around(const perp_robot_mesh *mesh, const double R[9], double com[3],
                       perp_robot_geom *geom)
{
  double low[3] = { HUGE_VAL, HUGE_VAL, HUGE_VAL }, high[3] = { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL },
         middle[3], far = 0, out = 0, along = 0;
  for (int pass = 0; pass < 3; pass++) {
    for (int v = 0; v < mesh->n; v++) {
      double d[3], p[3];
      for (int i = 0; i < 3; i++) d[i] = mesh->vertex[3 * v + i] - com[i];
      for (int i = 0; i < 3; i++) p[i] = perp_dot(3, R + 3 * i, d);
      for (int i = 0; i < 3 && pass == 0; i++) {
        low[i] = fmin(low[i], p[i]);
        high[i] = fmax(high[i], p[i]);
      }
      if (pass == 0) continue;
      for (int i = 0; i < 3; i++) p[i] -= middle[i];
      const double around = sqrt(p[0] * p[0] + p[1] * p[1]);
      far = fmax(far, sqrt(perp_dot(3, p, p)));
      out = fmax(out, around);
      if (geom->kind == PERP_ROBOT_CYLINDER)
        along = fmax(along, fabs(p[2]));
      else if (pass == 2) /* below the cap */
        along = fmax(along, fabs(p[2]) - sqrt(fmax(0, out * out - around * around)));
    }
    for (int i = 0; i < 3 && pass == 0; i++) middle[i] = (low[i] + high[i]) / 2;
  }
  for (int i = 0; i < 3; i++) geom->size[i] = (high[i] - low[i]) / 2;
  if (geom->kind == PERP_ROBOT_SPHERE) geom->size[0] = far;
  if (geom->kind == PERP_ROBOT_CAPSULE || geom->kind == PERP_ROBOT_CYLINDER)
    geom->size[0] = out, geom->size[1] = along;
  for (int i = 0; i < 3; i++)
    com[i] += R[i] * middle[0] + R[i + 3] * middle[1] + R[i + 6] * middle[2];
}

/* The size of what has the inertia of a box with these half sides. */
static void fit_box(const double half[3], perp_robot_geom *geom)
{
  const double mean = (half[0] + half[1]) / 2;
  memcpy(geom->size, half, 3 * sizeof *half);
  if (geom->kind == PERP_ROBOT_SPHERE)
    geom->size[0] = (half[0] + half[1] + half[2]) / 3;
  else if (geom->kind == PERP_ROBOT_CAPSULE) {
    geom->size[0] = mean;
    geom->size[1] = fmax(0, half[2] - mean / 2);
  } else if (geom->kind == PERP_ROBOT_CYLINDER) {
    geom->size[0] = mean;
    geom->size[1] = half[2];
  }
}

static void geom_fit(const mjcf_element *element, perp_robot_geom *geom, int asset,
                     perp_robot_inside inside)
{
  perp_robot *robot = element->mj->robot;
  const perp_robot_mesh *mesh = &robot->mesh[asset];
  perp_robot_solid solid;
  double value[3], V[9], R[9], half[3], quat[4], turned[3], both[4];
  if (!perp_robot_solid_of_mesh(mesh, inside, &solid)) {
    perp_xml_refuse(robot, element->node, "write the size of the geom, without a mesh",
                    "the mesh of geom '%s' has no volume", geom->name);
    return;
  }
  perp_robot_eigen(solid.inertia, value, V); /* the longest side is along z */
  for (int i = 0; i < 3; i++) {
    for (int k = 0; k < 3; k++) R[k + 3 * i] = (i == 2 ? -1 : 1) * V[k + 3 * (2 - i)];
    half[i] = sqrt(
        fmax(0, 1.5 * (value[0] + value[1] + value[2] - 2 * value[2 - i]) / solid.volume));
  }
  if (mjcf_compiler_of(element->node)->aabb)
    fit_around(mesh, R, solid.com, geom);
  else
    fit_box(half, geom);
  const double scale = mjcf_number(element, "fitscale", 1);
  for (int i = 0; i < 3; i++) geom->size[i] *= scale;
  fit_turn(R, quat);
  geom_turn(geom->quat, solid.com, turned);
  for (int i = 0; i < 3; i++) geom->x[i] += turned[i];
  perp_quat_product(geom->quat, quat, both);
  memcpy(geom->quat, both, sizeof both);
}

/* ---- mass ---- */

static void geom_mass(const mjcf_element *element, const perp_robot_geom *geom,
                      perp_robot_inside inside, perp_robot_body *from)
{
  const mjcf_compiler *compiler = mjcf_compiler_of(element->node);
  const int group = mjcf_integer(element, "group", 0);
  perp_robot_solid solid;
  if (group < compiler->group[0] || group > compiler->group[1]) return;
  if (geom->kind == PERP_ROBOT_PLANE || geom->kind == PERP_ROBOT_FIELD) return;
  double mass = -1;
  const bool said = mjcf_numbers(element, "mass", 1, 1, &mass) == 1;
  const double density = mjcf_number(element, "density", 1000);
  if (said ? mass == 0 : density == 0) return;
  perp_robot_solid_of(element->mj->robot, geom, mjcf_flag(element, "shellinertia", false), inside,
                      &solid);
  if (!(solid.volume > 0)) {
    perp_xml_refuse(element->mj->robot, element->node,
                    "write inertia=\"convex\" or \"shell\" into its <mesh>, or add an <inertial>",
                    "the mesh of geom '%s' encloses no volume: its triangles are flat, open or "
                    "turned inside out",
                    geom->name);
    return;
  }
  if (!said) mass = density * solid.volume;
  if (mass < 0)
    perp_xml_refuse(element->mj->robot, element->node, "write a mass in kg",
                    "geom '%s' has a negative mass: %g", geom->name, mass);
  perp_robot_solid_place(&solid, geom->x, geom->quat);
  perp_robot_body_add(from, mass, &solid);
}

/* ---- a geom ---- */

/* A mesh or a height field; false: the geom is lost, or refused. */
static bool geom_asset(const mjcf_element *element, perp_robot_geom *geom, bool needed,
                       perp_robot_inside *inside)
{
  mjcf *mj = element->mj;
  const char *mesh = mjcf_text(element, "mesh"), *field = mjcf_text(element, "hfield");
  const bool is_mesh = geom->kind == PERP_ROBOT_MESH, is_field = geom->kind == PERP_ROBOT_FIELD;
  if ((is_mesh && mesh == NULL) || (is_field && field == NULL)) {
    perp_xml_refuse(mj->robot, element->node, "", "geom '%s' of type %s needs the attribute '%s'",
                    geom->name, geom_kinds[geom->kind], is_mesh ? "mesh" : "hfield");
    return false;
  }
  if (is_field) return (geom->asset = mjcf_field(mj, element->node, field)) >= 0;
  if (mesh == NULL) return true;
  if (is_mesh && !needed) return false;
  const int asset = mjcf_mesh(mj, element->node, mesh, inside);
  if (asset < 0) return false;
  if (is_mesh)
    geom->asset = asset;
  else
    geom_fit(element, geom, asset, *inside);
  return !perp_robot_refused(mj->robot);
}

void mjcf_geom_read(mjcf *mj, const mjcf_element *element, int body, const double x[3],
                    const double quat[4], perp_robot_body *from)
{
  perp_robot *robot = mj->robot;
  const char *name = perp_xml_text(robot, element->node, "name");
  const bool mesh = mjcf_text(element, "mesh") != NULL;
  const int kind = mjcf_word(element, "type", geom_kinds, PERP_ROBOT_SPHERE);
  perp_robot_inside inside = PERP_ROBOT_INSIDE_LEGACY;
  if (name == NULL) name = "";
  if (kind == GEOM_SDF) {
    perp_robot_lost(robot, "geom %s, a signed distance field: its contacts and its mass", name);
    return;
  }
  const int number = robot->n_geoms;
  perp_robot_geom *geom = perp_robot_add_geom(robot, body, (perp_robot_geom_kind)kind);
  geom->name = name;
  geom->contype = mjcf_integer(element, "contype", 1);
  geom->conaffinity = mjcf_integer(element, "conaffinity", 1);
  geom->condim = mjcf_integer(element, "condim", 3);
  geom->priority = mjcf_integer(element, "priority", 0);
  geom->margin = mjcf_number(element, "margin", 0);
  mjcf_numbers(element, "friction", 1, 3, geom->friction);
  if (geom->condim != 1 && geom->condim != 3 && geom->condim != 4 && geom->condim != 6)
    perp_xml_refuse(robot, element->node, "1, 3, 4 or 6", "geom '%s' has condim %d", name,
                    geom->condim);
  mjcf_numbers(element, "pos", 3, 3, geom->x);
  mjcf_orientation(element, geom->quat);
  const bool ends = geom_ends(element, geom);
  if (!mesh || kind == PERP_ROBOT_MESH) geom_sizes(element, geom, ends);
  if (perp_robot_refused(robot)) return;
  const bool collides = geom->contype != 0 || geom->conaffinity != 0;
  const bool there = geom_asset(element, geom, collides || from != NULL, &inside);
  if (perp_robot_refused(robot)) return;
  geom = &robot->geom[number];
  if (!there) geom->contype = geom->conaffinity = 0;
  double own[3], both[4];
  const bool plain = x[0] == 0 && x[1] == 0 && x[2] == 0 && quat[0] == 1;
  if (!plain) {
    geom_turn(quat, geom->x, own);
    for (int i = 0; i < 3; i++) geom->x[i] = x[i] + own[i];
    perp_quat_product(quat, geom->quat, both);
    memcpy(geom->quat, both, sizeof both);
    perp_quat_unit(geom->quat);
  }
  mjcf_table_add(mj, &mj->geoms, element->node, "geom", name, number);
  if (from != NULL && there) geom_mass(element, geom, inside, from);
  double surface[3] = { 0 };
  if (mjcf_numbers(element, "surfacevel", 1, 3, surface) > 0 &&
      (surface[0] != 0 || surface[1] != 0 || surface[2] != 0))
    perp_robot_lost(robot, "surface velocity (%g, %g, %g) m/s of geom %s: it moves what it touches",
                    surface[0], surface[1], surface[2], name);
  const double adhesion = mjcf_number(element, "adhesion", 0);
  if (adhesion != 0)
    perp_robot_lost(robot, "adhesion %g of geom %s: a force that holds it to what it touches",
                    adhesion, name);
}
