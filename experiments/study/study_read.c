/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading a study file: YAML -> tree -> profile and --set merged -> checked study. */
#include "experiments/study/study_fields.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/study/describe.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A path of a study: from its folder, or absolute. */
static char *study_relative(const perp_study *study, const char *path)
{
  const char *slash = strrchr(study->file, '/');
  if (path[0] == '/' || slash == NULL) return perp_xstrdup(path);
  return perp_xprintf("%.*s/%s", (int)(slash - study->file), study->file, path);
}

/* Does the study lie in a results folder, which may come from anybody? */
static bool study_received(const perp_study *study)
{
  char *plan = study_relative(study, "plan.jsonl");
  const bool received = perp_exists(plan);
  free(plan);
  return received;
}

/* ---- sections ---- */

static void read_head(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "name", "title", "question", "seed", NULL };
  perp_study *study = reader->s;
  const char *schema = perp_study_text(reader, root, "schema", NULL);
  if (schema == NULL)
    PERP_WRONG(reader->diag, root, "the line 'schema: perp-study/1' is missing");
  else if (strcmp(schema, "perp-study/1") != 0)
    perp_diag_error(reader->diag, perp_tree_get(root, "schema"), 0, "use perp-study/1",
                    "unknown schema '%s'", schema);
  const perp_node *head = perp_study_section(reader, root, "study", keys);
  char *base = perp_base_name(study->file, ".yaml");
  study->name = perp_study_text(reader, head, "name", perp_pool_strdup(&study->pool, base));
  free(base);
  size_t n = strspn(study->name,
                    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+");
  if (study->name[0] == '\0' || study->name[0] == '.' || study->name[n] != '\0' || n > 100)
    perp_diag_error(reader->diag, head != NULL ? perp_tree_get(head, "name") : NULL, (int)n, NULL,
                    "the name of a study is used as a file name: only letters, digits, '-', '_', "
                    "'.' and '+' are allowed");
  study->title = perp_study_text(reader, head, "title", study->name);
  study->question = perp_study_text(reader, head, "question", "");
  const char *seed = perp_study_text(reader, head, "seed", "1");
  int64_t v = 1;
  if (perp_parse_int(reader->ctx, seed, 0, INT64_MAX, &v) != PERP_OK)
    PERP_WRONG(reader->diag, perp_tree_get(head, "seed"), "seed: %s", reader->ctx->msg);
  study->seed = (uint64_t)v;
}

static const perp_cell_kind *read_kind(perp_study_reader *reader, const perp_node *root,
                                       const perp_cell_kind *const *kinds)
{
  const char *name = perp_study_text(reader, root, "kind", NULL);
  const char *names[16];
  int n = 0;
  for (; kinds[n] != NULL && n < 16; n++) {
    names[n] = kinds[n]->name;
    if (name != NULL && strcmp(name, names[n]) == 0) return kinds[n];
    /* a section that only one kind has names the kind */
    for (int i = 0; name == NULL && kinds[n]->sections != NULL && kinds[n]->sections[i] != NULL;
         i++)
      if (perp_tree_get(root, kinds[n]->sections[i]) != NULL) return kinds[n];
  }
  if (name == NULL) return kinds[0];
  perp_study_unknown(reader->diag, perp_tree_get(root, "kind"), "kind of study", name, "", names, n,
                     NULL);
  return NULL;
}

static void read_params(perp_study_reader *reader, const perp_node *root)
{
  perp_study *study = reader->s;
  const perp_param *params = study->kind->params;
  if (perp_study_read_runs(reader, root)) return;
  const char **keys = perp_pool_alloc(&study->pool, (size_t)study->n_params + 1, sizeof *keys);
  int n = 0;
  for (int param = 0; param < study->n_params; param++)
    if (!params[param].hidden) keys[n++] = params[param].key;
  const perp_node *grid = perp_study_section(reader, root, "grid", keys);
  /* axes in the order of the file: the last one varies fastest */
  for (int g = 0; grid != NULL && g < grid->n; g++) {
    int p = perp_kind_param(study->kind, grid->key[g]->text);
    if (p < 0 || params[p].hidden) continue;
    const perp_node *outside = perp_tree_get(root, params[p].key);
    if (outside != NULL)
      PERP_WRONG(reader->diag, outside,
                 "%s is also set in the grid (line %d): remove one of the two", params[p].key,
                 grid->key[g]->line + 1);
    perp_study_read_param(reader->ctx, reader->s, reader->diag, p, grid->item[g]);
  }
  for (int p = 0; p < study->n_params; p++) {
    const perp_node *node = params[p].hidden ? NULL : perp_tree_get(root, params[p].key);
    if (node != NULL) {
      perp_study_read_param(reader->ctx, reader->s, reader->diag, p, node);
    } else if (perp_tree_get(grid, params[p].key) == NULL && study->fixed[p] == NULL &&
               perp_study_default(study, p) != NULL) {
      perp_study_fix(study, p, perp_study_default(study, p));
    }
  }
}

