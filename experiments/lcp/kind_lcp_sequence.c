/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What cells of single problems and of sequences share: the clock, and solvers that come to be
 * timed. */
#include "experiments/lcp/kind_lcp_sequence.h"
#include "experiments/lcp/sequence_run.h"
#include "experiments/study/study.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double perp_kind_lcp_timed(void (*call)(void *user), void *user, double least,
                           perp_clock_reference *pace)
{
  double start = perp_clock_thread() - pace->spent, spent;
  int n = 0;
  do {
    call(user);
    n++;
    double now = perp_clock_thread();
    spent = now - pace->spent - start;
    perp_clock_reference_tick(pace, now);
  } while (spent < least);
  return spent / n;
}

perp_status perp_kind_lcp_in_place(perp_ctx *ctx, const perp_spec *named, int n, int nv,
                                   perp_lcp_solver **replaced)
{
  const perp_desc *desc = named->d;
  bool apart = false;
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->key != NULL; opt++)
    apart = apart || strcmp(opt->key, "isolate") == 0;
  if (!(desc->caps & PERP_LCP_PEER) || !apart) return PERP_OK;
  perp_lcp_solver *solver = NULL;
  perp_spec spec;
  char name[512];
  perp_spec_format(named, name, sizeof name);
  if (strstr(name, "isolate=") != NULL) return PERP_OK; /* as the study wants it */
  char *text = perp_xprintf("%s%cisolate=false", name, strcmp(name, desc->name) == 0 ? ':' : ',');
  perp_status status = perp_spec_parse(ctx, PERP_KIND_lcp, text, &spec);
  free(text);
  PERP_TRY(status);
  status = perp_lcp_create(ctx, &spec, n, nv, &solver);
  perp_spec_free(&spec);
  PERP_TRY(status);
  perp_lcp_destroy(*replaced);
  *replaced = solver;
  return PERP_OK;
}

void perp_kind_lcp_failed(const perp_ctx *ctx, perp_status status, perp_outcome *out)
{
  out->status = perp_cell_failed(status);
  snprintf(out->cause, sizeof out->cause, "%s", ctx->msg);
}

/* A cell whose problem is a sequence: all problems in order, each from zero (cold) and from what is
 * carried over of the answer before (warm).
 *
 * What is counted and timed are problems 1 ... n - 1, cold; problem 0 is where the warm ones begin.
 * Figures of the judge are the worst of all answers.  Warm over cold is there where everything was
 * solved, by a method that profits from a guess: others start from zero always, and a ratio of 1
 * would say nothing. */

struct solving {
  perp_ctx *ctx;
  perp_lcp_solver *solver;
  double tol;
  bool warms; /* the method profits from a guess */
  perp_sequence s;
  perp_sequence_answer *cold, *warm; /* [n] */
  perp_status status;
};

static void kind_lcp_sequence_cold(void *user)
{
  struct solving *solving = user;
  solving->status = perp_sequence_march(solving->ctx, solving->solver, solving->tol, false,
                                        &solving->s, NULL);
}

static void kind_lcp_sequence_warm(void *user)
{
  struct solving *solving = user;
  solving->status = perp_sequence_march(solving->ctx, solving->solver, solving->tol, true,
                                        &solving->s, NULL);
}

static perp_status kind_lcp_sequence_solve(struct solving *solving)
{
  PERP_TRY(
      perp_sequence_begin(solving->ctx, solving->solver, solving->tol, &solving->s, solving->cold));
  PERP_TRY(perp_sequence_march(solving->ctx, solving->solver, solving->tol, false, &solving->s,
                               solving->cold));
  if (!solving->warms) return PERP_OK;
  return perp_sequence_march(solving->ctx, solving->solver, solving->tol, true, &solving->s,
                             solving->warm);
}

