/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which solvers became slower?
 *
 * Times in the journals were measured at different moments, perhaps with a neighbour on the same
 * core in one run and without in the other.  They are compared in units of the pace
 * (clock_reference.h), with an interval that is wider the more the paces differ.  When a person
 * names the programs of both runs, that is only a suspicion: the cells in question are timed again,
 * by both programs in turn, and these times decide. */
#include "experiments/cli/compare.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/base/messages.h"
#include "experiments/run/program.h"
#include "experiments/results/robust.h"
#include "experiments/base/shell.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double quiet_pace = 1.1; /* a round is quiet up to this many times the best pace */
static const double distrust = 0.5;   /* share of the correction by the pace that may be wrong */
enum { GROUP_SAMPLE = 24, BLOCKS_LEAST = 6, BLOCKS_MOST = 12, BLOCKS_ENOUGH = 48, DRAWS = 1000 };

struct cell_times {
  int cell; /* index among the common cells */
  perp_pair pair;
  double log_pace; /* log of (pace now / pace of the base) */
  bool again;      /* to be timed again */
  int n_blocks;
  double block[PERP_COMPARE_BLOCKS];
};

struct times {
  perp_compare *c;
  perp_time_comparison *said;
  const char *metric;
  int m[2]; /* index of the metric in base, now */
  int n;
  struct cell_times *of;
  double *numbers; /* all rounds */
  int *member;     /* [n] scratch: members of a group */
};

/* ---- the rounds of the journals ---- */

/* The time that cells are compared by: that of a step, else that of the whole. */
static int time_metric(const perp_results *results, bool recorded)
{
  static const char *const names[] = { "time.step_us", "time.cpu" };
  for (int k = 0; k < 2; k++) {
    int m = perp_results_metric(results, names[k]);
    if (m >= 0 && !recorded) return m;
    for (int record = 0; m >= 0 && record < results->plan.n; record++)
      if (results->record[record].rounds > 0 && results->record[record].round[m] != NULL &&
          isfinite(results->record[record].round[m][0]))
        return m;
  }
  return -1;
}

static bool compare_times_usable(const perp_record *rec, int m, int k)
{
  return rec->round[m] != NULL && isfinite(rec->round[m][k]) && rec->round[m][k] > 0;
}

/* What base (side 0) or now (side 1) says of the k-th cell that is compared. */
static const perp_record *record_of(const struct times *times, int k, int side)
{
  const perp_compare *compare = times->c;
  const int cell = times->of[k].cell;
  return side == 0 ? &compare->base.record[compare->a[cell]]
                   : &compare->now.record[compare->b[cell]];
}

/* The pace that one round in twenty exceeds; 0 when a round has none. */
static double best_pace(const struct times *times)
{
  double *pace = perp_xalloc((size_t)times->said->rounds + 1, sizeof *pace), best = 0;
  int n = 0;
  bool all = true;
  for (int k = 0; k < times->n; k++)
    for (int side = 0; side < 2; side++) {
      const perp_record *rec = record_of(times, k, side);
      for (int round = 0; round < rec->rounds; round++) {
        if (!compare_times_usable(rec, times->m[side], round)) continue;
        all = all && rec->round_pace[round] > 0;
        pace[n++] = rec->round_pace[round];
      }
    }
  if (all && n > 0) {
    gsl_sort(pace, 1, (size_t)n);
    best = pace[n / 20];
  }
  free(pace);
  return best;
}

/* The rounds of a cell; with a pace: in units of it, and only the quiet ones where there are two.
 * *log_pace: the median of log(pace) over the rounds that are used. */
static int rounds_of(const perp_record *rec, int m, double pace, double *out, double *log_pace)
{
  int n = 0, quiet = 0;
  for (int round = 0; round < rec->rounds; round++)
    quiet += compare_times_usable(rec, m, round) && rec->round_pace[round] <= quiet_pace * pace;
  double *paces = perp_xalloc((size_t)rec->rounds + 1, sizeof *paces);
  for (int round = 0; round < rec->rounds; round++) {
    if (!compare_times_usable(rec, m, round) ||
        (pace > 0 && quiet >= 2 && rec->round_pace[round] > quiet_pace * pace))
      continue;
    paces[n] = pace > 0 ? rec->round_pace[round] : 1;
    out[n] = rec->round[m][round] / paces[n];
    n++;
  }
  if (n > 0) {
    gsl_sort(paces, 1, (size_t)n);
    *log_pace = log(gsl_stats_median_from_sorted_data(paces, 1, (size_t)n));
  }
  free(paces);
  return n;
}

