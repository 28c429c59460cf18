/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What perp uses of GSL, for the WebAssembly module (gsl_small.c): Carlson's integrals. */
#ifndef GSL_SMALL_ELLINT_H
#define GSL_SMALL_ELLINT_H

typedef struct gsl_sf_result {
  double val, err;
} gsl_sf_result;
enum { GSL_PREC_DOUBLE };

int gsl_sf_ellint_RF_e(double x, double y, double z, int mode, gsl_sf_result *result);
int gsl_sf_ellint_RJ_e(double x, double y, double z, double p, int mode, gsl_sf_result *result);

#endif
