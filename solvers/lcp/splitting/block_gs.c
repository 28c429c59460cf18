/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Blocked Gauss-Seidel: every block of rows is solved as a small problem of its own while the
 * others rest.
 *
 *      solve the LCP of block c:   w_c = A_cc lambda_c + (b_c + sum over d != c of A_cd lambda_d),
 *
 * STAR 2012, section 4.3.3, eq. 82; the sum is added, as in 82a, where the box of the algorithm has
 * a minus. A block is a contact, that is a normal row and the friction rows that follow it, or the
 * normal, directions and slack of Stewart and Trinkle (stewart.h); a group of the factored form; or
 * a row that is none of these.  Block solvers: projection   rows one after the other, 1-D
 * projections repeated until they rest enumeration  all index sets of at most 4 boxed rows,
 * friction bounds following the normal row; the set of the last sweep first, so that a settled
 * contact costs one small elimination cone         a normal row and one circular cone: exactly, see
 * cone.c bisection    the same by bisection of the direction of sliding, see cone_bisect.c auto
 * cone where there is one, else enumeration up to 4 rows, else projection Where a block solver does
 * not apply or finds nothing, projections step in.  Contacts of Stewart and Trinkle, whose slack
 * has A_ss = 0 and cannot be projected, are solved by block_contact.c: `auto` by complementary
 * pivots, `enumeration` (up to 8 directions) by all index sets; one without a solution while the
 * others rest is left as it is. A problem is not served where it is not known which rows make such
 * a contact, or one has too many directions; and where a named block solver can act on none of its
 * contacts with friction.
 *
 * Acceleration: after the first `accelerate` sweeps, they come in pairs, forward and back, and
 * every pair starts from the extrapolated point
 *
 *      y = P(lambda_k + (theta_k - 1)/theta_k+1 (lambda_k - lambda_k-1))
 *
 *      theta_k+1 = (1 + sqrt(1 + 4 theta_k^2))/2
 *
 * with theta = 1 again where (y - lambda_k+1)' D (lambda_k+1 - lambda_k) > 0, D = diag(A_ii)
 * (O'Donoghue and Candes 2015): a symmetric sweep is a proximal step of the quadratic objective
 * (Li, Sun and Toh 2016), and Nesterov's rate holds for it without friction; with friction the
 * limits move and no theorem does.  Long stacks need it: plain sweeps take 10^5 and more where
 * rocking modes are slow.  P also brings directions of Stewart and Trinkle back to sum x_t <= mu
 * x_n; they are extrapolated only where the force went by the same ones before, and their slack
 * never, the blocks find it.
 *
 * Converges for symmetric positive definite A without friction; with friction in practice, at the
 * linear rate of Gauss-Seidel (known as NSGS in contact dynamics).  Serves cones exactly, which pgs
 * does only in the limit.  A sweep costs as pgs does plus the block solves.  No allocation beyond
 * pgs. */
#include "solvers/lcp/splitting/block_contact.h"
#include "solvers/lcp/rows/cone.h"
#include "solvers/lcp/splitting/splitting.h"
#include "solvers/lcp/stewart.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

enum { MOST = 8, ENUMERABLE = 4 }; /* rows of a block, and of one to enumerate */
enum { BLOCK_AUTO, BLOCK_PROJECTION, BLOCK_ENUMERATION, BLOCK_CONE, BLOCK_BISECTION };
enum { BY_CONTACT, BY_GROUP };
static const char *const block_names[] = { "auto", "projection", "enumeration",
                                           "cone", "bisection",  NULL };
static const char *const by_names[] = { "contact", "group", NULL };

struct opts {
  struct perp_splitting_opts s;
  int block, by, accelerate;
};

/* the rows of the shared options, seen from this struct (s is its first member) */
static const perp_opt options[] = {
  PERP_ENUM(struct opts, block, BLOCK_AUTO, block_names,
            "Solver of a block: row projections, enumeration of index sets, exact circular cone, "
            "or bisection of the sliding direction. auto: cone if there is one, else enumeration. "
            "For Stewart-Trinkle contacts auto uses complementary pivots."),
  PERP_ENUM(struct opts, by, BY_CONTACT, by_names,
            "Rows that form a block: contact (a normal row and its friction rows), or group (a "
            "group of the factored form; refused for dense A)."),
  PERP_REAL(struct perp_splitting_opts, omega, 1, 0, 2, PERP_OPEN_MIN | PERP_OPEN_MAX, "",
            "Relaxation factor of the block update."),
  PERP_INT(struct opts, accelerate, 100, 0, 1e9,
           "Number of sweeps before extrapolation starts. 0: no extrapolation. Not used with a "
           "fixed number of sweeps."),
  PERP_SPLITTING_STOP,
  PERP_SPLITTING_ORDER,
  PERP_OPTIONS_END
};

/* a block: rows index[start] ... index[start + r - 1]; its matrix at K + at, r x r, but for those
 * of Stewart and Trinkle, whose numbers are read from A */
struct block {
  int start, r, cone; /* cone: rows are (normal, t1, t2) of a cone */
  bool stewart;       /* rows are (normal, directions, slack) */
  size_t at;
  int code; /* index sets of the last sweep, base 3; -1 unknown */
};

struct ws {
  perp_splitting s; /* first */
  int block, by, accelerate, n_blocks;
  double theta;         /* Nesterov's sequence */
  double *before, *y;   /* [max_n] the answer two sweeps ago, the extrapolated point */
  struct block *blocks; /* [max_n] */
  int *index, *home;    /* [max_n] rows by block; block of a row */
  double *K;            /* [MOST max_n] */
  perp_stewart contacts;
  perp_block_contact *contact; /* the one being solved */
  signed char *state;          /* [max_n] index sets of their rows in the last sweep */
  int unsolved; /* one of the blocks that had no solution in the last sweep: its first row; -1: none
                 */
};

static void block_gs_layout(void *ws, perp_arena *arena)
{
  struct ws *work = ws;
  const size_t n = (size_t)work->s.rows.max_n;
  perp_splitting_layout(&work->s, arena);
  work->blocks = PERP_CARVE(arena, struct block, n);
  work->contact = PERP_CARVE(arena, perp_block_contact, 1);
  work->state = PERP_CARVE(arena, signed char, n);
  PERP_DOUBLES(arena, MOST * n, &work->K);
  PERP_DOUBLES(arena, n, &work->before, &work->y);
  PERP_INTS(arena, n + 1, &work->contacts.ptr);
  PERP_INTS(arena, n, &work->index, &work->home, &work->contacts.rows, &work->contacts.home);
}

static perp_status block_gs_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  const struct opts *chosen = opts;
  struct ws work = { .s = { .rows.max_n = max_n, .o = chosen->s },
                     .block = chosen->block,
                     .by = chosen->by,
                     .accelerate = chosen->s.sweeps == 0 ? chosen->accelerate : 0 };
  return perp_rows_create(ctx, "block-gs", &work, sizeof work, block_gs_layout, ws);
}

