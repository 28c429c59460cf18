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

void perp_unique_destroy(perp_unique *unique)
{
  free(unique);
}

static double unique_length(int n, const double *x)
{
  double sum = 0;
  for (int i = 0; i < n; i++) sum += x[i] * x[i];
  return sqrt(sum);
}

/* ---- directions ---- */

static int unique_add(perp_unique *unique, int n, int row, int rows, double a, double b, double c)
{
  unique->column[n] = (column){ row, rows, { a, b, c } };
  return n + 1;
}

/* Directions of contact c: those of a space, or (one_way) the edges of a cone beside it. */
static int unique_contact(perp_unique *unique, const perp_unique_problem *problem,
                          const double *lambda, const double *w, int c, double least, bool one_way,
                          int n)
{
  const int at = problem->r * c, k = problem->r - 1;
  const double *x = lambda + at, *v = w + at, slip = unique_length(k, v + 1);
  const bool loaded = x[0] > least, slides = slip > problem->tol;
  const double mu = k > 0 ? problem->mu[c] : 0;
  if (!loaded && v[0] > problem->tol) return n;
  if (!(mu > 0)) return loaded == one_way ? n : unique_add(unique, n, at, 1, 1, 0, 0);
  if (!loaded) {
    if (!one_way) return n;
    const double m = slides ? mu / slip : mu;
    if (slides) return unique_add(unique, n, at, problem->r, 1, -m * v[1], k > 1 ? -m * v[2] : 0);
    for (int i = 0; i < 2 * k; i++) {
      const double side = i % 2 == 0 ? m : -m;
      n = unique_add(unique, n, at, problem->r, 1, i < 2 ? side : 0, i < 2 ? 0 : side);
    }
    return n;
  }
  const double t1 = x[1] / x[0], t2 = k > 1 ? x[2] / x[0] : 0, t = hypot(t1, t2);
  const bool limit = slides || t >= (1 - LIMIT) * mu;
  if (one_way) return limit && !slides ? unique_add(unique, n, at, 1, 1, 0, 0) : n;
  n = unique_add(unique, n, at, problem->r, 1, t1, t2);
  if (slides) return n;
  if (limit) return k > 1 ? unique_add(unique, n, at, 3, 0, -t2 / t, t1 / t) : n;
  n = unique_add(unique, n, at, problem->r, 0, 1, 0);
  return k > 1 ? unique_add(unique, n, at, 3, 0, 0, 1) : n;
}

static int unique_row(perp_unique *unique, const perp_unique_problem *problem, const double *lambda,
                      const double *w, int i, bool one_way, int n)
{
  const int at = problem->r * problem->nc + i;
  const bool low = lambda[at] <= problem->lo[i], high = lambda[at] >= problem->hi[i];
  if (!low && !high) return one_way ? n : unique_add(unique, n, at, 1, 1, 0, 0);
  if (!one_way || (low && high) || fabs(w[at]) > problem->tol) return n;
  return unique_add(unique, n, at, 1, low ? 1 : -1, 0, 0);
}

static double unique_product(const perp_unique_problem *problem, const column *a, const column *b)
{
  double sum = 0;
  for (int j = 0; j < b->rows; j++)
    for (int i = 0; i < a->rows; i++)
      sum += a->d[i] * b->d[j] *
             problem->A[a->row + i + (size_t)(b->row + j) * (size_t)problem->lda];
  return sum;
}

/* ---- are they unique? ---- */

/* G of n columns of length 1 (in the metric of A); false: a column has none. */
static bool unique_gram(perp_unique *unique, const perp_unique_problem *problem, int n)
{
  double largest = 0;
  for (int i = 0; i < n; i++) {
    unique->diag[i] = unique_product(problem, &unique->column[i], &unique->column[i]);
    largest = fmax(largest, unique->diag[i]);
  }
  for (int i = 0; i < n; i++) {
    if (!(unique->diag[i] > RANK * largest)) return false;
    unique->diag[i] = 1 / sqrt(unique->diag[i]);
  }
  for (int j = 0; j < n; j++)
    for (int i = 0; i <= j; i++)
      unique->G[i + j * n] = unique->G[j + i * n] = unique->diag[i] * unique->diag[j] *
                                                    unique_product(problem, &unique->column[i],
                                                                   &unique->column[j]);
  return true;
}

/* Takes the first k of n columns out of the others; false: they are dependent. */
static bool unique_eliminate(perp_unique *unique, int k, int n)
{
  double *G = unique->G;
  for (int i = 0; i < k; i++) unique->order[i] = i;
  for (int step = 0; step < k; step++) {
    int best = step;
    for (int i = step + 1; i < k; i++)
      if (G[unique->order[i] * (n + 1)] > G[unique->order[best] * (n + 1)]) best = i;
    const int at = unique->order[best];
    unique->order[best] = unique->order[step];
    unique->order[step] = at;
    const double pivot = G[at * (n + 1)];
    if (!(pivot > RANK)) return false;
    for (int i = 0; i < n; i++) unique->g[i] = G[i + at * n];
    for (int j = 0; j < n; j++) {
      const double f = unique->g[j] / pivot;
      if (f == 0) continue;
      for (int i = 0; i < n; i++) G[i + j * n] -= unique->g[i] * f;
    }
  }
  return true;
}

