/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The friction ellipsoid: sliding and spinning share one bound,
 *
 *      |lambda_T|^2 / mu^2 + tau_n^2 / torsion^2 <= lambda_n^2,
 *
 * and dissipate most together (Trinkle, Pang, Sudarsky and Lo 1997, section 2; Howe and Cutkosky
 * 1996 on patches of contact), so that what spins slides more easily, as Contensou (1963) has it.
 * Stewart and Trinkle's form of it, as `polyhedral` has it of the circle, with unit vectors g_j and
 * rho = torsion / mu:
 *
 *      0 <= lambda_n  perp  n . u+ + bias                              >= 0
 *      0 <= lambda_j  perp  g_j . (t1 . u+, t2 . u+, rho n . omega+) + s >= 0
 *      0 <= s         perp  mu lambda_n - sum_j lambda_j               >= 0
 *
 * with lambda_T = sum lambda_j (g_j1, g_j2) and tau_n = rho sum lambda_j g_j3.  The g_j are the 26
 * directions to the faces, edges and corners of a cube (8 in the tangent plane where torsion = 0)
 * that is turned so that a face looks along the sliding and spinning that the step would have
 * without contact impulses: what goes on as it began has the exact law; on the way to another
 * direction it is too weak by 10 % at most.
 *
 * A pure LCP with a matrix that is not symmetric, formed, dense, and all else as in polyhedral.c: s
 * in units of the velocity that a tangential impulse makes.  In the plane it is `polyhedral`.
 * Couples against rolling are no part of it. */
#include "models/contact/laws/contact_solver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DIRECTIONS = 26, BASE = 4, SPIN = 3 }; /* base rows: n, t1, t2, spin */

struct ws {
  perp_contact_solver j; /* first */
  int r;                 /* rows of a contact in the island */
  int *row;              /* [nc + 1] first row of each contact, */
  int *spin;             /* [nc] the row of its torsion among those of the island, -1: none */
  int *other;            /* [joints] further rows that are no torsion */
  int n_other;
  double *bound; /* [nc] sum lambda_j <= bound lambda_n */
  double *sigma; /* [nc] */
  double *turn;  /* [9 nc] columns: the directions that the cube looks along */
  double *rho;   /* [nc] m */
  double *rows;  /* [BASE (DIRECTIONS + 1) nc] by contact, of each row its base coefficients */
  double *A0, *product, *A; /* island, scratch for it, the problem */
  double *b, *u, *diag;     /* [n], [m], [m] */
  double *scratch;          /* [2 nv] */
  const perp_contact_island *island;
  double *impulse, *slip;
  int cap_nc, cap_m, cap_nv;
  size_t cap_A0, cap_A;
  perp_arena arena;
};

static int elliptic_rows(int dim)
{
  return dim;
}

static perp_status elliptic_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  (void)opts, (void)dim;
  if (!(lcp->caps & PERP_LCP_NONSYMMETRIC) || (lcp->caps & PERP_LCP_BY_ROWS))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact elliptic has a nonsymmetric matrix with zeros on its diagonal: '%s' "
                     "does not support it; use --lcp lemke",
                     lcp->name);
  return PERP_OK;
}

static void elliptic_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_arena_free(&work->arena);
  free(work->A0);
  free(work->A);
  perp_contact_solver_free(work);
}

static void elliptic_settle(perp_contact_solver *j, const perp_lcp *p, double *lambda);
static double elliptic_gain(perp_contact_solver *j, const perp_lcp *p, const double *lambda);

static perp_status elliptic_create(perp_ctx *ctx, const perp_contact_setup *setup, const void *opts,
                                   void **ws)
{
  (void)opts;
  PERP_TRY(perp_contact_solver_new(ctx, setup, "elliptic", sizeof(struct ws), ws));
  struct ws *work = *ws;
  work->r = setup->dim;
  work->j.settle = elliptic_settle;
  work->j.gain = elliptic_gain;
  return PERP_OK;
}

