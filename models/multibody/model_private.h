/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The inside of perp_model, for the files of models/ that build, evaluate and march it. */
#ifndef PERP_MODEL_PRIVATE_H
#define PERP_MODEL_PRIVATE_H

#include "models/geometry/kinematics.h"
#include "models/multibody/model.h"

/* One scalar row beyond the point-to-point rows of a joint. */
typedef enum perp_joint_row_kind {
  PERP_ROW_DOT,     /* n_a . n_b             perpendicular directions */
  PERP_ROW_ALONG,   /* n_a . (p_b - p_a)     no displacement along a direction of a */
  PERP_ROW_ALONG_B, /* n_b . (p_b - p_a)    along a direction of b */
  PERP_ROW_TRIPLE,  /* (n_a x n_b) . (p_b - p_a) */
  PERP_ROW_LENGTH,  /* |p_b - p_a| - length */
  PERP_ROW_CHAIN,   /* across the axes of a chain: all rows are evaluated together */
  PERP_ROW_CURVE    /* n_k . (p_b - c): both rows of a curve joint are evaluated together */
} perp_joint_row_kind;

typedef struct perp_row {
  perp_joint_row_kind kind;
  double ua[3], ub[3]; /* directions in the frames of a and b, unit length */
  double offset;       /* C is the number above less this */
} perp_row;

/* A joint ready for evaluation: `points` rows p_b - p_a (0 or dim), then `n_scalars` scalar
 * rows. */
typedef struct perp_joint {
  int a, b;   /* bodies, PERP_WORLD = -1; a of a motion: its frame, perp_frame_of */
  int row;    /* first row of the model */
  int points; /* 0 or dim */
  int n_scalars;
  int ja, jb; /* where the sub-matrices start in J; -1 for the world */
  double sa[3], sb[3];
  double length;
  perp_row *scalars;              /* [n_scalars] */
  const struct perp_curve *curve; /* NULL: not on a curve */
  const struct perp_chain *chain; /* NULL: no chain (chain.h) */
  int chain_memory;               /* its place in sim.chain */
  bool chained;                   /* of kind chain: evaluated with the poses */
  bool across;                    /* its rows are those of the chain */
  const perp_joint_desc *plugin;  /* NULL: none; all its rows are scalars */
  const void *opts;
  int n_bodies, sub; /* sub: its first sub-matrix */
  int axes;      /* of a coupling or armature 1 + the place of its first axis in drive; else 0 */
  bool inertial; /* an armature */
  const int *body;
} perp_joint;

/* A drive ready for evaluation. */
typedef struct perp_drive {
  int a, b;
  bool slides, in_b;
  bool orbits; /* of two parallel hinges: the turn of p_b - p_a about the axis */
  double zero; /* x in the initial state */
  perp_drive_axis axis_of;
  bool euler;                /* an angle of a ball joint in space, between: */
  double end_a[3], end_b[3]; /* its axes in a and in b, unit */
  double sa[3], sb[3];       /* anchors, where it slides */
  double axis[3];            /* in a or in b, unit */
  double ref_a[3],
      ref_b[3];  /* where it turns: directions across the axis that coincide at the start */
  double offset; /* x = raw coordinate + offset */
  const perp_turning *turning; /* NULL: another axis */
  int chain;                   /* 1 + joint whose chain has the axis, 0: none */
} perp_drive;

typedef struct perp_kept {
  void *what;
  void (*destroy)(void *what);
} perp_kept;

/* Mass properties ready for use. */
typedef struct perp_inertia {
  double mass;
  double I[9], Iinv[9]; /* body frame; the plane uses I[8] only */
} perp_inertia;

/* Bodies by the cell of a grid they are in: lists over a hash table. */
typedef struct perp_cells {
  int *cell;  /* [3 bodies] */
  int *first; /* [table] body, -1 = none */
  int *next;  /* [bodies] */
  int table;  /* a power of 2; 0: no force needs it */
} perp_cells;

/* A frame that moves, as a body does: velocity and acceleration, those of turning in the frame. */
typedef struct perp_frame {
  double v[6], a[6];
} perp_frame;

/* All that is evaluated at one state, owned by whoever evaluates (so that several simulations
 * share a model): poses, Jacobian and position error. */
