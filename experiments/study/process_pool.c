/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/study/process_pool.h"

#include "experiments/base/fence.h"
#include "experiments/base/files.h"
#include "experiments/base/kept.h"
#include "experiments/study/study.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static const uint64_t magic = 0x70657270206f7574; /* "perp out" */
static const rlim_t most_output = 1u << 30;       /* bytes a child may write to one file */

/* s of work after which a process ends: a fork costs some milliseconds (copied pages among them),
 * so that short orders share one */
static const double process_life = 2;
/* bytes that an order may leave behind in its process, for the next one to be as if in a new one */
static const double process_growth = 64 << 20;
/* A limit is CPU time, so that a busy machine takes no cell its verdict; one that waits has so many
 * times it by the clock. */
static const double process_patience = 4;

/* What a child sends back. */
struct answer {
  perp_outcome outcome;
  bool worn; /* its memory has grown: no further order */
};

struct child {
  pid_t pid; /* 0: free place */
  bool busy; /* with an order; else it waits for one */
  int line;  /* a socket: orders go out, answers come back; -1 once the other end is closed */
  int log;   /* what it prints: a file without a name, -1 none */
  double began, deadline, kill_at;
  double cpu_began;   /* its CPU time when it got its order */
  bool asked, killed; /* by the time limit: to end, then by force */
  int full;           /* killed: it and so many processes below it have passed the memory limit */
  int orders;         /* that it has answered */
  double worked;      /* s that these took */
  perp_kept *kept;    /* its outcome so far; stays with the place */
  size_t got;
  struct answer answer;
  perp_order order;
};

struct perp_process_pool {
  int size, running;
  int signals; /* signalfd */
  const perp_ctx *ctx;
  sigset_t before;
  perp_fence fence;
  double base; /* bytes that a process has in memory before it begins */
  struct child child[];
};

/* The most that this process has had in memory. */
static double peak_bytes(void)
{
  struct rusage used;
  return getrusage(RUSAGE_SELF, &used) == 0 ? 1024.0 * (double)used.ru_maxrss : 0;
}

perp_status perp_process_pool_create(perp_ctx *ctx, int size, perp_process_pool **out)
{
  perp_process_pool *pool = perp_xalloc(1, sizeof *pool + (size_t)size * sizeof *pool->child);
  pool->size = size;
  pool->ctx = ctx;
  pool->base = peak_bytes();
  perp_fence_open(&pool->fence);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGHUP);
  sigprocmask(SIG_BLOCK, &set, &pool->before);
  pool->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  *out = pool;
  perp_status status = PERP_OK;
  if (pool->signals < 0) status = PERP_FAIL(ctx, PERP_ERR_IO, "signalfd: %s", strerror(errno));
  for (int child = 0; child < size && status == PERP_OK; child++)
    status = perp_kept_create(ctx, sizeof(perp_outcome), &pool->child[child].kept);
  if (status == PERP_OK) return PERP_OK;
  perp_process_pool_destroy(pool);
  *out = NULL;
  return status;
}

static void process_pool_kill(const struct child *child)
{
  kill(-child->pid, SIGKILL);
  kill(child->pid, SIGKILL);
}

/* The place becomes free; what is left of the process and its children is killed. */
static void process_pool_bury(struct child *child)
{
  kill(-child->pid, SIGKILL);
  if (child->line >= 0) close(child->line);
  if (child->log >= 0) close(child->log);
  *child = (struct child){ .kept = child->kept };
}

static void process_pool_retire(perp_process_pool *pool, struct child *child)
{
  pool->fence.buried = true;
  process_pool_kill(child);
  while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR) {}
  process_pool_bury(child);
}

void perp_process_pool_destroy(perp_process_pool *pool)
{
  if (pool == NULL) return;
  for (int i = 0; i < pool->size; i++) {
    struct child *child = &pool->child[i];
    if (child->pid > 0) process_pool_retire(pool, child);
    perp_kept_free(child->kept);
  }
  perp_fence_close(&pool->fence);
  if (pool->signals >= 0) {
    /* what arrived for us must not strike once the signals are let through again */
    struct signalfd_siginfo info;
    while (read(pool->signals, &info, sizeof info) == (ssize_t)sizeof info) {}
    close(pool->signals);
  }
  sigprocmask(SIG_SETMASK, &pool->before, NULL);
  free(pool);
}

