/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic friction on the acceleration level (Loetstedt 1981, 1984; Vondrak 2005, section 6.5.3).
 *
 * Where a contact slides, the direction d of its friction is known, and so is its size in terms of the
 * normal force: lambda_t = -mu lambda_n d.  Its tangential rows are no conditions any more; the contact is
 * one row, with a force along n - mu d but an acceleration along n:
 *
 *      w_n = (A_nn - mu A_nt d) lambda_n + ... + b_n >= 0  perp  lambda_n >= 0
 *
 *   column   exactly this.  A is no longer symmetric, and for large mu no longer positive: there may be no
 *            solution, or two (Painleve).  For solvers that serve such matrices.
 *   iterate  symmetric problems with the friction of the lambda_n before on the right-hand side, until lambda_n
 *            does not change.  Converges linearly where mu |A_nt d| is below A_nn (one contact);
 *            elsewhere it is reported as PERP_MAX_ITER.  For solvers that serve symmetric matrices only.
 *   lagged   the first of these only, with the guess as lambda_n: friction as an external
 *            force that the last evaluation left, Loetstedt's approximation.  First order.
 *
 * The direction of the force: Vondrak 2005, eq. 6.38; STAR 2012, eq. 5, 6. */
#include "models/contact/contact.h"

#include <math.h>
#include <string.h>

enum { PASSES_MOST = 400 };
static const double SAME = 1e-13; /* relative, of normal forces */

/* y += factor * column of A */
static void add_column(const perp_contact_island *island, int n, const double *A, int column,
                       double factor, double *y)
{
  const double *x = A + (size_t)column * (size_t)island->lda;
  if (factor == 0) return;
  for (int i = 0; i < n; i++) y[i] += factor * x[i];
}

/* the friction that goes with the normal forces */
static void add_friction(const perp_contact_island *island, int rows, const double *drag,
                         const double *normal, double *impulse)
{
  for (int c = 0; c < island->nc; c++)
    for (int k = 1; k < rows; k++)
      if (drag[2 * c + k - 1] != 0) impulse[rows * c + k] = -drag[2 * c + k - 1] * normal[c];
}

perp_status perp_contact_solve_sliding(perp_ctx *ctx, const perp_contact_desc *desc, void *ws,
                                       const perp_contact_island *island, int rows, int rule,
                                       const double *drag, double *A, double *diag, double *scratch,
                                       double *impulse, double *slip, perp_contact_count *count)
{
  const int nc = island->nc, n = rows * nc + island->joints;
  perp_contact_island changed = *island;
  double *const normal = scratch + n; /* [nc] */
  if (rule == PERP_SLIDING_COLUMN) {
    for (int c = 0; c < nc; c++) {
      for (int k = 1; k < rows; k++) {
        double *column = A + (size_t)(rows * c) * (size_t)island->lda;
        add_column(island, n, A, rows * c + k, -drag[2 * c + k - 1], column);
        if (drag[2 * c + k - 1] != 0) impulse[rows * c + k] = 0;
      }
      diag[rows * c] = A[(size_t)(rows * c) * (size_t)(island->lda + 1)];
    }
    PERP_TRY(desc->solve(ctx, ws, &changed, impulse, slip, count));
    for (int c = 0; c < nc; c++) normal[c] = impulse[rows * c];
    add_friction(island, rows, drag, normal, impulse);
    return PERP_OK;
  }
  changed.b = scratch;
  const int passes = rule == PERP_SLIDING_LAGGED ? 1 : PASSES_MOST;
  for (int pass = 0; pass < passes; pass++) {
    double largest = 0, change = 0;
    memcpy(scratch, island->b, (size_t)n * sizeof *scratch);
    for (int c = 0; c < nc; c++) {
      normal[c] = impulse[rows * c];
      for (int k = 1; k < rows; k++) {
        const double mu = drag[2 * c + k - 1];
        add_column(island, n, A, rows * c + k, -mu * normal[c], scratch);
        if (mu != 0) impulse[rows * c + k] = 0;
      }
    }
    PERP_TRY(desc->solve(ctx, ws, &changed, impulse, slip, count));
    if (rule == PERP_SLIDING_LAGGED) break;
    for (int c = 0; c < nc; c++) {
      largest = fmax(largest, fabs(impulse[rows * c]));
      change = fmax(change, fabs(impulse[rows * c] - normal[c]));
    }
    if (change <= SAME * largest) break;
    if (pass + 1 < passes && isfinite(change)) continue;
    count->problems++; /* the one with friction, whose parts may all be solved */
    count->failures++;
    count->failed[-PERP_MAX_ITER]++;
    break;
  }
  add_friction(island, rows, drag, normal, impulse);
  return PERP_OK;
}