static void require_params(perp_study_reader *reader, const perp_node *root)
{
  perp_study *study = reader->s;
  const perp_node *grid = perp_tree_get(root, "grid");
  for (int param = 0; param < study->n_params; param++) {
    const char *key = study->kind->params[param].key;
    bool axis = perp_tree_get(root, key) != NULL || perp_tree_get(grid, key) != NULL;
    for (int a = 0; a < study->n_axes; a++) axis = axis || study->axes[a].param == param;
    if (!axis && study->fixed[param] == NULL)
      PERP_WRONG(reader->diag, root, "'%s' is missing: %s", key, study->kind->params[param].help);
  }
}

/* One more metric, which the kind knows by its name alone. */
static void add_named_text(perp_study *study, const perp_node *node)
{
  perp_metric metric;
  if (node == NULL || node->type != PERP_NODE_SCALAR || !study->kind->named(node->text, &metric) ||
      strlen(node->text) >= PERP_OUTCOME_NAME)
    return;
  for (int i = 0; i < study->n_metrics; i++)
    if (strcmp(study->metric[i].name, node->text) == 0) return;
  perp_metric *list = perp_pool_alloc(&study->pool, (size_t)study->n_metrics + 2, sizeof *list);
  memcpy(list, study->metric, (size_t)study->n_metrics * sizeof *list);
  list[study->n_metrics++] = metric;
  study->metric = list;
  study->metrics.forces = perp_pool_grown(&study->pool, study->metrics.forces,
                                          study->metrics.n_forces, sizeof *study->metrics.forces);
  study->metrics.forces[study->metrics.n_forces++] = metric.name;
}

static void add_named(perp_study *study)
{
  const perp_node *metrics = perp_tree_get(study->root, "metrics");
  if (study->kind->named == NULL || metrics == NULL || metrics->type != PERP_NODE_MAP) return;
  const perp_node *record = perp_tree_get(metrics, "record");
  add_named_text(study, perp_tree_get(metrics, "primary"));
  add_named_text(study, record);
  for (int i = 0; record != NULL && record->type == PERP_NODE_LIST && i < record->n; i++)
    add_named_text(study, record->item[i]);
}

static void make_columns(const perp_ctx *ctx, perp_study *study)
{
  study->metric = study->kind->metrics(ctx, &study->pool);
  while (study->metric[study->n_metrics].name != NULL) study->n_metrics++;
  add_named(study);
  study->columns = perp_pool_alloc(&study->pool, (size_t)(study->n_params + 1 + study->n_metrics),
                                   sizeof *study->columns);
  for (int p = 0; p < study->n_params; p++) {
    const perp_param *param = &study->kind->params[p];
    perp_column *column = &study->columns[study->n_columns++];
    column->name = param->key;
    column->unit = param->type == PERP_PARAM_REAL ? param->unit : "";
    column->kind = param->plugin;
    column->type = param->type == PERP_PARAM_PLUGIN ? PERP_COLUMN_PLUGIN
                   : param->type == PERP_PARAM_TEXT ? PERP_COLUMN_TEXT
                                                    : PERP_COLUMN_NUMBER;
  }
  study->columns[study->n_columns++] = (perp_column){ .name = "status",
                                                      .type = PERP_COLUMN_TEXT,
                                                      .choices = perp_cell_status_names };
  for (int metric = 0; metric < study->n_metrics; metric++)
    study->columns[study->n_columns++] = (perp_column){ .name = study->metric[metric].name,
                                                        .type = PERP_COLUMN_NUMBER,
                                                        .unit = study->metric[metric].unit };
}

