/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/process_pool.h"

#include "experiments/base/kept.h"
#include "experiments/study/study.h"

#include <errno.h>
#include <fcntl.h>
#include <lapacke.h>
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
  double began, deadline, kill_at;
  bool asked, killed; /* by the time limit: to end, then by force */
  perp_kept *kept;    /* its outcome so far; stays with the place */
  size_t got;
  perp_outcome outcome;
  perp_order order;
};

struct perp_process_pool {
  int size, running;
  int signals; /* signalfd */
  sigset_t before;
  struct child child[];
};

perp_status perp_process_pool_create(perp_ctx *ctx, int size, perp_process_pool **out)
{
  perp_process_pool *c = perp_xalloc(1, sizeof *c + (size_t)size * sizeof *c->child);
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
  perp_status status = PERP_OK;
  if (c->signals < 0) status = PERP_FAIL(ctx, PERP_ERR_IO, "signalfd: %s", strerror(errno));
  for (int i = 0; i < size && status == PERP_OK; i++)
    status = perp_kept_create(ctx, sizeof(perp_outcome), &c->child[i].kept);
  if (status == PERP_OK) return PERP_OK;
  perp_process_pool_destroy(c);
  *out = NULL;
  return status;
}

static void process_pool_kill(const struct child *k)
{
  kill(-k->pid, SIGKILL);
  kill(k->pid, SIGKILL);
}

