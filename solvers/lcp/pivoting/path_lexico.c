/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The lexico-minimum ratio test of almost complementary paths.
 *
 * With b_j + s_j eps^(j+1) in the place of b_j the distance of a basic variable from its bound is a
 * polynomial in eps, whose coefficients are its row of the inverse of the n x n basis (Cline
 * 2002, 2.7.1: [B^-1 q, B^-1]; Cottle, Pang and Stone, 4.9).  Of basic variables whose ratios are
 * equal that one leaves whose coefficients over its rate are least in the lexicographic order; the
 * rows of a regular matrix differ, so there is exactly one.
 *
 * K^-1 holds all of that basis that is not a unit vector: for x = (t, lambda_S)
 *      d x / d b_j = -K^-1 e_c   where row j is row c of the core, else 0,
 *      d w_i / d b_j = delta_ij + [c_i A_iS] d x / d b_j.
 * Coefficients are formed one at a time and only for the variables still tied: O(1) for a lambda,
 * O(|S|) for a w. */
#include "solvers/lcp/pivoting/path.h"

/* coefficients that differ by less, relative to the terms that they are made of, are equal */
static const double TIE = 1e-9;

/* coefficient j of the distance that candidate r has, *size: of the terms in it; column: max |K^-1
 * e_c| without t */
static double lexico_coefficient(const perp_path *path, const perp_stop *stop, int j, double column,
                                 double *size)
{
  int c = path->cpos[j], i = stop->row;
  const double *inv = c >= 0 ? path->K.R + (size_t)c * path->K.ld : NULL;
  double x = 0, sign = stop->to == PERP_ROW_HI ? -path->tilt[j] : path->tilt[j];
  *size = 0;
  if (stop->what == PERP_PATH_IS_LAMBDA) {
    if (inv == NULL) return 0;
    *size = column;
    x = -inv[path->upos[i]];
  } else if (stop->what == PERP_PATH_IS_W) {
    if (i == j) x = *size = 1;
    if (inv != NULL) {
      path->stats->work += path->K.m;
      for (int u = 0; u < path->K.m; u++) {
        double a = path->uvar[u] < 0 ? path->c[i]
                                     : path->P.A[(size_t)i + (size_t)path->uvar[u] * path->P.lda];
        x -= a * inv[u];
        *size += fabs(a * inv[u]);
      }
    }
  } /* a bound of the entering variable itself does not move */
  return sign * x;
}

void perp_path_lexico(const perp_path *path, perp_stop *stop, int count)
{
  for (int j = 0; j < path->P.n && count > 1; j++) {
    double least = HUGE_VAL, slack = 0, column = 0;
    int c = path->cpos[j], kept = 0;
    for (int u = 0; c >= 0 && u < path->K.m; u++)
      if (path->uvar[u] >= 0)
        column = perp_larger(column, fabs(path->K.R[u + (size_t)c * path->K.ld]));
    for (int k = 0; k < count; k++) {
      double size, x = lexico_coefficient(path, stop + k, j, column, &size) / stop[k].rate;
      stop[k].theta_p = x;
      stop[k].noise = TIE * size / stop[k].rate;
      if (x < least) {
        least = x;
        slack = stop[k].noise;
      }
    }
    for (int k = 0; k < count; k++)
      if (stop[k].theta_p <= least + perp_larger(slack, stop[k].noise)) stop[kept++] = stop[k];
    count = kept;
  }
}
