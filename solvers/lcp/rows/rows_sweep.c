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

/* The step that row i has left after the rows before it have changed; gram: below the diagonal. */
static inline __attribute__((always_inline)) double
unit_step(const double *step, const double *gram, const double *change, int i)
{
  double left = step[i];
  for (int j = 0; j < i; j++) left -= gram[i * (i - 1) / 2 + j] * change[j];
  return left;
}

/* (lambda_i, lambda_i+1) <- (x, y), projected on the disc of that radius: the changes */
static inline __attribute__((always_inline)) void
unit_relax_cone(double *lambda, double x, double y, double radius, double *change)
{
  perp_disc(radius, &x, &y);
  change[0] = x - lambda[0];
  change[1] = y - lambda[1];
  lambda[0] = x;
  lambda[1] = y;
}

/* Projected Gauss-Seidel over the r rows of a unit on `blocks` blocks of `pairs` pairs of numbers,
 * all three constants after inlining, and so may be what its rows are.  s: the softness of all
 * rows, NULL: none.  `step` is -w_i / A_ii of each row as u asks for it now; the
 * Gram matrix, scaled by 1 / A_ii, takes off what the rows before it change. */
static inline __attribute__((always_inline)) double
unit_relax(const perp_rows *rows, const perp_unit *unit, double *restrict all, const double *s,
           held *h, const int blocks, const int pairs, const int r, const int contents)
{
  const int width = 2 * blocks * pairs;
  const double *gram = rows->data + unit->at, *g = gram + even(r * (r - 1) / 2);
  const double *row = g + r * width; /* ROW_B, ROW_STEP, ... of each */
  double step[PERP_UNIT_ROWS] = { 0 }, change[PERP_UNIT_ROWS] = { 0 }, worst = 0;
  double *lambda = all + unit->row;
  held u = *h;
  for (int i = 0; i < r; i++) {
    step[i] = held_dot(&u, g + i * width, blocks, pairs) + row[PARAMS * i + ROW_B];
    if (s != NULL) step[i] += s[unit->row + i] * lambda[i];
    step[i] *= -row[PARAMS * i + ROW_STEP];
  }
  switch (contents) {
  case NORMALS:
    for (int i = 0; i < r; i++) {
      const double left = unit_step(step, gram, change, i);
      change[i] = left > -lambda[i] ? left : -lambda[i];
      lambda[i] += change[i];
    }
    break;
  case BOXES:
    for (int i = 0; i < r; i++) {
      const double lo = row[PARAMS * i + ROW_LO], hi = row[PARAMS * i + ROW_HI];
      change[i] = clamp(unit_step(step, gram, change, i), lo - lambda[i], hi - lambda[i]);
      lambda[i] = clamp(lambda[i] + change[i], lo, hi);
    }
    break;
  case CONTACT_BOX:
  case CONTACT_CONE:
    change[0] = step[0] > -lambda[0] ? step[0] : -lambda[0];
    lambda[0] += change[0];
    if (contents == CONTACT_CONE && r == CONTACT_ROWS) {
      unit_relax_cone(lambda + 1, lambda[1] + step[1] - gram[0] * change[0],
                      lambda[2] + step[2] - gram[1] * change[0], row[PARAMS + ROW_MU] * lambda[0],
                      change + 1);
      break;
    }
    for (int i = 1; i < r; i++) {
      const double limit = row[PARAMS * i + ROW_MU] * lambda[0];
      change[i] = clamp(unit_step(step, gram, change, i), -limit - lambda[i], limit - lambda[i]);
      lambda[i] = clamp(lambda[i] + change[i], -limit, limit);
    }
    break;
  default:
    for (int i = 0; i < r; i++) {
      const int type = rows->type[unit->row + i];
      const double left = unit_step(step, gram, change, i);
      double lo = row[PARAMS * i + ROW_LO], hi = row[PARAMS * i + ROW_HI];
      if (type != PERP_ROW_BOUNDED) {
        hi = perp_rows_limit(rows, all, unit->row + i);
        lo = -hi;
      }
      if (type == PERP_ROW_CONE && i + 1 < r) {
        /* its second row steps as if the first had not changed */
        double second = step[i + 1];
        for (int j = 0; j < i; j++) second -= gram[(i + 1) * i / 2 + j] * change[j];
        unit_relax_cone(lambda + i, lambda[i] + left, lambda[i + 1] + second, hi, change + i);
        i++;
      } else {
        change[i] = clamp(left, lo - lambda[i], hi - lambda[i]);
        lambda[i] = clamp(lambda[i] + change[i], lo, hi);
      }
    }
  }
  for (int i = 0; i < r; i++) worst = larger(worst, fabs(change[i]));
  for (int i = 0; i < r; i++) held_add(&u, change[i], g + i * width, blocks, pairs);
  *h = u;
  return worst;
}

