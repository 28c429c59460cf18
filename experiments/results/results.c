/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/results.h"

#include "experiments/results/journal.h"
#include "experiments/results/robust.h"
#include "experiments/base/shell.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <gsl/gsl_sort.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double noisy_ratio = 1.05; /* wall / cpu */

/* Sorts v; quantiles by linear interpolation between order statistics. */
static perp_quartiles quartiles_of(double *v, int n)
{
  const double none = (double)NAN;
  if (n == 0) return (perp_quartiles){ n, none, none, none, none, none, none };
  gsl_sort(v, 1, (size_t)n);
  double mean = 0, square = 0;
  for (int i = 0; i < n; i++) mean += v[i] / n;
  for (int i = 0; i < n; i++) square += (v[i] - mean) * (v[i] - mean);
  return (perp_quartiles){ .n = n,
                           .min = v[0],
                           .q1 = perp_quantile(v, n, 0.25),
                           .median = perp_quantile(v, n, 0.5),
                           .q3 = perp_quantile(v, n, 0.75),
                           .max = v[n - 1],
                           .sd = n > 1 ? sqrt(square / (n - 1)) : 0 };
}

/* ---- folding the journal ---- */

struct fold {
  perp_results *r;
  json_t *cells;      /* id -> cell */
  int *started;       /* [n] highest attempt that was started */
  int schema, newest; /* of the journal that is being read; of all */
  /* rounds of attempts that have not been read yet: files are read in the order of their names */
  json_t *early;
};

static int results_cell_of(const struct fold *fold, const json_t *line)
{
  const json_t *cell = json_object_get(fold->cells,
                                       json_string_value(json_object_get(line, "cell")));
  return cell != NULL ? (int)json_integer_value(cell) : -1;
}

static double number_member(const json_t *line, const char *key)
{
  return perp_json_number(json_object_get(line, key));
}

static void fold_warnings(perp_results *results, perp_record *rec, const json_t *line)
{
  const json_t *list = json_object_get(line, "warnings");
  const size_t n = json_array_size(list);
  rec->n_warnings = 0;
  if (n == 0) return;
  rec->warning = perp_pool_alloc(&results->pool, n, sizeof *rec->warning);
  for (size_t i = 0; i < n; i++) {
    const char *text = json_string_value(json_array_get(list, i));
    if (text != NULL) rec->warning[rec->n_warnings++] = perp_pool_strdup(&results->pool, text);
  }
}

static void fold_cell(perp_results *results, perp_record *rec, const json_t *line, int schema)
{
  int attempt = (int)json_integer_value(json_object_get(line, "attempt"));
  const char *name = json_string_value(json_object_get(line, "status"));
  perp_cell_status status = name != NULL ? perp_cell_status_of(name) : PERP_CELL_STATUSES;
  /* the latest attempt counts; of two runners that did the same cell, the first */
  if (attempt <= rec->attempt || status <= PERP_CELL_PLANNED || status > PERP_CELL_SKIPPED) return;
  rec->attempt = attempt;
  rec->status = status;
  rec->reason = perp_json_kept(&results->pool, line, "reason", "");
  rec->cause = perp_json_kept(&results->pool, line, "cause", "");
  fold_warnings(results, rec, line);
  rec->resolved = perp_json_kept(&results->pool, line, "resolved", "");
  rec->stderr_tail = perp_json_kept(&results->pool, line, "stderr", "");
  rec->code = perp_json_kept(&results->pool, line, "code", "");
  /* journals of before the status had the reason alone */
  if (strcmp(rec->reason, "unsuited") == 0 &&
      (status == PERP_CELL_DIVERGED ||
       (status == PERP_CELL_UNSOLVED && !results->study->kind->runs)))
    rec->status = PERP_CELL_UNSUITED;
  rec->schema = schema;
  rec->problems = number_member(line, "problems");
  rec->unsolved = number_member(line, "unsolved");
  rec->swept = number_member(line, "swept");
  rec->partial = json_is_true(json_object_get(line, "partial"));
  rec->reached = number_member(line, "reached");
  rec->cpu_s = number_member(line, "cpu_s");
  rec->wall_s = number_member(line, "wall_s");
  const json_t *values = json_object_get(line, "values");
  for (int metric = 0; metric < results->study->n_metrics; metric++)
    rec->value[metric] = number_member(values, results->study->metric[metric].name);
  rec->rounds = rec->noisy = 0; /* rounds timed what the attempt before computed */
}

