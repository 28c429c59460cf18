/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The upper triangle of A = J M^-1 J' + S, formed block by block into any storage; private to this
 * folder.
 *
 * A product J_g M_b^-1 J_h' is a block of A for every two groups g, h that touch body b.  The
 * places of all of them are computed once. */
#ifndef PERP_KKT_ASSEMBLY_H
#define PERP_KKT_ASSEMBLY_H

#include "solvers/kkt/kkt_private.h"

/* Where a storage keeps the block of groups (g, h): entry (i, k) is at start + i + k ld + grow k
 * (k+1)/2. g == h: only i <= k exists.  `transposed` out: the storage keeps the block of (h, g)
 * instead. */
typedef struct kkt_place {
  int64_t start;
  int ld, grow;
  bool transposed;
} kkt_place;
typedef kkt_place kkt_locate(const void *storage, int g, int h);

/* Upper triangle of a matrix with all its diagonals, or a band of it: A_ij at origin + i + j ld. */
typedef struct kkt_dense_shape {
  const int *row; /* [nc] first row of each group */
  int ld, origin;
} kkt_dense_shape;
kkt_place perp_kkt_dense_locate(const void *shape, int g, int h);

typedef struct kkt_assembly {
  int n_terms, n_pairs, m, large;
  struct kkt_term *term;
  struct kkt_pair *pair;
  int64_t *diagonal; /* [m] where A_ii is */
  double *scratch;   /* [large] */
} kkt_assembly;

/* The sizes, for a workspace whose layout calls that of the assembly; then, in the workspace, the
 * places. */
perp_status perp_kkt_assembly_count(perp_ctx *ctx, const perp_blocks *blocks, kkt_assembly *out);
void perp_kkt_assembly_layout(kkt_assembly *assembly, perp_arena *arena);
void perp_kkt_assembly_fill(const perp_blocks *blocks, kkt_locate *locate, const void *storage,
                            kkt_assembly *assembly);
/* A += J M^-1 J' + S + shift I; the places must hold zeros before.  blocks->diag should be known.
 */
void perp_kkt_assemble(const kkt_assembly *assembly, const perp_blocks *blocks, double shift,
                       double *A);

#endif
