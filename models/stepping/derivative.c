/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Columns of derivatives, states beside the one at hand, and the linear system of a step
 * (derivative.h).
 *
 * The right-hand side of a column is the derivative of the equations along it, unknowns held, by
 *
 *      (8 (r(eps) - r(-eps)) - (r(2 eps) - r(-2 eps))) / (12 eps) + O(eps^4),
 *
 * with eps such that the state moves by 4e-4 of the smallest body, or rad: the error is about 1e-12
 * of r, most of it rounding.  The left side is the KKT system of the bodies with its factor, and
 * the further rows by their Schur complement A = B' Y + D, Y the response to G: LU, or where its
 * rank is deficient the answer of least norm by singular values. */
#include "models/stepping/derivative.h"

#include <lapacke.h>
#undef I /* of complex.h: inertia here */
#include <stdlib.h>
#include <string.h>

const double perp_derivative_at[PERP_DERIVATIVE_POINTS] = { -2, -1, 1, 2 };
const double perp_derivative_weight[PERP_DERIVATIVE_POINTS] = { 1. / 12, -8. / 12, 8. / 12,
                                                                -1. / 12 };

static const double MOVE = 4e-4;     /* of a state, by the smallest step of a difference */
static const double RCOND = 1e-12;   /* of the active rows, below: their rank is deficient */
static const double RANK = 1e-11;    /* singular values below this part of the largest are zero */
static const double CONFLICT = 1e-6; /* of its terms: what a redundant row may be off */
static const double STILL =
    1e-7; /* of its terms, and NOISE of its unit: a margin that no column moves */
static const double NOISE = 1e-9;

/* ---- columns ---- */

bool perp_derivative_acts(const perp_derivative *derivative, int j, perp_gradient_kind kind)
{
  return derivative->wrt[j].kind == kind && !derivative->held[j];
}

/* A natural size of the parameter of column j; 0: it is no parameter of the model, or is held. */
static double derivative_scale(const perp_derivative *derivative, int j)
{
  const perp_model *model = derivative->model;
  if (perp_derivative_acts(derivative, j, PERP_GRADIENT_MASS))
    return model->inertia[derivative->wrt[j].index].mass;
  if (perp_derivative_acts(derivative, j, PERP_GRADIENT_GRAVITY))
    return fmax(fabs(model->gravity), 1);
  return perp_derivative_acts(derivative, j, PERP_GRADIENT_TARGET) ? 1 : 0;
}

double perp_derivative_eps(const perp_derivative *derivative, int j, const double *dq,
                           const double *dv)
{
  const perp_model *model = derivative->model;
  const double scale = derivative_scale(derivative, j);
  double most = scale > 0 ? 1 / scale : 0;
  for (int i = 0; i < model->nv; i++) {
    const bool moves = i % model->nvb < model->dim; /* else it turns */
    if (dq != NULL) most = fmax(most, fabs(dq[i]) / (moves ? derivative->length : 1));
    if (dv != NULL)
      most = fmax(most, fabs(dv[i]) * (moves ? 1 : derivative->length) / derivative->speed);
  }
  return most > 0 ? MOVE / most : 0;
}

const perp_model *perp_derivative_model(perp_derivative *derivative, int wrt, double eps)
{
  const perp_model *model = derivative->model;
  const int inertia = derivative->wrt[wrt].index;
  if (derivative_scale(derivative, wrt) == 0) return model;
  derivative->varied = *model;
  switch (derivative->wrt[wrt].kind) {
  case PERP_GRADIENT_MASS:
    derivative->varied.inertia = derivative->inertia;
    derivative->inertia[inertia] = model->inertia[inertia];
    derivative->inertia[inertia].mass += eps;
    for (int k = 0; k < 9; k++)
      derivative->inertia[inertia].I[k] *= derivative->inertia[inertia].mass /
                                           model->inertia[inertia].mass;
    for (int k = 0; k < 9; k++)
      derivative->inertia[inertia].Iinv[k] *= model->inertia[inertia].mass /
                                              derivative->inertia[inertia].mass;
    break;
  case PERP_GRADIENT_GRAVITY:
    derivative->varied.gravity += eps;
    break;
  case PERP_GRADIENT_TARGET:
    derivative->varied.drive_def = derivative->drive;
    derivative->drive[inertia] = model->drive_def[inertia];
    *(model->drive_def[inertia].stiffness > 0 ? &derivative->drive[inertia].target
                                              : &derivative->drive[inertia].velocity) += eps;
    break;
  default:
    break;
  }
  return &derivative->varied;
}

