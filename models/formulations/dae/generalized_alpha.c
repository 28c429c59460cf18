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
 *
 *      a0 = v'(0) + D_a h v''(0)
 *
 * and in the index-3 form, where C = 0 holds J v at a distance of h^2 from 0, v0 is set there: v0 +
 * d with
 *
 *      J d = J l / h,   l = h^3 ((1 - 6 beta - 3 D_a) / 6 v'' + [v, v'] / 12)
 *
 * the error of the formula for q in a step; [v, v'] is w x w' of the rotations.  Without it lambda
 * has an error of O(h) that dies out over some steps (start=plain leaves both away).  v'' is the
 * difference of the accelerations at +-h/100 along the motion. A step of another length (the last
 * one of a run) starts anew in the same way.
 *
 * Servos are forces (servos.h); motors without damping and bound are rows J v1 = velocity, whose
 * forces are unknowns as lambda (motors.h).  Limits and motors of bounded force are refused.
 *
 * Unknowns are lengths and angles and M times these (h^2 lambda), so that the condition does not
 * depend on h (Bottasso, Dopico and Trainelli 2008); solved by the Newton iteration of
 * models/stepping/implicit_step.h. lambda is reported at the start of a step.
 *
 * Cost per step: one evaluation and one band solve per correction, a Jacobian when convergence asks
 * for it.  No allocation, but for new pivots of wide models (local.h). */
#include "models/formulations/dae/generalized_alpha.h"

#include "models/stepping/motors.h"
#include "models/stepping/stepper.h"
#include "models/stepping/implicit_step.h"

#include <string.h>

static const char *const forms[] = { "index3", "index2", NULL };
enum { START_SECOND_ORDER, START_PLAIN };
const char *const perp_generalized_alpha_starts[] = { "second-order", "plain", NULL };

static const perp_opt options[] = {
  PERP_REAL(perp_generalized_alpha_opts, rho, 0.9, 0, 1, 0, "",
            "Spectral radius at infinite frequency; 1 is no numerical dissipation. The index-3 "
            "form needs a value below 1."),
  PERP_ENUM(perp_generalized_alpha_opts, form, PERP_GENERALIZED_ALPHA_INDEX2, forms,
            "Form of the constraints. index3: positions only. index2: stabilized index 2, "
            "positions and velocities."),
  PERP_GENERALIZED_ALPHA_OPTIONS, PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  perp_generalized_alpha_opts o;
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
  perp_motors motors;
  double *told;         /* [motors] forces of the motors at the start */
  double *drive, *slip; /* [motors] forces of the motors as unknowns, scratch */
} workspace;

enum {
  PART_V,
  PART_Q
}; /* index 2: h^2 a1 and h^2 lambda1; h D and h eta.  Index 3: h D and h^2 lambda1 are part 0 */

static bool ga_stabilized(const workspace *work)
{
  return work->o.form == PERP_GENERALIZED_ALPHA_INDEX2;
}

/* ---- the equations of a step ---- */

/* a1, v1 and v1' from h D or from h^2 a1 */
static void ga_end(workspace *work, const double *x)
{
  const int nv = work->s.k.model->nv;
  const double h = work->h;
  if (ga_stabilized(work)) {
    perp_implicit_get_body(&work->newton, x, PART_V, work->u);
    perp_implicit_get_body(&work->newton, x, PART_Q, work->dq);
    for (int i = 0; i < nv; i++) work->a1[i] = work->u[i] / (h * h);
  } else {
    perp_implicit_get_body(&work->newton, x, 0, work->dq);
    for (int i = 0; i < nv; i++)
      work->a1[i] = ((work->dq[i] - h * work->vn[i]) / (h * h) - (0.5 - work->beta) * work->a[i]) /
                    work->beta;
  }
  for (int i = 0; i < nv; i++) {
    work->s.v1[i] = work->vn[i] + h * ((1 - work->gamma) * work->a[i] + work->gamma * work->a1[i]);
    work->rate1[i] = ((1 - work->alpha_m) * work->a1[i] + work->alpha_m * work->a[i] -
                      work->alpha_f * work->rate[i]) /
                     (1 - work->alpha_f);
  }
}

static bool ga_residual(void *user, const double *x, double *r)
{
  workspace *work = user;
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int nv = model->nv, m = model->m;
  const double h = work->h;
  ga_end(work, x);
  perp_implicit_get_row(&work->newton, x, PART_V, work->p);
  perp_model_retract(model, work->s.q, work->dq, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  perp_constrained_at(system, work->t + h, work->s.q1);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, work->t + h, work->s.v1, system->f);
  perp_blocks_M(&system->e->blocks, work->rate1, work->z);
  for (int i = 0; i < nv; i++) work->z[i] = h * h * (work->z[i] - system->f[i]);
  if (m > 0) perp_blocks_Jt(&system->e->blocks, -1, work->p, work->z);
  perp_implicit_get_motor(&work->newton, x, work->drive);
  perp_motors_push(&work->motors, model, system->e, -1, work->drive, work->z);
  perp_motors_slip(&work->motors, model, system->e, work->t + h, work->s.v1, work->slip);
  for (int i = 0; i < work->motors.n; i++) work->slip[i] *= h;
  perp_implicit_put_motor(&work->newton, work->slip, r);
  perp_implicit_put_body(&work->newton, PART_V, work->z, r);
  if (!ga_stabilized(work)) {
    perp_implicit_put_row(&work->newton, PART_V, system->e->C, r);
  } else {
    for (int i = 0; i < nv; i++)
      work->y[i] = work->dq[i] - h * (work->vn[i] + h * ((0.5 - work->beta) * work->a[i] +
                                                         work->beta * work->a1[i]));
    perp_blocks_M(&system->e->blocks, work->y, work->z);
    perp_implicit_get_row(&work->newton, x, PART_Q, work->eta);
    if (m > 0) perp_blocks_Jt(&work->start.blocks, 1, work->eta, work->z);
    perp_implicit_put_body(&work->newton, PART_Q, work->z, r);
    for (int i = 0; i < nv; i++) work->y[i] = h * work->s.v1[i];
    perp_constrained_product(system, work->y, work->row);
    perp_constrained_driven(system, work->t + h, -h, work->row);
    perp_implicit_put_row(&work->newton, PART_V, work->row, r);
    for (int i = 0; i < m; i++) work->row[i] = -system->e->C[i]; /* eta moves q against J' */
    perp_implicit_put_row(&work->newton, PART_Q, work->row, r);
  }
  system->drift = perp_worst(m, system->e->C);
  return perp_all_finite(work->newton.n, r);
}

/* ---- the start ---- */

/* system->a and system->lambda, accelerations and forces at q and v */
static bool ga_accelerations(workspace *work, double t, const double *q, const double *v)
{
  perp_constrained *system = &work->s.k;
  perp_constrained_at(system, t, q);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, t, v, system->f);
  perp_joints_bias(system->model, system->e, v, system->c);
  for (int i = 0; i < system->model->m; i++) system->c[i] = -system->c[i];
  return perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, work->h, v) &&
         perp_motors_accelerate(&work->motors, system, t, v);
}

/* z = v'' by the accelerations at both sides along the motion */
static bool ga_jerk(workspace *work)
{
  const perp_model *model = work->s.k.model;
  const int nv = model->nv;
  const double s = work->h / 100;
  for (int side = -1; side <= 1; side += 2) {
    for (int i = 0; i < nv; i++) work->dq[i] = side * s * work->vn[i] + s * s / 2 * work->rate[i];
    for (int i = 0; i < nv; i++) work->u[i] = work->vn[i] + side * s * work->rate[i];
    perp_model_retract(model, work->s.q, work->dq, work->s.q1);
    if (!ga_accelerations(work, work->t + side * s, work->s.q1, work->u)) return false;
    for (int i = 0; i < nv; i++)
      work->z[i] = side < 0 ? -work->s.k.a[i] : (work->z[i] + work->s.k.a[i]) / (2 * s);
  }
  return true;
}

/* y = l / h: what the formula for q is wrong by in a step, as a velocity */
static void ga_defect(const workspace *work, double *y)
{
  const perp_model *model = work->s.k.model;
  const double h = work->h, D_a = work->alpha_m - work->alpha_f;
  for (int i = 0; i < model->nv; i++)
    y[i] = h * h * (1 - 6 * work->beta - 3 * D_a) / 6 * work->z[i];
  if (model->dim == 2) return;
  for (int body = 0; body < model->n_bodies; body++) {
    const double *v = work->vn + 6 * body + 3, *a = work->rate + 6 * body + 3;
    for (int i = 0; i < 3; i++)
      y[6 * body + 3 + i] += h * h / 12 *
                             (v[(i + 1) % 3] * a[(i + 2) % 3] - v[(i + 2) % 3] * a[(i + 1) % 3]);
  }
}

/* v', a, lambda and the velocity of the method for steps of work->h from the state. */
static bool ga_begin(workspace *work)
{
  perp_constrained *system = &work->s.k;
  const int nv = system->model->nv, m = system->model->m;
  const size_t size = (size_t)nv * sizeof *work->vn;
  memcpy(work->vn, work->s.v, size);
  if (!ga_accelerations(work, work->t, work->s.q, work->vn)) return false;
  if (work->begun > 0 && m > 0) { /* off J v = 0 by the steps before */
    perp_constrained_rate(system, work->vn, system->c);
    if (!perp_constrained_response(system, system->zeros, system->c, work->y, work->row))
      return false;
    for (int i = 0; i < nv; i++) work->vn[i] -= work->y[i];
    if (!ga_accelerations(work, work->t, work->s.q, work->vn)) return false;
  }
  if (work->motors.n > 0) { /* velocities that the motors make at once */
    if (!perp_motors_start(&work->motors, system, work->t, work->vn) ||
        !ga_accelerations(work, work->t, work->s.q, work->vn))
      return false;
  }
  memcpy(work->rate, system->a, size);
  memcpy(work->a, system->a, size);
  memcpy(work->told, work->motors.force, (size_t)work->motors.n * sizeof *work->told);
  memcpy(work->force, system->lambda, (size_t)m * sizeof *work->force);
  work->begun = work->h;
  if (work->o.start == START_PLAIN) return true;
  if (!ga_jerk(work)) return false;
  for (int i = 0; i < nv; i++) work->a[i] += (work->alpha_m - work->alpha_f) * work->h * work->z[i];
  if (ga_stabilized(work) || m == 0) return true;
  if (!ga_accelerations(work, work->t, work->s.q, work->vn)) return false; /* for the factor */
  ga_defect(work, work->y);
  perp_constrained_product(system, work->y, system->c);
  if (!perp_constrained_response(system, system->zeros, system->c, work->y, work->row))
    return false;
  for (int i = 0; i < nv; i++) work->vn[i] += work->y[i];
  return true;
}

/* ---- a step ---- */

static void ga_guess(workspace *work)
{
  const int nv = work->s.k.model->nv, m = work->s.k.model->m;
  const double h = work->h;
  for (int i = 0; i < nv; i++) work->dq[i] = h * (work->vn[i] + h / 2 * work->a[i]);
  for (int i = 0; i < nv; i++) work->u[i] = h * h * work->a[i];
  for (int i = 0; i < m; i++) work->p[i] = h * h * work->force[i];
  memset(work->eta, 0, (size_t)m * sizeof *work->eta);
  for (int i = 0; i < work->motors.n; i++) work->drive[i] = h * h * work->told[i];
  perp_implicit_put_motor(&work->newton, work->drive, work->x);
  perp_implicit_put_row(&work->newton, PART_V, work->p, work->x);
  if (ga_stabilized(work)) {
    perp_implicit_put_body(&work->newton, PART_V, work->u, work->x);
    perp_implicit_put_body(&work->newton, PART_Q, work->dq, work->x);
    perp_implicit_put_row(&work->newton, PART_Q, work->eta, work->x);
  } else {
    perp_implicit_put_body(&work->newton, 0, work->dq, work->x);
  }
}

static perp_reason ga_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *system = &work->s.k;
  const int nv = system->model->nv, m = system->model->m;
  const size_t size = (size_t)nv * sizeof *work->vn;
  double fastest = 0;
  work->t = t;
  work->h = h;
  if (!(fabs(h - work->begun) < 1e-6 * h) && !ga_begin(work)) return system->reason;
  if (ga_stabilized(work)) perp_eval_at(&work->start, system->model, t, work->s.q);
  perp_stepper_servos(&work->s, t, work->s.q, work->vn);
  for (int i = 0; i < work->motors.n; i++) work->s.servo[work->motors.drive[i]] = work->told[i];
  perp_constrained_at(system, t, work->s.q);
  ga_guess(work);
  for (int i = 0; i < nv; i++) fastest = fmax(fastest, fabs(work->dq[i]));
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(
      &work->newton, ga_residual, work, h, &system->e->blocks, PERP_IMPLICIT_TOL,
      work->o.iterations, system->model->size + fastest, work->x);
  work->s.grid.count.iterations += work->newton.iterations - before;
  system->count.factorizations += (int)(work->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  memcpy(work->s.lambda, work->force, (size_t)m * sizeof *work->force);
  for (int i = 0; i < m; i++) work->force[i] = work->p[i] / (h * h);
  for (int i = 0; i < work->motors.n; i++) work->told[i] = work->drive[i] / (h * h);
  memcpy(work->vn, work->s.v1, size);
  memcpy(work->rate, work->rate1, size);
  memcpy(work->a, work->a1, size);
  perp_model_project(system->model, work->s.q1);
  return PERP_EXACT;
}

static void ga_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  perp_eval_layout(&work->start, model, arena);
  perp_motors_layout(&work->motors, model, arena);
  PERP_DOUBLES(arena, work->motors.n, &work->told, &work->drive, &work->slip);
  PERP_DOUBLES(arena, 2 * (model->nv + model->m) + work->motors.n, &work->x);
  PERP_DOUBLES(arena, model->nv, &work->vn, &work->rate, &work->a, &work->rate1, &work->a1,
               &work->dq, &work->u, &work->y, &work->z);
  PERP_DOUBLES(arena, model->m, &work->force, &work->p, &work->eta, &work->row);
}

