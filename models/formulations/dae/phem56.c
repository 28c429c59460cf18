/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Half-explicit Runge-Kutta method of order 5 for the equations of index 2,
 *
 *      q' = N(q) v,   M v' = f(t, q, v) + J' lambda,   0 = J v + C_t,
 *
 * in the partitioned form of Murua 1997 (PHERK; coefficients of his code PHEM56), the successor of
 * HEM5 (Brasey and Hairer 1993), whose eight stages need more factorizations.  Stages are those of
 * Dormand and Prince, each with a second point at which the constraint decides its multiplier:
 *
 *      Q_i = q0 [+] h sum_{j<i} a_ij Q'_j,     V_i = v0 + h sum_{j<i} a_ij V'_j,
 *      M V'_i = f(Q_i, V_i) + J(Q_i)' L_i,     Q'_i = dexp^-1 V_i,
 *      0 = J(Q~_i) (v0 + h sum_{j<=i} b_ij V'_j) + C_t,      Q~_i = q0 [+] h sum_{j<=i} b_ij Q'_j,
 *
 * i = 2 ... 6; the first stage has the accelerations at the start, of index 1, which are those at
 * the end of the step before.  The last second point is the end of the step, so that J v1 = 0.
 * Lambda, order 5 as the accelerations, is reported at the start.  Embedded order 4: the weights of
 * Dormand and Prince, the error of v projected on J e = 0.
 *
 * The matrix of a stage, [M -J(Q_i)'; J(Q~_i) 0], is not symmetric.  It is solved with the
 * symmetric factor at Q~_i (any KKT formulation, with its answer to dependent rows) as
 * preconditioner of GMRES for the multipliers, which gains a factor of |v| h / (10 size) in each
 * iteration, as both points are at most h / 9 apart.
 *
 * project = true: positions that are off C = 0 by the error of the step are moved back along
 * M^-1 J', velocities after them, with the last factor of the step.
 *
 * Cost per step: 11 evaluations, 5 factorizations, about 6 solves for each.  No allocation. Fails
 * with PERP_MAX_ITER where that does not converge: points of a stage on both sides of a singular
 * position. */
#include "models/multibody/servos.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <string.h>

enum { STAGES = 6, KRYLOV = 40, CYCLES = 10 };

struct opts {
  perp_stepper_control control;
  bool project;
};
static const perp_opt options[] = {
  PERP_STEPPER_CONTROL_OPTIONS,
  PERP_BOOL(struct opts, project, true,
            "Bring positions back to C = 0 at the end of each step, and velocities after them."),
  PERP_OPTIONS_END
};

/* a_ij of stages 2 ... 6 and b_ij of their second points (Dormand and Prince 1980; Murua 1997). */
static const double A[STAGES - 1][STAGES - 1] = {
  { 1. / 5 },
  { 3. / 40, 9. / 40 },
  { 44. / 45, -56. / 15, 32. / 9 },
  { 19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729 },
  { 9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656 },
};
static const double B[STAGES - 1][STAGES] = {
  { 3. / 40, 9. / 40 },
  { 21. / 256, 45. / 256, 15. / 128 },
  { 19235. / 98784, -225. / 392, 6235. / 6174, 2755. / 32928 },
  { -293. / 1152, 85. / 48, -2275. / 1908, 35. / 32, -2835. / 6784 },
  { 35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84 },
};
static const double C_A[STAGES - 1] = { 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1 };
static const double C_B[STAGES - 1] = { 3. / 10, 3. / 8, 5. / 7, 1, 1 };
static const double EMBEDDED[STAGES + 1] = {
  5179. / 57600, 0, 7571. / 16695, 393. / 640, -92097. / 339200, 187. / 2100, 1. / 40
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  perp_eval stage;                 /* at Q_i */
  bool begun;                      /* accel and force hold at the start */
  double *accel, *force;           /* [nv], [m] at the start of the step */
  double *accel1, *force1;         /* at its end */
  double *dq[STAGES], *dv[STAGES]; /* [nv] Q'_i, V'_i */
  double *u, *w, *f, *r, *da, *w2; /* [nv] */
  double *basis;                   /* [KRYLOV + 1, m] */
  double *e_q, *e_v;               /* [nv] */
  double *qs;                      /* [nq] */
  double *c, *row, *lambda;        /* [m] */
} workspace;

/* x = x0 + h sum_j weight_j rate_j, x0 NULL: 0 */
static void phem_sum(int nv, const double *x0, double h, int n, const double *weight,
                     double *const *rate, double *x)
{
  for (int i = 0; i < nv; i++) {
    double sum = 0;
    for (int j = 0; j < n; j++) sum += weight[j] * rate[j][i];
    x[i] = (x0 == NULL ? 0 : x0[i]) + h * sum;
  }
}

/* f of the model at eval */
static void phem_forces(workspace *work, const perp_eval *eval, double t, const double *v,
                        double *f)
{
  const perp_model *model = work->s.k.model;
  perp_eval_forces(eval, model, t, v, true, f);
  perp_servos_apply(model, eval, t, v, NULL, f);
  work->s.grid.count.rhs++;
}

/* r = S^-1 (c - J(system->e) M^-1 (f + columns' lambda)), S = J M^-1 J' of the factor, whatever its
 * position; f and c NULL: 0.  a = M^-1 (f + columns' lambda). */
static bool phem_apply(workspace *work, const perp_eval *columns, const double *f, const double *c,
                       const double *lambda, double sign, double *a, double *r)
{
  perp_constrained *system = &work->s.k;
  const int m = system->model->m;
  memset(work->r, 0, (size_t)system->model->nv * sizeof *work->r);
  if (f != NULL) memcpy(work->r, f, (size_t)system->model->nv * sizeof *work->r);
  perp_blocks_Jt(&columns->blocks, 1, lambda, work->r);
  perp_blocks_Minv(&system->e->blocks, work->r, a);
  perp_constrained_product(system, a, work->row);
  for (int i = 0; i < m; i++) work->row[i] = sign * ((c == NULL ? 0 : c[i]) - work->row[i]);
  work->s.grid.count.iterations++;
  return perp_constrained_response(system, system->zeros, work->row, work->da, r);
}

static double phem_dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* A cycle of GMRES on the residual in basis[0]: lambda is moved. */
static bool phem_cycle(workspace *work, const perp_eval *columns, double norm, double enough)
{
  const int m = work->s.k.model->m, most = m < KRYLOV ? m : KRYLOV;
  double H[KRYLOV + 1][KRYLOV], cosine[KRYLOV], sine[KRYLOV], g[KRYLOV + 1] = { norm };
  int n = 0;
  for (int i = 0; i < m; i++) work->basis[i] /= norm;
  while (n < most && fabs(g[n]) > enough) {
    double *next = work->basis + (size_t)(n + 1) * (size_t)m;
    if (!phem_apply(work, columns, NULL, NULL, work->basis + (size_t)n * (size_t)m, -1, work->w2,
                    next))
      return false;
    for (int j = 0; j <= n; j++) {
      const double *old = work->basis + (size_t)j * (size_t)m;
      H[j][n] = phem_dot(m, old, next);
      for (int i = 0; i < m; i++) next[i] -= H[j][n] * old[i];
    }
    const double length = sqrt(phem_dot(m, next, next));
    for (int j = 0; j < n; j++) {
      const double x = H[j][n], y = H[j + 1][n];
      H[j][n] = cosine[j] * x + sine[j] * y;
      H[j + 1][n] = cosine[j] * y - sine[j] * x;
    }
    const double radius = hypot(H[n][n], length);
    if (!(radius > 0)) break;
    cosine[n] = H[n][n] / radius;
    sine[n] = length / radius;
    H[n][n] = radius;
    g[n + 1] = -sine[n] * g[n];
    g[n] *= cosine[n];
    for (int i = 0; i < m && length > 0; i++) next[i] /= length;
    n++;
  }
  for (int j = n - 1; j >= 0; j--) {
    for (int l = j + 1; l < n; l++) g[j] -= H[j][l] * g[l];
    g[j] /= H[j][j];
    for (int i = 0; i < m; i++)
      work->lambda[i] += g[j] * work->basis[(size_t)j * (size_t)m + (size_t)i];
  }
  return true;
}

/* M a = f + columns' lambda,  J(system->e) a = c, with the factor of a position near by as a
 * preconditioner; work->lambda in: a guess. */
static bool phem_refine(workspace *work, const perp_eval *columns, const double *f, const double *c,
                        double *a)
{
  perp_constrained *system = &work->s.k;
  const int m = system->model->m;
  double last = HUGE_VAL;
  for (int cycle = 0; m > 0 && cycle < CYCLES; cycle++) {
    if (!phem_apply(work, columns, f, c, work->lambda, 1, a, work->basis)) return false;
    const double norm = sqrt(phem_dot(m, work->basis, work->basis)),
                 scale = sqrt(phem_dot(m, work->lambda, work->lambda));
    if (norm <= 8 * DBL_EPSILON * scale || norm == 0) return true;
    if (norm > last / 2 && norm <= 1e-10 * scale) return true; /* rounding */
    if (!(norm < 0.9 * last)) break;
    last = norm;
    if (!phem_cycle(work, columns, norm, DBL_EPSILON * scale)) return false;
  }
  if (m == 0) {
    perp_blocks_Minv(&system->e->blocks, f, a);
    return true;
  }
  system->reason = PERP_MAX_ITER;
  return false;
}

/* c = -Jdot v of the state at system->e */
static void phem_bias(workspace *work, const double *v)
{
  const perp_constrained *system = &work->s.k;
  perp_joints_bias(system->model, system->e, v, work->c);
  for (int i = 0; i < system->model->m; i++) work->c[i] = -work->c[i];
}

static bool phem_begin(workspace *work, double t, double h)
{
  perp_constrained *system = &work->s.k;
  perp_constrained_at(system, t, work->s.q);
  phem_forces(work, system->e, t, work->s.v, system->f);
  phem_bias(work, work->s.v);
  memcpy(system->c, work->c, (size_t)system->model->m * sizeof *system->c);
  if (!perp_constrained_solve(system, PERP_LEVEL_ACCELERATION, h, work->s.v)) return false;
  memcpy(work->accel, system->a, (size_t)system->model->nv * sizeof *work->accel);
  memcpy(work->force, system->lambda, (size_t)system->model->m * sizeof *work->force);
  work->begun = true;
  return true;
}

/* V'_i of stage i (0: the second one) and, in the arrays of the stepper, its second point. */
static bool phem_stage(workspace *work, int i, double t, double h)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv, n = i + 1;
  const size_t size = (size_t)nv * sizeof *work->w;
  phem_sum(nv, NULL, h, n, A[i], work->dq, work->u);
  phem_sum(nv, work->s.v, h, n, A[i], work->dv, work->w);
  perp_model_retract(model, work->s.q, work->u, work->qs);
  if (!perp_all_finite(model->nq, work->qs)) {
    k->reason = PERP_NOT_FINITE;
    return false;
  }
  perp_eval_at(&work->stage, model, t + C_A[i] * h, work->qs);
  phem_forces(work, &work->stage, t + C_A[i] * h, work->w, work->f);
  perp_model_dexpinv(model, work->u, work->w, work->dq[n]);
  /* the second point */
  phem_sum(nv, NULL, h, n + 1, B[i], work->dq, work->u);
  phem_sum(nv, work->s.v, h, n, B[i], work->dv, work->w);
  perp_model_retract(model, work->s.q, work->u, work->s.q1);
  perp_constrained_at(k, t + C_B[i] * h, work->s.q1);
  perp_constrained_rate(k, work->w, work->c);
  for (int j = 0; j < model->m; j++) work->c[j] /= -h * B[i][n];
  memcpy(k->f, work->f, size);
  memcpy(k->c, work->c, (size_t)model->m * sizeof *k->c);
  if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, h, work->s.v)) return false;
  memcpy(work->dv[n], k->a, size);
  memcpy(work->lambda, k->lambda, (size_t)model->m * sizeof *work->lambda);
  if (!phem_refine(work, &work->stage, work->f, work->c, work->dv[n])) return false;
  for (int j = 0; j < nv; j++) work->s.v1[j] = work->w[j] + h * B[i][n] * work->dv[n][j];
  return true;
}

