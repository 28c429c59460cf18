/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include <cblas.h>
#include <stdlib.h>
#include <unistd.h>

/* One thread a cell, or timings and memory limits mean nothing.  OpenBLAS starts its threads while
 * it is loaded, before main().  How many, it asks this function of its own, and the one of the
 * program comes first. */
int openblas_num_threads_env(void);
int openblas_num_threads_env(void)
{
  const char *asked = getenv("OPENBLAS_NUM_THREADS");
  return asked != NULL ? atoi(asked) : 1;
}

int main(int argc, char **argv)
{
  /* for the programs that this one starts; and once more from the start where OpenBLAS has not
   * asked: on failure go on with what there is */
  if (getenv("OPENBLAS_NUM_THREADS") == NULL && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0 &&
      openblas_get_num_threads() > 1)
    execv("/proc/self/exe", argv);
  return perp_main(argc, argv);
}
