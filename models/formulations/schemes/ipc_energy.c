/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The incremental potential E, its gradient and its Hessian or what bounds that (the equations:
 * ipc.c). */
#include "models/formulations/schemes/ipc_energy.h"

#include <float.h>
#include <lapacke.h>
#include <string.h>

static const double REDUNDANT = 1e-10; /* r, in 1 / heaviest mass */
/* What rounding leaves of E: so many of each of its terms, and of lengths times their forces. */
static const double ROUNDINGS = 16;

/* ---- energy ---- */

/* b, b', b'' */
static double ipc_barrier(double d, double dhat, double *b1, double *b2)
{
  const double off = d - dhat, log_d = log(d / dhat);
  *b1 = -2 * off * log_d - off * off / d;
  *b2 = -2 * log_d - 4 * off / d + off * off / (d * d);
  return -off * off * log_d;
}

/* f, f' / u and f'' */
static double ipc_friction(double u, double e, double *f1, double *f2)
{
  *f1 = u < e ? 2 / e - u / (e * e) : 1 / u;
  *f2 = u < e ? 2 / e - 2 * u / (e * e) : 0;
  return u < e ? u * u / e - u * u * u / (3 * e * e) + e / 3 : u;
}

/* Poses, joints and x at (t, q). */
void perp_ipc_evaluate(perp_ipc *ipc, double t, const double *q)
{
  const perp_model *model = ipc->s.model;
  perp_eval_at(&ipc->s.e, model, t, q);
  for (int body = -1; body < model->n_bodies; body++)
    perp_lift(model->dim, &ipc->s.e.pose[body], &ipc->place[body + 1]);
  perp_model_difference(model, ipc->s.q, q, ipc->x);
}

/* All pairs of shapes that the broad phase has; false: fn said so, or they overlap. */
bool perp_ipc_pairs(perp_ipc *ipc, perp_ipc_pair_fn *fn, void *user)
{
  for (int pair = 0; pair < ipc->broad.n_pairs && ipc->s.model->n_shapes > 0; pair++) {
    const int shape = ipc->broad.pair[pair].a, b = ipc->broad.pair[pair].b;
    double n[3] = { 0 };
    const double d = perp_shape_distance(&ipc->thin, shape,
                                         &ipc->s.e.pose[ipc->thin.shape[shape].body], b,
                                         &ipc->s.e.pose[ipc->thin.shape[b].body], NULL, NULL, n);
    if (!(d > 0) || !fn(ipc, shape, b, d, n, user)) return false;
  }
  return true;
}

static bool ipc_touch_pair(perp_ipc *w, int a, int b, double d, const double n[3],
                           perp_ipc_visit *visit, void *user)
{
  if (d > w->dhat) return true;
  return perp_ipc_touches(&w->thin, a, &w->place[w->thin.shape[a].body + 1], b,
                          &w->place[w->thin.shape[b].body + 1], n, w->dhat, visit, user);
}

typedef struct ipc_sum {
  double dhat, b, slope; /* sum of w b and of w |b'| */
} ipc_sum;

static void ipc_add_barrier(void *user, const perp_ipc_touch *touch)
{
  ipc_sum *sum = user;
  double b1, b2;
  if (!(touch->d > 0)) return; /* perp_ipc_touches says so */
  sum->b += touch->w * ipc_barrier(touch->d, sum->dhat, &b1, &b2);
  sum->slope += touch->w * fabs(b1);
}

static bool ipc_energy_pair(perp_ipc *ipc, int a, int b, double d, const double n[3], void *user)
{
  return ipc_touch_pair(ipc, a, b, d, n, ipc_add_barrier, user);
}

double perp_ipc_normal(const perp_ipc *w, const perp_ipc_touch *touch)
{
  double b1, b2;
  ipc_barrier(touch->d, w->dhat, &b1, &b2);
  return -w->K * touch->w * b1;
}

/* The tangential displacement of a grip at the iterate, its points now. */
static void ipc_slip(const perp_ipc *w, const perp_ipc_grip *grip, double u[2])
{
  double way[3];
  for (int k = 0; k < 3; k++) way[k] = grip->belt[k];
  for (int side = 0; side < 2; side++) {
    double p[3];
    perp_place(&w->place[grip->contact.body[side] + 1], grip->r[side], p);
    for (int k = 0; k < 3; k++) way[k] += (side == 0 ? -1 : 1) * (p[k] - grip->start[side][k]);
  }
  for (int k = 0; k < 2; k++) u[k] = perp_dot(3, grip->t[k], way);
}

