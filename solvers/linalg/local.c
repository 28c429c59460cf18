/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/local.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph ---- */

static int local_compare(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Both directions of all edges and each node with itself, ascending and without repetitions. */
static int local_pairs(int nodes, int n_edges, const int *edges, int *pair)
{
  int k = 0;
  for (int i = 0; i < nodes; i++, k++) pair[2 * k] = pair[2 * k + 1] = i;
  for (int e = 0; e < n_edges; e++)
    for (int side = 0; side < 2; side++, k++) {
      pair[2 * k] = edges[2 * e + side];
      pair[2 * k + 1] = edges[2 * e + 1 - side];
    }
  qsort(pair, (size_t)k, 2 * sizeof *pair, local_compare);
  int kept = 0;
  for (int i = 0; i < k; i++) {
    if (kept > 0 && local_compare(pair + 2 * i, pair + 2 * kept - 2) == 0) continue;
    pair[2 * kept] = pair[2 * i];
    pair[2 * kept + 1] = pair[2 * i + 1];
    kept++;
  }
  return kept;
}

static int local_degree(const perp_local *s, int node)
{
  return s->ptr[node + 1] - s->ptr[node];
}

/* Nodes in the order of a breadth-first search from `root`, neighbours of a node by degree; those
 * with mark[] >= 0 have their place already.  Returns how many. */
static int local_search(const perp_local *s, int root, int *order, int *mark)
{
  int n = 0;
  order[n] = root;
  mark[root] = n++;
  for (int k = 0; k < n; k++) {
    const int node = order[k], before = n;
    for (int i = s->ptr[node]; i < s->ptr[node + 1]; i++) {
      const int next = s->near[i];
      if (mark[next] >= 0) continue;
      int place = n++;
      for (; place > before && local_degree(s, order[place - 1]) > local_degree(s, next); place--)
        order[place] = order[place - 1];
      order[place] = next;
      mark[next] = 0;
    }
  }
  return n;
}

/* Reverse Cuthill-McKee (George and Liu 1981, section 4.3): each component from an end of it, which
 * two searches find. */
static void local_order(perp_local *s, int *order, int *mark)
{
  int placed = 0;
  for (int i = 0; i < s->nodes; i++) mark[i] = -1;
  for (int i = 0; i < s->nodes; i++) {
    if (mark[i] >= 0) continue;
    int root = i;
    for (int pass = 0; pass < 2; pass++) {
      const int found = local_search(s, root, order + placed, mark);
      root = order[placed + found - 1];
      for (int k = 0; k < found; k++) mark[order[placed + k]] = -1;
    }
    placed += local_search(s, root, order + placed, mark);
  }
  int next = 0;
  for (int k = s->nodes - 1; k >= 0; k--)
    for (int u = 0; u < s->size[order[k]]; u++) s->at[s->first[order[k]] + u] = next++;
  for (int i = 0; i < s->nodes; i++)
    for (int k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
      const int a = s->at[s->first[i]], j = s->near[k];
      const int reach = abs(s->at[s->first[j]] + s->size[j] - 1 - a);
      if (reach > s->width) s->width = reach;
    }
  if (s->width > s->n - 1) s->width = s->n - 1;
}

/* Greedy: the least colour that no neighbour of a neighbour has. */
static void local_color(perp_local *s, int *taken)
{
  for (int i = 0; i < s->nodes; i++) taken[i] = s->color[i] = -1;
  for (int i = 0; i < s->nodes; i++) {
    for (int k = s->ptr[i]; k < s->ptr[i + 1]; k++)
      for (int l = s->ptr[s->near[k]]; l < s->ptr[s->near[k] + 1]; l++)
        if (s->color[s->near[l]] >= 0) taken[s->color[s->near[l]]] = i;
    int c = 0;
    while (taken[c] == i) c++;
    s->color[i] = c;
    if (c >= s->colors) s->colors = c + 1;
  }
}

/* Wider bands are taken sparse, unless they are full anyway. */
enum { NARROW = 64 };
static const double FULL = 0.2;

typedef struct local_sizes {
  perp_local *s;
  int pairs, numbers;
} local_sizes;

/* Numbers of the sparse matrix of the sorted pairs; INT_MAX: too many. */
static int local_numbers(int pairs, const int *pair, const int *size)
{
  int64_t sum = 0;
  for (int k = 0; k < pairs; k++) sum += (int64_t)size[pair[2 * k]] * size[pair[2 * k + 1]];
  return sum < INT_MAX ? (int)sum : INT_MAX;
}

/* Compressed columns: rows of the neighbours one after the other. */
static void local_columns(perp_local *s)
{
  int next = 0;
  for (int i = 0; i < s->nodes; i++)
    for (int u = 0; u < s->size[i]; u++) {
      s->start[s->first[i] + u] = next;
      for (int k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
        s->offset[k] = next - s->start[s->first[i] + u];
        for (int e = 0; e < s->size[s->near[k]]; e++) s->row[next++] = s->first[s->near[k]] + e;
      }
    }
  s->start[s->n] = next;
}

static void local_layout(void *ws, perp_arena *a)
{
  const local_sizes *z = ws;
  perp_local *s = z->s;
  PERP_INTS(a, s->nodes, &s->first, &s->size, &s->color);
  s->ptr = PERP_CARVE(a, int, s->nodes + 1);
  s->near = PERP_CARVE(a, int, z->pairs);
  PERP_INTS(a, s->n, &s->at, &s->node);
  s->start = PERP_CARVE(a, int, s->n + 1);
  s->row = PERP_CARVE(a, int, z->numbers);
  s->offset = PERP_CARVE(a, int, z->pairs);
  PERP_DOUBLES(a, s->n, &s->x1, &s->r1);
}

perp_status perp_local_create(perp_ctx *ctx, int nodes, const int *size, int n_edges,
                              const int *edges, perp_local *s)
{
  *s = (perp_local){ .nodes = nodes };
  for (int i = 0; i < nodes; i++) s->n += size[i];
  const size_t room = 2 * (size_t)nodes + 4 * (size_t)n_edges + 2;
  int *pair = calloc(room + 2 * (size_t)nodes + 2, sizeof *pair);
  if (pair == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a graph");
  local_sizes z = { .s = s, .pairs = local_pairs(nodes, n_edges, edges, pair) };
  z.numbers = local_numbers(z.pairs, pair, size);
  const bool thin = nodes > 1 && z.numbers < FULL * s->n * s->n;
  if (!thin) z.numbers = 0;
  perp_status status = perp_arena_layout(ctx, &s->arena, local_layout, &z);
  if (status == PERP_OK) {
    int *order = pair + room, *mark = order + nodes + 1;
    for (int i = 0, next = 0; i < nodes; i++) {
      s->first[i] = next;
      s->size[i] = size[i];
      next += size[i];
      if (size[i] > s->most) s->most = size[i];
    }
    for (int i = 0, k = 0; i < nodes; i++) {
      s->ptr[i] = k;
      for (; k < z.pairs && pair[2 * k] == i; k++) s->near[k] = pair[2 * k + 1];
      s->ptr[i + 1] = k;
    }
    local_order(s, order, mark);
    local_color(s, mark);
    for (int i = 0; i < nodes; i++)
      for (int u = 0; u < size[i]; u++) s->node[s->first[i] + u] = i;
    s->sparse = thin && s->width > NARROW;
    if (s->sparse) local_columns(s);
    if (s->sparse) status = perp_local_analyse(ctx, s);
    if (status != PERP_OK) perp_local_destroy(s);
  }
  free(pair);
  return status;
}

void perp_local_destroy(perp_local *s)
{
  perp_local_analysis_free(s);
  perp_arena_free(&s->arena);
}

/* ---- finite differences ---- */

/* Unknown u of all nodes of a colour is moved; false: there is none. */
static bool local_move(perp_local *s, int color, int u, const double *x, const double *step)
{
  bool any = false;
  memcpy(s->x1, x, (size_t)s->n * sizeof *x);
  for (int i = 0; i < s->nodes; i++) {
    if (s->color[i] != color || u >= s->size[i]) continue;
    s->x1[s->first[i] + u] += step[s->first[i] + u];
    any = true;
  }
  return any;
}

bool perp_local_jacobian(perp_local *s, perp_local_fn *F, void *user, const double *x,
                         const double *r, const double *step, double *A, int64_t *count)
{
  memset(A, 0, perp_local_length(s) * sizeof *A);
  for (int color = 0; color < s->colors; color++)
    for (int u = 0; u < s->most; u++) {
      if (!local_move(s, color, u, x, step)) continue;
      ++*count;
      if (!F(user, s->x1, s->r1)) return false;
      for (int i = 0; i < s->nodes; i++) {
        if (s->color[i] != color || u >= s->size[i]) continue;
        const int j = s->first[i] + u;
        const double by = s->x1[j] - x[j]; /* as it was rounded */
        for (int k = s->ptr[i]; k < s->ptr[i + 1]; k++) {
          const int node = s->near[k];
          double *column = A + perp_local_place(s, s->first[node], j);
          const int first = s->first[node];
          for (int e = 0; e < s->size[node]; e++)
            column[e] = (s->r1[first + e] - r[first + e]) / by;
        }
      }
    }
  return true;
}
