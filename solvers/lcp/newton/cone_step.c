/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/cone_step.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* shorter steps are not worth their system; first proximal weight, relative to the diagonal */
static const double SHORTEST = 0.01, PROXIMAL = 1e-3;
/* of the diagonal of a dense system, as in system.h */
static const double FLOOR = 1e-10;

void perp_cones_layout(void *ws, perp_arena *a)
{
  perp_cones *C = ws;
  perp_newton_layout(ws, a);
  PERP_DOUBLES(a, C->N.max_n, &C->x, &C->w, &C->scale, &C->e, &C->b, &C->s, &C->shift, &C->center);
  PERP_INTS(a, C->N.max_n, &C->place, &C->first, &C->other);
}

void perp_cones_destroy(void *ws)
{
  perp_cones *C = ws;
  if (C == NULL) return;
  perp_rows_close(&C->R);
  perp_sparse_lu_close(&C->L);
  free(C->matrix);
  perp_newton_destroy(C);
}

perp_status perp_cones_create(perp_ctx *ctx, const char *name, int max_n, perp_cones *like,
                              size_t size, perp_layout_fn *layout, void **ws)
{
  PERP_TRY(perp_newton_create(ctx, name, max_n, &like->N, size, layout, ws));
  perp_cones *C = *ws;
  const perp_status status = perp_rows_open(ctx, &C->R, max_n);
  if (status == PERP_OK) return PERP_OK;
  perp_cones_destroy(C);
  *ws = NULL;
  return status;
}

perp_status perp_cones_prepare(perp_ctx *ctx, perp_cones *C, const perp_lcp *p)
{
  const perp_rows *R = &C->R;
  const size_t n = (size_t)p->n;
  if (p->n > C->N.max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", p->n,
                     C->N.max_n);
  PERP_TRY(perp_rows_prepare(ctx, &C->R, p, 1));
  /* turned and following columns have the numbers of two */
  if (R->sparse)
    PERP_TRY(perp_sparse_lu_reserve(ctx, &C->L, p->n, 4 * (size_t)R->start[p->n]));
  else if (p->F == NULL)
    PERP_TRY(perp_system_grow(ctx, &C->N.S.K, &C->N.S.capacity, n * n));
  C->N.n = p->n;
  C->steps = C->matvecs = 0;
  C->proximal = false;
  for (int i = 0; i < p->n; i++) {
    C->scale[i] = R->diag[i] > 0 ? R->diag[i] : R->big[i];
    C->e[i] = C->shift[i] = C->center[i] = 0;
    if (R->type[i] == PERP_ROW_CONE_TAIL)
      C->scale[i - 1] = C->scale[i] = fmax(C->scale[i - 1], C->scale[i]);
  }
  return PERP_OK;
}

/* ---- the natural map ---- */

double perp_cones_merit(const perp_cones *C, const double *x, const double *w)
{
  const perp_rows *R = &C->R;
  double sum = 0;
  for (int i = 0; i < R->n; i++) {
    double lo, hi, a = C->scale[i], y = x[i] - w[i] / a;
    perp_rows_bounds(R, x, i, &lo, &hi);
    if (R->type[i] == PERP_ROW_CONE) {
      double z = x[i + 1] - w[i + 1] / a;
      perp_disc(hi, &y, &z);
      sum += a * ((x[i] - y) * (x[i] - y) + (x[i + 1] - z) * (x[i + 1] - z));
      i++;
    } else {
      double h = x[i] - (y < lo ? lo : y > hi ? hi : y);
      sum += a * h * h;
    }
  }
  return 0.5 * sum;
}

/* slack [n] of x [n] */
static void cone_step_slack(perp_cones *C, const double *x, double *slack)
{
  perp_rows_w(&C->R, x, slack);
  C->matvecs++;
  for (int i = 0; C->proximal && i < C->R.n; i++) slack[i] += C->shift[i] * (x[i] - C->center[i]);
}

