/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One cell: a scene run with one choice of parts, measured against its truth.
 * `perp simulate` prints it, a study runs many of them. */
#ifndef PERP_SIMULATE_H
#define PERP_SIMULATE_H

#include "experiments/base/json.h"
#include "experiments/base/kept.h"
#include "experiments/metrics/metrics.h"
#include "experiments/study/kind.h"
#include "models/models.h"

struct perp_cell_run;
/* Looks over the shoulder of a run. */
typedef struct perp_watch {
  /* the parts as they will be created; may put a wrapper around one.  NULL: they stay */
  perp_status (*parts)(perp_ctx *ctx, perp_parts *parts, void *user);
  /* before step 1, 2, ...; -1: the measured run is over.  NULL: not told */
  void (*step)(int64_t step, void *user);
  /* at each accepted state, measured (simulate_run.h); info NULL: the first.  NULL: not told */
  void (*state)(const struct perp_cell_run *run, const perp_step_info *info, void *user);
  void *user;
} perp_watch;

struct perp_result;
/* Minds a run that may be cut short. */
typedef struct perp_minder {
  perp_cut (*cut)(void *user); /* asked between steps: what must end the run now? */
  /* Several times a second: what there is so far, should the process not live to tell.  Borrowed:
   * q, v, series. */
  void (*keep)(const struct perp_result *so_far, void *user);
  void *user;
} perp_minder;

typedef struct perp_request {
  /* plug-in names with options; NULL or "" = the default of the command line.  A part that has no
   * say with this formulation and scene must not be named (parts.h). */
  const char *scene, *formulation, *ode, *kkt, *lcp, *stab, *contact, *engine;
  double h, t_end; /* s; 0 = the default of the scene */
  /* s between rows of the series and comparisons with the truth (samples.h: they change no step);
   * 0 = auto */
  double sample_every;
  /* the start is moved by this part of its size: error / perturb is the amplification of the
   * problem.  Where joints are violated by that, the stabilization corrects it first.  0: it is not
   */
  double perturb;
  /* name of a perp_equivalence: the methods get the mirror image of the model, or its elements in
   * another order, and the states are those of the given model again.  NULL or "": as it is given
   */
  const char *equivalent;
  bool sample_named; /* by a person: an error where it has no effect */
  bool setup_only;   /* create everything, run nothing: would the request be served? */
  double picture_at; /* s: a time of which a picture is made; 0 = none.  Not after the end of the
                        run */
  bool want_series;
  struct {
    bool wanted;              /* of joints, drives, contacts: columns and figures (force_log.h) */
    const char *const *names; /* [n_names] metrics that must exist */
    int n_names;
  } forces;
  struct {
    const char *path; /* where to write a replay of the run (replay.h); NULL: nowhere */
    bool film;        /* as a film: with frames of its own, evenly over the run; else the samples */
  } replay;
  const perp_watch *watch;   /* NULL: nobody */
  const perp_minder *minder; /* NULL: nobody */
  /* further runs without metrics, for the clock, each shown to be the march of the first one, or
   * PERP_ERR_INTERNAL; 0 = the clock is read around each step of the first;
   * PERP_ROUNDS_NEEDED = one, or none where the first has taken long enough for the clock */
  int timing_rounds;
  /* without rounds: the parts of a step, and each step by itself; else steps that are short beside
   * a reading of the clock are timed by one further run, all together */
  bool timing_detail;
} perp_request;

enum { PERP_ROUNDS_NEEDED = -1 };
enum { PERP_METRICS_MAX = 128, PERP_NAME_MAX = 48, PERP_HEADER_MAX = 112, PERP_SPEC_MAX = 512 };

typedef struct perp_metric_value {
  char name[PERP_NAME_MAX]; /* "drift.pos.max": perp list metrics */
  double value;             /* NaN: not defined for this cell */
} perp_metric_value;

/* A table of samples: one column per field. */
typedef struct perp_series {
  int rows, columns, room;         /* room: for so many rows */
  char (*header)[PERP_HEADER_MAX]; /* [columns] "t[s]", "drift.pos[m]", "q0", ... */
  int forces;                      /* the first column of forces; = columns: none */
  bool waits;                      /* the forces of the last row at a step are not there yet, */
  int row;                         /* which is this one */
  double *values;                  /* [rows * columns] row-major */
} perp_series;

/* Of a force or torque over a run: largest size, root mean square over the time, at the end. */
typedef struct perp_force_total {
  char name[PERP_HEADER_MAX]; /* "force.joint.elbow" */
  char unit[4];               /* N, Nm */
  double max, rms, final;     /* NaN: not known */
} perp_force_total;

