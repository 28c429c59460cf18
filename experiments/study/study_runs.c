/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The list `runs` of a study file: conditions that have names, instead of a grid.
 *
 *   h: 1 ms                                   # for every run that does not name it
 *   runs:
 *     - { name: drift, scene: "chain:links=6", stab: none }
 *     - { name: tuned, scene: "chain:links=6", stab: "baumgarte:alpha=[50, 200]", h: [1 ms, 2 ms] }
 */
#include "experiments/study/study_fields.h"

#include <string.h>

/* Can an expression have the name without quotes?  A digit behind a '-' would be a number. */
static bool runs_name_is_word(const char *name)
{
  const size_t n = strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-");
  if (name[n] != '\0' || strchr("0123456789-", name[0]) != NULL) return false;
  for (const char *c = strchr(name, '-'); c != NULL; c = strchr(c + 1, '-'))
    if (strchr("0123456789-", c[1]) != NULL) return false; /* the end of the name too */
  return true;
}

/* The names of the runs, each once, as values of the parameter `run`. */
static void runs_names(perp_study_reader *r, const perp_node *list, int run)
{
  perp_study *s = r->s;
  perp_study_values names = { 0 };
  for (int i = 0; i < list->n; i++) {
    const perp_node *item = list->item[i], *at = perp_tree_get(item, "name");
    const char *name = perp_study_text(r, item, "name", "");
    const int before = names.text.n;
    if (name[0] == '\0')
      PERP_WRONG(r->diag, item, "the key 'name' is missing here");
    else if (!runs_name_is_word(name))
      PERP_WRONG(
          r->diag, at,
          "the name of a run begins with a letter and has letters, digits, '_' and '-', which "
          "a letter follows: got '%s'",
          name);
    perp_study_add_value(r, &names, name, at);
    if (name[0] != '\0' && names.text.n == before)
      PERP_WRONG(r->diag, at, "two runs have the name '%s'", name);
    s->runs[i].name = name;
    s->runs[i].n[run] = 1;
    s->runs[i].value[run] = perp_pool_alloc(&s->pool, 1, sizeof(int));
    s->runs[i].value[run][0] = perp_names_index(&s->pool, &names.text, name, -1);
  }
  perp_study_add_axis(s, run, names.text.text, names.text.n);
  s->axes[s->n_axes - 1].at = names.at;
  const char **choices = perp_pool_alloc(&s->pool, (size_t)names.text.n + 1, sizeof *choices);
  memcpy(choices, names.text.text, (size_t)names.text.n * sizeof *choices);
  s->columns[run].choices = choices;
}

/* The values of parameter p in all runs. */
static void runs_values(perp_study_reader *r, const perp_node *root, const perp_node *list, int p)
{
  perp_study *s = r->s;
  const perp_param *param = &s->kind->params[p];
  const perp_node *common = param->hidden ? NULL : perp_tree_get(root, param->key);
  perp_study_values all = { 0 };
  bool used = false;
  for (int i = 0; i < list->n; i++) {
    const perp_node *own = param->hidden ? NULL : perp_tree_get(list->item[i], param->key);
    perp_study_values mine = { 0 };
    if (own != NULL || common != NULL)
      perp_study_read_values(r, own != NULL ? own : common, p, &mine);
    else if (perp_study_default(s, p) != NULL)
      perp_study_add_value(r, &mine, perp_study_default(s, p), NULL);
    else
      PERP_WRONG(r->diag, list->item[i], "'%s' is missing: %s", param->key, param->help);
    used = used || own == NULL;
    s->runs[i].n[p] = mine.text.n;
    s->runs[i].value[p] = perp_pool_alloc(&s->pool, (size_t)mine.text.n + 1, sizeof(int));
    for (int k = 0; k < mine.text.n; k++) {
      perp_study_add_value(r, &all, mine.text.text[k], mine.at[k]);
      s->runs[i].value[p][k] = perp_names_index(&s->pool, &all.text, mine.text.text[k], -1);
    }
  }
  if (common != NULL && !used)
    perp_diag_error(r->diag, common, 0, "remove it", "%s has no effect: every run has its own",
                    param->key);
  perp_study_set_values(s, p, &all);
}

bool perp_study_read_runs(perp_study_reader *r, const perp_node *root)
{
  perp_study *s = r->s;
  const perp_node *list = perp_study_list(r, root, "runs"), *at = perp_tree_get(root, "runs");
  const int run = perp_kind_param(s->kind, "run");
  if (list->n == 0) return false;
  if (run < 0) {
    PERP_WRONG(r->diag, at, "a study of kind %s has no runs: use grid", s->kind->name);
    return false;
  }
  if (perp_tree_get(root, "grid") != NULL) {
    perp_diag_error(r->diag, at, 0, "remove one of the two",
                    "a study has either runs or a grid, not both");
    return false;
  }
  const char **keys = perp_pool_alloc(&s->pool, (size_t)s->n_params + 2, sizeof *keys);
  int n = 0;
  keys[n++] = "name";
  for (int p = 0; p < s->n_params; p++)
    if (!s->kind->params[p].hidden) keys[n++] = s->kind->params[p].key;
  s->runs = perp_pool_alloc(&s->pool, (size_t)list->n, sizeof *s->runs);
  for (int i = 0; i < list->n; i++) {
    perp_study_check_keys(r->diag, list->item[i], "runs", keys);
    s->runs[i].n = perp_pool_alloc(&s->pool, (size_t)s->n_params, sizeof(int));
    s->runs[i].value = perp_pool_alloc(&s->pool, (size_t)s->n_params, sizeof(int *));
  }
  s->n_runs = list->n;
  runs_names(r, list, run);
  for (int p = 0; p < s->n_params; p++)
    if (p != run) runs_values(r, root, list, p);
  return true;
}
