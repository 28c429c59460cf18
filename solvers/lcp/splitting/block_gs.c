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
 *      y = P(lambda_k + (theta_k - 1)/theta_k+1 (lambda_k - lambda_k-1)),  theta_k+1 = (1 + sqrt(1
 * + 4 theta_k^2))/2,
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

static void block_gs_layout(void *ws, perp_arena *a)
{
  struct ws *w = ws;
  const size_t n = (size_t)w->s.rows.max_n;
  perp_splitting_layout(&w->s, a);
  w->blocks = PERP_CARVE(a, struct block, n);
  w->contact = PERP_CARVE(a, perp_block_contact, 1);
  w->state = PERP_CARVE(a, signed char, n);
  PERP_DOUBLES(a, MOST * n, &w->K);
  PERP_DOUBLES(a, n, &w->before, &w->y);
  PERP_INTS(a, n + 1, &w->contacts.ptr);
  PERP_INTS(a, n, &w->index, &w->home, &w->contacts.rows, &w->contacts.home);
}

static perp_status block_gs_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  const struct opts *o = opts;
  struct ws w = { .s = { .rows.max_n = max_n, .o = o->s },
                  .block = o->block,
                  .by = o->by,
                  .accelerate = o->s.sweeps == 0 ? o->accelerate : 0 };
  return perp_rows_create(ctx, "block-gs", &w, sizeof w, block_gs_layout, ws);
}

/* ---- blocks ---- */

/* The next block: r rows from place `start` of w->index on.  Its numbers follow those of the one
 * before. */
static struct block *block_gs_add(struct ws *w, int start, int r, bool stewart)
{
  struct block *c = &w->blocks[w->n_blocks];
  *c = (struct block){ .start = start, .r = r, .stewart = stewart, .code = -1 };
  if (w->n_blocks > 0) c->at = c[-1].at + (c[-1].stewart ? 0 : (size_t)(c[-1].r * c[-1].r));
  for (int i = start; i < start + r; i++) w->home[w->index[i]] = w->n_blocks;
  w->n_blocks++;
  return c;
}

/* Contact c of Stewart and Trinkle as a block from place `start` on; its index sets as lambda shows
 * them.  Returns the number of its rows. */
static int block_gs_add_contact(struct ws *w, int c, int start, const double *lambda)
{
  const int *row = w->contacts.rows + w->contacts.ptr[c];
  const int r = w->contacts.ptr[c + 1] - w->contacts.ptr[c];
  for (int k = 0; k < r; k++) {
    double lo, hi;
    const int i = w->index[start + k] = row[k];
    perp_lcp_bounds(w->s.rows.p, lambda, i, &lo, &hi);
    w->state[i] = lambda[i] <= lo ? PERP_ROW_LO : lambda[i] >= hi ? PERP_ROW_HI : PERP_ROW_FREE;
  }
  block_gs_add(w, start, r, true);
  return r;
}

static void block_gs_add_block(struct ws *w, int start, int r)
{
  const perp_rows *R = &w->s.rows;
  const int *row = w->index + start;
  struct block *c = block_gs_add(w, start, r, false);
  for (int j = 0; j < r; j++)
    for (int i = 0; i < r; i++)
      w->K[c->at + (size_t)(i + j * r)] = perp_rows_entry(R, row[i], row[j]);
  c->cone = r == 3 && R->type[row[1]] == PERP_ROW_CONE && R->p->fric_of[row[1]] == row[0] &&
            R->lo[row[0]] == 0 && R->hi[row[0]] == HUGE_VAL;
}

