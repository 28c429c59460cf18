/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States and reports of an equivalent model in terms of the given one. */
#include "models/formulations/equivalent_private.h"

#include <stdlib.h>
#include <string.h>

perp_model *perp_equivalent_model(const perp_equivalent *e)
{
  return e->model;
}

int perp_equivalent_body(const perp_equivalent *e, int there)
{
  return there < 0 ? there : e->body[there];
}

int perp_equivalent_joint(const perp_equivalent *e, int there)
{
  return there < 0 ? there : e->joint[there];
}

/* The reflection is its own inverse. */
static void mirror_coordinates(const perp_equivalent *e, double *q, double *v)
{
  if (!e->mirrored) return;
  q[0] = -q[0];
  v[0] = -v[0];
  if (e->given->dim == 2) {
    q[2] = -q[2];
    v[2] = -v[2];
    return;
  }
  q[5] = -q[5], q[6] = -q[6];
  v[4] = -v[4], v[5] = -v[5];
}

void perp_equivalent_there(const perp_equivalent *e, const double *q, const double *v,
                           double *q_there, double *v_there)
{
  const int nq = e->given->nqb, nv = e->given->nvb;
  for (int i = 0; i < e->given->n_bodies; i++) {
    double *qi = q_there + nq * i, *vi = v_there + nv * i;
    memcpy(qi, q + nq * e->body[i], (size_t)nq * sizeof *q);
    memcpy(vi, v + nv * e->body[i], (size_t)nv * sizeof *v);
    mirror_coordinates(e, qi, vi);
  }
}

void perp_equivalent_back(const perp_equivalent *e, const double *q_there, const double *v_there,
                          double *q, double *v)
{
  const int nq = e->given->nqb, nv = e->given->nvb;
  for (int i = 0; i < e->given->n_bodies; i++) {
    double *qi = q + nq * e->body[i], *vi = v + nv * e->body[i];
    memcpy(qi, q_there + nq * i, (size_t)nq * sizeof *q);
    memcpy(vi, v_there + nv * i, (size_t)nv * sizeof *v);
    mirror_coordinates(e, qi, vi);
  }
}

void perp_equivalent_multipliers(const perp_equivalent *e, const double *lambda_there,
                                 double *lambda)
{
  for (int i = 0; i < e->given->n_joints; i++) {
    int rows;
    const int from = perp_model_joint_row(e->model, i, &rows),
              to = perp_model_joint_row(e->given, e->joint[i], &rows);
    for (int k = 0; k < rows; k++)
      lambda[to + k] = e->mirrored ? (double)NAN : lambda_there[from + k];
  }
}

/* ---- what a step reports ---- */

static perp_status equivalent_room(perp_ctx *ctx, perp_equivalent *e, int contacts)
{
  if (contacts <= e->cap) return PERP_OK;
  const int cap = 2 * contacts;
  perp_contact *contact = realloc(e->contact, (size_t)cap * sizeof *contact);
  if (contact != NULL) e->contact = contact;
  double *impulse = realloc(e->impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) e->impulse = impulse;
  if (contact == NULL || impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the contacts of an equivalent model");
  e->cap = cap;
  return PERP_OK;
}

/* Shape a of a contact is the one with the lower number, so that its sides may change. */
static void equivalent_contact(const perp_equivalent *e, const perp_contact *there,
                               const double *impulse_there, perp_contact *c, double *impulse)
{
  *c = *there;
  const int a = e->shape[there->shape[0]], b = e->shape[there->shape[1]];
  const bool swapped = a > b;
  for (int side = 0; side < 2; side++) {
    const int from = swapped ? 1 - side : side;
    c->shape[side] = e->shape[there->shape[from]];
    c->body[side] = perp_equivalent_body(e, there->body[from]);
    memcpy(c->p[side], there->p[from], sizeof c->p[side]);
    if (e->mirrored) c->p[side][0] = -c->p[side][0];
  }
  c->id = (uint64_t)c->shape[0] << 44 | (uint64_t)c->shape[1] << 24 | (there->id & 0xffffff);
  for (int k = 0; k < 3; k++) {
    const double sign = (swapped ? -1 : 1) * (e->mirrored && k == 0 ? -1 : 1);
    c->n[k] = sign * there->n[k];
    if (impulse != NULL) impulse[k] = sign * impulse_there[k];
  }
}

perp_status perp_equivalent_info(perp_ctx *ctx, perp_equivalent *e, perp_step_info *info)
{
  PERP_TRY(equivalent_room(ctx, e, info->n_contacts));
  for (int i = 0; info->contacts != NULL && i < info->n_contacts; i++)
    equivalent_contact(e, &info->contacts[i], info->impulse != NULL ? info->impulse + 3 * i : NULL,
                       &e->contact[i], info->impulse != NULL ? e->impulse + 3 * i : NULL);
  if (info->contacts != NULL) info->contacts = e->contact;
  if (info->impulse != NULL) info->impulse = e->impulse;
  if (info->lambda != NULL && e->mirrored) {
    info->lambda = NULL;
  } else if (info->lambda != NULL) {
    perp_equivalent_multipliers(e, info->lambda, e->lambda);
    info->lambda = e->lambda;
  }
  if (info->drive != NULL) {
    for (int i = 0; i < e->given->n_drives; i++) e->drive[i] = e->flips[i] * info->drive[i];
    info->drive = e->drive;
  }
  for (int i = 0; i < info->n_releases; i++) {
    e->release[i] = info->release[i];
    e->release[i].joint = e->joint[info->release[i].joint];
  }
  if (info->release != NULL) info->release = e->release;
  for (int i = 0; info->released != NULL && i < e->given->n_joints; i++)
    e->released[e->joint[i]] = info->released[i];
  if (info->released != NULL) info->released = e->released;
  return PERP_OK;
}
