/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Mass properties against numerical integration over slices, and polytopes against affine
 * images. */
#include "models/multibody/model.h"
#include "tests/tap.h"

#include <string.h>

/* radius squared of the slice at height z */
typedef double profile(double z, double r, double half);

static double cylinder(double z, double r, double half)
{
  (void)z, (void)half;
  return r * r;
}
static double ball(double z, double r, double half)
{
  (void)half;
  return r * r - z * z;
}
static double capsule(double z, double r, double half)
{
  double over = fabs(z) - half;
  return over > 0 ? r * r - over * over : r * r;
}

/* A disc of radius a, thickness dz, density rho has rho pi a^4/2 dz about its axis and rho pi
 * (a^4/4 + a^2 z^2) dz about a transverse axis through the origin.  Simpson's rule between the
 * kinks, with so many panels that only rounding remains for these polynomials. */
static perp_mass integrate(profile *f, double m, double r, double half, const double *kinks, int n)
{
  double volume = 0, axial = 0, transverse = 0;
  for (int k = 0; k + 1 < n; k++) {
    enum { PANELS = 1000 };
    double h = (kinks[k + 1] - kinks[k]) / (2 * PANELS);
    for (int i = 0; i <= 2 * PANELS; i++) {
      double z = kinks[k] + i * h, a2 = f(z, r, half);
      double weight = (i == 0 || i == 2 * PANELS ? 1 : i % 2 == 1 ? 4 : 2) * h / 3;
      volume += weight * a2;
      axial += weight * a2 * a2 / 2;
      transverse += weight * (a2 * a2 / 4 + a2 * z * z);
    }
  }
  double s = m / volume;
  return (perp_mass){ m, { s * transverse, 0, 0, 0, s * transverse, 0, 0, 0, s * axial } };
}

static void same(const perp_mass *got, const perp_mass *want, double rtol, const char *what)
{
  double scale = want->inertia[0] + want->inertia[4] + want->inertia[8], worst = 0;
  for (int i = 0; i < 9; i++) worst = fmax(worst, fabs(got->inertia[i] - want->inertia[i]) / scale);
  near(got->mass, want->mass, 0, rtol, "%s: mass", what);
  below(worst, rtol, "%s: inertia", what);
}

/* unit cube [-1/2, 1/2]^3, triangles seen counter-clockwise from outside */
static const double cube[24] = { -.5, -.5, -.5, .5, -.5, -.5, -.5, .5, -.5, .5, .5, -.5,
                                 -.5, -.5, .5,  .5, -.5, .5,  -.5, .5, .5,  .5, .5, .5 };
static const int faces[36] = { 0, 2, 3, 0, 3, 1, 4, 5, 7, 4, 7, 6, 0, 1, 5, 0, 5, 4,
                               2, 6, 7, 2, 7, 3, 0, 4, 6, 0, 6, 2, 1, 3, 7, 1, 7, 5 };

static void affine_image(perp_ctx *ctx, perp_rng *rng, double shift)
{
  double A[9], t[3], v[24], det, S[9], c[3];
  for (int i = 0; i < 9; i++) A[i] = perp_rng_normal(rng);
  for (int i = 0; i < 3; i++) t[i] = shift * perp_rng_normal(rng);
  det = A[0] * (A[4] * A[8] - A[5] * A[7]) - A[3] * (A[1] * A[8] - A[2] * A[7]) +
        A[6] * (A[1] * A[5] - A[2] * A[4]);
  if (det < 0) {
    for (int i = 0; i < 3; i++) A[i] = -A[i];
    det = -det;
  }
  for (int k = 0; k < 8; k++)
    for (int i = 0; i < 3; i++) {
      v[3 * k + i] = t[i];
      for (int j = 0; j < 3; j++) v[3 * k + i] += A[i + 3 * j] * cube[3 * k + j];
    }
  /* the second moment of the unit cube is E / 12, of its image density det A A' / 12 */
  double density = 2.5, trace = 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++) {
      S[i + 3 * j] = 0;
      for (int k = 0; k < 3; k++) S[i + 3 * j] += density * det * A[i + 3 * k] * A[j + 3 * k] / 12;
    }
  for (int i = 0; i < 3; i++) trace += S[4 * i];
  perp_mass want = { density * det, { 0 } }, got;
  for (int i = 0; i < 9; i++) want.inertia[i] = (i % 4 == 0 ? trace : 0) - S[i];
  perp_status st = perp_mass_polytope(ctx, density, v, 8, faces, 12, &got, c);
  ok(st == PERP_OK, "a parallelepiped shifted by about %g is integrated", shift);
  /* vertices far away have lost log10(shift) digits before the integration starts */
  double rtol = 1e-13 * (1 + shift);
  same(&got, &want, rtol, "parallelepiped");
  for (int i = 0; i < 3; i++) near(c[i], t[i], rtol, rtol, "centroid %d", i);
}

