/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The basis of almost complementary paths: K^-1 and its changes, the first index sets, basic
 * solutions. */
#include "solvers/lcp/pivoting/path.h"

#include <string.h>

/* a row depends on the others when its pivot is below DEPEND times the terms that cancel in it */
static const double DEPEND = 1e-10;
/* ... or when all of these terms are themselves what rounding has left of zeros: one multiplier
 * more than there are rows for it */
static const double NOTHING = 1e-13;
/* below this reciprocal condition dependent rows are looked for: of free rows, which have to be in,
 * and of a guess */
static const double DOUBT = 1e-13, DOUBT_GUESS = 1e-10;
/* a row leaves the inverse by an update where its pivot is more than this part of its row and
 * column */
static const double LEAVES = 1e-8;
/* pivots of a pair of rows, relative to the scale of the row */
static const double PAIR = 1e-9;

void perp_path_layout(void *ws, perp_arena *arena)
{
  perp_path *path = ws;
  const int n = path->P.max_n, cap = n + 2;
  perp_pivot_layout(&path->P, arena);
  path->K.cap = cap;
  path->K.ld = perp_column_stride(cap);
  path->lwork = cap * 32;
  PERP_DOUBLES(arena, path->K.ld * (size_t)cap, &path->K.R);
  PERP_DOUBLES(arena, 2 * cap, &path->K.x);
  PERP_DOUBLES(arena, path->lwork, &path->work);
  PERP_DOUBLES(arena, cap, &path->dir, &path->f, &path->g);
  PERP_DOUBLES(arena, n, &path->w, &path->wp, &path->lp, &path->c, &path->dw, &path->dp,
               &path->tilt);
  PERP_INTS(arena, cap, &path->uvar, &path->crow, &path->ipiv);
  PERP_INTS(arena, n, &path->upos, &path->cpos);
  path->st = PERP_CARVE(arena, signed char, n);
  path->mark = PERP_CARVE(arena, signed char, n);
  path->kind = PERP_CARVE(arena, unsigned char, n);
  path->stop = PERP_CARVE(arena, perp_stop, 2 * n + 3);
}

perp_status perp_path_take(perp_ctx *ctx, perp_path *path, const perp_lcp *lcp, const char *name,
                           double *lambda, double *certificate, perp_stats *stats)
{
  perp_no_certificate(lcp, certificate);
  PERP_TRY(perp_pivot_take(ctx, &path->P, lcp));
  stats->work = path->P.product;
  path->ctx = ctx;
  path->stats = stats;
  path->lambda = lambda;
  path->name = name;
  path->target = -1;
  path->sharp = 1;
  path->lexico = false;
  path->warm = false;
  for (int i = 0; i < lcp->n; i++) path->warm = path->warm || lambda[i] != 0;
  return PERP_OK;
}

static double path_basis_entry(const perp_path *path, int i, int j)
{
  return path->P.A[(size_t)i + (size_t)j * path->P.lda];
}

void perp_path_row(const perp_path *path, int i, double *out)
{
  if (path->with_t) out[0] = path->c[i];
  for (int u = path->with_t; u < path->K.m; u++) out[u] = path_basis_entry(path, i, path->uvar[u]);
}

void perp_path_column(const perp_path *path, int j, double *out)
{
  const double *col = j < 0 ? path->c : path->P.A + (size_t)j * path->P.lda;
  for (int c = 0; c < path->K.m; c++) out[c] = col[path->crow[c]];
}

void perp_path_product(const perp_path *path, const double *x, double *y)
{
  const int first = path->with_t;
  if (first && x[0] != 0)
    for (int i = 0; i < path->P.n; i++) y[i] += x[0] * path->c[i];
  perp_pivot_columns(&path->P, path->K.m - first, path->uvar + first, x + first, y);
}

/* ---- changes of the basis ---- */

