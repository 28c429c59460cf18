/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A results folder, read back: study, plan and the journal folded into one record a cell.  Reports,
 * status and the derived tables all start here.
 *
 *   study.yaml     the effective study (profile and --set merged): running it again plans the same
 * cells plan.jsonl     head and cells                    env/<id>.json   machine and program
 *   journal/       what happened (journal.h)         series/<cell>.csv   time series, units in the
 * head program/               copies of program and plug-ins (program.h), with --keep-program
 *   replay/<cell>.json  poses, joint errors, impulses (replay.h)
 *   log/<cell>.err what a cell printed               derived/        tables, written from all this
 */
#ifndef PERP_RESULTS_H
#define PERP_RESULTS_H

#include "experiments/study/plan.h"

typedef struct perp_quartiles {
  int n;
  double min, q1, median, q3, max, sd; /* NaN when n = 0 */
} perp_quartiles;

/* What is known about one planned cell. */
typedef struct perp_record {
  perp_cell_status status; /* PLANNED: not run yet (or interrupted) */
  const char *reason;      /* name of the perp_reason, "" when none */
  const char *cause;       /* why it failed or was skipped, one line, "" when ok */
  const char **warning;    /* [n_warnings] of the run, which may be ok */
  int n_warnings;
  const char *resolved;    /* of a whole engine: its version and options as it uses them, else "" */
  const char *stderr_tail; /* "" when it printed nothing */
  int attempt;             /* of this result, from 1; 0: none */
  bool interrupted;        /* was started at least once more than it ended */
  double *value;           /* [n_metrics] in the order of the kind's table; NaN = not measured */
  /* of the run: met, left unsolved, left by a number of sweeps; NaN: not recorded */
  double problems, unsolved, swept;
  bool partial;         /* the figures are those of a run that was cut short at: */
  double reached;       /* s of simulated time; NaN: not recorded */
  int schema;           /* of the journal that has it; 1: ok did not mean solved */
  double cpu_s, wall_s; /* of the run that made the numbers */
  const char *dir;      /* results folder that has its series, replay and log */
  const char *code;     /* outside code that it ran (perp_plugin_code), "" when none */
  /* timing rounds */
  int rounds, noisy; /* noisy: wall / cpu > 1.05 */
  double **round;    /* [n_metrics] of [rounds] values of the timing metrics; NULL elsewhere */
  /* s; pace (clock_reference.h): 0 in journals without */
  double *round_cpu, *round_wall, *round_pace;
} perp_record;

/* A file with code that a run was made with. */
typedef struct perp_code {
  const char *path, *hash; /* absolute; 16 hexadecimal digits over its bytes */
} perp_code;

typedef struct perp_results {
  perp_pool pool;
  const void *answers, *findings; /* what experiments/answers has made of the records, in the pool;
                                     NULL: not yet */
  char *dir;
  perp_study *study;
  perp_plan plan;
  perp_selection selection;
  perp_record *record; /* [plan.n] */
  int count[PERP_CELL_STATUSES];
  int torn;        /* journal lines that could not be read */
  int as_recorded; /* cells that are ok by schema 1, which did not ask whether every problem was
                      solved */
  int n_envs;
  struct {
    const char *id, *dir; /* dir/env/<id>.json */
  } * envs;               /* the environments that made the results */
  /* the program that the last runner was, and its outside plug-ins */
  int n_programs; /* how many different ones worked in the folder; 0: an old journal does not say */
  perp_names programs; /* these, as hashes of program and plug-ins */
  perp_names limits;   /* different limits of time and memory of the runners */
  perp_code program, *plugin;
  int n_plugins;
  /* seconds since 1970 of the first and last journal line; NaN without one */
  double started, ended;
} perp_results;

/* kinds NULL: those registered.  PERP_ERR_IO / PERP_ERR_FORMAT with a message when dir is no
 * results folder or its study no longer reads. */
perp_status perp_results_load(perp_ctx *ctx, const char *dir, const perp_cell_kind *const *kinds,
                              perp_results *results);
void perp_results_free(perp_results *results);
/* PERP_ERR_FORMAT with a message when results in dir are of an older schema: nothing may be added
 * to them. */
perp_status perp_results_refuse_older(perp_ctx *ctx, const char *dir,
                                      const perp_cell_kind *const *kinds);
/* The records have changed: count, as_recorded anew, no answers yet. */
void perp_results_count(perp_results *results);
/* In what the programs, compilers, libraries and limits that made the results differ, a line each;
 * nothing: they are alike. */
