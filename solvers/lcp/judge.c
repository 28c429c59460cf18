/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The last word on an answer: the figures of lcp.h with w = A lambda + b summed exactly, and the
 * verdict, from a w with rounding where a bound of that shows that it cannot matter.
 *
 * Nothing a method says is used.  Exact: fixed point for the sums (exact.h), then long double
 * numbers, whose range no quotient or square of doubles leaves, and no difference of nearly equal
 * numbers except of those that are given.  The row scales of a factored A are sums of products in
 * long double, as good as M_b is conditioned. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/exact_sum.h"
#include "solvers/lcp/lcp_private.h"

#include <float.h>
#include <math.h>

typedef long double real;

/* Relative distance from a tolerance below which a figure decides nothing: rounding of the figure
 * itself, and where A is factored that of its scales. */
#define JUDGE_MARGIN          (4 * DBL_EPSILON)
#define JUDGE_MARGIN_FACTORED 1e-12
#define JUDGE_FLOOR           (8 * DBL_EPSILON)

/* Numbers for each row that judge_all and perp_lcp_backward take of the scratch; there is room for
 * one more. */
#define JUDGE_SCRATCH 11

/* Below that, bounds of rounding may themselves underflow: for the exact figures only. */
#define JUDGE_SMALL 1e-290

static real judge_median(real above, real y, real below)
{
  y = y > above ? above : y;
  return y < below ? below : y;
}

/* ---- sizes of rows ---- */

/* a = max_j |A_ij|, 0 for a zero row; c = |A||lambda| */
static void judge_dense_sizes(const perp_lcp *lcp, const double *lambda, real *a, real *c)
{
  for (int i = 0; i < lcp->n; i++) a[i] = c[i] = 0;
  for (int j = 0; lcp->C != NULL && j < lcp->n; j++)
    for (int k = lcp->C->start[j]; k < lcp->C->start[j + 1]; k++) {
      const int i = lcp->C->row[k];
      const real v = fabs(lcp->C->value[k]), x = fabs(lambda[j]);
      if (v > a[i]) a[i] = v;
      c[i] += v * x;
    }
  for (int j = 0; lcp->A != NULL && j < lcp->n; j++) {
    const double *col = lcp->A + (size_t)j * (size_t)lcp->lda;
    const real x = fabs(lambda[j]);
    for (int i = 0; i < lcp->n; i++) {
      const real v = fabs(col[i]);
      if (v > a[i]) a[i] = v;
      c[i] += v * x;
    }
  }
}

/* The same of J M^-1 J' + S, row by row.  acc [m] */
static void judge_factored_sizes(const perp_blocks *blocks, const double *lambda, real *a, real *c,
                                 real *acc)
{
  for (int i = 0; i < blocks->m; i++) acc[i] = 0;
  for (int g = 0; g < blocks->nc; g++)
    for (int i = blocks->cptr[g]; i < blocks->cptr[g + 1]; i++) {
      perp_lcp_long_row(blocks, g, i, acc);
      a[i] = fabsl(acc[i]);
      c[i] = a[i] * fabs(lambda[i]);
      acc[i] = 0;
      for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
        for (int t = blocks->tptr[blocks->jblk[k]]; t < blocks->tptr[blocks->jblk[k] + 1]; t++) {
          const int h = blocks->jgrp[blocks->tsub[t]];
          for (int j = blocks->cptr[h]; j < blocks->cptr[h + 1]; j++) {
            if (acc[j] == 0) continue;
            const real v = fabsl(acc[j]);
            if (v > a[i]) a[i] = v;
            c[i] += v * fabs(lambda[j]);
            acc[j] = 0;
          }
        }
    }
}

/* ---- w ---- */

