/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A semicircular masonry arch of N straight-edged voussoirs on the floor.
 *
 * Mean radius R, thickness t: joint j lies on a ray at phi_j from the vertical, between radii R -
 * t/2 and R + t/2.  The arch stands (limit analysis, rigid blocks, no tension, Coulomb friction)
 * iff there is a thrust H and a moment K at the crown such that at every joint of one half, with W
 * the weight above it and W x its moment about the centre,
 *
 *      N = H cos phi + W sin phi >= 0,   |H sin phi - W cos phi| <= mu N,
 *      (R - t/2) N <= K + W x <= (R + t/2) N
 *
 * (by symmetry a state of one half that is its own mirror image is enough).  Friction bounds H; for
 * every H the last line bounds K from below and above by linear functions: the largest width of
 * that interval over H is a concave maximum, found by ternary search.  It is positive iff the arch
 * stands. */
#include "models/scenes/scene_builder.h"

#include <math.h>

enum { VOUSSOIRS_MAX = 201 };

struct arch_opts {
  int voussoirs;
  double thickness, mu, radius, density, depth, gravity;
  int dim;
};
static const perp_opt options[] = {
  PERP_INT(struct arch_opts, voussoirs, 7, 3, VOUSSOIRS_MAX,
           "Number of voussoirs (stones of the arch)."),
  PERP_REAL(struct arch_opts, thickness, 0.15, 0, 1, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Thickness divided by the mean radius. Critical values are 0.0957 for 7 voussoirs, "
            "0.1046 for 11 and 0.1073 for 41."),
  PERP_OPT_MU(struct arch_opts, mu, 0.6),
  PERP_OPT_POSITIVE(struct arch_opts, radius, 1, "m", "Mean radius R of the arch."),
  PERP_OPT_POSITIVE(struct arch_opts, density, 2000, "kg/m^3", "Density of the stones."),
  PERP_OPT_POSITIVE(struct arch_opts, depth, 0.3, "m",
                    "Depth of the arch along y. It also determines the mass in the plane."),
  PERP_OPT_G(struct arch_opts),
  PERP_OPT_DIM(struct arch_opts, 2),
  PERP_OPTIONS_END
};

/* corners of the part between the rays at a < b from the vertical, counter-clockwise */
static void arch_voussoir(double R, double t, double a, double b, double corner[8])
{
  const double in = R - t / 2, out = R + t / 2;
  const double c[8] = { in * sin(a),  in * cos(a),  in * sin(b),  in * cos(b),
                        out * sin(b), out * cos(b), out * sin(a), out * cos(a) };
  /* seen with x to the right, growing phi is clockwise: inner edge first makes it
   * counter-clockwise */
  for (int i = 0; i < 8; i++) corner[i] = c[i];
}

/* One half of the arch, weights in units of the specific weight: joint j is at phi[j], W[j] above
 * it with the moment W x [j].  Returns the number of joints. */
static int half_arch(int n, double t, double *phi, double *W, double *Wx)
{
  const double delta = M_PI / n;
  double corner[8], area, centroid[2], polar, weight = 0, moment = 0;
  int joints = 0;
  double from = 0;
  if (n % 2 == 0) phi[0] = W[0] = Wx[0] = 0, joints = 1; /* a joint at the crown */
  while (from < M_PI_2 - delta / 4) {
    const double to = joints == 0 ? delta / 2 : from + delta; /* half a keystone first */
    if (joints == 0) {
      /* its inner and outer edges are straight, cut by the axis of symmetry */
      const double in = 1 - t / 2, out = 1 + t / 2, c = cos(delta / 2), s = sin(delta / 2);
      const double cut[8] = { 0, in * c, in * s, in * c, out * s, out * c, 0, out * c };
      for (int i = 0; i < 8; i++) corner[i] = cut[i];
    } else {
      arch_voussoir(1, t, from, to, corner);
    }
    perp_polygon_moments(4, corner, &area, centroid, &polar);
    weight += area;
    moment += area * centroid[0];
    phi[joints] = to;
    W[joints] = weight;
    Wx[joints++] = moment;
    from = to;
  }
  return joints;
}

static double arch_width(int joints, const double *phi, const double *W, const double *Wx, double t,
                         double mu, double H)
{
  double least = HUGE_VAL, most = -HUGE_VAL, grip = HUGE_VAL;
  for (int j = 0; j < joints; j++) {
    const double N = H * cos(phi[j]) + W[j] * sin(phi[j]);
    const double T = H * sin(phi[j]) - W[j] * cos(phi[j]);
    most = fmax(most, (1 - t / 2) * N - Wx[j]);
    least = fmin(least, (1 + t / 2) * N - Wx[j]);
    grip = fmin(grip, mu * N - fabs(T));
  }
  return fmin(least - most, grip); /* a minimum of concave functions is concave */
}

double perp_arch_margin(int n, double t, double mu)
{
  double phi[VOUSSOIRS_MAX], W[VOUSSOIRS_MAX], Wx[VOUSSOIRS_MAX];
  const int joints = half_arch(n, t, phi, W, Wx);
  const double weight = W[joints - 1];
  double lo = 0, hi = 10 * weight;
  for (int i = 0; i < 200; i++) {
    const double a = lo + (hi - lo) / 3, b = hi - (hi - lo) / 3;
    if (arch_width(joints, phi, W, Wx, t, mu, a) < arch_width(joints, phi, W, Wx, t, mu, b))
      lo = a;
    else
      hi = b;
  }
  return arch_width(joints, phi, W, Wx, t, mu, (lo + hi) / 2) / weight;
}

static perp_status arch_build(perp_ctx *ctx, const void *opts, perp_scene *scene)
{
  const struct arch_opts *chosen = opts;
  const double R = chosen->radius, t = chosen->thickness * R, delta = M_PI / chosen->voussoirs;
  perp_builder builder = perp_build_begin(ctx, scene, chosen->dim, chosen->gravity, chosen->mu, 0);
  builder.depth = chosen->depth;
  perp_build_floor(&builder);
  double weight = 0;
  for (int voussoir = 0; voussoir < chosen->voussoirs; voussoir++) {
    double corner[8], area, centroid[2], polar;
    arch_voussoir(R, t, -M_PI_2 + voussoir * delta, -M_PI_2 + (voussoir + 1) * delta, corner);
    /* springers stand on the floor, not a rounding error below it */
    for (int k = 1; k < 8; k += 2)
      if (fabs(corner[k]) < 1e-12 * R) corner[k] = 0;
    perp_polygon_moments(4, corner, &area, centroid, &polar);
    const double m = chosen->density * chosen->depth * area;
    weight += m * chosen->gravity;
    perp_build_polygon(&builder, "voussoir", m, 4, corner);
  }
  PERP_TRY(perp_build_end(&builder, t, 4));
  const bool stands = perp_arch_margin(chosen->voussoirs, chosen->thickness, chosen->mu) > 0;
  PERP_TRY(perp_gauge_stands(ctx, scene, 0, chosen->voussoirs, t / 2, 0.05 * R, stands));
  if (!stands) return PERP_OK;
  const perp_force_truth floor = { PERP_WORLD, PERP_ANY_BODY, weight };
  return perp_gauge_force(ctx, scene, 1, &floor, weight, 0);
}

const perp_scene_desc perp_scene_arch = {
  .d = { .name = "arch",
         .summary = "Masonry arch of N voussoirs that stands or falls by thickness and friction",
         .reference = "limit analysis of the thrust line; Heyman 1966",
         .equation = "a thrust line in the joints, |T| <= mu N",
         PERP_OPTIONS(options, struct arch_opts) },
  .build = arch_build,
};
