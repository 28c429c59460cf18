/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every own method against exact enumeration: random problems of up to five rows, singular, nearly
 * singular, graded, with tiny and huge rows, columns and bounds.  A problem without a solution is
 * solved by none, one with a solution proved infeasible by none, and what is called solved is right
 * row by row; all of that in rational arithmetic, with no line of the library.
 *
 * Which index sets have a solution: the rows inside give linear equations; where these are
 * singular, what is left of their solutions by the bounds and signs is decided by Fourier and
 * Motzkin's elimination.
 *
 * Arguments: how many problems (default 300), the number of the first (default 0), the only method.
 * The number of a problem is the seed of all its numbers, so that ranges can be run apart, and one
 * problem again. */
#include "tests/oracle/rational.h"
#include "tests/tap.h"
#include "solvers/solvers.h"

#include <string.h>

enum { ROWS = 5, METHODS = 64, MOST_CONDITIONS = 20000 };
#define TOL 1e-10

static perp_ctx ctx;

/* ---- exact ---- */

/* c_0 + sum_j c_j t_j >= 0 */
typedef struct condition {
  mpq_t c[ROWS + 1];
} condition;

typedef struct conditions {
  condition *at;
  int n, room;
} conditions;

static condition *more(conditions *s)
{
  if (s->n == s->room) {
    const int room = s->room > 0 ? 2 * s->room : 64;
    s->at = realloc(s->at, (size_t)room * sizeof *s->at);
    if (s->at == NULL) bail("no memory for %d conditions", room);
    for (int k = s->room; k < room; k++)
      for (int j = 0; j <= ROWS; j++) mpq_init(s->at[k].c[j]);
    s->room = room;
  }
  condition *c = &s->at[s->n++];
  for (int j = 0; j <= ROWS; j++) mpq_set_ui(c->c[j], 0, 1);
  return c;
}

static int given_up; /* eliminations with too many conditions */

/* Is there a t with all of that?  Eliminates the variables 1 ... m. */
static bool possible(conditions *now, conditions *next, int m)
{
  mpq_t s, u;
  mpq_inits(s, u, NULL);
  for (int v = m; v >= 1; v--) {
    next->n = 0;
    for (int i = 0; i < now->n; i++) {
      const int side = mpq_sgn(now->at[i].c[v]);
      if (side == 0) {
        condition *c = more(next);
        for (int j = 0; j <= ROWS; j++) mpq_set(c->c[j], now->at[i].c[j]);
      }
      for (int k = 0; side > 0 && k < now->n; k++) {
        if (mpq_sgn(now->at[k].c[v]) >= 0) continue;
        condition *c = more(next);
        mpq_neg(s, now->at[k].c[v]);
        for (int j = 0; j <= ROWS; j++) {
          mpq_mul(u, now->at[i].c[j], s);
          mpq_mul(c->c[j], now->at[k].c[j], now->at[i].c[v]);
          mpq_add(c->c[j], c->c[j], u);
        }
        mpq_set_ui(c->c[v], 0, 1);
      }
    }
    if (next->n > MOST_CONDITIONS) {
      given_up++;
      break;
    }
    const conditions kept = *now;
    *now = *next;
    *next = kept;
  }
  mpq_clears(s, u, NULL);
  for (int i = 0; i < now->n; i++) {
    bool constant = true;
    for (int j = 1; j <= m; j++) constant = constant && mpq_sgn(now->at[i].c[j]) == 0;
    if (constant && mpq_sgn(now->at[i].c[0]) < 0) return false;
  }
  return true;
}

typedef struct exact {
  int n;
  mpq_t A[ROWS][ROWS], b[ROWS], lo[ROWS], hi[ROWS];
  bool below[ROWS], above[ROWS];              /* is there a bound? */
  mpq_t M[ROWS][ROWS + 1];                    /* equations of the rows inside */
  mpq_t x[ROWS][ROWS + 1], w[ROWS][ROWS + 1]; /* affine in the free parameters */
  conditions now, next;
} exact;

enum { LOWER, INSIDE, UPPER };

