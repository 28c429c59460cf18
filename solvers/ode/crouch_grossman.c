/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Crouch-Grossman method of order 4 with five stages: each increment is one stage's velocity,
 *   q_s = q0 [+] h a_s1 v_1 [+] h a_s2 v_2 [+] ... [+] h a_s,s-1 v_s-1,
 *   q(t + h) = q0 [+] h b_1 v_1 [+] ... [+] h b_5 v_5.
 * Order 4 needs five stages, as there is an order condition more than for a vector space.
 * Coefficients: Jackiewicz, Marthinsen and Owren, Appl. Numer. Math. 34 (2000). */
#include "solvers/ode/method.h"

#define A21 0.8177227988124852
#define A31 0.3199876375476427
#define A32 0.0659864263556022
#define A41 0.9214417194464946
#define A42 0.4997857776773573
#define A43 -1.0969984448371582
#define A51 0.3552358559023322
#define A52 0.2390958372307326
#define A53 1.3918565724203246
#define A54 -1.1092979392113465
#define B1  0.1370831520630755
#define B2  -0.0183698531564020
#define B3  0.7397813985370780
#define B4  -0.1907142565505889
#define B5  0.3322195591068374

static const double c[] = { 0, A21, A31 + A32, A41 + A42 + A43, A51 + A52 + A53 + A54 };
static const int factors[] = { 0, 1, 2, 3, 4, 5 };
// clang-format off
static const double coeff[] = {
  A21,
  A31, 0,   0,   A32,
  A41, 0,   0,   0,   A42, 0,   0,   0,   A43,
  A51, 0,   0,   0,   0,   A52, 0,   0,   0,   0,   A53, 0,   0,   0,   0,   A54,
  B1,  0,   0,   0,   0,   0,   B2,  0,   0,   0,   0,   0,   B3,  0,   0,
  0,   0,   0,   B4,  0,   0,   0,   0,   0,   B5,
};
// clang-format on
static const perp_ode_factors tableau = { 5, c, factors, coeff };

PERP_ODE_FACTORS(crouch_grossman, "crouch-grossman",
                 "Crouch-Grossman method on the configuration manifold, order 4",
                 "Jackiewicz, Marthinsen and Owren 2000; Crouch and Grossman 1993", 4);
