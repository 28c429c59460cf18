/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `replicate` of a study file. */
#include "experiments/study/study_fields.h"

#include <math.h>
#include <string.h>

const char *const perp_replicated_names[] = { "reproduced", "contradicted", "undetermined", NULL };

static bool replicate_has(const perp_node *item, const char *key)
{
  return perp_tree_get(item, key) != NULL;
}

static const char *replicate_text(perp_study_reader *r, const perp_node *item, const char *key)
{
  if (!replicate_has(item, key)) PERP_WRONG(r->diag, item, "the key '%s' is missing here", key);
  return perp_study_text(r, item, key, "");
}

/* `text` with x in place of each {x}. */
static const char *replicate_at(perp_study_reader *r, const char *text, const char *x)
{
  perp_text t = { 0 };
  for (const char *next; (next = strstr(text, "{x}")) != NULL; text = next + 3)
    perp_text_add(&t, "%.*s%s", (int)(next - text), text, x);
  perp_text_add(&t, "%s", text);
  const char *made = perp_pool_strdup(&r->s->pool, t.s);
  perp_text_free(&t);
  return made;
}

static void read_point(perp_study_reader *r, const perp_node *item, perp_replicate_row *row,
                       const char *x, double value, bool twin)
{
  perp_replicate_point *p = &row->point[row->n_points++];
  *p = (perp_replicate_point){ .x = x, .value = value };
  if (row->measured_text[0] != '\0')
    p->measured = perp_study_measured(r, perp_tree_get(item, "measured"),
                                      replicate_at(r, row->measured_text, x));
  if (twin && row->twin_text[0] != '\0')
    p->twin = perp_study_measured(r, perp_tree_get(item, "twin"),
                                  replicate_at(r, row->twin_text, x));
}

/* curve: [[x, value], ...]; the x replace {x} in measured and twin. */
static void read_curve(perp_study_reader *r, const perp_node *item, perp_replicate_row *row,
                       bool twin)
{
  const perp_node *curve = perp_tree_get(item, "curve");
  if (curve->type != PERP_NODE_LIST || curve->n < 2) {
    PERP_WRONG(r->diag, curve, "curve must be a list of two or more points [x, value]");
    return;
  }
  if (strstr(row->measured_text, "{x}") == NULL)
    PERP_WRONG(r->diag, item, "measured has no {x}, so every point of the curve would be the same");
  row->point = perp_pool_alloc(&r->s->pool, (size_t)curve->n, sizeof *row->point);
  for (int i = 0; i < curve->n; i++) {
    const perp_node *point = curve->item[i];
    double value = (double)NAN;
    if (point->type != PERP_NODE_LIST || point->n != 2 ||
        point->item[0]->type != PERP_NODE_SCALAR || point->item[1]->type != PERP_NODE_SCALAR) {
      PERP_WRONG(r->diag, point, "a point of a curve is [x, value]");
      return;
    }
    if (perp_parse_real(r->ctx, point->item[1]->text, row->unit, &value) != PERP_OK)
      PERP_WRONG(r->diag, point->item[1], "curve: %s", r->ctx->msg);
    read_point(r, item, row, point->item[0]->text, value, twin);
  }
}

static void read_interval(perp_study_reader *r, const perp_node *item, perp_replicate_row *row)
{
  const perp_node *node = perp_tree_get(item, "interval");
  if (node == NULL) return;
  if (node->type != PERP_NODE_LIST || node->n != 2 || node->item[0]->type != PERP_NODE_SCALAR ||
      node->item[1]->type != PERP_NODE_SCALAR) {
    perp_diag_error(r->diag, node, 0, "interval: ['min(...)', 'max(...)']",
                    "interval must be a list of two numbers made of runs");
    return;
  }
  row->least = perp_study_measured(r, node->item[0], node->item[0]->text);
  row->most = perp_study_measured(r, node->item[1], node->item[1]->text);
}

