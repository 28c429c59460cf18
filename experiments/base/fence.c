/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/fence.h"

#include "experiments/base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <lapacke.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#define FENCE_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FENCE_SANITIZED 1
#endif
#endif
#ifndef FENCE_SANITIZED
#define FENCE_SANITIZED 0
#endif

/* The beginning of a small file of /proc, from a place where no allocation is allowed; false: there
 * is none. */
static bool fence_read(const char *path, char *buf, size_t size)
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  const ssize_t n = read(fd, buf, size - 1);
  close(fd);
  buf[n > 0 ? n : 0] = '\0';
  return n > 0;
}

/* The number behind a key of a file of /proc, in bytes; 0: it is not there. */
static double fence_kilobytes(const char *path, const char *key)
{
  char buf[4096];
  const char *at = fence_read(path, buf, sizeof buf) ? strstr(buf, key) : NULL;
  return at != NULL ? 1024 * (double)strtol(at + strlen(key), NULL, 10) : 0;
}

/* ---- in such a process ---- */

void perp_fence_enter(void)
{
  const struct rlimit none = { 0, 0 };
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  setrlimit(RLIMIT_CORE, &none);
}

void perp_fence_memory(double bytes, bool soft)
{
  struct rlimit limit;
  if (FENCE_SANITIZED || bytes <= 0 || getrlimit(RLIMIT_AS, &limit) != 0) return;
  /* BLAS maps a buffer when it is first called, and tries without end when it cannot: it gets it
   * before the limit. */
  double one = 1;
  LAPACKE_dpotrf_work(LAPACK_COL_MAJOR, 'L', 1, &one, 1);
  const rlim_t most = (rlim_t)(fence_kilobytes("/proc/self/status", "VmSize:") + bytes);
  if (limit.rlim_cur > most) limit.rlim_cur = most;
  if (!soft) limit.rlim_max = limit.rlim_cur;
  setrlimit(RLIMIT_AS, &limit);
}

void perp_fence_memory_end(void)
{
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_AS, &limit);
}

bool perp_fence_full(void)
{
  struct rlimit limit;
  return getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
         fence_kilobytes("/proc/self/status", "VmPeak:") > 0.9 * (double)limit.rlim_cur;
}

/* ---- all processes ---- */

typedef struct fence_process {
  pid_t pid, parent;
  bool dead; /* it waits for its parent to take note */
} fence_process;

static int fence_order(const void *a, const void *b)
{
  const fence_process *x = a, *y = b;
  return (x->pid > y->pid) - (x->pid < y->pid);
}

/* Those of the machine that can be seen, by their number; free it. */
static fence_process *fence_all(int *n)
{
  DIR *dir = opendir("/proc");
  fence_process *all = NULL;
  int room = 0;
  *n = 0;
  for (struct dirent *entry; dir != NULL && (entry = readdir(dir)) != NULL;) {
    char path[300], buf[512], state;
    const char *at;
    int parent;
    if (entry->d_name[0] < '1' || entry->d_name[0] > '9') continue;
    snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
    /* the name of a program in parentheses may have any character */
    if (!fence_read(path, buf, sizeof buf) || (at = strrchr(buf, ')')) == NULL ||
        sscanf(at + 1, " %c %d", &state, &parent) != 2)
      continue;
    if (*n == room) all = perp_xrealloc(all, (size_t)(room = 2 * room + 256), sizeof *all);
    all[(*n)++] = (fence_process){ (pid_t)strtol(entry->d_name, NULL, 10), parent, state == 'Z' };
  }
  if (dir != NULL) closedir(dir);
  if (*n > 0) qsort(all, (size_t)*n, sizeof *all, fence_order);
  return all;
}

static bool fence_among(pid_t pid, const pid_t *list, int n)
{
  for (int i = 0; i < n; i++)
    if (list[i] == pid) return true;
  return false;
}

/* The one of top [n] that the process is or is below; -1: none. */
static int fence_below(const fence_process *all, int count, pid_t pid, const pid_t *top, int n)
{
  for (int steps = 0; steps < 1000 && pid > 1; steps++) {
    for (int i = 0; i < n; i++)
      if (top[i] == pid) return i;
    const fence_process *process = bsearch(&(fence_process){ .pid = pid }, all, (size_t)count,
                                           sizeof *all, fence_order);
    if (process == NULL) return -1;
    pid = process->parent;
  }
  return -1;
}

/* ---- in the one that started them ---- */

static bool fence_has_child(void)
{
  siginfo_t info = { 0 };
  return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0 || errno != ECHILD;
}

void perp_fence_open(perp_fence *fence)
{
  int n = 0;
  fence_process *all = fence_has_child() ? fence_all(&n) : NULL;
  *fence = (perp_fence){ .before = perp_xalloc((size_t)n + 1, sizeof *fence->before) };
  prctl(PR_GET_CHILD_SUBREAPER, &fence->adopts, 0, 0, 0);
  for (int i = 0; i < n; i++)
    if (all[i].parent == getpid()) fence->before[fence->n++] = all[i].pid;
  free(all);
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
}

