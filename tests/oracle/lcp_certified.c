/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge on problems of 9 to 60 rows whose solution is known without rounding: all numbers are
 * small integers, or these times powers of two.  Right answers are solved, in all units; wrong ones
 * are not, however small the row is; and no answer is farther from the solution than
 * perp_lcp_distance says. */
#include "tests/tap.h"
#include "solvers/lcp/lcp.h"
#include "solvers/solvers.h"

#include <float.h>

enum { MOST = 60, PROBLEMS = 400 };
#define TOL 1e-10

static perp_rng *g;
static double A[MOST * MOST], b[MOST], lo[MOST], hi[MOST], x[MOST], y[MOST], w[MOST];
static double scratch[PERP_LCP_SCRATCH(MOST, 0)], bound[MOST];
static perp_lcp p;

static int integer(int most)
{
  return perp_rng_int(g, 2 * most + 1) - most;
}

enum kind { SEMIDEFINITE, DEFINITE, DOMINANT, ANY };

/* A of integers, x and w complementary, b = w - A x: exact in doubles. */
static void make(enum kind kind)
{
  static double J[MOST * MOST];
  const int n = 9 + perp_rng_int(g, MOST - 8), rank = kind == SEMIDEFINITE ? n / 2 : n;
  p = (perp_lcp){ .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
  for (int k = 0; k < n * n; k++) {
    J[k] = perp_rng_int(g, 3) == 0 ? integer(3) : 0;
    A[k] = integer(5);
  }
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n && kind != ANY; j++) {
      if (kind == DOMINANT) {
        A[i + j * n] = i == j ? 3 * n : integer(2);
        continue;
      }
      A[i + j * n] = kind == DEFINITE && i == j;
      for (int k = 0; k < rank; k++) A[i + j * n] += J[i + k * n] * J[j + k * n];
      if (kind == DEFINITE && i != j) A[i + j * n] += i < j ? 1 : -1; /* not symmetric */
    }
  for (int i = 0; i < n; i++) {
    const int side = perp_rng_int(g, 4);
    lo[i] = side == 3 ? -HUGE_VAL : integer(2);
    hi[i] = perp_rng_int(g, 2) || side == 3 ? HUGE_VAL : lo[i] + 1 + perp_rng_int(g, 4);
    x[i] = lo[i];
    w[i] = 1 + perp_rng_int(g, 8);
    if (side == 1 && hi[i] < HUGE_VAL) x[i] = hi[i], w[i] = -w[i];
    if (side >= 2) x[i] = side == 3 ? integer(9) : fmin(lo[i] + 0.5, hi[i]), w[i] = 0;
  }
  for (int i = 0; i < n; i++) {
    b[i] = w[i];
    for (int j = 0; j < n; j++) b[i] -= A[i + j * n] * x[j];
  }
}

/* Row i times r, column j divided by c. */
static void units(int i, double r, int j, double c)
{
  for (int k = 0; k < p.n; k++) {
    A[i + k * p.n] *= r;
    A[k + j * p.n] *= c;
  }
  b[i] *= r;
  lo[j] /= c;
  hi[j] /= c;
  x[j] /= c;
  y[j] /= c;
}

static perp_lcp_judgement judge(const double *at)
{
  perp_lcp_judgement j;
  perp_lcp_judge(&p, at, NULL, scratch, &j);
  return j;
}

int main(void)
{
  int right = 0, turned = 0, hidden = 0, other = 0, far = 0, shown[4] = { 0 }, loose = 0;
  g = perp_rng_create(1);
  for (int k = 0; k < PROBLEMS; k++) {
    const enum kind kind = (enum kind)(k % 4);
    make(kind);
    const int n = p.n;
    perp_lcp_judgement first = judge(x), j;
    right += first.own == 0 && perp_lcp_verdict(&p, TOL, &first) == PERP_CONVERGED;
    /* near it: not farther than is said, and that is not much more */
    const double share = pow(10, -2 - perp_rng_int(g, 12));
    double most = 0, said = 0;
    for (int i = 0; i < n; i++) y[i] = x[i] + (perp_rng_int(g, 2) ? share * integer(4) : 0);
    const perp_lcp_near near = perp_lcp_distance(&p, y, bound);
    shown[kind] += near != PERP_NEAR_UNKNOWN;
    for (int i = 0; i < n && near != PERP_NEAR_UNKNOWN; i++) {
      far += fabs(y[i] - x[i]) > bound[i];
      most = fmax(most, fabs(y[i] - x[i]));
      said = fmax(said, bound[i]);
    }
    loose += near == PERP_NEAR_DOMINANT && most > 0 && said > 100 * n * most;
    /* one row wrong by all that it is, tiny or huge beside the others, by rows, by columns */
    int row = perp_rng_int(g, n);
    for (int i = 0; i < n && w[row] == 0; i++) row = (row + 1) % n;
    memcpy(y, x, sizeof y);
    for (int i = 0; i < n; i++)
      if (i == row) y[i] = x[i] + (w[i] > 0 ? 1 : -1) * fmin(1, 0.5 * (hi[i] - lo[i]));
    const perp_reason said_of_y = (first = judge(y), perp_lcp_verdict(&p, TOL, &first));
    hidden += w[row] != 0 && A[row * (n + 1)] != 0 && said_of_y == PERP_CONVERGED;
    for (int turn = 0; turn < 6; turn++) {
      for (int i = 0; i < n; i++) {
        const double first_unit = ldexp(1, perp_rng_int(g, 81) - 40);
        units(i, first_unit, i, ldexp(1, perp_rng_int(g, 81) - 40));
      }
      j = judge(x);
      turned += j.own != 0 || perp_lcp_verdict(&p, TOL, &j) != PERP_CONVERGED;
      j = judge(y);
      other += j.own != first.own || j.own_data != first.own_data ||
               perp_lcp_verdict(&p, TOL, &j) != said_of_y;
    }
  }
  ok(right == PROBLEMS, "the solution is solved: %d of %d", right, PROBLEMS);
  ok(turned == 0, "... in all units of rows and columns (%d times not)", turned);
  ok(hidden == 0, "an answer off by one in a row is not solved (%d were)", hidden);
  ok(other == 0, "... and judged the same in all units, bit for bit (%d times not)", other);
  ok(far == 0, "no answer is farther from the solution than is said (%d numbers are)", far);
  ok(shown[DEFINITE] == PROBLEMS / 4 && shown[DOMINANT] == PROBLEMS / 4,
     "a distance is shown for all definite and dominant matrices: %d and %d of %d", shown[DEFINITE],
     shown[DOMINANT], PROBLEMS / 4);
  ok(loose == 0, "... for dominant ones within 100 n of the true one (%d times not)", loose);
  ok(shown[SEMIDEFINITE] == 0, "and for no singular one (%d were)", shown[SEMIDEFINITE]);
  perp_rng_destroy(g);
  return tap_done();
}
