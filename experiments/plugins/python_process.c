/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/plugins/python_process.h"

#include "experiments/base/build.h"
#include "experiments/base/fence.h"
#include "experiments/base/files.h"
#include "experiments/base/memory.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct request_head {
  uint32_t op, id;
  uint64_t size;
};
struct answer_head {
  int32_t raised;   /* 1: what follows is text, the exception; 2: it had no memory */
  int32_t question; /* > 0: no answer yet, but something that it asks */
  uint64_t size;
};
/* Where serve.py finds its end. */
enum { SOCKET_FD = 3 };

const char *perp_python_name(void)
{
  const char *name = getenv("PERP_PYTHON");
  return name != NULL && name[0] != '\0' ? name : "python3";
}

perp_status perp_python_home(perp_ctx *ctx, char **home)
{
  const char *tree = getenv("PERP_HOME");
  char *dirs[] = { tree != NULL ? perp_xprintf("%s/python", tree) : NULL,
                   perp_xstrdup(PERP_PYTHON_INSTALLED), perp_xstrdup(PERP_PYTHON_SOURCE) };
  *home = NULL;
  for (int i = 0; i < 3; i++) {
    if (dirs[i] == NULL) continue;
    char *part = perp_xprintf("%s/perp/serve.py", dirs[i]);
    if (*home == NULL && perp_exists(part))
      *home = dirs[i];
    else
      free(dirs[i]);
    free(part);
  }
  if (*home != NULL) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_IO,
                   "the Python package of perp is neither in %s nor in %s: install perp again",
                   PERP_PYTHON_INSTALLED, PERP_PYTHON_SOURCE);
}

void perp_python_setenv(const char *home)
{
  const char *path = getenv("PYTHONPATH");
  char *with = path != NULL && path[0] != '\0' ? perp_xprintf("%s:%s", home, path)
                                               : perp_xstrdup(home);
  setenv("PYTHONPATH", with, 1);
  free(with);
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n <= 0) return;
  self[n] = '\0';
  setenv("PERP_PROGRAM", self, 0);
  /* of the build that this program is of; an installed one is found beside the package */
  for (int up = 0; up < 2 && strrchr(self, '/') != NULL; up++) *strrchr(self, '/') = '\0';
  char *library = perp_xprintf("%s/libperp.so.0", self);
  if (perp_exists(library)) setenv("PERP_LIBRARY", library, 0);
  free(library);
}

/* ---- start and end ---- */

/* Is there one, of this process?  What another one started is not ours to talk to. */
static bool python_mine(const perp_python *python)
{
  return python->pid > 0 && python->owner == getpid();
}

perp_status perp_python_start(perp_ctx *ctx, perp_python *python, int seconds)
{
  if (python_mine(python)) return PERP_OK;
  char *home;
  int ends[2];
  PERP_TRY(perp_python_home(ctx, &home));
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    free(home);
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: cannot create a socket: %s", python->file,
                     strerror(errno));
  }
  fflush(NULL);
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    const int end = ends[1];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died before we asked */
    if (python->memory > 0) perp_fence_memory(python->memory, false);
    if (end != SOCKET_FD)
      dup2(end, SOCKET_FD);
    else
      dup2(dup(end), SOCKET_FD);
    close_range(SOCKET_FD + 1, ~0u, 0);
    perp_python_setenv(home);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    execlp(perp_python_name(), perp_python_name(), "-u", "-m", "perp.serve", python->file,
           (char *)NULL);
    _exit(127);
  }
  free(home);
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: fork: %s", python->file, strerror(errno));
  }
  *python = (perp_python){
    .file = python->file, .owner = parent, .pid = pid, .fd = ends[0], .memory = python->memory
  };
  const int failed = clock_getcpuclockid(pid, &python->clock);
  if (failed != 0) {
    perp_python_stop(python);
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: no CPU clock: %s", python->file,
                     strerror(failed));
  }
  const struct timeval patience = { .tv_sec = seconds };
  setsockopt(python->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  return PERP_OK;
}

