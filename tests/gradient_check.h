/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Derivatives of whole steps by central differences with Richardson's extrapolation: models are
 * built anew with their numbers moved, and simulated from states moved.  Nothing of derivative.h is
 * used. */
#ifndef TESTS_GRADIENT_CHECK_H
#define TESTS_GRADIENT_CHECK_H

#include "models/stepping/gradient.h"
#include "tests/run_model.h"

/* The numbers that a model is built with. */
typedef struct gradient_numbers {
  double mass, gravity, mu, target, force; /* force: world x, at the centre of body 0 */
} gradient_numbers;
typedef perp_model *gradient_build(perp_ctx *ctx, const gradient_numbers *numbers);

typedef struct gradient_case {
  const char *name;
  gradient_build *build;
  gradient_numbers numbers;
  run_parts parts;
  double h;
  int before, steps; /* the derivative is that of `steps` steps after `before` steps */
  int shape;         /* of the column of friction */
} gradient_case;

/* Steps of the case with column w moved by eps: q [nq], v [nv] at the end.  The state after the
 * first ones is q0, v0, where these are given; else it is made, and written there. */
static void gradient_run(perp_ctx *ctx, const gradient_case *c, const perp_gradient_wrt *w,
                         double eps, const double *q0, const double *v0, double *q, double *v)
{
  gradient_numbers n = c->numbers;
  if (w->kind == PERP_GRADIENT_MASS) n.mass += eps;
  if (w->kind == PERP_GRADIENT_GRAVITY) n.gravity += eps;
  if (w->kind == PERP_GRADIENT_FRICTION) n.mu += eps;
  if (w->kind == PERP_GRADIENT_TARGET) n.target += eps;
  if (w->kind == PERP_GRADIENT_FORCE) n.force += eps;
  perp_model *model = c->build(ctx, &n);
  perp_sim *sim = run_start(ctx, model, c->parts, c->h);
  const int nq = perp_model_nq(model), nv = perp_model_nv(model);
  double t = 0, dq[64] = { 0 }, qs[64], vs[64];
  memcpy(qs, q0 != NULL ? q0 : perp_model_q0(model), (size_t)nq * sizeof *qs);
  memcpy(vs, v0 != NULL ? v0 : perp_model_v0(model), (size_t)nv * sizeof *vs);
  if (w->kind == PERP_GRADIENT_Q) dq[w->index] = eps;
  if (w->kind == PERP_GRADIENT_V) vs[w->index] += eps;
  perp_model_retract(model, qs, dq, qs);
  if (q0 != NULL) t = c->before * c->h;
  if (perp_sim_restart(ctx, sim, t, qs, vs) != PERP_OK) bail("%s: %s", c->name, ctx->msg);
  const double end = t + (q0 != NULL ? c->steps : c->before) * c->h;
  for (int i = 0; t < end * (1 - 1e-12) && i < 100000; i++) {
    perp_step_info info;
    const double *qe, *ve;
    if (perp_sim_step(ctx, sim, end, &info) != PERP_OK || info.reason < 0)
      bail("%s: step fails: %s", c->name, ctx->msg);
    perp_sim_state(sim, &t, &qe, &ve);
  }
  const double *qe, *ve;
  perp_sim_state(sim, &t, &qe, &ve);
  memcpy(q, qe, (size_t)nq * sizeof *q);
  memcpy(v, ve, (size_t)nv * sizeof *v);
  perp_sim_destroy(sim);
  perp_model_destroy(model);
}

/* (state(eps) - state(-eps)) / 2 eps, or one-sided: side 1 or -1; out [2 nv] */
static void gradient_quotient(perp_ctx *ctx, const gradient_case *c, const perp_model *model,
                              const perp_gradient_wrt *w, double eps, int side, const double *q0,
                              const double *v0, double *out)
{
  const int nv = perp_model_nv(model);
  double q[2][64], v[2][64], dq[64];
  gradient_run(ctx, c, w, side == -1 ? 0 : eps, q0, v0, q[0], v[0]);
  gradient_run(ctx, c, w, side == 1 ? 0 : -eps, q0, v0, q[1], v[1]);
  const double over = side == 0 ? 2 * eps : eps;
  perp_model_difference(model, q[1], q[0], dq);
  for (int i = 0; i < nv; i++) {
    out[i] = dq[i] / over;
    out[nv + i] = (v[0][i] - v[1][i]) / over;
  }
}

