/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  /* OpenBLAS reads this when it is loaded: one thread a cell, or timings and memory limits mean
   * nothing */
  if (getenv("OPENBLAS_NUM_THREADS") == NULL && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0)
    execv("/proc/self/exe", argv); /* on failure: go on with what there is */
  return perp_main(argc, argv);
}
