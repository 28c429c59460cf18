/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impact laws of one contact.  Stronge's path against a second implementation that knows no phases:
 * the normal impulse grows by small equal parts, and in each of them friction solves its own
 * implicit problem by projections.  Where the slip never stops also against Runge and Kutta in
 * Cartesian coordinates.  Chatterjee and Ruina's law against the formula with the inverse of A.
 * Energy never grows; numbers of Kane's rod. */
#include "models/contact/laws/impact.h"
#include "tests/tap.h"

#include <math.h>
#include <string.h>

static perp_ctx ctx;
static perp_rng *rng;

static double uniform(double lo, double hi)
{
  return perp_rng_uniform(rng, lo, hi);
}

static perp_impact problem(int r)
{
  perp_impact x = { .r = r, .mu = uniform(0, 1.2), .e = uniform(0, 1) };
  double B[9];
  for (int i = 0; i < r * r; i++) B[i] = uniform(-1, 1);
  for (int i = 0; i < r; i++)
    for (int k = 0; k < r; k++) {
      x.A[i + k * r] = i == k ? 0.2 : 0;
      for (int l = 0; l < r; l++) x.A[i + k * r] += B[i + l * r] * B[k + l * r];
    }
  for (int i = 0; i < r; i++) x.u[i] = uniform(-1, 1);
  x.u[0] = -uniform(0.1, 1);
  return x;
}

static void product(const perp_impact *x, const double *p, double *u)
{
  for (int i = 0; i < x->r; i++) {
    u[i] = x->u[i];
    for (int k = 0; k < x->r; k++) u[i] += x->A[i + k * x->r] * p[k];
  }
}

/* work of the impulse: 1/2 p . (u + u+) */
static double gain(const perp_impact *x, const double *p)
{
  double u[3], work = 0;
  product(x, p, u);
  for (int i = 0; i < x->r; i++) work += 0.5 * p[i] * (x->u[i] + u[i]);
  return work;
}

/* A small part of the path: friction t [2] of the part d of normal impulse, |t| <= mu d, opposed to
 * the slip at its end. */
static void part(const perp_impact *x, const double *u, double d, double *t)
{
  const int r = x->r;
  double trace = 0;
  for (int k = 1; k < r; k++) trace += x->A[k + k * r];
  for (int round = 0; round < 400; round++) {
    double end[2], size = 0, change = 0;
    for (int i = 1; i < r; i++) {
      end[i - 1] = u[i] + x->A[i] * d;
      for (int k = 1; k < r; k++) end[i - 1] += x->A[i + k * r] * t[k - 1];
    }
    double next[2] = { 0 };
    for (int k = 0; k < r - 1; k++) {
      next[k] = t[k] - end[k] / trace;
      size += next[k] * next[k];
    }
    size = sqrt(size);
    for (int k = 0; k < r - 1; k++) {
      if (size > x->mu * d) next[k] *= x->mu * d / size;
      change += fabs(next[k] - t[k]);
      t[k] = next[k];
    }
    if (change <= 1e-9 * d) break;
  }
}

static void by_parts(const perp_impact *x, int n, double *p)
{
  const int r = x->r;
  const double d = -x->u[0] / x->A[0] / n;
  double u[3], next[3], t[2] = { 0 }, compression = 0, restitution = 0;
  memcpy(u, x->u, sizeof u);
  memset(p, 0, 3 * sizeof *p);
  for (;;) {
    double q[3], slow = 1;
    part(x, u, d, t);
    q[0] = p[0] + d;
    for (int k = 1; k < r; k++) q[k] = p[k] + t[k - 1];
    product(x, q, next);
    const double work = 0.5 * d * (u[0] + next[0]);
    if (work <= 0)
      compression -= work;
    else if (restitution + work >= x->e * x->e * compression)
      slow = (x->e * x->e * compression - restitution) / work;
    else
      restitution += work;
    for (int k = 0; k < r; k++) p[k] += slow * (q[k] - p[k]);
    if (slow < 1) return;
    memcpy(u, next, sizeof u);
  }
}

/* dp/dp_n and d(work)/dp_n at p = y[0..2] */
static void cartesian(const perp_impact *x, const double *y, double *f)
{
  double u[3];
  product(x, y, u);
  const double slip = hypot(u[1], u[2]);
  f[0] = 1;
  f[1] = -x->mu * u[1] / slip;
  f[2] = -x->mu * u[2] / slip;
  f[3] = u[0];
}

static void cartesian_step(const perp_impact *x, double d, double *y)
{
  double k[4][4], z[4];
  cartesian(x, y, k[0]);
  for (int i = 0; i < 4; i++) z[i] = y[i] + d / 2 * k[0][i];
  cartesian(x, z, k[1]);
  for (int i = 0; i < 4; i++) z[i] = y[i] + d / 2 * k[1][i];
  cartesian(x, z, k[2]);
  for (int i = 0; i < 4; i++) z[i] = y[i] + d * k[2][i];
  cartesian(x, z, k[3]);
  for (int i = 0; i < 4; i++) y[i] += d / 6 * (k[0][i] + 2 * k[1][i] + 2 * k[2][i] + k[3][i]);
}

