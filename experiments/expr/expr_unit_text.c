/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Products, quotients and powers of units as text: kg m^2/s, N m / rad, 1/s, J/(kg s).
 *
 *   unit     first { further }
 *   first    FACTOR | 1/FACTOR | /FACTOR
 *   further  " " FACTOR | "*" FACTOR | "/" FACTOR | "/(" FACTOR { further } ")"
 *   factor   SYMBOL [ ^ [-] DECIMAL ]
 *
 * The word behind a number is a unit, in scene files the next word behind a unit and a blank, too,
 * and so is one behind a "/" that has no blanks around it: no value can stand there.  Any other
 * word is a unit only where no value has that name: 2 m / s divides by the value s where there is
 * one. */
#include "experiments/expr/expr_tree.h"
#include "experiments/base/numbers.h"

#include <ctype.h>
#include <math.h>
#include <string.h>

/* Symbols, in SI; 1 / factor is exact where it is an integer. */
static const struct symbol {
  const char *name;
  double factor;
  double of[3]; /* exponents of m, kg, s */
} symbols[] = {
  { "s", 1, { 0, 0, 1 } },
  { "ms", 1e-3, { 0, 0, 1 } },
  { "us", 1e-6, { 0, 0, 1 } },
  { "ns", 1e-9, { 0, 0, 1 } },
  { "min", 60, { 0, 0, 1 } },
  { "h", 3600, { 0, 0, 1 } },
  { "m", 1, { 1, 0, 0 } },
  { "mm", 1e-3, { 1, 0, 0 } },
  { "cm", 1e-2, { 1, 0, 0 } },
  { "km", 1e3, { 1, 0, 0 } },
  { "kg", 1, { 0, 1, 0 } },
  { "g", 1e-3, { 0, 1, 0 } },
  { "t", 1e3, { 0, 1, 0 } },
  { "rad", 1, { 0, 0, 0 } },
  { "deg", 3.14159265358979323846 / 180, { 0, 0, 0 } },
  { "rpm", 3.14159265358979323846 / 30, { 0, 0, -1 } },
  { "Hz", 1, { 0, 0, -1 } },
  { "N", 1, { 1, 1, -2 } },
  { "kN", 1e3, { 1, 1, -2 } },
  { "Nm", 1, { 2, 1, -2 } },
  { "Ns", 1, { 1, 1, -1 } },
  { "Nms", 1, { 2, 1, -1 } },
  { "J", 1, { 2, 1, -2 } },
  { "W", 1, { 2, 1, -3 } },
  { "Pa", 1, { -1, 1, -2 } },
};
enum { N_SYMBOLS = sizeof symbols / sizeof *symbols };

static int unit_text_word(const char *text)
{
  int n = 0;
  while (isalnum((unsigned char)text[n]) || text[n] == '_') n++;
  return isalpha((unsigned char)text[0]) ? n : 0;
}

static const struct symbol *unit_text_symbol(const char *text)
{
  const int n = unit_text_word(text);
  for (int symbol = 0; symbol < N_SYMBOLS && n > 0; symbol++)
    if ((int)strlen(symbols[symbol].name) == n &&
        strncmp(symbols[symbol].name, text, (size_t)n) == 0)
      return &symbols[symbol];
  return NULL;
}

bool perp_unit_symbol(const char *word)
{
  const struct symbol *symbol = unit_text_symbol(word);
  return symbol != NULL && strlen(symbol->name) == strlen(word);
}

/* Is the word at s a unit where a value of its name would be one as well? */
static bool unit_text_free(const perp_scope *scope, const char *s)
{
  const int n = unit_text_word(s);
  if (unit_text_symbol(s) == NULL || s[n + (int)strspn(s + n, " \t")] == '(' || s[n] == '.' ||
      s[n] == ':')
    return false;
  for (int column = 0; scope != NULL && column < scope->n_columns; column++)
    if (strncmp(scope->columns[column].name, s, (size_t)n) == 0 &&
        scope->columns[column].name[n] == '\0')
      return false;
  return true;
}

/* x times factor^power: 9 ms is 9 / 1000, correctly rounded, as 0.009 is. */
static double unit_text_scaled(double x, double factor, double power)
{
  const double inverse = nearbyint(1 / factor);
  if (factor == 1) return x;
  if (power != nearbyint(power) || fabs(power) > 9) return x * pow(factor, power);
  for (int i = 0; i < (int)fabs(power); i++) {
    const bool divide = factor < 1 && inverse * factor == 1;
    const double by = divide ? inverse : factor;
    x = divide == (power > 0) ? x / by : x * by;
  }
  return x;
}

