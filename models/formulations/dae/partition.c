/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Positions near q* are q = q* [+] D u, D the units of lengths (the size of the model) and of
 * angles, and the increments split in independent and dependent ones,
 *
 *      u = N y + Y w,     [Y N] orthogonal,     C(q) = 0  gives  w(t, y),
 *      u' = N y' + Y w',  v = T D u',           J v + C_t = 0  gives  w',
 *      y'' = N' D^-1 (T^-1 v' + (T^-1)' v),     v' of M v' = f + J' lambda, J v' = -Jdot v,
 *
 * T^-1 = dexp^-1 of the increments of rotations.  Any ODE method integrates y, whose number is that
 * of the degrees of freedom: constraints hold to rounding at each evaluation, and nothing drifts.
 *
 * w is found by Newton's method from its rate at the last regular state, in the least-squares sense
 * of all rows, so that redundant ones need no choice.  Y and N are chosen anew, about the state at
 * hand, at the end of a step in which the matrix that has to be inverted, J Y, has become worse by
 * WORSE, or a rotation has passed a radian (multistep methods lose their history).  In singular
 * positions no choice is good: the iteration fails near them, or goes on along another branch.
 *
 * Dense algebra: an evaluation costs O(m nv r) for the r independent rows beside the KKT solve.  No
 * allocation in steps. */
#include "models/formulations/dae/partition.h"

#include "models/multibody/servos.h"
#include "models/stepping/stepper.h"

#include <float.h>
#include <lapacke.h>
#include <stdlib.h>
#include <string.h>

/* Coordinates are chosen anew where a dependent one moves so much faster than an independent one,
 * relative to the last choice: a third of a digit is lost then. */
static const double WORSE = 2;

enum { CORRECTIONS = 50 };

typedef struct workspace {
  perp_constrained k; /* first: see perp_formulation_ode_sys */
  perp_partition_choose *choose;
  perp_ode *ode;
  const char *name;
  int f, r;               /* degrees of freedom, independent rows */
  double begun;           /* what the choice began with */
  double t;               /* of the last regular state */
  double *base;           /* [nq] q* */
  double *Q;              /* [nv nv] Y and N */
  double *J, *A, *tau;    /* [m nv] J T D, [m r] its product with Y and the QR factors, [r] */
  double *turn;           /* [9 bodies] T of the rotations */
  double *u, *rate;       /* [nv] u, u' */
  double *w, *dw;         /* [r] at the last evaluation */
  double *w0, *dw0;       /* [r] at the last regular state */
  double *q, *v;          /* [nq], [nv] of the last evaluation */
  double *qs, *vs;        /* at the last regular state */
  double *x;              /* [nv] */
  double *c;              /* [max(m, nv)] */
  double *y, *dy;         /* [f] for restarts */
  double *lambda, *servo; /* [m], [drives] at the start of the step */
  double *work;
  int *pivot;
} workspace;

/* ---- coordinates ---- */

static double partition_unit(const perp_model *model, int i)
{
  return i % model->nvb < model->dim && model->size > 0 ? model->size : 1;
}

/* x = N y + Y w */
static void partition_join(const workspace *work, const double *y, const double *w, double *x)
{
  const int nv = work->k.model->nv;
  memset(x, 0, (size_t)nv * sizeof *x);
  for (int j = 0; j < nv; j++) {
    const double s = j < work->r ? w[j] : y[j - work->r];
    for (int i = 0; i < nv && s != 0; i++) x[i] += s * work->Q[(size_t)j * (size_t)nv + (size_t)i];
  }
}

/* y = N' x */
static void partition_independent(const workspace *work, const double *x, double *y)
{
  const int nv = work->k.model->nv;
  for (int j = work->r; j < nv; j++) {
    y[j - work->r] = 0;
    for (int i = 0; i < nv; i++)
      y[j - work->r] += work->Q[(size_t)j * (size_t)nv + (size_t)i] * x[i];
  }
}

