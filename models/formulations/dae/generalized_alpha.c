/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Generalized-alpha method on the Lie group of positions, for M v' = f + J' lambda, C(q) = 0
 * (Bruels, Cardona and Arnold 2012; Arnold, Cardona and Bruels 2016):
 *
 *      q1 = q0 [+] h D,   D = v0 + (1/2 - beta) h a0 + beta h a1 - M^-1 J(q0)' eta,
 *      v1 = v0 + (1 - gamma) h a0 + gamma h a1,
 *      (1 - alpha_m) a1 + alpha_m a0 = (1 - alpha_f) v1' + alpha_f v0',
 *      M v1' = f(t1, q1, v1) + J(q1)' lambda1,   C(q1) = 0,   J(q1) v1 = 0,
 *
 * in the index-3 form without eta and J v = 0, in the stabilized index-2 form with both.  [+] is
 * the exponential map with angular velocities in the body frame (perp_model_retract); a is no
 * acceleration at t0 but one at t0 + D_a h, D_a = alpha_m - alpha_f.  The mean over eta is that of
 * M, so that units of length and angle do not mix.
 *
 * rho is the spectral radius at infinity of Chung and Hulbert 1993: alpha_m = (2 rho - 1) / (rho +
 * 1), alpha_f = rho / (rho + 1), gamma = 1/2 - D_a, beta = (gamma + 1/2)^2 / 4.  1: no dissipation,
 * 0: what is fast is gone in a step. The index-3 form needs rho < 1: with 1 errors of the
 * multipliers are not damped.
 *
 * Start, so that q, v and lambda are of order 2 from the first step on (Arnold, Bruels and Cardona
 * 2015):
 *      a0 = v'(0) + D_a h v''(0),
 * and in the index-3 form, where C = 0 holds J v at a distance of h^2 from 0, v0 is set there: v0 +
 * d with
 *      J d = J l / h,   l = h^3 ((1 - 6 beta - 3 D_a) / 6 v'' + [v, v'] / 12),
 * the error of the formula for q in a step; [v, v'] is w x w' of the rotations.  Without it lambda
 * has an error of O(h) that dies out over some steps (start=plain leaves both away).  v'' is the
 * difference of the accelerations at +-h/100 along the motion. A step of another length (the last
 * one of a run) starts anew in the same way.
 *
 * Unknowns are lengths and angles and M times these (h^2 lambda), so that the condition does not
 * depend on h (Bottasso, Dopico and Trainelli 2008); solved by the Newton iteration of
 * models/stepping/implicit_step.h. lambda is reported at the start of a step.
 *
 * Cost per step: one evaluation and one band solve per correction, a Jacobian when convergence asks
 * for it.  No allocation, but for new pivots of wide models (local.h). */
#include "models/stepping/stepper.h"
#include "models/stepping/implicit_step.h"

#include <string.h>

enum { FORM_INDEX3, FORM_INDEX2 };
static const char *const forms[] = { "index3", "index2", NULL };
enum { START_SECOND_ORDER, START_PLAIN };
static const char *const starts[] = { "second-order", "plain", NULL };

struct opts {
  double rho, tol;
  int form, start, iterations;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, rho, 0.9, 0, 1, 0, "",
            "Spectral radius at infinite frequency; 1 is no numerical dissipation. The index-3 "
            "form needs a value below 1."),
  PERP_ENUM(struct opts, form, FORM_INDEX2, forms,
            "Form of the constraints. index3: positions only. index2: stabilized index 2, "
            "positions and velocities."),
  PERP_ENUM(struct opts, start, START_SECOND_ORDER, starts,
            "Initial algorithmic accelerations. second-order: corrected, so that the first steps "
            "have order 2. plain: the accelerations at the start."),
  PERP_REAL(struct opts, tol, 1e-14, 0, 1, PERP_OPEN_MIN, "",
            "Tolerance of the Newton iteration: last correction, relative to the size of the model "
            "and its speed."),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "Largest number of Newton corrections in a step."),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double alpha_m, alpha_f, beta, gamma;
  double t, h;            /* of the step in the making */
  double begun;           /* the step that a, vn and rate hold for; 0: none */
  perp_eval start;        /* at q0: J(q0) of eta */
  double *vn;             /* [nv] velocity at the start as the method has it */
  double *rate, *a;       /* [nv] v' and a at the start */
  double *rate1, *a1;     /* [nv] at the end */
  double *x;              /* [newton.n] unknowns */
  double *dq, *u, *y, *z; /* [nv] */
  double *force;          /* [m] lambda at the start */
  double *p, *eta, *row;  /* [m] */
} workspace;

enum {
  PART_V,
  PART_Q
}; /* index 2: h^2 a1 and h^2 lambda1; h D and h eta.  Index 3: h D and h^2 lambda1 are part 0 */

static bool ga_stabilized(const workspace *w)
{
  return w->o.form == FORM_INDEX2;
}

/* ---- the equations of a step ---- */

/* a1, v1 and v1' from h D or from h^2 a1 */
static void ga_end(workspace *w, const double *x)
{
  const int nv = w->s.k.model->nv;
  const double h = w->h;
  if (ga_stabilized(w)) {
    perp_implicit_get_body(&w->newton, x, PART_V, w->u);
    perp_implicit_get_body(&w->newton, x, PART_Q, w->dq);
    for (int i = 0; i < nv; i++) w->a1[i] = w->u[i] / (h * h);
  } else {
    perp_implicit_get_body(&w->newton, x, 0, w->dq);
    for (int i = 0; i < nv; i++)
      w->a1[i] = ((w->dq[i] - h * w->vn[i]) / (h * h) - (0.5 - w->beta) * w->a[i]) / w->beta;
  }
  for (int i = 0; i < nv; i++) {
    w->s.v1[i] = w->vn[i] + h * ((1 - w->gamma) * w->a[i] + w->gamma * w->a1[i]);
    w->rate1[i] = ((1 - w->alpha_m) * w->a1[i] + w->alpha_m * w->a[i] - w->alpha_f * w->rate[i]) /
                  (1 - w->alpha_f);
  }
}

static bool ga_residual(void *user, const double *x, double *r)
{
  workspace *w = user;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, m = model->m;
  const double h = w->h;
  ga_end(w, x);
  perp_implicit_get_row(&w->newton, x, PART_V, w->p);
  perp_model_retract(model, w->s.q, w->dq, w->s.q1);
  if (!perp_all_finite(model->nq, w->s.q1)) return false;
  perp_constrained_at(k, w->t + h, w->s.q1);
  w->s.grid.count.rhs++;
  perp_eval_forces(k->e, model, w->t + h, w->s.v1, true, k->f);
  perp_blocks_M(&k->e->blocks, w->rate1, w->z);
  for (int i = 0; i < nv; i++) w->z[i] = h * h * (w->z[i] - k->f[i]);
  if (m > 0) perp_blocks_Jt(&k->e->blocks, -1, w->p, w->z);
  perp_implicit_put_body(&w->newton, PART_V, w->z, r);
  if (!ga_stabilized(w)) {
    perp_implicit_put_row(&w->newton, PART_V, k->e->C, r);
  } else {
    for (int i = 0; i < nv; i++)
      w->y[i] = w->dq[i] - h * (w->vn[i] + h * ((0.5 - w->beta) * w->a[i] + w->beta * w->a1[i]));
    perp_blocks_M(&k->e->blocks, w->y, w->z);
    perp_implicit_get_row(&w->newton, x, PART_Q, w->eta);
    if (m > 0) perp_blocks_Jt(&w->start.blocks, 1, w->eta, w->z);
    perp_implicit_put_body(&w->newton, PART_Q, w->z, r);
    for (int i = 0; i < nv; i++) w->y[i] = h * w->s.v1[i];
    perp_constrained_product(k, w->y, w->row);
    perp_constrained_driven(k, w->t + h, -h, w->row);
    perp_implicit_put_row(&w->newton, PART_V, w->row, r);
    for (int i = 0; i < m; i++) w->row[i] = -k->e->C[i]; /* eta moves q against J' */
    perp_implicit_put_row(&w->newton, PART_Q, w->row, r);
  }
  k->drift = perp_worst(m, k->e->C);
  return perp_all_finite(w->newton.n, r);
}

/* ---- the start ---- */

/* k->a and k->lambda, accelerations and forces at q and v */
static bool ga_accelerations(workspace *w, double t, const double *q, const double *v)
{
  perp_constrained *k = &w->s.k;
  perp_constrained_at(k, t, q);
  w->s.grid.count.rhs++;
  perp_eval_forces(k->e, k->model, t, v, true, k->f);
  perp_joints_bias(k->model, k->e, v, k->c);
  for (int i = 0; i < k->model->m; i++) k->c[i] = -k->c[i];
  return perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, w->h, v);
}

