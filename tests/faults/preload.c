/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A library to be preloaded: the n-th allocation fails, once, and a crash leaves its stack in a
 * file. FAULTS_PAGE: the page of faults.h.  FAULTS_CRASH: the file of stacks. */
#include "tests/faults/faults.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The allocator of glibc under the names that a preloaded library leaves it. */
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static faults_page *page;
static int crash_file = -1;

static int preload_fails(void)
{
  if (page == NULL || page->fail == 0) return 0;
  if (atomic_fetch_add(&page->allocations, 1) + 1 != page->fail) return 0;
  atomic_store(&page->hit, 1);
  if (getenv("FAULTS_STACK") != NULL) {
    void *frame[64];
    backtrace_symbols_fd(frame, backtrace(frame, 64), 2);
  }
  errno = ENOMEM;
  return 1;
}

void *malloc(size_t size)
{
  return preload_fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
  return preload_fails() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *p, size_t size)
{
  return preload_fails() ? NULL : __libc_realloc(p, size);
}

void *reallocarray(void *p, size_t n, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(n, size, &bytes)) {
    errno = ENOMEM;
    return NULL;
  }
  return realloc(p, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
  return preload_fails() ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
  return aligned_alloc(alignment, size);
}

int posix_memalign(void **p, size_t alignment, size_t size)
{
  void *q = aligned_alloc(alignment, size);
  if (q == NULL) return ENOMEM;
  *p = q;
  return 0;
}

static void preload_crash(int signal)
{
  static const char lead[] = "crash\n";
  void *frame[64];
  if (write(crash_file, lead, sizeof lead - 1) > 0)
    backtrace_symbols_fd(frame, backtrace(frame, 64), crash_file);
  raise(signal); /* SA_RESETHAND: as without this library */
}

__attribute__((constructor)) static void preload_start(void)
{
  const char *name = getenv("FAULTS_PAGE"), *crash = getenv("FAULTS_CRASH");
  if (name == NULL || crash == NULL) return;
  void *frame[4];
  backtrace(frame, 4); /* loads its library now: not in a signal */
  crash_file = open(crash, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (crash_file >= 0 && crash_file < 200) { /* out of the way of the program's numbers */
    const int high = fcntl(crash_file, F_DUPFD_CLOEXEC, 200);
    if (high >= 0) {
      close(crash_file);
      crash_file = high;
    }
  }
  static const int signals[] = { SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP };
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    struct sigaction action = { .sa_handler = preload_crash,
                                .sa_flags = (int)SA_RESETHAND | SA_NODEFER };
    sigaction(signals[i], &action, NULL);
  }
  const int file = open(name, O_RDWR | O_CLOEXEC);
  void *map = file >= 0 ? mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0)
                        : MAP_FAILED;
  if (file >= 0) close(file);
  syscall(SYS_close, FAULTS_READY);
  if (map != MAP_FAILED) page = map;
}
