/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A motion that was captured or computed as the truth of a scene: what a figure should do, the
 * ghost of the viewer. */
#include "models/scenes/build.h"
#include "models/scenes/truths.h"

#include <math.h>

static perp_status truth_playback_state(void *user, perp_ctx *ctx, double t, double *q, double *v)
{
  (void)ctx;
  perp_playback_state(user, t, q, v, NULL);
  return PERP_OK;
}

static double truth_playback_next(void *user, double t)
{
  double begin, end;
  perp_playback_span(user, &begin, &end);
  return t <= end ? t : HUGE_VAL;
}

static void truth_playback_destroy(void *user)
{
  perp_playback_destroy(user);
}

perp_status perp_truth_playback(perp_ctx *ctx, perp_scene *scene, const char *what,
                                perp_playback *playback, double uncertainty)
{
  double begin;
  perp_truth *truth = perp_truth_slot(ctx, scene, what);
  if (truth == NULL) {
    perp_playback_destroy(playback);
    return PERP_ERR_NOMEM;
  }
  perp_playback_span(playback, &begin, &truth->t_end);
  truth->uncertainty = uncertainty;
  truth->user = playback;
  truth->state = truth_playback_state;
  truth->next_time = truth_playback_next;
  truth->destroy = truth_playback_destroy;
  return PERP_OK;
}

perp_playback *perp_truth_playback_of(const perp_scene *scene)
{
  for (int truth = 0; truth < scene->n_truths; truth++)
    if (scene->truth[truth].state == truth_playback_state) return scene->truth[truth].user;
  return NULL;
}
