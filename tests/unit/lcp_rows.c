/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prepared rows of every kind in one problem, dense and factored: steps, units, their order, sweeps
 * in any order, slacks, projections and residuals against their definitions. */
#include "solvers/lcp/rows/rows_private.h"
#include "tests/lcp_random.h"
#include "tests/lcp_rel.h"
#include "tests/tap.h"

#include <float.h>

enum { MOST = 90 };
static perp_ctx ctx;
static const double OMEGA = 1.1;

typedef struct kinds {
  int of[MOST], unit_end[MOST];
  signed char cone[MOST];
  double mu[MOST], lo[MOST], hi[MOST];
} kinds;

/* Groups get contacts, boxes, cones, friction rows of their own first row or of another group; way:
 * what is allowed. */
static void draw(random_lcp *q, kinds *k, perp_rng *g, int way)
{
  const perp_blocks *F = &q->F;
  memset(k, 0, sizeof *k);
  for (int i = 0; i < F->m; i++) k->of[i] = -1, k->hi[i] = HUGE_VAL, k->mu[i] = 0;
  for (int c = 0; c < F->nc; c++) {
    const int first = F->cptr[c], end = F->cptr[c + 1], kind = perp_rng_int(g, way == 0 ? 2 : 5);
    for (int i = first; i < end; i++) {
      const bool box = kind == 1 || (kind == 4 && perp_rng_int(g, 2));
      if (box) k->lo[i] = -perp_rng_uniform(g, 0, 0.3), k->hi[i] = perp_rng_uniform(g, 0, 0.3);
      if (box && perp_rng_int(g, 4) == 0) k->lo[i] = -HUGE_VAL;
      if (i == first || kind < 2 || box) continue;
      /* of another group: an earlier bounded row */
      k->of[i] = way == 2 && c > 0 && perp_rng_int(g, 3) == 0 ? 0 : first;
      k->lo[i] = 0, k->hi[i] = HUGE_VAL;
      k->mu[i] = perp_rng_uniform(g, 0.2, 1);
      if (kind == 3 && i + 1 < end && !k->cone[i - 1]) {
        k->cone[i] = 1;
        k->of[i + 1] = k->of[i];
        k->mu[i + 1] = k->mu[i];
        i++;
      }
    }
  }
  q->p.lo = k->lo;
  q->p.hi = k->hi;
  q->p.fric_of = k->of;
  q->p.mu = k->mu;
  q->p.cone = k->cone;
}

static void one_row(const perp_lcp *p, const double *A, int i, double *x)
{
  const int n = p->n, pair = p->cone[i] ? 2 : 1;
  double w[2] = { 0, 0 }, a = A[i + i * n];
  for (int k = 0; k < pair; k++) {
    w[k] = p->b[i + k];
    for (int j = 0; j < n; j++) w[k] += A[i + k + j * n] * x[j];
  }
  double lo = p->lo[i], hi = p->hi[i];
  if (p->fric_of[i] >= 0) hi = p->mu[i] * fmax(x[p->fric_of[i]], 0), lo = -hi;
  if (pair == 2) {
    const double c = A[i + 1 + (i + 1) * n], b = A[i + 1 + i * n];
    a = (a + c + sqrt((a - c) * (a - c) + 4 * b * b)) / 2;
    const double y = x[i] - OMEGA * w[0] / a, z = x[i + 1] - OMEGA * w[1] / a, s = hypot(y, z);
    x[i] = s > hi ? y * hi / s : y;
    x[i + 1] = s > hi ? z * hi / s : z;
  } else
    x[i] = fmin(fmax(x[i] - OMEGA * w[0] / a, lo), hi);
}

/* the rows of a unit in their order, or from the last to the first */
static void sweep(const perp_lcp *p, const double *A, const perp_unit *unit, int units,
                  const int *order, bool back, double *x)
{
  for (int t = 0; t < units; t++) {
    const perp_unit *u = &unit[order[back ? units - 1 - t : t]];
    for (int s = 0; s < u->r; s++) {
      const int i = u->row + (back ? u->r - 1 - s : s);
      const bool tail = i > u->row && p->cone[i - 1];
      if (back ? p->cone[i] : tail) continue;
      one_row(p, A, back && tail ? i - 1 : i, x);
    }
  }
}