/* q1 and v1 to C = 0 and J v + C_t = 0 by the factor of q1. */
static bool phem_project(workspace *work, double t)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const double rounding = 4 * DBL_EPSILON * (model->size > 0 ? model->size : 1);
  double last = HUGE_VAL;
  for (int pass = 0; pass < 20; pass++) {
    perp_constrained_error(k, work->c);
    const double worst = perp_worst(model->m, work->c);
    if (!(worst > rounding && worst < 0.5 * last)) break;
    last = worst;
    for (int i = 0; i < model->m; i++) work->c[i] = -work->c[i];
    if (!perp_constrained_response(k, k->zeros, work->c, work->da, work->row)) return false;
    perp_model_retract(model, work->s.q1, work->da, work->s.q1);
    perp_constrained_at(k, t, work->s.q1);
  }
  last = HUGE_VAL;
  for (int pass = 0; pass < 20; pass++) {
    perp_constrained_rate(k, work->s.v1, work->c);
    const double worst = perp_worst(model->m, work->c);
    if (!(worst > 0 && worst < 0.5 * last)) return true;
    last = worst;
    for (int i = 0; i < model->m; i++) work->c[i] = -work->c[i];
    if (!perp_constrained_response(k, k->zeros, work->c, work->da, work->row)) return false;
    for (int i = 0; i < model->nv; i++) work->s.v1[i] += work->da[i];
  }
  return true;
}

