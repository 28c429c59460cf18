/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Friction of Stewart-Trinkle rows as the quadratic program (83)-(84) of STAR 2012, section 4.3.4:
 * with the normal impulses as they are,
 *
 *      min  1/2 x' A x + c' x,     x >= 0,     f_k' x_k <= mu_k lambda_k     for the directions x_k
 * of each contact k
 *
 * (least kinetic energy), by projected gradients with the acceleration of Nesterov, started anew
 * where it leads uphill (Beck and Teboulle 2009; O'Donoghue and Candes 2015).  D_k, the largest sum
 * of |A_ij| over a row of contact k, makes D - A positive semidefinite, so that x - g / D,
 * projected, never raises the energy.  The projection on the simplex of a contact is max(z - tau f,
 * 0), with tau by Newton's method on a convex function of straight pieces, which ends.  The slack
 * of the LCP is the multiplier of the simplex, beta_k = D_k tau_k.
 *
 * Needs A positive semidefinite and columns e = f of the slacks.  Linear where the solution is not
 * degenerate; slow for coupled contacts of very different masses.  Cost: one product with A_TT an
 * iteration.  No allocation. */
#include "solvers/lcp/composite/staggered_parts.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 20000 };

/* x = argmin |x - z| over x >= 0, f'x <= limit, on the rows at [n]; the multiplier tau */
static double staggered_qp_project(int n, const int *at, const double *f, double limit, double *z)
{
  double tau = 0;
  for (int round = 0; round <= n + 2; round++) {
    double sum = -limit, slope = 0;
    for (int i = 0; i < n; i++) {
      const double x = z[at[i]] - tau * f[at[i]];
      if (x > 0) sum += f[at[i]] * x, slope += f[at[i]] * f[at[i]];
    }
    if (!(sum > 4 * DBL_EPSILON * limit) || !(slope > 0)) break;
    tau += sum / slope;
  }
  for (int i = 0; i < n; i++) z[at[i]] = fmax(z[at[i]] - tau * f[at[i]], 0);
  return tau;
}

/* g = A y + b over the m rows of T without slacks, which have type 1 in `slack` */
static void staggered_qp_gradient(const perp_lcp *lcp, const signed char *slack, const double *y,
                                  double *g)
{
  memcpy(g, lcp->b, (size_t)lcp->n * sizeof *g);
  for (int j = 0; j < lcp->n; j++) {
    const double *column = lcp->A + (size_t)j * (size_t)lcp->lda, x = y[j];
    if (slack[j] || x == 0) continue;
    for (int i = 0; i < lcp->n; i++) g[i] += column[i] * x;
  }
}

bool perp_stagger_qp_fits(const perp_stagger *stagger, const perp_lcp *lcp)
{
  const perp_stewart *stewart = &stagger->contacts;
  for (int k = 0; k < stewart->contacts; k++) {
    const int slack = stewart->rows[stewart->ptr[k + 1] - 1];
    for (int i = stewart->ptr[k] + 1; i < stewart->ptr[k + 1] - 1; i++) {
      const double e = perp_lcp_entry(lcp, stewart->rows[i], slack),
                   f = -perp_lcp_entry(lcp, slack, stewart->rows[i]);
      if (fabs(e - f) > 1e-12 * fabs(e)) return false;
    }
  }
  return true;
}

/* Where the rows of T are: the directions of contact k are local[ptr[k] + 1] ... local[ptr[k + 1] -
 * 2]. */
static void staggered_qp_prepare(perp_stagger *stagger, const perp_lcp *lcp)
{
  const perp_stewart *stewart = &stagger->contacts;
  memset(stagger->slack, 0, (size_t)lcp->n);
  for (int k = 0; k < stewart->contacts; k++)
    for (int i = stewart->ptr[k] + 1; i < stewart->ptr[k + 1]; i++)
      stagger->local[i] = stagger->place[stewart->rows[i]];
  for (int k = 0; k < stewart->contacts; k++)
    stagger->slack[stagger->local[stewart->ptr[k + 1] - 1]] = 1;
  for (int k = 0; k < stewart->contacts; k++) {
    const int slack = stagger->local[stewart->ptr[k + 1] - 1];
    double most = 0;
    for (int i = stewart->ptr[k] + 1; i < stewart->ptr[k + 1] - 1; i++) {
      const int row = stagger->local[i];
      double sum = 0;
      for (int j = 0; j < lcp->n; j++)
        if (!stagger->slack[j]) sum += fabs(lcp->A[(size_t)row + (size_t)j * (size_t)lcp->lda]);
      most = fmax(most, sum);
      stagger->f[row] = lcp->A[(size_t)row + (size_t)slack * (size_t)lcp->lda];
    }
    stagger->bound[k] = most;
  }
}

void perp_stagger_qp(perp_stagger *stagger, const perp_lcp *lcp, double impulse, double data,
                     double *x, perp_stats *stats, bool *good)
{
  const perp_stewart *stewart = &stagger->contacts;
  const size_t bytes = (size_t)lcp->n * sizeof *x;
  double momentum = 1;
  bool done = false;
  staggered_qp_prepare(stagger, lcp);
  memcpy(stagger->z, x, bytes);
  for (int round = 0; round < MOST && !done; round++) {
    staggered_qp_gradient(lcp, stagger->slack, stagger->z, stagger->g);
    double uphill = 0, left = 0, left_data = 0;
    for (int k = 0; k < stewart->contacts; k++) {
      const int first = stewart->ptr[k] + 1, n = stewart->ptr[k + 1] - 1 - first,
                *at = stagger->local + first;
      const int slack = at[n];
      const double D = stagger->bound[k];
      for (int i = 0; i < n; i++) {
        stagger->last[at[i]] = x[at[i]];
        x[at[i]] = stagger->z[at[i]] - (D > 0 ? stagger->g[at[i]] / D : 0);
      }
      const double tau = staggered_qp_project(n, at, stagger->f, fmax(lcp->b[slack], 0), x);
      x[slack] = D * tau;
      for (int i = 0; i < n; i++) {
        const double change = D * (stagger->z[at[i]] - x[at[i]]);
        uphill += change * (x[at[i]] - stagger->last[at[i]]);
        left = fmax(left, D > 0 ? fabs(change) / D : 0);
        left_data = fmax(left_data, fabs(change) * (lcp->unit != NULL ? lcp->unit[at[i]] : 1));
      }
    }
    done = left <= impulse && (data == 0 || left_data <= data);
    const double next = uphill > 0 ? 1 : 0.5 * (1 + sqrt(1 + 4 * momentum * momentum));
    const double part = uphill > 0 ? 0 : (momentum - 1) / next;
    for (int i = 0; i < lcp->n; i++)
      if (!stagger->slack[i]) stagger->z[i] = x[i] + part * (x[i] - stagger->last[i]);
    momentum = next;
    stats->matvecs++;
    stats->work += (double)lcp->n * lcp->n;
    if (perp_lcp_spent(stagger->rows.p, stats->work + stagger->rows.work)) break;
  }
  *good = *good && done;
}
