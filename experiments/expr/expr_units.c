/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Dimensions of expressions over numbers: exponents of m, kg and s. */
#include "experiments/expr/expr_tree.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct dim {
  bool any; /* a bare number: whatever its place needs */
  double of[3];
};

static const struct si {
  const char *name;
  double of[3];
} known[] = {
  { "", { 0, 0, 0 } },        { "rad", { 0, 0, 0 } },    { "m", { 1, 0, 0 } },
  { "kg", { 0, 1, 0 } },      { "s", { 0, 0, 1 } },      { "m/s", { 1, 0, -1 } },
  { "1/s", { 0, 0, -1 } },    { "rad/s", { 0, 0, -1 } }, { "m/s^2", { 1, 0, -2 } },
  { "N", { 1, 1, -2 } },      { "Nm", { 2, 1, -2 } },    { "J", { 2, 1, -2 } },
  { "N/m", { 0, 1, -2 } },    { "Ns/m", { 0, 1, -1 } },  { "kg m^2", { 2, 1, 0 } },
  { "kg/m^3", { -3, 1, 0 } }, { "kg/m", { -1, 1, 0 } },  { "Nms/rad", { 2, 1, -1 } },
  { "m^2", { 2, 0, 0 } },     { "m^3", { 3, 0, 0 } },    { "N m^2/kg^2", { 3, -1, -2 } },
};
enum { N_KNOWN = sizeof known / sizeof *known };

/* Of a name, or of any product of SI units.  false: neither. */
static bool units_find(const char *unit, struct dim *dims)
{
  *dims = (struct dim){ 0 };
  if (unit == NULL) return false;
  for (int i = 0; i < N_KNOWN; i++)
    if (strcmp(known[i].name, unit) == 0) {
      memcpy(dims->of, known[i].of, sizeof dims->of);
      return true;
    }
  perp_unit_text text = { .value = 1 };
  const char *end = perp_unit_text_read(unit, NULL, &text);
  if (end == NULL || *end != '\0' || text.value != 1) return false;
  memcpy(dims->of, text.of, sizeof dims->of);
  return true;
}

static bool units_same(const struct dim *a, const struct dim *b)
{
  for (int i = 0; i < 3; i++)
    if (fabs(a->of[i] - b->of[i]) > 1e-9) return false;
  return true;
}

static const char *units_name(const struct dim *d, char *buf, size_t size)
{
  static const char *const base[] = { "m", "kg", "s" };
  size_t n = 0;
  for (int i = 0; i < N_KNOWN; i++) {
    const struct dim k = { .of = { known[i].of[0], known[i].of[1], known[i].of[2] } };
    if (units_same(&k, d)) return i == 0 ? "a pure number" : known[i].name;
  }
  buf[0] = '\0';
  for (int i = 0; i < 3; i++)
    if (d->of[i] != 0 && n < size)
      n += (size_t)snprintf(buf + n, size - n, d->of[i] == 1 ? "%s%s" : "%s%s^%g", n ? " " : "",
                            base[i], d->of[i]);
  return buf;
}

const char *perp_unit_name(const double of[3], char *buf, size_t size)
{
  const struct dim dims = { .of = { of[0], of[1], of[2] } }, pure = { 0 };
  return units_same(&dims, &pure) ? "" : units_name(&dims, buf, size);
}

bool perp_expr_unit_is(const char *unit)
{
  struct dim dims;
  return units_find(unit, &dims);
}

static bool units_wrong(perp_expr_error *error, const perp_expr *at, const struct dim *is,
                        const struct dim *needed, const char *how)
{
  char a[64], b[64];
  error->offset = at->offset;
  snprintf(error->message, sizeof error->message, "this is %s%s; %s: %s",
           units_name(is, a, sizeof a)[0] == 'a' ? "" : "in ", units_name(is, a, sizeof a), how,
           units_name(needed, b, sizeof b));
  snprintf(error->hint, sizeof error->hint, "write numbers with units: 9.81 m/s^2");
  return false;
}

static bool units_dimension(const perp_expr *expr, const perp_scope *scope, perp_expr_error *error,
                            struct dim *d);

/* Both in one unit, which becomes *a. */
static bool units_join(const perp_expr *right, struct dim *a, const struct dim *b,
                       perp_expr_error *error)
{
  if (!a->any && !b->any && !units_same(a, b))
    return units_wrong(error, right, b, a, "unit of the other operand");
  if (a->any) *a = *b;
  return true;
}

