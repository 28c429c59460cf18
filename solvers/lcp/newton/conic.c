/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/newton/conic.h"
#include "solvers/lcp/newton/system.h"

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of the way to the boundary; regularization of a system that is singular, relative to its
 * diagonal, and its growth. */
static const double SHARE = 0.99, REGULAR = 1e-14, GROWTH = 100, MOST_REGULAR = 1e-4;

void perp_conic_layout(perp_conic *C, perp_arena *a)
{
  const size_t n = (size_t)C->max_n;
  C->part = PERP_CARVE(a, perp_conic_part, 2 * n);
  PERP_DOUBLES(a, n, &C->root, &C->x, &C->c, &C->rx, &C->rhs, &C->Ax, &C->dx, &C->y);
  PERP_DOUBLES(a, 4 * n, &C->s, &C->z, &C->l, &C->ds, &C->dz, &C->rz, &C->bs, &C->v);
  PERP_DOUBLES(a, 2 * n, &C->beta);
  C->fixed = PERP_CARVE(a, signed char, n);
  PERP_INTS(a, n, &C->first);
  PERP_INTS(a, 6 * n, &C->other);
}

void perp_conic_close(perp_conic *C)
{
  free(C->matrix);
  perp_sparse_lu_close(&C->L);
}

/* ---- the parts ---- */

static void conic_add(perp_conic *C, int size, int i, double f, int k, double g, double h)
{
  C->part[C->parts++] = (perp_conic_part){ i, k, size, C->m, f, g, h };
  C->m += size;
}

/* The parts of row i; false where its friction is none of a cone. */
static bool conic_row(perp_conic *C, int i)
{
  const perp_rows *R = C->R;
  const double root = C->root[i];
  C->fixed[i] = 0;
  if (R->type[i] == PERP_ROW_BOUNDED) {
    bool held = false; /* by friction, from below 0 */
    for (int k = C->K->first[i]; k >= 0; k = C->K->other[k]) held = held || R->p->mu[k] > 0;
    if (C->K->first[i] >= 0 && !perp_desaxce_cone(C->K, i)) return false;
    if (R->lo[i] == R->hi[i]) {
      C->fixed[i] = 1;
      return true;
    }
    if (R->lo[i] > -HUGE_VAL && !(held && R->lo[i] == 0))
      conic_add(C, 1, i, 1, -1, 0, -R->lo[i] * root);
    if (R->hi[i] < HUGE_VAL) conic_add(C, 1, i, -1, -1, 0, R->hi[i] * root);
    return true;
  }
  const int j = R->p->fric_of[i];
  const double mu = R->p->mu[i];
  if (mu == 0 || (R->lo[j] == R->hi[j] && R->lo[j] == 0))
    C->fixed[i] = 1;
  else if (R->type[i] == PERP_ROW_CONE)
    conic_add(C, 3, j, mu, i, 1, 0);
  else if (R->type[i] == PERP_ROW_FRICTION) {
    conic_add(C, 1, j, mu, i, -1, 0);
    conic_add(C, 1, j, mu, i, 1, 0);
  }
  return true;
}

const char *perp_conic_open(perp_ctx *ctx, perp_conic *C, perp_rows *R, const perp_desaxce *K,
                            perp_status *status)
{
  C->R = R;
  C->K = K;
  C->n = R->n;
  C->parts = C->m = 0;
  *status = PERP_OK;
  for (int i = 0; i < R->n; i++) C->root[i] = sqrt(K->d[i]);
  for (int i = 0; i < R->n; i++)
    if (!conic_row(C, i))
      return "friction rows whose normal row has a negative lower bound or none";
  for (int i = 0; i < R->n; i++)
    if (R->type[i] == PERP_ROW_CONE_TAIL) C->fixed[i] = C->fixed[i - 1];
  /* The parts of each column, for the sparse system: place 3 p + 0, 1, 2 for its rows i, k, k + 1.
   */
  for (int i = 0; i < C->n; i++) C->first[i] = -1;
  for (int p = C->parts - 1; p >= 0; p--) {
    const perp_conic_part *t = &C->part[p];
    const int row[3] = { t->i, t->k, t->k + 1 }, rows = t->size == 3 ? 3 : t->k >= 0 ? 2 : 1;
    for (int r = 0; r < rows; r++) {
      C->other[3 * p + r] = C->first[row[r]];
      C->first[row[r]] = 3 * p + r;
    }
  }
  if (R->sparse)
    *status = perp_sparse_lu_reserve(ctx, &C->L, R->n, (size_t)R->start[R->n] + 9 * (size_t)R->n);
  else
    *status = perp_system_grow(ctx, &C->matrix, &C->capacity, (size_t)R->n * (size_t)R->n);
  return NULL;
}

