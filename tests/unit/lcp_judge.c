/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The judge of LCPs: known figures, invariance, the safeguard, cones, coupling; and the
 * generated problems against their planted solutions. */
#include "solvers/lcp/io/convert.h"
#include "solvers/lcp/lcp_private.h"
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"
#include "tests/lcp_random.h"
#include "tests/tap.h"

#include <float.h>
#include <string.h>

static perp_ctx ctx;

static perp_lcp_judgement judge(const perp_lcp *p, const double *x)
{
  perp_lcp_judgement j;
  int nv = p->F != NULL ? p->F->nv : 0;
  double *scratch = calloc(PERP_LCP_SCRATCH(p->n, nv) + 1, sizeof *scratch);
  perp_lcp_judge(p, x, NULL, scratch, &j);
  free(scratch);
  return j;
}

static perp_lcp_problem make(perp_lcp_recipe recipe)
{
  perp_lcp_problem q;
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) bail("%s: %s", recipe.family, ctx.msg);
  return q;
}

static void check_figures(void)
{
  double A[4] = { 4, 1, 1, 2 }, b[2] = { -4, -1 }, x[2] = { 1, 0.5 };
  perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b };
  perp_lcp_judgement j = judge(&p, x);
  /* by hand: w = (0.5, 1), a = (4, 2), r = (0.125, 0.5), rel = 0.5 / max(1, 1); the safeguard's
   * (0.5 / 1)^2 is smaller */
  near(j.rel, 0.5, 0, 1e-15, "rel of a 2x2 example");
  near(j.abs, 0.5, 0, 1e-15, "abs of a 2x2 example");
  near(j.componentwise, 0.5 / 3, 0, 1e-15, "componentwise: 0.5 / 8.5 and 0.5 / 3");
  near(j.fclib, sqrt(0.5) / (1 + sqrt(17)), 0, 1e-15, "fclib");
  near(j.abh, sqrt(0.5) / sqrt(17), 0, 1e-15, "abh");
  /* A x = (4.5, 2) */
  near(j.siconos, sqrt(0.5) / sqrt(4.5 * 4.5 + 4), 0, 1e-15, "siconos");
  double exact[2] = { 1, 0 };
  near(judge(&p, exact).rel, 0, 0, 0, "a solution has rel = 0");
  double zero[2] = { 0, 0 }, up[2] = { 4, 1 };
  p.b = up;
  near(judge(&p, zero).rel, 0, 0, 0, "lambda = 0 solves b >= 0");
  p.b = zero;
  near(judge(&p, zero).rel, 0, 0, 0, "the zero problem");
  double lost[2] = { 1, (double)NAN };
  ok(isnan(judge(&p, lost).rel), "NaN in lambda gives NaN");
  double first[2] = { (double)NAN, 1 };
  ok(isnan(judge(&p, first).rel), "NaN in the first entry is not overwritten by a later row");
  double inf[2] = { HUGE_VAL, 1 };
  ok(isnan(judge(&p, inf).rel), "an infinite lambda is never accepted");
}

/* rel must not change by a single bit under (A, b) -> 2^k (A, b) */
static void check_invariance(void)
{
  static const char *const names[] = { "spd", "boxed", "stack-box", "stack-cone", "copositive" };
  int changed = 0, drifted = 0;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    perp_lcp_problem q = make((perp_lcp_recipe){ .family = names[k], .n = 12, .seed = 5 });
    double x[12];
    perp_rng *rng = perp_rng_create(3);
    for (int i = 0; i < 12; i++) x[i] = perp_rng_uniform(rng, -0.2, 1);
    perp_rng_destroy(rng);
    double before = judge(&q.p, x).rel;
    for (int e = -40; e <= 40; e += 8) {
      perp_lcp_problem_scale(&q, ldexp(1, e));
      changed += judge(&q.p, x).rel != before;
      perp_lcp_problem_scale(&q, ldexp(1, -e));
    }
    for (int e = -12; e <= 12; e++) {
      perp_lcp_problem c;
      if (perp_lcp_problem_copy(&ctx, &q, &c) != PERP_OK) bail("%s", ctx.msg);
      double s = 1;
      for (int i = 0; i < (e < 0 ? -e : e); i++) s *= 10;
      perp_lcp_problem_scale(&c, e < 0 ? 1 / s : s);
      drifted += !(fabs(judge(&c.p, x).rel - before) <= 1e-14 * before + 1e-14);
      perp_lcp_problem_free(&c);
    }
    perp_lcp_problem_free(&q);
  }
  ok(changed == 0, "rel is bit for bit the same under scaling by powers of two");
  ok(drifted == 0, "rel is the same to rounding under scaling by 1e-12 ... 1e12");
}

/* a huge lambda must not certify itself */
static void check_safeguard(void)
{
  perp_lcp_problem q = make((perp_lcp_recipe){ .family = "nosol", .n = 4 });
  double least = HUGE_VAL;
  for (double t = 1; t < 1e30; t *= 10) {
    double x[4] = { t, t, t, t };
    double rel = judge(&q.p, x).rel;
    if (!(rel >= least)) least = rel;
  }
  ok(least >= 0.9,
     "v v' without solution: no multiple of its null vector is accepted at any tolerance");
  perp_lcp_problem_free(&q);
  double A = 0, b = -1, x = 1e12;
  perp_lcp p = { .n = 1, .A = &A, .lda = 1, .b = &b };
  ok(judge(&p, &x).rel >= 0.9, "0 x - 1 with x = 1e12 is not accepted");
  /* feasible rows of large data and a huge lambda beside an impossible row of small data */
  double B[4] = { 1, 0, 0, 0 }, c[2] = { -1e6, -1 }, y[2] = { 1e6, 1e30 };
  p = (perp_lcp){ .n = 2, .A = B, .lda = 2, .b = c };
  near(judge(&p, y).data, 1e-6, 0, 1e-15, "a row of 1e-6 of the data is seen beside lambda = 1e30");
  near(judge(&p, y).rel, 1e-12, 0, 1e-15, "which is the square of it in rel");
  /* large multipliers of an honest solution: mass ratio 1e8, direct solution */
  double C[4] = { 1 + 1e-8, -1e-8, -1e-8, 1e-8 }, d[2] = { 0, -0.1 };
  double z[2] = { 0.1, 0.1 * (1 + 1e8) };
  p = (perp_lcp){ .n = 2, .A = C, .lda = 2, .b = d };
  below(judge(&p, z).rel, 1e-14, "an honest answer with multipliers of 1e7 passes");
}