/* One answer into the verdict of the cell: the first that is none is its cause. */
static void kind_lcp_sequence_count(const perp_sequence_answer *answer, int k, const char *how,
                                    perp_outcome *out)
{
  const perp_reason reason = answer->stats.reason;
  out->problems++;
  if (perp_sequence_solved(answer)) return;
  if (reason == PERP_SWEEPS_DONE)
    out->swept++;
  else
    out->unsolved++;
  const perp_cell_status now = reason == PERP_SWEEPS_DONE ? PERP_CELL_FIXED_WORK
                               : reason == PERP_MAX_ITER  ? PERP_CELL_MAXITER
                                                          : PERP_CELL_UNSOLVED;
  if (out->unsolved + out->swept == 1) {
    out->status = now;
    snprintf(out->reason, sizeof out->reason, "%s", perp_reason_name(reason));
    snprintf(out->cause, sizeof out->cause, "problem %d, %s: %s after %d iterations, rel %.3g", k,
             how, out->reason, answer->stats.iterations, answer->stats.residual);
  } else if (out->status != now) { /* what is worse: unsolved, maxiter, fixed-work */
    if (now == PERP_CELL_UNSOLVED || out->status == PERP_CELL_FIXED_WORK) out->status = now;
  }
}

static void kind_lcp_sequence_verdict(const struct solving *solving, perp_outcome *out)
{
  out->status = PERP_CELL_OK;
  snprintf(out->reason, sizeof out->reason, "%s", perp_reason_name(solving->cold->stats.reason));
  for (int cold = 0; cold < solving->s.n; cold++)
    kind_lcp_sequence_count(&solving->cold[cold], cold, "cold", out);
  bool lame = false; /* a warm start from what is no answer */
  for (int warm = 1; warm < solving->s.n && solving->warms; warm++) {
    kind_lcp_sequence_count(&solving->warm[warm], warm, "warm", out);
    lame |= warm + 1 < solving->s.n && !perp_sequence_solved(&solving->warm[warm]);
  }
  lame |= solving->warms && !perp_sequence_solved(solving->cold);
  const double none = out->unsolved + out->swept;
  if (none == 0) return;
  char first[sizeof out->cause];
  snprintf(first, sizeof first, "%s", out->cause);
  snprintf(out->cause, sizeof out->cause, "%g of %g solved; %.300s%s", out->problems - none,
           out->problems, first, lame ? "; later warm starts use its last iterate" : "");
}

/* The worst of all answers, as far as there is anything to judge. */
static void kind_lcp_sequence_figures(const struct solving *solving, perp_outcome *out)
{
  static const char *const names[] = {
    "residual", "rel", "data", "abs", "componentwise", "merit.siconos", "merit.fclib", "merit.abh"
  };
  enum { FIGURES = sizeof names / sizeof *names };
  double worst[FIGURES];
  bool judged = false;
  for (int i = 0; i < FIGURES; i++) worst[i] = 0;
  for (int cold = 0; cold < 2 * solving->s.n; cold++) {
    const perp_sequence_answer *answer = cold < solving->s.n ? &solving->cold[cold]
                                                             : &solving->warm[cold - solving->s.n];
    if (cold == solving->s.n || (cold > solving->s.n && !solving->warms) ||
        answer->stats.reason == PERP_INFEASIBLE)
      continue;
    const perp_lcp_judgement *judgement = &answer->judgement;
    const double value[] = { answer->stats.residual,   judgement->rel,
                             judgement->data,          judgement->abs,
                             judgement->componentwise, judgement->siconos,
                             judgement->fclib,         judgement->abh };
    for (int i = 0; i < FIGURES; i++)
      if (!(value[i] <= worst[i])) worst[i] = value[i]; /* NaN is worse than all */
    judged = true;
  }
  for (int i = 0; i < FIGURES && judged; i++) perp_outcome_add(out, names[i], worst[i]);
}

