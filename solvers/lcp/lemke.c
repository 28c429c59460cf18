/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lemke's complementary pivoting for boxed problems (Cline 2.7.1, 2.7.2 and 4.8; Cottle, Pang and Stone,
 * The Linear Complementarity Problem).
 *
 *      w = A lambda + b + c t,    lo <= lambda <= hi,  w complementary,  t >= 0
 *
 * For large t the covering vector c makes every row feasible.  The path of solutions is followed while t
 * falls to 0: one pair (lambda_r, w_r) has both members nonbasic, one of them enters, the first basic
 * variable that meets a bound leaves, and its complement enters next.  A row at its upper bound has
 * w <= 0, and a variable that enters may also run straight to its other bound.
 *
 * Basis.  Basic are t, lambda_i for i in S, and w_i for the rows outside the core = S + {r}.  Only
 *      K = [ c_core  A_core,S ]
 * has to be inverted, |S| + 1 rows, not n; the rest of a direction is a product with columns of A.  A
 * pivot replaces a column (lambda leaves, lambda enters), replaces a row (w, w), appends both (w leaves,
 * lambda enters) or removes both (lambda leaves, w enters): one rank-one update of K^-1.  Cost per pivot
 * O(|S|^2 + n |S|), less when A is sparse; memory 2 n^2 numbers for workspaces of up to n rows.  The rows
 * of the core check every direction: it is refined, and K inverted afresh, when their residual says so.
 *
 * Ties.  Every basic variable carries a second number: its derivative under a generic perturbation of the
 * vertex that relaxes every one-sided row (Charnes; relaxing keeps a feasible problem feasible).  Ratios
 * equal to within rounding are decided by it, which is the lexico-minimum rule with two levels.
 *
 * Mixed problems (Cline 2.7.2): free variables are basic from the beginning, may have any sign and never
 * leave.  If their block is singular, a free row is paired with another row by a 2 x 2 pivot; a free row
 * that depends on the others is left out and its residual checked at the end.
 *
 * Start: cold (S = free rows), or from a guess: S = rows strictly between their bounds, and the covering
 * vector is built in the terms of that basis, so that few pivots remain when the guess is good.
 *
 * Ends in finitely many pivots in exact arithmetic.  Solves monotone (also singular), strictly copositive
 * and copositive-plus problems or ends on a ray, which for these classes proves infeasibility.  Outside of
 * them (bimatrix games) a ray proves nothing.  Exponential on Murty's and Fathi's families for c = 1: the
 * pivot limit answers.  Factored input: perp_lcp_solve forms A once per solve. */
#include "solvers/lcp/pivot.h"
#include "solvers/linalg/inverse_update.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COVER_AUTO, COVER_ONES, COVER_SCALED, COVERS = 5 };
static const char *const cover_names[] = { "auto", "ones", "scaled", NULL };
enum { START_AUTO, START_COLD, START_GUESS };
static const char *const start_names[] = { "auto", "cold", "guess", NULL };

struct lemke_opts {
  int max_iter, cover, start;
};
static const perp_opt lemke_options[] = {
  PERP_INT(struct lemke_opts, max_iter, 0, 0, 1e9, "pivots before giving up; 0: 50 n + 1000"),
  PERP_ENUM(struct lemke_opts, cover, COVER_AUTO, cover_names,
            "covering vector: ones, scaled by the rows of A, or auto: ones, on failure others"),
  PERP_ENUM(struct lemke_opts, start, START_AUTO, start_names,
            "first basis: cold, from the guess, or auto: the guess unless it is zero"),
  PERP_OPTIONS_END
};

/* a direction entry below TINY times the largest is taken for zero, about 1e4 roundings */
static const double TINY = 1e-12;
/* residual of a direction on the core rows: refine above, invert afresh above */
static const double REFINE = 1e-13, REBUILD = 1e-9;
/* a row depends on the others when its pivot is below DEPEND times the terms that cancel in it */
static const double DEPEND = 1e-10;

enum { NORMAL, FIXED, FREEVAR, PARKED };

struct lemke {
  struct lemke_opts o;
  perp_arena arena;
  perp_pivot P;
  perp_inverse K;
  int *uvar, *crow;    /* [cap] row of lambda in slot u (slot 0 is t), row of equation */
  int *upos, *cpos;    /* [n] their slots, -1 when not there */
  double *dir, *f, *g; /* [cap] direction of the unknowns, columns and rows of updates */
  double *w, *wp, *lp, *c, *dw, *dp; /* [n] slack, perturbation of w and lambda, cover, direction */
  double t, tp, ct;                  /* t, its perturbation, max c_i / a_i */
  signed char *st;                   /* [n] PERP_ROW_* */
  unsigned char *kind;
  int *ipiv, lwork, symmetric;
  double *work;
  /* of the running solve */
  perp_ctx *ctx;
  perp_stats *stats;
  double *lambda;
  int limit;
  int with_t; /* t is basic, in slot 0 */
};

