/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Why did a run or a problem fail?  It is run again in a process of its own and measured there
 * (evidence.h); causes are tests on these measurements (causes.c); each has options that may fix
 * it, and an option is reported only after a run with it that did not fail (trial.c). */
#ifndef PERP_WHY_H
#define PERP_WHY_H

#include "experiments/simulate/parts.h"
#include "solvers/lcp/problem.h"

/* ---- what is examined ---- */

/* A simulation, or a complementarity problem.  Plain memory but for what it borrows. */
typedef struct perp_why_subject {
  const char *scene;                    /* NULL: a problem */
  char part[PERP_PARTS][PERP_SPEC_MAX]; /* "": the default */
  double h, t_end, perturb;             /* s; 0: that of the scene */
  const char *equivalent;               /* NULL: none */
  double timeout, memory;               /* s, bytes; 0: no limit */
  const perp_lcp_problem *problem;      /* borrowed; part[PERP_PART_LCP] is its solver */
  const char *path;                     /* how the command line names it */
  double tol, tol_data;
  bool equilibrate;
} perp_why_subject;

/* subject with options as on the command line, "--h 0.01 --lcp dantzig"; texts without blanks.
 * PERP_ERR_OPTION: no such option, or its value. */
perp_status perp_why_with(perp_ctx *ctx, const perp_why_subject *subject, const char *options,
                          perp_why_subject *out);
/* The command that runs it: perp simulate ..., or perp lcp solve ... . */
void perp_why_command(const perp_why_subject *subject, perp_text *out);

/* ---- figures by which a run fails ---- */

enum { PERP_WHY_FIGURES = 16, PERP_WHY_LIMITS = 16 };
typedef struct perp_why_figure {
  char name[PERP_NAME_MAX]; /* that of a metric, or "reached", "unsolved", "residual" */
  double value, limit;      /* value > limit: the run failed.  "reached" counts what is missing */
} perp_why_figure;
/* Limits of the user, which replace those of figure_table or add to them. */
typedef struct perp_why_limits {
  int n;
  struct {
    char name[PERP_NAME_MAX];
    double limit;
  } at[PERP_WHY_LIMITS];
} perp_why_limits;

/* ---- what was measured: plain memory, filled in the process of the run ---- */

enum { PERP_WHY_PLACES = 6, PERP_WHY_PLACE = 80, PERP_WHY_QUARTERS = 4 };
typedef struct perp_why_places { /* rows, joints or pairs of bodies */
  int n, more;
  char at[PERP_WHY_PLACES][PERP_WHY_PLACE];
} perp_why_places;
void perp_why_place(perp_why_places *places, const char *text); /* once each */

typedef struct perp_why_evidence {
  perp_status status; /* of the call; not PERP_OK: the options are refused, message says why */
  char message[512];
  perp_cut cut;
  perp_reason reason;
  char ended[32];                /* "ok", "unsolved", "diverged", ... */
  char why[32];                  /* "reached-end", "max-iter", "time-limit", ... */
  double t, t_end, h, cpu, wall; /* s */
  double size, body;             /* m, of the model; of a body with contacts or joints */
  bool adaptive, bodies;
  int64_t steps, rejected, iterations;
  int64_t problems, failures, swept, failed[PERP_REASONS];
  char part[PERP_PARTS][PERP_SPEC_MAX]; /* as used; "": not used */
  int n_figures;
  perp_why_figure figure[PERP_WHY_FIGURES];
  double t_bad;            /* s, first time at which a figure passed its limit; NaN: none did */
  char bad[PERP_NAME_MAX]; /* which */
  double drift[PERP_WHY_QUARTERS]; /* largest constraint error in each quarter of the run, m */
  double drift_limit, overlap;     /* m; overlap: penetration at the start */
  double masses; /* largest over smallest mass that acts on a row; 1 where unknown */
  bool springs;  /* forces of springs, dampers or servos act */

  struct {                                /* J M^-1/2 at accepted states, rows scaled to 1 */
    int m, states, most, least, left_out; /* rows; states looked at; rank; 1: too many rows */
    double t_least;                       /* s, first state with the smallest rank */
    double sine, t_sine;      /* least sine of a row to the others (smallest singular value that
                                 is not always 0), s */
    int changes;              /* of the rank */
    double sine_fail;         /* least sine in the last states before the run failed; NaN */
    double condition, scaled; /* largest condition number of J M^-1 J' as it is, rows scaled */
    perp_why_places rows;     /* joints in the null vector there */
  } jacobian;

  struct { /* contact problems that were not solved, the first of them examined */
    int examined, infeasible, within; /* proved to have no solution; within a radius */
    double t_first;                   /* s */
    int n;                            /* rows of it */
    double condition, scaled;         /* of A as it is, with rows and columns scaled to 1 */
    int rank;
    perp_why_places pairs; /* rows of the certificate */
  } contact;

  struct { /* the linearized step */
    int states, nv;
    double growth, motion; /* largest ln |eigenvalue| of the step; that of the motion in h */
    double t;              /* s, where */
    double excess;         /* mean over the states of what exceeds twice the growth of the motion */
    double off;        /* part of the eigenvector that violates the joints: |J dq| / (|J| |dq|) */
    double fast, slow; /* rad/s: largest, smallest |eigenvalue| of the equations of motion */
    bool known, rates; /* growth and motion; fast and slow are measured */
  } linear;

  struct { /* of a problem file */
    double residual, work, seconds, radius;
    int n;
    bool proved;
  } lcp;
} perp_why_evidence;

