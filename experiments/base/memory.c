/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int memory_status = 5; /* PERP_EXIT_INFRA */

void perp_memory_exit(int status)
{
  memory_status = status;
}

static void (*memory_clean)(void);

void perp_memory_last(void (*clean)(void))
{
  memory_clean = clean;
}

void perp_memory_out(void)
{
  static const char text[] = "perp: error: out of memory\n";
  const ssize_t n = write(2, text, sizeof text - 1); /* a stream might allocate */
  (void)n;
  void (*clean)(void) = memory_clean;
  memory_clean = NULL;
  if (clean != NULL) clean();
  _exit(memory_status);
}

static void *memory_or_die(void *p)
{
  if (p == NULL) perp_memory_out();
  return p;
}

void *perp_memory_malloc(size_t size)
{
  return memory_or_die(malloc(size > 0 ? size : 1));
}

void *perp_memory_realloc(void *p, size_t size)
{
  return memory_or_die(realloc(p, size > 0 ? size : 1));
}

/* open_memstream would not do: without memory its fclose succeeds, and the text is NULL. */
struct memory_stream {
  perp_text text;
  char **to;
  size_t *size;
};

static ssize_t memory_stream_write(void *cookie, const char *bytes, size_t n)
{
  struct memory_stream *stream = cookie;
  perp_text_put(&stream->text, bytes, n);
  return (ssize_t)n;
}

static int memory_stream_end(void *cookie)
{
  struct memory_stream *stream = cookie;
  perp_text_put(&stream->text, "", 0);
  *stream->to = stream->text.s;
  *stream->size = stream->text.n;
  free(stream);
  return 0;
}

FILE *perp_memory_stream(char **text, size_t *size)
{
  static const cookie_io_functions_t calls = { .write = memory_stream_write,
                                               .close = memory_stream_end };
  struct memory_stream *stream = perp_xalloc(1, sizeof *stream);
  *stream = (struct memory_stream){ .to = text, .size = size };
  return memory_or_die(fopencookie(stream, "w", calls));
}

void perp_memory_stream_close(FILE *stream)
{
  const bool bad = ferror(stream) != 0;
  if (fclose(stream) != 0 || bad) perp_memory_out();
}

void *perp_xalloc(size_t count, size_t size)
{
  return memory_or_die(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *perp_xrealloc(void *p, size_t count, size_t size)
{
  return memory_or_die(reallocarray(p, count > 0 ? count : 1, size));
}

char *perp_xstrdup(const char *text)
{
  return memory_or_die(strdup(text));
}

static char *memory_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
static char *memory_vprintf(const char *fmt, va_list ap)
{
  char *at = NULL;
  return memory_or_die(vasprintf(&at, fmt, ap) < 0 ? NULL : at);
}

char *perp_xprintf(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *at = memory_vprintf(fmt, ap);
  va_end(ap);
  return at;
}

struct perp_pool_block {
  struct perp_pool_block *next;
  _Alignas(16) char bytes[];
};

void *perp_pool_alloc(perp_pool *pool, size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) memory_or_die(NULL);
  struct perp_pool_block *block = memory_or_die(calloc(1, sizeof *block + bytes));
  block->next = pool->blocks;
  pool->blocks = block;
  return block->bytes;
}

void *perp_pool_grown(perp_pool *pool, const void *array, int n, size_t size)
{
  if ((n & (n - 1)) != 0) return (void *)(uintptr_t)array;
  void *longer = perp_pool_alloc(pool, 2 * (size_t)n + 1, size);
  if (n > 0) memcpy(longer, array, (size_t)n * size);
  return longer;
}

char *perp_pool_strndup(perp_pool *pool, const char *text, size_t n)
{
  char *copy = perp_pool_alloc(pool, n + 1, 1);
  memcpy(copy, text, n);
  return copy;
}

char *perp_pool_strdup(perp_pool *pool, const char *text)
{
  return perp_pool_strndup(pool, text, strlen(text));
}

char *perp_pool_printf(perp_pool *pool, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *at = memory_vprintf(fmt, ap), *copy = perp_pool_strdup(pool, at);
  va_end(ap);
  free(at);
  return copy;
}

void perp_pool_free(perp_pool *pool)
{
  while (pool->blocks != NULL) {
    struct perp_pool_block *next = pool->blocks->next;
    free(pool->blocks);
    pool->blocks = next;
  }
}

/* The slot of a text, or the free one where it belongs. */
static int memory_names_slot(const perp_names *names, const char *text)
{
  int k = (int)(perp_hash64(text, strlen(text), 0) & (uint64_t)(names->slots - 1));
  while (names->slot[k] > 0 && strcmp(names->text[names->slot[k] - 1], text) != 0)
    k = (k + 1) & (names->slots - 1);
  return k;
}

int perp_names_find(const perp_names *names, const char *text)
{
  return names->slots > 0 ? names->slot[memory_names_slot(names, text)] - 1 : -1;
}

int perp_names_index(perp_pool *pool, perp_names *names, const char *text, int most)
{
  if (names->n > 0 && strcmp(names->text[names->n - 1], text) == 0) return names->n - 1;
  if (2 * names->n >= names->slots) { /* never more than half full */
    names->slots = names->slots > 0 ? 2 * names->slots : 32;
    names->slot = perp_pool_alloc(pool, (size_t)names->slots, sizeof *names->slot);
    for (int i = 0; i < names->n; i++)
      names->slot[memory_names_slot(names, names->text[i])] = i + 1;
  }
  const int k = memory_names_slot(names, text);
  if (names->slot[k] > 0) return names->slot[k] - 1;
  if (names->n == most) return -1;
  names->text = perp_pool_grown(pool, names->text, names->n, sizeof *names->text);
  names->text[names->n] = text;
  names->slot[k] = names->n + 1;
  return names->n++;
}

void perp_text_put(perp_text *text, const char *bytes, size_t n)
{
  if (text->n + n + 1 > text->size) {
    text->size = 2 * (text->n + n + 1) + 64;
    text->s = perp_xrealloc(text->s, text->size, 1);
  }
  memcpy(text->s + text->n, bytes, n);
  text->n += n;
  text->s[text->n] = '\0';
}

void perp_text_vadd(perp_text *text, const char *fmt, va_list ap)
{
  char *at = memory_vprintf(fmt, ap);
  perp_text_put(text, at, strlen(at));
  free(at);
}

void perp_text_add(perp_text *text, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(text, fmt, ap);
  va_end(ap);
}

void perp_text_free(perp_text *text)
{
  free(text->s);
  *text = (perp_text){ 0 };
}

uint64_t perp_hash64(const void *bytes, size_t n, uint64_t seed)
{
  const unsigned char *p = bytes;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
}
