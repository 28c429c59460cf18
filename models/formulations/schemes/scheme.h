/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the time-stepping schemes of real-time engines share: the rows of a step, Gauss-Seidel on
 * them, and all of a formulation but its step.
 *
 * A row of a joint, limit, motor or contact is, with an impulse p (N s, N m s),
 *
 *      w = J v + soft p + bias,      lo <= p <= hi,      p complementary to w
 *
 * between two bodies at most, J v a velocity (m/s, rad/s).  A scheme says what the bias of a rigid
 * row is, and when velocities and positions are changed; springs and servos bring their own
 * softness and bias,
 *
 *      soft = 1 / (h (h k + d)),      bias = k C / (h k + d).
 *
 * Gauss-Seidel goes from row to row, p <- clamp(p - w / (A + soft)) with A = J M^-1 J', v += M^-1
 * J' dp; the friction of a contact is one block with its disk |p_t| <= mu p_n, exact where it
 * sticks. It makes as many sweeps as it is asked for and no test: such steps count as swept
 * (perp_contact_count), and runs as fixed work.
 *
 * Contacts are found once a step, at its start; within it their gap moves with the bodies, gap +=
 * h n . u, their normal stays.  Guesses are the impulses of the step before, of contacts by their
 * identity.  Sweeps read contacts in the world, in a form of their own (perp_scheme_contact);
 * schemes that need J of each row ask for contact_rows. */
#ifndef PERP_SCHEME_H
#define PERP_SCHEME_H

#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/stepping/constrained.h"
#include "models/stepping/time_grid.h"
#include "solvers/core/clones.h"

typedef enum perp_scheme_kind {
  PERP_SCHEME_JOINT, /* free: J v + Ct = 0, and C = 0 */
  PERP_SCHEME_OWN,   /* a spring, servo or motor: bias and soft are its own */
  PERP_SCHEME_LIMIT, /* 0 <= p: C is what is left to the stop */
  /* where contacts are rows, too */
  PERP_SCHEME_NORMAL, /* 0 <= p: C is the gap */
  PERP_SCHEME_TANGENT
} perp_scheme_kind;

typedef struct perp_scheme_row {
  perp_scheme_kind kind;
  int body[2];    /* PERP_WORLD: none */
  double J[2][6]; /* [nvb] of each */
  double W[2][6]; /* M_b^-1 J' */
  double A;       /* J M^-1 J', 1/kg */
  double C;       /* m, rad: error, gap or what is left to a stop, now */
  double start;   /* C at the start of the step */
  double given;   /* C_t, or what a surface that moves adds; of its own kind: bias */
  double own;     /* S of the model, or of its own kind */
  double bias, soft;
  double lo, hi, p;
  double total;    /* p of all substeps of the step */
  double approach; /* of limits and normals: C' at the start of the step */
  double e;        /* restitution */
  double k;        /* kg, h^2 times a penalty that is kept from step to step (avbd); others: 0 */
} perp_scheme_row;

/* A body in the world: its velocity while contacts are swept, its inverse inertia.  In the plane w
 * is the whole velocity (vx, vy, omega), and the first of I the diagonal of M^-1. */
typedef struct perp_scheme_body {
  _Alignas(64) perp_v4 v; /* with w what sweeps read: a line of the cache */
  perp_v4 w, before;      /* w before */
  perp_v4 I[3];           /* columns of R I^-1 R' */
  double part;            /* 1 / mass; 0: the world */
  bool touched, round;    /* it has contacts; turns do not change I: a number, or in the plane */
} perp_scheme_body;

/* A contact as sweeps read it.  Numbers [3] are of the normal and two tangents; in the plane the
 * last is 0. */
