/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study asks, as data.
 *
 *   answer:                                  # one map, or a list of them
 *     ask: Which is the most accurate?       # in words; may be left out
 *     best: err.tip.max                      # least or most, as the metric says;
 *     at: time.cpu                           #   at equal work: a metric of cost
 *     budgets: [1 ms, 10 ms]                 #   such costs, and
 *     targets: [1 cm, 1 mm]                  #   such errors, whose cost is compared; chosen where
 * not given proxy: drift.pos.max                   #   does who is best by this have the best
 * figure, too? by: stab                               # who is compared: parameters for: [scene, h]
 * # what is never mixed: a comparison for each where: 'formulation == velocity'       # which cells
 *   answer: { most: solved, by: lcp, for: problem.family }
 *   answer: { slope: err.q.max, over: h, by: ode }       # a power law: observed order, exponent of
 * the time answer: { claims: all }                  # the claims of the study say it
 *
 * A key of by, for and over is a parameter (stab), an option of a plug-in (scene.links), or the
 * name without options (lcp.name, problem.family). */
#ifndef PERP_STUDY_ANSWER_H
#define PERP_STUDY_ANSWER_H

#include "experiments/expr/expr.h"
#include "experiments/base/tree.h"

struct perp_study;
struct perp_study_reader;

typedef struct perp_study_key {
  const char *text; /* "scene.links" */
  int param;
  const char *option; /* "links"; NULL: the whole value */
  bool name;          /* the value up to its options */
  bool without;       /* the value without that option: cells that differ in it alone are one */
} perp_study_key;

typedef enum perp_question_kind {
  PERP_ASK_BEST,
  PERP_ASK_MOST, /* solved */
  PERP_ASK_SLOPE,
  PERP_ASK_CLAIMS
} perp_question_kind;

typedef struct perp_question {
  perp_question_kind kind;
  const char *ask;         /* "" */
  const char *metric;      /* BEST, SLOPE */
  const char *at, *proxy;  /* BEST: metrics, NULL: none */
  perp_study_key over;     /* SLOPE */
  const char *over_metric; /* the same, when it is a metric */
  int n_by, n_apart;       /* n_by 0: left to the reader of the results */
  const perp_study_key *by, *apart;
  int n_budgets, n_targets; /* 0: chosen */
  const double *budget, *target;
  double floor;           /* differences below are none; 0: what the references say */
  const char *where_text; /* NULL: all cells */
  perp_expr *where;
  bool assumed; /* the study does not say it */
} perp_question;

/* Read `answer` of the study; what is wrong goes to the diagnostics of the reader. */
void perp_study_read_answer(struct perp_study_reader *r, const perp_node *root);
/* A key by its text; false with a message in *why (from pool) when it names nothing of the study.
 */
bool perp_study_key_of(const perp_ctx *ctx, const struct perp_study *study, perp_pool *pool,
                       const char *text, perp_study_key *key, const char **why);
/* What a value of its parameter, in canonical form, is by the key; from pool. */
const char *perp_study_key_text(const perp_ctx *ctx, const struct perp_study *study,
                                perp_pool *pool, const perp_study_key *key, const char *value);

/* How long the name is in a value, before its options. */
struct perp_param;
size_t perp_study_name_length(const struct perp_param *p, const char *value);

#endif
