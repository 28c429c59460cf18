/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocity level: time stepping with velocities and impulses.
 *
 * At a regular state the velocity at the end of the step follows from the impulse balance with
 * the forces of the beginning, and the constraints are imposed on that velocity (Vondrak 2005,
 * eq. 6.2 and section 6.3; STAR 2012, section 3.1.5; Cline 2002, section 2.7.3 without its
 * inequality rows):
 *
 *      M v+ = M v + h f + J'(q) lambda,      J(q) v+ + S lambda = k = feedback
 *
 * `symplectic-euler` moves the positions with v+, and `euler` with v; where it has a tolerance, the
 * driver of ODE methods chooses the steps, by the mean acceleration a = (v+ - v) / h.  k = 0 lets
 * positions drift by O(h^2) per step; Baumgarte's k = -alpha C brings C back, for alpha = 1/h
 * within the step (to first order).  A multiplier is an impulse, which is reported divided by h:
 * the force.
 *
 * Models with shapes: the same balance with contact impulses, as complementarity rows (Stewart and
 * Trinkle; Anitescu and Potra; STAR 2012, section 3.1.5; Cline 2002, section 2.7.3):
 *
 *      M v+ = M v + h f + J' lambda + J_c' lambda_c,   0 <= lambda_n  perp  n . J_c v+ + bias >= 0
 *
 * bias is  gap / h  for an open contact (gap = false: 0, and only closed contacts are seen), what
 * the stabilization asks of a penetrating one (Baumgarte: min(-alpha gap, push), others 0; those
 * that correct positions do so at the end of the step, contacts_post.h), and  e n . J_c v  for an
 * impact: Newton's law, in the step in which the gap closes; or Poisson's, a second problem in
 * which each impact gives back e times its impulse of compression.  Friction by the contact model,
 * with mu, or mu_dynamic where the contact has slid in the step before, by the rows and velocities
 * of that step (new contacts: faster than `slip`); what has slid and would slide back is stopped on
 * the way, with mu.  velocity_step.c is the procedure.  The fall of a body onto a surface ends in
 * the step that reaches it: impacts are late or early by up to h, an error of first order.  Energy
 * does not grow with e = 0; with e > 0 the rebound takes place before the surfaces meet, at a
 * height off by up to h |u|.  Newton's law makes energy where friction turns the sliding round in
 * the impact (scene rod-impact), and has no solution where bodies without room between walls
 * approach each other (scene jam with e > 0): such a step is unsolved, and its impulses may throw
 * bodies.  Poisson's makes no energy in either.  Contact points may be springs and dampers,
 * implicit in the step (contacts.h), and islands at rest may sleep (sleep.h).
 *
 * Models with drives (limits, motors): rows with bounds on the coordinates that the joints leave
 * free, see drives.h; in models with shapes they are further rows of the problems of the islands.
 * Joints with stiffness or damping: soft rows, see model.h.
 *
 * substeps = n makes a step of n parts h / n, each with the equations above from the state and the
 * impulses of the part before; contacts are found once and go with their bodies (contacts_carry.c).
 * With a few sweeps each of an iterative lcp that is Macklin's "small steps" (Macklin et al. 2019):
 * a problem of a shorter step is a better use of a sweep than another sweep, as what a sweep leaves
 * undone moves bodies by h^2 / n^2.  Forces that are reported are the means of the parts, joints,
 * drives and feedback are those of a step h / n, the stabilization corrects contacts at the end of
 * the step, and so does restitution.
 *
 * tolerance and halvings are Cline's loop (section 4.1 and Cline 2002, eq. 4.11).  Contacts keep
 * the separation `tolerance`: the gap is the separation less that, closed up to 0.  A step whose
 * end penetrates is made again with half its length, until it does not, before anything is
 * corrected; the next step ends on the grid again.  So the contact error, tolerance less
 * separation, is at most the tolerance, whatever the stabilization does.  He interpolates positions
 * of one solved step, whose velocities have the impulses of the whole; here a shorter step is
 * solved, and velocities are those of its length.  Where rotations carry touching bodies into each
 * other, O(h^2) in a step, without a correction of positions, halvings do not end: after so many in
 * a row the simulation does.
 *
 * frequency makes contacts soft, and relax takes out the velocity that they push with: see
 * contacts.h.
 *
 * The turn of a body from its gyroscopic torque is found first, by the implicit midpoint without
 * forces, and keeps its energy and |L| at any speed (models/multibody/gyro.c); gyro = explicit
 * takes the torque at the start of the step, gyro = none leaves it out (as some engines do, STAR
 * 2012, section 7.3): energy stays, angular momentum does not.
 *
 * Through events the order is 1: an impact is late or early by up to h, and so is the switch from
 * mu to mu_dynamic; what rolls or rocks has the directions and places of its contacts from the
 * start of the step, O(h) behind.  None of these has a floor.  The formulation velocity-midpoint
 * has order 2 through the same events. tol takes the choice of the step from the user: see
 * models/stepping/controlled.h.
 *
 * Cost per step: assembly, one factorization, one solve.  No allocation in the steady state.
 * Order 1. Fails as the KKT formulation does.  Only methods with one evaluation a step can
 * serve: the new velocity is no derivative that could be mixed.
 *
 * In numbers: velocities and impulses Vondrak 2005, eq. 4.3, 6.22-6.28 and 6.44; the step STAR
 * 2012, eq. 41, 43 and 44, Cline 2002, eq. 2.44, 2.45 and 4.16. */
