/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Non-holonomic joints of a scene file: one term in the entry itself, or a list of them, and g,
 * which may depend on time. */
#include "experiments/scenes/parts.h"

#include <string.h>

static const perp_key rate_keys[] = { PERP_KEY_SPECIAL("kind"),
                                      PERP_KEY_SPECIAL("bodies"),
                                      PERP_KEY_SPECIAL("terms"),
                                      PERP_KEY_OF(perp_rate_def, name, "name", PERP_KEY_TEXT),
                                      PERP_KEY_REALS(perp_rate_def, term[0].at, "at", "m", 3),
                                      PERP_KEY_REALS(perp_rate_def, term[0].along, "along", "", 3),
                                      PERP_KEY_SPECIAL("about"),
                                      PERP_KEY_DRIVEN(perp_rate_def, value, value_signal, "value",
                                                      "m/s", 1),
                                      PERP_KEYS_ENTRY,
                                      PERP_KEYS_END };
static const perp_key term_keys[] = { PERP_KEY_OF(perp_rate_term, body, "body", PERP_KEY_BODY),
                                      PERP_KEY_OF(perp_rate_term, frame, "frame", PERP_KEY_BODY),
                                      PERP_KEY_REALS(perp_rate_term, at, "at", "m", 3),
                                      PERP_KEY_REALS(perp_rate_term, along, "along", "", 3),
                                      PERP_KEY_SPECIAL("about"),
                                      PERP_KEYS_END };

/* In the plane a number. */
static bool rates_about(perp_scene_reader *reader, const perp_node *map, perp_rate_term *term)
{
  const perp_node *node = perp_tree_get(map, "about");
  if (node == NULL) return true;
  return reader->dim == 3 ? perp_keys_vector(reader, node, "m", 3, 0, term->about)
                          : perp_values_number(&reader->values, node, "m", &term->about[2]);
}

/* `terms: [{ body, frame, at, along, about }]`; the directions are in the frame of the body where
 * nothing is said. */
static bool rates_terms(perp_scene_reader *reader, const perp_node *terms, perp_rate_def *def)
{
  if (terms->type != PERP_NODE_LIST || terms->n < 1 || terms->n > PERP_RATE_TERMS) {
    PERP_SCENE_WRONG(reader, terms, "terms must be a list of 1 to %d maps", PERP_RATE_TERMS);
    return false;
  }
  for (int i = 0; i < terms->n; i++) {
    const perp_node *item = terms->item[i];
    perp_rate_term *term = &def->term[i];
    *term = (perp_rate_term){ .body = PERP_WORLD };
    if (!perp_keys_read(reader, item, "a term", term_keys, term) ||
        !rates_about(reader, item, term))
      return false;
    if (term->body < 0) {
      perp_diag_error(reader->diag, item, 0, "body: NAME", "a term needs a body, not the world");
      return false;
    }
    if (perp_tree_get(item, "frame") == NULL) term->frame = term->body;
  }
  def->n_terms = terms->n;
  return true;
}

/* `bodies: [b]` or `[b, frame]`. */
static bool rates_bodies(perp_scene_reader *reader, const perp_node *entry, perp_rate_def *def)
{
  const perp_node *bodies = perp_tree_get(entry, "bodies");
  int of[2];
  if (bodies == NULL || bodies->type != PERP_NODE_LIST || bodies->n < 1 || bodies->n > 2) {
    perp_diag_error(reader->diag, bodies != NULL ? bodies : entry, 0,
                    "write bodies: [b], or [b, frame] with directions in the frame of another body "
                    "or the world; or terms: [{ body, along, ... }]",
                    "a nonholonomic joint needs 'bodies' or 'terms'");
    return false;
  }
  for (int i = 0; i < bodies->n; i++)
    if ((of[i] = perp_named_find(reader, &reader->bodies, "body", i > 0, bodies->item[i])) <
        PERP_WORLD)
      return false;
  def->n_terms = 1;
  def->term[0].body = of[0];
  def->term[0].frame = bodies->n > 1 ? of[1] : of[0];
  return rates_about(reader, entry, &def->term[0]);
}

bool perp_scene_add_rate(perp_scene_reader *reader, const perp_node *entry, const char **name)
{
  static const char *const alone[] = { "bodies", "at", "along", "about" };
  const perp_node *terms = perp_tree_get(entry, "terms");
  perp_rate_def def = { 0 };
  if (!perp_keys_read(reader, entry, "joint 'nonholonomic'", rate_keys, &def)) return false;
  for (int i = 0; terms != NULL && i < 4; i++)
    if (perp_tree_get(entry, alone[i]) != NULL) {
      PERP_SCENE_WRONG(reader, perp_tree_get(entry, alone[i]),
                       "'%s' must be written in each of the terms", alone[i]);
      return false;
    }
  if (!(terms != NULL ? rates_terms(reader, terms, &def) : rates_bodies(reader, entry, &def)))
    return false;
  *name = def.name;
  if (perp_model_add_rate(reader->ctx, reader->scene->model, &def, NULL) == PERP_OK) return true;
  perp_scene_refused(reader, entry);
  return false;
}
