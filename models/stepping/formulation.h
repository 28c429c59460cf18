/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulations: how a scene becomes numbers that march in time. */
#ifndef PERP_FORMULATION_H
#define PERP_FORMULATION_H

#include "models/contact/laws/contact.h"
#include "models/multibody/model.h"
#include "models/collision/collision.h"
#include "solvers/ode/ode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The exchangeable parts of a simulation.  A part that a formulation does not use may be empty. */
typedef struct perp_parts {
  perp_spec formulation, ode, kkt, lcp, stab, contact;
  perp_spec engine; /* a whole engine (engine.h) in place of all the others */
} perp_parts;

/* What a formulation reports about the last step besides the state. */
/* Which time the forces of a step belong to; docs/explanation/mechanisms.md has the table. */
typedef enum perp_forces_time {
  PERP_FORCES_MEAN,        /* impulses / h: the mean of the step, with J at its start */
  PERP_FORCES_MEAN_MIDDLE, /* the same, with J in the middle of the step */
  PERP_FORCES_AT_START,    /* forces at the state where the step starts */
  PERP_FORCES_AT_STATE /* of the accelerations at the state itself: joint coordinates, which have
                          no multipliers */
} perp_forces_time;

typedef struct perp_step_info {
  perp_reason reason;   /* < 0: the step failed; the state is the last good one */
  double drift_pos_pre; /* |C|_inf before the post-step, m or rad, that after when there is no
                         * post-step; NaN: unknown */
  /* [m] multipliers, forces (N, N m) on either level; NULL when unknown.  Velocity level: all
   * impulses of the step over h, those of projections of its velocity too: the mean force of the
   * step, to first order; unknown in a first step from a motion without such projections
   * (contact/step/velocity_step.c).  Acceleration level: at the start of the step, or at the last
   * derivative of it for methods that evaluate none at a regular state.  Where rows are redundant:
   * those of least norm (redundancy.h). */
  const double *lambda;
  /* [6 bodies] of point-mass, h^2 included: multipliers of the lengths and of the angles of the
   * vectors of a body, those of the angle between the second and the third one first; NULL:
   * rigidity is no constraint. */
  const double *rigidity;
  double h_stable;     /* s, longest stable step of symplectic-euler, at the start; 0: not known */
  const double *drive; /* [drives] force of each drive along its x, limits included; NULL: none */
  /* Contacts of the step, found at its start, and the impulse of each on its body b, world frame,
   * N s: impulse [3 n_contacts].  NULL when there are none.  They live until the next call. */
  int n_contacts;
  const perp_contact *contacts;
  const double *impulse;
  double tolerance; /* m: the separation that contacts keep (perp_collision_tolerance) */
  bool untold;      /* of an engine: what is NULL above has acted, and nobody knows how much */
  int asleep;       /* bodies that sleep after the step, see sleep.h */
  /* Joints that broke, points that left their curves and bodies that were enabled or disabled since
   * the restart, in the order of time, and [joints] which joints do not hold, or not where the
   * model has them; NULL when no joint can be. */
  int n_releases;
  const struct perp_release *release;
  const bool *released;
  const char *cause; /* reason < 0: more about it, in words; NULL or "": nothing.  Lives as long. */
  perp_forces_time forces_time; /* of lambda, drive and impulse; perp_sim_step says so */
  int n_critical; /* contacts at rest that no accelerations and forces satisfy, see critical.c */
  /* Of long steps whose means say little (controlled.h): lambda and drive at the end of the step,
   * and contacts with their impulses of the time h_end before it.  lambda_end NULL: there are none.
   */
  const double *lambda_end, *drive_end;
  double h_end;
  int n_contacts_end;
  const perp_contact *contacts_end;
  const double *impulse_end;
} perp_step_info;

/* Redundant constraints since the last restart: rows of J that depend on others at the scale of the
 * constraint error (redundancy.h), which are left out. */
typedef struct perp_redundant {
  int rows, most;   /* now; at most */
  int joint;        /* the first joint with such a row, -1: none so far */
  int changes;      /* of their number from one step to the next: singular positions */
  double t_change;  /* s, of the first change, NaN: none */
  int joint_change; /* with a row that was dependent before or after the last change */
  double sigma;     /* least sine of the angle between a row that is in and the others, where it was
                       looked at, */
  double t_sigma;   /* s: when */
  int near;         /* steps of a length that reaches the singular position, sigma < h |v| / size */
} perp_redundant;

