/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all formulations with contacts make of a model and its parts. */
#include "models/contact/step/contacts.h"

#include "models/contact/step/islands.h"

static double reach_of(const perp_shape_def *s, int dim)
{
  double offset = sqrt(perp_dot(dim, s->x, s->x)), most = 0;
  switch (s->kind) {
  case PERP_SHAPE_SPHERE:
    return offset + s->radius;
  case PERP_SHAPE_CAPSULE:
    return offset + s->radius + 0.5 * s->length;
  case PERP_SHAPE_CYLINDER:
    return offset + hypot(s->radius, 0.5 * s->length);
  case PERP_SHAPE_CONE:
    return offset + fmax(hypot(s->radius, 0.25 * s->length), 0.75 * s->length);
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_ELLIPSOID:
    return offset + sqrt(perp_dot(dim, s->half, s->half));
  case PERP_SHAPE_POLYTOPE:
    for (int i = 0; i < s->n_vertices; i++)
      most = fmax(most, perp_dot(dim, s->vertices + dim * i, s->vertices + dim * i));
    return offset + sqrt(most);
  case PERP_SHAPE_MESH: /* of the world */
  case PERP_SHAPE_HEIGHT_FIELD:
  case PERP_SHAPE_PLANE:
    break;
  }
  return offset;
}

void perp_contacts_reach(const perp_model *model, double *reach)
{
  for (int b = 0; b < model->n_bodies; b++) reach[b] = 0;
  for (int i = 0; i < model->n_shapes; i++) {
    const perp_shape_def *s = &model->shape_def[i];
    if (s->body >= 0) reach[s->body] = fmax(reach[s->body], reach_of(s, model->dim));
  }
}

/* Can the solver serve what all islands have, whatever their contacts are? */
static perp_status contacts_parts_serves(perp_ctx *ctx, const perp_model *model,
                                         const perp_parts *parts, bool rows)
{
  const perp_desc *lcp = parts->lcp.d;
  const perp_contact_desc *kind = (const perp_contact_desc *)parts->contact.d;
  PERP_TRY(perp_lcp_unstructured(ctx, lcp, "contacts"));
  if (rows && model->n_joints > 0 && !(lcp->caps & PERP_LCP_FREE))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "joints as rows need an LCP solver for free rows: '%s' does not support them; "
                     "use joints=eliminate with it, or --lcp dantzig",
                     lcp->name);
  return kind->fits(ctx, parts->contact.opts, model->dim, lcp);
}

perp_status perp_contacts_islands(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                                  const perp_contact_setup *setup, int threads, bool rows,
                                  perp_islands **out)
{
  const perp_contact_desc *kind = (const perp_contact_desc *)parts->contact.d;
  perp_contact_setup full = *setup;
  full.dim = model->dim;
  full.lcp = &parts->lcp;
  *out = NULL;
  PERP_TRY(contacts_parts_serves(ctx, model, parts, rows));
  return perp_islands_create(ctx, model, kind, parts->contact.opts, &full, threads, rows, out);
}
