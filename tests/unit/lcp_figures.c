/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All figures of an answer against their definitions in lcp.h and gain.h, written out once more in
 * long double over random problems: dense and factored, every kind of row, more rows than a batch
 * of the judge, teams, zero rows. */
#include "solvers/lcp/gain.h"
#include "solvers/lcp/lcp_private.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

#include <float.h>

typedef long double real;

enum { MOST = 256, COLUMNS = 512 };
static int problems = 200; /* or the argument */

static perp_ctx ctx;
static perp_rng *g;

/* One problem, its answer and, of the same matrix in long double, everything that a figure is made
 * of. */
typedef struct trial {
  random_lcp r;
  const perp_lcp *p;
  double *lo, *hi, *b, *unit, *x, *w;
  real *A, *a, *c, *exact; /* scales, |A||x|, A x + b */
} trial;

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(g, lo, hi);
}

static int one_of(int n)
{
  return perp_rng_int(g, n);
}

/* J M^-1 J' + S, entry by entry */
static void multiply_out(const perp_blocks *F, int n, real *A)
{
  for (int k = 0; k < n * n; k++) A[k] = 0;
  for (int e = 0; e < F->nc; e++)
    for (int f = 0; f < F->nc; f++)
      for (int k = F->jptr[e]; k < F->jptr[e + 1]; k++)
        for (int l = F->jptr[f]; l < F->jptr[f + 1]; l++) {
          if (F->jblk[k] != F->jblk[l]) continue;
          const int d = F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]];
          const int r = F->cptr[e + 1] - F->cptr[e], c = F->cptr[f + 1] - F->cptr[f];
          const double *W = F->Minv + F->mptr[F->jblk[k]];
          for (int i = 0; i < r; i++)
            for (int j = 0; j < c; j++) {
              real sum = 0;
              for (int q = 0; q < d; q++)
                for (int s = 0; s < d; s++)
                  sum += (real)F->J[F->joff[k] + i + q * r] * W[q + s * d] *
                         F->J[F->joff[l] + j + s * c];
              A[F->cptr[e] + i + (F->cptr[f] + j) * n] += sum;
            }
        }
  for (int i = 0; F->s != NULL && i < n; i++) A[i * (n + 1)] += F->s[i];
}

/* Some blocks become diagonal, some say so, and some rows of J vanish or are of another size. */
static void vary_blocks(trial *t)
{
  perp_blocks *F = &t->r.F;
  double *W = (double *)(uintptr_t)F->Minv, *J = (double *)(uintptr_t)F->J;
  unsigned char *diag = random_own(&t->r, (size_t)F->nb, 1);
  double *flat = random_own(&t->r, (size_t)F->nv, sizeof *flat);
  const int how = one_of(4);
  for (int k = 0; k < F->nb; k++) {
    const int d = F->bptr[k + 1] - F->bptr[k];
    diag[k] = how == 1 || (how > 1 && one_of(2));
    for (int i = 0; i < d; i++)
      for (int j = 0; j < d; j++)
        if (diag[k] && i != j) W[F->mptr[k] + i + j * d] = 0;
    for (int i = 0; i < d; i++) flat[F->bptr[k] + i] = W[F->mptr[k] + i * (d + 1)];
  }
  if (how > 0) F->diag = diag;
  if (how > 0 && one_of(2)) F->flat = flat;
  const int zero = one_of(4) == 0, uneven = one_of(2);
  for (int e = 0; e < F->nc; e++)
    for (int i = 0; i < F->cptr[e + 1] - F->cptr[e]; i++) {
      const double by = zero && one_of(4) == 0 ? 0 : uneven ? ldexp(1, one_of(13) - 6) : 1;
      for (int k = F->jptr[e]; k < F->jptr[e + 1]; k++)
        for (int q = 0; q < F->bptr[F->jblk[k] + 1] - F->bptr[F->jblk[k]]; q++)
          J[F->joff[k] + i + q * (F->cptr[e + 1] - F->cptr[e])] *= by;
      if (F->s != NULL && one_of(3) == 0) ((double *)(uintptr_t)F->s)[F->cptr[e] + i] = 0;
    }
  F->threads = one_of(4);
}

/* Bounds of every kind on rows without friction, and limits of those with it where they are frozen.
 */
static void vary_bounds(trial *t)
{
  perp_lcp *p = &t->r.p;
  const int n = p->n;
  t->lo = random_own(&t->r, (size_t)n, sizeof *t->lo);
  t->hi = random_own(&t->r, (size_t)n, sizeof *t->hi);
  t->unit = random_own(&t->r, (size_t)n, sizeof *t->unit);
  const bool plain = one_of(3) == 0;
  p->frozen = p->fric_of != NULL && one_of(3) == 0;
  for (int i = 0; i < n; i++) {
    t->unit[i] = ldexp(1 + one_of(3), one_of(9) - 4);
    t->hi[i] = HUGE_VAL;
    if (p->fric_of != NULL && p->fric_of[i] >= 0) {
      t->hi[i] = one_of(4) ? uniform(0, 1) : 0;
      t->lo[i] = -t->hi[i];
      continue;
    }
    const int kind = plain ? 5 : one_of(7);
    if (kind <= 1) t->lo[i] = -HUGE_VAL;
    if (kind == 2) t->lo[i] = uniform(-1, 1);
    if (kind == 1) t->hi[i] = uniform(-1, 1);
    if (kind == 3 || kind == 4) t->lo[i] = uniform(-1, 1);
    if (kind == 3) t->hi[i] = t->lo[i];
    if (kind == 4) t->hi[i] = t->lo[i] + uniform(0, 1);
  }
  p->lo = plain && !p->frozen && one_of(2) ? NULL : t->lo;
  p->hi = plain && !p->frozen && one_of(2) ? NULL : t->hi;
  p->unit = one_of(2) ? t->unit : NULL;
}

