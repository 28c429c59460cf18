/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Primal-dual active sets for large sparse problems, with nested iteration for the first sets.
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * A round solves A_FF lambda_F = -(b_F + A_FB lambda_B) for the rows F between their bounds, with
 * lambda_B at a bound, and w = A lambda + b.  The next sets are those of lambda - w / A_ii
 * (Hintermueller, Ito and Kunisch 2003, algorithm 1): every row changes over that is out of order,
 * lambda_i beyond a bound for i in F, w_i of the wrong sign otherwise.  No row out of order: exact.
 *
 * Without positive numbers beside the diagonal (M-matrices: obstacles, bearings, options) lambda
 * falls from round to round once the second one is done, whatever the first sets were (theorem
 * 3.2 there).  The number of rounds is what the sets need to shrink to: with the grid, hundreds.
 * So the first sets come from a chain of coarser problems (coarse.h), a few rounds on each and a
 * few on the problem itself, whatever its size.
 *
 * Other P-matrices: rounds as long as the number of rows out of order falls, or has not fallen for
 * fewer than PATIENCE; then single exchanges of least index until it does (Kostreva 1978; Judice
 * and Pires 1994).  Finite, and as slow as Murty's exchanges where blocks come to nothing, each
 * with a factorization.
 *
 * A_FF: Cholesky of CHOLMOD for symmetric A, in an order of all rows that is found once; KLU for
 * others.  One step of refinement. A_FF that is not positive definite, or singular: PERP_SINGULAR.
 * Where rows that are out of order by rounding change over again and again, lambda within its
 * bounds is the answer if its residual is rounding, too.
 *
 * Cost: a sparse factorization and two products a round, and those of the coarser problems, about a
 * third of it for grids in the plane.  Memory: the numbers of L, and three times those of A. */
#include "solvers/lcp/lcp.h"
#include "solvers/linalg/sparse_lu.h"
#include "solvers/lcp/pivoting/coarse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Levels of coarser problems, the last of which has at most COARSEST rows; rounds on one of them,
 * from a guess before nested iteration takes its place, and without fewer rows out of order before
 * single exchanges. */
enum { LEVELS = 40, COARSEST = 200, COARSE_ROUNDS = 30, GUESS_ROUNDS = 8, PATIENCE = 10 };
/* a row is out of order by more than this part of the numbers that it is made of */
static const double ROUNDING = 1e-14;
/* the residual of an answer that rounding alone keeps from being exact */
static const double DONE = 1e-14;

struct opts {
  int max_iter;
  bool nested;
};

static const perp_opt options[] = {
  PERP_INT(struct opts, max_iter, 0, 0, 1e9, "Maximum number of rounds. 0: 50 n + 1000."),
  PERP_BOOL(struct opts, nested, true,
            "Take the first index sets from coarser problems. Otherwise all rows start between "
            "their bounds."),
  PERP_OPTIONS_END
};

struct ws {
  struct opts o;
  int max_n;
  double *x, *w, *size, *rhs, *lo, *hi, *a; /* [max_n] */
  double *scratch, *kept;                   /* [PERP_LCP_SCRATCH], [2 max_n] */
  int *rows, *place, *order;                /* [max_n] */
  signed char *sets;                        /* [max_n] scratch */
  cholmod_common cm;
  perp_sparse_lu lu;
  bool falling; /* no positive number beside the diagonal */
  const perp_lcp *lcp;
  perp_stats *stats;
};

static void pdas_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const int n = work->max_n;
  PERP_DOUBLES(arena, n, &work->x, &work->w, &work->size, &work->rhs, &work->lo, &work->hi,
               &work->a);
  work->scratch = PERP_CARVE(arena, double, PERP_LCP_SCRATCH(n, 0));
  work->kept = PERP_CARVE(arena, double, 2 * n);
  work->rows = PERP_CARVE(arena, int, n);
  work->place = PERP_CARVE(arena, int, n);
  work->order = PERP_CARVE(arena, int, n);
  work->sets = PERP_CARVE(arena, signed char, n);
}

static perp_status pdas_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct ws like = { .o = *(const struct opts *)opts, .max_n = max_n };
  return perp_workspace_create(ctx, "pdas", &like, sizeof like, pdas_layout, ws);
}

static void pdas_destroy(void *ws)
{
  if (ws != NULL) perp_sparse_lu_close(&((struct ws *)ws)->lu);
  free(ws);
}

/* ---- a basic point ---- */

