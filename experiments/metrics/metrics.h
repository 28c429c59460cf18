/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Metrics: what one run is judged by.  One row of a table each (kind `metric`): name, unit,
 * meaning, which way is better, and the function that reads it from the measurements.
 *
 * A run is measured at every accepted state after stabilization (drift, energy, momentum), and
 * compared with its ground truth at those that are the first at or after a sample time; with a
 * reference file at its rows (samples.h says how).  The first state counts. */
#ifndef PERP_METRICS_H
#define PERP_METRICS_H

#include "models/models.h"
#include "models/multibody/conserved.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct perp_measure perp_measure;

typedef struct perp_metric_desc {
  perp_desc d; /* summary: the meaning */
  const char *unit;
  const char *better;                           /* "less", "more" or "" */
  double (*value)(const perp_measure *measure); /* NaN: not defined for this run */
} perp_metric_desc;

enum {
  PERP_METRIC_TIMING = 1 << 0, /* differs from run to run */
  PERP_METRIC_GAUGE = 1 << 1,  /* a figure that the scene measures: perp_gauge */
  PERP_METRIC_MOTION = 1 << 2  /* reads perp_measure_motion */
};

/* The metric that counts the comparisons of which the named one is the largest; NULL: it is no
 * largest of comparisons with a reference. */
const char *perp_metric_count(const char *name);

/* Make the metrics known to ctx.  PERP_ERR_NOMEM when its registry is full. */
perp_status perp_register_metrics(perp_ctx *ctx);

/* Of a figure over the steps of a run; quartiles: the distance of the upper from the lower one. */
typedef struct perp_spread {
  double median, p99, most, quartiles;
} perp_spread;

/* Steps whose contact problems have several solutions (models/contact/laws/contact.h): all steps,
 * those with impulses that are not unique, those with another motion, those in which that was the
 * choice, those with islands too large to look for it, those in which looking for it failed. */
typedef struct perp_solution_steps {
  int64_t steps, open, several, chosen, unexamined, undecided;
} perp_solution_steps;
/* One step more: the counts after it and before it. */
void perp_solution_steps_add(perp_solution_steps *s, const perp_contact_count *after,
                             const perp_contact_count *before);

/* Sizes of the columns of q or v that are compared with a truth: column j is divided by max_t
 * |x_ref,j|.  A column that is zero in the truth up to rounding (below 1e-9 of the largest column
 * of its kind: lengths, or rotations) is divided by that largest column instead, and by 1 when all
 * are zero. */
