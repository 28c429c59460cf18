/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/velocity/velocity_control.h"

#include <stdlib.h>

static perp_status velocity_control_start(perp_ctx *ctx, void *user, double t, const double *q,
                                          const double *v)
{
  return perp_stepping_at(ctx, user, t, q, v);
}

static void velocity_control_within(void *user, double time)
{
  perp_stepping *w = user;
  if (w->contacts != NULL) perp_contacts_within(w->contacts, time);
  if (w->drives != NULL) perp_drives_within(w->drives, time);
}

static perp_status velocity_control_keep(perp_ctx *ctx, void *user, perp_step_end which)
{
  perp_stepping *w = user;
  if (w->drives != NULL) perp_drives_keep(w->drives, which);
  return w->contacts != NULL ? perp_contacts_keep(ctx, w->contacts, which) : PERP_OK;
}

static void velocity_control_put_back(void *user, perp_step_end which)
{
  perp_stepping *w = user;
  if (w->drives != NULL) perp_drives_put_back(w->drives, which);
  if (w->contacts != NULL) perp_contacts_put_back(w->contacts, which);
}

/* Gaps up to this part of the largest body are closed: rounding. */
static const double CLOSED = 1e-14;

perp_status perp_velocity_controls(perp_ctx *ctx, const perp_parts *parts, double accuracy,
                                   perp_contact_opts *contact)
{
  contact->slip = fmin(contact->slip, perp_velocity_slip(accuracy));
  contact->closed = CLOSED;
  contact->reuse = false;
  if (contact->sleep)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "tol and sleep exclude each other: sleeping bodies are not moved with the "
                     "accuracy of tol; leave out one of them");
  if (contact->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "tol and substeps = %d exclude each other: step control chooses the "
                     "sub-steps; leave out one of them",
                     contact->substeps);
  if (perp_ode_tol(&parts->ode) > 0)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "tol and the tolerance %g of the ODE method exclude each other: leave out one of them",
        perp_ode_tol(&parts->ode));
  return PERP_OK;
}

/* What begins to slide in a part has its friction of sliding in the part after that. */
static int velocity_control_behind(const perp_model *model)
{
  int behind = 1;
  for (int i = 0; i < model->n_shapes; i++)
    if (model->shape_def[i].surface.mu_dynamic < model->shape_def[i].surface.mu) behind = 2;
  for (int i = 0; i < model->surfaces.n_pairs; i++)
    if (model->surfaces.pair[i].surface.mu_dynamic < model->surfaces.pair[i].surface.mu) behind = 2;
  return behind;
}

perp_status perp_velocity_control(perp_ctx *ctx, perp_stepping *w, double accuracy, double h,
                                  perp_controlled **out)
{
  const perp_model *model = w->k.model;
  double *reach = calloc((size_t)model->n_bodies + 1, sizeof *reach);
  if (reach == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "tol: no memory");
  perp_contacts_reach(model, reach);
  const perp_controlled_sys sys = { .model = model,
                                    .user = w,
                                    .reach = reach,
                                    .behind = velocity_control_behind(model),
                                    .start = velocity_control_start,
                                    .within = velocity_control_within,
                                    .step = perp_stepping_step,
                                    .state = perp_stepping_state,
                                    .keep = velocity_control_keep,
                                    .put_back = velocity_control_put_back };
  const perp_status status = perp_controlled_create(ctx, &sys, accuracy, h, out);
  free(reach);
  return status;
}
