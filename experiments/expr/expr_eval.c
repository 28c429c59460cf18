/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Expressions over the cells of a study, evaluated. */
#include "experiments/expr/expr_tree.h"
#include "experiments/base/memory.h"
#include "experiments/base/numbers.h"

#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const perp_opt *perp_option(const perp_desc *desc, const char *key)
{
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++)
    if (strcmp(opt->key, key) == 0) return opt;
  return NULL;
}

const perp_opt *perp_option_text(const perp_ctx *ctx, perp_kind kind, const char *plugin,
                                 const char *key, char *buf, size_t size, double *number)
{
  perp_ctx quiet = *ctx;
  perp_spec spec;
  buf[0] = '\0';
  if (number != NULL) *number = (double)NAN;
  if (plugin[0] == '\0') return NULL;
  const perp_status parsed = perp_spec_parse(&quiet, kind, plugin, &spec);
  if (parsed == PERP_ERR_NOMEM) perp_memory_out(); /* a value would be missing */
  if (parsed != PERP_OK) return NULL;
  const perp_opt *opt = perp_option(spec.d, key);
  if (opt != NULL) perp_opt_format(opt, spec.opts, buf, size);
  if (opt != NULL && number != NULL && (opt->type == PERP_OPT_REAL || opt->type == PERP_OPT_INT))
    *number = perp_real_of(buf);
  perp_spec_free(&spec);
  return opt;
}

static const perp_value missing = { PERP_VALUE_MISSING, 0, NULL };

static perp_value expr_number(double v)
{
  return (perp_value){ isnan(v) ? PERP_VALUE_MISSING : PERP_VALUE_NUMBER, v, NULL };
}

static perp_value expr_truth(bool v)
{
  return (perp_value){ PERP_VALUE_BOOL, v, NULL };
}

static perp_value expr_option_value(const perp_expr *expr, const perp_scope *scope,
                                    const char *text)
{
  char buf[PERP_TEXT_MAX + 2];
  double number;
  const perp_opt *opt = perp_option_text(scope->ctx, scope->columns[expr->column].kind, text,
                                         expr->key, buf, sizeof buf, &number);
  if (opt == NULL) return missing;
  if (expr->type == T_NUMBER) return expr_number(number);
  if (opt->type == PERP_OPT_BOOL)
    return (perp_value){ PERP_VALUE_TEXT, 0, strcmp(buf, "true") == 0 ? "true" : "false" };
  for (int i = 0; opt->type == PERP_OPT_ENUM && opt->choices[i] != NULL; i++)
    if (strcmp(opt->choices[i], buf) == 0)
      return (perp_value){ PERP_VALUE_TEXT, 0, opt->choices[i] };
  return missing;
}

/* Do these begin with different names? Names of files are compared by what they open. */
static bool plugin_names_differ(const char *a, const char *b)
{
  const size_t n = strcspn(a, ":./"), m = strcspn(b, ":./");
  return (a[n] == ':' || a[n] == '\0') && (b[m] == ':' || b[m] == '\0') &&
         (n != m || memcmp(a, b, n) != 0);
}

/* Same name, and every option written in the pattern has the same value. */
static bool plugin_matches(const perp_scope *scope, perp_kind kind, const char *text,
                           const char *pattern)
{
  if (plugin_names_differ(text, pattern)) return false;
  perp_ctx ctx = *scope->ctx;
  perp_spec have, want;
  /* the options of what is absent are not known: the same text, or the name alone */
  const perp_optional *absent = perp_optional_absent(&ctx, kind, pattern);
  if (absent != NULL)
    return perp_optional_absent(&ctx, kind, text) == absent &&
           (strcmp(pattern, absent->name) == 0 || strcmp(pattern, text) == 0);
  if (text[0] == '\0' || perp_spec_parse(&ctx, kind, text, &have) != PERP_OK) return false;
  bool same = false;
  if (perp_spec_parse(&ctx, kind, pattern, &want) == PERP_OK) {
    const char *written = pattern + strlen(want.d->name); /* ":key=value,..." */
    same = have.d == want.d;
    for (const perp_opt *opt = have.d->opts; same && opt != NULL && opt->type != PERP_OPT_END;
         opt++) {
      char key[80], a[PERP_TEXT_MAX + 2], b[PERP_TEXT_MAX + 2];
      snprintf(key, sizeof key, ":%s=", opt->key);
      bool named = strncmp(written, key, strlen(key)) == 0;
      key[0] = ',';
      named = named || strstr(written, key) != NULL;
      if (!named) continue;
      perp_opt_format(opt, have.opts, a, sizeof a);
      perp_opt_format(opt, want.opts, b, sizeof b);
      same = strcmp(a, b) == 0;
    }
    perp_spec_free(&want);
  }
  perp_spec_free(&have);
  return same;
}

