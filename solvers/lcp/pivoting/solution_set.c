/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The solution set as a union of polyhedra: which basic solutions belong to one, and which of these
 * are unbounded.
 *
 * Basic solutions belong to one polyhedron where all rows have a set in common.  For the pure LCP
 * of a bimatrix game these are the maximal Nash subsets (Jansen 1981; Cottle, Pang and Stone 1992,
 * section 3.1).  A polyhedron is unbounded where its conditions without b have a solution d != 0,
 *      A d = 0 on free rows, >= 0 at lo, <= 0 at hi
 *
 *      d = 0 at bounds, d >= 0 above lo, <= 0 below hi
 */
#include "solvers/lcp/pivoting/solution_set.h"
#include "solvers/lcp/exact_lcp.h"
#include "solvers/lcp/lcp_private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 20 };
/* Of the largest rel of a candidate; the judge decides. */
static const double ACCEPT = 1e-9;

/* ---- sets of rows ---- */

static bool set_is_friction(const perp_lcp *lcp, int i)
{
  return lcp->fric_of != NULL && lcp->fric_of[i] >= 0 && !lcp->frozen;
}

/* Is a change of lambda_k by gap below zero times what it adds to, terms [n]? */
static bool set_is_none(const perp_lcp *lcp, const double *lambda, const double *terms, int k,
                        double gap, double bound, double zero)
{
  if (!isfinite(bound)) return false;
  if (gap <= zero * fmax(fabs(lambda[k]), fabs(bound))) return true;
  bool acts = false;
  for (int i = 0; i < lcp->n; i++) {
    const double a = fabs(perp_lcp_entry(lcp, i, k));
    if (a * gap > zero * terms[i]) return false;
    acts = acts || a > 0;
  }
  return acts;
}

/* A closed normal row, whose friction rows have no choice. */
static bool set_is_closed(const perp_lcp *lcp, const unsigned char *sets, int normal)
{
  return sets[normal] == PERP_SET_LO && (lcp->lo == NULL || lcp->lo[normal] == 0);
}

void perp_lcp_row_sets(const perp_lcp *lcp, const double *lambda, const double *w, double zero,
                       unsigned char *sets, double *scratch)
{
  double *terms = scratch;
  for (int i = 0; i < lcp->n; i++) {
    terms[i] = fabs(lcp->b[i]);
    for (int j = 0; j < lcp->n; j++) terms[i] += fabs(perp_lcp_entry(lcp, i, j) * lambda[j]);
  }
  for (int friction = 0; friction < 2; friction++)
    for (int i = 0; i < lcp->n; i++) {
      if (set_is_friction(lcp, i) != (friction == 1)) continue;
      double lo, hi;
      perp_lcp_bounds(lcp, lambda, i, &lo, &hi);
      const double x = lambda[i];
      const bool still = fabs(w[i]) <= zero * terms[i];
      const bool low = x <= lo || set_is_none(lcp, lambda, terms, i, x - lo, lo, zero),
                 high = x >= hi || set_is_none(lcp, lambda, terms, i, hi - x, hi, zero);
      sets[i] = still ? PERP_SET_FREE : 0;
      if (low && (still || w[i] > 0)) sets[i] |= PERP_SET_LO;
      if (high && (still || w[i] < 0)) sets[i] |= PERP_SET_HI;
      const bool fixed = friction ? lcp->mu[i] == 0 || set_is_closed(lcp, sets, lcp->fric_of[i])
                                  : lo == hi;
      if (fixed && low && high) sets[i] = PERP_SET_LO | PERP_SET_FREE | PERP_SET_HI;
    }
}

/* ---- which belong together ---- */

struct grouping {
  const perp_lcp *lcp;
  perp_lcp_solutions *s;
  int order[ROWS]; /* normals before their friction rows */
  bool closed[ROWS];
  int room;
  bool failed;
};

static void part_free(perp_lcp_part *part)
{
  free(part->member);
  free(part->ray);
}

/* Are all members of one part, in rising order, in the other? */
static bool part_within(const int *member, int count, const int *other, int others)
{
  int k = 0;
  for (int i = 0; i < others && k < count; i++) k += other[i] == member[k];
  return k == count;
}

/* Keeps the members, in rising order, unless another part has them all; takes out what they cover.
 */
