/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dynamic friction on the acceleration level (Loetstedt 1981, 1984; Vondrak 2005, section 6.5.3).
 *
 * Where a contact slides, the direction d of its friction is known, and so is its size in terms of
 * the normal force: lambda_t = -mu lambda_n d.  Its tangential rows are no conditions any more; the
 * contact is one row, with a force along n - mu d but an acceleration along n:
 *
 *      w_n = (A_nn - mu A_nt d) lambda_n + ... + b_n >= 0  perp  lambda_n >= 0
 *
 *   column   exactly this.  A is no longer symmetric, and for large mu no longer positive: there
 * may be no solution, or two (Painleve).  For solvers that serve such matrices. iterate  symmetric
 * problems with the friction of the lambda_n before on the right-hand side, until lambda_n does not
 * change.  Converges linearly where mu |A_nt d| is below A_nn (one contact); elsewhere it is
 * reported as PERP_MAX_ITER.  For solvers that serve symmetric matrices only. lagged   the first of
 * these only, with the guess as lambda_n: friction as an external force that the last evaluation
 * left, Loetstedt's approximation.  First order.
 *
 * The direction of the force: Vondrak 2005, eq. 6.38; STAR 2012, eq. 5, 6. */
#include "models/contact/laws/contact.h"

#include <math.h>
#include <string.h>

enum { PASSES_MOST = 400 };
static const double SAME = 1e-13; /* relative, of normal forces */

/* y += factor * column of A */
static void sliding_add_column(const perp_contact_island *island, int n, const double *A,
                               int column, double factor, double *y)
{
  const double *x = A + (size_t)column * (size_t)island->lda;
  if (factor == 0) return;
  for (int i = 0; i < n; i++) y[i] += factor * x[i];
}

/* lambda_t = -drag lambda_n where it slides */
static void sliding_set_friction(int nc, const perp_contact_sliding *s, const double *normal,
                                 double *impulse)
{
  const int r = s->rows;
  for (int c = 0; c < nc; c++)
    for (int k = 1; k < r; k++)
      if (s->drag[2 * c + k - 1] != 0) impulse[r * c + k] = -s->drag[2 * c + k - 1] * normal[c];
}

/* A_n <- A_n - A_t drag, in place */
static perp_status sliding_column(perp_ctx *ctx, const perp_contact_desc *desc, void *ws,
                                  const perp_contact_island *island,
                                  const perp_contact_sliding *sliding, double *impulse,
                                  double *slip, perp_contact_count *count)
{
  const int nc = island->nc, row = sliding->rows, n = row * nc + island->joints;
  double *normal = sliding->scratch; /* [nc] */
  for (int c = 0; c < nc; c++) {
    double *column = sliding->A + (size_t)(row * c) * (size_t)island->lda;
    for (int k = 1; k < row; k++) {
      const double drag = sliding->drag[2 * c + k - 1];
      sliding_add_column(island, n, sliding->A, row * c + k, -drag, column);
      if (drag != 0) impulse[row * c + k] = 0;
    }
    sliding->diag[row * c] = column[row * c];
  }
  PERP_TRY(desc->solve(ctx, ws, island, impulse, slip, count));
  for (int c = 0; c < nc; c++) normal[c] = impulse[row * c];
  sliding_set_friction(nc, sliding, normal, impulse);
  return PERP_OK;
}

/* A lambda_n = -b + A_t drag lambda_n of the pass before */
static perp_status sliding_iterate(perp_ctx *ctx, const perp_contact_desc *desc, void *ws,
                                   const perp_contact_island *island, const perp_contact_sliding *s,
                                   double *impulse, double *slip, perp_contact_count *count)
{
  const int nc = island->nc, r = s->rows, n = r * nc + island->joints;
  const int passes = s->rule == PERP_SLIDING_LAGGED ? 1 : PASSES_MOST;
  double *b = s->scratch, *normal = b + n; /* [n], [nc] */
  perp_contact_island changed = *island;
  changed.b = b;
  for (int pass = 1;; pass++) {
    memcpy(b, island->b, (size_t)n * sizeof *b);
    for (int c = 0; c < nc; c++) {
      normal[c] = impulse[r * c];
      for (int k = 1; k < r; k++) {
        const double drag = s->drag[2 * c + k - 1];
        sliding_add_column(island, n, s->A, r * c + k, -drag * normal[c], b);
        if (drag != 0) impulse[r * c + k] = 0;
      }
    }
    PERP_TRY(desc->solve(ctx, ws, &changed, impulse, slip, count));
    if (s->rule == PERP_SLIDING_LAGGED) break;
    double largest = 0, change = 0;
    for (int c = 0; c < nc; c++) {
      largest = fmax(largest, fabs(impulse[r * c]));
      change = fmax(change, fabs(impulse[r * c] - normal[c]));
    }
    if (change <= SAME * largest) break;
    if (pass < passes && isfinite(change)) continue;
    count->problems++; /* the one with friction, whose parts may all be solved */
    count->failures++;
    count->failed[-PERP_MAX_ITER]++;
    break;
  }
  sliding_set_friction(nc, s, normal, impulse);
  return PERP_OK;
}

perp_status perp_contact_solve_sliding(perp_ctx *ctx, const perp_contact_desc *desc, void *ws,
                                       const perp_contact_island *island,
                                       const perp_contact_sliding *sliding, double *impulse,
                                       double *slip, perp_contact_count *count)
{
  return sliding->rule == PERP_SLIDING_COLUMN
             ? sliding_column(ctx, desc, ws, island, sliding, impulse, slip, count)
             : sliding_iterate(ctx, desc, ws, island, sliding, impulse, slip, count);
}