/* ---- blocks ---- */

/* The next block: r rows from place `start` of work->index on.  Its numbers follow those of the one
 * before. */
static struct block *block_gs_add(struct ws *work, int start, int r, bool stewart)
{
  struct block *block = &work->blocks[work->n_blocks];
  *block = (struct block){ .start = start, .r = r, .stewart = stewart, .code = -1 };
  if (work->n_blocks > 0)
    block->at = block[-1].at + (block[-1].stewart ? 0 : (size_t)(block[-1].r * block[-1].r));
  for (int i = start; i < start + r; i++) work->home[work->index[i]] = work->n_blocks;
  work->n_blocks++;
  return block;
}

/* Contact c of Stewart and Trinkle as a block from place `start` on; its index sets as lambda shows
 * them.  Returns the number of its rows. */
static int block_gs_add_contact(struct ws *work, int c, int start, const double *lambda)
{
  const int *row = work->contacts.rows + work->contacts.ptr[c];
  const int r = work->contacts.ptr[c + 1] - work->contacts.ptr[c];
  for (int k = 0; k < r; k++) {
    double lo, hi;
    const int i = work->index[start + k] = row[k];
    perp_lcp_bounds(work->s.rows.p, lambda, i, &lo, &hi);
    work->state[i] = lambda[i] <= lo ? PERP_ROW_LO : lambda[i] >= hi ? PERP_ROW_HI : PERP_ROW_FREE;
  }
  block_gs_add(work, start, r, true);
  return r;
}