static void elliptic_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const size_t nc = (size_t)work->cap_nc, m = (size_t)work->cap_m;
  PERP_INTS(arena, nc + 1, &work->row, &work->spin);
  work->other = PERP_CARVE(arena, int, m);
  PERP_DOUBLES(arena, nc, &work->bound, &work->sigma, &work->rho);
  work->turn = PERP_CARVE(arena, double, 9 * nc);
  work->rows = PERP_CARVE(arena, double, BASE *(DIRECTIONS + 1) * nc);
  work->product = PERP_CARVE(arena, double, 64);
  work->b = PERP_CARVE(arena, double, nc *(DIRECTIONS + 2) + m);
  PERP_DOUBLES(arena, m, &work->u, &work->diag);
  work->scratch = PERP_CARVE(arena, double, 2 * (size_t)work->cap_nv);
}

static perp_status elliptic_reserve(perp_ctx *ctx, struct ws *work,
                                    const perp_contact_island *island)
{
  const int m = work->r * island->nc + island->joints;
  const int nv = island->F != NULL ? island->F->nv : 0;
  if (island->nc <= work->cap_nc && m <= work->cap_m && nv <= work->cap_nv && work->row != NULL)
    return PERP_OK;
  if (island->nc > work->cap_nc) work->cap_nc = island->nc + island->nc / 4;
  if (m > work->cap_m) work->cap_m = m + m / 4;
  if (nv > work->cap_nv) work->cap_nv = nv + nv / 4;
  perp_status status = perp_arena_layout(ctx, &work->arena, elliptic_layout, work);
  if (status != PERP_OK) {
    work->cap_nc = work->cap_m = work->cap_nv = 0;
    work->row = NULL;
  }
  return status;
}

/* ---- directions ---- */

/* Directions of a contact: to where the signs s of a cube's axes point, which are 0 outside of the
 * space it moves in. */
static int elliptic_cube(const bool spans[3], signed char s[DIRECTIONS][3])
{
  int k = 0;
  for (int a = -spans[0]; a <= spans[0]; a++)
    for (int b = -spans[1]; b <= spans[1]; b++)
      for (int c = -spans[2]; c <= spans[2]; c++) {
        if (a == 0 && b == 0 && c == 0) continue;
        s[k][0] = (signed char)a, s[k][1] = (signed char)b, s[k++][2] = (signed char)c;
      }
  return k;
}

/* The place of signs s among them. */
static int elliptic_place(const bool spans[3], const int s[3])
{
  int at = 0, all = 1;
  for (int i = 0; i < 3; i++) {
    at = at * (spans[i] ? 3 : 1) + s[i] + spans[i];
    all *= spans[i] ? 3 : 1;
  }
  return at - (at > (all - 1) / 2);
}

/* Orthonormal columns, the first along x; the axes where x is 0. */
static void elliptic_turn(const double x[3], double Q[9])
{
  const double length = sqrt(perp_dot(3, x, x));
  memset(Q, 0, 9 * sizeof *Q);
  if (!(length > 0)) {
    Q[0] = Q[4] = Q[8] = 1;
    return;
  }
  int least = 0;
  for (int i = 1; i < 3; i++)
    if (fabs(x[i]) < fabs(x[least])) least = i;
  for (int i = 0; i < 3; i++) Q[i] = x[i] / length;
  for (int i = 0; i < 3; i++) Q[3 + i] = (i == least) - Q[least] * Q[i];
  const double second = sqrt(perp_dot(3, Q + 3, Q + 3));
  for (int i = 0; i < 3; i++) Q[3 + i] /= second;
  perp_cross(Q, Q + 3, Q + 6);
}

static bool elliptic_slides(const struct ws *work, int c)
{
  return work->island->mu[c] > 0;
}
static bool elliptic_spins(const struct ws *work, int c)
{
  return work->spin[c] >= 0;
}
/* along t1, t2 and about n */
static void elliptic_spans(const struct ws *work, int c, bool spans[3])
{
  spans[0] = elliptic_slides(work, c);
  spans[1] = elliptic_slides(work, c) && work->r == 3;
  spans[2] = elliptic_spins(work, c);
}
/* directions of contact c, after its normal row; then comes the row of s */
static int elliptic_directions(const struct ws *work, int c)
{
  const int rows = work->row[c + 1] - work->row[c];
  return rows > 1 ? rows - 2 : 0;
}
static double *elliptic_coefficients(const struct ws *work, int c)
{
  return work->rows + (size_t)BASE * (DIRECTIONS + 1) * (size_t)c;
}