static void exact_new(exact *e)
{
  memset(e, 0, sizeof *e);
  for (int i = 0; i < ROWS; i++) {
    mpq_inits(e->b[i], e->lo[i], e->hi[i], NULL);
    for (int j = 0; j <= ROWS; j++) {
      if (j < ROWS) mpq_init(e->A[i][j]);
      mpq_inits(e->M[i][j], e->x[i][j], e->w[i][j], NULL);
    }
  }
}

static void exact_take(exact *e, const perp_lcp *p)
{
  e->n = p->n;
  for (int i = 0; i < p->n; i++) {
    e->below[i] = p->lo[i] > -HUGE_VAL;
    e->above[i] = p->hi[i] < HUGE_VAL;
    rational_of(e->b[i], p->b[i]);
    if (e->below[i]) rational_of(e->lo[i], p->lo[i]);
    if (e->above[i]) rational_of(e->hi[i], p->hi[i]);
    for (int j = 0; j < p->n; j++) rational_of(e->A[i][j], p->A[i + j * p->lda]);
  }
}

/* c_0 ... += s x_0 ... */
static void add(mpq_t *c, const mpq_t s, mpq_t *x)
{
  mpq_t t;
  mpq_init(t);
  for (int j = 0; j <= ROWS; j++) {
    mpq_mul(t, s, x[j]);
    mpq_add(c[j], c[j], t);
  }
  mpq_clear(t);
}

/* Has this index set a solution? */
static bool exact_part(exact *e, const int *end)
{
  const int n = e->n;
  int f[ROWS], m = 0, pivot[ROWS], rank = 0, t = 0;
  mpq_t s;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j <= ROWS; j++) mpq_set_ui(e->x[i][j], 0, 1);
    if (end[i] == LOWER) mpq_set(e->x[i][0], e->lo[i]);
    if (end[i] == UPPER) mpq_set(e->x[i][0], e->hi[i]);
    if (end[i] == INSIDE) f[m++] = i;
  }
  mpq_init(s);
  for (int r = 0; r < m; r++) { /* A_FF x_F = -(b_F + A_FB x_B) */
    mpq_neg(e->M[r][m], e->b[f[r]]);
    for (int j = 0; j < n; j++) {
      if (end[j] == INSIDE) continue;
      mpq_mul(s, e->A[f[r]][j], e->x[j][0]);
      mpq_sub(e->M[r][m], e->M[r][m], s);
    }
    for (int j = 0; j < m; j++) mpq_set(e->M[r][j], e->A[f[r]][f[j]]);
    pivot[r] = -1;
  }
  for (int j = 0; j < m; j++) { /* reduced row echelon form */
    int row = rank;
    while (row < m && mpq_sgn(e->M[row][j]) == 0) row++;
    if (row == m) continue;
    for (int k = 0; k <= m; k++) mpq_swap(e->M[row][k], e->M[rank][k]);
    for (int k = m; k >= j; k--) mpq_div(e->M[rank][k], e->M[rank][k], e->M[rank][j]);
    for (int i = 0; i < m; i++) {
      if (i == rank || mpq_sgn(e->M[i][j]) == 0) continue;
      for (int k = m; k >= j; k--) {
        mpq_mul(s, e->M[i][j], e->M[rank][k]);
        mpq_sub(e->M[i][k], e->M[i][k], s);
      }
    }
    pivot[rank++] = j;
  }
  bool may = true;
  for (int r = rank; r < m; r++) may = may && mpq_sgn(e->M[r][m]) == 0;
  for (int j = 0, r = 0; j < m && may; j++) { /* parameters: columns without a pivot */
    if (r < rank && pivot[r] == j) {
      r++;
      continue;
    }
    t++;
    mpq_set_ui(e->x[f[j]][t], 1, 1);
    for (int k = 0; k < rank; k++) mpq_neg(e->x[f[pivot[k]]][t], e->M[k][j]);
  }
  for (int k = 0; k < rank; k++) mpq_set(e->x[f[pivot[k]]][0], e->M[k][m]);
  e->now.n = 0;
  mpq_t one;
  mpq_init(one);
  for (int i = 0; i < n && may; i++) {
    if (end[i] == INSIDE) {
      for (int side = 0; side < 2; side++) {
        if (!(side ? e->above[i] : e->below[i])) continue;
        condition *c = more(&e->now);
        mpq_set_si(one, side ? -1 : 1, 1);
        add(c->c, one, e->x[i]);
        if (side)
          mpq_add(c->c[0], c->c[0], e->hi[i]);
        else
          mpq_sub(c->c[0], c->c[0], e->lo[i]);
      }
      continue;
    }
    if (e->below[i] && e->above[i] && mpq_equal(e->lo[i], e->hi[i])) continue; /* any w */
    condition *c = more(&e->now);
    for (int j = 0; j < n; j++) add(c->c, e->A[i][j], e->x[j]);
    mpq_add(c->c[0], c->c[0], e->b[i]);
    for (int j = 0; j <= ROWS && end[i] == UPPER; j++) mpq_neg(c->c[j], c->c[j]);
  }
  mpq_clears(s, one, NULL);
  return may && possible(&e->now, &e->next, t);
}

