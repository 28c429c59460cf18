/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scene event by event as a truth: forces on the acceleration level, impacts and changes
 * between sticking and sliding located (models/formulations/acceleration/events.h), steps of order
 * 5 to a tight tolerance.  For scenes with contacts that have no closed form: another level and
 * another integrator than those of time stepping.
 *
 * Nothing is computed before the first question.  Rising times continue the run, an earlier time
 * starts it again. */
#include "models/scenes/truths.h"
#include "models/stepping/formulation.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define METHOD "dopri5:tol=1e-11"

struct events_truth {
  perp_model *model;
  perp_sim *sim;
  double t_end, h;
};

static perp_status truth_events_start(perp_ctx *ctx, struct events_truth *truth)
{
  if (truth->sim == NULL) {
    perp_parts parts = { 0 };
    perp_status status = perp_spec_parse(ctx, PERP_KIND_formulation, "acceleration",
                                         &parts.formulation);
    if (status == PERP_OK) status = perp_spec_parse(ctx, PERP_KIND_ode, METHOD, &parts.ode);
    if (status == PERP_OK)
      status = perp_sim_create(ctx, truth->model, &parts, truth->h, &truth->sim);
    perp_parts_free(&parts);
    PERP_TRY(status);
  }
  return perp_sim_restart(ctx, truth->sim, 0, perp_model_q0(truth->model),
                          perp_model_v0(truth->model));
}

static perp_status truth_events_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct events_truth *truth = user;
  const double *qt, *vt;
  double now = HUGE_VAL;
  if (truth->sim != NULL) perp_sim_state(truth->sim, &now, &qt, &vt);
  if (t < now) {
    PERP_TRY(truth_events_start(ctx, truth));
    perp_sim_state(truth->sim, &now, &qt, &vt);
  }
  while (now < t) {
    perp_step_info info = { 0 };
    PERP_TRY(perp_sim_step(ctx, truth->sim, t, &info));
    if (info.reason < 0)
      return PERP_FAIL(ctx, PERP_ERR_INTERNAL,
                       "the event-driven reference solution stopped at t = %.17g: %s", now,
                       perp_reason_name(info.reason));
    perp_sim_state(truth->sim, &now, &qt, &vt);
  }
  memcpy(q, qt, (size_t)perp_model_nq(truth->model) * sizeof *q);
  memcpy(v, vt, (size_t)perp_model_nv(truth->model) * sizeof *v);
  return PERP_OK;
}

static double truth_events_next_time(void *user, double t)
{
  return t <= ((struct events_truth *)user)->t_end ? t : HUGE_VAL;
}

static void truth_events_destroy(void *user)
{
  struct events_truth *truth = user;
  perp_sim_destroy(truth->sim);
  free(truth);
}

perp_status perp_truth_events(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty)
{
  struct events_truth *events_truth = calloc(1, sizeof *events_truth);
  perp_truth *truth = perp_truth_slot(ctx, scene, "event-driven, " METHOD);
  if (events_truth == NULL || truth == NULL) {
    free(events_truth);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the event-driven reference solution");
  }
  events_truth->model = scene->model;
  events_truth->h = scene->h;
  events_truth->t_end = truth->t_end = t_end;
  truth->uncertainty = uncertainty;
  truth->user = events_truth;
  truth->state = truth_events_state;
  truth->next_time = truth_events_next_time;
  truth->destroy = truth_events_destroy;
  return PERP_OK;
}