/* w far below the last digit of lambda is seen, in rows and in discs */
static void check_absorption(void)
{
  double A[4] = { 0, 1, 1, 0 }, b[2] = { -0.4, 41 }, x[2] = { 5e15, 0 };
  perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b };
  perp_lcp_judgement j = judge(&p, x);
  /* the second row rests, and its b = 41 is no scale of the first one's */
  near(j.rel, 1, 0, 1e-14, "w_1 = -0.4 beside lambda = 5e15: the safeguard");
  near(j.data, 1, 0, 1e-15, "... and data");
  near(j.abs, 0.4, 0, 1e-15, "... and abs");
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_INACCURATE, "... is not solved");
  /* a cone on which a contact sticks with lambda_T = 1e17 (0.5, 0) of a radius of 1e17, and w_T =
   * (0.3, 0) is left */
  double C[9] = { 1, 3e-18, 0, 0, 1, 0, 0, 0, 1 }, q[3] = { -1e17, -5e16, 0 };
  double mu[3] = { 0, 1, 1 }, y[3] = { 1e17, 5e16, 0 };
  int of[3] = { -1, 0, 0 };
  signed char cone[3] = { 0, 1, 0 };
  p = (perp_lcp){ .n = 3, .A = C, .lda = 3, .b = q, .fric_of = of, .mu = mu, .cone = cone };
  j = judge(&p, y);
  near(j.abs, 0.3, 0, 1e-12, "a disc: w_T = 0.3 beside lambda_T = 5e16");
  near(j.rel, 3e-18, 0, 1e-12, "... relative to lambda");
  near(j.data, 0, 0, 0, "... is below the rounding of |A||lambda|");
  /* matrices of denormal numbers */
  double D[4] = { 1e-318, 0, 0, 1e-318 }, d[2] = { -1e-318, -3e-318 }, one[2] = { 1, 1 };
  p = (perp_lcp){ .n = 2, .A = D, .lda = 2, .b = d };
  j = judge(&p, one);
  near(j.rel, 2.0 / 3, 0, 1e-5, "a denormal matrix: 2 of 3 are missing");
  near(j.data, 2.0 / 3, 0, 1e-5, "... in units of the data, too");
  double far[2] = { 1, 1e300 };
  ok(judge(&p, far).rel >= 1, "lambda of 1e300 times the data is not accepted");
}

/* Is it solved, with the figures alone, in units of row r and column c? */
static perp_reason scaled(const perp_lcp *p, const double *x, double tol, int r, double by_row,
                          int c, double by_column, perp_lcp_judgement *j)
{
  const int n = p->n;
  double A[64], b[8], lo[8], hi[8], y[8];
  for (int i = 0; i < n; i++) {
    const double row = i == r ? by_row : 1, column = i == c ? by_column : 1;
    for (int k = 0; k < n; k++) A[i + k * n] = p->A[i + k * n] * row * (k == c ? by_column : 1);
    b[i] = p->b[i] * row;
    lo[i] = (p->lo != NULL ? p->lo[i] : 0) / column;
    hi[i] = (p->hi != NULL ? p->hi[i] : HUGE_VAL) / column;
    y[i] = x[i] / column;
  }
  perp_lcp q = { .n = n, .A = A, .lda = n, .b = b, .lo = lo, .hi = hi };
  *j = judge(&q, y);
  return perp_lcp_verdict(&q, tol, j);
}

