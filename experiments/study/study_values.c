/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of the parameters of a study: lists, ranges, bracketed lists inside of names, in canonical
 * form. */
#include "experiments/study/study_fields.h"
#include "experiments/scenes/scene_file.h"
#include "solvers/core/optional.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_VALUES = 100000 };

/* Where in the scalar is the option that a plug-in refuses?  0 = the name. */
static int study_values_culprit(perp_ctx *ctx, const perp_node *at, perp_kind kind,
                                const char *text)
{
  perp_ctx quiet = *ctx;
  const perp_desc *desc = NULL;
  const char *end = text;
  for (char name[PERP_TEXT_MAX]; desc == NULL; end++) {
    end += strcspn(end, ":");
    if (*end == '\0' || (size_t)(end - text) >= sizeof name) return 0;
    snprintf(name, sizeof name, "%.*s", (int)(end - text), text);
    desc = perp_find(ctx, kind, name);
  }
  void *opts = desc->opts_size > 0 ? perp_xalloc(1, desc->opts_size) : NULL;
  if (opts != NULL) perp_opts_default(desc, opts);
  int found = 0;
  while (*end != '\0' && found == 0) {
    int depth = 0, n = 0;
    for (; end[n] != '\0' && (depth > 0 || end[n] != ','); n++)
      depth += (end[n] == '(') - (end[n] == ')');
    char *item = perp_xprintf("%.*s", n, end), *key = item;
    if (perp_opts_parse(&quiet, desc, opts, item) != PERP_OK) {
      key[strcspn(key, "=")] = '\0';
      const char *place = strstr(at->text, key);
      found = place != NULL ? (int)(place - at->text) : (int)(end - text);
    }
    free(item);
    end += n + (end[n] == ',');
  }
  free(opts);
  return found;
}

const char *perp_param_canonical(perp_ctx *ctx, perp_pool *pool, perp_diag *diag,
                                 const perp_param *param, const perp_node *at, const char *text)
{
  char buf[1024];
  switch (param->type) {
  case PERP_PARAM_PLUGIN: {
    perp_spec spec;
    /* a study may name it all the same: its combinations are left out (plan.c) */
    if (strncmp(at->src->name, "--", 2) != 0 &&
        perp_optional_absent(ctx, param->plugin, text) != NULL)
      return perp_pool_strdup(pool, text);
    if (param->plugin == PERP_KIND_scene && perp_scene_file_named(text) &&
        !perp_scene_file_check(ctx, text, diag, at))
      return NULL;
    if (perp_spec_parse(ctx, param->plugin, text, &spec) != PERP_OK) {
      perp_diag_ctx(diag, at, study_values_culprit(ctx, at, param->plugin, text), ctx);
      return NULL;
    }
    int n = perp_spec_format(&spec, buf, sizeof buf);
    perp_spec_free(&spec);
    if (n >= (int)sizeof buf) {
      PERP_WRONG(diag, at, "%s: the options are too long", param->key);
      return NULL;
    }
    return perp_pool_strdup(pool, buf);
  }
  case PERP_PARAM_REAL:
  case PERP_PARAM_INT: {
    double v;
    if (perp_parse_real(ctx, text, param->type == PERP_PARAM_INT ? "" : param->unit, &v) !=
        PERP_OK) {
      PERP_WRONG(diag, at, "%s: %s", param->key, ctx->msg);
      return NULL;
    }
    bool low = v < param->min || (v == param->min && (param->flags & PERP_OPEN_MIN));
    bool high = v > param->max || (v == param->max && (param->flags & PERP_OPEN_MAX));
    bool whole = param->type != PERP_PARAM_INT || v == nearbyint(v);
    if (low || high || !whole) {
      PERP_WRONG(diag, at, "%s must be %sin %c%g, %g%c%s%s: got %s", param->key,
                 param->type == PERP_PARAM_INT ? "an integer " : "",
                 param->flags & PERP_OPEN_MIN ? '(' : '[', param->min, param->max,
                 param->flags & PERP_OPEN_MAX || isinf(param->max) ? ')' : ']',
                 param->unit != NULL && param->unit[0] ? " " : "",
                 param->unit != NULL ? param->unit : "", text);
      return NULL;
    }
    perp_param_format(param, v, buf, sizeof buf);
    return perp_pool_strdup(pool, buf);
  }
  case PERP_PARAM_TEXT:
    return perp_pool_strdup(pool, text);
  case PERP_PARAM_END:
    break;
  }
  return NULL;
}

