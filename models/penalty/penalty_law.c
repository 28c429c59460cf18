/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/penalty/penalty_law.h"

#include <math.h>

enum { BISECTIONS = 60 };

double perp_penalty_factor(double e)
{
  if (e >= 1) return 0;
  if (!(e > 0)) return HUGE_VAL;
  /* in y = e x in (0, 1): y/e - ln(1 + y/e) + y + ln(1 - y) falls from above 0 to -infinity */
  double low = 0, high = 1;
  for (int i = 0; i < BISECTIONS; i++) {
    const double y = 0.5 * (low + high), x = y / e;
    if (x - log1p(x) + y + log1p(-y) > 0)
      low = y;
    else
      high = y;
  }
  return low / e;
}

double perp_penalty_normal(const perp_penalty_law *law, double factor, double approach, double mass,
                           double depth, double rate)
{
  if (!(depth > 0)) return 0;
  const double n = law->exponent;
  const double spring = law->stiffness * (n == 1 ? depth : pow(depth, n));
  const double critical = 2 * law->damping_ratio * sqrt(n * spring / depth * mass);
  const double dashpot = fmin(factor > 0 ? spring * factor / fmax(approach, law->threshold) : 0,
                              critical);
  return fmax(0, spring + dashpot * rate);
}

bool perp_penalty_ledger_add(perp_penalty_ledger *l, double work, double least)
{
  l->work += work;
  l->taken = fmax(l->taken, -l->work);
  return !(l->work > PERP_PENALTY_GAIN * l->taken + least);
}
