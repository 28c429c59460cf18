/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of problem files on arbitrary bytes: whatever is accepted passes perp_lcp_check and is finite,
 * whatever is refused says so in one line; nothing else happens.
 *
 * Built with PERP_FUZZ (meson option fuzz, clang) it is a libFuzzer target; otherwise a test that replays
 * tests/fuzz/corpus. */
#include "solvers/lcp/io.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
    perp_lcp_problem_free(&p);
  } else if (strncmp(ctx.msg, "f:", 2) != 0 || strchr(ctx.msg, '\n') != NULL || p.p.n != 0)
    abort();
  perp_lcp_read_vector_memory(&ctx, "f", (const char *)data, size, 4, x);
  return 0;
}

#ifndef PERP_FUZZ
#include "tests/tap.h"

#include <dirent.h>

int main(void)
{
  const char *source = getenv("PERP_SOURCE");
  char path[4096];
  int files = 0;
  snprintf(path, sizeof path, "%s/tests/fuzz/corpus", source != NULL ? source : ".");
  DIR *dir = opendir(path);
  if (dir == NULL) bail("%s", path);
  const struct dirent *e;
  while ((e = readdir(dir)) != NULL) {
    if (e->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/tests/fuzz/corpus/%s", source != NULL ? source : ".",
             e->d_name);
    FILE *f = fopen(path, "rb");
    if (f == NULL) bail("%s", path);
    static uint8_t data[1 << 16];
    size_t size = fread(data, 1, sizeof data, f);
    fclose(f);
    LLVMFuzzerTestOneInput(data, size);
    files++;
  }
  closedir(dir);
  ok(files >= 8, "%d files of the corpus: read or refused in one line", files);
  return tap_done();
}
#endif
