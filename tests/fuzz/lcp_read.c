/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of problem files on arbitrary bytes: whatever is accepted passes perp_lcp_check and
 * is finite, whatever is refused says so in one line; nothing else happens. */
#include "solvers/lcp/io/io.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  perp_ctx ctx;
  perp_lcp_problem p;
  double x[4];
  bool finite = true;
  perp_ctx_init(&ctx);
  perp_status status = perp_lcp_read_memory(&ctx, "f", (const char *)data, size, &p);
  if (status == PERP_OK) {
    if (perp_lcp_check(&ctx, &p.p, p.p.n < 2000 ? &finite : NULL) != PERP_OK || !finite) abort();
    if (p.sequence.rows < 2000 && p.p.n < 2000) {
      static double before[2000], lambda[2000];
      int born, gone;
      perp_lcp_carry_over(&p, before, lambda);
      if (perp_lcp_carry_count(&ctx, &p, &born, &gone) != PERP_OK || born < 0 || gone < 0) abort();
    }
    perp_lcp_problem_free(&p);
  } else if (strncmp(ctx.msg, "f:", 2) != 0 || strchr(ctx.msg, '\n') != NULL || p.p.n != 0)
    abort();
  perp_lcp_read_vector_memory(&ctx, "f", (const char *)data, size, 4, x);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("corpus", 8);
}
#endif
