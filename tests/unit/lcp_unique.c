/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Are the impulses of contacts unique, and which of them stop everything?  Bodies of mass 1 and
 * inertia 1 on a plane, for which both are known. */
#include "solvers/lcp/unique.h"
#include "tests/tap.h"

#include <string.h>

enum { MOST = 24 };

static perp_ctx ctx;
static perp_unique *unique;

/* A body in space (centre of mass at the origin, mass 1, inertia 1) and contacts below it at (x, y,
 * z), normal up. */
typedef struct body {
  int nc;
  double at[8][3], mu[8];
  double J[MOST][6], A[MOST * MOST], b[MOST];
} body;

static body stand(int nc, const double at[][3], double mu, const double v[6])
{
  body B = { .nc = nc };
  static const double d[3][3] = { { 0, 0, 1 }, { 1, 0, 0 }, { 0, 1, 0 } };
  for (int c = 0; c < nc; c++) {
    B.mu[c] = mu;
    for (int k = 0; k < 3; k++) {
      double *J = B.J[3 * c + k];
      const double *r = at[c], *e = d[k];
      memcpy(J, e, 3 * sizeof *J);
      J[3] = r[1] * e[2] - r[2] * e[1];
      J[4] = r[2] * e[0] - r[0] * e[2];
      J[5] = r[0] * e[1] - r[1] * e[0];
    }
  }
  const int n = 3 * nc;
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < n; j++)
      for (int k = 0; k < 6; k++) B.A[i + j * n] += B.J[i][k] * B.J[j][k];
    for (int k = 0; k < 6; k++) B.b[i] += B.J[i][k] * v[k];
  }
  return B;
}

static perp_unique_problem problem(const body *B)
{
  return (perp_unique_problem){ .nc = B->nc,
                                .r = 3,
                                .n = 3 * B->nc,
                                .A = B->A,
                                .lda = 3 * B->nc,
                                .b = B->b,
                                .mu = B->mu,
                                .tol = 1e-9 };
}

static void velocities(const body *B, const double *lambda, double *w)
{
  const int n = 3 * B->nc;
  for (int i = 0; i < n; i++) {
    w[i] = B->b[i];
    for (int j = 0; j < n; j++) w[i] += B->A[i + j * n] * lambda[j];
  }
}

static void impulses(const char *what, bool expected, const body *B, const double *lambda)
{
  double w[MOST];
  velocities(B, lambda, w);
  const perp_unique_problem p = problem(B);
  ok(perp_unique_impulses(unique, &p, lambda, w) == expected, "%s: %s", what,
     expected ? "unique" : "not unique");
}

static const double feet[4][3] = { { 1, 1, -1 }, { -1, 1, -1 }, { -1, -1, -1 }, { 1, -1, -1 } };
static const double down[6] = { 0, 0, -1 };

static void rank(void)
{
  const double one[1][3] = { { 0, 0, -1 } }, ball[3] = { 1 };
  body B = stand(1, one, 0.5, down);
  impulses("a sphere on a plane", true, &B, ball);
  B = stand(4, feet, 0.5, down);
  double even[12] = { 0 }, legs[12] = { 0 };
  for (int c = 0; c < 4; c++) even[3 * c] = 0.25;
  impulses("four feet that stick", false, &B, even);
  legs[0] = legs[6] = 0.5;
  impulses("four feet, two of them without a force", false, &B, legs);
  B = stand(4, feet, 0, down);
  impulses("four feet without friction", false, &B, even);
  impulses("four feet without friction, two of them without a force", false, &B, legs);
  B = stand(3, feet, 0, down);
  const double three[9] = { 0.5, 0, 0, 0, 0, 0, 0.5 };
  impulses("three feet without friction", true, &B, three);
  B = stand(3, feet, 0.5, down);
  impulses("three feet that stick", false, &B, three);
  /* the centre of mass is above the edge of two feet: the others have no force in any solution */
  const double edge[4][3] = { { 1, 0, -1 }, { -1, 0, -1 }, { -1, 2, -1 }, { 1, 2, -1 } };
  double on_edge[12] = { 0.5, 0, 0, 0.5 };
  B = stand(4, edge, 0, down);
  impulses("four feet, the weight on the edge of two", true, &B, on_edge);
  /* slides with 1 m/s along x: friction is -mu lambda_n; moment about y: mu on the arm 1 */
  const double sliding[6] = { 10, 0, -1 };
  body S = stand(4, feet, 0.5, sliding);
  double slides[12];
  const double front = 0.25 * (1 + 0.5), back = 0.25 * (1 - 0.5);
  for (int c = 0; c < 4; c++) {
    slides[3 * c] = feet[c][0] > 0 ? front : back;
    slides[3 * c + 1] = -0.5 * slides[3 * c];
    slides[3 * c + 2] = 0;
  }
  double w[12], left = 0;
  velocities(&S, slides, w);
  for (int c = 0; c < 4; c++) left = fmax(left, fabs(w[3 * c]));
  below(left, 1e-14, "the sliding box keeps its feet on the ground");
  impulses("four feet that slide", false, &S, slides);
}

