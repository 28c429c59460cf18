/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential impulses, positions by non-linear Gauss-Seidel (E. Catto, Box2D; Understanding
 * constraints, GDC 2014).
 *
 * The velocity knows no errors,
 *
 *      v+ = v + h M^-1 f + M^-1 J' p,   J v+ = 0,  0 <= p perp n . v+ >= 0
 *
 *      q+ = q [+] h v+
 *
 * by `iterations` sweeps, and then positions are corrected by `positions` passes over the rows at
 * q+,
 *
 *      dq = -M^-1 J' part C / A
 *
 * with part = 1 of joints and part (gap + slop) in place of C of contacts, where that is negative,
 * one row after the other, J and C anew in each pass, within it C + J dq.  Velocities never see
 * them.
 *
 * What it gives up.  Order: as si-baumgarte.  Drift: O(h^2) of the motion, times what the passes
 * leave; where they converge none.  Energy: corrections are work that nobody did.  Penetration:
 * the slop, what passes leave.  Friction as of si-baumgarte.
 *
 * Cost: rows (iterations + POSITIONS + 2), 1 + POSITIONS evaluations, one collision detection.  No
 * allocation in a step, but for more contacts than ever.  Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

/* Position passes, and the part of a penetration that one corrects: those of solver2d */
enum { POSITIONS = 4 };
static const double PART = 0.2;

struct si_ngs_opts {
  perp_scheme_opts scheme; /* first */
  int iterations;
};
static const perp_opt si_ngs_options[] = { PERP_INT(struct si_ngs_opts, iterations, 10, 1, 100000,
                                                    "Number of velocity sweeps over all rows."),
                                           PERP_SCHEME_OPTIONS, PERP_SCHEME_OPTIONS_SWEEP,
                                           PERP_SCHEME_OPTION_WARM, PERP_OPTIONS_END };

typedef struct si_ngs {
  perp_scheme s; /* first */
  struct si_ngs_opts o;
  double *dq; /* [nv] */
} si_ngs;

/* One pass over the rows as they are at q1. */
static void si_ngs_pass(si_ngs *ngs)
{
  perp_scheme *scheme = &ngs->s;
  memset(ngs->dq, 0, (size_t)scheme->model->nv * sizeof *ngs->dq);
  for (int i = 0; i < scheme->n; i++) {
    const perp_scheme_row *row = &scheme->row[i];
    if (row->kind == PERP_SCHEME_OWN || !(row->A > 0)) continue;
    double C = row->C + perp_scheme_speed(scheme, row, ngs->dq);
    if (row->kind == PERP_SCHEME_LIMIT) C = fmin(0, C);
    perp_scheme_push(scheme, row, -C / row->A, ngs->dq);
  }
  perp_scheme_cold(scheme);
  for (int i = 0; i < scheme->n_contacts; i++) {
    perp_scheme_contact *contact = &scheme->contact[i];
    contact->bias[0] = scheme->gap[i].C + PERP_SCHEME_SLOP;
    contact->soft = 0;
    contact->inverse = scheme->gap[i].A > 0 ? PART / scheme->gap[i].A : 0;
  }
  perp_scheme_load(scheme, ngs->dq);
  perp_scheme_contacts_sweep(scheme, 1, false, false);
  perp_scheme_store(scheme, ngs->dq);
  perp_scheme_move(scheme, 1, ngs->dq);
}

static perp_reason si_ngs_step(perp_scheme *scheme, double t, double h)
{
  si_ngs *ngs = (si_ngs *)scheme;
  if (!perp_scheme_begin(scheme, t, h, h)) return PERP_NOT_FINITE;
  perp_scheme_forces(scheme, t, h);
  perp_scheme_bias(scheme, h, &perp_scheme_rigid, true);
  perp_scheme_sweep(scheme, ngs->o.iterations, true, scheme->v1);
  perp_scheme_sum(scheme);
  perp_scheme_move(scheme, h, scheme->v1);
  perp_scheme_remember(scheme, h, h);
  for (int i = 0; i < POSITIONS && perp_scheme_any(scheme); i++) {
    if (!perp_all_finite(scheme->model->nq, scheme->q1)) return PERP_NOT_FINITE;
    perp_scheme_refresh(scheme, t + h, h);
    si_ngs_pass(ngs);
  }
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static void si_ngs_layout(void *ws, perp_arena *arena)
{
  si_ngs *ngs = ws;
  perp_scheme_layout(ngs, arena);
  ngs->dq = PERP_CARVE(arena, double, ngs->s.model->nv);
}

static perp_status si_ngs_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                 double h, void **ws)
{
  si_ngs like = { .o = *(const struct si_ngs_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = si_ngs_step;
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, si_ngs_layout, ws);
}

const perp_formulation_desc perp_formulation_si_ngs = {
  .d = { .name = "si-ngs",
         .summary = "Sequential impulses, then non-linear Gauss-Seidel on positions: fixed numbers "
                    "of sweeps, order 1, 1/2 in stick-slip",
         .reference = "Catto 2006 and 2014 (sequential impulses, non-linear Gauss-Seidel)",
         .equation = "J v+ = 0 by Gauss-Seidel, q+ = q [+] h v+, then dq = -M^-1 J' C / A row by "
                     "row",
         PERP_OPTIONS(si_ngs_options, struct si_ngs_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = si_ngs_create,
  PERP_SCHEME_FUNCTIONS,
};
