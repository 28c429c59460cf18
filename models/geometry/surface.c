/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a surface may say. */
#include "models/geometry/shapes_private.h"

perp_status perp_restitution_check(perp_ctx *ctx, double e, const char *who)
{
  if (e >= 0 && e <= 1) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: restitution must be in [0, 1]: got %g", who, e);
}

perp_status perp_surface_check(perp_ctx *ctx, int dim, perp_surface *surface, const char *who)
{
  if (isnan(surface->mu_dynamic)) surface->mu_dynamic = surface->mu;
  if (!(surface->mu >= 0) || !isfinite(surface->mu) || !(surface->mu_dynamic >= 0) ||
      surface->mu_dynamic > surface->mu)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: friction needs 0 <= mu_dynamic <= mu: got mu = %g, mu_dynamic = %g", who,
                     surface->mu, surface->mu_dynamic);
  if (surface->mu_across != 0) {
    if (!(surface->mu_across > 0) || !isfinite(surface->mu_across) || !(surface->mu > 0))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: anisotropic friction needs mu > 0 and mu_across > 0: got mu = %g, "
                       "mu_across = %g; use a small number instead of 0",
                       who, surface->mu, surface->mu_across);
    if (dim == 2)
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: mu_across needs space: the plane has one direction of friction", who);
    if (surface->mu_dynamic != surface->mu)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "%s: anisotropic friction has no mu_dynamic of its own: got mu = %g, "
                       "mu_dynamic = %g; leave out mu_dynamic",
                       who, surface->mu, surface->mu_dynamic);
    const double *d = surface->along, length = sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
    if (!(length > 0) || !isfinite(length))
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "%s: mu_across needs the direction `along` in which mu holds: got [%g, %g, "
                       "%g]; [1, 0, 0] is the x axis of the shape",
                       who, d[0], d[1], d[2]);
  }
  if (!(surface->torsion >= 0) || !isfinite(surface->torsion) || !(surface->rolling >= 0) ||
      !isfinite(surface->rolling))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: torsion and rolling are lengths and must be >= 0 m: got torsion = %g, rolling = %g",
        who, surface->torsion, surface->rolling);
  if (dim == 2 && surface->torsion > 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: torsion is friction about the contact normal, which does not exist in "
                     "the plane: leave it out",
                     who);
  if (surface->material < 0 || surface->material > PERP_MATERIALS_MAX)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: materials are numbered from 1 to %d, 0 is no material: got %d", who,
                     PERP_MATERIALS_MAX, surface->material);
  return perp_restitution_check(ctx, surface->restitution, who);
}
