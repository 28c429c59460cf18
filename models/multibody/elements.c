/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bodies as forces and joints of plug-ins see them, and forces of plug-ins. */
#include "models/multibody/model_private.h"

#include <float.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

static perp_status element_body(perp_ctx *ctx, const perp_model *model, const perp_desc *desc,
                                unsigned caps, int i, const int *body, const char *who)
{
  if (body[i] < PERP_WORLD || body[i] >= model->n_bodies)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: body %d does not exist (there are %d)", who, body[i],
                     model->n_bodies);
  for (int k = 0; k < i; k++)
    if (body[k] == body[i])
      return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: %s appears twice among its bodies", who,
                       body[i] == PERP_WORLD ? "the world" : "a body");
  if (body[i] >= 0 && model->body_def[body[i]].particle && !(caps & PERP_FORCE_AT_CENTRES))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: body %d is a particle, on which no torque acts; '%s' does not declare "
                     "that it acts at centres only",
                     who, body[i], desc->name);
  return PERP_OK;
}

const char *perp_element_number(char buf[PERP_NUMBER_MAX], int least, int most)
{
  if (least == most)
    snprintf(buf, PERP_NUMBER_MAX, "%d %s", least, least == 1 ? "body" : "bodies");
  else if (most == INT_MAX)
    snprintf(buf, PERP_NUMBER_MAX, "%d bodies or more", least);
  else
    snprintf(buf, PERP_NUMBER_MAX, "%d to %d bodies", least, most);
  return buf;
}

perp_status perp_element_check(perp_ctx *ctx, const perp_model *model, const perp_desc *desc,
                               unsigned caps, int least, int most, int n, const int *body,
                               const char *who)
{
  const unsigned needed = model->dim == 3 ? PERP_FORCE_IN_SPACE : PERP_FORCE_IN_PLANE;
  bool moves = false;
  char number[PERP_NUMBER_MAX];
  if (most > PERP_ELEMENT_BODIES) most = PERP_ELEMENT_BODIES;
  if (!(caps & needed))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED, "%s: '%s' does not exist in %s", who, desc->name,
                     model->dim == 3 ? "space" : "the plane");
  if (n < least || n > most)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: '%s' needs %s: got %d", who, desc->name,
                     perp_element_number(number, least, most), n);
  for (int i = 0; i < n; i++) {
    PERP_TRY(element_body(ctx, model, desc, caps, i, body, who));
    moves = moves || body[i] != PERP_WORLD;
  }
  return moves ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_ARG, "%s: connects the world with itself", who);
}

perp_status perp_element_copy(perp_ctx *ctx, const perp_desc *desc, const void **opts, int *n,
                              const int **body)
{
  if (*n < 0 || *body == NULL) *n = 0; /* to be refused */
  void *own = calloc(1, desc->opts_size + 1);
  int *list = calloc((size_t)*n + 1, sizeof *list);
  if (own == NULL || list == NULL) {
    free(own);
    free(list);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the options of %s", desc->name);
  }
  if (*opts != NULL)
    memcpy(own, *opts, desc->opts_size);
  else
    perp_opts_default(desc, own);
  if (*n > 0) memcpy(list, *body, (size_t)*n * sizeof *list);
  *opts = own;
  *body = list;
  return PERP_OK;
}

perp_status perp_element_told(perp_ctx *ctx, perp_status status, const char *who)
{
  char said[sizeof ctx->msg];
  if (status == PERP_OK) return PERP_OK;
  memcpy(said, ctx->msg, sizeof said);
  return PERP_FAIL(ctx, status, "%s: %s", who, said);
}

void perp_element_free(const void *opts, const int *body)
{
  free((void *)(uintptr_t)opts);
  free((int *)(uintptr_t)body);
}

