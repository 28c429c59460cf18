/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/run/trial.h"

#include "experiments/base/messages.h"
#include "experiments/study/process_pool.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* s; what cannot be set up within this will not be run in sensible time either */
#define SETUP_LIMIT 30.0

/* ---- distinct combinations ---- */

/* of [n]: the first wanted cell with the same parts, itself where there is none; -1 not wanted */
static int trial_group(const perp_study *study, const perp_plan *plan, const bool *wanted, int *of)
{
  json_t *first = json_object(); /* parts -> first cell that has them */
  for (int c = 0; c < plan->n; c++) {
    of[c] = -1;
    if (wanted != NULL && !wanted[c]) continue;
    perp_text parts = { 0 };
    /* The parts of a cell as one text, each behind its length.  Numbers (h, t_end, a tolerance) do
     * not decide whether parts fit together. */
    const perp_cell *cell = &plan->cells[c];
    for (int param = 0; param < study->n_params; param++) {
      const perp_param_type type = study->kind->params[param].type;
      if (type == PERP_PARAM_PLUGIN || type == PERP_PARAM_TEXT)
        perp_text_add(&parts, "%zu:%s", strlen(cell->value[param].text), cell->value[param].text);
    }
    const json_t *known = json_object_get(first, parts.s);
    of[c] = known != NULL ? (int)json_integer_value(known) : c;
    if (known == NULL) json_object_set_new_nocheck(first, parts.s, json_integer(c));
    perp_text_free(&parts);
  }
  const int groups = (int)json_object_size(first);
  json_decref(first);
  return groups;
}

/* ---- trying ---- */

static void trial_judge(perp_trial *trial, int cell, const perp_outcome *outcome)
{
  const bool unsuited = outcome->status == PERP_CELL_SETUP_FAILED &&
                        strcmp(outcome->reason, "unsuited") == 0;
  const perp_trial_verdict v = outcome->status == PERP_CELL_OK        ? PERP_TRIAL_FITS
                               : outcome->status == PERP_CELL_SKIPPED ? PERP_TRIAL_REFUSED
                               : unsuited                             ? PERP_TRIAL_UNSUITED
                                                                      : PERP_TRIAL_FAILED;
  trial->verdict[cell] = v;
  if (v == PERP_TRIAL_FITS) return;
  trial->why[cell] = v == PERP_TRIAL_FAILED
                         ? perp_pool_printf(&trial->pool, "%s: %s",
                                            perp_cell_status_names[outcome->status], outcome->cause)
                         : perp_pool_strdup(&trial->pool, outcome->cause);
}

static perp_status try_all(perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                           const int *of, int groups, int jobs, perp_progress_style style,
                           perp_trial *trial)
{
  static perp_outcome outcome;
  perp_process_pool *workers;
  perp_progress progress;
  perp_order done;
  const double asked = study->limits.timeout; /* 0: none */
  int next = 0, number = 0;
  PERP_TRY(perp_process_pool_create(ctx, jobs, &workers));
  perp_progress_begin(&progress, style, "set-ups", groups, groups, jobs);
  perp_status status = PERP_OK;
  while (status == PERP_OK && trial->tried < groups) {
    for (; next < plan->n && perp_process_pool_free_places(workers) > 0 && status == PERP_OK;
         next++) {
      const perp_order order = {
        .job = { .what = PERP_JOB_SETUP, .study = study, .cell = &plan->cells[next] },
        .timeout = asked > 0 ? fmin(asked, SETUP_LIMIT) : SETUP_LIMIT,
        .memory = study->limits.memory,
        .token = next
      };
      if (of[next] == next) status = perp_process_pool_start(ctx, workers, &order);
    }
    if (status != PERP_OK) break;
    switch (perp_process_pool_wait(workers, 0.5, &done, &outcome, &number)) {
    case PERP_CREW_DONE:
      trial_judge(trial, (int)done.token, &outcome);
      trial->tried++;
      perp_progress_step(&progress, 1, outcome.wall_s, outcome.status != PERP_CELL_OK, NULL);
      break;
    case PERP_CREW_SIGNAL:
      status = PERP_FAIL(ctx, PERP_ERR_IO, "interrupted");
      break;
    case PERP_CREW_NOTHING:
      perp_progress_tick(&progress);
      break;
    }
  }
  perp_progress_clear(&progress);
  perp_process_pool_destroy(workers);
  return status;
}