static void partition_cross(const double *a, const double *b, double *c)
{
  for (int i = 0; i < 3; i++)
    c[i] = a[(i + 1) % 3] * b[(i + 2) % 3] - a[(i + 2) % 3] * b[(i + 1) % 3];
}

/* g = (1 - x/2 cot x/2) / x^2 and k = g' / x, of x^2 */
static void partition_series(double x2, double *g, double *k)
{
  static const double c[] = { 1. / 12,
                              1. / 720,
                              1. / 30240,
                              1. / 1209600,
                              1. / 47900160,
                              691. / 1307674368000,
                              1. / 74724249600,
                              3617. / 10670622842880000,
                              43867. / 5109094217170944000 };
  enum { TERMS = sizeof c / sizeof *c };
  if (x2 > 1) {
    const double x = sqrt(x2), cot = 1 / tan(x / 2), sin2 = sin(x / 2) * sin(x / 2);
    *g = (1 - x / 2 * cot) / x2;
    *k = (-2 / x + cot / 2 + x / (4 * sin2)) / (x2 * x);
    return;
  }
  *g = *k = 0;
  for (int i = TERMS - 1; i >= 0; i--) {
    *g = *g * x2 + c[i];
    if (i > 0) *k = *k * x2 + 2 * i * c[i];
  }
}

/* T of a body, inverse of v + u x v / 2 + g u x (u x v) */
static void partition_turn(const double *u, double *T)
{
  double inverse[9], g, k;
  partition_series(u[0] * u[0] + u[1] * u[1] + u[2] * u[2], &g, &k);
  for (int j = 0; j < 3; j++) {
    double e[3] = { 0 }, a[3], b[3];
    e[j] = 1;
    partition_cross(u, e, a);
    partition_cross(u, a, b);
    for (int i = 0; i < 3; i++) inverse[3 * j + i] = e[i] + a[i] / 2 + g * b[i];
  }
  double rows[9]; /* of the adjugate */
  for (int i = 0; i < 3; i++)
    partition_cross(inverse + 3 * ((i + 1) % 3), inverse + 3 * ((i + 2) % 3), rows + 3 * i);
  const double det = inverse[0] * rows[0] + inverse[1] * rows[1] + inverse[2] * rows[2];
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) T[3 * j + i] = rows[3 * i + j] / det;
}

/* x <- T x */
static void partition_forward(const workspace *work, double *x)
{
  const perp_model *model = work->k.model;
  for (int body = 0; model->dim == 3 && body < model->n_bodies; body++) {
    const double *T = work->turn + 9 * body,
                 s[3] = { x[6 * body + 3], x[6 * body + 4], x[6 * body + 5] };
    for (int i = 0; i < 3; i++)
      x[6 * body + 3 + i] = T[i] * s[0] + T[3 + i] * s[1] + T[6 + i] * s[2];
  }
}

/* J T D at k->e to work->J */
static void partition_jacobian(workspace *work)
{
  const perp_model *model = work->k.model;
  const perp_blocks *blocks = &work->k.e->blocks;
  const size_t m = (size_t)model->m;
  memset(work->J, 0, m * (size_t)model->nv * sizeof *work->J);
  for (int g = 0; g < blocks->nc; g++)
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      const int b = blocks->jblk[k], col = blocks->bptr[b], d = blocks->bptr[b + 1] - col,
                row = blocks->cptr[g], r = blocks->cptr[g + 1] - row;
      const double *from = blocks->J + blocks->joff[k];
      for (int j = 0; j < d; j++)
        for (int i = 0; i < r; i++) {
          double sum = from[i + j * r];
          if (model->dim == 3 && j >= 3) {
            sum = 0;
            for (int l = 0; l < 3; l++)
              sum += from[i + (3 + l) * r] * work->turn[9 * b + 3 * (j - 3) + l];
          }
          work->J[(size_t)(row + i) + (size_t)(col + j) * m] = partition_unit(model, col + j) * sum;
        }
    }
}