static void compare_times_gather(struct times *times)
{
  const perp_compare *compare = times->c;
  size_t room = 1;
  times->of = perp_xalloc((size_t)compare->n + 1, sizeof *times->of);
  for (int cell = 0; cell < compare->n; cell++) {
    const perp_record *x = &compare->base.record[compare->a[cell]],
                      *y = &compare->now.record[compare->b[cell]];
    if (x->status != y->status || !perp_cell_whole(x->status)) continue;
    if (compare->again == 0 && (x->rounds == 0 || y->rounds == 0)) continue;
    room += (size_t)(x->rounds + y->rounds);
    times->said->rounds += x->rounds + y->rounds;
    times->said->noisy += x->noisy + y->noisy;
    times->of[times->n++].cell = cell;
  }
  times->member = perp_xalloc((size_t)times->n + 1, sizeof *times->member);
  double *next = times->numbers = perp_xalloc(room, sizeof *next), pace = best_pace(times);
  times->said->paced = pace > 0;
  int kept = 0;
  for (int k = 0; k < times->n; k++) {
    struct cell_times of = { .cell = times->of[k].cell };
    double before = 0, after = 0;
    of.pair.base = next;
    next += of.pair.n = rounds_of(record_of(times, k, 0), times->m[0], pace, next, &before);
    of.pair.now = next;
    next += of.pair.m = rounds_of(record_of(times, k, 1), times->m[1], pace, next, &after);
    of.log_pace = after - before;
    if ((of.pair.n > 0 && of.pair.m > 0) || compare->again > 0) times->of[kept++] = of;
  }
  times->n = kept;
}

/* Most rounds of one of the two runs are noisy. */
static bool compare_times_busy(const struct times *times)
{
  int rounds[2] = { 0 }, noisy[2] = { 0 };
  for (int k = 0; k < times->n; k++)
    for (int side = 0; side < 2; side++) {
      rounds[side] += record_of(times, k, side)->rounds;
      noisy[side] += record_of(times, k, side)->noisy;
    }
  return 2 * noisy[0] > rounds[0] || 2 * noisy[1] > rounds[1];
}

/* Only what may be a finding needs an interval. */
static int draws_for(const struct times *times, const perp_shift *shift)
{
  const double far = 1 + times->c->time_tol;
  return shift->ratio > far || shift->ratio < 1 / far ? DRAWS : 0;
}

static perp_status shift_of_rounds(const struct times *times, const int *member, int n,
                                   perp_shift *shift)
{
  const double level = times->said->paced ? 0.25 : 0;
  perp_pair *pair = perp_xalloc((size_t)n + 1, sizeof *pair);
  double *pace = perp_xalloc((size_t)n + 1, sizeof *pace);
  int timed = 0;
  for (int k = 0; k < n; k++) {
    const struct cell_times *of = &times->of[member[k]];
    if (of->pair.n == 0 || of->pair.m == 0) continue;
    pair[timed] = of->pair;
    pace[timed++] = of->log_pace;
  }
  perp_status status = perp_shift_of(times->c->ctx, pair, timed, level, 0, shift);
  if (status == PERP_OK && draws_for(times, shift) > 0)
    status = perp_shift_of(times->c->ctx, pair, timed, level, DRAWS, shift);
  gsl_sort(pace, 1, (size_t)timed);
  double unsure = exp(distrust * fabs(timed > 0 ? pace[timed / 2] : 0));
  shift->lo /= unsure;
  shift->hi *= unsure;
  free(pair);
  free(pace);
  return status;
}

/* ---- blocks: both programs in turn ---- */

static perp_status shift_of_blocks(const struct times *times, const int *member, int n,
                                   perp_shift *shift)
{
  perp_blocks_of_cell *cell = perp_xalloc((size_t)n + 1, sizeof *cell);
  int timed = 0;
  for (int k = 0; k < n; k++) {
    const struct cell_times *of = &times->of[member[k]];
    if (of->n_blocks > 0) cell[timed++] = (perp_blocks_of_cell){ of->n_blocks, of->block };
  }
  perp_status status = perp_shift_of_blocks(times->c->ctx, cell, timed, DRAWS, shift);
  free(cell);
  return status;
}

/* base, now, now, base: a machine that becomes slower steadily is not in the ratio. */
static perp_status time_block(struct times *times, const perp_program program[2],
                              struct cell_times *of)
{
  static const int turn[4] = { 0, 1, 1, 0 };
  const char *id = times->c->base.plan.cells[times->c->a[of->cell]].id;
  double time[4], pace[4], sum = 0;
  bool paced = true;
  for (int k = 0; k < 4; k++) {
    PERP_TRY(
        perp_program_time(times->c->ctx, &program[turn[k]], id, times->metric, &time[k], &pace[k]));
    paced = paced && pace[k] > 0;
  }
  for (int k = 0; k < 4; k++)
    sum += (turn[k] == 1 ? 0.5 : -0.5) * log(paced ? time[k] / pace[k] : time[k]);
  of->block[of->n_blocks++] = sum;
  return PERP_OK;
}

