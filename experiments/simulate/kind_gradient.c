/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies whose runs are derivatives of steps: one scene, one state, one way to differentiate.
 *
 *   kind: gradient
 *   scene: rolling-sphere
 *   after: 20                      # steps before
 *   steps: 1                       # steps that are differentiated
 *   wrt: "v:0.x,friction"
 *   grid: { by: [implicit, central, forward], eps: [1e-3, 1e-6] }
 *
 * The reference of all of them are Richardson's difference quotients of whole steps; where a
 * verdict says that a column is differentiable on one side only, those of that side. */
#include "experiments/simulate/kind_gradient.h"

#include "experiments/base/shell.h"
#include "experiments/simulate/gradient_run.h"
#include "experiments/simulate/parts.h"
#include "experiments/study/commands.h"
#include "experiments/study/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  P_SCENE,
  P_FORMULATION,
  P_ODE,
  P_KKT,
  P_LCP,
  P_STAB,
  P_CONTACT,
  P_H,
  P_AFTER,
  P_STEPS,
  P_WRT,
  P_BY,
  P_EPS
};
static const perp_param params[] = {
  [P_SCENE] = { .key = "scene",
                .help = "Scene whose steps are differentiated (perp list scenes).",
                .type = PERP_PARAM_PLUGIN,
                .plugin = PERP_KIND_scene },
  PERP_PART_PARAMS(P_FORMULATION),
  [P_H] = { "h", "Step size.", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL,
            PERP_OPEN_MIN | PERP_OPEN_MAX, "", false },
  [P_AFTER] = { "after", "Number of steps before the differentiated ones.", PERP_PARAM_INT,
                PERP_KIND_NONE, "", 0, 1e9, 0, "0", false },
  [P_STEPS] = { "steps", "Number of steps to differentiate.", PERP_PARAM_INT, PERP_KIND_NONE, "", 1,
                1e6, 0, "1", false },
  [P_WRT] = { "wrt", "Parameters of the derivatives, as of perp gradient --wrt.", PERP_PARAM_TEXT,
              PERP_KIND_NONE, "", 0, 0, 0, "state", false },
  [P_BY] = { "by", "Derivatives on the active set (implicit), or quotients (central, forward).",
             PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "implicit", false },
  [P_EPS] = { "eps", "Step of a difference quotient, in SI units of the parameter.",
              PERP_PARAM_REAL, PERP_KIND_NONE, "", 0, HUGE_VAL, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
              false },
  { 0 }
};

static const perp_metric table[] = {
  { "error", "",
    "Largest error of a column that has a derivative, of one side at least, over its largest "
    "entry (at least 1e-3)",
    -1, false },
  { "kink", "",
    "Largest difference of a column between both sides, over its largest entry, by difference "
    "quotients",
    0, false },
  { "verdict", "", "0 smooth, 1 singular, 2 kink, 3 ambiguous, 4 jump, 5 none", 0, false },
  { "one.sided", "", "Number of columns whose derivative is that of one side, or of neither", 0,
    false },
  { "columns", "", "Number of parameters", 0, false },
  { "active", "", "Number of active rows of contacts and actuators in the last step", 0, false },
  { "cost", "", "CPU time over that of the same steps without derivatives", -1, true },
  { NULL, NULL, NULL, 0, false }
};

static const perp_metric *kind_gradient_metrics(const perp_ctx *ctx, perp_pool *pool)
{
  (void)ctx, (void)pool;
  return table;
}

static perp_request kind_gradient_request(const perp_cell *cell)
{
  perp_request request = { .scene = cell->value[P_SCENE].text, .h = cell->value[P_H].number };
  for (int part = 0; part < PERP_PART_ENGINE; part++)
    *perp_part_text(&request, part) = cell->value[P_FORMULATION + part].text;
  return request;
}

static bool kind_gradient_implicit(const perp_cell *cell)
{
  return strcmp(cell->value[P_BY].text, "implicit") == 0;
}

