/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scene files of the WebAssembly module: trees in JSON, which the program makes of YAML
 * (live_scenes.c).  Numbers and words without quotes are texts, too. */
#include "experiments/base/tree.h"

#include <string.h>

enum { DEEPEST = 64 };

struct reader {
  perp_pool *pool;
  perp_diag *diag;
  const perp_source *src;
  const char *at;
};

static perp_node *small_node(struct reader *r, perp_node_type type)
{
  perp_node *node = perp_pool_alloc(r->pool, 1, sizeof *node);
  node->type = type;
  node->src = r->src;
  for (const char *s = r->src->text; s < r->at; s++) {
    node->column = *s == '\n' ? 0 : node->column + 1;
    node->line += *s == '\n';
  }
  return node;
}

static perp_node *small_fail(struct reader *r, const char *message)
{
  perp_diag_error(r->diag, small_node(r, PERP_NODE_SCALAR), 0, NULL, "%s", message);
  return NULL;
}

static void small_space(struct reader *r)
{
  r->at += strspn(r->at, " \t\r\n");
}

static int small_hex(const char *s)
{
  int value = 0;
  for (int i = 0; i < 4; i++) {
    const char *digits = "0123456789abcdefABCDEF", *d = s[i] != 0 ? strchr(digits, s[i]) : NULL;
    if (d == NULL) return -1;
    value = value * 16 + (int)(d - digits < 16 ? d - digits : d - digits - 6);
  }
  return value;
}

/* A text in quotes; at: behind the first one. */
static perp_node *small_text(struct reader *r)
{
  perp_node *node = small_node(r, PERP_NODE_SCALAR);
  size_t n = 0;
  for (const char *s = r->at; *s != '"' && *s != '\0'; s += *s == '\\' && s[1] != '\0' ? 2 : 1) n++;
  char *text = perp_pool_alloc(r->pool, 3 * n + 4, 1), *out = text;
  while (*r->at != '"') {
    if (*r->at == '\0') return small_fail(r, "a text has no closing quote");
    if (*r->at != '\\') {
      *out++ = *r->at++;
      continue;
    }
    static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
    const char *which = r->at[1] != '\0' ? strchr(from, r->at[1]) : NULL;
    const int code = r->at[1] == 'u' ? small_hex(r->at + 2) : -1;
    if (which != NULL) {
      *out++ = to[which - from];
      r->at += 2;
    } else if (code > 0 && (code < 0xd800 || code > 0xdfff)) {
      if (code < 0x80)
        *out++ = (char)code;
      else if (code < 0x800) {
        *out++ = (char)(0xc0 | code >> 6);
        *out++ = (char)(0x80 | (code & 0x3f));
      } else {
        *out++ = (char)(0xe0 | code >> 12);
        *out++ = (char)(0x80 | (code >> 6 & 0x3f));
        *out++ = (char)(0x80 | (code & 0x3f));
      }
      r->at += 6;
    } else
      return small_fail(r, "this escape is none of JSON's");
  }
  r->at++;
  *out = '\0';
  node->text = text;
  return node;
}

static perp_node *small_value(struct reader *r, int depth);

static perp_node *small_members(struct reader *r, perp_node_type type, int depth)
{
  const char end = type == PERP_NODE_MAP ? '}' : ']';
  perp_node *node = small_node(r, type);
  r->at++;
  small_space(r);
  while (*r->at != end) {
    perp_node *key = NULL;
    if (type == PERP_NODE_MAP) {
      if (*r->at != '"') return small_fail(r, "a key in quotes is required here");
      r->at++;
      if ((key = small_text(r)) == NULL) return NULL;
      if (perp_tree_place(node, key->text) >= 0) return small_fail(r, "the key occurs twice");
      small_space(r);
      if (*r->at != ':') return small_fail(r, "':' is required here");
      r->at++;
    }
    perp_node *value = small_value(r, depth + 1);
    if (value == NULL) return NULL;
    perp_tree_grow(node, r->pool, key, value);
    small_space(r);
    if (*r->at == ',') {
      r->at++;
      small_space(r);
    } else if (*r->at != end)
      return small_fail(r, "',' is required here");
  }
  r->at++;
  return node;
}

static perp_node *small_value(struct reader *r, int depth)
{
  small_space(r);
  if (depth > DEEPEST) return small_fail(r, "nested too deeply; use fewer levels");
  if (*r->at == '{') return small_members(r, PERP_NODE_MAP, depth);
  if (*r->at == '[') return small_members(r, PERP_NODE_LIST, depth);
  if (*r->at == '"') {
    r->at++;
    return small_text(r);
  }
  perp_node *node = small_node(r, PERP_NODE_SCALAR);
  const size_t n = strcspn(r->at, ",]}: \t\r\n");
  if (n == 0) return small_fail(r, "a value is required here");
  node->plain = true;
  node->text = perp_pool_strndup(r->pool, r->at, n);
  r->at += n;
  return node;
}

perp_node *perp_tree_read(perp_pool *pool, perp_diag *diag, const char *name, const char *text,
                          size_t size)
{
  perp_source *src = perp_pool_alloc(pool, 1, sizeof *src);
  *src = (perp_source){ perp_pool_strdup(pool, name), perp_pool_strndup(pool, text, size) };
  struct reader r = { pool, diag, src, src->text };
  perp_node *root = small_value(&r, 0);
  if (root == NULL) return NULL;
  small_space(&r);
  return *r.at == '\0' ? root : small_fail(&r, "unexpected content behind the end");
}
