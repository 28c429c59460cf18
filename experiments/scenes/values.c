/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/scenes/values.h"

#include <ctype.h>
#include <math.h>
#include <string.h>
#include <strings.h>

enum { MOST_VALUES = 10000 };
/* Of a number in a scene, in SI units: products of three of them are finite. */
static const double values_most = 1e100;

struct perp_values_kept {
  const perp_node *node; /* NULL: free */
  int offset;
  uint64_t shape;
  const char *unit;
  perp_expr *e;
};

static void values_value(void *user, int row, int column, perp_value *value)
{
  const perp_values *values = user;
  (void)row;
  *value = values->value[column];
}

perp_scope perp_values_scope(perp_values *values)
{
  return (perp_scope){ .ctx = values->ctx,
                       .columns = values->column,
                       .n_columns = values->n,
                       .arithmetic = true,
                       .rows = 1,
                       .value = values_value,
                       .user = values };
}

void perp_values_init(perp_values *values, perp_ctx *ctx, perp_diag *diag, perp_pool *pool)
{
  *values = (perp_values){ .ctx = ctx, .diag = diag, .pool = pool };
  perp_values_add(values, NULL, "pi", "", (perp_value){ PERP_VALUE_NUMBER, M_PI, NULL }, NULL);
}

static bool values_name(const char *text)
{
  static const char *const words[] = { "and", "or", "not", "in", "inf", "true", "false", "world" };
  if (!isalpha((unsigned char)text[0])) return false;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (strcmp(words[i], text) == 0) return false;
  for (; *text != '\0'; text++)
    if (!isalnum((unsigned char)*text) && *text != '_') return false;
  return true;
}

static void values_grow(perp_values *values)
{
  const size_t room = 2 * (size_t)values->room + 8, n = (size_t)values->n;
  perp_column *column = perp_pool_alloc(values->pool, room, sizeof *column);
  perp_value *value = perp_pool_alloc(values->pool, room, sizeof *value);
  uint64_t *shape = perp_pool_alloc(values->pool, room, sizeof *shape);
  if (n > 0) {
    memcpy(column, values->column, n * sizeof *column);
    memcpy(value, values->value, n * sizeof *value);
    memcpy(shape, values->shape, n * sizeof *shape);
  }
  values->column = column;
  values->value = value;
  values->shape = shape;
  values->room = (int)room;
}

bool perp_values_add(perp_values *values, const perp_node *at, const char *name, const char *unit,
                     perp_value value, const char *const *choices)
{
  if (!values_name(name)) {
    perp_diag_error(
        values->diag, at, 0,
        "a name has letters, digits and '_', begins with a letter, and is not a reserved word",
        "'%s' cannot be the name of a value", name);
    return false;
  }
  if (values->n == MOST_VALUES) {
    perp_diag_error(values->diag, at, 0, "remove some, or divide the file",
                    "there are more than %d values, which is the limit", MOST_VALUES);
    return false;
  }
  for (int column = 0; column < values->n; column++)
    if (strcmp(values->column[column].name, name) == 0) {
      perp_diag_error(values->diag, at, 0, "use another name",
                      "the name of the value '%s' is already used", name);
      return false;
    }
  if (values->n == values->room) values_grow(values);
  values->column[values->n] = (perp_column){ .name = name,
                                             .type = value.type == PERP_VALUE_TEXT
                                                         ? PERP_COLUMN_TEXT
                                                         : PERP_COLUMN_NUMBER,
                                             .unit = unit,
                                             .choices = choices };
  values->value[values->n] = value;
  values->shape[values->n] = perp_hash64(name, strlen(name),
                                         values->n > 0 ? values->shape[values->n - 1] : 0);
  values->n++;
  return true;
}

void perp_values_drop(perp_values *values, int n)
{
  values->n = n;
}

/* ---- expressions that were read before ---- */

static struct perp_values_kept *values_slot(struct perp_values_kept *kept, int slots,
                                            const struct perp_values_kept *values_kept)
{
  const uint64_t key[] = { (uint64_t)(uintptr_t)values_kept->node, (uint64_t)values_kept->offset,
                           values_kept->shape };
  uint64_t at = perp_hash64(key, sizeof key, 0) & (uint64_t)(slots - 1);
  while (kept[at].node != NULL &&
         (kept[at].node != values_kept->node || kept[at].offset != values_kept->offset ||
          kept[at].shape != values_kept->shape || kept[at].unit != values_kept->unit))
    at = (at + 1) & (uint64_t)(slots - 1);
  return &kept[at];
}

