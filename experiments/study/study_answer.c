/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The section `answer` of a study file. */
#include "experiments/study/study_fields.h"

#include <math.h>
#include <string.h>

/* ---- keys ---- */

/* Does some plug-in of this kind have the option? */
static bool some_option(const perp_ctx *ctx, perp_kind kind, const char *option)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    if (perp_option(d, option) != NULL) return true;
  return false;
}

/* A key by its text; false with a message in *why (from pool) when it names nothing of the study.
 */
static bool study_answer_key(const perp_ctx *ctx, const perp_study *s, perp_pool *pool,
                             const char *text, perp_study_key *key, const char **why)
{
  char head[64];
  const char *dot = strchr(text, '.');
  snprintf(head, sizeof head, "%.*s", (int)strcspn(text, "."), text);
  *key = (perp_study_key){ .text = text, .param = perp_kind_param(s->kind, head) };
  if (key->param < 0) {
    const char *names[64];
    int n = 0;
    for (; n < s->n_params && n < 64; n++) names[n] = s->kind->params[n].key;
    const char *close = perp_closest(head, names, n);
    *why = close != NULL ? perp_pool_printf(pool, "did you mean '%s'?", close)
                         : "use a parameter, an option of one (scene.links) or its name (lcp.name)";
    return false;
  }
  if (dot == NULL) return true;
  const perp_param *p = &s->kind->params[key->param];
  const bool plugin = p->type == PERP_PARAM_PLUGIN;
  key->name = strcmp(dot + 1, plugin ? "name" : "family") == 0;
  key->option = dot + 1;
  if (plugin ? key->name || some_option(ctx, p->plugin, dot + 1)
             : key->name && p->type == PERP_PARAM_TEXT)
    return true;
  *why = perp_pool_printf(pool, plugin ? "no %s has an option '%s'" : "%s has no options%.0s", head,
                          dot + 1);
  return false;
}

