/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/tree_links.h"

#include "solvers/kkt/kernels.h"
#include "solvers/kkt/tree_plan.h"

static enum kkt_tree_kind tree_kind_of(const struct perp_kkt_tree_plan *plan, int b)
{
  return plan->children[b] == 0 ? KKT_LEAF : plan->children[b] == 1 ? KKT_PASS : KKT_HUB;
}

static void tree_layout(void *ws, perp_arena *arena)
{
  struct kkt_tree *tree = ws;
  const int nv = tree->direct.nv, m = tree->direct.m;
  perp_kkt_direct_layout(&tree->direct, arena);
  tree->link = PERP_CARVE(arena, struct kkt_tree_link, tree->n_links);
  tree->child = PERP_CARVE(arena, struct kkt_tree_child, tree->n_children);
  tree->root = PERP_CARVE(arena, int, tree->n_roots);
  tree->hub = PERP_CARVE(arena, int, tree->direct.nb);
  tree->aux = PERP_CARVE(arena, int, tree->n_aux);
  tree->L = PERP_CARVE(arena, double, tree->size_L);
  tree->H = PERP_CARVE(arena, double, tree->size_H);
  tree->C = PERP_CARVE(arena, double, (size_t)tree->k *(size_t)tree->k);
  PERP_DOUBLES(arena, tree->k, &tree->mu, &tree->ref);
  PERP_DOUBLES(arena, nv, &tree->f, &tree->x);
  PERP_DOUBLES(arena, m, &tree->z, &tree->zero, &tree->l, &tree->diag);
  tree->scratch = PERP_CARVE(arena, double, 5 * (size_t)tree->large);
}

static void tree_count(struct kkt_tree *tree, const struct perp_kkt_tree_plan *plan,
                       const perp_blocks *blocks)
{
  tree->large = perp_kkt_largest(blocks);
  tree->n_links = plan->n;
  for (int g = 0; g < blocks->nc; g++) {
    const int r = blocks->cptr[g + 1] - blocks->cptr[g];
    if (plan->in_tree[g]) {
      tree->n_children += blocks->jptr[g + 1] - blocks->jptr[g] - (plan->parent_sub[g] >= 0);
      tree->size_L += r * r;
    } else {
      tree->n_aux++;
      tree->k += r;
    }
  }
  for (int b = 0; b < blocks->nb; b++) {
    const int g = plan->parent_group[b], h = plan->last_child[b];
    const enum kkt_tree_kind kind = tree_kind_of(plan, b);
    if (kind == KKT_HUB) tree->n_roots += g < 0;
    if (kind == KKT_HUB) tree->size_H += blocks->mptr[b + 1] - blocks->mptr[b];
    if (kind == KKT_PASS && g >= 0)
      tree->size_L += (blocks->cptr[g + 1] - blocks->cptr[g]) *
                      (blocks->cptr[h + 1] - blocks->cptr[h]);
  }
}

