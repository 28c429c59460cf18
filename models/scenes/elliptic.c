/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/scenes/elliptic.h"

#include <gsl/gsl_sf_ellint.h>
#include <math.h>

enum { LANDEN = 40 }; /* steps of the mean; it converges quadratically, 9 serve kc = 1e-12 */

/* The mean of (1, kc) with its history: a[0 ... n], c[0 ... n]. */
static int elliptic_agm(double kc, double a[LANDEN + 1], double c[LANDEN + 1])
{
  double b = kc;
  int n = 0;
  a[0] = 1;
  c[0] = sqrt((1 - kc) * (1 + kc));
  while (n < LANDEN && fabs(c[n]) > 1e-17 * a[n]) {
    c[n + 1] = 0.5 * (a[n] - b);
    a[n + 1] = 0.5 * (a[n] + b);
    b = sqrt(a[n] * b);
    n++;
  }
  return n;
}

double perp_elliptic_K(double kc)
{
  double a[LANDEN + 1], c[LANDEN + 1];
  int n = elliptic_agm(kc, a, c);
  return M_PI_2 / a[n];
}

double perp_elliptic_am(double u, double kc)
{
  double a[LANDEN + 1], c[LANDEN + 1];
  int n = elliptic_agm(kc, a, c);
  /* whole half periods first: the amplitude advances by pi every 2 K */
  double half = M_PI / a[n], turns = nearbyint(u / half);
  double phi = ldexp(a[n] * (u - turns * half), n);
  for (; n > 0; n--) phi = 0.5 * (phi + asin(c[n] / a[n] * sin(phi)));
  return phi + turns * M_PI;
}

double perp_elliptic_dn(double phi, double kc)
{
  double c = cos(phi), s = kc * sin(phi);
  return sqrt(c * c + s * s);
}

static double carlson_f(double x, double y)
{
  gsl_sf_result result;
  return gsl_sf_ellint_RF_e(x, y, 1, GSL_PREC_DOUBLE, &result) == 0 ? result.val : nan("");
}

static double carlson_j(double x, double y, double p)
{
  gsl_sf_result result;
  return gsl_sf_ellint_RJ_e(x, y, 1, p, GSL_PREC_DOUBLE, &result) == 0 ? result.val : nan("");
}

static double third_kind(double phi, double n, double kc)
{
  double s = sin(phi), c = cos(phi), y = c * c + kc * kc * s * s;
  double value = s * carlson_f(c * c, y);
  if (n != 0) value -= n / 3 * s * s * s * carlson_j(c * c, y, 1 + n * s * s);
  return value;
}

double perp_elliptic_Pi(double phi, double n, double kc)
{
  double turns = nearbyint(phi / M_PI);
  double value = third_kind(phi - turns * M_PI, n, kc);
  return turns != 0 ? value + 2 * turns * third_kind(M_PI_2, n, kc) : value;
}

double perp_elliptic_F(double phi, double kc)
{
  return perp_elliptic_Pi(phi, 0, kc);
}