void perp_results_unlike(const perp_results *results, perp_text *out);
/* Add an environment that is not known yet; dir must outlive r. */
void perp_results_note_env(perp_results *results, const char *id, const char *dir);

/* May this cell win: be best, an answer, a part of a claim?  ok, or unsolved within the share that
 * the study accepts. */
bool perp_results_wins(const perp_results *results, int cell);
/* Does it at least count for claims and figures: may it win, or was a fixed amount of work its
 * task? */
bool perp_results_counts(const perp_results *results, int cell);
/* Cells whose answer is a proof that there is no solution. */
int perp_results_proved(const perp_results *results);
/* A cell in a ranking. */
typedef struct perp_ranked {
  int cell, group; /* 0: may win; 1, 2: fixed work and unsolved, among themselves behind these */
  double key;      /* the least first */
  int at;          /* place before; set by: */
} perp_ranked;
void perp_ranked_sort(perp_ranked *list, int n);
int perp_results_group(const perp_results *results, int cell);
/* Unsolved problems over problems; NaN when not known. */
double perp_record_share(const perp_record *rec);
/* "unsolved 12.5 %", "fixed-work", "ok"; buf holds the first. */
const char *perp_record_mark(const perp_record *rec, char buf[32]);

/* Value of a metric of a cell (timing metrics: the median of the rounds, or of the first run when
 * there are none); NaN when not measured.  m: index in the kind's table. */
double perp_results_value(const perp_results *results, int cell, int m);
int perp_results_metric(const perp_results *results, const char *name); /* -1 when there is none */
/* The option "stab.alpha" of a cell, its value in buf; NULL, and an empty buf, when its plug-in has
 * none. */
const perp_opt *perp_results_option(const perp_ctx *ctx, const perp_results *results, int cell,
                                    const char *name, char *buf, size_t size, double *number);
/* What tells plug-ins of the study apart beside their texts, as columns of tables: "lcp.name", the
 * name without options, and every option that some value names ("lcp.tol").  In the pool of
 * results. */
perp_names perp_results_part_columns(perp_results *results);
/* The value of such a column for a cell, in buf; "" where it has none. */
void perp_results_part(const perp_ctx *ctx, const perp_results *results, int cell,
                       const char *column, char *buf, size_t size);
/* Statistics of a timing metric over the rounds. */
perp_quartiles perp_results_timing(const perp_results *results, int cell, int m);

/* All columns of the study over the cells, for expressions.  r must outlive the scope. */
perp_scope perp_results_scope(const perp_ctx *ctx, perp_results *results, bool aggregates);

typedef enum perp_verdict {
  PERP_CLAIM_REFUTED,
  PERP_CLAIM_PROVED,
  PERP_CLAIM_UNDECIDED
} perp_verdict;
typedef struct perp_claim_result {
  const perp_claim *claim;
  perp_verdict verdict;
  double left, right; /* sides of its comparison, NaN when it is no comparison */
} perp_claim_result;
/* [study->n_claims], in the pool of results. */
const perp_claim_result *perp_results_claims(const perp_ctx *ctx, perp_results *results);
/* " [1.2e-05 against 0.001]", from pool; "" where a side has no value. */
const char *perp_claim_sides(perp_pool *pool, const perp_claim_result *result);
const char *perp_verdict_name(perp_verdict verdict); /* "refuted", "proved", "undecided" */

/* Published figures beside ours.  A variant is a choice of all parameters that no `where` mentions;
 * its mismatch is the mean of |log10(ours / published)| over the figures it covers, a cell that
 * failed or lacks the metric counting as 2 (a factor of 100). */
typedef struct perp_variant {
  const char *label; /* "velocity euler" */
  double mismatch;
  /* [n_published] cell that stands for the figure, -1 none; the worst when several match */
  int *cell;
} perp_variant;
/* Sorted, the best match first; in the pool of results. */
int perp_results_variants(const perp_ctx *ctx, perp_results *results, perp_variant **variants);

/* Everything as one HDF5 file; PERP_ERR_UNSUPPORTED in a build without HDF5. */
perp_status perp_export_hdf5(perp_ctx *ctx, const perp_results *results, const char *path);

/* Studies of problems (kinds with a parameter "problem"): which solver answers how many problems of
 * which family, and why not.  false, and nothing printed, for other studies. */
bool perp_results_matrix(perp_results *results, FILE *out);

#endif
