/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/plan.h"
#include "solvers/core/optional.h"
#include "experiments/base/files.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* ---- expressions over cells ---- */

static void cell_value(void *user, int row, int column, perp_value *value)
{
  const perp_plan_scope *scope = user;
  if (column == scope->study->n_params) {
    perp_cell_status status = scope->status != NULL ? scope->status[row] : PERP_CELL_PLANNED;
    *value = (perp_value){ PERP_VALUE_TEXT, 0, perp_cell_status_names[status] };
    return;
  }
  *value = scope->plan->cells[row].value[column];
}

void perp_plan_scope_init(const perp_ctx *ctx, perp_plan_scope *scope, const perp_study *study,
                          const perp_plan *plan, const perp_cell_status *status)
{
  *scope = (perp_plan_scope){ .scope = { .ctx = ctx,
                                         .columns = study->columns,
                                         .n_columns = study->n_params + 1,
                                         .rows = plan->n,
                                         .value = cell_value },
                              .plan = plan,
                              .status = status,
                              .study = study };
  scope->scope.user = scope;
}

/* ---- the grid ---- */

static void cell_id(const perp_study *study, perp_cell *cell)
{
  perp_text text = { 0 };
  perp_text_add(&text, "kind=%s\n", study->kind->name);
  for (int param = 0; param < study->n_params; param++)
    if (cell->value[param].text[0] !=
        '\0') /* a parameter that is added later does not rename old cells */
      perp_text_add(&text, "%s=%s\n", study->kind->params[param].key, cell->value[param].text);
  snprintf(cell->id, sizeof cell->id, "%016llx",
           (unsigned long long)perp_hash64(text.s, text.n, 0));
  perp_text_free(&text);
}

static bool same_values(const perp_study *study, const perp_cell *a, const perp_cell *b)
{
  for (int param = 0; param < study->n_params; param++)
    if (strcmp(a->value[param].text, b->value[param].text) != 0) return false;
  return true;
}

static int drop_of(perp_plan *plan, int param, const char *why)
{
  int drop = 0;
  while (drop < plan->n_drops &&
         (plan->drops[drop].param != param || strcmp(plan->drops[drop].why, why) != 0))
    drop++;
  if (drop == plan->n_drops) {
    plan->drops = perp_pool_grown(&plan->pool, plan->drops, drop, sizeof *plan->drops);
    plan->drops[plan->n_drops++] = (perp_drop){ param, perp_pool_strdup(&plan->pool, why), 0 };
  }
  plan->drops[drop].combinations++;
  return drop;
}

/* Counts a combination that names a plug-in which this perp was built without. */
static bool plan_left_out(const perp_ctx *ctx, const perp_study *study, perp_plan *plan,
                          const int *index, const perp_cell *cell)
{
  const perp_optional *optional = NULL;
  for (int p = 0; p < study->n_params && optional == NULL; p++)
    if (study->kind->params[p].type == PERP_PARAM_PLUGIN && cell->value[p].text[0] != '\0')
      optional = perp_optional_absent(ctx, study->kind->params[p].plugin, cell->value[p].text);
  if (optional == NULL) return false;
  int absent = 0;
  while (absent < plan->n_absent && strcmp(plan->absent[absent].part, optional->part) != 0)
    absent++;
  if (absent == plan->n_absent) {
    plan->absent = perp_pool_grown(&plan->pool, plan->absent, absent, sizeof *plan->absent);
    plan->absent[plan->n_absent++] = (perp_plan_absent){ optional->part, 0 };
  }
  plan->absent[absent].combinations++;
  for (int param = 0; param < study->n_params; param++) plan->use[param][index[param]].used = true;
  return true;
}

static void make_uses(const perp_study *study, perp_plan *plan)
{
  plan->use = perp_pool_alloc(&plan->pool, (size_t)study->n_params, sizeof *plan->use);
  for (int param = 0; param < study->n_params; param++) {
    int n = 1;
    for (int axis = 0; axis < study->n_axes; axis++)
      if (study->axes[axis].param == param) n = study->axes[axis].n;
    plan->use[param] = perp_pool_alloc(&plan->pool, (size_t)n, sizeof **plan->use);
    for (int i = 0; i < n; i++) plan->use[param][i].drop = -1;
  }
}