/* sum = (A lambda)_i; g: the group of row i where A is factored */
static void judge_row(const perp_lcp *lcp, const double *lambda, int g, int i, perp_exact_sum *sum)
{
  const perp_blocks *blocks = lcp->F;
  perp_exact_sum u, t;
  perp_exact_sum_clear(sum);
  if (lcp->C != NULL) {
    for (int k = lcp->C->rstart[i]; k < lcp->C->rstart[i + 1]; k++)
      perp_exact_sum_add_product(sum, lcp->C->rvalue[k], lambda[lcp->C->col[k]]);
    return;
  }
  if (blocks == NULL) {
    const double *row = lcp->A + i;
    for (size_t j = 0; j < (size_t)lcp->n; j++)
      perp_exact_sum_add_product(sum, row[j * (size_t)lcp->lda], lambda[j]);
    return;
  }
  const int r = blocks->cptr[g + 1] - blocks->cptr[g], l = i - blocks->cptr[g];
  if (blocks->s != NULL) perp_exact_sum_add_product(sum, blocks->s[i], lambda[i]);
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    const int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
    const double *G = blocks->J + blocks->joff[k] + l;
    int step;
    const double *W = perp_lcp_inverse(blocks, b, &step);
    for (int s = 0; s < d; s++) {
      bool have = false; /* u = (J' lambda)_s of this block */
      for (int q = step > 0 ? s : 0; q < (step > 0 ? s + 1 : d); q++) {
        const double inverse = step > 0 ? W[step * s] : W[q + s * d];
        if (inverse == 0 || G[q * r] == 0) continue;
        if (!have) {
          perp_exact_sum_clear(&u);
          for (int e = blocks->tptr[b]; e < blocks->tptr[b + 1]; e++) {
            const int v = blocks->tsub[e], row = blocks->cptr[blocks->jgrp[v]],
                      rv = blocks->cptr[blocks->jgrp[v] + 1] - row;
            const double *H = blocks->J + blocks->joff[v] + s * rv;
            for (int j = 0; j < rv; j++) perp_exact_sum_add_product(&u, H[j], lambda[row + j]);
          }
          have = true;
        }
        perp_exact_sum_clear(&t);
        perp_exact_sum_add_times(&t, &u, inverse);
        perp_exact_sum_add_times(sum, &t, G[q * r]);
      }
    }
  }
}

/* residual.c's disc_residual, where the sides that may cancel are exact: |lambda|^2 - radius^2,
 * lambda'w and lambda x w.  size: |w|; *slack: a times the distance of lambda - w / a from the disc
 */
static real judge_disc(const double *lambda, perp_exact_sum *w0, perp_exact_sum *w1, real size,
                       real a, double radius, real *slack)
{
  perp_exact_sum sum;
  const real l = hypotl(lambda[0], lambda[1]), y = size / a;
  *slack = 0;
  if (!(l > 0)) {
    *slack = a * fmaxl(y - radius, 0);
    return y > radius ? radius : y;
  }
  perp_exact_sum_clear(&sum);
  for (int k = 0; k < 2; k++) perp_exact_sum_add_product(&sum, lambda[k], lambda[k]);
  perp_exact_sum_add_product(&sum, -radius, radius);
  const real over = perp_exact_sum_value(&sum);
  perp_exact_sum_clear(&sum);
  perp_exact_sum_add_times(&sum, w0, lambda[0]);
  perp_exact_sum_add_times(&sum, w1, lambda[1]);
  const real dot = perp_exact_sum_value(&sum) / a;
  perp_exact_sum_clear(&sum);
  perp_exact_sum_add_times(&sum, w1, lambda[0]);
  perp_exact_sum_add_times(&sum, w0, -lambda[1]);
  const real cross = perp_exact_sum_value(&sum) / a;
  const real outside = over - 2 * dot + y * y; /* |z|^2 - radius^2 */
  if (!(outside > 0)) return y;
  *slack = a * outside / (sqrtl(outside + (real)radius * radius) + radius);
  const real angle = atan2l(fabsl(cross) / l, l - dot / l);
  return hypotl(over / (l + radius), 2 * sqrtl(l) * sqrtl(radius) * sinl(angle / 2));
}

/* ---- all figures ---- */

typedef struct judge_job {
  const perp_lcp *p;
  const double *lambda;
  real *a, *c, *w, *F;           /* [n] scales, |A||lambda|, w, natural map */
  real worst, size, data, start; /* as perp_lcp_extremes */
  real force, rest, calm, moved;
  real left, beyond; /* data and worst of the rows above the rounding of |A||lambda| */
  real product;      /* |A lambda|_2^2 */
} judge_job;

/* counts: part of the least slack */
static void judge_add(judge_job *job, int i, int rows, real r, real a, real slack, bool counts)
{
  const perp_lcp *lcp = job->p;
  real size = 0, unit = 0, b = 0, w = 0;
  for (int k = i; k < i + rows; k++) {
    size = hypotl(size, job->c[k] + fabs(lcp->b[k]));
    unit = fmaxl(unit, lcp->unit != NULL ? lcp->unit[k] : 1);
    b = rows > 1 ? hypotl(b, lcp->b[k]) : fabs(lcp->b[k]);
    w = rows > 1 ? hypotl(w, job->w[k]) : fabsl(job->w[k]);
  }
  if (!(slack > PERP_LCP_REST * w) || lcp->brief) slack = 0;
  const real beta = b - slack > PERP_LCP_REST * (b + (slack > 0 ? w : 0)) ? b - slack : 0;
  job->worst = fmaxl(job->worst, r);
  job->data = fmaxl(job->data, beta / a);
  job->force = fmaxl(job->force, unit * beta);
  if (counts) {
    job->rest = fminl(job->rest, slack / a);
    job->calm = fminl(job->calm, unit * slack);
  }
  if (!(a * r > JUDGE_FLOOR * size)) return;
  job->left = fmaxl(job->left, unit * a * r);
  job->beyond = fmaxl(job->beyond, r);
}

