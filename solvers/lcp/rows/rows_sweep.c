/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gauss-Seidel sweeps over prepared rows: one at a time, and units with everything known at compile
 * time. */
#include "solvers/lcp/rows/rows_private.h"

#include <math.h>

/* ---- sweeps ---- */

/* the new value of row i with slack w */
static inline double rows_sweep_relax(const perp_rows *rows, int i, double w, const double *lambda)
{
  double lo, hi;
  perp_rows_bounds(rows, lambda, i, &lo, &hi);
  return clamp(lambda[i] - rows->inv[i] * w, lo, hi);
}

/* w += change A_:i */
static inline void dense_change(perp_rows *rows, int i, double change)
{
  if (rows->sparse) {
    for (int k = rows->start[i]; k < rows->start[i + 1]; k++)
      rows->w[rows->row[k]] += change * rows->value[k];
    rows->work += rows->start[i + 1] - rows->start[i];
    return;
  }
  const double *a = rows->p->A + (size_t)i * (size_t)rows->p->lda;
  for (int j = 0; j < rows->n; j++) rows->w[j] += change * a[j];
  rows->work += rows->n;
}

/* a unit of any shape, row by row */
static double generic_unit(perp_rows *rows, const perp_unit *unit, double *lambda, bool back)
{
  const perp_lcp *lcp = rows->p;
  const double *s = lcp->F->s;
  const int width = unit->width;
  double worst = 0;
  const double *g0 = unit_rows(rows, unit);
  for (int step = 0; step < unit->r; step++) {
    int k = back ? unit->r - 1 - step : step, i = unit->row + k, pair = 1;
    if (rows->type[i] == PERP_ROW_CONE_TAIL) {
      if (!back) continue;
      k--, i--, step++;
    }
    const double *g = g0 + (size_t)k * (size_t)width;
    double w = row_dot(rows, unit, g, rows->u) + lcp->b[i] + (s != NULL ? s[i] * lambda[i] : 0);
    double x, y = 0;
    if (rows->type[i] == PERP_ROW_CONE) {
      double w2 = row_dot(rows, unit, g + width, rows->u) + lcp->b[i + 1] +
                  (s != NULL ? s[i + 1] * lambda[i + 1] : 0);
      pair = 2;
      x = lambda[i] - rows->inv[i] * w;
      y = lambda[i + 1] - rows->inv[i] * w2;
      perp_disc(perp_rows_limit(rows, lambda, i), &x, &y);
    } else
      x = rows_sweep_relax(rows, i, w, lambda);
    for (int q = 0; q < pair; q++, g += width) {
      double c = (q == 0 ? x : y) - lambda[i + q];
      worst = larger(worst, fabs(c));
      lambda[i + q] += c;
      row_axpy(rows, unit, g, c, rows->u);
    }
  }
  return worst;
}

/* Forward pass over a unit of r rows on `blocks` blocks of `pairs` pairs of numbers: constants
 * after inlining.  y is the step of each row as u asks for it, corrected by the Gram matrix (scaled
 * by the steps) as the rows before it change. */