/* The expression that is `text`, a part of the node from offset on.  condition: not a number. */
static perp_expr *values_read(perp_values *values, const perp_node *node, int offset,
                              const char *text, const char *unit, bool condition)
{
  static const char *const whether = "condition"; /* in the place of a unit */
  struct perp_values_kept values_kept = { node, offset, values->shape[values->n - 1],
                                          condition ? whether : unit, NULL };
  if (values->n_slots > 0) {
    const struct perp_values_kept *known = values_slot(values->kept, values->n_slots, &values_kept);
    if (known->node != NULL) return known->e;
  }
  perp_expr_error error;
  const perp_scope scope = perp_values_scope(values);
  values_kept.e = perp_expr_parse(values->pool, &scope, text, &error);
  if (values_kept.e == NULL ||
      (!condition && !perp_expr_fits(values_kept.e, &scope, unit, &error))) {
    perp_diag_error(values->diag, node, offset + error.offset,
                    error.hint[0] != '\0' ? error.hint : NULL, "%s", error.message);
    return NULL;
  }
  if (2 * values->n_kept >= values->n_slots) {
    const int slots = values->n_slots > 0 ? 2 * values->n_slots : 64;
    struct perp_values_kept *kept = perp_pool_alloc(values->pool, (size_t)slots, sizeof *kept);
    for (int slot = 0; slot < values->n_slots; slot++)
      if (values->kept[slot].node != NULL)
        *values_slot(kept, slots, &values->kept[slot]) = values->kept[slot];
    values->kept = kept;
    values->n_slots = slots;
  }
  *values_slot(values->kept, values->n_slots, &values_kept) = values_kept;
  values->n_kept++;
  return values_kept.e;
}

static bool values_scalar(perp_values *values, const perp_node *node, const char *what)
{
  if (node->type == PERP_NODE_SCALAR && node->text[0] != '\0') return true;
  perp_diag_error(values->diag, node, 0, NULL, "%s is required here", what);
  return false;
}

static bool values_compute(perp_values *values, const perp_node *node, int offset, const char *text,
                           const char *unit, double *x)
{
  const perp_expr *expr = values_read(values, node, offset, text, unit, false);
  if (expr == NULL) return false;
  const perp_scope scope = perp_values_scope(values);
  const perp_value value = perp_expr_eval(expr, &scope, 0);
  *x = value.number;
  if (value.type == PERP_VALUE_NUMBER && isfinite(value.number)) return true;
  perp_diag_error(values->diag, node, offset, NULL,
                  "the value is not finite (division by 0, root of a negative number, ...)");
  return false;
}

static bool values_nan(const char *text)
{
  if (*text == '+' || *text == '-' || *text == '.') text++;
  return strcasecmp(text, "nan") == 0;
}

bool perp_values_number(perp_values *values, const perp_node *node, const char *unit, double *x)
{
  if (!values_scalar(values, node, "a number")) return false;
  if (values_nan(node->text)) {
    perp_diag_error(values->diag, node, 0, "write a finite number", "NaN is not a number");
    return false;
  }
  if (perp_parse_real(NULL, node->text, unit != NULL ? unit : "", x) != PERP_OK &&
      !values_compute(values, node, 0, node->text, unit, x))
    return false;
  if (!isfinite(*x) || fabs(*x) <= values_most) return true;
  perp_diag_error(values->diag, node, 0, "choose other units, or a smaller number",
                  "the number is outside of [-1e100, 1e100]: got %g", *x);
  return false;
}

bool perp_values_whole(perp_values *values, const perp_node *node, double lo, double hi, int *x)
{
  double number;
  if (!perp_values_number(values, node, "", &number)) return false;
  if (number == nearbyint(number) && number >= lo && number <= hi) return *x = (int)number, true;
  perp_diag_error(values->diag, node, 0, NULL, "an integer in [%g, %g] is required here: got %g",
                  lo, hi, number);
  return false;
}