/* What the kind says has no effect is counted, what has one is used.  index [n_params]: which value
 * each has. */
static void plan_canonical(perp_ctx *ctx, const perp_study *study, perp_plan *plan,
                           const int *index, void **memory, char (*why)[PERP_WHY_MAX],
                           perp_cell *cell)
{
  for (int param = 0; param < study->n_params; param++) why[param][0] = '\0';
  if (study->kind->canonical != NULL)
    study->kind->canonical(ctx, study, &plan->pool, memory, cell->value, why);
  for (int param = 0; param < study->n_params; param++) {
    perp_value_use *use = &plan->use[param][index[param]];
    use->combinations++;
    if (why[param][0] == '\0')
      use->used = true;
    else
      use->drop = drop_of(plan, param, why[param]);
  }
}

static int64_t run_set_cells(const perp_study *study, const perp_run_set *set)
{
  int64_t n = 1;
  for (int p = 0; p < study->n_params && n <= PERP_CELLS_MAX; p++) n *= set->n[p];
  return n;
}

/* Combinations of the study, or a number above PERP_CELLS_MAX. */
static int64_t plan_combinations(const perp_study *study)
{
  int64_t n = study->n_runs > 0 ? 0 : 1;
  for (int run = 0; run < study->n_runs && n <= PERP_CELLS_MAX; run++)
    n += run_set_cells(study, &study->runs[run]);
  for (int a = 0; a < study->n_axes && study->n_runs == 0 && n <= PERP_CELLS_MAX; a++)
    n *= study->axes[a].n;
  return n;
}

/* Combination k, the last axis fastest: values of the cell, and index [n_params] into the axes. */
static void plan_combination(const perp_study *study, int64_t k, int *index, perp_cell *cell)
{
  const perp_run_set *set = NULL;
  for (int run = 0; run < study->n_runs && set == NULL; run++) {
    const int64_t n = run_set_cells(study, &study->runs[run]);
    if (k < n)
      set = &study->runs[run];
    else
      k -= n;
  }
  for (int param = 0; param < study->n_params; param++)
    if (study->fixed[param] != NULL) cell->value[param] = *study->fixed[param];
  for (int a = study->n_axes - 1; a >= 0; a--) {
    const perp_axis *axis = &study->axes[a];
    const int p = axis->param, n = set != NULL ? set->n[p] : axis->n, i = (int)(k % n);
    index[p] = set != NULL ? set->value[p][i] : i;
    cell->value[p] = axis->value[index[p]];
    k /= n;
  }
}

perp_status perp_plan_make(perp_ctx *ctx, const perp_study *study, perp_plan *plan)
{
  *plan = (perp_plan){ .combinations = plan_combinations(study) };
  if (plan->combinations > PERP_CELLS_MAX)
    return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                     "the grid has more than %d combinations: shorten its lists", PERP_CELLS_MAX);
  int total = (int)plan->combinations;
  plan->cells = perp_pool_alloc(&plan->pool, (size_t)total, sizeof *plan->cells);
  plan->excluded = perp_pool_alloc(&plan->pool, (size_t)study->n_exclude + 1,
                                   sizeof *plan->excluded);
  perp_plan_scope scope;
  perp_plan_scope_init(ctx, &scope, study, plan, NULL);
  bool divided = false;
  scope.scope.divided = &divided;
  perp_ctx quiet = *ctx;
  perp_status status = PERP_OK;
  void *memory = NULL;
  json_t *known = json_object(); /* id -> index of its cell */
  int *index = perp_pool_alloc(&plan->pool, (size_t)study->n_params, sizeof *index);
  char(*why)[PERP_WHY_MAX] = perp_pool_alloc(&plan->pool, (size_t)study->n_params, sizeof *why);
  make_uses(study, plan);
  perp_value *value = NULL; /* of a combination; one that is left out lends it to the next */
  for (int k = 0; k < total && status == PERP_OK; k++) {
    perp_cell *cell = &plan->cells[plan->n];
    if (value == NULL) value = perp_pool_alloc(&plan->pool, (size_t)study->n_params, sizeof *value);
    cell->value = value;
    plan_combination(study, k, index, cell);
    /* excludes see the combination as it is written, before parts that are not used are dropped */
    int rule = 0;
    while (rule < study->n_exclude &&
           !perp_expr_true(study->exclude[rule].where, &scope.scope, plan->n))
      rule++;
    if (divided) {
      status = PERP_FAIL(ctx, PERP_ERR_FORMAT,
                         "%s: exclude, where: %s: this divides by 0 for a combination of the grid",
                         study->file,
                         study->exclude[rule < study->n_exclude ? rule : 0].where_text);
      break;
    }
    if (rule < study->n_exclude) {
      plan->excluded[rule]++;
      continue;
    }
    if (plan_left_out(&quiet, study, plan, index, cell)) continue;
    plan_canonical(&quiet, study, plan, index, &memory, why, cell);
    cell_id(study, cell);
    const json_t *same = json_object_get(known, cell->id);
    if (same == NULL) {
      json_object_set_new(known, cell->id, json_integer(plan->n++));
      value = NULL;
    } else if (same_values(study, &plan->cells[json_integer_value(same)], cell)) {
      plan->duplicates++;
    } else {
      status = PERP_FAIL(ctx, PERP_ERR_INTERNAL,
                         "two different runs have the id %s: change a value of the grid slightly",
                         cell->id);
    }
  }
  json_decref(known);
  if (status != PERP_OK) perp_plan_free(plan);
  return status;
}