/* Run subject and measure; examine: with the linearized step and ranks, which cost more.  Kills the
 * run at `timeout` s where subject has no limit of its own (0: never).  PERP_ERR_IO: no process. */
perp_status perp_why_run(perp_ctx *ctx, const perp_why_subject *subject,
                         const perp_why_limits *limits, bool examine, double timeout,
                         perp_why_evidence *out);
/* Figures above their limits; the sum of log10(value / limit), a run that stopped counts 3 and
 * more. */
int perp_why_failures(const perp_why_evidence *e);
double perp_why_severity(const perp_why_evidence *e);

/* ---- causes ---- */

enum { PERP_WHY_FIXES = 8, PERP_WHY_CAUSES = 8, PERP_WHY_ROUNDS = 3 };
typedef struct perp_why_fix {
  char options[2 * PERP_SPEC_MAX];
  perp_why_subject with; /* the whole run; methods without effect beside the options are left out */
  bool whole;            /* the run with it does not fail */
  double severity;       /* of the run with it */
  perp_why_evidence *after; /* owned */
} perp_why_fix;
struct perp_why_report;
typedef struct perp_why_cause_desc {
  const char *name, *title;
  /* Does the evidence show it?  says: one or two sentences with figures. */
  bool (*holds)(const perp_why_subject *subject, const perp_why_evidence *e, perp_text *says);
  /* Options that may fix it, the most likely ones first. */
  void (*fixes)(perp_ctx *ctx, const perp_why_subject *subject, const perp_why_evidence *e,
                perp_names *options, perp_pool *pool);
} perp_why_cause_desc;
extern const perp_why_cause_desc *const perp_why_causes[]; /* NULL-terminated; [0]: contacts that
                                                              have no solution */

typedef struct perp_why_cause {
  const perp_why_cause_desc *d;
  char *says;                        /* owned */
  int round, tried;                  /* from 0; runs made for it */
  double rank;                       /* of its best fix: margin to the limits against cost */
  int n_fixes;                       /* those that help; the best one first */
  perp_why_fix *fix[PERP_WHY_FIXES]; /* owned */
} perp_why_cause;

typedef struct perp_why_report {
  perp_why_evidence *first; /* of the run as it is */
  bool failed, fixed;       /* fixed: last does not fail */
  /* The first n_named have a fix, or a part of it (round by round, each with the fixes of the
   * rounds before it in effect), the best one of a round first; the others were measured, and no
   * option that was tried fixes the run. */
  int n_causes, n_named;
  perp_why_cause cause[PERP_WHY_CAUSES * PERP_WHY_ROUNDS];
  perp_why_fix *last; /* borrowed: that of the last round; NULL: none */
  int trials, left;   /* runs made after the first; not made for want of time */
  double seconds;
} perp_why_report;

/* Run, examine, try.  allowance: s for all runs after the first, and for a first one without a
 * limit of its own.  PERP_ERR_IO, or what the options of subject are refused with. */
perp_status perp_why(perp_ctx *ctx, const perp_why_subject *subject, const perp_why_limits *limits,
                     double allowance, perp_why_report *report);
void perp_why_free(perp_why_report *report);
void perp_why_print(const perp_why_subject *subject, const perp_why_report *report, FILE *out);
void perp_why_json(const perp_why_subject *subject, const perp_why_report *report, FILE *out);

#endif
