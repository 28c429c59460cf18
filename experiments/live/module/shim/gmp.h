/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GMP, for the WebAssembly module (gmp_small.c): integers of any size in words of
 * 32 bits, and fractions of them.  Meanings as GMP's. */
#ifndef GMP_SMALL_H
#define GMP_SMALL_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
  int size;       /* words; < 0: a negative number */
  int room;       /* words there are */
  uint32_t *word; /* the least first, the last one not 0 */
} mpz_one;
typedef mpz_one mpz_t[1];
typedef mpz_one *mpz_ptr;
typedef const mpz_one *mpz_srcptr;
typedef struct {
  mpz_one num, den; /* den > 0, no common factor */
} mpq_one;
typedef mpq_one mpq_t[1];
typedef mpq_one *mpq_ptr;
typedef const mpq_one *mpq_srcptr;
typedef unsigned long mp_bitcnt_t;

#define mpq_numref(q) (&(q)->num)
#define mpq_denref(q) (&(q)->den)
#define mpz_sgn(z)    (((z)->size > 0) - ((z)->size < 0))
#define mpq_sgn(q)    mpz_sgn(&(q)->num)

void mpz_init(mpz_ptr z);
void mpz_inits(mpz_ptr z, ...);
void mpz_clear(mpz_ptr z);
void mpz_clears(mpz_ptr z, ...);
void mpz_set(mpz_ptr z, mpz_srcptr x);
void mpz_set_ui(mpz_ptr z, unsigned long x);
void mpz_swap(mpz_ptr x, mpz_ptr y);
void mpz_neg(mpz_ptr z, mpz_srcptr x);
void mpz_abs(mpz_ptr z, mpz_srcptr x);
int mpz_cmp(mpz_srcptr x, mpz_srcptr y);
int mpz_cmpabs(mpz_srcptr x, mpz_srcptr y);
void mpz_add(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_sub(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_mul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_addmul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_submul(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_mul_2exp(mpz_ptr z, mpz_srcptr x, mp_bitcnt_t bits);
void mpz_tdiv_q_2exp(mpz_ptr z, mpz_srcptr x, mp_bitcnt_t bits);
void mpz_divexact(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
void mpz_gcd(mpz_ptr z, mpz_srcptr x, mpz_srcptr y);
size_t mpz_size(mpz_srcptr x);                 /* in words of 64 bits, as GMP counts the work */
size_t mpz_sizeinbase(mpz_srcptr x, int base); /* 2 */
mp_bitcnt_t mpz_scan1(mpz_srcptr x, mp_bitcnt_t from); /* from 0 */
double mpz_get_d(mpz_srcptr x);
double mpz_get_d_2exp(long *exponent, mpz_srcptr x);

void mpq_init(mpq_ptr q);
void mpq_inits(mpq_ptr q, ...);
void mpq_clear(mpq_ptr q);
void mpq_clears(mpq_ptr q, ...);
void mpq_canonicalize(mpq_ptr q);
void mpq_set(mpq_ptr q, mpq_srcptr x);
void mpq_set_d(mpq_ptr q, double x);
void mpq_set_z(mpq_ptr q, mpz_srcptr x);
void mpq_set_num(mpq_ptr q, mpz_srcptr x);
void mpq_set_den(mpq_ptr q, mpz_srcptr x);
void mpq_set_si(mpq_ptr q, long num, unsigned long den);
void mpq_set_ui(mpq_ptr q, unsigned long num, unsigned long den);
void mpq_neg(mpq_ptr q, mpq_srcptr x);
void mpq_abs(mpq_ptr q, mpq_srcptr x);
int mpq_cmp(mpq_srcptr x, mpq_srcptr y);
int mpq_equal(mpq_srcptr x, mpq_srcptr y);
void mpq_add(mpq_ptr q, mpq_srcptr x, mpq_srcptr y);
void mpq_sub(mpq_ptr q, mpq_srcptr x, mpq_srcptr y);
void mpq_mul(mpq_ptr q, mpq_srcptr x, mpq_srcptr y);
void mpq_div(mpq_ptr q, mpq_srcptr x, mpq_srcptr y);
void mpq_mul_2exp(mpq_ptr q, mpq_srcptr x, mp_bitcnt_t bits);
void mpq_div_2exp(mpq_ptr q, mpq_srcptr x, mp_bitcnt_t bits);
double mpq_get_d(mpq_srcptr x);

#endif
