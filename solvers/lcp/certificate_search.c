/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A Farkas vector from nothing, in doubles: what it finds is a proof only once verified without
 * rounding.
 *
 * Wanted: z >= 0 with v_j(z) = u_j + mu |u_t| <= 0, u = A'z, and b'z < 0 (lcp.h).  With rows and
 * columns scaled near 1, min t   subject to  0 < z < 1,  v_j(z) < t,  b'z < t by Newton's method on
 * tau t + barrier,  tau growing (Boyd and Vandenberghe 2004, 11.3; the cone's barrier is -log(s_0^2
 * - s_1^2 - s_2^2)).  It ends when t < 0: z has room to spare; or when t - K / tau > 0: there is
 * none. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <cblas.h>
#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SEARCH_STEPS = 80, SEARCH_TANGENTS = 3 };
#define SEARCH_WORK   4e9   /* Newton steps times rows^3 */
#define SEARCH_MARGIN 1e-5  /* room that is enough */
#define SEARCH_LEAST  1e-10 /* and what is still room */

typedef struct search {
  const perp_lcp *p;
  int rows, vars, K, blocks; /* x = (z, t) */
  int *row;                  /* [rows] of z in the problem */
  int *size;                 /* [blocks] 1, or 3: a cone */
  double *G, *H, *W; /* [vars K] conditions s = G'x; Hessian [vars vars]; G times its root */
  double *s, *ds, *x, *dx, *g, *scale;
} search;

/* Is every column one that the search understands?  Conditions out. */
static bool search_counts(search *work, int *friction)
{
  const perp_lcp *lcp = work->p;
  memset(friction, 0, (size_t)lcp->n * sizeof *friction);
  for (int t = 0; t < lcp->n; t++) {
    if (!perp_exact_is_friction(lcp, t)) continue;
    bool cone = lcp->cone != NULL && lcp->cone[t];
    int normal = lcp->fric_of[t];
    const perp_exact_sides side = perp_exact_sides_of(lcp, normal);
    if (side.lo < 0 || !side.up) return false;
    if (lcp->mu[t] > 0) friction[normal] += cone ? 100 : 1;
    t += cone;
  }
  for (int j = 0; j < lcp->n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    if (side.lo == side.hi) continue; /* friction rows, too */
    if (side.down == side.up || (friction[j] > SEARCH_TANGENTS && friction[j] != 100)) return false;
    work->rows++;
    work->K += friction[j] == 100 ? 3 : 1 << friction[j];
  }
  work->K++;
  work->vars = work->rows + 1;
  return work->rows > 0;
}

/* conditions of column j: s = t - (u_j + friction), into G from column k on */
static int search_column(search *work, const double *A, int j, bool up, int friction, int k)
{
  const perp_lcp *lcp = work->p;
  size_t ld = (size_t)work->vars;
  int tangent[SEARCH_TANGENTS] = { 0 }, many = 0;
  double most = 0;
  for (int t = 0; t < lcp->n && friction > 0 && many < SEARCH_TANGENTS; t++)
    if (perp_exact_is_friction(lcp, t) && lcp->fric_of[t] == j && lcp->mu[t] > 0)
      tangent[many++] = t;
  for (int c = -1; c < many; c++) {
    const double *col = A + (size_t)(c < 0 ? j : tangent[c]) * (size_t)work->rows;
    double mu = c < 0 ? 1 : lcp->mu[tangent[c]];
    for (int i = 0; i < work->rows; i++) most = fmax(most, mu * fabs(col[i]));
  }
  double by = most > 0 ? 1 / most : 0;
  int facets = friction == 100 ? 3 : 1 << many;
  for (int q = 0; q < facets; q++) {
    double *g = work->G + (size_t)(k + q) * ld;
    if (friction == 100) {
      double mu = q == 0 ? -1 : lcp->mu[tangent[0]];
      const double *col = A + (size_t)(q == 0 ? j : tangent[q - 1]) * (size_t)work->rows;
      for (int i = 0; i < work->rows; i++) g[i] = mu * by * col[i];
      g[work->rows] = q == 0;
      continue;
    }
    for (int i = 0; i < work->rows; i++) {
      double sum = (up ? 1 : -1) * A[(size_t)i + (size_t)j * (size_t)work->rows];
      for (int c = 0; c < many; c++) {
        double mu = lcp->mu[tangent[c]];
        sum += (q >> c & 1 ? -mu : mu) * A[(size_t)i + (size_t)tangent[c] * (size_t)work->rows];
      }
      g[i] = -by * sum;
    }
    g[work->rows] = 1;
  }
  work->size[work->blocks] = friction == 100 ? 3 : 1;
  if (friction == 100)
    work->blocks++;
  else
    for (int q = 0; q < facets; q++) work->size[work->blocks++] = 1;
  return k + facets;
}