/* The same with the accumulators where they are. */
static inline __attribute__((always_inline)) double
unit_sweep(const perp_rows *rows, const perp_unit *unit, double *restrict lambda, const double *s,
           const int blocks, const int pairs, const int r, const int contents)
{
  held u;
  hold(&u, rows->u + unit->a, rows->u + unit->b, blocks, pairs);
  const double worst = unit_relax(rows, unit, lambda, s, &u, blocks, pairs, r, contents);
  release(&u, rows->u + unit->a, rows->u + unit->b, blocks, pairs);
  return worst;
}

PERP_CLONES_OF_FOUR static double any_unit(perp_rows *rows, const perp_unit *unit, double *lambda)
{
  if (unit->shape == DENSE_ROW) {
    const int i = unit->row;
    double change[2] = { 0, 0 };
    if (rows->type[i] == PERP_ROW_CONE) {
      double x = lambda[i] - rows->inv[i] * rows->w[i];
      double y = lambda[i + 1] - rows->inv[i] * rows->w[i + 1];
      perp_disc(perp_rows_limit(rows, lambda, i), &x, &y);
      change[0] = x - lambda[i];
      change[1] = y - lambda[i + 1];
    } else
      change[0] = rows_sweep_relax(rows, i, rows->w[i], lambda) - lambda[i];
    for (int k = 0; k < unit->r; k++) {
      if (change[k] == 0) continue;
      lambda[i + k] += change[k];
      dense_change(rows, i + k, change[k]);
    }
    return fmax(fabs(change[0]), fabs(change[1]));
  }
  if (unit->shape == GENERIC) return generic_unit(rows, unit, lambda, false);
#define SWEEP(blocks, pairs)                                                                       \
  return unit_sweep(rows, unit, lambda, rows->p->F->s, blocks, pairs, unit->r, unit->contents);
  PERP_FOR_SHAPE(unit, SWEEP)
#undef SWEEP
}

static inline double rows_sweep_swept(double worst, double change)
{
  return change <= worst || isnan(worst) ? worst : change;
}

/* Nearly all units are contacts in space, with or without friction: units t ... end - 1 as long as
 * they are such and alike, with all that they have in common known to the compiler.  Returns the
 * first that is not. */
static inline __attribute__((always_inline)) int run_sweep(const perp_rows *rows, int t, int end,
                                                           double *lambda, double *worst)
{
  const double *s = rows->p->F != NULL ? rows->p->F->s : NULL;
#define KIND(shape, contents, r) (100 * (shape) + 10 * (contents) + (r))
#define KIND_OF(unit)            KIND((unit)->shape, (unit)->contents, (unit)->r)
/* the accumulators stay at hand from contact to contact of the same bodies */
#define RUN_OF(soft, contents, r, blocks)                                                          \
  for (const perp_unit *of = NULL;; t++) {                                                         \
    const perp_unit *unit = &rows->unit[t];                                                        \
    const bool goes_on = t < end && KIND_OF(unit) == kind;                                         \
    if (of != NULL && (!goes_on || unit->a != of->a || unit->b != of->b)) {                        \
      release(&u, rows->u + of->a, rows->u + of->b, blocks, 3);                                    \
      of = NULL;                                                                                   \
    }                                                                                              \
    if (!goes_on) break;                                                                           \
    if (of == NULL) hold(&u, rows->u + unit->a, rows->u + unit->b, blocks, 3);                     \
    of = unit;                                                                                     \
    *worst = rows_sweep_swept(*worst,                                                              \
                              unit_relax(rows, unit, lambda, soft, &u, blocks, 3, r, contents));   \
  }
#define RUN(shape, contents, r, blocks)                                                            \
  case KIND(shape, contents, r):                                                                   \
    if (s == NULL)                                                                                 \
      RUN_OF(NULL, contents, r, blocks)                                                            \
    else                                                                                           \
      RUN_OF(s, contents, r, blocks)                                                               \
    break;
  const int kind = t < end ? KIND_OF(&rows->unit[t]) : -1;
  held u;
  switch (kind) {
    RUN(SPACE_ONE, CONTACT_BOX, CONTACT_ROWS, 1)
    RUN(SPACE_TWO, CONTACT_BOX, CONTACT_ROWS, 2)
    RUN(SPACE_ONE, CONTACT_CONE, CONTACT_ROWS, 1)
    RUN(SPACE_TWO, CONTACT_CONE, CONTACT_ROWS, 2)
    RUN(SPACE_ONE, NORMALS, 4, 1)
    RUN(SPACE_TWO, NORMALS, 4, 2)
  default:
    break;
  }
#undef RUN
#undef RUN_OF
#undef KIND_OF
#undef KIND
  return t;
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
    for (int t = part.from, next; t < part.to; t = next) {
      next = perp_rows_run(rows, t, part.to);
      if (next > t)
        worst = rows_sweep_swept(worst, perp_fours_sweep(rows, t, next, s->lambda));
      else
        next = run_sweep(rows, t, part.to, s->lambda, &worst);
      if (next > t) continue;
      worst = rows_sweep_swept(worst, any_unit(rows, &rows->unit[t], s->lambda));
      next = t + 1;
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
