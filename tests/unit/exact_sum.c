/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The value of an exact sum is the nearest long double: against sums whose rounding is known, in
 * all positions of its words. */
#include "solvers/core/core.h"
#include "solvers/lcp/exact_sum.h"
#include "tests/tap.h"

#include <float.h>
#include <math.h>

static perp_exact_sum sum;

/* a + b + c, times 2^e */
static long double sum_of(double a, double b, double c, int e)
{
  perp_exact_sum_clear(&sum);
  perp_exact_sum_add(&sum, ldexp(a, e));
  perp_exact_sum_add(&sum, ldexp(b, e));
  perp_exact_sum_add_product(&sum, ldexp(c, e / 2), ldexp(1, e - e / 2));
  return perp_exact_sum_value(&sum);
}

static const struct {
  double a, b, c;
  long double value;
  const char *what;
} cases[] = { { 1, 0x1p-64, 0, 1, "half a unit goes to the even number" },
              { 1, 0x1p-63, 0x1p-64, 1 + 0x1p-62L, "and from an odd one up" },
              { 1, 0x1p-64, 0x1p-900, 1 + 0x1p-63L, "more than half goes up, whatever is more" },
              { 1, 0x1p-64, -0x1p-900, 1, "less than half goes down" },
              { 2, -0x1p-64, 0, 2, "a mantissa of ones becomes the next power of two" },
              { 2, -0x1p-63, 0, 2 - 0x1p-63L, "or stays" },
              { 0x1p60, -0x1p60, 0x1p-60, 0x1p-60L, "nothing is left of what cancels" },
              { 3, -3, 0, 0, "zero" } };

int main(void)
{
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int wrong = 0;
    for (int e = -70; e <= 70; e++)
      for (int sign = -1; sign <= 1; sign += 2)
        wrong += sum_of(sign * cases[i].a, sign * cases[i].b, sign * cases[i].c, e) !=
                 ldexpl(sign * cases[i].value, e);
    ok(wrong == 0, "%s (%d are not)", cases[i].what, wrong);
  }
  perp_rng *g = perp_rng_create(1);
  int moved = 0;
  for (int k = 0; k < 2000; k++) {
    const double a = perp_rng_uniform(g, -1, 1), b = ldexp(perp_rng_uniform(g, -1, 1), -40),
                 c = ldexp(perp_rng_uniform(g, -1, 1), -80);
    const long double value = sum_of(a, b, c, 0);
    for (int e = 1; e < 64; e++) moved += sum_of(a, b, c, e) != ldexpl(value, e);
  }
  ok(moved == 0, "powers of two go through (%d do not)", moved);
  perp_rng_destroy(g);
  return tap_done();
}
