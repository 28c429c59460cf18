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
PERP_CLONES_OF_FOUR static double finite_probe(const double *x, size_t n)
{
  const perp_v4 zero = { 0, 0, 0, 0 };
  perp_v4 s[2] = { zero, zero };
  size_t i = 0;
  for (; i + 8 <= n; i += 8) {
    s[0] += zero * *(const perp_v4_any *)(x + i);
    s[1] += zero * *(const perp_v4_any *)(x + i + 4);
  }
  for (; i < n; i++) s[0][0] += 0 * x[i];
  s[0] += s[1];
  return s[0][0] + s[0][1] + s[0][2] + s[0][3];
}

static double probe_dense(const perp_lcp *lcp)
{
  double probe = 0;
  for (int j = 0; lcp->A != NULL && j < lcp->n; j++)
    probe += finite_probe(lcp->A + (size_t)j * (size_t)lcp->lda, (size_t)lcp->n);
  return probe;
}

/* What one member of a team reads of a problem. */
enum { RATERS = 16 }; /* of a team at most */
typedef struct reading {
  const perp_lcp *p;
  double probe[RATERS];
  bool strange[RATERS];
} reading;

static double probe_blocks(const perp_blocks *blocks, int member, int members)
{
  const int from = perp_share(blocks->nc, member, members),
            to = perp_share(blocks->nc, member + 1, members);
  const int start = blocks->joff[blocks->jptr[from]], end = blocks->joff[blocks->jptr[to]];
  double probe = finite_probe(blocks->J + start, (size_t)(end - start));
  const int last = perp_share(blocks->nb, member + 1, members);
  for (int b = perp_share(blocks->nb, member, members); b < last; b++) {
    const int d = blocks->bptr[b + 1] - blocks->bptr[b];
    if (blocks->flat != NULL && blocks->diag[b])
      for (int k = 0; k < d; k++) probe += 0 * blocks->flat[blocks->bptr[b] + k];
    else
      probe += finite_probe(blocks->Minv + blocks->mptr[b], (size_t)(d * d));
  }
  return probe;
}

/* Are the bounds of row i none?  Those of friction rows are looked at, too. */
static bool bounds_strange(const perp_lcp *lcp, int i, double *lo, double *hi)
{
  *lo = lcp->lo != NULL ? lcp->lo[i] : 0;
  *hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
  return !(*lo <= *hi) | (*lo == HUGE_VAL) | (*hi == -HUGE_VAL);
}

/* Are all numbers finite, bounds and friction rows in order?  No tells less than the checks below,
 * yes all of it. */
static void read_share(void *user, int member, int members)
{
  reading *job = user;
  const perp_lcp *lcp = job->p;
  const int from = perp_share(lcp->n, member, members),
            end = perp_share(lcp->n, member + 1, members);
  bool strange = false;
  double lo, hi;
  for (int i = from; i < end && (lcp->lo != NULL || lcp->hi != NULL); i++)
    strange |= bounds_strange(lcp, i, &lo, &hi);
  for (int i = from; i < end && lcp->fric_of != NULL && lcp->mu != NULL; i++) {
    const int j = lcp->fric_of[i];
    if (j < 0)
      strange |= j < -1;
    else
      strange |= j >= lcp->n || lcp->fric_of[j] >= 0 || !(lcp->mu[i] >= 0 && lcp->mu[i] <= DBL_MAX);
  }
  double probe = finite_probe(lcp->b + from, (size_t)(end - from));
  if (lcp->C != NULL && member == 0)
    probe += finite_probe(lcp->C->value, (size_t)lcp->C->start[lcp->n]);
  if (lcp->F != NULL) {
    probe += probe_blocks(lcp->F, member, members);
    if (lcp->F->s != NULL) probe += finite_probe(lcp->F->s + from, (size_t)(end - from));
  }
  job->probe[member] = probe;
  job->strange[member] = strange;
}