static void read_exclude(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "where", "reason", NULL };
  const perp_node *list = perp_study_list(reader, root, "exclude");
  perp_study *study = reader->s;
  study->exclude = perp_pool_alloc(&study->pool, (size_t)list->n, sizeof *study->exclude);
  for (int i = 0; i < list->n; i++) {
    perp_exclude *exclude = &study->exclude[study->n_exclude];
    perp_study_check_keys(reader->diag, list->item[i], "exclude", keys);
    exclude->where_text = perp_study_text(reader, list->item[i], "where", "");
    exclude->reason = perp_study_text(reader, list->item[i], "reason", "");
    exclude->where = perp_study_expression(reader, list->item[i], "where", study->n_params, false);
    study->n_exclude += exclude->where != NULL;
  }
}

static void read_published(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "where", "metric", "value", "source", "conditions", NULL };
  const perp_node *list = perp_study_list(reader, root, "published");
  perp_study *study = reader->s;
  study->published = perp_pool_alloc(&study->pool, (size_t)list->n, sizeof *study->published);
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i];
    perp_published *published = &study->published[study->n_published];
    perp_study_check_keys(reader->diag, item, "published", keys);
    published->where_text = perp_study_text(reader, item, "where", "");
    published->source = perp_study_text(reader, item, "source", "");
    published->metric = perp_study_text(reader, item, "metric", "");
    if (perp_tree_get(item, "metric") == NULL)
      PERP_WRONG(reader->diag, item, "the key 'metric' is missing here");
    else
      perp_study_check_metric(reader, perp_tree_get(item, "metric"), published->metric);
    if (perp_tree_get(item, "value") == NULL)
      PERP_WRONG(reader->diag, item, "the key 'value' is missing here");
    published->value = perp_study_figure(reader, item, "value", published->metric, -HUGE_VAL,
                                         HUGE_VAL);
    published->where = perp_study_expression(reader, item, "where", study->n_params + 1, false);
    published->at = item;
    published->conditions_text = perp_study_text(reader, item, "conditions", "");
    /* results of an older perp, which did not ask for them, can still be read */
    if (perp_tree_get(item, "conditions") != NULL || !study_received(study))
      published->conditions = perp_study_expression(reader, item, "conditions", study->n_params,
                                                    false);
    study->n_published += published->where != NULL;
  }
}

static void read_claims(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "text", "expr", "paper", "conditions", NULL };
  const perp_node *list = perp_study_list(reader, root, "claims");
  perp_study *study = reader->s;
  study->claims = perp_pool_alloc(&study->pool, (size_t)list->n, sizeof *study->claims);
  for (int i = 0; i < list->n; i++) {
    perp_claim *claim = &study->claims[study->n_claims];
    perp_study_check_keys(reader->diag, list->item[i], "claims", keys);
    claim->expr_text = perp_study_text(reader, list->item[i], "expr", "");
    claim->text = perp_study_text(reader, list->item[i], "text", claim->expr_text);
    claim->expr = perp_study_expression(reader, list->item[i], "expr", study->n_columns, true);
    claim->at = list->item[i];
    claim->paper = perp_study_text(reader, claim->at, "paper", "");
    claim->conditions_text = perp_study_text(reader, claim->at, "conditions", "");
    if (claim->paper[0] != '\0' || perp_tree_get(claim->at, "conditions") != NULL)
      claim->conditions = perp_study_expression(reader, claim->at, "conditions", study->n_params,
                                                false);
    study->n_claims += claim->expr != NULL;
  }
}

/* The figures {in braces} of a sentence. */
static void read_figures(perp_study_reader *reader, const perp_node *at,
                         perp_stated_finding *finding)
{
  int n = 0;
  for (const char *s = finding->text; (s = strchr(s, '{')) != NULL; s++) n++;
  finding->figure = perp_pool_alloc(&reader->s->pool, (size_t)n + 1, sizeof(perp_expr *));
  for (const char *s = finding->text; (s = strchr(s, '{')) != NULL;) {
    const char *end = strchr(++s, '}');
    if (end == NULL) {
      perp_diag_error(reader->diag, at, (int)(s - 1 - finding->text), NULL,
                      "finding: this brace is not closed");
      return;
    }
    char *text = perp_pool_strndup(&reader->s->pool, s, (size_t)(end - s));
    perp_expr *figure = perp_study_measured(reader, at, text);
    if (figure != NULL) finding->figure[finding->n_figures++] = figure;
    s = end;
  }
}