/* An answer: any numbers, or one that is nearly right; b as it asks for, or b = 0. */
static void vary_answer(trial *t)
{
  perp_lcp *p = &t->r.p;
  const int n = p->n, kind = one_of(8);
  t->x = random_own(&t->r, (size_t)n, sizeof *t->x);
  t->b = random_own(&t->r, (size_t)n, sizeof *t->b);
  p->b = t->b;
  for (int i = 0; i < n; i++) {
    double lo, hi, w = 0;
    t->x[i] = uniform(-0.3, 1);
    perp_lcp_bounds(p, t->x, i, &lo, &hi);
    const int side = one_of(3);
    t->x[i] = fmin(fmax(t->x[i], lo), hi);
    if (side == 0 && lo > -HUGE_VAL) t->x[i] = lo, w = uniform(0, 1);
    if (side == 1 && hi < HUGE_VAL) t->x[i] = hi, w = -uniform(0, 1);
    if (perp_lcp_is_cone(p, i > 0 ? i - 1 : n)) {
      /* on the circle, sliding against the force, or sticking inside */
      const double angle = uniform(0, 6.3), slip = side == 2 ? 0 : uniform(0, 1);
      const double r = side == 2 ? 0.7 * hi : hi;
      t->x[i - 1] = r * cos(angle);
      t->x[i] = r * sin(angle);
      t->b[i - 1] = -slip * cos(angle);
      w = -slip * sin(angle);
    }
    t->b[i] = w;
  }
  for (int i = 0; i < n; i++) {
    real moved = 0;
    for (int j = 0; j < n; j++) moved += t->A[i + j * n] * t->x[j];
    t->b[i] = (double)(t->b[i] - moved);
  }
  const int row = one_of(n);
  if (kind == 0)
    for (int i = 0; i < n; i++) t->b[i] = 0;
  if (kind == 1)
    for (int i = 0; i < n; i++) t->x[i] = 0;
  if (kind == 2)
    for (int i = 0; i < n; i++) t->x[i] = uniform(-1, 1);
  if (kind == 3) t->x[row] += pow(10, -uniform(0, 14));
  if (kind == 4) t->b[row] += pow(10, -uniform(0, 14)) * (one_of(2) ? 1 : -1);
  if (kind == 5) t->x[row] *= pow(10, uniform(0, 18));
  if (kind == 6)
    for (int i = 0; i < n; i++) t->b[i] = uniform(-1, 1) * pow(10, -uniform(0, 3));
}

static void make(trial *t)
{
  static trial cleared;
  *t = cleared;
  const int kind = one_of(6), large = one_of(20) == 0;
  if (kind < 3) {
    const int n = large ? 60 + one_of(50) : 1 + one_of(9);
    t->r = random_dense(g, n, 1 + one_of(n), one_of(2), one_of(2), BOUNDS_CONTACT);
    for (int i = 0; i < n; i++) {
      const double by = one_of(8) == 0 ? 0 : ldexp(1, one_of(9) - 4);
      for (int j = 0; j < n; j++) t->r.A[i + j * n] *= by;
    }
    if (n % 3 == 0 && one_of(2)) { /* friction, boxes or cones */
      int *of = random_own(&t->r, (size_t)n, sizeof *of);
      double *mu = random_own(&t->r, (size_t)n, sizeof *mu);
      signed char *cone = random_own(&t->r, (size_t)n, sizeof *cone);
      for (int i = 0; i < n; i++) {
        of[i] = i % 3 == 0 ? -1 : i - i % 3;
        mu[i] = i % 3 == 2 ? mu[i - 1] : one_of(5) / 4.0;
        cone[i] = i % 3 == 1 && one_of(4) > 0;
      }
      t->r.p.fric_of = of;
      t->r.p.mu = mu;
      t->r.p.cone = one_of(2) ? cone : NULL;
    }
    t->p = random_as_dense(&t->r);
  } else {
    const int nc = large ? 22 + one_of(8) : 1 + one_of(5);
    t->r = random_factored(g, 1 + one_of(large ? 8 : 4), nc, one_of(3), one_of(3), one_of(2));
    vary_blocks(t);
    t->p = random_as_factored(&t->r);
    t->r.p.F = &t->r.F;
  }
  const int n = t->p->n;
  if (n > MOST) bail("%d rows", n);
  const size_t size = (size_t)n;
  t->A = random_own(&t->r, size * size, sizeof *t->A);
  t->a = random_own(&t->r, size, sizeof *t->a);
  t->c = random_own(&t->r, size, sizeof *t->c);
  t->exact = random_own(&t->r, size, sizeof *t->exact);
  t->w = random_own(&t->r, size, sizeof *t->w);
  if (t->p->F != NULL)
    multiply_out(t->p->F, n, t->A);
  else
    for (int k = 0; k < n * n; k++) t->A[k] = t->r.A[k];
  vary_bounds(t);
  vary_answer(t);
  t->r.p.brief = one_of(2);
  real largest = 0;
  for (int i = 0; i < n; i++) {
    t->exact[i] = t->b[i];
    for (int j = 0; j < n; j++) {
      const real A = t->A[i + j * n];
      t->a[i] = fmaxl(t->a[i], fabsl(A));
      t->c[i] += fabsl(A) * fabs(t->x[j]);
      t->exact[i] += A * t->x[j];
    }
    largest = fmaxl(largest, t->a[i]);
  }
  for (int i = 0; i < n; i++)
    if (t->a[i] == 0) t->a[i] = largest > 0 ? largest : 1;
}

