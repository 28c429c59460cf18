/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one judge of linear complementarity problems.
 *
 * Here is what it reads of the problem; rate.c has its figures from a w with rounding, which
 * methods stop on, judge.c the last word.  The definitions stand in lcp.h.  Cost: one pass over A
 * for the row scales and one product. */
#include "solvers/core/clones.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

/* ---- the problem ---- */

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

static double probe_dense(const perp_lcp *p)
{
  double probe = 0;
  for (int j = 0; p->A != NULL && j < p->n; j++)
    probe += finite_probe(p->A + (size_t)j * (size_t)p->lda, (size_t)p->n);
  return probe;
}

/* What one member of a team reads of a problem. */
enum { RATERS = 16 }; /* of a team at most */
typedef struct reading {
  const perp_lcp *p;
  double probe[RATERS];
  bool strange[RATERS];
} reading;

static double probe_blocks(const perp_blocks *F, int member, int members)
{
  const int from = perp_share(F->nc, member, members), to = perp_share(F->nc, member + 1, members);
  const int start = F->joff[F->jptr[from]], end = F->joff[F->jptr[to]];
  double probe = finite_probe(F->J + start, (size_t)(end - start));
  const int last = perp_share(F->nb, member + 1, members);
  for (int b = perp_share(F->nb, member, members); b < last; b++) {
    const int d = F->bptr[b + 1] - F->bptr[b];
    if (F->flat != NULL && F->diag[b])
      probe += finite_probe(F->flat + F->bptr[b], (size_t)d);
    else
      probe += finite_probe(F->Minv + F->mptr[b], (size_t)(d * d));
  }
  return probe;
}

/* Are the bounds of row i none?  Those of friction rows are looked at, too. */
static bool bounds_strange(const perp_lcp *p, int i, double *lo, double *hi)
{
  *lo = p->lo != NULL ? p->lo[i] : 0;
  *hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
  return !(*lo <= *hi) | (*lo == HUGE_VAL) | (*hi == -HUGE_VAL);
}

/* Are all numbers finite, bounds and friction rows in order?  No tells less than the checks below,
 * yes all of it. */
static void read_share(void *user, int member, int members)
{
  reading *job = user;
  const perp_lcp *p = job->p;
  const int from = perp_share(p->n, member, members), end = perp_share(p->n, member + 1, members);
  bool strange = false;
  double lo, hi;
  for (int i = from; i < end && (p->lo != NULL || p->hi != NULL); i++)
    strange |= bounds_strange(p, i, &lo, &hi);
  for (int i = from; i < end && p->fric_of != NULL && p->mu != NULL; i++) {
    const int j = p->fric_of[i];
    if (j < 0)
      strange |= j < -1;
    else
      strange |= j >= p->n || p->fric_of[j] >= 0 || !(p->mu[i] >= 0 && p->mu[i] <= DBL_MAX);
  }
  double probe = finite_probe(p->b + from, (size_t)(end - from));
  if (p->C != NULL && member == 0) probe += finite_probe(p->C->value, (size_t)p->C->start[p->n]);
  if (p->F != NULL) {
    probe += probe_blocks(p->F, member, members);
    if (p->F->s != NULL) probe += finite_probe(p->F->s + from, (size_t)(end - from));
  }
  job->probe[member] = probe;
  job->strange[member] = strange;
}

bool perp_lcp_finite(const perp_lcp *p)
{
  double probe = finite_probe(p->b, (size_t)p->n) + probe_dense(p);
  if (p->C != NULL) probe += finite_probe(p->C->value, (size_t)p->C->start[p->n]);
  if (p->F != NULL) probe += probe_blocks(p->F, 0, 1);
  if (p->F != NULL && p->F->s != NULL) probe += finite_probe(p->F->s, (size_t)p->n);
  return probe == 0;
}

