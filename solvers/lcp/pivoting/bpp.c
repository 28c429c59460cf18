/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Block principal pivoting (Kostreva 1978; Judice and Pires 1994 with its bounds and its rule of
 * return), and its block rounds as the start of dantzig.
 *
 *      w = A lambda + b,    lo <= lambda <= hi,  w complementary
 *
 * Every choice of the set F has one basic point: lambda_F from w_F = 0, the other lambda at a
 * bound.  A round computes it and counts the rows out of order (lambda_i outside of its bounds for
 * i in F, w_i of the wrong sign otherwise). All of them change over at once as long as their number
 * falls, or has not fallen for fewer than `patience` rounds; then only the one of least index
 * (Murty), until there are fewer than ever before.  Nothing is feasible before the last round and
 * there is no ratio test, so there are no ties to break.
 *
 * P-matrices, symmetric or not: finite, because Murty's exchanges end and each return to blocks
 * needs a new least number of rows out of order.  A few rounds as a rule, whatever n; exponential
 * in the worst case, see below.
 *
 * Semidefinite A (stacks with four contacts a face, also monotone ones that are not symmetric):
 * once A_FF is singular the sets are sought for A + eps W with W = diag(A), or the row maxima where
 * A is not symmetric: a P-matrix, so that this ends, and all rows that share a load stay in F.
 * Then, in symmetric problems, the rows that depend on others keep what the shift gave them and the
 * others are computed without it.  Where that breaks a bound, proximal steps and further such bases
 * follow: A + eps W, b - eps W lambda_k, which converge to a solution where there is one (no finite
 * number of steps is promised, PERP_STALLED after 50), and whose differences prove that there is
 * none where they do not shrink (often within a radius only: they have entries in all rows).
 *
 * Where the skew part of A is the larger one (rank one + skew, with 0.01 I or not: P-matrices too)
 * blocks come to nothing and single exchanges go on as Murty's do, up to 2^n of them: random
 * problems of up to 29 rows are solved, of 30 to 39 five in six, from 40 rows on nearly all run out
 * of rounds (PERP_MAX_ITER).  Take keller or lemke there. Others (copositive, indefinite, zero
 * diagonals outside of these classes): PERP_SINGULAR, PERP_MAX_ITER.
 *
 * F: by the L D L' of dantzig, with updates for few changes; where a basic point does not solve A
 * itself, or A_FF is not positive definite and not symmetric either, LU takes its place.  Friction
 * limits, reuse: as dantzig.
 *
 * Cost a round: O(k^3 / 3) for k = |F| (LU: 2 k^3 / 3), O(k^2) for a few changes, and O(n k).
 * Memory 2 n^2 numbers. */
#include "solvers/lcp/pivoting/clamped.h"

#include <stdlib.h>
#include <string.h>

struct bpp_opts {
  int max_iter, patience, friction;
  bool reuse;
};

static const perp_opt bpp_options[] = {
  PERP_INT(struct bpp_opts, max_iter, 0, 0, 1e9, "Maximum number of rounds. 0: 50 n + 1000."),
  PERP_INT(struct bpp_opts, patience, 10, 0, 1000000,
           "Number of rounds without fewer violated rows before single exchanges begin."),
  PERP_BOOL(struct bpp_opts, reuse, false,
            "Reuse the factorization of the previous solve if A has the same address. If the "
            "result fails the check, A is factorized again."),
  PERP_ENUM(struct bpp_opts, friction, PERP_LIMITS_REFRESHED, perp_clamped_limits,
            "Friction limits: refreshed (iterated until they agree with the normal multipliers), "
            "or fixed (computed once from the problem without friction)."),
  PERP_OPTIONS_END
};

/* shift of a singular A_FF, relative to its diagonal; 1e-8 ... 1e-4 serve equally well.  Where its
 * blocks stall it is raised RAISE-fold, at most to LARGE; every proximal step lowers it again. */