perp_status perp_trial_make(perp_ctx *ctx, const perp_study *study, const perp_plan *plan,
                            const bool *wanted, int jobs, perp_progress_style style,
                            perp_trial *trial)
{
  *trial = (perp_trial){ .n = plan->n };
  trial->verdict = perp_pool_alloc(&trial->pool, (size_t)plan->n + 1, sizeof *trial->verdict);
  trial->why = perp_pool_alloc(&trial->pool, (size_t)plan->n + 1, sizeof *trial->why);
  for (int i = 0; i < plan->n; i++) trial->why[i] = "";
  perp_status status = PERP_OK;
  if (study->kind->tries) {
    int *of = perp_pool_alloc(&trial->pool, (size_t)plan->n, sizeof *of);
    int groups = trial_group(study, plan, wanted, of);
    if (groups > 0) status = try_all(ctx, study, plan, of, groups, jobs, style, trial);
    for (int i = 0; i < plan->n && status == PERP_OK; i++) {
      if (of[i] < 0) continue;
      trial->verdict[i] = trial->verdict[of[i]];
      trial->why[i] = trial->why[of[i]];
    }
  }
  for (int i = 0; i < plan->n; i++) trial->count[trial->verdict[i]]++;
  if (status != PERP_OK) perp_trial_free(trial);
  return status;
}

void perp_trial_free(perp_trial *trial)
{
  perp_pool_free(&trial->pool);
  *trial = (perp_trial){ 0 };
}

/* ---- telling ---- */

perp_tally perp_trial_reasons(const perp_trial *trial, perp_trial_verdict verdict)
{
  perp_tally reasons = { 0 };
  for (int thing = 0; thing < trial->n; thing++)
    if (trial->verdict[thing] == verdict) perp_tally_add(&reasons, trial->why[thing], thing);
  perp_tally_sort(&reasons);
  return reasons;
}

void perp_trial_say(const perp_trial *trial, const perp_study *study, const perp_plan *plan,
                    perp_trial_verdict verdict, int most, perp_text *out)
{
  static const char *const what[] = {
    [PERP_TRIAL_REFUSED] = "cannot be set up and will be skipped",
    [PERP_TRIAL_UNSUITED] = "have a problem outside the domain of the solver and will fail",
    [PERP_TRIAL_FAILED] = "fail during set-up"
  };
  if (trial->count[verdict] == 0) return;
  const perp_tally tally = perp_trial_reasons(trial, verdict);
  perp_text_add(out, "%d of %d runs %s:\n", trial->count[verdict], trial->n, what[verdict]);
  for (int i = 0; i < tally.n && i < most; i++) {
    const perp_cell *cell = &plan->cells[tally.count[i].first];
    perp_text_add(out, "  %d: %s (run %.6s: ", tally.count[i].n, tally.count[i].name, cell->id);
    perp_cell_label(study, cell, out);
    perp_text_add(out, ")\n");
  }
  if (tally.n > most) perp_text_add(out, "  and %d more reasons\n", tally.n - most);
  free(tally.count);
}

void perp_trial_warn(const perp_trial *trial, const perp_study *study, const perp_plan *plan)
{
  enum { MOST = 5 };
  perp_text said = { 0 };
  perp_trial_say(trial, study, plan, PERP_TRIAL_REFUSED, MOST, &said);
  if (said.n > 0) perp_say("%.*s", (int)said.n - 1, said.s);
  perp_text_free(&said);
}
