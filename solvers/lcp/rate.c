/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The figures of the one judge from a w with rounding; the definitions stand in lcp.h. */
#include "solvers/core/clones.h"
#include "solvers/core/length.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

enum { RATERS = 16 }; /* of a team at most */
enum { BATCH = 64 };  /* rows that are looked at together */
enum {
  LEAST_ROWS = 256,
  MANY_ROWS = 8
}; /* it is worth while not to compute all row scales, or no longer */

/* ---- the natural map ---- */

static double residual_clamp(double x, double lo, double hi)
{
  return x < lo ? lo : x > hi ? hi : x; /* NaN passes through */
}

/* lambda - clamp(lambda - y, lo, hi) = the median of (lambda - lo, y, lambda - hi): no y is too
 * small for it. */
static inline double map_row(double lambda, double y, double lo, double hi)
{
  const double above = lambda - lo, below = lambda - hi;
  y = y > above ? above : y;
  return y < below ? below : y; /* NaN passes through */
}

/* |lambda_T - disc(lambda_T - y, radius)|_2, y = w_T / a.  Where z = lambda_T - y is inside, that
 * is |y|; else, with the angle between lambda_T and z, the third side of a triangle: l - radius in
 * the radial direction and what the angle makes of both.  No y is too small for it.  *slack: |y
 * less what the map keeps of it|_2 = max(|z| - radius, 0) */
static double disc_residual(const double *lambda, const double *w, double a, double radius,
                            double *slack)
{
  const double y[2] = { w[0] / a, w[1] / a }, l = perp_length(lambda[0], lambda[1]);
  const double size = perp_length(y[0], y[1]);
  *slack = 0;
  if (!(l > 0)) {
    *slack = fmax(size - radius, 0);
    return size > radius ? radius : size;
  }
  const double c = lambda[0] / l, s = lambda[1] / l;
  const double along = c * y[0] + s * y[1], across = c * y[1] - s * y[0];
  /* (|z|^2 - radius^2) / l */
  const double beyond = (l - radius) * ((l + radius) / l) - 2 * along + size * (size / l);
  if (!(beyond > 0)) return isnan(beyond) ? beyond : size;
  /* z in the axes of lambda_T, and the sine of half its angle */
  const double ahead = l - along, z = perp_length(ahead, across);
  const double half = ahead > 0 ? fabs(across) / sqrt(2 * z * (z + ahead))
                      : z > 0   ? sqrt((z - ahead) / z / 2)
                                : 0;
  *slack = size > l ? fmax(z - radius, 0) : beyond * (l / (z + radius));
  return perp_length(l - radius, 2 * sqrt(l) * sqrt(radius) * half);
}

typedef struct rating {
  const perp_lcp *p;
  const double *a, *lambda, *w;
  bool units;               /* the figures in units of the data are wanted, too */
  perp_lcp_extremes *batch; /* of each batch of rows, see perp_lcp_rate_factored */
  perp_lcp_extremes part[RATERS];
} rating;

static bool rate_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
}

static inline double residual_larger(double x, double y)
{
  return x > y ? x : y;
}

static inline double residual_smaller(double x, double y)
{
  return x < y ? x : y;
}

static inline void residual_join(perp_lcp_extremes *extremes, const perp_lcp_extremes *part)
{
  extremes->bad |= part->bad;
  extremes->worst = residual_larger(part->worst, extremes->worst);
  extremes->size = residual_larger(part->size, extremes->size);
  extremes->data = residual_larger(part->data, extremes->data);
  extremes->alone = residual_larger(part->alone, extremes->alone);
  extremes->resting = residual_larger(part->resting, extremes->resting);
  extremes->rest = residual_smaller(part->rest, extremes->rest);
  extremes->calm = residual_smaller(part->calm, extremes->calm);
  extremes->start = residual_larger(part->start, extremes->start);
  extremes->left = residual_larger(part->left, extremes->left);
  extremes->stiff = residual_larger(part->stiff, extremes->stiff);
  extremes->force = residual_larger(part->force, extremes->force);
  extremes->moved = residual_larger(part->moved, extremes->moved);
  extremes->given = residual_larger(part->given, extremes->given);
}