/* A = J T D Y, factored */
static bool partition_factor(workspace *work)
{
  const int lda = work->k.model->m, nv = work->k.model->nv, r = work->r;
  work->k.count.factorizations++;
  for (int j = 0; j < r; j++) {
    double *column = work->A + (size_t)j * (size_t)lda;
    memset(column, 0, (size_t)lda * sizeof *column);
    for (int l = 0; l < nv; l++) {
      const double s = work->Q[(size_t)j * (size_t)nv + (size_t)l];
      for (int i = 0; i < lda && s != 0; i++)
        column[i] += s * work->J[(size_t)i + (size_t)l * (size_t)lda];
    }
  }
  return r == 0 || LAPACKE_dgeqrf_work(LAPACK_COL_MAJOR, lda, r, work->A, lda, work->tau,
                                       work->work, perp_partition_work(lda, nv)) == 0;
}

/* x [r] of least |A x - c|, c [m] overwritten by it */
static bool partition_solve(workspace *work, double *c)
{
  const int m = work->k.model->m, nv = work->k.model->nv, r = work->r;
  if (r == 0) return true;
  return LAPACKE_dormqr_work(LAPACK_COL_MAJOR, 'L', 'T', m, 1, r, work->A, m, work->tau, c, m,
                             work->work, perp_partition_work(m, nv)) == 0 &&
         LAPACKE_dtrtrs_work(LAPACK_COL_MAJOR, 'U', 'N', 'N', r, 1, work->A, m, c, m) == 0;
}

/* q at y, w in and out: system->e there, work->turn and work->J with it. */
static bool partition_position(workspace *work, double t, const double *y)
{
  perp_constrained *system = &work->k;
  const perp_model *model = system->model;
  double last = HUGE_VAL;
  bool factored = false;
  for (int i = 0; i < CORRECTIONS; i++) {
    partition_join(work, y, work->w, work->u);
    for (int j = 0; j < model->nv; j++) work->u[j] *= partition_unit(model, j);
    perp_model_retract(model, work->base, work->u, work->q);
    if (!perp_all_finite(model->nq, work->q)) break;
    perp_constrained_at(system, t, work->q);
    for (int body = 0; model->dim == 3 && body < model->n_bodies; body++)
      partition_turn(work->u + 6 * body + 3, work->turn + 9 * body);
    if (!factored) {
      partition_jacobian(work);
      if (!partition_factor(work)) break;
      factored = true;
    }
    double change = 0, most = 1;
    for (int j = 0; j < model->m; j++) work->c[j] = -system->e->C[j];
    if (!partition_solve(work, work->c)) break;
    for (int j = 0; j < work->r; j++) {
      if (!(fabs(work->c[j]) <= change)) change = fabs(work->c[j]);
      most = fmax(most, fabs(work->w[j]));
    }
    if (change <= 2 * DBL_EPSILON * most || (change < 1e-9 * most && change > last / 2)) {
      if (i > 0) partition_jacobian(work);
      return true;
    }
    if (!(change < 10 * most)) break;
    if (change > last / 10) factored = false;
    last = change;
    for (int j = 0; j < work->r; j++) work->w[j] += work->c[j];
  }
  system->reason = PERP_MAX_ITER;
  return false;
}

/* v at the position of the last call with the rates dy; dw in and out. */
static bool partition_velocity(workspace *work, const double *dy)
{
  const perp_model *model = work->k.model;
  double last = HUGE_VAL;
  for (int i = 0; i < CORRECTIONS; i++) {
    partition_join(work, dy, work->dw, work->rate);
    for (int j = 0; j < model->nv; j++) work->v[j] = work->rate[j] * partition_unit(model, j);
    partition_forward(work, work->v);
    perp_constrained_rate(&work->k, work->v, work->c);
    double change = 0, most = 0;
    for (int j = 0; j < model->m; j++) work->c[j] = -work->c[j];
    if (!partition_solve(work, work->c)) break;
    for (int j = 0; j < model->nv; j++) most = fmax(most, fabs(work->rate[j]));
    for (int j = 0; j < work->r; j++)
      if (!(fabs(work->c[j]) <= change)) change = fabs(work->c[j]);
    if (change <= 2 * DBL_EPSILON * most || (change < 1e-9 * most && change > last / 2))
      return true;
    if (!(change < last)) break;
    last = change;
    for (int j = 0; j < work->r; j++) work->dw[j] += work->c[j];
  }
  work->k.reason = PERP_MAX_ITER;
  return false;
}