/* Is 0 in the convex hull of columns k ... n - 1, whose Gram matrix is left in G?  Conditional
 * gradients with away steps on d' G d over the simplex; the gap bounds how far it is from the
 * least. */
static bool unique_hull(perp_unique *unique, int k, int n)
{
  const double *G = unique->G;
  double *d = unique->d, *g = unique->g;
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

bool perp_unique_impulses(perp_unique *unique, const perp_unique_problem *problem,
                          const double *lambda, const double *w)
{
  const int rows = problem->n - problem->r * problem->nc;
  double largest = 0;
  if (problem->n > ROWS) return false;
  for (int c = 0; c < problem->nc; c++) largest = fmax(largest, lambda[problem->r * c]);
  int n = 0, k = 0;
  for (int way = 0; way < 2; way++) {
    for (int c = 0; c < problem->nc; c++)
      n = unique_contact(unique, problem, lambda, w, c, NONE * largest, way == 1, n);
    for (int i = 0; i < rows; i++) n = unique_row(unique, problem, lambda, w, i, way == 1, n);
    if (way == 0) k = n;
  }
  if (n == 0) return true;
  if (!unique_gram(unique, problem, n) || !unique_eliminate(unique, k, n)) return false;
  return n == k || !unique_hull(unique, k, n);
}

/* ---- the impulses that stop everything ---- */

/* Rows that are to stop, unique->row [returned]; the others keep the impulses in unique->x [n],
 * those of open contacts are 0. */
static int unique_touching(perp_unique *unique, const perp_unique_problem *problem,
                           const double *lambda, const double *w)
{
  int m = 0;
  for (int c = 0; c < problem->nc; c++) {
    const int at = problem->r * c;
    const bool touches = lambda[at] > 0 || w[at] <= problem->tol;
    for (int i = 0; i < problem->r; i++) {
      unique->x[at + i] = 0;
      if (touches) unique->row[m++] = at + i;
    }
  }
  for (int i = 0, at = problem->r * problem->nc; at < problem->n; i++, at++) {
    const bool within = lambda[at] > problem->lo[i] && lambda[at] < problem->hi[i];
    unique->x[at] = within ? 0 : lambda[at];
    if (within) unique->row[m++] = at;
  }
  return m;
}

/* A of the rows = L L', L [m, rank] in unique->G; returns the rank. */
static int unique_factor(perp_unique *unique, const perp_unique_problem *problem, int m)
{
  double *L = unique->G, largest = 0;
  int rank = 0;
  for (int i = 0; i < m; i++) {
    unique->diag[i] = unique->scale[i] * unique->scale[i] *
                      problem->A[unique->row[i] * (size_t)(problem->lda + 1)];
    largest = fmax(largest, unique->diag[i]);
  }
  for (; rank < m; rank++) {
    int at = 0;
    for (int i = 1; i < m; i++)
      if (unique->diag[i] > unique->diag[at]) at = i;
    if (!(unique->diag[at] > RANK * largest)) break;
    const double pivot = sqrt(unique->diag[at]);
    double *l = L + rank * m;
    for (int i = 0; i < m; i++) {
      double a = unique->scale[i] * unique->scale[at] *
                 problem->A[unique->row[i] + (size_t)unique->row[at] * (size_t)problem->lda];
      for (int j = 0; j < rank; j++) a -= L[i + j * m] * L[at + j * m];
      l[i] = a / pivot;
      unique->diag[i] -= l[i] * l[i];
    }
    unique->diag[at] = 0;
  }
  return rank;
}

/* The factor of L' L, in unique->square. */
static void unique_cholesky(perp_unique *unique, int m, int rank)
{
  double *S = unique->square;
  for (int j = 0; j < rank; j++)
    for (int i = j; i < rank; i++) {
      double sum = 0;
      for (int k = 0; k < m; k++) sum += unique->G[k + i * m] * unique->G[k + j * m];
      for (int k = 0; k < j; k++) sum -= S[i + k * rank] * S[j + k * rank];
      S[i + j * rank] = i == j ? sqrt(fmax(sum, 1e-300)) : sum / S[j + j * rank];
    }
}

/* c [rank] = (L' L)^-1 c */
static void unique_solve(const perp_unique *unique, int rank, double *c)
{
  const double *S = unique->square;
  for (int i = 0; i < rank; i++) {
    for (int k = 0; k < i; k++) c[i] -= S[i + k * rank] * c[k];
    c[i] /= S[i + i * rank];
  }
  for (int i = rank; i-- > 0;) {
    for (int k = i + 1; k < rank; k++) c[i] -= S[k + i * rank] * c[k];
    c[i] /= S[i + i * rank];
  }
}

/* unique->c = L' x - c0 */
static void unique_miss(perp_unique *unique, int m, int rank, const double *x, const double *c0)
{
  for (int j = 0; j < rank; j++) {
    double sum = 0;
    for (int i = 0; i < m; i++) sum += unique->G[i + j * m] * x[i];
    unique->c[j] = sum - (c0 != NULL ? c0[j] : 0);
  }
}

/* x [m], its contacts first: the nearest point of all cones and bounds; how far was it? */
static double unique_project(const perp_unique *unique, const perp_unique_problem *problem, int m,
                             double *x)
{
  double far = 0;
  for (int i = 0; i < m;) {
    const int at = unique->row[i], c = at / problem->r;
    if (c >= problem->nc) {
      const int further = at - problem->r * problem->nc;
      const double s = unique->scale[i],
                   y = fmin(fmax(x[i], problem->lo[further] / s), problem->hi[further] / s);
      far += (x[i] - y) * (x[i] - y);
      x[i++] = y;
      continue;
    }
    const double mu = problem->r > 1 ? problem->mu[c] : 0,
                 t = unique_length(problem->r - 1, x + i + 1), n = x[i];
    if (t > mu * n) {
      const double y = fmax(0, (n + mu * t) / (1 + mu * mu)), f = t > 0 ? mu * y / t : 0;
      far += (n - y) * (n - y) + (1 - f) * (1 - f) * t * t;
      x[i] = y;
      for (int k = 1; k < problem->r; k++) x[i + k] *= f;
    }
    i += problem->r;
  }
  return sqrt(far);
}

bool perp_unique_stick(perp_unique *unique, const perp_unique_problem *problem,
                       const double *lambda_s, const double *w_s, double *lambda)
{
  if (problem->n > ROWS) return false;
  const int m = unique_touching(unique, problem, lambda_s, w_s);
  double mean = 0;
  if (m == 0 || problem->nc == 0) return false;
  for (int i = 0; i < problem->r * problem->nc; i++)
    mean += problem->A[i * (size_t)(problem->lda + 1)] / (problem->r * problem->nc);
  for (int i = 0; i < m; i++) { /* further rows in the units of contacts */
    const double a = problem->A[unique->row[i] * (size_t)(problem->lda + 1)];
    unique->scale[i] = unique->row[i] < problem->r * problem->nc || !(a > 0) ? 1 : sqrt(mean / a);
    double b = problem->b[unique->row[i]];
    for (int j = problem->r * problem->nc; j < problem->n; j++)
      b += problem->A[unique->row[i] + (size_t)j * (size_t)problem->lda] * unique->x[j];
    unique->b[i] = unique->scale[i] * b;
  }
  const int rank = unique_factor(unique, problem, m);
  unique_cholesky(unique, m, rank);
  /* L L' x = -b has solutions if b is in the range of L: c0 = -(L' L)^-1 L' b is then L' x */
  double *c0 = unique->d;
  unique_miss(unique, m, rank, unique->b, NULL);
  for (int j = 0; j < rank; j++) c0[j] = -unique->c[j];
  unique_solve(unique, rank, c0);
  for (int i = 0; i < m; i++) {
    double left = unique->b[i];
    for (int j = 0; j < rank; j++) left += unique->G[i + j * m] * c0[j];
    if (!(fabs(left) <= unique->scale[i] * problem->tol)) return false;
  }
  double *x = unique->y, *q = unique->q, *z = unique->z, best = HUGE_VAL;
  for (int i = 0; i < m; i++) {
    x[i] = lambda[unique->row[i]] / unique->scale[i];
    q[i] = 0;
  }
  int since = 0;
  bool found = false;
  for (int pass = 0; pass < PASSES && since < PATIENCE; pass++) {
    unique_miss(unique, m, rank, x, c0);
    unique_solve(unique, rank, unique->c);
    for (int i = 0; i < m; i++) {
      double y = x[i];
      for (int j = 0; j < rank; j++) y -= unique->G[i + j * m] * unique->c[j];
      z[i] = x[i] = y; /* stops everything */
      z[i] += q[i];
    }
    memcpy(unique->g, x, (size_t)m * sizeof *x);
    const double far = unique_project(unique, problem, m, unique->g);
    found = far <= CLOSE * unique_length(m, x);
    if (found) break;
    since = far < 0.99 * best ? 0 : since + 1;
    best = fmin(best, far);
    memcpy(unique->g, z, (size_t)m * sizeof *z);
    unique_project(unique, problem, m, z);
    for (int i = 0; i < m; i++) {
      q[i] = unique->g[i] - z[i];
      x[i] = z[i];
    }
  }
  if (!found) return false;
  memcpy(lambda, unique->x, (size_t)problem->n * sizeof *lambda);
  unique_project(unique, problem, m, x);
  for (int i = 0; i < m; i++) lambda[unique->row[i]] = unique->scale[i] * x[i];
  return true;
}