/* A pyramid on a square of edge a, of height h: its centroid, at h/4, is not the mean of its
 * vertices, at h/5. I_z = m a^2/10, I_x = m (a^2/20 + 3 h^2/80). */
static void pyramid(perp_ctx *ctx)
{
  const double a = 2, h = 3, rho = 1.5, m = rho * a * a * h / 3;
  const double v[15] = { 0, 0, 0, a, 0, 0, a, a, 0, 0, a, 0, a / 2, a / 2, h };
  const int sides[18] = { 0, 2, 1, 0, 3, 2, 0, 1, 4, 1, 2, 4, 2, 3, 4, 3, 0, 4 };
  const double across = m * (a * a / 20 + 3 * h * h / 80);
  const perp_mass want = { m, { across, 0, 0, 0, across, 0, 0, 0, m * a * a / 10 } };
  double c[3];
  perp_mass got;
  ok(perp_mass_polytope(ctx, rho, v, 5, sides, 6, &got, c) == PERP_OK, "a pyramid");
  same(&got, &want, 1e-14, "pyramid");
  for (int i = 0; i < 3; i++) near(c[i], i < 2 ? a / 2 : h / 4, 0, 1e-14, "centroid %d", i);
}

static void refuses(perp_ctx *ctx, perp_status st, const char *part)
{
  ok(st == PERP_ERR_ARG && strstr(ctx->msg, part) != NULL, "refused: %s", part);
  if (strstr(ctx->msg, part) == NULL) printf("# message: %s\n", ctx->msg);
}

int main(void)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  double m = 3, r = 0.4, l = 1.1;

  perp_mass box = perp_mass_box(m, 1, 2, 3);
  near(box.inertia[0], m * (4 + 9) / 12, 0, 1e-15, "box about x: edges 2 and 3");
  near(box.inertia[4], m * (1 + 9) / 12, 0, 1e-15, "box about y: edges 1 and 3");
  near(box.inertia[8], m * (1 + 4) / 12, 0, 1e-15, "box about z: edges 1 and 2");

  /* 1e-12: rounding of 2000 terms */
  perp_mass got = perp_mass_sphere(m, r);
  perp_mass want = integrate(ball, m, r, 0, (double[]){ -r, r }, 2);
  same(&got, &want, 1e-12, "sphere");
  got = perp_mass_cylinder(m, r, l);
  want = integrate(cylinder, m, r, l / 2, (double[]){ -l / 2, l / 2 }, 2);
  same(&got, &want, 1e-12, "cylinder");
  got = perp_mass_capsule(m, r, l);
  want = integrate(capsule, m, r, l / 2, (double[]){ -l / 2 - r, -l / 2, l / 2, l / 2 + r }, 4);
  same(&got, &want, 1e-12, "capsule");
  got = perp_mass_capsule(m, r, 0);
  want = perp_mass_sphere(m, r);
  same(&got, &want, 1e-14, "a capsule without barrel is a ball");

  double centroid[3], v[24];
  ok(perp_mass_polytope(&ctx, m, cube, 8, faces, 12, &got, centroid) == PERP_OK, "the unit cube");
  want = perp_mass_box(m, 1, 1, 1);
  same(&got, &want, 1e-14, "unit cube");
  perp_rng *rng = perp_rng_create(7);
  for (int i = 0; i < 5; i++) affine_image(&ctx, rng, i < 3 ? 1 : 1e4);
  perp_rng_destroy(rng);
  pyramid(&ctx);

  refuses(&ctx, perp_mass_polytope(&ctx, -1, cube, 8, faces, 12, &got, centroid), "density");
  refuses(&ctx, perp_mass_polytope(&ctx, 1, cube, 8, faces, 11, &got, centroid), "not closed");
  refuses(&ctx, perp_mass_polytope(&ctx, 1, cube, 7, faces, 12, &got, centroid), "vertex 7 of 7");
  int reversed[36];
  for (int i = 0; i < 36; i++) reversed[i] = faces[35 - i];
  refuses(&ctx, perp_mass_polytope(&ctx, 1, cube, 8, reversed, 12, &got, centroid), "inside out");
  for (int i = 0; i < 24; i++) v[i] = i % 3 == 1 ? 0 : cube[i];
  refuses(&ctx, perp_mass_polytope(&ctx, 1, v, 8, faces, 12, &got, centroid), "flat");
  memcpy(v, cube, sizeof v);
  v[4] = (double)NAN;
  refuses(&ctx, perp_mass_polytope(&ctx, 1, v, 8, faces, 12, &got, centroid), "vertex 1 is not");
  return tap_done();
}
