/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The JSON of one run: stable keys, %.17g; figures that the run does not have are absent. */
#include "experiments/simulate/simulate.h"
#include "experiments/simulate/parts.h"
#include "experiments/simulate/simulate_contacts.h"

#include <math.h>
#include <string.h>

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
                    r->cpu_s, r->step_us, r->alone_us.median, r->alone_us.p99, r->alone_us.most,
                    r->wall_s);
  if (r->breakdown_steps > 0) {
    line_open(&j, "breakdown");
    perp_json_members(&j,
                      "steps %lld, step_us %g, collision_us %g, assembly_us %g, kkt_us %g, "
                      "lcp_us %g, integrate_us %g",
                      (long long)r->breakdown_steps, r->breakdown_us, r->collision_us,
                      r->assembly_us, r->kkt_us, r->lcp_us, r->integrate_us);
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
