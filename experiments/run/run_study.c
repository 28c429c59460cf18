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

static char *run_path_in(struct run *r, const char *name)
{
  return perp_pool_printf(&r->plan.pool, "%s/%s", r->o->dir, name);
}

/* A line of the journal that could not be written, or a cell that could not be started, ends the
 * run. */
static void run_written(struct run *r, perp_status status)
{
  if (status == PERP_OK || r->failed) return;
  perp_print_error(r->ctx);
  r->failed = true;
}

static void write_outcome(struct run *r, int cell, bool timing, const perp_outcome *outcome)
{
  run_written(r, perp_run_event_outcome(r->ctx, &r->journal, r->study, &r->plan.cells[cell],
                                        r->of[cell].attempt, timing, outcome, r->of[cell].log));
}

/* ---- doing ---- */

struct todo {
  int n;
  struct {
    int cell;
    bool timing;
  } * item;
};

static void start_one(struct run *r, int cell, bool timing)
{
  const struct cell_state *of = &r->of[cell];
  const bool series = !timing && r->study->metrics.series;
  perp_order order = { .job = { .study = r->study,
                                .cell = &r->plan.cells[cell],
                                .timing = timing,
                                .series_path = series ? of->series : NULL,
                                .replay_path = !timing && of->recorded ? of->replay : NULL },
                       .timeout = r->o->timeout,
                       .memory = r->o->memory,
                       .log_path = of->log,
                       .alone = timing || of->outside,
                       .token = 2 * (int64_t)cell + timing };
  if (!timing)
    run_written(r, perp_run_event_start(r->ctx, &r->journal, r->plan.cells[cell].id, of->attempt));
  if (!r->failed) run_written(r, perp_process_pool_start(r->ctx, r->workers, &order));
}

static void finish_one(struct run *r, const perp_order *order, perp_outcome *outcome)
{
  int cell = (int)(order->token / 2);
  bool timing = order->token % 2 != 0;
  bool bad = !perp_cell_whole(outcome->status);
  write_outcome(r, cell, timing, outcome);
  if (timing)
    r->of[cell].rounds++;
  else
    r->status[cell] = outcome->status;
  perp_text what = { 0 };
  perp_cell_label(r->study, &r->plan.cells[cell], &what);
  perp_progress_step(&r->progress, perp_cell_work(r->study, &r->plan.cells[cell]), outcome->wall_s,
                     bad && !timing, what.s);
  if (bad && !timing && perp_cell_infrastructure(outcome->status) && !r->o->quiet) {
    perp_progress_clear(&r->progress);
    perp_text dir = { 0 };
    perp_shell_path(&dir, r->o->dir);
    perp_say("%s: %s (%s; perp show %s %s)", perp_cell_status_names[outcome->status],
             outcome->cause, what.s, dir.s, r->plan.cells[cell].id);
    perp_text_free(&dir);
  }
  perp_text_free(&what);
}

static void on_signal(struct run *r, int number)
{
  r->interrupts++;
  perp_progress_clear(&r->progress);
  if (number != SIGINT || r->interrupts > 1) {
    r->interrupts = 2; /* stop at once */
    return;
  }
  perp_say("stopping after the %d run(s) in progress; press Ctrl-C again to stop at once",
           perp_process_pool_running(r->workers));
}

static bool may_start(struct run *r)
{
  if (r->interrupts > 0 || r->failed) return false;
  if (r->o->budget > 0 && perp_clock_wall() - r->begun > r->o->budget) r->out_of_budget = true;
  return !r->out_of_budget;
}