/* Rows i and, of a cone, i + 1: r is left, slack is what w / a has beyond it, y |w| / a, b |b|;
 * counts: part of `rest` */
static inline __attribute__((always_inline)) void rate_data(perp_lcp_extremes *extremes,
                                                            const rating *job, int i, double a,
                                                            double r, double slack, double y,
                                                            double b, bool counts, bool units)
{
  if (!(slack > PERP_LCP_REST * y) || job->p->brief) slack = 0;
  const double of = b / a + (slack > 0 ? y : 0);
  const double beta = b / a - slack > PERP_LCP_REST * of ? b / a - slack : 0;
  extremes->bad |= !(r <= DBL_MAX) | !(b / a <= DBL_MAX);
  extremes->worst = residual_larger(r, extremes->worst);
  extremes->data = residual_larger(beta, extremes->data);
  if (slack > 0) extremes->resting = residual_larger(r, extremes->resting);
  extremes->alone = residual_larger(b / a, extremes->alone);
  if (counts) extremes->rest = residual_smaller(slack, extremes->rest);
  if (!units) return;
  double unit = job->p->unit != NULL ? job->p->unit[i] : 1;
  if (perp_lcp_is_cone(job->p, i) && job->p->unit != NULL)
    unit = residual_larger(unit, job->p->unit[i + 1]);
  extremes->left = residual_larger(unit * (a * r), extremes->left);
  extremes->stiff = residual_larger(unit * a, extremes->stiff);
  extremes->force = residual_larger(unit * (a * beta), extremes->force);
  extremes->given = residual_larger(unit * b, extremes->given);
  if (counts) extremes->calm = residual_smaller(unit * (a * slack), extremes->calm);
}

static inline __attribute__((always_inline)) void
rate_row(perp_lcp_extremes *extremes, const rating *job, int i, double lo, double hi, bool units)
{
  const double a = job->a[i], y = job->w[i] / a, m = map_row(job->lambda[i], y, lo, hi);
  const double x = fabs(job->lambda[i]);
  extremes->bad |= !(x <= DBL_MAX);
  extremes->size = residual_larger(x, extremes->size);
  extremes->start = residual_larger(fabs(residual_clamp(0, lo, hi)), extremes->start);
  rate_data(extremes, job, i, a, fabs(m), fabs(y - m), fabs(y), fabs(job->p->b[i]),
            lo < hi && !job->p->brief && !rate_friction(job->p, i), units);
  if (units)
    extremes->moved = residual_larger(
        (job->p->unit != NULL ? job->p->unit[i] : 1) * fabs(job->w[i]), extremes->moved);
}

static void rate_cone(const rating *job, int i, perp_lcp_extremes *extremes)
{
  const double *a = job->a + i, *lambda = job->lambda + i, *b = job->p->b + i;
  const double most = fmax(a[0], a[1]);
  double lo, hi, slack;
  perp_lcp_bounds(job->p, job->lambda, i, &lo, &hi);
  const double r = disc_residual(lambda, job->w + i, most, hi, &slack);
  rate_data(extremes, job, i, most, r, slack, perp_length(job->w[i], job->w[i + 1]) / most,
            perp_length(b[0], b[1]), false, job->units);
  for (int k = 0; k < 2; k++) {
    const double x = fabs(lambda[k]), unit = job->p->unit != NULL ? job->p->unit[i + k] : 1;
    extremes->bad |= !(x <= DBL_MAX);
    extremes->size = residual_larger(x, extremes->size);
    if (job->units) extremes->moved = residual_larger(unit * fabs(job->w[i + k]), extremes->moved);
  }
}

/* The figures of four rows side by side. */
typedef struct rating_lanes {
  perp_v4 worst, size, data, start, left, stiff, force, moved, alone, given, rest, calm, resting;
  perp_i4 good;
} rating_lanes;

#define RATE_ENDLESS                                                                               \
  {                                                                                                \
    HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL                                                         \
  }
#define RATE_NO_LANES                                                                              \
  {                                                                                                \
    .rest = RATE_ENDLESS, .calm = RATE_ENDLESS, .good = { -1, -1, -1, -1 }                         \
  }