static bool expr_equal(const perp_expr *a, const perp_expr *b, const perp_scope *scope, int row)
{
  perp_value x = perp_expr_eval(a, scope, row), y = perp_expr_eval(b, scope, row);
  if (x.type == PERP_VALUE_MISSING || y.type == PERP_VALUE_MISSING) return false;
  if (a->type == T_NUMBER)
    return x.number == y.number ||
           fabs(x.number - y.number) <= 1e-12 * fmax(fabs(x.number), fabs(y.number));
  if (a->type == T_PLUGIN && b->op == OP_TEXT)
    return plugin_matches(scope, scope->columns[a->column].kind, x.text, y.text);
  return strcmp(x.text, y.text) == 0;
}

static double expr_median(double *v, int n)
{
  gsl_sort(v, 1, (size_t)n);
  return gsl_stats_median_from_sorted_data(v, 1, (size_t)n);
}

double perp_log_slope(const double *x, const double *y, int n)
{
  double *slope = perp_xalloc((size_t)n * (size_t)n / 2 + 1, sizeof *slope);
  int k = 0;
  for (int i = 0; i < n; i++)
    for (int j = 0; j < i; j++)
      if (x[i] > 0 && x[j] > 0 && y[i] > 0 && y[j] > 0 && isfinite(y[i]) && isfinite(y[j]) &&
          x[i] != x[j])
        slope[k++] = log(y[i] / y[j]) / log(x[i] / x[j]);
  double s = k > 0 ? expr_median(slope, k) : (double)NAN;
  free(slope);
  return s;
}

static perp_value expr_aggregate(const perp_expr *expr, const perp_scope *scope)
{
  double *y = perp_xalloc((size_t)scope->rows, sizeof *y),
         *x = perp_xalloc((size_t)scope->rows, sizeof *x);
  int n = 0;
  for (int row = 0; row < scope->rows; row++) {
    if (scope->counts != NULL && !scope->counts(scope->user, row) && expr->op != OP_COUNT) continue;
    if (expr->arg[2] != NULL && !perp_expr_true(expr->arg[2], scope, row)) continue;
    if (expr->op == OP_COUNT) {
      n++;
      continue;
    }
    perp_value v = perp_expr_eval(expr->arg[0], scope, row);
    if (v.type != PERP_VALUE_NUMBER) continue;
    if (expr->op == OP_SLOPE) {
      perp_value u = perp_expr_eval(expr->arg[1], scope, row);
      if (u.type != PERP_VALUE_NUMBER) continue;
      x[n] = u.number;
    }
    y[n++] = v.number;
  }
  perp_value result = missing;
  double sum = 0;
  for (int i = 0; i < n; i++) sum += y[i];
  if (expr->op == OP_COUNT)
    result = expr_number(n);
  else if (expr->op == OP_SLOPE)
    result = expr_number(perp_log_slope(x, y, n));
  else if (n > 0 && expr->op == OP_SUM)
    result = expr_number(sum);
  else if (n > 0 && expr->op == OP_MEAN)
    result = expr_number(sum / n);
  else if (n > 0) {
    double m = expr_median(y, n); /* sorts */
    result = expr_number(expr->op == OP_MAX ? y[n - 1] : expr->op == OP_MIN ? y[0] : m);
  }
  free(x);
  free(y);
  return result;
}

static perp_value expr_of_numbers(enum op op, double a, double b)
{
  switch (op) {
  case OP_NEGATE:
    return expr_number(-a);
  case OP_ADD:
    return expr_number(a + b);
  case OP_SUB:
    return expr_number(a - b);
  case OP_MUL:
    return expr_number(a * b);
  case OP_DIV:
    return expr_number(a / b);
  case OP_POW:
    return expr_number(pow(a, b));
  case OP_LT:
    return expr_truth(a < b);
  case OP_LE:
    return expr_truth(a <= b);
  case OP_GT:
    return expr_truth(a > b);
  default:
    return expr_truth(a >= b);
  }
}

static perp_value expr_call(const perp_expr *expr, const perp_scope *scope, int row)
{
  double x[CALL_ARGUMENTS];
  if (expr->call->of == NULL)
    return perp_expr_eval(expr->item[perp_expr_true(expr->item[0], scope, row) ? 1 : 2], scope,
                          row);
  for (int item = 0; item < expr->n_items; item++) {
    perp_value value = perp_expr_eval(expr->item[item], scope, row);
    if (value.type != PERP_VALUE_NUMBER) return missing;
    x[item] = value.number;
  }
  return expr_number(expr->call->of(x, expr->n_items));
}

