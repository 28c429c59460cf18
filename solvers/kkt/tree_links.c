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
  const int nv = w->direct.nv, m = w->direct.m;
  perp_kkt_direct_layout(&w->direct, a);
  w->link = PERP_CARVE(a, struct kkt_tree_link, w->n_links);
  w->child = PERP_CARVE(a, struct kkt_tree_child, w->n_children);
  w->root = PERP_CARVE(a, int, w->n_roots);
  w->hub = PERP_CARVE(a, int, w->direct.nb);
  w->aux = PERP_CARVE(a, int, w->n_aux);
  w->L = PERP_CARVE(a, double, w->size_L);
  w->H = PERP_CARVE(a, double, w->size_H);
  w->C = PERP_CARVE(a, double, (size_t)w->k *(size_t)w->k);
  PERP_DOUBLES(a, w->k, &w->mu, &w->ref);
  PERP_DOUBLES(a, nv, &w->f, &w->x);
  PERP_DOUBLES(a, m, &w->z, &w->zero, &w->l, &w->diag);
  w->scratch = PERP_CARVE(a, double, 5 * (size_t)w->large);
}

static void tree_count(struct kkt_tree *w, const struct perp_kkt_tree_plan *p, const perp_blocks *B)
{
  w->large = perp_kkt_largest(B);
  w->n_links = p->n;
  for (int g = 0; g < B->nc; g++) {
    const int r = B->cptr[g + 1] - B->cptr[g];
    if (p->in_tree[g]) {
      w->n_children += B->jptr[g + 1] - B->jptr[g] - (p->parent_sub[g] >= 0);
      w->size_L += r * r;
    } else {
      w->n_aux++;
      w->k += r;
    }
  }
  for (int b = 0; b < B->nb; b++) {
    const int g = p->parent_group[b], h = p->last_child[b];
    const enum kkt_tree_kind kind = tree_kind_of(p, b);
    if (kind == KKT_HUB) w->n_roots += g < 0;
    if (kind == KKT_HUB) w->size_H += B->mptr[b + 1] - B->mptr[b];
    if (kind == KKT_PASS && g >= 0)
      w->size_L += (B->cptr[g + 1] - B->cptr[g]) * (B->cptr[h + 1] - B->cptr[h]);
  }
}

static void tree_links_build(struct kkt_tree *w, const struct perp_kkt_tree_plan *p,
                             const perp_blocks *B)
{
  int n_children = 0, n_roots = 0, n_aux = 0, L = 0, H = 0;
  for (int g = 0; g < B->nc; g++)
    if (!p->in_tree[g]) w->aux[n_aux++] = g;
  for (int b = 0; b < B->nb; b++) {
    w->hub[b] = -1;
    if (tree_kind_of(p, b) != KKT_HUB) continue;
    w->hub[b] = H;
    if (p->parent_group[b] < 0) w->root[n_roots++] = b;
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
        child.L_h = w->link[p->position[h]].L;
        child.Y = L;
        L += r * child.rh;
        uniform = uniform && child.rh == r;
        /* h needs to know its grandparent for the way back */
        struct kkt_tree_link *below = &w->link[p->position[h]];
        below->up = r;
        below->J_up = child.J;
        below->row_up = link.row;
        below->Y = child.Y;
        if (below->r != r) below->kernel = 0;
      }
      if (child.kind == KKT_HUB) child.H = w->hub[b];
      w->child[n_children++] = child;
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
      link.H = w->hub[b];
    }
    link.kernel = uniform ? kernel_of(D, r) : 0;
    w->link[i] = link;
  }
}

/* Multiplications with additions of the elimination, and of one solve with it, without auxiliary
 * rows. */
static void tree_cost(const struct kkt_tree *w, const perp_blocks *B, double *factor, double *solve)
{
  *factor = *solve = 0;
  for (int i = 0; i < w->n_links; i++) {
    const struct kkt_tree_link *g = &w->link[i];
    const double r = g->r;
    *factor += r * r * r / 6;
    *solve += r * r;
    for (int n = g->first; n < g->last; n++) {
      const struct kkt_tree_child *b = &w->child[n];
      const double d = b->d, rh = b->rh;
      *factor += b->kind == KKT_HUB ? d * d * d / 6 + r * d * d / 2 : r * d * d;
      *factor += r * r * d / 2;
      *solve += 2 * d * d + 2 * r * d;
      if (b->kind != KKT_PASS) continue;
      *factor += r * d * rh + r * rh * rh / 2 + r * rh + r * r * rh / 2;
      *solve += 2 * r * rh;
    }
    if (g->parent == KKT_HUB) *factor += r * r * g->d / 2 + r * g->d * g->d / 2.0;
    *solve += g->parent >= 0 ? 2 * r * g->d : 0;
  }
  for (int i = 0; i < w->n_roots; i++) {
    const double d = B->bptr[w->root[i] + 1] - B->bptr[w->root[i]];
    *factor += d * d * d / 6;
    *solve += d * d;
  }
}

perp_status perp_kkt_tree_create(perp_ctx *ctx, const perp_blocks *B, struct kkt_tree *like,
                                 void **ws)
{
  struct perp_kkt_tree_plan *p;
  PERP_TRY(perp_kkt_tree_plan(ctx, B, &p));
  tree_count(like, p, B);
  const perp_status status = perp_workspace_create(ctx, "tree", like, sizeof *like, tree_layout,
                                                   ws);
  if (status == PERP_OK) {
    struct kkt_tree *w = *ws;
    double factor, solve, rows = 0; /* numbers of the auxiliary rows */
    const double k = w->k;
    tree_links_build(w, p, B);
    tree_cost(w, B, &factor, &solve);
    for (int n = 0; n < w->n_aux; n++)
      rows += B->joff[B->jptr[w->aux[n] + 1]] - B->joff[B->jptr[w->aux[n]]];
    w->direct.cost_factor = factor + k * (solve + 2 * rows) + k * k * k / 6;
    w->direct.cost_solve = k > 0 ? 2 * (solve + rows) + k * k : solve;
  }
  free(p);
  return status;
}
