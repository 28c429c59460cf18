/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The convex relaxation of Coulomb friction (Anitescu 2006; of engines Tasora and Anitescu 2011,
 * SAP of Castro et al. 2022, MuJoCo's pyramidal cone of Todorov 2014): the impulse is in the
 * friction cone, u+ in the dual one,
 *
 *      lambda in K,   (u_n + bias, u_T) in K*,   lambda . (u_n + bias, u_T) = 0
 *
 *      K = { |lambda_T| <= mu lambda_n }
 *
 * which are the conditions of a convex programme, min lambda' A lambda / 2 + b' lambda over K.
 * Coulomb's law has u_n + mu |u_T| where this has u_n.  The generators d_k = n + mu t_k span K,
 * with the n_d directions t_k of `polyhedral`:
 *
 *      0 <= beta_k  perp  d_k . u+ + bias >= 0
 *
 *      lambda_n = sum beta_k,   lambda_T = mu sum beta_k t_k
 *
 * a pure LCP with the symmetric semidefinite matrix D' A D, D the generators of all contacts.  It
 * has a solution wherever some u+ has all d_k . u+ + bias >= 0, and the velocities are unique.  Its
 * rank is at most three for n_d rows a contact: for methods that serve semidefinite matrices.  A
 * contact with mu = 0 has the row n only.
 *
 * The price: where a contact slides, u_n + bias = mu |u_T|.  With bias = gap / h a body that slides
 * floats, at the end of each step
 *
 *      gap = mu |u_T| h
 *
 * above the surface (from u_n = (gap+ - gap) / h), first order in h, under the right normal force.
 * Where sliding begins at once (a body set down at a speed, an impact along the surface) it leaves
 * with u_n = mu |u_T|, whatever h is, and hops.  On springs and dampers a body that slides and
 * still presses them in is mu |u_T| (h + c / k) higher than at rest.  Restitution: u_n = -e u_n- +
 * mu |u_T|. Refused is what has no such meaning: gap = false (each step that a contact slides would
 * throw it off), least normal impulses (Poisson's impacts), and accelerations.
 *
 * Factored islands stay factored, with n_d rows a contact; those with soft contacts, whose S is no
 * longer diagonal, and those whose joints are eliminated are formed, dense. */
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
                                        "Number of generators of the friction cone, even or odd. "
                                        "In the plane there are always two."),
                                    PERP_OPTIONS_END };

typedef struct convex_size {
  int nc, n, groups, blocks, numbers;
} convex_size;

struct ws {
  perp_contact_solver j; /* first */
  int dim;
  perp_directions along;
  int *row;                                /* [nc + 1] first row of each contact */
  double *b, *diag;                        /* [n] */
  int *cptr, *joff;                        /* [groups + 1], [blocks + 1] of the factored problem, */
  double *J, *s;                           /* its numbers and [n] */
  double product[6 * PERP_DIRECTIONS_MAX]; /* scratch */
  double *A;
  size_t cap_A;
  convex_size cap;
  perp_arena arena;
};

static int convex_rows(int dim)
{
  return dim;
}

static perp_status convex_fits(perp_ctx *ctx, const void *opts, int dim, const perp_desc *lcp)
{
  const struct opts *chosen = opts;
  if (dim == 3 && !(lcp->caps & PERP_LCP_SEMIDEFINITE))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact convex has a matrix of rank three for %d rows per contact: '%s' does "
                     "not support semidefinite matrices; use --lcp dantzig",
                     chosen->directions, lcp->name);
  return PERP_OK;
}

static void convex_destroy(void *ws)
{
  struct ws *work = ws;
  if (work == NULL) return;
  perp_arena_free(&work->arena);
  free(work->A);
  perp_contact_solver_free(work);
}

static perp_status convex_create(perp_ctx *ctx, const perp_contact_setup *setup, const void *opts,
                                 void **ws)
{
  PERP_TRY(perp_contact_solver_new(ctx, setup, "convex", sizeof(struct ws), ws));
  struct ws *work = *ws;
  work->dim = setup->dim;
  perp_directions_set(&work->along, work->dim, ((const struct opts *)opts)->directions);
  return PERP_OK;
}

