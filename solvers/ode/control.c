/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Error control: Vondrak 2005, section 2.2.3, eq. 2.3. */
#include "solvers/ode/control.h"

#include <float.h>

static const double safety = 0.9, smooth_safety = 0.95, least_factor = 0.2, most_factor = 5;
/* The exponent of the error of the step before, times n + 1; that error is taken to be at least so
 * large. */
static const double from_before = 0.4, least_before = 1e-4;
/* Multistep methods: VODE's rule (Brown, Byrne and Hindmarsh 1989) with a bias of 20 in place of
 * its 6.  The errors of neighbouring steps share their history and their sign and add up; with 20
 * the error in the end is of the size of the tolerance at the same number of steps
 * (tests/agree/ode_tolerance.c), since fewer are refused. */
static const double bias = 20, worth_growing = 1.5, worth_shrinking = 0.9;

const char *const perp_ode_control_names[] = { "auto", "embedded", "doubling", "truncation", NULL };

void perp_ode_scale_grow(struct perp_ode_scale *scale, int nq, int nv, const double *y)
{
  for (int i = 0; i < nq; i++) scale->q = fmax(scale->q, fabs(y[i]));
  for (int i = nq; i < nq + nv; i++) scale->v = fmax(scale->v, fabs(y[i]));
}

static double least_motion(struct perp_ode_scale scale, double h)
{
  return DBL_EPSILON * scale.q / h;
}

bool perp_ode_at_rest(struct perp_ode_scale scale, double h)
{
  return scale.v < least_motion(scale, h);
}

struct perp_ode_scale perp_ode_absolute(double tol, double atol, struct perp_ode_scale scale,
                                        double h)
{
  if (atol > 0) return (struct perp_ode_scale){ atol, atol };
  return (struct perp_ode_scale){ tol * scale.q, perp_ode_at_rest(scale, h) ? least_motion(scale, h)
                                                                            : tol * scale.v };
}

double perp_ode_error_ratio(const perp_ode_control *control, struct perp_ode_scale scale, double h,
                            int nq, int nv, const double *y0, const double *y1, const double *err)
{
  perp_ode_scale_grow(&scale, nq, nv, y1);
  const struct perp_ode_scale absolute = perp_ode_absolute(control->tol, control->atol, scale, h);
  double ratio = 0;
  for (int i = 0; i < nq + nv; i++) {
    double E = control->tol * fmax(fabs(y0[i]), fabs(y1[i])) + (i < nq ? absolute.q : absolute.v);
    double e = fabs(err[i]);
    if (e == 0) continue;
    double r = e / E; /* E = 0: infinite */
    if (!(r <= ratio)) ratio = r;
    if (isnan(ratio)) break;
  }
  return ratio;
}

static double control_limit(double factor, double ratio, bool refused)
{
  return fmin(fmax(factor, least_factor), refused || ratio > 1 ? 1 : most_factor);
}

double perp_ode_step_factor(double ratio, double before, int n, bool refused)
{
  if (!(ratio <= HUGE_VAL)) return least_factor;
  if (ratio == 0) return control_limit(most_factor, ratio, refused);
  const bool alone = ratio > 1 || refused || before == 0;
  const double part = alone ? 1 : 1 - 0.75 * from_before; /* 0.7 */
  double factor = (alone ? safety : smooth_safety) * pow(ratio, -part / (n + 1));
  if (!alone) factor *= pow(fmax(before, least_before), from_before / (n + 1));
  return control_limit(factor, ratio, refused);
}

double perp_ode_keep_factor(double ratio, int n, bool refused)
{
  if (!(ratio <= HUGE_VAL)) return least_factor;
  double factor = ratio > 0 ? pow(bias * ratio, -1.0 / (n + 1)) : most_factor;
  if (ratio <= 1 && factor > worth_shrinking && factor < worth_growing) factor = 1;
  return control_limit(factor, ratio, refused);
}
