/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of one cell: the march that was measured, made again without metrics and shown to be
 * the same one, and the shares of the parts of a step.  A run too short for the clock is repeated
 * whole. */
#include "experiments/simulate/simulate_run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A timing pass is repeated until it has run this long; the clock is read after BATCH or more. */
#define PASS      20e-3
#define BATCH     100e-6
#define BREAKDOWN 1.0 /* s, and then the breakdown ends */

/* ---- pass 2: the march again, without metrics ---- */

/* So many steps.  The march of pass 1 made them, so that none may fail. */
static perp_status clock_steps(perp_ctx *ctx, perp_cell_run *run, int64_t n)
{
  perp_step_info info;
  for (int64_t i = 0; i < n; i++) {
    PERP_TRY(perp_cell_step(ctx, run, run->t_end, &info));
    if (info.reason < 0)
      return PERP_FAIL(ctx, PERP_ERR_INTERNAL,
                       "the run for timing differs from the measured run: it stopped (%s)",
                       perp_reason_name(info.reason));
  }
  return PERP_OK;
}

/* Was it the march of pass 1?  Steps and evaluations, and the state in the end to the last bit.
 * before: counters after the start. */
static perp_status clock_check(perp_ctx *ctx, const perp_cell_run *run,
                               const perp_ode_counters *before)
{
  const perp_result *result = run->result;
  perp_ode_counters now;
  perp_stats kkt;
  double t;
  const double *q, *v;
  perp_cell_counters(run, &now, &kkt);
  perp_cell_state(run, &t, &q, &v);
  const int64_t steps = now.steps - before->steps, rhs = now.rhs - before->rhs,
                steps_1 = result->ode_count.steps - run->begun.steps,
                rhs_1 = result->ode_count.rhs - run->begun.rhs;
  const bool state = t == result->t && memcmp(q, result->q, (size_t)result->nq * sizeof *q) == 0 &&
                     memcmp(v, result->v, (size_t)result->nv * sizeof *v) == 0;
  if (state && steps == steps_1 && rhs == rhs_1) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_INTERNAL,
                   "the run for timing differs from the measured run: %lld steps and %lld "
                   "evaluations instead of %lld and %lld, %s state at t = %.9g s",
                   (long long)steps, (long long)rhs, (long long)steps_1, (long long)rhs_1,
                   state ? "the same" : "another", t);
}

/* One run in batches that the clock can resolve; *cut: it had to end before. */
static perp_status clock_run(perp_ctx *ctx, perp_cell_run *run, perp_clock_reference *pace,
                             double *cpu, bool *cut)
{
  perp_ode_counters before;
  perp_stats kkt;
  PERP_TRY(perp_cell_start(ctx, run));
  perp_cell_counters(run, &before, &kkt);
  *cpu = 0;
  for (int64_t done = 0, size = 1, n; done < run->steps; done += n) {
    n = size < run->steps - done ? size : run->steps - done;
    const double t0 = perp_clock_thread();
    PERP_TRY(clock_steps(ctx, run, n));
    const double now = perp_clock_thread(), seconds = now - t0;
    *cpu += seconds;
    if (n == size || done == 0) PERP_TRY(perp_cell_add(ctx, &run->batch, seconds / (double)n));
    if (n == 1 && done < run->alone.n) run->alone.x[done] = fmin(run->alone.x[done], seconds);
    if (seconds < BATCH && size < 1 << 20) size *= 2;
    perp_clock_reference_tick(pace, now);
    *cut = perp_cell_cut(run) != PERP_CUT_NONE;
    if (*cut) return PERP_OK;
  }
  return clock_check(ctx, run, &before);
}

/* One more run for the steps that no batch had for itself, and for those of a run that has too many
 * to remember. */
static perp_status clock_alone(perp_ctx *ctx, perp_cell_run *run)
{
  const double cost = perp_cell_clock_cost();
  const bool many = run->steps > PERP_LIST_EXACT;
  bool all = !many;
  for (int i = 0; i < run->alone.n; i++) all = all && isfinite(run->alone.x[i]);
  if (all) return PERP_OK;
  PERP_TRY(perp_cell_start(ctx, run));
  for (int64_t i = 0; i < run->steps; i++) {
    const double t0 = perp_clock_thread();
    PERP_TRY(clock_steps(ctx, run, 1));
    const double seconds = fmax(0, perp_clock_thread() - t0 - cost);
    if (many)
      PERP_TRY(perp_cell_add(ctx, &run->alone, seconds));
    else
      run->alone.x[i] = fmin(run->alone.x[i], seconds);
    if (perp_cell_cut(run) == PERP_CUT_NONE) continue;
    perp_cell_clear(&run->alone);
    break;
  }
  return PERP_OK;
}

/* Without rounds, and too short for a clock around each step: one further run.  What cannot be made
 * again has no time. */
