/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c): the generator taus2. */
#ifndef GSL_SMALL_RNG_H
#define GSL_SMALL_RNG_H

#include <stddef.h>
#include <stdint.h>

typedef struct gsl_rng {
  uint32_t s1, s2, s3;
} gsl_rng;
extern const int gsl_rng_taus2;

gsl_rng *gsl_rng_alloc(int type);
void gsl_rng_free(gsl_rng *rng);
void gsl_rng_set(gsl_rng *rng, unsigned long seed);
double gsl_rng_uniform(gsl_rng *rng);
unsigned long gsl_rng_uniform_int(gsl_rng *rng, unsigned long n);

#endif