typedef struct perp_eval {
  double t;
  perp_pose *pose;   /* [-1 - motions ... bodies-1]; pose[-1] is the world, before it the frames of
                        motions */
  perp_frame *frame; /* [motions] */
  double *J, *C;
  double *Ct;         /* [m] of a model with motions */
  perp_cells cells;   /* scratch of spatial interaction */
  int set;            /* of perp_dropped: rows that J, C and Ct lack */
  perp_blocks blocks; /* those of the model, with the J of this evaluation */
  /* [n_chains] joints of kind chain at the poses (chain.h); NULL: nobody has evaluated them */
  struct perp_chain_at *chain;
} perp_eval;

/* What two materials have with each other. */
typedef struct perp_material_pair {
  int a, b; /* a <= b */
  perp_surface surface;
} perp_material_pair;

/* Rows that a simulation leaves out as dependent on others (stepping/redundancy.h), or because
 * their joint was released (contact_step/switches.h): J = 0, C = 0 and S > 0, so that lambda = 0.
 */
typedef struct perp_dropped {
  int n, set;             /* set: a number for what is dropped, another one after each change */
  const int *row, *joint; /* [n] */
} perp_dropped;

typedef struct perp_curve perp_curve; /* compiled, see joints/curve.c */
typedef struct perp_shape perp_shape; /* compiled, see shapes/shapes_private.h */

/* What elements say beside bodies, joints, forces, drives and shapes. */
typedef struct perp_motions {
  int n, cap;
  perp_motion_def *def;
} perp_motions;
typedef struct perp_disabled {
  int n, cap;
  perp_disabled_def *def;
} perp_disabled;
typedef struct perp_stops {
  int n;
  perp_stop_def *def;
} perp_stops;
typedef struct perp_signals {
  int n, cap;
  perp_signal **list;
  perp_signal_ref gravity;
} perp_signals;

/* What surfaces of the model do, and have with each other. */
typedef struct perp_surfaces {
  bool belts;       /* some move */
  bool couples;     /* some resist spinning or rolling, */
  bool rolling;     /* rolling */
  bool anisotropic; /* some have two coefficients of friction */
  perp_friction_rule friction;
  int n_pairs;
  perp_material_pair *pair; /* [n_pairs] sorted by a, then b */
} perp_surfaces;

/* Bodies a < b that have no contact; depth m of their overlap at the start, 0: for another reason
 */
typedef struct perp_no_contact {
  int a, b;
  double depth;
} perp_no_contact;
typedef struct perp_no_contacts {
  int n;
  perp_no_contact *pair; /* [n] sorted by a, then b */
} perp_no_contacts;

/* While the model is built, and what is freed with it. */
typedef struct perp_building {
  bool finished;
  int bodies, joints, forces, shapes, drives, curves; /* there is room for so many */
  int n_kept, cap_kept;
  perp_kept *kept; /* [n_kept] */
  perp_arena arena;
} perp_building;

/* Compliant rows. */
typedef struct perp_softness {
  bool any, springs;                      /* springs: rows with stiffness or damping */
  bool armatures;                         /* compliant rows of an inertia */
  double *softness, *stiffness, *damping; /* [m] of the rows */
} perp_softness;

/* Where the blocks of M and J are (perp_blocks). */
typedef struct perp_pattern {
  int nnz_J, n_subs; /* n_subs: sub-matrices of J */
  int *bptr, *mptr, *cptr, *jptr, *jblk, *joff, *jgrp, *tptr, *tsub;
} perp_pattern;

/* Of a simulation, which has a shallow copy of the model with its own. */
typedef struct perp_simulated {
  const perp_dropped *dropped; /* NULL: none at any time */
  /* [n_joints] joints that a simulation has released, whose rows are dropped; NULL: none at any
   * time. */
  const bool *released;
  /* [bodies] disabled now, and which of these an impact has struck that is in no
   * perp_step_info.impulse; NULL: none at any time */
  const unsigned char *held;
  unsigned char *struck;
  /* [n_drives + n_axes] x of the drives and axes at the last accepted state, from which angles are
   * told (turns.h): of whoever asks the model itself (perp_model_follow), simulations have their
   * own. */
  double *angle;
  /* [n_chains] what chains were there, likewise */
  struct perp_chain_memory *chain;
  int *chain_set; /* a number for their bases, another one after each change; NULL: it is no
                     simulation */
} perp_simulated;