/* rows of group g, or all of them */
static void judge_rows(judge_job *job, int g, int from, int end, double *w)
{
  const perp_lcp *lcp = job->p;
  perp_exact_sum sum, before; /* before: of the first row of a cone */
  for (int i = from; i < end; i++) {
    const real unit = lcp->unit != NULL ? lcp->unit[i] : 1;
    double lo, hi;
    perp_lcp_bounds(lcp, job->lambda, i, &lo, &hi);
    judge_row(lcp, job->lambda, g, i, &sum);
    const real moved = perp_exact_sum_value(&sum);
    job->product += moved * moved;
    perp_exact_sum_add(&sum, lcp->b[i]);
    job->w[i] = perp_exact_sum_value(&sum);
    if (w != NULL) w[i] = (double)job->w[i];
    job->size = fmaxl(job->size, fabs(job->lambda[i]));
    job->moved = fmaxl(job->moved, unit * job->c[i]);
    if (perp_lcp_is_cone(lcp, i)) {
      before = sum;
    } else if ((i > 0 && perp_lcp_is_cone(lcp, i - 1))) {
      const real a = fmaxl(job->a[i - 1], job->a[i]);
      const real size = hypotl(job->w[i - 1], job->w[i]);
      real slack;
      const real r = judge_disc(job->lambda + i - 1, &before, &sum, size, a, hi, &slack);
      judge_add(job, i - 1, 2, r, a, slack, false);
    } else {
      const real a = job->a[i], x = job->lambda[i];
      const real slack = fmaxl(job->w[i] - a * (x - lo), a * (x - hi) - job->w[i]);
      const real r = fabsl(judge_median(x - lo, job->w[i] / a, x - hi));
      job->start = fmaxl(job->start, fabsl(judge_median(-(real)lo, 0, -(real)hi)));
      judge_add(job, i, 1, r, a, slack, lo < hi && !lcp->brief && !perp_exact_is_friction(lcp, i));
    }
  }
}

static real judge_rel(real worst, real size, real data, real start, real beyond)
{
  const real D = fmaxl(data, start), s = D > 0 ? worst / D : 0, t = D > 0 ? beyond / D : 0;
  real rel = worst / fmaxl(fmaxl(size, data), DBL_MIN);
  if (s > 1e-4L) rel = fmaxl(rel, s < 1 ? (s * s) * (s * s) : s);
  return fmaxl(rel, t < 1 ? t * t : t);
}

/* r - P_K(r - (u + mu |u_T| e_N)) of one contact, K the Coulomb cone: De Saxce's form.  The part x
 * - P_K(x) in the polar cone is worked out without x where u is less than r, so that no u is too
 * small for it. */
static void judge_cone_map(real mu, const real *r, const real *u, real *F)
{
  const real s = hypotl(u[1], u[2]), un = u[0] + mu * s, l = hypotl(r[1], r[2]);
  const real x[3] = { r[0] - un, r[1] - u[1], r[2] - u[2] }, t = hypotl(x[1], x[2]);
  /* t - l without the difference */
  const real longer = t + l > 0 ? (s * s - 2 * (r[1] * u[1] + r[2] * u[2])) / (t + l) : 0;
  const real beyond = (l - mu * r[0]) + longer + mu * un; /* |x_T| - mu x_N */
  if (mu * t <= -x[0]) {
    for (int k = 0; k < 3; k++) F[k] = r[k];
  } else if (!(beyond > 0)) {
    F[0] = un;
    F[1] = u[1];
    F[2] = u[2];
  } else if (hypotl(un, s) < hypotl(r[0], l)) {
    const real g = beyond / (1 + mu * mu);
    F[0] = un - mu * g;
    F[1] = u[1] + g * (x[1] / t);
    F[2] = u[2] + g * (x[2] / t);
  } else {
    const real pn = (x[0] + mu * t) / (1 + mu * mu), scale = mu * pn / t;
    F[0] = r[0] - pn;
    F[1] = r[1] - scale * x[1];
    F[2] = r[2] - scale * x[2];
  }
}

