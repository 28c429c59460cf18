/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index-2 stabilized formulation of Gear, Gupta and Leimkuhler: a second multiplier mu holds the positions,
 *
 *      q' = N(q) (v + M^-1 J' mu),   M v' = f + J' lambda,   C(q) = 0,   J v = 0,
 *
 * where mu = 0 in exact arithmetic.  Discretized by the implicit midpoint rule,
 *
 *      v1 = v0 + M^-1 (h f(qm, vm) + J(qm)' lambda),          vm = (v0 + v1) / 2,
 *      q1 = q0 [+] (h vm + M^-1 J(qm)' mu),                   qm half way,
 *      C(q1) = 0,   J(q1) v1 = 0,
 *
 * symmetric, of order 2, with no drift on either level; energy does not drift for forces of position.
 * Solved by fixed-point iteration in which the multipliers move with the factor of the start of the step;
 * each pass gains a factor of about |v| h / size, and h^2 |df/dq| where forces are stiff: not for those.
 *
 * Cost per step: one factorization; two evaluations and two solves per pass.  No allocation.  Fails with
 * PERP_MAX_ITER when the iteration does not converge. */
#include "models/formulations/constrained.h"
#include "models/formulations/march.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

struct opts {
  double tol;
  int iterations;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-13, 0, 1, PERP_OPEN_MIN, "",
            "last change of a pass, relative to the size of the model and its speed"),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "passes at most"), PERP_OPTIONS_END
};

typedef struct workspace {
  perp_constrained k;
  struct opts o;
  perp_march march;
  double *q, *v;                   /* state */
  double *q1, *v1;                 /* end of the step in the making */
  double *dq, *x, *y;              /* [nv] */
  double *p, *mu, *dp, *violation; /* [m] impulses, second multiplier */
  double *lambda;                  /* [m] forces */
  perp_arena arena;
} workspace;

static double norm_inf(int n, const double *x)
{
  double worst = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= worst)) worst = fabs(x[i]); /* NaN stays */
  return worst;
}

/* x = M^-1 J' multiplier at the state of k */
static void along(workspace *w, const double *multiplier, double *x)
{
  perp_constrained *k = &w->k;
  memset(w->y, 0, (size_t)k->model->nv * sizeof *w->y);
  if (k->model->m > 0) perp_blocks_Jt(&k->e->blocks, 1, multiplier, w->y);
  perp_blocks_Minv(&k->e->blocks, w->y, x);
}

/* One pass: v1, dq and q1 from the multipliers, then the multipliers from what is violated.  Returns the
 * change of v1 and q1, in units of the model; NaN when a solve failed (k->reason). */
static double pass(workspace *w, double t, double h)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  double change = 0, fastest = 0;
  for (int i = 0; i < nv; i++) w->x[i] = w->dq[i] / 2;
  perp_model_retract(model, w->q, w->x, w->q1); /* the middle */
  perp_constrained_at(k, w->q1);
  for (int i = 0; i < nv; i++) w->x[i] = (w->v[i] + w->v1[i]) / 2;
  perp_eval_forces(k->e, model, t + h / 2, w->x, true, k->f);
  perp_blocks_Minv(&k->e->blocks, k->f, k->a);
  along(w, w->p, w->x);
  for (int i = 0; i < nv; i++) {
    const double next = w->v[i] + h * k->a[i] + w->x[i];
    change = fmax(change, h * fabs(next - w->v1[i]));
    fastest = fmax(fastest, h * fabs(next));
    w->v1[i] = next;
  }
  along(w, w->mu, w->x);
  for (int i = 0; i < nv; i++) w->dq[i] = h * (w->v[i] + w->v1[i]) / 2 + w->x[i];
  perp_model_retract(model, w->q, w->dq, w->q1);
  perp_constrained_at(k, w->q1);
  w->march.count.rhs++;
  if (m > 0) {
    const double position = norm_inf(m, k->e->C);
    for (int i = 0; i < m; i++) w->violation[i] = -k->e->C[i];
    perp_constrained_rate(k, w->v1, k->c);
    const double velocity = norm_inf(m, k->c);
    for (int i = 0; i < m; i++) k->c[i] = -k->c[i];
    if (!perp_constrained_response(k, k->zeros, k->c, w->x, w->dp)) return (double)NAN;
    for (int i = 0; i < m; i++) w->p[i] += w->dp[i];
    if (!perp_constrained_response(k, k->zeros, w->violation, w->x, w->dp)) return (double)NAN;
    for (int i = 0; i < m; i++) w->mu[i] += w->dp[i];
    change = fmax(change, fmax(position, h * velocity));
    k->drift = position;
  }
  return isfinite(fastest) ? change / (model->size + fastest) : (double)NAN;
}

