/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/assembly.h"
#include "solvers/kkt/kernels.h"

/* One sub-matrix J_gb, its product with M_b^-1, and the pairs that use it. */
struct kkt_term {
  int kernel, body, d, r, J, M, first, last;
};
/* J_h of the other group of a pair, and where the product goes. */
struct kkt_pair {
  int J, r, ld;
  char grow, triangle, transposed;
  int64_t start;
};

kkt_place perp_kkt_dense_locate(const void *shape, int g, int h)
{
  const kkt_dense_shape *dense_shape = shape;
  const bool transposed = dense_shape->row[h] < dense_shape->row[g];
  const int row = dense_shape->row[transposed ? h : g],
            column = dense_shape->row[transposed ? g : h];
  return (kkt_place){ .start = dense_shape->origin + row + (int64_t)column * dense_shape->ld,
                      .ld = dense_shape->ld,
                      .transposed = transposed };
}

perp_status perp_kkt_assembly_count(perp_ctx *ctx, const perp_blocks *blocks,
                                    kkt_assembly *assembly)
{
  int64_t pairs = 0;
  for (int b = 0; b < blocks->nb; b++) {
    int64_t degree = blocks->tptr[b + 1] - blocks->tptr[b];
    pairs += degree * (degree + 1) / 2;
  }
  if (pairs > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "kkt: A has too many blocks: %lld", (long long)pairs);
  *assembly = (kkt_assembly){ .m = blocks->m,
                              .n_terms = blocks->jptr[blocks->nc],
                              .n_pairs = (int)pairs,
                              .large = perp_kkt_largest(blocks) };
  return PERP_OK;
}

void perp_kkt_assembly_layout(kkt_assembly *assembly, perp_arena *arena)
{
  assembly->term = PERP_CARVE(arena, struct kkt_term, assembly->n_terms);
  assembly->pair = PERP_CARVE(arena, struct kkt_pair, assembly->n_pairs);
  assembly->diagonal = PERP_CARVE(arena, int64_t, assembly->m);
  assembly->scratch = PERP_CARVE(arena, double, assembly->large);
}

void perp_kkt_assembly_fill(const perp_blocks *blocks, kkt_locate *locate, const void *storage,
                            kkt_assembly *assembly)
{
  int at = 0, n = 0;
  for (int b = 0; b < blocks->nb; b++)
    for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
      int k = blocks->tsub[t], g = blocks->jgrp[k], r = blocks->cptr[g + 1] - blocks->cptr[g];
      int d = blocks->bptr[b + 1] - blocks->bptr[b], kernel = kernel_of(d, r);
      struct kkt_term *term = &assembly->term[at++];
      *term = (struct kkt_term){
        .body = b, .d = d, .r = r, .J = blocks->joff[k], .M = blocks->mptr[b]
      };
      term->first = n;
      for (int u = t; u < blocks->tptr[b + 1]; u++) {
        int l = blocks->tsub[u], h = blocks->jgrp[l];
        kkt_place place = locate(storage, g, h);
        assembly->pair[n++] = (struct kkt_pair){ .J = blocks->joff[l],
                                                 .r = blocks->cptr[h + 1] - blocks->cptr[h],
                                                 .ld = place.ld,
                                                 .grow = (char)place.grow,
                                                 .triangle = g == h,
                                                 .transposed = place.transposed,
                                                 .start = place.start };
        if (assembly->pair[n - 1].r != r) kernel = 0;
      }
      term->last = n;
      term->kernel = kernel;
    }
  for (int g = 0; g < blocks->nc; g++) {
    kkt_place place = locate(storage, g, g);
    for (int k = 0; k < blocks->cptr[g + 1] - blocks->cptr[g]; k++)
      assembly->diagonal[blocks->cptr[g] + k] = place.start + k + (int64_t)k * place.ld +
                                                place.grow * k * (k + 1) / 2;
  }
}

INLINE void add_term(const kkt_assembly *assembly, const perp_blocks *blocks,
                     const struct kkt_term *term, double *A, int D, int R)
{
  const int d = D != 0 ? D : term->d, r = R != 0 ? R : term->r;
  double W_[MOST * MOST], *W = R != 0 ? W_ : assembly->scratch;
  times_minv(r, d, is_diagonal(blocks, term->body), blocks->J + term->J, blocks->Minv + term->M, W);
  for (int n = term->first; n < term->last; n++) {
    const struct kkt_pair *pair = &assembly->pair[n];
    const int rp = R != 0 ? R : pair->r;
    const double *J = blocks->J + pair->J;
    double *dst = A + pair->start;
    if (pair->triangle)
      add_product(r, r, d, W, J, true, pair->ld, pair->grow, dst);
    else if (pair->transposed)
      add_product(rp, r, d, J, W, false, pair->ld, pair->grow, dst);
    else
      add_product(r, rp, d, W, J, false, pair->ld, pair->grow, dst);
  }
}

void perp_kkt_assemble(const kkt_assembly *s, const perp_blocks *B, double shift, double *A)
{
  for (int i = 0; i < s->m; i++) A[s->diagonal[i]] += shift + (B->s != NULL ? B->s[i] : 0);
  for (int term = 0; term < s->n_terms; term++) {
    const struct kkt_term *t = &s->term[term];
#define ADD(D, R) add_term(s, B, t, A, D, R)
    KERNEL_SWITCH(t->kernel, ADD)
#undef ADD
  }
}