/* ---- the parts, from w of any kind ---- */

static real clip(real x, real lo, real hi)
{
  return x < lo ? lo : x > hi ? hi : x;
}

/* |x - x clamped or projected of x - w / a| of row i, or of the two rows of a cone from i on; *a:
 * its scale. */
static real left_over(const trial *t, int i, const real *w, real *a, real *slack)
{
  const perp_lcp *p = t->p;
  double lo, hi;
  perp_lcp_bounds(p, t->x, i, &lo, &hi);
  *a = t->a[i];
  if (!perp_lcp_is_cone(p, i)) {
    const real above = (real)t->x[i] - lo, below = (real)t->x[i] - hi;
    const real m = clip(w[i] / *a, below, above); /* the median */
    *slack = m == w[i] / *a ? 0 : fabsl(w[i] - *a * m);
    if (*slack <= 0x1p-40L * fabsl(w[i])) *slack = 0;
    return fabsl(m);
  }
  *a = fmaxl(t->a[i], t->a[i + 1]);
  const real y[2] = { w[i] / *a, w[i + 1] / *a }, z[2] = { t->x[i] - y[0], t->x[i + 1] - y[1] };
  const real length = hypotl(z[0], z[1]), by = length > hi ? hi / length : 1;
  *slack = *a * fmaxl(length - hi, 0);
  if (*slack <= 0x1p-40L * hypotl(w[i], w[i + 1])) *slack = 0;
  return hypotl(t->x[i] - by * z[0], t->x[i + 1] - by * z[1]);
}

typedef struct parts {
  real worst, size, data, start, left, plain_left, beyond, force, moved, plain_moved;
  real blur; /* how far data may be off: beta is a difference from a slack that is rounded as w */
} parts;

static parts take_apart(const trial *t, const real *w)
{
  const perp_lcp *p = t->p;
  parts e = { 0 };
  real rest = HUGE_VALL, calm = HUGE_VALL;
  for (int i = 0; i < p->n; i++) {
    const real unit = p->unit != NULL ? p->unit[i] : 1;
    e.size = fmaxl(e.size, fabs(t->x[i]));
    e.moved = fmaxl(e.moved, unit * t->c[i]);
    e.plain_moved = fmaxl(e.plain_moved, unit * fabsl(w[i]));
    if (p->frozen || p->fric_of == NULL || p->fric_of[i] < 0)
      e.start = fmaxl(e.start, fabsl(clip(0, p->lo != NULL ? p->lo[i] : 0,
                                          p->hi != NULL ? p->hi[i] : (real)HUGE_VAL)));
  }
  for (int i = 0; i < p->n; i++) {
    real a, slack, size = t->c[i] + fabs(t->b[i]), unit = p->unit != NULL ? p->unit[i] : 1;
    real b = fabs(t->b[i]);
    const real r = left_over(t, i, w, &a, &slack);
    double lo, hi;
    perp_lcp_bounds(p, t->x, i, &lo, &hi);
    e.worst = fmaxl(e.worst, r);
    if (p->brief) slack = 0;
    if (lo < hi && !p->brief && (p->frozen || p->fric_of == NULL || p->fric_of[i] < 0)) {
      rest = fminl(rest, slack / a);
      calm = fminl(calm, unit * slack);
    }
    if (perp_lcp_is_cone(p, i)) {
      i++;
      b = hypotl(b, t->b[i]);
      size = hypotl(size, t->c[i] + fabs(t->b[i]));
      if (p->unit != NULL) unit = fmaxl(unit, p->unit[i]);
    }
    const int last = perp_lcp_is_cone(p, i > 0 ? i - 1 : p->n);
    const real pull = last ? hypotl(w[i - 1], w[i]) : fabsl(w[i]);
    const real beta = b - slack > 0x1p-40L * (b + (slack > 0 ? pull : 0)) ? b - slack : 0;
    e.data = fmaxl(e.data, beta / a);
    if (slack > 0) e.blur = fmaxl(e.blur, DBL_EPSILON * (t->c[i] + pull) / a);
    e.force = fmaxl(e.force, unit * beta);
    e.plain_left = fmaxl(e.plain_left, unit * a * r);
    if (!(a * r > 8 * DBL_EPSILON * size)) continue;
    e.left = fmaxl(e.left, unit * a * r);
    e.beyond = fmaxl(e.beyond, r);
  }
  if (rest < HUGE_VALL) e.data = fmaxl(e.data, rest);
  if (calm < HUGE_VALL) e.force = fmaxl(e.force, calm);
  return e;
}

