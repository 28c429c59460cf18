/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Augmented Lagrangian in index 3 with mass-orthogonal projections (Bayo and Ledesma 1996;
 * Cuadrado, Cardenal and Bayo 1997): constraints are penalties about multipliers that are iterated,
 * so that no rank is decided, and redundant rows and singular positions are like others.  By the
 * trapezoidal rule, in the unknown q1 = q0 [+] d,
 *
 *      v* = 2 d / h - v0,   a* = 4 d / h^2 - 4 v0 / h - a0,
 *      M a* - f(t1, q1, v*) - J' lambda = 0,   lambda = lambda* - alpha C(q1),
 *
 * solved by Newton's method, and lambda* <- lambda until C is small.  Then velocities and
 * accelerations, which index 3 leaves off their manifolds by O(h^2), are projected in the norm of M
 * by the same device,
 *
 *      (M + J' alpha J) v1 = M v* - J' (alpha C_t + sigma),   sigma <- sigma + alpha (J v1 + C_t)
 *
 *      (M + J' alpha J) a1 = M a* - J' (alpha gamma + kappa), kappa <- kappa + alpha (J a1 + gamma)
 *
 * gamma = Jdot v + ... .  Without them (project = false) the rule is that of generalized-alpha with
 * rho = 1, whose multipliers are not damped.
 *
 * alpha h^2 = penalty / (J M^-1 J')_ii for each row, without unit.  The penalty enters as softness
 * 1 / alpha of rows of a system that also has lambda as unknowns (implicit_step.h, kkt.h), the same
 * numbers without the condition of alpha; each pass gains a factor of about the penalty.
 *
 * Order 2 in q, v and lambda, J v1 = 0 to rounding, C to tol; no dissipation.  Joints with softness
 * are refused.  Cost per step: of generalized-alpha in index 3 about twice, and one factorization
 * with some solves of the KKT system for the projections.  No allocation, but for new pivots of
 * wide models (local.h). */
#include "models/stepping/implicit_step.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <string.h>

enum { PASSES = 20 }; /* of the multipliers in a step, at most */

struct opts {
  double penalty;
  int iterations;
  bool project;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, penalty, 1e6, 0, 1e12, PERP_OPEN_MIN, "",
            "Penalty of the constraints, in parts of the stiffness 1 / (h^2 J M^-1 J') that stops "
            "a row within a step."),
  PERP_BOOL(struct opts, project, true,
            "Project velocities and accelerations at the end of each step."),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "Largest number of Newton corrections in a pass."),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_implicit newton;
  double t, h;
  bool begun;
  double *accel, *accel1; /* [nv] at the start, at the end */
  double *x;              /* [newton.n] d and h^2 lambda */
  double *d, *y, *z;      /* [nv] */
  double *force, *p, *about,
      *soft;           /* [m] lambda at the start; h^2 lambda, h^2 lambda*, 1/(alpha h^2) */
  double *guess;       /* [m] lambda of the Newton iteration, before the projection */
  double *sigma, *row; /* [m] */
} workspace;

/* v* and a* of d */
static void augmented_end(workspace *work)
{
  const double h = work->h;
  for (int i = 0; i < work->s.k.model->nv; i++) {
    work->s.v1[i] = 2 * work->d[i] / h - work->s.v[i];
    work->accel1[i] = 2 * (work->s.v1[i] - work->s.v[i]) / h - work->accel[i];
  }
}

static bool augmented_residual(void *user, const double *x, double *r)
{
  workspace *work = user;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int m = model->m;
  const double h = work->h;
  perp_implicit_get_body(&work->newton, x, 0, work->d);
  perp_implicit_get_row(&work->newton, x, 0, work->p);
  augmented_end(work);
  perp_model_retract(model, work->s.q, work->d, work->s.q1);
  if (!perp_all_finite(model->nq, work->s.q1)) return false;
  perp_constrained_at(k, work->t + h, work->s.q1);
  work->s.grid.count.rhs++;
  perp_stepper_forces(&work->s, work->t + h, work->s.v1, k->f);
  perp_blocks_M(&k->e->blocks, work->accel1, work->z);
  for (int i = 0; i < model->nv; i++) work->z[i] = h * h * (work->z[i] - k->f[i]);
  if (m > 0) perp_blocks_Jt(&k->e->blocks, -1, work->p, work->z);
  perp_implicit_put_body(&work->newton, 0, work->z, r);
  for (int i = 0; i < m; i++)
    work->row[i] = k->e->C[i] + work->soft[i] * (work->p[i] - work->about[i]);
  perp_implicit_put_row(&work->newton, 0, work->row, r);
  k->drift = perp_worst(m, k->e->C);
  return perp_all_finite(work->newton.n, r);
}

/* Softness of the rows at system->e, a part of (J M^-1 J')_ii; a joint that was released has none.
 */
static void augmented_soften(workspace *work)
{
  perp_constrained *system = &work->s.k;
  const int m = system->model->m;
  if (m == 0) return;
  memset(system->S, 0, (size_t)m * sizeof *system->S);
  perp_blocks_diagonal(&system->e->blocks, work->soft);
  for (int i = 0; i < m; i++)
    system->S[i] = work->soft[i] = work->soft[i] > 0 ? work->soft[i] / work->o.penalty : 1;
  system->factored = NULL;
}

/* M x = f + J' sigma, J x = c at k->e by passes about sigma; x and work->sigma out. */
static bool augmented_constrain(workspace *work, const double *f, const double *c, double *x)
{
  perp_constrained *k = &work->s.k;
  const int m = k->model->m;
  double last = HUGE_VAL;
  memcpy(k->f, f, (size_t)k->model->nv * sizeof *f);
  memcpy(k->c, c, (size_t)m * sizeof *c);
  if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, work->h, work->s.v)) return false;
  memcpy(x, k->a, (size_t)k->model->nv * sizeof *x);
  memcpy(work->sigma, k->lambda, (size_t)m * sizeof *work->sigma);
  for (int pass = 1; pass < PASSES && m > 0; pass++) {
    double change = 0, scale = 0;
    for (int i = 0; i < m; i++) work->row[i] = c[i] + k->S[i] * work->sigma[i];
    if (!perp_constrained_response(k, f, work->row, x, k->lambda)) return false;
    for (int i = 0; i < m; i++) {
      change = fmax(change, fabs(k->S[i] * (k->lambda[i] - work->sigma[i])));
      scale = fmax(scale, fabs(k->S[i] * work->o.penalty * k->lambda[i]));
    }
    memcpy(work->sigma, k->lambda, (size_t)m * sizeof *work->sigma);
    if (change <= DBL_EPSILON * scale || !(change < 0.9 * last)) break;
    last = change;
  }
  return true;
}

