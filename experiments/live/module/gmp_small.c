/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GMP, for the WebAssembly module: schoolbook arithmetic (Knuth 1997, section
 * 4.3.1).  Like GMP it ends the program where there is no memory. */
#include <gmp.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- magnitudes ---- */

static int words_of(mpz_srcptr z)
{
  return z->size < 0 ? -z->size : z->size;
}

static void gmp_room(mpz_ptr z, int words)
{
  if (words <= z->room) return;
  z->room = words + words / 2 + 2;
  z->word = realloc(z->word, (size_t)z->room * sizeof *z->word);
  if (z->word == NULL) abort();
}

/* words [n] are the magnitude now */
static void gmp_end(mpz_ptr z, int n, int negative)
{
  while (n > 0 && z->word[n - 1] == 0) n--;
  z->size = negative ? -n : n;
}

int mpz_cmpabs(mpz_srcptr x, mpz_srcptr y)
{
  const int n = words_of(x), m = words_of(y);
  if (n != m) return n < m ? -1 : 1;
  for (int i = n - 1; i >= 0; i--)
    if (x->word[i] != y->word[i]) return x->word[i] < y->word[i] ? -1 : 1;
  return 0;
}

/* z = |x| + |y|; z may be one of them */
static void magnitudes_add(mpz_ptr z, mpz_srcptr x, mpz_srcptr y, int negative)
{
  if (words_of(x) < words_of(y)) {
    mpz_srcptr keep = x;
    x = y;
    y = keep;
  }
  const int n = words_of(x), m = words_of(y);
  gmp_room(z, n + 1);
  uint64_t carry = 0;
  for (int i = 0; i < n; i++) {
    carry += (uint64_t)x->word[i] + (i < m ? y->word[i] : 0);
    z->word[i] = (uint32_t)carry;
    carry >>= 32;
  }
  z->word[n] = (uint32_t)carry;
  gmp_end(z, n + 1, negative);
}

/* z = |x| - |y| >= 0 */
static void magnitudes_subtract(mpz_ptr z, mpz_srcptr x, mpz_srcptr y, int negative)
{
  const int n = words_of(x), m = words_of(y);
  gmp_room(z, n);
  int64_t borrow = 0;
  for (int i = 0; i < n; i++) {
    borrow += (int64_t)x->word[i] - (i < m ? y->word[i] : 0);
    z->word[i] = (uint32_t)borrow;
    borrow >>= 32;
  }
  gmp_end(z, n, negative);
}

static void gmp_sum(mpz_ptr z, mpz_srcptr x, mpz_srcptr y, int turned)
{
  const int nx = x->size < 0, ny = (y->size < 0) != turned;
  if (nx == ny)
    magnitudes_add(z, x, y, nx);
  else if (mpz_cmpabs(x, y) >= 0)
    magnitudes_subtract(z, x, y, nx);
  else
    magnitudes_subtract(z, y, x, ny);
}

/* ---- integers ---- */

void mpz_init(mpz_ptr z)
{
  *z = (mpz_one){ 0, 0, NULL };
}

void mpz_clear(mpz_ptr z)
{
  free(z->word);
  mpz_init(z);
}

void mpz_inits(mpz_ptr z, ...)
{
  va_list ap;
  va_start(ap, z);
  for (; z != NULL; z = va_arg(ap, mpz_ptr)) mpz_init(z);
  va_end(ap);
}

void mpz_clears(mpz_ptr z, ...)
{
  va_list ap;
  va_start(ap, z);
  for (; z != NULL; z = va_arg(ap, mpz_ptr)) mpz_clear(z);
  va_end(ap);
}

void mpz_set(mpz_ptr z, mpz_srcptr x)
{
  if (z == x) return;
  const int n = words_of(x);
  gmp_room(z, n);
  if (n > 0) memcpy(z->word, x->word, (size_t)n * sizeof *z->word);
  z->size = x->size;
}

