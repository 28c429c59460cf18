/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A YAML document as a tree that remembers where everything stood, and messages with a caret. */
#ifndef PERP_TREE_H
#define PERP_TREE_H

#include "experiments/base/memory.h"
#include "solvers/core/core.h"

typedef struct perp_source {
  const char *name; /* file name as the user typed it, or "--set grid.h=..." */
  const char *text;
} perp_source;

typedef enum perp_node_type { PERP_NODE_SCALAR, PERP_NODE_LIST, PERP_NODE_MAP } perp_node_type;
typedef struct perp_node {
  perp_node_type type;
  const perp_source *src;
  int line, column; /* from 0; where the value begins, after an opening quote */
  const char *text; /* SCALAR */
  bool plain;       /* SCALAR without quotes */
  int n;            /* LIST, MAP */
  struct perp_node **item;
  struct perp_node **key; /* MAP: scalars, all different */
  perp_names keys;        /* MAP with many of them: their texts, with the same numbers */
} perp_node;

/* Messages gathered while reading: "file:line:col: error: ...", the source line, a caret and a
 * hint. */
typedef struct perp_diag {
  perp_text text;
  int errors;
  int command_line; /* those of them in sources whose name begins with "--" */
} perp_diag;

/* at NULL: no place.  offset: columns to add, for a place inside a scalar.  hint may be NULL. */
void perp_diag_error(perp_diag *diag, const perp_node *at, int offset, const char *hint,
                     const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* The same for a line of a text that is no tree, from 0; the message is cut after 299 characters.
 */
void perp_diag_line(perp_diag *diag, const perp_source *src, int line, int column, const char *hint,
                    const char *fmt, va_list ap) __attribute__((format(printf, 6, 0)));
/* The message of ctx; a "; did you mean ..." in it becomes the hint. */
void perp_diag_ctx(perp_diag *diag, const perp_node *at, int offset, const perp_ctx *ctx);
void perp_diag_free(perp_diag *diag);

/* Read one YAML 1.2 document (JSON is a subset).  Duplicate keys, more than one document, keys that
 * are not scalars and nesting deeper than 64 are refused.  NULL after an error, which diag has. */
perp_node *perp_tree_read(perp_pool *pool, perp_diag *diag, const char *name, const char *text,
                          size_t size);
/* For readers of trees: one more item, in a map under a key that it does not have yet. */
void perp_tree_grow(perp_node *node, perp_pool *pool, perp_node *key, perp_node *value);
/* Which member has the key; -1: none. */
int perp_tree_place(const perp_node *map, const char *key);
/* Bytes of the character at s, 0 when YAML does not allow it, or a terminal may not be shown it.
 * libfyaml is not given anything else: it loops for ever on some malformed bytes. */
int perp_tree_character(const char *s);
/* A member of a map, NULL when absent. */
perp_node *perp_tree_get(const perp_node *map, const char *key);
/* A text with a comma and without quotes in a map in braces is read as a text and as keys without
 * values: { text: one, two }.  Which member's text is key i a piece of?  -1: it is a key. */
int perp_tree_split(const perp_node *map, int i);
/* Merge `over` into `base`: maps member by member, everything else replaces.  Neither is changed.
 */
perp_node *perp_tree_merge(perp_pool *pool, const perp_node *base, const perp_node *over);
/* base with the member at the dotted path replaced or added; maps on the way are made.  NULL when
 * something on the way is no map: *why points to it. */
perp_node *perp_tree_set(perp_pool *pool, const perp_node *base, const char *path,
                         const perp_node *value, const perp_node **why);
/* A copy of the map base without one member of its own (NULL: with all). */
perp_node *perp_tree_without(perp_pool *pool, const perp_node *base, const char *key);
/* As YAML that reads back as the same tree. */
void perp_tree_write(const perp_node *node, FILE *out);

#endif
