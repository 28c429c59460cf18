/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Almost complementary paths of boxed problems: what lemke and keller share.  Private header.
 *
 *      w = A lambda + b + c t,    lo <= lambda <= hi,  w complementary
 *
 * A vertex of the path has one pair (lambda_r, w_r) with both members nonbasic and t basic instead.
 * Basic are t, lambda_i for i in S, and w_i for the rows outside the core = S + {r}; a basis is
 * held as K^-1,   K = [ c_core  A_core,S ] with |S| + 1 rows.  One of the pair enters, the first
 * basic variable that meets a bound leaves, its complement enters next: one rank-one update of K^-1
 * per pivot.  Cost per pivot O(|S|^2 + n |S|), less when A is sparse.
 *
 * The rows of the core check every direction (w does not move there): it is refined, and K inverted
 * afresh, when their residual says so.  Ratios that are equal to within rounding are decided in one
 * of two ways. Perturbed: every basic variable carries a second number, its derivative under one
 * generic perturbation that relaxes every one-sided row (Charnes; relaxing keeps a feasible problem
 * feasible); the least of these ratios leaves. Lexicographic: path_follow.c.  In exact arithmetic
 * no vertex comes back; with rounding one may, and where it comes back twice the path ends as
 * PERP_CYCLED (Brent: the vertex is compared with one before, taken at steps 16, 32, 64 ...). */
#ifndef PERP_LCP_PATH_H
#define PERP_LCP_PATH_H

#include "solvers/lcp/pivoting/pivot.h"
#include "solvers/linalg/inverse_update.h"

/* What a row is: with bounds; lo = hi; free (basic from the beginning, never leaves); a free row
 * that depends on the others, left out; not yet a part of the problem (keller). */
enum { PERP_PATH_NORMAL, PERP_PATH_FIXED, PERP_PATH_FREE, PERP_PATH_PARKED, PERP_PATH_OPEN };

/* A basic variable that stops a move: t, lambda or w of a row, or the other bound of the one that
 * enters. */
enum { PERP_PATH_IS_NONE, PERP_PATH_IS_T, PERP_PATH_IS_LAMBDA, PERP_PATH_IS_W, PERP_PATH_IS_FLIP };

typedef struct perp_path {
  perp_pivot P;
  perp_inverse K;
  int *uvar, *crow;    /* [cap] row of lambda in slot u (slot 0 is t, -1), row of equation */
  int *upos, *cpos;    /* [n] their slots, -1 when not there */
  double *dir, *f, *g; /* [cap] direction of the unknowns, columns and rows of updates */
  double *w, *wp, *lp; /* [n] slack, perturbation of w and lambda */
  double *c, *dw, *dp; /* [n] covering vector, direction of w, scratch and the last ray */
  double t, tp, ct;    /* t, its perturbation, max |c_i| / a_i */
  signed char *st;     /* [n] PERP_ROW_* */
  unsigned char *kind; /* [n] PERP_PATH_* */
  int *ipiv, lwork;
  double *work;
  /* of the running solve, set by the method */
  perp_ctx *ctx;
  perp_stats *stats;
  double *lambda;
  const char *name; /* for the trace */
  int limit;        /* of stats->iterations */
  int target;       /* the path also ends when this row reaches `target_bound`; -1: no */
  int target_bound;
  int with_t; /* 1: t is basic, in slot 0 */
  bool warm;  /* lambda came with a guess */
  /* ties by the lexico-minimum rule instead of the generic perturbation, set by the method with the
   * signs of the perturbation of b, +-1 [n] */
  bool lexico;
  double *tilt;
  perp_stop
      *stop; /* [2 n + 3] what may stop a move; `to`: the bound that the row comes to, w: is at */
  /* a vertex met before, for the test of cycling: its index sets and what entered */
  signed char *mark; /* [n] */
  int mark_e, returns;
  bool mark_is_lambda;
  /* what counts as zero in the ratio test, times this: 1, or less where components of very
   * different size belong together (a multiplier of 1e13 beside one of 1) and the data are exact
   * enough */
  double sharp;
} perp_path;