static perp_status time_again(struct times *times, const perp_program program[2])
{
  int cells = 0, blocks = times->c->again;
  for (int k = 0; k < times->n; k++) cells += times->of[k].again;
  if (cells == 0) return PERP_OK;
  if (blocks == 0) blocks = (BLOCKS_ENOUGH + cells - 1) / cells;
  if (times->c->again == 0 && blocks < BLOCKS_LEAST) blocks = BLOCKS_LEAST;
  if (times->c->again == 0 && blocks > BLOCKS_MOST) blocks = BLOCKS_MOST;
  perp_say("timing %d run(s) again, both programs in turn, %d times each (--as-recorded avoids it)",
           cells, 2 * blocks);
  /* the blocks of a cell are spread over the whole time */
  for (int block = 0; block < blocks; block++)
    for (int k = 0; k < times->n; k++)
      if (times->of[k].again) PERP_TRY(time_block(times, program, &times->of[k]));
  times->said->retimed = cells;
  times->said->blocks = blocks;
  return PERP_OK;
}

/* ---- groups ---- */

/* Look at all cells, at those of each value of each axis, and at each cell alone. */
typedef perp_status group_fn(struct times *t, const char *where, const int *member, int n);

static perp_status each_group(struct times *times, group_fn *look)
{
  const perp_compare *compare = times->c;
  const perp_study *study = compare->base.study;
  for (int k = 0; k < times->n; k++) times->member[k] = k;
  if (times->n > 0 && (!times->said->busy || compare->again > 0))
    PERP_TRY(look(times, "all runs", times->member, times->n));
  for (int axis = 0; axis < study->n_axes; axis++)
    for (int v = 0; v < study->axes[axis].n; v++) {
      int param = study->axes[axis].param, members = 0;
      for (int k = 0; k < times->n; k++)
        if (strcmp(compare->base.plan.cells[compare->a[times->of[k].cell]].value[param].text,
                   study->axes[axis].value[v].text) == 0)
          times->member[members++] = k;
      char where[256];
      snprintf(where, sizeof where, "%s = %s", study->kind->params[param].key,
               study->axes[axis].value[v].text);
      if (members > 1 && members < times->n) PERP_TRY(look(times, where, times->member, members));
    }
  for (int k = 0; k < times->n; k++) { /* one cell alone: the rank tests ask for many rounds */
    char *where = perp_compare_name(compare, times->of[k].cell);
    perp_status status = look(times, where, &k, 1);
    free(where);
    PERP_TRY(status);
  }
  return PERP_OK;
}

static void compare_times_report(struct times *times, const char *where, const perp_shift *shift,
                                 int verdict)
{
  if (verdict == 0) return;
  bool slower = verdict > 0;
  char what[160];
  snprintf(what, sizeof what, "%s %.2f times %s (99 %% interval %.2f ... %.2f, %d run%s)",
           times->metric, slower ? shift->ratio : 1 / shift->ratio, slower ? "slower" : "faster",
           slower ? shift->lo : 1 / shift->hi, slower ? shift->hi : 1 / shift->lo, shift->pairs,
           shift->pairs == 1 ? "" : "s");
  perp_compare_finding(times->c, PERP_FINDING_TIME, slower, where, what, 1, shift->ratio);
}

static perp_status judge_rounds(struct times *times, const char *where, const int *member, int n)
{
  perp_shift shift;
  PERP_TRY(shift_of_rounds(times, member, n, &shift));
  compare_times_report(times, where, &shift, perp_shift_verdict(&shift, times->c->time_tol));
  return PERP_OK;
}

/* A finding, or a group that comes near one. */
static perp_status compare_times_suspicious(struct times *times, const int *member, int n, bool *is)
{
  const double near = 1 + times->c->time_tol / 2;
  perp_shift shift;
  PERP_TRY(shift_of_rounds(times, member, n, &shift));
  *is = perp_shift_verdict(&shift, times->c->time_tol) != 0 ||
        (n > 1 && (shift.ratio > near || shift.ratio < 1 / near));
  return PERP_OK;
}

static perp_status compare_times_suspect(struct times *times, const char *where, const int *member,
                                         int n)
{
  (void)where;
  bool is = times->c->again > 0;
  if (!is) PERP_TRY(compare_times_suspicious(times, member, n, &is));
  int sample = n > GROUP_SAMPLE && times->c->again == 0 ? GROUP_SAMPLE : n;
  for (int k = 0; is && k < sample; k++) times->of[member[(int64_t)k * n / sample]].again = true;
  return PERP_OK;
}

