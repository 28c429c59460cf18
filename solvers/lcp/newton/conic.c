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

void perp_conic_layout(perp_conic *conic, perp_arena *arena)
{
  const size_t n = (size_t)conic->max_n;
  conic->part = PERP_CARVE(arena, perp_conic_part, 2 * n);
  PERP_DOUBLES(arena, n, &conic->root, &conic->x, &conic->c, &conic->rx, &conic->rhs, &conic->Ax,
               &conic->dx, &conic->y);
  PERP_DOUBLES(arena, 4 * n, &conic->s, &conic->z, &conic->l, &conic->ds, &conic->dz, &conic->rz,
               &conic->bs, &conic->v);
  PERP_DOUBLES(arena, 2 * n, &conic->beta);
  conic->fixed = PERP_CARVE(arena, signed char, n);
  PERP_INTS(arena, n, &conic->first);
  PERP_INTS(arena, 6 * n, &conic->other);
}

void perp_conic_close(perp_conic *conic)
{
  free(conic->matrix);
  perp_sparse_lu_close(&conic->L);
}

/* ---- the parts ---- */

static void conic_add(perp_conic *conic, int size, int i, double f, int k, double g, double h)
{
  conic->part[conic->parts++] = (perp_conic_part){ i, k, size, conic->m, f, g, h };
  conic->m += size;
}

/* The parts of row i; false where its friction is none of a cone. */
static bool conic_row(perp_conic *conic, int i)
{
  const perp_rows *rows = conic->R;
  const double root = conic->root[i];
  conic->fixed[i] = 0;
  if (rows->type[i] == PERP_ROW_BOUNDED) {
    bool held = false; /* by friction, from below 0 */
    for (int k = conic->K->first[i]; k >= 0; k = conic->K->other[k])
      held = held || rows->p->mu[k] > 0;
    if (conic->K->first[i] >= 0 && !perp_desaxce_cone(conic->K, i)) return false;
    if (rows->lo[i] == rows->hi[i]) {
      conic->fixed[i] = 1;
      return true;
    }
    if (rows->lo[i] > -HUGE_VAL && !(held && rows->lo[i] == 0))
      conic_add(conic, 1, i, 1, -1, 0, -rows->lo[i] * root);
    if (rows->hi[i] < HUGE_VAL) conic_add(conic, 1, i, -1, -1, 0, rows->hi[i] * root);
    return true;
  }
  const int j = rows->p->fric_of[i];
  const double mu = rows->p->mu[i];
  if (mu == 0 || (rows->lo[j] == rows->hi[j] && rows->lo[j] == 0))
    conic->fixed[i] = 1;
  else if (rows->type[i] == PERP_ROW_CONE)
    conic_add(conic, 3, j, mu, i, 1, 0);
  else if (rows->type[i] == PERP_ROW_FRICTION) {
    conic_add(conic, 1, j, mu, i, -1, 0);
    conic_add(conic, 1, j, mu, i, 1, 0);
  }
  return true;
}

const char *perp_conic_open(perp_ctx *ctx, perp_conic *conic, perp_rows *R,
                            const perp_desaxce *desaxce, perp_status *status)
{
  conic->R = R;
  conic->K = desaxce;
  conic->n = R->n;
  conic->parts = conic->m = 0;
  *status = PERP_OK;
  for (int i = 0; i < R->n; i++) conic->root[i] = sqrt(desaxce->d[i]);
  for (int i = 0; i < R->n; i++)
    if (!conic_row(conic, i))
      return "friction rows whose normal row has a negative lower bound or none";
  for (int i = 0; i < R->n; i++)
    if (R->type[i] == PERP_ROW_CONE_TAIL) conic->fixed[i] = conic->fixed[i - 1];
  /* The parts of each column, for the sparse system: place 3 p + 0, 1, 2 for its rows i, k, k + 1.
   */
  for (int i = 0; i < conic->n; i++) conic->first[i] = -1;
  for (int p = conic->parts - 1; p >= 0; p--) {
    const perp_conic_part *part = &conic->part[p];
    const int row[3] = { part->i, part->k, part->k + 1 }, rows = part->size == 3 ? 3
                                                                 : part->k >= 0  ? 2
                                                                                 : 1;
    for (int r = 0; r < rows; r++) {
      conic->other[3 * p + r] = conic->first[row[r]];
      conic->first[row[r]] = 3 * p + r;
    }
  }
  if (R->sparse)
    *status = perp_sparse_lu_reserve(ctx, &conic->L, R->n,
                                     (size_t)R->start[R->n] + 9 * (size_t)R->n);
  else
    *status = perp_system_grow(ctx, &conic->matrix, &conic->capacity, (size_t)R->n * (size_t)R->n);
  return NULL;
}

