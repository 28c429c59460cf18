/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a plug-in must not do beside its work: print, write beside its arrays, change what it is
 * only to read, keep memory, answer with numbers that mean nothing.  Include after count_malloc.h.
 */
#ifndef PERP_CONTRACT_WATCH_H
#define PERP_CONTRACT_WATCH_H

#include "solvers/core/core.h"
#include "tests/tap.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* ---- output: everything between watch_begin and watch_end ---- */

static struct {
  int own[2], file;
  bool open;
  long bytes; /* that were printed since watch_reset */
  char first[80];
} watch = { .file = -1 };

/* Not nested; no bail() and no ok() in between. */
static inline void watch_begin(void)
{
  fflush(stdout);
  fflush(stderr);
  if (watch.file < 0) {
    watch.file = memfd_create("output", MFD_CLOEXEC);
    watch.own[0] = dup(1);
    watch.own[1] = dup(2);
  }
  if (watch.file < 0) return;
  dup2(watch.file, 1);
  if (COUNTS_MALLOC) dup2(watch.file, 2); /* a sanitizer has things to say there */
  watch.open = true;
}

static inline void watch_end(void)
{
  if (!watch.open) return;
  fflush(stdout);
  fflush(stderr);
  dup2(watch.own[0], 1);
  dup2(watch.own[1], 2);
  watch.open = false;
  off_t size = lseek(watch.file, 0, SEEK_END);
  if (size <= 0) return;
  if (watch.bytes == 0) {
    ssize_t n = pread(watch.file, watch.first, sizeof watch.first - 1, 0);
    watch.first[n > 0 ? n : 0] = '\0';
    watch.first[strcspn(watch.first, "\n")] = '\0';
  }
  watch.bytes += size;
  if (ftruncate(watch.file, 0) != 0 || lseek(watch.file, 0, SEEK_SET) != 0) bail("output file");
}

static inline void watch_silent(const char *name)
{
  if (!ok(watch.bytes == 0, "%s: prints nothing", name))
    printf("# %ld bytes: %s\n", watch.bytes, watch.first);
  watch.bytes = 0;
}

/* ---- arrays with a wall on either side ---- */

enum { WALL = 16, WALLED = 512 };
typedef struct walled {
  double before[WALL], x[WALLED]; /* a shorter array ends in its wall too: see n */
  double after[WALL];
  int n;
} walled;
static const double wall_mark = 1.23456789e300;

/* n numbers, all `value`, the rest wall */
static inline double *wall_set(walled *a, int n, double value)
{
  if (n > WALLED) bail("%d numbers do not fit", n);
  a->n = n;
  for (int i = 0; i < WALL; i++) a->before[i] = a->after[i] = wall_mark;
  for (int i = 0; i < WALLED; i++) a->x[i] = i < n ? value : wall_mark;
  return a->x;
}

static inline bool wall_stands(const walled *a)
{
  for (int i = 0; i < WALL; i++)
    if (a->before[i] != wall_mark || a->after[i] != wall_mark) return false;
  for (int i = a->n; i < WALLED; i++)
    if (a->x[i] != wall_mark) return false;
  return true;
}

static inline bool watch_finite(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (!isfinite(x[i])) return false;
  return true;
}

/* ---- input: a sum over the bytes of all that is only to be read ---- */

static inline uint64_t watch_hash(uint64_t h, const void *data, size_t size)
{
  const unsigned char *s = data;
  for (size_t i = 0; data != NULL && i < size; i++) h = (h ^ s[i]) * 1099511628211u;
  return h;
}

/* ---- answers ---- */

/* A reason that perp has a name for, and that is not "running". */
static inline bool watch_reason(perp_reason reason)
{
  return reason != PERP_RUNNING &&
         strcmp(perp_reason_name(reason), perp_reason_name((perp_reason)9999)) != 0;
}
static inline bool watch_status(perp_status status)
{
  return strcmp(perp_status_name(status), perp_status_name((perp_status)9999)) != 0;
}
static inline bool watch_counts(const perp_stats *s)
{
  return s->iterations >= 0 && s->factorizations >= 0 && s->matvecs >= 0 && s->fallbacks >= 0 &&
         s->iterations < 100000000 && s->factorizations < 100000000 && s->matvecs < 1000000000000;
}

/* ---- memory ---- */

/* Blocks that are still there after cycle() was called once more; the first calls may open
 * libraries. */
static inline void watch_memory(const char *name, void (*cycle)(void *), void *user)
{
  if (!COUNTS_MALLOC) {
    skip("a sanitizer looks for leaks itself", "%s: gives back all memory", name);
    return;
  }
  long kept = 0;
  for (int k = 0; k < 4; k++) {
    long before = count_alive;
    cycle(user);
    kept = count_alive - before;
  }
  if (!ok(kept == 0, "%s: gives back all memory", name)) printf("# %ld blocks kept\n", kept);
}

#endif
