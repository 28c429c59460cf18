/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes and height fields, loaded when a geom needs them. */
#include "experiments/base/files.h"
#include "experiments/import/mjcf_private.h"
#include "experiments/import/robot_mesh.h"
#include "experiments/import/robot_search.h"
#include "models/geometry/kinematics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NOT_LOADED = -1, LOST = -2, MOST_CELLS = 1 << 22 };

/* "arm" of "meshes/arm.stl" */
static const char *asset_stem(mjcf *mj, const char *file)
{
  const char *slash = strrchr(file, '/'), *base = slash != NULL ? slash + 1 : file;
  const char *dot = strrchr(base, '.');
  return perp_pool_strndup(&mj->robot->pool, base,
                           dot != NULL ? (size_t)(dot - base) : strlen(base));
}

void mjcf_assets_read(mjcf *mj)
{
  perp_robot *robot = mj->robot;
  int meshes = 0, fields = 0;
  for (const xmlNode *section = perp_xml_child(mj->root, "asset"); section != NULL;
       section = perp_xml_next(section, "asset"))
    for (const xmlNode *node = perp_xml_child(section, NULL);
         node != NULL && !perp_robot_refused(robot); node = perp_xml_next(node, NULL)) {
      const bool mesh = perp_xml_is(node, "mesh");
      if (!mesh && !perp_xml_is(node, "hfield")) continue;
      const char *name = perp_xml_text(robot, node, "name"),
                 *file = perp_xml_text(robot, node, "file");
      if (name == NULL && file != NULL) name = asset_stem(mj, file);
      if (name == NULL) {
        perp_xml_refuse(robot, node, "write name=\"...\"", "<%s> has neither a name nor a file",
                        node->name);
        return;
      }
      if (mesh) {
        mj->mesh_node = perp_pool_grown(&robot->pool, mj->mesh_node, meshes, sizeof *mj->mesh_node);
        mj->mesh_node[meshes] = node;
        mjcf_table_add(mj, &mj->meshes, node, "mesh", name, meshes++);
      } else {
        mj->field_node = perp_pool_grown(&robot->pool, mj->field_node, fields,
                                         sizeof *mj->field_node);
        mj->field_node[fields] = node;
        mjcf_table_add(mj, &mj->fields, node, "height field", name, fields++);
      }
    }
  mj->mesh = perp_pool_alloc(&robot->pool, (size_t)meshes + 1, sizeof *mj->mesh);
  mj->field = perp_pool_alloc(&robot->pool, (size_t)fields + 1, sizeof *mj->field);
  for (int meshe = 0; meshe < meshes; meshe++) mj->mesh[meshe] = NOT_LOADED;
  for (int field = 0; field < fields; field++) mj->field[field] = NOT_LOADED;
}

static const char *asset_path(mjcf *mj, const xmlNode *node, const char *file, const char *folder,
                              const char *what)
{
  const char *slash = strrchr(file, '/');
  if (mjcf_compiler_of(node)->strip && slash != NULL) file = slash + 1;
  return perp_robot_find(mj->robot, folder, file, what, perp_xml_file(node), perp_xml_line(node));
}

/* ---- meshes ---- */

/* Vertices and triangles that the file itself has. */
static int mesh_inline(mjcf *mj, const mjcf_element *element, const double scale[3])
{
  perp_robot *robot = mj->robot;
  int n, n_faces;
  double *v = perp_xml_list(robot, element->node, "vertex", &n),
         *f = perp_xml_list(robot, element->node, "face", &n_faces);
  if (perp_robot_refused(robot)) return LOST;
  if (n % 3 != 0 || n < 12 || n_faces % 3 != 0) {
    perp_xml_refuse(robot, element->node, "three numbers of each",
                    "<mesh> has %d coordinates of vertices "
                    "and %d of triangles",
                    n, n_faces);
    return LOST;
  }
  perp_robot_mesh *mesh = perp_robot_add_mesh(robot);
  mesh->n = n / 3;
  mesh->n_faces = n_faces / 3;
  mesh->vertex = v;
  mesh->face = perp_pool_alloc(&robot->pool, (size_t)n_faces + 1, sizeof *mesh->face);
  for (int i = 0; i < n; i++) v[i] *= scale[i % 3];
  const bool mirrored = scale[0] * scale[1] * scale[2] < 0;
  for (int face = 0; face < n_faces; face++) {
    const int k = mirrored && face % 3 > 0 ? face + (face % 3 == 1 ? 1 : -1) : face;
    if (f[face] != floor(f[face]) || f[face] < 0 || f[face] >= mesh->n) {
      perp_xml_refuse(robot, element->node, "numbers of vertices, from 0",
                      "a triangle of <mesh> has the vertex %g, of %d", f[face], mesh->n);
      return LOST;
    }
    mesh->face[k] = (int)f[face];
  }
  return robot->n_meshes - 1;
}