/* Values of a parameter as a study file gives them, canonical, each once, and where each stands; in
 * the pool. */
typedef struct study_values {
  perp_names text;
  const perp_node **at;
} study_values;

static void study_values_add(perp_study_reader *reader, study_values *values, const char *text,
                             const perp_node *at)
{
  const int n = values->text.n;
  if (perp_names_index(&reader->s->pool, &values->text, text, -1) < n)
    return; /* one value, named twice */
  values->at = perp_pool_grown(&reader->s->pool, values->at, n, sizeof *values->at);
  values->at[n] = at;
}

/* "stab.alpha" for "...alpha=[50, 200]": worth a column of its own in the tables. */
static void note_option(perp_study_reader *reader, const perp_param *param, const char *text,
                        const char *bracket)
{
  const char *end = bracket;
  if (param->type != PERP_PARAM_PLUGIN || end == text || end[-1] != '=') return;
  const char *begin = --end;
  while (begin > text && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_')) begin--;
  enum { MOST = 16 };
  perp_names_index(
      &reader->s->pool, &reader->s->option_columns,
      perp_pool_printf(&reader->s->pool, "%s.%.*s", param->key, (int)(end - begin), begin), MOST);
}

/* A text with bracketed lists stands for all combinations of their items. */
static void study_values_expand(perp_study_reader *reader, study_values *values,
                                const perp_param *param, const perp_node *at, const char *text)
{
  if (param->type == PERP_PARAM_PLUGIN && text[0] == '?') {
    perp_diag_error(reader->diag, at, 0, "leave the '?' out",
                    "a method of an optional library needs no mark: it is left out where the "
                    "library is missing");
    return;
  }
  const char *open = strchr(text, '[');
  if (reader->diag->errors > 0 && values->text.n > MOST_VALUES) return;
  if (open == NULL) {
    const char *value = perp_param_canonical(reader->ctx, &reader->s->pool, reader->diag, param, at,
                                             text);
    if (value != NULL && values->text.n == MOST_VALUES)
      PERP_WRONG(reader->diag, at, "more than %d values", MOST_VALUES);
    else if (value != NULL)
      study_values_add(reader, values, value, at);
    return;
  }
  int depth = 0;
  const char *item = open + 1, *close = open;
  for (; *close != '\0'; close++) {
    if (*close == '[' || *close == '(') depth++;
    if ((*close == ']' || *close == ')') && --depth == 0) break;
  }
  if (*close != ']') {
    perp_diag_error(reader->diag, at, (int)(open - text), NULL, "this bracket is not closed");
    return;
  }
  note_option(reader, param, text, open);
  depth = 0;
  for (const char *s = item; s <= close; s++) {
    if (*s == '[' || *s == '(') depth++;
    if (s < close && (*s == ']' || *s == ')')) depth--;
    if (s < close && (depth > 0 || *s != ',')) continue;
    const char *begin = item, *end = s;
    while (begin < end && isspace((unsigned char)*begin)) begin++;
    while (end > begin && isspace((unsigned char)end[-1])) end--;
    if (begin == end) {
      perp_diag_error(reader->diag, at, (int)(item - text), NULL,
                      "an item of the list is empty: remove the extra comma");
      return;
    }
    perp_text one = { 0 };
    perp_text_add(&one, "%.*s%.*s%s", (int)(open - text), text, (int)(end - begin), begin,
                  close + 1);
    study_values_expand(reader, values, param, at, one.s);
    perp_text_free(&one);
    if (reader->diag->errors > 0) return;
    item = s + 1;
  }
}

/* { log2: [-7, -14] }, { log10: [-2, -6] }, { linear: [0, 1, 11] } */
static void add_range(perp_study_reader *reader, study_values *values, const perp_param *param,
                      const perp_node *node)
{
  static const char *const keys[] = { "log2", "log10", "linear", NULL };
  if (param->type != PERP_PARAM_REAL && param->type != PERP_PARAM_INT) {
    PERP_WRONG(reader->diag, node, "%s requires names, not a range", param->key);
    return;
  }
  perp_study_check_keys(reader->diag, node, "a range", keys);
  const perp_node *list = node->n == 1 ? node->item[0] : NULL;
  if (list == NULL || list->type != PERP_NODE_LIST || list->n < 2 || list->n > 3) {
    PERP_WRONG(reader->diag, node,
               "a range is { log2: [first, last] }, { log10: [first, last] } or "
               "{ linear: [first, last, count] }");
    return;
  }
  bool linear = strcmp(node->key[0]->text, "linear") == 0;
  const char *unit = linear && param->type == PERP_PARAM_REAL ? param->unit : "";
  double x[3] = { 0, 0, 1 };
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i];
    if (item->type != PERP_NODE_SCALAR ||
        perp_parse_real(reader->ctx, item->text, i < 2 ? unit : "", &x[i]) != PERP_OK) {
      PERP_WRONG(reader->diag, item, "a range requires numbers%s%s",
                 item->type == PERP_NODE_SCALAR ? ": " : "",
                 item->type == PERP_NODE_SCALAR ? reader->ctx->msg : "");
      return;
    }
  }
  double count = linear ? x[2] : floor(fabs(x[1] - x[0]) / fabs(x[2]) + 1e-9) + 1;
  if (!(count >= 1 && count <= MOST_VALUES) || (linear && (list->n < 3 || count != floor(count)))) {
    PERP_WRONG(reader->diag, node, "the range must have a finite, positive number of values");
    return;
  }
  for (int i = 0; i < (int)count; i++) {
    double y = linear ? (count > 1 ? x[0] + (x[1] - x[0]) * i / (count - 1) : x[0])
                      : x[0] + (x[1] < x[0] ? -1 : 1) * fabs(x[2]) * i;
    if (!linear) y = strcmp(node->key[0]->text, "log2") == 0 ? exp2(y) : pow(10, y);
    char text[40];
    perp_format_real(y, text, sizeof text);
    const char *value = perp_param_canonical(reader->ctx, &reader->s->pool, reader->diag, param,
                                             node, text);
    if (value == NULL) return;
    study_values_add(reader, values, value, node);
  }
}

