/* SPDX-License-Identifier: GPL-3.0-or-later */
/* States and reports of an equivalent model in terms of the given one. */
#include "models/formulations/equivalent_private.h"

#include <stdlib.h>
#include <string.h>

perp_model *perp_equivalent_model(const perp_equivalent *equivalent)
{
  return equivalent->model;
}

int perp_equivalent_body(const perp_equivalent *equivalent, int there)
{
  return there < 0 ? there : equivalent->body[there];
}

int perp_equivalent_joint(const perp_equivalent *equivalent, int there)
{
  return there < 0 ? there : equivalent->joint[there];
}

/* The reflection is its own inverse. */
static void mirror_coordinates(const perp_equivalent *equivalent, double *q, double *v)
{
  if (!equivalent->mirrored) return;
  q[0] = -q[0];
  v[0] = -v[0];
  if (equivalent->given->dim == 2) {
    q[2] = -q[2];
    v[2] = -v[2];
    return;
  }
  q[5] = -q[5], q[6] = -q[6];
  v[4] = -v[4], v[5] = -v[5];
}

void perp_equivalent_there(const perp_equivalent *equivalent, const double *q, const double *v,
                           double *q_there, double *v_there)
{
  const int nq = equivalent->given->nqb, nv = equivalent->given->nvb;
  for (int body = 0; body < equivalent->given->n_bodies; body++) {
    double *qi = q_there + nq * body, *vi = v_there + nv * body;
    memcpy(qi, q + nq * equivalent->body[body], (size_t)nq * sizeof *q);
    memcpy(vi, v + nv * equivalent->body[body], (size_t)nv * sizeof *v);
    mirror_coordinates(equivalent, qi, vi);
  }
}

void perp_equivalent_back(const perp_equivalent *equivalent, const double *q_there,
                          const double *v_there, double *q, double *v)
{
  const int nq = equivalent->given->nqb, nv = equivalent->given->nvb;
  for (int body = 0; body < equivalent->given->n_bodies; body++) {
    double *qi = q + nq * equivalent->body[body], *vi = v + nv * equivalent->body[body];
    memcpy(qi, q_there + nq * body, (size_t)nq * sizeof *q);
    memcpy(vi, v_there + nv * body, (size_t)nv * sizeof *v);
    mirror_coordinates(equivalent, qi, vi);
  }
}

void perp_equivalent_multipliers(const perp_equivalent *equivalent, const double *lambda_there,
                                 double *lambda)
{
  for (int joint = 0; joint < equivalent->given->n_joints; joint++) {
    int rows;
    const int from = perp_model_joint_row(equivalent->model, joint, &rows),
              to = perp_model_joint_row(equivalent->given, equivalent->joint[joint], &rows);
    for (int row = 0; row < rows; row++)
      lambda[to + row] = equivalent->mirrored ? (double)NAN : lambda_there[from + row];
  }
}

/* ---- what a step reports ---- */

static perp_status equivalent_room(perp_ctx *ctx, perp_equivalent *equivalent, int contacts)
{
  if (contacts <= equivalent->cap) return PERP_OK;
  const int cap = 2 * contacts;
  perp_contact *contact = realloc(equivalent->contact, (size_t)cap * sizeof *contact);
  if (contact != NULL) equivalent->contact = contact;
  double *impulse = realloc(equivalent->impulse, 3 * (size_t)cap * sizeof *impulse);
  if (impulse != NULL) equivalent->impulse = impulse;
  if (contact == NULL || impulse == NULL)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for the contacts of an equivalent model");
  equivalent->cap = cap;
  return PERP_OK;
}

/* Shape a of a contact is the one with the lower number, so that its sides may change. */
static void equivalent_contact(const perp_equivalent *equivalent, const perp_contact *there,
                               const double *impulse_there, perp_contact *contact, double *impulse)
{
  *contact = *there;
  const int a = equivalent->shape[there->shape[0]], b = equivalent->shape[there->shape[1]];
  const bool swapped = a > b;
  for (int side = 0; side < 2; side++) {
    const int from = swapped ? 1 - side : side;
    contact->shape[side] = equivalent->shape[there->shape[from]];
    contact->body[side] = perp_equivalent_body(equivalent, there->body[from]);
    memcpy(contact->p[side], there->p[from], sizeof contact->p[side]);
    if (equivalent->mirrored) contact->p[side][0] = -contact->p[side][0];
  }
  contact->id = (uint64_t)contact->shape[0] << 44 | (uint64_t)contact->shape[1] << 24 |
                (there->id & 0xffffff);
  for (int k = 0; k < 3; k++) {
    const double sign = (swapped ? -1 : 1) * (equivalent->mirrored && k == 0 ? -1 : 1);
    contact->n[k] = sign * there->n[k];
    if (impulse != NULL) impulse[k] = sign * impulse_there[k];
  }
}

/* The lists of contacts, multipliers and forces of drives of `end`: of the step, or of its end. */
static void equivalent_lists(perp_equivalent *equivalent, bool end, int from, int n,
                             const perp_contact **contacts, const double **impulse,
                             const double **lambda, const double **drive)
{
  perp_contact *contact = n > 0 ? equivalent->contact + from : NULL;
  double *of_contacts = n > 0 ? equivalent->impulse + 3 * (ptrdiff_t)from : NULL,
         *of_rows = equivalent->lambda + (end ? equivalent->given->m : 0),
         *of_drives = equivalent->drive + (end ? equivalent->given->n_drives : 0);
  for (int i = 0; *contacts != NULL && i < n; i++)
    equivalent_contact(equivalent, *contacts + i, *impulse != NULL ? *impulse + 3 * i : NULL,
                       contact + i, *impulse != NULL ? of_contacts + 3 * i : NULL);
  if (*contacts != NULL) *contacts = contact;
  if (*impulse != NULL) *impulse = of_contacts;
  if (*lambda != NULL) {
    perp_equivalent_multipliers(equivalent, *lambda, of_rows);
    *lambda = of_rows;
  }
  for (int i = 0; *drive != NULL && i < equivalent->given->n_drives; i++)
    of_drives[i] = equivalent->flips[i] * (*drive)[i];
  if (*drive != NULL) *drive = of_drives;
}

perp_status perp_equivalent_info(perp_ctx *ctx, perp_equivalent *equivalent, perp_step_info *info)
{
  PERP_TRY(equivalent_room(ctx, equivalent, info->n_contacts + info->n_contacts_end));
  equivalent_lists(equivalent, false, 0, info->n_contacts, &info->contacts, &info->impulse,
                   &info->lambda, &info->drive);
  equivalent_lists(equivalent, true, info->n_contacts, info->n_contacts_end, &info->contacts_end,
                   &info->impulse_end, &info->lambda_end, &info->drive_end);
  if (equivalent->mirrored) info->lambda = NULL; /* NULL for the end: there is no such state */
  for (int release = 0; release < info->n_releases; release++) {
    equivalent->release[release] = info->release[release];
    equivalent->release[release].joint = equivalent->joint[info->release[release].joint];
  }
  if (info->release != NULL) info->release = equivalent->release;
  for (int joint = 0; info->released != NULL && joint < equivalent->given->n_joints; joint++)
    equivalent->released[equivalent->joint[joint]] = info->released[joint];
  if (info->released != NULL) info->released = equivalent->released;
  return PERP_OK;
}
