/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proofs that there is no solution, over small problems with every kind of row, against linear
 * programs in rational arithmetic that share no line with the library: which problems have a proof,
 * which have a solution, what a vector proves, and how far.  Numbers are small integers, so that
 * nothing is near a decision. */
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"
#include "tests/tap.h"

#include <string.h>

enum { N = 8, ROWS = 6 * N, COLS = 2 * N + 2 * ROWS + 1 };

static perp_rng *g;
static perp_lcp p;
static double A[N * N], b[N], lo[N], hi[N], mu[N];
static int of[N];
static signed char cone[N];
static double scratch[PERP_LCP_SCRATCH(N, N)];

/* The same matrix as J M^-1 J' + S. */
static perp_blocks F;
static int bptr[2], mptr[2], cptr[N + 1], jptr[N + 1], jblk[N], joff[N + 1], jgrp[N], tptr[2],
    tsub[N];
static double J[N * N], W[N * N], S[N];

static int integer(int least, int most)
{
  return least + perp_rng_int(g, most - least + 1);
}

static bool is_friction(int i)
{
  return p.fric_of != NULL && of[i] >= 0;
}

/* ---- is G x <= h possible? ---- */

typedef struct program {
  int n, m;
  mpq_t G[ROWS][N], h[ROWS];
} program;

static program lp;

static void lp_open(void)
{
  for (int i = 0; i < ROWS; i++) {
    mpq_init(lp.h[i]);
    for (int j = 0; j < N; j++) mpq_init(lp.G[i][j]);
  }
}

static void lp_begin(int n)
{
  lp.n = n;
  lp.m = 0;
}

/* sign (row x + constant) <= 0; row NULL: zeros */
static int lp_row(int sign, const double *row, int step, double constant)
{
  const int i = lp.m++;
  if (i >= ROWS) bail("too many conditions");
  for (int j = 0; j < lp.n; j++) mpq_set_d(lp.G[i][j], row != NULL ? sign * row[j * step] : 0);
  mpq_set_d(lp.h[i], -sign * constant);
  return i;
}

/* sign (x_j + factor x_k - constant) <= 0 */
static void lp_pair(int sign, int j, double factor, int k, double constant)
{
  const int i = lp_row(sign, NULL, 0, -constant);
  mpq_t f;
  mpq_init(f);
  mpq_set_d(f, sign * factor);
  mpq_set_si(lp.G[i][j], sign, 1);
  if (factor != 0) mpq_add(lp.G[i][k], lp.G[i][k], f);
  mpq_clear(f);
}

/* The first phase of the simplex method in a table, by Bland's rule. */
static bool lp_possible(void)
{
  static mpq_t T[ROWS + 1][COLS], f, t;
  static bool ready;
  static int basic[ROWS];
  const int n = lp.n, m = lp.m, cols = 2 * n + m; /* x+, x-, slacks; artificial ones are not kept */
  if (!ready) {
    for (int i = 0; i <= ROWS; i++)
      for (int j = 0; j < COLS; j++) mpq_init(T[i][j]);
    mpq_inits(f, t, NULL);
    ready = true;
  }
  for (int j = 0; j <= cols; j++) mpq_set_ui(T[m][j], 0, 1);
  for (int i = 0; i < m; i++) {
    const bool turned = mpq_sgn(lp.h[i]) < 0;
    for (int j = 0; j <= cols; j++) mpq_set_ui(T[i][j], 0, 1);
    for (int j = 0; j < n; j++) {
      mpq_set(T[i][j], lp.G[i][j]);
      mpq_neg(T[i][n + j], lp.G[i][j]);
    }
    mpq_set_ui(T[i][2 * n + i], 1, 1);
    mpq_set(T[i][cols], lp.h[i]);
    basic[i] = turned ? cols : 2 * n + i;
    if (!turned) continue;
    for (int j = 0; j <= cols; j++) {
      mpq_neg(T[i][j], T[i][j]);
      mpq_add(T[m][j], T[m][j], T[i][j]); /* how much artificial ones are in all */
    }
  }
  for (;;) {
    int c = 0, r = -1;
    while (c < cols && mpq_sgn(T[m][c]) <= 0) c++;
    if (mpq_sgn(T[m][cols]) == 0 || c == cols) break;
    for (int i = 0; i < m; i++) {
      if (mpq_sgn(T[i][c]) <= 0) continue;
      mpq_div(t, T[i][cols], T[i][c]);
      const int order = r < 0 ? -1 : mpq_cmp(t, f);
      if (order < 0 || (order == 0 && basic[i] < basic[r])) {
        r = i;
        mpq_set(f, t);
      }
    }
    if (r < 0) bail("a sum of numbers >= 0 without a bound below");
    mpq_set(f, T[r][c]);
    for (int j = 0; j <= cols; j++) mpq_div(T[r][j], T[r][j], f);
    for (int i = 0; i <= m; i++) {
      if (i == r || mpq_sgn(T[i][c]) == 0) continue;
      mpq_set(f, T[i][c]);
      for (int j = 0; j <= cols; j++) {
        mpq_mul(t, f, T[r][j]);
        mpq_sub(T[i][j], T[i][j], t);
      }
    }
    basic[r] = c;
  }
  return mpq_sgn(T[m][cols]) == 0;
}

