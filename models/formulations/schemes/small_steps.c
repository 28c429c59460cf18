/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small steps (M. Macklin, K. Storey, M. Lu, P. Terdiman, N. Chentanez, S. Jeschke, M. Mueller,
 * Small steps in physics simulation, SCA 2019): n substeps of one iteration in place of one step
 * of n.
 *
 * A step is cut into `substeps` of h, with the contacts of its start.  Each one: forces, and one
 * sweep (`iterations`) from zero,
 *
 *      J v + C / h = 0  of joints,      0 <= p  perp  n . v + gap / h >= 0  of contacts,
 *
 * J and C at its start; positions move with that velocity, which is kept.  To first order in the
 * constraints this is the paper's step, whose correction of the positions x~ = x + h v~ makes
 * C(x~) + J dx = 0 and whose velocity is what has moved over h.  Errors of position that one
 * iteration leaves are seen by the next substep; forces of a step are h^2 smaller, which is why
 * fewer iterations are needed.  Restitution is applied once, after the last substep: the paper has
 * none.
 *
 * What it gives up.  Order: 1 in h / n, and 1/2 in h where friction falls from mu to mu_dynamic
 * (scheme_rows.c). Drift: O((h / n)^2) and what one sweep leaves.  Energy: errors are given back
 * as velocities; what overlaps at the start is thrown apart at C n / h.  Penetration: what one
 * cold sweep leaves: deep in tall stacks, less with every substep, as (h / n)^2. Friction: the
 * exact disk, of cold impulses.
 *
 * Cost: per substep one evaluation and rows (iterations + 1); one collision detection.  No
 * allocation in a step, but for more contacts than ever.  Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

struct small_steps_opts {
  perp_scheme_opts scheme; /* first */
  int substeps, iterations;
};
static const perp_opt small_steps_options[] = {
  PERP_INT(struct small_steps_opts, substeps, 20, 1, 100000, "Number of sub-steps in a step."),
  PERP_INT(struct small_steps_opts, iterations, 1, 1, 10000, "Number of sweeps per sub-step."),
  PERP_SCHEME_OPTIONS, PERP_SCHEME_OPTIONS_SWEEP, PERP_OPTIONS_END
};

typedef struct small_steps {
  perp_scheme s; /* first */
  struct small_steps_opts o;
} small_steps;

static perp_reason small_steps_step(perp_scheme *scheme, double t, double whole)
{
  const struct small_steps_opts *opts = &((const small_steps *)scheme)->o;
  const double h = whole / opts->substeps;
  const perp_scheme_feedback feedback = perp_scheme_rate(1 / h);
  if (!perp_scheme_begin(scheme, t, whole, h)) return PERP_NOT_FINITE;
  for (int part = 0; part < opts->substeps; part++) {
    if (part > 0) perp_scheme_refresh(scheme, t + part * h, h);
    perp_scheme_forces(scheme, t + part * h, h);
    perp_scheme_bias(scheme, h, &feedback, false);
    perp_scheme_cold(scheme);
    perp_scheme_sweep(scheme, opts->iterations, false, scheme->v1);
    perp_scheme_move(scheme, h, scheme->v1);
    if (!perp_all_finite(scheme->model->nq, scheme->q1)) return PERP_NOT_FINITE;
    perp_scheme_sum(scheme);
  }
  perp_scheme_bounce(scheme, scheme->v1);
  perp_scheme_remember(scheme, whole, h);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static perp_status small_steps_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                      double h, void **ws)
{
  small_steps like = { .o = *(const struct small_steps_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = small_steps_step;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, perp_scheme_layout, ws);
}

const perp_formulation_desc perp_formulation_small_steps = {
  .d = { .name = "small-steps",
         .summary = "Sub-steps with one sweep each from zero impulses, full error correction: "
                    "order 1 in the sub-step, 1/2 in stick-slip",
         .reference = "Macklin et al. 2019 (small steps)",
         .equation = "J v + C / h = 0, contacts 0 <= p perp n.v + gap / h >= 0, one sweep of "
                     "Gauss-Seidel, q += h v",
         PERP_OPTIONS(small_steps_options, struct small_steps_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = small_steps_create,
  PERP_SCHEME_FUNCTIONS,
};
