/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/pivoting/sensitivity.h"
#include "solvers/lcp/problem.h"
#include "solvers/lcp/pivoting/solution_set.h"

#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WEAK = PERP_SENSITIVITY_WEAK };
static const unsigned char ANY = PERP_SET_LO | PERP_SET_FREE | PERP_SET_HI;

/* What a row does in the problem of directions. */
enum role { FIXED, FREE, WEAK_ROW };

struct basis {
  const perp_lcp *lcp;
  int n, nf, nw;
  double *A, *K;       /* [n n] A T; the factors of its free rows and columns */
  double *R, *C;       /* [nf] scales of rows and columns of K */
  int *pivot, *F, *at; /* [nf], [nf] free rows, [n] their place there */
  int *side;           /* [n] of friction rows at a limit: -1, 1 */
  unsigned char *sets, *role;
  double *lambda, *w;    /* [n] */
  double *y, *d, *dw;    /* [n] a direction: free multipliers, lambda, w */
  double *out[2];        /* [n n] of both signs */
  bool *found[2];        /* [n] */
  int W[WEAK];           /* weak rows */
  double M[WEAK * WEAK]; /* their matrix, without the free rows */
  double *G;             /* [nf WEAK] K^-1 (A T)_FW */
  double zero;
};

static bool basis_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
}

/* ---- rows and matrix ---- */

/* Roles of the rows, friction at its limit taken into the columns of its normal row. */
static void basis_roles(struct basis *B)
{
  const perp_lcp *lcp = B->lcp;
  const int n = B->n;
  for (int i = 0; i < n; i++) {
    const unsigned char set = B->sets[i];
    B->role[i] = set == PERP_SET_FREE                   ? FREE
                 : set == ANY || (set & (set - 1)) == 0 ? FIXED
                                                        : WEAK_ROW;
  }
  for (int t = 0; t < n; t++) {
    if (!basis_is_friction(lcp, t)) continue;
    const int normal = lcp->fric_of[t];
    const unsigned char set = B->sets[t];
    /* a normal that may rise from 0 lets friction without slip do so, too */
    if (set == ANY && lcp->mu[t] > 0 && B->role[normal] != FIXED) B->role[t] = WEAK_ROW;
    if (set == ANY || set == PERP_SET_FREE) continue;
    B->side[t] = set & PERP_SET_LO ? -1 : 1;
    for (int i = 0; i < n; i++)
      B->A[i + (size_t)normal * n] += B->side[t] * lcp->mu[t] * B->A[i + (size_t)t * n];
  }
  for (int i = 0; i < n; i++) {
    B->at[i] = -1;
    if (B->role[i] == FREE) {
      B->at[i] = B->nf;
      B->F[B->nf++] = i;
    } else if (B->role[i] == WEAK_ROW && B->nw++ < WEAK)
      B->W[B->nw - 1] = i;
  }
}

/* K = L U of the free rows, scaled; its reciprocal condition. */
static double basis_factor(struct basis *B, double *work, int *integers)
{
  const int n = B->n, nf = B->nf;
  if (nf == 0) return 1;
  double norm = 0, rcond = 0;
  for (int i = 0; i < nf; i++) {
    double most = 0;
    for (int j = 0; j < nf; j++) most = fmax(most, fabs(B->A[B->F[i] + (size_t)B->F[j] * n]));
    if (most == 0) return 0;
    B->R[i] = 1 / most;
  }
  for (int j = 0; j < nf; j++) {
    double most = 0;
    for (int i = 0; i < nf; i++)
      most = fmax(most, B->R[i] * fabs(B->A[B->F[i] + (size_t)B->F[j] * n]));
    if (most == 0) return 0;
    B->C[j] = 1 / most;
    double sum = 0;
    for (int i = 0; i < nf; i++) {
      double *k = &B->K[i + (size_t)j * nf];
      *k = B->R[i] * B->C[j] * B->A[B->F[i] + (size_t)B->F[j] * n];
      sum += fabs(*k);
    }
    norm = fmax(norm, sum);
  }
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, nf, nf, B->K, nf, B->pivot) != 0) return 0;
  LAPACKE_dgecon_work(LAPACK_COL_MAJOR, '1', nf, B->K, nf, norm, &rcond, work, integers);
  return rcond;
}

