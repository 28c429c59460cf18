/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Heun's method, order 2 (explicit trapezoidal rule), with Euler's as the embedded formula of order
 * 1: k1 = f(t, y),  k2 = f(t + h, y + h k1),  y(t + h) = y + h (k1 + k2) / 2. Source: Hairer,
 * Norsett and Wanner, Solving Ordinary Differential Equations I, chapter II. */
#include "solvers/ode/method.h"

static const double c[] = { 0, 1 };
static const double a[] = { 1 };
static const double b[] = { 0.5, 0.5 };
static const double e[] = { -0.5, 0.5 };
static const perp_ode_tableau tableau = { 2, 2, c, a, b, e, NULL };

PERP_ODE_RK(heun, "heun", "Heun's method with embedded Euler method, order 2(1)",
            "Hairer, Norsett and Wanner, Solving Ordinary Differential Equations I", 2,
            PERP_ODE_EMBEDDED, 1);
