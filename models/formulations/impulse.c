/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impulses from a preview of the joints (Bender; STAR 2012, section 3.2.1, figure 9).
 *
 * The bodies fly on as if there were no joints,
 *
 *      A0(h v~) M v~ = M v + h/2 f(q, v),   q~ = q [+] h v~,
 *
 * and d = C(q~) is what would be violated at the end of the step.  Impulses p at its *start*, along J'(q), prevent that:
 * the velocity must change by -d / h to first order, and
 *
 *      J M^-1 J' p = -d / h,   v~ <- v~ + M^-1 J' p
 *
 * is repeated with the factor of the start until the preview holds to the tolerance.  Then forces act for the
 * second half of the step, and impulses at the end restore J v+ = 0 (velocity = true),
 *
 *      M v+ = A1(h v~) M v~ + h/2 f(q+, v+) + J'(q+) p+.
 *
 * A0 and A1 carry the angular momentum of a body that turns by h v~ to the frames of the start and the end
 * (perp_quat_transport; 1 in the plane); f has no gyroscopic torque.
 *
 * Positions are exact to the tolerance, with no parameter to tune.  With velocity = true this is RATTLE, on rotations as
 * a variational integrator (Bou-Rabee and Marsden 2009; Hante and Arnold 2021): order 2, symmetric and, for forces of
 * position, symplectic: no drift of energy, momenta to the tolerance.  Without, positions are the same, and v is off the constraints
 * by O(h).  Each iteration gains a factor of about |v| h / size.  The linear systems are those of the KKT solver, in
 * linear time for trees.
 *
 * Cost per step: 1 + iterations evaluations, one factorization (that of the end is the one of the next start),
 * one solve per iteration.  No allocation.  Fails with PERP_MAX_ITER when the preview does not converge. */
#include "models/formulations/stepper.h"

#include <string.h>

struct opts {
  double tol;
  int iterations;
  bool velocity;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, tol, 1e-12, 0, HUGE_VAL, PERP_OPEN_MIN, "m",
            "largest |C| and change of the preview, relative to the size of the model"),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "of the impulses, at most"),
  PERP_BOOL(struct opts, velocity, true, "impulses at the end of the step restore J v = 0"),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  double *dv, *dq, *moved, *start, *end; /* [nv] */
  double *momentum;                      /* [nv] M v, and what has acted in the step so far */
  double *p, *dp;                        /* [m] */
} workspace;

/* k->f = momentum + h f(q, v), k at q */
static void impulse_kick(workspace *w, double t, double h, const double *v, const double *momentum)
{
  perp_constrained *k = &w->s.k;
  perp_eval_forces(k->e, k->model, t, v, false, k->f);
  for (int i = 0; i < k->model->nv; i++) k->f[i] = momentum[i] + h * k->f[i];
  w->s.grid.count.rhs++;
}

/* M v1 = k->f + J' p, J v1 = k->c, by a new factor at the state of k */
static bool first_impulse(workspace *w, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  memset(k->lambda, 0, (size_t)model->m * sizeof *k->lambda);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v)) return false;
  memcpy(w->s.v1, k->a, (size_t)model->nv * sizeof *w->s.v1);
  memcpy(w->p, k->lambda, (size_t)model->m * sizeof *w->p);
  return true;
}

/* Preview from w->s.v1; w->s.q1 is where it leads, its violation in k->e->C.  k->f: what w->momentum has more than A0 M v1,
 * whose velocity over a step is part of the violation that is returned. */
static double impulse_preview(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int nv = model->nv;
  for (int i = 0; i < nv; i++) w->dq[i] = h * w->s.v1[i];
  perp_model_retract(model, w->s.q, w->dq, w->s.q1);
  perp_constrained_at(k, t + h, w->s.q1);
  perp_blocks_M(&k->e->blocks, w->s.v1, w->moved);
  perp_model_transport(model, w->dq, w->moved, w->start, w->end);
  for (int i = 0; i < nv; i++) k->f[i] = w->momentum[i] - w->start[i];
  perp_blocks_Minv(&k->e->blocks, k->f, w->moved);
  return perp_worst(model->m, k->e->C) + h * perp_worst(nv, w->moved);
}

static perp_reason impulse_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m, nv = model->nv;
  const double tol = w->o.tol * model->size;
  perp_constrained_at(k, t, w->s.q);
  perp_blocks_M(&k->e->blocks, w->s.v, w->momentum);
  impulse_kick(w, t, h / 2, w->s.v, w->momentum);
  for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
  perp_constrained_driven(k, t + h, 1, k->c);
  if (!first_impulse(w, h)) return k->reason;
  perp_blocks_M(&k->e->blocks, w->s.v1, w->momentum);
  double d, last = HUGE_VAL;
  for (int pass = 1;; pass++) {
    d = impulse_preview(w, t, h);
    if (isnan(d)) return PERP_NOT_FINITE;
    /* round-off of positions that are large beside the tolerance: as good as it gets */
    if (d <= tol || (d < 1e-9 * model->size && d > last / 2)) break;
    if (pass >= w->o.iterations) return PERP_MAX_ITER;
    last = d;
    for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
    if (!perp_constrained_response(k, k->f, k->c, w->dv, w->dp)) return k->reason;
    perp_blocks_M(&k->e->blocks, w->dv, w->moved);
    for (int i = 0; i < nv; i++) {
      w->s.v1[i] += w->dv[i];
      w->momentum[i] += w->moved[i] - k->f[i];
    }
    for (int i = 0; i < m; i++) w->p[i] += w->dp[i];
    w->s.grid.count.iterations++;
  }
  k->drift = d;
  /* what the passes have left is not lost to the momentum */
  for (int i = 0; i < nv; i++) w->end[i] += k->f[i];
  for (int i = 0; i < m; i++) w->s.lambda[i] = (w->o.velocity ? 2 : 1) * w->p[i] / h;
  perp_model_project(model, w->s.q1);
  perp_constrained_at(k, t + h, w->s.q1);
  /* forces that depend on v take that of the end, which passes know to O(h), O(h^2) and O(h^3) */
  for (int pass = model->velocity_forces ? 3 : 1; pass > 0; pass--) {
    impulse_kick(w, t + h, h / 2, w->s.v1, w->end);
    memset(k->c, 0, (size_t)m * sizeof *k->c);
    perp_constrained_driven(k, t + h, 1, k->c);
    if (!w->o.velocity)
      perp_blocks_Minv(&k->e->blocks, k->f, w->s.v1);
    else if (!first_impulse(w, h))
      return k->reason;
  }
  if (!perp_all_finite(model->nq, w->s.q1) || !perp_all_finite(nv, w->s.v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

static void impulse_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  PERP_DOUBLES(a, model->nv, &w->dv, &w->dq, &w->moved, &w->start, &w->end, &w->momentum);
  PERP_DOUBLES(a, model->m, &w->p, &w->dp);
}

static perp_status impulse_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  workspace like = { .s.make_step = impulse_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  return perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, impulse_layout, ws);
}

const perp_formulation_desc perp_formulation_impulse = {
  .d = { .name = "impulse",
         .summary = "RATTLE: impulses from a preview of the joints, iterated; order 2, symplectic",
         .reference = "STAR 2012, section 3.2.1 (Bender), figure 9",
         .equation = "J M^-1 J' p = -C(q [+] h v~) / h until C = 0;  then J v+ = 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_USES_KKT | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS },
  .create = impulse_create,
  .restart = perp_stepper_restart,
  .step = perp_stepper_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = perp_stepper_destroy,
};