/* E at the iterate; infinite where shapes touch. */
static double ipc_energy(perp_ipc *w, double h)
{
  const perp_model *model = w->s.model;
  ipc_sum sum = { w->dhat, 0, 0 };
  double E = 0, f1, f2, u[2];
  for (int i = 0; i < model->nv; i++) w->scratch[i] = w->x[i] - h * w->y[i];
  for (int b = 0, n = model->nvb; b < model->n_bodies; b++) {
    const double *M = w->s.e.blocks.M + w->s.e.blocks.mptr[b], *x = w->scratch + n * b;
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) E += 0.5 * x[i] * M[i + n * j] * x[j];
  }
  if (!perp_ipc_pairs(w, ipc_energy_pair, &sum)) return HUGE_VAL;
  E += w->K * sum.b;
  for (int i = 0; i < w->n_grip; i++) {
    ipc_slip(w, &w->grip[i], u);
    E += w->grip[i].weight * ipc_friction(hypot(u[0], u[1]), h * w->o.eps_v, &f1, &f2);
  }
  w->noise = E + w->K * sum.slope * w->size;
  return E;
}

/* E - l'C + rho |C|^2 / 2 */
double perp_ipc_merit(perp_ipc *w, double h)
{
  double merit = ipc_energy(w, h);
  for (int i = 0; i < w->s.model->m; i++) {
    const double C = w->s.e.C[i];
    merit += C * (0.5 * w->rho * C - w->l_new[i]);
    w->noise += fabs(w->l_new[i]) * w->size;
  }
  w->noise *= ROUNDINGS * DBL_EPSILON;
  return merit;
}

/* ---- derivatives ---- */

static void ipc_collect(void *user, const perp_ipc_touch *touch)
{
  perp_ipc *ipc = user;
  if (ipc->n_touch < ipc->cap_touch) ipc->touch[ipc->n_touch] = *touch;
  ipc->n_touch++;
}

static bool ipc_collect_pair(perp_ipc *ipc, int a, int b, double d, const double n[3], void *user)
{
  (void)user;
  return ipc_touch_pair(ipc, a, b, d, n, ipc_collect, ipc);
}

static void ipc_layout_touches(void *ws, perp_arena *arena)
{
  perp_ipc *ipc = ws;
  const size_t n = (size_t)(ipc->s.model->nvb * ipc->s.model->nvb);
  ipc->touch = PERP_CARVE(arena, perp_ipc_touch, ipc->cap_touch);
  ipc->couple = PERP_CARVE(arena, double, n *(size_t)ipc->cap_touch);
  ipc->next = PERP_CARVE(arena, int, 2 * (size_t)ipc->cap_touch);
}

/* Room for n in one of these; what was there is lost. */
bool perp_ipc_room(perp_ipc *ipc, perp_arena *arena, perp_layout_fn *layout, int *cap, int n)
{
  if (n <= *cap) return true;
  *cap = n + n / 2 + 32;
  ipc->s.status = perp_arena_layout(ipc->s.ctx, arena, layout, ipc);
  if (ipc->s.status != PERP_OK) *cap = 0;
  return ipc->s.status == PERP_OK;
}

/* The contacts of the iterate. */
bool perp_ipc_touching(perp_ipc *ipc)
{
  do {
    if (!perp_ipc_room(ipc, &ipc->touches, ipc_layout_touches, &ipc->cap_touch,
                       ipc->n_touch + ipc->n_grip))
      return false;
    ipc->n_touch = 0;
    if (!perp_ipc_pairs(ipc, ipc_collect_pair, NULL)) return false;
  } while (ipc->n_touch + ipc->n_grip > ipc->cap_touch);
  return true;
}

/* The k-th number of twelve that the model has: bodies that move, x, y and the turn in the plane.
 */
static int ipc_freedoms(const perp_ipc *ipc, const int body[2], int index[PERP_IPC_DOFS])
{
  int n = 0;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < 6 && body[side] >= 0; i++)
      if (ipc->s.model->dim == 3 || i < 2 || i == 5) index[n++] = 6 * side + i;
  return n;
}