/* Are the linear conditions that proofs use possible together? */
static bool relaxed(void)
{
  lp_begin(p.n);
  for (int i = 0; i < p.n; i++) {
    if (is_friction(i)) {
      const int k = of[i];
      if (mu[i] == 0 || lo[k] >= 0) {
        lp_pair(1, i, -mu[i], k, 0);
        lp_pair(-1, i, mu[i], k, 0);
      } else if (hi[k] < HUGE_VAL) {
        lp_pair(1, i, 0, i, mu[i] * fmax(hi[k], 0));
        lp_pair(-1, i, 0, i, -mu[i] * fmax(hi[k], 0));
      }
      continue;
    }
    if (lo[i] > -HUGE_VAL) lp_pair(-1, i, 0, i, lo[i]);
    if (hi[i] < HUGE_VAL) lp_pair(1, i, 0, i, hi[i]);
    if (hi[i] == HUGE_VAL) lp_row(-1, A + i, p.n, b[i]);
    if (lo[i] == -HUGE_VAL) lp_row(1, A + i, p.n, b[i]);
  }
  return lp_possible();
}

/* Is there a solution?  Every index set; friction rows have |lambda_t| <= mu max(lambda_n, 0). */
static bool solvable(void)
{
  int sets = 1;
  for (int i = 0; i < p.n; i++) sets *= 3;
  for (int set = 0; set < 2 * sets; set++) {
    bool empty = false;
    const bool lifted = set < sets; /* all normals >= 0, or <= 0 */
    int code = set % sets;
    lp_begin(p.n);
    for (int i = 0; i < p.n; i++, code /= 3) {
      const int side = code % 3 - 1, k = is_friction(i) ? of[i] : i;
      const double m = is_friction(i) && lifted ? mu[i] : 0;
      if (is_friction(i)) {
        lp_pair(lifted ? -1 : 1, k, 0, k, 0);
        lp_pair(1, i, -m, k, 0);
        lp_pair(-1, i, m, k, 0);
        if (side < 0) lp_pair(1, i, m, k, 0);
        if (side > 0) lp_pair(-1, i, -m, k, 0);
      } else {
        if ((side < 0 && lo[i] == -HUGE_VAL) || (side > 0 && hi[i] == HUGE_VAL)) {
          empty = true;
          break;
        }
        if (lo[i] > -HUGE_VAL) lp_pair(-1, i, 0, i, lo[i]);
        if (hi[i] < HUGE_VAL) lp_pair(1, i, 0, i, hi[i]);
        if (side < 0) lp_pair(1, i, 0, i, lo[i]);
        if (side > 0) lp_pair(-1, i, 0, i, hi[i]);
      }
      if (side <= 0) lp_row(-1, A + i, p.n, b[i]);
      if (side >= 0) lp_row(1, A + i, p.n, b[i]);
    }
    if (!empty && lp_possible()) return true;
  }
  return false;
}

/* ---- problems ---- */

