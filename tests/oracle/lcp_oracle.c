/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge against rational arithmetic, over small problems of every shape: the figures agree, and
 * what is decided is decided rightly. */
#include "tests/oracle/rational.h"
#include "tests/tap.h"
#include "solvers/solvers.h"

#include <string.h>

enum { ROWS = 6, COLUMNS = 12 };
static int problems = 25000; /* or the argument */

static perp_ctx ctx;

/* A method that gives the answer it was told. */
static const double *told;
static perp_status parrot_create(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)c;
  (void)max_n;
  (void)opts;
  *ws = NULL;
  return PERP_OK;
}
static perp_status parrot_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda, double *z,
                                perp_stats *stats)
{
  (void)c;
  (void)ws;
  for (int i = 0; i < p->n; i++) {
    lambda[i] = told[i];
    z[i] = 0;
  }
  stats->reason = PERP_EXACT;
  return PERP_OK;
}
static void parrot_destroy(void *ws)
{
  (void)ws;
}
static const perp_lcp_desc parrot = {
  .d = { .name = "parrot",
         .summary = "says what it was told",
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                 PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED },
  .create = parrot_create,
  .solve = parrot_solve,
  .destroy = parrot_destroy
};

/* ---- problems ---- */

typedef struct problem {
  perp_lcp p;
  double A[ROWS * ROWS], b[ROWS], lo[ROWS], hi[ROWS], mu[ROWS], unit[ROWS], x[ROWS];
  int of[ROWS];
  signed char cone[ROWS];
  perp_blocks F;
  int bptr[3], mptr[3], cptr[ROWS + 1], jptr[ROWS + 1], jblk[2 * ROWS], joff[2 * ROWS + 1],
      jgrp[2 * ROWS], tptr[3], tsub[2 * ROWS];
  double J[3 * ROWS * ROWS], W[2 * 9], s[ROWS];
  bool tame; /* entries within 1e+-8, |lambda| <= 1e6 of the data */
} problem;

/* sizes of numbers */
enum { INTEGERS, UNIFORM, DECADES, DENORMAL, SIZES };

static double number(perp_rng *g, int size)
{
  switch (size) {
  case INTEGERS:
    return perp_rng_int(g, 9) - 4;
  case UNIFORM:
    return perp_rng_uniform(g, -1, 1);
  case DECADES: {
    const double x = perp_rng_uniform(g, -1, 1);
    return x * pow(10, perp_rng_int(g, 15) - 7);
  }
  default:
    return (perp_rng_int(g, 401) - 200) * 0x1p-1060;
  }
}

static void bounds(perp_rng *g, problem *q, int kind)
{
  const int n = q->p.n;
  for (int i = 0; i < n; i++) {
    q->lo[i] = 0;
    q->hi[i] = HUGE_VAL;
    q->of[i] = -1;
    q->mu[i] = 0;
    q->cone[i] = 0;
    q->unit[i] = 1;
    if (perp_rng_int(g, 3) == 0) {
      const int whole = 1 + perp_rng_int(g, 3);
      q->unit[i] = ldexp(whole, perp_rng_int(g, 9) - 4);
    }
    if (kind != 1) continue;
    const int side = perp_rng_int(g, 5);
    if (side == 0 || side == 1) q->lo[i] = -HUGE_VAL;
    if (side == 1 || side == 2) q->hi[i] = perp_rng_int(g, 4) - 1;
    if (side == 2) q->lo[i] = q->hi[i] - perp_rng_int(g, 3);
  }
  if (kind == 1) {
    q->p.lo = q->lo;
    q->p.hi = q->hi;
  }
  for (int i = 0; kind >= 2 && i + 2 < n; i += 3)
    for (int k = 1; k < 3; k++) {
      q->of[i + k] = i;
      q->mu[i + k] = ldexp(perp_rng_int(g, 5), -2);
      if (k == 2) q->mu[i + k] = q->mu[i + 1];
      q->cone[i + 1] = kind == 3;
      q->p.fric_of = q->of;
      q->p.mu = q->mu;
      if (kind == 3) q->p.cone = q->cone;
      q->unit[i + 2] = q->unit[i + 1];
    }
  if (perp_rng_int(g, 2)) q->p.unit = q->unit;
}