/* y [m] = G x */
static void conic_G(const perp_conic *conic, const double *x, double *y)
{
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++) {
    double *q = y + part->at;
    q[0] = part->f * x[part->i];
    if (part->size == 3) {
      q[1] = x[part->k];
      q[2] = x[part->k + 1];
    } else if (part->k >= 0)
      q[0] += part->g * x[part->k];
  }
}

/* x [n] += c G' y */
static void conic_Gt(const perp_conic *conic, double c, const double *y, double *x)
{
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++) {
    const double *q = y + part->at;
    x[part->i] += c * part->f * q[0];
    if (part->size == 3) {
      x[part->k] += c * q[1];
      x[part->k + 1] += c * q[2];
    } else if (part->k >= 0)
      x[part->k] += c * part->g * q[0];
  }
}

/* ---- the scaling ---- */

/* y = W^power x of part p, power 1 or -1; may be in place. */
static void conic_W(const perp_conic *conic, int p, int power, const double *x, double *y)
{
  const perp_conic_part *part = &conic->part[p];
  const double b = power > 0 ? conic->beta[p] : 1 / conic->beta[p];
  if (part->size == 1) {
    y[0] = b * x[0];
    return;
  }
  const double *v = conic->v + part->at, sign = power > 0 ? 1 : -1;
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
static bool conic_scaling(perp_conic *conic)
{
  for (int p = 0; p < conic->parts; p++) {
    const perp_conic_part *part = &conic->part[p];
    const double *s = conic->s + part->at, *z = conic->z + part->at;
    double *v = conic->v + part->at;
    if (part->size == 1) {
      if (!(s[0] > 0 && z[0] > 0)) return false;
      conic->beta[p] = sqrt(s[0] / z[0]);
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
      conic->beta[p] = sqrt(ra / rb);
    }
    conic_W(conic, p, 1, z, conic->l + part->at);
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

static double conic_length(const perp_conic *conic)
{
  double t = 1 / SHARE;
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++) {
    t = conic_reach(part->size, conic->s + part->at, conic->ds + part->at, t);
    t = conic_reach(part->size, conic->z + part->at, conic->dz + part->at, t);
  }
  return t;
}

/* ---- the system ---- */

/* Entry (r, q) of G' W^-2 G of part p, between its rows i, k, k + 1. */
static void conic_block(const perp_conic *conic, int p, double B[9])
{
  const perp_conic_part *part = &conic->part[p];
  if (part->size == 1) {
    const double h = 1 / (conic->beta[p] * conic->beta[p]);
    B[0] = part->f * part->f * h;
    B[1] = B[3] = part->f * part->g * h;
    B[4] = part->g * part->g * h;
    return;
  }
  for (int q = 0; q < 3; q++) {
    double e[3] = { q == 0 ? part->f : 0, q == 1, q == 2 };
    conic_W(conic, p, -1, e, e);
    conic_W(conic, p, -1, e, e);
    B[3 * q] = part->f * e[0];
    B[3 * q + 1] = e[1];
    B[3 * q + 2] = e[2];
  }
}

static bool conic_dense(perp_conic *conic, double regular)
{
  const perp_lcp *lcp = conic->R->p;
  const size_t n = (size_t)conic->n, lda = (size_t)lcp->lda;
  double *K = conic->matrix;
  for (size_t j = 0; j < n; j++)
    for (size_t i = j; i < n; i++)
      K[i + j * n] = conic->fixed[i] || conic->fixed[j]
                         ? i == j
                         : 0.5 * (lcp->A[i + j * lda] + lcp->A[j + i * lda]) /
                               (conic->root[i] * conic->root[j]);
  for (int t = 0; t < conic->parts; t++) {
    const perp_conic_part *part = &conic->part[t];
    const int row[3] = { part->i, part->k, part->k + 1 }, rows = part->size == 3 ? 3
                                                                 : part->k >= 0  ? 2
                                                                                 : 1;
    double B[9];
    conic_block(conic, t, B);
    for (int a = 0; a < rows; a++)
      for (int b = 0; b < rows; b++)
        if (row[a] >= row[b] && !conic->fixed[row[a]] && !conic->fixed[row[b]])
          K[(size_t)row[a] + (size_t)row[b] * n] += B[a + 3 * b];
  }
  for (size_t i = 0; i < n; i++) K[i * (n + 1)] *= 1 + regular;
  conic->R->work += (double)n * (double)n * (1 + (double)n / 6);
  return n == 0 || LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', conic->n, K, conic->n) == 0;
}

static bool conic_sparse(perp_conic *conic, double regular)
{
  const perp_rows *R = conic->R;
  perp_sparse_lu_begin(&conic->L, conic->n);
  for (int j = 0; j < conic->n; j++) {
    if (conic->fixed[j]) {
      perp_sparse_lu_add(&conic->L, j, 1);
      perp_sparse_lu_column(&conic->L);
      continue;
    }
    double diagonal = 0;
    for (int k = R->start[j]; k < R->start[j + 1]; k++) {
      const int i = R->row[k];
      const double a = R->value[k] / (conic->root[i] * conic->root[j]);
      if (!conic->fixed[i]) perp_sparse_lu_add(&conic->L, i, a);
      if (i == j) diagonal += a;
    }
    for (int at = conic->first[j]; at >= 0; at = conic->other[at]) {
      const perp_conic_part *part = &conic->part[at / 3];
      const int row[3] = { part->i, part->k, part->k + 1 }, rows = part->size == 3 ? 3
                                                                   : part->k >= 0  ? 2
                                                                                   : 1;
      double B[9];
      conic_block(conic, at / 3, B);
      for (int r = 0; r < rows; r++) {
        if (conic->fixed[row[r]]) continue;
        perp_sparse_lu_add(&conic->L, row[r], B[r + 3 * (at % 3)]);
        if (row[r] == j) diagonal += B[r + 3 * (at % 3)];
      }
    }
    perp_sparse_lu_add(&conic->L, j, regular * diagonal);
    perp_sparse_lu_column(&conic->L);
  }
  const bool good = perp_sparse_lu_factor(&conic->L);
  conic->R->work += perp_sparse_lu_work(&conic->L);
  return good;
}

static bool conic_factor(perp_conic *conic, perp_stats *stats)
{
  for (double regular = REGULAR; regular <= MOST_REGULAR; regular *= GROWTH) {
    stats->factorizations++;
    if (conic->R->sparse ? conic_sparse(conic, regular) : conic_dense(conic, regular)) return true;
  }
  return false;
}

/* y = A x, scaled */
static void conic_A(perp_conic *conic, const double *x, double *y, perp_stats *stats)
{
  for (int i = 0; i < conic->n; i++) conic->y[i] = x[i] / conic->root[i];
  perp_rows_A(conic->R, conic->y, y);
  stats->matvecs++;
  for (int i = 0; i < conic->n; i++) y[i] /= conic->root[i];
}

/* ---- steps ---- */

/* s and z at least `least` inside their cones */
static void conic_inside(perp_conic *conic, double *s, double least)
{
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++) {
    double *q = s + part->at;
    const double other = part->size == 3 ? hypot(q[1], q[2]) : 0;
    if (!(q[0] - other >= least)) q[0] = other + least;
  }
}

void perp_conic_begin(perp_conic *conic, const double *x, const double *c)
{
  const double tiny = 1e-300;
  conic->size = tiny;
  for (int i = 0; i < conic->n; i++) {
    conic->x[i] = x[i] * conic->root[i];
    conic->c[i] = c[i] / conic->root[i];
    if (conic->fixed[i])
      conic->x[i] = conic->R->type[i] == PERP_ROW_BOUNDED ? conic->R->lo[i] * conic->root[i] : 0;
    conic->size = fmax(conic->size, fmax(fabs(conic->c[i]), fabs(conic->x[i])));
  }
  conic_G(conic, conic->x, conic->s);
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++)
    conic->s[part->at] += part->h;
  memset(conic->z, 0, (size_t)conic->m * sizeof *conic->z);
  conic_inside(conic, conic->s, conic->size);
  conic_inside(conic, conic->z, conic->size);
}