/* ---- comparisons ---- */

static int apart[32], asked[32];
enum {
  SCALES,
  TEAM,
  ABSOLUTE,
  TRANSPOSED,
  SURVEY,
  ASYMMETRY,
  REL,
  DATA,
  PLAIN_REL,
  MERIT,
  JUDGED_REL,
  JUDGED_DATA,
  JUDGED_W,
  ABS,
  COMPONENTWISE,
  SICONOS,
  FCLIB,
  ABH,
  COUPLING,
  RATING,
  GAIN,
  DECIDED,
  DECIDED_REL,
  DECIDED_DATA,
  NEEDS
};
static const char *const names[] = { "scales",
                                     "scales by factors",
                                     "|A||x|",
                                     "|A'||x|",
                                     "survey",
                                     "asymmetry",
                                     "rel of rate",
                                     "data of rate",
                                     "rel alone",
                                     "merit",
                                     "rel",
                                     "data",
                                     "w",
                                     "abs",
                                     "componentwise",
                                     "siconos",
                                     "fclib",
                                     "abh",
                                     "coupling",
                                     "rating",
                                     "gain",
                                     "decisions",
                                     "rel of decisions",
                                     "data of decisions",
                                     "needs" };

/* within rtol, or atol */
static void same(int what, double got, real want, real rtol, real atol)
{
  const bool good = got == (double)want || (what == DATA && got > 1e6 && want > 1e6) ||
                    (what == JUDGED_DATA && got > 1e6 && want > 1e6) ||
                    fabsl(got - want) <= rtol * fabsl(want) + atol;
  asked[what]++;
  if (!good && apart[what]++ < 3) printf("# %s: %.17g, not %.17Lg\n", names[what], got, want);
}

static void check_scales(const trial *t, double *a, double *scratch)
{
  const perp_lcp *p = t->p;
  const int n = p->n;
  double c[MOST], b[MOST];
  perp_lcp_scales(p, a, scratch);
  for (int i = 0; i < n; i++) same(SCALES, a[i], t->a[i], 1e-13L, 0);
  perp_lcp_absolute(p, t->x, false, b, c, scratch, scratch + n);
  for (int i = 0; i < n; i++) {
    same(ABSOLUTE, c[i], t->c[i], 1e-12L, 0);
    same(TEAM, b[i], t->a[i], 1e-13L, 0);
  }
  perp_lcp_absolute(p, t->x, true, b, c, scratch, scratch + n);
  real largest = 0, differ = 0;
  for (int i = 0; i < n; i++) {
    real sum = 0;
    for (int j = 0; j < n; j++) {
      sum += fabsl(t->A[j + i * n]) * fabs(t->x[j]);
      largest = fmaxl(largest, fabsl(t->A[j + i * n]));
      differ = fmaxl(differ, fabsl(t->A[j + i * n] - t->A[i + j * n]));
    }
    same(TRANSPOSED, c[i], sum, 1e-12L, 0);
  }
  if (p->F != NULL) return;
  double asymmetry;
  bool finite;
  perp_lcp_survey(p, b, &asymmetry, &finite);
  for (int i = 0; i < n; i++) same(SURVEY, b[i], t->a[i], 0, 0);
  same(SURVEY, finite, 1, 0, 0);
  same(ASYMMETRY, asymmetry, largest > 0 ? differ / largest : 0, 1e-15L, 0);
  same(ASYMMETRY, perp_lcp_asymmetry(p), largest > 0 ? differ / largest : 0, 1e-15L, 0);
}

static void check_rates(trial *t, const double *a)
{
  perp_lcp *p = &t->r.p;
  const int n = p->n;
  real w[MOST];
  for (int i = 0; i < n; i++) w[i] = t->w[i];
  const parts e = take_apart(t, w);
  const real D = fmaxl(e.start, e.data);
  real rel = e.worst / fmaxl(fmaxl(e.size, e.data), DBL_MIN), safe = 0;
  if (D > 0) {
    safe = e.worst / D;
    if (16 * DBL_EPSILON * e.size >= D) safe = fmaxl(safe, 1);
    safe = safe < 1 ? safe * safe : safe;
  }
  rel = fmaxl(rel, safe);
  const real B = e.force > 0 ? e.force : e.plain_moved;
  const real data = e.plain_left > 0 ? e.plain_left / B : 0;
  /* of discs a rounding of the radius is left */
  const real noise = p->cone != NULL && !p->frozen ? 1e-12L : 1e-15L;
  const real sure = D > 0 ? noise * fmaxl(e.size / D, 1) : noise;
  double got_rel, got_data;
  perp_lcp_rate(p, a, t->x, t->w, &got_rel, &got_data);
  const real blur = D > 0 ? fminl(e.blur / D, 1) : 0;
  same(REL, got_rel, rel, 1e-6L + blur, sure); /* D has differences of what is nearly equal */
  real stiff = 0;
  for (int i = 0; i < n; i++) stiff = fmaxl(stiff, (p->unit != NULL ? p->unit[i] : 1) * t->a[i]);
  if (e.plain_left > 0) same(DATA, got_data, data, 1e-6L, noise * e.size * stiff / B);
  same(PLAIN_REL, perp_lcp_rel(p, a, t->x, t->w), got_rel, 1e-15L, 0);
  p->tol = 1e-9;
  same(MERIT, perp_lcp_merit(p, a, t->x, t->w), fmax(got_rel, got_data * (1e-9 / sqrt(1e-9))),
       1e-15L, 0);
  p->tol_data = 1e-7;
  same(MERIT, perp_lcp_merit(p, a, t->x, t->w), fmax(got_rel, 1e-2 * got_data), 1e-15L, 0);
  p->tol = p->tol_data = 0;
  same(RATING, perp_lcp_rating(p, a, t->x, t->w), fmax(got_rel, PERP_USABLE * got_data), 1e-15L, 0);
}

