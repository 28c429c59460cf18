/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dormand-Prince, order 5 with an embedded formula of order 4.
 * Coefficients: Dormand and Prince, Journal of Computational and Applied Mathematics 6 (1980).
 *
 * The seventh stage serves the error estimate only and is left out of fixed steps.  It equals the
 * first stage of the next step unless that state was changed or projected; it is not reused,
 * because the derivative at a regular state must be asked as such (Vondrak 6.3.3). */
#include "solvers/ode/method.h"

static const double c[] = { 0, 1.0 / 5, 3.0 / 10, 4.0 / 5, 8.0 / 9, 1, 1 };
// clang-format off
static const double a[] = {
  1.0 / 5,
  3.0 / 40,       9.0 / 40,
  44.0 / 45,      -56.0 / 15,      32.0 / 9,
  19372.0 / 6561, -25360.0 / 2187, 64448.0 / 6561, -212.0 / 729,
  9017.0 / 3168,  -355.0 / 33,     46732.0 / 5247, 49.0 / 176,  -5103.0 / 18656,
  35.0 / 384,     0,               500.0 / 1113,   125.0 / 192, -2187.0 / 6784,  11.0 / 84,
};
static const double b[] = { 35.0 / 384, 0, 500.0 / 1113, 125.0 / 192, -2187.0 / 6784, 11.0 / 84 };
static const double e[] = { 71.0 / 57600, 0, -71.0 / 16695, 71.0 / 1920, -17253.0 / 339200,
                            22.0 / 525,   -1.0 / 40 };
// clang-format on
static const perp_ode_tableau tableau = { 6, 7, c, a, b, e, NULL };

PERP_ODE_RK(dopri5, "dopri5", "Dormand-Prince Runge-Kutta pair, order 5(4)",
            "Dormand and Prince 1980, Journal of Computational and Applied Mathematics 6", 5,
            PERP_ODE_EMBEDDED, 4);
