/* SPDX-License-Identifier: GPL-3.0-or-later */
/* All solutions: games with known numbers of equilibria, known sets of solutions, and the verdicts
 * of sensitivities.  A symmetric game of payoffs U > 0 has the equilibria x = z / sum(z) of
 * w = 1 - U z >= 0, z >= 0 complementary, z != 0. */
#include "solvers/lcp/problem.h"
#include "solvers/lcp/pivoting/sensitivity.h"
#include "solvers/lcp/pivoting/solution_set.h"
#include "tests/tap.h"

enum { N = 20 };
static perp_ctx ctx;
static double A[N * N], b[N], lo[N], hi[N], mu[N];
static int fric_of[N];

static perp_lcp_solutions found(const perp_lcp *lcp)
{
  perp_lcp_solutions s;
  if (perp_lcp_solutions_find(&ctx, lcp, 1e-10, 1e-9, &s) != PERP_OK) bail("%s", ctx.msg);
  return s;
}

/* Payoffs U [n n] by rows, made positive. */
static perp_lcp game(int n, const double *U)
{
  double least = 0;
  for (int k = 0; k < n * n; k++) least = fmin(least, U[k]);
  for (int i = 0; i < n; i++) {
    b[i] = 1;
    for (int j = 0; j < n; j++) A[i + j * n] = -(U[i * n + j] - least + 1);
  }
  return (perp_lcp){ .n = n, .A = A, .lda = n, .b = b };
}

/* z = 0 is a solution and no equilibrium */
static void equilibria(const char *name, int n, const double *U, int count, int points)
{
  const perp_lcp lcp = game(n, U);
  perp_lcp_solutions s = found(&lcp);
  int isolated = 0;
  for (int k = 0; k < s.parts; k++) isolated += s.part[k].count == 1 && s.part[k].bounded;
  ok(s.complete && s.count - 1 == count && isolated - 1 == points,
     "%s: %d extreme symmetric equilibria, %d of them isolated (known: %d, %d)", name, s.count - 1,
     isolated - 1, count, points);
  perp_lcp_solutions_free(&s);
}

static void games(void)
{
  static const double rock[] = { 0, -1, 1, 1, 0, -1, -1, 1, 0 }, hawk[] = { -1, 4, 0, 2 },
                      prisoner[] = { 3, 0, 5, 1 }, stag[] = { 4, 0, 3, 3 }, same[] = { 1, 1, 1, 1 },
                      twin[] = { 1, 1, 0, 1, 1, 0, 0, 0, 2 };
  equilibria("rock, paper, scissors", 3, rock, 1, 1);
  equilibria("hawk and dove", 2, hawk, 1, 1);
  equilibria("the prisoner's dilemma", 2, prisoner, 1, 1);
  equilibria("stag hunt", 2, stag, 3, 3);
  equilibria("two strategies that are the same", 2, same, 2, 0);
  /* each of the twins, the third, and mixtures of the third with a twin: two segments */
  equilibria("coordination with twins", 3, twin, 5, 1);
  for (int n = 1; n <= 10; n++) { /* each support: 2^n - 1 */
    double U[100] = { 0 };
    for (int i = 0; i < n; i++) U[i * n + i] = 1 + i;
    if (n == 1 || n == 4 || n == 10) equilibria("coordination", n, U, (1 << n) - 1, (1 << n) - 1);
  }
}

/* [0 -U; -V' 0]: two players; battle of the sexes has 3, matching pennies 1 */
static void bimatrix(void)
{
  static const double game_U[2][4] = { { 3, 1, 1, 2 }, { 2, 1, 1, 2 } },
                      game_V[2][4] = { { 2, 1, 1, 3 }, { 1, 2, 2, 1 } };
  static const int known[] = { 3, 1 };
  for (int k = 0; k < 2; k++) {
    memset(A, 0, sizeof A);
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < 2; j++) {
        A[i + (2 + j) * 4] = -game_U[k][i * 2 + j];
        A[2 + j + i * 4] = -game_V[k][i * 2 + j];
      }
    for (int i = 0; i < 4; i++) b[i] = 1;
    const perp_lcp lcp = { .n = 4, .A = A, .lda = 4, .b = b };
    perp_lcp_solutions s = found(&lcp);
    ok(s.count - 1 == known[k], "%s: %d equilibria", k ? "matching pennies" : "battle of the sexes",
       s.count - 1);
    perp_lcp_solutions_free(&s);
  }
}

