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
static void staggered_qp_gradient(const perp_lcp *q, const signed char *slack, const double *y,
                                  double *g)
{
  memcpy(g, q->b, (size_t)q->n * sizeof *g);
  for (int j = 0; j < q->n; j++) {
    const double *column = q->A + (size_t)j * (size_t)q->lda, x = y[j];
    if (slack[j] || x == 0) continue;
    for (int i = 0; i < q->n; i++) g[i] += column[i] * x;
  }
}

bool perp_stagger_qp_fits(const perp_stagger *S, const perp_lcp *p)
{
  const perp_stewart *c = &S->contacts;
  for (int k = 0; k < c->contacts; k++) {
    const int slack = c->rows[c->ptr[k + 1] - 1];
    for (int i = c->ptr[k] + 1; i < c->ptr[k + 1] - 1; i++) {
      const double e = perp_lcp_entry(p, c->rows[i], slack),
                   f = -perp_lcp_entry(p, slack, c->rows[i]);
      if (fabs(e - f) > 1e-12 * fabs(e)) return false;
    }
  }
  return true;
}

/* Where the rows of T are: the directions of contact k are local[ptr[k] + 1] ... local[ptr[k + 1] -
 * 2]. */
static void staggered_qp_prepare(perp_stagger *S, const perp_lcp *q)
{
  const perp_stewart *c = &S->contacts;
  memset(S->slack, 0, (size_t)q->n);
  for (int k = 0; k < c->contacts; k++)
    for (int i = c->ptr[k] + 1; i < c->ptr[k + 1]; i++) S->local[i] = S->place[c->rows[i]];
  for (int k = 0; k < c->contacts; k++) S->slack[S->local[c->ptr[k + 1] - 1]] = 1;
  for (int k = 0; k < c->contacts; k++) {
    const int slack = S->local[c->ptr[k + 1] - 1];
    double most = 0;
    for (int i = c->ptr[k] + 1; i < c->ptr[k + 1] - 1; i++) {
      const int row = S->local[i];
      double sum = 0;
      for (int j = 0; j < q->n; j++)
        if (!S->slack[j]) sum += fabs(q->A[(size_t)row + (size_t)j * (size_t)q->lda]);
      most = fmax(most, sum);
      S->f[row] = q->A[(size_t)row + (size_t)slack * (size_t)q->lda];
    }
    S->bound[k] = most;
  }
}

void perp_stagger_qp(perp_stagger *S, const perp_lcp *q, double impulse, double data, double *x,
                     perp_stats *stats, bool *good)
{
  const perp_stewart *c = &S->contacts;
  const size_t bytes = (size_t)q->n * sizeof *x;
  double momentum = 1;
  bool done = false;
  staggered_qp_prepare(S, q);
  memcpy(S->z, x, bytes);
  for (int round = 0; round < MOST && !done; round++) {
    staggered_qp_gradient(q, S->slack, S->z, S->g);
    double uphill = 0, left = 0, left_data = 0;
    for (int k = 0; k < c->contacts; k++) {
      const int first = c->ptr[k] + 1, n = c->ptr[k + 1] - 1 - first, *at = S->local + first;
      const int slack = at[n];
      const double D = S->bound[k];
      for (int i = 0; i < n; i++) {
        S->last[at[i]] = x[at[i]];
        x[at[i]] = S->z[at[i]] - (D > 0 ? S->g[at[i]] / D : 0);
      }
      const double tau = staggered_qp_project(n, at, S->f, fmax(q->b[slack], 0), x);
      x[slack] = D * tau;
      for (int i = 0; i < n; i++) {
        const double change = D * (S->z[at[i]] - x[at[i]]);
        uphill += change * (x[at[i]] - S->last[at[i]]);
        left = fmax(left, D > 0 ? fabs(change) / D : 0);
        left_data = fmax(left_data, fabs(change) * (q->unit != NULL ? q->unit[at[i]] : 1));
      }
    }
    done = left <= impulse && (data == 0 || left_data <= data);
    const double next = uphill > 0 ? 1 : 0.5 * (1 + sqrt(1 + 4 * momentum * momentum));
    const double part = uphill > 0 ? 0 : (momentum - 1) / next;
    for (int i = 0; i < q->n; i++)
      if (!S->slack[i]) S->z[i] = x[i] + part * (x[i] - S->last[i]);
    momentum = next;
    stats->matvecs++;
    stats->work += (double)q->n * q->n;
    if (perp_lcp_spent(S->rows.p, stats->work + S->rows.work)) break;
  }
  *good = *good && done;
}
