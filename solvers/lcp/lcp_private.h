/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the judge, the certificates and the solve wrapper; not installed. */
#ifndef PERP_LCP_INTERNAL_H
#define PERP_LCP_INTERNAL_H

#include "solvers/lcp/lcp.h"

/* What one pass over dense A tells, each may be NULL: a [n] as perp_lcp_scales, perp_lcp_asymmetry,
 * and whether A and b are finite.  O(n^2), no allocation. */
void perp_lcp_survey(const perp_lcp *lcp, double *a, double *asymmetry, bool *finite);

/* What a solve has found out about its problem, for solves of the same one within it: that it is in
 * order and finite, and what became of the answer that was judged last. */
typedef struct perp_lcp_known {
  const perp_lcp *of;
  double tol, asymmetry;
  const double *a; /* [n] row scales of a dense A */
  double *x, *w;   /* [n] that answer and its w, where `judged` */
  bool judged;     /* at tol, by perp_lcp_decide */
  perp_reason verdict;
  double residual, data;
} perp_lcp_known;
/* Is that of lcp itself?  By its arrays, which nobody changes during a solve. */
static inline bool perp_lcp_knows(const perp_lcp *lcp)
{
  if (lcp->known == NULL) return false;
  const perp_lcp *of = lcp->known->of;
  return lcp->A == of->A && lcp->lda == of->lda && lcp->F == of->F && lcp->C == of->C &&
         lcp->n == of->n && lcp->b == of->b && lcp->lo == of->lo && lcp->hi == of->hi &&
         lcp->fric_of == of->fric_of && lcp->mu == of->mu && lcp->cone == of->cone &&
         lcp->unit == of->unit && lcp->contact_of == of->contact_of && lcp->frozen == of->frozen;
}

/* count + 1 zeros, to be freed; NULL where the machine has no such memory: an overcommitting kernel
 * would grant it and kill the process later. */
void *perp_lcp_zeroed(double count, size_t size);

/* Numbers of the largest sub-matrix of J, at least 1: the scratch of perp_blocks_delassus. */
size_t perp_lcp_largest_block(const perp_blocks *blocks);

/* Are all numbers of A (or J, M^-1, S) and b finite?  O(n^2) dense, O(nnz) factored. */
bool perp_lcp_finite(const perp_lcp *lcp);

/* a as perp_lcp_scales, and c = |A||x|, or |A'||x| where transposed (dense only differs).
 * acc [n], y [nv]: scratch, not read when dense. */
void perp_lcp_absolute(const perp_lcp *lcp, const double *x, bool transposed, double *a, double *c,
                       double *acc, double *y);

/* u = A'z [n].  scratch [2 nv], not read when dense.  O(n^2) dense, O(nnz) factored; no allocation.
 */
void perp_lcp_transposed(const perp_lcp *lcp, const double *z, double *u, double *scratch);

/* What z shows as it stands, with a bound of the rounding: PERP_PROOF_WITHIN, RAY or NONE.  scratch
 * [PERP_LCP_SCRATCH].  As a product with |A'|, no allocation. */
perp_lcp_proof perp_lcp_glance(const perp_lcp *lcp, const double *z, double *scratch);
/* perp_lcp_prove that, for PERP_PROOF_INFEASIBLE, writes the vector that proves to exact [n] (may
 * be z): without rounding where doubles can hold it.  In problems of up to 24 rows it looks beyond
 * the rows of z, which may be 0. */
perp_lcp_proof perp_lcp_sharpen(const perp_lcp *lcp, const double *z, double *exact,
                                double *scratch);
/* certificate_strict.c: z [n], nearly a Farkas vector -> out [n], one whose u = A'z has the right
 * sign on every side without a bound by more than rounding, as far as doubles tell; of the rows of
 * z.  False: none, as where a free column or dependent conditions ask for exact zeros.  O(n^2 +
 * rows of z^3).  Allocates. */
bool perp_lcp_strict(const perp_lcp *lcp, const double *z, double *out);
/* certificate_search.c: a vector z [n] that, as far as doubles tell, is a Farkas vector with room
 * to spare.  False: none found; there is none, or its conditions ask for exact zeros (free columns,
 * singular A), or a row has two finite bounds. At most 80 Newton steps of rows^3 operations, fewer
 * from 370 rows on (4e9).  Allocates. */
bool perp_lcp_search(const perp_lcp *lcp, double *z);
/* Budgets, in units below 1 ns. */
#define PERP_PROOF_WORK   150000000 /* of a proof: 0.1 s */
#define PERP_EXCLUDE_WORK 500000000 /* of an exclusion: 0.4 s */

/* M_b^-1 of block b: its numbers by columns and *step 0, or the first of its diagonal and how far
 * apart those are. */
static inline const double *perp_lcp_inverse(const perp_blocks *blocks, int b, int *step)
{
  if (blocks->diag != NULL && blocks->diag[b]) return perp_blocks_flat(blocks, b, step);
  *step = 0;
  return blocks->Minv + blocks->mptr[b];
}

/* Row scales of a factored problem (scales.c), 0 for a zero row.
 *
 * For each row i of J M^-1 J' + S: a_i = max_j |A_ij| and, where lambda is given, c_i = sum_j
 * |A_ij| |lambda_j|.  acc [m], y [nv].  Visits the groups that share a block with the row's group.
 */
void perp_lcp_factored_rows(const perp_blocks *blocks, const double *lambda, double *a, double *c,
                            double *acc, double *y);
/* a of one row alone: row l of group g.  acc [m] zeros, in and out; y [longest block]. */
double perp_lcp_factored_row(const perp_blocks *blocks, int g, int l, double *acc, double *y);
/* a alone, of contacts, by a team of blocks->threads.  scratch [m + nb].  False: the pattern is
 * another one, and a is not there. */