int perp_process_pool_running(const perp_process_pool *pool)
{
  return pool->running;
}

int perp_process_pool_free_places(const perp_process_pool *pool)
{
  return pool->size - pool->running;
}

/* ---- in the child ---- */

/* A NULL that nobody checked ends here: tell it from other crashes by how full the memory is. */
static void on_crash(int number)
{
  if (perp_fence_full()) _exit(PERP_NO_MEMORY);
  signal(number, SIG_DFL);
  raise(number);
}

static void limit_child(const perp_order *order)
{
  perp_fence_enter();
  struct rlimit output = { most_output, most_output };
  setrlimit(RLIMIT_FSIZE, &output);
  if (order->memory <= 0) return;
  perp_fence_memory(order->memory, false);
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

static void process_pool_do(const perp_ctx *parent_ctx, const perp_order *order, perp_kept *kept,
                            perp_outcome *outcome)
{
  perp_ctx ctx = *parent_ctx;
  memset(outcome, 0, sizeof *outcome);
  outcome->magic = magic;
  double cpu = perp_clock_thread(), wall = perp_clock_wall();
  perp_job job = order->job;
  job.cut = perp_kept_cut(kept);
  job.keep = keep_outcome;
  job.keep_user = kept;
  job.study->kind->run(&ctx, &job, outcome);
  if (outcome->cpu_s == 0) outcome->cpu_s = perp_clock_thread() - cpu;
  if (outcome->wall_s == 0) outcome->wall_s = perp_clock_wall() - wall;
  fflush(NULL);
}

_Noreturn static void process_pool_child(const perp_ctx *parent_ctx,
                                         const perp_process_pool *workers,
                                         const struct child *child, int line, pid_t parent)
{
  setpgid(0, 0);
  perp_memory_exit(PERP_NO_MEMORY);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1); /* it died before we asked */
  sigprocmask(SIG_SETMASK, &workers->before, NULL);
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  int null = open("/dev/null", O_RDWR);
  dup2(null, 0);
  dup2(child->log >= 0 ? child->log : null, 1);
  dup2(child->log >= 0 ? child->log : null, 2);
  /* keep nothing of the parent's but the line */
  if (line != 3) dup2(line, 3);
  close_range(4, ~0u, 0);
  static struct answer answer;
  perp_order order = child->order;
  limit_child(&order);
  const double at_first = peak_bytes();
  do {
    process_pool_do(parent_ctx, &order, child->kept, &answer.outcome);
    answer.worn = peak_bytes() - at_first > process_growth;
    if (!perp_send_all(3, &answer, sizeof answer)) _exit(1);
  } while (perp_receive_all(3, &order, sizeof order));
  _exit(0);
}

/* ---- in the parent ---- */

/* CPU time of a child, s; infinite once it is gone. */
static double process_pool_cpu(const struct child *child)
{
  clockid_t clock;
  struct timespec timespec;
  if (clock_getcpuclockid(child->pid, &clock) != 0 || clock_gettime(clock, &timespec) != 0)
    return HUGE_VAL;
  return (double)timespec.tv_sec + 1e-9 * (double)timespec.tv_nsec;
}

static void process_pool_set_deadline(struct child *child, double deadline)
{
  child->deadline = deadline;
  child->kill_at = deadline + perp_kept_grace(child->order.timeout);
}

static void process_pool_begin(struct child *child, const perp_order *order)
{
  perp_kept_reset(child->kept);
  child->order = *order;
  child->busy = true;
  child->asked = child->killed = false;
  child->full = 0;
  child->got = 0;
  child->began = perp_clock_wall();
  child->cpu_began = child->pid > 0 ? process_pool_cpu(child) : 0;
  process_pool_set_deadline(child, order->timeout > 0 ? child->began + order->timeout : HUGE_VAL);
}

