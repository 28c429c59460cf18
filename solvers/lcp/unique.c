/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/unique.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* of the largest normal impulse: none */
#define PERP_UNIQUE_NONE 1e-9

/* A direction in which the impulses of a contact, or a row, may change. */
typedef struct column {
  int row, rows;
  double d[3];
} column;

struct perp_unique {
  column column[2 * PERP_UNIQUE_ROWS];
  double G[4 * PERP_UNIQUE_ROWS * PERP_UNIQUE_ROWS]; /* Gram matrix; the factor L of a rank */
  double square[PERP_UNIQUE_ROWS * PERP_UNIQUE_ROWS];
  double diag[2 * PERP_UNIQUE_ROWS], d[2 * PERP_UNIQUE_ROWS], g[2 * PERP_UNIQUE_ROWS];
  int order[2 * PERP_UNIQUE_ROWS], row[PERP_UNIQUE_ROWS];
  double b[PERP_UNIQUE_ROWS], c[PERP_UNIQUE_ROWS], x[PERP_UNIQUE_ROWS], y[PERP_UNIQUE_ROWS],
      z[PERP_UNIQUE_ROWS], q[PERP_UNIQUE_ROWS], scale[PERP_UNIQUE_ROWS];
};

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

/* A solution to rounding: Newton's method on the equations of what each contact does.
 *
 * With what sticks, slides and is open given, as an approximate solution has it, a contact problem
 * is a set of equations:
 *
 *      open:    lambda = 0
 *
 *      sticks:  w = 0                                     unknowns lambda_n, lambda_t
 *
 *      slides:  w_n = 0, lambda_t = -mu lambda_n t        unknown lambda_n, with a fixed t, or
 *
 *               w_n = 0, t' . w_t = 0                     unknowns lambda_n, t (a circle)
 *
 * with t' perpendicular to t,
 * in unknowns y, lambda = lambda + D y.  On a circle lambda_t changes by s = -mu lambda_n dtheta
 * along t', and t' . w_t by |w_t| s / (mu lambda_n) beside the change of w_t itself.  Rows that
 * depend on each other make the matrix singular: complete pivoting leaves out the rounding (Golub
 * and Van Loan 2013, section 3.4.8). */

enum { ITERATIONS = 12 };
/* of the largest pivot: rounding */
static const double PIVOT_ROUNDING = 1e-11;
/* of the terms of w: what the equations of a solution leave */
static const double LEFT = 1e-12;

/* What a contact does: bit k - 1, its tangent k slides with the friction u->z lambda_n; all of them
 * on a circle; nothing. */
enum { POLISH_ALL = 3, POLISH_CIRCLE = 4, POLISH_OPEN = 8 };

static int polish_does(const perp_unique_problem *problem, int law, double mu, double least,
                       const double *x, const double *w)
{
  double slip = 0, t = 0;
  int does = 0;
  if (!(x[0] > least)) return POLISH_OPEN;
  for (int k = 1; k < problem->r; k++) {
    slip = hypot(slip, w[k]);
    t = hypot(t, x[k]);
  }
  if (!(mu > 0)) return POLISH_ALL;
  if (!(slip > problem->tol)) return 0;
  if (law == PERP_UNIQUE_OTHER) return POLISH_ALL;
  if (law == PERP_UNIQUE_CIRCLE && problem->r > 2) return t > 0 ? POLISH_CIRCLE : 0;
  for (int k = 1; k < problem->r; k++)
    if (fabs(w[k]) > problem->tol && fabs(x[k]) >= 0.999 * mu * x[0]) does |= 1 << (k - 1);
  return does;
}

/* lambda += D y of n unknowns, and friction that follows its normal. */
static void polish_move(const perp_unique *unique, const perp_unique_problem *problem, int n,
                        const double *y, double *lambda)
{
  for (int i = 0; i < n; i++)
    for (int k = 0; k < unique->column[i].rows; k++)
      lambda[unique->column[i].row + k] += y[i] * unique->column[i].d[k];
  for (int c = 0; c < problem->nc; c++) {
    double *x = lambda + problem->r * c;
    if (unique->order[c] == POLISH_CIRCLE) { /* onto it again */
      const double f = problem->mu[c] * x[0] / hypot(x[1], x[2]);
      x[1] *= f;
      x[2] *= f;
      continue;
    }
    for (int k = 1; k < problem->r; k++)
      if (unique->order[c] < POLISH_OPEN && unique->order[c] & 1 << (k - 1))
        x[k] = unique->z[problem->r * c + k] * x[0];
  }
}

