/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers of a factorization of bodies: assembly, left-looking factor, solve. */
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

void perp_bodylu_destroy(perp_bodylu *L)
{
  if (L == NULL) return;
  perp_arena_free(&L->arena);
  free(L);
}

size_t perp_bodylu_nnz(const perp_bodylu *L)
{
  return L->size;
}

static void bodylu_assemble(perp_bodylu *L, const perp_blocks *F, const double *omega,
                            const double *sigma, const int *of)
{
  memset(L->val, 0, L->size * sizeof *L->val);
  if (L->lu) memset(L->uval, 0, L->size * sizeof *L->val);
  for (int b = 0; b < L->nb; b++) {
    int d = F->bptr[b + 1] - F->bptr[b];
    const double *M = F->M + F->mptr[b];
    const unsigned char *mask = L->mask + F->bptr[b];
    size_t at = L->at[b];
    for (int j = 0; j < d; j++) {
      if (!mask[j]) continue;
      for (int i = 0, k = 0; i < d; i++)
        if (mask[i]) L->val[at + (size_t)k++] = M[i + j * d];
      at += (size_t)L->ld[b];
    }
  }
  for (int c = 0; c < L->nc; c++) {
    int row = L->cptr[c], r = L->cptr[c + 1] - row, p = L->jptr2[c];
    for (int k = L->jptr[c]; k < L->jptr[c + 1]; k++)
      for (int l = L->jptr[c]; l < L->jptr[c + 1]; l++, p++) {
        if (L->off[p] == SIZE_MAX) continue;
        int wk = L->width[L->jblk[k]], wl = L->width[L->jblk[l]], ld = L->ld[L->jblk[l]];
        L->work += (L->lu ? 2 : 1) * r * wk * wl;
        bool diagonal = k == l;
        for (int i = 0; i < r; i++) {
          double o = omega[row + i], s = sigma != NULL ? sigma[row + i] : 0;
          const double *x = L->Jr + L->joff[k] + i * wk, *y = L->Jr + L->joff[l] + i * wl;
          double *out = L->val + L->off[p];
          if (o != 0)
            for (int b = 0; b < wl; b++, out += ld) {
              double f = o * y[b];
              for (int a = 0; a < wk; a++) out[a] += f * x[a];
            }
          if (s != 0) { /* sigma J_i' J_n: lower part (k, l), upper part (l, k) transposed */
            int n = of[row + i] - row;
            const double *xn = L->Jr + L->joff[k] + n * wk, *yn = L->Jr + L->joff[l] + n * wl;
            out = L->val + L->off[p];
            for (int b = 0; b < wl; b++, out += ld)
              for (int a = 0; a < wk; a++) out[a] += s * x[a] * yn[b];
            if (!diagonal) {
              out = L->uval + L->off[p];
              for (int b = 0; b < wl; b++, out += ld)
                for (int a = 0; a < wk; a++) out[a] += s * xn[a] * y[b];
            }
          }
          if (L->lu && !diagonal && o != 0) {
            out = L->uval + L->off[p];
            for (int b = 0; b < wl; b++, out += ld) {
              double f = o * y[b];
              for (int a = 0; a < wk; a++) out[a] += f * x[a];
            }
          }
        }
      }
  }
}

/* C [p x m, ld p] = A [p x w, lda] B' [m x w, lda] */
static void bodylu_multiply(int p, int m, int w, const double *A, const double *B, int lda,
                            double *C)
{
  if ((long)p * m * w > 6000) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasTrans, p, m, w, 1, A, lda, B, lda, 0, C, p);
    return;
  }
  for (int j = 0; j < m; j++) {
    double *c = C + (size_t)j * (size_t)p;
    double f = B[j];
    for (int i = 0; i < p; i++) c[i] = f * A[i];
    for (int k = 1; k < w; k++) {
      const double *a = A + (size_t)k * (size_t)lda;
      f = B[j + k * lda];
      for (int i = 0; i < p; i++) c[i] += f * a[i];
    }
  }
}