static void part_add(struct grouping *grouping, const int *member, int count)
{
  perp_lcp_solutions *solutions = grouping->s;
  for (int p = 0; p < solutions->parts; p++)
    if (part_within(member, count, solutions->part[p].member, solutions->part[p].count)) return;
  int kept = 0;
  for (int p = 0; p < solutions->parts; p++) {
    if (part_within(solutions->part[p].member, solutions->part[p].count, member, count))
      part_free(&solutions->part[p]);
    else
      solutions->part[kept++] = solutions->part[p];
  }
  solutions->parts = kept;
  if (solutions->parts == grouping->room) {
    const int room = grouping->room > 0 ? 2 * grouping->room : 16;
    perp_lcp_part *more = realloc(solutions->part, (size_t)room * sizeof *more);
    grouping->failed = more == NULL;
    if (grouping->failed) return;
    solutions->part = more;
    grouping->room = room;
  }
  int *own = malloc((size_t)count * sizeof *own);
  grouping->failed = own == NULL;
  if (grouping->failed) return;
  memcpy(own, member, (size_t)count * sizeof *own);
  solutions->part[solutions->parts++] = (perp_lcp_part){ .count = count, .member = own };
}

/* Splits the members by the sets of the rows from order[depth] on, where they have none in common.
 */
static void part_split(struct grouping *grouping, const int *member, int count, int depth)
{
  const perp_lcp *lcp = grouping->lcp;
  const perp_lcp_solutions *solutions = grouping->s;
  if (grouping->failed || solutions->parts > PERP_SOLUTIONS_MOST) return;
  if (depth == lcp->n) {
    part_add(grouping, member, count);
    return;
  }
  const int row = grouping->order[depth];
  unsigned common = PERP_SET_LO | PERP_SET_FREE | PERP_SET_HI;
  for (int k = 0; k < count; k++) common &= solutions->sets[row + member[k] * lcp->n];
  const bool zero = lcp->lo == NULL || lcp->lo[row] == 0,
             idle = set_is_friction(lcp, row) && grouping->closed[lcp->fric_of[row]];
  if (idle || common != 0) {
    /* at 0 its friction rows may be anything: no choice excludes less */
    grouping->closed[row] = zero && (common & PERP_SET_LO) != 0;
    part_split(grouping, member, count, depth + 1);
    return;
  }
  int *some = malloc((size_t)count * sizeof *some);
  grouping->failed = some == NULL;
  for (unsigned set = PERP_SET_LO; set <= PERP_SET_HI && !grouping->failed; set *= 2) {
    int m = 0;
    for (int k = 0; k < count; k++)
      if (solutions->sets[row + member[k] * lcp->n] & set) some[m++] = member[k];
    grouping->closed[row] = zero && set == PERP_SET_LO;
    if (m > 0) part_split(grouping, some, m, depth + 1);
  }
  free(some);
}

/* Rank of the differences between the members, columns brought to one size. */
static int part_dimension(const perp_lcp_solutions *solutions, const perp_lcp_part *part,
                          double zero)
{
  double E[ROWS][ROWS], size[ROWS];
  int n = solutions->n, rank = 0;
  const double *first = solutions->lambda + (size_t)part->member[0] * n;
  for (int j = 0; j < n; j++) {
    size[j] = 0;
    for (int k = 0; k < part->count; k++)
      size[j] = fmax(size[j], fabs(solutions->lambda[(size_t)part->member[k] * n + j]));
  }
  /* an orthonormal basis, one member after the other (modified Gram-Schmidt) */
  for (int k = 1; k < part->count && rank < n; k++) {
    double length = 0, *e = E[rank];
    for (int j = 0; j < n; j++)
      e[j] = size[j] > 0 ? (solutions->lambda[(size_t)part->member[k] * n + j] - first[j]) / size[j]
                         : 0;
    for (int twice = 0; twice < 2; twice++)
      for (int r = 0; r < rank; r++) {
        double dot = 0;
        for (int j = 0; j < n; j++) dot += E[r][j] * e[j];
        for (int j = 0; j < n; j++) e[j] -= dot * E[r][j];
      }
    for (int j = 0; j < n; j++) length = hypot(length, e[j]);
    if (length <= 100 * fmax(zero, 1e-12)) continue;
    for (int j = 0; j < n; j++) e[j] /= length;
    rank++;
  }
  return rank;
}

/* ---- unbounded ones ---- */