/* The unscaled natural map; contacts with a circular cone in De Saxce's form. */
static void judge_map(judge_job *job)
{
  const perp_lcp *lcp = job->p;
  for (int i = 0; i < lcp->n; i++) {
    const real x = job->lambda[i];
    double lo, hi;
    perp_lcp_bounds(lcp, job->lambda, i, &lo, &hi);
    job->F[i] = judge_median(x - lo, job->w[i], x - hi);
  }
  for (int i = 0; i < lcp->n; i++) {
    if (!perp_lcp_is_cone(lcp, i)) continue;
    const int j = lcp->fric_of[i];
    const real r[3] = { job->lambda[j], job->lambda[i], job->lambda[i + 1] };
    const real u[3] = { job->w[j], job->w[i], job->w[i + 1] };
    real G[3];
    judge_cone_map(lcp->mu[i], r, u, G);
    job->F[j] = G[0];
    job->F[i] = G[1];
    job->F[i + 1] = G[2];
  }
}

static double judge_coupling(const perp_lcp *lcp, const double *lambda)
{
  double worst = 0, size = DBL_MIN;
  if (!lcp->frozen || lcp->fric_of == NULL) return 0;
  for (int i = 0; i < lcp->n; i++) {
    if (lcp->fric_of[i] < 0) continue;
    double limit = lcp->mu[i] * fmax(lambda[lcp->fric_of[i]], 0),
           hi = lcp->hi != NULL ? lcp->hi[i] : 0;
    worst = fmax(worst, fabs(hi - limit));
    size = fmax(size, fmax(fabs(hi), limit));
  }
  return worst / size;
}

static bool judge_readable(const perp_lcp *lcp, const double *lambda)
{
  double probe = 0;
  for (int i = 0; i < lcp->n; i++) {
    double lo, hi;
    probe += 0 * lambda[i];
    perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
    if (!(lo <= hi)) return false;
  }
  return probe == 0 && perp_lcp_finite(lcp);
}

static real judge_scale(real most, real least)
{
  return least > most && least <= DBL_MAX ? least : most;
}

/* everything that scratch [PERP_LCP_SCRATCH] and a pass over all rows give */
static void judge_all(judge_job *job, double *w, double *scratch)
{
  const perp_lcp *lcp = job->p;
  const size_t n = (size_t)lcp->n;
  real largest = 0;
  job->a = (real *)(((uintptr_t)scratch + _Alignof(real) - 1) & ~(uintptr_t)(_Alignof(real) - 1));
  job->c = job->a + n;
  job->w = job->c + n;
  job->F = job->w + n;
  if (lcp->F != NULL)
    judge_factored_sizes(lcp->F, job->lambda, job->a, job->c, job->F);
  else
    judge_dense_sizes(lcp, job->lambda, job->a, job->c);
  job->rest = job->calm = HUGE_VAL;
  for (size_t i = 0; i < n; i++) largest = fmaxl(largest, job->a[i]);
  for (size_t i = 0; i < n; i++)
    if (job->a[i] == 0) job->a[i] = largest > 0 ? largest : 1;
  if (lcp->F == NULL) judge_rows(job, 0, 0, lcp->n, w);
  for (int g = 0; lcp->F != NULL && g < lcp->F->nc; g++)
    judge_rows(job, g, lcp->F->cptr[g], lcp->F->cptr[g + 1], w);
  job->data = judge_scale(job->data, job->rest);
  job->force = judge_scale(job->force, job->calm);
}

static double judge_data(const judge_job *job)
{
  const real B = job->force > 0 ? job->force : job->moved;
  if (!(job->left > 0)) return 0;
  return B > 0 ? (double)(job->left / B) : HUGE_VAL;
}

perp_lcp_judgement perp_lcp_no_judgement(void)
{
  const double lost = (double)NAN;
  return (perp_lcp_judgement){ .rel = lost,
                               .data = lost,
                               .abs = lost,
                               .componentwise = lost,
                               .siconos = lost,
                               .fclib = lost,
                               .abh = lost,
                               .coupling = lost,
                               .own = lost,
                               .own_data = lost };
}

