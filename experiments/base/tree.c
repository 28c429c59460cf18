/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees and the messages about them; tree_read.c reads them. */
#include "experiments/base/tree.h"

#include "experiments/base/memory.h"
#include "experiments/base/messages.h"
#include "experiments/base/json.h"
#include "solvers/core/shown.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
  MOST_ERRORS = 20,
  MANY_KEYS = 16, /* from then on they are looked up by their hash */
  SHOWN = 120     /* characters of a line in a message */
};

/* ---- messages ---- */

int perp_tree_character(const char *text)
{
  unsigned code;
  const int n = perp_utf8(text, &code);
  if (code == '\r') return n;
  return (code & 0xfffe) == 0xfffe ? 0 : perp_shown_bytes(text);
}

/* The line with a caret under its column.  Of a long line what is around it; what is no text is a
 * question mark, as a terminal would take some of it for commands. */
static void show_place(perp_text *text, const perp_source *src, int line, int column,
                       const char *hint)
{
  const char *s = src->text;
  for (int i = 0; i < line && *s != '\0'; i++) {
    s += strcspn(s, "\n");
    s += *s == '\n';
  }
  const char *const end = s + strcspn(s, "\r\n");
  int length = 0;
  for (const char *c = s; c < end; c++) length += ((unsigned char)*c & 0xc0) != 0x80;
  const int first = length > SHOWN && column > SHOWN / 2 ? column - SHOWN / 2 : 0;
  perp_text caret = { 0 };
  perp_text_add(text, "%5d | %s", line + 1, first > 0 ? "..." : "");
  perp_text_add(&caret, "      | %s", first > 0 ? "   " : "");
  int at = 0;
  for (; s < end && at < first + SHOWN; at++) {
    const int n = perp_tree_character(s);
    if (at >= first) perp_text_add(text, "%.*s", n > 0 ? n : 1, n > 0 ? s : "?");
    /* keep tabs, so that the caret stands under its place */
    if (at >= first && at < column) perp_text_add(&caret, "%c", *s == '\t' ? '\t' : ' ');
    s += n > 0 ? n : 1;
  }
  perp_text_add(text, "%s\n%s^%s%s\n", s < end ? "..." : "", caret.s, hint != NULL ? " " : "",
                hint != NULL ? hint : "");
  perp_text_free(&caret);
}

static void add_error(perp_diag *diag, const perp_source *src, int line, int column,
                      const char *hint, const char *message)
{
  if (src != NULL && strncmp(src->name, "--", 2) == 0) diag->command_line++;
  if (++diag->errors > MOST_ERRORS) {
    if (diag->errors == MOST_ERRORS + 1) perp_text_add(&diag->text, "... and more errors\n");
    return;
  }
  if (src == NULL) {
    perp_text_add(&diag->text, "error: %s%s%s%s\n", message, hint ? " (" : "", hint ? hint : "",
                  hint ? ")" : "");
    return;
  }
  perp_text_add(&diag->text, "%s:%d:%d: error: %s\n", src->name, line + 1, column + 1, message);
  show_place(&diag->text, src, line, column, hint);
}

void perp_diag_error(perp_diag *diag, const perp_node *at, int offset, const char *hint,
                     const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text text = { 0 };
  perp_text_vadd(&text, fmt, ap);
  va_end(ap);
  const perp_node nowhere = { 0 };
  if (at == NULL) at = &nowhere;
  add_error(diag, at->src, at->line, at->column + offset, hint, perp_shown_clean(text.s));
  perp_text_free(&text);
}

void perp_diag_line(perp_diag *diag, const perp_source *src, int line, int column, const char *hint,
                    const char *fmt, va_list ap)
{
  char text[300];
  vsnprintf(text, sizeof text, fmt, ap);
  const perp_node place = { .src = src, .line = line, .column = column };
  perp_diag_error(diag, &place, 0, hint, "%s", text);
}

