/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Boxed linear complementarity problems, the common currency of contact solvers.
 *
 * Find lambda [n] with  w = A lambda + b,  lo <= lambda <= hi  and for each row
 *
 *      lambda = lo  =>  w >= 0,      lambda = hi  =>  w <= 0,      lo < lambda < hi  =>  w = 0
 *
 * lo = 0, hi = inf is the pure LCP; (-inf, inf) a free variable (equality row); lo = hi a fixed
 * one.
 *
 * Friction: a row i with fric_of[i] = j >= 0 takes its bounds from the multiplier of row j:
 * |lambda_i| <= mu_i max(lambda_j, 0) (box), or, where cone[i] is set, rows i and i+1 together obey
 * |(lambda_i, lambda_{i+1})| <= mu_i max(lambda_j, 0) with w opposed to the tangential multiplier
 * (circular Coulomb cone).  Row j is not itself a friction row; lo and hi of friction rows are not
 * read unless the problem is `frozen`.
 *
 * Friction of Stewart and Trinkle is a pure LCP: the rows of a contact are one normal x_n,
 * directions x_t and one slack beta, the sliding speed, whose row is mu x_n - sum x_t >= 0.
 * contact_of says which rows make one contact, for the methods that take a contact as one block or
 * treat normals and friction in turn; see stewart.h.
 *
 * A is dense (column-major, any symmetry), or sparse (solvers/linalg/columns.h), or kept factored
 * as J M^-1 J' + S (solvers/linalg/blocks.h), so that iterative solvers never form it.
 *
 * The pure problem: STAR 2012, eq. 23 and 65; Cline 2002, eq. 2.34; Vondrak 2005, eq. 6.12, with
 * the other sign (lo = -inf, hi = 0) Vondrak 2005, eq. 6.14; boxed: Vondrak 2005, eq. 6.15
 * and 6.18; with free rows: Cline 2002, eq. 2.40. */
#ifndef PERP_LCP_H
#define PERP_LCP_H

#include "solvers/core/core.h"
#include "solvers/linalg/blocks.h"
#include "solvers/linalg/columns.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_lcp {
  int n;
  const double *A; /* [lda * n] column-major, or NULL when sparse or factored */
  int lda;
  const perp_blocks *F;    /* A = J M^-1 J' + S with m = n; NULL when dense or sparse */
  const perp_columns *C;   /* A by its numbers that are not 0; NULL when dense or factored */
  const double *b;         /* [n] */
  const double *lo, *hi;   /* [n]; NULL: 0 and +inf */
  const int *fric_of;      /* [n], -1 = no friction row; NULL: none at all */
  const double *mu;        /* [n], read where fric_of >= 0 */
  const signed char *cone; /* [n] 1 on the first of the two rows of a circular cone; NULL: boxes */
  const int
      *contact_of; /* [n] contact of a Stewart-Trinkle row, 0 ... n - 1; -1: none; NULL: not said */
  /* Fixed-limit friction: the friction rows are plain box rows with the bounds lo, hi given here;
   * fric_of and mu serve only to report the coupling.  Methods never see it: perp_lcp_solve hands
   * them the plain box problem. */
  bool frozen;
  /* What the caller will accept (set by perp_lcp_solve, 0 when unknown).  An iterative method whose
   * own option tol is 0 (the default) stops when perp_lcp_close() <= tol. */
  double tol;
  /* Where > 0: the figure `data` below must be at most this; in time steps it must be at most
   * sqrt(tol) in any case. */
  double tol_data;
  /* [n] > 0, factors that bring w of each row to one unit, that of `data` (a slack of Stewart and
   * Trinkle is an impulse: A_nn of its contact); NULL: all 1. */
  const double *unit;
  /* A problem of a time step: w of all rows, times unit, are one kind of number, whose largest is a
   * scale for all (see the judge below).  And what a time step can afford: where there are more
   * than PERP_LCP_BRIEF rows no proof is looked for, a claim that there is no solution is read as
   * it stands, in O(n^2), and is PERP_NONE_WITHIN at most. */
  bool brief;
  /* What the caller affords, in the unit of stats->work; 0: no limit.  Where it is spent a method
   * ends with the iterate that it has and PERP_MAX_ITER, after at most one more of its steps.
   * Methods from outside need not know it. */
  double work;
  /* Set by perp_lcp_solve, for solves of the same problem within it; methods pass it on with what
   * they make of the problem, and do not read it. */
  struct perp_lcp_known *known;
  /* Where > 0: an iterative method goes on to this part of the tolerance as long as that takes few
   * steps; what it returns is judged by the tolerance itself. */
  double part;
} perp_lcp;
enum { PERP_LCP_BRIEF = 8 };
/* A is mostly zeros: from so many rows on, at most one number of so many is none. */
enum { PERP_SPARSE_ROWS = 200, PERP_SPARSE_SHARE = 8 };
static inline bool perp_lcp_mostly_zeros(int n, double numbers)
{
  return n >= PERP_SPARSE_ROWS && numbers * PERP_SPARSE_SHARE <= (double)n * n;
}