/* Which result a round has timed; journals of other programs may not say it. */
static int attempt_of(const perp_record *rec, const json_t *line)
{
  const json_t *attempt = json_object_get(line, "attempt");
  return attempt != NULL ? (int)json_integer_value(attempt) : rec->attempt;
}

static void fold_round(perp_results *results, perp_record *rec, const json_t *line)
{
  if (attempt_of(rec, line) != rec->attempt) return; /* what it timed is no longer the result */
  int most =
      results->study->measure.repeats; /* rounds of an earlier run beyond that are left out */
  if (rec->rounds >= most) return;
  const perp_metric *metrics = results->study->metric;
  if (rec->round == NULL) {
    rec->round = perp_pool_alloc(&results->pool, (size_t)results->study->n_metrics,
                                 sizeof *rec->round);
    for (int metric = 0; metric < results->study->n_metrics; metric++)
      if (metrics[metric].timing)
        rec->round[metric] = perp_pool_alloc(&results->pool, (size_t)most, sizeof **rec->round);
    rec->round_cpu = perp_pool_alloc(&results->pool, (size_t)most, sizeof *rec->round_cpu);
    rec->round_wall = perp_pool_alloc(&results->pool, (size_t)most, sizeof *rec->round_wall);
    rec->round_pace = perp_pool_alloc(&results->pool, (size_t)most, sizeof *rec->round_pace);
  }
  const json_t *values = json_object_get(line, "values");
  const double pace = number_member(line, "pace_s");
  int k = rec->rounds++;
  rec->round_cpu[k] = number_member(line, "cpu_s");
  rec->round_wall[k] = number_member(line, "wall_s");
  rec->round_pace[k] = isfinite(pace) && pace > 0 ? pace : 0;
  if (rec->round_wall[k] > noisy_ratio * rec->round_cpu[k]) rec->noisy++;
  for (int metric = 0; metric < results->study->n_metrics; metric++)
    if (rec->round[metric] != NULL)
      rec->round[metric][k] = number_member(values, metrics[metric].name);
}

void perp_results_note_env(perp_results *results, const char *id, const char *dir)
{
  enum { MOST = 64 };
  for (int env = 0; env < results->n_envs; env++)
    if (strcmp(results->envs[env].id, id) == 0) return;
  if (results->envs == NULL)
    results->envs = perp_pool_alloc(&results->pool, MOST, sizeof *results->envs);
  if (results->n_envs == MOST) return;
  results->envs[results->n_envs].id = perp_pool_strdup(&results->pool, id);
  results->envs[results->n_envs++].dir = dir;
}

static perp_code code_of(perp_pool *pool, const json_t *file)
{
  return (perp_code){ perp_json_kept(pool, file, "path", ""),
                      perp_json_kept(pool, file, "hash", "") };
}

/* The files of code that a runner was made of; the last runner counts, and whether there were
 * others. */
static void fold_program(perp_results *results, const json_t *line)
{
  const json_t *program = json_object_get(line, "program"),
               *plugins = json_object_get(line, "plugins");
  if (!json_is_object(program)) return;
  perp_text all = { 0 };
  results->program = code_of(&results->pool, program);
  perp_text_add(&all, "%s", results->program.hash);
  results->n_plugins = (int)json_array_size(plugins);
  results->plugin = perp_pool_alloc(&results->pool, (size_t)results->n_plugins + 1,
                                    sizeof *results->plugin);
  for (int plugin = 0; plugin < results->n_plugins; plugin++) {
    results->plugin[plugin] = code_of(&results->pool, json_array_get(plugins, (size_t)plugin));
    perp_text_add(&all, " + %s", results->plugin[plugin].hash);
  }
  perp_names_index(&results->pool, &results->programs, perp_pool_strdup(&results->pool, all.s), -1);
  results->n_programs = results->programs.n;
  perp_text_free(&all);
}

