/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The interface of KLU that perp uses, for the WebAssembly module (klu_small.c): dense LU factors
 * with partial pivoting, for the few hundred unknowns of a page. */
#ifndef KLU_SMALL_H
#define KLU_SMALL_H

#define KLU_OK 0

typedef struct klu_common {
  int status;
  double flops, rgrowth;
} klu_common;
typedef struct klu_symbolic {
  int n;
} klu_symbolic;
typedef struct klu_numeric {
  int lnz, unz, nzoff;
  int n, pairs, *pivots; /* pairs: complex numbers */
  double *LU;
} klu_numeric;

int klu_defaults(klu_common *common);
klu_symbolic *klu_analyze(int n, int *start, int *row, klu_common *common);
klu_numeric *klu_factor(int *start, int *row, double *value, klu_symbolic *symbolic,
                        klu_common *common);
klu_numeric *klu_z_factor(int *start, int *row, double *value, klu_symbolic *symbolic,
                          klu_common *common);
int klu_refactor(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                 klu_common *common);
int klu_z_refactor(int *start, int *row, double *value, klu_symbolic *symbolic,
                   klu_numeric *numeric, klu_common *common);
int klu_rgrowth(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                klu_common *common);
int klu_z_rgrowth(int *start, int *row, double *value, klu_symbolic *symbolic, klu_numeric *numeric,
                  klu_common *common);
int klu_solve(klu_symbolic *symbolic, klu_numeric *numeric, int ld, int nrhs, double *B,
              klu_common *common);
int klu_z_solve(klu_symbolic *symbolic, klu_numeric *numeric, int ld, int nrhs, double *B,
                klu_common *common);
int klu_flops(klu_symbolic *symbolic, klu_numeric *numeric, klu_common *common);
int klu_free_symbolic(klu_symbolic **symbolic, klu_common *common);
int klu_free_numeric(klu_numeric **numeric, klu_common *common);
int klu_z_free_numeric(klu_numeric **numeric, klu_common *common);

#endif
