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
static char *study_relative(const perp_study *s, const char *path)
{
  const char *slash = strrchr(s->file, '/');
  if (path[0] == '/' || slash == NULL) return perp_xstrdup(path);
  return perp_xprintf("%.*s/%s", (int)(slash - s->file), s->file, path);
}

/* Does the study lie in a results folder, which may come from anybody? */
static bool study_received(const perp_study *s)
{
  char *plan = study_relative(s, "plan.jsonl");
  const bool received = perp_exists(plan);
  free(plan);
  return received;
}

/* ---- sections ---- */

static void read_head(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "name", "title", "question", "seed", NULL };
  perp_study *s = r->s;
  const char *schema = perp_study_text(r, root, "schema", NULL);
  if (schema == NULL)
    PERP_WRONG(r->diag, root, "the line 'schema: perp-study/1' is missing");
  else if (strcmp(schema, "perp-study/1") != 0)
    perp_diag_error(r->diag, perp_tree_get(root, "schema"), 0, "use perp-study/1",
                    "unknown schema '%s'", schema);
  const perp_node *head = perp_study_section(r, root, "study", keys);
  char *base = perp_base_name(s->file, ".yaml");
  s->name = perp_study_text(r, head, "name", perp_pool_strdup(&s->pool, base));
  free(base);
  size_t n = strspn(s->name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.+");
  if (s->name[0] == '\0' || s->name[0] == '.' || s->name[n] != '\0' || n > 100)
    perp_diag_error(r->diag, head != NULL ? perp_tree_get(head, "name") : NULL, (int)n, NULL,
                    "the name of a study is used as a file name: only letters, digits, '-', '_', "
                    "'.' and '+' are allowed");
  s->title = perp_study_text(r, head, "title", s->name);
  s->question = perp_study_text(r, head, "question", "");
  const char *seed = perp_study_text(r, head, "seed", "1");
  int64_t v = 1;
  if (perp_parse_int(r->ctx, seed, 0, INT64_MAX, &v) != PERP_OK)
    PERP_WRONG(r->diag, perp_tree_get(head, "seed"), "seed: %s", r->ctx->msg);
  s->seed = (uint64_t)v;
}

static const perp_cell_kind *read_kind(perp_study_reader *r, const perp_node *root,
                                       const perp_cell_kind *const *kinds)
{
  const char *name = perp_study_text(r, root, "kind", NULL);
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
  perp_study_unknown(r->diag, perp_tree_get(root, "kind"), "kind of study", name, "", names, n,
                     NULL);
  return NULL;
}

static void read_params(perp_study_reader *r, const perp_node *root)
{
  perp_study *s = r->s;
  const perp_param *params = s->kind->params;
  if (perp_study_read_runs(r, root)) return;
  const char **keys = perp_pool_alloc(&s->pool, (size_t)s->n_params + 1, sizeof *keys);
  int n = 0;
  for (int i = 0; i < s->n_params; i++)
    if (!params[i].hidden) keys[n++] = params[i].key;
  const perp_node *grid = perp_study_section(r, root, "grid", keys);
  /* axes in the order of the file: the last one varies fastest */
  for (int g = 0; grid != NULL && g < grid->n; g++) {
    int p = perp_kind_param(s->kind, grid->key[g]->text);
    if (p < 0 || params[p].hidden) continue;
    const perp_node *outside = perp_tree_get(root, params[p].key);
    if (outside != NULL)
      PERP_WRONG(r->diag, outside, "%s is also set in the grid (line %d): remove one of the two",
                 params[p].key, grid->key[g]->line + 1);
    perp_study_read_param(r->ctx, r->s, r->diag, p, grid->item[g]);
  }
  for (int p = 0; p < s->n_params; p++) {
    const perp_node *node = params[p].hidden ? NULL : perp_tree_get(root, params[p].key);
    if (node != NULL) {
      perp_study_read_param(r->ctx, r->s, r->diag, p, node);
    } else if (perp_tree_get(grid, params[p].key) == NULL && s->fixed[p] == NULL &&
               perp_study_default(s, p) != NULL) {
      perp_study_fix(s, p, perp_study_default(s, p));
    }
  }
}