static void block_gs_build(struct ws *w, const double *lambda)
{
  perp_rows *R = &w->s.rows;
  const perp_lcp *p = R->p;
  int n = p->n, at = 0;
  w->n_blocks = 0;
  if (w->by == BY_GROUP) {
    for (int i = 0; i < n; i++) w->index[i] = i;
    for (int g = 0; g < p->F->nc; g++)
      for (int row = p->F->cptr[g], end = p->F->cptr[g + 1]; row < end;) {
        int r = end - row < MOST ? end - row : MOST;
        if (row + r < end && R->type[row + r] == PERP_ROW_CONE_TAIL) r--;
        block_gs_add_block(w, row, r);
        row += r;
      }
    return;
  }
  /* `home` first chains the friction rows of a normal row, `order` holds the heads */
  int *next = w->home, *head = w->s.order;
  for (int i = 0; i < n; i++) head[i] = -1;
  for (int i = n - 1; i >= 0; i--)
    if (R->type[i] != PERP_ROW_BOUNDED) {
      next[i] = head[p->fric_of[i]];
      head[p->fric_of[i]] = i;
    }
  const int *contact_of = w->contacts.home;
  if (w->contacts.contacts > 0) R->zero_diagonal = false; /* where it is in other rows only */
  for (int i = 0; i < n && w->contacts.contacts > 0; i++) {
    if (contact_of[i] >= 0)
      w->home[i] = -1;
    else
      R->zero_diagonal = R->zero_diagonal || (R->diag[i] <= DBL_MIN && R->inv[i] != 0);
  }
  for (int i = 0; i < n; i++) {
    if (R->type[i] != PERP_ROW_BOUNDED) continue;
    if (contact_of[i] >= 0 && w->home[i] < 0)
      at += block_gs_add_contact(w, contact_of[i], at, lambda);
    int start = at;
    if (contact_of[i] < 0) w->index[at++] = i;
    for (int j = head[i], after; j >= 0; j = after) {
      bool full = at - start >= MOST - (R->type[j] == PERP_ROW_CONE);
      after = next[j];
      if (full && R->type[j] != PERP_ROW_CONE_TAIL) {
        block_gs_add_block(w, start, at - start);
        start = at;
      }
      w->index[at++] = j;
    }
    if (at > start) block_gs_add_block(w, start, at - start);
  }
}

/* ---- block solvers: x [r] in and out, w = K x + q ---- */

static void row_bounds(const struct ws *w, const struct block *c, const double *x,
                       const double *lambda, int k, double *lo, double *hi)
{
  const perp_rows *R = &w->s.rows;
  const int *row = w->index + c->start;
  perp_rows_bounds(R, lambda, row[k], lo, hi);
  if (R->type[row[k]] == PERP_ROW_BOUNDED) return;
  for (int l = 0; l < c->r; l++)
    if (row[l] == R->p->fric_of[row[k]]) *hi = R->p->mu[row[k]] * fmax(x[l], 0);
  *lo = -*hi;
}