/* What the verdict needs to be more than a word. */
static void check_row(perp_study_reader *r, const perp_node *item, const perp_replicate_row *row)
{
  const bool interval = replicate_has(item, "interval"), twin = replicate_has(item, "twin");
  if (row->declared == PERP_REPLICATE_UNDETERMINED) {
    if (row->missing[0] == '\0')
      PERP_WRONG(r->diag, item, "an undetermined row must say what is missing");
    if (row->kind == PERP_STATED_VALUE && !interval && replicate_has(item, "measured"))
      PERP_WRONG(r->diag, item, "an undetermined row that is run must have an interval");
    if (row->kind != PERP_STATED_VALUE && interval)
      PERP_WRONG(r->diag, item, "an interval needs a value that is stated");
    if (interval && !twin)
      PERP_WRONG(r->diag, item, "the key 'twin' is missing here: a run with a wrong condition");
    return;
  }
  if (row->missing[0] != '\0')
    PERP_WRONG(r->diag, item, "missing belongs to undetermined rows only");
  if (interval) PERP_WRONG(r->diag, item, "an interval belongs to undetermined rows only");
  if (row->kind == PERP_STATED_NOTHING)
    PERP_WRONG(r->diag, item, "value, below, curve or holds is missing here");
  if (row->kind != PERP_STATED_HOLDS && !replicate_has(item, "measured"))
    PERP_WRONG(r->diag, item, "the key 'measured' is missing here");
  if (row->declared == PERP_REPLICATE_CONTRADICTED && !replicate_has(item, "evidence"))
    perp_diag_error(r->diag, item, 0,
                    "evidence: a condition, such as agreement of a second method or a closed form",
                    "a contradiction needs the key 'evidence'");
  if (!twin)
    PERP_WRONG(r->diag, item, "the key 'twin' is missing here: a run with a wrong condition");
}

static void read_stated(perp_study_reader *r, const perp_node *item, perp_replicate_row *row)
{
  static const char *const stated[] = { "value", "below", "curve", "holds" };
  int n = 0;
  for (int i = 0; i < 4; i++) n += replicate_has(item, stated[i]);
  if (n > 1) PERP_WRONG(r->diag, item, "a row has one of value, below, curve and holds");
  /* of a contradiction the twin is a second test of the evidence, of a condition one of the
   * condition */
  const bool number = row->declared != PERP_REPLICATE_CONTRADICTED && !replicate_has(item, "holds");
  perp_study *s = r->s;
  if (replicate_has(item, "curve")) {
    row->kind = PERP_STATED_VALUE;
    read_curve(r, item, row, number);
  } else if (replicate_has(item, "value") || replicate_has(item, "below")) {
    const char *key = replicate_has(item, "value") ? "value" : "below";
    row->kind = key[0] == 'v' ? PERP_STATED_VALUE : PERP_STATED_BELOW;
    row->point = perp_pool_alloc(&s->pool, 1, sizeof *row->point);
    read_point(r, item, row, "",
               perp_study_number(r, item, key, row->unit, -HUGE_VAL, HUGE_VAL, (double)NAN),
               number);
  } else if (replicate_has(item, "holds")) {
    row->kind = PERP_STATED_HOLDS;
    row->holds = perp_study_expression(r, item, "holds", s->n_columns, true);
  }
  if (!number && replicate_has(item, "twin"))
    row->twin = perp_study_expression(r, item, "twin", s->n_columns, true);
  if (replicate_has(item, "evidence"))
    row->evidence = perp_study_expression(r, item, "evidence", s->n_columns, true);
  row->factor = perp_study_number(r, item, "factor", "", 1, HUGE_VAL, 0);
  row->within = perp_study_number(r, item, "within", row->unit, 0, HUGE_VAL, 0);
  if (row->kind == PERP_STATED_VALUE && !(row->factor > 0) && !(row->within > 0) && n == 1)
    perp_diag_error(r->diag, item, 0, "factor: 1.4, or within: 2 mm",
                    "the reading error is missing: a factor, or a difference");
}

