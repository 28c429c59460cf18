/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of the one judge from a w with rounding; the definitions stand in lcp.h. */
#include "solvers/core/clones.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

enum { RATERS = 16 }; /* of a team at most */
enum { BATCH = 64 };  /* rows that are looked at together */
enum {
  LEAST_ROWS = 256,
  MANY_ROWS = 8
}; /* it is worth while not to compute all row scales, or no longer */

/* ---- the natural map ------------------------------------------------------------------------- */

static double residual_clamp(double x, double lo, double hi)
{
  return x < lo ? lo : x > hi ? hi : x; /* NaN passes through */
}

/* lambda - clamp(lambda - y, lo, hi) = the median of (lambda - lo, y, lambda - hi): no y is too small for it. */
static inline double map_row(double lambda, double y, double lo, double hi)
{
  const double above = lambda - lo, below = lambda - hi;
  y = y > above ? above : y;
  return y < below ? below : y; /* NaN passes through */
}

/* |lambda_T - disc(lambda_T - y, radius)|_2, y = w_T / a.  Where z = lambda_T - y is inside, that is |y|; else, with
 * the angle between lambda_T and z, the third side of a triangle: l - radius in the radial direction and what the
 * angle makes of both.  No y is too small for it. */
static double disc_residual(const double *lambda, const double *w, double a, double radius)
{
  const double y[2] = { w[0] / a, w[1] / a }, l = hypot(lambda[0], lambda[1]);
  const double size = hypot(y[0], y[1]);
  if (!(l > 0)) return size > radius ? radius : size;
  const double c = lambda[0] / l, s = lambda[1] / l;
  const double along = c * y[0] + s * y[1], across = c * y[1] - s * y[0];
  /* (|z|^2 - radius^2) / l */
  const double beyond = (l - radius) * ((l + radius) / l) - 2 * along + size * (size / l);
  if (!(beyond > 0)) return isnan(beyond) ? beyond : size;
  return hypot(l - radius, 2 * sqrt(l) * sqrt(radius) * sin(0.5 * atan2(across, l - along)));
}

typedef struct rating {
  const perp_lcp *p;
  const double *a, *lambda, *w;
  bool units;               /* the figures in units of the data are wanted, too */
  perp_lcp_extremes *batch; /* of each batch of rows, see perp_lcp_rate_factored */
  perp_lcp_extremes part[RATERS];
} rating;

static inline double residual_larger(double x, double y)
{
  return x > y ? x : y;
}

static inline void residual_join(perp_lcp_extremes *e, const perp_lcp_extremes *part)
{
  e->bad |= part->bad;
  e->worst = residual_larger(part->worst, e->worst);
  e->size = residual_larger(part->size, e->size);
  e->data = residual_larger(part->data, e->data);
  e->start = residual_larger(part->start, e->start);
  e->left = residual_larger(part->left, e->left);
  e->stiff = residual_larger(part->stiff, e->stiff);
  e->force = residual_larger(part->force, e->force);
  e->moved = residual_larger(part->moved, e->moved);
}

static void rate_units(perp_lcp_extremes *e, const rating *job, int i, double a, double r)
{
  const double unit = job->p->unit != NULL ? job->p->unit[i] : 1;
  e->left = residual_larger(unit * (a * r), e->left);
  e->stiff = residual_larger(unit * a, e->stiff);
  e->force = residual_larger(unit * fabs(job->p->b[i]), e->force);
  e->moved = residual_larger(unit * fabs(job->w[i]), e->moved);
}

static inline __attribute__((always_inline)) void rate_row(perp_lcp_extremes *e, const rating *job,
                                                           int i, double lo, double hi, bool units)
{
  const double a = job->a[i], r = fabs(map_row(job->lambda[i], job->w[i] / a, lo, hi)),
               x = fabs(job->lambda[i]), b = fabs(job->p->b[i]) / a;
  e->bad |= !(r <= DBL_MAX) | !(x <= DBL_MAX) | !(b <= DBL_MAX);
  e->worst = residual_larger(r, e->worst);
  e->size = residual_larger(x, e->size);
  e->data = residual_larger(b, e->data);
  e->start = residual_larger(fabs(residual_clamp(0, lo, hi)), e->start);
  if (units) rate_units(e, job, i, a, r);
}