/* Multiplications with additions of a product with A: 2 nnz(J), the numbers of a sparse A, or n^2.
 * O(1). */
double perp_lcp_product_work(const perp_lcp *lcp);
/* What a budget affords for lcp, as lcp->work has it: `budget` 1e9 multiplications with additions
 * (about a second) for up to 800 dense rows or 5e4 numbers in J or a sparse A, more for larger
 * problems, in proportion to n^3 or to the numbers; 0: 0, no limit.  O(1). */
double perp_lcp_afford(const perp_lcp *lcp, double budget);

/* Index set of a row, for traces, warm starts and certificates. */
enum { PERP_ROW_LO = -1, PERP_ROW_FREE = 0, PERP_ROW_HI = 1 };

enum {
  PERP_LCP_BOX = 1 << 0,      /* finite bounds other than [0, inf), on either side */
  PERP_LCP_FREE = 1 << 1,     /* free rows */
  PERP_LCP_FRICTION = 1 << 2, /* friction rows with bounds from another multiplier (box) */
  PERP_LCP_CONE = 1 << 3,     /* circular cones */
  PERP_LCP_NONSYMMETRIC =
      1 << 4, /* serves nonsymmetric A (copositive, P, ...; the summary says which) */
  PERP_LCP_SEMIDEFINITE = 1 << 5, /* serves rank-deficient positive semidefinite A */
  PERP_LCP_FACTORED = 1 << 6,     /* never forms A; serves dense A as well */
  PERP_LCP_PIVOTING = 1 << 7,     /* ends after finitely many pivots with an exact basis */
  PERP_LCP_ITERATIVE = 1 << 8,
  PERP_LCP_WARM = 1 << 9,  /* profits from the guess in lambda */
  PERP_LCP_PEER = 1 << 10, /* somebody else's solver behind an adapter */
  /* PERP_INFEASIBLE may come without a vector: perp_lcp_solve then excludes every basis itself,
     exactly */
  PERP_LCP_EXHAUSTIVE = 1 << 11,
  PERP_LCP_STRUCTURED = 1 << 12, /* serves one structure of A only; PERP_UNSUITED for the others */
  PERP_LCP_CHOOSES = 1 << 13, /* what it leaves unsolved is its own choice of what to go on with */
  PERP_LCP_CONE_BLOCKS = 1 << 14, /* solves the circular cone of a contact as one block: cones are
                                   * its default; with NONSYMMETRIC also the rows of Stewart and
                                   * Trinkle, whose normal row may be fixed by lo = hi */
  PERP_LCP_BY_ROWS =
      1 << 15, /* moves one row after the other by its A_ii: no slacks of Stewart and Trinkle */
  PERP_LCP_SPARSE = 1 << 16 /* takes a sparse A as it is; serves dense A as well */
};

