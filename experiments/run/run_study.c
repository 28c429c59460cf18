/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loop of a run.  All state that matters is in the journal: this file decides what is still to
 * do from what the journal says, gives it to the workers, and writes down what comes back. */
#include "experiments/run/run.h"

#include "experiments/answers/answers.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/messages.h"
#include "experiments/study/process_pool.h"
#include "experiments/study/commands.h"
#include "experiments/base/env.h"
#include "experiments/run/folder.h"
#include "experiments/results/journal.h"
#include "experiments/run/program.h"
#include "experiments/run/run_events.h"
#include "experiments/base/shell.h"
#include "experiments/run/trial.h"
#include "experiments/base/files.h"

#include <math.h>
#include <gsl/gsl_sort.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <unistd.h>

enum {
  RECORDED = 12,
  STEPS = 64
}; /* cells with a replay, without series; steps that are told apart */

struct cell_state {
  const char *log, *series, *replay; /* paths */
  bool selected, recorded;           /* recorded: with a replay */
  bool outside;                      /* runs code that is not perp's */
  int attempt;                       /* of the result that is made or timed */
  int rounds;                        /* timing rounds there are */
};

/* All arrays are in the pool of the plan. */
struct run {
  perp_ctx *ctx;
  const perp_study *study;
  const perp_run_options *o;
  perp_plan plan;
  perp_process_pool *workers;
  perp_journal journal;
  perp_progress progress;
  struct cell_state *of;    /* [plan.n] */
  perp_cell_status *status; /* [plan.n] */
  perp_expr *select[2];     /* --only, --skip */
  double begun;
  int interrupts;
  bool out_of_budget, failed; /* failed: the journal or a fork, message printed */
};

static char *run_path_in(struct run *job, const char *name)
{
  return perp_pool_printf(&job->plan.pool, "%s/%s", job->o->dir, name);
}

/* A line of the journal that could not be written, or a cell that could not be started, ends the
 * run. */
static void run_written(struct run *job, perp_status status)
{
  if (status == PERP_OK || job->failed) return;
  perp_print_error(job->ctx);
  job->failed = true;
}

static void write_outcome(struct run *job, int cell, bool timing, const perp_outcome *outcome)
{
  run_written(job,
              perp_run_event_outcome(job->ctx, &job->journal, job->study, &job->plan.cells[cell],
                                     job->of[cell].attempt, timing, outcome, job->of[cell].log));
}

/* ---- doing ---- */

struct todo {
  int n;
  struct {
    int cell;
    bool timing;
  } * item;
};

static void start_one(struct run *job, int cell, bool timing)
{
  const struct cell_state *of = &job->of[cell];
  const bool series = !timing && job->study->metrics.series;
  perp_order order = { .job = { .study = job->study,
                                .cell = &job->plan.cells[cell],
                                .timing = timing,
                                .series_path = series ? of->series : NULL,
                                .replay_path = !timing && of->recorded ? of->replay : NULL },
                       .timeout = job->o->timeout,
                       .memory = job->o->memory,
                       .log_path = of->log,
                       .alone = timing || of->outside,
                       .token = 2 * (int64_t)cell + timing };
  if (!timing)
    run_written(
        job, perp_run_event_start(job->ctx, &job->journal, job->plan.cells[cell].id, of->attempt));
  if (!job->failed) run_written(job, perp_process_pool_start(job->ctx, job->workers, &order));
}

static void finish_one(struct run *job, const perp_order *order, perp_outcome *outcome)
{
  int cell = (int)(order->token / 2);
  bool timing = order->token % 2 != 0;
  bool bad = !perp_cell_whole(outcome->status);
  write_outcome(job, cell, timing, outcome);
  if (timing)
    job->of[cell].rounds++;
  else
    job->status[cell] = outcome->status;
  perp_text what = { 0 };
  perp_cell_label(job->study, &job->plan.cells[cell], &what);
  perp_progress_step(&job->progress, perp_cell_work(job->study, &job->plan.cells[cell]),
                     outcome->wall_s, bad && !timing, what.s);
  if (bad && !timing && perp_cell_infrastructure(outcome->status) && !job->o->quiet) {
    perp_progress_clear(&job->progress);
    perp_text dir = { 0 };
    perp_shell_path(&dir, job->o->dir);
    perp_say("%s: %s (%s; perp show %s %s)", perp_cell_status_names[outcome->status],
             outcome->cause, what.s, dir.s, job->plan.cells[cell].id);
    perp_text_free(&dir);
  }
  perp_text_free(&what);
}

