/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading trees with libfyaml's event parser: its tokens carry the places that the messages need.
 */
#include "experiments/base/tree.h"

#include "experiments/base/memory.h"
#include "solvers/core/shown.h"

#include <errno.h>
#include <libfyaml.h>
#include <string.h>

enum { DEEPEST = 64, MOST_NODES = 200000, MOST_ANCHORS = 64 };

struct reader {
  perp_pool *pool;
  perp_diag *diag;
  const perp_source *src;
  struct fy_parser *fyp;
  struct fy_event *event; /* current */
  int n_nodes;
  perp_names anchors;
  perp_node *anchor[MOST_ANCHORS]; /* what they name */
};

/* libfyaml passes over a failed allocation: texts are then empty, or the document ends. */
static void tree_memory(void)
{
  if (errno == ENOMEM) perp_memory_out();
}

static bool tree_next(struct reader *r)
{
  if (r->event != NULL) fy_parser_event_free(r->fyp, r->event);
  r->event = fy_parser_parse(r->fyp);
  tree_memory();
  return r->event != NULL;
}

static perp_node *new_node(struct reader *r, perp_node_type type, struct fy_token *token)
{
  perp_node *node = perp_pool_alloc(r->pool, 1, sizeof *node);
  node->type = type;
  node->src = r->src;
  const struct fy_mark *mark = token != NULL ? fy_token_start_mark(token) : NULL;
  if (mark != NULL) {
    node->line = mark->line;
    node->column = mark->column;
    char first = r->src->text[mark->input_pos];
    if (type == PERP_NODE_SCALAR && (first == '"' || first == '\'')) node->column++;
  }
  return node;
}

static perp_node *tree_fail(struct reader *r, const perp_node *at, const char *message)
{
  perp_diag_error(r->diag, at, 0, NULL, "%s", message);
  return NULL;
}

/* NULL: the token has none. */
static const char *tree_text(struct reader *r, struct fy_token *token, size_t *n)
{
  const char *text = token != NULL ? fy_token_get_text(token, n) : NULL;
  tree_memory();
  return text != NULL ? perp_pool_strndup(r->pool, text, *n) : NULL;
}

/* name: that stood before the node behind an "&"; NULL: none. */
static perp_node *tree_remember(struct reader *r, const char *name, perp_node *node)
{
  if (name == NULL || node == NULL) return node;
  int i = perp_names_index(r->pool, &r->anchors, name, MOST_ANCHORS);
  if (i < 0) return tree_fail(r, node, "too many anchors in this file");
  return r->anchor[i] = node;
}

static perp_node *read_node(struct reader *r, int depth);

/* A key of the map, which does not have it yet. */
static perp_node *read_key(struct reader *r, const perp_node *map, int depth)
{
  perp_node *key = read_node(r, depth);
  if (key == NULL) return NULL;
  if (key->type != PERP_NODE_SCALAR) return tree_fail(r, key, "a key must be a plain word");
  int first = perp_tree_place(map, key->text);
  if (first < 0) return key;
  perp_diag_error(r->diag, key, 0, NULL,
                  "the key '%s' occurs twice (first in line %d); remove one of them", key->text,
                  map->key[first]->line + 1);
  return NULL;
}

/* A list or a map up to its end. */
static perp_node *read_members(struct reader *r, perp_node_type type, struct fy_token *token,
                               int depth)
{
  const bool map = type == PERP_NODE_MAP, placed = token != NULL;
  perp_node *node = new_node(r, type, token), *key = NULL;
  if (depth > DEEPEST) return tree_fail(r, node, "nested too deeply; use fewer levels");
  while (tree_next(r) && r->event->type != (map ? FYET_MAPPING_END : FYET_SEQUENCE_END)) {
    if (map && ((key = read_key(r, node, depth + 1)) == NULL || !tree_next(r))) return NULL;
    perp_node *value = read_node(r, depth + 1);
    if (value == NULL) return NULL;
    if (map && node->n == 0 && !placed) {
      node->line = key->line;
      node->column = key->column;
    }
    perp_tree_grow(node, r->pool, key, value);
  }
  return r->event != NULL ? node : NULL;
}

