/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp sequence */
#include "experiments/lcp/lcp_cmd.h"
#include "experiments/lcp/sequence_run.h"

#include "experiments/base/guard.h"
#include "experiments/base/json.h"
#include "experiments/base/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct wanted {
  const perp_spec *spec;
  double tol;
  bool json;
};

static void cmd_lcp_sequence_json(const struct wanted *wanted, const perp_sequence *sequence,
                                  const perp_sequence_answer *cold,
                                  const perp_sequence_answer *warm, const char *name, int solved,
                                  int problems)
{
  const perp_sequence_sums a = perp_sequence_sum(sequence, cold);
  perp_json json = { .out = stdout, .indent = true };
  perp_json_members(&json, "{ status %s, sequence %s, lcp %s, tol %g, problems %d, solved %d",
                    solved == problems ? "solved" : "failed", sequence->problem->sequence.name,
                    name, wanted->tol, problems, solved);
  perp_json_members(&json, "rows_born %d, rows_gone %d, cold_work %g, cold_iterations %g",
                    sequence->born, sequence->gone, a.work, a.iterations);
  if (warm != NULL) {
    const perp_sequence_sums b = perp_sequence_sum(sequence, warm);
    perp_json_members(&json, "warm_work %g, warm_iterations %g", b.work, b.iterations);
  }
  perp_json_open(&json, "each", '[');
  for (int k = 0; k < sequence->n; k++) {
    perp_json_open(&json, NULL, '{');
    perp_json_object(&json, "cold", "reason %s, residual %g, iterations %d, work %g",
                     perp_reason_name(cold[k].stats.reason), cold[k].stats.residual,
                     cold[k].stats.iterations, cold[k].stats.work);
    if (warm != NULL && k > 0)
      perp_json_object(&json, "warm", "reason %s, residual %g, iterations %d, work %g",
                       perp_reason_name(warm[k].stats.reason), warm[k].stats.residual,
                       warm[k].stats.iterations, warm[k].stats.work);
    perp_json_close(&json, '}');
  }
  perp_json_close(&json, ']');
  perp_json_close(&json, '}');
  printf("\n");
}

/* Three columns of the table. */
static void cmd_lcp_sequence_put(const perp_sequence_answer *answer, char text[3][32])
{
  snprintf(text[0], 32, "%s", perp_reason_name(answer->stats.reason));
  snprintf(text[1], 32, "%d", answer->stats.iterations);
  snprintf(text[2], 32, "%.4g", answer->stats.work);
}

static void cmd_lcp_sequence_print(perp_ctx *ctx, const perp_sequence *sequence,
                                   const perp_sequence_answer *cold,
                                   const perp_sequence_answer *warm, const char *name, int solved,
                                   int problems)
{
  perp_table table;
  perp_table_init(&table, "rrrrlrrlrr");
  perp_table_row(&table,
                 (const char *const[]){ "problem", "rows", "born", "gone", "cold", "iterations",
                                        "work", "warm", "iterations", "work" });
  for (int problem = 0; problem < sequence->n; problem++) {
    char number[4][16], c[3][32], w[3][32] = { "", "", "" };
    int born = 0, gone = 0;
    if (problem > 0) perp_lcp_carry_count(ctx, &sequence->problem[problem], &born, &gone);
    const int value[] = { problem, sequence->problem[problem].p.n, born, gone };
    for (int i = 0; i < 4; i++) snprintf(number[i], sizeof number[i], "%d", value[i]);
    cmd_lcp_sequence_put(&cold[problem], c);
    if (warm != NULL && problem > 0) cmd_lcp_sequence_put(&warm[problem], w);
    perp_table_row(&table, (const char *const[]){ number[0], number[1], number[2], number[3], c[0],
                                                  c[1], c[2], w[0], w[1], w[2] });
  }
  perp_table_print(&table, stdout);
  perp_table_free(&table);
  printf("# %s by %s: %d of %d solved\n", sequence->problem->sequence.name, name, solved, problems);
  const perp_sequence_sums a = perp_sequence_sum(sequence, cold);
  if (warm == NULL) {
    printf("# no warm start: %s cannot use a guess\n", name);
    return;
  }
  const perp_sequence_sums b = perp_sequence_sum(sequence, warm);
  printf("# problems 1 ... %d: work cold %.4g, warm %.4g", sequence->n - 1, a.work, b.work);
  if (a.work > 0) printf(", ratio %.3g", b.work / a.work);
  printf("; iterations cold %g, warm %g\n", a.iterations, b.iterations);
}