static int mix_of(const perp_lcp *p, const perp_unit *u)
{
  bool boxes = true, normals = true, of_first = true, cones = false;
  for (int i = u->row; i < u->row + u->r; i++) {
    boxes = boxes && p->fric_of[i] < 0;
    normals = normals && p->fric_of[i] < 0 && p->lo[i] == 0 && p->hi[i] == HUGE_VAL;
    of_first = of_first && (i == u->row ? p->fric_of[i] < 0 && p->lo[i] == 0 && p->hi[i] == HUGE_VAL
                                        : p->fric_of[i] == u->row);
    cones = cones || p->cone[i];
  }
  if (normals) return NORMALS;
  if (boxes) return BOXES;
  if (of_first && !cones) return CONTACT_BOX;
  return of_first && cones && u->r == 3 ? CONTACT_CONE : MIXED;
}

static bool share_block(const perp_blocks *F, int c, int d)
{
  for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
    for (int l = F->jptr[d]; l < F->jptr[d + 1]; l++)
      if (F->jblk[k] == F->jblk[l]) return true;
  return false;
}

/* units: a partition in which neighbours in the order of rows stay in order where they share a
 * block */
static int units_off(const perp_rows *R)
{
  const perp_blocks *F = R->p->F;
  int off = 0, row = 0, levels = 0;
  bool outside = false;
  for (int t = 0; t < R->n_units; t++) {
    const perp_unit *u = &R->unit[R->schedule.place[t]];
    off += u->row != row || u->r < 1 || u->contents != mix_of(R->p, u);
    off += u->row < F->cptr[u->group] || u->row >= F->cptr[u->group + 1];
    row += u->r;
    for (int i = u->row; i < row; i++) {
      off += R->unit_of[i] != R->schedule.place[t];
      const int of = R->p->fric_of[i];
      outside = outside || (of >= 0 && (of < u->row || of >= row));
    }
    off += row < R->n && row > 0 && R->p->cone[row - 1];
    for (int s = 0; s < t; s++)
      off += share_block(F, u->group, R->unit[R->schedule.place[s]].group) &&
             R->schedule.place[s] > R->schedule.place[t];
  }
  off += row != R->n || (R->schedule.n_levels == 0) != outside;
  for (int l = 0, t = 0; l < R->schedule.n_levels; l++) /* units of a level wait for nobody */
    for (const int from = t; t < R->schedule.count[l]; t++, levels++)
      for (int s = from; s < t; s++) off += share_block(F, R->unit[s].group, R->unit[t].group);
  return off + (R->schedule.n_levels > 0 && levels != R->n_units);
}

static void largest(double *most, double x)
{
  if (!(x <= *most)) *most = x;
}

