/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scenes: a model with its default run and its ground truth.  A scene does not know who runs it. */
#ifndef PERP_SCENE_H
#define PERP_SCENE_H

#include "models/stepping/formulation.h"
#include "models/multibody/model.h"
#include "solvers/ode/ode.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Ground truth: the exact state as a function of time. */
typedef struct perp_truth {
  char what[128]; /* "closed form: Jacobi elliptic functions", "file C_chain100mm_N6_5s.csv", ... */
  double t_end;   /* valid until */
  double uncertainty; /* relative, of q over the whole span, as stated by the source */
  void *user;
  /* q [nq], v [nv] at time t.  Files answer at their grid times only: next_time gives the first
   * grid time >= t (closed forms and integrated references answer t itself), infinity past t_end.
   * An integrated reference answers rising times fastest. */
  perp_status (*state)(void *user, perp_ctx *ctx, double t, double *q, double *v);
  double (*next_time)(void *user, double t);
  void (*destroy)(void *user);
} perp_truth;

/* A figure of the scene's own by which a run is judged where the truth is no trajectory: forces
 * known from statics, times of events, velocities after an impact, rest.  It appears as the metric
 * of that name. */
typedef void perp_gauge_sample(void *user, double t, const double *q, const double *v,
                               const perp_step_info *info);
typedef double perp_gauge_value(const void *user);
typedef struct perp_gauge {
  const char *metric;          /* "accel.rel.err": perp list metrics */
  void *user;                  /* owned by the first gauge that has it, as are restart and sample */
  void (*restart)(void *user); /* before the first state of a run; NULL: not the owner */
  /* Every accepted state in turn; info of its step, NULL for the first state.  No allocation. */
  perp_gauge_sample *sample;
  perp_gauge_value *value; /* NaN: not defined (yet) */
  void (*destroy)(void *user);
  /* A quantity that falls through zero where the scene wants to be looked at between two accepted
   * states, as the speed upwards at an apex: the state right behind that point, from dense output
   * where there is one, is given to all gauges of the scene (info NULL) in its turn.  NULL: none */
  double (*turn)(const void *user, const double *q, const double *v);
} perp_gauge;

enum { PERP_SCENE_TRUTHS = 4, PERP_SCENE_GAUGES = 8 };

/* Final values that a public source prints for the problem, judged by the truth of the scene. */
typedef struct perp_printed {
  char what[96];       /* the source; "" = there is none */
  double t;            /* s */
  double err_q, err_v; /* largest relative error of the printed positions, of the other numbers */
} perp_printed;

typedef struct perp_scene {
  perp_model *model; /* owned; NULL when `ode` is set */
  perp_ode_sys *ode; /* owned: a plain ODE problem without bodies (orders); NULL otherwise */
  const double *ode_q0, *ode_v0;
  /* energy of a plain ODE problem that conserves one; NULL otherwise */
  double (*ode_energy)(void *user, const double *q, const double *v);
  double t_end, h; /* defaults of a run; h = 0: no opinion */
  int tip_body;    /* the marked point of err.tip.max; PERP_WORLD when there is none */
  double tip[3];
  bool dissipative; /* energy is not conserved */
  bool driven;      /* something outside does work: energy may grow */
  double size;      /* m, of a typical body of a scene with contacts; 0: no opinion */
  bool isolated;    /* nothing but uniform gravity acts from outside: momentum is known */
  double gravity;   /* of the model, m/s^2 */
  perp_truth
      truth[PERP_SCENE_TRUTHS]; /* the first is the one that metrics use; others must agree */
  int n_truths;
  perp_gauge gauge[PERP_SCENE_GAUGES];
  int n_gauges;
  perp_printed published;
  void (*destroy)(void *user); /* of `user`, NULL when nothing */
  void *user;
} perp_scene;

typedef struct perp_scene_desc {
  perp_desc d;
  perp_status (*build)(perp_ctx *ctx, const void *opts, perp_scene *scene);
  /* Instead of build, of a scene that is data: build_from with `data`, which the descriptor owns.
   */
  perp_status (*build_from)(perp_ctx *ctx, const void *data, const void *opts, perp_scene *scene);
  const void *data;
} perp_scene_desc;

/* Build the scene that spec (kind scene) names.  Reference files are looked for in
 * $PERP_HOME/tests/data/reference, in the source tree and in the installed data folder; a scene
 * whose file is in none of them fails with PERP_ERR_IO.  On failure *scene is empty.  Allocates. */
perp_status perp_scene_create(perp_ctx *ctx, const perp_spec *spec, perp_scene *scene);
void perp_scene_destroy(perp_scene *scene);

#ifdef __cplusplus
}
#endif

#endif