double perp_conic_apart(const perp_conic *conic, const double *c)
{
  double most = 0;
  for (int i = 0; i < conic->n; i++) most = fmax(most, fabs(c[i] / conic->root[i] - conic->c[i]));
  return most;
}

void perp_conic_again(perp_conic *conic, const double *c, double apart)
{
  for (int i = 0; i < conic->n; i++) conic->c[i] = c[i] / conic->root[i];
  apart = fmin(fmax(apart, 1e-12 * conic->size), conic->size);
  for (const perp_conic_part *part = conic->part; part < conic->part + conic->parts; part++) {
    conic->s[part->at] += apart;
    conic->z[part->at] += apart;
  }
}

/* dx, ds, dz for bs. */
static void conic_direction(perp_conic *conic)
{
  for (int i = 0; i < conic->n; i++) conic->dx[i] = -conic->rx[i];
  for (int p = 0; p < conic->parts; p++) {
    const perp_conic_part *part = &conic->part[p];
    double *u = conic->ds + part->at, *d = conic->dz + part->at;
    conic_quotient(part->size, conic->l + part->at, conic->bs + part->at, u);
    conic_W(conic, p, 1, u, u);
    for (int k = 0; k < part->size; k++) d[k] = u[k] = u[k] - conic->rz[part->at + k];
    conic_W(conic, p, -1, d, d);
    conic_W(conic, p, -1, d, d);
  }
  conic_Gt(conic, 1, conic->dz, conic->dx);
  /* x [n]: the right-hand side in, the solution out */
  double *x = conic->dx;
  for (int i = 0; i < conic->n; i++)
    if (conic->fixed[i]) x[i] = 0;
  if (conic->R->sparse)
    perp_sparse_lu_solve(&conic->L, x);
  else if (conic->n > 0)
    LAPACKE_dpotrs_work(LAPACK_COL_MAJOR, 'L', conic->n, 1, conic->matrix, conic->n, x, conic->n);
  conic->R->work += conic->R->sparse ? perp_sparse_lu_nnz(&conic->L) : (double)conic->n * conic->n;
  /* ds holds W (l \ bs) - r_z */
  conic_G(conic, conic->dx, conic->dz);
  for (int p = 0; p < conic->parts; p++) {
    const perp_conic_part *part = &conic->part[p];
    double *u = conic->ds + part->at, *d = conic->dz + part->at;
    for (int k = 0; k < part->size; k++) {
      const double g = d[k];
      d[k] = u[k] - g;
      u[k] = g + conic->rz[part->at + k];
    }
    conic_W(conic, p, -1, d, d);
    conic_W(conic, p, -1, d, d);
  }
}

