/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lengths of vectors in a plane, where they are many.  Not installed. */
#ifndef PERP_LENGTH_H
#define PERP_LENGTH_H

#include <math.h>

/* sqrt(x^2 + y^2): by that where no square is lost, else by hypot, which takes several times as
 * long; within 1.5 units in the last place. NaN and infinity pass through. */
static inline double perp_length(double x, double y)
{
  const double square = x * x + y * y;
  return square > 1e-280 && square < 1e300 ? sqrt(square) : hypot(x, y);
}

#endif
