/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What dantzig and bpp share: the clamped set F with the factor of A_FF (clamped_set.c), one solve
 * of a boxed problem with a kept factor (clamped_solve.c), friction limits around it
 * (clamped_limits.c).  Not installed. */
#ifndef PERP_LCP_CLAMPED_H
#define PERP_LCP_CLAMPED_H

#include "solvers/lcp/pivoting/pivot.h"
#include "solvers/linalg/ldl_update.h"

enum { PERP_LIMITS_REFRESHED, PERP_LIMITS_FIXED };
extern const char *const perp_clamped_limits[]; /* the names of both */

enum { AT_LO = PERP_ROW_LO, CLAMPED = PERP_ROW_FREE, AT_HI = PERP_ROW_HI, PARKED = 2 };

/* clamped_follow.c: lambda + s rate, w + s w_rate, what widens bounds and shifts w. */
typedef struct perp_clamped_path {
  double *lambda, *rate, *w, *w_rate, *give, *push; /* [n] */
} perp_clamped_path;

typedef struct perp_clamped {
  /* of the method, set at creation */
  const char *name;
  /* one boxed problem with the bounds in P; warm: F is guessed from lambda */
  perp_reason (*box)(struct perp_clamped *D, int warm);
  int max_iter, limits;
  bool reuse;
  double foreign;   /* w_F of a basic solution, relative to the multipliers, that is no rounding any
                       more */
  int patience;     /* bpp */
  int start, order; /* dantzig */

  perp_pivot P;
  perp_ldl K;
  int *rows, *pos;                   /* [n] F in the order of the factor; slot or -1 */
  double *ell, *dir, *res;           /* [n] L^-1 A_Fi, direction of lambda_F, right-hand sides */
  double *w, *dw, *lp, *wp, *lambda; /* [n] */
  double *center;                    /* [n] of proximal steps, see shift below */
  signed char *set, *saved, *state;  /* [n] AT_LO ... PARKED; of the best start; as traced */
  perp_stop *stop;                   /* [n + 2] dantzig: what may stop a drive */
  unsigned char *ignore; /* [n] rows that a drive may not block on (numerically dependent) */
  perp_ctx *ctx;
  perp_stats *stats;
  double *proof;
  int limit;
  int dependent;         /* rows that the last factorization found dependent */
  double *guess;         /* [n] with reuse: lambda as it came */
  int *list;             /* [2 n] clamped_couple.c, clamped_follow.c: F, slots */
  signed char *held;     /* [n] sets before them */
  double *from, *before; /* [n] limits of friction rows, lambda before them */
  perp_clamped_path path;
  bool kept;    /* K, rows, pos are those of the last solution */
  bool shifted; /* K has a shift in it */
  bool general; /* K holds the LU factors of A_FF, A being far from symmetric; no updates then */
} perp_clamped;

/* Work of `times` triangular solves with the factor, or updates of it. */
static inline void perp_clamped_count(const perp_clamped *clamped, double times)
{
  clamped->stats->work += 0.5 * times * clamped->K.k * clamped->K.k;
}

/* No further step: the limit of iterations, or what the caller affords. */
static inline bool perp_clamped_over(const perp_clamped *clamped)
{
  return clamped->stats->iterations >= clamped->limit ||
         perp_pivot_spent(&clamped->P, clamped->stats);
}

static inline double perp_clamped_scale_of(const perp_clamped *clamped)
{
  double zs = clamped->P.bscale;
  for (int i = 0; i < clamped->P.n; i++) zs = perp_larger(zs, fabs(clamped->lambda[i]));
  return zs;
}

/* The direction in which row i, not in F, must be driven: its conditions are broken by more than
 * zero. */
static inline int perp_clamped_breaks(const perp_clamped *clamped, int i, double zero)
{
  double w = clamped->w[i] / clamped->P.a[i];
  if (clamped->P.lo[i] == clamped->P.hi[i]) return 0;
  return w < -zero && clamped->set[i] != AT_HI ? 1 : w > zero && clamped->set[i] != AT_LO ? -1 : 0;
}

/* Where row i of F belongs when lambda_i is outside of its bounds, else CLAMPED. */
static inline int perp_clamped_outside(const perp_clamped *clamped, int i, double zero)
{
  double x = clamped->lambda[i];
  return x < clamped->P.lo[i] - zero ? AT_LO : x > clamped->P.hi[i] + zero ? AT_HI : CLAMPED;
}

