/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options: one table per plug-in drives parsing, validation, help and the manifest. */
#include "solvers/core/core.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- numbers with units ---- */

static const struct unit {
  const char *name, *si;
  double factor;
} units[] = {
  { "s", "s", 1 },
  { "ms", "s", 1e-3 },
  { "us", "s", 1e-6 },
  { "ns", "s", 1e-9 },
  { "min", "s", 60 },
  { "h", "s", 3600 },
  { "m", "m", 1 },
  { "mm", "m", 1e-3 },
  { "cm", "m", 1e-2 },
  { "km", "m", 1e3 },
  { "kg", "kg", 1 },
  { "g", "kg", 1e-3 },
  { "t", "kg", 1e3 },
  { "rad", "rad", 1 },
  { "deg", "rad", M_PI / 180 },
  { "rad/s", "rad/s", 1 },
  { "deg/s", "rad/s", M_PI / 180 },
  { "rpm", "rad/s", M_PI / 30 },
  { "m/s", "m/s", 1 },
  { "km/h", "m/s", 1 / 3.6 },
  { "m/s^2", "m/s^2", 1 },
  { "1/s", "1/s", 1 },
  { "Hz", "1/s", 1 },
  { "N", "N", 1 },
  { "kN", "N", 1e3 },
  { "Nm", "Nm", 1 },
  { "N/m", "N/m", 1 },
  { "Ns/m", "Ns/m", 1 },
  { "kg/m^3", "kg/m^3", 1 },
  { "kg m^2", "kg m^2", 1 },
  { "J", "J", 1 },
};
enum { N_UNITS = sizeof units / sizeof *units };

static int units_of(const char *si, char *buf, size_t size)
{
  size_t n = 0;
  buf[0] = '\0';
  for (int unit = 0; unit < N_UNITS; unit++)
    if (strcmp(units[unit].si, si) == 0 && n < size)
      n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", units[unit].name);
  return (int)n;
}

perp_status perp_parse_real(perp_ctx *ctx, const char *text, const char *unit, double *value)
{
  char *end;
  errno = 0;
  double v = strtod(text, &end);
  if (end == text) return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a number", text);
  if (*end == '^') { /* 2^-8 */
    const char *exponent = end + 1;
    double e = strtod(exponent, &end);
    if (end == exponent) return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a number", text);
    v = pow(v, e);
  }
  if (*end == '/' && isdigit((unsigned char)end[1])) { /* 1/240; m/s is a unit */
    const double divisor = strtod(end + 1, &end);
    if (divisor == 0) return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' divides by zero", text);
    v /= divisor;
  }
  if (errno == ERANGE && fabs(v) > 1)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is too large for a double", text);
  while (isspace((unsigned char)*end)) end++;
  if (*end != '\0') {
    double factor = 0;
    bool known = false;
    for (int i = 0; i < N_UNITS; i++)
      if (strcmp(end, units[i].name) == 0) {
        known = true;
        if (strcmp(units[i].si, unit) == 0) factor = units[i].factor;
      }
    if (!known && strcmp(end, unit) == 0) factor = 1;
    if (factor == 0) {
      char list[160];
      if (unit[0] == '\0')
        return PERP_FAIL(ctx, PERP_ERR_OPTION,
                         "'%s': a number without a unit is expected; remove '%s'", text, end);
      if (units_of(unit, list, sizeof list) == 0) snprintf(list, sizeof list, "%s", unit);
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s': %s '%s'; use one of: %s", text,
                       known ? "wrong unit" : "unknown unit", end, list);
    }
    /* 9 ms is 9 / 1000, correctly rounded, as 0.009 is; 9 * 0.001 is not */
    double inverse = nearbyint(1 / factor);
    v = factor < 1 && inverse * factor == 1 ? v / inverse : v * factor;
  }
  if (isnan(v)) return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a number", text);
  *value = v;
  return PERP_OK;
}