/* Bound, turn and rows of contact c; the number of its rows. */
static int elliptic_contact(struct ws *w, int c)
{
  const perp_contact_island *island = w->island;
  const bool slides = elliptic_slides(w, c), spins = elliptic_spins(w, c);
  const double *b = island->b + w->r * c, *diag = w->diag + w->r * c;
  double *R = elliptic_coefficients(w, c), *Q = w->turn + 9 * c;
  signed char s[DIRECTIONS][3];
  bool spans[3];
  elliptic_spans(w, c, spans);
  memset(R, 0, BASE * sizeof *R);
  R[0] = 1;
  if (!slides && !spins) return 1;
  const double torsion = spins ? island->row_mu[w->spin[c] - w->r * island->nc] : 0;
  w->bound[c] = slides ? island->mu[c] : torsion;
  w->rho[c] = slides ? torsion / island->mu[c] : 1;
  const double slip[3] = { slides ? b[1] : 0, spans[1] ? b[2] : 0,
                           spins ? w->rho[c] * island->b[w->spin[c]] : 0 };
  if (slides && spins) {
    elliptic_turn(slip, Q);
  } else { /* in the tangent plane, or about the normal */
    const double length = spans[1] ? hypot(slip[0], slip[1]) : 0;
    const double x = length > 0 ? slip[0] / length : 1, y = length > 0 ? slip[1] / length : 0;
    memcpy(Q, (double[]){ x, y, 0, -y, x, 0, 0, 0, 1 }, 9 * sizeof *Q);
  }
  double sigma = 0;
  if (slides) sigma += diag[1];
  if (spans[1]) sigma += diag[2];
  if (spins) sigma += w->rho[c] * w->rho[c] * w->diag[w->spin[c]];
  w->sigma[c] = sigma / (spans[0] + spans[1] + spans[2]);
  const int k = elliptic_cube(spans, s);
  for (int i = 0; i < k; i++) {
    const double size = 1 / sqrt(s[i][0] * s[i][0] + s[i][1] * s[i][1] + s[i][2] * s[i][2]);
    double *to = R + BASE * (i + 1);
    to[0] = 0;
    for (int q = 0; q < 3; q++)
      to[1 + q] = size * (Q[q] * s[i][0] + Q[3 + q] * s[i][1] + Q[6 + q] * s[i][2]);
    to[3] *= w->rho[c];
  }
  return k + 2;
}

/* ---- the problem ---- */

/* base rows of an item: a contact, or after them a further row */
static int elliptic_base(const struct ws *work, int item, int at[BASE])
{
  const int nc = work->island->nc;
  if (item >= nc) {
    at[0] = work->other[item - nc];
    return 1;
  }
  for (int i = 0; i < work->r; i++) at[i] = work->r * item + i;
  if (work->spin[item] < 0) return work->r;
  at[SPIN] = work->spin[item];
  return BASE;
}

/* its rows in terms of them, and how many but for s */
static const double *elliptic_item(const struct ws *work, int item, int *rows, int *first)
{
  static const double one[BASE] = { 1 };
  const int nc = work->island->nc;
  *rows = item < nc ? elliptic_directions(work, item) + 1 : 1;
  *first = item < nc ? work->row[item] : work->row[nc] + item - nc;
  return item < nc ? elliptic_coefficients(work, item) : one;
}

