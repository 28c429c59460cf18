/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts allocations: include in one test program, read count_malloc before and after.
 * count_refuse: so many allocations from now one is refused, as when memory ends there; 0: none.
 * count_alive: blocks not yet given back, so that what one cycle of create and destroy leaves
 * behind can be seen. COUNTS_MALLOC is 0 under a sanitizer, which has an allocator of its own (and
 * finds leaks by itself). */
#ifndef PERP_COUNT_MALLOC_H
#define PERP_COUNT_MALLOC_H

#include <stddef.h>

static long count_malloc;
__attribute__((unused)) static long count_refuse;
__attribute__((unused)) static long count_alive;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define COUNTS_MALLOC 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define COUNTS_MALLOC 0
#endif
#endif
#if !defined(COUNTS_MALLOC) && !defined(__GLIBC__)
#define COUNTS_MALLOC 0
#endif

#ifndef COUNTS_MALLOC
#define COUNTS_MALLOC 1
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
#include <stdlib.h>
void __libc_free(void *);
static inline int count_refused(void)
{
  return count_refuse > 0 && --count_refuse == 0;
}
void *malloc(size_t size)
{
  if (count_refused()) return NULL;
  count_malloc++;
  count_alive++;
  return __libc_malloc(size);
}
void *calloc(size_t n, size_t size)
{
  if (count_refused()) return NULL;
  count_malloc++;
  count_alive++;
  return __libc_calloc(n, size);
}
void *realloc(void *p, size_t size)
{
  if (count_refused()) return NULL;
  count_malloc++;
  count_alive += (p == NULL) - (p != NULL && size == 0); /* glibc gives back what becomes empty */
  return __libc_realloc(p, size);
}
void free(void *p)
{
  count_alive -= p != NULL;
  __libc_free(p);
}
void *aligned_alloc(size_t alignment, size_t size)
{
  if (count_refused()) return NULL;
  count_malloc++;
  count_alive++;
  return __libc_memalign(alignment, size);
}
void *memalign(size_t alignment, size_t size);
void *memalign(size_t alignment, size_t size)
{
  count_malloc++;
  count_alive++;
  return __libc_memalign(alignment, size);
}
int posix_memalign(void **p, size_t alignment, size_t size)
{
  if (count_refused()) return 12;
  count_malloc++;
  count_alive++;
  *p = __libc_memalign(alignment, size);
  return *p == NULL ? 12 : 0;
}
#endif

#endif
