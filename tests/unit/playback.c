/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Curves through knots: what they meet exactly, how fast they converge, that their rates are theirs
 * and do not jump. */
#include "models/figures/blend.h"
#include "models/figures/playback.h"
#include "tests/random_trees.h"

static perp_ctx ctx;
static perp_rng *rng;

static double gap(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

static void multiply(const double p[4], const double q[4], double out[4])
{
  const double w = p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3];
  const double x = p[0] * q[1] + q[0] * p[1] + p[2] * q[3] - p[3] * q[2];
  const double y = p[0] * q[2] + q[0] * p[2] + p[3] * q[1] - p[1] * q[3];
  const double z = p[0] * q[3] + q[0] * p[3] + p[1] * q[2] - p[2] * q[1];
  out[0] = w, out[1] = x, out[2] = y, out[3] = z;
}

/* R = Rz(a) Rx(b), a = 1.1 sin(1.3 t) + t, b = 0.9 cos(1.7 t): w = Rx(b)' e_z a' + e_x b' */
static void formula(double t, double q[4], double w[3], double wdot[3])
{
  const double a = 1.1 * sin(1.3 * t) + t, ad = 1.43 * cos(1.3 * t) + 1,
               add = -1.859 * sin(1.3 * t);
  const double b = 0.9 * cos(1.7 * t), bd = -1.53 * sin(1.7 * t), bdd = -2.601 * cos(1.7 * t);
  const double z[4] = { cos(a / 2), 0, 0, sin(a / 2) }, x[4] = { cos(b / 2), sin(b / 2), 0, 0 };
  multiply(z, x, q);
  w[0] = bd, w[1] = ad * sin(b), w[2] = ad * cos(b);
  wdot[0] = bdd;
  wdot[1] = add * sin(b) + ad * bd * cos(b);
  wdot[2] = add * cos(b) - ad * bd * sin(b);
}

static void exact(void)
{
  enum { N = 9 };
  double t[N], y[N], q[4 * N], got[3], Q[4], w[3], wdot[3];
  const double axis[3] = { 2.0 / 7, 3.0 / 7, 6.0 / 7 };
  double numbers = 0, turns = 0, at = 0;
  for (int k = 0; k < N; k++) {
    t[k] = at;
    at += 0.3 + 0.1 * (k % 3);
    y[k] = 1 + t[k] * (2 - t[k] * (0.5 + t[k] * (0.2 - 0.05 * t[k])));
    const double angle = 0.3 * y[k];
    q[4 * k] = cos(angle / 2);
    for (int i = 0; i < 3; i++) q[4 * k + 1 + i] = sin(angle / 2) * axis[i];
    if (k % 2)
      for (int i = 0; i < 4; i++) q[4 * k + i] = -q[4 * k + i]; /* the same rotation */
  }
  for (int k = 0; k <= 200; k++) {
    const double s = t[N - 1] * k / 200;
    const double want[3] = { 1 + s * (2 - s * (0.5 + s * (0.2 - 0.05 * s))),
                             2 + s * (-1 + s * (-0.6 + 0.2 * s)), -1 + s * (-1.2 + 0.6 * s) };
    perp_blend_number(N, t, y, 1, s, got);
    numbers = fmax(numbers, gap(3, got, want));
    perp_blend_rotation(N, t, q, 4, s, Q, w, wdot);
    const double angle = 0.3 * want[0],
                 sign = Q[0] * cos(angle / 2) + sin(angle / 2) * (Q[1] * axis[0] + Q[2] * axis[1] +
                                                                  Q[3] * axis[2]) <
                                0
                            ? -1
                            : 1;
    turns = fmax(turns, fabs(sign * Q[0] - cos(angle / 2)));
    for (int i = 0; i < 3; i++)
      turns = fmax(turns, fmax(fabs(sign * Q[1 + i] - sin(angle / 2) * axis[i]),
                               fmax(fabs(w[i] - 0.3 * want[1] * axis[i]),
                                    0.01 * fabs(wdot[i] - 0.3 * want[2] * axis[i]))));
  }
  below(numbers, 1e-11, "a polynomial of degree 4 is met, with its rates");
  below(turns, 1e-12, "and a turn about one axis by such an angle, over more than a turn");
  perp_blend_rotation(N, t, q, 4, t[3], Q, w, wdot);
  double off[3];
  perp_quat_difference(q + 12, Q, off);
  below(sqrt(perp_dot(3, off, off)), 1e-15, "it goes through its knots");
  perp_blend_rotation(N, t, q, 4, -1, Q, w, wdot);
  ok(gap(4, Q, q) == 0 && w[0] == 0 && wdot[2] == 0, "before the first knot it stands still");
}

