/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `symptoms` of a study file. */
#include "experiments/study/study_fields.h"

#include <math.h>
#include <string.h>

static const char *symptoms_text(perp_study_reader *r, const perp_node *item, const char *key)
{
  if (perp_tree_get(item, key) == NULL)
    PERP_WRONG(r->diag, item, "the key '%s' is missing here", key);
  return perp_study_text(r, item, key, "");
}

static void read_row(perp_study_reader *r, const perp_node *item, perp_symptom *p)
{
  static const char *const keys[] = { "name",   "text",  "of",     "source", "where",
                                      "metric", "above", "spread", NULL };
  static const char *const truth[] = { "false", "true", NULL };
  perp_study_check_keys(r->diag, item, "symptoms.rows", keys);
  p->name = symptoms_text(r, item, "name");
  p->text = perp_study_text(r, item, "text", p->name);
  p->of = perp_study_text(r, item, "of", "");
  p->source = perp_study_text(r, item, "source", "");
  p->metric = symptoms_text(r, item, "metric");
  if (p->metric[0] != '\0') perp_study_check_metric(r, perp_tree_get(item, "metric"), p->metric);
  if (perp_tree_get(item, "above") == NULL)
    PERP_WRONG(r->diag, item, "the key 'above' is missing here");
  p->above = perp_study_figure(r, item, "above", p->metric, 0, HUGE_VAL);
  p->spread = perp_study_choice(r, item, "spread", truth) == 1;
  p->where_text = perp_study_text(r, item, "where", "");
  p->where = perp_study_expression(r, item, "where", r->s->n_params, false);
}

static void read_column(perp_study_reader *r, const perp_node *item, perp_symptom_column *c)
{
  static const char *const keys[] = { "name", "text", "where", NULL };
  perp_study_check_keys(r->diag, item, "symptoms.columns", keys);
  c->name = symptoms_text(r, item, "name");
  c->text = perp_study_text(r, item, "text", c->name);
  c->where_text = perp_study_text(r, item, "where", "");
  c->where = perp_study_expression(r, item, "where", r->s->n_params, false);
}

void perp_study_read_symptoms(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "columns", "rows", NULL };
  perp_study *s = r->s;
  const perp_node *map = perp_study_section(r, root, "symptoms", keys);
  if (map == NULL) return;
  const perp_node *columns = perp_study_list(r, map, "columns"),
                  *rows = perp_study_list(r, map, "rows");
  if (columns->n == 0 || rows->n == 0) {
    perp_diag_error(r->diag, map, 0, "symptoms: { columns: [...], rows: [...] }",
                    "symptoms: %s are missing", columns->n == 0 ? "columns" : "rows");
    return;
  }
  s->symptoms = perp_pool_alloc(&s->pool, (size_t)rows->n, sizeof *s->symptoms);
  s->symptom_columns = perp_pool_alloc(&s->pool, (size_t)columns->n, sizeof *s->symptom_columns);
  for (int i = 0; i < rows->n; i++) read_row(r, rows->item[i], &s->symptoms[s->n_symptoms++]);
  for (int i = 0; i < columns->n; i++)
    read_column(r, columns->item[i], &s->symptom_columns[s->n_symptom_columns++]);
}