/* Journals before these were written do not say them. */
static void fold_limits(perp_results *results, const json_t *line)
{
  const double timeout = number_member(line, "timeout"), memory = number_member(line, "memory");
  if (isnan(timeout) || isnan(memory)) return;
  perp_names_index(
      &results->pool, &results->limits,
      perp_pool_printf(&results->pool, "%g s, %.0f MiB (0: none)", timeout, memory / 1048576), -1);
}

static void fold_line(void *user, const json_t *line)
{
  struct fold *fold = user;
  perp_results *results = fold->r;
  const char *event = json_string_value(json_object_get(line, "event"));
  if (event == NULL) return;
  double t = number_member(line, "t");
  if (!(results->started <= t)) results->started = isnan(t) ? results->started : t;
  if (!(results->ended >= t)) results->ended = isnan(t) ? results->ended : t;
  const char *env = json_string_value(json_object_get(line, "env"));
  if (strcmp(event, "run") == 0) { /* the first line of each journal */
    const json_t *schema = json_object_get(line, "schema");
    fold->schema = json_is_integer(schema) ? (int)json_integer_value(schema) : 1;
    if (fold->schema > fold->newest) fold->newest = fold->schema;
    if (env != NULL) perp_results_note_env(results, env, results->dir);
    fold_program(results, line);
    fold_limits(results, line);
  }
  int record = results_cell_of(fold, line);
  if (record < 0) return;
  if (strcmp(event, "start") == 0) {
    int attempt = (int)json_integer_value(json_object_get(line, "attempt"));
    if (attempt > fold->started[record]) fold->started[record] = attempt;
  } else if (strcmp(event, "cell") == 0)
    fold_cell(results, &results->record[record], line, fold->schema);
  else if (strcmp(event, "time") == 0 &&
           attempt_of(&results->record[record], line) > results->record[record].attempt)
    json_array_append(fold->early, (json_t *)(uintptr_t)line);
  else if (strcmp(event, "time") == 0)
    fold_round(results, &results->record[record], line);
}

/* Cells that --only, --skip left out are skipped, not planned. */
static perp_status apply_selection(perp_ctx *ctx, perp_results *results)
{
  const char *texts[2] = { results->selection.only, results->selection.skip };
  perp_plan_scope scope;
  /* the selection looked at the status before the run; what ran since then is not skipped anyway */
  perp_plan_scope_init(ctx, &scope, results->study, &results->plan, NULL);
  for (int k = 0; k < 2; k++) {
    if (texts[k] == NULL) continue;
    perp_expr_error error;
    perp_expr *expr = perp_expr_parse(&results->pool, &scope.scope, texts[k], &error);
    if (expr == NULL)
      return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s/plan.jsonl: %s", results->dir, error.message);
    for (int record = 0; record < results->plan.n; record++)
      if (results->record[record].status == PERP_CELL_PLANNED &&
          perp_expr_true(expr, &scope.scope, record) == (k == 1)) {
        results->record[record].status = PERP_CELL_SKIPPED;
        results->record[record].cause = perp_pool_printf(&results->pool, "--%s '%s'",
                                                         k == 0 ? "only" : "skip", texts[k]);
      }
  }
  return PERP_OK;
}

