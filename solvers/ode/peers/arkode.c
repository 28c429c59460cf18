/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ARKStep of SUNDIALS with an implicit Runge-Kutta method: diagonally implicit, its defaults for
 * each order,
 *
 *      2  SDIRK of 2 stages               3  ESDIRK of ARK3(2)4L[2]SA (Kennedy and Carpenter 2003)
 *      4  SDIRK of 5 stages (Hairer and Wanner II, section IV.6)       5  ESDIRK of ARK5(4)8L[2]SA
 *
 * with its own choice of steps, Newton's method, and its Hermite interpolant between two steps,
 * which asks for derivatives (counted as those of dense output).  Where the system has constraints
 * (`onto`) or unit quaternions (nq > nv) each step ends with a projection
 * (ARKStepSetPostprocessStepFn), after which ARKODE asks for the derivative anew.
 *
 * The Jacobian is dense, by ARKODE's difference quotients, n derivatives that count like others
 * (each takes an empty vector from the heap).  Its matrix is factored anew whenever the step
 * changes: ARKODE takes the rate of convergence of the last factors for that of the next step, too,
 * which is zero for linear systems, and would call one iteration with the matrix of another step
 * converged (an oscillator at tol = 1e-10 was off by 3e-4).  Cost: a derivative per iteration of
 * each stage. */
#include "solvers/ode/peers/sundials.h"

#include "solvers/core/library_files.h"

#include <arkode/arkode_arkstep.h>
#include <float.h>

#define ARKODE(X)                                                                                  \
  X(ARKStepCreate)                                                                                 \
  X(ARKStepEvolve)                                                                                 \
  X(ARKStepFree)                                                                                   \
  X(ARKStepGetCurrentStep)                                                                         \
  X(ARKStepGetDky)                                                                                 \
  X(ARKStepGetErrWeights)                                                                          \
  X(ARKStepGetEstLocalErrors)                                                                      \
  X(ARKStepGetNumErrTestFails)                                                                     \
  X(ARKStepGetNumNonlinSolvIters)                                                                  \
  X(ARKStepGetNumStepSolveFails)                                                                   \
  X(ARKStepReInit)                                                                                 \
  X(ARKStepSetDeltaGammaMax)                                                                       \
  X(ARKStepSetErrHandlerFn)                                                                        \
  X(ARKStepSetInitStep)                                                                            \
  X(ARKStepSetLinearSolver)                                                                        \
  X(ARKStepSetMaxStep)                                                                             \
  X(ARKStepSetMinStep)                                                                             \
  X(ARKStepSetOrder)                                                                               \
  X(ARKStepSetPostprocessStepFn)                                                                   \
  X(ARKStepSetStopTime)                                                                            \
  X(ARKStepSetUserData)                                                                            \
  X(ARKStepWFtolerances)

static struct {
  ARKODE(PERP_LIBRARY_POINTER)
} arkode_calls;
PERP_LIBRARY(arkode, ARKODE, arkode_calls, SUNDIALS_ARKODE, "ARKODE of SUNDIALS",
             "libsundials-dev");

struct opts {
  perp_ode_control control;
  int order;
};
static const perp_opt options[] = {
  PERP_ODE_CONTROL_OPTIONS(struct opts),
  PERP_INT(struct opts, order, 5, 2, 5, "Order of the Runge-Kutta method."), PERP_OPTIONS_END
};

static int arkode_restart(perp_sundials *sundials, double t)
{
  return arkode_calls.ARKStepReInit(sundials->mem, NULL, perp_sundials_rhs, t, sundials->y);
}

static int arkode_project(realtype t, N_Vector y, void *user)
{
  const perp_sundials *sundials = user;
  double *x = perp_sundials_calls.N_VGetArrayPointer(y);
  return perp_sundials_project(sundials, t, x) ? 0 : 1;
}