static bool exact_solvable(exact *e)
{
  int end[ROWS] = { 0 }, sets = 1;
  for (int i = 0; i < e->n; i++) sets *= 3;
  for (int k = 0; k < sets; k++) {
    bool there = true;
    for (int i = 0, q = k; i < e->n; i++, q /= 3) {
      end[i] = q % 3;
      if ((end[i] == LOWER && !e->below[i]) || (end[i] == UPPER && !e->above[i])) there = false;
      /* fixed: once */
      if (e->below[i] && e->above[i] && mpq_equal(e->lo[i], e->hi[i]) && end[i] != LOWER)
        there = false;
    }
    if (there && exact_part(e, end)) return true;
  }
  return false;
}

/* w and sigma = |A||x| + |b| of row i */
static void exact_row(const exact *e, mpq_t *x, int i, mpq_t w, mpq_t sigma)
{
  mpq_t t;
  mpq_init(t);
  mpq_set(w, e->b[i]);
  mpq_abs(sigma, e->b[i]);
  for (int j = 0; j < e->n; j++) {
    mpq_mul(t, e->A[i][j], x[j]);
    mpq_add(w, w, t);
    mpq_abs(t, t);
    mpq_add(sigma, sigma, t);
  }
  mpq_clear(t);
}

/* 1 / l_j = max_k |A_kj| / sigma_k over the rows that count; false: infinite */
static bool exact_unit(const exact *e, mpq_t *sigma, const bool *counts, int j, mpq_t out)
{
  bool finite = true;
  mpq_t t;
  mpq_init(t);
  mpq_set_ui(out, 0, 1);
  for (int k = 0; k < e->n; k++) {
    if (!counts[k]) continue;
    if (mpq_sgn(sigma[k]) == 0) {
      finite = finite && mpq_sgn(e->A[k][j]) == 0;
      continue;
    }
    mpq_div(t, e->A[k][j], sigma[k]);
    mpq_abs(t, t);
    rational_max(out, t);
  }
  mpq_clear(t);
  return finite;
}

static int rational_cmpabs(const mpq_t a, const mpq_t b)
{
  mpq_t x, y;
  mpq_inits(x, y, NULL);
  mpq_abs(x, a);
  mpq_abs(y, b);
  const int order = mpq_cmp(x, y);
  mpq_clears(x, y, NULL);
  return order;
}

/* Does row i without data count: has it a multiplier that is no rounding in its unit 1 / unit[j]
 * (known [j] 1), or a bound other than 0 that is as near?  last: those without a unit (known 0)
 * count. */
static bool exact_joins(const exact *e, mpq_t *x, int i, mpq_t *unit, const int *known, bool last)
{
  bool counts = false;
  mpq_t t, least, near;
  mpq_inits(t, least, near, NULL);
  mpq_set_d(least, 1e-11);
  mpq_set_d(near, 2e-10);
  for (int j = 0; j < e->n && !counts; j++) {
    if (mpq_sgn(e->A[i][j]) == 0) continue;
    for (int side = 0; side < 2; side++) { /* bounds are data */
      if (!(side ? e->above[j] : e->below[j])) continue;
      mpq_div_2exp(t, side ? e->hi[j] : e->lo[j], 1);
      if (mpq_sgn(t) == 0) continue;
      counts = counts || (side ? mpq_sgn(t) < 0 : mpq_sgn(t) > 0) || rational_cmpabs(x[j], t) >= 0;
      mpq_mul(t, unit[j], side ? e->hi[j] : e->lo[j]); /* so near that it may be taken for 0 */
      counts = counts || (known[j] < 2 && rational_cmpabs(t, near) < 0);
    }
    if (mpq_sgn(x[j]) == 0 || counts) continue;
    mpq_mul(t, unit[j], x[j]);
    counts = known[j] == 2 || (known[j] == 0 ? last : rational_cmpabs(t, least) >= 0);
  }
  mpq_clears(t, least, near, NULL);
  return counts;
}

