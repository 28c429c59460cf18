/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of perp_events: events*.c and critical.c. */
#ifndef PERP_EVENTS_PRIVATE_H
#define PERP_EVENTS_PRIVATE_H

#include "models/contact/step/contacts_post.h"
#include "models/formulations/acceleration/events.h"
#include "models/formulations/acceleration/events_drives.h"
#include "models/contact/step/islands.h"

/* How the direction of slow sliding turns (events_turning.c). */
typedef struct perp_event_turn {
  double t, normal[3]; /* where the step begins: s; of the contact, world */
  double c[2];    /* 1/s, 1/s^2: tangent of the angle from dir, as a polynomial of the time since */
  double nudge;   /* of the tangent, for a derivative */
  double stiff;   /* m/s^2: by how much an angle makes the acceleration across smaller, */
  bool measured;  /* which is known */
  bool restarted; /* from a straight line, as the guess led away from the sliding */
} perp_event_turn;

/* A force that complementarity has found, in this step or before: N, world, and at which normal. */
typedef struct perp_event_witness {
  bool known;
  double force[3], normal[3];
} perp_event_witness;

/* A contact that touches or rests at the start of a step. */
typedef struct perp_event_contact {
  uint64_t id;
  bool rests, slides, taken;
  bool creeps;   /* moves, so slowly that its direction turns within a step: no `slides`
                    (events_rest.c) */
  bool critical; /* in a problem without a solution */
  bool held;     /* lies too deep, and was stopped: it is not pushed out */
  double dir[3]; /* of sliding, b relative to a: unit, world */
  double at[3];  /* world */
  double gap, force[3], slip;
  /* of the step, from perp_events_forces at its start */
  unsigned char mode; /* PERP_FROZEN_*; of the step before until then, */
  bool goes_on;       /* if that may go on */
  double fed[3];      /* feedback on the relative acceleration, world */
  bool steady;        /* slides along dir all the step: too slowly for its velocity to tell; */
  bool turns;         /* or along a direction that turns to what its end says, */
  perp_event_turn turn;
  bool begins;            /* did not slide in the step before; of that one: */
  double rate, turned;    /* rad/s: of dir at its end; rad: how far dir turned in it */
  double slowing, slowed; /* m/s^2: how fast sliding fell in it; in the one before that */
  double back, speed;     /* m/s: against dir, and of sliding, at the start */
  double scale;           /* N, of forces of the bodies it connects */
  perp_event_witness witness;
} perp_event_contact;

typedef struct perp_event_contacts {
  perp_event_contact *x; /* ordered by id */
  int n, cap;
} perp_event_contacts;

/* A contact within the margin at the start of a step (events_seen.c). */
typedef struct perp_event_seen {
  uint64_t id;
  double gap;
} perp_event_seen;

