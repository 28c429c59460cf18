/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One finding, and what the writers of findings share. */
#ifndef PERP_FINDING_H
#define PERP_FINDING_H

#include "experiments/answers/explain.h"

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

/* ---- writers, private to experiments/answers ---- */

/* Places of findings, the first ones first. */
enum {
  RANK_STATED,
  RANK_ALONE,
  RANK_COUNT, /* an answer that is a count, an exponent or verdicts */
  RANK_FACTOR,
  RANK_FIRST_ANSWER,
  RANK_WINNER,
  RANK_MANY_FAILURES,
  RANK_ORDER,
  RANK_ANSWER,
  RANK_FAILURES,
  RANK_FLOOR,
  RANK_TIME,
  RANK_UNPROVED
};

struct writing {
  const perp_ctx *ctx;
  perp_results *r;
  perp_pool *pool;    /* of r */
  struct answering a; /* to read values with */
  perp_finding *list;
  int n, n_shares;
  bool same;                    /* all runs have one value of the primary metric */
  bool noise;                   /* nothing explains its differences */
  answers_explained *shares[2]; /* of the primary metric, of time */
};

perp_finding *findings_add(struct writing *w, int rank, perp_found_kind kind, const char *text);
/* "error of the tip", "number of evaluations of the right-hand side": behind "smallest". */
const char *findings_metric(struct writing *w, const char *name);
/* "3.2", "120", "10⁴": how many times larger. */
const char *findings_times(struct writing *w, double factor);
#endif
