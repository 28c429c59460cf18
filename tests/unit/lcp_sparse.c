/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse problems: what is read stays as sparse as it comes, and is the problem that a dense reader
 * would have made; global friction problems of bodies stay factored. */
#include "solvers/lcp/io/io.h"
#include "solvers/solvers.h"
#include "tests/tap.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static double any_number(unsigned *state)
{
  *state = *state * 1664525u + 1013904223u;
  return (double)(*state >> 8) / (1 << 24) * 2 - 1;
}

static void read_text(const char *text, perp_lcp_problem *p)
{
  if (perp_lcp_read_memory(&ctx, "f", text, strlen(text), p) != PERP_OK) bail("%s", ctx.msg);
}

static double furthest(int n, const double *x, const double *y)
{
  double most = 0;
  for (int i = 0; i < n; i++) most = fmax(most, fabs(x[i] - y[i]));
  return most;
}

/* A stack of cubes, formed, written and read back sparse. */
static void stack_of(const char *family, int n, perp_lcp_problem *dense, perp_lcp_problem *sparse)
{
  perp_lcp_recipe r = { .family = family, .n = n, .seed = 3 };
  char *text;
  size_t size;
  if (perp_lcp_generate(&ctx, &r, dense) != PERP_OK) bail("%s", ctx.msg);
  FILE *f = open_memstream(&text, &size);
  if (perp_lcp_write(&ctx, dense, f) != PERP_OK) bail("%s", ctx.msg);
  fclose(f);
  read_text(text, sparse);
  free(text);
}

/* Everything that the judge and the methods ask of A, sparse and dense. */
static void check_same(void)
{
  perp_lcp_problem d, s, formed;
  stack_of("wall-rough-cone", 828, &d, &s);
  const int n = d.p.n;
  ok(d.p.A != NULL && s.p.A == NULL && s.p.C != NULL && s.p.C->start[n] < n * n / 8,
     "a wall of %d rows written with all its numbers is read sparse: %d numbers", n,
     s.p.C != NULL ? s.p.C->start[n] : 0);
  if (perp_lcp_problem_form(&ctx, &s, &formed) != PERP_OK) bail("%s", ctx.msg);
  ok(memcmp(formed.p.A, d.p.A, (size_t)n * (size_t)n * sizeof *d.p.A) == 0,
     "and is the same matrix to the bit");
  double *x = calloc(3 * (size_t)n + PERP_LCP_SCRATCH(n, 0), sizeof *x), *y = x + n, *z = y + n,
         *scratch = z + n;
  unsigned state = 7;
  for (int i = 0; i < n; i++) x[i] = any_number(&state);
  perp_lcp_product(&d.p, x, y, scratch);
  perp_lcp_product(&s.p, x, z, scratch);
  ok(furthest(n, y, z) == 0, "the product is the same");
  perp_lcp_scales(&d.p, y, scratch);
  perp_lcp_scales(&s.p, z, scratch);
  ok(furthest(n, y, z) == 0, "the row scales are the same");
  perp_lcp_judgement g, h;
  perp_lcp_judge(&d.p, x, y, scratch, &g);
  perp_lcp_judge(&s.p, x, z, scratch, &h);
  ok(furthest(n, y, z) == 0 && g.rel == h.rel && g.data == h.data &&
         g.componentwise == h.componentwise && g.siconos == h.siconos,
     "the judge says the same to the bit: rel %g", g.rel);
  ok(perp_lcp_asymmetry(&d.p) == perp_lcp_asymmetry(&s.p), "so is the asymmetry");
  ((double *)(uintptr_t)s.p.C->value)[1] += 0.5; /* one number by columns, its partner not */
  ok(perp_lcp_asymmetry(&s.p) > 0.01, "which is seen where one number differs");
  free(x);
  perp_lcp_problem_free(&formed);
  perp_lcp_problem_free(&d);
  perp_lcp_problem_free(&s);
}