static void elliptic_fill(struct ws *work, const double *A0, int ld0, int n)
{
  const perp_contact_island *island = work->island;
  const int items = island->nc + work->n_other;
  double half[BASE * (DIRECTIONS + 1)];
  int a[BASE], b[BASE], na, nb, first_a, first_b;
  memset(work->A, 0, (size_t)n * (size_t)n * sizeof *work->A);
  for (int item = 0; item < items; item++) {
    const double *Rb = elliptic_item(work, item, &nb, &first_b);
    const int wide = elliptic_base(work, item, b);
    for (int I = 0; I < items; I++) {
      const double *Ra = elliptic_item(work, I, &na, &first_a);
      const int high = elliptic_base(work, I, a);
      for (int j = 0; j < nb; j++)
        for (int y = 0; y < high; y++) {
          double sum = 0;
          for (int z = 0; z < wide; z++)
            sum += A0[(size_t)a[y] + (size_t)b[z] * (size_t)ld0] * Rb[BASE * j + z];
          half[BASE * j + y] = sum;
        }
      for (int j = 0; j < nb; j++)
        for (int i = 0; i < na; i++) {
          double sum = 0;
          for (int y = 0; y < high; y++) sum += Ra[BASE * i + y] * half[BASE * j + y];
          work->A[(size_t)(first_a + i) + (size_t)(first_b + j) * (size_t)n] = sum;
        }
    }
    if (item >= island->nc || nb == 1) continue;
    const size_t s = (size_t)(first_b + nb), N = (size_t)n, normal = (size_t)first_b;
    for (size_t i = 1; i < (size_t)nb; i++) {
      work->A[normal + i + s * N] = work->sigma[item];
      work->A[s + (normal + i) * N] = -work->sigma[item];
    }
    work->A[s + normal * N] = work->sigma[item] * work->bound[item];
  }
}

/* Multipliers of a contact from its impulse x: in the frame of the cube the face, edge and corner
 * beside it carry it. */
static void elliptic_spread(const struct ws *work, int c, const double *impulse, double *lambda)
{
  static const double size[3] = { 1, M_SQRT2, 1.7320508075688772 };
  bool spans[3];
  elliptic_spans(work, c, spans);
  const double *x = impulse + work->r * c, *Q = work->turn + 9 * c;
  const double g[3] = { spans[0] ? x[1] : 0, spans[1] ? x[2] : 0,
                        spans[2] ? impulse[work->spin[c]] / work->rho[c] : 0 };
  double part[3];
  int order[3] = { 0, 1, 2 }, s[3] = { 0, 0, 0 };
  for (int i = 0; i < 3; i++) part[i] = perp_dot(3, Q + 3 * i, g);
  for (int i = 0; i < 3; i++)
    for (int l = i + 1; l < 3; l++)
      if (fabs(part[order[l]]) > fabs(part[order[i]])) {
        const int swap = order[i];
        order[i] = order[l];
        order[l] = swap;
      }
  for (int i = 0; i < 3; i++) {
    const double next = i < 2 ? fabs(part[order[i + 1]]) : 0;
    const double share = fabs(part[order[i]]) - next;
    if (part[order[i]] == 0) break;
    s[order[i]] = part[order[i]] > 0 ? 1 : -1;
    if (share > 0) lambda[1 + elliptic_place(spans, s)] = size[i] * share;
  }
}

static void elliptic_gather(const struct ws *work, const double *lambda, double *impulse,
                            double *slip)
{
  const int nc = work->island->nc;
  for (int c = 0; c < nc; c++) {
    const int k = elliptic_directions(work, c);
    const double *x = lambda + work->row[c], *R = elliptic_coefficients(work, c);
    double sum[BASE] = { x[0] };
    for (int i = 1; i <= k; i++)
      for (int q = 1; q < BASE; q++) sum[q] += R[BASE * i + q] * x[i];
    memcpy(impulse + work->r * c, sum, (size_t)work->r * sizeof *sum);
    if (work->spin[c] >= 0) impulse[work->spin[c]] = sum[3];
    slip[c] = k > 0 ? work->sigma[c] * x[k + 1] : 0;
  }
  for (int i = 0; i < work->n_other; i++) impulse[work->other[i]] = lambda[work->row[nc] + i];
}

