/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Drives under an ODE solver: what limits, motors and servo springs do in a step (Vondrak 2005,
 * sections 6.5 and 7.4; Loetstedt 1981 for the switching; STAR 2012, eq. 49).
 *
 * A limit is open; or it rests, like a contact:
 *
 *      0 <= lambda  perp  xddot + 2 xdot / tau + gap / tau^2 >= 0
 *
 * A locked drive:
 *
 *      xddot + 2 xdot / tau + (x - lower) / tau^2 = 0
 *
 * A motor holds its velocity, with |lambda| <= max_force, complementary; or, slower or faster than
 * that, has the force max_force or -max_force:
 *
 *      xddot + (xdot - velocity) / tau = 0
 *
 * A servo is a force, or +-max_force beyond its bound:
 *
 *      -stiffness (x - target) - damping (xdot - velocity)
 *
 * An event, located, is where a limit is reached or left (its force falls through zero), a motor
 * reaches its velocity or no longer holds it (its force reaches the bound), or a servo its bound.
 * A limit that is reached faster than PERP_DRIVE_REBOUND, a locked drive and a kinematic motor off
 * their velocity get an impulse; motors of limited force have none.
 *
 * tau is five steps, whatever the stabilization.  With steps of fixed length the feedback is that
 * of the start of the step (events_forces.c says why).
 *
 * Tolerances: of a slider, those of contacts; of an angle, the same numbers with rad for the
 * largest body.
 *
 * A motor is Vondrak 2005, eq. 4.9, at velocity 0 the dry friction of STAR 2012, eq. 33. */
#ifndef PERP_EVENTS_DRIVES_H
#define PERP_EVENTS_DRIVES_H

#include "models/formulations/acceleration/events.h"
#include "models/contact/step/islands.h"

typedef struct perp_event_drives perp_event_drives;

typedef struct perp_drive_tolerances {
  double tol[2], hold[2]; /* that touches; that goes on resting: rad, m */
  double rest, keep;      /* /s: below, what touches rests; rests on */
  double slip;            /* /s: a motor faster than that is off its velocity */
  double relax, locate;   /* s */
} perp_drive_tolerances;

perp_status perp_event_drives_create(perp_ctx *ctx, const perp_model *model,
                                     const perp_drive_tolerances *tol, perp_event_drives **out);
void perp_event_drives_destroy(perp_event_drives *drives); /* NULL is fine */
void perp_event_drives_restart(perp_event_drives *drives);

/* All at the poses of k->e, with the velocity v [nv]. */

/* f [nv] += the forces that are known: servo springs, motors at their bound. */
void perp_event_drives_push(perp_event_drives *drives, const perp_constrained *system,
                            const double *v, double *f);
/* The others, as rows for accelerations; *rows live until the next call.  frozen: what holds or
 * rests does so whatever force it takes: rows without bounds. */
int perp_event_drives_rows(perp_event_drives *drives, const perp_constrained *system,
                           const double *v, bool frozen, perp_island_row **rows);
/* The feedback of the step is that of the last rows. */
void perp_event_drives_feed(perp_event_drives *drives);
/* Limits that complementarity left without a force, and that part with the accelerations a by more
 * than `least`, are left. */
void perp_event_drives_part(perp_event_drives *drives, const double *a, double least);
/* Least distance of the forces of rows from a bound, over max_force or the largest force of a row.
 */
double perp_event_drives_margin(const perp_event_drives *drives);
/* Motors that are beyond their bound by the part `past` of it no longer hold; f [nv] += their
 * forces; how many. */
int perp_event_drives_release(perp_event_drives *drives, double past, double *f);
/* Largest |J a + bias| of a row, and largest |J a - J b|. */
double perp_event_drives_largest(const perp_event_drives *drives, const double *a);
double perp_event_drives_apart(const perp_event_drives *drives, const double *a, const double *b);
/* Dense output asks about the step before: it and the one at hand change places. */
void perp_event_drives_swap(perp_event_drives *drives);
/* Largest violation of these rows by the accelerations a. */
double perp_event_drives_violation(const perp_event_drives *drives, const double *a);
/* What has been found is the force of the evaluation; guess: and that of the next one. */
void perp_event_drives_remember(perp_event_drives *drives, bool intermediate, bool guess);
/* f [nv] += all forces of the last evaluation. */
void perp_event_drives_apply(const perp_event_drives *drives, double *f);

/* Event functions, all below zero after the event: least gap of what does not rest, allowance
 * included; least speed of a motor off its velocity; least distance of a servo from its bound. Each
 * is lowered only. */
void perp_event_drives_lows(const perp_event_drives *drives, const perp_constrained *system,
                            const double *v, double *gap, double *speed, double *load);
/* Which limits touch at this state; is it an impact? */
bool perp_event_drives_touch(perp_event_drives *drives, const perp_constrained *system,
                             const double *v);
/* Largest speed at which those, locked drives and kinematic motors are struck. */
double perp_event_drives_approach(const perp_event_drives *drives, const perp_constrained *system,
                                  const double *v);
/* Their rows in the impact from v; *bounces when one gives something back. */
int perp_event_drives_impact(perp_event_drives *drives, const perp_constrained *system,
                             const double *v, perp_island_row **rows, bool *bounces);
/* What they do from here on; impact: v follows from one. */
void perp_event_drives_stock(perp_event_drives *drives, const perp_constrained *system,
                             const double *v, bool impact);
/* A step begins with it; how many drives change what they do. */
int perp_event_drives_adopt(perp_event_drives *drives);
const double *perp_event_drives_forces(const perp_event_drives *drives); /* [drives] of the step */

#endif
