/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a factorization of bodies: assembly, left-looking factor, solve. */
#include "solvers/core/clones.h"
#include "solvers/lcp/newton/bodylu_private.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

perp_status perp_bodylu_create(perp_ctx *ctx, perp_bodylu **out)
{
  *out = calloc(1, sizeof **out);
  return *out != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a factorization");
}

void perp_bodylu_destroy(perp_bodylu *bodylu)
{
  if (bodylu == NULL) return;
  perp_arena_free(&bodylu->arena);
  free(bodylu);
}

size_t perp_bodylu_nnz(const perp_bodylu *bodylu)
{
  return bodylu->size;
}

/* out += (fx x) (fy y)', x [wk], y [wl] */
static inline __attribute__((always_inline)) void bodylu_add_outer(int wk, int wl, int ld,
                                                                   double fx, const double *x,
                                                                   double fy, const double *y,
                                                                   double *out)
{
  for (int b = 0; b < wl; b++, out += ld) {
    const double f = fy * y[b];
    for (int a = 0; a < wk; a++) out[a] += f * (fx * x[a]);
  }
}

/* The rows of a group to the block of its sub-matrices k and l; wk, wl: constants where that pays
 */
static inline __attribute__((always_inline)) void
bodylu_assemble_pair(const perp_bodylu *bodylu, int k, int l, size_t off, int wk, int wl, int ld,
                     int row, int r, const double *omega, const double *sigma, const int *of)
{
  double *lower = bodylu->val + off, *upper = bodylu->lu && k != l ? bodylu->uval + off : NULL;
  const double *xk = bodylu->Jr + bodylu->joff[k], *xl = bodylu->Jr + bodylu->joff[l];
  for (int i = 0; i < r; i++) {
    const double *x = xk + i * wk, *y = xl + i * wl;
    if (omega[i] != 0) bodylu_add_outer(wk, wl, ld, 1, x, omega[i], y, lower);
    if (sigma != NULL && sigma[i] != 0) {
      /* sigma J_i' J_n: lower part (k, l), upper part (l, k) transposed */
      const int n = of[row + i] - row;
      bodylu_add_outer(wk, wl, ld, sigma[i], x, 1, xl + n * wl, lower);
      if (upper != NULL) bodylu_add_outer(wk, wl, ld, sigma[i], xk + n * wk, 1, y, upper);
    }
    if (omega[i] != 0 && upper != NULL) bodylu_add_outer(wk, wl, ld, 1, x, omega[i], y, upper);
  }
}

PERP_CLONES static void bodylu_assemble(perp_bodylu *bodylu, const perp_blocks *blocks,
                                        const double *omega, const double *sigma, const int *of)
{
  memset(bodylu->val, 0, bodylu->size * sizeof *bodylu->val);
  if (bodylu->lu) memset(bodylu->uval, 0, bodylu->size * sizeof *bodylu->val);
  for (int b = 0; b < bodylu->nb; b++) {
    int d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *M = blocks->M + blocks->mptr[b];
    const unsigned char *mask = bodylu->mask + blocks->bptr[b];
    size_t at = bodylu->at[b];
    for (int j = 0; j < d; j++) {
      if (!mask[j]) continue;
      for (int i = 0, k = 0; i < d; i++)
        if (mask[i]) bodylu->val[at + (size_t)k++] = M[i + j * d];
      at += (size_t)bodylu->ld[b];
    }
  }
  for (int c = 0; c < bodylu->nc; c++) {
    int row = bodylu->cptr[c], r = bodylu->cptr[c + 1] - row, p = bodylu->jptr2[c];
    for (int k = bodylu->jptr[c]; k < bodylu->jptr[c + 1]; k++)
      for (int l = bodylu->jptr[c]; l < bodylu->jptr[c + 1]; l++, p++) {
        if (bodylu->off[p] == SIZE_MAX) continue;
        int wk = bodylu->width[bodylu->jblk[k]], wl = bodylu->width[bodylu->jblk[l]],
            ld = bodylu->ld[bodylu->jblk[l]];
        bodylu->work += (bodylu->lu ? 2 : 1) * r * wk * wl;
        const double *s = sigma != NULL ? sigma + row : NULL;
        if (wk == 6 && wl == 6)
          bodylu_assemble_pair(bodylu, k, l, bodylu->off[p], 6, 6, ld, row, r, omega + row, s, of);
        else
          bodylu_assemble_pair(bodylu, k, l, bodylu->off[p], wk, wl, ld, row, r, omega + row, s,
                               of);
      }
  }
}