/* Has it spent its limit?  If not, it is asked again when it can have. */
static bool process_pool_late(struct child *child, double now)
{
  const double limit = child->order.timeout, last = child->began + process_patience * limit;
  if (now <= child->deadline) return false;
  const double left = limit - (process_pool_cpu(child) - child->cpu_began);
  if (!(left > 0) || now >= last) return true;
  process_pool_set_deadline(child, fmin(now + fmax(left, 0.02), last));
  return false;
}

/* A file beside the one that what is printed goes to, without a name once it is open: what is
 * printed by one order after the other.  -1: there can be none. */
static int process_pool_open_log(const char *path)
{
  if (path == NULL) return -1;
  char *name = perp_xprintf("%s.%ld", path, (long)getpid());
  unlink(name);
  const int log = open(name, O_RDWR | O_CREAT | O_EXCL | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (log >= 0) unlink(name);
  free(name);
  return log;
}

/* A process for this order and for those that may follow. */
static perp_status process_pool_fork(perp_ctx *ctx, perp_process_pool *pool, struct child *child,
                                     const perp_order *order)
{
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return PERP_FAIL(ctx, PERP_ERR_IO, "socketpair: %s", strerror(errno));
  *child = (struct child){ .kept = child->kept,
                           .line = ends[0],
                           .log = process_pool_open_log(order->log_path) };
  process_pool_begin(child, order);
  fflush(NULL); /* buffered output must not be written twice */
  const pid_t parent = getpid(), pid = fork();
  if (pid == 0) process_pool_child(ctx, pool, child, ends[1], parent);
  const int why = errno;
  close(ends[1]);
  if (pid < 0) {
    close(child->line);
    if (child->log >= 0) close(child->log);
    *child = (struct child){ .kept = child->kept };
    return PERP_FAIL(ctx, PERP_ERR_IO, "fork: %s", strerror(why));
  }
  child->pid = pid;
  setpgid(pid, pid); /* the child does it too: whoever comes first */
  fcntl(child->line, F_SETFL, O_NONBLOCK);
  return PERP_OK;
}

perp_status perp_process_pool_start(perp_ctx *ctx, perp_process_pool *pool, const perp_order *order)
{
  struct child *child = NULL; /* one that waits, else a free place */
  for (int i = 0; i < pool->size; i++) {
    struct child *other = &pool->child[i];
    if (!other->busy && (child == NULL || other->pid > 0)) child = other;
  }
  if (child == NULL) return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "all worker processes are busy");
  if (child->pid > 0 && !order->alone && child->order.memory == order->memory) {
    process_pool_begin(child, order);
    pool->running++;
    if (perp_send_all(child->line, order, sizeof *order)) return PERP_OK;
    pool->running--; /* it is dead: another one */
  }
  if (child->pid > 0) process_pool_retire(pool, child);
  PERP_TRY(process_pool_fork(ctx, pool, child, order));
  pool->running++;
  return PERP_OK;
}

static void process_pool_drain(struct child *child)
{
  while (child->line >= 0) {
    char *to = (char *)&child->answer + child->got;
    char rest;
    size_t room = sizeof child->answer - child->got;
    ssize_t n = read(child->line, room > 0 ? to : &rest, room > 0 ? room : 1);
    if (n < 0 && errno == EINTR) continue;
    if (n > 0) {
      child->got += room > 0 ? (size_t)n : 0;
      continue;
    }
    if (n < 0 && errno == EAGAIN) return;
    close(child->line);
    child->line = -1;
  }
}

/* What the order has printed gets its file: a new one, what a link of that name leads to stays as
 * it is. */
static void process_pool_keep_log(const struct child *child)
{
  struct stat printed;
  if (child->order.log_path == NULL) return;
  unlink(child->order.log_path);
  if (child->log < 0 || fstat(child->log, &printed) != 0 || printed.st_size == 0) return;
  const int to = open(child->order.log_path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
                      0666);
  off_t at = 0;
  while (to >= 0 && at < printed.st_size &&
         sendfile(to, child->log, &at, (size_t)(printed.st_size - at)) > 0) {}
  if (to >= 0) close(to);
  if (ftruncate(child->log, 0) != 0) { /* then the next one shows it again */
  }
}