static const double SHIFT = 1e-6, RAISE = 100, LARGE = 1;
/* a start gives up after START_ROUNDS, or START_PATIENCE without progress */
enum { START_ROUNDS = 50, START_PATIENCE = 6 };
/* proximal steps; BETWEEN two bases tried where they are short */
enum { PROXIMAL = 50, BETWEEN = 8 };
/* a proximal step that is short, relative to lambda: the sets are those of a solution or of none */
static const double NEAR = 1e-9;

static int bpp_count_broken(const perp_clamped *clamped, double zero)
{
  int count = 0;
  for (int i = 0; i < clamped->P.n; i++)
    count += clamped->pos[i] >= 0 ? perp_clamped_outside(clamped, i, zero) != CLAMPED
                                  : perp_clamped_breaks(clamped, i, zero) != 0;
  return count;
}

/* Row i changes over if it is out of order. */
static int bpp_exchange(perp_clamped *clamped, int i, double zero)
{
  if (clamped->pos[i] < 0) {
    if (!perp_clamped_breaks(clamped, i, zero)) return 0;
    clamped->set[i] = CLAMPED;
    return 1;
  }
  int to = perp_clamped_outside(clamped, i, zero);
  if (to != CLAMPED) perp_clamped_to_bound(clamped, i, to);
  return to != CLAMPED;
}

/* From lambda (warm), or lambda = 0 where the bounds allow it, and F the rows that are not content
 * with that, or only just. */
static void bpp_first_sets(perp_clamped *clamped, int warm)
{
  perp_clamped_first_sets(clamped, warm);
  if (warm) return;
  int n = clamped->P.n;
  perp_pivot_slack(&clamped->P, clamped->lambda, clamped->w);
  double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped);
  for (int i = 0; i < n; i++) {
    double w = clamped->w[i] / clamped->P.a[i];
    if (clamped->P.lo[i] < clamped->P.hi[i] &&
        ((clamped->set[i] == AT_LO && w <= zero) || (clamped->set[i] == AT_HI && w >= -zero)))
      clamped->set[i] = CLAMPED;
  }
}

/* ---- the start of another method ---- */

/* Blocks of broken rows change over, as long as their number falls (with some patience: it need not
 * fall steadily).  When A_FF turns out to be singular and the set is not yet right, A + SHIFT
 * diag(A) takes its place: without it the sets oscillate along null vectors, with it all rows that
 * share a load stay in F. At the end the rows that depend on others are parked where the shifted
 * problem put them. */
int perp_bpp_start(perp_clamped *clamped, int warm)
{
  bpp_first_sets(clamped, warm);
  int n = clamped->P.n, best = n + 1, patience = START_PATIENCE;
  int changes = clamped->kept ? perp_clamped_differences(clamped) : n;
  double shift = 0;
  for (int round = 0; round < START_ROUNDS; round++) {
    if (!perp_clamped_factor(clamped, changes, shift) ||
        !perp_clamped_basic_solution(clamped, shift))
      return 0;
    double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped);
    changes = bpp_count_broken(clamped, zero);
    perp_clamped_trace(clamped, "block", -1, -1, changes);
    if (changes == 0 && shift == 0) return 1;
    if (changes < best) {
      best = changes;
      patience = START_PATIENCE;
      memcpy(clamped->saved, clamped->set, (size_t)n);
    } else if (--patience == 0)
      break;
    if (changes == 0 || perp_clamped_over(clamped)) break;
    clamped->stats->iterations++;
    if (shift == 0 && clamped->dependent > 0) { /* the same set again, now with a shift */
      for (int i = 0; i < n; i++)
        if (clamped->ignore[i]) clamped->set[i] = CLAMPED;
      shift = SHIFT;
      changes = best = n + 1;
      continue;
    }
    for (int i = 0; i < n; i++) bpp_exchange(clamped, i, zero);
  }
  memcpy(clamped->set, clamped->saved, (size_t)n);
  for (int i = 0; i < n; i++)
    if (clamped->set[i] == PARKED)
      perp_clamped_park(clamped, i);
    else if (clamped->set[i] != CLAMPED)
      perp_clamped_to_bound(clamped, i, clamped->set[i]);
  return perp_clamped_factor(clamped, n, 0) && perp_clamped_basic_solution(clamped, 0);
}