typedef struct perp_lcp_desc {
  perp_desc d;
  /* Workspace for problems of up to max_n rows.  All memory, except what depends on a sparsity
   * pattern, which is (re)allocated when the pattern of F differs from the one before. */
  perp_status (*create)(perp_ctx *ctx, int max_n, const void *opts, void **ws);
  /* p has passed perp_lcp_check, fits the capabilities of the descriptor, has no p->F where the
   * method does not declare PERP_LCP_FACTORED, and no p->C where it does not declare
   * PERP_LCP_SPARSE: A is formed for it. lambda [n] in: finite guess (need not be feasible; all
   * zero = cold start); out: the last finite iterate.  stats (zeroed by the caller): the method
   * says in stats->reason why it stopped, by its own account; perp_lcp_solve has the last word.
   * certificate [n] or NULL: on PERP_RAY / PERP_INFEASIBLE the vector z that shows it, see
   * perp_lcp_prove.  Must be filled (zero when there is none). */
  perp_status (*solve)(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                       double *certificate, perp_stats *stats);
  void (*destroy)(void *ws); /* NULL allowed as ws */
  /* For `perp info`, one sentence each, which the contract asks for: the class of problems and what
   * is promised there, how ties are broken, what a solve costs, what stats->iterations counts. */
  const char *serves, *ties, *cost, *counts;
  /* Names of registered methods, separated by commas, that take the same pivots or iterates by
   * nature;
   * "*": any of them. */
  const char *same;
} perp_lcp_desc;

/* ---- the problem: residual.c ---- */

/* PERP_ERR_DIM / PERP_ERR_ARG with the row when the problem makes no sense: sizes, lo > hi,
 * friction cycles, mu < 0, half a cone.  *finite (may be NULL) tells whether A, b (and M^-1, J, S)
 * are finite, which is not an error of the caller but a diagnosis.  O(n^2) dense, O(nnz) factored.
 */
perp_status perp_lcp_check(perp_ctx *ctx, const perp_lcp *lcp, bool *finite);

/* Capability bits that a method needs for this problem: any of PERP_LCP_BOX, FREE, FRICTION, CONE.
 * O(n). */
unsigned perp_lcp_needs(const perp_lcp *lcp);

/* What of p a method cannot serve, known before it is tried: "friction rows", "a nonsymmetric A",
 * for methods by rows contacts of Stewart and Trinkle, whose slacks have A_ii = 0; NULL: nothing.
 * perp_lcp_solve answers such a problem with PERP_UNSUITED.  O(n^2). */
const char *perp_lcp_unsuited(const perp_desc *method, const perp_lcp *lcp);

/* PERP_ERR_UNSUPPORTED, with the reason, for a method that serves one structure of A
 * (PERP_LCP_STRUCTURED) which the matrices J M^-1 J' of `what`, with a positive diagonal, never
 * have. */
perp_status perp_lcp_unstructured(perp_ctx *ctx, const perp_desc *method, const char *what);

/* Bounds of row i; friction rows: from the normal multiplier in lambda (a cone row: the radius). */
static inline void perp_lcp_bounds(const perp_lcp *lcp, const double *lambda, int i, double *lo,
                                   double *hi)
{
  if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen) {
    double normal = lambda[lcp->fric_of[i]], limit = normal > 0 ? lcp->mu[i] * normal : 0;
    *lo = -limit;
    *hi = limit;
  } else {
    *lo = lcp->lo != NULL ? lcp->lo[i] : 0;
    *hi = lcp->hi != NULL ? lcp->hi[i] : __builtin_inf();
  }
}

/* Do rows i and i + 1 make one circular cone?  Not where the limits are frozen: those are box rows.
 */
static inline bool perp_lcp_is_cone(const perp_lcp *lcp, int i)
{
  return lcp->cone != NULL && lcp->cone[i] && !lcp->frozen;
}

/* The certificate of a method that proves nothing, and of one that has not yet.  NULL is fine. */
static inline void perp_no_certificate(const perp_lcp *lcp, double *certificate)
{
  for (int i = 0; certificate != NULL && i < lcp->n; i++) certificate[i] = 0;
}

/* Has a method done the work that its caller affords?
 *
 * Work is counted by the methods themselves, in multiplications with additions: n^2 for a product
 * with dense A or for reading it, twice the numbers of J in the factored form, n for a row that a
 * sweep changes, k^3 / 6 for a Cholesky factorization, k^3 / 3 for LU, k^3 for an inverse, k^2 for
 * a solve or for an update by one row.  What is O(n) in a step, analysing patterns, and what the
 * judge and the proofs of perp_lcp_solve do are left out. */
static inline bool perp_lcp_spent(const perp_lcp *lcp, double work)
{
  return lcp->work > 0 && work >= lcp->work;
}

/* ---- single numbers of a dense or sparse A: entries.c ---- */

