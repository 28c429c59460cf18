/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Formulations that make their own steps from one regular state to the next, with the factor of the
 * start: what ggl and impulse are but for the step itself. Private. */
#ifndef PERP_STEPPER_H
#define PERP_STEPPER_H

#include "models/stepping/constrained.h"
#include "models/stepping/time_grid.h"

/* At the head of the workspace of the formulation. */
typedef struct perp_stepper {
  perp_constrained k;
  perp_time_grid grid;
  double *q, *v;   /* state */
  double *q1, *v1; /* end of the step in the making */
  double *lambda;  /* [m] forces of the joints in the last step */
  double *servo;   /* [drives] forces of the servos likewise, of formulations that serve these */
  /* q1, v1 and lambda from q and v; positive, or why the step failed (then the state stays) */
  perp_reason (*make_step)(struct perp_stepper *s, double t, double h);
  double error;                         /* of that step, in parts of the tolerance */
  void (*keep)(struct perp_stepper *s); /* the step is one; NULL: nothing to do */
} perp_stepper;

/* Error control of steps that bring an estimate of order `order`, by Gustafsson's PI controller
 * (Hairer and Wanner II, section IV.2). */
typedef struct perp_stepper_control {
  double tol, h_min, h_max; /* options; tol 0: steps of the grid */
  int order;
  double keep; /* a step that would grow by less than this stays as it is; 0: none does */
  double h_next, speed[2], last; /* speed: largest so far, of translation and rotation */
} perp_stepper_control;
/* Rows of an options table whose struct begins with these. */
#define PERP_STEPPER_CONTROL_OPTIONS                                                               \
  PERP_REAL(perp_stepper_control, tol, 0, 0, 1, PERP_OPEN_MAX, "",                                 \
            "Error tolerance per step, relative to the size of the model, to one radian and to "   \
            "the speed. 0: fixed step."),                                                          \
      PERP_REAL(perp_stepper_control, h_min, 1e-14, 0, HUGE_VAL, PERP_OPEN_MIN, "s",               \
                "Shortest step. The run ends when a shorter one would be needed."),                \
      PERP_REAL(perp_stepper_control, h_max, HUGE_VAL, 0, HUGE_VAL, PERP_OPEN_MIN, "s",            \
                "Longest step.")

/* f [nv] of the model at (t, v), gyroscopic terms and servos included; s->k is evaluated at t. */
void perp_stepper_forces(perp_stepper *s, double t, const double *v, double *f);
/* s->servo at (t, q, v), where s->k is evaluated then; nothing where the model has no drives. */
void perp_stepper_servos(perp_stepper *s, double t, const double *q, const double *v);
/* Accelerations and multipliers of the motion at (t, q, v), to s->k.a and s->k.lambda, in a step of
 * h; false: s->k.reason says why not. */
bool perp_stepper_accelerate(perp_stepper *s, double t, double h, const double *q, const double *v);
/* q [nq] to C = 0 within rounding and then v [nv] to J v + C_t = 0, in the norm of M; likewise,
 * with PERP_MAX_ITER where C does not fall to 1e-12 of the size. */
bool perp_stepper_project(perp_stepper *s, double t, double h, double *q, double *v);
/* Arrays of the stepper that *s begins with, for the layout of the whole; s->k.model is there. */
void perp_stepper_layout(perp_stepper *s, perp_arena *a);
/* A workspace like *like, which is `size` bytes that begin with a stepper with make_step.  There is
 * no stabilization: the step is one.  *ws NULL on failure. */
perp_status perp_stepper_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts, double h,
                                perp_stepper *like, size_t size, perp_layout_fn *layout, void **ws);

/* perp_constrained_create without a stabilization, for who holds the joints by itself. */
perp_status perp_stepper_constrained(perp_ctx *ctx, perp_constrained *k, const perp_model *model,
                                     const perp_parts *parts);
/* PERP_ERR_UNSUPPORTED, with a remedy: joints with softness. */
perp_status perp_stepper_rigid(perp_ctx *ctx, const perp_model *model, const char *formulation);
/* s->error of the errors e_q and e_v [nv]: mean of squares, of positions in parts of tol times the
 * size of the model (rotations: of one radian), of velocities of tol times the largest speed. */
void perp_stepper_judge(perp_stepper *s, perp_stepper_control *control, double h, const double *e_q,
                        const double *e_v);
/* perp_stepper_step under error control; the same where control->tol is 0. */
perp_status perp_stepper_controlled(perp_ctx *ctx, void *ws, perp_stepper_control *control,
                                    double t_max, perp_step_info *info);
void perp_stepper_control_restart(perp_stepper_control *control, double h);

/* The rest of the descriptor. */
#define PERP_STEPPER_CALLS                                                                         \
  .state = perp_stepper_state, .counters = perp_stepper_counters, .timing = perp_stepper_timing
void perp_stepper_destroy(void *ws);
perp_status perp_stepper_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                 const double *v);
perp_status perp_stepper_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
void perp_stepper_state(const void *ws, double *t, const double **q, const double **v);
void perp_stepper_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt);
void perp_stepper_timing(void *ws, bool on, perp_times *times);

#endif