void perp_path_append(perp_path *path, int row, int col, double s)
{
  const int m = path->K.m;
  perp_path_count(path, 2);
  perp_path_row(path, row, path->dp);
  perp_inverse_apply_t(&path->K, path->dp, path->g);
  perp_inverse_append(&path->K, path->f, path->g, s);
  path->crow[m] = row;
  path->cpos[row] = m;
  path->uvar[m] = col;
  if (col >= 0) path->upos[col] = m;
}

void perp_path_replace_column(perp_path *path, int u, int col)
{
  perp_path_count(path, 1);
  perp_inverse_replace_column(&path->K, u, path->f);
  if (path->uvar[u] >= 0) path->upos[path->uvar[u]] = -1;
  path->uvar[u] = col;
  if (col >= 0) path->upos[col] = u;
}

void perp_path_replace_row(perp_path *path, int c, int row)
{
  perp_path_count(path, 2);
  perp_path_row(path, row, path->dp);
  perp_inverse_apply_t(&path->K, path->dp, path->g);
  perp_inverse_replace_row(&path->K, c, path->g);
  path->cpos[path->crow[c]] = -1;
  path->crow[c] = row;
  path->cpos[row] = c;
}

void perp_path_remove(perp_path *path, int u, int c)
{
  const int last = path->K.m - 1;
  perp_path_count(path, 1);
  perp_inverse_remove(&path->K, u, c);
  if (path->uvar[u] >= 0) path->upos[path->uvar[u]] = -1;
  path->cpos[path->crow[c]] = -1;
  if (u != last) {
    path->uvar[u] = path->uvar[last];
    if (path->uvar[u] >= 0) path->upos[path->uvar[u]] = u;
  }
  if (c != last) {
    path->crow[c] = path->crow[last];
    path->cpos[path->crow[c]] = c;
  }
}

void perp_path_t_first(perp_path *path, int u)
{
  if (u != 0) {
    for (int c = 0; c < path->K.m; c++) {
      double *col = path->K.R + (size_t)c * path->K.ld, x = col[0];
      col[0] = col[u];
      col[u] = x;
    }
    path->uvar[u] = path->uvar[0];
    path->upos[path->uvar[u]] = u;
    path->uvar[0] = -1;
  }
  path->with_t = 1;
}

double perp_path_invert(perp_path *path)
{
  for (int u = 0; u < path->K.m; u++)
    perp_path_column(path, path->uvar[u], path->K.R + (size_t)u * path->K.ld);
  path->stats->factorizations++;
  perp_path_count(path, path->K.m);
  return perp_inverse_factor(&path->K, path->ipiv, path->work, path->lwork);
}

void perp_path_recompute(perp_path *path, int passes)
{
  const int first = path->with_t, n = path->P.n;
  if (passes > 1) { /* from scratch: what is zero becomes exactly zero */
    if (first) path->t = 0;
    for (int u = first; u < path->K.m; u++) path->lambda[path->uvar[u]] = 0;
  }
  for (int pass = 0; pass < passes; pass++) {
    perp_pivot_slack(&path->P, path->lambda, path->w);
    for (int i = 0; first && i < n; i++) path->w[i] += path->t * path->c[i];
    path->stats->matvecs++;
    path->stats->work += perp_pivot_cost(&path->P, path->K.m);
    if (pass == passes - 1) break;
    perp_path_count(path, 1);
    for (int c = 0; c < path->K.m; c++) path->g[c] = path->w[path->crow[c]];
    perp_inverse_apply(&path->K, path->g, path->f);
    if (first) path->t -= path->f[0];
    for (int u = first; u < path->K.m; u++) path->lambda[path->uvar[u]] -= path->f[u];
  }
}

/* ---- the start ---- */

