/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/penalty/penalty_law.h"

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

perp_penalty_spring perp_penalty_depth(const perp_penalty_law *law, double depth)
{
  if (!(depth > 0)) return (perp_penalty_spring){ 0 };
  const double n = law->exponent;
  const double force = law->stiffness * (n == 1 ? depth : pow(depth, n));
  return (perp_penalty_spring){ force, n * force / depth, force * depth / (n + 1) };
}

perp_penalty_spring perp_penalty_volume(const perp_penalty_law *law, double volume, double area)
{
  const perp_penalty_spring spring = perp_penalty_depth(law, volume);
  return (perp_penalty_spring){ spring.force * area, spring.stiffness * area * area,
                                spring.energy };
}

double perp_penalty_normal(const perp_penalty_law *law, double factor, double approach, double mass,
                           const perp_penalty_spring *spring, double rate)
{
  if (!(spring->force > 0)) return 0;
  const double critical = 2 * law->damping_ratio * sqrt(spring->stiffness * mass);
  const double dashpot = fmin(
      factor > 0 ? spring->force * factor / fmax(approach, law->threshold) : 0, critical);
  return fmax(0, spring->force + dashpot * rate);
}

bool perp_penalty_ledger_add(perp_penalty_ledger *ledger, double work, double least)
{
  ledger->work += work;
  ledger->taken = fmax(ledger->taken, -ledger->work);
  return !(ledger->work > PERP_PENALTY_GAIN * ledger->taken + least);
}