void perp_lcp_judge(const perp_lcp *lcp, const double *lambda, double *w, double *scratch,
                    perp_lcp_judgement *judgement)
{
  judge_job job = { .p = lcp, .lambda = lambda };
  if (!judge_readable(lcp, lambda)) {
    *judgement = perp_lcp_no_judgement();
    if (w != NULL) perp_lcp_product(lcp, lambda, w, scratch);
    return;
  }
  judge_all(&job, w, scratch);
  *judgement = (perp_lcp_judgement){ .rel = (double)judge_rel(job.worst, job.size, job.data,
                                                              job.start, job.beyond),
                                     .data = judge_data(&job),
                                     .coupling = judge_coupling(lcp, lambda) };
  judge_map(&job);
  real abs = 0, componentwise = 0, f = 0, q = 0, l = 0;
  for (int i = 0; i < lcp->n; i++) {
    const real F = fabsl(job.F[i]), b = lcp->b[i], x = lambda[i], size = job.c[i] + fabsl(b);
    abs = fmaxl(abs, F);
    if (size > 0) componentwise = fmaxl(componentwise, F / size);
    f += F * F;
    q += b * b;
    l += x * x;
  }
  f = sqrtl(f);
  q = sqrtl(q);
  const real most = fmaxl(fmaxl(q, sqrtl(l)), sqrtl(job.product));
  judgement->abs = (double)abs;
  judgement->componentwise = (double)componentwise;
  judgement->siconos = f > 0 ? (double)(f / (most > 0 ? most : DBL_MIN)) : 0;
  judgement->fclib = (double)(f / (1 + q));
  judgement->abh = f > 0 ? (double)(f / (q > 0 ? q : DBL_MIN)) : 0;
  judgement->own = judgement->own_data = (double)
      NAN; /* a verdict outside time steps refuses them */
  if (lcp->brief) return;
  /* what follows needs of job no more than w, to the nearest double */
  double *plain = scratch + JUDGE_SCRATCH * (size_t)lcp->n + 2;
  for (int i = 0; i < lcp->n; i++) plain[i] = (double)job.w[i];
  perp_lcp_own own;
  perp_lcp_backward(lcp, lambda, plain, NULL, scratch, &own);
  judgement->own = own.most;
  judgement->own_data = own.data;
  if (judgement->own < 1) judgement->exists = perp_lcp_small(lcp, lambda);
}

/* ---- the verdict ---- */

/* of one figure */
static perp_reason judge_side(double figure, double tol, double margin)
{
  if (fabs(figure - tol) <= margin * tol) return PERP_UNDECIDED;
  return figure <= tol ? PERP_CONVERGED : PERP_INACCURATE;
}

/* of several: what is refused by one is, what is left open by one is open */
static perp_reason judge_both(perp_reason a, perp_reason b)
{
  if (a == PERP_INACCURATE || b == PERP_INACCURATE) return PERP_INACCURATE;
  return a == PERP_UNDECIDED ? a : b;
}

perp_reason perp_lcp_verdict(const perp_lcp *lcp, double tol, const perp_lcp_judgement *judgement)
{
  const double margin = lcp->F != NULL ? JUDGE_MARGIN_FACTORED : JUDGE_MARGIN;
  const perp_reason data = judge_side(judgement->data, perp_lcp_data_limit(lcp, tol), margin);
  if (lcp->brief) return judge_both(judge_side(judgement->rel, tol, margin), data);
  perp_reason reason = judge_both(judge_side(judgement->own, tol, margin),
                                  judge_side(judgement->own_data, sqrt(tol), margin));
  if (lcp->tol_data > 0) reason = judge_both(reason, data);
  if (reason == PERP_INACCURATE || judgement->exists != PERP_EXISTS_NOT) return reason;
  /* but nearly: the rounding of its numbers decides */
  return judgement->own <= 64 * lcp->n * DBL_EPSILON ? PERP_UNDECIDED : PERP_INACCURATE;
}

/* How far r_i and unit_i a_i r_i of the plain w may be off, and what D_b and B are between. */
typedef struct judge_error {
  double r, left;
  double data[2], force[2];
} judge_error;

/* From one bound of all errors. */
static judge_error judge_overall(const perp_lcp *lcp, const perp_lcp_extremes *extremes, double r,
                                 double left)
{
  judge_error error = { .r = r, .left = left };
  if (lcp->cone != NULL && !lcp->frozen) { /* both rows of it, and the rounding of its figure */
    error.r = 1.5 * error.r + 64 * DBL_EPSILON * extremes->size;
    error.left = 1.5 * error.left + 64 * DBL_EPSILON * extremes->size * extremes->stiff;
  }
  /* a row may be on the other side of PERP_LCP_REST; slacks that do not count are left to the
   * bounds row by row */
  const double cut = 2 * PERP_LCP_REST;
  const double data = error.r + cut * (extremes->alone + extremes->worst + error.r);
  const double force = error.left + cut * (extremes->given + extremes->left + error.left);
  error.data[0] = extremes->data - data;
  error.data[1] = perp_lcp_scale_of(extremes->data + data,
                                    extremes->rest + error.r + cut * (extremes->worst + error.r));
  error.force[0] = extremes->force - force;
  error.force[1] = perp_lcp_scale_of(
      extremes->force + force, extremes->calm + error.left + cut * (extremes->left + error.left));
  return error;
}