/* The nearest positive semidefinite matrix of H [n x n]. */
static bool ipc_project(int n, double *H)
{
  enum { WORK = 64 * PERP_IPC_DOFS };
  double V[PERP_IPC_DOFS * PERP_IPC_DOFS], lambda[PERP_IPC_DOFS], work[WORK];
  memcpy(V, H, (size_t)(n * n) * sizeof *V);
  if (LAPACKE_dsyev_work(LAPACK_COL_MAJOR, 'V', 'L', n, V, n, lambda, work, WORK) != 0)
    return false;
  if (lambda[0] >= 0) return true;
  memset(H, 0, (size_t)(n * n) * sizeof *H);
  for (int k = 0; k < n; k++)
    for (int j = 0; j < n && lambda[k] > 0; j++)
      for (int i = 0; i < n; i++) H[i + n * j] += lambda[k] * V[i + n * k] * V[j + n * k];
  return true;
}

/* g += d [n], H += A [n x n] of the freedoms index of two bodies; couple [nvb nvb]. */
static void ipc_scatter(perp_ipc *ipc, const int body[2], int n, const double *d, const double *A,
                        double *couple)
{
  const int nvb = ipc->s.model->nvb, first = body[0] >= 0 ? nvb : 0;
  for (int i = 0; i < n; i++) ipc->g[nvb * body[i >= first] + (i >= first ? i - first : i)] += d[i];
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const int a = i >= first, b = j >= first, r = a ? i - first : i, c = b ? j - first : j;
      if (a == b)
        ipc->H[nvb * nvb * body[a] + r + nvb * c] += A[i + n * j];
      else if (a == 0)
        couple[r + nvb * c] += A[i + n * j];
    }
}

/* Places of two bodies count as their difference: the matrix of it and of both turns is projected.
 */
static bool ipc_derive_touch(perp_ipc *ipc, int at)
{
  enum { N = PERP_IPC_DOFS };
  const perp_ipc_touch *touch = &ipc->touch[at];
  const perp_pose pose[2] = { ipc->place[touch->body[0] + 1], ipc->place[touch->body[1] + 1] };
  const int dim = ipc->s.model->dim, rates = ipc->s.model->rates;
  double g[N], m[N] = { 0 }, H[N * N], W[N * N] = { 0 }, d[N], A[N * N], P[N * N], b1, b2;
  int index[N];
  const double b = ipc_barrier(touch->d, ipc->dhat, &b1, &b2);
  const int n = ipc_freedoms(ipc, touch->body, index),
            skip = touch->body[0] >= 0 && touch->body[1] >= 0 ? dim : 0, size = n - skip;
  perp_ipc_gradient(touch, pose, g);
  if (touch->w < 1) perp_ipc_mollifier(touch, pose, m, W);
  perp_ipc_hessian(touch, pose, H);
  for (int j = 0; j < n; j++) d[j] = ipc->K * (touch->w * b1 * g[index[j]] + b * m[index[j]]);
  for (int j = 0; j < size; j++)
    for (int i = 0; i < size; i++) {
      const int k = index[skip + j], l = index[skip + i];
      P[i + size * j] = ipc->K * (touch->w * (b2 * g[l] * g[k] + b1 * H[l + N * k]) +
                                  b1 * (m[l] * g[k] + g[l] * m[k]) + b * W[l + N * k]);
    }
  if (!ipc->bold && !ipc_project(size, P)) return false;
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const int k = j < skip ? rates + j : j - skip, l = i < skip ? rates + i : i - skip;
      A[i + n * j] = ((j < skip) == (i < skip) ? 1 : -1) * P[l + size * k];
    }
  ipc_scatter(ipc, touch->body, n, d, A,
              ipc->couple + (size_t)(ipc->s.model->nvb * ipc->s.model->nvb) * (size_t)at);
  return true;
}

