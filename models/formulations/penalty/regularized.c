/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regularized constraints (Servin 2011, time integration of constrained multibodies): a joint gives
 * way,
 *
 *      -compliance lambda = C + relaxation Cdot,
 *
 * a spring of stiffness k = 1 / compliance and a damper d = relaxation / compliance, but taken at
 * the *end* of the step, C+ = C + h J v+.  With impulses p = h lambda this is the system of the
 * velocity level with
 *
 *      M v+ = M v + h f + J' p,   J v+ + S p = -alpha C,
 *      S = compliance / (h (h + relaxation)) = 1 / (h (h k + d)),
 *      alpha = 1 / (h + relaxation)          = k / (h k + d):
 *
 * the exact correspondence of spring and damper to softness and feedback, for any h.  (Servin's
 * epsilon / h is S for multipliers lambda and relaxation 0.)  Stable for every h and compliance; A
 * + S is regular whatever the joints, redundant ones share the load.  As compliance goes to 0,
 * velocity level with alpha = 1 / (h + relaxation).  A joint is off by compliance lambda; order 1
 * in h.
 *
 * Contacts, limits and locked drives are the same rows with a sign (Lacoursiere 2007): with the
 * depth C = gap <= 0 of a contact, or what is left to a limit,
 *
 *      0 <= p  perp  J v+ + S p + alpha C >= 0,      gap > 0:  gap / h in place of alpha C,
 *
 * solved by the lcp, whose matrix has S on its diagonal: it is regular, and forces that statics
 * leaves open are those of equal springs.  At rest a contact is off by compliance times its force,
 * m g compliance / n on n points.  Restitution is Newton's, of a rigid row, in the step that
 * reaches the surface: a spring at the end of the step loses what its relaxation and h / compliance
 * say.  Friction rows are rigid in velocities: bounds |p_t| <= mu p, no creep.  Motors and servos
 * of drives are as on the velocity level (drives.h): velocities or springs with bounds.
 *
 * The softness of a joint of the model is added to S.  Cost per step: assembly, one factorization,
 * one solve; with contacts or drives that of the velocity level.  Positions move by
 * symplectic-euler. */
#include "models/contact/step/stepping.h"

extern const perp_stab_desc perp_stab_none;

struct opts {
  perp_contact_opts contact; /* first */
  double compliance, relaxation;
};
static const perp_opt options[] = {
  PERP_REAL(struct opts, compliance, 1e-8, 0, HUGE_VAL, PERP_OPEN_MAX, "",
            "Compliance (1 / stiffness) of each row, in m/N or rad/(N m)."),
  PERP_REAL(struct opts, relaxation, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "s",
            "Relaxation time of each row: damping divided by stiffness."),
  PERP_CONTACT_OPTIONS_PROBLEM, PERP_CONTACT_OPTIONS_SOLVE, PERP_OPTIONS_END
};

typedef struct workspace {
  perp_stepping s; /* first */
  struct opts o;
  double *S; /* [m] */
} workspace;

static void regularized_prepare(perp_stepping *stepping, double h, const double *v)
{
  workspace *work = (workspace *)stepping;
  const perp_model *model = stepping->k.model;
  const double alpha = perp_compliance_alpha(&work->o.contact.compliance, h),
               soft = perp_compliance_softness(&work->o.contact.compliance, h);
  (void)v;
  for (int i = 0; i < model->m; i++) {
    stepping->k.c[i] = -alpha * stepping->k.e->C[i];
    work->S[i] = soft + model->soft.softness[i];
  }
  stepping->k.factored = NULL; /* S depends on h */
}

static void regularized_layout(void *ws, perp_arena *arena)
{
  workspace *work = ws;
  perp_stepping_layout(ws, arena);
  work->S = PERP_CARVE(arena, double, work->s.k.model->m);
}

static perp_status regularized_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                      double h, void **ws)
{
  perp_parts with = *parts;
  with.stab = (perp_spec){ &perp_stab_none.d, NULL };
  workspace like = { .s.prepare = regularized_prepare,
                     .o = *(const struct opts *)parts->formulation.opts };
  struct opts *o = &like.o;
  o->contact.compliance = (perp_compliance){ true, o->compliance, o->relaxation };
  o->contact.substeps = 1;
  o->contact.relax = PERP_RELAX_NO;
  PERP_TRY(perp_stepping_create(ctx, model, &with, &o->contact, h, &like.s, sizeof like,
                                regularized_layout, ws));
  workspace *w = *ws;
  for (int i = 0; i < 2; i++) w->s.k.eval[i].blocks.s = w->S;
  return PERP_OK;
}

const perp_formulation_desc perp_formulation_regularized = {
  .d = { .name = "regularized",
         .summary = "Compliant constraints at the end of the step: implicit springs and dampers",
         .reference =
             "Servin 2011, time integration of constrained multibodies; Lacoursiere 2007, "
             "Ghosts and machines: contacts and friction as regularized complementarity rows",
         .equation = "M v+ = M v + h f + J' p,  J v+ + compliance p / (h (h + relaxation)) = "
                     "-C / (h + relaxation); contacts: 0 <= p  perp  the same row >= 0",
         PERP_OPTIONS(options, struct opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_LCP |
                 PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS |
                 PERP_FORM_COMPLIANT },
  .create = regularized_create,
  .restart = perp_stepping_restart,
  .step = perp_stepping_step,
  .state = perp_stepping_state,
  .counters = perp_stepping_counters,
  .timing = perp_stepping_timing,
  .destroy = perp_stepping_destroy,
  .contacts = perp_stepping_contacts,
  .observe = perp_stepping_observe,
};