static void clear(int n)
{
  for (int i = 0; i < n; i++) {
    b[i] = lo[i] = mu[i] = 0;
    hi[i] = HUGE_VAL;
    of[i] = -1;
    cone[i] = 0;
  }
  p = (perp_lcp){ .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
}

/* free rows only where they are asked for: they hide everything else */
static void bounds(bool free_rows, bool boxes)
{
  for (int i = 0; i < p.n; i++) {
    const int kind = integer(0, 7);
    lo[i] = kind == 7 ? integer(-2, 2) : 0;
    hi[i] = HUGE_VAL;
    if (kind == 0 || (kind == 1 && free_rows)) lo[i] = -HUGE_VAL;
    if (kind == 0) hi[i] = integer(-2, 2);
    if (!boxes) continue;
    if (kind == 2) lo[i] = hi[i] = integer(-2, 2);
    if (kind == 3) lo[i] = integer(-2, 1), hi[i] = lo[i] + integer(1, 3);
  }
}

/* Friction on some rows, of one normal each or of two. */
static void friction(void)
{
  if (p.n < 2 || integer(0, 1)) return;
  for (int i = 1; i < p.n; i++) {
    if (integer(0, 1) && i > 1) continue;
    of[i] = integer(0, 2) && i > 2 && of[1] < 0 ? 1 : 0;
    if (of[i] == i) of[i] = 0;
    mu[i] = integer(0, 4) / 4.0;
  }
  for (int i = 1; i < p.n; i++)
    if (of[i] == 1 && of[1] >= 0) of[i] = 0;
  p.fric_of = of;
  p.mu = mu;
}

static void matrix(void)
{
  const int n = p.n, kind = integer(0, 3);
  memset(A, 0, sizeof A);
  if (kind == 0) { /* of low rank, symmetric */
    for (int k = 0; k < (n + 1) / 2; k++) {
      int v[N];
      for (int i = 0; i < n; i++) v[i] = integer(-2, 2);
      for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) A[i + j * n] += v[i] * v[j];
    }
  } else
    for (int i = 0; i < n * n; i++) A[i] = integer(0, 2) ? integer(-3, kind) : 0;
  for (int i = 0; i < n; i++) b[i] = integer(-4, 2);
}

/* Other units of rows and, without friction, of columns: the same answers from fractions. */
static void units(void)
{
  for (int i = 0; i < p.n; i++) {
    const double r = ldexp(1, integer(-9, 9)), c = p.fric_of != NULL ? 1 : ldexp(1, integer(-9, 9));
    b[i] *= r;
    lo[i] /= c;
    hi[i] /= c;
    for (int j = 0; j < p.n; j++) {
      A[i + j * p.n] *= r;
      A[j + i * p.n] *= c;
    }
  }
}

/* A = J W J' + S of small integers, both ways; p is dense. */
static void factors(int rank)
{
  const int n = p.n;
  bptr[1] = rank;
  mptr[1] = rank * rank;
  for (int i = 0; i < n; i++) {
    cptr[i + 1] = jptr[i + 1] = i + 1;
    joff[i + 1] = rank * (i + 1);
    S[i] = 0;
    for (int k = 0; k < rank; k++) J[i * rank + k] = integer(-2, 2);
  }
  for (int i = 0; i < rank; i++)
    for (int j = 0; j <= i; j++)
      W[i + j * rank] = W[j + i * rank] = i == j ? integer(2, 4) : integer(0, 1);
  perp_blocks_transpose(1, n, jptr, jblk, jgrp, tptr, tsub);
  F = (perp_blocks){ .nv = rank,
                     .m = n,
                     .nb = 1,
                     .nc = n,
                     .bptr = bptr,
                     .mptr = mptr,
                     .cptr = cptr,
                     .jptr = jptr,
                     .jblk = jblk,
                     .joff = joff,
                     .jgrp = jgrp,
                     .tptr = tptr,
                     .tsub = tsub,
                     .M = W,
                     .Minv = W,
                     .J = J,
                     .s = S };
}

static void multiply_out(void)
{
  const int n = p.n, rank = F.nv;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) {
      double sum = i == j ? S[i] : 0;
      for (int k = 0; k < rank; k++)
        for (int l = 0; l < rank; l++) sum += J[i * rank + k] * W[k + l * rank] * J[j * rank + l];
      A[i + j * n] = sum;
    }
}

static perp_lcp as_factored(void)
{
  perp_lcp q = p;
  q.A = NULL;
  q.F = &F;
  return q;
}

