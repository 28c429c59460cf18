/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study found, in sentences that stand alone: the first thing that terminal, page, LaTeX and
 * JSON say.  Made from the answers (answers.h) and the analysis of variance (explain.h). */
#ifndef PERP_FINDINGS_H
#define PERP_FINDINGS_H

#include "experiments/answers/answers.h"

typedef enum perp_found_kind {
  PERP_FOUND_STATED,   /* a sentence of the study, with its verdict */
  PERP_FOUND_ALONE,    /* there was nobody to compare with */
  PERP_FOUND_FACTOR,   /* which setting matters most */
  PERP_FOUND_NOISE,    /* no setting explains the differences */
  PERP_FOUND_SAME,     /* there are no differences */
  PERP_FOUND_WINNER,   /* who is best, and by how much */
  PERP_FOUND_ANSWER,   /* the answer to another question of the study */
  PERP_FOUND_ORDER,    /* who is best depends on another setting */
  PERP_FOUND_FAILURES, /* which runs failed, and why */
  PERP_FOUND_FLOOR,    /* what cannot be decided */
  PERP_FOUND_KINDS
} perp_found_kind;
extern const char *const perp_found_names[]; /* "stated", "alone", ... */

enum { PERP_FINDINGS_LEAD = 3 };
typedef struct perp_finding {
  perp_found_kind kind;
  bool lead;           /* one of the first three, which the reader sees first */
  const char *text;    /* one or two sentences */
  const char *basis;   /* how we know; "" */
  const char *metric;  /* that it is about; "" */
  const char *factor;  /* key of the setting: "ode"; "" */
  const char *second;  /* the other one of a pair; "" */
  const char *who;     /* winner; "" */
  double share;        /* of the variance that the factor explains; NaN */
  double effect;       /* factor between the winner and the next; NaN */
  int rank, place;     /* by which they are sorted */
  const char *verdict; /* STATED: "proved", "refuted", "undecided"; else "" */
} perp_finding;

/* The findings of a results folder, the most telling first; all memory is of the pool of results,
 * which keeps them. */
int perp_results_findings(const perp_ctx *ctx, perp_results *results, const perp_finding **list);
/* As text: those that lead, with plot the figure on top in letters (headline.h), the others, and
 * what they rest on. */
void perp_findings_print(const perp_ctx *ctx, perp_results *results, bool plot, FILE *out);
/* Members `findings`, `shares`, `constant` and `floor` of an object (docs/reference/report.md). */
void perp_findings_json(const perp_ctx *ctx, perp_results *results, perp_json *json);

#endif