static perp_status load_records(perp_ctx *ctx, perp_results *results)
{
  const double unknown = (double)NAN;
  int n = results->plan.n;
  results->record = perp_pool_alloc(&results->pool, (size_t)n, sizeof *results->record);
  for (int record = 0; record < n; record++) {
    results->record[record] = (perp_record){ .dir = results->dir,
                                             .reason = "",
                                             .cause = "",
                                             .resolved = "",
                                             .stderr_tail = "",
                                             .code = "",
                                             .schema = PERP_RESULTS_SCHEMA,
                                             .problems = unknown,
                                             .unsolved = unknown,
                                             .swept = unknown,
                                             .reached = unknown };
    results->record[record].value = perp_pool_alloc(
        &results->pool, (size_t)results->study->n_metrics, sizeof *results->record[record].value);
    for (int metric = 0; metric < results->study->n_metrics; metric++)
      results->record[record].value[metric] = unknown;
  }
  struct fold fold = {
    .r = results, .cells = json_object(), .early = json_array(), .schema = results->selection.schema
  };
  fold.started = perp_pool_alloc(&results->pool, (size_t)n, sizeof *fold.started);
  for (int cell = 0; cell < n; cell++)
    json_object_set_new(fold.cells, results->plan.cells[cell].id, json_integer(cell));
  const char *journal = perp_pool_printf(&results->pool, "%s/journal", results->dir);
  perp_status status = perp_journal_read(ctx, journal, fold_line, &fold, &results->torn);
  for (size_t k = 0; k < json_array_size(fold.early); k++) {
    const json_t *line = json_array_get(fold.early, k);
    fold_round(results, &results->record[results_cell_of(&fold, line)], line);
  }
  json_decref(fold.early);
  for (int record = 0; record < n; record++)
    results->record[record].interrupted = fold.started[record] > results->record[record].attempt;
  json_decref(fold.cells);
  if (status == PERP_OK && fold.newest > PERP_RESULTS_SCHEMA)
    status = perp_schema_unknown(ctx, results->dir, fold.newest);
  return status;
}

void perp_results_count(perp_results *results)
{
  results->answers = results->findings = NULL;
  results->as_recorded = 0;
  memset(results->count, 0, sizeof results->count);
  for (int record = 0; record < results->plan.n; record++) {
    results->count[results->record[record].status]++;
    results->as_recorded += results->record[record].schema < 2 &&
                            results->record[record].status == PERP_CELL_OK;
  }
}

static perp_status results_read(perp_ctx *ctx, const perp_cell_kind *const *kinds,
                                perp_results *results)
{
  const char *study = perp_pool_printf(&results->pool, "%s/study.yaml", results->dir);
  const char *plan = perp_pool_printf(&results->pool, "%s/plan.jsonl", results->dir);
  if (!perp_exists(study) || !perp_exists(plan))
    return PERP_FAIL(ctx, PERP_ERR_IO, "%s is not a results folder (no %s in it)", results->dir,
                     perp_exists(study) ? "plan.jsonl" : "study.yaml");
  perp_diag diag = { 0 };
  const perp_study_request request = { .file = study, .profile = "", .kinds = kinds };
  perp_status status = perp_study_read(ctx, &request, &diag, &results->study);
  if (status != PERP_OK) {
    char first[300];
    snprintf(first, sizeof first, "%.*s", (int)strcspn(diag.text.s, "\n"), diag.text.s);
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s", first);
    /* A study that does not read may lack the outside plug-ins it was run with: the head of the
     * plan has them. */
    char *text = perp_read_file(plan, NULL);
    json_t *head = text != NULL ? perp_json_read(text, strcspn(text, "\n")) : NULL;
    const char *plugins = json_string_value(json_object_get(head, "plugins"));
    size_t n = strlen(ctx->msg);
    /* words for a command line of the reader, or else nothing that looks like them */
    if (plugins != NULL)
      snprintf(ctx->msg + n, sizeof ctx->msg - n, "; this run used%s",
               perp_shell_only_words(plugins) ? plugins : " the plug-ins listed in plan.jsonl");
    json_decref(head);
    free(text);
  }
  perp_diag_free(&diag);
  PERP_TRY(status);
  PERP_TRY(perp_plan_load(ctx, plan, results->study, &results->plan, &results->selection));
  PERP_TRY(load_records(ctx, results));
  PERP_TRY(apply_selection(ctx, results));
  perp_results_count(results);
  return PERP_OK;
}

perp_status perp_results_load(perp_ctx *ctx, const char *dir, const perp_cell_kind *const *kinds,
                              perp_results *results)
{
  *results = (perp_results){ .dir = perp_xstrdup(dir),
                             .started = (double)NAN,
                             .ended = (double)NAN };
  const perp_status status = results_read(ctx, kinds, results);
  if (status != PERP_OK) perp_results_free(results);
  return status;
}

