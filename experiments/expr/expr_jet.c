/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Exact derivatives of expressions over numbers: each node of the tree gives its value with its
 * first and second derivative by one column (Taylor arithmetic: Griewank and Walther 2008, chapter
 * 13), and a tree written out again.
 *
 *      (f g)'' = f'' g + 2 f' g' + f g'',      f(u)'' = f''(u) u'^2 + f'(u) u'' */
#include "experiments/expr/expr_tree.h"

#include <math.h>
#include <string.h>

typedef struct jet {
  double x, d, dd;
} jet;

typedef struct jets {
  const perp_scope *scope;
  int row, column;
} jets;

static jet jet_of(const jets *s, const perp_expr *expr);

static jet jet_constant(double x)
{
  return (jet){ x, 0, 0 };
}

/* f(u) with f, f' and f'' at u */
static jet jet_chain(jet u, double f, double df, double ddf)
{
  jet y = { f, 0, 0 };
  if (u.d != 0 || u.dd != 0) { /* where nothing depends on it, an infinite slope is none */
    y.d = df * u.d;
    y.dd = (u.d != 0 ? ddf * u.d * u.d : 0) + df * u.dd;
  }
  return y;
}

static jet jet_product(jet a, jet b)
{
  return (jet){ a.x * b.x, a.d * b.x + a.x * b.d, a.dd * b.x + 2 * a.d * b.d + a.x * b.dd };
}

/* y = a - b floor(a / b), min and max: pieces, each as smooth as it is inside */
static jet jet_of_many(const jets *work, const perp_expr *expr)
{
  const char *name = expr->call->name;
  jet a = jet_of(work, expr->item[0]);
  if (strcmp(name, "atan2") == 0) {
    const jet b = jet_of(work, expr->item[1]);
    const double r2 = a.x * a.x + b.x * b.x, d = (a.d * b.x - a.x * b.d) / r2;
    const double turn = a.dd * b.x - a.x * b.dd, grow = 2 * (a.x * a.d + b.x * b.d);
    return (jet){ atan2(a.x, b.x), d, (turn - d * grow) / r2 };
  }
  if (strcmp(name, "mod") == 0) {
    const jet b = jet_of(work, expr->item[1]);
    const double n = floor(a.x / b.x);
    return (jet){ a.x - b.x * n, a.d - b.d * n, a.dd - b.dd * n };
  }
  for (int item = 1; item < expr->n_items; item++) {
    const jet b = jet_of(work, expr->item[item]);
    if (strcmp(name, "min") == 0 ? b.x < a.x : b.x > a.x) a = b;
  }
  return a;
}

static jet jet_call(const jets *work, const perp_expr *expr)
{
  const char *name = expr->call->name;
  if (expr->call->of == NULL)
    return jet_of(work, expr->item[perp_expr_true(expr->item[0], work->scope, work->row) ? 1 : 2]);
  if (expr->call->least != 1 || expr->call->most != 1) return jet_of_many(work, expr);
  const jet u = jet_of(work, expr->item[0]);
  const double x = u.x, f = expr->call->of(&x, 1), c = 1 - x * x;
  if (strcmp(name, "sqrt") == 0) return jet_chain(u, f, 0.5 / f, -0.25 / (f * x));
  if (strcmp(name, "sin") == 0) return jet_chain(u, f, cos(x), -f);
  if (strcmp(name, "cos") == 0) return jet_chain(u, f, -sin(x), -f);
  if (strcmp(name, "tan") == 0) return jet_chain(u, f, 1 + f * f, 2 * f * (1 + f * f));
  if (strcmp(name, "asin") == 0) return jet_chain(u, f, 1 / sqrt(c), x / (c * sqrt(c)));
  if (strcmp(name, "acos") == 0) return jet_chain(u, f, -1 / sqrt(c), -x / (c * sqrt(c)));
  if (strcmp(name, "atan") == 0)
    return jet_chain(u, f, 1 / (1 + x * x), -2 * x / ((1 + x * x) * (1 + x * x)));
  if (strcmp(name, "exp") == 0) return jet_chain(u, f, f, f);
  if (strcmp(name, "log") == 0) return jet_chain(u, f, 1 / x, -1 / (x * x));
  if (strcmp(name, "abs") == 0) return jet_chain(u, f, x < 0 ? -1 : 1, 0);
  return jet_constant(f); /* floor, ceil: steps */
}

