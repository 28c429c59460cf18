/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives on the velocity level: limits, motors and servo springs as rows with bounds (Vondrak 2005,
 * sections 6.2.5 and 7.4; STAR 2012, section 3.1, eq. 49).
 *
 * The joints are primary constraints, which the KKT solver eliminates; the drives are auxiliary
 * ones that anticipate it (Vondrak 7.3.5): with v^ the velocity without drives and K the response
 * of the jointed bodies,
 *
 *      w = J K J' lambda + S lambda + J v^ + bias,      lo <= lambda <= hi  perp  w
 *
 * (lo-hi LCP).  Of a limit, lambda in [0, inf):
 *
 *      bias = gap / h, or restitution x xdot in the step that reaches the stop
 *
 * Of a locked drive lambda is free, and lower = upper.  Of a motor:
 *
 *      |lambda| <= h max_force,   bias = -velocity
 *
 * Of a servo, and of one that is symplectic:
 *
 *      |lambda| <= h max_force,   S = 1 / (h (h k + d)),   bias = k / (h k + d) (x - target) - ...
 *
 *      S = 1 / (h d),   bias = k / d (x - target) - ..., and without d no row: the force is in v^
 *
 * Limits and locked drives may give way (perp_compliance, islands.h): then S and alpha are those of
 * a spring at the end of the step, and a rebound is that of a rigid row.  Else a stop that is
 * overrun gives back a fifth of the overrun in a step, at 1 m/s (rad/s) at most.  Of two limits the
 * nearer one is a row; the other one becomes a further row where the solution passes it, and the
 * problem is solved again, at most three times in a step: a light segment that is hit turns through
 * all its range.  Without contacts all rows are one problem, at the cost of one solve per row with
 * the factor of the joints, and the LCP; with contacts they stand in the problems of their islands.
 *
 * Bounded rows are those of Vondrak 2005, eq. 6.15-6.18; upper limits Vondrak 2005, eq. 6.13, 6.14,
 * 6.28 and 6.32, with the sign turned. */
#ifndef PERP_DRIVES_H
#define PERP_DRIVES_H

#include "models/contact/step/islands.h"

typedef struct perp_drives perp_drives;

#define PERP_DRIVE_REBOUND 1e-3 /* m/s or rad/s: slower impacts on a limit do not rebound */

/* Does the lcp serve the bounds of the rows that the drives of the model are on this level?  Else
 * PERP_ERR_UNSUPPORTED. */
perp_status perp_drives_check(perp_ctx *ctx, const perp_model *model, perp_level level,
                              const perp_desc *lcp);

/* parts->lcp must be set.  limits: how limits and locked drives give way; not on: they are rigid.
 * tol_data: what rows may leave in units of the data (lcp.h), as velocities, those of angles times
 * the size of the model; 0: not looked at.  budget: of a problem (perp_lcp_afford).
 * PERP_ERR_UNSUPPORTED: the lcp does not serve the bounds of these drives.  Allocates all. */
perp_status perp_drives_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               const perp_compliance *limits, double tol_data, double budget,
                               perp_drives **out);
void perp_drives_destroy(perp_drives *d); /* NULL is fine */
void perp_drives_restart(perp_drives *d);
/* Spring forces are those of the start of the step from now on: k (x - target), where the position
 * moves with the velocity of the end (symplectic Euler: Hairer 2006, eq. I.1.9). */
void perp_drives_symplectic(perp_drives *d);
/* Before v^: k->f += h times the springs without damping that are no rows then.  k: evaluated at
 * the start.  Nothing but for perp_drives_symplectic. */
void perp_drives_push(perp_drives *d, perp_constrained *k, double h);
/* Impulses of the step h from velocity v.  k: evaluated and factored at the start, k->f = M v + h
 * f, k->a = v^.  On return k->a and k->lambda are those with drives.  False: k->reason or k->status
 * says why; a problem that is not solved is such a reason, unless the lcp made the number of sweeps
 * that it was asked for. */
bool perp_drives_step(perp_drives *d, perp_constrained *k, double h, const double *v);
/* What is remembered for the next step (guesses) is kept, and put back before it is made from the
 * same state again. */