/* Gravity compensation (compensation.c): the bodies that the joints of drives carry. */
typedef struct perp_carried {
  int n;    /* drives that compensate */
  int *ptr; /* [n_drives + 1] into body */
  int *body;
  int *sign;  /* [n_drives] -1: the bodies move with a */
  int *block; /* owns all */
} perp_carried;

typedef struct perp_chains { /* set by finish, of joints in turn */
  int n;
  struct perp_chain *chain; /* [n] */
} perp_chains;

typedef struct perp_masses {
  double *M, *Minv;        /* blocks of bodies */
  unsigned char *diagonal; /* [bodies] are M_b and its inverse? */
  double *flat;            /* [nv] the diagonals of Minv */
} perp_masses;

struct perp_model {
  int dim, rates, nqb, nvb;
  double gravity;
  int n_bodies, n_joints, n_forces, n_shapes, n_drives;
  int n_axes; /* set by finish: axes of couplings and armatures, behind the drives */
  perp_chains chains;
  const struct perp_axes_calls *axes; /* set by finish: their rows, for who stands below them */
  perp_body_def *body_def;
  perp_joint_def *joint_def;
  perp_curve **curve; /* [n_joints] NULL: another kind */
  perp_force_def *force_def;
  perp_drive_def *drive_def;
  perp_shape_def *shape_def;
  perp_motions motions;
  perp_disabled disabled;
  perp_stops stops;
  perp_signals signals;
  perp_surfaces surfaces;
  perp_no_contacts no_contact;
  perp_building building;
  /* set by finish */
  int nq, nv, m;
  double size;          /* m, extent of the initial state */
  bool driven;          /* C_t is not 0 */
  bool velocity_forces; /* forces need velocities */
  perp_softness soft;
  perp_pattern pattern;
  perp_inertia *inertia;
  perp_joint *joint;
  perp_row *rows;    /* of all joints */
  perp_drive *drive; /* [n_drives + n_axes] */
  perp_carried carried;
  perp_shape *shape; /* [n_shapes] */
  double *q0, *v0;
  perp_masses masses;
  perp_simulated sim;
  perp_eval eval; /* of the public functions */
};

/* ---- building ---- */

enum { PERP_LABEL_MAX = 80 };
/* "joint 3 'elbow'", "body 0", for messages; in buf, which is returned. */
const char *perp_model_label(char buf[PERP_LABEL_MAX], const char *what, int index,
                             const char *name);
/* PERP_ERR_ARG: the model is finished. */
perp_status perp_model_building(perp_ctx *ctx, const perp_model *model);
/* One more part, of size bytes, in *list.  name: of the part, to be copied; NULL: it has none.
 * *index: where it is. */
perp_status perp_model_push(perp_ctx *ctx, void *list, int *n, int *cap, size_t size, void *part,
                            const char **name, int *index);
/* PERP_ERR_ARG: there is no such body; world: it may be the world. */
perp_status perp_model_check_body(perp_ctx *ctx, const perp_model *model, int body, bool world,
                                  const char *who);
perp_status perp_model_check_pair(perp_ctx *ctx, const perp_model *model, int a, int b,
                                  const char *who);
/* Of a body that may be a particle: its anchor is its centre. */
perp_status perp_model_check_particle(perp_ctx *ctx, const perp_model *model, int body,
                                      const double anchor[3], const char *who);
perp_status perp_model_check_spring(perp_ctx *ctx, double stiffness, double damping,
                                    const char *who);
PERP_INLINE bool perp_all_zero(int n, const double *x)
{
  for (int i = 0; i < n; i++)
    if (x[i] != 0) return false;
  return true;
}
/* Free the arrays of a definition. */
void perp_shape_disown(const perp_shape_def *def);
bool perp_model_is_particle(const perp_model *model, int body); /* false for the world */
/* The compiled shapes; none is fine. */
void perp_shapes_free(perp_model *model);

/* ---- elements of plug-ins ---- */

/* Bodies that an element of n bodies may have: existing, different, one of them not the world; no
 * particle unless it acts at centres; a dimension that it serves (caps: the bits of force.h and
 * joint.h, which are the same). */
perp_status perp_element_check(perp_ctx *ctx, const perp_model *model, const perp_desc *desc,
                               unsigned caps, int least, int most, int n, const int *body,
                               const char *who);
/* Copies of options and bodies, to be freed one by one; NULL options: the defaults. */
perp_status perp_element_copy(perp_ctx *ctx, const perp_desc *desc, const void **opts, int *n,
                              const int **body);
