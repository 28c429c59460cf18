/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The circular Coulomb cone itself,
 *
 *      |lambda_t| <= mu lambda_n,   u_t+ = 0  or  lambda_t = -mu lambda_n u_t+ / |u_t+|
 *
 * (STAR 2012, section 3.1.4): isotropic, no approximation, a nonlinear complementarity problem for
 * the solvers that take cones (PERP_LCP_CONE).  In the plane a cone is an interval, the model the
 * same as `box`, and solvers for friction rows serve it (PERP_LCP_FRICTION).
 *
 * Couples against rolling are a circle, too, that against spinning an interval.
 *
 * The cone: STAR 2012, eq. 4 and 5, Vondrak 2005, eq. 6.39; of impulses, by maximal dissipation:
 * STAR 2012, eq. 21 and 40. */
#include "models/contact/laws/contact_solver.h"

static int cone_rows(int dim)
{
  return dim;
}

static perp_status cone_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  (void)opts;
  if (dim == 2 && lcp->caps & PERP_LCP_FRICTION) return PERP_OK;
  if (!(lcp->caps & PERP_LCP_CONE))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact cone needs an LCP solver for circular cones (block-gs, pgs, "
                     "staggered, ...): '%s' does not support them; use --contact %s with it",
                     lcp->name, lcp->caps & PERP_LCP_FRICTION ? "box" : "polyhedral");
  return PERP_OK;
}

static perp_status cone_create(perp_ctx *ctx, const perp_contact_setup *setup, const void *opts,
                               void **ws)
{
  (void)opts;
  return perp_contact_solver_new(ctx, setup, "cone", sizeof(perp_contact_solver), ws);
}

static perp_status cone_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                              double *impulse, double *slip, perp_contact_count *count)
{
  perp_contact_solver *j = ws;
  const int r = j->setup.dim;
  perp_lcp p;
  (void)slip;
  PERP_TRY(perp_contact_solver_rows(ctx, j, island, r, &p));
  if (r == 3) {
    const int contacts = r * island->nc;
    for (int i = 0; i < contacts; i++) j->cone[i] = i % r == 1;
    for (int i = contacts; i < p.n; i++)
      j->cone[i] = island->row_of != NULL && island->row_pair[i - contacts];
    p.cone = j->cone;
  }
  return perp_contact_solver_answer(ctx, j, &p, island, impulse, count);
}

const perp_contact_desc perp_contact_cone = {
  .d = { .name = "cone",
         .summary = "Circular Coulomb cone, for LCP solvers that support cones",
         .reference = "STAR 2012, section 3.1.4",
         .equation = "|lambda_t| <= mu lambda_n, lambda_t opposed to u_t+",
         .caps = PERP_CONTACT_FRICTION | PERP_CONTACT_CONE | PERP_CONTACT_COUPLES },
  .rows = cone_rows,
  .fits = cone_fits,
  .create = cone_create,
  .solve = cone_solve,
  .observe = perp_contact_solver_observe,
  .destroy = perp_contact_solver_free,
};