void perp_path_sets(perp_path *path, bool guess)
{
  const double *lo = path->P.lo, *hi = path->P.hi;
  for (int i = 0; i < path->P.n; i++) {
    const bool has_lo = lo[i] > -HUGE_VAL, has_hi = hi[i] < HUGE_VAL;
    const double x = guess ? path->lambda[i] : 0;
    path->kind[i] = !has_lo && !has_hi ? PERP_PATH_FREE
                    : lo[i] == hi[i]   ? PERP_PATH_FIXED
                                       : PERP_PATH_NORMAL;
    path->lambda[i] = x;
    if (path->kind[i] == PERP_PATH_FREE ||
        (guess && path->kind[i] == PERP_PATH_NORMAL && x > lo[i] && x < hi[i]))
      path->st[i] = PERP_ROW_FREE;
    else /* cold: the lower bound if there is one */
      perp_path_rest(path, i, has_lo && (!has_hi || !guess || x <= lo[i]));
  }
}

double perp_path_pivot(perp_path *path, int i, double *terms)
{
  perp_path_column(path, i, path->g);
  perp_path_count(path, 1);
  perp_inverse_apply(&path->K, path->g, path->f);
  perp_path_row(path, i, path->dp);
  double s = path_basis_entry(path, i, i);
  *terms = fabs(s);
  for (int u = 0; u < path->K.m; u++) {
    s -= path->dp[u] * path->f[u];
    *terms += fabs(path->dp[u] * path->f[u]);
  }
  return s;
}

/* append row and column i to K when that keeps it regular */
static bool path_basis_try(perp_path *path, int i)
{
  double terms;
  const double s = perp_path_pivot(path, i, &terms);
  if (!(fabs(s) > DEPEND * terms) || !(fabs(s) > NOTHING * path->P.a[i])) return false;
  perp_path_append(path, i, i, s);
  return true;
}

/* free row i has no pivot of its own: join it with a row j such that the 2 x 2 pivot is regular */
static bool path_basis_try_pair(perp_path *path, int i)
{
  /* The row with which the pair of row i has the largest pivots, path->f = K^-1 column i and
   * path->dw column i of the pivotal transform; -1 when there is none. */
  const int n = path->P.n;
  int partner = -1;
  double most = PAIR;
  path->stats->work += 2.0 * n * path->K.m;
  perp_path_column(path, i, path->g);
  perp_inverse_apply(&path->K, path->g, path->f);
  for (int u = 0; u < path->K.m; u++) path->f[u] = -path->f[u];
  memcpy(path->dw, path->P.A + (size_t)i * path->P.lda, (size_t)n * sizeof *path->dw);
  perp_path_product(path, path->f, path->dw);
  for (int u = 0; u < path->K.m; u++) path->f[u] = -path->f[u];
  perp_path_row(path, i, path->dp);
  perp_inverse_apply_t(&path->K, path->dp, path->g);
  for (int q = 0; q < n; q++) {
    if (path->upos[q] >= 0 || q == i || path->kind[q] == PERP_PATH_FIXED) continue;
    double row = path_basis_entry(path, i, q);
    const double *col = path->P.A + (size_t)q * path->P.lda;
    for (int c = 0; c < path->K.m; c++) row -= path->g[c] * col[path->crow[c]];
    const double size = perp_smaller(fabs(path->dw[q]) / path->P.a[q], fabs(row) / path->P.a[i]);
    if (size > most) {
      most = size;
      partner = q;
    }
  }
  const int j = partner;
  if (j < 0) return false;
  /* equation j with unknown i, then equation i with unknown j */
  perp_path_append(path, j, i, path->dw[j]);
  perp_path_column(path, j, path->g);
  perp_inverse_apply(&path->K, path->g, path->f);
  perp_path_row(path, i, path->dp);
  double s = path_basis_entry(path, i, j);
  for (int u = 0; u < path->K.m; u++) s -= path->dp[u] * path->f[u];
  if (!(fabs(s) > PAIR * path->P.a[i])) { /* take the half step back */
    perp_path_remove(path, path->upos[i], path->cpos[j]);
    return false;
  }
  perp_path_append(path, i, j, s);
  path->st[j] = PERP_ROW_FREE;
  return true;
}

