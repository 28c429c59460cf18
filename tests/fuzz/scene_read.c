/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of scene files on arbitrary bytes: a scene is built and destroyed, or there is a
 * message. */
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/scene_file.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  perp_ctx ctx;
  perp_diag diag = { 0 };
  char *text = text_of(data, size);
  if (text == NULL) return 0;
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK) abort();
  const bool good = perp_scene_text_check(&ctx, "f.yaml", text, size, &diag);
  if (good != (diag.errors == 0) || (!good && diag.text.s == NULL)) abort();
  perp_diag_free(&diag);
  free(text);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("scene", 8);
}
#endif
