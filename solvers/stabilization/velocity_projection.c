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
 * below tol. */
#include "solvers/stabilization/stab_private.h"

struct opts {
  double tol;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-13, 0, HUGE_VAL, PERP_OPEN_MAX, "m/s",
            "Velocity error max |J v| below which no correction is made."),
  PERP_OPTIONS_END
};

struct ws {
  struct stab_projection p; /* first */
  struct opts opt;
};

static perp_status velocity_projection_create(perp_ctx *ctx, const perp_stab_sys *sys,
                                              const void *opts, void **ws)
{
  struct ws like = { .opt = *(const struct opts *)opts };
  return perp_stab_create(ctx, "velocity-projection", sys, &like, sizeof like, ws);
}

static perp_status velocity_projection_post_step(void *ws, double t, double *q, double *v,
                                                 perp_stats *stats)
{
  struct ws *work = ws;
  return perp_stab_project_velocity(&work->p, t, q, v, work->opt.tol, stats);
}

static void velocity_projection_contacts(const void *ws, perp_stab_contacts *how)
{
  const struct ws *work = ws;
  *how = (perp_stab_contacts){ .velocity = true, .tol_v = work->opt.tol };
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
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_STAB_PROJECTS },
  .create = velocity_projection_create,
  .post_step = velocity_projection_post_step,
  .contacts = velocity_projection_contacts,
  .destroy = free,
  .projects = velocity_projection_projects,
};
