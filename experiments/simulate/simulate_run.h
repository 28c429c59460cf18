/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the passes of one cell share (simulate_run.c), and the passes of the clock
 * (simulate_clock.c). */
#ifndef PERP_SIMULATE_RUN_H
#define PERP_SIMULATE_RUN_H

#include "experiments/metrics/against.h"
#include "experiments/metrics/metrics.h"
#include "experiments/simulate/clock_reference.h"
#include "experiments/simulate/force_log.h"
#include "experiments/simulate/replay.h"
#include "experiments/simulate/simulate.h"
#include "models/formulations/equivalent.h"
#include "experiments/metrics/spread.h"

typedef struct perp_cell_run {
  const perp_request *request;
  perp_result *result;
  perp_scene scene;
  perp_parts parts;
  double h, t_end, every, bound;
  double *moved; /* start of a perturbed run, q [nq] and v [nv]; NULL: that of the scene */
  bool adaptive;
  /* of a run of an equivalent model: that model, room for a state of it and for one of the given
   * model, q [nq] and v [nv], and for multipliers [m]; NULL: the model of the scene itself */
  perp_equivalent *equivalent;
  double *q_there, *v_there, *q_back, *v_back, *lambda_there;
  perp_sim *sim; /* scenes with bodies */
  perp_ode *ode; /* plain ODE problems */
  perp_measure *measure;
  perp_replay *replay;
  perp_force_log *log;             /* NULL: forces are not asked for */
  perp_against against;            /* what the run is compared with */
  perp_scene plain;                /* borrowed from scene, without gauges */
  perp_measure *between;           /* of states between two accepted ones, for rows of the series */
  double *q_at, *v_at, *lambda_at; /* such a state */
  double film_every, filmed;       /* s: between the frames of a film; as `sampled` of its frames */
  double
      sampled; /* s, the last sample between the last two accepted states, or the first of these */
  perp_cell_list batch; /* clock: seconds per step of each batch, */
  /* and of each step by itself: the least of the runs, beyond PERP_LIST_EXACT steps those of the
   * last run */
  perp_cell_list alone;
  perp_cell_list work; /* of the contact solvers in each step */
  int rounds; /* for the clock: request->timing_rounds, once pass 1 has shown what is needed */
  bool brief; /* the steps are too short for a clock around each: pass 1 has read it for the first
                 ones only */
  double cpu0, wall0; /* when pass 1 began */
  int64_t steps;      /* of pass 1, and its counters after the start: what the clock must repeat */
  perp_ode_counters begun;
  double kept; /* when, wall clock */
} perp_cell_run;

/* One face for simulations and plain problems.  q0 and v0: the start, moved where that is asked
 * for. */
const double *perp_cell_q0(const perp_cell_run *run);
const double *perp_cell_v0(const perp_cell_run *run);
/* moved: q0 by `perturb` times its largest entry (rotations by as many radians), v0 by `perturb`
 * times its largest, along (sin 1, sin 2, ...). */
perp_status perp_cell_perturb(perp_ctx *ctx, perp_cell_run *run, double perturb);
/* The simulation will be one of this equivalent of the model. */
perp_status perp_cell_equivalent(perp_ctx *ctx, perp_cell_run *run, const char *name);
perp_status perp_cell_start(perp_ctx *ctx, perp_cell_run *run);
perp_status perp_cell_step(perp_ctx *ctx, perp_cell_run *run, double t_max, perp_step_info *info);
/* A step that stopped since an integrator in another language raised an exception: PERP_ERR_RAISED,
 * with the message that it left in ctx, whose status was PERP_OK before. */
perp_status perp_cell_raised(const perp_ctx *ctx, const perp_step_info *info);
/* In the coordinates of the model of the scene, as all that the functions here say. */
void perp_cell_state(const perp_cell_run *run, double *t, const double **q, const double **v);
/* A state of the last step by dense output into run->q_at and run->v_at, and its multipliers [m]
 * (NULL: not wanted); false: there is none. */
bool perp_cell_dense(perp_ctx *ctx, perp_cell_run *run, double t, double *lambda);
void perp_cell_counters(const perp_cell_run *run, perp_ode_counters *ode, perp_stats *kkt);
/* Rows of joints that depend on others in the last step; -1: not known. */
int perp_cell_redundant(const perp_cell_run *run);
bool perp_cell_same_time(double a, double b);
/* Must the run end here?  Nothing is asked of a run that nobody minds. */
perp_cut perp_cell_cut(const perp_cell_run *run);

/* CPU time that two readings of the clock take, s. */
double perp_cell_clock_cost(void);
/* Passes 2 and 3, after the numbers: times of the result. */
perp_status perp_cell_clock(perp_ctx *ctx, perp_cell_run *run);

#endif
