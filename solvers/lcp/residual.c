/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one judge of linear complementarity problems.
 *
 * Everything here is recomputed from the problem and the multipliers; nothing a method says is used.
 * The definition of rel, and the safeguard that keeps a huge lambda from certifying itself, stand in
 * lcp.h.  Cost: one pass over A for the row scales and one product. */
#include "solvers/lcp/internal.h"

#include <float.h>
#include <math.h>

/* ---- the problem ------------------------------------------------------------------------------------- */

/* Zero when all are finite, NaN otherwise; four chains so that it is not bound by latency. */
static double finite_probe(const double *x, size_t n)
{
  double s[4] = { 0, 0, 0, 0 };
  size_t i = 0;
  for (; i + 4 <= n; i += 4)
    for (int k = 0; k < 4; k++) s[k] += 0 * x[i + (size_t)k];
  for (; i < n; i++) s[0] += 0 * x[i];
  return s[0] + s[1] + s[2] + s[3];
}

static bool all_finite(const perp_lcp *p)
{
  size_t n = (size_t)p->n;
  double probe = finite_probe(p->b, n);
  if (p->A != NULL) {
    for (size_t j = 0; j < n; j++) probe += finite_probe(p->A + j * (size_t)p->lda, n);
  } else if (p->F != NULL) {
    const perp_blocks *F = p->F;
    probe += finite_probe(F->Minv, (size_t)F->mptr[F->nb]);
    probe += finite_probe(F->J, (size_t)F->joff[F->jptr[F->nc]]);
    if (F->s != NULL) probe += finite_probe(F->s, n);
  }
  return probe == 0;
}

static perp_status check_friction(perp_ctx *ctx, const perp_lcp *p)
{
  if (p->mu == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "friction rows without mu");
  for (int i = 0; i < p->n; i++) {
    int j = p->fric_of[i];
    if (j < -1 || j >= p->n)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: friction of row %d, but n = %d", i, j, p->n);
    if (j >= 0 && p->fric_of[j] >= 0)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: friction of row %d, which is a friction row", i,
                       j);
    if (j >= 0 && !(p->mu[i] >= 0 && p->mu[i] <= DBL_MAX))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: mu = %g, must be finite and >= 0", i, p->mu[i]);
  }
  return PERP_OK;
}

static perp_status check_cones(perp_ctx *ctx, const perp_lcp *p)
{
  for (int i = 0; i < p->n; i++) {
    if (!p->cone[i]) continue;
    if (p->fric_of == NULL || p->fric_of[i] < 0 || i + 1 >= p->n ||
        p->fric_of[i + 1] != p->fric_of[i] || p->cone[i + 1] || p->mu[i + 1] != p->mu[i])
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "row %d: a cone needs rows i and i+1 with one normal row and one mu", i);
  }
  return PERP_OK;
}