/* eps has no effect on derivatives that are no differences. */
static void kind_gradient_canonical(perp_ctx *ctx, const perp_study *study, perp_pool *pool,
                                    void **memory, perp_value *value, char (*why)[PERP_WHY_MAX])
{
  (void)ctx, (void)study, (void)pool, (void)memory;
  if (strcmp(value[P_BY].text, "implicit") != 0 || value[P_EPS].text[0] == '\0') return;
  value[P_EPS] = perp_param_value(&params[P_EPS], "");
  snprintf(why[P_EPS], PERP_WHY_MAX, "with by: implicit");
}

static int kind_gradient_wrong(const perp_study *study, const perp_cell *cell,
                               char why[PERP_WHY_MAX])
{
  (void)study;
  const char *by = cell->value[P_BY].text;
  if (!kind_gradient_implicit(cell) && strcmp(by, "central") != 0 && strcmp(by, "forward") != 0) {
    snprintf(why, PERP_WHY_MAX, "by: '%.40s' (valid: implicit, central, forward)", by);
    return P_BY;
  }
  if (kind_gradient_implicit(cell) || cell->value[P_EPS].number > 0) return -1;
  snprintf(why, PERP_WHY_MAX, "by: %.40s needs eps, the step of the quotient", by);
  return P_EPS;
}

/* The steps of a cell with their derivatives; to be freed on failure too. */
static perp_status kind_gradient_make(perp_ctx *ctx, const perp_cell *cell,
                                      const perp_request *request, perp_gradient_run *run)
{
  const perp_value *value = cell->value;
  return perp_gradient_run_make(ctx, request, (int)value[P_AFTER].number,
                                (int)value[P_STEPS].number, value[P_WRT].text, run);
}

/* The columns as the cell asks for them, [2 nv n]. */
static perp_status kind_gradient_columns(perp_ctx *ctx, const perp_cell *cell,
                                         const perp_gradient_run *run, double *out)
{
  const size_t rows = 2 * (size_t)run->nv;
  const int side = strcmp(cell->value[P_BY].text, "forward") == 0 ? 1 : 0;
  if (kind_gradient_implicit(cell)) {
    memcpy(out, run->D, rows * (size_t)run->names.n * sizeof *out);
    return PERP_OK;
  }
  for (int j = 0; j < run->names.n; j++)
    PERP_TRY(perp_gradient_run_quotient(ctx, run, j, cell->value[P_EPS].number, side,
                                        out + rows * (size_t)j));
  return PERP_OK;
}

static perp_status kind_gradient_judge(perp_ctx *ctx, const perp_gradient_run *run,
                                       const double *columns, perp_outcome *out)
{
  const int rows = 2 * run->nv;
  double *at = perp_xalloc(3 * (size_t)rows, sizeof *at), error = 0, kink = 0;
  perp_status status = PERP_OK;
  int one_sided = 0;
  for (int wrt = 0; wrt < run->names.n && status == PERP_OK; wrt++) {
    const double *got = columns + (size_t)rows * (size_t)wrt;
    const double eps = perp_gradient_run_eps(run->names.wrt[wrt].kind);
    const perp_gradient_side side = run->side[wrt];
    one_sided += side != PERP_GRADIENT_BOTH;
    for (int k = 0; k < 2 && status == PERP_OK; k++)
      status = perp_gradient_run_richardson(ctx, run, wrt, eps, k == 0 ? 1 : -1, at + rows * k);
    if (status == PERP_OK && side == PERP_GRADIENT_BOTH)
      status = perp_gradient_run_richardson(ctx, run, wrt, eps, 0, at + 2 * rows);
    kink = fmax(kink, fmin(perp_gradient_run_off(run, at, at + rows),
                           perp_gradient_run_off(run, at + rows, at)));
    if (side == PERP_GRADIENT_NEITHER) continue;
    const double *want = side == PERP_GRADIENT_BOTH   ? at + 2 * rows
                         : side == PERP_GRADIENT_LEFT ? at + rows
                                                      : at;
    error = fmax(error, perp_gradient_run_off(run, got, want));
  }
  free(at);
  perp_outcome_add(out, "error", error);
  perp_outcome_add(out, "kink", kink);
  perp_outcome_add(out, "verdict", run->report.worst);
  perp_outcome_add(out, "one.sided", one_sided);
  perp_outcome_add(out, "columns", run->names.n);
  perp_outcome_add(out, "active", run->report.active);
  return status;
}

