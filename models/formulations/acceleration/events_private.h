/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of perp_events: settings, the start of the step, the trial state, what was accepted.
 */
#ifndef PERP_EVENTS_PRIVATE_H
#define PERP_EVENTS_PRIVATE_H

#include "models/contact/step/contacts_post.h"
#include "models/contact/step/islands.h"
#include "models/formulations/acceleration/events.h"
#include "models/formulations/acceleration/events_drives.h"

/* What a step does: the diagram of events.h. */
typedef enum perp_event_phase {
  PERP_PHASE_FRESH,     /* no state has been accepted yet */
  PERP_PHASE_BEGINS,    /* modes are not known: complementarity decides at each evaluation */
  PERP_PHASE_FROZEN,    /* contacts and drives keep their modes: nothing is complementary */
  PERP_PHASE_CONSULTED, /* the same, while complementarity is asked whether it agrees */
  PERP_PHASE_HELD       /* contact forces of the start hold in the step, which is of first order */
} perp_event_phase;

/* What a contact does in a step. */
typedef enum perp_event_state {
  PERP_CONTACT_TOUCHES, /* within the tolerance, but it does not rest */
  PERP_CONTACT_STICKS,  /* at rest: it sticks, or opens (mode) */
  PERP_CONTACT_DRIFTS,  /* or sticks as in a time step: friction stops it in about a step */
  PERP_CONTACT_SLIDES,  /* along its velocity */
  PERP_CONTACT_STEADY,  /* too slowly for its velocity to tell the direction: along dir */
  PERP_CONTACT_TURNS    /* or along a direction that turns to what the end of the step says */
} perp_event_state;

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
typedef struct perp_event_certificate {
  bool known;
  double force[3], normal[3];
} perp_event_certificate;

/* A contact that touches or rests at the start of a step. */
typedef struct perp_event_contact {
  uint64_t id;
  perp_event_state state;
  bool matched;        /* it was found at the trial state */
  bool critical;       /* in a problem without a solution */
  bool held;           /* lies too deep, and was stopped: it is not pushed out */
  bool goes_on;        /* mode, that of the step before, may go on */
  bool begins;         /* did not slide in the step before; of that one: */
  unsigned char mode;  /* PERP_FROZEN_*, from perp_events_forces at the start of the step */
  double rate, turned; /* rad/s: of dir at its end; rad: how far dir turned in it */
  double slowing;      /* m/s^2: how fast sliding fell in it */
  double dir[3];       /* of sliding, b relative to a: unit, world */
  double at[3];        /* world */
  double gap, force[3], slip;
  double fed[3];      /* feedback on the relative acceleration, world */
  double back, speed; /* m/s: against dir, and of sliding, at the start */
  double scale;       /* N, of forces of the bodies it connects */
  perp_event_turn turn;
  perp_event_certificate certificate;
} perp_event_contact;

/* A step: what it does, and the contacts that touch or rest at its start. */
typedef struct perp_event_step {
  perp_event_phase phase;
  perp_event_contact *list; /* [n] ordered by id */
  int n, cap;
} perp_event_step;

/* What is the same in all steps. */
typedef struct perp_event_settings {
  int rule;           /* for sliding, not PERP_SLIDING_AUTO */
  int order;          /* of the ODE solver */
  bool fixed;         /* steps have a length that is given, */
  bool feeds_start;   /* and feedback of contacts is that of their starts */
  bool repeats;       /* a trial step can be made again (perp_ode_repeats) */
  double h;           /* s: step of create */
  double locate;      /* s: how closely events are located, at worst */
  double touch, hold; /* m: that touches; that goes on resting */
  double size;        /* m, of the largest body */
  double margin;      /* m */
  double past;        /* of scale: an event is located so far behind it, */
  double noise;       /* and what is less is rounding */
  double *reach;      /* [bodies] from the centre of mass to the end of its shapes */
} perp_event_settings;

/* A contact within the margin at the start of a step. */
typedef struct perp_event_seen {
  uint64_t id;
  double gap;
} perp_event_seen;