static void block_gs_add_block(struct ws *work, int start, int r)
{
  const perp_rows *rows = &work->s.rows;
  const int *row = work->index + start;
  struct block *block = block_gs_add(work, start, r, false);
  for (int j = 0; j < r; j++)
    for (int i = 0; i < r; i++)
      work->K[block->at + (size_t)(i + j * r)] = perp_rows_entry(rows, row[i], row[j]);
  block->cone = r == 3 && rows->type[row[1]] == PERP_ROW_CONE &&
                rows->p->fric_of[row[1]] == row[0] && rows->lo[row[0]] == 0 &&
                rows->hi[row[0]] == HUGE_VAL;
}

static void block_gs_build(struct ws *work, const double *lambda)
{
  perp_rows *rows = &work->s.rows;
  const perp_lcp *lcp = rows->p;
  int n = lcp->n, at = 0;
  work->n_blocks = 0;
  if (work->by == BY_GROUP) {
    for (int i = 0; i < n; i++) work->index[i] = i;
    for (int g = 0; g < lcp->F->nc; g++)
      for (int row = lcp->F->cptr[g], end = lcp->F->cptr[g + 1]; row < end;) {
        int r = end - row < MOST ? end - row : MOST;
        if (row + r < end && rows->type[row + r] == PERP_ROW_CONE_TAIL) r--;
        block_gs_add_block(work, row, r);
        row += r;
      }
    return;
  }
  /* `home` first chains the friction rows of a normal row, `order` holds the heads */
  int *next = work->home, *head = work->s.order;
  for (int i = 0; i < n; i++) head[i] = -1;
  for (int i = n - 1; i >= 0; i--)
    if (rows->type[i] != PERP_ROW_BOUNDED) {
      next[i] = head[lcp->fric_of[i]];
      head[lcp->fric_of[i]] = i;
    }
  const int *contact_of = work->contacts.home;
  if (work->contacts.contacts > 0) rows->zero_diagonal = false; /* where it is in other rows only */
  for (int i = 0; i < n && work->contacts.contacts > 0; i++) {
    if (contact_of[i] >= 0)
      work->home[i] = -1;
    else
      rows->zero_diagonal = rows->zero_diagonal || (rows->diag[i] <= DBL_MIN && rows->inv[i] != 0);
  }
  for (int i = 0; i < n; i++) {
    if (rows->type[i] != PERP_ROW_BOUNDED) continue;
    if (contact_of[i] >= 0 && work->home[i] < 0)
      at += block_gs_add_contact(work, contact_of[i], at, lambda);
    int start = at;
    if (contact_of[i] < 0) work->index[at++] = i;
    for (int j = head[i], after; j >= 0; j = after) {
      bool full = at - start >= MOST - (rows->type[j] == PERP_ROW_CONE);
      after = next[j];
      if (full && rows->type[j] != PERP_ROW_CONE_TAIL) {
        block_gs_add_block(work, start, at - start);
        start = at;
      }
      work->index[at++] = j;
    }
    if (at > start) block_gs_add_block(work, start, at - start);
  }
}

/* ---- block solvers: x [r] in and out, w = K x + q ---- */

static void row_bounds(const struct ws *work, const struct block *block, const double *x,
                       const double *lambda, int k, double *lo, double *hi)
{
  const perp_rows *rows = &work->s.rows;
  const int *row = work->index + block->start;
  perp_rows_bounds(rows, lambda, row[k], lo, hi);
  if (rows->type[row[k]] == PERP_ROW_BOUNDED) return;
  for (int l = 0; l < block->r; l++)
    if (row[l] == rows->p->fric_of[row[k]]) *hi = rows->p->mu[row[k]] * fmax(x[l], 0);
  *lo = -*hi;
}