/* The error of the step against the embedded method; work->u is the increment of q without the
 * projection, v1 is v0 + e_v before it. */
static bool phem_error(workspace *work, double h)
{
  perp_constrained *k = &work->s.k;
  const int nv = k->model->nv;
  double *rate = work->w;
  perp_model_dexpinv(k->model, work->u, work->s.v1, rate);
  for (int i = 0; i < nv; i++) {
    double q = work->u[i] - h * EMBEDDED[STAGES] * rate[i];
    double v = work->e_v[i] - h * EMBEDDED[STAGES] * work->accel1[i];
    for (int j = 0; j < STAGES; j++) {
      q -= h * EMBEDDED[j] * work->dq[j][i];
      v -= h * EMBEDDED[j] * work->dv[j][i];
    }
    work->e_q[i] = q;
    work->e_v[i] = v;
  }
  if (k->model->m > 0) {
    perp_constrained_product(k, work->e_v, work->c);
    for (int i = 0; i < k->model->m; i++) work->c[i] = -work->c[i];
    if (!perp_constrained_response(k, k->zeros, work->c, work->da, work->row)) return false;
    for (int i = 0; i < nv; i++) work->e_v[i] += work->da[i];
  }
  perp_stepper_judge(&work->s, &work->o.control, h, work->e_q, work->e_v);
  return true;
}

