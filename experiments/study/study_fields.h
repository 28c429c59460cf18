/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the files that read a study share: its fields by type, and overrides.  Private to
 * experiments/study.
 *
 * A map may be NULL, as of a section that is not there: its fields are absent.  An absent or empty
 * field is no error; a field of another type, out of range or unknown becomes an error of the
 * reader's diagnostics, and the default is returned. */
#ifndef PERP_STUDY_FIELDS_H
#define PERP_STUDY_FIELDS_H

#include "experiments/study/study.h"

struct perp_study_reader;
typedef struct perp_study_reader {
  perp_ctx *ctx;
  perp_diag *diag;
  perp_study *s; /* being made; its pool has all that is returned */
} perp_study_reader;

bool perp_study_empty(const perp_node *node);
/* "unknown WHAT 'word'WHERE" with a hint: the nearest of names [n], else a list of them behind
 * `lead` (NULL: none). */
void perp_study_unknown(perp_diag *diag, const perp_node *at, const char *what, const char *word,
                        const char *where, const char *const *names, int n, const char *lead);
/* A map, NULL: none.  keys: those that it may have, NULL: not checked here. */
const perp_node *perp_study_section(perp_study_reader *reader, const perp_node *map,
                                    const char *key, const char *const *keys);
const char *perp_study_text(perp_study_reader *reader, const perp_node *map, const char *key,
                            const char *dflt);
/* A list of n texts; one value is a list of one. */
const char **perp_study_texts(perp_study_reader *reader, const perp_node *map, const char *key,
                              int *n);
/* Where item i of that list stands, for messages. */
const perp_node *perp_study_place(const perp_node *map, const char *key, int i);
/* A number in [lo, hi], in `unit` where the file gives none. */
double perp_study_number(perp_study_reader *reader, const perp_node *map, const char *key,
                         const char *unit, double lo, double hi, double dflt);
/* Index of a text in a list that ends with NULL; the first is the default. */
int perp_study_choice(perp_study_reader *reader, const perp_node *map, const char *key,
                      const char *const *choices);
/* An expression over the first n_columns columns; NULL: absent (an error where there is no such
 * key) or not valid. */
perp_expr *perp_study_expression(perp_study_reader *reader, const perp_node *map, const char *key,
                                 int n_columns, bool aggregates);
/* A number made of figures of cells, "max(drift.pos.max, run == a) / 2"; text: what `at` says, or a
 * part of it. */
perp_expr *perp_study_measured(perp_study_reader *reader, const perp_node *at, const char *text);

/* A number in the unit of a metric of the study, of "m or rad" the first. */
double perp_study_figure(perp_study_reader *reader, const perp_node *map, const char *key,
                         const char *metric, double lo, double hi);
/* A list of maps; empty where there is none, or after an error. */
const perp_node *perp_study_list(perp_study_reader *reader, const perp_node *map, const char *key);

/* Read `answer` of the study; what is wrong goes to the diagnostics of the reader. */
void perp_study_read_answer(perp_study_reader *reader, const perp_node *root);
/* Read `symptoms` of the study; what is wrong goes to the diagnostics of the reader. */
void perp_study_read_symptoms(perp_study_reader *reader, const perp_node *root);
/* The same for `report`. */
void perp_study_read_report(perp_study_reader *reader, const perp_node *root);
/* The same for `replicate`. */
void perp_study_read_replicate(perp_study_reader *reader, const perp_node *root);
/* Read `runs`: the values of all parameters are then known.  false: the study has none. */
bool perp_study_read_runs(perp_study_reader *reader, const perp_node *root);
/* What a parameter is where the study does not name it; NULL: it must be given. */
const char *perp_study_default(perp_study *study, int param);
/* An error at the node unless the kind has a metric of that name. */
void perp_study_check_metric(perp_study_reader *reader, const perp_node *at, const char *name);

#endif