static void block_gs_project(struct ws *work, const struct block *block, const double *K,
                             const double *q, const double *lambda, double *x)
{
  perp_rows *rows = &work->s.rows;
  const int *row = work->index + block->start;
  int r = block->r;
  for (int sweep = 0; sweep < 50; sweep++) {
    double change = 0, size = 0;
    rows->work += r * r;
    for (int i = 0; i < r; i++) {
      int type = rows->type[row[i]], pair = type == PERP_ROW_CONE && i + 1 < r ? 2 : 1;
      double y[2], lo, hi, step = K[i + i * r] > DBL_MIN ? 1 / K[i + i * r] : rows->inv[row[i]];
      if (pair == 2) {
        double a = K[i + i * r], d = K[i + 1 + (i + 1) * r], b = K[i + 1 + i * r];
        double top = 0.5 * (a + d) + hypot(0.5 * (a - d), b);
        step = top > DBL_MIN ? 1 / top : 0;
      }
      row_bounds(work, block, x, lambda, i, &lo, &hi);
      for (int k = 0; k < pair; k++) {
        double sum = q[i + k];
        for (int j = 0; j < r; j++) sum += K[i + k + j * r] * x[j];
        y[k] = x[i + k] - step * sum;
      }
      if (pair == 2)
        perp_disc(hi, &y[0], &y[1]);
      else
        y[0] = y[0] < lo ? lo : y[0] > hi ? hi : y[0];
      for (int k = 0; k < pair; k++) {
        change = fmax(change, fabs(y[k] - x[i + k]));
        size = fmax(size, fabs(y[k]));
        x[i + k] = y[k];
      }
      i += pair - 1;
    }
    if (!(change > 1e-14 * size)) break;
  }
}

/* x for one choice of index sets (state 0 lo, 1 free, 2 hi), false when singular or not a solution
 */
static bool try_sets(const struct ws *work, const struct block *block, const double *K,
                     const double *q, const double *lambda, const int *state, double *x)
{
  const perp_rows *rows = &work->s.rows;
  const int *row = work->index + block->start;
  int r = block->r, of[ENUMERABLE];
  double M[ENUMERABLE * (ENUMERABLE + 1)], top = 0;
  for (int i = 0; i < r; i++) {
    of[i] = -1;
    if (rows->type[row[i]] != PERP_ROW_BOUNDED)
      for (int l = 0; l < r; l++)
        if (row[l] == rows->p->fric_of[row[i]]) of[i] = l;
    for (int j = 0; j < r; j++) {
      M[i + j * r] = state[i] == 1 ? K[i + j * r] : i == j;
      if (state[i] == 1) top = fmax(top, fabs(K[i + j * r]));
    }
    double rhs = -q[i], lo, hi;
    if (state[i] != 1) {
      if (of[i] >= 0) {
        M[i + of[i] * r] = state[i] == 0 ? rows->p->mu[row[i]] : -rows->p->mu[row[i]];
        rhs = 0;
      } else {
        row_bounds(work, block, x, lambda, i, &lo, &hi);
        rhs = state[i] == 0 ? lo : hi;
        if (fabs(rhs) == HUGE_VAL) return false;
      }
      top = fmax(top, 1);
    }
    M[i + r * r] = rhs;
  }
  for (int j = 0; j < r; j++) { /* elimination with row pivoting */
    int best = j;
    for (int i = j + 1; i < r; i++)
      if (fabs(M[i + j * r]) > fabs(M[best + j * r])) best = i;
    if (!(fabs(M[best + j * r]) > 1e-13 * top)) return false;
    if (best != j) cblas_dswap(r + 1 - j, M + j + j * r, r, M + best + j * r, r);
    for (int i = j + 1; i < r; i++) {
      double f = M[i + j * r] / M[j + j * r];
      for (int k = j; k <= r; k++) M[i + k * r] -= f * M[j + k * r];
    }
  }
  double y[ENUMERABLE];
  for (int i = r - 1; i >= 0; i--) {
    y[i] = M[i + r * r];
    for (int k = i + 1; k < r; k++) y[i] -= M[i + k * r] * y[k];
    y[i] /= M[i + i * r];
  }
  double size = 0;
  for (int i = 0; i < r; i++) size = fmax(size, fabs(y[i]));
  for (int i = 0; i < r; i++) {
    double lo, hi, slack = q[i], scale = fabs(q[i]);
    row_bounds(work, block, y, lambda, i, &lo, &hi);
    for (int j = 0; j < r; j++) {
      slack += K[i + j * r] * y[j];
      scale = fmax(scale, fabs(K[i + j * r] * y[j]));
    }
    /* rounding of the elimination */
    double e = 1e-12 * size, es = 1e-12 * scale;
    if (state[i] == 1   ? !(y[i] >= lo - e && y[i] <= hi + e)
        : state[i] == 0 ? !(slack >= -es || lo == hi)
                        : !(slack <= es || lo == hi))
      return false;
  }
  for (int i = 0; i < r; i++) {
    double lo, hi;
    row_bounds(work, block, y, lambda, i, &lo, &hi);
    x[i] = y[i] < lo ? lo : y[i] > hi ? hi : y[i];
  }
  return true;
}