/* unique->order [nc]: what contacts do; unique->z [n]: their ratios lambda_t / lambda_n; impulses
 * of open ones become 0. */
static void polish_begin(perp_unique *unique, const perp_unique_problem *problem, int law,
                         double *lambda, const double *w)
{
  double largest = 0;
  for (int c = 0; c < problem->nc; c++) largest = fmax(largest, lambda[problem->r * c]);
  for (int c = 0; c < problem->nc; c++) {
    double *x = lambda + problem->r * c, *ratio = unique->z + problem->r * c;
    const double mu = problem->r > 1 ? problem->mu[c] : 0;
    const int does = polish_does(problem, law, mu, PERP_UNIQUE_NONE * largest, x,
                                 w + problem->r * c);
    unique->order[c] = does;
    for (int k = 1; k < problem->r; k++) {
      if (does == POLISH_OPEN || !(mu > 0))
        x[k] = ratio[k] = 0;
      else if (law == PERP_UNIQUE_OTHER)
        ratio[k] = x[k] / x[0];
      else
        ratio[k] = w[problem->r * c + k] > 0 ? -mu : mu;
    }
    if (does == POLISH_OPEN) x[0] = 0;
  }
  polish_move(unique, problem, 0, NULL, lambda);
}

/* An unknown, lambda += y d, and the equation that belongs to it, e . w = 0. */
static int polish_pair(perp_unique *unique, int n, column d, column e, double more)
{
  unique->column[n] = d;
  unique->column[ROWS + n] = e;
  unique->c[n] = more;
  return n + 1;
}

static int polish_contact(perp_unique *unique, const perp_unique_problem *problem, int c,
                          const double *lambda, const double *w, int n)
{
  const int at = problem->r * c, does = unique->order[c];
  const double *x = lambda + at, *ratio = unique->z + at;
  if (does == POLISH_OPEN) return n;
  if (does == POLISH_CIRCLE) {
    const double f = hypot(x[1], x[2]), t1 = -x[1] / f, t2 = -x[2] / f,
                 slip = t1 * w[at + 1] + t2 * w[at + 2];
    const column across = { at, 3, { 0, -t2, t1 } };
    n = polish_pair(unique, n, (column){ at, 3, { 1, -problem->mu[c] * t1, -problem->mu[c] * t2 } },
                    (column){ at, 1, { 1 } }, 0);
    return polish_pair(unique, n, across, across, slip / f);
  }
  column normal = { at, problem->r, { 1 } };
  for (int k = 1; k < problem->r; k++)
    if (does & 1 << (k - 1)) normal.d[k] = ratio[k];
  n = polish_pair(unique, n, normal, (column){ at, 1, { 1 } }, 0);
  for (int k = 1; k < problem->r; k++) {
    const column side = { at + k, 1, { 1 } };
    if (!(does & 1 << (k - 1))) n = polish_pair(unique, n, side, side, 0);
  }
  return n;
}

static int polish_pairs(perp_unique *unique, const perp_unique_problem *problem,
                        const double *lambda, const double *w)
{
  int n = 0;
  for (int c = 0; c < problem->nc; c++) n = polish_contact(unique, problem, c, lambda, w, n);
  for (int i = 0, at = problem->r * problem->nc; at < problem->n; i++, at++) {
    const column row = { at, 1, { 1 } };
    if (lambda[at] > problem->lo[i] && lambda[at] < problem->hi[i])
      n = polish_pair(unique, n, row, row, 0);
  }
  return n;
}