void perp_diag_ctx(perp_diag *diag, const perp_node *at, int offset, const perp_ctx *ctx)
{
  char message[sizeof ctx->msg];
  if (ctx->status == PERP_ERR_NOMEM) { /* no error of the file */
    perp_print_error(ctx);
    perp_memory_out();
  }
  snprintf(message, sizeof message, "%s", ctx->msg);
  char *hint = perp_cut_hint(message);
  if (hint == NULL && ((hint = strstr(message, " (perp list")) != NULL ||
                       (hint = strstr(message, " (valid:")) != NULL))
    *hint++ = '\0';
  perp_diag_error(diag, at, offset, hint, "%s", message);
}

void perp_diag_free(perp_diag *diag)
{
  perp_text_free(&diag->text);
}

/* ---- using ---- */

void perp_tree_grow(perp_node *node, perp_pool *pool, perp_node *key, perp_node *value)
{
  if ((node->n & (node->n - 1)) == 0) { /* full at each power of two */
    size_t room = node->n == 0 ? 1 : 2 * (size_t)node->n;
    perp_node **item = perp_pool_alloc(pool, room, sizeof *item);
    if (node->n > 0) memcpy(item, node->item, (size_t)node->n * sizeof *item);
    node->item = item;
    if (node->type == PERP_NODE_MAP) {
      perp_node **keys = perp_pool_alloc(pool, room, sizeof *keys);
      if (node->n > 0) memcpy(keys, node->key, (size_t)node->n * sizeof *keys);
      node->key = keys;
    }
  }
  if (node->type == PERP_NODE_MAP) node->key[node->n] = key;
  node->item[node->n++] = value;
  if (node->type == PERP_NODE_MAP && node->n >= MANY_KEYS)
    for (int i = node->keys.n; i < node->n; i++)
      perp_names_index(pool, &node->keys, node->key[i]->text, -1);
}

int perp_tree_place(const perp_node *map, const char *key)
{
  if (map->n >= MANY_KEYS) return perp_names_find(&map->keys, key);
  for (int i = 0; i < map->n; i++)
    if (strcmp(map->key[i]->text, key) == 0) return i;
  return -1;
}

perp_node *perp_tree_get(const perp_node *map, const char *key)
{
  int i = map != NULL && map->type == PERP_NODE_MAP ? perp_tree_place(map, key) : -1;
  return i >= 0 ? map->item[i] : NULL;
}

/* What stands behind a scalar without quotes in its source; NULL: it is written in another way than
 * it reads. */
static const char *tree_behind(const perp_node *node)
{
  const char *at = node->src->text;
  for (int i = 0; i < node->line && *at != '\0'; i++) {
    at += strcspn(at, "\n");
    at += *at == '\n';
  }
  for (int i = 0; i < node->column; i++) {
    const int n = perp_tree_character(at);
    if (n == 0) return NULL;
    at += n;
  }
  const size_t n = strlen(node->text);
  return strncmp(at, node->text, n) == 0 ? at + n + strspn(at + n, " \t\r\n") : NULL;
}

int perp_tree_split(const perp_node *map, int i)
{
  for (; i >= 0; i--) {
    const perp_node *key = map->key[i], *value = map->item[i];
    if (value->type != PERP_NODE_SCALAR || !value->plain) return -1;
    if (value->text[0] != '\0') return i;
    const char *behind = key->plain ? tree_behind(key) : NULL;
    if (behind == NULL || (*behind != ',' && *behind != '}')) return -1;
  }
  return -1;
}

perp_node *perp_tree_without(perp_pool *pool, const perp_node *base, const char *key)
{
  perp_node *node = perp_pool_alloc(pool, 1, sizeof *node);
  *node = *base;
  node->n = 0;
  node->item = node->key = NULL;
  node->keys = (perp_names){ 0 };
  for (int i = 0; i < base->n; i++)
    if (key == NULL || strcmp(base->key[i]->text, key) != 0)
      perp_tree_grow(node, pool, base->key[i], base->item[i]);
  return node;
}

static void tree_put(perp_node *map, perp_pool *pool, perp_node *key, perp_node *value)
{
  int i = perp_tree_place(map, key->text);
  if (i >= 0)
    map->item[i] = value;
  else
    perp_tree_grow(map, pool, key, value);
}

