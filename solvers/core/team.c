/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#ifdef _OPENMP
#include <omp.h>
#endif

/* One thread needs no team: some OpenMP libraries allocate for each. */
void perp_team(int threads, perp_team_fn *work, void *user)
{
#ifdef _OPENMP
  if (threads > 1) {
#pragma omp parallel num_threads(threads)
    work(user, omp_get_thread_num(), omp_get_num_threads());
    return;
  }
#endif
  (void)threads;
  work(user, 0, 1);
}

void perp_team_wait(int members)
{
  if (members < 2) return;
#ifdef _OPENMP
#pragma omp barrier
#endif
}
