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

void perp_cones_layout(void *ws, perp_arena *arena)
{
  perp_cones *cones = ws;
  perp_newton_layout(ws, arena);
  PERP_DOUBLES(arena, cones->N.max_n, &cones->x, &cones->w, &cones->scale, &cones->e, &cones->b,
               &cones->s, &cones->shift, &cones->center);
  PERP_INTS(arena, cones->N.max_n, &cones->place, &cones->first, &cones->other);
}

void perp_cones_destroy(void *ws)
{
  perp_cones *cones = ws;
  if (cones == NULL) return;
  perp_rows_close(&cones->R);
  perp_sparse_lu_close(&cones->L);
  free(cones->matrix);
  perp_newton_destroy(cones);
}

perp_status perp_cones_create(perp_ctx *ctx, const char *name, int max_n, perp_cones *like,
                              size_t size, perp_layout_fn *layout, void **ws)
{
  PERP_TRY(perp_newton_create(ctx, name, max_n, &like->N, size, layout, ws));
  perp_cones *cones = *ws;
  const perp_status status = perp_rows_open(ctx, &cones->R, max_n);
  if (status == PERP_OK) return PERP_OK;
  perp_cones_destroy(cones);
  *ws = NULL;
  return status;
}

perp_status perp_cones_prepare(perp_ctx *ctx, perp_cones *cones, const perp_lcp *lcp)
{
  const perp_rows *rows = &cones->R;
  const size_t n = (size_t)lcp->n;
  if (lcp->n > cones->N.max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "lcp: n = %d, but the solver was created for at most %d rows", lcp->n,
                     cones->N.max_n);
  PERP_TRY(perp_rows_prepare(ctx, &cones->R, lcp, 1));
  /* turned and following columns have the numbers of two */
  if (rows->sparse)
    PERP_TRY(perp_sparse_lu_reserve(ctx, &cones->L, lcp->n, 4 * (size_t)rows->start[lcp->n]));
  else if (lcp->F == NULL)
    PERP_TRY(perp_system_grow(ctx, &cones->N.S.K, &cones->N.S.capacity, n * n));
  cones->N.n = lcp->n;
  cones->steps = cones->matvecs = 0;
  cones->proximal = false;
  for (int i = 0; i < lcp->n; i++) {
    cones->scale[i] = rows->diag[i] > 0 ? rows->diag[i] : rows->big[i];
    cones->e[i] = cones->shift[i] = cones->center[i] = 0;
    if (rows->type[i] == PERP_ROW_CONE_TAIL)
      cones->scale[i - 1] = cones->scale[i] = fmax(cones->scale[i - 1], cones->scale[i]);
  }
  return PERP_OK;
}

/* ---- the natural map ---- */