size_t perp_study_name_length(const perp_param *p, const char *value)
{
  if (p->type != PERP_PARAM_PLUGIN)
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

const char *perp_study_key_text(const perp_ctx *ctx, const perp_study *s, perp_pool *pool,
                                const perp_study_key *key, const char *value)
{
  const perp_param *p = &s->kind->params[key->param];
  if (key->without) return without_option(pool, value, key->option);
  if (key->name) return perp_pool_strndup(pool, value, perp_study_name_length(p, value));
  if (key->option == NULL) return value;
  char text[128];
  return perp_option_text(ctx, p->plugin, value, key->option, text, sizeof text, NULL) != NULL
             ? perp_pool_strdup(pool, text)
             : "";
}

/* ---- reading ---- */

static int answer_keys(perp_study_reader *r, const perp_node *map, const char *member,
                       const perp_study_key **keys)
{
  int n, kept = 0;
  const char **text = perp_study_texts(r, map, member, &n);
  perp_study_key *list = perp_pool_alloc(&r->s->pool, (size_t)n + 1, sizeof *list);
  for (int i = 0; i < n; i++) {
    const char *why;
    if (study_answer_key(r->ctx, r->s, &r->s->pool, text[i], &list[kept], &why))
      kept++;
    else
      perp_diag_error(r->diag, perp_study_place(map, member, i), 0, why,
                      "answer.%s: unknown parameter '%s'", member, text[i]);
  }
  *keys = list;
  return kept;
}

static const char *answer_metric(perp_study_reader *r, const perp_node *map, const char *member,
                                 bool ranked)
{
  const char *name = perp_study_text(r, map, member, NULL);
  if (name == NULL) return NULL;
  perp_study_check_metric(r, perp_tree_get(map, member), name);
  const perp_metric *m = perp_study_metric(r->s, name);
  if (m != NULL && ranked && m->better == 0)
    perp_diag_error(
        r->diag, perp_tree_get(map, member), 0, "perp list metrics shows which metrics are ranked",
        "answer.%s: '%s' cannot be ranked: neither less nor more is better", member, name);
  return name;
}

/* Numbers in the unit of a metric. */
static int answer_numbers(perp_study_reader *r, const perp_node *map, const char *member,
                          const char *metric, const double **list)
{
  int n, kept = 0;
  const char **text = perp_study_texts(r, map, member, &n);
  const perp_metric *m = metric != NULL ? perp_study_metric(r->s, metric) : NULL;
  double *v = perp_pool_alloc(&r->s->pool, (size_t)n + 1, sizeof *v);
  char unit[32] = ""; /* of "m or rad" the first */
  if (m != NULL) snprintf(unit, sizeof unit, "%s", m->unit);
  char *alternative = strstr(unit, " or ");
  if (alternative != NULL) *alternative = '\0';
  for (int i = 0; i < n; i++) {
    if (perp_parse_real(r->ctx, text[i], unit, &v[kept]) != PERP_OK)
      PERP_WRONG(r->diag, perp_study_place(map, member, i), "answer.%s: %s", member, r->ctx->msg);
    else if (!(v[kept] > 0))
      PERP_WRONG(r->diag, perp_study_place(map, member, i), "answer.%s: must be positive", member);
    else
      kept++;
  }
  *list = v;
  return kept;
}

/* A member that another one needs. */
static void answer_needs(perp_study_reader *r, const perp_node *map, const char *member,
                         const char *needs)
{
  if (perp_tree_get(map, member) != NULL && perp_tree_get(map, needs) == NULL)
    PERP_WRONG(r->diag, perp_tree_get(map, member), "answer.%s requires '%s' as well", member,
               needs);
}

static void check_apart(perp_study_reader *r, const perp_node *map, const perp_question *q)
{
  for (int i = 0; i < q->n_by; i++)
    for (int k = 0; k < q->n_apart; k++)
      if (strcmp(q->by[i].text, q->apart[k].text) == 0)
        PERP_WRONG(
            r->diag, perp_study_place(map, "for", k),
            "answer: '%s' is under both by and for; a key can be either compared or separated",
            q->by[i].text);
}

static void read_question(perp_study_reader *r, const perp_node *map, perp_question *q)
{
  static const char *const keys[] = { "ask",     "best",    "most",  "slope", "claims",
                                      "at",      "proxy",   "over",  "by",    "for",
                                      "budgets", "targets", "floor", "where", NULL };
  static const char *const kinds[] = { "best", "most", "slope", "claims" };
  perp_study_check_keys(r->diag, map, "answer", keys);
  const perp_node *first = NULL;
  for (int k = 0; k < 4; k++) {
    const perp_node *node = perp_tree_get(map, kinds[k]);
    if (node == NULL) continue;
    if (first != NULL)
      PERP_WRONG(
          r->diag, node,
          "answer: give only one of best, most, slope and claims; for two questions write a list");
    first = node;
    q->kind = (perp_question_kind)k;
  }
  if (first == NULL) {
    perp_diag_error(r->diag, map, 0, "answer: { best: err.q.max, by: ode }",
                    "answer: one of best, most, slope and claims is missing");
    return;
  }
  const char *what = first->type == PERP_NODE_SCALAR ? first->text : "";
  if (q->kind == PERP_ASK_MOST && strcmp(what, "solved") != 0)
    perp_diag_error(r->diag, first, 0, "most: solved", "answer.most: unknown count '%s'", what);
  if (q->kind == PERP_ASK_CLAIMS && strcmp(what, "all") != 0)
    perp_diag_error(r->diag, first, 0, "claims: all", "answer.claims: unknown choice '%s'", what);
  if (q->kind == PERP_ASK_CLAIMS && perp_tree_get(r->s->root, "claims") == NULL &&
      perp_tree_get(r->s->root, "replicate") == NULL)
    PERP_WRONG(r->diag, first, "answer.claims: the study has no claims");
  q->ask = perp_study_text(r, map, "ask", "");
  if (q->kind == PERP_ASK_BEST) q->metric = answer_metric(r, map, "best", true);
  if (q->kind == PERP_ASK_SLOPE) q->metric = answer_metric(r, map, "slope", false);
  q->at = answer_metric(r, map, "at", false);
  q->proxy = answer_metric(r, map, "proxy", true);
  q->n_by = answer_keys(r, map, "by", &q->by);
  q->n_apart = answer_keys(r, map, "for", &q->apart);
  check_apart(r, map, q);
  q->n_budgets = answer_numbers(r, map, "budgets", q->at, &q->budget);
  q->n_targets = answer_numbers(r, map, "targets", q->metric, &q->target);
  q->floor = perp_study_number(r, map, "floor", "", 0, HUGE_VAL, 0);
  if (perp_tree_get(map, "where") != NULL) {
    q->where_text = perp_study_text(r, map, "where", "");
    q->where = perp_study_expression(r, map, "where", r->s->n_columns, false);
  }
  answer_needs(r, map, "budgets", "at");
  answer_needs(r, map, "targets", "at");
  answer_needs(r, map, "at", "best");
  answer_needs(r, map, "proxy", "best");
  answer_needs(r, map, "slope", "over");
  answer_needs(r, map, "over", "slope");
  const char *over = perp_study_text(r, map, "over", NULL), *why;
  if (over == NULL) return;
  if (perp_study_metric(r->s, over) != NULL)
    q->over_metric = over;
  else if (!study_answer_key(r->ctx, r->s, &r->s->pool, over, &q->over, &why))
    perp_diag_error(r->diag, perp_tree_get(map, "over"), 0, why,
                    "answer.over: unknown parameter or metric '%s'", over);
}

void perp_study_read_answer(perp_study_reader *r, const perp_node *root)
{
  perp_study *s = r->s;
  const perp_node *node = perp_tree_get(root, "answer");
  if (perp_study_empty(node)) return;
  const int n = node->type == PERP_NODE_LIST ? node->n : 1;
  s->questions = perp_pool_alloc(&s->pool, (size_t)n + 1, sizeof *s->questions);
  for (int i = 0; i < n; i++) {
    const perp_node *map = node->type == PERP_NODE_LIST ? node->item[i] : node;
    if (map->type != PERP_NODE_MAP)
      perp_diag_error(r->diag, map, 0, "answer: { best: err.q.max, by: ode }",
                      "answer must be a map of key: value, or a list of such maps");
    else
      read_question(r, map, &s->questions[s->n_questions++]);
  }
}
