/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The classical Runge-Kutta method of order 4 (Vondrak 2.2.2, STAR 4.1):
 *   y(t + h) = y + h (k1 + 2 k2 + 2 k3 + k4) / 6. */
#include "solvers/ode/method.h"

static const double c[] = { 0, 0.5, 0.5, 1 };
// clang-format off
static const double a[] = {
  0.5,
  0,   0.5,
  0,   0,   1,
};
// clang-format on
static const double b[] = { 1.0 / 6, 1.0 / 3, 1.0 / 3, 1.0 / 6 };
static const perp_ode_tableau tableau = { 4, 4, c, a, b, NULL, NULL };

PERP_ODE_RK(rk4, "rk4", "Classical Runge-Kutta method, order 4",
            "Vondrak 2005, 2.2.2; STAR 2012, 4.1", 4, 0, 0);