/* ---- memory ---- */

static void convex_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const convex_size *cap = &work->cap;
  work->row = PERP_CARVE(arena, int, cap->nc + 1);
  PERP_DOUBLES(arena, (size_t)cap->n, &work->b, &work->diag, &work->s);
  work->cptr = PERP_CARVE(arena, int, cap->groups + 1);
  work->joff = PERP_CARVE(arena, int, cap->blocks + 1);
  work->J = PERP_CARVE(arena, double, cap->numbers);
}

static bool convex_grow(int *have, int need)
{
  if (need <= *have) return false;
  *have = need + need / 4;
  return true;
}

/* Room for an island all of whose contacts have friction. */
static perp_status convex_reserve(perp_ctx *ctx, struct ws *work, const perp_contact_island *island)
{
  const perp_blocks *F = island->F;
  convex_size *cap = &work->cap;
  const int k = work->along.k;
  bool more = convex_grow(&cap->nc, island->nc);
  more |= convex_grow(&cap->n, k * island->nc + island->joints);
  if (F != NULL) {
    const int blocks = F->jptr[F->nc], contacts = F->joff[F->jptr[island->nc]];
    more |= convex_grow(&cap->groups, F->nc);
    more |= convex_grow(&cap->blocks, blocks);
    more |= convex_grow(&cap->numbers, contacts / work->dim * k + F->joff[blocks] - contacts);
  }
  perp_status status = more || work->row == NULL
                           ? perp_arena_layout(ctx, &work->arena, convex_layout, work)
                           : PERP_OK;
  if (status != PERP_OK) {
    work->cap = (convex_size){ 0 };
    work->row = NULL;
  }
  return status;
}

/* ---- the problem ---- */

/* rows of contact c: 1 or n_d */
static int convex_rows_of(const struct ws *work, int c)
{
  return work->row[c + 1] - work->row[c];
}

/* Generators of a contact in (n, t1, t2), one after the other; returns how many.  A row that is no
 * contact is one, too. */
static int convex_generators(const struct ws *work, double mu, double *C)
{
  if (!(mu > 0)) {
    C[0] = 1, C[1] = C[2] = 0;
    return 1;
  }
  for (int i = 0; i < work->along.k; i++) {
    C[3 * i] = 1;
    for (int q = 0; q < 2; q++) C[3 * i + 1 + q] = mu * work->along.d[q][i];
  }
  return work->along.k;
}

/* A = D' A_0 D of a dense island. */
static void convex_fill(struct ws *work, const perp_contact_island *island, int n)
{
  double Ca[3 * PERP_DIRECTIONS_MAX], Cb[3 * PERP_DIRECTIONS_MAX];
  const int r = work->dim, nc = island->nc, items = nc + island->joints;
  const size_t ld = (size_t)island->lda;
  for (int item = 0; item < items; item++) {
    const int jc = item < nc ? item : nc, j0 = r * jc + item - jc, j = work->row[jc] + item - jc;
    const int nb = convex_generators(work, item < nc ? island->mu[item] : 0, Cb);
    for (int I = 0; I < items; I++) {
      const int ic = I < nc ? I : nc, i0 = r * ic + I - ic, i = work->row[ic] + I - ic;
      const int na = convex_generators(work, I < nc ? island->mu[I] : 0, Ca);
      perp_directions_expand(Ca, na, I < nc ? r : 1, Cb, nb, item < nc ? r : 1,
                             island->A + (size_t)i0 + ld * (size_t)j0, island->lda,
                             work->A + (size_t)i + (size_t)n * (size_t)j, n);
    }
  }
}

/* J = D' J_0, with the softness of what is no contact; true: contacts have some that is left out.
 */