static void orders(void)
{
  double error[2][3] = { { 0 } };
  for (int level = 0; level < 2; level++) {
    const int n = level == 0 ? 61 : 121;
    double t[121], q[4 * 121], Q[4], w[3], wdot[3], Q0[4], w0[3], wdot0[3], d[3];
    for (int k = 0; k < n; k++) {
      t[k] = 3.0 * k / (n - 1);
      formula(t[k], q + 4 * k, w, wdot);
    }
    for (int k = 0; k <= 997; k++) {
      const double s = 0.3 + 2.4 * k / 997;
      perp_blend_rotation(n, t, q, 4, s, Q, w, wdot);
      formula(s, Q0, w0, wdot0);
      perp_quat_difference(Q0, Q, d);
      error[level][0] = fmax(error[level][0], sqrt(perp_dot(3, d, d)));
      error[level][1] = fmax(error[level][1], gap(3, w, w0));
      error[level][2] = fmax(error[level][2], gap(3, wdot, wdot0));
    }
  }
  static const double order[] = { 5, 4, 3 };
  static const char *const what[] = { "rotation", "angular velocity", "its rate" };
  for (int i = 0; i < 3; i++) {
    const double slope = log2(error[0][i] / error[1][i]);
    ok(slope > order[i] - 0.3 && slope < order[i] + 1.3,
       "%s converges with order %g: %.2f (%.1e, %.1e)", what[i], order[i], slope, error[0][i],
       error[1][i]);
  }
}

/* rates are derivatives, across knots too, where all of them go on */
static void rates(void)
{
  enum { N = 12 };
  double t[N], q[4 * N], y[N], worst[4] = { 0 };
  for (int k = 0; k < N; k++) {
    t[k] = 0.1 * k + 0.02 * sin(3 * k);
    double r[3];
    const double one[4] = { 1, 0, 0, 0 };
    for (int i = 0; i < 3; i++) r[i] = perp_rng_uniform(rng, -0.5, 0.5);
    perp_quat_retract(k == 0 ? one : q + 4 * (k - 1), r, q + 4 * k);
    y[k] = perp_rng_uniform(rng, -1, 1);
  }
  const double h = 1e-5;
  for (int k = 0; k <= 400; k++) {
    const double s = k <= 360 ? t[N - 1] * (k + 1) / 363 : t[1 + k % (N - 2)];
    double a[4], b[4], m[4], w[2][3], wd[2][3], wm[3], wdm[3], d[3], n[3][3];
    perp_blend_rotation(N, t, q, 4, s - h, a, w[0], wd[0]);
    perp_blend_rotation(N, t, q, 4, s + h, b, w[1], wd[1]);
    perp_blend_rotation(N, t, q, 4, s, m, wm, wdm);
    perp_quat_difference(a, b, d);
    perp_blend_number(N, t, y, 1, s - h, n[0]);
    perp_blend_number(N, t, y, 1, s, n[1]);
    perp_blend_number(N, t, y, 1, s + h, n[2]);
    for (int i = 0; i < 3; i++) {
      worst[0] = fmax(worst[0], fabs(d[i] / (2 * h) - wm[i]));
      worst[1] = fmax(worst[1], fabs((w[1][i] - w[0][i]) / (2 * h) - wdm[i]));
    }
    worst[2] = fmax(worst[2], fabs((n[2][0] - n[0][0]) / (2 * h) - n[1][1]));
    worst[3] = fmax(worst[3], fabs((n[2][1] - n[0][1]) / (2 * h) - n[1][2]));
  }
  /* h^2 times a third derivative of up to 1e5, of rates 1e8 */
  below(worst[0], 1e-5, "angular velocity is the rate of the rotation (%.1e)", worst[0]);
  below(worst[1], 1e-2, "and its rate that of it (%.1e)", worst[1]);
  below(worst[2], 1e-5, "so for numbers (%.1e)", worst[2]);
  below(worst[3], 1e-2, "and their rates (%.1e)", worst[3]);
  /* five derivatives go on at a knot: third differences of accelerations from both sides */
  double jump = 0, size = 0;
  for (int k = 2; k < N - 2; k++)
    for (int side = -1; side <= 1; side += 2) {
      double z[4][3];
      for (int i = 0; i < 4; i++) perp_blend_number(N, t, y, 1, t[k] + side * 1e-3 * i, z[i]);
      const double third = (z[1][2] - z[0][2]) / (side * 1e-3);
      if (side < 0)
        size = third;
      else
        jump = fmax(jump, fabs(third - size) / (1e3 + fabs(third)));
    }
  below(jump, 0.5, "jerk does not jump at knots (%.2g)", jump);
}

