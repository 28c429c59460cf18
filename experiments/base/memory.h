/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory, growing text and sets of names of the runner.
 *
 * The runner is a program, not a library: when its own book-keeping runs out of memory it says so
 * on stderr and ends with status 5.  Solvers and cells never pass through these functions. */
#ifndef PERP_MEMORY_H
#define PERP_MEMORY_H

#include <stdio.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is out of memory ends this process: a message, and status 5 or the one set before. */
_Noreturn void perp_memory_out(void);
/* What is done before. */
void perp_memory_last(void (*clean)(void));
/* In a child whose parent tells the want of memory: perp_kept_cause() knows this status. */
enum { PERP_NO_MEMORY = 77 };
void perp_memory_exit(int status);
/* For the hooks of libraries that do not survive a failed allocation: never NULL. */
void *perp_memory_malloc(size_t size);
void *perp_memory_realloc(void *p, size_t size);

/* As open_memstream, but never NULL; *text and *size are there, and whole, once it is closed. */
FILE *perp_memory_stream(char **text, size_t *size);
void perp_memory_stream_close(FILE *stream);

void *perp_xalloc(size_t count, size_t size); /* zeroed; never NULL */
void *perp_xrealloc(void *p, size_t count, size_t size);
char *perp_xstrdup(const char *s);
char *perp_xprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Everything that lives as long as a study or a plan, freed at once. */
typedef struct perp_pool {
  struct perp_pool_block *blocks;
} perp_pool;
void *perp_pool_alloc(perp_pool *pool, size_t count, size_t size); /* zeroed; never NULL */
/* An array of n things with room for one more: longer, and a copy, whenever n is a power of two. */
void *perp_pool_grown(perp_pool *pool, const void *array, int n, size_t size);
char *perp_pool_strdup(perp_pool *pool, const char *s);
char *perp_pool_strndup(perp_pool *pool, const char *s, size_t n);
char *perp_pool_printf(perp_pool *pool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_pool_free(perp_pool *pool);

/* Different texts (borrowed), numbered in the order in which they come. */
typedef struct perp_names {
  int n;
  const char **text;
  int *slot, slots; /* [slots] where a text stands, by its hash: number + 1, 0 free */
} perp_names;
/* The number of a text, which is added when it is new; -1 when there are `most` others (-1: no
 * limit). */
int perp_names_index(perp_pool *pool, perp_names *names, const char *text, int most);
/* The same without adding it: -1 when it is not there.  O(length) on average. */
int perp_names_find(const perp_names *names, const char *text);

/* Growing text; s is NULL while empty, always terminated afterwards. */
typedef struct perp_text {
  char *s;
  size_t n, size;
} perp_text;
void perp_text_add(perp_text *text, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_text_vadd(perp_text *text, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
void perp_text_put(perp_text *text, const char *bytes, size_t n);
void perp_text_free(perp_text *text);

/* FNV-1a over the bytes, then a finalizer that spreads every bit: 64 bits, the same on every
 * machine. Collisions are not excluded; whoever builds a set of keys checks for them. */
uint64_t perp_hash64(const void *bytes, size_t n, uint64_t seed);

#endif
