/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Spanning forest of bodies and joints and the order in which it is eliminated: a graph, no
 * numbers. */
#include "solvers/kkt/tree_plan.h"

#include "solvers/core/sets.h"

static void tree_plan_layout(void *plan, perp_arena *arena)
{
  struct perp_kkt_tree_plan *tree_plan = plan;
  tree_plan->set = PERP_CARVE(arena, int, tree_plan->nb + 1);
  PERP_INTS(arena, tree_plan->nb, &tree_plan->parent_group, &tree_plan->children,
            &tree_plan->last_child);
  PERP_INTS(arena, tree_plan->nc, &tree_plan->parent_sub, &tree_plan->stack, &tree_plan->sequence,
            &tree_plan->position);
  tree_plan->in_tree = PERP_CARVE(arena, char, tree_plan->nc);
  tree_plan->excluded = PERP_CARVE(arena, char, tree_plan->nc);
  tree_plan->seen = PERP_CARVE(arena, char, tree_plan->nb);
}

/* Does group g connect parts that were not connected?  If so, connect them. */
static bool tree_plan_join(struct perp_kkt_tree_plan *plan, const perp_blocks *blocks, int g)
{
  int from = blocks->jptr[g], to = blocks->jptr[g + 1];
  if (from == to) return false;
  int first = perp_root(plan->set, to - from == 1 ? blocks->nb : blocks->jblk[from]);
  for (int k = to - from == 1 ? from : from + 1; k < to; k++) {
    int s = perp_root(plan->set, blocks->jblk[k]);
    if (s == first) return false;
    for (int l = from + 1; l < k; l++)
      if (perp_root(plan->set, blocks->jblk[l]) == s) return false;
  }
  for (int k = from; k < to; k++) plan->set[perp_root(plan->set, blocks->jblk[k])] = first;
  return true;
}

/* Visit everything that hangs on the groups on the stack; the sequence gets them in preorder. */
static void tree_plan_descend(struct perp_kkt_tree_plan *plan, const perp_blocks *blocks, int depth)
{
  while (depth > 0) {
    int g = plan->stack[--depth];
    plan->sequence[plan->n++] = g;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
      int b = blocks->jblk[k];
      if (k == plan->parent_sub[g]) continue;
      plan->parent_group[b] = g;
      plan->seen[b] = 1;
      for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
        int h = blocks->jgrp[blocks->tsub[t]];
        if (h == g || !plan->in_tree[h]) continue;
        plan->parent_sub[h] = blocks->tsub[t];
        plan->stack[depth++] = h;
      }
    }
  }
}

/* Spanning forest and order of elimination with the groups that are not excluded. */
static void plan_tree(struct perp_kkt_tree_plan *plan, const perp_blocks *blocks)
{
  int nb = blocks->nb, nc = blocks->nc, most = 0;
  plan->n = 0;
  for (int b = 0; b <= nb; b++) plan->set[b] = b;
  for (int b = 0; b < nb; b++) {
    plan->parent_group[b] = -1;
    plan->children[b] = plan->last_child[b] = plan->seen[b] = 0;
  }
  /* groups with many rows first, so that few rows are left for the auxiliary ones */
  for (int g = 0; g < nc; g++) {
    int r = blocks->cptr[g + 1] - blocks->cptr[g];
    if (r > most) most = r;
  }
  for (int r = most; r > 0; r--)
    for (int g = 0; g < nc; g++)
      if (blocks->cptr[g + 1] - blocks->cptr[g] == r)
        plan->in_tree[g] = !plan->excluded[g] && tree_plan_join(plan, blocks, g);

  /* the root of a tree is its joint with the world, or else a body at an end */
  for (int g = 0; g < nc; g++)
    if (plan->in_tree[g] && blocks->jptr[g + 1] - blocks->jptr[g] == 1) {
      plan->parent_sub[g] = -1;
      plan->stack[0] = g;
      tree_plan_descend(plan, blocks, 1);
    }
  for (int pass = 0; pass < 2; pass++)
    for (int b = 0; b < nb; b++) {
      int depth = 0;
      if (plan->seen[b]) continue;
      for (int t = blocks->tptr[b]; t < blocks->tptr[b + 1]; t++) {
        int g = blocks->jgrp[blocks->tsub[t]];
        if (!plan->in_tree[g]) continue;
        plan->parent_sub[g] = blocks->tsub[t];
        plan->stack[depth++] = g;
      }
      if (pass == 0 && depth != 1) continue;
      plan->seen[b] = 1;
      tree_plan_descend(plan, blocks, depth);
    }

  /* reversed preorder: everything comes after what hangs on it */
  for (int i = 0, j = plan->n - 1; i < j; i++, j--) {
    int g = plan->sequence[i];
    plan->sequence[i] = plan->sequence[j];
    plan->sequence[j] = g;
  }
  for (int i = 0; i < plan->n; i++) {
    int g = plan->sequence[i], sub = plan->parent_sub[g];
    plan->position[g] = i;
    if (sub < 0) continue;
    plan->children[blocks->jblk[sub]]++;
    plan->last_child[blocks->jblk[sub]] = g;
  }
}

/* A joint below a HUB must find its pivot without it: at least as many columns beyond as rows.
 * Excludes the others; true when there were any. */
static bool exclude_weak(struct perp_kkt_tree_plan *plan, const perp_blocks *blocks)
{
  bool any = false;
  for (int i = 0; i < plan->n; i++) {
    int g = plan->sequence[i], sub = plan->parent_sub[g], d = 0;
    if (sub < 0 || plan->children[blocks->jblk[sub]] < 2) continue;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
      if (k != sub) d += blocks->bptr[blocks->jblk[k] + 1] - blocks->bptr[blocks->jblk[k]];
    if (d >= blocks->cptr[g + 1] - blocks->cptr[g]) continue;
    plan->excluded[g] = 1;
    any = true;
  }
  return any;
}

perp_status perp_kkt_tree_plan(perp_ctx *ctx, const perp_blocks *blocks,
                               struct perp_kkt_tree_plan **out)
{
  struct perp_kkt_tree_plan like = { .nb = blocks->nb, .nc = blocks->nc };
  void *plan;
  const perp_status status = perp_workspace_create(ctx, "tree", &like, sizeof like,
                                                   tree_plan_layout, &plan);
  struct perp_kkt_tree_plan *tree_plan = *out = plan;
  if (tree_plan == NULL) return status;
  for (int g = 0; g < blocks->nc; g++) tree_plan->excluded[g] = 0;
  do plan_tree(tree_plan, blocks);
  while (exclude_weak(tree_plan, blocks));
  return PERP_OK;
}