double perp_lcp_entry(const perp_lcp *lcp, int i, int j);
/* row [n] = row i. */
void perp_lcp_row(const perp_lcp *lcp, int i, double *row);

/* Size of the scratch of the functions below that ask for PERP_LCP_SCRATCH; nv = columns of J, 0
 * when dense or sparse. */
#define PERP_LCP_SCRATCH(n, nv) (12 * (size_t)(n) + 2 * (size_t)(nv) + 2)

/* w = A lambda + b.  scratch [2 nv], not read when dense. */
void perp_lcp_product(const perp_lcp *lcp, const double *lambda, double *w, double *scratch);

/* max_ij |A_ij - A_ji| / max_ij |A_ij| of a dense or sparse problem; 0 when factored.  O(n^2),
 * sparse O(numbers). */
double perp_lcp_asymmetry(const perp_lcp *lcp);

/* ---- judging: judge.c and residual.c, the one judge ---- */

/* Has the problem a solution?  Of small ones, see below. */
typedef enum perp_lcp_exists {
  PERP_EXISTS_UNKNOWN = 0,
  PERP_EXISTS_PROVED, /* yes */
  PERP_EXISTS_NOT     /* no: the conditions of all index sets contradict each other */
} perp_lcp_exists;
enum { PERP_LCP_SMALL = 8 };

typedef struct perp_lcp_judgement {
  double rel; /* scaled natural map, see below: decides in time steps */
  double
      data; /* what is left in units of the data, see below: likewise, and where it is asked for */
  double abs;           /* max |lambda - clamp(lambda - w, lo, hi)| */
  double componentwise; /* max over rows of |natural map| over (|A||lambda| + |b|)_i */
  double siconos;       /* |natural map|_2 / max(|b|_2, |A lambda|_2, |lambda|_2) */
  double fclib;         /* |natural map|_2 / (1 + |b|_2) */
  double abh;           /* |natural map|_2 / |b|_2 (Acary, Bremond and Huber 2018) */
  double coupling;      /* frozen limits: max |hi - mu lambda_n+| / max(hi, mu lambda_n); else 0 */
  double own; /* the largest part of a row that is left, see below: decides outside time steps; NaN
                 in them */
  double own_data; /* the same of what the data make of the row: decides, too */
  perp_lcp_exists exists;
} perp_lcp_judgement;