/* What a time stepping remembers besides its state, of the start and of the end of a step that is
 * made more than once. */
typedef enum perp_step_end { PERP_AT_START, PERP_AT_END, PERP_ENDS } perp_step_end;

/* A point passed the end of its curve, or a joint broke: the step was cut there (switches.c), the
 * joint has no rows (J = 0) from then on; or a body was enabled or disabled, and with it the joint
 * that holds it (perp_disabled_def); or parts stopped (perp_stop_def: joint is the number of
 * these). */
typedef enum perp_release_kind {
  PERP_RELEASE_CURVE,
  PERP_RELEASE_BROKE,
  PERP_RELEASE_ENABLED,
  PERP_RELEASE_DISABLED,
  PERP_RELEASE_STOPPED
} perp_release_kind;
typedef struct perp_release {
  perp_release_kind kind;
  int joint;
  double t, s;  /* s of the curve: the end of its domain, to 1e-9 of it; else NaN */
  double force; /* N, by which it broke; else 0 */
} perp_release;

typedef struct perp_times { /* wall clock, s, since the last restart, only while timing is on */
  double collision, assembly, kkt, lcp, integrate;
} perp_times;

/* Simulation groups since the last restart: see groups.c. */
typedef struct perp_group_count {
  int groups, idle;   /* at the end of the last step */
  int most;           /* at a time */
  int64_t merges;     /* groups made out of others that met */
  int64_t splits;     /* groups that fell apart */
  int64_t aborted;    /* transactions that ended in a meeting and were run again */
  int64_t advanced;   /* advances of a group to a common time that were kept */
  int64_t undone;     /* that were rolled back */
  int64_t skipped;    /* that were not needed: the group was idle */
  int64_t steps;      /* of the solvers of all groups, those rolled back too */
  int64_t rhs_bodies; /* evaluations of the right-hand side, each counted with its bodies */
  double advance_s,
      restart_s; /* wall clock, s, while timing is on: all, and what restarts cost of it */
} perp_group_count;

typedef struct perp_group_info {
  int bodies, first; /* how many, and the first of them */
  bool idle;
  int64_t steps, rhs; /* since the group was formed */
  double h;           /* s, its last step */
} perp_group_info;

