/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#include <time.h>

static double clock_seconds(clockid_t id)
{
  struct timespec ts;
  clock_gettime(id, &ts);
  return (double)ts.tv_sec + 1e-9 * (double)ts.tv_nsec;
}

double perp_clock_wall(void)
{
  return clock_seconds(CLOCK_MONOTONIC);
}
double perp_clock_thread(void)
{
  return clock_seconds(CLOCK_THREAD_CPUTIME_ID);
}
