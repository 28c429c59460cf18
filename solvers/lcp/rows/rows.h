/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A problem prepared for row-wise methods: projected sweeps and products with A, dense or
 * matrix-free.
 *
 * Dense A: the slack w = A lambda + b is kept up to date; a changed row costs one column of A, an
 * unchanged one nothing.  Serves any symmetry.  Contacts of many bodies make a large A that is
 * mostly zeros: from PERP_SPARSE_ROWS rows on, with at most one number of PERP_SPARSE_SHARE that is
 * none, its columns are compressed, and products and changes cost their numbers.
 *
 * Factored A = J M^-1 J' + S: with M_b^-1 = L_b L_b' (Cholesky, semidefinite blocks allowed) every
 * sub-matrix is stored as G = J L, so that A = G G' + S and one vector u = G' lambda per block of
 * velocities stands for J' lambda.  A row then needs each of its numbers once, for the product with
 * u and for the correction of u; M^-1 does not appear in the sweep, diagonal or not.  Consecutive
 * rows that touch the same blocks form a unit of at most PERP_UNIT_ROWS rows: its products with u
 * are taken together and corrected inside the unit by the small Gram matrix of its rows, which
 * gives the same iterates as one row after the other and shortens the chain of dependent
 * operations.
 *
 * Units that share no block commute, so the units are sorted by the length of the chain of units
 * that they wait for: the iterates stay those of the order of rows, bit by bit, while neighbours in
 * the new order are independent and overlap in the processor; those of one level may be done by
 * several threads.
 *
 * Coloured, units are taken colour by colour instead: the order of rows changes, and with it the
 * iterates, but a colour is many units that share no block.  Contacts of one colour on bodies with
 * diagonal inertia are then done by fours, one in each lane of a vector (rows_fours.c), and all of
 * a colour may be done by several threads.  Which unit has which colour depends on the problem
 * alone: so do the iterates, whatever the threads and the processor.
 *
 * Sweeps are Gauss-Seidel (STAR 2012, section 4.3.2, eq. 78 and 81) in row order, reversed, or in
 * an order of units given by the caller.  Bounds of friction rows follow the current multiplier. */
#ifndef PERP_LCP_ROWS_H
#define PERP_LCP_ROWS_H

#include "solvers/lcp/lcp.h"

enum { PERP_FOURS_KINDS = 9 }; /* see rows_colours.c */
enum { PERP_UNIT_ROWS = 4 };

/* What methods on prepared rows serve. */
enum {
  PERP_ROWS_CAPS = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                   PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED | PERP_LCP_SPARSE |
                   PERP_LCP_ITERATIVE | PERP_LCP_WARM
};

typedef enum perp_lcp_row_kind {
  PERP_ROW_BOUNDED, /* lo, hi */
  PERP_ROW_FRICTION,
  PERP_ROW_CONE,     /* first of two rows of a circular cone */
  PERP_ROW_CONE_TAIL /* second, served together with the first */
} perp_lcp_row_kind;
enum { PERP_ROW_HALF = 4 };

/* Rows row ... row + r - 1 of one group, or of neighbours on the same blocks; dense: a row or a
 * cone pair. */
typedef struct perp_unit {
  size_t at; /* its numbers in `data` */
  int row;
  int group; /* that of its first row */
  int a, b;  /* where the accumulators of its one or two blocks start in u; b: -1 for one */
  int width; /* length of a row */
  short r;
  signed char shape, contents, packed; /* see rows_private.h */
} perp_unit;

/* What the units of the last factored problem follow from (rows_pattern.c). */
typedef struct perp_rows_pattern {
  bool valid;
  int size[8];
  int *cptr, *jptr, *jblk, *bptr, *fric_of;
  signed char *kind;
  unsigned char *diag;
} perp_rows_pattern;

