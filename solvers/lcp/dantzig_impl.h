/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of dantzig: dantzig_set.c keeps the factor of the clamped set F, dantzig.c drives the rows of one boxed
 * problem, dantzig_friction.c repeats that until the limits of friction rows agree.  Not installed. */
#ifndef PERP_LCP_DANTZIG_IMPL_H
#define PERP_LCP_DANTZIG_IMPL_H

#include "solvers/lcp/pivot.h"
#include "solvers/linalg/ldl_update.h"

#include <math.h>

enum { FRICTION_REFRESHED, FRICTION_FIXED };
enum { ORDER_WORST, ORDER_INDEX };

struct dantzig_opts {
  int max_iter, friction, order;
  bool crash, reuse;
};

enum { AT_LO = PERP_ROW_LO, CLAMPED = PERP_ROW_FREE, AT_HI = PERP_ROW_HI, PARKED = 2 };

struct dantzig {
  struct dantzig_opts o;
  perp_arena arena;
  perp_pivot P;
  perp_ldl K;
  int *rows, *pos;                   /* [n] F in the order of the factor; slot or -1 */
  double *ell, *dir, *res;           /* [n] L^-1 A_Fi, direction of lambda_F, right-hand sides */
  double *w, *dw, *lp, *wp, *lambda; /* [n] */
  signed char *set, *saved, *state;  /* [n] AT_LO ... PARKED; of the best crash; as traced */
  unsigned char *ignore; /* [n] rows that a drive may not block on (numerically dependent) */
  perp_ctx *ctx;
  perp_stats *stats;
  double *proof;
  int limit;
  int dependent; /* rows that the last factorization found dependent */
  double *guess; /* [n] with reuse: lambda as it came */
  bool kept;     /* K, rows, pos are those of the last solution */
};

static inline double perp_dantzig_scale_of(const struct dantzig *D)
{
  double zs = D->P.bscale;
  for (int i = 0; i < D->P.n; i++) zs = perp_larger(zs, fabs(D->lambda[i]));
  return zs;
}

/* The direction in which row i, not in F, must be driven: its conditions are broken by more than zero. */
static inline int perp_dantzig_breaks(const struct dantzig *D, int i, double zero)
{
  double w = D->w[i] / D->P.a[i];
  if (D->P.lo[i] == D->P.hi[i]) return 0;
  return w < -zero && D->set[i] != AT_HI ? 1 : w > zero && D->set[i] != AT_LO ? -1 : 0;
}

/* Where row i of F belongs when lambda_i is outside of its bounds, else CLAMPED. */
static inline int perp_dantzig_outside(const struct dantzig *D, int i, double zero)
{
  double x = D->lambda[i];
  return x < D->P.lo[i] - zero ? AT_LO : x > D->P.hi[i] + zero ? AT_HI : CLAMPED;
}

/* ---- the clamped set: dantzig_set.c --------------------------------------------------------------------------- */

/* Rows that have to join the factor or leave it. */
int perp_dantzig_differences(const struct dantzig *D);
/* Row i of F goes to one of the other sets. */
void perp_dantzig_leave(struct dantzig *D, int i, int to);
/* ell = L^-1 A_Fi; returns s, 0 when row i depends on F, negative when A is indefinite.  O(k^2). */
double perp_dantzig_schur(struct dantzig *D, int i);
/* Row i joins F with the ell and s of perp_dantzig_schur(i). */
void perp_dantzig_join(struct dantzig *D, int i, double s);
/* A row that depends on F keeps its bound, or its place between them. */
void perp_dantzig_park(struct dantzig *D, int i);
/* Factor A_FF (+ shift diag) for the rows with set = CLAMPED and park the dependent ones: few changes by
 * updates, many at once.  0 when a pivot is negative. */
int perp_dantzig_factor(struct dantzig *D, int changes, double shift);
/* One step of iterative refinement of lambda_F; w afresh. */
void perp_dantzig_refine(struct dantzig *D);
/* lambda_F such that w_F = 0 with the other rows as they are, w of all rows.  With a shift w_F = -shift diag
 * lambda_F remains.  0 when A is far from symmetric. */
int perp_dantzig_basic_solution(struct dantzig *D, double shift);

/* ---- one boxed problem, and friction over it ------------------------------------------------------------------ */

void perp_dantzig_trace(struct dantzig *D, const char *what, int entering, int leaving,
                        double step);
/* The problem with the bounds in P; warm: F is guessed from lambda. */
perp_reason perp_dantzig_solve_box(struct dantzig *D, int warm);
/* The same with the bounds of friction rows at mu lambda_n. */
perp_reason perp_dantzig_solve_friction(struct dantzig *D, const perp_lcp *p, int warm);

#endif
