/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A kind of study whose cells are trivial or misbehave on purpose, to test the runner without
 * physics. */
#ifndef PERP_TOY_KIND_H
#define PERP_TOY_KIND_H

#include "experiments/study/plan.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* plug-ins of kind stab, for names with options */
struct toy_opts {
  double alpha;
  int passes;
};
static const perp_opt toy_options[] = {
  PERP_REAL(struct toy_opts, alpha, 10, 0, HUGE_VAL, 0, "1/s", "feedback"),
  PERP_INT(struct toy_opts, passes, 1, 1, 10, "passes"), PERP_OPTIONS_END
};
static const perp_desc toy_none = { "none", "s", "r", NULL, NULL, 0, 0 };
static const perp_desc toy_baumgarte = {
  "baumgarte", "s", "r", NULL, toy_options, sizeof(struct toy_opts), 0
};
static const perp_desc toy_post = {
  "post", "s", "r", NULL, toy_options, sizeof(struct toy_opts), 0
};
static const perp_plugin toy_plugins[] = { { PERP_KIND_stab, &toy_none },
                                           { PERP_KIND_stab, &toy_baumgarte },
                                           { PERP_KIND_stab, &toy_post },
                                           { PERP_KIND_NONE, NULL } };

static const perp_param toy_params[] = {
  { "act", "what the cell does", PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "compute", false },
  { "stab", "a plug-in", PERP_PARAM_PLUGIN, PERP_KIND_stab, "", 0, 0, 0, "", false },
  { "h", "step", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, PERP_OPEN_MIN, NULL, false },
  { "n", "size", PERP_PARAM_INT, PERP_KIND_NONE, "", 1, 1000, 0, "1", false },
  { "seed", "of random numbers", PERP_PARAM_INT, PERP_KIND_NONE, "", 0, 9e15, 0, "1", false },
  { 0 }
};

static const perp_metric toy_metrics[] = {
  { "err", "m or rad", "error", -1, false },
  { "calls", "", "work", -1, false },
  { "time.step_us", "us", "time of a step", -1, true },
  { NULL, NULL, NULL, 0, false },
};
static const perp_metric *toy_metric_list(const perp_ctx *ctx, perp_pool *pool)
{
  (void)ctx;
  (void)pool;
  return toy_metrics;
}

static void toy_sleep(double seconds)
{
  usleep((useconds_t)(1e6 * seconds));
}

/* err = h^2 n: exact in every run */
static void toy_run(perp_ctx *ctx, const perp_job *job, perp_outcome *out)
{
  (void)ctx;
  const perp_cell_kind *kind = job->study->kind;
  const char *act = job->cell->value[perp_kind_param(kind, "act")].text;
  double h = job->cell->value[perp_kind_param(kind, "h")].number;
  double n = job->cell->value[perp_kind_param(kind, "n")].number;
  volatile char *null = NULL;
  out->status = PERP_CELL_OK;
  snprintf(out->reason, sizeof out->reason, "exact");
  if (strcmp(act, "segv") == 0) *null = 1;
  if (strcmp(act, "abort") == 0) abort();
  static bool
      poisoned; /* what one cell leaves behind in its process, and another one stumbles over */
  if (strcmp(act, "poison") == 0) poisoned = true;
  if (strcmp(act, "fragile") == 0 && poisoned) abort();
  if (strcmp(act, "say") == 0) fprintf(stderr, "h is %g\n", h);
  if (strcmp(act, "exit") == 0) _exit(3);
  if (strcmp(act, "print") == 0) {
    fprintf(stderr, "said on stderr\n");
    abort();
  }
  if (strcmp(act, "loop") == 0)
    for (;;) toy_sleep(1);
  if (strcmp(act, "orphan") == 0 && fork() == 0)
    for (;;) toy_sleep(1); /* holds the pipe open */
  if (strcmp(act, "eat") == 0)
    for (;;) {
      char *block = malloc(1 << 20);
      memset(block, 1, 1 << 20); /* NULL is not looked at, on purpose */
      __asm__ volatile("" : : "r"(block) : "memory");
    }
  if (strcmp(act, "scribble") == 0) {
    memset(out, 0x7f, sizeof *out);
    return;
  }
  if (strcmp(act, "slow") == 0) toy_sleep(0.03);
  if (strcmp(act, "diverge") == 0) {
    out->status = PERP_CELL_DIVERGED;
    snprintf(out->reason, sizeof out->reason, "not-finite");
    snprintf(out->cause, sizeof out->cause, "not finite at t = 1, \"quoted\"");
    perp_outcome_add(out, "err", (double)INFINITY);
    return;
  }
  perp_outcome_add(out, "err", strcmp(act, "nan") == 0 ? (double)NAN : h * h * n);
  perp_outcome_add(out, "calls", n);
  perp_outcome_add(out, "time.step_us", 1 + 1e-3 * (double)getpid());
  perp_outcome_add(out, "unknown.metric", 1);
}

static void toy_canonical(perp_ctx *ctx, const perp_study *study, perp_pool *pool, void **memory,
                          perp_value *value, char (*why)[PERP_WHY_MAX])
{
  (void)ctx;
  (void)pool;
  (void)memory;
  /* n has no meaning for `none` */
  const int n = perp_kind_param(study->kind, "n");
  if (strcmp(value[perp_kind_param(study->kind, "stab")].text, "none") != 0) return;
  value[n] = perp_param_value(&study->kind->params[n], "1");
  snprintf(why[n], PERP_WHY_MAX, "with stab none");
}

static const perp_cell_kind toy_kind = { .name = "toy",
                                         .params = toy_params,
                                         .metrics = toy_metric_list,
                                         .canonical = toy_canonical,
                                         .run = toy_run };
static const perp_cell_kind *const toy_kinds[] = { &toy_kind, NULL };

/* Read a study of this kind from text. */
__attribute__((unused)) static perp_status toy_study(perp_ctx *ctx, const char *text,
                                                     perp_diag *diag, perp_study **study)
{
  perp_study_request q = { .file = "toy.yaml", .text = text, .kinds = toy_kinds };
  return perp_study_read(ctx, &q, diag, study);
}

#endif