/* Extrapolated over eps, eps / 2, eps / 4: even powers, or of one side all. */
static void gradient_richardson(perp_ctx *ctx, const gradient_case *c, const perp_model *model,
                                const perp_gradient_wrt *w, double eps, int side, const double *q0,
                                const double *v0, double *out)
{
  const int n = 2 * perp_model_nv(model);
  double level[3][128];
  for (int k = 0; k < 3; k++)
    gradient_quotient(ctx, c, model, w, eps / (1 << k), side, q0, v0, level[k]);
  for (int order = 1; order < 3; order++) {
    const double f = side == 0 ? pow(4, order) : pow(2, order);
    for (int k = 0; k + order < 3; k++)
      for (int i = 0; i < n; i++) level[k][i] = (f * level[k + 1][i] - level[k][i]) / (f - 1);
  }
  memcpy(out, level[0], (size_t)n * sizeof *out);
}

/* The derivatives of the case by wrt [n]: D [2 nv n]; q0, v0 after the first steps; row: the first
 * one of the last step that acts. */
static const perp_model *gradient_analytic_row(perp_ctx *ctx, const gradient_case *c,
                                               const perp_gradient_wrt *wrt, int n, double *q0,
                                               double *v0, double *D, perp_gradient_report *report,
                                               perp_gradient_side *sides, perp_gradient_row *row)
{
  static perp_model *model; /* until the next call */
  perp_gradient *g = NULL;
  const perp_gradient_wrt none = { .kind = PERP_GRADIENT_Q };
  gradient_run(ctx, c, &none, 0, NULL, NULL, q0, v0);
  if (model != NULL) perp_model_destroy(model);
  model = c->build(ctx, &c->numbers);
  const int nv = perp_model_nv(model);
  perp_sim *sim = run_start(ctx, model, c->parts, c->h);
  double t = c->before * c->h;
  if (perp_sim_restart(ctx, sim, t, q0, v0) != PERP_OK) bail("%s: %s", c->name, ctx->msg);
  if (perp_gradient_create(ctx, sim, wrt, n, &g) != PERP_OK) bail("%s: %s", c->name, ctx->msg);
  const double end = t + c->steps * c->h, *q, *v;
  for (int i = 0; t < end * (1 - 1e-12); i++) {
    perp_step_info info;
    if (perp_gradient_step(ctx, g, end, &info) != PERP_OK || info.reason < 0)
      bail("%s: step fails: %s", c->name, ctx->msg);
    perp_sim_state(sim, &t, &q, &v);
  }
  for (int j = 0; j < n; j++) {
    memcpy(D + 2 * nv * j, perp_gradient_dq(g) + nv * j, (size_t)nv * sizeof *D);
    memcpy(D + 2 * nv * j + nv, perp_gradient_dv(g) + nv * j, (size_t)nv * sizeof *D);
  }
  *report = *perp_gradient_report_of(g);
  for (int i = report->n_rows - 1; i >= 0; i--)
    if (report->row[i].acts) *row = report->row[i];
  report->row = NULL;
  memcpy(sides, perp_gradient_sides(g), (size_t)n * sizeof *sides);
  perp_gradient_destroy(g);
  perp_sim_destroy(sim);
  return model;
}

__attribute__((unused)) static const perp_model *
gradient_analytic(perp_ctx *ctx, const gradient_case *c, const perp_gradient_wrt *wrt, int n,
                  double *q0, double *v0, double *D, perp_gradient_report *report,
                  perp_gradient_side *sides)
{
  perp_gradient_row row;
  return gradient_analytic_row(ctx, c, wrt, n, q0, v0, D, report, sides, &row);
}

/* Largest difference of a column from `want`, of its size; columns below 0.01 count as that large.
 */
static double gradient_off(int n, const double *got, const double *want)
{
  double off = 0, size = 0.01;
  for (int i = 0; i < n; i++) {
    off = fmax(off, fabs(got[i] - want[i]));
    size = fmax(size, fabs(want[i]));
  }
  return off / size;
}

#endif