/* Methods that take a sparse A solve it as the dense problem; memory: the bound, 0: none. */
static void check_family(const char *family, const char *const *names, double memory)
{
  perp_lcp_problem d, s;
  stack_of(family, 240, &d, &s);
  ok(s.p.C != NULL, "%s: 240 rows are read sparse", family);
  const size_t n = (size_t)s.p.n;
  double *x = calloc(2 * n, sizeof *x), *w = x + n;
  double *scratch = calloc(PERP_LCP_SCRATCH(n, 0), sizeof *scratch);
  for (int k = 0; names[k] != NULL; k++) {
    perp_spec spec;
    perp_lcp_solver *solver;
    perp_stats stats;
    perp_lcp_judgement g;
    memset(x, 0, n * sizeof *x);
    ctx.memory = memory;
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, names[k], &spec) != PERP_OK) bail("%s", ctx.msg);
    if (perp_lcp_create(&ctx, &spec, s.p.n, 0, &solver) != PERP_OK) bail("%s", ctx.msg);
    if (perp_lcp_solve(&ctx, solver, &s.p, 1e-8, x, w, &g, &stats) != PERP_OK) bail("%s", ctx.msg);
    ctx.memory = 0;
    perp_lcp_judge(&d.p, x, NULL, scratch, &g);
    ok(stats.reason == PERP_CONVERGED && g.rel <= 1e-8,
       "%s solves it: %s, %.2g on the dense problem", names[k], perp_reason_name(stats.reason),
       g.rel);
    perp_lcp_destroy(solver);
    perp_spec_free(&spec);
  }
  free(scratch);
  free(x);
  perp_lcp_problem_free(&d);
  perp_lcp_problem_free(&s);
}

static void check_methods(void)
{
  static const char *const cones[] = { "prox", "admm", "apgd", "block-gs", "auto", NULL };
  static const char *const newton[] = { "minmap-newton", "fischer-newton", "interior-point", NULL };
  check_family("stack-cone", cones, 0);
  /* a dense A would take more than the bound */
  check_family("stack-cfm", newton, 1e5);
  check_family("stack-box", newton, 1e5);
  perp_lcp_problem d, s;
  /* no cones, no friction: for a pivoting method A is formed */
  stack_of("stack-cfm", 240, &d, &s);
  ok(s.p.C != NULL, "a frictionless stack of 240 rows is read sparse");
  perp_spec spec;
  perp_lcp_solver *solver;
  perp_stats stats;
  double *y = calloc((size_t)s.p.n, sizeof *y);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, "dantzig", &spec) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_create(&ctx, &spec, s.p.n, 0, &solver) != PERP_OK) bail("%s", ctx.msg);
  if (perp_lcp_solve(&ctx, solver, &s.p, 1e-10, y, NULL, NULL, &stats) != PERP_OK)
    bail("%s", ctx.msg);
  ok(stats.reason == PERP_CONVERGED, "dantzig is given a dense one: %s",
     perp_reason_name(stats.reason));
  ctx.memory = 1e5;
  perp_lcp_destroy(solver);
  if (perp_lcp_create(&ctx, &spec, s.p.n, 0, &solver) != PERP_OK) bail("%s", ctx.msg);
  ok(perp_lcp_solve(&ctx, solver, &s.p, 1e-10, y, NULL, NULL, &stats) == PERP_ERR_UNSUPPORTED &&
         strstr(ctx.msg, "dantzig needs a dense A") != NULL,
     "unless that takes more than the bound: %s", ctx.msg);
  ctx.memory = 0;
  perp_lcp_destroy(solver);
  perp_spec_free(&spec);
  free(y);
  perp_lcp_problem_free(&d);
  perp_lcp_problem_free(&s);
}

/* ---- files ---- */

/* tridiag(-1, 4, -1) of n rows in a format. */
static char *tridiagonal(const char *format, int n)
{
  char *text;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  const bool mtx = strcmp(format, "mtx") == 0, own = strcmp(format, "lcp") == 0;
  const int entries = 3 * n - 2, one = mtx ? 1 : 0;
  if (mtx)
    fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, n + 1,
            entries + n);
  else if (own)
    fprintf(f, "perp-lcp 1\nn %d\nA coordinate %d\n", n, entries);
  else
    fprintf(f, "%d\n2\n%d\n%d\n1\nCSparse Version 3.1\ntriplet: %d-by-%d, nzmax: %d nnz: %d\n", n,
            n, n, n, n, entries, entries);
  for (int i = 0; i < n; i++)
    for (int j = i - 1; j <= i + 1; j++)
      if (j >= 0 && j < n)
        fprintf(f, "%d %d %s%d\n", i + one, j + one, mtx || own ? "" : ": ", i == j ? 4 : -1);
  if (own) fprintf(f, "b\n");
  for (int i = 0; i < n; i++)
    if (mtx)
      fprintf(f, "%d %d -1\n", i + 1, n + 1);
    else
      fprintf(f, "-1\n");
  if (own) fprintf(f, "end\n");
  fclose(f);
  return text;
}

