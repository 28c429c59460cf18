/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Polyhedral friction cone (Stewart and Trinkle; Anitescu and Potra; Cline 2002, section 2.7.3;
 * STAR 2012, section 3.1.4).  k directions d_j = cos(2 pi j / k) t1 + sin(2 pi j / k) t2 span the
 * tangent plane positively; in the plane they are t1 and -t1.  Each contact has the rows n, d_1 ...
 * d_k, s:
 *
 *      0 <= lambda_n  perp  n . u+ + bias                >= 0
 *      0 <= lambda_j  perp  d_j . u+ + s                 >= 0
 *      0 <= s         perp  mu lambda_n - sum_j lambda_j >= 0
 *
 * s is the sliding speed (against the best direction).  A pure LCP whose matrix [A E; mu -E' 0] is
 * not symmetric but copositive: Lemke's method solves it where a solution exists.
 *
 * The cone is inscribed in the circular one: between two directions the resistance is too small by
 * the factor cos(pi / k), 1 / sqrt(2) for k = 4, 0.92 for k = 8.  Sliding opposite to a direction
 * is exact: with an odd k (seven in STAR 2012, figure 7), whose directions have no opposites,
 * sliding along t1 is not.
 *
 * s is counted in units of the velocity that the tangential impulse 1 makes, so that all rows have
 * one scale: the rows of s and their columns are multiplied by sigma, the mean of the tangential
 * diagonal of A.  What a row of s leaves is an impulse: as a velocity, A_nn times that of its
 * contact.  Contacts with mu = 0 have the row n only.
 *
 * The matrix is formed, dense: (k + 2)^2 numbers for each pair of contacts.
 *
 * Equations: STAR 2012, eq. 45-48; Cline 2002, eq. 2.46-2.49. */
#include "models/contact/laws/contact_solver.h"
#include "models/contact/laws/directions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct opts {
  int directions;
};
static const perp_opt options[] = { PERP_INT(
                                        struct opts, directions, 8, 3, PERP_DIRECTIONS_MAX,
                                        "Number of directions of the friction cone, even or odd. "
                                        "In the plane there are always two."),
                                    PERP_OPTIONS_END };

struct ws {
  perp_contact_solver j; /* first */
  int dim, k;
  perp_directions along;
  double rows[3 * (PERP_DIRECTIONS_MAX + 1)]; /* n and the directions in (n, t1, t2) */
  int *row;                                   /* [nc + 1] first row of each contact */
  double *sigma;                              /* [nc] */
  double *A0, *product;                       /* factored islands: (r nc)^2, and scratch for it */
  double *A, *b;                              /* the problem */
  double *u, *diag, *scratch;                 /* [r nc], [r nc], [2 nv] */
  const perp_contact_island *island;          /* that is being solved, */
  double *impulse, *slip;                     /* and what is found for it */
  int cap_nc, cap_r, cap_nv;
  size_t cap_A0, cap_A;
  perp_arena arena;
};

static int polyhedral_rows(int dim)
{
  return dim;
}

static perp_status polyhedral_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  (void)opts, (void)dim;
  if (!(lcp->caps & PERP_LCP_NONSYMMETRIC))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact polyhedral has a nonsymmetric matrix: '%s' does not support it; use "
                     "--contact box with it, or --lcp lemke",
                     lcp->name);
  if (lcp->caps & PERP_LCP_BY_ROWS)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "contact polyhedral has rows of sliding speeds with A_ii = 0, which '%s' cannot treat one "
        "by one; use --contact box with it, or --lcp lemke or block-gs",
        lcp->name);
  return PERP_OK;
}

static void polyhedral_settle(perp_contact_solver *j, const perp_lcp *p, double *lambda);
static double polyhedral_gain(perp_contact_solver *j, const perp_lcp *p, const double *lambda);

static void polyhedral_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_arena_free(&work->arena);
  free(work->A0);
  free(work->A);
  perp_contact_solver_free(work);
}

static perp_status polyhedral_create(perp_ctx *ctx, const perp_contact_setup *setup,
                                     const void *opts, void **ws)
{
  PERP_TRY(perp_contact_solver_new(ctx, setup, "polyhedral", sizeof(struct ws), ws));
  struct ws *work = *ws;
  work->dim = setup->dim;
  perp_directions_set(&work->along, work->dim, ((const struct opts *)opts)->directions);
  work->k = work->along.k;
  work->rows[0] = 1;
  for (int i = 0; i < work->k; i++)
    for (int q = 0; q < 2; q++) work->rows[3 * (i + 1) + 1 + q] = work->along.d[q][i];
  work->j.settle = polyhedral_settle;
  work->j.gain = polyhedral_gain;
  return PERP_OK;
}

/* ---- memory ---- */

