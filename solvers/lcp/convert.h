/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Conversions between kinds of complementarity problems, with their exact conditions. */
#ifndef PERP_LCP_CONVERT_H
#define PERP_LCP_CONVERT_H

#include "solvers/lcp/problem.h"

/* Friction rows -> the frictional LCP of Stewart-Trinkle / Anitescu-Potra with a polyhedral cone.
 *
 * A contact is a normal row and its one or two friction rows (pairs of a cone, or two box rows of one
 * normal row that follow each other, with one mu).  The tangential multiplier becomes
 * lambda_T = sum_k beta_k d_k, beta >= 0, over n_d directions at equal angles (+-1 for a single row), with
 *      w_beta  = D'u_T + e gamma         >= 0   complementary to beta,
 *      w_gamma = mu lambda_n - e'beta    >= 0   complementary to gamma.
 * Rows of the result: all rows that are not friction rows in their order, then the n_d beta of every
 * contact, then one gamma a contact.  A becomes nonsymmetric; it is copositive when A was PSD, so that
 * Lemke's method ends in a solution when b'lambda >= 0 for every lambda >= 0 with lambda'A lambda = 0.
 *
 * Exact: a solution is a solution of Coulomb friction with the polyhedral cone, which lies inside the
 * circular one and touches it in the n_d directions.  It is not the box |lambda_T,k| <= mu lambda_n.
 * n_d even, 4 ... 64 (2 for single rows whatever n_d says).  p must be dense.  A known solution is carried
 * over when it has no friction and no slip. */
perp_status perp_lcp_pyramid(perp_ctx *ctx, const perp_lcp_problem *p, int n_d,
                             perp_lcp_problem *out);
/* lambda [p->n] of the friction problem from z of its pyramid. */
void perp_lcp_pyramid_back(const perp_lcp *p, int n_d, const double *z, double *lambda);

#endif