int perp_format_real(double v, char *buf, size_t size)
{
  int n = 0;
  for (int digits = 15; digits <= 17; digits++) {
    char text[40];
    n = snprintf(text, sizeof text, "%.*g", digits, v);
    if (digits == 17 || strtod(text, NULL) == v) {
      snprintf(buf, size, "%s", text);
      break;
    }
  }
  return n;
}

/* ---- tables ---- */

static void option_store(const perp_opt *opt, void *opts, double v)
{
  void *at = (char *)opts + opt->offset;
  if (opt->type == PERP_OPT_REAL) *(double *)at = v;
  if (opt->type == PERP_OPT_INT || opt->type == PERP_OPT_ENUM) *(int *)at = (int)v;
  if (opt->type == PERP_OPT_BOOL) *(bool *)at = v != 0;
}

/* A text has no number: 0. */
static double option_load(const perp_opt *opt, const void *opts)
{
  const void *at = (const char *)opts + opt->offset;
  if (opt->type == PERP_OPT_REAL) return *(const double *)at;
  if (opt->type == PERP_OPT_INT || opt->type == PERP_OPT_ENUM) return *(const int *)at;
  return opt->type == PERP_OPT_BOOL && *(const bool *)at;
}

void perp_opts_default(const perp_desc *desc, void *opts)
{
  memset(opts, 0, desc->opts_size);
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    option_store(opt, opts, opt->dflt);
    if (opt->type == PERP_OPT_TEXT)
      snprintf((char *)opts + opt->offset, PERP_TEXT_MAX, "%s", opt->text);
  }
}

int perp_opt_range(const perp_opt *opt, char *buf, size_t size)
{
  size_t n = 0;
  switch (opt->type) {
  case PERP_OPT_BOOL:
    return snprintf(buf, size, "true | false");
  case PERP_OPT_TEXT:
    return snprintf(buf, size, "text");
  case PERP_OPT_ENUM:
    for (int i = 0; opt->choices[i] != NULL; i++)
      n += (size_t)snprintf(n < size ? buf + n : NULL, n < size ? size - n : 0, "%s%s",
                            i ? " | " : "", opt->choices[i]);
    return (int)n;
  case PERP_OPT_INT:
  case PERP_OPT_REAL:
    return snprintf(buf, size, "%c%.12g, %.12g%c",
                    (opt->flags & PERP_OPEN_MIN) || opt->min == -HUGE_VAL ? '(' : '[', opt->min,
                    opt->max, (opt->flags & PERP_OPEN_MAX) || opt->max == HUGE_VAL ? ')' : ']');
  case PERP_OPT_END:
    break;
  }
  return 0;
}

enum { MOST_KEYS = 64, KEYS_LIST = 300 };

/* The keys of desc, and the same as a list that names as many of them as it has room for. */
static int option_keys(const perp_desc *desc, const char *keys[MOST_KEYS], char list[KEYS_LIST])
{
  const size_t room = KEYS_LIST - sizeof ", ...";
  size_t used = 0;
  bool all = true;
  int n = 0;
  list[0] = '\0';
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END && n < MOST_KEYS;
       opt++) {
    keys[n++] = opt->key;
    all = all && used + 2 + strlen(opt->key) <= room;
    if (all) used += (size_t)sprintf(list + used, "%s%s", used ? ", " : "", opt->key);
  }
  if (!all) strcpy(list + used, ", ...");
  return n;
}

static perp_status unknown_key(perp_ctx *ctx, const perp_desc *desc, const char *key)
{
  const char *keys[MOST_KEYS];
  char list[KEYS_LIST];
  const int n = option_keys(desc, keys, list);
  if (n == 0)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s takes no options, got '%s'", desc->name, key);
  const char *near = perp_closest(key, keys, n);
  if (near != NULL)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s has no option '%s'; did you mean '%s'? (valid: %s)",
                     desc->name, key, near, list);
  return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s has no option '%s' (valid: %s)", desc->name, key,
                   list);
}

static bool option_number(const perp_opt *opt)
{
  return opt->type == PERP_OPT_REAL || opt->type == PERP_OPT_INT;
}

