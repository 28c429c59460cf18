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
static bool dae_factor(struct dae *dae)
{
  const int n = dae->n, m = dae->m, size = n + m;
  memset(dae->K, 0, sizeof dae->K);
  for (int j = 0; j < n; j++) {
    for (int i = 0; i < n; i++) dae->K[i + j * size] = dae->terms.M[i + j * n];
    for (int i = 0; i < m; i++)
      dae->K[n + i + j * size] = dae->K[j + (n + i) * size] = dae->terms.G[i][j];
  }
  return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, size, size, dae->K, size, dae->pivots) == 0;
}

static void dae_solve(struct dae *dae)
{
  const int size = dae->n + dae->m;
  LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', size, 1, dae->K, size, dae->pivots, dae->x, size);
}

static perp_ode_answer dae_deriv(void *user, double t, double h, const double *q, const double *v,
                                 bool intermediate, double *qdot, double *a)
{
  struct dae *dae = user;
  (void)h, (void)intermediate;
  const bool feedback = dae->options.stabilize == PERP_DAE_BAUMGARTE;
  const double alpha = feedback ? dae->options.alpha : 0;
  terms_at(dae, t, q, v);
  if (!dae_factor(dae)) return PERP_ODE_FAILED;
  for (int i = 0; i < dae->n; i++) dae->x[i] = dae->terms.f[i];
  for (int i = 0; i < dae->m; i++)
    dae->x[dae->n + i] = -dae->terms.gamma[i] - 2 * alpha * dae->terms.gdot[i] -
                         alpha * alpha * dae->terms.g[i];
  dae_solve(dae);
  if (qdot != NULL) memcpy(qdot, v, (size_t)dae->n * sizeof *v);
  memcpy(a, dae->x, (size_t)dae->n * sizeof *a);
  return PERP_ODE_OK;
}

/* x -= M^-1 G' (G M^-1 G')^-1 error */
static void dae_correct(struct dae *dae, const double *error, double *x)
{
  memset(dae->x, 0, sizeof dae->x);
  for (int i = 0; i < dae->m; i++) dae->x[dae->n + i] = -error[i];
  dae_solve(dae);
  for (int i = 0; i < dae->n; i++) x[i] += dae->x[i];
}

/* Two Newton steps for q reach round-off from any error that the step of a usable method leaves;
 * the velocity is linear in its error. */
static perp_ode_answer dae_accept(void *user, double t, double *q, double *v)
{
  struct dae *dae = user;
  for (int pass = 0; pass < 3; pass++) {
    terms_at(dae, t, q, v);
    if (!dae_factor(dae)) return PERP_ODE_FAILED;
    if (pass < 2)
      dae_correct(dae, dae->terms.g, q);
    else
      dae_correct(dae, dae->terms.gdot, v);
  }
  return PERP_ODE_CHANGED;
}

perp_status perp_dae_scene(perp_ctx *ctx, perp_scene *scene, int n, int m, perp_dae_fn *fn,
                           const perp_dae_options *options, const double *q0, const double *v0)
{
  struct dae *dae = calloc(1, sizeof *dae);
  if (dae == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a DAE problem");
  dae->n = n;
  dae->m = m;
  dae->fn = fn;
  dae->options = *options;
  memcpy(dae->q0, q0, (size_t)n * sizeof *q0);
  memcpy(dae->v0, v0, (size_t)n * sizeof *v0);
  dae->sys = (perp_ode_sys){ .nq = n,
                             .nv = n,
                             .caps = PERP_ODE_SYS_OPTIONAL_QDOT,
                             .user = dae,
                             .deriv = dae_deriv,
                             .accept = options->stabilize == PERP_DAE_PROJECT ? dae_accept : NULL };
  scene->ode = &dae->sys;
  scene->ode_q0 = dae->q0;
  scene->ode_v0 = dae->v0;
  return PERP_OK;
}
