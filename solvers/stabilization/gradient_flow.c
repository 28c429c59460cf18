/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constraint damping as a gradient flow: the differential equation itself falls towards the
 * constraints (Ascher, Chin and Reich 1994: invariant manifolds made attractive; Yoon, Howe and
 * Greenwood 1994).  On the acceleration level, with F = M^-1 J' (J M^-1 J')^-1,
 *
 *      q' = N(q) (v - rate F C),      M v' = f + J' lambda,   J v' = -Jdot v - rate (J v + C_t),
 *
 * so that C' = -rate C and (J v)' = -rate J v to first order.  F C is steepest descent of C' (J
 * M^-1 J')^-1 C / 2 in the metric of M: of all velocities that bring C down at that rate the one of
 * least kinetic energy.  Beside Baumgarte's feedback, of second order in C, it has one gain, no
 * oscillation, and moves positions without a velocity; its eigenvalue is real, and an explicit
 * method is stable to rate h of 2 (Euler) or 2.8 (Runge-Kutta 4).  Beside projections the state is
 * not touched between steps: multistep methods keep their history, and the error control sees the
 * flow.
 *
 * It acts through the rates of positions: methods that move them by velocities alone (Lie groups,
 * symplectic ones) do not see it, and are refused.  On the velocity level the flow of positions is
 * that of the feedback J v = -rate C, which is Baumgarte's there.  Contacts have none.
 *
 * rate = 0 chooses 1 / (10 h), 1 / h on the velocity level.  Cost: a solve with the factor of the
 * evaluation. */
#include "solvers/stabilization/stab_private.h"

struct opts {
  double rate;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, rate, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "Rate at which constraint errors fall. 0: 1/(10 h), 1/h on the velocity level."),
  PERP_OPTIONS_END
};

struct ws {
  double rate;
  int m;
};

static void flow_no_arrays(void *ws, perp_arena *arena)
{
  (void)ws, (void)arena;
}

static perp_status flow_create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts, void **ws)
{
  struct ws like = { ((const struct opts *)opts)->rate, sys->m };
  *ws = NULL;
  if (sys->m < 0)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "gradient-flow: the number of rows must not be negative: got m = %d", sys->m);
  return perp_workspace_create(ctx, "gradient-flow", &like, sizeof like, flow_no_arrays, ws);
}

static double flow_rate(const void *ws, double h)
{
  const struct ws *work = ws;
  return work->rate > 0 ? work->rate : 1 / (10 * h);
}

static void flow_rhs(void *ws, perp_level level, double h, const double *C, const double *Cdot,
                     double *rhs)
{
  const struct ws *work = ws;
  const bool velocity = level == PERP_LEVEL_VELOCITY;
  const double rate = velocity && work->rate == 0 ? 1 / h : flow_rate(ws, h);
  for (int i = 0; i < work->m; i++) rhs[i] -= rate * (velocity ? C[i] : Cdot[i]);
}

const perp_stab_desc perp_stab_gradient_flow = {
  .d = { .name = "gradient-flow",
         .summary = "Constraint damping: positions and velocities fall to the constraints along a "
                    "gradient flow",
         .reference = "Ascher, Chin and Reich 1994; Yoon, Howe and Greenwood 1994",
         .equation = "q' = N (v - rate M^-1 J' (J M^-1 J')^-1 C),  J v' = -Jdot v - rate J v",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_STAB_FEEDBACK },
  .create = flow_create,
  .rhs = flow_rhs,
  .destroy = free,
  .flow = flow_rate,
};