/* Copies are as the model again. */
static void derivative_model_back(perp_derivative *derivative, int wrt)
{
  const int inertia = derivative->wrt[wrt].index;
  if (derivative->wrt[wrt].kind == PERP_GRADIENT_MASS)
    derivative->inertia[inertia] = derivative->model->inertia[inertia];
  if (derivative->wrt[wrt].kind == PERP_GRADIENT_TARGET)
    derivative->drive[inertia] = derivative->model->drive_def[inertia];
}

void perp_derivative_move(perp_derivative *derivative, bool numbers, const double *q, double h,
                          const double *x, const double *dx, const double *q_end, double *dq)
{
  const perp_model *model = derivative->model;
  double most = 0;
  for (int i = 0; i < model->nv; i++) {
    most = fmax(most, fmax(fabs(dq[i]), fabs(h * dx[i])));
    derivative->sum[i] = 0;
  }
  const double eps = most > 0 ? MOVE / most : 0;
  for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
    const double by = eps * perp_derivative_at[p];
    for (int i = 0; i < model->nv; i++) derivative->x_at[i] = by * dq[i];
    perp_model_retract(model, q, derivative->x_at, derivative->q_at);
    for (int i = 0; i < model->nv; i++) derivative->x_at[i] = x[i] + by * dx[i];
    if (numbers) {
      perp_model_qdot(model, derivative->q_at, derivative->x_at, derivative->rate_at);
      for (int i = 0; i < model->nq; i++) derivative->q_at[i] += h * derivative->rate_at[i];
      perp_model_project(model, derivative->q_at);
    } else {
      for (int i = 0; i < model->nv; i++) derivative->x_at[i] *= h;
      perp_model_retract(model, derivative->q_at, derivative->x_at, derivative->q_at);
    }
    perp_model_difference(model, q_end, derivative->q_at, derivative->x_at);
    for (int i = 0; i < model->nv; i++)
      derivative->sum[i] += perp_derivative_weight[p] / eps * derivative->x_at[i];
  }
  memcpy(dq, derivative->sum, (size_t)model->nv * sizeof *dq);
}

void perp_derivative_worse(perp_derivative *derivative, perp_gradient_verdict verdict)
{
  if (verdict > derivative->verdict) derivative->verdict = verdict;
}

/* s and what a row says: the side on which both hold */
static perp_gradient_side derivative_meet(perp_gradient_side s, perp_gradient_side other)
{
  if (s == PERP_GRADIENT_BOTH) return other;
  if (other == PERP_GRADIENT_BOTH || other == s) return s;
  return PERP_GRADIENT_NEITHER;
}

perp_status perp_derivative_note(perp_ctx *ctx, perp_derivative *derivative, perp_gradient_row row,
                                 bool acts)
{
  if (derivative->n_rows == derivative->rows_cap) {
    const int cap = derivative->rows_cap + derivative->rows_cap / 2 + 16;
    perp_gradient_row *more = realloc(derivative->row, (size_t)cap * sizeof *more);
    if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", cap);
    derivative->row = more;
    derivative->rows_cap = cap;
  }
  row.acts = acts;
  derivative->row[derivative->n_rows++] = row;
  if (acts)
    perp_derivative_worse(derivative, row.cause == PERP_GRADIENT_STRIKES ? PERP_GRADIENT_JUMP
                                                                         : PERP_GRADIENT_KINK);
  return PERP_OK;
}

perp_status perp_derivative_kink(perp_ctx *ctx, perp_derivative *derivative,
                                 const perp_gradient_row *row, const double *margins)
{
  bool acts = margins == NULL;
  for (int j = 0; j < derivative->n; j++) {
    if (margins != NULL && margins[j] == 0) continue;
    acts = true;
    derivative->side[j] = derivative_meet(derivative->side[j],
                                          margins == NULL  ? PERP_GRADIENT_NEITHER
                                          : margins[j] > 0 ? PERP_GRADIENT_RIGHT
                                                           : PERP_GRADIENT_LEFT);
  }
  return perp_derivative_note(ctx, derivative, *row, acts);
}

/* ---- further rows ---- */

