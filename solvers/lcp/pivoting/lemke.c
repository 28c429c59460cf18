/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lemke's complementary pivoting for boxed problems (Cline 2.7.1, 2.7.2 and 4.8; Cottle, Pang and
 * Stone, The Linear Complementarity Problem).
 *
 *      w = A lambda + b + c t,    lo <= lambda <= hi,  w complementary,  t >= 0
 *
 * For large t the covering vector c makes every row feasible.  The path of solutions is followed
 * while t falls to 0: one pair (lambda_r, w_r) has both members nonbasic, one of them enters, the
 * first basic variable that meets a bound leaves, and its complement enters next.  A row at its
 * upper bound has w <= 0, and a variable that enters may also run straight to its other bound.
 *
 * Basis: path.h; ties there as well (perturbed, default) or in path_follow.c (lexicographic, the
 * rule of Cline 2.7.1).  Not a tableau and not an n x n inverse is updated, but the inverse of the
 * block of the |S| basic lambda; a pivot costs O(|S|^2 + n |S|).  Memory 1.2 n^2 numbers.
 *
 * Mixed problems (Cline 2.7.2): free variables are basic from the beginning, may have any sign and
 * never leave.  If their block is singular, a free row is paired with another row by a 2 x 2 pivot;
 * a free row that depends on the others is left out and its residual checked at the end.
 *
 * Start: cold (S = free rows), or from a guess: S = rows strictly between their bounds, less those
 * that depend on others, and the covering vector is built in the terms of that basis, so that few
 * pivots remain when the guess is good. Copositive matrices have their proof for c > 0 only, which
 * the cover of a guess need not be, and a basis may be nearly singular: a path from a guess that
 * ends on a ray, or in an answer that is not one to the tolerances of the problem, goes on from the
 * cold basis.  Pivots of both count.
 *
 * Ends in finitely many pivots in exact arithmetic.  Solves monotone (also singular), strictly
 * copositive and copositive-plus problems or ends on a ray, which for these classes proves
 * infeasibility.  Outside of them (bimatrix games) a ray proves nothing.  Exponential on Murty's
 * and Fathi's families for c = 1: the pivot limit answers.  Factored input: perp_lcp_solve forms A
 * once per solve.
 *
 * The covering vector: Cline 2002, eq. 2.35 and 2.36; its first basis Cline 2002, eq. 2.37; a pivot
 * Cline 2002, eq. 2.38, 2.39; free rows Cline 2002, eq. 2.40. */
#include "solvers/lcp/pivoting/path.h"

#include <stdlib.h>
#include <string.h>

enum { COVER_AUTO, COVER_ONES, COVER_SCALED, COVERS = 5 };
static const char *const cover_names[] = { "auto", "ones", "scaled", NULL };
/* the second try after a ray: zeros relative to the largest component would hide small true ones */
static const double SHARP = 1e-5;
enum { START_AUTO, START_COLD, START_GUESS };
static const char *const start_names[] = { "auto", "cold", "guess", NULL };

enum { TIES_PERTURBED, TIES_LEXICOGRAPHIC };
static const char *const ties_names[] = { "perturbed", "lexicographic", NULL };

struct lemke_opts {
  int max_iter, cover, start, ties;
};
static const perp_opt lemke_options[] = {
  PERP_INT(struct lemke_opts, max_iter, 0, 0, 1e9, "Maximum number of pivots. 0: 50 n + 1000."),
  PERP_ENUM(
      struct lemke_opts, cover, COVER_AUTO, cover_names,
      "Covering vector: ones, or scaled by the rows of A. auto: ones, then others if that fails."),
  PERP_ENUM(struct lemke_opts, start, START_AUTO, start_names,
            "Initial basis: cold (free rows only) or guess (from the initial lambda). auto: the "
            "guess unless it is zero."),
  PERP_ENUM(struct lemke_opts, ties, TIES_PERTURBED, ties_names,
            "Rule for equal ratios: perturbed (smallest ratio of a generic perturbation) or "
            "lexicographic (lexico-minimum row of the basis inverse)."),
  PERP_OPTIONS_END
};

