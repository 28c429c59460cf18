/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Temporal Gauss-Seidel, the solver eTGS of PhysX 5 (NVIDIA, PhysX SDK 5, PxSolverType; the idea is
 * that of Macklin et al. 2019): the sweeps of a step are spread over its time.
 *
 * A step of h is cut into `positions` sub-steps of d = h / n with the rows of its start.  Each one
 * is one sweep,
 *
 *      J v + b C / d = 0  of joints,      0 <= p  perp  n . v + (gap < 0 ? b_c gap : gap) / d >= 0,
 *
 * and then everything moves: q <- q [+] d v, C <- C + d (J v + C_t), gap <- gap + d n . v.  Errors
 * that a sweep leaves are seen by the next one as positions.  J, the normals and the masses stay
 * those of the start, and an impulse p is that of the whole step: it grows and falls from sweep to
 * sweep, which the bounds take as a sum.  b = min(0.9, 2 / sqrt(n)) and b_c = min(0.8, b), as
 * PhysX; external forces act in full before the first sub-step, or in parts (external = each).
 * One sweep at the end, without the feedback of errors, takes out the velocity that it has
 * made.  There is no warm start.  A contact that approaches faster than the threshold and closes in
 * the step keeps e times that speed as its aim in all sweeps.
 *
 * What it gives up.  Order: 1 in h.  Drift: O(h^2) of turning within a step, as J is frozen, and
 * what sweeps leave.  Energy: feedback and the frozen J make and take it.  Penetration: what sweeps
 * leave; deep in tall stacks, less with n.  Friction: the exact disk, of the normal impulse so far.
 *
 * Cost: one evaluation and one collision detection, rows (positions + 1).  No allocation
 * in a step, but for more contacts than ever.  Fails: states that are not finite. */
#include "models/formulations/schemes/scheme.h"

enum { EXTERNAL_ONCE, EXTERNAL_EACH };
static const char *const externals[] = { "once", "each", NULL };

struct tgs_opts {
  perp_scheme_opts scheme; /* first */
  int positions, external;
  double bias;
};
static const perp_opt tgs_options[] = {
  PERP_INT(struct tgs_opts, positions, 4, 1, 100000,
           "Number of sub-steps, with one sweep each (position iterations of PhysX)."),
  PERP_ENUM(struct tgs_opts, external, EXTERNAL_ONCE, externals,
            "External forces. once: those of the whole step before the first sub-step. each: in "
            "every sub-step its part."),
  PERP_REAL(struct tgs_opts, bias, 0, 0, 1, 0, "",
            "Part of a position error that a sub-step corrects; 0.8 at most of an overlap. 0: 0.9 "
            "or 2 / sqrt(positions), whichever is smaller."),
  PERP_SCHEME_OPTIONS,
  PERP_SCHEME_OPTIONS_SWEEP,
  PERP_OPTIONS_END
};

typedef struct tgs {
  perp_scheme s; /* first */
  struct tgs_opts o;
  double bias; /* b */
} tgs;

static const double OVERLAP = 0.8; /* most of an overlap that a sub-step corrects */

/* What does not approach fast, or does not close, has no rebound: e = 0. */
static void tgs_rebounds(perp_scheme *scheme, double h)
{
  for (int i = 0; i < scheme->contacts; i++) {
    perp_scheme_row *row = &scheme->row[i];
    if (!(row->approach < -scheme->o.threshold) ||
        row->C + h * perp_scheme_speed(scheme, row, scheme->v1) > 0)
      row->e = 0;
  }
  perp_scheme_load(scheme, scheme->v1);
  for (int i = 0; i < scheme->pairs; i++)
    for (int k = scheme->pair[i].first; k < scheme->pair[i].end; k++) {
      perp_scheme_gap *gap = &scheme->gap[k];
      if (!(gap->approach < -scheme->o.threshold) ||
          gap->C + h * perp_scheme_approach(scheme, &scheme->pair[i], k) > 0)
        gap->e = 0;
    }
}

static void tgs_sweep(perp_scheme *scheme, double h, const perp_scheme_feedback *feedback)
{
  perp_scheme_bias(scheme, h, feedback, false);
  for (int i = 0; i < scheme->contacts; i++)
    if (scheme->row[i].e > 0) scheme->row[i].bias = scheme->row[i].e * scheme->row[i].approach;
  for (int i = 0; i < scheme->n_contacts; i++)
    if (scheme->gap[i].e > 0)
      scheme->contact[i].bias[0] = scheme->gap[i].e * scheme->gap[i].approach;
  perp_scheme_sweep(scheme, 1, false, scheme->v1);
}

/* With v1, and the errors of joints and limits along their rows. */
static void tgs_move(perp_scheme *scheme, double h)
{
  for (int i = 0; i < scheme->contacts; i++) {
    perp_scheme_row *row = &scheme->row[i];
    if (row->kind == PERP_SCHEME_JOINT || row->kind == PERP_SCHEME_LIMIT)
      row->C += h * (perp_scheme_speed(scheme, row, scheme->v1) + row->given);
  }
  perp_scheme_move(scheme, h, scheme->v1);
}

static perp_reason tgs_step(perp_scheme *scheme, double t, double whole)
{
  const struct tgs_opts *opts = &((const tgs *)scheme)->o;
  const double h = whole / opts->positions;
  const double bias = ((const tgs *)scheme)->bias;
  perp_scheme_feedback feedback = perp_scheme_rate(fmin(OVERLAP, bias) / h);
  feedback.rate[PERP_SCHEME_OF_JOINT] = bias / h;
  const bool each = opts->external == EXTERNAL_EACH;
  if (!perp_scheme_begin(scheme, t, whole, whole)) return PERP_NOT_FINITE;
  for (int part = 0; part < opts->positions; part++) {
    if (each || part == 0) perp_scheme_forces(scheme, t + part * h, each ? h : whole);
    if (part == 0) tgs_rebounds(scheme, whole);
    tgs_sweep(scheme, h, &feedback);
    tgs_move(scheme, h);
    if (!perp_all_finite(scheme->model->nq, scheme->q1)) return PERP_NOT_FINITE;
  }
  tgs_sweep(scheme, h, &perp_scheme_rigid); /* one without feedback of positions, as PhysX */
  perp_scheme_sum(scheme);
  perp_scheme_remember(scheme, whole, whole);
  perp_scheme_counted(scheme);
  return PERP_EXACT;
}

static perp_status tgs_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                              void **ws)
{
  tgs like = { .o = *(const struct tgs_opts *)parts->formulation.opts };
  like.s.o = like.o.scheme;
  like.s.step = tgs_step;
  like.bias = like.o.bias > 0 ? like.o.bias : fmin(0.9, 2 / sqrt(like.o.positions));
  return perp_scheme_create(ctx, model, parts, h, &like.s, sizeof like, perp_scheme_layout, ws);
}

const perp_formulation_desc perp_formulation_tgs = {
  .d = { .name = "tgs",
         .summary = "Temporal Gauss-Seidel of PhysX 5: one sweep per sub-step on the rows of the "
                    "start, impulses of the whole step; order 1",
         .reference = "NVIDIA PhysX SDK 5 (PxSolverType eTGS); Macklin et al. 2019",
         .equation = "J v + b C / d = 0, contacts 0 <= p perp n.v + gap / d >= 0, one sweep of "
                     "Gauss-Seidel, q += d v, C += d J v",
         PERP_OPTIONS(tgs_options, struct tgs_opts),
         .caps = PERP_SCHEME_CAPS },
  .create = tgs_create,
  PERP_SCHEME_FUNCTIONS,
};
