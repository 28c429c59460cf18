/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CVODE of SUNDIALS, as it comes: the Adams methods of order 1 to 12 with fixed-point iterations,
 * and the BDF methods of order 1 to 5 with Newton's method, in their variable-coefficient form,
 * with CVODE's choice of order and step, its first step too, and its interpolant between two steps
 * (Hindmarsh et al. 2005).
 *
 * BDF: the Jacobian is dense, by CVODE's difference quotients, n derivatives that count like others
 * (each takes an empty vector from the heap).  Where the system has constraints (`onto`) or unit
 * quaternions (`project`), CVODE projects each step before its history takes it up (CVodeSetProjFn,
 * for BDF only); the local error is not projected. The Adams methods start again after a
 * projection, which systems spare them within the tolerance.
 *
 * Cost: one derivative per iteration, rarely more than two a step; BDF: O(n^3) at new Jacobians and
 * step sizes. */
#include "solvers/ode/peers/sundials.h"

#include "solvers/core/library_files.h"

#include <cvode/cvode.h>
#include <cvode/cvode_ls.h>
#include <cvode/cvode_proj.h>
#include <string.h>

#define CVODE(X)                                                                                   \
  X(CVode)                                                                                         \
  X(CVodeCreate)                                                                                   \
  X(CVodeFree)                                                                                     \
  X(CVodeGetCurrentStep)                                                                           \
  X(CVodeGetDky)                                                                                   \
  X(CVodeGetErrWeights)                                                                            \
  X(CVodeGetEstLocalErrors)                                                                        \
  X(CVodeGetLastOrder)                                                                             \
  X(CVodeGetNumErrTestFails)                                                                       \
  X(CVodeGetNumNonlinSolvIters)                                                                    \
  X(CVodeGetNumStepSolveFails)                                                                     \
  X(CVodeInit)                                                                                     \
  X(CVodeReInit)                                                                                   \
  X(CVodeSetErrHandlerFn)                                                                          \
  X(CVodeSetInitStep)                                                                              \
  X(CVodeSetLinearSolver)                                                                          \
  X(CVodeSetMaxStep)                                                                               \
  X(CVodeSetMinStep)                                                                               \
  X(CVodeSetNonlinearSolver)                                                                       \
  X(CVodeSetProjErrEst)                                                                            \
  X(CVodeSetProjFn)                                                                                \
  X(CVodeSetStopTime)                                                                              \
  X(CVodeSetUserData)                                                                              \
  X(CVodeWFtolerances)

static struct {
  CVODE(PERP_LIBRARY_POINTER)
} cvode_calls;
PERP_LIBRARY(cvode, CVODE, cvode_calls, SUNDIALS_CVODE, "CVODE of SUNDIALS", "libsundials-dev");

static int cvode_restart(perp_sundials *sundials, double t)
{
  return cvode_calls.CVodeReInit(sundials->mem, t, sundials->y);
}

/* corr = what takes y to the constraints */
static int cvode_project(realtype t, N_Vector y, N_Vector corr, realtype enough, N_Vector err,
                         void *user)
{
  perp_sundials *sundials = user;
  const double *x = perp_sundials_calls.N_VGetArrayPointer(y);
  double *c = perp_sundials_calls.N_VGetArrayPointer(corr);
  (void)enough, (void)err;
  memcpy(sundials->onto, x, (size_t)sundials->n * sizeof *x);
  if (!perp_sundials_project(sundials, t, sundials->onto)) return 1;
  for (int i = 0; i < sundials->n; i++) c[i] = sundials->onto[i] - x[i];
  return 0;
}

