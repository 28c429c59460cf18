/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products with A of prepared rows, projections and the residual. */
#include "solvers/lcp/lcp_private.h"
#include "solvers/lcp/rows/rows_private.h"

#include <cblas.h>
#include <math.h>

/* ---- products ---- */

/* u += G' x of one unit */
static inline __attribute__((always_inline)) void fast_Gt(const perp_rows *rows,
                                                          const perp_unit *unit, const double *x,
                                                          double *u, const int blocks,
                                                          const int pairs)
{
  const double *g = unit_rows(rows, unit);
  held h;
  hold(&h, u + unit->a, u + unit->b, blocks, pairs);
  for (int i = 0; i < unit->r; i++)
    held_add(&h, x[unit->row + i], g + 2 * blocks * pairs * i, blocks, pairs);
  release(&h, u + unit->a, u + unit->b, blocks, pairs);
}

static inline __attribute__((always_inline)) void unit_Gt(const perp_rows *R, const perp_unit *t,
                                                          const double *x, double *u)
{
  if (t->shape == GENERIC) {
    const double *g = unit_rows(R, t);
    for (int i = 0; i < t->r; i++, g += t->width) row_axpy(R, t, g, x[t->row + i], u);
    return;
  }
#define TIMES(blocks, pairs) fast_Gt(R, t, x, u, blocks, pairs);
  PERP_FOR_SHAPE(t, TIMES)
#undef TIMES
}

typedef struct product {
  perp_rows *R;
  const double *x, *b;
  double *u, *y;
} product;

/* u = G' x, level by level: every accumulator in the order of its units; then, where y is asked
 * for, y = G u + S x (+ b) */
PERP_CLONES_OF_FOUR static void rows_product_share(void *user, int member, int members)
{
  const product *job = user;
  const perp_rows *rows = job->R;
  const double *s = rows->p->F->s;
  perp_share_of part = { .end = 0 };
  while (perp_rows_next(rows, member, members, &part))
    for (int t = part.from; t < part.to; t++) {
      const int run = perp_rows_run(rows, t, part.to);
      if (run > t) perp_fours_Gt(rows, t, run, job->x, job->u);
      t = run;
      if (t < part.to) unit_Gt(rows, &rows->unit[t], job->x, job->u);
    }
  if (job->y == NULL) return;
  perp_team_wait(members); /* for the accumulators of the last level */
  const int end = perp_rows_whole(rows, perp_share(rows->n_units, member + 1, members));
  for (int t = perp_rows_whole(rows, perp_share(rows->n_units, member, members)); t < end; t++) {
    const int run = perp_rows_run(rows, t, end);
    if (run > t) perp_fours_G(rows, t, run, job->u, job->x, job->b != NULL, job->y);
    t = run;
    if (t == end) break;
    const perp_unit *unit = &rows->unit[t];
    const double *g = unit_rows(rows, unit);
    for (int i = unit->row; i < unit->row + unit->r; i++, g += unit->width) {
      double sum = row_dot(rows, unit, g, job->u);
      if (s != NULL) sum += s[i] * job->x[i];
      job->y[i] = job->b != NULL ? sum + job->b[i] : sum;
    }
  }
}

/* y = A x (+ b); factored: u = G' x on the way, y may be NULL */
static void rows_product_apply(perp_rows *rows, const double *x, double *u, const double *b,
                               double *y)
{
  const perp_lcp *lcp = rows->p;
  rows->work += y != NULL ? rows->product : 0.5 * rows->product;
  if (lcp->F == NULL) {
    for (int i = 0; i < lcp->n; i++) y[i] = b != NULL ? b[i] : 0;
    if (rows->sparse) {
      for (int j = 0; j < lcp->n; j++)
        for (int k = rows->start[j]; x[j] != 0 && k < rows->start[j + 1]; k++)
          y[rows->row[k]] += x[j] * rows->value[k];
    } else if (lcp->n < 48) { /* below that the call costs more than the work */
      for (int j = 0; j < lcp->n; j++) {
        const double *a = lcp->A + (size_t)j * (size_t)lcp->lda;
        for (int i = 0; i < lcp->n; i++) y[i] += x[j] * a[i];
      }
    } else
      cblas_dgemv(CblasColMajor, CblasNoTrans, lcp->n, lcp->n, 1, lcp->A, lcp->lda, x, 1, 1, y, 1);
    return;
  }
  for (int k = 0; k < rows->nu; k++) u[k] = 0;
  product job = { rows, x, b, u, y };
  perp_team(perp_rows_threads(rows), rows_product_share, &job);
}