/* the natural map of contacts in De Saxce's form: r - P_K(r - (u + mu |u_T| e_N)) */
static void de_saxce(real mu, const real *r, const real *u, real *F)
{
  real x[3], P[3];
  for (int k = 0; k < 3; k++) x[k] = r[k] - u[k] - (k == 0 ? mu * hypotl(u[1], u[2]) : 0);
  const real t = hypotl(x[1], x[2]);
  for (int k = 0; k < 3; k++) P[k] = x[k];
  if (mu * t <= -x[0])
    for (int k = 0; k < 3; k++) P[k] = 0;
  else if (t > mu * x[0]) {
    P[0] = (x[0] + mu * t) / (1 + mu * mu);
    for (int k = 1; k < 3; k++) P[k] = mu * P[0] * x[k] / t;
  }
  for (int k = 0; k < 3; k++) F[k] = r[k] - P[k];
}

static void check_judge(trial *t, double *scratch, perp_lcp_judgement *j)
{
  perp_lcp *p = &t->r.p;
  const int n = p->n;
  double w[MOST];
  real F[MOST], largest = 0;
  const parts e = take_apart(t, t->exact);
  perp_lcp_judge(p, t->x, w, scratch, j);
  for (int i = 0; i < n; i++) same(JUDGED_W, w[i], t->exact[i], 1e-15L, 2e-17L * t->c[i]);
  const real D = fmaxl(e.start, e.data), noise = 1e-17L * fmaxl(e.size, 1) * 1e3L;
  real rel = e.worst / fmaxl(fmaxl(e.size, e.data), DBL_MIN), s, b;
  if (D > 0) {
    s = e.worst / D;
    b = e.beyond / D;
    if (s > 1e-4L) rel = fmaxl(rel, s < 1 ? powl(s, 4) : s);
    rel = fmaxl(rel, b < 1 ? b * b : b);
  }
  const real sure = D > 0 ? fmaxl(noise, noise / D) : noise;
  same(JUDGED_REL, j->rel, rel, 1e-11L + (D > 0 ? fminl(e.blur / D, 1) : 0), sure);
  const real B = e.force > 0 ? e.force : e.moved;
  if (e.left > 0 && e.beyond > 1e-12L * (e.size + D))
    same(JUDGED_DATA, j->data, B > 0 ? e.left / B : (real)HUGE_VAL, 1e-9L, 1e-17L);
  if (e.worst == 0) same(JUDGED_DATA, j->data, 0, 0, 0);
  for (int i = 0; i < n; i++) {
    double lo, hi;
    perp_lcp_bounds(p, t->x, i, &lo, &hi);
    F[i] = clip(t->exact[i], (real)t->x[i] - hi, (real)t->x[i] - lo);
    largest = fmaxl(largest, fmaxl(t->c[i] + fabs(t->b[i]), fabs(t->x[i])));
  }
  for (int i = 0; i < n; i++) {
    if (!perp_lcp_is_cone(p, i)) continue;
    const int k = p->fric_of[i];
    const real r[3] = { t->x[k], t->x[i], t->x[i + 1] };
    const real u[3] = { t->exact[k], t->exact[i], t->exact[i + 1] };
    real G[3];
    de_saxce(p->mu[i], r, u, G);
    F[k] = G[0];
    F[i] = G[1];
    F[i + 1] = G[2];
  }
  real abs = 0, component = 0, f = 0, q = 0, l = 0, moved = 0;
  bool doubtful = false; /* a row of the size of rounding over a tiny |A||x| + |b| */
  for (int i = 0; i < n; i++) {
    const real size = t->c[i] + fabs(t->b[i]);
    abs = fmaxl(abs, fabsl(F[i]));
    if (size > 0) component = fmaxl(component, fabsl(F[i]) / size);
    doubtful |= size > 0 && size < 1e-6L * largest;
    f += F[i] * F[i];
    q += (real)t->b[i] * t->b[i];
    l += (real)t->x[i] * t->x[i];
    moved += (t->exact[i] - t->b[i]) * (t->exact[i] - t->b[i]);
  }
  f = sqrtl(f);
  q = sqrtl(q);
  const real most = fmaxl(fmaxl(q, sqrtl(l)), sqrtl(moved)), off = 1e-16L * largest;
  same(ABS, j->abs, abs, 1e-11L, off);
  if (!doubtful) same(COMPONENTWISE, j->componentwise, component, 1e-9L, 1e-9L);
  if (most > 0) same(SICONOS, j->siconos, f / most, 1e-10L, off / most);
  same(FCLIB, j->fclib, f / (1 + q), 1e-10L, off);
  if (q > 0 || f == 0) same(ABH, j->abh, f > 0 ? f / q : 0, 1e-10L, q > 0 ? off / q : 0);
  if (q == 0 && f > 1e-250L) same(ABH, j->abh, (double)(f / (real)DBL_MIN), 1e-10L, 0);
  double worst = 0, size = DBL_MIN;
  for (int i = 0; p->frozen && i < n; i++) {
    if (p->fric_of[i] < 0) continue;
    const double limit = p->mu[i] * fmax(t->x[p->fric_of[i]], 0);
    worst = fmax(worst, fabs(t->hi[i] - limit));
    size = fmax(size, fmax(t->hi[i], limit));
  }
  same(COUPLING, j->coupling, worst / size, 1e-14L, 0);
}