static void read_values(perp_study_reader *reader, study_values *values, const perp_param *param,
                        const perp_node *node)
{
  if (node->type == PERP_NODE_LIST) {
    if (node->n == 0) PERP_WRONG(reader->diag, node, "%s: the list is empty", param->key);
    for (int i = 0; i < node->n; i++) {
      if (node->item[i]->type == PERP_NODE_LIST)
        PERP_WRONG(reader->diag, node->item[i], "%s: a list inside a list is not allowed",
                   param->key);
      else
        read_values(reader, values, param, node->item[i]);
    }
  } else if (node->type == PERP_NODE_MAP)
    add_range(reader, values, param, node);
  else if (node->text[0] == '\0')
    PERP_WRONG(reader->diag, node, "%s has no value", param->key);
  else
    study_values_expand(reader, values, param, node, node->text);
}

void perp_param_format(const perp_param *param, double v, char *buf, size_t size)
{
  if (param->type == PERP_PARAM_INT)
    snprintf(buf, size, "%.0f", v);
  else
    perp_format_real(v, buf, size);
}

perp_value perp_param_value(const perp_param *param, const char *text)
{
  perp_value value = { PERP_VALUE_TEXT, 0, text };
  if (text[0] == '\0')
    value.type = PERP_VALUE_MISSING;
  else if ((param->type == PERP_PARAM_REAL || param->type == PERP_PARAM_INT) &&
           perp_parse_real(NULL, text, "", &value.number) == PERP_OK)
    value.type = PERP_VALUE_NUMBER;
  return value;
}

