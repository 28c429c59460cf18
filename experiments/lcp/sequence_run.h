/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The problems of a sequence one after the other, cold and warm. */
#ifndef PERP_LCP_SEQUENCE_RUN_H
#define PERP_LCP_SEQUENCE_RUN_H

#include "solvers/lcp/io/io.h"
#include "experiments/base/memory.h"

/* One answer. */
typedef struct perp_sequence_answer {
  perp_stats stats;
  perp_lcp_judgement judgement;
} perp_sequence_answer;

typedef struct perp_sequence {
  perp_lcp_problem *problem; /* [n] */
  int n, rows, columns;      /* rows and columns of J of the largest one */
  int born, gone;            /* rows, of all problems together */
  double *start;             /* [rows of problem 0] its answer from zero */
  double *lambda, *next, *w; /* [rows] */
  perp_pool pool;
} perp_sequence;

/* The sequence of the files PREFIX-000.lcp, ...; what a method asks of all of its problems is asked
 * of each.  Empty on failure. Errors of perp_lcp_sequence_read. */
perp_status perp_sequence_open(perp_ctx *ctx, const char *prefix, perp_sequence *sequence);
void perp_sequence_close(perp_sequence *sequence);
/* What of its problems a method cannot serve (perp_lcp_unsuited), NULL: nothing. */
const char *perp_sequence_unsuited(const perp_sequence *sequence, const perp_desc *method);

/* Does a method that starts from a guess know what to do with it?  Else it is cold every time, and
 * warm over cold means nothing. */
bool perp_sequence_warms(const perp_desc *method);
/* Problem 0, from zero; what it leaves in sequence->start is where warm marches begin. */
perp_status perp_sequence_begin(perp_ctx *ctx, perp_lcp_solver *solver, double tol,
                                perp_sequence *sequence, perp_sequence_answer *answer);
/* Problems 1 ... n - 1 in order: each from zero, or (warm) from what is carried over of the answer
 * of the one before, of its last iterate where that was not solved.  answer [n] out, from 1 on;
 * NULL: for the clock, nothing is judged beyond what a solve needs. */
perp_status perp_sequence_march(perp_ctx *ctx, perp_lcp_solver *solver, double tol, bool warm,
                                perp_sequence *sequence, perp_sequence_answer *answer);
/* Is the problem answered: solved, or shown to have no solution? */
bool perp_sequence_solved(const perp_sequence_answer *answer);

/* Sums over problems 1 ... n - 1. */
typedef struct perp_sequence_sums {
  double iterations, factorizations, matvecs, fallbacks, work;
} perp_sequence_sums;
perp_sequence_sums perp_sequence_sum(const perp_sequence *sequence,
                                     const perp_sequence_answer *answer);

#endif