/* ---- what a vector proves, exactly ---- */

static void add_product(mpq_t sum, double x, const mpq_t y)
{
  mpq_t t;
  mpq_init(t);
  mpq_set_d(t, x);
  mpq_mul(t, t, y);
  mpq_add(sum, sum, t);
  mpq_clear(t);
}

/* Is z a proof?  For normals with friction and lo < 0 with constant limits, as relaxed() has them.
 */
static bool farkas(const double *z)
{
  mpq_t u[N], top, t;
  bool good = true;
  const int n = p.n;
  mpq_inits(top, t, NULL);
  for (int j = 0; j < n; j++) {
    mpq_init(u[j]);
    for (int i = 0; i < n; i++) {
      mpq_set_d(t, z[i]);
      add_product(u[j], A[i + j * n], t);
    }
  }
  for (int i = 0; i < n; i++) {
    mpq_set_d(t, z[i]);
    add_product(top, b[i], t);
    if (!is_friction(i)) continue;
    good = good && z[i] == 0;
    mpq_abs(t, u[i]);
    const int k = of[i];
    if (p.cone != NULL && cone[i]) { /* mu |u_T| <= -u_n, which stands on both rows */
      mpq_t s;
      mpq_init(s);
      mpq_mul(t, u[i], u[i]);
      mpq_mul(s, u[i + 1], u[i + 1]);
      mpq_add(t, t, s);
      mpq_set_d(s, mu[i]);
      mpq_mul(t, t, s);
      mpq_mul(t, t, s);
      mpq_mul(s, u[k], u[k]);
      good = good && mpq_sgn(u[k]) <= 0 && mpq_cmp(t, s) <= 0;
      mpq_clear(s);
    } else if (p.cone != NULL) {
      continue;
    } else if (lo[k] >= 0)
      add_product(u[k], mu[i], t);
    else if (hi[k] < HUGE_VAL)
      add_product(top, mu[i] * fmax(hi[k], 0), t);
    else
      good = good && (mu[i] == 0 || mpq_sgn(t) == 0);
  }
  for (int i = 0; i < n; i++) {
    if (is_friction(i)) continue;
    good = good && (z[i] <= 0 || hi[i] == HUGE_VAL) && (z[i] >= 0 || lo[i] == -HUGE_VAL);
    const double end = mpq_sgn(u[i]) > 0 ? hi[i] : lo[i];
    if (mpq_sgn(u[i]) == 0) continue;
    good = good && fabs(end) < HUGE_VAL;
    if (fabs(end) < HUGE_VAL) add_product(top, end, u[i]);
  }
  good = good && mpq_sgn(top) < 0;
  for (int j = 0; j < n; j++) mpq_clear(u[j]);
  mpq_clears(top, t, NULL);
  return good;
}

static perp_lcp_proof prove(const perp_lcp *q, const double *z, double *radius)
{
  return perp_lcp_prove(q, z, radius, scratch);
}

/* ---- the tests ---- */