void mpz_set_ui(mpz_ptr z, unsigned long x)
{
  gmp_room(z, 1);
  z->word[0] = (uint32_t)x;
  gmp_end(z, 1, 0);
}

void mpz_swap(mpz_ptr x, mpz_ptr y)
{
  const mpz_one keep = *x;
  *x = *y;
  *y = keep;
}

void mpz_neg(mpz_ptr z, mpz_srcptr x)
{
  mpz_set(z, x);
  z->size = -z->size;
}

void mpz_abs(mpz_ptr z, mpz_srcptr x)
{
  mpz_set(z, x);
  z->size = words_of(z);
}

int mpz_cmp(mpz_srcptr x, mpz_srcptr y)
{
  if (mpz_sgn(x) != mpz_sgn(y)) return mpz_sgn(x) < mpz_sgn(y) ? -1 : 1;
  return x->size < 0 ? -mpz_cmpabs(x, y) : mpz_cmpabs(x, y);
}

void mpz_add(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  gmp_sum(z, x, y, 0);
}

void mpz_sub(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  gmp_sum(z, x, y, 1);
}

void mpz_mul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  const int n = words_of(x), m = words_of(y);
  mpz_t product;
  mpz_init(product);
  gmp_room(product, n + m + 1);
  memset(product->word, 0, (size_t)(n + m + 1) * sizeof *product->word);
  for (int i = 0; i < n; i++) {
    uint64_t carry = 0;
    for (int j = 0; j < m; j++) {
      carry += (uint64_t)x->word[i] * y->word[j] + product->word[i + j];
      product->word[i + j] = (uint32_t)carry;
      carry >>= 32;
    }
    product->word[i + m] = (uint32_t)carry;
  }
  gmp_end(product, n + m, (x->size < 0) != (y->size < 0));
  mpz_swap(z, product);
  mpz_clear(product);
}

static void gmp_multiply_and(mpz_ptr z, mpz_srcptr x, mpz_srcptr y, int turned)
{
  mpz_t product;
  mpz_init(product);
  mpz_mul(product, x, y);
  gmp_sum(z, z, product, turned);
  mpz_clear(product);
}

void mpz_addmul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  gmp_multiply_and(z, x, y, 0);
}

void mpz_submul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  gmp_multiply_and(z, x, y, 1);
}

void mpz_mul_2exp(mpz_ptr z, mpz_srcptr x, mp_bitcnt_t bits)
{
  const int n = words_of(x), by = (int)(bits / 32), negative = x->size < 0;
  const unsigned shift = bits % 32;
  if (n == 0) {
    mpz_set_ui(z, 0);
    return;
  }
  gmp_room(z, n + by + 1);
  uint32_t above = 0;
  for (int i = n; i >= 0; i--) { /* from the top: z may be x */
    const uint32_t word = i > 0 ? x->word[i - 1] : 0;
    z->word[i + by] = shift > 0 ? above << shift | word >> (32 - shift) : above;
    above = word;
  }
  if (by > 0) memset(z->word, 0, (size_t)by * sizeof *z->word);
  gmp_end(z, n + by + 1, negative);
}

void mpz_tdiv_q_2exp(mpz_ptr z, mpz_srcptr x, mp_bitcnt_t bits)
{
  const int n = words_of(x), by = (int)(bits / 32), negative = x->size < 0;
  const unsigned shift = bits % 32;
  if (by >= n) {
    mpz_set_ui(z, 0);
    return;
  }
  gmp_room(z, n - by);
  for (int i = by; i < n; i++) {
    const uint32_t next = i + 1 < n ? x->word[i + 1] : 0;
    z->word[i - by] = shift > 0 ? x->word[i] >> shift | next << (32 - shift) : x->word[i];
  }
  gmp_end(z, n - by, negative);
}

size_t mpz_size(mpz_srcptr x)
{
  return ((size_t)words_of(x) + 1) / 2;
}