static bool partition_at(workspace *work, double t, const double *y, const double *dy)
{
  for (int j = 0; j < work->r; j++) work->w[j] = work->w0[j] + (t - work->t) * work->dw0[j];
  memcpy(work->dw, work->dw0, (size_t)work->r * sizeof *work->dw);
  return partition_position(work, t, y) && partition_velocity(work, dy);
}

/* The largest rate of a dependent coordinate per rate of an independent one. */
static double partition_gain(workspace *work)
{
  const int m = work->k.model->m, nv = work->k.model->nv;
  double most = 0;
  if (work->r == 0) return 0;
  if (!partition_factor(work)) return HUGE_VAL;
  for (int j = work->r; j < nv; j++) {
    memset(work->c, 0, (size_t)m * sizeof *work->c);
    for (int l = 0; l < nv; l++) {
      const double s = work->Q[(size_t)j * (size_t)nv + (size_t)l];
      for (int i = 0; i < m && s != 0; i++)
        work->c[i] += s * work->J[(size_t)i + (size_t)l * (size_t)m];
    }
    if (!partition_solve(work, work->c)) return HUGE_VAL;
    for (int i = 0; i < work->r; i++)
      if (!(fabs(work->c[i]) <= most)) most = fabs(work->c[i]);
  }
  return most;
}

/* Q about q at k->e; the rank as it was at the creation, or else false and the old one. */
static bool partition_choose(workspace *work, double t, const double *q, const double *v)
{
  const perp_model *model = work->k.model;
  const int nv = model->nv;
  int rank = 0;
  perp_constrained_at(&work->k, t, q);
  memset(work->u, 0, (size_t)nv * sizeof *work->u);
  for (int body = 0; model->dim == 3 && body < model->n_bodies; body++)
    partition_turn(work->u + 6 * body + 3, work->turn + 9 * body);
  partition_jacobian(work);
  double *Q = work->Q + (size_t)nv * (size_t)nv; /* the new one */
  if (!work->choose(model->m, nv, work->J, Q, &rank, work->pivot, work->A, work->work))
    return false;
  if (work->f >= 0 && rank != work->r) return false;
  memcpy(work->Q, Q, (size_t)nv * (size_t)nv * sizeof *Q);
  work->r = rank;
  work->f = nv - rank;
  memmove(work->base, q, (size_t)model->nq * sizeof *q);
  memset(work->w0, 0, (size_t)rank * sizeof *work->w0);
  memset(work->y, 0, (size_t)work->f * sizeof *work->y);
  for (int i = 0; i < nv; i++) work->x[i] = v[i] / partition_unit(model, i);
  partition_independent(work, work->x, work->dy);
  for (int j = 0; j < rank; j++) {
    work->dw0[j] = 0;
    for (int i = 0; i < nv; i++)
      work->dw0[j] += work->Q[(size_t)j * (size_t)nv + (size_t)i] * work->x[i];
  }
  work->t = t;
  partition_jacobian(work);
  work->begun = fmax(1, partition_gain(work));
  return true;
}

/* ---- the differential equation ---- */