/* y = (A + diag(shift)) x */
static void cone_step_product(perp_cones *C, const double *x, double *y)
{
  perp_rows_A(&C->R, x, y);
  C->matvecs++;
  for (int i = 0; C->proximal && i < C->R.n; i++) y[i] += C->shift[i] * x[i];
}

void perp_cones_slack(perp_cones *C)
{
  cone_step_slack(C, C->x, C->w);
}

void perp_cones_restart(perp_cones *C)
{
  C->theta = perp_cones_merit(C, C->x, C->w);
  C->rho = 0;
  for (int k = 0; k < C->window; k++) C->past[k] = C->theta;
}

/* ---- the axes of sliding ---- */

/* v <- the components of every pair along e and e', or back */
static void cone_step_turn(const perp_cones *C, bool back, double *v)
{
  const perp_rows *R = &C->R;
  for (int i = 0; i < R->n; i++)
    if (R->type[i] == PERP_ROW_CONE) {
      double c = C->e[i], s = back ? -C->e[i + 1] : C->e[i + 1], t = v[i];
      v[i] = c * t + s * v[i + 1];
      v[i + 1] = c * v[i + 1] - s * t;
    }
}

/* rows 0 and 1 of a column-major matrix: turned */
static void cone_step_turn_rows(double c, double s, double *a, int ld, int columns)
{
  for (int j = 0; j < columns; j++, a += ld) {
    double t = a[0];
    a[0] = c * t + s * a[1];
    a[1] = c * a[1] - s * t;
  }
}

/* The factored problem in the axes e, e': friction boxes instead of cones. */
static perp_status cone_step_turned(perp_ctx *ctx, perp_cones *C)
{
  const perp_rows *R = &C->R;
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  const size_t size = (size_t)F->joff[F->jptr[F->nc]];
  C->turned = *p;
  C->turned.cone = NULL;
  C->turned.b = C->b;
  memcpy(C->b, p->b, (size_t)p->n * sizeof *C->b);
  cone_step_turn(C, false, C->b);
  PERP_TRY(perp_system_grow(ctx, &C->matrix, &C->capacity, size));
  memcpy(C->matrix, F->J, size * sizeof *C->matrix);
  for (int c = 0; c < F->nc; c++)
    for (int i = F->cptr[c], r = F->cptr[c + 1] - i, l = 0; l < r; l++)
      if (R->type[i + l] == PERP_ROW_CONE && C->e[i + l + 1] != 0)
        for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
          cone_step_turn_rows(C->e[i + l], C->e[i + l + 1], C->matrix + F->joff[k] + l, r,
                              F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]]);
  C->F = *F;
  C->F.J = C->matrix;
  if (F->s != NULL) {
    /* two unlike softnesses have an off-diagonal part in other axes, see cone_step_target */
    for (int i = 0; i < p->n; i++) C->s[i] = F->s[i];
    for (int i = 0; i < p->n; i++) {
      if (R->type[i] != PERP_ROW_CONE) continue;
      double c = C->e[i] * C->e[i], t = C->e[i + 1] * C->e[i + 1];
      C->s[i] = c * F->s[i] + t * F->s[i + 1];
      C->s[i + 1] = t * F->s[i] + c * F->s[i + 1];
    }
    C->F.s = C->s;
  }
  C->turned.F = &C->F;
  return perp_newton_prepare(ctx, &C->N, &C->turned, 0);
}

/* ---- the step ---- */

/* Index sets and directions e at (x, w).  d: the diagonal of the sliding rows e', 0 elsewhere.  A
 * pair that slides has state HI in its first row. */
