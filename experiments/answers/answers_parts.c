/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an answer is made of: values and settings in words, and what is too small to be told. */
#include "experiments/answers/answers_parts.h"
#include "experiments/study/words.h"
#include "experiments/base/numbers.h"
#include "experiments/results/replicate.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-14; /* of errors of positions of order 1 */

/* ---- cells of a comparison ---- */

int answers_cells(const struct answering *answers, int facet, const int **cell)
{
  *cell = answers->cell + (facet < 0 ? 0 : answers->first[facet]);
  return facet < 0 ? answers->first[answers->n_facets]
                   : answers->first[facet + 1] - answers->first[facet];
}

/* ---- values ---- */

/* "1 ms", "0.2 s", "1.50e-08 m" */
const char *answers_quantity(perp_pool *pool, double v, const char *unit)
{
  char text[32];
  if (strcmp(unit, "s") == 0 && v > 0 && v < 1) {
    const bool micro = v < 1e-3;
    return perp_pool_printf(pool, "%.4g %s", v * (micro ? 1e6 : 1e3), micro ? "us" : "ms");
  }
  return perp_pool_printf(pool, "%s%s%s", perp_number(v, text), unit[0] ? " " : "", unit);
}

/* The value of a parameter as it was asked for: "15.625 ms", "1e-06" */
static const char *parts_setting(perp_pool *pool, double v, const char *unit)
{
  const bool time = strcmp(unit, "s") == 0 && v > 0 && v < 1, micro = time && v < 1e-4;
  return perp_pool_printf(pool, "%.5g%s%s",
                          micro  ? 1e6 * v
                          : time ? 1e3 * v
                                 : v,
                          unit[0] != '\0' ? " " : "",
                          micro  ? "us"
                          : time ? "ms"
                                 : unit);
}

/* The unit of a key that is a number; NULL: it is a text. */
static const char *parts_unit(const struct answering *answers, const perp_study_key *key)
{
  const perp_param *param = &answers->r->study->kind->params[key->param];
  if (key->name || key->without) return NULL;
  if (param->type == PERP_PARAM_REAL) return param->unit;
  return param->type == PERP_PARAM_INT || (key->option != NULL && param->type == PERP_PARAM_PLUGIN)
             ? ""
             : NULL;
}

const char *answers_value(struct answering *answers, const perp_study_key *key, int cell)
{
  const char *value = answers->r->plan.cells[cell].value[key->param].text;
  const char *text = perp_study_key_text(answers->ctx, answers->r->study, &answers->r->pool, key,
                                         value);
  const char *unit = parts_unit(answers, key);
  const perp_param *param = &answers->r->study->kind->params[key->param];
  const double v = perp_real_of(text);
  if (unit != NULL && !isnan(v)) return parts_setting(&answers->r->pool, v, unit);
  const bool adaptive = key->without && strcmp(key->option, "tol") == 0 && strcmp(text, value) != 0;
  if (strncmp(text, "file:", 5) == 0 && param->type == PERP_PARAM_TEXT) /* of a path the name */
    return strrchr(text, '/') != NULL ? strrchr(text, '/') + 1 : text + 5;
  return adaptive ? perp_pool_printf(&answers->r->pool, "%s (tol)", text) : text;
}

const char *answers_label(struct answering *answers, const perp_study_key *keys, int n, int cell)
{
  const char *label = "";
  for (int k = 0; k < n; k++) {
    const char *text = answers_value(answers, &keys[k], cell);
    /* a number does not say what it is of */
    if (parts_unit(answers, &keys[k]) != NULL && text[0] != '\0')
      text = perp_pool_printf(&answers->r->pool, "%s %s", keys[k].text, text);
    if (text[0] != '\0')
      label = label[0] == '\0' ? text : perp_pool_printf(&answers->r->pool, "%s + %s", label, text);
  }
  return label[0] == '\0' ? "all" : label;
}

const char *answers_key_words(perp_pool *pool, const char *key)
{
  const char *words = perp_words(key), *dot = strchr(key, '.');
  if (dot == NULL || strcmp(words, key) != 0) return words;
  const char *option = perp_words(dot + 1);
  return perp_pool_printf(pool, "%s of the %s", option,
                          perp_words(perp_pool_strndup(pool, key, (size_t)(dot - key))));
}