static bool bodylu_small_cholesky(int w, int ld, double *a)
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
  for (int j = 0; j < w; j++) { /* rows below: X L' = A */
    double *cj = a + (size_t)j * (size_t)ld + w, inv = 1 / cj[j - w];
    for (int k = 0; k < j; k++) {
      const double *ck = a + (size_t)k * (size_t)ld + w;
      double f = ck[j - w];
      for (int i = 0; i < r; i++) cj[i] -= f * ck[i];
    }
    for (int i = 0; i < r; i++) cj[i] *= inv;
  }
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
static void bodylu_enlist(perp_bodylu *L, int k)
{
  const supernode *d = &L->sn[k];
  if (d->w == 0 || L->pos[k] >= d->r) return;
  int t = L->owner[L->rows[d->rows + (size_t)L->pos[k]]];
  L->next[k] = L->head[t];
  L->head[t] = k;
}

bool perp_bodylu_factor(perp_bodylu *L, const perp_blocks *F, const double *omega,
                        const double *sigma, const int *of)
{
  L->lu = sigma != NULL;
  L->work = 0;
  bodylu_assemble(L, F, omega, sigma, of);
  int n_sn = L->N > 0 ? L->owner[L->N - 1] + 1 : 0;
  for (int t = 0; t < n_sn; t++) L->head[t] = -1;
  for (int t = 0; t < n_sn; t++) {
    const supernode *n = &L->sn[t];
    int ld = n->w + n->r, end = n->first + n->w;
    double *a = L->val + n->panel, *u = L->lu ? L->uval + n->panel : NULL;
    for (int i = 0; i < n->w; i++) L->map[n->first + i] = i;
    for (int i = 0; i < n->r; i++) L->map[L->rows[n->rows + (size_t)i]] = n->w + i;
    for (int k = L->head[t], after; k >= 0; k = after) {
      after = L->next[k];
      const supernode *d = &L->sn[k];
      const int *row = L->rows + d->rows + L->pos[k];
      int p = d->r - L->pos[k], m = 0, ldd = d->w + d->r;
      while (m < p && row[m] < end) m++;
      const double *Ld = L->val + d->panel + d->w + L->pos[k];
      const double *Ud = L->lu ? L->uval + d->panel + d->w + L->pos[k] : Ld;
      L->work += (double)(L->lu ? 2 * p - m : p) * m * d->w;
      bodylu_multiply(p, m, d->w, Ld, Ud, ldd, L->update);
      for (int j = 0; j < m; j++) {
        double *out = a + (size_t)(row[j] - n->first) * (size_t)ld;
        const double *c = L->update + (size_t)j * (size_t)p;
        for (int i = L->lu ? 0 : j; i < p; i++) out[L->map[row[i]]] -= c[i];
      }
      if (L->lu && p > m) {
        bodylu_multiply(p - m, m, d->w, Ud + m, Ld, ldd, L->update);
        for (int j = 0; j < m; j++) {
          double *out = u + (size_t)(row[j] - n->first) * (size_t)ld;
          const double *c = L->update + (size_t)j * (size_t)(p - m);
          for (int i = m; i < p; i++) out[L->map[row[i]]] -= c[i - m];
        }
      }
      L->pos[k] += m;
      bodylu_enlist(L, k);
    }
    bool good;
    L->work += (L->lu ? 2.0 : 1.0) * n->w * n->w * (n->w / 6.0 + n->r / 2.0);
    if (L->lu) {
      /* inside the diagonal panel the upper triangle was gathered in u, transposed */
      for (int j = 0; j < n->w; j++)
        for (int i = j + 1; i < n->w; i++)
          a[j + (size_t)i * (size_t)ld] += u[i + (size_t)j * (size_t)ld];
      good = finish_lu(n->w, n->r, a, u, L->pivot + n->first);
    } else
      good = finish_symmetric(n->w, n->r, a);
    if (!good) return false;
    L->pos[t] = 0;
    bodylu_enlist(L, t);
  }
  return true;
}

