/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a run ended: the one place that says it. */
#include "experiments/simulate/simulate.h"
#include "experiments/base/memory.h"
#include "experiments/base/table.h"
#include "experiments/simulate/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int64_t perp_result_problems(const perp_result *result)
{
  /* those whose guess was a solution already were met, too */
  return result->contact_count.problems + result->contact_count.reused;
}

perp_cell_status perp_result_status(const perp_result *result)
{
  if (result->status != PERP_OK) return perp_cell_failed(result->status);
  switch (result->cut) {
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
  if (result->reason == PERP_UNSUITED) return PERP_CELL_UNSUITED;
  if (result->reason < 0)
    return result->reason == PERP_MAX_ITER ? PERP_CELL_MAXITER : PERP_CELL_DIVERGED;
  if (result->contact_count.failures > 0) return PERP_CELL_UNSOLVED;
  if (result->contact_count.swept > 0) return PERP_CELL_FIXED_WORK;
  return result->contact_count.several > 0 ? PERP_CELL_SEVERAL : PERP_CELL_OK;
}

const char *perp_result_status_name(const perp_result *result)
{
  return result->status == PERP_OK && result->cut == PERP_CUT_SIGNAL
             ? "interrupted"
             : perp_cell_status_names[perp_result_status(result)];
}

const char *perp_result_reason(const perp_result *result)
{
  static const char *const cuts[] = { [PERP_CUT_TIME] = "time-limit",
                                      [PERP_CUT_SIGNAL] = "interrupted",
                                      [PERP_CUT_MEMORY] = "memory-limit",
                                      [PERP_CUT_CRASH] = "crash" };
  if (result->cut != PERP_CUT_NONE) return cuts[result->cut];
  return result->reason > 0 ? "reached-end" : perp_reason_name(result->reason);
}

bool perp_result_partial(const perp_result *result)
{
  return result->status == PERP_OK && (result->cut != PERP_CUT_NONE || result->reason < 0);
}

const char *perp_result_cause(const perp_result *result, char *buf, size_t size)
{
  const perp_contact_count *count = &result->contact_count;
  const long long n = perp_result_problems(result);
  size_t used = (size_t)snprintf(buf, size, "%s", result->message);
  if (used == 0 && perp_result_status(result) == PERP_CELL_SEVERAL) {
    snprintf(buf, size, "motion depends on the choice of contact impulses in %lld of %lld steps",
             (long long)result->solutions.several, (long long)result->solutions.steps);
    return buf;
  }
  if (used >= size || (count->failures == 0 && (count->swept == 0 || used > 0))) return buf;
  if (count->failures == 0 && result->engine[0] != '\0') {
    snprintf(buf, size,
             "the engine used a fixed number of iterations without a convergence test in %lld of "
             "%lld steps",
             (long long)count->swept, n);
    return buf;
  }
  if (count->failures == 0) {
    snprintf(buf, size, "%lld of %lld problems above the tolerance after the requested sweeps",
             (long long)count->swept, n);
    return buf;
  }
  used += (size_t)snprintf(buf + used, size - used, "%s%lld of %lld problems not solved (%.3g %%)",
                           used > 0 ? "; " : "", (long long)count->failures, n,
                           100.0 * (double)count->failures / (double)n);
  const char *comma = ": ";
  for (int i = 0; i < PERP_REASONS && used < size; i++) {
    if (count->failed[i] == 0) continue;
    used += (size_t)snprintf(buf + used, size - used, "%s%s %lld", comma,
                             perp_reason_name((perp_reason)-i), (long long)count->failed[i]);
    comma = ", ";
  }
  if (count->unsuited[0] != '\0' && used < size)
    snprintf(buf + used, size - used, "; %s", count->unsuited);
  return buf;
}

void perp_result_free(perp_result *result)
{
  free(result->q);
  free(result->v);
  free(result->groups);
  free(result->forces);
  free(result->series.header);
  free(result->series.values);
  *result = (perp_result){ 0 };
}

double perp_result_metric(const perp_result *result, const char *name)
{
  for (int metric = 0; metric < result->n_metrics; metric++)
    if (strcmp(result->metrics[metric].name, name) == 0) return result->metrics[metric].value;
  return nan("");
}

/* (solved + reused) / all, 1 where there is none. */
static double contacts_share(const perp_contact_count *count)
{
  const int64_t all = count->problems + count->reused;
  return all > 0 ? (double)(count->solved + count->reused) / (double)all : 1;
}

void perp_contacts_json(const perp_contact_count *count, perp_json *json)
{
  perp_json_members(json,
                    "problems %lld, solved %lld, reused %lld, swept %lld, refuted %lld, "
                    "failures %lld",
                    (long long)(count->problems + count->reused), (long long)count->solved,
                    (long long)count->reused, (long long)count->swept, (long long)count->refuted,
                    (long long)count->failures);
  for (int i = 0; i < PERP_REASONS; i++) {
    char key[48];
    snprintf(key, sizeof key, "failures.%s", perp_reason_name((perp_reason)-i));
    if (count->failed[i] != 0) perp_json_int(json, key, count->failed[i]);
  }
  perp_json_real(json, "share", contacts_share(count));
  perp_json_open(json, "by", '{');
  for (int i = 0; i < PERP_SOLVED_BY && count->by[i].name[0] != '\0'; i++)
    perp_json_int(json, count->by[i].name, count->by[i].n);
  perp_json_close(json, '}');
  if (count->coulomb.measured)
    perp_json_members(
        json, "coulomb.violation %g, coulomb.beyond %g, coulomb.missing %g, coulomb.angle %g",
        count->coulomb.violation, count->coulomb.beyond, count->coulomb.missing,
        count->coulomb.angle);
  perp_json_members(
      json, "residual.max %g, data.max %g, work %g, iterations %lld, again %lld, thrown %lld",
      count->residual, count->data, count->work, (long long)count->iterations,
      (long long)count->again, (long long)count->thrown);
}

void perp_contacts_text(const perp_contact_count *count, FILE *out)
{
  const long long all = (long long)(count->problems + count->reused);
  perp_text text = { 0 };
  if (all == 0) return;
  perp_text_add(&text, "%lld problem%s: ", all, all == 1 ? "" : "s");
  const char *comma = "";
  for (int i = 0; i < PERP_SOLVED_BY && count->by[i].name[0] != '\0'; i++) {
    perp_text_add(&text, "%s%lld solved by %s", comma, (long long)count->by[i].n,
                  count->by[i].name);
    comma = ", ";
  }
  const struct {
    int64_t n;
    const char *what;
  } others[] = { { count->reused, "by the solution of the previous step" },
                 { count->swept, "above the tolerance after the requested sweeps" },
                 { count->refuted, "in discarded evaluations" } };
  for (int i = 0; i < 3; i++) {
    if (others[i].n == 0) continue;
    perp_text_add(&text, "%s%lld %s", comma, (long long)others[i].n, others[i].what);
    comma = ", ";
  }
  if (count->failures > 0) {
    perp_text_add(&text, "%s%lld not solved (", comma, (long long)count->failures);
    comma = "";
    for (int i = 0; i < PERP_REASONS; i++) {
      if (count->failed[i] == 0) continue;
      perp_text_add(&text, "%s%lld %s", comma, (long long)count->failed[i],
                    perp_reason_name((perp_reason)-i));
      comma = ", ";
    }
    perp_text_add(&text, "); the best impulses found were used");
  }
  if (isnan(count->residual)) /* schemes that make sweeps, and no problem that could be judged */
    perp_text_add(&text, "; their residual was not measured");
  else
    perp_text_add(&text, "; residual of the impulses at most %.2g, in units of the data %.2g",
                  count->residual, count->data);
  if (count->again > 0)
    perp_text_add(&text, "; %lld of the solved ones were solved once more, more accurately",
                  (long long)count->again);
  if (count->coulomb.measured)
    perp_text_add(&text, "; friction is off Coulomb's law by at most %.2g mu N%s",
                  count->coulomb.violation,
                  count->coulomb.violation > 0.01 ? " (--contact cone --lcp auto follows it)" : "");
  if (count->thrown > 0)
    perp_text_add(&text,
                  "; in %lld, impulses with a smaller residual were rejected because they would "
                  "have thrown bodies",
                  (long long)count->thrown);
  if (count->critical > 0)
    perp_text_add(&text,
                  "; critical contacts, for which no contact forces exist, at %lld state%s: %s",
                  (long long)count->critical, count->critical == 1 ? "" : "s",
                  count->stopped == count->critical ? "their bodies were stopped"
                  : count->stopped > 0              ? "not all of their bodies were stopped"
                                                    : "the run ends there");
  if (count->piled > 0)
    perp_text_add(&text, "; events accumulate in %lld step%s; these are of first order",
                  (long long)count->piled, count->piled == 1 ? "" : "s");
  perp_wrap_after(out, "lcp      ", 9, text.s);
  fputc('\n', out);
  perp_text_free(&text);
}

void perp_solutions_text(const perp_solution_steps *steps, FILE *out)
{
  perp_text text = { 0 };
  if (steps->open + steps->chosen + steps->undecided == 0) return;
  perp_text_add(&text,
                "impulses not unique in %lld of %lld steps, motion depends on the choice in %lld",
                (long long)steps->open, (long long)steps->steps, (long long)steps->several);
  if (steps->chosen > 0)
    perp_text_add(&text, "; the option choice replaced the solution of the solver in %lld",
                  (long long)steps->chosen);
  if (steps->unexamined > 0)
    perp_text_add(&text, "; in %lld, islands were too large to look for other motions",
                  (long long)steps->unexamined);
  if (steps->undecided > 0)
    perp_text_add(&text, "; in %lld, the search for another motion failed",
                  (long long)steps->undecided);
  perp_wrap_after(out, "choice   ", 9, text.s);
  fputc('\n', out);
  perp_text_free(&text);
}

/* The JSON of one run: stable keys, %.17g; figures that the run does not have are absent. */

/* An object on a line of its own is open from here on ... */
static void line_open(perp_json *json, const char *key)
{
  perp_json_open(json, key, '{');
  json->indent = false;
}

/* ... to here. */
static void line_close(perp_json *json)
{
  perp_json_close(json, '}');
  json->indent = true;
}

static void put_parts(perp_json *json, const perp_result *result)
{
  line_open(json, "parts");
  for (int i = 0; i < PERP_PARTS; i++) {
    const char *part = perp_part_used(result, i);
    if (part[0] != '\0') perp_json_text(json, perp_part_name(i), part);
  }
  line_close(json);
}

static void put_counters(perp_json *json, const perp_result *result)
{
  const perp_ode_counters *counters = &result->ode_count;
  line_open(json, "counters");
  perp_json_members(json,
                    "steps %lld, steps.rejected %lld, bisections %lld, restarts %lld, "
                    "changed %lld, rhs.calls %lld, ode.iterations %lld, h.least %g, h.most %g",
                    (long long)counters->steps, (long long)counters->rejected,
                    (long long)counters->bisections, (long long)counters->restarts,
                    (long long)counters->changed, (long long)counters->rhs,
                    (long long)counters->iterations, counters->h_least, counters->h_most);
  perp_json_members(json, "kkt.factorizations %d, kkt.iterations %d, kkt.fallbacks %d, kkt.work %g",
                    result->kkt_count.factorizations, result->kkt_count.iterations,
                    result->kkt_count.fallbacks, result->kkt_count.work);
  line_close(json);
}

/* Counts, and each group at the end. */
static void put_groups(perp_json *json, const perp_result *result)
{
  const perp_group_count *count = &result->group_count;
  line_open(json, "groups");
  perp_json_members(json,
                    "now %d, idle %d, max %d, merges %lld, splits %lld, "
                    "transactions.aborted %lld, advances %lld, advances.undone %lld, "
                    "advances.skipped %lld, steps %lld, rhs.bodies %lld, restart_s %g, "
                    "advance_s %g",
                    count->groups, count->idle, count->most, (long long)count->merges,
                    (long long)count->splits, (long long)count->aborted, (long long)count->advanced,
                    (long long)count->undone, (long long)count->skipped, (long long)count->steps,
                    (long long)count->rhs_bodies, count->restart_s, count->advance_s);
  line_close(json);
  perp_json_open(json, "groups.each", '[');
  for (int group = 0; group < count->groups; group++) {
    const perp_group_info *info = &result->groups[group];
    line_open(json, NULL);
    perp_json_members(json, "first %d, bodies %d, idle? %d, steps %lld, rhs.calls %lld, h %g",
                      info->first, info->bodies, info->idle, (long long)info->steps,
                      (long long)info->rhs, info->h);
    line_close(json);
  }
  json->indent = false;
  perp_json_close(json, ']');
  json->indent = true;
}

void perp_result_json(const perp_result *result, FILE *out)
{
  char cause[512];
  const perp_contact_count *contacts = &result->contact_count;
  perp_json json = { .out = out, .indent = true };
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json, "status %s, reason %s, partial? %d, message %s, events %s, scene %s",
                    perp_result_status_name(result), perp_result_reason(result),
                    perp_result_partial(result), perp_result_cause(result, cause, sizeof cause),
                    result->events, result->scene);
  if (result->invariants[0] != '\0') perp_json_text(&json, "invariants", result->invariants);
  perp_warnings_json(&result->warnings, &json);
  put_parts(&json, result);
  if (result->resolved[0] != '\0') perp_json_text(&json, "resolved", result->resolved);
  if (result->note[0] != '\0') perp_json_text(&json, "note", result->note);
  perp_json_text(&json, "truth", result->truth);
  if (result->published.what[0] != '\0') {
    line_open(&json, "published");
    perp_json_members(&json, "source %s, t %g, err.q %g, err.v %g", result->published.what,
                      result->published.t, result->published.err_q, result->published.err_v);
    line_close(&json);
  }
  perp_json_members(&json, "h %g, t_end %g", result->h, result->t_end);
  line_open(&json, "metrics");
  for (int metric = 0; metric < result->n_metrics; metric++)
    perp_json_real(&json, result->metrics[metric].name, result->metrics[metric].value);
  line_close(&json);
  if (result->n_forces > 0) {
    line_open(&json, "forces");
    for (int i = 0; i < result->n_forces; i++) {
      const perp_force_total *force = &result->forces[i];
      perp_json_open(&json, force->name, '{');
      perp_json_members(&json, "unit %s, max %g, rms %g, final %g", force->unit, force->max,
                        force->rms, force->final);
      perp_json_close(&json, '}');
    }
    line_close(&json);
  }
  line_open(&json, "time");
  perp_json_members(&json,
                    "cpu_s %g, step_us %g, step_us.median %g, step_us.p99 %g, step_us.max %g, "
                    "wall_s %g",
                    result->time.cpu_s, result->time.step_us, result->time.alone_us.median,
                    result->time.alone_us.p99, result->time.alone_us.most, result->time.wall_s);
  if (result->time.breakdown_steps > 0) {
    line_open(&json, "breakdown");
    perp_json_members(&json,
                      "steps %lld, step_us %g, collision_us %g, assembly_us %g, kkt_us %g, "
                      "lcp_us %g, integrate_us %g",
                      (long long)result->time.breakdown_steps, result->time.breakdown_us,
                      result->time.collision_us, result->time.assembly_us, result->time.kkt_us,
                      result->time.lcp_us, result->time.integrate_us);
    line_close(&json);
  }
  line_close(&json);
  put_counters(&json, result);
  if (result->lcp[0] != '\0') {
    line_open(&json, "lcp");
    perp_contacts_json(contacts, &json);
    line_close(&json);
    line_open(&json, "choice");
    perp_json_members(&json,
                      "steps %lld, impulses.nonunique %lld, motion.nonunique %lld, chosen %lld, "
                      "large %lld, undecided %lld",
                      (long long)result->solutions.steps, (long long)result->solutions.open,
                      (long long)result->solutions.several, (long long)result->solutions.chosen,
                      (long long)result->solutions.unexamined,
                      (long long)result->solutions.undecided);
    line_close(&json);
  }
  if (result->groups != NULL) put_groups(&json, result);
  if (contacts->events) {
    line_open(&json, "events");
    perp_json_members(&json,
                      "impacts %lld, impacts.plastic %lld, switches %lld, piled %lld, "
                      "bisections %lld, critical %lld, critical.stopped %lld",
                      (long long)contacts->impacts, (long long)contacts->plastic,
                      (long long)contacts->switches, (long long)contacts->piled,
                      (long long)result->ode_count.bisections, (long long)contacts->critical,
                      (long long)contacts->stopped);
    line_close(&json);
  }
  line_open(&json, "final");
  perp_json_real(&json, "t", result->t);
  perp_json_reals(&json, "q", result->q, result->nq);
  perp_json_reals(&json, "v", result->v, result->nv);
  perp_json_real(&json, "energy", result->energy);
  line_close(&json);
  perp_json_close(&json, '}');
}