static void read_findings(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "text", "expr", NULL };
  const perp_node *list = perp_study_list(reader, root, "finding");
  perp_study *study = reader->s;
  study->findings = perp_pool_alloc(&study->pool, (size_t)list->n + 1, sizeof *study->findings);
  for (int i = 0; i < list->n; i++) {
    perp_stated_finding *finding = &study->findings[study->n_findings];
    perp_study_check_keys(reader->diag, list->item[i], "finding", keys);
    if (perp_tree_get(list->item[i], "text") == NULL)
      PERP_WRONG(reader->diag, list->item[i], "the key 'text' is missing here");
    finding->text = perp_study_text(reader, list->item[i], "text", "");
    finding->expr_text = perp_study_text(reader, list->item[i], "expr", "");
    finding->expr = perp_study_expression(reader, list->item[i], "expr", study->n_columns, true);
    read_figures(reader, perp_tree_get(list->item[i], "text"), finding);
    study->n_findings += finding->expr != NULL;
  }
}

static void read_reference(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "method", "tol", "agree", "horizon", NULL };
  static const char *const agree_keys[] = { "with", "below", NULL };
  static const char *const methods[] = { "auto",    "closed-form",   "file",
                                         "reduced", "extrapolation", NULL };
  perp_study *study = reader->s;
  const perp_node *node = perp_study_section(reader, root, "reference", keys);
  study->reference.method = methods[perp_study_choice(reader, node, "method", methods)];
  study->reference.tol = perp_study_number(reader, node, "tol", "", 0, 1, 0);
  const perp_node *agree = perp_study_section(reader, node, "agree", agree_keys);
  study->reference.with = "";
  if (agree != NULL) {
    study->reference.with = methods[perp_study_choice(reader, agree, "with", methods)];
    study->reference.below = perp_study_number(reader, agree, "below", "", 0, 1, 1e-6);
  }
  /* the only horizon there is: the truth is valid, and two references are not yet apart (chaos) */
  static const char *const horizons[] = { "auto", NULL };
  perp_study_choice(reader, node, "horizon", horizons);
}

static void read_measure(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "repeats", "order", "clock", NULL };
  static const char *const orders[] = { "interleaved", "sequential", NULL };
  static const char *const clocks[] = { "thread-cpu", "wall", NULL };
  const perp_node *node = perp_study_section(reader, root, "measure", keys);
  perp_study *study = reader->s;
  double repeats = perp_study_number(reader, node, "repeats", "", 0, 1000, 0);
  if (repeats != floor(repeats))
    PERP_WRONG(reader->diag, perp_tree_get(node, "repeats"), "repeats must be an integer: got %g",
               repeats);
  study->measure.repeats = (int)repeats;
  study->measure.interleaved = perp_study_choice(reader, node, "order", orders) == 0;
  study->measure.thread_cpu = perp_study_choice(reader, node, "clock", clocks) == 0;
}

static void read_limits(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "timeout", "memory", NULL };
  const perp_node *node = perp_study_section(reader, root, "limits", keys);
  perp_study *study = reader->s;
  study->limits.timeout = 120;
  study->limits.memory = 2147483648.;
  const char *text = perp_study_text(reader, node, "timeout", NULL);
  if (text != NULL && perp_parse_duration(reader->ctx, text, &study->limits.timeout) != PERP_OK)
    PERP_WRONG(reader->diag, perp_tree_get(node, "timeout"), "timeout: %s", reader->ctx->msg);
  text = perp_study_text(reader, node, "memory", NULL);
  if (text != NULL && perp_parse_size(reader->ctx, text, &study->limits.memory) != PERP_OK)
    PERP_WRONG(reader->diag, perp_tree_get(node, "memory"), "memory: %s", reader->ctx->msg);
}

