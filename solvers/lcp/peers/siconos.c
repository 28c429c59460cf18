/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The LCP solvers of Siconos (libsiconos-numerics) as plug-ins siconos:<solver>, judged like all
 * others.
 *
 * Pure LCPs, dense (nsgs-sbm: cut into blocks of four rows).  Siconos ends the process on some
 * errors, may crash or loop, and prints; so each solve runs in a child process with its output
 * closed and a time limit, at the cost of a fork (about half a millisecond).
 *
 * Siconos stops by a norm of its own.  So that no answer is refused for the difference between two
 * norms, it is asked for TIGHTEN times the tolerance of the call: its error is |natural map|_2
 * over |b|_2, ours divides row by row by the largest entry of A, which is another number by up to
 * the spread of the rows.
 *
 * What Siconos returns as info only decides between "believes itself done" and "failed"; whether
 * the answer is a solution is decided by perp_lcp_solve. */
#include "solvers/core/library.h"
#include "solvers/core/library_files.h"
#include "solvers/lcp/lcp.h"

#include <siconos/numerics/LinearComplementarityProblem.h>
#include <siconos/numerics/NonSmoothDrivers.h>
#include <siconos/numerics/NumericsMatrix.h>
#include <siconos/numerics/SolverOptions.h>
#include <siconos/numerics/SparseBlockMatrix.h>
#include <siconos/numerics/lcp_cst.h>

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

/* What Siconos is asked for, as a fraction of the tolerance of the caller: see above. */
#define TIGHTEN 0.01

/* ---- what is called of Siconos ---- */

#define SICONOS(X)                                                                                 \
  X(NM_create)                                                                                     \
  X(NM_create_from_data)                                                                           \
  X(NM_free)                                                                                       \
  X(NM_free_not_dense)                                                                             \
  X(SBM_new)                                                                                       \
  X(linearComplementarity_driver)                                                                  \
  X(solver_options_create)                                                                         \
  X(solver_options_delete)

static struct {
  SICONOS(PERP_LIBRARY_POINTER)
} siconos_calls;
PERP_LIBRARY(siconos, SICONOS, siconos_calls, SICONOS, "Siconos", "libsiconos-numerics-dev");

struct options {
  double tol, timeout;
  int limit;
};

static const perp_opt option_table[] = {
  PERP_REAL(struct options, tol, 0, 0, 1, 0, "",
            "Tolerance that Siconos uses, in its own error measure. 0: 0.01 times the tolerance "
            "of the caller."),
  PERP_INT(struct options, limit, 0, 0, 1e9,
           "Maximum number of Siconos iterations. 0: the default of Siconos."),
  PERP_REAL(struct options, timeout, 10, 0, 86400, PERP_OPEN_MIN, "s",
            "CPU time limit of the child process. Its wall-clock limit is ten times as long."),
  PERP_OPTIONS_END
};

/* Shared with the child. */
struct shared {
  int done, info, iterations;
  double z[]; /* [max_n], then w and copies of b and A, which Siconos may overwrite */
};

struct workspace {
  struct options opt;
  int max_n;
  size_t bytes;
  struct shared *shared;
};

static void siconos_destroy(void *ws)
{
  struct workspace *w = ws;
  if (w == NULL) return;
  if (w->shared != NULL) munmap(w->shared, w->bytes);
  free(w);
}

static perp_status siconos_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  PERP_TRY(perp_library_open(ctx, &siconos_library));
  struct workspace *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "siconos: no memory for a solver");
  size_t n = (size_t)max_n;
  w->opt = *(const struct options *)opts;
  w->max_n = max_n;
  w->bytes = sizeof *w->shared + (3 * n + n * n) * sizeof(double);
  void *block = mmap(NULL, w->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED) {
    free(w);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "siconos: no memory for %d rows", max_n);
  }
  w->shared = block;
  *ws = w;
  return PERP_OK;
}

/* A as dense blocks of up to BLOCK rows, which nsgs-sbm asks for: the rows of a contact patch.
 * Every block is Siconos' to free. */
enum { BLOCK = 4, ENUMERABLE = 20 };

