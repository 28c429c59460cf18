/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/sparse.h"

_Static_assert(sizeof(SuiteSparse_long) >= sizeof(int), "CHOLMOD with int indices");

void perp_kkt_sparse_layout(kkt_sparse *sparse, perp_arena *arena)
{
  PERP_INTS(arena, sparse->n_nodes, &sparse->position, &sparse->row, &sparse->first_row);
  sparse->above_ptr = PERP_CARVE(arena, int, sparse->n_nodes + 1);
  PERP_INTS(arena, sparse->n_above, &sparse->above, &sparse->above_row);
}

void perp_kkt_sparse_free(kkt_sparse *sparse)
{
  cholmod_free_factor(&sparse->L, &sparse->cm);
  cholmod_free_sparse(&sparse->A, &sparse->cm);
  cholmod_finish(&sparse->cm);
}

static perp_status sparse_external(perp_ctx *ctx, const char *name, const kkt_sparse *sparse)
{
  if (sparse->cm.status == CHOLMOD_OUT_OF_MEMORY)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for the sparse factor", name);
  if (sparse->cm.status == CHOLMOD_TOO_LARGE)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM,
                     "%s: the sparse factor has too many nonzeros for its integer type", name);
  return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: CHOLMOD failed with status %d", name,
                   sparse->cm.status);
}

static void sparse_start(cholmod_common *cm)
{
  cholmod_start(cm);
  cm->print = 0;
  cm->try_catch = 1; /* no messages: the status is looked at */
  cm->supernodal = CHOLMOD_SIMPLICIAL;
  cm->final_ll = 0;
  cm->nmethods = 1;
}

perp_status perp_kkt_graph_order(perp_ctx *ctx, const char *name, kkt_graph *graph)
{
  const int n = graph->n_nodes, *ptr = graph->ptr, *adj = graph->adj;
  if (n == 0) return PERP_OK;
  kkt_sparse sparse = { .n_nodes = n };
  sparse_start(&sparse.cm);
  cholmod_factor *factor = NULL;
  cholmod_sparse *G = cholmod_allocate_sparse((size_t)n, (size_t)n, (size_t)ptr[n] + 1, 0, 1, 1,
                                              CHOLMOD_PATTERN, &sparse.cm);
  if (G != NULL) {
    int *p = G->p, *index = G->i, nz = 0;
    int *mark = graph->position; /* last column that listed the row */
    for (int i = 0; i < n; i++) mark[i] = -1;
    for (int j = 0; j < n; j++) {
      p[j] = nz;
      for (int k = ptr[j]; k < ptr[j + 1]; k++)
        if (adj[k] < j && mark[adj[k]] != j) {
          mark[adj[k]] = j;
          index[nz++] = adj[k];
        }
    }
    p[n] = nz;
    sparse.cm.method[0].ordering = CHOLMOD_AMD;
    sparse.cm.postorder = 1;
    factor = cholmod_analyze(G, &sparse.cm);
  }
  const perp_status status = factor == NULL ? sparse_external(ctx, name, &sparse) : PERP_OK;
  for (int k = 0; k < n && factor != NULL; k++) graph->position[((int *)factor->Perm)[k]] = k;
  cholmod_free_sparse(&G, &sparse.cm);
  cholmod_free_factor(&factor, &sparse.cm);
  cholmod_finish(&sparse.cm);
  return status;
}

/* The permuted matrix, upper triangle, with unit diagonal for the first factorization. */
static perp_status sparse_build(perp_ctx *ctx, const char *name, kkt_sparse *sparse,
                                const int *size)
{
  int n = sparse->n_nodes;
  int64_t nz = 0;
  for (int g = 0; g < n; g++)
    nz += (int64_t)size[g] * sparse->first_row[g] + (int64_t)size[g] * (size[g] + 1) / 2;
  if (nz > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: the matrix has too many nonzeros: %lld", name,
                     (long long)nz);
  sparse->A = cholmod_allocate_sparse((size_t)sparse->n, (size_t)sparse->n, (size_t)nz + 1, 1, 1, 1,
                                      CHOLMOD_REAL, &sparse->cm);
  if (sparse->A == NULL) return sparse_external(ctx, name, sparse);
  int *p = sparse->A->p, *index = sparse->A->i,
      *node = p; /* node at a position: p is free until the end */
  double *x = sparse->A->x;
  for (int g = 0; g < n; g++) node[sparse->position[g]] = g;
  for (int k = 0, row = 0; k < n; k++) {
    sparse->row[node[k]] = row;
    row += size[node[k]];
  }
  /* p is overwritten from the end; node k sits at or before the columns of node k + 1 */
  int64_t at = nz;
  p[sparse->n] = (int)nz;
  for (int k = n - 1; k >= 0; k--) {
    int g = node[k];
    for (int c = size[g] - 1; c >= 0; c--) {
      at -= sparse->first_row[g] + c + 1;
      p[sparse->row[g] + c] = (int)at;
      int out = (int)at;
      for (int j = sparse->above_ptr[g]; j < sparse->above_ptr[g + 1]; j++)
        for (int i = 0; i < size[sparse->above[j]]; i++, out++) {
          index[out] = sparse->row[sparse->above[j]] + i;
          x[out] = 0;
        }
      for (int i = 0; i <= c; i++, out++) {
        index[out] = sparse->row[g] + i;
        x[out] = i == c;
      }
    }
  }
  sparse->cm.method[0].ordering = CHOLMOD_NATURAL;
  sparse->cm.postorder = 0;
  sparse->L = cholmod_analyze(sparse->A, &sparse->cm);
  if (sparse->L == NULL) return sparse_external(ctx, name, sparse);
  sparse->cost_factor = sparse->cm.fl / 2;
  sparse->cost_solve = 2 * sparse->cm.lnz;
  /* twice: the first makes the factor, the second whatever is still missing */
  if (!perp_kkt_sparse_factor(sparse) || !perp_kkt_sparse_factor(sparse))
    return sparse_external(ctx, name, sparse);
  return PERP_OK;
}