/* What is decided from a w with rounding is what the exact figures say. */
static void check_decisions(trial *t, const double *a, const perp_lcp_judgement *j, double *scratch)
{
  static const double by[] = { 0.5, 0.999, 1.001, 2 };
  perp_lcp *p = &t->r.p;
  for (int k = 0; k < 8; k++) {
    const double of = p->brief ? j->rel : j->own;
    double tol = k < 4 ? of * by[k] : pow(10, -4 - one_of(9)), rel, data;
    if (one_of(3) == 0) tol = 10 * of;
    if (!(tol > 1e-300 && tol < 1)) tol = 1e-10;
    p->tol_data = one_of(3) == 0 ? 0 : one_of(2) && j->data > 0 ? j->data * by[one_of(4)] : 1e-6;
    if (!(p->tol_data < HUGE_VAL)) p->tol_data = 1e-6;
    const perp_reason want = perp_lcp_verdict(p, tol, j);
    const perp_reason got = perp_lcp_decide(p, tol, a, t->x, t->w, scratch, &rel, &data);
    if (want != PERP_UNDECIDED) same(DECIDED, (double)got, (real)want, 0, 0);
    const double limit = perp_lcp_data_limit(p, tol);
    if (!p->brief) {
      const perp_lcp_judgement on = { .own = tol };
      same(DECIDED, (double)perp_lcp_verdict(p, tol, &on), (real)PERP_UNDECIDED, 0, 0);
      p->tol_data = 0;
      continue;
    }
    /* what is told with the decision is on the same side */
    if (got == PERP_CONVERGED) same(DECIDED_REL, rel <= tol * (1 + 1e-9), 1, 0, 0);
    if (got == PERP_CONVERGED) same(DECIDED_DATA, data <= limit * (1 + 1e-9), 1, 0, 0);
    if (got == PERP_INACCURATE)
      same(DECIDED_REL, rel >= tol * (1 - 1e-9) || data >= limit * (1 - 1e-9), 1, 0, 0);
    const perp_lcp_judgement on = { .rel = tol, .data = limit };
    same(DECIDED, (double)perp_lcp_verdict(p, tol, &on), (real)PERP_UNDECIDED, 0, 0);
    p->tol_data = 0;
  }
}

/* One factored row without cancellation, of the size of its b, that is solved but for the rounding
 * of b: only exact figures tell which tolerances of that size it holds. */
static void check_rounding(void)
{
  enum { MOST_COLUMNS = 3, CASES = 2000 };
  static const double by[] = { 0.5, 0.999, 1.001, 2, 10 };
  int wrong = 0, decided = 0;
  for (int k = 0; k < CASES; k++) {
    const int d = 1 + k % MOST_COLUMNS, zero[1] = { 0 }, one[2] = { 0, 1 }, columns[2] = { 0, d },
              square[2] = { 0, d * d };
    double J[MOST_COLUMNS], W[MOST_COLUMNS * MOST_COLUMNS] = { 0 }, b, x = uniform(0.5, 1), a, w;
    real moved = 0;
    for (int i = 0; i < d; i++) {
      J[i] = uniform(0.5, 1), W[i * (d + 1)] = uniform(0.5, 1);
      moved += (real)J[i] * W[i * (d + 1)] * J[i] * x;
    }
    b = (double)-moved;
    const perp_blocks F = { .nv = d,
                            .m = 1,
                            .nb = 1,
                            .nc = 1,
                            .bptr = columns,
                            .mptr = square,
                            .cptr = one,
                            .jptr = one,
                            .jblk = zero,
                            .joff = columns,
                            .jgrp = zero,
                            .tptr = one,
                            .tsub = zero,
                            .M = W,
                            .Minv = W,
                            .J = J };
    const perp_lcp p = { .n = 1, .F = &F, .b = &b };
    double scratch[PERP_LCP_SCRATCH(1, MOST_COLUMNS)], rel, data;
    perp_lcp_judgement j;
    perp_lcp_scales(&p, &a, scratch);
    perp_lcp_product(&p, &x, &w, scratch);
    perp_lcp_judge(&p, &x, NULL, scratch, &j);
    for (size_t i = 0; i < sizeof by / sizeof *by; i++) {
      const perp_reason want = perp_lcp_verdict(&p, by[i] * j.own, &j);
      if (!(j.own > 0) || want == PERP_UNDECIDED) continue;
      decided++;
      wrong += perp_lcp_decide(&p, by[i] * j.own, &a, &x, &w, scratch, &rel, &data) != want;
    }
  }
  ok(decided > CASES && wrong == 0, "%d decisions at the size of rounding, %d wrong", decided,
     wrong);
}