/* `rows` rows of C, a constant where it is called, in registers from the first term to the last */
static inline __attribute__((always_inline)) void bodylu_multiply_rows(int rows, int p, int m,
                                                                       int w, const double *A,
                                                                       const double *B, int lda,
                                                                       double *C)
{
  for (int j = 0; j < m; j++) {
    double sum[8];
    for (int i = 0; i < rows; i++) sum[i] = B[j] * A[i];
    for (int k = 1; k < w; k++) {
      const double *a = A + (size_t)k * (size_t)lda, f = B[j + k * lda];
      for (int i = 0; i < rows; i++) sum[i] += f * a[i];
    }
    memcpy(C + (size_t)j * (size_t)p, sum, (size_t)rows * sizeof *sum);
  }
}

PERP_CLONES static void bodylu_multiply_small(int p, int m, int w, const double *A, const double *B,
                                              int lda, double *C)
{
  int i = 0;
  for (; i + 8 <= p; i += 8) bodylu_multiply_rows(8, p, m, w, A + i, B, lda, C + i);
  for (; i + 4 <= p; i += 4) bodylu_multiply_rows(4, p, m, w, A + i, B, lda, C + i);
  for (; i + 2 <= p; i += 2) bodylu_multiply_rows(2, p, m, w, A + i, B, lda, C + i);
  for (; i < p; i++) bodylu_multiply_rows(1, p, m, w, A + i, B, lda, C + i);
}

/* C [p x m, ld p] = A [p x w, lda] B' [m x w, lda] */
static void bodylu_multiply(int p, int m, int w, const double *A, const double *B, int lda,
                            double *C)
{
  if ((long)p * m * w > 6000)
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, p, m, w, 1, A, lda, B, lda, 0, C, p);
  else
    bodylu_multiply_small(p, m, w, A, B, lda, C);
}

PERP_CLONES static bool bodylu_small_cholesky(int w, int ld, double *a)
{
  for (int j = 0; j < w; j++) {
    double *cj = a + (size_t)j * (size_t)ld;
    for (int k = 0; k < j; k++) {
      const double *ck = a + (size_t)k * (size_t)ld;
      double f = ck[j];
      for (int i = j; i < w; i++) cj[i] -= f * ck[i];
    }
    if (!(cj[j] > 0) || !(cj[j] < HUGE_VAL)) return false;
    double inv = 1 / sqrt(cj[j]);
    for (int i = j; i < w; i++) cj[i] *= inv;
  }
  return true;
}

/* rows below: X L' = A */
PERP_CLONES static void bodylu_rows_below(int w, int r, double *a)
{
  const int ld = w + r;
  for (int j = 0; j < w; j++) {
    double *cj = a + (size_t)j * (size_t)ld + w, inv = 1 / cj[j - w];
    for (int k = 0; k < j; k++) {
      const double *ck = a + (size_t)k * (size_t)ld + w;
      double f = ck[j - w];
      for (int i = 0; i < r; i++) cj[i] -= f * ck[i];
    }
    for (int i = 0; i < r; i++) cj[i] *= inv;
  }
}