/* NULL without memory. */
static NumericsMatrix *blocks_of(int rows, const double *A)
{
  size_t n = (size_t)rows, nb = (n + BLOCK - 1) / BLOCK;
  SparseBlockStructuredMatrix *s = siconos_calls.SBM_new();
  NumericsMatrix *M = siconos_calls.NM_create(NM_SPARSE_BLOCK, rows, rows);
  if (s == NULL || M == NULL) return NULL;
  M->matrix1 = s;
  s->blocknumber0 = s->blocknumber1 = (unsigned)nb;
  s->filled1 = nb + 1;
  s->filled2 = nb * nb;
  s->blocksize0 = calloc(nb, sizeof *s->blocksize0);
  s->blocksize1 = calloc(nb, sizeof *s->blocksize1);
  s->index1_data = calloc(nb + 1, sizeof *s->index1_data);
  s->index2_data = calloc(nb * nb, sizeof *s->index2_data);
  s->block = calloc(nb * nb, sizeof *s->block);
  bool room = s->blocksize0 != NULL && s->blocksize1 != NULL && s->index1_data != NULL &&
              s->index2_data != NULL && s->block != NULL;
  for (size_t b = 0; b < nb && room; b++) {
    s->blocksize0[b] = s->blocksize1[b] = (unsigned)(b + 1 < nb ? (b + 1) * BLOCK : n);
    s->index1_data[b + 1] = (b + 1) * nb;
  }
  for (size_t k = 0; k < nb * nb && room; k++) {
    size_t i0 = k / nb * BLOCK, j0 = k % nb * BLOCK;
    size_t r = n - i0 < BLOCK ? n - i0 : BLOCK, c = n - j0 < BLOCK ? n - j0 : BLOCK;
    s->index2_data[k] = k % nb;
    s->block[k] = calloc(r * c, sizeof **s->block);
    room = s->block[k] != NULL;
    for (size_t j = 0; j < c && room; j++)
      memcpy(s->block[k] + j * r, A + i0 + (j0 + j) * n, r * sizeof *A);
    if (room) s->nbblocks++;
  }
  if (room) return M;
  siconos_calls.NM_free(M);
  return NULL;
}

static void siconos_call(struct workspace *w, int id, const perp_lcp *p, double tol)
{
  size_t n = (size_t)p->n;
  struct shared *s = w->shared;
  double *z = s->z, *slack = z + n, *q = slack + n, *A = q + n;
  for (size_t j = 0; j < n; j++) memcpy(A + j * n, p->A + j * (size_t)p->lda, n * sizeof *A);
  memcpy(q, p->b, n * sizeof *q);
  memset(slack, 0, n * sizeof *slack);
  SolverOptions *o = siconos_calls.solver_options_create(id);
  bool blocks = id == SICONOS_LCP_NSGS_SBM;
  NumericsMatrix *M = blocks ? blocks_of(p->n, A)
                             : siconos_calls.NM_create_from_data(NM_DENSE, p->n, p->n, A);
  if (o != NULL && M != NULL) {
    LinearComplementarityProblem problem = { .size = p->n, .M = M, .q = q };
    o->dparam[SICONOS_DPARAM_TOL] = tol;
    if (w->opt.limit > 0) o->iparam[SICONOS_IPARAM_MAX_ITER] = w->opt.limit;
    s->info = siconos_calls.linearComplementarity_driver(&problem, z, slack, o);
    s->iterations = o->iparam[SICONOS_IPARAM_ITER_DONE];
    s->done = 1;
  }
  if (M != NULL && blocks)
    siconos_calls.NM_free(M);
  else if (M != NULL)
    siconos_calls.NM_free_not_dense(M); /* A is ours */
  if (o != NULL) siconos_calls.solver_options_delete(o);
}

/* In a child; false, with a message, when it could not be started or did not come back in good
 * order. */
static bool call_apart(perp_ctx *ctx, struct workspace *w, int id, const perp_lcp *p, double tol)
{
  fflush(NULL); /* what is buffered must not be written twice */
  pid_t child = fork();
  if (child < 0) {
    PERP_FAIL(ctx, PERP_OK, "siconos: no child process could be started: %s", strerror(errno));
    return false;
  }
  if (child == 0) {
    int null = open("/dev/null", O_RDWR);
    if (null >= 0) {
      dup2(null, STDOUT_FILENO);
      dup2(null, STDERR_FILENO);
    }
    static const int fatal[] = { SIGSEGV, SIGBUS, SIGFPE, SIGABRT, SIGILL, SIGALRM, SIGPROF };
    for (size_t k = 0; k < sizeof fatal / sizeof *fatal; k++) signal(fatal[k], SIG_DFL);
    /* CPU time, so that a busy machine changes no answer; the clock for what waits */
    double whole = floor(w->opt.timeout);
    struct itimerval limit = { .it_value = { (time_t)whole,
                                             (suseconds_t)(1e6 * (w->opt.timeout - whole)) } };
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm((unsigned)ceil(10 * w->opt.timeout));
    siconos_call(w, id, p, tol);
    _exit(0);
  }
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) continue;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return true;
  if (WIFEXITED(status))
    PERP_FAIL(ctx, PERP_OK, "Siconos exited with status %d", WEXITSTATUS(status));
  else if (WTERMSIG(status) == SIGPROF || WTERMSIG(status) == SIGALRM)
    PERP_FAIL(ctx, PERP_OK, "Siconos exceeded the time limit of %g s; raise the option timeout",
              w->opt.timeout);
  else
    PERP_FAIL(ctx, PERP_OK, "Siconos crashed: %s", strsignal(WTERMSIG(status)));
  return false;
}