static void on_signal(struct run *job, int number)
{
  job->interrupts++;
  perp_progress_clear(&job->progress);
  if (number != SIGINT || job->interrupts > 1) {
    job->interrupts = 2; /* stop at once */
    return;
  }
  perp_say("stopping after the %d run(s) in progress; press Ctrl-C again to stop at once",
           perp_process_pool_running(job->workers));
}

static bool may_start(struct run *job)
{
  if (job->interrupts > 0 || job->failed) return false;
  if (job->o->budget > 0 && perp_clock_wall() - job->begun > job->o->budget)
    job->out_of_budget = true;
  return !job->out_of_budget;
}

static void do_all(struct run *job, const struct todo *todo)
{
  int next = 0;
  while (next < todo->n || perp_process_pool_running(job->workers) > 0) {
    while (next < todo->n && perp_process_pool_free_places(job->workers) > 0 && may_start(job)) {
      start_one(job, todo->item[next].cell, todo->item[next].timing);
      next++;
    }
    if (perp_process_pool_running(job->workers) == 0 && (next == todo->n || !may_start(job))) break;
    static perp_outcome outcome;
    perp_order order;
    int number = 0;
    switch (perp_process_pool_wait(job->workers, 0.5, &order, &outcome, &number)) {
    case PERP_CREW_DONE:
      finish_one(job, &order, &outcome);
      break;
    case PERP_CREW_SIGNAL:
      on_signal(job, number);
      break;
    case PERP_CREW_NOTHING:
      perp_progress_tick(&job->progress);
      break;
    }
    if (job->interrupts > 1 || job->failed) break; /* the workers kills what still runs */
  }
  perp_progress_clear(&job->progress);
}

/* ---- what is to do ---- */

static bool in_shard(const char *shard, const perp_cell *cell, int index)
{
  if (shard == NULL) return true;
  int k = 1, n = 1;
  const char *colon = strchr(shard, ':');
  if (sscanf(colon != NULL ? colon + 1 : shard, "%d/%d", &k, &n) != 2) return true;
  uint64_t key = shard[0] == 'h' ? strtoull(cell->id, NULL, 16) : (uint64_t)index;
  return key % (uint64_t)n == (uint64_t)(k - 1);
}

/* Read --only and --skip, before anything is written. */
static perp_status read_selection(struct run *job)
{
  const char *texts[2] = { job->o->only, job->o->skip };
  perp_plan_scope scope;
  perp_plan_scope_init(job->ctx, &scope, job->study, &job->plan, NULL);
  for (int k = 0; k < 2; k++) {
    perp_expr_error error;
    if (texts[k] == NULL) continue;
    job->select[k] = perp_expr_parse(&job->plan.pool, &scope.scope, texts[k], &error);
    if (job->select[k] == NULL)
      return PERP_FAIL(job->ctx, PERP_ERR_OPTION, "--%s '%s', character %d: %s%s%s",
                       k == 0 ? "only" : "skip", texts[k], error.offset + 1, error.message,
                       error.hint[0] ? "; " : "", error.hint);
    const perp_optional *absent = perp_expr_absent(job->select[k]);
    if (absent != NULL)
      return PERP_FAIL(job->ctx, PERP_ERR_OPTION,
                       "--%s names %s, which needs %s; this perp was built without it: ./perp "
                       "setup %s",
                       k == 0 ? "only" : "skip", absent->name, absent->packages, absent->part);
  }
  return PERP_OK;
}