/* The least of several times, as one step is short. */
static perp_status kind_gradient_clock(perp_ctx *ctx, const perp_cell *cell,
                                       const perp_request *request, perp_gradient_run *first,
                                       double *columns, perp_outcome *out)
{
  double with = first->cpu, plain = first->cpu_plain, spent = 0;
  for (int i = 0; i < 5 && !kind_gradient_implicit(cell); i++) { /* the first time is a cold one */
    perp_gradient_run again;
    const perp_status status = kind_gradient_make(ctx, cell, request, &again);
    plain = fmin(plain, again.cpu_plain);
    perp_gradient_run_free(&again);
    PERP_TRY(status);
  }
  for (int i = 0; i < 1000 && spent < 0.05; i++) {
    perp_gradient_run again;
    double cpu;
    const double start = perp_clock_thread();
    perp_status status;
    if (kind_gradient_implicit(cell)) {
      status = kind_gradient_make(ctx, cell, request, &again);
      cpu = again.cpu;
      plain = fmin(plain, again.cpu_plain);
      perp_gradient_run_free(&again);
    } else {
      status = kind_gradient_columns(ctx, cell, first, columns);
      cpu = perp_clock_thread() - start;
    }
    PERP_TRY(status);
    with = i == 0 && !kind_gradient_implicit(cell) ? cpu : fmin(with, cpu);
    spent += perp_clock_thread() - start;
  }
  perp_outcome_add(out, "cost", with / plain);
  return PERP_OK;
}

static void kind_gradient_run(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  const perp_cell *cell = job->cell;
  perp_request request = kind_gradient_request(cell);
  perp_gradient_run run;
  const bool setup = job->what == PERP_JOB_SETUP;
  perp_status status = setup ? perp_gradient_run_make(ctx, &request, 0, 1, cell->value[P_WRT].text,
                                                      &run)
                             : kind_gradient_make(ctx, cell, &request, &run);
  double *columns = NULL;
  if (status == PERP_OK && !setup) {
    columns = perp_xalloc(2 * (size_t)run.nv * (size_t)run.names.n, sizeof *columns);
    status = kind_gradient_columns(ctx, cell, &run, columns);
    if (status == PERP_OK)
      status = job->timing ? kind_gradient_clock(ctx, cell, &request, &run, columns, out)
                           : kind_gradient_judge(ctx, &run, columns, out);
  }
  perp_gradient_run_free(&run);
  free(columns);
  out->status = status == PERP_OK                         ? PERP_CELL_OK
                : perp_exit_of(status) == PERP_EXIT_USAGE ? PERP_CELL_SKIPPED
                                                          : perp_cell_failed(status);
  if (status == PERP_OK) return;
  snprintf(out->reason, sizeof out->reason, "refused");
  snprintf(out->cause, sizeof out->cause, "%s", ctx->msg);
}

static double kind_gradient_work(const perp_study *study, const perp_cell *cell)
{
  (void)study;
  return 100 + cell->value[P_AFTER].number + 10 * cell->value[P_STEPS].number;
}

static void kind_gradient_command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  (void)study;
  perp_text_add(out, "perp gradient ");
  perp_shell_path(out, cell->value[P_SCENE].text);
  for (int param = P_FORMULATION; param <= P_WRT; param++) {
    if (cell->value[param].text[0] == '\0') continue;
    perp_text_add(out, " --%s ", params[param].key);
    perp_shell_word(out, cell->value[param].text);
  }
  perp_text_add(out, " --check");
}

const perp_cell_kind perp_kind_gradient = { .name = "gradient",
                                            .params = params,
                                            .metrics = kind_gradient_metrics,
                                            .canonical = kind_gradient_canonical,
                                            .run = kind_gradient_run,
                                            .tries = true,
                                            .refuses = true,
                                            .wrong = kind_gradient_wrong,
                                            .work = kind_gradient_work,
                                            .command = kind_gradient_command };
