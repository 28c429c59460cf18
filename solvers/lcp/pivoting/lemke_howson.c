/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lemke and Howson's algorithm for bimatrix games (Lemke and Howson 1964; Cottle, Pang and Stone,
 * The Linear Complementarity Problem).
 *
 *      lambda = (x, y),   A = [0 C; D' 0],   b < 0
 *
 *      C y >= a,  D'x >= d  complementary to x, y >= 0
 *
 * Here a = -b of the first m rows and d = -b of the other l; rows are scaled so that both are 1.  C
 * and D are then the costs of a game: an equilibrium (x^, y^) of probability vectors with the costs
 * u = min (C y^)_i, v = min (D'x^)_j gives the solution x = x^ / v, y = y^ / u.  The sign of the
 * entries does not matter as long as u, v > 0, which positive costs guarantee.
 *
 * With the payoffs P = alpha - C > 0, Q = beta - D > 0 the tableaus
 *
 *      r + P y = 1,    s + Q'x = 1
 *
 * start at x = y = 0.  One x_k (or y_k) enters; then the complement of what left enters the other
 * tableau, until the pair k is complete again.  The start is the only vertex that is complementary
 * without being an equilibrium, and the path from it cannot come back, so it ends in one.  Ratios
 * that tie are compared lexicographically along the inverse of the basis, which the tableau holds
 * (the columns of the nonbasic slacks), so no vertex repeats.  At the end x and y are computed
 * again from their supports by LU, refined.
 *
 * The two sets of rows may be mixed: the zero pattern, taken as a graph, is split by two colours.
 *
 * Cost O(m l) per pivot, memory 0.75 n^2 numbers.  Paths can be exponentially long; when one
 * exceeds its part of the limit, n + 20 pivots and more for later ones, the next label k is tried.
 * Solves only what it says: PERP_UNSUITED for any other structure. */
#include "solvers/lcp/pivoting/pivot.h"
#include "solvers/linalg/dense.h"
#include "solvers/linalg/inverse_update.h"

#include <stdlib.h>
#include <string.h>

struct howson_opts {
  int max_iter, label;
};
static const perp_opt howson_options[] = {
  PERP_INT(struct howson_opts, max_iter, 0, 0, 1e9, "Maximum number of pivots. 0: 200 n + 1000."),
  PERP_INT(struct howson_opts, label, 0, 0, 1e9,
           "Label of the path: the row whose complementary pair is dropped first (modulo n)."),
  PERP_OPTIONS_END
};

/* equal within rounding, and pivots that count, relative to entries of order 1 */
static const double TIE = 1e-12, TINY = 1e-11;

/* z_B + T z_N = q: rows of basic, columns of nonbasic variables.  Variables 0 ... rows-1 are the
 * slacks, rows ... rows+cols-1 the others. */
struct tableau {
  int rows, cols;
  double *T, *q;         /* [rows * cols] column-major, [rows] */
  int *basic, *nonbasic; /* [rows], [cols] */
};

struct howson {
  struct howson_opts o;
  perp_pivot P;
  struct tableau one, two; /* r + P y = 1,  s + Q'x = 1 */
  int *perm;               /* [n] row of the problem: the first set, then the second */
  double *a;               /* [n] -b in that order */
  double *lambda;          /* [n] the solution in that order */
  double *col, *row;       /* [n] */
  int *tied;               /* [n] */
  perp_inverse K;
  int *ipiv, *support, *others;
  double *work, *plain, *sol; /* plain: [n] lambda as the tableaus give it */
  int lwork;
};

static void lemke_howson_layout(void *ws, perp_arena *arena)
{
  struct howson *H = ws;
  const int n = H->P.max_n;
  const size_t quarter = ((size_t)n * (size_t)n + 3) / 4;
  perp_pivot_layout(&H->P, arena);
  H->K.cap = n / 2 + 1;
  H->K.ld = (size_t)n / 2 + 1;
  H->lwork = 32 * n;
  PERP_DOUBLES(arena, quarter, &H->one.T, &H->two.T);
  PERP_DOUBLES(arena, n, &H->one.q, &H->two.q, &H->a, &H->lambda, &H->col, &H->row, &H->plain,
               &H->sol);
  PERP_DOUBLES(arena, H->K.ld * H->K.ld, &H->K.R);
  PERP_DOUBLES(arena, 2 * H->K.ld, &H->K.x);
  PERP_DOUBLES(arena, H->lwork, &H->work);
  PERP_INTS(arena, n, &H->one.basic, &H->two.basic, &H->one.nonbasic, &H->two.nonbasic, &H->perm,
            &H->tied, &H->ipiv, &H->support, &H->others);
}

static perp_status lemke_howson_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct howson H = { .o = *(const struct howson_opts *)opts, .P.max_n = max_n };
  return perp_workspace_create(ctx, "lemke-howson", &H, sizeof H, lemke_howson_layout, ws);
}

/* entry of A in the order of the two sets */
static inline double lemke_howson_entry(const struct howson *H, int i, int j)
{
  return H->P.A[(size_t)H->perm[i] + (size_t)H->perm[j] * H->P.lda];
}

/* Rows of the first block when A is [0 C; D' 0] as it stands, else 0. */
static int first_block(const perp_pivot *pivot)
{
  int n = pivot->n, lead = n, trail = 0;
  /* the largest zero block at the top left, and at the bottom right from row `trail` on */
  for (int j = 0; j < n; j++)
    for (int i = 0; i < n; i++) {
      if (pivot->A[(size_t)i + (size_t)j * pivot->lda] == 0) continue;
      int more = i > j ? i : j, less = i > j ? j : i;
      if (more < lead) lead = more;
      if (less + 1 > trail) trail = less + 1;
    }
  if (trail > lead) return 0;
  /* blocks of zeros leave a choice: the even one */
  int m = n / 2;
  m = m < trail ? trail : m > lead ? lead : m;
  return m > 0 && m < n ? m : 0;
}

/* Rows of the first set and H->perm, 0 when lambda >= 0, b < 0 and two sets without entries among
 * themselves are not what A and the bounds say.  O(n^2). */
static int lemke_howson_split(struct howson *H)
{
  const perp_pivot *pivot = &H->P;
  int n = pivot->n, m = 0, *colour = H->tied, *queue = H->support;
  for (int i = 0; i < n; i++) {
    if (pivot->lo[i] != 0 || pivot->hi[i] != HUGE_VAL || !(pivot->b[i] < 0)) return 0;
    if (pivot->A[(size_t)i * (pivot->lda + 1)] != 0) return 0;
    H->perm[i] = i;
    colour[i] = -1;
  }
  if ((m = first_block(pivot)) > 0) return m;
  for (int start = 0; start < n; start++) {
    if (colour[start] >= 0) continue;
    int done = 0, found = 0;
    colour[start] = 0;
    queue[found++] = start;
    while (done < found) {
      int i = queue[done++];
      for (int j = 0; j < n; j++) {
        if (pivot->A[(size_t)i + (size_t)j * pivot->lda] == 0 &&
            pivot->A[(size_t)j + (size_t)i * pivot->lda] == 0)
          continue;
        if (colour[j] == colour[i]) return 0;
        if (colour[j] >= 0) continue;
        colour[j] = !colour[i];
        queue[found++] = j;
      }
    }
  }
  for (int c = 0, at = 0; c < 2; c++) {
    for (int i = 0; i < n; i++)
      if (colour[i] == c) H->perm[at++] = i;
    if (c == 0) m = at;
  }
  return m < n ? m : 0;
}

/* Payoffs between 0.1 and 1.1 from the costs in T, and the basis of the slacks. */
static void lemke_howson_start(struct tableau *tableau, int rows, int cols)
{
  const size_t count = (size_t)rows * (size_t)cols;
  double top = -HUGE_VAL, low = HUGE_VAL;
  for (size_t k = 0; k < count; k++) {
    top = perp_larger(top, tableau->T[k]);
    low = perp_smaller(low, tableau->T[k]);
  }
  const double width = perp_larger(top - low, 1e-300);
  for (size_t k = 0; k < count; k++) tableau->T[k] = (top - tableau->T[k]) / width + 0.1;
  tableau->rows = rows;
  tableau->cols = cols;
  for (int i = 0; i < rows; i++) {
    tableau->q[i] = 1;
    tableau->basic[i] = i;
  }
  for (int j = 0; j < cols; j++) tableau->nonbasic[j] = rows + j;
}

static void lemke_howson_fill(struct howson *H, int m)
{
  const int n = H->P.n, l = n - m;
  for (int i = 0; i < n; i++) H->a[i] = -H->P.b[H->perm[i]];
  for (int j = 0; j < l; j++)
    for (int i = 0; i < m; i++) {
      H->one.T[i + (size_t)j * (size_t)m] = lemke_howson_entry(H, i, m + j) / H->a[i];
      H->two.T[j + (size_t)i * (size_t)l] = lemke_howson_entry(H, m + j, i) / H->a[m + j];
    }
  lemke_howson_start(&H->one, m, l);
  lemke_howson_start(&H->two, l, m);
}

/* entry of B^-1 in row p and the column of slack v: a column of T when v is nonbasic, else a unit
 * vector */
static double inverse_entry(const struct tableau *tableau, const int *where, int p, int v)
{
  return where[v] >= 0 ? tableau->T[p + (size_t)where[v] * (size_t)tableau->rows]
                       : tableau->basic[p] == v;
}

/* The row that leaves when column e enters: least ratio q / T_e, ties lexicographic; -1 when
 * unbounded. */
static int leaving_row(const struct tableau *tableau, int e, int *where, int *tied)
{
  const double *col = tableau->T + (size_t)e * (size_t)tableau->rows;
  double best = HUGE_VAL;
  int count = 0;
  for (int p = 0; p < tableau->rows; p++)
    if (col[p] > TINY) best = perp_smaller(best, (tableau->q[p] + TIE) / col[p]);
  if (best == HUGE_VAL) return -1;
  for (int p = 0; p < tableau->rows; p++)
    if (col[p] > TINY && tableau->q[p] / col[p] <= best) tied[count++] = p;
  if (count > 1) {
    for (int v = 0; v < tableau->rows; v++) where[v] = -1;
    for (int j = 0; j < tableau->cols; j++)
      if (tableau->nonbasic[j] < tableau->rows) where[tableau->nonbasic[j]] = j;
  }
  for (int v = 0; v < tableau->rows && count > 1; v++) {
    double least = HUGE_VAL;
    int kept = 0;
    for (int k = 0; k < count; k++)
      least = perp_smaller(least, inverse_entry(tableau, where, tied[k], v) / col[tied[k]]);
    for (int k = 0; k < count; k++)
      if (inverse_entry(tableau, where, tied[k], v) / col[tied[k]] <=
          least + TIE * (1 + fabs(least)))
        tied[kept++] = tied[k];
    count = kept;
  }
  return tied[0];
}

/* exchange column e and row p; returns the variable that left */
static int lemke_howson_pivot(struct tableau *tableau, int p, int e, double *col, double *row)
{
  int rows = tableau->rows, cols = tableau->cols;
  double *pivot_col = tableau->T + (size_t)e * (size_t)rows, s = 1 / pivot_col[p];
  memcpy(col, pivot_col, (size_t)rows * sizeof *col);
  for (int j = 0; j < cols; j++) row[j] = tableau->T[p + (size_t)j * (size_t)rows] * s;
  /* T_ij -= col_i row_j, and the pivot row and column */
  col[p] = 0;
  for (int j = 0; j < cols; j++) row[j] = -row[j];
  row[e] = 0;
  perp_rank1(rows, cols, col, row, tableau->T, (size_t)rows);
  for (int j = 0; j < cols; j++) tableau->T[p + (size_t)j * (size_t)rows] = -row[j];
  double theta = tableau->q[p] * s;
  for (int i = 0; i < rows; i++) {
    pivot_col[i] = -col[i] * s;
    tableau->q[i] = perp_larger(tableau->q[i] - theta * col[i], 0);
  }
  pivot_col[p] = s;
  tableau->q[p] = theta;
  int left = tableau->basic[p];
  tableau->basic[p] = tableau->nonbasic[e];
  tableau->nonbasic[e] = left;
  return left;
}

/* row of A to which a variable of a tableau belongs: r_i and x_i to row i, s_j and y_j to row m + j
 */
static int row_of(int second, int m, int l, int variable)
{
  if (!second) return variable;                      /* r_i: i;  y_j: m + j */
  return variable < l ? m + variable : variable - l; /* s_j: m + j;  x_i: i */
}

/* Follow the path that gives up the pair of row k. */
static perp_reason lemke_howson_follow(struct howson *H, perp_ctx *ctx, int m, int k, int limit,
                                       perp_stats *stats)
{
  int l = H->P.n - m;
  /* x_k enters the second tableau, y_k the first */
  int second = k < m, variable = k < m ? l + k : k;
  for (;;) {
    struct tableau *tableau = second ? &H->two : &H->one;
    int e = 0;
    while (e < tableau->cols && tableau->nonbasic[e] != variable) e++;
    if (e == tableau->cols) return PERP_STALLED;
    if (stats->iterations >= limit || perp_pivot_spent(&H->P, stats)) return PERP_MAX_ITER;
    int p = leaving_row(tableau, e, H->ipiv, H->tied);
    if (p < 0) return PERP_RAY;
    int left = lemke_howson_pivot(tableau, p, e, H->col, H->row);
    stats->work += (double)tableau->rows * tableau->cols;
    if (!isfinite(tableau->q[p])) return PERP_NOT_FINITE;
    int pair = row_of(second, m, l, left);
    stats->iterations++;
    PERP_TRACE(ctx, .method = "lemke-howson", .what = "pivot", .iteration = stats->iterations,
               .entering = H->perm[row_of(second, m, l, variable)], .leaving = H->perm[pair],
               .step = tableau->q[p], .residual = (double)NAN, .n = H->P.n);
    if (pair == k) return PERP_RUNNING;
    /* the complement lives in the other tableau */
    second = !second;
    variable = !second ? pair : pair < m ? l + pair : pair - m;
  }
}

/* Part of lambda (x: first = 0, y: first = 1) from the supports: the equations of the rows where
 * the other part is positive.  0 when they are not square and regular. */
static int from_supports(struct howson *H, int m, int first, double *lambda)
{
  int n = H->P.n, k = 0, rows = 0;
  int from = first ? m : 0, to = first ? n : m; /* unknowns */
  for (int i = from; i < to; i++)
    if (lambda[i] > 0) H->support[k++] = i;
  for (int i = first ? 0 : m; i < (first ? m : n); i++)
    if (H->plain[i] > 0) H->others[rows++] = i;
  if (k != rows || k == 0) return 0;
  H->K.m = k;
  for (int u = 0; u < k; u++)
    for (int c = 0; c < k; c++)
      H->K.R[c + (size_t)u * H->K.ld] = lemke_howson_entry(H, H->others[c], H->support[u]);
  if (perp_inverse_factor(&H->K, H->ipiv, H->work, H->lwork) <= 1e-14) return 0;
  for (int u = 0; u < k; u++) H->sol[u] = lambda[H->support[u]];
  for (int pass = 0; pass < 3; pass++) {
    for (int c = 0; c < k; c++) {
      double sum = -H->a[H->others[c]];
      for (int u = 0; u < k; u++)
        sum += lemke_howson_entry(H, H->others[c], H->support[u]) * H->sol[u];
      H->row[c] = sum;
    }
    perp_inverse_apply(&H->K, H->row, H->col);
    for (int u = 0; u < k; u++) H->sol[u] -= H->col[u];
  }
  for (int u = 0; u < k; u++)
    if (!(H->sol[u] >= 0)) return 0;
  for (int u = 0; u < k; u++) lambda[H->support[u]] = H->sol[u];
  return 1;
}

/* the residual of H->lambda, which goes to out in the order of the problem; w [n] scratch */
static double lemke_howson_put(struct howson *H, double *out, double *w)
{
  for (int i = 0; i < H->P.n; i++) out[H->perm[i]] = H->lambda[i];
  perp_pivot_slack(&H->P, out, w);
  return perp_pivot_residual(&H->P, out, w);
}

/* probabilities from the tableaus, scaled by the costs of the game */
static double lemke_howson_extract(struct howson *H, int m, double *out, double *w)
{
  int n = H->P.n, l = n - m;
  double *lambda = H->lambda;
  for (int i = 0; i < n; i++) lambda[i] = 0;
  for (int p = 0; p < m; p++)
    if (H->one.basic[p] >= m) lambda[H->one.basic[p]] = H->one.q[p];
  for (int p = 0; p < l; p++)
    if (H->two.basic[p] >= l) lambda[H->two.basic[p] - l] = H->two.q[p];
  /* C y and D'x in units of a; the least of each becomes 1 */
  for (int part = 0; part < 2; part++) {
    int from = part ? m : 0, to = part ? n : m; /* x or y */
    double least = HUGE_VAL;
    for (int i = part ? 0 : m; i < (part ? m : n); i++) {
      double sum = 0;
      for (int j = from; j < to; j++) sum += lemke_howson_entry(H, i, j) * lambda[j];
      least = perp_smaller(least, sum / H->a[i]);
    }
    if (!(least > 0)) return HUGE_VAL; /* the equilibrium has a negative cost */
    for (int j = from; j < to; j++) lambda[j] /= least;
  }
  double plain = lemke_howson_put(H, out, w);
  memcpy(H->plain, lambda, (size_t)n * sizeof *lambda);
  if (from_supports(H, m, 0, lambda) && from_supports(H, m, 1, lambda)) {
    double refined = lemke_howson_put(H, out, w);
    if (refined <= plain) return refined;
  }
  memcpy(lambda, H->plain, (size_t)n * sizeof *lambda);
  return lemke_howson_put(H, out, w);
}

static perp_status lemke_howson_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                                      double *certificate, perp_stats *stats)
{
  struct howson *H = ws;
  int n = lcp->n;
  perp_no_certificate(lcp, certificate); /* a game always has an equilibrium */
  PERP_TRY(perp_pivot_take(ctx, &H->P, lcp));
  stats->work = H->P.product;
  for (int i = 0; i < n; i++) lambda[i] = perp_smaller(perp_larger(0, H->P.lo[i]), H->P.hi[i]);
  int m = lemke_howson_split(H);
  if (m == 0) {
    stats->reason = n == 0 ? PERP_EXACT : PERP_UNSUITED;
    return PERP_OK;
  }
  int total = H->o.max_iter > 0 ? H->o.max_iter : 200 * n + 1000, part = n + 20;
  stats->reason = PERP_MAX_ITER;
  for (int attempt = 0; stats->iterations < total; attempt++) {
    /* most paths are short: many labels with a small part of the limit, then larger ones */
    if (attempt > 0 && attempt % 8 == 0 && part < total) part *= 2;
    int limit = total - stats->iterations > part ? stats->iterations + part : total;
    if (perp_pivot_spent(&H->P, stats)) break;
    lemke_howson_fill(H, m);
    stats->work += (double)m * (n - m);
    stats->reason = lemke_howson_follow(H, ctx, m, (int)(((long)H->o.label + attempt) % n), limit,
                                        stats);
    if (stats->reason == PERP_RUNNING) {
      stats->work += (double)n * n; /* and the inverse of the supports, k^3 */
      stats->reason = lemke_howson_extract(H, m, lambda, H->P.r) <= PERP_PIVOT_DONE
                          ? PERP_EXACT
                          : PERP_INACCURATE;
      if (stats->reason == PERP_EXACT) break;
    }
    stats->fallbacks++;
  }
  for (int i = 0; i < n; i++)
    if (!isfinite(lambda[i])) lambda[i] = 0;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_lemke_howson = {
  .d = { "lemke-howson",
         "Lemke-Howson method for bimatrix games A = [0 C; D' 0], b < 0, lexicographic ties",
         "Lemke & Howson 1964; Cottle, Pang & Stone, The Linear Complementarity Problem",
         "C y >= a, D'x >= d complementary to x, y >= 0", howson_options,
         sizeof(struct howson_opts),
         PERP_LCP_NONSYMMETRIC | PERP_LCP_PIVOTING | PERP_LCP_STRUCTURED },
  .create = lemke_howson_create,
  .solve = lemke_howson_solve,
  .destroy = free,
  .serves =
      "Bimatrix games only: A = [0 C; D' 0] up to the order of the rows, and b < 0. With positive "
      "costs every path ends at a solution, in the worst case after exponentially many pivots.",
  .ties = "The lexico-minimum row of the basis inverse, compared to 1e-12.",
  .cost = "O(m l) per pivot for C of size m x l. Memory: 0.75 n^2 numbers. A path that exceeds its "
          "share of max_iter is abandoned for the next label.",
  .counts = "Pivots of all paths.",
};