/* Conditions without b with d_j = 1 or -1, in exact numbers: d_i are the variables 0 ... n - 1, as
 * they differ from that; (A d)_i n + i; mu d_normal + d_t and mu d_normal - d_t of friction rows.
 */
struct recession {
  const perp_lcp *lcp;
  int j;
  int below[ROWS], above[ROWS];
};

static void recession_new(struct recession *recession, const perp_lcp *lcp, int j, int sign,
                          perp_exact *exact)
{
  int n = lcp->n, m = n, width = n + 1;
  *recession = (struct recession){ .lcp = lcp, .j = j };
  mpq_t *R = perp_exact_alloc(3 * n * width, sizeof *R),
        *upper = perp_exact_alloc(n, sizeof *upper);
  for (int k = 0; k < 3 * n * width; k++) mpq_init(R[k]);
  for (int k = 0; k < n; k++) mpq_init(upper[k]);
  for (int i = 0; i < n; i++)
    for (int k = 0; k < n; k++) mpq_set_d(R[i * width + 1 + k], perp_lcp_entry(lcp, i, k));
  for (int i = 0; i < n; i++) {
    if (!set_is_friction(lcp, i)) continue;
    recession->below[i] = n + m++;
    recession->above[i] = n + m++;
    for (int up = 0; up < 2; up++) {
      mpq_t *row = R + (size_t)(recession->below[i] + up - n) * width;
      mpq_set_d(row[1 + lcp->fric_of[i]], lcp->mu[i]);
      mpq_set_si(row[1 + i], up ? -1 : 1, 1);
    }
  }
  for (int i = 0; i < m; i++) {
    mpq_t *row = R + (size_t)i * width;
    mpq_set(row[0], row[1 + j]);
    if (sign < 0) mpq_neg(row[0], row[0]);
  }
  perp_exact_new(exact, m, n, R, upper, PERP_PROOF_WORK);
  for (int k = 0; k < 3 * n * width; k++) mpq_clear(R[k]);
  for (int k = 0; k < n; k++) mpq_clear(upper[k]);
  free(R);
  free(upper);
  for (int i = 0; i < n; i++) {
    if (set_is_friction(lcp, i)) {
      perp_exact_restrict(exact, recession->below[i], PERP_EXACT_UP);
      perp_exact_restrict(exact, recession->above[i], PERP_EXACT_UP);
    } else if (i != j) {
      const perp_exact_sides side = perp_exact_sides_of(lcp, i);
      if (side.up == side.down) {
        if (!side.up) perp_exact_restrict(exact, i, PERP_EXACT_FIXED);
        continue;
      }
      if (side.down) perp_exact_reflect(exact, i);
      perp_exact_restrict(exact, i, PERP_EXACT_UP);
    }
  }
  perp_exact_restrict(exact, j, PERP_EXACT_FIXED);
}

/* Row i in one of its sets; false: d_j is not 0 there. */
static bool recession_take(const struct recession *recession, perp_exact *exact, int i,
                           unsigned set)
{
  const int w = recession->lcp->n + i;
  if (set == PERP_SET_FREE) {
    perp_exact_restrict(exact, w, PERP_EXACT_FIXED);
    return true;
  }
  if (set_is_friction(recession->lcp, i))
    perp_exact_restrict(exact, set == PERP_SET_LO ? recession->below[i] : recession->above[i],
                        PERP_EXACT_FIXED);
  else if (i == recession->j)
    return false;
  else
    perp_exact_restrict(exact, i, PERP_EXACT_FIXED);
  if (set == PERP_SET_HI) perp_exact_reflect(exact, w);
  perp_exact_restrict(exact, w, PERP_EXACT_UP);
  return true;
}