static void kind_lcp_sequence_sums(const struct solving *solving, perp_outcome *out)
{
  const perp_sequence_sums cold = perp_sequence_sum(&solving->s, solving->cold);
  perp_outcome_add(out, "rows", solving->s.rows);
  perp_outcome_add(out, "iterations", cold.iterations);
  perp_outcome_add(out, "factorizations", cold.factorizations);
  perp_outcome_add(out, "matvecs", cold.matvecs);
  perp_outcome_add(out, "fallbacks", cold.fallbacks);
  perp_outcome_add(out, "work.counted", cold.work);
  perp_outcome_add(out, "rows.born", solving->s.born);
  perp_outcome_add(out, "rows.gone", solving->s.gone);
  if (!solving->warms || out->status != PERP_CELL_OK) return;
  const perp_sequence_sums warm = perp_sequence_sum(&solving->s, solving->warm);
  if (cold.work > 0) perp_outcome_add(out, "warm.work.rel", warm.work / cold.work);
  if (cold.iterations > 0)
    perp_outcome_add(out, "warm.iterations.rel", warm.iterations / cold.iterations);
}

static perp_status kind_lcp_sequence_run(const perp_job *job, const perp_spec *spec,
                                         struct solving *solving, perp_outcome *out)
{
  if (job->what == PERP_JOB_SETUP) {
    const char *what = perp_sequence_unsuited(&solving->s, spec->d);
    out->status = what == NULL ? PERP_CELL_OK : PERP_CELL_SETUP_FAILED;
    if (what == NULL) return PERP_OK;
    snprintf(out->reason, sizeof out->reason, "unsuited");
    snprintf(out->cause, sizeof out->cause, "%s does not serve %s", spec->d->name, what);
    return PERP_OK;
  }
  PERP_TRY(kind_lcp_sequence_solve(solving));
  kind_lcp_sequence_verdict(solving, out);
  const char *what = perp_sequence_unsuited(&solving->s, spec->d);
  if (what != NULL)
    snprintf(out->cause, sizeof out->cause, "%s does not serve %s", spec->d->name, what);
  kind_lcp_sequence_figures(solving, out);
  kind_lcp_sequence_sums(solving, out);
  if (out->status != PERP_CELL_OK)
    return PERP_OK; /* how long a failure took is no time to solution */
  if (!job->timing && job->study->measure.repeats > 0) return PERP_OK; /* timing rounds follow */
  /* The clock: the problems are solved again, with the same answers. */
  PERP_TRY(perp_kind_lcp_in_place(solving->ctx, spec, solving->s.rows, solving->s.columns,
                                  &solving->solver));
  perp_clock_reference pace;
  perp_clock_reference_begin(&pace);
  const double cold = perp_kind_lcp_timed(kind_lcp_sequence_cold, solving, 20e-3, &pace);
  const double warm = solving->warms && solving->status == PERP_OK
                          ? perp_kind_lcp_timed(kind_lcp_sequence_warm, solving, 20e-3, &pace)
                          : 0;
  out->pace = perp_clock_reference_end(&pace);
  PERP_TRY(solving->status);
  perp_outcome_add(out, "time.cpu", cold);
  if (solving->warms) perp_outcome_add(out, "warm.time.rel", warm / cold);
  return PERP_OK;
}

void perp_kind_lcp_sequence(perp_ctx *ctx, const perp_job *job, const perp_spec *spec,
                            const char *prefix, double tol, perp_outcome *out)
{
  struct solving solving = { .ctx = ctx, .tol = tol, .warms = perp_sequence_warms(spec->d) };
  perp_status status = perp_sequence_open(ctx, prefix, &solving.s);
  if (status == PERP_OK) {
    solving.cold = perp_xalloc((size_t)solving.s.n, sizeof *solving.cold);
    solving.warm = perp_xalloc((size_t)solving.s.n, sizeof *solving.warm);
    status = perp_lcp_create(ctx, spec, solving.s.rows, solving.s.columns, &solving.solver);
  }
  if (status == PERP_OK) status = kind_lcp_sequence_run(job, spec, &solving, out);
  if (status != PERP_OK) perp_kind_lcp_failed(ctx, status, out);
  perp_lcp_destroy(solving.solver);
  perp_sequence_close(&solving.s);
  free(solving.cold);
  free(solving.warm);
}
