/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/guard.h"

#include "experiments/base/fence.h"
#include "experiments/base/memory.h"
#include "experiments/base/messages.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct perp_guard_shared {
  volatile int done, code;
};

/* What the terminal or `timeout` sends to all processes of a group is for the parent, which tells
 * the child. */
static void guard_pass_over(int number)
{
  (void)number;
}

static void guard_child(const sigset_t *before, pid_t parent)
{
  perp_fence_enter();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  perp_memory_exit(PERP_NO_MEMORY);
  if (getppid() != parent) _exit(PERP_EXIT_INTERNAL); /* it died before we asked */
  struct sigaction action = { .sa_handler = guard_pass_over, .sa_flags = SA_RESTART };
  sigaction(SIGINT, &action, NULL);
  sigaction(SIGTERM, &action, NULL);
  sigaction(SIGHUP, &action, NULL);
  sigprocmask(SIG_SETMASK, before, NULL);
}

/* Waits for the end of the child; the signals of `set` are blocked. */
static int guard_wait(perp_guard *guard, pid_t pid, const sigset_t *set, double timeout)
{
  double kill_at = HUGE_VAL, cut_at = timeout > 0 ? perp_clock_wall() + timeout : HUGE_VAL;
  int wait_status = 0;
  bool killed = false;
  while (waitpid(pid, &wait_status, WNOHANG) == 0) {
    const double now = perp_clock_wall(), next = fmin(cut_at, kill_at);
    if (now >= kill_at && !killed) {
      killed = true;
      kill(pid, SIGKILL);
    }
    if (now >= cut_at) {
      guard->cut = PERP_CUT_TIME;
      cut_at = HUGE_VAL;
      kill_at = now + perp_kept_grace(timeout);
    }
    if (guard->cut != PERP_CUT_NONE && guard->kept != NULL)
      *perp_kept_cut(guard->kept) = guard->cut;
    const double left = fmin(fmax(next - now, 0), 60);
    struct timespec wait = { (time_t)left, (long)(1e9 * (left - floor(left))) };
    const int number = sigtimedwait(set, NULL, &wait);
    if (number <= 0 || number == SIGCHLD || guard->cut != PERP_CUT_NONE) continue;
    guard->cut = PERP_CUT_SIGNAL;
    cut_at = HUGE_VAL;
    kill_at = perp_clock_wall() + perp_kept_grace(0);
  }
  return wait_status;
}

perp_status perp_guard_begin(perp_ctx *ctx, double timeout, size_t room, perp_guard *guard)
{
  *guard = (perp_guard){ .shared = mmap(NULL, sizeof *guard->shared, PROT_READ | PROT_WRITE,
                                        MAP_SHARED | MAP_ANONYMOUS, -1, 0) };
  if (guard->shared == MAP_FAILED) {
    guard->shared = NULL;
    return PERP_FAIL(ctx, PERP_ERR_IO, "no shared memory: %s", strerror(errno));
  }
  if (room > 0) PERP_TRY(perp_kept_create(ctx, room, &guard->kept));
  fflush(NULL); /* buffered output must not be written twice */
  sigset_t set, before;
  sigemptyset(&set);
  const int numbers[] = { SIGCHLD, SIGINT, SIGTERM, SIGHUP };
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) sigaddset(&set, numbers[i]);
  sigprocmask(SIG_BLOCK, &set, &before);
  perp_fence fence;
  perp_fence_open(&fence);
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    guard_child(&before, parent);
    free(fence.before); /* it is the parent's to close */
    guard->child = true;
    return PERP_OK;
  }
  perp_status status = PERP_OK;
  if (pid < 0)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "fork: %s", strerror(errno));
  else {
    const int wait_status = guard_wait(guard, pid, &set, timeout);
    const bool done = guard->shared->done != 0;
    guard->code = guard->shared->code;
    if (done) /* it has told the cut itself */
      guard->cut = PERP_CUT_NONE;
    else if (guard->cut == PERP_CUT_TIME)
      snprintf(guard->cause, sizeof guard->cause, "killed at the time limit of %g s", timeout);
    else if (guard->cut == PERP_CUT_SIGNAL)
      snprintf(guard->cause, sizeof guard->cause, "interrupted");
    else {
      const bool memory = WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == PERP_NO_MEMORY;
      guard->cut = memory ? PERP_CUT_MEMORY : PERP_CUT_CRASH;
      perp_kept_cause(wait_status, guard->cause, sizeof guard->cause);
    }
  }
  perp_fence_close(&fence); /* what it left behind ends with it */
  struct timespec now = { 0 };
  while (sigtimedwait(&set, NULL, &now) > 0) {} /* must not strike once they are let through */
  sigprocmask(SIG_SETMASK, &before, NULL);
  return status;
}

int perp_guard_leave(perp_guard *guard, int code)
{
  if (code != PERP_EXIT_INTERNAL && !perp_output_whole()) code = PERP_EXIT_INTERNAL;
  guard->shared->code = code;
  guard->shared->done = 1;
  perp_guard_free(guard);
  return code;
}

void perp_guard_free(perp_guard *guard)
{
  perp_kept_free(guard->kept);
  if (guard->shared != NULL) munmap(guard->shared, sizeof *guard->shared);
  guard->kept = NULL;
  guard->shared = NULL;
}
