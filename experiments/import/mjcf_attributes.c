/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Attributes of an element: its own, then those of its class and of the classes above it; numbers
 * and orientations of them; elements by name. */
#include "experiments/import/mjcf_private.h"
#include "models/geometry/kinematics.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* ---- classes ---- */

static int classes_find(const mjcf *mj, const char *name)
{
  for (int i = 0; i < mj->n_classes; i++)
    if (strcmp(mj->class[i].name, name) == 0) return i;
  return -1;
}

static int classes_make(mjcf *mj, const char *name, int parent)
{
  mj->class = perp_pool_grown(&mj->robot->pool, mj->class, mj->n_classes, sizeof *mj->class);
  mj->class[mj->n_classes] = (mjcf_class){ .name = name,
                                           .parent = parent,
                                           .parent_n = parent >= 0 ? mj->class[parent].n : 0 };
  return mj->n_classes++;
}

static void classes_one(mjcf *mj, const xmlNode *node, int parent)
{
  const char *name = perp_xml_text(mj->robot, node, "class");
  int at;
  if (name == NULL && parent >= 0) {
    perp_xml_refuse(mj->robot, node, "write class=\"NAME\"",
                    "a <default> inside of another one needs a class");
    return;
  }
  if (parent < 0 && (name == NULL || strcmp(name, "main") == 0))
    at = 0;
  else if ((at = classes_find(mj, name)) < 0)
    at = classes_make(mj, name, parent < 0 ? 0 : parent);
  else if (parent >= 0) {
    perp_xml_refuse(mj->robot, node, "rename one of the two", "repeated default class '%s'", name);
    return;
  }
  for (int pass = 0; pass < 2; pass++) /* elements, then the classes that begin with them */
    for (const xmlNode *child = perp_xml_child(node, NULL);
         child != NULL && !perp_robot_refused(mj->robot); child = perp_xml_next(child, NULL)) {
      if (perp_xml_is(child, "default")) {
        if (pass == 1) classes_one(mj, child, at);
        continue;
      }
      if (pass == 1) continue;
      mjcf_class *class = &mj->class[at];
      class->node = perp_pool_grown(&mj->robot->pool, class->node, class->n, sizeof *class->node);
      class->node[class->n++] = child;
    }
}

void mjcf_classes_read(mjcf *mj)
{
  classes_make(mj, "main", -1);
  for (const xmlNode *node = perp_xml_child(mj->root, "default");
       node != NULL && !perp_robot_refused(mj->robot); node = perp_xml_next(node, "default"))
    classes_one(mj, node, -1);
}

/* Actuators of all kinds have one set of defaults. */
static bool layers_same_kind(const xmlNode *node, const char *kind)
{
  static const char *const others[] = { "mesh",   "material", "joint", "geom",     "site",
                                        "camera", "light",    "pair",  "equality", "tendon" };
  if (strcmp(kind, "actuator") != 0) return perp_xml_is(node, kind);
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (perp_xml_is(node, others[i])) return false;
  return true;
}

mjcf_element mjcf_layers(mjcf *mj, const xmlNode *node, const char *kind, const char *childclass)
{
  mjcf_element element = { .mj = mj, .node = node };
  const char *name = perp_xml_text(mj->robot, node, "class");
  if (name == NULL) name = childclass;
  int class = 0;
  if (name != NULL && (class = classes_find(mj, name)) < 0) {
    perp_xml_refuse(mj->robot, node, "add <default class=...>, or use the name of one",
                    "unknown default class '%s': <%s>", name, node->name);
    class = 0;
  }
  int n = 1, most = mj->class[class].n;
  for (int parent = class; parent >= 0; parent = mj->class[parent].parent) n += mj->class[parent].n;
  element.layer = perp_pool_alloc(&mj->robot->pool, (size_t)n, sizeof *element.layer);
  element.layer[element.n++] = node;
  for (int parent = class; parent >= 0;
       most = mj->class[parent].parent_n, parent = mj->class[parent].parent)
    for (int i = most - 1; i >= 0; i--)
      if (layers_same_kind(mj->class[parent].node[i], kind))
        element.layer[element.n++] = mj->class[parent].node[i];
  return element;
}

/* ---- attributes ---- */

const xmlNode *mjcf_with(const mjcf_element *element, const char *key)
{
  for (int i = 0; i < element->n; i++)
    if (perp_xml_calls.xmlHasProp(element->layer[i], (const xmlChar *)key) != NULL)
      return element->layer[i];
  return NULL;
}

const char *mjcf_text(const mjcf_element *element, const char *key)
{
  const xmlNode *at = mjcf_with(element, key);
  return at != NULL ? perp_xml_text(element->mj->robot, at, key) : NULL;
}