/* the panel of a supernode whose updates are done */
static bool finish_symmetric(int w, int r, double *a)
{
  int ld = w + r;
  if (w > 24) {
    if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', w, a, ld) != 0) return false;
    for (int j = 0; j < w; j++) /* LAPACKs differ in what they say of NaN */
      if (!isfinite(a[j + (size_t)j * (size_t)ld])) return false;
    if (r > 0)
      cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasNonUnit, r, w, 1, a, ld,
                  a + w, ld);
    return true;
  }
  if (!bodylu_small_cholesky(w, ld, a)) return false;
  bodylu_rows_below(w, r, a);
  return true;
}

static bool finish_lu(int w, int r, double *a, double *u, int *pivot)
{
  int ld = w + r;
  if (w == 0) return true; /* a block that nothing touches */
  if (LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, w, w, a, ld, pivot) != 0) return false;
  for (int j = 0; j < w; j++)
    if (!isfinite(a[j + (size_t)j * (size_t)ld])) return false;
  if (r == 0) return true;
  /* rows below: L = A U^-1; columns to the right, kept transposed: U' = A' P' L^-T */
  cblas_dtrsm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, r, w, 1, a, ld,
              a + w, ld);
  for (int j = 0; j < w; j++)
    if (pivot[j] - 1 != j) {
      double *x = u + w + (size_t)j * (size_t)ld, *y = u + w + (size_t)(pivot[j] - 1) * (size_t)ld;
      for (int i = 0; i < r; i++) {
        double t = x[i];
        x[i] = y[i];
        y[i] = t;
      }
    }
  cblas_dtrsm(CblasColMajor, CblasRight, CblasLower, CblasTrans, CblasUnit, r, w, 1, a, ld, u + w,
              ld);
  return true;
}

/* put supernode k, whose next unused row is pos[k], on the list of the supernode that owns that row
 */
static void bodylu_enlist(perp_bodylu *bodylu, int k)
{
  const supernode *d = &bodylu->sn[k];
  if (d->w == 0 || bodylu->pos[k] >= d->r) return;
  int t = bodylu->owner[bodylu->rows[d->rows + (size_t)bodylu->pos[k]]];
  bodylu->next[k] = bodylu->head[t];
  bodylu->head[t] = k;
}

/* Subtract the update of the rows row [from ... p - 1] and the columns row [0 ... m - 1] from a
 * panel of n.  Rows that follow each other there do so in the panel: they are taken in runs. */
static void bodylu_subtract(const perp_bodylu *bodylu, const supernode *n, const int *row, int m,
                            int p, int from, double *panel)
{
  for (int first = from, end; first < p; first = end) {
    for (end = first + 1; end < p && row[end] == row[end - 1] + 1; end++)
      ;
    const double *c = bodylu->update + first - from;
    double *top = panel + bodylu->map[row[first]];
    for (int j = 0; j < m; j++, c += p - from) {
      double *out = top + (size_t)(row[j] - n->first) * (size_t)(n->w + n->r);
      for (int i = 0; i < end - first; i++) out[i] -= c[i];
    }
  }
}

