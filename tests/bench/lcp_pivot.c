/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time and accuracy of LCP solvers on generated families.
 *
 *      lcp_pivot                                 the pivoting solvers on their families
 *
 *      lcp_pivot SOLVER FAMILY:N[,N...] ...      one solver
 *
 *      lcp_pivot warm SOLVER FAMILY:N ...        from the solution for another b (1 % of the rows)
 *
 * e.g. lcp_pivot lemke:start=cold stack:256,512.
 *
 * With reuse=true the warm solves follow solves of the problem the guess belongs to, not
 * themselves.
 *
 * Thread CPU time, the least of the repeats: "method" is the solver alone, "judged" perp_lcp_solve
 * with its checks and the judge. */
#include "solvers/lcp/problem.h"
#include "solvers/solvers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

static void die(void)
{
  fprintf(stderr, "lcp_pivot: %s\n", ctx.msg);
  exit(1);
}

struct timing {
  double method, judged;
  perp_stats stats;
};

/* least times of solves of p from `guess` until 0.2 s are used up; before each one `first` is
 * solved, if not NULL, outside of the time */
static struct timing measure(const char *solver, const perp_lcp *p, const double *guess,
                             const perp_lcp *first)
{
  perp_spec spec;
  perp_lcp_solver *s;
  void *ws;
  int n = p->n;
  size_t size = (size_t)n * sizeof(double);
  double *x = malloc(size), *proof = calloc((size_t)n, sizeof *proof), spent = 0;
  if (x == NULL || proof == NULL) exit(1);
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, solver, &spec) != PERP_OK) die();
  const perp_lcp_desc *d = (const perp_lcp_desc *)(const void *)spec.d;
  struct timing t = { HUGE_VAL, HUGE_VAL, { 0 } };
  if (perp_lcp_create(&ctx, &spec, n, 0, &s) != PERP_OK) die();
  if (d->create(&ctx, n, spec.opts, &ws) != PERP_OK) die();
  int batch = 1; /* solves between two looks at the clock, which costs as much as a small solve */
  for (int k = 0; k < 2000 && spent < 0.2; k++) {
    perp_stats before = { 0 };
    if (first != NULL) {
      memset(x, 0, size);
      if (perp_lcp_solve(&ctx, s, first, 1e-10, x, NULL, NULL, &before) != PERP_OK) die();
      memset(x, 0, size);
      before = (perp_stats){ 0 };
      if (d->solve(&ctx, ws, first, x, proof, &before) != PERP_OK) die();
      batch = 1;
    }
    double t0 = perp_clock_thread();
    for (int r = 0; r < batch; r++) {
      memcpy(x, guess, size);
      if (perp_lcp_solve(&ctx, s, p, 1e-10, x, NULL, NULL, &t.stats) != PERP_OK) die();
    }
    double t1 = perp_clock_thread();
    if (t.stats.reason == PERP_UNSUITED) {
      t.method = t.judged = 0;
      break;
    }
    for (int r = 0; r < batch; r++) {
      perp_stats own = { 0 };
      memcpy(x, guess, size);
      if (d->solve(&ctx, ws, p, x, proof, &own) != PERP_OK) die();
    }
    double t2 = perp_clock_thread();
    t.judged = fmin(t.judged, (t1 - t0) / batch);
    t.method = fmin(t.method, (t2 - t1) / batch);
    spent += t2 - t0;
    if (t2 - t1 < 5e-5) batch *= 2;
  }
  d->destroy(ws);
  perp_lcp_destroy(s);
  perp_spec_free(&spec);
  free(x);
  free(proof);
  return t;
}

static void print(const char *family, int n, const char *solver, const struct timing *t)
{
  printf("%-16s %5d  %-28s %10.1f %10.1f  %-12s %8.1e %7d %4d\n", family, n, solver,
         1e6 * t->method, 1e6 * t->judged, perp_reason_name(t->stats.reason), t->stats.residual,
         t->stats.iterations, t->stats.factorizations);
  fflush(stdout);
}