/* Rows i ... i + 3 with these bounds; skip: 0, or infinite where a row is no part of `rest`. */
static inline __attribute__((always_inline)) void rate_four(const rating *job, int i,
                                                            const double *lo, const double *hi,
                                                            const double *skipped, bool units,
                                                            rating_lanes *all)
{
  const perp_v4 low = *(const perp_v4 *)lo, high = *(const perp_v4 *)hi,
                skip = *(const perp_v4 *)skipped;
  const perp_v4 most = { DBL_MAX, DBL_MAX, DBL_MAX, DBL_MAX };
  const perp_v4 endless = { HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL }, none = { 0 };
  const double cut = job->p->brief ? HUGE_VAL : PERP_LCP_REST; /* no slack is one */
  const perp_v4 a = *(const perp_v4_any *)(job->a + i);
  const perp_v4 lambda = *(const perp_v4_any *)(job->lambda + i);
  const perp_v4 w = *(const perp_v4_any *)(job->w + i);
  const perp_v4 data_of = PERP_SIZE4(*(const perp_v4_any *)(job->p->b + i));
  const perp_v4 above = lambda - low, below = lambda - high;
  const perp_v4 y = w / a;
  perp_v4 at = y, zero = { 0 };
  at = PERP_CHOOSE4(at > above, above, at);
  at = PERP_CHOOSE4(at < below, below, at);
  zero = PERP_CHOOSE4(zero < low, low, zero);
  zero = PERP_CHOOSE4(zero > high, high, zero);
  const perp_v4 r = PERP_SIZE4(at), x = PERP_SIZE4(lambda), z = PERP_SIZE4(zero);
  const perp_v4 b = data_of / a, beyond = PERP_SIZE4(y - at);
  const perp_v4 slack = PERP_CHOOSE4(beyond > cut * PERP_SIZE4(y), beyond, none);
  const perp_v4 of = b + PERP_CHOOSE4(slack > none, PERP_SIZE4(y), none);
  const perp_v4 beta = PERP_CHOOSE4(b - slack > PERP_LCP_REST * of, b - slack, none);
  const perp_v4 away = PERP_CHOOSE4(low < high, slack + skip, endless);
  all->good &= (r <= most) & (x <= most) & (b <= most);
  all->worst = PERP_LARGER4(r, all->worst);
  all->size = PERP_LARGER4(x, all->size);
  all->data = PERP_LARGER4(beta, all->data);
  const perp_v4 at_rest = PERP_CHOOSE4(slack > none, r, none);
  all->alone = PERP_LARGER4(b, all->alone);
  all->resting = PERP_LARGER4(at_rest, all->resting);
  all->rest = PERP_CHOOSE4(away < all->rest, away, all->rest);
  all->start = PERP_LARGER4(z, all->start);
  if (!units) return;
  perp_v4 unit = { 1, 1, 1, 1 };
  if (job->p->unit != NULL) unit = *(const perp_v4_any *)(job->p->unit + i);
  const perp_v4 d = unit * (a * r), s = unit * a, f = unit * (a * beta);
  const perp_v4 m = unit * PERP_SIZE4(w), c = unit * (a * away), given_of = unit * data_of;
  all->left = PERP_LARGER4(d, all->left);
  all->stiff = PERP_LARGER4(s, all->stiff);
  all->force = PERP_LARGER4(f, all->force);
  all->moved = PERP_LARGER4(m, all->moved);
  all->given = PERP_LARGER4(given_of, all->given);
  all->calm = PERP_CHOOSE4(c < all->calm, c, all->calm);
}

/* rows i ... i + n - 1 with bounds lo, hi [n], by fours */
static inline __attribute__((always_inline)) void rate_bounded(const rating *job, int i, int n,
                                                               const double *lo, const double *hi,
                                                               const double *skip, bool units,
                                                               perp_lcp_extremes *extremes)
{
  rating_lanes all = RATE_NO_LANES;
  int k = 0;
  for (; k + 4 <= n; k += 4) rate_four(job, i + k, lo + k, hi + k, skip + k, units, &all);
  for (int q = 0; q < 4 && k > 0; q++) /* not for the few rows of a small problem */
    residual_join(extremes, &(perp_lcp_extremes){ .worst = all.worst[q],
                                                  .size = all.size[q],
                                                  .data = all.data[q],
                                                  .rest = all.rest[q],
                                                  .alone = all.alone[q],
                                                  .resting = all.resting[q],
                                                  .start = all.start[q],
                                                  .left = all.left[q],
                                                  .stiff = all.stiff[q],
                                                  .force = all.force[q],
                                                  .calm = all.calm[q],
                                                  .given = all.given[q],
                                                  .moved = all.moved[q],
                                                  .bad = all.good[q] == 0 });
  for (; k < n; k++) rate_row(extremes, job, i + k, lo[k], hi[k], units);
}

