/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run with an observer at each accepted state, in a process of its own that shares the evidence
 * with its parent: a crash, a kill or a want of memory leave what was measured until then. */
#include "experiments/why/evidence.h"

#include "experiments/base/fence.h"
#include "experiments/base/guard.h"
#include "experiments/base/messages.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  RUN_RANKS = 200,
  RUN_RING = 64,
  RUN_GAPS = 3
};                                  /* states at which J is decomposed; the last ones */
static const double RUN_LINEAR = 8, /* s, for the linearized step */
    RUN_WINDOW = 0.05,              /* of the run: before a failure */
    RUN_LARGE = 1e3;                /* a state that much larger than the first: no linearization */

/* Limits above which a figure is a failure; of the size of the model or of a body. */
enum { RUN_PURE, RUN_SIZE, RUN_BODY };
static const struct {
  const char *metric;
  double limit;
  int of;
} figure_table[] = {
  { "energy.rel.max", 0.05, RUN_PURE },   { "energy.gain.rel", 0.05, RUN_PURE },
  { "momentum.lin.max", 0.05, RUN_PURE }, { "momentum.ang.max", 0.05, RUN_PURE },
  { "drift.pos.max", 1e-3, RUN_SIZE },    { "pen.max", 0.02, RUN_BODY },
};
static const double RUN_TRUTH = 0.1; /* of the range of the reference */

typedef struct run_mind {
  perp_ctx *ctx;
  perp_kept *kept;
  const perp_why_limits *limits;
  perp_why_evidence *e; /* in memory of its own; committed to kept */
  perp_why_states states;
  bool examine, observed;
  const perp_cell_run *run;
  double next_rank, next_state, large, began, limit; /* s; of the wall clock */
  double *ring, ring_t[RUN_RING];                    /* the last states q */
  int64_t ringed, failures;
  int gaps;     /* states at which contacts were looked at */
  double spent; /* s, on measurements: not of the time limit */
  perp_contact_observer *observer;
} run_mind;

/* ---- figures ---- */

static double run_limit(const perp_why_limits *limits, const char *name, double dflt)
{
  for (int i = 0; limits != NULL && i < limits->n; i++)
    if (strcmp(limits->at[i].name, name) == 0) return limits->at[i].limit;
  return dflt;
}

void perp_why_add_figure(perp_why_evidence *evidence, const perp_why_limits *limits,
                         const char *name, double value, double limit)
{
  limit = run_limit(limits, name, limit);
  if (isnan(value) || !(limit >= 0) || evidence->n_figures == PERP_WHY_FIGURES) return;
  for (int i = 0; i < evidence->n_figures; i++)
    if (strcmp(evidence->figure[i].name, name) == 0) return;
  perp_why_figure *figure = &evidence->figure[evidence->n_figures++];
  snprintf(figure->name, sizeof figure->name, "%s", name);
  figure->value = value;
  figure->limit = limit;
}

/* The error against the reference: truth.err is one of the metrics behind it in the list. */
static void run_truth(const perp_ctx *ctx, const perp_result *result, perp_why_evidence *evidence,
                      const perp_why_limits *limits)
{
  const double err = perp_result_metric(result, "truth.err");
  const perp_desc *desc;
  bool behind = false;
  if (isnan(err)) return;
  for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++) {
    const bool own = strcmp(desc->name, "err.q.max") == 0;
    behind = behind || strcmp(desc->name, "truth.err") == 0;
    if ((!behind && !own) || strcmp(desc->name, "truth.err") == 0 ||
        perp_result_metric(result, desc->name) != err)
      continue;
    const char *unit = ((const perp_metric_desc *)(const void *)desc)->unit;
    double limit = unit[0] == '\0' || strcmp(unit, "1") == 0 || strcmp(unit, "-") == 0 ? RUN_TRUTH
                   : strcmp(unit, "m") == 0   ? 0.01 * evidence->body
                   : strcmp(unit, "rad") == 0 ? RUN_TRUTH
                   : strcmp(unit, "s") == 0   ? RUN_TRUTH * evidence->t_end
                                              : (double)NAN;
    perp_why_add_figure(evidence, limits, desc->name, err, limit);
    return;
  }
}