/* Selection by --only, --skip, --shard; the status of cells is what the journal knows. */
static int select_cells(struct run *job)
{
  perp_plan_scope scope;
  perp_plan_scope_init(job->ctx, &scope, job->study, &job->plan, job->status);
  bool divided = false;
  scope.scope.divided = &divided;
  int n = 0;
  for (int row = 0; row < job->plan.n; row++) {
    job->of[row].selected = (job->select[0] == NULL ||
                             perp_expr_true(job->select[0], &scope.scope, row)) &&
                            (job->select[1] == NULL ||
                             !perp_expr_true(job->select[1], &scope.scope, row)) &&
                            in_shard(job->o->shard, &job->plan.cells[row], row);
    n += job->of[row].selected;
  }
  if (divided) perp_say("warning: --only or --skip divides by 0 for some runs");
  return n;
}

static void add_todo(struct run *job, struct todo *todo, int cell, bool timing)
{
  todo->item = perp_pool_grown(&job->plan.pool, todo->item, todo->n, sizeof *todo->item);
  todo->item[todo->n].cell = cell;
  todo->item[todo->n++].timing = timing;
}

/* Is a cell timed? */
static bool has_rounds(const struct run *job, int cell)
{
  return job->of[cell].selected && perp_cell_timed(job->study->kind, job->status[cell]);
}

static perp_rng *run_rng(uint64_t seed)
{
  perp_rng *rng = perp_rng_create(seed);
  if (rng == NULL) perp_memory_out();
  return rng;
}

/* Timing rounds of all cells that have a time, each round in an order of its own. */
static void add_rounds(struct run *job, struct todo *todo)
{
  int n = job->plan.n, repeats = job->study->measure.repeats;
  int *order = perp_pool_alloc(&job->plan.pool, (size_t)n, sizeof *order);
  for (int i = 0; i < n; i++) order[i] = i;
  perp_rng *rng = job->study->measure.interleaved ? run_rng(job->study->seed) : NULL;
  if (rng != NULL)
    for (int repeat = 0; repeat < repeats; repeat++) {
      perp_rng_shuffle(rng, order, n);
      for (int i = 0; i < n; i++) {
        int cell = order[i];
        if (has_rounds(job, cell) && job->of[cell].rounds <= repeat)
          add_todo(job, todo, cell, true);
      }
    }
  else
    for (int i = 0; i < n; i++)
      for (int repeat = job->of[i].rounds; repeat < repeats; repeat++)
        if (has_rounds(job, i)) add_todo(job, todo, i, true);
  perp_rng_destroy(rng);
}

/* What cannot be set up is known before the run: such cells become rows that say why, and are not
 * started. */
static perp_status skip_refused(struct run *job, struct todo *todo)
{
  perp_trial trial;
  static perp_outcome outcome;
  bool *wanted = perp_pool_alloc(&job->plan.pool, (size_t)job->plan.n, sizeof *wanted);
  for (int item = 0; item < todo->n; item++) wanted[todo->item[item].cell] = true;
  PERP_TRY(perp_trial_make(job->ctx, job->study, &job->plan, wanted, job->o->jobs, job->o->progress,
                           &trial));
  if (!job->o->quiet) perp_trial_warn(&trial, job->study, &job->plan);
  int n = 0;
  for (int item = 0; item < todo->n; item++) {
    const int cell = todo->item[item].cell;
    const bool refused = trial.verdict[cell] == PERP_TRIAL_REFUSED;
    if (!refused) todo->item[n++].cell = cell; /* there are no timing rounds among them yet */
    if (!refused) continue;
    outcome = (perp_outcome){ .status = PERP_CELL_SKIPPED, .reason = "refused" };
    snprintf(outcome.cause, sizeof outcome.cause, "%s", trial.why[cell]);
    job->status[cell] = outcome.status;
    write_outcome(job, cell, false, &outcome);
  }
  todo->n = n;
  perp_trial_free(&trial);
  return PERP_OK;
}

