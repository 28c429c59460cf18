/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#include <gsl/gsl_randist.h>
#include <gsl/gsl_errno.h>
#include <gsl/gsl_rng.h>

struct perp_rng; /* is a gsl_rng */

static gsl_rng *rng_gsl(perp_rng *rng)
{
  return (gsl_rng *)(void *)rng;
}

perp_rng *perp_rng_create(uint64_t seed)
{
  gsl_error_handler_t *handler =
      gsl_set_error_handler_off(); /* it ends the program where memory does */
  gsl_rng *rng = gsl_rng_alloc(gsl_rng_taus2);
  gsl_set_error_handler(handler);
  if (rng != NULL) gsl_rng_set(rng, (unsigned long)(seed ^ (seed >> 32)) & 0xffffffffUL);
  return (perp_rng *)(void *)rng;
}

void perp_rng_destroy(perp_rng *rng)
{
  if (rng != NULL) gsl_rng_free(rng_gsl(rng));
}

double perp_rng_uniform(perp_rng *rng, double lo, double hi)
{
  return lo + (hi - lo) * gsl_rng_uniform(rng_gsl(rng));
}

double perp_rng_normal(perp_rng *rng)
{
  return gsl_ran_ugaussian(rng_gsl(rng));
}

int perp_rng_int(perp_rng *rng, int n)
{
  return (int)gsl_rng_uniform_int(rng_gsl(rng), (unsigned long)n);
}

void perp_rng_shuffle(perp_rng *rng, int *index, int n)
{
  gsl_ran_shuffle(rng_gsl(rng), index, (size_t)n, sizeof *index);
}
