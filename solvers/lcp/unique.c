/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/unique_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = PERP_UNIQUE_ROWS, PASSES = 300, PATIENCE = 25, STEPS = 400 };
/* of a column, in the metric of A: what is left of it is rounding */
static const double RANK = 1e-10;
/* of the largest normal impulse: none */
static const double NONE = PERP_UNIQUE_NONE;
/* of friction at its limit */
static const double LIMIT = 1e-9;
/* of the impulses: they are within the cones */
static const double CLOSE = 1e-11;

perp_status perp_unique_create(perp_ctx *ctx, perp_unique **out)
{
  *out = malloc(sizeof **out);
  if (*out == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for unique impulses");
  return PERP_OK;
}

void perp_unique_destroy(perp_unique *u)
{
  free(u);
}

static double unique_length(int n, const double *x)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* ---- directions ---- */

static int unique_add(perp_unique *u, int n, int row, int rows, double a, double b, double c)
{
  u->column[n] = (column){ row, rows, { a, b, c } };
  return n + 1;
}

/* Directions of contact c: those of a space, or (one_way) the edges of a cone beside it. */
static int unique_contact(perp_unique *u, const perp_unique_problem *p, const double *lambda,
                          const double *w, int c, double least, bool one_way, int n)
{
  const int at = p->r * c, k = p->r - 1;
  const double *x = lambda + at, *v = w + at, slip = unique_length(k, v + 1);
  const bool loaded = x[0] > least, slides = slip > p->tol;
  const double mu = k > 0 ? p->mu[c] : 0;
  if (!loaded && v[0] > p->tol) return n;
  if (!(mu > 0)) return loaded == one_way ? n : unique_add(u, n, at, 1, 1, 0, 0);
  if (!loaded) {
    if (!one_way) return n;
    const double m = slides ? mu / slip : mu;
    if (slides) return unique_add(u, n, at, p->r, 1, -m * v[1], k > 1 ? -m * v[2] : 0);
    for (int i = 0; i < 2 * k; i++) {
      const double side = i % 2 == 0 ? m : -m;
      n = unique_add(u, n, at, p->r, 1, i < 2 ? side : 0, i < 2 ? 0 : side);
    }
    return n;
  }
  const double t1 = x[1] / x[0], t2 = k > 1 ? x[2] / x[0] : 0, t = hypot(t1, t2);
  const bool limit = slides || t >= (1 - LIMIT) * mu;
  if (one_way) return limit && !slides ? unique_add(u, n, at, 1, 1, 0, 0) : n;
  n = unique_add(u, n, at, p->r, 1, t1, t2);
  if (slides) return n;
  if (limit) return k > 1 ? unique_add(u, n, at, 3, 0, -t2 / t, t1 / t) : n;
  n = unique_add(u, n, at, p->r, 0, 1, 0);
  return k > 1 ? unique_add(u, n, at, 3, 0, 0, 1) : n;
}

static int unique_row(perp_unique *u, const perp_unique_problem *p, const double *lambda,
                      const double *w, int i, bool one_way, int n)
{
  const int at = p->r * p->nc + i;
  const bool low = lambda[at] <= p->lo[i], high = lambda[at] >= p->hi[i];
  if (!low && !high) return one_way ? n : unique_add(u, n, at, 1, 1, 0, 0);
  if (!one_way || (low && high) || fabs(w[at]) > p->tol) return n;
  return unique_add(u, n, at, 1, low ? 1 : -1, 0, 0);
}

static double unique_product(const perp_unique_problem *p, const column *a, const column *b)
{
  double sum = 0;
  for (int j = 0; j < b->rows; j++)
    for (int i = 0; i < a->rows; i++)
      sum += a->d[i] * b->d[j] * p->A[a->row + i + (size_t)(b->row + j) * (size_t)p->lda];
  return sum;
}

/* ---- are they unique? ---- */

/* G of n columns of length 1 (in the metric of A); false: a column has none. */
static bool unique_gram(perp_unique *u, const perp_unique_problem *p, int n)
{
  double largest = 0;
  for (int i = 0; i < n; i++) {
    u->diag[i] = unique_product(p, &u->column[i], &u->column[i]);
    largest = fmax(largest, u->diag[i]);
  }
  for (int i = 0; i < n; i++) {
    if (!(u->diag[i] > RANK * largest)) return false;
    u->diag[i] = 1 / sqrt(u->diag[i]);
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i <= j; i++)
      u->G[i + j * n] = u->G[j + i * n] = u->diag[i] * u->diag[j] *
                                          unique_product(p, &u->column[i], &u->column[j]);
  return true;
}

/* Takes the first k of n columns out of the others; false: they are dependent. */
static bool unique_eliminate(perp_unique *u, int k, int n)
{
  double *G = u->G;
  for (int i = 0; i < k; i++) u->order[i] = i;
  for (int step = 0; step < k; step++) {
    int best = step;
    for (int i = step + 1; i < k; i++)
      if (G[u->order[i] * (n + 1)] > G[u->order[best] * (n + 1)]) best = i;
    const int at = u->order[best];
    u->order[best] = u->order[step];
    u->order[step] = at;
    const double pivot = G[at * (n + 1)];
    if (!(pivot > RANK)) return false;
    for (int i = 0; i < n; i++) u->g[i] = G[i + at * n];
    for (int j = 0; j < n; j++) {
      const double f = u->g[j] / pivot;
      if (f == 0) continue;
      for (int i = 0; i < n; i++) G[i + j * n] -= u->g[i] * f;
    }
  }
  return true;
}

/* Is 0 in the convex hull of columns k ... n - 1, whose Gram matrix is left in G?  Conditional
 * gradients with away steps on d' G d over the simplex; the gap bounds how far it is from the
 * least. */
static bool unique_hull(perp_unique *u, int k, int n)
{
  const double *G = u->G;
  double *d = u->d, *g = u->g;
  for (int i = k; i < n; i++) {
    d[i] = i == k;
    g[i] = G[i + k * n];
  }
  for (int step = 0; step < STEPS; step++) {
    int to = k, away = -1;
    double value = 0;
    for (int i = k; i < n; i++) {
      value += d[i] * g[i];
      if (g[i] < g[to]) to = i;
      if (d[i] > 0 && (away < 0 || g[i] > g[away])) away = i;
    }
    if (value <= RANK) return true;
    if (g[to] > RANK) return false; /* a plane between 0 and the hull: g_i = c_i . c > 0 */
    /* from `away` to `to`, as far as the weight of `away` reaches */
    const double slope = g[away] - g[to],
                 curve = G[to * (n + 1)] + G[away * (n + 1)] - 2 * G[to + away * n];
    if (!(slope > 0)) return false;
    const double t = curve > 0 ? fmin(d[away], slope / curve) : d[away];
    d[to] += t;
    d[away] -= t;
    for (int i = k; i < n; i++) g[i] += t * (G[i + to * n] - G[i + away * n]);
  }
  return false;
}

bool perp_unique_impulses(perp_unique *u, const perp_unique_problem *p, const double *lambda,
                          const double *w)
{
  const int rows = p->n - p->r * p->nc;
  double largest = 0;
  if (p->n > ROWS) return false;
  for (int c = 0; c < p->nc; c++) largest = fmax(largest, lambda[p->r * c]);
  int n = 0, k = 0;
  for (int way = 0; way < 2; way++) {
    for (int c = 0; c < p->nc; c++)
      n = unique_contact(u, p, lambda, w, c, NONE * largest, way == 1, n);
    for (int i = 0; i < rows; i++) n = unique_row(u, p, lambda, w, i, way == 1, n);
    if (way == 0) k = n;
  }
  if (n == 0) return true;
  if (!unique_gram(u, p, n) || !unique_eliminate(u, k, n)) return false;
  return n == k || !unique_hull(u, k, n);
}

/* ---- the impulses that stop everything ---- */

/* Rows that are to stop, u->row [returned]; the others keep the impulses in u->x [n], those of open
 * contacts are 0. */
static int unique_touching(perp_unique *u, const perp_unique_problem *p, const double *lambda,
                           const double *w)
{
  int m = 0;
  for (int c = 0; c < p->nc; c++) {
    const int at = p->r * c;
    const bool touches = lambda[at] > 0 || w[at] <= p->tol;
    for (int i = 0; i < p->r; i++) {
      u->x[at + i] = 0;
      if (touches) u->row[m++] = at + i;
    }
  }
  for (int i = 0, at = p->r * p->nc; at < p->n; i++, at++) {
    const bool within = lambda[at] > p->lo[i] && lambda[at] < p->hi[i];
    u->x[at] = within ? 0 : lambda[at];
    if (within) u->row[m++] = at;
  }
  return m;
}

/* A of the rows = L L', L [m, rank] in u->G; returns the rank. */
static int unique_factor(perp_unique *u, const perp_unique_problem *p, int m)
{
  double *L = u->G, largest = 0;
  int rank = 0;
  for (int i = 0; i < m; i++) {
    u->diag[i] = u->scale[i] * u->scale[i] * p->A[u->row[i] * (size_t)(p->lda + 1)];
    largest = fmax(largest, u->diag[i]);
  }
  for (; rank < m; rank++) {
    int at = 0;
    for (int i = 1; i < m; i++)
      if (u->diag[i] > u->diag[at]) at = i;
    if (!(u->diag[at] > RANK * largest)) break;
    const double pivot = sqrt(u->diag[at]);
    double *l = L + rank * m;
    for (int i = 0; i < m; i++) {
      double a = u->scale[i] * u->scale[at] * p->A[u->row[i] + (size_t)u->row[at] * (size_t)p->lda];
      for (int j = 0; j < rank; j++) a -= L[i + j * m] * L[at + j * m];
      l[i] = a / pivot;
      u->diag[i] -= l[i] * l[i];
    }
    u->diag[at] = 0;
  }
  return rank;
}

/* The factor of L' L, in u->square. */
static void unique_cholesky(perp_unique *u, int m, int rank)
{
  double *S = u->square;
  for (int j = 0; j < rank; j++)
    for (int i = j; i < rank; i++) {
      double sum = 0;
      for (int k = 0; k < m; k++) sum += u->G[k + i * m] * u->G[k + j * m];
      for (int k = 0; k < j; k++) sum -= S[i + k * rank] * S[j + k * rank];
      S[i + j * rank] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / S[j + j * rank];
    }
}

/* c [rank] = (L' L)^-1 c */
static void unique_solve(const perp_unique *u, int rank, double *c)
{
  const double *S = u->square;
  for (int i = 0; i < rank; i++) {
    for (int k = 0; k < i; k++) c[i] -= S[i + k * rank] * c[k];
    c[i] /= S[i + i * rank];
  }
  for (int i = rank; i-- > 0;) {
    for (int k = i + 1; k < rank; k++) c[i] -= S[k + i * rank] * c[k];
    c[i] /= S[i + i * rank];
  }
}

/* u->c = L' x - c0 */
static void unique_miss(perp_unique *u, int m, int rank, const double *x, const double *c0)
{
  for (int j = 0; j < rank; j++) {
    double sum = 0;
    for (int i = 0; i < m; i++) sum += u->G[i + j * m] * x[i];
    u->c[j] = sum - (c0 != NULL ? c0[j] : 0);
  }
}

/* x [m], its contacts first: the nearest point of all cones and bounds; how far was it? */
static double unique_project(const perp_unique *u, const perp_unique_problem *p, int m, double *x)
{
  double far = 0;
  for (int i = 0; i < m;) {
    const int at = u->row[i], c = at / p->r;
    if (c >= p->nc) {
      const int further = at - p->r * p->nc;
      const double s = u->scale[i], y = fmin(fmax(x[i], p->lo[further] / s), p->hi[further] / s);
      far += (x[i] - y) * (x[i] - y);
      x[i++] = y;
      continue;
    }
    const double mu = p->r > 1 ? p->mu[c] : 0, t = unique_length(p->r - 1, x + i + 1), n = x[i];
    if (t > mu * n) {
      const double y = fmax(0, (n + mu * t) / (1 + mu * mu)), f = t > 0 ? mu * y / t : 0;
      far += (n - y) * (n - y) + (1 - f) * (1 - f) * t * t;
      x[i] = y;
      for (int k = 1; k < p->r; k++) x[i + k] *= f;
    }
    i += p->r;
  }
  return sqrt(far);
}

bool perp_unique_stick(perp_unique *u, const perp_unique_problem *p, const double *lambda_s,
                       const double *w_s, double *lambda)
{
  if (p->n > ROWS) return false;
  const int m = unique_touching(u, p, lambda_s, w_s);
  double mean = 0;
  if (m == 0 || p->nc == 0) return false;
  for (int i = 0; i < p->r * p->nc; i++) mean += p->A[i * (size_t)(p->lda + 1)] / (p->r * p->nc);
  for (int i = 0; i < m; i++) { /* further rows in the units of contacts */
    const double a = p->A[u->row[i] * (size_t)(p->lda + 1)];
    u->scale[i] = u->row[i] < p->r * p->nc || !(a > 0) ? 1 : sqrt(mean / a);
    double b = p->b[u->row[i]];
    for (int j = p->r * p->nc; j < p->n; j++)
      b += p->A[u->row[i] + (size_t)j * (size_t)p->lda] * u->x[j];
    u->b[i] = u->scale[i] * b;
  }
  const int rank = unique_factor(u, p, m);
  unique_cholesky(u, m, rank);
  /* L L' x = -b has solutions if b is in the range of L: c0 = -(L' L)^-1 L' b is then L' x */
  double *c0 = u->d;
  unique_miss(u, m, rank, u->b, NULL);
  for (int j = 0; j < rank; j++) c0[j] = -u->c[j];
  unique_solve(u, rank, c0);
  for (int i = 0; i < m; i++) {
    double left = u->b[i];
    for (int j = 0; j < rank; j++) left += u->G[i + j * m] * c0[j];
    if (!(fabs(left) <= u->scale[i] * p->tol)) return false;
  }
  double *x = u->y, *q = u->q, *z = u->z, best = HUGE_VAL;
  for (int i = 0; i < m; i++) {
    x[i] = lambda[u->row[i]] / u->scale[i];
    q[i] = 0;
  }
  int since = 0;
  bool found = false;
  for (int pass = 0; pass < PASSES && since < PATIENCE; pass++) {
    unique_miss(u, m, rank, x, c0);
    unique_solve(u, rank, u->c);
    for (int i = 0; i < m; i++) {
      double y = x[i];
      for (int j = 0; j < rank; j++) y -= u->G[i + j * m] * u->c[j];
      z[i] = x[i] = y; /* stops everything */
      z[i] += q[i];
    }
    memcpy(u->g, x, (size_t)m * sizeof *x);
    const double far = unique_project(u, p, m, u->g);
    found = far <= CLOSE * unique_length(m, x);
    if (found) break;
    since = far < 0.99 * best ? 0 : since + 1;
    best = fmin(best, far);
    memcpy(u->g, z, (size_t)m * sizeof *z);
    unique_project(u, p, m, z);
    for (int i = 0; i < m; i++) {
      q[i] = u->g[i] - z[i];
      x[i] = z[i];
    }
  }
  if (!found) return false;
  memcpy(lambda, u->x, (size_t)p->n * sizeof *lambda);
  unique_project(u, p, m, x);
  for (int i = 0; i < m; i++) lambda[u->row[i]] = u->scale[i] * x[i];
  return true;
}