static void check_formats(void)
{
  static const char *const formats[] = { "mtx", "lcp", "dat" };
  enum { ROWS = 200000 }; /* dense: 320 GB */
  for (int k = 0; k < 3; k++) {
    perp_lcp_problem p;
    char *text = tridiagonal(formats[k], ROWS);
    read_text(text, &p);
    free(text);
    ok(p.p.C != NULL && p.p.C->start[ROWS] == 3 * ROWS - 2 && perp_columns_at(p.p.C, 7, 6) == -1 &&
           perp_columns_at(p.p.C, 7, 7) == 4 && perp_columns_at(p.p.C, 7, 9) == 0 &&
           p.p.b[ROWS - 1] == -1,
       "%s: %d rows are read by their numbers alone", formats[k], ROWS);
    perp_lcp_problem_free(&p);
    text = tridiagonal(formats[k], 40);
    read_text(text, &p);
    free(text);
    ok(p.p.A != NULL && p.p.A[40] == -1, "%s: few rows are dense", formats[k]);
    perp_lcp_problem_free(&p);
  }
  /* written and read again */
  perp_lcp_problem p, q;
  char *text = tridiagonal("mtx", 300), *again;
  size_t size;
  read_text(text, &p);
  free(text);
  for (int own = 0; own < 2; own++) {
    FILE *f = open_memstream(&again, &size);
    if ((own ? perp_lcp_write : perp_lcp_write_mtx)(&ctx, &p, f) != PERP_OK) bail("%s", ctx.msg);
    fclose(f);
    read_text(again, &q);
    free(again);
    const size_t numbers = (size_t)p.p.C->start[300];
    ok(q.p.C != NULL && q.p.C->start[300] == (int)numbers &&
           memcmp(p.p.C->value, q.p.C->value, numbers * sizeof(double)) == 0 &&
           memcmp(p.p.C->row, q.p.C->row, numbers * sizeof(int)) == 0,
       "%s: a sparse problem is written sparse and reads back", own ? "lcp" : "mtx");
    perp_lcp_problem_free(&q);
  }
  perp_lcp_problem_free(&p);
  const char twice[] = "perp-lcp 1\nn 2\nA coordinate 3\n0 0 1\n1 1 1\n0 0 2\nb\n1\n1\nend\n";
  ok(perp_lcp_read_memory(&ctx, "f", twice, sizeof twice - 1, &q) == PERP_ERR_FORMAT &&
         strstr(ctx.msg, "f:6: A[0, 0] is specified twice") != NULL,
     "an entry that is specified twice is found: %s", ctx.msg);
}

/* ---- global problems ---- */

enum {
  BODIES = 60,
  WIDTH = 3,
  DOF = BODIES * WIDTH,
  CONTACTS = BODIES - 20,
  DIM = 2,
  ROWS = CONTACTS * DIM
};
typedef struct global {
  double M[DOF * DOF], H[DOF * ROWS], f[DOF], b[ROWS];
} global;

static void write_matrix(FILE *f, int rows, int columns, const double *a)
{
  int entries = 0;
  for (int k = 0; k < rows * columns; k++) entries += a[k] != 0;
  fprintf(f, "2\n%d\n%d\n1\nCSparse Version 3.1\ntriplet: %d-by-%d, nzmax: %d nnz: %d\n", rows,
          columns, rows, columns, entries, entries);
  for (int k = 0; k < rows * columns; k++)
    if (a[k] != 0) fprintf(f, "%d %d : %.17g\n", k % rows, k / rows, a[k]);
}

/* Contact c is between bodies c and c + 1; 19 bodies are not touched.  link: the stiffness between
 * neighbours. */
