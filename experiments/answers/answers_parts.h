/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What computing an answer and putting it into words share.  Private to experiments/answers. */
#ifndef PERP_ANSWERS_PARTS_H
#define PERP_ANSWERS_PARTS_H

#include "experiments/answers/answers.h"

struct answering {
  const perp_ctx *ctx;
  perp_results *r;
  perp_question q; /* with what was left open */
  perp_answer *a;
  int metric, at, proxy;  /* in the table of the kind; -1 */
  bool *in;               /* [cells] asked about */
  int *who, *facet;       /* [cells] competitor, comparison; -1 */
  int n_facets, *example; /* [n_facets] one of its cells */
  int *cell, *first;      /* cells asked about, by comparison: those of f are cell[first[f]] ... */
  int *facet_of;          /* [lines]; -1: all */
  int left_out;           /* comparisons with one competitor only */
  struct answers_key {    /* [apart] */
    bool constant;        /* the same in all comparisons */
    const char
        *option; /* the one option in which plug-ins of one name differ; NULL: none, or several */
  } * key;
  double least_floor, most_floor;
  const char *floor_why; /* what the largest one is: "rounding errors" */
  struct json_t *references;
  const char *references_of; /* the folder that these are of */
};

/* A value of the metric that does not count as different from 0, for this cell. */
double answers_floor(struct answering *answers, int m, int cell);
/* The cells of a comparison, of all with -1, in the order of the plan; their number. */
int answers_cells(const struct answering *answers, int facet, const int **cell);
/* Is the parameter that of one of the keys? */
bool answers_named(const perp_study_key *keys, int n, int param);
/* The values of keys of a cell as the key of a table. */
const char *answers_joined_keys(struct answering *answers, const perp_study_key *keys, int n,
                                int cell);
/* Complete the question answers->q, in this order: who competes, where the study does not say;
 * tolerances as steps; and what is held apart though nobody said so.  O(parameters cells). */
void answers_default_by(struct answering *answers);
void answers_join_tolerances(struct answering *answers);
void answers_hold_apart(struct answering *answers);
/* "rk4, post": the values of keys of a cell, for people. */
const char *answers_label(struct answering *answers, const perp_study_key *keys, int n, int cell);
/* "12.3 us", "1.50e-08 m" */
const char *answers_quantity(perp_pool *pool, double v, const char *unit);
/* The value of one key: "15.625 ms", "rk4", "dopri5 (tol)" */
const char *answers_value(struct answering *answers, const perp_study_key *key, int cell);
/* A value of a key in words: "Baumgarte (α = 50 1/s)", "h = 1 ms", "surface = plane"; "" of "". */
const char *answers_choice_words(const perp_ctx *ctx, perp_results *r, const perp_study_key *key,
                                 const char *value);
/* "the velocity level (align = none)", but "RK4", "penalty forces". */
const char *answers_with_article(perp_pool *pool, const char *words);
/* The values of keys of a cell in words: "RK4 + post-stabilization"; "" without. */
const char *answers_label_words(struct answering *answers, const perp_study_key *keys, int n,
                                int cell);
/* The same at the beginning of a sentence: with a capital, unless it is a name as it is written. */
const char *answers_first_words(struct answering *answers, int who);
/* A competitor of the answer in words. */
const char *answers_who_words(struct answering *answers, const char *who);
/* A key in words: "integrator", "tolerance of the integrator" of ode.tol, "links of the scene". */
const char *answers_key_words(perp_pool *pool, const char *key);
/* "time.cpu up to 1 ms", "err.tip.max down to 1e-3 m" */
const char *answers_condition(struct answering *answers, int m, double v, bool down);
/* "CPU time at most 1 ms", "error of the tip at most 1e-3 m" */
const char *answers_condition_words(struct answering *answers, int m, double v, bool down);
/* "in 1 ms", "to 0.001 m" */
const char *answers_limit(struct answering *answers, int m, double v, bool down);
/* Answer one question; all memory is of the pool of the results. */
void answers_ask(const perp_ctx *ctx, perp_results *results, const perp_question *question,
                 perp_answer *answer);
/* Words for what has been compared. */
void answers_say(struct answering *answers);
/* Does a comparison decide nothing, since all are equal, or since all but one failed? */
void answers_line_decides(const perp_answer *answer, const perp_answer_line *line, bool *equal,
                          bool *sole);
/* Who would be chosen by another metric (a->proxy), and what that costs; at the end of a->text. */
void answers_say_proxy(struct answering *answers);
void answers_say_claims(struct answering *answers);

#endif