/* Rows without data of their own, whose multipliers are all nothing in the rows that count, do not
 * count.  Units go out from the rows with b_i != 0, round by round; where they reach no further,
 * multipliers without one count. */
static void exact_counts(const exact *e, mpq_t *x, mpq_t *sigma, bool *counts)
{
  mpq_t unit[ROWS];
  int known[ROWS]; /* 0: no row says; 2: a row of nothing else, infinite */
  for (int j = 0; j < e->n; j++) {
    mpq_init(unit[j]);
    counts[j] = mpq_sgn(e->b[j]) != 0;
  }
  for (bool last = false, more = true; more || !last;) {
    bool now[ROWS];
    last = last || !more;
    more = false;
    for (int j = 0; j < e->n; j++)
      known[j] = !exact_unit(e, sigma, counts, j, unit[j]) ? 2 : mpq_sgn(unit[j]) != 0;
    for (int i = 0; i < e->n; i++) now[i] = counts[i] || exact_joins(e, x, i, unit, known, last);
    for (int i = 0; i < e->n; i++) {
      more = more || now[i] != counts[i];
      counts[i] = now[i];
    }
  }
  for (int j = 0; j < e->n; j++) mpq_clear(unit[j]);
}

/* Of x, each multiplier of which may be moved by its l times `share`: the largest w of the wrong
 * sign over sigma of its row, the one to which no such move brings less.  As the proof has it: what
 * w would move beyond its bound goes there. */
static double exact_left(const exact *e, const double *lambda, double share)
{
  mpq_t x[ROWS], y[ROWS], w[ROWS], sigma[ROWS], unit, t, most, worst;
  mpq_inits(unit, t, most, worst, NULL);
  for (int i = 0; i < e->n; i++) {
    mpq_inits(x[i], y[i], w[i], sigma[i], NULL);
    rational_of(x[i], lambda[i]);
  }
  for (int i = 0; i < e->n; i++) exact_row(e, x, i, w[i], sigma[i]);
  mpq_set_d(most, share);
  bool far = false, counts[ROWS];
  exact_counts(e, x, sigma, counts);
  for (int i = 0; i < e->n; i++) {
    mpq_set(y[i], x[i]);
    const bool finite = exact_unit(e, sigma, counts, i, unit);
    for (int k = 0; k < e->n; k++) { /* those of rows that do not count */
      if (counts[k] || mpq_sgn(e->A[k][i]) == 0) continue;
      mpq_mul(t, x[i], unit);
      mpq_abs(t, t);
      if (finite && mpq_cmp(t, most) <= 0) mpq_set_ui(y[i], 0, 1);
    }
    bool held = false;
    for (int side = 0; side < 2; side++) {
      if (!(side ? e->above[i] : e->below[i])) continue;
      mpq_sub(t, x[i], side ? e->hi[i] : e->lo[i]);
      const int where = side ? -mpq_sgn(t) : mpq_sgn(t); /* 1: inside */
      mpq_mul(t, t, unit);
      mpq_abs(t, t);
      const bool near = where == 0 || (finite && mpq_sgn(unit) > 0 && mpq_cmp(t, most) <= 0);
      const bool rests = near && (side ? mpq_sgn(w[i]) < 0 : mpq_sgn(w[i]) > 0);
      if (rests || (where < 0 && !held)) mpq_set(y[i], side ? e->hi[i] : e->lo[i]);
      held = held || rests;
      far = far || (where < 0 && !near);
    }
  }
  for (int i = 0; i < e->n; i++) {
    exact_row(e, y, i, w[i], sigma[i]);
    const int sign = mpq_sgn(w[i]);
    const bool low = e->below[i] && mpq_equal(y[i], e->lo[i]);
    const bool high = e->above[i] && mpq_equal(y[i], e->hi[i]);
    if (sign == 0 || (low && sign > 0) || (high && sign < 0) || (low && high)) continue;
    mpq_div(t, w[i], sigma[i]);
    mpq_abs(t, t);
    rational_max(worst, t);
  }
  const double left = far ? HUGE_VAL : rational_double(worst);
  mpq_clears(unit, t, most, worst, NULL);
  for (int i = 0; i < e->n; i++) mpq_clears(x[i], y[i], w[i], sigma[i], NULL);
  return left;
}