static void say_plan(const struct run *job, const perp_results *before, int selected, int to_run,
                     int retried, int rebuilt)
{
  int finished = 0, interrupted = 0;
  for (int record = 0; record < job->plan.n; record++) {
    finished += job->of[record].selected && before->record[record].attempt > 0;
    interrupted += job->of[record].selected && before->record[record].interrupted;
  }
  finished -= retried + rebuilt;
  perp_text text = { 0 };
  perp_text_add(&text, "%s%s%s: %d runs", job->study->name,
                job->study->profile != NULL ? ", profile " : "",
                job->study->profile != NULL ? job->study->profile : "", job->plan.n);
  if (selected < job->plan.n) perp_text_add(&text, ", %d selected", selected);
  if (finished > 0) perp_text_add(&text, ", %d already finished", finished);
  if (interrupted > 0) perp_text_add(&text, ", %d interrupted", interrupted);
  if (retried > 0) perp_text_add(&text, ", %d to repeat (--retry)", retried);
  if (rebuilt > 0)
    perp_text_add(&text, ", %d to repeat (their %s has changed)", rebuilt,
                  perp_plugin_file_at(0) != NULL ? "plug-in" : "scene file");
  perp_text_add(&text, ", %d to run", to_run);
  if (job->study->measure.repeats > 0)
    perp_text_add(&text, ", followed by %d timing round(s)", job->study->measure.repeats);
  perp_say("%s", text.s);
  perp_text_free(&text);
  if (finished > 0 && !perp_program_made(before))
    perp_say("warning: finished runs are of another build of perp and are not repeated. --fresh "
             "repeats all of them");
  perp_plan_warn(job->study, &job->plan);
}

/* In an order that mixes the grid, the same in every run: what a tenth of the cells took tells of
 * all, and a run that ends early has something of everything. */
static void mix(const struct run *job, struct todo *todo)
{
  if (todo->n < 2) return;
  perp_rng *rng = run_rng(job->study->seed);
  int *order = perp_xalloc((size_t)todo->n, sizeof *order);
  for (int item = 0; item < todo->n; item++) order[item] = todo->item[item].cell;
  perp_rng_shuffle(rng, order, todo->n);
  for (int item = 0; item < todo->n; item++) todo->item[item].cell = order[item];
  free(order);
  perp_rng_destroy(rng);
}

static void do_phase(struct run *job, struct todo *todo, const char *name)
{
  double work = 0;
  for (int item = 0; item < todo->n; item++)
    work += perp_cell_work(job->study, &job->plan.cells[todo->item[item].cell]);
  if (todo->n > 0 && !job->o->quiet && name != NULL) perp_say("%s", name);
  perp_progress_begin(&job->progress, job->o->progress, name != NULL ? name : "cells", todo->n,
                      work, job->o->jobs);
  do_all(job, todo);
  *todo = (struct todo){ 0 };
}

static int run_refuse(const struct run *job, perp_status status)
{
  return perp_refuse(job->ctx, status == PERP_ERR_OPTION   ? PERP_EXIT_USAGE
                               : status == PERP_ERR_FORMAT ? PERP_EXIT_INPUT
                                                           : PERP_EXIT_INTERNAL);
}