struct lemke {
  struct lemke_opts o;
  perp_path path;
};

static void lemke_layout(void *ws, perp_arena *arena)
{
  perp_path_layout(&((struct lemke *)ws)->path, arena);
}

static perp_status lemke_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct lemke lemke = { .o = *(const struct lemke_opts *)opts, .path.P.max_n = max_n };
  return perp_workspace_create(ctx, "lemke", &lemke, sizeof lemke, lemke_layout, ws);
}

static double lemke_cover_of(const perp_path *path, int cover, int i)
{
  if (cover == COVER_ONES) return 1;
  if (cover == COVER_SCALED) return path->P.a[i];
  return path->P.a[i] * (8 * perp_pivot_generic(i + 7919 * cover) - 7); /* a random one in [1, 9) */
}

/* The distance of row i from the bound that its cover dw moves it away from, and the unit of its
 * zero. */
static double first_distance(const perp_path *path, int i, double *unit)
{
  *unit = path->st[i] == PERP_ROW_FREE ? 1 : path->P.a[i];
  if (path->st[i] == PERP_ROW_FREE)
    return path->dw[i] > 0 ? path->lambda[i] - path->P.lo[i] : path->P.hi[i] - path->lambda[i];
  return path->dw[i] > 0 ? path->w[i] : -path->w[i];
}

/* Of the rows that ask for this t the lexico-minimum one. */
static int lexico_first(perp_path *path, double t, double zs)
{
  int count = 0;
  for (int i = 0; i < path->P.n; i++) {
    double unit, d = fabs(path->dw[i]), x = first_distance(path, i, &unit);
    if (d == 0 || !(x < -PERP_PIVOT_ZERO * zs * unit) || -x / d < t - PERP_PIVOT_ZERO * t) continue;
    path->stop[count++] = (perp_stop){
      .what = path->st[i] == PERP_ROW_FREE ? PERP_PATH_IS_LAMBDA : PERP_PATH_IS_W,
      .row = i,
      .rate = d,
      .to = path->dw[i] < 0 ? PERP_ROW_HI : PERP_ROW_LO,
    };
  }
  perp_path_lexico(path, path->stop, count);
  return path->stop[0].row;
}

/* Choose c and the first t.  Returns the row whose basic variable t replaces, -1 when the vertex is
 * already a solution; then its complement, lambda or w, enters. */