/* ---- problems ---- */

typedef struct problem {
  perp_lcp p;
  double A[ROWS * ROWS], b[ROWS], lo[ROWS], hi[ROWS];
} problem;

static perp_rng *g;

static int one_of(int n)
{
  return perp_rng_int(g, n);
}

static double integer(int most)
{
  return one_of(2 * most + 1) - most;
}

static double decade(int most)
{
  return pow(10, one_of(2 * most + 1) - most);
}

static void make_matrix(problem *q)
{
  const int n = q->p.n, kind = one_of(6), rank = 1 + one_of(n);
  const bool whole = one_of(2) == 0;
  double B[ROWS * ROWS];
  for (int k = 0; k < n * n; k++) {
    B[k] = whole ? integer(3) : perp_rng_uniform(g, -1, 1);
    q->A[k] = whole ? integer(4) : perp_rng_uniform(g, -1, 1);
    if (one_of(4) == 0) q->A[k] = 0;
  }
  if (kind < 4) /* J J', often singular */
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) {
        q->A[i + j * n] = 0;
        for (int k = 0; k < rank; k++) q->A[i + j * n] += B[i + k * n] * B[j + k * n];
      }
  if (kind == 1) /* nearly so */
    for (int k = 0; k < n * n; k++) q->A[k] += one_of(2) ? integer(9) * pow(10, -8 - one_of(9)) : 0;
  if (kind == 4) /* symmetric */
    for (int i = 0; i < n; i++)
      for (int j = 0; j < i; j++) q->A[i + j * n] = q->A[j + i * n];
  if (one_of(3) == 0) { /* another row, but for a tiny number */
    const int from = one_of(n), to = one_of(n);
    for (int j = 0; j < n && from != to; j++) q->A[to + j * n] = q->A[from + j * n];
    if (one_of(2)) q->A[to + one_of(n) * n] += integer(9) * pow(10, -12 - one_of(5));
  }
  if (one_of(4) == 0) /* a row that is nearly nothing */
    for (int j = 0, i = one_of(n); j < n; j++)
      q->A[i + j * n] = one_of(2) ? integer(9) * pow(10, -8 - one_of(12)) : 0;
  if (one_of(6) == 0) { /* graded */
    const double grade = pow(10, -1 - one_of(6));
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) q->A[i + j * n] *= pow(grade, i + j);
  }
}

static void make(problem *q)
{
  memset(q, 0, sizeof *q);
  const int n = 1 + one_of(ROWS), bounds = one_of(3);
  double x[ROWS];
  q->p = (perp_lcp){ .n = n, .A = q->A, .lda = n, .b = q->b, .lo = q->lo, .hi = q->hi };
  make_matrix(q);
  for (int i = 0; i < n; i++) {
    q->hi[i] = HUGE_VAL;
    if (bounds == 0) continue;
    const int side = one_of(7);
    if (side < 2) q->lo[i] = -HUGE_VAL;
    if (side == 2) q->lo[i] = integer(3);
    if (side > 2 || side == 1) q->hi[i] = fmax(q->lo[i], 0) + one_of(4);
    if (side > 4) q->lo[i] = q->hi[i] - one_of(4);
    if (one_of(12) == 0 && q->hi[i] < HUGE_VAL) q->hi[i] += pow(10, one_of(300));
  }
  /* b: a solution, or nearly, or none */
  const int kind = one_of(3);
  for (int i = 0; i < n; i++) {
    const int side = one_of(3);
    x[i] = fmin(fmax(one_of(2) ? integer(4) : perp_rng_uniform(g, -2, 2), q->lo[i]), q->hi[i]);
    q->b[i] = 0;
    if (side == 0 && q->lo[i] > -HUGE_VAL) x[i] = q->lo[i], q->b[i] = one_of(4);
    if (side == 1 && q->hi[i] < 1e6) x[i] = q->hi[i], q->b[i] = -one_of(4);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) q->b[i] -= q->A[i + j * n] * x[j];
  for (int i = 0; i < n; i++) {
    if (kind == 1 && one_of(2)) q->b[i] += integer(4) * pow(10, -one_of(17));
    if (kind == 2) q->b[i] = one_of(3) ? integer(5) : perp_rng_uniform(g, -5, 5);
  }
  if (one_of(8) == 0)
    q->b[one_of(n)] *= decade(15); /* a force beyond all others, or beneath them */
  if (one_of(3) == 0)              /* rows and columns in other units */
    for (int i = 0; i < n; i++) {
      const double r = one_of(2) ? decade(8) : 1, c = one_of(2) ? ldexp(1, one_of(41) - 20) : 1;
      for (int j = 0; j < n; j++) {
        q->A[i + j * n] *= r;
        q->A[j + i * n] *= c;
      }
      q->b[i] *= r;
      q->lo[i] /= c;
      q->hi[i] /= c;
    }
}

