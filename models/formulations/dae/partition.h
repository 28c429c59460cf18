/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Independent coordinates of constrained motion as an ordinary differential equation (partition.c),
 * for formulations that differ in which they take. */
#ifndef PERP_PARTITION_H
#define PERP_PARTITION_H

#include "models/stepping/formulation.h"

/* J [m nv], column-major, overwritten, of coordinates that are comparable; the first *rank columns
 * of Q [nv nv], orthogonal, span the dependent ones, the others the independent ones.  Pivots below
 * PERP_PARTITION_DEPENDENT of the first are 0.  pivot [max(m, nv)], copy [m nv], work
 * [perp_partition_work].  False: LAPACK failed. */
#define PERP_PARTITION_DEPENDENT 1e-8 /* as orders of rows differ by less */
typedef bool perp_partition_choose(int m, int nv, double *J, double *Q, int *rank, int *pivot,
                                   double *copy, double *work);
static inline int perp_partition_work(int m, int nv)
{
  return 70 * (m + nv + 2);
}

perp_status perp_partition_create(perp_ctx *ctx, perp_model *model, const perp_parts *parts,
                                  double h, perp_partition_choose *choose, void **ws);
perp_status perp_partition_restart(perp_ctx *ctx, void *ws, double t, const double *q,
                                   const double *v);
perp_status perp_partition_step(perp_ctx *ctx, void *ws, double t_max, perp_step_info *info);
void perp_partition_state(const void *ws, double *t, const double **q, const double **v);
void perp_partition_counters(const void *ws, perp_ode_counters *ode, perp_stats *kkt);
void perp_partition_timing(void *ws, bool on, perp_times *times);
void perp_partition_destroy(void *ws);

#define PERP_PARTITION_CAPS                                                                        \
  (PERP_FORM_FORCES_AT_START | PERP_FORM_USES_ODE | PERP_FORM_USES_KKT | PERP_FORM_EXACT_JOINTS |  \
   PERP_FORM_SIGNALS | PERP_FORM_MOTIONS | PERP_FORM_SERVOS)
#define PERP_PARTITION_CALLS                                                                       \
  .restart = perp_partition_restart, .step = perp_partition_step, .state = perp_partition_state,   \
  .counters = perp_partition_counters, .timing = perp_partition_timing,                            \
  .destroy = perp_partition_destroy

#endif