const char *answers_condition(struct answering *answers, int m, double v, bool down)
{
  const perp_metric *metric = &answers->r->study->metric[m];
  return perp_pool_printf(&answers->r->pool, "%s %s %s", metric->name, down ? "down to" : "up to",
                          parts_setting(&answers->r->pool, v, metric->unit));
}

const char *answers_condition_words(struct answering *answers, int m, double v, bool down)
{
  const perp_metric *metric = &answers->r->study->metric[m];
  const bool least = down && metric->better > 0;
  return perp_pool_printf(&answers->r->pool, "%s at %s %s", perp_words_ranked(metric->name),
                          least ? "least" : "most",
                          parts_setting(&answers->r->pool, v, metric->unit));
}

const char *answers_limit(struct answering *answers, int metric, double v, bool down)
{
  return perp_pool_printf(
      &answers->r->pool, "%s %s", down ? "to" : "in",
      parts_setting(&answers->r->pool, v, answers->r->study->metric[metric].unit));
}

/* ---- what cannot be told ---- */

/* How far two references of the scene of a cell are apart: relative to the largest coordinate. */
static double reference_apart(struct answering *answers, int cell)
{
  const int scene = perp_kind_param(answers->r->study->kind, "scene");
  const char *dir = answers->r->record[cell].dir;
  if (scene < 0) return 0;
  if (answers->references == NULL || strcmp(dir, answers->references_of) != 0) {
    json_decref(answers->references);
    answers->references = perp_json_read_file(
        perp_pool_printf(&answers->r->pool, "%s/reference.json", dir));
    if (answers->references == NULL) answers->references = json_array();
    answers->references_of = dir;
  }
  double worst = 0;
  size_t i;
  json_t *one;
  json_array_foreach(answers->references, i, one)
  {
    const char *name = json_string_value(json_object_get(one, "scene"));
    const double v = perp_json_number(json_object_get(one, "worst"));
    if (name != NULL && strcmp(name, answers->r->plan.cells[cell].value[scene].text) == 0 &&
        isfinite(v))
      worst = fmax(worst, v);
  }
  return worst;
}

/* A contact problem that an iterative solver leaves with a relative residual r moves a body by up
 * to r g t^2 from where an exact solution puts it, and changes its speed by up to r g t.  Methods
 * that end without an iteration have no such error. */
static double solver_floor(struct answering *answers, const perp_metric *metric, int cell)
{
  static const double gravity = 9.81;
  const perp_study *study = answers->r->study;
  const perp_value *value = answers->r->plan.cells[cell].value;
  const int lcp = perp_kind_param(study->kind, "lcp"),
            formulation = perp_kind_param(study->kind, "formulation"),
            end = perp_kind_param(study->kind, "t_end");
  char text[64];
  double tol, t;
  if (!study->kind->runs || lcp < 0 || formulation < 0 || end < 0) return 0;
  t = perp_value_number(&value[end]);
  const double scale = strcmp(metric->unit, "m") == 0     ? gravity * t * t
                       : strcmp(metric->unit, "m/s") == 0 ? gravity * t
                                                          : 0;
  if (!(scale > 0) || perp_option_text(answers->ctx, PERP_KIND_lcp, value[lcp].text, "tol", text,
                                       sizeof text, &tol) == NULL)
    return 0;
  if (!(tol > 0))
    perp_option_text(answers->ctx, PERP_KIND_formulation, value[formulation].text, "residual", text,
                     sizeof text, &tol);
  return tol > 0 ? tol * scale : 0;
}

double answers_floor(struct answering *answers, int m, int cell)
{
  const perp_study *study = answers->r->study;
  const perp_metric *metric = &study->metric[m];
  if (metric->timing || metric->better == 0) return 0;
  /* a count, and the judge of a problem, are exact */
  double floor = study->kind->runs ? rounding : 0;
  const char *why = "rounding errors";
  const bool primary = strcmp(metric->name, study->metrics.primary) == 0;
  const double stated = fmax(primary ? study->floor : 0,
                             m == answers->metric ? answers->q.floor : 0),
               solver = solver_floor(answers, metric, cell);
  if (solver > floor) {
    floor = solver;
    why = "tolerance of the contact solver";
  }
  if (strncmp(metric->name, "err.", 4) == 0 || strcmp(metric->name, "truth.err") == 0) {
    const double apart = reference_apart(answers, cell);
    if (apart > floor) {
      floor = apart;
      why = "difference of two independent references";
    }
  }
  if (stated > floor) {
    floor = stated;
    why = "floor of the study";
  }
  if (m != answers->metric) return floor;
  answers->least_floor = fmin(answers->least_floor, floor);
  if (floor > answers->most_floor) {
    answers->most_floor = floor;
    answers->floor_why = why;
  }
  return floor;
}