#include "models/contact/step/stepping.h"
#include "models/contact/step/velocity_derivative.h"
#include "models/stepping/controlled.h"

#include <stdlib.h>

typedef struct opts {
  perp_contact_opts contact;
  double tol;
} opts;
static const perp_opt options[] = {
  PERP_CONTACT_OPTIONS,
  PERP_REAL(opts, tol, 0, 0, 0.1, 0, "",
            "Error tolerance of positions for adaptive steps. It is relative to the initial size "
            "of the model (1 m for a single body). h is the first step, slip is at most tol^2 m/s, "
            "and reuse is off. 0: fixed steps."),
  PERP_OPTIONS_END
};

typedef struct velocity {
  perp_stepping s;
  perp_controlled *control; /* NULL: fixed steps */
} velocity;

/* ---- steps by their accuracy (models/stepping/controlled.h) ---- */

static const double LONGEST = 1e6; /* s: the fixed step, which the control cuts */
/* Gaps up to this part of the largest body are closed: rounding. */
static const double CLOSED = 1e-14;

/* Options of contacts as the control of an accuracy > 0 needs them: how steps depend on their
 * length must be seen to rounding.  Up to `slip` contacts hold with their static friction: what
 * begins to slide reaches it after a time that goes with its root, so that no position is late by
 * more than the accuracy.  Not steps that cannot be made again (sleep, substeps), nor an ode with a
 * tolerance of its own. */
static perp_status velocity_control_options(perp_ctx *ctx, const perp_parts *parts, double accuracy,
                                            perp_contact_opts *contact)
{
  contact->slip = fmin(contact->slip, fmax(accuracy * accuracy, 1e-12));
  contact->closed = CLOSED;
  contact->reuse = false;
  if (contact->sleep)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "tol and sleep exclude each other: sleeping bodies are not moved with the "
                     "accuracy of tol; leave out one of them");
  if (contact->substeps > 1)
    return PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                     "tol and substeps = %d exclude each other: step control chooses the "
                     "sub-steps; leave out one of them",
                     contact->substeps);
  if (perp_ode_tol(&parts->ode) > 0)
    return PERP_FAIL(
        ctx, PERP_ERR_OPTION,
        "tol and the tolerance %g of the ODE method exclude each other: leave out one of them",
        perp_ode_tol(&parts->ode));
  return PERP_OK;
}

static perp_status velocity_control_start(perp_ctx *ctx, void *user, double t, const double *q,
                                          const double *v)
{
  return perp_stepping_at(ctx, user, t, q, v);
}

static void velocity_control_within(void *user, double time)
{
  perp_stepping *stepping = user;
  if (stepping->contacts != NULL) stepping->contacts->within = time;
  if (stepping->drives != NULL) perp_drives_within(stepping->drives, time);
}

static perp_status velocity_control_keep(perp_ctx *ctx, void *user, perp_step_end which)
{
  perp_stepping *stepping = user;
  if (stepping->drives != NULL) perp_drives_keep(stepping->drives, which);
  if (stepping->contacts != NULL) perp_contacts_keep(stepping->contacts, which);
  (void)ctx;
  return PERP_OK;
}

static void velocity_control_put_back(void *user, perp_step_end which)
{
  perp_stepping *stepping = user;
  if (stepping->drives != NULL) perp_drives_put_back(stepping->drives, which);
  if (stepping->contacts != NULL) perp_contacts_put_back(stepping->contacts, which);
}

/* What begins to slide in a part has its friction of sliding in the part after that. */
static int velocity_control_behind(const perp_model *model)
{
  int behind = 1;
  for (int shape = 0; shape < model->n_shapes; shape++)
    if (model->shape_def[shape].surface.mu_dynamic < model->shape_def[shape].surface.mu) behind = 2;
  for (int pair = 0; pair < model->surfaces.n_pairs; pair++)
    if (model->surfaces.pair[pair].surface.mu_dynamic < model->surfaces.pair[pair].surface.mu)
      behind = 2;
  return behind;
}