static void study_read_metrics(perp_study_reader *reader, const perp_node *root)
{
  static const char *const keys[] = { "primary", "record", "series", NULL };
  static const char *const series_keys[] = { "every", "fields", "forces", NULL };
  perp_study *study = reader->s;
  const perp_node *node = perp_study_section(reader, root, "metrics", keys);
  study->metrics.record = perp_study_texts(reader, node, "record", &study->metrics.n_record);
  for (int i = 0; i < study->metrics.n_record; i++)
    perp_study_check_metric(reader, perp_study_place(node, "record", i), study->metrics.record[i]);
  study->metrics.primary = perp_study_text(reader, node, "primary", NULL);
  if (study->metrics.primary != NULL)
    perp_study_check_metric(reader, perp_tree_get(node, "primary"), study->metrics.primary);
  else
    study->metrics.primary = study->metrics.n_record > 0 ? study->metrics.record[0]
                                                         : study->metric[0].name;
  const perp_node *series = perp_study_section(reader, node, "series", series_keys);
  study->metrics.series = series != NULL;
  const char *forces = perp_study_text(reader, series, "forces", "false");
  study->metrics.with_forces = strcmp(forces, "true") == 0;
  if (!study->metrics.with_forces && strcmp(forces, "false") != 0)
    PERP_WRONG(reader->diag, perp_tree_get(series, "forces"), "forces must be true or false");
  study->metrics.every = perp_study_number(reader, series, "every", "s", 0, HUGE_VAL, 0);
  study->metrics.fields = perp_study_texts(reader, series, "fields", &study->metrics.n_fields);
}

/* ---- plug-ins ---- */

static perp_study_loader loader;

void perp_register_study_loader(perp_study_loader load)
{
  loader = load;
}

/* Loads what `plugins` names, before any name of theirs is read.  The study with their places for
 * good instead, as it is copied to results folders; NULL after an error.  A study with a plan
 * beside it is in such a folder. */
static const perp_node *load_plugins(perp_study_reader *reader, const perp_node *root)
{
  perp_study *study = reader->s;
  const perp_node *list = perp_tree_get(root, "plugins"), *why = NULL;
  if (perp_study_empty(list)) return root;
  const int before = reader->diag->errors;
  int n = 0;
  const char **files = perp_study_texts(reader, root, "plugins", &n);
  if (reader->diag->errors > before) return NULL;
  const bool received = study_received(study);
  perp_node *kept = perp_pool_alloc(&study->pool, 1, sizeof *kept);
  *kept = *list;
  kept->type = PERP_NODE_LIST;
  kept->n = n;
  kept->item = perp_pool_alloc(&study->pool, (size_t)n, sizeof *kept->item);
  for (int i = 0; i < n; i++) {
    const perp_node *at = perp_study_place(root, "plugins", i);
    char *path = study_relative(study, files[i]), *place = NULL;
    const perp_status status = loader != NULL ? loader(reader->ctx, path, received, &place)
                                              : PERP_FAIL(reader->ctx, PERP_ERR_UNSUPPORTED,
                                                          "only the program perp loads plug-ins");
    free(path);
    if (status != PERP_OK) {
      perp_diag_ctx(reader->diag, at, 0, reader->ctx);
      return NULL;
    }
    kept->item[i] = perp_pool_alloc(&study->pool, 1, sizeof **kept->item);
    *kept->item[i] = *at;
    kept->item[i]->text = perp_pool_strdup(&study->pool, place);
    kept->item[i]->plain = false;
    free(place);
  }
  return perp_tree_set(&study->pool, root, "plugins", kept, &why);
}

/* ---- everything ---- */

static const char *const top_keys[] = {
  "schema",   "kind",      "study",   "plugins", "grid",    "runs",      "exclude",
  "profiles", "reference", "measure", "limits",  "metrics", "published", "claims",
  "symptoms", "replicate", "answer",  "report",  "finding", "floor",     NULL
};

static void check_top(perp_study_reader *reader, const perp_node *root)
{
  const char *keys[128];
  int n = 0;
  for (int i = 0; top_keys[i] != NULL; i++) keys[n++] = top_keys[i];
  for (int param = 0; param < reader->s->n_params; param++)
    if (!reader->s->kind->params[param].hidden) keys[n++] = reader->s->kind->params[param].key;
  for (int i = 0;
       reader->s->kind->sections != NULL && reader->s->kind->sections[i] != NULL && n < 127; i++)
    keys[n++] = reader->s->kind->sections[i];
  keys[n] = NULL;
  perp_study_check_keys(reader->diag, root, "the study", keys);
}

/* What changes a study before it is read: its profile, and --set of the command line. */

/* The study without `profiles` and with one of them merged: `wanted`, or `short` where NULL and
 * there is one.  NULL: there is no such profile (message in ctx). */
