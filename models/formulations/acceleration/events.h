/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Contacts and drives under an ODE solver: forces while bodies touch, impulses where they meet
 * (Vondrak 2005, sections 6.3 to 6.5; STAR 2012, section 3.2.1).
 *
 * A contact rests while its gap and the speed of its gap are within tolerances.  The contacts that
 * rest at the start of a step are rows of it (events_forces.c).  Complementarity decides there
 * which of them press and which stick.  They keep these modes in the step (events_mode.c): its
 * right-hand side is smooth, and stages keep the order of the method.
 *
 * What a step does is its phase.  It changes in perp_events_forces, at the regular evaluation with
 * which the step begins, and in perp_events_adopt; the switch of the former is this diagram:
 *
 *      restart:                 FRESH
 *      FRESH     adopt          BEGINS
 *      BEGINS    regular        FROZEN     nothing rests, the modes of the last step may go on,
 *                evaluation                or modes are found that explain the forces
 *                               BEGINS     there are none: complementarity decides at each
 *                                          evaluation of the step
 *                               HELD       events accumulate, or no forces were found here
 *      FROZEN    agree          CONSULTED  complementarity is asked, where forces are not unique
 *      CONSULTED agree          FROZEN     it has answered
 *      each      adopt          BEGINS     the next step
 *
 * These things end a step (the ODE driver rolls back and locates them):
 *
 *   meeting   A contact that does not rest closes: gap < 0.  The bodies get an impulse, by one of
 *             four laws (events_impact.c), and the next step starts from the new velocities.
 *   leaving   The normal force of a contact falls through zero.
 *   slipping  Friction of a contact that sticks reaches its limit.
 *   sticking  The sliding velocity of a contact that rests falls to zero.
 *
 * Leaving, slipping and sticking end steps in phase FROZEN only.  Steps remain in phase BEGINS
 * where modes change at one instant again and again (after 20 steps that go nowhere), where they do
 * not explain the forces, in islands of over 600 rows, and with sliding=lagged.
 *
 * In space friction of what hardly slides has a direction of its own, that turns in the step so
 * that sliding stays along it (events_turning.c); with methods of order 1 and 2, with a history, or
 * where forces are not unique, it is that of the end of the step, and such steps are of order 1
 * to 2.
 *
 * Overlap is seen at the ends of steps; a body that moves by more than half of its least width in a
 * step is followed on its way, taken as straight, so that it does not pass through another one
 * unseen.  Pairs that touch at the start of the step are not.
 *
 * Limits, motors and servos of joints (events_drives.h) are further rows of the same problems, with
 * events and impacts of their own; a model without shapes may have them.
 *
 * Where the contacts at rest are shown to have no forces (Vondrak's critical contacts, critical.c),
 * the run ends, or their bodies are stopped.
 *
 * Where events accumulate, in heaps, steps are of first order for a while, and counted: phase HELD
 * (events_forces.c).  Impacts that accumulate (Zeno) end where the approach falls below
 * `threshold`: it is then plastic, and the contact rests. */
#ifndef PERP_EVENTS_H
#define PERP_EVENTS_H

#include "models/contact/laws/contact.h"
#include "models/contact/step/contacts.h"
#include "models/stepping/constrained.h"

typedef struct perp_event_opts {
  double threshold, tangential, slip, gap, rest, locate, residual, budget;
  int impact, order, sliding, threads, critical, choice;
} perp_event_opts;
enum { PERP_ORDER_TOGETHER, PERP_ORDER_SEQUENTIAL };
extern const char *const perp_order_names[];
enum { PERP_CRITICAL_FAIL, PERP_CRITICAL_STOP };
extern const char *const perp_sliding_names[];
extern const char *const perp_critical_names[];

/* the rows of an options table whose struct begins with this one */
#define PERP_EVENT_OPTIONS                                                                         \
  PERP_REAL(perp_event_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                               \
            "Approach speed above which restitution is applied. Slower impacts are plastic, "      \
            "which ends an accumulation of impacts (Zeno)."),                                      \
      PERP_IMPACT_OPTIONS(perp_event_opts),                                                        \
      PERP_ENUM(perp_event_opts, order, PERP_ORDER_TOGETHER, perp_order_names,                     \
                "Treatment of simultaneous impacts. together: one problem for all. sequential: "   \
                "pair by pair, the fastest first."),                                               \
      PERP_ENUM(perp_event_opts, sliding, PERP_SLIDING_AUTO, perp_sliding_names,                   \
                "Dynamic friction. column: in the column of the normal force (nonsymmetric "       \
                "matrix). iterate: repeated symmetric problems. lagged: from the previous normal " \
                "force. auto: column if the LCP solver supports it."),                             \
      PERP_ENUM(perp_event_opts, critical, PERP_CRITICAL_FAIL, perp_critical_names,                \
                "Reaction to resting contacts for which no accelerations and forces exist. fail: " \
                "end the run. stop: stop their bodies."),                                          \
      PERP_REAL(perp_event_opts, slip, 1e-6, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",                    \
                "Sliding speed above which a contact uses mu_dynamic."),                           \
      PERP_REAL(                                                                                   \
          perp_event_opts, gap, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "m",                                \
          "Gap or penetration up to which a contact is touching. 0: 1e-9 of the largest body."),   \
      PERP_REAL(perp_event_opts, rest, 1e-6, 0, HUGE_VAL, PERP_OPEN_MIN, "m/s",                    \
                "Opening or closing speed below which a touching contact is treated as resting."), \
      PERP_REAL(perp_event_opts, locate, 0, 0, HUGE_VAL, PERP_OPEN_MAX, "s",                       \
                "Accuracy of event times. 0: 1e-12 of the step."),                                 \
      PERP_REAL(perp_event_opts, residual, PERP_CONTACT_TOL, 0, 1, PERP_OPEN_MIN, "",              \
                "Largest scaled residual of an accepted solution."),                               \
      PERP_REAL(perp_event_opts, budget, PERP_STEP_BUDGET, 0, 1e9, 0, "", PERP_BUDGET_MEANS),      \
      PERP_INT(perp_event_opts, threads, 1, 1, 256, "Number of islands solved in parallel."),      \
      PERP_CHOICE_OPTION(perp_event_opts, choice)

typedef struct perp_events perp_events;

/* What the last perp_events_forces found. */
typedef enum perp_event_verdict {
  PERP_FORCES_FOUND, /* or not, as `reason` or `status` of the system say */
  PERP_FORCES_HELD,  /* those of the start of the step (phase HELD) */
  /* Forces were not found at a trial state, nor shown not to exist.  The step is then too long:
   * that which begins before it may be of first order. */
  PERP_FORCES_SKIPPED,
  /* Contacts at rest have no accelerations and forces, shown by the solver. */
  PERP_FORCES_CRITICAL,
  /* The same with critical=stop: at a trial state the step is then too long. */
  PERP_FORCES_STOP
} perp_event_verdict;

/* parts: lcp and, for a model with shapes, contact must be set.  PERP_ERR_UNSUPPORTED: an lcp that
 * does not serve the contact model, the rule for sliding or the drives; drives with order =
 * sequential.  Allocates; later only when there are more contacts than ever. */
perp_status perp_events_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               const perp_event_opts *opts, double h, perp_events **out);
void perp_events_destroy(perp_events *events); /* NULL is fine */
/* Before the restart of the ODE solver; perp_events_adopt after it. */
void perp_events_restart(perp_events *events);

/* f [nv] += the forces of drives that are known before the others, at (q, v) of system->e. */
void perp_events_push(perp_events *events, const perp_constrained *system, const double *v,
                      double *f);
/* At (t, q, v) with system->f the forces, system->c the right-hand side of the joints and system->a
 * their accelerations: adds the contact forces to system->f, and system->a, system->lambda are
 * those with contacts. False: system->reason or system->status says why, perp_events_cause in
 * words. */
bool perp_events_forces(perp_events *events, perp_constrained *system, double t, double h,
                        const double *q, const double *v, bool intermediate);
perp_event_verdict perp_events_verdict(const perp_events *events);
/* Does the step keep the modes of contacts and drives (phase FROZEN)? */
bool perp_events_frozen(const perp_events *events);
/* Forces of the last evaluation: least distance from a bound, as a part of the largest (or of the
 * bound), and a tolerance; below zero where one is passed by more.  *unique: there are no others.
 */
double perp_events_reserve_left(const perp_events *events, bool *unique);
/* evaluate: accelerations into system->a; false where there are none. */
typedef bool perp_events_evaluate(void *user);
/* Complementarity (evaluate) is asked whether it agrees with the last evaluation, system->a.
 * Above zero: yes. */
double perp_events_agree(perp_events *events, const perp_constrained *system,
                         perp_events_evaluate *evaluate, void *user);
/* Does something slide so slowly that friction may turn it round within a step of create?  (In
 * space; its direction in a step is then that of its end.)  Steps under error control had better be
 * no longer. */
bool perp_events_slow(const perp_events *events);
/* s: the next step may not be longer, where sliding that turns comes to a stop (events_turning.c).
 */
double perp_events_longest(perp_events *events);
/* Directions of slow sliding in the trial step that has led from t to (t + h, q, v) are made to
 * agree with its end.  True: they were not, and the step is to be made again.  evaluate:
 * accelerations at that end, in the modes of the step. */
bool perp_events_revise(perp_events *events, const perp_constrained *system, double t, double h,
                        const double *v, perp_events_evaluate *evaluate, void *user);
/* Dense output begins, or ends: evaluations are those of the step that ended last.  False: its
 * modes are not known. */
bool perp_events_between(perp_events *events, bool begins);

/* f [nv] += J_c' lambda and the forces of all drives, of the last perp_events_forces. */
void perp_events_apply(const perp_events *events, const perp_constrained *system, double *f);
/* Event function: below zero when a contact that does not rest is closed, or one slides backwards;
 * for drives see events_drives.h. */
double perp_events_value(perp_events *events, perp_constrained *system, double t, const double *q,
                         const double *v);
/* At a regular state, time t: PERP_ODE_INVALID when bodies overlap that did not; else what the
 * stabilization corrects (contacts_post.h), and impacts (PERP_ODE_CHANGED: q or v is new). */
perp_ode_answer perp_events_accept(perp_events *events, perp_constrained *system, double t,
                                   double *q, double *v);
/* The state that was accepted last is where the next step begins, at time t.  False when steps no
 * longer make progress: system->reason says so. */
bool perp_events_adopt(perp_events *events, perp_constrained *system, double t, const double *q);

/* Count critical contacts, and with critical=stop stop their bodies at the state (t, q, v) of the
 * last step: v [nv] becomes the velocity after it.  False: there is nothing (more) to stop, or
 * system->reason or system->status and perp_events_cause say why not. */
bool perp_events_stop(perp_events *events, perp_constrained *system, double t, const double *q,
                      double *v);
/* What the options ask of the driver and of implicit methods: contact forces carry the weight, to
 * `tol`. */
void perp_events_locate(const perp_events *events, perp_ode_sys *sys);
const char *perp_events_cause(const perp_events *events); /* of the last failure, or "" */
/* Contacts at rest in the step that ended last, of length dt: their forces at its start times dt.
 */
void perp_events_info(perp_events *events, double dt, perp_step_info *info);
const perp_contact_count *perp_events_counters(const perp_events *events);
void perp_events_observe(perp_events *events, perp_contact_observer *observer, void *user);
void perp_events_times(const perp_events *events, double *collision, double *lcp);

#endif