static void require_params(perp_study_reader *r, const perp_node *root)
{
  perp_study *s = r->s;
  const perp_node *grid = perp_tree_get(root, "grid");
  for (int p = 0; p < s->n_params; p++) {
    const char *key = s->kind->params[p].key;
    bool axis = perp_tree_get(root, key) != NULL || perp_tree_get(grid, key) != NULL;
    for (int a = 0; a < s->n_axes; a++) axis = axis || s->axes[a].param == p;
    if (!axis && s->fixed[p] == NULL)
      PERP_WRONG(r->diag, root, "'%s' is missing: %s", key, s->kind->params[p].help);
  }
}

static void make_columns(const perp_ctx *ctx, perp_study *s)
{
  s->metric = s->kind->metrics(ctx, &s->pool);
  while (s->metric[s->n_metrics].name != NULL) s->n_metrics++;
  s->columns = perp_pool_alloc(&s->pool, (size_t)(s->n_params + 1 + s->n_metrics),
                               sizeof *s->columns);
  for (int p = 0; p < s->n_params; p++) {
    const perp_param *q = &s->kind->params[p];
    perp_column *c = &s->columns[s->n_columns++];
    c->name = q->key;
    c->unit = q->type == PERP_PARAM_REAL ? q->unit : "";
    c->kind = q->plugin;
    c->type = q->type == PERP_PARAM_PLUGIN ? PERP_COLUMN_PLUGIN
              : q->type == PERP_PARAM_TEXT ? PERP_COLUMN_TEXT
                                           : PERP_COLUMN_NUMBER;
  }
  s->columns[s->n_columns++] = (perp_column){ .name = "status",
                                              .type = PERP_COLUMN_TEXT,
                                              .choices = perp_cell_status_names };
  for (int m = 0; m < s->n_metrics; m++)
    s->columns[s->n_columns++] = (perp_column){ .name = s->metric[m].name,
                                                .type = PERP_COLUMN_NUMBER,
                                                .unit = s->metric[m].unit };
}

static void read_exclude(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "where", "reason", NULL };
  const perp_node *list = perp_study_list(r, root, "exclude");
  perp_study *s = r->s;
  s->exclude = perp_pool_alloc(&s->pool, (size_t)list->n, sizeof *s->exclude);
  for (int i = 0; i < list->n; i++) {
    perp_exclude *e = &s->exclude[s->n_exclude];
    perp_study_check_keys(r->diag, list->item[i], "exclude", keys);
    e->where_text = perp_study_text(r, list->item[i], "where", "");
    e->reason = perp_study_text(r, list->item[i], "reason", "");
    e->where = perp_study_expression(r, list->item[i], "where", s->n_params, false);
    s->n_exclude += e->where != NULL;
  }
}

static void read_published(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "where", "metric", "value", "source", "conditions", NULL };
  const perp_node *list = perp_study_list(r, root, "published");
  perp_study *s = r->s;
  s->published = perp_pool_alloc(&s->pool, (size_t)list->n, sizeof *s->published);
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i];
    perp_published *p = &s->published[s->n_published];
    perp_study_check_keys(r->diag, item, "published", keys);
    p->where_text = perp_study_text(r, item, "where", "");
    p->source = perp_study_text(r, item, "source", "");
    p->metric = perp_study_text(r, item, "metric", "");
    if (perp_tree_get(item, "metric") == NULL)
      PERP_WRONG(r->diag, item, "the key 'metric' is missing here");
    else
      perp_study_check_metric(r, perp_tree_get(item, "metric"), p->metric);
    if (perp_tree_get(item, "value") == NULL)
      PERP_WRONG(r->diag, item, "the key 'value' is missing here");
    p->value = perp_study_figure(r, item, "value", p->metric, -HUGE_VAL, HUGE_VAL);
    p->where = perp_study_expression(r, item, "where", s->n_params + 1, false);
    p->at = item;
    p->conditions_text = perp_study_text(r, item, "conditions", "");
    /* results of an older perp, which did not ask for them, can still be read */
    if (perp_tree_get(item, "conditions") != NULL || !study_received(s))
      p->conditions = perp_study_expression(r, item, "conditions", s->n_params, false);
    s->n_published += p->where != NULL;
  }
}

