/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error control of the driver; not installed. */
#ifndef PERP_ODE_CONTROL_H
#define PERP_ODE_CONTROL_H

#include "solvers/core/finite.h"
#include "solvers/ode/ode.h"

/* The largest position and velocity so far: the scale of the tolerance where atol = 0. */
struct perp_ode_scale {
  double q, v;
};

/* Let the scale know of the state y = (q, v). */
void perp_ode_scale_grow(struct perp_ode_scale *scale, int nq, int nv, const double *y);

/* No velocity was ever so large as to change the last digit of the largest position within h: |v| <
 * eps q / h.  Forces in balance leave nothing but rounding in them, of which no step however short
 * could get a part right. */
bool perp_ode_at_rest(struct perp_ode_scale scale, double h);

/* The absolute part of the tolerance of positions and velocities in a step h: atol, or tol times
 * the scale; for velocities at rest all of eps q / h. */
struct perp_ode_scale perp_ode_absolute(double tol, double atol, struct perp_ode_scale scale,
                                        double h);

/* max_i |err_i| / E_i with E_i = tol max(|y0_i|, |y1_i|) + the absolute part, of a step h.  y0, y1,
 * err [nq + nv]; y1 grows a copy of the scale.  0 / 0 counts as 0; NaN when an err_i is NaN. */
double perp_ode_error_ratio(const perp_ode_control *control, struct perp_ode_scale scale, double h,
                            int nq, int nv, const double *y0, const double *y1, const double *err);

/* h' / h after a step with ratio = e / E whose estimate is O(h^(n + 1)), and that of the accepted
 * step before it: 0.95 ratio^(-0.7 / (n + 1)) before^(0.4 / (n + 1)) a proportional and an integral
 * part (Gustafsson, Lundh and Soederlind 1988, BIT 28, section 5; Hairer and Wanner, Solving
 * Ordinary Differential Equations II, eq. IV.2.43), so that steps that change fast are not refused
 * all the time; where the step is refused, or none was before (0) 0.9 ratio^(-1 / (n + 1)) (Vondrak
 * 2005, eq. 2.3, with a safety factor) within [0.2, 5], and not above 1 when the step was refused
 * before or is being refused (ratio > 1).  A ratio that is not a number gives 0.2. */
double perp_ode_step_factor(double ratio, double before, int n, bool refused);
/* The same as multistep methods want it: (20 ratio)^(-1 / (n + 1)), no change between 0.9 and 1.5.
 */
double perp_ode_keep_factor(double ratio, int n, bool refused);

#endif
