/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp ref: the references of a study and their mutual agreement */
#include "experiments/cli/command.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/simulate/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Each scene of the plan once. */
static int compare_references(perp_ctx *ctx, const perp_args *args, const perp_study *study,
                              const perp_plan *plan, double below, bool json)
{
  int status = PERP_EXIT_OK;
  bool agree = true;
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  int p_scene = perp_kind_param(study->kind, "scene"),
      p_end = perp_kind_param(study->kind, "t_end");
  const char *method = study->reference.method[0] != '\0' ? study->reference.method : "auto";
  const char *with = study->reference.with[0] != '\0' ? study->reference.with : "auto";
  bool recompute = perp_option_given(args, "recompute");
  char *dir = perp_xprintf("results/%s", study->name);
  for (int cell = 0; cell < plan->n && status == PERP_EXIT_OK; cell++) {
    const char *scene = plan->cells[cell].value[p_scene].text;
    const double end = plan->cells[cell].value[p_end].number;
    bool before = false;
    for (int k = 0; k < cell && !before; k++)
      before = strcmp(plan->cells[k].value[p_scene].text, scene) == 0 &&
               plan->cells[k].value[p_end].number == end;
    if (before) continue;
    perp_agreement agreement;
    const perp_reference_request request = { scene, method, with, end };
    bool kept = !recompute && perp_reference_kept(dir, &request, &agreement);
    if (!kept && perp_reference_compare(ctx, &request, &agreement) != PERP_OK) {
      status = perp_refuse(ctx, PERP_EXIT_INPUT);
      break;
    }
    bool good = !(agreement.worst > below),
         both = agreement.method[0] != '\0' && agreement.with[0] != '\0';
    agree = agree && good;
    if (json)
      perp_reference_write(&out, &request, &agreement, below);
    else if (both)
      printf("%s: %s: %s against %s differ by %.3g at %d times to %g s%s\n", scene,
             good ? "agree" : "DISAGREE", agreement.method, agreement.with, agreement.worst,
             agreement.times, agreement.t_end,
             kept ? " (stored by an earlier run; --recompute computes it again)" : "");
    else
      printf("%s: %s%s\n", scene,
             agreement.method[0] != '\0' ? "only one reference: " : "no reference: invariants only",
             agreement.method);
  }
  if (json) perp_json_close(&out, ']');
  free(dir);
  return status == PERP_EXIT_OK && !agree ? PERP_EXIT_REFERENCE : status;
}

static int cmd_ref(perp_ctx *ctx, const perp_args *args)
{
  perp_study *study;
  perp_plan plan;
  int status = perp_command_plan(ctx, args, false, &study, &plan);
  if (status >= 0) return status;
  double below = study->reference.with[0] != '\0' ? study->reference.below : 1e-9;
  const char *text = perp_args_get(args, "below");
  const bool json = perp_option_given(args, "json");
  if (text != NULL && (perp_parse_real(ctx, text, "", &below) != PERP_OK || !(below > 0)))
    status = perp_usage_error(args, "--below must be a positive number: got '%s'", text);
  else if (study->kind == &perp_kind_simulate)
    status = compare_references(ctx, args, study, &plan, below, json);
  else {
    printf(
        "studies of kind %s need no references: solutions are checked against the problem itself\n",
        study->kind->name);
    status = PERP_EXIT_OK;
  }
  perp_plan_free(&plan);
  perp_study_free(study);
  return status;
}

static const perp_flag ref_flags[] = {
  { "set", 0, "KEY=VALUE", "Override a value of the study, as in perp run." },
  { "below", 0, "X",
    "Largest relative difference that is accepted (default: that of the study, or 1e-9)." },
  { "recompute", 0, NULL,
    "Compute the references even if results/NAME has them from an earlier run of the same "
    "program." },
  { "json", 0, NULL, "Print JSON." },
  { 0 }
};

const perp_command perp_ref_command = {
  .cli.name = "ref",
  .cli.usage = "STUDY [options]",
  .cli.summary = "Computes the reference solutions that errors are measured against, one line per "
                 "scene. Two independent references are compared: their difference is the "
                 "uncertainty of every error in the report. A scene with one reference is compared "
                 "with an extrapolation (gsl:rk8pd in 3200 and 6400 steps).",
  .cli.more = "Exit status: 0 the references agree, 8 they disagree.",
  .cli.example = "perp ref chain6-stab",
  .cli.flags = ref_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Compute the reference solutions of a study and compare them",
  .run = cmd_ref
};
