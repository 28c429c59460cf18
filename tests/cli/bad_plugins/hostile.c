/* SPDX-License-Identifier: GPL-3.0-or-later */
/* An LCP solver of somebody who means harm, as HOSTILE says: while it is loaded it ends the program
 * ("exit", "_exit"), takes 6 GiB ("memory") or leaves a process behind ("leave"); when it is
 * created it starts six processes of 100 MiB each, in sessions of their own ("family"), or one that
 * stays
 * ("stay"); its summary has an escape sequence (-DESCAPE). */
#include "perp.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool asked(const char *what)
{
  const char *said = getenv("HOSTILE");
  return said != NULL && strcmp(said, what) == 0;
}

static void take(size_t bytes)
{
  char *volatile block = malloc(bytes); /* volatile: else a compiler may leave it out */
  if (block == NULL) _exit(3);
  memset(block, 1, bytes);
  if (block[bytes / 2] != 1) _exit(4);
}

/* Processes that no group or session holds; the last ones note their number for who looks. */
static void start(int n, size_t bytes, unsigned seconds)
{
  for (int i = 0; i < n; i++) {
    if (fork() != 0) continue;
    setsid();
    if (fork() != 0) _exit(0);
    FILE *file = fopen("left", "a");
    if (file != NULL) {
      fprintf(file, "%d\n", (int)getpid());
      fclose(file);
    }
    if (bytes > 0) take(bytes);
    sleep(seconds);
    _exit(0);
  }
}

__attribute__((constructor)) static void loaded(void)
{
  if (asked("exit")) exit(0);
  if (asked("_exit")) _exit(0);
  if (asked("memory")) take((size_t)6 << 30);
  if (asked("leave")) start(1, 0, 60);
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  (void)max_n, (void)opts;
  *ws = calloc(1, sizeof(int));
  if (asked("family")) {
    start(6, (size_t)100 << 20, 60);
    sleep(20);
  }
  if (asked("stay")) {
    start(1, 0, 60);
    usleep(200000);
  }
  return *ws != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory");
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  (void)ctx, (void)ws, (void)certificate;
  memset(lambda, 0, (size_t)p->n * sizeof *lambda);
  stats->reason = PERP_MAX_ITER;
  return PERP_OK;
}

static void destroy(void *ws)
{
  free(ws);
}

#ifdef ESCAPE
#define SUMMARY "its \033[31mtext\033[0m is red"
#else
#define SUMMARY "does harm as it is told"
#endif

static const perp_lcp_desc hostile = {
  .d = { .name = "hostile",
         .summary = SUMMARY,
         .reference = "nobody",
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_SEMIDEFINITE | PERP_LCP_NONSYMMETRIC },
  .create = create,
  .solve = solve,
  .destroy = destroy
};

PERP_OUTSIDE({ PERP_KIND_lcp, &hostile.d });
