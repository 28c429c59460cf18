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

bool perp_derivative_acts(const perp_derivative *d, int j, perp_gradient_kind kind)
{
  return d->wrt[j].kind == kind && !d->held[j];
}

/* A natural size of the parameter of column j; 0: it is no parameter of the model, or is held. */
static double derivative_scale(const perp_derivative *d, int j)
{
  const perp_model *m = d->model;
  if (perp_derivative_acts(d, j, PERP_GRADIENT_MASS)) return m->inertia[d->wrt[j].index].mass;
  if (perp_derivative_acts(d, j, PERP_GRADIENT_GRAVITY)) return fmax(fabs(m->gravity), 1);
  return perp_derivative_acts(d, j, PERP_GRADIENT_TARGET) ? 1 : 0;
}

double perp_derivative_eps(const perp_derivative *d, int j, const double *dq, const double *dv)
{
  const perp_model *m = d->model;
  const double scale = derivative_scale(d, j);
  double most = scale > 0 ? 1 / scale : 0;
  for (int i = 0; i < m->nv; i++) {
    const bool moves = i % m->nvb < m->dim; /* else it turns */
    if (dq != NULL) most = fmax(most, fabs(dq[i]) / (moves ? d->length : 1));
    if (dv != NULL) most = fmax(most, fabs(dv[i]) * (moves ? 1 : d->length) / d->speed);
  }
  return most > 0 ? MOVE / most : 0;
}

const perp_model *perp_derivative_model(perp_derivative *d, int j, double eps)
{
  const perp_model *m = d->model;
  const int i = d->wrt[j].index;
  if (derivative_scale(d, j) == 0) return m;
  d->varied = *m;
  switch (d->wrt[j].kind) {
  case PERP_GRADIENT_MASS:
    d->varied.inertia = d->inertia;
    d->inertia[i] = m->inertia[i];
    d->inertia[i].mass += eps;
    for (int k = 0; k < 9; k++) d->inertia[i].I[k] *= d->inertia[i].mass / m->inertia[i].mass;
    for (int k = 0; k < 9; k++) d->inertia[i].Iinv[k] *= m->inertia[i].mass / d->inertia[i].mass;
    break;
  case PERP_GRADIENT_GRAVITY:
    d->varied.gravity += eps;
    break;
  case PERP_GRADIENT_TARGET:
    d->varied.drive_def = d->drive;
    d->drive[i] = m->drive_def[i];
    *(m->drive_def[i].stiffness > 0 ? &d->drive[i].target : &d->drive[i].velocity) += eps;
    break;
  default:
    break;
  }
  return &d->varied;
}

/* Copies are as the model again. */
static void derivative_model_back(perp_derivative *d, int j)
{
  const int i = d->wrt[j].index;
  if (d->wrt[j].kind == PERP_GRADIENT_MASS) d->inertia[i] = d->model->inertia[i];
  if (d->wrt[j].kind == PERP_GRADIENT_TARGET) d->drive[i] = d->model->drive_def[i];
}

void perp_derivative_move(perp_derivative *d, bool numbers, const double *q, double h,
                          const double *x, const double *dx, const double *q_end, double *dq)
{
  const perp_model *m = d->model;
  double most = 0;
  for (int i = 0; i < m->nv; i++) {
    most = fmax(most, fmax(fabs(dq[i]), fabs(h * dx[i])));
    d->sum[i] = 0;
  }
  const double eps = most > 0 ? MOVE / most : 0;
  for (int p = 0; p < PERP_DERIVATIVE_POINTS && eps > 0; p++) {
    const double by = eps * perp_derivative_at[p];
    for (int i = 0; i < m->nv; i++) d->x_at[i] = by * dq[i];
    perp_model_retract(m, q, d->x_at, d->q_at);
    for (int i = 0; i < m->nv; i++) d->x_at[i] = x[i] + by * dx[i];
    if (numbers) {
      perp_model_qdot(m, d->q_at, d->x_at, d->rate_at);
      for (int i = 0; i < m->nq; i++) d->q_at[i] += h * d->rate_at[i];
      perp_model_project(m, d->q_at);
    } else {
      for (int i = 0; i < m->nv; i++) d->x_at[i] *= h;
      perp_model_retract(m, d->q_at, d->x_at, d->q_at);
    }
    perp_model_difference(m, q_end, d->q_at, d->x_at);
    for (int i = 0; i < m->nv; i++) d->sum[i] += perp_derivative_weight[p] / eps * d->x_at[i];
  }
  memcpy(dq, d->sum, (size_t)m->nv * sizeof *dq);
}