static void polyhedral_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  work->row = PERP_CARVE(arena, int, work->cap_nc + 1);
  work->sigma = PERP_CARVE(arena, double, work->cap_nc);
  PERP_DOUBLES(arena, work->cap_r, &work->u, &work->diag);
  work->product = PERP_CARVE(arena, double, 64);
  work->b = PERP_CARVE(arena, double,
                       (size_t)work->cap_nc *(size_t)(work->k + 2) + (size_t)work->cap_r);
  work->scratch = PERP_CARVE(arena, double, 2 * (size_t)work->cap_nv);
}

static perp_status polyhedral_reserve(perp_ctx *ctx, struct ws *work,
                                      const perp_contact_island *island)
{
  const int r = work->dim * island->nc + island->joints, nv = island->F != NULL ? island->F->nv : 0;
  if (island->nc <= work->cap_nc && r <= work->cap_r && nv <= work->cap_nv) return PERP_OK;
  if (island->nc > work->cap_nc) work->cap_nc = island->nc + island->nc / 4;
  if (r > work->cap_r) work->cap_r = r + r / 4;
  if (nv > work->cap_nv) work->cap_nv = nv + nv / 4;
  perp_status status = perp_arena_layout(ctx, &work->arena, polyhedral_layout, work);
  if (status != PERP_OK) {
    work->cap_nc = work->cap_r = work->cap_nv = 0;
    return status;
  }
  return PERP_OK;
}

/* ---- the problem ---- */

/* rows of contact c: 1 or k + 2 */
static int rows_of(const struct ws *work, int c)
{
  return work->row[c + 1] - work->row[c];
}

static void polyhedral_fill(struct ws *work, const perp_contact_island *island, const double *A0,
                            int ld0, int n)
{
  const int r = work->dim, nc = island->nc, k = work->k, items = nc + island->joints;
  memset(work->A, 0, (size_t)n * (size_t)n * sizeof *work->A);
  for (int item = 0; item < items; item++) {
    int jbase = item < nc ? r * item : r * nc + item - nc, jr = item < nc ? r : 1;
    int jrow = item < nc ? work->row[item] : work->row[nc] + item - nc;
    int jn = item < nc && rows_of(work, item) > 1 ? k + 1 : 1;
    for (int I = 0; I < items; I++) {
      int ibase = I < nc ? r * I : r * nc + I - nc, ir = I < nc ? r : 1;
      int irow = I < nc ? work->row[I] : work->row[nc] + I - nc;
      int in = I < nc && rows_of(work, I) > 1 ? k + 1 : 1;
      perp_directions_expand(work->rows, in, ir, work->rows, jn, jr,
                             A0 + ibase + (size_t)jbase * (size_t)ld0, ld0,
                             work->A + irow + (size_t)jrow * (size_t)n, n);
    }
    if (jn == 1) continue;
    int s = jrow + k + 1;
    double sigma = work->sigma[item];
    for (int i = 1; i <= k; i++) {
      work->A[jrow + i + (size_t)s * (size_t)n] = sigma;
      work->A[s + (size_t)(jrow + i) * (size_t)n] = -sigma;
    }
    work->A[s + (size_t)jrow * (size_t)n] = sigma * island->mu[item];
  }
}

/* Multipliers of a contact from its impulse: the two directions beside it carry it. */
static void polyhedral_spread(const struct ws *work, const double *impulse, double *lambda)
{
  lambda[0] = impulse[0];
  for (int i = 1; i <= work->k; i++) lambda[i] = 0;
  int at[2];
  double part[2];
  perp_directions_beside(&work->along, impulse[1], work->dim == 3 ? impulse[2] : 0, at, part);
  for (int i = 0; i < 2; i++)
    if (part[i] > 0) lambda[1 + at[i]] = part[i];
}

static void polyhedral_speeds(const struct ws *work, const perp_contact_island *island,
                              const double *lambda, double *slip)
{
  for (int c = 0; c < island->nc; c++)
    slip[c] = rows_of(work, c) > 1 ? work->sigma[c] * lambda[work->row[c] + work->k + 1] : 0;
}

static void polyhedral_gather(const struct ws *work, const perp_contact_island *island,
                              const double *lambda, double *impulse, double *slip)
{
  const int r = work->dim, nc = island->nc;
  for (int c = 0; c < nc; c++) {
    const double *x = lambda + work->row[c];
    double *y = impulse + (size_t)r * (size_t)c;
    y[0] = x[0];
    for (int q = 1; q < r; q++) y[q] = 0;
    if (rows_of(work, c) == 1) continue;
    for (int i = 0; i < work->k; i++)
      for (int q = 1; q < r; q++) y[q] += work->along.d[q - 1][i] * x[1 + i];
  }
  polyhedral_speeds(work, island, lambda, slip);
  for (int joint = 0; joint < island->joints; joint++)
    impulse[r * nc + joint] = lambda[work->row[nc] + joint];
}

