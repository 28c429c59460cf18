/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands in a scene file as a number or a text, with its value now: expressions over
 * parameters, derived values and indices of repetitions.  Private to experiments/scenes. */
#ifndef PERP_SCENES_VALUES_H
#define PERP_SCENES_VALUES_H

#include "experiments/expr/expr.h"
#include "experiments/base/tree.h"

typedef struct perp_values {
  perp_ctx *ctx;
  perp_diag *diag;
  perp_pool *pool;
  int n, room; /* names that are known now; the last ones go first */
  perp_column *column;
  perp_value *value;
  uint64_t *shape; /* [n] hash of the names up to here: an expression is read once for each */
  struct perp_values_kept *kept;
  int n_kept, n_slots;
} perp_values;

/* Everything lives in pool.  pi is known. */
void perp_values_init(perp_values *values, perp_ctx *ctx, perp_diag *diag, perp_pool *pool);
/* One name more, until perp_values_drop(v, n) with the n of before.  unit "": a number that fits
 * everywhere.  at: for the messages; false: the name is taken, or is no name. */
bool perp_values_add(perp_values *values, const perp_node *at, const char *name, const char *unit,
                     perp_value value, const char *const *choices);
void perp_values_drop(perp_values *values, int n);

/* Each is false after an error at the node.  unit: SI, "" a pure number, NULL any. */
bool perp_values_number(perp_values *values, const perp_node *node, const char *unit, double *x);
bool perp_values_whole(perp_values *values, const perp_node *node, double lo, double hi, int *x);
bool perp_values_true(perp_values *values, const perp_node *node, bool *x);
/* "first..last" */
bool perp_values_range(perp_values *values, const perp_node *node, double *first, double *last);
/* A text in which {expression} stands for its value, {name} for the word of a choice; NULL after an
 * error. */
const char *perp_values_text(perp_values *values, const perp_node *node);
/* A condition or a number as an expression, kept for the life of the pool; NULL after an error. */
perp_expr *perp_values_expression(perp_values *values, const perp_node *node, const char *unit);
/* The unit of what perp_values_number accepts here without one, for perp_values_add. */
const char *perp_values_unit(perp_values *values, const perp_node *node);
/* The scope of such expressions. */
perp_scope perp_values_scope(perp_values *values);

#endif
