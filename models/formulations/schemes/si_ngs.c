/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sequential impulses, positions by non-linear Gauss-Seidel (E. Catto, Box2D; Understanding
 * constraints, GDC 2014).
 *
 * The velocity knows no errors,
 *
 *      v+ = v + h M^-1 f + M^-1 J' p,      J v+ = 0,  0 <= p perp n . v+ >= 0,      q+ = q [+] h
 * v+,
 *
 * by `iterations` sweeps, and then positions are corrected by `positions` passes over the rows at
 * q+,
 *
 *      dq = -M^-1 J' part C / A,      joints: part = 1;  contacts: part (gap + slop) in place of C,
 * where that is negative,
 *
 * one row after the other, J and C anew in each pass, within it C + J dq.  Velocities never see
 * them.
 *
 * What it gives up.  Order: as si-baumgarte.  Drift: O(h^2) of the motion, times what the passes
 * leave; where they converge none.  Energy: corrections are work that nobody did.  Penetration:
 * the slop, what passes leave.  Friction as of si-baumgarte.
 *
 * Cost: rows (iterations + positions + 2), 1 + positions evaluations, one collision detection.  No
 * allocation in a step, but for more contacts than ever.  Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

#include <string.h>

struct si_ngs_opts {
  perp_scheme_opts scheme; /* first */
  int iterations, positions;
  double part, slop;
};
static const perp_opt si_ngs_options[] = {
  PERP_INT(struct si_ngs_opts, iterations, 10, 1, 100000,
           "Number of velocity sweeps over all rows."),
  PERP_INT(struct si_ngs_opts, positions, 4, 0, 100000, "Number of position passes over all rows."),
  PERP_REAL(struct si_ngs_opts, part, 0.2, 0, 1, 0, "",
            "Fraction of the penetration of a contact that a position pass corrects."),
  PERP_REAL(struct si_ngs_opts, slop, 0.005, 0, HUGE_VAL, PERP_OPEN_MAX, "m",
            "Penetration of a contact that is not corrected."),
  PERP_SCHEME_OPTIONS,
  PERP_SCHEME_OPTION_WARM,
  PERP_OPTIONS_END
};

typedef struct si_ngs {
  perp_scheme s; /* first */
  struct si_ngs_opts o;
  double *dq; /* [nv] */
} si_ngs;

/* One pass over the rows as they are at q1. */
static void si_ngs_pass(si_ngs *w)
{
  perp_scheme *s = &w->s;
  memset(w->dq, 0, (size_t)s->model->nv * sizeof *w->dq);
  for (int i = 0; i < s->n; i++) {
    const perp_scheme_row *row = &s->row[i];
    if (row->kind == PERP_SCHEME_OWN || row->kind == PERP_SCHEME_TANGENT || !(row->A > 0)) continue;
    double C = row->C + perp_scheme_speed(s, row, w->dq);
    if (row->kind == PERP_SCHEME_NORMAL) C = w->o.part * fmin(0, C + w->o.slop);
    if (row->kind == PERP_SCHEME_LIMIT) C = fmin(0, C);
    perp_scheme_push(s, row, -C / row->A, w->dq);
  }
  perp_scheme_move(s, 1, w->dq);
}

static perp_reason si_ngs_step(perp_scheme *s, double t, double h)
{
  si_ngs *w = (si_ngs *)s;
  if (!perp_scheme_begin(s, t, h, h)) return PERP_NOT_FINITE;
  perp_scheme_forces(s, t, h);
  perp_scheme_bias(s, h, NULL, true);
  perp_scheme_warm(s, s->v1);
  for (int i = 0; i < w->o.iterations; i++) perp_scheme_sweep(s, s->v1);
  perp_scheme_sum(s);
  perp_scheme_move(s, h, s->v1);
  perp_scheme_remember(s, h, h);
  for (int i = 0; i < w->o.positions && s->n > 0; i++) {
    if (!perp_all_finite(s->model->nq, s->q1)) return PERP_NOT_FINITE;
    perp_scheme_refresh(s, t + h, h);
    si_ngs_pass(w);
  }
  perp_scheme_counted(s);
  return PERP_EXACT;
}

static void si_ngs_layout(void *ws, perp_arena *a)
{
  si_ngs *w = ws;
  perp_scheme_layout(w, a);
  w->dq = PERP_CARVE(a, double, w->s.model->nv);
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