/* w = A x + b, size_i = |b_i| + sum_j |A_ij x_j| */
static void pdas_slack(struct ws *work, const perp_level *level)
{
  const int *start = level->A->p, *row = level->A->i;
  const double *value = level->A->x;
  for (int i = 0; i < level->n; i++) {
    work->w[i] = level->b[i];
    work->size[i] = fabs(level->b[i]);
  }
  for (int j = 0; j < level->n; j++) {
    const double x = work->x[j];
    for (int k = start[j]; x != 0 && k < start[j + 1]; k++) {
      const double term = value[k] * x;
      work->w[row[k]] += term;
      work->size[row[k]] += fabs(term);
    }
  }
  work->stats->matvecs++;
  work->stats->work += start[level->n];
}

/* Cholesky of A_FF, F the first k of work->rows; NULL: not positive definite, or no memory. */
static cholmod_factor *pdas_cholesky(struct ws *work, const perp_level *level, int k)
{
  cholmod_common *cm = &work->cm;
  cholmod_sparse *S = cholmod_submatrix(level->A, work->rows, k, work->rows, k, 1, 1, cm);
  cholmod_factor *L = NULL;
  if (S != NULL) {
    S->stype = -1;
    L = cholmod_analyze(S, cm);
    if (L != NULL) {
      cholmod_factorize(S, L, cm);
      work->stats->work += 0.5 * cm->fl;
    }
    if (cm->status != CHOLMOD_OK) cholmod_free_factor(&L, cm);
  }
  cholmod_free_sparse(&S, cm);
  return L;
}

/* LU of A_FF, likewise; place: where a row is in F, -1 elsewhere. */
static bool pdas_lu(struct ws *work, const perp_level *level, int k)
{
  const int *start = level->A->p, *row = level->A->i;
  const double *value = level->A->x;
  perp_sparse_lu_begin(&work->lu, k);
  for (int c = 0; c < k; c++) {
    const int j = work->rows[c];
    for (int l = start[j]; l < start[j + 1]; l++)
      if (work->place[row[l]] >= 0) perp_sparse_lu_add(&work->lu, work->place[row[l]], value[l]);
    perp_sparse_lu_column(&work->lu);
  }
  const bool good = perp_sparse_lu_factor(&work->lu);
  work->stats->work += good ? perp_sparse_lu_work(&work->lu) : 0;
  return good;
}

/* x_F -= A_FF^-1 w_F */
static bool pdas_correct(struct ws *work, cholmod_factor *L, int k)
{
  for (int c = 0; c < k; c++) work->rhs[c] = -work->w[work->rows[c]];
  if (L == NULL) {
    perp_sparse_lu_solve(&work->lu, work->rhs);
    for (int c = 0; c < k; c++) work->x[work->rows[c]] += work->rhs[c];
    return true;
  }
  cholmod_dense right = { .nrow = (size_t)k,
                          .ncol = 1,
                          .nzmax = (size_t)k,
                          .d = (size_t)k,
                          .x = work->rhs,
                          .xtype = CHOLMOD_REAL,
                          .dtype = CHOLMOD_DOUBLE };
  cholmod_dense *step = cholmod_solve(CHOLMOD_A, L, &right, &work->cm);
  if (step == NULL) return false;
  const double *d = step->x;
  for (int c = 0; c < k; c++) work->x[work->rows[c]] += d[c];
  cholmod_free_dense(&step, &work->cm);
  return true;
}

/* x and w of the sets.  PERP_RUNNING: they are there. */
static perp_reason pdas_basis(struct ws *work, const perp_level *level)
{
  int k = 0;
  bool finite = true;
  for (int i = 0; i < level->n; i++) {
    const signed char set = level->set[i];
    work->x[i] = set == PERP_AT_LO ? level->lo[i] : set == PERP_AT_HI ? level->hi[i] : 0;
    work->place[i] = -1;
  }
  for (int o = 0; o < level->n; o++) {
    const int i = level->symmetric ? work->order[o] : o;
    if (level->set[i] != PERP_BETWEEN) continue;
    work->place[i] = k;
    work->rows[k++] = i;
  }
  pdas_slack(work, level);
  if (k == 0) return PERP_RUNNING;
  cholmod_factor *L = level->symmetric ? pdas_cholesky(work, level, k) : NULL;
  work->stats->factorizations++;
  if (level->symmetric ? L == NULL : !pdas_lu(work, level, k)) return PERP_SINGULAR;
  for (int pass = 0; pass < 2 && finite; pass++) {
    finite = pdas_correct(work, L, k);
    pdas_slack(work, level);
  }
  cholmod_free_factor(&L, &work->cm);
  for (int i = 0; i < level->n; i++) finite = finite && isfinite(work->w[i]);
  return finite ? PERP_RUNNING : PERP_SINGULAR;
}