/* y = a of the state at system->e, work->sigma the multipliers. */
static bool augmented_accelerate(workspace *work, double t, const double *v, double *a)
{
  perp_constrained *system = &work->s.k;
  perp_stepper_forces(&work->s, t, v, work->z);
  work->s.grid.count.rhs++;
  perp_joints_bias(system->model, system->e, v, work->p);
  for (int i = 0; i < system->model->m; i++) work->p[i] = -work->p[i];
  return augmented_constrain(work, work->z, work->p, a);
}

static bool augmented_begin(workspace *work)
{
  perp_constrained *system = &work->s.k;
  perp_constrained_at(system, work->t, work->s.q);
  augmented_soften(work);
  if (!augmented_accelerate(work, work->t, work->s.v, work->accel)) return false;
  memcpy(work->force, work->sigma, (size_t)system->model->m * sizeof *work->force);
  memcpy(work->guess, work->sigma, (size_t)system->model->m * sizeof *work->guess);
  work->begun = true;
  return true;
}

/* v1 and accel1 onto their manifolds. */
static bool augmented_project(workspace *work)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  augmented_soften(work);
  perp_blocks_M(&k->e->blocks, work->s.v1, work->z);
  memset(work->p, 0, (size_t)model->m * sizeof *work->p);
  perp_constrained_driven(k, work->t + work->h, 1, work->p);
  if (!augmented_constrain(work, work->z, work->p, work->s.v1)) return false;
  perp_blocks_M(&k->e->blocks, work->accel1, work->z);
  perp_joints_bias(model, k->e, work->s.v1, work->p);
  for (int i = 0; i < model->m; i++) work->p[i] = -work->p[i];
  return augmented_constrain(work, work->z, work->p, work->accel1);
}

