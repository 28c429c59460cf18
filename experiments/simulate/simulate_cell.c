/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One cell, in three passes: the numbers (with metrics and truth), the clock (nothing but steps),
 * and the breakdown of a step (measured by wall clock in steps of its own, whose mean the parts add
 * up to). */
#include "experiments/simulate/samples.h"
#include "experiments/simulate/series.h"
#include "experiments/simulate/simulate_warn.h"

#include "experiments/simulate/parts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A state this many times larger than the initial one (or than 1) has left its problem. */
#define DIVERGED 1e8
/* seconds of wall time between what is kept of a run, should its process not live to tell */
static const double keep_every = 0.05;
enum { SAMPLES_FIXED = 200, SAMPLES_ADAPTIVE = 100 };
/* a step is short for the clock when the first ones take less than so many readings of it */
enum { FIRST = 8, SHORT = 10 };
/* s: a run of so much, in steps of so much each, is not made again for the clock: metrics between
 * its steps do not change its times by much. */
#define LONG    1.0
#define LASTING 100e-6

typedef perp_cell_run run;

static perp_status simulate_read_metrics(perp_ctx *ctx, const perp_measure *measure,
                                         perp_result *result);

/* ---- the request ---- */

perp_status perp_run_times(perp_ctx *ctx, const perp_request *request, const perp_scene *scene,
                           bool adaptive, double *h, double *t_end)
{
  const double scene_h = scene->h > 0 ? scene->h : 1.0 / 240;
  *t_end = request->t_end > 0 ? request->t_end : scene->t_end;
  *h = request->h > 0 ? request->h : fmin(scene_h, *t_end);
  if (request->setup_only) return PERP_OK; /* it stands for runs with other times */
  if (*h > *t_end)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "the step h = %g s is longer than the run, which ends at t_end = %g s: choose a "
        "smaller step or a later end",
        *h, *t_end);
  /* the first step of error control may be tiny, its steps grow */
  const double step = adaptive ? fmax(*h, scene_h) : *h;
  if (*t_end / step > PERP_STEPS_MOST)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "steps of h = %g s to the end t_end = %g s are more than %g: choose a larger "
                     "step or an earlier end",
                     *h, *t_end, PERP_STEPS_MOST);
  return PERP_OK;
}

static perp_status parse_request(perp_ctx *ctx, run *job)
{
  const perp_request *request = job->request;
  perp_spec scene = { 0 };
  if (request->scene == NULL || request->scene[0] == '\0')
    return PERP_FAIL(ctx, PERP_ERR_ARG, "no scene is specified: see perp list scenes");
  if (!(request->h >= 0) || !isfinite(request->h))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the step h must be positive: got %g s", request->h);
  if (!(request->t_end >= 0) || !isfinite(request->t_end))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the end t_end must be positive: got %g s", request->t_end);
  if (!(request->sample_every >= 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "the time between samples must be positive: got %g s",
                     request->sample_every);
  if (!(request->perturb >= 0) || !(request->perturb < 1))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "perturb must be a relative size below 1: got %g",
                     request->perturb);
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_scene, request->scene, &scene));
  const char *name = scene.d->name;
  perp_status status = perp_scene_create(ctx, &scene, &job->scene);
  if (status == PERP_OK)
    status = perp_parts_read(ctx, request, &job->scene, name, &job->parts, &job->adaptive);
  perp_spec_free(&scene);
  PERP_TRY(status);
  PERP_TRY(perp_run_times(ctx, request, &job->scene, job->adaptive, &job->h, &job->t_end));
  if (request->picture_at > job->t_end * (1 + 1e-12))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "there is no picture of t = %g s: the run ends at t_end = %g s",
                     request->picture_at, job->t_end);
  job->every = fmin(request->sample_every, job->t_end);
  if (job->every > 0 && !request->setup_only && job->t_end / job->every > PERP_STEPS_MOST)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "samples %g s apart to the end t_end = %g s are more than %g: choose a longer "
                     "time between them",
                     job->every, job->t_end, PERP_STEPS_MOST);
  return PERP_OK;
}