static bool block_gs_enumerate(struct ws *work, struct block *block, const double *K,
                               const double *q, const double *lambda, double *x)
{
  int count = 1, state[ENUMERABLE];
  for (int i = 0; i < block->r; i++) count *= 3;
  for (int k = -1; k < count; k++) {
    int code = k < 0 ? block->code : k;
    if (code < 0 || (k >= 0 && k == block->code)) continue;
    for (int i = 0, rest = code; i < block->r; i++, rest /= 3) state[i] = rest % 3;
    if (k >= 0) work->s.rows.work += block->r * block->r * block->r;
    if (try_sets(work, block, K, q, lambda, state, x)) {
      block->code = code;
      return true;
    }
  }
  block->code = -1;
  return false;
}

/* ---- the sweep ---- */

static double block_step(struct ws *work, struct block *block, double *lambda)
{
  if (block->stewart) {
    const int *row = work->index + block->start;
    const double change = perp_block_contact_step(work->contact, &work->s.rows, row, block->r,
                                                  work->s.o.omega, work->state, lambda);
    work->s.rows.work += (double)block->r * block->r * block->r * work->contact->tried;
    if (change < 0) work->unsolved = row[0];
    return change < 0 ? 0 : change;
  }
  perp_rows *rows = &work->s.rows;
  const int *row = work->index + block->start;
  const double *K = work->K + block->at;
  int r = block->r;
  double x[MOST], q[MOST], worst = 0;
  rows->work += r * r * r;
  for (int i = 0; i < r; i++) x[i] = lambda[row[i]];
  for (int i = 0; i < r; i++) {
    q[i] = perp_rows_slack(rows, lambda, row[i]);
    for (int j = 0; j < r; j++) q[i] -= K[i + j * r] * x[j];
  }
  bool cones = false, solved = false;
  for (int i = 0; i < r; i++) cones = cones || rows->type[row[i]] == PERP_ROW_CONE;
  if (block->cone && (work->block == BLOCK_AUTO || work->block == BLOCK_CONE))
    solved = perp_cone_solve(rows->p->mu[row[1]], K, q, x);
  else if (block->cone && work->block == BLOCK_BISECTION)
    solved = perp_cone_bisect(rows->p->mu[row[1]], K, q, x);
  else if (!cones && r <= ENUMERABLE &&
           (work->block == BLOCK_AUTO || work->block == BLOCK_ENUMERATION))
    solved = block_gs_enumerate(work, block, K, q, lambda, x);
  if (!solved) block_gs_project(work, block, K, q, lambda, x);
  for (int i = 0; i < r; i++) {
    double old = lambda[row[i]];
    double to = work->s.o.omega == 1 ? x[i] : old + work->s.o.omega * (x[i] - old);
    if (work->s.o.omega != 1 && rows->type[row[i]] == PERP_ROW_BOUNDED)
      to = fmin(fmax(to, rows->lo[row[i]]), rows->hi[row[i]]);
    double change = to - old;
    if (!(fabs(change) <= worst)) worst = fabs(change);
    lambda[row[i]] = to;
    perp_rows_change(rows, row[i], change);
  }
  return worst;
}