static void layout(struct lemke *L, int max_n)
{
  perp_arena *a = &L->arena;
  int n = max_n, cap = max_n + 2;
  perp_pivot_layout(&L->P, a, n);
  L->K.cap = cap;
  L->K.ld = (size_t)cap + (cap % 64 == 0 ? 8 : 0); /* no power-of-two stride */
  L->K.R = PERP_CARVE(a, double, L->K.ld *(size_t)cap);
  L->K.x = PERP_CARVE(a, double, 2 * cap);
  L->uvar = PERP_CARVE(a, int, cap);
  L->crow = PERP_CARVE(a, int, cap);
  L->ipiv = PERP_CARVE(a, int, cap);
  L->upos = PERP_CARVE(a, int, n);
  L->cpos = PERP_CARVE(a, int, n);
  L->dir = PERP_CARVE(a, double, cap);
  L->f = PERP_CARVE(a, double, cap);
  L->g = PERP_CARVE(a, double, cap);
  L->w = PERP_CARVE(a, double, n);
  L->wp = PERP_CARVE(a, double, n);
  L->lp = PERP_CARVE(a, double, n);
  L->c = PERP_CARVE(a, double, n);
  L->dw = PERP_CARVE(a, double, n);
  L->dp = PERP_CARVE(a, double, n);
  L->st = PERP_CARVE(a, signed char, n);
  L->kind = PERP_CARVE(a, unsigned char, n);
  L->lwork = cap * 32;
  L->work = PERP_CARVE(a, double, L->lwork);
}

static perp_status create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  if (max_n < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "lemke: max_n = %d is negative", max_n);
  struct lemke *L = calloc(1, sizeof *L);
  if (L == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "lemke: no memory");
  L->o = *(const struct lemke_opts *)opts;
  layout(L, max_n);
  perp_status st = perp_arena_reserve(ctx, &L->arena);
  if (st != PERP_OK) {
    free(L);
    return st;
  }
  layout(L, max_n);
  *ws = L;
  return PERP_OK;
}

static void destroy(void *ws)
{
  struct lemke *L = ws;
  if (L == NULL) return;
  perp_arena_free(&L->arena);
  free(L);
}

static double entry(const struct lemke *L, int i, int j)
{
  return L->P.A[(size_t)i + (size_t)j * L->P.lda];
}

/* row i of [c A] at the unknowns */
static void gather_row(const struct lemke *L, int i, double *out)
{
  int first = L->with_t;
  if (first) out[0] = L->c[i];
  if (L->symmetric) {
    const double *col = L->P.A + (size_t)i * L->P.lda;
    for (int u = first; u < L->K.m; u++) out[u] = col[L->uvar[u]];
  } else {
    for (int u = first; u < L->K.m; u++) out[u] = entry(L, i, L->uvar[u]);
  }
}

/* column j of A (j = -1: c) at the equations */
static void gather_column(const struct lemke *L, int j, double *out)
{
  const double *col = j < 0 ? L->c : L->P.A + (size_t)j * L->P.lda;
  for (int c = 0; c < L->K.m; c++) out[c] = col[L->crow[c]];
}

/* y += [c A_S] x over the unknowns */
static void columns(const struct lemke *L, const double *x, double *y)
{
  int first = L->with_t;
  if (first && x[0] != 0)
    for (int i = 0; i < L->P.n; i++) y[i] += x[0] * L->c[i];
  perp_pivot_columns(&L->P, L->K.m - first, L->uvar + first, x + first, y);
}

/* ---- changes of the basis -------------------------------------------------------------------- */

