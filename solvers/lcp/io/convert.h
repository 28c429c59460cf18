/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversions between kinds of complementarity problems, with their exact conditions. */
#ifndef PERP_LCP_CONVERT_H
#define PERP_LCP_CONVERT_H

#include "solvers/lcp/problem.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Friction rows -> the frictional LCP of Stewart-Trinkle / Anitescu-Potra with a polyhedral cone.
 *
 * A contact is a normal row and its one or two friction rows (pairs of a cone, or two box rows of
 * one normal row that follow each other, with one mu).  The tangential multiplier becomes lambda_T
 * = sum_k beta_k d_k, beta >= 0, over n_d directions at equal angles (+-1 for a single row), with
 *
 *      w_beta  = D'u_T + e gamma         >= 0   complementary to beta
 *
 *      w_gamma = mu lambda_n - e'beta    >= 0   complementary to gamma
 *
 * Rows of the result: all rows that are not friction rows in their order, then the n_d beta of
 * every contact, then one gamma a contact.  A becomes nonsymmetric; it is copositive when A was
 * PSD, so that Lemke's method ends in a solution when b'lambda >= 0 for every lambda >= 0 with
 * lambda'A lambda = 0.
 *
 * Exact: a solution is a solution of Coulomb friction with the polyhedral cone, which lies inside
 * the circular one and touches it in the n_d directions.  It is not the box |lambda_T,k| <= mu
 * lambda_n. n_d 3 ... 64, even or odd (2 for single rows whatever n_d says).  A known solution is
 * carried over when it has no friction and no slip.  PERP_ERR_ARG: n_d; PERP_ERR_UNSUPPORTED: p is
 * not dense; PERP_ERR_NOMEM.  O(rows^2) of the result. */
perp_status perp_lcp_pyramid(perp_ctx *ctx, const perp_lcp_problem *problem, int n_d,
                             perp_lcp_problem *out);
/* lambda [lcp->n] of the friction problem from z of its pyramid. */
void perp_lcp_pyramid_back(const perp_lcp *lcp, int n_d, const double *z, double *lambda);

/* Circular cones -> boxes |lambda_i| <= factor mu lambda_n on each friction row.  factor = 1: the
 * box around the disc, friction up to sqrt(2) too large on its diagonals; factor = 1 / sqrt(2): the
 * box inside it.  A single friction row a contact (the plane) is a box already and stays exact.  No
 * known solution is carried over.  PERP_ERR_ARG: factor not in (0, 1]; PERP_ERR_NOMEM. */
perp_status perp_lcp_boxes(perp_ctx *ctx, const perp_lcp_problem *problem, double factor,
                           perp_lcp_problem *out);

/* Any boxed problem -> a pure LCP  u = A' z + b',  0 <= z, u complementary.
 *
 *   lo finite, hi = inf       z = lambda - lo
 *   lo = -inf, hi finite      z = hi - lambda, row and column change sign
 *   both finite, lo < hi      z = lambda - lo and a second variable y, the multiplier of the upper
 * bound: w = u - y,  0 <= y complementary to hi - lo - z >= 0 lo = hi                   substituted
 *   free                      eliminated, lambda_f = -A_ff^-1 (A_fc lambda_c + b_f), where the
 * reciprocal condition of A_ff is above 1e-12; else split, lambda = p - q with rows w and -w, which
 * is exact for every A_ff but doubles its rank deficiency
 *
 * Exact: solutions correspond one to one (up to p, q).  A PSD gives A' PSD, a P-matrix without
 * two-sided rows a P-matrix; two-sided rows bring zero diagonals and asymmetry.
 * PERP_ERR_UNSUPPORTED: friction rows (convert them before), or p is not dense; PERP_ERR_NOMEM.
 * *map is owned by the caller, NULL on failure.  O(n^3) with free rows, else O(n^2). */
typedef struct perp_lcp_map perp_lcp_map;
perp_status perp_lcp_pure(perp_ctx *ctx, const perp_lcp_problem *problem, perp_lcp_problem *out,
                          perp_lcp_map **map);
/* lambda [p->n] from z. */
void perp_lcp_map_back(const perp_lcp_map *map, const double *z, double *lambda);
void perp_lcp_map_free(perp_lcp_map *map);

#ifdef __cplusplus
}
#endif

#endif
