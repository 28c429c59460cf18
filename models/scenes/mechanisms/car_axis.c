/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Car axis: two wheels' mass points on springs, the left one on a bumpy road; test set for IVP
 * solvers.
 *
 *      k (xl'', yl'', xr'', yr'') = spring forces - k g e_y + multiplier terms,   k = M eps^2 / 2
 *      0 = xl xb + yl yb              the left point moves across the line from the origin to (xb,
 *                                     yb)
 *      0 = |(xl - xr, yl - yr)|^2 - L^2
 *      yb = r sin(omega t),  xb = sqrt(L^2 - yb^2)
 *
 * The first constraint moves with time (rheonomic), so that this is a plain DAE problem rather than
 * a model of joints. */
#include "models/scenes/dae.h"

#include <math.h>
#include <string.h>

static const perp_opt options[] = { PERP_DAE_OPTIONS(10) };

static const double L = 1, L0 = 0.5, eps = 0.01, M = 10, amplitude = 0.1, omega = 10, gravity = 1;

static void car_axis_terms(double t, const double *q, const double *v, perp_dae_terms *out)
{
  const double k = M * eps * eps / 2;
  const double yb = amplitude * sin(omega * t), yb1 = amplitude * omega * cos(omega * t);
  const double yb2 = -omega * omega * yb;
  const double xb = sqrt(L * L - yb * yb), xb1 = -yb * yb1 / xb;
  const double xb2 = -(yb1 * yb1 + yb * yb2 + xb1 * xb1) / xb;
  const double xl = q[0], yl = q[1], xr = q[2], yr = q[3];
  const double Ll = hypot(xl, yl), Lr = hypot(xr - xb, yr - yb);
  const double dx = xl - xr, dy = yl - yr, du = v[0] - v[2], dw = v[1] - v[3];
  for (int i = 0; i < 4; i++) out->M[5 * i] = k;
  out->f[0] = (L0 - Ll) * xl / Ll;
  out->f[1] = (L0 - Ll) * yl / Ll - k * gravity;
  out->f[2] = (L0 - Lr) * (xr - xb) / Lr;
  out->f[3] = (L0 - Lr) * (yr - yb) / Lr - k * gravity;
  const double G[2][4] = { { xb, yb, 0, 0 }, { 2 * dx, 2 * dy, -2 * dx, -2 * dy } };
  for (int i = 0; i < 2; i++) memcpy(out->G[i], G[i], sizeof G[i]);
  out->g[0] = xl * xb + yl * yb;
  out->g[1] = dx * dx + dy * dy - L * L;
  out->gdot[0] = xl * xb1 + yl * yb1;
  out->gamma[0] = 2 * (v[0] * xb1 + v[1] * yb1) + xl * xb2 + yl * yb2;
  out->gamma[1] = 2 * (du * du + dw * dw);
}

static perp_status car_axis_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  static const char *const columns[] = { "xl", "yl", "xr", "yr", "vxl", "vyl", "vxr", "vyr" };
  static const double q0[4] = { 0, 0.5, 1, 0.5 }, v0[4] = { -0.5, 0, -0.5, 0 };
  static const double printed[8] = { 0.4934557842755629e-1,  0.4969894602303324,
                                     0.1041742524885400e1,   0.3739110272652214,
                                     -0.7705836840321485e-1, 0.7446866596327776e-2,
                                     0.1755681574942899e-1,  0.7703410437794031 };
  PERP_TRY(perp_dae_scene(ctx, scene, 4, 2, car_axis_terms, opts, q0, v0));
  scene->t_end = 3;
  scene->h = 1e-3;
  scene->dissipative = scene->driven = true;
  PERP_TRY(perp_truth_file(ctx, scene, "B_caraxis.csv", 1e-15, 8, columns, NULL, NULL, 0));
  return perp_truth_printed(ctx, scene, "test set for IVP solvers, car axis", 3, 4, 8, printed,
                            NULL);
}

const perp_scene_desc perp_scene_car_axis = {
  .d = { .name = "car-axis",
         .summary = "Car axis on a bumpy road: a time-dependent constraint, index 3",
         .reference = "test set for IVP solvers, car axis; reference solution of perp",
         .equation = "M q'' = f - G' lambda,  0 = g(t, q), solved as index 1",
         PERP_OPTIONS(options, perp_dae_options) },
  .build = car_axis_build,
};