static void read_claims(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "text", "expr", "paper", "conditions", NULL };
  const perp_node *list = perp_study_list(r, root, "claims");
  perp_study *s = r->s;
  s->claims = perp_pool_alloc(&s->pool, (size_t)list->n, sizeof *s->claims);
  for (int i = 0; i < list->n; i++) {
    perp_claim *c = &s->claims[s->n_claims];
    perp_study_check_keys(r->diag, list->item[i], "claims", keys);
    c->expr_text = perp_study_text(r, list->item[i], "expr", "");
    c->text = perp_study_text(r, list->item[i], "text", c->expr_text);
    c->expr = perp_study_expression(r, list->item[i], "expr", s->n_columns, true);
    c->at = list->item[i];
    c->paper = perp_study_text(r, c->at, "paper", "");
    c->conditions_text = perp_study_text(r, c->at, "conditions", "");
    if (c->paper[0] != '\0' || perp_tree_get(c->at, "conditions") != NULL)
      c->conditions = perp_study_expression(r, c->at, "conditions", s->n_params, false);
    s->n_claims += c->expr != NULL;
  }
}

static void read_reference(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "method", "tol", "agree", "horizon", NULL };
  static const char *const agree_keys[] = { "with", "below", NULL };
  static const char *const methods[] = { "auto",    "closed-form",   "file",
                                         "reduced", "extrapolation", NULL };
  perp_study *s = r->s;
  const perp_node *node = perp_study_section(r, root, "reference", keys);
  s->reference.method = methods[perp_study_choice(r, node, "method", methods)];
  s->reference.tol = perp_study_number(r, node, "tol", "", 0, 1, 0);
  const perp_node *agree = perp_study_section(r, node, "agree", agree_keys);
  s->reference.with = "";
  if (agree != NULL) {
    s->reference.with = methods[perp_study_choice(r, agree, "with", methods)];
    s->reference.below = perp_study_number(r, agree, "below", "", 0, 1, 1e-6);
  }
  /* the only horizon there is: the truth is valid, and two references are not yet apart (chaos) */
  static const char *const horizons[] = { "auto", NULL };
  perp_study_choice(r, node, "horizon", horizons);
}

static void read_measure(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "repeats", "order", "clock", NULL };
  static const char *const orders[] = { "interleaved", "sequential", NULL };
  static const char *const clocks[] = { "thread-cpu", "wall", NULL };
  const perp_node *node = perp_study_section(r, root, "measure", keys);
  perp_study *s = r->s;
  double repeats = perp_study_number(r, node, "repeats", "", 0, 1000, 0);
  if (repeats != floor(repeats))
    PERP_WRONG(r->diag, perp_tree_get(node, "repeats"), "repeats must be an integer: got %g",
               repeats);
  s->measure.repeats = (int)repeats;
  s->measure.interleaved = perp_study_choice(r, node, "order", orders) == 0;
  s->measure.thread_cpu = perp_study_choice(r, node, "clock", clocks) == 0;
}

static void read_limits(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "timeout", "memory", NULL };
  const perp_node *node = perp_study_section(r, root, "limits", keys);
  perp_study *s = r->s;
  s->limits.timeout = 120;
  s->limits.memory = 2147483648.;
  const char *text = perp_study_text(r, node, "timeout", NULL);
  if (text != NULL && perp_parse_duration(r->ctx, text, &s->limits.timeout) != PERP_OK)
    PERP_WRONG(r->diag, perp_tree_get(node, "timeout"), "timeout: %s", r->ctx->msg);
  text = perp_study_text(r, node, "memory", NULL);
  if (text != NULL && perp_parse_size(r->ctx, text, &s->limits.memory) != PERP_OK)
    PERP_WRONG(r->diag, perp_tree_get(node, "memory"), "memory: %s", r->ctx->msg);
}

static void study_read_metrics(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "primary", "record", "series", NULL };
  static const char *const series_keys[] = { "every", "fields", NULL };
  perp_study *s = r->s;
  const perp_node *node = perp_study_section(r, root, "metrics", keys);
  s->metrics.record = perp_study_texts(r, node, "record", &s->metrics.n_record);
  for (int i = 0; i < s->metrics.n_record; i++)
    perp_study_check_metric(r, perp_study_place(node, "record", i), s->metrics.record[i]);
  s->metrics.primary = perp_study_text(r, node, "primary", NULL);
  if (s->metrics.primary != NULL)
    perp_study_check_metric(r, perp_tree_get(node, "primary"), s->metrics.primary);
  else
    s->metrics.primary = s->metrics.n_record > 0 ? s->metrics.record[0] : s->metric[0].name;
  const perp_node *series = perp_study_section(r, node, "series", series_keys);
  s->metrics.series = series != NULL;
  s->metrics.every = perp_study_number(r, series, "every", "s", 0, HUGE_VAL, 0);
  s->metrics.fields = perp_study_texts(r, series, "fields", &s->metrics.n_fields);
}