typedef struct perp_scheme_contact {
  perp_v4 turn[2][3]; /* -r_a x d, r_b x d: from the centres to the contact; in the plane J */
  perp_v2 stick[2];   /* columns of A^-1 of the tangents, 0: singular */
  double p[3], bias[3];
  double soft, inverse; /* of the normal: S and 1 / (A + S) */
  double slide, mu;     /* 1 / the largest eigenvalue of A of the tangents */
  int row;              /* where contacts are rows, too: its first */
  bool slides;          /* its friction is at its bound */
} perp_scheme_contact;

/* What sweeps do not read of a contact: of the normal, as those of a row. */
typedef struct perp_scheme_gap {
  double A, C, approach, e, total[3];
} perp_scheme_gap;

/* J M^-1 J' of a contact with one before it in its four: of normals; of tangents, times the
 * inverse of its A. */
typedef struct perp_scheme_tie {
  perp_v2 tangents[2];
  double normal;
} perp_scheme_tie;

/* Contacts of two shapes with one normal, which follow each other.  J and what belongs to it are in
 * the world, where they are the same in the whole step. */
typedef struct perp_scheme_pair {
  perp_v4 d[3];            /* n, t1, t2 */
  int first, end, body[2]; /* contacts; 1 + bodies, 0: the world */
  int tie;                 /* its first: of contact 1 with 0, of 2 with 0 and 1, ... of each four */
} perp_scheme_pair;

typedef struct perp_scheme_memory {
  uint64_t id;
  double impulse[3]; /* on b, in the world, N s */
  double k[3];
  bool slides;
} perp_scheme_memory;