static inline __attribute__((always_inline)) double
fast_unit(const perp_rows *rows, const perp_unit *unit, double *restrict lambda, const int blocks,
          const int pairs, const int r)
{
  const int width = 2 * blocks * pairs;
  const double *gram = rows->data + unit->at, *g = gram + even(r * (r - 1) / 2);
  const double *par = g + r * width;
  const double *s = rows->p->F->s;
  double y[PERP_UNIT_ROWS] = { 0 }, change[PERP_UNIT_ROWS] = { 0 }, worst = 0;
  double *l = lambda + unit->row;
  held h;
  hold(&h, rows->u + unit->a, rows->u + unit->b, blocks, pairs);
  for (int i = 0; i < r; i++) {
    y[i] = held_dot(&h, g + i * width, blocks, pairs) + par[PARAMS * i];
    if (s != NULL) y[i] += s[unit->row + i] * l[i];
    y[i] *= -par[PARAMS * i + 1];
  }
  switch (unit->contents) {
  case NORMALS:
    for (int i = 0; i < r; i++) {
      double d = y[i];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = d > -l[i] ? d : -l[i];
      l[i] += change[i];
    }
    break;
  case BOXES:
    for (int i = 0; i < r; i++) {
      double d = y[i], lo = par[PARAMS * i + 2], hi = par[PARAMS * i + 3];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = clamp(d, lo - l[i], hi - l[i]);
      l[i] = clamp(l[i] + change[i], lo, hi);
    }
    break;
  case CONTACT_BOX:
  case CONTACT_CONE:
    change[0] = y[0] > -l[0] ? y[0] : -l[0];
    l[0] += change[0];
    if (unit->contents == CONTACT_CONE && r == CONTACT_ROWS) {
      double z1 = l[1] + y[1] - gram[0] * change[0], z2 = l[2] + y[2] - gram[1] * change[0];
      perp_disc(par[PARAMS + 2] * l[0], &z1, &z2);
      change[1] = z1 - l[1];
      change[2] = z2 - l[2];
      l[1] = z1;
      l[2] = z2;
      break;
    }
    for (int i = 1; i < r; i++) {
      double d = y[i], top = par[PARAMS * i + 2] * l[0];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      change[i] = clamp(d, -top - l[i], top - l[i]);
      l[i] = clamp(l[i] + change[i], -top, top);
    }
    break;
  default:
    for (int i = 0; i < r; i++) {
      double d = y[i], lo = par[PARAMS * i + 2], hi = par[PARAMS * i + 3];
      for (int j = 0; j < i; j++) d -= gram[i * (i - 1) / 2 + j] * change[j];
      int type = rows->type[unit->row + i];
      if (type != PERP_ROW_BOUNDED) {
        hi = perp_rows_limit(rows, lambda, unit->row + i);
        lo = -hi;
      }
      if (type == PERP_ROW_CONE && i + 1 < r) {
        double d2 = y[i + 1], z = l[i] + d;
        for (int j = 0; j < i; j++) d2 -= gram[(i + 1) * i / 2 + j] * change[j];
        double z2 = l[i + 1] + d2;
        perp_disc(hi, &z, &z2);
        change[i] = z - l[i];
        change[i + 1] = z2 - l[i + 1];
        l[i] = z;
        l[i + 1] = z2;
        i++;
      } else {
        change[i] = clamp(d, lo - l[i], hi - l[i]);
        l[i] = clamp(l[i] + change[i], lo, hi);
      }
    }
  }
  for (int i = 0; i < r; i++) worst = larger(worst, fabs(change[i]));
  for (int i = 0; i < r; i++) held_add(&h, change[i], g + i * width, blocks, pairs);
  release(&h, rows->u + unit->a, rows->u + unit->b, blocks, pairs);
  return worst;
}

/* Nearly all units are contacts: their number of rows is a constant, too. */
PERP_CLONES_OF_FOUR static double any_unit(perp_rows *R, const perp_unit *t, double *lambda)
{
  if (t->shape == DENSE_ROW) {
    const int i = t->row;
    double change[2] = { 0, 0 };
    if (R->type[i] == PERP_ROW_CONE) {
      double x = lambda[i] - R->inv[i] * R->w[i], y = lambda[i + 1] - R->inv[i] * R->w[i + 1];
      perp_disc(perp_rows_limit(R, lambda, i), &x, &y);
      change[0] = x - lambda[i];
      change[1] = y - lambda[i + 1];
    } else
      change[0] = rows_sweep_relax(R, i, R->w[i], lambda) - lambda[i];
    for (int k = 0; k < t->r; k++) {
      if (change[k] == 0) continue;
      lambda[i + k] += change[k];
      dense_change(R, i + k, change[k]);
    }
    return fmax(fabs(change[0]), fabs(change[1]));
  }
  if (t->shape == GENERIC) return generic_unit(R, t, lambda, false);
#define SWEEP(blocks, pairs)                                                                       \
  return t->r == CONTACT_ROWS ? fast_unit(R, t, lambda, blocks, pairs, CONTACT_ROWS)               \
                              : fast_unit(R, t, lambda, blocks, pairs, t->r);
  PERP_FOR_SHAPE(t, SWEEP)
#undef SWEEP
}