static void derivative_layout(void *user, perp_arena *arena)
{
  perp_derivative *derivative = user;
  perp_derivative_rows *rows = derivative->rows;
  const size_t nv = (size_t)derivative->model->nv, n = (size_t)derivative->room,
               k = (size_t)derivative->margin_room, r = nv + (size_t)derivative->model->m + n + k;
  PERP_DOUBLES(arena, nv * n, &rows->G, &rows->B, &rows->Y);
  PERP_DOUBLES(arena, n * n, &rows->D, &rows->A, &rows->LU, &rows->U, &rows->V);
  rows->Bm = PERP_CARVE(arena, double, nv *k);
  rows->unit = PERP_CARVE(arena, double, k);
  rows->Dm = PERP_CARVE(arena, double, n *k);
  rows->scale = PERP_CARVE(arena, double, 2 * n);
  rows->work = PERP_CARVE(arena, double, 8 * n + 64);
  rows->pivot = PERP_CARVE(arena, int, 2 * n);
  PERP_DOUBLES(arena, n, &rows->sigma, &rows->mu);
  PERP_DOUBLES(arena, r, &derivative->r, &derivative->rho);
  derivative->margin = PERP_CARVE(arena, double, k *(size_t)derivative->n);
}

perp_status perp_derivative_room(perp_ctx *ctx, perp_derivative *derivative, int n, int margins)
{
  perp_derivative_rows *rows = derivative->rows;
  if (n > derivative->room || margins > derivative->margin_room || derivative->r == NULL) {
    perp_arena_free(&derivative->grown);
    derivative->grown = (perp_arena){ 0 };
    derivative->room = n > derivative->room ? n + n / 2 : derivative->room;
    derivative->margin_room = margins > derivative->margin_room ? margins + margins / 2 + 8
                                                                : derivative->margin_room;
    const perp_status status = perp_arena_layout(ctx, &derivative->grown, derivative_layout,
                                                 derivative);
    if (status != PERP_OK) {
      derivative->room = derivative->margin_room = 0;
      derivative->r = NULL;
      return status;
    }
  }
  const size_t nv = (size_t)derivative->model->nv, size = (size_t)n, k = (size_t)margins;
  rows->n = n;
  rows->margins = margins;
  rows->deficient = false;
  if (n > 0) {
    memset(rows->G, 0, nv * size * sizeof *rows->G);
    memset(rows->B, 0, nv * size * sizeof *rows->B);
    memset(rows->D, 0, size * size * sizeof *rows->D);
  }
  if (k > 0) memset(rows->Bm, 0, nv * k * sizeof *rows->Bm);
  if (k > 0 && n > 0) memset(rows->Dm, 0, size * k * sizeof *rows->Dm);
  return PERP_OK;
}

static double derivative_dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* Rows and columns of A of equal size, and its LU; or its singular values. */
static bool derivative_factor(perp_derivative_rows *rows)
{
  const int n = rows->n;
  double *row = rows->scale, *column = rows->scale + n, rcond = 0;
  for (int i = 0; i < n; i++) {
    double most = 0;
    for (int j = 0; j < n; j++) most = fmax(most, fabs(rows->A[i + n * j]));
    row[i] = most > 0 ? 1 / most : 1;
  }
  for (int j = 0; j < n; j++) {
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, row[i] * fabs(rows->A[i + n * j]));
    column[j] = most > 0 ? 1 / most : 1;
    for (int i = 0; i < n; i++) rows->A[i + n * j] *= row[i] * column[j];
  }
  if (!perp_all_finite(n * n, rows->A)) return false;
  memcpy(rows->LU, rows->A, (size_t)n * (size_t)n * sizeof *rows->LU);
  double norm = 0;
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(rows->A[i + n * j]);
    norm = fmax(norm, sum);
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, rows->LU, n, rows->pivot) == 0)
    LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, rows->LU, n, norm, &rcond, rows->work,
                        rows->pivot + n);
  rows->deficient = !(rcond > RCOND);
  if (!rows->deficient) return true;
  memcpy(rows->LU, rows->A, (size_t)n * (size_t)n * sizeof *rows->LU);
  return LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', n, n, rows->LU, n, rows->sigma, rows->U, n,
                             rows->V, n, rows->work, 8 * n + 64) == 0;
}

