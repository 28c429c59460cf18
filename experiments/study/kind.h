/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of studies.  A study is a grid of cells; what a cell is - a simulation, an LCP to solve -
 * is behind this interface: which parameters it has, how one is run, what is measured. */
#ifndef PERP_KIND_H
#define PERP_KIND_H

#include "experiments/base/tree.h"
#include "experiments/base/warnings.h"
#include "experiments/expr/expr.h"

struct perp_study;
struct perp_cell;

/* How a cell ended; every planned cell ends in exactly one of these (PLANNED: not yet). */
typedef enum perp_cell_status {
  PERP_CELL_PLANNED,
  PERP_CELL_OK,         /* the solver that was named solved every problem of the run */
  PERP_CELL_FIXED_WORK, /* so many sweeps were asked for, no tolerance: residuals are results */
  PERP_CELL_SEVERAL,    /* solved, but the motion is one of several that solve the problems */
  PERP_CELL_UNSOLVED,   /* the run went on with problems that were not solved: figures stand, marked
                         */
  PERP_CELL_UNSUITED,   /* outside of what the method says it serves: no failure, and no answer */
  PERP_CELL_DIVERGED,
  PERP_CELL_MAXITER,
  PERP_CELL_TIMEOUT,
  PERP_CELL_OOM,
  PERP_CELL_CRASH,
  PERP_CELL_SETUP_FAILED,
  PERP_CELL_SKIPPED,
  PERP_CELL_STATUSES
} perp_cell_status;
extern const char *const perp_cell_status_names[]; /* NULL-terminated, in the order of the enum */
perp_cell_status perp_cell_status_of(const char *name); /* PERP_CELL_STATUSES when unknown */
/* The state of a cell whose run returned status, which is not PERP_OK: out of memory, crash for
 * code beyond the border (a library, a method in another language), set-up for all others. */
perp_cell_status perp_cell_failed(perp_status status);
/* Failed for a reason that says nothing about the method: crash, out of memory, set-up. */
bool perp_cell_infrastructure(perp_cell_status status);
/* Reached the end of its work: its figures are whole (ok, fixed-work, several solutions, unsolved).
 */
bool perp_cell_whole(perp_cell_status status);
struct perp_cell_kind;
/* Is a cell that ended so timed?  It is ok, or a run that reached its end. */
bool perp_cell_timed(const struct perp_cell_kind *kind, perp_cell_status status);

typedef enum perp_param_type {
  PERP_PARAM_END = 0,
  PERP_PARAM_PLUGIN,
  PERP_PARAM_REAL,
  PERP_PARAM_INT,
  PERP_PARAM_TEXT
} perp_param_type;
typedef struct perp_param {
  const char *key, *help;
  perp_param_type type;
  perp_kind plugin; /* PLUGIN */
  const char *unit; /* REAL: SI unit */
  double min, max;  /* REAL, INT */
  unsigned flags;   /* PERP_OPEN_MIN, PERP_OPEN_MAX */
  const char *dflt; /* canonical text; "" = left to the cell; NULL = must be given */
  bool hidden;      /* not for the study file: set by the kind from other sections */
} perp_param;

typedef struct perp_metric {
  const char *name, *unit, *meaning;
  int better;  /* -1 less is better, 1 more, 0 neither */
  bool timing; /* belongs to timing.csv: differs from run to run */
} perp_metric;

/* What came out of one cell.  Plain memory: the child writes it to a pipe as it is. */
enum { PERP_OUTCOME_VALUES = 160, PERP_OUTCOME_NAME = 48 };
typedef struct perp_outcome {
  uint64_t magic;
  perp_cell_status status;
  char reason[32];    /* name of the perp_reason */
  char cause[512];    /* one line, empty when ok */
  char resolved[512]; /* of a whole engine: what it made of its options, and its version; else "" */
  /* of the problems that a run meets, how many there were and how many of them were left unsolved,
   * or above the tolerance by the number of sweeps that was asked for; 0 where a cell is no run */
  double problems, unsolved, swept;
  perp_warnings warnings;
  bool partial;   /* the figures are those of a run that did not reach its end, up to: */
  double reached; /* s of simulated time; NaN or 0: not known */
  double cpu_s, wall_s;
  /* CPU seconds of the fixed work (clock_reference.h) beside a timing round; 0: not known */
  double pace;
  int n;
  struct {
    char name[PERP_OUTCOME_NAME]; /* as in the table of metrics */
    double value;
  } value[PERP_OUTCOME_VALUES];
} perp_outcome;
void perp_outcome_add(perp_outcome *outcome, const char *name, double value);

