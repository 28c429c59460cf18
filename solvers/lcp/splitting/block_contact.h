/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One contact of Stewart and Trinkle alone: its normal, directions and slack, while all other rows
 * rest. */
#ifndef PERP_LCP_BLOCK_CONTACT_H
#define PERP_LCP_BLOCK_CONTACT_H

#include "solvers/lcp/rows/rows.h"

enum { PERP_BLOCK_DIRECTIONS = 64, PERP_BLOCK_ROWS = PERP_BLOCK_DIRECTIONS + 2 };
enum { PERP_BLOCK_ENUMERABLE = 10 }; /* rows of a contact whose index sets can be enumerated */

/* The block, set by the caller, and room to solve it. */
typedef struct perp_block_contact {
  int r;         /* rows: the normal, r - 2 directions, the slack */
  double lo, hi; /* of the normal, lo finite; the others have [0, inf) */
  double K[PERP_BLOCK_ROWS * PERP_BLOCK_ROWS]; /* [r r] column-major */
  double q[PERP_BLOCK_ROWS];
  signed char
      state[PERP_BLOCK_ROWS]; /* PERP_ROW_* of a basis to try first, and out: of the answer */
  double x[PERP_BLOCK_ROWS];  /* out */
  bool enumerate; /* index sets one after the other, r <= PERP_BLOCK_ENUMERABLE, in place of pivots
                   */
  int tried;      /* out: bases that were solved for; 1: the given one, or the open contact */
  /* of the pivots: dictionary by rows, the last two columns that of the covering vector and the
   * constants */
  double T[(PERP_BLOCK_ROWS + 1) * (PERP_BLOCK_ROWS + 3)];
  double d[PERP_BLOCK_ROWS + 1];
  int basic[PERP_BLOCK_ROWS + 1], nonbasic[PERP_BLOCK_ROWS + 2], where[2 * PERP_BLOCK_ROWS + 3];
} perp_block_contact;

/* Solve   w = K x + q,   x between its bounds and complementary to w,
 *
 *          [ K_nn  K_nt  0 ]
 *      K = [ K_tn  K_tt  e ],   e, f > 0, mu >= 0.
 *          [  mu   -f'   0 ]
 *
 * Where the block of normal and directions is positive definite, e = f but for a factor and q_s +
 * mu lo >= 0 (a physical contact: q_s = 0), K is copositive and Lemke's path ends in a solution
 * (Cottle, Pang and Stone 1992, theorem 4.4.13); as well where it is semidefinite with q in its
 * range (opposite directions).  Tried in this order: the basis in contact->state; the open contact;
 * the path, ties by the lexico-minimum ratio, bases of the answer once more by elimination.
 * contact->enumerate: in place of the path all index sets, of which STAR 2012, section 4.3.3
 * speaks: up to 3 2^(r-1) of them.
 *
 * lo = hi: x_n is given, w_n may be anything; the block of directions and slack alone is solved.
 *
 * A contact that can carry no friction (mu x_n + q_s = 0) has any larger slack as well: it gets the
 * least one. False: no solution found, contact->x and contact->state are then undefined; or K has a
 * row that cannot be read as above. The basis of the last time costs O(m^3 + m r), m its number of
 * free rows; a pivot O(r^2); no allocation. */
bool perp_block_contact_solve(perp_block_contact *contact);

/* The contact `row` [r] (as in stewart.h) of a dense problem in lambda, with  b' = b + sum of A_ij
 * lambda_j  over all other rows j, and the prepared rows R kept up to date.  omega: relaxation of
 * normal and directions, which stay within their bounds and  sum f x_t <= mu x_n + b_s;  the slack
 * is not relaxed.  state: index sets by rows of the problem, in and out; b: room.  Returns the
 * largest change; -1: no solution found, nothing is changed.  O(r n) beside the block. */
double perp_block_contact_step(perp_block_contact *contact, perp_rows *rows, const int *row, int r,
                               double omega, signed char *state, double *lambda);
/* Bring the directions of that contact within  sum f x_t <= mu x_n + b_s  by one factor, in lambda
 * alone. */
void perp_block_contact_limit(const perp_rows *rows, const int *row, int r, double *lambda);

#endif