/* Options of all schemes; the first member of theirs. */
typedef struct perp_scheme_opts {
  double threshold, slip;
  bool warm;
  int order, threads;
} perp_scheme_opts;
enum { PERP_SCHEME_FORWARD, PERP_SCHEME_COLOURED };
extern const char *const perp_scheme_orders[];
#define PERP_SCHEME_OPTIONS                                                                        \
  PERP_REAL(perp_scheme_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                              \
            "Approach speed above which restitution is applied."),                                 \
      PERP_REAL(perp_scheme_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",                               \
                "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use "  \
                "it if they slid in the previous step.")
#define PERP_SCHEME_OPTION_WARM                                                                    \
  PERP_BOOL(perp_scheme_opts, warm, true,                                                          \
            "Use the impulses of the previous step as the initial guess.")
#define PERP_SCHEME_OPTIONS_SWEEP                                                                  \
  PERP_ENUM(perp_scheme_opts, order, PERP_SCHEME_FORWARD, perp_scheme_orders,                      \
            "Order of the pairs of bodies in a sweep. forward: that of the contacts. coloured: "   \
            "groups of pairs that share no moving body, four pairs at a time."),                   \
      PERP_INT(perp_scheme_opts, threads, 1, 1, 256,                                               \
               "Number of threads for collision detection and, with order=coloured, sweeps.")

/* Capabilities of a formulation that is a scheme: nothing but models, no other parts. */
#define PERP_SCHEME_CAPS                                                                           \
  (PERP_FORM_CONTACTS | PERP_FORM_DRIVES | PERP_FORM_SPRINGS | PERP_FORM_SIGNALS |                 \
   PERP_FORM_MOTIONS | PERP_FORM_BREAKS)

typedef struct perp_scheme {
  const perp_model *model;
  const char *name;
  perp_scheme_opts o;
  /* q1, v1 from q, v at t; positive, or why the step failed (the state then stays) */
  perp_reason (*step)(struct perp_scheme *s, double t, double h);
  perp_ctx *ctx; /* of the call in progress */
  perp_status status;
  perp_time_grid grid;
  perp_eval e;
  bool known;      /* e is that of q at grid.t */
  double *q, *v;   /* state */
  double *q1, *v1; /* end of the step in the making */
  double *f;       /* [nv] */
  double *Ct;      /* [m] */
  double *moved;   /* [nq] */
  double *reach;   /* [bodies] */
  double *lambda;  /* [m] mean force of the last step */
  double *force;   /* [drives] */
  /* what the step before has left of joints [m] and drives [3 drives], and its length, 0: none */
  struct {
    double *joint, *drive;     /* impulses */
    double *joint_k, *drive_k; /* as k of a row */
  } guess;
  double h_before;
  perp_collision *collision; /* NULL: no shapes */
  const perp_contact *found; /* [n_contacts] */
  int n_contacts;
  /* rows [n]: drives, joints from `joints` on; where contact_rows, contacts from `contacts` on */
  perp_scheme_row *row;
  int n, joints, contacts;
  bool contact_rows; /* contacts are rows, too: set by schemes that do not sweep over contacts */
  int *slot; /* [contacts] of drive rows: 3 drive + 0 (motor), 1 (lower), 2 (upper); of joints their
                row */
  perp_scheme_contact *contact; /* [n_contacts] */
  perp_scheme_gap *gap;         /* [n_contacts] */
  perp_scheme_pair *pair;       /* [pairs] */
  int pairs;
  struct {
    struct perp_scheme_lanes *lanes; /* NULL: pairs are swept in their order */
    int *order;                      /* [2 pairs] scratch */
    uint64_t *used;                  /* [1 + bodies] scratch */
  } coloured;
  bool dynamic; /* a contact has another friction when it slides */
  perp_scheme_tie *tie;
  perp_scheme_body *body; /* [1 + bodies] */
  double *impulse;        /* [3 n_contacts] */
  struct {
    perp_scheme_memory *now, *next; /* of the step before [n], and in the making */
    int n;
  } memory; /* of contacts */
  int cap;  /* contacts that there is room for */
  perp_contact_count count;
  perp_arena grown;
  double drift;
  struct {
    bool on;
    double step, assembly, collision; /* s */
  } clock;
} perp_scheme;

/* ---- a formulation ---- */

/* The memory of ws, a perp_scheme or what begins with one: a perp_layout_fn, whole where a scheme
 * has nothing of its own. */
void perp_scheme_layout(void *ws, perp_arena *arena);
/* A workspace like *like (size bytes, which begin with a perp_scheme whose step is set), its
 * options those of the formulation.  layout calls perp_scheme_layout.  PERP_ERR_UNSUPPORTED:
 * joints of more than two bodies.  Allocates; later only where there are more contacts than ever.
 * *ws NULL on failure. */
perp_status perp_scheme_create(perp_ctx *ctx, const perp_model *model, const perp_parts *parts,
                               double h, perp_scheme *like, size_t size, perp_layout_fn *layout,
                               void **ws);
/* The rest of the descriptor: see formulation.h. */
void perp_scheme_destroy(void *ws);
perp_status perp_scheme_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                const double *v);
perp_status perp_scheme_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
void perp_scheme_state(const void *ws, double *t, const double **q, const double **v);
void perp_scheme_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt);
void perp_scheme_timing(void *ws, bool on, perp_times *times);
const perp_contact_count *perp_scheme_contacts(const void *ws);
void perp_scheme_observe(void *ws, perp_contact_observer *observer, void *user);
#define PERP_SCHEME_FUNCTIONS                                                                      \
  .restart = perp_scheme_restart, .step = perp_scheme_step, .state = perp_scheme_state,            \
  .counters = perp_scheme_counters, .timing = perp_scheme_timing, .destroy = perp_scheme_destroy,  \
  .contacts = perp_scheme_contacts, .observe = perp_scheme_observe

/* ---- rows: scheme_rows.c ---- */

/* Contacts and rows of a step that begins at t in q with v; q1 = q, v1 = v; guesses are there,
 * scaled to impulses of a substep `part`.  False: scheme->status says why, or the state is not
 * finite.
 * */
bool perp_scheme_begin(perp_scheme *scheme, double t, double h, double part);
/* The rows of joints and drives at (t, q1), those of contacts with the bodies turned to there; h:
 * of the substep to come. Impulses stay. */
