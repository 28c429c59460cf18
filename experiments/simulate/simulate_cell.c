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

static perp_status parse_request(perp_ctx *ctx, run *r)
{
  const perp_request *request = r->request;
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
  perp_status status = perp_scene_create(ctx, &scene, &r->scene);
  if (status == PERP_OK)
    status = perp_parts_read(ctx, request, &r->scene, name, &r->parts, &r->adaptive);
  perp_spec_free(&scene);
  PERP_TRY(status);
  PERP_TRY(perp_run_times(ctx, request, &r->scene, r->adaptive, &r->h, &r->t_end));
  if (request->picture_at > r->t_end * (1 + 1e-12))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "there is no picture of t = %g s: the run ends at t_end = %g s",
                     request->picture_at, r->t_end);
  r->every = fmin(request->sample_every, r->t_end);
  if (r->every > 0 && !request->setup_only && r->t_end / r->every > PERP_STEPS_MOST)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "samples %g s apart to the end t_end = %g s are more than %g: choose a longer "
                     "time between them",
                     r->every, r->t_end, PERP_STEPS_MOST);
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
static void simulate_read_state(const run *r, perp_result *result, const double **q,
                                const double **v)
{
  perp_cell_state(r, &result->t, q, v);
  result->nq = r->measure->nq;
  result->nv = r->measure->nv;
  result->energy = r->measure->now.energy;
  /* The counts of the run so far, for the result and the metrics. */
  perp_cell_counters(r, &result->ode_count, &result->kkt_count);
  r->measure->run.ode = result->ode_count;
  r->measure->run.kkt = result->kkt_count;
  const perp_redundant *redundant = r->sim != NULL ? perp_sim_redundant(r->sim) : NULL;
  if (redundant != NULL) {
    r->measure->run.redundant = *redundant;
    if (r->equivalent != NULL) {
      perp_redundant *own = &r->measure->run.redundant;
      own->joint = perp_equivalent_joint(r->equivalent, own->joint);
      own->joint_change = perp_equivalent_joint(r->equivalent, own->joint_change);
    }
    r->measure->run.has_redundant = true;
  }
  const perp_contact_count *contacts = r->sim != NULL ? perp_sim_contacts(r->sim) : NULL;
  if (contacts == NULL) return;
  r->measure->run.contacts = result->contact_count = *contacts;
  result->solutions = r->measure->run.solutions;
  r->measure->run.has_contacts = true;
}

/* Hand over what there is so far, now and then. */
static void simulate_keep(perp_ctx *ctx, run *r)
{
  const perp_minder *minder = r->request->minder;
  if (minder == NULL) return;
  const double now = perp_clock_wall();
  if (r->kept > 0 && now < r->kept + keep_every) return;
  r->kept = now;
  perp_result so_far = *r->result;
  const double *q, *v;
  simulate_read_state(r, &so_far, &q, &v);
  so_far.q = (double *)(uintptr_t)q; /* read only, as it says */
  so_far.v = (double *)(uintptr_t)v;
  so_far.time.step_us = (double)NAN;
  so_far.time.cpu_s = r->measure->run.cpu_s = perp_clock_thread() - r->cpu0;
  so_far.time.wall_s = now - r->wall0;
  /* the start itself has no error; an exception of a metric is an error at the end of the run */
  if (so_far.t > 0) simulate_read_metrics(ctx, r->measure, &so_far);
  minder->keep(&so_far, minder->user);
}

/* Joints that were released or broke since the last call, appended to the events of the result. */
static void note_releases(const run *r, const perp_step_info *info, int *seen)
{
  perp_result *result = r->result;
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
        const int body = perp_model_joint(r->scene.model, release->joint)->b;
        const char *name = perp_model_body(r->scene.model, body)->name;
        snprintf(text, room, "t = %.9g s: body %d%s%.48s%s %s", release->t, body,
                 name != NULL ? " '" : "", name != NULL ? name : "", name != NULL ? "'" : "",
                 release->kind == PERP_RELEASE_ENABLED ? "enabled" : "disabled");
      }
      snprintf(result->events + at, sizeof result->events - at, "%s%s", at > 0 ? "\n         " : "",
               text);
      continue;
    }
    const char *name = perp_model_joint(r->scene.model, release->joint)->name;
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
static perp_status simulate_forces(perp_ctx *ctx, run *r, const perp_step_span *span)
{
  perp_series *series = &r->result->series;
  PERP_TRY(perp_force_log_step(ctx, r->log, span, perp_cell_redundant(r)));
  if (series->waits) perp_series_forces(series, series->row, r->log);
  series->waits = false;
  return PERP_OK;
}

