/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Impulses from a preview of the joints (Bender; STAR 2012, section 3.2.1, figure 9).
 *
 * The bodies fly on as if there were no joints,
 *
 *      A0(h v~) M v~ = M v + h/2 f(q, v),   q~ = q [+] h v~,
 *
 * and d = C(q~) is what would be violated at the end of the step.  Impulses p at its *start*, along
 * J'(q), prevent that: the velocity must change by -d / h to first order, and
 *
 *      J M^-1 J' p = -d / h,   v~ <- v~ + M^-1 J' p
 *
 * is repeated with the factor of the start until the preview holds to the tolerance.  Then forces
 * act for the second half of the step, and impulses at the end restore J v+ = 0 (velocity = true),
 *
 *      M v+ = A1(h v~) M v~ + h/2 f(q+, v+) + J'(q+) p+.
 *
 * A0 and A1 carry the angular momentum of a body that turns by h v~ to the frames of the start and
 * the end (perp_quat_transport; 1 in the plane); f has no gyroscopic torque.
 *
 * Positions are exact to the tolerance, with no parameter to tune.  With velocity = true this is
 * RATTLE, on rotations as a variational integrator (Bou-Rabee and Marsden 2009; Hante and Arnold
 * 2021): order 2, symmetric and, for forces of position, symplectic: no drift of energy, momenta to
 * the tolerance.  Without, positions are the same, and v is off the constraints by O(h).  Each
 * iteration gains a factor of about |v| h / size.  The linear systems are those of the KKT solver,
 * in linear time for trees.
 *
 * Contacts, limits and motors have impulses with bounds, which each pass solves for together with
 * those of the joints, at the start and at the end of the step: impulse_contacts.c.  Sliding and
 * rest keep order 2 where nothing turns on; impacts are late by up to h, so that motions through
 * them are of order 1.
 *
 * Cost per step: 1 + iterations evaluations, one factorization (that of the end is the one of the
 * next start), one solve per iteration.  No allocation.  Fails with PERP_MAX_ITER when the preview
 * does not converge. */
#include "models/contact/step/contacts.h"
#include "models/formulations/impulse/impulse_contacts.h"
#include "models/stepping/stepper.h"

#include <string.h>

enum { CONTACT_PASSES = 5 };
/* of the size of the model: |C| and the last change of the predicted positions */
static const double TOL = 1e-12;

struct opts {
  int iterations;
  bool velocity;
  perp_impulse_contact_opts contact;
};
static const perp_opt options[] = {
  PERP_INT(struct opts, iterations, 50, 1, 1000,
           "Largest number of iterations for the joint impulses."),
  PERP_BOOL(struct opts, velocity, true,
            "Apply impulses at the end of the step that restore J v = 0."),
  PERP_REAL(struct opts, contact.threshold, 0.01, 0, HUGE_VAL, 0, "m/s",
            "Approach speed above which restitution is applied."),
  PERP_REAL(struct opts, contact.budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),
  PERP_CHOICE_OPTION(struct opts, contact.choice),
  PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepper s;
  struct opts o;
  double *dv, *dq, *moved, *start, *end; /* [nv] */
  double *momentum;                      /* [nv] M v, and what has acted in the step so far */
  double *p, *dp;                        /* [m] */
  perp_impulse_contacts *contacts;       /* NULL: neither shapes nor drives, and then no arrays: */
  double *kicked, *defect; /* [nv] momentum after the forces; what passes have left of it */
  double *target;          /* [m] J v~ */
} workspace;

/* k->f = momentum + h f(q, v), k at q */
static void impulse_kick(workspace *w, double t, double h, const double *v, const double *momentum)
{
  perp_constrained *k = &w->s.k;
  perp_eval_forces(k->e, k->model, t, v, false, k->f);
  for (int i = 0; i < k->model->nv; i++) k->f[i] = momentum[i] + h * k->f[i];
  w->s.grid.count.rhs++;
}

/* v1 and p are those of k */
static void impulse_take(workspace *work)
{
  const perp_constrained *k = &work->s.k;
  memcpy(work->s.v1, k->a, (size_t)k->model->nv * sizeof *work->s.v1);
  memcpy(work->p, k->lambda, (size_t)k->model->m * sizeof *work->p);
}

/* M v1 = k->f + J' p, J v1 = k->c, with the factor at the state of k */
static bool first_impulse(workspace *work, double h)
{
  perp_constrained *k = &work->s.k;
  const perp_model *model = k->model;
  memset(k->lambda, 0, (size_t)model->m * sizeof *k->lambda);
  if (!perp_constrained_solve(k, PERP_LEVEL_VELOCITY, h, work->s.v)) return false;
  impulse_take(work);
  return true;
}

/* Preview from w->s.v1; w->s.q1 is where it leads, its violation in k->e->C.  k->f: what
 * w->momentum has more than A0 M v1, whose velocity over a step is part of the violation that is
 * returned. */
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

