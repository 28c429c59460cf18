/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential impulses with Baumgarte feedback (E. Catto, Fast and simple physics using sequential
 * impulses, GDC 2006).
 *
 *      v^ = v + h M^-1 f,      v+ = v^ + M^-1 J' p,      q+ = q [+] h v+,
 *      J v+ + feedback C / h = 0  of joints,
 *      0 <= p  perp  n . v+ + feedback min(0, gap + slop) / h >= 0  of contacts, |p_t| <= mu p,
 *
 * by `iterations` sweeps of Gauss-Seidel over the rows, p clamped as a sum, from the impulses of
 * the step before.
 *
 * What it gives up.  Order: 1, and 1/2 where friction falls from mu to mu_dynamic: sliding is seen
 * when it is faster than a part of what friction stops in a step (scheme_rows.c).  Drift: a joint
 * is off by what one step adds, over the feedback: O(h^2); what is left by the sweeps adds to it,
 * and goes with the number of bodies between.  Energy: the feedback is a velocity, and stays one:
 * what is pushed apart flies apart; restitution is Newton's.  Penetration: the slop, and what the
 * feedback has not yet taken out.  Friction: the exact disk, of the normal impulses of its sweep;
 * a pile that needs more sweeps creeps.
 *
 * Cost: rows (iterations + 2), one evaluation, one collision detection.  Nothing is allocated in a
 * step, but for more contacts than ever. Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

struct si_baumgarte_opts {
  perp_scheme_opts scheme; /* first */
  int iterations;
};
static const perp_opt si_baumgarte_options[] = {
  PERP_INT(struct si_baumgarte_opts, iterations, 10, 1, 100000, "Number of sweeps over all rows."),
  PERP_SCHEME_OPTIONS, PERP_SCHEME_OPTIONS_SWEEP, PERP_SCHEME_OPTION_WARM, PERP_OPTIONS_END
};

typedef struct si_baumgarte {
  perp_scheme s; /* first */
  struct si_baumgarte_opts o;
} si_baumgarte;

static perp_reason si_baumgarte_step(perp_scheme *scheme, double t, double h)
{
  const struct si_baumgarte_opts *opts = &((const si_baumgarte *)scheme)->o;
  if (!perp_scheme_begin(scheme, t, h, h)) return PERP_NOT_FINITE;
  perp_scheme_forces(scheme, t, h);
  const perp_scheme_feedback feedback = perp_scheme_baumgarte(h);
  perp_scheme_bias(scheme, h, &feedback, true);
  perp_scheme_sweep(scheme, opts->iterations, true, scheme->v1);
  perp_scheme_move(scheme, h, scheme->v1);
  perp_scheme_sum(scheme);
  perp_scheme_remember(scheme, h, h);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static perp_status si_baumgarte_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                       double h, void **ws)
{
  si_baumgarte like = { .o = *(const struct si_baumgarte_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = si_baumgarte_step;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, perp_scheme_layout, ws);
}

const perp_formulation_desc perp_formulation_si_baumgarte = {
  .d = { .name = "si-baumgarte",
         .summary = "Sequential impulses with Baumgarte feedback in the velocity: fixed number of "
                    "sweeps, order 1, 1/2 in stick-slip",
         .reference = "Catto 2006 (sequential impulses); Baumgarte 1972",
         .equation = "J v+ + feedback C / h = 0, contacts 0 <= p perp n.v+ + feedback min(0, gap + "
                     "slop) / h >= 0, by Gauss-Seidel",
         PERP_OPTIONS(si_baumgarte_options, struct si_baumgarte_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = si_baumgarte_create,
  PERP_SCHEME_FUNCTIONS,
};
