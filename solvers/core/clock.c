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

/* Part of the clock of the thread, as the time that the system counts for it is. */
static _Thread_local double clock_charged;

double perp_clock_thread(void)
{
  return clock_seconds(CLOCK_THREAD_CPUTIME_ID) + clock_charged;
}
void perp_clock_charge(double seconds)
{
  clock_charged += seconds;
}
