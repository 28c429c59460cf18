/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work must stay as it is: times of two versions are compared in units of it. */
#include "experiments/simulate/clock_reference.h"

#include "solvers/core/core.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics.h>
#include <stdlib.h>

enum { N = 12, FACTORIZATIONS = 20 };
static const double interval = 1e-3; /* s */

static volatile double kept; /* the compiler must not leave the work out */

/* Factorizations L D L' of small dense matrices: among the candidates (streams of sums, rank-one
 * updates, calls with branches) the one whose time went best with that of solvers on a busy
 * machine. */
static double clock_reference_work(void)
{
  double a[N][N], sum = 0;
  for (int run = 0; run < FACTORIZATIONS; run++) {
    for (int i = 0; i < N; i++)
      for (int j = 0; j <= i; j++) a[i][j] = i == j ? N + run : 1.0 / (1 + i + j);
    for (int j = 0; j < N; j++)
      for (int i = j; i < N; i++) {
        double s = a[i][j];
        for (int k = 0; k < j; k++) s -= a[i][k] * a[j][k] * a[k][k];
        a[i][j] = i == j ? s : s / a[j][j];
      }
    sum += a[N - 1][N - 1];
  }
  return sum;
}

static void clock_reference_take(perp_clock_reference *reference)
{
  if (reference->n == PERP_PACE_SAMPLES) {
    for (int i = 0; i < PERP_PACE_SAMPLES / 2; i++) reference->sample[i] = reference->sample[2 * i];
    reference->n = PERP_PACE_SAMPLES / 2;
    reference->every *= 2;
  }
  double start = perp_clock_thread();
  kept = clock_reference_work();
  double end = perp_clock_thread();
  reference->sample[reference->n++] = end - start;
  reference->spent += end - start;
  reference->next = end + reference->every;
}

void perp_clock_reference_begin(perp_clock_reference *reference)
{
  *reference = (perp_clock_reference){ .every = interval };
  kept = clock_reference_work(); /* the first one waits for its code and for the clock's */
  clock_reference_take(reference);
}

void perp_clock_reference_tick(perp_clock_reference *reference, double now)
{
  if (now >= reference->next) clock_reference_take(reference);
}

double perp_clock_reference_end(perp_clock_reference *reference)
{
  clock_reference_take(reference);
  gsl_sort(reference->sample, 1, (size_t)reference->n);
  return gsl_stats_median_from_sorted_data(reference->sample, 1, (size_t)reference->n);
}
