/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A proof that two bodies overlap by a depth along every direction, by branch and bound in long
 * double.
 *
 * With h(d) = h_A(d) + h_B(-d), the depth is at least L when h(d) >= L |d| for all d.  The sphere
 * is cut into convex cells until each is ruled out.  Over a cell with the middle c, d = c + t with
 * t square to c, any pair of pieces bounds h from below, and so does a mean of them:
 *
 *      h(c + t) >= s . (c + t) + sum |x + y(t)| - |x| - a(t),     s the point of A - B at c
 *
 *      |x + y|  >= |x| + a + k b^2 / 2
 *
 *      x = E^T c,  y = E^T t,  a = x . y / |x|,  b^2 = y^2 - a^2
 *
 *      L |c + t| <= L (1 + k_L t^2 / 2)
 *
 * k is the least of what the concave root sqrt((|x| + a)^2 + b^2) leaves over the cell: the bound
 * errs by a term of third order, so that flat minima, along a valley or over a whole cell, take no
 * more than hundreds of cells.  What is left is the least value of a quadratic function over a
 * polygon, which is exact.  Where it is below 0, the point that tells so names another pair of
 * pieces, or shows a direction that is less deep.  A cell is cut where its pairs are equal, or in
 * half. */
#ifndef PERP_DEPTH_PROOF_H
#define PERP_DEPTH_PROOF_H

#include "tests/round_bodies.h"

enum {
  CELL_CORNERS = 24,
  CELL_MANY = 16,
  CELL_STACK = 1000,
  CELL_MIXES = 3,
  CELL_KINKS = 3,
  CELL_SEARCH = 10
};

typedef struct proof_cell {
  int n, kinks; /* corners, counter-clockwise or clockwise; cuts between pieces since the last one
                   in half */
  real v[CELL_CORNERS][3];
} proof_cell;

/* what is to be proved */
typedef struct proof {
  const round_body *a, *b;
  real level; /* without the balls */
  /* of the cell at hand */
  real c[3], u[2][3];
  int n;
  real t[CELL_CORNERS][2];
  real M[3]; /* how h bends at c: xx, xy, yy */
} proof;

typedef struct proof_pair {
  int ia, ib;
} proof_pair;

/* f + g . t + t^T Q t / 2, Q: xx, xy, yy */
typedef struct proof_quadratic {
  real f, g[2], Q[3];
} proof_quadratic;

static inline real proof_at(const proof_quadratic *q, const real t[2])
{
  return q->f + t[0] * (q->g[0] + 0.5L * (q->Q[0] * t[0] + q->Q[1] * t[1])) +
         t[1] * (q->g[1] + 0.5L * (q->Q[1] * t[0] + q->Q[2] * t[1]));
}

static inline void proof_offer(const proof_quadratic *q, real x, real y, real *low, real at[2])
{
  const real h = proof_at(q, (const real[2]){ x, y });
  if (h < *low) *low = h, at[0] = x, at[1] = y;
}

/* the least value over the cell, and where it is */
static inline real proof_least(const proof *p, const proof_quadratic *q, real at[2])
{
  real low = HUGE_VALL;
  at[0] = at[1] = 0;
  const real det = q->Q[0] * q->Q[2] - q->Q[1] * q->Q[1];
  for (int k = 0; k < p->n; k++) {
    const real *v = p->t[k], *w = p->t[k + 1 < p->n ? k + 1 : 0];
    const real e[2] = { w[0] - v[0], w[1] - v[1] };
    const real Qe[2] = { q->Q[0] * e[0] + q->Q[1] * e[1], q->Q[1] * e[0] + q->Q[2] * e[1] };
    const real bend = Qe[0] * e[0] + Qe[1] * e[1];
    const real slope = q->g[0] * e[0] + q->g[1] * e[1] + Qe[0] * v[0] + Qe[1] * v[1];
    proof_offer(q, v[0], v[1], &low, at);
    if (slope < 0 && slope + bend > 0)
      proof_offer(q, v[0] - slope / bend * e[0], v[1] - slope / bend * e[1], &low, at);
  }
  if (!(q->Q[0] > 0 && det > 0)) return low;
  const real x = (q->Q[1] * q->g[1] - q->Q[2] * q->g[0]) / det,
             y = (q->Q[1] * q->g[0] - q->Q[0] * q->g[1]) / det;
  int left = 0, right = 0;
  for (int k = 0; k < p->n; k++) {
    const real *v = p->t[k], *w = p->t[k + 1 < p->n ? k + 1 : 0];
    const real side = (w[0] - v[0]) * (y - v[1]) - (w[1] - v[1]) * (x - v[0]);
    left += side > 0, right += side < 0;
  }
  if ((left == 0) != (right == 0)) proof_offer(q, x, y, &low, at);
  return low;
}