static perp_status siconos_solve(perp_ctx *ctx, int id, void *ws, const perp_lcp *p, double *lambda,
                                 double *certificate, perp_stats *stats)
{
  struct workspace *w = ws;
  size_t bytes = (size_t)p->n * sizeof *lambda;
  double tol = w->opt.tol > 0 ? w->opt.tol : p->tol > 0 ? TIGHTEN * p->tol : 1e-10;
  perp_no_certificate(p, certificate);
  stats->reason = PERP_EXACT;
  if (p->n == 0) return PERP_OK;
  if (id == SICONOS_LCP_ENUM && p->n > ENUMERABLE) {
    stats->reason = PERP_UNSUITED;
    return PERP_FAIL(ctx, PERP_OK,
                     "siconos:enum serves only n <= %d, because it tries all 2^n index sets",
                     ENUMERABLE);
  }
  w->shared->done = w->shared->info = w->shared->iterations = 0;
  memcpy(w->shared->z, lambda, bytes);
  if (!call_apart(ctx, w, id, p, tol)) {
    stats->reason = PERP_INVALID_STATE;
    return PERP_OK;
  }
  if (!w->shared->done) {
    stats->reason = PERP_INVALID_STATE;
    return PERP_FAIL(ctx, PERP_OK, "Siconos could not be started");
  }
  memcpy(lambda, w->shared->z, bytes);
  stats->iterations = w->shared->iterations > 0 ? w->shared->iterations : 0;
  if (w->shared->info != 0) stats->reason = PERP_STALLED;
  return PERP_OK;
}

/* What Siconos 4 says of its methods, in lcp_pivot.c, lcp_lexicolemke.c and LCP_Solvers.h.  How
 * many steps a method took is what it reports; some report nothing (0). */
#define SWEEP_TIES  "None: sweeps in the order of the rows, without pivots."
#define NEWTON_TIES "None: no pivots."
#define LEXICOGRAPHIC                                                                              \
  "The lexico-minimum row of the tableau, up to rounding of the largest entry of A."
#define SWEEP_COST "2 n^2 per sweep, a copy of A, and a fork."
#define NEWTON_COST                                                                                \
  "An LU factorization of n rows per step, 2 n^3 / 3, and a fork. Memory: several n^2 numbers."
#define TABLEAU_COST "O(n^2) per pivot on a tableau of n x 2 (n + 1), and a fork."
#define REPORTED     " as Siconos reports them."

#define PEER(identifier, text, id, class, rule, work, steps)                                       \
  static perp_status solve_##identifier(perp_ctx *ctx, void *ws, const perp_lcp *p,                \
                                        double *lambda, double *certificate, perp_stats *stats)    \
  {                                                                                                \
    return siconos_solve(ctx, id, ws, p, lambda, certificate, stats);                              \
  }                                                                                                \
  extern const perp_lcp_desc perp_lcp_siconos_##identifier;                                        \
  const perp_lcp_desc perp_lcp_siconos_##identifier = {                                            \
    .d = { .name = "siconos:" text,                                                                \
           .summary = "Siconos " #id " for pure LCPs",                                             \
           .reference = "libsiconos-numerics, lcp_cst.h",                                          \
           .equation = "w = A z + b, 0 <= z, w complementary",                                     \
           .opts = option_table,                                                                   \
           .opts_size = sizeof(struct options),                                                    \
           .caps = PERP_LCP_NONSYMMETRIC | PERP_LCP_PEER | PERP_CAP_ALLOCATES },                   \
    .create = siconos_create,                                                                      \
    .solve = solve_##identifier,                                                                   \
    .destroy = siconos_destroy,                                                                    \
    .serves = class,                                                                               \
    .ties = rule,                                                                                  \
    .cost = work,                                                                                  \
    .counts = steps REPORTED,                                                                      \
  };