static perp_status velocity_control(perp_ctx *ctx, perp_stepping *stepping, double accuracy,
                                    double h, perp_controlled **out)
{
  const perp_model *model = stepping->k.model;
  double *reach = calloc((size_t)model->n_bodies + 1, sizeof *reach);
  if (reach == NULL) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "tol: no memory");
  perp_contacts_reach(model, reach);
  const perp_controlled_sys sys = { .model = model,
                                    .user = stepping,
                                    .reach = reach,
                                    .behind = velocity_control_behind(model),
                                    .start = velocity_control_start,
                                    .within = velocity_control_within,
                                    .step = perp_stepping_step,
                                    .state = perp_stepping_state,
                                    .keep = velocity_control_keep,
                                    .put_back = velocity_control_put_back };
  const perp_status status = perp_controlled_create(ctx, &sys, accuracy, h, out);
  free(reach);
  return status;
}

/* ---- the formulation ---- */

static void velocity_destroy(void *ws)
{
  if (ws != NULL) perp_controlled_destroy(((velocity *)ws)->control);
  perp_stepping_destroy(ws);
}

/* Feedback, and what leaves penetration alone up to a tolerance, make steps that no power of h
 * describes. */
static const char *velocity_stab(const void *options_of)
{
  return ((const opts *)options_of)->tol > 0 ? "post:velocity=true" : NULL;
}

static perp_status velocity_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                   double h, void **ws)
{
  const opts *chosen = parts->formulation.opts;
  velocity like = { 0 };
  perp_contact_opts contact = chosen->contact;
  if (chosen->tol > 0) PERP_TRY(velocity_control_options(ctx, parts, chosen->tol, &contact));
  PERP_TRY(perp_stepping_create(ctx, model, parts, &contact, chosen->tol > 0 ? LONGEST : h, &like.s,
                                sizeof like, perp_stepping_layout, ws));
  if (chosen->tol == 0) return PERP_OK;
  velocity *w = *ws;
  const perp_status status = velocity_control(ctx, &w->s, chosen->tol, h, &w->control);
  if (status == PERP_OK) return PERP_OK;
  velocity_destroy(w);
  *ws = NULL;
  return status;
}

static perp_status velocity_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                    const double *v)
{
  velocity *w = ws;
  PERP_TRY(perp_stepping_restart(ctx, ws, t, q, v));
  if (w->control != NULL) perp_controlled_restart(w->control);
  return PERP_OK;
}

static perp_status velocity_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info)
{
  velocity *w = ws;
  return w->control != NULL ? perp_controlled_step(ctx, w->control, t_max, info)
                            : perp_stepping_step(ctx, ws, t_max, info);
}

static void velocity_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt)
{
  const velocity *w = ws;
  perp_stepping_counters(ws, ode, kkt);
  if (ode != NULL && w->control != NULL) perp_controlled_counters(w->control, ode);
}

/* ---- derivatives ---- */

static perp_status velocity_derivative_create(perp_ctx *ctx, void *ws, perp_derivative *derivative)
{
  if (((velocity *)ws)->control != NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_UNSUPPORTED,
        "derivatives of steps need fixed steps: leave out tol of formulation velocity");
  return perp_velocity_derivative_create(ctx, ws, derivative);
}

static const struct perp_derivative_calls velocity_derivative = {
  .create = velocity_derivative_create,
  .before = perp_velocity_derivative_before,
  .step = perp_velocity_derivative_step,
};

const perp_formulation_desc perp_formulation_velocity = {
  .d = { .name = "velocity",
         .summary = "Time stepping: constraints on the velocity at the end of the step, impulses",
         .reference = "Vondrak 2005, sections 6.3 and 6.4.2; STAR 2012, section 3.1.5; substeps: "
                      "Macklin et al. 2019",
         .equation = "M v+ = M v + h f + J' lambda,  J v+ + S lambda = feedback",
         PERP_OPTIONS(options, opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB |
                 PERP_FORM_USES_LCP | PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SPRINGS |
                 PERP_FORM_FEEDBACK | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_DISABLED |
                 PERP_FORM_NONHOLONOMIC | PERP_FORM_ARMATURES | PERP_FORM_COUPLES |
                 PERP_FORM_ANISOTROPIC },
  .create = velocity_create,
  .restart = velocity_restart,
  .step = velocity_step,
  .state = perp_stepping_state,
  .counters = velocity_counters,
  .timing = perp_stepping_timing,
  .destroy = velocity_destroy,
  .contacts = perp_stepping_contacts,
  .observe = perp_stepping_observe,
  .stab = velocity_stab,
  .derivative = &velocity_derivative,
};
