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
  const kkt_dense_shape *s = shape;
  const bool transposed = s->row[h] < s->row[g];
  const int row = s->row[transposed ? h : g], column = s->row[transposed ? g : h];
  return (kkt_place){ .start = s->origin + row + (int64_t)column * s->ld,
                      .ld = s->ld,
                      .transposed = transposed };
}

perp_status perp_kkt_assembly_count(perp_ctx *ctx, const perp_blocks *B, kkt_assembly *s)
{
  int64_t pairs = 0;
  for (int b = 0; b < B->nb; b++) {
    int64_t degree = B->tptr[b + 1] - B->tptr[b];
    pairs += degree * (degree + 1) / 2;
  }
  if (pairs > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "kkt: A has too many blocks: %lld", (long long)pairs);
  *s = (kkt_assembly){
    .m = B->m, .n_terms = B->jptr[B->nc], .n_pairs = (int)pairs, .large = perp_kkt_largest(B)
  };
  return PERP_OK;
}

void perp_kkt_assembly_layout(kkt_assembly *s, perp_arena *a)
{
  s->term = PERP_CARVE(a, struct kkt_term, s->n_terms);
  s->pair = PERP_CARVE(a, struct kkt_pair, s->n_pairs);
  s->diagonal = PERP_CARVE(a, int64_t, s->m);
  s->scratch = PERP_CARVE(a, double, s->large);
}

void perp_kkt_assembly_fill(const perp_blocks *B, kkt_locate *locate, const void *storage,
                            kkt_assembly *s)
{
  int at = 0, n = 0;
  for (int b = 0; b < B->nb; b++)
    for (int t = B->tptr[b]; t < B->tptr[b + 1]; t++) {
      int k = B->tsub[t], g = B->jgrp[k], r = B->cptr[g + 1] - B->cptr[g];
      int d = B->bptr[b + 1] - B->bptr[b], kernel = kernel_of(d, r);
      struct kkt_term *term = &s->term[at++];
      *term = (struct kkt_term){ .body = b, .d = d, .r = r, .J = B->joff[k], .M = B->mptr[b] };
      term->first = n;
      for (int u = t; u < B->tptr[b + 1]; u++) {
        int l = B->tsub[u], h = B->jgrp[l];
        kkt_place place = locate(storage, g, h);
        s->pair[n++] = (struct kkt_pair){ .J = B->joff[l],
                                          .r = B->cptr[h + 1] - B->cptr[h],
                                          .ld = place.ld,
                                          .grow = (char)place.grow,
                                          .triangle = g == h,
                                          .transposed = place.transposed,
                                          .start = place.start };
        if (s->pair[n - 1].r != r) kernel = 0;
      }
      term->last = n;
      term->kernel = kernel;
    }
  for (int g = 0; g < B->nc; g++) {
    kkt_place place = locate(storage, g, g);
    for (int k = 0; k < B->cptr[g + 1] - B->cptr[g]; k++)
      s->diagonal[B->cptr[g] + k] = place.start + k + (int64_t)k * place.ld +
                                    place.grow * k * (k + 1) / 2;
  }
}

INLINE void add_term(const kkt_assembly *s, const perp_blocks *B, const struct kkt_term *t,
                     double *A, int D, int R)
{
  const int d = D != 0 ? D : t->d, r = R != 0 ? R : t->r;
  double W_[MOST * MOST], *W = R != 0 ? W_ : s->scratch;
  times_minv(r, d, is_diagonal(B, t->body), B->J + t->J, B->Minv + t->M, W);
  for (int n = t->first; n < t->last; n++) {
    const struct kkt_pair *p = &s->pair[n];
    const int rp = R != 0 ? R : p->r;
    const double *J = B->J + p->J;
    double *dst = A + p->start;
    if (p->triangle)
      add_product(r, r, d, W, J, true, p->ld, p->grow, dst);
    else if (p->transposed)
      add_product(rp, r, d, J, W, false, p->ld, p->grow, dst);
    else
      add_product(r, rp, d, W, J, false, p->ld, p->grow, dst);
  }
}

void perp_kkt_assemble(const kkt_assembly *s, const perp_blocks *B, double shift, double *A)
{
  for (int i = 0; i < s->m; i++) A[s->diagonal[i]] += shift + (B->s != NULL ? B->s[i] : 0);
  for (int n = 0; n < s->n_terms; n++) {
    const struct kkt_term *t = &s->term[n];
#define ADD(D, R) add_term(s, B, t, A, D, R)
    KERNEL_SWITCH(t->kernel, ADD)
#undef ADD
  }
}
