/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole engines: a library of others that marches a world of bodies in steps of its own, with its
 * own collision detection, contact model and solver.  perp gives it a world and takes the states
 * back; all figures of a run are those of perp, from these states.
 *
 * A descriptor says what an engine serves, and is there whether the library is or not.  What calls
 * the library is an adapter: a small shared object, perp-engine-NAME.so, which is loaded when a
 * simulation begins.
 *
 * An adapter sees a perp_engine_world and nothing else of perp, so that one in C or C++ stays
 * small.  Numbers are SI; frames: bodies have the ones of model.h, except that **velocities of
 * rotation are in the world frame**. */
#ifndef PERP_ENGINE_H
#define PERP_ENGINE_H

#include "models/multibody/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the world ---- */

typedef struct perp_engine_state { /* of a body: in the plane x[0], x[1], angle, v[0], v[1], w[2] */
  double x[3], quat[4], angle;     /* centre of mass; quat (w, x, y, z), body to world */
  double v[3], w[3];               /* both in the world */
} perp_engine_state;

typedef struct perp_engine_body {
  const char *name; /* or NULL */
  double mass;
  double inertia[9]; /* about the centre of mass in the body frame; the plane uses inertia[8] */
  double moment[3], principal[4]; /* the same in principal axes, and their quaternion in the body
                                     frame; space only */
  double force[3];                /* N, constant, at the centre of mass in the world */
  perp_engine_state start;
} perp_engine_body;

/* Limit and motor of one coordinate of a joint, counted from the start as the engine would. */
typedef struct perp_engine_drive {
  int joint;
  perp_drive_axis axis;
  double lower, upper; /* infinite: none */
  double restitution;
  double velocity, max_force;        /* max_force = 0: no motor */
  double target, stiffness, damping; /* of a servo, both 0: none */
} perp_engine_drive;

typedef struct perp_engine_joint {
  perp_joint_kind kind;
  int a, b;                          /* bodies, PERP_WORLD for the world */
  double anchor_a[3], anchor_b[3];   /* in the frames of a and b */
  double axis_a[3], axis_b[3];       /* unit, likewise */
  double at[3], along[3], across[3]; /* p_b, axis_a and axis_b in the world, at the start */
  double length;                     /* distance */
  int first_drive, n_drives;         /* of the world */
} perp_engine_joint;

typedef struct perp_engine_shape {
  const perp_shape_def *def;   /* kind, sizes, surface; body */
  double x[3], quat[4], angle; /* in the frame of its body */
} perp_engine_shape;

typedef struct perp_engine_world perp_engine_world;
struct perp_engine_world {
  int dim, n_bodies, n_joints, n_shapes, n_drives;
  const perp_engine_body *body;
  const perp_engine_joint *joint;
  const perp_engine_shape *shape;
  const perp_engine_drive *drive;
  double gravity; /* along -z, in the plane -y */
  double size;    /* m, of all at the start */
  double h;       /* s, the step that will be asked for */
  /* May two shapes touch; what they have with each other (mu_dynamic: never NaN). */
  bool (*touches)(const perp_engine_world *world, int shape_a, int shape_b);
  perp_surface (*pair)(const perp_engine_world *world, int shape_a, int shape_b);
  /* An error for ctx: perp_fail_at with what happened.  Returns the status. */
  perp_status (*fail)(perp_ctx *ctx, perp_status status, const char *what);
};

/* A contact point of the last step. */
typedef struct perp_engine_contact {
  int shape_a, shape_b;
  double p[3], n[3], gap; /* n from a to b, unit; gap < 0: penetration */
  double impulse[3];      /* N s on b in the world; NaN: the engine does not tell */
} perp_engine_contact;

/* ---- the adapter ---- */

