/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A run of a page measured as the program measures one (experiments/simulate): its metrics at every
 * accepted state, its reference solution at the samples. */
#include "experiments/live/module/live.h"

#include "experiments/metrics/against.h"
#include "experiments/metrics/metrics.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 200 /* of a run with fixed steps, as perp run */ };

struct live_measure {
  perp_measure *of;
  perp_against against;
  double t_end, now[LIVE_NOW];
  int64_t count, stride;
};

void live_measure_free(live_measure *m)
{
  if (m == NULL) return;
  perp_measure_destroy(m->of);
  perp_against_free(&m->against);
  free(m);
}

double live_measure_end(const live_measure *m)
{
  return m != NULL ? m->t_end : HUGE_VAL;
}

/* The state that the run has reached; info: of its step, NULL: the first state. */
void live_measure_state(live_run *run, const perp_step_info *info)
{
  live_measure *m = run->measure;
  bool known = false;
  double t;
  const double *q, *v;
  perp_sim_state(run->sim, &t, &q, &v);
  perp_measure_state(m->of, t, q, v, info);
  const bool end = t >= m->t_end || fabs(t - m->t_end) <= 1e-10 * fmax(1, m->t_end);
  const bool sample = m->against.truth != NULL &&
                      (!m->against.any_time || end || m->count % m->stride == 0);
  if (sample && perp_against_at(live_ctx(), &m->against, t, &known) == PERP_OK && known)
    perp_measure_compare(live_ctx(), m->of, q, v, m->against.q_ref, m->against.v_ref);
  m->count++;
}

/* Measure a run that has made no step, has no spring at the mouse and fixed steps, to t_end and
 * with samples every so many seconds (0: 200 samples); false: it is not such a run. */
LIVE_EXPORT(live_measured) int live_measured(live_run *run, double t_end, double every)
{
  perp_ctx *ctx = live_ctx();
  const perp_ode_control *control = run->parts.ode.opts; /* first of every method's options */
  if (run->playable || run->extended != NULL || run->measure != NULL ||
      (control != NULL && control->tol > 0))
    return false;
  live_measure *m = calloc(1, sizeof *m);
  if (m == NULL) abort();
  m->t_end = t_end;
  const double steps = (every > 0 ? every : t_end / SAMPLES) / run->h;
  m->stride = (int64_t)fmax(1, ceil(steps * (1 - 1e-9)));
  run->measure = m;
  if (perp_measure_create(ctx, &run->scene, &m->of) != PERP_OK ||
      perp_against_create(ctx, &run->scene, t_end, false, perp_model_nq(run->model),
                          perp_model_nv(run->model), &m->against) != PERP_OK)
    return false;
  const perp_desc *form = run->parts.formulation.d;
  m->of->run.impulses = form != NULL && (form->caps & PERP_FORM_FEEDBACK);
  live_measure_state(run, NULL);
  return true;
}

/* The metric of a measured run so far; NaN: it has none of this name. */
LIVE_EXPORT(live_metric) double live_metric(live_run *run, const char *name)
{
  live_measure *m = run->measure;
  const perp_desc *desc = perp_find(live_ctx(), PERP_KIND_metric, name);
  if (m == NULL || desc == NULL) return (double)NAN;
  perp_sim_counters(run->sim, &m->of->run.ode, &m->of->run.kkt);
  const perp_redundant *redundant = perp_sim_redundant(run->sim);
  const perp_contact_count *contacts = perp_sim_contacts(run->sim);
  m->of->run.has_redundant = redundant != NULL;
  if (redundant != NULL) m->of->run.redundant = *redundant;
  m->of->run.has_contacts = contacts != NULL;
  if (contacts != NULL) m->of->run.contacts = *contacts;
  return ((const perp_metric_desc *)desc)->value(m->of);
}

/* [LIVE_NOW] of the latest state: t, largest and mean error of the constraints, that before the
 * post-step, energy, errors of q, v and the tip at the latest sample. */
LIVE_EXPORT(live_now) const double *live_now(live_run *run)
{
  live_measure *m = run->measure;
  if (m == NULL) return NULL;
  const double now[LIVE_NOW] = { m->of->now.t,         m->of->now.drift_pos,
                                 m->of->now.drift_pre, m->of->now.drift_pos_mean,
                                 m->of->now.energy,    m->of->now.err_q,
                                 m->of->now.err_v,     m->of->now.err_tip };
  memcpy(m->now, now, sizeof now);
  return m->now;
}