double perp_bodylu_work(const perp_bodylu *L)
{
  return L->work;
}

int perp_bodylu_N(const perp_bodylu *L)
{
  return L->N;
}

void perp_bodylu_Jt(const perp_bodylu *L, const double *x, double *f)
{
  for (int i = 0; i < L->N; i++) f[i] = 0;
  for (int c = 0; c < L->nc; c++) {
    int row = L->cptr[c], r = L->cptr[c + 1] - row;
    for (int k = L->jptr[c]; k < L->jptr[c + 1]; k++) {
      int w = L->width[L->jblk[k]];
      const double *J = L->Jr + L->joff[k];
      double *out = f + L->first[L->jblk[k]];
      for (int i = 0; i < r; i++, J += w)
        for (int j = 0; j < w; j++) out[j] += x[row + i] * J[j];
    }
  }
}

void perp_bodylu_J(const perp_bodylu *L, const double *f, double *y)
{
  for (int c = 0; c < L->nc; c++) {
    int row = L->cptr[c], r = L->cptr[c + 1] - row;
    for (int k = L->jptr[c]; k < L->jptr[c + 1]; k++) {
      int w = L->width[L->jblk[k]];
      const double *J = L->Jr + L->joff[k], *in = f + L->first[L->jblk[k]];
      for (int i = 0; i < r; i++, J += w) {
        double sum = 0;
        for (int j = 0; j < w; j++) sum += J[j] * in[j];
        y[row + i] -= sum;
      }
    }
  }
}

void perp_bodylu_solve(const perp_bodylu *L, double *x)
{
  int n_sn = L->N > 0 ? L->owner[L->N - 1] + 1 : 0;
  for (int t = 0; t < n_sn; t++) {
    const supernode *n = &L->sn[t];
    const double *a = L->val + n->panel;
    const int *row = L->rows + n->rows;
    int ld = n->w + n->r;
    double *y = x + n->first;
    if (L->lu)
      for (int j = 0; j < n->w; j++) {
        int q = L->pivot[n->first + j] - 1;
        double swap = y[j];
        y[j] = y[q];
        y[q] = swap;
      }
    for (int j = 0; j < n->w; j++, a += ld) {
      double v = L->lu ? y[j] : y[j] / a[j];
      y[j] = v;
      for (int i = j + 1; i < n->w; i++) y[i] -= v * a[i];
      if (!L->lu)
        for (int i = 0; i < n->r; i++) x[row[i]] -= v * a[n->w + i];
    }
    if (L->lu) {
      /* L below is A U^-1: it multiplies the finished y */
      a = L->val + n->panel;
      for (int j = 0; j < n->w; j++, a += ld)
        for (int i = 0; i < n->r; i++) x[row[i]] -= y[j] * a[n->w + i];
    }
  }
  for (int t = n_sn - 1; t >= 0; t--) {
    const supernode *n = &L->sn[t];
    const int *row = L->rows + n->rows;
    int ld = n->w + n->r;
    double *y = x + n->first;
    const double *a = L->val + n->panel, *u = (L->lu ? L->uval : L->val) + n->panel;
    for (int j = n->w - 1; j >= 0; j--) {
      const double *below = u + (size_t)j * (size_t)ld + n->w;
      double sum = y[j];
      for (int i = 0; i < n->r; i++) sum -= below[i] * x[row[i]];
      y[j] = sum;
    }
    for (int j = n->w - 1; j >= 0; j--) {
      const double *c = a + (size_t)j * (size_t)ld;
      if (L->lu) { /* U in the upper triangle of the diagonal panel */
        y[j] /= c[j];
        for (int i = 0; i < j; i++) y[i] -= y[j] * c[i];
      } else {
        double sum = y[j];
        for (int i = j + 1; i < n->w; i++) sum -= c[i] * y[i];
        y[j] = sum / c[j];
      }
    }
  }
}