/* By which keys cells compete, and by which they are held apart. */

static bool answers_keys_part(const perp_study *study, int param, perp_kind kind)
{
  return study->kind->params[param].type == PERP_PARAM_PLUGIN &&
         study->kind->params[param].plugin == kind;
}

/* Does the parameter vary over the cells that are asked about, where they use it? */
static bool answers_keys_vary(const struct answering *answers, int param)
{
  const char *first = "";
  for (int cell = 0; cell < answers->r->plan.n; cell++) {
    const char *at = answers->r->plan.cells[cell].value[param].text;
    if (!answers->in[cell] || at[0] == '\0') continue;
    if (first[0] == '\0')
      first = at;
    else if (strcmp(first, at) != 0)
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
void answers_default_by(struct answering *answers)
{
  const perp_study *study = answers->r->study;
  perp_study_key *by = perp_pool_alloc(&answers->r->pool, (size_t)study->n_params + 1, sizeof *by);
  int n = 0;
  for (int param = 0; param < study->n_params; param++) {
    if (study->kind->params[param].type != PERP_PARAM_PLUGIN ||
        answers_keys_part(study, param, PERP_KIND_scene) ||
        answers_named(answers->q.apart, answers->q.n_apart, param) ||
        !answers_keys_vary(answers, param))
      continue;
    by[n++] = (perp_study_key){ .text = study->kind->params[param].key, .param = param };
  }
  answers->q.by = by;
  answers->q.n_by = n;
}

/* Under error control the tolerance is the step: with budgets, cells that differ in it alone are
 * one competitor. */
void answers_join_tolerances(struct answering *answers)
{
  const perp_study *study = answers->r->study;
  const bool steps = answers->q.at != NULL ||
                     (answers->q.kind == PERP_ASK_SLOPE && answers->q.over_metric == NULL &&
                      answers->q.over.option != NULL && strcmp(answers->q.over.option, "tol") == 0);
  perp_study_key *by = perp_pool_alloc(&answers->r->pool, (size_t)answers->q.n_by + 1, sizeof *by);
  for (int i = 0; i < answers->q.n_by; i++) {
    by[i] = answers->q.by[i];
    if (steps && by[i].option == NULL &&
        (answers_keys_part(study, by[i].param, PERP_KIND_ode) ||
         answers_keys_part(study, by[i].param, PERP_KIND_formulation))) {
      by[i].option = "tol";
      by[i].without = true;
    }
  }
  answers->q.by = by;
}

/* Is this parameter a way to spend a budget, or what the slope is over? */
static bool answers_keys_step(const struct answering *answers, int param)
{
  const char *key = answers->r->study->kind->params[param].key;
  if (answers->q.kind == PERP_ASK_SLOPE && answers->q.over_metric == NULL &&
      answers->q.over.param == param)
    return true;
  const bool size = strcmp(key, "problem") == 0 && answers->q.kind == PERP_ASK_SLOPE;
  return size || (strcmp(key, "h") == 0 && answers->q.at != NULL);
}

const char *answers_joined_keys(struct answering *answers, const perp_study_key *keys, int n,
                                int cell)
{
  const char *label = "";
  for (int k = 0; k < n; k++) {
    const char *value = answers->r->plan.cells[cell].value[keys[k].param].text;
    const char *text = perp_study_key_text(answers->ctx, answers->r->study, &answers->r->pool,
                                           &keys[k], value);
    /* a separator that no value has: a key of a table */
    label = k == 0 ? text : perp_pool_printf(&answers->r->pool, "%s\x1f%s", label, text);
  }
  return label;
}

/* Do cells that the keys do not tell apart differ in the parameter? */
static bool answers_keys_differ(struct answering *answers, const perp_study_key *keys, int n,
                                int param)
{
  perp_names facet = { 0 };
  const char **first = perp_pool_alloc(&answers->r->pool, (size_t)answers->r->plan.n + 1,
                                       sizeof *first);
  for (int cell = 0; cell < answers->r->plan.n; cell++) {
    const char *value = answers->r->plan.cells[cell].value[param].text;
    if (!answers->in[cell] || value[0] == '\0') continue;
    const int f = perp_names_index(&answers->r->pool, &facet,
                                   answers_joined_keys(answers, keys, n, cell), -1);
    if (first[f] == NULL)
      first[f] = value;
    else if (strcmp(first[f], value) != 0)
      return true;
  }
  return false;
}

static bool answers_keys_one_varies(struct answering *answers, const perp_study_key *key)
{
  perp_names texts = { 0 };
  for (int cell = 0; cell < answers->r->plan.n; cell++)
    if (answers->in[cell])
      perp_names_index(&answers->r->pool, &texts, answers_joined_keys(answers, key, 1, cell), -1);
  return texts.n > 1;
}

/* Unlike things are held apart though nobody said so: scenes, problems, lengths, tolerances, steps.
 */
void answers_hold_apart(struct answering *answers)
{
  const perp_study *study = answers->r->study;
  perp_study_key *apart = perp_pool_alloc(
      &answers->r->pool, (size_t)(answers->q.n_apart + study->n_params) + 1, sizeof *apart);
  int n = answers->q.n_apart;
  if (n > 0) memcpy(apart, answers->q.apart, (size_t)n * sizeof *apart);
  answers->q.apart = apart;
  for (int p = 0; p < study->n_params && answers->q.kind != PERP_ASK_MOST; p++) {
    const perp_param *param = &study->kind->params[p];
    const bool part = param->type == PERP_PARAM_PLUGIN && param->plugin != PERP_KIND_scene;
    const bool over = answers->q.kind == PERP_ASK_SLOPE && answers->q.over_metric == NULL &&
                      answers->q.over.param == p && answers->q.over.option != NULL;
    if (part || answers_named(answers->q.by, answers->q.n_by, p) || strcmp(param->key, "seed") == 0)
      continue;
    /* over a figure of the cells sizes are joined as far as the study says what is alike:
     * scene.name */
    if (answers->q.over_metric != NULL && answers_named(answers->q.apart, answers->q.n_apart, p))
      continue;
    if (over) { /* of sizes of a scene the scene is the same but for its size */
      apart[n] = answers->q.over;
      apart[n].without = true;
      apart[n].text = param->key;
      if (answers_keys_one_varies(answers, &apart[n])) n++;
      continue;
    }
    if (answers_keys_step(answers, p)) {
      if (strcmp(param->key, "problem") == 0)
        apart[n++] = (perp_study_key){
          .text = "problem.family", .param = p, .option = "family", .name = true
        };
      continue;
    }
    if (answers_keys_differ(answers, apart, n, p))
      apart[n++] = (perp_study_key){ .text = param->key, .param = p };
  }
  answers->q.n_apart = n;
}

/* The answer to `claims: all`: what became of the claims of a study, and of the statements of
 * documents. */

static void claims_add(struct answering *answers, const char **text, const char *more)
{
  *text = perp_pool_printf(&answers->r->pool, "%s%s%s", *text, (*text)[0] ? " " : "", more);
}

enum { REFUTED = 3 }; /* statements that are refuted are named up to this number */

/* Statements of documents, and which of the declared verdicts the runs do not confirm. */
static void claims_replicate(struct answering *answers)
{
  const perp_study *study = answers->r->study;
  const perp_replicate_result *list = perp_results_replicate(answers->ctx, answers->r);
  const perp_replicate_count count = perp_replicate_counted(study, list, -1);
  claims_add(answers, &answers->a->text,
             perp_pool_printf(&answers->r->pool, "Of %d statements: %s.", count.rows,
                              perp_replicate_count_text(&answers->r->pool, &count)));
  int refuted = 0;
  for (int row = 0; row < study->replicate.n_rows; row++)
    if (!list[row].confirmed && refuted++ < REFUTED)
      claims_add(answers, &answers->a->text,
                 perp_pool_printf(&answers->r->pool, "Refuted: %s, %s: declared %s, but %s.",
                                  study->replicate.paper[list[row].row->paper], list[row].row->at,
                                  perp_replicated_names[list[row].row->declared], list[row].why));
  if (refuted > REFUTED)
    claims_add(answers, &answers->a->text,
               perp_pool_printf(&answers->r->pool, "The table of statements has %d more.",
                                refuted - REFUTED));
}

void answers_say_claims(struct answering *answers)
{
  const int n = answers->r->study->n_claims;
  answers->a->asked = "Claims of the study";
  if (n == 0) {
    answers->a->text = "";
    if (answers->r->study->replicate.n_rows > 0)
      claims_replicate(answers);
    else
      answers->a->text = "The study makes no claims with this profile.";
    return;
  }
  const perp_claim_result *result = perp_results_claims(answers->ctx, answers->r);
  int count[3] = { 0 };
  for (int i = 0; i < n; i++) count[result[i].verdict]++;
  answers->a->text = count[PERP_CLAIM_PROVED] == n
                         ? perp_pool_printf(&answers->r->pool,
                                            n == 1 ? "The claim of the study is proved."
                                                   : "All %d claims of the study are proved.",
                                            n)
                         : perp_pool_printf(&answers->r->pool,
                                            "%d of %d claims are proved, %d refuted, %d undecided.",
                                            count[PERP_CLAIM_PROVED], n, count[PERP_CLAIM_REFUTED],
                                            count[PERP_CLAIM_UNDECIDED]);
  for (int i = 0; i < n; i++)
    if (result[i].verdict != PERP_CLAIM_PROVED)
      claims_add(answers, &answers->a->text,
                 perp_pool_printf(&answers->r->pool, "%s: %s.",
                                  result[i].verdict == PERP_CLAIM_REFUTED ? "Refuted" : "Undecided",
                                  result[i].claim->text));
  if (answers->r->study->replicate.n_rows > 0) claims_replicate(answers);
}

/* ---- what answers leave out, and one entry ---- */

const char *perp_results_left_out(perp_results *results)
{
  enum { NAMED = 3 };
  const perp_study *study = results->study;
  const int m = perp_results_metric(results, study->metrics.primary);
  int whole = 0, without = 0;
  perp_names scenes = { 0 };
  const int scene = perp_kind_param(study->kind, "scene");
  const char *names = "";
  for (int cell = 0; cell < results->plan.n; cell++) {
    if (!perp_cell_whole(results->record[cell].status)) continue;
    whole++;
    if (!isnan(perp_results_value(results, cell, m))) continue;
    without++;
    const int known = scenes.n;
    if (scene >= 0 &&
        perp_names_index(&results->pool, &scenes, results->plan.cells[cell].value[scene].text,
                         -1) == known &&
        known < NAMED)
      names = perp_pool_printf(&results->pool, "%s%s%s", names, known == 0 ? ": " : ", ",
                               scenes.text[known]);
  }
  if (without == 0) return "";
  if (!study->kind->runs && scene < 0) names = ""; /* proofs have no residual */
  if (scenes.n > NAMED)
    names = perp_pool_printf(&results->pool, "%s and %d other scenes", names, scenes.n - NAMED);
  return perp_pool_printf(&results->pool, "%d of %d completed runs have no value of the %s%s.",
                          without, whole, perp_words(study->metrics.primary), names);
}

const char *perp_answer_entry_text(perp_pool *pool, const perp_answer *answer,
                                   const perp_answer_entry *entry)
{
  char number[32];
  if (entry->cell < 0 && !isnan(entry->stands))
    return perp_pool_printf(pool, "(%s)", perp_number(entry->stands, number));
  if (entry->cell < 0 || isnan(entry->value)) return entry->why[0] != '\0' ? entry->why : "-";
  if (answer->question->kind == PERP_ASK_MOST)
    return entry->asked == entry->unsuited
               ? "unsuited"
               : perp_pool_printf(pool, "%.0f/%d", entry->value, entry->asked - entry->unsuited);
  if (answer->question->kind == PERP_ASK_SLOPE) return perp_pool_printf(pool, "%.2f", entry->value);
  return perp_pool_strdup(pool, perp_number(entry->value, number));
}