static void cone_step_classify(perp_cones *C, double *d)
{
  const perp_rows *R = &C->R;
  signed char *state = C->N.state;
  for (int i = 0; i < R->n; i++) {
    double lo, hi, a = C->scale[i], y = C->x[i] - C->w[i] / a;
    d[i] = 0;
    perp_rows_bounds(R, C->x, i, &lo, &hi);
    if (R->type[i] != PERP_ROW_CONE) {
      state[i] = y < lo ? PERP_ROW_LO : y > hi ? PERP_ROW_HI : PERP_ROW_FREE;
      continue;
    }
    double z = C->x[i + 1] - C->w[i + 1] / a, length = hypot(y, z);
    bool slides = length > hi;
    state[i] = slides ? PERP_ROW_HI : PERP_ROW_FREE;
    state[i + 1] = PERP_ROW_FREE;
    C->e[i] = slides ? y / length : 1;
    C->e[i + 1] = slides ? z / length : 0;
    d[i + 1] = 0;
    if (slides) d[i + 1] = hi > 1e-14 * length ? a * (length - hi) / hi : HUGE_VAL;
    i++;
  }
}

/* For the sets of classify, in the axes of sliding: where the rows go that are not solved for, the
 * others staying as they are in x, in `to`; the diagonal N.d, infinite for rows that are not solved
 * for, and N.gamma. */
static void cone_step_target(perp_cones *C, const double *own, const double *x, double *to)
{
  perp_newton *N = &C->N;
  const perp_rows *R = &C->R;
  const perp_lcp *p = R->p;
  const int n = R->n;
  for (int i = 0; i < n; i++) { /* bounded rows first: friction rows look at them */
    const signed char state = N->state[i];
    N->gamma[i] = 0;
    N->d[i] = state == PERP_ROW_FREE ? own[i] + C->shift[i] + C->rho * C->scale[i] : HUGE_VAL;
    to[i] = x[i];
    if (R->type[i] == PERP_ROW_BOUNDED && state != PERP_ROW_FREE)
      to[i] = state == PERP_ROW_LO ? R->lo[i] : R->hi[i];
  }
  for (int i = 0; i < n; i++) {
    if (R->type[i] == PERP_ROW_BOUNDED) continue;
    int j = p->fric_of[i];
    if (R->type[i] != PERP_ROW_FRICTION && N->state[j] == PERP_ROW_LO && R->lo[j] == 0) {
      to[i] = 0; /* open: both tangential rows vanish */
      N->d[i] = HUGE_VAL;
      continue;
    }
    if (N->d[i] == HUGE_VAL && N->state[i] == PERP_ROW_FREE) to[i] = 0;
    if (N->state[i] == PERP_ROW_FREE) {
      if (R->type[i] != PERP_ROW_CONE_TAIL || p->F == NULL || p->F->s == NULL) continue;
      /* the off-diagonal part of S times dT_e = mu dn, as a term of dn */
      double o = C->e[i - 1] * C->e[i] * (p->F->s[i] - p->F->s[i - 1]);
      if (o != 0 && N->state[j] == PERP_ROW_FREE && N->d[i] < HUGE_VAL &&
          N->d[i] > 1e-8 * C->scale[i])
        N->gamma[i] = -o * p->mu[i] / N->d[i];
      continue;
    }
    double mu = N->state[i] == PERP_ROW_LO ? -p->mu[i] : p->mu[i];
    to[i] = mu * fmax(to[j], 0);
    if (N->state[j] == PERP_ROW_FREE) N->gamma[i] = mu;
  }
}

/* y += c times column `row` of A in the axes of sliding, y in the axes of the problem */
static void cone_step_column(const perp_cones *C, double c, int row, double *y)
{
  const perp_lcp *p = C->R.p;
  const signed char *type = C->R.type;
  const int pair = type[row] == PERP_ROW_CONE        ? row
                   : type[row] == PERP_ROW_CONE_TAIL ? row - 1
                                                     : -1;
  const size_t lda = (size_t)p->lda;
  const double *a = p->A + (size_t)(pair >= 0 ? pair : row) * lda;
  double first = c, second = 0;
  if (pair == row) {
    first = c * C->e[row];
    second = c * C->e[row + 1];
  } else if (pair >= 0) {
    first = -c * C->e[row];
    second = c * C->e[row - 1];
  }
  if (first != 0)
    for (int i = 0; i < p->n; i++) y[i] += first * a[i];
  if (second != 0)
    for (int i = 0; i < p->n; i++) y[i] += second * a[lda + (size_t)i];
}