/* ---- the method ---- */

/* How rounds end, but for PERP_CONVERGED: no row out of order, PERP_STALLED: a larger shift is
 * asked for, PERP_SINGULAR, PERP_UNSUITED: A is not of the class, and what ends the solve. */

/* Row i, whose diagonal entry is 0, is out of order.  In a semidefinite A all of it is 0 and w_i =
 * b_i whatever lambda is: off to the bound that b_i asks for.  PERP_INFEASIBLE where there is none,
 * PERP_UNSUITED for other A. */
static perp_reason bpp_zero_row(perp_clamped *clamped, int i, double zero)
{
  int n = clamped->P.n, to = perp_clamped_breaks(clamped, i, zero);
  for (int j = 0; j < n; j++)
    if (clamped->P.A[i + (size_t)j * clamped->P.lda] != 0) return PERP_UNSUITED;
  perp_clamped_to_bound(clamped, i, to > 0 ? AT_HI : AT_LO);
  if (fabs(clamped->lambda[i]) < HUGE_VAL) return PERP_CONVERGED;
  clamped->lambda[i] = 0;
  for (int j = 0; j < n; j++) clamped->proof[j] = 0;
  clamped->proof[i] = to;
  return perp_pivot_proves_infeasible(&clamped->P, clamped->proof) ? PERP_INFEASIBLE
                                                                   : PERP_UNSUITED;
}

/* Is A symmetric over the rows of F and those that depend on them?  Its upper triangle was not
 * looked at. */
static bool bpp_symmetric(const perp_clamped *clamped)
{
  for (int j = 0; j < clamped->P.n; j++) {
    if (clamped->set[j] != CLAMPED) continue;
    const double *col = clamped->P.A + (size_t)j * clamped->P.lda;
    for (int i = 0; i < j; i++)
      if (clamped->set[i] == CLAMPED &&
          !(fabs(col[i] - clamped->P.A[j + (size_t)i * clamped->P.lda]) <=
            clamped->foreign * perp_larger(clamped->P.a[i], clamped->P.a[j])))
        return false;
  }
  return true;
}

/* Rounds until no row is out of order; `changes` rows differ from the factor, `what` names the
 * first round.  Single exchanges without a shift and with the largest; PERP_STALLED in their place
 * with the others. */
static perp_reason bpp_rounds(perp_clamped *D, double shift, int changes, const char *what)
{
  int n = D->P.n, best = n + 1, patience = D->patience, in = -1, out = -1;
  for (;;) {
    if (!perp_clamped_factor(D, changes, shift)) return D->general ? PERP_SINGULAR : PERP_UNSUITED;
    if (!perp_clamped_basic_solution(D, shift)) return D->general ? PERP_SINGULAR : PERP_UNSUITED;
    double scale = perp_clamped_scale_of(D), zero = PERP_PIVOT_ZERO * scale;
    if (!isfinite(scale)) return PERP_NOT_FINITE;
    changes = bpp_count_broken(D, zero);
    perp_clamped_trace(D, what, in, out, changes);
    if (changes == 0) return PERP_CONVERGED;
    if (shift == 0 && D->dependent > 0) {
      for (int i = 0; i < n; i++)
        if (D->ignore[i]) D->set[i] = CLAMPED;
      return bpp_symmetric(D) ? PERP_SINGULAR : PERP_UNSUITED;
    }
    if (perp_clamped_over(D)) return PERP_MAX_ITER;
    bool single = changes >= best && patience == 0;
    if (single && shift > 0 && shift < LARGE) return PERP_STALLED;
    D->stats->iterations++;
    if (changes < best) {
      best = changes;
      patience = D->patience;
    } else if (!single) {
      patience--;
    }
    what = single ? "pivot" : "block";
    in = out = -1;
    changes = 0;
    for (int i = 0; i < n && !(single && changes > 0); i++) {
      bool clamped = D->pos[i] >= 0;
      if (!D->general && !clamped && perp_clamped_weight(D, i) == 0) {
        if (!perp_clamped_breaks(D, i, zero)) continue;
        perp_reason over = bpp_zero_row(D, i, zero);
        if (over != PERP_CONVERGED) return over;
        changes++;
      } else if (bpp_exchange(D, i, zero)) {
        changes++;
        if (single) *(clamped ? &out : &in) = i;
      }
    }
  }
}