typedef struct perp_rows {
  int n, max_n;
  const perp_lcp *p;
  /* [max_n] each */
  double *diag;      /* A_ii */
  double *big;       /* dense: max_j |A_ij|; factored: an upper bound of it; 1 for a zero row */
  double *a;         /* scales of the judge, see perp_rows_residual */
  double *inv;       /* step of the row: omega / A_ii, or its substitute */
  double *lo, *hi;   /* as in the problem, NULL filled in; friction rows: not used */
  int *unit_of;      /* factored: unit of a row */
  signed char *type; /* perp_lcp_row_kind */
  signed char *kind; /* the same, + PERP_ROW_HALF where the bounds are 0 and infinity */
  double *w;         /* dense: A lambda + b; factored: scratch */
  bool sparse; /* sparse A, or dense A that is mostly zeros: its columns, compressed, are here, too
                */
  int *start, *row; /* sparse: [n + 1], [start[n]] */
  double *value;    /* sparse: [start[n]] */
  perp_unit *unit;
  /* the order of the units */
  struct {
    int n_levels; /* level l ends before unit count[l]; 0: units wait for each other one by one */
    int *level, *count; /* [max_n], [max_n + 1] */
    int *place;         /* [max_n] factored: where the units are, in the order of rows */
    perp_unit *unit2;   /* scratch */
    int *block_level;
    uint64_t *used; /* coloured: [nb] colours of a block */
    int *bin;       /* coloured: [PERP_FOURS_KINDS n + 1] scratch */
  } schedule;
  perp_rows_pattern pattern; /* of the units that are there */
  int n_units;
  int threads;
  bool coloured; /* the caller's, before prepare: units by colours; sweeps are then forward, single
                    rows not served */
  bool zero_diagonal; /* some row has A_ii <= 0 and is not zero: outside the theory of the sweeps */
  bool scaled;        /* a is there */
  bool friction;
  double bnorm;   /* max_i |b_i| / big_i */
  double product; /* work of a product with A */
  double work;    /* since prepare, also that of the systems of system.h; the caller's to pass on */
  /* factored and sparse ones; grown when a problem needs more */
  perp_arena own, grown;
  size_t capacity;
  double *data;    /* units: Gram matrices, rows of G, parameters */
  double *u;       /* [nu] accumulators, every block padded to even length */
  double *uu;      /* [nu] the same for products with A, so that the sweeps keep theirs */
  int *uoff;       /* [nb + 1] */
  double *scratch; /* [n + nv] */
  double *judged;  /* [PERP_LCP_SCRATCH(max_n, 0)] of the judge */
  double *chol;    /* L_b, at mptr */
  double *root;    /* [nv] L_b of diagonal blocks, at bptr */
  int nu;
} perp_rows;

/* Arrays for up to max_n rows.  Allocates; release with perp_rows_close (also after failure). */
perp_status perp_rows_open(perp_ctx *ctx, perp_rows *rows, int max_n);
void perp_rows_close(perp_rows *rows);

/* perp_workspace_create and perp_rows_open for a struct that begins with its perp_rows, *like with
 * their max_n; to be released by perp_rows_destroy (NULL is fine).  *ws is NULL on failure. */
perp_status perp_rows_create(perp_ctx *ctx, const char *who, void *like, size_t size,
                             perp_layout_fn *layout, void **ws);
void perp_rows_destroy(void *ws);

/* Read p: bounds, diagonal, units, factored numbers; steps omega / A_ii (cone pairs: omega over the
 * largest eigenvalue of their 2 x 2 block).  Rows with A_ii <= 0 get the step omega / max_j |A_ij|,
 * a plain projected gradient step, and zero_diagonal is set; a zero row goes to the bound that w =
 * b asks for, or stays where that bound is infinite.  Allocates only when p is factored, or large
 * and mostly zeros, and needs more memory than any problem before.  O(n^2) dense, O(nnz) factored.
 */
perp_status perp_rows_prepare(perp_ctx *ctx, perp_rows *rows, const perp_lcp *lcp, double omega);