/* What rests on its bound is no scale for others, in whatever units. */
static void check_rest(void)
{
  static const struct {
    int n;
    double A[16], b[4], hi[4], x[4];
  } wrong[] = {
    { 2, { 1, 0, 0, 1e-14 }, { -1, 1 }, { HUGE_VAL, HUGE_VAL }, { 0, 0 } },
    { 2, { 1, 0, 0, 1e-12 }, { -1, 1 }, { HUGE_VAL, HUGE_VAL }, { 0, 0 } },
    { 3, { 2, 1, 0, 1, 2, 0, 0, 0, 1e-12 }, { -5, -6, -300 }, { 1e300, 1e300, 1 }, { 0, 0, 1 } },
    { 2, { 1, 0, 0, 1 }, { -1, 0 }, { HUGE_VAL, HUGE_VAL }, { 0, 1e12 } },
    /* no solution: w_2 = -15 */
    { 4,
      { 1, 0, -3, 1, 0, 0, 0, 0, -3, 0, 9, -3, 1, -1.4e-14, -3, 1 },
      { -4, 2, -3, 0 },
      { HUGE_VAL, HUGE_VAL, HUGE_VAL, HUGE_VAL },
      { 4, 0, 0, 0 } },
  };
  int solved = 0, moved = 0, turned = 0;
  for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++) {
    perp_lcp p = {
      .n = wrong[k].n, .A = wrong[k].A, .lda = wrong[k].n, .b = wrong[k].b, .hi = wrong[k].hi
    };
    perp_lcp_judgement first, j;
    solved += scaled(&p, wrong[k].x, 1e-10, 0, 1, 0, 1, &first) == PERP_CONVERGED;
    for (int i = 0; i < p.n; i++)
      for (int e = -60; e <= 60; e += 20) {
        solved += scaled(&p, wrong[k].x, 1e-10, i, ldexp(1, e), 0, 1, &j) == PERP_CONVERGED;
        moved += j.rel != first.rel || j.own != first.own;
        solved += scaled(&p, wrong[k].x, 1e-10, 0, 1, i, ldexp(1, e), &j) == PERP_CONVERGED;
        solved += scaled(&p, wrong[k].x, 1e-10, i, ldexp(1, -e), i, ldexp(1, e), &j) ==
                  PERP_CONVERGED;
      }
  }
  ok(solved == 0,
     "what leaves all of a row is not solved, whatever the units of rows and columns (%d were)",
     solved);
  ok(moved == 0, "rel and own are bit for bit the same in all units of rows (%d were not)", moved);
  /* a right answer stays one, with own the same */
  const double A[9] = { 2, -1, 0, -1, 2, -1, 0, -1, 2 }, b[3] = { -1, 0.5, 3 },
               x[3] = { 0.5, 0, 0 };
  perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b };
  perp_lcp_judgement first, j;
  const perp_reason said = scaled(&p, x, 1e-10, 0, 1, 0, 1, &first);
  for (int i = 0; i < 3; i++)
    for (int e = -60; e <= 60; e += 20) {
      turned += scaled(&p, x, 1e-10, i, ldexp(1, e), 0, 1, &j) != PERP_CONVERGED ||
                j.own != first.own;
      turned += scaled(&p, x, 1e-10, 0, 1, i, ldexp(1, e), &j) != PERP_CONVERGED ||
                j.own != first.own;
    }
  ok(said == PERP_CONVERGED && turned == 0, "a solution is one in all units of rows and columns");
  /* a cone in the plane: its second row is zero, and the first off by rounding */
  const double I[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, plane[3] = { -1, 0.1, 0 };
  const double mu[3] = { 0, 0.5, 0.5 }, near_stick[3] = { 1, -0.1 * (1 + 1e-12), 0 };
  const int normal[3] = { -1, 0, 0 };
  const signed char first_of[3] = { 0, 1, 0 };
  perp_lcp c3 = {
    .n = 3, .A = I, .lda = 3, .b = plane, .fric_of = normal, .mu = mu, .cone = first_of
  };
  first = judge(&c3, near_stick);
  ok(perp_lcp_verdict(&c3, 1e-10, &first) == PERP_CONVERGED && first.own_data < 1e-11,
     "a cone is one row: one of its components may be zero (own_data %g)", first.own_data);
  /* contradictory by rounding, and by more */
  double B[4] = { 1, -1, -1, 1 }, c[2] = { -1, 1 - 0x1p-53 }, y[2] = { 1, 0 };
  p = (perp_lcp){ .n = 2, .A = B, .lda = 2, .b = c };
  first = judge(&p, y);
  ok(first.exists == PERP_EXISTS_NOT && perp_lcp_verdict(&p, 1e-10, &first) == PERP_UNDECIDED,
     "no solution, by rounding of b: undecided");
  c[1] = 1 - 1e-11;
  first = judge(&p, y);
  ok(first.exists == PERP_EXISTS_NOT && perp_lcp_verdict(&p, 1e-10, &first) == PERP_INACCURATE,
     "no solution, by 1e-11 of b: not solved at 1e-10");
  p.brief = true;
  first = judge(&p, y);
  ok(first.exists == PERP_EXISTS_UNKNOWN && perp_lcp_verdict(&p, 1e-10, &first) == PERP_CONVERGED,
     "a time step does not ask");
  c[1] = 1;
  p.brief = false;
  ok(judge(&p, y).exists == PERP_EXISTS_PROVED, "a singular problem with a solution");
}

static void check_data(void)
{
  /* by hand: w = (0.5, 1); d = (0.5, min(1, 2 * 0.5)) / 4 */
  double A[4] = { 4, 1, 1, 2 }, b[2] = { -4, -1 }, x[2] = { 1, 0.5 }, none[2] = { 0, 0 };
  double unit[2] = { 1, 3 };
  perp_lcp p = { .n = 2, .A = A, .lda = 2, .b = b };
  near(judge(&p, x).data, 0.25, 0, 1e-15, "data of a 2x2 example");
  p.unit = unit;
  near(judge(&p, x).data, 0.75, 0, 1e-15, "data with units: 3 * 1 over max(4, 3 * 1)");
  p.b = none;
  /* w = (4.5, 2), both rows rest; d = (min(4.5, 4), 3 * min(2, 1)), B = min(4.5 - 4, 3 * (2 - 1)),
   * what the slacks are */
  near(judge(&p, x).data, 4 / 0.5, 0, 1e-15, "b = 0: relative to the least slack");
  near(judge(&p, none).data, 0, 0, 0, "b = 0 and lambda = 0: 0");
  A[1] = A[2] = -8;
  /* w = (0, -7); row 2 acts: 3 * 7 over max(8, 3 * 9) */
  near(judge(&p, x).data, 21.0 / 27, 0, 1e-15, "without slacks: relative to |A||lambda|");
  A[1] = A[2] = 1;
  double lo[2] = { 1, 1 };
  p.lo = lo;
  near(judge(&p, none).data, 6.0 / 4, 0, 1e-15, "lambda = 0 outside its bounds");
  /* the verdict asks for both where tol_data > 0 */
  perp_lcp_judgement j = { .own = 1e-12, .data = 0.9e-5 };
  p = (perp_lcp){ .n = 2, .A = A, .lda = 2, .b = b };
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_CONVERGED,
     "data is a figure only where it is not asked for");
  p.tol_data = 1e-6;
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_INACCURATE, "data is asked for: it decides, too");
  j.data = 1e-6;
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_UNDECIDED,
     "a figure on its tolerance decides nothing");
  j.own = 1e-9;
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_INACCURATE, "own refuses before data is looked at");
  j = (perp_lcp_judgement){ .own = 1e-12, .own_data = 1.1e-5 };
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_INACCURATE, "own_data may be up to the root of tol");
  j.own = (double)NAN;
  ok(perp_lcp_verdict(&p, 1e-10, &j) == PERP_INACCURATE, "NaN is never accepted");
}