static void run(const char *solver, const char *family, int n, int warm)
{
  perp_lcp_problem q;
  perp_lcp_recipe recipe = { .family = family, .n = n, .seed = 1 };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) die();
  n = q.p.n;
  double *guess = calloc((size_t)n + 1, sizeof *guess);
  if (guess == NULL) exit(1);
  struct timing t = measure(solver, &q.p, guess, NULL);
  print(family, n, solver, &t);
  if (warm) {
    /* the guess solves the same problem except that about 1 % of the rows are pushed to the other
     * side */
    perp_lcp_solver *s;
    perp_spec spec;
    perp_lcp_arrays e = perp_lcp_edit(&q);
    if (perp_spec_parse(&ctx, PERP_KIND_lcp, solver, &spec) != PERP_OK) die();
    if (perp_lcp_create(&ctx, &spec, n, 0, &s) != PERP_OK) die();
    if (perp_lcp_solve(&ctx, s, &q.p, 1e-10, guess, NULL, NULL, &t.stats) != PERP_OK) die();
    perp_rng *rng = perp_rng_create(5);
    double *b = malloc((size_t)n * sizeof *b);
    if (b == NULL) exit(1);
    memcpy(b, q.p.b, (size_t)n * sizeof *b);
    int pushed = n / 100 > 0 ? n / 100 : 1;
    for (int k = 0; k < pushed; k++) {
      int i = perp_rng_int(rng, n);
      e.b[i] += guess[i] > 0 ? 2 * guess[i] * e.A[i + (size_t)i * (size_t)n] : -1;
    }
    perp_rng_destroy(rng);
    char name[128];
    double *zero = calloc((size_t)n + 1, sizeof *zero);
    t = measure(solver, &q.p, zero, NULL);
    snprintf(name, sizeof name, "%s, cold", solver);
    print(family, n, name, &t);
    perp_lcp old = q.p;
    old.b = b;
    t = measure(solver, &q.p, guess, &old);
    snprintf(name, sizeof name, "%s, warm", solver);
    print(family, n, name, &t);
    free(zero);
    free(b);
    perp_lcp_destroy(s);
    perp_spec_free(&spec);
  }
  free(guess);
  perp_lcp_problem_free(&q);
}

static void run_list(const char *solver, char *list, int warm)
{
  char *colon = strchr(list, ':');
  if (colon == NULL) {
    run(solver, list, 0, warm);
    return;
  }
  *colon = '\0';
  for (char *n = strtok(colon + 1, ","); n != NULL; n = strtok(NULL, ","))
    run(solver, list, atoi(n), warm);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) die();
  printf("%-16s %5s  %-28s %10s %10s  %-12s %8s %7s %4s\n", "family", "n", "solver", "method_us",
         "judged_us", "reason", "rel", "pivots", "fact");
  int warm = argc > 1 && strcmp(argv[1], "warm") == 0;
  if (argc > 2 + warm) {
    for (int k = 2 + warm; k < argc; k++) run_list(argv[1 + warm], argv[k], warm);
    return 0;
  }
  static const struct {
    const char *solver, *families[24];
  } table[] = {
    { "dantzig",
      { "spd:64,96,256", "psd:64,256", "boxed:64,256", "stack:64,256,512,1024", "wall:88,424",
        "stack-box:48,192" } },
    { "dantzig:start=bpp",
      { "spd:8,16,32,64,128,256,512,1024", "psd:64,256", "boxed:64,256", "boxed-psd:64,256",
        "poisson:64,256,1024", "tridiag:64,1024", "stack:4,8,16,32,64,128,256,512,1024",
        "stack-cfm:32,128", "wall:88,424,832", "stack-box:12,24,48,96,192,384", "wall-box:132,444",
        "hilbert:8,12", "infeasible:64" } },
    { "lemke",
      { "spd:8,16,32,64,128,256,512,1024", "psd:64,256", "pd-nonsymmetric:64,256",
        "poisson:64,256,1024", "tridiag:64,1024", "stack:4,8,16,32,64,128,256,512,1024",
        "wall:88,424,832", "stack-friction:24,48,96,192,384,768", "wall-friction:264",
        "incline-edge:24,192", "incline-slide:24,192", "incline-stick:24,192", "murty1:8,16",
        "fathi:8,16,64", "csizmadia:8,16,32", "harker-pang:64,256" } },
    { "bpp",
      { "spd:64,96,256,1024", "psd:64,256", "boxed:64,256", "boxed-psd:64,256",
        "pd-nonsymmetric:64,256", "stack:64,256,512,1024", "wall:88,424,832", "stack-box:48,192",
        "wall-box:132,444", "murty1:8,16", "fathi:16,64", "csizmadia:32", "harker-pang:64",
        "infeasible:64" } },
    { "lemke:ties=lexicographic",
      { "stack:64,256", "wall:88,424", "incline-edge:192", "fathi:16,64" } },
    { "lemke-howson", { "bimatrix:8,16,32,64,128,256" } },
    { "keller", { "spd:64,256", "stack:64,256", "stack-friction:96,192", "harker-pang:64" } },
    { "murty", { "spd:64,256", "murty1:12", "harker-pang:64" } },
    { "murty:rule=worst", { "spd:64,256", "stack:64,256", "harker-pang:64" } },
  };
  for (size_t s = 0; s < sizeof table / sizeof *table; s++)
    for (int f = 0; table[s].families[f] != NULL; f++) {
      char list[128];
      snprintf(list, sizeof list, "%s", table[s].families[f]);
      run_list(table[s].solver, list, 0);
    }
  return 0;
}
