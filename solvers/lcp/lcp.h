/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxed linear complementarity problems, the common currency of contact solvers.
 *
 * Find lambda [n] with  w = A lambda + b,  lo <= lambda <= hi  and for each row
 *      lambda = lo  =>  w >= 0,      lambda = hi  =>  w <= 0,      lo < lambda < hi  =>  w = 0.
 * lo = 0, hi = inf is the pure LCP; (-inf, inf) a free variable (equality row); lo = hi a fixed one.
 *
 * Friction: a row i with fric_of[i] = j >= 0 takes its bounds from the multiplier of row j:
 * |lambda_i| <= mu_i max(lambda_j, 0) (box), or, where cone[i] is set, rows i and i+1 together obey
 * |(lambda_i, lambda_{i+1})| <= mu_i max(lambda_j, 0) with w opposed to the tangential multiplier
 * (circular Coulomb cone).
 *
 * A is dense (column-major, any symmetry) or kept factored as J M^-1 J' + S (solvers/linalg/blocks.h),
 * so that iterative solvers never form it. */
#ifndef PERP_LCP_H
#define PERP_LCP_H

#include "solvers/core/core.h"
#include "solvers/linalg/blocks.h"

typedef struct perp_lcp {
  int n;
  const double *A; /* [lda * n] column-major, or NULL when factored */
  int lda;
  const perp_blocks *F;    /* A = J M^-1 J' + S with m = n; NULL when dense */
  const double *b;         /* [n] */
  const double *lo, *hi;   /* [n]; NULL: 0 and +inf */
  const int *fric_of;      /* [n], -1 = no friction row; NULL: none at all */
  const double *mu;        /* [n], read where fric_of >= 0 */
  const signed char *cone; /* [n] 1 on the first of the two rows of a circular cone; NULL: boxes */
} perp_lcp;

/* Index set of a row, for traces, warm starts and certificates. */
enum { PERP_ROW_LO = -1, PERP_ROW_FREE = 0, PERP_ROW_HI = 1 };

enum {
  PERP_LCP_BOX = 1 << 0,      /* finite bounds */
  PERP_LCP_FREE = 1 << 1,     /* free rows */
  PERP_LCP_FRICTION = 1 << 2, /* friction rows with bounds from another multiplier (box) */
  PERP_LCP_CONE = 1 << 3,     /* circular cones */
  PERP_LCP_NONSYMMETRIC =
      1 << 4, /* serves nonsymmetric A (copositive, P, ...; the summary says which) */
  PERP_LCP_SEMIDEFINITE = 1 << 5, /* serves rank-deficient positive semidefinite A */
  PERP_LCP_FACTORED = 1 << 6,     /* never forms A */
  PERP_LCP_PIVOTING = 1 << 7,     /* ends after finitely many pivots with an exact basis */
  PERP_LCP_ITERATIVE = 1 << 8,
  PERP_LCP_WARM = 1 << 9, /* profits from the guess in lambda */
  PERP_LCP_PEER = 1 << 10 /* somebody else's solver behind an adapter */
};

typedef struct perp_lcp_desc {
  perp_desc d;
  /* Workspace for problems of up to max_n rows.  All memory, except what depends on a sparsity pattern,
   * which is (re)allocated when the pattern of F differs from the one before. */
  perp_status (*create)(perp_ctx *ctx, int max_n, const void *opts, void **ws);
  /* lambda [n] in: guess (need not be feasible; all zero = cold start); out: the last finite iterate.
   * stats->reason says why the method stopped, by its own account; perp_lcp_solve has the last word.
   * certificate [n] or NULL: on PERP_RAY / PERP_INFEASIBLE the vector that proves it (see
   * perp_lcp_certificate). */
  perp_status (*solve)(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                       double *certificate, perp_stats *stats);
  void (*destroy)(void *ws);
} perp_lcp_desc;

/* ---- judging: residual.c, the one judge --------------------------------------------------------------- */

typedef struct perp_lcp_judgement {
  double rel;                 /* scaled natural map, see below: the only figure that decides */
  double abs;                 /* max |lambda - clamp(lambda - w, lo, hi)| */
  double componentwise;       /* max over rows of the row's violation over (|A||lambda| + |b|)_i */
  double siconos, fclib, abh; /* merits of Siconos, fclib and Acary-Bremond-Huber 2018 */
  double
      coupling; /* |bounds used - bounds of the final normal multipliers|, relative; 0 without friction */
} perp_lcp_judgement;

/* With a_i = max_j |A_ij| (1 for a zero row) and r_i = |lambda_i - clamp(lambda_i - w_i / a_i, lo_i, hi_i)|:
 * rel = max_i r_i / max(|lambda|_inf, max_i |b_i| / a_i, smallest normal).  Invariant under
 * (A, b) -> s (A, b) and under units.  Friction rows are judged with bounds from the final normal
 * multipliers.  w [n] out: A lambda + b, may be NULL.  NaN anywhere gives rel = NaN, which is never
 * accepted.  O(n^2) dense, O(nnz) factored (a_i from the blocks).  scratch [3 n + nv]. */
void perp_lcp_judge(const perp_lcp *p, const double *lambda, double *w, double *scratch,
                    perp_lcp_judgement *j);

/* ---- one solve, judged ---------------------------------------------------------------------------------- */

typedef struct perp_lcp_solver perp_lcp_solver;
/* A solver of kind lcp for up to max_n rows and, when factored, max_nv columns; all memory. */
perp_status perp_lcp_create(perp_ctx *ctx, const perp_spec *method, int max_n, int max_nv,
                            perp_lcp_solver **out);
void perp_lcp_destroy(perp_lcp_solver *s);
/* Check the problem, solve, judge.  tol > 0: what counts as solved (rel <= tol).  On return
 * stats->reason is PERP_CONVERGED exactly when judgement->rel <= tol; a method that believed itself done
 * gets PERP_INACCURATE.  lambda [n] in: guess, out: iterate; w [n] out. */
perp_status perp_lcp_solve(perp_ctx *ctx, perp_lcp_solver *s, const perp_lcp *p, double tol,
                           double *lambda, double *w, perp_lcp_judgement *judgement,
                           perp_stats *stats);
/* The certificate of the last solve that ended in PERP_RAY or PERP_INFEASIBLE; NULL when there is none. */
const double *perp_lcp_certificate(const perp_lcp_solver *s);

#endif