typedef enum perp_job_what {
  PERP_JOB_RUN,
  PERP_JOB_SETUP, /* create what the cell needs, run nothing: ok; skipped when a part refuses;
                   * setup-failed with the reason "unsuited" when the solver will; or what went
                   * wrong */
  PERP_JOB_LOOK   /* the kind's own: what canonical asks about a cell */
} perp_job_what;

typedef struct perp_job {
  perp_job_what what;
  const struct perp_study *study;
  const struct perp_cell *cell;
  bool timing;             /* a timing round: no series, only timing metrics are kept */
  const char *series_path; /* where to write the series, NULL: nowhere */
  const char *replay_path; /* where to write what a replay needs (replay.h), NULL: nowhere */
  /* In the child of a workers: what must end the run soon (a perp_cut, set by the parent), and a
   * place for the outcome so far, which the parent takes when the child is killed.  NULL: nobody
   * minds. */
  const volatile int *cut;
  void (*keep)(const perp_outcome *so_far, void *user);
  void *keep_user;
} perp_job;

enum { PERP_WHY_MAX = 160 };
typedef struct perp_cell_kind {
  const char *name;
  const perp_param *params;    /* ended by PERP_PARAM_END */
  const char *const *sections; /* further top-level keys of the study file; NULL: none */
  /* What can be measured: an array in pool, ended by a NULL name. */
  const perp_metric *(*metrics)(const perp_ctx *ctx, perp_pool *pool);
  /* Metrics beside these, of names that depend on the scene: is this one, and with which unit?
   * NULL: there are none. */
  bool (*named)(const char *name, perp_metric *metric);
  /* The metric that counts the comparisons of which the named one is the largest, or NULL.  NULL:
   * there are none. */
  const char *(*count)(const char *metric);
  /* Read those sections; may set hidden parameters and add axes.  NULL: nothing to read. */
  void (*read)(perp_ctx *ctx, struct perp_study *study, perp_diag *diag);
  /* Bring the values [params] of one combination to the form that identifies the cell: what has no
   * effect in it becomes missing, and why [params], all "" before, says why ("with formulation
   * reduced").  Texts come from pool; *memory, NULL at first and in pool too, is the kind's own
   * from combination to combination.  NULL: they are already. */
  void (*canonical)(perp_ctx *ctx, const struct perp_study *study, perp_pool *pool, void **memory,
                    perp_value *value, char (*why)[PERP_WHY_MAX]);
  /* Run one cell, in a process of its own.  Fills *out (zeroed before). */
  void (*run)(perp_ctx *ctx, const perp_job *job, perp_outcome *out);
  /* run knows PERP_JOB_SETUP; its answer is that of all cells with the same plug-ins and texts */
  bool tries;
  bool refuses; /* and that may be skipped: worth to know before a run */
  /* an unsolved cell is a run that reached its end: its steps have a time like any other */
  bool runs;
  /* Is a parameter of this cell wrong, although each of its values may stand in others?  Its index,
   * and why; -1: none is. NULL: never. */
  int (*wrong)(const struct perp_study *study, const struct perp_cell *cell,
               char why[PERP_WHY_MAX]);
  /* Rough amount of work, for the estimate of the time left; any unit. */
  double (*work)(const struct perp_study *study, const struct perp_cell *cell);
  /* Before anything is run: do the references of the cells agree as the study demands?  PERP_OK
   * with *agree; *said gets a line a comparison, *json (one array) what is kept.  NULL: there are
   * none. */
  perp_status (*references)(perp_ctx *ctx, const struct perp_study *study,
                            const struct perp_cell *cells, int n, bool *agree, perp_text *said,
                            perp_json *json);
  /* A command line that repeats the cell alone. */
  void (*command)(const struct perp_study *study, const struct perp_cell *cell, perp_text *out);
} perp_cell_kind;

/* Number of parameters; index of a key or -1. */
int perp_kind_params(const perp_cell_kind *kind);
int perp_kind_param(const perp_cell_kind *kind, const char *key);

/* The kinds that a study may name, ended by NULL; the first is the default.  The program says them
 * before it reads the first study. */
void perp_register_kinds(const perp_cell_kind *const *kinds);
const perp_cell_kind *const *perp_registered_kinds(void);

#endif