/* w and row scales at the impulses, and the least s that w >= 0 allows (polyhedral.c). */
static void elliptic_slack(struct ws *w, double *lambda, double *y, double *a)
{
  const perp_contact_island *island = w->island;
  const int nc = island->nc, m = w->r * nc + island->joints;
  const perp_lcp base = {
    .n = m, .A = island->A, .lda = island->lda, .F = island->F, .b = island->b
  };
  perp_lcp_product(&base, w->impulse, w->u, w->scratch);
  for (int c = 0; c < nc; c++) {
    const int at = w->row[c], k = elliptic_directions(w, c);
    const double *R = elliptic_coefficients(w, c), *u = w->u + w->r * c;
    y[at] = u[0];
    a[at] = w->diag[w->r * c];
    if (k == 0) continue;
    double sum = 0, s = 0;
    for (int i = 1; i <= k; i++) {
      const double spin = w->spin[c] >= 0 ? R[BASE * i + 3] * w->u[w->spin[c]] : 0;
      y[at + i] = R[BASE * i + 1] * u[1] + (w->r == 3 ? R[BASE * i + 2] * u[2] : 0) + spin;
      a[at + i] = w->sigma[c];
      sum += lambda[at + i];
      s = fmax(s, -y[at + i]);
    }
    for (int i = 1; i <= k; i++) y[at + i] += s;
    lambda[at + k + 1] = s / w->sigma[c];
    y[at + k + 1] = w->sigma[c] * (w->bound[c] * lambda[at] - sum);
    a[at + k + 1] = w->sigma[c];
  }
  for (int i = 0; i < w->n_other; i++) {
    y[w->row[nc] + i] = w->u[w->other[i]];
    a[w->row[nc] + i] = w->diag[w->other[i]];
  }
}

static void elliptic_settle(perp_contact_solver *solver, const perp_lcp *lcp, double *lambda)
{
  struct ws *work = (struct ws *)solver;
  elliptic_gather(work, lambda, work->impulse, work->slip);
  elliptic_slack(work, lambda, solver->w, solver->a);
  perp_lcp_scales(lcp, solver->a, NULL);
}

/* What the answer gives and leaves, of the problem itself: s does no work. */
static double elliptic_gain(perp_contact_solver *solver, const perp_lcp *lcp, const double *lambda)
{
  perp_lcp_product(lcp, lambda, solver->w, solver->scratch);
  return perp_lcp_gain(lcp, solver->a, solver->mass, lambda, solver->w, solver->none, solver->w0,
                       solver->scratch);
}

/* Bounds, b, guess and what the rows are. */
static void elliptic_prepare(struct ws *work, const double *impulse)
{
  const perp_contact_island *island = work->island;
  perp_contact_solver *solver = &work->j;
  const int nc = island->nc;
  for (int c = 0; c < nc; c++) {
    const int at = work->row[c], k = elliptic_directions(work, c);
    const double *R = elliptic_coefficients(work, c), *b = island->b + work->r * c;
    for (int i = 0; i < (k > 0 ? k + 2 : 1); i++) {
      solver->lo[at + i] = 0, solver->hi[at + i] = HUGE_VAL;
      solver->contact_of[at + i] = k > 0 ? c : -1;
      solver->unit[at + i] = 1;
      solver->lambda[at + i] = 0;
      work->b[at + i] = 0;
    }
    if (island->lo != NULL) solver->lo[at] = island->lo[c];
    work->b[at] = b[0];
    solver->lambda[at] = impulse[work->r * c];
    if (k == 0) continue;
    solver->unit[at + k + 1] = work->diag[work->r * c] / work->sigma[c];
    for (int i = 1; i <= k; i++)
      work->b[at + i] = R[BASE * i + 1] * b[1] + (work->r == 3 ? R[BASE * i + 2] * b[2] : 0) +
                        (work->spin[c] >= 0 ? R[BASE * i + 3] * island->b[work->spin[c]] : 0);
    elliptic_spread(work, c, impulse, solver->lambda + at);
  }
  for (int i = 0; i < work->n_other; i++) {
    const int at = work->row[nc] + i;
    perp_contact_row_bounds(island, work->other[i] - work->r * nc, &solver->lo[at],
                            &solver->hi[at]);
    work->b[at] = island->b[work->other[i]];
    solver->unit[at] = 1;
    solver->contact_of[at] = -1;
    solver->lambda[at] = impulse[work->other[i]];
  }
}