/* The node at the current event; leaves the event at its end. */
static perp_node *read_node(struct reader *r, int depth)
{
  struct fy_token *token = fy_event_get_token(r->event);
  size_t n = 0;
  const char *anchor = r->event->type != FYET_ALIAS
                           ? tree_text(r, fy_event_get_anchor_token(r->event), &n)
                           : NULL;
  if (++r->n_nodes > MOST_NODES)
    return tree_fail(r, new_node(r, PERP_NODE_SCALAR, token), "the document is too large");
  switch (r->event->type) {
  case FYET_SCALAR: {
    perp_node *node = new_node(r, PERP_NODE_SCALAR, token);
    n = 0;
    node->text = tree_text(r, token, &n);
    if (node->text == NULL) node->text = "";
    if (strlen(node->text) != n) return tree_fail(r, node, "a text contains a zero byte");
    if (!perp_shown_all(node->text)) /* written as "\e" and the like */
      return tree_fail(r, node, "a text contains a control character; remove it");
    enum fy_scalar_style style = token != NULL ? fy_token_scalar_style(token) : FYSS_PLAIN;
    node->plain = style == FYSS_PLAIN;
    return tree_remember(r, anchor, node);
  }
  case FYET_ALIAS: {
    const char *name = tree_text(r, token, &n);
    int i = name != NULL ? perp_names_index(r->pool, &r->anchors, name, r->anchors.n) : -1;
    if (i >= 0) return r->anchor[i];
    return tree_fail(r, new_node(r, PERP_NODE_SCALAR, token), "this alias has no anchor before it");
  }
  case FYET_SEQUENCE_START:
    return tree_remember(r, anchor, read_members(r, PERP_NODE_LIST, token, depth));
  case FYET_MAPPING_START:
    return tree_remember(r, anchor, read_members(r, PERP_NODE_MAP, token, depth));
  default:
    return tree_fail(r, new_node(r, PERP_NODE_SCALAR, token), "unexpected content");
  }
}

static perp_node *read_document(struct reader *r)
{
  perp_node *root = NULL;
  while (tree_next(r) && r->event->type != FYET_STREAM_END) {
    enum fy_event_type type = r->event->type;
    if (type == FYET_STREAM_START || type == FYET_DOCUMENT_START || type == FYET_DOCUMENT_END)
      continue;
    perp_node *node = read_node(r, 0);
    if (node == NULL) return NULL;
    if (root != NULL) return tree_fail(r, node, "a second document begins here");
    root = node;
  }
  return r->event != NULL ? root : NULL;
}

/* Is everything text?  Otherwise an error at the first byte that is not. */
static bool all_text(perp_diag *diag, const perp_source *src)
{
  int line = 0, column = 0, n;
  for (const char *s = src->text; *s != '\0'; s += n) {
    n = perp_tree_character(s);
    if (n == 0) {
      const perp_node place = { .src = src, .line = line, .column = column };
      unsigned code;
      if (perp_utf8(s, &code) > 0)
        perp_diag_error(diag, &place, 0, NULL, "the control character U+%04X is here; remove it",
                        code);
      else
        perp_diag_error(diag, &place, 0, NULL,
                        "byte 0x%02x is not valid UTF-8; save the file as UTF-8",
                        (unsigned char)*s);
      return false;
    }
    column = *s == '\n' ? 0 : column + 1;
    line += *s == '\n';
  }
  return true;
}

perp_node *perp_tree_read(perp_pool *pool, perp_diag *diag, const char *name, const char *text,
                          size_t size)
{
  perp_source *src = perp_pool_alloc(pool, 1, sizeof *src);
  src->name = perp_shown_clean(perp_pool_strdup(pool, name));
  src->text = perp_pool_strndup(pool, text, size);
  errno = 0; /* see tree_memory */
  struct fy_diag_cfg diag_cfg;
  fy_diag_cfg_default(&diag_cfg);
  diag_cfg.fp = NULL;
  diag_cfg.level = FYET_ERROR;
  struct fy_diag *fyd = fy_diag_create(&diag_cfg);
  if (fyd == NULL) {
    tree_memory();
    perp_diag_error(diag, NULL, 0, NULL, "%s: the YAML reader could not be started", name);
    return NULL;
  }
  fy_diag_set_collect_errors(fyd, true);
  struct fy_parse_cfg cfg = { .flags = FYPCF_DEFAULT_VERSION_1_2 | FYPCF_QUIET | FYPCF_COLLECT_DIAG,
                              .diag = fyd };
  struct reader r = { .pool = pool, .diag = diag, .src = src, .fyp = fy_parser_create(&cfg) };
  perp_node *root = NULL;
  int before = diag->errors;
  tree_memory();
  if (strlen(src->text) != size)
    perp_diag_error(diag, NULL, 0, NULL, "%s: not a text file (it contains a zero byte)", name);
  else if (all_text(diag, src) && r.fyp != NULL &&
           fy_parser_set_string(r.fyp, src->text, size) == 0)
    root = read_document(&r);
  if (r.event != NULL) fy_parser_event_free(r.fyp, r.event);
  tree_memory();
  if (root == NULL && diag->errors == before) {
    void *iterator = NULL;
    struct fy_diag_error *error;
    while ((error = fy_diag_errors_iterate(fyd, &iterator)) != NULL)
      if (error->type == FYET_ERROR) {
        const perp_node place = { .src = src,
                                  .line = error->line > 0 ? error->line - 1 : 0,
                                  .column = error->column > 0 ? error->column - 1 : 0 };
        perp_diag_error(diag, &place, 0, NULL, "%s", error->msg);
      }
  }
  if (root == NULL && diag->errors == before)
    perp_diag_error(diag, NULL, 0, NULL, "%s: the file is empty", name);
  if (r.fyp != NULL) fy_parser_destroy(r.fyp);
  fy_diag_destroy(fyd);
  return diag->errors == before ? root : NULL;
}