void perp_results_free(perp_results *results)
{
  perp_plan_free(&results->plan);
  perp_study_free(results->study);
  perp_pool_free(&results->pool);
  free(results->dir);
  *results = (perp_results){ 0 };
}

perp_status perp_results_refuse_older(perp_ctx *ctx, const char *dir,
                                      const perp_cell_kind *const *kinds)
{
  perp_results results;
  perp_ctx quiet = *ctx;
  bool older = false;
  if (perp_results_load(&quiet, dir, kinds, &results) != PERP_OK)
    return PERP_OK; /* nothing there yet */
  for (int record = 0; record < results.plan.n; record++)
    older = older || (results.record[record].attempt > 0 &&
                      results.record[record].schema < PERP_RESULTS_SCHEMA);
  perp_results_free(&results);
  if (!older) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                   "%s has results of schema 1, where ok did not mean that all problems were "
                   "solved. Compute them again with --fresh, or choose another folder (-o).",
                   dir);
}

/* ---- questions ---- */

int perp_results_metric(const perp_results *results, const char *name)
{
  const perp_metric *metric = perp_study_metric(results->study, name);
  return metric != NULL ? (int)(metric - results->study->metric) : -1;
}

perp_quartiles perp_results_timing(const perp_results *results, int cell, int m)
{
  const perp_record *rec = &results->record[cell];
  double *v = perp_xalloc((size_t)rec->rounds + 1, sizeof *v);
  int n = 0;
  for (int round = 0; round < rec->rounds; round++)
    if (rec->round[m] != NULL && isfinite(rec->round[m][round])) v[n++] = rec->round[m][round];
  if (n == 0 && isfinite(rec->value[m])) v[n++] = rec->value[m];
  perp_quartiles quartiles = quartiles_of(v, n);
  free(v);
  return quartiles;
}

double perp_results_value(const perp_results *results, int cell, int metric)
{
  if (results->record[cell].rounds == 0)
    return isfinite(results->record[cell].value[metric]) || !results->study->metric[metric].timing
               ? results->record[cell].value[metric]
               : (double)NAN;
  if (results->study->metric[metric].timing)
    return perp_results_timing(results, cell, metric).median;
  return results->record[cell].value[metric];
}

const perp_opt *perp_results_option(const perp_ctx *ctx, const perp_results *results, int cell,
                                    const char *name, char *buf, size_t size, double *number)
{
  char key[64];
  snprintf(key, sizeof key, "%.*s", (int)strcspn(name, "."), name);
  int param = perp_kind_param(results->study->kind, key);
  const char *option = strchr(name, '.');
  buf[0] = '\0';
  if (number != NULL) *number = (double)NAN;
  if (param < 0 || option == NULL) return NULL;
  return perp_option_text(ctx, results->study->kind->params[param].plugin,
                          results->plan.cells[cell].value[param].text, option + 1, buf, size,
                          number);
}

perp_names perp_results_part_columns(perp_results *results)
{
  const perp_study *study = results->study;
  perp_names columns = { 0 };
  for (int param = 0; param < study->n_params; param++) {
    const char *key = study->kind->params[param].key;
    if (study->kind->params[param].type != PERP_PARAM_PLUGIN) continue;
    for (int cell = 0; cell < results->plan.n; cell++) {
      const char *at = strchr(results->plan.cells[cell].value[param].text, ':');
      /* a colon belongs to names, too: gsl:rk4 */
      if (at == NULL || strchr(at, '=') == NULL) continue;
      perp_names_index(&results->pool, &columns, perp_pool_printf(&results->pool, "%s.name", key),
                       -1);
      for (; at != NULL && *at != '('; at = strpbrk(at + 1, ":,(")) {
        const size_t n = strcspn(at + 1, "=:,(");
        if (at[1 + n] == '=')
          perp_names_index(&results->pool, &columns,
                           perp_pool_printf(&results->pool, "%s.%.*s", key, (int)n, at + 1), -1);
      }
    }
  }
  for (int o = 0; o < study->option_columns.n; o++)
    perp_names_index(&results->pool, &columns, study->option_columns.text[o], -1);
  return columns;
}