static void tree_links_build(struct kkt_tree *tree, const struct perp_kkt_tree_plan *plan,
                             const perp_blocks *blocks)
{
  int n_children = 0, n_roots = 0, n_aux = 0, L = 0, H = 0;
  for (int g = 0; g < blocks->nc; g++)
    if (!plan->in_tree[g]) tree->aux[n_aux++] = g;
  for (int b = 0; b < blocks->nb; b++) {
    tree->hub[b] = -1;
    if (tree_kind_of(plan, b) != KKT_HUB) continue;
    tree->hub[b] = H;
    if (plan->parent_group[b] < 0) tree->root[n_roots++] = b;
    H += blocks->mptr[b + 1] - blocks->mptr[b];
  }
  for (int i = 0; i < plan->n; i++) {
    int g = plan->sequence[i], r = blocks->cptr[g + 1] - blocks->cptr[g], sub = plan->parent_sub[g],
        D = 0;
    struct kkt_tree_link link = {
      .r = r, .row = blocks->cptr[g], .L = L, .first = n_children, .parent = -1
    };
    bool uniform = true;
    L += r * r;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int b = blocks->jblk[k], d = blocks->bptr[b + 1] - blocks->bptr[b];
      if (D == 0) D = d;
      uniform = uniform && d == D;
      if (k == sub) continue;
      struct kkt_tree_child child = { .kind = tree_kind_of(plan, b),
                                      .d = d,
                                      .col = blocks->bptr[b],
                                      .M = blocks->mptr[b],
                                      .J = blocks->joff[k],
                                      .body = b };
      if (child.kind == KKT_PASS) {
        int h = plan->last_child[b];
        child.rh = blocks->cptr[h + 1] - blocks->cptr[h];
        child.row_h = blocks->cptr[h];
        child.J_h = blocks->joff[plan->parent_sub[h]];
        child.L_h = tree->link[plan->position[h]].L;
        child.Y = L;
        L += r * child.rh;
        uniform = uniform && child.rh == r;
        /* h needs to know its grandparent for the way back */
        struct kkt_tree_link *below = &tree->link[plan->position[h]];
        below->up = r;
        below->J_up = child.J;
        below->row_up = link.row;
        below->Y = child.Y;
        if (below->r != r) below->kernel = 0;
      }
      if (child.kind == KKT_HUB) child.H = tree->hub[b];
      tree->child[n_children++] = child;
    }
    link.last = n_children;
    if (sub >= 0) {
      int body = blocks->jblk[sub];
      link.parent = tree_kind_of(plan, body);
      link.d = blocks->bptr[body + 1] - blocks->bptr[body];
      link.col = blocks->bptr[body];
      link.M = blocks->mptr[body];
      link.J = blocks->joff[sub];
      link.body = body;
      link.H = tree->hub[body];
    }
    link.kernel = uniform ? kernel_of(D, r) : 0;
    tree->link[i] = link;
  }
}

/* Multiplications with additions of the elimination, and of one solve with it, without auxiliary
 * rows. */
static void tree_cost(const struct kkt_tree *tree, const perp_blocks *blocks, double *factor,
                      double *solve)
{
  *factor = *solve = 0;
  for (int link = 0; link < tree->n_links; link++) {
    const struct kkt_tree_link *tree_link = &tree->link[link];
    const double r = tree_link->r;
    *factor += r * r * r / 6;
    *solve += r * r;
    for (int n = tree_link->first; n < tree_link->last; n++) {
      const struct kkt_tree_child *child = &tree->child[n];
      const double d = child->d, rh = child->rh;
      *factor += child->kind == KKT_HUB ? d * d * d / 6 + r * d * d / 2 : r * d * d;
      *factor += r * r * d / 2;
      *solve += 2 * d * d + 2 * r * d;
      if (child->kind != KKT_PASS) continue;
      *factor += r * d * rh + r * rh * rh / 2 + r * rh + r * r * rh / 2;
      *solve += 2 * r * rh;
    }
    if (tree_link->parent == KKT_HUB)
      *factor += r * r * tree_link->d / 2 + r * tree_link->d * tree_link->d / 2.0;
    *solve += tree_link->parent >= 0 ? 2 * r * tree_link->d : 0;
  }
  for (int root = 0; root < tree->n_roots; root++) {
    const double d = blocks->bptr[tree->root[root] + 1] - blocks->bptr[tree->root[root]];
    *factor += d * d * d / 6;
    *solve += d * d;
  }
}

perp_status perp_kkt_tree_create(perp_ctx *ctx, const perp_blocks *blocks, struct kkt_tree *like,
                                 void **ws)
{
  struct perp_kkt_tree_plan *plan;
  PERP_TRY(perp_kkt_tree_plan(ctx, blocks, &plan));
  tree_count(like, plan, blocks);
  const perp_status status = perp_workspace_create(ctx, "tree", like, sizeof *like, tree_layout,
                                                   ws);
  if (status == PERP_OK) {
    struct kkt_tree *tree = *ws;
    double factor, solve, rows = 0; /* numbers of the auxiliary rows */
    const double k = tree->k;
    tree_links_build(tree, plan, blocks);
    tree_cost(tree, blocks, &factor, &solve);
    for (int n = 0; n < tree->n_aux; n++)
      rows += blocks->joff[blocks->jptr[tree->aux[n] + 1]] -
              blocks->joff[blocks->jptr[tree->aux[n]]];
    tree->direct.cost_factor = factor + k * (solve + 2 * rows) + k * k * k / 6;
    tree->direct.cost_solve = k > 0 ? 2 * (solve + rows) + k * k : solve;
  }
  free(plan);
  return status;
}