bool perp_lcp_contact_scales(const perp_blocks *blocks, double *a, double *scratch);

/* A slack that is less than that part of w is none; what that leaves of b is no beta where it is
 * less than that part of both. */
#define PERP_LCP_REST 0x1p-40
/* Largest numbers over all rows, in the terms of lcp.h: r_i, |lambda_i|, beta_i / a_i, |b_i| / a_i,
 * |clamp(0)|; where units are asked for unit_i times a_i r_i, a_i, beta_i, |b_i|, |w_i|; and the
 * least slack_i / a_i and unit_i slack_i, infinite where no row has one. */
typedef struct perp_lcp_extremes {
  double worst, size, data, alone, start;
  double left, stiff, force, given, moved;
  double rest, calm;
  double resting; /* largest r_i of rows with a slack */
  bool bad;       /* something is not finite: a maximum would lose a NaN */
} perp_lcp_extremes;
/* The scale D_b or B of the largest beta and the least slack, which is infinite where there is
 * none. */
double perp_lcp_scale_of(double most, double least);
/* Of plain numbers, by a team of F->threads.  O(n), no allocation. */
void perp_lcp_survey_residual(const perp_lcp *lcp, const double *a, const double *lambda,
                              const double *w, bool units, perp_lcp_extremes *out);
/* perp_lcp_rate of a factored problem with the row scales of perp_lcp_scales, most of which are not
 * needed for it and not computed: O(nnz) and a few rows.  *data may be more than that of
 * perp_lcp_rate, not less.  a [n] out: no scales, but what was used.  scratch [PERP_LCP_SCRATCH].
 * By a team of F->threads, the same bit by bit.  False: a diagonal vanishes, there are few rows, or
 * many that matter; take the two functions. */
bool perp_lcp_rate_factored(const perp_lcp *lcp, const double *lambda, const double *w, double *a,
                            double *scratch, double *rel, double *data);
/* data of a w with rounding. */
double perp_lcp_plain_data(const perp_lcp_extremes *extremes);

/* NaN for each figure. */
perp_lcp_judgement perp_lcp_no_judgement(void);
/* judge.c: is lambda, finite, solved at tol and lcp->tol_data?  a as perp_lcp_scales; w [n]: as
 * perp_lcp_product gives it. *residual (perp_lcp_residual), *data out: of this w where it tells
 * enough, otherwise exact (then a may be what scratch begins with, and is overwritten).  scratch
 * [PERP_LCP_SCRATCH].  PERP_CONVERGED, PERP_INACCURATE or PERP_UNDECIDED. */
perp_reason perp_lcp_decide(const perp_lcp *lcp, double tol, const double *a, const double *lambda,
                            const double *w, double *scratch, double *residual, double *data);

/* backward.c: own and own_data of lcp.h, from a w [n] that is exact but for its last digit (doubt
 * NULL), or off by share of |A||lambda| + |b| and by off [n] (NULL: none) in each row: then own
 * lies between least and most, own_data is an upper bound that counts every row, and ends where it
 * is `enough`.  scratch [PERP_LCP_SCRATCH].  As two products and two for each round of the data, of
 * which there are few; no allocation. */
typedef struct perp_lcp_doubt {
  double share, enough;
  const double *off;
} perp_lcp_doubt;
typedef struct perp_lcp_own {
  double least, most, data;
} perp_lcp_own;
void perp_lcp_backward(const perp_lcp *lcp, const double *lambda, const double *w,
                       const perp_lcp_doubt *doubt, double *scratch, perp_lcp_own *out);

/* small.c: of an answer to a problem of at most PERP_LCP_SMALL rows, none of them a circular cone,
 * that is not brief. Allocates where it is not plain in long double, up to 20 ms. */
perp_lcp_exists perp_lcp_small(const perp_lcp *lcp, const double *lambda);

/* D [n] out: the powers of two of a symmetric equilibration of dense A.  scratch [n]. */
void perp_lcp_equilibration(const perp_lcp *lcp, double *D, double *scratch);
/* *out = the problem in lambda' = lambda / D, with its data in A [n n], b, lo, hi, mu [n] and
 * without units; index arrays are shared with lcp. */
void perp_lcp_rescale(const perp_lcp *lcp, const double *D, double *A, double *b, double *lo,
                      double *hi, double *mu, perp_lcp *out);

/* Row i of J M^-1 J' + S, of group g, into acc [m], zeros where nothing else is.  In the loops over
 * all rows of the judge. */
static inline __attribute__((always_inline)) void perp_lcp_long_row(const perp_blocks *blocks,
                                                                    int g, int i, long double *acc)
{
  const int r = blocks->cptr[g + 1] - blocks->cptr[g], l = i - blocks->cptr[g];
  acc[i] = blocks->s != NULL ? blocks->s[i] : 0;
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *G = blocks->J + blocks->joff[k];
    int step;
    const double *W = perp_lcp_inverse(blocks, b, &step);
    for (int c = 0; c < d; c++) {
      long double y = 0;
      if (step > 0)
        y = (long double)W[step * c] * G[l + c * r];
      else
        for (int s = 0; s < d; s++) y += (long double)W[c + s * d] * G[l + s * r];
      for (int t = blocks->tptr[b]; y != 0 && t < blocks->tptr[b + 1]; t++) {
        const int u = blocks->tsub[t], col = blocks->cptr[blocks->jgrp[u]],
                  ru = blocks->cptr[blocks->jgrp[u] + 1] - col;
        const double *H = blocks->J + blocks->joff[u];
        for (int j = 0; j < ru; j++) acc[col + j] += H[j + c * ru] * y;
      }
    }
  }
}

#endif