/* x [nf] = K^-1 x */
static void basis_solve(const struct basis *B, double *x)
{
  if (B->nf == 0) return;
  for (int i = 0; i < B->nf; i++) x[i] *= B->R[i];
  LAPACKE_dgetrs_work(LAPACK_COL_MAJOR, 'N', B->nf, 1, B->K, B->nf, B->pivot, x, B->nf);
  for (int i = 0; i < B->nf; i++) x[i] *= B->C[i];
}

/* B->d = T y for y with the free rows x [nf] and what B->y has in the others. */
static void basis_spread(struct basis *B, const double *x)
{
  const perp_lcp *lcp = B->lcp;
  for (int k = 0; k < B->nf; k++) B->y[B->F[k]] = x[k];
  memcpy(B->d, B->y, (size_t)B->n * sizeof *B->d);
  for (int t = 0; t < B->n; t++)
    if (B->side[t] != 0) B->d[t] += B->side[t] * lcp->mu[t] * B->y[lcp->fric_of[t]];
}

/* B->dw = r + A T y */
static void basis_product(struct basis *B, int i, int sign)
{
  memset(B->dw, 0, (size_t)B->n * sizeof *B->dw);
  B->dw[i] = sign;
  for (int j = 0; j < B->n; j++)
    if (B->y[j] != 0)
      for (int k = 0; k < B->n; k++) B->dw[k] += B->A[k + (size_t)j * B->n] * B->y[j];
  for (int k = 0; k < B->nf; k++) B->dw[B->F[k]] = 0;
}

/* ---- degenerate rows ---- */

static void basis_reduce(struct basis *B)
{
  const int n = B->n, nf = B->nf;
  for (int l = 0; l < B->nw; l++) {
    double *g = B->G + (size_t)l * nf;
    for (int k = 0; k < nf; k++) g[k] = B->A[B->F[k] + (size_t)B->W[l] * n];
    basis_solve(B, g);
    for (int i = 0; i < B->nw; i++) {
      double sum = B->A[B->W[i] + (size_t)B->W[l] * n], terms = fabs(sum);
      for (int k = 0; k < nf; k++) {
        const double term = B->A[B->W[i] + (size_t)B->F[k] * n] * g[k];
        sum -= term;
        terms += fabs(term);
      }
      B->M[i + l * B->nw] = fabs(sum) <= B->zero * terms ? 0 : sum;
    }
  }
}

/* The weak rows' part y_W of the direction of sign b_i, x [nf] = -K^-1 of it.  1: there is one; 0:
 * none, or several; an error of the enumeration below 0. */
static perp_status basis_choose(perp_ctx *ctx, struct basis *B, int i, int sign, const double *x,
                                bool *unique)
{
  double q[WEAK], lo[WEAK], hi[WEAK], mu[WEAK] = { 0 };
  int fric_of[WEAK], m = B->nw;
  bool friction = false;
  for (int l = 0; l < m; l++) {
    const int row = B->W[l];
    q[l] = row == i ? sign : 0;
    double terms = fabs(q[l]);
    for (int k = 0; k < B->nf; k++) {
      const double term = B->A[row + (size_t)B->F[k] * B->n] * x[k];
      q[l] += term;
      terms += fabs(term);
    }
    if (fabs(q[l]) <= B->zero * terms) q[l] = 0;
    lo[l] = B->sets[row] & PERP_SET_LO ? 0 : -HUGE_VAL;
    hi[l] = B->sets[row] & PERP_SET_HI ? 0 : HUGE_VAL;
    fric_of[l] = -1;
    if (B->sets[row] != ANY) continue;
    for (int k = 0; k < m; k++)
      if (B->W[k] == B->lcp->fric_of[row]) fric_of[l] = k;
    mu[l] = B->lcp->mu[row];
    friction = true;
  }
  const perp_lcp directions = { .n = m,
                                .A = B->M,
                                .lda = m,
                                .b = q,
                                .lo = lo,
                                .hi = hi,
                                .fric_of = friction ? fric_of : NULL,
                                .mu = mu };
  perp_lcp_solutions solutions;
  PERP_TRY(perp_lcp_solutions_find(ctx, &directions, 1e-9, B->zero, &solutions));
  *unique = solutions.complete && solutions.count == 1 && solutions.parts == 1 &&
            solutions.part[0].known && solutions.part[0].bounded;
  for (int l = 0; l < m && *unique; l++) B->y[B->W[l]] = solutions.lambda[l];
  perp_lcp_solutions_free(&solutions);
  return PERP_OK;
}