static bool convex_factored(struct ws *w, const perp_contact_island *island, int n, perp_blocks *F)
{
  double C[3 * PERP_DIRECTIONS_MAX];
  const perp_blocks *F0 = island->F;
  const int r = w->dim, nc = island->nc;
  bool soft = false;
  int at = 0;
  *F = *F0;
  F->m = n;
  F->cptr = w->cptr;
  F->joff = w->joff;
  F->J = w->J;
  F->s = F0->s != NULL ? w->s : NULL;
  for (int g = 0; g < F0->nc; g++) {
    const int row0 = F0->cptr[g], rows0 = F0->cptr[g + 1] - row0;
    const int row = g < nc ? w->row[g] : w->row[nc] + row0 - r * nc;
    const int rows = g < nc ? convex_generators(w, island->mu[g], C) : rows0;
    w->cptr[g] = row;
    for (int q = F0->jptr[g]; q < F0->jptr[g + 1]; q++) {
      const double *J0 = F0->J + F0->joff[q];
      const int columns = (F0->joff[q + 1] - F0->joff[q]) / rows0;
      double *J = w->J + at;
      w->joff[q] = at;
      at += rows * columns;
      if (g >= nc) {
        memcpy(J, J0, (size_t)(rows * columns) * sizeof *J);
        continue;
      }
      for (int l = 0; l < columns; l++)
        for (int i = 0; i < rows; i++) {
          double sum = 0;
          for (int y = 0; y < r; y++) sum += C[3 * i + y] * J0[y + l * r];
          J[i + l * rows] = sum;
        }
    }
    for (int i = 0; i < rows && F0->s != NULL; i++) w->s[row + i] = g < nc ? 0 : F0->s[row0 + i];
    for (int y = 0; g < nc && y < r && F0->s != NULL; y++) soft |= F0->s[row0 + y] > 0;
  }
  w->cptr[F0->nc] = n;
  w->joff[F0->jptr[F0->nc]] = at;
  return soft;
}

/* A += D' S D of the contacts. */
static void convex_soften(struct ws *work, const perp_contact_island *island, int n)
{
  double C[3 * PERP_DIRECTIONS_MAX];
  for (int c = 0; c < island->nc; c++) {
    const double *s = island->F->s + work->dim * c;
    const int k = convex_generators(work, island->mu[c], C), at = work->row[c];
    for (int j = 0; j < k; j++)
      for (int i = 0; i < k; i++)
        for (int y = 0; y < work->dim; y++)
          work->A[(size_t)(at + i) + (size_t)n * (size_t)(at + j)] += C[3 * i + y] * s[y] *
                                                                      C[3 * j + y];
  }
}

/* ---- impulses ---- */

/* Multipliers of an impulse: the two generators beside it carry its tangential part, and what is
 * missing in the normal comes from one of them and its opposite.  An impulse outside of the cone is
 * drawn in. */
static void convex_spread(const struct ws *work, double mu, int rows, const double *impulse,
                          double *beta)
{
  const int k = work->along.k;
  const double normal = fmax(impulse[0], 0);
  int at[2];
  double part[2];
  for (int row = 0; row < rows; row++) beta[row] = 0;
  beta[0] = normal;
  if (rows == 1) return;
  perp_directions_beside(&work->along, impulse[1] / mu, work->dim == 3 ? impulse[2] / mu : 0, at,
                         part);
  const double sum = part[0] + part[1], scale = sum > normal ? normal / sum : 1;
  const double rest = fmax(normal - scale * sum, 0) / 2;
  beta[0] = 0;
  beta[at[0]] += scale * part[0] + rest;
  beta[at[1]] += scale * part[1];
  beta[(at[0] + k / 2) % k] += rest;
}

static void convex_gather(const struct ws *work, const perp_contact_island *island,
                          const double *lambda, double *impulse)
{
  const int r = work->dim, nc = island->nc;
  for (int c = 0; c < nc; c++) {
    const double *beta = lambda + work->row[c];
    const int rows = convex_rows_of(work, c);
    double *x = impulse + (size_t)r * (size_t)c;
    for (int y = 0; y < r; y++) x[y] = 0;
    for (int row = 0; row < rows; row++) {
      x[0] += beta[row];
      for (int y = 1; y < r && rows > 1; y++)
        x[y] += island->mu[c] * work->along.d[y - 1][row] * beta[row];
    }
  }
  for (int joint = 0; joint < island->joints; joint++)
    impulse[r * nc + joint] = lambda[work->row[nc] + joint];
}