/* The child may have written over its own memory: believe nothing. */
static bool process_pool_plausible(perp_outcome *outcome)
{
  if (outcome->magic != magic || outcome->status <= PERP_CELL_PLANNED ||
      outcome->status > PERP_CELL_SKIPPED || outcome->n < 0 || outcome->n > PERP_OUTCOME_VALUES)
    return false;
  outcome->reason[sizeof outcome->reason - 1] = outcome->cause[sizeof outcome->cause - 1] = '\0';
  for (int i = 0; i < outcome->n; i++) outcome->value[i].name[PERP_OUTCOME_NAME - 1] = '\0';
  return true;
}

static bool process_pool_answered(struct child *child)
{
  return child->got == sizeof child->answer && process_pool_plausible(&child->answer.outcome);
}

/* What a child without a result has left: figures up to some time. */
static void take_kept(const struct child *child, perp_outcome *outcome)
{
  const perp_outcome *last = perp_kept_last(child->kept);
  perp_outcome so_far = { 0 };
  if (last != NULL) so_far = *last;
  if (!process_pool_plausible(&so_far)) return;
  so_far.status = outcome->status;
  snprintf(so_far.reason, sizeof so_far.reason, "%s", outcome->reason);
  snprintf(so_far.cause, sizeof so_far.cause, "%s", outcome->cause);
  so_far.partial = true;
  *outcome = so_far;
}

/* "stopped at the time limit of 1 s, at t = 0.31 s of the run" */
static void say_limit(const struct child *child, const char *what, perp_outcome *outcome)
{
  char at[64] = "";
  if (outcome->partial && outcome->reached > 0)
    snprintf(at, sizeof at, ", at t = %.6g s of the run", outcome->reached);
  snprintf(outcome->cause, sizeof outcome->cause, "%s at the time limit of %g s%s", what,
           child->order.timeout, at);
}

static void process_pool_judge(struct child *child, int wait_status, perp_outcome *outcome)
{
  *outcome = child->answer.outcome;
  char limit[64] = "";
  if (child->order.memory > 0)
    snprintf(limit, sizeof limit, "memory limit of %.0f MiB reached",
             child->order.memory / 1048576);
  if (process_pool_answered(child)) {
    if (outcome->status == PERP_CELL_OOM) {
      char said[304];
      snprintf(said, sizeof said, "%.300s", outcome->cause);
      snprintf(outcome->reason, sizeof outcome->reason, "memory-limit");
      if (outcome->n == 0) take_kept(child, outcome);
      snprintf(outcome->cause, sizeof outcome->cause, "%s%s%s", limit,
               limit[0] && said[0] ? ": " : "", said);
    } else if (outcome->status == PERP_CELL_TIMEOUT)
      say_limit(child, "stopped", outcome);
    return;
  }
  if (child->killed)
    *outcome = (perp_outcome){ .status = PERP_CELL_TIMEOUT, .reason = "time-limit" };
  else if (child->full > 0 ||
           (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == PERP_NO_MEMORY)) {
    *outcome = (perp_outcome){ .status = PERP_CELL_OOM, .reason = "memory-limit" };
    snprintf(outcome->cause, sizeof outcome->cause, "%s", limit[0] ? limit : "out of memory");
    if (child->full > 0)
      snprintf(outcome->cause, sizeof outcome->cause, "%s, with %d process%s that it started",
               limit, child->full, child->full > 1 ? "es" : "");
  } else {
    *outcome = (perp_outcome){ .status = PERP_CELL_CRASH, .reason = "crash" };
    perp_kept_cause(wait_status, outcome->cause, sizeof outcome->cause);
  }
  outcome->magic = magic;
  take_kept(child, outcome);
  outcome->wall_s = perp_clock_wall() - child->began;
  if (child->order.job.series_path != NULL) { /* its rows so far */
    char *part = perp_growing_path(child->order.job.series_path);
    perp_growing_name(part, child->order.job.series_path);
    free(part);
  }
  if (child->killed) say_limit(child, "killed", outcome);
}

/* Crashed, or without memory, in a process that did other orders before: that may be theirs. */
static bool process_pool_doubtful(struct child *child)
{
  return child->orders > 0 && !child->killed && child->full == 0 &&
         (!process_pool_answered(child) || child->answer.outcome.status == PERP_CELL_OOM);
}

