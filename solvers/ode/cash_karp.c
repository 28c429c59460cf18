/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cash-Karp, order 5 with an embedded formula of order 4 (the pair that STAR 4.1 describes).
 * Coefficients: Cash and Karp, ACM Transactions on Mathematical Software 16 (1990). */
#include "solvers/ode/method.h"

static const double c[] = { 0, 1.0 / 5, 3.0 / 10, 3.0 / 5, 1, 7.0 / 8 };
// clang-format off
static const double a[] = {
  1.0 / 5,
  3.0 / 40,       9.0 / 40,
  3.0 / 10,       -9.0 / 10,   6.0 / 5,
  -11.0 / 54,     5.0 / 2,     -70.0 / 27,    35.0 / 27,
  1631.0 / 55296, 175.0 / 512, 575.0 / 13824, 44275.0 / 110592, 253.0 / 4096,
};
static const double b[] = { 37.0 / 378, 0, 250.0 / 621, 125.0 / 594, 0, 512.0 / 1771 };
static const double e[] = { /* b - bhat */
  37.0 / 378 - 2825.0 / 27648,
  0,
  250.0 / 621 - 18575.0 / 48384,
  125.0 / 594 - 13525.0 / 55296,
  -277.0 / 14336,
  512.0 / 1771 - 1.0 / 4,
};
// clang-format on
static const perp_ode_tableau tableau = { 6, 6, c, a, b, e, NULL };

PERP_ODE_RK(cash_karp, "cash-karp", "Cash-Karp Runge-Kutta pair, order 5(4)",
            "STAR 2012, 4.1; Cash and Karp 1990, ACM Transactions on Mathematical Software 16", 5,
            PERP_ODE_EMBEDDED, 4);