void perp_plan_free(perp_plan *plan)
{
  perp_pool_free(&plan->pool);
  *plan = (perp_plan){ 0 };
}

int perp_plan_find(const perp_plan *plan, const char *id)
{
  int found = -1;
  size_t n = strlen(id);
  if (n == 0) return -1;
  for (int cell = 0; cell < plan->n; cell++) {
    if (strncmp(plan->cells[cell].id, id, n) != 0) continue;
    if (found >= 0) return -2;
    found = cell;
  }
  return found;
}

double perp_cell_work(const perp_study *study, const perp_cell *cell)
{
  return study->kind->work != NULL ? study->kind->work(study, cell) : 1;
}

void perp_cell_label(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  for (int axis = 0; axis < study->n_axes; axis++) {
    int param = study->axes[axis].param;
    perp_text_add(out, "%s%s=%s", axis > 0 ? " " : "", study->kind->params[param].key,
                  cell->value[param].text[0] ? cell->value[param].text : "-");
  }
  if (study->n_axes == 0) perp_text_add(out, "%s", study->name);
}

void perp_cell_json(perp_json *json, const perp_study *study, const perp_cell *cell)
{
  for (int param = 0; param < study->n_params; param++)
    if (cell->value[param].type != PERP_VALUE_MISSING)
      perp_param_json(json, study->kind->params[param].key, &cell->value[param]);
}

/* ---- plan.jsonl ---- */

perp_status perp_plan_write(perp_ctx *ctx, const char *path, const perp_study *study,
                            const perp_plan *plan, const perp_selection *selection)
{
  perp_out out;
  PERP_TRY(perp_out_open(ctx, path, &out));
  perp_json json = { .out = out.f };
  perp_json_object(&json, NULL,
                   "plan %s, schema %d, study %s, kind %s, profile %s, only %s, skip %s, shard %s, "
                   "plugins %s, cells %d",
                   "perp-plan/2", selection->schema > 0 ? selection->schema : PERP_RESULTS_SCHEMA,
                   study->name, study->kind->name, study->profile, selection->only, selection->skip,
                   selection->shard, selection->plugins, plan->n);
  for (int cell = 0; cell < plan->n; cell++) {
    perp_json_members(&json, "{ cell %s", plan->cells[cell].id);
    perp_cell_json(&json, study, &plan->cells[cell]);
    perp_json_close(&json, '}');
  }
  return perp_out_close(ctx, &out, true);
}

perp_status perp_schema_unknown(perp_ctx *ctx, const char *path, int schema)
{
  return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                   "%s: the results have schema %d, but this perp reads schemas up to %d. Use the "
                   "version of perp that wrote them.",
                   path, schema, PERP_RESULTS_SCHEMA);
}

const char *perp_json_kept(perp_pool *pool, const json_t *object, const char *key, const char *none)
{
  const char *text = json_string_value(json_object_get(object, key));
  return text != NULL ? perp_pool_strdup(pool, text) : none;
}

/* The value of a parameter of a line; perp-plan/1 has numbers as texts.  false: a number
 * that is none. */
