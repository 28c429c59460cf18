/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Section `no_contact` of a scene file: pairs of bodies that never touch, [a, b] or { a, b }, and
 * { overlapping: true }, which is all that overlap as drawn and belong to one mechanism. */
#include "experiments/scenes/parts.h"
#include "models/collision/start.h"

struct no_contact_keys {
  int a, b;
  bool overlapping;
};

static const perp_key no_contact_keys[] = {
  PERP_KEY_OF(struct no_contact_keys, a, "a", PERP_KEY_BODY),
  PERP_KEY_OF(struct no_contact_keys, b, "b", PERP_KEY_BODY),
  PERP_KEY_OF(struct no_contact_keys, overlapping, "overlapping", PERP_KEY_BOOL), PERP_KEYS_ENTRY,
  PERP_KEYS_END
};

static void no_contact_pair(perp_scene_reader *reader, const perp_node *entry, int a, int b)
{
  if (perp_model_add_no_contact(reader->ctx, reader->scene->model, a, b, 0) != PERP_OK)
    perp_scene_refused(reader, entry);
}

static void no_contact_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  struct no_contact_keys said = { 0 };
  const bool a = perp_tree_get(entry, "a") != NULL, b = perp_tree_get(entry, "b") != NULL,
             all = perp_tree_get(entry, "overlapping") != NULL;
  (void)user;
  if (!perp_keys_read(reader, entry, "no_contact", no_contact_keys, &said)) return;
  if (a != b || a == all) {
    perp_diag_error(reader->diag, entry, 0, "[left, right], or { overlapping: true }",
                    "an entry of no_contact names two bodies");
    return;
  }
  if (all)
    reader->filters = reader->filters || said.overlapping;
  else
    no_contact_pair(reader, entry, said.a, said.b);
}

void perp_scene_add_no_contact(perp_scene_reader *reader, perp_model *model)
{
  const perp_node *list = perp_tree_get(reader->root, "no_contact");
  (void)model;
  for (int i = 0; list != NULL && i < list->n && list->type == PERP_NODE_LIST; i++) {
    const perp_node *entry = list->item[i];
    if (entry->type == PERP_NODE_MAP) {
      perp_entry(reader, entry, no_contact_entry, NULL);
      continue;
    }
    if (entry->type != PERP_NODE_LIST || entry->n != 2) {
      perp_diag_error(reader->diag, entry, 0, "[left, right], or { overlapping: true }",
                      "an entry of no_contact names two bodies");
      continue;
    }
    const int a = perp_named_find(reader, &reader->bodies, "body", true, entry->item[0]),
              b = perp_named_find(reader, &reader->bodies, "body", true, entry->item[1]);
    if (a > -2 && b > -2) no_contact_pair(reader, entry, a, b);
  }
}

bool perp_scene_filter(perp_scene_reader *reader)
{
  if (!reader->filters || perp_start_filter(reader->ctx, reader->scene->model) == PERP_OK)
    return true;
  perp_scene_refused(reader, perp_tree_get(reader->root, "no_contact"));
  return false;
}

void perp_scene_export_no_contact(const perp_model *model, FILE *out)
{
  int a, b;
  double depth;
  for (int i = 0; perp_model_no_contact_of(model, i, &a, &b, &depth); i++) {
    fputs(i == 0 ? "no_contact:\n  - [" : "  - [", out);
    if (a == PERP_WORLD)
      fputs("world", out);
    else
      fprintf(out, "%d", a);
    fprintf(out, ", %d]\n", b);
  }
}
