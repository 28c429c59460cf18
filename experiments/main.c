/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include "experiments/base/messages.h"

#include <cblas.h>
#include <signal.h>
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
  /* for the programs that this one starts; and once more from the start where OpenBLAS has not
   * asked: on failure go on with what there is */
  if (getenv("OPENBLAS_NUM_THREADS") == NULL && setenv("OPENBLAS_NUM_THREADS", "1", 1) == 0 &&
      openblas_get_num_threads() > 1)
    execv("/proc/self/exe", argv);
  /* a file that may not grow further is an error of writing, with its message */
  signal(SIGXFSZ, SIG_IGN);
  main_process = getpid();
  on_exit(main_at_exit, NULL);
  const int status = perp_main(argc, argv);
  main_returns = true;
  return status;
}
