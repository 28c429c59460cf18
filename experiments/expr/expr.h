/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The one small expression language: --only, --skip, exclude.where, published.where, claims.
 *
 *   stab == "post" and h <= 2^-8            status in (crash, timeout)
 *   scene.links > 256 and not kkt in (tree, schur-sparse)
 *   max(drift.pos.max, stab == "post:passes=1") < 1e-5
 *   slope(time.step_us, scene.links, kkt == tree) < 1.1
 *
 * or, and, not; == != < <= > >=; in (...), not in (...); + - * / ^; numbers with units; texts in
 * either quotes, or bare on the right of a comparison.  A unit stands behind its number and may be
 * a product: 2 kg m^2, 3 N m / rad, 5 1/s (expr_unit_text.c).  A minus sign inside a word belongs
 * to the word (setup-failed): leave blanks around a subtraction.  Numbers are equal when they
 * differ by less than 1e-12 relative.
 *
 * A column that holds a plug-in equals a text when the name is the same and every option that the
 * text names has that value: "post" matches post:velocity=true too.  kind.option (stab.alpha) is
 * the value of an option, missing where the plug-in has none; a comparison with something missing
 * is false, != true.
 *
 * In claims: max, min, median, mean, sum (value [, where]), count(where), slope(y, x [, where]),
 * the Theil-Sen slope of log y against log x, also called order(y, x [, where]).  They run over the
 * rows that count (cells that ended ok) where the value is a number; over no row at all the answer
 * is missing, and the claim undecided.
 *
 * In scene files (scope.arithmetic) an expression is a number or a condition, names have no '-',
 * '.' or ':', and functions are those of numbers: sqrt, sin, mod, min(a, b, ...), if(condition, a,
 * b), ... (expr_functions.c). */
#ifndef PERP_EXPR_H
#define PERP_EXPR_H

#include "solvers/core/optional.h"
#include "experiments/base/memory.h"

#include <math.h>

typedef enum perp_value_type {
  PERP_VALUE_MISSING,
  PERP_VALUE_NUMBER,
  PERP_VALUE_TEXT,
  PERP_VALUE_BOOL
} perp_value_type;
typedef struct perp_value {
  perp_value_type type;
  double number;    /* NUMBER; BOOL: 0 or 1 */
  const char *text; /* TEXT, borrowed */
} perp_value;
/* NaN where it is no number. */
static inline double perp_value_number(const perp_value *value)
{
  return value->type == PERP_VALUE_NUMBER ? value->number : (double)NAN;
}

typedef enum perp_column_type {
  PERP_COLUMN_NUMBER,
  PERP_COLUMN_TEXT,
  PERP_COLUMN_PLUGIN /* its value is the text of a plug-in with options */
} perp_column_type;
typedef struct perp_column {
  const char *name;
  perp_column_type type;
  const char *unit;           /* NUMBER */
  perp_kind kind;             /* PLUGIN */
  const char *const *choices; /* TEXT: what it can be, NULL-terminated; NULL: anything */
} perp_column;

typedef struct perp_scope {
  const perp_ctx *ctx; /* the known plug-ins */
  const perp_column *columns;
  int n_columns;
  bool aggregates; /* a claim: columns only inside of max(...) and its like */
  bool number;     /* the expression is a number and not a condition: max(err.tip.max, h == 1 ms) */
  int rows;        /* what aggregates run over */
  void (*value)(void *user, int row, int column, perp_value *v);
  bool (*counts)(void *user, int row); /* NULL: every row */
  void *user;
  bool arithmetic; /* a scene file: numbers, and functions of numbers */
  bool *divided;   /* becomes true where something is divided by 0; NULL: nobody asks */
} perp_scope;

typedef struct perp_expr perp_expr;

typedef struct perp_expr_error {
  int offset;        /* in the text */
  char message[256]; /* "unknown column 'stbb'" */
  char hint[256];    /* "did you mean 'stab'?", or empty */
} perp_expr_error;

/* Read and check against the columns: a condition, with scope.arithmetic also a number.  NULL after
 * an error.  The result lives in pool and refers to the columns of scope by number: evaluate it
 * with a scope of the same columns. */
perp_expr *perp_expr_parse(perp_pool *pool, const perp_scope *scope, const char *text,
                           perp_expr_error *error);
/* Value of any expression at a row (row -1 for claims). */
perp_value perp_expr_eval(const perp_expr *expr, const perp_scope *scope, int row);
/* Is a condition true at this row? */
bool perp_expr_true(const perp_expr *expr, const perp_scope *scope, int row);
/* The two sides of the outermost comparison of a claim, as numbers (NaN when there are none). */
void perp_expr_sides(const perp_expr *expr, const perp_scope *scope, double *left, double *right);
/* Does some aggregate of a claim run over no row at all, or name a plug-in that this perp was built
 * without? */
bool perp_expr_undecided(const perp_expr *expr, const perp_scope *scope);
/* The first plug-in named in it that this perp was built without (it equals nothing); NULL: there
 * is none. */
const perp_optional *perp_expr_absent(const perp_expr *expr);
/* Is an expression with scope.arithmetic a number, and of the dimension of `unit` (SI; NULL: of
 * any)?  A bare number has the dimension that its place needs, a column without a unit too; a
 * product with one is in the unit of the other factor. Angles are pure numbers.  false: *error says
 * where and why. */
bool perp_expr_fits(const perp_expr *expr, const perp_scope *scope, const char *unit,
                    perp_expr_error *error);
/* Is it an SI unit: "N", "kg m^2/s", "" for a pure number? */
bool perp_expr_unit_is(const char *unit);
/* The SI unit of such a number as text for a column, "" where its place decides. */
void perp_expr_unit(const perp_expr *expr, const perp_scope *scope, char *buf, size_t size);
/* y [3]: value of an expression over numbers at a row, and its first and second derivative by a
 * column, exact but for rounding; NaN where it has none.  At a kink (abs, min, if, ...) those of
 * the side that is taken. */
void perp_expr_derivatives(const perp_expr *expr, const perp_scope *scope, int row, int column,
                           double y[3]);
/* Such an expression as text in which this column stands by its name and all the rest by its value
 * at row 0: read again where the column is the only name, it has the same values to the last bit.
 */
void perp_expr_write(const perp_expr *expr, const perp_scope *scope, int column, perp_text *out);
/* Does the expression mention this column (or an option of it)? */
bool perp_expr_mentions(const perp_expr *expr, int column);

/* An option of a plug-in; NULL when it has none of that name. */
const perp_opt *perp_option(const perp_desc *desc, const char *key);
/* The same of the plug-in in a text ("psor:omega=1.3"), with its value there in buf, and *number
 * (may be NULL), which is NaN where it is none; NULL, and an
 * empty buf, also when the text is empty or no such plug-in. */
const perp_opt *perp_option_text(const perp_ctx *ctx, perp_kind kind, const char *plugin,
                                 const char *key, char *buf, size_t size, double *number);

/* Theil-Sen slope of log y against log x over the pairs with both positive and finite; NaN for
 * fewer than two different x.  O(n^2). */
double perp_log_slope(const double *x, const double *y, int n);

#endif
