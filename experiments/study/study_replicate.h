/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What documents state in numbers, beside what the runs of a study measure: `replicate` of a study
 * file. */
#ifndef PERP_STUDY_REPLICATE_H
#define PERP_STUDY_REPLICATE_H

#include "experiments/expr/expr.h"

typedef enum perp_replicated {
  PERP_REPLICATE_REPRODUCED,   /* within the reading error, or the factor that the row names */
  PERP_REPLICATE_CONTRADICTED, /* outside, and independent evidence agrees with perp */
  PERP_REPLICATE_UNDETERMINED, /* a condition is missing in the document, or a method in perp */
  PERP_REPLICATE_VERDICTS
} perp_replicated;

typedef enum perp_stated {
  PERP_STATED_NOTHING, /* a row that has no run: a method or a scene is missing */
  PERP_STATED_VALUE,   /* value or curve */
  PERP_STATED_BELOW,   /* a bound */
  PERP_STATED_HOLDS    /* a condition */
} perp_stated;

/* A point of a curve; a row with a value has one. */
typedef struct perp_replicate_point {
  const char *x;              /* "" of a single value */
  double value;               /* stated, in the unit of the row */
  perp_expr *measured, *twin; /* numbers; twin NULL where the row has none, or a condition */
} perp_replicate_point;

/* One statement of a document.
 *
 *   replicate:
 *     papers: { cline: "Cline 2002, Rigid Body Simulation with Contact and Constraints" }
 *     rows:
 *       - { paper: cline, at: figure 5.6, states: joints drift 20 mm apart, printed: 1 ms; 6 links,
 *           derived: gravity from ..., value: 20 mm, unit: m, factor: 1.4, reading: from the text,
 *           measured: 'max(drift.pos.max, run == fitted)', verdict: reproduced,
 *           twin: 'max(drift.pos.max, run == earth)' }
 *
 * verdict is what the row declares; results/replicate.h has what the runs say.  twin is the same
 * test under a condition that is wrong on purpose, and must fail: a number for what is reproduced
 * or undetermined, a condition elsewhere. */
typedef struct perp_replicate_row {
  int paper; /* index */
  const char *at, *states, *printed, *derived, *reading, *missing, *unit;
  perp_stated kind;
  int n_points;
  perp_replicate_point *point;
  double factor, within;              /* > 1, > 0: what counts as agreement; 0: not named */
  perp_expr *holds, *evidence, *twin; /* conditions, NULL: none */
  perp_expr *least, *most; /* numbers: the interval over plausible conditions; NULL: none */
  const char *measured_text, *twin_text, *evidence_text; /* "" where there is none */
  perp_replicated declared;
} perp_replicate_row;

typedef struct perp_replicate {
  int n_papers, n_rows;      /* both 0, or neither */
  const char **key, **paper; /* [n_papers] */
  perp_replicate_row *row;
} perp_replicate;

extern const char *const perp_replicated_names[]; /* NULL-terminated, in the order of the enum */

#endif
