/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The clock of one cell: nothing but steps, and the shares of their parts. */
#include "experiments/simulate/simulate_run.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <math.h>
#include <stdlib.h>

/* A timing pass is repeated until it has run this long, in batches of at least BATCH. */
#define PASS  20e-3
#define BATCH 100e-6
enum { BREAKDOWN_STEPS = 1000 };

/* Pass 2: nothing but steps, in batches that the clock can resolve, at least PASS seconds of them;
 * *cpu is the time of one run. */
static perp_status time_run(perp_ctx *ctx, perp_cell_run *r, perp_clock_reference *pace,
                            double *cpu)
{
  perp_step_info info;
  perp_ode_counters before, after;
  perp_stats kkt;
  double t, total = 0;
  const double *q, *v;
  int size = 1, loops = 0;
  do {
    PERP_TRY(perp_cell_start(ctx, r));
    perp_cell_state(r, &t, &q, &v);
    while (t < r->t_end && !perp_cell_same_time(t, r->t_end)) {
      perp_cell_counters(r, &before, &kkt);
      double t0 = perp_clock_thread();
      for (int i = 0; i < size; i++) { /* a step at the end of the run does nothing */
        PERP_TRY(perp_cell_step(ctx, r, r->t_end, &info));
        if (info.reason < 0) return PERP_OK; /* pass 1 has reported it */
      }
      double now = perp_clock_thread(), seconds = now - t0;
      total += seconds;
      perp_cell_counters(r, &after, &kkt);
      perp_cell_state(r, &t, &q, &v);
      if (after.steps - before.steps == size) PERP_TRY(perp_cell_add_batch(ctx, r, seconds / size));
      if (seconds < BATCH && size < 1 << 20) size *= 2;
      perp_clock_reference_tick(pace, now);
      if (perp_cell_cut(r) != PERP_CUT_NONE) return PERP_OK; /* the run itself is whole */
    }
    loops++;
  } while (total < PASS);
  *cpu = total / loops;
  return PERP_OK;
}

/* Pass 3: shares of assembly, KKT and the rest in a step.  The clock inside a step costs more than
 * some of its parts, so that the shares are applied to the step of pass 2. */
static perp_status simulate_clock_breakdown(perp_ctx *ctx, perp_cell_run *r)
{
  perp_result *result = r->result;
  perp_times times = { 0 };
  perp_step_info info;
  if (r->sim == NULL) {
    result->integrate_us = result->step_us;
    return PERP_OK;
  }
  perp_sim_timing(r->sim, true, NULL);
  perp_status status = perp_cell_start(ctx, r);
  for (int i = 0; i < BREAKDOWN_STEPS && status == PERP_OK; i++) {
    status = perp_cell_step(ctx, r, r->t_end, &info);
    if (info.reason < 0 || perp_cell_cut(r) != PERP_CUT_NONE) break;
  }
  perp_sim_timing(r->sim, false, &times);
  const perp_group_count *groups = perp_sim_groups(r->sim);
  if (groups != NULL) {
    r->measure->groups.advance_s = result->group_count.advance_s = groups->advance_s;
    r->measure->groups.restart_s = result->group_count.restart_s = groups->restart_s;
  }
  const double sum = times.collision + times.assembly + times.kkt + times.lcp +
                     fmax(0, times.integrate);
  if (!(sum > 0)) return status;
  const double scale = result->step_us / sum;
  result->collision_us = scale * times.collision;
  result->assembly_us = scale * times.assembly;
  result->kkt_us = scale * times.kkt;
  result->lcp_us = scale * times.lcp;
  result->integrate_us = scale * fmax(0, times.integrate);
  return status;
}

perp_status perp_cell_clock(perp_ctx *ctx, perp_cell_run *r)
{
  const int rounds = r->request->timing_rounds;
  perp_result *result = r->result;
  const bool whole = result->reason > 0 && result->cut == PERP_CUT_NONE;
  if (rounds > 0 && whole) {
    const double cpu_s = result->cpu_s; /* of pass 1, in case that none is finished */
    r->n_batches = 0;
    result->cpu_s = HUGE_VAL;
    perp_clock_reference pace;
    perp_clock_reference_begin(&pace);
    for (int round = 0; round < rounds; round++) {
      double cpu = HUGE_VAL;
      PERP_TRY(time_run(ctx, r, &pace, &cpu));
      result->cpu_s = fmin(result->cpu_s, cpu);
      if (perp_cell_cut(r) != PERP_CUT_NONE) break;
    }
    if (isinf(result->cpu_s)) result->cpu_s = cpu_s;
    result->pace = perp_clock_reference_end(&pace);
  }
  const size_t n = (size_t)r->n_batches;
  gsl_sort(r->batch, 1, n);
  result->step_us = n > 0 ? 1e6 * gsl_stats_median_from_sorted_data(r->batch, 1, n) : nan("");
  return whole ? simulate_clock_breakdown(ctx, r) : PERP_OK;
}
