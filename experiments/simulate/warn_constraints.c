/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/simulate/warn_constraints.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double ENERGY = 0.05; /* of the energy: above, constraint forces brake the motion */

/* "joint 3 'elbow'" */
static const char *warn_joint(const perp_cell_run *r, int joint, char *buf, size_t size)
{
  const char *name = perp_model_joint(r->scene.model, joint)->name;
  if (name != NULL)
    snprintf(buf, size, "joint %d '%.48s'", joint, name);
  else
    snprintf(buf, size, "joint %d", joint);
  return buf;
}

static void warn_rows(const perp_cell_run *r, const perp_redundant *rows)
{
  perp_result *result = r->result;
  char joint[80];
  const size_t used = strlen(result->events), room = sizeof result->events - used;
  if (rows->most == 0) return;
  snprintf(result->events + used, room, "%s%d redundant constraint row%s, the first at %s",
           used > 0 ? "\n         " : "", rows->most, rows->most == 1 ? "" : "s",
           warn_joint(r, rows->joint, joint, sizeof joint));
}

void perp_warn_constraints(const perp_ctx *ctx, const perp_cell_run *r)
{
  const perp_redundant *rows = r->sim != NULL ? perp_sim_redundant(r->sim) : NULL;
  perp_warnings *w = &r->result->warnings;
  const perp_metric_desc *work;
  char joint[80];
  if (rows == NULL) return;
  warn_rows(r, rows);
  if (rows->changes > 0)
    perp_warn(
        w,
        "The number of independent constraints changes %d time%s, first at t = %.4g s (%s): "
        "at a singular position the motion may branch. Compare with half the step (--h %.3gs).",
        rows->changes, rows->changes == 1 ? "" : "s", rows->t_change,
        warn_joint(r, rows->joint_change, joint, sizeof joint), r->h / 2);
  else if (rows->near > 0)
    perp_warn(w,
              "%d step%s of a singular position, the closest at t = %.4g s (%.2g rad between "
              "constraints): the motion may branch there. Compare with half the step (--h %.3gs).",
              rows->near, rows->near == 1 ? " comes within reach" : "s come within reach",
              rows->t_sigma, rows->sigma, r->h / 2);
  work = (const perp_metric_desc *)perp_find(ctx, PERP_KIND_metric, "constraints.work");
  const double part = work != NULL ? work->value(r->measure) : 0;
  if (part > ENERGY)
    perp_warn(w,
              "Constraint forces changed the energy by %.2g %%; exact ones do no work. Use a "
              "shorter step (--h %.3gs), or --formulation acceleration --ode rk4.",
              100 * part, r->h / 2);
}
