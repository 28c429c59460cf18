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

static bool tree_next(struct reader *reader)
{
  if (reader->event != NULL) fy_parser_event_free(reader->fyp, reader->event);
  reader->event = fy_parser_parse(reader->fyp);
  tree_memory();
  return reader->event != NULL;
}

static perp_node *new_node(struct reader *reader, perp_node_type type, struct fy_token *token)
{
  perp_node *node = perp_pool_alloc(reader->pool, 1, sizeof *node);
  node->type = type;
  node->src = reader->src;
  const struct fy_mark *mark = token != NULL ? fy_token_start_mark(token) : NULL;
  if (mark != NULL) {
    node->line = mark->line;
    node->column = mark->column;
    char first = reader->src->text[mark->input_pos];
    if (type == PERP_NODE_SCALAR && (first == '"' || first == '\'')) node->column++;
  }
  return node;
}

static perp_node *tree_fail(struct reader *reader, const perp_node *at, const char *message)
{
  perp_diag_error(reader->diag, at, 0, NULL, "%s", message);
  return NULL;
}

/* NULL: the token has none. */
static const char *tree_text(struct reader *reader, struct fy_token *token, size_t *n)
{
  const char *text = token != NULL ? fy_token_get_text(token, n) : NULL;
  tree_memory();
  return text != NULL ? perp_pool_strndup(reader->pool, text, *n) : NULL;
}

/* name: that stood before the node behind an "&"; NULL: none. */
static perp_node *tree_remember(struct reader *reader, const char *name, perp_node *node)
{
  if (name == NULL || node == NULL) return node;
  int i = perp_names_index(reader->pool, &reader->anchors, name, MOST_ANCHORS);
  if (i < 0) return tree_fail(reader, node, "too many anchors in this file");
  return reader->anchor[i] = node;
}

static perp_node *read_node(struct reader *r, int depth);

/* A key of the map, which does not have it yet. */
static perp_node *read_key(struct reader *reader, const perp_node *map, int depth)
{
  perp_node *key = read_node(reader, depth);
  if (key == NULL) return NULL;
  if (key->type != PERP_NODE_SCALAR) return tree_fail(reader, key, "a key must be a plain word");
  int first = perp_tree_place(map, key->text);
  if (first < 0) return key;
  perp_diag_error(reader->diag, key, 0, NULL,
                  "the key '%s' occurs twice (first in line %d); remove one of them", key->text,
                  map->key[first]->line + 1);
  return NULL;
}

/* A list or a map up to its end. */
static perp_node *read_members(struct reader *reader, perp_node_type type, struct fy_token *token,
                               int depth)
{
  const bool map = type == PERP_NODE_MAP, placed = token != NULL;
  perp_node *node = new_node(reader, type, token), *key = NULL;
  if (depth > DEEPEST) return tree_fail(reader, node, "nested too deeply; use fewer levels");
  while (tree_next(reader) && reader->event->type != (map ? FYET_MAPPING_END : FYET_SEQUENCE_END)) {
    if (map && ((key = read_key(reader, node, depth + 1)) == NULL || !tree_next(reader)))
      return NULL;
    perp_node *value = read_node(reader, depth + 1);
    if (value == NULL) return NULL;
    if (map && node->n == 0 && !placed) {
      node->line = key->line;
      node->column = key->column;
    }
    perp_tree_grow(node, reader->pool, key, value);
  }
  return reader->event != NULL ? node : NULL;
}

/* The node at the current event; leaves the event at its end. */
static perp_node *read_node(struct reader *reader, int depth)
{
  struct fy_token *token = fy_event_get_token(reader->event);
  size_t n = 0;
  const char *anchor = reader->event->type != FYET_ALIAS
                           ? tree_text(reader, fy_event_get_anchor_token(reader->event), &n)
                           : NULL;
  if (++reader->n_nodes > MOST_NODES)
    return tree_fail(reader, new_node(reader, PERP_NODE_SCALAR, token),
                     "the document is too large");
  switch (reader->event->type) {
  case FYET_SCALAR: {
    perp_node *node = new_node(reader, PERP_NODE_SCALAR, token);
    n = 0;
    node->text = tree_text(reader, token, &n);
    if (node->text == NULL) node->text = "";
    if (strlen(node->text) != n) return tree_fail(reader, node, "a text contains a zero byte");
    if (!perp_shown_all(node->text)) /* written as "\e" and the like */
      return tree_fail(reader, node, "a text contains a control character; remove it");
    enum fy_scalar_style style = token != NULL ? fy_token_scalar_style(token) : FYSS_PLAIN;
    node->plain = style == FYSS_PLAIN;
    return tree_remember(reader, anchor, node);
  }
  case FYET_ALIAS: {
    const char *name = tree_text(reader, token, &n);
    int i = name != NULL ? perp_names_index(reader->pool, &reader->anchors, name, reader->anchors.n)
                         : -1;
    if (i >= 0) return reader->anchor[i];
    return tree_fail(reader, new_node(reader, PERP_NODE_SCALAR, token),
                     "this alias has no anchor before it");
  }
  case FYET_SEQUENCE_START:
    return tree_remember(reader, anchor, read_members(reader, PERP_NODE_LIST, token, depth));
  case FYET_MAPPING_START:
    return tree_remember(reader, anchor, read_members(reader, PERP_NODE_MAP, token, depth));
  default:
    return tree_fail(reader, new_node(reader, PERP_NODE_SCALAR, token), "unexpected content");
  }
}

static perp_node *read_document(struct reader *reader)
{
  perp_node *root = NULL;
  while (tree_next(reader) && reader->event->type != FYET_STREAM_END) {
    enum fy_event_type type = reader->event->type;
    if (type == FYET_STREAM_START || type == FYET_DOCUMENT_START || type == FYET_DOCUMENT_END)
      continue;
    perp_node *node = read_node(reader, 0);
    if (node == NULL) return NULL;
    if (root != NULL) return tree_fail(reader, node, "a second document begins here");
    root = node;
  }
  return reader->event != NULL ? root : NULL;
}

/* Is everything text?  Otherwise an error at the first byte that is not. */
static bool all_text(perp_diag *diag, const perp_source *src)
{
  int line = 0, column = 0, n;
  for (const char *at = src->text; *at != '\0'; at += n) {
    n = perp_tree_character(at);
    if (n == 0) {
      const perp_node place = { .src = src, .line = line, .column = column };
      unsigned code;
      if (perp_utf8(at, &code) > 0)
        perp_diag_error(diag, &place, 0, NULL, "the control character U+%04X is here; remove it",
                        code);
      else
        perp_diag_error(diag, &place, 0, NULL,
                        "byte 0x%02x is not valid UTF-8; save the file as UTF-8",
                        (unsigned char)*at);
      return false;
    }
    column = *at == '\n' ? 0 : column + 1;
    line += *at == '\n';
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
  struct reader reader = { .pool = pool, .diag = diag, .src = src, .fyp = fy_parser_create(&cfg) };
  perp_node *root = NULL;
  int before = diag->errors;
  tree_memory();
  if (strlen(src->text) != size)
    perp_diag_error(diag, NULL, 0, NULL, "%s: not a text file (it contains a zero byte)", name);
  else if (all_text(diag, src) && reader.fyp != NULL &&
           fy_parser_set_string(reader.fyp, src->text, size) == 0)
    root = read_document(&reader);
  if (reader.event != NULL) fy_parser_event_free(reader.fyp, reader.event);
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
  if (reader.fyp != NULL) fy_parser_destroy(reader.fyp);
  fy_diag_destroy(fyd);
  return diag->errors == before ? root : NULL;
}