static const perp_node *study_apply_profile(perp_study_reader *reader, const perp_node *root,
                                            const char *wanted)
{
  const perp_node *profiles = perp_tree_get(root, "profiles");
  const char *name = wanted != NULL ? wanted : "short";
  if (!perp_study_empty(profiles) && profiles->type != PERP_NODE_MAP) {
    PERP_WRONG(reader->diag, profiles, "profiles must be a map of name: overrides");
    return root;
  }
  const perp_node *over = perp_study_empty(profiles) ? NULL : perp_tree_get(profiles, name);
  perp_study *study = reader->s;
  if (over == NULL && wanted != NULL && wanted[0] != '\0') {
    const char *names[32];
    int n = 0;
    for (; !perp_study_empty(profiles) && n < profiles->n && n < 32; n++)
      names[n] = profiles->key[n]->text;
    const char *close = perp_closest(wanted, names, n);
    if (n == 0)
      PERP_FAIL(reader->ctx, PERP_ERR_OPTION, "%s has no profiles", study->file);
    else
      PERP_FAIL(reader->ctx, PERP_ERR_OPTION,
                close != NULL ? "%s has no profile '%s'; did you mean '%s'?"
                              : "%s has no profile '%s'",
                study->file, wanted, close);
    return NULL;
  }
  perp_node *merged = perp_tree_without(&study->pool, root, "profiles");
  if (over == NULL) return merged;
  study->profile = perp_pool_strdup(&study->pool, name);
  if (perp_study_empty(over)) return merged;
  if (over->type != PERP_NODE_MAP) {
    PERP_WRONG(reader->diag, over, "the profile %s must be a map of overrides", name);
    return merged;
  }
  return perp_tree_merge(&study->pool, merged, over);
}

/* The study with one "key=value" merged; NULL: it cannot be (message in ctx). */
static const perp_node *study_apply_set(perp_study_reader *reader, const perp_node *root,
                                        const char *set)
{
  const char *eq = strchr(set, '=');
  perp_study *study = reader->s;
  if (eq == NULL || eq == set) {
    PERP_FAIL(reader->ctx, PERP_ERR_OPTION, "--set %s: expected key=value", set);
    return NULL;
  }
  char *path = perp_pool_strndup(&study->pool, set, (size_t)(eq - set));
  char *name = perp_pool_printf(&study->pool, "--set %s", path);
  perp_node *value = perp_tree_read(&study->pool, reader->diag, name, eq + 1, strlen(eq + 1));
  if (value == NULL) {
    PERP_FAIL(reader->ctx, PERP_ERR_OPTION, "--set %s: the value is not valid YAML", set);
    return NULL;
  }
  /* h=... means grid.h=... where h is varied */
  const perp_node *grid = perp_tree_get(root, "grid");
  if (perp_tree_get(grid, path) != NULL) path = perp_pool_printf(&study->pool, "grid.%s", path);
  const perp_node *why = NULL;
  const perp_node *merged = perp_tree_set(&study->pool, root, path, value, &why);
  if (merged == NULL)
    PERP_FAIL(reader->ctx, PERP_ERR_OPTION,
              "--set %s: line %d has a single value, so it has no keys below it", set,
              why->line + 1);
  return merged;
}