/* The direction of lambda for sign b_i, in d and dw; *exists: is there one? */
static perp_status basis_direction(perp_ctx *ctx, struct basis *B, int i, int sign, bool *exists)
{
  double *x = B->dw; /* overwritten last */
  memset(B->y, 0, (size_t)B->n * sizeof *B->y);
  memset(x, 0, (size_t)B->n * sizeof *x);
  if (B->at[i] >= 0) x[B->at[i]] = -sign;
  basis_solve(B, x);
  *exists = true;
  if (B->nw > 0) {
    PERP_TRY(basis_choose(ctx, B, i, sign, x, exists));
    for (int l = 0; l < B->nw; l++)
      for (int k = 0; k < B->nf; k++) x[k] -= B->G[k + (size_t)l * B->nf] * B->y[B->W[l]];
  }
  basis_spread(B, x);
  basis_product(B, i, sign);
  return PERP_OK;
}

/* ---- how far ---- */

/* How far may x >= 0 go at this rate?  Zero for what is 0 within rounding and falls. */
static void step(double x, double rate, int row, double *most, int *which)
{
  if (!(rate < 0)) return;
  const double t = fmax(x, 0) / -rate;
  if (t < *most) {
    *most = t;
    *which = row;
  }
}

/* The largest t for which lambda + t d, w + t dw is a solution, and the row that ends it. */
static double basis_reach(const struct basis *B, int *row)
{
  const perp_lcp *lcp = B->lcp;
  double most = HUGE_VAL;
  *row = -1;
  for (int i = 0; i < B->n; i++) {
    const unsigned char set = B->sets[i];
    const double x = B->lambda[i], dx = B->d[i];
    if (B->role[i] == FIXED) {
      if (set == PERP_SET_LO) step(B->w[i], B->dw[i], i, &most, row);
      if (set == PERP_SET_HI) step(-B->w[i], -B->dw[i], i, &most, row);
      continue;
    }
    /* a weak row stays away from its other bound alone, and w from nothing */
    const bool down = !(set & PERP_SET_LO), up = !(set & PERP_SET_HI);
    if (basis_is_friction(lcp, i)) {
      const int normal = lcp->fric_of[i];
      const double limit = lcp->mu[i] * B->lambda[normal], dlimit = lcp->mu[i] * B->d[normal];
      if (down) step(x + limit, dx + dlimit, i, &most, row);
      if (up) step(limit - x, dlimit - dx, i, &most, row);
      continue;
    }
    double lo, hi;
    perp_lcp_bounds(lcp, B->lambda, i, &lo, &hi);
    if (down && lo > -HUGE_VAL) step(x - lo, dx, i, &most, row);
    if (up && hi < HUGE_VAL) step(hi - x, -dx, i, &most, row);
  }
  return most;
}

/* ---- bounds and friction coefficients ---- */

/* Column i of out: lambda for y_i = 1 (where it is fixed) or for a change r of w. */
static void basis_column(struct basis *B, const double *r, double *out)
{
  double *x = B->dw;
  for (int k = 0; k < B->nf; k++) x[k] = -r[B->F[k]];
  basis_solve(B, x);
  basis_spread(B, x);
  memcpy(out, B->d, (size_t)B->n * sizeof *out);
}

static void basis_fill(double *out, int n, double value)
{
  for (int i = 0; out != NULL && i < n; i++) out[i] = value;
}