static void dense(perp_rng *g, problem *q, int size)
{
  const int n = q->p.n;
  q->p.A = q->A;
  q->p.lda = n;
  for (int i = 0; i < n * n; i++) q->A[i] = perp_rng_int(g, 5) ? number(g, size) : 0;
  const int shape = perp_rng_int(g, 4);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (shape == 0) /* symmetric */
        q->A[i + j * n] = q->A[j + i * n];
  if (shape == 1 && n > 1) /* two rows are one but for the sign */
    for (int j = 0; j < n; j++) q->A[1 + j * n] = -q->A[j * n];
  if (shape == 2 && n >= 4) { /* Stewart and Trinkle: normal, two directions, slack */
    for (int k = 0; k < 4; k++) q->A[3 + k * n] = q->A[k + 3 * n] = 0;
    q->A[3] = 0.5;
    q->A[3 + n] = q->A[3 + 2 * n] = -1;
    q->A[1 + 3 * n] = q->A[2 + 3 * n] = 1;
    for (int j = 0; j < n; j++) q->A[2 + j * n] = j == 3 ? 1 : -q->A[1 + j * n];
  }
}

/* Two bodies of three columns each, groups of one row or of three. */
static void factored(perp_rng *g, problem *q, int size, int rows)
{
  const int n = q->p.n, nc = n / rows;
  perp_blocks *F = &q->F;
  *F = (perp_blocks){ .nv = 6,
                      .m = n,
                      .nb = 2,
                      .nc = nc,
                      .bptr = q->bptr,
                      .mptr = q->mptr,
                      .cptr = q->cptr,
                      .jptr = q->jptr,
                      .jblk = q->jblk,
                      .joff = q->joff,
                      .jgrp = q->jgrp,
                      .tptr = q->tptr,
                      .tsub = q->tsub,
                      .M = q->W,
                      .Minv = q->W,
                      .J = q->J,
                      .s = perp_rng_int(g, 2) ? q->s : NULL };
  for (int b = 0; b < 2; b++) {
    q->bptr[b + 1] = 3 * (b + 1);
    q->mptr[b + 1] = 9 * (b + 1);
    for (int i = 0; i < 9; i++) q->W[9 * b + i] = i % 4 == 0 ? 2 + perp_rng_int(g, 4) : 0;
    if (perp_rng_int(g, 2)) q->W[9 * b + 1] = q->W[9 * b + 3] = 1;
    const double scale = ldexp(1, 10 * (perp_rng_int(g, 5) - 2));
    for (int i = 0; i < 9; i++) q->W[9 * b + i] *= scale;
  }
  int at = 0;
  for (int c = 0; c < nc; c++) {
    const int subs = 1 + perp_rng_int(g, 2), first = perp_rng_int(g, 2);
    q->cptr[c + 1] = rows * (c + 1);
    q->jptr[c + 1] = q->jptr[c] + subs;
    for (int k = 0; k < subs; k++, at++) {
      q->jblk[at] = (first + k) % 2;
      q->joff[at + 1] = q->joff[at] + 3 * rows;
    }
  }
  for (int i = 0; i < q->joff[at]; i++) q->J[i] = number(g, size == DENORMAL ? INTEGERS : size);
  for (int i = 0; i < n; i++) q->s[i] = perp_rng_int(g, 2);
  perp_blocks_transpose(2, nc, q->jptr, q->jblk, q->jgrp, q->tptr, q->tsub);
  q->p.F = F;
}