static void rate_cone(const rating *job, int i, perp_lcp_extremes *e)
{
  const double *a = job->a + i, *lambda = job->lambda + i, *b = job->p->b + i;
  const double most = fmax(a[0], a[1]);
  double lo, hi;
  perp_lcp_bounds(job->p, job->lambda, i, &lo, &hi);
  const double r = disc_residual(lambda, job->w + i, most, hi);
  e->worst = residual_larger(r, e->worst);
  e->bad |= !(r <= DBL_MAX);
  for (int k = 0; k < 2; k++) {
    const double x = fabs(lambda[k]), data = fabs(b[k]) / a[k];
    e->bad |= !(x <= DBL_MAX) | !(data <= DBL_MAX);
    e->size = residual_larger(x, e->size);
    e->data = residual_larger(data, e->data);
    if (job->units) rate_units(e, job, i + k, most, r);
  }
}

/* rows i ... i + n - 1 with bounds lo, hi [n], by fours */
static inline __attribute__((always_inline)) void rate_bounded(const rating *job, int i, int n,
                                                               const double *lo, const double *hi,
                                                               bool units, perp_lcp_extremes *e)
{
  const perp_v4 most = { DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX };
  perp_v4 worst = { 0 }, size = { 0 }, data = { 0 }, start = { 0 };
  perp_v4 left = { 0 }, stiff = { 0 }, force = { 0 }, moved = { 0 };
  perp_i4 good = { -1, -1, -1, -1 };
  int k = 0;
  for (; k + 4 <= n; k += 4) {
    const perp_v4 a = *(const perp_v4_any *)(job->a + i + k);
    const perp_v4 lambda = *(const perp_v4_any *)(job->lambda + i + k);
    const perp_v4 w = *(const perp_v4_any *)(job->w + i + k);
    const perp_v4 data_of = PERP_SIZE4(*(const perp_v4_any *)(job->p->b + i + k));
    const perp_v4 low = *(const perp_v4 *)(lo + k), high = *(const perp_v4 *)(hi + k);
    const perp_v4 above = lambda - low, below = lambda - high;
    perp_v4 at = w / a, zero = { 0 };
    at = PERP_CHOOSE4(at > above, above, at);
    at = PERP_CHOOSE4(at < below, below, at);
    zero = PERP_CHOOSE4(zero < low, low, zero);
    zero = PERP_CHOOSE4(zero > high, high, zero);
    const perp_v4 r = PERP_SIZE4(at), x = PERP_SIZE4(lambda), z = PERP_SIZE4(zero);
    const perp_v4 b = data_of / a;
    good &= (r <= most) & (x <= most) & (b <= most);
    worst = PERP_LARGER4(r, worst);
    size = PERP_LARGER4(x, size);
    data = PERP_LARGER4(b, data);
    start = PERP_LARGER4(z, start);
    if (units) {
      perp_v4 unit = { 1, 1, 1, 1 };
      if (job->p->unit != NULL) unit = *(const perp_v4_any *)(job->p->unit + i + k);
      const perp_v4 d = unit * (a * r), s = unit * a, f = unit * data_of, m = unit * PERP_SIZE4(w);
      left = PERP_LARGER4(d, left);
      stiff = PERP_LARGER4(s, stiff);
      force = PERP_LARGER4(f, force);
      moved = PERP_LARGER4(m, moved);
    }
  }
  for (int q = 0; q < 4 && k > 0; q++) /* not for the few rows of a small problem */
    residual_join(e, &(perp_lcp_extremes){ worst[q], size[q], data[q], start[q], left[q], stiff[q],
                                           force[q], moved[q], good[q] == 0 });
  for (; k < n; k++) rate_row(e, job, i + k, lo[k], hi[k], units);
}