/* mu of A mu = rhs (in place), and how much of its terms a row is off; terms [n] */
static double derivative_back(perp_derivative_rows *rows, const double *rhs, const double *terms)
{
  const int n = rows->n;
  double off = 0, largest = 0, *b = rows->work, *z = rows->work + n;
  for (int i = 0; i < n; i++) b[i] = rows->scale[i] * rhs[i];
  if (!rows->deficient) {
    memcpy(rows->mu, b, (size_t)n * sizeof *b);
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, rows->LU, n, rows->pivot, rows->mu, n);
  } else {
    memset(rows->mu, 0, (size_t)n * sizeof *rows->mu);
    for (int k = 0; k < n && rows->sigma[k] > RANK * rows->sigma[0]; k++) {
      const double part = derivative_dot(n, rows->U + n * k, b) / rows->sigma[k];
      for (int i = 0; i < n; i++) rows->mu[i] += part * rows->V[k + n * i];
    }
    for (int i = 0; i < n; i++) z[i] = -b[i];
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) z[i] += rows->A[i + n * j] * rows->mu[j];
    for (int i = 0; i < n; i++) {
      off = fmax(off, fabs(z[i]));
      largest = fmax(largest, rows->scale[i] * terms[i]);
    }
  }
  for (int i = 0; i < n; i++) rows->mu[i] *= rows->scale[n + i];
  return largest > 0 ? off / largest : 0;
}

/* Does a change of mu that the rows do not see change x? */
static bool derivative_ambiguous(const perp_derivative_rows *rows, int nv, double *sum)
{
  const int n = rows->n;
  for (int k = 0; k < n; k++) {
    double terms = 0, most = 0;
    if (rows->sigma[k] > RANK * rows->sigma[0]) continue;
    memset(sum, 0, (size_t)nv * sizeof *sum);
    for (int i = 0; i < n; i++) {
      const double z = rows->V[k + n * i] * rows->scale[n + i];
      double size = 0;
      for (int l = 0; l < nv; l++) {
        sum[l] += z * rows->Y[nv * i + l];
        size = fmax(size, fabs(z * rows->Y[nv * i + l]));
      }
      terms += size;
    }
    for (int l = 0; l < nv; l++) most = fmax(most, fabs(sum[l]));
    if (most > CONFLICT * terms) return true;
  }
  return false;
}

/* ---- the system ---- */

/* derivative->rho: the derivative of the equations along column j; false: it is zero. */
static bool derivative_along(perp_derivative *derivative, const perp_derivative_stage *stage, int j)
{
  const perp_model *model = derivative->model;
  const int nq = stage->flat ? model->nq : model->nv,
            size = model->nv + model->m + derivative->rows->n + derivative->rows->margins;
  const double *dq = stage->dq + (size_t)nq * (size_t)j,
               *dv = stage->dv + (size_t)model->nv * (size_t)j;
  double eps = 0, most = 0;
  if (stage->flat) {
    for (int i = 0; i < nq; i++) most = fmax(most, fabs(dq[i]) / fmin(1, derivative->length));
    eps = perp_derivative_eps(derivative, j, NULL, dv);
    eps = most > 0 ? (eps > 0 ? fmin(eps, MOVE / most) : MOVE / most) : eps;
  } else {
    eps = perp_derivative_eps(derivative, j, dq, dv);
  }
  const bool plain = eps == 0; /* forces and friction alone: they are linear */
  derivative->peak[j] = fmax(derivative->peak[j], plain ? 1 : MOVE / eps);
  memset(derivative->rho, 0, (size_t)size * sizeof *derivative->rho);
  if (plain && !perp_derivative_acts(derivative, j, PERP_GRADIENT_FORCE) &&
      !perp_derivative_acts(derivative, j, PERP_GRADIENT_FRICTION))
    return false;
  for (int p = plain ? 1 : 0; p < (plain ? 3 : PERP_DERIVATIVE_POINTS); p++) {
    const double by = (plain ? 1 : eps) * perp_derivative_at[p],
                 weight = plain ? 0.5 * perp_derivative_at[p] : perp_derivative_weight[p] / eps;
    for (int i = 0; i < model->nv && !stage->flat; i++) derivative->x_at[i] = by * dq[i];
    if (stage->flat)
      for (int i = 0; i < nq; i++) derivative->q_at[i] = stage->q[i] + by * dq[i];
    else
      perp_model_retract(model, stage->q, derivative->x_at, derivative->q_at);
    for (int i = 0; i < model->nv; i++) derivative->v_at[i] = stage->v[i] + by * dv[i];
    memset(derivative->r, 0, (size_t)size * sizeof *derivative->r);
    stage->residual(stage->user, perp_derivative_model(derivative, j, by), j, by, derivative->q_at,
                    derivative->v_at, derivative->r);
    derivative_model_back(derivative, j);
    for (int i = 0; i < size; i++) derivative->rho[i] += weight * derivative->r[i];
  }
  return true;
}

