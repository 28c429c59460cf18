/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/runner/crew.h"

#include "experiments/runner/study.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum { EXIT_NO_MEMORY = 77 };
static const uint64_t magic = 0x70657270206f7574; /* "perp out" */
static const rlim_t most_output = 1u << 30;       /* bytes a child may write to one file */

struct child {
  pid_t pid; /* 0: free place */
  int pipe;  /* read end, -1 once it is drained */
  double deadline;
  bool killed; /* by the time limit */
  size_t got;
  perp_outcome outcome;
  perp_order order;
};

struct perp_crew {
  int size, running;
  int signals; /* signalfd */
  sigset_t before;
  struct child child[];
};

perp_status perp_crew_create(perp_ctx *ctx, int size, perp_crew **out)
{
  perp_crew *c = perp_xalloc(1, sizeof *c + (size_t)size * sizeof *c->child);
  c->size = size;
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &c->before);
  c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  *out = c;
  if (c->signals >= 0) return PERP_OK;
  perp_status status = PERP_FAIL(ctx, PERP_ERR_IO, "signalfd: %s", strerror(errno));
  perp_crew_destroy(c);
  *out = NULL;
  return status;
}

void perp_crew_destroy(perp_crew *c)
{
  if (c == NULL) return;
  for (int i = 0; i < c->size; i++) {
    struct child *k = &c->child[i];
    if (k->pid <= 0) continue;
    kill(-k->pid, SIGKILL);
    kill(k->pid, SIGKILL);
    while (waitpid(k->pid, NULL, 0) < 0 && errno == EINTR) {}
    if (k->pipe >= 0) close(k->pipe);
  }
  if (c->signals >= 0) {
    /* what arrived for us must not strike once the signals are let through again */
    struct signalfd_siginfo info;
    while (read(c->signals, &info, sizeof info) == (ssize_t)sizeof info) {}
    close(c->signals);
  }
  sigprocmask(SIG_SETMASK, &c->before, NULL);
  free(c);
}

int perp_crew_running(const perp_crew *c)
{
  return c->running;
}

int perp_crew_free_places(const perp_crew *c)
{
  return c->size - c->running;
}

/* ---- in the child ------------------------------------------------------------------------------------------- */

/* Pages that this process has mapped, from a place where no allocation is allowed. */
static double mapped_bytes(const char *key)
{
  char buf[4096];
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  ssize_t n = read(fd, buf, sizeof buf - 1);
  close(fd);
  if (n <= 0) return 0;
  buf[n] = '\0';
  const char *s = strstr(buf, key);
  return s != NULL ? 1024 * strtod(s + strlen(key), NULL) : 0;
}

#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED                                                                                  \
  0 /* the shadow memory of a sanitizer does not fit under a limit of address space */
#endif

/* A NULL that nobody checked ends here: tell it from other crashes by how full the memory is. */
static void on_crash(int number)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      mapped_bytes("VmPeak:") > 0.9 * (double)limit.rlim_cur)
    _exit(EXIT_NO_MEMORY);
  signal(number, SIG_DFL);
  raise(number);
}

static void limit_child(const perp_order *order)
{
  struct rlimit none = { 0, 0 };
  setrlimit(RLIMIT_CORE, &none);
  struct rlimit output = { most_output, most_output };
  setrlimit(RLIMIT_FSIZE, &output);
  if (SANITIZED || order->memory <= 0) return;
  rlim_t bytes = (rlim_t)(mapped_bytes("VmSize:") + order->memory);
  struct rlimit space = { bytes, bytes };
  setrlimit(RLIMIT_AS, &space);
  static char stack[65536]; /* the normal one may be what overflowed */
  stack_t alternative = { .ss_sp = stack, .ss_size = sizeof stack };
  sigaltstack(&alternative, NULL);
  struct sigaction action = { .sa_handler = on_crash, .sa_flags = SA_ONSTACK | SA_RESETHAND };
  const int crashes[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL };
  for (size_t i = 0; i < sizeof crashes / sizeof *crashes; i++)
    sigaction(crashes[i], &action, NULL);
}

_Noreturn static void child(const perp_ctx *parent_ctx, const perp_crew *crew,
                            const perp_order *order, int out, pid_t parent)
{
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before we asked */
  sigprocmask(SIG_SETMASK, &crew->before, NULL);
  signal(SIGPIPE, SIG_DFL);
  int null = open("/dev/null", O_RDWR), log = -1;
  if (order->log_path != NULL) { /* a new file: what a link of that name leads to stays as it is */
    unlink(order->log_path);
    log = open(order->log_path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW, 0666);
  }
  dup2(null, 0);
  dup2(log >= 0 ? log : null, 1);
  dup2(log >= 0 ? log : null, 2);
  /* keep nothing of the parent's but the pipe */
  if (out != 3) dup2(out, 3);
  close_range(4, ~0u, 0);
  limit_child(order);

  perp_ctx ctx = *parent_ctx;
  static perp_outcome outcome;
  outcome.magic = magic;
  double cpu = perp_clock_thread(), wall = perp_clock_wall();
  order->job.study->kind->run(&ctx, &order->job, &outcome);
  if (outcome.cpu_s == 0) outcome.cpu_s = perp_clock_thread() - cpu;
  if (outcome.wall_s == 0) outcome.wall_s = perp_clock_wall() - wall;
  fflush(NULL);
  const char *bytes = (const char *)&outcome;
  for (size_t at = 0; at < sizeof outcome;) {
    ssize_t n = write(3, bytes + at, sizeof outcome - at);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) _exit(1);
    at += (size_t)n;
  }
  _exit(0);
}

/* ---- in the parent ------------------------------------------------------------------------------------------ */