static void sets(void)
{
  /* one body on four points: forces that sum to 1 */
  for (int k = 0; k < 16; k++) A[k] = 1;
  for (int i = 0; i < 4; i++) b[i] = -1;
  perp_lcp lcp = { .n = 4, .A = A, .lda = 4, .b = b };
  perp_lcp_solutions s = found(&lcp);
  ok(s.count == 4 && s.parts == 1 && s.part[0].count == 4 && s.part[0].dimension == 3 &&
         s.part[0].bounded,
     "a weight on four points: a tetrahedron");
  perp_lcp_solutions_free(&s);
  /* A = 0, b = 0: a quadrant; with a box a strip; a free row: a line */
  memset(A, 0, sizeof A);
  memset(b, 0, sizeof b);
  lcp.n = 2;
  s = found(&lcp);
  ok(s.count == 1 && s.parts == 1 && !s.part[0].bounded && s.part[0].ray[0] >= 0,
     "A = 0, b = 0: a quadrant");
  perp_lcp_solutions_free(&s);
  lcp.lo = lo;
  lcp.hi = hi;
  hi[0] = 1;
  hi[1] = 2;
  s = found(&lcp);
  ok(s.count == 4 && s.parts == 1 && s.part[0].dimension == 2 && s.part[0].bounded,
     "A = 0 in a box: a rectangle");
  perp_lcp_solutions_free(&s);
  lo[0] = -HUGE_VAL;
  hi[0] = HUGE_VAL;
  hi[1] = 0;
  s = found(&lcp);
  ok(s.count == 1 && !s.part[0].bounded && fabs(s.part[0].ray[0]) == 1 && s.part[0].ray[1] == 0,
     "a free row that nothing holds: a line");
  perp_lcp_solutions_free(&s);
  lo[0] = 0;
  /* no solution at all */
  A[0] = -1;
  b[0] = -1;
  lcp = (perp_lcp){ .n = 1, .A = A, .lda = 1, .b = b };
  s = found(&lcp);
  ok(s.count == 0 && s.complete && s.parts == 0, "no solution: excluded");
  perp_lcp_solutions_free(&s);
  /* Painleve: a normal force through friction against itself, w_n = (1 - 2) n + 1: two solutions */
  const double jam[] = { 1, 0, -2, 1 };
  b[0] = 1;
  b[1] = -1;
  fric_of[0] = -1;
  fric_of[1] = 0;
  mu[1] = 1;
  lcp = (perp_lcp){ .n = 2, .A = jam, .lda = 2, .b = b, .fric_of = fric_of, .mu = mu };
  s = found(&lcp);
  ok(s.count == 2 && s.parts == 2, "Painleve's rod: it jams, or lifts off (%d)", s.count);
  perp_lcp_solutions_free(&s);
}

/* ---- limits and verdicts ---- */