static perp_status read_all(perp_study_reader *reader, const perp_study_request *request,
                            const perp_node *root)
{
  perp_study *study = reader->s;
  if (root->type != PERP_NODE_MAP) {
    PERP_WRONG(reader->diag, root, "a study must be a map of key: value");
    return PERP_ERR_FORMAT;
  }
  if (perp_scene_file_is(root->src->text)) {
    perp_diag_error(reader->diag, root, 0, "perp simulate FILE, or scene: FILE in a study",
                    "this file is a scene, but a study is required");
    return PERP_ERR_FORMAT;
  }
  root = study_apply_profile(reader, root, request->profile);
  for (int i = 0; root != NULL && i < request->n_set; i++)
    root = study_apply_set(reader, root, request->set[i]);
  if (root == NULL) return PERP_ERR_OPTION;
  root = load_plugins(reader, root);
  if (root == NULL)
    return reader->diag->errors == reader->diag->command_line ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
  study->root = (perp_node *)(uintptr_t)root;

  const perp_cell_kind *const *kinds = request->kinds != NULL ? request->kinds
                                                              : perp_registered_kinds();
  study->kind = read_kind(reader, root, kinds);
  if (study->kind == NULL) return PERP_ERR_FORMAT;
  study->n_params = perp_kind_params(study->kind);
  /* its last parameter is one of studies with `runs` alone */
  if (perp_tree_get(root, "runs") == NULL && study->n_params > 0 &&
      strcmp(study->kind->params[study->n_params - 1].key, "run") == 0)
    study->n_params--;
  study->fixed = perp_pool_alloc(&study->pool, (size_t)study->n_params, sizeof *study->fixed);
  study->axes = perp_pool_alloc(&study->pool, (size_t)study->n_params,
                                sizeof *study->axes); /* at most all vary */
  study->fixed_at = perp_pool_alloc(&study->pool, (size_t)study->n_params, sizeof *study->fixed_at);
  study->narrowed = request->n_set > 0;
  check_top(reader, root);
  read_head(reader, root);
  make_columns(reader->ctx, study);
  read_params(reader, root);
  read_reference(reader, root);
  read_measure(reader, root);
  read_limits(reader, root);
  study_read_metrics(reader, root);
  if (perp_study_metric(study, study->metrics.primary) != NULL)
    study->floor = perp_study_figure(reader, root, "floor", study->metrics.primary, 0, HUGE_VAL);
  if (study->kind->read != NULL) study->kind->read(reader->ctx, study, reader->diag);
  require_params(reader, root);
  read_exclude(reader, root);
  read_published(reader, root);
  read_claims(reader, root);
  read_findings(reader, root);
  perp_study_read_symptoms(reader, root);
  perp_study_read_replicate(reader, root);
  perp_study_read_report(reader, root);
  perp_study_read_answer(reader, root);
  if (reader->diag->errors == 0) return PERP_OK;
  return reader->diag->errors == reader->diag->command_line ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
}

perp_status perp_study_read(perp_ctx *ctx, const perp_study_request *request, perp_diag *diag,
                            perp_study **out)
{
  *out = NULL;
  size_t size = request->text != NULL ? strlen(request->text) : 0;
  const char *why = NULL;
  char *text = request->tree != NULL   ? NULL
               : request->text != NULL ? perp_xstrdup(request->text)
                                       : perp_read_input(request->file, &size, &why);
  if (text == NULL && request->tree == NULL) {
    PERP_WRONG(diag, NULL, "cannot read %s: %s", request->file, why);
    return PERP_ERR_IO;
  }
  const int beside = perp_scene_files_beside(request->file);
  if (beside != 0) {
    PERP_WRONG(diag, NULL, "cannot read the files in scenes/ beside %s: %s", request->file,
               strerror(beside));
    free(text);
    return PERP_ERR_IO;
  }
  perp_study *study = perp_xalloc(1, sizeof *study);
  study->file = perp_pool_strdup(&study->pool, request->file);
  perp_study_reader reader = { ctx, diag, study };
  const perp_node *root = request->tree != NULL
                              ? request->tree
                              : perp_tree_read(&study->pool, diag, request->file, text, size);
  free(text);
  perp_status status = root == NULL ? PERP_ERR_FORMAT : read_all(&reader, request, root);
  if (status == PERP_ERR_OPTION && diag->errors == 0) PERP_WRONG(diag, NULL, "%s", ctx->msg);
  if (status != PERP_OK) {
    perp_study_free(study);
    return status;
  }
  *out = study;
  return PERP_OK;
}

void perp_study_free(perp_study *study)
{
  if (study == NULL) return;
  perp_pool pool = study->pool;
  free(study);
  perp_pool_free(&pool);
}

char *perp_study_find(perp_ctx *ctx, const char *name)
{
  if (strchr(name, '/') != NULL || strstr(name, ".yaml") != NULL || strstr(name, ".json") != NULL)
    return perp_xstrdup(name);
  perp_pool pool = { 0 };
  perp_study_file *files;
  int n = perp_study_files(&pool, &files);
  const char **names = perp_pool_alloc(&pool, (size_t)n + 1, sizeof *names);
  char *path = NULL;
  for (int file = 0; file < n; file++) {
    names[file] = files[file].name;
    if (strcmp(files[file].name, name) == 0) path = perp_xstrdup(files[file].path);
  }
  if (path == NULL) {
    const char *close = perp_closest(name, names, n);
    PERP_FAIL(ctx, PERP_ERR_OPTION,
              close != NULL ? "unknown study '%s'; did you mean '%s'? (perp list studies)"
                            : "unknown study '%s' (perp list studies, or the path of a file)",
              name, close);
  }
  perp_pool_free(&pool);
  return path;
}
