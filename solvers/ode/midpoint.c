/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explicit midpoint rule, order 2 (Vondrak 2.2.2; the formula before note 6, read with the step h/2
 * inside f): y(t + h) = y + h f(t + h/2, y + h/2 f(t, y)). */
#include "solvers/ode/method.h"

static const double c[] = { 0, 0.5 };
static const double a[] = { 0.5 };
static const double b[] = { 0, 1 };
static const perp_ode_tableau tableau = { 2, 2, c, a, b, NULL, NULL };

PERP_ODE_RK(midpoint, "midpoint", "Explicit midpoint rule, order 2", "Vondrak 2005, 2.2.2", 2, 0,
            0);
