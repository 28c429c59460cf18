/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of BVH files on arbitrary bytes: a figure is built and destroyed, or there is one
 * message. */
#include "experiments/import/figure.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

static void bvh_read_scene(const char *text, size_t size)
{
  perp_ctx ctx;
  perp_diag diag = { 0 };
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK) abort();
  const bool good = perp_scene_text_check(&ctx, "f.yaml", text, size, &diag);
  if (good != (diag.errors == 0)) abort();
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
  bool good = perp_bvh_read(&diag, "f.bvh", text, size, &bvh);
  if (good) {
    const int frames = bvh.frames;
    const perp_figure_source source = { .path = "f.bvh", .bvh = &bvh };
    good = perp_figure_scene(&diag, &source, &scene, &said, &lost);
    perp_text_free(&scene);
    perp_text_free(&said);
    bvh.frames = 0; /* the file of the motion is not there: the figure as drawn */
    if (good && bvh.n < 50) {
      good = perp_figure_scene(&diag, &source, &scene, &said, &lost);
      if (good) bvh_read_scene(scene.s, scene.n);
    }
    bvh.frames = frames;
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
  return replay("bvh", 12);
}
#endif