typedef struct perp_result {
  perp_status status;   /* did the call work */
  perp_reason reason;   /* why the run ended: PERP_EXACT = reached t_end; < 0 = diverged, ... */
  perp_cut cut;         /* what ended it before that */
  char message[512];    /* one line on failure */
  char events[512];     /* what happened on the way, one line each: joints released; "" = nothing */
  char invariants[160]; /* what the motion conserves, and how far the run did; "" = nothing */
  perp_warnings warnings; /* of a run that may be ok */
  char scene[PERP_SPEC_MAX], formulation[PERP_SPEC_MAX], ode[PERP_SPEC_MAX], kkt[PERP_SPEC_MAX],
      lcp[PERP_SPEC_MAX], stab[PERP_SPEC_MAX], contact[PERP_SPEC_MAX],
      engine[PERP_SPEC_MAX];    /* canonical; "" = not used */
  char resolved[PERP_SPEC_MAX]; /* what an engine made of its options; "": no engine */
  char note[320];               /* what the methods are not, in this combination; "" = nothing */
  char truth[128];              /* what the errors are measured against, "" = nothing */
  perp_printed published;       /* printed values of the problem and their error */
  double h, t_end;              /* as used */
  perp_metric_value metrics[PERP_METRICS_MAX];
  int n_metrics;
  struct {
    /* CPU time of the steps, s, and its mean, us; the spread over the steps, each by itself, us.
     * NaN: not measured. */
    double cpu_s, step_us, wall_s;
    perp_spread alone_us;
    /* Means over the first breakdown_steps steps of one more run, us, by the wall clock, with
     * clocks inside: of a step, and its parts, which sum to it; breakdown_steps = 0: there was
     * none. */
    int64_t breakdown_steps;
    double breakdown_us, collision_us, assembly_us, kkt_us, lcp_us, integrate_us;
    int64_t steps_reused; /* steps in which contacts had the impulses of an earlier step alone */
    double pace; /* CPU seconds of the fixed work (clock_reference.h) during the timing rounds; 0
                    without them */
  } time;
  perp_ode_counters ode_count;
  perp_stats kkt_count;
  perp_contact_count contact_count; /* zero without contacts */
  perp_solution_steps solutions;    /* likewise */
  perp_group_count group_count;     /* zero without groups */
  perp_group_info *groups;          /* [group_count.groups] at the end; owned */
  double t, energy;                 /* final state */
  int nq, nv;
  double *q, *v; /* owned */
  int n_forces;
  perp_force_total *forces; /* [n_forces] where they were asked for; owned */
  perp_series series;
} perp_result;

/* Steps of the longest run: more of them do not end. */
#define PERP_STEPS_MOST 1e12
/* The step and the end of a run: those of the request, else those of the scene.  An error where the
 * step is longer than the run, or its steps are too many. */
perp_status perp_run_times(perp_ctx *ctx, const perp_request *request, const perp_scene *scene,
                           bool adaptive, double *h, double *t_end);
/* Run one cell.  PERP_OK also when the simulation diverged (result->reason < 0); another status
 * means that the request is not valid (ctx says why): PERP_ERR_UNSUPPORTED for parts that do not
 * fit together, or that are named and have no effect. */
perp_status perp_simulate(perp_ctx *ctx, const perp_request *request, perp_result *result);
/* How the run ended, for text, JSON, cells and exit statuses alike.  OK: it reached its end, and
 * the solver that was named solved every contact problem of it. */
perp_cell_status perp_result_status(const perp_result *result);
const char *perp_result_status_name(const perp_result *result); /* the same; "interrupted" too */
/* Why: "reached-end", "time-limit", "interrupted", "memory-limit", "crash", or the name of the
 * perp_reason. */
const char *perp_result_reason(const perp_result *result);
/* One line more, "" where there is nothing to add: "31 of 48 problems not solved (64.6 %): max-iter
 * 31". */
const char *perp_result_cause(const perp_result *result, char *buf, size_t size);
/* It did not reach t_end: its figures are those of [0, t]. */
bool perp_result_partial(const perp_result *result);
/* Contact problems that the run met. */
int64_t perp_result_problems(const perp_result *result);
double perp_result_metric(const perp_result *result, const char *name); /* NaN when absent */
void perp_result_free(perp_result *result);
/* The JSON of `perp simulate --json`.  Figures that the run does not have are absent. */
void perp_result_json(const perp_result *result, FILE *out);

/* ---- what became of the contact problems of a run ---- */

/* The members of "lcp".  problems = solved + reused + swept + failures; by: those solved, by the
 * solver whose answer it is; share: of solved and reused ones (1 where there is no problem). */
void perp_contacts_json(const perp_contact_count *count, perp_json *json);
/* For people, at most 80 columns wide; nothing where there was no problem. */
void perp_contacts_text(const perp_contact_count *count, FILE *out);
/* One line: in how many steps impulses are not unique, and the motion depends on the choice;
 * nothing where they are, and where no contact has friction. */
void perp_solutions_text(const perp_solution_steps *steps, FILE *out);

#endif