/* One norm of a piece over the cell: s . (c + t) and k b^2 / 2. */
static inline void proof_norm(proof *p, const round_piece *e, real sign, proof_quadratic *q)
{
  real s[3], x[3], y[2][3], a[2] = { 0 }, len = 0, least = 0, most = 0, wide = 0;
  q->f += round_piece_support(e, sign, p->c, s);
  for (int i = 0; i < 2; i++) q->g[i] += sign * dot(s, p->u[i]);
  for (int k = 0; k < e->n; k++) x[k] = dot(e->E[k], p->c), len += x[k] * x[k];
  len = sqrtl(len);
  if (!(len > 0)) return;
  for (int i = 0; i < 2; i++) {
    for (int k = 0; k < e->n; k++) y[i][k] = dot(e->E[k], p->u[i]), a[i] += x[k] / len * y[i][k];
    for (int k = 0; k < e->n; k++) y[i][k] -= a[i] * x[k] / len;
  }
  real B[3] = { 0 };
  for (int k = 0; k < e->n; k++) {
    B[0] += y[0][k] * y[0][k];
    B[1] += y[0][k] * y[1][k];
    B[2] += y[1][k] * y[1][k];
  }
  for (int i = 0; i < 3 && e->n == 3; i++) p->M[i] += B[i] / len;
  for (int k = 0; k < p->n; k++) {
    const real *t = p->t[k], part = a[0] * t[0] + a[1] * t[1];
    least = fminl(least, part);
    most = fmaxl(most, part);
    wide = fmaxl(wide, B[0] * t[0] * t[0] + 2 * B[1] * t[0] * t[1] + B[2] * t[1] * t[1]);
  }
  if (!(len + least > 0) || !(wide > 0)) return;
  const real z = wide / ((len + least) * (len + least));
  const real k = 2 / (1 + sqrtl(1 + z)) / (len + most); /* (sqrt(1 + z) - 1) / (z / 2) */
  for (int i = 0; i < 3; i++) q->Q[i] += k * B[i];
}

/* the bound of a pair of pieces, less L |c + t| */
static inline void proof_bound(proof *p, proof_pair pair, proof_quadratic *q)
{
  real far = 0, k = 1;
  *q = (proof_quadratic){ .f = -p->level };
  round_piece room;
  proof_norm(p, round_piece_of(p->a, pair.ia, &room), 1, q);
  proof_norm(p, round_piece_of(p->b, pair.ib, &room), -1, q);
  for (int i = 0; i < p->n; i++)
    far = fmaxl(far, p->t[i][0] * p->t[i][0] + p->t[i][1] * p->t[i][1]);
  if (p->level < 0) k = 2 / (1 + sqrtl(1 + far));
  q->Q[0] -= k * p->level;
  q->Q[2] -= k * p->level;
}

static inline void proof_unit(real d[3])
{
  const real len = length(d);
  for (int i = 0; i < 3; i++) d[i] /= len;
}

