/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tree between the parser of expressions and their evaluation. Private. */
#ifndef PERP_EXPR_TREE_H
#define PERP_EXPR_TREE_H

#include "experiments/expr/expr.h"

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
  OP_CALL, /* call: a function of numbers, of item [n_items]; if(...) has its condition in item[0]
            */
  OP_MAX,
  OP_MIN,
  OP_MEDIAN,
  OP_MEAN,
  OP_SUM,
  OP_COUNT,
  OP_SLOPE
};

enum type { T_NUMBER, T_TEXT, T_PLUGIN, T_BOOL };

/* Functions of numbers.  What their arguments are in, and their value: */
enum call_unit {
  CALL_PURE,  /* arguments are pure numbers, so is the value */
  CALL_SAME,  /* all are in one unit, so is the value */
  CALL_RATIO, /* all are in one unit, the value is a pure number */
  CALL_ROOT,
  CALL_IF
};
struct call {
  const char *name;
  int least, most; /* arguments */
  enum call_unit unit;
  double (*of)(const double *x, int n); /* NULL: if */
};
extern const struct call perp_expr_calls[]; /* ended by a NULL name */
enum { CALL_ARGUMENTS = 16 };

struct perp_expr {
  enum op op;
  enum type type;
  int offset;
  double number;
  const char *text;
  const perp_optional *absent; /* TEXT: what it names is not in this perp */
  const char *unit;            /* numbers: SI unit, NULL when not known */
  int column;
  const char *key;
  perp_expr *arg[3];
  const struct call *call;
  int n_items; /* IN, CALL */
  perp_expr **item;
};

/* A unit as text (expr_unit_text.c).  In: value, the number before it; out: value in SI, exponents
 * of m, kg, s, the number of factors, and where and why it is wrong. */
typedef struct perp_unit_text {
  double value, of[3];
  int factors;
  const char *wrong, *why;
} perp_unit_text;
/* Reads the unit that s begins with, blanks before it skipped: the place behind it, s where there
 * is none, NULL where it is wrong.  Names of the scope are values and no units (NULL: there are
 * none). O(length columns). */
const char *perp_unit_text_read(const char *s, const perp_scope *scope, perp_unit_text *unit);
/* Is the whole word the symbol of a unit? */
bool perp_unit_symbol(const char *word);
/* The name of a dimension, as units have it: "N", "m^2 kg^-1"; "" of a pure number. */
const char *perp_unit_name(const double of[3], char *buf, size_t size);

#endif