/* The two figures.  With a_i = max_j |A_ij| (for a zero row the largest of all rows, so that the
 * figure is invariant; 1 when A = 0), bounds of friction rows from the double nearest to mu_i
 * max(lambda_j, 0), r_i = |lambda_i - clamp(lambda_i - w_i / a_i, lo_i, hi_i)| = |m_i|, m_i the
 * median of lambda_i - lo_i, w_i / a_i, lambda_i - hi_i:
 *
 *      rel = max_i r_i / max(|lambda|_inf, D_b, smallest normal)
 *
 *      D_b = max(max_i beta_i / a_i, min_i phi_i / a_i)
 *
 *      data = max_i unit_i a_i r_i / B,   B = max(max_i unit_i beta_i, min_i unit_i phi_i)
 *
 * data over the rows with a_i r_i > 8 eps (|A||lambda| +
 * |b|)_i, which the nearest doubles to a solution leave as well; 0 when there is no such row. Where
 * B = 0, B = max_i unit_i (|A||lambda|)_i; where that is 0, too, data is 0 or inf. A cone is one
 * row of two components: the disc projection of lambda_T - w_T / a with a = max(a_i, a_{i+1}),
 * Euclidean norms, the larger unit.
 *
 * What acts on the answer: phi_i = |w_i - a_i m_i| is the slack, the part of w_i that may be there
 * because the row is at its bound (0 where that is at most 2^-40 |w_i|), and beta_i = |b_i| - phi_i
 * the part of b_i that is not taken up by it (0 where that is at most 2^-40 |b_i|, or 2^-40 (|b_i|
 * + |w_i|) where there is a slack).  A row with w_i = 0 has beta_i = |b_i|; one that rests on its
 * bound without a force on it has none, and is no scale for others, whatever its a_i and b_i are.
 * The least phi, over rows that are neither friction rows nor fixed, is more than 0 only where
 * every such row rests: then it is what may be added before one of them begins to act.
 *
 * In problems of time steps (`brief`) each row has beta_i = |b_i| and none a slack: their w are
 * velocities of one unit, and a velocity that is rounding beside the largest is none, as of
 * contacts that just touch beside others that part.
 *
 * The rule.  Problems of time steps: rel <= tol and data <= perp_lcp_data_limit, which is
 * sqrt(tol), or p->tol_data where that is > 0 and less.  All others: own <= tol and own_data <=
 * sqrt(tol), data <= p->tol_data where that is > 0, and of small problems what `exists` says,
 * below; rel and data are then figures that methods stop on first.
 *
 *      own = max_i |m_i|,  m_i the median of
 *
 *                (lambda_i - lo_i) / l_i,   w_i / sigma_i,   (lambda_i - hi_i) / l_i
 *
 *      sigma = |A| xi + |b|,  xi_j = |lambda_j|, of friction rows the limit where that is more
 *
 *      l_j = min_k sigma_k / |A_kj|
 *
 * over the rows that count: all but those with b_k = 0 whose multipliers are less than 1e-11 l; of
 * these w_k / sigma_k is cut to the largest xi_j / l_j.  A cone is one row, with Euclidean norms.
 *
 *      own_data = max_i |m_i| sigma_i / h_i  over rows with m_i = w_i / sigma_i
 *
 * squared where |m_i| <= 8 eps and it is below 1; h_i the largest of |b_i| and |A_ij| g_j,
 * g_j = min(|lambda_j|, h_k / |A_kj|) of a row k in which lambda_j is a main term, or the bound on
 * which it rests. Both are the same in all units of rows and columns.  Where own <=
 * tol >= 1e-11, lambda but for moves by tol l solves a problem whose numbers differ by (n + 1) tol
 * / (1 - n tol).  Definitions, theorems, proofs: docs/explanation/lcp-judge.md.
 *
 * rel is the backward error against the size of lambda: what any solver in double numbers can
 * reach, whatever the condition of A.  It promises nothing about w in units of b: where |lambda|
 * exceeds D_b, w may be wrong by tol |lambda| a_i, which can be more than all of b (mass ratios,
 * nearly dependent contacts).  data promises just that: no row misses its condition by more than
 * its limit times the data that act, but for the rounding that exact lambda would have, too.  From
 * |lambda| of about 1e9 D_b on (a limit of 1e-6), that rounding is what is left, and data is 0 for
 * want of anything to tell.  Neither says how far lambda is from a solution: that takes the
 * condition of A.
 *
 * Safeguard in rel: dividing by |lambda| lets a huge lambda certify itself (A = v v' with v of both
 * signs has no solution for b = -1, yet lambda = t e, v'e = 0, has r = 1 for every t and rel = 1 /
 * t).  With lambda_0 = clamp(0, lo, hi) and D = max(D_b, |lambda_0|_inf), where D > 0, let s =
 * max_i r_i / D, and t the same over the rows that count in data.  rel is at least t^2 (t from t =
 * 1 on): at tolerance tol this refuses what leaves more than sqrt(tol) of the data unsolved (tol =
 * 1e-8: 1e-4), but for rounding; and where s > 1e-4 at least s^4 (s from s = 1 on), rounding or
 * not: an exact method gets there from |lambda| / D of about 1e12 on.
 *
 * Small problems, of at most PERP_LCP_SMALL rows and without circular cones, unless they are
 * `brief`: where no index set has a solution in exact arithmetic (`exists`), nothing is solved:
 * PERP_UNDECIDED where own is rounding, 64 n eps or less, as of redundant contacts whose b agree
 * but for that, else PERP_INACCURATE.
 *
 * Invariant: rel under (A, b) -> s (A, b), exactly for powers of two, under units of lambda and w
 * and of single rows; data under the first, and under row units when unit_i goes with them; both
 * under permutations.  The judge works with w summed exactly; perp_lcp_rel and perp_lcp_rate with
 * the rounded w they are given, and where that hides the data (16 eps |lambda| >= D) s is at
 * least 1.
 *
 * NaN anywhere gives NaN, which is never accepted. */

/* The residual of an answer, at most tol where it is solved: rel in time steps; else own, or the
 * square of own_data. */