static void do_all(struct run *r, const struct todo *todo)
{
  int next = 0;
  while (next < todo->n || perp_process_pool_running(r->workers) > 0) {
    while (next < todo->n && perp_process_pool_free_places(r->workers) > 0 && may_start(r)) {
      start_one(r, todo->item[next].cell, todo->item[next].timing);
      next++;
    }
    if (perp_process_pool_running(r->workers) == 0 && (next == todo->n || !may_start(r))) break;
    static perp_outcome outcome;
    perp_order order;
    int number = 0;
    switch (perp_process_pool_wait(r->workers, 0.5, &order, &outcome, &number)) {
    case PERP_CREW_DONE:
      finish_one(r, &order, &outcome);
      break;
    case PERP_CREW_SIGNAL:
      on_signal(r, number);
      break;
    case PERP_CREW_NOTHING:
      perp_progress_tick(&r->progress);
      break;
    }
    if (r->interrupts > 1 || r->failed) break; /* the workers kills what still runs */
  }
  perp_progress_clear(&r->progress);
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
static perp_status read_selection(struct run *r)
{
  const char *texts[2] = { r->o->only, r->o->skip };
  perp_plan_scope scope;
  perp_plan_scope_init(r->ctx, &scope, r->study, &r->plan, NULL);
  for (int k = 0; k < 2; k++) {
    perp_expr_error error;
    if (texts[k] == NULL) continue;
    r->select[k] = perp_expr_parse(&r->plan.pool, &scope.scope, texts[k], &error);
    if (r->select[k] == NULL)
      return PERP_FAIL(r->ctx, PERP_ERR_OPTION, "--%s '%s', character %d: %s%s%s",
                       k == 0 ? "only" : "skip", texts[k], error.offset + 1, error.message,
                       error.hint[0] ? "; " : "", error.hint);
    const perp_optional *absent = perp_expr_absent(r->select[k]);
    if (absent != NULL)
      return PERP_FAIL(r->ctx, PERP_ERR_OPTION,
                       "--%s names %s, which needs %s; this perp was built without it: ./perp "
                       "setup %s",
                       k == 0 ? "only" : "skip", absent->name, absent->packages, absent->part);
  }
  return PERP_OK;
}

/* Selection by --only, --skip, --shard; the status of cells is what the journal knows. */
static int select_cells(struct run *r)
{
  perp_plan_scope scope;
  perp_plan_scope_init(r->ctx, &scope, r->study, &r->plan, r->status);
  bool divided = false;
  scope.scope.divided = &divided;
  int n = 0;
  for (int i = 0; i < r->plan.n; i++) {
    r->of[i].selected = (r->select[0] == NULL || perp_expr_true(r->select[0], &scope.scope, i)) &&
                        (r->select[1] == NULL || !perp_expr_true(r->select[1], &scope.scope, i)) &&
                        in_shard(r->o->shard, &r->plan.cells[i], i);
    n += r->of[i].selected;
  }
  if (divided) perp_say("warning: --only or --skip divides by 0 for some runs");
  return n;
}

static void add_todo(struct run *r, struct todo *t, int cell, bool timing)
{
  t->item = perp_pool_grown(&r->plan.pool, t->item, t->n, sizeof *t->item);
  t->item[t->n].cell = cell;
  t->item[t->n++].timing = timing;
}

/* Is a cell timed? */
static bool has_rounds(const struct run *r, int cell)
{
  return r->of[cell].selected && perp_cell_timed(r->study->kind, r->status[cell]);
}

static perp_rng *run_rng(uint64_t seed)
{
  perp_rng *rng = perp_rng_create(seed);
  if (rng == NULL) perp_memory_out();
  return rng;
}

/* Timing rounds of all cells that have a time, each round in an order of its own. */
static void add_rounds(struct run *r, struct todo *t)
{
  int n = r->plan.n, repeats = r->study->measure.repeats;
  int *order = perp_pool_alloc(&r->plan.pool, (size_t)n, sizeof *order);
  for (int i = 0; i < n; i++) order[i] = i;
  perp_rng *rng = r->study->measure.interleaved ? run_rng(r->study->seed) : NULL;
  if (rng != NULL)
    for (int k = 0; k < repeats; k++) {
      perp_rng_shuffle(rng, order, n);
      for (int i = 0; i < n; i++) {
        int cell = order[i];
        if (has_rounds(r, cell) && r->of[cell].rounds <= k) add_todo(r, t, cell, true);
      }
    }
  else
    for (int i = 0; i < n; i++)
      for (int k = r->of[i].rounds; k < repeats; k++)
        if (has_rounds(r, i)) add_todo(r, t, i, true);
  perp_rng_destroy(rng);
}

/* What cannot be set up is known before the run: such cells become rows that say why, and are not
 * started. */
static perp_status skip_refused(struct run *r, struct todo *todo)
{
  perp_trial trial;
  static perp_outcome outcome;
  bool *wanted = perp_pool_alloc(&r->plan.pool, (size_t)r->plan.n, sizeof *wanted);
  for (int i = 0; i < todo->n; i++) wanted[todo->item[i].cell] = true;
  PERP_TRY(perp_trial_make(r->ctx, r->study, &r->plan, wanted, r->o->jobs, r->o->progress, &trial));
  if (!r->o->quiet) perp_trial_warn(&trial, r->study, &r->plan);
  int n = 0;
  for (int i = 0; i < todo->n; i++) {
    const int cell = todo->item[i].cell;
    const bool refused = trial.verdict[cell] == PERP_TRIAL_REFUSED;
    if (!refused) todo->item[n++].cell = cell; /* there are no timing rounds among them yet */
    if (!refused) continue;
    outcome = (perp_outcome){ .status = PERP_CELL_SKIPPED, .reason = "refused" };
    snprintf(outcome.cause, sizeof outcome.cause, "%s", trial.why[cell]);
    r->status[cell] = outcome.status;
    write_outcome(r, cell, false, &outcome);
  }
  todo->n = n;
  perp_trial_free(&trial);
  return PERP_OK;
}

static void say_plan(const struct run *r, const perp_results *before, int selected, int to_run,
                     int retried, int rebuilt)
{
  int finished = 0, interrupted = 0;
  for (int i = 0; i < r->plan.n; i++) {
    finished += r->of[i].selected && before->record[i].attempt > 0;
    interrupted += r->of[i].selected && before->record[i].interrupted;
  }
  finished -= retried + rebuilt;
  perp_text text = { 0 };
  perp_text_add(&text, "%s%s%s: %d runs", r->study->name,
                r->study->profile != NULL ? ", profile " : "",
                r->study->profile != NULL ? r->study->profile : "", r->plan.n);
  if (selected < r->plan.n) perp_text_add(&text, ", %d selected", selected);
  if (finished > 0) perp_text_add(&text, ", %d already finished", finished);
  if (interrupted > 0) perp_text_add(&text, ", %d interrupted", interrupted);
  if (retried > 0) perp_text_add(&text, ", %d to repeat (--retry)", retried);
  if (rebuilt > 0)
    perp_text_add(&text, ", %d to repeat (their %s has changed)", rebuilt,
                  perp_plugin_file_at(0) != NULL ? "plug-in" : "scene file");
  perp_text_add(&text, ", %d to run", to_run);
  if (r->study->measure.repeats > 0)
    perp_text_add(&text, ", followed by %d timing round(s)", r->study->measure.repeats);
  perp_say("%s", text.s);
  perp_text_free(&text);
  if (finished > 0 && !perp_program_made(before))
    perp_say("warning: finished runs are of another build of perp and are not repeated. --fresh "
             "repeats all of them");
  perp_plan_warn(r->study, &r->plan);
}

/* In an order that mixes the grid, the same in every run: what a tenth of the cells took tells of
 * all, and a run that ends early has something of everything. */
static void mix(const struct run *r, struct todo *todo)
{
  if (todo->n < 2) return;
  perp_rng *rng = run_rng(r->study->seed);
  int *order = perp_xalloc((size_t)todo->n, sizeof *order);
  for (int i = 0; i < todo->n; i++) order[i] = todo->item[i].cell;
  perp_rng_shuffle(rng, order, todo->n);
  for (int i = 0; i < todo->n; i++) todo->item[i].cell = order[i];
  free(order);
  perp_rng_destroy(rng);
}

static void do_phase(struct run *r, struct todo *todo, const char *name)
{
  double work = 0;
  for (int i = 0; i < todo->n; i++)
    work += perp_cell_work(r->study, &r->plan.cells[todo->item[i].cell]);
  if (todo->n > 0 && !r->o->quiet && name != NULL) perp_say("%s", name);
  perp_progress_begin(&r->progress, r->o->progress, name != NULL ? name : "cells", todo->n, work,
                      r->o->jobs);
  do_all(r, todo);
  *todo = (struct todo){ 0 };
}

static int run_refuse(const struct run *r, perp_status status)
{
  return perp_refuse(r->ctx, status == PERP_ERR_OPTION   ? PERP_EXIT_USAGE
                             : status == PERP_ERR_FORMAT ? PERP_EXIT_INPUT
                                                         : PERP_EXIT_INTERNAL);
}

/* Two independent references must agree, else nothing is run. */
static int check_references(struct run *r)
{
  const perp_cell_kind *kind = r->study->kind;
  if (kind->references == NULL || r->study->reference.with[0] == '\0') return PERP_EXIT_OK;
  perp_out out;
  perp_text said = { 0 };
  bool agree = false;
  perp_status status = perp_out_open(r->ctx, run_path_in(r, "reference.json"), &out);
  if (status == PERP_OK) {
    perp_json json = { .out = out.f, .indent = true };
    perp_json_open(&json, NULL, '[');
    status = kind->references(r->ctx, r->study, r->plan.cells, r->plan.n, &agree, &said, &json);
    perp_json_close(&json, ']');
    const perp_status closed = perp_out_close(r->ctx, &out, status == PERP_OK);
    if (status == PERP_OK) status = closed;
  }
  for (char *line = said.s; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1)
    if (!r->o->quiet || !agree) perp_say("%.*s", (int)strcspn(line, "\n"), line);
  perp_text_free(&said);
  if (status != PERP_OK) return run_refuse(r, status);
  return agree ? PERP_EXIT_OK : PERP_EXIT_REFERENCE;
}

/* ---- ending ---- */

/* after NULL: as far as this runner knows, whether unsolved cells count is left to the tables */
static int exit_status(const struct run *r, const perp_results *after)
{
  if (r->failed) return PERP_EXIT_INTERNAL;
  int missing = 0, ok = 0, infra = 0, ran = 0;
  for (int i = 0; i < r->plan.n; i++) {
    if (!r->of[i].selected) continue;
    perp_cell_status s = after != NULL ? after->record[i].status : r->status[i];
    const int rounds = after != NULL ? after->record[i].rounds : r->of[i].rounds;
    missing += s == PERP_CELL_PLANNED;
    ok += after != NULL ? perp_results_counts(after, i) || s == PERP_CELL_SEVERAL
                        : perp_cell_whole(s);
    infra += perp_cell_infrastructure(s);
    ran++;
    missing += perp_cell_timed(r->study->kind, s) && rounds < r->study->measure.repeats;
  }
  if (missing > 0) return PERP_EXIT_RESUMABLE;
  if (ok == 0 && ran > 0) return PERP_EXIT_FAILED;
  return infra > 0 ? PERP_EXIT_INFRA : PERP_EXIT_OK;
}

static int run_finish(struct run *r, const perp_cell_kind *const *kinds)
{
  if (!r->failed)
    run_written(r, perp_run_event_end(r->ctx, &r->journal,
                                      r->interrupts > 0  ? "interrupted"
                                      : r->out_of_budget ? "budget"
                                                         : "done"));
  run_written(r, perp_journal_close(r->ctx, &r->journal));
  if (r->o->journal_only) return exit_status(r, NULL);
  perp_results after;
  if (perp_results_load(r->ctx, r->o->dir, kinds, &after) != PERP_OK ||
      perp_results_derive(r->ctx, &after) != PERP_OK)
    return perp_refuse(r->ctx, PERP_EXIT_INTERNAL);
  int code = exit_status(r, &after);
  perp_results_summary(r->ctx, &after, r->o->plot, stdout);
  printf("\nTables: %s/derived/cells.csv, timing.csv\n", r->o->dir);
  if (r->o->report != NULL && r->interrupts == 0 && r->o->shard == NULL &&
      r->o->report(r->ctx, r->o->dir, r->o->report_user) != PERP_OK) {
    perp_print_error(r->ctx);
    if (code == PERP_EXIT_OK) code = PERP_EXIT_INTERNAL;
  }
  if (code == PERP_EXIT_RESUMABLE)
    perp_say("%s; continue with: %s",
             r->interrupts > 0  ? "interrupted"
             : r->out_of_budget ? "the time budget is used up"
                                : "the run is not complete",
             r->o->again);
  else if (r->o->next != NULL && !r->o->quiet && r->o->shard == NULL) {
    fflush(stdout);
    r->o->next(&after, r->o->report_user);
  }
  perp_results_free(&after);
  return code;
}

/* The study and the plan of the folder. */
static perp_status write_plan(struct run *r, const perp_cell_kind *const *kinds)
{
  PERP_TRY(perp_results_refuse_older(r->ctx, r->o->dir, kinds));
  PERP_TRY(perp_folder_study(r->ctx, r->o->dir, r->study));
  PERP_TRY(perp_scene_files_keep(r->ctx, r->o->dir, r->study->file));
  perp_text plugins = { 0 };
  perp_plugin_arguments(&plugins);
  perp_selection selection = {
    .only = r->o->only, .skip = r->o->skip, .shard = r->o->shard, .plugins = plugins.s
  };
  perp_status status = perp_plan_write(r->ctx, run_path_in(r, "plan.jsonl"), r->study, &r->plan,
                                       &selection);
  perp_text_free(&plugins);
  return status;
}

/* With --journal-only both are there already, and must be the ones that this study makes. */
static perp_status same_plan(const struct run *r, const perp_results *before)
{
  bool same = before->plan.n == r->plan.n;
  for (int i = 0; same && i < r->plan.n; i++)
    same = strcmp(before->plan.cells[i].id, r->plan.cells[i].id) == 0;
  return same
             ? PERP_OK
             : PERP_FAIL(r->ctx, PERP_ERR_FORMAT,
                         "%s has the plan of another study: write the scripts again (perp cluster)",
                         r->o->dir);
}

/* The step at which runs are looked at: 1 ms where cells have it, else the middle one; 0 without
 * steps. */
static double run_shown_step(const struct run *r, int h)
{
  double step[STEPS];
  int n = 0;
  for (int i = 0; i < r->plan.n && h >= 0 && n < STEPS; i++) {
    const double v = r->plan.cells[i].value[h].number;
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
static void run_recorded(struct run *r)
{
  const int h = perp_kind_param(r->study->kind, "h");
  const double step = run_shown_step(r, h);
  int candidates = 0, seen = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < r->plan.n; i++) {
      const double own = h >= 0 ? r->plan.cells[i].value[h].number : 0;
      if (r->study->metrics.series) {
        r->of[i].recorded = true;
      } else if (own == step || !(own > 0)) {
        const int64_t k = seen;
        candidates += pass == 0;
        seen += pass;
        if (pass == 1)
          r->of[i].recorded = candidates <= RECORDED ||
                              k * RECORDED / candidates != (k + 1) * RECORDED / candidates;
      }
    }
}

static perp_status run_prepare(struct run *r, const perp_cell_kind *const *kinds, int *selected,
                               struct todo *todo)
{
  int n = r->plan.n, retried = 0, rebuilt = 0;
  PERP_TRY(perp_folder_env(r->ctx, r->o->dir));
  if (!r->o->journal_only) PERP_TRY(write_plan(r, kinds));

  /* read it all back: what is on disk counts */
  perp_results before;
  PERP_TRY(perp_results_load(r->ctx, r->o->dir, kinds, &before));
  if (same_plan(r, &before) != PERP_OK) {
    perp_results_free(&before);
    return PERP_ERR_FORMAT;
  }
  perp_pool *pool = &r->plan.pool;
  r->of = perp_pool_alloc(pool, (size_t)n, sizeof *r->of);
  r->status = perp_pool_alloc(pool, (size_t)n, sizeof *r->status);
  for (int i = 0; i < n; i++) {
    const char *dir = r->o->dir, *id = r->plan.cells[i].id;
    const perp_record *record = &before.record[i];
    r->of[i] = (struct cell_state){ .log = perp_pool_printf(pool, "%s/log/%s.err", dir, id),
                                    .series = perp_pool_printf(pool, "%s/series/%s.csv", dir, id),
                                    .replay = perp_pool_printf(pool, "%s/replay/%s.json", dir, id),
                                    .attempt = record->attempt,
                                    .rounds = record->rounds };
    r->status[i] = record->attempt > 0 ? record->status : PERP_CELL_PLANNED;
  }
  *selected = select_cells(r);
  run_recorded(r);
  for (int i = 0; i < n; i++) {
    if (!r->of[i].selected) continue;
    char code[17];
    perp_plugin_code(r->ctx, r->study, &r->plan.cells[i], code);
    r->of[i].outside = code[0] != '\0';
    const bool done = r->status[i] != PERP_CELL_PLANNED;
    const bool changed = done && strcmp(code, before.record[i].code) != 0;
    if (done && !changed && !r->o->retry[r->status[i]]) continue;
    if (done) {
      *(changed ? &rebuilt : &retried) += 1;
      r->status[i] = PERP_CELL_PLANNED;
      r->of[i].rounds = 0;
    }
    r->of[i].attempt++;
    add_todo(r, todo, i, false);
  }
  if (!r->o->quiet) say_plan(r, &before, *selected, todo->n, retried, rebuilt);
  perp_results_free(&before);
  return PERP_OK;
}

/* Until the workers takes the signals Ctrl-C ends the process, whatever is computed for the
 * references. */
static int carry_out(struct run *r, struct todo *todo, const perp_cell_kind *const *kinds)
{
  const int code = todo->n > 0 ? check_references(r) : PERP_EXIT_OK;
  if (code != PERP_EXIT_OK) return code;
  const perp_status status = perp_process_pool_create(r->ctx, r->o->jobs, &r->workers);
  if (status != PERP_OK) return run_refuse(r, status);
  run_written(r, perp_run_event_begin(r->ctx, &r->journal, r->study, r->plan.n, r->o));
  if (r->study->kind->refuses && skip_refused(r, todo) != PERP_OK) {
    perp_print_error(r->ctx);
    r->interrupts = 2;
  }
  mix(r, todo);
  do_phase(r, todo, NULL);
  add_rounds(r, todo);
  if (may_start(r)) do_phase(r, todo, "timing rounds");
  perp_process_pool_destroy(r->workers);
  r->workers = NULL;
  return run_finish(r, kinds);
}

int perp_run(perp_ctx *ctx, const perp_study *study, const perp_run_options *options,
             const perp_cell_kind *const *kinds)
{
  perp_run_options o = *options;
  if (o.jobs <= 0) o.jobs = perp_cores();
  if (isnan(o.timeout)) o.timeout = study->limits.timeout;
  if (isnan(o.memory)) o.memory = study->limits.memory;
  struct run r = { .ctx = ctx, .study = study, .o = &o, .begun = perp_clock_wall() };
  r.journal.fd = -1;
  int lock = -1, selected = 0;
  struct todo todo = { 0 };
  perp_status status = perp_plan_make(ctx, study, &r.plan);
  int code = -1;
  if (status == PERP_OK && r.plan.n == 0) {
    perp_text text = { 0 };
    perp_plan_say_absent(&r.plan, &text);
    perp_say("nothing to run: %s", text.n > 0 ? text.s : "all combinations are excluded");
    perp_text_free(&text);
    code = PERP_EXIT_NOTHING;
  } else if (status == PERP_OK)
    code = perp_plan_refuse(ctx, study, &r.plan);
  if (code >= 0) {
    perp_plan_free(&r.plan);
    return code;
  }
  if (status == PERP_OK) status = read_selection(&r);
  if (status == PERP_OK) status = perp_folder_make(ctx, o.dir);
  if (status == PERP_OK) status = perp_folder_lock(ctx, o.dir, o.shard != NULL, &lock);
  if (status == PERP_OK && o.fresh) perp_folder_forget(o.dir);
  if (status == PERP_OK && o.keep_program) status = perp_program_keep(ctx, o.dir);
  if (status == PERP_OK) status = run_prepare(&r, kinds, &selected, &todo);
  if (status == PERP_OK && selected > 0)
    status = perp_journal_open(ctx, run_path_in(&r, "journal"), &r.journal);
  if (status != PERP_OK)
    code = run_refuse(&r, status);
  else if (selected == 0) {
    perp_say("nothing is selected: no run matches --only, --skip or --shard");
    code = PERP_EXIT_NOTHING;
  } else
    code = carry_out(&r, &todo, kinds);
  perp_process_pool_destroy(r.workers);
  run_written(&r, perp_journal_close(ctx, &r.journal));
  perp_plan_free(&r.plan);
  if (lock >= 0) close(lock);
  return code;
}
