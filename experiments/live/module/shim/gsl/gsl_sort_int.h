/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c). */
#ifndef GSL_SMALL_SORT_H
#define GSL_SMALL_SORT_H

#include <stddef.h>

void gsl_sort_int(int *data, size_t stride, size_t n);

#endif