/* Two independent references must agree, else nothing is run. */
static int check_references(struct run *job)
{
  const perp_cell_kind *kind = job->study->kind;
  if (kind->references == NULL || job->study->reference.with[0] == '\0') return PERP_EXIT_OK;
  perp_out out;
  perp_text said = { 0 };
  bool agree = false;
  perp_status status = perp_out_open(job->ctx, run_path_in(job, "reference.json"), &out);
  if (status == PERP_OK) {
    perp_json json = { .out = out.f, .indent = true };
    perp_json_open(&json, NULL, '[');
    status = kind->references(job->ctx, job->study, job->plan.cells, job->plan.n, &agree, &said,
                              &json);
    perp_json_close(&json, ']');
    const perp_status closed = perp_out_close(job->ctx, &out, status == PERP_OK);
    if (status == PERP_OK) status = closed;
  }
  for (char *line = said.s; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
    if (!job->o->quiet || !agree) perp_say("%.*s", (int)strcspn(line, "\n"), line);
  perp_text_free(&said);
  if (status != PERP_OK) return run_refuse(job, status);
  return agree ? PERP_EXIT_OK : PERP_EXIT_REFERENCE;
}

/* ---- ending ---- */

/* after NULL: as far as this runner knows, whether unsolved cells count is left to the tables */
static int exit_status(const struct run *job, const perp_results *after)
{
  if (job->failed) return PERP_EXIT_INTERNAL;
  int missing = 0, ok = 0, infra = 0, ran = 0;
  for (int record = 0; record < job->plan.n; record++) {
    if (!job->of[record].selected) continue;
    perp_cell_status s = after != NULL ? after->record[record].status : job->status[record];
    const int rounds = after != NULL ? after->record[record].rounds : job->of[record].rounds;
    missing += s == PERP_CELL_PLANNED;
    ok += after != NULL ? perp_results_counts(after, record) || s == PERP_CELL_SEVERAL
                        : perp_cell_whole(s);
    infra += perp_cell_infrastructure(s);
    ran++;
    missing += perp_cell_timed(job->study->kind, s) && rounds < job->study->measure.repeats;
  }
  if (missing > 0) return PERP_EXIT_RESUMABLE;
  if (ok == 0 && ran > 0) return PERP_EXIT_FAILED;
  return infra > 0 ? PERP_EXIT_INFRA : PERP_EXIT_OK;
}

static int run_finish(struct run *job, const perp_cell_kind *const *kinds)
{
  if (!job->failed)
    run_written(job, perp_run_event_end(job->ctx, &job->journal,
                                        job->interrupts > 0  ? "interrupted"
                                        : job->out_of_budget ? "budget"
                                                             : "done"));
  run_written(job, perp_journal_close(job->ctx, &job->journal));
  if (job->o->journal_only) return exit_status(job, NULL);
  perp_results after;
  if (perp_results_load(job->ctx, job->o->dir, kinds, &after) != PERP_OK ||
      perp_results_derive(job->ctx, &after) != PERP_OK)
    return perp_refuse(job->ctx, PERP_EXIT_INTERNAL);
  int code = exit_status(job, &after);
  perp_results_summary(job->ctx, &after, job->o->plot, stdout);
  printf("\nTables: %s/derived/cells.csv, timing.csv\n", job->o->dir);
  if (job->o->report != NULL && job->interrupts == 0 && job->o->shard == NULL &&
      job->o->report(job->ctx, job->o->dir, job->o->report_user) != PERP_OK) {
    perp_print_error(job->ctx);
    if (code == PERP_EXIT_OK) code = PERP_EXIT_INTERNAL;
  }
  if (code == PERP_EXIT_RESUMABLE)
    perp_say("%s; continue with: %s",
             job->interrupts > 0  ? "interrupted"
             : job->out_of_budget ? "the time budget is used up"
                                  : "the run is not complete",
             job->o->again);
  else if (job->o->next != NULL && !job->o->quiet && job->o->shard == NULL) {
    fflush(stdout);
    job->o->next(&after, job->o->report_user);
  }
  perp_results_free(&after);
  return code;
}

/* The study and the plan of the folder. */
static perp_status write_plan(struct run *job, const perp_cell_kind *const *kinds)
{
  PERP_TRY(perp_results_refuse_older(job->ctx, job->o->dir, kinds));
  PERP_TRY(perp_folder_study(job->ctx, job->o->dir, job->study));
  PERP_TRY(perp_scene_files_keep(job->ctx, job->o->dir, job->study->file));
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  perp_selection selection = {
    .only = job->o->only, .skip = job->o->skip, .shard = job->o->shard, .plugins = plugins.s
  };
  perp_status status = perp_plan_write(job->ctx, run_path_in(job, "plan.jsonl"), job->study,
                                       &job->plan, &selection);
  perp_text_free(&plugins);
  return status;
}

/* With --journal-only both are there already, and must be the ones that this study makes. */
static perp_status same_plan(const struct run *job, const perp_results *before)
{
  bool same = before->plan.n == job->plan.n;
  for (int cell = 0; same && cell < job->plan.n; cell++)
    same = strcmp(before->plan.cells[cell].id, job->plan.cells[cell].id) == 0;
  return same
             ? PERP_OK
             : PERP_FAIL(job->ctx, PERP_ERR_FORMAT,
                         "%s has the plan of another study: write the scripts again (perp cluster)",
                         job->o->dir);
}

/* The step at which runs are looked at: 1 ms where cells have it, else the middle one; 0 without
 * steps. */
static double run_shown_step(const struct run *job, int h)
{
  double step[STEPS];
  int n = 0;
  for (int cell = 0; cell < job->plan.n && h >= 0 && n < STEPS; cell++) {
    const double v = job->plan.cells[cell].value[h].number;
    bool known = !(v > 0);
    for (int k = 0; k < n && !known; k++) known = step[k] == v;
    if (v == 1e-3) return v;
    if (!known) step[n++] = v;
  }
  gsl_sort(step, 1, (size_t)n);
  return n > 0 ? step[n / 2] : 0;
}

/* Cells that are recorded for the eye: all of a study with series, else a few, evenly from those at
 * one step. */
static void run_recorded(struct run *job)
{
  const int h = perp_kind_param(job->study->kind, "h");
  const double step = run_shown_step(job, h);
  int candidates = 0, seen = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int cell = 0; cell < job->plan.n; cell++) {
      const double own = h >= 0 ? job->plan.cells[cell].value[h].number : 0;
      if (job->study->metrics.series) {
        job->of[cell].recorded = true;
      } else if (own == step || !(own > 0)) {
        const int64_t k = seen;
        candidates += pass == 0;
        seen += pass;
        if (pass == 1)
          job->of[cell].recorded = candidates <= RECORDED ||
                                   k * RECORDED / candidates != (k + 1) * RECORDED / candidates;
      }
    }
}

