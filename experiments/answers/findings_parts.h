/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the writers of findings share.  Private to experiments/answers. */
#ifndef PERP_FINDINGS_PARTS_H
#define PERP_FINDINGS_PARTS_H

#include "experiments/answers/explain.h"
#include "experiments/answers/findings.h"

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

/* What explains the primary metric, then time, where something can: shares [2] out; their number.
 */
int findings_shares(const perp_ctx *ctx, perp_results *results, answers_explained *shares[2]);
perp_finding *findings_add(struct writing *w, int rank, perp_found_kind kind, const char *text);
/* "error of the tip", "number of evaluations of the right-hand side": behind "smallest". */
const char *findings_metric(struct writing *w, const char *name);
/* "3.2", "120", "10⁴": how many times larger. */
const char *findings_times(struct writing *w, double factor);
/* What the questions of the study, or those assumed, come to; and, where none of them compares the
 * factor that matters most (NULL: none does), who is best of its levels. */
void findings_answers(struct writing *w, const answers_factor *factor);

#endif
