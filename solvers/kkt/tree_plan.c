/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spanning forest of bodies and joints and the order in which it is eliminated: a graph, no
 * numbers. */
#include "solvers/kkt/tree_plan.h"

#include "solvers/core/sets.h"

static void tree_plan_layout(void *plan, perp_arena *a)
{
  struct perp_kkt_tree_plan *p = plan;
  p->set = PERP_CARVE(a, int, p->nb + 1);
  PERP_INTS(a, p->nb, &p->parent_group, &p->children, &p->last_child);
  PERP_INTS(a, p->nc, &p->parent_sub, &p->stack, &p->sequence, &p->position);
  p->in_tree = PERP_CARVE(a, char, p->nc);
  p->excluded = PERP_CARVE(a, char, p->nc);
  p->seen = PERP_CARVE(a, char, p->nb);
}

/* Does group g connect parts that were not connected?  If so, connect them. */
static bool tree_plan_join(struct perp_kkt_tree_plan *p, const perp_blocks *B, int g)
{
  int from = B->jptr[g], to = B->jptr[g + 1];
  if (from == to) return false;
  int first = perp_root(p->set, to - from == 1 ? B->nb : B->jblk[from]);
  for (int k = to - from == 1 ? from : from + 1; k < to; k++) {
    int s = perp_root(p->set, B->jblk[k]);
    if (s == first) return false;
    for (int l = from + 1; l < k; l++)
      if (perp_root(p->set, B->jblk[l]) == s) return false;
  }
  for (int k = from; k < to; k++) p->set[perp_root(p->set, B->jblk[k])] = first;
  return true;
}

/* Visit everything that hangs on the groups on the stack; the sequence gets them in preorder. */
static void tree_plan_descend(struct perp_kkt_tree_plan *p, const perp_blocks *B, int depth)
{
  while (depth > 0) {
    int g = p->stack[--depth];
    p->sequence[p->n++] = g;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++) {
      int b = B->jblk[k];
      if (k == p->parent_sub[g]) continue;
      p->parent_group[b] = g;
      p->seen[b] = 1;
      for (int t = B->tptr[b]; t < B->tptr[b + 1]; t++) {
        int h = B->jgrp[B->tsub[t]];
        if (h == g || !p->in_tree[h]) continue;
        p->parent_sub[h] = B->tsub[t];
        p->stack[depth++] = h;
      }
    }
  }
}

/* Spanning forest and order of elimination with the groups that are not excluded. */
static void plan_tree(struct perp_kkt_tree_plan *p, const perp_blocks *B)
{
  int nb = B->nb, nc = B->nc, most = 0;
  p->n = 0;
  for (int b = 0; b <= nb; b++) p->set[b] = b;
  for (int b = 0; b < nb; b++) {
    p->parent_group[b] = -1;
    p->children[b] = p->last_child[b] = p->seen[b] = 0;
  }
  /* groups with many rows first, so that few rows are left for the auxiliary ones */
  for (int g = 0; g < nc; g++) {
    int r = B->cptr[g + 1] - B->cptr[g];
    if (r > most) most = r;
  }
  for (int r = most; r > 0; r--)
    for (int g = 0; g < nc; g++)
      if (B->cptr[g + 1] - B->cptr[g] == r)
        p->in_tree[g] = !p->excluded[g] && tree_plan_join(p, B, g);

  /* the root of a tree is its joint with the world, or else a body at an end */
  for (int g = 0; g < nc; g++)
    if (p->in_tree[g] && B->jptr[g + 1] - B->jptr[g] == 1) {
      p->parent_sub[g] = -1;
      p->stack[0] = g;
      tree_plan_descend(p, B, 1);
    }
  for (int pass = 0; pass < 2; pass++)
    for (int b = 0; b < nb; b++) {
      int depth = 0;
      if (p->seen[b]) continue;
      for (int t = B->tptr[b]; t < B->tptr[b + 1]; t++) {
        int g = B->jgrp[B->tsub[t]];
        if (!p->in_tree[g]) continue;
        p->parent_sub[g] = B->tsub[t];
        p->stack[depth++] = g;
      }
      if (pass == 0 && depth != 1) continue;
      p->seen[b] = 1;
      tree_plan_descend(p, B, depth);
    }

  /* reversed preorder: everything comes after what hangs on it */
  for (int i = 0, j = p->n - 1; i < j; i++, j--) {
    int g = p->sequence[i];
    p->sequence[i] = p->sequence[j];
    p->sequence[j] = g;
  }
  for (int i = 0; i < p->n; i++) {
    int g = p->sequence[i], sub = p->parent_sub[g];
    p->position[g] = i;
    if (sub < 0) continue;
    p->children[B->jblk[sub]]++;
    p->last_child[B->jblk[sub]] = g;
  }
}

/* A joint below a HUB must find its pivot without it: at least as many columns beyond as rows.
 * Excludes the others; true when there were any. */
static bool exclude_weak(struct perp_kkt_tree_plan *p, const perp_blocks *B)
{
  bool any = false;
  for (int i = 0; i < p->n; i++) {
    int g = p->sequence[i], sub = p->parent_sub[g], d = 0;
    if (sub < 0 || p->children[B->jblk[sub]] < 2) continue;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++)
      if (k != sub) d += B->bptr[B->jblk[k] + 1] - B->bptr[B->jblk[k]];
    if (d >= B->cptr[g + 1] - B->cptr[g]) continue;
    p->excluded[g] = 1;
    any = true;
  }
  return any;
}

perp_status perp_kkt_tree_plan(perp_ctx *ctx, const perp_blocks *B, struct perp_kkt_tree_plan **out)
{
  struct perp_kkt_tree_plan like = { .nb = B->nb, .nc = B->nc };
  void *plan;
  const perp_status status = perp_workspace_create(ctx, "tree", &like, sizeof like,
                                                   tree_plan_layout, &plan);
  struct perp_kkt_tree_plan *p = *out = plan;
  if (p == NULL) return status;
  for (int g = 0; g < B->nc; g++) p->excluded[g] = 0;
  do plan_tree(p, B);
  while (exclude_weak(p, B));
  return PERP_OK;
}
