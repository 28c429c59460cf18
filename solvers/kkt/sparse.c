/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solvers/kkt/sparse.h"

_Static_assert(sizeof(SuiteSparse_long) >= sizeof(int), "CHOLMOD with int indices");

void perp_kkt_sparse_layout(kkt_sparse *s, perp_arena *a)
{
  PERP_INTS(a, s->n_nodes, &s->position, &s->row, &s->first_row);
  s->above_ptr = PERP_CARVE(a, int, s->n_nodes + 1);
  PERP_INTS(a, s->n_above, &s->above, &s->above_row);
}

void perp_kkt_sparse_free(kkt_sparse *s)
{
  cholmod_free_factor(&s->L, &s->cm);
  cholmod_free_sparse(&s->A, &s->cm);
  cholmod_finish(&s->cm);
}

static perp_status sparse_external(perp_ctx *ctx, const char *name, const kkt_sparse *s)
{
  if (s->cm.status == CHOLMOD_OUT_OF_MEMORY)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: no memory for the sparse factor", name);
  if (s->cm.status == CHOLMOD_TOO_LARGE)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM,
                     "%s: the sparse factor has too many nonzeros for its integer type", name);
  return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s: CHOLMOD failed with status %d", name, s->cm.status);
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
  kkt_sparse s = { .n_nodes = n };
  sparse_start(&s.cm);
  cholmod_factor *F = NULL;
  cholmod_sparse *G = cholmod_allocate_sparse((size_t)n, (size_t)n, (size_t)ptr[n] + 1, 0, 1, 1,
                                              CHOLMOD_PATTERN, &s.cm);
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
    s.cm.method[0].ordering = CHOLMOD_AMD;
    s.cm.postorder = 1;
    F = cholmod_analyze(G, &s.cm);
  }
  const perp_status status = F == NULL ? sparse_external(ctx, name, &s) : PERP_OK;
  for (int k = 0; k < n && F != NULL; k++) graph->position[((int *)F->Perm)[k]] = k;
  cholmod_free_sparse(&G, &s.cm);
  cholmod_free_factor(&F, &s.cm);
  cholmod_finish(&s.cm);
  return status;
}

/* The permuted matrix, upper triangle, with unit diagonal for the first factorization. */
static perp_status sparse_build(perp_ctx *ctx, const char *name, kkt_sparse *s, const int *size)
{
  int n = s->n_nodes;
  int64_t nz = 0;
  for (int g = 0; g < n; g++)
    nz += (int64_t)size[g] * s->first_row[g] + (int64_t)size[g] * (size[g] + 1) / 2;
  if (nz > INT32_MAX)
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "%s: the matrix has too many nonzeros: %lld", name,
                     (long long)nz);
  s->A = cholmod_allocate_sparse((size_t)s->n, (size_t)s->n, (size_t)nz + 1, 1, 1, 1, CHOLMOD_REAL,
                                 &s->cm);
  if (s->A == NULL) return sparse_external(ctx, name, s);
  int *p = s->A->p, *index = s->A->i, *node = p; /* node at a position: p is free until the end */
  double *x = s->A->x;
  for (int g = 0; g < n; g++) node[s->position[g]] = g;
  for (int k = 0, row = 0; k < n; k++) {
    s->row[node[k]] = row;
    row += size[node[k]];
  }
  /* p is overwritten from the end; node k sits at or before the columns of node k + 1 */
  int64_t at = nz;
  p[s->n] = (int)nz;
  for (int k = n - 1; k >= 0; k--) {
    int g = node[k];
    for (int c = size[g] - 1; c >= 0; c--) {
      at -= s->first_row[g] + c + 1;
      p[s->row[g] + c] = (int)at;
      int out = (int)at;
      for (int j = s->above_ptr[g]; j < s->above_ptr[g + 1]; j++)
        for (int i = 0; i < size[s->above[j]]; i++, out++) {
          index[out] = s->row[s->above[j]] + i;
          x[out] = 0;
        }
      for (int i = 0; i <= c; i++, out++) {
        index[out] = s->row[g] + i;
        x[out] = i == c;
      }
    }
  }
  s->cm.method[0].ordering = CHOLMOD_NATURAL;
  s->cm.postorder = 0;
  s->L = cholmod_analyze(s->A, &s->cm);
  if (s->L == NULL) return sparse_external(ctx, name, s);
  s->cost_factor = s->cm.fl / 2;
  s->cost_solve = 2 * s->cm.lnz;
  /* twice: the first makes the factor, the second whatever is still missing */
  if (!perp_kkt_sparse_factor(s) || !perp_kkt_sparse_factor(s))
    return sparse_external(ctx, name, s);
  return PERP_OK;
}

perp_status perp_kkt_sparse_create(perp_ctx *ctx, const char *name, const kkt_graph *graph,
                                   kkt_sparse *s)
{
  sparse_start(&s->cm);
  for (int g = 0; g < s->n_nodes; g++) s->n += graph->size[g];
  if (s->n == 0) return PERP_OK;
  memcpy(s->position, graph->position, (size_t)s->n_nodes * sizeof *s->position);
  /* The earlier neighbours of every node, by position. */
  int n = 0;
  for (int g = 0; g < s->n_nodes; g++) {
    const int first = s->above_ptr[g] = n;
    for (int k = graph->ptr[g]; k < graph->ptr[g + 1]; k++) {
      int h = graph->adj[k], at = n;
      if (s->position[h] >= s->position[g]) continue;
      while (at > first && s->position[s->above[at - 1]] > s->position[h]) at--;
      if (at > first && s->above[at - 1] == h) continue;
      memmove(s->above + at + 1, s->above + at, sizeof *s->above * (size_t)(n - at));
      s->above[at] = h;
      n++;
    }
    int rows = 0;
    for (int k = first; k < n; k++) {
      s->above_row[k] = rows;
      rows += graph->size[s->above[k]];
    }
    s->first_row[g] = rows;
  }
  s->above_ptr[s->n_nodes] = n;
  return sparse_build(ctx, name, s, graph->size);
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

void perp_kkt_sparse_clear(kkt_sparse *s)
{
  if (s->n > 0) memset(s->A->x, 0, sizeof(double) * (size_t)((int *)s->A->p)[s->n]);
}

bool perp_kkt_sparse_factor(kkt_sparse *s)
{
  return cholmod_factorize(s->A, s->L, &s->cm) && s->cm.status == CHOLMOD_OK &&
         s->L->minor == s->L->n;
}

void perp_kkt_sparse_solve(const kkt_sparse *s, double *x)
{
  if (s->n == 0) return;
  const int *p = s->L->p, *nz = s->L->nz, *index = s->L->i;
  const double *L = s->L->x;
  for (int j = 0; j < s->n; j++)
    for (int k = p[j] + 1; k < p[j] + nz[j]; k++) x[index[k]] -= L[k] * x[j];
  for (int j = s->n - 1; j >= 0; j--) {
    double sum = x[j] / L[p[j]];
    for (int k = p[j] + 1; k < p[j] + nz[j]; k++) sum -= L[k] * x[index[k]];
    x[j] = sum;
  }
}