static void stick(const char *what, bool expected, const body *B, const double *from,
                  double *lambda)
{
  double zero[MOST] = { 0 }, w[MOST];
  velocities(B, zero, w);
  for (int i = 0; i < 3 * B->nc; i++) lambda[i] = from != NULL ? from[i] : 0;
  const perp_unique_problem p = problem(B);
  if (!ok(perp_unique_stick(unique, &p, zero, w, lambda) == expected, "%s: %s", what,
          expected ? "stops" : "nothing stops it") ||
      !expected)
    return;
  double most = 0, beyond = 0;
  velocities(B, lambda, w);
  for (int i = 0; i < 3 * B->nc; i++) most = fmax(most, fabs(w[i]));
  for (int c = 0; c < B->nc; c++)
    beyond = fmax(beyond, hypot(lambda[3 * c + 1], lambda[3 * c + 2]) - B->mu[c] * lambda[3 * c]);
  below(most, 1e-9, "... with what is left of the velocities");
  below(beyond, 1e-12, "... within the cones");
}

static void sticks(void)
{
  double lambda[MOST];
  body B = stand(4, feet, 0.5, down);
  stick("a box that comes down", true, &B, NULL, lambda);
  for (int c = 0; c < 4; c++)
    near(lambda[3 * c], 0.25, 1e-12, 0, "... of least norm: a quarter on foot %d", c);
  double other[12] = { 0.5, 0, 0, 0, 0, 0, 0.5 };
  stick("the same from impulses that stop it", true, &B, other, lambda);
  double moved = 0;
  for (int i = 0; i < 12; i++) moved = fmax(moved, fabs(lambda[i] - other[i]));
  below(moved, 1e-12, "... which are kept");
  const double aslant[6] = { 0.3, 0, -1, 0, -0.3 };
  B = stand(4, feet, 0.5, aslant);
  stick("a box that slides at 0.3 of its fall", true, &B, NULL, lambda);
  const double fast[6] = { 3, 0, -1, 0, -3 };
  B = stand(4, feet, 0.5, fast);
  stick("a box that slides at 3 times its fall", false, &B, NULL, lambda);
  /* the least norm is beyond the cone of the feet that bear little: Dykstra's passes */
  const double bent[6] = { 0.2, 0.3, -1, -0.5, 0.1, 0.1 };
  B = stand(4, feet, 0.8, bent);
  stick("a box that also turns", true, &B, NULL, lambda);
  /* against every point of a set of solutions: none has a smaller norm.  Moves in the null space
   * that stay in the cones */
  double norm = 0;
  for (int i = 0; i < 12; i++) norm += lambda[i] * lambda[i];
  unsigned seed = 1;
  int smaller = 0;
  for (int k = 0; k < 2000; k++) {
    double x[12], y[12];
    for (int i = 0; i < 12; i++) {
      seed = seed * 1664525u + 1013904223u;
      x[i] = lambda[i] + 0.3 * ((double)(seed >> 8) / (1 << 24) - 0.5);
    }
    for (int i = 0; i < 12; i++) y[i] = x[i];
    const perp_unique_problem p = problem(&B);
    double zero[12] = { 0 }, w[12], size = 0;
    velocities(&B, zero, w);
    if (!perp_unique_stick(unique, &p, zero, w, y)) continue;
    for (int i = 0; i < 12; i++) size += y[i] * y[i];
    smaller += size < norm * (1 - 1e-9);
  }
  ok(smaller == 0, "... %d of 2000 other solutions have a smaller norm", smaller);
}

/* ---- to rounding ---- */

/* Sweeps over contacts, each by itself: the normal row, then friction projected on its circle or
 * box. */
static void sweep(const body *B, int law, int sweeps, double *lambda)
{
  const int n = 3 * B->nc;
  double w[MOST];
  for (int i = 0; i < sweeps * B->nc; i++) {
    const int at = 3 * (i % B->nc);
    double *x = lambda + at;
    for (int k = 0; k < 3; k++) {
      velocities(B, lambda, w);
      const double a = fmax(B->A[(at + 1) * (n + 1)], B->A[(at + 2) * (n + 1)]);
      if (k == 0) x[0] = fmax(0, x[0] - w[at] / B->A[at * (n + 1)]);
      const double most = B->mu[at / 3] * x[0];
      if (k == 0) continue;
      if (law == PERP_UNIQUE_BOX) {
        x[k] = fmax(-most, fmin(most, x[k] - w[at + k] / B->A[(at + k) * (n + 1)]));
      } else if (k == 1) {
        const double y1 = x[1] - w[at + 1] / a, y2 = x[2] - w[at + 2] / a,
                     f = fmin(1, most / fmax(hypot(y1, y2), 1e-300));
        x[1] = f * y1;
        x[2] = f * y2;
      }
    }
  }
}