typedef struct perp_formulation_desc {
  perp_desc d;
  /* Model is borrowed and must outlive *ws.  h: the step (first step of adaptive methods). */
  perp_status (*create)(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                        void **ws);
  perp_status (*restart)(perp_ctx *ctx, void *ws, double t, const double *q, const double *v);
  /* Make one accepted step, not beyond t_max.  PERP_OK also when the simulation failed: info
   * says so. */
  perp_status (*step)(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
  /* Current state in the coordinates of the model; the arrays live until the next call. */
  void (*state)(const void *ws, double *t, const double **q, const double **v);
  /* Dense output: see perp_sim_dense_at.  NULL: there is none. */
  perp_status (*dense)(perp_ctx *ctx, void *ws, double t, double *q, double *v, double *lambda);
  void (*counters)(const void *ws, perp_ode_counters *ode, perp_stats *kkt);
  void (*timing)(void *ws, bool on, perp_times *times); /* switch breakdown; times may be NULL */
  void (*destroy)(void *ws);
  /* Contact problems since the last restart, and an observer of them; NULL: no contacts. */
  const perp_contact_count *(*contacts)(const void *ws);
  void (*observe)(void *ws, perp_contact_observer *observer, void *user);
  /* PERP_FORM_WRAPS: the formulation that runs inside, empty for the default; the caller frees it.
   */
  perp_status (*inner)(perp_ctx *ctx, const void *opts, perp_spec *formulation);
  /* Likewise: how it is divided, and its i-th group (< count->groups). */
  const perp_group_count *(*groups)(const void *ws);
  void (*group)(const void *ws, int i, perp_group_info *info);
  /* Where the KKT solver has another model than the one of the formulation (velocity-implicit):
   * that model, finished, which the caller destroys.  Else NULL. */
  perp_status (*lift)(perp_ctx *ctx, const perp_model *model, const void *opts,
                      perp_model **lifted);
  /* The stabilization that is meant where none is named, with these options; NULL, or NULL
   * returned: as of perp_sim_create. */
  const char *(*stab)(const void *opts);
  /* Derivatives of its steps (gradient.h); NULL: it has none. */
  const struct perp_derivative_calls *derivative;
} perp_formulation_desc;

enum {
  PERP_FORM_USES_ODE = 1 << 0,
  PERP_FORM_USES_KKT = 1 << 1,
  PERP_FORM_USES_STAB = 1 << 2,
  PERP_FORM_USES_LCP = 1 << 3,
  PERP_FORM_CONTACTS = 1 << 5, /* serves models with shapes; others refuse them */
  PERP_FORM_DRIVES = 1 << 6,   /* serves models with drives; others refuse them */
  PERP_FORM_SERVOS = 1 << 25,  /* serves drives whose force is a function of the state (servos.h),
                                  and refuses other drives */
  PERP_FORM_MOTORS = 1 << 26,  /* and motors without damping whose force has no bound (motors.h) */
  PERP_FORM_WRAPS = 1 << 7,    /* runs another formulation, which decides what it serves and uses */
  PERP_FORM_EVENTS =
      1 << 8, /* steps end at impacts: contact forces are on the acceleration level */
  PERP_FORM_SPRINGS = 1 << 9,  /* serves joints with stiffness or damping; others refuse them */
  PERP_FORM_SIGNALS = 1 << 11, /* serves gravity, forces and drives that depend on time, and
                                  surfaces that move; others refuse them */
  PERP_FORM_MOTIONS = 1 << 12, /* serves bodies whose motion is prescribed; others refuse them */
  PERP_FORM_NONHOLONOMIC =
      1 << 13,                   /* serves rows on velocities alone (joint.h); others refuse them */
  PERP_FORM_ARMATURES = 1 << 24, /* serves inertia on joint axes; others refuse it */
  PERP_FORM_COUPLES =
      1 << 15, /* serves surfaces that resist spinning and rolling (shape.h); others refuse them */
  PERP_FORM_ANISOTROPIC =
      1 << 19, /* serves surfaces with anisotropic friction (shape.h); others refuse them */
  PERP_FORM_EXACT_JOINTS = 1 << 14, /* what it does for joints needs no stabilization, which has a
                                       say in contacts alone */
  PERP_FORM_CANONICAL = 1 << 16, /* coordinates without constraints: what is symplectic for them is
                                    so for a tree of joints */
  PERP_FORM_BREAKS = 1 << 18,    /* serves joints that break: it reports their forces, and has their
                                    rows from the model; others refuse them */
  PERP_FORM_COMPLIANT = 1 << 17, /* all rows of joints are compliant: none is redundant */
  PERP_FORM_DISABLED = 1 << 20,  /* serves bodies that are disabled for a time, and parts that stop;
                                    others refuse them */
  /* Which time the multipliers, drives and contacts that it reports belong to (step_forces.h);
   * neither: they are impulses over h, of the J at the start of the step; both: at the start for
   * models without shapes and drives, else in the middle. */
  PERP_FORM_FORCES_AT_START = 1 << 21, /* forces at the start of the step */
  PERP_FORM_FORCES_MIDDLE = 1 << 22,   /* impulses over h, of the J in the middle of the step */
  /* What parts are by default: */
  PERP_FORM_FEEDBACK = 1 << 10, /* the velocity of a step takes up a feedback of drift: baumgarte */
};

/* Fill the empty parts that the formulation uses for this model with the defaults of sim.c; the
 * caller frees the specs.  lcp and contact stay empty for a model without shapes.  On failure
 * (PERP_ERR_OPTION: a default that is not registered; PERP_ERR_NOMEM) those filled so far stay. */
perp_status perp_parts_complete(perp_ctx *ctx, const perp_model *model, perp_parts *parts);
/* Frees the specs; all are empty then. */
void perp_parts_free(perp_parts *parts);

/* The formulation that decides which parts are used: that of parts, where it is empty the default,
 * and where it runs another one (PERP_FORM_WRAPS) that one.  *formulation out, the caller frees it;
 * empty on failure.  Errors as of perp_spec_parse.  Allocates the options. */
perp_status perp_parts_formulation(perp_ctx *ctx, const perp_parts *parts, perp_spec *formulation);

/* A running simulation: model + parts. */
typedef struct perp_sim perp_sim;
/* Borrows the model; options are read here only.  Starts at t = 0 in the initial state of the
 * model.  Empty parts that the formulation uses get defaults: formulation `velocity` when the
 * ode is empty or makes one evaluation a step, else `acceleration`; ode `symplectic-euler`; kkt
 * `tree`; stab `baumgarte` (velocity level, multistep methods), `split` (velocity level, models
 * with shapes) or `post:velocity=true`.  h > 0 [s]. PERP_ERR_ARG: h, a model that is not finished
 * or whose state `ode` refuses; PERP_ERR_UNSUPPORTED: parts that do not fit together, an engine
 * with other parts, or with a model that it does not serve; PERP_ERR_EXTERNAL: an engine that is
 * not here; else what the parts answer. */
perp_status perp_sim_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                            perp_sim **out);
void perp_sim_destroy(perp_sim *sim); /* NULL is fine */
/* q [nq], v [nv] of the model; quaternions are normalized.  PERP_ERR_ARG when not finite.  No
 * allocation. */