bool perp_lcp_finite(const perp_lcp *lcp)
{
  double probe = finite_probe(lcp->b, (size_t)lcp->n) + probe_dense(lcp);
  if (lcp->C != NULL) probe += finite_probe(lcp->C->value, (size_t)lcp->C->start[lcp->n]);
  if (lcp->F != NULL) probe += probe_blocks(lcp->F, 0, 1);
  if (lcp->F != NULL && lcp->F->s != NULL) probe += finite_probe(lcp->F->s, (size_t)lcp->n);
  return probe == 0;
}

static perp_status check_friction(perp_ctx *ctx, const perp_lcp *lcp)
{
  if (lcp->mu == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "friction rows without mu");
  for (int i = 0; i < lcp->n; i++) {
    int j = lcp->fric_of[i];
    if (j < -1 || j >= lcp->n)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its normal row is %d, but n = %d", i, j, lcp->n);
    if (j >= 0 && lcp->fric_of[j] >= 0)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: its normal row %d is a friction row", i, j);
    if (j >= 0 && !(lcp->mu[i] >= 0 && lcp->mu[i] <= DBL_MAX))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: mu = %g, must be finite and >= 0", i,
                       lcp->mu[i]);
  }
  return PERP_OK;
}

static perp_status check_cones(perp_ctx *ctx, const perp_lcp *lcp)
{
  for (int i = 0; i < lcp->n; i++) {
    if (!lcp->cone[i]) continue;
    if (lcp->fric_of == NULL || lcp->fric_of[i] < 0 || i + 1 >= lcp->n ||
        lcp->fric_of[i + 1] != lcp->fric_of[i] || lcp->cone[i + 1] || lcp->mu[i + 1] != lcp->mu[i])
      return PERP_FAIL(ctx, PERP_ERR_ARG,
                       "row %d: a cone needs rows i and i+1 with one normal row and one mu", i);
  }
  return PERP_OK;
}

static perp_status check_rows(perp_ctx *ctx, const perp_lcp *lcp)
{
  double lo, hi;
  for (int i = 0; i < lcp->n && (lcp->lo != NULL || lcp->hi != NULL); i++)
    if (bounds_strange(lcp, i, &lo, &hi))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: the bounds [%g, %g] are empty or not a number",
                       i, lo, hi);
  return lcp->fric_of != NULL ? check_friction(ctx, lcp) : PERP_OK;
}

perp_status perp_lcp_check(perp_ctx *ctx, const perp_lcp *lcp, bool *finite)
{
  if (lcp->n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "n must not be negative: got %d", lcp->n);
  if (lcp->n > 0 && lcp->b == NULL) return PERP_FAIL(ctx, PERP_ERR_ARG, "b is missing");
  if (lcp->n > 0 && (lcp->A != NULL) + (lcp->F != NULL) + (lcp->C != NULL) != 1)
    return PERP_FAIL(ctx, PERP_ERR_ARG, "A must be exactly one of dense, sparse and factored");
  if (lcp->A != NULL && lcp->lda < lcp->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "lda = %d but n = %d", lcp->lda, lcp->n);
  if (lcp->F != NULL && lcp->F->m != lcp->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "J has %d rows but n = %d", lcp->F->m, lcp->n);
  if (lcp->C != NULL && lcp->C->n != lcp->n)
    return PERP_FAIL(ctx, PERP_ERR_DIM, "A has %d columns but n = %d", lcp->C->n, lcp->n);
  if (lcp->C != NULL) PERP_TRY(perp_columns_check(ctx, lcp->C));
  reading job = { .p = lcp };
  const int threads = lcp->F != NULL ? lcp->F->threads : 1;
  perp_team(threads < RATERS ? threads : RATERS, read_share, &job);
  double probe = 0;
  bool strange = lcp->fric_of != NULL && lcp->mu == NULL;
  for (int k = 0; k < RATERS; k++) {
    probe += job.probe[k];
    strange |= job.strange[k];
  }
  if (strange) PERP_TRY(check_rows(ctx, lcp));
  for (int i = 0; lcp->unit != NULL && i < lcp->n; i++)
    if (!(lcp->unit[i] > 0 && lcp->unit[i] <= DBL_MAX))
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: unit = %g, must be finite and > 0", i,
                       lcp->unit[i]);
  for (int i = 0; lcp->contact_of != NULL && i < lcp->n; i++)
    if (lcp->contact_of[i] < -1 || lcp->contact_of[i] >= lcp->n)
      return PERP_FAIL(ctx, PERP_ERR_ARG, "row %d: contact %d, must be in [-1, %d]", i,
                       lcp->contact_of[i], lcp->n - 1);
  if (lcp->cone != NULL) PERP_TRY(check_cones(ctx, lcp));
  if (finite != NULL) *finite = probe + probe_dense(lcp) == 0;
  return PERP_OK;
}

