/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/formulations/stop_cause.h"

#include "models/multibody/model_private.h"
#include "models/stepping/redundancy.h"

#include <stdio.h>

/* Rows of J that depend on others at (t, q, v), by the rule of all simulations; 0 where that is not
 * known. */
static int stop_cause_redundant(perp_ctx *ctx, perp_model *model, double t, const double *q,
                                const double *v)
{
  perp_model *view;
  perp_redundancy *redundancy = NULL;
  int rows = 0;
  if (perp_redundancy_create(ctx, model, 1, false, &view, &redundancy) == PERP_OK &&
      redundancy != NULL && perp_redundancy_restart(ctx, redundancy, t, q, v) == PERP_OK)
    rows = perp_redundancy_report(redundancy)->rows;
  perp_redundancy_destroy(redundancy);
  return rows;
}

static int stop_cause_add(char *text, int at, const char *more)
{
  return at + (at < PERP_STOP_CAUSE
                   ? snprintf(text + at, (size_t)(PERP_STOP_CAUSE - at), "%s", more)
                   : 0);
}

void perp_stop_cause(perp_ctx *ctx, perp_model *model, const perp_desc *formulation,
                     const perp_desc *ode, const perp_desc *kkt, const perp_redundant *known,
                     double h, double t, const double *q, const double *v, perp_reason reason,
                     char *text)
{
  const bool rows = reason == PERP_INFEASIBLE || reason == PERP_SINGULAR;
  char part[200];
  text[0] = '\0';
  if (reason == PERP_INACCURATE && ode == NULL && model->m > 0) {
    snprintf(text, PERP_STOP_CAUSE,
             "formulation %s did not find the joint forces of bodies of very different mass; use "
             "joint coordinates (--formulation reduced)",
             formulation->name);
    return;
  }
  if (reason != PERP_MAX_ITER && !rows) return;
  const int redundant = known != NULL ? known->rows : stop_cause_redundant(ctx, model, t, q, v);
  int at = 0;
  if (reason == PERP_MAX_ITER) { /* an explicit method has no iteration: it is that of the rest */
    if (ode != NULL && !(ode->caps & PERP_ODE_IMPLICIT) &&
        !(formulation->caps & PERP_FORM_CANONICAL))
      ode = NULL;
    snprintf(part, sizeof part, "the iteration of %s %s did not converge in a step of %.4g s; ",
             ode != NULL ? "ode" : "formulation", ode != NULL ? ode->name : formulation->name, h);
    at = stop_cause_add(text, at, part);
  } else if (redundant == 0) {
    snprintf(part, sizeof part,
             "the constraint rows of the step have no solution at this position; ");
    at = stop_cause_add(text, at, part);
  }
  if (redundant > 0) {
    snprintf(part, sizeof part, "%d of %d constraint rows depend on others%s; ", redundant,
             model->m, rows ? " and contradict them by their error" : "");
    at = stop_cause_add(text, at, part);
  }
  if (redundant > 0 && kkt != NULL && rows) {
    stop_cause_add(text, at, "use --kkt schur-svd:rank_tol=1e-8");
  } else if (ode != NULL && (redundant > 0 || (formulation->caps & PERP_FORM_EXACT_JOINTS))) {
    /* Accelerations jump with the rank that is decided, and momenta of joint coordinates may have
     * no velocity, however short the step is. */
    stop_cause_add(text, at, "use an explicit method (--ode rk4)");
  } else {
    snprintf(part, sizeof part, "use a shorter step (--h %.2gs)", h / 10);
    stop_cause_add(text, at, part);
  }
}