perp_status perp_sim_restart(perp_ctx *ctx, perp_sim *sim, double t, const double *q,
                             const double *v);
/* For restarts from now on: x of a drive that turns is within half a turn of this, and not of its
 * `zero`. */
void perp_sim_turned(perp_sim *sim, int drive, double x);
/* The same of a chain of slides and hinges: chain `to` is where chain `from` of another model was
 * at its last accepted state. */
void perp_sim_chained(perp_sim *sim, const perp_model *whole, int from, int to);
/* One accepted step, not beyond t_max; *info out.  PERP_OK also when the simulation failed:
 * info->reason < 0, and the state is the last good one.  Other answers: a part could not work at
 * all (PERP_ERR_NOMEM, say); the state is then undefined until the next restart.  No allocation
 * unless a part has PERP_CAP_ALLOCATES. */
perp_status perp_sim_step(perp_ctx *ctx, perp_sim *sim, double t_max, perp_step_info *info);
void perp_sim_state(const perp_sim *sim, double *t, const double **q, const double **v);
/* The state at a time t of the last step, its ends included, in the coordinates of the model: q
 * [nq], v [nv]; see perp_ode_dense_at.  lambda [m]: the multipliers that a step from there would
 * report, all NaN where the formulation does not know any; NULL: not wanted.  The steps to come do
 * not notice, to the last bit.  PERP_ERR_UNSUPPORTED: the formulation has no dense output (velocity
 * level and impulses: what changes velocities there is an impulse of the whole step; groups; curves
 * that end) or not here (contacts at rest, drives), or the method no state at t; PERP_ERR_ARG: t
 * outside the last step; PERP_ERR_NOMEM.  Allocates at the first call. */
perp_status perp_sim_dense_at(perp_ctx *ctx, perp_sim *sim, double t, double *q, double *v,
                              double *lambda);
/* ode since creation; kkt since the last restart, its residual NaN (nobody judged).  Either may
 * be NULL. */
void perp_sim_counters(const perp_sim *sim, perp_ode_counters *ode, perp_stats *kkt);
void perp_sim_timing(perp_sim *sim, bool on, perp_times *times);
/* Why the integrator, which is symplectic for accelerations of positions alone, makes no symplectic
 * steps of this model with this formulation: a clause, "joints act on ..."; NULL: nothing known is
 * in the way, or it is none. */
const char *perp_sim_not_symplectic(const perp_sim *sim);
/* Contact problems since the last restart; NULL when the formulation has none. */
const perp_contact_count *perp_sim_contacts(const perp_sim *sim);
/* Let observer see every contact problem of the steps to come (NULL: no longer).  False when the
 * formulation has none. */
bool perp_sim_observe(perp_sim *sim, perp_contact_observer *observer, void *user);
/* Redundant constraints since the last restart; NULL: joints form no loops, or the formulation has
 * no KKT system whose rank is decided (reduced, penalty, ...). */
const perp_redundant *perp_sim_redundant(const perp_sim *sim);
/* Of a simulation by an engine: its version and all that decides about its numbers, as it uses it:
 * "ode 0.16.2, solver=quick, ...".  False, and text "": it is none. */
bool perp_sim_resolved(const perp_sim *sim, char *text, size_t size);
/* Mechanical energy as the engine itself has it, J; NaN: it does not say, or it is no engine. */
double perp_sim_engine_energy(const perp_sim *sim);
/* The time of the forces of steps.  Joint coordinates with contacts, limits or motors have means.
 */
perp_forces_time perp_sim_forces_time(const perp_sim *sim);
/* Are the joints exact by their coordinates, without multipliers? */
bool perp_sim_joint_coordinates(const perp_sim *sim);
/* Simulation groups; NULL when the formulation has none.  Valid until the next call. */
const perp_group_count *perp_sim_groups(const perp_sim *sim);
/* 0 <= i < groups of the count. */
void perp_sim_group(const perp_sim *sim, int i, perp_group_info *info);

#ifdef __cplusplus
}
#endif

#endif