static void run_figures(const perp_ctx *ctx, const perp_result *result, perp_why_evidence *evidence,
                        const perp_why_limits *limits)
{
  evidence->n_figures = 0;
  const double missing = evidence->t_end > 0 ? fmax(0, 1 - result->t / evidence->t_end) : 0;
  const bool stopped = result->cut != PERP_CUT_NONE || result->reason < 0;
  perp_why_add_figure(evidence, NULL, "reached", stopped ? fmax(missing, 1e-9) : 0, 0);
  if (evidence->problems > 0)
    perp_why_add_figure(evidence, limits, "unsolved",
                        (double)evidence->failures / (double)evidence->problems, 0);
  run_truth(ctx, result, evidence, limits);
  for (size_t i = 0; i < sizeof figure_table / sizeof *figure_table; i++) {
    const double of = figure_table[i].of == RUN_PURE   ? 1
                      : figure_table[i].of == RUN_SIZE ? evidence->size
                                                       : evidence->body;
    double limit = figure_table[i].limit * of;
    /* shapes that overlap at the start are not the fault of the run */
    if (figure_table[i].of == RUN_BODY) limit = fmax(limit, 1.2 * evidence->overlap);
    perp_why_add_figure(evidence, limits, figure_table[i].metric,
                        perp_result_metric(result, figure_table[i].metric), limit);
  }
  for (int i = 0; limits != NULL && i < limits->n; i++)
    perp_why_add_figure(evidence, limits, limits->at[i].name,
                        perp_result_metric(result, limits->at[i].name), limits->at[i].limit);
}

int perp_why_failures(const perp_why_evidence *evidence)
{
  int n = evidence->status != PERP_OK;
  for (int figure = 0; figure < evidence->n_figures; figure++)
    n += evidence->figure[figure].value > evidence->figure[figure].limit;
  return n;
}

double perp_why_severity(const perp_why_evidence *evidence)
{
  double sum = evidence->status != PERP_OK ? 100 : 0;
  const bool stopped = evidence->reason < 0 || evidence->cut != PERP_CUT_NONE;
  for (int figure = 0; figure < evidence->n_figures; figure++) {
    const perp_why_figure *why_figure = &evidence->figure[figure];
    if (!(why_figure->value > why_figure->limit)) continue;
    if (strcmp(why_figure->name, "reached") == 0)
      sum += 10 + 10 * why_figure->value;
    else if (stopped) /* figures of a part of the run */
      sum += 0.1;
    else if (why_figure->limit == 0)
      sum += 1 + why_figure->value;
    else
      sum += fmin(10, 0.3 + log10(why_figure->value / why_figure->limit));
  }
  return sum;
}

/* ---- at each state ---- */

static void run_note_bad(perp_why_evidence *evidence, double t, double value, double limit,
                         const char *name)
{
  if (!(value > limit) || !isnan(evidence->t_bad)) return;
  evidence->t_bad = t;
  snprintf(evidence->bad, sizeof evidence->bad, "%s", name);
}

static void run_masses(const perp_model *model, perp_why_evidence *evidence)
{
  double least = INFINITY, most = 0;
  for (int body = 0; body < perp_model_bodies(model); body++) {
    const double mass = perp_model_body(model, body)->mass.mass;
    if (!(mass > 0)) continue;
    least = fmin(least, mass);
    most = fmax(most, mass);
  }
  evidence->masses = most > 0 ? most / least : 1;
  evidence->springs = perp_model_force_elements(model) > 0 || perp_model_compliant(model) ||
                      perp_model_drives(model) > 0;
}

static void run_begin(run_mind *mind, const perp_cell_run *run)
{
  perp_why_evidence *evidence = mind->e;
  const perp_model *model = run->scene.model;
  mind->run = run;
  evidence->t_bad = evidence->jacobian.sine_fail = NAN;
  evidence->h = run->h;
  evidence->t_end = run->t_end;
  evidence->adaptive = run->adaptive;
  evidence->bodies = model != NULL;
  evidence->size = model != NULL ? perp_model_size(model) : 1;
  if (!(evidence->size > 0)) evidence->size = 1;
  evidence->body = run->scene.size > 0 ? run->scene.size : evidence->size;
  evidence->masses = 1;
  evidence->overlap = run->measure->contact.pen > 0 ? run->measure->contact.pen : 0;
  evidence->drift_limit = run_limit(mind->limits, "drift.pos.max", 1e-3 * evidence->size);
  if (model != NULL) run_masses(model, evidence);
  mind->states.nq = run->measure->nq;
  mind->states.nv = run->measure->nv;
  mind->large = 0;
  if (run->sim != NULL && mind->examine)
    mind->observed = perp_sim_observe(run->sim, mind->observer, mind);
}