/* Is the preview good enough?  Round-off of positions that are large beside the tolerance is as
 * good as it gets. */
static bool impulse_holds(const workspace *work, double d, double last)
{
  const double size = work->s.k.model->size;
  return d <= TOL * size || (d < 1e-9 * size && d > last / 2);
}

/* The passes: v1, p, and the momentum at the end of the preview in w->end.  k: at the start, k->f
 * and k->c the right-hand side. */
static perp_reason impulse_pass_joints(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const int m = k->model->m, nv = k->model->nv;
  if (!first_impulse(w, h)) return k->reason;
  perp_blocks_M(&k->e->blocks, w->s.v1, w->momentum);
  double last = HUGE_VAL;
  for (int pass = 1;; pass++) {
    const double d = impulse_preview(w, t, h);
    k->drift = d;
    if (isnan(d)) return PERP_NOT_FINITE;
    if (impulse_holds(w, d, last)) return PERP_CONVERGED;
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
}

/* The same with bounds: what is linear in the passes is summed up, and solved for as a whole.
 * Contacts that begin and end, or slide now this way and now that, from pass to pass need not
 * converge: after some passes their impulses are held as they are, with gaps as good as the last
 * one has made them, and those of the joints go on. */
static perp_reason impulse_pass_contacts(workspace *w, double t, double h)
{
  perp_constrained *k = &w->s.k;
  const int m = k->model->m, nv = k->model->nv;
  const size_t size = (size_t)nv * sizeof *w->kicked;
  memcpy(w->kicked, k->f, size);
  memset(w->defect, 0, size);
  memcpy(w->target, k->c, (size_t)m * sizeof *k->c);
  double last = HUGE_VAL;
  for (int pass = 1;; pass++) {
    perp_constrained_at(k, t, w->s.q);
    for (int i = 0; i < nv; i++) k->f[i] = w->kicked[i] + w->defect[i];
    memcpy(k->c, w->target, (size_t)m * sizeof *k->c);
    if (!first_impulse(w, h)) return k->reason;
    if (pass == 1 && !perp_impulse_contacts_find(w->contacts, k, h, w->s.v)) return k->reason;
    if (pass <= CONTACT_PASSES) {
      if (!perp_impulse_contacts_preview(w->contacts, k, h, w->s.v)) return k->reason;
      impulse_take(w);
    }
    if (pass == CONTACT_PASSES)
      for (int i = 0; i < nv; i++) w->kicked[i] = k->f[i] - w->defect[i];
    perp_blocks_M(&k->e->blocks, w->s.v1, w->momentum);
    for (int i = 0; i < nv; i++) w->momentum[i] -= w->defect[i];
    const double d = impulse_preview(w, t, h);
    k->drift = d;
    if (isnan(d)) return PERP_NOT_FINITE;
    if (impulse_holds(w, d, last)) return PERP_CONVERGED;
    if (pass >= w->o.iterations) return PERP_MAX_ITER;
    last = d;
    for (int i = 0; i < nv; i++) w->defect[i] += k->f[i];
    for (int i = 0; i < m; i++) w->target[i] -= k->e->C[i] / h;
    w->s.grid.count.iterations++;
  }
}

/* Velocities at the end: of joints, and of contacts, limits and motors.  k: there, k->f the
 * momentum. */
static bool impulse_end(workspace *work, double t, double h)
{
  perp_constrained *k = &work->s.k;
  memset(k->c, 0, (size_t)k->model->m * sizeof *k->c);
  perp_constrained_driven(k, t + h, 1, k->c);
  if (!work->o.velocity) {
    perp_blocks_Minv(&k->e->blocks, k->f, work->s.v1);
    return true;
  }
  if (!first_impulse(work, h)) return false;
  if (work->contacts == NULL) return true;
  if (!perp_impulse_contacts_finish(work->contacts, k, h)) return false;
  impulse_take(work);
  return true;
}

static perp_reason impulse_make_step(perp_stepper *s, double t, double h)
{
  workspace *w = (workspace *)s;
  perp_constrained *k = &w->s.k;
  const perp_model *model = k->model;
  const int m = model->m, nv = model->nv;
  perp_constrained_at(k, t, w->s.q);
  perp_blocks_M(&k->e->blocks, w->s.v, w->momentum);
  impulse_kick(w, t, h / 2, w->s.v, w->momentum);
  for (int i = 0; i < m; i++) k->c[i] = -k->e->C[i] / h;
  perp_constrained_driven(k, t + h, 1, k->c);
  const perp_reason reason = w->contacts != NULL ? impulse_pass_contacts(w, t, h)
                                                 : impulse_pass_joints(w, t, h);
  if (reason < 0) return reason;
  /* what the passes have left is not lost to the momentum */
  for (int i = 0; i < nv; i++) w->end[i] += k->f[i];
  const bool twice = w->o.velocity && w->contacts == NULL;
  for (int i = 0; i < m; i++) w->s.lambda[i] = (twice ? 2 : 1) * w->p[i] / h;
  perp_model_project(model, w->s.q1);
  if (w->contacts != NULL && !perp_impulse_contacts_correct(w->contacts, k, t + h, w->s.q1))
    return k->reason;
  perp_constrained_at(k, t + h, w->s.q1);
  /* forces that depend on v take that of the end, which passes know to O(h), O(h^2) and O(h^3) */
  for (int pass = model->velocity_forces ? 3 : 1; pass > 0; pass--) {
    impulse_kick(w, t + h, h / 2, w->s.v1, w->end);
    if (!impulse_end(w, t, h)) return k->reason;
  }
  if (w->contacts != NULL) {
    /* with bounds the two impulses are no halves of one */
    for (int i = 0; i < m; i++) w->s.lambda[i] += w->p[i] / h;
    if (!perp_impulse_contacts_accept(w->contacts, k, h)) return k->reason;
  }
  if (!perp_all_finite(model->nq, w->s.q1) || !perp_all_finite(nv, w->s.v1)) return PERP_NOT_FINITE;
  return PERP_EXACT;
}

static void impulse_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  const perp_model *model = work->s.k.model;
  perp_stepper_layout(&work->s, arena);
  PERP_DOUBLES(arena, model->nv, &work->dv, &work->dq, &work->moved, &work->start, &work->end,
               &work->momentum);
  PERP_DOUBLES(arena, model->m, &work->p, &work->dp);
  const bool bounds = model->n_shapes > 0 || model->n_drives > 0;
  PERP_DOUBLES(arena, bounds ? model->nv : 0, &work->kicked, &work->defect);
  PERP_DOUBLES(arena, bounds ? model->m : 0, &work->target);
}