/* The frame of the mesh: v := R(refquat)' (v - refpos). */
static int mesh_moved(mjcf *mj, const mjcf_element *element, int number)
{
  perp_robot *robot = mj->robot;
  double x[3] = { 0 }, quat[4] = { 1 }, R[9];
  const int moved = mjcf_numbers(element, "refpos", 3, 3, x),
            turned = mjcf_numbers(element, "refquat", 4, 4, quat);
  if (moved == 0 && turned == 0) return number;
  if (!(quat[0] != 0 || quat[1] != 0 || quat[2] != 0 || quat[3] != 0)) {
    perp_xml_refuse(robot, element->node, "write a quaternion", "'refquat' of <mesh> is zero");
    return number;
  }
  perp_robot_mesh *mesh = perp_robot_add_mesh(robot);
  *mesh = robot->mesh[number];
  const double *from = mesh->vertex;
  mesh->vertex = perp_pool_alloc(&robot->pool, 3 * (size_t)mesh->n + 1, sizeof *mesh->vertex);
  perp_quat_matrix(quat, R);
  for (int v = 0; v < mesh->n; v++) {
    double d[3];
    for (int i = 0; i < 3; i++) d[i] = from[3 * v + i] - x[i];
    for (int i = 0; i < 3; i++) mesh->vertex[3 * v + i] = perp_dot(3, R + 3 * i, d);
  }
  return robot->n_meshes - 1;
}

static int mesh_load(mjcf *mj, const mjcf_element *element, const char *name)
{
  perp_robot *robot = mj->robot;
  const xmlNode *node = element->node;
  const char *file = perp_xml_text(robot, node, "file");
  double scale[3] = { 1, 1, 1 };
  mjcf_numbers(element, "scale", 3, 3, scale);
  for (int i = 0; i < 3; i++)
    if (scale[i] == 0)
      perp_xml_refuse(robot, node, "write a factor", "a scale of mesh '%s' is zero", name);
  if (perp_robot_refused(robot)) return LOST;
  if (perp_xml_calls.xmlHasProp(node, (const xmlChar *)"builtin") != NULL ||
      perp_xml_child(node, "plugin") != NULL) {
    perp_robot_lost(robot, "mesh %s, which MuJoCo computes: contacts and mass of its geoms", name);
    return LOST;
  }
  if (file == NULL && perp_xml_calls.xmlHasProp(node, (const xmlChar *)"vertex") == NULL) {
    perp_xml_refuse(robot, node, "write file=\"...\"", "mesh '%s' has neither a file nor vertices",
                    name);
    return LOST;
  }
  int number;
  if (file == NULL)
    number = mesh_inline(mj, element, scale);
  else {
    const char *path = asset_path(mj, node, file, mjcf_compiler_of(node)->mesh_folder, "mesh");
    if (path == NULL) return LOST;
    const perp_robot_mesh *mesh = perp_robot_mesh_load(robot, path, scale, perp_xml_file(node),
                                                       perp_xml_line(node));
    number = mesh != NULL ? (int)(mesh - robot->mesh) : LOST;
  }
  if (perp_robot_refused(robot)) return LOST;
  return mesh_moved(mj, element, number);
}

int mjcf_mesh(mjcf *mj, const xmlNode *at, const char *name, perp_robot_inside *inside)
{
  static const char *const words[] = { "convex", "exact", "legacy", "shell", NULL };
  const int k = mjcf_table_find(mj, &mj->meshes, name);
  if (k < 0) {
    perp_xml_refuse(mj->robot, at, "use the name of an existing mesh, or add it to <asset>",
                    "there is no mesh '%s'", name);
    return LOST;
  }
  const mjcf_element element = mjcf_layers(mj, mj->mesh_node[k], "mesh", NULL);
  const perp_robot_inside otherwise = mjcf_compiler_of(element.node)->inside;
  *inside = (perp_robot_inside)mjcf_word(&element, "inertia", words, (int)otherwise);
  if (mj->mesh[k] == NOT_LOADED) mj->mesh[k] = mesh_load(mj, &element, name);
  return mj->mesh[k];
}

/* ---- height fields ---- */

/* Heights from the least to the largest become 0 to 1. */
static void field_scale(perp_robot_field *field)
{
  const int n = field->rows * field->columns;
  double low = HUGE_VAL, high = -HUGE_VAL;
  for (int i = 0; i < n; i++) {
    low = fmin(low, field->height[i]);
    high = fmax(high, field->height[i]);
  }
  for (int i = 0; i < n; i++)
    field->height[i] = high > low ? (field->height[i] - low) / (high - low) : 0;
}

static bool field_sized(mjcf *mj, const xmlNode *node, const char *name, double rows,
                        double columns)
{
  if (rows >= 2 && columns >= 2 && rows == floor(rows) && columns == floor(columns) &&
      rows * columns <= MOST_CELLS)
    return true;
  perp_xml_refuse(mj->robot, node,
                  perp_pool_printf(&mj->robot->pool, "2 or more, %d in all at most", MOST_CELLS),
                  "height field '%s' has %g rows and %g columns", name, rows, columns);
  return false;
}

