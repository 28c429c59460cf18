/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree between the parser of expressions and their evaluation. Private. */
#ifndef PERP_EXPR_TREE_H
#define PERP_EXPR_TREE_H

#include "experiments/base/expr.h"

enum op {
  OP_NUMBER,
  OP_TEXT,
  OP_COLUMN, /* column; key != NULL: an option of its plug-in */
  OP_NEGATE,
  OP_ADD,
  OP_SUB,
  OP_MUL,
  OP_DIV,
  OP_POW,
  OP_EQ,
  OP_NE,
  OP_LT,
  OP_LE,
  OP_GT,
  OP_GE,
  OP_IN,
  OP_AND,
  OP_OR,
  OP_NOT,
  OP_MAX,
  OP_MIN,
  OP_MEDIAN,
  OP_MEAN,
  OP_SUM,
  OP_COUNT,
  OP_SLOPE
};

enum type { T_NUMBER, T_TEXT, T_PLUGIN, T_BOOL };

struct perp_expr {
  enum op op;
  enum type type;
  int offset;
  double number;
  const char *text;
  const char *unit; /* numbers: SI unit, NULL when not known */
  int column;
  const char *key;
  perp_expr *arg[3];
  int n_items; /* IN */
  perp_expr **item;
};

#endif