/* From order[depth] on, each row in one of its sets. */
static enum perp_exact_answer recession_search(const struct recession *recession, perp_exact *exact,
                                               const int *order, const unsigned char *sets,
                                               bool *closed, int depth, perp_exact *found)
{
  const int n = recession->lcp->n;
  const enum perp_exact_answer answer = perp_exact_decide(exact, NULL);
  if (answer != PERP_EXACT_POSSIBLE) return answer;
  if (depth == n) {
    perp_exact_copy(exact, found);
    return answer;
  }
  const int i = order[depth];
  closed[i] = false;
  const bool idle = set_is_friction(recession->lcp, i) && closed[recession->lcp->fric_of[i]];
  const bool any = sets[i] == (PERP_SET_LO | PERP_SET_FREE | PERP_SET_HI) &&
                   !set_is_friction(recession->lcp, i);
  if (idle || any) return recession_search(recession, exact, order, sets, closed, depth + 1, found);
  for (unsigned set = PERP_SET_LO; set <= PERP_SET_HI; set *= 2) {
    if (!(sets[i] & set)) continue;
    perp_exact part;
    perp_exact_copy(exact, &part);
    closed[i] = set == PERP_SET_LO && (recession->lcp->lo == NULL || recession->lcp->lo[i] == 0);
    const enum perp_exact_answer deeper = recession_take(recession, &part, i, set)
                                              ? recession_search(recession, &part, order, sets,
                                                                 closed, depth + 1, found)
                                              : PERP_EXACT_IMPOSSIBLE;
    exact->work = part.work;
    perp_exact_free(&part);
    if (deeper != PERP_EXACT_IMPOSSIBLE) return deeper;
  }
  return PERP_EXACT_IMPOSSIBLE;
}

/* d of the dictionary, largest entry 1. */
static void recession_read(const struct recession *recession, const perp_exact *exact, int sign,
                           double *d)
{
  double most = 0;
  mpq_t x;
  mpq_init(x);
  for (int i = 0; i < recession->lcp->n; i++) {
    perp_exact_value(exact, i, x);
    const long by = exact->column[1 + i] - exact->column[0];
    d[i] = i == recession->j ? sign : ldexp(mpq_get_d(x), (int)by);
    most = fmax(most, fabs(d[i]));
  }
  mpq_clear(x);
  for (int i = 0; i < recession->lcp->n; i++) d[i] /= most;
}

/* Is this part unbounded, and where to?  False: no memory. */
static bool part_recedes(const struct grouping *grouping, perp_lcp_part *part)
{
  const perp_lcp *lcp = grouping->lcp;
  const int n = lcp->n;
  unsigned char sets[ROWS];
  bool weak = false, closed[ROWS] = { false };
  for (int i = 0; i < n; i++) {
    sets[i] = PERP_SET_LO | PERP_SET_FREE | PERP_SET_HI;
    for (int k = 0; k < part->count; k++) sets[i] &= grouping->s->sets[i + part->member[k] * n];
    const perp_exact_sides side = perp_exact_sides_of(lcp, i);
    if ((side.up && side.down) || (sets[i] & (sets[i] - 1))) weak = true;
  }
  part->bounded = part->known = true;
  if (part->count == 1 && !weak) return true; /* one solution of a regular system */
  for (int j = 0; j < n; j++) {
    if (set_is_friction(lcp, j)) continue; /* no friction without a normal force */
    const perp_exact_sides side = perp_exact_sides_of(lcp, j);
    for (int sign = 1; sign >= -1; sign -= 2) {
      if (sign > 0 ? !side.up : !side.down) continue;
      struct recession recession;
      perp_exact exact, found;
      recession_new(&recession, lcp, j, sign, &exact);
      const enum perp_exact_answer answer = recession_search(&recession, &exact, grouping->order,
                                                             sets, closed, 0, &found);
      perp_exact_free(&exact);
      if (answer == PERP_EXACT_SPENT) part->known = false;
      if (answer != PERP_EXACT_POSSIBLE) continue;
      part->bounded = false;
      part->known = true;
      part->ray = malloc((size_t)n * sizeof *part->ray);
      if (part->ray != NULL) recession_read(&recession, &found, sign, part->ray);
      perp_exact_free(&found);
      return part->ray != NULL;
    }
  }
  return true;
}

/* ---- all of it ---- */

struct gathering {
  const perp_lcp *lcp;
  double tol, zero;
  perp_lcp_solutions *s;
  int room;
  bool failed, full;
  double scratch[PERP_LCP_SCRATCH(ROWS, 0)];
};

static bool gather_room(struct gathering *gathering)
{
  perp_lcp_solutions *solutions = gathering->s;
  if (solutions->count < gathering->room) return true;
  const size_t room = gathering->room > 0 ? 2 * (size_t)gathering->room : 16,
               n = (size_t)solutions->n + 1;
  void *lambda = realloc(solutions->lambda, room * n * sizeof *solutions->lambda);
  if (lambda != NULL) solutions->lambda = lambda;
  void *w = realloc(solutions->w, room * n * sizeof *solutions->w);
  if (w != NULL) solutions->w = w;
  void *sets = realloc(solutions->sets, room * n);
  if (sets != NULL) solutions->sets = sets;
  void *judgement = realloc(solutions->judgement, room * sizeof *solutions->judgement);
  if (judgement != NULL) solutions->judgement = judgement;
  void *verdict = realloc(solutions->verdict, room * sizeof *solutions->verdict);
  if (verdict != NULL) solutions->verdict = verdict;
  if (lambda == NULL || w == NULL || sets == NULL || judgement == NULL || verdict == NULL)
    return false;
  gathering->room = (int)room;
  return true;
}