static perp_reason phem_make_step(perp_stepper *stepper, double t, double h)
{
  workspace *work = (workspace *)stepper;
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv;
  const size_t size = (size_t)nv * sizeof *work->accel, rows = (size_t)model->m * sizeof *work->c;
  work->s.error = 0;
  if (!work->begun && !phem_begin(work, t, h)) return k->reason;
  memcpy(work->dq[0], work->s.v, size);
  memcpy(work->dv[0], work->accel, size);
  perp_stepper_servos(&work->s, t, work->s.q, work->s.v);
  for (int i = 0; i < STAGES - 1; i++)
    if (!phem_stage(work, i, t, h)) return k->reason;
  k->drift = perp_worst(model->m, k->e->C);
  for (int i = 0; i < nv; i++) work->e_v[i] = work->s.v1[i] - work->s.v[i];
  if (work->o.project && model->m > 0 && !phem_project(work, t + h)) return k->reason;
  if (!perp_all_finite(model->nq, work->s.q1) || !perp_all_finite(nv, work->s.v1))
    return PERP_NOT_FINITE;
  /* accelerations at the end, with the same factor */
  phem_forces(work, k->e, t + h, work->s.v1, work->f);
  phem_bias(work, work->s.v1);
  if (!phem_refine(work, k->e, work->f, work->c, work->accel1)) return k->reason;
  memcpy(work->force1, work->lambda, rows);
  memcpy(work->s.lambda, work->force, rows);
  if (work->o.control.tol > 0 && !phem_error(work, h)) return k->reason;
  perp_model_project(model, work->s.q1);
  return PERP_EXACT;
}

