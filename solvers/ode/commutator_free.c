/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Commutator-free Lie group method of order 4 on the classical Runge-Kutta method:
 *   q_2 = q0 [+] h/2 v_1,   q_3 = q0 [+] h/2 v_2,   q_4 = q0 [+] h/2 v_1 [+] h (v_3 - v_1/2),
 *   q(t + h) = q0 [+] h/12 (3 v_1 + 2 v_2 + 2 v_3 - v_4) [+] h/12 (-v_1 + 2 v_2 + 2 v_3 + 3 v_4).
 * Four derivatives and six exponentials where Crouch and Grossman need five and fifteen.
 * Source: Celledoni, Marthinsen and Owren, Future Gener. Comput. Syst. 19 (2003). */
#include "solvers/ode/method.h"

static const double c[] = { 0, 0.5, 0.5, 1 };
static const int factors[] = { 0, 1, 1, 2, 2 };
// clang-format off
static const double coeff[] = {
  0.5,
  0,         0.5,
  0.5,       0,         0,
  -0.5,      0,         1,
  3.0 / 12,  2.0 / 12,  2.0 / 12,  -1.0 / 12,
  -1.0 / 12, 2.0 / 12,  2.0 / 12,  3.0 / 12,
};
// clang-format on
static const perp_ode_factors tableau = { 4, c, factors, coeff };

PERP_ODE_FACTORS(commutator_free, "commutator-free",
                 "Commutator-free Runge-Kutta method on the configuration manifold, order 4",
                 "Celledoni, Marthinsen and Owren 2003", 4);