unsigned perp_lcp_needs(const perp_lcp *lcp)
{
  unsigned needs = 0;
  if (lcp->lo == NULL && lcp->hi == NULL && lcp->fric_of == NULL) return 0;
  for (int i = 0; i < lcp->n; i++) {
    if (lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen) {
      needs |= PERP_LCP_FRICTION;
      if (lcp->cone != NULL && lcp->cone[i]) needs |= PERP_LCP_CONE;
      continue;
    }
    double lo = lcp->lo != NULL ? lcp->lo[i] : 0, hi = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
    if (lo == -HUGE_VAL && hi == HUGE_VAL)
      needs |= PERP_LCP_FREE;
    else if (lo != 0 || hi != HUGE_VAL)
      needs |= PERP_LCP_BOX;
  }
  return needs;
}

void perp_lcp_product(const perp_lcp *lcp, const double *lambda, double *w, double *scratch)
{
  int n = lcp->n;
  if (lcp->F != NULL) {
    perp_blocks_A(lcp->F, lambda, w, scratch);
    for (int i = 0; i < n; i++) w[i] += lcp->b[i];
    return;
  }
  for (int i = 0; i < n; i++) w[i] = lcp->b[i];
  if (lcp->C != NULL) perp_columns_times(lcp->C, lambda, w);
  for (int j = 0; lcp->A != NULL && j < n; j++) {
    const double *col = lcp->A + (size_t)j * (size_t)lcp->lda;
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

/* of so few rows that tiles are not worth while; a [TILE] */
static void survey_few(const perp_lcp *lcp, double *restrict a, double *asymmetry, bool *finite)
{
  const size_t n = (size_t)lcp->n, ld = (size_t)lcp->lda;
  double probe[TILE] = { 0 }, most = 0, largest = 0, sum = 0;
  for (size_t j = 0; j < n; j++) {
    const double *restrict col = lcp->A + j * ld;
    for (size_t i = 0; i < n; i++) {
      const double size = fabs(col[i]);
      a[i] = size > a[i] ? size : a[i];
      probe[i] += 0 * size;
    }
    for (size_t i = 0; i < j; i++) {
      const double d = fabs(col[i] - lcp->A[j + i * ld]);
      most = d > most ? d : most;
    }
  }
  for (size_t i = 0; i < n; i++) {
    largest = a[i] > largest ? a[i] : largest;
    sum += probe[i];
  }
  if (asymmetry != NULL) *asymmetry = most > 0 ? most / largest : 0;
  if (finite != NULL) *finite = sum == 0 && finite_probe(lcp->b, n) == 0;
}

void perp_lcp_survey(const perp_lcp *lcp, double *a, double *asymmetry, bool *finite)
{
  int n = lcp->n;
  if (n <= TILE) {
    double few[TILE] = { 0 };
    survey_few(lcp, few, asymmetry, finite);
    if (a != NULL) {
      for (int i = 0; i < n; i++) a[i] = few[i];
      fill_zero_rows(n, a);
    }
    return;
  }
  size_t ld = (size_t)lcp->lda;
  double differ[TILE] = { 0 }, probe[TILE] = { 0 }, any[TILE] = { 0 }, up[TILE] = { 0 };
  double most = 0, largest = 0, sum = 0;
  for (int i = 0; a != NULL && i < n; i++) a[i] = 0;
  for (int J = 0; J < n; J += TILE)
    for (int I = J; I < n; I += TILE) {
      int columns = n - J < TILE ? n - J : TILE, rows = n - I < TILE ? n - I : TILE;
      const double *lower = lcp->A + (size_t)I + (size_t)J * ld;
      const double *upper = lcp->A + (size_t)J + (size_t)I * ld;
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
  if (finite != NULL) *finite = sum == 0 && finite_probe(lcp->b, (size_t)n) == 0;
  if (a != NULL) fill_zero_rows(n, a);
}

double perp_lcp_asymmetry(const perp_lcp *lcp)
{
  double asymmetry = 0;
  if (perp_lcp_knows(lcp)) return lcp->known->asymmetry;
  if (lcp->C != NULL) {
    const double most = perp_columns_skew(lcp->C);
    double largest = 0;
    for (int k = 0; k < lcp->C->start[lcp->n]; k++) largest = fmax(largest, fabs(lcp->C->value[k]));
    return most > 0 ? most / largest : 0;
  }
  if (lcp->A != NULL) perp_lcp_survey(lcp, NULL, &asymmetry, NULL);
  return asymmetry;
}

/* ---- row scales ---- */

void perp_lcp_scales(const perp_lcp *lcp, double *a, double *scratch)
{
  int n = lcp->n;
  if (lcp->F != NULL) {
    if (!perp_lcp_contact_scales(lcp->F, a, scratch))
      perp_lcp_factored_rows(lcp->F, NULL, a, NULL, scratch, scratch + n);
    fill_zero_rows(n, a);
    return;
  }
  double *restrict most = a;
  for (int i = 0; i < n; i++) most[i] = 0;
  for (int k = 0; lcp->C != NULL && k < lcp->C->start[n]; k++)
    most[lcp->C->row[k]] = fmax(most[lcp->C->row[k]], fabs(lcp->C->value[k]));
  for (int j = 0; lcp->A != NULL && j < n; j++) {
    const double *restrict col = lcp->A + (size_t)j * (size_t)lcp->lda;
    for (int i = 0; i < n; i++) {
      double v = fabs(col[i]);
      most[i] = v > most[i] ? v : most[i];
    }
  }
  fill_zero_rows(n, a);
}

void perp_lcp_transposed(const perp_lcp *lcp, const double *z, double *u, double *scratch)
{
  if (lcp->F != NULL) {
    perp_blocks_A(lcp->F, z, u, scratch);
    return;
  }
  for (int j = 0; j < lcp->n && lcp->C != NULL; j++) u[j] = 0;
  if (lcp->C != NULL) perp_columns_turned_times(lcp->C, z, u);
  for (int j = 0; lcp->A != NULL && j < lcp->n; j++) {
    const double *col = lcp->A + (size_t)j * (size_t)lcp->lda;
    double sum = 0;
    for (int i = 0; i < lcp->n; i++) sum += col[i] * z[i];
    u[j] = sum;
  }
}

void perp_lcp_absolute(const perp_lcp *lcp, const double *x, bool transposed, double *a, double *c,
                       double *acc, double *y)
{
  int n = lcp->n;
  if (lcp->F != NULL) {
    perp_lcp_factored_rows(lcp->F, x, a, c, acc, y);
    fill_zero_rows(n, a);
    return;
  }
  perp_lcp_scales(lcp, a, NULL);
  for (int i = 0; i < n; i++) c[i] = 0;
  for (int j = 0; lcp->C != NULL && j < n; j++)
    for (int k = lcp->C->start[j]; k < lcp->C->start[j + 1]; k++) {
      const int to = transposed ? j : lcp->C->row[k], from = transposed ? lcp->C->row[k] : j;
      c[to] += fabs(lcp->C->value[k]) * fabs(x[from]);
    }
  for (int k = 0; lcp->A != NULL && k < n; k++) {
    const double *col = lcp->A + (size_t)k * (size_t)lcp->lda;
    if (transposed) {
      for (int i = 0; i < n; i++) c[k] += fabs(col[i]) * fabs(x[i]);
    } else if (x[k] != 0) {
      double size = fabs(x[k]);
      for (int i = 0; i < n; i++) c[i] += fabs(col[i]) * size;
    }
  }
}
