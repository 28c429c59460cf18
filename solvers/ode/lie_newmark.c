/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Newmark's method on the configuration manifold:
 *   v1 = v0 + D,   D = h ((1 - gamma) a0 + gamma a1),   a1 = a(t + h, q1, v1),
 *   q1 = q0 [+] (h v0 + h^2 ((1/2 - beta) a0 + beta a1)).
 * Sources: Newmark, J. Eng. Mech. Div. 85 (1959); for rotations, with the increment a rotation
 * vector of the body frame, Krysl and Endres, Int. J. Numer. Meth. Engng 62 (2005).
 *
 * Order 2 for gamma = 1/2, else 1.  beta = 1/4: the trapezoidal rule, A-stable.  beta = 1/6: linear
 * acceleration.  beta = 0: the positions of Verlet's method.  gamma > 1/2 damps high frequencies.
 * The rotation vector is taken as if it did not turn with the body, an error of h^3 a step.
 *
 * D is found to round-off by increments.c.  Cost: 1 + iterations derivatives.  Memory: 2 nq + 4 nv
 * numbers and those of increments.c. */
#include "solvers/ode/increments.h"

#include <string.h>

typedef struct opts {
  perp_ode_control control; /* first */
  double beta, gamma;
} opts;
static const perp_opt options[] = {
  PERP_ODE_CONTROL_OPTIONS(opts),
  PERP_REAL(opts, beta, 0.25, 0, 0.5, 0, "",
            "Share of the acceleration at the end in the position. 0.25: trapezoidal rule."),
  PERP_REAL(opts, gamma, 0.5, 0.5, 1, 0, "",
            "Share of the acceleration at the end in the velocity. 0.5: order 2; more damps high "
            "frequencies, order 1."),
  PERP_OPTIONS_END
};

struct ws {
  int nq, nv;
  double beta, gamma;
  double *qdot, *q1;
  double *v1, *a0, *a1, *dq;
  perp_ode_increments unknown;
  /* the step being made */
  const perp_ode_sys *sys;
  double t, h;
  const double *q0, *v0;
};

static void lie_newmark_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  PERP_DOUBLES(arena, work->nq, &work->qdot, &work->q1);
  PERP_DOUBLES(arena, work->nv, &work->v1, &work->a0, &work->a1, &work->dq);
  perp_ode_increments_layout(&work->unknown, work->nv, arena);
}

static perp_status lie_newmark_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts_,
                                      void **ws)
{
  const opts *chosen = opts_;
  struct ws like = { .nq = sys->nq, .nv = sys->nv, .beta = chosen->beta, .gamma = chosen->gamma };
  return perp_workspace_create(ctx, "lie-newmark", &like, sizeof like, lie_newmark_layout, ws);
}

/* q1 and v1 of an increment D, with a1 = (D / h - (1 - gamma) a0) / gamma */
static void lie_newmark_end(struct ws *work, const double *D)
{
  const double h = work->h;
  for (int i = 0; i < work->nv; i++) {
    const double a1 = (D[i] / h - (1 - work->gamma) * work->a0[i]) / work->gamma;
    work->v1[i] = work->v0[i] + D[i];
    work->dq[i] = h * (work->v0[i] + h * ((0.5 - work->beta) * work->a0[i] + work->beta * a1));
  }
  perp_ode_retract(work->sys, work->q0, work->dq, work->q1);
}

/* G = h ((1 - gamma) a0 + gamma a(t + h, q1(D), v0 + D)), the map whose fixed point is the step */
static perp_ode_answer lie_newmark_image(void *user, const double *D, double *G)
{
  struct ws *work = user;
  lie_newmark_end(work, D);
  const perp_ode_answer answer = perp_ode_eval(
      work->sys, work->t + work->h, work->h, work->q1, work->v1, true,
      perp_ode_unwanted(work->sys, work->qdot), work->a1, work->unknown.stats);
  for (int i = 0; i < work->nv; i++)
    G[i] = work->h * ((1 - work->gamma) * work->a0[i] + work->gamma * work->a1[i]);
  return answer;
}

static perp_ode_answer lie_newmark_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                        double *q, double *v, double *err, perp_stats *stats)
{
  (void)err;
  struct ws *work = ws;
  work->sys = sys;
  work->t = t;
  work->h = h;
  work->q0 = q;
  work->v0 = v;
  work->unknown.image = lie_newmark_image;
  work->unknown.user = work;
  perp_ode_increments_start(&work->unknown, sys, h, q, v, stats);
  perp_ode_answer answer = perp_ode_eval(sys, t, h, q, v, false, perp_ode_unwanted(sys, work->qdot),
                                         work->a0, stats);
  if (answer != PERP_ODE_OK) return answer;
  for (int i = 0; i < work->nv; i++) work->unknown.D[i] = h * work->a0[i]; /* first guess */
  answer = perp_ode_increments_solve(&work->unknown);
  if (answer != PERP_ODE_OK) return answer;
  lie_newmark_end(work, work->unknown.D);
  memcpy(q, work->q1, (size_t)work->nq * sizeof *q);
  memcpy(v, work->v1, (size_t)work->nv * sizeof *v);
  return PERP_ODE_OK;
}

const perp_ode_desc perp_ode_lie_newmark = {
  .d = { .name = "lie-newmark",
         .summary =
             "Newmark's method on the configuration manifold, implicit, order 2 (trapezoidal "
             "rule), solved to round-off",
         .reference = "Newmark 1959; Krysl and Endres 2005",
         .equation =
             "v+ = v + h ((1 - gamma) a + gamma a+), q+ = q [+] (h v + h^2 ((1/2 - beta) a + "
             "beta a+))",
         PERP_OPTIONS(options, opts),
         .caps = PERP_ODE_IMPLICIT | PERP_ODE_SECOND_ORDER },
  .order = 2,
  .stages = 0,
  .create = lie_newmark_create,
  .step = lie_newmark_step,
  .destroy = free,
};
