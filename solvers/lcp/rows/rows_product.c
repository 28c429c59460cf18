/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products with A of prepared rows, projections and the residual. */
#include "solvers/lcp/lcp_private.h"
#include "solvers/lcp/rows/rows_private.h"

#include <cblas.h>
#include <math.h>

/* ---- products ---- */

/* u += G' x of one unit */
static inline __attribute__((always_inline)) void fast_Gt(const perp_rows *R, const perp_unit *t,
                                                          const double *x, double *u,
                                                          const int blocks, const int pairs)
{
  const double *g = unit_rows(R, t);
  held h;
  hold(&h, u + t->a, u + t->b, blocks, pairs);
  for (int i = 0; i < t->r; i++)
    held_add(&h, x[t->row + i], g + 2 * blocks * pairs * i, blocks, pairs);
  release(&h, u + t->a, u + t->b, blocks, pairs);
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
  const perp_rows *R = job->R;
  const double *s = R->p->F->s;
  perp_share_of part = { .end = 0 };
  while (perp_rows_next(R, member, members, &part))
    for (int t = part.from; t < part.to; t++) {
      const int run = perp_rows_run(R, t, part.to);
      if (run > t) perp_fours_Gt(R, t, run, job->x, job->u);
      t = run;
      if (t < part.to) unit_Gt(R, &R->unit[t], job->x, job->u);
    }
  if (job->y == NULL) return;
  perp_team_wait(members); /* for the accumulators of the last level */
  const int end = perp_rows_whole(R, perp_share(R->n_units, member + 1, members));
  for (int t = perp_rows_whole(R, perp_share(R->n_units, member, members)); t < end; t++) {
    const int run = perp_rows_run(R, t, end);
    if (run > t) perp_fours_G(R, t, run, job->u, job->x, job->b != NULL, job->y);
    t = run;
    if (t == end) break;
    const perp_unit *unit = &R->unit[t];
    const double *g = unit_rows(R, unit);
    for (int i = unit->row; i < unit->row + unit->r; i++, g += unit->width) {
      double sum = row_dot(R, unit, g, job->u);
      if (s != NULL) sum += s[i] * job->x[i];
      job->y[i] = job->b != NULL ? sum + job->b[i] : sum;
    }
  }
}

/* y = A x (+ b); factored: u = G' x on the way, y may be NULL */
static void rows_product_apply(perp_rows *R, const double *x, double *u, const double *b, double *y)
{
  const perp_lcp *p = R->p;
  R->work += y != NULL ? R->product : 0.5 * R->product;
  if (p->F == NULL) {
    for (int i = 0; i < p->n; i++) y[i] = b != NULL ? b[i] : 0;
    if (R->sparse) {
      for (int j = 0; j < p->n; j++)
        for (int k = R->start[j]; x[j] != 0 && k < R->start[j + 1]; k++)
          y[R->row[k]] += x[j] * R->value[k];
    } else if (p->n < 48) { /* below that the call costs more than the work */
      for (int j = 0; j < p->n; j++) {
        const double *a = p->A + (size_t)j * (size_t)p->lda;
        for (int i = 0; i < p->n; i++) y[i] += x[j] * a[i];
      }
    } else
      cblas_dgemv(CblasColMajor, CblasNoTrans, p->n, p->n, 1, p->A, p->lda, x, 1, 1, y, 1);
    return;
  }
  for (int k = 0; k < R->nu; k++) u[k] = 0;
  product job = { R, x, b, u, y };
  perp_team(perp_rows_threads(R), rows_product_share, &job);
}

void perp_rows_reset(perp_rows *R, const double *lambda)
{
  if (R->p->F == NULL)
    rows_product_apply(R, lambda, NULL, R->p->b, R->w);
  else
    rows_product_apply(R, lambda, R->u, NULL, NULL);
}

void perp_rows_w(perp_rows *R, const double *lambda, double *w)
{
  rows_product_apply(R, lambda, R->uu, R->p->b, w);
}

void perp_rows_A(perp_rows *R, const double *x, double *y)
{
  rows_product_apply(R, x, R->uu, NULL, y);
}

void perp_rows_majorant(perp_rows *R, double *d)
{
  const perp_lcp *p = R->p;
  const perp_blocks *F = p->F;
  R->work += R->product;
  for (int i = 0; i < p->n; i++) d[i] = 0;
  for (int k = 0; p->C != NULL && k < p->C->start[p->n]; k++)
    d[p->C->row[k]] += fabs(p->C->value[k]);
  if (F == NULL)
    for (int j = 0; p->A != NULL && j < p->n; j++) {
      const double *a = p->A + (size_t)j * (size_t)p->lda;
      for (int i = 0; i < p->n; i++) d[i] += fabs(a[i]);
    }
  else {
    /* uu [uoff[b]] counts the rows that touch block b */
    for (int b = 0; b < F->nb; b++) R->uu[R->uoff[b]] = 0;
    for (int c = 0; c < F->nc; c++)
      for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
        R->uu[R->uoff[F->jblk[k]]] += F->cptr[c + 1] - F->cptr[c];
    for (int t = 0; t < R->n_units; t++) {
      const perp_unit *unit = &R->unit[t];
      const double *g = unit_rows(R, unit);
      for (int i = unit->row; i < unit->row + unit->r; i++) {
        d[i] = F->s != NULL ? F->s[i] : 0;
        for (int k = 0, at = 0, h; (h = row_block(R, unit, k, &at)) > 0; k++, g += h)
          d[i] += R->uu[at] * dot(h, g, g);
      }
    }
  }
  for (int i = 0; i < p->n; i++) {
    if (!(d[i] > 0)) d[i] = 1;
    if (R->type[i] == PERP_ROW_CONE_TAIL) d[i] = d[i - 1] = fmax(d[i], d[i - 1]);
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
  const perp_rows *R = job->R;
  const double *x = job->x;
  double *y = job->y;
  const int from = perp_share(R->n, member, members), end = perp_share(R->n, member + 1, members);
  for (int i = from; i < end; i++)
    y[i] = R->type[i] == PERP_ROW_BOUNDED ? clamp(x[i], R->lo[i], R->hi[i]) : x[i];
  if (!R->friction) return;
  perp_team_wait(members);
  for (int i = from; i < end; i++) {
    if (R->type[i] == PERP_ROW_BOUNDED) continue;
    double r = perp_rows_limit(R, y, i);
    if (R->type[i] == PERP_ROW_FRICTION)
      y[i] = clamp(y[i], -r, r);
    else if (R->type[i] == PERP_ROW_CONE)
      perp_disc(r, &y[i], &y[i + 1]);
  }
}

void perp_rows_project(const perp_rows *R, const double *x, double *y)
{
  projection job = { R, x, y };
  perp_team(R->threads, project_share, &job);
}

double perp_rows_residual(perp_rows *R, const double *lambda, const double *w)
{
  const perp_lcp *p = R->p;
  if (p->F != NULL && !R->scaled) {
    perp_lcp_scales(p, R->a, R->scratch);
    R->scaled = true;
  }
  const double merit = perp_lcp_merit(p, p->F == NULL ? R->big : R->a, lambda, w);
  return perp_lcp_close(p, merit, lambda, w, R->judged);
}

double perp_rows_rate(perp_rows *R, const double *lambda, double *w, perp_stats *stats)
{
  perp_rows_w(R, lambda, w);
  stats->matvecs++;
  return perp_rows_residual(R, lambda, w);
}
