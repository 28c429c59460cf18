/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/samples.h"

#include "experiments/simulate/series.h"

#include <math.h>
#include <stdlib.h>

/* a turn (perp_gauge.turn) is found this closely, as a part of its step, with so many states */
static const double narrow = 1e-12;
enum { TURN_STATES_MOST = 100 };

typedef perp_cell_run run;

/* ---- life ---- */

perp_status perp_samples_create(perp_ctx *ctx, perp_cell_run *cell_run)
{
  const size_t nq = (size_t)cell_run->measure->nq, nv = (size_t)cell_run->measure->nv,
               m = (size_t)cell_run->measure->m;
  PERP_TRY(perp_against_create(ctx, &cell_run->scene, cell_run->t_end, cell_run->adaptive, (int)nq,
                               (int)nv, &cell_run->against));
  cell_run->q_at = malloc((nq + nv + m + 1) * sizeof *cell_run->q_at);
  if (cell_run->q_at == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a state between two");
  cell_run->v_at = cell_run->q_at + nq;
  cell_run->lambda_at = cell_run->v_at + nv;
  const bool replay = cell_run->request->replay.path != NULL && cell_run->scene.model != NULL;
  if (!cell_run->adaptive || !(cell_run->request->want_series || replay)) return PERP_OK;
  cell_run->plain = cell_run->scene;
  cell_run->plain.n_gauges = 0; /* they see the march alone */
  PERP_TRY(perp_measure_create(ctx, &cell_run->plain, &cell_run->between));
  cell_run->between->motion.wanted = false;
  return PERP_OK;
}

void perp_samples_destroy(perp_cell_run *cell_run)
{
  perp_measure_destroy(cell_run->between);
  free(cell_run->q_at);
  perp_against_free(&cell_run->against);
}

/* ---- between two accepted states ---- */

/* the first multiple of every after t */
static double samples_next(double t, double every)
{
  const double past = t + 2e-10 * fmax(1, t); /* more than what counts as the same time */
  return ceil(past / every) * every;
}

static double next_sample(const run *job, double t)
{
  return samples_next(t, job->every);
}

/* Is t, the end of a step, to be looked at: a multiple of every, or one was passed without dense
 * output?  last: the last that was looked at */
static bool samples_due(double t, double every, double last)
{
  return perp_cell_same_time(t, nearbyint(t / every) * every) || samples_next(last, every) < t;
}

/* the first row of a reference file after t */
static double next_row(const run *job, double t)
{
  if (job->against.truth == NULL || job->against.any_time || job->against.parted) return HUGE_VAL;
  const double row = job->against.truth->next_time(job->against.truth->user,
                                                   t + 2e-10 * fmax(1, t));
  return row > t ? row : HUGE_VAL;
}

/* A frame of the replay; m has measured its state. */
static perp_status samples_replay(perp_ctx *ctx, run *job, double t, const double *q,
                                  const double *v, const perp_measure *measure, const double *ref,
                                  const perp_step_info *info, bool end)
{
  const perp_replay_state state = { .t = t,
                                    .q = q,
                                    .v = v,
                                    .info = info,
                                    .reaction = job->log != NULL && job->log->step->joints_known &&
                                                        job->log->samples > 0
                                                    ? job->log->step->joint
                                                    : NULL,
                                    .energy = measure != NULL ? measure->now.energy : (double)NAN,
                                    .drift = measure != NULL ? measure->now.drift_pos : (double)NAN,
                                    .ref = ref,
                                    .end = end };
  return perp_replay_frame(ctx, job->replay, &state);
}

/* The truth at t for the eye alone: what is compared, and where it ends, stays as it is without a
 * film.  NULL: not known.  In q_second. */
static const double *samples_ghost(perp_ctx *ctx, run *job, double t)
{
  if (job->against.parted || !perp_truth_answers(job->against.truth, t)) return NULL;
  return job->against.truth->state(job->against.truth->user, ctx, t, job->against.q_second,
                                   job->against.v_second) == PERP_OK
             ? job->against.q_second
             : NULL;
}

/* The frames of a film between two accepted states, where there is dense output. */
static perp_status samples_film(perp_ctx *ctx, run *job, double t_last, double t,
                                const perp_step_info *info)
{
  const perp_step_info nothing = { .reason = PERP_EXACT, .drift_pos_pre = nan("") };
  job->filmed = t_last;
  if (job->replay == NULL || !job->request->replay.film) return PERP_OK;
  for (double at = t_last;;) {
    at = samples_next(at, job->film_every);
    if (!(at < t) || perp_cell_same_time(at, t) || !perp_cell_dense(ctx, job, at, NULL))
      return PERP_OK;
    perp_measure_state(job->between, at, job->q_at, job->v_at, &nothing);
    /* truths that are integrated do not like to go back in time, as rows of a series would make
     * them */
    const double *ref = job->request->want_series ? NULL : samples_ghost(ctx, job, at);
    PERP_TRY(samples_replay(ctx, job, at, job->q_at, job->v_at, job->between, ref, info, false));
    job->filmed = at;
  }
}

/* The state in q_at and v_at at t: a row of a file, or one of the series, or both. */
static perp_status samples_inner(perp_ctx *ctx, run *job, double t, bool row, bool sample,
                                 const perp_step_info *info)
{
  const bool series = job->request->want_series,
             replay = job->replay != NULL && !job->request->replay.film;
  bool known = false;
  if (row || (sample && series)) PERP_TRY(perp_against_at(ctx, &job->against, t, &known));
  if (row && known)
    perp_measure_compare_between(ctx, job->measure, t, job->q_at, job->v_at, job->against.q_ref,
                                 job->against.v_ref, job->sim != NULL ? job->lambda_at : NULL);
  if (!sample || !(series || replay)) return PERP_OK;
  const perp_step_info nothing = { .reason = PERP_EXACT, .drift_pos_pre = nan("") };
  perp_measure_state(job->between, t, job->q_at, job->v_at, &nothing);
  if (series) {
    if (known)
      perp_measure_compare_between(ctx, job->between, t, job->q_at, job->v_at, job->against.q_ref,
                                   job->against.v_ref, NULL);
    PERP_TRY(perp_series_row(ctx, &job->result->series, job->between, job->q_at, job->v_at));
    if (job->log != NULL) {
      PERP_TRY(perp_force_log_between(ctx, job->log, t, job->q_at, job->v_at, job->lambda_at,
                                      perp_cell_redundant(job)));
      perp_series_forces(&job->result->series, job->result->series.rows - 1, job->log);
    }
  }
  if (!replay) return PERP_OK;
  return samples_replay(ctx, job, t, job->q_at, job->v_at, job->between,
                        known ? job->against.q_ref : NULL, info, false);
}

/* The state right behind the fall of gauge->turn through zero, if it falls in (a, b), into q_at and
 * v_at. */
static bool samples_turn(perp_ctx *ctx, run *job, const perp_gauge *gauge, double a, double b,
                         double *t)
{
  const double enough = narrow * (b - a);
  if (!perp_cell_dense(ctx, job, a, NULL) || !(gauge->turn(gauge->user, job->q_at, job->v_at) > 0))
    return false;
  if (!perp_cell_dense(ctx, job, b, NULL) || !(gauge->turn(gauge->user, job->q_at, job->v_at) < 0))
    return false;
  for (int i = 0; i < TURN_STATES_MOST && b - a > enough; i++) {
    const double mid = a + 0.5 * (b - a);
    if (!(mid > a && mid < b) || !perp_cell_dense(ctx, job, mid, NULL)) break;
    if (gauge->turn(gauge->user, job->q_at, job->v_at) > 0)
      a = mid;
    else
      b = mid;
  }
  *t = b;
  return perp_cell_dense(ctx, job, b, NULL);
}

perp_status perp_samples_between(perp_ctx *ctx, perp_cell_run *cell_run, double t_last, double t,
                                 const perp_step_info *info)
{
  {
    const perp_scene *scene = &cell_run->scene;
    double at;
    for (int gauge = 0; gauge < scene->n_gauges; gauge++) {
      if (scene->gauge[gauge].turn == NULL ||
          !samples_turn(ctx, cell_run, &scene->gauge[gauge], t_last, t, &at))
        continue;
      for (int k = 0; k < scene->n_gauges; k++)
        if (scene->gauge[k].sample != NULL)
          scene->gauge[k].sample(scene->gauge[k].user, at, cell_run->q_at, cell_run->v_at, NULL);
    }
  }
  cell_run->sampled = t_last;
  if (!cell_run->adaptive) return PERP_OK;
  PERP_TRY(samples_film(ctx, cell_run, t_last, t, info));
  const bool samples = cell_run->between != NULL &&
                       (cell_run->log == NULL || !perp_force_log_at_steps(cell_run->log));
  for (double at = t_last;;) {
    const double sample = samples ? next_sample(cell_run, at) : HUGE_VAL,
                 row = next_row(cell_run, at);
    at = fmin(sample, row);
    if (!(at < t) || perp_cell_same_time(at, t)) return PERP_OK;
    const bool is_row = isfinite(row) && perp_cell_same_time(at, row);
    const bool multipliers = (is_row || cell_run->log != NULL) && cell_run->sim != NULL;
    if (!perp_cell_dense(ctx, cell_run, at, multipliers ? cell_run->lambda_at : NULL))
      return PERP_OK;
    const bool is_sample = isfinite(sample) && perp_cell_same_time(at, sample);
    PERP_TRY(samples_inner(ctx, cell_run, at, is_row, is_sample, info));
    if (is_sample) cell_run->sampled = at;
  }
}

/* ---- at accepted states ---- */

/* So many steps of a fixed size are at least this time. */
static int64_t samples_stride(const run *job, double time)
{
  const double steps = ceil(time / job->h * (1 - 1e-9));
  return (int64_t)fmin(fmax(1, steps), PERP_STEPS_MOST);
}

/* Is the accepted state at t a frame of a film? */
static bool samples_filmed(const run *job, int64_t count, double t, bool end)
{
  if (end || count == 0) return true;
  if (job->adaptive) return samples_due(t, job->film_every, job->filmed);
  return count % samples_stride(job, job->film_every) == 0;
}

/* The forces of the row that was added last: of the step that ended there, or of the one to come,
 * which reports those of its start. */
static perp_status samples_forces(perp_ctx *ctx, run *job, double t, const double *q,
                                  const double *v, int64_t count)
{
  perp_series *series = &job->result->series;
  series->row = series->rows - 1;
  series->waits = job->log->step->time == PERP_FORCES_AT_START;
  if (series->waits) return PERP_OK;
  if (job->log->step->time == PERP_FORCES_AT_STATE)
    PERP_TRY(perp_force_log_between(ctx, job->log, t, q, v, NULL, -1));
  else if (count == 0)
    return PERP_OK;
  perp_series_forces(series, series->row, job->log);
  return PERP_OK;
}

perp_status perp_samples_at(perp_ctx *ctx, perp_cell_run *cell_run, int64_t count, double t_last,
                            double t, const double *q, const double *v, bool end,
                            const perp_step_info *info)
{
  const int64_t stride = samples_stride(cell_run, cell_run->every);
  const bool grid = cell_run->against.truth != NULL && !cell_run->against.any_time;
  bool compare = end || count == 0, row = compare, known = false;
  if (!cell_run->adaptive) {
    compare = row = end || count % stride == 0;
  } else if (count > 0) {
    /* the first state at or after a sample; a row where dense output has not been there */
    const double sample = next_sample(cell_run, t_last);
    compare = compare || sample <= t || perp_cell_same_time(sample, t);
    row = end || samples_due(t, cell_run->every, cell_run->sampled);
  }
  if (grid || compare) PERP_TRY(perp_against_at(ctx, &cell_run->against, t, &known));
  if (known)
    perp_measure_compare(ctx, cell_run->measure, q, v, cell_run->against.q_ref,
                         cell_run->against.v_ref);
  if (row && cell_run->request->want_series) {
    perp_series *series = &cell_run->result->series;
    PERP_TRY(perp_series_row(ctx, series, cell_run->measure, q, v));
    if (cell_run->log != NULL) PERP_TRY(samples_forces(ctx, cell_run, t, q, v, count));
  }
  if (cell_run->replay == NULL ||
      !(cell_run->request->replay.film ? samples_filmed(cell_run, count, t, end) : row))
    return PERP_OK;
  const double *ref = known                            ? cell_run->against.q_ref
                      : cell_run->request->replay.film ? samples_ghost(ctx, cell_run, t)
                                                       : NULL;
  return samples_replay(ctx, cell_run, t, q, v, cell_run->measure, ref, info, end);
}
