/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints of plug-ins: between any bodies, rows by functions of the plug-in. */
#include "models/multibody/model_private.h"

#include <string.h>

/* Of the motion in a step of the difference of Jdot v: a part of the size of the model, radians.
 * The error of order 6 and rounding, 1e-16 over the step, are alike. */
static const double STEP = 5e-3;

/* ---- building ---- */

perp_status perp_joint_plugin_take(perp_ctx *ctx, perp_joint_def *def, const char *who)
{
  const perp_joint_desc *desc = def->plugin;
  if (desc == NULL || desc->own != 0 || desc->rows == NULL ||
      (!(desc->d.caps & PERP_JOINT_OF_AXES) && (desc->evaluate == NULL) == (desc->at_time == NULL)))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: the descriptor is not complete: it needs 'rows', and 'evaluate' or 'at_time'", who);
  if (desc->at_time != NULL && (desc->bias != NULL || desc->prescribed != NULL))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: 'at_time' excludes 'bias' and 'prescribed': leave them out", who);
  PERP_TRY(perp_element_copy(ctx, &desc->d, &def->opts, &def->n_bodies, &def->body));
  def->a = def->n_bodies > 0 ? def->body[0] : PERP_WORLD;
  def->b = def->n_bodies > 1 ? def->body[1] : PERP_WORLD;
  return PERP_OK;
}

perp_status perp_joint_plugin_check(perp_ctx *ctx, const perp_model *model,
                                    const perp_joint_def *def, const char *who)
{
  const perp_joint_desc *desc = def->plugin;
  unsigned angles = 0;
  PERP_TRY(perp_element_check(ctx, model, &desc->d, desc->d.caps, desc->bodies_min,
                              desc->bodies_max, def->n_bodies, def->body, who));
  if (def->start == PERP_START_ZERO && desc->zero == NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "%s: joint '%s' cannot take its zero from the initial state: use the start "
                     "'holds' or 'violates'",
                     who, desc->d.name);
  const int rows = desc->rows(def->opts, model->dim, def->n_bodies, &angles);
  if (rows < 1 || rows > PERP_JOINT_ROWS)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: joint '%s' declares %d rows: 1 to %d are allowed", who,
                     desc->d.name, rows, PERP_JOINT_ROWS);
  if (desc->check == NULL) return PERP_OK;
  return perp_element_told(ctx, desc->check(ctx, def->opts, model->dim, def->n_bodies), who);
}

perp_status perp_joint_plugin_begin(perp_ctx *ctx, const perp_model *model, int i, const char *who)
{
  const perp_joint_def *def = &model->joint_def[i];
  const perp_joint_desc *desc = def->plugin;
  perp_body_state body[PERP_ELEMENT_BODIES];
  void *opts = (void *)(uintptr_t)def->opts; /* the model's own copy */
  perp_element_states_at(model, model->q0, def->n_bodies, def->body, body);
  if (desc->begin != NULL) desc->begin(opts, model->dim, def->n_bodies, body);
  if (def->start != PERP_START_ZERO) return PERP_OK;
  return perp_element_told(ctx, desc->zero(ctx, opts, model->dim, def->n_bodies, body), who);
}

void perp_joint_plugin_compile(const perp_joint_def *def, int dim, perp_row *rows,
                               perp_joint *joint)
{
  unsigned angles = 0;
  *joint = (perp_joint){ .a = def->a,
                         .b = def->b,
                         .ja = -1,
                         .jb = -1,
                         .scalars = rows,
                         .plugin = def->plugin,
                         .opts = def->opts,
                         .body = def->body,
                         .n_bodies = def->n_bodies };
  joint->n_scalars = def->plugin->rows(def->opts, dim, def->n_bodies, &angles);
  for (int scalar = 0; scalar < joint->n_scalars; scalar++) /* what kind of number an error is */
    rows[scalar] = (perp_row){ .kind = angles >> scalar & 1 ? PERP_ROW_DOT : PERP_ROW_ALONG };
}

/* ---- evaluation ---- */

enum { JOINT_PLUGIN_J = PERP_JOINT_ROWS * 6 * PERP_ELEMENT_BODIES };

/* C, and unless it is NULL J, at the time t */
static void joint_plugin_rows(const perp_joint *joint, int dim, const perp_body_state *body,
                              double t, double *C, double *J)
{
  if (joint->plugin->at_time != NULL)
    joint->plugin->at_time(joint->opts, dim, joint->n_bodies, body, t, C, J, NULL, NULL);
  else
    joint->plugin->evaluate(joint->opts, dim, joint->n_bodies, body, C, J);
}

void perp_joint_plugin_evaluate(const perp_model *model, const perp_joint *joint, perp_eval *eval)
{
  const int r = joint->n_scalars, nvb = model->nvb;
  perp_body_state body[PERP_ELEMENT_BODIES];
  double J[JOINT_PLUGIN_J], *C = eval->C + joint->row;
  if (joint->axes > 0) {
    model->axes->evaluate(model, joint, eval);
    return;
  }
  perp_element_states(model, eval, NULL, joint->n_bodies, joint->body, body);
  for (int k = 0; k < r; k++) C[k] = 0;
  if (eval->J == NULL) {
    joint_plugin_rows(joint, model->dim, body, eval->t, C, NULL);
    return;
  }
  memset(J, 0, (size_t)(6 * r * joint->n_bodies) * sizeof *J);
  joint_plugin_rows(joint, model->dim, body, eval->t, C, J);
  for (int i = 0, sub = joint->sub; i < joint->n_bodies; i++) {
    if (joint->body[i] < 0) continue;
    double *to = eval->J + model->pattern.joff[sub++];
    for (int k = 0; k < nvb; k++)
      memcpy(to + k * r, J + r * (6 * i + perp_element_rate(model->dim, k)),
             (size_t)r * sizeof *to);
  }
}