bool perp_bodylu_factor(perp_bodylu *bodylu, const perp_blocks *blocks, const double *omega,
                        const double *sigma, const int *of)
{
  bodylu->lu = sigma != NULL;
  bodylu->work = 0;
  bodylu_assemble(bodylu, blocks, omega, sigma, of);
  int n_sn = bodylu->N > 0 ? bodylu->owner[bodylu->N - 1] + 1 : 0;
  for (int t = 0; t < n_sn; t++) bodylu->head[t] = -1;
  for (int t = 0; t < n_sn; t++) {
    const supernode *n = &bodylu->sn[t];
    int ld = n->w + n->r, end = n->first + n->w;
    double *a = bodylu->val + n->panel, *u = bodylu->lu ? bodylu->uval + n->panel : NULL;
    for (int i = 0; i < n->w; i++) bodylu->map[n->first + i] = i;
    for (int i = 0; i < n->r; i++) bodylu->map[bodylu->rows[n->rows + (size_t)i]] = n->w + i;
    for (int k = bodylu->head[t], after; k >= 0; k = after) {
      after = bodylu->next[k];
      const supernode *d = &bodylu->sn[k];
      const int *row = bodylu->rows + d->rows + bodylu->pos[k];
      int p = d->r - bodylu->pos[k], m = 0, ldd = d->w + d->r;
      while (m < p && row[m] < end) m++;
      const double *Ld = bodylu->val + d->panel + d->w + bodylu->pos[k];
      const double *Ud = bodylu->lu ? bodylu->uval + d->panel + d->w + bodylu->pos[k] : Ld;
      bodylu->work += (double)(bodylu->lu ? 2 * p - m : p) * m * d->w;
      bodylu_multiply(p, m, d->w, Ld, Ud, ldd, bodylu->update);
      bodylu_subtract(bodylu, n, row, m, p, 0, a);
      if (bodylu->lu && p > m) {
        bodylu_multiply(p - m, m, d->w, Ud + m, Ld, ldd, bodylu->update);
        bodylu_subtract(bodylu, n, row, m, p, m, u);
      }
      bodylu->pos[k] += m;
      bodylu_enlist(bodylu, k);
    }
    bool good;
    bodylu->work += (bodylu->lu ? 2.0 : 1.0) * n->w * n->w * (n->w / 6.0 + n->r / 2.0);
    if (bodylu->lu) {
      /* inside the diagonal panel the upper triangle was gathered in u, transposed */
      for (int j = 0; j < n->w; j++)
        for (int i = j + 1; i < n->w; i++)
          a[j + (size_t)i * (size_t)ld] += u[i + (size_t)j * (size_t)ld];
      good = finish_lu(n->w, n->r, a, u, bodylu->pivot + n->first);
    } else
      good = finish_symmetric(n->w, n->r, a);
    if (!good) return false;
    bodylu->pos[t] = 0;
    bodylu_enlist(bodylu, t);
  }
  return true;
}

double perp_bodylu_work(const perp_bodylu *bodylu)
{
  return bodylu->work;
}

int perp_bodylu_N(const perp_bodylu *bodylu)
{
  return bodylu->N;
}

void perp_bodylu_Jt(const perp_bodylu *bodylu, const double *x, double *f)
{
  for (int i = 0; i < bodylu->N; i++) f[i] = 0;
  for (int c = 0; c < bodylu->nc; c++) {
    int row = bodylu->cptr[c], r = bodylu->cptr[c + 1] - row;
    for (int k = bodylu->jptr[c]; k < bodylu->jptr[c + 1]; k++) {
      int w = bodylu->width[bodylu->jblk[k]];
      const double *J = bodylu->Jr + bodylu->joff[k];
      double *out = f + bodylu->first[bodylu->jblk[k]];
      for (int i = 0; i < r; i++, J += w)
        for (int j = 0; j < w; j++) out[j] += x[row + i] * J[j];
    }
  }
}

void perp_bodylu_J(const perp_bodylu *bodylu, const double *f, double *y)
{
  for (int c = 0; c < bodylu->nc; c++) {
    int row = bodylu->cptr[c], r = bodylu->cptr[c + 1] - row;
    for (int k = bodylu->jptr[c]; k < bodylu->jptr[c + 1]; k++) {
      int w = bodylu->width[bodylu->jblk[k]];
      const double *J = bodylu->Jr + bodylu->joff[k], *in = f + bodylu->first[bodylu->jblk[k]];
      for (int i = 0; i < r; i++, J += w) {
        double sum = 0;
        for (int j = 0; j < w; j++) sum += J[j] * in[j];
        y[row + i] -= sum;
      }
    }
  }
}

/* x -= B y, B [r x w] the rows below of a panel with leading dimension ld */
PERP_CLONES static void bodylu_forward(int w, int r, const double *B, int ld, const double *y,
                                       double *x)
{
  for (int j = 0; j < w; j++, B += ld)
    for (int i = 0; i < r; i++) x[i] -= y[j] * B[i];
}