void perp_derivative_worse(perp_derivative *d, perp_gradient_verdict verdict)
{
  if (verdict > d->verdict) d->verdict = verdict;
}

/* s and what a row says: the side on which both hold */
static perp_gradient_side derivative_meet(perp_gradient_side s, perp_gradient_side other)
{
  if (s == PERP_GRADIENT_BOTH) return other;
  if (other == PERP_GRADIENT_BOTH || other == s) return s;
  return PERP_GRADIENT_NEITHER;
}

perp_status perp_derivative_note(perp_ctx *ctx, perp_derivative *d, perp_gradient_row row,
                                 bool acts)
{
  if (d->n_rows == d->rows_cap) {
    const int cap = d->rows_cap + d->rows_cap / 2 + 16;
    perp_gradient_row *more = realloc(d->row, (size_t)cap * sizeof *more);
    if (more == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for %d rows", cap);
    d->row = more;
    d->rows_cap = cap;
  }
  row.acts = acts;
  d->row[d->n_rows++] = row;
  if (acts)
    perp_derivative_worse(d, row.cause == PERP_GRADIENT_STRIKES ? PERP_GRADIENT_JUMP
                                                                : PERP_GRADIENT_KINK);
  return PERP_OK;
}

perp_status perp_derivative_kink(perp_ctx *ctx, perp_derivative *d, const perp_gradient_row *row,
                                 const double *margins)
{
  bool acts = margins == NULL;
  for (int j = 0; j < d->n; j++) {
    if (margins != NULL && margins[j] == 0) continue;
    acts = true;
    d->side[j] = derivative_meet(d->side[j], margins == NULL  ? PERP_GRADIENT_NEITHER
                                             : margins[j] > 0 ? PERP_GRADIENT_RIGHT
                                                              : PERP_GRADIENT_LEFT);
  }
  return perp_derivative_note(ctx, d, *row, acts);
}

/* ---- further rows ---- */

static void derivative_layout(void *user, perp_arena *a)
{
  perp_derivative *d = user;
  perp_derivative_rows *s = d->rows;
  const size_t nv = (size_t)d->model->nv, n = (size_t)d->room, k = (size_t)d->margin_room,
               r = nv + (size_t)d->model->m + n + k;
  PERP_DOUBLES(a, nv * n, &s->G, &s->B, &s->Y);
  PERP_DOUBLES(a, n * n, &s->D, &s->A, &s->LU, &s->U, &s->V);
  s->Bm = PERP_CARVE(a, double, nv *k);
  s->unit = PERP_CARVE(a, double, k);
  s->Dm = PERP_CARVE(a, double, n *k);
  s->scale = PERP_CARVE(a, double, 2 * n);
  s->work = PERP_CARVE(a, double, 8 * n + 64);
  s->pivot = PERP_CARVE(a, int, 2 * n);
  PERP_DOUBLES(a, n, &s->sigma, &s->mu);
  PERP_DOUBLES(a, r, &d->r, &d->rho);
  d->margin = PERP_CARVE(a, double, k *(size_t)d->n);
}

perp_status perp_derivative_room(perp_ctx *ctx, perp_derivative *d, int n, int margins)
{
  perp_derivative_rows *s = d->rows;
  if (n > d->room || margins > d->margin_room || d->r == NULL) {
    perp_arena_free(&d->grown);
    d->grown = (perp_arena){ 0 };
    d->room = n > d->room ? n + n / 2 : d->room;
    d->margin_room = margins > d->margin_room ? margins + margins / 2 + 8 : d->margin_room;
    const perp_status status = perp_arena_layout(ctx, &d->grown, derivative_layout, d);
    if (status != PERP_OK) {
      d->room = d->margin_room = 0;
      d->r = NULL;
      return status;
    }
  }
  const size_t nv = (size_t)d->model->nv, size = (size_t)n, k = (size_t)margins;
  s->n = n;
  s->margins = margins;
  s->deficient = false;
  if (n > 0) {
    memset(s->G, 0, nv * size * sizeof *s->G);
    memset(s->B, 0, nv * size * sizeof *s->B);
    memset(s->D, 0, size * size * sizeof *s->D);
  }
  if (k > 0) memset(s->Bm, 0, nv * k * sizeof *s->Bm);
  if (k > 0 && n > 0) memset(s->Dm, 0, size * k * sizeof *s->Dm);
  return PERP_OK;
}

static double derivative_dot(int n, const double *x, const double *y)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * y[i];
  return sum;
}

