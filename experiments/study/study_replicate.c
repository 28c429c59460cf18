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

static const char *replicate_text(perp_study_reader *reader, const perp_node *item, const char *key)
{
  if (!replicate_has(item, key))
    PERP_WRONG(reader->diag, item, "the key '%s' is missing here", key);
  return perp_study_text(reader, item, key, "");
}

/* `text` with x in place of each {x}. */
static const char *replicate_at(perp_study_reader *reader, const char *text, const char *x)
{
  perp_text t = { 0 };
  for (const char *next; (next = strstr(text, "{x}")) != NULL; text = next + 3)
    perp_text_add(&t, "%.*s%s", (int)(next - text), text, x);
  perp_text_add(&t, "%s", text);
  const char *made = perp_pool_strdup(&reader->s->pool, t.s);
  perp_text_free(&t);
  return made;
}

static void read_point(perp_study_reader *reader, const perp_node *item, perp_replicate_row *row,
                       const char *text, double value, bool twin)
{
  perp_replicate_point *point = &row->point[row->n_points++];
  *point = (perp_replicate_point){ .x = text, .value = value };
  if (row->measured_text[0] != '\0')
    point->measured = perp_study_measured(reader, perp_tree_get(item, "measured"),
                                          replicate_at(reader, row->measured_text, text));
  if (twin && row->twin_text[0] != '\0')
    point->twin = perp_study_measured(reader, perp_tree_get(item, "twin"),
                                      replicate_at(reader, row->twin_text, text));
}

/* curve: [[x, value], ...]; the x replace {x} in measured and twin. */
static void read_curve(perp_study_reader *reader, const perp_node *item, perp_replicate_row *row,
                       bool twin)
{
  const perp_node *curve = perp_tree_get(item, "curve");
  if (curve->type != PERP_NODE_LIST || curve->n < 2) {
    PERP_WRONG(reader->diag, curve, "curve must be a list of two or more points [x, value]");
    return;
  }
  if (strstr(row->measured_text, "{x}") == NULL)
    PERP_WRONG(reader->diag, item,
               "measured has no {x}, so every point of the curve would be the same");
  row->point = perp_pool_alloc(&reader->s->pool, (size_t)curve->n, sizeof *row->point);
  for (int i = 0; i < curve->n; i++) {
    const perp_node *point = curve->item[i];
    double value = (double)NAN;
    if (point->type != PERP_NODE_LIST || point->n != 2 ||
        point->item[0]->type != PERP_NODE_SCALAR || point->item[1]->type != PERP_NODE_SCALAR) {
      PERP_WRONG(reader->diag, point, "a point of a curve is [x, value]");
      return;
    }
    if (perp_parse_real(reader->ctx, point->item[1]->text, row->unit, &value) != PERP_OK)
      PERP_WRONG(reader->diag, point->item[1], "curve: %s", reader->ctx->msg);
    read_point(reader, item, row, point->item[0]->text, value, twin);
  }
}

static void read_interval(perp_study_reader *reader, const perp_node *item, perp_replicate_row *row)
{
  const perp_node *node = perp_tree_get(item, "interval");
  if (node == NULL) return;
  if (node->type != PERP_NODE_LIST || node->n != 2 || node->item[0]->type != PERP_NODE_SCALAR ||
      node->item[1]->type != PERP_NODE_SCALAR) {
    perp_diag_error(reader->diag, node, 0, "interval: ['min(...)', 'max(...)']",
                    "interval must be a list of two numbers made of runs");
    return;
  }
  row->least = perp_study_measured(reader, node->item[0], node->item[0]->text);
  row->most = perp_study_measured(reader, node->item[1], node->item[1]->text);
}

/* What the verdict needs to be more than a word. */
static void check_row(perp_study_reader *reader, const perp_node *item,
                      const perp_replicate_row *row)
{
  const bool interval = replicate_has(item, "interval"), twin = replicate_has(item, "twin");
  if (row->declared == PERP_REPLICATE_UNDETERMINED) {
    if (row->missing[0] == '\0')
      PERP_WRONG(reader->diag, item, "an undetermined row must say what is missing");
    if (row->kind == PERP_STATED_VALUE && !interval && replicate_has(item, "measured"))
      PERP_WRONG(reader->diag, item, "an undetermined row that is run must have an interval");
    if (row->kind != PERP_STATED_VALUE && interval)
      PERP_WRONG(reader->diag, item, "an interval needs a value that is stated");
    if (interval && !twin)
      PERP_WRONG(reader->diag, item,
                 "the key 'twin' is missing here: a run with a wrong condition");
    return;
  }
  if (row->missing[0] != '\0')
    PERP_WRONG(reader->diag, item, "missing belongs to undetermined rows only");
  if (interval) PERP_WRONG(reader->diag, item, "an interval belongs to undetermined rows only");
  if (row->kind == PERP_STATED_NOTHING)
    PERP_WRONG(reader->diag, item, "value, below, curve or holds is missing here");
  if (row->kind != PERP_STATED_HOLDS && !replicate_has(item, "measured"))
    PERP_WRONG(reader->diag, item, "the key 'measured' is missing here");
  if (row->declared == PERP_REPLICATE_CONTRADICTED && !replicate_has(item, "evidence"))
    perp_diag_error(reader->diag, item, 0,
                    "evidence: a condition, such as agreement of a second method or a closed form",
                    "a contradiction needs the key 'evidence'");
  if (!twin)
    PERP_WRONG(reader->diag, item, "the key 'twin' is missing here: a run with a wrong condition");
}

