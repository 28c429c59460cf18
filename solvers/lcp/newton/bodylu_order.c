/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order in which the blocks of bodies are eliminated: CHOLMOD's choice of minimum degree (AMD)
 * and its alternatives.  A file of its own: the WebAssembly module has no CHOLMOD
 * (experiments/live/module/order_small.c). */
#include "solvers/lcp/newton/bodylu_private.h"

#include <string.h>
#include <suitesparse/cholmod.h>

bool perp_bodylu_order(const perp_blocks *blocks, size_t pairs, int *perm)
{
  bool good = false;
  cholmod_common cm;
  cholmod_start(&cm);
  cm.print = 0;
  cm.error_handler = NULL;
  cm.supernodal = CHOLMOD_SIMPLICIAL;
  size_t nb = (size_t)blocks->nb;
  cholmod_triplet *triplet = cholmod_allocate_triplet(nb, nb, pairs + nb, 1, CHOLMOD_PATTERN, &cm);
  if (triplet != NULL) {
    int *ti = triplet->i, *tj = triplet->j;
    for (int c = 0; c < blocks->nc; c++)
      for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
        for (int l = blocks->jptr[c]; l < blocks->jptr[c + 1]; l++)
          if (blocks->jblk[k] < blocks->jblk[l]) {
            ti[triplet->nnz] = blocks->jblk[k];
            tj[triplet->nnz++] = blocks->jblk[l];
          }
    for (int b = 0; b < blocks->nb; b++) {
      ti[triplet->nnz] = b;
      tj[triplet->nnz++] = b;
    }
    cholmod_sparse *sparse = cholmod_triplet_to_sparse(triplet, 0, &cm);
    cholmod_factor *factor = sparse != NULL ? cholmod_analyze(sparse, &cm) : NULL;
    if (factor != NULL) {
      memcpy(perm, factor->Perm, nb * sizeof(int));
      good = true;
    }
    cholmod_free_factor(&factor, &cm);
    cholmod_free_sparse(&sparse, &cm);
    cholmod_free_triplet(&triplet, &cm);
  }
  cholmod_finish(&cm);
  return good;
}