static perp_reason make_step(workspace *w, double t, double h)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  perp_constrained_at(k, w->q);
  /* first guess: the velocity level, which also makes the factor */
  perp_eval_impulse(k->e, model, t, h, w->v, k->f);
  memset(k->c, 0, (size_t)m * sizeof *k->c);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->v)) return k->reason;
  memcpy(w->v1, k->a, (size_t)nv * sizeof *w->v1);
  memcpy(w->p, k->lambda, (size_t)m * sizeof *w->p);
  memset(w->mu, 0, (size_t)m * sizeof *w->mu);
  for (int i = 0; i < nv; i++) w->dq[i] = h * (w->v[i] + w->v1[i]) / 2;
  double last = HUGE_VAL;
  for (int i = 0;; i++) {
    const double change = pass(w, t, h);
    if (isnan(change)) return k->reason < 0 ? k->reason : PERP_NOT_FINITE;
    w->march.count.iterations++;
    /* at round-off passes no longer gain */
    if (change <= w->o.tol || (change < 1e-11 && change > last / 2)) break;
    if (i + 1 >= w->o.iterations) return PERP_MAX_ITER;
    last = change;
  }
  for (int i = 0; i < m; i++) w->lambda[i] = w->p[i] / h;
  perp_model_project(model, w->q1);
  if (!perp_all_finite(model->nq, w->q1) || !perp_all_finite(nv, w->v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

static void layout(workspace *w, const perp_model *model, perp_arena *a)
{
  perp_constrained_layout(&w->k, model, a);
  w->q = PERP_CARVE(a, double, model->nq);
  w->v = PERP_CARVE(a, double, model->nv);
  w->q1 = PERP_CARVE(a, double, model->nq);
  w->v1 = PERP_CARVE(a, double, model->nv);
  w->dq = PERP_CARVE(a, double, model->nv);
  w->x = PERP_CARVE(a, double, model->nv);
  w->y = PERP_CARVE(a, double, model->nv);
  w->p = PERP_CARVE(a, double, model->m);
  w->mu = PERP_CARVE(a, double, model->m);
  w->dp = PERP_CARVE(a, double, model->m);
  w->violation = PERP_CARVE(a, double, model->m);
  w->lambda = PERP_CARVE(a, double, model->m);
}

static void destroy(void *ws)
{
  workspace *w = ws;
  if (w == NULL) return;
  perp_constrained_destroy(&w->k);
  perp_arena_free(&w->arena);
  free(w);
}

static perp_status create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                          void **ws)
{
  *ws = NULL;
  workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "ggl: no memory");
  perp_arena a = { 0 };
  layout(w, model, &a);
  perp_status status = perp_arena_reserve(ctx, &a);
  if (status != PERP_OK) {
    free(w);
    return status;
  }
  w->arena = a;
  layout(w, model, &a);
  w->o = *(const struct opts *)parts->formulation.opts;
  w->march.h = h;
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  status = perp_constrained_create(ctx, &w->k, model, &with, false);
  if (status != PERP_OK) {
    destroy(w);
    return status;
  }
  *ws = w;
  return PERP_OK;
}

static perp_status restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  const perp_model *model = w->k.model;
  perp_constrained_restart(&w->k);
  w->k.ctx = ctx;
  memset(w->lambda, 0, (size_t)model->m * sizeof *w->lambda);
  memcpy(w->q, q, (size_t)model->nq * sizeof *q);
  memcpy(w->v, v, (size_t)model->nv * sizeof *v);
  perp_march_restart(&w->march, t);
  return perp_constrained_check_start(ctx, model, w->q, w->v);
}

static perp_status step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *w = ws;
  perp_constrained *k = &w->k;
  const double end = perp_march_next(&w->march, t_max), start = perp_constrained_clock(k);
  k->ctx = ctx;
  k->status = PERP_OK;
  k->reason = PERP_EXACT;
  info->reason = PERP_EXACT;
  if (end > w->march.t) {
    info->reason = make_step(w, w->march.t, end - w->march.t);
    if (k->status != PERP_OK) return k->status;
    if (info->reason > 0) {
      memcpy(w->q, w->q1, (size_t)k->model->nq * sizeof *w->q);
      memcpy(w->v, w->v1, (size_t)k->model->nv * sizeof *w->v);
      perp_march_accept(&w->march, end);
    }
  }
  k->step_s += perp_constrained_clock(k) - start;
  k->count.reason = info->reason;
  info->drift_pos_pre = k->drift;
  info->lambda = w->lambda;
  return PERP_OK;
}

static void state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *w = ws;
  *t = w->march.t;
  *q = w->q;
  *v = w->v;
}

static void counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *w = ws;
  if (ode != NULL) *ode = w->march.count;
  if (kkt != NULL) *kkt = w->k.count;
}

static void timing(void *ws, bool on, perp_times *times)
{
  perp_constrained_timing(&((workspace *)ws)->k, on, times);
}

const perp_formulation_desc perp_formulation_ggl = {
  .d = { .name = "ggl",
         .summary = "index-2 stabilized (Gear, Gupta, Leimkuhler) by the midpoint rule; order 2",
         .reference = "Gear, Gupta and Leimkuhler 1985; Hairer and Wanner II, section VII.2",
         .equation = "q' = N (v + M^-1 J' mu),  M v' = f + J' lambda,  C = 0,  J v = 0",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_FORM_USES_KKT },
  .create = create,
  .restart = restart,
  .step = step,
  .state = state,
  .counters = counters,
  .timing = timing,
  .destroy = destroy,
};
