/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Velocity level in the middle of the step: time stepping of second order between events, which it
 * finds.
 *
 * The velocity at the end of a step follows from the impulse balance with forces, directions of
 * impulses and mass in the middle, and satisfies constraints and contacts at the end; the position
 * moves with the mean velocity:
 *
 *      M v+ = M v + h f(t + h/2, q_m, v_m) + J(q_m)' lambda + J_c(q_m)' lambda_c,   q+ = q [+] h (v
 * + v+) / 2 J(q_m) v+ + h/2 (Jdot v)_m = feedback 0 <= lambda_n  perp  n . J_c(q_m) v+ + (n .
 * J_c(q*) - n . J_c(q_m)) v* + g_m / h >= 0,   friction likewise
 *
 * with the middle q_m = q [+] h (3 v + v*) / 8, v_m = (v + v*) / 2 and the end q* = q [+] h (v +
 * v*) / 2 of a prediction v*, which is a step of the formulation velocity.  What v* says of the end
 * is curvature: where a body that rolls will touch, and how its normal turns.  The matrix of the
 * problem stays J_c M^-1 J_c'.  This is a half-explicit step (Schindler and Acary 2014) with the
 * rows of Moreau's midpoint rule (Moreau 1988), which alone, J(q_m) v+ = 0, is of first order where
 * rows turn.  Between events: order 2 of q and v.
 *
 * Events end a part of the step (event-capturing schemes of higher order: Acary 2012):
 *
 *      a gap closes     faster than `threshold`: the part ends where it is zero, and an impact
 * follows, M v+ = M v + J' lambda + J_c' lambda_c,  0 <= lambda_n  perp  n . J_c v+ + e n . J_c v
 * >= 0 a contact slides that has stuck, where mu_dynamic < mu: the part ends where the force that
 * holds it is mu lambda_n, from the forces in the middle of this part and the one before
 *
 * so that both have errors of h^2.  A contact that opens, slides to a stop or closes below the
 * threshold needs no end: forces are continuous there, or velocities are, and a step that has such
 * an event is wrong by h^2 in itself.  A contact that slid and would slide back sticks on the way,
 * as far as mu allows.  What falls with less than the threshold stops without restitution.  A step
 * has up to `parts` parts; the rest of one with more events (a pile that falls, a ball that comes
 * to rest) is a step of the formulation velocity, of first order.  So is a part whose v+ is off v*
 * by more than a quarter of what changes: a velocity that jumps without an impact (scene painleve).
 * A pair that begins to turn on the spot is noticed a step late.
 *
 * Depths go back in a step, at most with `push`; the feedback of joints is that of a whole step,
 * not of its part.  What is deep on two sides and cannot part makes a problem without a solution,
 * which counts as unsolved (scene crush), and so does Newton's law among bodies without room (scene
 * jam with e > 0; Poisson's is at hand in velocity and acceleration).
 *
 * Cost: two problems and two detections a step, about four times as much for each event in it.  No
 * allocation but for more contacts than ever.  Fails as velocity does.  Joints with stiffness,
 * drives and blades are refused. */
#include "models/formulations/velocity/midpoint.h"

#include "models/contact/step/contacts.h"

#include <stdlib.h>
#include <string.h>

static const perp_opt options[] = {
  PERP_REAL(perp_midpoint_opts, threshold, 0.01, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",
            "Approach speed above which a closing contact is an impact."),
  PERP_REAL(perp_midpoint_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",
            "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use it if "
            "they slid in the previous step."),
  PERP_REAL(
      perp_midpoint_opts, push, 0.1, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",
      "Maximum separation speed of deep contacts, due to the correction of their penetration."),
  PERP_REAL(perp_midpoint_opts, residual, 1e-8, 0, 1, PERP_OPEN_MIN, "",
            "Largest scaled residual of an accepted solution."),
  PERP_REAL(perp_midpoint_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),
  PERP_INT(perp_midpoint_opts, parts, 8, 1, 1000,
           "Largest number of sub-steps in a step; events end sub-steps. The last one has order 1 "
           "when all are used."),
  PERP_CHOICE_OPTION(perp_midpoint_opts, choice),
  PERP_OPTIONS_END
};

static void velocity_midpoint_layout(void *ws, perp_arena *a)
{
  perp_midpoint *s = ws;
  const perp_model *model = s->step.k.model;
  perp_stepper_layout(&s->step, a);
  s->middle = PERP_CARVE(a, double, model->nq);
  PERP_DOUBLES(a, model->nv, &s->mean, &s->predicted, &s->move, &s->f);
  s->gamma = PERP_CARVE(a, double, model->m);
  PERP_DOUBLES(a, 6 * (size_t)model->n_bodies, &s->before, &s->free);
  s->reach = PERP_CARVE(a, double, model->n_bodies);
  s->pose = PERP_CARVE(a, perp_pose, (size_t)model->n_bodies + 1);
}

static void velocity_midpoint_destroy(void *ws)
{
  perp_midpoint *s = ws;
  if (s == NULL) return;
  perp_collision_destroy(s->at_start);
  perp_collision_destroy(s->at_middle);
  perp_islands_destroy(s->islands);
  perp_arena_free(&s->grown);
  free(s->said);
  free(s->said_impulse);
  perp_stepper_destroy(s);
}