typedef struct perp_engine_calls {
  int abi;                      /* PERP_ABI */
  size_t layout;                /* PERP_ENGINE_LAYOUT */
  const char *(*version)(void); /* of the library that is there */
  /* A world at the start of all bodies; opts as of the descriptor.  PERP_ERR_UNSUPPORTED: what it
   * cannot build, by name; PERP_ERR_EXTERNAL. */
  perp_status (*create)(perp_ctx *ctx, const perp_engine_world *world, const void *opts, void **at);
  /* The state of all bodies, before the first step. */
  void (*set)(void *at, const perp_engine_state *state);
  /* One step of h s.  PERP_ERR_EXTERNAL: the engine says that it failed. */
  perp_status (*step)(perp_ctx *ctx, void *at, double h);
  void (*get)(void *at, perp_engine_state *state);
  /* How the engine says that its solver ended in the last step, *iterations of it: PERP_EXACT,
   * PERP_CONVERGED, PERP_SWEEPS_DONE (so many iterations, and no test), PERP_MAX_ITER (above its
   * own tolerance), PERP_SINGULAR (a pivot that failed), ...; PERP_RUNNING: there was nothing to
   * solve. */
  perp_reason (*ended)(void *at, int *iterations);
  /* Contacts of the last step, at most `most`; returns their number.  NULL: the engine does not
   * tell. */
  int (*contacts)(void *at, perp_engine_contact *contact, int most);
  double (*energy)(
      void *at); /* J, kinetic and potential, as the engine has it; NULL: it has none */
  /* "key=value, ..." of all that decides about the numbers, as the engine uses it, not as it was
   * asked for. */
  void (*resolved)(void *at, char *text, size_t size);
  void (*destroy)(void *at);
} perp_engine_calls;

/* Of what an adapter reads: it tells one that was built with another header. */
#define PERP_ENGINE_LAYOUT                                                                         \
  (sizeof(perp_engine_world) + 3 * sizeof(perp_engine_body) + 5 * sizeof(perp_engine_joint) +      \
   7 * sizeof(perp_engine_shape) + 11 * sizeof(perp_engine_drive) +                                \
   13 * sizeof(perp_engine_state) + 17 * sizeof(perp_engine_contact) +                             \
   19 * sizeof(perp_engine_calls))

/* An adapter ends in this: PERP_ENGINE_ADAPTER(calls). */
#define PERP_ENGINE_SYMBOL "perp_engine_adapter"
#define PERP_ENGINE_ADAPTER(calls)                                                                 \
  extern const perp_engine_calls *const perp_engine_adapter;                                       \
  const perp_engine_calls *const perp_engine_adapter = &calls

enum { /* perp_engine_desc.features */
       PERP_ENGINE_LIMITS = 1 << 0,
       PERP_ENGINE_MOTORS = 1 << 1,
       PERP_ENGINE_SERVOS = 1 << 2, /* springs and dampers of drives */
       PERP_ENGINE_RESTITUTION = 1 << 3,
       PERP_ENGINE_PARTICLES = 1 << 4, /* bodies that never turn */
       PERP_ENGINE_COMPOUNDS = 1 << 5, /* several shapes of a body, or one off its centre of mass */
       /* friction and restitution of each pair of shapes as perp has them */
       PERP_ENGINE_PAIRS = 1 << 6,
       PERP_ENGINE_FORCES =
           1 << 7 /* constant ones at centres of mass, the field `force` of a body */
};

typedef struct perp_engine_desc {
  perp_desc d;
  const char *package; /* of Debian, that brings the library */
  unsigned dims, joints, shapes,
      features; /* bits 1 << dim, 1 << perp_joint_kind, 1 << perp_shape_kind, above */
  const perp_engine_calls *calls; /* NULL: those of perp-engine-NAME.so */
} perp_engine_desc;

/* ---- perp's side ---- */

/* Is the adapter of an engine here (perp itself needs none)?  Nothing is loaded. */
bool perp_engine_here(const perp_engine_desc *engine);
/* The adapter of an engine: loaded at the first call.  PERP_ERR_EXTERNAL: there is none, and the
 * message names the package; or it cannot be loaded. */
perp_status perp_engine_load(perp_ctx *ctx, const perp_engine_desc *engine,
                             const perp_engine_calls **calls);
/* Is there anything in the model that the engine does not serve?  PERP_ERR_UNSUPPORTED names the
 * first. */
perp_status perp_engine_serves(perp_ctx *ctx, const perp_engine_desc *engine,
                               const perp_model *model);
/* The model as a world for adapters, owned by the caller; the model must outlive it.
 * PERP_ERR_NOMEM. */
perp_status perp_engine_world_create(perp_ctx *ctx, const perp_model *model, double h,
                                     perp_engine_world **world);
void perp_engine_world_destroy(perp_engine_world *world);
/* States of bodies <-> coordinates of the model.  An angle in the plane is told within half a turn
 * of that in q. */
void perp_engine_state_of(const perp_model *model, const double *q, const double *v,
                          perp_engine_state *state);
void perp_engine_state_to(const perp_model *model, const perp_engine_state *state, double *q,
                          double *v);

#ifdef __cplusplus
}
#endif

#endif
