/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of plug-ins. */
#include "models/multibody/model_private.h"

#include <float.h>
#include <string.h>

unsigned perp_force_promises(const perp_force_def *def)
{
  const unsigned everywhere = PERP_FORCE_IN_SPACE | PERP_FORCE_IN_PLANE;
  switch (def->kind) {
  case PERP_FORCE_PLUGIN:
    return def->plugin->promises != NULL ? def->plugin->promises(def->opts) : def->plugin->d.caps;
  case PERP_FORCE_SPRING:
    return everywhere | PERP_FORCE_INTERNAL |
           (def->damping > 0 ? PERP_FORCE_NEEDS_VELOCITY : PERP_FORCE_CONSERVATIVE);
  case PERP_FORCE_PAIRS:
    return everywhere | PERP_FORCE_INTERNAL | PERP_FORCE_CONSERVATIVE | PERP_FORCE_AT_CENTRES;
  case PERP_FORCE_DRAG:
    return everywhere | PERP_FORCE_NEEDS_VELOCITY;
  case PERP_FORCE_POINT:
  case PERP_FORCE_TORQUE:
    for (int k = 0; k < 3; k++)
      if (def->value_signal[k] != 0) return everywhere | PERP_FORCE_NEEDS_TIME;
    return everywhere;
  }
  return 0;
}

perp_status perp_force_plugin_take(perp_ctx *ctx, perp_force_def *def, const char *who)
{
  const perp_force_desc *p = def->plugin;
  if (p == NULL || p->own != 0 || p->force == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the descriptor is not complete: it needs 'force'",
                     who);
  PERP_TRY(perp_element_copy(ctx, &p->d, &def->opts, &def->n_bodies, &def->body));
  def->a = def->n_bodies > 0 ? def->body[0] : PERP_WORLD;
  def->b = def->n_bodies > 1 ? def->body[1] : PERP_WORLD;
  return PERP_OK;
}

perp_status perp_force_plugin_check(perp_ctx *ctx, const perp_model *model,
                                    const perp_force_def *def, const char *who)
{
  const perp_force_desc *p = def->plugin;
  const unsigned caps = perp_force_promises(def);
  if (caps & PERP_FORCE_CONSERVATIVE && p->energy == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: '%s' declares that it is conservative, but has no energy function", who,
                     p->d.name);
  PERP_TRY(perp_element_check(ctx, model, &p->d, caps, p->bodies_min, p->bodies_max, def->n_bodies,
                              def->body, who));
  if (p->check == NULL) return PERP_OK;
  return perp_element_told(ctx, p->check(ctx, def->opts, model->dim, def->n_bodies), who);
}

/* ---- evaluation ---- */

void perp_force_plugin_at(const perp_model *model, const perp_force_def *el,
                          const perp_body_state *body, double t, double *F)
{
  memset(F, 0, (size_t)(6 * el->n_bodies) * sizeof *F);
  el->plugin->force(el->opts, model->dim, el->n_bodies, body, t, F);
}

void perp_force_plugin_add(const perp_model *model, const perp_eval *e, const perp_force_def *el,
                           double t, const double *v, double *f)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  double F[6 * PERP_ELEMENT_BODIES];
  perp_element_states(model, e, v, el->n_bodies, el->body, body);
  perp_force_plugin_at(model, el, body, t, F);
  for (int i = 0; i < el->n_bodies; i++)
    for (int k = 0; el->body[i] >= 0 && k < model->nvb; k++)
      f[el->body[i] * model->nvb + k] += F[6 * i + perp_element_rate(model->dim, k)];
}

double perp_force_plugin_potential(const perp_model *model, const perp_eval *e,
                                   const perp_force_def *el)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  if (el->plugin->energy == NULL) return 0;
  perp_element_states(model, e, NULL, el->n_bodies, el->body, body);
  return el->plugin->energy(el->opts, model->dim, el->n_bodies, body, e->t);
}

/* ---- derivatives ---- */