/* What is left of Coulomb's law. */
static double left(const body *B, int law, const double *lambda)
{
  double w[MOST], worst = 0;
  velocities(B, lambda, w);
  for (int c = 0; c < B->nc; c++) {
    const double *x = lambda + 3 * c, *u = w + 3 * c, most = B->mu[c] * x[0];
    worst = fmax(worst, fabs(fmin(x[0], u[0])));
    const double y1 = x[1] - u[1], y2 = x[2] - u[2],
                 f = fmin(1, most / fmax(hypot(y1, y2), 1e-300));
    const bool box = law == PERP_UNIQUE_BOX;
    worst = fmax(worst, fabs(x[1] - (box ? fmax(-most, fmin(most, y1)) : f * y1)));
    worst = fmax(worst, fabs(x[2] - (box ? fmax(-most, fmin(most, y2)) : f * y2)));
  }
  return worst;
}

static void polish(const char *what, const body *B, int law, double moves)
{
  perp_unique_problem p = problem(B);
  p.tol = 1e-5;
  double lambda[MOST] = { 0 }, exact[MOST], w[MOST], error = 0, off = 0, far = 0;
  sweep(B, law, 4000, lambda);
  memcpy(exact, lambda, sizeof exact);
  for (int i = 0; i < p.n; i++) lambda[i] *= 1 + 1e-6 * (i % 3 - 1);
  velocities(B, lambda, w);
  const double before = left(B, law, lambda);
  ok(perp_unique_polish(unique, &p, law, lambda, w, &error) && before > 1e-7,
     "%s: brought to rounding from %.2g", what, before);
  below(left(B, law, lambda), 1e-12, "... Coulomb's law");
  double v[MOST], e[MOST];
  velocities(B, lambda, v);
  velocities(B, exact, e);
  for (int i = 0; i < p.n; i++) {
    off = fmax(off, fabs(v[i] - w[i]));
    far = fmax(far, fabs(v[i] - e[i]));
  }
  ok(off <= error && error < 1e-10, "... w is that of lambda, and its error is said: %.2g", error);
  below(far, moves, "... the velocities of the sweeps");
}

static void polishes(void)
{
  static const double three[][3] = { { 1, 0, -0.3 }, { -1, 0.7, -0.3 }, { -1, -0.8, -0.3 } };
  static const double four[][3] = {
    { 1, 1, -0.3 }, { -1, 1, -0.3 }, { -1, -1, -0.3 }, { 1, -1, -0.3 }
  };
  static const double turns[] = { 0.5, 0.2, -1, 0.01, 0.02, 1.5 }, slides[] = { 2, 1, -1, 0, 0, 0 },
                      falls[] = { 0.1, 0, -1, 0, 0, 0 };
  const body a = stand(3, three, 0.3, turns), b = stand(4, four, 0.3, slides),
             c = stand(4, four, 0.3, turns), d = stand(4, four, 0.3, falls);
  /* the motion of redundant contacts on circles depends on their impulses: it moves as much as
   * these do */
  polish("three contacts that slide and turn, circles", &a, PERP_UNIQUE_CIRCLE, 1e-10);
  polish("three contacts that slide and turn, boxes", &a, PERP_UNIQUE_BOX, 1e-10);
  polish("four that slide, circles", &b, PERP_UNIQUE_CIRCLE, 1e-10);
  polish("four that slide, boxes", &b, PERP_UNIQUE_BOX, 1e-10);
  polish("four that slide and turn, circles", &c, PERP_UNIQUE_CIRCLE, 1e-5);
  polish("four that slide and turn, boxes", &c, PERP_UNIQUE_BOX, 1e-10);
  polish("four that stick", &d, PERP_UNIQUE_CIRCLE, 1e-10);
  /* what sticks and does not have one velocity that stops it all has no solution */
  body odd = d;
  odd.b[0] -= 0.1;
  const perp_unique_problem p = problem(&odd);
  double lambda[MOST], w[MOST], error;
  for (int i = 0; i < p.n; i++) lambda[i] = i % 3 == 0;
  memset(w, 0, sizeof w);
  ok(!perp_unique_polish(unique, &p, PERP_UNIQUE_CIRCLE, lambda, w, &error),
     "equations without a solution are said to have none");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_unique_create(&ctx, &unique) != PERP_OK) bail("%s", ctx.msg);
  rank();
  sticks();
  polishes();
  perp_unique_destroy(unique);
  return tap_done();
}
