/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Systems on a graph: the Jacobian by differences against the exact one, real and complex factors
 * against the product with the solution, in bands (chain), sparse (binary tree, grid) and full (one
 * node).  And the graph of a model: an implicit step over stiff forces between bodies. */
#include "solvers/linalg/local.h"
#include "tests/run_model.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>

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

/* ---- the graph of a model ---- */

/* each but the first, which may be the world, to its predecessor; and the last to the first */
static void cords(const void *opts, int dim, int n, const perp_body_state *body, double t,
                  double *f)
{
  (void)opts, (void)t;
  for (int i = 0; i < n; i++)
    for (int k = 0; k < dim; k++) {
      const double pull = 4e5 * (body[(i + 1) % n].x[k] - body[i].x[k] - 0.01 * (k + i));
      f[6 * i + k] += pull;
      f[6 * ((i + 1) % n) + k] -= pull;
    }
}

/* a pull of a world that ends at x = 0 */
static void edge(const void *opts, int dim, int n, const perp_body_state *body, double t, double *f)
{
  (void)opts, (void)dim, (void)t;
  for (int i = 0; i < n; i++) f[6 * i] -= 4 * 4 * body[i].mass * sqrt(body[i].x[0]);
}

static perp_model *free_bodies(int n, const perp_force_def *force)
{
  perp_model *m = run_model(&ctx, 2);
  perp_model_gravity(m, 0);
  for (int i = 0; i < n; i++)
    run_body(&ctx, m,
             (perp_body_def){ .mass = { 1 + i, { [8] = 1 } },
                              .x = { 1 + 0.1 * i, 0.2 * (i % 2) },
                              .v = { 0.3 * (i % 2) } });
  if (perp_model_add_force(&ctx, m, force) != PERP_OK) bail("%s", ctx.msg);
  return run_finish(&ctx, m);
}

/* A step of ggl is one of the implicit midpoint rule, M (v1 - v0) = h f((q0 + q1) / 2), found in a
 * few corrections. */
static void implicit_step(const char *name, perp_model *m, double h)
{
  const int nv = perp_model_nv(m);
  const double *q0 = perp_model_q0(m), *v0 = perp_model_v0(m), *q, *v;
  double middle[9], f[9], off = 0, size = 0, t;
  perp_step_info info;
  perp_ode_counters count;
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "ggl" }, h);
  if (perp_sim_step(&ctx, sim, h, &info) != PERP_OK) bail("%s", ctx.msg);
  perp_sim_counters(sim, &count, NULL);
  perp_sim_state(sim, &t, &q, &v);
  for (int i = 0; i < nv; i++) middle[i] = (q0[i] + q[i]) / 2;
  perp_model_forces(m, h / 2, middle, v0, f);
  for (int i = 0; i < nv; i++) {
    off = fmax(off, fabs(v[i] - v0[i] - h * f[i] / (i % 3 < 2 ? 1 + i / 3 : 1)));
    off = fmax(off, fabs(q[i] - q0[i] - h * (v[i] + v0[i]) / 2));
    size = fmax(size, fabs(v[i]));
  }
  ok(info.reason > 0 && size > 0.1 && off < 1e-8 * size && count.iterations <= 12,
     "%s: a step solves its equations to %.2g of %.2g m/s in %d corrections", name, off, size,
     (int)count.iterations);
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

/* A motor between two bodies, a row of its own or with damping a stiff force: ten steps of few
 * corrections; the row has its speed. */
static void motor_between(double damping)
{
  perp_model *m = run_model(&ctx, 2);
  perp_ode_counters count;
  const double *q, *v;
  double t;
  const perp_force_def pull = { .kind = PERP_FORCE_SPRING,
                                .a = PERP_WORLD,
                                .b = 0,
                                .anchor_a = { -9 },
                                .stiffness = 50,
                                .length = 8 };
  for (int i = 0; i < 2; i++)
    run_body(&ctx, m, (perp_body_def){ .mass = { 1, { [8] = 1 } }, .x = { i - 0.5 } });
  perp_model_gravity(m, 0);
  run_force(&ctx, m, pull);
  run_joint(&ctx, m,
            (perp_joint_def){ .kind = PERP_JOINT_SLIDER,
                              .a = 0,
                              .b = 1,
                              .anchor_a = { 0.5 },
                              .anchor_b = { -0.5 },
                              .axis_a = { 1 },
                              .axis_b = { 1 } });
  run_drive(&ctx, m,
            (perp_drive_def){ .lower = -HUGE_VAL,
                              .upper = HUGE_VAL,
                              .velocity = 2,
                              .damping = damping,
                              .max_force = damping > 0 ? 1e9 : HUGE_VAL });
  run_finish(&ctx, m);
  perp_sim *sim = run_start(&ctx, m, (run_parts){ "generalized-alpha" }, 0.1);
  const perp_reason reason = run_to(&ctx, sim, 1);
  perp_sim_counters(sim, &count, NULL);
  perp_sim_state(sim, &t, &q, &v);
  ok(reason > 0 && count.iterations <= 60 && (damping > 0 || fabs(v[3] - v[0] - 2) < 1e-9),
     "a motor between bodies, damping %g: %.3g m/s in %d corrections (%s)", damping, v[3] - v[0],
     (int)count.iterations, perp_reason_name(reason));
  perp_sim_destroy(sim);
  perp_model_destroy(m);
}

static void forces_of_models(void)
{
  enum { CAPS = PERP_FORCE_IN_PLANE | PERP_FORCE_IN_SPACE | PERP_FORCE_AT_CENTRES };
  static const perp_force_desc cord = { .d = { .name = "cords", .caps = CAPS },
                                        .bodies_min = 2,
                                        .bodies_max = 4,
                                        .force = cords },
                               end = { .d = { .name = "edge", .caps = CAPS },
                                       .bodies_min = 1,
                                       .bodies_max = 1,
                                       .force = edge };
  const perp_force_def spring = { .kind = PERP_FORCE_SPRING,
                                  .a = 0,
                                  .b = 1,
                                  .stiffness = 4e5,
                                  .length = 0.2 },
                       pairs = { .kind = PERP_FORCE_PAIRS,
                                 .a = 0,
                                 .b = 2,
                                 .law = PERP_LAW_REPULSION,
                                 .strength = 1e3,
                                 .length = 0.2 };
  const int some[] = { PERP_WORLD, 0, 2, 1 };
  perp_force_def def;
  implicit_step("a spring", free_bodies(2, &spring), 0.1);
  implicit_step("pairs", free_bodies(3, &pairs), 0.1);
  for (int n = 2; n <= 4; n++) { /* 0, 2;  0, 2, 1;  all */
    if (perp_force_define(&ctx, &cord, NULL, n, some + (n < 4), &def) != PERP_OK)
      bail("%s", ctx.msg);
    implicit_step(n < 4 ? "a plug-in" : "a plug-in with the world", free_bodies(3, &def), 0.1);
  }
  /* the first correction leaves where there is a force: x = 1 - 4 sqrt(x) from 1 gives -1/3 */
  if (perp_force_define(&ctx, &end, NULL, 1, some + 1, &def) != PERP_OK) bail("%s", ctx.msg);
  perp_model *m = free_bodies(1, &def);
  implicit_step("where forces end", m, 1);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK) bail("%s", ctx.msg);
  forces_of_models();
  motor_between(0);
  motor_between(20);
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