/* One more round; false when there may be none. */
static bool bpp_counts(perp_clamped *clamped)
{
  if (perp_clamped_over(clamped)) return false;
  clamped->stats->iterations++;
  return true;
}

/* The sets of the shifted problem with the rows that depend on others where they are and no shift.
 * lambda and the sets come back where that is no solution. */
static int bpp_unshifted(perp_clamped *clamped)
{
  int n = clamped->P.n;
  if (clamped->general || !bpp_counts(clamped)) return 0;
  memcpy(clamped->saved, clamped->set, (size_t)n);
  memcpy(clamped->lp, clamped->lambda, (size_t)n * sizeof *clamped->lp);
  if (perp_clamped_factor(clamped, n, 0) && perp_clamped_basic_solution(clamped, 0)) {
    double zero = PERP_PIVOT_ZERO * perp_clamped_scale_of(clamped);
    int changes = bpp_count_broken(clamped, zero);
    perp_clamped_trace(clamped, "basis", -1, -1, changes);
    if (changes == 0 && perp_clamped_done(clamped, 0)) return 1;
  }
  memcpy(clamped->set, clamped->saved, (size_t)n);
  memcpy(clamped->lambda, clamped->lp, (size_t)n * sizeof *clamped->lp);
  return 0;
}

static bool bpp_solved(perp_clamped *clamped)
{
  clamped->stats->matvecs++;
  clamped->stats->work += clamped->P.product;
  return perp_pivot_settle(&clamped->P, clamped->lambda, clamped->w) <= PERP_PIVOT_DONE;
}

/* One proximal step with a lower shift, or the least that does not stall. */
static perp_reason bpp_step(perp_clamped *clamped, double *shift, int changes)
{
  size_t n = (size_t)clamped->P.n;
  double least = perp_larger(*shift / RAISE, SHIFT);
  memcpy(clamped->center, clamped->lambda, n * sizeof *clamped->center);
  memcpy(clamped->saved, clamped->set, n);
  if (least < *shift) changes = clamped->P.n + 1;
  for (*shift = least;; *shift = perp_smaller(*shift * RAISE, LARGE)) {
    if (!bpp_counts(clamped)) return PERP_MAX_ITER;
    perp_reason over = bpp_rounds(clamped, *shift, changes, "proximal");
    if (over != PERP_STALLED) return over;
    memcpy(clamped->lambda, clamped->center, n * sizeof *clamped->lambda);
    memcpy(clamped->set, clamped->saved, n);
    changes = clamped->P.n + 1;
  }
}

/* A solution of A, by those of the shifted problem. */
static perp_reason bpp_proximal(perp_clamped *clamped)
{
  int n = clamped->P.n;
  double shift = SHIFT;
  int near = PROXIMAL; /* the step from which on they are short */
  if (!bpp_counts(clamped)) return PERP_MAX_ITER;
  perp_reason over = bpp_rounds(clamped, shift, n + 1, "shift");
  while (over == PERP_STALLED) {
    shift = perp_smaller(shift * RAISE, LARGE);
    if (!bpp_counts(clamped)) return PERP_MAX_ITER;
    over = bpp_rounds(clamped, shift, n + 1, "shift");
  }
  if (over != PERP_CONVERGED) return over;
  for (int step = 0;; step++) {
    bool tried = step == 0 || (step >= near && (step - near) % BETWEEN == 0);
    if (tried && bpp_unshifted(clamped)) return PERP_EXACT;
    if (step >= near && bpp_solved(clamped)) return PERP_EXACT;
    if (step == PROXIMAL) return PERP_STALLED;
    over = bpp_step(clamped, &shift, tried ? n + 1 : 0);
    if (over != PERP_CONVERGED) return over;
    double size = 0, change = 0;
    for (int i = 0; i < n; i++) {
      clamped->proof[i] = clamped->lambda[i] - clamped->center[i];
      change = perp_larger(change, fabs(clamped->proof[i]));
      size = perp_larger(size, fabs(clamped->lambda[i]));
    }
    if (change > size / (2 * PROXIMAL) && perp_pivot_proves_infeasible(&clamped->P, clamped->proof))
      return PERP_INFEASIBLE;
    if (change <= NEAR * size && step < near) near = step + 1;
  }
}