void perp_results_part(const perp_ctx *ctx, const perp_results *results, int cell,
                       const char *column, char *buf, size_t size)
{
  const char *dot = strchr(column, '.');
  char key[64];
  snprintf(key, sizeof key, "%.*s", (int)(dot - column), column);
  if (strcmp(dot, ".name") != 0) {
    perp_results_option(ctx, results, cell, column, buf, size, NULL);
    return;
  }
  const int param = perp_kind_param(results->study->kind, key);
  const char *text = results->plan.cells[cell].value[param].text;
  snprintf(buf, size, "%.*s",
           (int)perp_study_name_length(&results->study->kind->params[param], text), text);
}

static void column_value(void *user, int row, int column, perp_value *value)
{
  perp_results *results = user;
  const perp_study *study = results->study;
  if (column < study->n_params)
    *value = results->plan.cells[row].value[column];
  else if (column == study->n_params)
    *value = (perp_value){ PERP_VALUE_TEXT, 0,
                           perp_cell_status_names[results->record[row].status] };
  else
    *value = (perp_value){ PERP_VALUE_NUMBER,
                           perp_results_value(results, row, column - study->n_params - 1), NULL };
}

double perp_record_share(const perp_record *rec)
{
  return rec->problems > 0 ? rec->unsolved / rec->problems : (double)NAN;
}

const char *perp_record_mark(const perp_record *rec, char buf[32])
{
  const double share = perp_record_share(rec);
  const char *name = perp_cell_status_names[rec->status];
  if (rec->status != PERP_CELL_UNSOLVED || isnan(share)) return name;
  snprintf(buf, 32, "%s %.3g %%", name, 100 * share);
  return buf;
}

bool perp_results_wins(const perp_results *results, int cell)
{
  const perp_record *rec = &results->record[cell];
  return rec->status == PERP_CELL_OK ||
         (rec->status == PERP_CELL_UNSOLVED && results->study->kind->runs &&
          perp_record_share(rec) <= results->study->accept.unsolved);
}

bool perp_results_counts(const perp_results *results, int cell)
{
  return perp_results_wins(results, cell) || results->record[cell].status == PERP_CELL_FIXED_WORK;
}

int perp_results_proved(const perp_results *results)
{
  int n = 0;
  for (int record = 0; record < results->plan.n; record++)
    n += results->record[record].status == PERP_CELL_OK &&
         strcmp(results->record[record].reason, "infeasible") == 0;
  return n;
}

static bool row_counts(void *user, int row)
{
  return perp_results_counts(user, row);
}

perp_scope perp_results_scope(const perp_ctx *ctx, perp_results *results, bool aggregates)
{
  return (perp_scope){ .ctx = ctx,
                       .columns = results->study->columns,
                       .n_columns = results->study->n_columns,
                       .aggregates = aggregates,
                       .rows = results->plan.n,
                       .value = column_value,
                       .counts = row_counts,
                       .user = results };
}

const perp_claim_result *perp_results_claims(const perp_ctx *ctx, perp_results *r)
{
  const int n = r->study->n_claims;
  perp_claim_result *results = perp_pool_alloc(&r->pool, (size_t)n, sizeof *results);
  const perp_scope scope = perp_results_scope(ctx, r, true);
  for (int result = 0; result < n; result++) {
    const perp_expr *expr = r->study->claims[result].expr;
    results[result].claim = &r->study->claims[result];
    results[result].verdict = perp_expr_undecided(expr, &scope)  ? PERP_CLAIM_UNDECIDED
                              : perp_expr_true(expr, &scope, -1) ? PERP_CLAIM_PROVED
                                                                 : PERP_CLAIM_REFUTED;
    perp_expr_sides(expr, &scope, &results[result].left, &results[result].right);
  }
  return results;
}