/* y [m] = G x */
static void conic_G(const perp_conic *C, const double *x, double *y)
{
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) {
    double *q = y + t->at;
    q[0] = t->f * x[t->i];
    if (t->size == 3) {
      q[1] = x[t->k];
      q[2] = x[t->k + 1];
    } else if (t->k >= 0)
      q[0] += t->g * x[t->k];
  }
}

/* x [n] += c G' y */
static void conic_Gt(const perp_conic *C, double c, const double *y, double *x)
{
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) {
    const double *q = y + t->at;
    x[t->i] += c * t->f * q[0];
    if (t->size == 3) {
      x[t->k] += c * q[1];
      x[t->k + 1] += c * q[2];
    } else if (t->k >= 0)
      x[t->k] += c * t->g * q[0];
  }
}

/* ---- the scaling ---- */

/* y = W^power x of part p, power 1 or -1; may be in place. */
static void conic_W(const perp_conic *C, int p, int power, const double *x, double *y)
{
  const perp_conic_part *t = &C->part[p];
  const double b = power > 0 ? C->beta[p] : 1 / C->beta[p];
  if (t->size == 1) {
    y[0] = b * x[0];
    return;
  }
  const double *v = C->v + t->at, sign = power > 0 ? 1 : -1;
  const double vx = 2 * (v[0] * x[0] + sign * (v[1] * x[1] + v[2] * x[2]));
  const double y0 = b * (vx * v[0] - x[0]);
  y[1] = b * (sign * vx * v[1] + x[1]);
  y[2] = b * (sign * vx * v[2] + x[2]);
  y[0] = y0;
}

static double conic_det(const double *x)
{
  const double t = hypot(x[1], x[2]);
  return (x[0] - t) * (x[0] + t);
}

/* W and l of s and z; false where one is not inside. */
static bool conic_scaling(perp_conic *C)
{
  for (int p = 0; p < C->parts; p++) {
    const perp_conic_part *t = &C->part[p];
    const double *s = C->s + t->at, *z = C->z + t->at;
    double *v = C->v + t->at;
    if (t->size == 1) {
      if (!(s[0] > 0 && z[0] > 0)) return false;
      C->beta[p] = sqrt(s[0] / z[0]);
    } else {
      const double a = conic_det(s), b = conic_det(z);
      if (!(s[0] > 0 && z[0] > 0 && a > 0 && b > 0)) return false;
      const double ra = sqrt(a), rb = sqrt(b);
      double dot = 0, w[3];
      for (int k = 0; k < 3; k++) dot += s[k] / ra * (z[k] / rb);
      const double gamma = sqrt((1 + dot) / 2);
      for (int k = 0; k < 3; k++) w[k] = (s[k] / ra + (k == 0 ? 1 : -1) * z[k] / rb) / (2 * gamma);
      const double length = sqrt(2 * (w[0] + 1));
      for (int k = 0; k < 3; k++) v[k] = (w[k] + (k == 0)) / length;
      C->beta[p] = sqrt(ra / rb);
    }
    conic_W(C, p, 1, z, C->l + t->at);
  }
  return true;
}

/* y = x o u and y = l \ x, part by part */
static void conic_times(int size, const double *x, const double *u, double *y)
{
  if (size == 1) {
    y[0] = x[0] * u[0];
    return;
  }
  const double y0 = x[0] * u[0] + x[1] * u[1] + x[2] * u[2];
  const double y1 = x[0] * u[1] + u[0] * x[1], y2 = x[0] * u[2] + u[0] * x[2];
  y[0] = y0;
  y[1] = y1;
  y[2] = y2;
}