/* What row i, or the two of a cone, may be off by, where its w are by at most `off`; least [4]:
 * slacks, as data and force. */
static void judge_error_row(const perp_lcp *lcp, const perp_lcp_extremes *extremes, const double *a,
                            const double *lambda, const double *w, int i, double off,
                            judge_error *error, double *least)
{
  const bool cone = perp_lcp_is_cone(lcp, i);
  const double cut[2] = { PERP_LCP_REST * (1 + 1e-3), PERP_LCP_REST * (1 - 1e-3) };
  const double s = cone ? fmax(a[i], a[i + 1]) : a[i];
  const double unit = lcp->unit == NULL ? 1
                      : cone            ? fmax(lcp->unit[i], lcp->unit[i + 1])
                                        : lcp->unit[i];
  const double b = cone ? hypot(lcp->b[i], lcp->b[i + 1]) : fabs(lcp->b[i]);
  double lo, hi, slack, size = fabs(w[i]);
  bool counts = false;
  perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
  if (cone) {
    size = hypot(w[i], w[i + 1]);
    off += 64 * DBL_EPSILON * extremes->size * s;
    slack = s * fmax(hypot(lambda[i] - w[i] / s, lambda[i + 1] - w[i + 1] / s) - hi, 0);
  } else {
    const double above = lambda[i] - lo, below = lambda[i] - hi, y = w[i] / s;
    const double m = y > above ? above : y < below ? below : y;
    slack = m == y ? 0 : fabs(w[i] - s * m);
    off += 4 * DBL_EPSILON * fabs(w[i]);
    counts = lo < hi && !lcp->brief && !perp_exact_is_friction(lcp, i);
  }
  const double sure = slack - off > cut[0] * (size + off) ? slack - off : 0;
  const double may = slack + off > cut[1] * (size - off) ? slack + off : 0;
  if (cone || sure == 0) { /* else the bound is what counts, whatever w is */
    error->r = fmax(error->r, off / s);
    error->left = fmax(error->left, unit * off);
  }
  for (int side = 0; side < 2; side++) {
    double beta = lcp->brief ? b : b - (side ? sure : may);
    const double of_w = (side ? sure : may) > 0 && !lcp->brief
                            ? fmax(side ? size - off : size + off, 0)
                            : 0;
    if (!(beta > cut[side] * (b + of_w))) beta = 0;
    error->data[side] = fmax(error->data[side], beta / s);
    error->force[side] = fmax(error->force[side], unit * beta);
    if (!counts) continue;
    const double room = side ? may : sure;
    least[side] = fmin(least[side], room / s);
    least[2 + side] = fmin(least[2 + side], unit * room);
  }
}

/* From bounds off [n] of the errors of w. */
static judge_error judge_errors(const perp_lcp *lcp, const perp_lcp_extremes *extremes,
                                const double *a, const double *lambda, const double *w,
                                const double *off)
{
  judge_error error = { .r = 0 };
  double least[4] = { HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL };
  for (int i = 0; i < lcp->n; i++) {
    const bool cone = perp_lcp_is_cone(lcp, i);
    judge_error_row(lcp, extremes, a, lambda, w, i, cone ? 1.5 * fmax(off[i], off[i + 1]) : off[i],
                    &error, least);
    i += cone;
  }
  for (int side = 0; side < 2; side++) {
    error.data[side] = perp_lcp_scale_of(error.data[side], least[side]);
    error.force[side] = perp_lcp_scale_of(error.force[side], least[2 + side]);
  }
  return error;
}

/* What plain figures with that error say; PERP_UNDECIDED: nothing.  *missed: rel holds, data may
 * not. */
