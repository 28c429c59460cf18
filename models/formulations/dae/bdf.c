/* SPDX-License-Identifier: GPL-3.0-or-later */
/* BDF of order k = 1 ... 5 for the equations of index 3 in steps of one length (Lotstedt and
 * Petzold 1986; Petzold and Lotstedt 1986; Brenan, Campbell and Petzold, section 3.2),
 *
 *      v1 = 1/h sum_j alpha_j w_j,   w_j = q_{1-j} [-] q1,      q1 = q0 [+] d,
 *      M 1/h sum_j alpha_j v_{1-j} = f(t1, q1, v1) + J(q1)' lambda1,      C(q1) = 0,
 *
 * [-] the inverse of the exponential map, in the frames of the bodies at q1, where the rate of an
 * increment is the velocity itself; w_0 = 0.  J v1 = 0 holds to O(h^k).  q and v are of order k,
 * lambda too after k + 1 steps.
 *
 * The scaling of the second paper: unknowns are d and h^2 lambda, and the balance of forces is
 * multiplied by h^2, so that the condition of the Newton matrix does not grow as h^-3.  Newton's
 * method is that of implicit_step.h.
 *
 * The first k - 1 steps, and those after one of another length, are made by the classical
 * Runge-Kutta method for the accelerations in PARTS parts, with projections: they need steps that
 * it is stable in.  Lambda is reported at the start of a step.
 *
 * Orders 1 and 2 are A-stable, 3 to 5 nearly so; high frequencies are damped.  Joints with softness
 * are refused.  Cost per step: as of generalized-alpha in index 3.  No allocation, but for new
 * pivots of wide models (local.h). */
#include "models/stepping/implicit_step.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <string.h>

enum { ORDER = 5, PARTS = 8 };

struct opts {
  int order;
  int iterations;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, order, 3, 1, ORDER, "Order of the formula: the number of past states."),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "Largest number of Newton corrections in a step."),
  PERP_OPTIONS_END
};

static const double ALPHA[ORDER][ORDER + 1] = {
  { 1, -1 },
  { 3. / 2, -2, 1. / 2 },
  { 11. / 6, -3, 3. / 2, -1. / 3 },
  { 25. / 12, -4, 3, -4. / 3, 1. / 4 },
  { 137. / 60, -5, 5, -10. / 3, 5. / 4, -1. / 5 },
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double t, h;
  int known; /* states of the history at distances of `step`, the present one too */
  double step;
  bool fresh;                    /* lambda of the present state is not known */
  double *qs[ORDER], *vs[ORDER]; /* [nq], [nv] 0: the present state */
  double *x;                     /* [newton.n] d and h^2 lambda */
  double *d, *w, *rate, *z;      /* [nv] */
  double *force, *p;             /* [m] lambda at the present state, h^2 lambda */
  double *k[4], *l[4], *u, *vt;  /* [nv] of the start */
  double *qt;                    /* [nq] */
} workspace;

static bool bdf_residual(void *user, const double *x, double *r)
{
  workspace *work = user;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const double *alpha = ALPHA[work->o.order - 1], h = work->h;
  const int nv = model->nv;
  perp_implicit_get_body(&work->newton, x, 0, work->d);
  perp_implicit_get_row(&work->newton, x, 0, work->p);
  perp_model_retract(model, work->qs[0], work->d, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  memset(work->s.v1, 0, (size_t)nv * sizeof *work->s.v1);
  for (int j = 1; j <= work->o.order; j++) {
    perp_model_difference(model, work->s.q1, work->qs[j - 1], work->w);
    for (int i = 0; i < nv; i++) work->s.v1[i] += alpha[j] / h * work->w[i];
  }
  for (int i = 0; i < nv; i++) {
    work->rate[i] = alpha[0] * work->s.v1[i];
    for (int j = 1; j <= work->o.order; j++) work->rate[i] += alpha[j] * work->vs[j - 1][i];
    work->rate[i] /= h;
  }
  perp_constrained_at(k, work->t + h, work->s.q1);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, work->t + h, work->s.v1, k->f);
  perp_blocks_M(&k->e->blocks, work->rate, work->z);
  for (int i = 0; i < nv; i++) work->z[i] = h * h * (work->z[i] - k->f[i]);
  if (model->m > 0) perp_blocks_Jt(&k->e->blocks, -1, work->p, work->z);
  perp_implicit_put_body(&work->newton, 0, work->z, r);
  perp_implicit_put_row(&work->newton, 0, k->e->C, r);
  k->drift = perp_worst(model->m, k->e->C);
  return perp_all_finite(work->newton.n, r);
}

/* ---- the start ---- */

/* A step of the classical Runge-Kutta method from qt and vt, in place. */
static bool bdf_classical(workspace *work, double t, double h)
{
  static const double c[] = { 0, 0.5, 0.5, 1 }, b[] = { 1. / 6, 1. / 3, 1. / 3, 1. / 6 };
  const perp_model *model = work->s.k.model;
  const int nv = model->nv;
  for (int s = 0; s < 4; s++) {
    for (int i = 0; i < nv; i++) {
      work->u[i] = s > 0 ? c[s] * h * work->k[s - 1][i] : 0;
      work->rate[i] = work->vt[i] + (s > 0 ? c[s] * h * work->l[s - 1][i] : 0);
    }
    perp_model_retract(model, work->qt, work->u, work->s.q1);
    if (!perp_stepper_accelerate(&work->s, t + c[s] * h, work->h, work->s.q1, work->rate))
      return false;
    memcpy(work->l[s], work->s.k.a, (size_t)nv * sizeof *work->l[s]);
    perp_model_dexpinv(model, work->u, work->rate, work->k[s]);
  }
  memset(work->u, 0, (size_t)nv * sizeof *work->u);
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < nv; i++) {
      work->u[i] += h * b[s] * work->k[s][i];
      work->vt[i] += h * b[s] * work->l[s][i];
    }
  perp_model_retract(model, work->qt, work->u, work->qt);
  return perp_stepper_project(&work->s, t + h, work->h, work->qt, work->vt);
}

