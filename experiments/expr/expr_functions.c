/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions of numbers in expressions: a row each. */
#include "experiments/expr/expr_tree.h"

#include <math.h>

#define EXPR_OF_ONE(name)                                                                          \
  static double call_##name(const double *x, int n)                                                \
  {                                                                                                \
    (void)n;                                                                                       \
    return name(x[0]);                                                                             \
  }
EXPR_OF_ONE(sqrt)
EXPR_OF_ONE(sin)
EXPR_OF_ONE(cos)
EXPR_OF_ONE(tan)
EXPR_OF_ONE(asin)
EXPR_OF_ONE(acos)
EXPR_OF_ONE(atan)
EXPR_OF_ONE(exp)
EXPR_OF_ONE(log)
EXPR_OF_ONE(fabs)
EXPR_OF_ONE(floor)
EXPR_OF_ONE(ceil)

static double call_atan2(const double *x, int n)
{
  (void)n;
  return atan2(x[0], x[1]);
}

/* in [0, y) for y > 0, as the remainder of a division that rounds down */
static double call_mod(const double *x, int n)
{
  (void)n;
  return x[0] - x[1] * floor(x[0] / x[1]);
}

static double call_min(const double *x, int n)
{
  double least = x[0];
  for (int i = 1; i < n; i++) least = fmin(least, x[i]);
  return least;
}

static double call_max(const double *x, int n)
{
  double most = x[0];
  for (int i = 1; i < n; i++) most = fmax(most, x[i]);
  return most;
}

const struct call perp_expr_calls[] = {
  { "sqrt", 1, 1, CALL_ROOT, call_sqrt }, { "sin", 1, 1, CALL_PURE, call_sin },
  { "cos", 1, 1, CALL_PURE, call_cos },   { "tan", 1, 1, CALL_PURE, call_tan },
  { "asin", 1, 1, CALL_PURE, call_asin }, { "acos", 1, 1, CALL_PURE, call_acos },
  { "atan", 1, 1, CALL_PURE, call_atan }, { "atan2", 2, 2, CALL_RATIO, call_atan2 },
  { "exp", 1, 1, CALL_PURE, call_exp },   { "log", 1, 1, CALL_PURE, call_log },
  { "abs", 1, 1, CALL_SAME, call_fabs },  { "floor", 1, 1, CALL_PURE, call_floor },
  { "ceil", 1, 1, CALL_PURE, call_ceil }, { "mod", 2, 2, CALL_SAME, call_mod },
  { "min", 1, 16, CALL_SAME, call_min },  { "max", 1, 16, CALL_SAME, call_max },
  { "if", 3, 3, CALL_IF, NULL },          { 0 }
};