/* Rows and columns of A of equal size, and its LU; or its singular values. */
static bool derivative_factor(perp_derivative_rows *s)
{
  const int n = s->n;
  double *row = s->scale, *column = s->scale + n, rcond = 0;
  for (int i = 0; i < n; i++) {
    double most = 0;
    for (int j = 0; j < n; j++) most = fmax(most, fabs(s->A[i + n * j]));
    row[i] = most > 0 ? 1 / most : 1;
  }
  for (int j = 0; j < n; j++) {
    double most = 0;
    for (int i = 0; i < n; i++) most = fmax(most, row[i] * fabs(s->A[i + n * j]));
    column[j] = most > 0 ? 1 / most : 1;
    for (int i = 0; i < n; i++) s->A[i + n * j] *= row[i] * column[j];
  }
  if (!perp_all_finite(n * n, s->A)) return false;
  memcpy(s->LU, s->A, (size_t)n * (size_t)n * sizeof *s->LU);
  double norm = 0;
  for (int j = 0; j < n; j++) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += fabs(s->A[i + n * j]);
    norm = fmax(norm, sum);
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, n, n, s->LU, n, s->pivot) == 0)
    LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', n, s->LU, n, norm, &rcond, s->work, s->pivot + n);
  s->deficient = !(rcond > RCOND);
  if (!s->deficient) return true;
  memcpy(s->LU, s->A, (size_t)n * (size_t)n * sizeof *s->LU);
  return LAPACKE_dgesvd_work(LAPACK_COL_MAJOR, 'A', 'A', n, n, s->LU, n, s->sigma, s->U, n, s->V, n,
                             s->work, 8 * n + 64) == 0;
}

/* mu of A mu = rhs (in place), and how much of its terms a row is off; terms [n] */
static double derivative_back(perp_derivative_rows *s, const double *rhs, const double *terms)
{
  const int n = s->n;
  double off = 0, largest = 0, *b = s->work, *z = s->work + n;
  for (int i = 0; i < n; i++) b[i] = s->scale[i] * rhs[i];
  if (!s->deficient) {
    memcpy(s->mu, b, (size_t)n * sizeof *b);
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', n, 1, s->LU, n, s->pivot, s->mu, n);
  } else {
    memset(s->mu, 0, (size_t)n * sizeof *s->mu);
    for (int k = 0; k < n && s->sigma[k] > RANK * s->sigma[0]; k++) {
      const double part = derivative_dot(n, s->U + n * k, b) / s->sigma[k];
      for (int i = 0; i < n; i++) s->mu[i] += part * s->V[k + n * i];
    }
    for (int i = 0; i < n; i++) z[i] = -b[i];
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++) z[i] += s->A[i + n * j] * s->mu[j];
    for (int i = 0; i < n; i++) {
      off = fmax(off, fabs(z[i]));
      largest = fmax(largest, s->scale[i] * terms[i]);
    }
  }
  for (int i = 0; i < n; i++) s->mu[i] *= s->scale[n + i];
  return largest > 0 ? off / largest : 0;
}

