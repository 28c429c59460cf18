/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a surface may say. */
#include "models/shapes/shapes_private.h"

perp_status perp_restitution_check(perp_ctx *ctx, double e, const char *who)
{
  if (e >= 0 && e <= 1) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_ARG, "%s: restitution must be in [0, 1]: got %g", who, e);
}

perp_status perp_surface_check(perp_ctx *ctx, int dim, perp_surface *s, const char *who)
{
  if (isnan(s->mu_dynamic)) s->mu_dynamic = s->mu;
  if (!(s->mu >= 0) || !isfinite(s->mu) || !(s->mu_dynamic >= 0) || s->mu_dynamic > s->mu)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: friction needs 0 <= mu_dynamic <= mu: got mu = %g, mu_dynamic = %g", who,
                     s->mu, s->mu_dynamic);
  if (!(s->torsion >= 0) || !isfinite(s->torsion) || !(s->rolling >= 0) || !isfinite(s->rolling))
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "%s: torsion and rolling are lengths and must be >= 0 m: got torsion = %g, rolling = %g",
        who, s->torsion, s->rolling);
  if (dim == 2 && s->torsion > 0)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: torsion is friction about the contact normal, which does not exist in "
                     "the plane: leave it out",
                     who);
  if (s->material < 0 || s->material > PERP_MATERIALS_MAX)
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "%s: materials are numbered from 1 to %d, 0 is no material: got %d", who,
                     PERP_MATERIALS_MAX, s->material);
  return perp_restitution_check(ctx, s->restitution, who);
}