/* Keep a copy of a state that is not out of its bounds: the first one, and later ones evenly. */
static void run_state(run_mind *mind, double t, const double *q, const double *v)
{
  perp_why_states *states = &mind->states;
  const size_t nq = (size_t)states->nq, nv = (size_t)states->nv;
  const double large = fmax(perp_measure_largest(states->nq, q),
                            perp_measure_largest(states->nv, v));
  if (mind->large == 0) mind->large = RUN_LARGE * fmax(1, large);
  if (!(large < mind->large) || t < mind->next_state) return;
  if (states->n == PERP_WHY_STATES) { /* half of them, twice as far apart */
    for (int k = 1; k < PERP_WHY_STATES; k++) {
      double *old_q = states->q[k], *old_v = states->v[k];
      if (2 * k < PERP_WHY_STATES) {
        states->t[k] = states->t[2 * k];
        states->q[k] = states->q[2 * k];
        states->v[k] = states->v[2 * k];
        states->q[2 * k] = old_q;
        states->v[2 * k] = old_v;
      }
    }
    states->n = (PERP_WHY_STATES + 1) / 2;
  }
  const int k = states->n++;
  if (states->q[k] == NULL) states->q[k] = perp_xalloc(nq + nv + 1, sizeof *states->q[k]);
  states->v[k] = states->q[k] + nq;
  states->t[k] = t;
  memcpy(states->q[k], q, nq * sizeof *q);
  if (nv > 0) memcpy(states->v[k], v, nv * sizeof *v);
  const double apart = states->n > 1 ? states->t[1] - states->t[0] : 0;
  mind->next_state = t + fmax(apart, mind->e->h);
}

static void run_ring(run_mind *mind, double t, const double *q)
{
  const size_t nq = (size_t)mind->states.nq;
  if (!mind->examine || mind->run->scene.model == NULL) return;
  if (mind->ring == NULL) mind->ring = perp_xalloc(RUN_RING * nq + 1, sizeof *mind->ring);
  if (mind->ringed > 0) { /* the last part of the run, and its last state */
    const size_t last = (size_t)((mind->ringed - 1) % RUN_RING);
    const double before = mind->ringed > 1 ? mind->ring_t[(size_t)((mind->ringed - 2) % RUN_RING)]
                                           : -HUGE_VAL;
    if (mind->ring_t[last] - before < RUN_WINDOW * mind->e->t_end / RUN_RING) mind->ringed--;
  }
  const size_t k = (size_t)(mind->ringed++ % RUN_RING);
  mind->ring_t[k] = t;
  memcpy(mind->ring + nq * k, q, nq * sizeof *q);
}

/* The run fails: how near to a singular position were its last states? */
static void run_last(run_mind *mind)
{
  perp_why_evidence *evidence = mind->e;
  const int n = mind->ringed < RUN_RING ? (int)mind->ringed : RUN_RING;
  const double until = perp_clock_wall() + RUN_LINEAR / 4;
  for (int k = n - 1; k >= 0 && perp_clock_wall() < until; k--) {
    const double sine = perp_why_rank(mind->run->scene.model, mind->ring_t[k],
                                      mind->ring + (size_t)mind->states.nq * (size_t)k, evidence);
    if (!(sine >= evidence->jacobian.sine_fail)) evidence->jacobian.sine_fail = sine;
  }
}

static void run_look(const perp_cell_run *run, run_mind *mind)
{
  perp_why_evidence *evidence = mind->e;
  double t;
  const double *q, *v;
  if (mind->run == NULL) run_begin(mind, run);
  perp_cell_state(run, &t, &q, &v);
  evidence->t = t;
  const bool bad = !isnan(evidence->t_bad);
  run_ring(mind, t, q);
  const perp_measure *measure = run->measure;
  const double drift = measure->now.drift_pos;
  if (drift >= 0) {
    int quarter = (int)(PERP_WHY_QUARTERS * t / evidence->t_end);
    if (quarter >= PERP_WHY_QUARTERS) quarter = PERP_WHY_QUARTERS - 1;
    evidence->drift[quarter] = fmax(evidence->drift[quarter], drift);
    run_note_bad(evidence, t, drift, evidence->drift_limit, "drift.pos.max");
  }
  run_note_bad(evidence, t, measure->now.err_q, RUN_TRUTH, "err.q.max");
  if (!mind->examine) return;
  if (!bad && !isnan(evidence->t_bad)) run_last(mind);
  run_state(mind, t, q, v);
  const perp_contact_count *count = run->sim != NULL ? perp_sim_contacts(run->sim) : NULL;
  if (count != NULL && count->failures > mind->failures && evidence->contact.infeasible == 0 &&
      mind->gaps < RUN_GAPS) {
    mind->failures = count->failures;
    mind->gaps++;
    perp_why_gaps(mind->ctx, run->scene.model, t, q, evidence);
  }
  /* at most a quarter of the time of the run */
  const double elapsed = perp_clock_wall() - mind->began;
  if (run->scene.model != NULL && t >= mind->next_rank && mind->spent <= 0.5 + 0.25 * elapsed) {
    mind->next_rank = t + evidence->t_end / RUN_RANKS;
    const int before = evidence->jacobian.least;
    perp_why_rank(run->scene.model, t, q, evidence);
    evidence->jacobian.changes += evidence->jacobian.states > 1 &&
                                  before != evidence->jacobian.least;
  }
}