void perp_param_json(perp_json *json, const char *key, const perp_value *value)
{
  if (value->type == PERP_VALUE_NUMBER && isfinite(value->number))
    perp_json_raw(json, key, value->text);
  else
    perp_json_text(json, key, value->text);
}

void perp_study_add_axis(perp_study *study, int param, const char *const *text, int n)
{
  perp_axis *axis = &study->axes[study->n_axes++];
  axis->param = param;
  perp_study_set_axis(study, axis, text, n);
  study->fixed[param] = NULL;
}

void perp_study_set_axis(perp_study *study, perp_axis *axis, const char *const *text, int n)
{
  const perp_param *param = &study->kind->params[axis->param];
  axis->n = n;
  axis->value = perp_pool_alloc(&study->pool, (size_t)n, sizeof *axis->value);
  for (int i = 0; i < n; i++)
    axis->value[i] = perp_param_value(param, perp_pool_strdup(&study->pool, text[i]));
}

void perp_study_fix(perp_study *study, int param, const char *text)
{
  perp_value *value = perp_pool_alloc(&study->pool, 1, sizeof *value);
  *value = perp_param_value(&study->kind->params[param], perp_pool_strdup(&study->pool, text));
  study->fixed[param] = value;
}

/* One value fixes parameter p, several are its axis. */
static void study_values_set(perp_study *study, int p, const study_values *values)
{
  if (values->text.n == 1) {
    perp_study_fix(study, p, values->text.text[0]);
    study->fixed_at[p] = values->at[0];
  } else if (values->text.n > 1) {
    perp_study_add_axis(study, p, values->text.text, values->text.n);
    study->axes[study->n_axes - 1].at = values->at;
  }
}

void perp_study_read_param(perp_ctx *ctx, perp_study *study, perp_diag *diag, int param,
                           const perp_node *node)
{
  perp_study_reader reader = { ctx, diag, study };
  study_values values = { 0 };
  read_values(&reader, &values, &study->kind->params[param], node);
  study_values_set(study, param, &values);
}

const char *perp_study_default(perp_study *study, int param)
{
  return strcmp(study->kind->params[param].key, "seed") == 0
             ? perp_pool_printf(&study->pool, "%llu", (unsigned long long)study->seed)
             : study->kind->params[param].dflt;
}

/* The list `runs` of a study file: conditions that have names, instead of a grid.
 *
 *   h: 1 ms                                   # for every run that does not name it
 *   runs:
 *     - { name: drift, scene: "chain:links=6", stab: none }
 *     - { name: tuned, scene: "chain:links=6", stab: "baumgarte:alpha=[50, 200]", h: [1 ms, 2 ms] }
 */

/* Can an expression have the name without quotes?  A digit behind a '-' would be a number. */
static bool runs_name_is_word(const char *name)
{
  const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  if (name[n] != '\0' || strchr("0123456789-", name[0]) != NULL) return false;
  for (const char *at = strchr(name, '-'); at != NULL; at = strchr(at + 1, '-'))
    if (strchr("0123456789-", at[1]) != NULL) return false; /* the end of the name too */
  return true;
}