static bool plan_load_value(perp_plan *plan, const perp_param *param, const json_t *json,
                            perp_value *value)
{
  char text[40];
  const bool number = param->type == PERP_PARAM_REAL || param->type == PERP_PARAM_INT;
  if (json_is_number(json)) {
    perp_param_format(param, json_number_value(json), text, sizeof text);
    *value = perp_param_value(param, perp_pool_strdup(&plan->pool, text));
  } else {
    const char *kept = json_string_value(json);
    *value = perp_param_value(param, kept != NULL ? perp_pool_strdup(&plan->pool, kept) : "");
  }
  return !number || value->type != PERP_VALUE_TEXT;
}

static perp_status load_line(perp_ctx *ctx, const char *path, int line, const char *text, size_t n,
                             const perp_study *study, perp_plan *plan, perp_selection *selection)
{
  json_t *object = perp_json_read(text, n);
  perp_status status = PERP_OK;
  const char *id = json_string_value(json_object_get(object, "cell"));
  if (line == 1) {
    const char *mark = json_string_value(json_object_get(object, "plan"));
    const bool known = mark != NULL &&
                       (strcmp(mark, "perp-plan/1") == 0 || strcmp(mark, "perp-plan/2") == 0);
    if (!known && mark != NULL && strncmp(mark, "perp-plan/", 10) == 0)
      status = PERP_FAIL(ctx, PERP_ERR_FORMAT,
                         "%s: the plan has the format %s, but this perp reads perp-plan/1 and "
                         "perp-plan/2. Use the version of perp that wrote it.",
                         path, mark);
    else if (!known)
      status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: line 1 is not the head of a plan", path);
    const json_t *schema = json_object_get(object, "schema");
    selection->schema = json_is_integer(schema) ? (int)json_integer_value(schema) : 1;
    if (status == PERP_OK && selection->schema > PERP_RESULTS_SCHEMA)
      status = perp_schema_unknown(ctx, path, selection->schema);
    selection->only = perp_json_kept(&plan->pool, object, "only", NULL);
    selection->skip = perp_json_kept(&plan->pool, object, "skip", NULL);
    selection->shard = perp_json_kept(&plan->pool, object, "shard", NULL);
    selection->plugins = perp_json_kept(&plan->pool, object, "plugins", NULL);
  } else if (id == NULL || strlen(id) != 16)
    status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: the line does not describe a run", path, line);
  else {
    perp_cell *cell = &plan->cells[plan->n++];
    snprintf(cell->id, sizeof cell->id, "%s", id);
    cell->value = perp_pool_alloc(&plan->pool, (size_t)study->n_params, sizeof *cell->value);
    for (int param = 0; param < study->n_params && status == PERP_OK; param++)
      if (!plan_load_value(plan, &study->kind->params[param],
                           json_object_get(object, study->kind->params[param].key),
                           &cell->value[param]))
        status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s:%d: %s must be a number", path, line,
                           study->kind->params[param].key);
  }
  json_decref(object);
  return status;
}

perp_status perp_plan_load(perp_ctx *ctx, const char *path, const perp_study *study,
                           perp_plan *plan, perp_selection *selection)
{
  *plan = (perp_plan){ 0 };
  *selection = (perp_selection){ 0 };
  size_t size = 0;
  char *text = perp_read_file(path, &size);
  if (text == NULL)
    return PERP_FAIL(ctx, perp_input_status(errno), "cannot read %s: %s", path,
                     perp_input_why(errno));
  size_t lines = 1;
  for (size_t i = 0; i < size; i++) lines += text[i] == '\n';
  plan->cells = perp_pool_alloc(&plan->pool, lines, sizeof *plan->cells);
  plan->excluded = perp_pool_alloc(&plan->pool, (size_t)study->n_exclude + 1,
                                   sizeof *plan->excluded);
  perp_status status = PERP_OK;
  int line = 0;
  for (char *at = text; *at != '\0' && status == PERP_OK;) {
    size_t n = strcspn(at, "\n");
    status = load_line(ctx, path, ++line, at, n, study, plan, selection);
    at += n + (at[n] == '\n');
  }
  if (status == PERP_OK && line == 0) status = PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s is empty", path);
  free(text);
  if (status != PERP_OK) perp_plan_free(plan);
  return status;
}