void perp_conic_step(perp_conic *conic, double *length, perp_stats *stats)
{
  const int n = conic->n;
  *length = 0;
  conic_A(conic, conic->x, conic->Ax, stats);
  for (int i = 0; i < n; i++) conic->rx[i] = conic->Ax[i] + conic->c[i];
  conic_Gt(conic, -1, conic->z, conic->rx);
  conic_G(conic, conic->x, conic->rz);
  double gap = 0;
  for (const perp_conic_part *t = conic->part; t < conic->part + conic->parts; t++)
    conic->rz[t->at] += t->h;
  for (int i = 0; i < conic->m; i++) {
    conic->rz[i] -= conic->s[i];
    gap += conic->s[i] * conic->z[i];
  }
  if (!conic_scaling(conic) || !conic_factor(conic, stats)) return;
  for (const perp_conic_part *t = conic->part; t < conic->part + conic->parts; t++) {
    conic_times(t->size, conic->l + t->at, conic->l + t->at, conic->bs + t->at);
    for (int k = 0; k < t->size; k++) conic->bs[t->at + k] *= -1;
  }
  conic_direction(conic);
  const double far = fmin(1, conic_length(conic));
  const double sigma = (1 - far) * (1 - far) * (1 - far),
               mu = conic->parts > 0 ? gap / conic->parts : 0;
  for (int p = 0; p < conic->parts; p++) {
    const perp_conic_part *part = &conic->part[p];
    double a[3], b[3];
    conic_W(conic, p, -1, conic->ds + part->at, a);
    conic_W(conic, p, 1, conic->dz + part->at, b);
    conic_times(part->size, a, b, a);
    for (int k = 0; k < part->size; k++)
      conic->bs[part->at + k] -= a[k] - (k == 0 ? sigma * mu : 0);
  }
  conic_direction(conic);
  const double t = fmin(1, SHARE * conic_length(conic));
  for (int i = 0; i < n; i++)
    if (!isfinite(conic->dx[i])) return;
  if (!(t > 0)) return;
  for (int i = 0; i < n; i++) conic->x[i] += t * conic->dx[i];
  for (int i = 0; i < conic->m; i++) {
    conic->s[i] += t * conic->ds[i];
    conic->z[i] += t * conic->dz[i];
  }
  *length = t;
}

void perp_conic_point(const perp_conic *conic, double *x)
{
  for (int i = 0; i < conic->n; i++) x[i] = conic->x[i] / conic->root[i];
}