const char *perp_claim_sides(perp_pool *pool, const perp_claim_result *result)
{
  char left[32], right[32];
  const perp_optional *absent = perp_expr_absent(result->claim->expr);
  if (absent != NULL)
    return perp_pool_printf(pool, " [needs %s: ./perp setup %s]", absent->packages, absent->part);
  if (isnan(result->left) || isnan(result->right)) return "";
  return perp_pool_printf(pool, " [%s against %s]", perp_number(result->left, left),
                          perp_number(result->right, right));
}

const char *perp_verdict_name(perp_verdict verdict)
{
  return verdict == PERP_CLAIM_PROVED    ? "proved"
         : verdict == PERP_CLAIM_REFUTED ? "refuted"
                                         : "undecided";
}

/* ---- published figures ---- */

static const double failed_counts = 2; /* decades that a cell without a figure is off */

static int by_mismatch(const void *a, const void *b)
{
  const perp_variant *x = a, *y = b;
  if (x->mismatch != y->mismatch) return (x->mismatch > y->mismatch) - (x->mismatch < y->mismatch);
  return strcmp(x->label, y->label);
}

/* How many decades a cell is off a published figure; NaN when it has none. */
static double results_decades_off(const perp_results *results, int cell,
                                  const perp_published *figure)
{
  double ours = perp_results_value(results, cell, perp_results_metric(results, figure->metric));
  return perp_results_wins(results, cell) && isfinite(ours) ? fabs(log10(ours / figure->value))
                                                            : (double)NAN;
}

/* The parameters that no `where` of a figure mentions, of one cell. */
static const char *variant_label(perp_results *results, int cell)
{
  const perp_study *study = results->study;
  const char *label = "";
  for (int param = 0; param < study->n_params; param++) {
    bool mentioned = study->fixed[param] != NULL; /* what does not vary need not be said */
    for (int published = 0; published < study->n_published && !mentioned; published++)
      mentioned = perp_expr_mentions(study->published[published].where, param);
    if (mentioned) continue;
    const char *value = results->plan.cells[cell].value[param].text;
    label = perp_pool_printf(&results->pool, "%s%s%s", label, label[0] ? " " : "",
                             value[0] ? value : "-");
  }
  return label;
}

int perp_results_variants(const perp_ctx *ctx, perp_results *results, perp_variant **out)
{
  const perp_study *study = results->study;
  *out = NULL;
  if (study->n_published == 0) return 0;
  const perp_scope scope = perp_results_scope(ctx, results, false);
  perp_variant *list = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *list);
  perp_names labels = { 0 };
  for (int row = 0; row < results->plan.n; row++) {
    int known = labels.n,
        v = perp_names_index(&results->pool, &labels, variant_label(results, row), -1);
    if (v == known) {
      list[v].label = labels.text[v];
      list[v].cell = perp_pool_alloc(&results->pool, (size_t)study->n_published, sizeof(int));
      for (int k = 0; k < study->n_published; k++) list[v].cell[k] = -1;
    }
    for (int published = 0; published < study->n_published; published++) {
      const perp_published *figure = &study->published[published];
      int *cell = &list[v].cell[published];
      if (!perp_expr_true(figure->where, &scope, row) ||
          (figure->conditions != NULL && !perp_expr_true(figure->conditions, &scope, row)))
        continue;
      /* several cells match: the worst one stands for the variant */
      double before = *cell < 0 ? 0 : results_decades_off(results, *cell, figure);
      if (*cell < 0 || (!isnan(before) && !(results_decades_off(results, row, figure) <= before)))
        *cell = row;
    }
  }
  int kept = 0; /* variants that no figure is about say nothing */
  for (int v = 0; v < labels.n; v++) {
    int covered = 0;
    for (int published = 0; published < study->n_published; published++) {
      if (list[v].cell[published] < 0) continue;
      double miss = results_decades_off(results, list[v].cell[published],
                                        &study->published[published]);
      list[v].mismatch += miss < failed_counts ? miss : failed_counts;
      covered++;
    }
    list[v].mismatch /= covered;
    if (covered > 0) list[kept++] = list[v];
  }
  qsort(list, (size_t)kept, sizeof *list, by_mismatch);
  *out = list;
  return kept;
}