static perp_ode_answer partition_deriv(void *user, double t, double h, const double *y,
                                       const double *dy, bool intermediate, double *ydot, double *a)
{
  workspace *work = user;
  perp_constrained *k = &work->k;
  const perp_model *model = k->model;
  if (!partition_at(work, t, y, dy)) return PERP_ODE_FAILED;
  if (ydot != NULL) memcpy(ydot, dy, (size_t)work->f * sizeof *ydot);
  perp_eval_forces(k->e, model, t, work->v, true, k->f);
  perp_servos_apply(model, k->e, t, work->v, intermediate ? NULL : work->servo, k->f);
  perp_joints_bias(model, k->e, work->v, k->c);
  for (int i = 0; i < model->m; i++) k->c[i] = -k->c[i];
  if (!perp_constrained_solve(k, PERP_LEVEL_ACCELERATION, h, work->v)) return PERP_ODE_FAILED;
  if (!intermediate) memcpy(work->lambda, k->lambda, (size_t)model->m * sizeof *work->lambda);
  /* u'' */
  perp_model_dexpinv(model, work->u, k->a, work->x);
  for (int b = 0; model->dim == 3 && b < model->n_bodies; b++) {
    const double *u = work->u + 6 * b + 3, *du = work->rate + 6 * b + 3, *v = work->v + 6 * b + 3;
    double g, kk, uv[3], duv[3], uuv[3], duuv[3], uduv[3];
    partition_series(u[0] * u[0] + u[1] * u[1] + u[2] * u[2], &g, &kk);
    partition_cross(u, v, uv);
    partition_cross(du, v, duv);
    partition_cross(u, uv, uuv);
    partition_cross(du, uv, duuv);
    partition_cross(u, duv, uduv);
    kk *= u[0] * du[0] + u[1] * du[1] + u[2] * du[2];
    for (int i = 0; i < 3; i++)
      work->x[6 * b + 3 + i] += duv[i] / 2 + kk * uuv[i] + g * (duuv[i] + uduv[i]);
  }
  for (int i = 0; i < model->nv; i++) work->x[i] /= partition_unit(model, i);
  partition_independent(work, work->x, a);
  return PERP_ODE_OK;
}

static void partition_keep(workspace *work, double t)
{
  const perp_model *model = work->k.model;
  work->t = t;
  memcpy(work->w0, work->w, (size_t)work->r * sizeof *work->w);
  memcpy(work->dw0, work->dw, (size_t)work->r * sizeof *work->dw);
  memcpy(work->qs, work->q, (size_t)model->nq * sizeof *work->q);
  memcpy(work->vs, work->v, (size_t)model->nv * sizeof *work->v);
  work->k.drift = perp_worst(model->m, work->k.e->C);
}

static perp_ode_answer partition_accept(void *user, double t, double *y, double *dy)
{
  workspace *work = user;
  const perp_model *model = work->k.model;
  if (!partition_at(work, t, y, dy)) return PERP_ODE_FAILED;
  partition_keep(work, t);
  double turned = 0;
  for (int i = 0; i < model->nv; i++)
    if (i % model->nvb >= model->dim && model->dim == 3) turned = fmax(turned, fabs(work->u[i]));
  const double gain = partition_gain(work);
  if (turned < 1 && gain <= WORSE * work->begun) return PERP_ODE_OK;
  if (!partition_choose(work, t, work->qs, work->vs)) return PERP_ODE_OK; /* singular: as before */
  memcpy(y, work->y, (size_t)work->f * sizeof *y);
  memcpy(dy, work->dy, (size_t)work->f * sizeof *dy);
  perp_model_project(model, work->base);
  return PERP_ODE_CHANGED;
}

/* ---- life ---- */

perp_status perp_partition_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  workspace *work = ws;
  perp_constrained *system = &work->k;
  const perp_model *model = system->model;
  system->ctx = ctx;
  perp_constrained_restart(system);
  memcpy(work->qs, q, (size_t)model->nq * sizeof *q);
  memcpy(work->vs, v, (size_t)model->nv * sizeof *v);
  memset(work->lambda, 0, (size_t)model->m * sizeof *work->lambda);
  memset(work->servo, 0, (size_t)model->n_drives * sizeof *work->servo);
  PERP_TRY(perp_constrained_check_start(ctx, model, work->qs, work->vs));
  if (!partition_choose(work, t, work->qs, work->vs))
    return PERP_FAIL(ctx, PERP_ERR_ARG,
                     "formulation %s cannot start: the constraints have another rank here than at "
                     "the start of the model (%d); start beside the singular position",
                     work->name, work->r);
  return perp_ode_restart(ctx, work->ode, t, work->y, work->dy);
}

