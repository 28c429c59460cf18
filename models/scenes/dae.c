/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/dae.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const perp_dae_stabilizations[] = { "none", "baumgarte", "project", NULL };

enum { SIZE = PERP_DAE_N + PERP_DAE_M };

struct dae {
  perp_ode_sys sys; /* first: the scene frees it */
  int n, m;
  perp_dae_fn *fn;
  perp_dae_options options;
  perp_dae_terms terms;
  double K[SIZE * SIZE], x[SIZE], q0[PERP_DAE_N], v0[PERP_DAE_N];
  lapack_int pivots[SIZE];
};

static void terms_at(struct dae *d, double t, const double *q, const double *v)
{
  memset(&d->terms, 0, sizeof d->terms);
  d->fn(t, q, v, &d->terms);
  for (int i = 0; i < d->m; i++) {
    double sum = 0;
    for (int j = 0; j < d->n; j++) sum += d->terms.G[i][j] * v[j];
    d->terms.gdot[i] = sum + d->terms.gdot[i];
  }
}

/* factor [M G'; G 0] at the current terms */
static bool dae_factor(struct dae *d)
{
  const int n = d->n, m = d->m, size = n + m;
  memset(d->K, 0, sizeof d->K);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) d->K[i + j * size] = d->terms.M[i + j * n];
    for (int i = 0; i < m; i++)
      d->K[n + i + j * size] = d->K[j + (n + i) * size] = d->terms.G[i][j];
  }
  return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, d->K, size, d->pivots) == 0;
}

static void dae_solve(struct dae *d)
{
  const int size = d->n + d->m;
  LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', size, 1, d->K, size, d->pivots, d->x, size);
}

static perp_ode_answer dae_deriv(void *user, double t, double h, const double *q, const double *v,
                                 bool intermediate, double *qdot, double *a)
{
  struct dae *d = user;
  (void)h, (void)intermediate;
  const bool feedback = d->options.stabilize == PERP_DAE_BAUMGARTE;
  const double alpha = feedback ? d->options.alpha : 0;
  terms_at(d, t, q, v);
  if (!dae_factor(d)) return PERP_ODE_FAILED;
  for (int i = 0; i < d->n; i++) d->x[i] = d->terms.f[i];
  for (int i = 0; i < d->m; i++)
    d->x[d->n + i] = -d->terms.gamma[i] - 2 * alpha * d->terms.gdot[i] -
                     alpha * alpha * d->terms.g[i];
  dae_solve(d);
  if (qdot != NULL) memcpy(qdot, v, (size_t)d->n * sizeof *v);
  memcpy(a, d->x, (size_t)d->n * sizeof *a);
  return PERP_ODE_OK;
}

/* x -= M^-1 G' (G M^-1 G')^-1 error */
static void dae_correct(struct dae *d, const double *error, double *x)
{
  memset(d->x, 0, sizeof d->x);
  for (int i = 0; i < d->m; i++) d->x[d->n + i] = -error[i];
  dae_solve(d);
  for (int i = 0; i < d->n; i++) x[i] += d->x[i];
}

/* Two Newton steps for q reach round-off from any error that the step of a usable method leaves;
 * the velocity is linear in its error. */
static perp_ode_answer dae_accept(void *user, double t, double *q, double *v)
{
  struct dae *d = user;
  for (int pass = 0; pass < 3; pass++) {
    terms_at(d, t, q, v);
    if (!dae_factor(d)) return PERP_ODE_FAILED;
    if (pass < 2)
      dae_correct(d, d->terms.g, q);
    else
      dae_correct(d, d->terms.gdot, v);
  }
  return PERP_ODE_CHANGED;
}

perp_status perp_dae_scene(perp_ctx *ctx, perp_scene *scene, int n, int m, perp_dae_fn *fn,
                           const perp_dae_options *options, const double *q0, const double *v0)
{
  struct dae *d = calloc(1, sizeof *d);
  if (d == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a DAE problem");
  d->n = n;
  d->m = m;
  d->fn = fn;
  d->options = *options;
  memcpy(d->q0, q0, (size_t)n * sizeof *q0);
  memcpy(d->v0, v0, (size_t)n * sizeof *v0);
  d->sys = (perp_ode_sys){ .nq = n,
                           .nv = n,
                           .caps = PERP_ODE_SYS_OPTIONAL_QDOT,
                           .user = d,
                           .deriv = dae_deriv,
                           .accept = options->stabilize == PERP_DAE_PROJECT ? dae_accept : NULL };
  scene->ode = &d->sys;
  scene->ode_q0 = d->q0;
  scene->ode_v0 = d->v0;
  return PERP_OK;
}