void perp_generalized_alpha_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

perp_status perp_generalized_alpha_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                           const double *v)
{
  workspace *work = ws;
  work->begun = 0;
  perp_implicit_restart(&work->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

perp_status perp_generalized_alpha_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                          double h, double alpha_m, double alpha_f,
                                          const perp_generalized_alpha_opts *opts, void **ws)
{
  const double gamma = 0.5 + alpha_f - alpha_m;
  workspace like = { .s.make_step = ga_make_step,
                     .o = *opts,
                     .motors.n = perp_motors_count(model),
                     .alpha_m = alpha_m,
                     .alpha_f = alpha_f,
                     .gamma = gamma,
                     .beta = (gamma + 0.5) * (gamma + 0.5) / 4 };
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, ga_layout, ws));
  workspace *work = *ws;
  perp_eval_init(&work->start, model);
  const int per = ga_stabilized(work) ? 2 : 1;
  perp_motors_find(&work->motors, model);
  const perp_status status = perp_implicit_create_driven(ctx, model, per, per, work->motors.n,
                                                         work->motors.drive, &work->newton);
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(*ws);
  *ws = NULL;
  return status;
}

static perp_status ga_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                             void **ws)
{
  const perp_generalized_alpha_opts *opts = parts->formulation.opts;
  const double rho = opts->rho;
  return perp_generalized_alpha_create(ctx, model, parts, h, (2 * rho - 1) / (rho + 1),
                                       rho / (rho + 1), opts, ws);
}

const perp_formulation_desc perp_formulation_generalized_alpha = {
  .d = { .name = "generalized-alpha",
         .summary = "Generalized-alpha on the Lie group, index 3 or stabilized index 2; order 2",
         .reference = "Bruels, Cardona and Arnold 2012; Arnold, Cardona and Bruels 2016",
         .equation = "q+ = q [+] h (v + (1/2 - beta) h a + beta h a+), C(q+) = 0",
         PERP_OPTIONS(options, perp_generalized_alpha_opts),
         .caps = PERP_GENERALIZED_ALPHA_CAPS },
  .create = ga_create,
  PERP_GENERALIZED_ALPHA_CALLS,
};