size_t mpz_sizeinbase(mpz_srcptr x, int base)
{
  (void)base;
  const int n = words_of(x);
  return n == 0 ? 1 : (size_t)n * 32 - (size_t)__builtin_clz(x->word[n - 1]);
}

mp_bitcnt_t mpz_scan1(mpz_srcptr x, mp_bitcnt_t from)
{
  for (int i = (int)(from / 32); i < words_of(x); i++)
    if (x->word[i] != 0) return (mp_bitcnt_t)i * 32 + (mp_bitcnt_t)__builtin_ctz(x->word[i]);
  return ~(mp_bitcnt_t)0;
}

/* |x| = quotient |y| + remainder, bit by bit in words (Knuth's algorithm D).  Neither output is an
 * input; quotient may be NULL. */
static void gmp_divide(mpz_ptr quotient, mpz_ptr remainder, mpz_srcptr x, mpz_srcptr y)
{
  const int m = words_of(y), n = words_of(x);
  if (mpz_cmpabs(x, y) < 0) {
    mpz_abs(remainder, x);
    if (quotient != NULL) mpz_set_ui(quotient, 0);
    return;
  }
  const unsigned shift = (unsigned)__builtin_clz(y->word[m - 1]);
  mpz_t d;
  mpz_init(d);
  mpz_mul_2exp(d, y, shift);
  mpz_mul_2exp(remainder, x, shift);
  gmp_room(remainder, n + 1);
  for (int i = words_of(remainder); i <= n; i++) remainder->word[i] = 0;
  uint32_t *u = remainder->word;
  const uint32_t *v = d->word;
  if (quotient != NULL) gmp_room(quotient, n - m + 1);
  for (int j = n - m; j >= 0; j--) {
    const uint64_t top = (uint64_t)u[j + m] << 32 | u[j + m - 1];
    uint64_t q = top / v[m - 1], r = top % v[m - 1];
    while (q >> 32 != 0 || (m > 1 && q * v[m - 2] > (r << 32 | u[j + m - 2]))) {
      q--;
      r += v[m - 1];
      if (r >> 32 != 0) break;
    }
    uint64_t carry = 0;
    int64_t borrow = 0;
    for (int i = 0; i < m; i++) {
      carry += q * v[i];
      borrow += (int64_t)u[i + j] - (int64_t)(uint32_t)carry;
      u[i + j] = (uint32_t)borrow;
      carry >>= 32;
      borrow >>= 32;
    }
    borrow += (int64_t)u[j + m] - (int64_t)carry;
    u[j + m] = (uint32_t)borrow;
    if (borrow < 0) { /* one too many */
      q--;
      carry = 0;
      for (int i = 0; i < m; i++) {
        carry += (uint64_t)u[i + j] + v[i];
        u[i + j] = (uint32_t)carry;
        carry >>= 32;
      }
      u[j + m] += (uint32_t)carry;
    }
    if (quotient != NULL) quotient->word[j] = (uint32_t)q;
  }
  if (quotient != NULL) gmp_end(quotient, n - m + 1, 0);
  gmp_end(remainder, m, 0);
  mpz_tdiv_q_2exp(remainder, remainder, shift);
  mpz_clear(d);
}

void mpz_divexact(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  const int negative = (x->size < 0) != (y->size < 0);
  mpz_t quotient, remainder;
  mpz_inits(quotient, remainder, NULL);
  gmp_divide(quotient, remainder, x, y);
  mpz_swap(z, quotient);
  if (negative) z->size = -z->size;
  mpz_clears(quotient, remainder, NULL);
}

void mpz_gcd(mpz_ptr z, mpz_srcptr x, mpz_srcptr y)
{
  mpz_t a, b, r;
  mpz_inits(a, b, r, NULL);
  mpz_abs(a, x);
  mpz_abs(b, y);
  while (mpz_sgn(b) != 0) {
    gmp_divide(NULL, r, a, b);
    mpz_swap(a, b);
    mpz_swap(b, r);
  }
  mpz_swap(z, a);
  mpz_clears(a, b, r, NULL);
}