/* `columns` of y -= B' x, a constant where it is called: so many sums at once, each of them in the
 * order of the rows */
static inline __attribute__((always_inline)) void
bodylu_backward_columns(int columns, int r, const double *B, int ld, const double *x, double *y)
{
  double sum[6];
  for (int j = 0; j < columns; j++) sum[j] = y[j];
  for (int i = 0; i < r; i++)
    for (int j = 0; j < columns; j++) sum[j] -= B[i + j * ld] * x[i];
  for (int j = 0; j < columns; j++) y[j] = sum[j];
}

static void bodylu_backward(int w, int r, const double *B, int ld, const double *x, double *y)
{
  int j = 0;
  for (; j + 6 <= w; j += 6)
    bodylu_backward_columns(6, r, B + (size_t)j * (size_t)ld, ld, x, y + j);
  for (; j + 3 <= w; j += 3)
    bodylu_backward_columns(3, r, B + (size_t)j * (size_t)ld, ld, x, y + j);
  for (; j < w; j++) bodylu_backward_columns(1, r, B + (size_t)j * (size_t)ld, ld, x, y + j);
}

/* y of the diagonal part of a panel: L y = P y, or L y = y of a symmetric one */
static void bodylu_diagonal_forward(const perp_bodylu *bodylu, const supernode *n, double *y)
{
  const double *a = bodylu->val + n->panel;
  if (bodylu->lu)
    for (int j = 0; j < n->w; j++) {
      int q = bodylu->pivot[n->first + j] - 1;
      double swap = y[j];
      y[j] = y[q];
      y[q] = swap;
    }
  for (int j = 0; j < n->w; j++, a += n->w + n->r) {
    if (!bodylu->lu) y[j] /= a[j];
    for (int i = j + 1; i < n->w; i++) y[i] -= y[j] * a[i];
  }
}

/* and U y = y, or L' y = y */
static void bodylu_diagonal_backward(const perp_bodylu *bodylu, const supernode *n, double *y)
{
  for (int j = n->w - 1; j >= 0; j--) {
    const double *c = bodylu->val + n->panel + (size_t)j * (size_t)(n->w + n->r);
    if (bodylu->lu) {
      y[j] /= c[j];
      for (int i = 0; i < j; i++) y[i] -= y[j] * c[i];
    } else {
      double sum = y[j];
      for (int i = j + 1; i < n->w; i++) sum -= c[i] * y[i];
      y[j] = sum / c[j];
    }
  }
}

/* The rows below a panel are gathered in the scratch of the factorization, so that the loops over
 * them run through memory. */
void perp_bodylu_solve(const perp_bodylu *bodylu, double *x)
{
  int n_sn = bodylu->N > 0 ? bodylu->owner[bodylu->N - 1] + 1 : 0;
  double *below = bodylu->update;
  for (int t = 0; t < n_sn; t++) {
    const supernode *n = &bodylu->sn[t];
    const int *row = bodylu->rows + n->rows;
    bodylu_diagonal_forward(bodylu, n, x + n->first);
    for (int i = 0; i < n->r; i++) below[i] = x[row[i]];
    /* where it is an LU, L below is A U^-1: it multiplies the finished y, too */
    bodylu_forward(n->w, n->r, bodylu->val + n->panel + n->w, n->w + n->r, x + n->first, below);
    for (int i = 0; i < n->r; i++) x[row[i]] = below[i];
  }
  for (int t = n_sn - 1; t >= 0; t--) {
    const supernode *n = &bodylu->sn[t];
    const int *row = bodylu->rows + n->rows;
    const double *u = (bodylu->lu ? bodylu->uval : bodylu->val) + n->panel;
    for (int i = 0; i < n->r; i++) below[i] = x[row[i]];
    bodylu_backward(n->w, n->r, u + n->w, n->w + n->r, below, x + n->first);
    bodylu_diagonal_backward(bodylu, n, x + n->first);
  }
}