/* G, with rows of z in units where they are near 1 */
static void search_conditions(search *work, const int *friction)
{
  const perp_lcp *lcp = work->p;
  int n = lcp->n, m = work->rows, k = 0;
  size_t nv = lcp->F != NULL ? (size_t)lcp->F->nv : 0;
  double *A = perp_exact_alloc(m * n, sizeof *A), *e = perp_exact_alloc(2 * n, sizeof *e);
  double *inner = perp_exact_alloc((int)(2 * nv) + n, sizeof *inner);
  double *data = work->G + (size_t)(work->K - 1) * (size_t)work->vars, most = 0;
  for (int j = 0, i = 0; j < n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    double top = 0, *r = e + n;
    if (side.lo == side.hi) continue; /* friction rows, too */
    if (lcp->F != NULL) {
      for (int c = 0; c < n; c++) e[c] = c == j;
      perp_blocks_A(lcp->F, e, r, inner);
    } else
      perp_lcp_row(lcp, j, r);
    for (int c = 0; c < n; c++) top = fmax(top, fabs(r[c]));
    work->row[i] = j;
    work->scale[i] = (side.up ? 1 : -1) / (top > 0 ? top : 1);
    data[i] = -work->scale[i] * lcp->b[j];
    for (int c = 0; c < n; c++) {
      A[(size_t)i + (size_t)c * (size_t)m] = work->scale[i] * r[c];
      if (perp_exact_is_friction(lcp, c)) continue;
      const perp_exact_sides of = perp_exact_sides_of(lcp, c); /* finite bounds other than 0 */
      data[i] -= work->scale[i] * r[c] * (!of.down ? of.lo : !of.up ? of.hi : 0);
    }
    most = fmax(most, fabs(data[i]));
    i++;
  }
  for (int i = 0; i < m; i++) data[i] /= most > 0 ? most : 1;
  data[m] = 1;
  for (int j = 0; j < n; j++) {
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    if (side.lo < side.hi) k = search_column(work, A, j, side.up, friction[j], k);
  }
  work->size[work->blocks++] = 1;
  free(A);
  free(e);
  free(inner);
}

static double search_cone(const double *s)
{
  return s[0] > 0 ? (s[0] - hypot(s[1], s[2])) * (s[0] + hypot(s[1], s[2])) : -1;
}

/* tau t + barrier at x + a dx, s + a ds; infinite outside */
static double search_value(const search *work, double tau, double a)
{
  double sum = tau * (work->x[work->rows] + a * work->dx[work->rows]), product = 1;
  for (int i = 0; i < work->rows; i++) {
    double z = work->x[i] + a * work->dx[i];
    if (!(z > 0) || !(z < 1)) return HUGE_VAL;
    product *= z * (1 - z);
    if (product < 1e-200 || i % 8 == 7) sum -= log(product), product = 1;
  }
  sum -= log(product);
  for (int b = 0, k = 0; b < work->blocks; k += work->size[b++]) {
    double s[3], q;
    for (int c = 0; c < work->size[b]; c++) s[c] = work->s[k + c] + a * work->ds[k + c];
    q = work->size[b] == 3 ? search_cone(s) : s[0];
    if (!(q > 0)) return HUGE_VAL;
    sum -= log(q);
  }
  return sum;
}