static inline double perp_lcp_residual(const perp_lcp *lcp, const perp_lcp_judgement *judgement)
{
  const double square = judgement->own_data * judgement->own_data;
  return lcp->brief                                       ? judgement->rel
         : judgement->own > square || !(square == square) ? judgement->own
                                                          : square;
}
/* The largest `data` of an answer that counts as solved at tol. */
static inline double perp_lcp_data_limit(const perp_lcp *lcp, double tol)
{
  const double root = __builtin_sqrt(tol);
  return lcp->tol_data > 0 && lcp->tol_data < root ? lcp->tol_data : root;
}

/* a [n] out: the row scales.  scratch [n + nv], not read when dense.  O(n^2) dense; factored
 * O(sum over blocks of (rows touching the block)^2 d). */
void perp_lcp_scales(const perp_lcp *lcp, double *a, double *scratch);
/* rel from its parts, with w = A lambda + b as rounded.  O(n), no allocation. */
double perp_lcp_rel(const perp_lcp *lcp, const double *a, const double *lambda, const double *w);
/* The same, and the figure `data`, in one pass.  *data is an upper bound of that figure: rows
 * within the rounding of |A||lambda| count, too, and where b = 0 it is relative to max unit_i
 * |w_i|.  *rel and *data are NaN where a number is not finite.  O(n), no allocation. */
void perp_lcp_rate(const perp_lcp *lcp, const double *a, const double *lambda, const double *w,
                   double *rel, double *data);
/* The larger figure of both rules of time steps, max(rel, data lcp->tol / limit) with the figures
 * of perp_lcp_rate and the limit of perp_lcp_data_limit; rel where lcp->tol is 0.  O(n), no
 * allocation.
 */
double perp_lcp_merit(const perp_lcp *lcp, const double *a, const double *lambda, const double *w);
/* What iterative methods stop on, at most lcp->tol where lambda counts as solved.  In time steps,
 * and while merit (perp_lcp_merit of the same lambda and w) is above lcp->tol, it is merit; else
 * the larger one of merit, own and own_data lcp->tol / sqrt(lcp->tol), the figures of each row in
 * its own scale (docs/explanation/lcp-judge.md).  scratch [PERP_LCP_SCRATCH(n, nv)].  As at most
 * two dozen products with A, no allocation. */
double perp_lcp_close(const perp_lcp *lcp, double merit, const double *lambda, const double *w,
                      double *scratch);
/* What the figures of judgement, of the judge, say at tol and lcp->tol_data: PERP_CONVERGED
 * (solved), PERP_INACCURATE (not), or PERP_UNDECIDED, where the rounding of a figure itself reaches
 * across its tolerance, or that of the numbers of the problem decides whether it has a solution. */
perp_reason perp_lcp_verdict(const perp_lcp *lcp, double tol, const perp_lcp_judgement *judgement);
/* Everything, from exact sums: right to rounding of the figures themselves, for numbers of any
 * size, denormal ones too (factored: as far as the rounding of A_ij in long double allows, 1e-12
 * for cond(M_b) up to 1e6).  w [n] out: A lambda + b to the nearest double, may be NULL.  scratch
 * [PERP_LCP_SCRATCH].  About 10 ns for each entry of A, factored for each J'lambda of each row.
 * Allocates where a small problem is degenerate, or singular, and takes up to 20 ms then. */
void perp_lcp_judge(const perp_lcp *lcp, const double *lambda, double *w, double *scratch,
                    perp_lcp_judgement *judgement);

/* ---- distance to the solution: distance.c ---- */

/* By what a bound of the distance has been shown. */
typedef enum perp_lcp_near {
  PERP_NEAR_UNKNOWN = 0,
  PERP_NEAR_DOMINANT, /* A is an H-matrix with a positive diagonal (diagonally dominant after
                         scaling of columns) */
  PERP_NEAR_DEFINITE  /* (A + A') / 2 is positive definite */
} perp_lcp_near;
/* bound [n] out: |lambda_i - x_i| <= bound_i for the one solution x of a problem with plain bounds,
 * all roundings included; infinite where nothing is shown: neither kind of matrix, friction rows, a
 * factored A, numbers that are not finite. dominant: v_i max_k |r_k| / u_k, r_k the median of
 * lambda_k - lo_k, w_k / A_kk, lambda_k - hi_k, v > 0 with u_i = v_i - sum_j |A_ij| / A_ii v_j > 0
 * (Chen and Xiang 2006) definite: S_i |r + (S A S)' r|_2 / m, r the natural map of the problem of S
 * A S, S powers of two, m a verified lower bound of the least eigenvalue of S (A + A') / 2 S (after
 * Mathias and Pang 1990; Rump 2006) O(n^3); allocates 2 n^2 numbers. */