static void impulse_destroy(void *ws)
{
  if (ws == NULL) return;
  perp_impulse_contacts_destroy(((workspace *)ws)->contacts);
  perp_stepper_destroy(ws);
}

static perp_status impulse_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, void **ws)
{
  workspace like = { .s.make_step = impulse_make_step,
                     .o = *(const struct opts *)parts->formulation.opts };
  *ws = NULL;
  if (!like.o.velocity && (model->n_shapes > 0 || model->n_drives > 0))
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "impulse:velocity=false has no impulses at the end of a step, which contacts, "
                     "limits and motors need: leave velocity=false out");
  PERP_TRY(perp_stepper_create(ctx, model, parts, h, &like.s, sizeof like, impulse_layout, ws));
  workspace *work = *ws;
  const perp_status status = perp_impulse_contacts_create(ctx, model, parts, &work->o.contact,
                                                          &work->contacts);
  if (status == PERP_OK) return PERP_OK;
  impulse_destroy(work);
  *ws = NULL;
  return status;
}

static perp_status impulse_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v)
{
  perp_impulse_contacts_restart(((workspace *)ws)->contacts);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status impulse_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  const workspace *work = ws;
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  if (work->contacts != NULL) perp_impulse_contacts_info(work->contacts, info);
  return PERP_OK;
}

static void impulse_timing(void *ws, bool on, perp_times *times)
{
  const workspace *work = ws;
  perp_stepper_timing(ws, on, times);
  if (work->contacts != NULL && times != NULL) perp_impulse_contacts_times(work->contacts, times);
}

static const perp_contact_count *impulse_contacts(const void *ws)
{
  const workspace *work = ws;
  return work->contacts != NULL ? perp_impulse_contacts_count(work->contacts) : NULL;
}

static void impulse_observe(void *ws, perp_contact_observer *observer, void *user)
{
  const workspace *work = ws;
  if (work->contacts != NULL) perp_impulse_contacts_observe(work->contacts, observer, user);
}

const perp_formulation_desc perp_formulation_impulse = {
  .d = { .name = "impulse",
         .summary = "RATTLE: joint impulses iterated until predicted positions satisfy the joints; "
                    "order 2, symplectic",
         .reference =
             "STAR 2012, section 3.2.1 (Bender), figure 9; contacts: Bender and Schmitt 2006",
         .equation = "J M^-1 J' p = -C(q [+] h v~) / h until C = 0;  then J v+ = 0; contacts: "
                     "n . u~ + gap / h >= 0, then n . u+ + e n . u >= 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_FORCES_AT_START | PERP_FORM_FORCES_MIDDLE | PERP_FORM_BREAKS |
                 PERP_FORM_USES_KKT | PERP_FORM_USES_STAB | PERP_FORM_USES_LCP |
                 PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_EXACT_JOINTS |
                 PERP_FORM_FEEDBACK | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED },
  .create = impulse_create,
  .restart = impulse_restart,
  .step = impulse_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = impulse_timing,
  .destroy = impulse_destroy,
  .contacts = impulse_contacts,
  .observe = impulse_observe,
};
