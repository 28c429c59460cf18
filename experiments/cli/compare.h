/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two runs of one study side by side: status and results (compare.c), times (compare_times.c). */
#ifndef PERP_COMPARE_H
#define PERP_COMPARE_H

#include "experiments/results/results.h"

typedef enum perp_finding_class {
  PERP_FINDING_TIME,
  PERP_FINDING_ACCURACY,
  PERP_FINDING_STATUS,
  PERP_FINDINGS
} perp_finding_class;
extern const char *const perp_finding_names[PERP_FINDINGS]; /* "time", "accuracy", "status" */

enum { PERP_COMPARE_BLOCKS = 64 }; /* most blocks that a cell is timed again for */
typedef struct perp_compare {
  perp_ctx *ctx;
  perp_results base, now;
  int n, *a, *b; /* [n] cells that both have: index in base, in now */
  double time_tol, accuracy_tol;
  bool fails[PERP_FINDINGS];
  int regressions[PERP_FINDINGS], improvements;
  double largest;       /* relative difference of a figure that says good or bad; 0: none */
  char largest_of[200]; /* that figure and its run */
  bool as_recorded;     /* no program is started */
  const char *
      with[2]; /* programs that the person named, of base and now; NULL: none, nothing is started */
  const char *const *again_plugin; /* [n_again_plugins] */
  int n_again_plugins;
  int again; /* blocks that all cells are timed again for; 0: those with a suspicion */
  bool json;
  perp_json j;
} perp_compare;

/* How the times were compared. */
typedef struct perp_time_comparison {
  double ratio;        /* median over the cells, NaN when nothing was compared */
  bool paced;          /* in units of the pace */
  bool busy;           /* relative to that ratio, as most rounds are noisy and no pace is known */
  int rounds, noisy;   /* of both runs */
  int retimed, blocks; /* cells timed again alternately, blocks of each */
  char why_not[512];   /* why none could be: "" = they could */
  perp_text how;       /* the command that would; free it */
} perp_time_comparison;

void perp_compare_finding(perp_compare *compare, perp_finding_class class, bool worse,
                          const char *where, const char *what, double before, double after);
/* "6b1e... ode=rk4" of the k-th common cell; free it. */
char *perp_compare_name(const perp_compare *compare, int k);
/* Find the cells that both have; *only_base, *only_now: how many one of them has alone. */
void perp_compare_match(perp_compare *compare, int *only_base, int *only_now);
/* Findings in status, and in results; how many cells differ in some result, the largest of all
 * differences in `largest`. */
void perp_compare_status(perp_compare *compare);
int perp_compare_results(perp_compare *compare);
/* The command that times both again by the programs that the folders name, for a person to
 * judge. */
perp_status perp_compare_line(perp_compare *compare, perp_text *out);
/* Findings in time.  PERP_ERR_IO with a message when cells must be timed again and cannot. */
perp_status perp_compare_times(perp_compare *compare, perp_time_comparison *comparison);

#endif