/* Does a change of mu that the rows do not see change x? */
static bool derivative_ambiguous(const perp_derivative_rows *s, int nv, double *sum)
{
  const int n = s->n;
  for (int k = 0; k < n; k++) {
    double terms = 0, most = 0;
    if (s->sigma[k] > RANK * s->sigma[0]) continue;
    memset(sum, 0, (size_t)nv * sizeof *sum);
    for (int i = 0; i < n; i++) {
      const double z = s->V[k + n * i] * s->scale[n + i];
      double size = 0;
      for (int l = 0; l < nv; l++) {
        sum[l] += z * s->Y[nv * i + l];
        size = fmax(size, fabs(z * s->Y[nv * i + l]));
      }
      terms += size;
    }
    for (int l = 0; l < nv; l++) most = fmax(most, fabs(sum[l]));
    if (most > CONFLICT * terms) return true;
  }
  return false;
}

/* ---- the system ---- */

/* d->rho: the derivative of the equations along column j; false: it is zero. */
static bool derivative_along(perp_derivative *d, const perp_derivative_stage *s, int j)
{
  const perp_model *m = d->model;
  const int nq = s->flat ? m->nq : m->nv, size = m->nv + m->m + d->rows->n + d->rows->margins;
  const double *dq = s->dq + (size_t)nq * (size_t)j, *dv = s->dv + (size_t)m->nv * (size_t)j;
  double eps = 0, most = 0;
  if (s->flat) {
    for (int i = 0; i < nq; i++) most = fmax(most, fabs(dq[i]) / fmin(1, d->length));
    eps = perp_derivative_eps(d, j, NULL, dv);
    eps = most > 0 ? (eps > 0 ? fmin(eps, MOVE / most) : MOVE / most) : eps;
  } else {
    eps = perp_derivative_eps(d, j, dq, dv);
  }
  const bool plain = eps == 0; /* forces and friction alone: they are linear */
  d->peak[j] = fmax(d->peak[j], plain ? 1 : MOVE / eps);
  memset(d->rho, 0, (size_t)size * sizeof *d->rho);
  if (plain && !perp_derivative_acts(d, j, PERP_GRADIENT_FORCE) &&
      !perp_derivative_acts(d, j, PERP_GRADIENT_FRICTION))
    return false;
  for (int p = plain ? 1 : 0; p < (plain ? 3 : PERP_DERIVATIVE_POINTS); p++) {
    const double by = (plain ? 1 : eps) * perp_derivative_at[p],
                 weight = plain ? 0.5 * perp_derivative_at[p] : perp_derivative_weight[p] / eps;
    for (int i = 0; i < m->nv && !s->flat; i++) d->x_at[i] = by * dq[i];
    if (s->flat)
      for (int i = 0; i < nq; i++) d->q_at[i] = s->q[i] + by * dq[i];
    else
      perp_model_retract(m, s->q, d->x_at, d->q_at);
    for (int i = 0; i < m->nv; i++) d->v_at[i] = s->v[i] + by * dv[i];
    memset(d->r, 0, (size_t)size * sizeof *d->r);
    s->residual(s->user, perp_derivative_model(d, j, by), j, by, d->q_at, d->v_at, d->r);
    derivative_model_back(d, j);
    for (int i = 0; i < size; i++) d->rho[i] += weight * d->r[i];
  }
  return true;
}