/* By hand, A = I, mu = 1, the contact presses with 1: w_T = (1/4, 1/2) is left. */
static void check_cone_data(void)
{
  double A[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, b[3] = { -1, 0.25, 0.5 }, x[3] = { 1, 0, 0 };
  const double mu[3] = { 0, 1, 1 }, left = hypot(0.25, 0.5);
  const int of[3] = { -1, 0, 0 };
  const signed char cone[3] = { 0, 1, 0 };
  double unit[3] = { 8, 1, 4 };
  perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b, .unit = unit };
  p.fric_of = of, p.mu = mu, p.cone = cone;
  near(judge(&p, x).data, 4 * left / 8, 0, 1e-15, "a cone: the unit of its second row");
  unit[1] = 8, unit[2] = 1;
  near(judge(&p, x).data, 8 * left / 8, 0, 1e-15, "... of its first");
  unit[0] = 16, unit[1] = 1;
  near(judge(&p, x).data, left / 16, 0, 1e-15, "... and not of the normal row");
  p.unit = NULL;
  near(judge(&p, x).data, left, 0, 1e-15, "... without units");
  /* the larger of the two scales is that of the pair */
  for (int row = 1; row < 3; row++) {
    A[4 * row] = 4;
    near(judge(&p, x).rel, left / 4, 0, 1e-15, "... with A_ii = 4 in row %d", row);
    A[4 * row] = 1;
  }
  /* w_T = (1e-12, 0) beside terms of 1e6 in one of the rows is rounding, in either */
  for (int row = 1; row < 3; row++) {
    double y[3] = { 1, 0.1, 0.1 };
    b[1] = b[2] = -0.1;
    A[1] = A[2] = 0;
    A[row] = 1e6;
    b[row] = -1e6 - 0.5;
    y[row] = 0.5;
    b[3 - row] += 1e-12;
    near(judge(&p, y).data, 0, 0, 0, "a cone with terms of 1e6 in row %d", row);
    A[row] = 0;
    b[row] = -0.5;
    ok(judge(&p, y).data > 0, "and without them");
  }
}

/* Cones that lie across the borders of a team's shares: each is rated once, and as a cone. */
static void check_team_cones(void)
{
  enum { CONTACTS = 3, ROWS = 3 * CONTACTS + 2, TEAM = 4 };
  perp_rng *g = perp_rng_create(12);
  double a[ROWS], b[ROWS], x[ROWS], w[ROWS], mu[ROWS], unit[ROWS];
  int of[ROWS], wrong = 0, cases = 0;
  signed char cone[ROWS];
  for (int n = 3; n <= ROWS; n++)
    for (int row = 0; row < 2 * n; row++) {
      /* rows of no contact first, so that the borders fall anywhere; then the normal row first, or
       * last */
      const int first = n % 3, normal = row < n ? 0 : 2, tangent = row < n ? 1 : 0;
      for (int i = 0; i < n; i++) {
        const int k = i < first ? normal : (i - first) % 3;
        a[i] = perp_rng_uniform(g, 0.5, 2);
        b[i] = perp_rng_uniform(g, -1, 1);
        x[i] = k == normal ? 4 : perp_rng_uniform(g, -0.5, 0.5);
        w[i] = perp_rng_uniform(g, -0.1, 0.1);
        of[i] = k == normal ? -1 : i - k + normal;
        mu[i] = 0.5;
        cone[i] = k == tangent;
        unit[i] = perp_rng_uniform(g, 0.5, 2);
      }
      w[row % n] += 1; /* this one is the worst of all */
      b[row % n] += 2;
      perp_blocks F = { .m = n };
      const perp_lcp p = {
        .n = n, .F = &F, .b = b, .fric_of = of, .mu = mu, .cone = cone, .unit = unit
      };
      perp_lcp_extremes alone, team;
      F.threads = 1;
      perp_lcp_survey_residual(&p, a, x, w, true, &alone);
      double worst = 0, left = 0;
      for (int i = 0; i < n; i++) { /* by definition */
        double scale = a[i], most = unit[i], r = fabs(w[i] / a[i]);
        if (cone[i]) {
          scale = fmax(a[i], a[i + 1]), most = fmax(unit[i], unit[i + 1]);
          const double z[2] = { x[i] - w[i] / scale, x[i + 1] - w[i + 1] / scale };
          const double l = hypot(z[0], z[1]), by = l > 2 ? 2 / l : 1;
          r = hypot(x[i] - by * z[0], x[i + 1] - by * z[1]);
          i++;
        }
        worst = fmax(worst, r), left = fmax(left, most * scale * r);
      }
      wrong += !(fabs(alone.worst - worst) <= 1e-14 && fabs(alone.left - left) <= 1e-14);
      for (F.threads = 2; F.threads <= TEAM; F.threads++) {
        perp_lcp_survey_residual(&p, a, x, w, true, &team);
        cases++;
        wrong += team.worst != alone.worst || team.size != alone.size || team.data != alone.data ||
                 team.start != alone.start || team.left != alone.left ||
                 team.stiff != alone.stiff || team.force != alone.force ||
                 team.moved != alone.moved || team.bad != alone.bad;
      }
    }
  perp_rng_destroy(g);
  ok(wrong == 0, "%d teams over borders in cones find what one alone does (not: %d)", cases, wrong);
}