double perp_cones_merit(const perp_cones *cones, const double *x, const double *w)
{
  const perp_rows *rows = &cones->R;
  double sum = 0;
  for (int i = 0; i < rows->n; i++) {
    double lo, hi, a = cones->scale[i], y = x[i] - w[i] / a;
    perp_rows_bounds(rows, x, i, &lo, &hi);
    if (rows->type[i] == PERP_ROW_CONE) {
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
static void cone_step_slack(perp_cones *cones, const double *x, double *slack)
{
  perp_rows_w(&cones->R, x, slack);
  cones->matvecs++;
  for (int i = 0; cones->proximal && i < cones->R.n; i++)
    slack[i] += cones->shift[i] * (x[i] - cones->center[i]);
}

/* y = (A + diag(shift)) x */
static void cone_step_product(perp_cones *cones, const double *x, double *y)
{
  perp_rows_A(&cones->R, x, y);
  cones->matvecs++;
  for (int i = 0; cones->proximal && i < cones->R.n; i++) y[i] += cones->shift[i] * x[i];
}

void perp_cones_slack(perp_cones *cones)
{
  cone_step_slack(cones, cones->x, cones->w);
}

void perp_cones_restart(perp_cones *cones)
{
  cones->theta = perp_cones_merit(cones, cones->x, cones->w);
  cones->rho = 0;
  for (int k = 0; k < cones->window; k++) cones->past[k] = cones->theta;
}

/* ---- the axes of sliding ---- */

/* v <- the components of every pair along e and e', or back */
static void cone_step_turn(const perp_cones *cones, bool back, double *v)
{
  const perp_rows *rows = &cones->R;
  for (int i = 0; i < rows->n; i++)
    if (rows->type[i] == PERP_ROW_CONE) {
      double c = cones->e[i], s = back ? -cones->e[i + 1] : cones->e[i + 1], t = v[i];
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
static perp_status cone_step_turned(perp_ctx *ctx, perp_cones *cones)
{
  const perp_rows *rows = &cones->R;
  const perp_lcp *lcp = rows->p;
  const perp_blocks *blocks = lcp->F;
  const size_t size = (size_t)blocks->joff[blocks->jptr[blocks->nc]];
  cones->turned = *lcp;
  cones->turned.cone = NULL;
  cones->turned.b = cones->b;
  memcpy(cones->b, lcp->b, (size_t)lcp->n * sizeof *cones->b);
  cone_step_turn(cones, false, cones->b);
  PERP_TRY(perp_system_grow(ctx, &cones->matrix, &cones->capacity, size));
  memcpy(cones->matrix, blocks->J, size * sizeof *cones->matrix);
  for (int c = 0; c < blocks->nc; c++)
    for (int i = blocks->cptr[c], r = blocks->cptr[c + 1] - i, l = 0; l < r; l++)
      if (rows->type[i + l] == PERP_ROW_CONE && cones->e[i + l + 1] != 0)
        for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
          cone_step_turn_rows(cones->e[i + l], cones->e[i + l + 1],
                              cones->matrix + blocks->joff[k] + l, r,
                              blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]]);
  cones->F = *blocks;
  cones->F.J = cones->matrix;
  if (blocks->s != NULL) {
    /* two unlike softnesses have an off-diagonal part in other axes, see cone_step_target */
    for (int i = 0; i < lcp->n; i++) cones->s[i] = blocks->s[i];
    for (int i = 0; i < lcp->n; i++) {
      if (rows->type[i] != PERP_ROW_CONE) continue;
      double c = cones->e[i] * cones->e[i], t = cones->e[i + 1] * cones->e[i + 1];
      cones->s[i] = c * blocks->s[i] + t * blocks->s[i + 1];
      cones->s[i + 1] = t * blocks->s[i] + c * blocks->s[i + 1];
    }
    cones->F.s = cones->s;
  }
  cones->turned.F = &cones->F;
  return perp_newton_prepare(ctx, &cones->N, &cones->turned, 0);
}

/* ---- the step ---- */

/* Index sets and directions e at (x, w).  d: the diagonal of the sliding rows e', 0 elsewhere.  A
 * pair that slides has state HI in its first row. */
static void cone_step_classify(perp_cones *cones, double *d)
{
  const perp_rows *rows = &cones->R;
  signed char *state = cones->N.state;
  for (int i = 0; i < rows->n; i++) {
    double lo, hi, a = cones->scale[i], y = cones->x[i] - cones->w[i] / a;
    d[i] = 0;
    perp_rows_bounds(rows, cones->x, i, &lo, &hi);
    if (rows->type[i] != PERP_ROW_CONE) {
      state[i] = y < lo ? PERP_ROW_LO : y > hi ? PERP_ROW_HI : PERP_ROW_FREE;
      continue;
    }
    double z = cones->x[i + 1] - cones->w[i + 1] / a, length = hypot(y, z);
    bool slides = length > hi;
    state[i] = slides ? PERP_ROW_HI : PERP_ROW_FREE;
    state[i + 1] = PERP_ROW_FREE;
    cones->e[i] = slides ? y / length : 1;
    cones->e[i + 1] = slides ? z / length : 0;
    d[i + 1] = 0;
    if (slides) d[i + 1] = hi > 1e-14 * length ? a * (length - hi) / hi : HUGE_VAL;
    i++;
  }
}

/* For the sets of classify, in the axes of sliding: where the rows go that are not solved for, the
 * others staying as they are in x, in `to`; the diagonal N.d, infinite for rows that are not solved
 * for, and N.gamma. */
static void cone_step_target(perp_cones *cones, const double *own, const double *x, double *to)
{
  perp_newton *newton = &cones->N;
  const perp_rows *rows = &cones->R;
  const perp_lcp *lcp = rows->p;
  const int n = rows->n;
  for (int i = 0; i < n; i++) { /* bounded rows first: friction rows look at them */
    const signed char state = newton->state[i];
    newton->gamma[i] = 0;
    newton->d[i] = state == PERP_ROW_FREE ? own[i] + cones->shift[i] + cones->rho * cones->scale[i]
                                          : HUGE_VAL;
    to[i] = x[i];
    if (rows->type[i] == PERP_ROW_BOUNDED && state != PERP_ROW_FREE)
      to[i] = state == PERP_ROW_LO ? rows->lo[i] : rows->hi[i];
  }
  for (int i = 0; i < n; i++) {
    if (rows->type[i] == PERP_ROW_BOUNDED) continue;
    int j = lcp->fric_of[i];
    if (rows->type[i] != PERP_ROW_FRICTION && newton->state[j] == PERP_ROW_LO && rows->lo[j] == 0) {
      to[i] = 0; /* open: both tangential rows vanish */
      newton->d[i] = HUGE_VAL;
      continue;
    }
    if (newton->d[i] == HUGE_VAL && newton->state[i] == PERP_ROW_FREE) to[i] = 0;
    if (newton->state[i] == PERP_ROW_FREE) {
      if (rows->type[i] != PERP_ROW_CONE_TAIL || lcp->F == NULL || lcp->F->s == NULL) continue;
      /* the off-diagonal part of S times dT_e = mu dn, as a term of dn */
      double o = cones->e[i - 1] * cones->e[i] * (lcp->F->s[i] - lcp->F->s[i - 1]);
      if (o != 0 && newton->state[j] == PERP_ROW_FREE && newton->d[i] < HUGE_VAL &&
          newton->d[i] > 1e-8 * cones->scale[i])
        newton->gamma[i] = -o * lcp->mu[i] / newton->d[i];
      continue;
    }
    double mu = newton->state[i] == PERP_ROW_LO ? -lcp->mu[i] : lcp->mu[i];
    to[i] = mu * fmax(to[j], 0);
    if (newton->state[j] == PERP_ROW_FREE) newton->gamma[i] = mu;
  }
}

/* y += c times column `row` of A in the axes of sliding, y in the axes of the problem */
static void cone_step_column(const perp_cones *cones, double c, int row, double *y)
{
  const perp_lcp *lcp = cones->R.p;
  const signed char *type = cones->R.type;
  const int pair = type[row] == PERP_ROW_CONE        ? row
                   : type[row] == PERP_ROW_CONE_TAIL ? row - 1
                                                     : -1;
  const size_t lda = (size_t)lcp->lda;
  const double *a = lcp->A + (size_t)(pair >= 0 ? pair : row) * lda;
  double first = c, second = 0;
  if (pair == row) {
    first = c * cones->e[row];
    second = c * cones->e[row + 1];
  } else if (pair >= 0) {
    first = -c * cones->e[row];
    second = c * cones->e[row - 1];
  }
  if (first != 0)
    for (int i = 0; i < lcp->n; i++) y[i] += first * a[i];
  if (second != 0)
    for (int i = 0; i < lcp->n; i++) y[i] += second * a[lda + (size_t)i];
}

/* k += the unknown rows of y [n], turned */
static void cone_step_gather(const perp_cones *cones, const double *y, double *k)
{
  const perp_system *system = &cones->N.S;
  const signed char *type = cones->R.type;
  for (int j = 0; j < system->f; j++) {
    const int i = system->index[j];
    if (type[i] == PERP_ROW_CONE)
      k[j] += cones->e[i] * y[i] + cones->e[i + 1] * y[i + 1];
    else if (type[i] == PERP_ROW_CONE_TAIL)
      k[j] += cones->e[i - 1] * y[i] - cones->e[i] * y[i - 1];
    else
      k[j] += y[i];
  }
}

/* The unknown rows of c times column j of the sparse A, turned, to the column of the LU that is
 * being made */
static void cone_step_scatter(perp_cones *cones, double c, int j)
{
  const perp_rows *rows = &cones->R;
  const int *place = cones->place;
  for (int k = rows->start[j]; c != 0 && k < rows->start[j + 1]; k++) {
    const int i = rows->row[k];
    const double v = c * rows->value[k];
    if (rows->type[i] != PERP_ROW_CONE && rows->type[i] != PERP_ROW_CONE_TAIL) {
      if (place[i] >= 0) perp_sparse_lu_add(&cones->L, place[i], v);
      continue;
    }
    const bool head = rows->type[i] == PERP_ROW_CONE;
    const int pair = head ? i : i - 1;
    if (place[pair] >= 0 && cones->e[i] != 0)
      perp_sparse_lu_add(&cones->L, place[pair], cones->e[i] * v);
    const double across = head ? -cones->e[pair + 1] : cones->e[pair];
    if (place[pair + 1] >= 0 && across != 0)
      perp_sparse_lu_add(&cones->L, place[pair + 1], across * v);
  }
}

/* The same of a column in the axes of sliding */
static void cone_step_scatter_turned(perp_cones *cones, double c, int j)
{
  const signed char type = cones->R.type[j];
  if (type == PERP_ROW_CONE) {
    cone_step_scatter(cones, c * cones->e[j], j);
    cone_step_scatter(cones, c * cones->e[j + 1], j + 1);
  } else if (type == PERP_ROW_CONE_TAIL) {
    cone_step_scatter(cones, -c * cones->e[j], j - 1);
    cone_step_scatter(cones, c * cones->e[j - 1], j);
  } else
    cone_step_scatter(cones, c, j);
}

static bool cone_step_sparse(perp_cones *cones)
{
  perp_newton *newton = &cones->N;
  const perp_system *system = &newton->S;
  const int n = cones->R.n;
  for (int i = 0; i < n; i++) {
    cones->place[i] = -1;
    cones->first[i] = -1;
  }
  for (int k = 0; k < system->f; k++) cones->place[system->index[k]] = k;
  for (int i = n - 1; i >= 0; i--) {
    if (newton->gamma[i] == 0) continue;
    const int j = cones->R.p->fric_of[i];
    cones->other[i] = cones->first[j];
    cones->first[j] = i;
  }
  perp_sparse_lu_begin(&cones->L, n);
  for (int k = 0; k < system->f; k++) {
    const int i = system->index[k];
    cone_step_scatter_turned(cones, 1, i);
    for (int l = cones->first[i]; l >= 0; l = cones->other[l])
      cone_step_scatter_turned(cones, newton->gamma[l], l);
    perp_sparse_lu_add(&cones->L, k, fmax(newton->d[i], FLOOR * cones->scale[i]));
    perp_sparse_lu_column(&cones->L);
  }
  const bool good = perp_sparse_lu_factor(&cones->L);
  cones->R.work += perp_sparse_lu_work(&cones->L);
  return good;
}

/* The LU of the unknown rows, gathered and turned. */
static bool cone_step_factor(perp_cones *cones)
{
  perp_newton *newton = &cones->N;
  perp_system *system = &newton->S;
  const perp_lcp *lcp = cones->R.p;
  const int n = cones->R.n;
  double *y = newton->Adx;
  system->f = 0;
  for (int i = 0; i < n; i++)
    if (newton->d[i] < HUGE_VAL) {
      system->pivot[i] = system->f; /* place of a row, for a moment */
      system->index[system->f++] = i;
    }
  if (cones->R.sparse) return cone_step_sparse(cones);
  const size_t f = (size_t)system->f;
  memset(system->K, 0, f * f * sizeof *system->K);
  for (size_t k = 0; k < f; k++) {
    const int i = system->index[k];
    memset(y, 0, (size_t)n * sizeof *y);
    cone_step_column(cones, 1, i, y);
    cone_step_gather(cones, y, system->K + k * f);
    system->K[k + k * f] += fmax(newton->d[i], FLOOR * cones->scale[i]);
  }
  for (int i = 0; i < n; i++) { /* what follows its normal row */
    if (newton->gamma[i] == 0 || !(newton->d[lcp->fric_of[i]] < HUGE_VAL)) continue;
    memset(y, 0, (size_t)n * sizeof *y);
    cone_step_column(cones, newton->gamma[i], i, y);
    cone_step_gather(cones, y, system->K + (size_t)system->pivot[lcp->fric_of[i]] * f);
  }
  cones->R.work += (double)n * system->f + (double)f * (double)f * (1 + (double)f / 3);
  return system->f == 0 || LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, system->f, system->f, system->K,
                                               system->f, system->pivot) == 0;
}

/* x of the gathered system for r [n], with the rows that follow, in the axes of sliding */
static void cone_step_gathered_solve(perp_cones *cones, const double *r, double *x)
{
  perp_newton *newton = &cones->N;
  perp_system *system = &newton->S;
  const int n = cones->R.n, f = system->f;
  for (int k = 0; k < f; k++) system->rhs[k] = r[system->index[k]];
  if (cones->R.sparse)
    perp_sparse_lu_solve(&cones->L, system->rhs);
  else if (f > 0)
    LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', f, 1, system->K, f, system->pivot, system->rhs, f);
  cones->R.work += cones->R.sparse ? perp_sparse_lu_nnz(&cones->L) : (double)f * f;
  memset(x, 0, (size_t)n * sizeof *x);
  for (int k = 0; k < f; k++) x[system->index[k]] = system->rhs[k];
  for (int i = 0; i < n; i++)
    if (newton->gamma[i] != 0 && !(newton->d[i] < HUGE_VAL))
      x[i] = newton->gamma[i] * x[cones->R.p->fric_of[i]];
}

static double cone_step_norm(int n, const double *x)
{
  double top = 0;
  for (int i = 0; i < n; i++)
    if (!(fabs(x[i]) <= top)) top = fabs(x[i]);
  return top;
}

/* N.dx in the axes of sliding for newton.rhs, refined against the matrix without its floor; N.Adx:
 * A dx.
 */
static bool cone_step_dense(perp_cones *cones)
{
  perp_newton *newton = &cones->N;
  perp_system *system = &newton->S;
  const int n = cones->R.n;
  if (!cone_step_factor(cones)) return false;
  cone_step_gathered_solve(cones, newton->rhs, newton->dx);
  double before = cone_step_norm(n, newton->dx);
  const double size = before;
  if (!isfinite(size)) return false;
  for (int k = 0;; k++) {
    memcpy(system->cor, newton->dx, (size_t)n * sizeof *system->cor);
    cone_step_turn(cones, true, system->cor);
    cone_step_product(cones, system->cor, newton->Adx);
    if (k == cones->refine) return true;
    memcpy(system->Ax, newton->Adx, (size_t)n * sizeof *system->Ax);
    cone_step_turn(cones, false, system->Ax);
    for (int i = 0; i < n; i++)
      system->res[i] = newton->d[i] < HUGE_VAL
                           ? newton->rhs[i] - system->Ax[i] -
                                 (newton->d[i] - cones->shift[i]) * newton->dx[i]
                           : 0;
    cone_step_gathered_solve(cones, system->res, system->cor);
    const double now = cone_step_norm(n, system->cor);
    /* no contraction: dependent rows that contradict each other, or rounding */
    if (!(now <= 0.5 * before) || now <= 1e-12 * size) return true;
    for (int i = 0; i < n; i++) newton->dx[i] += system->cor[i];
    before = now;
  }
}

/* The step for the sets of classify: N.dx in the axes of the problem, N.Adx the change of w with
 * it. */
static bool cone_step_direction(perp_cones *cones, const double *own)
{
  perp_newton *newton = &cones->N;
  const perp_rows *rows = &cones->R;
  const int n = rows->n;
  const size_t bytes = (size_t)n * sizeof(double);
  double *to = newton->trial, *x = newton->keep, *there = newton->tw;
  memcpy(x, cones->x, bytes);
  cone_step_turn(cones, false, x);
  cone_step_target(cones, own, x, to);
  memcpy(newton->dx, to, bytes);
  cone_step_turn(cones, true, newton->dx);
  cone_step_slack(cones, newton->dx, there);
  memcpy(newton->rhs, there, bytes);
  cone_step_turn(cones, false, newton->rhs);
  for (int i = 0; i < n; i++)
    newton->rhs[i] = -newton->rhs[i] - (own[i] < HUGE_VAL ? own[i] * to[i] : 0);
  const bool dense = rows->p->F == NULL;
  if (dense && !cone_step_dense(cones)) return false;
  if (!dense && !perp_system_factor(&newton->S, newton->d, newton->gamma)) return false;
  if (!dense && !perp_system_solve(&newton->S, newton->rhs, newton->dx, cones->refine))
    return false;
  for (int i = 0; i < n; i++) newton->dx[i] += to[i] - x[i];
  cone_step_turn(cones, true, newton->dx);
  if (!dense)
    cone_step_product(cones, newton->dx, newton->Adx);
  else
    for (int i = 0; i < n; i++) newton->Adx[i] += there[i] - cones->w[i];
  return true;
}

/* the length of the step that is good enough, 0 when none; trial and tw hold the point */
static double cone_step_search(perp_cones *cones, double reference)
{
  perp_newton *newton = &cones->N;
  for (double t = 1; t > SHORTEST; t *= 0.5) {
    for (int i = 0; i < newton->n; i++) {
      newton->trial[i] = cones->x[i] + t * newton->dx[i];
      newton->tw[i] = cones->w[i] + t * newton->Adx[i];
    }
    const double now = perp_cones_merit(cones, newton->trial, newton->tw);
    if (now <= reference - 1e-4 * t * cones->theta && isfinite(now)) return t;
  }
  return 0;
}

/* A factorization that costs more than the caller affords, as much as the one before, is not begun:
 * of many contacts it is worth a hundred products or more.  What is left is no use then and counts
 * as spent. */
static bool cone_step_refused(perp_cones *cones)
{
  const double work = cones->R.work + cones->N.R.work + perp_bodylu_work(cones->N.S.L);
  const double most = cones->R.p->work;
  if (!(most > 0 && work > most)) return false;
  cones->R.work = fmax(cones->R.work, most - cones->N.R.work);
  return true;
}

perp_status perp_cones_step(perp_ctx *ctx, perp_cones *cones, double *length, int *factorizations)
{
  perp_newton *newton = &cones->N;
  const bool dense = cones->R.p->F == NULL;
  const size_t bytes = (size_t)cones->R.n * sizeof(double);
  double reference = cones->past[0], t = 0, *own = newton->known;
  for (int k = 1; k < cones->window; k++) reference = fmax(reference, cones->past[k]);
  cone_step_classify(cones, own);
  if (!dense) PERP_TRY(cone_step_turned(ctx, cones));
  for (int attempt = 0; attempt < 4 && t == 0; attempt++) {
    if (!dense && (attempt > 0 || cones->steps > 0) && cone_step_refused(cones)) break;
    if (attempt > 0) cones->rho = cones->rho > 0 ? 100 * cones->rho : PROXIMAL;
    if (cone_step_direction(cones, own)) t = cone_step_search(cones, reference);
    ++*factorizations;
  }
  if (!dense) cones->R.work += newton->R.work; /* that of the turned problem of this step */
  cones->steps++;
  *length = t;
  if (t == 0) return PERP_OK;
  memcpy(cones->x, newton->trial, bytes);
  /* a part of the way to the limits is not on them */
  if (t < 1) perp_rows_project(&cones->R, cones->x, cones->x);
  cones->rho = cones->rho > 1e-8 ? 0.01 * cones->rho : 0;
  perp_cones_slack(cones);
  cones->theta = perp_cones_merit(cones, cones->x, cones->w);
  cones->past[cones->steps % cones->window] = cones->theta;
  return PERP_OK;
}