/* The start of the step. */
typedef struct perp_event_start {
  double t, *q;          /* [nq] */
  const double *v;       /* [nv] of the evaluation that decides */
  perp_event_seen *seen; /* [n_seen] in the order of their id */
  int n_seen, cap_seen;
  bool redundant; /* forces are not unique */
  bool unturned;  /* directions of sliding were not found */
  int revisions;  /* how often the trial step was made again */
  double longest; /* s: no step may be longer */
  double w_scale; /* m/s^2: of relative accelerations without these forces */
  double *held;   /* [nv] contact forces of phase HELD */
} perp_event_start;

/* Contacts at a state, and arrays by contact, as many as there ever were. */
typedef struct perp_event_at {
  double *q;  /* [nq] where they were found */
  bool valid; /* they were */
  const perp_contact *contact;
  int n, cap;
  double *force, *slip, *offset, *sliding; /* [3 n], [n], [3 n], [3 n] */
  int *of;                                 /* [n] place in `now`, -1: none */
  unsigned char *kept, *struck, *part;     /* [n] in the problem; by an impact; in a part of it */
  unsigned char *mode;                     /* [n] PERP_FROZEN_* */
  unsigned char *none;                     /* [n] in a problem without a solution */
  double *stop;                            /* [9 n] critical.c */
  perp_arena arena;
} perp_event_at;

/* The evaluation in progress, or the last one. */
typedef struct perp_event_trial {
  double t, h;         /* s */
  const double *q, *v; /* [nq], [nv] */
  bool regular;        /* at the start of a step, not at a state on its way */
  bool decides;        /* the phase of the step */
  bool tries;          /* again, where no forces are found, with another `creep` */
  bool redundant;      /* forces of frozen contacts are not unique */
  perp_event_verdict verdict;
  int n;                /* contacts; 0: none rests */
  perp_island_row *row; /* [n_rows] of drives */
  int n_rows;
  double stopping;                   /* of the step: friction stops creeping within this time */
  double h_feedback;                 /* s: what stands for h in feedback (constrained.h) */
  double *before, *free;             /* [6 bodies] twists */
  double *f_free, *a_free, *a_asked; /* [nv] without contacts and rows; by complementarity */
  double *load;                      /* [bodies] N, by the root of an island */
} perp_event_trial;

/* Contacts at the start of a step, with forces [3 n]. */
typedef struct perp_event_shown {
  perp_contact *contact;
  double *force, *impulse;
  int n, cap;
} perp_event_shown;

/* The state accepted last, and how steps make progress. */
typedef struct perp_event_accepted {
  bool hit;       /* there was an impact, which */
  bool plastic;   /* gives nothing back; */
  bool rebounded; /* a limit did */
  int n_critical; /* contacts in a problem without a solution, of the step that ended there */
  int idle;       /* steps without progress since t_mark */
  int chatter;    /* steps without any in a row */
  double t_mark;  /* s */
  int events;     /* in the step since t_events */
  int span;       /* steps until modes are frozen again, at t_calm */
  double t_events, t_calm; /* s */
  perp_event_shown shown;
} perp_event_accepted;

struct perp_events {
  const perp_model *model;
  perp_event_opts opts;
  perp_event_settings settings;
  perp_event_step now, next, was; /* of the step; of the state accepted last; of the step before */
  perp_event_start start;
  perp_event_at at;
  perp_event_trial trial;
  perp_event_accepted accepted;
  struct {                                  /* critical.c */
    double *rhs, *response, *zero, *lambda; /* [nv], [nv], [m], [m] */
  } stop;
  perp_event_drives *drives; /* NULL: none */
  perp_collision *collision; /* NULL: no shapes */
  perp_islands *islands;
  const perp_stab_desc *stab; /* NULL: no shapes */
  void *stab_ws;
  perp_contact_post *post; /* NULL: contacts are not corrected after a step */
  double collision_s, lcp_s;
  char cause[384];
};

