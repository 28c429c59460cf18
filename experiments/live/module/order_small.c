/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of blocks of the WebAssembly module, in place of CHOLMOD's: minimum degree on the full
 * adjacency, O(nb^3) at worst, of ties the first block. */
#include "solvers/lcp/newton/bodylu_private.h"

#include <stdlib.h>

bool perp_bodylu_order(const perp_blocks *blocks, size_t pairs, int *perm)
{
  (void)pairs;
  const size_t nb = (size_t)blocks->nb;
  unsigned char *near = calloc(nb * nb + 1, 1), *gone = calloc(nb + 1, 1);
  for (int c = 0; c < blocks->nc && near != NULL; c++)
    for (int k = blocks->jptr[c]; k < blocks->jptr[c + 1]; k++)
      for (int l = blocks->jptr[c]; l < blocks->jptr[c + 1]; l++)
        near[(size_t)blocks->jblk[k] * nb + (size_t)blocks->jblk[l]] = 1;
  const bool good = near != NULL && gone != NULL;
  for (size_t step = 0; good && step < nb; step++) {
    size_t best = nb, least = nb + 1;
    for (size_t i = 0; i < nb; i++) {
      size_t degree = 0;
      for (size_t j = 0; j < nb && !gone[i]; j++) degree += near[i * nb + j] && !gone[j];
      if (gone[i] || degree >= least) continue;
      best = i;
      least = degree;
    }
    gone[best] = 1;
    perm[step] = (int)best;
    for (size_t i = 0; i < nb; i++)
      for (size_t j = 0; j < nb && near[best * nb + i]; j++)
        if (near[best * nb + j]) near[i * nb + j] = 1;
  }
  free(near);
  free(gone);
  return good;
}
