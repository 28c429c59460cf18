/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a run ended: the one place that says it. */
#include "experiments/simulate/simulate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t perp_result_problems(const perp_result *r)
{
  /* those whose guess was a solution already were met, too */
  return r->contact_count.problems + r->contact_count.reused;
}

perp_cell_status perp_result_status(const perp_result *r)
{
  if (r->status == PERP_ERR_NOMEM) return PERP_CELL_OOM;
  if (r->status == PERP_ERR_EXTERNAL) return PERP_CELL_CRASH; /* code beyond the border */
  if (r->status != PERP_OK) return PERP_CELL_SETUP_FAILED;
  switch (r->cut) {
  case PERP_CUT_TIME:
    return PERP_CELL_TIMEOUT;
  case PERP_CUT_MEMORY:
    return PERP_CELL_OOM;
  case PERP_CUT_SIGNAL:
  case PERP_CUT_CRASH:
    return PERP_CELL_CRASH;
  case PERP_CUT_NONE:
    break;
  }
  if (r->reason == PERP_UNSUITED) return PERP_CELL_UNSUITED;
  if (r->reason < 0) return r->reason == PERP_MAX_ITER ? PERP_CELL_MAXITER : PERP_CELL_DIVERGED;
  if (r->contact_count.failures > 0) return PERP_CELL_UNSOLVED;
  if (r->contact_count.swept > 0) return PERP_CELL_FIXED_WORK;
  return r->contact_count.several > 0 ? PERP_CELL_SEVERAL : PERP_CELL_OK;
}

const char *perp_result_status_name(const perp_result *r)
{
  return r->status == PERP_OK && r->cut == PERP_CUT_SIGNAL
             ? "interrupted"
             : perp_cell_status_names[perp_result_status(r)];
}

const char *perp_result_reason(const perp_result *r)
{
  static const char *const cuts[] = { [PERP_CUT_TIME] = "time-limit",
                                      [PERP_CUT_SIGNAL] = "interrupted",
                                      [PERP_CUT_MEMORY] = "memory-limit",
                                      [PERP_CUT_CRASH] = "crash" };
  if (r->cut != PERP_CUT_NONE) return cuts[r->cut];
  return r->reason > 0 ? "reached-end" : perp_reason_name(r->reason);
}

bool perp_result_partial(const perp_result *r)
{
  return r->status == PERP_OK && (r->cut != PERP_CUT_NONE || r->reason < 0);
}

const char *perp_result_cause(const perp_result *r, char *buf, size_t size)
{
  const perp_contact_count *c = &r->contact_count;
  const long long n = perp_result_problems(r);
  size_t used = (size_t)snprintf(buf, size, "%s", r->message);
  if (used == 0 && perp_result_status(r) == PERP_CELL_SEVERAL) {
    snprintf(buf, size, "motion depends on the choice of contact impulses in %lld of %lld steps",
             (long long)r->solutions.several, (long long)r->solutions.steps);
    return buf;
  }
  if (used >= size || (c->failures == 0 && (c->swept == 0 || used > 0))) return buf;
  if (c->failures == 0 && r->engine[0] != '\0') {
    snprintf(buf, size,
             "the engine used a fixed number of iterations without a convergence test in %lld of "
             "%lld steps",
             (long long)c->swept, n);
    return buf;
  }
  if (c->failures == 0) {
    snprintf(buf, size, "%lld of %lld problems above the tolerance after the requested sweeps",
             (long long)c->swept, n);
    return buf;
  }
  used += (size_t)snprintf(buf + used, size - used, "%s%lld of %lld problems not solved (%.3g %%)",
                           used > 0 ? "; " : "", (long long)c->failures, n,
                           100.0 * (double)c->failures / (double)n);
  const char *comma = ": ";
  for (int i = 0; i < PERP_REASONS && used < size; i++) {
    if (c->failed[i] == 0) continue;
    used += (size_t)snprintf(buf + used, size - used, "%s%s %lld", comma,
                             perp_reason_name((perp_reason)-i), (long long)c->failed[i]);
    comma = ", ";
  }
  if (c->unsuited[0] != '\0' && used < size) snprintf(buf + used, size - used, "; %s", c->unsuited);
  return buf;
}

void perp_result_free(perp_result *result)
{
  free(result->q);
  free(result->v);
  free(result->groups);
  free(result->series.header);
  free(result->series.values);
  *result = (perp_result){ 0 };
}

double perp_result_metric(const perp_result *result, const char *name)
{
  for (int i = 0; i < result->n_metrics; i++)
    if (strcmp(result->metrics[i].name, name) == 0) return result->metrics[i].value;
  return nan("");
}
