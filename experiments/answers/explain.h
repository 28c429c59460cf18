/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Which of the varied settings explains the figures of a metric: analysis of variance.
 *
 * y = log10 max(|value|, floor) of the runs that may win.  Factors are the settings that vary;
 * scenes and problems are blocks: they differ anyway, so what they explain is taken off first.
 * With RSS(M) the residual sum of squares of the least-squares fit of y by the effects M,
 *
 *   share of a factor A       (RSS(all factors but A) - RSS(all factors)) / RSS(blocks)
 *   share of a pair A, B      (RSS(all factors) - RSS(all factors and the pair)) / RSS(blocks)
 *
 * On a complete grid these are the classical shares (eta squared), and add up with the rest to 1.
 * Elsewhere they are sums of type II: each effect after all others, pairs after all factors; what
 * several factors explain together counts for none of them.
 *
 * An effect is real when its F ratio, against what the factors and the pair (of a factor: the
 * largest real pair) leave, is exceeded by chance in less than 1 % of cases, divided by the number
 * of factors or pairs that are tried (Bonferroni).  Fits are by back-fitting (Gauss-Seidel on the
 * normal equations), exact after one sweep on a complete grid.  Cost: O(runs factors^3) a sweep.
 *
 * Source: R. A. Fisher 1925, Statistical Methods for Research Workers, chapter 7; F. Yates 1934, J.
 * Amer. Statist. Assoc. 29, 51-66 (unequal numbers); Buja, Hastie and Tibshirani 1989, Ann. Stat.
 * 17, 453-510 (back-fitting). */
#ifndef PERP_ANSWERS_EXPLAIN_H
#define PERP_ANSWERS_EXPLAIN_H

#include "experiments/answers/answers_parts.h"

/* A setting that varies over the runs that are compared. */
typedef struct answers_factor {
  perp_study_key key;
  bool block;         /* a scene or a problem: not to be compared */
  bool method;        /* a part that is chosen: integrator, solver, law, ... */
  int n;              /* levels */
  const char **level; /* [n] for people */
  int *of;            /* [runs] */
} answers_factor;

/* A factor (b < 0), or what a pair of factors does beyond both. */
typedef struct answers_term {
  int a, b;
  double share;
  bool real; /* no chance */
} answers_term;

typedef struct answers_explained {
  int metric;
  int n;           /* runs */
  const int *cell; /* [n] */
  double *y;       /* [n] decimal logarithms */
  double floor;    /* the largest of those used */
  int below;       /* runs whose value is below it */
  double decades;  /* between the least and the largest y of a block: how far runs differ */
  int n_factors, n_terms;
  answers_factor *factor;
  answers_term *term; /* of factors, then of pairs; each the largest share first */
  int n_main;         /* how many of them are of one factor */
} answers_explained;

/* The settings that vary over the cells [n] of *explained: factor, n_factors out. */
void answers_factors(struct answering *answers, answers_explained *explained);
/* Explain a metric; all memory is of the pool of the results.  false: fewer than three runs have a
 * value. */
bool answers_explain(struct answering *answers, int metric, answers_explained *explained);
/* The mean of y of each combination of levels of a pair, after all other effects: [n_a * n_b], NaN
 * where no run has it. */
double *answers_pair_means(struct answering *answers, const answers_explained *explained, int a,
                           int b);

#endif
