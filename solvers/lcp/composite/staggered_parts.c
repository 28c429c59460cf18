/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/composite/staggered_parts.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void stagger_layout(void *ws, perp_arena *arena)
{
  perp_stagger *stagger = ws;
  const size_t n = (size_t)stagger->max_n;
  double **const v[] = { &stagger->lo,     &stagger->hi,   &stagger->b,
                         &stagger->lambda, &stagger->unit, &stagger->y };
  for (size_t k = 0; k < sizeof v / sizeof *v; k++) *v[k] = PERP_CARVE(arena, double, n);
  stagger->contacts.ptr = PERP_CARVE(arena, int, n + 1);
  PERP_INTS(arena, n, &stagger->contacts.rows, &stagger->contacts.home, &stagger->index);
  stagger->second = PERP_CARVE(arena, signed char, n);
  const size_t qp = stagger->qp ? n : 0;
  PERP_INTS(arena, qp, &stagger->place, &stagger->local);
  stagger->slack = PERP_CARVE(arena, signed char, qp);
  PERP_DOUBLES(arena, qp, &stagger->f, &stagger->z, &stagger->g, &stagger->last, &stagger->bound);
}

void perp_stagger_close(perp_stagger *stagger)
{
  perp_stagger_part *parts[] = { &stagger->normal, &stagger->boxes, &stagger->cones,
                                 &stagger->pyramids };
  for (int k = 0; k < 4; k++) {
    perp_lcp_destroy(parts[k]->s);
    perp_spec_free(&parts[k]->spec);
  }
  perp_rows_close(&stagger->rows);
  perp_arena_free(&stagger->arena);
  free(stagger->A);
}

static perp_status stagger_part(perp_ctx *ctx, perp_stagger_part *part, const char *text)
{
  PERP_TRY(perp_spec_parse(ctx, PERP_KIND_lcp, text, &part->spec));
  const char *name = part->spec.d->name;
  if (strcmp(name, "staggered") == 0 || strcmp(name, "auto") == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "staggered: '%s' cannot solve its normal or friction problem; use "
                     "minmap-newton, for example",
                     name);
  return PERP_OK;
}

/* solvers for max_nv columns; the one of Stewart-Trinkle friction is made with the first such
 * problem */
static perp_status stagger_solvers(perp_ctx *ctx, perp_stagger *stagger, int max_nv)
{
  perp_stagger_part *parts[] = { &stagger->normal, &stagger->boxes, &stagger->cones };
  for (int k = 0; k < 3; k++) {
    perp_lcp_destroy(parts[k]->s);
    parts[k]->s = NULL;
    PERP_TRY(perp_lcp_create(ctx, &parts[k]->spec, stagger->max_n, max_nv, &parts[k]->s));
  }
  stagger->max_nv = max_nv;
  return PERP_OK;
}

perp_status perp_stagger_open(perp_ctx *ctx, perp_stagger *stagger, int max_n, const char *normal,
                              const char *friction, bool qp)
{
  stagger->max_n = max_n;
  stagger->qp = qp;
  if (qp && friction[0] != '\0')
    return PERP_FAIL(ctx, PERP_ERR_OPTION,
                     "staggered: qp=true solves the friction problem itself: leave out friction=%s",
                     friction);
  PERP_TRY(stagger_part(ctx, &stagger->normal, normal));
  PERP_TRY(stagger_part(ctx, &stagger->boxes, friction[0] ? friction : "minmap-newton"));
  PERP_TRY(stagger_part(ctx, &stagger->cones, friction[0] ? friction : "cone-newton"));
  PERP_TRY(stagger_part(ctx, &stagger->pyramids, friction[0] ? friction : "lemke"));
  PERP_TRY(stagger_solvers(ctx, stagger, 0));
  PERP_TRY(perp_arena_layout(ctx, &stagger->arena, stagger_layout, stagger));
  return perp_rows_open(ctx, &stagger->rows, max_n);
}

/* ---- which rows ---- */

/* A_NN and, behind it, A_TT (with the slacks). */
static perp_status stagger_copy(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp)
{
  const size_t n = (size_t)lcp->n, N = (size_t)stagger->first, T = n - N, need = N * N + T * T;
  if (need > stagger->cap_A) {
    free(stagger->A);
    stagger->cap_A = 0;
    stagger->A = malloc(need * sizeof *stagger->A);
    if (stagger->A == NULL)
      return PERP_FAIL(ctx, PERP_ERR_NOMEM, "staggered: no memory for %d rows", lcp->n);
    stagger->cap_A = need;
  }
  double *to = stagger->A;
  for (size_t j = 0; j < n; j++) {
    const double *column = lcp->A + (size_t)stagger->index[j] * (size_t)lcp->lda;
    const size_t from = j < N ? 0 : N, end = j < N ? N : n;
    for (size_t i = from; i < end; i++) *to++ = column[stagger->index[i]];
  }
  return PERP_OK;
}