static bool in_bounds(const double *x, int n, double bound)
{
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= bound)) return false;
  return true;
}

/* ---- the three passes ---- */

/* The state that the run has reached; q and v are borrowed. */
static void simulate_read_state(const run *job, perp_result *result, const double **q,
                                const double **v)
{
  perp_cell_state(job, &result->t, q, v);
  result->nq = job->measure->nq;
  result->nv = job->measure->nv;
  result->energy = job->measure->now.energy;
  /* The counts of the run so far, for the result and the metrics. */
  perp_cell_counters(job, &result->ode_count, &result->kkt_count);
  job->measure->run.ode = result->ode_count;
  job->measure->run.kkt = result->kkt_count;
  const perp_redundant *redundant = job->sim != NULL ? perp_sim_redundant(job->sim) : NULL;
  if (redundant != NULL) {
    job->measure->run.redundant = *redundant;
    if (job->equivalent != NULL) {
      perp_redundant *own = &job->measure->run.redundant;
      own->joint = perp_equivalent_joint(job->equivalent, own->joint);
      own->joint_change = perp_equivalent_joint(job->equivalent, own->joint_change);
    }
    job->measure->run.has_redundant = true;
  }
  const perp_contact_count *contacts = job->sim != NULL ? perp_sim_contacts(job->sim) : NULL;
  if (contacts == NULL) return;
  job->measure->run.contacts = result->contact_count = *contacts;
  result->solutions = job->measure->run.solutions;
  job->measure->run.has_contacts = true;
}

/* Hand over what there is so far, now and then. */
static void simulate_keep(perp_ctx *ctx, run *job)
{
  const perp_minder *minder = job->request->minder;
  if (minder == NULL) return;
  const double now = perp_clock_wall();
  if (job->kept > 0 && now < job->kept + keep_every) return;
  job->kept = now;
  perp_result so_far = *job->result;
  const double *q, *v;
  simulate_read_state(job, &so_far, &q, &v);
  so_far.q = (double *)(uintptr_t)q; /* read only, as it says */
  so_far.v = (double *)(uintptr_t)v;
  so_far.time.step_us = (double)NAN;
  so_far.time.cpu_s = job->measure->run.cpu_s = perp_clock_thread() - job->cpu0;
  so_far.time.wall_s = now - job->wall0;
  /* the start itself has no error; an exception of a metric is an error at the end of the run */
  if (so_far.t > 0) simulate_read_metrics(ctx, job->measure, &so_far);
  minder->keep(&so_far, minder->user);
}

/* Joints that were released or broke since the last call, appended to the events of the result. */
static void note_releases(const run *job, const perp_step_info *info, int *seen)
{
  perp_result *result = job->result;
  for (; *seen < info->n_releases; (*seen)++) {
    const perp_release *release = &info->release[*seen];
    if (release->kind != PERP_RELEASE_CURVE && release->kind != PERP_RELEASE_BROKE) {
      const size_t at = strlen(result->events);
      char text[128];
      if (release->kind == PERP_RELEASE_STOPPED)
        snprintf(text, sizeof text, "t = %.9g s: the controller lets go", release->t);
      else {
        /* A body that was enabled or disabled. */
        const size_t room = sizeof text;
        const int body = perp_model_joint(job->scene.model, release->joint)->b;
        const char *name = perp_model_body(job->scene.model, body)->name;
        snprintf(text, room, "t = %.9g s: body %d%s%.48s%s %s", release->t, body,
                 name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "",
                 release->kind == PERP_RELEASE_ENABLED ? "enabled" : "disabled");
      }
      snprintf(result->events + at, sizeof result->events - at, "%s%s", at > 0 ? "\n         " : "",
               text);
      continue;
    }
    const char *name = perp_model_joint(job->scene.model, release->joint)->name;
    const size_t used = strlen(result->events), room = sizeof result->events - used;
    const bool broke = release->kind == PERP_RELEASE_BROKE;
    snprintf(result->events + used, room, "%st = %.9g s: joint %d%s%.48s%s %s %.6g%s",
             used > 0 ? "\n         " : "", release->t, release->joint, name != NULL ? " '" : "",
             name != NULL ? name : "", name != NULL ? "'" : "",
             broke ? "broke under a force of" : "released; its point left the curve at s =",
             broke ? release->force : release->s, broke ? " N" : "");
  }
}