static int cmd_lcp_sequence_solve(perp_ctx *ctx, const struct wanted *wanted,
                                  perp_sequence *sequence)
{
  const bool warms = perp_sequence_warms(wanted->spec->d);
  char name[512];
  perp_lcp_solver *solver = NULL;
  perp_sequence_answer *cold = perp_xalloc((size_t)sequence->n, sizeof *cold);
  perp_sequence_answer *warm = perp_xalloc((size_t)sequence->n, sizeof *warm);
  perp_spec_format(wanted->spec, name, sizeof name);
  perp_status status = perp_lcp_create(ctx, wanted->spec, sequence->rows, sequence->columns,
                                       &solver);
  if (status == PERP_OK) status = perp_sequence_begin(ctx, solver, wanted->tol, sequence, cold);
  if (status == PERP_OK)
    status = perp_sequence_march(ctx, solver, wanted->tol, false, sequence, cold);
  if (status == PERP_OK && warms)
    status = perp_sequence_march(ctx, solver, wanted->tol, true, sequence, warm);
  perp_lcp_destroy(solver);
  int solved = 0, exit_status;
  const int problems = warms ? 2 * sequence->n - 1 : sequence->n;
  if (status == PERP_OK) {
    for (int k = 0; k < sequence->n; k++)
      solved += perp_sequence_solved(&cold[k]) + (warms && k > 0 && perp_sequence_solved(&warm[k]));
    if (wanted->json)
      cmd_lcp_sequence_json(wanted, sequence, cold, warms ? warm : NULL, name, solved, problems);
    else
      cmd_lcp_sequence_print(ctx, sequence, cold, warms ? warm : NULL, name, solved, problems);
    exit_status = solved == problems ? PERP_EXIT_OK : PERP_EXIT_FAILED;
  } else {
    exit_status = perp_lcp_refuse(ctx, status);
  }
  free(cold);
  free(warm);
  return exit_status;
}

/* In a process of its own: outside code may do anything to it. */
static int cmd_lcp_sequence_apart(perp_ctx *ctx, const struct wanted *wanted,
                                  perp_sequence *sequence)
{
  perp_guard guard;
  if (perp_guard_begin(ctx, 0, 0, &guard) != PERP_OK)
    return perp_lcp_refuse(ctx, PERP_ERR_INTERNAL);
  if (guard.child) return perp_guard_leave(&guard, cmd_lcp_sequence_solve(ctx, wanted, sequence));
  int status = guard.code;
  if (guard.cut != PERP_CUT_NONE) {
    const bool broken = guard.cut == PERP_CUT_CRASH || guard.cut == PERP_CUT_MEMORY;
    perp_say("not solved: %s: %s",
             guard.cut == PERP_CUT_CRASH    ? "crash"
             : guard.cut == PERP_CUT_MEMORY ? "out-of-memory"
                                            : "interrupted",
             guard.cause);
    status = broken ? PERP_EXIT_INFRA : PERP_EXIT_FAILED;
  }
  perp_guard_free(&guard);
  return status;
}

static int cmd_lcp_sequence(perp_ctx *ctx, const perp_args *args)
{
  struct wanted wanted = { .tol = 1e-10, .json = perp_option_given(args, "json") };
  perp_spec spec;
  perp_sequence sequence;
  int status = perp_lcp_memory(ctx, args);
  if (status < 0) status = perp_option_real(ctx, args, "tol", "", false, &wanted.tol);
  if (status >= 0) return status;
  const char *name = perp_args_get(args, "lcp");
  if (perp_spec_parse(ctx, PERP_KIND_lcp, name != NULL ? name : "dantzig", &spec) != PERP_OK)
    return perp_lcp_refuse(ctx, PERP_ERR_OPTION);
  wanted.spec = &spec;
  const perp_status opened = perp_sequence_open(ctx, args->arg[0], &sequence);
  status = opened == PERP_OK ? cmd_lcp_sequence_apart(ctx, &wanted, &sequence)
                             : perp_lcp_refuse(ctx, opened);
  perp_sequence_close(&sequence);
  perp_spec_free(&spec);
  return status;
}

static const perp_flag lcp_sequence_flags[] = {
  { "lcp", 0, "NAME[:OPTIONS]", "Solver of the problems (perp list lcp; default: dantzig)." },
  { "tol", 0, "TOL", "Largest rel of a solution (default: 1e-10)." },
  { "json", 0, NULL, "Print one JSON object." },
  PERP_LCP_MEMORY_FLAG,
  { 0 }
};

const perp_command perp_lcp_sequence_command = {
  .cli.name = "lcp sequence",
  .cli.usage = "PREFIX",
  .cli.summary = "Solves the problems PREFIX-000.lcp, PREFIX-001.lcp, ... of a sequence in order "
                 "(see perp lcp harvest --sequence). Each problem is solved twice: from zero, and "
                 "from the previous solution.",
  .cli.more = "Exit status: 0 all solved, cold and warm; 10 some not solved; 5 the solver crashed; "
              "2 wrong usage; 3 invalid file, or files that are not a sequence.",
  .cli.example = "perp lcp sequence problems/stack --lcp bpp  # after perp lcp harvest stack "
                 "--sequence 6 -o problems",
  .cli.flags = lcp_sequence_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Solve a sequence of problems, cold and warm",
  .run = cmd_lcp_sequence
};