void perp_drives_keep(perp_drives *d, perp_step_end which);
void perp_drives_put_back(perp_drives *d, perp_step_end which);
/* As `within` of perp_contacts, for limits that are reached or overrun. */
void perp_drives_within(perp_drives *d, double time);
const double *perp_drives_forces(const perp_drives *d); /* [drives] of the last step */
/* Of the problems of perp_drives_step since the restart. */
const perp_contact_count *perp_drives_count(const perp_drives *d);
void perp_drives_observe(perp_drives *d, perp_contact_observer *observer, void *user);

/* For problems that others solve: the rows of a step (as above), with the impulses of the step
 * before as guess; and what is made of their impulses.  *rows live until the next call. */
int perp_drives_rows(perp_drives *d, const perp_constrained *k, double h, const double *v,
                     perp_island_row **rows);
/* For steps that have impulses at both ends (formulation impulse): from now on rows are those of
 * the start or the end of a step.  Motors and servo springs have half of their impulse at each;
 * limits keep what moves with the velocities at the start from passing them, and at the end hold
 * what has reached them, or let it rebound.  The forces of an end are those of both. */
typedef enum perp_drives_end {
  PERP_DRIVES_WHOLE,
  PERP_DRIVES_START,
  PERP_DRIVES_END,
  PERP_DRIVES_PREDICT, /* these: perp_drives_part */
  PERP_DRIVES_MIDDLE,
  PERP_DRIVES_IMPACT
} perp_drives_end;
void perp_drives_half(perp_drives *d, perp_drives_end end);

/* For parts of steps that end where a limit is reached (formulation velocity-midpoint): rows are
 * those of an impact at its start, of a prediction of its end, from there, and of the part itself,
 * from its middle.  With x and J of where k is evaluated, b = h stiffness / 4 + damping / 2,
 *
 * Servo, with target and velocity in the middle, so that springs take no energy:
 *
 *      lambda = -h (stiffness (mean of x at both ends - target) + damping (mean xdot - velocity))
 *
 *      S = 1 / (h b)
 *
 * Motor:
 *
 *      J v+ + (time to the end) Jdot v = velocity at the end
 *
 * Limit: a row where it is reached, or will be slower than `threshold`; else it is open, and the
 * part should end at the event.  Of an impact, of what is reached:
 *
 *      xdot+ = -restitution xdot
 *
 * and motors without damping and bound hold their velocity.
 *
 * A motor of bounded force that slips and stops within the part may slip back at once: the part
 * should end at that event, too. */
typedef struct perp_drives_part {
  double t, h;                  /* s, its start, and its length */
  double whole;                 /* s, the step: an overrun is given back in five of these */
  double threshold, push, slop; /* m/s, m/s, m: of angles times the size of the model */
  double near;                  /* m: so near that a slow approach is a row */
  const double *predicted;      /* [nv] of the end, of PERP_DRIVES_MIDDLE */
} perp_drives_part;
void perp_drives_of_part(perp_drives *d, perp_drives_end end, const perp_drives_part *part);
/* Before the prediction: gaps and rates of limits at the start, k->e and v; is one reached faster
 * than `threshold`, or is a motor without damping and bound off its velocity by more? */
bool perp_drives_strike(perp_drives *d, const perp_constrained *k, const double *v);
/* The first time > 0 after the start of the part at which an open limit is reached or a motor
 * stops; HUGE_VAL: none.  end: the poses at the end of the part, v1: the velocity there.  *speed:
 * at which a limit was approached at the start, m/s; 0 of a motor. */
double perp_drives_event(perp_drives *d, const perp_eval *end, const double *v1, double *speed);
/* The part is accepted and ends at the event that was found last (settled), or elsewhere. */
void perp_drives_settle(perp_drives *d, bool settled);
/* Limits that were no rows and that the velocities k->a of a solution pass within h become rows,
 * behind the others; their number. */
int perp_drives_missed(perp_drives *d, const perp_constrained *k, double h, const double *v);
enum { PERP_DRIVE_ROUNDS = 4 }; /* solutions of a step at most */
void perp_drives_accept(perp_drives *d, double h);
/* Largest speed, m/s, that motors may give to a body at the time t, whatever its velocity is now.
 */
double perp_drives_speed(const perp_drives *d, double t);

#endif
