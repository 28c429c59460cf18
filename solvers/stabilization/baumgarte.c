/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Baumgarte stabilization: the error itself drives its decay.
 *
 *      velocity level      J v = k - alpha C
 *      acceleration level  J a = c - 2 alpha Cdot - beta^2 C,   so that C.. + 2 alpha Cdot + beta^2 C = 0
 *
 * (Vondrak 2005, eq. 4.8 and 6.33, with his alpha_V = beta^2, beta_V = 2 alpha on the acceleration level;
 * Cline 2002, eq. 3.1, with his alpha_C = 2 alpha, beta_C = beta^2.)  beta = alpha is critically damped.
 *
 * alpha = 0 chooses.  On the velocity level alpha = 1/h: the step aims at C = 0 at its end, so that the
 * bodies move along the chord of the constraint manifold and not along its tangent (SHAKE does the same
 * exactly).  On the acceleration level alpha = beta = 1/(20 h): an explicit method is stable up to
 * alpha h of about 1 (Euler) or 2.8 (Runge-Kutta 4), but the feedback also acts on the stages, which are
 * off the manifold by O(h^2), so that alpha h must be small for the method to keep its accuracy; and as
 * alpha then grows with 1/h, the order of a high-order method is only seen with a fixed alpha.
 *
 * Contacts are one-sided: what the feedback gives to bodies that penetrate stays with them as a velocity of
 * separation, so it is weaker (a fifth of the depth in a step) and its speed is limited.
 *
 * Too large an alpha overshoots (Cline 2002, figure 5.8).  Cost: O(m), no memory. */
#include "solvers/stabilization/stabilization.h"

#include <math.h>
#include <stdlib.h>

struct opts {
  double alpha, beta, contact, push;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, alpha, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "feedback; 0 = 1/h on the velocity level, 1/(20 h) on the acceleration level"),
  PERP_REAL(struct opts, beta, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "feedback of C on the acceleration level; 0 = alpha"),
  PERP_REAL(struct opts, contact, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "1/s",
            "feedback of the penetration of contacts; 0 = 0.2/h"),
  PERP_REAL(struct opts, push, 1, 0, HUGE_VAL, 0, "m/s",
            "highest speed at which feedback pushes bodies out of each other"),
  PERP_OPTIONS_END
};

struct ws {
  struct opts opt;
  int m;
};

static perp_status create(perp_ctx *ctx, const perp_stab_sys *sys, const void *opts, void **ws)
{
  *ws = NULL;
  if (sys->m < 0) return PERP_FAIL(ctx, PERP_ERR_DIM, "baumgarte: m = %d rows", sys->m);
  struct ws *w = calloc(1, sizeof *w);
  if (w == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "baumgarte: no memory");
  w->opt = *(const struct opts *)opts;
  w->m = sys->m;
  *ws = w;
  return PERP_OK;
}

static void rhs(void *ws, perp_level level, double h, const double *C, const double *Cdot,
                double *rhs)
{
  const struct ws *w = ws;
  double alpha = w->opt.alpha;
  if (level == PERP_LEVEL_VELOCITY) {
    if (alpha == 0) alpha = 1 / h;
    for (int i = 0; i < w->m; i++) rhs[i] -= alpha * C[i];
  } else {
    if (alpha == 0) alpha = 1 / (20 * h);
    double beta = w->opt.beta == 0 ? alpha : w->opt.beta;
    for (int i = 0; i < w->m; i++) rhs[i] -= 2 * alpha * Cdot[i] + beta * beta * C[i];
  }
}

static double push(const void *ws, double h, double gap)
{
  const struct ws *w = ws;
  double rate = w->opt.contact > 0 ? w->opt.contact : 0.2 / h;
  return gap < 0 ? fmin(-rate * gap, w->opt.push) : 0;
}

static void destroy(void *ws)
{
  free(ws);
}

const perp_stab_desc perp_stab_baumgarte = {
  .d = { .name = "baumgarte",
         .summary = "feedback of the error into the right-hand side",
         .reference = "Vondrak 2005, eq. 4.8, 6.33; Cline 2002, section 3.2",
         .equation = "J v = k - alpha C;  C.. + 2 alpha C. + beta^2 C = 0",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_STAB_FEEDBACK },
  .create = create,
  .rhs = rhs,
  .destroy = destroy,
  .push = push,
};
