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
 * A formulation and no scheme of stabilization: mu enters the motion of the positions and the step is solved as a whole,
 * while a scheme gives feedback to, or corrects the end of, a step that another formulation has made.
 * Solved by fixed-point iteration in which the multipliers move with the factor of the start of the step;
 * each pass gains a factor of about |v| h / size, and h^2 |df/dq| where forces are stiff: not for those.
 *
 * Cost per step: one factorization; two evaluations and two solves per pass.  No allocation.  Fails with
 * PERP_MAX_ITER when the iteration does not converge. */
#include "models/formulations/stepper.h"

#include <string.h>

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
  perp_stepper s;
  struct opts o;
  double *dq, *x, *y;              /* [nv] */
  double *p, *mu, *dp, *violation; /* [m] impulses, second multiplier */
} workspace;

/* x = M^-1 J' multiplier at the state of k */
static void ggl_along(workspace *w, const double *multiplier, double *x)
{
  perp_constrained *k = &w->s.k;
  memset(w->y, 0, (size_t)k->model->nv * sizeof *w->y);
  if (k->model->m > 0) perp_blocks_Jt(&k->e->blocks, 1, multiplier, w->y);
  perp_blocks_Minv(&k->e->blocks, w->y, x);
}

/* One pass: v1, dq and q1 from the multipliers, then the multipliers from what is violated.  Returns the
 * change of v1 and q1, in units of the model; NaN when a solve failed (k->reason). */
static double ggl_pass(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  double change = 0, fastest = 0;
  for (int i = 0; i < nv; i++) w->x[i] = w->dq[i] / 2;
  perp_model_retract(model, w->s.q, w->x, w->s.q1); /* the middle */
  perp_constrained_at(k, w->s.q1);
  for (int i = 0; i < nv; i++) w->x[i] = (w->s.v[i] + w->s.v1[i]) / 2;
  perp_eval_forces(k->e, model, t + h / 2, w->x, true, k->f);
  perp_blocks_Minv(&k->e->blocks, k->f, k->a);
  ggl_along(w, w->p, w->x);
  for (int i = 0; i < nv; i++) {
    const double next = w->s.v[i] + h * k->a[i] + w->x[i];
    change = fmax(change, h * fabs(next - w->s.v1[i]));
    fastest = fmax(fastest, h * fabs(next));
    w->s.v1[i] = next;
  }
  ggl_along(w, w->mu, w->x);
  for (int i = 0; i < nv; i++) w->dq[i] = h * (w->s.v[i] + w->s.v1[i]) / 2 + w->x[i];
  perp_model_retract(model, w->s.q, w->dq, w->s.q1);
  perp_constrained_at(k, w->s.q1);
  w->s.grid.count.rhs++;
  if (m > 0) {
    const double position = perp_worst(m, k->e->C);
    for (int i = 0; i < m; i++) w->violation[i] = -k->e->C[i];
    perp_constrained_rate(k, w->s.v1, k->c);
    const double velocity = perp_worst(m, k->c);
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

static perp_reason ggl_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  perp_constrained_at(k, w->s.q);
  /* first guess: the velocity level, which also makes the factor */
  perp_eval_impulse(k->e, model, t, h, w->s.v, k->f);
  memset(k->c, 0, (size_t)m * sizeof *k->c);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v)) return k->reason;
  memcpy(w->s.v1, k->a, (size_t)nv * sizeof *w->s.v1);
  memcpy(w->p, k->lambda, (size_t)m * sizeof *w->p);
  memset(w->mu, 0, (size_t)m * sizeof *w->mu);
  for (int i = 0; i < nv; i++) w->dq[i] = h * (w->s.v[i] + w->s.v1[i]) / 2;
  double last = HUGE_VAL;
  for (int i = 0;; i++) {
    const double change = ggl_pass(w, t, h);
    if (isnan(change)) return k->reason < 0 ? k->reason : PERP_NOT_FINITE;
    w->s.grid.count.iterations++;
    /* at round-off passes no longer gain */
    if (change <= w->o.tol || (change < 1e-11 && change > last / 2)) break;
    if (i + 1 >= w->o.iterations) return PERP_MAX_ITER;
    last = change;
  }
  for (int i = 0; i < m; i++) w->s.lambda[i] = w->p[i] / h;
  perp_model_project(model, w->s.q1);
  if (!perp_all_finite(model->nq, w->s.q1) || !perp_all_finite(nv, w->s.v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

static void ggl_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  PERP_DOUBLES(a, model->nv, &w->dq, &w->x, &w->y);
  PERP_DOUBLES(a, model->m, &w->p, &w->mu, &w->dp, &w->violation);
}

static perp_status ggl_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  workspace like = { .s.make_step = ggl_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  return perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, ggl_layout, ws);
}

const perp_formulation_desc perp_formulation_ggl = {
  .d = { .name = "ggl",
         .summary = "index-2 stabilized (Gear, Gupta, Leimkuhler) by the midpoint rule; order 2",
         .reference = "Gear, Gupta and Leimkuhler 1985; Hairer and Wanner II, section VII.2",
         .equation = "q' = N (v + M^-1 J' mu),  M v' = f + J' lambda,  C = 0,  J v = 0",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_FORM_USES_KKT },
  .create = ggl_create,
  .restart = perp_stepper_restart,
  .step = perp_stepper_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = perp_stepper_destroy,
};