int mjcf_numbers(const mjcf_element *element, const char *key, int least, int most, double *v)
{
  const xmlNode *at = mjcf_with(element, key);
  return at != NULL ? perp_xml_numbers(element->mj->robot, at, key, least, most, v) : 0;
}

double mjcf_number(const mjcf_element *element, const char *key, double otherwise)
{
  double v = otherwise;
  return mjcf_numbers(element, key, 1, 1, &v) == 1 ? v : otherwise;
}

int mjcf_integer(const mjcf_element *element, const char *key, int otherwise)
{
  const double v = mjcf_number(element, key, otherwise);
  if (v == floor(v) && fabs(v) < 2147483648.0) return (int)v;
  const xmlNode *at = mjcf_with(element, key);
  if (at != NULL)
    perp_xml_refuse(element->mj->robot, at, "write a whole number",
                    "'%s' of <%s> is no integer: %g", key, at->name, v);
  return otherwise;
}

int mjcf_word(const mjcf_element *element, const char *key, const char *const *words, int otherwise)
{
  const xmlNode *at = mjcf_with(element, key);
  return at != NULL ? perp_xml_word(element->mj->robot, at, key, words, otherwise) : otherwise;
}

bool mjcf_flag(const mjcf_element *element, const char *key, bool otherwise)
{
  static const char *const words[] = { "false", "true", NULL };
  return mjcf_word(element, key, words, otherwise) != 0;
}

bool mjcf_limited(const mjcf_element *element, const char *key, const char *range_key,
                  const double range[2])
{
  static const char *const words[] = { "false", "true", "auto", NULL };
  const int said = mjcf_word(element, key, words, 2);
  const xmlNode *at = mjcf_with(element, range_key);
  bool limited = said == 1;
  if (said == 2) {
    limited = at != NULL && (range[0] != 0 || range[1] != 0);
    if (limited && !mjcf_compiler_of(element->node)->limits) {
      perp_xml_refuse(
          element->mj->robot, element->node,
          perp_pool_printf(&element->mj->robot->pool, "write %s=\"true\", or \"false\"", key),
          "<%s> has the attribute '%s' but not '%s', and autolimits is false", element->node->name,
          range_key, key);
      return false;
    }
  }
  if (limited && !(range[0] < range[1]))
    perp_xml_refuse(element->mj->robot, at != NULL ? at : element->node,
                    "write the lower bound first", "'%s' of <%s> is empty: [%g, %g]", range_key,
                    element->node->name, range[0], range[1]);
  return limited;
}

/* ---- orientations ---- */

static void orientation_turn(const double axis[3], double angle, double quat[4])
{
  quat[0] = cos(angle / 2);
  for (int i = 0; i < 3; i++) quat[1 + i] = sin(angle / 2) * axis[i];
}

void mjcf_z_to(const double axis[3], double quat[4])
{
  const double z[3] = { 0, 0, 1 };
  double c[3];
  perp_cross(z, axis, c);
  const double s = sqrt(perp_dot(3, c, c)), angle = atan2(s, axis[2]);
  if (s < 1e-10 * fabs(axis[2]))
    c[0] = 1, c[1] = c[2] = 0;
  else
    for (int i = 0; i < 3; i++) c[i] /= s;
  orientation_turn(c, angle, quat);
}

static bool orientation_unit(perp_robot *robot, const xmlNode *at, const char *key, int n,
                             double *v)
{
  double size = 0;
  for (int i = 0; i < n; i++) size += v[i] * v[i];
  size = sqrt(size);
  if (!(size > 1e-14)) {
    perp_xml_refuse(robot, at, "write a direction", "'%s' of <%s> is zero", key, at->name);
    return false;
  }
  if (fabs(size - 1) > 1e-15)
    for (int i = 0; i < n; i++) v[i] /= size;
  return true;
}

static void orientation_euler(const xmlNode *at, const double angle[3], double quat[4])
{
  const mjcf_compiler *compiler = mjcf_compiler_of(at);
  double turn[4], next[4];
  quat[0] = 1, quat[1] = quat[2] = quat[3] = 0;
  for (int i = 0; i < 3; i++) {
    double axis[3] = { 0 };
    axis[tolower((unsigned char)compiler->sequence[i]) - 'x'] = 1;
    orientation_turn(axis, compiler->radian ? angle[i] : angle[i] * M_PI / 180, turn);
    if (islower((unsigned char)compiler->sequence[i]))
      perp_quat_product(quat, turn, next);
    else
      perp_quat_product(turn, quat, next);
    memcpy(quat, next, sizeof next);
  }
  perp_quat_unit(quat);
}