struct perp_events {
  const perp_model *model;
  perp_event_opts o;
  int rule;                  /* for sliding, not PERP_SLIDING_AUTO */
  double h;                  /* s: step of create */
  double h_feedback;         /* s: what stands for it in feedback (constrained.h) */
  double locate;             /* s: how closely events are located, at worst */
  double tol, hold;          /* m: that touches; that goes on resting */
  double size;               /* m, of the largest body */
  double margin;             /* m */
  double *reach;             /* [bodies] from the centre of mass to the end of its shapes */
  double *q_found, *q_start; /* [nq] of `contact`; of the step */
  double *before, *free;     /* [6 bodies] twists */
  double *rhs, *response;    /* [nv], [nv] critical.c */
  double *zero, *lambda;     /* [m], [m] */
  perp_event_drives *drives; /* NULL: none */
  perp_collision *collision; /* NULL: no shapes */
  perp_islands *islands;
  const perp_stab_desc *stab; /* NULL: no shapes */
  void *stab_ws;
  perp_contact_post *post; /* NULL: contacts are not corrected after a step */
  bool found, fresh;       /* contact holds for q_found; no state has been accepted yet */
  const perp_contact *contact;
  int n;
  perp_event_contacts now, next,
      was;               /* of the step; of the state accepted last; of the step before */
  perp_event_seen *seen; /* [n_seen] in the order of their id */
  int n_seen, cap_seen;
  bool fixed;              /* steps have a length that is given, */
  bool holds;              /* and feedback of contacts is that of their starts */
  int order;               /* of the ODE solver */
  bool repeats;            /* a trial step can be made again (perp_ode_repeats); */
  int revisions;           /* it was, so often, */
  bool unturned;           /* and directions of sliding were not found */
  double longest;          /* s: no step may be longer */
  double t_now;            /* s: of the evaluation */
  bool frozen, was_frozen; /* modes hold within the step; did in the step before */
  bool between;            /* dense output: `now` and `was` have changed places */
  bool consults;           /* complementarity decides, though modes are frozen */
  bool redundant, many;    /* forces are not unique: of the last frozen evaluation, of the step */
  double past;             /* of scale: an event is located so far behind it, */
  double noise;            /* and what is less is rounding */
  double w_scale;          /* m/s^2: of relative accelerations without these forces */
  double *f_free, *a_free, *a_frozen; /* [nv] before the forces of contacts and rows */
  const double *v_start;              /* [nv] of the evaluation that decides */
  double *load;                       /* [bodies] N, by the root of an island */
  /* by contact, as many as there ever were */
  int cap;
  double *force, *slip, *offset, *sliding; /* [3 n], [n], [3 n], [3 n] */
  int *of;                                 /* [n] place in `now`, -1: none */
  unsigned char *kept, *struck, *part;     /* [n] */
  unsigned char *mode;                     /* [n] */
  unsigned char *none;                     /* [n] in a problem without a solution */
  double *stop;                            /* [9 n] critical.c */
  perp_contact *shown;                     /* [n_shown] at the start of the step, with forces */
  double *shown_force, *shown_impulse;     /* [3 n_shown] */
  int n_shown;
  perp_arena grown;
  bool loaded;    /* force holds for the last evaluation */
  bool plastic;   /* the impact at hand gives nothing back */
  bool rebounded; /* a limit did, in the impact at hand */
  bool hit;       /* there was an impact at the state accepted last */
  bool critical;  /* the last evaluation found a problem without a solution */
  int n_critical; /* contacts in it, of the step that ended in it or in a stop */
  int idle;       /* steps without progress */
  int chatter;    /* steps without any in a row, that is */
  /* events_pile.c */
  int pile;              /* events in the step since t_pile */
  int span;              /* steps until modes are frozen again, at t_calm */
  bool hasty;            /* they are not now, */
  bool holds_forces;     /* and these forces hold in the step: */
  bool held_now;         /* they were those of the last evaluation */
  double *held;          /* [nv] */
  double creep;          /* of the step: friction stops what creeps within this time */
  bool tries;            /* and another one is tried where no forces are found */
  bool skips;            /* no forces were found at a trial state, nor shown not to exist */
  double t_pile, t_calm; /* s */
  double t, t_mark;
  double collision_s, lcp_s;
  char cause[384];
};

/* Where contacts that rest stay at rest although a method of low order moved them: m as a part of
 * the largest body (see hold), m/s. */
#define PERP_HOLD_SPEED 0.01

/* Of steps: friction stops within one over this number what slides too slowly for its velocity to
 * be its direction. */
#define PERP_EVENTS_STIFF 2.0

/* Of o.slip: what slid goes on down to that speed. */
#define PERP_EVENTS_STOPPED 1e-4

/* ---- events_contact.c ---- */

/* Velocity of b relative to a at a contact, world u [3], for v [nv] and these poses of its bodies.
 */
void perp_events_velocity_at(const perp_model *model, const perp_pose *pose_a,
                             const perp_pose *pose_b, const perp_contact *x, const double *v,
                             double u[3]);
/* The same at the poses of an evaluation. */
void perp_events_velocity(const perp_model *model, const perp_eval *e, const perp_contact *x,
                          const double *v, double u[3]);
/* Its part along the normal at the poses of k. */
double perp_events_speed(const perp_events *s, const perp_constrained *k, const perp_contact *x,
                         const double *v);
/* Tangential part of u. */
void perp_events_tangential(int dim, const double n[3], const double u[3], double t[3]);
/* For messages. */
const char *perp_events_body(const perp_model *model, int body);
/* By how the counts of failures grew: the reason, PERP_EXACT when none did. */
perp_reason perp_events_failed(const perp_contact_count *before, const perp_contact_count *after);

/* ---- events_state.c ---- */

/* Contacts at (t, q), and which contact of the step each of them is (of); k->e is at q.  False:
 * k->status says why. */
bool perp_events_find(perp_events *s, perp_constrained *k, double t, const double *q);
/* Did contact i rest in the step? */
bool perp_events_rested(const perp_events *s, int i);
/* Least gap of contacts that do not rest, with what they may be deep by; least sliding speed, in
 * the direction in which it began, of those that slide. */
void perp_events_lows(const perp_events *s, const perp_constrained *k, const double *v, double *gap,
                      double *speed);
/* Has a body passed another one since the start of the step, so fast that neither end shows it? */
bool perp_events_passed(perp_events *s, const double *q);

/* ---- events_seen.c ---- */

/* Room for as many as were found last; keeps its contents. */
perp_status perp_events_seen_reserve(perp_ctx *ctx, perp_events *s);
/* The contacts found last, for which there is room, are those at the start of a step. */
void perp_events_see(perp_events *s);
/* How deep may this contact be, m, because it was not there at the start of the step, though its
 * pair was as near?  0: it was, or the pair was not. */