/* Two 32-bit sizes, then heights as 32-bit numbers. */
static bool field_file(mjcf *mj, const xmlNode *node, const char *name, const char *path,
                       perp_robot_field *field)
{
  perp_robot *robot = mj->robot;
  const char *why = NULL;
  size_t size = 0;
  char *bytes = perp_read_input(path, &size, &why);
  int32_t n[2];
  if (bytes == NULL || why != NULL || size < sizeof n) {
    perp_xml_refuse(robot, node, "", "cannot read the height field %s: %s", path,
                    why != NULL ? why : "it is too short");
    free(bytes);
    return false;
  }
  perp_robot_read_file(robot, path);
  memcpy(n, bytes, sizeof n);
  bool good = field_sized(mj, node, name, n[0], n[1]);
  if (good && size != sizeof n + sizeof(float) * (size_t)n[0] * (size_t)n[1]) {
    perp_xml_refuse(robot, node, "write the sizes and the heights as 32-bit numbers",
                    "the height field %s has %zu bytes, but says %d by %d heights", path, size,
                    n[0], n[1]);
    good = false;
  }
  if (good) {
    field->rows = n[0], field->columns = n[1];
    field->height = perp_pool_alloc(&robot->pool, (size_t)(n[0] * n[1]), sizeof *field->height);
    for (int i = 0; i < n[0] * n[1] && good; i++) {
      float h;
      memcpy(&h, bytes + sizeof n + sizeof h * (size_t)i, sizeof h);
      field->height[i] = (double)h;
      if (!isfinite(field->height[i])) {
        perp_xml_refuse(robot, node, "", "height %d of %s is not finite", i, path);
        good = false;
      }
    }
  }
  free(bytes);
  return good;
}

static int field_load(mjcf *mj, const xmlNode *node, const char *name)
{
  perp_robot *robot = mj->robot;
  perp_robot_field own = { .name = name };
  const char *file = perp_xml_text(robot, node, "file");
  double rows = 0, columns = 0;
  int n = 0;
  if (perp_xml_numbers(robot, node, "size", 4, 4, own.size) == 0) {
    perp_xml_refuse(robot, node, "write four lengths in m", "height field '%s' needs a size", name);
    return LOST;
  }
  for (int i = 0; i < 4; i++)
    if (!(own.size[i] > 0)) {
      perp_xml_refuse(robot, node, "write lengths in m",
                      "size %d of height field '%s' is not "
                      "positive: %g",
                      i + 1, name, own.size[i]);
      return LOST;
    }
  perp_xml_numbers(robot, node, "nrow", 1, 1, &rows);
  perp_xml_numbers(robot, node, "ncol", 1, 1, &columns);
  if (file != NULL) {
    const char *type = perp_xml_text(robot, node, "content_type"), *dot = strrchr(file, '.');
    if ((type != NULL && strcmp(type, "image/png") == 0) ||
        (type == NULL && dot != NULL && strcmp(dot, ".png") == 0)) {
      perp_robot_lost(robot, "height field %s from a picture: contacts of its geoms", name);
      return LOST;
    }
    const char *path = asset_path(mj, node, file, mjcf_compiler_of(node)->asset_folder,
                                  "height field");
    if (path == NULL || !field_file(mj, node, name, path, &own)) return LOST;
  } else {
    if (!field_sized(mj, node, name, rows, columns)) return LOST;
    own.rows = (int)rows, own.columns = (int)columns;
    own.height = perp_pool_alloc(&robot->pool, (size_t)(own.rows * own.columns),
                                 sizeof *own.height);
    const double *h = perp_xml_list(robot, node, "elevation", &n);
    if (h != NULL && n != own.rows * own.columns) {
      perp_xml_refuse(robot, node, "", "height field '%s' has %d heights, not %d times %d", name, n,
                      own.rows, own.columns);
      return LOST;
    }
    for (int i = 0; h != NULL && i < n; i++) /* its first row is the one of the largest y */
      own.height[(own.rows - 1 - i / own.columns) * own.columns + i % own.columns] = h[i];
    if (h == NULL) perp_robot_note(robot, "height field %s has no heights: it is flat", name);
  }
  field_scale(&own);
  *perp_robot_add_field(robot) = own;
  return robot->n_fields - 1;
}

int mjcf_field(mjcf *mj, const xmlNode *at, const char *name)
{
  const int k = mjcf_table_find(mj, &mj->fields, name);
  if (k < 0) {
    perp_xml_refuse(mj->robot, at, "use the name of an existing one, or add it to <asset>",
                    "there is no height field '%s'", name);
    return LOST;
  }
  if (mj->field[k] == NOT_LOADED) mj->field[k] = field_load(mj, mj->field_node[k], name);
  return mj->field[k];
}