perp_status perp_lcp_check(perp_ctx *ctx, const perp_lcp *p, bool *finite)
{
  if (p->n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n = %d", p->n);
  if (p->n > 0 && p->b == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "no b");
  if (p->n > 0 && (p->A == NULL) == (p->F == NULL))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "A must be given either dense or factored");
  if (p->A != NULL && p->lda < p->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lda = %d but n = %d", p->lda, p->n);
  if (p->F != NULL && p->F->m != p->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d rows but n = %d", p->F->m, p->n);
  if (p->lo != NULL || p->hi != NULL)
    for (int i = 0; i < p->n; i++) {
      double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
      if (!(lo <= hi) || lo == HUGE_VAL || hi == -HUGE_VAL)
        return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: bounds [%g, %g]", i, lo, hi);
    }
  if (p->fric_of != NULL) PERP_TRY(check_friction(ctx, p));
  if (p->cone != NULL) PERP_TRY(check_cones(ctx, p));
  if (finite != NULL) *finite = all_finite(p);
  return PERP_OK;
}

unsigned perp_lcp_needs(const perp_lcp *p)
{
  unsigned needs = 0;
  if (p->lo == NULL && p->hi == NULL && p->fric_of == NULL) return 0;
  for (int i = 0; i < p->n; i++) {
    if (p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen) {
      needs |= PERP_LCP_FRICTION;
      if (p->cone != NULL && p->cone[i]) needs |= PERP_LCP_CONE;
      continue;
    }
    double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    if (lo == -HUGE_VAL && hi == HUGE_VAL)
      needs |= PERP_LCP_FREE;
    else if (lo != 0 || hi != HUGE_VAL)
      needs |= PERP_LCP_BOX;
  }
  return needs;
}

void perp_lcp_product(const perp_lcp *p, const double *lambda, double *w, double *scratch)
{
  int n = p->n;
  if (p->F != NULL) {
    perp_blocks_A(p->F, lambda, w, scratch);
    for (int i = 0; i < n; i++) w[i] += p->b[i];
    return;
  }
  for (int i = 0; i < n; i++) w[i] = p->b[i];
  for (int j = 0; j < n; j++) {
    const double *col = p->A + (size_t)j * (size_t)p->lda;
    double x = lambda[j];
    if (x == 0) continue; /* A is finite, or has been refused */
    for (int i = 0; i < n; i++) w[i] += col[i] * x;
  }
}

/* A zero row takes the largest scale, so that s A has s times the scales; 1 when all of A is zero. */
static void fill_zero_rows(int n, double *a)
{
  double largest = 0;
  for (int i = 0; i < n; i++) largest = a[i] > largest ? a[i] : largest;
  if (largest == 0) largest = 1;
  for (int i = 0; i < n; i++)
    if (a[i] == 0) a[i] = largest;
}

/* One tile of both triangles: row maxima, the largest differences of entries across the diagonal, and 0 times
 * every entry, each in lanes that fill vectors. */
enum { TILE = 16 };
static inline void survey_tile(const double *restrict lower, const double *restrict upper,
                               size_t ld, int rows, int columns, double *restrict low,
                               double *restrict up, double *restrict differ, double *restrict probe)
{
  double turned[TILE * TILE];
  for (int i = 0; i < rows; i++)
    for (int j = 0; j < columns; j++) {
      double y = upper[(size_t)i * ld + (size_t)j], size = fabs(y);
      turned[i + TILE * j] = y;
      up[j] = size > up[j] ? size : up[j];
      probe[j] += 0 * y;
    }
  for (int j = 0; j < columns; j++)
    for (int i = 0; i < rows; i++) {
      double x = lower[(size_t)j * ld + (size_t)i], size = fabs(x);
      double d = fabs(x - turned[i + TILE * j]);
      low[i] = size > low[i] ? size : low[i];
      differ[i] = d > differ[i] ? d : differ[i];
      probe[i] += 0 * x;
    }
}

void perp_lcp_survey(const perp_lcp *p, double *a, double *asymmetry, bool *finite)
{
  int n = p->n;
  size_t ld = (size_t)p->lda;
  double differ[TILE] = { 0 }, probe[TILE] = { 0 }, any[TILE] = { 0 }, up[TILE] = { 0 };
  double most = 0, largest = 0, sum = 0;
  for (int i = 0; a != NULL && i < n; i++) a[i] = 0;
  for (int J = 0; J < n; J += TILE)
    for (int I = J; I < n; I += TILE) {
      int columns = n - J < TILE ? n - J : TILE, rows = n - I < TILE ? n - I : TILE;
      const double *lower = p->A + (size_t)I + (size_t)J * ld;
      const double *upper = p->A + (size_t)J + (size_t)I * ld;
      double *low = a != NULL ? a + I : any;
      for (int j = 0; a != NULL && j < columns; j++) up[j] = a[J + j];
      if (rows == TILE && columns == TILE)
        survey_tile(lower, upper, ld, TILE, TILE, low, up, differ, probe);
      else
        survey_tile(lower, upper, ld, rows, columns, low, up, differ, probe);
      for (int j = 0; a != NULL && j < columns; j++) a[J + j] = up[j] > a[J + j] ? up[j] : a[J + j];
    }
  for (int k = 0; k < TILE; k++) {
    most = differ[k] > most ? differ[k] : most;
    sum += probe[k];
    largest = fmax(largest, fmax(any[k], up[k]));
  }
  for (int i = 0; a != NULL && i < n; i++) largest = a[i] > largest ? a[i] : largest;
  if (asymmetry != NULL) *asymmetry = most > 0 ? most / largest : 0;
  if (finite != NULL) *finite = sum == 0 && finite_probe(p->b, (size_t)n) == 0;
  if (a != NULL) fill_zero_rows(n, a);
}

double perp_lcp_asymmetry(const perp_lcp *p)
{
  double asymmetry = 0;
  if (p->A != NULL) perp_lcp_survey(p, NULL, &asymmetry, NULL);
  return asymmetry;
}

/* ---- row scales -------------------------------------------------------------------------------------- */

/* For each row i of J M^-1 J' + S: a_i = max_j |A_ij| and, where lambda is given, c_i = sum_j
 * |A_ij| |lambda_j|.  acc [m], y [nv].  Visits the groups that share a block with the row's group. */
static void factored_rows(const perp_blocks *F, const double *lambda, double *a, double *c,
                          double *acc, double *y)
{
  for (int i = 0; i < F->m; i++) acc[i] = 0;
  for (int g = 0; g < F->nc; g++) {
    int row = F->cptr[g], r = F->cptr[g + 1] - row;
    for (int l = 0; l < r; l++) {
      int i = row + l;
      acc[i] = F->s != NULL ? F->s[i] : 0;
      for (int k = F->jptr[g]; k < F->jptr[g + 1]; k++) {
        int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
        const double *G = F->J + F->joff[k], *W = F->Minv + F->mptr[b];
        for (int q = 0; q < d; q++) {
          y[q] = 0;
          for (int s = 0; s < d; s++) y[q] += W[q + s * d] * G[l + s * r];
        }
        for (int t = F->tptr[b]; t < F->tptr[b + 1]; t++) {
          int u = F->tsub[t], col = F->cptr[F->jgrp[u]], ru = F->cptr[F->jgrp[u] + 1] - col;
          const double *H = F->J + F->joff[u];
          for (int q = 0; q < d; q++)
            for (int j = 0; j < ru; j++) acc[col + j] += H[j + q * ru] * y[q];
        }
      }
      double most = fabs(acc[i]), sum = 0;
      if (lambda != NULL) sum = most * fabs(lambda[i]);
      acc[i] = 0;
      for (int k = F->jptr[g]; k < F->jptr[g + 1]; k++) {
        int b = F->jblk[k];
        for (int t = F->tptr[b]; t < F->tptr[b + 1]; t++) {
          int u = F->tsub[t];
          for (int j = F->cptr[F->jgrp[u]]; j < F->cptr[F->jgrp[u] + 1]; j++) {
            double v = fabs(acc[j]);
            if (v > most) most = v;
            if (lambda != NULL) sum += v * fabs(lambda[j]);
            acc[j] = 0;
          }
        }
      }
      a[i] = most;
      if (lambda != NULL) c[i] = sum;
    }
  }
}

/* The quick way where each group touches one or two narrow blocks, and the groups on the same two blocks
 * follow each other (the points of a contact).  With d_ib = g_ib' M_b^-1 g_ib, A_ii = sum_b d_ib + s_i, and
 * |A_ij| <= sqrt(d_ib d_jb) for rows that share the block b alone: rows of such a run are multiplied out,
 * and a row meets those of other groups only where the bound with the largest d_jb of the block exceeds what
 * has been found. */
enum { NARROW = 6, RUN_ROWS = 24 };

typedef struct run_row {
  double y[2][NARROW]; /* M_b^-1 g */
} run_row;

/* The end of the run of groups on the same blocks that starts with group g; at most RUN_ROWS rows. */
static int run_end(const perp_blocks *F, int g)
{
  const int first = F->jptr[g], subs = F->jptr[g + 1] - first;
  int h = g + 1;
  for (; h < F->nc && F->jptr[h + 1] - F->jptr[h] == subs; h++)
    for (int k = 0; k < subs; k++)
      if (F->jblk[F->jptr[h] + k] != F->jblk[first + k]) return h;
  return h;
}

/* Are the groups narrow, and all groups on two blocks in one run?  seen [nb] scratch. */
static bool narrow(const perp_blocks *F, double *seen)
{
  for (int b = 0; b < F->nb; b++) {
    if (F->bptr[b + 1] - F->bptr[b] > NARROW) return false;
    seen[b] = -1;
  }
  for (int g = 0; g < F->nc; g++) {
    const int subs = F->jptr[g + 1] - F->jptr[g];
    if (subs < 1 || subs > 2) return false;
  }
  for (int b = 0; b < F->nb; b++) /* seen [c] = b: there has been a group on b and c */
    for (int t = F->tptr[b], last = -1; t < F->tptr[b + 1]; t++) {
      const int k = F->tsub[t], g = F->jgrp[k], start = F->jptr[g];
      if (F->jptr[g + 1] - start < 2) continue;
      const int c = F->jblk[k == start ? start + 1 : start];
      const bool follows = last >= 0 && last == g - 1 && F->jblk[F->jptr[last]] == F->jblk[start] &&
                           F->jblk[F->jptr[last] + 1] == F->jblk[start + 1];
      if (seen[c] == b && !follows) return false;
      seen[c] = b;
      last = g;
    }
  return true;
}

/* y = M_b^-1 g for row l of sub-matrix k; returns g'y */
static double row_times_inverse(const perp_blocks *F, int k, int l, int r, double y[NARROW])
{
  const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b];
  const double *G = F->J + F->joff[k] + l, *W = F->Minv + F->mptr[b];
  double sum = 0;
  if (F->diag != NULL && F->diag[b])
    for (int q = 0; q < d; q++) y[q] = W[q + q * d] * G[q * r];
  else {
    for (int q = 0; q < d; q++) y[q] = 0;
    for (int s = 0; s < d; s++)
      for (int q = 0; q < d; q++) y[q] += W[q + s * d] * G[s * r];
  }
  for (int q = 0; q < d; q++) sum += G[q * r] * y[q];
  return sum;
}

/* Rows of the run of groups g ... end - 1 among themselves.  own [m]: d of the first block; most [nb]: the
 * largest d of each block so far.  False: too many rows. */
static bool scales_of_run(const perp_blocks *F, int g, int end, double *a, double *own,
                          double *most)
{
  run_row row[RUN_ROWS];
  const int first = F->cptr[g], n = F->cptr[end] - first, subs = F->jptr[g + 1] - F->jptr[g];
  if (n > RUN_ROWS) return false;
  for (int h = g; h < end; h++) {
    const int at = F->cptr[h], r = F->cptr[h + 1] - at;
    for (int l = 0; l < r; l++) {
      run_row *x = &row[at + l - first];
      double diagonal = F->s != NULL ? F->s[at + l] : 0;
      for (int k = 0; k < subs; k++) {
        const int b = F->jblk[F->jptr[h] + k];
        double d = row_times_inverse(F, F->jptr[h] + k, l, r, x->y[k]);
        if (k == 0) own[at + l] = d;
        if (d > most[b]) most[b] = d;
        diagonal += d;
      }
      a[at + l] = diagonal;
    }
    /* against the rows of this group and of those before it in the run */
    for (int l = 0; l < r; l++)
      for (int j = 0; j < at + l - first; j++) {
        const run_row *y = &row[j];
        double sum = 0;
        for (int k = 0; k < subs; k++) {
          const int b = F->jblk[F->jptr[h] + k], d = F->bptr[b + 1] - F->bptr[b];
          const double *G = F->J + F->joff[F->jptr[h] + k] + l;
          for (int q = 0; q < d; q++) sum += G[q * r] * y->y[k][q];
        }
        sum = fabs(sum);
        if (sum > a[at + l]) a[at + l] = sum;
        if (sum > a[first + j]) a[first + j] = sum;
      }
  }
  return true;
}

/* Row l of sub-matrix k, row i of A, against the rows of other groups on its block that share this block
 * alone: those of other runs. */
static double scale_across(const perp_blocks *F, int g, int k, int l, double most)
{
  const int b = F->jblk[k], d = F->bptr[b + 1] - F->bptr[b], subs = F->jptr[g + 1] - F->jptr[g];
  const int other = subs == 2 ? F->jblk[k == F->jptr[g] ? k + 1 : k - 1] : -1;
  double y[NARROW];
  row_times_inverse(F, k, l, F->cptr[g + 1] - F->cptr[g], y);
  for (int t = F->tptr[b]; t < F->tptr[b + 1]; t++) {
    const int u = F->tsub[t], h = F->jgrp[u], start = F->jptr[h];
    const int rh = F->cptr[h + 1] - F->cptr[h];
    if (h == g) continue;
    if (other >= 0 && F->jptr[h + 1] - start == 2 &&
        F->jblk[u == start ? start + 1 : start] == other)
      continue;
    const double *H = F->J + F->joff[u];
    for (int j = 0; j < rh; j++) {
      double sum = 0;
      for (int q = 0; q < d; q++) sum += H[j + q * rh] * y[q];
      if (fabs(sum) > most) most = fabs(sum);
    }
  }
  return most;
}

/* max_j |A_ij| of contacts.  scratch [m + nb].  False: the pattern is another one, nothing was done. */
static bool factored_scales(const perp_blocks *F, double *a, double *scratch)
{
  double *own = scratch, *most = scratch + F->m;
  if (!narrow(F, most)) return false;
  for (int b = 0; b < F->nb; b++) most[b] = 0;
  for (int g = 0, end; g < F->nc; g = end) {
    end = run_end(F, g);
    if (!scales_of_run(F, g, end, a, own, most)) return false;
  }
  for (int g = 0; g < F->nc; g++) {
    const int first = F->jptr[g], subs = F->jptr[g + 1] - first;
    for (int i = F->cptr[g]; i < F->cptr[g + 1]; i++)
      for (int k = 0; k < subs; k++) {
        const int b = F->jblk[first + k];
        /* a_i >= A_ii; room for rounding */
        const double d = k == 0 ? own[i] : a[i] - own[i];
        if (d * most[b] * (1 + 1e-9) >= a[i] * a[i])
          a[i] = scale_across(F, g, first + k, i - F->cptr[g], a[i]);
      }
  }
  return true;
}

void perp_lcp_scales(const perp_lcp *p, double *a, double *scratch)
{
  int n = p->n;
  if (p->F != NULL) {
    if (!factored_scales(p->F, a, scratch))
      factored_rows(p->F, NULL, a, NULL, scratch, scratch + n);
    fill_zero_rows(n, a);
    return;
  }
  double *restrict most = a;
  for (int i = 0; i < n; i++) most[i] = 0;
  for (int j = 0; j < n; j++) {
    const double *restrict col = p->A + (size_t)j * (size_t)p->lda;
    for (int i = 0; i < n; i++) {
      double v = fabs(col[i]);
      most[i] = v > most[i] ? v : most[i];
    }
  }
  fill_zero_rows(n, a);
}

void perp_lcp_absolute(const perp_lcp *p, const double *x, bool transposed, double *a, double *c,
                       double *acc, double *y)
{
  int n = p->n;
  if (p->F != NULL) {
    factored_rows(p->F, x, a, c, acc, y);
    fill_zero_rows(n, a);
    return;
  }
  perp_lcp_scales(p, a, NULL);
  for (int i = 0; i < n; i++) c[i] = 0;
  for (int k = 0; k < n; k++) {
    const double *col = p->A + (size_t)k * (size_t)p->lda;
    if (transposed) {
      for (int i = 0; i < n; i++) c[k] += fabs(col[i]) * fabs(x[i]);
    } else if (x[k] != 0) {
      double size = fabs(x[k]);
      for (int i = 0; i < n; i++) c[i] += fabs(col[i]) * size;
    }
  }
}

/* ---- the natural map ------------------------------------------------------------------------------------ */

static double clamp(double x, double lo, double hi)
{
  return x < lo ? lo : x > hi ? hi : x; /* NaN passes through */
}

static bool is_cone(const perp_lcp *p, int i)
{
  return p->cone != NULL && p->cone[i] && !p->frozen;
}

/* |lambda_T - disc(lambda_T - w_T / a, radius)|_2 and, where d is given, the two components. */
static double disc_residual(const double *lambda, const double *w, double a, double radius,
                            double *d)
{
  double x = lambda[0] - w[0] / a, y = lambda[1] - w[1] / a, length = hypot(x, y);
  if (length > radius) {
    x *= radius / length;
    y *= radius / length;
  }
  if (isnan(length)) x = length;
  if (d != NULL) {
    d[0] = lambda[0] - x;
    d[1] = lambda[1] - y;
  }
  return hypot(lambda[0] - x, lambda[1] - y);
}

double perp_lcp_rel(const perp_lcp *p, const double *a, const double *lambda, const double *w)
{
  double worst = 0, size = 0, data = 0, start = 0;
  bool bad = false; /* a maximum would lose a NaN */
  for (int i = 0; i < p->n; i++) {
    double lo, hi, r, x = fabs(lambda[i]), b = fabs(p->b[i]) / a[i];
    perp_lcp_bounds(p, lambda, i, &lo, &hi);
    if (is_cone(p, i)) {
      r = disc_residual(lambda + i, w + i, fmax(a[i], a[i + 1]), hi, NULL);
      x = fmax(x, fabs(lambda[i + 1]));
      b = fmax(b, fabs(p->b[i + 1]) / a[i + 1]);
      bad |= !(fabs(lambda[i + 1]) <= DBL_MAX);
      i++;
    } else {
      r = fabs(lambda[i] - clamp(lambda[i] - w[i] / a[i], lo, hi));
      double zero = fabs(clamp(0, lo, hi));
      if (zero > start) start = zero;
    }
    bad |= !(r <= DBL_MAX) | !(x <= DBL_MAX) | !(b <= DBL_MAX);
    if (r > worst) worst = r;
    if (x > size) size = x;
    if (b > data) data = b;
  }
  if (bad) return (double)NAN;
  double rel = worst / fmax(fmax(size, data), DBL_MIN);
  if (start > data) data = start;
  if (data > 0) {
    double drowned = DBL_EPSILON * size / data;
    double s = fmax(worst / data, drowned >= 0.0625 ? 1 : 0);
    if (s > 1e-4) rel = fmax(rel, s < 1 ? (s * s) * (s * s) : s);
  }
  return rel;
}

/* lambda - P_K(lambda - (u + mu |u_T| e_N)) of one contact, K the Coulomb cone: De Saxce's form. */
static void cone_map(double mu, const double *r, const double *u, double *F)
{
  double xn = r[0] - u[0] - mu * hypot(u[1], u[2]), xt[2] = { r[1] - u[1], r[2] - u[2] };
  double t = hypot(xt[0], xt[1]);
  double pn = xn, scale = 1;
  if (mu * t <= -xn) { /* in the polar cone */
    pn = 0;
    scale = 0;
  } else if (t > mu * xn) { /* onto the surface */
    pn = (xn + mu * t) / (1 + mu * mu);
    scale = mu * pn / t;
  }
  F[0] = r[0] - pn;
  F[1] = r[1] - scale * xt[0];
  F[2] = r[2] - scale * xt[1];
}

static double norm2(const double *x, int n)
{
  double largest = 0, sum = 0;
  for (int i = 0; i < n; i++) largest = fmax(largest, fabs(x[i]));
  if (!(largest > 0)) return 0;
  for (int i = 0; i < n; i++) sum += (x[i] / largest) * (x[i] / largest);
  return largest * sqrt(sum);
}

/* The unscaled natural map F [n]; contacts with a circular cone in De Saxce's form. */
static void natural_map(const perp_lcp *p, const double *lambda, const double *w, double *F)
{
  for (int i = 0; i < p->n; i++) {
    double lo, hi;
    perp_lcp_bounds(p, lambda, i, &lo, &hi);
    F[i] = lambda[i] - clamp(lambda[i] - w[i], lo, hi);
  }
  for (int i = 0; p->cone != NULL && !p->frozen && i < p->n; i++) {
    if (!p->cone[i]) continue;
    int j = p->fric_of[i];
    double r[3] = { lambda[j], lambda[i], lambda[i + 1] }, u[3] = { w[j], w[i], w[i + 1] }, G[3];
    cone_map(p->mu[i], r, u, G);
    F[j] = G[0];
    F[i] = G[1];
    F[i + 1] = G[2];
  }
}

static double coupling(const perp_lcp *p, const double *lambda)
{
  double worst = 0, size = DBL_MIN;
  if (!p->frozen || p->fric_of == NULL) return 0;
  for (int i = 0; i < p->n; i++) {
    if (p->fric_of[i] < 0) continue;
    double limit = p->mu[i] * fmax(lambda[p->fric_of[i]], 0), hi = p->hi != NULL ? p->hi[i] : 0;
    worst = fmax(worst, fabs(hi - limit));
    size = fmax(size, fmax(fabs(hi), limit));
  }
  return worst / size;
}

void perp_lcp_judge(const perp_lcp *p, const double *lambda, double *w, double *scratch,
                    perp_lcp_judgement *j)
{
  int n = p->n;
  double *a = scratch, *c = a + n, *F = c + n, *own = F + n, *v = own + n;
  double *x = w != NULL ? w : own;
  perp_lcp_absolute(p, lambda, false, a, c, F, v);
  perp_lcp_product(p, lambda, x, v);
  *j = (perp_lcp_judgement){ .rel = perp_lcp_rel(p, a, lambda, x),
                             .coupling = coupling(p, lambda) };
  natural_map(p, lambda, x, F);
  for (int i = 0; i < n; i++) {
    double size = c[i] + fabs(p->b[i]);
    j->abs = fmax(j->abs, fabs(F[i]));
    if (size > 0) j->componentwise = fmax(j->componentwise, fabs(F[i]) / size);
  }
  double f = norm2(F, n), q = norm2(p->b, n), l = norm2(lambda, n);
  for (int i = 0; i < n; i++) c[i] = x[i] - p->b[i];
  double al = norm2(c, n), most = fmax(q, fmax(al, l));
  j->siconos = f > 0 ? f / fmax(most, DBL_MIN) : 0;
  j->fclib = f / (1 + q);
  j->abh = f > 0 ? f / fmax(q, DBL_MIN) : 0;
  if (isnan(j->rel)) j->abs = j->componentwise = j->siconos = j->fclib = j->abh = (double)NAN;
}
