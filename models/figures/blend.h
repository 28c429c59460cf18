/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Smooth curves through knots, of numbers and of rotations, with their rates and accelerations.
 *
 * At each knot i stands a local interpolant P_i: the polynomial of degree 4 through the knots i-2
 * ... i+2 (at the ends the five next ones; with fewer knots the degree falls), of rotations in the
 * exponential chart at the middle knot of the five, P_i(t) = R_c exp(p_i(t)).  Between two knots
 * the curve goes from one to the other,
 *
 *      numbers      y(t) = (1 - b) P_i + b P_i+1
 *
 *      rotations    R(t) = P_i exp(b log(P_i^-1 P_i+1))
 *
 *      b(s) = s^6 (462 - 1980 s + 3465 s^2 - 3080 s^3 + 1386 s^4 - 252 s^5)
 *
 * with s from 0 to 1, five derivatives of b zero at both ends: the curve goes through its knots and
 * has five continuous derivatives, at the knots those of P_i.  It is Overhauser's blend of
 * neighbouring local curves (parabolas, and a linear b, in his), taken to the group here: local (a
 * knot moves six spans), no system to solve, stable, the same in every frame, outside and inside,
 * and backwards.  Polynomials of degree 4, and turns about one axis by such an angle, are met
 * exactly; errors of smooth motions fall as h^5, of rates as h^4, of accelerations as h^3.  It
 * interpolates: noise of the knots is not smoothed, and accelerations have it divided by h^2.
 *
 * Two neighbouring knots must be less than half a turn apart; farther ones in a window follow their
 * neighbours beyond that. Before the first and after the last knot the curve stays where it is,
 * with rates 0.  Cost: O(log n), no allocation. */
#ifndef PERP_BLEND_H
#define PERP_BLEND_H

#ifdef __cplusplus
extern "C" {
#endif

/* b at s, 0 before 0 and 1 after 1. */
double perp_blend_weight(double s);
/* y [3] out: value, rate and acceleration at `time` of the numbers y_k = knots[k stride] at the
 * times t [n], which rise; n >= 1. */
void perp_blend_number(int n, const double *t, const double *knots, int stride, double time,
                       double y[3]);
/* The same of unit quaternions (w, x, y, z) at knots + k stride; either sign serves.  q [4] out, w
 * and wdot [3]: the angular velocity in the frame that turns, and its rate. */
void perp_blend_rotation(int n, const double *t, const double *knots, int stride, double time,
                         double q[4], double w[3], double wdot[3]);

#ifdef __cplusplus
}
#endif

#endif
