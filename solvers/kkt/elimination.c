/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/elimination.h"

#include "solvers/kkt/tree_plan.h"

#include <stdlib.h>

/* A node and when it may be eliminated. */
struct turn {
  int node;
  int rank; /* of its pair in the order of minimum degree, or of the last one that it waits for */
  int late; /* 0 body, 1 group with it, 2 group that waited */
  int own;  /* among those that waited */
};

struct elimination {
  const perp_blocks *B;
  struct perp_kkt_tree_plan *plan;
  perp_arena arena;
  int *pair;         /* [nb+nc] the pair that a node belongs to: that of a body is its own number */
  kkt_graph *pairs;  /* nodes that follow another one have no edges of their own */
  int *rank;         /* [nb+nc] position of a pair in its order */
  int *depth;        /* [nb] joints between a body and the root of its tree */
  struct turn *turn; /* [nb+nc] */
};

static void elimination_layout(void *ws, perp_arena *arena)
{
  struct elimination *elimination = ws;
  const size_t n = (size_t)elimination->B->nb + (size_t)elimination->B->nc;
  PERP_INTS(arena, n, &elimination->pair);
  PERP_INTS(arena, elimination->B->nb, &elimination->depth);
  elimination->turn = PERP_CARVE(arena, struct turn, n);
}

static int elimination_parent(const struct elimination *elimination, int body)
{
  const int g = elimination->plan->parent_group[body],
            sub = g < 0 ? -1 : elimination->plan->parent_sub[g];
  return sub < 0 ? -1 : elimination->B->jblk[sub];
}

/* Each group of the forest joins the first body that hangs on it. */
static void elimination_pairs(struct elimination *elimination)
{
  const perp_blocks *blocks = elimination->B;
  for (int i = 0; i < blocks->nb + blocks->nc; i++) elimination->pair[i] = i;
  for (int b = blocks->nb - 1; b >= 0; b--)
    if (elimination->plan->parent_group[b] >= 0)
      elimination->pair[blocks->nb + elimination->plan->parent_group[b]] = b;
  for (int b = 0; b < blocks->nb; b++) elimination->depth[b] = 0;
  for (int i = elimination->plan->n - 1; i >= 0; i--) { /* roots first */
    const int g = elimination->plan->sequence[i], sub = elimination->plan->parent_sub[g];
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
      if (k != sub)
        elimination->depth[blocks->jblk[k]] = sub < 0 ? 1
                                                      : elimination->depth[blocks->jblk[sub]] + 1;
  }
}

/* Neighbours of a pair: those of its body and of its group. */
static void elimination_graph(struct elimination *elimination, const kkt_graph *graph)
{
  const int nb = elimination->B->nb, n = graph->n_nodes;
  int edges = 0;
  for (int i = 0; i < n; i++) {
    elimination->pairs->ptr[i] = edges;
    if (elimination->pair[i] != i) continue;
    const int g = i < nb ? elimination->plan->parent_group[i] : -1;
    const int members[2] = { i, g >= 0 && elimination->pair[nb + g] == i ? nb + g : i };
    for (int k = 0; k < (members[1] == i ? 1 : 2); k++)
      for (int j = graph->ptr[members[k]]; j < graph->ptr[members[k] + 1]; j++)
        if (elimination->pair[graph->adj[j]] != i)
          elimination->pairs->adj[edges++] = elimination->pair[graph->adj[j]];
  }
  elimination->pairs->ptr[n] = edges;
}

static int elimination_later(int a, int b)
{
  return a > b ? a : b;
}

/* The latest rank on the ways from the bodies of a group to where they meet; at the root where they
 * do not. */
static int elimination_loop(const struct elimination *elimination, int g)
{
  const perp_blocks *blocks = elimination->B;
  int latest = elimination->rank[blocks->nb + g], a = -1;
  for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++) {
    int b = blocks->jblk[k];
    latest = elimination_later(latest, elimination->rank[b]);
    if (k == blocks->jptr[g]) {
      a = b;
      continue;
    }
    while (a != b) { /* the deeper one goes on */
      int *deeper = b < 0 || (a >= 0 && elimination->depth[a] >= elimination->depth[b]) ? &a : &b;
      latest = elimination_later(latest, elimination->rank[*deeper]);
      *deeper = elimination_parent(elimination, *deeper);
    }
    if (a >= 0) latest = elimination_later(latest, elimination->rank[a]);
  }
  if (blocks->jptr[g + 1] - blocks->jptr[g] == 1) /* it ties its body to the world once more */
    for (; a >= 0; a = elimination_parent(elimination, a))
      latest = elimination_later(latest, elimination->rank[a]);
  return latest;
}

static int elimination_compare(const void *x, const void *y)
{
  const struct turn *a = x, *b = y;
  if (a->rank != b->rank) return a->rank < b->rank ? -1 : 1;
  if (a->late != b->late) return a->late < b->late ? -1 : 1;
  return a->own < b->own ? -1 : a->own > b->own;
}

perp_status perp_kkt_elimination(perp_ctx *ctx, const char *name, const perp_blocks *blocks,
                                 kkt_graph *graph)
{
  const int nb = blocks->nb, n = graph->n_nodes;
  struct elimination elimination = { .B = blocks };
  PERP_TRY(perp_kkt_tree_plan(ctx, blocks, &elimination.plan));
  perp_status status = perp_arena_layout(ctx, &elimination.arena, elimination_layout, &elimination);
  if (status == PERP_OK)
    status = perp_kkt_graph_create(ctx, name, n, graph->n_edges, &elimination.pairs);
  if (status == PERP_OK) {
    elimination_pairs(&elimination);
    elimination_graph(&elimination, graph);
    status = perp_kkt_graph_order(ctx, name, elimination.pairs);
  }
  if (status == PERP_OK) {
    elimination.rank = elimination.pairs->position;
    for (int turn = 0; turn < n; turn++) {
      const bool alone = turn >= nb && elimination.pair[turn] == turn;
      elimination.turn[turn] = (struct turn){
        .node = turn,
        .rank = alone ? elimination_loop(&elimination, turn - nb)
                      : elimination.rank[elimination.pair[turn]],
        .late = turn < nb ? 0
                : alone   ? 2
                          : 1,
        .own = elimination.rank[turn]
      };
    }
    qsort(elimination.turn, (size_t)n, sizeof *elimination.turn, elimination_compare);
    for (int k = 0; k < n; k++) graph->position[elimination.turn[k].node] = k;
  }
  free(elimination.pairs);
  perp_arena_free(&elimination.arena);
  free(elimination.plan);
  return status;
}