static int first_t(perp_path *path, int cover, bool *enters_lambda)
{
  const int n = path->P.n;
  int leaving = -1;
  double zs = path->P.bscale, t = 0, tp = 0;
  for (int i = 0; i < n; i++) zs = perp_larger(zs, fabs(path->lambda[i]));
  for (int u = 0; u < path->K.m; u++) path->f[u] = 0;
  for (int i = 0; i < n; i++) { /* dw: cover in the terms of the basis, dp: the perturbation */
    int one_sided = (path->P.lo[i] > -HUGE_VAL) != (path->P.hi[i] < HUGE_VAL);
    double d = lemke_cover_of(path, cover, i), p = perp_pivot_generic(i);
    path->wp[i] = path->lp[i] = path->dw[i] = 0;
    path->tilt[i] = path->st[i] == PERP_ROW_HI ? -1 : 1;
    if (path->kind[i] == PERP_PATH_PARKED || path->kind[i] == PERP_PATH_FIXED ||
        path->kind[i] == PERP_PATH_FREE)
      continue;
    if (path->st[i] == PERP_ROW_FREE) {
      double sign = one_sided ? (path->P.lo[i] > -HUGE_VAL ? 1 : -1)
                    : path->lambda[i] - path->P.lo[i] <= path->P.hi[i] - path->lambda[i] ? 1
                                                                                         : -1;
      path->lp[i] = sign * p;
      if (one_sided) path->dw[i] = sign * d / path->P.a[i];
      path->f[path->upos[i]] = path->dw[i];
    } else {
      double sign = path->st[i] == PERP_ROW_LO ? 1 : -1;
      path->wp[i] = sign * p * path->P.a[i];
      path->dw[i] = sign * d;
    }
  }
  for (int i = 0; i < n; i++) {
    double d = fabs(path->dw[i]), unit, x = first_distance(path, i, &unit);
    double xp = fabs(path->st[i] == PERP_ROW_FREE ? path->lp[i] : path->wp[i]);
    if (d == 0 || !(x < -PERP_PIVOT_ZERO * zs * unit)) continue;
    double ratio = -x / d, ratio_p = -xp / d, tie = PERP_PIVOT_ZERO * ratio;
    if (leaving < 0 || ratio > t + tie || (ratio >= t - tie && ratio_p > tp)) {
      t = ratio;
      tp = ratio_p;
      leaving = i;
    }
  }
  if (leaving < 0) return leaving;
  if (path->lexico) leaving = lexico_first(path, t, zs);
  /* c such that the basic variables move by dw when t does */
  for (int i = 0; i < n; i++) path->c[i] = path->st[i] == PERP_ROW_FREE ? 0 : path->dw[i];
  for (int u = 0; u < path->K.m; u++) path->f[u] = -path->f[u];
  perp_pivot_columns(&path->P, path->K.m, path->uvar, path->f, path->c);
  path->ct = 0;
  for (int i = 0; i < n; i++) {
    if (path->kind[i] == PERP_PATH_PARKED) path->c[i] = 0;
    path->ct = perp_larger(path->ct, fabs(path->c[i]) / path->P.a[i]);
    if (path->st[i] == PERP_ROW_FREE) {
      path->lambda[i] += t * path->dw[i];
      path->lp[i] += tp * path->dw[i];
    } else {
      path->w[i] += t * path->dw[i];
      path->wp[i] += tp * path->dw[i];
    }
  }
  path->t = t;
  path->tp = tp;
  /* t takes the place of the leaving variable; f = K^-1 c = -(cover of the basic lambda) */
  *enters_lambda = path->st[leaving] != PERP_ROW_FREE;
  if (*enters_lambda) {
    perp_path_append(path, leaving, -1, path->dw[leaving]);
    perp_path_t_first(path, path->K.m - 1);
    path->w[leaving] = path->wp[leaving] = 0;
  } else {
    const int u = path->upos[leaving];
    perp_path_replace_column(path, u, -1);
    perp_path_t_first(path, u);
    perp_path_rest(path, leaving, path->dw[leaving] > 0);
    path->lp[leaving] = 0;
  }
  return leaving;
}

/* ---- one solve ---- */

static void lemke_trace(const perp_path *path, const char *what, int leaving, double t)
{
  PERP_TRACE(path->ctx, .method = path->name, .what = what, .iteration = path->stats->iterations,
             .entering = -1, .leaving = leaving, .step = 0, .residual = t, .n = path->P.n,
             .x = path->lambda, .w = path->w, .state = path->st);
}

static perp_reason lemke_attempt(perp_path *path, const perp_lcp *lcp, bool guess, int cover)
{
  bool is_lambda;
  perp_path_sets(path, guess);
  perp_path_core(path);
  if (!guess)
    perp_path_recompute(path, path->K.m > 0 ? 3 : 1);
  else if (!perp_path_clean(path))
    return PERP_SINGULAR;
  lemke_trace(path, "start", -1, (double)NAN);
  const int r = first_t(path, cover, &is_lambda);
  if (r >= 0) {
    lemke_trace(path, "cover", r, path->t);
    const perp_reason reason = perp_path_follow(path, r, is_lambda);
    if (reason == PERP_RAY && perp_pivot_proves_infeasible(&path->P, path->dp))
      return PERP_INFEASIBLE;
    if (reason != PERP_RUNNING) return reason;
  }
  perp_path_recompute(path, 3);
  path->stats->matvecs++;
  path->stats->work += perp_pivot_cost(&path->P, path->K.m);
  if (perp_pivot_settle(&path->P, path->lambda, path->w) <= PERP_PIVOT_DONE) {
    const bool off = lcp->tol > 0 &&
                     !(perp_lcp_merit(lcp, path->P.a, path->lambda, path->w) <= lcp->tol);
    return guess && off ? PERP_SINGULAR : PERP_EXACT;
  }
  return perp_path_parked_proof(path) ? PERP_INFEASIBLE : PERP_INACCURATE;
}

