/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxed friction: a friction pyramid whose axes are the tangents t1, t2,
 *
 *      |lambda_k| <= mu lambda_n
 *
 *      t_k . u+ <= 0 where lambda_k is at its upper limit, >= 0 at its lower one, else = 0
 *
 * for k = 1, 2 (Vondrak 2005, section 6.5.3; ODE's pyramid).  Each axis obeys a Coulomb law of its
 * own: exact in the plane and for sliding along an axis, off by up to the factor sqrt(2) between
 * the axes: sliding at 45 degrees to both of them, each component is mu lambda_n, and the
 * resistance is sqrt(2) mu lambda_n.
 *
 * limits = refreshed: the limits follow the normal multipliers of the same solution; the solver
 * serves such rows itself (PERP_LCP_FRICTION).  limits = fixed: two passes, first without friction,
 * then with the limits mu lambda_n of the first pass (Vondrak 2005, section 6.5.3); a convex
 * problem, solved by whatever serves finite bounds, but friction sees normal forces that friction
 * itself has not changed yet.
 *
 * Couples against spinning and rolling have one row each, or two, bounded alike.
 *
 * Equations: Vondrak 2005, eq. 6.42 and 6.43 (fixed limits); on impacts Vondrak 2005, eq. 6.46. */
#include "models/contact/laws/contact_solver.h"

#include <math.h>

enum { REFRESHED, FIXED };
static const char *const limits_names[] = { "refreshed", "fixed", NULL };

struct opts {
  int limits;
};
static const perp_opt options[] = {
  PERP_ENUM(struct opts, limits, REFRESHED, limits_names,
            "Normal forces that bound friction. refreshed: those of the same solution. fixed: "
            "those of a first solution without friction."),
  PERP_OPTIONS_END
};

struct ws {
  perp_contact_solver j; /* first */
  struct opts o;
};

static int box_rows(int dim)
{
  return dim;
}

static perp_status box_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  const struct opts *chosen = opts;
  (void)dim;
  if (chosen->limits == REFRESHED && !(lcp->caps & PERP_LCP_FRICTION))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact box needs an LCP solver for friction rows: '%s' does not support "
                     "them; use --contact %s with it, or --lcp dantzig",
                     lcp->name,
                     lcp->caps & PERP_LCP_BOX ? "box:limits=fixed or polyhedral" : "polyhedral");
  if (chosen->limits == FIXED && !(lcp->caps & PERP_LCP_BOX))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact box:limits=fixed needs an LCP solver for finite bounds: '%s' does "
                     "not support them; use --contact polyhedral with it, or --lcp dantzig",
                     lcp->name);
  return PERP_OK;
}

static perp_status box_create(perp_ctx *ctx, const perp_contact_setup *setup, const void *opts,
                              void **ws)
{
  PERP_TRY(perp_contact_solver_new(ctx, setup, "box", sizeof(struct ws), ws));
  ((struct ws *)*ws)->o = *(const struct opts *)opts;
  return PERP_OK;
}

static perp_status box_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                             double *impulse, double *slip, perp_contact_count *count)
{
  struct ws *w = ws;
  perp_contact_solver *j = &w->j;
  const int r = j->setup.dim;
  perp_lcp p;
  (void)slip;
  PERP_TRY(perp_contact_solver_rows(ctx, j, island, r, &p));
  if (w->o.limits == FIXED) {
    p.frozen = true;
    /* the guess has friction, the first pass has none */
    for (int i = 0; i < p.n; i++) j->lambda[i] = j->fric_of[i] < 0 ? impulse[i] : 0;
    PERP_TRY(perp_contact_solver_answer(ctx, j, &p, island, j->lambda, count));
    for (int i = 0; i < p.n; i++) {
      if (j->fric_of[i] < 0) continue;
      j->hi[i] = j->mu[i] * fmax(j->lambda[j->fric_of[i]], 0);
      j->lo[i] = -j->hi[i];
    }
  }
  return perp_contact_solver_answer(ctx, j, &p, island, impulse, count);
}

const perp_contact_desc perp_contact_box = {
  .d = { .name = "box",
         .summary = "Friction pyramid: each tangential component is bounded by mu lambda_n",
         .reference = "Vondrak 2005, section 6.5.3",
         .equation = "|lambda_k| <= mu lambda_n along each of two tangents",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_CONTACT_FRICTION | PERP_CONTACT_BOX | PERP_CONTACT_COUPLES },
  .rows = box_rows,
  .fits = box_fits,
  .create = box_create,
  .solve = box_solve,
  .observe = perp_contact_solver_observe,
  .destroy = perp_contact_solver_free,
};
