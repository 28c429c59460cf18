/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/lcp/exact_sum.h"

#include <float.h>
#include <math.h>
#include <string.h>

_Static_assert(LDBL_MAX_EXP >= 16384 && LDBL_MANT_DIG >= 64,
               "the judge counts on long double numbers of the range of a product of doubles");

__extension__ typedef unsigned __int128 wide;

/* |s| = mantissa 2^exponent */
static uint64_t exact_sum_mantissa(double s, int *exponent)
{
  uint64_t bits;
  memcpy(&bits, &s, sizeof bits);
  const int biased = (int)(bits >> 52 & 0x7ff);
  bits &= 0xfffffffffffffu;
  *exponent = biased > 0 ? biased - 1075 : -1074;
  return biased > 0 ? bits | (uint64_t)1 << 52 : bits;
}

/* words from ... to - 1 are there */
static inline void exact_sum_extend(perp_exact_sum *sum, int from, int to)
{
  if (sum->from == sum->to) sum->from = sum->to = from;
  while (sum->from > from) {
    sum->from--;
    sum->plus[sum->from] = sum->minus[sum->from] = 0;
  }
  while (sum->to < to) {
    sum->plus[sum->to] = sum->minus[sum->to] = 0;
    sum->to++;
  }
}

static inline void carry_on(perp_exact_sum *sum, uint64_t *word, int k)
{
  for (;; k++) {
    if (k == sum->to) exact_sum_extend(sum, sum->from, k + 1);
    if (++word[k] != 0) return;
  }
}

/* x += or -= m 2^e, m < 2^107 */
static void add_at(perp_exact_sum *x, bool negative, wide m, int e)
{
  const int at = e + PERP_EXACT_SUM_BELOW, k = at >> 6, shift = at & 63;
  const wide rest = m >> (64 - shift);
  const uint64_t part[3] = { (uint64_t)(m << shift), (uint64_t)rest, (uint64_t)(rest >> 64) };
  uint64_t *word = negative ? x->minus : x->plus, carry = 0;
  exact_sum_extend(x, k, k + 3);
  for (int i = 0; i < 3; i++) {
    const wide sum = (wide)word[k + i] + part[i] + carry;
    word[k + i] = (uint64_t)sum;
    carry = (uint64_t)(sum >> 64);
  }
  if (carry != 0) carry_on(x, word, k + 3);
}

void perp_exact_sum_add_product(perp_exact_sum *sum, double s, double t)
{
  if (s == 0 || t == 0) return;
  int e, f;
  const uint64_t m = exact_sum_mantissa(s, &e), n = exact_sum_mantissa(t, &f);
  add_at(sum, (s < 0) != (t < 0), (wide)m * n, e + f);
}

void perp_exact_sum_add(perp_exact_sum *sum, double s)
{
  if (s == 0) return;
  int e;
  const uint64_t m = exact_sum_mantissa(s, &e);
  add_at(sum, s < 0, m, e);
}

/* One of plus and minus becomes zero, and no word at either end is; is x < 0? */
static bool exact_sum_reduce(perp_exact_sum *sum)
{
  int k = sum->to - 1;
  while (k >= sum->from && sum->plus[k] == sum->minus[k]) k--;
  if (k < sum->from) {
    perp_exact_sum_clear(sum);
    return false;
  }
  const bool negative = sum->plus[k] < sum->minus[k];
  uint64_t *large = negative ? sum->minus : sum->plus, *small = negative ? sum->plus : sum->minus;
  uint64_t borrow = 0;
  sum->to = k + 1;
  for (int i = sum->from; i < sum->to; i++) {
    const wide less = (wide)small[i] + borrow;
    borrow = large[i] < less;
    large[i] = (uint64_t)(large[i] - less);
    small[i] = 0;
  }
  while (large[sum->to - 1] == 0) sum->to--;
  while (large[sum->from] == 0) sum->from++;
  return negative;
}

void perp_exact_sum_add_times(perp_exact_sum *x, perp_exact_sum *y, double s)
{
  const bool below = exact_sum_reduce(y), negative = below != (s < 0);
  if (y->from == y->to || s == 0) return;
  int e;
  uint64_t m = exact_sum_mantissa(s, &e);
  /* words of y have the weight 2^(64 k - BELOW): s is moved by its bits, y by words */
  const int whole = e >= 0 ? e / 64 : -((63 - e) / 64), shift = e - 64 * whole;
  const uint64_t factor[2] = { m << shift, shift > 0 ? m >> (64 - shift) : 0 };
  const uint64_t *of = below ? y->minus : y->plus;
  uint64_t *word = negative ? x->minus : x->plus;
  const int from = y->from + whole;
  exact_sum_extend(x, from, y->to + whole + 2);
  for (int h = 0; h < 2; h++) {
    uint64_t carry = 0;
    if (factor[h] == 0) continue;
    for (int k = y->from; k < y->to; k++) {
      const wide sum = (wide)of[k] * factor[h] + word[k + whole + h] + carry;
      word[k + whole + h] = (uint64_t)sum;
      carry = (uint64_t)(sum >> 64);
    }
    const int end = y->to + whole + h;
    const wide sum = (wide)word[end] + carry;
    word[end] = (uint64_t)sum;
    if (sum >> 64 != 0) carry_on(x, word, end + 1);
  }
}

long double perp_exact_sum_value(perp_exact_sum *sum)
{
  const bool negative = exact_sum_reduce(sum);
  if (sum->from == sum->to) return 0;
  const uint64_t *word = negative ? sum->minus : sum->plus;
  /* 64 bits from the first that is 1 on, and what is below them; the lowest word is not 0 */
  const int k = sum->to - 1;
  const int shift = __builtin_clzll(word[k]);
  const uint64_t next = k > sum->from ? word[k - 1] : 0, below = next << shift;
  uint64_t top = word[k] << shift | (shift > 0 ? next >> (64 - shift) : 0);
  const bool half = below >> 63 != 0, more = below << 1 != 0 || k - 1 > sum->from;
  int exponent = 64 * k - shift - PERP_EXACT_SUM_BELOW;
  if (half && (more || (top & 1) != 0) && ++top == 0) {
    top = (uint64_t)1 << 63;
    exponent++;
  }
  const long double value = ldexpl((long double)top, exponent);
  return negative ? -value : value;
}