static jet jet_of(const jets *work, const perp_expr *expr)
{
  if (expr->op == OP_COLUMN && expr->column == work->column)
    return (jet){ perp_expr_eval(expr, work->scope, work->row).number, 1, 0 };
  if (!perp_expr_mentions(expr, work->column)) {
    const perp_value v = perp_expr_eval(expr, work->scope, work->row);
    return jet_constant(v.type == PERP_VALUE_NUMBER ? v.number : (double)NAN);
  }
  if (expr->op == OP_CALL) return jet_call(work, expr);
  const jet a = jet_of(work, expr->arg[0]);
  if (expr->op == OP_NEGATE) return (jet){ -a.x, -a.d, -a.dd };
  if (expr->arg[1] == NULL) return jet_constant((double)NAN);
  const jet b = jet_of(work, expr->arg[1]);
  switch (expr->op) {
  case OP_ADD:
    return (jet){ a.x + b.x, a.d + b.d, a.dd + b.dd };
  case OP_SUB:
    return (jet){ a.x - b.x, a.d - b.d, a.dd - b.dd };
  case OP_MUL:
    return jet_product(a, b);
  case OP_DIV: {
    jet y = { a.x / b.x, 0, 0 };
    y.d = (a.d - y.x * b.d) / b.x;
    y.dd = (a.dd - 2 * y.d * b.d - y.x * b.dd) / b.x;
    return y;
  }
  case OP_POW: {
    const bool varies = perp_expr_mentions(expr->arg[1], work->column);
    const double value = pow(a.x, b.x);
    if (!varies) {
      const double n = b.x, first = n == 0 ? 0 : n * pow(a.x, n - 1);
      return jet_chain(a, value, first, n == 0 || n == 1 ? 0 : n * (n - 1) * pow(a.x, n - 2));
    }
    /* exp(b log a) */
    const jet log_a = jet_chain(a, log(a.x), 1 / a.x, -1 / (a.x * a.x));
    return jet_chain(jet_product(b, log_a), value, value, value);
  }
  default: /* conditions are no numbers */
    return jet_constant((double)NAN);
  }
}

void perp_expr_derivatives(const perp_expr *expr, const perp_scope *scope, int row, int column,
                           double y[3])
{
  const jets work = { scope, row, column };
  const jet x = jet_of(&work, expr);
  y[0] = x.x, y[1] = x.d, y[2] = x.dd;
}

/* ---- written out ---- */

static void jet_write_number(perp_text *out, double x)
{
  char text[40];
  perp_format_real(x, text, sizeof text);
  perp_text_add(out, x < 0 ? "(%s)" : "%s", text);
}

void perp_expr_write(const perp_expr *expr, const perp_scope *scope, int column, perp_text *out)
{
  static const char *const signs[] = {
    [OP_ADD] = "+", [OP_SUB] = "-",   [OP_MUL] = "*", [OP_DIV] = "/", [OP_POW] = "^",
    [OP_EQ] = "==", [OP_NE] = "!=",   [OP_LT] = "<",  [OP_LE] = "<=", [OP_GT] = ">",
    [OP_GE] = ">=", [OP_AND] = "and", [OP_OR] = "or"
  };
  if (!perp_expr_mentions(expr, column)) {
    const perp_value value = perp_expr_eval(expr, scope, 0);
    if (expr->type == T_BOOL)
      perp_text_add(out, "%s", value.number != 0 ? "(0 < 1)" : "(1 < 0)");
    else
      jet_write_number(out, value.number);
    return;
  }
  switch (expr->op) {
  case OP_COLUMN:
    perp_text_add(out, "%s", scope->columns[column].name);
    return;
  case OP_CALL:
    perp_text_add(out, "%s(", expr->call->name);
    for (int item = 0; item < expr->n_items; item++) {
      if (item > 0) perp_text_add(out, ", ");
      perp_expr_write(expr->item[item], scope, column, out);
    }
    perp_text_add(out, ")");
    return;
  case OP_IN: /* one comparison after the other */
    perp_text_add(out, "(");
    for (int item = 0; item < expr->n_items; item++) {
      perp_text_add(out, item > 0 ? " or (" : "(");
      perp_expr_write(expr->arg[0], scope, column, out);
      perp_text_add(out, " == ");
      perp_expr_write(expr->item[item], scope, column, out);
      perp_text_add(out, ")");
    }
    perp_text_add(out, ")");
    return;
  case OP_NEGATE:
  case OP_NOT:
    perp_text_add(out, expr->op == OP_NOT ? "(not " : "(-");
    perp_expr_write(expr->arg[0], scope, column, out);
    perp_text_add(out, ")");
    return;
  default:
    perp_text_add(out, "(");
    perp_expr_write(expr->arg[0], scope, column, out);
    perp_text_add(out, " %s ", signs[expr->op]);
    perp_expr_write(expr->arg[1], scope, column, out);
    perp_text_add(out, ")");
  }
}