static perp_status judge_blocks(struct times *times, const char *where, const int *member, int n)
{
  perp_shift shift;
  bool is = times->c->again > 0;
  if (!is) PERP_TRY(compare_times_suspicious(times, member, n, &is));
  if (!is && n > 1) return PERP_OK;
  PERP_TRY(shift_of_blocks(times, member, n, &shift));
  compare_times_report(times, where, &shift, perp_shift_verdict(&shift, times->c->time_tol));
  return PERP_OK;
}

/* ---- the whole ---- */

perp_status perp_compare_line(perp_compare *compare, perp_text *out)
{
  perp_text programs = { 0 };
  perp_status status = perp_program_suggest(compare->ctx, &compare->base, &compare->now, &programs);
  if (status == PERP_OK) {
    perp_text_add(out, "perp compare ");
    perp_shell_path(out, compare->base.dir);
    perp_text_add(out, " ");
    perp_shell_path(out, compare->now.dir);
    if (compare->again > 0) perp_text_add(out, " --again %d", compare->again);
    perp_plugin_arguments(out);
    perp_text_add(out, "%s", programs.s);
  }
  perp_text_free(&programs);
  return status;
}

static perp_status times_programs(perp_compare *compare, perp_program program[2])
{
  perp_named named = { compare->with[0], compare->again_plugin, compare->n_again_plugins };
  PERP_TRY(perp_program_take(compare->ctx, &compare->base, &named, &program[0]));
  named.program = compare->with[1];
  perp_status status = perp_program_take(compare->ctx, &compare->now, &named, &program[1]);
  if (status != PERP_OK) perp_program_free(&program[0]);
  return status;
}

static perp_status compare_times_judge(struct times *times)
{
  perp_compare *compare = times->c;
  perp_program program[2];
  if (compare->as_recorded || (compare->again == 0 && !compare->fails[PERP_FINDING_TIME])) {
    snprintf(times->said->why_not, sizeof times->said->why_not, "%s",
             compare->as_recorded ? "--as-recorded" : "time is not in --fail-on");
    return each_group(times, judge_rounds);
  }
  if (compare->with[0] == NULL) {
    perp_status known = perp_compare_line(compare, &times->said->how);
    snprintf(times->said->why_not, sizeof times->said->why_not, "%s",
             known == PERP_OK ? "no program was named (--again-with)" : compare->ctx->msg);
    return each_group(times, judge_rounds);
  }
  perp_status status = times_programs(compare, program);
  if (status != PERP_OK) return status;
  status = each_group(times, compare_times_suspect);
  if (status == PERP_OK) status = time_again(times, program);
  if (status == PERP_OK) status = each_group(times, judge_blocks);
  perp_shift all;
  for (int k = 0; k < times->n; k++) times->member[k] = k;
  if (status == PERP_OK && compare->again > 0)
    status = shift_of_blocks(times, times->member, times->n, &all);
  if (status == PERP_OK && compare->again > 0) times->said->ratio = all.ratio;
  perp_program_free(&program[0]);
  perp_program_free(&program[1]);
  return status;
}

perp_status perp_compare_times(perp_compare *compare, perp_time_comparison *said)
{
  *said = (perp_time_comparison){ .ratio = (double)NAN };
  struct times times = { .c = compare, .said = said };
  times.m[0] = time_metric(&compare->base, compare->again == 0);
  if (times.m[0] < 0) return PERP_OK;
  times.metric = compare->base.study->metric[times.m[0]].name;
  times.m[1] = perp_results_metric(&compare->now, times.metric);
  if (times.m[1] < 0) return PERP_OK;
  compare_times_gather(&times);
  for (int k = 0; k < times.n; k++) times.member[k] = k;
  perp_shift all;
  perp_status status = shift_of_rounds(&times, times.member, times.n, &all);
  said->ratio = all.ratio;
  /* without a pace the clock runs as fast as a machine that has other work: that is common to all
   * cells, and only what changed against it says something about a solver */
  said->busy = !said->paced && compare_times_busy(&times);
  for (int k = 0; said->busy && isfinite(all.ratio) && k < times.n; k++)
    for (int i = 0; i < times.of[k].pair.m; i++)
      times.numbers[times.of[k].pair.now - times.numbers + i] /= all.ratio;
  if (status == PERP_OK) status = compare_times_judge(&times);
  free(times.of);
  free(times.member);
  free(times.numbers);
  return status;
}