/* The forces of a step: of the row that waits for those of its start, else of the next row. */
static perp_status simulate_forces(perp_ctx *ctx, run *job, const perp_step_span *span)
{
  perp_series *series = &job->result->series;
  PERP_TRY(perp_force_log_step(ctx, job->log, span, perp_cell_redundant(job)));
  if (series->waits) perp_series_forces(series, series->row, job->log);
  series->waits = false;
  return PERP_OK;
}

/* Forces at the end of a run that are those of the start of a step: one more step tells them, after
 * all else of the run has been read. */
static perp_status simulate_last_forces(perp_ctx *ctx, run *job)
{
  perp_result *result = job->result;
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  if (job->log == NULL) return PERP_OK;
  if (job->log->step->time == PERP_FORCES_AT_START && result->reason == PERP_EXACT &&
      result->cut == PERP_CUT_NONE &&
      perp_cell_step(ctx, job, result->t + job->h, &info) == PERP_OK && info.reason >= 0) {
    perp_cell_state(job, &t, &q, &v);
    PERP_TRY(simulate_forces(ctx, job,
                             &(perp_step_span){ .t0 = result->t,
                                                .t1 = t,
                                                .q0 = result->q,
                                                .v0 = result->v,
                                                .q1 = q,
                                                .v1 = v,
                                                .info = &info }));
  }
  result->series.waits = false;
  perp_force_log_end(job->log);
  result->forces = malloc(((size_t)job->log->n_total + 1) * sizeof *result->forces);
  if (result->forces == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces");
  result->n_forces = job->log->n_total;
  memcpy(result->forces, job->log->total, (size_t)job->log->n_total * sizeof *result->forces);
  return PERP_OK;
}

/* Pass 1: to t_end or to the end of the solver, with metrics.  Without timing rounds also the time
 * of each step. */
static perp_status measure_run(perp_ctx *ctx, run *job)
{
  const perp_request *request = job->request;
  const perp_watch *watch = request->watch;
  perp_result *result = job->result;
  bool clocked = job->rounds <= 0;
  double t, t_last = 0, cost = clocked ? perp_cell_clock_cost() : 0;
  const double *q, *v;
  perp_step_info info = { 0 };
  int64_t count = 0;
  int releases = 0;
  perp_stats kkt;
  PERP_TRY(perp_cell_start(ctx, job));
  perp_cell_counters(job, &job->begun, &kkt);
  const perp_contact_count *contacts = job->sim != NULL ? perp_sim_contacts(job->sim) : NULL;
  for (const perp_step_info *last = NULL;; last = &info) {
    perp_cell_state(job, &t, &q, &v);
    if (!in_bounds(q, job->measure->nq, job->bound) ||
        !in_bounds(v, job->measure->nv, job->bound)) {
      result->reason = PERP_DIVERGED;
      snprintf(result->message, sizeof result->message, "diverged at t = %.9g s: |state| > %g", t,
               job->bound);
      break;
    }
    if (count > 0 && job->log != NULL)
      PERP_TRY(simulate_forces(ctx, job,
                               &(perp_step_span){ .t0 = job->measure->before.t,
                                                  .t1 = t,
                                                  .q0 = job->measure->before.q,
                                                  .v0 = job->measure->before.v,
                                                  .q1 = q,
                                                  .v1 = v,
                                                  .info = last }));
    if (count > 0) PERP_TRY(perp_samples_between(ctx, job, t_last, t, last));
    perp_measure_state(job->measure, t, q, v, last);
    const bool end = t >= job->t_end || perp_cell_same_time(t, job->t_end);
    PERP_TRY(perp_samples_at(ctx, job, count, t_last, t, q, v, end, last));
    if (watch != NULL && watch->state != NULL) watch->state(job, last, watch->user);
    if (end) break;
    simulate_keep(ctx, job);
    if ((result->cut = perp_cell_cut(job)) != PERP_CUT_NONE) break;

    t_last = t;
    if (watch != NULL && watch->step != NULL) watch->step(count + 1, watch->user);
    const perp_contact_count before = contacts != NULL ? *contacts : (perp_contact_count){ 0 };
    const double t0 = clocked ? perp_clock_thread() : 0;
    const perp_status status = perp_cell_step(ctx, job, job->t_end, &info);
    if (status == PERP_ERR_NOMEM && job->kept > 0) {
      result->cut = PERP_CUT_MEMORY;
      snprintf(result->message, sizeof result->message, "%s", ctx->msg);
      break;
    }
    PERP_TRY(status);
    const double seconds = clocked ? fmax(0, perp_clock_thread() - t0 - cost) : 0;
    note_releases(job, &info, &releases);
    if (contacts != NULL) {
      perp_solution_steps_add(&job->measure->run.solutions, contacts, &before);
      PERP_TRY(perp_cell_add(ctx, &job->work, contacts->work - before.work));
      result->time.steps_reused += contacts->reused > before.reused &&
                                   contacts->problems == before.problems;
    }
    if (clocked) {
      PERP_TRY(perp_cell_add(ctx, &job->batch, seconds));
      result->time.cpu_s += seconds;
      job->brief = !request->timing_detail && count == FIRST &&
                   result->time.cpu_s < FIRST * SHORT * cost;
      clocked = !job->brief;
    }
    if (info.reason < 0) {
      result->reason = info.reason;
      perp_cell_state(job, &t, &q, &v);
      const bool more = info.cause != NULL && info.cause[0] != '\0';
      snprintf(result->message, sizeof result->message, "stopped at t = %.9g s: %s%s%s", t,
               perp_reason_name(info.reason), more ? ": " : "", more ? info.cause : "");
      break;
    }
    job->steps = ++count;
  }
  if (watch != NULL && watch->step != NULL) watch->step(-1, watch->user);
  return PERP_OK;
}

/* ---- the result ---- */

static void name_parts(const run *job)
{
  perp_result *result = job->result;
  perp_parts_write(&job->parts, result);
  snprintf(result->scene, sizeof result->scene, "%s", job->request->scene);
  if (job->against.truth != NULL)
    snprintf(result->truth, sizeof result->truth, "%s", job->against.truth->what);
  result->published = job->scene.published;
  result->h = job->h;
  result->t_end = job->t_end;
}

/* A metric that fails says so in the context (metrics.h). */
static perp_status simulate_read_metrics(perp_ctx *ctx, const perp_measure *measure,
                                         perp_result *result)
{
  const perp_desc *desc;
  ctx->status = PERP_OK;
  for (int i = 0; (desc = perp_plugin_at(ctx, PERP_KIND_metric, i)) != NULL; i++) {
    if (result->n_metrics == PERP_METRICS_MAX) break;
    perp_metric_value *value = &result->metrics[result->n_metrics++];
    snprintf(value->name, sizeof value->name, "%s", desc->name);
    value->value = ((const perp_metric_desc *)desc)->value(measure);
    PERP_TRY(ctx->status);
  }
  return PERP_OK;
}

static perp_status final_groups(perp_ctx *ctx, const run *job)
{
  perp_result *result = job->result;
  const perp_group_count *groups = perp_sim_groups(job->sim);
  if (groups == NULL) return PERP_OK;
  job->measure->run.groups = result->group_count = *groups;
  job->measure->run.has_groups = true;
  result->groups = malloc((size_t)(groups->groups + 1) * sizeof *result->groups);
  if (result->groups == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the groups");
  for (int group = 0; group < groups->groups; group++) {
    perp_sim_group(job->sim, group, &result->groups[group]);
    if (job->equivalent != NULL)
      result->groups[group].first = perp_equivalent_body(job->equivalent,
                                                         result->groups[group].first);
  }
  return PERP_OK;
}

static perp_status final_state(perp_ctx *ctx, const run *job)
{
  perp_result *result = job->result;
  const double *q, *v;
  simulate_read_state(job, result, &q, &v);
  result->q = malloc((size_t)(result->nq + 1) * sizeof *q);
  result->v = malloc((size_t)(result->nv + 1) * sizeof *v);
  if (result->q == NULL || result->v == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the final state");
  memcpy(result->q, q, (size_t)result->nq * sizeof *q);
  if (result->nv > 0) memcpy(result->v, v, (size_t)result->nv * sizeof *v);
  return job->sim != NULL ? final_groups(ctx, job) : PERP_OK;
}

/* A symplectic integrator in a combination that is not. */
static void simulate_note(const run *job)
{
  const char *why = job->sim != NULL ? perp_sim_not_symplectic(job->sim) : NULL;
  if (why == NULL || job->scene.dissipative) return;
  snprintf(job->result->note, sizeof job->result->note,
           "%.60s is not symplectic here: %.100s. The energy may drift over many steps; it does "
           "not with "
           "--formulation impulse%s",
           job->result->ode, why,
           strstr(why, "loops") == NULL ? ", or with --formulation reduced" : "");
}

static perp_status simulate_prepare(perp_ctx *ctx, run *job)
{
  const perp_request *request = job->request;
  PERP_TRY(parse_request(ctx, job));
  name_parts(job);
  if (request->minder != NULL) request->minder->keep(job->result, request->minder->user);
  const perp_watch *watch = request->watch;
  if (watch != NULL && watch->parts != NULL) PERP_TRY(watch->parts(ctx, &job->parts, watch->user));
  PERP_TRY(perp_cell_equivalent(ctx, job, request->equivalent));
  if (job->scene.model != NULL)
    PERP_TRY(perp_sim_create(
        ctx, job->equivalent != NULL ? perp_equivalent_model(job->equivalent) : job->scene.model,
        &job->parts, job->h, &job->sim));
  else
    PERP_TRY(perp_ode_create(ctx, &job->parts.ode, job->scene.ode, job->h, &job->ode));
  PERP_TRY(perp_measure_create(ctx, &job->scene, &job->measure));
  const perp_desc *form = job->parts.formulation.d;
  job->measure->run.impulses = form != NULL && (form->caps & PERP_FORM_FEEDBACK);
  if (job->every == 0) job->every = job->t_end / (job->adaptive ? SAMPLES_ADAPTIVE : SAMPLES_FIXED);
  if (request->replay.film) job->film_every = job->t_end / (PERP_REPLAY_FRAMES - 1);
  PERP_TRY(perp_samples_create(ctx, job));
  if (request->sample_named && job->against.truth == NULL && !job->adaptive &&
      !request->want_series)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "the time between samples has no effect: the scene has no reference solution, "
                     "and no series is written. Remove it, or add --series.");
  if (request->perturb > 0) PERP_TRY(perp_cell_perturb(ctx, job, request->perturb));
  job->bound = 1;
  for (int i = 0; i < job->measure->nq; i++)
    job->bound = fmax(job->bound, fabs(perp_cell_q0(job)[i]));
  for (int i = 0; i < job->measure->nv; i++)
    job->bound = fmax(job->bound, fabs(perp_cell_v0(job)[i]));
  job->bound *= DIVERGED;
  return PERP_OK;
}

static perp_status simulate(perp_ctx *ctx, run *job)
{
  const perp_request *request = job->request;
  perp_result *result = job->result;
  PERP_TRY(simulate_prepare(ctx, job));
  name_parts(job);
  simulate_note(job);
  if (job->sim != NULL) perp_sim_resolved(job->sim, result->resolved, sizeof result->resolved);
  result->reason = PERP_EXACT;
  job->rounds = request->timing_rounds;
  if (request->forces.wanted) {
    if (job->sim == NULL)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "forces have no effect: scene %s has no bodies. Leave them out",
                       request->scene);
    PERP_TRY(perp_force_log_create(ctx, job->scene.model, job->sim, job->measure->scratch.collision,
                                   &job->log));
    PERP_TRY(perp_force_log_check(ctx, job->log, request->forces.names, request->forces.n_names));
  }
  if (request->setup_only) return PERP_OK;
  PERP_TRY(perp_warn_overlaps(ctx, job));
  if (request->want_series)
    PERP_TRY(perp_series_create(ctx, job->measure, job->log, &result->series));
  if (request->replay.path != NULL && job->scene.model != NULL)
    PERP_TRY(perp_replay_create(ctx, job->scene.model,
                                request->replay.film ? PERP_REPLAY_FILM : PERP_REPLAY_SMALL,
                                request->replay.film && job->log != NULL, &job->replay));
  job->wall0 = perp_clock_wall();
  job->cpu0 = perp_clock_thread();
  PERP_TRY(measure_run(ctx, job));
  result->time.wall_s = perp_clock_wall() - job->wall0;
  if (job->rounds == PERP_ROUNDS_NEEDED) {
    const bool long_enough = result->time.cpu_s >= LONG &&
                             result->time.cpu_s >= LASTING * (double)job->steps;
    job->rounds = long_enough ? 0 : 1;
    if (!long_enough) perp_cell_clear(&job->batch);
  }
  if (job->rounds > 0) result->time.cpu_s = perp_clock_thread() - job->cpu0; /* for now */
  PERP_TRY(final_state(ctx, job));
  perp_warn_constraints(ctx, job);
  PERP_TRY(perp_warn_servos(ctx, job));
  PERP_TRY(simulate_last_forces(ctx, job));
  if (job->log != NULL) perp_warn_forces(job);
  PERP_TRY(perp_cell_clock(ctx, job));
  if (job->replay != NULL) PERP_TRY(perp_replay_write(ctx, job->replay, request->replay.path));
  job->measure->run.cpu_s = result->time.cpu_s;
  job->measure->run.step_us = result->time.step_us;
  job->measure->run.steps_reused = result->time.steps_reused;
  job->measure->run.work = perp_cell_spread(&job->work);
  job->measure->run.collision_us = result->time.collision_us;
  job->measure->run.solve_us = result->time.assembly_us + result->time.kkt_us + result->time.lcp_us;
  if (result->cut == PERP_CUT_NONE || result->t > 0)
    PERP_TRY(simulate_read_metrics(ctx, job->measure, result));
  perp_simulate_warn(job, result);
  return PERP_OK;
}

perp_status perp_simulate(perp_ctx *ctx, const perp_request *request, perp_result *result)
{
  *result = (perp_result){ 0 };
  if (perp_plugin_at(ctx, PERP_KIND_metric, 0) == NULL) PERP_TRY(perp_register_metrics(ctx));
  run job = { .request = request, .result = result };
  result->status = simulate(ctx, &job);
  perp_sim_destroy(job.sim);
  perp_ode_destroy(job.ode);
  perp_equivalent_destroy(job.equivalent);
  perp_measure_destroy(job.measure);
  perp_replay_destroy(job.replay);
  perp_force_log_destroy(job.log);
  perp_scene_destroy(&job.scene);
  perp_parts_free(&job.parts);
  perp_samples_destroy(&job);
  perp_cell_clear(&job.batch);
  perp_cell_clear(&job.alone);
  perp_cell_clear(&job.work);
  free(job.moved);
  free(job.q_there);
  if (result->status != PERP_OK) {
    perp_status status = result->status;
    perp_result_free(result);
    result->status = status;
    snprintf(result->message, sizeof result->message, "%s", ctx->msg);
  }
  return result->status;
}