/* Has the child answered its order, or ended without an answer? */
static bool process_pool_ended(struct child *child, double now, int *wait_status)
{
  process_pool_drain(child);
  if (child->got == sizeof child->answer) return true;
  if (!child->asked && process_pool_late(child, now)) {
    child->asked = true;
    *perp_kept_cut(child->kept) = PERP_CUT_TIME;
  }
  if (now > child->kill_at && !child->killed) {
    child->killed = true;
    process_pool_kill(child);
  }
  const pid_t got = waitpid(child->pid, wait_status, WNOHANG);
  if (got == 0 || (got < 0 && errno == EINTR)) return false;
  process_pool_drain(child);
  return true;
}

/* What processes that have ended left behind is killed; so is one that has more in memory, together
 * with all that it started, than its limit. */
static void process_pool_watch(perp_process_pool *pool)
{
  const int n = pool->size;
  pid_t *own = perp_xalloc((size_t)n, sizeof *own);
  double *most = perp_xalloc((size_t)n, sizeof *most);
  int *over = perp_xalloc((size_t)n, sizeof *over);
  for (int i = 0; i < n; i++) {
    const struct child *child = &pool->child[i];
    own[i] = child->pid;
    most[i] = child->busy && child->order.memory > 0 ? pool->base + child->order.memory : HUGE_VAL;
  }
  perp_fence_watch(&pool->fence, own, n, most, over);
  for (int i = 0; i < n; i++)
    if (over[i] > 0 && pool->child[i].full == 0) {
      pool->child[i].full = over[i];
      process_pool_kill(&pool->child[i]);
    }
  free(own);
  free(most);
  free(over);
}

static bool process_pool_reap(perp_process_pool *pool, perp_order *order, perp_outcome *outcome)
{
  const double now = perp_clock_wall();
  for (int i = 0; i < pool->size; i++) {
    struct child *child = &pool->child[i];
    int wait_status = 0;
    if (!child->busy || !process_pool_ended(child, now, &wait_status)) continue;
    process_pool_keep_log(child);
    process_pool_judge(child, wait_status, outcome);
    *order = child->order;
    if (process_pool_doubtful(child)) { /* asked again, in a process of its own: that decides */
      perp_ctx quiet = *pool->ctx;
      process_pool_retire(pool, child);
      if (process_pool_fork(&quiet, pool, child, order) == PERP_OK) continue;
    } else {
      child->busy = false;
      child->orders++;
      child->worked += now - child->began;
      if (!process_pool_answered(child) || child->answer.worn || order->alone ||
          child->worked > process_life)
        process_pool_retire(pool, child);
    }
    pool->running--;
    return true;
  }
  return false;
}

perp_process_pool_event perp_process_pool_wait(perp_process_pool *pool, double seconds,
                                               perp_order *order, perp_outcome *outcome,
                                               int *number)
{
  double until = perp_clock_wall() + seconds;
  struct pollfd *fds = perp_xalloc((size_t)pool->size + 1, sizeof *fds);
  perp_process_pool_event event = PERP_CREW_NOTHING;
  for (;;) {
    struct signalfd_siginfo info;
    while (event == PERP_CREW_NOTHING &&
           read(pool->signals, &info, sizeof info) == (ssize_t)sizeof info)
      if (info.ssi_signo != SIGCHLD) {
        *number = (int)info.ssi_signo;
        event = PERP_CREW_SIGNAL;
      }
    if (event == PERP_CREW_NOTHING && process_pool_reap(pool, order, outcome))
      event = PERP_CREW_DONE;
    double now = perp_clock_wall(), wake = until;
    process_pool_watch(pool);
    wake = fmin(wake, pool->fence.next);
    if (event != PERP_CREW_NOTHING || now >= until) break;
    int n = 0;
    fds[n++] = (struct pollfd){ .fd = pool->signals, .events = POLLIN };
    for (int i = 0; i < pool->size; i++) {
      const struct child *child = &pool->child[i];
      if (!child->busy) continue;
      if (child->line >= 0) fds[n++] = (struct pollfd){ .fd = child->line, .events = POLLIN };
      const double next = child->asked ? child->kill_at : child->deadline;
      if (!child->killed && next < wake) wake = next;
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
