/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of friction rows (Vondrak 6.5.3), around the boxed problem of dantzig or bpp.
 *
 * The others are solved first with lambda = 0 in the friction rows, then all rows with the limits
 * mu lambda_n fixed. With friction = refreshed this is repeated with new limits, from the last
 * sets, until they agree with the normal multipliers: Newton steps on the limits, and shortened
 * fixed-point steps where those do not help.  After FOLLOW_AT of these rounds sets and limits are
 * followed along a path (clamped_follow.c).  That ends with a solution as a rule; where it does
 * not, more of the rounds, exchanges of sets and limits at once (clamped_couple.c) among the last,
 * and the path from there; PERP_STALLED when none of these does. */
#include "solvers/lcp/pivoting/clamped.h"

#include <math.h>
#include <string.h>

const char *const perp_clamped_limits[] = { "refreshed", "fixed", NULL };

enum { LIMIT_ROUNDS = 200, BOLD_ROUNDS = 60, PLAIN_ROUNDS = 3 };
/* bold rounds from one exchange of sets and limits at once to the next; rounds before the path,
 * which cost as much as it */
enum { COUPLE_EVERY = 8, FOLLOW_AT = 40 };
/* length of a plain step: around SHORT, after `SHORTER` rounds half of it, after twice as many a
 * third ... */
static const double SHORT = 0.5, SHORTER = 50;
/* limits that agree with the normal multipliers, relative to the largest multiplier */
static const double LIMIT_GAP = 1e-13;

/* Limit of friction row i: a part `step` of the way to what the normal multipliers say. */
static double clamped_limits_limit_of(const perp_clamped *clamped, const perp_lcp *lcp,
                                      const double *lambda, int i, double step)
{
  double limit = lcp->mu[i] * perp_larger(lambda[lcp->fric_of[i]], 0);
  return step == 1 ? limit : perp_larger(clamped->P.hi[i] + step * (limit - clamped->P.hi[i]), 0);
}

/* A new limit; a row at its limit moves with it. */
static void set_limit(perp_clamped *clamped, int i, double limit)
{
  if (clamped->set[i] == AT_HI || clamped->lambda[i] > limit) clamped->lambda[i] = limit;
  if (clamped->set[i] == AT_LO || clamped->lambda[i] < -limit) clamped->lambda[i] = -limit;
  clamped->P.hi[i] = limit;
  clamped->P.lo[i] = -limit;
}

static void clamped_limits_refresh(perp_clamped *clamped, const perp_lcp *lcp, const double *lambda,
                                   double step)
{
  for (int i = 0; i < lcp->n; i++)
    if (lcp->fric_of[i] >= 0)
      set_limit(clamped, i, clamped_limits_limit_of(clamped, lcp, lambda, i, step));
}

/* Largest difference of the limits from what the normal multipliers say. */
static double limits_gap(const perp_clamped *clamped, const perp_lcp *lcp)
{
  double gap = 0;
  for (int i = 0; i < lcp->n; i++)
    if (lcp->fric_of[i] >= 0)
      gap = perp_larger(gap, fabs(clamped_limits_limit_of(clamped, lcp, clamped->lambda, i, 1) -
                                  clamped->P.hi[i]));
  return gap;
}

perp_reason perp_clamped_friction(perp_clamped *clamped, const perp_lcp *lcp, int warm)
{
  perp_reason reason;
  if (!warm) {
    for (int i = 0; i < lcp->n; i++)
      if (lcp->fric_of[i] >= 0) clamped->P.lo[i] = clamped->P.hi[i] = 0;
    reason = clamped->box(clamped, 0);
    if (reason != PERP_EXACT) return reason;
  }
  memset(clamped->set, CLAMPED, (size_t)lcp->n); /* no row is at a limit yet */
  clamped_limits_refresh(clamped, lcp, clamped->lambda, 1);
  /* The plain fixed point contracts slowly, if at all; a Newton step on the limits ends it at once
   * when the sets are right.  One that does not halve the gap is taken back, and some plain steps
   * follow, from where it began: shortened, since an impulse that turns up at one contact often
   * leaves another.  Where that does not end, too, plain steps of full length: the solution may lie
   * beyond a larger gap, and a Newton step, which goes back to where there is none, is worth it
   * only near the end (Painleve's rod).  Among these, exchanges of sets and limits at once, which
   * leave all as it was where they do not end. */
  double last = HUGE_VAL, step = 1;
  int plain = 1, joint = 0;
  for (int round = 0; round < LIMIT_ROUNDS + BOLD_ROUNDS; round++) {
    const bool bold = round >= LIMIT_ROUNDS;
    reason = clamped->box(clamped, 1);
    if (reason != PERP_EXACT || clamped->limits == PERP_LIMITS_FIXED) return reason;
    const double gap = limits_gap(clamped, lcp), zs = perp_clamped_scale_of(clamped);
    perp_clamped_trace(clamped, "limits", -1, -1, gap);
    if (gap <= LIMIT_GAP * zs) return PERP_EXACT;
    if (perp_pivot_spent(&clamped->P, clamped->stats)) return PERP_MAX_ITER;
    if (round == FOLLOW_AT && perp_clamped_follow(clamped, lcp)) return PERP_EXACT;
    if (bold && (round - LIMIT_ROUNDS) % COUPLE_EVERY == 0 && perp_clamped_couple(clamped, lcp))
      return PERP_EXACT;
    if ((joint || (bold && plain == 0)) && gap > last / 2) {
      plain = PLAIN_ROUNDS;
      joint = 0;
      for (int i = 0; !bold && i < lcp->n; i++)
        if (lcp->fric_of[i] >= 0) set_limit(clamped, i, clamped->guess[i]);
      if (!bold) continue;
    }
    last = gap;
    /* of varying length, which breaks cycles */
    step = round == 0
               ? 1
               : (perp_pivot_generic(round) - 0.5) * (bold ? 1 : SHORT / (1 + round / SHORTER));
    joint = plain == 0 &&
            perp_clamped_joint(clamped, lcp, clamped->K.k, clamped->rows, clamped->pos);
    for (int i = 0; joint && i < lcp->n; i++)
      if (lcp->fric_of[i] >= 0)
        clamped->guess[i] = clamped_limits_limit_of(clamped, lcp, clamped->lambda, i, step);
    if (plain > 0) plain--;
    clamped_limits_refresh(clamped, lcp, joint ? clamped->dw : clamped->lambda, joint ? 1 : step);
  }
  return perp_clamped_follow(clamped, lcp) ? PERP_EXACT : PERP_STALLED;
}