static void frames_do_not_matter(void)
{
  enum { N = 8 };
  double t[N], back[N], q[4 * N], p[4 * N], r[4 * N], left[4] = { 0.5, 0.5, -0.5, 0.5 },
                                                      right[4] = { 0.6, 0, 0.8, 0 };
  double worst = 0, reversed = 0;
  for (int k = 0; k < N; k++) {
    double w[3], wdot[3], x[4];
    t[k] = 0.25 * k + 0.03 * (k % 2);
    formula(t[k], q + 4 * k, w, wdot);
    multiply(left, q + 4 * k, x);
    multiply(x, right, p + 4 * k);
  }
  for (int k = 0; k < N; k++) {
    back[k] = -t[N - 1 - k];
    memcpy(r + 4 * k, q + 4 * (N - 1 - k), 4 * sizeof *r);
  }
  for (int k = 1; k < 100; k++) {
    const double s = t[N - 1] * k / 100;
    double a[4], b[4], c[4], x[4], w[3], wdot[3], wb[3], d[3];
    perp_blend_rotation(N, t, q, 4, s, a, w, wdot);
    perp_blend_rotation(N, t, p, 4, s, b, wb, wdot);
    multiply(left, a, x);
    multiply(x, right, c);
    perp_quat_difference(b, c, d);
    worst = fmax(worst, sqrt(perp_dot(3, d, d)));
    perp_blend_rotation(N, back, r, 4, -s, b, wb, wdot);
    perp_quat_difference(a, b, d);
    reversed = fmax(reversed, fmax(sqrt(perp_dot(3, d, d)), fabs(wb[1] + w[1])));
  }
  below(worst, 1e-14, "turned frames, outside and inside, turn the curve and nothing else");
  below(reversed, 1e-13, "backwards it is the same curve");
}

static void refused(void)
{
  static const perp_joint_kind ball[] = { PERP_JOINT_BALL };
  perp_model *m = tree_random(&ctx, rng, 3, 2, true, 1, ball);
  const int nq = perp_model_nq(m);
  double q[28], t[2] = { 0, 0.1 };
  perp_playback *p;
  for (int k = 0; k < 2; k++) memcpy(q + k * nq, perp_model_q0(m), (size_t)nq * sizeof *q);
  ok(perp_playback_create(&ctx, m, 2, t, q, &p) == PERP_OK, "two poses are a motion");
  perp_playback_destroy(p);
  ok(perp_playback_create(&ctx, m, 0, t, q, &p) == PERP_ERR_ARG && p == NULL, "none is none: %s",
     ctx.msg);
  t[1] = 0;
  ok(perp_playback_create(&ctx, m, 2, t, q, &p) == PERP_ERR_ARG, "times rise: %s", ctx.msg);
  t[1] = 1;
  q[nq + 4] = (double)NAN;
  ok(perp_playback_create(&ctx, m, 2, t, q, &p) == PERP_ERR_ARG, "numbers are finite: %s", ctx.msg);
  memcpy(q + nq, q, (size_t)nq * sizeof *q);
  /* the second body turned by half a turn about its x */
  const double *a = q + 10;
  double *b = q + nq + 10;
  b[0] = -a[1], b[1] = a[0], b[2] = a[3], b[3] = -a[2];
  ok(perp_playback_create(&ctx, m, 2, t, q, &p) == PERP_ERR_ARG &&
         strstr(ctx.msg, "half a turn") != NULL,
     "half a turn between two poses is refused: %s", ctx.msg);
  perp_model_destroy(m);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  rng = perp_rng_create(7);
  exact();
  orders();
  rates();
  frames_do_not_matter();
  refused();
  perp_rng_destroy(rng);
  return tap_done();
}