static void ipc_derive_grip(perp_ipc *w, perp_ipc_grip *grip, double h, double *couple)
{
  enum { N = PERP_IPC_DOFS };
  double u[2], f1, f2, d[N], A[N * N], T[2][N];
  int index[N];
  const int n = ipc_freedoms(w, grip->contact.body, index);
  ipc_slip(w, grip, u);
  const double size = hypot(u[0], u[1]);
  ipc_friction(size, h * w->o.eps_v, &f1, &f2);
  for (int k = 0; k < 2; k++)
    for (int j = 0; j < n; j++) {
      const int side = index[j] / 6, i = index[j] % 6;
      const perp_pose *pose = &w->place[grip->contact.body[side] + 1];
      double D[9];
      perp_direction_jacobian(3, pose->R, grip->r[side], D);
      T[k][j] = (side == 0 ? -1 : 1) *
                (i < 3 ? grip->t[k][i] : perp_dot(3, grip->t[k], D + 3 * (i - 3)));
    }
  for (int k = 0; k < 3; k++)
    grip->force[k] = -grip->weight * f1 * (u[0] * grip->t[0][k] + u[1] * grip->t[1][k]);
  for (int j = 0; j < n; j++) {
    const double along = size > 0 ? (u[0] * T[0][j] + u[1] * T[1][j]) / size : 0;
    d[j] = grip->weight * f1 * size * along;
    for (int i = 0; i < n; i++) {
      const double other = size > 0 ? (u[0] * T[0][i] + u[1] * T[1][i]) / size : 0;
      A[i + n * j] = grip->weight * (f1 * (T[0][i] * T[0][j] + T[1][i] * T[1][j]) +
                                     (w->bold ? (f2 - f1) * along * other : 0));
    }
  }
  for (int j = 0; j < n && w->bold; j++) /* the turn of the points: half of e x (e x r) */
    for (int i = 0; i < n; i++) {
      const int side = index[j] / 6, k = index[j] % 6 - 3, l = index[i] % 6 - 3;
      const double *r = grip->r[side];
      double g[3];
      if (index[i] / 6 != side || k < 0 || l < 0) continue;
      perp_turn_back(3, w->place[grip->contact.body[side] + 1].R, grip->force, g);
      const double sum = 0.5 * (g[k] * r[l] + g[l] * r[k]) - (k == l ? perp_dot(3, g, r) : 0);
      A[i + n * j] += side == 0 ? sum : -sum;
    }
  ipc_scatter(w, grip->contact.body, n, d, A, couple);
}

/* g and H of E at the iterate. */
bool perp_ipc_derive(perp_ipc *w, double h)
{
  const perp_model *model = w->s.model;
  const int n = model->nvb;
  for (int i = 0; i < model->nv; i++) w->scratch[i] = w->x[i] - h * w->y[i];
  for (int b = 0; b < model->n_bodies; b++) {
    const double *M = w->s.e.blocks.M + w->s.e.blocks.mptr[b], *x = w->scratch + n * b;
    double *H = w->H + n * n * b, *r = w->p + n * b;
    for (int i = 0; i < n; i++) {
      r[i] = 0;
      for (int j = 0; j < n; j++) r[i] += M[i + n * j] * x[j];
    }
    memcpy(H, M, (size_t)(n * n) * sizeof *H);
    if (model->dim == 2) continue;
    double B[9]; /* d(rotation vector of the step) / d(increment) */
    for (int k = 0; k < 3; k++) {
      const double unit[3] = { k == 0, k == 1, k == 2 };
      perp_quat_dexpinv(w->x + n * b + 3, unit, B + 3 * k);
    }
    for (int i = 0; i < 3; i++)
      for (int j = 0; j < 3; j++) {
        double sum = 0;
        for (int k = 0; k < 3; k++)
          for (int l = 0; l < 3; l++) sum += B[k + 3 * i] * M[3 + k + n * (3 + l)] * B[l + 3 * j];
        H[3 + i + n * (3 + j)] = sum;
      }
  }
  perp_model_transport(model, w->x, w->p, w->scratch, w->g);
  if (w->n_touch + w->n_grip > 0)
    memset(w->couple, 0, (size_t)(n * n) * (size_t)(w->n_touch + w->n_grip) * sizeof *w->couple);
  for (int i = 0; i < w->n_touch; i++)
    if (!ipc_derive_touch(w, i)) return false;
  for (int i = 0; i < w->n_grip; i++)
    ipc_derive_grip(w, &w->grip[i], h, w->couple + (size_t)(n * n) * (size_t)(w->n_touch + i));
  return true;
}

/* ---- the saddle point system ---- */

