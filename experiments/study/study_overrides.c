/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What changes a study before it is read: its profile, and --set of the command line. */
#include "experiments/study/study_fields.h"

#include <string.h>

const perp_node *perp_study_apply_profile(perp_study_reader *r, const perp_node *root,
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

const perp_node *perp_study_apply_set(perp_study_reader *r, const perp_node *root, const char *set)
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