perp_status perp_crew_start(perp_ctx *ctx, perp_crew *c, const perp_order *order)
{
  int i = 0;
  while (i < c->size && c->child[i].pid != 0) i++;
  if (i == c->size) return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "no free place in the crew");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return PERP_FAIL(ctx, PERP_ERR_IO, "pipe: %s", strerror(errno));
  fflush(NULL); /* buffered output must not be written twice */
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    int why = errno;
    close(ends[0]);
    close(ends[1]);
    return PERP_FAIL(ctx, PERP_ERR_IO, "fork: %s", strerror(why));
  }
  if (pid == 0) child(ctx, c, order, ends[1], parent);
  setpgid(pid, pid); /* the child does it too: whoever comes first */
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  struct child *k = &c->child[i];
  *k = (struct child){ .pid = pid, .pipe = ends[0], .order = *order };
  k->deadline = order->timeout > 0 ? perp_clock_wall() + order->timeout : HUGE_VAL;
  c->running++;
  return PERP_OK;
}

static void drain(struct child *k)
{
  while (k->pipe >= 0) {
    char *to = (char *)&k->outcome + k->got;
    char rest;
    size_t room = sizeof k->outcome - k->got;
    ssize_t n = read(k->pipe, room > 0 ? to : &rest, room > 0 ? room : 1);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      k->got += room > 0 ? (size_t)n : 0;
      continue;
    }
    if (n < 0 && errno == EAGAIN) return;
    close(k->pipe);
    k->pipe = -1;
  }
}

/* The child may have written over its own memory: believe nothing. */
static bool plausible(perp_outcome *o)
{
  if (o->magic != magic || o->status <= PERP_CELL_PLANNED || o->status > PERP_CELL_SKIPPED ||
      o->n < 0 || o->n > PERP_OUTCOME_VALUES)
    return false;
  o->reason[sizeof o->reason - 1] = o->cause[sizeof o->cause - 1] = '\0';
  for (int i = 0; i < o->n; i++) o->value[i].name[PERP_OUTCOME_NAME - 1] = '\0';
  return true;
}

static void judge(const struct child *k, int wait_status, perp_outcome *o)
{
  *o = k->outcome;
  bool complete = k->got == sizeof *o && plausible(o);
  if (complete && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) return;
  *o = (perp_outcome){ .magic = magic, .status = PERP_CELL_CRASH };
  char limit[32];
  if (k->killed) {
    o->status = PERP_CELL_TIMEOUT;
    snprintf(o->cause, sizeof o->cause, "killed at the time limit of %g s", k->order.timeout);
  } else if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_NO_MEMORY) {
    o->status = PERP_CELL_OOM;
    snprintf(limit, sizeof limit, "%.0f MiB", k->order.memory / 1048576);
    snprintf(o->cause, sizeof o->cause, "memory limit of %s reached", limit);
  } else if (WIFSIGNALED(wait_status)) {
    int number = WTERMSIG(wait_status);
    snprintf(o->cause, sizeof o->cause, "signal %d (%s)%s", number, strsignal(number),
             number == SIGKILL ? ", by hand or for want of memory" : "");
  } else
    snprintf(o->cause, sizeof o->cause, "ended with status %d and without a result",
             WEXITSTATUS(wait_status));
}

static bool reap(perp_crew *c, perp_order *order, perp_outcome *outcome)
{
  double now = perp_clock_wall();
  for (int i = 0; i < c->size; i++) {
    struct child *k = &c->child[i];
    if (k->pid <= 0) continue;
    drain(k);
    if (now > k->deadline && !k->killed) {
      k->killed = true;
      kill(-k->pid, SIGKILL);
      kill(k->pid, SIGKILL);
    }
    int wait_status = 0;
    pid_t got = waitpid(k->pid, &wait_status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) continue;
    drain(k);
    kill(-k->pid, SIGKILL); /* children that it left behind */
    if (k->pipe >= 0) close(k->pipe);
    judge(k, wait_status, outcome);
    *order = k->order;
    k->pid = 0;
    c->running--;
    return true;
  }
  return false;
}

perp_crew_event perp_crew_wait(perp_crew *c, double seconds, perp_order *order,
                               perp_outcome *outcome, int *number)
{
  double until = perp_clock_wall() + seconds;
  struct pollfd *fds = perp_xalloc((size_t)c->size + 1, sizeof *fds);
  perp_crew_event event = PERP_CREW_NOTHING;
  for (;;) {
    struct signalfd_siginfo info;
    while (event == PERP_CREW_NOTHING &&
           read(c->signals, &info, sizeof info) == (ssize_t)sizeof info)
      if (info.ssi_signo != SIGCHLD) {
        *number = (int)info.ssi_signo;
        event = PERP_CREW_SIGNAL;
      }
    if (event == PERP_CREW_NOTHING && reap(c, order, outcome)) event = PERP_CREW_DONE;
    double now = perp_clock_wall(), wake = until;
    if (event != PERP_CREW_NOTHING || now >= until) break;
    int n = 0;
    fds[n++] = (struct pollfd){ .fd = c->signals, .events = POLLIN };
    for (int i = 0; i < c->size; i++) {
      const struct child *k = &c->child[i];
      if (k->pid <= 0) continue;
      if (k->pipe >= 0) fds[n++] = (struct pollfd){ .fd = k->pipe, .events = POLLIN };
      if (!k->killed && k->deadline < wake) wake = k->deadline;
    }
    double left = wake > now ? wake - now : 0;
    poll(fds, (nfds_t)n, left > 60 ? 60000 : (int)ceil(1000 * left));
  }
  free(fds);
  return event;
}