/* What a function of a plug-in returned; its message begins with who it is about. */
/* "2 bodies", "1 to 16 bodies" or "2 bodies or more", for messages; in buf. */
enum { PERP_NUMBER_MAX = 48 };
const char *perp_element_number(char buf[PERP_NUMBER_MAX], int least, int most);
perp_status perp_element_told(perp_ctx *ctx, perp_status status, const char *who);
void perp_element_free(const void *opts, const int *body);
/* The states of bodies at the poses of eval; v NULL: at rest. */
void perp_element_states(const perp_model *model, const perp_eval *eval, const double *v, int n,
                         const int *body, perp_body_state *out);
/* The same at q, before there are any evaluations. */
void perp_element_states_at(const perp_model *model, const double *q, int n, const int *body,
                            perp_body_state *out);
/* out = the state after dx and the turn dtheta, in the body frame. */
void perp_element_move(const perp_body_state *in, const double dx[3], const double dtheta[3],
                       perp_body_state *out);
/* The k-th velocity of a body among (v, w) of space: in the plane vx, vy, wz. */
PERP_INLINE int perp_element_rate(int dim, int k)
{
  return dim == 3 || k < 2 ? k : 5;
}

/* Its options and bodies become the definition's own, to be freed, once its descriptor is complete.
 */
perp_status perp_joint_plugin_take(perp_ctx *ctx, perp_joint_def *def, const char *who);
perp_status perp_joint_plugin_check(perp_ctx *ctx, const perp_model *model,
                                    const perp_joint_def *def, const char *who);
/* What joint i keeps of the initial state, and its zero. */
perp_status perp_joint_plugin_begin(perp_ctx *ctx, const perp_model *model, int i, const char *who);
/* The rows, as perp_joint_compile. */
void perp_joint_plugin_compile(const perp_joint_def *def, int dim, perp_row *rows,
                               perp_joint *joint);
void perp_joint_plugin_evaluate(const perp_model *model, const perp_joint *joint, perp_eval *eval);
void perp_joint_plugin_bias(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                            const double *v, double *gamma);
/* Are there rows that depend on time? */
bool perp_joint_plugin_moves(const perp_joint_def *def);
/* Of rows J v = g(t) Ct [m] += -g, gamma [m] += -dg/dt; either may be NULL.  Of rows C(q, t) Ct at
 * the poses of eval. */
void perp_joint_plugin_driven(const perp_model *model, const perp_eval *eval, double t, double *Ct,
                              double *gamma);
/* gamma [m] -= C_tt of rows C(q, t) at the poses of eval. */
void perp_joint_plugin_still(const perp_model *model, const perp_eval *eval, double *gamma);
/* Rows of a joint that is added; 0: not in this dimension, no such kind. */
int perp_joint_rows(const perp_joint_def *def, int dim);
/* The bodies of a joint or force, the world among them; of two at most in pair. */
const int *perp_joint_bodies(const perp_joint_def *def, int pair[2], int *n);

perp_status perp_force_plugin_take(perp_ctx *ctx, perp_force_def *def, const char *who);
perp_status perp_force_plugin_check(perp_ctx *ctx, const perp_model *model,
                                    const perp_force_def *def, const char *who);
/* F of its bodies in these states: [6 n_bodies], force and torque of each */
void perp_force_plugin_at(const perp_model *model, const perp_force_def *el,
                          const perp_body_state *body, double t, double *F);
void perp_force_plugin_add(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                           double t, const double *v, double *f);
double perp_force_plugin_potential(const perp_model *model, const perp_eval *eval,
                                   const perp_force_def *el);
/* A force of one body or two at the poses of eval: fa, fb += what it is on a and b with the
 * velocities va, vb; NULL: the world. Nothing for pairs and plug-ins. */
void perp_force_one(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                    double t, const double *va, const double *vb, double *fa, double *fb);
/* Bodies of a force but pairs, the world among them, as perp_joint_bodies. */
const int *perp_force_bodies(const perp_force_def *el, int pair[2], int *n);
/* perp_model_force_gradient at the poses of eval, of any force but pairs; body: those that move.
 * differences: of the force, as of all but plug-ins, also where a plug-in says its derivatives. */
int perp_force_gradient_at(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                           bool differences, double t, const double *v, int *body, double *dq,
                           double *dv);