void perp_rows_reset(perp_rows *rows, const double *lambda)
{
  if (rows->p->F == NULL)
    rows_product_apply(rows, lambda, NULL, rows->p->b, rows->w);
  else
    rows_product_apply(rows, lambda, rows->u, NULL, NULL);
}

void perp_rows_w(perp_rows *rows, const double *lambda, double *w)
{
  rows_product_apply(rows, lambda, rows->uu, rows->p->b, w);
}

void perp_rows_A(perp_rows *rows, const double *x, double *y)
{
  rows_product_apply(rows, x, rows->uu, NULL, y);
}

void perp_rows_majorant(perp_rows *rows, double *d)
{
  const perp_lcp *lcp = rows->p;
  const perp_blocks *blocks = lcp->F;
  rows->work += rows->product;
  for (int i = 0; i < lcp->n; i++) d[i] = 0;
  for (int k = 0; lcp->C != NULL && k < lcp->C->start[lcp->n]; k++)
    d[lcp->C->row[k]] += fabs(lcp->C->value[k]);
  if (blocks == NULL)
    for (int j = 0; lcp->A != NULL && j < lcp->n; j++) {
      const double *a = lcp->A + (size_t)j * (size_t)lcp->lda;
      for (int i = 0; i < lcp->n; i++) d[i] += fabs(a[i]);
    }
  else {
    /* uu [uoff[b]] counts the rows that touch block b */
    for (int b = 0; b < blocks->nb; b++) rows->uu[rows->uoff[b]] = 0;
    for (int c = 0; c < blocks->nc; c++)
      for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
        rows->uu[rows->uoff[blocks->jblk[k]]] += blocks->cptr[c + 1] - blocks->cptr[c];
    for (int t = 0; t < rows->n_units; t++) {
      const perp_unit *unit = &rows->unit[t];
      const double *g = unit_rows(rows, unit);
      for (int i = unit->row; i < unit->row + unit->r; i++) {
        d[i] = blocks->s != NULL ? blocks->s[i] : 0;
        for (int k = 0, at = 0, h; (h = row_block(rows, unit, k, &at)) > 0; k++, g += h)
          d[i] += rows->uu[at] * dot(h, g, g);
      }
    }
  }
  for (int i = 0; i < lcp->n; i++) {
    if (!(d[i] > 0)) d[i] = 1;
    if (rows->type[i] == PERP_ROW_CONE_TAIL) d[i] = d[i - 1] = fmax(d[i], d[i - 1]);
  }
}

/* ---- projection and residual ---- */

typedef struct projection {
  const perp_rows *R;
  const double *x;
  double *y;
} projection;

static void project_share(void *user, int member, int members)
{
  const projection *job = user;
  const perp_rows *rows = job->R;
  const double *x = job->x;
  double *y = job->y;
  const int from = perp_share(rows->n, member, members),
            end = perp_share(rows->n, member + 1, members);
  for (int i = from; i < end; i++)
    y[i] = rows->type[i] == PERP_ROW_BOUNDED ? clamp(x[i], rows->lo[i], rows->hi[i]) : x[i];
  if (!rows->friction) return;
  perp_team_wait(members);
  for (int i = from; i < end; i++) {
    if (rows->type[i] == PERP_ROW_BOUNDED) continue;
    double r = perp_rows_limit(rows, y, i);
    if (rows->type[i] == PERP_ROW_FRICTION)
      y[i] = clamp(y[i], -r, r);
    else if (rows->type[i] == PERP_ROW_CONE)
      perp_disc(r, &y[i], &y[i + 1]);
  }
}

void perp_rows_project(const perp_rows *rows, const double *x, double *y)
{
  projection job = { rows, x, y };
  perp_team(rows->threads, project_share, &job);
}

double perp_rows_residual(perp_rows *rows, const double *lambda, const double *w)
{
  const perp_lcp *lcp = rows->p;
  if (lcp->F != NULL && !rows->scaled) {
    perp_lcp_scales(lcp, rows->a, rows->scratch);
    rows->scaled = true;
  }
  const double merit = perp_lcp_merit(lcp, lcp->F == NULL ? rows->big : rows->a, lambda, w);
  return perp_lcp_close(lcp, merit, lambda, w, rows->judged);
}

double perp_rows_rate(perp_rows *rows, const double *lambda, double *w, perp_stats *stats)
{
  perp_rows_w(rows, lambda, w);
  stats->matvecs++;
  return perp_rows_residual(rows, lambda, w);
}