static perp_reason judge_plain(const perp_lcp *lcp, double tol, const perp_lcp_extremes *extremes,
                               judge_error error, bool *missed)
{
  const double up = 1 + 64 * DBL_EPSILON, down = 1 - 64 * DBL_EPSILON;
  *missed = false;
  const double most = fmax(extremes->size, extremes->alone);
  if (extremes->bad || !(error.r <= DBL_MAX)) return PERP_UNDECIDED;
  if (most < JUDGE_SMALL) {
    bool zero = most == 0;
    for (int i = 0; zero && i < lcp->n; i++) zero = lcp->b[i] == 0;
    if (!zero) return PERP_UNDECIDED;
  }
  /* whether a row is beyond the rounding of |A||lambda| is not known here */
  const double most_left = extremes->worst * up + error.r;
  const double least_left = fmax(extremes->worst * down - error.r, 0);
  if (least_left / fmax(fmax(extremes->size, error.data[1]), DBL_MIN) * down > tol)
    return PERP_INACCURATE;
  if (fmax(error.data[0], extremes->start) >= JUDGE_SMALL && /* else D may be 0 */
      judge_rel(least_left, extremes->size, error.data[1], extremes->start, 0) * down > tol)
    return PERP_INACCURATE;
  if (!(judge_rel(most_left, extremes->size, fmax(error.data[0], 0), extremes->start, most_left) *
            up <=
        tol))
    return PERP_UNDECIDED;
  if (most_left > 0 && !(fmax(error.data[0], extremes->start) >= JUDGE_SMALL))
    return PERP_UNDECIDED;
  const double left = (extremes->left * up + error.left) * up;
  if (left == 0) return PERP_CONVERGED;
  const double allowed = perp_lcp_data_limit(lcp, tol) * error.force[0];
  if (allowed >= JUDGE_SMALL && left <= allowed) return PERP_CONVERGED;
  *missed = true;
  return PERP_UNDECIDED;
}

/* Does a row, no cone, certainly leave more than `allowed`?  e [n]: errors of w; size [n]:
 * |A||lambda| or more */
static bool judge_refused(const perp_lcp *lcp, double allowed, const double *a,
                          const double *lambda, const double *w, const double *e,
                          const double *size)
{
  for (int i = 0; i < lcp->n; i++) {
    if (perp_lcp_is_cone(lcp, i) || (i > 0 && perp_lcp_is_cone(lcp, i - 1))) continue;
    const double unit = lcp->unit != NULL ? lcp->unit[i] : 1, up = 1 + 64 * DBL_EPSILON;
    double lo, hi;
    perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
    const real x_i = lambda[i],
               left = fabsl(judge_median(a[i] * (x_i - lo), w[i], a[i] * (x_i - hi))) - e[i];
    if (left > up * JUDGE_FLOOR * (size[i] + fabs(lcp->b[i])) && unit * left > up * allowed)
      return true;
  }
  return false;
}

/* by rel and data */
static perp_reason judge_figures(const perp_lcp *lcp, double tol, const double *a,
                                 const double *lambda, const double *w, double *scratch,
                                 double *rel, double *data)
{
  const int n = lcp->n;
  perp_lcp_extremes extremes;
  double total = 0, least = HUGE_VAL;
  bool missed;
  perp_lcp_survey_residual(lcp, a, lambda, w, true, &extremes);
  *rel = (double)judge_rel(extremes.worst, extremes.size,
                           perp_lcp_scale_of(extremes.data, extremes.rest), extremes.start,
                           extremes.worst);
  *data = perp_lcp_plain_data(&extremes);
  for (int i = 0; i < n; i++) {
    total += fabs(lambda[i]);
    least = a[i] < least ? a[i] : least;
  }
  if (total == 0) { /* w is b */
    const perp_reason reason = judge_plain(lcp, tol, &extremes, judge_overall(lcp, &extremes, 0, 0),
                                           &missed);
    if (reason != PERP_UNDECIDED) return reason;
  }
  /* roundings of size eps / 2, and a little more for those of the bound itself */
  const double each = 0.51 * DBL_EPSILON;
  if (lcp->F == NULL) {
    const double gamma = each * (n + 4.0);
    const double r = gamma * (total + extremes.alone + DBL_MIN / least);
    const double left = gamma * (extremes.stiff * total + extremes.given +
                                 (extremes.stiff > 0 ? DBL_MIN * extremes.stiff / least : 0));
    const perp_reason reason = judge_plain(lcp, tol, &extremes,
                                           judge_overall(lcp, &extremes, r, left), &missed);
    if (reason != PERP_UNDECIDED) return reason;
  }
  /* bounds row by row */
  double *size = scratch + n, *off = size + n, gamma = each * (2 * n + 6.0);
  if (lcp->F != NULL) {
    perp_blocks_bound(lcp->F, lambda, DBL_MIN, size, off);
    gamma = each * (perp_blocks_roundings(lcp->F) + 4);
  } else {
    for (int i = 0; i < n; i++) size[i] = DBL_MIN;
    for (int j = 0; lcp->C != NULL && j < n; j++)
      for (int k = lcp->C->start[j]; k < lcp->C->start[j + 1]; k++)
        size[lcp->C->row[k]] += fabs(lcp->C->value[k]) * fabs(lambda[j]);
    for (int j = 0; lcp->A != NULL && j < n; j++) {
      const double *col = lcp->A + (size_t)j * (size_t)lcp->lda, s = fabs(lambda[j]);
      for (int i = 0; i < n; i++) size[i] += fabs(col[i]) * s;
    }
  }
  for (int i = 0; i < n; i++) off[i] = gamma * (size[i] + fabs(lcp->b[i]));
  const judge_error error = judge_errors(lcp, &extremes, a, lambda, w, off);
  const perp_reason reason = judge_plain(lcp, tol, &extremes, error, &missed);
  if (reason != PERP_UNDECIDED) return reason;
  if (missed && error.force[0] > 0 &&
      judge_refused(lcp, perp_lcp_data_limit(lcp, tol) * error.force[1], a, lambda, w, off, size))
    return PERP_INACCURATE;

  judge_job job = { .p = lcp, .lambda = lambda };
  judge_all(&job, NULL, scratch);
  *rel = (double)judge_rel(job.worst, job.size, job.data, job.start, job.beyond);
  *data = judge_data(&job);
  const double margin = lcp->F != NULL ? JUDGE_MARGIN_FACTORED : JUDGE_MARGIN;
  return judge_both(judge_side(*rel, tol, margin),
                    judge_side(*data, perp_lcp_data_limit(lcp, tol), margin));
}