static double rows_sweep_swept(double worst, double change)
{
  return change <= worst || isnan(worst) ? worst : change;
}

typedef struct sweep {
  perp_rows *R;
  double *lambda;
  double worst[PERP_TEAM_MAX];
} sweep;

PERP_CLONES_OF_FOUR static void sweep_share(void *user, int member, int members)
{
  sweep *s = user;
  perp_rows *rows = s->R;
  double worst = 0;
  perp_share_of part = { .end = 0 };
  while (perp_rows_next(rows, member, members, &part))
    for (int t = part.from; t < part.to; t++) {
      const int run = perp_rows_run(rows, t, part.to);
      if (run > t) worst = rows_sweep_swept(worst, perp_fours_sweep(rows, t, run, s->lambda));
      t = run;
      if (t < part.to) worst = rows_sweep_swept(worst, any_unit(rows, &rows->unit[t], s->lambda));
    }
  s->worst[member] = worst;
}

double perp_rows_sweep(perp_rows *rows, double *lambda, const int *order, bool back)
{
  double worst = 0;
  if (rows->p->F != NULL) rows->work += rows->product;
  if (order == NULL && !back) {
    sweep s = { .R = rows, .lambda = lambda };
    perp_team(perp_rows_threads(rows), sweep_share, &s);
    for (int i = 0; i < PERP_TEAM_MAX; i++) worst = rows_sweep_swept(worst, s.worst[i]);
    return worst;
  }
  for (int k = 0; k < rows->n_units; k++) {
    int at = back ? rows->n_units - 1 - k : k;
    const perp_unit *unit = &rows->unit[order != NULL ? order[at] : at];
    worst = rows_sweep_swept(worst, back && unit->shape != DENSE_ROW
                                        ? generic_unit(rows, unit, lambda, true)
                                        : any_unit(rows, unit, lambda));
  }
  return worst;
}

/* ---- single rows ---- */

/* the numbers of row i, of unit *t */
static const double *row_numbers(const perp_rows *rows, int i, const perp_unit **unit)
{
  *unit = &rows->unit[rows->unit_of[i]];
  return unit_rows(rows, *unit) + (size_t)(i - (*unit)->row) * (size_t)(*unit)->width;
}

double perp_rows_slack(perp_rows *rows, const double *lambda, int i)
{
  const perp_lcp *lcp = rows->p;
  const perp_unit *unit;
  if (lcp->F == NULL) return rows->w[i];
  const double *g = row_numbers(rows, i, &unit);
  rows->work += unit->width;
  const double w = row_dot(rows, unit, g, rows->u) + lcp->b[i];
  return lcp->F->s != NULL ? w + lcp->F->s[i] * lambda[i] : w;
}

void perp_rows_change(perp_rows *rows, int i, double change)
{
  const perp_unit *unit;
  if (change == 0) return;
  if (rows->p->F == NULL) {
    dense_change(rows, i, change);
    return;
  }
  const double *g = row_numbers(rows, i, &unit);
  rows->work += unit->width;
  row_axpy(rows, unit, g, change, rows->u);
}

double perp_rows_entry(const perp_rows *rows, int i, int j)
{
  const perp_lcp *lcp = rows->p;
  const perp_unit *s, *t;
  if (lcp->F == NULL) return perp_lcp_entry(lcp, i, j);
  /* J_i M^-1 J_j' by blocks: the rows of G on the blocks that both touch */
  const double *x = row_numbers(rows, i, &s), *y = row_numbers(rows, j, &t);
  double sum = i == j && lcp->F->s != NULL ? lcp->F->s[i] : 0;
  for (int a = 0, at = 0, d; (d = row_block(rows, s, a, &at)) > 0; a++, x += d) {
    const double *z = y;
    for (int b = 0, at2 = 0, e; (e = row_block(rows, t, b, &at2)) > 0; b++, z += e)
      if (at == at2) sum += dot(d, x, z);
  }
  return sum;
}