static void phem_keep(perp_stepper *stepper)
{
  workspace *work = (workspace *)stepper;
  const perp_model *model = work->s.k.model;
  memcpy(work->accel, work->accel1, (size_t)model->nv * sizeof *work->accel);
  memcpy(work->force, work->force1, (size_t)model->m * sizeof *work->force);
}

static void phem_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  perp_eval_layout(&work->stage, model, arena);
  for (int i = 0; i < STAGES; i++) PERP_DOUBLES(arena, model->nv, &work->dq[i], &work->dv[i]);
  PERP_DOUBLES(arena, model->nv, &work->accel, &work->accel1, &work->u, &work->w, &work->f,
               &work->r, &work->da, &work->w2, &work->e_q, &work->e_v);
  PERP_DOUBLES(arena, (KRYLOV + 1) * model->m, &work->basis);
  PERP_DOUBLES(arena, model->nq, &work->qs);
  PERP_DOUBLES(arena, model->m, &work->force, &work->force1, &work->c, &work->row, &work->lambda);
}

static perp_status phem_restart(perp_ctx *ctx, void *ws, double t, const double *q, const double *v)
{
  workspace *work = ws;
  work->begun = false;
  perp_stepper_control_restart(&work->o.control, work->s.grid.h);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status phem_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                               void **ws)
{
  workspace like = { .s = { .make_step = phem_make_step, .keep = phem_keep },
                     .o = *(const struct opts *)parts->formulation.opts };
  like.o.control.order = 4;
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, parts->formulation.d->name));
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, phem_layout, ws));
  perp_eval_init(&((workspace *)*ws)->stage, model);
  return PERP_OK;
}

static perp_status phem_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  return perp_stepper_controlled(ctx, ws, &((workspace *)ws)->o.control, t_max, info);
}

const perp_formulation_desc perp_formulation_phem56 = {
  .d = { .name = "phem56",
         .summary = "Half-explicit Runge-Kutta for index 2 (Murua's PHEM56, of HEM5's family); "
                    "order 5",
         .reference = "Murua 1997; Brasey and Hairer 1993; Hairer and Wanner II, section VII.6",
         .equation = "M V'_i = f(Q_i, V_i) + J(Q_i)' L_i,  J(Q~_i) V~_i = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_BREAKS | PERP_FORM_USES_KKT |
                 PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED | PERP_FORM_SERVOS },
  .create = phem_create,
  .restart = phem_restart,
  .step = phem_step,
  .destroy = perp_stepper_destroy,
  PERP_STEPPER_CALLS,
};