static perp_status clock_brief(perp_ctx *ctx, perp_cell_run *run)
{
  perp_result *result = run->result;
  const double cost = perp_cell_clock_cost(), step = result->time.cpu_s / (double)run->batch.n;
  const int64_t size = (int64_t)ceil(BATCH / fmax(step, 1e-8));
  perp_ode_counters before;
  perp_stats kkt;
  double cpu = 0;
  perp_status status = perp_cell_start(ctx, run);
  perp_cell_counters(run, &before, &kkt);
  perp_cell_clear(&run->batch);
  for (int64_t done = 0, n; done < run->steps && status == PERP_OK; done += n) {
    n = size < run->steps - done ? size : run->steps - done;
    const double t0 = perp_clock_thread();
    status = clock_steps(ctx, run, n);
    const double seconds = fmax(0, perp_clock_thread() - t0 - cost);
    cpu += seconds;
    if (status == PERP_OK && (n == size || done == 0))
      status = perp_cell_add(ctx, &run->batch, seconds / (double)n);
    if (perp_cell_cut(run) != PERP_CUT_NONE) break;
  }
  if (status == PERP_OK && perp_cell_cut(run) == PERP_CUT_NONE)
    status = clock_check(ctx, run, &before);
  if (status == PERP_ERR_NOMEM) return status;
  result->time.cpu_s = status == PERP_OK ? cpu : (double)NAN;
  if (status != PERP_OK) perp_cell_clear(&run->batch);
  return PERP_OK;
}

/* Short runs, so many of them between two readings of the clock: the CPU time of one, without its
 * start. */
static perp_status clock_short_runs(perp_ctx *ctx, perp_cell_run *run, int64_t runs, double *cpu)
{
  perp_ode_counters before;
  perp_stats kkt;
  const double t0 = perp_clock_thread();
  for (int64_t i = 0; i < runs; i++) PERP_TRY(perp_cell_start(ctx, run));
  const double t1 = perp_clock_thread();
  for (int64_t i = 0; i < runs; i++) {
    PERP_TRY(perp_cell_start(ctx, run));
    if (i == runs - 1) perp_cell_counters(run, &before, &kkt);
    PERP_TRY(clock_steps(ctx, run, run->steps));
  }
  const double both = perp_clock_thread() - t1;
  *cpu = fmax(0, both - (t1 - t0)) / (double)runs;
  PERP_TRY(perp_cell_add(ctx, &run->batch, *cpu / (double)run->steps));
  return clock_check(ctx, run, &before);
}

/* Whole runs, again and again until they have taken PASS seconds; *cpu is the time of one. */
static perp_status time_run(perp_ctx *ctx, perp_cell_run *run, perp_clock_reference *pace,
                            double *cpu)
{
  bool cut = false;
  double total = 0, one;
  PERP_TRY(clock_run(ctx, run, pace, &one, &cut)); /* also to be ready */
  const int64_t runs = one < BATCH ? (int64_t)ceil(BATCH / fmax(one, 1e-7)) : 1;
  if (runs > 1) perp_cell_clear(&run->batch); /* they tell of the clock more than of the steps */
  int loops = 0;
  if (runs == 1) {
    total = one;
    loops = 1;
  }
  while (!cut && total < PASS) {
    if (runs > 1) {
      PERP_TRY(clock_short_runs(ctx, run, runs, &one));
      perp_clock_reference_tick(pace, perp_clock_thread());
      cut = perp_cell_cut(run) != PERP_CUT_NONE;
    } else {
      PERP_TRY(clock_run(ctx, run, pace, &one, &cut));
    }
    total += fmax(one, 1e-9) * (double)runs;
    loops++;
  }
  if (!cut) *cpu = total / ((double)runs * loops); /* else the run itself is whole */
  return PERP_OK;
}

/* The steps from the start on, with clocks inside: `times` of their parts, *wall of all; *busy: by
 * how much this was more than their CPU time. */
static perp_status clock_parts(perp_ctx *ctx, perp_cell_run *run, perp_times *times, int64_t *steps,
                               double *wall, double *busy)
{
  perp_step_info info;
  *steps = 0;
  *wall = 0;
  perp_sim_timing(run->sim, true, NULL);
  perp_status status = perp_cell_start(ctx, run);
  const double cpu0 = perp_clock_thread();
  while (*steps < run->steps && *wall < BREAKDOWN && status == PERP_OK) {
    const double t0 = perp_clock_wall();
    status = perp_cell_step(ctx, run, run->t_end, &info);
    *wall += perp_clock_wall() - t0;
    ++*steps;
    if (info.reason < 0 || perp_cell_cut(run) != PERP_CUT_NONE) break;
  }
  *busy = *wall / fmax(perp_clock_thread() - cpu0, 1e-9);
  perp_sim_timing(run->sim, false, times);
  return status;
}