/* Ends it, and says how it had ended by itself (as of waitpid). */
static int python_reap(perp_python *python)
{
  int status = 0;
  if (!python_mine(python)) return status;
  close(python->fd);
  kill(python->pid, SIGKILL); /* one that has ended is not touched */
  while (waitpid(python->pid, &status, 0) < 0 && errno == EINTR) {}
  python->pid = 0;
  return status;
}

void perp_python_stop(perp_python *python)
{
  python_reap(python);
}

static perp_status python_ended(perp_ctx *ctx, perp_python *python, int why)
{
  if (why == EAGAIN || why == EWOULDBLOCK) {
    python_reap(python);
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s takes too long to load", python->file);
  }
  /* it has closed its end: give it the time to end by itself */
  siginfo_t info;
  struct timespec moment = { .tv_nsec = 1000000 };
  for (int i = 0; i < 1000; i++) {
    info.si_pid = 0;
    if (waitid(P_PID, (id_t)python->pid, &info, WEXITED | WNOHANG | WNOWAIT) != 0 ||
        info.si_pid != 0)
      break;
    nanosleep(&moment, NULL);
  }
  const int status = python_reap(python);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: cannot run %s; set PERP_PYTHON to another Python",
                     python->file, perp_python_name());
  if (WIFEXITED(status))
    return PERP_FAIL(ctx, PERP_ERR_RAISED, "%s: its Python process ended with status %d",
                     python->file, WEXITSTATUS(status));
  return PERP_FAIL(ctx, PERP_ERR_RAISED, "%s: its Python process was ended by signal %d (%s)",
                   python->file, WTERMSIG(status), strsignal(WTERMSIG(status)));
}

double perp_python_cpu(const perp_python *python)
{
  struct timespec timespec = { 0 };
  if (!python_mine(python) || clock_gettime(python->clock, &timespec) != 0) return 0;
  return (double)timespec.tv_sec + 1e-9 * (double)timespec.tv_nsec;
}

/* ---- words ---- */

void perp_python_send(perp_python *python, const void *bytes, size_t size)
{
  if (python_mine(python))
    perp_send_all(python->fd, bytes, size); /* where it has ended, what it answers tells */
}

void perp_python_ask(perp_python *python, perp_python_op op, int id, size_t size)
{
  const struct request_head head = { op, (uint32_t)id, size };
  perp_python_send(python, &head, sizeof head);
}

perp_status perp_python_receive(perp_ctx *ctx, perp_python *python, void *bytes, size_t size)
{
  if (!python_mine(python))
    return PERP_FAIL(ctx, PERP_ERR_RAISED, "%s: its Python process has ended", python->file);
  return perp_receive_all(python->fd, bytes, size) ? PERP_OK : python_ended(ctx, python, errno);
}

perp_status perp_python_answer(perp_ctx *ctx, perp_python *python, size_t *size)
{
  int question;
  return perp_python_listen(ctx, python, &question, size);
}

perp_status perp_python_listen(perp_ctx *ctx, perp_python *python, int *question, size_t *size)
{
  struct answer_head head;
  char text[400], rest[4096];
  PERP_TRY(perp_python_receive(ctx, python, &head, sizeof head));
  *size = head.size;
  *question = head.question;
  if (!head.raised) return PERP_OK;
  const size_t n = head.size < sizeof text ? head.size : sizeof text - 1;
  PERP_TRY(perp_python_receive(ctx, python, text, n));
  text[n] = '\0';
  for (size_t left = head.size - n, part; left > 0; left -= part) {
    part = left < sizeof rest ? left : sizeof rest;
    PERP_TRY(perp_python_receive(ctx, python, rest, part));
  }
  return PERP_FAIL(ctx, head.raised == 2 ? PERP_ERR_NOMEM : PERP_ERR_RAISED, "%s", text);
}
