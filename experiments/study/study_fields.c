/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fields of the maps of a study file by their type; what is wrong with them goes to the
 * diagnostics. */
#include "experiments/study/study_fields.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void perp_study_unknown(perp_diag *diag, const perp_node *at, const char *what, const char *word,
                        const char *where, const char *const *names, int n, const char *lead)
{
  const char *close = perp_closest(word, names, n);
  perp_text hint = { 0 };
  if (close != NULL)
    perp_text_add(&hint, "did you mean '%s'?", close);
  else if (lead != NULL)
    for (int k = 0; k < n && hint.n < 100; k++)
      perp_text_add(&hint, "%s%s", k == 0 ? lead : ", ", names[k]);
  perp_diag_error(diag, at, 0, hint.s, "unknown %s '%s'%s", what, word, where);
  perp_text_free(&hint);
}

void perp_study_check_keys(perp_diag *diag, const perp_node *map, const char *what,
                           const char *const *keys)
{
  int n = 0;
  while (keys[n] != NULL) n++;
  for (int i = 0; i < map->n; i++) {
    bool known = false;
    for (int k = 0; k < n; k++) known = known || strcmp(keys[k], map->key[i]->text) == 0;
    if (known) continue;
    char where[100];
    snprintf(where, sizeof where, " in %.90s", what);
    perp_study_unknown(diag, map->key[i], "key", map->key[i]->text, where, keys, n, "known: ");
  }
}

bool perp_study_empty(const perp_node *node)
{
  return node == NULL || (node->type == PERP_NODE_SCALAR && node->text[0] == '\0');
}

const perp_node *perp_study_section(perp_study_reader *reader, const perp_node *map,
                                    const char *key, const char *const *keys)
{
  const perp_node *node = perp_tree_get(map, key);
  if (perp_study_empty(node)) return NULL;
  if (node->type != PERP_NODE_MAP) {
    PERP_WRONG(reader->diag, node, "%s must be a map of key: value", key);
    return NULL;
  }
  if (keys != NULL) perp_study_check_keys(reader->diag, node, key, keys);
  return node;
}

const char *perp_study_text(perp_study_reader *reader, const perp_node *map, const char *key,
                            const char *dflt)
{
  const perp_node *node = perp_tree_get(map, key);
  if (perp_study_empty(node)) return dflt;
  if (node->type != PERP_NODE_SCALAR) {
    PERP_WRONG(reader->diag, node, "%s must be a single value", key);
    return dflt;
  }
  return node->text;
}

int perp_study_column(const perp_study *study, const char *name)
{
  for (int column = 0; column < study->n_columns; column++)
    if (strcmp(study->columns[column].name, name) == 0) return column;
  return -1;
}

const perp_metric *perp_study_metric(const perp_study *study, const char *name)
{
  for (const perp_metric *metric = study->metric; metric->name != NULL; metric++)
    if (strcmp(metric->name, name) == 0) return metric;
  return NULL;
}