/* truncated */
double mpz_get_d_2exp(long *exponent, mpz_srcptr x)
{
  const int n = words_of(x);
  *exponent = 0;
  if (n == 0) return 0;
  const long bits = (long)mpz_sizeinbase(x, 2);
  uint64_t most = 0; /* the upper 53 bits */
  for (long i = bits - 1; i >= bits - 53; i--)
    most = most << 1 | (i >= 0 ? x->word[i / 32] >> (i % 32) & 1 : 0);
  *exponent = bits;
  const double value = ldexp((double)most, -53);
  return x->size < 0 ? -value : value;
}

double mpz_get_d(mpz_srcptr x)
{
  long exponent;
  const double value = mpz_get_d_2exp(&exponent, x);
  return ldexp(value, exponent > 2000 ? 2000 : (int)exponent);
}

/* ---- fractions ---- */

void mpq_init(mpq_ptr q)
{
  mpz_init(&q->num);
  mpz_init(&q->den);
  mpz_set_ui(&q->den, 1);
}

void mpq_clear(mpq_ptr q)
{
  mpz_clear(&q->num);
  mpz_clear(&q->den);
}

void mpq_inits(mpq_ptr q, ...)
{
  va_list ap;
  va_start(ap, q);
  for (; q != NULL; q = va_arg(ap, mpq_ptr)) mpq_init(q);
  va_end(ap);
}

void mpq_clears(mpq_ptr q, ...)
{
  va_list ap;
  va_start(ap, q);
  for (; q != NULL; q = va_arg(ap, mpq_ptr)) mpq_clear(q);
  va_end(ap);
}

void mpq_canonicalize(mpq_ptr q)
{
  if (q->den.size < 0) {
    q->den.size = -q->den.size;
    q->num.size = -q->num.size;
  }
  mpz_t common;
  mpz_init(common);
  mpz_gcd(common, &q->num, &q->den);
  mpz_divexact(&q->num, &q->num, common);
  mpz_divexact(&q->den, &q->den, common);
  mpz_clear(common);
}

void mpq_set(mpq_ptr q, mpq_srcptr x)
{
  mpz_set(&q->num, &x->num);
  mpz_set(&q->den, &x->den);
}

void mpq_set_d(mpq_ptr q, double x)
{
  int exponent;
  const double mantissa = ldexp(frexp(fabs(x), &exponent), 53);
  const uint64_t bits = (uint64_t)mantissa;
  gmp_room(&q->num, 2);
  q->num.word[0] = (uint32_t)bits;
  q->num.word[1] = (uint32_t)(bits >> 32);
  gmp_end(&q->num, 2, x < 0);
  mpz_set_ui(&q->den, 1);
  if (exponent >= 53)
    mpz_mul_2exp(&q->num, &q->num, (mp_bitcnt_t)(exponent - 53));
  else
    mpz_mul_2exp(&q->den, &q->den, (mp_bitcnt_t)(53 - exponent));
  mpq_canonicalize(q);
}

void mpq_set_z(mpq_ptr q, mpz_srcptr x)
{
  mpz_set(&q->num, x);
  mpz_set_ui(&q->den, 1);
}

void mpq_set_num(mpq_ptr q, mpz_srcptr x)
{
  mpz_set(&q->num, x);
}

void mpq_set_den(mpq_ptr q, mpz_srcptr x)
{
  mpz_set(&q->den, x);
}

void mpq_set_ui(mpq_ptr q, unsigned long num, unsigned long den)
{
  mpz_set_ui(&q->num, num);
  mpz_set_ui(&q->den, den);
}

void mpq_set_si(mpq_ptr q, long num, unsigned long den)
{
  mpq_set_ui(q, num < 0 ? 0UL - (unsigned long)num : (unsigned long)num, den);
  if (num < 0) q->num.size = -q->num.size;
}