void perp_scheme_refresh(perp_scheme *scheme, double t, double h);
/* What is left of the step for the next one: impulses, forces of joints and drives.  h: the whole
 * step, part: the last substep. */
void perp_scheme_remember(perp_scheme *scheme, double h, double part);

/* Memory for n contacts; what is remembered stays. */
perp_status perp_scheme_reserve(perp_ctx *ctx, perp_scheme *scheme, int n);

/* ---- contacts: scheme_contacts.c, scheme_sweep.c ---- */

/* What steps do not change of bodies. */
void perp_scheme_bodies(perp_scheme *scheme);
/* The contacts that were found, between bodies as scheme->e has them that move with v; guesses are
 * impulses of the step before, times scale. t_end: of the step, when belts move. */
void perp_scheme_contacts_begin(perp_scheme *scheme, double t_end, double scale);
/* What the step before has left of the contact with this id, NULL: nothing.  Ids that are asked
 * for grow, at is 0 at first. */
const perp_scheme_memory *perp_scheme_recall(const perp_scheme *scheme, uint64_t id, int *at);
/* Inertia of bodies as they are turned in scheme->e, and all that follows from it. */
void perp_scheme_contacts_refresh(perp_scheme *scheme);
/* Impulses and what slides, for the next step. */
void perp_scheme_contacts_remember(perp_scheme *scheme);

/* Velocities of bodies with contacts from v [nv] into the world, and back. */
void perp_scheme_load(perp_scheme *scheme, const double *v);
void perp_scheme_store(const perp_scheme *scheme, double *v);
/* Gaps after a move of h with the velocities that are loaded. */
void perp_scheme_contacts_move(perp_scheme *scheme, double h);
/* n sweeps over contacts on the velocities that are loaded; friction: or over the normal rows
 * alone; warm: v += M^-1 J' p of all contacts before. */
void perp_scheme_contacts_sweep(perp_scheme *scheme, int n, bool friction, bool warm);
/* Of the normal row of a contact of a pair, on the velocities that are loaded: J v, and v += M^-1
 * J' p. */
double perp_scheme_approach(const perp_scheme *scheme, const perp_scheme_pair *pair, int contact);
void perp_scheme_contact_push(perp_scheme *scheme, const perp_scheme_pair *pair, int contact,
                              double p);

/* ---- threads: scheme_team.c ---- */

/* How many threads share the work over pairs. */
int perp_scheme_threads(const perp_scheme *scheme);
/* part(scheme, first, end, how) for shares [first, end) of the pairs, by these threads. */
typedef void perp_scheme_part(perp_scheme *scheme, int first, int end, const void *how);
void perp_scheme_shared(perp_scheme *scheme, perp_scheme_part *part, const void *how);

/* ---- contacts by colours: scheme_lanes.c, scheme_lanes_sweep.c ---- */

typedef struct perp_scheme_lanes perp_scheme_lanes;
perp_status perp_scheme_lanes_create(perp_ctx *ctx, perp_scheme *scheme);
void perp_scheme_lanes_free(perp_scheme *scheme);
/* Colours of the pairs and masses of their contacts.  Allocates for more contacts than ever:
 * PERP_ERR_NOMEM. */
perp_status perp_scheme_lanes_begin(perp_scheme *scheme);
/* Masses alone, again: those that change as bodies turn. */
void perp_scheme_lanes_masses(perp_scheme *scheme, bool again);
/* As perp_scheme_contacts_sweep. */
void perp_scheme_lanes_sweep(perp_scheme *scheme, int n, bool friction, bool warm);

/* ---- parts of a step: scheme_common.c ---- */

/* v1 += h M^-1 f(t, q1, v1), q1 those of scheme->e; the gyroscopic torque by the implicit midpoint
 * rule (perp_gyro_implicit). */
void perp_scheme_forces(perp_scheme *scheme, double t, double h);
/* q1 = q1 [+] h u; gaps of contacts change with it. */
void perp_scheme_move(perp_scheme *scheme, double h, const double *u);

