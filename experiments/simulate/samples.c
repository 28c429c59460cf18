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

perp_status perp_samples_create(perp_ctx *ctx, perp_cell_run *r)
{
  const size_t nq = (size_t)r->measure->nq, nv = (size_t)r->measure->nv, m = (size_t)r->measure->m;
  PERP_TRY(
      perp_against_create(ctx, &r->scene, r->t_end, r->adaptive, (int)nq, (int)nv, &r->against));
  r->q_at = malloc((nq + nv + m + 1) * sizeof *r->q_at);
  if (r->q_at == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a state between two");
  r->v_at = r->q_at + nq;
  r->lambda_at = r->v_at + nv;
  const bool replay = r->request->replay_path != NULL && r->scene.model != NULL;
  if (!r->adaptive || !(r->request->want_series || replay)) return PERP_OK;
  r->plain = r->scene;
  r->plain.n_gauges = 0; /* they see the march alone */
  PERP_TRY(perp_measure_create(ctx, &r->plain, &r->between));
  r->between->motion.wanted = false;
  return PERP_OK;
}

void perp_samples_destroy(perp_cell_run *r)
{
  perp_measure_destroy(r->between);
  free(r->q_at);
  perp_against_free(&r->against);
}

/* ---- between two accepted states ---- */

/* the first multiple of every after t */
static double samples_next(double t, double every)
{
  const double past = t + 2e-10 * fmax(1, t); /* more than what counts as the same time */
  return ceil(past / every) * every;
}

static double next_sample(const run *r, double t)
{
  return samples_next(t, r->every);
}

/* Is t, the end of a step, to be looked at: a multiple of every, or one was passed without dense
 * output?  last: the last that was looked at */
static bool samples_due(double t, double every, double last)
{
  return perp_cell_same_time(t, nearbyint(t / every) * every) || samples_next(last, every) < t;
}

/* the first row of a reference file after t */
static double next_row(const run *r, double t)
{
  if (r->against.truth == NULL || r->against.any_time || r->against.parted) return HUGE_VAL;
  const double row = r->against.truth->next_time(r->against.truth->user, t + 2e-10 * fmax(1, t));
  return row > t ? row : HUGE_VAL;
}

/* A frame of the replay; m has measured its state. */
static perp_status samples_replay(perp_ctx *ctx, run *r, double t, const double *q, const double *v,
                                  const perp_measure *measure, const double *ref,
                                  const perp_step_info *info, bool end)
{
  const perp_replay_state state = { .t = t,
                                    .q = q,
                                    .v = v,
                                    .info = info,
                                    .reaction = r->log != NULL && r->log->step->joints_known &&
                                                        r->log->samples > 0
                                                    ? r->log->step->joint
                                                    : NULL,
                                    .energy = measure != NULL ? measure->now.energy : (double)NAN,
                                    .drift = measure != NULL ? measure->now.drift_pos : (double)NAN,
                                    .ref = ref,
                                    .end = end };
  return perp_replay_frame(ctx, r->replay, &state);
}

/* The truth at t for the eye alone: what is compared, and where it ends, stays as it is without a
 * film.  NULL: not known.  In q_second. */
static const double *samples_ghost(perp_ctx *ctx, run *r, double t)
{
  if (r->against.parted || !perp_truth_answers(r->against.truth, t)) return NULL;
  return r->against.truth->state(r->against.truth->user, ctx, t, r->against.q_second,
                                 r->against.v_second) == PERP_OK
             ? r->against.q_second
             : NULL;
}

/* The frames of a film between two accepted states, where there is dense output. */
static perp_status samples_film(perp_ctx *ctx, run *r, double t_last, double t,
                                const perp_step_info *info)
{
  const perp_step_info nothing = { .reason = PERP_EXACT, .drift_pos_pre = nan("") };
  r->filmed = t_last;
  if (r->replay == NULL || !r->request->film) return PERP_OK;
  for (double at = t_last;;) {
    at = samples_next(at, r->film_every);
    if (!(at < t) || perp_cell_same_time(at, t) || !perp_cell_dense(ctx, r, at, NULL))
      return PERP_OK;
    perp_measure_state(r->between, at, r->q_at, r->v_at, &nothing);
    /* truths that are integrated do not like to go back in time, as rows of a series would make
     * them */
    const double *ref = r->request->want_series ? NULL : samples_ghost(ctx, r, at);
    PERP_TRY(samples_replay(ctx, r, at, r->q_at, r->v_at, r->between, ref, info, false));
    r->filmed = at;
  }
}

/* The state in q_at and v_at at t: a row of a file, or one of the series, or both. */
static perp_status samples_inner(perp_ctx *ctx, run *r, double t, bool row, bool sample,
                                 const perp_step_info *info)
{
  const bool series = r->request->want_series, replay = r->replay != NULL && !r->request->film;
  bool known = false;
  if (row || (sample && series)) PERP_TRY(perp_against_at(ctx, &r->against, t, &known));
  if (row && known)
    perp_measure_compare_between(ctx, r->measure, t, r->q_at, r->v_at, r->against.q_ref,
                                 r->against.v_ref, r->sim != NULL ? r->lambda_at : NULL);
  if (!sample || !(series || replay)) return PERP_OK;
  const perp_step_info nothing = { .reason = PERP_EXACT, .drift_pos_pre = nan("") };
  perp_measure_state(r->between, t, r->q_at, r->v_at, &nothing);
  if (series) {
    if (known)
      perp_measure_compare_between(ctx, r->between, t, r->q_at, r->v_at, r->against.q_ref,
                                   r->against.v_ref, NULL);
    PERP_TRY(perp_series_row(ctx, &r->result->series, r->between, r->q_at, r->v_at));
    if (r->log != NULL) {
      PERP_TRY(perp_force_log_between(ctx, r->log, t, r->q_at, r->v_at, r->lambda_at,
                                      perp_cell_redundant(r)));
      perp_series_forces(&r->result->series, r->result->series.rows - 1, r->log);
    }
  }
  if (!replay) return PERP_OK;
  return samples_replay(ctx, r, t, r->q_at, r->v_at, r->between, known ? r->against.q_ref : NULL,
                        info, false);
}

/* The state right behind the fall of gauge->turn through zero, if it falls in (a, b), into q_at and
 * v_at. */
static bool samples_turn(perp_ctx *ctx, run *r, const perp_gauge *gauge, double a, double b,
                         double *t)
{
  const double enough = narrow * (b - a);
  if (!perp_cell_dense(ctx, r, a, NULL) || !(gauge->turn(gauge->user, r->q_at, r->v_at) > 0))
    return false;
  if (!perp_cell_dense(ctx, r, b, NULL) || !(gauge->turn(gauge->user, r->q_at, r->v_at) < 0))
    return false;
  for (int i = 0; i < TURN_STATES_MOST && b - a > enough; i++) {
    const double mid = a + 0.5 * (b - a);
    if (!(mid > a && mid < b) || !perp_cell_dense(ctx, r, mid, NULL)) break;
    if (gauge->turn(gauge->user, r->q_at, r->v_at) > 0)
      a = mid;
    else
      b = mid;
  }
  *t = b;
  return perp_cell_dense(ctx, r, b, NULL);
}

perp_status perp_samples_between(perp_ctx *ctx, perp_cell_run *r, double t_last, double t,
                                 const perp_step_info *info)
{
  {
    const perp_scene *scene = &r->scene;
    double at;
    for (int i = 0; i < scene->n_gauges; i++) {
      if (scene->gauge[i].turn == NULL || !samples_turn(ctx, r, &scene->gauge[i], t_last, t, &at))
        continue;
      for (int k = 0; k < scene->n_gauges; k++)
        if (scene->gauge[k].sample != NULL)
          scene->gauge[k].sample(scene->gauge[k].user, at, r->q_at, r->v_at, NULL);
    }
  }
  r->sampled = t_last;
  if (!r->adaptive) return PERP_OK;
  PERP_TRY(samples_film(ctx, r, t_last, t, info));
  const bool samples = r->between != NULL && (r->log == NULL || !perp_force_log_at_steps(r->log));
  for (double at = t_last;;) {
    const double sample = samples ? next_sample(r, at) : HUGE_VAL, row = next_row(r, at);
    at = fmin(sample, row);
    if (!(at < t) || perp_cell_same_time(at, t)) return PERP_OK;
    const bool is_row = isfinite(row) && perp_cell_same_time(at, row);
    const bool multipliers = (is_row || r->log != NULL) && r->sim != NULL;
    if (!perp_cell_dense(ctx, r, at, multipliers ? r->lambda_at : NULL)) return PERP_OK;
    const bool is_sample = isfinite(sample) && perp_cell_same_time(at, sample);
    PERP_TRY(samples_inner(ctx, r, at, is_row, is_sample, info));
    if (is_sample) r->sampled = at;
  }
}

/* ---- at accepted states ---- */

/* So many steps of a fixed size are at least this time. */
static int64_t samples_stride(const run *r, double time)
{
  const double steps = ceil(time / r->h * (1 - 1e-9));
  return (int64_t)fmin(fmax(1, steps), PERP_STEPS_MOST);
}

/* Is the accepted state at t a frame of a film? */
static bool samples_filmed(const run *r, int64_t count, double t, bool end)
{
  if (end || count == 0) return true;
  if (r->adaptive) return samples_due(t, r->film_every, r->filmed);
  return count % samples_stride(r, r->film_every) == 0;
}

/* The forces of the row that was added last: of the step that ended there, or of the one to come,
 * which reports those of its start. */
static perp_status samples_forces(perp_ctx *ctx, run *r, double t, const double *q, const double *v,
                                  int64_t count)
{
  perp_series *series = &r->result->series;
  series->row = series->rows - 1;
  series->waits = r->log->step->time == PERP_FORCES_AT_START;
  if (series->waits) return PERP_OK;
  if (r->log->step->time == PERP_FORCES_AT_STATE)
    PERP_TRY(perp_force_log_between(ctx, r->log, t, q, v, NULL, -1));
  else if (count == 0)
    return PERP_OK;
  perp_series_forces(series, series->row, r->log);
  return PERP_OK;
}

perp_status perp_samples_at(perp_ctx *ctx, perp_cell_run *r, int64_t count, double t_last, double t,
                            const double *q, const double *v, bool end, const perp_step_info *info)
{
  const int64_t stride = samples_stride(r, r->every);
  const bool grid = r->against.truth != NULL && !r->against.any_time;
  bool compare = end || count == 0, row = compare, known = false;
  if (!r->adaptive) {
    compare = row = end || count % stride == 0;
  } else if (count > 0) {
    /* the first state at or after a sample; a row where dense output has not been there */
    const double sample = next_sample(r, t_last);
    compare = compare || sample <= t || perp_cell_same_time(sample, t);
    row = end || samples_due(t, r->every, r->sampled);
  }
  if (grid || compare) PERP_TRY(perp_against_at(ctx, &r->against, t, &known));
  if (known) perp_measure_compare(ctx, r->measure, q, v, r->against.q_ref, r->against.v_ref);
  if (row && r->request->want_series) {
    perp_series *series = &r->result->series;
    PERP_TRY(perp_series_row(ctx, series, r->measure, q, v));
    if (r->log != NULL) PERP_TRY(samples_forces(ctx, r, t, q, v, count));
  }
  if (r->replay == NULL || !(r->request->film ? samples_filmed(r, count, t, end) : row))
    return PERP_OK;
  const double *ref = known ? r->against.q_ref : r->request->film ? samples_ghost(ctx, r, t) : NULL;
  return samples_replay(ctx, r, t, q, v, r->measure, ref, info, end);
}