static perp_status elliptic_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                                  double *impulse, double *slip, perp_contact_count *count)
{
  struct ws *work = ws;
  perp_contact_solver *solver = &work->j;
  const int nc = island->nc, lda = work->r * nc + island->joints;
  double largest = 0, rel;
  PERP_TRY(elliptic_reserve(ctx, work, island));
  work->island = island;
  work->impulse = impulse;
  work->slip = slip;
  solver->mass = island->mass;
  for (int i = 0; i < lda; i++) largest = fmax(largest, island->diag[i]);
  for (int i = 0; i < lda; i++)
    work->diag[i] = island->diag[i] > 0 ? island->diag[i] : largest > 0 ? largest : 1;
  for (int c = 0; c < nc; c++) work->spin[c] = -1;
  work->n_other = 0;
  for (int joint = 0; joint < island->joints; joint++)
    if (island->row_of != NULL && island->row_of[joint] >= 0)
      work->spin[island->row_of[joint]] = work->r * nc + joint;
    else
      work->other[work->n_other++] = work->r * nc + joint;
  work->row[0] = 0;
  for (int c = 0; c < nc; c++) work->row[c + 1] = work->row[c] + elliptic_contact(work, c);
  const int n = work->row[nc] + work->n_other;
  PERP_TRY(perp_contact_solver_reserve(ctx, solver, n, island->F != NULL ? island->F->nv : 0));
  elliptic_prepare(work, impulse);
  perp_lcp lcp = { .n = n,
                   .b = work->b,
                   .unit = solver->unit,
                   .contact_of = solver->contact_of,
                   .lo = solver->lo,
                   .hi = solver->hi,
                   .tol_data = solver->setup.tol_data };
  bool pure = work->n_other == 0;
  for (int c = 0; c < nc && pure; c++) pure = island->lo == NULL || island->lo[c] == 0;
  if (pure) lcp.lo = lcp.hi = NULL;
  elliptic_slack(work, solver->lambda, solver->w, solver->a);
  if (perp_contact_solver_reuse(solver, &lcp, island->reuse, solver->a, solver->lambda, solver->w,
                                &rel, count)) {
    elliptic_gather(work, solver->lambda, impulse, slip);
    return PERP_OK;
  }
  if (n > PERP_DENSE_ROWS) {
    perp_stats stats;
    perp_lcp_rate(&lcp, solver->a, solver->lambda, solver->w, &stats.residual, &stats.data);
    perp_contact_solver_refused(&stats, count);
    return PERP_OK;
  }
  const double *A0 = island->A;
  int ld0 = island->lda;
  PERP_TRY(perp_contact_solver_square(ctx, &work->A, &work->cap_A, n));
  if (island->F != NULL) {
    PERP_TRY(perp_contact_solver_square(ctx, &work->A0, &work->cap_A0, lda));
    perp_blocks_delassus(island->F, work->A0, lda, work->product);
    A0 = work->A0;
    ld0 = lda;
  }
  elliptic_fill(work, A0, ld0, n);
  lcp.A = work->A;
  lcp.lda = n;
  PERP_TRY(perp_contact_solver_solve(ctx, solver, &lcp, island, rel, solver->lambda, count));
  elliptic_gather(work, solver->lambda, impulse, slip);
  return PERP_OK;
}

const perp_contact_desc perp_contact_elliptic = {
  .d = { .name = "elliptic",
         .summary = "Friction ellipsoid: sliding and spinning share one bound (Contensou), 26 "
                    "directions along the motion",
         .reference = "Trinkle, Pang, Sudarsky and Lo 1997, section 2; Contensou 1963; Howe and "
                      "Cutkosky 1996",
         .equation = "|lambda_T|^2 / mu^2 + tau_n^2 / torsion^2 <= lambda_n^2, dissipating most",
         .caps = PERP_CONTACT_FRICTION | PERP_CONTACT_DENSE | PERP_CONTACT_SPIN },
  .rows = elliptic_rows,
  .fits = elliptic_fits,
  .create = elliptic_create,
  .solve = elliptic_solve,
  .observe = perp_contact_solver_observe,
  .destroy = elliptic_destroy,
};