static void check_kinds(void)
{
  perp_rng *g = perp_rng_create(21);
  perp_rows R;
  if (perp_rows_open(&ctx, &R, MOST) != PERP_OK) bail("%s", ctx.msg);
  int units = 0, wrong = 0, fine = 0, mixes[5] = { 0 }, unlevelled = 0, judged = 0;
  double swept[2] = { 0 }, slack[2] = { 0 }, products[2] = { 0 }, residual[2] = { 0 };
  static kinds k;
  for (int trial = 0; trial < 150; trial++) {
    const int shape = trial % 3 == 0 ? SHAPE_CONTACTS : trial % 3 == 1 ? SHAPE_PLANAR : SHAPE_ANY;
    const bool triples = trial % 4 == 0;
    random_lcp q = random_factored(g, 1 + trial % 7, 1 + trial % 12, shape, triples ? 1 : 0,
                                   trial % 2 ? 0.3 : 0);
    draw(&q, &k, g, trial / 3 % 3);
    const int n = q.p.n;
    for (int factored = 0; factored < 2; factored++) {
      const perp_lcp p = factored ? *random_as_factored(&q) : *random_as_dense(&q);
      if (perp_rows_prepare(&ctx, &R, &p, OMEGA) != PERP_OK) bail("%s", ctx.msg);
      const double read = factored ? 2. * q.F.joff[q.F.jptr[q.F.nc]] : (double)n * n;
      wrong += R.product != read || R.work != read;
      double bnorm = 0, top = 0;
      bool friction = false;
      for (int i = 0; i < n; i++) top = fmax(top, q.A[i + i * n]);
      for (int i = 0; i < n; i++) {
        double a = q.A[i + i * n], big = 0;
        for (int j = 0; j < n; j++) big = fmax(big, fabs(q.A[i + j * n]));
        if (factored) {
          wrong += !(R.big[i] >= big * (1 - 1e-13));
          big = sqrt(a * top);
        }
        const bool tail = i > 0 && k.cone[i - 1];
        const int type = k.of[i] < 0 ? PERP_ROW_BOUNDED
                         : k.cone[i] ? PERP_ROW_CONE
                         : tail      ? PERP_ROW_CONE_TAIL
                                     : PERP_ROW_FRICTION;
        friction = friction || k.of[i] >= 0;
        wrong += R.type[i] != type || !(fabs(R.big[i] - big) <= 1e-12 * big) ||
                 !(fabs(R.diag[i] - a) <= 1e-12 * a);
        if (type == PERP_ROW_BOUNDED) wrong += R.lo[i] != k.lo[i] || R.hi[i] != k.hi[i];
        if (k.cone[i] || tail) {
          const int f = tail ? i - 1 : i;
          const double c = q.A[f + 1 + (f + 1) * n], b = q.A[f + 1 + f * n], d = q.A[f + f * n];
          a = (d + c + sqrt((d - c) * (d - c) + 4 * b * b)) / 2;
        }
        wrong += !(fabs(R.inv[i] * a / OMEGA - 1) <= 1e-12);
        bnorm = fmax(bnorm, fabs(p.b[i]) / big);
      }
      wrong += R.friction != friction || R.zero_diagonal ||
               !(fabs(R.bnorm - bnorm) <= 1e-12 * bnorm);
      if (factored) {
        units += units_off(&R);
        for (int t = 0; t < R.n_units; t++) mixes[R.unit[t].contents]++;
        for (int t = 0; t < R.n_units; t++) fine += R.unit[t].r > 1;
        unlevelled += R.schedule.n_levels == 0;
      }
      /* single rows */
      double x[MOST], y[MOST], w[MOST], z[MOST], want[MOST];
      for (int i = 0; i < n; i++) x[i] = y[i] = perp_rng_uniform(g, -0.2, 0.6);
      double work = R.work;
      perp_rows_reset(&R, x);
      wrong += R.work - work != (factored ? read / 2 : read);
      const int moved = perp_rng_int(g, n);
      perp_rows_change(&R, moved, 0.25);
      y[moved] += 0.25;
      work = R.work;
      perp_rows_w(&R, y, w);
      wrong += R.work - work != read;
      for (int i = 0; i < n; i++) {
        want[i] = p.b[i];
        for (int j = 0; j < n; j++) want[i] += q.A[i + j * n] * y[j];
        largest(&slack[factored], fabs(perp_rows_slack(&R, y, i) - want[i]));
        largest(&products[factored], fabs(w[i] - want[i]));
        const int j = perp_rng_int(g, n);
        largest(&products[factored], fabs(perp_rows_entry(&R, i, j) - q.A[i + j * n]));
        double lo, hi, lo2 = k.lo[i], hi2 = k.hi[i];
        perp_rows_bounds(&R, y, i, &lo, &hi);
        if (k.of[i] >= 0) hi2 = k.mu[i] * fmax(y[k.of[i]], 0), lo2 = -hi2;
        wrong += fabs(lo - lo2) > 0 || fabs(hi - hi2) > 0;
      }
      perp_rows_A(&R, y, z);
      for (int i = 0; i < n; i++) largest(&products[factored], fabs(z[i] + p.b[i] - want[i]));
      /* projection: bounded rows first */
      perp_rows_project(&R, y, z);
      for (int i = 0; i < n; i++)
        if (k.of[i] < 0) wrong += z[i] != fmin(fmax(y[i], k.lo[i]), k.hi[i]);
      for (int i = 0; i < n; i++) {
        if (k.of[i] < 0) continue;
        const double most = k.mu[i] * fmax(z[k.of[i]], 0);
        if (k.cone[i]) {
          const double s = hypot(y[i], y[i + 1]), f = s > most ? most / s : 1;
          wrong += fabs(z[i] - f * y[i]) > 1e-14 || fabs(z[i + 1] - f * y[i + 1]) > 1e-14;
          i++;
        } else
          wrong += fabs(z[i] - fmin(fmax(y[i], -most), most)) > 0;
      }
      /* sweeps: of rows in order, backwards, and of units as they come */
      int order[MOST], place[MOST];
      for (int t = 0; t < R.n_units; t++) place[t] = order[t] = factored ? R.schedule.place[t] : t;
      perp_rows_project(&R, y, y);
      memcpy(x, y, sizeof x);
      perp_rows_reset(&R, x);
      for (int round = 0; round < 6; round++) {
        if (round > 3) perp_rng_shuffle(g, order, R.n_units);
        double before[MOST], most = 0;
        memcpy(before, x, sizeof before);
        const double said = perp_rows_sweep(&R, x, round > 3 ? order : NULL, round % 2 == 1);
        sweep(&p, q.A, R.unit, R.n_units, round > 3 ? order : place, round % 2 == 1, y);
        for (int i = 0; i < n; i++) {
          largest(&swept[factored], fabs(x[i] - y[i]) / fmax(1, fabs(y[i])));
          most = fmax(most, fabs(x[i] - before[i]));
        }
        wrong += fabs(said - most) > 1e-13 * fmax(1, most);
      }
      /* near a solution, where the judge's safeguard is silent */
      double size = 0, D = 0;
      for (int i = 0; i < n; i++) size = fmax(size, fabs(x[i]));
      perp_rows_w(&R, x, w);
      const double rel = independent_parts(&p, q.A, x, &D);
      size = fmax(size, D);
      if (!(rel * size * size <= 0.5 * D * D)) continue;
      judged++;
      largest(&residual[factored], fabs(perp_rows_residual(&R, x, w) - rel) / fmax(rel, 1e-4));
    }
    random_free(&q);
  }
  ok(wrong == 0, "steps, kinds, bounds, projections and counts (%d wrong)", wrong);
  ok(units == 0, "units hold all rows once and keep the order of those that wait (%d wrong)",
     units);
  ok(mixes[MIXED] > 20 && mixes[BOXES] > 20 && mixes[NORMALS] > 20 && mixes[CONTACT_BOX] > 20 &&
         mixes[CONTACT_CONE] > 5 && fine > 100 && unlevelled > 5,
     "every kind of unit: %d %d %d %d %d", mixes[0], mixes[1], mixes[2], mixes[3], mixes[4]);
  ok(judged > 100, "%d of 300 points are near enough to be judged", judged);
  for (int f = 0; f < 2; f++) {
    const char *form = f ? "factored" : "dense";
    below(swept[f], 1e-11, "%s: sweeps in every order", form);
    below(slack[f], 1e-12, "%s: the slack of a row after a change", form);
    below(products[f], 1e-12, "%s: products and entries", form);
    below(residual[f], 1e-9, "%s: the residual is the judge's", form);
  }
  perp_rows_close(&R);
  perp_rng_destroy(g);
}