/* Quaternion of a matrix with the columns x, y, z. */
static void orientation_columns(const double x[3], const double y[3], const double z[3],
                                double quat[4])
{
  const double trace = x[0] + y[1] + z[2];
  const double four[4] = { 1 + trace, 1 + 2 * x[0] - trace, 1 + 2 * y[1] - trace,
                           1 + 2 * z[2] - trace };
  int k = 0;
  for (int i = 1; i < 4; i++)
    if (four[i] > four[k]) k = i;
  const double s = 2 * sqrt(four[k]);
  const double rows[4][4] = {
    { four[0], y[2] - z[1], z[0] - x[2], x[1] - y[0] },
    { y[2] - z[1], four[1], x[1] + y[0], z[0] + x[2] },
    { z[0] - x[2], x[1] + y[0], four[2], y[2] + z[1] },
    { x[1] - y[0], z[0] + x[2], y[2] + z[1], four[3] },
  };
  for (int i = 0; i < 4; i++) quat[i] = rows[k][i] / s;
  perp_quat_unit(quat);
}

static void orientation_axes(perp_robot *robot, const xmlNode *at, double v[6], double quat[4])
{
  double z[3];
  if (!orientation_unit(robot, at, "xyaxes", 3, v)) return;
  const double d = perp_dot(3, v, v + 3);
  for (int i = 0; i < 3; i++) v[3 + i] -= d * v[i];
  if (!orientation_unit(robot, at, "xyaxes", 3, v + 3)) return;
  perp_cross(v, v + 3, z);
  orientation_columns(v, v + 3, z, quat);
}

bool mjcf_orientation(const mjcf_element *element, double quat[4])
{
  static const char *const keys[] = { "quat", "axisangle", "euler", "xyaxes", "zaxis" };
  static const int size[] = { 4, 4, 3, 6, 3 };
  perp_robot *robot = element->mj->robot;
  const double identity[4] = { 1, 0, 0, 0 };
  memcpy(quat, identity, sizeof identity);
  for (int i = 0; i < element->n; i++) {
    const xmlNode *at = element->layer[i];
    int form = -1, forms = 0;
    for (int k = 0; k < 5; k++)
      if (perp_xml_calls.xmlHasProp(at, (const xmlChar *)keys[k]) != NULL) {
        if (k > 0) forms++; /* one of these counts more than a quaternion, as in MuJoCo */
        form = k;
      }
    if (form < 0) continue;
    if (forms > 1)
      perp_xml_refuse(robot, at, "keep one of axisangle, euler, xyaxes, zaxis",
                      "<%s> has several orientations", at->name);
    double v[6];
    if (perp_xml_numbers(robot, at, keys[form], size[form], size[form], v) == 0) return true;
    if (form == 0 && orientation_unit(robot, at, "quat", 4, v))
      memcpy(quat, v, 4 * sizeof *quat);
    else if (form == 1 && orientation_unit(robot, at, "axisangle", 3, v))
      orientation_turn(v, mjcf_compiler_of(at)->radian ? v[3] : v[3] * M_PI / 180, quat);
    else if (form == 2)
      orientation_euler(at, v, quat);
    else if (form == 3)
      orientation_axes(robot, at, v, quat);
    else if (form == 4 && orientation_unit(robot, at, "zaxis", 3, v))
      mjcf_z_to(v, quat);
    return true;
  }
  return false;
}

/* ---- elements by name ---- */

void mjcf_table_add(mjcf *mj, mjcf_table *table, const xmlNode *node, const char *kind,
                    const char *name, int id)
{
  const int before = table->names.n;
  if (name == NULL || name[0] == '\0') return;
  table->id = perp_pool_grown(&mj->robot->pool, table->id, before, sizeof *table->id);
  if (perp_names_index(&mj->robot->pool, &table->names, name, -1) < before)
    perp_xml_refuse(mj->robot, node, "rename one of the two", "repeated name '%s' of a %s", name,
                    kind);
  else
    table->id[before] = id;
}

int mjcf_table_find(mjcf *mj, mjcf_table *table, const char *name)
{
  if (table->names.n == 0) return -1;
  const int k = perp_names_index(&mj->robot->pool, &table->names, name, table->names.n);
  return k >= 0 ? table->id[k] : -1;
}

int mjcf_reference(mjcf *mj, mjcf_table *table, const xmlNode *node, const char *key,
                   const char *kind)
{
  const char *name = perp_xml_text(mj->robot, node, key);
  if (name == NULL) return -1;
  const int id = mjcf_table_find(mj, table, name);
  if (id < 0 && !((const mjcf_source *)node->_private)->attached)
    perp_xml_refuse(mj->robot, node, "use the name of an existing element, or add the element",
                    "there is no %s '%s': <%s>", kind, name, node->name);
  return id;
}
