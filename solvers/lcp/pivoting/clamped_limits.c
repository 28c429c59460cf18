/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The limits of friction rows (Vondrak 6.5.3), around the boxed problem of dantzig or bpp.
 *
 * The others are solved first with lambda = 0 in the friction rows, then all rows with the limits mu lambda_n fixed.
 * With friction = refreshed this is repeated with new limits, from the last sets, until they agree with the normal
 * multipliers: Newton steps on the limits, shortened fixed-point steps where those do not help, exchanges of sets and
 * limits at once (clamped_couple.c) where that takes many rounds, PERP_STALLED when
 * neither does. */
#include "solvers/lcp/pivoting/clamped.h"

#include <math.h>
#include <string.h>

const char *const perp_clamped_limits[] = { "refreshed", "fixed", NULL };

enum { LIMIT_ROUNDS = 280, BOLD_ROUNDS = 60, PLAIN_ROUNDS = 3 };
enum {
  COUPLE_FROM = 20,
  COUPLE_EVERY = 8
};                                        /* rounds before exchanges of sets and limits at once */
enum { PARTS_FROM = 60, PARTS_TO = 140 }; /* whose Newton steps are shortened */
/* length of a plain step: around SHORT, after `SHORTER` rounds half of it, after twice as many a third ... */
static const double SHORT = 0.5, SHORTER = 50;
static const double PART_LEAST = 1.0 / 16; /* of a Newton step */
/* limits that agree with the normal multipliers, relative to the largest multiplier */
static const double LIMIT_GAP = 1e-13;

/* Limit of friction row i: a part `step` of the way to what the normal multipliers say. */
static double clamped_limits_limit_of(const perp_clamped *D, const perp_lcp *p,
                                      const double *lambda, int i, double step)
{
  double limit = p->mu[i] * perp_larger(lambda[p->fric_of[i]], 0);
  return step == 1 ? limit : perp_larger(D->P.hi[i] + step * (limit - D->P.hi[i]), 0);
}

/* A new limit; a row at its limit moves with it. */
static void set_limit(perp_clamped *D, int i, double limit)
{
  if (D->set[i] == AT_HI || D->lambda[i] > limit) D->lambda[i] = limit;
  if (D->set[i] == AT_LO || D->lambda[i] < -limit) D->lambda[i] = -limit;
  D->P.hi[i] = limit;
  D->P.lo[i] = -limit;
}

static void clamped_limits_refresh(perp_clamped *D, const perp_lcp *p, const double *lambda,
                                   double step)
{
  for (int i = 0; i < p->n; i++)
    if (p->fric_of[i] >= 0) set_limit(D, i, clamped_limits_limit_of(D, p, lambda, i, step));
}

/* The limits that a Newton step from those in P ends at, and those of a plain step, for when it does not help.  0: none. */
static int newton_begin(perp_clamped *D, const perp_lcp *p, double plain)
{
  if (!perp_clamped_joint(D, p, D->K.k, D->rows, D->pos)) return 0;
  for (int i = 0; i < p->n; i++) {
    if (p->fric_of[i] < 0) continue;
    D->guess[i] = clamped_limits_limit_of(D, p, D->lambda, i, plain);
    D->from[i] = D->P.hi[i];
    D->aim[i] = clamped_limits_limit_of(D, p, D->dw, i, 1);
  }
  return 1;
}

/* A part of its way. */
static void newton_go(perp_clamped *D, const perp_lcp *p, double part)
{
  for (int i = 0; i < p->n; i++)
    if (p->fric_of[i] >= 0)
      set_limit(D, i, part == 1 ? D->aim[i] : D->from[i] + part * (D->aim[i] - D->from[i]));
}

/* Largest difference of the limits from what the normal multipliers say. */
static double limits_gap(const perp_clamped *D, const perp_lcp *p)
{
  double gap = 0;
  for (int i = 0; i < p->n; i++)
    if (p->fric_of[i] >= 0)
      gap = perp_larger(gap, fabs(clamped_limits_limit_of(D, p, D->lambda, i, 1) - D->P.hi[i]));
  return gap;
}

perp_reason perp_clamped_friction(perp_clamped *D, const perp_lcp *p, int warm)
{
  perp_reason reason;
  if (!warm) {
    for (int i = 0; i < p->n; i++)
      if (p->fric_of[i] >= 0) D->P.lo[i] = D->P.hi[i] = 0;
    reason = D->box(D, 0);
    if (reason != PERP_EXACT) return reason;
  }
  memset(D->set, CLAMPED, (size_t)p->n); /* no row is at a limit yet */
  clamped_limits_refresh(D, p, D->lambda, 1);
  /* The plain fixed point contracts slowly, if at all; a Newton step on the limits ends it at once when the
   * sets are right.  One that does not halve the gap is shortened: the limits are piecewise linear in each other, and
   * a short step goes down as long as no row changes its set.  Where even that does not help it is taken back, and some
   * plain steps follow, from where it began: shortened, since an impulse that turns up at one contact often leaves
   * another.  Where that does not end, too, plain steps of full length: the solution may lie beyond a larger gap, and
   * a Newton step, which goes back to where there is none, is worth it only near the end (Painleve's rod). */
  double last = HUGE_VAL, step = 1, part = 0; /* part > 0: of the Newton step at hand */
  int plain = 1, couple = COUPLE_FROM;
  for (int round = 0; round < LIMIT_ROUNDS + BOLD_ROUNDS; round++) {
    const bool bold = round >= LIMIT_ROUNDS;
    reason = D->box(D, 1);
    if (reason != PERP_EXACT || D->limits == PERP_LIMITS_FIXED) return reason;
    const double gap = limits_gap(D, p), zs = perp_clamped_scale_of(D);
    perp_clamped_trace(D, "limits", -1, -1, gap);
    if (gap <= LIMIT_GAP * zs) return PERP_EXACT;
    if (perp_pivot_spent(&D->P, D->stats)) return PERP_MAX_ITER;
    if (part == 0 && round >= couple && !bold) {
      if (perp_clamped_couple(D, p)) return PERP_EXACT;
      couple = round + COUPLE_EVERY;
    }
    const bool parts = round >= PARTS_FROM && round < PARTS_TO;
    if (part > 0 && parts && gap > (1 - part / 2) * last && part > PART_LEAST) {
      part /= 2;
      newton_go(D, p, part);
      continue;
    }
    if ((part > 0 || (bold && plain == 0)) && gap > (1 - part / 2) * last) {
      plain = PLAIN_ROUNDS;
      for (int i = 0; !bold && i < p->n; i++)
        if (p->fric_of[i] >= 0) set_limit(D, i, D->guess[i]);
      part = 0;
      if (!bold) continue;
    }
    last = gap;
    /* of varying length, which breaks cycles */
    step = round == 0
               ? 1
               : (perp_pivot_generic(round) - 0.5) * (bold ? 1 : SHORT / (1 + round / SHORTER));
    part = plain == 0 && newton_begin(D, p, step) ? 1 : 0;
    if (part > 0)
      newton_go(D, p, part);
    else
      clamped_limits_refresh(D, p, D->lambda, step);
    if (plain > 0) plain--;
  }
  return PERP_STALLED;
}