bool perp_values_true(perp_values *values, const perp_node *node, bool *x)
{
  if (!values_scalar(values, node, "a condition")) return false;
  *x = strcmp(node->text, "true") == 0;
  if (*x || strcmp(node->text, "false") == 0) return true;
  for (int column = 0; column < values->n; column++) /* a parameter that is true or false */
    if (values->value[column].type == PERP_VALUE_TEXT &&
        strcmp(values->column[column].name, node->text) == 0) {
      *x = strcmp(values->value[column].text, "true") == 0;
      if (*x || strcmp(values->value[column].text, "false") == 0) return true;
    }
  const perp_expr *expr = values_read(values, node, 0, node->text, NULL, true);
  if (expr == NULL) return false;
  const perp_scope scope = perp_values_scope(values);
  const perp_value value = perp_expr_eval(expr, &scope, 0);
  if (value.type == PERP_VALUE_BOOL) return *x = value.number != 0, true;
  perp_diag_error(values->diag, node, 0, "write true, false, or a comparison as n > 1",
                  "a condition is required here");
  return false;
}

/* The place of ".." outside of parentheses, -1: none. */
static int values_dots(const char *text)
{
  const char *dots = strstr(text, "..");
  return dots != NULL ? (int)(dots - text) : -1;
}

bool perp_values_range(perp_values *values, const perp_node *node, double *first, double *last)
{
  if (!values_scalar(values, node, "a range")) return false;
  const int dots = values_dots(node->text);
  if (dots < 0) {
    perp_diag_error(values->diag, node, 0, "write first..last, as 0..n-1",
                    "a range is required here");
    return false;
  }
  const char *left = perp_pool_strndup(values->pool, node->text, (size_t)dots);
  if (!values_compute(values, node, 0, left, "", first) ||
      !values_compute(values, node, dots + 2, node->text + dots + 2, "", last))
    return false;
  if (*first == nearbyint(*first) && *last == nearbyint(*last)) return true;
  perp_diag_error(values->diag, node, 0, NULL, "the bounds of a range must be integers: got %g..%g",
                  *first, *last);
  return false;
}

/* The word of a choice by its name; NULL: it is none. */
static const char *values_word(const perp_values *values, const char *name)
{
  for (int column = values->n - 1; column >= 0; column--)
    if (strcmp(values->column[column].name, name) == 0)
      return values->value[column].type == PERP_VALUE_TEXT ? values->value[column].text : NULL;
  return NULL;
}

const char *perp_values_text(perp_values *values, const perp_node *node)
{
  if (!values_scalar(values, node, "a text")) return NULL;
  if (strchr(node->text, '{') == NULL) return node->text;
  perp_text out = { 0 };
  bool good = true;
  for (const char *s = node->text; good && *s != '\0';) {
    const size_t plain = strcspn(s, "{"), inner = s[plain] == '{' ? strcspn(s + plain + 1, "}") : 0;
    perp_text_put(&out, s, plain);
    s += plain;
    if (*s == '\0') break;
    const int at = (int)(s + 1 - node->text);
    if (s[1 + inner] != '}') {
      perp_diag_error(values->diag, node, at - 1, NULL, "this brace is not closed");
      good = false;
      break;
    }
    const char *text = perp_pool_strndup(values->pool, s + 1, inner);
    const char *word = values_word(values, text);
    s += inner + 2;
    if (word != NULL) {
      perp_text_put(&out, word, strlen(word));
      continue;
    }
    double x;
    good = values_compute(values, node, at, text, NULL, &x);
    char number[40];
    if (good) perp_format_real(x, number, sizeof number);
    if (good) perp_text_add(&out, "%s", number);
  }
  const char *text = good && out.s != NULL ? perp_pool_strdup(values->pool, out.s)
                     : good                ? ""
                                           : NULL;
  perp_text_free(&out);
  return text;
}

perp_expr *perp_values_expression(perp_values *values, const perp_node *node, const char *unit)
{
  if (!values_scalar(values, node, "a number")) return NULL;
  return values_read(values, node, 0, node->text, unit, false);
}

const char *perp_values_unit(perp_values *values, const perp_node *node)
{
  double x;
  char unit[64];
  if (perp_parse_real(NULL, node->text, "", &x) == PERP_OK) return "";
  const perp_expr *expr = perp_values_expression(values, node, NULL);
  const perp_scope scope = perp_values_scope(values);
  if (expr == NULL) return "";
  perp_expr_unit(expr, &scope, unit, sizeof unit);
  return perp_pool_strdup(values->pool, unit);
}