/* of no rows */
static inline perp_lcp_extremes rate_nothing(void)
{
  return (perp_lcp_extremes){ .rest = HUGE_VAL, .calm = HUGE_VAL };
}

/* Rows i ... end - 1; a pair belongs to whom its first row does. */
static inline __attribute__((always_inline)) void rate_rows(const rating *job, int i, int end,
                                                            perp_lcp_extremes *out)
{
  const perp_lcp *lcp = job->p;
  const bool cones = lcp->cone != NULL && !lcp->frozen;
  double lo[BATCH] __attribute__((aligned(32))), hi[BATCH] __attribute__((aligned(32)));
  double skip[BATCH] __attribute__((aligned(32)));
  perp_lcp_extremes extremes = rate_nothing();
  if (i > 0 && perp_lcp_is_cone(lcp, i - 1)) i++;
  while (i < end) {
    int n = 0;
    for (; n < BATCH && i + n < end && !(cones && lcp->cone[i + n]); n++) {
      perp_lcp_bounds(lcp, job->lambda, i + n, &lo[n], &hi[n]);
      skip[n] = lcp->brief || rate_friction(lcp, i + n) ? HUGE_VAL : 0;
    }
    if (job->units)
      rate_bounded(job, i, n, lo, hi, skip, true, &extremes);
    else
      rate_bounded(job, i, n, lo, hi, skip, false, &extremes);
    i += n;
    if (i < end && perp_lcp_is_cone(lcp, i)) {
      rate_cone(job, i, &extremes);
      i += 2;
    }
  }
  *out = extremes;
}

PERP_CLONES_OF_FOUR static void rate_share(void *user, int member, int members)
{
  rating *job = user;
  const int end = perp_share(job->p->n, member + 1, members);
  rate_rows(job, perp_share(job->p->n, member, members), end, &job->part[member]);
}

void perp_lcp_survey_residual(const perp_lcp *lcp, const double *a, const double *lambda,
                              const double *w, bool units, perp_lcp_extremes *out)
{
  rating job = { .p = lcp, .a = a, .lambda = lambda, .w = w, .units = units };
  const int threads = lcp->F != NULL ? lcp->F->threads : 1;
  perp_team(threads < RATERS ? threads : RATERS, rate_share, &job);
  perp_lcp_extremes extremes = job.part[0];
  for (int k = 1; k < RATERS && k < threads; k++) residual_join(&extremes, &job.part[k]);
  *out = extremes;
}

double perp_lcp_scale_of(double most, double least)
{
  return least > most && least <= DBL_MAX ? least : most;
}

static double residual_plain_rel(const perp_lcp_extremes *extremes)
{
  if (extremes->bad) return (double)NAN;
  const double data = perp_lcp_scale_of(extremes->data, extremes->rest);
  double rel = extremes->worst / fmax(fmax(extremes->size, data), DBL_MIN);
  const double D = extremes->start > data ? extremes->start : data;
  if (D > 0) {
    /* w is rounded: what is lost in that is not known to be solved */
    double drowned = DBL_EPSILON * extremes->size / D;
    double s = fmax(extremes->worst / D, drowned >= 0.0625 ? 1 : 0);
    rel = fmax(rel, s < 1 ? s * s : s);
  }
  return rel;
}

double perp_lcp_plain_data(const perp_lcp_extremes *extremes)
{
  double B = perp_lcp_scale_of(extremes->force, extremes->calm);
  if (!(B > 0)) B = extremes->moved;
  if (extremes->bad) return (double)NAN;
  return extremes->left > 0 ? extremes->left / B : 0;
}