static bool units_power(const perp_expr *expr, const perp_scope *scope, perp_expr_error *error,
                        struct dim *dims)
{
  struct dim power;
  const perp_expr *exponent = expr->arg[1];
  if (!units_dimension(expr->arg[0], scope, error, dims) ||
      !units_dimension(exponent, scope, error, &power))
    return false;
  const struct dim pure = { 0 };
  if (!power.any && !units_same(&power, &pure))
    return units_wrong(error, exponent, &power, &pure, "required as exponent");
  if (dims->any) return true;
  const perp_scope none = { .ctx = scope->ctx };
  for (int column = 0; column < scope->n_columns; column++)
    if (perp_expr_mentions(exponent, column)) {
      if (units_same(dims, &pure)) return true;
      error->offset = exponent->offset;
      snprintf(error->message, sizeof error->message,
               "a quantity with a unit requires a number as exponent");
      return false;
    }
  const perp_value value = perp_expr_eval(exponent, &none, -1);
  for (int i = 0; i < 3; i++) dims->of[i] *= value.type == PERP_VALUE_NUMBER ? value.number : 1;
  return true;
}

static bool units_call(const perp_expr *expr, const perp_scope *scope, perp_expr_error *error,
                       struct dim *d)
{
  const enum call_unit how = expr->call->unit;
  const struct dim pure = { 0 };
  struct dim x;
  const int first = how == CALL_IF ? 1 : 0;
  if (first == 1 && !units_dimension(expr->item[0], scope, error, &x)) return false;
  *d = (struct dim){ .any = true };
  for (int item = first; item < expr->n_items; item++) {
    if (!units_dimension(expr->item[item], scope, error, &x)) return false;
    if (how == CALL_PURE && !x.any && !units_same(&x, &pure))
      return units_wrong(error, expr->item[item], &x, &pure, "required here");
    if (how != CALL_PURE && !units_join(expr->item[item], d, &x, error)) return false;
  }
  if (how == CALL_ROOT)
    for (int i = 0; i < 3; i++) d->of[i] /= 2;
  if (how == CALL_RATIO) *d = (struct dim){ .any = true };
  return true;
}

static bool units_dimension(const perp_expr *expr, const perp_scope *scope, perp_expr_error *error,
                            struct dim *dims)
{
  *dims = (struct dim){ .any = true };
  struct dim right;
  switch (expr->op) {
  case OP_NUMBER:
  case OP_COLUMN:
    dims->any = (expr->op == OP_COLUMN && expr->unit != NULL && expr->unit[0] == '\0') ||
                !units_find(expr->unit, dims);
    return true;
  case OP_NEGATE:
  case OP_NOT:
    return units_dimension(expr->arg[0], scope, error, dims);
  case OP_POW:
    return units_power(expr, scope, error, dims);
  case OP_CALL:
    return units_call(expr, scope, error, dims);
  case OP_MUL:
  case OP_DIV:
    if (!units_dimension(expr->arg[0], scope, error, dims) ||
        !units_dimension(expr->arg[1], scope, error, &right))
      return false;
    for (int i = 0; i < 3 && !right.any; i++)
      dims->of[i] += expr->op == OP_MUL ? right.of[i] : -right.of[i];
    dims->any = dims->any && right.any;
    return true;
  case OP_ADD:
  case OP_SUB:
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_GT:
  case OP_GE:
    return units_dimension(expr->arg[0], scope, error, dims) &&
           units_dimension(expr->arg[1], scope, error, &right) &&
           units_join(expr->arg[1], dims, &right, error);
  case OP_AND:
  case OP_OR:
    return units_dimension(expr->arg[0], scope, error, dims) &&
           units_dimension(expr->arg[1], scope, error, &right);
  default:
    return true;
  }
}

bool perp_expr_fits(const perp_expr *expr, const perp_scope *scope, const char *unit,
                    perp_expr_error *error)
{
  struct dim dims;
  *error = (perp_expr_error){ 0 };
  if (expr->type != T_NUMBER) {
    error->offset = expr->offset;
    snprintf(error->message, sizeof error->message, "a number is required here");
    return false;
  }
  if (!units_dimension(expr, scope, error, &dims)) return false;
  struct dim needed;
  if (!units_find(unit, &needed) || dims.any) return true;
  return units_same(&dims, &needed) || units_wrong(error, expr, &dims, &needed, "required here");
}

void perp_expr_unit(const perp_expr *expr, const perp_scope *scope, char *buf, size_t size)
{
  struct dim dims;
  perp_expr_error error;
  const struct dim pure = { 0 };
  char composed[64];
  const bool known_unit = units_dimension(expr, scope, &error, &dims) && !dims.any &&
                          !units_same(&dims, &pure);
  snprintf(buf, size, "%s", known_unit ? units_name(&dims, composed, sizeof composed) : "");
}
