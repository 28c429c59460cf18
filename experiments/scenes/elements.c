/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints and forces of a scene file that are plug-ins: their bodies, and options as their tables
 * say. */
#include "experiments/scenes/parts.h"

#include <string.h>

enum { KEYS_MOST = 60 }; /* as many as perp_keys_read has room for */

bool perp_scene_element_kind(perp_scene_reader *reader, const perp_node *entry, perp_kind kind,
                             const char *const *own, const perp_desc **d)
{
  const perp_node *node = perp_tree_get(entry, "kind");
  const char *what = perp_kind_name(kind), *names[256];
  *d = NULL;
  if (node == NULL) return true; /* others say so */
  const char *text = perp_values_text(&reader->values, node);
  if (text == NULL) return false;
  for (int i = 0; own[i] != NULL; i++)
    if (strcmp(own[i], text) == 0) return true;
  *d = perp_find(reader->ctx, kind, text);
  if (*d != NULL) return true;
  int n = 0;
  for (const perp_desc *desc; n < 256 && (desc = perp_plugin_at(reader->ctx, kind, n)) != NULL; n++)
    names[n] = desc->name;
  for (int i = 0; n == 0 && own[i] != NULL; i++) names[n++] = own[i]; /* nothing is registered */
  const char *near = perp_closest(text, names, n);
  perp_text hint = { 0 };
  if (near != NULL) perp_text_add(&hint, "did you mean '%s'? ", near);
  perp_text_add(&hint, "perp list %ss lists the names; load your own plug-in with --plugin FILE.so",
                what);
  perp_diag_error(reader->diag, node, 0, hint.s, "unknown %s '%s'", what, text);
  perp_text_free(&hint);
  return false;
}

/* Is row i of the table the first component of a vector?  *length: of its name. */
static bool elements_vector(const perp_opt *opt, int i, int *length)
{
  static const char *const ends[] = { "_x", "_y", "_z" };
  const size_t n = strlen(opt[i].key);
  if (n < 3) return false;
  for (int k = 0; k < 3; k++)
    if (opt[i + k].type != PERP_OPT_REAL || strlen(opt[i + k].key) != n ||
        strncmp(opt[i + k].key, opt[i].key, n - 2) != 0 ||
        strcmp(opt[i + k].key + n - 2, ends[k]) != 0)
      return false;
  *length = (int)n - 2;
  return true;
}

/* The keys of all elements of the kind with those of this one; NULL after an error. */
static const perp_key *elements_keys(perp_scene_reader *reader, const perp_node *at,
                                     const perp_desc *desc, const perp_key *common)
{
  perp_key *keys = perp_pool_alloc(reader->pool, KEYS_MOST + 1, sizeof *keys);
  int n = 0, length;
  for (; common[n].type != PERP_KEY_END; n++) keys[n] = common[n];
  const int first = n;
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    if (n + 2 > KEYS_MOST) {
      PERP_SCENE_WRONG(reader, at, "'%s' has more than %d options", desc->name,
                       KEYS_MOST - first - 1);
      return NULL;
    }
    for (int i = 0; i < first; i++)
      if (strcmp(keys[i].name, opt->key) == 0) {
        PERP_SCENE_WRONG(reader, at,
                         "option '%s' of '%s' has the same name as a common key of its kind: "
                         "rename it in the plug-in",
                         opt->key, desc->name);
        return NULL;
      }
    keys[n++] = (perp_key)PERP_KEY_SPECIAL(opt->key);
    if (elements_vector(desc->opts, (int)(opt - desc->opts), &length))
      keys[n++] = (perp_key)PERP_KEY_SPECIAL(
          perp_pool_strndup(reader->pool, opt->key, (size_t)length));
  }
  keys[n] = (perp_key)PERP_KEYS_END;
  return keys;
}

