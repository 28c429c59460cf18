/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/multibody/reaction.h"
#include "models/scenes/gauges.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A gauge begins with it; behind it what `exact` gets, then the state before q [nq]. */
struct reaction {
  perp_model *model;
  perp_reaction_fn *exact;
  int joint, nq, nv;
  size_t size; /* bytes of user, a multiple of sizeof(double) */
  bool started;
  double scale, t0, t_before, worst;
  double data[]; /* user; q before [nq], q in the middle [nq], half of the way [nv] */
};

static void reaction_sample(void *user, double t, const double *q, const double *v,
                            const perp_step_info *info)
{
  struct reaction *g = user;
  double *before = g->data + g->size / sizeof(double), *middle = before + g->nq,
         *half = middle + g->nq;
  const double h = t - g->t_before;
  (void)v;
  if (info != NULL && info->lambda != NULL && h > 0) {
    const perp_forces_time when = info->forces_time;
    double at = when == PERP_FORCES_AT_START   ? g->t_before
                : when == PERP_FORCES_AT_STATE ? t
                                               : g->t_before + h / 2;
    const double *place = before;
    double t_place = g->t_before, exact[3] = { 0 }, off = 0;
    const double *lambda = info->lambda;
    if (info->lambda_end != NULL) {
      lambda = info->lambda_end;
      place = q;
      t_place = at = t;
    } else if (when == PERP_FORCES_MEAN_MIDDLE) {
      perp_model_difference(g->model, before, q, half);
      for (int i = 0; i < g->nv; i++) half[i] /= 2;
      perp_model_retract(g->model, before, half, middle);
      place = middle;
      t_place = at;
    }
    if (at >= g->t0 - 1e-10) {
      g->started = true;
      g->exact(g->data, at, exact);
      perp_reaction reaction;
      perp_model_reaction(g->model, place, perp_model_assemble(g->model, t_place, place), g->joint,
                          lambda, &reaction);
      for (int k = 0; k < 3; k++)
        off += (reaction.force[k] - exact[k]) * (reaction.force[k] - exact[k]);
      off = sqrt(off) / g->scale;
      if (!(off <= g->worst) && !isnan(g->worst)) g->worst = off; /* a NaN stays */
    }
  }
  g->t_before = t;
  memcpy(before, q, (size_t)g->nq * sizeof *q);
}

static double reaction_worst(const void *user)
{
  const struct reaction *reaction = user;
  return reaction->started ? reaction->worst : (double)NAN;
}

perp_status perp_gauge_reaction(perp_ctx *ctx, perp_scene *scene, int joint,
                                perp_reaction_fn *exact, const void *user, size_t size,
                                double scale, double t0)
{
  const size_t nq = (size_t)perp_model_nq(scene->model), nv = (size_t)perp_model_nv(scene->model),
               own = (size + sizeof(double) - 1) / sizeof(double),
               all = sizeof(struct reaction) + (own + 2 * nq + nv) * sizeof(double);
  struct reaction *reaction = calloc(1, all);
  if (reaction == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a measured force");
  *reaction = (struct reaction){ .model = scene->model,
                                 .exact = exact,
                                 .joint = joint,
                                 .nq = (int)nq,
                                 .nv = (int)nv,
                                 .size = own * sizeof(double),
                                 .scale = scale,
                                 .t0 = t0 };
  memcpy(reaction->data, user, size);
  const perp_status status = perp_gauge_add(ctx, scene, "force.rel.err", reaction, all,
                                            reaction_sample, reaction_worst);
  free(reaction);
  return status;
}
