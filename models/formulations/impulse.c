/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impulses from a preview of the joints (Bender; STAR 2012, section 3.2.1, figure 9).
 *
 * The bodies fly on as if there were no joints,
 *
 *      v~ = v + h/2 M^-1 f(q, v),   q~ = q [+] h v~,
 *
 * and d = C(q~) is what would be violated at the end of the step.  Impulses p at its *start*, along M^-1 J'(q),
 * prevent that: the velocity must change by -d / h to first order, and
 *
 *      J M^-1 J' p = -d / h,   v~ <- v~ + M^-1 J' p
 *
 * is repeated with the factor of the start until the preview holds to the tolerance.  Then forces act for the
 * second half of the step, and impulses at the end restore J v+ = 0 (velocity = true).
 *
 * Positions are exact to the tolerance, with no parameter to tune.  With velocity = true this is RATTLE:
 * order 2, symmetric, no drift of energy for forces of position.  Without, positions are the same, and v is off
 * the constraints by O(h).  Each iteration gains a factor of about |v| h / size.  The linear systems are those of the KKT solver, in linear time for trees.
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
            "largest |C| of the preview, relative to the size of the model"),
  PERP_INT(struct opts, iterations, 50, 1, 1000, "of the impulses, at most"),
  PERP_BOOL(struct opts, velocity, true, "impulses at the end of the step restore J v = 0"),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  double *dv, *dq, *pull; /* [nv] */
  double *p, *dp;         /* [m] */
} workspace;

/* v_out = v + h M^-1 f(q, v_force), k at q; v_out may be v_force */
static void impulse_kick(workspace *w, double t, double h, const double *v_force, const double *v,
                         double *v_out)
{
  perp_constrained *k = &w->s.k;
  perp_eval_forces(k->e, k->model, t, v_force, true, k->f);
  perp_blocks_Minv(&k->e->blocks, k->f, w->pull);
  for (int i = 0; i < k->model->nv; i++) v_out[i] = v[i] + h * w->pull[i];
  w->s.grid.count.rhs++;
}

/* v1 += M^-1 J' p with J v1 = c afterwards, by a new factor at the state of k */
static bool first_impulse(workspace *w, double h)
{
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  perp_blocks_M(&k->e->blocks, w->s.v1, k->f);
  memset(k->lambda, 0, (size_t)model->m * sizeof *k->lambda);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, w->s.v1)) return false;
  memcpy(w->s.v1, k->a, (size_t)model->nv * sizeof *w->s.v1);
  memcpy(w->p, k->lambda, (size_t)model->m * sizeof *w->p);
  return true;
}

/* preview from w->s.v1; w->s.q1 is where it leads, its violation in k->e->C */
static double impulse_preview(workspace *w, double h)
{
  const perp_model *model = w->s.k.model;
  for (int i = 0; i < model->nv; i++) w->dq[i] = h * w->s.v1[i];
  perp_model_retract(model, w->s.q, w->dq, w->s.q1);
  perp_constrained_at(&w->s.k, w->s.q1);
  return perp_worst(model->m, w->s.k.e->C);
}

static perp_reason impulse_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m, nv = model->nv;
  const double tol = w->o.tol * model->size;
  perp_constrained_at(k, w->s.q);
  impulse_kick(w, t, h / 2, w->s.v, w->s.v, w->s.v1);
  if (m > 0) {
    impulse_preview(w, h);
    memset(k->c, 0, (size_t)m * sizeof *k->c);
    for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
    perp_constrained_at(k, w->s.q);
    perp_blocks_J(&k->e->blocks, 1, w->s.v1, k->c);
    if (!first_impulse(w, h)) return k->reason;
    double d, last = HUGE_VAL;
    for (int pass = 1;; pass++) {
      d = impulse_preview(w, h);
      if (isnan(d)) return PERP_NOT_FINITE;
      /* round-off of positions that are large beside the tolerance: as good as it gets */
      if (d <= tol || (d < 1e-9 * model->size && d > last / 2)) break;
      if (pass >= w->o.iterations) return PERP_MAX_ITER;
      last = d;
      for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
      if (!perp_constrained_response(k, k->zeros, k->c, w->dv, w->dp)) return k->reason;
      for (int i = 0; i < nv; i++) w->s.v1[i] += w->dv[i];
      for (int i = 0; i < m; i++) w->p[i] += w->dp[i];
      w->s.grid.count.iterations++;
    }
    k->drift = d;
    for (int i = 0; i < m; i++) w->s.lambda[i] = (w->o.velocity ? 2 : 1) * w->p[i] / h;
  } else {
    impulse_preview(w, h);
  }
  perp_model_project(model, w->s.q1);
  perp_constrained_at(k, w->s.q1);
  /* forces that depend on v take that of the end, which two passes know to O(h^2) and O(h^3) */
  memcpy(w->dv, w->s.v1, (size_t)nv * sizeof *w->dv);
  for (int i = 0; i < nv; i++) w->s.v1[i] += h / 2 * w->pull[i];
  for (int pass = model->velocity_forces ? 3 : 1; pass > 0; pass--) {
    impulse_kick(w, t + h, h / 2, w->s.v1, w->dv, w->s.v1);
    if (m == 0 || !w->o.velocity) continue;
    memset(k->c, 0, (size_t)m * sizeof *k->c);
    if (!first_impulse(w, h)) return k->reason;
  }
  if (!perp_all_finite(model->nq, w->s.q1) || !perp_all_finite(nv, w->s.v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

static void impulse_layout(void *ws, perp_arena *a)
{
  workspace *w = ws;
  const perp_model *model = w->s.k.model;
  perp_stepper_layout(&w->s, a);
  PERP_DOUBLES(a, model->nv, &w->dv, &w->dq, &w->pull);
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
         .summary = "impulses from a preview of the joints, iterated to a tolerance; order 2",
         .reference = "STAR 2012, section 3.2.1 (Bender), figure 9",
         .equation = "J M^-1 J' p = -C(q [+] h v~) / h until C = 0;  then J v+ = 0",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_FORM_USES_KKT },
  .create = impulse_create,
  .restart = perp_stepper_restart,
  .step = perp_stepper_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = perp_stepper_timing,
  .destroy = perp_stepper_destroy,
};