static perp_status cvode_create(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts,
                                bool newton, void **ws)
{
  perp_sundials *sundials;
  *ws = NULL;
  PERP_TRY(perp_sundials_open(ctx, &cvode_library));
  const perp_sundials_code code = {
    .name = "sundials:cvode",
    .restart = cvode_restart,
    .evolve = cvode_calls.CVode,
    .between = cvode_calls.CVodeGetDky,
    .set_stop = cvode_calls.CVodeSetStopTime,
    .set_first = cvode_calls.CVodeSetInitStep,
    .set_shortest = cvode_calls.CVodeSetMinStep,
    .set_longest = cvode_calls.CVodeSetMaxStep,
    .errors = cvode_calls.CVodeGetEstLocalErrors,
    .weights = cvode_calls.CVodeGetErrWeights,
    .refused = cvode_calls.CVodeGetNumErrTestFails,
    .failed = cvode_calls.CVodeGetNumStepSolveFails,
    .iterations = cvode_calls.CVodeGetNumNonlinSolvIters,
    .next = cvode_calls.CVodeGetCurrentStep,
    .free = cvode_calls.CVodeFree,
  };
  PERP_TRY(perp_sundials_create(ctx, &code, sys, opts, newton, &sundials));
  sundials->mem = cvode_calls.CVodeCreate(newton ? CV_BDF : CV_ADAMS, sundials->context);
  bool made = sundials->mem != NULL &&
              cvode_calls.CVodeSetErrHandlerFn(sundials->mem, perp_sundials_quiet, NULL) == 0 &&
              cvode_calls.CVodeInit(sundials->mem, perp_sundials_rhs, 0, sundials->y) == 0 &&
              cvode_calls.CVodeSetUserData(sundials->mem, sundials) == 0 &&
              cvode_calls.CVodeWFtolerances(sundials->mem, perp_sundials_weights) == 0;
  if (newton)
    made = made &&
           cvode_calls.CVodeSetLinearSolver(sundials->mem, sundials->linear, sundials->A) == 0;
  else
    made = made && cvode_calls.CVodeSetNonlinearSolver(sundials->mem, sundials->nonlinear) == 0;
  if (newton && (sys->onto != NULL || sys->project != NULL))
    made = made && cvode_calls.CVodeSetProjFn(sundials->mem, cvode_project) == 0 &&
           cvode_calls.CVodeSetProjErrEst(sundials->mem, SUNFALSE) == 0;
  if (made) {
    *ws = sundials;
    return PERP_OK;
  }
  perp_sundials_destroy(sundials);
  return PERP_FAIL(ctx, PERP_ERR_NOMEM, "sundials:cvode: no memory for %d unknowns",
                   sys->nq + sys->nv);
}

static perp_status create_adams(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, void **ws)
{
  return cvode_create(ctx, sys, opts, false, ws);
}

static perp_status create_bdf(perp_ctx *ctx, const perp_ode_sys *sys, const void *opts, void **ws)
{
  return cvode_create(ctx, sys, opts, true, ws);
}

static int cvode_order(const void *ws)
{
  int order = 0;
  cvode_calls.CVodeGetLastOrder(((const perp_sundials *)ws)->mem, &order);
  return order;
}

#define METHOD(identifier, name_, summary_, caps_)                                                 \
  const perp_ode_desc perp_ode_sundials_cvode_##identifier = {                                     \
    .d = { .name = name_,                                                                          \
           .summary = summary_,                                                                    \
           .reference = "A. C. Hindmarsh et al., SUNDIALS: suite of nonlinear and "                \
                        "differential/algebraic equation solvers, ACM TOMS 31, 2005",              \
           .equation = "y' = f(t, y), y = (q, v)",                                                 \
           .opts = perp_ode_plain_options,                                                         \
           .opts_size = sizeof(struct perp_ode_plain_opts),                                        \
           .caps = PERP_ODE_PEER | PERP_ODE_MULTISTEP | PERP_ODE_VARIABLE_ORDER | (caps_) },       \
    .create = create_##identifier,                                                                 \
    .step = perp_sundials_step,                                                                    \
    .own_step = perp_sundials_own_step,                                                            \
    .between = perp_sundials_between,                                                              \
    .reset = perp_sundials_reset,                                                                  \
    .destroy = perp_sundials_destroy,                                                              \
    .current_order = cvode_order,                                                                  \
  }

METHOD(adams, "sundials:cvode-adams",
       "SUNDIALS CVODE: Adams methods, variable order 1 to 12, step control of CVODE", 0);
METHOD(bdf, "sundials:cvode-bdf",
       "SUNDIALS CVODE: BDF methods, variable order 1 to 5, step control and projection of CVODE",
       PERP_ODE_IMPLICIT | PERP_ODE_PROJECTS | PERP_CAP_ALLOCATES);
