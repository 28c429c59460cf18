/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study finds out: the one place that says who is best.  Terminal, page, LaTeX and JSON
 * print what stands here.
 *
 * Rules that hold for every answer:
 *  - only cells that may win (perp_results_wins) are compared; where none of a competitor may, the
 * line says why;
 *  - scenes, problems, lengths, tolerances and steps are never mixed: what varies and is neither
 * compared nor the way to spend a budget is held apart, whether the study says so or not;
 *  - a tie is a tie: figures that differ by less than the references are apart, than the clock
 * scatters, or than 1 %;
 *  - at equal work: the least error within a budget, and the least cost of an error;
 *  - a proof that there is no solution is an answer, unless somebody has found one; what does not
 * suit a solver is counted apart. */
#ifndef PERP_ANSWERS_H
#define PERP_ANSWERS_H

#include "experiments/results/results.h"
#include "experiments/base/memory.h"
#include "experiments/base/json.h"

/* One competitor in one comparison. */
typedef struct perp_answer_entry {
  double value;    /* BEST: figure or cost; MOST: solved; SLOPE: exponent; NaN: none */
  int cell;        /* that has it; -1 */
  double stands;   /* without a value: the figure of a run that wins nothing, of a status that `why`
                      says; NaN */
  bool best;       /* or not to be told from the best */
  bool floor;      /* below what the references can tell */
  const char *why; /* without a value: "diverged", "unsuited", ...; "" */
  int asked, unsuited, proved; /* MOST: of how many; proved: no solution, and solved counts it */
} perp_answer_entry;

/* One comparison: cells alike in all that is held apart, within one budget. */
typedef struct perp_answer_line {
  const char *apart;     /* "scene pendulum, h 1 ms"; "" */
  const char *brief;     /* the same in as few letters as tell it from the others */
  const char *limit;     /* "in 1 ms", "to 1 mm": the same in short */
  const char *condition; /* "time.cpu up to 1 ms", "err.tip.max down to 1 mm"; "" */
  const char *words;     /* the condition in words: "CPU time at most 1 ms"; "" */
  bool cost;             /* values are costs, of a target */
  double floor;          /* below it figures are equal */
  int n_best;
  double value, next;       /* of the best; of the best that is no tie, NaN */
  const char *who, *second; /* "post, none"; "" */
  perp_answer_entry *entry; /* [n_who] */
} perp_answer_line;

typedef struct perp_answer {
  const perp_question *question;
  const char
      *asked; /* by its tokens: "Smallest err.tip.max at equal time.cpu, by stab, for each scene" */
  const char *text;          /* the whole answer in sentences */
  const char *proxy;         /* of `text`: what becomes of a choice by another figure; "" */
  const char *basis;         /* what has been compared, in sentences after `text`; "" */
  const char *note;          /* which differences were ignored, what was assumed; "" */
  const char *by, *apart_by; /* "ode, stab"; "scene, h" */
  const char *unit, *cost_unit;
  int n_who;
  const char **who;
  const char **words; /* [n_who] the same in words, for sentences */
  bool *ran;          /* [n_who] some run of it was neither skipped nor unsuited */
  int n_lines;
  perp_answer_line *line;
} perp_answer;

/* The answers to the questions of the study, or to those assumed where it has none.  All memory is
 * of the pool of r. */
int perp_results_answers(const perp_ctx *ctx, perp_results *r, const perp_answer **answers);
/* What all of them leave out: cells without the primary metric; "" when there are none. */
const char *perp_results_left_out(perp_results *r);
/* "0.00123", "below 4.1e-14", "12 of 15", "diverged": an entry for people. */
const char *perp_answer_entry_text(perp_pool *pool, const perp_answer *a,
                                   const perp_answer_entry *entry);
/* All of them as one object, which derived/answers.json and perp answer --json are. */
void perp_answers_json(const perp_ctx *ctx, perp_results *r, perp_json *j);
/* Tables for people; most: lines of one answer. */
void perp_answer_print(perp_results *r, const perp_answer *a, int most, FILE *out);

/* The table of symptoms (results/symptoms.h), of a study that has one: on a terminal, in blocks of
 * columns that fit, then what its rows are; and as Markdown, which derived/symptoms.md is. */
void perp_symptoms_print(const perp_ctx *ctx, perp_results *r, FILE *out);
void perp_symptoms_markdown(const perp_ctx *ctx, perp_results *r, FILE *out);

/* What documents state (results/replicate.h), of a study that has such rows: counts and rows on a
 * terminal; as Markdown, which derived/replicate.md is; and as a member of an object. */
void perp_replicate_print(const perp_ctx *ctx, perp_results *r, FILE *out);
void perp_replicate_markdown(const perp_ctx *ctx, perp_results *r, FILE *out);
void perp_replicate_json(const perp_ctx *ctx, perp_results *r, perp_json *j);

/* ---- what a run leaves and prints ---- */

/* Write derived/: answers.json, cells.csv, timing.csv and their *.schema.json.  The same results
 * give the same bytes. */
perp_status perp_results_derive(perp_ctx *ctx, perp_results *r);

/* Table for people: findings, with plot the figure on top in letters, counts, best cells by the
 * primary metric, claims, published figures. */
void perp_results_summary(const perp_ctx *ctx, perp_results *r, bool plot, FILE *out);

#endif
