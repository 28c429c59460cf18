/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `answer` of a study file. */
#include "experiments/study/study_fields.h"

#include <math.h>
#include <string.h>

/* ---- keys ---- */

/* Does some plug-in of this kind have the option? */
static bool some_option(const perp_ctx *ctx, perp_kind kind, const char *option)
{
  const perp_desc *desc;
  for (int i = 0; (desc = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    if (perp_option(desc, option) != NULL) return true;
  return false;
}

/* A key by its text; false with a message in *why (from pool) when it names nothing of the study.
 */
static bool study_answer_key(const perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                             const char *text, perp_study_key *key, const char **why)
{
  char head[64];
  const char *dot = strchr(text, '.');
  snprintf(head, sizeof head, "%.*s", (int)strcspn(text, "."), text);
  *key = (perp_study_key){ .text = text, .param = perp_kind_param(study->kind, head) };
  if (key->param < 0) {
    const char *names[64];
    int n = 0;
    for (; n < study->n_params && n < 64; n++) names[n] = study->kind->params[n].key;
    const char *close = perp_closest(head, names, n);
    *why = close != NULL ? perp_pool_printf(pool, "did you mean '%s'?", close)
                         : "use a parameter, an option of one (scene.links) or its name (lcp.name)";
    return false;
  }
  if (dot == NULL) return true;
  const perp_param *param = &study->kind->params[key->param];
  const bool plugin = param->type == PERP_PARAM_PLUGIN;
  key->name = strcmp(dot + 1, plugin ? "name" : "family") == 0;
  key->option = dot + 1;
  if (plugin ? key->name || some_option(ctx, param->plugin, dot + 1)
             : key->name && param->type == PERP_PARAM_TEXT)
    return true;
  *why = perp_pool_printf(pool, plugin ? "no %s has an option '%s'" : "%s has no options%.0s", head,
                          dot + 1);
  return false;
}

size_t perp_study_name_length(const perp_param *param, const char *value)
{
  if (param->type != PERP_PARAM_PLUGIN)
    return strcspn(value, ":"); /* files of problems are one family */
  for (const char *at = strchr(value, ':'); at != NULL; at = strchr(at + 1, ':'))
    if (at[1 + strcspn(at + 1, "=:,")] == '=') return (size_t)(at - value);
  return strlen(value); /* a colon belongs to names, too: gsl:rk4 */
}

/* The text of a plug-in without one of its options. */
static const char *without_option(perp_pool *pool, const char *value, const char *option)
{
  const size_t n = strlen(option);
  for (const char *at = value; (at = strpbrk(at, ":,")) != NULL;) {
    at++;
    if (strncmp(at, option, n) != 0 || at[n] != '=') continue;
    const char *end = at + strcspn(at, ",");
    if (*end == ',') return perp_pool_printf(pool, "%.*s%s", (int)(at - value), value, end + 1);
    return perp_pool_strndup(pool, value, (size_t)(at - 1 - value));
  }
  return value;
}

const char *perp_study_key_text(const perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                                const perp_study_key *key, const char *value)
{
  const perp_param *param = &study->kind->params[key->param];
  if (key->without) return without_option(pool, value, key->option);
  if (key->name) return perp_pool_strndup(pool, value, perp_study_name_length(param, value));
  if (key->option == NULL) return value;
  char text[128];
  return perp_option_text(ctx, param->plugin, value, key->option, text, sizeof text, NULL) != NULL
             ? perp_pool_strdup(pool, text)
             : "";
}

/* ---- reading ---- */

static int answer_keys(perp_study_reader *reader, const perp_node *map, const char *member,
                       const perp_study_key **keys)
{
  int n, kept = 0;
  const char **text = perp_study_texts(reader, map, member, &n);
  perp_study_key *list = perp_pool_alloc(&reader->s->pool, (size_t)n + 1, sizeof *list);
  for (int i = 0; i < n; i++) {
    const char *why;
    if (study_answer_key(reader->ctx, reader->s, &reader->s->pool, text[i], &list[kept], &why))
      kept++;
    else
      perp_diag_error(reader->diag, perp_study_place(map, member, i), 0, why,
                      "answer.%s: unknown parameter '%s'", member, text[i]);
  }
  *keys = list;
  return kept;
}

static const char *answer_metric(perp_study_reader *reader, const perp_node *map,
                                 const char *member, bool ranked)
{
  const char *name = perp_study_text(reader, map, member, NULL);
  if (name == NULL) return NULL;
  perp_study_check_metric(reader, perp_tree_get(map, member), name);
  const perp_metric *metric = perp_study_metric(reader->s, name);
  if (metric != NULL && ranked && metric->better == 0)
    perp_diag_error(reader->diag, perp_tree_get(map, member), 0,
                    "perp list metrics shows which metrics are ranked",
                    "answer.%s: '%s' cannot be ranked: neither less nor more is better", member,
                    name);
  return name;
}

/* Numbers in the unit of a metric. */
static int answer_numbers(perp_study_reader *reader, const perp_node *map, const char *member,
                          const char *metric, const double **list)
{
  int n, kept = 0;
  const char **text = perp_study_texts(reader, map, member, &n);
  const perp_metric *m = metric != NULL ? perp_study_metric(reader->s, metric) : NULL;
  double *v = perp_pool_alloc(&reader->s->pool, (size_t)n + 1, sizeof *v);
  char unit[32] = ""; /* of "m or rad" the first */
  if (m != NULL) snprintf(unit, sizeof unit, "%s", m->unit);
  char *alternative = strstr(unit, " or ");
  if (alternative != NULL) *alternative = '\0';
  for (int i = 0; i < n; i++) {
    if (perp_parse_real(reader->ctx, text[i], unit, &v[kept]) != PERP_OK)
      PERP_WRONG(reader->diag, perp_study_place(map, member, i), "answer.%s: %s", member,
                 reader->ctx->msg);
    else if (!(v[kept] > 0))
      PERP_WRONG(reader->diag, perp_study_place(map, member, i), "answer.%s: must be positive",
                 member);
    else
      kept++;
  }
  *list = v;
  return kept;
}

/* A member that another one needs. */
static void answer_needs(perp_study_reader *reader, const perp_node *map, const char *member,
                         const char *needs)
{
  if (perp_tree_get(map, member) != NULL && perp_tree_get(map, needs) == NULL)
    PERP_WRONG(reader->diag, perp_tree_get(map, member), "answer.%s requires '%s' as well", member,
               needs);
}

static void check_apart(perp_study_reader *reader, const perp_node *map,
                        const perp_question *question)
{
  for (int i = 0; i < question->n_by; i++)
    for (int apart = 0; apart < question->n_apart; apart++)
      if (strcmp(question->by[i].text, question->apart[apart].text) == 0)
        PERP_WRONG(
            reader->diag, perp_study_place(map, "for", apart),
            "answer: '%s' is under both by and for; a key can be either compared or separated",
            question->by[i].text);
}

static void read_question(perp_study_reader *reader, const perp_node *map, perp_question *question)
{
  static const char *const keys[] = { "ask",     "best",    "most",  "slope", "claims",
                                      "at",      "proxy",   "over",  "by",    "for",
                                      "budgets", "targets", "floor", "where", NULL };
  static const char *const kinds[] = { "best", "most", "slope", "claims" };
  perp_study_check_keys(reader->diag, map, "answer", keys);
  const perp_node *first = NULL;
  for (int k = 0; k < 4; k++) {
    const perp_node *node = perp_tree_get(map, kinds[k]);
    if (node == NULL) continue;
    if (first != NULL)
      PERP_WRONG(
          reader->diag, node,
          "answer: give only one of best, most, slope and claims; for two questions write a list");
    first = node;
    question->kind = (perp_question_kind)k;
  }
  if (first == NULL) {
    perp_diag_error(reader->diag, map, 0, "answer: { best: err.q.max, by: ode }",
                    "answer: one of best, most, slope and claims is missing");
    return;
  }
  const char *what = first->type == PERP_NODE_SCALAR ? first->text : "";
  if (question->kind == PERP_ASK_MOST && strcmp(what, "solved") != 0)
    perp_diag_error(reader->diag, first, 0, "most: solved", "answer.most: unknown count '%s'",
                    what);
  if (question->kind == PERP_ASK_CLAIMS && strcmp(what, "all") != 0)
    perp_diag_error(reader->diag, first, 0, "claims: all", "answer.claims: unknown choice '%s'",
                    what);
  if (question->kind == PERP_ASK_CLAIMS && perp_tree_get(reader->s->root, "claims") == NULL &&
      perp_tree_get(reader->s->root, "replicate") == NULL)
    PERP_WRONG(reader->diag, first, "answer.claims: the study has no claims");
  question->ask = perp_study_text(reader, map, "ask", "");
  if (question->kind == PERP_ASK_BEST) question->metric = answer_metric(reader, map, "best", true);
  if (question->kind == PERP_ASK_SLOPE)
    question->metric = answer_metric(reader, map, "slope", false);
  question->at = answer_metric(reader, map, "at", false);
  question->proxy = answer_metric(reader, map, "proxy", true);
  question->n_by = answer_keys(reader, map, "by", &question->by);
  question->n_apart = answer_keys(reader, map, "for", &question->apart);
  check_apart(reader, map, question);
  question->n_budgets = answer_numbers(reader, map, "budgets", question->at, &question->budget);
  question->n_targets = answer_numbers(reader, map, "targets", question->metric, &question->target);
  question->floor = perp_study_number(reader, map, "floor", "", 0, HUGE_VAL, 0);
  if (perp_tree_get(map, "where") != NULL) {
    question->where_text = perp_study_text(reader, map, "where", "");
    question->where = perp_study_expression(reader, map, "where", reader->s->n_columns, false);
  }
  answer_needs(reader, map, "budgets", "at");
  answer_needs(reader, map, "targets", "at");
  answer_needs(reader, map, "at", "best");
  answer_needs(reader, map, "proxy", "best");
  answer_needs(reader, map, "slope", "over");
  answer_needs(reader, map, "over", "slope");
  const char *over = perp_study_text(reader, map, "over", NULL), *why;
  if (over == NULL) return;
  if (perp_study_metric(reader->s, over) != NULL)
    question->over_metric = over;
  else if (!study_answer_key(reader->ctx, reader->s, &reader->s->pool, over, &question->over, &why))
    perp_diag_error(reader->diag, perp_tree_get(map, "over"), 0, why,
                    "answer.over: unknown parameter or metric '%s'", over);
}

void perp_study_read_answer(perp_study_reader *reader, const perp_node *root)
{
  perp_study *study = reader->s;
  const perp_node *node = perp_tree_get(root, "answer");
  if (perp_study_empty(node)) return;
  const int n = node->type == PERP_NODE_LIST ? node->n : 1;
  study->questions = perp_pool_alloc(&study->pool, (size_t)n + 1, sizeof *study->questions);
  for (int i = 0; i < n; i++) {
    const perp_node *map = node->type == PERP_NODE_LIST ? node->item[i] : node;
    if (map->type != PERP_NODE_MAP)
      perp_diag_error(reader->diag, map, 0, "answer: { best: err.q.max, by: ode }",
                      "answer must be a map of key: value, or a list of such maps");
    else
      read_question(reader, map, &study->questions[study->n_questions++]);
  }
}
