/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The readers of ASF and AMC files on arbitrary bytes: a skeleton, behind a line "====" its motion.
 * A figure is built, written as BVH and read again, or there is one message. */
#include "experiments/import/asf.h"
#include "experiments/import/figure.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

static void asf_read_again(const perp_bvh *bvh)
{
  perp_text text = { 0 };
  perp_diag diag = { 0 };
  perp_bvh back;
  perp_bvh_write(bvh, &text);
  /* numbers beyond 1e9 can come of sums and radians: they are not read, with a message */
  if (perp_bvh_read(&diag, "f.bvh", text.s, text.n, &back)) {
    if (back.n != bvh->n || back.frames != bvh->frames) abort();
    perp_bvh_free(&back);
  } else if (strstr(diag.text.s, "1e9") == NULL) {
    abort();
  }
  perp_text_free(&text);
  perp_diag_free(&diag);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  perp_diag diag = { 0 };
  perp_bvh bvh;
  perp_text scene = { 0 }, said = { 0 };
  int lost = 0;
  char *text = text_of(data, size);
  if (text == NULL) return 0;
  char *motion = strstr(text, "\n====\n");
  const size_t n = motion != NULL ? (size_t)(motion - text) : size;
  if (motion != NULL) *motion = '\0', motion += 6;
  bool good = perp_asf_read(&diag, "f.asf", text, n, &bvh);
  if (good) {
    if (motion != NULL)
      good = perp_amc_read(&diag, "f.amc", motion, size - (size_t)(motion - text), 0.01, &bvh);
    const perp_figure_source source = { .path = "f.amc", .bvh = &bvh, .parameters = true };
    if (good) {
      asf_read_again(&bvh);
      good = perp_figure_scene(&diag, &source, &scene, &said, &lost);
    }
    perp_text_free(&scene);
    perp_text_free(&said);
    perp_bvh_free(&bvh);
  }
  if (diag.errors > 1 || good != (diag.errors == 0)) abort();
  perp_diag_free(&diag);
  free(text);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("asf", 3);
}
#endif