/* z = v'' by the accelerations at both sides along the motion */
static bool ga_jerk(workspace *w)
{
  const perp_model *model = w->s.k.model;
  const int nv = model->nv;
  const double s = w->h / 100;
  for (int side = -1; side <= 1; side += 2) {
    for (int i = 0; i < nv; i++) w->dq[i] = side * s * w->vn[i] + s * s / 2 * w->rate[i];
    for (int i = 0; i < nv; i++) w->u[i] = w->vn[i] + side * s * w->rate[i];
    perp_model_retract(model, w->s.q, w->dq, w->s.q1);
    if (!ga_accelerations(w, w->t + side * s, w->s.q1, w->u)) return false;
    for (int i = 0; i < nv; i++)
      w->z[i] = side < 0 ? -w->s.k.a[i] : (w->z[i] + w->s.k.a[i]) / (2 * s);
  }
  return true;
}

/* y = l / h: what the formula for q is wrong by in a step, as a velocity */
static void ga_defect(const workspace *w, double *y)
{
  const perp_model *model = w->s.k.model;
  const double h = w->h, D_a = w->alpha_m - w->alpha_f;
  for (int i = 0; i < model->nv; i++) y[i] = h * h * (1 - 6 * w->beta - 3 * D_a) / 6 * w->z[i];
  if (model->dim == 2) return;
  for (int b = 0; b < model->n_bodies; b++) {
    const double *v = w->vn + 6 * b + 3, *a = w->rate + 6 * b + 3;
    for (int i = 0; i < 3; i++)
      y[6 * b + 3 + i] += h * h / 12 *
                          (v[(i + 1) % 3] * a[(i + 2) % 3] - v[(i + 2) % 3] * a[(i + 1) % 3]);
  }
}