static void conic_quotient(int size, const double *l, const double *x, double *y)
{
  if (size == 1) {
    y[0] = x[0] / l[0];
    return;
  }
  const double y0 = (l[0] * x[0] - l[1] * x[1] - l[2] * x[2]) / conic_det(l);
  y[1] = (x[1] - y0 * l[1]) / l[0];
  y[2] = (x[2] - y0 * l[2]) / l[0];
  y[0] = y0;
}

/* The largest t, at most `most`, with x + t d in the cone. */
static double conic_reach(int size, const double *x, const double *d, double most)
{
  if (size == 1) return d[0] < 0 ? fmin(most, -x[0] / d[0]) : most;
  const double a = d[0] * d[0] - d[1] * d[1] - d[2] * d[2];
  const double b = x[0] * d[0] - x[1] * d[1] - x[2] * d[2], c = conic_det(x);
  /* the smallest positive root of a t^2 + 2 b t + c, c > 0 */
  const double D = b * b - a * c;
  if (!(D >= 0)) return most;
  const double q = -(b + copysign(sqrt(D), b)), r1 = a != 0 ? q / a : -1, r2 = q != 0 ? c / q : -1;
  double t = most;
  if (r1 > 0) t = fmin(t, r1);
  if (r2 > 0) t = fmin(t, r2);
  if (d[0] < 0) t = fmin(t, -x[0] / d[0]);
  return t;
}

static double conic_length(const perp_conic *C)
{
  double t = 1 / SHARE;
  for (const perp_conic_part *p = C->part; p < C->part + C->parts; p++) {
    t = conic_reach(p->size, C->s + p->at, C->ds + p->at, t);
    t = conic_reach(p->size, C->z + p->at, C->dz + p->at, t);
  }
  return t;
}

/* ---- the system ---- */

/* Entry (r, q) of G' W^-2 G of part p, between its rows i, k, k + 1. */
static void conic_block(const perp_conic *C, int p, double B[9])
{
  const perp_conic_part *t = &C->part[p];
  if (t->size == 1) {
    const double h = 1 / (C->beta[p] * C->beta[p]);
    B[0] = t->f * t->f * h;
    B[1] = B[3] = t->f * t->g * h;
    B[4] = t->g * t->g * h;
    return;
  }
  for (int q = 0; q < 3; q++) {
    double e[3] = { q == 0 ? t->f : 0, q == 1, q == 2 };
    conic_W(C, p, -1, e, e);
    conic_W(C, p, -1, e, e);
    B[3 * q] = t->f * e[0];
    B[3 * q + 1] = e[1];
    B[3 * q + 2] = e[2];
  }
}

static bool conic_dense(perp_conic *C, double regular)
{
  const perp_lcp *p = C->R->p;
  const size_t n = (size_t)C->n, lda = (size_t)p->lda;
  double *K = C->matrix;
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++)
      K[i + j * n] = C->fixed[i] || C->fixed[j] ? i == j
                                                : 0.5 * (p->A[i + j * lda] + p->A[j + i * lda]) /
                                                      (C->root[i] * C->root[j]);
  for (int t = 0; t < C->parts; t++) {
    const perp_conic_part *q = &C->part[t];
    const int row[3] = { q->i, q->k, q->k + 1 }, rows = q->size == 3 ? 3 : q->k >= 0 ? 2 : 1;
    double B[9];
    conic_block(C, t, B);
    for (int a = 0; a < rows; a++)
      for (int b = 0; b < rows; b++)
        if (row[a] >= row[b] && !C->fixed[row[a]] && !C->fixed[row[b]])
          K[(size_t)row[a] + (size_t)row[b] * n] += B[a + 3 * b];
  }
  for (size_t i = 0; i < n; i++) K[i * (n + 1)] *= 1 + regular;
  C->R->work += (double)n * (double)n * (1 + (double)n / 6);
  return n == 0 || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', C->n, K, C->n) == 0;
}