/* A - B along d, not of unit length: the point s; returns the pieces */
static inline proof_pair proof_support(const proof *p, const real d[3], real s[3])
{
  real t[3];
  const proof_pair pair = { round_support(p->a, 1, d, s), round_support(p->b, -1, d, t) };
  for (int i = 0; i < 3; i++) s[i] -= t[i];
  return pair;
}

static inline void proof_point(const proof *p, proof_pair pair, const real d[3], real s[3])
{
  round_piece room;
  real t[3];
  round_piece_support(round_piece_of(p->a, pair.ia, &room), 1, d, s);
  round_piece_support(round_piece_of(p->b, pair.ib, &room), -1, d, t);
  for (int i = 0; i < 3; i++) s[i] -= t[i];
}

static inline void proof_enter(proof *p, const proof_cell *cell)
{
  real least[3] = { 0 };
  for (int i = 0; i < 3; i++) p->c[i] = 0;
  for (int k = 0; k < cell->n; k++)
    for (int i = 0; i < 3; i++) p->c[i] += cell->v[k][i];
  proof_unit(p->c);
  least[fabsl(p->c[0]) < 0.6L ? 0 : 1] = 1;
  cross(p->c, least, p->u[0]);
  proof_unit(p->u[0]);
  cross(p->c, p->u[0], p->u[1]);
  p->n = cell->n;
  for (int k = 0; k < cell->n; k++)
    for (int i = 0; i < 2; i++) p->t[k][i] = dot(cell->v[k], p->u[i]) / dot(cell->v[k], p->c);
}

/* the plane through 0 where two pairs are equal, between c and d */
static inline void proof_kink(const proof *p, proof_pair first, proof_pair second, const real d[3],
                              real m[3])
{
  real part = 1, s[3], t[3], e[3];
  for (int turn = 0; turn < 4; turn++) {
    for (int i = 0; i < 3; i++) e[i] = p->c[i] + part * (d[i] - p->c[i]);
    proof_point(p, first, e, s);
    proof_point(p, second, e, t);
    for (int i = 0; i < 3; i++) m[i] = s[i] - t[i];
    const real here = dot(m, p->c), there = dot(m, d);
    if (!(here > 0) || !(there < 0)) return;
    part = here / (here - there);
  }
}

/* Is the cell ruled out?  1: yes, 0: *lower is a value below the level, -1: cut it along the plane
 * m, true in *kink: which is between pieces. */
static inline int proof_rule_out(proof *p, real *lower, real m[3], bool *kink)
{
  proof_quadratic mix, q;
  real s[3], at[2], d[3];
  const proof_pair first = proof_support(p, p->c, s);
  *kink = false;
  *lower = dot(s, p->c);
  if (*lower < p->level) return 0;
  for (int i = 0; i < 3; i++) p->M[i] = i == 1 ? 0 : fmaxl(fabsl(p->level), 1e-6L * length(s));
  proof_bound(p, first, &mix);
  real low = proof_least(p, &mix, at);
  for (int k = 0; k < CELL_MIXES && low < 0; k++) {
    for (int i = 0; i < 3; i++) d[i] = p->c[i] + at[0] * p->u[0][i] + at[1] * p->u[1][i];
    const proof_pair other = proof_support(p, d, s);
    *lower = dot(s, d) / length(d);
    if (*lower < p->level) return 0;
    if (other.ia == first.ia && other.ib == first.ib) break;
    if (k == 0) *kink = true, proof_kink(p, first, other, d, m);
    proof_bound(p, other, &q);
    if (!(proof_at(&q, at) > low)) break;
    /* the mean of both with the highest least value, a concave function of the weight */
    real from = 0, to = 1, best = low;
    const proof_quadratic start = mix;
    for (int turn = 0; turn < CELL_SEARCH && low < 0; turn++) {
      const real w = 0.5L * (from + to);
      real where[2];
      proof_quadratic mean;
      mean.f = start.f + w * (q.f - start.f);
      for (int i = 0; i < 2; i++) mean.g[i] = start.g[i] + w * (q.g[i] - start.g[i]);
      for (int i = 0; i < 3; i++) mean.Q[i] = start.Q[i] + w * (q.Q[i] - start.Q[i]);
      const real now = proof_least(p, &mean, where);
      if (now > best) best = low = now, mix = mean, memcpy(at, where, sizeof where);
      *(proof_at(&q, where) > proof_at(&start, where) ? &from : &to) = w;
    }
  }
  return low >= 0 ? 1 : -1;
}