/* k += the unknown rows of y [n], turned */
static void cone_step_gather(const perp_cones *C, const double *y, double *k)
{
  const perp_system *S = &C->N.S;
  const signed char *type = C->R.type;
  for (int j = 0; j < S->f; j++) {
    const int i = S->index[j];
    if (type[i] == PERP_ROW_CONE)
      k[j] += C->e[i] * y[i] + C->e[i + 1] * y[i + 1];
    else if (type[i] == PERP_ROW_CONE_TAIL)
      k[j] += C->e[i - 1] * y[i] - C->e[i] * y[i - 1];
    else
      k[j] += y[i];
  }
}

/* The unknown rows of c times column j of the sparse A, turned, to the column of the LU that is
 * being made */
static void cone_step_scatter(perp_cones *C, double c, int j)
{
  const perp_rows *R = &C->R;
  const int *place = C->place;
  for (int k = R->start[j]; c != 0 && k < R->start[j + 1]; k++) {
    const int i = R->row[k];
    const double v = c * R->value[k];
    if (R->type[i] != PERP_ROW_CONE && R->type[i] != PERP_ROW_CONE_TAIL) {
      if (place[i] >= 0) perp_sparse_lu_add(&C->L, place[i], v);
      continue;
    }
    const bool head = R->type[i] == PERP_ROW_CONE;
    const int pair = head ? i : i - 1;
    if (place[pair] >= 0 && C->e[i] != 0) perp_sparse_lu_add(&C->L, place[pair], C->e[i] * v);
    const double across = head ? -C->e[pair + 1] : C->e[pair];
    if (place[pair + 1] >= 0 && across != 0) perp_sparse_lu_add(&C->L, place[pair + 1], across * v);
  }
}

/* The same of a column in the axes of sliding */
static void cone_step_scatter_turned(perp_cones *C, double c, int j)
{
  const signed char type = C->R.type[j];
  if (type == PERP_ROW_CONE) {
    cone_step_scatter(C, c * C->e[j], j);
    cone_step_scatter(C, c * C->e[j + 1], j + 1);
  } else if (type == PERP_ROW_CONE_TAIL) {
    cone_step_scatter(C, -c * C->e[j], j - 1);
    cone_step_scatter(C, c * C->e[j - 1], j);
  } else
    cone_step_scatter(C, c, j);
}

static bool cone_step_sparse(perp_cones *C)
{
  perp_newton *N = &C->N;
  const perp_system *S = &N->S;
  const int n = C->R.n;
  for (int i = 0; i < n; i++) {
    C->place[i] = -1;
    C->first[i] = -1;
  }
  for (int k = 0; k < S->f; k++) C->place[S->index[k]] = k;
  for (int i = n - 1; i >= 0; i--) {
    if (N->gamma[i] == 0) continue;
    const int j = C->R.p->fric_of[i];
    C->other[i] = C->first[j];
    C->first[j] = i;
  }
  perp_sparse_lu_begin(&C->L, n);
  for (int k = 0; k < S->f; k++) {
    const int i = S->index[k];
    cone_step_scatter_turned(C, 1, i);
    for (int l = C->first[i]; l >= 0; l = C->other[l]) cone_step_scatter_turned(C, N->gamma[l], l);
    perp_sparse_lu_add(&C->L, k, fmax(N->d[i], FLOOR * C->scale[i]));
    perp_sparse_lu_column(&C->L);
  }
  const bool good = perp_sparse_lu_factor(&C->L);
  C->R.work += perp_sparse_lu_work(&C->L);
  return good;
}