/* Rows i ... end - 1; a pair belongs to whom its first row does. */
static inline __attribute__((always_inline)) void rate_rows(const rating *job, int i, int end,
                                                            perp_lcp_extremes *out)
{
  const perp_lcp *p = job->p;
  const bool cones = p->cone != NULL && !p->frozen;
  double lo[BATCH] __attribute__((aligned(32))), hi[BATCH] __attribute__((aligned(32)));
  perp_lcp_extremes e = { .worst = 0 };
  if (i > 0 && perp_lcp_is_cone(p, i - 1)) i++;
  while (i < end) {
    int n = 0;
    for (; n < BATCH && i + n < end && !(cones && p->cone[i + n]); n++)
      perp_lcp_bounds(p, job->lambda, i + n, &lo[n], &hi[n]);
    if (job->units)
      rate_bounded(job, i, n, lo, hi, true, &e);
    else
      rate_bounded(job, i, n, lo, hi, false, &e);
    i += n;
    if (i < end && perp_lcp_is_cone(p, i)) {
      rate_cone(job, i, &e);
      i += 2;
    }
  }
  *out = e;
}

PERP_CLONES_OF_FOUR static void rate_share(void *user, int member, int members)
{
  rating *job = user;
  const int end = perp_share(job->p->n, member + 1, members);
  rate_rows(job, perp_share(job->p->n, member, members), end, &job->part[member]);
}

void perp_lcp_survey_residual(const perp_lcp *p, const double *a, const double *lambda,
                              const double *w, bool units, perp_lcp_extremes *out)
{
  rating job = { .p = p, .a = a, .lambda = lambda, .w = w, .units = units };
  const int threads = p->F != NULL ? p->F->threads : 1;
  perp_team(threads < RATERS ? threads : RATERS, rate_share, &job);
  perp_lcp_extremes e = job.part[0];
  for (int k = 1; k < RATERS && k < threads; k++) residual_join(&e, &job.part[k]);
  *out = e;
}

static double residual_plain_rel(const perp_lcp_extremes *e)
{
  if (e->bad) return (double)NAN;
  double rel = e->worst / fmax(fmax(e->size, e->data), DBL_MIN);
  const double D = e->start > e->data ? e->start : e->data;
  if (D > 0) {
    /* w is rounded: what is lost in that is not known to be solved */
    double drowned = DBL_EPSILON * e->size / D;
    double s = fmax(e->worst / D, drowned >= 0.0625 ? 1 : 0);
    rel = fmax(rel, s < 1 ? s * s : s);
  }
  return rel;
}

double perp_lcp_plain_data(const perp_lcp_extremes *e)
{
  const double B = e->force > 0 ? e->force : e->moved;
  if (e->bad) return (double)NAN;
  return e->left > 0 ? e->left / B : 0;
}

double perp_lcp_rel(const perp_lcp *p, const double *a, const double *lambda, const double *w)
{
  perp_lcp_extremes e;
  perp_lcp_survey_residual(p, a, lambda, w, false, &e);
  return residual_plain_rel(&e);
}

void perp_lcp_rate(const perp_lcp *p, const double *a, const double *lambda, const double *w,
                   double *rel, double *data)
{
  perp_lcp_extremes e;
  perp_lcp_survey_residual(p, a, lambda, w, true, &e);
  *rel = residual_plain_rel(&e);
  *data = perp_lcp_plain_data(&e);
}

double perp_lcp_merit(const perp_lcp *p, const double *a, const double *lambda, const double *w)
{
  double rel, data;
  if (!(p->tol_data > 0)) return perp_lcp_rel(p, a, lambda, w);
  perp_lcp_rate(p, a, lambda, w, &rel, &data);
  return isnan(rel) ? rel : fmax(rel, data * (p->tol / p->tol_data));
}

/* ---- without all row scales ------------------------------------------------------------------ */

/* Every figure is a maximum over rows of what falls as a_i grows, |natural map| and |b_i| / a_i, or grows with it, a_i
 * |natural map|; and A_ii <= a_i <= sqrt(A_ii max_j A_jj).  So a row counts only where what A_ii makes of it exceeds the
 * largest that is known: those get their a_i, which are few. */
typedef struct lazy {
  rating job;
  double *a, *acc, *y;
  double most; /* max_j A_jj */
  int computed;
  perp_lcp_extremes best;
} lazy;

PERP_CLONES_OF_FOUR static void rate_batches(void *user, int member, int members)
{
  const rating *job = user;
  const int n = job->p->n, batches = (n + BATCH - 1) / BATCH;
  const int end = perp_share(batches, member + 1, members);
  for (int k = perp_share(batches, member, members); k < end; k++)
    rate_rows(job, BATCH * k, k + 1 < batches ? BATCH * (k + 1) : n, &job->batch[k]);
}