/* Slip that never stops: u_n = 0 and the end by bisection. */
static void by_runge_kutta(const perp_impact *x, double *p)
{
  double y[4] = { 0 }, last[4], u[3], d = 1e-3 / x->A[0];
  for (int phase = 0; phase < 2; phase++) {
    const double goal = phase == 0 ? 0 : -x->e * x->e * y[3];
    if (phase == 1) y[3] = 0;
    for (;;) {
      memcpy(last, y, sizeof last);
      cartesian_step(x, d, y);
      product(x, y, u);
      if ((phase == 0 ? u[0] : y[3] - goal) >= 0) break;
    }
    double low = 0, high = d;
    for (int k = 0; k < 60; k++) {
      const double middle = 0.5 * (low + high);
      memcpy(y, last, sizeof y);
      cartesian_step(x, middle, y);
      product(x, y, u);
      if ((phase == 0 ? u[0] : y[3] - goal) >= 0)
        high = middle;
      else
        low = middle;
    }
  }
  memcpy(p, y, 3 * sizeof *p);
}

static double distance(const perp_impact *x, const double *p, const double *q)
{
  double worst = 0;
  for (int k = 0; k < x->r; k++) worst = fmax(worst, fabs(p[k] - q[k]));
  return worst / q[0];
}

static void test_path(void)
{
  const perp_impact_rule rule = { .law = PERP_IMPACT_STRONGE };
  double worst = 0, smooth = 0, most = -HUGE_VAL, cone = 0;
  int looked = 0;
  for (int i = 0; i < 400; i++) {
    const perp_impact x = problem(1 + i % 3);
    double p[3] = { 0 }, q[3];
    perp_impact_impulse(&rule, &x, p);
    if (i < 60) {
      by_parts(&x, 20000, q);
      worst = fmax(worst, distance(&x, p, q));
    }
    most = fmax(most, gain(&x, p));
    if (x.r > 1) cone = fmax(cone, hypot(p[1], x.r > 2 ? p[2] : 0) - x.mu * p[0]);
  }
  below(worst, 2e-3, "Stronge: 60 random impacts agree with 20 000 small parts each");
  below(most, 1e-12, "Stronge: energy does not grow in 400 random impacts");
  below(cone, 1e-12, "Stronge: friction stays in the cone");
  for (int i = 0; i < 40; i++) { /* fast slip */
    perp_impact x = problem(3);
    x.mu *= 0.2;
    x.u[1] *= 20, x.u[2] *= 20;
    if (hypot(x.u[1], x.u[2]) < 10) continue;
    double p[3], q[3];
    perp_impact_impulse(&rule, &x, p);
    by_runge_kutta(&x, q);
    smooth = fmax(smooth, distance(&x, p, q));
    looked++;
  }
  ok(looked >= 10, "%d impacts slip to the end", looked);
  below(smooth, 1e-9, "Stronge: slip that turns agrees with Runge and Kutta's method");
}

/* First order: the parts converge to the path. */
static void test_convergence(void)
{
  const perp_impact_rule rule = { .law = PERP_IMPACT_STRONGE };
  double coarse = 0, fine = 0;
  for (int i = 0; i < 20; i++) {
    const perp_impact x = problem(3);
    double p[3], q[3];
    perp_impact_impulse(&rule, &x, p);
    by_parts(&x, 500, q);
    coarse += distance(&x, p, q);
    by_parts(&x, 4000, q);
    fine += distance(&x, p, q);
  }
  ok(fine < coarse / 5, "eight times as many parts: %g becomes %g", coarse / 20, fine / 20);
}

/* p_II by Cramer's rule of the full matrix */
static void sticking(const perp_impact *x, double *p)
{
  const double *A = x->A, *u = x->u;
  const double det = A[0] * (A[4] * A[8] - A[7] * A[5]) - A[3] * (A[1] * A[8] - A[7] * A[2]) +
                     A[6] * (A[1] * A[5] - A[4] * A[2]);
  for (int c = 0; c < 3; c++) {
    double B[9];
    memcpy(B, A, sizeof B);
    for (int i = 0; i < 3; i++) B[i + 3 * c] = -u[i];
    p[c] = (B[0] * (B[4] * B[8] - B[7] * B[5]) - B[3] * (B[1] * B[8] - B[7] * B[2]) +
            B[6] * (B[1] * B[5] - B[4] * B[2])) /
           det;
  }
}