/* equation `row` and unknown lambda_col (col = -1: t) join; f = K^-1 column, pivot s */
static void append(struct lemke *L, int row, int col, double s)
{
  int m = L->K.m;
  gather_row(L, row, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  perp_inverse_append(&L->K, L->f, L->g, s);
  L->crow[m] = row;
  L->cpos[row] = m;
  L->uvar[m] = col;
  if (col >= 0) L->upos[col] = m;
}

static void replace_column(struct lemke *L, int u, int col)
{
  perp_inverse_replace_column(&L->K, u, L->f);
  if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = -1;
  L->uvar[u] = col;
  if (col >= 0) L->upos[col] = u;
}

static void replace_row(struct lemke *L, int c, int row)
{
  gather_row(L, row, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  perp_inverse_replace_row(&L->K, c, L->g);
  L->cpos[L->crow[c]] = -1;
  L->crow[c] = row;
  L->cpos[row] = c;
}

static void remove_pair(struct lemke *L, int u, int c)
{
  int last = L->K.m - 1;
  perp_inverse_remove(&L->K, u, c);
  if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = -1;
  L->cpos[L->crow[c]] = -1;
  if (u != last) {
    L->uvar[u] = L->uvar[last];
    if (L->uvar[u] >= 0) L->upos[L->uvar[u]] = u;
  }
  if (c != last) {
    L->crow[c] = L->crow[last];
    L->cpos[L->crow[c]] = c;
  }
}

/* t moves from slot u to slot 0, where the rest of the code expects it */
static void t_first(struct lemke *L, int u)
{
  if (u != 0) {
    for (int c = 0; c < L->K.m; c++) {
      double *col = L->K.R + (size_t)c * L->K.ld, x = col[0];
      col[0] = col[u];
      col[u] = x;
    }
    L->uvar[u] = L->uvar[0];
    L->upos[L->uvar[u]] = u;
    L->uvar[0] = -1;
  }
  L->with_t = 1;
}

/* K from A and c, inverted; the basic variables from K.  0 when K is singular. */
static int rebuild(struct lemke *L)
{
  int m = L->K.m;
  for (int u = 0; u < m; u++) gather_column(L, L->uvar[u], L->K.R + (size_t)u * L->K.ld);
  L->stats->factorizations++;
  if (perp_inverse_factor(&L->K, L->ipiv, L->work, L->lwork) <= 1e-16) return 0;
  return 1;
}

/* unknowns <- solution of the core equations, w of all rows */
static void recompute(struct lemke *L, int passes)
{
  int first = L->with_t, n = L->P.n;
  for (int pass = 0; pass < passes; pass++) {
    perp_pivot_slack(&L->P, L->lambda, L->w);
    if (first)
      for (int i = 0; i < n; i++) L->w[i] += L->t * L->c[i];
    L->stats->matvecs++;
    if (pass == passes - 1) break;
    for (int c = 0; c < L->K.m; c++) L->g[c] = L->w[L->crow[c]];
    perp_inverse_apply(&L->K, L->g, L->f);
    if (first) L->t -= L->f[0];
    for (int u = first; u < L->K.m; u++) L->lambda[L->uvar[u]] -= L->f[u];
  }
}

/* ---- the start --------------------------------------------------------------------------------- */

/* append row and column i to K when that keeps it regular */
static int try_append(struct lemke *L, int i)
{
  gather_column(L, i, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  gather_row(L, i, L->dp);
  double s = entry(L, i, i), mag = fabs(s);
  for (int u = 0; u < L->K.m; u++) {
    s -= L->dp[u] * L->f[u];
    mag += fabs(L->dp[u] * L->f[u]);
  }
  if (!(fabs(s) > DEPEND * mag)) return 0;
  append(L, i, i, s);
  return 1;
}

/* free row i has no pivot of its own: join it with a row j such that the 2 x 2 pivot is regular */
static int try_append_pair(struct lemke *L, int i)
{
  int n = L->P.n, j = -1;
  double most = 0;
  /* column i and row i of the pivotal transform */
  gather_column(L, i, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  memcpy(L->dw, L->P.A + (size_t)i * L->P.lda, (size_t)n * sizeof *L->dw);
  columns(L, L->f, L->dw);
  gather_row(L, i, L->dp);
  perp_inverse_apply_t(&L->K, L->dp, L->g);
  for (int q = 0; q < n; q++) {
    if (L->upos[q] >= 0 || q == i || L->kind[q] == FIXED) continue;
    double row = entry(L, i, q);
    const double *col = L->P.A + (size_t)q * L->P.lda;
    for (int c = 0; c < L->K.m; c++) row -= L->g[c] * col[L->crow[c]];
    double size = fmin(fabs(L->dw[q]) / L->P.a[q], fabs(row) / L->P.a[i]);
    if (size > most) {
      most = size;
      j = q;
    }
  }
  if (!(most > 1e-9)) return 0;
  /* equation j with unknown i, then equation i with unknown j */
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  append(L, j, i, L->dw[j]);
  gather_column(L, j, L->g);
  perp_inverse_apply(&L->K, L->g, L->f);
  gather_row(L, i, L->dp);
  double s = entry(L, i, j);
  for (int u = 0; u < L->K.m; u++) s -= L->dp[u] * L->f[u];
  if (!(fabs(s) > 1e-9 * L->P.a[i])) { /* take the half step back */
    remove_pair(L, L->upos[i], L->cpos[j]);
    return 0;
  }
  append(L, i, j, s);
  L->st[j] = PERP_ROW_FREE;
  return 1;
}

/* K = A_SS for the rows with st = FREE; dependent rows are left out (bounded) or parked (free) */
static void first_core(struct lemke *L)
{
  int n = L->P.n;
  L->with_t = 0;
  L->K.m = 0;
  for (int i = 0; i < n; i++) L->upos[i] = L->cpos[i] = -1;
  int k = 0;
  for (int i = 0; i < n; i++)
    if (L->st[i] == PERP_ROW_FREE) {
      L->uvar[k] = L->crow[k] = i;
      L->upos[i] = L->cpos[i] = k++;
    }
  if (k == 0) return;
  L->K.m = k;
  L->stats->factorizations++;
  for (int u = 0; u < k; u++) gather_column(L, L->uvar[u], L->K.R + (size_t)u * L->K.ld);
  if (perp_inverse_factor(&L->K, L->ipiv, L->work, L->lwork) > 1e-13) return;
  /* one by one: first free rows, then bounded ones, then pairs for the free rows that remain */
  L->K.m = 0;
  for (int i = 0; i < n; i++) L->upos[i] = L->cpos[i] = -1;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < n; i++)
      if (L->st[i] == PERP_ROW_FREE && (L->kind[i] == FREEVAR) == (pass == 0) && L->upos[i] < 0 &&
          !try_append(L, i) && pass == 1)
        L->st[i] = L->lambda[i] - L->P.lo[i] <= L->P.hi[i] - L->lambda[i] ? PERP_ROW_LO
                                                                          : PERP_ROW_HI;
  for (int i = 0; i < n; i++)
    if (L->kind[i] == FREEVAR && L->upos[i] < 0 && !try_append(L, i) && !try_append_pair(L, i)) {
      L->kind[i] = PARKED;
      L->lambda[i] = 0;
    }
}

/* index sets: free rows basic, the others at a bound or, with a guess, between */
static void first_sets(struct lemke *L, int guess)
{
  const double *lo = L->P.lo, *hi = L->P.hi;
  for (int i = 0; i < L->P.n; i++) {
    int has_lo = lo[i] > -HUGE_VAL, has_hi = hi[i] < HUGE_VAL;
    double x = guess ? L->lambda[i] : 0;
    L->kind[i] = !has_lo && !has_hi ? FREEVAR : lo[i] == hi[i] ? FIXED : NORMAL;
    if (L->kind[i] == FREEVAR || (guess && L->kind[i] == NORMAL && x > lo[i] && x < hi[i])) {
      L->st[i] = PERP_ROW_FREE;
    } else {
      /* cold: the lower bound if there is one */
      L->st[i] = has_lo && (!has_hi || !guess || x <= lo[i]) ? PERP_ROW_LO : PERP_ROW_HI;
      x = L->st[i] == PERP_ROW_LO ? lo[i] : hi[i];
    }
    L->lambda[i] = x;
  }
}

/* basic lambda of a guess must lie within their bounds: put those outside on the bound, until none is */
static int clean_guess(struct lemke *L)
{
  for (int round = 0; round < 30; round++) {
    recompute(L, 3);
    int moved = 0;
    double zero = L->P.bscale;
    for (int i = 0; i < L->P.n; i++) zero = fmax(zero, fabs(L->lambda[i]));
    zero *= PERP_PIVOT_ZERO;
    for (int u = L->K.m - 1; u >= 0; u--) {
      int i = L->uvar[u];
      if (L->kind[i] == FREEVAR) continue;
      int low = L->lambda[i]<L->P.lo[i] - zero, high = L->lambda[i]> L->P.hi[i] + zero;
      if (!low && !high) continue;
      if (!(fabs(L->K.R[u + (size_t)L->cpos[i] * L->K.ld]) > 0)) return 0;
      remove_pair(L, u, L->cpos[i]);
      L->st[i] = low ? PERP_ROW_LO : PERP_ROW_HI;
      L->lambda[i] = low ? L->P.lo[i] : L->P.hi[i];
      moved++;
    }
    if (!moved) return 1;
  }
  return 0;
}

static double cover_of(const struct lemke *L, int cover, int i)
{
  if (cover == COVER_ONES) return 1;
  if (cover == COVER_SCALED) return L->P.a[i];
  return L->P.a[i] * (8 * perp_pivot_generic(i + 7919 * cover) - 7); /* a random one in [1, 9) */
}

/* Choose c and the first t; *leaving gets the row whose basic variable t replaces, -1 when the vertex is
 * already a solution; then its complement, lambda or w, enters. */
static void first_t(struct lemke *L, int cover, int *leaving, int *enters_lambda)
{
  int n = L->P.n;
  double zs = L->P.bscale, t = 0, tp = 0;
  for (int i = 0; i < n; i++) zs = fmax(zs, fabs(L->lambda[i]));
  for (int u = 0; u < L->K.m; u++) L->f[u] = 0;
  for (int i = 0; i < n; i++) { /* dw: cover in the terms of the basis, dp: the perturbation */
    int one_sided = (L->P.lo[i] > -HUGE_VAL) != (L->P.hi[i] < HUGE_VAL);
    double d = cover_of(L, cover, i), p = perp_pivot_generic(i);
    L->wp[i] = L->lp[i] = L->dw[i] = 0;
    if (L->kind[i] == PARKED || L->kind[i] == FIXED || L->kind[i] == FREEVAR) continue;
    if (L->st[i] == PERP_ROW_FREE) {
      double sign = one_sided ? (L->P.lo[i] > -HUGE_VAL ? 1 : -1)
                    : L->lambda[i] - L->P.lo[i] <= L->P.hi[i] - L->lambda[i] ? 1
                                                                             : -1;
      L->lp[i] = sign * p;
      if (one_sided) L->dw[i] = sign * d / L->P.a[i];
      L->f[L->upos[i]] = L->dw[i];
    } else {
      double sign = L->st[i] == PERP_ROW_LO ? 1 : -1;
      L->wp[i] = sign * p * L->P.a[i];
      L->dw[i] = sign * d;
    }
  }
  *leaving = -1;
  *enters_lambda = 1;
  for (int i = 0; i < n; i++) {
    double d = fabs(L->dw[i]), x, xp, unit = 1;
    if (d == 0) continue;
    if (L->st[i] == PERP_ROW_FREE) {
      x = L->dw[i] > 0 ? L->lambda[i] - L->P.lo[i] : L->P.hi[i] - L->lambda[i];
      xp = fabs(L->lp[i]);
    } else {
      x = L->dw[i] > 0 ? L->w[i] : -L->w[i];
      xp = fabs(L->wp[i]);
      unit = L->P.a[i];
    }
    if (!(x < -PERP_PIVOT_ZERO * zs * unit)) continue;
    double ratio = -x / d, ratio_p = -xp / d, tie = PERP_PIVOT_ZERO * ratio;
    if (*leaving < 0 || ratio > t + tie || (ratio >= t - tie && ratio_p > tp)) {
      t = ratio;
      tp = ratio_p;
      *leaving = i;
    }
  }
  if (*leaving < 0) return;
  /* c such that the basic variables move by dw when t does */
  for (int i = 0; i < n; i++) L->c[i] = L->st[i] == PERP_ROW_FREE ? 0 : L->dw[i];
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  perp_pivot_columns(&L->P, L->K.m, L->uvar, L->f, L->c);
  L->ct = 0;
  for (int i = 0; i < n; i++) {
    if (L->kind[i] == PARKED) L->c[i] = 0;
    L->ct = fmax(L->ct, fabs(L->c[i]) / L->P.a[i]);
    if (L->st[i] == PERP_ROW_FREE) {
      L->lambda[i] += t * L->dw[i];
      L->lp[i] += tp * L->dw[i];
    } else {
      L->w[i] += t * L->dw[i];
      L->wp[i] += tp * L->dw[i];
    }
  }
  L->t = t;
  L->tp = tp;
  /* t takes the place of the leaving variable; f = K^-1 c = -(cover of the basic lambda) */
  int r = *leaving, m = L->K.m;
  *enters_lambda = L->st[r] != PERP_ROW_FREE;
  if (!*enters_lambda) {
    int u = L->upos[r];
    replace_column(L, u, -1);
    t_first(L, u);
    L->st[r] = L->dw[r] > 0 ? PERP_ROW_LO : PERP_ROW_HI;
    L->lambda[r] = L->dw[r] > 0 ? L->P.lo[r] : L->P.hi[r];
    L->lp[r] = 0;
  } else {
    append(L, r, -1, L->dw[r]);
    t_first(L, m);
    L->w[r] = L->wp[r] = 0;
  }
}

/* ---- the path ------------------------------------------------------------------------------------ */

enum { IS_NONE, IS_T, IS_LAMBDA, IS_W, IS_FLIP };

struct ratio {
  int what, row;
  double theta, theta_p, rate;
  int up; /* the variable reaches its upper bound */
};

/* dir, dw for lambda_e (or w_e) moving by sign */
static void direction(struct lemke *L, int e, int is_lambda, double sign)
{
  int m = L->K.m, n = L->P.n;
  if (is_lambda) {
    gather_column(L, e, L->g);
    perp_inverse_apply(&L->K, L->g, L->dir);
    for (int u = 0; u < m; u++) L->dir[u] *= -sign;
  } else {
    const double *col = L->K.R + (size_t)L->cpos[e] * L->K.ld;
    for (int u = 0; u < m; u++) L->dir[u] = sign * col[u];
  }
  for (int round = 0;; round++) {
    if (is_lambda) {
      const double *col = L->P.A + (size_t)e * L->P.lda;
      for (int i = 0; i < n; i++) L->dw[i] = sign * col[i];
    } else {
      for (int i = 0; i < n; i++) L->dw[i] = 0;
    }
    columns(L, L->dir, L->dw);
    L->stats->matvecs++;
    double size = is_lambda ? 1 : 1 / L->P.a[e], worst = 0;
    for (int u = 1; u < m; u++) size = fmax(size, fabs(L->dir[u]));
    size = fmax(size, fabs(L->dir[0]) * L->ct);
    for (int c = 0; c < m; c++) {
      int i = L->crow[c];
      L->g[c] = L->dw[i] - (is_lambda || i != e ? 0 : sign);
      worst = fmax(worst, fabs(L->g[c]) / L->P.a[i]);
    }
    if (worst <= REFINE * size || round == 3) break;
    if (worst > REBUILD * size && round == 1) {
      if (!rebuild(L)) break;
      recompute(L, 3);
      for (int c = 0; c < L->K.m; c++) L->w[L->crow[c]] = 0;
    }
    perp_inverse_apply(&L->K, L->g, L->f);
    for (int u = 0; u < m; u++) L->dir[u] -= L->f[u];
  }
  for (int c = 0; c < m; c++) L->dw[L->crow[c]] = 0;
  if (!is_lambda) L->dw[e] = sign;
}

static void consider(struct ratio *best, double limit, int what, int row, double dist,
                     double dist_p, double rate, int up)
{
  double theta = dist / rate, theta_p = dist_p / rate;
  if (theta > limit) return;
  int take = best->what == IS_NONE;
  if (!take && best->what != IS_T) take = what == IS_T || theta_p < best->theta_p;
  if (take) *best = (struct ratio){ what, row, theta, theta_p, rate, up };
}

/* the basic variable that stops the move */
static struct ratio ratio_test(const struct lemke *L, int e, int is_lambda)
{
  int n = L->P.n, m = L->K.m;
  const double *lo = L->P.lo, *hi = L->P.hi, *lambda = L->lambda;
  double size = is_lambda ? 1 : 1 / L->P.a[e], zs = fmax(L->P.bscale, L->t * L->ct);
  for (int u = 1; u < m; u++) {
    size = fmax(size, fabs(L->dir[u]));
    zs = fmax(zs, fabs(lambda[L->uvar[u]]));
  }
  size = fmax(size, fabs(L->dir[0]) * L->ct);
  double zero = PERP_PIVOT_ZERO * zs, tiny = TINY * size;
  /* first pass: the longest step that violates nothing by more than `zero` */
  double limit = HUGE_VAL;
  if (L->dir[0] * L->ct < -tiny) limit = fmin(limit, (L->t + zero / L->ct) / -L->dir[0]);
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    double r = L->dir[u];
    if (r < -tiny && L->kind[i] != FREEVAR) limit = fmin(limit, (lambda[i] - lo[i] + zero) / -r);
    if (r > tiny && L->kind[i] != FREEVAR) limit = fmin(limit, (hi[i] - lambda[i] + zero) / r);
  }
  for (int i = 0; i < n; i++) {
    double r = L->st[i] == PERP_ROW_LO ? -L->dw[i] : L->dw[i], a = L->P.a[i];
    if (r > tiny * a && L->st[i] != PERP_ROW_FREE && L->kind[i] == NORMAL)
      limit = fmin(limit, (fabs(L->w[i]) + zero * a) / r);
  }
  if (is_lambda) limit = fmin(limit, hi[e] - lo[e]);
  /* second pass: among those, t first, else the least ratio of the perturbed problem */
  struct ratio best = { .what = IS_NONE, .theta = HUGE_VAL };
  if (limit == HUGE_VAL) return best;
  if (L->dir[0] * L->ct < -tiny) consider(&best, limit, IS_T, -1, L->t, L->tp, -L->dir[0], 0);
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    double r = L->dir[u];
    if (L->kind[i] == FREEVAR) continue;
    if (r < -tiny) consider(&best, limit, IS_LAMBDA, i, lambda[i] - lo[i], L->lp[i], -r, 0);
    if (r > tiny) consider(&best, limit, IS_LAMBDA, i, hi[i] - lambda[i], -L->lp[i], r, 1);
  }
  for (int i = 0; i < n; i++) {
    int low = L->st[i] == PERP_ROW_LO;
    double r = low ? -L->dw[i] : L->dw[i];
    if (r > tiny * L->P.a[i] && L->st[i] != PERP_ROW_FREE && L->kind[i] == NORMAL)
      consider(&best, limit, IS_W, i, low ? L->w[i] : -L->w[i], low ? L->wp[i] : -L->wp[i], r,
               !low);
  }
  if (is_lambda && hi[e] - lo[e] <= limit)
    consider(&best, limit, IS_FLIP, e, hi[e] - lo[e], 0, 1, 0);
  if (best.theta < 0) best.theta = 0;
  return best;
}

/* all basic variables move along the direction */
static void move(struct lemke *L, const struct ratio *r)
{
  int n = L->P.n, m = L->K.m;
  L->t += r->theta * L->dir[0];
  L->tp += r->theta_p * L->dir[0];
  for (int u = 1; u < m; u++) {
    int i = L->uvar[u];
    L->lambda[i] = fmin(fmax(L->lambda[i] + r->theta * L->dir[u], L->P.lo[i]), L->P.hi[i]);
    L->lp[i] += r->theta_p * L->dir[u];
  }
  for (int i = 0; i < n; i++) {
    L->w[i] += r->theta * L->dw[i];
    L->wp[i] += r->theta_p * L->dw[i];
  }
}

/* Follow the path from the almost complementary vertex; PERP_RUNNING when t reached 0. */
static perp_reason follow(struct lemke *L, int e, int is_lambda)
{
  for (;;) {
    if (L->stats->iterations >= L->limit) return PERP_MAX_ITER;
    double sign = L->st[e] == PERP_ROW_LO ? 1 : -1;
    direction(L, e, is_lambda, sign);
    struct ratio r = ratio_test(L, e, is_lambda);
    if (r.what == IS_NONE) {
      /* the ray, for the certificate: components of lambda */
      for (int i = 0; i < L->P.n; i++) L->dp[i] = 0;
      for (int u = 1; u < L->K.m; u++) L->dp[L->uvar[u]] = L->dir[u];
      if (is_lambda) L->dp[e] = sign;
      return PERP_RAY;
    }
    if (!isfinite(r.theta)) return PERP_NOT_FINITE;
    move(L, &r);
    L->stats->iterations++;
    PERP_TRACE(L->ctx, .method = "lemke", .what = "pivot", .iteration = L->stats->iterations,
               .entering = e, .leaving = r.row, .step = r.theta, .residual = L->t, .n = L->P.n,
               .x = L->lambda, .w = L->w, .state = L->st);
    if (is_lambda) {
      L->lambda[e] = (sign > 0 ? L->P.lo[e] : L->P.hi[e]) + sign * r.theta;
      L->lp[e] = sign * r.theta_p;
      for (int u = 0; u < L->K.m; u++) L->f[u] = -sign * L->dir[u];
    }
    switch (r.what) {
    case IS_T:
      L->t = 0;
      if (is_lambda) {
        replace_column(L, 0, e);
        L->st[e] = PERP_ROW_FREE;
      } else {
        remove_pair(L, 0, L->cpos[e]);
      }
      L->with_t = 0;
      return PERP_RUNNING;
    case IS_FLIP: /* from one bound to the other: now w_e leaves 0 to the other side */
      L->st[e] = (signed char)-L->st[e];
      L->lambda[e] = L->st[e] == PERP_ROW_LO ? L->P.lo[e] : L->P.hi[e];
      L->lp[e] = 0;
      is_lambda = 0;
      continue;
    case IS_LAMBDA: {
      int l = r.row, u = L->upos[l];
      L->lambda[l] = r.up ? L->P.hi[l] : L->P.lo[l];
      L->lp[l] = 0;
      L->st[l] = r.up ? PERP_ROW_HI : PERP_ROW_LO;
      if (is_lambda) {
        replace_column(L, u, e);
        L->st[e] = PERP_ROW_FREE;
      } else {
        remove_pair(L, u, L->cpos[e]);
      }
      e = l;
      is_lambda = 0;
      break;
    }
    default: { /* w_l */
      int l = r.row;
      double s = L->dw[l];
      L->w[l] = L->wp[l] = 0;
      if (is_lambda) {
        append(L, l, e, sign * s);
        L->st[e] = PERP_ROW_FREE;
      } else {
        replace_row(L, L->cpos[e], l);
      }
      e = l;
      is_lambda = 1;
    }
    }
  }
}

/* ---- one solve ------------------------------------------------------------------------------------- */

/* refine the basic solution and take its residual */
static double finish(struct lemke *L)
{
  recompute(L, 3);
  for (int i = 0; i < L->P.n; i++) L->lambda[i] = fmin(fmax(L->lambda[i], L->P.lo[i]), L->P.hi[i]);
  perp_pivot_slack(&L->P, L->lambda, L->w);
  L->stats->matvecs++;
  return perp_pivot_residual(&L->P, L->lambda, L->w);
}

/* a free row that depends on the basis but cannot be met: its combination proves infeasibility */
static int parked_proof(struct lemke *L)
{
  for (int i = 0; i < L->P.n; i++) {
    if (L->kind[i] != PARKED || fabs(L->w[i]) <= 1e-10 * L->P.a[i] * L->P.bscale) continue;
    gather_row(L, i, L->f);
    perp_inverse_apply_t(&L->K, L->f, L->g);
    for (int q = 0; q < L->P.n; q++) L->dp[q] = 0;
    double sign = L->w[i] > 0 ? -1 : 1;
    L->dp[i] = sign;
    for (int c = 0; c < L->K.m; c++) L->dp[L->crow[c]] = -sign * L->g[c];
    if (perp_pivot_proves_infeasible(&L->P, L->dp)) return 1;
  }
  return 0;
}

static perp_reason attempt(struct lemke *L, int guess, int cover)
{
  int r, is_lambda;
  first_sets(L, guess);
  first_core(L);
  if (!guess)
    recompute(L, L->K.m > 0 ? 3 : 1);
  else if (!clean_guess(L))
    return PERP_SINGULAR;
  first_t(L, cover, &r, &is_lambda);
  if (r >= 0) {
    perp_reason reason = follow(L, r, is_lambda);
    if (reason == PERP_RAY && perp_pivot_proves_infeasible(&L->P, L->dp)) return PERP_INFEASIBLE;
    if (reason != PERP_RUNNING) return reason;
  }
  if (finish(L) <= PERP_PIVOT_DONE) return PERP_EXACT;
  return parked_proof(L) ? PERP_INFEASIBLE : PERP_INACCURATE;
}

static perp_status solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                         double *certificate, perp_stats *stats)
{
  struct lemke *L = ws;
  perp_reason reason = PERP_RUNNING;
  PERP_TRY(perp_pivot_take(ctx, &L->P, p));
  int n = p->n, warm = 0;
  for (int i = 0; i < n; i++) warm |= lambda[i] != 0;
  L->ctx = ctx;
  L->stats = stats;
  L->lambda = lambda;
  L->symmetric = 0;
  warm = L->o.start == START_GUESS || (L->o.start == START_AUTO && warm);
  /* attempts share the limit; each keeps its part, so that a bad covering vector cannot use up all */
  int covers = L->o.cover == COVER_AUTO ? COVERS : 1, cover = L->o.cover;
  int total = L->o.max_iter > 0 ? L->o.max_iter : 50 * n + 1000;
  perp_reason first = PERP_RUNNING;
  for (int k = 0; k < covers + warm; k++) {
    int guess = warm && k == 0;
    if (L->o.cover == COVER_AUTO) cover = COVER_ONES + k - warm + guess;
    L->limit = total / (covers + warm) * (k + 1);
    if (k == covers + warm - 1) L->limit = total;
    reason = attempt(L, guess, cover);
    /* numerical trouble: go on from the basis that was reached */
    for (int again = 0; again < 3 && reason == PERP_INACCURATE; again++)
      reason = attempt(L, 1, cover);
    if (reason == PERP_EXACT || reason == PERP_INFEASIBLE || reason == PERP_NOT_FINITE) break;
    if (reason == PERP_RAY && certificate != NULL && first != PERP_RAY)
      memcpy(certificate, L->dp, (size_t)n * sizeof *certificate);
    if (first != PERP_RAY) first = reason;
    stats->fallbacks++;
  }
  if (reason == PERP_INFEASIBLE && certificate != NULL)
    memcpy(certificate, L->dp, (size_t)n * sizeof *certificate);
  if (reason != PERP_EXACT && reason != PERP_INFEASIBLE && reason != PERP_NOT_FINITE)
    reason = first;
  for (int i = 0; i < n; i++)
    if (!isfinite(lambda[i])) lambda[i] = L->P.lo[i] > -HUGE_VAL ? L->P.lo[i] : 0;
  stats->reason = reason;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_lemke = {
  .d = { "lemke", "complementary pivoting along a covering vector, mixed and boxed, lexicographic",
         "Cline 2002, 2.7.1-2.7.2, 4.8; Cottle, Pang & Stone, The Linear Complementarity Problem",
         "w = A lambda + b + c t, lo <= lambda <= hi complementary, t -> 0", lemke_options,
         sizeof(struct lemke_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE |
             PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = create,
  .solve = solve,
  .destroy = destroy,
};