/* The contact of the step that contact i of the state is, NULL: none. */
static inline perp_event_contact *perp_events_of(const perp_events *events, int i)
{
  return events->at.of[i] >= 0 ? &events->now.list[events->at.of[i]] : NULL;
}
/* The same of a contact in the problem at hand, NULL: it is not. */
static inline perp_event_contact *perp_events_kept(const perp_events *events, int i)
{
  return events->at.kept[i] ? &events->now.list[events->at.of[i]] : NULL;
}
/* It rests in the step, or NULL. */
static inline perp_event_contact *perp_events_rested(const perp_events *events, int i)
{
  perp_event_contact *touching = perp_events_of(events, i);
  return touching != NULL && touching->state > PERP_CONTACT_TOUCHES ? touching : NULL;
}
static inline bool perp_event_rests(const perp_event_contact *touching)
{
  return touching->state > PERP_CONTACT_TOUCHES;
}
/* Are the modes of contacts and drives those of the start of the step? */
static inline bool perp_events_keeps_modes(const perp_events *events)
{
  return events->now.phase == PERP_PHASE_FROZEN || events->now.phase == PERP_PHASE_CONSULTED;
}
static inline bool perp_event_slides(const perp_event_contact *touching)
{
  return touching->state >= PERP_CONTACT_SLIDES;
}

/* Where contacts that rest stay at rest although a method of low order moved them: m as a part of
 * the largest body (see hold), m/s. */
#define PERP_HOLD_SPEED 0.01

/* Of steps: friction stops within one over this number what slides too slowly for its velocity to
 * be its direction. */
#define PERP_EVENTS_STIFF 2.0

/* Of opts.slip: what slid goes on down to that speed. */
#define PERP_EVENTS_STOPPED 1e-4

/* ---- events_state.c: contacts at a state ---- */

/* Velocity of b relative to a at a contact, world u [3], for v [nv] and these poses of its bodies.
 */
void perp_events_velocity_at(const perp_model *model, const perp_pose *pose_a,
                             const perp_pose *pose_b, const perp_contact *contact, const double *v,
                             double u[3]);
/* The same at the poses of an evaluation. */
void perp_events_velocity(const perp_model *model, const perp_eval *eval,
                          const perp_contact *contact, const double *v, double u[3]);
/* Its part along the normal at the poses of system. */
double perp_events_speed(const perp_events *events, const perp_constrained *system,
                         const perp_contact *contact, const double *v);
/* Sliding velocity of contact i at the poses of system, world slide [3]; its size. */
double perp_events_sliding(const perp_events *events, const perp_constrained *system, int i,
                           const double *v, double slide[3]);
/* Tangential part of u. */
void perp_events_tangential(int dim, const double n[3], const double u[3], double t[3]);
/* For messages. */
const char *perp_events_body(const perp_model *model, int body);
/* By how the counts of failures grew: the reason, PERP_EXACT when none did. */
perp_reason perp_events_failed(const perp_contact_count *before, const perp_contact_count *after);

/* Contacts at (t, q), and which contact of the step each of them is (of); system->e is at q. False:
 * system->status says why. */
bool perp_events_find(perp_events *events, perp_constrained *system, double t, const double *q);
/* Least gap of contacts that do not rest, with what they may be deep by; least sliding speed, in
 * the direction in which it began, of those that slide. */
void perp_events_lows(const perp_events *events, const perp_constrained *system, const double *v,
                      double *gap, double *speed);
/* Has a body passed another one since the start of the step, so fast that neither end shows it? */
bool perp_events_passed(perp_events *events, const double *q);

/* Room for n elements of size bytes in *array, and some more; keeps its contents. */
perp_status perp_events_grow(perp_ctx *ctx, void *array, size_t size, int n, int *cap);
/* The contacts found last, for which there is room, are those at the start of a step. */
void perp_events_see(perp_events *events);
/* How deep may this contact be, m, because it was not there at the start of the step, though its
 * pair was as near?  0: it was, or the pair was not. */
double perp_events_unseen(const perp_events *events, const perp_contact *contact);

/* Jdot v as a vector: tangential parts from those of d(u)/dt, normal part d(n u)/dt.
 * Zero where the contact is not found on both sides. */
void perp_events_rate(const perp_events *events, const perp_eval *eval, const perp_contact *contact,
                      const double *q, const double *v, double out[3]);