perp_value perp_expr_eval(const perp_expr *expr, const perp_scope *scope, int row)
{
  perp_expr *const *arg = expr->arg;
  if (expr->op >= OP_MAX) return expr_aggregate(expr, scope);
  switch (expr->op) {
  case OP_CALL:
    return expr_call(expr, scope, row);
  case OP_NUMBER:
    return expr_number(expr->number);
  case OP_TEXT:
    return (perp_value){ PERP_VALUE_TEXT, 0, expr->text };
  case OP_COLUMN: {
    perp_value v = missing;
    if (row >= 0) scope->value(scope->user, row, expr->column, &v);
    if (v.type == PERP_VALUE_NUMBER) return expr_number(v.number);
    return expr->key != NULL && v.type == PERP_VALUE_TEXT ? expr_option_value(expr, scope, v.text)
                                                          : v;
  }
  case OP_EQ:
    return expr_truth(expr_equal(arg[0], arg[1], scope, row));
  case OP_NE:
    return expr_truth(!expr_equal(arg[0], arg[1], scope, row));
  case OP_IN:
    for (int item = 0; item < expr->n_items; item++)
      if (expr_equal(arg[0], expr->item[item], scope, row)) return expr_truth(true);
    return expr_truth(false);
  case OP_AND:
    return expr_truth(perp_expr_true(arg[0], scope, row) && perp_expr_true(arg[1], scope, row));
  case OP_OR:
    return expr_truth(perp_expr_true(arg[0], scope, row) || perp_expr_true(arg[1], scope, row));
  case OP_NOT:
    return expr_truth(!perp_expr_true(arg[0], scope, row));
  default:
    break;
  }
  perp_value a = perp_expr_eval(arg[0], scope, row);
  perp_value b = arg[1] != NULL ? perp_expr_eval(arg[1], scope, row) : a;
  if (expr->op == OP_DIV && b.type == PERP_VALUE_NUMBER && b.number == 0 && scope->divided != NULL)
    *scope->divided = true;
  if (a.type == PERP_VALUE_NUMBER && b.type == PERP_VALUE_NUMBER)
    return expr_of_numbers(expr->op, a.number, b.number);
  return expr->type == T_BOOL ? expr_truth(false) : missing;
}

bool perp_expr_true(const perp_expr *expr, const perp_scope *scope, int row)
{
  perp_value value = perp_expr_eval(expr, scope, row);
  return value.type == PERP_VALUE_BOOL && value.number != 0;
}

void perp_expr_sides(const perp_expr *expr, const perp_scope *scope, double *left, double *right)
{
  *left = *right = (double)NAN;
  if (expr->op < OP_EQ || expr->op > OP_GE) return;
  perp_value a = perp_expr_eval(expr->arg[0], scope, -1),
             b = perp_expr_eval(expr->arg[1], scope, -1);
  if (a.type == PERP_VALUE_NUMBER) *left = a.number;
  if (b.type == PERP_VALUE_NUMBER) *right = b.number;
}

const perp_optional *perp_expr_absent(const perp_expr *expr)
{
  if (expr == NULL) return NULL;
  const perp_optional *absent = expr->absent;
  for (int i = 0; i < 3 && absent == NULL; i++) absent = perp_expr_absent(expr->arg[i]);
  for (int i = 0; i < expr->n_items && absent == NULL; i++)
    absent = perp_expr_absent(expr->item[i]);
  return absent;
}

bool perp_expr_undecided(const perp_expr *expr, const perp_scope *scope)
{
  if (expr == NULL) return false;
  if (perp_expr_absent(expr) != NULL) return true;
  if (expr->op >= OP_MAX) return perp_expr_eval(expr, scope, -1).type == PERP_VALUE_MISSING;
  for (int i = 0; i < 3; i++)
    if (perp_expr_undecided(expr->arg[i], scope)) return true;
  return false;
}

bool perp_expr_mentions(const perp_expr *expr, int column)
{
  if (expr == NULL) return false;
  if (expr->op == OP_COLUMN) return expr->column == column;
  for (int i = 0; i < 3; i++)
    if (perp_expr_mentions(expr->arg[i], column)) return true;
  for (int item = 0; item < expr->n_items; item++)
    if (perp_expr_mentions(expr->item[item], column)) return true;
  return false;
}