static void run_at(const perp_cell_run *run, const perp_step_info *info, void *user)
{
  run_mind *mind = user;
  const double start = perp_clock_wall();
  (void)info;
  run_look(run, mind);
  mind->spent += perp_clock_wall() - start;
}

/* The run is over; where it stopped, its last states are looked at. */
static void run_step(int64_t step, void *user)
{
  run_mind *mind = user;
  perp_why_evidence *evidence = mind->e;
  if (step >= 0 || !mind->examine || mind->run == NULL) return;
  if (isnan(evidence->t_bad) && !perp_cell_same_time(evidence->t, evidence->t_end)) run_last(mind);
  bool pair = false;
  for (int i = 0; i < evidence->contact.pairs.n; i++)
    pair = pair || strstr(evidence->contact.pairs.at[i], " and ") != NULL;
  if (evidence->contact.infeasible + evidence->contact.within > 0 && !pair && mind->ringed > 0)
    perp_why_touching(
        mind->ctx, mind->run->scene.model,
        mind->ring + (size_t)mind->states.nq * (size_t)((mind->ringed - 1) % RUN_RING), evidence);
}

static void run_observe(void *user, const perp_contact_place *place, const perp_lcp *lcp,
                        const double *lambda, const perp_stats *stats)
{
  run_mind *mind = user;
  (void)lambda;
  if (stats == NULL || stats->reason >= 0 || stats->reason == PERP_SWEEPS_DONE) return;
  perp_why_contact(mind->ctx, mind->run->scene.model, place, lcp, mind->e->t, mind->e);
}

/* ---- the end ---- */

static void run_result(run_mind *mind, const perp_result *result)
{
  perp_why_evidence *evidence = mind->e;
  evidence->status = result->status;
  evidence->cut = result->cut;
  evidence->reason = result->reason;
  evidence->t = result->t;
  evidence->h = result->h;
  evidence->t_end = result->t_end;
  evidence->cpu = result->time.cpu_s;
  evidence->wall = result->time.wall_s;
  snprintf(evidence->ended, sizeof evidence->ended, "%s", perp_result_status_name(result));
  snprintf(evidence->why, sizeof evidence->why, "%s", perp_result_reason(result));
  perp_result_cause(result, evidence->message, sizeof evidence->message);
  evidence->steps = result->ode_count.steps;
  evidence->rejected = result->ode_count.rejected;
  evidence->problems = perp_result_problems(result);
  evidence->failures = result->contact_count.failures;
  evidence->swept = result->contact_count.swept;
  evidence->iterations = result->contact_count.iterations;
  memcpy(evidence->failed, result->contact_count.failed, sizeof evidence->failed);
  for (int part = 0; part < PERP_PARTS; part++)
    snprintf(evidence->part[part], PERP_SPEC_MAX, "%s", perp_part_used(result, part));
  run_figures(mind->ctx, result, evidence, mind->limits);
}

/* A run that its process did not end itself. */
static void run_ended(perp_why_evidence *evidence, perp_cut cut)
{
  static const char *const ended[] = { "ok", "timeout", "interrupted", "oom", "crash" },
                           *const why[] = { "reached-end", "time-limit", "interrupted",
                                            "memory-limit", "crash" };
  evidence->cut = cut;
  snprintf(evidence->ended, sizeof evidence->ended, "%s", ended[cut]);
  snprintf(evidence->why, sizeof evidence->why, "%s", why[cut]);
  evidence->n_figures = 0;
  perp_why_add_figure(evidence, NULL, "reached",
                      evidence->t_end > 0 ? fmax(1e-9, 1 - evidence->t / evidence->t_end) : 1, 0);
}

static void run_commit(run_mind *mind)
{
  memcpy(perp_kept_place(mind->kept), mind->e, sizeof *mind->e);
  perp_kept_commit(mind->kept);
}