/* x, and b that makes it a solution or nearly: exact where all numbers are small integers */
static void answer(perp_rng *g, problem *q, int size)
{
  const int n = q->p.n, kind = perp_rng_int(g, 8);
  double w[ROWS], product[ROWS], scratch[2 * COLUMNS];
  const double step = size == DENORMAL ? 0x1p-1060 : 1;
  for (int i = 0; i < n; i++) {
    double lo, hi;
    q->x[i] = number(g, size == DENORMAL ? INTEGERS : size);
    perp_lcp_bounds(&q->p, q->x, i, &lo, &hi); /* row fric_of comes first */
    const int side = perp_rng_int(g, 3);
    w[i] = 0;
    if (side == 0 && lo > -HUGE_VAL) {
      q->x[i] = lo;
      w[i] = fabs(number(g, size));
    } else if (side == 1 && hi < HUGE_VAL) {
      q->x[i] = hi;
      w[i] = -fabs(number(g, size));
    } else
      q->x[i] = fmin(fmax(q->x[i], lo), hi);
    if (q->p.cone != NULL && i > 0 && q->cone[i - 1]) {
      /* on the circle, or near it; w against lambda, or nearly */
      static const double at[4][2] = { { 0.6, 0.8 }, { 1, 0 }, { -0.8, 0.6 }, { 0.28, 0.96 } };
      const double *c = at[perp_rng_int(g, 4)], slip = fabs(number(g, size)), r = hi;
      const bool inside = perp_rng_int(g, 3) == 0;
      for (int k = 0; k < 2; k++) {
        q->x[i - 1 + k] = (inside ? 0.5 : 1) * r * c[k];
        w[i - 1 + k] = inside ? 0 : -slip * c[k];
      }
    }
  }
  for (int i = 0; i < n; i++) q->b[i] = 0;
  perp_lcp_product(&q->p, q->x, product, scratch);
  for (int i = 0; i < n; i++) q->b[i] = w[i] - product[i];
  const int row = perp_rng_int(g, n);
  switch (kind) {
  case 0: /* the solution */
  case 1:
    break;
  case 2: /* off by some units in the last place */
    for (int i = 0; i < n; i++)
      for (int k = perp_rng_int(g, 4); k > 0; k--)
        q->x[i] = nextafter(q->x[i], perp_rng_int(g, 2) ? HUGE_VAL : -HUGE_VAL);
    break;
  case 3: /* off by a share */
    q->x[row] *= 1 + pow(10, -1 - perp_rng_int(g, 13));
    break;
  case 4: /* b off by a share */
    q->b[row] += step * pow(10, -perp_rng_int(g, 14));
    break;
  case 5: /* something else */
    for (int i = 0; i < n; i++) q->b[i] = number(g, size);
    break;
  case 6: /* lambda of up to 1e300 times the data */
    for (int i = 0; i < n; i++) {
      if (perp_rng_int(g, 2)) q->b[i] = number(g, size);
      if (perp_rng_int(g, 3)) q->x[i] = perp_rng_int(g, 2) ? fabs(q->x[i]) : 1;
    }
    {
      const double t = pow(10, perp_rng_int(g, 300));
      for (int i = 0; i < n; i++) q->x[i] = fmax(fmin(q->x[i] * t, 1e306), -1e306);
    }
    break;
  default: /* one entry of it */
    q->x[row] += pow(10, perp_rng_int(g, 40) - 10);
    if (perp_rng_int(g, 2))
      for (int i = 0; i < n; i++) q->b[i] = perp_rng_int(g, 2) ? 0 : number(g, size);
  }
  double most = 0, data = 0;
  for (int i = 0; i < n; i++) {
    most = fmax(most, fabs(q->x[i]));
    data = fmax(data, fabs(q->b[i]));
  }
  q->tame = size != DENORMAL && most <= 1e6 * data;
}

static void make(perp_rng *g, problem *q)
{
  memset(q, 0, sizeof *q);
  const int kind = perp_rng_int(g, 4);
  int size = perp_rng_int(g, 3), n = 1 + perp_rng_int(g, ROWS);
  if (perp_rng_int(g, 12) == 0) size = DENORMAL;
  if (kind >= 2) n = perp_rng_int(g, 3) ? 3 : 6;
  q->p = (perp_lcp){ .n = n, .b = q->b, .brief = perp_rng_int(g, 2) };
  bounds(g, q, kind);
  if (perp_rng_int(g, 4) == 0)
    factored(g, q, size, kind >= 2 ? 3 : 1);
  else
    dense(g, q, size);
  answer(g, q, size);
}

/* ---- comparisons ---- */

/* within 10 %, or both below 1e-14; what is wrong by all of the data is wrong, whatever rounding of
 * a scale makes of it */
static bool agrees(double x, double exact)
{
  if (x >= 0.99 && exact >= 0.99) return true;
  if (x < 1e-14 && exact < 1e-14) return true;
  if (x == exact) return true;
  return fabs(x - exact) <= 0.1 * exact;
}

/* lambda - clamp(lambda - w / a) as it was, which absorbs: must be caught */
static double absorbing(const perp_lcp *p, const double *x)
{
  double worst = 0, size = DBL_MIN;
  for (int i = 0; i < p->n; i++) {
    double w = p->b[i], a = 0, lo, hi;
    for (int j = 0; j < p->n; j++) {
      w += p->A[i + j * p->lda] * x[j];
      a = fmax(a, fabs(p->A[i + j * p->lda]));
    }
    if (a == 0) a = 1;
    perp_lcp_bounds(p, x, i, &lo, &hi);
    worst = fmax(worst, fabs(x[i] - fmin(fmax(x[i] - w / a, lo), hi)));
    size = fmax(size, fmax(fabs(x[i]), fabs(p->b[i]) / a));
  }
  return worst / size;
}

static void show(const char *what, int k, const problem *q, double got, double exact)
{
  printf("# %s: problem %d, n = %d%s%s: %.17g, exactly %.17g\n", what, k, q->p.n,
         q->p.F != NULL ? ", factored" : "", q->p.cone != NULL ? ", cones" : "", got, exact);
}