/* Recompute w (dense) or u (factored) from lambda [n]; must precede the sweeps. */
void perp_rows_reset(perp_rows *rows, const double *lambda);
/* One sweep over all units, order [n_units] or NULL (the order of rows); back: from the last to the
 * first. Returns max_i |change of lambda_i|. */
double perp_rows_sweep(perp_rows *rows, double *lambda, const int *order, bool back);

/* Single rows, for methods with their own blocks: w_i as the sweeps have it, the effect of
 * lambda_i += change on it (lambda itself is the caller's), and the entry A_ij of two rows. */
double perp_rows_slack(perp_rows *rows, const double *lambda, int i);
void perp_rows_change(perp_rows *rows, int i, double change);
double perp_rows_entry(const perp_rows *rows, int i, int j);

/* w = A lambda + b from scratch.  O(n^2) dense, O(nnz) factored or sparse. */
void perp_rows_w(perp_rows *rows, const double *lambda, double *w);
/* y = A x. */
void perp_rows_A(perp_rows *rows, const double *x, double *y);
/* d [n] with diag(d) - A positive semidefinite when A is symmetric: row sums of |A| when dense;
 * when factored s_i + sum over blocks of (rows touching the block) |G_ib|^2, as (sum of k terms)^2
 * <= k (sum of squares).  The two rows of a cone get the same value.  Zero rows get 1. */
void perp_rows_majorant(perp_rows *rows, double *d);
/* y = projection of x [n] on the set of friction limits given by the normal multipliers in y; rows
 * without friction first.  y may be x. */
void perp_rows_project(const perp_rows *rows, const double *x, double *y);
/* perp_lcp_merit of lambda with slack w and, where that is within p->tol, the larger one of it and
 * what the judge says of each row in its own scale (own, own_data), outside time steps.  The first
 * call after prepare computes the row scales when factored (as the judge does); the others are
 * O(n), as a few products where the answer is near. */
double perp_rows_residual(perp_rows *rows, const double *lambda, const double *w);
/* The same of lambda alone: w [n] out, one product (counted in stats). */
double perp_rows_rate(perp_rows *rows, const double *lambda, double *w, perp_stats *stats);
/* What an iterative method aims at: its own tolerance, or where that is 0 what the caller accepts,
 * or its part of that, with a little room for the different rounding of the judge. */
static inline double perp_rows_target(double tol, const perp_lcp *lcp)
{
  const double part = lcp->part > 0 ? lcp->part : 1;
  return 0.9 * (tol > 0 ? tol : part * (lcp->tol > 0 ? lcp->tol : 1e-8));
}
/* The option of that tolerance, a double `tol` of the struct S. */
#define PERP_ROWS_TOL(S)                                                                           \
  PERP_REAL(S, tol, 0, 0, 1, 0, "",                                                                \
            "Stopping tolerance of the scaled residual. 0: the tolerance of the caller.")

/* What the normal multiplier leaves friction row i. */
static inline double perp_rows_limit(const perp_rows *rows, const double *lambda, int i)
{
  const double normal = lambda[rows->p->fric_of[i]];
  return rows->p->mu[i] * (normal > 0 ? normal : 0);
}

/* Bounds of row i given lambda (friction rows: of their normal multiplier). */
static inline void perp_rows_bounds(const perp_rows *rows, const double *lambda, int i, double *lo,
                                    double *hi)
{
  const bool bounded = rows->type[i] == PERP_ROW_BOUNDED;
  *hi = bounded ? rows->hi[i] : perp_rows_limit(rows, lambda, i);
  *lo = bounded ? rows->lo[i] : -*hi;
}

static inline bool perp_rows_spent(const perp_rows *rows)
{
  return perp_lcp_spent(rows->p, rows->work);
}

/* The nearest point of the disc of radius r. */
static inline void perp_disc(double r, double *x, double *y)
{
  double s = __builtin_sqrt(*x * *x + *y * *y);
  if (s > r) {
    *x *= r / s;
    *y *= r / s;
  }
}

#endif