/* Work of applying K^-1, or of an update of it, `times` times. */
static inline void perp_path_count(const perp_path *path, int times)
{
  path->stats->work += (double)times * path->K.m * path->K.m;
}

/* Row i leaves the basis, or begins, at its lower or upper bound. */
static inline void perp_path_rest(perp_path *path, int i, bool low)
{
  path->st[i] = low ? PERP_ROW_LO : PERP_ROW_HI;
  path->lambda[i] = low ? path->P.lo[i] : path->P.hi[i];
}

/* ---- the basis: path_basis.c ---- */

/* Carve the arrays of a perp_path with its P.max_n. */
void perp_path_layout(void *L, perp_arena *arena);
/* Take over a problem for a solve by `name`: all of the running solve but the limit, ties and a
 * target, which are none. PERP_ERR_DIM as perp_pivot_take. */
perp_status perp_path_take(perp_ctx *ctx, perp_path *path, const perp_lcp *lcp, const char *name,
                           double *lambda, double *certificate, perp_stats *stats);

/* Index sets and lambda: free rows basic; the others at a bound (cold: the lower one if there is
 * one) or, with guess, basic where lambda lies strictly between. */
void perp_path_sets(perp_path *path, bool guess);
/* K = A_SS for the basic rows.  Dependent rows are left out: bounded ones at a bound, free ones
 * joined with another row by a 2 x 2 pivot or parked.  O(|S|^3). */
void perp_path_core(perp_path *path);
/* lambda_S (and t) from the core equations, refined passes - 2 times, then w of all rows (passes =
 * 1: w alone). */
void perp_path_recompute(perp_path *path, int passes);
/* Basic lambda that lie outside of their bounds leave the basis, until none does; false on
 * failure. */
bool perp_path_clean(perp_path *path);

/* Is there a parked row (free, dependent on the basis) with w != 0?  Then its combination of rows
 * is put into path->dp and true returned if that proves infeasibility.  K must be A_SS and w fresh.
 */
bool perp_path_parked_proof(perp_path *path);

/* Row i of [c A] at the unknowns; column j of A (j = -1: c) at the equations; y += [c A_S] x. */
void perp_path_row(const perp_path *path, int i, double *out);
void perp_path_column(const perp_path *path, int j, double *out);
void perp_path_product(const perp_path *path, const double *x, double *y);

/* K from A and c, inverted.  Returns the reciprocal of its condition. */
double perp_path_invert(perp_path *path);
/* path->f = K^-1 column i and the pivot with which row and column i would join; *terms: what it is
 * a sum of. */
double perp_path_pivot(perp_path *path, int i, double *terms);

/* Changes of the basis.  Equation `row` and unknown lambda_col (-1: t, which must then be moved to
 * slot 0) join, given path->f = K^-1 column and the pivot s; column u becomes that of lambda_col,
 * given path->f; equation c becomes that of row; equation and unknown go. */
void perp_path_append(perp_path *path, int row, int col, double s);
void perp_path_replace_column(perp_path *path, int u, int col);
void perp_path_replace_row(perp_path *path, int c, int row);
void perp_path_remove(perp_path *path, int u, int c);
void perp_path_t_first(perp_path *path, int u);

/* ---- the path: path_follow.c ---- */

/* Which of `count` tied stops leaves by the lexico-minimum rule comes first; the others are
 * reordered. O(|S|) for each coefficient and stop still tied. */
void perp_path_lexico(const perp_path *path, perp_stop *stop, int count);

/* Follow the path from the vertex whose pair is row e; lambda_e enters first, or w_e.  PERP_RUNNING
 * when t reached 0 (or the target its bound) and left the basis; PERP_RAY with the components of
 * lambda of the ray in path->dp; PERP_CYCLED, PERP_MAX_ITER, PERP_SINGULAR, PERP_NOT_FINITE;
 * PERP_INACCURATE when a t that is zero but for rounding does not fall for 100 + n/4 pivots: start
 * again from the basis that was reached. */
perp_reason perp_path_follow(perp_path *path, int e, bool is_lambda);

#endif
