/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Engines that do what outside code may do: crash, hang, end the program, answer NaN, say that they
 * failed.  With a good one, which lets bodies fall, beside them. */
#include "perp.h"

#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BODIES_MOST = 16 };
typedef struct fall {
  const perp_engine_world *w;
  perp_engine_state state[BODIES_MOST];
} fall;

static const char *version(void)
{
  return "1";
}

static perp_status create(perp_ctx *ctx, const perp_engine_world *w, const void *opts, void **at)
{
  (void)opts;
  *at = NULL;
  if (w->n_bodies > BODIES_MOST || w->n_joints > 0)
    return w->fail(ctx, PERP_ERR_UNSUPPORTED, "sixteen bodies at most, without joints");
  fall *f = calloc(1, sizeof *f);
  if (f == NULL) return w->fail(ctx, PERP_ERR_NOMEM, "no memory");
  f->w = w;
  *at = f;
  return PERP_OK;
}

static void set(void *at, const perp_engine_state *state)
{
  fall *f = at;
  memcpy(f->state, state, (size_t)f->w->n_bodies * sizeof *state);
}

static void get(void *at, perp_engine_state *state)
{
  const fall *f = at;
  memcpy(state, f->state, (size_t)f->w->n_bodies * sizeof *state);
}

static perp_status step(perp_ctx *ctx, void *at, double h)
{
  fall *f = at;
  (void)ctx;
  for (int b = 0; b < f->w->n_bodies; b++) {
    f->state[b].v[f->w->dim - 1] -= h * f->w->gravity;
    for (int k = 0; k < f->w->dim; k++) f->state[b].x[k] += h * f->state[b].v[k];
  }
  return PERP_OK;
}

static perp_status step_segv(perp_ctx *ctx, void *at, double h)
{
  (void)ctx, (void)at, (void)h;
  fputs("about to use a null pointer\n", stderr);
  raise(SIGSEGV);
  return PERP_OK;
}

static perp_status step_loop(perp_ctx *ctx, void *at, double h)
{
  (void)ctx, (void)at, (void)h;
  for (;;) pause(); /* bad-loop of bad.c is busy */
  return PERP_OK;
}

static perp_status step_ends(perp_ctx *ctx, void *at, double h)
{
  (void)ctx, (void)at, (void)h;
  exit(0);
}

static perp_status step_nan(perp_ctx *ctx, void *at, double h)
{
  fall *f = at;
  (void)ctx, (void)h;
  f->state[0].x[0] = (double)NAN;
  return PERP_OK;
}

static perp_status step_fails(perp_ctx *ctx, void *at, double h)
{
  (void)h;
  return ((fall *)at)->w->fail(ctx, PERP_ERR_EXTERNAL, "its buffer is full");
}

static perp_reason ended(void *at, int *iterations)
{
  (void)at;
  *iterations = 0;
  return PERP_RUNNING;
}

static void resolved(void *at, char *text, size_t size)
{
  (void)at;
  snprintf(text, size, "nothing to choose");
}

#define ENGINE(id, title, does)                                                                    \
  static const perp_engine_calls calls_##id = { .abi = PERP_ABI,                                   \
                                                .layout = PERP_ENGINE_LAYOUT,                      \
                                                .version = version,                                \
                                                .create = create,                                  \
                                                .set = set,                                        \
                                                .step = does,                                      \
                                                .get = get,                                        \
                                                .ended = ended,                                    \
                                                .resolved = resolved,                              \
                                                .destroy = free };                                 \
  static const perp_engine_desc engine_##id = {                                                    \
    .d = { .name = title, .summary = "for the tests", .reference = "none" },                       \
    .package = "",                                                                                 \
    .dims = 1u << 2 | 1u << 3,                                                                     \
    .calls = &calls_##id                                                                           \
  }
ENGINE(good, "fall", step);
ENGINE(segv, "fall-segv", step_segv);
ENGINE(loop, "fall-loop", step_loop);
ENGINE(ends, "fall-ends", step_ends);
ENGINE(nan, "fall-nan", step_nan);
ENGINE(fails, "fall-fails", step_fails);

PERP_OUTSIDE({ PERP_KIND_engine, &engine_good.d }, { PERP_KIND_engine, &engine_segv.d },
             { PERP_KIND_engine, &engine_loop.d }, { PERP_KIND_engine, &engine_ends.d },
             { PERP_KIND_engine, &engine_nan.d }, { PERP_KIND_engine, &engine_fails.d });
