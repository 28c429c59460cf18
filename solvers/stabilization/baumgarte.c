/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Baumgarte stabilization: the error itself drives its decay.
 *
 *      velocity level      J v = k - alpha C
 *
 *      acceleration level  J a = c - 2 alpha Cdot - beta^2 C
 *
 * so that C.. + 2 alpha Cdot + beta^2 C = 0
 * (Vondrak 2005, eq. 4.8 and 6.33, with his alpha_V = beta^2, beta_V = 2 alpha on the acceleration
 * level; Cline 2002, eq. 3.1, with his alpha_C = 2 alpha, beta_C = beta^2.)  beta = alpha is
 * critically damped.
 *
 * alpha = 0 chooses.  On the velocity level alpha = 1/h: the step aims at C = 0 at its end, so that
 * the bodies move along the chord of the constraint manifold and not along its tangent (SHAKE does
 * the same exactly).  On the acceleration level alpha = beta = 1/(20 h): an explicit method is
 * stable up to alpha h of about 1 (Euler) or 2.8 (Runge-Kutta 4), but the feedback also acts on the
 * stages, which are off the manifold by O(h^2), so that alpha h must be small for the method to
 * keep its accuracy; and as alpha then grows with 1/h, the order of a high-order method is only
 * seen with a fixed alpha.
 *
 * Contacts have the same rows, one-sided (Vondrak 2005, eq. 6.34), with the gap g in place of C:
 *
 *      velocity level      J v+ >= min(-alpha g, push)     where bodies penetrate, g < 0
 *      acceleration level  J a + Jdot v >= -2 alpha gdot - beta^2 max(g, -2 alpha push / beta^2)
 *
 * and rows of friction that stick have g = 0.  What the feedback gives to bodies that penetrate
 * stays with them as a velocity of separation: a velocity level of full feedback throws them by
 * depth / h.  So alpha = 0 is 1/(5 h) here on both levels (beta = alpha), and no contact parts
 * faster than `push`: on the acceleration level that is where the bounded feedback settles, 2 alpha
 * gdot = 2 alpha push.  n boxes on each other that part at the speed u each have the kinetic energy
 * m u^2 n^3 / 6 for large n, of the potential energy m g a n^2 / 2 of boxes of edge a the part u^2
 * n / (3 g a): with the default push less than 1 % up to 25 boxes of 1 m.
 *
 * Too large an alpha overshoots (Cline 2002, figure 5.8).  Cost: O(m), no memory.
 *
 * Position constraints, two-sided and one-sided: Vondrak 2005, eq. 6.30, 6.31. */
#include "solvers/stabilization/stab_private.h"

struct opts {
  double alpha, beta, push;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, alpha, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "Feedback gain alpha. 0: 1/h on the velocity level, 1/(20 h) on the acceleration "
            "level, 1/(5 h) for contacts."),
  PERP_REAL(struct opts, beta, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "Feedback gain beta of the position error C on the acceleration level. 0: same as "
            "alpha. Refused on the velocity level."),
  PERP_REAL(struct opts, push, 0.1, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",
            "Maximum separation speed that the feedback gives to penetrating bodies."),
  PERP_OPTIONS_END
};

struct ws {
  struct stab_joints joints; /* first */
  struct opts opt;
};

static perp_status baumgarte_create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts,
                                    void **ws)
{
  const struct opts *chosen = opts;
  struct ws like = { .joints = { chosen->alpha, chosen->beta, sys->m }, .opt = *chosen };
  return perp_stab_joints_create(ctx, "baumgarte", &like, sizeof like, ws);
}

static double baumgarte_contact(const void *ws, perp_level level, double h, double gap, double rate)
{
  const struct ws *work = ws;
  const double alpha = work->opt.alpha > 0 ? work->opt.alpha : 1 / (5 * h), push = work->opt.push;
  if (level == PERP_LEVEL_VELOCITY) return gap < 0 ? fmin(-alpha * gap, push) : 0;
  return perp_stab_contact(alpha, work->opt.beta > 0 ? work->opt.beta : alpha, push, gap, rate);
}

static const char *baumgarte_idle(const void *opts, perp_level level)
{
  return perp_stab_joints_idle(((const struct opts *)opts)->beta, level);
}

const perp_stab_desc perp_stab_baumgarte = {
  .d = { .name = "baumgarte",
         .summary =
             "Baumgarte stabilization: feedback of the constraint error into the right-hand side",
         .reference = "Vondrak 2005, eq. 4.8, 6.33, 6.34; Cline 2002, section 3.2",
         .equation = "J v = k - alpha C;  C.. + 2 alpha C. + beta^2 C = 0;  contacts: >=",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_STAB_FEEDBACK },
  .create = baumgarte_create,
  .rhs = perp_stab_joints_rhs,
  .destroy = free,
  .contact = baumgarte_contact,
  .idle = baumgarte_idle,
};