static bool elements_set(perp_scene_reader *reader, const perp_node *node, const perp_desc *desc,
                         const perp_opt *opt, void *opts)
{
  char text[PERP_TEXT_MAX + 64];
  const char *word = text;
  double x = 0;
  bool truth = false;
  int whole = 0;
  switch (opt->type) {
  case PERP_OPT_REAL:
    if (!perp_values_number(&reader->values, node, opt->unit, &x)) return false;
    perp_format_real(x, text, sizeof text);
    break;
  case PERP_OPT_INT:
    if (!perp_values_whole(&reader->values, node, opt->min, opt->max, &whole)) return false;
    snprintf(text, sizeof text, "%d", whole);
    break;
  case PERP_OPT_BOOL:
    if (!perp_values_true(&reader->values, node, &truth)) return false;
    snprintf(text, sizeof text, "%s", truth ? "true" : "false");
    break;
  case PERP_OPT_ENUM:
    if (!perp_keys_choice(reader, node, opt->choices, &whole)) return false;
    word = opt->choices[whole];
    break;
  case PERP_OPT_TEXT:
    word = perp_values_text(&reader->values, node);
    if (word == NULL) return false;
    break;
  case PERP_OPT_END:
    break;
  }
  if (perp_opts_set(reader->ctx, desc, opts, opt->key, word) == PERP_OK) return true;
  perp_scene_refused(reader, node);
  return false;
}

bool perp_scene_element_option(perp_scene_reader *reader, const char *key, const perp_node *node,
                               const perp_desc *desc, void *opts)
{
  int length;
  for (int opt = 0; desc->opts != NULL && desc->opts[opt].type != PERP_OPT_END; opt++) {
    if (strcmp(desc->opts[opt].key, key) == 0)
      return elements_set(reader, node, desc, &desc->opts[opt], opts);
    if (!elements_vector(desc->opts, opt, &length) || (int)strlen(key) != length ||
        strncmp(desc->opts[opt].key, key, (size_t)length) != 0)
      continue;
    if (node->type != PERP_NODE_LIST || node->n > 3 || node->n < (reader->dim == 2 ? 2 : 3)) {
      PERP_SCENE_WRONG(reader, node, "a list of %d numbers is needed here",
                       reader->dim == 2 ? 2 : 3);
      return false;
    }
    for (int k = 0; k < node->n; k++)
      if (!elements_set(reader, node->item[k], desc, &desc->opts[opt + k], opts)) return false;
    return true;
  }
  return true;
}

bool perp_scene_element_read(perp_scene_reader *reader, const perp_node *entry,
                             const perp_desc *desc, const char *what, const perp_key *common,
                             void *def, void **opts, int *n, const int **body)
{
  char whose[96];
  const perp_node *bodies = perp_tree_get(entry, "bodies");
  const perp_key *keys = elements_keys(reader, entry, desc, common);
  snprintf(whose, sizeof whose, "%s '%.60s'", what, desc->name);
  if (keys == NULL || !perp_keys_read(reader, entry, whose, keys, def)) return false;
  if (bodies == NULL || bodies->type != PERP_NODE_LIST || bodies->n < 1) {
    perp_diag_error(reader->diag, bodies != NULL ? bodies : entry, 0, "bodies: [a, b, world]",
                    "%s needs 'bodies', a list of the bodies on which it acts", whose);
    return false;
  }
  int *list = perp_pool_alloc(reader->pool, (size_t)bodies->n, sizeof *list);
  for (int i = 0; i < bodies->n; i++)
    if ((list[i] = perp_named_find(reader, &reader->bodies, "body", true, bodies->item[i])) <
        PERP_WORLD)
      return false;
  *n = bodies->n;
  *body = list;
  *opts = perp_pool_alloc(reader->pool, 1, desc->opts_size + 1);
  perp_opts_default(desc, *opts);
  for (int i = 0; i < entry->n; i++)
    if (!perp_scene_element_option(reader, entry->key[i]->text, entry->item[i], desc, *opts))
      return false;
  return true;
}