double perp_lcp_rel(const perp_lcp *lcp, const double *a, const double *lambda, const double *w)
{
  perp_lcp_extremes extremes;
  perp_lcp_survey_residual(lcp, a, lambda, w, false, &extremes);
  return residual_plain_rel(&extremes);
}

void perp_lcp_rate(const perp_lcp *lcp, const double *a, const double *lambda, const double *w,
                   double *rel, double *data)
{
  perp_lcp_extremes extremes;
  perp_lcp_survey_residual(lcp, a, lambda, w, true, &extremes);
  *rel = residual_plain_rel(&extremes);
  *data = perp_lcp_plain_data(&extremes);
}

double perp_lcp_merit(const perp_lcp *lcp, const double *a, const double *lambda, const double *w)
{
  double rel, data;
  const double limit = perp_lcp_data_limit(lcp, lcp->tol);
  if (!(limit > 0)) return perp_lcp_rel(lcp, a, lambda, w);
  perp_lcp_rate(lcp, a, lambda, w, &rel, &data);
  return isnan(rel) ? rel : fmax(rel, data * (lcp->tol / limit));
}

/* ---- without all row scales ---- */

/* Every figure is made of numbers that fall as a_i grows, |natural map|, |b_i| / a_i, slack_i /
 * a_i, or grow with it, a_i |natural map|; and A_ii <= a_i <= sqrt(A_ii max_j A_jj).  So a row
 * counts only where what A_ii makes of it exceeds the largest that is known: those get their a_i,
 * which are few.
 *
 * beta_i / a_i does neither.  With u = 1 / a_i it is f(u) = |b_i| u - dist(u), the distance of
 * lambda - u w from the set, whose slope is at most |w|: where |b_i| >= |w|, f grows with u; else f
 * < u |w| - dist <= |natural map|, which grows with u; and where there is no slack, there is none
 * for a larger a_i (Gafni and Bertsekas 1984).  beta_i itself is less than it should be where both
 * the natural map and the slack are not 0; so is B then, and `data` more. */
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
static bool rate_matters(const lazy *z, const perp_lcp_extremes *extremes, double least)
{
  return extremes->worst > z->best.worst || extremes->data > z->best.data ||
         extremes->resting > z->best.data ||
         extremes->left * (sqrt(z->most / least) * (1 + 1e-9)) > z->best.left;
}

/* Adds row i, or the pair of a cone that begins there, to extremes. */
static void rate_one(const rating *job, int i, perp_lcp_extremes *extremes)
{
  double lo, hi;
  if (perp_lcp_is_cone(job->p, i)) {
    rate_cone(job, i, extremes);
    return;
  }
  perp_lcp_bounds(job->p, job->lambda, i, &lo, &hi);
  rate_row(extremes, job, i, lo, hi, true);
}

/* Which of rows i ... i + 3, which are no cones, may raise a maximum: bit k for row i + k. */
static inline __attribute__((always_inline)) unsigned rate_four_matter(const lazy *z, int i)
{
  double lo[4] __attribute__((aligned(32))), hi[4] __attribute__((aligned(32)));
  static const double none[4] __attribute__((aligned(32))) = { 0, 0, 0, 0 };
  rating_lanes all = RATE_NO_LANES;
  for (int k = 0; k < 4; k++) perp_lcp_bounds(z->job.p, z->job.lambda, i + k, &lo[k], &hi[k]);
  rate_four(&z->job, i, lo, hi, none, true, &all);
  double least = z->a[i];
  for (int k = 1; k < 4; k++) least = residual_smaller(z->a[i + k], least);
  const double grows = sqrt(z->most / least) * (1 + 1e-9);
  const perp_i4 yes = (all.worst > z->best.worst) | (all.data > z->best.data) |
                      (all.resting > z->best.data) | (all.left * grows > z->best.left);
  return (unsigned)((yes[0] & 1) | (yes[1] & 2) | (yes[2] & 4) | (yes[3] & 8));
}

