/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Slider crank with a flexible connecting rod: crank angle phi1, rod angle phi2, slider x3, and
 * four elastic coordinates of the rod (two sines of its deflection, two nodes of a quadratic
 * element along it); no gravity, no damping, linear stiffness.  Simeon, Math. Modelling of Systems
 * 2 (1996); test set for IVP solvers.  The crank turns at a given rate: phi1 = omega t is a
 * constraint.
 *
 * With p = phi1 - phi2, q the elastic coordinates, Mq, K, B their matrices and c1, c2, c12, c21 the
 * integrals of the shape functions:
 *
 *      M_22 = J2 + q'Mq q + 2 rho c12'q,   M_33 = m3
 *
 *      M_2q = rho (c21 + B'q),   M_qq = Mq
 *
 * and forces that are quadratic in the velocities, and -K q.  The row and the column of the crank
 * (M_11, M_12, M_1q, f_1) are left out: its angle is given, phi1'' = 0, so that they say only which
 * torque turns it, and no figure asks for that.
 * The undamped rod vibrates at 1277 and 5107 rad/s across and 6841 and 24613 rad/s along.
 *
 * The start is exactly consistent: x3 = l1 + l2 + q4, phi2' = -l1 omega / (l2 + q4), x3' = q4'.
 * What the test set prints is rounded to 9 digits, which is why its elastic coordinates at the end
 * agree to 3e-8 only. */
#include "models/scenes/dae.h"

#include <math.h>
#include <string.h>

static const perp_opt options[] = { PERP_DAE_OPTIONS(1000) };

#define PI_PRINTED 3.1415927 /* as in the source of the problem */
static const double l1 = 0.15, l2 = 0.30, m2 = 0.151104, m3 = 0.075552, J2 = 0.0045339259,
                    young = 0.2e12, thick = 0.0080, rho = 7870, omega = 150;

typedef struct elastic {
  double Mq[4][4], K[4][4], B[4][4], c1[4], c2[4], c12[4], c21[4];
} elastic;

static elastic slider_crank_matrices(void)
{
  const double section = thick * thick, fm = rho * section * l2, fk = young * section / l2;
  const double fb = section * l2, pi = PI_PRINTED, pi2 = pi * pi, bend = thick / l2 * (thick / l2);
  const double b13 = fb * 16 / (pi2 * pi), b14 = fb * (8 / (pi2 * pi) - 1 / pi),
               b24 = fb / (2 * pi);
  return (elastic){
    .Mq = { { fm / 2 }, { 0, fm / 2 }, { 0, 0, 8 * fm, fm }, { 0, 0, fm, 2 * fm } },
    .K = { { fk * pi2 * pi2 / 24 * bend },
           { 0, fk * pi2 * pi2 * 2 / 3 * bend },
           { 0, 0, fk * 16 / 3, -fk * 8 / 3 },
           { 0, 0, -fk * 8 / 3, fk * 7 / 3 } },
    .B = { { 0, 0, -b13, b14 }, { 0, 0, 0, b24 }, { b13 }, { -b14, -b24 } },
    .c1 = { 0, 0, fb * 2 / 3, fb / 6 },
    .c2 = { fb * 2 / pi },
    .c12 = { 0, 0, l2 * fb / 3, l2 * fb / 6 },
    .c21 = { l2 * fb / pi, -l2 * fb / (2 * pi) },
  };
}

static double slider_crank_dot(const double *a, const double *b)
{
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3];
}