/* dx of Newton's method; its squared decrement, or a negative number */
static double search_step(search *work, double tau)
{
  int n = work->vars, m = work->rows;
  memset(work->H, 0, (size_t)n * (size_t)n * sizeof *work->H);
  for (int i = 0; i < m; i++) {
    double l = 1 / work->x[i], h = 1 / (1 - work->x[i]);
    work->g[i] = h - l;
    work->H[(size_t)i * (size_t)(n + 1)] = l * l + h * h;
  }
  work->g[m] = tau;
  for (int b = 0, k = 0; b < work->blocks; k += work->size[b++]) {
    const double *G = work->G + (size_t)k * (size_t)n, *s = work->s + k;
    double *W = work->W + (size_t)k * (size_t)n;
    if (work->size[b] == 1) {
      double r = 1 / s[0];
      for (int i = 0; i < n; i++) {
        W[i] = r * G[i];
        work->g[i] -= W[i];
      }
      continue;
    }
    /* -2/q J + 4/q^2 (J s)(J s)', J = diag(1, -1, -1), by Cholesky */
    double q = search_cone(s), y[3] = { s[0], -s[1], -s[2] }, L[3][3] = { { 0 } };
    for (int c = 0; c < 3; c++)
      for (int r = c; r < 3; r++) {
        double h = 4 / q * (y[r] / q) * y[c] + (r == c ? (r == 0 ? -2 : 2) / q : 0);
        for (int l = 0; l < c; l++) h -= L[r][l] * L[c][l];
        if (r == c && !(h > 0)) return -1;
        L[r][c] = r == c ? sqrt(h) : h / L[c][c];
      }
    for (int c = 0; c < 3; c++)
      for (int i = 0; i < n; i++) {
        double w = 0;
        for (int r = c; r < 3; r++) w += G[(size_t)r * (size_t)n + (size_t)i] * L[r][c];
        W[(size_t)c * (size_t)n + (size_t)i] = w;
        work->g[i] -= 2 / q * y[c] * G[(size_t)c * (size_t)n + (size_t)i];
      }
  }
  cblas_dsyrk(CblasColMajor, CblasLower, CblasNoTrans, n, work->K, 1, work->W, n, 1, work->H, n);
  if (LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', n, work->H, n) != 0) return -1;
  for (int i = 0; i < n; i++) work->dx[i] = -work->g[i];
  LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', n, 1, work->H, n, work->dx, n);
  cblas_dgemv(CblasColMajor, CblasTrans, n, work->K, 1, work->G, n, work->dx, 1, 0, work->ds, 1);
  return -cblas_ddot(n, work->g, 1, work->dx, 1);
}

/* x with t < 0, or false */
static bool search_run(search *work)
{
  int n = work->vars, m = work->rows;
  double parts = 2 * m + work->K, tau = 1, most = 0;
  int steps = (int)fmin(SEARCH_STEPS, SEARCH_WORK / ((double)n * n * n));
  for (int i = 0; i < m; i++) work->x[i] = 0.5;
  cblas_dgemv(CblasColMajor, CblasTrans, n, work->K, 1, work->G, n, work->x, 1, 0, work->s, 1);
  for (int b = 0, k = 0; b < work->blocks; k += work->size[b++])
    most = fmax(most, work->size[b] == 3 ? hypot(work->s[k + 1], work->s[k + 2]) - work->s[k]
                                         : -work->s[k]);
  work->x[m] = 1.5 * most + 1;
  for (int step = 0; step < steps; step++) {
    cblas_dgemv(CblasColMajor, CblasTrans, n, work->K, 1, work->G, n, work->x, 1, 0, work->s, 1);
    double decrement = search_step(work, tau), a = 1;
    if (!(decrement >= 0)) break;
    double here = search_value(work, tau, 0), least = here - 0.1 * a * decrement;
    while (a > 1e-10 && !(search_value(work, tau, a) <= least)) {
      a *= 0.6;
      least = here - 0.1 * a * decrement;
    }
    if (!(a > 1e-10)) break;
    for (int i = 0; i < n; i++) work->x[i] += a * work->dx[i];
    double t = work->x[m];
    if (t < -SEARCH_MARGIN) return true;
    if (decrement > 0.5) continue;
    if (t - 2 * parts / tau > 0 || parts / tau < 1e-2 * SEARCH_LEAST) break;
    tau *= 12;
  }
  return work->x[m] < -SEARCH_LEAST;
}

bool perp_lcp_search(const perp_lcp *lcp, double *z)
{
  enum { MOST_CONDITIONS = 2000000 };
  search work = { .p = lcp };
  int *friction = perp_exact_alloc(lcp->n, sizeof *friction);
  bool found = false;
  if (search_counts(&work, friction) && (double)work.vars * work.K <= MOST_CONDITIONS) {
    const int most = work.vars > work.K ? work.vars : work.K, entries = work.vars * work.K;
    double *block = perp_exact_alloc(6 * most + 2 * entries + work.vars * work.vars, sizeof *block);
    int *index = perp_exact_alloc(work.rows + work.K, sizeof *index);
    double **part[] = { &work.s, &work.ds, &work.x, &work.dx, &work.g, &work.scale };
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) *part[k] = block + k * (size_t)most;
    work.G = block + 6 * (size_t)most;
    work.W = work.G + entries;
    work.H = work.W + entries;
    work.row = index;
    work.size = index + work.rows;
    search_conditions(&work, friction);
    found = search_run(&work);
    for (int i = 0; i < lcp->n; i++) z[i] = 0;
    for (int i = 0; i < work.rows; i++) z[work.row[i]] = work.scale[i] * work.x[i];
    free(block);
    free(index);
  }
  free(friction);
  return found;
}