void perp_study_check_metric(perp_study_reader *reader, const perp_node *at, const char *name)
{
  perp_study *study = reader->s;
  if (perp_study_metric(study, name) != NULL) return;
  const char **names = perp_xalloc((size_t)study->n_metrics + 1, sizeof *names);
  for (int metric = 0; metric < study->n_metrics; metric++)
    names[metric] = study->metric[metric].name;
  const char *close = perp_closest(name, names, study->n_metrics);
  char hint[100] = "(perp list metrics)";
  if (close != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?   (perp list metrics)", close);
  perp_diag_error(reader->diag, at, 0, hint, "unknown metric '%s'", name);
  free(names);
}

const perp_node *perp_study_place(const perp_node *map, const char *key, int i)
{
  const perp_node *node = perp_tree_get(map, key);
  return node != NULL && node->type == PERP_NODE_LIST && i < node->n ? node->item[i] : node;
}

const char **perp_study_texts(perp_study_reader *reader, const perp_node *map, const char *key,
                              int *n)
{
  const perp_node *node = perp_tree_get(map, key);
  *n = 0;
  if (perp_study_empty(node)) return NULL;
  const int items = node->type == PERP_NODE_LIST ? node->n : 1;
  const char **list = perp_pool_alloc(&reader->s->pool, (size_t)items, sizeof *list);
  for (int i = 0; i < items; i++) {
    const perp_node *item = perp_study_place(map, key, i);
    if (item->type == PERP_NODE_SCALAR)
      list[(*n)++] = item->text;
    else
      PERP_WRONG(reader->diag, item, "%s must be a list%s", key,
                 item == node ? "" : " of single values");
  }
  return list;
}

double perp_study_number(perp_study_reader *reader, const perp_node *map, const char *key,
                         const char *unit, double lo, double hi, double dflt)
{
  const perp_node *node = perp_tree_get(map, key);
  const char *text = perp_study_text(reader, map, key, NULL);
  if (text == NULL) return dflt;
  double v = dflt;
  if (perp_parse_real(reader->ctx, text, unit, &v) != PERP_OK)
    PERP_WRONG(reader->diag, node, "%s: %s", key, reader->ctx->msg);
  else if (!(v >= lo && v <= hi))
    PERP_WRONG(reader->diag, node, "%s must be in [%g, %g]%s%s: got %s", key, lo, hi,
               unit[0] ? " " : "", unit, text);
  return v >= lo && v <= hi ? v : dflt;
}

double perp_study_figure(perp_study_reader *reader, const perp_node *map, const char *key,
                         const char *metric, double lo, double hi)
{
  const perp_metric *m = perp_study_metric(reader->s, metric);
  char unit[32] = "";
  if (m != NULL) snprintf(unit, sizeof unit, "%s", m->unit);
  char *alternative = strstr(unit, " or ");
  if (alternative != NULL) *alternative = '\0';
  return perp_study_number(reader, map, key, unit, lo, hi, 0);
}

const perp_node *perp_study_list(perp_study_reader *reader, const perp_node *map, const char *key)
{
  static const perp_node none = { .type = PERP_NODE_LIST };
  const perp_node *list = perp_tree_get(map, key);
  if (perp_study_empty(list)) return &none;
  if (list->type != PERP_NODE_LIST) {
    PERP_WRONG(reader->diag, list, "%s must be a list", key);
    return &none;
  }
  for (int i = 0; i < list->n; i++)
    if (list->item[i]->type != PERP_NODE_MAP) {
      PERP_WRONG(reader->diag, list->item[i], "%s: each item must be a map of key: value", key);
      return &none;
    }
  return list;
}

int perp_study_choice(perp_study_reader *reader, const perp_node *map, const char *key,
                      const char *const *choices)
{
  const char *text = perp_study_text(reader, map, key, choices[0]);
  int n = 0;
  for (; choices[n] != NULL; n++)
    if (strcmp(choices[n], text) == 0) return n;
  perp_study_unknown(reader->diag, perp_tree_get(map, key), key, text, "", choices, n, "one of: ");
  return 0;
}

perp_expr *perp_study_expression(perp_study_reader *reader, const perp_node *map, const char *key,
                                 int n_columns, bool aggregates)
{
  const perp_node *node = perp_tree_get(map, key);
  const char *text = perp_study_text(reader, map, key, NULL);
  if (text == NULL && node == NULL)
    PERP_WRONG(reader->diag, map, "the key '%s' is missing here", key);
  if (text == NULL) return NULL;
  perp_scope scope = { .ctx = reader->ctx,
                       .columns = reader->s->columns,
                       .n_columns = n_columns,
                       .aggregates = aggregates };
  perp_expr_error error;
  perp_expr *expr = perp_expr_parse(&reader->s->pool, &scope, text, &error);
  if (expr == NULL)
    perp_diag_error(reader->diag, node, error.offset, error.hint[0] ? error.hint : NULL, "%s",
                    error.message);
  return expr;
}

perp_expr *perp_study_measured(perp_study_reader *reader, const perp_node *at, const char *text)
{
  const perp_scope scope = { .ctx = reader->ctx,
                             .columns = reader->s->columns,
                             .n_columns = reader->s->n_columns,
                             .aggregates = true,
                             .number = true };
  perp_expr_error error;
  perp_expr *expr = perp_expr_parse(&reader->s->pool, &scope, text, &error);
  if (expr == NULL)
    perp_diag_error(reader->diag, at, error.offset, error.hint[0] ? error.hint : NULL, "%s",
                    error.message);
  return expr;
}