/* ---- methods ---- */

static struct tally {
  const perp_desc *d;
  perp_spec spec;
  perp_lcp_solver *s;
  int suited, solved, infeasible, undecided, lies, wrong, false_proofs;
} tally[METHODS];
static int methods, shown, moved;

static void show_numbers(const char *name, const double *x, int n, const char *after)
{
  printf("\"%s\":[", name);
  for (int i = 0; i < n; i++) {
    if (isfinite(x[i]))
      printf("%.17g", x[i]);
    else
      printf("\"%sinf\"", x[i] > 0 ? "" : "-");
    printf(i + 1 < n ? "," : "]%s", after);
  }
}

static void show(const char *what, const char *who, int k, const problem *q, const double *x)
{
  const int n = q->p.n;
  if (shown++ > 12) return;
  printf("# %s: %s, problem %d\n#   {\"n\":%d,\"A\":[", what, who, k, n);
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++)
      printf("%s%.17g%s", j == 0 ? "[" : ",", q->A[i + j * n],
             j + 1 < n   ? ""
             : i + 1 < n ? "],"
                         : "]],");
  show_numbers("b", q->b, n, ",");
  show_numbers("lo", q->lo, n, ",");
  show_numbers("hi", q->hi, n, "} ");
  show_numbers("x", x, n, "\n");
}

/* The same in other units of rows and columns: what says of x what it did?  Powers of two change
 * nothing at all, other numbers those of the problem by rounding. */
static void check_units(const problem *q, int k, const double *x)
{
  const int n = q->p.n;
  problem o = *q;
  double y[ROWS], scratch[PERP_LCP_SCRATCH(ROWS, 0)];
  perp_lcp_judgement a, b;
  const bool powers = one_of(2) == 0;
  o.p.A = o.A, o.p.b = o.b, o.p.lo = o.lo, o.p.hi = o.hi;
  for (int i = 0; i < n; i++) {
    if (fabs(x[i]) > 1e280 || (x[i] != 0 && fabs(x[i]) < 1e-280))
      return; /* the units of a double end */
    y[i] = x[i];
  }
  for (int i = 0; i < n; i++) {
    const double r = powers ? ldexp(1, one_of(41) - 20) : pow(10, perp_rng_uniform(g, -6, 6));
    const double c = powers ? ldexp(1, one_of(41) - 20) : pow(10, perp_rng_uniform(g, -6, 6));
    for (int j = 0; j < n; j++) {
      o.A[i + j * n] *= r;
      o.A[j + i * n] *= c;
    }
    o.b[i] *= r;
    o.lo[i] /= c;
    o.hi[i] /= c;
    y[i] /= c;
  }
  perp_lcp_judge(&q->p, x, NULL, scratch, &a);
  perp_lcp_judge(&o.p, y, NULL, scratch, &b);
  const bool same = powers ? a.own == b.own && a.own_data == b.own_data &&
                                 perp_lcp_verdict(&q->p, TOL, &a) == perp_lcp_verdict(&o.p, TOL, &b)
                           : a.own == b.own || fabs(a.own - b.own) <= 1e-14 + 1e-12 * a.own;
  if (!same && ++moved) {
    printf("# own %.17g %.17g, own_data %.17g %.17g, exists %d %d\n", a.own, b.own, a.own_data,
           b.own_data, (int)a.exists, (int)b.exists);
    show(powers ? "other in other units" : "other in other units, rounded", "the judge", k, q, x);
  }
}