const perp_plot_name perp_plot_names[] = {
  { "work-precision", "Error against work; points are joined in the order of h or tolerance" },
  { "convergence", "Error against h, with the observed order" },
  { "drift-vs-time", "Constraint error over time" },
  { "energy-vs-time", "Energy over time" },
  { "stability-map", "Runs that complete, over two parameters" },
  { "replay", "Motion; several runs overlaid" },
  { "time-vs-n", "CPU time against size, with the fitted exponent" },
  { "performance-profile",
    "Performance profile: share of problems solved within a factor of the best (Dolan and More)" },
  { "data-profile",
    "Data profile: share of problems solved within a budget of work (More and Wild)" },
  { "ecdf-targets", "Share of pairs of problem and target solved within a cost" },
  { "failure-matrix", "Outcome of the runs, with causes; for simulations with a parameter, as in "
                      "failure-matrix(engine)" },
  { "residual-history", "Residual against the iteration" },
  { "series", "Any recorded field over time" },
  { NULL, NULL }
};

static void read_report(perp_study_reader *r, const perp_node *root)
{
  static const char *const keys[] = { "plots", "tables", "summary", NULL };
  perp_study *s = r->s;
  const perp_node *node = perp_study_section(r, root, "report", keys);
  s->report.plots = perp_study_texts(r, node, "plots", &s->report.n_plots);
  s->report.summary_text = perp_study_text(r, node, "summary", NULL);
  if (s->report.summary_text != NULL)
    s->report.summary = perp_study_expression(r, node, "summary", s->n_columns, false);
  s->report.tables = perp_study_texts(r, node, "tables", &s->report.n_tables);
  for (int i = 0; i < s->report.n_plots; i++) {
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(s->report.plots[i], "("), s->report.plots[i]);
    const char *plots[32];
    int n = 0;
    bool known = false;
    for (; perp_plot_names[n].name != NULL && n < 32; n++) {
      plots[n] = perp_plot_names[n].name;
      known = known || strcmp(plots[n], name) == 0;
    }
    if (!known)
      perp_study_unknown(r->diag, perp_study_place(node, "plots", i), "plot", name, "", plots, n,
                         NULL);
  }
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
static const perp_node *load_plugins(perp_study_reader *r, const perp_node *root)
{
  perp_study *s = r->s;
  const perp_node *list = perp_tree_get(root, "plugins"), *why = NULL;
  if (perp_study_empty(list)) return root;
  const int before = r->diag->errors;
  int n = 0;
  const char **files = perp_study_texts(r, root, "plugins", &n);
  if (r->diag->errors > before) return NULL;
  const bool received = study_received(s);
  perp_node *kept = perp_pool_alloc(&s->pool, 1, sizeof *kept);
  *kept = *list;
  kept->type = PERP_NODE_LIST;
  kept->n = n;
  kept->item = perp_pool_alloc(&s->pool, (size_t)n, sizeof *kept->item);
  for (int i = 0; i < n; i++) {
    const perp_node *at = perp_study_place(root, "plugins", i);
    char *path = study_relative(s, files[i]), *place = NULL;
    const perp_status status = loader != NULL ? loader(r->ctx, path, received, &place)
                                              : PERP_FAIL(r->ctx, PERP_ERR_UNSUPPORTED,
                                                          "only the program perp loads plug-ins");
    free(path);
    if (status != PERP_OK) {
      perp_diag_ctx(r->diag, at, 0, r->ctx);
      return NULL;
    }
    kept->item[i] = perp_pool_alloc(&s->pool, 1, sizeof **kept->item);
    *kept->item[i] = *at;
    kept->item[i]->text = perp_pool_strdup(&s->pool, place);
    kept->item[i]->plain = false;
    free(place);
  }
  return perp_tree_set(&s->pool, root, "plugins", kept, &why);
}