/* Do the forces of a contact in x and y go by the same directions?  Otherwise the difference of x
 * and y is one of coordinates, which are not unique, and no direction in which the force moves. */
static bool same_directions(const int *row, int r, const double *x, const double *y)
{
  bool same = true;
  for (int k = 1; k < r - 1; k++) same = same && (x[row[k]] > 0) == (y[row[k]] > 0);
  return same;
}

/* the point from which a pair of sweeps starts */
static void block_gs_extrapolate(struct ws *work, double *lambda, bool first)
{
  perp_rows *rows = &work->s.rows;
  const int n = rows->n;
  if (first) {
    work->theta = 1;
    memcpy(work->before, lambda, (size_t)n * sizeof *lambda);
  }
  const double next = 0.5 * (1 + sqrt(1 + 4 * work->theta * work->theta));
  const double beta = (work->theta - 1) / next;
  work->theta = next;
  for (int i = 0; i < n; i++) work->y[i] = lambda[i] + beta * (lambda[i] - work->before[i]);
  perp_rows_project(rows, work->y, work->y);
  for (int k = 0; k < work->n_blocks && work->contacts.contacts > 0; k++) {
    const struct block *block = &work->blocks[k];
    const int *row = work->index + block->start;
    if (!block->stewart) continue;
    work->y[row[block->r - 1]] = lambda[row[block->r - 1]];
    if (!same_directions(row, block->r, lambda, work->before))
      for (int i = 1; i < block->r - 1; i++) work->y[row[i]] = lambda[row[i]];
    perp_block_contact_limit(rows, row, block->r, work->y);
  }
  memcpy(work->before, lambda, (size_t)n * sizeof *lambda);
  if (beta == 0) return;
  memcpy(lambda, work->y, (size_t)n * sizeof *lambda);
  perp_rows_reset(rows, lambda);
}

/* after a pair of sweeps: the momentum has gone uphill */
static bool block_gs_uphill(const struct ws *work, const double *lambda)
{
  const perp_rows *rows = &work->s.rows;
  double sum = 0;
  for (int i = 0; i < rows->n; i++)
    sum += rows->diag[i] * (work->y[i] - lambda[i]) * (lambda[i] - work->before[i]);
  return sum > 0;
}

static double block_gs_step(perp_splitting *splitting, double *lambda, int iteration)
{
  struct ws *work = (struct ws *)splitting;
  int n = work->n_blocks;
  double worst = 0;
  const int fast = work->accelerate > 0 ? iteration - work->accelerate : 0;
  if (iteration == 1) {
    block_gs_build(work, lambda);
    n = work->n_blocks;
    splitting->random = (uint64_t)splitting->o.seed;
    for (int k = 0; k < n; k++) splitting->order[k] = k;
  }
  bool back = splitting->o.order == PERP_ORDER_SYMMETRIC && iteration % 2 == 0;
  if (fast > 0) {
    back = fast % 2 == 0;
    if (!back) block_gs_extrapolate(work, lambda, fast == 1);
  }
  work->unsolved = -1;
  if (splitting->o.order == PERP_ORDER_RANDOM && !back)
    perp_shuffle(&splitting->random, splitting->order, n);
  for (int k = 0; k < n; k++) {
    double change = block_step(work, &work->blocks[splitting->order[back ? n - 1 - k : k]], lambda);
    if (!(change <= worst)) worst = change;
  }
  if (fast > 0 && back && block_gs_uphill(work, lambda)) work->theta = 1;
  return worst / splitting->o.omega;
}

