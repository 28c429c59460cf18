/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Axes of joints of kind `chain` in a scene file. */
#include "experiments/scenes/parts.h"

#include <stdio.h>
#include <string.h>

static const perp_key chains_keys[] = { PERP_KEY_SPECIAL("slide"),
                                        PERP_KEY_SPECIAL("hinge"),
                                        PERP_KEY_SPECIAL("at"),
                                        PERP_KEY_SPECIAL("slide_a"),
                                        PERP_KEY_SPECIAL("hinge_a"),
                                        PERP_KEY_SPECIAL("at_a"),
                                        PERP_KEYS_END };
static const char chains_hint[] =
    "write { slide: [1, 0, 0] } or { hinge: [0, 0, 1], at: [0, 0, 0] } in the world, or slide_a, "
    "hinge_a and at_a in the frame of body a";

/* A vector of the world, or of a under key_a; *node: where it is said, NULL: nowhere. */
static bool chains_vector(perp_scene_reader *reader, const perp_node *item, const char *key,
                          const char *key_a, bool place, int a, double x[3], const perp_node **node)
{
  const perp_node *world = perp_tree_get(item, key), *own = perp_tree_get(item, key_a);
  double p[3];
  *node = world != NULL ? world : own;
  if (world != NULL && own != NULL) {
    PERP_SCENE_WRONG(reader, own, "%s and %s define the same quantity: remove one", key, key_a);
    return false;
  }
  if (*node == NULL) return true;
  if (!perp_keys_vector(reader, *node, place ? "m" : "", 3, 0, p)) return false;
  if (world != NULL)
    perp_scene_local(reader, a, place, p, x);
  else
    memcpy(x, p, sizeof p);
  return true;
}

static bool chains_axis(perp_scene_reader *reader, const perp_node *item, int a,
                        perp_chain_axis *axis)
{
  const perp_node *slide, *hinge, *at;
  if (!perp_keys_read(reader, item, "an axis", chains_keys, NULL) ||
      !chains_vector(reader, item, "slide", "slide_a", false, a, axis->along, &slide) ||
      !chains_vector(reader, item, "hinge", "hinge_a", false, a, axis->along, &hinge) ||
      !chains_vector(reader, item, "at", "at_a", true, a, axis->at, &at))
    return false;
  axis->slides = slide != NULL;
  if ((slide == NULL) == (hinge == NULL)) {
    perp_diag_error(reader->diag, item, 0, chains_hint, "an axis is either a slide or a hinge");
    return false;
  }
  if (hinge != NULL && at == NULL) {
    perp_diag_error(reader->diag, item, 0, "add at: [x, y, z], a point of its line in the world",
                    "a hinge of a chain needs a place");
    return false;
  }
  if (slide != NULL && at != NULL) {
    PERP_SCENE_WRONG(reader, at, "a slide has a direction and no place: remove this key");
    return false;
  }
  return true;
}

bool perp_scene_chain_read(perp_scene_reader *reader, const perp_node *entry, perp_joint_def *def)
{
  static const char *const others[] = { "at",     "axis",   "anchor_a", "anchor_b",
                                        "axis_a", "axis_b", "axis_c" };
  const perp_node *axes = perp_tree_get(entry, "axes");
  if (def->kind != PERP_JOINT_CHAIN) {
    if (axes == NULL) return true;
    PERP_SCENE_WRONG(reader, axes, "only joints of kind chain have axes: remove this key");
    return false;
  }
  if (axes == NULL || axes->type != PERP_NODE_LIST || axes->n < 3 || axes->n > PERP_CHAIN_AXES) {
    perp_diag_error(reader->diag, axes != NULL ? axes : entry, 0, chains_hint,
                    "a chain needs 'axes', a list of 3 to %d maps", PERP_CHAIN_AXES);
    return false;
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (perp_tree_get(entry, others[i]) != NULL) {
      PERP_SCENE_WRONG(reader, perp_tree_get(entry, others[i]),
                       "a chain takes its geometry from 'axes': remove %s", others[i]);
      return false;
    }
  def->n_axes = axes->n;
  for (int axis = 0; axis < axes->n; axis++)
    if (!chains_axis(reader, axes->item[axis], def->a, &def->axes[axis])) return false;
  return true;
}

void perp_scene_export_chain(FILE *out, perp_joint_def *def)
{
  memset(def->anchor_a, 0, sizeof def->anchor_a);
  memset(def->anchor_b, 0, sizeof def->anchor_b);
  memset(def->axis_a, 0, sizeof def->axis_a);
  memset(def->axis_b, 0, sizeof def->axis_b);
  fputs(", axes: [", out);
  for (int i = 0; i < def->n_axes; i++) {
    const perp_chain_axis *axis = &def->axes[i];
    fprintf(out, "%s{ %s: [%.17g, %.17g, %.17g]", i > 0 ? ", " : "",
            axis->slides != 0 ? "slide_a" : "hinge_a", axis->along[0], axis->along[1],
            axis->along[2]);
    if (axis->slides == 0)
      fprintf(out, ", at_a: [%.17g, %.17g, %.17g]", axis->at[0], axis->at[1], axis->at[2]);
    fputs(" }", out);
  }
  fputs("]", out);
}
