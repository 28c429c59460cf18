/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Forces of joints, drives and contacts of a run: columns of its series, and figures over the run.
 */
#ifndef PERP_FORCE_LOG_H
#define PERP_FORCE_LOG_H

#include "experiments/simulate/simulate.h"
#include "models/formulations/step_forces.h"

/* Columns, with NAME that of the joint (or "joint3"), in the plane without those of z:
 *
 *      NAME.fx[N] fy fz  NAME.tx[Nm] ty tz    force and torque on body b at the joint, world axes
 *      NAME.f1[N] f2 f3  NAME.t1[Nm] t2 t3    the same in the frame of the joint (reaction.h)
 *      NAME.unique                            1, or 0 where redundant constraints share the force
 *      DRIVE.force[N], DRIVE.torque[Nm]       along the coordinate of the drive
 *      contact.A.B.fx[N] ... tx[Nm] ... px[m] of all contacts of A with B on B, at the point p
 *
 * A pair of bodies has columns where its shapes may touch and there are at most 60 such pairs; else
 * each body has those of all its contacts, contact.any.B. */
typedef struct perp_force_log {
  perp_step_forces *step;
  int columns;
  char (*header)[PERP_HEADER_MAX]; /* [columns] */
  double *row;                     /* [columns] of the last call; NaN: not known */
  perp_force_total *total;         /* [n_total] */
  int n_total;
  double *now, *before, *square; /* [n_total] of rms: last value, the one before, integral */
  double t_before, t_first;
  int samples;
  int64_t unknown; /* samples without forces of joints */
  bool ever_known, ever_shared;
  int n_pairs, *pair_a, *pair_b; /* a = PERP_ANY_PARTNER: of all */
} perp_force_log;

/* may_touch: the collision detection of the model, NULL without shapes.  Errors as of
 * perp_step_forces_create. */
perp_status perp_force_log_create(perp_ctx *ctx, perp_model *model, const perp_sim *sim,
                                  const perp_collision *may_touch, perp_force_log **out);
void perp_force_log_destroy(perp_force_log *log); /* NULL is fine */
/* Is a name that of a metric of forces: force.joint.NAME.max, torque.drive.NAME.rms, ...? *total:
 * the length of what is before .max, .rms or .final; may be NULL. */
bool perp_force_metric_is(const char *name, size_t *total);
/* Its value; NaN: not known.  *found out: is there such a force? */
double perp_force_metric(const perp_force_total *total, int n, const char *name, bool *found);
/* PERP_ERR_ARG, with the closest name: a metric of a force that there is not. */
perp_status perp_force_log_check(perp_ctx *ctx, const perp_force_log *log, const char *const *names,
                                 int n);
/* A step: log->row is that of its start (PERP_FORCES_AT_START), else of its end. */
perp_status perp_force_log_step(perp_ctx *ctx, perp_force_log *log, const perp_step_span *span,
                                int redundant);
/* A state between two accepted ones, for log->row alone. */
perp_status perp_force_log_between(perp_ctx *ctx, perp_force_log *log, double t, const double *q,
                                   const double *v, const double *lambda, int redundant);
/* Do rows have to be those of accepted states?  Forces of drives and contacts are known there. */
bool perp_force_log_at_steps(const perp_force_log *log);
/* Maxima, root mean squares, last values. */
void perp_force_log_end(perp_force_log *log);

#endif
