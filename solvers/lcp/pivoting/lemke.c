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
 * Basis: path.h; ties there as well (perturbed, default) or in path_lexico.c (lexicographic, the
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

static void lemke_layout(void *ws, perp_arena *a)
{
  perp_path_layout(&((struct lemke *)ws)->path, a);
}

static perp_status lemke_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  struct lemke l = { .o = *(const struct lemke_opts *)opts, .path.P.max_n = max_n };
  return perp_workspace_create(ctx, "lemke", &l, sizeof l, lemke_layout, ws);
}

static double lemke_cover_of(const perp_path *L, int cover, int i)
{
  if (cover == COVER_ONES) return 1;
  if (cover == COVER_SCALED) return L->P.a[i];
  return L->P.a[i] * (8 * perp_pivot_generic(i + 7919 * cover) - 7); /* a random one in [1, 9) */
}

/* The distance of row i from the bound that its cover dw moves it away from, and the unit of its
 * zero. */
static double first_distance(const perp_path *L, int i, double *unit)
{
  *unit = L->st[i] == PERP_ROW_FREE ? 1 : L->P.a[i];
  if (L->st[i] == PERP_ROW_FREE)
    return L->dw[i] > 0 ? L->lambda[i] - L->P.lo[i] : L->P.hi[i] - L->lambda[i];
  return L->dw[i] > 0 ? L->w[i] : -L->w[i];
}

/* Of the rows that ask for this t the lexico-minimum one. */
static int lexico_first(perp_path *L, double t, double zs)
{
  int count = 0;
  for (int i = 0; i < L->P.n; i++) {
    double unit, d = fabs(L->dw[i]), x = first_distance(L, i, &unit);
    if (d == 0 || !(x < -PERP_PIVOT_ZERO * zs * unit) || -x / d < t - PERP_PIVOT_ZERO * t) continue;
    L->stop[count++] = (perp_stop){
      .what = L->st[i] == PERP_ROW_FREE ? PERP_PATH_IS_LAMBDA : PERP_PATH_IS_W,
      .row = i,
      .rate = d,
      .to = L->dw[i] < 0 ? PERP_ROW_HI : PERP_ROW_LO,
    };
  }
  perp_path_lexico(L, L->stop, count);
  return L->stop[0].row;
}

/* Choose c and the first t.  Returns the row whose basic variable t replaces, -1 when the vertex is
 * already a solution; then its complement, lambda or w, enters. */