/* The rows of Stewart-Trinkle contacts, by part. */
static perp_status stagger_contacts(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp,
                                    perp_stats *stats)
{
  const perp_stewart *stewart = &stagger->contacts;
  const perp_desc *friction = stagger->pyramids.spec.d;
  if (stagger->rows.friction) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered does not serve Stewart-Trinkle rows and friction rows in one problem; use "
              "one kind only");
    return PERP_OK;
  }
  if (stagger->qp && !perp_stagger_qp_fits(stagger, lcp)) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: qp=true needs slacks with the same coefficients in rows and columns; use "
              "qp=false");
    return PERP_OK;
  }
  if (!stagger->qp && !(friction->caps & PERP_LCP_NONSYMMETRIC)) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: friction=%s does not serve Stewart-Trinkle rows, whose friction problem "
              "is not symmetric; use friction=lemke",
              friction->name);
    return PERP_OK;
  }
  for (int k = 0; k < stewart->contacts; k++)
    for (int i = stewart->ptr[k] + 1; i < stewart->ptr[k + 1]; i++)
      stagger->second[stewart->rows[i]] = 1;
  stagger->first = 0;
  for (int i = 0; i < lcp->n; i++)
    if (!stagger->second[i]) stagger->index[stagger->first++] = i;
  for (int i = 0, at = stagger->first; i < lcp->n; i++)
    if (stagger->second[i]) {
      if (stagger->qp) stagger->place[i] = at - stagger->first;
      stagger->index[at++] = i;
    }
  if (stagger->pyramids.s == NULL && !stagger->qp)
    PERP_TRY(
        perp_lcp_create(ctx, &stagger->pyramids.spec, stagger->max_n, 0, &stagger->pyramids.s));
  return stagger_copy(ctx, stagger, lcp);
}

perp_status perp_stagger_prepare(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp,
                                 perp_stats *stats)
{
  PERP_TRY(perp_rows_prepare(ctx, &stagger->rows, lcp, 1));
  if (lcp->F != NULL && lcp->F->nv > stagger->max_nv)
    PERP_TRY(stagger_solvers(ctx, stagger, lcp->F->nv));
  PERP_TRY(perp_stewart_find(ctx, lcp, &stagger->contacts));
  for (int i = 0; i < lcp->n; i++) stagger->second[i] = stagger->rows.type[i] != PERP_ROW_BOUNDED;
  if (stagger->contacts.unclear) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: rows with a zero on the diagonal cannot be assigned to a contact; "
              "specify the contacts (contact_of) or use lemke");
    return PERP_OK;
  }
  return stagger->contacts.contacts > 0 ? stagger_contacts(ctx, stagger, lcp, stats) : PERP_OK;
}

/* ---- one round ---- */

static perp_status stagger_solve(perp_ctx *ctx, const perp_stagger *stagger,
                                 const perp_stagger_part *part, const perp_lcp *lcp, double tol,
                                 double *lambda, perp_stats *stats, bool *good)
{
  const double whole = stagger->rows.p->work;
  perp_lcp limited = *lcp;
  perp_stats inner;
  limited.work = whole > 0 ? fmax(whole - stats->work - stagger->rows.work, 1) : 0;
  PERP_TRY(perp_lcp_solve(ctx, part->s, &limited, tol, lambda, NULL, NULL, &inner));
  stats->matvecs += inner.matvecs;
  stats->work += inner.work;
  stats->factorizations += inner.factorizations;
  *good = *good && inner.reason == PERP_CONVERGED;
  if (inner.reason == PERP_UNSUITED) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK,
              "staggered: %s does not serve the %s problem; choose another solver for it",
              part->spec.d->name, part == &stagger->normal ? "normal" : "friction");
  }
  return PERP_OK;
}

/* Part k of a Stewart-Trinkle problem (0: N, 1: T).  tol is relative to the whole, what its solver
 * is asked for to the part, whose b is another. */