static bool conic_sparse(perp_conic *C, double regular)
{
  const perp_rows *R = C->R;
  perp_sparse_lu_begin(&C->L, C->n);
  for (int j = 0; j < C->n; j++) {
    if (C->fixed[j]) {
      perp_sparse_lu_add(&C->L, j, 1);
      perp_sparse_lu_column(&C->L);
      continue;
    }
    double diagonal = 0;
    for (int k = R->start[j]; k < R->start[j + 1]; k++) {
      const int i = R->row[k];
      const double a = R->value[k] / (C->root[i] * C->root[j]);
      if (!C->fixed[i]) perp_sparse_lu_add(&C->L, i, a);
      if (i == j) diagonal += a;
    }
    for (int at = C->first[j]; at >= 0; at = C->other[at]) {
      const perp_conic_part *q = &C->part[at / 3];
      const int row[3] = { q->i, q->k, q->k + 1 }, rows = q->size == 3 ? 3 : q->k >= 0 ? 2 : 1;
      double B[9];
      conic_block(C, at / 3, B);
      for (int r = 0; r < rows; r++) {
        if (C->fixed[row[r]]) continue;
        perp_sparse_lu_add(&C->L, row[r], B[r + 3 * (at % 3)]);
        if (row[r] == j) diagonal += B[r + 3 * (at % 3)];
      }
    }
    perp_sparse_lu_add(&C->L, j, regular * diagonal);
    perp_sparse_lu_column(&C->L);
  }
  const bool good = perp_sparse_lu_factor(&C->L);
  C->R->work += perp_sparse_lu_work(&C->L);
  return good;
}

static bool conic_factor(perp_conic *C, perp_stats *stats)
{
  for (double regular = REGULAR; regular <= MOST_REGULAR; regular *= GROWTH) {
    stats->factorizations++;
    if (C->R->sparse ? conic_sparse(C, regular) : conic_dense(C, regular)) return true;
  }
  return false;
}

/* y = A x, scaled */
static void conic_A(perp_conic *C, const double *x, double *y, perp_stats *stats)
{
  for (int i = 0; i < C->n; i++) C->y[i] = x[i] / C->root[i];
  perp_rows_A(C->R, C->y, y);
  stats->matvecs++;
  for (int i = 0; i < C->n; i++) y[i] /= C->root[i];
}

/* ---- steps ---- */

/* s and z at least `least` inside their cones */
static void conic_inside(perp_conic *C, double *s, double least)
{
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) {
    double *q = s + t->at;
    const double other = t->size == 3 ? hypot(q[1], q[2]) : 0;
    if (!(q[0] - other >= least)) q[0] = other + least;
  }
}

void perp_conic_begin(perp_conic *C, const double *x, const double *c)
{
  const double tiny = 1e-300;
  C->size = tiny;
  for (int i = 0; i < C->n; i++) {
    C->x[i] = x[i] * C->root[i];
    C->c[i] = c[i] / C->root[i];
    if (C->fixed[i]) C->x[i] = C->R->type[i] == PERP_ROW_BOUNDED ? C->R->lo[i] * C->root[i] : 0;
    C->size = fmax(C->size, fmax(fabs(C->c[i]), fabs(C->x[i])));
  }
  conic_G(C, C->x, C->s);
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) C->s[t->at] += t->h;
  memset(C->z, 0, (size_t)C->m * sizeof *C->z);
  conic_inside(C, C->s, C->size);
  conic_inside(C, C->z, C->size);
}

double perp_conic_apart(const perp_conic *C, const double *c)
{
  double most = 0;
  for (int i = 0; i < C->n; i++) most = fmax(most, fabs(c[i] / C->root[i] - C->c[i]));
  return most;
}

void perp_conic_again(perp_conic *C, const double *c, double apart)
{
  for (int i = 0; i < C->n; i++) C->c[i] = c[i] / C->root[i];
  apart = fmin(fmax(apart, 1e-12 * C->size), C->size);
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) {
    C->s[t->at] += apart;
    C->z[t->at] += apart;
  }
}