static perp_reason augmented_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int m = model->m;
  double fastest = 0, last = HUGE_VAL;
  work->t = t;
  work->h = h;
  if (!work->begun && !augmented_begin(work)) return k->reason;
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  perp_constrained_at(k, t, work->s.q);
  if (!work->newton.factored || fabs(work->newton.h - h) >= 1e-6 * h) augmented_soften(work);
  for (int i = 0; i < model->nv; i++) {
    work->d[i] = h * (work->s.v[i] + h / 2 * work->accel[i]);
    fastest = fmax(fastest, fabs(work->d[i]));
  }
  for (int i = 0; i < m; i++) work->p[i] = work->about[i] = h * h * work->guess[i];
  perp_implicit_put_body(&work->newton, 0, work->d, work->x);
  perp_implicit_put_row(&work->newton, 0, work->p, work->x);
  const int64_t before = work->newton.iterations, jacobians = work->newton.jacobians;
  const double size = model->size + fastest;
  perp_reason reason = PERP_EXACT;
  for (int pass = 0; pass < PASSES; pass++) {
    double off = 0;
    reason = perp_implicit_solve(&work->newton, augmented_residual, work, h, &k->e->blocks,
                                 PERP_IMPLICIT_TOL, work->o.iterations, size, work->x);
    if (reason < 0) break;
    for (int i = 0; i < m; i++)
      off = fmax(off, fabs(work->soft[i] * (work->p[i] - work->about[i])));
    memcpy(work->about, work->p, (size_t)m * sizeof *work->about);
    if (off <= PERP_IMPLICIT_TOL * size || !(off < 0.9 * last)) break;
    last = off;
  }
  work->s.grid.count.iterations += work->newton.iterations - before;
  k->count.factorizations += (int)(work->newton.jacobians - jacobians);
  if (reason < 0) return reason;
  memcpy(work->s.lambda, work->force, (size_t)m * sizeof *work->force);
  for (int i = 0; i < m; i++) work->force[i] = work->guess[i] = work->p[i] / (h * h);
  if (work->o.project && m > 0) {
    if (!augmented_project(work)) return k->reason;
    for (int i = 0; i < m; i++) work->force[i] += work->sigma[i]; /* those of the projected a1 */
  }
  memcpy(work->accel, work->accel1, (size_t)model->nv * sizeof *work->accel);
  perp_model_project(model, work->s.q1);
  return PERP_EXACT;
}

static void augmented_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, model->nv + model->m, &work->x);
  PERP_DOUBLES(arena, model->nv, &work->accel, &work->accel1, &work->d, &work->y, &work->z);
  PERP_DOUBLES(arena, model->m, &work->force, &work->p, &work->about, &work->soft, &work->sigma,
               &work->row, &work->guess);
}

static void augmented_destroy(void *ws)
{
  if (ws != NULL) perp_implicit_destroy(&((workspace *)ws)->newton);
  perp_stepper_destroy(ws);
}

static perp_status augmented_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                     const double *v)
{
  workspace *work = ws;
  work->begun = false;
  perp_implicit_restart(&work->newton);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status augmented_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                    double h, void **ws)
{
  workspace like = { .s = { .make_step = augmented_make_step, .k.softens = true },
                     .o = *(const struct opts *)parts->formulation.opts };
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, augmented_layout, ws));
  perp_implicit *newton = &((workspace *)*ws)->newton;
  const perp_status status = perp_implicit_create(ctx, model, 1, 1, newton);
  newton->softened = true;
  if (status == PERP_OK) return PERP_OK;
  perp_stepper_destroy(*ws);
  *ws = NULL;
  return status;
}

const perp_formulation_desc perp_formulation_augmented_lagrangian = {
  .d = { .name = "augmented-lagrangian",
         .summary = "Augmented Lagrangian in index 3 with mass-orthogonal projections (Bayo, "
                    "Ledesma); order 2",
         .reference = "Bayo and Ledesma 1996; Cuadrado, Cardenal and Bayo 1997",
         .equation = "M a - f = J' (lambda* - alpha C),  (M + J' alpha J) v+ = M v*",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_FORM_COMPLIANT | PERP_CAP_ALLOCATES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS |
                 PERP_FORM_DISABLED | PERP_FORM_SERVOS },
  .create = augmented_create,
  .restart = augmented_restart,
  .step = perp_stepper_step,
  .destroy = augmented_destroy,
  PERP_STEPPER_CALLS,
};