static void read_stated(perp_study_reader *reader, const perp_node *item, perp_replicate_row *row)
{
  static const char *const stated[] = { "value", "below", "curve", "holds" };
  int n = 0;
  for (int i = 0; i < 4; i++) n += replicate_has(item, stated[i]);
  if (n > 1) PERP_WRONG(reader->diag, item, "a row has one of value, below, curve and holds");
  /* of a contradiction the twin is a second test of the evidence, of a condition one of the
   * condition */
  const bool number = row->declared != PERP_REPLICATE_CONTRADICTED && !replicate_has(item, "holds");
  perp_study *study = reader->s;
  if (replicate_has(item, "curve")) {
    row->kind = PERP_STATED_VALUE;
    read_curve(reader, item, row, number);
  } else if (replicate_has(item, "value") || replicate_has(item, "below")) {
    const char *key = replicate_has(item, "value") ? "value" : "below";
    row->kind = key[0] == 'v' ? PERP_STATED_VALUE : PERP_STATED_BELOW;
    row->point = perp_pool_alloc(&study->pool, 1, sizeof *row->point);
    read_point(reader, item, row, "",
               perp_study_number(reader, item, key, row->unit, -HUGE_VAL, HUGE_VAL, (double)NAN),
               number);
  } else if (replicate_has(item, "holds")) {
    row->kind = PERP_STATED_HOLDS;
    row->holds = perp_study_expression(reader, item, "holds", study->n_columns, true);
  }
  if (!number && replicate_has(item, "twin"))
    row->twin = perp_study_expression(reader, item, "twin", study->n_columns, true);
  if (replicate_has(item, "evidence"))
    row->evidence = perp_study_expression(reader, item, "evidence", study->n_columns, true);
  row->factor = perp_study_number(reader, item, "factor", "", 1, HUGE_VAL, 0);
  row->within = perp_study_number(reader, item, "within", row->unit, 0, HUGE_VAL, 0);
  if (row->kind == PERP_STATED_VALUE && !(row->factor > 0) && !(row->within > 0) && n == 1)
    perp_diag_error(reader->diag, item, 0, "factor: 1.4, or within: 2 mm",
                    "the reading error is missing: a factor, or a difference");
}

static void read_row(perp_study_reader *reader, const perp_node *item, perp_replicate_row *row)
{
  static const char *const keys[] = { "paper",   "at",       "states",  "printed",  "derived",
                                      "reading", "unit",     "value",   "below",    "curve",
                                      "holds",   "factor",   "within",  "measured", "verdict",
                                      "twin",    "evidence", "missing", "interval", NULL };
  const perp_replicate *all = &reader->s->replicate;
  perp_study_check_keys(reader->diag, item, "replicate.rows", keys);
  const char *paper = replicate_text(reader, item, "paper");
  row->paper = -1;
  for (int i = 0; i < all->n_papers; i++)
    if (strcmp(all->key[i], paper) == 0) row->paper = i;
  if (row->paper < 0 && paper[0] != '\0')
    perp_study_unknown(reader->diag, perp_tree_get(item, "paper"), "paper", paper, "", all->key,
                       all->n_papers, "one of: ");
  row->at = replicate_text(reader, item, "at");
  row->states = replicate_text(reader, item, "states");
  row->printed = replicate_text(reader, item, "printed");
  row->derived = perp_study_text(reader, item, "derived", "");
  row->reading = perp_study_text(reader, item, "reading", "");
  row->missing = perp_study_text(reader, item, "missing", "");
  row->unit = perp_study_text(reader, item, "unit", "");
  row->measured_text = perp_study_text(reader, item,
                                       replicate_has(item, "holds") ? "holds" : "measured", "");
  row->twin_text = perp_study_text(reader, item, "twin", "");
  row->evidence_text = perp_study_text(reader, item, "evidence", "");
  replicate_text(reader, item, "verdict");
  row->declared = (perp_replicated)perp_study_choice(reader, item, "verdict",
                                                     perp_replicated_names);
  read_stated(reader, item, row);
  read_interval(reader, item, row);
  check_row(reader, item, row);
}

