/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Explicit Euler (Vondrak 2.2.1):  y(t + h) = y(t) + h f(t, y(t)),  order 1.
 *
 * On the numbers of (q, v), then project, like the other Runge-Kutta methods and as Vondrak has it:
 * qdot comes with the derivative anyway, and the result differs from retract(q, h v) by O(h^3)
 * only, far below the error of the method.  Both use the *old* velocity, which is what sets it
 * apart from symplectic-euler.
 *
 * One derivative a step, at the regular state.  Energy of an oscillator grows by 1 + (h omega)^2 a
 * step; unstable for undamped motion at any h. */
#include "solvers/ode/method.h"

static const double c[] = { 0 };
static const double b[] = { 1 };
static const perp_ode_tableau tableau = { 1, 1, c, NULL, b, NULL, NULL };

PERP_ODE_RK(euler, "euler", "Explicit Euler method, order 1", "Vondrak 2005, 2.2.1", 1,
            PERP_ODE_ONE_EVALUATION, 0);