/* Which of the words of an enumeration or of a condition; -1: none of them. */
static int option_word(const perp_opt *opt, const char *value)
{
  static const char *const truths[] = { "false", "true", NULL };
  const char *const *choices = opt->type == PERP_OPT_BOOL ? truths : opt->choices;
  for (int i = 0; choices[i] != NULL; i++)
    if (strcmp(choices[i], value) == 0) return i;
  return -1;
}

static bool option_within(const perp_opt *opt, double v)
{
  return !(opt->type == PERP_OPT_INT && v != nearbyint(v)) && v >= opt->min && v <= opt->max &&
         !(v == opt->min && (opt->flags & PERP_OPEN_MIN)) &&
         !(v == opt->max && (opt->flags & PERP_OPEN_MAX));
}

/* A key is mistyped although it exists when its value is a number in place of a word, or a word in
 * place of a number, and a near key takes this value: links in place of link.  NULL: no such key.
 */
static const char *option_meant(const perp_desc *desc, const perp_opt *o, const char *value)
{
  enum { MOST = 64 };
  const char *keys[MOST];
  int n = 0;
  for (const perp_opt *k = desc->opts; k->type != PERP_OPT_END && n < MOST; k++) {
    double v;
    if (k->type == PERP_OPT_TEXT || option_number(k) == option_number(o)) continue;
    if (option_number(k)
            ? perp_parse_real(NULL, value, k->unit, &v) == PERP_OK && option_within(k, v)
            : option_word(k, value) >= 0)
      keys[n++] = k->key;
  }
  return perp_closest(o->key, keys, n);
}

static perp_status option_refuse(perp_ctx *ctx, const perp_desc *desc, const perp_opt *opt,
                                 const char *value)
{
  char range[256];
  const char *meant = option_number(opt) ? NULL : option_meant(desc, opt, value);
  perp_opt_range(opt, range, sizeof range);
  const char *in = option_number(opt) ? "in" : "one of";
  return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s.%s must be %s%s %s%s%s: got %s%s%s%s", desc->name,
                   opt->key, opt->type == PERP_OPT_INT ? "an integer " : "", in, range,
                   opt->unit[0] ? " " : "", opt->unit, value,
                   meant != NULL ? "; did you mean '" : "", meant != NULL ? meant : "",
                   meant != NULL ? "'?" : "");
}

perp_status perp_opts_set(perp_ctx *ctx, const perp_desc *desc, void *opts, const char *key,
                          const char *value)
{
  const perp_opt *opt = desc->opts;
  while (opt != NULL && opt->type != PERP_OPT_END && strcmp(opt->key, key) != 0) opt++;
  if (opt == NULL || opt->type == PERP_OPT_END) return unknown_key(ctx, desc, key);

  switch (opt->type) {
  case PERP_OPT_ENUM:
  case PERP_OPT_BOOL: {
    const int word = option_word(opt, value);
    if (word < 0) return option_refuse(ctx, desc, opt, value);
    option_store(opt, opts, word);
    return PERP_OK;
  }
  case PERP_OPT_TEXT:
    if (strlen(value) >= PERP_TEXT_MAX)
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s.%s is longer than %d characters", desc->name, key,
                       PERP_TEXT_MAX - 1);
    snprintf((char *)opts + opt->offset, PERP_TEXT_MAX, "%s", value);
    return PERP_OK;
  case PERP_OPT_INT:
  case PERP_OPT_REAL:
    break;
  case PERP_OPT_END:
    return PERP_ERR_INTERNAL;
  }

  double v;
  if (perp_parse_real(ctx, value, opt->unit, &v) != PERP_OK) {
    char why[sizeof ctx->msg];
    snprintf(why, sizeof why, "%s", ctx != NULL ? ctx->msg : "");
    const char *meant = option_meant(desc, opt, value);
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s.%s: %s%s%s%s", desc->name, key, why,
                     meant != NULL ? "; did you mean '" : "", meant != NULL ? meant : "",
                     meant != NULL ? "'?" : "");
  }
  if (!option_within(opt, v)) return option_refuse(ctx, desc, opt, value);
  option_store(opt, opts, v);
  return PERP_OK;
}