static perp_cut why_run_cut(void *user)
{
  const run_mind *mind = user;
  if (mind->limit > 0 && perp_clock_wall() - mind->began - mind->spent > mind->limit)
    return PERP_CUT_TIME;
  return (perp_cut)*perp_kept_cut(mind->kept);
}

static void why_run_keep(const perp_result *so_far, void *user)
{
  run_mind *mind = user;
  run_result(mind, so_far);
  run_commit(mind);
}

static void run_request(const perp_why_subject *subject, perp_request *request)
{
  *request = (perp_request){ .scene = subject->scene,
                             .h = subject->h,
                             .t_end = subject->t_end,
                             .perturb = subject->perturb,
                             .equivalent = subject->equivalent };
  for (int part = 0; part < PERP_PARTS; part++)
    *perp_part_text(request, part) = subject->part[part];
}

static void run_simulation(run_mind *mind, const perp_why_subject *subject)
{
  perp_request request;
  perp_result result;
  const perp_watch watch = { .state = run_at, .step = run_step, .user = mind };
  const perp_minder minder = { why_run_cut, why_run_keep, mind };
  run_request(subject, &request);
  request.watch = &watch;
  request.minder = &minder;
  const perp_status status = perp_simulate(mind->ctx, &request, &result);
  if (status != PERP_OK) {
    mind->e->status = status;
    mind->e->cut = status == PERP_ERR_NOMEM ? PERP_CUT_MEMORY : PERP_CUT_NONE;
    snprintf(mind->e->message, sizeof mind->e->message, "%s", mind->ctx->msg);
    if (mind->e->cut == PERP_CUT_MEMORY) run_ended(mind->e, PERP_CUT_MEMORY);
    return;
  }
  run_result(mind, &result);
  run_commit(mind);
  /* The derivative of a step is one of solved problems. */
  const bool solved = mind->e->failures == 0 || result.reason < 0;
  if (mind->examine && solved && perp_why_failures(mind->e) > 0 && result.cut != PERP_CUT_MEMORY) {
    perp_request plain;
    run_request(subject, &plain);
    perp_why_linearize(mind->ctx, &plain, &mind->states, RUN_LINEAR, mind->e);
  }
  perp_result_free(&result);
}

static void run_crash(int number)
{
  if (perp_fence_full()) _exit(PERP_NO_MEMORY);
  signal(number, SIG_DFL);
  raise(number);
}

/* In the child. */
static void run_measure(perp_ctx *ctx, const perp_why_subject *subject,
                        const perp_why_limits *limits, bool examine, double limit, perp_kept *kept)
{
  run_mind mind = { .ctx = ctx,
                    .began = perp_clock_wall(),
                    .limit = limit,
                    .kept = kept,
                    .limits = limits,
                    .examine = examine,
                    .observer = run_observe,
                    .e = perp_xalloc(1, sizeof *mind.e) };
  if (subject->memory > 0) {
    static const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT };
    for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++) signal(crashes[i], run_crash);
    perp_fence_memory(subject->memory, false);
  }
  if (subject->problem != NULL) {
    if (subject->memory > 0) ctx->memory = subject->memory;
    perp_why_solve(ctx, subject, mind.e);
    perp_why_add_figure(mind.e, NULL, "unsolved", (double)mind.e->failures, 0);
  } else
    run_simulation(&mind, subject);
  run_commit(&mind);
  for (int k = 0; k < PERP_WHY_STATES; k++) free(mind.states.q[k]);
  free(mind.ring);
  free(mind.e);
}

perp_status perp_why_run(perp_ctx *ctx, const perp_why_subject *subject,
                         const perp_why_limits *limits, bool examine, double timeout,
                         perp_why_evidence *out)
{
  perp_guard guard;
  const double limit = subject->timeout > 0 ? subject->timeout : timeout;
  memset(out, 0, sizeof *out);
  PERP_TRY(perp_guard_begin(ctx, limit > 0 && examine ? limit + RUN_LINEAR : limit, sizeof *out,
                            &guard));
  if (guard.child) {
    run_measure(ctx, subject, limits, examine, limit, guard.kept);
    exit(perp_guard_leave(&guard, PERP_EXIT_OK));
  }
  const perp_why_evidence *last = perp_kept_last(guard.kept);
  if (last != NULL) *out = *last;
  if (guard.cut != PERP_CUT_NONE) {
    run_ended(out, guard.cut);
    snprintf(out->message, sizeof out->message, "%s", guard.cause);
  }
  perp_guard_free(&guard);
  return PERP_OK;
}
