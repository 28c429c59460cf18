/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contact problems with circular friction cones, dense, by perp and by the methods of Siconos.
 *
 *    bench_cones [--alone] [FILE...]        files of problems (.lcp, .dat of Siconos, .hdf5 of
 * fclib)
 *
 * Without files: generated stacks, walls and slopes of 1 to 64 contacts.  Each method solves each
 * problem from zero in a process of its own for 20 ms, in three rounds in turn; its time is the
 * least CPU time of one solve, with its own check of the answer: that of time steps; --alone: that
 * of a problem of its own, whose figures no units change (own of lcp.h).  What counts is an answer
 * whose scaled residual, by perp's judge, is 1e-8 or less; Siconos is asked for the loosest of
 * 1e-8, 1e-10 and 1e-12 that gives one.  Printed: the fastest method of Siconos, auto and the
 * fastest of perp, and their ratios; at the end how many of the problems that somebody solves
 * within a millisecond each is first in. */
#include "solvers/lcp/io/io.h"
#include "solvers/solvers.h"

#include <siconos/numerics/FrictionContactProblem.h>
#include <siconos/numerics/Friction_cst.h>
#include <siconos/numerics/NonSmoothDrivers.h>
#include <siconos/numerics/NumericsMatrix.h>
#include <siconos/numerics/SolverOptions.h>

#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 3, SECONDS = 4 };
static const double TOL = 1e-8, SPAN = 0.02, SMALL = 1e-3;
static perp_ctx ctx;
static bool alone;

static const char *const own[] = { "auto", "cone-newton", "prox", "block-gs", "nncg",
                                   "apgd", "admm",        "psor", NULL };
static const struct peer {
  const char *name;
  int id;
} peers[] = { { "NSGS", SICONOS_FRICTION_3D_NSGS },     { "PROX", SICONOS_FRICTION_3D_PROX },
              { "NSN_AC", SICONOS_FRICTION_3D_NSN_AC }, { "NSN_FB", SICONOS_FRICTION_3D_NSN_FB },
              { "VI_EG", SICONOS_FRICTION_3D_VI_EG },   { "ADMM", SICONOS_FRICTION_3D_ADMM },
              { "TFP", SICONOS_FRICTION_3D_TFP },       { NULL, 0 } };

/* Of one method on one problem, shared with its process. */
static struct shared {
  double seconds;
  int solved;
} * shared;

static double rated(const perp_lcp *p, const double *x)
{
  double *scratch = calloc(PERP_LCP_SCRATCH((size_t)p->n, 0), sizeof *scratch);
  perp_lcp_judgement judgement;
  perp_lcp_judge(p, x, NULL, scratch, &judgement);
  free(scratch);
  return judgement.rel;
}

static void perp_child(const perp_lcp *p, const char *name)
{
  perp_spec spec;
  perp_lcp_solver *solver;
  perp_stats stats;
  double *x = calloc(2 * (size_t)p->n, sizeof *x), spent = 0, least = HUGE_VAL;
  if (perp_spec_parse(&ctx, PERP_KIND_lcp, name, &spec) != PERP_OK ||
      perp_lcp_create(&ctx, &spec, p->n, 0, &solver) != PERP_OK)
    return;
  for (int k = 0; k < 3 || spent < SPAN; k++) {
    memset(x, 0, (size_t)p->n * sizeof *x);
    double t = perp_clock_thread();
    if (perp_lcp_solve(&ctx, solver, p, TOL, x, x + p->n, NULL, &stats) != PERP_OK) return;
    t = perp_clock_thread() - t;
    spent += t;
    least = fmin(least, t);
  }
  shared->seconds = least;
  shared->solved = rated(p, x) <= TOL;
}

static void siconos_child(const perp_lcp *p, int id, double tol)
{
  const size_t n = (size_t)p->n;
  double *x = calloc(2 * n, sizeof *x), *A = calloc(n * n, sizeof *A), *q = calloc(n, sizeof *q),
         *mu = calloc(n, sizeof *mu), spent = 0, least = HUGE_VAL;
  for (size_t j = 0; j < n; j++) memcpy(A + j * n, p->A + j * (size_t)p->lda, n * sizeof *A);
  memcpy(q, p->b, n * sizeof *q);
  for (size_t c = 0; c < n / 3; c++) mu[c] = p->mu[3 * c + 1];
  FrictionContactProblem problem = { .dimension = 3,
                                     .numberOfContacts = p->n / 3,
                                     .M = NM_create_from_data(NM_DENSE, p->n, p->n, A),
                                     .q = q,
                                     .mu = mu };
  for (int k = 0; k < 3 || spent < SPAN; k++) {
    SolverOptions *options = solver_options_create(id);
    options->dparam[SICONOS_DPARAM_TOL] = tol;
    memset(x, 0, 2 * n * sizeof *x);
    double t = perp_clock_thread();
    fc3d_driver(&problem, x, x + n, options);
    t = perp_clock_thread() - t;
    solver_options_delete(options);
    spent += t;
    least = fmin(least, t);
  }
  shared->seconds = least;
  shared->solved = rated(p, x) <= TOL;
}

/* Seconds of one solve; infinite: no answer within the tolerance. */
static double measure(const perp_lcp *p, const char *name, int id, double tol)
{
  *shared = (struct shared){ .seconds = HUGE_VAL };
  fflush(NULL);
  const pid_t child = fork();
  if (child < 0) return HUGE_VAL;
  if (child == 0) {
    const int null = open("/dev/null", O_RDWR);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    signal(SIGALRM, SIG_DFL);
    alarm(SECONDS);
    if (name != NULL)
      perp_child(p, name);
    else
      siconos_child(p, id, tol);
    _exit(0);
  }
  int status;
  waitpid(child, &status, 0);
  return WIFEXITED(status) && shared->solved ? shared->seconds : HUGE_VAL;
}