/* The LU of the unknown rows, gathered and turned. */
static bool cone_step_factor(perp_cones *C)
{
  perp_newton *N = &C->N;
  perp_system *S = &N->S;
  const perp_lcp *p = C->R.p;
  const int n = C->R.n;
  double *y = N->Adx;
  S->f = 0;
  for (int i = 0; i < n; i++)
    if (N->d[i] < HUGE_VAL) {
      S->pivot[i] = S->f; /* place of a row, for a moment */
      S->index[S->f++] = i;
    }
  if (C->R.sparse) return cone_step_sparse(C);
  const size_t f = (size_t)S->f;
  memset(S->K, 0, f * f * sizeof *S->K);
  for (size_t k = 0; k < f; k++) {
    const int i = S->index[k];
    memset(y, 0, (size_t)n * sizeof *y);
    cone_step_column(C, 1, i, y);
    cone_step_gather(C, y, S->K + k * f);
    S->K[k + k * f] += fmax(N->d[i], FLOOR * C->scale[i]);
  }
  for (int i = 0; i < n; i++) { /* what follows its normal row */
    if (N->gamma[i] == 0 || !(N->d[p->fric_of[i]] < HUGE_VAL)) continue;
    memset(y, 0, (size_t)n * sizeof *y);
    cone_step_column(C, N->gamma[i], i, y);
    cone_step_gather(C, y, S->K + (size_t)S->pivot[p->fric_of[i]] * f);
  }
  C->R.work += (double)n * S->f + (double)f * (double)f * (1 + (double)f / 3);
  return S->f == 0 || LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, S->f, S->f, S->K, S->f, S->pivot) == 0;
}

/* x of the gathered system for r [n], with the rows that follow, in the axes of sliding */
static void cone_step_gathered_solve(perp_cones *C, const double *r, double *x)
{
  perp_newton *N = &C->N;
  perp_system *S = &N->S;
  const int n = C->R.n, f = S->f;
  for (int k = 0; k < f; k++) S->rhs[k] = r[S->index[k]];
  if (C->R.sparse)
    perp_sparse_lu_solve(&C->L, S->rhs);
  else if (f > 0)
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', f, 1, S->K, f, S->pivot, S->rhs, f);
  C->R.work += C->R.sparse ? perp_sparse_lu_nnz(&C->L) : (double)f * f;
  memset(x, 0, (size_t)n * sizeof *x);
  for (int k = 0; k < f; k++) x[S->index[k]] = S->rhs[k];
  for (int i = 0; i < n; i++)
    if (N->gamma[i] != 0 && !(N->d[i] < HUGE_VAL)) x[i] = N->gamma[i] * x[C->R.p->fric_of[i]];
}

static double cone_step_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

/* N.dx in the axes of sliding for N.rhs, refined against the matrix without its floor; N.Adx: A dx.
 */
static bool cone_step_dense(perp_cones *C)
{
  perp_newton *N = &C->N;
  perp_system *S = &N->S;
  const int n = C->R.n;
  if (!cone_step_factor(C)) return false;
  cone_step_gathered_solve(C, N->rhs, N->dx);
  double before = cone_step_norm(n, N->dx);
  const double size = before;
  if (!isfinite(size)) return false;
  for (int k = 0;; k++) {
    memcpy(S->cor, N->dx, (size_t)n * sizeof *S->cor);
    cone_step_turn(C, true, S->cor);
    cone_step_product(C, S->cor, N->Adx);
    if (k == C->refine) return true;
    memcpy(S->Ax, N->Adx, (size_t)n * sizeof *S->Ax);
    cone_step_turn(C, false, S->Ax);
    for (int i = 0; i < n; i++)
      S->res[i] = N->d[i] < HUGE_VAL ? N->rhs[i] - S->Ax[i] - (N->d[i] - C->shift[i]) * N->dx[i]
                                     : 0;
    cone_step_gathered_solve(C, S->res, S->cor);
    const double now = cone_step_norm(n, S->cor);
    /* no contraction: dependent rows that contradict each other, or rounding */
    if (!(now <= 0.5 * before) || now <= 1e-12 * size) return true;
    for (int i = 0; i < n; i++) N->dx[i] += S->cor[i];
    before = now;
  }
}