/* ---- the sets ---- */

/* The set that row i is for: its own where it is in order. */
static signed char pdas_wants(const struct ws *work, const perp_level *level, int i)
{
  const double x = work->x[i], w = work->w[i], zero = ROUNDING * work->size[i], lo = level->lo[i],
               hi = level->hi[i];
  if (!(lo < hi)) return level->set[i];
  if (level->set[i] == PERP_AT_LO) return w < -zero ? PERP_BETWEEN : PERP_AT_LO;
  if (level->set[i] == PERP_AT_HI) return w > zero ? PERP_BETWEEN : PERP_AT_HI;
  const double near = zero / work->a[i];
  return x < lo - near ? PERP_AT_LO : x > hi + near ? PERP_AT_HI : PERP_BETWEEN;
}

/* Is the point, brought within its bounds, a solution but for rounding?  Then it takes its place.
 */
static bool pdas_done(struct ws *work, const perp_level *level)
{
  const size_t bytes = (size_t)level->n * sizeof *work->x;
  memcpy(work->kept, work->x, bytes);
  memcpy(work->kept + level->n, work->w, bytes);
  for (int i = 0; i < level->n; i++)
    work->x[i] = fmin(fmax(work->x[i], level->lo[i]), level->hi[i]);
  pdas_slack(work, level);
  perp_lcp_scales(work->lcp, work->rhs, work->scratch);
  const double merit = perp_lcp_merit(work->lcp, work->rhs, work->x, work->w);
  if (perp_lcp_close(work->lcp, merit, work->x, work->w, work->scratch) <= DONE) return true;
  memcpy(work->x, work->kept, bytes);
  memcpy(work->w, work->kept + level->n, bytes);
  return false;
}

/* Changes of level->set, at most so many; PERP_RUNNING: they were not enough. */
static perp_reason pdas_rounds(perp_ctx *ctx, struct ws *work, perp_level *level, bool finest,
                               int most)
{
  int best = level->n + 1, patience = PATIENCE;
  for (int i = 0; i < level->n; i++) work->a[i] = 1;
  const int *start = level->A->p, *row = level->A->i;
  const double *value = level->A->x;
  for (int j = 0; j < level->n; j++)
    for (int k = start[j]; k < start[j + 1]; k++)
      if (row[k] == j) work->a[j] = value[k];
  if (level->symmetric) {
    cholmod_sparse half = *level->A;
    half.stype = -1;
    if (!cholmod_amd(&half, NULL, 0, work->order, &work->cm)) return PERP_SINGULAR;
  }
  for (int round = 0;; round++) {
    if (perp_lcp_spent(work->lcp, work->stats->work)) return PERP_MAX_ITER;
    const perp_reason over = pdas_basis(work, level);
    if (over != PERP_RUNNING) return over;
    int broken = 0;
    for (int i = 0; i < level->n; i++) broken += pdas_wants(work, level, i) != level->set[i];
    const bool single = !work->falling && finest && broken >= best && patience == 0;
    PERP_TRACE(ctx, .method = "pdas",
               .what = !finest  ? "coarse"
                       : single ? "pivot"
                                : "block",
               .iteration = work->stats->iterations, .entering = -1, .leaving = -1,
               .residual = broken, .n = level->n, .x = work->x, .w = work->w, .state = level->set);
    if (broken == 0 || (broken >= best && finest && pdas_done(work, level))) return PERP_EXACT;
    if (round == most) return PERP_RUNNING;
    work->stats->iterations += finest;
    if (broken < best) {
      best = broken;
      patience = PATIENCE;
    } else if (patience > 0)
      patience--;
    for (int i = 0, changes = 0; i < level->n && !(single && changes > 0); i++) {
      const signed char wants = pdas_wants(work, level, i);
      changes += wants != level->set[i];
      level->set[i] = wants;
    }
  }
}

