/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocity projection: after each step the velocity is moved to the nearest one, in the norm of M,
 * that satisfies the constraints at the new position,
 *
 *      M dv = J' lambda,  J dv = -(J v + dC/dt),  v <- v + dv.
 *
 * Nearest means that kinetic energy is never gained.  The position error is left as it is: it grows
 * with the integration error only, one order slower than without.  (The velocity half of
 * post-stabilization, Cline 2002, section 3.3.)  Closed contacts that approach are stopped
 * likewise, one-sided (post.c).  Cost: one factorization and solve a step, none when the error is
 * below TOL. */
#include "solvers/stabilization/stab_private.h"

/* m/s: velocity error below which nothing is corrected; rounding */
static const double TOL = 1e-13;

static perp_status velocity_projection_create(perp_ctx *ctx, const perp_stab_sys *sys,
                                              const void *opts, void **ws)
{
  struct stab_projection like = { 0 };
  (void)opts;
  return perp_stab_create(ctx, "velocity-projection", sys, &like, sizeof like, ws);
}

static perp_status velocity_projection_post_step(void *ws, double t, double *q, double *v,
                                                 perp_stats *stats)
{
  return perp_stab_project_velocity(ws, t, q, v, TOL, stats);
}

static void velocity_projection_contacts(const void *ws, perp_stab_contacts *how)
{
  (void)ws;
  *how = (perp_stab_contacts){ .velocity = true, .tol_v = TOL };
}

static bool velocity_projection_projects(const void *ws, perp_stab_passes *passes)
{
  (void)ws;
  *passes = (perp_stab_passes){ .velocity = true };
  return true;
}

const perp_stab_desc perp_stab_velocity_projection = {
  .d = { .name = "velocity-projection",
         .summary = "Velocity projection onto J v = 0 after each step, positions unchanged",
         .reference = "Cline 2002, section 3.3 (velocity part)",
         .equation = "M dv = J' lambda,  J dv = -J v",
         .caps = PERP_STAB_PROJECTS },
  .create = velocity_projection_create,
  .post_step = velocity_projection_post_step,
  .contacts = velocity_projection_contacts,
  .destroy = free,
  .projects = velocity_projection_projects,
};