/* y [rows] += weight (J v) after the motion of the bodies for the time s */
static void joint_plugin_rate(const perp_joint *joint, int dim, const perp_body_state *at, double s,
                              double weight, double *y)
{
  const int r = joint->n_scalars;
  perp_body_state body[PERP_ELEMENT_BODIES];
  double J[JOINT_PLUGIN_J], C[PERP_JOINT_ROWS] = { 0 };
  for (int i = 0; i < joint->n_bodies; i++) {
    double dx[3], turn[3];
    for (int k = 0; k < 3; k++) dx[k] = s * at[i].v[k], turn[k] = s * at[i].w[k];
    perp_element_move(&at[i], dx, turn, &body[i]);
    for (int k = 0; k < 3; k++) body[i].v[k] = body[i].w[k] = 0;
  }
  memset(J, 0, (size_t)(6 * r * joint->n_bodies) * sizeof *J);
  joint->plugin->evaluate(joint->opts, dim, joint->n_bodies, body, C, J);
  for (int i = 0; i < joint->n_bodies; i++)
    for (int k = 0; k < 6; k++) {
      const double v = k < 3 ? at[i].v[k] : at[i].w[k - 3];
      for (int l = 0; l < r; l++) y[l] += weight * v * J[l + r * (6 * i + k)];
    }
}

void perp_joint_plugin_bias(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                            const double *v, double *gamma)
{
  static const double weight[3] = { 45.0 / 60, -9.0 / 60, 1.0 / 60 };
  perp_body_state body[PERP_ELEMENT_BODIES];
  double speed = 0;
  if (joint->axes > 0) {
    gamma[0] = model->axes->bias(model, joint, eval, v);
    return;
  }
  perp_element_states(model, eval, v, joint->n_bodies, joint->body, body);
  for (int scalar = 0; scalar < joint->n_scalars; scalar++) gamma[scalar] = 0;
  if (joint->plugin->at_time != NULL) {
    double C[PERP_JOINT_ROWS];
    joint->plugin->at_time(joint->opts, model->dim, joint->n_bodies, body, eval->t, C, NULL, NULL,
                           gamma);
    return;
  }
  if (joint->plugin->bias != NULL) {
    joint->plugin->bias(joint->opts, model->dim, joint->n_bodies, body, gamma);
    return;
  }
  for (int i = 0; i < joint->n_bodies; i++)
    speed = fmax(speed, sqrt(perp_dot(3, body[i].v, body[i].v)) / model->size +
                            sqrt(perp_dot(3, body[i].w, body[i].w)));
  if (speed == 0) return;
  const double s = STEP / speed;
  for (int k = 0; k < 3; k++) {
    joint_plugin_rate(joint, model->dim, body, (k + 1) * s, weight[k] / s, gamma);
    joint_plugin_rate(joint, model->dim, body, -(k + 1) * s, -weight[k] / s, gamma);
  }
}

/* ---- what depends on time ---- */

bool perp_joint_plugin_moves(const perp_joint_def *def)
{
  return def->kind == PERP_JOINT_PLUGIN &&
         (def->plugin->prescribed != NULL || def->plugin->at_time != NULL);
}

void perp_joint_plugin_driven(const perp_model *model, const perp_eval *eval, double t, double *Ct,
                              double *gamma)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  double g[PERP_JOINT_ROWS], gdot[PERP_JOINT_ROWS];
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    if (joint->plugin != NULL && joint->plugin->at_time != NULL && Ct != NULL) {
      perp_element_states(model, eval, NULL, joint->n_bodies, joint->body, body);
      joint->plugin->at_time(joint->opts, model->dim, joint->n_bodies, body, t, g, NULL,
                             Ct + joint->row, NULL);
    }
    if (joint->plugin == NULL || joint->plugin->prescribed == NULL) continue;
    joint->plugin->prescribed(joint->opts, t, g, gdot);
    for (int scalar = 0; scalar < joint->n_scalars; scalar++) {
      if (Ct != NULL) Ct[joint->row + scalar] -= g[scalar];
      if (gamma != NULL) gamma[joint->row + scalar] -= gdot[scalar];
    }
  }
}

/* With bodies at rest gamma is C_tt. */
void perp_joint_plugin_still(const perp_model *model, const perp_eval *eval, double *gamma)
{
  perp_body_state body[PERP_ELEMENT_BODIES];
  double C[PERP_JOINT_ROWS], Ctt[PERP_JOINT_ROWS];
  for (int i = 0; i < model->n_joints; i++) {
    const perp_joint *joint = &model->joint[i];
    if (joint->plugin == NULL || joint->plugin->at_time == NULL) continue;
    memset(Ctt, 0, sizeof Ctt);
    perp_element_states(model, eval, NULL, joint->n_bodies, joint->body, body);
    joint->plugin->at_time(joint->opts, model->dim, joint->n_bodies, body, eval->t, C, NULL, NULL,
                           Ctt);
    for (int scalar = 0; scalar < joint->n_scalars; scalar++)
      gamma[joint->row + scalar] -= Ctt[scalar];
  }
}