/* ---- joints ---- */

int perp_joint_kind_rows(perp_joint_kind kind, int dim); /* 0: not in this dimension */
/* Rows and directions of a joint from its definition and the initial coordinates of its bodies
 * (NULL for the world).  rows: room for the scalar rows, at most perp_joint_kind_rows of them. */
void perp_joint_compile(const perp_joint_def *def, int dim, const double *qa, const double *qb,
                        perp_row *rows, perp_joint *joint);
/* Constant entries of J (before the first evaluation). */
void perp_joints_constant(const perp_model *model, double *J);
/* C and, unless it is NULL, J at the poses of eval. */
void perp_joints_evaluate(const perp_model *model, perp_eval *eval);
/* gamma [m] = Jdot v at the poses of eval, with all that depends on time: C.. = J a + gamma. */
void perp_joints_bias(const perp_model *model, const perp_eval *eval, const double *v,
                      double *gamma);
/* The same without C_tt, for steps whose rows have C_t of another time: C_t(t + s) has s C_tt. */
void perp_joints_curvature(const perp_model *model, const perp_eval *eval, const double *v,
                           double *gamma);

/* A row n . (p_b - p_a) for the points sa and sb, n along u fixed in a: its value, and unless they
 * are NULL every ld-th number of Ja and Jb; Jdot v of it. */
double perp_joint_along(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                        const double *sb, const double *u, int ld, double *Ja, double *Jb);
/* The same for u fixed in b. */
double perp_joint_along_b(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                          const double *sb, const double *u, int ld, double *Ja, double *Jb);
/* Are the axes of two hinges, in the world, parallel to rounding? */
bool perp_joint_hinges_parallel(const double *a, const double *b);
double perp_joint_along_bias(int d, const perp_pose *A, const perp_pose *B, const double *sa,
                             const double *sb, const double *u, const double *va, const double *vb);

/* A curve that can be slid on, to be given to free(), or what is wrong with it: PERP_ERR_ARG.  It
 * has a copy of the data. */
perp_status perp_curve_create(perp_ctx *ctx, const perp_joint_def *def, int dim, const char *who,
                              perp_curve **out);
const double *perp_curve_data(const perp_curve *curve);
/* r, rate: p_b - p_a and its rate seen from body a.  C and its gradient with respect to r, both in
 * the frame of a; bias: second derivative of C along r + t rate; rate and bias may be NULL.
 * Returns s. */
double perp_curve_rows(const perp_curve *curve, const double r[3], const double *rate, double C[2],
                       double g[2][3], double *bias);
/* Vector from the curve to r and the unit tangent there, in the frame of a; returns s. */
double perp_curve_gap(const perp_curve *curve, const double r[3], double gap[3], double tangent[3]);
void perp_curve_point(const perp_curve *curve, double s, double c[3], double tangent[3]);
void perp_curve_domain(const perp_curve *curve, double *lower, double *upper);
/* How far s lies beyond the domain; < 0 inside. */
double perp_curve_beyond(const perp_curve *curve, double s);

/* Unit vectors e_k = axes + 3 k: `axis`, then the perpendiculars of the rows of joints, e_2 = e_0 x
 * e_1; of an axis of length 0 those of the frame itself.  In the plane e_2 is z. */
void perp_joint_axes(int dim, const double *axis, double axes[9]);
/* Make the definition of a joint fit the initial coordinates of its bodies (NULL for the world).
 * keep_b: anchor_b must not move (the centre of a particle); keep_a likewise. */
perp_status perp_joint_define_zero(perp_ctx *ctx, perp_joint_def *def, const perp_curve *curve,
                                   int dim, const double *qa, const double *qb, bool keep_a,
                                   bool keep_b, const char *who);

int perp_chain_axis_of(perp_drive_axis axis); /* its place in a chain; -1: none */
bool perp_drive_serves(perp_joint_kind kind, int dim, perp_drive_axis axis);
/* From the definition and the initial poses in eval. */
void perp_drive_compile(const perp_model *model, const perp_eval *eval, const perp_drive_def *def,
                        perp_drive *drive);
/* PERP_ERR_ARG, PERP_ERR_UNSUPPORTED: the joint has no such coordinate. */
perp_status perp_drive_check_axis(perp_ctx *ctx, const perp_model *model, int joint,
                                  perp_drive_axis axis, const char *who);
