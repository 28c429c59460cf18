/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints, drives and forces of a scene file. */
#include "experiments/scenes/parts.h"
#include "experiments/scenes/control.h"

#include <math.h>
#include <string.h>

const char *const perp_scene_joint_kinds[] = {
  "ball",      "hinge",       "universal", "slider", "fixed",       "distance",
  "line",      "wheel",       "curve",     "planar", "cylindrical", "rectangular",
  "cartesian", "skew-hinges", "pin-slot",  "chain",  NULL
};
static const char *const joints_orders[] = { "slide", "hinge", NULL };
const char *const perp_scene_curve_kinds[] = { "line",       "circle", "helix", "cycloid",
                                               "polynomial", "spline", NULL };
const char *const perp_scene_force_kinds[] = { "point", "torque", "spring", "drag", "pairs", NULL };
static const char *const joints_laws[] = { "gravity", "lennard-jones", "repulsion", NULL };

/* ---- joints ---- */

const perp_key perp_scene_joint_keys[] = {
  PERP_KEY_OF(perp_joint_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_ONE_OF(perp_joint_def, kind, "kind", perp_scene_joint_kinds),
  PERP_KEY_OF(perp_joint_def, a, "a", PERP_KEY_BODY),
  PERP_KEY_OF(perp_joint_def, b, "b", PERP_KEY_BODY), PERP_KEY_SPECIAL("at"),
  PERP_KEY_SPECIAL("axis"), PERP_KEY_REALS(perp_joint_def, anchor_a, "anchor_a", "m", 3),
  PERP_KEY_REALS(perp_joint_def, anchor_b, "anchor_b", "m", 3),
  PERP_KEY_REALS(perp_joint_def, axis_a, "axis_a", "", 3),
  PERP_KEY_REALS(perp_joint_def, axis_b, "axis_b", "", 3),
  PERP_KEY_REALS(perp_joint_def, axis_c, "axis_c", "", 3),
  PERP_KEY_ONE_OF(perp_joint_def, hinge_first, "first", joints_orders), PERP_KEY_SPECIAL("axes"),
  PERP_KEY_REAL(perp_joint_def, length, "length", "m"),
  /* of rows that are lengths or angles: any unit */
  PERP_KEY_REAL(perp_joint_def, softness, "softness", NULL),
  PERP_KEY_REAL(perp_joint_def, stiffness, "stiffness", NULL),
  PERP_KEY_REAL(perp_joint_def, damping, "damping", NULL), PERP_KEY_SPECIAL("rows"),
  PERP_KEY_OF(perp_joint_def, collide, "collide", PERP_KEY_BOOL),
  PERP_KEY_REAL(perp_joint_def, strength, "break", "N"), PERP_KEY_SPECIAL("curve"),
  PERP_KEY_ONE_OF(perp_joint_def, start, "start", perp_scene_joint_starts), PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

const perp_key perp_scene_row_keys[] = { PERP_KEY_REAL(perp_row_soft, softness, "softness", NULL),
                                         PERP_KEY_REAL(perp_row_soft, stiffness, "stiffness", NULL),
                                         PERP_KEY_REAL(perp_row_soft, damping, "damping", NULL),
                                         PERP_KEYS_END };

const perp_key perp_scene_curve_keys[] = {
  PERP_KEY_ONE_OF(perp_curve_def, kind, "kind", perp_scene_curve_kinds),
  PERP_KEY_REAL(perp_curve_def, radius, "radius", "m"),
  PERP_KEY_REAL(perp_curve_def, pitch, "pitch", "m"),
  PERP_KEY_REAL(perp_curve_def, lower, "lower", NULL),
  PERP_KEY_REAL(perp_curve_def, upper, "upper", NULL),
  PERP_KEY_OF(perp_curve_def, closed, "closed", PERP_KEY_BOOL),
  PERP_KEY_SPECIAL("points"),
  PERP_KEYS_END
};

static bool joints_rows(perp_scene_reader *reader, const perp_node *rows, perp_joint_def *def)
{
  if (rows->type != PERP_NODE_LIST || rows->n > PERP_JOINT_ROWS) {
    PERP_SCENE_WRONG(reader, rows, "rows must be a list of at most %d maps", PERP_JOINT_ROWS);
    return false;
  }
  for (int row = 0; row < rows->n; row++)
    if (!perp_keys_read(reader, rows->item[row], "a row", perp_scene_row_keys, &def->row[row]))
      return false;
  return true;
}

static bool joints_curve(perp_scene_reader *reader, const perp_node *node, perp_curve_def *def)
{
  const perp_node *points = perp_tree_get(node, "points");
  double *data = NULL;
  if (!perp_keys_read(reader, node, "curve", perp_scene_curve_keys, def)) return false;
  if (points == NULL) return true;
  if (reader->dim == 3) {
    if (!perp_keys_points(reader, points, 3, &data, &def->n)) return false;
  } else { /* two numbers a point, with a third that is not read */
    double *plane = NULL;
    if (!perp_keys_points(reader, points, 2, &plane, &def->n)) return false;
    data = perp_pool_alloc(reader->pool, 3 * (size_t)def->n + 1, sizeof *data);
    for (int i = 0; i < def->n; i++) memcpy(data + 3 * i, plane + 2 * i, 2 * sizeof *data);
  }
  def->data = data;
  return true;
}

/* `at` and `axis` of the world, for both bodies. */
static bool joints_in_world(perp_scene_reader *reader, const perp_node *entry, const char *key,
                            const char *of_a, const char *of_b, bool place, int body, int b,
                            double *in_a, double *in_b)
{
  const perp_node *node = perp_tree_get(entry, key);
  double p[3] = { 0 };
  if (node == NULL) return true;
  if (perp_tree_get(entry, of_a) != NULL || perp_tree_get(entry, of_b) != NULL) {
    perp_diag_error(
        reader->diag, node, 0, NULL,
        "%s (in the world) and %s, %s (in the bodies) define the same quantity: remove one", key,
        of_a, of_b);
    return false;
  }
  if (!perp_keys_spatial(reader, node, place ? "m" : "", p)) return false;
  perp_scene_local(reader, body, place, p, in_a);
  perp_scene_local(reader, b, place, p, in_b);
  return true;
}

static bool joints_needs(perp_scene_reader *reader, const perp_node *entry, const char *const *keys)
{
  for (; *keys != NULL; keys++)
    if (perp_tree_get(entry, *keys) == NULL) {
      PERP_SCENE_WRONG(reader, entry, "'%s' is missing here", *keys);
      return false;
    }
  return true;
}

static void joints_add(perp_scene_reader *reader, const perp_node *entry, const perp_joint_def *def)
{
  if (reader->bare && def->name != NULL && perp_scene_control_besides(reader, def->name)) return;
  if (perp_model_add_joint(reader->ctx, reader->scene->model, def, NULL) != PERP_OK)
    perp_scene_refused(reader, entry);
  else
    perp_named_add(reader, &reader->joints, "joint", def->name, entry);
}

/* What joints of plug-ins have in common, beside their bodies. */
const perp_key perp_scene_joint_plugin_keys[] = {
  PERP_KEY_SPECIAL("kind"),
  PERP_KEY_SPECIAL("bodies"),
  PERP_KEY_OF(perp_joint_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_REAL(perp_joint_def, softness, "softness", NULL),
  PERP_KEY_REAL(perp_joint_def, stiffness, "stiffness", NULL),
  PERP_KEY_REAL(perp_joint_def, damping, "damping", NULL),
  PERP_KEY_SPECIAL("rows"),
  PERP_KEY_OF(perp_joint_def, collide, "collide", PERP_KEY_BOOL),
  PERP_KEY_ONE_OF(perp_joint_def, start, "start", perp_scene_joint_starts),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

static void joints_plugin(perp_scene_reader *reader, const perp_node *entry, const perp_desc *desc)
{
  perp_joint_def said = { 0 }, def;
  const perp_node *rows = perp_tree_get(entry, "rows");
  void *opts;
  const int *body;
  int n;
  if (!perp_scene_element_read(reader, entry, desc, "joint", perp_scene_joint_plugin_keys, &said,
                               &opts, &n, &body) ||
      (rows != NULL && !joints_rows(reader, rows, &said)))
    return;
  if (perp_joint_define(reader->ctx, (const perp_joint_desc *)(const void *)desc, opts, n, body,
                        &def) != PERP_OK) {
    perp_scene_refused(reader, perp_tree_get(entry, "bodies"));
    return;
  }
  def.name = said.name;
  def.softness = said.softness;
  def.stiffness = said.stiffness;
  def.damping = said.damping;
  def.collide = said.collide;
  def.start = said.start;
  memcpy(def.row, said.row, sizeof def.row);
  joints_add(reader, entry, &def);
}

bool perp_scene_joint_read(perp_scene_reader *reader, const perp_node *entry, perp_joint_def *def)
{
  static const char *const needed[] = { "kind", "a", "b", NULL };
  const perp_node *rows = perp_tree_get(entry, "rows"), *curve = perp_tree_get(entry, "curve");
  *def = (perp_joint_def){ 0 };
  return joints_needs(reader, entry, needed) &&
         perp_keys_read(reader, entry, "joints", perp_scene_joint_keys, def) &&
         perp_scene_chain_read(reader, entry, def) &&
         joints_in_world(reader, entry, "at", "anchor_a", "anchor_b", true, def->a, def->b,
                         def->anchor_a, def->anchor_b) &&
         joints_in_world(reader, entry, "axis", "axis_a", "axis_b", false, def->a, def->b,
                         def->axis_a, def->axis_b) &&
         (rows == NULL || joints_rows(reader, rows, def)) &&
         (curve == NULL || joints_curve(reader, curve, &def->curve));
}

static void joints_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  perp_joint_def def;
  const perp_desc *plugin;
  (void)user;
  if (!perp_scene_element_kind(reader, entry, PERP_KIND_joint, perp_scene_joint_kinds, &plugin))
    return;
  const bool rate = plugin != NULL && strcmp(plugin->name, "nonholonomic") == 0;
  if (rate || (plugin != NULL && strcmp(plugin->name, "coupling") == 0)) {
    const char *name = NULL;
    if (rate ? perp_scene_add_rate(reader, entry, &name)
             : perp_scene_add_coupling(reader, entry, &name))
      perp_named_add(reader, &reader->joints, "joint", name, entry);
    return;
  }
  if (plugin != NULL) {
    joints_plugin(reader, entry, plugin);
    return;
  }
  if (perp_scene_joint_read(reader, entry, &def)) joints_add(reader, entry, &def);
}

void perp_scene_add_joints(perp_scene_reader *reader, perp_model *model)
{
  (void)model;
  perp_entries(reader, perp_tree_get(reader->root, "joints"), "joints", joints_entry, NULL);
}

/* ---- drives ---- */

const perp_key perp_scene_drive_keys[] = {
  PERP_KEY_OF(perp_drive_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_OF(perp_drive_def, joint, "joint", PERP_KEY_JOINT),
  PERP_KEY_ONE_OF(perp_drive_def, axis, "axis", perp_scene_drive_axes),
  /* along a length or an angle: any unit */
  PERP_KEY_REAL(perp_drive_def, zero, "zero", NULL),
  PERP_KEY_REAL(perp_drive_def, lower, "lower", NULL),
  PERP_KEY_REAL(perp_drive_def, upper, "upper", NULL),
  PERP_KEY_REAL(perp_drive_def, restitution, "restitution", ""),
  PERP_KEY_DRIVEN(perp_drive_def, velocity, velocity_signal, "velocity", NULL, 1),
  PERP_KEY_REAL(perp_drive_def, max_force, "max_force", NULL),
  PERP_KEY_DRIVEN(perp_drive_def, target, target_signal, "target", NULL, 1),
  PERP_KEY_REAL(perp_drive_def, stiffness, "stiffness", NULL),
  PERP_KEY_REAL(perp_drive_def, damping, "damping", NULL), PERP_KEY_SPECIAL("armature"),
  PERP_KEY_OF(perp_drive_def, gravity_compensation, "gravity_compensation", PERP_KEY_BOOL),
  PERP_KEYS_ENTRY, PERP_KEYS_END
};

/* Does it say more than limits?  Without max_force it then acts without a bound: a servo that does
 * nothing because a key is missing looks like one that is too weak.  A spring whose parameters are
 * 0 is none, and no rigid motor either. */
static bool drives_moves(const perp_node *entry, const perp_drive_def *def)
{
  if (perp_tree_get(entry, "stiffness") != NULL || perp_tree_get(entry, "damping") != NULL)
    return def->stiffness > 0 || def->damping > 0;
  return perp_tree_get(entry, "velocity") != NULL;
}

/* Does an entry say anything but an armature? */
static bool drives_acts(const perp_node *entry)
{
  static const char *const acts[] = { "lower",     "upper",     "restitution",
                                      "velocity",  "max_force", "target",
                                      "stiffness", "damping",   "gravity_compensation" };
  for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
    if (perp_tree_get(entry, acts[i]) != NULL) return true;
  return perp_tree_get(entry, "armature") == NULL;
}

static void drives_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const char *const needed[] = { "joint", NULL };
  perp_drive_def def = { .lower = -HUGE_VAL, .upper = HUGE_VAL };
  (void)user;
  if (!joints_needs(reader, entry, needed) ||
      !perp_keys_read(reader, entry, "drives", perp_scene_drive_keys, &def))
    return;
  if (reader->posed && perp_tree_get(entry, "zero") != NULL)
    def.zero += reader->turned[def.joint][def.axis];
  if (perp_tree_get(entry, "max_force") == NULL && drives_moves(entry, &def))
    def.max_force = HUGE_VAL;
  if (perp_tree_get(entry, "target") != NULL && perp_tree_get(entry, "stiffness") == NULL) {
    perp_diag_error(reader->diag, perp_tree_get(entry, "target"), 0,
                    "write stiffness (of the spring towards the target), or remove target",
                    "a target without stiffness moves nothing");
    return;
  }
  if (drives_acts(entry) &&
      perp_model_add_drive(reader->ctx, reader->scene->model, &def, NULL) != PERP_OK) {
    perp_scene_refused(reader, entry);
    return;
  }
  const perp_node *armature = perp_tree_get(entry, "armature");
  if (armature != NULL) perp_scene_add_armature(reader, armature, &def);
}

void perp_scene_add_drives(perp_scene_reader *reader, perp_model *model)
{
  (void)model;
  perp_entries(reader, perp_tree_get(reader->root, "drives"), "drives", drives_entry, NULL);
}

/* ---- forces ---- */

const perp_key perp_scene_force_keys[] = {
  PERP_KEY_ONE_OF(perp_force_def, kind, "kind", perp_scene_force_kinds),
  PERP_KEY_OF(perp_force_def, a, "a", PERP_KEY_BODY),
  PERP_KEY_OF(perp_force_def, b, "b", PERP_KEY_BODY),
  PERP_KEY_REALS(perp_force_def, anchor_a, "anchor_a", "m", 3),
  PERP_KEY_REALS(perp_force_def, anchor_b, "anchor_b", "m", 3),
  PERP_KEY_SPECIAL("value"),
  PERP_KEY_REAL(perp_force_def, stiffness, "stiffness", "N/m"),
  PERP_KEY_REAL(perp_force_def, damping, "damping", "Ns/m"),
  PERP_KEY_REAL(perp_force_def, length, "length", "m"),
  PERP_KEY_REAL(perp_force_def, linear, "linear", "Ns/m"),
  PERP_KEY_REAL(perp_force_def, quadratic, "quadratic", "kg/m"),
  PERP_KEY_REAL(perp_force_def, angular, "angular", "Nms/rad"),
  PERP_KEY_ONE_OF(perp_force_def, law, "law", joints_laws),
  PERP_KEY_REAL(perp_force_def, strength, "strength", NULL),
  PERP_KEY_REAL(perp_force_def, cutoff, "cutoff", "m"),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

static void forces_plugin(perp_scene_reader *reader, const perp_node *entry, const perp_desc *desc)
{
  static const perp_key common[] = { PERP_KEY_SPECIAL("kind"), PERP_KEY_SPECIAL("bodies"),
                                     PERP_KEYS_ENTRY, PERP_KEYS_END };
  perp_force_def def;
  void *opts;
  const int *body;
  int n;
  if (!perp_scene_element_read(reader, entry, desc, "force", common, &def, &opts, &n, &body))
    return;
  if (perp_force_define(reader->ctx, (const perp_force_desc *)(const void *)desc, opts, n, body,
                        &def) != PERP_OK)
    perp_scene_refused(reader, perp_tree_get(entry, "bodies"));
  else if (perp_model_add_force(reader->ctx, reader->scene->model, &def) != PERP_OK)
    perp_scene_refused(reader, entry);
}

static void forces_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const char *const needed[] = { "kind", "a", NULL };
  perp_force_def def = { .b = PERP_WORLD };
  const perp_node *value = perp_tree_get(entry, "value");
  const perp_desc *plugin;
  (void)user;
  if (!perp_scene_element_kind(reader, entry, PERP_KIND_force, perp_scene_force_kinds, &plugin))
    return;
  if (plugin != NULL) {
    forces_plugin(reader, entry, plugin);
    return;
  }
  if (!joints_needs(reader, entry, needed) ||
      !perp_keys_read(reader, entry, "forces", perp_scene_force_keys, &def))
    return;
  if (value != NULL && def.kind == PERP_FORCE_TORQUE && reader->section &&
      value->type == PERP_NODE_LIST) {
    perp_diag_error(reader->diag, value, 0,
                    "write two entries, with when: dim == 2 and when: dim == 3",
                    "a torque in space has no section: with dim: 2 it must be a number");
    return;
  }
  if (value != NULL && def.kind == PERP_FORCE_TORQUE && reader->dim == 2) {
    if (!reader->signals(reader, value, "Nm", 1, 0, &def.value[2], &def.value_signal[2])) return;
  } else if (value != NULL &&
             !reader->signals(reader, value, def.kind == PERP_FORCE_TORQUE ? "Nm" : "N", 3,
                              reader->dim == 2, def.value, def.value_signal))
    return;
  if (perp_model_add_force(reader->ctx, reader->scene->model, &def) != PERP_OK)
    perp_scene_refused(reader, entry);
}

void perp_scene_add_forces(perp_scene_reader *reader, perp_model *model)
{
  (void)model;
  perp_entries(reader, perp_tree_get(reader->root, "forces"), "forces", forces_entry, NULL);
}