perp_lcp_near perp_lcp_distance(const perp_lcp *lcp, const double *lambda, double *bound);

/* ---- certificates: certificate.c ---- */

typedef enum perp_lcp_proof {
  PERP_PROOF_NONE = 0,
  PERP_PROOF_RAY,        /* z is the direction of a ray of Lemke's path; proves nothing by itself */
  PERP_PROOF_WITHIN,     /* no solution with |lambda|_1 < radius; one beyond it is not excluded */
  PERP_PROOF_INFEASIBLE, /* a Farkas vector, verified without rounding: no solution at all */
  PERP_PROOF_EXCLUDED /* all complementary bases excluded without rounding: no solution at all; no
                         vector */
} perp_lcp_proof;

/* What does the vector z [n] prove, recomputed from the input alone, taken as the numbers it is?
 * Entries of z of the wrong sign are taken as zero first.
 *
 * Farkas (any A, symmetric or not): z_i >= 0 where only the lower bound is finite (there w_i >= 0
 * is asked), <= 0 where only the upper one is, of any sign on free rows, 0 elsewhere; then every
 * solution has z'w >= 0.  With u = A'z,  z'w = u'lambda + b'z, and where the supremum of u'lambda
 * over the bounds is below -b'z by a gap there is no solution.  Friction rows have z = 0 and add mu
 * |u_t| to u_n.
 *
 * PERP_PROOF_INFEASIBLE: z, or a vector near it, or an exact one that z points to, is one with u
 * exactly 0, or of the right sign, on unbounded sides.  Near z the rows of z are moved until u has
 * the right sign by more than rounding (O(rows^3) in doubles); where that is impossible, as with
 * free rows and singular A, an exact vector is looked for among the rows of z, in integer
 * arithmetic, as far as the budget reaches (0.1 s).  All of them are verified without rounding. The
 * gap must exceed 64 n eps times the sum of the terms it is made of: numbers that agree up to
 * rounding, such as b of redundant contacts, are not called contradictory although, as they are,
 * they may be.  Circles are replaced by a square around them, one side across u_t, larger than the
 * circle by a rounding of mu.
 *
 * PERP_PROOF_WITHIN: the amount e > 0 by which u of z itself is not, leaves a proof for |lambda|_1
 * < radius = gap / e only.  Shown where radius exceeds 1e8 max(|b_i| / a_i, |clamp(0)|).
 *
 * PERP_PROOF_RAY (pure LCP): z >= 0, z != 0, y = A z + theta e >= 0 for one theta >= 0, z_i y_i =
 * 0, up to 1e-9 of |A||z|: the homogeneous part of an unbounded edge of Lemke's path with covering
 * vector e.  For copositive-plus A it comes with b'z < 0 and A'z <= 0, and is then reported as
 * PERP_PROOF_INFEASIBLE.
 *
 * radius (may be NULL) out: the radius of the proof, infinite for PERP_PROOF_INFEASIBLE.  scratch
 * [PERP_LCP_SCRATCH].  Allocates.  Rows and columns beyond 400000 numbers are not looked at: no
 * proof. */
perp_lcp_proof perp_lcp_prove(const perp_lcp *lcp, const double *z, double *radius,
                              double *scratch);

/* ---- one solve, judged: solve.c ---- */

typedef struct perp_lcp_solver perp_lcp_solver;
/* A solver of kind lcp for up to max_n rows and, when factored problems will come, max_nv columns
 * of J (0: dense ones only); all memory.  A method that cannot work on factored rows is given the
 * dense A.  The options of method are read here only.  PERP_ERR_DIM: negative sizes;
 * PERP_ERR_NOMEM; else what the method says.  *out is NULL on failure. */
perp_status perp_lcp_create(perp_ctx *ctx, const perp_spec *method, int max_n, int max_nv,
                            perp_lcp_solver **out);