/* dx, ds, dz for bs. */
static void conic_direction(perp_conic *C)
{
  for (int i = 0; i < C->n; i++) C->dx[i] = -C->rx[i];
  for (int p = 0; p < C->parts; p++) {
    const perp_conic_part *t = &C->part[p];
    double *u = C->ds + t->at, *d = C->dz + t->at;
    conic_quotient(t->size, C->l + t->at, C->bs + t->at, u);
    conic_W(C, p, 1, u, u);
    for (int k = 0; k < t->size; k++) d[k] = u[k] = u[k] - C->rz[t->at + k];
    conic_W(C, p, -1, d, d);
    conic_W(C, p, -1, d, d);
  }
  conic_Gt(C, 1, C->dz, C->dx);
  /* x [n]: the right-hand side in, the solution out */
  double *x = C->dx;
  for (int i = 0; i < C->n; i++)
    if (C->fixed[i]) x[i] = 0;
  if (C->R->sparse)
    perp_sparse_lu_solve(&C->L, x);
  else if (C->n > 0)
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', C->n, 1, C->matrix, C->n, x, C->n);
  C->R->work += C->R->sparse ? perp_sparse_lu_nnz(&C->L) : (double)C->n * C->n;
  /* ds holds W (l \ bs) - r_z */
  conic_G(C, C->dx, C->dz);
  for (int p = 0; p < C->parts; p++) {
    const perp_conic_part *t = &C->part[p];
    double *u = C->ds + t->at, *d = C->dz + t->at;
    for (int k = 0; k < t->size; k++) {
      const double g = d[k];
      d[k] = u[k] - g;
      u[k] = g + C->rz[t->at + k];
    }
    conic_W(C, p, -1, d, d);
    conic_W(C, p, -1, d, d);
  }
}

void perp_conic_step(perp_conic *C, double *length, perp_stats *stats)
{
  const int n = C->n;
  *length = 0;
  conic_A(C, C->x, C->Ax, stats);
  for (int i = 0; i < n; i++) C->rx[i] = C->Ax[i] + C->c[i];
  conic_Gt(C, -1, C->z, C->rx);
  conic_G(C, C->x, C->rz);
  double gap = 0;
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) C->rz[t->at] += t->h;
  for (int i = 0; i < C->m; i++) {
    C->rz[i] -= C->s[i];
    gap += C->s[i] * C->z[i];
  }
  if (!conic_scaling(C) || !conic_factor(C, stats)) return;
  for (const perp_conic_part *t = C->part; t < C->part + C->parts; t++) {
    conic_times(t->size, C->l + t->at, C->l + t->at, C->bs + t->at);
    for (int k = 0; k < t->size; k++) C->bs[t->at + k] *= -1;
  }
  conic_direction(C);
  const double far = fmin(1, conic_length(C));
  const double sigma = (1 - far) * (1 - far) * (1 - far), mu = C->parts > 0 ? gap / C->parts : 0;
  for (int p = 0; p < C->parts; p++) {
    const perp_conic_part *t = &C->part[p];
    double a[3], b[3];
    conic_W(C, p, -1, C->ds + t->at, a);
    conic_W(C, p, 1, C->dz + t->at, b);
    conic_times(t->size, a, b, a);
    for (int k = 0; k < t->size; k++) C->bs[t->at + k] -= a[k] - (k == 0 ? sigma * mu : 0);
  }
  conic_direction(C);
  const double t = fmin(1, SHARE * conic_length(C));
  for (int i = 0; i < n; i++)
    if (!isfinite(C->dx[i])) return;
  if (!(t > 0)) return;
  for (int i = 0; i < n; i++) C->x[i] += t * C->dx[i];
  for (int i = 0; i < C->m; i++) {
    C->s[i] += t * C->ds[i];
    C->z[i] += t * C->dz[i];
  }
  *length = t;
}

void perp_conic_point(const perp_conic *C, double *x)
{
  for (int i = 0; i < C->n; i++) x[i] = C->x[i] / C->root[i];
}
