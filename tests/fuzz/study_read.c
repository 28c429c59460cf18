/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The reader of study files on arbitrary bytes: whatever is accepted writes itself as YAML that is
 * accepted again, whatever is refused has a message. */
#include "experiments/lcp/kind_lcp.h"
#include "experiments/simulate/kind_gradient.h"
#include "experiments/simulate/kind_simulate.h"
#include "tests/fuzz/replay.h"

#include <stdlib.h>
#include <string.h>

static const perp_cell_kind *const kinds[] = { &perp_kind_simulate, &perp_kind_lcp,
                                               &perp_kind_gradient, NULL };

static perp_study *read_text(const char *text, bool profiles)
{
  perp_ctx ctx;
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  perp_ctx_init(&ctx);
  perp_study_request q = {
    .file = "f.yaml", .text = text, .kinds = kinds, .profile = profiles ? NULL : ""
  };
  perp_status status = perp_study_read(&ctx, &q, &diag, &study);
  if ((status == PERP_OK) != (study != NULL)) abort();
  if (status != PERP_OK && (diag.errors == 0 || diag.text.s == NULL)) abort();
  perp_diag_free(&diag);
  return study;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = text_of(data, size), *again = NULL;
  size_t length;
  if (text == NULL) return 0;
  perp_study *study = read_text(text, true);
  free(text);
  if (study == NULL) return 0;
  FILE *f = open_memstream(&again, &length);
  if (f == NULL) abort();
  perp_tree_write(study->root, f);
  fclose(f);
  perp_study_free(study);
  study = read_text(again, false);
  if (study == NULL) abort();
  perp_study_free(study);
  free(again);
  return 0;
}

#ifndef PERP_FUZZ
int main(void)
{
  return replay("study", 3);
}
#endif