/* Proofs are found exactly where there are some. */
static void check_all(int problems)
{
  int none = 0, missed = 0, false_ones = 0, no_vector = 0, unproved = 0, near_missed = 0, near = 0;
  int wrong_signs = 0, found = 0, found_wrong = 0, factored = 0, strict = 0, strict_wrong = 0;
  for (int k = 0; k < problems; k++) {
    double z[N] = { 0 }, exact[N], x[N], radius = 0;
    const bool by_factors = integer(0, 3) == 0;
    clear(integer(1, by_factors ? 4 : 5));
    bounds(integer(0, 1), integer(0, 1));
    friction();
    matrix();
    if (by_factors) {
      factors(integer(1, p.n));
      multiply_out();
    } else if (integer(0, 1))
      units();
    const perp_lcp q = by_factors ? as_factored() : p;
    const bool possible = relaxed();
    if (integer(0, 1))
      for (int i = 0; i < p.n; i++) z[i] = integer(-9, 9) / 4.0;
    const bool said = perp_lcp_sharpen(&q, z, exact, scratch) == PERP_PROOF_INFEASIBLE;
    false_ones += said && possible;
    missed += !said && !possible;
    for (int i = 0; i < p.n; i++) x[i] = integer(-2, 2);
    false_ones += possible && prove(&q, x, NULL) == PERP_PROOF_INFEASIBLE;
    if (possible || !said) continue;
    none++;
    factored += by_factors;
    no_vector += !farkas(exact);
    unproved += prove(&q, exact, &radius) != PERP_PROOF_INFEASIBLE || radius != HUGE_VAL;
    /* near it; and entries that say nothing */
    for (int i = 0; i < p.n; i++) {
      z[i] = exact[i] * (1 + 1e-10 * integer(-9, 9));
      x[i] = exact[i];
      if (is_friction(i) || (lo[i] > -HUGE_VAL && hi[i] < HUGE_VAL))
        x[i] = integer(-3, 3);
      else if (exact[i] == 0 && (lo[i] > -HUGE_VAL || hi[i] < HUGE_VAL))
        x[i] = hi[i] == HUGE_VAL ? integer(-3, 0) : integer(0, 3);
    }
    near++;
    near_missed += prove(&q, z, NULL) != PERP_PROOF_INFEASIBLE;
    wrong_signs += prove(&q, x, &radius) != PERP_PROOF_INFEASIBLE || radius != HUGE_VAL;
    if (perp_lcp_search(&q, z)) {
      found++;
      found_wrong += !farkas(z);
    }
    if (perp_lcp_strict(&q, exact, z)) {
      strict++;
      strict_wrong += !farkas(z);
    }
  }
  ok(none >= problems / 5 && factored > 20, "%d of %d problems have a proof, %d factored", none,
     problems, factored);
  ok(false_ones == 0, "nothing is proved where the linear conditions are possible: %d", false_ones);
  ok(missed == 0, "whatever has a proof is proved: all but %d", missed);
  ok(no_vector == 0, "the vector is one, exactly: all but %d", no_vector);
  ok(unproved == 0, "... and proves by itself: all but %d", unproved);
  ok(wrong_signs == 0, "... also with entries whose sign says nothing: all but %d", wrong_signs);
  ok(near_missed == 0, "what is near it proves as well: all but %d of %d", near_missed, near);
  ok(found >= none / 8 && found_wrong == 0, "%d are found in doubles, %d wrongly", found,
     found_wrong);
  ok(strict >= none / 4 && strict_wrong == 0, "%d have room to spare, %d wrongly", strict,
     strict_wrong);
}

/* Exhaustive: is there a solution? */
static void check_exclude(int problems)
{
  int wrong = 0, none = 0, refused = 0, apart = 0;
  for (int k = 0; k < problems; k++) {
    double x[N];
    clear(integer(1, 3));
    bounds(true, true);
    friction();
    matrix();
    if (integer(0, 1)) units();
    const bool any = solvable();
    bool below_zero = false;
    for (int i = 0; i < p.n; i++) below_zero |= is_friction(i) && lo[of[i]] < 0;
    const enum perp_exact_answer said = perp_exact_exclude(&p, 1000000000, NULL, x);
    none += !any;
    if (below_zero) {
      refused += said == PERP_EXACT_SPENT;
      continue;
    }
    wrong += said != (any ? PERP_EXACT_POSSIBLE : PERP_EXACT_IMPOSSIBLE);
    if (said != PERP_EXACT_POSSIBLE) continue;
    for (int i = 0; i < p.n; i++) {
      double l, h, w = b[i];
      for (int j = 0; j < p.n; j++) w += A[i + j * p.n] * x[j];
      perp_lcp_bounds(&p, x, i, &l, &h);
      apart += !(fabs(fmax(fmin(w, x[i] - l), x[i] - h)) < 1e-12);
    }
  }
  ok(none > problems / 10, "%d of %d problems have no solution", none, problems);
  ok(wrong == 0, "all bases excluded: exactly where there is none, but for %d", wrong);
  ok(apart == 0, "... and where there is a solution, it is one: but for %d rows", apart);
  ok(refused > 0, "normals below zero are not looked at");
}

/* A = G G' + e e_j e_j', G'z = 0: solvable as long as e > 0, but z excludes solutions within -b'z /
 * (e z_j). */