/* What a scheme adds to J v of a rigid row that is off by C, of contacts and limits C <= 0:
 *
 *      w = J v + S p + max(rate min(0, C + slop), -push),      S = soft A,
 *
 * without bounds and slop for joints, without slop for limits.  Rates in 1/s. */
enum { PERP_SCHEME_OF_JOINT, PERP_SCHEME_OF_LIMIT, PERP_SCHEME_OF_BODIES, PERP_SCHEME_OF_GROUND };
typedef struct perp_scheme_feedback {
  double rate[4], soft[4]; /* joints; limits; contacts of two bodies, and of one that moves */
  double slop, push;       /* m, m/s */
} perp_scheme_feedback;
/* None. */
extern const perp_scheme_feedback perp_scheme_rigid;
/* The same rate for all. */
perp_scheme_feedback perp_scheme_rate(double rate);
/* That of Baumgarte, as solver2d has it: a fifth of the error over h, of a contact only what is
 * deeper than the slop, m. */
#define PERP_SCHEME_SLOP 0.005
perp_scheme_feedback perp_scheme_baumgarte(double h);
/* The velocity that it adds. */
PERP_INLINE double perp_scheme_answer(const perp_scheme_feedback *feedback, int of, double C)
{
  if (of == PERP_SCHEME_OF_JOINT) return feedback->rate[of] * C;
  const double deep = of == PERP_SCHEME_OF_LIMIT ? C : C + feedback->slop,
               speed = feedback->rate[of] * (deep < 0 ? deep : 0);
  return speed > -feedback->push ? speed : -feedback->push;
}
/* bias and soft of all rows and contacts in a (sub)step h: rigid ones given + feedback; contacts
 * and limits that are open may close, C / h.  bounce: what has approached faster than the
 * threshold, and closes with v1, leaves at e times that. */
void perp_scheme_bias(perp_scheme *scheme, double h, const perp_scheme_feedback *feedback,
                      bool bounce);
/* p = 0 */
void perp_scheme_cold(perp_scheme *scheme);
/* n sweeps over all rows: drives, joints, contacts; of each pair of shapes the normal rows of its
 * contacts with one normal, then their friction by the normal impulse of this sweep, as the solvers
 * of Box2D-Lite, solver2d and Box2D v3 do.  warm: v += M^-1 J' p of all rows before. */
void perp_scheme_sweep(perp_scheme *scheme, int n, bool warm, double *v);
/* Restitution once, at the end: contacts and limits that approached faster than the threshold
 * before the step, and pressed in it, part at e times that speed.  v [nv]. */
void perp_scheme_bounce(perp_scheme *scheme, double *v);
/* total += p of all rows: a substep is done. */
void perp_scheme_sum(perp_scheme *scheme);
/* Are there rows? */
PERP_INLINE bool perp_scheme_any(const perp_scheme *scheme)
{
  return scheme->n + scheme->n_contacts > 0;
}

/* The step made the sweeps that were asked for, on its rows. */
void perp_scheme_counted(perp_scheme *scheme);

/* J v of a row, and v += M^-1 J' p. */
PERP_INLINE double perp_scheme_speed(const perp_scheme *scheme, const perp_scheme_row *row,
                                     const double *v)
{
  const int n = scheme->model->nvb;
  double sum = 0;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    const double *vb = v + (size_t)n * (size_t)row->body[side];
    for (int i = 0; i < n; i++) sum += row->J[side][i] * vb[i];
  }
  return sum;
}
PERP_INLINE void perp_scheme_push(const perp_scheme *scheme, const perp_scheme_row *row, double p,
                                  double *v)
{
  const int n = scheme->model->nvb;
  for (int side = 0; side < 2; side++) {
    if (row->body[side] < 0) continue;
    double *vb = v + (size_t)n * (size_t)row->body[side];
    for (int i = 0; i < n; i++) vb[i] += row->W[side][i] * p;
  }
}

#endif