/* Forces at the end of a run that are those of the start of a step: one more step tells them, after
 * all else of the run has been read. */
static perp_status simulate_last_forces(perp_ctx *ctx, run *r)
{
  perp_result *result = r->result;
  perp_step_info info = { 0 };
  double t;
  const double *q, *v;
  if (r->log == NULL) return PERP_OK;
  if (r->log->step->time == PERP_FORCES_AT_START && result->reason == PERP_EXACT &&
      result->cut == PERP_CUT_NONE && perp_cell_step(ctx, r, result->t + r->h, &info) == PERP_OK &&
      info.reason >= 0) {
    perp_cell_state(r, &t, &q, &v);
    PERP_TRY(simulate_forces(ctx, r,
                             &(perp_step_span){ .t0 = result->t,
                                                .t1 = t,
                                                .q0 = result->q,
                                                .v0 = result->v,
                                                .q1 = q,
                                                .v1 = v,
                                                .info = &info }));
  }
  result->series.waits = false;
  perp_force_log_end(r->log);
  result->forces = malloc(((size_t)r->log->n_total + 1) * sizeof *result->forces);
  if (result->forces == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the forces");
  result->n_forces = r->log->n_total;
  memcpy(result->forces, r->log->total, (size_t)r->log->n_total * sizeof *result->forces);
  return PERP_OK;
}

/* Pass 1: to t_end or to the end of the solver, with metrics.  Without timing rounds also the time
 * of each step. */
static perp_status measure_run(perp_ctx *ctx, run *r)
{
  const perp_request *request = r->request;
  const perp_watch *watch = request->watch;
  perp_result *result = r->result;
  bool clocked = request->timing_rounds <= 0;
  double t, t_last = 0, cost = clocked ? perp_cell_clock_cost() : 0;
  const double *q, *v;
  perp_step_info info = { 0 };
  int64_t count = 0;
  int releases = 0;
  perp_stats kkt;
  PERP_TRY(perp_cell_start(ctx, r));
  perp_cell_counters(r, &r->begun, &kkt);
  const perp_contact_count *contacts = r->sim != NULL ? perp_sim_contacts(r->sim) : NULL;
  for (const perp_step_info *last = NULL;; last = &info) {
    perp_cell_state(r, &t, &q, &v);
    if (!in_bounds(q, r->measure->nq, r->bound) || !in_bounds(v, r->measure->nv, r->bound)) {
      result->reason = PERP_DIVERGED;
      snprintf(result->message, sizeof result->message, "diverged at t = %.9g s: |state| > %g", t,
               r->bound);
      break;
    }
    if (count > 0 && r->log != NULL)
      PERP_TRY(simulate_forces(ctx, r,
                               &(perp_step_span){ .t0 = r->measure->before.t,
                                                  .t1 = t,
                                                  .q0 = r->measure->before.q,
                                                  .v0 = r->measure->before.v,
                                                  .q1 = q,
                                                  .v1 = v,
                                                  .info = last }));
    if (count > 0) PERP_TRY(perp_samples_between(ctx, r, t_last, t, last));
    perp_measure_state(r->measure, t, q, v, last);
    const bool end = t >= r->t_end || perp_cell_same_time(t, r->t_end);
    PERP_TRY(perp_samples_at(ctx, r, count, t_last, t, q, v, end, last));
    if (watch != NULL && watch->state != NULL) watch->state(r, last, watch->user);
    if (end) break;
    simulate_keep(ctx, r);
    if ((result->cut = perp_cell_cut(r)) != PERP_CUT_NONE) break;

    t_last = t;
    if (watch != NULL && watch->step != NULL) watch->step(count + 1, watch->user);
    const perp_contact_count before = contacts != NULL ? *contacts : (perp_contact_count){ 0 };
    const double t0 = clocked ? perp_clock_thread() : 0;
    const perp_status status = perp_cell_step(ctx, r, r->t_end, &info);
    if (status == PERP_ERR_NOMEM && r->kept > 0) {
      result->cut = PERP_CUT_MEMORY;
      snprintf(result->message, sizeof result->message, "%s", ctx->msg);
      break;
    }
    PERP_TRY(status);
    const double seconds = clocked ? fmax(0, perp_clock_thread() - t0 - cost) : 0;
    note_releases(r, &info, &releases);
    if (contacts != NULL) {
      perp_solution_steps_add(&r->measure->run.solutions, contacts, &before);
      PERP_TRY(perp_cell_add(ctx, &r->work, contacts->work - before.work));
      result->time.steps_reused += contacts->reused > before.reused &&
                                   contacts->problems == before.problems;
    }
    if (clocked) {
      PERP_TRY(perp_cell_add(ctx, &r->batch, seconds));
      result->time.cpu_s += seconds;
      r->brief = !request->timing_detail && count == FIRST &&
                 result->time.cpu_s < FIRST * SHORT * cost;
      clocked = !r->brief;
    }
    if (info.reason < 0) {
      result->reason = info.reason;
      perp_cell_state(r, &t, &q, &v);
      const bool more = info.cause != NULL && info.cause[0] != '\0';
      snprintf(result->message, sizeof result->message, "stopped at t = %.9g s: %s%s%s", t,
               perp_reason_name(info.reason), more ? ": " : "", more ? info.cause : "");
      break;
    }
    r->steps = ++count;
  }
  if (watch != NULL && watch->step != NULL) watch->step(-1, watch->user);
  return PERP_OK;
}

/* ---- the result ---- */

static void name_parts(const run *r)
{
  perp_result *result = r->result;
  perp_parts_write(&r->parts, result);
  snprintf(result->scene, sizeof result->scene, "%s", r->request->scene);
  if (r->against.truth != NULL)
    snprintf(result->truth, sizeof result->truth, "%s", r->against.truth->what);
  result->published = r->scene.published;
  result->h = r->h;
  result->t_end = r->t_end;
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

static perp_status final_groups(perp_ctx *ctx, const run *r)
{
  perp_result *result = r->result;
  const perp_group_count *groups = perp_sim_groups(r->sim);
  if (groups == NULL) return PERP_OK;
  r->measure->run.groups = result->group_count = *groups;
  r->measure->run.has_groups = true;
  result->groups = malloc((size_t)(groups->groups + 1) * sizeof *result->groups);
  if (result->groups == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the groups");
  for (int i = 0; i < groups->groups; i++) {
    perp_sim_group(r->sim, i, &result->groups[i]);
    if (r->equivalent != NULL)
      result->groups[i].first = perp_equivalent_body(r->equivalent, result->groups[i].first);
  }
  return PERP_OK;
}

static perp_status final_state(perp_ctx *ctx, const run *r)
{
  perp_result *result = r->result;
  const double *q, *v;
  simulate_read_state(r, result, &q, &v);
  result->q = malloc((size_t)(result->nq + 1) * sizeof *q);
  result->v = malloc((size_t)(result->nv + 1) * sizeof *v);
  if (result->q == NULL || result->v == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the final state");
  memcpy(result->q, q, (size_t)result->nq * sizeof *q);
  if (result->nv > 0) memcpy(result->v, v, (size_t)result->nv * sizeof *v);
  return r->sim != NULL ? final_groups(ctx, r) : PERP_OK;
}

/* A symplectic integrator in a combination that is not. */
static void simulate_note(const run *r)
{
  const char *why = r->sim != NULL ? perp_sim_not_symplectic(r->sim) : NULL;
  if (why == NULL || r->scene.dissipative) return;
  snprintf(r->result->note, sizeof r->result->note,
           "%.60s is not symplectic here: %.100s. The energy may drift over many steps; it does "
           "not with "
           "--formulation impulse%s",
           r->result->ode, why,
           strstr(why, "loops") == NULL ? ", or with --formulation reduced" : "");
}

static perp_status simulate_prepare(perp_ctx *ctx, run *r)
{
  const perp_request *request = r->request;
  PERP_TRY(parse_request(ctx, r));
  name_parts(r);
  if (request->minder != NULL) request->minder->keep(r->result, request->minder->user);
  const perp_watch *watch = request->watch;
  if (watch != NULL && watch->parts != NULL) PERP_TRY(watch->parts(ctx, &r->parts, watch->user));
  PERP_TRY(perp_cell_equivalent(ctx, r, request->equivalent));
  if (r->scene.model != NULL)
    PERP_TRY(perp_sim_create(
        ctx, r->equivalent != NULL ? perp_equivalent_model(r->equivalent) : r->scene.model,
        &r->parts, r->h, &r->sim));
  else
    PERP_TRY(perp_ode_create(ctx, &r->parts.ode, r->scene.ode, r->h, &r->ode));
  PERP_TRY(perp_measure_create(ctx, &r->scene, &r->measure));
  const perp_desc *form = r->parts.formulation.d;
  r->measure->run.impulses = form != NULL && (form->caps & PERP_FORM_FEEDBACK);
  if (r->every == 0) r->every = r->t_end / (r->adaptive ? SAMPLES_ADAPTIVE : SAMPLES_FIXED);
  if (request->film) r->film_every = r->t_end / (PERP_REPLAY_FRAMES - 1);
  PERP_TRY(perp_samples_create(ctx, r));
  if (request->sample_named && r->against.truth == NULL && !r->adaptive && !request->want_series)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "the time between samples has no effect: the scene has no reference solution, "
                     "and no series is written. Remove it, or add --series.");
  if (request->perturb > 0) PERP_TRY(perp_cell_perturb(ctx, r, request->perturb));
  r->bound = 1;
  for (int i = 0; i < r->measure->nq; i++) r->bound = fmax(r->bound, fabs(perp_cell_q0(r)[i]));
  for (int i = 0; i < r->measure->nv; i++) r->bound = fmax(r->bound, fabs(perp_cell_v0(r)[i]));
  r->bound *= DIVERGED;
  return PERP_OK;
}

static perp_status simulate(perp_ctx *ctx, run *r)
{
  const perp_request *request = r->request;
  perp_result *result = r->result;
  PERP_TRY(simulate_prepare(ctx, r));
  name_parts(r);
  simulate_note(r);
  if (r->sim != NULL) perp_sim_resolved(r->sim, result->resolved, sizeof result->resolved);
  result->reason = PERP_EXACT;
  if (request->forces) {
    if (r->sim == NULL)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "forces have no effect: scene %s has no bodies. Leave them out",
                       request->scene);
    PERP_TRY(
        perp_force_log_create(ctx, r->scene.model, r->sim, r->measure->scratch.collision, &r->log));
    PERP_TRY(perp_force_log_check(ctx, r->log, request->force_names, request->n_force_names));
  }
  if (request->setup_only) return PERP_OK;
  PERP_TRY(perp_warn_overlaps(ctx, r));
  if (request->want_series) PERP_TRY(perp_series_create(ctx, r->measure, r->log, &result->series));
  if (request->replay_path != NULL && r->scene.model != NULL)
    PERP_TRY(perp_replay_create(ctx, r->scene.model,
                                request->film ? PERP_REPLAY_FILM : PERP_REPLAY_SMALL,
                                request->film && r->log != NULL, &r->replay));
  r->wall0 = perp_clock_wall();
  r->cpu0 = perp_clock_thread();
  PERP_TRY(measure_run(ctx, r));
  result->time.wall_s = perp_clock_wall() - r->wall0;
  if (request->timing_rounds > 0) result->time.cpu_s = perp_clock_thread() - r->cpu0; /* for now */
  PERP_TRY(final_state(ctx, r));
  perp_warn_constraints(ctx, r);
  PERP_TRY(perp_warn_servos(ctx, r));
  PERP_TRY(simulate_last_forces(ctx, r));
  if (r->log != NULL) perp_warn_forces(r);
  PERP_TRY(perp_cell_clock(ctx, r));
  if (r->replay != NULL) PERP_TRY(perp_replay_write(ctx, r->replay, request->replay_path));
  r->measure->run.cpu_s = result->time.cpu_s;
  r->measure->run.step_us = result->time.step_us;
  r->measure->run.steps_reused = result->time.steps_reused;
  r->measure->run.work = perp_cell_spread(&r->work);
  r->measure->run.collision_us = result->time.collision_us;
  r->measure->run.solve_us = result->time.assembly_us + result->time.kkt_us + result->time.lcp_us;
  if (result->cut == PERP_CUT_NONE || result->t > 0)
    PERP_TRY(simulate_read_metrics(ctx, r->measure, result));
  perp_simulate_warn(r, result);
  return PERP_OK;
}

perp_status perp_simulate(perp_ctx *ctx, const perp_request *request, perp_result *result)
{
  *result = (perp_result){ 0 };
  if (perp_plugin_at(ctx, PERP_KIND_metric, 0) == NULL) PERP_TRY(perp_register_metrics(ctx));
  run r = { .request = request, .result = result };
  result->status = simulate(ctx, &r);
  perp_sim_destroy(r.sim);
  perp_ode_destroy(r.ode);
  perp_equivalent_destroy(r.equivalent);
  perp_measure_destroy(r.measure);
  perp_replay_destroy(r.replay);
  perp_force_log_destroy(r.log);
  perp_scene_destroy(&r.scene);
  perp_parts_free(&r.parts);
  perp_samples_destroy(&r);
  perp_cell_clear(&r.batch);
  perp_cell_clear(&r.alone);
  perp_cell_clear(&r.work);
  free(r.moved);
  free(r.q_there);
  if (result->status != PERP_OK) {
    perp_status status = result->status;
    perp_result_free(result);
    result->status = status;
    snprintf(result->message, sizeof result->message, "%s", ctx->msg);
  }
  return result->status;
}