/* Length of the first item of a comma list in which parentheses protect commas. */
static size_t item_length(const char *text)
{
  int depth = 0;
  size_t n = 0;
  for (; text[n] != '\0' && (depth > 0 || text[n] != ','); n++)
    depth += (text[n] == '(') - (text[n] == ')');
  return n;
}

/* Does the list, up to end, give a value to the key?  Texts in parentheses are other lists. */
static bool option_given(const char *list, const char *end, const char *key)
{
  const size_t n = strlen(key);
  for (const char *s = list; s < end; s += item_length(s), s += *s == ',') {
    const char *k = s + strspn(s, " \t\n");
    if (strncmp(k, key, n) == 0 && k[n] == '=') return true;
  }
  return false;
}

perp_status perp_opts_parse(perp_ctx *ctx, const perp_desc *desc, void *opts, const char *list)
{
  const char *const begin = list;
  while (*list != '\0') {
    char buf[2 * PERP_TEXT_MAX];
    size_t n = item_length(list);
    if (n >= sizeof buf)
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s: an option is longer than %zu characters",
                       desc->name, sizeof buf - 1);
    memcpy(buf, list, n);
    buf[n] = '\0';
    char *eq = strchr(buf, '=');
    if (eq == NULL) {
      const char *keys[MOST_KEYS];
      char valid[KEYS_LIST];
      if (option_keys(desc, keys, valid) == 0) return unknown_key(ctx, desc, buf);
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s: expected key=value, got '%s' (valid keys: %s)",
                       desc->name, buf, valid);
    }
    *eq = '\0';
    char *key = buf, *value = eq + 1;
    while (isspace((unsigned char)*key)) key++;
    while (isspace((unsigned char)*value)) value++;
    size_t nv = strlen(value);
    if (nv >= 2 && value[0] == '(' && value[nv - 1] == ')') { /* (nested:text,with=commas) */
      value[nv - 1] = '\0';
      value++;
    }
    PERP_TRY(perp_opts_set(ctx, desc, opts, key, value));
    if (option_given(begin, list, key))
      return PERP_FAIL(ctx, PERP_ERR_OPTION, "%s: the option '%s' appears twice; remove one",
                       desc->name, key);
    list += n + (list[n] == ',');
  }
  return PERP_OK;
}

int perp_opt_format(const perp_opt *opt, const void *opts, char *buf, size_t size)
{
  double v = option_load(opt, opts);
  switch (opt->type) {
  case PERP_OPT_REAL:
    return perp_format_real(v, buf, size);
  case PERP_OPT_INT:
    return snprintf(buf, size, "%d", (int)v);
  case PERP_OPT_BOOL:
    return snprintf(buf, size, "%s", v != 0.0 ? "true" : "false");
  case PERP_OPT_ENUM:
    return snprintf(buf, size, "%s", opt->choices[(int)v]);
  case PERP_OPT_TEXT: {
    const char *text = (const char *)opts + opt->offset;
    return snprintf(buf, size, strchr(text, ',') != NULL ? "(%s)" : "%s", text);
  }
  case PERP_OPT_END:
    break;
  }
  return 0;
}

static bool is_default(const perp_opt *opt, const void *opts)
{
  if (opt->type == PERP_OPT_TEXT) return strcmp((const char *)opts + opt->offset, opt->text) == 0;
  return option_load(opt, opts) == opt->dflt;
}

int perp_opts_format(const perp_desc *desc, const void *opts, bool only_changed, char *buf,
                     size_t size)
{
  size_t n = 0;
  if (size > 0) buf[0] = '\0';
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    if (only_changed && is_default(opt, opts)) continue;
    char value[PERP_TEXT_MAX + 2];
    perp_opt_format(opt, opts, value, sizeof value);
    n += (size_t)snprintf(n < size ? buf + n : NULL, n < size ? size - n : 0, "%s%s=%s",
                          n ? "," : "", opt->key, value);
  }
  return (int)n;
}