/* The step for the sets of classify: N.dx in the axes of the problem, N.Adx the change of w with
 * it. */
static bool cone_step_direction(perp_cones *C, const double *own)
{
  perp_newton *N = &C->N;
  const perp_rows *R = &C->R;
  const int n = R->n;
  const size_t bytes = (size_t)n * sizeof(double);
  double *to = N->trial, *x = N->keep, *there = N->tw;
  memcpy(x, C->x, bytes);
  cone_step_turn(C, false, x);
  cone_step_target(C, own, x, to);
  memcpy(N->dx, to, bytes);
  cone_step_turn(C, true, N->dx);
  cone_step_slack(C, N->dx, there);
  memcpy(N->rhs, there, bytes);
  cone_step_turn(C, false, N->rhs);
  for (int i = 0; i < n; i++) N->rhs[i] = -N->rhs[i] - (own[i] < HUGE_VAL ? own[i] * to[i] : 0);
  const bool dense = R->p->F == NULL;
  if (dense && !cone_step_dense(C)) return false;
  if (!dense && !perp_system_factor(&N->S, N->d, N->gamma)) return false;
  if (!dense && !perp_system_solve(&N->S, N->rhs, N->dx, C->refine)) return false;
  for (int i = 0; i < n; i++) N->dx[i] += to[i] - x[i];
  cone_step_turn(C, true, N->dx);
  if (!dense)
    cone_step_product(C, N->dx, N->Adx);
  else
    for (int i = 0; i < n; i++) N->Adx[i] += there[i] - C->w[i];
  return true;
}

/* the length of the step that is good enough, 0 when none; trial and tw hold the point */
static double cone_step_search(perp_cones *C, double reference)
{
  perp_newton *N = &C->N;
  for (double t = 1; t > SHORTEST; t *= 0.5) {
    for (int i = 0; i < N->n; i++) {
      N->trial[i] = C->x[i] + t * N->dx[i];
      N->tw[i] = C->w[i] + t * N->Adx[i];
    }
    const double now = perp_cones_merit(C, N->trial, N->tw);
    if (now <= reference - 1e-4 * t * C->theta && isfinite(now)) return t;
  }
  return 0;
}

perp_status perp_cones_step(perp_ctx *ctx, perp_cones *C, double *length, int *factorizations)
{
  perp_newton *N = &C->N;
  const bool dense = C->R.p->F == NULL;
  const size_t bytes = (size_t)C->R.n * sizeof(double);
  double reference = C->past[0], t = 0, *own = N->known;
  for (int k = 1; k < C->window; k++) reference = fmax(reference, C->past[k]);
  cone_step_classify(C, own);
  if (!dense) PERP_TRY(cone_step_turned(ctx, C));
  for (int attempt = 0; attempt < 4 && t == 0; attempt++) {
    if (attempt > 0) C->rho = C->rho > 0 ? 100 * C->rho : PROXIMAL;
    if (cone_step_direction(C, own)) t = cone_step_search(C, reference);
    ++*factorizations;
  }
  if (!dense) C->R.work += N->R.work; /* that of the turned problem of this step */
  C->steps++;
  *length = t;
  if (t == 0) return PERP_OK;
  memcpy(C->x, N->trial, bytes);
  /* a part of the way to the limits is not on them */
  if (t < 1) perp_rows_project(&C->R, C->x, C->x);
  C->rho = C->rho > 1e-8 ? 0.01 * C->rho : 0;
  perp_cones_slack(C);
  C->theta = perp_cones_merit(C, C->x, C->w);
  C->past[C->steps % C->window] = C->theta;
  return PERP_OK;
}