static bool bdf_start(workspace *work)
{
  const perp_model *model = work->s.k.model;
  memcpy(work->qt, work->s.q, (size_t)model->nq * sizeof *work->qt);
  memcpy(work->vt, work->s.v, (size_t)model->nv * sizeof *work->vt);
  for (int i = 0; i < PARTS; i++)
    if (!bdf_classical(work, work->t + i * work->h / PARTS, work->h / PARTS)) return false;
  memcpy(work->s.q1, work->qt, (size_t)model->nq * sizeof *work->qt);
  memcpy(work->s.v1, work->vt, (size_t)model->nv * sizeof *work->vt);
  return true;
}

/* ---- a step ---- */

static perp_reason bdf_implicit(workspace *work)
{
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const double h = work->h;
  double fastest = 0;
  for (int i = 0; i < model->nv; i++) {
    work->d[i] = h * (work->o.order == 1 ? work->vs[0][i]
                                         : 1.5 * work->vs[0][i] - 0.5 * work->vs[1][i]);
    fastest = fmax(fastest, fabs(work->d[i]));
  }
  for (int i = 0; i < model->m; i++) work->p[i] = h * h * work->force[i];
  perp_implicit_put_body(&work->newton, 0, work->d, work->x);
  perp_implicit_put_row(&work->newton, 0, work->p, work->x);
  perp_constrained_at(system, work->t, work->s.q);
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(
      &work->newton, bdf_residual, work, h, &system->e->blocks, PERP_IMPLICIT_TOL,
      work->o.iterations, model->size + fastest, work->x);
  work->s.grid.count.iterations += work->newton.iterations - before;
  system->count.factorizations += (int)(work->newton.jacobians - jacobians);
  return reason;
}

static perp_reason bdf_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const size_t rows = (size_t)model->m * sizeof *work->force;
  work->t = t;
  work->h = h;
  if (work->known == 0 || !(fabs(h - work->step) < 1e-6 * h)) { /* from this state on */
    work->known = 1;
    work->step = h;
    memcpy(work->qs[0], work->s.q, (size_t)model->nq * sizeof *work->qt);
    memcpy(work->vs[0], work->s.v, (size_t)model->nv * sizeof *work->vt);
  }
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  if (work->known < work->o.order || work->fresh) {
    if (!perp_stepper_accelerate(&work->s, t, h, work->s.q, work->s.v)) return k->reason;
    memcpy(work->force, k->lambda, rows);
    work->fresh = false;
  }
  memcpy(work->s.lambda, work->force, rows);
  if (work->known < work->o.order) {
    if (!bdf_start(work)) return k->reason;
    work->fresh = work->known + 1 == work->o.order; /* lambda of the next start is not known */
  } else {
    const perp_reason reason = bdf_implicit(work);
    if (reason < 0) return reason;
    for (int i = 0; i < model->m; i++) work->force[i] = work->p[i] / (h * h);
  }
  perp_model_project(model, work->s.q1);
  return PERP_EXACT;
}

static void bdf_keep(perp_stepper *stepper)
{
  workspace *work = (workspace *)stepper;
  const perp_model *model = work->s.k.model;
  double *q = work->qs[work->o.order - 1], *v = work->vs[work->o.order - 1];
  for (int j = work->o.order - 1; j > 0; j--) {
    work->qs[j] = work->qs[j - 1];
    work->vs[j] = work->vs[j - 1];
  }
  work->qs[0] = q;
  work->vs[0] = v;
  memcpy(q, work->s.q1, (size_t)model->nq * sizeof *q);
  memcpy(v, work->s.v1, (size_t)model->nv * sizeof *v);
  if (work->known < work->o.order) work->known++;
}

static void bdf_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, model->nv + model->m, &work->x);
  for (int j = 0; j < ORDER; j++) {
    PERP_DOUBLES(arena, model->nq, &work->qs[j]);
    PERP_DOUBLES(arena, model->nv, &work->vs[j]);
  }
  for (int j = 0; j < 4; j++) PERP_DOUBLES(arena, model->nv, &work->k[j], &work->l[j]);
  PERP_DOUBLES(arena, model->nv, &work->d, &work->w, &work->rate, &work->z, &work->u, &work->vt);
  PERP_DOUBLES(arena, model->nq, &work->qt);
  PERP_DOUBLES(arena, model->m, &work->force, &work->p);
}

static void bdf_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status bdf_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *work = ws;
  work->known = 0;
  work->fresh = true;
  perp_implicit_restart(&work->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status bdf_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  workspace like = { .s = { .make_step = bdf_make_step, .keep = bdf_keep },
                     .o = *(const struct opts *)parts->formulation.opts };
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, bdf_layout, ws));
  const perp_status status = perp_implicit_create(ctx, model, 1, 1, &((workspace *)*ws)->newton);
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(*ws);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_bdf = {
  .d = { .name = "bdf",
         .summary = "BDF of order 1 to 5 for index 3, scaled (Petzold and Lotstedt); fixed steps",
         .reference = "Lotstedt and Petzold 1986; Petzold and Lotstedt 1986",
         .equation = "M sum_j alpha_j v_{1-j} = h (f+ + J' lambda+),  C(q+) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_USES_KKT | PERP_CAP_ALLOCATES |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_SERVOS },
  .create = bdf_create,
  .restart = bdf_restart,
  .step = perp_stepper_step,
  .destroy = bdf_destroy,
  PERP_STEPPER_CALLS,
};
