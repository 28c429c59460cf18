/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c). */
#ifndef GSL_SMALL_RANDIST_H
#define GSL_SMALL_RANDIST_H

#include "gsl/gsl_rng.h"

double gsl_ran_ugaussian(gsl_rng *rng);
void gsl_ran_shuffle(gsl_rng *rng, void *base, size_t n, size_t size);

#endif
