/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How a run ended: the one place that says it. */
#include "experiments/simulate/simulate.h"
#include "experiments/base/memory.h"
#include "experiments/base/table.h"
#include "experiments/simulate/parts.h"

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

/* (solved + reused) / all, 1 where there is none. */
static double contacts_share(const perp_contact_count *c)
{
  const int64_t all = c->problems + c->reused;
  return all > 0 ? (double)(c->solved + c->reused) / (double)all : 1;
}

void perp_contacts_json(const perp_contact_count *c, perp_json *j)
{
  perp_json_members(j,
                    "problems %lld, solved %lld, reused %lld, swept %lld, refuted %lld, "
                    "failures %lld",
                    (long long)(c->problems + c->reused), (long long)c->solved,
                    (long long)c->reused, (long long)c->swept, (long long)c->refuted,
                    (long long)c->failures);
  for (int i = 0; i < PERP_REASONS; i++) {
    char key[48];
    snprintf(key, sizeof key, "failures.%s", perp_reason_name((perp_reason)-i));
    if (c->failed[i] != 0) perp_json_int(j, key, c->failed[i]);
  }
  perp_json_real(j, "share", contacts_share(c));
  perp_json_open(j, "by", '{');
  for (int i = 0; i < PERP_SOLVED_BY && c->by[i].name[0] != '\0'; i++)
    perp_json_int(j, c->by[i].name, c->by[i].n);
  perp_json_close(j, '}');
  if (c->coulomb.measured)
    perp_json_members(
        j, "coulomb.violation %g, coulomb.beyond %g, coulomb.missing %g, coulomb.angle %g",
        c->coulomb.violation, c->coulomb.beyond, c->coulomb.missing, c->coulomb.angle);
  perp_json_members(
      j, "residual.max %g, data.max %g, work %g, iterations %lld, again %lld, thrown %lld",
      c->residual, c->data, c->work, (long long)c->iterations, (long long)c->again,
      (long long)c->thrown);
}

void perp_contacts_text(const perp_contact_count *c, FILE *out)
{
  const long long all = (long long)(c->problems + c->reused);
  perp_text t = { 0 };
  if (all == 0) return;
  perp_text_add(&t, "%lld problem%s: ", all, all == 1 ? "" : "s");
  const char *comma = "";
  for (int i = 0; i < PERP_SOLVED_BY && c->by[i].name[0] != '\0'; i++) {
    perp_text_add(&t, "%s%lld solved by %s", comma, (long long)c->by[i].n, c->by[i].name);
    comma = ", ";
  }
  const struct {
    int64_t n;
    const char *what;
  } others[] = { { c->reused, "by the solution of the previous step" },
                 { c->swept, "above the tolerance after the requested sweeps" },
                 { c->refuted, "in discarded evaluations" } };
  for (int i = 0; i < 3; i++) {
    if (others[i].n == 0) continue;
    perp_text_add(&t, "%s%lld %s", comma, (long long)others[i].n, others[i].what);
    comma = ", ";
  }
  if (c->failures > 0) {
    perp_text_add(&t, "%s%lld not solved (", comma, (long long)c->failures);
    comma = "";
    for (int i = 0; i < PERP_REASONS; i++) {
      if (c->failed[i] == 0) continue;
      perp_text_add(&t, "%s%lld %s", comma, (long long)c->failed[i],
                    perp_reason_name((perp_reason)-i));
      comma = ", ";
    }
    perp_text_add(&t, "); the best impulses found were used");
  }
  if (isnan(c->residual)) /* schemes that make sweeps, and no problem that could be judged */
    perp_text_add(&t, "; their residual was not measured");
  else
    perp_text_add(&t, "; residual of the impulses at most %.2g, in units of the data %.2g",
                  c->residual, c->data);
  if (c->again > 0)
    perp_text_add(&t, "; %lld of the solved ones were solved once more, more accurately",
                  (long long)c->again);
  if (c->coulomb.measured)
    perp_text_add(&t, "; friction is off Coulomb's law by at most %.2g mu N%s",
                  c->coulomb.violation,
                  c->coulomb.violation > 0.01 ? " (--contact cone --lcp auto follows it)" : "");
  if (c->thrown > 0)
    perp_text_add(&t,
                  "; in %lld, impulses with a smaller residual were rejected because they would "
                  "have thrown bodies",
                  (long long)c->thrown);
  if (c->critical > 0)
    perp_text_add(&t, "; critical contacts, for which no contact forces exist, at %lld state%s: %s",
                  (long long)c->critical, c->critical == 1 ? "" : "s",
                  c->stopped == c->critical ? "their bodies were stopped"
                  : c->stopped > 0          ? "not all of their bodies were stopped"
                                            : "the run ends there");
  if (c->piled > 0)
    perp_text_add(&t, "; events accumulate in %lld step%s; these are of first order",
                  (long long)c->piled, c->piled == 1 ? "" : "s");
  perp_wrap_after(out, "lcp      ", 9, t.s);
  fputc('\n', out);
  perp_text_free(&t);
}