/* May rows with figures e, the least of their A_ii being `least`, raise a maximum? */
static bool rate_matters(const lazy *z, const perp_lcp_extremes *e, double least)
{
  return e->worst > z->best.worst || e->data > z->best.data ||
         e->left * (sqrt(z->most / least) * (1 + 1e-9)) > z->best.left;
}

/* Adds row i, or the pair of a cone that begins there, to e. */
static void rate_one(const rating *job, int i, perp_lcp_extremes *e)
{
  double lo, hi;
  if (perp_lcp_is_cone(job->p, i)) {
    rate_cone(job, i, e);
    return;
  }
  perp_lcp_bounds(job->p, job->lambda, i, &lo, &hi);
  rate_row(e, job, i, lo, hi, true);
}

/* The rows of batch k that matter get their scales. */
static void rate_look(lazy *z, int k)
{
  const perp_lcp *p = z->job.p;
  const perp_blocks *F = p->F;
  const int end = BATCH * (k + 1) < p->n ? BATCH * (k + 1) : p->n;
  int i = BATCH * k, g = 0;
  if (i > 0 && perp_lcp_is_cone(p, i - 1)) i++;
  for (int above = F->nc; g + 1 < above;) { /* the group of row i */
    const int middle = g + (above - g) / 2;
    if (F->cptr[middle] <= i)
      g = middle;
    else
      above = middle;
  }
  for (int rows; i < end; i += rows) {
    perp_lcp_extremes e = { .worst = 0 };
    rows = perp_lcp_is_cone(p, i) ? 2 : 1;
    rate_one(&z->job, i, &e);
    if (!rate_matters(z, &e, rows == 2 ? fmin(z->a[i], z->a[i + 1]) : z->a[i])) continue;
    z->computed += rows;
    for (int l = i; l < i + rows; l++) {
      while (l >= F->cptr[g + 1]) g++;
      z->a[l] = perp_lcp_factored_row(F, g, l - F->cptr[g], z->acc, z->y);
    }
    rate_one(&z->job, i, &z->best);
  }
}

bool perp_lcp_rate_factored(const perp_lcp *p, const double *lambda, const double *w, double *a,
                            double *scratch, double *rel, double *data)
{
  const perp_blocks *F = p->F;
  const int n = p->n, batches = (n + BATCH - 1) / BATCH;
  double least = HUGE_VAL, most = 0;
  perp_blocks_diagonal(F, a);
  for (int i = 0; i < n; i++) {
    least = a[i] < least ? a[i] : least;
    most = a[i] > most ? a[i] : most;
  }
  if (!(least > DBL_MIN) || !(most <= DBL_MAX) || n < LEAST_ROWS) return false;
  perp_lcp_extremes all = { .worst = 0 };
  lazy z = { .job = { .p = p, .a = a, .lambda = lambda, .w = w, .units = true },
             .a = a,
             .acc = scratch,
             .y = scratch + n,
             .most = most };
  z.job.batch = (perp_lcp_extremes *)(void *)(scratch + n + F->nv);
  perp_team(F->threads, rate_batches, &z.job);
  for (int i = 0; i < n; i++) z.acc[i] = 0;
  int top[3] = { 0, 0, 0 };
  for (int k = 0; k < batches; k++) {
    const perp_lcp_extremes *e = &z.job.batch[k];
    residual_join(&all, e);
    if (e->worst > z.job.batch[top[0]].worst) top[0] = k;
    if (e->data > z.job.batch[top[1]].data) top[1] = k;
    if (e->left > z.job.batch[top[2]].left) top[2] = k;
  }
  *rel = *data = (double)NAN;
  if (all.bad) return true;
  for (int k = 0; k < 3; k++) rate_look(&z, top[k]);
  for (int k = 0; k < batches && z.computed <= n / MANY_ROWS; k++)
    if (rate_matters(&z, &z.job.batch[k], least)) rate_look(&z, k);
  if (z.computed > n / MANY_ROWS) return false;
  all.worst = z.best.worst;
  all.data = z.best.data;
  all.left = z.best.left;
  *rel = residual_plain_rel(&all);
  *data = perp_lcp_plain_data(&all);
  return true;
}
