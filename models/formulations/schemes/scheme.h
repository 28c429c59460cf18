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
 * identity. */
#ifndef PERP_SCHEME_H
#define PERP_SCHEME_H

#include "models/collision/collision.h"
#include "models/multibody/model_private.h"
#include "models/stepping/constrained.h"
#include "models/stepping/time_grid.h"

typedef enum perp_scheme_kind {
  PERP_SCHEME_JOINT,  /* free: J v + Ct = 0, and C = 0 */
  PERP_SCHEME_OWN,    /* a spring, servo or motor: bias and soft are its own */
  PERP_SCHEME_LIMIT,  /* 0 <= p: C is what is left to the stop */
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

/* Rows of a contact: normal, and dim - 1 tangents behind it. */
typedef struct perp_scheme_contact {
  int row;
  double mu;
  double r[2][3]; /* from the centres to the contact, in the world */
  double d[3][3]; /* n, t1, t2 */
  bool slides;    /* its friction is at its bound */
} perp_scheme_contact;

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
} perp_scheme_opts;
#define PERP_SCHEME_OPTIONS                                                                        \
  PERP_REAL(perp_scheme_opts, threshold, 0.01, 0, HUGE_VAL, 0, "m/s",                              \
            "Approach speed above which restitution is applied."),                                 \
      PERP_REAL(perp_scheme_opts, slip, 1e-5, 0, HUGE_VAL, 0, "m/s",                               \
                "Sliding speed above which a new contact uses mu_dynamic. Existing contacts use "  \
                "it if they slid in the previous step.")
#define PERP_SCHEME_OPTION_WARM                                                                    \
  PERP_BOOL(perp_scheme_opts, warm, true,                                                          \
            "Use the impulses of the previous step as the initial guess.")

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
  /* impulses of the step before, and its length, 0: none */
  double *joint_p, *drive_p; /* [m], [3 drives] */
  double *joint_k, *drive_k;
  double h_before;
  perp_collision *collision; /* NULL: no shapes */
  const perp_contact *found; /* [n_contacts] */
  int n_contacts;
  /* rows [n]: drives, joints from `joints` on, contacts from `contacts` on */
  perp_scheme_row *row;
  int n, joints, contacts;
  int *slot; /* [contacts] of drive rows: 3 drive + 0 (motor), 1 (lower), 2 (upper); of joints their
                row */
  perp_scheme_contact *contact;
  double *impulse; /* [3 n_contacts] */
  perp_scheme_memory *memory, *next;
  int n_memory, cap;
  perp_contact_count count;
  perp_arena grown;
  double drift;
  bool timing;
  double step_s, assembly_s, collision_s;
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

/* ---- parts of a step: scheme_common.c ---- */

/* v1 += h M^-1 f(t, q1, v1), q1 those of scheme->e; the gyroscopic torque by the implicit midpoint
 * rule (perp_gyro_implicit). */
void perp_scheme_forces(perp_scheme *scheme, double t, double h);
/* q1 = q1 [+] h u; gaps of contacts change with it. */
void perp_scheme_move(perp_scheme *scheme, double h, const double *u);

/* What a scheme adds to J v of a rigid row that is off by C (contacts and limits: C <= 0), m/s. */
typedef double perp_scheme_feedback(const perp_scheme *s, const perp_scheme_row *row, double h);
/* That of Baumgarte, as solver2d has it: a fifth of the error over h, of a contact only what is
 * deeper than the slop, m. */
#define PERP_SCHEME_SLOP 0.005
perp_scheme_feedback perp_scheme_baumgarte;
/* bias and soft of all rows in a (sub)step h: rigid ones given + feedback (NULL: 0); contacts and
 * limits that are open may close, C / h.  bounce: what has approached faster than the threshold,
 * and closes with v1, leaves at e times that. */
void perp_scheme_bias(perp_scheme *scheme, double h, perp_scheme_feedback *feedback, bool bounce);
/* v += M^-1 J' p of all rows. */
void perp_scheme_warm(perp_scheme *scheme, double *v);
/* One sweep over all rows: drives, joints, contacts; of each pair of shapes the normal rows of its
 * contacts, then their friction by the normal impulse of this sweep, as the solvers of Box2D-Lite,
 * solver2d and Box2D v3 do. */
void perp_scheme_sweep(perp_scheme *scheme, double *v);
/* Restitution once, at the end: contacts and limits that approached faster than the threshold
 * before the step, and pressed in it, part at e times that speed.  v [nv]. */
void perp_scheme_bounce(perp_scheme *scheme, double *v);
/* total += p of all rows: a substep is done. */
void perp_scheme_sum(perp_scheme *scheme);

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