static perp_status run_prepare(struct run *job, const perp_cell_kind *const *kinds, int *selected,
                               struct todo *todo)
{
  int n = job->plan.n, retried = 0, rebuilt = 0;
  PERP_TRY(perp_folder_env(job->ctx, job->o->dir));
  if (!job->o->journal_only) PERP_TRY(write_plan(job, kinds));

  /* read it all back: what is on disk counts */
  perp_results before;
  PERP_TRY(perp_results_load(job->ctx, job->o->dir, kinds, &before));
  if (same_plan(job, &before) != PERP_OK) {
    perp_results_free(&before);
    return PERP_ERR_FORMAT;
  }
  perp_pool *pool = &job->plan.pool;
  job->of = perp_pool_alloc(pool, (size_t)n, sizeof *job->of);
  job->status = perp_pool_alloc(pool, (size_t)n, sizeof *job->status);
  for (int cell = 0; cell < n; cell++) {
    const char *dir = job->o->dir, *id = job->plan.cells[cell].id;
    const perp_record *record = &before.record[cell];
    job->of[cell] = (struct cell_state){
      .log = perp_pool_printf(pool, "%s/log/%s.err", dir, id),
      .series = perp_pool_printf(pool, "%s/series/%s.csv", dir, id),
      .replay = perp_pool_printf(pool, "%s/replay/%s.json", dir, id),
      .attempt = record->attempt,
      .rounds = record->rounds
    };
    job->status[cell] = record->attempt > 0 ? record->status : PERP_CELL_PLANNED;
  }
  *selected = select_cells(job);
  run_recorded(job);
  for (int cell = 0; cell < n; cell++) {
    if (!job->of[cell].selected) continue;
    char code[17];
    perp_plugin_code(job->ctx, job->study, &job->plan.cells[cell], code);
    job->of[cell].outside = code[0] != '\0';
    const bool done = job->status[cell] != PERP_CELL_PLANNED;
    const bool changed = done && strcmp(code, before.record[cell].code) != 0;
    if (done && !changed && !job->o->retry[job->status[cell]]) continue;
    if (done) {
      *(changed ? &rebuilt : &retried) += 1;
      job->status[cell] = PERP_CELL_PLANNED;
      job->of[cell].rounds = 0;
    }
    job->of[cell].attempt++;
    add_todo(job, todo, cell, false);
  }
  if (!job->o->quiet) say_plan(job, &before, *selected, todo->n, retried, rebuilt);
  perp_results_free(&before);
  return PERP_OK;
}

