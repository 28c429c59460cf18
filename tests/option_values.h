/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Values of an option of a method, for tests that go through all options. */
#ifndef PERP_TEST_OPTION_VALUES_H
#define PERP_TEST_OPTION_VALUES_H

#include "solvers/core/core.h"

#include <math.h>
#include <stdio.h>

/* Value k = 0, 1, ... of an option of a method: each choice; numbers beside the default, within
 * their bounds.  False after the last. */
static inline bool golden_option(const perp_opt *o, int k, char *value, size_t size)
{
  const bool whole = o->type == PERP_OPT_INT;
  if (o->type == PERP_OPT_ENUM && k < 16 && o->choices[k] != NULL)
    return snprintf(value, size, "%s", o->choices[k]) > 0;
  if (o->type == PERP_OPT_BOOL && k < 2)
    return snprintf(value, size, "%s", k == 1 ? "true" : "false") > 0;
  if ((!whole && o->type != PERP_OPT_REAL) || k > 1) return false;
  const double factor = k == 0 ? 0.7 : 1.4;
  double x = isfinite(o->dflt) && o->dflt != 0 ? factor * o->dflt : factor * 0.3;
  if (whole) x = o->dflt + (k == 0 ? -1 : 1);
  if (x > o->max) x = isfinite(o->min) ? 0.5 * (o->min + o->max) : o->max - 0.1 * (1 + k);
  if (x < o->min) x = isfinite(o->max) ? 0.5 * (o->min + o->max) : o->min + 0.1 * (1 + k);
  if (whole) x = floor(x);
  snprintf(value, size, "%.12g", x);
  return x >= o->min && x <= o->max;
}

#endif