/* w = A lambda + b; returns the largest sum of the absolute values of a row. */
static double polish_product(const perp_unique_problem *problem, const double *lambda, double *w)
{
  double largest = 0;
  for (int i = 0; i < problem->n; i++) {
    const double *a = problem->A + (size_t)i * (size_t)problem->lda;
    double sum = problem->b[i], size = fabs(problem->b[i]);
    for (int j = 0; j < problem->n; j++) {
      sum += a[j] * lambda[j];
      size += fabs(a[j] * lambda[j]);
    }
    w[i] = sum;
    largest = fmax(largest, size);
  }
  return largest;
}

/* unique->square = E' A D + more, column-major */
static void polish_matrix(perp_unique *unique, const perp_unique_problem *problem, int n)
{
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      const column *d = &unique->column[j], *e = &unique->column[ROWS + i];
      double sum = i == j ? unique->c[i] : 0;
      for (int k = 0; k < d->rows; k++)
        for (int l = 0; l < e->rows; l++)
          sum += e->d[l] * d->d[k] *
                 problem->A[e->row + l + (size_t)(d->row + k) * (size_t)problem->lda];
      unique->square[i + j * n] = sum;
    }
}

/* y [n]: a solution of unique->square y = r, without the part that is rounding; overwrites r. */
static void polish_solve(perp_unique *unique, int n, double *r, double *y)
{
  double *K = unique->square, largest = 0;
  int *row = unique->row, *col = unique->order + ROWS, rank = 0;
  for (int i = 0; i < n; i++) {
    row[i] = col[i] = i;
    y[i] = 0;
  }
  for (; rank < n; rank++) {
    int pi = rank, pj = rank;
    double best = 0;
    for (int j = rank; j < n; j++)
      for (int i = rank; i < n; i++) {
        const double a = fabs(K[row[i] + col[j] * n]);
        if (a > best) best = a, pi = i, pj = j;
      }
    if (rank == 0) largest = best;
    if (!(best > PIVOT_ROUNDING * largest)) break;
    const int ri = row[pi], cj = col[pj];
    row[pi] = row[rank], row[rank] = ri;
    col[pj] = col[rank], col[rank] = cj;
    for (int i = rank + 1; i < n; i++) {
      const double f = K[row[i] + cj * n] / K[ri + cj * n];
      if (f == 0) continue;
      for (int j = rank + 1; j < n; j++) K[row[i] + col[j] * n] -= f * K[ri + col[j] * n];
      r[row[i]] -= f * r[ri];
    }
  }
  for (int i = rank; i-- > 0;) {
    double sum = r[row[i]];
    for (int j = i + 1; j < rank; j++) sum -= K[row[i] + col[j] * n] * y[col[j]];
    y[col[i]] = sum / K[row[i] + col[i] * n];
  }
}

bool perp_unique_polish(perp_unique *unique, const perp_unique_problem *problem, int law,
                        double *lambda, double *w, double *error)
{
  double left = HUGE_VAL, size = 0;
  if (problem->n > ROWS) return false;
  *error = HUGE_VAL;
  polish_begin(unique, problem, law, lambda, w);
  for (int i = 0; i < ITERATIONS; i++) {
    size = polish_product(problem, lambda, w);
    const int n = polish_pairs(unique, problem, lambda, w);
    left = 0;
    for (int j = 0; j < n; j++) {
      const column *e = &unique->column[ROWS + j];
      double sum = 0;
      for (int k = 0; k < e->rows; k++) sum += e->d[k] * w[e->row + k];
      unique->b[j] = -sum;
      left = fmax(left, fabs(sum));
    }
    if (left <= LEFT * size && *error <= LEFT * size) break; /* and the last step was none */
    polish_matrix(unique, problem, n);
    polish_solve(unique, n, unique->b, unique->y);
    memcpy(unique->q, w, (size_t)problem->n * sizeof *w);
    polish_move(unique, problem, n, unique->y, lambda);
    polish_product(problem, lambda, w);
    *error = 0;
    for (int j = 0; j < problem->n; j++) *error = fmax(*error, fabs(w[j] - unique->q[j]));
  }
  *error = fmax(*error, LEFT * size);
  return left <= LEFT * size && isfinite(*error);
}