/* ---- everything ---- */

static const char *const top_keys[] = { "schema",    "kind",    "study",    "plugins",
                                        "grid",      "runs",    "exclude",  "profiles",
                                        "reference", "measure", "limits",   "metrics",
                                        "published", "claims",  "symptoms", "replicate",
                                        "answer",    "report",  NULL };

static void check_top(perp_study_reader *r, const perp_node *root)
{
  const char *keys[128];
  int n = 0;
  for (int i = 0; top_keys[i] != NULL; i++) keys[n++] = top_keys[i];
  for (int i = 0; i < r->s->n_params; i++)
    if (!r->s->kind->params[i].hidden) keys[n++] = r->s->kind->params[i].key;
  for (int i = 0; r->s->kind->sections != NULL && r->s->kind->sections[i] != NULL && n < 127; i++)
    keys[n++] = r->s->kind->sections[i];
  keys[n] = NULL;
  perp_study_check_keys(r->diag, root, "the study", keys);
}

/* What changes a study before it is read: its profile, and --set of the command line. */

/* The study without `profiles` and with one of them merged: `wanted`, or `short` where NULL and
 * there is one.  NULL: there is no such profile (message in ctx). */
static const perp_node *study_apply_profile(perp_study_reader *r, const perp_node *root,
                                            const char *wanted)
{
  const perp_node *profiles = perp_tree_get(root, "profiles");
  const char *name = wanted != NULL ? wanted : "short";
  if (!perp_study_empty(profiles) && profiles->type != PERP_NODE_MAP) {
    PERP_WRONG(r->diag, profiles, "profiles must be a map of name: overrides");
    return root;
  }
  const perp_node *over = perp_study_empty(profiles) ? NULL : perp_tree_get(profiles, name);
  perp_study *s = r->s;
  if (over == NULL && wanted != NULL && wanted[0] != '\0') {
    const char *names[32];
    int n = 0;
    for (; !perp_study_empty(profiles) && n < profiles->n && n < 32; n++)
      names[n] = profiles->key[n]->text;
    const char *close = perp_closest(wanted, names, n);
    if (n == 0)
      PERP_FAIL(r->ctx, PERP_ERR_OPTION, "%s has no profiles", s->file);
    else
      PERP_FAIL(r->ctx, PERP_ERR_OPTION,
                close != NULL ? "%s has no profile '%s'; did you mean '%s'?"
                              : "%s has no profile '%s'",
                s->file, wanted, close);
    return NULL;
  }
  perp_node *merged = perp_tree_without(&s->pool, root, "profiles");
  if (over == NULL) return merged;
  s->profile = perp_pool_strdup(&s->pool, name);
  if (perp_study_empty(over)) return merged;
  if (over->type != PERP_NODE_MAP) {
    PERP_WRONG(r->diag, over, "the profile %s must be a map of overrides", name);
    return merged;
  }
  return perp_tree_merge(&s->pool, merged, over);
}

/* The study with one "key=value" merged; NULL: it cannot be (message in ctx). */
static const perp_node *study_apply_set(perp_study_reader *r, const perp_node *root,
                                        const char *set)
{
  const char *eq = strchr(set, '=');
  perp_study *s = r->s;
  if (eq == NULL || eq == set) {
    PERP_FAIL(r->ctx, PERP_ERR_OPTION, "--set %s: expected key=value", set);
    return NULL;
  }
  char *path = perp_pool_strndup(&s->pool, set, (size_t)(eq - set));
  char *name = perp_pool_printf(&s->pool, "--set %s", path);
  perp_node *value = perp_tree_read(&s->pool, r->diag, name, eq + 1, strlen(eq + 1));
  if (value == NULL) {
    PERP_FAIL(r->ctx, PERP_ERR_OPTION, "--set %s: the value is not valid YAML", set);
    return NULL;
  }
  /* h=... means grid.h=... where h is varied */
  const perp_node *grid = perp_tree_get(root, "grid");
  if (perp_tree_get(grid, path) != NULL) path = perp_pool_printf(&s->pool, "grid.%s", path);
  const perp_node *why = NULL;
  const perp_node *merged = perp_tree_set(&s->pool, root, path, value, &why);
  if (merged == NULL)
    PERP_FAIL(r->ctx, PERP_ERR_OPTION,
              "--set %s: line %d has a single value, so it has no keys below it", set,
              why->line + 1);
  return merged;
}

