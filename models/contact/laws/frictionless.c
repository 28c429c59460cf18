/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact without friction: one row a contact,
 *
 *      0 <= lambda_n  perp  n . u+ + bias >= 0
 *
 * (STAR 2012, eq. 38, 44 and section 3.1.5; Vondrak 2005, eq. 6.37; Cline 2002, section 2.6.)  A
 * pure LCP with A = J_n H J_n' symmetric positive semidefinite: every solver serves it. */
#include "models/contact/laws/contact_solver.h"

static int frictionless_rows(int dim)
{
  (void)dim;
  return 1;
}

static perp_status frictionless_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  (void)ctx, (void)opts, (void)dim, (void)lcp;
  return PERP_OK;
}

static perp_status frictionless_create(perp_ctx *ctx, const perp_contact_setup *setup,
                                       const void *opts, void **ws)
{
  (void)opts;
  return perp_contact_solver_new(ctx, setup, "frictionless", sizeof(perp_contact_solver), ws);
}

static perp_status frictionless_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                                      double *impulse, double *slip, perp_contact_count *count)
{
  perp_lcp p;
  (void)slip;
  PERP_TRY(perp_contact_solver_rows(ctx, ws, island, 1, &p));
  return perp_contact_solver_answer(ctx, ws, &p, island, impulse, count);
}

const perp_contact_desc perp_contact_frictionless = {
  .d = { .name = "frictionless",
         .summary = "Normal impulses only",
         .reference = "STAR 2012, section 3.1.5; Cline 2002, section 2.6",
         .equation = "0 <= lambda_n _|_ n . u+ + bias >= 0" },
  .rows = frictionless_rows,
  .fits = frictionless_fits,
  .create = frictionless_create,
  .solve = frictionless_solve,
  .observe = perp_contact_solver_observe,
  .destroy = perp_contact_solver_free,
};