static void check_radius(int problems)
{
  int apart = 0, within = 0, other = 0, wrong = 0, glances = 0;
  for (int k = 0; k < problems; k++) {
    double z[N], radius, gap = 0, shift = 0, data = 0, largest = 0, sign[N];
    const int n = integer(2, 5), j = integer(0, n - 1), free_row = integer(0, 4);
    clear(n);
    factors(n);
    for (int i = 0; i < n; i++) {
      z[i] = i == 0 ? 1 : integer(1, 3);
      sign[i] = integer(0, 2) ? 1 : -1;
      if (sign[i] < 0 && i != free_row) hi[i] = integer(-1, 1);
      if (sign[i] > 0 && i != free_row) lo[i] = integer(-1, 1);
      if (sign[i] < 0 || i == free_row) lo[i] = -HUGE_VAL;
      z[i] *= sign[i];
    }
    for (int c = 0; c < n; c++) { /* columns of J at right angles to z */
      double sum = 0;
      for (int i = 1; i < n; i++) sum += z[i] * J[i * n + c];
      J[c] = -sum / z[0];
    }
    const double e = ldexp(1, -integer(4, 38));
    S[j] = e;
    multiply_out();
    for (int i = 1; i < n; i++) {
      b[i] = integer(-3, 3);
      gap -= b[i] * z[i];
    }
    const int want = integer(1, 9);
    b[0] = (gap - want) / z[0];
    gap = want;
    const double bound = lo[j] > -HUGE_VAL ? lo[j] : hi[j] < HUGE_VAL ? hi[j] : 0;
    gap -= e * z[j] * bound;
    shift = fabs(bound);
    for (int i = 0; i < n * n; i++) largest = fmax(largest, fabs(A[i]));
    for (int i = 0; i < n; i++) {
      double most = 0;
      for (int c = 0; c < n; c++) most = fmax(most, fabs(A[i + c * n]));
      data = fmax(data, fabs(b[i]) / (most > 0 ? most : largest));
      if (lo[i] > -HUGE_VAL) data = fmax(data, lo[i]);
      if (hi[i] < HUGE_VAL) data = fmax(data, -hi[i]);
    }
    const double exact = gap / (e * fabs(z[j])) - shift; /* before units change */
    const perp_lcp q = integer(0, 1) ? as_factored() : p;
    for (int i = 0; i < n && q.F == NULL; i++) { /* other units of rows, fractions in z */
      const double r = ldexp(1, integer(-5, 5));
      for (int c = 0; c < n; c++) A[i + c * n] *= r;
      b[i] *= r;
      z[i] /= r;
    }
    if (!relaxed()) continue; /* another null vector of A */
    const perp_lcp_proof said = prove(&q, z, &radius);
    wrong += said == PERP_PROOF_INFEASIBLE;
    /* where the square of e is lost in A, or at the limit, it may be either */
    if (exact > 1.01e8 * data) {
      within++;
      other += said != PERP_PROOF_WITHIN;
      apart += !(fabs(radius - exact) <= 1e-14 * exact + 1e-15 / e) || radius > exact;
      glances += perp_lcp_glance(&q, z, scratch) != PERP_PROOF_WITHIN && e > 1e-9;
    } else if (exact < 0.99e8 * data) {
      other += said == PERP_PROOF_WITHIN || radius != 0;
      glances += perp_lcp_glance(&q, z, scratch) == PERP_PROOF_WITHIN;
    }
  }
  ok(wrong == 0, "a problem with a solution far away is not proved impossible: but for %d", wrong);
  ok(within > problems / 10 && other == 0, "%d proofs within a radius; %d otherwise", within,
     other);
  ok(apart == 0, "the radius is as computed by hand: but for %d", apart);
  ok(glances == 0, "a glance tells the same: but for %d", glances);
}