void perp_lcp_destroy(perp_lcp_solver *solver); /* NULL is fine */
/* Solve the symmetrically scaled problem (D A D, D b), D powers of two that bring the rows of A
 * near 1 (Ruiz); undone before judging.  Allocates here, not in solve: PERP_ERR_NOMEM.  Factored
 * problems are formed. */
perp_status perp_lcp_equilibrate(perp_ctx *ctx, perp_lcp_solver *solver, bool on);
/* Check the problem, solve, judge.  tol > 0 and lcp->tol_data: what counts as solved.  On return
 * stats->reason is PERP_CONVERGED exactly when the rule above holds, PERP_UNDECIDED where rounding
 * of the figures leaves that open; a method that believed itself done gets PERP_INACCURATE.
 * stats->residual is rel and stats->data data, both exact where judgement is given; otherwise from
 * a w with rounding wherever a bound of that shows that the verdict is the same, and data is then
 * the upper bound of perp_lcp_rate.  A method that does not come with perp works on copies of all
 * data of the problem, so that it cannot change what is judged (memory grows with the largest
 * problem).  Non-finite data give PERP_NOT_FINITE, a problem outside the capabilities of the method
 * PERP_UNSUITED (status PERP_OK both times).  PERP_INFEASIBLE is only reported with a certificate
 * that perp_lcp_prove accepts without a radius, or where an exhaustive method says it and all bases
 * are excluded in exact arithmetic; PERP_RAY becomes it where that is proved.  What is shown within
 * a radius only is PERP_NONE_WITHIN: not solved, and not answered. After such a claim, and after
 * any failure of an exhaustive method, a vector is also looked for without regard to what the
 * method hands over: in doubles up to 600 rows (what has room to spare: strict ones; neither free
 * rows nor rows with two finite bounds), exactly up to 24. lambda [n] in: guess, out: iterate,
 * always finite; w [n] = A lambda + b out, may be NULL.  judgement may be NULL, which saves the
 * work on its other figures.  stats out.  PERP_ERR_ARG: tol, or as perp_lcp_check; PERP_ERR_DIM:
 * more rows or columns than created for, or as perp_lcp_check; else what the method says; lambda, w
 * and judgement are then undefined.  Beside the cost of the method O(n^2) dense, O(nnz) factored;
 * after a claim that there is no solution up to 0.1 s of integer arithmetic, which allocates, 0.5 s
 * for an exhaustive method, and at most 80 factorizations of n rows (4e9 / n^3 where that is less)
 * where a vector is looked for. */
perp_status perp_lcp_solve(perp_ctx *ctx, perp_lcp_solver *solver, const perp_lcp *lcp, double tol,
                           double *lambda, double *w, perp_lcp_judgement *judgement,
                           perp_stats *stats);
/* What the last solve proved, and the vector [n] that does (NULL when there is none; perp_lcp_prove
 * tells its radius).  Where the exact vector fits doubles it is this one. */
perp_lcp_proof perp_lcp_proved(const perp_lcp_solver *solver);
const double *perp_lcp_certificate(const perp_lcp_solver *solver);

/* ---- all solutions: enumerate.c ---- */

/* Called with every basic solution found (a vertex of the solution set; duplicates removed are
 * those with the same index set only); return false to stop. */
typedef bool perp_lcp_solution_fn(void *user, const double *lambda, const double *w,
                                  const signed char *state);
/* All basic solutions of a problem with n <= 20 rows and at most 2^22 index sets (no cones).
 * accept: the largest rel of a solution.  *count out: how many; *complete (may be NULL): every
 * index set was examined (in doubles: pivots below 1e-11 of what they come from count as zero) and,
 * where *count = 0, excluded in exact arithmetic.  Allocates.  PERP_ERR_UNSUPPORTED: more rows or
 * index sets, cones, no dense A; PERP_ERR_ARG: numbers that are not finite; else as perp_lcp_check.
 * O(index sets x n^3). */
perp_status perp_lcp_all_solutions(perp_ctx *ctx, const perp_lcp *lcp, double accept,
                                   perp_lcp_solution_fn *found, void *user, int *count,
                                   bool *complete);

#ifdef __cplusplus
}
#endif

#endif
