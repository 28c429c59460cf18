/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Index-2 stabilized formulation of Gear, Gupta and Leimkuhler: a second multiplier mu holds the
 * positions,
 *
 *      q' = N(q) (v + M^-1 J' mu),   M v' = f + J' lambda,   C(q) = 0,   J v = 0,
 *
 * where mu = 0 in exact arithmetic.  Discretized by the implicit midpoint rule,
 *
 *      v1 = v0 + M^-1 (h f(qm, vm) + J(qm)' lambda),          vm = (v0 + v1) / 2,
 *      q1 = q0 [+] (h vm + M^-1 J(qm)' mu),                   qm half way,
 *      C(q1) = 0,   J(q1) v1 = 0,
 *
 * symmetric, of order 2, with no drift on either level; energy does not drift for forces of
 * position. A formulation and no scheme of stabilization: mu enters the motion of the positions and
 * the step is solved as a whole, while a scheme gives feedback to, or corrects the end of, a step
 * that another formulation has made.
 *
 * The unknowns are h v1, dq, h lambda and mu (as M times a length), all of them lengths and angles
 * or M times these, so that the condition of the system does not depend on h (Bottasso, Dopico and
 * Trainelli 2008).  Solved by the simplified Newton iteration of models/stepping/implicit_step.h
 * with the full Jacobian, that of forces and of joints: steps may be as long as the motion allows,
 * whatever the stiffness, and go through positions in which J loses rank. Multipliers of
 * dependent rows are those of least norm.
 *
 * Servos are forces.  Contacts, limits and motors without damping it refuses: the step is one
 * smooth one whose equations hold together at its middle and its end.  An impact within it is a
 * jump of v1 that a mean velocity has no word for, and one-sided rows would be two sets of
 * complementarity conditions, of p with J v1 and of mu with C(q1), inside Newton's method
 * (nonsmooth generalized-alpha; not built).
 *
 * Cost per step: two evaluations and one solve on the graph of the model per pass; a Jacobian (some
 * tens of evaluations) and its factorization when convergence asks for it.  No allocation, but for
 * new pivots of wide models (local.h).  Fails with PERP_MAX_ITER when the iteration does not
 * converge. */
#include "models/stepping/stepper.h"
#include "models/stepping/implicit_step.h"

#include <string.h>

struct opts {
  int iterations;
};
static const perp_opt options[] = { PERP_INT(struct opts, iterations, 50, 1, 1000,
                                             "Largest number of Newton corrections in a step."),
                                    PERP_OPTIONS_END };

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double t, h;           /* of the step in the making */
  bool begun;            /* there is a step since the restart */
  double *x;             /* [newton.n] */
  double *u, *dq, *half; /* [nv] h v1, increment of q, scratch */
  double *y, *z;         /* [nv] */
  double *p, *mu, *row;  /* [m] multipliers as unknowns, scratch */
} workspace;

enum { PART_V, PART_Q }; /* of the bodies; of the joints likewise: p and mu, J v and C */

/* The equations of the step at the unknowns x, times h where they are of velocities:
 *      M (u - h v0) - h^2 f(qm, vm) - J(qm)' p,   M (dq - h vm) - J(qm)' mu,   J(q1) u,   C(q1). */
static bool ggl_residual(void *user, const double *x, double *r)
{
  workspace *work = user;
  perp_constrained *system = &work->s.k;
  const perp_model *model = system->model;
  const int nv = model->nv, m = model->m;
  const double h = work->h;
  perp_implicit_get_body(&work->newton, x, PART_V, work->u);
  perp_implicit_get_body(&work->newton, x, PART_Q, work->dq);
  perp_implicit_get_row(&work->newton, x, PART_V, work->p);
  perp_implicit_get_row(&work->newton, x, PART_Q, work->mu);
  for (int i = 0; i < nv; i++) work->half[i] = work->dq[i] / 2;
  perp_model_retract(model, work->s.q, work->half, work->s.q1); /* the middle */
  perp_constrained_at(system, work->t + h / 2, work->s.q1);
  work->s.grid.count.rhs++;
  for (int i = 0; i < nv; i++) work->half[i] = (work->s.v[i] + work->u[i] / h) / 2;
  perp_stepper_forces(&work->s, work->t + h / 2, work->half, system->f);
  for (int i = 0; i < nv; i++) work->y[i] = work->u[i] - h * work->s.v[i];
  perp_blocks_M(&system->e->blocks, work->y, work->z);
  for (int i = 0; i < nv; i++) work->z[i] -= h * h * system->f[i];
  if (m > 0) perp_blocks_Jt(&system->e->blocks, -1, work->p, work->z);
  perp_implicit_put_body(&work->newton, PART_V, work->z, r);
  for (int i = 0; i < nv; i++) work->y[i] = work->dq[i] - h * work->half[i];
  perp_blocks_M(&system->e->blocks, work->y, work->z);
  if (m > 0) perp_blocks_Jt(&system->e->blocks, -1, work->mu, work->z);
  perp_implicit_put_body(&work->newton, PART_Q, work->z, r);
  perp_model_retract(model, work->s.q, work->dq, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  perp_constrained_at(system, work->t + h, work->s.q1);
  perp_constrained_product(system, work->u, work->row);
  perp_constrained_driven(system, work->t + h, -h, work->row);
  perp_implicit_put_row(&work->newton, PART_V, work->row, r);
  perp_implicit_put_row(&work->newton, PART_Q, system->e->C, r);
  system->drift = perp_worst(m, system->e->C);
  return perp_all_finite(work->newton.n, r);
}

/* The multipliers of the start, for rows that are dependent, and the accelerations. */
static bool ggl_begin(workspace *work)
{
  perp_constrained *system = &work->s.k;
  perp_eval_impulse(system->e, system->model, work->t, work->h, work->s.v, system->f);
  memset(system->c, 0, (size_t)system->model->m * sizeof *system->c);
  perp_constrained_driven(system, work->t + work->h, 1, system->c);
  if (!perp_constrained_solve(system, PERP_LEVEL_VELOCITY, work->h, work->s.v)) return false;
  for (int i = 0; i < system->model->m; i++) work->s.lambda[i] = system->lambda[i] / work->h;
  work->begun = true;
  return true;
}

static perp_reason ggl_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *system = &work->s.k;
  const int nv = system->model->nv, m = system->model->m;
  double fastest = 0;
  work->t = t;
  work->h = h;
  perp_constrained_at(system, t, work->s.q);
  if (!work->begun && !ggl_begin(work)) return system->reason;
  /* first guess: as in the step before; system->a: h times the velocity */
  for (int i = 0; i < nv; i++) work->u[i] = h * work->s.v[i];
  for (int i = 0; i < m; i++) work->p[i] = h * h * work->s.lambda[i];
  memset(work->mu, 0, (size_t)m * sizeof *work->mu);
  perp_implicit_put_body(&work->newton, PART_V, work->u, work->x);
  perp_implicit_put_body(&work->newton, PART_Q, work->u, work->x);
  perp_implicit_put_row(&work->newton, PART_V, work->p, work->x);
  perp_implicit_put_row(&work->newton, PART_Q, work->mu, work->x);
  for (int i = 0; i < nv; i++) fastest = fmax(fastest, fabs(work->u[i]));
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const perp_reason reason = perp_implicit_solve(
      &work->newton, ggl_residual, work, h, &system->e->blocks, PERP_IMPLICIT_TOL,
      work->o.iterations, system->model->size + fastest, work->x);
  work->s.grid.count.iterations += work->newton.iterations - before;
  system->count.factorizations += (int)(work->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  for (int i = 0; i < nv; i++) work->s.v1[i] = work->u[i] / h;
  for (int i = 0; i < m; i++) work->s.lambda[i] = work->p[i] / (h * h);
  if (system->model->n_drives > 0) { /* in the middle, as lambda */
    for (int i = 0; i < nv; i++) work->half[i] = work->dq[i] / 2;
    perp_model_retract(system->model, work->s.q, work->half, work->s.q1);
    for (int i = 0; i < nv; i++) work->half[i] = (work->s.v[i] + work->s.v1[i]) / 2;
    perp_stepper_servos(&work->s, t + h / 2, work->s.q1, work->half);
    perp_model_retract(system->model, work->s.q, work->dq, work->s.q1);
  }
  perp_model_project(system->model, work->s.q1);
  return PERP_EXACT;
}

static void ggl_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, 2 * (model->nv + model->m), &work->x);
  PERP_DOUBLES(arena, model->nv, &work->u, &work->dq, &work->half, &work->y, &work->z);
  PERP_DOUBLES(arena, model->m, &work->p, &work->mu, &work->row);
}

static void ggl_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status ggl_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *work = ws;
  work->begun = false;
  perp_implicit_restart(&work->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status ggl_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  workspace like = { .s.make_step = ggl_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, ggl_layout, ws));
  const perp_status status = perp_implicit_create(ctx, model, 2, 2, &((workspace *)*ws)->newton);
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(*ws);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_ggl = {
  .d = { .name = "ggl",
         .summary =
             "Stabilized index-2 DAE (Gear, Gupta, Leimkuhler) by the midpoint rule; order 2",
         .reference = "Gear, Gupta and Leimkuhler 1985; Hairer and Wanner II, section VII.2",
         .equation = "q' = N (v + M^-1 J' mu),  M v' = f + J' lambda,  C = 0,  J v = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_MIDDLE | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_SERVOS },
  .create = ggl_create,
  .restart = ggl_restart,
  .step = perp_stepper_step,
  PERP_STEPPER_CALLS,
  .destroy = ggl_destroy,
};