perp_status perp_partition_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  workspace *work = ws;
  PERP_TRY(perp_constrained_step(ctx, &work->k, work->ode, t_max, info));
  info->lambda = work->lambda;
  info->drive = work->k.model->n_drives > 0 ? work->servo : NULL;
  return PERP_OK;
}

void perp_partition_state(const void *ws, double *t, const double **q, const double **v)
{
  const workspace *work = ws;
  *t = perp_ode_time(work->ode);
  *q = work->qs;
  *v = work->vs;
}

void perp_partition_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const workspace *work = ws;
  if (ode != NULL) *ode = *perp_ode_count(work->ode);
  if (kkt != NULL) *kkt = work->k.count;
}

void perp_partition_timing(void *ws, bool on, perp_times *times)
{
  perp_constrained_timing(&((workspace *)ws)->k, on, times);
}

void perp_partition_destroy(void *ws)
{
  workspace *work = ws;
  if (work == NULL) return;
  perp_ode_destroy(work->ode);
  perp_constrained_destroy(&work->k);
  free(work);
}

static void partition_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->k.model;
  const int nv = model->nv, m = model->m;
  perp_constrained_layout(&work->k, model, arena);
  work->Q = PERP_CARVE(arena, double, 2 * (size_t)nv * (size_t)nv);
  work->J = PERP_CARVE(arena, double, (size_t)m *(size_t)nv);
  work->A = PERP_CARVE(arena, double, (size_t)m *(size_t)nv);
  work->turn = PERP_CARVE(arena, double, 9 * model->n_bodies);
  work->pivot = PERP_CARVE(arena, int, m > nv ? m : nv);
  work->work = PERP_CARVE(arena, double, perp_partition_work(m, nv));
  PERP_DOUBLES(arena, model->nq, &work->base, &work->q, &work->qs);
  PERP_DOUBLES(arena, nv, &work->tau, &work->u, &work->rate, &work->w, &work->dw, &work->w0,
               &work->dw0, &work->v, &work->vs, &work->x, &work->y, &work->dy);
  PERP_DOUBLES(arena, m > nv ? m : nv, &work->c);
  PERP_DOUBLES(arena, m, &work->lambda);
  PERP_DOUBLES(arena, model->n_drives, &work->servo);
}

perp_status perp_partition_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, perp_partition_choose *choose, void **ws)
{
  const char *name = parts->formulation.d->name;
  workspace like = { .k.model = model, .choose = choose, .name = name, .f = -1 };
  *ws = NULL;
  PERP_TRY(perp_stepper_rigid(ctx, model, name));
  PERP_TRY(perp_workspace_create(ctx, name, &like, sizeof like, partition_layout, ws));
  workspace *work = *ws;
  perp_status status = perp_stepper_constrained(ctx, &work->k, model, parts);
  if (status == PERP_OK && !partition_choose(work, 0, model->q0, model->v0))
    status = PERP_FAIL(ctx, PERP_ERR_ARG, "formulation %s: the constraints are not finite", name);
  if (status == PERP_OK && work->f == 0)
    status = PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "formulation %s needs a degree of freedom: the joints leave none", name);
  const perp_ode_sys sys = { .nq = work->f,
                             .nv = work->f,
                             .user = work,
                             .deriv = partition_deriv,
                             .accept = partition_accept,
                             .size = 1 };
  if (status == PERP_OK) status = perp_ode_create(ctx, &parts->ode, &sys, h, &work->ode);
  if (status == PERP_OK) return PERP_OK;
  perp_partition_destroy(work);
  *ws = NULL;
  return status;
}