static void limits(void)
{
  perp_lcp_solutions s;
  perp_lcp lcp = { .n = 21, .A = NULL };
  static double big[21 * 21], ones[21];
  for (int i = 0; i < 21; i++) big[i * 22] = ones[i] = 1;
  lcp.A = big;
  lcp.lda = 21;
  lcp.b = ones;
  ok(perp_lcp_solutions_find(&ctx, &lcp, 1e-10, 1e-9, &s) == PERP_ERR_UNSUPPORTED &&
         strstr(ctx.msg, "20") != NULL,
     "21 rows: %s", ctx.msg);
  memset(A, 0, sizeof A);
  memset(b, 0, sizeof b);
  for (int i = 0; i < 13; i++) lo[i] = 0, hi[i] = 1;
  lcp = (perp_lcp){ .n = 13, .A = A, .lda = 13, .b = b, .lo = lo, .hi = hi };
  s = found(&lcp);
  ok(s.count == PERP_SOLUTIONS_MOST && !s.complete, "8192 corners of a cube: %d, not complete",
     s.count);
  perp_lcp_solutions_free(&s);
}

static perp_lcp_sensitivity sense(const perp_lcp *lcp, const double *lambda, double *db,
                                  double *down, perp_lcp_smooth *kind)
{
  perp_lcp_sensitivity z = { .db = db, .db_down = down, .kind = kind };
  if (perp_lcp_sensitivity_find(&ctx, lcp, lambda, 0, &z) != PERP_OK) bail("%s", ctx.msg);
  return z;
}

static void verdicts(void)
{
  double db[4], down[4];
  perp_lcp_smooth kind[2];
  /* lambda = max(0, -b): a kink at b = 0 */
  static const double one[] = { 1 }, none[] = { 0 }, zero[] = { 0, 0 }, two[] = { 1, 1, 1, 1 },
                      load[] = { -1, -1 }, half[] = { 0.5, 0.5 }, off[] = { 0.4, 0.4 };
  perp_lcp lcp = { .n = 1, .A = one, .lda = 1, .b = none };
  perp_lcp_sensitivity z = sense(&lcp, zero, db, down, kind);
  ok(z.verdict == PERP_BASIS_DEGENERATE && kind[0] == PERP_SMOOTH_SIDES && db[0] == 0 &&
         down[0] == -1,
     "max(0, -b) at its kink: 0 above, -1 below");
  lcp = (perp_lcp){ .n = 2, .A = two, .lda = 2, .b = load };
  z = sense(&lcp, half, db, down, kind);
  ok(z.verdict == PERP_BASIS_SINGULAR && isnan(db[0]),
     "two equal contacts that share a load: singular");
  z = sense(&lcp, off, db, down, kind);
  ok(z.verdict == PERP_BASIS_NONE && z.row == 0, "no solution: said");
  /* a contact that opens lets its friction go: |lambda_t| <= mu lambda_n at lambda_n = 0 */
  static const double unit[] = { 1, 0, 0, 1 };
  fric_of[0] = -1;
  fric_of[1] = 0;
  mu[1] = 0.5;
  lcp = (perp_lcp){ .n = 2, .A = unit, .lda = 2, .b = zero, .fric_of = fric_of, .mu = mu };
  z = sense(&lcp, zero, db, down, kind);
  ok(z.verdict == PERP_BASIS_DEGENERATE && kind[0] == PERP_SMOOTH_SIDES && down[0] == -1 &&
         kind[1] == PERP_SMOOTH && db[3] == 0,
     "a contact that touches: its friction begins with its normal force");
  static const signed char cone[] = { 0, 1, 0 };
  static const double space[] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, c[] = { -1, 0, 0 },
                      x[] = { 1, 0, 0 };
  static const int of[] = { -1, 0, 0 };
  static const double m[] = { 0, 0.5, 0.5 };
  lcp = (perp_lcp){ .n = 3, .A = space, .lda = 3, .b = c, .fric_of = of, .mu = m, .cone = cone };
  perp_lcp_sensitivity out = { 0 };
  ok(perp_lcp_sensitivity_find(&ctx, &lcp, x, 0, &out) == PERP_ERR_UNSUPPORTED, "a cone: %s",
     ctx.msg);
}

int main(void)
{
  for (int i = 0; i < N; i++) hi[i] = HUGE_VAL, fric_of[i] = -1;
  games();
  bimatrix();
  sets();
  limits();
  verdicts();
  return tap_done();
}
