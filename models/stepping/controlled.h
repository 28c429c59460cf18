/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stepping with impacts and friction under error control: who asks says how accurate positions
 * are to be, and not the step.
 *
 * Between events a step H is extrapolated from itself in 4, 5, 6, ... parts (extrapolation.h), and
 * kept when the last two of the diagonal of its table agree, in positions and in velocities over
 * the rate of the motion,
 *
 *      |dq| <= 0.1 accuracy H rate,     |dv| / rate <= 0.1 accuracy H rate,
 *      rate = sqrt(g / size) + the largest |v| so far [1/s]
 *
 * with 1e-3 in the place of a smaller H rate: near an event nothing less than rounding is asked of
 * short steps.
 * |.| is the largest component over the size of the model (positions) or over size / reach (turns:
 * the end of the body).  The order and the next step are those that cost the least parts a second
 * (Deuflhard 1983; Hairer, Norsett and Wanner, II.9).
 *
 * An event - impact, contact made or lost, sliding begun or ended, a limit - spoils the expansion
 * and the step is refused. Steps are halved towards it, with the end of the refused one as a bound,
 * until
 *
 *      h = 0.1 accuracy / rate,
 *
 * in which no point moves by more than a tenth of the accuracy: this step passes the event as the
 * method makes it, without extrapolation, whose local errors of first order are that small, and so
 * is the time by which the event is early or late. It is the shortest step there is, and accepted
 * always: infinitely many impacts in finite time (Zeno) are passed with it, and a motion that is
 * never smooth is made in steps of that length throughout.
 *
 * What agrees in all rows need not be right: where an event comes in the first parts of each row,
 * or in the last part of each, it comes at the start of the step or goes to its end, and all that
 * is smooth in H / n.  And what begins to slide shows it in the part after that only, as forces are
 * those of the start of a part; with a friction of sliding that is less than that of sticking in
 * the part after the next, as the memory of who slides is of the part before.  So each row has one
 * part or two more, behind the end.  What the state at the start leaves (its gaps are 0 and its
 * velocities along the rows there, where those of the time stepping are O(h) off) is gone after two
 * parts, the lead, which are not looked at: the kinks
 *
 *      n dv_3 - H a,   n (dv_4 - dv_3),   n (dv_n - dv_n-1),   n (dv_n+1 - dv_n) [+ n (dv_n+2 -
 * dv_n+1)]
 *
 * with dv_i the change of the velocity in part i of n and a the acceleration at the end of the step
 * before are extrapolated, too, as is dv_1 + dv_2.  They are H^2 v'' / n of a smooth motion, whose
 * limit is 0; that of an event is its jump of H v' or more (an impact: without bound).  More than
 * 0.1 accuracy rate n is one: it would change v by a n-th of that.
 *
 * Two more things are first order in h and hide events.  Velocities of the time stepping are h l
 * off (a body that turns about a contact moves off it), and a row that began without that would
 * have in its first part a force without the turn: what has just begun to slide would be stopped by
 * friction, in each row anew.  So each row begins with v + h l, l from the end of the step before;
 * any l leaves an expansion in h.  And the times of events in the rows are O(h) off: one that comes
 * shortly before the end may come behind all of them.  So the acceleration behind the end that was
 * found is looked at in parts of the shortest length, and must be the one that the rows tell.
 *
 * Two things the time stepping below must do for that (contact/step/step_contacts.h,
 * `within` of perp_contacts).  A body that turns about a contact comes off it by O(h^2) in a part;
 * were that closed in the next one, its force would be 0, 3/2, 1, 1, ... of what turns the
 * velocity, and friction in the second part less than it may need.  So it is closed within 1 /
 * rate.  And velocities at the end of a part are not projected on contacts: what that does to the
 * velocity along the normal would have no friction, and would come and go with the gaps that count
 * as closed, in each row anew.
 *
 * Event-capturing with extrapolation between events: Studer 2009 (Numerics of Unilateral Contacts
 * and Friction, chapter 5); Acary 2012; Schindler and Acary 2014.
 *
 * Cost: an event about 2 log2(H / h) steps of some parts each. */
#ifndef PERP_CONTROLLED_H
#define PERP_CONTROLLED_H

#include "models/stepping/formulation.h"

/* The time stepping below, of order one.  It is the caller's. */
typedef struct perp_controlled_sys {
  const perp_model *model;
  void *user;
  const double *reach; /* [bodies] m, how far the shapes of a body go from its centre of mass; 0:
                        * the size of the model.  Read at create only; NULL: likewise. */
  /* Parts to be made behind the end of a step, 1 or 2: an event in the last part of a step shows in
   * so many parts after it. */
  int behind;
  /* Be at this state, as if a step had ended here: it may be brought onto constraints.  Counters go
   * on. */
  perp_status (*start)(perp_ctx *ctx, void *user, double t, const double *q, const double *v);
  /* What has come apart while it pressed is closed within this time. */
  void (*within)(void *user, double time);
  /* One step that ends at t_end; *info as of perp_sim_step. */
  perp_status (*step)(perp_ctx *ctx, void *user, double t_end, perp_step_info *info);
  void (*state)(const void *user, double *t, const double **q, const double **v);
  /* What it remembers besides the state (guesses) is kept, and is what it was then. */
  perp_status (*keep)(perp_ctx *ctx, void *user, perp_step_end which);
  void (*put_back)(void *user, perp_step_end which);
} perp_controlled_sys;

typedef struct perp_controlled perp_controlled;

/* accuracy > 0: of positions, relative to the size of the model.  h: the first step that is tried.
 * *sys is copied. Allocates all; later only when there are more contacts than ever. */
perp_status perp_controlled_create(perp_ctx *ctx, const perp_controlled_sys *sys, double accuracy,
                                   double h, perp_controlled **out);
void perp_controlled_destroy(perp_controlled *controlled); /* NULL is fine */
/* The state of the time stepping is where it goes on from. */
void perp_controlled_restart(perp_controlled *controlled);
/* One accepted step, not beyond t_max, at which the state of sys is the end of it.  info->reason <
 * 0: why there is none, and the state is the last good one: PERP_STEP_TOO_SMALL (a shortest step
 * moves bodies further than the accuracy, or is lost in t), PERP_STALLED (more trials than any
 * bisection needs), or that of the shortest step.  At most 200 trials of 80 parts. */
perp_status perp_controlled_step(perp_ctx *ctx, perp_controlled *controlled, double t_max,
                                 perp_step_info *info);
/* Since create: steps, rejected trials, events, h_least and h_most.  The rest is not touched. */
void perp_controlled_counters(const perp_controlled *controlled, perp_ode_counters *count);

#endif
