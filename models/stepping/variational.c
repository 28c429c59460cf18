/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The derivative of a step of an explicit ODE method is a step of the same method with the
 * variational equation beside the state:
 *
 *      y' = f(t, y),   Y' = f_y(t, y) Y,       Y [n columns]
 *
 * as each stage of the method is differentiated by the chain rule (Hairer, Norsett and Wanner 1993,
 * section I.14).  That holds for every method whose step is a formula in f: no tableau is needed,
 * and methods of other libraries have it, too.  What the method does to positions beside that,
 * retract and project, is differentiated by central differences of order 4. */
#include "models/stepping/variational.h"

#include <stdlib.h>
#include <string.h>

static const double MOVE = 1e-3; /* of a position, by the smallest step of a difference */

struct perp_variational {
  perp_ode_sys of;  /* the system itself, */
  perp_ode_sys sys; /* and with its columns */
  const perp_ode_desc *method;
  void *ws;
  int n;
  perp_variational_fn *derivative;
  double *q, *v;      /* [nq (1 + n)], [nv (1 + n)] */
  double *at, *moved; /* [nq] */
  double *by;         /* [nv] */
};

static void variational_layout(void *ws, perp_arena *arena)
{
  perp_variational *variational = ws;
  variational->q = PERP_CARVE(arena, double, variational->sys.nq);
  variational->v = PERP_CARVE(arena, double, variational->sys.nv);
  PERP_DOUBLES(arena, variational->of.nq, &variational->at, &variational->moved);
  variational->by = PERP_CARVE(arena, double, variational->of.nv);
}

static perp_ode_answer variational_deriv(void *user, double t, double h, const double *q,
                                         const double *v, bool intermediate, double *qdot,
                                         double *a)
{
  perp_variational *variational = user;
  const perp_ode_answer answer = variational->of.deriv(variational->of.user, t, h, q, v,
                                                       intermediate, qdot, a);
  if (answer != PERP_ODE_OK) return answer;
  return variational->derivative(variational->of.user, t, h, q, v, a, q + variational->of.nq,
                                 v + variational->of.nv, qdot + variational->of.nq,
                                 a + variational->of.nv)
             ? PERP_ODE_OK
             : PERP_ODE_FAILED;
}

/* eps for a column: positions move by a part of what is at hand */
static double variational_eps(const perp_variational *variational, const double *dq,
                              const double *dx)
{
  double most = 0;
  for (int i = 0; i < variational->of.nq; i++) most = fmax(most, fabs(dq[i]));
  for (int i = 0; dx != NULL && i < variational->of.nv; i++) most = fmax(most, fabs(dx[i]));
  return most > 0 ? MOVE / most : 0;
}

/* Columns first, as q_out may be q: each is the derivative of q [+] x. */
static void variational_retract(void *user, const double *q, const double *x, double *q_out)
{
  perp_variational *w = user;
  const int nq = w->of.nq, nv = w->of.nv;
  for (int j = 1; j <= w->n; j++) {
    const double *dq = q + nq * j, *dx = x + nv * j;
    const double eps = variational_eps(w, dq, dx);
    memset(w->moved, 0, (size_t)nq * sizeof *w->moved);
    for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
      const double at = eps * perp_derivative_at[p];
      for (int i = 0; i < nq; i++) w->at[i] = q[i] + at * dq[i];
      for (int i = 0; i < nv; i++) w->by[i] = x[i] + at * dx[i];
      w->of.retract(w->of.user, w->at, w->by, w->at);
      for (int i = 0; i < nq; i++) w->moved[i] += perp_derivative_weight[p] / eps * w->at[i];
    }
    memcpy(q_out + nq * j, w->moved, (size_t)nq * sizeof *q_out);
  }
  w->of.retract(w->of.user, q, x, q_out);
}

static void variational_project(void *user, double *q)
{
  perp_variational *variational = user;
  const int nq = variational->of.nq;
  for (int j = 1; j <= variational->n; j++) {
    double *dq = q + nq * j, eps = variational_eps(variational, dq, NULL);
    memset(variational->moved, 0, (size_t)nq * sizeof *variational->moved);
    for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
      for (int i = 0; i < nq; i++) variational->at[i] = q[i] + eps * perp_derivative_at[p] * dq[i];
      variational->of.project(variational->of.user, variational->at);
      for (int i = 0; i < nq; i++)
        variational->moved[i] += perp_derivative_weight[p] / eps * variational->at[i];
    }
    memcpy(dq, variational->moved, (size_t)nq * sizeof *dq);
  }
  variational->of.project(variational->of.user, q);
}

perp_status perp_variational_create(perp_ctx *ctx, const perp_spec *method, const perp_ode_sys *sys,
                                    int n, perp_variational_fn *derivative, perp_variational **out)
{
  const unsigned other = PERP_ODE_IMPLICIT | PERP_ODE_MULTISTEP | PERP_ODE_VARIABLE_ORDER |
                         PERP_ODE_OWN_STEP_CONTROL | PERP_ODE_PEER;
  const perp_ode_desc *desc = (const perp_ode_desc *)method->d;
  *out = NULL;
  if (desc->d.caps & other || desc->own_step != NULL ||
      (desc->d.caps & PERP_ODE_SYMPLECTIC && sys->canonical != NULL))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps need an explicit ODE method of one step (rk4, dopri5, "
                     "gsl:rk8pd, ...): '%s' is none here",
                     desc->d.name);
  if (perp_ode_tol(method) > 0)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "derivatives of steps need fixed steps: leave out the tolerance (tol) of '%s'",
                     desc->d.name);
  perp_variational like = { .of = *sys, .method = desc, .n = n, .derivative = derivative };
  like.sys = (perp_ode_sys){ .nq = sys->nq * (1 + n),
                             .nv = sys->nv * (1 + n),
                             .caps = sys->caps & PERP_ODE_SYS_POSITION_FORCES,
                             .deriv = variational_deriv,
                             .retract = sys->retract != NULL ? variational_retract : NULL,
                             .project = sys->project != NULL ? variational_project : NULL };
  void *ws;
  PERP_TRY(perp_workspace_create(ctx, "derivatives", &like, sizeof like, variational_layout, &ws));
  perp_variational *variational = ws;
  variational->sys.user = variational;
  const perp_status status = desc->create(ctx, &variational->sys, method->opts, &variational->ws);
  if (status == PERP_OK) {
    *out = variational;
    return PERP_OK;
  }
  free(variational);
  return status;
}

void perp_variational_destroy(perp_variational *variational)
{
  if (variational == NULL) return;
  variational->method->destroy(variational->ws);
  free(variational);
}

double *perp_variational_dq(perp_variational *variational)
{
  return variational->q + variational->of.nq;
}

double *perp_variational_dv(perp_variational *variational)
{
  return variational->v + variational->of.nv;
}

perp_ode_answer perp_variational_step(perp_variational *variational, double t, double h,
                                      const double *q, const double *v, const double **q_end,
                                      const double **v_end)
{
  perp_stats stats = { 0 };
  memcpy(variational->q, q, (size_t)variational->of.nq * sizeof *q);
  memcpy(variational->v, v, (size_t)variational->of.nv * sizeof *v);
  *q_end = variational->q;
  *v_end = variational->v;
  if (variational->method->reset != NULL) variational->method->reset(variational->ws);
  return variational->method->step(variational->ws, &variational->sys, t, h, variational->q,
                                   variational->v, NULL, &stats);
}