/* What the last attempt shows by path->dp. */
static void lemke_certify(const perp_path *path, double *certificate)
{
  if (certificate != NULL) memcpy(certificate, path->dp, (size_t)path->P.n * sizeof *certificate);
}

static perp_status lemke_solve(perp_ctx *ctx, void *ws, const perp_lcp *lcp, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct lemke *lemke = ws;
  perp_path *path = &lemke->path;
  perp_reason reason = PERP_RUNNING, first = PERP_RUNNING; /* first: of those that are none */
  PERP_TRY(perp_path_take(ctx, path, lcp, "lemke", lambda, certificate, stats));
  path->lexico = lemke->o.ties == TIES_LEXICOGRAPHIC;
  const bool warm = lemke->o.start == START_GUESS || (lemke->o.start == START_AUTO && path->warm);
  /* attempts share the limit; each keeps its part, so that a bad covering vector cannot use up all
   */
  const int tries = (lemke->o.cover == COVER_AUTO ? COVERS : 1) + warm;
  const int total = lemke->o.max_iter > 0 ? lemke->o.max_iter : 50 * lcp->n + 1000;
  bool answered = false;
  for (int k = 0; k < tries; k++) {
    const bool guess = warm && k == 0;
    const int cover = lemke->o.cover == COVER_AUTO ? COVER_ONES + k - warm + guess : lemke->o.cover;
    path->limit = k == tries - 1 ? total : total / tries * (k + 1);
    reason = lemke_attempt(path, lcp, guess, cover);
    /* numerical trouble: go on from the basis that was reached */
    for (int again = 0; again < 3 && reason == PERP_INACCURATE; again++)
      reason = lemke_attempt(path, lcp, true, cover);
    if (reason == PERP_RAY &&
        !guess) { /* a false one?  kept unless the sharper test goes through */
      if (first != PERP_RAY) lemke_certify(path, certificate);
      first = PERP_RAY;
      path->sharp = SHARP;
      reason = lemke_attempt(path, lcp, false, cover);
      path->sharp = 1;
    }
    answered = reason == PERP_EXACT || reason == PERP_INFEASIBLE || reason == PERP_NOT_FINITE;
    if (answered) break;
    if (reason == PERP_RAY && first != PERP_RAY) lemke_certify(path, certificate);
    if (first != PERP_RAY) first = reason;
    if (perp_pivot_spent(&path->P, stats)) break;
    stats->fallbacks++;
  }
  if (reason == PERP_INFEASIBLE) lemke_certify(path, certificate);
  for (int i = 0; i < lcp->n; i++)
    if (!isfinite(lambda[i])) lambda[i] = path->P.lo[i] > -HUGE_VAL ? path->P.lo[i] : 0;
  stats->reason = answered ? reason : first;
  return PERP_OK;
}

const perp_lcp_desc perp_lcp_lemke = {
  .d = { "lemke",
         "Lemke's complementary pivoting along a covering vector for mixed and boxed problems",
         "Cline 2002, 2.7.1-2.7.2, 4.8; Cottle, Pang & Stone, The Linear Complementarity Problem",
         "w = A lambda + b + c t, lo <= lambda <= hi complementary, t -> 0", lemke_options,
         sizeof(struct lemke_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_NONSYMMETRIC | PERP_LCP_SEMIDEFINITE |
             PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = lemke_create,
  .solve = lemke_solve,
  .destroy = free,
  .serves = "Semidefinite, strictly copositive, copositive-plus and P-matrices of any symmetry, "
            "bounds of any kind. It ends after finitely many pivots with a solution, or with a ray "
            "that proves infeasibility. For other matrices a ray proves nothing.",
  .ties =
      "The variable t has priority. ties=perturbed: the smallest ratio of a generic perturbation "
      "that relaxes every row. ties=lexicographic: the lexico-minimum row of the basis inverse.",
  .cost = "O(|S|^2 + n |S|) per pivot for |S| basic lambda. Lexicographic ties: O(|S|) more per "
          "coefficient and tied row. Memory: 1.2 n^2 numbers.",
  .counts = "Pivots of all attempts.",
};