/* Through the middle, across the diagonal that is the longest where a length is measured by how
 * much h bends along it: cells get long along a valley, and narrow across it. */
static inline void proof_halve(const proof *p, real m[3])
{
  real most = -1;
  for (int k = 0; k < 3; k++) m[k] = 0;
  for (int j = 0; j < p->n; j++)
    for (int i = 0; i < j; i++) {
      const real x = p->t[i][0] - p->t[j][0], y = p->t[i][1] - p->t[j][1];
      const real e[2] = { p->M[0] * x + p->M[1] * y, p->M[1] * x + p->M[2] * y };
      if (e[0] * x + e[1] * y <= most) continue;
      most = e[0] * x + e[1] * y;
      for (int k = 0; k < 3; k++) m[k] = e[0] * p->u[0][k] + e[1] * p->u[1][k];
    }
}

/* The part of the cell where m . v >= 0; false: nothing, or all. */
static inline bool proof_cut(const proof_cell *cell, const real m[3], real sign, proof_cell *part)
{
  bool in = false, out = false;
  part->n = 0;
  for (int k = 0; k < cell->n; k++) {
    const real *v = cell->v[k], *w = cell->v[k + 1 < cell->n ? k + 1 : 0];
    const real x = sign * dot(m, v), y = sign * dot(m, w);
    in = in || x > 0, out = out || x < 0;
    if (x >= 0) memcpy(part->v[part->n++], v, sizeof part->v[0]);
    if ((x > 0 && y < 0) || (x < 0 && y > 0)) {
      real *z = part->v[part->n++];
      for (int i = 0; i < 3; i++) z[i] = (y * v[i] - x * w[i]) / (y - x);
      proof_unit(z);
    }
  }
  return in && out;
}

/* Is h at least `level` everywhere?  1: yes, 0: *lower is a value below, -1: `budget` cells do not
 * tell.  used: cells. */
static inline int prove_depth(const round_body *a, const round_body *b, real level, int budget,
                              real *lower, int *used)
{
  static proof_cell stack[CELL_STACK];
  const real balls = a->radius + b->radius;
  proof p = { .a = a, .b = b, .level = level - balls };
  int n = 0;
  for (*used = 0; n < 8; n++) {
    stack[n] = (proof_cell){ .n = 3 };
    for (int i = 0; i < 3; i++) stack[n].v[i][i] = n >> i & 1 ? -1 : 1;
  }
  while (n > 0) {
    const proof_cell cell = stack[--n];
    real m[3] = { 0 }, low;
    bool kink;
    if ((*used)++ == budget) return -1;
    proof_enter(&p, &cell);
    const int answer = proof_rule_out(&p, &low, m, &kink);
    if (answer == 0) *lower = low + balls;
    if (answer == 0) return 0;
    if (answer > 0) continue;
    if (n + 2 > CELL_STACK) bail("the stack of the oracle is full");
    kink = kink && cell.kinks < CELL_KINKS && cell.n <= CELL_MANY &&
           proof_cut(&cell, m, 1, &stack[n]) && proof_cut(&cell, m, -1, &stack[n + 1]);
    if (!kink) {
      proof_halve(&p, m);
      if (!proof_cut(&cell, m, 1, &stack[n]) || !proof_cut(&cell, m, -1, &stack[n + 1])) return -1;
    }
    for (int i = 0; i < 2; i++) stack[n++].kinks = kink ? cell.kinks + 1 : 0;
  }
  return 1;
}

#endif