static void check_gain(const trial *t, const double *a, double *scratch)
{
  const perp_lcp *p = t->p;
  const int n = p->n;
  double none[MOST], w0[MOST];
  const double mass = one_of(2) ? uniform(0, 5) : 0;
  trial at = *t;
  real start[MOST], change = 0, work = 0, excess = 0, speed = DBL_MIN, alone = 0;
  at.x = none;
  for (int i = 0; i < n; i++) {
    const bool friction = p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen;
    none[i] = friction ? 0
                       : (double)clip(0, p->lo != NULL ? p->lo[i] : 0,
                                      p->hi != NULL ? p->hi[i] : HUGE_VAL);
  }
  for (int i = 0; i < n; i++) {
    start[i] = t->b[i];
    for (int j = 0; j < n; j++) start[i] += t->A[i + j * n] * none[j];
  }
  for (int i = 0; i < n; i++) {
    const real step = t->x[i] - none[i], w = t->w[i];
    change = fmaxl(change, fabsl(w - start[i]));
    work += step * (w - start[i]) / 2;
    excess += fmaxl(step * w, 0);
    speed = fmaxl(speed, fabsl(start[i]));
  }
  for (int i = 0; i < n; i++) {
    real s, slack;
    const real r = left_over(&at, i, start, &s, &slack);
    alone += s * r * r / 2;
    i += perp_lcp_is_cone(p, i);
  }
  const real want = fmaxl(
      change / speed,
      sqrtl(fmaxl(fabsl(work), excess) / fmaxl(fmaxl(alone, mass * speed * speed / 2), DBL_MIN)));
  const double got = perp_lcp_gain(p, a, mass, t->x, t->w, none, w0, scratch);
  if (change > 1e-9L * speed && speed > 1e-9L && alone + mass > 1e-12L)
    same(GAIN, got, want, 1e-6L, 1e-9L);
}

static void check_needs(const trial *t)
{
  const perp_lcp *p = t->p;
  unsigned want = 0;
  for (int i = 0; i < p->n; i++) {
    const double lo = p->lo != NULL ? p->lo[i] : 0, hi = p->hi != NULL ? p->hi[i] : HUGE_VAL;
    if (p->fric_of != NULL && p->fric_of[i] >= 0 && !p->frozen) {
      want |= PERP_LCP_FRICTION | (p->cone != NULL && p->cone[i] ? PERP_LCP_CONE : 0);
      continue;
    }
    if (lo == -HUGE_VAL && hi == HUGE_VAL) want |= PERP_LCP_FREE;
    if ((lo == -HUGE_VAL) != (hi == HUGE_VAL) || lo > -HUGE_VAL) {
      if (lo != 0 || hi < HUGE_VAL) want |= PERP_LCP_BOX;
    }
  }
  same(NEEDS, perp_lcp_needs(p), want, 0, 0);
}

/* One number that is not finite makes every figure NaN, and is found in every place. */
static void check_lost(trial *t, const double *a, double *scratch)
{
  static const double bad[] = { (double)NAN, HUGE_VAL, -HUGE_VAL };
  perp_lcp *p = &t->r.p;
  const int n = p->n, row = one_of(n);
  const double lost = bad[one_of(3)];
  double *at[] = { &t->x[row], &t->w[row], &t->b[row] }, rel, data;
  perp_lcp_judgement j;
  static int missed, overlooked, refused;
  for (int k = 0; k < 3; k++) {
    const double kept = *at[k];
    *at[k] = lost;
    /* an infinite w may be on the side where the bound takes over */
    if (k != 1 || isnan(lost)) {
      perp_lcp_rate(p, a, t->x, t->w, &rel, &data);
      missed += !isnan(rel) || !isnan(data) || !isnan(perp_lcp_rel(p, a, t->x, t->w)) ||
                !isnan(perp_lcp_merit(p, a, t->x, t->w)) ||
                !isnan(perp_lcp_rating(p, a, t->x, t->w));
    }
    if (k != 1) {
      perp_lcp_judge(p, t->x, NULL, scratch, &j);
      missed += !isnan(j.rel) || !isnan(j.data) || !isnan(j.abs) || !isnan(j.componentwise) ||
                !isnan(j.siconos) || !isnan(j.fclib) || !isnan(j.abh) || !isnan(j.coupling);
    }
    *at[k] = kept;
  }
  bool finite = false;
  refused += perp_lcp_check(&ctx, p, &finite) != PERP_OK || !finite || !perp_lcp_finite(p);
  double *in = &t->b[row];
  if (p->F == NULL) {
    if (one_of(2)) in = &t->r.A[row + one_of(n) * n];
  } else if (one_of(4)) {
    const perp_blocks *F = p->F;
    const int block = one_of(F->nb);
    double *const where[] = {
      (double *)(uintptr_t)F->J + one_of(F->joff[F->jptr[F->nc]]),
      F->s != NULL ? (double *)(uintptr_t)F->s + row : &t->b[row],
      F->flat != NULL && F->diag[block] ? (double *)(uintptr_t)F->flat + F->bptr[block]
                                        : (double *)(uintptr_t)F->Minv + F->mptr[block] +
                                              one_of(F->mptr[block + 1] - F->mptr[block]),
    };
    in = where[one_of(3)];
  }
  const double kept = *in;
  *in = lost;
  finite = true;
  overlooked += perp_lcp_check(&ctx, p, &finite) != PERP_OK || finite || perp_lcp_finite(p);
  if (p->F == NULL) {
    perp_lcp_survey(p, NULL, NULL, &finite);
    overlooked += finite;
  }
  *in = kept;
  static int calls;
  if (++calls < problems) return;
  ok(missed == 0, "a number that is not finite is in every figure");
  ok(overlooked == 0, "... and is seen by the check of the problem, wherever it is");
  ok(refused == 0, "problems without such a number are not refused");
}