/* Pass 3: parts of a step, all from one run: the rest is what the clock around a step has beyond
 * those inside.  The clock is that of the wall, whose readings are some 20 ns; that of the thread
 * would be most of a small step.  Where other processes had the processor the run is made again,
 * and the one that they disturbed least is used. */
static perp_status simulate_clock_breakdown(perp_ctx *ctx, perp_cell_run *run)
{
  enum { RUNS = 5 };
  perp_result *result = run->result;
  if (run->sim == NULL) {
    result->time.breakdown_us = result->time.integrate_us = result->time.step_us;
    result->time.breakdown_steps = run->steps;
    return PERP_OK;
  }
  for (double least = HUGE_VAL, k = 0; k < RUNS && least > 1.1; k++) {
    perp_times times = { 0 };
    double wall, busy;
    int64_t steps;
    PERP_TRY(clock_parts(ctx, run, &times, &steps, &wall, &busy));
    if (steps == 0 || busy >= least) continue;
    least = busy;
    const perp_group_count *groups = perp_sim_groups(run->sim);
    if (groups != NULL) {
      run->measure->run.groups.advance_s = result->group_count.advance_s = groups->advance_s;
      run->measure->run.groups.restart_s = result->group_count.restart_s = groups->restart_s;
    }
    const double each = 1e6 / (double)steps;
    result->time.breakdown_steps = steps;
    result->time.breakdown_us = each * wall;
    result->time.collision_us = each * times.collision;
    result->time.assembly_us = each * times.assembly;
    result->time.kkt_us = each * times.kkt;
    result->time.lcp_us = each * times.lcp;
    result->time.integrate_us = result->time.breakdown_us - result->time.collision_us -
                                result->time.assembly_us - result->time.kkt_us -
                                result->time.lcp_us;
  }
  return PERP_OK;
}

static perp_spread clock_us(perp_spread spread)
{
  return (perp_spread){ 1e6 * spread.median, 1e6 * spread.p99, 1e6 * spread.most,
                        1e6 * spread.quartiles };
}

/* Of the steps whose time is cpu_s, us; rounds that none finished have no such steps. */
static double clock_mean(const perp_cell_run *run, bool whole)
{
  const bool rounds = run->rounds > 0;
  const int64_t steps = rounds || run->brief ? run->steps : run->batch.total;
  if (steps == 0 || (rounds && !(whole && run->batch.total > 0))) return (double)NAN;
  return 1e6 * run->result->time.cpu_s / (double)steps;
}

perp_status perp_cell_clock(perp_ctx *ctx, perp_cell_run *run)
{
  const int rounds = run->rounds;
  perp_result *result = run->result;
  const bool whole = result->reason > 0 && result->cut == PERP_CUT_NONE;
  if (rounds > 0 && whole && run->steps > 0) {
    const double cpu_s = result->time.cpu_s; /* of pass 1, in case that none is finished */
    perp_cell_clear(&run->batch);
    for (int64_t i = 0; i < run->steps && run->steps <= PERP_LIST_EXACT; i++)
      PERP_TRY(perp_cell_add(ctx, &run->alone, HUGE_VAL));
    result->time.cpu_s = HUGE_VAL;
    perp_clock_reference pace;
    perp_clock_reference_begin(&pace);
    for (int round = 0; round < rounds; round++) {
      double cpu = HUGE_VAL;
      PERP_TRY(time_run(ctx, run, &pace, &cpu));
      result->time.cpu_s = fmin(result->time.cpu_s, cpu);
      if (perp_cell_cut(run) != PERP_CUT_NONE) break;
    }
    if (isinf(result->time.cpu_s)) { /* no round was finished */
      result->time.cpu_s = cpu_s;
      perp_cell_clear(&run->batch);
    }
    result->time.pace = perp_clock_reference_end(&pace);
    if (perp_cell_cut(run) == PERP_CUT_NONE)
      PERP_TRY(clock_alone(ctx, run));
    else
      perp_cell_clear(&run->alone);
  }
  if (rounds <= 0 && run->brief && run->steps > 0) {
    if (whole)
      PERP_TRY(clock_brief(ctx, run));
    else
      result->time.cpu_s = (double)NAN; /* the first steps alone had a clock */
  }
  result->time.step_us = clock_mean(run, whole);
  if (rounds <= 0 && run->brief) perp_cell_clear(&run->batch); /* no step was timed by itself */
  run->measure->run.alone_us = result->time.alone_us = clock_us(
      perp_cell_spread(rounds > 0 ? &run->alone : &run->batch));
  const bool asked = rounds > 0 || run->request->timing_detail;
  return whole && asked ? simulate_clock_breakdown(ctx, run) : PERP_OK;
}
