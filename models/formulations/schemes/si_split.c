/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential impulses with split impulse (E. Catto 2006; the term is that of Bullet).
 *
 * Errors are corrected by a second velocity u, which moves positions in this step and is then
 * forgotten:
 *
 *      v+ = v + h M^-1 f + M^-1 J' p,   J v+ = 0 of joints,  0 <= p perp n . v+ >= 0 of contacts
 *
 *      u = M^-1 J' s,   J u + feedback C / h = 0
 *
 *      0 <= s perp n . u + feedback min(0, gap + slop) / h >= 0
 *
 *      q+ = q [+] h (v+ + u)
 *
 * both by `iterations` sweeps of Gauss-Seidel; p starts from the step before, s from zero.
 * Friction has no part in u.
 *
 * What it gives up.  Order: as si-baumgarte.  Drift: O(h^2), as with Baumgarte feedback; the
 * velocity obeys J(q) v = 0 of the start of the step. Energy: corrections lift and lower bodies,
 * which their velocity does not know; what is pushed apart does not fly apart. Penetration: the
 * slop, and what is not yet taken out; s is cold, so that stacks that are deep come up slowly.
 *
 * Cost: rows (2 iterations + 2), one evaluation, one collision detection.  No allocation in a
 * step, but for more contacts than ever. Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

struct si_split_opts {
  perp_scheme_opts scheme; /* first */
  int iterations;
};
static const perp_opt si_split_options[] = {
  PERP_INT(struct si_split_opts, iterations, 10, 1, 100000,
           "Number of sweeps over all rows, for the velocity and for the correction each."),
  PERP_SCHEME_OPTIONS, PERP_SCHEME_OPTIONS_SWEEP, PERP_SCHEME_OPTION_WARM, PERP_OPTIONS_END
};

typedef struct si_split {
  perp_scheme s; /* first */
  struct si_split_opts o;
  double *u; /* [nv] */
} si_split;

/* u of all rigid rows that are off; their impulses are no part of the step's */
static void si_split_correct(si_split *split, double h)
{
  perp_scheme *scheme = &split->s;
  const perp_scheme_feedback feedback = perp_scheme_baumgarte(h);
  memset(split->u, 0, (size_t)scheme->model->nv * sizeof *split->u);
  perp_scheme_bias(scheme, h, &feedback, false);
  perp_scheme_cold(scheme);
  for (int i = 0; i < scheme->n_contacts; i++)
    if (scheme->gap[i].C > 0) scheme->contact[i].inverse = 0; /* open: nothing to correct */
  for (int sweep = 0; sweep < split->o.iterations; sweep++) {
    for (int i = 0; i < scheme->n; i++) {
      perp_scheme_row *row = &scheme->row[i];
      const bool joint = row->kind == PERP_SCHEME_JOINT;
      if (row->kind == PERP_SCHEME_OWN || !(row->A > 0)) continue;
      if (!joint && row->C > 0) continue;
      const double w_u = perp_scheme_speed(scheme, row, split->u) + feedback.rate[0] * row->C;
      double p = row->p - w_u / row->A;
      if (!joint) p = fmax(0, p);
      perp_scheme_push(scheme, row, p - row->p, split->u);
      row->p = p;
    }
    perp_scheme_load(scheme, split->u);
    perp_scheme_contacts_sweep(scheme, 1, false, false);
    perp_scheme_store(scheme, split->u);
  }
}

static perp_reason si_split_step(perp_scheme *scheme, double t, double h)
{
  si_split *split = (si_split *)scheme;
  if (!perp_scheme_begin(scheme, t, h, h)) return PERP_NOT_FINITE;
  perp_scheme_forces(scheme, t, h);
  perp_scheme_bias(scheme, h, &perp_scheme_rigid, true);
  perp_scheme_sweep(scheme, split->o.iterations, true, scheme->v1);
  perp_scheme_sum(scheme);
  perp_scheme_remember(scheme, h, h);
  si_split_correct(split, h);
  for (int i = 0; i < scheme->model->nv; i++) split->u[i] += scheme->v1[i];
  perp_scheme_move(scheme, h, split->u);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static void si_split_layout(void *ws, perp_arena *arena)
{
  si_split *split = ws;
  perp_scheme_layout(split, arena);
  split->u = PERP_CARVE(arena, double, split->s.model->nv);
}

static perp_status si_split_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                   double h, void **ws)
{
  si_split like = { .o = *(const struct si_split_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = si_split_step;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, si_split_layout, ws);
}

const perp_formulation_desc perp_formulation_si_split = {
  .d = { .name = "si-split",
         .summary = "Sequential impulses; a second velocity, used once, corrects positions: fixed "
                    "number of sweeps, order 1, 1/2 in stick-slip",
         .reference = "Catto 2006 (sequential impulses, split impulse)",
         .equation = "J v+ = 0, J u + feedback C / h = 0, q+ = q [+] h (v+ + u), both by "
                     "Gauss-Seidel",
         PERP_OPTIONS(si_split_options, struct si_split_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = si_split_create,
  PERP_SCHEME_FUNCTIONS,
};