/* v', a, lambda and the velocity of the method for steps of w->h from the state. */
static bool ga_begin(workspace *w)
{
  perp_constrained *k = &w->s.k;
  const int nv = k->model->nv, m = k->model->m;
  const size_t size = (size_t)nv * sizeof *w->vn;
  memcpy(w->vn, w->s.v, size);
  if (!ga_accelerations(w, w->t, w->s.q, w->vn)) return false;
  if (w->begun > 0 && m > 0) { /* off J v = 0 by the steps before */
    perp_constrained_rate(k, w->vn, k->c);
    if (!perp_constrained_response(k, k->zeros, k->c, w->y, w->row)) return false;
    for (int i = 0; i < nv; i++) w->vn[i] -= w->y[i];
    if (!ga_accelerations(w, w->t, w->s.q, w->vn)) return false;
  }
  memcpy(w->rate, k->a, size);
  memcpy(w->a, k->a, size);
  memcpy(w->force, k->lambda, (size_t)m * sizeof *w->force);
  w->begun = w->h;
  if (w->o.start == START_PLAIN) return true;
  if (!ga_jerk(w)) return false;
  for (int i = 0; i < nv; i++) w->a[i] += (w->alpha_m - w->alpha_f) * w->h * w->z[i];
  if (ga_stabilized(w) || m == 0) return true;
  if (!ga_accelerations(w, w->t, w->s.q, w->vn)) return false; /* for the factor */
  ga_defect(w, w->y);
  perp_constrained_product(k, w->y, k->c);
  if (!perp_constrained_response(k, k->zeros, k->c, w->y, w->row)) return false;
  for (int i = 0; i < nv; i++) w->vn[i] += w->y[i];
  return true;
}

/* ---- a step ---- */