/* Rays of Lemke's path, from the definition. */
static void check_rays(int problems)
{
  int rays = 0, wrong = 0, glances = 0;
  for (int k = 0; k < problems; k++) {
    double z[N], y[N] = { 0 }, theta = 0, size = 0, radius;
    clear(integer(1, 3));
    p.lo = p.hi = NULL;
    matrix();
    for (int i = 0; i < p.n; i++) size += z[i] = integer(0, 2) ? integer(0, 2) : 0;
    for (int i = 0; i < p.n; i++) {
      b[i] = integer(0, 3); /* lambda = 0 is a solution: nothing but a ray */
      for (int j = 0; j < p.n; j++) y[i] += A[i + j * p.n] * z[j];
      theta = fmax(theta, -y[i]);
    }
    bool ray = size > 0;
    for (int i = 0; i < p.n; i++) ray = ray && (z[i] == 0 || y[i] + theta == 0);
    rays += ray;
    wrong += prove(&p, z, &radius) != (ray ? PERP_PROOF_RAY : PERP_PROOF_NONE) || radius != 0;
    glances += perp_lcp_glance(&p, z, scratch) != (ray ? PERP_PROOF_RAY : PERP_PROOF_NONE);
    lo[0] = -1;
    p.lo = lo;
    wrong += prove(&p, z, &radius) != PERP_PROOF_NONE;
  }
  ok(rays > problems / 10 && wrong == 0, "%d rays; %d are told otherwise", rays, wrong);
  ok(glances == 0, "... by a glance, too: but for %d", glances);
}

/* Problems with a vector that has room to spare, rows of one bound and fixed ones, friction of both
 * kinds: it is found from nothing. */
static void check_search(int problems)
{
  int missed = 0, wrong = 0, tight_missed = 0, tight_wrong = 0, unproved = 0, few = 0, unmoved = 0;
  for (int k = 0; k < problems; k++) {
    double z[N] = { 0 }, found[N];
    const int kind = integer(0, 3), n = kind == 0 ? integer(1, 8) : kind == 3 ? 8 : 6;
    const bool tight = integer(0, 2) == 0;
    clear(n);
    for (int i = 0; i < n; i++) {
      if (kind > 0 && i % 3 != 0) continue;
      z[i] = integer(1, 3);
      const int what = kind == 0 && i > 0 ? integer(0, 3) : 0;
      if (what == 1) lo[i] = -HUGE_VAL, hi[i] = 0, z[i] = -z[i];
      if (what == 2) lo[i] = hi[i] = 0, z[i] = 0;
    }
    if (kind > 0) {
      p.fric_of = of;
      p.mu = mu;
      for (int i = 0; i < n; i++) {
        if (i % 3 == 0) continue;
        of[i] = i - i % 3;
        mu[i] = i % 3 == 2 ? mu[i - 1] : integer(1, 4) / 4.0;
        cone[i] = kind >= 2 && i % 3 == 1 && i + 1 < n;
      }
      if (kind >= 2) p.cone = cone;
      if (kind == 3) z[6] = 0, of[6] = 0, of[7] = 0, mu[7] = mu[6] = 0.5, cone[6] = 1, cone[7] = 0;
      if (kind == 3) cone[1] = 0, of[1] = of[2] = -1, mu[1] = mu[2] = 0, z[1] = z[2] = 1;
    }
    /* row 0, z_0 > 0, makes u what is wanted */
    z[0] = 1;
    for (int i = 0; i < n; i++) b[i] = integer(-2, 2);
    for (int i = 0; i < n * n; i++) A[i] = integer(-3, 3);
    double u[N], top = 0;
    int zeros = 0, rows = 0; /* columns that must be moved, rows to do it with */
    for (int j = 0; j < n; j++) {
      u[j] = 0;
      for (int i = 1; i < n; i++) u[j] += z[i] * A[i + j * n];
    }
    for (int i = 1; i < n; i++) top += z[i] * b[i];
    b[0] = -top - integer(1, 3);
    for (int j = 0; j < n; j++) {
      if (is_friction(j)) {
        A[j * n] = integer(-2, 2);
        u[j] += A[j * n];
      }
    }
    for (int j = 0; j < n; j++) {
      if (is_friction(j)) continue;
      double push = tight ? integer(0, 3) : 1;
      zeros += push == 0;
      rows += z[j] != 0;
      for (int t = 0; t < n; t++)
        if (is_friction(t) && of[t] == j) push += mu[t] * fabs(u[t]);
      A[j * n] = hi[j] < HUGE_VAL && lo[j] < hi[j] ? push - u[j] : -push - u[j];
      if (lo[j] == hi[j]) A[j * n] = integer(-3, 3);
    }
    if (!farkas(z)) bail("the vector is none");
    unproved += prove(&p, z, NULL) != PERP_PROOF_INFEASIBLE;
    const bool is = perp_lcp_search(&p, found);
    if (!tight) missed += !is || !farkas(found);
    wrong += is && !farkas(found);
    const bool strict = perp_lcp_strict(&p, z, found);
    if (!tight) tight_missed += !strict;
    tight_wrong += strict && !farkas(found);
    if (zeros > 0 && 2 * zeros <= rows && kind == 0) few++, unmoved += !strict;
    if (!strict) continue;
    for (int i = 0; i < n; i++) found[i] = z[i] * (1 + 1e-9 * integer(-5, 5));
    unproved += prove(&p, found, NULL) != PERP_PROOF_INFEASIBLE;
  }
  ok(missed == 0, "a vector with room to spare is found: all but %d", missed);
  ok(wrong == 0, "... and is one, exactly: all but %d", wrong);
  ok(tight_missed == 0, "a vector with room stays one: all but %d", tight_missed);
  ok(tight_wrong == 0, "... and another one is moved to one: all but %d", tight_wrong);
  ok(few > 30 && unmoved * 20 <= few, "few columns without room, many rows: moved but for %d of %d",
     unmoved, few);
  ok(unproved == 0, "all of them are proofs: all but %d", unproved);
}

