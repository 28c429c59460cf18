/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/cli.h"

#include "experiments/base/messages.h"

#include <cblas.h>
#include <lapacke.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
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

/* Does the command compute nothing? */
static bool main_only_tells(int argc, char **argv)
{
  static const char *const words[] = { "version", "help", "list", "info", "completion", "new" };
  if (argc < 2 || argv[1][0] == '-') return true;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(argv[1], words[i]) == 0) return true;
  return false;
}

/* OpenBLAS maps a buffer when it is first called, and tries without end when it cannot.  Under a
 * limit of address space it gets it now, or the program says what is missing. */
static bool main_has_room(void)
{
  enum { MIB = 1 << 20, BUFFER = 128 };
  struct rlimit limit;
  double one = 1;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return true;
  void *room = mmap(NULL, (size_t)(BUFFER + 1) * MIB, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) {
    perp_say("error: out of memory: the limit of address space, %.0f MiB, has no room for the "
             "buffer of OpenBLAS (%d MiB); raise it (ulimit -v)",
             (double)limit.rlim_cur / MIB, BUFFER);
    return false;
  }
  munmap(room, (size_t)(BUFFER + 1) * MIB);
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', 1, &one, 1);
  return true;
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
  if (!main_only_tells(argc, argv) && !main_has_room()) return PERP_EXIT_INFRA;
  main_process = getpid();
  on_exit(main_at_exit, NULL);
  const int status = perp_main(argc, argv);
  main_returns = true;
  return status;
}
