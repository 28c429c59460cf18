/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/linalg/local.h"
#include <complex.h>
#include <lapacke.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <suitesparse/klu.h>

/* ---- the graph ---- */

static int local_compare(const void *a, const void *b)
{
  const int *x = a, *y = b;
  return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Both directions of all edges and each node with itself, ascending and without repetitions. */
static int local_pairs(int nodes, int n_edges, const int *edges, int *pair)
{
  int nmemb = 0;
  for (int node = 0; node < nodes; node++, nmemb++) pair[2 * nmemb] = pair[2 * nmemb + 1] = node;
  for (int edge = 0; edge < n_edges; edge++)
    for (int side = 0; side < 2; side++, nmemb++) {
      pair[2 * nmemb] = edges[2 * edge + side];
      pair[2 * nmemb + 1] = edges[2 * edge + 1 - side];
    }
  qsort(pair, (size_t)nmemb, 2 * sizeof *pair, local_compare);
  int kept = 0;
  for (int i = 0; i < nmemb; i++) {
    if (kept > 0 && local_compare(pair + 2 * i, pair + 2 * kept - 2) == 0) continue;
    pair[2 * kept] = pair[2 * i];
    pair[2 * kept + 1] = pair[2 * i + 1];
    kept++;
  }
  return kept;
}

static int local_degree(const perp_local *local, int node)
{
  return local->ptr[node + 1] - local->ptr[node];
}

/* Nodes in the order of a breadth-first search from `root`, neighbours of a node by degree; those
 * with mark[] >= 0 have their place already.  Returns how many. */
static int local_search(const perp_local *local, int root, int *order, int *mark)
{
  int n = 0;
  order[n] = root;
  mark[root] = n++;
  for (int k = 0; k < n; k++) {
    const int node = order[k], before = n;
    for (int i = local->ptr[node]; i < local->ptr[node + 1]; i++) {
      const int next = local->near[i];
      if (mark[next] >= 0) continue;
      int place = n++;
      for (; place > before && local_degree(local, order[place - 1]) > local_degree(local, next);
           place--)
        order[place] = order[place - 1];
      order[place] = next;
      mark[next] = 0;
    }
  }
  return n;
}

/* Reverse Cuthill-McKee (George and Liu 1981, section 4.3): each component from an end of it, which
 * two searches find. */
static void local_order(perp_local *local, int *order, int *mark)
{
  int placed = 0;
  for (int node = 0; node < local->nodes; node++) mark[node] = -1;
  for (int node = 0; node < local->nodes; node++) {
    if (mark[node] >= 0) continue;
    int root = node;
    for (int pass = 0; pass < 2; pass++) {
      const int found = local_search(local, root, order + placed, mark);
      root = order[placed + found - 1];
      for (int k = 0; k < found; k++) mark[order[placed + k]] = -1;
    }
    placed += local_search(local, root, order + placed, mark);
  }
  int next = 0;
  for (int k = local->nodes - 1; k >= 0; k--)
    for (int u = 0; u < local->size[order[k]]; u++) local->at[local->first[order[k]] + u] = next++;
  for (int node = 0; node < local->nodes; node++)
    for (int k = local->ptr[node]; k < local->ptr[node + 1]; k++) {
      const int a = local->at[local->first[node]], j = local->near[k];
      const int reach = abs(local->at[local->first[j]] + local->size[j] - 1 - a);
      if (reach > local->width) local->width = reach;
    }
  if (local->width > local->n - 1) local->width = local->n - 1;
}

/* Greedy: the least colour that no neighbour of a neighbour has. */
static void local_color(perp_local *local, int *taken)
{
  for (int node = 0; node < local->nodes; node++) taken[node] = local->color[node] = -1;
  for (int node = 0; node < local->nodes; node++) {
    for (int k = local->ptr[node]; k < local->ptr[node + 1]; k++)
      for (int l = local->ptr[local->near[k]]; l < local->ptr[local->near[k] + 1]; l++)
        if (local->color[local->near[l]] >= 0) taken[local->color[local->near[l]]] = node;
    int c = 0;
    while (taken[c] == node) c++;
    local->color[node] = c;
    if (c >= local->colors) local->colors = c + 1;
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
static void local_columns(perp_local *local)
{
  int next = 0;
  for (int node = 0; node < local->nodes; node++)
    for (int u = 0; u < local->size[node]; u++) {
      local->start[local->first[node] + u] = next;
      for (int k = local->ptr[node]; k < local->ptr[node + 1]; k++) {
        local->offset[k] = next - local->start[local->first[node] + u];
        for (int e = 0; e < local->size[local->near[k]]; e++)
          local->row[next++] = local->first[local->near[k]] + e;
      }
    }
  local->start[local->n] = next;
}

static void local_layout(void *ws, perp_arena *arena)
{
  const local_sizes *sizes = ws;
  perp_local *local = sizes->s;
  PERP_INTS(arena, local->nodes, &local->first, &local->size, &local->color);
  local->ptr = PERP_CARVE(arena, int, local->nodes + 1);
  local->near = PERP_CARVE(arena, int, sizes->pairs);
  PERP_INTS(arena, local->n, &local->at, &local->node);
  local->start = PERP_CARVE(arena, int, local->n + 1);
  local->row = PERP_CARVE(arena, int, sizes->numbers);
  local->offset = PERP_CARVE(arena, int, sizes->pairs);
  PERP_DOUBLES(arena, local->n, &local->x1, &local->r1);
}

perp_status perp_local_create(perp_ctx *ctx, int nodes, const int *size, int n_edges,
                              const int *edges, perp_local *local)
{
  *local = (perp_local){ .nodes = nodes };
  for (int node = 0; node < nodes; node++) local->n += size[node];
  const size_t room = 2 * (size_t)nodes + 4 * (size_t)n_edges + 2;
  int *pair = calloc(room + 2 * (size_t)nodes + 2, sizeof *pair);
  if (pair == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a graph");
  local_sizes sizes = { .s = local, .pairs = local_pairs(nodes, n_edges, edges, pair) };
  sizes.numbers = local_numbers(sizes.pairs, pair, size);
  const bool thin = nodes > 1 && sizes.numbers < FULL * local->n * local->n;
  if (!thin) sizes.numbers = 0;
  perp_status status = perp_arena_layout(ctx, &local->arena, local_layout, &sizes);
  if (status == PERP_OK) {
    int *order = pair + room, *mark = order + nodes + 1;
    for (int node = 0, next = 0; node < nodes; node++) {
      local->first[node] = next;
      local->size[node] = size[node];
      next += size[node];
      if (size[node] > local->most) local->most = size[node];
    }
    for (int node = 0, k = 0; node < nodes; node++) {
      local->ptr[node] = k;
      for (; k < sizes.pairs && pair[2 * k] == node; k++) local->near[k] = pair[2 * k + 1];
      local->ptr[node + 1] = k;
    }
    local_order(local, order, mark);
    local_color(local, mark);
    for (int node = 0; node < nodes; node++)
      for (int u = 0; u < size[node]; u++) local->node[local->first[node] + u] = node;
    local->sparse = thin && local->width > NARROW;
    if (local->sparse) local_columns(local);
    if (local->sparse) status = perp_local_analyse(ctx, local);
    if (status != PERP_OK) perp_local_destroy(local);
  }
  free(pair);
  return status;
}

void perp_local_destroy(perp_local *local)
{
  perp_local_analysis_free(local);
  perp_arena_free(&local->arena);
}

/* ---- finite differences ---- */

/* Unknown u of all nodes of a colour is moved; false: there is none. */
static bool local_move(perp_local *local, int color, int u, const double *x, const double *step)
{
  bool any = false;
  memcpy(local->x1, x, (size_t)local->n * sizeof *x);
  for (int node = 0; node < local->nodes; node++) {
    if (local->color[node] != color || u >= local->size[node]) continue;
    local->x1[local->first[node] + u] += step[local->first[node] + u];
    any = true;
  }
  return any;
}

bool perp_local_jacobian(perp_local *local, perp_local_fn *F, void *user, const double *x,
                         const double *r, const double *step, double *A, int64_t *count)
{
  memset(A, 0, perp_local_length(local) * sizeof *A);
  for (int color = 0; color < local->colors; color++)
    for (int u = 0; u < local->most; u++) {
      if (!local_move(local, color, u, x, step)) continue;
      ++*count;
      if (!F(user, local->x1, local->r1)) return false;
      for (int i = 0; i < local->nodes; i++) {
        if (local->color[i] != color || u >= local->size[i]) continue;
        const int j = local->first[i] + u;
        const double by = local->x1[j] - x[j]; /* as it was rounded */
        for (int k = local->ptr[i]; k < local->ptr[i + 1]; k++) {
          const int node = local->near[k];
          double *column = A + perp_local_place(local, local->first[node], j);
          const int first = local->first[node];
          for (int e = 0; e < local->size[node]; e++)
            column[e] = (local->r1[first + e] - r[first + e]) / by;
        }
      }
    }
  return true;
}

_Static_assert(sizeof(lapack_int) == sizeof(int), "lapack_int is int");

/* Pivots of an earlier matrix are taken again unless they make numbers grow by more than this. */
static const double GROWTH = 1e-4;

perp_status perp_local_analyse(perp_ctx *ctx, perp_local *local)
{
  klu_common *common = calloc(1, sizeof *common);
  if (common == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a sparse system");
  klu_defaults(common);
  local->klu = common;
  local->symbolic = klu_analyze(local->n, local->start, local->row, common);
  return local->symbolic != NULL
             ? PERP_OK
             : PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "KLU: status %d", common->status);
}

void perp_local_analysis_free(perp_local *local)
{
  klu_symbolic *symbolic = local->symbolic;
  if (symbolic != NULL) klu_free_symbolic(&symbolic, local->klu);
  free(local->klu);
  local->symbolic = local->klu = NULL;
}

perp_status perp_local_lu_create(perp_ctx *ctx, const perp_local *local, bool pairs,
                                 perp_local_lu *lu)
{
  *lu = (perp_local_lu){ .pairs = pairs };
  if (local->sparse) return PERP_OK;
  lu->pivots = calloc((size_t)local->n, sizeof *lu->pivots);
  return lu->pivots != NULL ? PERP_OK : PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for pivots");
}

static void local_lu_forget(perp_local *local, perp_local_lu *lu)
{
  klu_numeric *numeric = lu->numeric;
  if (numeric == NULL) return;
  if (lu->pairs)
    klu_z_free_numeric(&numeric, local->klu);
  else
    klu_free_numeric(&numeric, local->klu);
  lu->numeric = NULL;
}

void perp_local_lu_destroy(perp_local *local, perp_local_lu *lu)
{
  local_lu_forget(local, lu);
  free(lu->pivots);
  *lu = (perp_local_lu){ 0 };
}

static bool local_lu_finite(size_t n, const double *x)
{
  double sum = 0; /* of finite numbers times zero: zero */
  for (size_t i = 0; i < n; i++) sum += x[i] * 0;
  return sum == 0;
}

/* A: real numbers, or pairs of them. */
static bool local_lu_sparse(perp_local *local, double *A, perp_local_lu *lu)
{
  klu_common *common = local->klu;
  if (lu->numeric != NULL) {
    const int made =
        lu->pairs
            ? klu_z_refactor(local->start, local->row, A, local->symbolic, lu->numeric, common) &&
                  klu_z_rgrowth(local->start, local->row, A, local->symbolic, lu->numeric, common)
            : klu_refactor(local->start, local->row, A, local->symbolic, lu->numeric, common) &&
                  klu_rgrowth(local->start, local->row, A, local->symbolic, lu->numeric, common);
    if (made && common->status == KLU_OK && common->rgrowth > GROWTH) return true;
    local_lu_forget(local, lu);
  }
  lu->numeric = lu->pairs ? klu_z_factor(local->start, local->row, A, local->symbolic, common)
                          : klu_factor(local->start, local->row, A, local->symbolic, common);
  return lu->numeric != NULL && common->status == KLU_OK;
}

bool perp_local_factor(perp_local *local, double *A, perp_local_lu *lu)
{
  const int w = local->width;
  if (!local_lu_finite(perp_local_length(local), A)) return false;
  if (local->sparse) return local_lu_sparse(local, A, lu);
  return LAPACKE_dgbtrf_work(LAPACK_COL_MAJOR, local->n, local->n, w, w, A, 3 * w + 1,
                             lu->pivots) == 0;
}

void perp_local_solve(perp_local *local, const double *A, const perp_local_lu *lu, double *b)
{
  const int w = local->width;
  if (local->sparse) {
    klu_solve(local->symbolic, lu->numeric, local->n, 1, b, local->klu);
    return;
  }
  for (int i = 0; i < local->n; i++) local->x1[local->at[i]] = b[i];
  LAPACKE_dgbtrs_work(LAPACK_COL_MAJOR, 'N', local->n, w, w, 1, A, 3 * w + 1, lu->pivots, local->x1,
                      local->n);
  for (int i = 0; i < local->n; i++) b[i] = local->x1[local->at[i]];
}

bool perp_local_factor_complex(perp_local *local, double _Complex *A, perp_local_lu *lu)
{
  const int w = local->width;
  if (!local_lu_finite(2 * perp_local_length(local), (const double *)A)) return false;
  if (local->sparse) return local_lu_sparse(local, (double *)A, lu);
  return LAPACKE_zgbtrf_work(LAPACK_COL_MAJOR, local->n, local->n, w, w, A, 3 * w + 1,
                             lu->pivots) == 0;
}

void perp_local_solve_complex(perp_local *local, const double _Complex *A, const perp_local_lu *lu,
                              double _Complex *b, double _Complex *scratch)
{
  const int w = local->width;
  if (local->sparse) {
    klu_z_solve(local->symbolic, lu->numeric, local->n, 1, (double *)b, local->klu);
    return;
  }
  for (int i = 0; i < local->n; i++) scratch[local->at[i]] = b[i];
  LAPACKE_zgbtrs_work(LAPACK_COL_MAJOR, 'N', local->n, w, w, 1, A, 3 * w + 1, lu->pivots, scratch,
                      local->n);
  for (int i = 0; i < local->n; i++) b[i] = scratch[local->at[i]];
}