void perp_process_pool_destroy(perp_process_pool *c)
{
  if (c == NULL) return;
  for (int i = 0; i < c->size; i++) {
    struct child *k = &c->child[i];
    perp_kept_free(k->kept);
    if (k->pid <= 0) continue;
    process_pool_kill(k);
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

int perp_process_pool_running(const perp_process_pool *c)
{
  return c->running;
}

int perp_process_pool_free_places(const perp_process_pool *c)
{
  return c->size - c->running;
}

/* ---- in the child ---------------------------------------------------------------------------- */

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
  /* BLAS maps a buffer when it is first called, and tries without end when it cannot: it gets it
   * before the limit. */
  double one = 1;
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', 1, &one, 1);
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

static void keep_outcome(const perp_outcome *so_far, void *user)
{
  perp_outcome *place = perp_kept_place(user);
  *place = *so_far;
  place->magic = magic;
  perp_kept_commit(user);
}

_Noreturn static void process_pool_child(const perp_ctx *parent_ctx,
                                         const perp_process_pool *workers, const perp_order *order,
                                         perp_kept *kept, int out, pid_t parent)
{
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before we asked */
  sigprocmask(SIG_SETMASK, &workers->before, NULL);
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
  perp_job job = order->job;
  job.cut = perp_kept_cut(kept);
  job.keep = keep_outcome;
  job.keep_user = kept;
  job.study->kind->run(&ctx, &job, &outcome);
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

/* ---- in the parent --------------------------------------------------------------------------- */

perp_status perp_process_pool_start(perp_ctx *ctx, perp_process_pool *c, const perp_order *order)
{
  int i = 0;
  while (i < c->size && c->child[i].pid != 0) i++;
  if (i == c->size) return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "no free place in the workers");
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return PERP_FAIL(ctx, PERP_ERR_IO, "pipe: %s", strerror(errno));
  perp_kept_reset(c->child[i].kept);
  fflush(NULL); /* buffered output must not be written twice */
  pid_t parent = getpid(), pid = fork();
  if (pid < 0) {
    int why = errno;
    close(ends[0]);
    close(ends[1]);
    return PERP_FAIL(ctx, PERP_ERR_IO, "fork: %s", strerror(why));
  }
  if (pid == 0) process_pool_child(ctx, c, order, c->child[i].kept, ends[1], parent);
  setpgid(pid, pid); /* the child does it too: whoever comes first */
  close(ends[1]);
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  struct child *k = &c->child[i];
  *k = (struct child){ .pid = pid, .pipe = ends[0], .order = *order, .kept = k->kept };
  k->began = perp_clock_wall();
  k->deadline = order->timeout > 0 ? k->began + order->timeout : HUGE_VAL;
  k->kill_at = k->deadline + perp_kept_grace(order->timeout);
  c->running++;
  return PERP_OK;
}

static void process_pool_drain(struct child *k)
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
static bool process_pool_plausible(perp_outcome *o)
{
  if (o->magic != magic || o->status <= PERP_CELL_PLANNED || o->status > PERP_CELL_SKIPPED ||
      o->n < 0 || o->n > PERP_OUTCOME_VALUES)
    return false;
  o->reason[sizeof o->reason - 1] = o->cause[sizeof o->cause - 1] = '\0';
  for (int i = 0; i < o->n; i++) o->value[i].name[PERP_OUTCOME_NAME - 1] = '\0';
  return true;
}

/* What a child without a result has left: figures up to some time. */
static void take_kept(const struct child *k, perp_outcome *o)
{
  const perp_outcome *last = perp_kept_last(k->kept);
  perp_outcome so_far = { 0 };
  if (last != NULL) so_far = *last;
  if (!process_pool_plausible(&so_far)) return;
  so_far.status = o->status;
  snprintf(so_far.reason, sizeof so_far.reason, "%s", o->reason);
  snprintf(so_far.cause, sizeof so_far.cause, "%s", o->cause);
  so_far.partial = true;
  *o = so_far;
}

/* "stopped at the time limit of 1 s, at t = 0.31 s of the run" */
static void say_limit(const struct child *k, const char *what, perp_outcome *o)
{
  char at[64] = "";
  if (o->partial && o->reached > 0)
    snprintf(at, sizeof at, ", at t = %.6g s of the run", o->reached);
  snprintf(o->cause, sizeof o->cause, "%s at the time limit of %g s%s", what, k->order.timeout, at);
}

static void process_pool_judge(const struct child *k, int wait_status, perp_outcome *o)
{
  *o = k->outcome;
  char limit[64] = "";
  if (k->order.memory > 0)
    snprintf(limit, sizeof limit, "memory limit of %.0f MiB reached", k->order.memory / 1048576);
  bool complete = k->got == sizeof *o && process_pool_plausible(o);
  if (complete && WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
    if (o->status == PERP_CELL_OOM) {
      char said[304];
      snprintf(said, sizeof said, "%.300s", o->cause);
      snprintf(o->reason, sizeof o->reason, "memory-limit");
      if (o->n == 0) take_kept(k, o);
      snprintf(o->cause, sizeof o->cause, "%s%s%s", limit, limit[0] && said[0] ? ": " : "", said);
    } else if (o->status == PERP_CELL_TIMEOUT)
      say_limit(k, "stopped", o);
    return;
  }
  if (k->killed)
    *o = (perp_outcome){ .status = PERP_CELL_TIMEOUT, .reason = "time-limit" };
  else if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == EXIT_NO_MEMORY) {
    *o = (perp_outcome){ .status = PERP_CELL_OOM, .reason = "memory-limit" };
    snprintf(o->cause, sizeof o->cause, "%s", limit);
  } else {
    *o = (perp_outcome){ .status = PERP_CELL_CRASH, .reason = "crash" };
    perp_kept_cause(wait_status, o->cause, sizeof o->cause);
  }
  o->magic = magic;
  take_kept(k, o);
  o->wall_s = perp_clock_wall() - k->began;
  if (k->order.job.series_path != NULL) { /* its rows so far */
    char *part = perp_growing_path(k->order.job.series_path);
    perp_growing_name(part, k->order.job.series_path);
    free(part);
  }
  if (k->killed) say_limit(k, "killed", o);
}

static bool process_pool_reap(perp_process_pool *c, perp_order *order, perp_outcome *outcome)
{
  double now = perp_clock_wall();
  for (int i = 0; i < c->size; i++) {
    struct child *k = &c->child[i];
    if (k->pid <= 0) continue;
    process_pool_drain(k);
    if (now > k->deadline && !k->asked) {
      k->asked = true;
      *perp_kept_cut(k->kept) = PERP_CUT_TIME;
    }
    if (now > k->kill_at && !k->killed) {
      k->killed = true;
      process_pool_kill(k);
    }
    int wait_status = 0;
    pid_t got = waitpid(k->pid, &wait_status, WNOHANG);
    if (got == 0 || (got < 0 && errno == EINTR)) continue;
    process_pool_drain(k);
    kill(-k->pid, SIGKILL); /* children that it left behind */
    if (k->pipe >= 0) close(k->pipe);
    process_pool_judge(k, wait_status, outcome);
    *order = k->order;
    k->pid = 0;
    c->running--;
    return true;
  }
  return false;
}

perp_process_pool_event perp_process_pool_wait(perp_process_pool *c, double seconds,
                                               perp_order *order, perp_outcome *outcome,
                                               int *number)
{
  double until = perp_clock_wall() + seconds;
  struct pollfd *fds = perp_xalloc((size_t)c->size + 1, sizeof *fds);
  perp_process_pool_event event = PERP_CREW_NOTHING;
  for (;;) {
    struct signalfd_siginfo info;
    while (event == PERP_CREW_NOTHING &&
           read(c->signals, &info, sizeof info) == (ssize_t)sizeof info)
      if (info.ssi_signo != SIGCHLD) {
        *number = (int)info.ssi_signo;
        event = PERP_CREW_SIGNAL;
      }
    if (event == PERP_CREW_NOTHING && process_pool_reap(c, order, outcome)) event = PERP_CREW_DONE;
    double now = perp_clock_wall(), wake = until;
    if (event != PERP_CREW_NOTHING || now >= until) break;
    int n = 0;
    fds[n++] = (struct pollfd){ .fd = c->signals, .events = POLLIN };
    for (int i = 0; i < c->size; i++) {
      const struct child *k = &c->child[i];
      if (k->pid <= 0) continue;
      if (k->pipe >= 0) fds[n++] = (struct pollfd){ .fd = k->pipe, .events = POLLIN };
      const double next = k->asked ? k->kill_at : k->deadline;
      if (!k->killed && next < wake) wake = next;
    }
    double left = wake > now ? wake - now : 0;
    poll(fds, (nfds_t)n, left > 60 ? 60000 : (int)ceil(1000 * left));
  }
  free(fds);
  return event;
}

perp_status perp_process_pool_once(perp_ctx *ctx, const perp_job *job, const char *log_path,
                                   perp_outcome *outcome, int *number)
{
  perp_process_pool *workers;
  perp_process_pool_event event = PERP_CREW_NOTHING;
  perp_order done, order = { .job = *job,
                             .timeout = job->study->limits.timeout,
                             .memory = job->study->limits.memory,
                             .log_path = log_path };
  *number = 0;
  PERP_TRY(perp_process_pool_create(ctx, 1, &workers));
  perp_status status = perp_process_pool_start(ctx, workers, &order);
  while (status == PERP_OK && event == PERP_CREW_NOTHING)
    event = perp_process_pool_wait(workers, 1, &done, outcome, number);
  perp_process_pool_destroy(workers);
  return event == PERP_CREW_SIGNAL ? PERP_FAIL(ctx, PERP_ERR_IO, "interrupted") : status;
}