/* A is positive definite: there is a solution whatever the bounds, b and z are. */
static void check_definite(int problems)
{
  int wrong = 0;
  for (int k = 0; k < problems; k++) {
    double z[N], radius;
    clear(integer(1, 3));
    for (int i = 0; i < p.n; i++) {
      for (int j = 0; j <= i; j++) A[i + j * p.n] = A[j + i * p.n] = i == j ? 5 : integer(-1, 1);
      b[i] = integer(-3, 3);
      z[i] = integer(-2, 2);
      lo[i] = integer(-2, 2);
      if (integer(0, 1)) hi[i] = lo[i] + integer(0, 3);
    }
    wrong += perp_lcp_glance(&p, z, scratch) == PERP_PROOF_WITHIN;
    const perp_lcp_proof said = prove(&p, z, &radius);
    wrong += said == PERP_PROOF_INFEASIBLE || said == PERP_PROOF_WITHIN || radius != 0;
  }
  ok(wrong == 0, "a positive definite A: %d problems are said to have no solution", wrong);
}

/* A solution is planted: no proof says that all are far away, whatever z is. */
static void check_near(int problems)
{
  int wrong = 0;
  for (int k = 0; k < problems; k++) {
    double z[N], lambda[N], size = 0, radius;
    clear(integer(1, 3));
    matrix();
    for (int i = 0; i < p.n; i++) {
      lo[i] = integer(-2, 2);
      if (integer(0, 1)) hi[i] = lo[i] + integer(0, 3);
      lambda[i] = hi[i] < HUGE_VAL && integer(0, 1) ? hi[i] : lo[i] + integer(0, 1);
      lambda[i] = fmin(lambda[i], hi[i]);
      if (integer(0, 3) == 0) lo[i] = -HUGE_VAL, hi[i] = integer(0, 1) ? HUGE_VAL : lambda[i];
      b[i] = (lambda[i] == lo[i] ? integer(0, 2) : 0) - (lambda[i] == hi[i] ? integer(0, 2) : 0);
      z[i] = integer(-2, 2);
      size += fabs(lambda[i]);
    }
    for (int j = 0; j < p.n; j++)
      for (int i = 0; i < p.n; i++) b[i] -= A[i + j * p.n] * lambda[j];
    double data = 0;
    for (int i = 0; i < p.n; i++) data = fmax(data, fabs(b[i]));
    if (data > 0) wrong += perp_lcp_glance(&p, z, scratch) == PERP_PROOF_WITHIN;
    const perp_lcp_proof said = prove(&p, z, &radius);
    wrong += said == PERP_PROOF_INFEASIBLE || (said == PERP_PROOF_WITHIN && radius > size);
  }
  ok(wrong == 0, "a planted solution: %d problems are said to have none near", wrong);
}

int main(void)
{
  g = perp_rng_create(77);
  lp_open();
  check_all(4000);
  check_exclude(1000);
  check_radius(1500);
  check_rays(1500);
  check_definite(500);
  check_near(2000);
  check_search(1500);
  perp_rng_destroy(g);
  return tap_done();
}
