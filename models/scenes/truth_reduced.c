/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scene integrated in joint coordinates as a truth: no constraint, no drift, tight tolerance.
 *
 * Nothing is computed before the first question.  Rising times continue the run, an earlier time
 * starts it again, so that the answer at a time does not depend on the tolerance only but also,
 * within it, on the times asked before. */
#include "models/stepping/formulation.h"
#include "models/scenes/build.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

extern const perp_formulation_desc perp_formulation_reduced;

#define METHOD "gsl:rk8pd:tol=1e-13"

struct reduced_truth {
  perp_model *model;
  void *ws;
  double t_end;
};

static perp_status truth_reduced_start(perp_ctx *ctx, struct reduced_truth *truth)
{
  if (truth->ws == NULL) {
    perp_parts parts = { 0 };
    PERP_TRY(perp_spec_parse(ctx, PERP_KIND_ode, METHOD, &parts.ode));
    /* the first step of adaptive methods is a guess that the error control corrects */
    perp_status status = perp_formulation_reduced.create(ctx, truth->model, &parts, 1e-4,
                                                         &truth->ws);
    perp_spec_free(&parts.ode);
    PERP_TRY(status);
  }
  return perp_formulation_reduced.restart(ctx, truth->ws, 0, perp_model_q0(truth->model),
                                          perp_model_v0(truth->model));
}

static perp_status truth_reduced_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  struct reduced_truth *truth = user;
  const double *qt, *vt;
  double now = HUGE_VAL;
  if (truth->ws != NULL) perp_formulation_reduced.state(truth->ws, &now, &qt, &vt);
  if (t < now) {
    PERP_TRY(truth_reduced_start(ctx, truth));
    perp_formulation_reduced.state(truth->ws, &now, &qt, &vt);
  }
  while (now < t) {
    perp_step_info info;
    PERP_TRY(perp_formulation_reduced.step(ctx, truth->ws, t, &info));
    if (info.reason < 0)
      return PERP_FAIL(ctx, PERP_ERR_INTERNAL,
                       "the reference solution in joint coordinates stopped at t = %.17g: %s", now,
                       perp_reason_name(info.reason));
    perp_formulation_reduced.state(truth->ws, &now, &qt, &vt);
  }
  memcpy(q, qt, (size_t)perp_model_nq(truth->model) * sizeof *q);
  memcpy(v, vt, (size_t)perp_model_nv(truth->model) * sizeof *v);
  return PERP_OK;
}

static double truth_reduced_next_time(void *user, double t)
{
  return t <= ((struct reduced_truth *)user)->t_end ? t : HUGE_VAL;
}

static void truth_reduced_destroy(void *user)
{
  struct reduced_truth *truth = user;
  if (truth->ws != NULL) perp_formulation_reduced.destroy(truth->ws);
  free(truth);
}

perp_status perp_truth_reduced(perp_ctx *ctx, perp_scene *scene, double t_end, double uncertainty)
{
  struct reduced_truth *reduced_truth = calloc(1, sizeof *reduced_truth);
  perp_truth *truth = perp_truth_slot(ctx, scene, "reduced coordinates, " METHOD);
  if (reduced_truth == NULL || truth == NULL) {
    free(reduced_truth);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM,
                     "no memory for the reference solution in joint coordinates");
  }
  reduced_truth->model = scene->model;
  reduced_truth->t_end = truth->t_end = t_end;
  truth->uncertainty = uncertainty;
  truth->user = reduced_truth;
  truth->state = truth_reduced_state;
  truth->next_time = truth_reduced_next_time;
  truth->destroy = truth_reduced_destroy;
  return PERP_OK;
}
