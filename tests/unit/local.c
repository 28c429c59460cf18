/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Systems on a graph: the Jacobian by differences against the exact one, real and complex factors
 * against the product with the solution, in bands (chain), sparse (binary tree, grid) and full (one
 * node). */
#include "solvers/linalg/local.h"
#include "tests/tap.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static double _Complex complex_of(double re, double im)
{
  double _Complex z = 0;
  double *pair = (double *)&z;
  pair[0] = re;
  pair[1] = im;
  return z;
}

typedef struct graph {
  int nodes, edges, size[400], edge[2 * 800];
} graph;

/* F_i = c_i x_i + sin of the sum of the unknowns around, times a weight: any two neighbours read
 * each other */
typedef struct problem {
  const graph *g;
  const perp_local *s;
  double diagonal;
} problem;

static double weight(int i, int j)
{
  return sin(1.0 + 3 * i + 7 * j);
}

static bool reads(const perp_local *s, int i, int j)
{
  for (int k = s->ptr[s->node[i]]; k < s->ptr[s->node[i] + 1]; k++)
    if (s->near[k] == s->node[j]) return true;
  return false;
}

static bool equations(void *user, const double *x, double *r)
{
  const problem *p = user;
  const perp_local *s = p->s;
  for (int i = 0; i < s->n; i++) {
    r[i] = p->diagonal * x[i];
    for (int k = s->ptr[s->node[i]]; k < s->ptr[s->node[i] + 1]; k++)
      for (int u = 0; u < s->size[s->near[k]]; u++) {
        const int j = s->first[s->near[k]] + u;
        r[i] += weight(i, j) * sin(x[j]);
      }
  }
  return true;
}

static void check(const char *name, const graph *g, bool sparse)
{
  perp_local s;
  perp_local_lu real, pair;
  if (perp_local_create(&ctx, g->nodes, g->size, g->edges, g->edge, &s) != PERP_OK ||
      perp_local_lu_create(&ctx, &s, false, &real) != PERP_OK ||
      perp_local_lu_create(&ctx, &s, true, &pair) != PERP_OK)
    bail("%s", ctx.msg);
  const int n = s.n;
  ok(s.sparse == sparse, "%s: %d unknowns, width %d, %d colours, %s", name, n, s.width, s.colors,
     s.sparse ? "sparse" : "band");
  double *A = calloc(perp_local_length(&s), sizeof *A),
         *as = calloc(perp_local_length(&s), sizeof *A), *x = calloc((size_t)n, sizeof *x),
         *r = calloc((size_t)n, sizeof *r), *step = calloc((size_t)n, sizeof *step),
         *b = calloc((size_t)n, sizeof *b);
  double _Complex *E = calloc(perp_local_length(&s), sizeof *E), *z = calloc((size_t)n, sizeof *z),
                  *scratch = calloc((size_t)n, sizeof *z);
  /* twice: the second factors have the pivots of the first */
  for (int pass = 0; pass < 3; pass++) {
    problem p = { g, &s, pass == 2 ? 1e-3 : 0.5 + pass };
    int64_t count = 0;
    for (int i = 0; i < n; i++) x[i] = cos(5.0 * i + pass), step[i] = 1e-7;
    equations(&p, x, r);
    ok(perp_local_jacobian(&s, equations, &p, x, r, step, A, &count), "%s: Jacobian", name);
    ok(count <= (int64_t)s.colors * s.most, "  of %d evaluations", (int)count);
    double worst = 0;
    for (int j = 0; j < n; j++)
      for (int i = 0; i < n; i++)
        if (reads(&s, i, j)) {
          const double exact = weight(i, j) * cos(x[j]) + (i == j ? p.diagonal : 0);
          worst = fmax(worst, fabs(A[perp_local_place(&s, i, j)] - exact));
        }
    below(worst, 1e-6, "  as it is");
    /* b = A y, E = A + i, c = E (1 + i) y; y known */
    for (size_t k = 0; k < perp_local_length(&s); k++) E[k] = A[k];
    for (int i = 0; i < n; i++) {
      b[i] = 0;
      for (int j = 0; j < n; j++)
        if (reads(&s, i, j)) b[i] += A[perp_local_place(&s, i, j)] * (1 + j % 3);
      z[i] = complex_of(1, 1) * (b[i] + complex_of(0, 1) * (1 + i % 3));
      E[perp_local_place(&s, i, i)] += complex_of(0, 1);
    }
    memcpy(as, A, perp_local_length(&s) * sizeof *A);
    memcpy(r, b, (size_t)n * sizeof *b);
    ok(perp_local_factor(&s, A, &real) && perp_local_factor_complex(&s, E, &pair), "  factors");
    perp_local_solve(&s, A, &real, b);
    perp_local_solve_complex(&s, E, &pair, z, scratch);
    double off = 0, off_pair = 0;
    for (int i = 0; i < n; i++) {
      double sum = 0, size = fabs(r[i]); /* the residual: some of these are close to singular */
      for (int j = 0; j < n; j++)
        if (reads(&s, i, j)) {
          sum += as[perp_local_place(&s, i, j)] * b[j];
          size += fabs(as[perp_local_place(&s, i, j)] * b[j]);
        }
      off = fmax(off, fabs(sum - r[i]) / size);
      off_pair = fmax(off_pair, cabs(z[i] - complex_of(1, 1) * (1 + i % 3)));
    }
    below(off, 1e-11, "  solution: residual %.2g", off);
    below(off_pair, 1e-8, "  complex, %.2g", off_pair);
  }
  memset(A, 0, perp_local_length(&s) * sizeof *A);
  ok(!perp_local_factor(&s, A, &real), "  zero is singular");
  A[0] = (double)NAN;
  ok(!perp_local_factor(&s, A, &real), "  NaN is refused");
  perp_local_lu_destroy(&s, &real);
  perp_local_lu_destroy(&s, &pair);
  perp_local_destroy(&s);
  free(A), free(as), free(x), free(r), free(step), free(b), free(E), free(z), free(scratch);
}

static void join(graph *g, int a, int b)
{
  g->edge[2 * g->edges] = a;
  g->edge[2 * g->edges++ + 1] = b;
}

int main(void)
{
  perp_ctx_init(&ctx);
  static graph g;
  g = (graph){ .nodes = 1, .size = { 9 } };
  check("one node", &g, false);
  g = (graph){ .nodes = 60 };
  for (int i = 0; i < 60; i++) g.size[i] = 2 + i % 4;
  for (int i = 0; i < 60; i++) /* in an order that says nothing; a closed chain */
    join(&g, (17 * i) % 60, (17 * i + 17) % 60);
  check("ring", &g, false);
  g = (graph){ .nodes = 255 };
  for (int i = 0; i < 255; i++) g.size[i] = 5;
  for (int i = 1; i < 255; i++) join(&g, i, (i - 1) / 2);
  check("binary tree", &g, true);
  g = (graph){ .nodes = 400 };
  for (int i = 0; i < 400; i++) g.size[i] = 4;
  for (int i = 0; i < 400; i++) {
    if (i % 20 < 19) join(&g, i, i + 1);
    if (i < 380) join(&g, i + 20, i);
  }
  check("grid", &g, true);
  g = (graph){ .nodes = 5, .size = { 1, 2, 3, 4, 5 } }; /* in pieces */
  join(&g, 0, 4);
  check("pieces", &g, false);
  return tap_done();
}