/* x of column j, from derivative->rho. */
static bool derivative_column(perp_derivative *derivative, const perp_derivative_stage *stage,
                              int j, double *conflict)
{
  perp_derivative_rows *rows = derivative->rows;
  const int nv = derivative->model->nv, m = derivative->model->m, n = rows->n;
  double *x = derivative->x + (size_t)nv * (size_t)j, *rho = derivative->rho;
  for (int i = 0; i < nv + m; i++) rho[i] = -rho[i];
  if (!perp_constrained_response(stage->k, rho, rho + nv, x, derivative->lambda)) return false;
  double *rhs = rho + nv + m, *terms = derivative->r;
  for (int i = 0; i < n; i++) {
    const double *b = rows->B + (size_t)nv * (size_t)i;
    terms[i] = fmax(fabs(rhs[i]), NOISE / CONFLICT * derivative->speed * derivative->peak[j]);
    for (int k = 0; k < nv; k++) terms[i] += fabs(b[k] * x[k]);
    rhs[i] = -rhs[i] - derivative_dot(nv, b, x);
  }
  *conflict = n > 0 ? derivative_back(rows, rhs, terms) : 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nv; k++) x[k] += rows->Y[(size_t)nv * (size_t)i + (size_t)k] * rows->mu[i];
  for (int margin = 0; margin < rows->margins; margin++) {
    const double *b = rows->Bm + (size_t)nv * (size_t)margin;
    double sum = rho[nv + m + n + margin], size = fabs(sum);
    for (int k = 0; k < nv; k++) sum += b[k] * x[k], size += fabs(b[k] * x[k]);
    for (int k = 0; k < n; k++) {
      const double term = rows->Dm[(size_t)n * (size_t)margin + (size_t)k] * rows->mu[k];
      sum += term, size += fabs(term);
    }
    derivative->margin[(size_t)derivative->n * (size_t)margin + (size_t)j] =
        fabs(sum) > fmax(STILL * size, NOISE * rows->unit[margin] * derivative->peak[j]) ? sum : 0;
  }
  return perp_all_finite(nv, x);
}

bool perp_derivative_solve(perp_ctx *ctx, perp_derivative *derivative,
                           const perp_derivative_stage *stage, perp_status *status)
{
  perp_derivative_rows *rows = derivative->rows;
  const int nv = derivative->model->nv, n = rows->n;
  double most = 0;
  *status = PERP_OK;
  memset(derivative->zeros, 0, sizeof *derivative->zeros * (size_t)derivative->model->m);
  for (int i = 0; i < n; i++)
    if (!perp_constrained_response(stage->k, rows->G + nv * i, derivative->zeros, rows->Y + nv * i,
                                   derivative->lambda))
      return false;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      rows->A[i + n * j] = rows->D[i + n * j] +
                           derivative_dot(nv, rows->B + nv * i, rows->Y + nv * j);
  if (n > 0 && !derivative_factor(rows)) return false;
  if (rows->deficient)
    perp_derivative_worse(derivative, derivative_ambiguous(rows, nv, derivative->sum)
                                          ? PERP_GRADIENT_AMBIGUOUS
                                          : PERP_GRADIENT_SINGULAR);
  for (int j = 0; j < derivative->n; j++) {
    double conflict = 0;
    if (!derivative_along(derivative, stage, j)) {
      memset(derivative->x + (size_t)nv * (size_t)j, 0, (size_t)nv * sizeof *derivative->x);
      for (int margin = 0; margin < rows->margins; margin++)
        derivative->margin[(size_t)derivative->n * (size_t)margin + (size_t)j] = 0;
      continue;
    }
    if (!derivative_column(derivative, stage, j, &conflict)) return false;
    most = fmax(most, conflict);
    if (conflict > CONFLICT) derivative->side[j] = PERP_GRADIENT_NEITHER;
  }
  if (!(most > CONFLICT)) return true;
  *status = perp_derivative_note(ctx, derivative,
                                 (perp_gradient_row){ .cause = PERP_GRADIENT_REDUNDANT,
                                                      .body = { PERP_WORLD, PERP_WORLD },
                                                      .drive = -1,
                                                      .margin = most },
                                 true);
  return *status == PERP_OK;
}