static void read_row(perp_study_reader *r, const perp_node *item, perp_replicate_row *row)
{
  static const char *const keys[] = { "paper",   "at",       "states",  "printed",  "derived",
                                      "reading", "unit",     "value",   "below",    "curve",
                                      "holds",   "factor",   "within",  "measured", "verdict",
                                      "twin",    "evidence", "missing", "interval", NULL };
  const perp_replicate *all = &r->s->replicate;
  perp_study_check_keys(r->diag, item, "replicate.rows", keys);
  const char *paper = replicate_text(r, item, "paper");
  row->paper = -1;
  for (int i = 0; i < all->n_papers; i++)
    if (strcmp(all->key[i], paper) == 0) row->paper = i;
  if (row->paper < 0 && paper[0] != '\0')
    perp_study_unknown(r->diag, perp_tree_get(item, "paper"), "paper", paper, "", all->key,
                       all->n_papers, "one of: ");
  row->at = replicate_text(r, item, "at");
  row->states = replicate_text(r, item, "states");
  row->printed = replicate_text(r, item, "printed");
  row->derived = perp_study_text(r, item, "derived", "");
  row->reading = perp_study_text(r, item, "reading", "");
  row->missing = perp_study_text(r, item, "missing", "");
  row->unit = perp_study_text(r, item, "unit", "");
  row->measured_text = perp_study_text(r, item, replicate_has(item, "holds") ? "holds" : "measured",
                                       "");
  row->twin_text = perp_study_text(r, item, "twin", "");
  row->evidence_text = perp_study_text(r, item, "evidence", "");
  replicate_text(r, item, "verdict");
  row->declared = (perp_replicated)perp_study_choice(r, item, "verdict", perp_replicated_names);
  read_stated(r, item, row);
  read_interval(r, item, row);
  check_row(r, item, row);
}

void perp_study_read_replicate(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "papers", "rows", NULL };
  perp_replicate *all = &r->s->replicate;
  const perp_node *map = perp_study_section(r, root, "replicate", keys);
  if (map == NULL) return;
  const perp_node *papers = perp_study_section(r, map, "papers", NULL),
                  *rows = perp_study_list(r, map, "rows");
  if (papers == NULL || papers->n == 0 || rows->n == 0) {
    perp_diag_error(r->diag, map, 0, "replicate: { papers: { key: title }, rows: [...] }",
                    "replicate: %s are missing", rows->n == 0 ? "rows" : "papers");
    return;
  }
  perp_pool *pool = &r->s->pool;
  all->key = perp_pool_alloc(pool, (size_t)papers->n, sizeof *all->key);
  all->paper = perp_pool_alloc(pool, (size_t)papers->n, sizeof *all->paper);
  for (int i = 0; i < papers->n; i++) {
    all->key[i] = papers->key[i]->text;
    all->paper[i] = perp_study_text(r, papers, papers->key[i]->text, papers->key[i]->text);
  }
  all->n_papers = papers->n;
  all->row = perp_pool_alloc(pool, (size_t)rows->n, sizeof *all->row);
  for (int i = 0; i < rows->n; i++) read_row(r, rows->item[i], &all->row[i]);
  all->n_rows = rows->n;
}

/* The section `symptoms` of a study file. */

static const char *symptoms_text(perp_study_reader *r, const perp_node *item, const char *key)
{
  if (perp_tree_get(item, key) == NULL)
    PERP_WRONG(r->diag, item, "the key '%s' is missing here", key);
  return perp_study_text(r, item, key, "");
}

static void read_symptom(perp_study_reader *r, const perp_node *item, perp_symptom *p)
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
  for (int i = 0; i < rows->n; i++) read_symptom(r, rows->item[i], &s->symptoms[s->n_symptoms++]);
  for (int i = 0; i < columns->n; i++)
    read_column(r, columns->item[i], &s->symptom_columns[s->n_symptom_columns++]);
}