/* Is the coordinate a length? */
bool perp_drive_slides(const perp_joint_def *joint, int dim, perp_drive_axis axis);
/* x, and Ja, Jb [nvb] with xdot = Ja v_a + Jb v_b, at the poses of eval; what is said of the world
 * has no meaning. */
double perp_drive_row(const perp_model *model, const perp_eval *eval, int index, double *Ja,
                      double *Jb);
/* xdot by that row of drive i, of the velocities v [nv]; and f [nv] += its transpose times force.
 */
double perp_drive_product(const perp_model *model, int i, const double *Ja, const double *Jb,
                          const double *v);
void perp_drive_push(const perp_model *model, int i, const double *Ja, const double *Jb,
                     double force, double *f);
/* Is it a spring and damper along its coordinate, where it acts? */
static inline bool perp_drive_is_servo(const perp_drive_def *def)
{
  return def->stiffness > 0 || def->damping > 0;
}
/* Jdot v of that row: xddot = Ja a_a + Jb a_b + this. */
double perp_drive_bias(const perp_model *model, const perp_eval *eval, int index, const double *v);

/* Is x an angle that can go round?  Then it is the one within half a turn of model->angle. */
bool perp_drive_turns(const perp_model *model, int index);
/* x at the poses of eval. */
double perp_drive_coordinate(const perp_model *model, const perp_eval *eval, int index);
/* Elastic energy of the servo springs at the poses of eval, J: k x^2 / 2 of x = coordinate -
 * target, and on with max_force where the spring has reached it. */
double perp_drives_potential(const perp_model *model, const perp_eval *eval, double t);

/* ---- compensation.c ---- */

/* model->carried of the drives, whose joints must serve it; PERP_ERR_UNSUPPORTED, PERP_ERR_NOMEM.
 */
perp_status perp_compensation_compile(perp_ctx *ctx, perp_model *model);
/* f [nv] += h J' tau of all drives that compensate gravity, at the poses of eval. */
void perp_compensation_apply(const perp_model *model, const perp_eval *eval, double t, double h,
                             double *f);
/* force [drives] += part tau, f [nv] += part J' tau at (t, q); NULL: not wanted.  Scratch of the
 * model. */
void perp_model_compensation(const perp_model *model, double t, const double *q, double part,
                             double *force, double *f);

/* Ct [m]: C_t with the velocities of the frames at the time t, at the poses of eval. */
void perp_joints_driven(const perp_model *model, const perp_eval *eval, double t, double *Ct);

/* ---- disabled.c ---- */

/* Joints that hold disabled bodies are added, before those of motions; and taken back. */
perp_status perp_disabled_join(perp_ctx *ctx, perp_model *model);
void perp_disabled_part(perp_model *model);
/* The joint of the i-th disabled body. */
PERP_INLINE int perp_disabled_joint(const perp_model *model, int i)
{
  return model->n_joints - model->motions.n - model->disabled.n + i;
}

/* ---- motions.c ---- */

/* The place in the poses of the frame of motion i. */
#define PERP_FRAME_OF(i) (PERP_WORLD - 1 - (i))
/* Motions become joints, and initial velocities of bodies what they say; and taken back. */
perp_status perp_motions_join(perp_ctx *ctx, perp_model *model);
void perp_motions_part(perp_model *model);
/* Velocity and acceleration of the frame of motion i at t, its place and its angle, counted from t
 * = 0. */
void perp_frame_at(const perp_model *model, int i, double t, double x[3], double *angle,
                   perp_frame *frame);
/* Poses and velocities of the frames at eval->t. */
void perp_frames_evaluate(const perp_model *model, perp_eval *eval);

/* ---- nonholonomic.c ---- */

PERP_INLINE bool perp_joint_nonholonomic_is(const perp_model *model, int i)
{
  const perp_joint_desc *plugin = model->joint_def[i].plugin;
  return plugin != NULL && (plugin->d.caps & PERP_JOINT_NONHOLONOMIC) != 0;
}

/* What evaluates joints of axes, which need drives, which need joints: called through the model. */
typedef struct perp_axes_calls {
  void (*evaluate)(const perp_model *model, const perp_joint *joint, perp_eval *eval);
  double (*bias)(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                 const double *v);
} perp_axes_calls;
extern const perp_axes_calls perp_axes_call;
/* ---- axes.c: couplings and armatures ---- */

