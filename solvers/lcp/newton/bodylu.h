/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse factorization of matrices with the pattern of  H = M + J' W J  in the space of velocities.
 *
 * When the rows of  [ M  J_F' ; J_F  -D_F ]  with D > 0 are eliminated first, what is left of the
 * KKT matrix is H = M + J_F' D_F^-1 J_F, whatever the set F: one pattern, analysed once, serves
 * every step of a Newton or interior point method.  Blocks that no group joins are not coupled;
 * columns of J that are zero throughout a block (and decoupled in M) are left out of the matrix.
 *
 * Analysis: CHOLMOD orders the graph of the blocks (AMD, or METIS where AMD fills in badly);
 * supernodes are runs of blocks with nested structure.  Numeric: left-looking supernodal, dense
 * panels, LL' for a symmetric positive definite H, or LU with pivoting inside the diagonal panels
 * for an unsymmetric H of the same pattern (friction).  Factor and solve allocate nothing. */
#ifndef PERP_LCP_BODYLU_H
#define PERP_LCP_BODYLU_H

#include "solvers/core/core.h"
#include "solvers/linalg/blocks.h"

typedef struct perp_bodylu perp_bodylu;

/* An empty factorization; analyse() gives it a pattern. */
perp_status perp_bodylu_create(perp_ctx *ctx, perp_bodylu **out);
void perp_bodylu_destroy(perp_bodylu *bodylu);

/* Make the pattern of F current.  Returns at once when it is the one before (O(nnz(J)) comparison
 * and copy of the values of J); otherwise orders and allocates.  unsymmetric: also keep room for
 * LU. */
perp_status perp_bodylu_analyse(perp_ctx *ctx, perp_bodylu *bodylu, const perp_blocks *blocks,
                                bool unsymmetric);

/* H = M + sum_i omega_i J_i' J_i + sum_i sigma_i J_i' J_n(i)  and its factorization.
 * omega [m] >= 0; sigma [m] and of [m] (row n(i), same group as i), or NULL.  False when a pivot is
 * not positive (symmetric), zero or not finite. */
bool perp_bodylu_factor(perp_bodylu *bodylu, const perp_blocks *blocks, const double *omega,
                        const double *sigma, const int *of);
/* The vectors below are in the reduced, permuted order of the factor: perp_bodylu_N numbers. */
int perp_bodylu_N(const perp_bodylu *bodylu);
/* f = J' x, x [m]; y -= J f, y [m], with the values of J as they were at the analysis. */
void perp_bodylu_Jt(const perp_bodylu *bodylu, const double *x, double *f);
void perp_bodylu_J(const perp_bodylu *bodylu, const double *f, double *y);
/* H x = f, in place. */
void perp_bodylu_solve(const perp_bodylu *bodylu, double *f);
/* Multiplications with additions of the last factorization. */
double perp_bodylu_work(const perp_bodylu *bodylu);
/* Entries of the factor, for reports. */
size_t perp_bodylu_nnz(const perp_bodylu *bodylu);

#endif