static const int *ipc_bodies(const perp_ipc *ipc, int coupling)
{
  return coupling < ipc->n_touch ? ipc->touch[coupling].body
                                 : ipc->grip[coupling - ipc->n_touch].contact.body;
}

/* Columns of body b: of H, then of J. */
static void ipc_columns(perp_ipc *ipc, int b)
{
  const perp_model *model = ipc->s.model;
  const perp_blocks *blocks = &ipc->s.e.blocks;
  const int n = model->nvb;
  for (int c = 0; c < n; c++) {
    for (int r = 0; r < n; r++)
      perp_sparse_lu_add(&ipc->lu, n * b + r, ipc->H[n * n * b + r + n * c]);
    for (int at = ipc->head[b]; at >= 0; at = ipc->next[at]) {
      const int *body = ipc_bodies(ipc, at / 2), side = at % 2;
      const double *A = ipc->couple + (size_t)(n * n) * (size_t)(at / 2);
      for (int r = 0; r < n; r++)
        perp_sparse_lu_add(&ipc->lu, n * body[1 - side] + r,
                           side == 0 ? A[c + n * r] : A[r + n * c]);
    }
    for (int k = blocks->tptr[b]; k < blocks->tptr[b + 1]; k++) {
      const int sub = blocks->tsub[k], first = blocks->cptr[blocks->jgrp[sub]],
                rows = blocks->cptr[blocks->jgrp[sub] + 1] - first;
      for (int row = 0; row < rows; row++)
        perp_sparse_lu_add(&ipc->lu, model->nv + first + row,
                           blocks->J[blocks->joff[sub] + row + rows * c]);
    }
    perp_sparse_lu_column(&ipc->lu);
  }
}

bool perp_ipc_solve(perp_ipc *ipc)
{
  const perp_model *model = ipc->s.model;
  const perp_blocks *blocks = &ipc->s.e.blocks;
  const int n = model->nvb, couplings = ipc->n_touch + ipc->n_grip;
  const double r = REDUNDANT * n / ipc->K;
  ipc->s.status = perp_sparse_lu_reserve(ipc->s.ctx, &ipc->lu, model->nv + model->m,
                                         (size_t)(n * model->nv) +
                                             2 * (size_t)(n * n) * (size_t)couplings +
                                             2 * (size_t)model->pattern.nnz_J + (size_t)model->m);
  if (ipc->s.status != PERP_OK) return false;
  for (int b = 0; b < model->n_bodies; b++) ipc->head[b] = -1;
  for (int coupling = 0; coupling < couplings; coupling++)
    for (int side = 0; side < 2; side++) {
      const int *body = ipc_bodies(ipc, coupling);
      if (body[0] < 0 || body[1] < 0) continue;
      ipc->next[2 * coupling + side] = ipc->head[body[side]];
      ipc->head[body[side]] = 2 * coupling + side;
    }
  perp_sparse_lu_begin(&ipc->lu, model->nv + model->m);
  for (int b = 0; b < model->n_bodies; b++) ipc_columns(ipc, b);
  for (int c = 0; c < blocks->nc; c++)
    for (int row = blocks->cptr[c]; row < blocks->cptr[c + 1]; row++) {
      const int rows = blocks->cptr[c + 1] - blocks->cptr[c];
      for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
        for (int i = 0; i < n; i++)
          perp_sparse_lu_add(&ipc->lu, n * blocks->jblk[k] + i,
                             -blocks->J[blocks->joff[k] + row - blocks->cptr[c] + rows * i]);
      perp_sparse_lu_add(&ipc->lu, model->nv + row, r);
      perp_sparse_lu_column(&ipc->lu);
    }
  if (!perp_sparse_lu_factor(&ipc->lu)) return false;
  for (int i = 0; i < model->nv; i++) ipc->rhs[i] = -ipc->g[i];
  for (int i = 0; i < model->m; i++) ipc->rhs[model->nv + i] = -ipc->s.e.C[i] + r * ipc->l[i];
  perp_sparse_lu_solve(&ipc->lu, ipc->rhs);
  memcpy(ipc->p, ipc->rhs, (size_t)model->nv * sizeof *ipc->p);
  memcpy(ipc->l_new, ipc->rhs + model->nv, (size_t)model->m * sizeof *ipc->l_new);
  return true;
}