static perp_status arkode_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                 void **ws)
{
  const struct opts *chosen = opts;
  perp_sundials *sundials;
  *ws = NULL;
  PERP_TRY(perp_sundials_open(ctx, &arkode_library));
  const perp_sundials_code code = {
    .name = "sundials:arkode",
    .keeps_step = true,
    .restart = arkode_restart,
    .evolve = arkode_calls.ARKStepEvolve,
    .between = arkode_calls.ARKStepGetDky,
    .set_stop = arkode_calls.ARKStepSetStopTime,
    .set_first = arkode_calls.ARKStepSetInitStep,
    .set_shortest = arkode_calls.ARKStepSetMinStep,
    .set_longest = arkode_calls.ARKStepSetMaxStep,
    .errors = arkode_calls.ARKStepGetEstLocalErrors,
    .weights = arkode_calls.ARKStepGetErrWeights,
    .refused = arkode_calls.ARKStepGetNumErrTestFails,
    .failed = arkode_calls.ARKStepGetNumStepSolveFails,
    .iterations = arkode_calls.ARKStepGetNumNonlinSolvIters,
    .next = arkode_calls.ARKStepGetCurrentStep,
    .free = arkode_calls.ARKStepFree,
  };
  PERP_TRY(perp_sundials_create(ctx, &code, sys, &chosen->control, true, &sundials));
  sundials->order = chosen->order;
  sundials->mem = arkode_calls.ARKStepCreate(NULL, perp_sundials_rhs, 0, sundials->y,
                                             sundials->context);
  bool made = sundials->mem != NULL &&
              arkode_calls.ARKStepSetErrHandlerFn(sundials->mem, perp_sundials_quiet, NULL) == 0 &&
              arkode_calls.ARKStepSetUserData(sundials->mem, sundials) == 0 &&
              arkode_calls.ARKStepWFtolerances(sundials->mem, perp_sundials_weights) == 0 &&
              arkode_calls.ARKStepSetLinearSolver(sundials->mem, sundials->linear, sundials->A) ==
                  0 &&
              arkode_calls.ARKStepSetDeltaGammaMax(sundials->mem, 8 * DBL_EPSILON) == 0 &&
              arkode_calls.ARKStepSetOrder(sundials->mem, chosen->order) == 0;
  if (sys->onto != NULL || (sys->project != NULL && sys->nq != sys->nv))
    made = made && arkode_calls.ARKStepSetPostprocessStepFn(sundials->mem, arkode_project) == 0;
  if (made) {
    *ws = sundials;
    return PERP_OK;
  }
  perp_sundials_destroy(sundials);
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "sundials:arkode: no memory for %d unknowns",
                   sys->nq + sys->nv);
}

static int arkode_order(const void *ws)
{
  return ((const perp_sundials *)ws)->order;
}

const perp_ode_desc perp_ode_sundials_arkode = {
  .d = { .name = "sundials:arkode",
         .summary = "SUNDIALS ARKStep: diagonally implicit Runge-Kutta methods, order 2 to 5, step "
                    "control of ARKODE",
         .reference = "D. R. Reynolds et al., ARKODE: a flexible IVP solver infrastructure for "
                      "one-step methods, ACM TOMS 49, 2023",
         .equation = "Y_i = y + h sum_(j <= i) a_ij f(t + c_j h, Y_j), y+ = y + h sum_i b_i f(Y_i)",
         .opts = options,
         .opts_size = sizeof(struct opts),
         .caps = PERP_ODE_PEER | PERP_ODE_IMPLICIT | PERP_ODE_VARIABLE_ORDER | PERP_ODE_PROJECTS |
                 PERP_CAP_ALLOCATES },
  .create = arkode_create,
  .step = perp_sundials_step,
  .own_step = perp_sundials_own_step,
  .between = perp_sundials_between,
  .reset = perp_sundials_reset,
  .destroy = perp_sundials_destroy,
  .current_order = arkode_order,
};