static void block_gs_project(const struct ws *w, const struct block *c, const double *K,
                             const double *q, const double *lambda, double *x)
{
  const perp_rows *R = &w->s.rows;
  const int *row = w->index + c->start;
  int r = c->r;
  for (int sweep = 0; sweep < 50; sweep++) {
    double change = 0, size = 0;
    for (int i = 0; i < r; i++) {
      int type = R->type[row[i]], pair = type == PERP_ROW_CONE && i + 1 < r ? 2 : 1;
      double y[2], lo, hi, step = K[i + i * r] > DBL_MIN ? 1 / K[i + i * r] : R->inv[row[i]];
      if (pair == 2) {
        double a = K[i + i * r], d = K[i + 1 + (i + 1) * r], b = K[i + 1 + i * r];
        double top = 0.5 * (a + d) + hypot(0.5 * (a - d), b);
        step = top > DBL_MIN ? 1 / top : 0;
      }
      row_bounds(w, c, x, lambda, i, &lo, &hi);
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
static bool try_sets(const struct ws *w, const struct block *c, const double *K, const double *q,
                     const double *lambda, const int *state, double *x)
{
  const perp_rows *R = &w->s.rows;
  const int *row = w->index + c->start;
  int r = c->r, of[ENUMERABLE];
  double M[ENUMERABLE * (ENUMERABLE + 1)], top = 0;
  for (int i = 0; i < r; i++) {
    of[i] = -1;
    if (R->type[row[i]] != PERP_ROW_BOUNDED)
      for (int l = 0; l < r; l++)
        if (row[l] == R->p->fric_of[row[i]]) of[i] = l;
    for (int j = 0; j < r; j++) {
      M[i + j * r] = state[i] == 1 ? K[i + j * r] : i == j;
      if (state[i] == 1) top = fmax(top, fabs(K[i + j * r]));
    }
    double rhs = -q[i], lo, hi;
    if (state[i] != 1) {
      if (of[i] >= 0) {
        M[i + of[i] * r] = state[i] == 0 ? R->p->mu[row[i]] : -R->p->mu[row[i]];
        rhs = 0;
      } else {
        row_bounds(w, c, x, lambda, i, &lo, &hi);
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
    row_bounds(w, c, y, lambda, i, &lo, &hi);
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
    row_bounds(w, c, y, lambda, i, &lo, &hi);
    x[i] = y[i] < lo ? lo : y[i] > hi ? hi : y[i];
  }
  return true;
}

static bool block_gs_enumerate(const struct ws *w, struct block *c, const double *K,
                               const double *q, const double *lambda, double *x)
{
  int count = 1, state[ENUMERABLE];
  for (int i = 0; i < c->r; i++) count *= 3;
  for (int k = -1; k < count; k++) {
    int code = k < 0 ? c->code : k;
    if (code < 0 || (k >= 0 && k == c->code)) continue;
    for (int i = 0, rest = code; i < c->r; i++, rest /= 3) state[i] = rest % 3;
    if (try_sets(w, c, K, q, lambda, state, x)) {
      c->code = code;
      return true;
    }
  }
  c->code = -1;
  return false;
}

/* ---- the sweep ---- */

static double block_step(struct ws *w, struct block *c, double *lambda)
{
  if (c->stewart) {
    const int *row = w->index + c->start;
    const double change = perp_block_contact_step(w->contact, &w->s.rows, row, c->r, w->s.o.omega,
                                                  w->state, lambda);
    w->s.rows.work += (double)c->r * c->r * c->r * w->contact->tried;
    if (change < 0) w->unsolved = row[0];
    return change < 0 ? 0 : change;
  }
  perp_rows *R = &w->s.rows;
  const int *row = w->index + c->start;
  const double *K = w->K + c->at;
  int r = c->r;
  double x[MOST], q[MOST], worst = 0;
  R->work += r * r * r;
  for (int i = 0; i < r; i++) x[i] = lambda[row[i]];
  for (int i = 0; i < r; i++) {
    q[i] = perp_rows_slack(R, lambda, row[i]);
    for (int j = 0; j < r; j++) q[i] -= K[i + j * r] * x[j];
  }
  bool cones = false, solved = false;
  for (int i = 0; i < r; i++) cones = cones || R->type[row[i]] == PERP_ROW_CONE;
  if (c->cone && (w->block == BLOCK_AUTO || w->block == BLOCK_CONE))
    solved = perp_cone_solve(R->p->mu[row[1]], K, q, x);
  else if (c->cone && w->block == BLOCK_BISECTION)
    solved = perp_cone_bisect(R->p->mu[row[1]], K, q, x);
  else if (!cones && r <= ENUMERABLE && (w->block == BLOCK_AUTO || w->block == BLOCK_ENUMERATION))
    solved = block_gs_enumerate(w, c, K, q, lambda, x);
  if (!solved) block_gs_project(w, c, K, q, lambda, x);
  for (int i = 0; i < r; i++) {
    double old = lambda[row[i]];
    double to = w->s.o.omega == 1 ? x[i] : old + w->s.o.omega * (x[i] - old);
    if (w->s.o.omega != 1 && R->type[row[i]] == PERP_ROW_BOUNDED)
      to = fmin(fmax(to, R->lo[row[i]]), R->hi[row[i]]);
    double change = to - old;
    if (!(fabs(change) <= worst)) worst = fabs(change);
    lambda[row[i]] = to;
    perp_rows_change(R, row[i], change);
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
static void block_gs_extrapolate(struct ws *w, double *lambda, bool first)
{
  perp_rows *R = &w->s.rows;
  const int n = R->n;
  if (first) {
    w->theta = 1;
    memcpy(w->before, lambda, (size_t)n * sizeof *lambda);
  }
  const double next = 0.5 * (1 + sqrt(1 + 4 * w->theta * w->theta));
  const double beta = (w->theta - 1) / next;
  w->theta = next;
  for (int i = 0; i < n; i++) w->y[i] = lambda[i] + beta * (lambda[i] - w->before[i]);
  perp_rows_project(R, w->y, w->y);
  for (int k = 0; k < w->n_blocks && w->contacts.contacts > 0; k++) {
    const struct block *c = &w->blocks[k];
    const int *row = w->index + c->start;
    if (!c->stewart) continue;
    w->y[row[c->r - 1]] = lambda[row[c->r - 1]];
    if (!same_directions(row, c->r, lambda, w->before))
      for (int i = 1; i < c->r - 1; i++) w->y[row[i]] = lambda[row[i]];
    perp_block_contact_limit(R, row, c->r, w->y);
  }
  memcpy(w->before, lambda, (size_t)n * sizeof *lambda);
  if (beta == 0) return;
  memcpy(lambda, w->y, (size_t)n * sizeof *lambda);
  perp_rows_reset(R, lambda);
}

/* after a pair of sweeps: the momentum has gone uphill */
static bool block_gs_uphill(const struct ws *w, const double *lambda)
{
  const perp_rows *R = &w->s.rows;
  double sum = 0;
  for (int i = 0; i < R->n; i++)
    sum += R->diag[i] * (w->y[i] - lambda[i]) * (lambda[i] - w->before[i]);
  return sum > 0;
}

static double block_gs_step(perp_splitting *s, double *lambda, int iteration)
{
  struct ws *w = (struct ws *)s;
  int n = w->n_blocks;
  double worst = 0;
  const int fast = w->accelerate > 0 ? iteration - w->accelerate : 0;
  if (iteration == 1) {
    block_gs_build(w, lambda);
    n = w->n_blocks;
    s->random = (uint64_t)s->o.seed;
    for (int k = 0; k < n; k++) s->order[k] = k;
  }
  bool back = s->o.order == PERP_ORDER_SYMMETRIC && iteration % 2 == 0;
  if (fast > 0) {
    back = fast % 2 == 0;
    if (!back) block_gs_extrapolate(w, lambda, fast == 1);
  }
  w->unsolved = -1;
  if (s->o.order == PERP_ORDER_RANDOM && !back) perp_shuffle(&s->random, s->order, n);
  for (int k = 0; k < n; k++) {
    double change = block_step(w, &w->blocks[s->order[back ? n - 1 - k : k]], lambda);
    if (!(change <= worst)) worst = change;
  }
  if (fast > 0 && back && block_gs_uphill(w, lambda)) w->theta = 1;
  return worst / s->o.omega;
}

/* What of the contacts cannot be a block; NULL: nothing. */
static const char *block_gs_unserved(const struct ws *w, const perp_lcp *p)
{
  const perp_stewart *s = &w->contacts;
  if (w->by == BY_GROUP && p->F == NULL)
    return "dense A, which has no groups, with by=group; use by=contact";
  if (s->unclear)
    return "rows with A_ii = 0 that cannot be assigned to a Stewart-Trinkle contact; specify the "
           "contacts (contact_of) or use lemke";
  for (int c = 0; c < s->contacts; c++) {
    if (s->ptr[c + 1] - s->ptr[c] > PERP_BLOCK_ROWS) return "contacts with more than 64 directions";
    if (w->contact->enumerate && s->ptr[c + 1] - s->ptr[c] > PERP_BLOCK_ENUMERABLE)
      return "contacts with more than 8 directions by block=enumeration; use block=auto";
    if (p->lo != NULL && p->lo[s->rows[s->ptr[c]]] == -HUGE_VAL)
      return "contacts whose normal row has no lower bound";
  }
  /* Friction of p on which the named block solver has no effect; NULL: there is none, or it has. */
  bool cones = false, boxes = false;
  for (int i = 0; p->fric_of != NULL && i < p->n; i++) {
    if (p->fric_of[i] < 0) continue;
    const bool cone = p->cone != NULL && (p->cone[i] || (i > 0 && p->cone[i - 1]));
    cones |= cone;
    boxes |= !cone;
  }
  if (w->contacts.contacts > 0 && w->block != BLOCK_AUTO && w->block != BLOCK_ENUMERATION)
    return "Stewart-Trinkle contacts with this block solver; use block=auto or block=enumeration";
  if (boxes && !cones && (w->block == BLOCK_CONE || w->block == BLOCK_BISECTION))
    return "boxes of friction with a block solver of cones; use block=auto, or cones";
  if (cones && !boxes && w->block == BLOCK_ENUMERATION)
    return "cones with block=enumeration; use block=auto, or boxes of friction";
  return NULL;
}

static perp_status block_gs_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                                  double *certificate, perp_stats *stats)
{
  struct ws *w = ws;
  perp_no_certificate(p, certificate);
  if (p->n > w->s.rows.max_n)
    return PERP_FAIL(ctx, PERP_ERR_DIM,
                     "block-gs: n = %d, but the solver was created for at most %d rows", p->n,
                     w->s.rows.max_n);
  PERP_TRY(perp_stewart_find(ctx, p, &w->contacts));
  w->contact->enumerate = w->block == BLOCK_ENUMERATION;
  const char *what = block_gs_unserved(w, p);
  if (what != NULL) {
    stats->reason = PERP_UNSUITED;
    PERP_FAIL(ctx, PERP_OK, "block-gs does not serve %s", what);
    return PERP_OK;
  }
  w->unsolved = -1;
  PERP_TRY(
      perp_splitting_solve(ctx, &w->s, p, lambda, certificate, "block-gs", block_gs_step, stats));
  if (stats->reason < 0 && w->unsolved >= 0)
    PERP_FAIL(ctx, PERP_OK,
              "block-gs: the contact of row %d has no solution while the other contacts are fixed",
              w->unsolved);
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
