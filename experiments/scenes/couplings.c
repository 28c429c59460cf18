/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Couplings of a scene file: joints of kind `coupling`, and armatures, which are keys of drives. */
#include "experiments/scenes/parts.h"

#include <math.h>
#include <stdio.h>

static const perp_key couplings_keys[] = {
  PERP_KEY_SPECIAL("kind"),
  PERP_KEY_SPECIAL("terms"),
  PERP_KEY_OF(perp_coupling_def, name, "name", PERP_KEY_TEXT),
  PERP_KEY_REAL(perp_coupling_def, value, "value", NULL),
  PERP_KEY_ONE_OF(perp_coupling_def, start, "start", perp_scene_joint_starts),
  PERP_KEYS_ENTRY,
  PERP_KEYS_END
};
static const perp_key couplings_term_keys[] = {
  PERP_KEY_OF(perp_axis_term, joint, "joint", PERP_KEY_JOINT),
  PERP_KEY_ONE_OF(perp_axis_term, axis, "axis", perp_scene_drive_axes),
  PERP_KEY_REAL(perp_axis_term, factor, "factor", NULL),
  PERP_KEY_REAL(perp_axis_term, zero, "zero", NULL), PERP_KEYS_END
};

bool perp_scene_add_coupling(perp_scene_reader *reader, const perp_node *entry, const char **name)
{
  const perp_node *terms = perp_tree_get(entry, "terms");
  perp_coupling_def def = { 0 };
  if (!perp_keys_read(reader, entry, "joint 'coupling'", couplings_keys, &def)) return false;
  if (terms == NULL || terms->type != PERP_NODE_LIST || terms->n < 1 ||
      terms->n > PERP_AXIS_TERMS) {
    perp_diag_error(reader->diag, terms != NULL ? terms : entry, 0,
                    "terms: [{ joint: NAME, axis: a, factor: 1 }, ...]",
                    "a coupling needs 'terms', a list of 1 to %d maps", PERP_AXIS_TERMS);
    return false;
  }
  for (int i = 0; i < terms->n; i++) {
    const perp_node *item = terms->item[i];
    perp_axis_term *term = &def.term[i];
    *term = (perp_axis_term){ .joint = -1, .factor = 1 };
    if (!perp_keys_read(reader, item, "a term", couplings_term_keys, term)) return false;
    if (perp_tree_get(item, "joint") == NULL) {
      perp_diag_error(reader->diag, item, 0, "joint: NAME",
                      "a term of a coupling needs a joint that stands before it");
      return false;
    }
    if (reader->posed && perp_tree_get(item, "zero") != NULL)
      term->zero += reader->turned[term->joint][term->axis];
  }
  def.n_terms = terms->n;
  *name = def.name;
  if (perp_model_add_coupling(reader->ctx, reader->scene->model, &def, NULL) == PERP_OK)
    return true;
  perp_scene_refused(reader, entry);
  return false;
}

bool perp_scene_add_armature(perp_scene_reader *reader, const perp_node *node,
                             const perp_drive_def *drive)
{
  perp_armature_def def = { .name = drive->name, .joint = drive->joint, .axis = drive->axis };
  if (!perp_values_number(&reader->values, node, NULL, &def.inertia)) return false;
  if (def.inertia == 0) return true;
  if (perp_model_add_armature(reader->ctx, reader->scene->model, &def, NULL) == PERP_OK)
    return true;
  perp_scene_refused(reader, node);
  return false;
}

/* ---- export ---- */

int perp_scene_joint_number(const perp_model *model, int joint)
{
  perp_armature_def armature;
  int number = joint;
  for (int i = 0; i < joint; i++) number -= perp_model_armature_of(model, i, &armature);
  return number;
}

void perp_scene_export_coupling(FILE *out, const perp_model *model, const perp_coupling_def *def)
{
  fprintf(out, "  - { kind: coupling, value: %.17g, ", def->value);
  if (def->start == PERP_START_VIOLATES) fputs("start: violates, ", out);
  fputs("terms: [", out);
  for (int term = 0; term < def->n_terms; term++)
    fprintf(out, "%s{ joint: %d, axis: %s, factor: %.17g, zero: %.17g }", term > 0 ? ", " : "",
            perp_scene_joint_number(model, def->term[term].joint),
            perp_scene_drive_axes[def->term[term].axis], def->term[term].factor,
            def->term[term].zero);
  fputs("] }\n", out);
}

void perp_scene_export_armatures(FILE *out, const perp_model *model)
{
  perp_armature_def def;
  for (int joint = 0; joint < perp_model_joints(model); joint++)
    if (perp_model_armature_of(model, joint, &def))
      fprintf(out, "  - { joint: %d, axis: %s, armature: %.17g }\n",
              perp_scene_joint_number(model, def.joint), perp_scene_drive_axes[def.axis],
              def.inertia);
}