static perp_reason bpp_box(perp_clamped *clamped, int warm)
{
  bpp_first_sets(clamped, warm);
  int changes = clamped->kept ? perp_clamped_differences(clamped) : clamped->P.n;
  perp_reason over = bpp_rounds(clamped, 0, changes, "start");
  if (over == PERP_UNSUITED && !clamped->general) { /* not symmetric, or not semidefinite */
    clamped->general = true;
    clamped->kept = false;
    if (!bpp_counts(clamped)) return PERP_MAX_ITER;
    bpp_first_sets(clamped, 0);
    over = bpp_rounds(clamped, 0, clamped->P.n, "general");
  }
  if (over == PERP_SINGULAR) return bpp_proximal(clamped);
  if (over != PERP_CONVERGED) return over;
  if (perp_clamped_done(clamped, 0)) return PERP_EXACT;
  /* updates may have worn out: once more with a fresh factor */
  over = bpp_rounds(clamped, 0, clamped->P.n, "fresh");
  if (over != PERP_CONVERGED) return over;
  return perp_clamped_done(clamped, 1) ? PERP_EXACT : PERP_INACCURATE;
}

static perp_status bpp_create(perp_ctx *ctx, int max_n, const void *opts, void **ws)
{
  const struct bpp_opts *chosen = opts;
  perp_clamped clamped = {
    .name = "bpp",
    .box = bpp_box,
    .max_iter = chosen->max_iter,
    .limits = chosen->friction,
    .reuse = chosen->reuse,
    .patience = chosen->patience,
    .foreign = 1e-10,
    .P.max_n = max_n,
  };
  return perp_workspace_create(ctx, clamped.name, &clamped, sizeof clamped, perp_clamped_layout,
                               ws);
}

const perp_lcp_desc perp_lcp_bpp = {
  .d = { "bpp",
         "Block principal pivoting for P-matrices and semidefinite A, bounds and friction limits",
         "Kostreva 1978; Judice & Pires 1994; Murty's exchanges as the fallback",
         "w = A lambda + b, lo <= lambda <= hi complementary", bpp_options, sizeof(struct bpp_opts),
         PERP_LCP_BOX | PERP_LCP_FREE | PERP_LCP_FRICTION | PERP_LCP_NONSYMMETRIC |
             PERP_LCP_SEMIDEFINITE | PERP_LCP_PIVOTING | PERP_LCP_WARM },
  .create = bpp_create,
  .solve = perp_clamped_solve,
  .destroy = free,
  .serves =
      "P-matrices of any symmetry: finite, but up to 2^n rounds if A is dominantly skew-symmetric. "
      "Semidefinite A: index sets of A + 1e-6 diag(A), then a basis of A or proximal steps. "
      "Friction limits: a fixed point, which may not exist or may not be found.",
  .ties = "None: there is no ratio test. Single exchanges use the lowest index.",
  .cost = "O(k^3 / 3) per round for k rows between their bounds, 2 k^3 / 3 with LU, O(k^2) after "
          "few changes. Memory: 2 n^2 numbers.",
  .counts = "Rounds: each one factorizes or updates the index set and computes one basic solution.",
};