perp_status perp_kkt_sparse_create(perp_ctx *ctx, const char *name, const kkt_graph *graph,
                                   kkt_sparse *sparse)
{
  sparse_start(&sparse->cm);
  for (int node = 0; node < sparse->n_nodes; node++) sparse->n += graph->size[node];
  if (sparse->n == 0) return PERP_OK;
  memcpy(sparse->position, graph->position, (size_t)sparse->n_nodes * sizeof *sparse->position);
  /* The earlier neighbours of every node, by position. */
  int n = 0;
  for (int node = 0; node < sparse->n_nodes; node++) {
    const int first = sparse->above_ptr[node] = n;
    for (int k = graph->ptr[node]; k < graph->ptr[node + 1]; k++) {
      int h = graph->adj[k], at = n;
      if (sparse->position[h] >= sparse->position[node]) continue;
      while (at > first && sparse->position[sparse->above[at - 1]] > sparse->position[h]) at--;
      if (at > first && sparse->above[at - 1] == h) continue;
      memmove(sparse->above + at + 1, sparse->above + at, sizeof *sparse->above * (size_t)(n - at));
      sparse->above[at] = h;
      n++;
    }
    int rows = 0;
    for (int k = first; k < n; k++) {
      sparse->above_row[k] = rows;
      rows += graph->size[sparse->above[k]];
    }
    sparse->first_row[node] = rows;
  }
  sparse->above_ptr[sparse->n_nodes] = n;
  return sparse_build(ctx, name, sparse, graph->size);
}

kkt_place perp_kkt_sparse_locate(const void *sparse, int g, int h)
{
  const kkt_sparse *s = sparse;
  const int *p = s->A->p;
  bool transposed = s->position[h] < s->position[g];
  int row = transposed ? h : g, column = transposed ? g : h;
  kkt_place place = { .ld = s->first_row[column], .grow = 1, .transposed = transposed };
  place.start = p[s->row[column]] + s->first_row[column];
  if (row == column) return place;
  int lo = s->above_ptr[column], hi = s->above_ptr[column + 1];
  while (hi - lo > 1) {
    int mid = (lo + hi) / 2;
    if (s->position[s->above[mid]] <= s->position[row])
      lo = mid;
    else
      hi = mid;
  }
  place.start = p[s->row[column]] + s->above_row[lo];
  return place;
}

void perp_kkt_sparse_clear(kkt_sparse *sparse)
{
  if (sparse->n > 0)
    memset(sparse->A->x, 0, sizeof(double) * (size_t)((int *)sparse->A->p)[sparse->n]);
}

bool perp_kkt_sparse_factor(kkt_sparse *sparse)
{
  return cholmod_factorize(sparse->A, sparse->L, &sparse->cm) && sparse->cm.status == CHOLMOD_OK &&
         sparse->L->minor == sparse->L->n;
}

void perp_kkt_sparse_solve(const kkt_sparse *sparse, double *x)
{
  if (sparse->n == 0) return;
  const int *p = sparse->L->p, *nz = sparse->L->nz, *index = sparse->L->i;
  const double *L = sparse->L->x;
  for (int j = 0; j < sparse->n; j++)
    for (int k = p[j] + 1; k < p[j] + nz[j]; k++) x[index[k]] -= L[k] * x[j];
  for (int j = sparse->n - 1; j >= 0; j--) {
    double sum = x[j] / L[p[j]];
    for (int k = p[j] + 1; k < p[j] + nz[j]; k++) sum -= L[k] * x[index[k]];
    x[j] = sum;
  }
}
