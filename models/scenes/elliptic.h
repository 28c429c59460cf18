/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Elliptic functions and integrals with the complementary modulus as their argument.
 *
 * k^2 + kc^2 = 1.  Close to a separatrix k^2 = 1 - 1e-12 has lost most digits of kc, and GSL's
 * functions take k^2; scenes know kc without cancellation, so these take kc.  All are accurate to a
 * few units in the last place for 0 < kc <= 1. */
#ifndef PERP_ELLIPTIC_H
#define PERP_ELLIPTIC_H

/* K(k) = integral of (1 - k^2 sin^2)^(-1/2) over a quarter turn, by the arithmetic-geometric
 * mean. */
double perp_elliptic_K(double kc);
/* The amplitude am(u | k), continuous in u: F(am(u)) = u.  sn = sin am, cn = cos am.  Descending
 * Landen transformation (Abramowitz & Stegun, chapter 16). */
double perp_elliptic_am(double u, double kc);
/* dn = sqrt(1 - k^2 sin^2 phi) = sqrt(cos^2 phi + kc^2 sin^2 phi) */
double perp_elliptic_dn(double phi, double kc);
/* F(phi | k), any real phi; Carlson's RF. */
double perp_elliptic_F(double phi, double kc);
/* Integral of 1 / ((1 + n sin^2) sqrt(1 - k^2 sin^2)) from 0 to phi, n > -1, any real phi;
 * Carlson's RF, RJ. */
double perp_elliptic_Pi(double phi, double n, double kc);

#endif
