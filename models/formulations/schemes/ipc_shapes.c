/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which models incremental potential contact serves, and its thinner shapes. */
#include "models/formulations/schemes/ipc_shapes.h"

static bool ipc_has_core(const perp_shape *shape)
{
  switch (shape->kind) {
  case PERP_SHAPE_SPHERE:
  case PERP_SHAPE_CAPSULE:
    return true;
  case PERP_SHAPE_BOX:
  case PERP_SHAPE_POLYTOPE:
    return shape->hull->n_edges <= PERP_HULL_SMALL_EDGES;
  case PERP_SHAPE_PLANE:
    return shape->body < 0;
  default:
    return false;
  }
}

perp_status perp_ipc_serves(perp_ctx *ctx, const perp_model *model)
{
  char name[PERP_LABEL_MAX];
  for (int shape = 0; shape < model->n_shapes; shape++) {
    const perp_surface *surface = &model->shape_def[shape].surface;
    perp_model_label(name, "shape", shape, model->shape_def[shape].name);
    if (!ipc_has_core(&model->shape[shape]))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation ipc: %s has no distances between vertices, edges and faces; "
                       "spheres, capsules, boxes, polytopes of up to %d edges and planes of the "
                       "world have; use --formulation velocity",
                       name, PERP_HULL_SMALL_EDGES);
    if (surface->restitution > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation ipc does not support restitution: the surface of %s has %g; "
                       "use --formulation velocity",
                       name, surface->restitution);
    if (surface->mu_dynamic != surface->mu)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation ipc has one coefficient of friction: the surface of %s has mu "
                       "= %g and mu_dynamic = %g; use --formulation velocity",
                       name, surface->mu, surface->mu_dynamic);
  }
  for (int pair = 0; pair < model->surfaces.n_pairs; pair++) {
    const perp_surface *surface = &model->surfaces.pair[pair].surface;
    if (surface->restitution > 0 || surface->mu_dynamic != surface->mu)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation ipc supports neither restitution nor mu_dynamic: the pair of "
                       "materials %d and %d has them; use --formulation velocity",
                       model->surfaces.pair[pair].a, model->surfaces.pair[pair].b);
  }
  for (int i = 0; i < model->m; i++)
    if (model->soft.softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation ipc does not support compliant joints: row %d has the softness "
                       "%g; use --formulation velocity",
                       i, model->soft.softness[i]);
  return PERP_OK;
}

perp_status perp_ipc_thin(perp_ctx *ctx, perp_ipc *ipc, int i)
{
  const perp_model *model = ipc->s.model;
  perp_shape *shape = &ipc->shape[i];
  const double by = 0.5 * ipc->inset;
  char name[PERP_LABEL_MAX];
  double half[3], least = shape->radius;
  perp_model_label(name, "shape", i, model->shape_def[i].name);
  if (shape->kind == PERP_SHAPE_PLANE) {
    perp_along(shape->c, -by, shape->axis, shape->c);
    return PERP_OK;
  }
  if (shape->kind == PERP_SHAPE_POLYTOPE)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "formulation ipc: inset makes spheres, capsules, boxes and planes thinner, and "
        "%s is a polytope; use inset=0 and a scene with gaps",
        name);
  if (shape->kind == PERP_SHAPE_BOX) {
    least = HUGE_VAL;
    for (int k = 0; k < model->dim; k++) least = fmin(least, shape->half[k]);
  }
  if (!(least > by))
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "formulation ipc: inset=%g and dhat=%g m leave nothing of %s, which reaches %g m from its "
        "middle; use an inset below %g",
        ipc->o.inset, ipc->dhat, name, least, 2 * least / ipc->dhat);
  if (shape->kind != PERP_SHAPE_BOX) {
    shape->radius -= by;
    return PERP_OK;
  }
  for (int k = 0; k < 3; k++) half[k] = shape->half[k] = shape->half[k] - (k < model->dim ? by : 0);
  shape->hull = NULL;
  PERP_TRY(perp_hull_box(ctx, model->dim, half, name, &ipc->hull[i]));
  perp_hull_move(ipc->hull[i], shape->R, shape->c);
  shape->hull = ipc->hull[i];
  return PERP_OK;
}