/* data does not change when rows are reordered, or change their units and take `unit` with them, or
 * (A, b) is scaled */
static void check_data_invariance(void)
{
  static const char *const names[] = { "spd", "boxed", "stack-box", "stack-cone", "copositive" };
  int turned = 0, scaled = 0, powers = 0;
  for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
    perp_lcp_problem q = make((perp_lcp_recipe){ .family = names[k], .n = 12, .seed = 5 }), c;
    double x[12], y[12], unit[12], A[144], b[12];
    int perm[12];
    perp_rng *rng = perp_rng_create(4);
    for (int i = 0; i < 12; i++) {
      perm[i] = i;
      x[i] = perp_rng_uniform(rng, -0.2, 1);
    }
    const perp_lcp_judgement before = judge(&q.p, x);
    if (perp_lcp_problem_copy(&ctx, &q, &c) != PERP_OK) bail("%s", ctx.msg);
    if (q.p.cone == NULL) perp_rng_shuffle(rng, perm, 12);
    if (perp_lcp_problem_permute(&ctx, &c, perm) != PERP_OK) bail("%s", ctx.msg);
    for (int i = 0; i < 12; i++) y[i] = x[perm[i]];
    const perp_lcp_judgement after = judge(&c.p, y);
    turned += !(fabs(after.data - before.data) <= 1e-14 * before.data) ||
              !(fabs(after.rel - before.rel) <= 1e-14 * before.rel);
    perp_lcp_problem_free(&c);
    /* rows in other units; both rows of a cone in the same */
    for (int e = -12; e <= 12; e += 3) {
      perp_lcp p = q.p;
      for (int i = 0; i < 12; i++) {
        const bool pair = p.cone != NULL && i > 0 && p.cone[i - 1];
        const double D = pair ? 1 / unit[i - 1] : pow(10, e * perp_rng_uniform(rng, 0.5, 1));
        unit[i] = 1 / D;
        b[i] = D * q.p.b[i];
        for (int j = 0; j < 12; j++) A[i + 12 * j] = D * q.p.A[i + 12 * j];
      }
      p.A = A;
      p.b = b;
      p.unit = unit;
      const perp_lcp_judgement j = judge(&p, x);
      scaled += !(fabs(j.data - before.data) <= 1e-13 * before.data) ||
                !(fabs(j.rel - before.rel) <= 1e-13 * before.rel);
      double s = pow(10, e);
      for (int i = 0; i < 144; i++) A[i] = s * q.p.A[i];
      for (int i = 0; i < 12; i++) b[i] = s * q.p.b[i];
      p.unit = q.p.unit;
      scaled += !(fabs(judge(&p, x).data - before.data) <= 1e-13 * before.data);
      for (int i = 0; i < 144; i++) A[i] = ldexp(q.p.A[i], 3 * e);
      for (int i = 0; i < 12; i++) b[i] = ldexp(q.p.b[i], 3 * e);
      powers += judge(&p, x).data != before.data;
    }
    perp_rng_destroy(rng);
    perp_lcp_problem_free(&q);
  }
  ok(turned == 0, "rel and data are the same when rows are reordered");
  ok(scaled == 0, "rel and data are the same in other units of rows and of all");
  ok(powers == 0, "data is bit for bit the same under scaling by powers of two");
}

/* A method from outside that makes the problem easy: what is judged is out of its reach. */
static perp_status liar_create(perp_ctx *c, int max_n, const void *opts, void **ws)
{
  (void)c;
  (void)max_n;
  (void)opts;
  *ws = NULL;
  return PERP_OK;
}
static perp_status liar_solve(perp_ctx *c, void *ws, const perp_lcp *p, double *lambda, double *z,
                              perp_stats *stats)
{
  (void)c;
  (void)ws;
  const size_t n = (size_t)p->n;
  memset((void *)(uintptr_t)p->b, 0, n * sizeof *p->b);
  if (p->A != NULL) memset((void *)(uintptr_t)p->A, 0, n * n * sizeof *p->A);
  if (p->F != NULL) memset((void *)(uintptr_t)p->F->J, 0, sizeof *p->F->J);
  if (p->lo != NULL) memset((void *)(uintptr_t)p->lo, 0, n * sizeof *p->lo);
  if (p->mu != NULL) memset((void *)(uintptr_t)p->mu, 0, n * sizeof *p->mu);
  if (p->fric_of != NULL) memset((void *)(uintptr_t)p->fric_of, 0xff, n * sizeof *p->fric_of);
  if (p->cone != NULL) memset((void *)(uintptr_t)p->cone, 0, n);
  for (size_t i = 0; i < n; i++) lambda[i] = z[i] = 0;
  stats->reason = PERP_EXACT;
  return PERP_OK;
}
static void liar_destroy(void *ws)
{
  (void)ws;
}
static void check_liar(void)
{
  static const perp_lcp_desc liar = {
    .d = { .name = "liar",
           .summary = "makes every problem easy",
           .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_CONE |
                   PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE | PERP_LCP_FACTORED },
    .create = liar_create,
    .solve = liar_solve,
    .destroy = liar_destroy
  };
  perp_spec spec = { &liar.d, NULL };
  static const char *const names[] = { "spd", "stack-box", "stack-cone", "stack-cone" };
  for (int k = 0; k < 4; k++)
    for (int scaled = 0; scaled < 2; scaled++) {
      perp_lcp_problem q = make(
                           (perp_lcp_recipe){ .family = names[k], .n = 12, .factored = k == 3 }),
                       kept;
      const int n = q.p.n, nv = q.p.F != NULL ? q.p.F->nv : 0;
      double x[24] = { 0 };
      perp_stats stats;
      perp_lcp_judgement j;
      perp_lcp_solver *s;
      if (perp_lcp_problem_copy(&ctx, &q, &kept) != PERP_OK ||
          perp_lcp_create(&ctx, &spec, n, nv, &s) != PERP_OK ||
          perp_lcp_equilibrate(&ctx, s, scaled) != PERP_OK ||
          perp_lcp_solve(&ctx, s, &q.p, 1e-8, x, NULL, scaled ? &j : NULL, &stats) != PERP_OK)
        bail("%s", ctx.msg);
      bool same = memcmp(q.p.b, kept.p.b, sizeof(double) * (size_t)n) == 0;
      if (q.p.A != NULL)
        same = same && memcmp(q.p.A, kept.p.A, sizeof(double) * (size_t)(n * n)) == 0;
      if (q.p.F != NULL) same = same && q.p.F->J[0] == kept.p.F->J[0];
      if (q.p.cone != NULL) same = same && memcmp(q.p.cone, kept.p.cone, (size_t)n) == 0;
      if (q.p.fric_of != NULL)
        same = same && memcmp(q.p.fric_of, kept.p.fric_of, sizeof(int) * (size_t)n) == 0;
      ok(same && stats.reason == PERP_INACCURATE && stats.residual > 1e-3,
         "%s%s%s: a method that changes its problem is judged on the problem as it was", names[k],
         k == 3 ? ", factored" : "", scaled ? ", equilibrated" : "");
      perp_lcp_destroy(s);
      perp_lcp_problem_free(&q);
      perp_lcp_problem_free(&kept);
    }
}