/* Until the workers takes the signals Ctrl-C ends the process, whatever is computed for the
 * references. */
static int carry_out(struct run *job, struct todo *todo, const perp_cell_kind *const *kinds)
{
  const int code = todo->n > 0 ? check_references(job) : PERP_EXIT_OK;
  if (code != PERP_EXIT_OK) return code;
  const perp_status status = perp_process_pool_create(job->ctx, job->o->jobs, &job->workers);
  if (status != PERP_OK) return run_refuse(job, status);
  run_written(job, perp_run_event_begin(job->ctx, &job->journal, job->study, job->plan.n, job->o));
  if (job->study->kind->refuses && skip_refused(job, todo) != PERP_OK) {
    perp_print_error(job->ctx);
    job->interrupts = 2;
  }
  mix(job, todo);
  do_phase(job, todo, NULL);
  add_rounds(job, todo);
  if (may_start(job)) do_phase(job, todo, "timing rounds");
  perp_process_pool_destroy(job->workers);
  job->workers = NULL;
  return run_finish(job, kinds);
}

int perp_run(perp_ctx *ctx, const perp_study *study, const perp_run_options *options,
             const perp_cell_kind *const *kinds)
{
  perp_run_options opts = *options;
  if (opts.jobs <= 0) opts.jobs = perp_cores();
  if (isnan(opts.timeout)) opts.timeout = study->limits.timeout;
  if (isnan(opts.memory)) opts.memory = study->limits.memory;
  struct run job = { .ctx = ctx, .study = study, .o = &opts, .begun = perp_clock_wall() };
  job.journal.fd = -1;
  int lock = -1, selected = 0;
  struct todo todo = { 0 };
  perp_status status = perp_plan_make(ctx, study, &job.plan);
  int code = -1;
  if (status == PERP_OK && job.plan.n == 0) {
    perp_text text = { 0 };
    perp_plan_say_absent(&job.plan, &text);
    perp_say("nothing to run: %s", text.n > 0 ? text.s : "all combinations are excluded");
    perp_text_free(&text);
    code = PERP_EXIT_NOTHING;
  } else if (status == PERP_OK)
    code = perp_plan_refuse(ctx, study, &job.plan);
  if (code >= 0) {
    perp_plan_free(&job.plan);
    return code;
  }
  if (status == PERP_OK) status = read_selection(&job);
  if (status == PERP_OK) status = perp_folder_make(ctx, opts.dir);
  if (status == PERP_OK) status = perp_folder_lock(ctx, opts.dir, opts.shard != NULL, &lock);
  if (status == PERP_OK && opts.fresh) perp_folder_forget(opts.dir);
  if (status == PERP_OK && opts.keep_program) status = perp_program_keep(ctx, opts.dir);
  if (status == PERP_OK) status = run_prepare(&job, kinds, &selected, &todo);
  if (status == PERP_OK && selected > 0)
    status = perp_journal_open(ctx, run_path_in(&job, "journal"), &job.journal);
  if (status != PERP_OK)
    code = run_refuse(&job, status);
  else if (selected == 0) {
    perp_say("nothing is selected: no run matches --only, --skip or --shard");
    code = PERP_EXIT_NOTHING;
  } else
    code = carry_out(&job, &todo, kinds);
  perp_process_pool_destroy(job.workers);
  run_written(&job, perp_journal_close(ctx, &job.journal));
  perp_plan_free(&job.plan);
  if (lock >= 0) close(lock);
  return code;
}
