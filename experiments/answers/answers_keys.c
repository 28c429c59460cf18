/* SPDX-License-Identifier: GPL-3.0-or-later */
/* By which keys cells compete, and by which they are held apart. */
#include "experiments/answers/answers_parts.h"

#include <string.h>

static bool answers_keys_part(const perp_study *s, int param, perp_kind kind)
{
  return s->kind->params[param].type == PERP_PARAM_PLUGIN && s->kind->params[param].plugin == kind;
}

/* Does the parameter vary over the cells that are asked about, where they use it? */
static bool answers_keys_vary(const struct answering *w, int param)
{
  const char *first = "";
  for (int i = 0; i < w->r->plan.n; i++) {
    const char *v = w->r->plan.cells[i].value[param].text;
    if (!w->in[i] || v[0] == '\0') continue;
    if (first[0] == '\0')
      first = v;
    else if (strcmp(first, v) != 0)
      return true;
  }
  return false;
}

bool answers_named(const perp_study_key *keys, int n, int param)
{
  for (int i = 0; i < n; i++)
    if (keys[i].param == param) return true;
  return false;
}

/* The parts that compete where the study does not say: all that vary but scenes, and what is held
 * apart. */
void answers_default_by(struct answering *w)
{
  const perp_study *s = w->r->study;
  perp_study_key *by = perp_pool_alloc(&w->r->pool, (size_t)s->n_params + 1, sizeof *by);
  int n = 0;
  for (int p = 0; p < s->n_params; p++) {
    if (s->kind->params[p].type != PERP_PARAM_PLUGIN || answers_keys_part(s, p, PERP_KIND_scene) ||
        answers_named(w->q.apart, w->q.n_apart, p) || !answers_keys_vary(w, p))
      continue;
    by[n++] = (perp_study_key){ .text = s->kind->params[p].key, .param = p };
  }
  w->q.by = by;
  w->q.n_by = n;
}

/* Under error control the tolerance is the step: with budgets, cells that differ in it alone are
 * one competitor. */
void answers_join_tolerances(struct answering *w)
{
  const perp_study *s = w->r->study;
  const bool steps = w->q.at != NULL ||
                     (w->q.kind == PERP_ASK_SLOPE && w->q.over_metric == NULL &&
                      w->q.over.option != NULL && strcmp(w->q.over.option, "tol") == 0);
  perp_study_key *by = perp_pool_alloc(&w->r->pool, (size_t)w->q.n_by + 1, sizeof *by);
  for (int i = 0; i < w->q.n_by; i++) {
    by[i] = w->q.by[i];
    if (steps && by[i].option == NULL &&
        (answers_keys_part(s, by[i].param, PERP_KIND_ode) ||
         answers_keys_part(s, by[i].param, PERP_KIND_formulation))) {
      by[i].option = "tol";
      by[i].without = true;
    }
  }
  w->q.by = by;
}

/* Is this parameter a way to spend a budget, or what the slope is over? */
static bool answers_keys_step(const struct answering *w, int param)
{
  const char *key = w->r->study->kind->params[param].key;
  if (w->q.kind == PERP_ASK_SLOPE && w->q.over_metric == NULL && w->q.over.param == param)
    return true;
  const bool size = strcmp(key, "problem") == 0 && w->q.kind == PERP_ASK_SLOPE;
  return size || (strcmp(key, "h") == 0 && w->q.at != NULL);
}

const char *answers_joined_keys(struct answering *w, const perp_study_key *keys, int n, int cell)
{
  const char *label = "";
  for (int k = 0; k < n; k++) {
    const char *value = w->r->plan.cells[cell].value[keys[k].param].text;
    const char *text = perp_study_key_text(w->ctx, w->r->study, &w->r->pool, &keys[k], value);
    /* a separator that no value has: a key of a table */
    label = k == 0 ? text : perp_pool_printf(&w->r->pool, "%s\x1f%s", label, text);
  }
  return label;
}

/* Do cells that the keys do not tell apart differ in the parameter? */
static bool answers_keys_differ(struct answering *w, const perp_study_key *keys, int n, int param)
{
  perp_names facet = { 0 };
  const char **first = perp_pool_alloc(&w->r->pool, (size_t)w->r->plan.n + 1, sizeof *first);
  for (int i = 0; i < w->r->plan.n; i++) {
    const char *value = w->r->plan.cells[i].value[param].text;
    if (!w->in[i] || value[0] == '\0') continue;
    const int f = perp_names_index(&w->r->pool, &facet, answers_joined_keys(w, keys, n, i), -1);
    if (first[f] == NULL)
      first[f] = value;
    else if (strcmp(first[f], value) != 0)
      return true;
  }
  return false;
}

static bool answers_keys_one_varies(struct answering *w, const perp_study_key *key)
{
  perp_names texts = { 0 };
  for (int i = 0; i < w->r->plan.n; i++)
    if (w->in[i]) perp_names_index(&w->r->pool, &texts, answers_joined_keys(w, key, 1, i), -1);
  return texts.n > 1;
}

/* Unlike things are held apart though nobody said so: scenes, problems, lengths, tolerances, steps.
 */
void answers_hold_apart(struct answering *w)
{
  const perp_study *s = w->r->study;
  perp_study_key *apart = perp_pool_alloc(&w->r->pool, (size_t)(w->q.n_apart + s->n_params) + 1,
                                          sizeof *apart);
  int n = w->q.n_apart;
  if (n > 0) memcpy(apart, w->q.apart, (size_t)n * sizeof *apart);
  w->q.apart = apart;
  for (int p = 0; p < s->n_params && w->q.kind != PERP_ASK_MOST; p++) {
    const perp_param *q = &s->kind->params[p];
    const bool part = q->type == PERP_PARAM_PLUGIN && q->plugin != PERP_KIND_scene;
    const bool over = w->q.kind == PERP_ASK_SLOPE && w->q.over_metric == NULL &&
                      w->q.over.param == p && w->q.over.option != NULL;
    if (part || answers_named(w->q.by, w->q.n_by, p) || strcmp(q->key, "seed") == 0) continue;
    /* over a figure of the cells sizes are joined as far as the study says what is alike:
     * scene.name */
    if (w->q.over_metric != NULL && answers_named(w->q.apart, w->q.n_apart, p)) continue;
    if (over) { /* of sizes of a scene the scene is the same but for its size */
      apart[n] = w->q.over;
      apart[n].without = true;
      apart[n].text = q->key;
      if (answers_keys_one_varies(w, &apart[n])) n++;
      continue;
    }
    if (answers_keys_step(w, p)) {
      if (strcmp(q->key, "problem") == 0)
        apart[n++] = (perp_study_key){
          .text = "problem.family", .param = p, .option = "family", .name = true
        };
      continue;
    }
    if (answers_keys_differ(w, apart, n, p))
      apart[n++] = (perp_study_key){ .text = q->key, .param = p };
  }
  w->q.n_apart = n;
}