static perp_status stagger_stewart(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *lcp, int k,
                                   double tol, double *lambda, perp_stats *stats, bool *good)
{
  const perp_rows *rows = &stagger->rows;
  const int n = lcp->n, m = k ? n - stagger->first : stagger->first;
  const int *row = stagger->index + (k ? stagger->first : 0);
  if (m == 0) return PERP_OK;
  double size = rows->bnorm, part = 0, data = 0, part_data = 0;
  for (int i = 0; i < n; i++) {
    stagger->y[i] = stagger->second[i] == k ? 0 : lambda[i];
    size = fmax(size, fabs(lambda[i]));
    data = fmax(data, fabs(lcp->b[i]) * (lcp->unit != NULL ? lcp->unit[i] : 1));
  }
  perp_rows_A(&stagger->rows, stagger->y, stagger->b);
  stats->matvecs++;
  for (int i = 0; i < m; i++) { /* ascending, so that the places read are not yet overwritten */
    const int r = row[i];
    stagger->b[i] = stagger->b[r] + lcp->b[r];
    stagger->lambda[i] = lambda[r];
    stagger->lo[i] = rows->lo[r];
    stagger->hi[i] = rows->hi[r];
    stagger->unit[i] = lcp->unit != NULL ? lcp->unit[r] : 1;
    part = fmax(part, fabs(stagger->b[i]) / rows->big[r]);
    part_data = fmax(part_data, fabs(stagger->b[i]) * stagger->unit[i]);
  }
  perp_lcp q = { .n = m,
                 .A = stagger->A + (k ? (size_t)stagger->first * (size_t)stagger->first : 0),
                 .lda = m,
                 .b = stagger->b,
                 .lo = k ? NULL : stagger->lo,
                 .hi = k ? NULL : stagger->hi,
                 .tol_data = 0.1 * lcp->tol_data,
                 .unit = lcp->unit != NULL ? stagger->unit : NULL,
                 .brief = lcp->brief };
  if (k && stagger->qp) { /* in units of the whole */
    perp_stagger_qp(stagger, &q, 0.1 * tol * size, 0.1 * q.tol_data * data, stagger->lambda, stats,
                    good);
    for (int i = 0; i < m; i++) lambda[row[i]] = stagger->lambda[i];
    return PERP_OK;
  }
  if (part > size) tol = fmax(1e-15, tol * size / part);
  if (part_data > data && data > 0) q.tol_data *= data / part_data;
  PERP_TRY(stagger_solve(ctx, stagger, k ? &stagger->pyramids : &stagger->normal, &q, tol,
                         stagger->lambda, stats, good));
  for (int i = 0; i < m; i++) lambda[row[i]] = stagger->lambda[i];
  return PERP_OK;
}

/* Both parts of a problem with friction rows, or the only one of a problem without. */
static perp_status stagger_rows(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *p, double tol,
                                double *lambda, perp_stats *stats, bool *good)
{
  const perp_rows *rows = &stagger->rows;
  perp_lcp q = *p;
  bool cones = false;
  q.lo = stagger->lo;
  q.hi = stagger->hi;
  q.fric_of = NULL;
  q.mu = NULL;
  q.cone = NULL;
  q.tol_data = 0.1 * p->tol_data; /* b, and so the unit of the data, is that of the whole */
  for (int i = 0; i < p->n; i++) {
    stagger->lo[i] = stagger->second[i] ? lambda[i] : rows->lo[i];
    stagger->hi[i] = stagger->second[i] ? lambda[i] : rows->hi[i];
  }
  PERP_TRY(stagger_solve(ctx, stagger, &stagger->normal, &q, tol, lambda, stats, good));
  if (!rows->friction || stats->reason == PERP_UNSUITED) return PERP_OK;
  for (int i = 0; i < p->n; i++) {
    cones = cones || rows->type[i] == PERP_ROW_CONE;
    if (stagger->second[i])
      perp_rows_bounds(rows, lambda, i, &stagger->lo[i], &stagger->hi[i]);
    else
      stagger->lo[i] = stagger->hi[i] = lambda[i];
  }
  if (cones) {
    q.fric_of = p->fric_of;
    q.mu = p->mu;
    q.cone = p->cone;
  }
  return stagger_solve(ctx, stagger, cones ? &stagger->cones : &stagger->boxes, &q, tol, lambda,
                       stats, good);
}

perp_status perp_stagger_round(perp_ctx *ctx, perp_stagger *stagger, const perp_lcp *p, double tol,
                               double *lambda, perp_stats *stats, bool *good)
{
  *good = true;
  if (stagger->contacts.contacts == 0)
    return stagger_rows(ctx, stagger, p, tol, lambda, stats, good);
  PERP_TRY(stagger_stewart(ctx, stagger, p, 0, tol, lambda, stats, good));
  if (stats->reason == PERP_UNSUITED) return PERP_OK;
  if (!stagger->qp && (stagger->pyramids.spec.d->caps & PERP_LCP_CONE_BLOCKS)) {
    /* The friction of a Stewart-Trinkle problem by a solver that goes contact by contact: the
     * problem itself, in which the rows of N are fixed. */
    const perp_rows *rows = &stagger->rows;
    perp_lcp q = *p;
    q.lo = stagger->lo;
    q.hi = stagger->hi;
    q.tol_data = 0.1 * p->tol_data;
    for (int i = 0; i < p->n; i++) {
      stagger->lo[i] = stagger->second[i] ? rows->lo[i] : lambda[i];
      stagger->hi[i] = stagger->second[i] ? rows->hi[i] : lambda[i];
    }
    return stagger_solve(ctx, stagger, &stagger->pyramids, &q, tol, lambda, stats, good);
  }
  return stagger_stewart(ctx, stagger, p, 1, tol, lambda, stats, good);
}

/* Friction of Stewart-Trinkle rows as the quadratic program (83)-(84) of STAR 2012, section 4.3.4:
 * with the normal impulses as they are,
 *
 *      min  1/2 x' A x + c' x,   x >= 0,   f_k' x_k <= mu_k lambda_k
 *
 * for the directions x_k of each contact k
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