/* Row i, not of F, is at a bound. */
static inline void perp_clamped_to_bound(perp_clamped *clamped, int i, int to)
{
  clamped->set[i] = (signed char)to;
  clamped->lambda[i] = to == AT_LO ? clamped->P.lo[i] : clamped->P.hi[i];
}

/* What a shift adds to the diagonal entry of row i, over the shift. */
static inline double perp_clamped_weight(const perp_clamped *clamped, int i)
{
  return clamped->general ? clamped->P.a[i] : clamped->P.A[(size_t)i * (clamped->P.lda + 1)];
}

/* ---- the clamped set: clamped_set.c ---- */

/* Rows that have to join the factor or leave it. */
int perp_clamped_differences(const perp_clamped *clamped);
/* Row i of F goes to one of the other sets.  Not for a general A. */
void perp_clamped_leave(perp_clamped *clamped, int i, int to);
/* ell = L^-1 A_Fi; returns s, 0 when row i depends on F, negative when A is indefinite.  O(k^2). */
double perp_clamped_schur(perp_clamped *clamped, int i);
/* Row i joins F with the ell and s of perp_clamped_schur(i). */
void perp_clamped_join(perp_clamped *clamped, int i, double s);
/* A row that depends on F keeps its bound, or its place between them. */
void perp_clamped_park(perp_clamped *clamped, int i);
/* Factor A_FF (+ shift times the weights) for the rows with set = CLAMPED and park the dependent
 * ones: few changes by updates, many at once.  0 when a pivot is negative.  A general A has no
 * dependent rows: 0 when A_FF is singular. */
int perp_clamped_factor(perp_clamped *clamped, int changes, double shift);
/* One step of iterative refinement of lambda_F; w afresh. */
void perp_clamped_refine(perp_clamped *clamped);
/* lambda_F such that w_F = 0 with the other rows as they are, w of all rows.  With a shift that of
 * the problem with A + shift W and b - shift W center, W the weights.  0 when w_F stays above
 * `foreign`: the factor is not that of A. */
int perp_clamped_basic_solution(perp_clamped *clamped, double shift);
/* First sets: lambda (warm), or 0, as the bounds allow it, F the rows between their bounds. */
void perp_clamped_first_sets(perp_clamped *clamped, int warm);
/* Put lambda into its bounds; returns the largest change. */
double perp_clamped_clamp(perp_clamped *clamped);
/* The last look at a solution: w of F refined where needed, lambda in its bounds.  1 when it is as
 * good as the methods promise. */
int perp_clamped_done(perp_clamped *clamped, int refine);
void perp_clamped_trace(perp_clamped *clamped, const char *what, int entering, int leaving,
                        double step);

/* ---- one solve: clamped_solve.c, and friction over it: clamped_limits.c ---- */

/* Of a perp_clamped with its P.max_n. */
void perp_clamped_layout(void *D, perp_arena *arena);
/* solve of perp_lcp_desc. */
perp_status perp_clamped_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                               double *certificate, perp_stats *stats);
/* clamped->box, with the bounds of friction rows at mu lambda_n. */
perp_reason perp_clamped_friction(perp_clamped *clamped, const perp_lcp *lcp, int warm);

/* clamped_couple.c: the fixed point of the limits as long as no row changes its set: multipliers
 * into dw, for the k rows F and the slots of all rows in it; overwrites L D L'.  0: singular. */
int perp_clamped_joint(perp_clamped *clamped, const perp_lcp *lcp, int k, const int *rows,
                       const int *slot);
/* Sets, lambda and limits are remembered, and brought back. */
void perp_clamped_mark(perp_clamped *clamped);
void perp_clamped_back(perp_clamped *clamped, const perp_lcp *lcp);
/* Sets and limits exchanged until they agree: lambda is the solution then.  0: they did not, and
 * all is as it was. */
int perp_clamped_couple(perp_clamped *clamped, const perp_lcp *lcp);
/* clamped_follow.c: the same along a path of sets, for any A; needs normal multipliers that are not
 * negative. */
int perp_clamped_follow(perp_clamped *clamped, const perp_lcp *lcp);

/* ---- block principal pivots as the start of another method: bpp.c ---- */

/* Blocks are exchanged as long as that helps; then the best sets with w_F = 0, rows that depend on
 * others parked. 0 when A is not symmetric semidefinite. */
int perp_bpp_start(perp_clamped *clamped, int warm);

#endif