/* w and row scales of the problem at the impulses, without the matrix.  lambda: those of the
 * impulses, and out: the sliding speeds.  These are the least that w >= 0 allows, max_j -d_j . u+
 * or 0, whatever the solver has found: every solution has them, but where a contact has no force
 * any larger one would do as well, and one of 1e9 m/s would make all impulses next to it look like
 * rounding. */
static void polyhedral_slack(struct ws *w, const perp_contact_island *island, const double *impulse,
                             double *lambda, double *y, double *a)
{
  const int r = w->dim, nc = island->nc, m = r * nc + island->joints, k = w->k;
  perp_lcp base = { .n = m, .A = island->A, .lda = island->lda, .F = island->F, .b = island->b };
  perp_lcp_product(&base, impulse, w->u, w->scratch);
  for (int c = 0; c < nc; c++) {
    int at = w->row[c];
    double *u = w->u + r * c;
    y[at] = u[0];
    a[at] = w->diag[r * c];
    if (rows_of(w, c) == 1) continue;
    double sum = 0, s = 0;
    for (int i = 1; i <= k; i++) {
      y[at + i] = w->along.d[0][i - 1] * u[1] + (r == 3 ? w->along.d[1][i - 1] * u[2] : 0);
      a[at + i] = w->sigma[c];
      sum += lambda[at + i];
      s = fmax(s, -y[at + i]);
    }
    for (int i = 1; i <= k; i++) y[at + i] += s;
    lambda[at + k + 1] = s / w->sigma[c];
    y[at + k + 1] = w->sigma[c] * (island->mu[c] * lambda[at] - sum);
    a[at + k + 1] = w->sigma[c];
  }
  for (int joint = 0; joint < island->joints; joint++) {
    y[w->row[nc] + joint] = w->u[r * nc + joint];
    a[w->row[nc] + joint] = w->diag[r * nc + joint];
  }
}

static void polyhedral_settle(perp_contact_solver *solver, const perp_lcp *lcp, double *lambda)
{
  struct ws *work = (struct ws *)solver;
  polyhedral_gather(work, work->island, lambda, work->impulse, work->slip);
  polyhedral_slack(work, work->island, work->impulse, lambda, solver->w, solver->a);
  perp_lcp_scales(lcp, solver->a, NULL);
}

/* The island with circular cones: without the rows of s, and not formed.  Its arrays follow those
 * of the n rows of the model. */
static perp_lcp plain_problem(struct ws *work, const perp_contact_island *island, int n)
{
  perp_contact_solver *solver = &work->j;
  const int r = work->dim, nc = island->nc, m = r * nc + island->joints;
  double *lo = solver->lo + n, *hi = solver->hi + n, *mu = solver->mu + n;
  int *fric_of = solver->fric_of + n;
  signed char *cone = solver->cone + n;
  for (int i = 0; i < m; i++) {
    int k = i < r * nc ? i % r : -1;
    lo[i] = k == 0 && island->lo != NULL ? island->lo[i / r] : 0;
    hi[i] = HUGE_VAL;
    if (k < 0) perp_contact_row_bounds(island, i - r * nc, &lo[i], &hi[i]);
    fric_of[i] = k > 0 ? i - k : -1;
    mu[i] = k > 0 ? island->mu[i / r] : 0;
    cone[i] = r == 3 && k == 1;
  }
  return (perp_lcp){ .n = m,
                     .A = island->A,
                     .lda = island->lda,
                     .F = island->F,
                     .b = island->b,
                     .lo = lo,
                     .hi = hi,
                     .fric_of = fric_of,
                     .mu = mu,
                     .cone = r == 3 ? cone : NULL };
}

static double polyhedral_gain(perp_contact_solver *solver, const perp_lcp *lcp,
                              const double *lambda)
{
  struct ws *work = (struct ws *)solver;
  perp_lcp plain = plain_problem(work, work->island, lcp->n);
  polyhedral_gather(work, work->island, lambda, work->impulse, work->slip);
  perp_lcp_product(&plain, work->impulse, solver->w, solver->scratch);
  return perp_lcp_gain(&plain, work->diag, solver->mass, work->impulse, solver->w, solver->none,
                       solver->w0, solver->scratch);
}