void perp_path_core(perp_path *path)
{
  const int n = path->P.n;
  bool guess = false;
  path->with_t = 0;
  path->K.m = 0;
  for (int i = 0; i < n; i++) {
    path->upos[i] = path->cpos[i] = -1;
    if (path->st[i] != PERP_ROW_FREE) continue;
    guess = guess || path->kind[i] != PERP_PATH_FREE;
    path->upos[i] = path->cpos[i] = path->K.m;
    path->uvar[path->K.m] = path->crow[path->K.m] = i;
    path->K.m++;
  }
  if (path->K.m == 0 || perp_path_invert(path) > (guess ? DOUBT_GUESS : DOUBT)) return;
  /* one by one: first free rows, then bounded ones, then pairs for the free rows that remain */
  path->K.m = 0;
  for (int i = 0; i < n; i++) path->upos[i] = path->cpos[i] = -1;
  for (int i = 0; i < n; i++)
    if (path->kind[i] == PERP_PATH_FREE) path_basis_try(path, i);
  for (int i = 0; i < n; i++)
    if (path->st[i] == PERP_ROW_FREE && path->kind[i] != PERP_PATH_FREE && !path_basis_try(path, i))
      perp_path_rest(path, i, path->lambda[i] - path->P.lo[i] <= path->P.hi[i] - path->lambda[i]);
  for (int i = 0; i < n; i++)
    if (path->kind[i] == PERP_PATH_FREE && path->upos[i] < 0 && !path_basis_try(path, i) &&
        !path_basis_try_pair(path, i)) {
      path->kind[i] = PERP_PATH_PARKED;
      path->lambda[i] = 0;
    }
}

/* Row i of slot u leaves the basis.  What is left may be singular, and then loses other rows, too.
 */
static void path_basis_leave(perp_path *path, int u, int i, bool low, bool *singular)
{
  const int m = path->K.m, c = path->cpos[i];
  double most = 0;
  for (int k = 0; k < m; k++) {
    most = perp_larger(most, fabs(path->K.R[(size_t)k + (size_t)c * path->K.ld]));
    most = perp_larger(most, fabs(path->K.R[(size_t)u + (size_t)k * path->K.ld]));
  }
  *singular = *singular || !(fabs(path->K.R[(size_t)u + (size_t)c * path->K.ld]) > LEAVES * most);
  if (!*singular) perp_path_remove(path, u, c);
  perp_path_rest(path, i, low);
}

bool perp_path_clean(perp_path *path)
{
  for (int round = 0; round < 30; round++) {
    perp_path_recompute(path, 3);
    bool moved = false, singular = false;
    double zero = path->P.bscale;
    for (int i = 0; i < path->P.n; i++) zero = perp_larger(zero, fabs(path->lambda[i]));
    zero *= PERP_PIVOT_ZERO;
    for (int u = path->K.m - 1; u >= 0; u--) {
      const int i = path->uvar[u];
      if (path->kind[i] == PERP_PATH_FREE) continue;
      const bool low = path->lambda[i] < path->P.lo[i] - zero;
      if (!low && !(path->lambda[i] > path->P.hi[i] + zero)) continue;
      path_basis_leave(path, u, i, low, &singular);
      moved = true;
    }
    if (singular) perp_path_core(path);
    if (!moved) return true;
  }
  return false;
}

bool perp_path_parked_proof(perp_path *path)
{
  for (int i = 0; i < path->P.n; i++) {
    if (path->kind[i] != PERP_PATH_PARKED ||
        fabs(path->w[i]) <= 1e-10 * path->P.a[i] * path->P.bscale)
      continue;
    perp_path_row(path, i, path->f);
    path->stats->work += (double)path->P.n * path->P.n;
    perp_inverse_apply_t(&path->K, path->f, path->g);
    for (int q = 0; q < path->P.n; q++) path->dp[q] = 0;
    const double sign = path->w[i] > 0 ? -1 : 1;
    path->dp[i] = sign;
    for (int c = 0; c < path->K.m; c++) path->dp[path->crow[c]] = -sign * path->g[c];
    if (perp_pivot_proves_infeasible(&path->P, path->dp)) return true;
  }
  return false;
}
