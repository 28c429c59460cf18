/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/kept.h"

#include "experiments/base/memory.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

struct perp_kept {
  size_t room, size;
  volatile int cut;
  atomic_int last; /* -1: nothing yet */
  _Alignas(max_align_t) char place[];
};

perp_status perp_kept_create(perp_ctx *ctx, size_t room, perp_kept **out)
{
  room = (room + 63) / 64 * 64;
  const size_t size = sizeof(perp_kept) + 2 * room;
  perp_kept *kept = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  *out = NULL;
  if (kept == MAP_FAILED)
    return PERP_FAIL(ctx, PERP_ERR_IO, "no shared memory: %s", strerror(errno));
  kept->room = room;
  kept->size = size;
  perp_kept_reset(kept);
  *out = kept;
  return PERP_OK;
}

void perp_kept_free(perp_kept *kept)
{
  if (kept != NULL) munmap(kept, kept->size);
}

void perp_kept_reset(perp_kept *kept)
{
  kept->cut = PERP_CUT_NONE;
  atomic_store(&kept->last, -1);
}

void *perp_kept_place(perp_kept *kept)
{
  return kept->place + (atomic_load(&kept->last) == 0 ? kept->room : 0);
}

void perp_kept_commit(perp_kept *kept)
{
  atomic_store(&kept->last, atomic_load(&kept->last) == 0 ? 1 : 0);
}

const void *perp_kept_last(const perp_kept *kept)
{
  const int last = atomic_load(&kept->last);
  return last < 0 ? NULL : kept->place + (last == 1 ? kept->room : 0);
}

volatile int *perp_kept_cut(perp_kept *kept)
{
  return &kept->cut;
}

void perp_kept_cause(int wait_status, char *buf, size_t size)
{
  if (WIFSIGNALED(wait_status)) {
    const int number = WTERMSIG(wait_status);
    snprintf(buf, size, "signal %d (%s)%s", number, strsignal(number),
             number == SIGKILL ? ", by hand or because memory ran out" : "");
  } else if (WEXITSTATUS(wait_status) == PERP_NO_MEMORY)
    snprintf(buf, size, "out of memory");
  else
    snprintf(buf, size, "ended with status %d and without a result", WEXITSTATUS(wait_status));
}

double perp_kept_grace(double limit)
{
  return fmin(fmax(0.1 * limit, 0.5), 2);
}