static void check_friction(void)
{
  /* one contact, A = I: normal 1, tangential data (3, 4) */
  double A[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, b[3] = { -1, -3, -4 }, mu[3] = { 0, 0.5, 0.5 };
  int of[3] = { -1, 0, 0 };
  signed char cone[3] = { 0, 1, 0 };
  perp_lcp p = { .n = 3, .A = A, .lda = 3, .b = b, .fric_of = of, .mu = mu };
  double box[3] = { 1, 0.5, 0.5 }, disc[3] = { 1, 0.3, 0.4 };
  near(judge(&p, box).rel, 0, 0, 0, "box friction: both components at mu lambda_n");
  ok(judge(&p, disc).rel > 0.01, "the disc's answer is not the box's");
  p.cone = cone;
  below(judge(&p, disc).rel, 1e-16, "circular cone: opposed to slip, on the circle");
  below(judge(&p, disc).fclib, 1e-16, "circular cone: De Saxce's map vanishes too");
  ok(judge(&p, box).rel > 0.01, "the box's answer is not the disc's");
  double lo[3] = { 0, -0.25, -0.25 }, hi[3] = { HUGE_VAL, 0.25, 0.25 };
  double frozen[3] = { 1, 0.25, 0.25 };
  p.cone = NULL;
  p.frozen = true;
  p.lo = lo;
  p.hi = hi;
  perp_lcp_judgement j = judge(&p, frozen);
  near(j.rel, 0, 0, 0, "fixed limits are judged on the limits");
  near(j.coupling, 0.5, 0, 1e-15, "coupling: limit 0.25 where mu lambda_n = 0.5");
  p.frozen = false;
  ok(judge(&p, frozen).rel > 0.01, "the same answer does not pass with final normal multipliers");
}

static void check_families(void)
{
  int unsolved = 0, unequal = 0, count = 0;
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++) {
    for (int k = 1; k <= 3; k++) {
      int n = perp_lcp_family_rows(f, 24 * k);
      perp_lcp_problem q = make((perp_lcp_recipe){ .family = f->name, .n = n, .seed = 7 });
      perp_lcp_problem again = make((perp_lcp_recipe){ .family = f->name, .n = n, .seed = 7 });
      perp_lcp_problem turned = make((perp_lcp_recipe){
          .family = f->name, .n = n, .seed = 9, .permute = true, .scale = 1e-9 });
      count++;
      if (perp_lcp_check(&ctx, &q.p, NULL) != PERP_OK) bail("%s: %s", f->name, ctx.msg);
      unequal += memcmp(q.p.A, again.p.A, sizeof(double) * (size_t)(n * n)) != 0 ||
                 memcmp(q.p.b, again.p.b, sizeof(double) * (size_t)n) != 0;
      if (q.solution != NULL) {
        double rel = judge(&q.p, q.solution).rel, other = judge(&turned.p, turned.solution).rel;
        /* multipliers of 2^47 times the data: rounding of scaled data alone leaves 2 % of them */
        if (strcmp(f->name, "csizmadia") == 0 && n == 48) other = 0;
        if (!(rel <= 1e-13 && other <= 1e-13)) {
          printf("# %s n = %d: planted solution has rel %g, permuted and scaled %g\n", f->name, n,
                 rel, other);
          unsolved++;
        }
      }
      if (f->factored) {
        perp_lcp_problem c = make(
            (perp_lcp_recipe){ .family = f->name, .n = n, .seed = 7, .factored = true });
        double x[200];
        for (int r = 0; r < n; r++) x[r] = (r * 37 % 11) / 11.0;
        perp_lcp_judgement a = judge(&q.p, x), b = judge(&c.p, x);
        if (!(fabs(a.rel - b.rel) <= 1e-13 * a.rel &&
              fabs(a.componentwise - b.componentwise) <= 1e-12 * a.componentwise &&
              fabs(a.fclib - b.fclib) <= 1e-12 * a.fclib)) {
          printf("# %s n = %d: dense %g factored %g\n", f->name, n, a.rel, b.rel);
          unequal++;
        }
        perp_lcp_problem_free(&c);
      }
      perp_lcp_problem_free(&q);
      perp_lcp_problem_free(&again);
      perp_lcp_problem_free(&turned);
    }
  }
  /* nothing but rounding of the product: n eps = 2e-14 for the largest, measured 4e-16 */
  ok(unsolved == 0, "planted solutions pass the judge (%d problems)", count);
  ok(unequal == 0, "equal recipes give equal bits; factored and dense forms are judged alike");
}

