/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The path of a file when memory ends while it is looked for: the command ends with status 5, as
 * for each other want of memory, and not with the error of a file that is missing. */
#include "experiments/base/files.h"
#include "experiments/base/messages.h"
#include "tests/tap.h"

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

static int why; /* errno of the realpath below */

char *realpath(const char *path, char *resolved)
{
  (void)path, (void)resolved;
  errno = why;
  return NULL;
}

int main(void)
{
  why = ENOENT;
  ok(perp_real_path("missing") == NULL && errno == ENOENT, "no such file: NULL, and the reason");
  why = ENOMEM;
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) {
    perp_real_path(".");
    _exit(0);
  }
  int status = -1;
  ok(pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
         WEXITSTATUS(status) == PERP_EXIT_INFRA,
     "no memory: the process ends with status %d", WEXITSTATUS(status));
  return tap_done();
}