/* The sets of the finest problem by nested iteration. */
static perp_reason pdas_nest(perp_ctx *ctx, struct ws *work, perp_level *finest)
{
  perp_level levels[LEVELS];
  int n = 1;
  levels[0] = *finest;
  while (work->o.nested && n < LEVELS && levels[n - 1].n > COARSEST &&
         perp_level_coarsen(&levels[n - 1], &levels[n], &work->cm))
    n++;
  for (int i = 0; i < levels[n - 1].n; i++)
    levels[n - 1].set[i] = levels[n - 1].lo[i] < levels[n - 1].hi[i] ? PERP_BETWEEN : PERP_AT_LO;
  for (int l = n - 1; l > 0; l--) {
    /* what goes wrong here is no more than a worse start */
    pdas_rounds(ctx, work, &levels[l], false, COARSE_ROUNDS);
    perp_level_prolong(&levels[l], &levels[l - 1], work->sets);
    perp_level_free(&levels[l], false, &work->cm);
  }
  *finest = levels[0];
  return work->cm.status == CHOLMOD_OUT_OF_MEMORY ? PERP_SINGULAR : PERP_RUNNING;
}

/* ---- the problem ---- */

/* A of CHOLMOD: as the problem has it, or the numbers of a dense A, to be freed by the caller. */
static cholmod_sparse *pdas_matrix(struct ws *work, cholmod_sparse *shallow)
{
  const perp_lcp *lcp = work->lcp;
  const size_t n = (size_t)lcp->n;
  if (lcp->C != NULL) {
    union { /* CHOLMOD does not write to what it multiplies */
      const void *from;
      void *to;
    } start = { lcp->C->start }, row = { lcp->C->row }, value = { lcp->C->value };
    *shallow = (cholmod_sparse){ .nrow = n,
                                 .ncol = n,
                                 .nzmax = (size_t)lcp->C->start[n],
                                 .p = start.to,
                                 .i = row.to,
                                 .x = value.to,
                                 .itype = CHOLMOD_INT,
                                 .xtype = CHOLMOD_REAL,
                                 .dtype = CHOLMOD_DOUBLE,
                                 .sorted = 1,
                                 .packed = 1 };
    return shallow;
  }
  size_t count = 0;
  work->stats->work += (double)n * (double)n;
  for (size_t j = 0; j < n; j++)
    for (size_t i = 0; i < n; i++) count += lcp->A[i + j * (size_t)lcp->lda] != 0;
  cholmod_sparse *A = cholmod_allocate_sparse(n, n, count, 1, 1, 0, CHOLMOD_REAL, &work->cm);
  if (A == NULL) return NULL;
  int *start = A->p, *row = A->i, k = 0;
  double *value = A->x;
  for (size_t j = 0; j < n; j++) {
    start[j] = k;
    for (size_t i = 0; i < n; i++) {
      const double a = lcp->A[i + j * (size_t)lcp->lda];
      if (a == 0) continue;
      row[k] = (int)i;
      value[k++] = a;
    }
  }
  start[n] = k;
  return A;
}

/* The sets of a guess; false: it is zero. */
static bool pdas_guess(struct ws *work, perp_level *level, const double *lambda)
{
  bool any = false;
  for (int i = 0; i < level->n; i++) {
    work->x[i] = fmin(fmax(lambda[i], level->lo[i]), level->hi[i]);
    any = any || lambda[i] != 0;
  }
  if (!any) return false;
  pdas_slack(work, level);
  for (int i = 0; i < level->n; i++) {
    const double a = perp_lcp_entry(work->lcp, i, i), t = work->x[i] - work->w[i] / a;
    level->set[i] = t <= level->lo[i] ? PERP_AT_LO : t >= level->hi[i] ? PERP_AT_HI : PERP_BETWEEN;
  }
  return true;
}

/* Is there a positive diagonal entry in each row that can move, as in a P-matrix?  Looks at the
 * signs of the others. */
static bool pdas_fits(struct ws *work, const perp_level *level)
{
  const int *start = level->A->p, *row = level->A->i;
  const double *value = level->A->x;
  work->falling = true;
  for (int j = 0; j < level->n; j++) {
    bool diagonal = !(level->lo[j] < level->hi[j]);
    for (int k = start[j]; k < start[j + 1]; k++)
      if (row[k] == j)
        diagonal = diagonal || value[k] > 0;
      else if (value[k] > 0)
        work->falling = false;
    if (!diagonal) return false;
  }
  return true;
}

