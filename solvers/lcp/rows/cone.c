/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Coulomb friction of a single contact, exactly.
 *
 * Open: x = 0 when q_n >= 0.  Sticking: K x = -q when that x lies in the cone.  Sliding: w_n = 0
 * gives n = -(q_n + K_nt t) / K_nn, and with the Schur complement S = K_tt - K_tn K_nt / K_nn, p =
 * q_t - K_tn q_n / K_nn, t(kappa) = -(S + kappa I)^-1 p,     h(kappa) = |t(kappa)| - mu n(kappa) =
 * 0,  kappa > 0, which becomes a quartic in kappa when cleared of roots and denominators.  It is
 * solved as it stands: h is positive where sticking fails and negative for kappa -> inf (t -> 0, n
 * -> -q_n / K_nn > 0), so Newton's method between brackets cannot miss.  The tangential axes are
 * turned to the eigenvectors of the symmetric part of S first; S itself need not be symmetric (K_nt
 * != K_tn').  A standard formulation (Bonnefon and Daviet 2011 discuss the quartic). */
#include "solvers/lcp/rows/cone.h"

#include "solvers/core/length.h"

#include <math.h>

struct slide {
  double mu, Knn, Knt[2], qn, S[4], p[2];
};

/* x = -(S + kappa I)^-1 p with S nearly diagonal, S[0] its larger entry: no cancellation when S is
 * singular */
static void shifted_solve(const struct slide *slide, double kappa, const double *p, double *x)
{
  double f = slide->S[1] / (slide->S[0] + kappa);
  x[1] = -(p[1] - f * p[0]) / (slide->S[3] + kappa - f * slide->S[2]);
  x[0] = -(p[0] + slide->S[2] * x[1]) / (slide->S[0] + kappa);
}

/* t, n, h and dh/dkappa */
static double h_of(const struct slide *slide, double kappa, double *t, double *n, double *slope)
{
  double s[2]; /* dt / dkappa */
  shifted_solve(slide, kappa, slide->p, t);
  shifted_solve(slide, kappa, t, s);
  double size = perp_length(t[0], t[1]);
  *n = -(slide->qn + slide->Knt[0] * t[0] + slide->Knt[1] * t[1]) / slide->Knn;
  double dn = -(slide->Knt[0] * s[0] + slide->Knt[1] * s[1]) / slide->Knn;
  *slope = (size > 0 ? (t[0] * s[0] + t[1] * s[1]) / size : 0) - slide->mu * dn;
  return size - slide->mu * *n;
}

/* cos, sin of half the angle of (x, y), in (-pi/2, pi/2] */
static void cone_axis(double x, double y, double *cs, double *sn)
{
  const double r = perp_length(x, y);
  const double larger = r > 0 ? sqrt((r + fabs(x)) / r / 2) : 1;
  const double smaller = r > 0 ? fabs(y) / r / 2 / larger : 0;
  *cs = x >= 0 ? larger : smaller;
  *sn = copysign(x >= 0 ? smaller : larger, y);
}

/* v = R v or R' v for the rotation (cs, sn) */
static void cone_rotate(double cs, double sn, double *v)
{
  double x = cs * v[0] + sn * v[1];
  v[1] = cs * v[1] - sn * v[0];
  v[0] = x;
}

bool perp_cone_solve(double mu, const double *K, const double *q, double *x)
{
  struct slide slide = { .mu = mu, .Knn = K[0], .Knt = { K[3], K[6] }, .qn = q[0] };
  if (!(K[0] > 0) || !isfinite(q[0] + q[1] + q[2])) return false;
  if (q[0] >= 0) {
    x[0] = x[1] = x[2] = 0;
    return true;
  }
  double size = -q[0] / K[0];
  if (mu == 0) {
    x[0] = size;
    x[1] = x[2] = 0;
    return true;
  }
  for (int i = 0; i < 2; i++) {
    slide.p[i] = q[1 + i] - K[1 + i] * q[0] / K[0];
    for (int j = 0; j < 2; j++)
      slide.S[i + 2 * j] = K[1 + i + 3 * (1 + j)] - K[1 + i] * K[3 * (1 + j)] / K[0];
  }
  double cs, sn;
  cone_axis(slide.S[0] - slide.S[3], slide.S[1] + slide.S[2], &cs, &sn);
  cone_rotate(cs, sn, slide.S);
  cone_rotate(cs, sn, slide.S + 2);
  for (int i = 0; i < 2; i++) {
    double row[2] = { slide.S[i], slide.S[i + 2] };
    cone_rotate(cs, sn, row);
    slide.S[i] = row[0];
    slide.S[i + 2] = row[1];
  }
  cone_rotate(cs, sn, slide.p);
  cone_rotate(cs, sn, slide.Knt);
  double trace = fabs(slide.S[0]) + fabs(slide.S[3]);
  double t[2], n, slope, low = 0, high;
  /* sticking; where S is singular a kappa of rounding size stands for 0 */
  if (!(slide.S[3] > 1e-12 * fmax(trace, K[0]))) low = 1e-12 * fmax(trace, K[0]);
  double h = h_of(&slide, low, t, &n, &slope);
  if (isnan(h)) return false;
  if (h <= 0) {
    cone_rotate(cs, -sn, t);
    x[0] = n;
    x[1] = t[0];
    x[2] = t[1];
    return true;
  }
  high = fmax(trace, perp_length(slide.p[0], slide.p[1]) / (mu * size));
  for (int k = 0; h_of(&slide, high, t, &n, &slope) > 0 && k < 200; k++) {
    low = high;
    high *= 4;
  }
  double kappa = high;
  for (int k = 0; k < 200 && high - low > 1e-16 * high; k++) {
    h = h_of(&slide, kappa, t, &n, &slope);
    if (h > 0)
      low = kappa;
    else
      high = kappa;
    double next = kappa - h / slope;
    if (!(next > low && next < high)) next = 0.5 * (low + high);
    if (fabs(h) <= 1e-16 * mu * n || next == kappa) break;
    kappa = next;
  }
  h_of(&slide, kappa, t, &n, &slope);
  if (!isfinite(n) || !(n >= 0)) return false;
  double length = perp_length(t[0], t[1]), to = length > 0 ? mu * n / length : 0;
  cone_rotate(cs, -sn, t);
  x[0] = n;
  x[1] = t[0] * to; /* on the cone to the last digit */
  x[2] = t[1] * to;
  return true;
}