void perp_solutions_text(const perp_solution_steps *s, FILE *out)
{
  perp_text t = { 0 };
  if (s->open + s->chosen + s->undecided == 0) return;
  perp_text_add(&t,
                "impulses not unique in %lld of %lld steps, motion depends on the choice in %lld",
                (long long)s->open, (long long)s->steps, (long long)s->several);
  if (s->chosen > 0)
    perp_text_add(&t, "; the option choice replaced the solution of the solver in %lld",
                  (long long)s->chosen);
  if (s->unexamined > 0)
    perp_text_add(&t, "; in %lld, islands were too large to look for other motions",
                  (long long)s->unexamined);
  if (s->undecided > 0)
    perp_text_add(&t, "; in %lld, the search for another motion failed", (long long)s->undecided);
  perp_wrap_after(out, "choice   ", 9, t.s);
  fputc('\n', out);
  perp_text_free(&t);
}

/* The JSON of one run: stable keys, %.17g; figures that the run does not have are absent. */

/* An object on a line of its own is open from here on ... */
static void line_open(perp_json *j, const char *key)
{
  perp_json_open(j, key, '{');
  j->indent = false;
}

/* ... to here. */
static void line_close(perp_json *j)
{
  perp_json_close(j, '}');
  j->indent = true;
}

static void put_parts(perp_json *j, const perp_result *r)
{
  line_open(j, "parts");
  for (int i = 0; i < PERP_PARTS; i++) {
    const char *part = perp_part_used(r, i);
    if (part[0] != '\0') perp_json_text(j, perp_part_name(i), part);
  }
  line_close(j);
}

static void put_counters(perp_json *j, const perp_result *r)
{
  const perp_ode_counters *c = &r->ode_count;
  line_open(j, "counters");
  perp_json_members(j,
                    "steps %lld, steps.rejected %lld, bisections %lld, restarts %lld, "
                    "changed %lld, rhs.calls %lld, ode.iterations %lld, h.least %g, h.most %g",
                    (long long)c->steps, (long long)c->rejected, (long long)c->bisections,
                    (long long)c->restarts, (long long)c->changed, (long long)c->rhs,
                    (long long)c->iterations, c->h_least, c->h_most);
  perp_json_members(j, "kkt.factorizations %d, kkt.iterations %d, kkt.fallbacks %d, kkt.work %g",
                    r->kkt_count.factorizations, r->kkt_count.iterations, r->kkt_count.fallbacks,
                    r->kkt_count.work);
  line_close(j);
}

/* Counts, and each group at the end. */
static void put_groups(perp_json *j, const perp_result *r)
{
  const perp_group_count *c = &r->group_count;
  line_open(j, "groups");
  perp_json_members(j,
                    "now %d, idle %d, max %d, merges %lld, splits %lld, "
                    "transactions.aborted %lld, advances %lld, advances.undone %lld, "
                    "advances.skipped %lld, steps %lld, rhs.bodies %lld, restart_s %g, "
                    "advance_s %g",
                    c->groups, c->idle, c->most, (long long)c->merges, (long long)c->splits,
                    (long long)c->aborted, (long long)c->advanced, (long long)c->undone,
                    (long long)c->skipped, (long long)c->steps, (long long)c->rhs_bodies,
                    c->restart_s, c->advance_s);
  line_close(j);
  perp_json_open(j, "groups.each", '[');
  for (int i = 0; i < c->groups; i++) {
    const perp_group_info *g = &r->groups[i];
    line_open(j, NULL);
    perp_json_members(j, "first %d, bodies %d, idle? %d, steps %lld, rhs.calls %lld, h %g",
                      g->first, g->bodies, g->idle, (long long)g->steps, (long long)g->rhs, g->h);
    line_close(j);
  }
  j->indent = false;
  perp_json_close(j, ']');
  j->indent = true;
}