void perp_fence_close(perp_fence *fence)
{
  if (fence->before == NULL) return;
  perp_fence_sweep(fence, NULL, 0);
  prctl(PR_SET_CHILD_SUBREAPER, fence->adopts, 0, 0, 0);
  free(fence->before);
  *fence = (perp_fence){ 0 };
}

/* One round: how many children there were that nobody owns.  One that is dead counts: the names of
 * /proc are read some at a time, so that what it started last may not be among them. */
static int fence_round(const perp_fence *fence, const pid_t *own, int n_own)
{
  int n, n_left = 0;
  fence_process *all = fence_all(&n);
  pid_t *left = perp_xalloc((size_t)n + 1, sizeof *left);
  for (int i = 0; i < n; i++)
    if (all[i].parent == getpid() && !fence_among(all[i].pid, own, n_own) &&
        !fence_among(all[i].pid, fence->before, fence->n))
      left[n_left++] = all[i].pid;
  for (int i = 0; i < n && n_left > 0; i++) {
    if (all[i].dead || fence_below(all, n, all[i].pid, left, n_left) < 0) continue;
    kill(all[i].pid, SIGKILL);
  }
  /* one that may not be killed, as it belongs to another user, is not waited for without end */
  const struct timespec pause = { 0, 5000000 };
  for (int i = 0; i < n_left; i++)
    for (int k = 0; k < 20 && waitpid(left[i], NULL, WNOHANG) == 0; k++) nanosleep(&pause, NULL);
  free(left);
  free(all);
  return n_left;
}

void perp_fence_sweep(const perp_fence *fence, const pid_t *own, int n)
{
  enum { ROUNDS = 20 }; /* some may be starting others */
  for (int i = 0; i < ROUNDS && fence_has_child() && fence_round(fence, own, n) > 0; i++) {}
}

/* Has a process been started on this machine since the last call? */
static bool fence_news(perp_fence *fence)
{
  char buf[128];
  const char *last = fence_read("/proc/loadavg", buf, sizeof buf) ? strrchr(buf, ' ') : NULL;
  if (last == NULL) return true;
  const bool same = strncmp(fence->last, last, sizeof fence->last - 1) == 0;
  snprintf(fence->last, sizeof fence->last, "%s", last);
  return !same;
}

/* Bytes of a process that are its own, roughly; exact: with its part of those it shares. */
static double fence_resident(pid_t pid, bool exact)
{
  char path[64], buf[256];
  long size, resident, shared;
  if (exact) {
    snprintf(path, sizeof path, "/proc/%d/smaps_rollup", (int)pid);
    const double bytes = fence_kilobytes(path, "\nPss:");
    if (bytes > 0) return bytes;
  }
  snprintf(path, sizeof path, "/proc/%d/statm", (int)pid);
  if (!fence_read(path, buf, sizeof buf) ||
      sscanf(buf, "%ld %ld %ld", &size, &resident, &shared) != 3)
    return 0;
  return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE);
}

/* Shared pages count once where a sum is above its bound, else more often.  Has any one below it?
 */
static bool fence_bytes(const pid_t *own, int n, const double *most, int *over)
{
  int n_all;
  bool any = false;
  fence_process *all = fence_all(&n_all);
  double *bytes = perp_xalloc((size_t)n + 1, sizeof *bytes);
  int *of = perp_xalloc((size_t)n_all + 1, sizeof *of);
  for (int i = 0; i < n_all; i++) {
    const int k = of[i] = all[i].dead ? -1 : fence_below(all, n_all, all[i].pid, own, n);
    if (k < 0 || !isfinite(most[k])) continue;
    bytes[k] += fence_resident(all[i].pid, false);
    over[k] += all[i].pid != own[k];
  }
  for (int k = 0; k < n; k++) {
    any = any || over[k] > 0;
    if (over[k] > 0 && bytes[k] > most[k]) {
      bytes[k] = 0;
      for (int i = 0; i < n_all; i++)
        if (of[i] == k) bytes[k] += fence_resident(all[i].pid, true);
    }
    if (bytes[k] <= most[k]) over[k] = 0;
  }
  free(bytes);
  free(of);
  free(all);
  return any;
}

void perp_fence_watch(perp_fence *fence, const pid_t *own, int n, const double *most, int *over)
{
  static const double sweep = 0.25, look = 0.05; /* s between two */
  const double now = perp_clock_wall();
  bool bounded = false;
  for (int k = 0; k < n; k++) {
    over[k] = 0;
    bounded = bounded || isfinite(most[k]);
  }
  if (fence->buried && now >= fence->swept + sweep) {
    perp_fence_sweep(fence, own, n);
    fence->buried = false;
    fence->swept = now;
  }
  if (bounded && now >= fence->looked + look) {
    fence->looked = now;
    if (fence_news(fence) || fence->families) fence->families = fence_bytes(own, n, most, over);
  }
  fence->next = fmin(fence->buried ? fence->swept + sweep : HUGE_VAL,
                     bounded ? fence->looked + look : HUGE_VAL);
}
