/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impulses from a preview of the joints (Bender; STAR 2012, section 3.2.1, figure 9).
 *
 * The bodies fly on as if there were no joints,
 *
 *      v~ = v + h/2 M^-1 f(q, v),   q~ = q [+] h v~,
 *
 * and d = C(q~) is what would be violated at the end of the step.  Impulses p at its *start*, along M^-1 J'(q),
 * prevent that: the velocity must change by -d / h to first order, and
 *
 *      J M^-1 J' p = -d / h,   v~ <- v~ + M^-1 J' p
 *
 * is repeated with the factor of the start until the preview holds to the tolerance.  Then forces act for the
 * second half of the step, and impulses at the end restore J v+ = 0 (velocity = true).
 *
 * Positions are exact to the tolerance, with no parameter to tune.  With velocity = true this is RATTLE:
 * order 2, symmetric, no drift of energy for forces of position.  Without, positions are the same, and v is off
 * the constraints by O(h).  Each iteration gains a factor of about |v| h / size.  The linear systems are those of the KKT solver, in linear time for trees.
 *
 * Cost per step: 1 + iterations evaluations, one factorization (that of the end is the one of the next start),
 * one solve per iteration.  No allocation.  Fails with PERP_MAX_ITER when the preview does not converge. */
#include "models/formulations/constrained.h"
#include "models/formulations/march.h"

#include <stdlib.h>
#include <string.h>

extern const perp_stab_desc perp_stab_none;

struct opts {
  double tol;
  int iterations;
  bool velocity;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-12, 0, HUGE_VAL, PERP_OPEN_MIN, "m",
            "largest |C| of the preview, relative to the size of the model"),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "of the impulses, at most"),
  PERP_BOOL(struct opts, velocity, true, "impulses at the end of the step restore J v = 0"),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_constrained k;
  struct opts o;
  perp_march march;
  double *q, *v;          /* state */
  double *q1, *v1;        /* end of the step in the making */
  double *dv, *dq, *pull; /* [nv] */
  double *p, *dp;         /* [m] */
  double *lambda;         /* [m] forces */
  perp_arena arena;
} workspace;

static double norm_inf(int n, const double *x)
{
  double worst = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= worst)) worst = fabs(x[i]); /* NaN stays */
  return worst;
}

/* v_out = v + h M^-1 f(q, v_force), k at q; v_out may be v_force */
static void kick(workspace *w, double t, double h, const double *v_force, const double *v,
                 double *v_out)
{
  perp_constrained *k = &w->k;
  perp_eval_forces(k->e, k->model, t, v_force, true, k->f);
  perp_blocks_Minv(&k->e->blocks, k->f, w->pull);
  for (int i = 0; i < k->model->nv; i++) v_out[i] = v[i] + h * w->pull[i];
  w->march.count.rhs++;
}

/* v1 += M^-1 J' p with J v1 = c afterwards, by a new factor at the state of k */
static bool first_impulse(workspace *w, double h)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  perp_blocks_M(&k->e->blocks, w->v1, k->f);
  memset(k->lambda, 0, (size_t)model->m * sizeof *k->lambda);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->v1)) return false;
  memcpy(w->v1, k->a, (size_t)model->nv * sizeof *w->v1);
  memcpy(w->p, k->lambda, (size_t)model->m * sizeof *w->p);
  return true;
}

/* preview from w->v1; w->q1 is where it leads, its violation in k->e->C */
static double preview(workspace *w, double h)
{
  const perp_model *model = w->k.model;
  for (int i = 0; i < model->nv; i++) w->dq[i] = h * w->v1[i];
  perp_model_retract(model, w->q, w->dq, w->q1);
  perp_constrained_at(&w->k, w->q1);
  return norm_inf(model->m, w->k.e->C);
}

static perp_reason make_step(workspace *w, double t, double h)
{
  perp_constrained *k = &w->k;
  const perp_model *model = k->model;
  const int m = model->m, nv = model->nv;
  const double tol = w->o.tol * model->size;
  perp_constrained_at(k, w->q);
  kick(w, t, h / 2, w->v, w->v, w->v1);
  if (m > 0) {
    preview(w, h);
    memset(k->c, 0, (size_t)m * sizeof *k->c);
    for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
    perp_constrained_at(k, w->q);
    perp_blocks_J(&k->e->blocks, 1, w->v1, k->c);
    if (!first_impulse(w, h)) return k->reason;
    double d, last = HUGE_VAL;
    for (int pass = 1;; pass++) {
      d = preview(w, h);
      if (isnan(d)) return PERP_NOT_FINITE;
      /* round-off of positions that are large beside the tolerance: as good as it gets */
      if (d <= tol || (d < 1e-9 * model->size && d > last / 2)) break;
      if (pass >= w->o.iterations) return PERP_MAX_ITER;
      last = d;
      for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
      if (!perp_constrained_response(k, k->zeros, k->c, w->dv, w->dp)) return k->reason;
      for (int i = 0; i < nv; i++) w->v1[i] += w->dv[i];
      for (int i = 0; i < m; i++) w->p[i] += w->dp[i];
      w->march.count.iterations++;
    }
    k->drift = d;
    for (int i = 0; i < m; i++) w->lambda[i] = (w->o.velocity ? 2 : 1) * w->p[i] / h;
  } else {
    preview(w, h);
  }
  perp_model_project(model, w->q1);
  perp_constrained_at(k, w->q1);
  /* forces that depend on v take that of the end, which two passes know to O(h^2) and O(h^3) */
  memcpy(w->dv, w->v1, (size_t)nv * sizeof *w->dv);
  for (int i = 0; i < nv; i++) w->v1[i] += h / 2 * w->pull[i];
  for (int pass = model->velocity_forces ? 3 : 1; pass > 0; pass--) {
    kick(w, t + h, h / 2, w->v1, w->dv, w->v1);
    if (m == 0 || !w->o.velocity) continue;
    memset(k->c, 0, (size_t)m * sizeof *k->c);
    if (!first_impulse(w, h)) return k->reason;
  }
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
  w->dv = PERP_CARVE(a, double, model->nv);
  w->dq = PERP_CARVE(a, double, model->nv);
  w->pull = PERP_CARVE(a, double, model->nv);
  w->p = PERP_CARVE(a, double, model->m);
  w->dp = PERP_CARVE(a, double, model->m);
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
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "impulse: no memory");
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

const perp_formulation_desc perp_formulation_impulse = {
  .d = { .name = "impulse",
         .summary = "impulses from a preview of the joints, iterated to a tolerance; order 2",
         .reference = "STAR 2012, section 3.2.1 (Bender), figure 9",
         .equation = "J M^-1 J' p = -C(q [+] h v~) / h until C = 0;  then J v+ = 0",
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