/* The rows of batch k that matter get their scales. */
PERP_CLONES_OF_FOUR static void rate_look(lazy *z, int k)
{
  const perp_lcp *lcp = z->job.p;
  const perp_blocks *blocks = lcp->F;
  const int end = BATCH * (k + 1) < lcp->n ? BATCH * (k + 1) : lcp->n;
  int i = BATCH * k, g = 0;
  if (i > 0 && perp_lcp_is_cone(lcp, i - 1)) i++;
  for (int above = blocks->nc; g + 1 < above;) { /* the group of row i */
    const int middle = g + (above - g) / 2;
    if (blocks->cptr[middle] <= i)
      g = middle;
    else
      above = middle;
  }
  const bool cones = lcp->cone != NULL && !lcp->frozen;
  unsigned which = 0; /* rows before `fours` that may matter, bit k for row fours - 4 + k */
  int fours = i;
  for (int rows; i < end; i += rows) {
    perp_lcp_extremes extremes = rate_nothing();
    if (!cones && i == fours && i + 4 <= end) {
      which = rate_four_matter(z, i);
      fours = i + 4;
    }
    rows = perp_lcp_is_cone(lcp, i) ? 2 : 1;
    if (i < fours && !(which >> (i + 4 - fours) & 1)) {
      rows = which == 0 ? fours - i : 1;
      continue;
    }
    rate_one(&z->job, i, &extremes);
    if (!rate_matters(z, &extremes, rows == 2 ? fmin(z->a[i], z->a[i + 1]) : z->a[i])) continue;
    z->computed += rows;
    for (int l = i; l < i + rows; l++) {
      while (l >= blocks->cptr[g + 1]) g++;
      z->a[l] = perp_lcp_factored_row(blocks, g, l - blocks->cptr[g], z->acc, z->y);
    }
    rate_one(&z->job, i, &z->best);
  }
}

bool perp_lcp_rate_factored(const perp_lcp *lcp, const double *lambda, const double *w, double *a,
                            double *scratch, double *rel, double *data)
{
  const perp_blocks *blocks = lcp->F;
  const int n = lcp->n, batches = (n + BATCH - 1) / BATCH;
  double least = HUGE_VAL, most = 0;
  if (n < LEAST_ROWS) return false;
  perp_blocks_diagonal(blocks, a);
  for (int i = 0; i < n; i++) {
    least = a[i] < least ? a[i] : least;
    most = a[i] > most ? a[i] : most;
  }
  if (!(least > DBL_MIN) || !(most <= DBL_MAX)) return false;
  perp_lcp_extremes all = rate_nothing();
  lazy z = { .job = { .p = lcp, .a = a, .lambda = lambda, .w = w, .units = true },
             .a = a,
             .acc = scratch,
             .y = scratch + n,
             .most = most,
             .best = rate_nothing() };
  z.job.batch = (perp_lcp_extremes *)(void *)(scratch + n + blocks->nv);
  perp_team(blocks->threads, rate_batches, &z.job);
  for (int i = 0; i < n; i++) z.acc[i] = 0;
  int top[4] = { 0, 0, 0, 0 };
  for (int k = 0; k < batches; k++) {
    const perp_lcp_extremes *extremes = &z.job.batch[k];
    residual_join(&all, extremes);
    if (extremes->worst > z.job.batch[top[0]].worst) top[0] = k;
    if (extremes->data > z.job.batch[top[1]].data) top[1] = k;
    if (extremes->left > z.job.batch[top[2]].left) top[2] = k;
    if (extremes->force > z.job.batch[top[3]].force) top[3] = k;
  }
  *rel = *data = (double)NAN;
  if (all.bad) return true;
  for (int k = 0; k < 4; k++) rate_look(&z, top[k]);
  for (int k = 0; k < batches && z.computed <= n / MANY_ROWS; k++)
    if (rate_matters(&z, &z.job.batch[k], least)) rate_look(&z, k);
  if (z.computed > n / MANY_ROWS) return false;
  /* slacks are these or less: they are no scale where that is no more than the others, and else not
   * known well enough */
  all.data = z.best.data;
  all.force = all.force > z.best.force ? all.force : z.best.force;
  if (perp_lcp_scale_of(all.data, all.rest) > all.data ||
      perp_lcp_scale_of(all.force, all.calm) > all.force)
    return false;
  all.worst = z.best.worst;
  all.left = z.best.left;
  *rel = residual_plain_rel(&all);
  *data = perp_lcp_plain_data(&all);
  return true;
}
