/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small dense kernels; private to this folder.
 *
 * Written once for any size: a caller that passes literal sizes gets straight-line code, as the
 * functions are always inlined and their loops unrolled.  Matrices are column-major without
 * padding. */
#ifndef PERP_KKT_KERNELS_H
#define PERP_KKT_KERNELS_H

#include "solvers/linalg/blocks.h"

#include <float.h>

/* a sanitizer instruments every unrolled access: minutes of compilation for the same checks */
#if defined(__SANITIZE_ADDRESS__) /* gcc */
#define KERNELS_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) /* clang */
#define KERNELS_SANITIZED
#endif
#endif
#ifdef KERNELS_SANITIZED
#define INLINE static inline
#else
#define INLINE static inline __attribute__((always_inline))
#endif
#if defined(__GNUC__) && !defined(__clang__) && !defined(KERNELS_SANITIZED)
#define UNROLL _Pragma("GCC unroll 8")
#else
#define UNROLL
#endif
#define EACH(i, from, to) UNROLL for (int i = (from); i < (to); i++)

/* (d, r) compiled with constant sizes */
#define KERNELS(X, f)                                                                              \
  X(f, 6, 3) X(f, 6, 5) X(f, 6, 6) X(f, 6, 4) X(f, 6, 1) X(f, 3, 2) X(f, 3, 1) X(f, 3, 3)
enum { MOST = 6 }; /* columns or rows of a compiled kernel */
#define KERNEL_ID(d, r) ((d) * (MOST + 1) + (r))

/* Its number; 0: not compiled. */
INLINE int kernel_of(int d, int r)
{
#define CHOOSE(f, D, R)                                                                            \
  if (d == D && r == R) return KERNEL_ID(D, R);
  KERNELS(CHOOSE, )
#undef CHOOSE
  return 0;
}

/* f(D, R) with the sizes of a compiled kernel as literals; f(0, 0) of another */
#define KERNEL_CASE(f, D, R)                                                                       \
  case KERNEL_ID(D, R):                                                                            \
    f(D, R);                                                                                       \
    break;
#define KERNEL_SWITCH(kernel, f)                                                                   \
  switch (kernel) {                                                                                \
    KERNELS(KERNEL_CASE, f)                                                                        \
  default:                                                                                         \
    f(0, 0);                                                                                       \
  }

INLINE bool is_diagonal(const perp_blocks *blocks, int b)
{
  return blocks->diag != NULL && blocks->diag[b];
}

/* A = L Delta L' in place: 1/Delta on the diagonal.  False when pivot i is not above tol ref[i
 * step]. */
INLINE bool ldl(int r, double *A, const double *ref, int step, double tol)
{
  bool good = true;
  EACH (j, 0, r) {
    double p = A[j + j * r], inv = 1 / p;
    good &= p > tol * ref[j * step] && p <= DBL_MAX;
    EACH (k, j + 1, r)
      EACH (i, k, r) A[i + k * r] -= A[i + j * r] * inv * A[k + j * r];
    EACH (i, j + 1, r) A[i + j * r] *= inv;
    A[j + j * r] = inv;
  }
  return good;
}

/* x = L^-1 x */
INLINE void forward(int r, const double *L, double *x)
{
  EACH (j, 0, r)
    EACH (i, j + 1, r) x[i] -= L[i + j * r] * x[j];
}
/* x = Delta^-1 x */
INLINE void middle(int r, const double *L, double *x)
{
  EACH (j, 0, r) x[j] *= L[j + j * r];
}
/* x = L'^-1 x */
INLINE void backward(int r, const double *L, double *x)
{
  for (int j = r - 1; j >= 0; j--)
    EACH (i, j + 1, r) x[j] -= L[i + j * r] * x[i];
}

/* x = (L Delta L')^-1 x */
INLINE void ldl_solve(int r, const double *L, double *x)
{
  forward(r, L, x);
  middle(r, L, x);
  backward(r, L, x);
}

/* y += sign G x, G r x d */
INLINE void gemv(int r, int d, double sign, const double *G, const double *x, double *y)
{
  EACH (j, 0, d)
    EACH (i, 0, r) y[i] += sign * (G[i + j * r] * x[j]);
}
/* y += G' x */
INLINE void gemvt(int r, int d, const double *G, const double *x, double *y)
{
  EACH (j, 0, d) {
    double sum = 0;
    EACH (i, 0, r) sum += G[i + j * r] * x[i];
    y[j] += sum;
  }
}
/* W = J Minv */
INLINE void times_minv(int r, int d, bool diagonal, const double *J, const double *Minv, double *W)
{
  if (diagonal) {
    EACH (j, 0, d)
      EACH (i, 0, r) W[i + j * r] = J[i + j * r] * Minv[j + j * d];
  } else {
    EACH (j, 0, d) {
      EACH (i, 0, r) W[i + j * r] = 0;
      EACH (l, 0, d)
        EACH (i, 0, r) W[i + j * r] += J[i + l * r] * Minv[l + j * d];
    }
  }
}
/* lower triangle of A += W J', both r x d */
INLINE void add_symmetric(int r, int d, const double *W, const double *J, double *A)
{
  EACH (l, 0, d)
    EACH (j, 0, r)
      EACH (i, j, r) A[i + j * r] += W[i + l * r] * J[j + l * r];
}
/* y = Minv x */
INLINE void minv_times(int d, bool diagonal, const double *Minv, const double *x, double *y)
{
  if (diagonal) {
    EACH (j, 0, d) y[j] = Minv[j + j * d] * x[j];
  } else {
    EACH (j, 0, d) y[j] = 0;
    EACH (l, 0, d)
      EACH (j, 0, d) y[j] += Minv[j + l * d] * x[l];
  }
}
/* X += P Q' at dst + i + k ld + grow k (k+1) / 2, P r x d, Q rq x d; triangle: only i <= k */
INLINE void add_product(int r, int rq, int d, const double *P, const double *Q, bool triangle,
                        int ld, int grow, double *dst)
{
  EACH (k, 0, rq) {
    double *column = dst + (size_t)k * (size_t)ld + grow * k * (k + 1) / 2;
    const int rows = triangle ? k + 1 : r;
    EACH (i, 0, rows) {
      double sum = 0;
      EACH (l, 0, d) sum += P[i + l * r] * Q[k + l * rq];
      column[i] += sum;
    }
  }
}

#endif
