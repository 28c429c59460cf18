/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plan says about its study: values that nothing uses, combinations that are one cell. */
#include "experiments/base/messages.h"
#include "experiments/study/plan.h"
#include "solvers/core/optional.h"

#include <string.h>

static void plan_check_unused(const perp_study *study, const perp_plan *plan, int param,
                              const char *value, const perp_node *at, const perp_value_use *use,
                              perp_diag *diag)
{
  if (at == NULL || use->used || plan->n == 0) return;
  const bool command_line = strncmp(at->src->name, "--", 2) == 0;
  if (study->narrowed && !command_line) return;
  if (use->drop >= 0)
    perp_diag_error(diag, at, 0, "remove it", "%s %s is not used by any run: it has no effect %s",
                    study->kind->params[param].key, value, plan->drops[use->drop].why);
  else
    perp_diag_error(diag, at, 0, "remove it, or change the rule under exclude",
                    "%s %s is not used by any run: all its combinations are excluded",
                    study->kind->params[param].key, value);
}

/* Where the study names the value that a cell has of a parameter; NULL: nowhere. */
static const perp_node *plan_check_place(const perp_study *study, const perp_cell *cell, int param)
{
  if (study->fixed[param] != NULL) return study->fixed_at[param];
  for (int a = 0; a < study->n_axes; a++) {
    const perp_axis *axis = &study->axes[a];
    for (int k = 0; axis->param == param && axis->at != NULL && k < axis->n; k++)
      if (strcmp(axis->value[k].text, cell->value[param].text) == 0) return axis->at[k];
  }
  return NULL;
}

/* Cells whose values do not go together: each place once. */
static void plan_check_cells(const perp_study *study, const perp_plan *plan, perp_diag *diag)
{
  enum { MOST = 8 };
  const perp_node *seen[MOST];
  char why[PERP_WHY_MAX];
  int n = 0;
  for (int cell = 0; cell < plan->n && n < MOST && study->kind->wrong != NULL; cell++) {
    const int p = study->kind->wrong(study, &plan->cells[cell], why);
    if (p < 0) continue;
    const perp_node *at = plan_check_place(study, &plan->cells[cell], p);
    if (at == NULL) at = study->root; /* a kind has made it */
    bool again = false;
    for (int k = 0; k < n && !again; k++) again = seen[k] == at;
    if (again) continue;
    seen[n++] = at;
    perp_diag_error(diag, at, 0, "leave it out, or exclude these combinations", "%s", why);
  }
}

/* Is there a cell for these conditions of a source (and `where`, NULL: none)? */
static void plan_check_conditions(const perp_plan_scope *scope, const perp_expr *conditions,
                                  const perp_expr *where, const perp_node *at, const char *text,
                                  perp_diag *diag)
{
  if (conditions == NULL) return;
  for (int row = 0; row < scope->plan->n; row++)
    if (perp_expr_true(conditions, &scope->scope, row) &&
        (where == NULL || perp_expr_true(where, &scope->scope, row)))
      return;
  perp_diag_error(diag, at, 0, "add the run, or correct the condition",
                  where == NULL ? "the conditions of the source hold in no run: %s"
                                : "the conditions of the source hold in no run of `where`: %s",
                  text);
}

void perp_plan_check(const perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                     perp_diag *diag)
{
  for (int param = 0; param < study->n_params; param++)
    plan_check_unused(study, plan, param,
                      study->fixed[param] != NULL ? study->fixed[param]->text : NULL,
                      study->fixed_at[param], &plan->use[param][0], diag);
  for (int a = 0; a < study->n_axes; a++) {
    const perp_axis *axis = &study->axes[a];
    for (int i = 0; i < axis->n && axis->at != NULL; i++)
      plan_check_unused(study, plan, axis->param, axis->value[i].text, axis->at[i],
                        &plan->use[axis->param][i], diag);
  }
  plan_check_cells(study, plan, diag);
  /* What a published figure, or a claim about a source, is compared with must exist. */
  perp_plan_scope scope;
  perp_plan_scope_init(ctx, &scope, study, plan, NULL);
  if (study->narrowed || plan->n == 0 || plan->n_absent > 0) return;
  for (int published = 0; published < study->n_published;
       published++) /* how a run ends is not known yet */
    plan_check_conditions(&scope, study->published[published].conditions,
                          perp_expr_mentions(study->published[published].where, study->n_params)
                              ? NULL
                              : study->published[published].where,
                          study->published[published].at,
                          study->published[published].conditions_text, diag);
  for (int claim = 0; claim < study->n_claims; claim++)
    plan_check_conditions(&scope, study->claims[claim].conditions, NULL, study->claims[claim].at,
                          study->claims[claim].conditions_text, diag);
}

int perp_plan_refuse(const perp_ctx *ctx, const perp_study *study, const perp_plan *plan)
{
  perp_diag diag = { 0 };
  perp_plan_check(ctx, study, plan, &diag);
  int status = diag.errors == 0                   ? -1
               : diag.errors == diag.command_line ? PERP_EXIT_USAGE
                                                  : PERP_EXIT_INPUT;
  if (diag.errors > 0) fputs(diag.text.s, stderr);
  perp_diag_free(&diag);
  return status;
}

void perp_plan_say(const perp_study *study, const perp_plan *plan, perp_text *out)
{
  enum { MOST = 8 };
  int said = 0, more = 0;
  if (plan->duplicates == 0) return;
  perp_text_add(out, "%d combinations give %d runs", plan->n + plan->duplicates, plan->n);
  for (int i = 0; i < plan->n_drops; i++) {
    const perp_drop *drop = &plan->drops[i];
    bool varies = study->fixed[drop->param] ==
                  NULL; /* only then two combinations can differ in it */
    if (varies && said == MOST) more++;
    if (!varies || said == MOST) continue;
    perp_text_add(out, "%s%s has no effect %s", said++ > 0 ? "; " : ": ",
                  study->kind->params[drop->param].key, drop->why);
  }
  if (more > 0) perp_text_add(out, "; and %d more reasons", more);
}

void perp_plan_say_absent(const perp_plan *plan, perp_text *out)
{
  for (int i = 0; i < plan->n_absent; i++) {
    const perp_plan_absent *absent = &plan->absent[i];
    perp_text_add(out, "%s%d combination%s %s: left out (./perp setup %s)", i > 0 ? "; " : "",
                  absent->combinations, absent->combinations == 1 ? " needs" : "s need",
                  perp_optional_packages(absent->part), absent->part);
  }
}

void perp_plan_warn(const perp_study *study, const perp_plan *plan)
{
  perp_text text = { 0 };
  perp_plan_say(study, plan, &text);
  if (text.n > 0) perp_say("%s", text.s);
  perp_text_free(&text);
  perp_plan_say_absent(plan, &text);
  if (text.n > 0) perp_say("%s", text.s);
  perp_text_free(&text);
}