static bool gather(void *user, const double *lambda, const double *w, const signed char *state)
{
  struct gathering *gathering = user;
  perp_lcp_solutions *solutions = gathering->s;
  (void)w, (void)state;
  gathering->full = solutions->count == PERP_SOLUTIONS_MOST;
  gathering->failed = !gathering->full && !gather_room(gathering);
  if (gathering->full || gathering->failed) return false;
  const size_t at = (size_t)solutions->count * solutions->n;
  memcpy(solutions->lambda + at, lambda, (size_t)solutions->n * sizeof *lambda);
  perp_lcp_judge(gathering->lcp, lambda, solutions->w + at, gathering->scratch,
                 &solutions->judgement[solutions->count]);
  solutions->verdict[solutions->count] = perp_lcp_verdict(gathering->lcp, gathering->tol,
                                                          &solutions->judgement[solutions->count]);
  perp_lcp_row_sets(gathering->lcp, lambda, solutions->w + at, gathering->zero,
                    solutions->sets + at, gathering->scratch);
  if (solutions->verdict[solutions->count] == PERP_CONVERGED ||
      solutions->verdict[solutions->count] == PERP_UNDECIDED)
    solutions->count++;
  else
    solutions->rejected++;
  return true;
}

/* False: no memory. */
static bool group(const perp_lcp *lcp, double zero, perp_lcp_solutions *solutions)
{
  struct grouping grouping = { .lcp = lcp, .s = solutions };
  int n = 0, *all = malloc(((size_t)solutions->count + 1) * sizeof *all);
  if (all == NULL) return false;
  for (int friction = 0; friction < 2; friction++)
    for (int i = 0; i < lcp->n; i++)
      if (set_is_friction(lcp, i) == (friction == 1)) grouping.order[n++] = i;
  for (int k = 0; k < solutions->count; k++) all[k] = k;
  if (solutions->count > 0) part_split(&grouping, all, solutions->count, 0);
  free(all);
  for (int p = 0;
       p < solutions->parts && !grouping.failed && solutions->parts <= PERP_SOLUTIONS_MOST; p++) {
    solutions->part[p].dimension = part_dimension(solutions, &solutions->part[p], zero);
    grouping.failed = !part_recedes(&grouping, &solutions->part[p]);
  }
  if (solutions->parts <= PERP_SOLUTIONS_MOST) return !grouping.failed;
  for (int p = 0; p < solutions->parts; p++) part_free(&solutions->part[p]);
  solutions->parts = -1;
  return !grouping.failed;
}

perp_status perp_lcp_solutions_find(perp_ctx *ctx, const perp_lcp *lcp, double tol, double zero,
                                    perp_lcp_solutions *out)
{
  int count;
  *out = (perp_lcp_solutions){ .n = lcp->n };
  if (!(tol > 0) || !(zero >= 0))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "all solutions: tol = %g, zero = %g", tol, zero);
  struct gathering gathering = { .lcp = lcp, .tol = tol, .zero = zero, .s = out };
  PERP_TRY(perp_lcp_all_solutions(ctx, lcp, ACCEPT, gather, &gathering, &count, &out->complete));
  if (gathering.failed || !group(lcp, zero, out)) {
    perp_lcp_solutions_free(out);
    return PERP_FAIL(ctx, PERP_ERR_NOMEM, "all solutions: no memory for %d", count);
  }
  return PERP_OK;
}

void perp_lcp_solutions_free(perp_lcp_solutions *solutions)
{
  if (solutions == NULL) return;
  for (int p = 0; p < solutions->parts; p++) part_free(&solutions->part[p]);
  free(solutions->part);
  free(solutions->lambda);
  free(solutions->w);
  free(solutions->sets);
  free(solutions->judgement);
  free(solutions->verdict);
  *solutions = (perp_lcp_solutions){ 0 };
}