static void make_global(global *g, double link, double skew, perp_lcp_problem *p)
{
  unsigned state = 11;
  memset(g, 0, sizeof *g);
  for (int i = 0; i < BODIES; i++)
    for (int k = 0; k < WIDTH; k++)
      for (int l = 0; l <= k; l++) {
        const int row = WIDTH * i + k, column = WIDTH * i + l;
        const double v = k == l ? 2 + any_number(&state) : 0.2 * any_number(&state);
        g->M[row + column * DOF] = g->M[column + row * DOF] = v;
      }
  for (int i = 0; i + WIDTH < DOF; i++) {
    g->M[i + (i + WIDTH) * DOF] = -link;
    g->M[i + WIDTH + i * DOF] = -link - skew;
  }
  for (int c = 0; c < CONTACTS; c++)
    for (int r = 0; r < DIM; r++)
      for (int k = 0; k < 2 * WIDTH; k++)
        g->H[WIDTH * c + k + (DIM * c + r) * DOF] = any_number(&state);
  for (int i = 0; i < DOF; i++) g->f[i] = any_number(&state);
  for (int i = 0; i < ROWS; i++) g->b[i] = any_number(&state);
  char *text;
  size_t size;
  FILE *f = open_memstream(&text, &size);
  fprintf(f, "%d\n%d\n", DIM, CONTACTS);
  write_matrix(f, DOF, DOF, g->M);
  write_matrix(f, DOF, ROWS, g->H);
  for (int i = 0; i < DOF; i++) fprintf(f, "%.17g\n", g->f[i]);
  for (int i = 0; i < ROWS; i++) fprintf(f, "%.17g\n", g->b[i]);
  for (int c = 0; c < CONTACTS; c++) fprintf(f, "0.5\n");
  fclose(f);
  read_text(text, p);
  free(text);
}

/* x = M^-1 x by elimination */
static void eliminate(const double *M, double *x)
{
  static double K[DOF * DOF];
  memcpy(K, M, sizeof K);
  for (int j = 0; j < DOF; j++)
    for (int i = j + 1; i < DOF; i++) {
      const double l = K[i + j * DOF] / K[j + j * DOF];
      for (int k = j; k < DOF && l != 0; k++) K[i + k * DOF] -= l * K[j + k * DOF];
      x[i] -= l * x[j];
    }
  for (int i = DOF - 1; i >= 0; i--) {
    for (int k = i + 1; k < DOF; k++) x[i] -= K[i + k * DOF] * x[k];
    x[i] /= K[i + i * DOF];
  }
}

/* How far W and q of p are from H'M^-1 H and b + H'M^-1 f. */
static double off(const global *g, const perp_lcp_problem *p)
{
  perp_lcp_problem d;
  double x[DOF], most = 0;
  if (perp_lcp_problem_form(&ctx, p, &d) != PERP_OK) bail("%s", ctx.msg);
  for (int j = 0; j <= ROWS; j++) {
    memcpy(x, j < ROWS ? g->H + (size_t)j * DOF : g->f, sizeof x);
    eliminate(g->M, x);
    for (int i = 0; i < ROWS; i++) {
      double sum = j < ROWS ? 0 : g->b[i];
      for (int k = 0; k < DOF; k++) sum += g->H[k + i * DOF] * x[k];
      most = fmax(most, fabs(sum - (j < ROWS ? d.p.A[i + j * ROWS] : d.p.b[i])));
    }
  }
  perp_lcp_problem_free(&d);
  return most;
}

static void check_global(void)
{
  static global g;
  perp_lcp_problem p;
  make_global(&g, 0, 0, &p);
  ok(p.p.F != NULL && p.p.F->nb == CONTACTS + 1 && p.p.F->nv == WIDTH * (CONTACTS + 1),
     "a global problem of %d bodies stays factored, without those that nothing touches", BODIES);
  ok(off(&g, &p) < 1e-12, "W and q are right: %.2g", off(&g, &p));
  perp_lcp_problem_free(&p);
  make_global(&g, 0.3, 0, &p);
  ok(p.p.F == NULL && off(&g, &p) < 1e-12,
     "bodies that are linked: W by sparse Cholesky, off by %.2g", off(&g, &p));
  perp_lcp_problem_free(&p);
  make_global(&g, 0.3, 0.1, &p);
  ok(p.p.F == NULL && off(&g, &p) < 1e-12, "and M that is not symmetric, by LU: %.2g", off(&g, &p));
  perp_lcp_problem_free(&p);
  make_global(&g, 6, 0, &p);
  ok(p.p.F == NULL && off(&g, &p) < 1e-10, "and M that is not definite: %.2g", off(&g, &p));
  perp_lcp_problem_free(&p);
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) bail("%s", ctx.msg);
  check_same();
  check_methods();
  check_formats();
  check_global();
  return tap_done();
}