double perp_events_unseen(const perp_events *s, const perp_contact *x);

/* ---- events_mode.c: what contacts do in a step ---- */

/* Modes of the contacts [n] at rest from the forces and accelerations k->a that complementarity has
 * found: open or pressing; sticking unless they slide.  Were they the same? */
bool perp_events_modes(perp_events *s, const perp_constrained *k, int n);
/* Least distance of the frozen forces from a bound: normal forces from 0, friction that sticks from
 * mu times them, over `scale`. */
double perp_events_margin(const perp_events *s, int n);
/* Are the frozen forces those that complementarity found when it was asked last, at the same
 * normals?  Then they are as much within their bounds, whatever their margin. */
bool perp_events_vouched(const perp_events *s, int n);
/* They are those that it has found now. */
void perp_events_vouch(perp_events *s, int n);
/* Contacts that stick beyond what friction can hold begin to slide, against the frozen forces; how
 * many.  Which: by these forces where they are unique, else those that the last solution of
 * complementarity (s->a_frozen) lets slide. */
int perp_events_release(perp_events *s, const perp_constrained *k, int n, bool unique);
/* Contacts that begin to slide, or do so slowly, turn to the velocity after a step h with the
 * accelerations of that solution, by this part of the way; the largest difference of the unit
 * vectors. */
double perp_events_turn(perp_events *s, const perp_constrained *k, int n, double h, double part);
/* Would friction stop them within the step?  First (test = false) they are made to stick at its
 * end, u + h a = 0; with the frozen forces of that (test) those that friction can hold slide as
 * they did and do not turn. */
void perp_events_ahead(perp_events *s, const perp_constrained *k, int n, double h, bool test);
/* What would slide back at the end of the step stops first: it slides as it did.  True: there are
 * some. */
bool perp_events_reversed(perp_events *s, const perp_constrained *k, int n);
/* In a step h: which sliding contacts have a velocity that friction may turn round? */
void perp_events_steady(perp_events *s, const perp_constrained *k, int n, double h);
/* Relative acceleration of contact i with a [nv], world w [3]. */
void perp_events_acceleration(const perp_events *s, const perp_constrained *k, int i,
                              const double *a, double w[3]);
/* Largest difference of the relative accelerations that a and b [nv] give to contacts at rest. */
double perp_events_apart(const perp_events *s, const perp_constrained *k, int n, const double *a,
                         const double *b);
/* Largest relative acceleration of contacts at rest with a [nv]. */
double perp_events_largest(const perp_events *s, const perp_constrained *k, int n, const double *a);
/* Least normal acceleration of those that are open, with k->a. */
double perp_events_opening(const perp_events *s, const perp_constrained *k, int n);

/* ---- events_turning.c: directions of slow sliding ---- */

/* In a step h that begins with the accelerations k->a: which slow contacts slide along a direction
 * that turns? */
void perp_events_turning_begin(perp_events *s, const perp_constrained *k, int n, double h);
/* Direction d [3] of contact c, which turns and is x at time t; rad/s, how fast it turns then. */
void perp_events_turning_direction(const perp_event_contact *c, const perp_contact *x, double t,
                                   double d[3]);
double perp_events_turning_rate(const perp_event_contact *c, double t);
/* At t_new, the end of a step: `next` goes on with the sliding of `now`, at contact x. */
void perp_events_turning_stock(const perp_events *s, const perp_event_contact *now,
                               const perp_contact *x, double t_new, perp_event_contact *next);

/* ---- events_pile.c ---- */

/* The state accepted last, `next`, is where a step begins at time t: is it hasty?  event: modes
 * changed, or bodies hit. */
void perp_events_pile(perp_events *s, double t, bool event);
/* The step that begins, for which no forces were found, is to be hasty.  False: it is, or may not.
 */
bool perp_events_hurry(perp_events *s);
bool perp_events_may_hurry(const perp_events *s);
/* The contact forces in k->f hold in the hasty step that begins. */
void perp_events_hold(perp_events *s, const perp_constrained *k);

/* ---- the others ---- */

/* events_rate.c: Jdot v as a vector: tangential parts from those of d(u)/dt, normal part d(n u)/dt.
 * Zero where the contact is not found on both sides. */
void perp_events_rate(const perp_events *s, const perp_eval *e, const perp_contact *x,
                      const double *q, const double *v, double out[3]);
/* Impulses at the contacts `kept`: v becomes the velocity after the impact. */
bool perp_events_impact(perp_events *s, perp_constrained *k, double *v);
/* Room for n contacts; the arrays lose their contents. */
perp_status perp_events_reserve(perp_ctx *ctx, perp_events *s, int n);
/* critical.c: the forces of an evaluation do not exist; before: what was counted before it. */
void perp_events_refuted(perp_events *s, const perp_contact_count *before);

#endif