static void basis_bounds(struct basis *B, double *dbound, double *dmu, double *column)
{
  const perp_lcp *lcp = B->lcp;
  const int n = B->n;
  for (int i = 0; i < n; i++) {
    basis_fill(dbound != NULL ? dbound + (size_t)i * n : NULL, n, 0);
    basis_fill(dmu != NULL ? dmu + (size_t)i * n : NULL, n, 0);
    const bool friction = basis_is_friction(lcp, i);
    memset(B->y, 0, (size_t)n * sizeof *B->y);
    if (dbound != NULL && !friction && B->role[i] == FIXED) {
      bool closed = false;
      for (int t = 0; t < n && !closed; t++)
        closed = basis_is_friction(lcp, t) && lcp->fric_of[t] == i && B->sets[t] == ANY &&
                 lcp->mu[t] > 0;
      B->y[i] = 1;
      basis_column(B, B->A + (size_t)i * n, dbound + (size_t)i * n);
      if (closed) basis_fill(dbound + (size_t)i * n, n, (double)NAN);
    }
    if (dmu != NULL && friction && B->side[i] != 0) {
      const double force = B->side[i] * B->lambda[lcp->fric_of[i]];
      for (int k = 0; k < n; k++) column[k] = force * B->A[k + (size_t)i * n];
      basis_column(B, column, dmu + (size_t)i * n);
      dmu[i + (size_t)i * n] += force;
    }
  }
}

/* ---- all of it ---- */

static perp_lcp_smooth basis_kind(const struct basis *B, int i, const double *up,
                                  const double *down)
{
  const bool rises = B->found[0][i], falls = B->found[1][i];
  if (!rises || !falls) return rises ? PERP_SMOOTH_UP : falls ? PERP_SMOOTH_DOWN : PERP_SMOOTH_NOT;
  double apart = 0, size = 0;
  for (int k = 0; k < B->n; k++) {
    apart = fmax(apart, fabs(up[k] - down[k]));
    size = fmax(size, fmax(fabs(up[k]), fabs(down[k])));
  }
  return apart <= B->zero * size ? PERP_SMOOTH : PERP_SMOOTH_SIDES;
}

static perp_status basis_columns(perp_ctx *ctx, struct basis *B, perp_lcp_sensitivity *out)
{
  const int n = B->n;
  for (int i = 0; i < n; i++) {
    for (int way = 0; way < 2; way++) {
      const int sign = way == 0 ? 1 : -1;
      double *column = B->out[way] + (size_t)i * n;
      PERP_TRY(basis_direction(ctx, B, i, sign, &B->found[way][i]));
      for (int k = 0; k < n; k++) column[k] = B->found[way][i] ? sign * B->d[k] + 0.0 : (double)NAN;
      int row;
      const double t = basis_reach(B, &row);
      double *end = way == 0 ? out->most : out->least;
      int *end_row = way == 0 ? out->most_row : out->least_row;
      if (end != NULL) end[i] = B->found[way][i] ? B->lcp->b[i] + sign * t : (double)NAN;
      if (end_row != NULL) end_row[i] = B->found[way][i] ? row : -1;
    }
    if (out->kind != NULL)
      out->kind[i] = basis_kind(B, i, B->out[0] + (size_t)i * n, B->out[1] + (size_t)i * n);
  }
  return PERP_OK;
}

/* Nothing is known of the derivatives. */
static void sensitivity_none(int n, perp_lcp_smooth kind, perp_lcp_sensitivity *out)
{
  double *const matrix[] = { out->db, out->db_down, out->dbound, out->dmu };
  for (size_t m = 0; m < sizeof matrix / sizeof *matrix; m++)
    for (int i = 0; i < n; i++)
      basis_fill(matrix[m] != NULL ? matrix[m] + (size_t)i * n : NULL, n, (double)NAN);
  basis_fill(out->least, n, (double)NAN);
  basis_fill(out->most, n, (double)NAN);
  for (int i = 0; i < n; i++) {
    if (out->kind != NULL) out->kind[i] = kind;
    if (out->least_row != NULL) out->least_row[i] = -1;
    if (out->most_row != NULL) out->most_row[i] = -1;
  }
}