int main(int argc, char **argv)
{
  const int problems = argc > 1 ? atoi(argv[1]) : 300;
  const int first = argc > 2 ? atoi(argv[2]) : 0;
  const char *only = argc > 3 ? argv[3] : NULL;
  static problem q;
  static exact e;
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(&ctx, PERP_KIND_lcp, i)) != NULL && methods < METHODS; i++) {
    struct tally *t = &tally[methods];
    if (only != NULL ? strcmp(only, d->name) != 0 : (d->caps & PERP_LCP_PEER) != 0) continue;
    t->d = d;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, d->name, &t->spec) != PERP_OK ||
        perp_lcp_create(&ctx, &t->spec, ROWS, 0, &t->s) != PERP_OK)
      bail("%s", ctx.msg);
    methods++;
  }
  exact_new(&e);
  int solvable = 0, contradictions = 0, never = 0;
  for (int k = first; k < first + problems; k++) {
    perp_rng_destroy(g);
    g = perp_rng_create((uint64_t)k + 1);
    make(&q);
    exact_take(&e, &q.p);
    const bool may = exact_solvable(&e);
    int yes = 0, no = 0, tried = 0;
    solvable += may;
    for (int m = 0; m < methods; m++) {
      struct tally *t = &tally[m];
      double x[ROWS] = { 0 };
      perp_stats stats;
      if (perp_lcp_unsuited(t->d, &q.p) != NULL) continue;
      if (perp_lcp_solve(&ctx, t->s, &q.p, TOL, x, NULL, NULL, &stats) != PERP_OK)
        bail("%s: %s", t->d->name, ctx.msg);
      t->suited++;
      tried++;
      t->undecided += stats.reason == PERP_UNDECIDED;
      if (m == k % methods) check_units(&q, k, x);
      if (stats.reason == PERP_CONVERGED) {
        t->solved++;
        yes++;
        if (!may && ++t->lies) show("solved, without a solution", t->d->name, k, &q, x);
        /* each row within tol, then n moves of tol in the terms of a row */
        const double room = TOL * (1 + 1e-9);
        if (exact_left(&e, x, room) > (e.n + 1) * room / (1 - e.n * room) && ++t->wrong)
          show("solved, but not right", t->d->name, k, &q, x);
      }
      if (stats.reason == PERP_INFEASIBLE) {
        t->infeasible++;
        no++;
        if (may && ++t->false_proofs) show("infeasible, with a solution", t->d->name, k, &q, x);
      }
    }
    contradictions += yes > 0 && no > 0;
    never += may && yes == 0 && tried > 0;
  }
  printf(
      "# %d problems from number %d on, %d of them have a solution (%d of those are solved by no "
      "method)\n",
      problems, first, solvable, never);
  int lies = 0, wrong = 0, false_proofs = 0;
  for (int m = 0; m < methods; m++) {
    const struct tally *t = &tally[m];
    printf("# %-15s %6d suited, %6d solved, %6d infeasible, %4d undecided; false: %d %d %d\n",
           t->d->name, t->suited, t->solved, t->infeasible, t->undecided, t->lies, t->wrong,
           t->false_proofs);
    lies += t->lies;
    wrong += t->wrong;
    false_proofs += t->false_proofs;
    perp_lcp_destroy(t->s);
    perp_spec_free(&tally[m].spec);
  }
  ok(lies == 0, "no problem without a solution is called solved (%d were)", lies);
  ok(wrong == 0,
     "what is called solved is exact for numbers within (n + 1) tol / (1 - n tol) (%d is not)",
     wrong);
  ok(moved == 0, "the judge says the same in all units of rows and columns (%d times not)", moved);
  ok(false_proofs == 0, "no problem with a solution is called infeasible (%d were)", false_proofs);
  ok(contradictions == 0, "no problem is solved by one method and infeasible for another (%d were)",
     contradictions);
  ok(given_up == 0, "every index set is decided");
  perp_rng_destroy(g);
  return tap_done();
}
