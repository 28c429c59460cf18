/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What all switches share: which joints hold, the stop of bodies, steps that are made again,
 * counters that go on; and joints that break. */
#ifndef PERP_SWITCHES_CORE_H
#define PERP_SWITCHES_CORE_H

#include "models/multibody/model_private.h"
#include "models/stepping/formulation.h"
#include "solvers/kkt/kkt.h"

enum { PERP_SWITCH_SEARCH = 60 };

enum switch_phase { SWITCH_WAITS, SWITCH_HOLDS, SWITCH_DONE };

typedef struct perp_switches {
  perp_model view;
  const perp_model *model; /* that it is a view of */
  const perp_formulation_desc *form;
  bool *released;   /* [joints] that broke, of curves that were left, of disabled bodies that are
                       elsewhere */
  double *softness; /* [m] of the view */
  perp_release *release; /* [joints + disabled + stops] */
  int n;
  double *q, *v; /* start of the step */
  double t;
  bool breaks;                              /* is there a joint with a threshold? */
  double *q_dense, *v_dense, *lambda_dense; /* at a time of the step */
  double *lambda_told;                      /* [m] as reported, of a step in which a joint broke */
  /* disabled bodies */
  enum switch_phase *phase;     /* [disabled] */
  unsigned char *held, *struck; /* [bodies] */
  perp_joint *joint; /* [joints] of the view: those of disabled bodies hold where these are */
  perp_row *rows;    /* [PERP_JOINT_ROWS disabled] */
  perp_dropped dropped;
  int *drop_row, *drop_joint; /* [m] */
  bool *stopped;              /* [stops] */
  perp_force_def *force;      /* [forces], [drives] of a view with stops */
  perp_drive_def *drive;
  perp_eval e;
  perp_kkt_solver *kkt; /* NULL: no body is disabled in motion */
  double *f, *c, *a, *lambda;
  perp_contact_count before, sum;
  perp_stats kkt_before;
} perp_switches;

/* The formulation restarts, its counters go on. */
perp_status perp_switches_restart_from(perp_ctx *ctx, perp_switches *k, void *ws, double t,
                                       const double *q, const double *v);
/* Rows of the joints that hold, and no others. */
void perp_switches_rows(perp_switches *k);
/* The joint of a disabled body holds it where it is at q. */
void perp_switches_take_hold(perp_switches *k, int i, const double *q);
/* k->v after the stop of bodies that have just been disabled: M (v+ - v) = J' p, J v+ = 0. */
perp_status perp_switches_stop(perp_ctx *ctx, perp_switches *k);
void perp_switches_note(perp_switches *k, perp_release what);
/* kkt += what was counted before the last restart. */
void perp_switches_count_before(const perp_switches *k, perp_stats *kkt);
/* From the start of the step to t. */
perp_status perp_switches_again(perp_ctx *ctx, perp_switches *k, void *ws, double t,
                                perp_step_info *info, double *now, const double **q,
                                const double **v);
/* The state of the formulation is the start of what follows. */
void perp_switches_begin(perp_switches *k, const void *ws);
/* Rows and velocities after something was switched, at k->t, k->q, k->v; and from the state of the
 * formulation on. */
perp_status perp_switches_go_on(perp_ctx *ctx, perp_switches *k, void *ws, perp_step_info *info);
perp_status perp_switches_from_here(perp_ctx *ctx, perp_switches *k, void *ws,
                                    perp_step_info *info);

/* After a step from k->q, joints whose threshold is passed break. */
perp_status perp_switches_strain(perp_ctx *ctx, perp_switches *k, void *ws, perp_step_info *info);

#endif