static void check_rows(void)
{
  int wrong = 0;
  const perp_lcp_family *f;
  for (int i = 0; (f = perp_lcp_family_at(i)) != NULL; i++)
    for (int n = 1; n < 400; n++) {
      int valid = perp_lcp_family_rows(f, n);
      wrong += valid < f->least || valid > f->most || perp_lcp_family_rows(f, valid) != valid;
    }
  ok(wrong == 0, "the nearest valid number of rows is valid");
  static const struct {
    const char *family;
    int boxes, n;
  } known[] = { { "stack", 16, 64 },         { "stack-friction", 8, 192 }, { "stack-box", 4, 48 },
                { "incline-slide", 1, 24 },  { "wall", 14, 88 },           { "wall", 60, 424 },
                { "wall-friction", 8, 264 }, { "wall-box", 8, 132 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    f = perp_lcp_family_find(known[k].family);
    int n = perp_lcp_family_rows_of_boxes(f, known[k].boxes);
    if (!ok(n == known[k].n, "%s of %d boxes has %d rows", known[k].family, known[k].boxes,
            known[k].n))
      printf("# got %d\n", n);
  }
}

/* lambda of a pyramid goes back to its friction problem */
static void check_pyramid(void)
{
  perp_lcp_problem fc = make((perp_lcp_recipe){ .family = "stack-box", .n = 12 }), st;
  if (perp_lcp_pyramid(&ctx, &fc, 4, &st) != PERP_OK) bail("%s", ctx.msg);
  ok(st.p.n == 24 && st.solution != NULL, "a cube has 24 rows in the Stewart-Trinkle form");
  double x[12], worst = 0;
  perp_lcp_pyramid_back(&fc.p, 4, st.solution, x);
  for (int i = 0; i < 12; i++) worst = fmax(worst, fabs(x[i] - fc.solution[i]));
  below(worst, 0, "its planted solution is the one of the friction problem");
  perp_lcp_problem_free(&st);
  ok(perp_lcp_pyramid(&ctx, &fc, 2, &st) == PERP_ERR_ARG, "two directions span no plane");
  perp_lcp_problem_free(&fc);
}

static bool count_only(void *user, const double *lambda, const double *w, const signed char *state)
{
  (void)lambda;
  (void)w;
  (void)state;
  ++*(int *)user;
  return true;
}

/* numbers of basic solutions known from the literature */
static void check_enumeration(void)
{
  static const struct {
    const char *family;
    int n, solutions;
  } known[] = { { "cps-1", 2, 2 },          { "cps-2", 3, 1 },           { "cps-3", 4, 3 },
                { "cps-4", 4, 1 },          { "cps-5", 2, 1 },           { "pang", 3, 1 },
                { "pang-perturbed", 3, 0 }, { "nosol", 4, 0 },           { "negative", 1, 0 },
                { "zero-row", 2, 0 },       { "free-infeasible", 2, 0 }, { "murty2", 8, 1 },
                { "fathi", 8, 1 },          { "kostreva", 3, 1 },        { "csizmadia", 8, 1 } };
  for (size_t k = 0; k < sizeof known / sizeof *known; k++) {
    perp_lcp_problem q = make((perp_lcp_recipe){ .family = known[k].family, .n = known[k].n });
    int count, calls = 0;
    bool complete;
    if (perp_lcp_all_solutions(&ctx, &q.p, 1e-10, count_only, &calls, &count, &complete) != PERP_OK)
      bail("%s", ctx.msg);
    if (!ok(count == known[k].solutions && calls == count && complete, "%s has %d basic solutions",
            known[k].family, known[k].solutions))
      printf("# got %d\n", count);
    perp_lcp_problem_free(&q);
  }
}

/* Contacts, several in a row on the same bodies, with inertia diagonal or not: the scales are those
 * of A, and a team finds the same bits as one alone. */
static void check_team(void)
{
  enum { BODIES = 60, CONTACTS = 60, KINDS = 12 };
  perp_rng *g = perp_rng_create(7);
  for (int kind = 0; kind < KINDS; kind++) {
    random_lcp r = random_factored(g, BODIES, CONTACTS, SHAPE_CONTACTS, kind % 3, kind / 3 % 2);
    const perp_lcp *p = random_as_factored(&r);
    perp_blocks *F = &r.F;
    int *jblk = (int *)(uintptr_t)F->jblk; /* all of it belongs to r */
    for (int c = 0; c + 1 < F->nc; c++)
      if (c % 4 != 3 && F->jptr[c + 2] - F->jptr[c + 1] == F->jptr[c + 1] - F->jptr[c])
        for (int k = F->jptr[c]; k < F->jptr[c + 1]; k++)
          jblk[k + F->jptr[c + 1] - F->jptr[c]] = jblk[k];
    perp_blocks_transpose(F->nb, F->nc, F->jptr, F->jblk, (int *)(uintptr_t)F->jgrp,
                          (int *)(uintptr_t)F->tptr, (int *)(uintptr_t)F->tsub);
    unsigned char *diag = random_own(&r, BODIES, sizeof *diag);
    for (int b = 0; b < BODIES && kind >= KINDS / 2; b++) {
      diag[b] = (unsigned char)(b % 3 > 0);
      for (int i = 0; i < 36 && diag[b]; i++)
        if (i % 7 != 0) ((double *)(uintptr_t)F->Minv)[F->mptr[b] + i] = 0;
    }
    if (kind >= KINDS / 2) F->diag = diag;
    const int n = p->n;
    double inner[64], *x = random_own(&r, n, sizeof *x);
    double *scratch = random_own(&r, PERP_LCP_SCRATCH(n, F->nv), sizeof *scratch);
    double *a[4], *w[4], rel[4], worst = 0;
    perp_blocks_delassus(F, r.A, n, inner);
    for (int i = 0; i < n; i++) x[i] = perp_rng_uniform(g, -1, 1);
    bool same = true;
    for (int threads = 0; threads < 4; threads++) {
      a[threads] = random_own(&r, n, sizeof *x);
      w[threads] = random_own(&r, n, sizeof *x);
      F->threads = threads;
      perp_lcp_scales(p, a[threads], scratch);
      perp_lcp_product(p, x, w[threads], scratch);
      rel[threads] = perp_lcp_rel(p, a[threads], x, w[threads]);
      same = same && memcmp(a[threads], a[0], (size_t)n * sizeof *x) == 0 &&
             memcmp(w[threads], w[0], (size_t)n * sizeof *x) == 0 && rel[threads] == rel[0];
    }
    ok(same, "kind %d: a team of 1, 2, 3 finds the same bits", kind);
    for (int i = 0; i < n; i++) {
      double top = 0, sum = p->b[i];
      for (int j = 0; j < n; j++) {
        top = fmax(top, fabs(r.A[i + j * n]));
        sum += r.A[i + j * n] * x[j];
      }
      worst = fmax(worst, fmax(fabs(a[0][i] - top), fabs(w[0][i] - sum)) / top);
    }
    near(worst, 0, 1e-12, 0, "kind %d: scales and products of contacts are those of A", kind);
    random_free(&r);
  }
  perp_rng_destroy(g);
}

/* Problems that make no sense, one fault each: bounds given on one side only, and cones of other
 * than two like rows. */
static void no_sense(void)
{
  const double A[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, b[3] = { 0, 0, 0 },
               low[3] = { 0, HUGE_VAL, 0 }, high[3] = { 1, -HUGE_VAL, 1 }, mu[3] = { 0, 0.5, 0.5 },
               other[3] = { 0, 0.5, 0.4 };
  const int fric_of[3] = { -1, 0, 0 };
  const signed char cone[3] = { 0, 1, 0 }, two[3] = { 0, 1, 1 }, last[3] = { 0, 0, 1 };
  const perp_lcp plain = { .n = 3, .A = A, .lda = 3, .b = b };
  perp_lcp below = plain, above = plain, good = plain;
  below.lo = low;
  above.hi = high;
  good.fric_of = fric_of, good.mu = mu, good.cone = cone;
  perp_lcp unlike = good, twice = good, half = good;
  unlike.mu = other, twice.cone = two, half.cone = last;
  ok(perp_lcp_check(&ctx, &plain, NULL) == PERP_OK && perp_lcp_check(&ctx, &good, NULL) == PERP_OK,
     "a problem of three rows, and with a cone");
  ok(perp_lcp_check(&ctx, &below, NULL) == PERP_ERR_ARG, "lo = inf, without hi");
  ok(perp_lcp_check(&ctx, &above, NULL) == PERP_ERR_ARG, "hi = -inf, without lo");
  ok(perp_lcp_check(&ctx, &unlike, NULL) == PERP_ERR_ARG, "a cone of two mu");
  ok(perp_lcp_check(&ctx, &twice, NULL) == PERP_ERR_ARG, "a cone that begins in one");
  ok(perp_lcp_check(&ctx, &half, NULL) == PERP_ERR_ARG, "half a cone");
  perp_lcp without = good;
  without.mu = NULL, without.cone = NULL;
  ok(perp_lcp_check(&ctx, &without, NULL) == PERP_ERR_ARG, "friction rows without mu");
  /* one fault alone: all else holds, also behind the last row */
  static const struct {
    const char *what;
    int n, fric_of[4];
    signed char cone[4];
    double mu[4];
  } one[] = {
    { "of two normal rows", 4, { -1, -1, 0, 1 }, { 0, 0, 1, 0 }, { 0, 0, 1, 1 } },
    { "of two mu", 4, { -1, -1, 0, 0 }, { 0, 0, 1, 0 }, { 0, 0, 1, 2 } },
    { "that begins in another", 4, { -1, 0, 0, 0 }, { 0, 1, 1, 0 }, { 0, 1, 1, 1 } },
    { "with half of it behind the end", 3, { -1, 0, 0, 0 }, { 0, 0, 1, 0 }, { 0, 1, 1, 1 } },
    { "of rows without friction", 4, { -1, -1, -1, 1 }, { 0, 1, 0, 0 }, { 0, 1, 1, 1 } },
  };
  for (size_t k = 0; k < sizeof one / sizeof *one; k++) {
    const double I[16] = { 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1 }, none[4] = { 0 };
    perp_lcp p = { .n = one[k].n, .A = I, .lda = 4, .b = none };
    p.fric_of = one[k].fric_of, p.mu = one[k].mu;
    ok(perp_lcp_check(&ctx, &p, NULL) == PERP_OK, "friction without cones is fine");
    p.cone = one[k].cone;
    ok(perp_lcp_check(&ctx, &p, NULL) == PERP_ERR_ARG, "a cone %s", one[k].what);
  }
  perp_lcp lone = plain;
  lone.cone = cone;
  ok(perp_lcp_check(&ctx, &lone, NULL) == PERP_ERR_ARG, "a cone without friction");
}

int main(void)
{
  perp_ctx_init(&ctx);
  check_figures();
  check_invariance();
  check_safeguard();
  check_rest();
  check_absorption();
  check_data();
  check_cone_data();
  check_data_invariance();
  check_liar();
  check_friction();
  check_families();
  check_rows();
  check_pyramid();
  check_enumeration();
  check_team();
  check_team_cones();
  no_sense();
  return tap_done();
}