/* What of the contacts cannot be a block; NULL: nothing. */
static const char *block_gs_unserved(const struct ws *work, const perp_lcp *lcp)
{
  const perp_stewart *stewart = &work->contacts;
  if (work->by == BY_GROUP && lcp->F == NULL)
    return "dense A, which has no groups, with by=group; use by=contact";
  if (stewart->unclear)
    return "rows with A_ii = 0 that cannot be assigned to a Stewart-Trinkle contact; specify the "
           "contacts (contact_of) or use lemke";
  for (int c = 0; c < stewart->contacts; c++) {
    if (stewart->ptr[c + 1] - stewart->ptr[c] > PERP_BLOCK_ROWS)
      return "contacts with more than 64 directions";
    if (work->contact->enumerate && stewart->ptr[c + 1] - stewart->ptr[c] > PERP_BLOCK_ENUMERABLE)
      return "contacts with more than 8 directions by block=enumeration; use block=auto";
    if (lcp->lo != NULL && lcp->lo[stewart->rows[stewart->ptr[c]]] == -HUGE_VAL)
      return "contacts whose normal row has no lower bound";
  }
  /* Friction of lcp on which the named block solver has no effect; NULL: there is none, or it has.
   */
  bool cones = false, boxes = false;
  for (int i = 0; lcp->fric_of != NULL && i < lcp->n; i++) {
    if (lcp->fric_of[i] < 0) continue;
    const bool cone = lcp->cone != NULL && (lcp->cone[i] || (i > 0 && lcp->cone[i - 1]));
    cones |= cone;
    boxes |= !cone;
  }
  if (work->contacts.contacts > 0 && work->block != BLOCK_AUTO && work->block != BLOCK_ENUMERATION)
    return "Stewart-Trinkle contacts with this block solver; use block=auto or block=enumeration";
  if (boxes && !cones && (work->block == BLOCK_CONE || work->block == BLOCK_BISECTION))
    return "boxes of friction with a block solver of cones; use block=auto, or cones";
  if (cones && !boxes && work->block == BLOCK_ENUMERATION)
    return "cones with block=enumeration; use block=auto, or boxes of friction";
  return NULL;
}

static perp_status block_gs_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                  double *certificate, perp_stats *stats)
{
  struct ws *work = ws;
  perp_no_certificate(lcp, certificate);
  if (lcp->n > work->s.rows.max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "block-gs: n = %d, but the solver was created for at most %d rows", lcp->n,
                     work->s.rows.max_n);
  PERP_TRY(perp_stewart_find(ctx, lcp, &work->contacts));
  work->contact->enumerate = work->block == BLOCK_ENUMERATION;
  const char *what = block_gs_unserved(work, lcp);
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK, "block-gs does not serve %s", what);
    return PERP_OK;
  }
  work->unsolved = -1;
  PERP_TRY(perp_splitting_solve(ctx, &work->s, lcp, lambda, certificate, "block-gs", block_gs_step,
                                stats));
  if (stats->reason < 0 && work->unsolved >= 0)
    PERP_FAIL(ctx, PERP_OK,
              "block-gs: the contact of row %d has no solution while the other contacts are fixed",
              work->unsolved);
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_block_gs = {
  .d = { .name = "block-gs",
         .summary = "Blocked Gauss-Seidel: contacts as boxes, exact cones or Stewart-Trinkle "
                    "blocks, dense or matrix-free, for symmetric A or dominant blocks",
         .reference = "STAR 2012, section 4.3.3, eq. 82",
         .equation =
             "w_c = A_cc lambda_c + (b_c + sum over d != c of A_cd lambda_d), block after block",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_ROWS_CAPS | PERP_LCP_NONSYMMETRIC | PERP_LCP_CONE_BLOCKS },
  .create = block_gs_create,
  .solve = block_gs_solve,
  .destroy = perp_rows_destroy,
  .serves = "Symmetric positive definite A without friction. Nonsymmetric A with dominant blocks. "
            "Friction as boxes, cones or Stewart-Trinkle rows converges in practice: no theorem.",
  .ties = "None between blocks: sweeps, without pivots. In a block the index set of the last sweep "
          "has priority. Stewart-Trinkle blocks use the lexico-minimum ratio.",
  .cost = "A sweep of pgs and the blocks: an elimination of up to 4 rows, an exact cone, or a "
          "small Lemke problem each. Memory: O(n) numbers beyond A.",
  .counts = "Sweeps.",
  .same = "pgs", /* where every block is one row: no friction */
};