/* SYMBOL [^ POWER] at s; the place behind it, NULL after *wrong. */
static const char *unit_text_factor(const char *s, int sign, perp_unit_text *unit)
{
  const struct symbol *symbol = unit_text_symbol(s);
  double power = 1;
  if (symbol == NULL) {
    unit->wrong = s;
    unit->why = "unknown unit";
    return NULL;
  }
  s += strlen(symbol->name);
  if (*s == '^') {
    const char *digits = s + 1 + (s[1] == '-'), *end = digits;
    while (isdigit((unsigned char)*end) || *end == '.') end++;
    if (end == digits || perp_real_at(s + 1, &power) != end || isalpha((unsigned char)*end) ||
        *end == '_' || fabs(power) > 20) {
      unit->wrong = s;
      unit->why = "the power of a unit must be a number";
      return NULL;
    }
    s = end;
  }
  for (int i = 0; i < 3; i++) unit->of[i] += sign * power * symbol->of[i];
  unit->value = unit_text_scaled(unit->value, symbol->factor, sign * power);
  unit->factors++;
  return s;
}

static const char *unit_text_factors(const char *s, const perp_scope *scope, int sign, bool inside,
                                     perp_unit_text *unit);

/* "(kg s)" behind a "/": a unit where all its words are.  NULL: it is something else. */
static const char *unit_text_group(const char *s, const perp_scope *scope, perp_unit_text *unit)
{
  perp_unit_text with = *unit;
  s += 1 + strspn(s + 1, " \t");
  if (!unit_text_free(scope, s) || (s = unit_text_factor(s, -1, &with)) == NULL ||
      (s = unit_text_factors(s, scope, -1, true, &with)) == NULL)
    return NULL;
  s += strspn(s, " \t");
  if (*s != ')') return NULL;
  *unit = with;
  return s + 1;
}

/* What follows the first factor.  sign: -1 where a "/" stands before all of it. */
static const char *unit_text_factors(const char *text, const perp_scope *scope, int sign,
                                     bool inside, perp_unit_text *unit)
{
  while (text != NULL) {
    const char *at = text + strspn(text, " \t"),
               *next = at + 1 + (*at != '\0' ? strspn(at + 1, " \t") : 0);
    const bool tight = at == text && next == at + 1;
    if (at > text && unit_text_free(scope == NULL || scope->arithmetic ? NULL : scope, at)) {
      text = unit_text_factor(at, sign, unit);
    } else if (*at == '*' && (tight || inside) && unit_text_free(scope, next)) {
      text = unit_text_factor(next, sign, unit);
    } else if (*at == '/' && *next == '(' && !inside) {
      const char *end = unit_text_group(next, scope, unit);
      if (end == NULL) return text;
      text = end;
    } else if (*at == '/' && unit_text_word(next) > 0) {
      const bool is = unit_text_symbol(next) != NULL;
      const int n = unit_text_word(next);
      const bool call = next[n + (int)strspn(next + n, " \t")] == '(';
      if (call || !(tight ? is : unit_text_free(scope, next))) return text;
      text = unit_text_factor(next, -sign, unit);
    } else {
      return text;
    }
  }
  return NULL;
}

const char *perp_unit_text_read(const char *text, const perp_scope *scope, perp_unit_text *unit)
{
  const char *at = text + strspn(text, " \t");
  const bool one = at[0] == '1' && at[1] == '/';
  unit->factors = 0;
  unit->wrong = NULL;
  memset(unit->of, 0, sizeof unit->of);
  if (unit_text_word(at) > 0) {
    at = unit_text_factor(at, 1, unit);
  } else if ((one && (at > text || scope == NULL)) ||
             (at[0] == '/' && at == text && scope != NULL)) {
    const char *next = at + (one ? 2 : 1);
    if (*next == '(') {
      at = unit_text_group(next, scope, unit);
      if (at == NULL) return text;
    } else {
      if (!(one ? unit_text_symbol(next) != NULL : unit_text_free(scope, next))) return text;
      at = unit_text_factor(next, -1, unit);
    }
  } else {
    return text;
  }
  return unit_text_factors(at, scope, 1, false, unit);
}
