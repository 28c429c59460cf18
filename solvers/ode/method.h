/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the methods of this folder share; not installed. */
#ifndef PERP_ODE_METHOD_H
#define PERP_ODE_METHOD_H

#include "solvers/ode/ode.h"

#include <stdlib.h>

/* Relative error level of GSL's Newton iterations at fixed steps, where the user gives none. */
#define PERP_ODE_FIXED_TOL 1e-12
/* Methods of variable order have no fixed step (their order comes from a tolerance): tol = 0 is
 * this. */
#define PERP_ODE_VARIABLE_TOL 1e-8

/* Options of the methods that have none of their own. */
struct perp_ode_plain_opts {
  perp_ode_control control;
};
extern const perp_opt perp_ode_plain_options[];

/* The derivative, counted.  A system cannot change a state that it is given as const: CHANGED is
 * OK. */
static inline perp_ode_answer perp_ode_eval(const perp_ode_sys *sys, double t, double h,
                                            const double *q, const double *v, bool intermediate,
                                            double *qdot, double *a, perp_stats *stats)
{
  stats->matvecs++;
  perp_ode_answer answer = sys->deriv(sys->user, t, h, q, v, intermediate, qdot, a);
  return answer == PERP_ODE_CHANGED ? PERP_ODE_OK : answer;
}

/* The qdot argument of a method that only wants a. */
static inline double *perp_ode_unwanted(const perp_ode_sys *sys, double *qdot)
{
  return (sys->caps & PERP_ODE_SYS_OPTIONAL_QDOT) != 0 ? NULL : qdot;
}

/* q_out = q [+] dq; q_out may alias q. */
static inline void perp_ode_retract(const perp_ode_sys *sys, const double *q, const double *dq,
                                    double *q_out)
{
  if (sys->retract != NULL) {
    sys->retract(sys->user, q, dq, q_out);
    return;
  }
  for (int i = 0; i < sys->nq; i++) q_out[i] = q[i] + dq[i];
}

/* ---- steps in (q, p), see canonical.c ---- */

typedef struct perp_ode_canonical_step {
  double *q, *q1;                                 /* [nq]; q, p0: the state */
  double *u, *du, *dq, *g, *p, *p0, *start, *end; /* [nv] */
} perp_ode_canonical_step;

/* max |x_i| of numbers */
static inline double perp_ode_size(int n, const double *x)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i]));
  return most;
}

/* Is it for momenta that a depends on v? */
static inline bool perp_ode_in_momenta(const perp_ode_sys *sys)
{
  return sys->canonical != NULL && (sys->caps & PERP_ODE_SYS_POSITION_FORCES) == 0;
}

void perp_ode_canonical_layout(perp_ode_canonical_step *step, int nq, int nv, perp_arena *arena);
/* The state (q, p) of (q, v); then steps from t to t + h, the first Euler method or its adjoint;
 * then (q, v) of the state.  FAILED with PERP_MAX_ITER: no convergence; q and v are written by the
 * last only. */
perp_ode_answer perp_ode_canonical_begin(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                         double t, const double *q, const double *v,
                                         perp_stats *stats);
perp_ode_answer perp_ode_canonical_euler(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                         double t, double h, bool adjoint, perp_stats *stats);
perp_ode_answer perp_ode_canonical_end(perp_ode_canonical_step *step, const perp_ode_sys *sys,
                                       double t, double *q, double *v, perp_stats *stats);

/* ---- explicit Runge-Kutta methods ---- */

/* Butcher tableau.  Row s of a (s = 1 ... all-1) has s numbers, rows one after the other. */
typedef struct perp_ode_tableau {
  int stages; /* that the solution needs */
  int all;    /* with those that only the error estimate needs */
  const double *c, *a;
  const double *b; /* [stages] */
  const double *e; /* [all] b - bhat; NULL without an embedded formula */
  /* [all], NULL for most: of a formula of lower order, which makes e^2 / sqrt(e^2 + 0.01 e3^2) the
   * estimate */
  const double *e3;
} perp_ode_tableau;

perp_status perp_ode_rk_create(perp_ctx *ctx, const perp_ode_sys *sys,
                               const perp_ode_tableau *tableau, void **ws);
/* One step.  err where e is NULL: PERP_ODE_FAILED with the reason PERP_UNSUITED, nothing else is
 * touched. */
perp_ode_answer perp_ode_rk_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                 double *v, double *err, perp_stats *stats);

/* The descriptor of a method that is nothing but a tableau. */
#define PERP_ODE_RK(identifier, name_, summary_, reference_, order_, caps_, error_order_)          \
  static perp_status identifier##_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, \
                                         void **ws)                                                \
  {                                                                                                \
    (void)opts;                                                                                    \
    return perp_ode_rk_create(ctx, sys, &tableau, ws);                                             \
  }                                                                                                \
  const perp_ode_desc perp_ode_##identifier = {                                                    \
    .d = { .name = name_,                                                                          \
           .summary = summary_,                                                                    \
           .reference = reference_,                                                                \
           .equation = "q' = N(q) v, v' = a(t, q, v)",                                             \
           .opts = perp_ode_plain_options,                                                         \
           .opts_size = sizeof(struct perp_ode_plain_opts),                                        \
           .caps = caps_ },                                                                        \
    .order = order_,                                                                               \
    .stages = (int)(sizeof b / sizeof *b),                                                         \
    .create = identifier##_create,                                                                 \
    .step = perp_ode_rk_step,                                                                      \
    .destroy = free,                                                                               \
    .error_order = error_order_,                                                                   \
  }

/* ---- Runge-Kutta methods of exponentials, see factors.c ---- */

/* Stage s and, last, the end of the step are products of factors[s] exponentials; each has a row of
 * min(s, stages) numbers, rows one after the other. */
typedef struct perp_ode_factors {
  int stages;
  const double *c;    /* [stages] */
  const int *factors; /* [stages + 1] */
  const double *coeff;
} perp_ode_factors;

perp_status perp_ode_factors_create(perp_ctx *ctx, const perp_ode_sys *sys,
                                    const perp_ode_factors *of, void **ws);
/* One step.  err not NULL: PERP_ODE_FAILED with the reason PERP_UNSUITED, nothing is touched. */
perp_ode_answer perp_ode_factors_step(void *ws, const perp_ode_sys *sys, double t, double h,
                                      double *q, double *v, double *err, perp_stats *stats);

/* The descriptor of a method that is nothing but factors. */
#define PERP_ODE_FACTORS(identifier, name_, summary_, reference_, order_)                          \
  static perp_status identifier##_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, \
                                         void **ws)                                                \
  {                                                                                                \
    (void)opts;                                                                                    \
    return perp_ode_factors_create(ctx, sys, &tableau, ws);                                        \
  }                                                                                                \
  const perp_ode_desc perp_ode_##identifier = {                                                    \
    .d = { .name = name_,                                                                          \
           .summary = summary_,                                                                    \
           .reference = reference_,                                                                \
           .equation =                                                                             \
               "q+ = q [+] h sum alpha1_r v_r [+] h sum alpha2_r v_r ..., v' = a(t, q, v)",        \
           .opts = perp_ode_plain_options,                                                         \
           .opts_size = sizeof(struct perp_ode_plain_opts) },                                      \
    .order = order_,                                                                               \
    .stages = (int)(sizeof c / sizeof *c),                                                         \
    .create = identifier##_create,                                                                 \
    .step = perp_ode_factors_step,                                                                 \
    .destroy = free,                                                                               \
  }

#endif