/* ---- the table ---- */

static struct tally {
  int problems, first, first_auto;
  double logs, logs_auto;
} tally;

static bool is_cones(const perp_lcp *p)
{
  if (p->cone == NULL || p->fric_of == NULL || p->n % 3 != 0) return false;
  for (int i = 0; i < p->n; i++)
    if (p->cone[i] != (i % 3 == 1) || (i % 3 > 0 && p->fric_of[i] != i - i % 3)) return false;
  return true;
}

static void race(const char *label, const perp_lcp_problem *made)
{
  perp_lcp_problem q;
  if (!is_cones(&made->p) || perp_lcp_problem_form(&ctx, made, &q) != PERP_OK) {
    printf("%-40s no friction cones of three rows, or too large\n", label);
    return;
  }
  q.p.brief = !alone;
  const perp_lcp *p = &q.p;
  enum { OWN = sizeof own / sizeof *own - 1, PEERS = sizeof peers / sizeof *peers - 1 };
  double mine[OWN], other[PEERS], tol[PEERS];
  for (int k = 0; k < OWN; k++) mine[k] = HUGE_VAL;
  for (int k = 0; k < PEERS; k++) other[k] = HUGE_VAL, tol[k] = 0;
  for (int round = 0; round < ROUNDS; round++) {
    for (int k = 0; k < OWN; k++)
      if (round == 0 || isfinite(mine[k])) mine[k] = fmin(mine[k], measure(p, own[k], 0, 0));
    for (int k = 0; k < PEERS; k++) {
      if (round > 0 && isfinite(other[k]))
        other[k] = fmin(other[k], measure(p, NULL, peers[k].id, tol[k]));
      for (tol[k] = round > 0 ? tol[k] : TOL; round == 0 && !isfinite(other[k]) && tol[k] > 1e-13;)
        if (!isfinite(other[k] = measure(p, NULL, peers[k].id, tol[k]))) tol[k] *= 1e-2;
    }
  }
  int best = 0, rival = 0;
  for (int k = 1; k < OWN; k++) best = mine[k] < mine[best] ? k : best;
  for (int k = 1; k < PEERS; k++) rival = other[k] < other[rival] ? k : rival;
  const double ratio = other[rival] / mine[best], by_auto = other[rival] / mine[0];
  printf("%-40s %4d  %-7s %9.4g  auto %9.4g  %-11s %9.4g  %7.3g %7.3g\n", label, p->n / 3,
         isfinite(other[rival]) ? peers[rival].name : "none", 1e6 * other[rival], 1e6 * mine[0],
         isfinite(mine[best]) ? own[best] : "none", 1e6 * mine[best], ratio, by_auto);
  fflush(stdout);
  if (fmin(other[rival], mine[best]) <= SMALL) {
    tally.problems++;
    tally.first += ratio >= 1;
    tally.first_auto += by_auto >= 1;
    tally.logs += log(fmin(fmax(ratio, 1e-3), 1e3));
    tally.logs_auto += log(fmin(fmax(by_auto, 1e-3), 1e3));
  }
  perp_lcp_problem_free(&q);
}

static void generated(const char *family, int rows, uint64_t seed)
{
  const perp_lcp_family *f = perp_lcp_family_find(family);
  perp_lcp_problem q;
  char label[80];
  const perp_lcp_recipe recipe = { .family = family,
                                   .n = perp_lcp_family_rows(f, rows),
                                   .seed = seed };
  if (perp_lcp_generate(&ctx, &recipe, &q) != PERP_OK) {
    printf("%s: %s\n", family, ctx.msg);
    return;
  }
  snprintf(label, sizeof label, "%s n=%d seed=%d", family, recipe.n, (int)seed);
  race(label, &q);
  perp_lcp_problem_free(&q);
}

int main(int argc, char **argv)
{
  perp_ctx_init(&ctx);
  if (perp_register_solvers(&ctx) != PERP_OK) return 1;
  shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 1;
  printf("%-40s %4s  %-17s  %-14s  %-21s  %7s %7s\n", "problem", "nc", "Siconos us", "perp us",
         "fastest us", "ratio", "of auto");
  alone = argc > 1 && strcmp(argv[1], "--alone") == 0;
  const int first = alone ? 2 : 1;
  for (int k = first; k < argc; k++) {
    perp_lcp_problem q;
    const char *name = strrchr(argv[k], '/');
    if (perp_lcp_read(&ctx, argv[k], &q) != PERP_OK) {
      printf("%s\n", ctx.msg);
      continue;
    }
    race(name != NULL ? name + 1 : argv[k], &q);
    perp_lcp_problem_free(&q);
  }
  static const int rows[] = { 12, 24, 48, 96, 192 };
  for (int k = 0; argc == first && k < 5; k++) {
    static const char *const fixed[] = { "stack-cone", "wall-cone", "incline-cone" },
                             *const random[] = { "pushed-cone", "wall-rough-cone", "heavy-cone" };
    for (int f = 0; f < 3; f++) generated(fixed[f], rows[k], 1);
    for (int f = 0; f < 3 - (k > 2); f++)
      for (uint64_t seed = 1; seed <= 4; seed++) generated(random[f], rows[k], seed);
  }
  if (tally.problems > 0)
    printf("%d problems of up to a millisecond: the fastest of perp is first in %d, geometric mean "
           "%.3g; auto in %d, %.3g\n",
           tally.problems, tally.first, exp(tally.logs / tally.problems), tally.first_auto,
           exp(tally.logs_auto / tally.problems));
  return 0;
}
