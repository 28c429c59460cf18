/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c). */
#ifndef GSL_SMALL_STATISTICS_H
#define GSL_SMALL_STATISTICS_H

#include <stddef.h>

double gsl_stats_quantile_from_sorted_data(const double *data, size_t stride, size_t n, double f);
double gsl_stats_median_from_sorted_data(const double *data, size_t stride, size_t n);

#endif