static void slider_crank_terms(double t, const double *x, const double *v, perp_dae_terms *out)
{
  enum { N = 7, ROWS = 3 };
  const elastic e = slider_crank_matrices();
  const double *q = x + 3, *u = v + 3, w1 = v[0], w2 = v[1];
  const double s1 = sin(x[0]), c1 = cos(x[0]), s2 = sin(x[1]), c2 = cos(x[1]);
  const double s12 = sin(x[0] - x[1]), c12 = cos(x[0] - x[1]), half = m2 * l1 * l2 / 2;
  double Mq_q[4], Kq[4], qB[4], Bu[4];
  for (int i = 0; i < 4; i++) {
    Mq_q[i] = slider_crank_dot(e.Mq[i], q);
    Kq[i] = slider_crank_dot(e.K[i], q);
    Bu[i] = slider_crank_dot(e.B[i], u);
    qB[i] = q[0] * e.B[0][i] + q[1] * e.B[1][i] + q[2] * e.B[2][i] + q[3] * e.B[3][i];
  }
  /* M, upper triangle then mirrored */
  double(*M)[N] = (double(*)[N])out->M;
  M[1][1] = J2 + slider_crank_dot(q, Mq_q) + 2 * rho * slider_crank_dot(e.c12, q);
  M[2][2] = m3;
  for (int i = 0; i < 4; i++) {
    M[1][3 + i] = rho * (e.c21[i] + qB[i]);
    for (int j = i; j < 4; j++) M[3 + i][3 + j] = e.Mq[i][j];
  }
  for (int i = 0; i < N; i++)
    for (int j = i + 1; j < N; j++) M[j][i] = M[i][j];
  /* forces */
  out->f[1] = half * w1 * w1 * s12 +
              rho * l1 * w1 * w1 *
                  (s12 * slider_crank_dot(e.c1, q) - c12 * slider_crank_dot(e.c2, q)) -
              2 * rho * w2 * slider_crank_dot(e.c12, u) - 2 * w2 * slider_crank_dot(u, Mq_q) -
              rho * slider_crank_dot(u, Bu);
  for (int i = 0; i < 4; i++)
    out->f[3 + i] = w2 * w2 * Mq_q[i] - Kq[i] +
                    rho * (w2 * w2 * e.c12[i] + l1 * w1 * w1 * (c12 * e.c1[i] + s12 * e.c2[i]) +
                           2 * w2 * Bu[i]);
  /* constraints: the rod's end on the line of the slider, at the slider; the crank's angle */
  const double rod = l2 + q[3], rod1 = u[3];
  out->g[0] = l1 * s1 + rod * s2;
  out->g[1] = x[2] - l1 * c1 - rod * c2;
  out->g[2] = x[0] - omega * t;
  const double G[ROWS][N] = { { l1 * c1, rod * c2, 0, 0, 0, 0, s2 },
                              { l1 * s1, rod * s2, 1, 0, 0, 0, -c2 },
                              { 1 } };
  for (int i = 0; i < ROWS; i++) memcpy(out->G[i], G[i], sizeof G[i]);
  out->gdot[2] = -omega;
  out->gamma[0] = -l1 * s1 * w1 * w1 - rod * s2 * w2 * w2 + 2 * w2 * c2 * rod1;
  out->gamma[1] = l1 * c1 * w1 * w1 + rod * c2 * w2 * w2 + 2 * w2 * s2 * rod1;
}

static perp_status slider_crank_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "phi1",  "phi2",  "x3",  "q1",  "q2",  "q3",  "q4",
                                         "vphi1", "vphi2", "vx3", "vq1", "vq2", "vq3", "vq4" };
  static const double printed[14] = {
    0.1500000000000104e2,  -0.3311734988256260,    0.1697373328427860,     0.1893192899613509e-3,
    0.2375751249879174e-4, -0.5323896770569702e-5, -0.8363313279112129e-5, 0.1500000000000000e3,
    0.6025346755138369e2,  -0.8753116326670527e1,  -0.3005541400289738e-1, -0.5500431812571696e-2,
    0.4974111734266989e-3, 0.1105560003626645e-2
  };
  double q0[7] = { 0, 0, 0, 0, 0, 0.103339863e-4, 0.169327969e-4 };
  double v0[7] = { omega, 0, 0, 0.444896105, 0.463434311e-2, -0.178591076e-5, -0.268938672e-5 };
  q0[2] = l1 + l2 + q0[6];
  v0[1] = -l1 * omega / (l2 + q0[6]);
  v0[2] = v0[6];
  PERP_TRY(perp_dae_scene(ctx, scene, 7, 3, slider_crank_terms, opts, q0, v0));
  scene->t_end = 0.1;
  scene->h = 1e-5;
  scene->dissipative = scene->driven = true;
  PERP_TRY(perp_truth_file(ctx, scene, "B_slidercrank.csv", 1e-15, 14, columns, NULL, NULL, 0));
  return perp_truth_printed(ctx, scene, "test set for IVP solvers: MEBDFI, rtol = atol = 1e-14",
                            0.1, 7, 14, printed, NULL);
}

const perp_scene_desc perp_scene_slider_crank = {
  .d = { .name = "slider-crank",
         .summary = "Slider crank with a flexible rod: undamped fast vibrations, driven crank",
         .reference = "Simeon 1996; test set for IVP solvers, crank; reference solution of perp",
         .equation = "M(q) q'' = f - G' lambda,  0 = g(t, q), solved as index 1",
         PERP_OPTIONS(options, perp_dae_options) },
  .build = slider_crank_build,
};