bool perp_axes_are(const perp_joint_def *def);
/* Axes of joint i, 0: it has none. */
int perp_axes_count(const perp_model *model, int joint);
/* The joints of its terms become their places in joints [n]. */
void perp_axes_renumber(perp_model *model, int joint, const int *joints, int n);
/* All axes, at the initial poses in eval. */
void perp_axes_compile(const perp_model *model, const perp_eval *eval);
void perp_axes_evaluate(const perp_model *model, const perp_joint *joint, perp_eval *eval);
double perp_axes_bias(const perp_model *model, const perp_joint *joint, const perp_eval *eval,
                      const double *v);
/* Kinetic energy of the armatures at the poses of eval. */
double perp_axes_kinetic(const perp_model *model, const perp_eval *eval, const double *v);
/* Has the row i of an armature? */
bool perp_axes_inertial(const perp_model *model, int row);

/* ---- time ---- */

/* PERP_ERR_ARG: there is no such signal. */
perp_status perp_model_check_signal(perp_ctx *ctx, const perp_model *model, perp_signal_ref signal,
                                    const char *who);
void perp_model_signal_at(const perp_model *model, perp_signal_ref signal, double t, double y[3]);
/* x + signal(t) */
PERP_INLINE double perp_model_value(const perp_model *model, double x, perp_signal_ref signal,
                                    double t)
{
  double y[3];
  if (signal == 0) return x;
  perp_model_signal_at(model, signal, t, y);
  return x + y[0];
}
/* Of a drive at the coordinate x, x - target and the velocity that it aims at, at the time t. */
double perp_drive_error(const perp_model *model, const perp_eval *eval, int i, double x, double t,
                        double *velocity);
/* of a drive: velocity, and its rate unless that is NULL; target */
double perp_drive_velocity(const perp_model *model, int i, double t, double *rate);
double perp_drive_target(const perp_model *model, int i, double t);

/* ---- shapes.c ---- */

/* As perp_surface_pair says, where the model says more than the geometric mean.  O(log pairs). */
perp_surface perp_surface_pair_of(const perp_model *model, const perp_surface *a,
                                  const perp_surface *b);
/* What two surfaces have with each other: see shape.h. */
PERP_INLINE perp_surface perp_surface_pair(const perp_model *model, const perp_surface *a,
                                           const perp_surface *b)
{
  if (model->surfaces.n_pairs > 0 || model->surfaces.friction != PERP_FRICTION_GEOMETRIC)
    return perp_surface_pair_of(model, a, b);
  return (perp_surface){
    .mu = a->mu == b->mu ? a->mu : sqrt(a->mu * b->mu),
    .mu_dynamic = a->mu_dynamic == b->mu_dynamic ? a->mu_dynamic
                                                 : sqrt(a->mu_dynamic * b->mu_dynamic),
    .restitution = a->restitution > b->restitution ? a->restitution : b->restitution,
    .torsion = a->torsion > b->torsion ? a->torsion : b->torsion,
    .rolling = a->rolling > b->rolling ? a->rolling : b->rolling,
  };
}

/* The couples of a contact of two shapes, m. */
void perp_surface_couples(const perp_model *model, int shape_a, int shape_b, double *torsion,
                          double *rolling);

/* Anisotropic friction of a contact of two shapes (shape.h): the coefficient across the direction
 * over that along it, and `shape`, of whose surface the direction is.  1: isotropic. */
double perp_surface_anisotropy(const perp_model *model, int shape_a, int shape_b, int *shape);

/* PERP_ERR_UNSUPPORTED: two shapes that may touch both have anisotropic friction. */
perp_status perp_surfaces_check(perp_ctx *ctx, const perp_model *model);

/* ---- forces ---- */

const char *perp_force_kind_name(perp_force_kind kind);
/* f [nv] += force elements at the poses of eval. */
void perp_forces_add(const perp_model *model, const perp_eval *eval, double t, const double *v,
                     double *f);
/* Potential energy of the force elements (springs, pairs). */
double perp_forces_potential(const perp_model *model, const perp_eval *eval);

/* f [nv] += spatial interaction el. */
void perp_pairs_add(const perp_model *model, const perp_eval *eval, const perp_force_def *el,
                    double *f);
double perp_pairs_potential(const perp_model *model, const perp_eval *eval,
                            const perp_force_def *el);