/* The names of the runs, each once, as values of the parameter `run`. */
static void runs_names(perp_study_reader *reader, const perp_node *list, int run)
{
  perp_study *study = reader->s;
  study_values names = { 0 };
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i], *at = perp_tree_get(item, "name");
    const char *name = perp_study_text(reader, item, "name", "");
    const int before = names.text.n;
    if (name[0] == '\0')
      PERP_WRONG(reader->diag, item, "the key 'name' is missing here");
    else if (!runs_name_is_word(name))
      PERP_WRONG(
          reader->diag, at,
          "the name of a run begins with a letter and has letters, digits, '_' and '-', which "
          "a letter follows: got '%s'",
          name);
    study_values_add(reader, &names, name, at);
    if (name[0] != '\0' && names.text.n == before)
      PERP_WRONG(reader->diag, at, "two runs have the name '%s'", name);
    study->runs[i].name = name;
    study->runs[i].n[run] = 1;
    study->runs[i].value[run] = perp_pool_alloc(&study->pool, 1, sizeof(int));
    study->runs[i].value[run][0] = perp_names_index(&study->pool, &names.text, name, -1);
  }
  perp_study_add_axis(study, run, names.text.text, names.text.n);
  study->axes[study->n_axes - 1].at = names.at;
  const char **choices = perp_pool_alloc(&study->pool, (size_t)names.text.n + 1, sizeof *choices);
  memcpy(choices, names.text.text, (size_t)names.text.n * sizeof *choices);
  study->columns[run].choices = choices;
}

/* The values of parameter p in all runs. */
static void runs_values(perp_study_reader *reader, const perp_node *root, const perp_node *list,
                        int p)
{
  perp_study *study = reader->s;
  const perp_param *param = &study->kind->params[p];
  const perp_node *common = param->hidden ? NULL : perp_tree_get(root, param->key);
  study_values all = { 0 };
  bool used = false;
  for (int run = 0; run < list->n; run++) {
    const perp_node *own = param->hidden ? NULL : perp_tree_get(list->item[run], param->key);
    study_values mine = { 0 };
    if (own != NULL || common != NULL)
      read_values(reader, &mine, param, own != NULL ? own : common);
    else if (perp_study_default(study, p) != NULL)
      study_values_add(reader, &mine, perp_study_default(study, p), NULL);
    else
      PERP_WRONG(reader->diag, list->item[run], "'%s' is missing: %s", param->key, param->help);
    used = used || own == NULL;
    study->runs[run].n[p] = mine.text.n;
    study->runs[run].value[p] = perp_pool_alloc(&study->pool, (size_t)mine.text.n + 1, sizeof(int));
    for (int k = 0; k < mine.text.n; k++) {
      study_values_add(reader, &all, mine.text.text[k], mine.at[k]);
      study->runs[run].value[p][k] = perp_names_index(&study->pool, &all.text, mine.text.text[k],
                                                      -1);
    }
  }
  if (common != NULL && !used)
    perp_diag_error(reader->diag, common, 0, "remove it", "%s has no effect: every run has its own",
                    param->key);
  study_values_set(study, p, &all);
}

bool perp_study_read_runs(perp_study_reader *reader, const perp_node *root)
{
  perp_study *study = reader->s;
  const perp_node *list = perp_study_list(reader, root, "runs"), *at = perp_tree_get(root, "runs");
  const int run = perp_kind_param(study->kind, "run");
  if (list->n == 0) return false;
  if (run < 0) {
    PERP_WRONG(reader->diag, at, "a study of kind %s has no runs: use grid", study->kind->name);
    return false;
  }
  if (perp_tree_get(root, "grid") != NULL) {
    perp_diag_error(reader->diag, at, 0, "remove one of the two",
                    "a study has either runs or a grid, not both");
    return false;
  }
  const char **keys = perp_pool_alloc(&study->pool, (size_t)study->n_params + 2, sizeof *keys);
  int n = 0;
  keys[n++] = "name";
  for (int param = 0; param < study->n_params; param++)
    if (!study->kind->params[param].hidden) keys[n++] = study->kind->params[param].key;
  study->runs = perp_pool_alloc(&study->pool, (size_t)list->n, sizeof *study->runs);
  for (int i = 0; i < list->n; i++) {
    perp_study_check_keys(reader->diag, list->item[i], "runs", keys);
    study->runs[i].n = perp_pool_alloc(&study->pool, (size_t)study->n_params, sizeof(int));
    study->runs[i].value = perp_pool_alloc(&study->pool, (size_t)study->n_params, sizeof(int *));
  }
  study->n_runs = list->n;
  runs_names(reader, list, run);
  for (int param = 0; param < study->n_params; param++)
    if (param != run) runs_values(reader, root, list, param);
  return true;
}