static perp_status polyhedral_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                                    double *impulse, double *slip, perp_contact_count *count)
{
  struct ws *w = ws;
  perp_contact_solver *j = &w->j;
  const int r = w->dim, nc = island->nc, m = r * nc + island->joints, k = w->k;
  PERP_TRY(polyhedral_reserve(ctx, w, island));
  w->row[0] = 0;
  for (int c = 0; c < nc; c++) w->row[c + 1] = w->row[c] + (island->mu[c] > 0 ? k + 2 : 1);
  const int n = w->row[nc] + island->joints;
  PERP_TRY(perp_contact_solver_reserve(ctx, j, n + m, island->F != NULL ? island->F->nv : 0));

  double largest = 0;
  j->mass = island->mass;
  for (int i = 0; i < m; i++) largest = fmax(largest, island->diag[i]);
  for (int i = 0; i < m; i++)
    w->diag[i] = island->diag[i] > 0 ? island->diag[i] : largest > 0 ? largest : 1;
  bool bounded = island->joints > 0;
  for (int c = 0; c < nc; c++) {
    w->sigma[c] = w->diag[r * c + 1];
    if (r == 3) w->sigma[c] = 0.5 * (w->sigma[c] + w->diag[r * c + 2]);
    int at = w->row[c];
    j->lo[at] = 0, j->hi[at] = HUGE_VAL;
    w->b[at] = island->b[r * c];
    j->lambda[at] = impulse[r * c];
    j->unit[at] = 1;
    if (island->lo != NULL) {
      j->lo[at] = island->lo[c];
      bounded |= island->lo[c] > 0;
    }
    j->contact_of[at] = rows_of(w, c) == 1 ? -1 : c;
    if (rows_of(w, c) == 1) continue;
    polyhedral_spread(w, impulse + (size_t)r * (size_t)c, j->lambda + at);
    for (int i = 1; i <= k + 1; i++) {
      j->lo[at + i] = 0, j->hi[at + i] = HUGE_VAL;
      j->contact_of[at + i] = c;
      j->unit[at + i] = i > k ? w->diag[r * c] / w->sigma[c]
                              : 1; /* mu lambda_n - ..., an impulse */
      w->b[at + i] = i > k ? 0
                           : w->along.d[0][i - 1] * island->b[r * c + 1] +
                                 (r == 3 ? w->along.d[1][i - 1] * island->b[r * c + 2] : 0);
    }
  }
  for (int i = 0; i < island->joints; i++) {
    int at = w->row[nc] + i;
    perp_contact_row_bounds(island, i, &j->lo[at], &j->hi[at]);
    w->b[at] = island->b[r * nc + i];
    j->unit[at] = 1;
    j->contact_of[at] = -1;
    j->lambda[at] = impulse[r * nc + i];
  }

  double rel;
  perp_lcp p = {
    .n = n, .b = w->b, .unit = j->unit, .contact_of = j->contact_of, .tol_data = j->setup.tol_data
  };
  if (bounded) p.lo = j->lo, p.hi = j->hi;
  polyhedral_slack(w, island, impulse, j->lambda, j->w, j->a);
  if (perp_contact_solver_reuse(j, &p, island->reuse, j->a, j->lambda, j->w, &rel, count)) {
    polyhedral_speeds(w, island, j->lambda, slip);
    return PERP_OK;
  }

  if (n > PERP_DENSE_ROWS) {
    perp_stats stats;
    perp_lcp_rate(&p, j->a, j->lambda, j->w, &stats.residual, &stats.data);
    perp_contact_solver_refused(&stats, count);
    return PERP_OK;
  }
  const double *A0 = island->A;
  int ld0 = island->lda;
  PERP_TRY(perp_contact_solver_square(ctx, &w->A, &w->cap_A, n));
  if (island->F != NULL) {
    PERP_TRY(perp_contact_solver_square(ctx, &w->A0, &w->cap_A0, m));
    perp_blocks_delassus(island->F, w->A0, m, w->product);
    A0 = w->A0;
    ld0 = m;
  }
  polyhedral_fill(w, island, A0, ld0, n);
  p.A = w->A;
  p.lda = n;
  w->island = island;
  w->impulse = impulse;
  w->slip = slip;
  PERP_TRY(perp_contact_solver_solve(ctx, j, &p, island, rel, j->lambda, count));
  polyhedral_gather(w, island, j->lambda, impulse, slip);
  return PERP_OK;
}

const perp_contact_desc perp_contact_polyhedral = {
  .d = { .name = "polyhedral",
         .summary = "Friction cone with n_d directions and a sliding speed (Stewart and Trinkle)",
         .reference = "Cline 2002, section 2.7.3; STAR 2012, section 3.1.4",
         .equation =
             "0 <= lambda_j _|_ d_j . u+ + s >= 0, 0 <= s _|_ mu lambda_n - sum lambda_j >= 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_CONTACT_FRICTION | PERP_CONTACT_DENSE },
  .rows = polyhedral_rows,
  .fits = polyhedral_fits,
  .create = polyhedral_create,
  .solve = polyhedral_solve,
  .observe = perp_contact_solver_observe,
  .destroy = polyhedral_destroy,
};