static perp_reason pdas_search(perp_ctx *ctx, struct ws *work, perp_level *level,
                               const double *lambda)
{
  const int most = work->o.max_iter > 0 ? work->o.max_iter : 50 * level->n + 1000;
  perp_reason reason = PERP_RUNNING;
  if (!pdas_fits(work, level)) return PERP_UNSUITED;
  if (pdas_guess(work, level, lambda))
    reason = pdas_rounds(ctx, work, level, true, most < GUESS_ROUNDS ? most : GUESS_ROUNDS);
  if (reason == PERP_RUNNING && work->stats->iterations < most)
    reason = pdas_nest(ctx, work, level);
  if (reason == PERP_RUNNING)
    reason = pdas_rounds(ctx, work, level, true, most - work->stats->iterations);
  return reason == PERP_RUNNING ? PERP_MAX_ITER : reason;
}

static perp_status pdas_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                              double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  const int n = lcp->n;
  perp_no_certificate(lcp, certificate);
  work->lcp = lcp;
  work->stats = stats;
  cholmod_start(&work->cm);
  work->cm.print = 0;
  work->cm.error_handler = NULL;
  work->cm.final_ll = 1;
  work->cm.nmethods = 1; /* rows come in their order */
  work->cm.method[0].ordering = CHOLMOD_NATURAL;
  for (int i = 0; i < n; i++) {
    work->lo[i] = lcp->lo != NULL ? lcp->lo[i] : 0;
    work->hi[i] = lcp->hi != NULL ? lcp->hi[i] : HUGE_VAL;
  }
  cholmod_sparse shallow;
  perp_level level = { .n = n, .b = lcp->b, .lo = work->lo, .hi = work->hi };
  level.A = pdas_matrix(work, &shallow);
  level.set = calloc((size_t)n + 1, 1);
  level.symmetric = perp_lcp_asymmetry(lcp) <= 1e-14;
  perp_status status = PERP_OK;
  if (level.A == NULL || level.set == NULL)
    work->cm.status = CHOLMOD_OUT_OF_MEMORY;
  else if (!level.symmetric)
    status = perp_sparse_lu_reserve(ctx, &work->lu, n,
                                    2 * (size_t)cholmod_nnz(level.A, &work->cm)); /* coarser ones */
  if (status == PERP_OK && work->cm.status != CHOLMOD_OUT_OF_MEMORY) {
    stats->reason = pdas_search(ctx, work, &level, lambda);
    bool finite = true;
    for (int i = 0; i < n; i++) finite = finite && isfinite(work->x[i]);
    if (finite) memcpy(lambda, work->x, (size_t)n * sizeof *lambda);
  }
  if (status == PERP_OK && work->cm.status == CHOLMOD_OUT_OF_MEMORY)
    status = PERP_FAIL(ctx, PERP_ERR_NOMEM, "pdas: no memory for the factors of %d rows", n);
  if (level.A == &shallow) level.A = NULL;
  cholmod_sparse *A = level.A;
  if (level.turned == &shallow) level.turned = NULL;
  perp_level_free(&level, true, &work->cm);
  cholmod_free_sparse(&A, &work->cm);
  cholmod_finish(&work->cm);
  return status;
}

const perp_lcp_desc perp_lcp_pdas = {
  .d = { .name = "pdas",
         .summary = "Primal-dual active sets with sparse factorizations and nested iteration, for "
                    "M- and P-matrices",
         .reference = "Hintermueller, Ito & Kunisch 2003; Kostreva 1978; Judice & Pires 1994; "
                      "coarser problems: Ruge & Stueben 1987",
         .equation = "A_FF lambda_F = -(b_F + A_FB lambda_B), sets of lambda - w / diag(A)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_NONSYMMETRIC | PERP_LCP_SPARSE |
                 PERP_LCP_PIVOTING | PERP_LCP_WARM | PERP_CAP_ALLOCATES },
  .create = pdas_create,
  .solve = pdas_solve,
  .destroy = pdas_destroy,
  .serves = "M-matrices: monotone from the second round on, a few rounds if the first sets come "
            "from coarser problems. Other P-matrices: finite, but up to 2^n rounds. Symmetric A "
            "must be positive definite on the rows between their bounds.",
  .ties = "None: there is no ratio test. Single exchanges use the lowest index.",
  .cost = "A sparse Cholesky factorization (LU for nonsymmetric A) of the rows between their "
          "bounds per round, and a third of it for coarser problems of a plane grid. Memory: the "
          "factor and three times A.",
  .counts = "Changes of the index sets of the problem itself, each followed by a factorization.",
};