/* PERP_ERR_ARG: bodies that do not exist, numbers out of range. */
perp_status perp_pairs_check(perp_ctx *ctx, const perp_model *model, const perp_force_def *el,
                             const char *who);
void perp_cells_layout(perp_cells *cells, const perp_model *model, perp_arena *arena);

/* ---- evaluation: poses once per state, used by all ---- */

void perp_eval_layout(perp_eval *eval, const perp_model *model, perp_arena *arena);
perp_blocks perp_model_pattern(const perp_model *model);
void perp_eval_init(perp_eval *eval, const perp_model *model);
void perp_eval_poses(perp_eval *eval, const perp_model *model, double t, const double *q);
/* Poses, J, C and C_t at (t, q). */
void perp_eval_at(perp_eval *eval, const perp_model *model, double t, const double *q);
/* f [nv]: gravity, elements and, when `gyroscopic`, -w x I w. */
void perp_eval_forces(const perp_eval *eval, const perp_model *model, double t, const double *v,
                      bool gyroscopic, double *f);
/* rhs [nv] = M v + h f, in one pass. */
void perp_eval_impulse(const perp_eval *eval, const perp_model *model, double t, double h,
                       const double *v, double *rhs);

/* The turn of a free body of inertia I in a step h from w to x, both in its frame: energy and |L|
 * are kept.  In parts, where it turns by more than a radian.  Where that finds nothing (from about
 * 1e3 rad on), x = w. */
void perp_gyro_turn(const double I[9], double h, const double w[3], double x[3]);
/* rhs [nv] of perp_eval_impulse with this turn in the place of the explicit gyroscopic torque.
 * Nothing in the plane. */
void perp_gyro_implicit(const perp_model *model, double h, const double *v, double *rhs);
/* rhs [nv] of perp_eval_impulse without any gyroscopic torque: a free body keeps its angular
 * velocity. */
void perp_gyro_none(const perp_model *model, double h, const double *v, double *rhs);

/* delta = p_b - p_a of the points sa and sb of two bodies */
PERP_INLINE void perp_between(int d, const perp_pose *A, const double *sa, const perp_pose *B,
                              const double *sb, double *delta)
{
  double ra[3], rb[3];
  perp_turn(d, A->R, sa, ra);
  perp_turn(d, B->R, sb, rb);
  for (int i = 0; i < d; i++) delta[i] = (B->x[i] + rb[i]) - (A->x[i] + ra[i]);
}

/* The pose of coordinates q, or of the world (NULL). */
PERP_INLINE void perp_pose_or_world(int d, const double *q, perp_pose *pose)
{
  *pose = (perp_pose){ 0 };
  for (int i = 0; i < d; i++) pose->R[i + d * i] = 1;
  if (q != NULL) perp_pose_of(d, q, pose);
}

/* Is the row a spring or damper? */
PERP_INLINE bool perp_row_springs(const perp_model *model, int row)
{
  return model->soft.stiffness[row] > 0 || model->soft.damping[row] > 0;
}

/* y = A x, A 3 x 3 symmetric */
PERP_INLINE void perp_sym_mul(const double A[9], const double x[3], double y[3])
{
  double a = A[0] * x[0] + A[1] * x[1] + A[2] * x[2];
  double b = A[1] * x[0] + A[4] * x[1] + A[5] * x[2];
  double c = A[2] * x[0] + A[5] * x[1] + A[8] * x[2];
  y[0] = a, y[1] = b, y[2] = c;
}

/* m/s: no point of a body is faster, whose velocities are v [nvb] and whose points are within
 * `reach` of its centre. */
static inline double perp_point_speed(int dim, const double *v, double reach)
{
  const double *w = v + dim, turn = dim == 3 ? sqrt(perp_dot(3, w, w)) : fabs(w[0]);
  return sqrt(perp_dot(dim, v, v)) + turn * reach;
}

/* m/s: no two bodies come nearer faster at the velocities v [nv]: the two largest of those speeds,
 * reach [bodies]. */
static inline double perp_closing_speed(const perp_model *model, const double *v,
                                        const double *reach)
{
  double first = 0, second = 0;
  for (int b = 0; b < model->n_bodies; b++) {
    const double speed = perp_point_speed(model->dim, v + model->nvb * b, reach[b]);
    second = fmax(second, fmin(first, speed));
    first = fmax(first, speed);
  }
  return first + second;
}

#endif