static void ga_guess(workspace *w)
{
  const int nv = w->s.k.model->nv, m = w->s.k.model->m;
  const double h = w->h;
  for (int i = 0; i < nv; i++) w->dq[i] = h * (w->vn[i] + h / 2 * w->a[i]);
  for (int i = 0; i < nv; i++) w->u[i] = h * h * w->a[i];
  for (int i = 0; i < m; i++) w->p[i] = h * h * w->force[i];
  memset(w->eta, 0, (size_t)m * sizeof *w->eta);
  perp_implicit_put_row(&w->newton, PART_V, w->p, w->x);
  if (ga_stabilized(w)) {
    perp_implicit_put_body(&w->newton, PART_V, w->u, w->x);
    perp_implicit_put_body(&w->newton, PART_Q, w->dq, w->x);
    perp_implicit_put_row(&w->newton, PART_Q, w->eta, w->x);
  } else {
    perp_implicit_put_body(&w->newton, 0, w->dq, w->x);
  }
}

static perp_reason ga_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &w->s.k;
  const int nv = k->model->nv, m = k->model->m;
  const size_t size = (size_t)nv * sizeof *w->vn;
  double fastest = 0;
  w->t = t;
  w->h = h;
  if (!(fabs(h - w->begun) < 1e-6 * h) && !ga_begin(w)) return k->reason;
  if (ga_stabilized(w)) perp_eval_at(&w->start, k->model, t, w->s.q);
  perp_constrained_at(k, t, w->s.q);
  ga_guess(w);
  for (int i = 0; i < nv; i++) fastest = fmax(fastest, fabs(w->dq[i]));
  const int64_t before = w->newton.iterations, jacobians = w->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(&w->newton, ga_residual, w, h, &k->e->blocks,
                                                 w->o.tol, w->o.iterations,
                                                 k->model->size + fastest, w->x);
  w->s.grid.count.iterations += w->newton.iterations - before;
  k->count.factorizations += (int)(w->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  memcpy(w->s.lambda, w->force, (size_t)m * sizeof *w->force);
  for (int i = 0; i < m; i++) w->force[i] = w->p[i] / (h * h);
  memcpy(w->vn, w->s.v1, size);
  memcpy(w->rate, w->rate1, size);
  memcpy(w->a, w->a1, size);
  perp_model_project(k->model, w->s.q1);
  return PERP_EXACT;
}

static void ga_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  perp_eval_layout(&w->start, model, a);
  PERP_DOUBLES(a, 2 * (model->nv + model->m), &w->x);
  PERP_DOUBLES(a, model->nv, &w->vn, &w->rate, &w->a, &w->rate1, &w->a1, &w->dq, &w->u, &w->y,
               &w->z);
  PERP_DOUBLES(a, model->m, &w->force, &w->p, &w->eta, &w->row);
}

static void ga_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status ga_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *w = ws;
  w->begun = 0;
  perp_implicit_restart(&w->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status ga_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                             void **ws)
{
  const struct opts *o = parts->formulation.opts;
  const double rho = o->rho, alpha_m = (2 * rho - 1) / (rho + 1), alpha_f = rho / (rho + 1),
               gamma = 0.5 + alpha_f - alpha_m;
  workspace like = { .s.make_step = ga_make_step,
                     .o = *o,
                     .alpha_m = alpha_m,
                     .alpha_f = alpha_f,
                     .gamma = gamma,
                     .beta = (gamma + 0.5) * (gamma + 0.5) / 4 };
  *ws = NULL;
  for (int i = 0; i < model->m; i++)
    if (model->softness[i] > 0)
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation generalized-alpha does not support joints with softness: use "
                       "rigid joints, or --formulation velocity");
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, ga_layout, ws));
  workspace *w = *ws;
  perp_eval_init(&w->start, model);
  const int per = ga_stabilized(w) ? 2 : 1;
  const perp_status status = perp_implicit_create(ctx, model, per, per, &w->newton);
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(*ws);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_generalized_alpha = {
  .d = { .name = "generalized-alpha",
         .summary = "Generalized-alpha on the Lie group, index 3 or stabilized index 2; order 2",
         .reference = "Bruels, Cardona and Arnold 2012; Arnold, Cardona and Bruels 2016",
         .equation = "q+ = q [+] h (v + (1/2 - beta) h a + beta h a+), C(q+) = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS |
                 PERP_FORM_MOTIONS | PERP_FORM_DISABLED },
  .create = ga_create,
  .restart = ga_restart,
  .step = perp_stepper_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = ga_destroy,
};