/* Rows, matrix, verdict; then the columns where there are any. */
static perp_status basis_run(perp_ctx *ctx, struct basis *B, perp_lcp_sensitivity *out)
{
  const perp_lcp *lcp = B->lcp;
  const int n = B->n;
  perp_lcp_product(lcp, B->lambda, B->w, NULL);
  perp_lcp_row_sets(lcp, B->lambda, B->w, B->zero, B->sets, B->d);
  if (out->sets != NULL) memcpy(out->sets, B->sets, (size_t)n);
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) B->A[i + (size_t)j * n] = perp_lcp_entry(lcp, i, j);
  basis_roles(B);
  out->row = -1;
  out->free_rows = B->nf;
  out->weak_rows = B->nw;
  out->verdict = PERP_BASIS_REGULAR;
  out->rcond = (double)NAN;
  for (int i = n; i-- > 0;)
    if (B->sets[i] == 0) {
      out->verdict = PERP_BASIS_NONE;
      out->row = i;
    }
  if (out->verdict == PERP_BASIS_NONE) {
    sensitivity_none(n, PERP_SMOOTH_NOT, out);
    return PERP_OK;
  }
  out->rcond = basis_factor(B, B->out[0], (int *)B->out[1]);
  if (out->rcond < 16 * DBL_EPSILON * n) {
    out->verdict = PERP_BASIS_SINGULAR;
    sensitivity_none(n, PERP_SMOOTH_NOT, out);
    return PERP_OK;
  }
  if (B->nw > 0) {
    out->verdict = PERP_BASIS_DEGENERATE;
    out->row = B->W[0];
    sensitivity_none(n, PERP_SMOOTH_OPEN, out);
    if (B->nw > WEAK) return PERP_OK;
    basis_reduce(B);
  }
  const perp_status status = basis_columns(ctx, B, out);
  if (status == PERP_OK && B->nw == 0) basis_bounds(B, out->dbound, out->dmu, B->w);
  return status;
}

perp_status perp_lcp_sensitivity_find(perp_ctx *ctx, const perp_lcp *lcp, const double *lambda,
                                      double zero, perp_lcp_sensitivity *out)
{
  bool finite;
  PERP_TRY(perp_lcp_check(ctx, lcp, &finite));
  const int n = lcp->n;
  for (int i = 0; i < n && finite; i++) finite = isfinite(lambda[i]);
  if (!finite) return PERP_FAIL(ctx, PERP_ERR_ARG, "sensitivity: a number is NaN or infinite");
  if (lcp->F != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "sensitivity: form A first (perp_lcp_problem_form)");
  for (int i = 0; i < n; i++)
    if (perp_lcp_is_cone(lcp, i))
      return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                       "sensitivity: row %d begins a circular cone; solve with boxes or pyramids",
                       i);
  const size_t rows = (size_t)n + 1, numbers = 3 * rows * rows + (12 + WEAK) * rows;
  PERP_TRY(perp_lcp_affords(ctx, (double)(numbers + rows * rows) * sizeof(double), "sensitivity"));
  double *block = malloc((numbers + rows * rows) * sizeof *block);
  int *integers = calloc(4 * rows, sizeof *integers);
  unsigned char *bytes = calloc(4 * rows, 1);
  perp_status status;
  if (block == NULL || integers == NULL || bytes == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "sensitivity: no memory for %d rows", n);
  else {
    struct basis B = { .lcp = lcp, .n = n, .zero = zero > 0 ? zero : 1e-9 };
    double *next = block;
    B.A = next, next += rows * rows;
    B.K = next, next += rows * rows;
    B.out[0] = out->db != NULL ? out->db : next, next += rows * rows;
    B.out[1] = out->db_down != NULL ? out->db_down : next, next += rows * rows;
    B.R = next, next += rows;
    B.C = next, next += rows;
    B.lambda = next, next += rows;
    B.w = next, next += rows;
    B.y = next, next += rows;
    B.d = next, next += rows;
    B.dw = next, next += rows;
    B.G = next;
    B.pivot = integers;
    B.F = integers + rows;
    B.at = integers + 2 * rows;
    B.side = integers + 3 * rows;
    B.sets = bytes;
    B.role = bytes + rows;
    B.found[0] = (bool *)(bytes + 2 * rows);
    B.found[1] = (bool *)(bytes + 3 * rows);
    memcpy(B.lambda, lambda, (size_t)n * sizeof *lambda);
    status = basis_run(ctx, &B, out);
  }
  free(block);
  free(integers);
  free(bytes);
  return status;
}

void perp_lcp_sensitivity_apply(int n, const double *db, const double *lambda, const double *dA,
                                int lda, const double *change, double *dlambda)
{
  for (int k = 0; k < n; k++) dlambda[k] = 0;
  for (int i = 0; i < n; i++) {
    double r = change != NULL ? change[i] : 0;
    for (int j = 0; j < n && dA != NULL; j++) r += dA[(size_t)i + (size_t)j * lda] * lambda[j];
    for (int k = 0; k < n && r != 0; k++) dlambda[k] += db[k + (size_t)i * n] * r;
  }
}
