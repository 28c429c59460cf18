/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/graph.h"

enum { TRAVERSALS = 8 }; /* of a component, to find one of its ends */

static void graph_layout(void *graph, perp_arena *arena)
{
  kkt_graph *g = graph;
  PERP_INTS(arena, g->n_nodes, &g->size, &g->position, &g->row, &g->order, &g->level);
  g->ptr = PERP_CARVE(arena, int, g->n_nodes + 1);
  g->adj = PERP_CARVE(arena, int, g->n_edges);
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

perp_status perp_kkt_graph_schur(perp_ctx *ctx, const char *name, const perp_blocks *blocks,
                                 kkt_graph **out)
{
  int64_t edges = 0;
  for (int b = 0; b < blocks->nb; b++) {
    const int64_t degree = blocks->tptr[b + 1] - blocks->tptr[b];
    edges += degree * (degree - 1);
  }
  PERP_TRY(perp_kkt_graph_create(ctx, name, blocks->nc, edges, out));
  kkt_graph *graph = *out;
  int n = 0;
  for (int g = 0; g < blocks->nc; g++) {
    graph->size[g] = blocks->cptr[g + 1] - blocks->cptr[g];
    graph->ptr[g] = n;
    for (int k = blocks->jptr[g]; k < blocks->jptr[g + 1]; k++)
      for (int t = blocks->tptr[blocks->jblk[k]]; t < blocks->tptr[blocks->jblk[k] + 1]; t++)
        if (blocks->tsub[t] != k) graph->adj[n++] = blocks->jgrp[blocks->tsub[t]];
  }
  graph->ptr[blocks->nc] = n;
  return PERP_OK;
}

static int graph_degree(const kkt_graph *graph, int node)
{
  return graph->ptr[node + 1] - graph->ptr[node];
}

/* Insertion sort of nodes by degree: lists are short, or nearly sorted. */
static void graph_sort(const kkt_graph *graph, int n, int *node)
{
  for (int i = 1; i < n; i++) {
    const int moved = node[i];
    int k = i;
    for (; k > 0 && graph_degree(graph, node[k - 1]) > graph_degree(graph, moved); k--)
      node[k] = node[k - 1];
    node[k] = moved;
  }
}

/* Breadth first from `start`: queue [*n] the nodes of its component, *last where the last level
 * begins.  Returns the depth.  A node whose level is below `fresh` was not visited. */
static int graph_traverse(const kkt_graph *graph, int start, int fresh, int *queue, int *n,
                          int *last)
{
  *n = 1;
  *last = 0;
  queue[0] = start;
  graph->level[start] = fresh;
  for (int at = 0; at < *n; at++) {
    const int node = queue[at], first = *n;
    if (graph->level[node] != graph->level[queue[*last]]) *last = at;
    for (int k = graph->ptr[node]; k < graph->ptr[node + 1]; k++)
      if (graph->level[graph->adj[k]] < fresh) {
        graph->level[graph->adj[k]] = graph->level[node] + 1;
        queue[(*n)++] = graph->adj[k];
      }
    graph_sort(graph, *n - first, queue + first);
  }
  return graph->level[queue[*n - 1]] - fresh;
}

/* position, row and the width of the band of graph->order. */
static int graph_width(const kkt_graph *graph)
{
  int width = 0;
  for (int node = 0, row = 0; node < graph->n_nodes; node++) {
    graph->position[graph->order[node]] = node;
    graph->row[graph->order[node]] = row;
    row += graph->size[graph->order[node]];
  }
  for (int i = 0; i < graph->n_nodes; i++) {
    const int end = graph->row[i] + graph->size[i] - 1;
    if (graph->size[i] - 1 > width) width = graph->size[i] - 1;
    for (int k = graph->ptr[i]; k < graph->ptr[i + 1]; k++)
      if (end - graph->row[graph->adj[k]] > width) width = end - graph->row[graph->adj[k]];
  }
  return width;
}

int perp_kkt_graph_narrow(kkt_graph *graph)
{
  for (int node = 0; node < graph->n_nodes; node++) graph->order[node] = node;
  const int numbered = graph_width(graph);
  /* graph->order by Cuthill and McKee. */
  const int64_t room = INT32_MAX / ((int64_t)graph->n_nodes + 1);
  const int traversals = room < TRAVERSALS ? (int)room : TRAVERSALS;
  for (int node = 0; node < graph->n_nodes; node++) graph->level[node] = -1;
  for (int seed = 0, placed = 0; seed < graph->n_nodes; seed++) {
    if (graph->level[seed] >= 0) continue;
    int *queue = graph->order + placed, start = seed, depth = -1, n = 0, last;
    /* each traversal begins at the far end of the one before, while the depth grows */
    for (int traversal = 0; traversal < traversals; traversal++) {
      const int reached = graph_traverse(graph, start, traversal * graph->n_nodes, queue, &n,
                                         &last);
      if (reached <= depth) break;
      depth = reached;
      graph_sort(graph, n - last, queue + last);
      start = queue[last];
    }
    placed += n;
  }
  const int width = graph_width(graph);
  if (width < numbered) return width;
  for (int node = 0; node < graph->n_nodes; node++) graph->order[node] = node;
  return graph_width(graph);
}