struct perp_measure {
  perp_ctx *ctx; /* of create; for a metric that fails, which says so there and answers NaN */
  const perp_scene *scene;
  perp_model *model; /* NULL: a plain ODE problem */
  int nq, nv, m;
  int64_t states;
  perp_conserved conserved; /* by the exact motion of this scene */
  struct {                  /* the latest state */
    double t, drift_pos, drift_pos_mean, drift_pre, drift_vel, drift_acc, energy;
    double err_tip, err_q, err_v;
  } now;
  struct { /* largest over the run; mean_sum: of the means of all states */
    double pos, pre, vel, acc, mean_sum;
  } drift;
  struct { /* J; err: largest distance from the start */
    double start, least, gain, err, kinetic_max, potential_lo, potential_hi;
  } energy;
  struct { /* at the start; the largest change of a conserved part, of the sum of all bodies' sizes
            */
    double P0[3], L0[3], P_err, L_err, P_size, L_size;
  } momentum;
  struct { /* err: of steps with a contact tolerance, before them NaN; undissipated: J, NaN where
              slips are not those of the bodies */
    double pen, lift, weight, err, signorini, undissipated;
  } contact;
  struct {
    double work, work_most;       /* J, of the reported multipliers */
    double force_max, force_min;  /* N, of a joint in a step, with reported multipliers: else NaN */
    double length_max, angle_max; /* multipliers of rigidity, NaN: it is no constraint */
  } joint;
  struct {                                                        /* against the truth */
    double tip_max, tip_end, place_max, turn_max, compared_until; /* m, m, m, rad, s */
    int64_t compared, lambda_compared;
    double *q_err, *q_ref, *v_err, *v_ref, *lambda_err, *lambda_ref; /* largest of each column */
  } error;
  struct { /* set by the runner */
    perp_ode_counters ode;
    perp_stats kkt;
    perp_contact_count contacts;
    perp_solution_steps solutions;
    perp_group_count groups;  /* of the run, and after it the clocks of a short one */
    perp_redundant redundant; /* rows, where their rank is decided */
    bool has_contacts, has_groups, has_redundant;
    bool impulses;    /* multipliers are impulses / h that end with J v = 0 at the step's start */
    bool perturbed;   /* the start was moved away from the truth, */
    double start_off; /* and its largest position by so much */
    double h_stable;  /* as the formulation reports it, 0: not known */
    double cpu_s, step_us, collision_us, solve_us; /* solve: assembly, KKT and LCP of a step */
    perp_spread alone_us, work; /* of the steps: each by itself; of the contact solvers */
    int64_t steps_reused;       /* steps that solved no contact problem, but reused answers */
  } run;
  struct { /* the state before, and exact multipliers of the last sample: perp_measure_state */
    double t, *q, *v, *lambda_exact, *lambda_kept;
    bool lambda_waits;
    bool released; /* a joint holds no more: there are no exact multipliers of its rows */
  } before;
  struct { /* all states, where a metric with PERP_METRIC_MOTION is known */
    double *row;
    int64_t room;
    bool wanted;
  } motion;
  struct {
    double *C, *rate, *f, *a, *c;
    const void *kkt_desc;
    void *kkt_ws;
    perp_collision *collision; /* NULL without shapes */
    perp_pose *pose;           /* [-1 ... bodies - 1] */
  } scratch;
};

/* Borrow scene, its model (which is used for evaluations) and its gauges (which one run at a time
 * may use, from here on).  Allocates all. */
perp_status perp_measure_create(perp_ctx *ctx, const perp_scene *scene, perp_measure **out);
void perp_measure_destroy(perp_measure *measure);
/* An accepted state.  info of its step, NULL for the first state.  The multipliers that a step
 * reports belong to the state where it started: there they are compared with the exact ones and put
 * into J a + Jdot v.  No allocation, but that collision detection may when there are more contacts
 * than before. */
void perp_measure_state(perp_measure *measure, double t, const double *q, const double *v,
                        const perp_step_info *info);
/* The states so far, *row [states][1 + nq + nv]: t, q, v of each.  -1, and measure->ctx says why:
 * they were not kept, as there was no memory.  *row lives until the next state. */
int64_t perp_measure_motion(const perp_measure *measure, const double **row);
/* The i-th metric of perp itself (no plug-in): its name and value.  false: there are no more. */
bool perp_measure_figure(const perp_measure *measure, int i, const char **name, double *value);
/* max_i |x_i|, 0 of none. */
double perp_measure_largest(int n, const double *x);
/* Compare that state with the truth (q_ref, v_ref) of its time.  The multipliers of the next step
 * are compared with those that the exact state needs, from M a = f + J' lambda, J a = -Jdot v; not
 * when rows are dependent, or more than 2000. */
void perp_measure_compare(perp_ctx *ctx, perp_measure *measure, const double *q, const double *v,
                          const double *q_ref, const double *v_ref);

/* Compare a state between two accepted ones, from dense output, with the truth of its time t; to be
 * called before the later one is given to perp_measure_state.  lambda [m]: its multipliers, NaN
 * where they are not known; NULL: not to be compared. */
void perp_measure_compare_between(perp_ctx *ctx, perp_measure *measure, double t, const double *q,
                                  const double *v, const double *q_ref, const double *v_ref,
                                  const double *lambda);

#ifdef __cplusplus
}
#endif

#endif
