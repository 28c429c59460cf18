/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the codes of SUNDIALS share; not installed.
 *
 * Each keeps its own step control: perp asks for one step after another (ONE_STEP) with a stop time
 * and judges none of them.  The functions of CVODE and ARKStep differ in their names only, so that
 * a code is a table of them, and one step is written once. */
#ifndef PERP_ODE_PEERS_SUNDIALS_H
#define PERP_ODE_PEERS_SUNDIALS_H

#include "solvers/core/library.h"
#include "solvers/ode/control.h"
#include "solvers/ode/method.h"

#include <nvector/nvector_serial.h>
#include <sundials/sundials_context.h>
#include <sunlinsol/sunlinsol_dense.h>
#include <sunmatrix/sunmatrix_dense.h>
#include <sunnonlinsol/sunnonlinsol_fixedpoint.h>

/* Of its vectors, matrices and linear solvers: the library of CVODE, loaded when it is needed
 * (solvers/core/library.h).  perp_sundials_calls.N_VConst is N_VConst. */
#define PERP_SUNDIALS(X)                                                                           \
  X(N_VClone)                                                                                      \
  X(N_VConst)                                                                                      \
  X(N_VDestroy)                                                                                    \
  X(N_VGetArrayPointer)                                                                            \
  X(N_VNew_Serial)                                                                                 \
  X(N_VScale)                                                                                      \
  X(N_VWrmsNorm)                                                                                   \
  X(SUNContext_Create)                                                                             \
  X(SUNContext_Free)                                                                               \
  X(SUNDenseMatrix)                                                                                \
  X(SUNLinSolFree)                                                                                 \
  X(SUNLinSolFreeEmpty)                                                                            \
  X(SUNLinSolNewEmpty)                                                                             \
  X(SUNLinSol_Dense)                                                                               \
  X(SUNMatDestroy)                                                                                 \
  X(SUNMatFreeEmpty)                                                                               \
  X(SUNMatNewEmpty)                                                                                \
  X(SUNNonlinSolFree)                                                                              \
  X(SUNNonlinSol_FixedPoint)
struct perp_sundials_calls {
  PERP_SUNDIALS(PERP_LIBRARY_POINTER)
};
extern struct perp_sundials_calls perp_sundials_calls;
/* Before the first use of these, and of those of one code: `own`. */
perp_status perp_sundials_open(perp_ctx *ctx, const perp_library *own);

/* Why a code of SUNDIALS gave up: flag < 0 is its answer; `inside` is what a callback said (< 0) or
 * PERP_RUNNING. */
perp_reason perp_sundials_reason(int flag, perp_reason inside);
/* Its messages: none. */
void perp_sundials_quiet(int code, const char *module, const char *function, char *message,
                         void *user);

struct perp_sundials;
typedef struct perp_sundials_code {
  int (*restart)(struct perp_sundials *w, double t); /* forget history, start at w->y */
  int (*evolve)(void *mem, realtype t_out, N_Vector y, realtype *t, int one_step);
  int (*between)(void *mem, realtype t, int derivative, N_Vector y);
  int (*set_stop)(void *mem, realtype t);
  int (*set_first)(void *mem, realtype h);
  int (*set_shortest)(void *mem, realtype h);
  int (*set_longest)(void *mem, realtype h);
  int (*errors)(void *mem, N_Vector error);
  int (*weights)(void *mem, N_Vector weight);
  int (*refused)(void *mem, long *by_error);
  int (*failed)(void *mem, long *by_iteration);
  int (*iterations)(void *mem, long *all);
  int (*next)(void *mem, realtype *h);
  void (*free)(void **mem);
  const char *name;
  bool keeps_step; /* one-step: a start where the last step ended takes the length proposed there */
} perp_sundials_code;

/* Workspace of an ODE method; y = (q, v), y' = (N(q) v, a). */
typedef struct perp_sundials {
  perp_sundials_code code;
  void *mem; /* of the code */
  SUNContext context;
  N_Vector y, error, weight;
  SUNMatrix A;
  SUNLinearSolver linear;
  SUNNonlinearSolver nonlinear;
  perp_ode_control control;
  int n, nq;
  bool fresh;                  /* no history */
  double t;                    /* end of the last step */
  double *last, *trial, *onto; /* [n] state handed out by `step`; that in the making; projected */
  double *origin, *start;      /* [n] the start of the history, its derivative */
  bool starts;                 /* they are known, and what `evolve` is about to ask for */
  int order;                   /* as an option says */
  double h_max;                /* as the code was told */
  struct perp_ode_scale scale, rate; /* of the tolerance; of the derivative at the start */
  /* the call being made */
  const perp_ode_sys *sys;
  perp_stats *stats;
  double h;
  perp_reason inside; /* why the system had no derivative */
} perp_sundials;

/* Workspace without `mem`; newton: with the matrix and the solver of Newton's method.  The code
 * then makes mem, or gives up by perp_sundials_destroy. */
perp_status perp_sundials_create(perp_ctx *ctx, const perp_sundials_code *code,
                                 const perp_ode_sys *sys, const perp_ode_control *control,
                                 bool newton, perp_sundials **out);
void perp_sundials_destroy(void *ws);
/* For the code: f, error weights, user data a perp_sundials. */
int perp_sundials_rhs(realtype t, N_Vector y, N_Vector ydot, void *user);
int perp_sundials_weights(N_Vector y, N_Vector weight, void *user);
/* y [n] to the manifold of q and the constraints of the system; false: it could not. */
bool perp_sundials_project(const perp_sundials *sundials, double t, double *y);
/* Of the descriptor. */
perp_ode_answer perp_sundials_own_step(void *ws, const perp_ode_sys *sys, double t, double t_max,
                                       double *q, double *v, perp_ode_own *own, perp_stats *stats);
perp_ode_answer perp_sundials_between(void *ws, const perp_ode_sys *sys, double t, double *q,
                                      double *v, perp_stats *stats);
/* As many steps of its own as it takes to t + h. */
perp_ode_answer perp_sundials_step(void *ws, const perp_ode_sys *sys, double t, double h, double *q,
                                   double *v, double *err, perp_stats *stats);
void perp_sundials_reset(void *ws);

#endif