static void element_state(const perp_model *model, int body, const perp_pose *pose, const double *v,
                          perp_body_state *out)
{
  const int d = model->dim;
  *out = (perp_body_state){ .mass = body < 0 ? HUGE_VAL : model->inertia[body].mass,
                            .R = { 1, 0, 0, 0, 1, 0, 0, 0, 1 } };
  for (int j = 0; j < d; j++) {
    out->x[j] = pose->x[j];
    for (int i = 0; i < d; i++) out->R[i + 3 * j] = pose->R[i + d * j];
  }
  if (body < 0 || v == NULL) return;
  v += body * model->nvb;
  memcpy(out->v, v, (size_t)d * sizeof *v);
  for (int rate = 0; rate < model->rates; rate++) out->w[d == 3 ? rate : 2] = v[d + rate];
}

void perp_element_states(const perp_model *model, const perp_eval *eval, const double *v, int n,
                         const int *body, perp_body_state *out)
{
  for (int i = 0; i < n; i++) element_state(model, body[i], &eval->pose[body[i]], v, &out[i]);
}

void perp_element_states_at(const perp_model *model, const double *q, int n, const int *body,
                            perp_body_state *out)
{
  for (int i = 0; i < n; i++) {
    perp_pose pose;
    perp_pose_or_world(model->dim, body[i] < 0 ? NULL : q + body[i] * model->nqb, &pose);
    element_state(model, body[i], &pose, NULL, &out[i]);
  }
}

void perp_element_move(const perp_body_state *in, const double dx[3], const double dtheta[3],
                       perp_body_state *out)
{
  static const double straight[4] = { 1 };
  double quat[4], turn[9];
  *out = *in;
  for (int i = 0; i < 3; i++) out->x[i] += dx[i];
  perp_quat_retract(straight, dtheta, quat);
  perp_quat_matrix(quat, turn);
  for (int j = 0; j < 3; j++) perp_turn(3, in->R, turn + 3 * j, out->R + 3 * j);
}

/* ---- forces of plug-ins ---- */

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
  const perp_force_desc *desc = def->plugin;
  if (desc == NULL || desc->own != 0 || desc->force == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: the descriptor is not complete: it needs 'force'",
                     who);
  PERP_TRY(perp_element_copy(ctx, &desc->d, &def->opts, &def->n_bodies, &def->body));
  def->a = def->n_bodies > 0 ? def->body[0] : PERP_WORLD;
  def->b = def->n_bodies > 1 ? def->body[1] : PERP_WORLD;
  return PERP_OK;
}

perp_status perp_force_plugin_check(perp_ctx *ctx, const perp_model *model,
                                    const perp_force_def *def, const char *who)
{
  const perp_force_desc *desc = def->plugin;
  const unsigned caps = perp_force_promises(def);
  if (caps & PERP_FORCE_CONSERVATIVE && desc->energy == NULL)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: '%s' declares that it is conservative, but has no energy function", who,
                     desc->d.name);
  PERP_TRY(perp_element_check(ctx, model, &desc->d, caps, desc->bodies_min, desc->bodies_max,
                              def->n_bodies, def->body, who));
  if (desc->check == NULL) return PERP_OK;
  return perp_element_told(ctx, desc->check(ctx, def->opts, model->dim, def->n_bodies), who);
}

/* ---- evaluation ---- */

void perp_force_plugin_at(const perp_model *model, const perp_force_def *el,
                          const perp_body_state *body, double t, double *F)
{
  memset(F, 0, (size_t)(6 * el->n_bodies) * sizeof *F);
  el->plugin->force(el->opts, model->dim, el->n_bodies, body, t, F);
}

void perp_force_plugin_add(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                           double t, const double *v, double *f)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  double F[6 * PERP_ELEMENT_BODIES];
  perp_element_states(model, eval, v, el->n_bodies, el->body, body);
  perp_force_plugin_at(model, el, body, t, F);
  for (int i = 0; i < el->n_bodies; i++)
    for (int k = 0; el->body[i] >= 0 && k < model->nvb; k++)
      f[el->body[i] * model->nvb + k] += F[6 * i + perp_element_rate(model->dim, k)];
}

double perp_force_plugin_potential(const perp_model *model, const perp_eval *eval,
                                   const perp_force_def *el)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  if (el->plugin->energy == NULL) return 0;
  perp_element_states(model, eval, NULL, el->n_bodies, el->body, body);
  return el->plugin->energy(el->opts, model->dim, el->n_bodies, body, eval->t);
}

/* ---- derivatives ---- */