int main(int argc, char **argv)
{
  if (argc > 1) problems = atoi(argv[1]);
  static const double tols[] = { 1e-8, 1e-10, 1e-12 };
  static const double tols_data[] = { 0, 1e-6 };
  static problem q;
  perp_ctx_init(&ctx);
  perp_spec spec = { &parrot.d, NULL };
  perp_lcp_solver *s;
  if (perp_lcp_create(&ctx, &spec, ROWS, COLUMNS, &s) != PERP_OK) bail("%s", ctx.msg);
  perp_rng *g = perp_rng_create(2026);
  rational_figures exact;
  mpq_inits(exact.rel, exact.data, NULL);
  mpq_t tol, tol_data;
  mpq_inits(tol, tol_data, NULL);
  int apart = 0, data_apart = 0, wrong = 0, undecided = 0, tame = 0, tame_undecided = 0;
  int solved = 0, refused = 0, caught = 0, shown = 0, big = 0, decided = 0;
  for (int k = 0; k < problems; k++) {
    double scratch[PERP_LCP_SCRATCH(ROWS, COLUMNS)], x[ROWS];
    perp_lcp_judgement j;
    make(g, &q);
    if (perp_lcp_check(&ctx, &q.p, NULL) != PERP_OK) bail("%s", ctx.msg);
    rational_judge(&q.p, q.x, &exact);
    const double rel = rational_double(exact.rel);
    const double data = exact.endless ? HUGE_VAL : rational_double(exact.data);
    perp_lcp_judge(&q.p, q.x, NULL, scratch, &j);
    if (!agrees(j.rel, rel) && (apart++, shown++ < 20)) show("rel", k, &q, j.rel, rel);
    if (!agrees(j.data, data) && (data_apart++, shown++ < 20)) show("data", k, &q, j.data, data);
    tame += q.tame;
    big += rel > 1e-14;
    bool doubt = false;
    q.p.brief = true; /* the rule of rel and data; the other one: lcp_exact.c */
    rational_judge(&q.p, q.x, &exact);
    perp_lcp_judge(&q.p, q.x, NULL, scratch, &j);
    for (int t = 0; t < 6; t++) {
      const double accept = tols[t % 3];
      perp_stats stats;
      q.p.tol_data = tols_data[t / 3];
      rational_of(tol, accept);
      rational_of(tol_data, q.p.tol_data);
      if (t < 3) rational_of(tol_data, sqrt(accept));
      const bool right = mpq_cmp(exact.rel, tol) <= 0 && !exact.endless &&
                         mpq_cmp(exact.data, tol_data) <= 0;
      told = q.x;
      for (int i = 0; i < q.p.n; i++) x[i] = 0;
      if (perp_lcp_solve(&ctx, s, &q.p, accept, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      const perp_reason all = perp_lcp_verdict(&q.p, accept, &j);
      decided++;
      if (stats.reason == PERP_UNDECIDED || all == PERP_UNDECIDED) {
        undecided++;
        doubt = true;
      }
      if ((stats.reason != PERP_UNDECIDED && (stats.reason == PERP_CONVERGED) != right) ||
          (all != PERP_UNDECIDED && (all == PERP_CONVERGED) != right)) {
        wrong++;
        if (shown++ < 20)
          show(right ? "wrongly refused" : "wrongly accepted", k, &q, stats.residual, rel);
      }
      solved += right;
      refused += !right;
      if (t < 3 && q.p.A != NULL && q.p.cone == NULL)
        caught += (absorbing(&q.p, q.x) <= accept) != right;
    }
    tame_undecided += doubt && q.tame;
  }
  printf("# %d problems (%d tame, %d with rel > 1e-14), %d verdicts: %d solved, %d not; undecided "
         "%d, in %d tame\n",
         problems, tame, big, decided, solved, refused, undecided, tame_undecided);
  printf("# the formula that absorbs decides %d wrongly\n", caught);
  ok(apart == 0, "rel agrees within 10 %%, or both are below 1e-14, or at least 1");
  ok(data_apart == 0, "data agrees within 10 %%, or both are below 1e-14, or at least 1");
  ok(wrong == 0, "nothing is decided wrongly");
  ok(1000 * tame_undecided <= tame, "undecided: at most 0.1 %% of %d tame problems", tame);
  ok(solved > problems / 2 && refused > problems / 2, "there are many of both kinds");
  ok(caught > 100, "the formula that absorbs would be caught");
  perp_lcp_destroy(s);
  perp_rng_destroy(g);
  mpq_clears(exact.rel, exact.data, tol, tol_data, NULL);
  return tap_done();
}
