/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include "experiments/base/messages.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static pid_t main_process;
static bool main_returns;

/* A plug-in or a library that calls exit(0) must not make it look as if the work were done. */
static void main_at_exit(int status, void *unused)
{
  (void)unused;
  if (main_returns || status != 0 || getpid() != main_process) return;
  fflush(NULL);
  perp_say_error("the program was ended by a plug-in or a library, before its work was done");
  _exit(PERP_EXIT_INTERNAL);
}

int main(int argc, char **argv)
{
  /* OpenBLAS reads this when it is loaded: one thread a cell, or timings and memory limits mean
   * nothing */
  if (getenv("OPENBLAS_NUM_THREADS") == NULL && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0)
    execv("/proc/self/exe", argv); /* on failure: go on with what there is */
  /* a file that may not grow further is an error of writing, with its message */
  signal(SIGXFSZ, SIG_IGN);
  main_process = getpid();
  on_exit(main_at_exit, NULL);
  const int status = perp_main(argc, argv);
  main_returns = true;
  return status;
}