static perp_status velocity_midpoint_open(perp_ctx *ctx, perp_midpoint *s, const perp_parts *parts)
{
  const perp_model *model = s->step.k.model;
  PERP_TRY(perp_constrained_create(ctx, &s->step.k, model, parts, true));
  if (model->n_shapes == 0) return PERP_OK;
  const perp_contact_setup setup = { .tol = s->o.residual,
                                     .tol_data = PERP_CONTACT_TOL_DATA,
                                     .budget = s->o.budget,
                                     .choice = s->o.choice };
  perp_contacts_reach(model, s->reach);
  for (int b = 0; b < model->n_bodies; b++) s->slop = fmax(s->slop, s->o.residual * s->reach[b]);
  PERP_TRY(perp_collision_create(ctx, model, 0, &s->at_start));
  PERP_TRY(perp_collision_create(ctx, model, 0, &s->at_middle));
  return perp_contacts_islands(ctx, model, parts, &setup, 1, false, &s->islands);
}

/* All parts of a step. */
static perp_reason velocity_midpoint_make(perp_stepper *step, double t, double h)
{
  perp_midpoint *s = (perp_midpoint *)step;
  perp_constrained *k = &step->k;
  s->n_said = 0;
  memset(step->lambda, 0, (size_t)k->model->m * sizeof *step->lambda);
  bool made = perp_constrained_signals(k, t) && perp_constrained_signals(k, s->end);
  for (int part = 1; made && s->end - t > 1e-10 * step->grid.h; part++) {
    double length = s->end - t;
    made = perp_midpoint_part(s, t, &length, part >= s->o.parts);
    t += length;
  }
  for (int i = 0; i < k->model->m; i++) step->lambda[i] /= h;
  memcpy(step->q1, step->q, (size_t)k->model->nq * sizeof *step->q);
  memcpy(step->v1, step->v, (size_t)k->model->nv * sizeof *step->v);
  return made || k->reason < 0 ? k->reason : PERP_INVALID_STATE;
}

static perp_status velocity_midpoint_create(perp_ctx *ctx, perp_model *model,
                                            const perp_parts *parts, double h, void **ws)
{
  perp_midpoint like = { .step.k.model = model,
                         .step.grid.h = h,
                         .step.make_step = velocity_midpoint_make,
                         .o = *(const perp_midpoint_opts *)parts->formulation.opts };
  PERP_TRY(perp_workspace_create(ctx, "velocity-midpoint", &like, sizeof like,
                                 velocity_midpoint_layout, ws));
  const perp_status status = velocity_midpoint_open(ctx, *ws, parts);
  if (status == PERP_OK) return PERP_OK;
  velocity_midpoint_destroy(*ws);
  *ws = NULL;
  return status;
}

static perp_status velocity_midpoint_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                             const double *v)
{
  perp_midpoint *s = ws;
  s->n_memory = s->n_said = s->n = 0;
  s->collision_s = s->lcp_s = 0;
  if (s->islands != NULL) perp_islands_restart(s->islands);
  perp_pose_or_world(s->step.k.model->dim, NULL, &s->pose[0]);
  return perp_stepper_restart(ctx, ws, t, q, v);
}

static perp_status velocity_midpoint_step(perp_ctx *ctx, void *ws, double t_max,
                                          perp_step_info *info)
{
  perp_midpoint *s = ws;
  s->end = perp_time_grid_next(&s->step.grid, t_max);
  PERP_TRY(perp_stepper_step(ctx, ws, t_max, info));
  info->n_contacts = s->n_said;
  info->contacts = s->n_said > 0 ? s->said : NULL;
  info->impulse = s->n_said > 0 ? s->said_impulse : NULL;
  return PERP_OK;
}

static void velocity_midpoint_timing(void *ws, bool on, perp_times *times)
{
  perp_midpoint *s = ws;
  perp_constrained_timing(&s->step.k, on, times);
  if (s->islands == NULL || times == NULL) return;
  times->collision = s->collision_s;
  times->lcp = s->lcp_s;
  times->integrate -= times->collision + times->lcp;
}

static const perp_contact_count *velocity_midpoint_contacts(const void *ws)
{
  const perp_midpoint *s = ws;
  return s->islands != NULL ? perp_islands_count(s->islands) : NULL;
}

static void velocity_midpoint_observe(void *ws, perp_contact_observer *observer, void *user)
{
  perp_midpoint *s = ws;
  if (s->islands != NULL) perp_islands_observe(s->islands, observer, user);
}

const perp_formulation_desc perp_formulation_velocity_midpoint = {
  .d = { .name = "velocity-midpoint",
         .summary = "Time stepping of order 2 between events, which end sub-steps",
         .reference = "Schindler and Acary 2014; Acary 2012; Moreau 1988",
         .equation =
             "M v+ = M v + h f_m + J_m' lambda,  J(q+) v+ = feedback,  q+ = q [+] h (v + v+) / 2",
         PERP_OPTIONS(options, perp_midpoint_opts),
         .caps = PERP_FORM_BREAKS | PERP_FORM_USES_KKT | PERP_FORM_USES_STAB | PERP_FORM_USES_LCP |
                 PERP_FORM_CONTACTS | PERP_FORM_FEEDBACK | PERP_FORM_SIGNALS | PERP_FORM_MOTIONS |
                 PERP_FORM_DISABLED },
  .create = velocity_midpoint_create,
  .restart = velocity_midpoint_restart,
  .step = velocity_midpoint_step,
  .state = perp_stepper_state,
  .counters = perp_stepper_counters,
  .timing = velocity_midpoint_timing,
  .destroy = velocity_midpoint_destroy,
  .contacts = velocity_midpoint_contacts,
  .observe = velocity_midpoint_observe,
};
