/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small LCP solved under the eyes of the trace: what the solver reported, pivot by pivot, and the
 * tableau of the basis that it stood on. */
#ifndef PERP_LESSON_PIVOTS_H
#define PERP_LESSON_PIVOTS_H

#include "experiments/base/memory.h"
#include "solvers/lcp/lcp.h"

enum { PERP_PIVOT_ROWS = 8, PERP_PIVOT_FRAMES = 40 };

/* Variables: lambda_i is i, w_i is n + i, the artificial variable t of Lemke 2 n. */
typedef struct perp_tableau {
  int columns;                                    /* n, or n + 1 with t; 0: no tableau */
  int basic[PERP_PIVOT_ROWS];                     /* variable of each row */
  int nonbasic[PERP_PIVOT_ROWS + 1];              /* of each column */
  double constant[PERP_PIVOT_ROWS];               /* basic = constant + T nonbasic */
  double T[PERP_PIVOT_ROWS][PERP_PIVOT_ROWS + 1]; /* [row][column] */
} perp_tableau;

/* Where a row stands: PERP_ROW_LO, FREE (clamped: w = 0), HI; or on none of the three lines.
 * Rows of a circular cone stick (FREE), slide (on the circle, w opposed) or are open. */
enum { PERP_ROW_OPEN = 2, PERP_ROW_SLIDES = 3 };

/* The state after an event, and what happens next. */
typedef struct perp_pivot_frame {
  const char *what; /* of the event: "start", "cover", "pivot", "sweep", ... */
  int row, corner;  /* the row that moved, the one that met a corner; -1 */
  double step, t;   /* t: NaN where the method has none */
  double lambda[PERP_PIVOT_ROWS], w[PERP_PIVOT_ROWS];
  signed char set[PERP_PIVOT_ROWS];
  perp_tableau tableau; /* of the basis from here on */
  int enters, leaves;   /* columns and rows of the tableau that the next pivot exchanges; -1 */
  double sign;          /* of the change of the entering variable */
  double ratio[PERP_PIVOT_ROWS]; /* how far it may go for the sake of each row; HUGE_VAL: any way */
} perp_pivot_frame;

typedef struct perp_pivots {
  perp_lcp problem;   /* dense; its arrays are those of the caller, but b */
  const char *solver; /* as asked for */
  char method[32];    /* its name */
  double b[PERP_PIVOT_ROWS];
  int n_frames, n_events; /* kept, seen */
  perp_pivot_frame frame[PERP_PIVOT_FRAMES];
  perp_stats stats;
  double lambda[PERP_PIVOT_ROWS], w[PERP_PIVOT_ROWS];
  double certificate[PERP_PIVOT_ROWS];
  perp_lcp_proof proof;
  bool certified;
} perp_pivots;

/* Solve the dense problem of at most PERP_PIVOT_ROWS rows and keep what the trace says; A and the
 * bounds outlive *out.  The tableaux, the entering and leaving variables and the ratios follow from
 * the index sets of the trace; problems with friction rows, whose limits move, have no tableaux. */
perp_status perp_pivots_record(perp_ctx *ctx, const perp_lcp *problem, const char *solver,
                               perp_pivots *out);

/* "pivot 2: row 3 is driven, step 1.5; row 1 meets a corner" */
void perp_pivot_describe(const perp_pivots *p, int frame, perp_text *out);
const char *perp_set_name(int set); /* "at lo", "clamped", ... */
/* "lambda1", "w3", "t" of a problem of n rows */
const char *perp_variable_name(int n, int variable, char buf[16]);

#endif