void mpq_neg(mpq_ptr q, mpq_srcptr x)
{
  mpq_set(q, x);
  q->num.size = -q->num.size;
}

void mpq_abs(mpq_ptr q, mpq_srcptr x)
{
  mpq_set(q, x);
  q->num.size = words_of(&q->num);
}

int mpq_cmp(mpq_srcptr x, mpq_srcptr y)
{
  mpz_t a, b;
  mpz_inits(a, b, NULL);
  mpz_mul(a, &x->num, &y->den);
  mpz_mul(b, &y->num, &x->den);
  const int order = mpz_cmp(a, b);
  mpz_clears(a, b, NULL);
  return order;
}

int mpq_equal(mpq_srcptr x, mpq_srcptr y)
{
  return mpq_cmp(x, y) == 0;
}

static void fraction_sum(mpq_ptr q, mpq_srcptr x, mpq_srcptr y, int turned)
{
  mpz_t a, b;
  mpz_inits(a, b, NULL);
  mpz_mul(a, &x->num, &y->den);
  mpz_mul(b, &y->num, &x->den);
  mpz_mul(&q->den, &x->den, &y->den);
  gmp_sum(&q->num, a, b, turned);
  mpz_clears(a, b, NULL);
  mpq_canonicalize(q);
}

void mpq_add(mpq_ptr q, mpq_srcptr x, mpq_srcptr y)
{
  fraction_sum(q, x, y, 0);
}

void mpq_sub(mpq_ptr q, mpq_srcptr x, mpq_srcptr y)
{
  fraction_sum(q, x, y, 1);
}

void mpq_mul(mpq_ptr q, mpq_srcptr x, mpq_srcptr y)
{
  mpz_mul(&q->num, &x->num, &y->num);
  mpz_mul(&q->den, &x->den, &y->den);
  mpq_canonicalize(q);
}

void mpq_div(mpq_ptr q, mpq_srcptr x, mpq_srcptr y)
{
  mpz_t num;
  mpz_init(num);
  mpz_mul(num, &x->num, &y->den);
  mpz_mul(&q->den, &x->den, &y->num);
  mpz_swap(&q->num, num);
  mpz_clear(num);
  mpq_canonicalize(q);
}

void mpq_mul_2exp(mpq_ptr q, mpq_srcptr x, mp_bitcnt_t bits)
{
  mpq_set(q, x);
  mpz_mul_2exp(&q->num, &q->num, bits);
  mpq_canonicalize(q);
}

void mpq_div_2exp(mpq_ptr q, mpq_srcptr x, mp_bitcnt_t bits)
{
  mpq_set(q, x);
  mpz_mul_2exp(&q->den, &q->den, bits);
  mpq_canonicalize(q);
}

/* truncated: 64 bits of the quotient are enough */
double mpq_get_d(mpq_srcptr x)
{
  if (mpq_sgn(x) == 0) return 0;
  const long shift = 64 + (long)mpz_sizeinbase(&x->den, 2) - (long)mpz_sizeinbase(&x->num, 2);
  mpz_t num, den, quotient, remainder;
  mpz_inits(num, den, quotient, remainder, NULL);
  mpz_mul_2exp(num, &x->num, shift > 0 ? (mp_bitcnt_t)shift : 0);
  mpz_mul_2exp(den, &x->den, shift < 0 ? (mp_bitcnt_t)-shift : 0);
  gmp_divide(quotient, remainder, num, den);
  long exponent;
  const double value = mpz_get_d_2exp(&exponent, quotient);
  mpz_clears(num, den, quotient, remainder, NULL);
  const long by = exponent - shift;
  const double size = ldexp(value, by > 2000 ? 2000 : by < -2000 ? -2000 : (int)by);
  return x->num.size < 0 ? -size : size;
}