PEER(lemke, "lemke", SICONOS_LCP_LEMKE,
     "Pure LCPs on which Lemke's method ends: semidefinite, strictly copositive and P-matrices.",
     LEXICOGRAPHIC, TABLEAU_COST, "Pivots,")
PEER(pgs, "pgs", SICONOS_LCP_PGS,
     "Pure LCPs with positive diagonal: symmetric positive definite A, or dominant rows.",
     SWEEP_TIES, SWEEP_COST, "Sweeps,")
PEER(psor, "psor", SICONOS_LCP_PSOR,
     "Pure LCPs with positive diagonal: symmetric positive definite A, or dominant rows.",
     SWEEP_TIES, SWEEP_COST, "Sweeps,")
PEER(rpgs, "rpgs", SICONOS_LCP_RPGS,
     "As siconos:pgs, with a regularization that allows zeros on the diagonal.", SWEEP_TIES,
     SWEEP_COST, "Sweeps,")
PEER(cpg, "cpg", SICONOS_LCP_CPG,
     "Pure LCPs that minimize a quadratic function: symmetric positive definite A.",
     "None: projected gradients, without pivots.",
     "One or two products with A per iteration, a copy of A, and a fork.", "Iterations,")
PEER(latin, "latin", SICONOS_LCP_LATIN,
     "Pure LCPs with a Cholesky factorization: symmetric positive definite A.", "None: no pivots.",
     "One Cholesky factorization, O(n^2) per iteration, and a fork. Memory: several n^2 numbers.",
     "Iterations,")
PEER(newton_min, "newton-min", SICONOS_LCP_NEWTONMIN,
     "Pure LCPs: Newton on min(z, w) without line search. In practice P-matrices, without a "
     "theorem.",
     NEWTON_TIES, NEWTON_COST, "Steps,")
PEER(newton_fb, "newton-fb", SICONOS_LCP_NEWTON_FB_FBLSA,
     "Pure LCPs with P0-matrices: Newton on the Fischer-Burmeister function with line search.",
     NEWTON_TIES, NEWTON_COST, "Steps,")
PEER(newton_minfb, "newton-minfb", SICONOS_LCP_NEWTON_MIN_FBLSA,
     "Pure LCPs with P0-matrices: Newton on min(z, w), with line search on the Fischer-Burmeister "
     "function.",
     NEWTON_TIES, NEWTON_COST, "Steps,")
PEER(avi, "avi", SICONOS_LCP_AVI_CAOFERRIS,
     "Pure LCPs as affine variational inequalities, by the pivots of Cao and Ferris 1996.",
     "Not documented by Siconos.", TABLEAU_COST, "Pivots,")
PEER(pivot, "pivot", SICONOS_LCP_PIVOT, "Pure LCPs, by Lemke's pivots: see siconos:lemke.",
     LEXICOGRAPHIC, TABLEAU_COST, "Pivots,")
PEER(pivot_lumod, "pivot-lumod", SICONOS_LCP_PIVOT_LUMOD,
     "Pure LCPs, by Lemke's pivots: see siconos:lemke.", LEXICOGRAPHIC,
     "An update of a dense LU per pivot, O(n^2), and a fork. Memory: several n^2 numbers.",
     "Pivots,")
PEER(bard, "bard", SICONOS_LCP_BARD,
     "Pure LCPs with P-matrices, by Bard's principal pivots, which can cycle.",
     "Not documented by Siconos; the rows are examined in their order.", TABLEAU_COST, "Pivots,")
PEER(murty, "murty", SICONOS_LCP_MURTY,
     "Pure LCPs with P-matrices, by least-index principal pivots: finite, up to 2^n of them.",
     "None: there is no ratio test. The lowest index is exchanged.", TABLEAU_COST, "Pivots,")
PEER(pathsearch, "pathsearch", SICONOS_LCP_PATHSEARCH,
     "Pure LCPs, by path searches. For tests only, according to the manual of Siconos.",
     "Not documented by Siconos.", "A path of pivots per step, O(n^2) each, and a fork.", "Steps,")
PEER(enum, "enum", SICONOS_LCP_ENUM,
     "Pure LCPs of any class with up to 20 rows, by all index sets.",
     "None: the first solution found.", "O(n^3) for each of up to 2^n index sets, and a fork.",
     "Index sets,")
PEER(nsgs_sbm, "nsgs-sbm", SICONOS_LCP_NSGS_SBM,
     "Pure LCPs with dominant blocks of four rows, by block Gauss-Seidel.",
     "None between blocks: sweeps, without pivots.",
     "2 n^2 per sweep, a small problem per block, a copy of A in blocks, and a fork.", "Sweeps,")
