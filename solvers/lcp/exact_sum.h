/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sums of products of doubles without any rounding, over- or underflow: numbers in fixed point,
 * long enough for products of five doubles of any size (Kulisch's long accumulator).  For the
 * judge, and nothing else is as slow. */
#ifndef PERP_LCP_EXACT_SUM_H
#define PERP_LCP_EXACT_SUM_H

#include <stdbool.h>
#include <stdint.h>

/* Word 0 counts 2^-5440 (the smallest double to the fifth is 2^-5370, and a word of room), the top
 * is 2^5568, of which the largest double to the fifth and sums of 2^63 of those need 2^5183. */
enum { PERP_EXACT_SUM_BELOW = 5440, PERP_EXACT_SUM_WORDS = 172 };

/* What was added less what was subtracted; words outside from <= k < to are zero, and not there. */
typedef struct perp_exact_sum {
  int from, to;
  uint64_t plus[PERP_EXACT_SUM_WORDS], minus[PERP_EXACT_SUM_WORDS];
} perp_exact_sum;

static inline void perp_exact_sum_clear(perp_exact_sum *sum)
{
  sum->from = sum->to = 0;
}

/* x += s t and x += s; numbers must be finite */
void perp_exact_sum_add_product(perp_exact_sum *sum, double s, double t);
void perp_exact_sum_add(perp_exact_sum *sum, double s);
/* x += s y; x must not be y, which is reduced first.  The numbers in y are products of up to four
 * doubles. */
void perp_exact_sum_add_times(perp_exact_sum *x, perp_exact_sum *y, double s);
/* The nearest long double, of two the even one, so that powers of two go through it; reduces x to
 * one side. */
long double perp_exact_sum_value(perp_exact_sum *sum);

#endif