void perp_result_json(const perp_result *r, FILE *out)
{
  char cause[512];
  const perp_contact_count *contacts = &r->contact_count;
  perp_json j = { .out = out, .indent = true };
  perp_json_open(&j, NULL, '{');
  perp_json_members(&j, "status %s, reason %s, partial? %d, message %s, events %s, scene %s",
                    perp_result_status_name(r), perp_result_reason(r), perp_result_partial(r),
                    perp_result_cause(r, cause, sizeof cause), r->events, r->scene);
  if (r->invariants[0] != '\0') perp_json_text(&j, "invariants", r->invariants);
  perp_warnings_json(&r->warnings, &j);
  put_parts(&j, r);
  if (r->resolved[0] != '\0') perp_json_text(&j, "resolved", r->resolved);
  if (r->note[0] != '\0') perp_json_text(&j, "note", r->note);
  perp_json_text(&j, "truth", r->truth);
  if (r->published.what[0] != '\0') {
    line_open(&j, "published");
    perp_json_members(&j, "source %s, t %g, err.q %g, err.v %g", r->published.what, r->published.t,
                      r->published.err_q, r->published.err_v);
    line_close(&j);
  }
  perp_json_members(&j, "h %g, t_end %g", r->h, r->t_end);
  line_open(&j, "metrics");
  for (int i = 0; i < r->n_metrics; i++)
    perp_json_real(&j, r->metrics[i].name, r->metrics[i].value);
  line_close(&j);
  line_open(&j, "time");
  perp_json_members(&j,
                    "cpu_s %g, step_us %g, step_us.median %g, step_us.p99 %g, step_us.max %g, "
                    "wall_s %g",
                    r->time.cpu_s, r->time.step_us, r->time.alone_us.median, r->time.alone_us.p99,
                    r->time.alone_us.most, r->time.wall_s);
  if (r->time.breakdown_steps > 0) {
    line_open(&j, "breakdown");
    perp_json_members(&j,
                      "steps %lld, step_us %g, collision_us %g, assembly_us %g, kkt_us %g, "
                      "lcp_us %g, integrate_us %g",
                      (long long)r->time.breakdown_steps, r->time.breakdown_us,
                      r->time.collision_us, r->time.assembly_us, r->time.kkt_us, r->time.lcp_us,
                      r->time.integrate_us);
    line_close(&j);
  }
  line_close(&j);
  put_counters(&j, r);
  if (r->lcp[0] != '\0') {
    line_open(&j, "lcp");
    perp_contacts_json(contacts, &j);
    line_close(&j);
    line_open(&j, "choice");
    perp_json_members(&j,
                      "steps %lld, impulses.nonunique %lld, motion.nonunique %lld, chosen %lld, "
                      "large %lld, undecided %lld",
                      (long long)r->solutions.steps, (long long)r->solutions.open,
                      (long long)r->solutions.several, (long long)r->solutions.chosen,
                      (long long)r->solutions.unexamined, (long long)r->solutions.undecided);
    line_close(&j);
  }
  if (r->groups != NULL) put_groups(&j, r);
  if (contacts->events) {
    line_open(&j, "events");
    perp_json_members(&j,
                      "impacts %lld, impacts.plastic %lld, switches %lld, piled %lld, "
                      "bisections %lld, critical %lld, critical.stopped %lld",
                      (long long)contacts->impacts, (long long)contacts->plastic,
                      (long long)contacts->switches, (long long)contacts->piled,
                      (long long)r->ode_count.bisections, (long long)contacts->critical,
                      (long long)contacts->stopped);
    line_close(&j);
  }
  line_open(&j, "final");
  perp_json_real(&j, "t", r->t);
  perp_json_reals(&j, "q", r->q, r->nq);
  perp_json_reals(&j, "v", r->v, r->nv);
  perp_json_real(&j, "energy", r->energy);
  line_close(&j);
  perp_json_close(&j, '}');
}