/* Zero rows go where b asks for, and stay where that is nowhere; a row whose diagonal alone is zero
 * gets a gradient step. */
static void check_zeros(void)
{
  const double inf = HUGE_VAL;
  static const struct {
    double b, lo, hi, lo2, hi2;
  } rows[] = { { 1, 0, HUGE_VAL, 0, 0 },          { -1, -2, 3, 3, 3 },
               { 0, 0, HUGE_VAL, 0, HUGE_VAL },   { -1, 0, HUGE_VAL, 0, HUGE_VAL },
               { 1, -HUGE_VAL, 4, -HUGE_VAL, 4 }, { 2, -1, 1, -1, -1 } };
  int wrong = 0;
  perp_rows R;
  if (perp_rows_open(&ctx, &R, 3) != PERP_OK) bail("%s", ctx.msg);
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    for (int only = 0; only < 2;
         only++) { /* A = 0 but for a pair of rows [0 2; 3 0] or [4 2; 3 5] */
      const double A[9] = { only ? 0 : 4, 3, 0, 2, only ? 0 : 5, 0, 0, 0, 0 };
      const double b[3] = { 1, -1, rows[k].b }, lo[3] = { 0, 0, rows[k].lo },
                   hi[3] = { inf, inf, rows[k].hi };
      const perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b, .lo = lo, .hi = hi };
      if (perp_rows_prepare(&ctx, &R, &p, OMEGA) != PERP_OK) bail("%s", ctx.msg);
      wrong += R.zero_diagonal != (only == 1) || R.friction;
      wrong += fabs(R.inv[0] - OMEGA / (only ? 2 : 4)) > 1e-15 ||
               fabs(R.inv[1] - OMEGA / (only ? 3 : 5)) > 1e-15;
      wrong += R.inv[2] != 0 || R.big[2] != 1 || R.lo[2] != rows[k].lo2 || R.hi[2] != rows[k].hi2;
      double d[3];
      perp_rows_majorant(&R, d);
      wrong += d[2] != 1 || d[0] != 2 + A[0] || d[1] != 3 + A[4];
    }
  ok(wrong == 0, "rows of zeros and zeros on the diagonal (%d wrong)", wrong);
  const perp_lcp p = { .n = 4 };
  ok(perp_rows_prepare(&ctx, &R, &p, 1) == PERP_ERR_DIM, "a problem too large is refused");
  perp_rows_close(&R);
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_kinds();
  check_zeros();
  return tap_done();
}