static perp_status check_friction(perp_ctx *ctx, const perp_lcp *p)
{
  if (p->mu == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "friction rows without mu");
  for (int i = 0; i < p->n; i++) {
    int j = p->fric_of[i];
    if (j < -1 || j >= p->n)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its normal row is %d, but n = %d", i, j, p->n);
    if (j >= 0 && p->fric_of[j] >= 0)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its normal row %d is a friction row", i, j);
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

static perp_status check_rows(perp_ctx *ctx, const perp_lcp *p)
{
  double lo, hi;
  for (int i = 0; i < p->n && (p->lo != NULL || p->hi != NULL); i++)
    if (bounds_strange(p, i, &lo, &hi))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: the bounds [%g, %g] are empty or not a number",
                       i, lo, hi);
  return p->fric_of != NULL ? check_friction(ctx, p) : PERP_OK;
}

perp_status perp_lcp_check(perp_ctx *ctx, const perp_lcp *p, bool *finite)
{
  if (p->n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n must not be negative: got %d", p->n);
  if (p->n > 0 && p->b == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "b is missing");
  if (p->n > 0 && (p->A != NULL) + (p->F != NULL) + (p->C != NULL) != 1)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "A must be exactly one of dense, sparse and factored");
  if (p->A != NULL && p->lda < p->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lda = %d but n = %d", p->lda, p->n);
  if (p->F != NULL && p->F->m != p->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d rows but n = %d", p->F->m, p->n);
  if (p->C != NULL && p->C->n != p->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "A has %d columns but n = %d", p->C->n, p->n);
  if (p->C != NULL) PERP_TRY(perp_columns_check(ctx, p->C));
  reading job = { .p = p };
  const int threads = p->F != NULL ? p->F->threads : 1;
  perp_team(threads < RATERS ? threads : RATERS, read_share, &job);
  double probe = 0;
  bool strange = p->fric_of != NULL && p->mu == NULL;
  for (int k = 0; k < RATERS; k++) {
    probe += job.probe[k];
    strange |= job.strange[k];
  }
  if (strange) PERP_TRY(check_rows(ctx, p));
  for (int i = 0; p->unit != NULL && i < p->n; i++)
    if (!(p->unit[i] > 0 && p->unit[i] <= DBL_MAX))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: unit = %g, must be finite and > 0", i,
                       p->unit[i]);
  for (int i = 0; p->contact_of != NULL && i < p->n; i++)
    if (p->contact_of[i] < -1 || p->contact_of[i] >= p->n)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: contact %d, must be in [-1, %d]", i,
                       p->contact_of[i], p->n - 1);
  if (p->cone != NULL) PERP_TRY(check_cones(ctx, p));
  if (finite != NULL) *finite = probe + probe_dense(p) == 0;
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
  if (p->C != NULL) perp_columns_times(p->C, lambda, w);
  for (int j = 0; p->A != NULL && j < n; j++) {
    const double *col = p->A + (size_t)j * (size_t)p->lda;
    double x = lambda[j];
    if (x == 0) continue; /* A is finite, or has been refused */
    for (int i = 0; i < n; i++) w[i] += col[i] * x;
  }
}

/* A zero row takes the largest scale, so that s A has s times the scales; 1 when all of A is zero.
 */
static void fill_zero_rows(int n, double *a)
{
  double largest = 0;
  for (int i = 0; i < n; i++) largest = a[i] > largest ? a[i] : largest;
  if (largest == 0) largest = 1;
  for (int i = 0; i < n; i++)
    if (a[i] == 0) a[i] = largest;
}

/* One tile of both triangles: row maxima, the largest differences of entries across the diagonal,
 * and 0 times every entry, each in lanes that fill vectors. */
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
  if (p->C != NULL) {
    const double most = perp_columns_skew(p->C);
    double largest = 0;
    for (int k = 0; k < p->C->start[p->n]; k++) largest = fmax(largest, fabs(p->C->value[k]));
    return most > 0 ? most / largest : 0;
  }
  if (p->A != NULL) perp_lcp_survey(p, NULL, &asymmetry, NULL);
  return asymmetry;
}

/* ---- row scales ---- */

void perp_lcp_scales(const perp_lcp *p, double *a, double *scratch)
{
  int n = p->n;
  if (p->F != NULL) {
    if (!perp_lcp_contact_scales(p->F, a, scratch))
      perp_lcp_factored_rows(p->F, NULL, a, NULL, scratch, scratch + n);
    fill_zero_rows(n, a);
    return;
  }
  double *restrict most = a;
  for (int i = 0; i < n; i++) most[i] = 0;
  for (int k = 0; p->C != NULL && k < p->C->start[n]; k++)
    most[p->C->row[k]] = fmax(most[p->C->row[k]], fabs(p->C->value[k]));
  for (int j = 0; p->A != NULL && j < n; j++) {
    const double *restrict col = p->A + (size_t)j * (size_t)p->lda;
    for (int i = 0; i < n; i++) {
      double v = fabs(col[i]);
      most[i] = v > most[i] ? v : most[i];
    }
  }
  fill_zero_rows(n, a);
}

void perp_lcp_transposed(const perp_lcp *p, const double *z, double *u, double *scratch)
{
  if (p->F != NULL) {
    perp_blocks_A(p->F, z, u, scratch);
    return;
  }
  for (int j = 0; j < p->n && p->C != NULL; j++) u[j] = 0;
  if (p->C != NULL) perp_columns_turned_times(p->C, z, u);
  for (int j = 0; p->A != NULL && j < p->n; j++) {
    const double *col = p->A + (size_t)j * (size_t)p->lda;
    double sum = 0;
    for (int i = 0; i < p->n; i++) sum += col[i] * z[i];
    u[j] = sum;
  }
}

void perp_lcp_absolute(const perp_lcp *p, const double *x, bool transposed, double *a, double *c,
                       double *acc, double *y)
{
  int n = p->n;
  if (p->F != NULL) {
    perp_lcp_factored_rows(p->F, x, a, c, acc, y);
    fill_zero_rows(n, a);
    return;
  }
  perp_lcp_scales(p, a, NULL);
  for (int i = 0; i < n; i++) c[i] = 0;
  for (int j = 0; p->C != NULL && j < n; j++)
    for (int k = p->C->start[j]; k < p->C->start[j + 1]; k++) {
      const int to = transposed ? j : p->C->row[k], from = transposed ? p->C->row[k] : j;
      c[to] += fabs(p->C->value[k]) * fabs(x[from]);
    }
  for (int k = 0; p->A != NULL && k < n; k++) {
    const double *col = p->A + (size_t)k * (size_t)p->lda;
    if (transposed) {
      for (int i = 0; i < n; i++) c[k] += fabs(col[i]) * fabs(x[i]);
    } else if (x[k] != 0) {
      double size = fabs(x[k]);
      for (int i = 0; i < n; i++) c[i] += fabs(col[i]) * size;
    }
  }
}
