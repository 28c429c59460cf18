/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A simulation that another program steps, of any scene that `perp simulate` takes: a name with
 * options, a scene file, a robot, or the text of a scene file.  The methods, their defaults and the
 * steps are those of `perp simulate`, to the last bit.
 *
 * The Python package is built on these functions (python/perp/_simulation.py); they are part of the
 * shared library libperp, not of the static one. */
#ifndef PERP_SESSION_H
#define PERP_SESSION_H

#include "experiments/metrics/metrics.h"
#include "models/formulations/step_forces.h"
#include "models/multibody/element.h"
#include "models/multibody/reaction.h"
#include "models/stepping/gradient.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A force that the caller computes: f [6] out, filled with zeros: force (N, world axes) and torque
 * (N m, axes of the body) on `body`, whose state is given, at the time t [s].  Called as often as
 * the methods evaluate forces, also for states that no step accepts; by one thread at a time. */
typedef void perp_session_force(void *user, int body, double t, const perp_body_state *state,
                                double f[6]);

typedef struct perp_session_request {
  const char *scene; /* "stack:boxes=3", "file.yaml:key=value", "robot.xml" */
  const char
      *text; /* the content of a scene file, YAML or JSON, and `scene` its name; NULL: none */
  /* methods with options; NULL or "": the default of `perp simulate` */
  const char *formulation, *ode, *kkt, *lcp, *stab, *contact, *engine;
  double h, t_end;           /* s; 0: those of the scene */
  bool pushed;               /* the caller will write forces into `push` */
  const signed char *forced; /* [bodies] 1: `force` acts on this body; NULL: on none */
  perp_session_force *force;
  void *user; /* of force */
} perp_session_request;

/* What a step leaves.  Arrays live as long as the session and stay where they are; those of
 * contacts until the next step. */
typedef struct perp_session {
  double t, t_start;         /* s: now, and where the last step started */
  double h, t_end;           /* s: as used */
  double *q, *v;             /* [nq], [nv] the state, in the coordinates of the model (model.h) */
  double *q_start, *v_start; /* where the last step started */
  double *push;              /* [6 bodies] in: force (N, world) and torque (N m, body axes) that act
                                in the steps to come; NULL unless requested */
  const perp_contact *contact; /* [n_contacts] of the last step; NULL: none */
  const double *impulse;       /* [3 n_contacts] N s, on the body b, world; NULL: not known */
  int64_t steps;               /* since the start or the last restart */
  int nq, nv, dim, bodies, joints, drives, n_contacts;
  int reason; /* perp_reason of the last step */
} perp_session;

/* Make all that comes with perp known to ctx: methods, scenes, scene files and robots, metrics, and
 * what PERP_PLUGIN_PATH names.  Files that were read stay until the program ends; one thread at a
 * time may register, load and open.  Errors: as of perp_register, and of plug-ins. */
perp_status perp_session_register(perp_ctx *ctx);
/* Load a plug-in, FILE.so or FILE.py, into ctx (docs/how-to/plugins.md). */
perp_status perp_session_load(perp_ctx *ctx, const char *path);
/* Build the scene and the methods, and start at t = 0.  ctx [registered] is borrowed until the
 * session is closed, and has the messages of all functions below; options are read here only.
 * PERP_ERR_OPTION, PERP_ERR_FORMAT, PERP_ERR_UNSUPPORTED, PERP_ERR_ARG: the request, with what is
 * wrong; PERP_ERR_NOMEM.  *out is NULL then.  Allocates. */
perp_status perp_session_open(perp_ctx *ctx, const perp_session_request *request,
                              perp_session **out);
void perp_session_close(perp_session *session); /* NULL is fine */
/* At most n accepted steps, and none beyond t_max [s] (HUGE_VAL: anywhere), where the last one is
 * cut.  PERP_ERR_EXTERNAL: the simulation failed (reason < 0) or diverged, ctx says where and why,
 * and the state is the last good one; else what the methods answer.  Cost beside the steps: 4 (nq +
 * nv) copies and comparisons each.  No allocation unless a method has PERP_CAP_ALLOCATES. */
perp_status perp_session_step(perp_session *session, int64_t n, double t_max);
/* Start anew at (t, q [nq], v [nv]): history, contacts and counts are forgotten.  PERP_ERR_ARG: not
 * finite, or not valid. */
perp_status perp_session_restart(perp_session *session, double t, const double *q, const double *v);
/* Kinetic and potential energy, J, of the state. */
void perp_session_energy(const perp_session *session, double *kinetic, double *potential);
/* Forces of the last step (step_forces.h); NULL, and ctx says why: there was no step yet, or the
 * methods do not tell.  Allocates at the first call. */
const perp_step_forces *perp_session_forces(perp_session *session);
/* The method that is used for "formulation", "ode", ..., with its options; "": none.  Likewise
 * "scene", and the reference solution as "truth". */
const char *perp_session_part(const perp_session *session, const char *kind);
/* Name of a body, joint or drive (kind: "body", "joint", "drive"); NULL: it has none. */
const char *perp_session_name(const perp_session *session, const char *kind, int i);
/* Number of bodies, shapes, ...: the model, which is borrowed; NULL: a plain ODE problem. */
const perp_model *perp_session_model(const perp_session *session);
/* The force `size` (N, or N m where the joint turns) along the axis of a hinge or slider, on its
 * body b, and the opposite on a: added to `push`, for the present state.  PERP_ERR_ARG: the joint
 * is none of these, or `push` was not requested. */
perp_status perp_session_push_joint(perp_session *session, int joint, double size);
/* The exact state at t (q [nq], v [nv]) where the scene has a closed form or a reference.
 * PERP_ERR_UNSUPPORTED: it has none, or not at t. */
perp_status perp_session_truth(perp_session *session, double t, double *q, double *v);

/* Derivatives of the state of the steps to come by wrt [n] (gradient.h), from the present state on;
 * n = 0: none any more.  *out (may be NULL): it belongs to the session until the next call, and a
 * restart resets it.  Errors: as of perp_gradient_create; the session is then without.  Steps stay
 * the same to the last bit. */
perp_status perp_session_gradient(perp_session *session, const perp_gradient_wrt *wrt, int n,
                                  perp_gradient **out);

/* Measure each state from now on, for metrics; false: stop.  A restart begins anew. */
perp_status perp_session_measure(perp_session *session, bool on);
/* The i-th metric that ctx knows: *value, NaN where it is not defined: without comparisons with the
 * reference solution, which perp_session_truth tells, and without times.  *name NULL: there are no
 * more.  PERP_ERR_ARG: nothing was measured; PERP_ERR_EXTERNAL: the metric failed. */
perp_status perp_session_metric(perp_session *session, int i, const char **name, double *value);
/* What a metric from outside reads of its measure: perp_measure_motion and perp_measure_figure. */
int64_t perp_session_motion(const perp_measure *measure, int *nq, int *nv, const double **row);
bool perp_session_figure(const perp_measure *measure, int i, const char **name, double *value);

/* Record each state from now on, for a page; false: stop.  PERP_ERR_UNSUPPORTED: no bodies, or more
 * than 10 000. */
perp_status perp_session_record(perp_session *session, bool on);
/* Write the page of `perp view` with what was recorded, or with the present state alone.
 * PERP_ERR_IO, PERP_ERR_EXTERNAL: the script of pages was not built. */
perp_status perp_session_page(perp_session *session, const char *path);

#ifdef __cplusplus
}
#endif

#endif