/* By own and own_data, of w with rounding, and without where that decides.  *residual, *of: own */
static perp_reason judge_own(const perp_lcp *lcp, double tol, const double *lambda, const double *w,
                             double *scratch, double *residual, double *of)
{
  const double limit = sqrt(tol), each = 0.51 * DBL_EPSILON;
  double *plain = scratch + JUDGE_SCRATCH * (size_t)lcp->n + 2;
  perp_lcp_own own;
  perp_lcp_doubt doubt = { .share = each * (lcp->n + 6.0), .enough = limit * (1 - 1e-6) };
  if (lcp->F != NULL) {
    perp_blocks_bound(lcp->F, lambda, DBL_MIN, scratch, plain);
    const double gamma = each * (perp_blocks_roundings(lcp->F) + 4);
    for (int i = 0; i < lcp->n; i++) plain[i] = gamma * (scratch[i] + fabs(lcp->b[i]));
    doubt.share = 0;
    doubt.off = plain;
  }
  perp_lcp_backward(lcp, lambda, w, &doubt, scratch, &own);
  perp_lcp_judgement judgement = { .own = own.most, .own_data = own.data };
  perp_reason reason = PERP_UNDECIDED;
  if (own.least > tol * (1 + 1e-6))
    reason = PERP_INACCURATE;
  else if (own.most <= tol * (1 - 1e-6) && own.data <= doubt.enough)
    reason = PERP_CONVERGED;
  else {
    judge_job job = { .p = lcp, .lambda = lambda };
    judge_all(&job, NULL, scratch);
    for (int i = 0; i < lcp->n; i++) plain[i] = (double)job.w[i];
    perp_lcp_backward(lcp, lambda, plain, NULL, scratch, &own);
    judgement = (perp_lcp_judgement){ .own = own.most, .own_data = own.data };
    const double margin = lcp->F != NULL ? JUDGE_MARGIN_FACTORED : JUDGE_MARGIN;
    reason = judge_both(judge_side(judgement.own, tol, margin),
                        judge_side(judgement.own_data, limit, margin));
  }
  *of = judgement.own;
  *residual = perp_lcp_residual(lcp, &judgement);
  return reason;
}

perp_reason perp_lcp_decide(const perp_lcp *lcp, double tol, const double *a, const double *lambda,
                            const double *w, double *scratch, double *residual, double *data)
{
  const perp_reason reason = judge_figures(lcp, tol, a, lambda, w, scratch, residual, data);
  if (lcp->brief) return reason;
  double own;
  perp_reason by = judge_own(lcp, tol, lambda, w, scratch, residual, &own);
  if (lcp->tol_data > 0)
    by = judge_both(by, judge_side(*data, perp_lcp_data_limit(lcp, tol), JUDGE_MARGIN_FACTORED));
  if (by == PERP_INACCURATE || perp_lcp_small(lcp, lambda) != PERP_EXISTS_NOT) return by;
  return own <= 64 * lcp->n * DBL_EPSILON ? PERP_UNDECIDED : PERP_INACCURATE;
}