void perp_study_read_replicate(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "papers", "rows", NULL };
  perp_replicate *all = &reader->s->replicate;
  const perp_node *map = perp_study_section(reader, root, "replicate", keys);
  if (map == NULL) return;
  const perp_node *papers = perp_study_section(reader, map, "papers", NULL),
                  *rows = perp_study_list(reader, map, "rows");
  if (papers == NULL || papers->n == 0 || rows->n == 0) {
    perp_diag_error(reader->diag, map, 0, "replicate: { papers: { key: title }, rows: [...] }",
                    "replicate: %s are missing", rows->n == 0 ? "rows" : "papers");
    return;
  }
  perp_pool *pool = &reader->s->pool;
  all->key = perp_pool_alloc(pool, (size_t)papers->n, sizeof *all->key);
  all->paper = perp_pool_alloc(pool, (size_t)papers->n, sizeof *all->paper);
  for (int i = 0; i < papers->n; i++) {
    all->key[i] = papers->key[i]->text;
    all->paper[i] = perp_study_text(reader, papers, papers->key[i]->text, papers->key[i]->text);
  }
  all->n_papers = papers->n;
  all->row = perp_pool_alloc(pool, (size_t)rows->n, sizeof *all->row);
  for (int row = 0; row < rows->n; row++) read_row(reader, rows->item[row], &all->row[row]);
  all->n_rows = rows->n;
}

/* The section `symptoms` of a study file. */

static const char *symptoms_text(perp_study_reader *reader, const perp_node *item, const char *key)
{
  if (perp_tree_get(item, key) == NULL)
    PERP_WRONG(reader->diag, item, "the key '%s' is missing here", key);
  return perp_study_text(reader, item, key, "");
}

static void read_symptom(perp_study_reader *reader, const perp_node *item, perp_symptom *symptom)
{
  static const char *const keys[] = { "name",   "text",  "of",     "source", "where",
                                      "metric", "above", "spread", NULL };
  static const char *const truth[] = { "false", "true", NULL };
  perp_study_check_keys(reader->diag, item, "symptoms.rows", keys);
  symptom->name = symptoms_text(reader, item, "name");
  symptom->text = perp_study_text(reader, item, "text", symptom->name);
  symptom->of = perp_study_text(reader, item, "of", "");
  symptom->source = perp_study_text(reader, item, "source", "");
  symptom->metric = symptoms_text(reader, item, "metric");
  if (symptom->metric[0] != '\0')
    perp_study_check_metric(reader, perp_tree_get(item, "metric"), symptom->metric);
  if (perp_tree_get(item, "above") == NULL)
    PERP_WRONG(reader->diag, item, "the key 'above' is missing here");
  symptom->above = perp_study_figure(reader, item, "above", symptom->metric, 0, HUGE_VAL);
  symptom->spread = perp_study_choice(reader, item, "spread", truth) == 1;
  symptom->where_text = perp_study_text(reader, item, "where", "");
  symptom->where = perp_study_expression(reader, item, "where", reader->s->n_params, false);
}

static void read_column(perp_study_reader *reader, const perp_node *item,
                        perp_symptom_column *column)
{
  static const char *const keys[] = { "name", "text", "where", NULL };
  perp_study_check_keys(reader->diag, item, "symptoms.columns", keys);
  column->name = symptoms_text(reader, item, "name");
  column->text = perp_study_text(reader, item, "text", column->name);
  column->where_text = perp_study_text(reader, item, "where", "");
  column->where = perp_study_expression(reader, item, "where", reader->s->n_params, false);
}

void perp_study_read_symptoms(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "columns", "rows", NULL };
  perp_study *study = reader->s;
  const perp_node *map = perp_study_section(reader, root, "symptoms", keys);
  if (map == NULL) return;
  const perp_node *columns = perp_study_list(reader, map, "columns"),
                  *rows = perp_study_list(reader, map, "rows");
  if (columns->n == 0 || rows->n == 0) {
    perp_diag_error(reader->diag, map, 0, "symptoms: { columns: [...], rows: [...] }",
                    "symptoms: %s are missing", columns->n == 0 ? "columns" : "rows");
    return;
  }
  study->symptoms = perp_pool_alloc(&study->pool, (size_t)rows->n, sizeof *study->symptoms);
  study->symptom_columns = perp_pool_alloc(&study->pool, (size_t)columns->n,
                                           sizeof *study->symptom_columns);
  for (int i = 0; i < rows->n; i++)
    read_symptom(reader, rows->item[i], &study->symptoms[study->n_symptoms++]);
  for (int i = 0; i < columns->n; i++)
    read_column(reader, columns->item[i], &study->symptom_columns[study->n_symptom_columns++]);
}
