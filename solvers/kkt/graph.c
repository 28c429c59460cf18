/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/graph.h"

enum { TRAVERSALS = 8 }; /* of a component, to find one of its ends */

static void graph_layout(void *graph, perp_arena *a)
{
  kkt_graph *g = graph;
  PERP_INTS(a, g->n_nodes, &g->size, &g->position, &g->row, &g->order, &g->level);
  g->ptr = PERP_CARVE(a, int, g->n_nodes + 1);
  g->adj = PERP_CARVE(a, int, g->n_edges);
}

perp_status perp_kkt_graph_create(perp_ctx *ctx, const char *name, int n_nodes, int64_t n_edges,
                                  kkt_graph **out)
{
  if (n_edges > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: the matrix has too many blocks: %lld", name,
                     (long long)n_edges);
  kkt_graph like = { .n_nodes = n_nodes, .n_edges = (int)n_edges };
  void *graph;
  const perp_status status = perp_workspace_create(ctx, name, &like, sizeof like, graph_layout,
                                                   &graph);
  *out = graph;
  return status;
}

perp_status perp_kkt_graph_schur(perp_ctx *ctx, const char *name, const perp_blocks *B,
                                 kkt_graph **out)
{
  int64_t edges = 0;
  for (int b = 0; b < B->nb; b++) {
    const int64_t degree = B->tptr[b + 1] - B->tptr[b];
    edges += degree * (degree - 1);
  }
  PERP_TRY(perp_kkt_graph_create(ctx, name, B->nc, edges, out));
  kkt_graph *graph = *out;
  int n = 0;
  for (int g = 0; g < B->nc; g++) {
    graph->size[g] = B->cptr[g + 1] - B->cptr[g];
    graph->ptr[g] = n;
    for (int k = B->jptr[g]; k < B->jptr[g + 1]; k++)
      for (int t = B->tptr[B->jblk[k]]; t < B->tptr[B->jblk[k] + 1]; t++)
        if (B->tsub[t] != k) graph->adj[n++] = B->jgrp[B->tsub[t]];
  }
  graph->ptr[B->nc] = n;
  return PERP_OK;
}

static int graph_degree(const kkt_graph *g, int node)
{
  return g->ptr[node + 1] - g->ptr[node];
}

/* Insertion sort of nodes by degree: lists are short, or nearly sorted. */
static void graph_sort(const kkt_graph *g, int n, int *node)
{
  for (int i = 1; i < n; i++) {
    const int moved = node[i];
    int k = i;
    for (; k > 0 && graph_degree(g, node[k - 1]) > graph_degree(g, moved); k--)
      node[k] = node[k - 1];
    node[k] = moved;
  }
}

/* Breadth first from `start`: queue [*n] the nodes of its component, *last where the last level
 * begins.  Returns the depth.  A node whose level is below `fresh` was not visited. */
static int graph_traverse(const kkt_graph *g, int start, int fresh, int *queue, int *n, int *last)
{
  *n = 1;
  *last = 0;
  queue[0] = start;
  g->level[start] = fresh;
  for (int at = 0; at < *n; at++) {
    const int node = queue[at], first = *n;
    if (g->level[node] != g->level[queue[*last]]) *last = at;
    for (int k = g->ptr[node]; k < g->ptr[node + 1]; k++)
      if (g->level[g->adj[k]] < fresh) {
        g->level[g->adj[k]] = g->level[node] + 1;
        queue[(*n)++] = g->adj[k];
      }
    graph_sort(g, *n - first, queue + first);
  }
  return g->level[queue[*n - 1]] - fresh;
}

/* position, row and the width of the band of g->order. */
static int graph_width(const kkt_graph *g)
{
  int width = 0;
  for (int k = 0, row = 0; k < g->n_nodes; k++) {
    g->position[g->order[k]] = k;
    g->row[g->order[k]] = row;
    row += g->size[g->order[k]];
  }
  for (int i = 0; i < g->n_nodes; i++) {
    const int end = g->row[i] + g->size[i] - 1;
    if (g->size[i] - 1 > width) width = g->size[i] - 1;
    for (int k = g->ptr[i]; k < g->ptr[i + 1]; k++)
      if (end - g->row[g->adj[k]] > width) width = end - g->row[g->adj[k]];
  }
  return width;
}

int perp_kkt_graph_narrow(kkt_graph *g)
{
  for (int i = 0; i < g->n_nodes; i++) g->order[i] = i;
  const int numbered = graph_width(g);
  /* g->order by Cuthill and McKee. */
  const int64_t room = INT32_MAX / ((int64_t)g->n_nodes + 1);
  const int traversals = room < TRAVERSALS ? (int)room : TRAVERSALS;
  for (int i = 0; i < g->n_nodes; i++) g->level[i] = -1;
  for (int seed = 0, placed = 0; seed < g->n_nodes; seed++) {
    if (g->level[seed] >= 0) continue;
    int *queue = g->order + placed, start = seed, depth = -1, n = 0, last;
    /* each traversal begins at the far end of the one before, while the depth grows */
    for (int t = 0; t < traversals; t++) {
      const int reached = graph_traverse(g, start, t * g->n_nodes, queue, &n, &last);
      if (reached <= depth) break;
      depth = reached;
      graph_sort(g, n - last, queue + last);
      start = queue[last];
    }
    placed += n;
  }
  const int width = graph_width(g);
  if (width < numbered) return width;
  for (int i = 0; i < g->n_nodes; i++) g->order[i] = i;
  return graph_width(g);
}