/* A number or an index that makes no sense is refused, with its row. */
static void check_senseless(trial *t)
{
  static int accepted, elsewhere, calls, spoiled;
  perp_lcp *p = &t->r.p, kept = *p;
  const int n = p->n, row = one_of(n), kind = one_of(12);
  const double bad[] = { -1, (double)NAN, HUGE_VAL };
  double mu[MOST], lo[MOST], hi[MOST], unit[MOST];
  int of[MOST], contact[MOST];
  bool is = true;
  p->lo = lo;
  p->hi = hi;
  p->unit = unit;
  p->contact_of = contact;
  for (int i = 0; i < n; i++) {
    lo[i] = t->lo[i];
    hi[i] = t->hi[i];
    unit[i] = t->unit[i];
    contact[i] = i % 2 == 0 ? -1 : n - 1;
    of[i] = kept.fric_of != NULL ? kept.fric_of[i] : -1;
    mu[i] = kept.fric_of != NULL ? kept.mu[i] : 0;
  }
  const bool friction = of[row] >= 0;
  if (kept.fric_of != NULL) p->fric_of = of, p->mu = mu;
  if (kind == 0) lo[row] = 1, hi[row] = 0.5;
  if (kind == 1) lo[row] = (double)NAN;
  if (kind == 2) hi[row] = (double)NAN;
  if (kind == 3) lo[row] = hi[row] = HUGE_VAL;
  if (kind == 4) lo[row] = hi[row] = -HUGE_VAL;
  if (kind == 5) unit[row] = one_of(2) ? 0 : bad[one_of(3)];
  if (kind == 6) contact[row] = one_of(2) ? n : -2;
  if (kind > 6 && p->cone != NULL) is = false; /* which has the first word, or not */
  if (kind == 7 && friction) mu[row] = bad[one_of(3)];
  if (kind == 8 && friction) of[row] = n;
  if (kind == 9 && friction) of[row] = row;
  if (kind == 7 || kind == 8 || kind == 9) is = is && friction;
  if (kind == 10 && kept.fric_of != NULL) of[row] = -2;
  if (kind == 10) is = is && kept.fric_of != NULL;
  if (kind == 11) is = false;
  if (is || kind == 11) {
    bool finite;
    const perp_status status = perp_lcp_check(&ctx, p, &finite);
    char where[32];
    snprintf(where, sizeof where, "row %d:", row);
    accepted += (status == PERP_OK) == is;
    spoiled += is;
    if (is && status != PERP_OK)
      elsewhere += status != PERP_ERR_ARG || strstr(ctx.msg, where) == NULL;
  }
  *p = kept;
  if (++calls < problems) return;
  ok(spoiled > problems / 3 && accepted == 0, "%d problems make no sense: %d are taken for others",
     spoiled, accepted);
  ok(elsewhere == 0, "the row is told: but for %d", elsewhere);
}

int main(int argc, char **argv)
{
  if (argc > 1) problems = atoi(argv[1]);
  static double scratch[PERP_LCP_SCRATCH(MOST, COLUMNS)], a[MOST];
  static trial t;
  perp_ctx_init(&ctx);
  g = perp_rng_create(31);
  for (int k = 0; k < problems; k++) {
    perp_lcp_judgement j;
    make(&t);
    check_scales(&t, a, scratch);
    perp_lcp_product(t.p, t.x, t.w, scratch);
    check_rates(&t, a);
    check_judge(&t, scratch, &j);
    perp_lcp_scales(t.p, a, scratch);
    check_decisions(&t, a, &j, scratch);
    check_gain(&t, a, scratch);
    check_needs(&t);
    check_lost(&t, a, scratch);
    check_senseless(&t);
    random_free(&t.r);
  }
  for (int k = 0; k <= NEEDS; k++)
    ok(apart[k] == 0 && asked[k] >= 100, "%s: %d of %d are not as defined", names[k], apart[k],
       asked[k]);
  check_rounding();
  perp_rng_destroy(g);
  return tap_done();
}