static int first_t(perp_path *L, int cover, bool *enters_lambda)
{
  const int n = L->P.n;
  int leaving = -1;
  double zs = L->P.bscale, t = 0, tp = 0;
  for (int i = 0; i < n; i++) zs = perp_larger(zs, fabs(L->lambda[i]));
  for (int u = 0; u < L->K.m; u++) L->f[u] = 0;
  for (int i = 0; i < n; i++) { /* dw: cover in the terms of the basis, dp: the perturbation */
    int one_sided = (L->P.lo[i] > -HUGE_VAL) != (L->P.hi[i] < HUGE_VAL);
    double d = lemke_cover_of(L, cover, i), p = perp_pivot_generic(i);
    L->wp[i] = L->lp[i] = L->dw[i] = 0;
    L->tilt[i] = L->st[i] == PERP_ROW_HI ? -1 : 1;
    if (L->kind[i] == PERP_PATH_PARKED || L->kind[i] == PERP_PATH_FIXED ||
        L->kind[i] == PERP_PATH_FREE)
      continue;
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
  for (int i = 0; i < n; i++) {
    double d = fabs(L->dw[i]), unit, x = first_distance(L, i, &unit);
    double xp = fabs(L->st[i] == PERP_ROW_FREE ? L->lp[i] : L->wp[i]);
    if (d == 0 || !(x < -PERP_PIVOT_ZERO * zs * unit)) continue;
    double ratio = -x / d, ratio_p = -xp / d, tie = PERP_PIVOT_ZERO * ratio;
    if (leaving < 0 || ratio > t + tie || (ratio >= t - tie && ratio_p > tp)) {
      t = ratio;
      tp = ratio_p;
      leaving = i;
    }
  }
  if (leaving < 0) return leaving;
  if (L->lexico) leaving = lexico_first(L, t, zs);
  /* c such that the basic variables move by dw when t does */
  for (int i = 0; i < n; i++) L->c[i] = L->st[i] == PERP_ROW_FREE ? 0 : L->dw[i];
  for (int u = 0; u < L->K.m; u++) L->f[u] = -L->f[u];
  perp_pivot_columns(&L->P, L->K.m, L->uvar, L->f, L->c);
  L->ct = 0;
  for (int i = 0; i < n; i++) {
    if (L->kind[i] == PERP_PATH_PARKED) L->c[i] = 0;
    L->ct = perp_larger(L->ct, fabs(L->c[i]) / L->P.a[i]);
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
  *enters_lambda = L->st[leaving] != PERP_ROW_FREE;
  if (*enters_lambda) {
    perp_path_append(L, leaving, -1, L->dw[leaving]);
    perp_path_t_first(L, L->K.m - 1);
    L->w[leaving] = L->wp[leaving] = 0;
  } else {
    const int u = L->upos[leaving];
    perp_path_replace_column(L, u, -1);
    perp_path_t_first(L, u);
    perp_path_rest(L, leaving, L->dw[leaving] > 0);
    L->lp[leaving] = 0;
  }
  return leaving;
}

/* ---- one solve ---- */

static void lemke_trace(const perp_path *L, const char *what, int leaving, double t)
{
  PERP_TRACE(L->ctx, .method = L->name, .what = what, .iteration = L->stats->iterations,
             .entering = -1, .leaving = leaving, .step = 0, .residual = t, .n = L->P.n,
             .x = L->lambda, .w = L->w, .state = L->st);
}

static perp_reason lemke_attempt(perp_path *L, const perp_lcp *p, bool guess, int cover)
{
  bool is_lambda;
  perp_path_sets(L, guess);
  perp_path_core(L);
  if (!guess)
    perp_path_recompute(L, L->K.m > 0 ? 3 : 1);
  else if (!perp_path_clean(L))
    return PERP_SINGULAR;
  lemke_trace(L, "start", -1, (double)NAN);
  const int r = first_t(L, cover, &is_lambda);
  if (r >= 0) {
    lemke_trace(L, "cover", r, L->t);
    const perp_reason reason = perp_path_follow(L, r, is_lambda);
    if (reason == PERP_RAY && perp_pivot_proves_infeasible(&L->P, L->dp)) return PERP_INFEASIBLE;
    if (reason != PERP_RUNNING) return reason;
  }
  perp_path_recompute(L, 3);
  L->stats->matvecs++;
  L->stats->work += perp_pivot_cost(&L->P, L->K.m);
  if (perp_pivot_settle(&L->P, L->lambda, L->w) <= PERP_PIVOT_DONE) {
    const bool off = p->tol > 0 && !(perp_lcp_merit(p, L->P.a, L->lambda, L->w) <= p->tol);
    return guess && off ? PERP_SINGULAR : PERP_EXACT;
  }
  return perp_path_parked_proof(L) ? PERP_INFEASIBLE : PERP_INACCURATE;
}

/* What the last attempt shows by L->dp. */
static void lemke_certify(const perp_path *L, double *certificate)
{
  if (certificate != NULL) memcpy(certificate, L->dp, (size_t)L->P.n * sizeof *certificate);
}

static perp_status lemke_solve(perp_ctx *ctx, void *ws, const perp_lcp *p, double *lambda,
                               double *certificate, perp_stats *stats)
{
  struct lemke *l = ws;
  perp_path *L = &l->path;
  perp_reason reason = PERP_RUNNING, first = PERP_RUNNING; /* first: of those that are none */
  PERP_TRY(perp_path_take(ctx, L, p, "lemke", lambda, certificate, stats));
  L->lexico = l->o.ties == TIES_LEXICOGRAPHIC;
  const bool warm = l->o.start == START_GUESS || (l->o.start == START_AUTO && L->warm);
  /* attempts share the limit; each keeps its part, so that a bad covering vector cannot use up all
   */
  const int tries = (l->o.cover == COVER_AUTO ? COVERS : 1) + warm;
  const int total = l->o.max_iter > 0 ? l->o.max_iter : 50 * p->n + 1000;
  bool answered = false;
  for (int k = 0; k < tries; k++) {
    const bool guess = warm && k == 0;
    const int cover = l->o.cover == COVER_AUTO ? COVER_ONES + k - warm + guess : l->o.cover;
    L->limit = k == tries - 1 ? total : total / tries * (k + 1);
    reason = lemke_attempt(L, p, guess, cover);
    /* numerical trouble: go on from the basis that was reached */
    for (int again = 0; again < 3 && reason == PERP_INACCURATE; again++)
      reason = lemke_attempt(L, p, true, cover);
    if (reason == PERP_RAY &&
        !guess) { /* a false one?  kept unless the sharper test goes through */
      if (first != PERP_RAY) lemke_certify(L, certificate);
      first = PERP_RAY;
      L->sharp = SHARP;
      reason = lemke_attempt(L, p, false, cover);
      L->sharp = 1;
    }
    answered = reason == PERP_EXACT || reason == PERP_INFEASIBLE || reason == PERP_NOT_FINITE;
    if (answered) break;
    if (reason == PERP_RAY && first != PERP_RAY) lemke_certify(L, certificate);
    if (first != PERP_RAY) first = reason;
    if (perp_pivot_spent(&L->P, stats)) break;
    stats->fallbacks++;
  }
  if (reason == PERP_INFEASIBLE) lemke_certify(L, certificate);
  for (int i = 0; i < p->n; i++)
    if (!isfinite(lambda[i])) lambda[i] = L->P.lo[i] > -HUGE_VAL ? L->P.lo[i] : 0;
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