static perp_status read_all(perp_study_reader *r, const perp_study_request *q,
                            const perp_node *root)
{
  perp_study *s = r->s;
  if (root->type != PERP_NODE_MAP) {
    PERP_WRONG(r->diag, root, "a study must be a map of key: value");
    return PERP_ERR_FORMAT;
  }
  if (perp_scene_file_is(root->src->text)) {
    perp_diag_error(r->diag, root, 0, "perp simulate FILE, or scene: FILE in a study",
                    "this file is a scene, but a study is required");
    return PERP_ERR_FORMAT;
  }
  root = study_apply_profile(r, root, q->profile);
  for (int i = 0; root != NULL && i < q->n_set; i++) root = study_apply_set(r, root, q->set[i]);
  if (root == NULL) return PERP_ERR_OPTION;
  root = load_plugins(r, root);
  if (root == NULL)
    return r->diag->errors == r->diag->command_line ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
  s->root = (perp_node *)(uintptr_t)root;

  const perp_cell_kind *const *kinds = q->kinds != NULL ? q->kinds : perp_registered_kinds();
  s->kind = read_kind(r, root, kinds);
  if (s->kind == NULL) return PERP_ERR_FORMAT;
  s->n_params = perp_kind_params(s->kind);
  /* its last parameter is one of studies with `runs` alone */
  if (perp_tree_get(root, "runs") == NULL && s->n_params > 0 &&
      strcmp(s->kind->params[s->n_params - 1].key, "run") == 0)
    s->n_params--;
  s->fixed = perp_pool_alloc(&s->pool, (size_t)s->n_params, sizeof *s->fixed);
  s->axes = perp_pool_alloc(&s->pool, (size_t)s->n_params, sizeof *s->axes); /* at most all vary */
  s->fixed_at = perp_pool_alloc(&s->pool, (size_t)s->n_params, sizeof *s->fixed_at);
  s->narrowed = q->n_set > 0;
  check_top(r, root);
  read_head(r, root);
  make_columns(r->ctx, s);
  read_params(r, root);
  read_reference(r, root);
  read_measure(r, root);
  read_limits(r, root);
  study_read_metrics(r, root);
  if (s->kind->read != NULL) s->kind->read(r->ctx, s, r->diag);
  require_params(r, root);
  read_exclude(r, root);
  read_published(r, root);
  read_claims(r, root);
  perp_study_read_symptoms(r, root);
  perp_study_read_replicate(r, root);
  read_report(r, root);
  perp_study_read_answer(r, root);
  if (r->diag->errors == 0) return PERP_OK;
  return r->diag->errors == r->diag->command_line ? PERP_ERR_OPTION : PERP_ERR_FORMAT;
}

perp_status perp_study_read(perp_ctx *ctx, const perp_study_request *q, perp_diag *diag,
                            perp_study **out)
{
  *out = NULL;
  size_t size = q->text != NULL ? strlen(q->text) : 0;
  char *text = q->text != NULL ? perp_xstrdup(q->text) : perp_read_file(q->file, &size);
  if (text == NULL) {
    PERP_WRONG(diag, NULL, "cannot read %s: %s", q->file, strerror(errno));
    return PERP_ERR_IO;
  }
  perp_study *s = perp_xalloc(1, sizeof *s);
  s->file = perp_pool_strdup(&s->pool, q->file);
  perp_study_reader r = { ctx, diag, s };
  perp_scene_files_beside(q->file);
  const perp_node *root = perp_tree_read(&s->pool, diag, q->file, text, size);
  free(text);
  perp_status status = root == NULL ? PERP_ERR_FORMAT : read_all(&r, q, root);
  if (status == PERP_ERR_OPTION && diag->errors == 0) PERP_WRONG(diag, NULL, "%s", ctx->msg);
  if (status != PERP_OK) {
    perp_study_free(s);
    return status;
  }
  *out = s;
  return PERP_OK;
}

void perp_study_free(perp_study *s)
{
  if (s == NULL) return;
  perp_pool pool = s->pool;
  free(s);
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
  for (int i = 0; i < n; i++) {
    names[i] = files[i].name;
    if (strcmp(files[i].name, name) == 0) path = perp_xstrdup(files[i].path);
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
