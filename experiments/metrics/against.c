/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/metrics/against.h"

#include <math.h>
#include <stdlib.h>

/* Two references further apart than this, relative to the largest coordinate so far, no longer know
 * the trajectory (chaos): what is left to compare are invariants. */
#define CHAOS 1e-4

bool perp_truth_answers(const perp_truth *truth, double t)
{
  if (truth == NULL || t > truth->t_end * (1 + 1e-12)) return false;
  return fabs(truth->next_time(truth->user, t) - t) <= 1e-10 * fmax(1, fabs(t));
}

/* The largest difference of two states relative to the largest coordinate so far; q and -q are one
 * orientation. */
static double against_apart(perp_against *against, const double *a, const double *b)
{
  double worst = 0;
  for (int i = 0; i < against->nq; i++) against->largest_q = fmax(against->largest_q, fabs(a[i]));
  for (int i = 0; i < against->nq; i++) {
    double sign = 1;
    if (against->space && i % 7 >= 3) {
      const int o = i - i % 7 + 3;
      sign = a[o] * b[o] + a[o + 1] * b[o + 1] + a[o + 2] * b[o + 2] + a[o + 3] * b[o + 3] < 0 ? -1
                                                                                               : 1;
    }
    worst = fmax(worst, fabs(a[i] - sign * b[i]));
  }
  return against->largest_q > 0 ? worst / against->largest_q : 0;
}

perp_status perp_against_at(perp_ctx *ctx, perp_against *against, double t, bool *known)
{
  *known = !against->parted && perp_truth_answers(against->truth, t);
  if (!*known) return PERP_OK;
  PERP_TRY(against->truth->state(against->truth->user, ctx, t, against->q_ref, against->v_ref));
  if (!perp_truth_answers(against->second, t)) return PERP_OK;
  PERP_TRY(
      against->second->state(against->second->user, ctx, t, against->q_second, against->v_second));
  if (!(against_apart(against, against->q_ref, against->q_second) <= CHAOS)) against->parted = true;
  *known = !against->parted;
  return PERP_OK;
}

perp_status perp_against_create(perp_ctx *ctx, const perp_scene *scene, double t_end, bool adaptive,
                                int nq, int nv, perp_against *against)
{
  *against = (perp_against){ .nq = nq,
                             .space = scene->model != NULL && perp_model_dim(scene->model) == 3 };
  /* Adaptive runs reach the rows of a file by dense output.  Fixed steps meet it only by chance, so
   * that the first truth that answers at any time is preferred: convergence studies then sample
   * alike at all h. */
  for (int i = 0; i < scene->n_truths; i++) {
    const perp_truth *truth = &scene->truth[i];
    const double probe = 0.377 * fmin(t_end, truth->t_end);
    const bool any_time = truth->next_time(truth->user, probe) == probe;
    if (against->truth != NULL && (adaptive || against->any_time || !any_time)) continue;
    against->truth = truth;
    against->any_time = any_time;
  }
  for (int i = 0; i < scene->n_truths && against->second == NULL; i++)
    if (&scene->truth[i] != against->truth) against->second = &scene->truth[i];
  against->q_ref = malloc((2 * (size_t)nq + 2 * (size_t)nv + 1) * sizeof *against->q_ref);
  if (against->q_ref == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the reference state");
  against->v_ref = against->q_ref + nq;
  against->q_second = against->v_ref + nv;
  against->v_second = against->q_second + nq;
  return PERP_OK;
}

void perp_against_free(perp_against *against)
{
  free(against->q_ref);
}