/* b, bounds and guess of all rows */
static void convex_right(struct ws *work, const perp_contact_island *island, const double *impulse)
{
  double C[3 * PERP_DIRECTIONS_MAX];
  perp_contact_solver *solver = &work->j;
  const int r = work->dim, nc = island->nc;
  for (int c = 0; c < nc; c++) {
    const double *b = island->b + r * c;
    const int at = work->row[c], rows = convex_generators(work, island->mu[c], C);
    convex_spread(work, island->mu[c], rows, impulse + r * c, solver->lambda + at);
    for (int row = 0; row < rows; row++) {
      work->b[at + row] = 0;
      for (int y = 0; y < r; y++) work->b[at + row] += C[3 * row + y] * b[y];
      solver->lo[at + row] = 0, solver->hi[at + row] = HUGE_VAL;
    }
  }
  for (int joint = 0; joint < island->joints; joint++) {
    const int at = work->row[nc] + joint;
    perp_contact_row_bounds(island, joint, &solver->lo[at], &solver->hi[at]);
    work->b[at] = island->b[r * nc + joint];
    solver->lambda[at] = impulse[r * nc + joint];
  }
}

static perp_status convex_solve(perp_ctx *ctx, void *ws, const perp_contact_island *island,
                                double *impulse, double *slip, perp_contact_count *count)
{
  struct ws *w = ws;
  perp_contact_solver *j = &w->j;
  const int nc = island->nc;
  perp_blocks F;
  (void)slip;
  if (island->lo != NULL)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "contact convex does not define least normal impulses");
  PERP_TRY(convex_reserve(ctx, w, island));
  w->row[0] = 0;
  for (int c = 0; c < nc; c++) w->row[c + 1] = w->row[c] + (island->mu[c] > 0 ? w->along.k : 1);
  const int n = w->row[nc] + island->joints;
  PERP_TRY(perp_contact_solver_reserve(ctx, j, n, island->F != NULL ? island->F->nv : 0));
  convex_right(w, island, impulse);
  perp_lcp p = { .n = n, .b = w->b, .tol_data = j->setup.tol_data };
  if (island->joints > 0) p.lo = j->lo, p.hi = j->hi;
  const bool soft = island->F != NULL && convex_factored(w, island, n, &F);
  if (island->F != NULL && !soft) {
    p.F = &F;
    perp_blocks_diagonal(&F, w->diag);
  } else {
    if (n > PERP_DENSE_ROWS) {
      perp_contact_solver_refused(&(perp_stats){ .residual = HUGE_VAL, .data = HUGE_VAL }, count);
      return PERP_OK;
    }
    PERP_TRY(perp_contact_solver_square(ctx, &w->A, &w->cap_A, n));
    if (soft) {
      perp_blocks_delassus(&F, w->A, n, w->product);
      convex_soften(w, island, n);
    } else {
      convex_fill(w, island, n);
    }
    p.A = w->A;
    p.lda = n;
    for (int i = 0; i < n; i++) w->diag[i] = w->A[(size_t)i * (size_t)(n + 1)];
  }
  const perp_contact_island rows = {
    .diag = w->diag, .mass = island->mass, .reuse = island->reuse, .place = island->place
  };
  PERP_TRY(perp_contact_solver_answer(ctx, j, &p, &rows, j->lambda, count));
  convex_gather(w, island, j->lambda, impulse);
  return PERP_OK;
}

const perp_contact_desc perp_contact_convex = {
  .d = { .name = "convex",
         .summary = "Convex relaxation of Coulomb's law: one symmetric LCP, but sliding contacts "
                    "open by mu |u_T| h",
         .reference = "Anitescu 2006; Tasora and Anitescu 2011; Castro et al. 2022",
         .equation =
             "0 <= beta_k _|_ (n + mu t_k) . u+ + bias >= 0, lambda = sum beta_k (n + mu t_k)",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_CONTACT_FRICTION | PERP_CONTACT_RELAXED },
  .rows = convex_rows,
  .fits = convex_fits,
  .create = convex_create,
  .solve = convex_solve,
  .observe = perp_contact_solver_observe,
  .destroy = convex_destroy,
};