/* x of column j, from d->rho. */
static bool derivative_column(perp_derivative *d, const perp_derivative_stage *stage, int j,
                              double *conflict)
{
  perp_derivative_rows *s = d->rows;
  const int nv = d->model->nv, m = d->model->m, n = s->n;
  double *x = d->x + (size_t)nv * (size_t)j, *rho = d->rho;
  for (int i = 0; i < nv + m; i++) rho[i] = -rho[i];
  if (!perp_constrained_response(stage->k, rho, rho + nv, x, d->lambda)) return false;
  double *rhs = rho + nv + m, *terms = d->r;
  for (int i = 0; i < n; i++) {
    const double *b = s->B + (size_t)nv * (size_t)i;
    terms[i] = fmax(fabs(rhs[i]), NOISE / CONFLICT * d->speed * d->peak[j]);
    for (int k = 0; k < nv; k++) terms[i] += fabs(b[k] * x[k]);
    rhs[i] = -rhs[i] - derivative_dot(nv, b, x);
  }
  *conflict = n > 0 ? derivative_back(s, rhs, terms) : 0;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < nv; k++) x[k] += s->Y[(size_t)nv * (size_t)i + (size_t)k] * s->mu[i];
  for (int i = 0; i < s->margins; i++) {
    const double *b = s->Bm + (size_t)nv * (size_t)i;
    double sum = rho[nv + m + n + i], size = fabs(sum);
    for (int k = 0; k < nv; k++) sum += b[k] * x[k], size += fabs(b[k] * x[k]);
    for (int k = 0; k < n; k++) {
      const double term = s->Dm[(size_t)n * (size_t)i + (size_t)k] * s->mu[k];
      sum += term, size += fabs(term);
    }
    d->margin[(size_t)d->n * (size_t)i + (size_t)j] =
        fabs(sum) > fmax(STILL * size, NOISE * s->unit[i] * d->peak[j]) ? sum : 0;
  }
  return perp_all_finite(nv, x);
}

bool perp_derivative_solve(perp_ctx *ctx, perp_derivative *d, const perp_derivative_stage *stage,
                           perp_status *status)
{
  perp_derivative_rows *s = d->rows;
  const int nv = d->model->nv, n = s->n;
  double most = 0;
  *status = PERP_OK;
  memset(d->zeros, 0, sizeof *d->zeros * (size_t)d->model->m);
  for (int i = 0; i < n; i++)
    if (!perp_constrained_response(stage->k, s->G + nv * i, d->zeros, s->Y + nv * i, d->lambda))
      return false;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++)
      s->A[i + n * j] = s->D[i + n * j] + derivative_dot(nv, s->B + nv * i, s->Y + nv * j);
  if (n > 0 && !derivative_factor(s)) return false;
  if (s->deficient)
    perp_derivative_worse(d, derivative_ambiguous(s, nv, d->sum) ? PERP_GRADIENT_AMBIGUOUS
                                                                 : PERP_GRADIENT_SINGULAR);
  for (int j = 0; j < d->n; j++) {
    double conflict = 0;
    if (!derivative_along(d, stage, j)) {
      memset(d->x + (size_t)nv * (size_t)j, 0, (size_t)nv * sizeof *d->x);
      for (int i = 0; i < s->margins; i++) d->margin[(size_t)d->n * (size_t)i + (size_t)j] = 0;
      continue;
    }
    if (!derivative_column(d, stage, j, &conflict)) return false;
    most = fmax(most, conflict);
    if (conflict > CONFLICT) d->side[j] = PERP_GRADIENT_NEITHER;
  }
  if (!(most > CONFLICT)) return true;
  *status = perp_derivative_note(ctx, d,
                                 (perp_gradient_row){ .cause = PERP_GRADIENT_REDUNDANT,
                                                      .body = { PERP_WORLD, PERP_WORLD },
                                                      .drive = -1,
                                                      .margin = most },
                                 true);
  return *status == PERP_OK;
}
