/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/core/core.h"

#ifdef _OPENMP
#include <omp.h>
#include <sched.h>

/* Where the members of a team wait for each other.  Sweeps do so hundreds of times: members look
 * for a moment, then let others have the processor, as the one that is waited for may need just
 * that. */
typedef struct gate {
  int arrived, round;
} gate;
static _Thread_local gate *gate_of_team;
enum { LOOKS = 4000 };
#endif

/* One thread needs no team: some OpenMP libraries allocate for each. */
void perp_team(int threads, perp_team_fn *work, void *user)
{
#ifdef _OPENMP
  if (threads > 1) {
    gate at = { 0, 0 };
#pragma omp parallel num_threads(threads)
    {
      gate *outer = gate_of_team;
      gate_of_team = &at;
      work(user, omp_get_thread_num(), omp_get_num_threads());
      gate_of_team = outer;
    }
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
  gate *at = gate_of_team;
  const int round = __atomic_load_n(&at->round, __ATOMIC_ACQUIRE);
  if (__atomic_add_fetch(&at->arrived, 1, __ATOMIC_ACQ_REL) == members) {
    __atomic_store_n(&at->arrived, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&at->round, round + 1, __ATOMIC_RELEASE);
    return;
  }
  for (int looks = 0; __atomic_load_n(&at->round, __ATOMIC_ACQUIRE) == round;)
    if (++looks > LOOKS) sched_yield();
#endif
}