/* Room for n contacts; the arrays lose their contents. */
perp_status perp_events_reserve(perp_ctx *ctx, perp_events *events, int n);

/* ---- events_mode.c: what contacts do in a step ---- */

/* Modes of the contacts at rest from the forces and accelerations system->a that complementarity
 * has found: open or pressing; sticking unless they slide.  Were they the same? */
bool perp_events_modes(perp_events *events, const perp_constrained *system);
/* Least distance of the frozen forces from a bound: normal forces from 0, friction that sticks from
 * mu times them, over `scale`. */
double perp_events_margin(const perp_events *events);
/* Are the frozen forces those that complementarity found when it was asked last, at the same
 * normals?  Then they are as much within their bounds, whatever their margin. */
bool perp_events_certified(const perp_events *events);
/* They are those that it has found now. */
void perp_events_certify(perp_events *events);
/* Contacts that stick beyond what friction can hold begin to slide, against the frozen forces; how
 * many.  Which: by these forces where they are unique, else those that the last solution of
 * complementarity (trial.a_asked) lets slide. */
int perp_events_release(perp_events *events, const perp_constrained *system, bool unique);
/* Contacts that begin to slide, or do so slowly, turn to the velocity after a step h with the
 * accelerations of that solution, by this part of the way; the largest difference of the unit
 * vectors. */
double perp_events_turn(perp_events *events, const perp_constrained *system, double part);
/* Would friction stop them within the step?  First (test = false) they are made to stick at its
 * end, u + h a = 0; with the frozen forces of that (test) those that friction can hold slide as
 * they did and do not turn. */
void perp_events_ahead(perp_events *events, const perp_constrained *system, bool test);
/* What would slide back at the end of the step stops first: it slides as it did.  True: there are
 * some. */
bool perp_events_reversed(perp_events *events, const perp_constrained *system);
/* In a step h: which sliding contacts have a velocity that friction may turn round? */
void perp_events_steady(perp_events *events, const perp_constrained *system);
/* Relative acceleration of contact i with a [nv], world w [3]. */
void perp_events_acceleration(const perp_events *events, const perp_constrained *system, int i,
                              const double *a, double w[3]);
/* Largest difference of the relative accelerations that a and b [nv] give to contacts at rest. */
double perp_events_apart(const perp_events *events, const perp_constrained *system, const double *a,
                         const double *b);
/* Largest relative acceleration of contacts at rest with a [nv]. */
double perp_events_largest(const perp_events *events, const perp_constrained *system,
                           const double *a);
/* Least normal acceleration of those that are open, with system->a. */
double perp_events_opening(const perp_events *events, const perp_constrained *system);

/* ---- events_turning.c: directions of slow sliding ---- */

/* In a step h that begins with the accelerations system->a: which slow contacts slide along a
 * direction that turns? */
void perp_events_turning_begin(perp_events *events, const perp_constrained *system);
/* Direction d [3] of a contact that turns, at time t; rad/s, how fast it turns then. */
void perp_events_turning_direction(const perp_event_contact *touching, const perp_contact *contact,
                                   double t, double d[3]);
double perp_events_turning_rate(const perp_event_contact *touching, double t);
/* At t_new, the end of a step: `next` goes on with the sliding of `now`, at this contact. */
void perp_events_turning_next(const perp_events *events, const perp_event_contact *now,
                              const perp_contact *contact, double t_new, perp_event_contact *next);

/* ---- events_accumulate.c ---- */

/* May steps be of first order?  Is the one that begins at t, or the one at hand? */
bool perp_events_may_hold(const perp_events *events);
bool perp_events_holds(const perp_events *events, double t);
/* The step that begins, for which no forces were found, is to be of first order. */
void perp_events_hold(perp_events *events);
/* The state accepted last, `next`, is where a step begins at time t: is it of first order?  event:
 * modes changed, or bodies hit. */
void perp_events_accumulate(perp_events *events, double t, bool event);

/* ---- events_impact.c ---- */

/* Impulses at the contacts `kept`: v becomes the velocity after the impact. */
bool perp_events_impact(perp_events *events, perp_constrained *system, double *v);
#endif
