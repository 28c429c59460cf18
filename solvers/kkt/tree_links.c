/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/tree_links.h"

#include "solvers/kkt/kernels.h"
#include "solvers/kkt/tree_plan.h"

static enum kkt_tree_kind tree_kind_of(const struct perp_kkt_tree_plan *p, int b)
{
  return p->children[b] == 0 ? KKT_LEAF : p->children[b] == 1 ? KKT_PASS : KKT_HUB;
}

static void tree_layout(void *ws, perp_arena *a)
{
  struct kkt_tree *w = ws;
  size_t k = (size_t)w->k;
  w->link = PERP_CARVE(a, struct kkt_tree_link, w->n_links);
  w->child = PERP_CARVE(a, struct kkt_tree_child, w->n_children);
  w->root = PERP_CARVE(a, int, w->n_roots);
  w->hub = PERP_CARVE(a, int, w->nb);
  w->is_diag = PERP_CARVE(a, unsigned char, w->nb);
  PERP_INTS(a, w->nc, &w->aux);
  PERP_DOUBLES(a, w->size_L, &w->L);
  PERP_DOUBLES(a, w->size_H, &w->H);
  PERP_DOUBLES(a, k * k, &w->C);
  PERP_DOUBLES(a, k, &w->mu, &w->ref);
  PERP_DOUBLES(a, w->m, &w->z, &w->zero, &w->l, &w->diag);
  PERP_DOUBLES(a, w->nv, &w->f, &w->x);
  PERP_DOUBLES(a, KKT_REFINE_SCRATCH(w->nv, w->m), &w->refine);
  PERP_DOUBLES(a, 5 * (size_t)w->large, &w->scratch);
}

/* Sizes, then (second pass) the links and children themselves. */
static void tree_links_build(struct kkt_tree *w, const struct perp_kkt_tree_plan *p,
                             const perp_blocks *B, bool fill)
{
  int n_children = 0, L = 0, H = 0, n_roots = 0;
  if (fill)
    for (int b = 0; b < B->nb; b++) w->hub[b] = -1;
  for (int b = 0; b < B->nb; b++) {
    if (tree_kind_of(p, b) != KKT_HUB) continue;
    if (fill) {
      w->hub[b] = H;
      if (p->parent_group[b] < 0) w->root[n_roots] = b;
    }
    n_roots += p->parent_group[b] < 0;
    H += B->mptr[b + 1] - B->mptr[b];
  }
  for (int i = 0; i < p->n; i++) {
    int g = p->sequence[i], r = B->cptr[g + 1] - B->cptr[g], sub = p->parent_sub[g], D = 0;
    struct kkt_tree_link link = {
      .r = r, .row = B->cptr[g], .L = L, .first = n_children, .parent = -1
    };
    bool uniform = true;
    L += r * r;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int b = B->jblk[k], d = B->bptr[b + 1] - B->bptr[b];
      if (D == 0) D = d;
      uniform = uniform && d == D;
      if (k == sub) continue;
      struct kkt_tree_child child = { .kind = tree_kind_of(p, b),
                                      .d = d,
                                      .col = B->bptr[b],
                                      .M = B->mptr[b],
                                      .J = B->joff[k],
                                      .body = b };
      if (child.kind == KKT_PASS) {
        int h = p->last_child[b];
        child.rh = B->cptr[h + 1] - B->cptr[h];
        child.row_h = B->cptr[h];
        child.J_h = B->joff[p->parent_sub[h]];
        child.L_h = fill ? w->link[p->position[h]].L : 0;
        child.Y = L;
        L += r * child.rh;
        uniform = uniform && child.rh == r;
        if (fill) { /* h needs to know its grandparent for the way back */
          struct kkt_tree_link *below = &w->link[p->position[h]];
          below->up = r;
          below->J_up = child.J;
          below->row_up = link.row;
          below->Y = child.Y;
          if (below->r != r) below->kernel = 0;
        }
      }
      if (child.kind == KKT_HUB && fill) child.H = w->hub[b];
      if (fill) w->child[n_children] = child;
      n_children++;
    }
    link.last = n_children;
    if (sub >= 0) {
      int b = B->jblk[sub];
      link.parent = tree_kind_of(p, b);
      link.d = B->bptr[b + 1] - B->bptr[b];
      link.col = B->bptr[b];
      link.M = B->mptr[b];
      link.J = B->joff[sub];
      link.body = b;
      if (fill) link.H = w->hub[b];
    }
    link.kernel = uniform ? kernel_of(D, r) : 0;
    if (fill) w->link[i] = link;
  }
  w->n_links = p->n;
  w->n_children = n_children;
  w->n_roots = n_roots;
  w->size_L = L;
  w->size_H = H;
}

perp_status perp_kkt_tree_create(perp_ctx *ctx, const perp_blocks *B,
                                 const struct kkt_tree_opts *opts, struct kkt_tree **out)
{
  *out = NULL;
  PERP_TRY(perp_blocks_check(ctx, B));
  struct perp_kkt_tree_plan p;
  PERP_TRY(perp_kkt_tree_plan(ctx, B, &p));

  struct kkt_tree like = {
    .opt = *opts, .nb = B->nb, .nc = B->nc, .nv = B->nv, .m = B->m, .large = perp_kkt_largest(B)
  };
  for (int g = 0; g < B->nc; g++)
    if (!p.in_tree[g]) like.k += B->cptr[g + 1] - B->cptr[g];
  tree_links_build(&like, &p, B, false);
  void *ws;
  perp_status status = perp_workspace_create(ctx, "tree", &like, sizeof like, tree_layout, &ws);
  if (status == PERP_OK) {
    struct kkt_tree *w = *out = ws;
    tree_links_build(w, &p, B, true);
    for (int g = 0; g < B->nc; g++)
      if (!p.in_tree[g]) w->aux[w->n_aux++] = g;
  }
  perp_arena_free(&p.arena);
  return status;
}