perp_node *perp_tree_merge(perp_pool *pool, const perp_node *base, const perp_node *over)
{
  if (base == NULL || base->type != PERP_NODE_MAP || over->type != PERP_NODE_MAP)
    return (perp_node *)(uintptr_t)over;
  perp_node *node = perp_tree_without(pool, base, NULL);
  for (int i = 0; i < over->n; i++)
    tree_put(node, pool, over->key[i],
             perp_tree_merge(pool, perp_tree_get(base, over->key[i]->text), over->item[i]));
  return node;
}

perp_node *perp_tree_set(perp_pool *pool, const perp_node *base, const char *path,
                         const perp_node *value, const perp_node **why)
{
  size_t n = strcspn(path, ".");
  perp_node *node, *key = perp_pool_alloc(pool, 1, sizeof *key);
  *key = *value;
  key->type = PERP_NODE_SCALAR;
  key->text = perp_pool_strndup(pool, path, n);
  key->plain = true;
  if (base == NULL) {
    node = perp_pool_alloc(pool, 1, sizeof *node);
    *node = (perp_node){
      .type = PERP_NODE_MAP, .src = value->src, .line = value->line, .column = value->column
    };
  } else if (base->type != PERP_NODE_MAP) {
    *why = base;
    return NULL;
  } else
    node = perp_tree_without(pool, base, NULL);
  perp_node *child = (perp_node *)(uintptr_t)value;
  if (path[n] == '.')
    child = perp_tree_set(pool, perp_tree_get(node, key->text), path + n + 1, value, why);
  if (child == NULL) return NULL;
  tree_put(node, pool, key, child);
  return node;
}

/* A text that needs no quotes in any place, whatever follows it. */
static bool tree_bare(const char *text)
{
  static const char *const words[] = { "true", "false", "null", "yes", "no", "on", "off", NULL };
  for (int i = 0; words[i] != NULL; i++)
    if (strcasecmp(text, words[i]) == 0) return false;
  size_t n = strlen(text);
  return n > 0 && strchr(". ", text[0]) == NULL && text[n - 1] != ' ' &&
         (text[0] != '-' || isdigit((unsigned char)text[1])) &&
         strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./^ ") == n;
}

static void write_scalar(const perp_node *node, FILE *out)
{
  if (tree_bare(node->text)) {
    fputs(node->text, out);
    return;
  }
  if (strpbrk(node->text, "\n\r") == NULL && strchr(node->text, '"') != NULL) {
    putc('\'', out);
    for (const char *at = node->text; *at != '\0'; at++) {
      if (*at == '\'') putc('\'', out);
      putc(*at, out);
    }
    putc('\'', out);
    return;
  }
  perp_write_quoted(out, node->text);
}

static void write_flow(const perp_node *node, FILE *out)
{
  if (node->type == PERP_NODE_SCALAR) {
    write_scalar(node, out);
    return;
  }
  bool map = node->type == PERP_NODE_MAP;
  fputs(map ? "{" : "[", out);
  for (int i = 0; i < node->n; i++) {
    fputs(i > 0 ? ", " : map ? " " : "", out);
    if (map) {
      write_scalar(node->key[i], out);
      fputs(": ", out);
    }
    write_flow(node->item[i], out);
  }
  fputs(map ? " }" : "]", out);
}

static void write_block(const perp_node *node, int indent, FILE *out)
{
  for (int i = 0; i < node->n; i++) {
    const perp_node *v = node->item[i];
    fprintf(out, "%*s", indent, "");
    write_scalar(node->key[i], out);
    putc(':', out);
    if (v->type == PERP_NODE_MAP && v->n > 0) {
      putc('\n', out);
      write_block(v, indent + 2, out);
    } else if (v->type == PERP_NODE_LIST && v->n > 0) {
      putc('\n', out);
      for (int k = 0; k < v->n; k++) {
        fprintf(out, "%*s- ", indent + 2, "");
        write_flow(v->item[k], out);
        putc('\n', out);
      }
    } else {
      putc(' ', out);
      write_flow(v, out);
      putc('\n', out);
    }
  }
}

void perp_tree_write(const perp_node *node, FILE *out)
{
  if (node->type == PERP_NODE_MAP)
    write_block(node, 0, out);
  else {
    write_flow(node, out);
    putc('\n', out);
  }
}
