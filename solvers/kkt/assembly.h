/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The upper triangle of A = J M^-1 J' + S, formed block by block into any storage; private to this folder.
 *
 * A product J_g M_b^-1 J_h' is a block of A for every two groups g, h that touch body b.  The places of
 * all of them are computed once. */
#ifndef PERP_KKT_ASSEMBLY_H
#define PERP_KKT_ASSEMBLY_H

#include "solvers/kkt/kkt_private.h"

/* Where a storage keeps the block of groups (g, h): entry (i, k) is at start + i + k ld + grow k (k+1)/2.
 * g == h: only i <= k exists.  `transposed` out: the storage keeps the block of (h, g) instead. */
typedef struct kkt_place {
  int64_t start;
  int ld, grow;
  bool transposed;
} kkt_place;
typedef kkt_place kkt_locate(const void *storage, int g, int h);

typedef struct kkt_assembly {
  perp_arena arena;
  int large;
  int n_terms, n_pairs, m, nb;
  struct kkt_term *term;
  struct kkt_pair *pair;
  int64_t *diagonal;   /* [m] where A_ii is */
  unsigned char *diag; /* [nb] of the last perp_kkt_assemble: M_b is diagonal (kkt_use_diagonal) */
  double *scratch;
} kkt_assembly;

perp_status perp_kkt_assembly_create(perp_ctx *ctx, const perp_blocks *B, kkt_locate *locate,
                                     const void *storage, kkt_assembly *out);
void perp_kkt_assembly_free(kkt_assembly *assembly);
/* A += J M^-1 J' + S + shift I; the places must hold zeros before.  No allocation. */
void perp_kkt_assemble(const kkt_assembly *assembly, const perp_blocks *B, double shift, double *A);

#endif