static void test_algebraic(void)
{
  double worst = 0, most = -HUGE_VAL, rebound = 0, cone = 0;
  int sticks = 0, slips = 0;
  for (int i = 0; i < 400; i++) {
    const perp_impact x = problem(3);
    const perp_impact_rule rule = { .law = PERP_IMPACT_CHATTERJEE_RUINA,
                                    .tangential = uniform(-1, 1) };
    double p[3], two[3], q[3], u[3];
    const double one = -x.u[0] / x.A[0];
    perp_impact_impulse(&rule, &x, p);
    sticking(&x, two);
    double kappa = 1 + rule.tangential;
    q[0] = (1 + x.e) * one + kappa * (two[0] - one);
    const bool out = kappa * hypot(two[1], two[2]) > x.mu * q[0];
    if (out) kappa = x.mu * (1 + x.e) * one / (hypot(two[1], two[2]) - x.mu * (two[0] - one));
    slips += out, sticks += !out;
    q[0] = (1 + x.e) * one + kappa * (two[0] - one);
    q[1] = kappa * two[1], q[2] = kappa * two[2];
    worst = fmax(worst, distance(&x, p, q));
    most = fmax(most, gain(&x, p));
    product(&x, p, u);
    rebound = fmax(rebound, fabs(u[0] + x.e * x.u[0]));
    cone = fmax(cone, hypot(p[1], p[2]) - x.mu * p[0]);
  }
  ok(sticks > 40 && slips > 40, "%d impacts within the cone, %d on it", sticks, slips);
  below(worst, 1e-12, "Chatterjee and Ruina: the formula with the inverse of A");
  below(most, 1e-12, "Chatterjee and Ruina: energy does not grow");
  below(rebound, 1e-12, "Chatterjee and Ruina: the rebound is e times the approach");
  below(cone, 1e-12, "Chatterjee and Ruina: friction stays in the cone");
}

/* A rod at 45 degrees, mu = 0.2, e = 1: A = (2.5, 1.5, 2.5), u = (-1, -0.7). */
static void test_rod(void)
{
  perp_impact x = { .r = 2, .A = { 2.5, 1.5, 1.5, 2.5 }, .u = { -1, -0.7 }, .mu = 0.2, .e = 1 };
  double p[2];
  perp_impact_impulse(&(perp_impact_rule){ .law = PERP_IMPACT_STRONGE }, &x, p);
  /* slides until p_n = 0.35 with du_n/dp_n = 2.8, then back (mu < 0.6) with 2.2 */
  const double v = -1 + 2.8 * 0.35, W = -0.5 * (1 - v) * 0.35 - v * v / 4.4;
  const double end = 0.35 + (sqrt(4.4 * -W) - v) / 2.2;
  near(p[0], end, 1e-14, 0, "Kane's rod, Stronge: normal impulse");
  near(p[1], 0.2 * 0.35 - 0.2 * (end - 0.35), 1e-14, 0, "and friction, which turns round");
  perp_impact_impulse(&(perp_impact_rule){ .law = PERP_IMPACT_CHATTERJEE_RUINA }, &x, p);
  near(-1 + 2.5 * p[0] + 1.5 * p[1], 1, 1e-14, 0, "Chatterjee and Ruina: rebound of 1 m/s");
  ok(gain(&x, p) < 0, "which loses %g J", -gain(&x, p));
}

static void test_edges(void)
{
  /* slip that turns by much until a plastic impact ends */
  const perp_impact turning = {
    .r = 3,
    .A = { 0.35843772553346492, -0.56561774688163824, -0.459399763657661, -0.56561774688163824,
           1.5798274482399672, 1.3263655048961218, -0.459399763657661, 1.3263655048961218,
           1.2927387619867425 },
    .u = { -0.88682898408119981, -0.34646930980797364, -0.062411437305813444 },
    .mu = 0.65042838982792028
  };
  double plastic[3], parts[3];
  perp_impact_impulse(&(perp_impact_rule){ .law = PERP_IMPACT_STRONGE }, &turning, plastic);
  by_parts(&turning, 20000, parts);
  below(distance(&turning, plastic, parts), 2e-3, "a plastic impact agrees with small parts");
  perp_impact x = { .r = 3, .A = { 1, 0, 0, 0, 1, 0, 0, 0, 1 }, .u = { 1, 2, 3 }, .mu = 1, .e = 1 };
  for (int law = PERP_IMPACT_STRONGE; law <= PERP_IMPACT_CHATTERJEE_RUINA; law++) {
    const perp_impact_rule rule = { .law = law };
    double p[3];
    x.u[0] = 1;
    perp_impact_impulse(&rule, &x, p);
    ok(p[0] == 0 && p[1] == 0 && p[2] == 0, "%s: bodies that part have no impact",
       perp_impact_names[law]);
    x.u[0] = -1;
    perp_impact_impulse(&rule, &x, p);
    near(p[0], 2, 1e-14, 0, "%s: a central impact rebounds", perp_impact_names[law]);
    perp_impact none = { .r = 1, .u = { -1 } };
    perp_impact_impulse(&rule, &none, p);
    ok(p[0] == 0, "%s: bodies that cannot move have none", perp_impact_names[law]);
  }
  ok(perp_impact_check(&ctx, PERP_IMPACT_STRONGE, 0.5) == PERP_ERR_OPTION,
     "a tangential restitution without its law is refused: %s", ctx.msg);
}

int main(void)
{
  perp_ctx_init(&ctx);
  rng = perp_rng_create(1990);
  if (rng == NULL) bail("no memory");
  test_path();
  test_convergence();
  test_algebraic();
  test_rod();
  test_edges();
  perp_rng_destroy(rng);
  return tap_done();
}
