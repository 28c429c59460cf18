/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Soft step (E. Catto, solver2d 2024, "soft step"; Box2D v3).
 *
 * A step is cut into `substeps` of h, with the contacts of its start.  Each one: forces, guesses,
 * one sweep (`iterations`) with soft rows,
 *
 *      J v + S p + max(rate C, -PUSH) = 0
 *
 *      S = A / c,   c = h omega (2 zeta + h omega),   rate = omega / (2 zeta + h omega)
 *
 * positions move with that velocity, and one sweep with rigid rows and no feedback, J v
 * = 0, takes out of the velocity what only served positions.  omega = 2 pi FREQUENCY, zeta the
 * damping ratio: in a sweep such a row changes by -m c / (1 + c) (J v + rate C) - p / (1 + c), m =
 * 1 / A, the mass scale and impulse scale of the engines.  No frequency is above a quarter of 1 /
 * h; contacts with what does not move have twice the frequency.  What is open may close, C / h.
 * Restitution is applied once, after the last substep.  Each sweep solves the normal rows of two
 * shapes before their friction, as solver2d and Box2D v3 do: with friction first the bound of
 * friction is that of the other kind of sweep, and the error of sliding grows as 1 / h.
 *
 * What it gives up.  Order: 1 down to the compliance of its rows, which stays: 0.09 mm of a box at
 * rest, 0.09 mm of one that sticks on an incline, 0.9 mrad of one that slides; 1/2 where friction
 * falls from mu to mu_dynamic (scheme_rows.c).  Drift: rows are springs, off by p / h over their
 * stiffness m omega^2, which add up over a chain or stack of bodies; it does not go with h but for
 * frequencies above 1 / (4 h).  Energy: damping, no gain.  Penetration: at rest that of the
 * springs, g / omega^2 of a body on one contact.  Friction: the exact disk, sticks after the
 * relaxing sweep but for what that leaves.
 *
 * Cost: per substep one evaluation and rows (iterations + relax + 1); one collision detection.  No
 * allocation in a step, but for more contacts than ever.  Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

/* Of contacts and limits, and of joints: Hz and damping ratios; m/s, the largest speed at which
 * penetration parts bodies: those of solver2d */
static const double FREQUENCY = 30, RATIO = 10, JOINT_FREQUENCY = 60, JOINT_RATIO = 2, PUSH = 4;

struct soft_step_opts {
  perp_scheme_opts scheme; /* first */
  int substeps, iterations;
};
static const perp_opt soft_step_options[] = {
  PERP_INT(struct soft_step_opts, substeps, 4, 1, 10000, "Number of sub-steps in a step."),
  PERP_INT(struct soft_step_opts, iterations, 1, 1, 10000,
           "Number of sweeps with compliant rows per sub-step."),
  PERP_SCHEME_OPTIONS,
  PERP_SCHEME_OPTIONS_SWEEP,
  PERP_SCHEME_OPTION_WARM,
  PERP_OPTIONS_END
};

typedef struct soft_step {
  perp_scheme s; /* first */
  struct soft_step_opts o;
} soft_step;

/* rate and S / A of rows with these in a substep h */
static void soft_step_spring(perp_scheme_feedback *feedback, int of, double frequency, double zeta,
                             double h)
{
  const double omega = 2 * M_PI * fmin(frequency, 0.25 / h);
  feedback->rate[of] = omega / (2 * zeta + h * omega);
  feedback->soft[of] = 1 / (h * omega * (2 * zeta + h * omega));
}

static perp_reason soft_step_step(perp_scheme *scheme, double t, double whole)
{
  soft_step *step = (soft_step *)scheme;
  const double h = whole / step->o.substeps;
  perp_scheme_feedback feedback = { .push = PUSH };
  soft_step_spring(&feedback, PERP_SCHEME_OF_JOINT, JOINT_FREQUENCY, JOINT_RATIO, h);
  soft_step_spring(&feedback, PERP_SCHEME_OF_LIMIT, FREQUENCY, RATIO, h);
  soft_step_spring(&feedback, PERP_SCHEME_OF_BODIES, FREQUENCY, RATIO, h);
  soft_step_spring(&feedback, PERP_SCHEME_OF_GROUND, 2 * FREQUENCY, RATIO, h);
  if (!perp_scheme_begin(scheme, t, whole, h)) return PERP_NOT_FINITE;
  for (int part = 0; part < step->o.substeps; part++) {
    if (part > 0) perp_scheme_refresh(scheme, t + part * h, h);
    perp_scheme_forces(scheme, t + part * h, h);
    perp_scheme_bias(scheme, h, &feedback, false);
    perp_scheme_sweep(scheme, step->o.iterations, true, scheme->v1);
    perp_scheme_move(scheme, h, scheme->v1);
    if (!perp_all_finite(scheme->model->nq, scheme->q1)) return PERP_NOT_FINITE;
    perp_scheme_bias(scheme, h, &perp_scheme_rigid, false);
    perp_scheme_sweep(scheme, 1, false, scheme->v1);
    perp_scheme_sum(scheme);
  }
  perp_scheme_bounce(scheme, scheme->v1);
  perp_scheme_remember(scheme, whole, h);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static perp_status soft_step_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                    double h, void **ws)
{
  soft_step like = { .o = *(const struct soft_step_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = soft_step_step;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, perp_scheme_layout, ws);
}

const perp_formulation_desc perp_formulation_soft_step = {
  .d = { .name = "soft-step",
         .summary = "Sub-steps with compliant rows, then rigid sweeps: fixed number of sweeps, "
                    "order 1 down to the compliance of its rows",
         .reference = "Catto 2024 (solver2d, soft step)",
         .equation = "J v + S p + max(rate C, -push) = 0, q += h v, then J v = 0; S = A / c, c = h "
                     "omega (2 zeta + h omega), rate = omega / (2 zeta + h omega)",
         PERP_OPTIONS(soft_step_options, struct soft_step_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = soft_step_create,
  PERP_SCHEME_FUNCTIONS,
};
