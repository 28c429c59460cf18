/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Precedence climbing into a tree whose nodes carry their type: everything that can be wrong with
 * an expression is found when it is read, with its place, and evaluation cannot fail. */
#include "experiments/expr/expr_tree.h"
#include "experiments/base/messages.h"
#include "experiments/base/numbers.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* PARTS: numbers, names and operators.  Its tree is no deeper, whatever it looks like, and what
 * goes through the tree is recursive. */
enum { DEEPEST = 60, MOST_ITEMS = 64, MOST_PARTS = 4000 };

/* What binds more loosely comes first. */
enum level { LEVEL_OR, LEVEL_AND, LEVEL_NOT, LEVEL_SUM, LEVEL_TERM, LEVEL_MINUS };

static const struct binary {
  const char *sign;
  enum level level;
  enum op op;
} binaries[] = { { "or", LEVEL_OR, OP_OR },   { "and", LEVEL_AND, OP_AND },
                 { "+", LEVEL_SUM, OP_ADD },  { "-", LEVEL_SUM, OP_SUB },
                 { "*", LEVEL_TERM, OP_MUL }, { "/", LEVEL_TERM, OP_DIV } };

/* In the order of their operations, from OP_EQ and from OP_MAX; order is another name of slope. */
static const char *const comparisons[] = { "==", "!=", "<", "<=", ">", ">=" };
static const char *const functions[] = { "max", "min",   "median", "mean",
                                         "sum", "count", "slope",  "order" };
enum { N_FUNCTIONS = sizeof functions / sizeof *functions };

/* ---- words ---- */

enum token { END, NUMBER, TEXT, WORD, SIGN, BAD };

struct parser {
  perp_pool *pool;
  const perp_scope *scope;
  const char *text;
  perp_expr_error *error;
  bool failed, inside; /* inside an aggregate */
  int depth, parts;
  /* current token */
  enum token token;
  int at, end;
  double number; /* NUMBER */
};

static perp_expr *expr_parse_complain(struct parser *p, int offset, const char *hint,
                                      const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static perp_expr *expr_parse_complain(struct parser *p, int offset, const char *hint,
                                      const char *fmt, ...)
{
  if (p->failed) return NULL; /* the first error counts */
  p->failed = true;
  p->error->offset = offset;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(p->error->message, sizeof p->error->message, fmt, ap);
  va_end(ap);
  snprintf(p->error->hint, sizeof p->error->hint, "%s", hint != NULL ? hint : "");
  return NULL;
}

static bool word_part(const char *s, int i, bool arithmetic)
{
  unsigned char c = (unsigned char)s[i];
  if (isalnum(c) || c == '_') return true;
  if (arithmetic) return false;
  return c == '.' || c == ':' ||
         (c == '-' && isalnum((unsigned char)s[i - 1]) && isalpha((unsigned char)s[i + 1]));
}

static void expr_parse_advance(struct parser *p)
{
  const char *s = p->text;
  int i = p->end;
  while (isspace((unsigned char)s[i])) i++;
  p->at = i;
  unsigned char c = (unsigned char)s[i];
  if (c == '\0') {
    p->token = END;
  } else if (isdigit(c) || (c == '.' && isdigit((unsigned char)s[i + 1]))) {
    i = (int)(perp_real_at(s + i, &p->number) - s);
    p->token = NUMBER;
  } else if (c == '"' || c == '\'') {
    p->token = TEXT;
    for (i++; s[i] != '\0' && (unsigned char)s[i] != c; i++) {}
    if (s[i] == '\0') {
      p->token = BAD;
      expr_parse_complain(p, p->at, NULL, "a quote is not closed");
    } else
      i++;
  } else if (isalpha(c) || c == '_') {
    p->token = WORD;
    while (i == p->at || word_part(s, i, p->scope->arithmetic)) i++;
  } else if (strchr("()<>=!,+-*/^", c) != NULL) {
    p->token = SIGN;
    i += strchr("<>=!", c) != NULL && s[i + 1] == '=' ? 2 : 1;
  } else {
    p->token = BAD;
    expr_parse_complain(p, i, NULL, "unexpected character '%c'", c);
  }
  p->end = i;
}

/* Is this the current token?  (a word or a sign: texts have quotes) */
static bool expr_parse_is(const struct parser *p, const char *token)
{
  size_t n = strlen(token);
  return n == (size_t)(p->end - p->at) && strncmp(p->text + p->at, token, n) == 0;
}

static bool expr_parse_accept(struct parser *p, const char *token)
{
  bool is = expr_parse_is(p, token);
  if (is) expr_parse_advance(p);
  return is;
}

static bool expr_parse_keyword(const char *s, size_t n)
{
  static const char *const words[] = { "and", "or", "not", "in" };
  for (int i = 0; i < 4; i++)
    if (strlen(words[i]) == n && strncmp(words[i], s, n) == 0) return true;
  return false;
}

static perp_expr *expr_parse_node(struct parser *p, enum op op, enum type type, int offset,
                                  perp_expr *left, perp_expr *right)
{
  if (++p->parts > MOST_PARTS) /* the node is there all the same: the end of reading comes later */
    expr_parse_complain(p, offset, "divide it, for instance by let",
                        "the expression has more than %d numbers, names and operators", MOST_PARTS);
  perp_expr *expr = perp_pool_alloc(p->pool, 1, sizeof *expr);
  *expr = (perp_expr){ .op = op, .type = type, .offset = offset, .arg = { left, right } };
  return expr;
}

static perp_expr *expr_parse_need(struct parser *p, enum type type, perp_expr *expr)
{
  if (expr == NULL || expr->type == type) return expr;
  return expr_parse_complain(p, expr->offset, NULL,
                             type == T_NUMBER ? "a number is required here"
                                              : "a condition is required here, such as h <= 1 ms");
}

static const char *did_you_mean(struct parser *p, const char *word, const char *const *names, int n)
{
  const char *close = perp_closest(word, names, n);
  return close != NULL ? perp_pool_printf(p->pool, "did you mean '%s'?", close) : NULL;
}

/* Behind an item in parentheses: does another one follow?  false also after an error. */
static bool list_goes_on(struct parser *p)
{
  if (expr_parse_accept(p, ",")) return true;
  if (!expr_parse_accept(p, ")")) expr_parse_complain(p, p->at, NULL, "expected ',' or ')'");
  return false;
}

/* ---- atoms ---- */

static perp_expr *read_level(struct parser *p, enum level level, const perp_expr *left);

/* The unit behind a number belongs to it: 1 ms, 50 deg. */
static perp_expr *expr_parse_read_number(struct parser *p)
{
  static const char *const dimensions[] = { "s",      "m",   "kg",  "rad", "rad/s", "m/s",
                                            "m/s^2",  "1/s", "N",   "Nm",  "N/m",   "Ns/m",
                                            "kg/m^3", "J",   "m^2", "m^3", "kg m^2" };
  perp_expr *expr = expr_parse_node(p, OP_NUMBER, T_NUMBER, p->at, NULL, NULL);
  expr->number = p->number;
  const char *s = p->text + p->end;
  const int skip = (int)strspn(s, " \t");
  size_t word = 0;
  while (isalnum((unsigned char)s[(size_t)skip + word])) word++;
  if (!expr_parse_keyword(s + skip, word)) {
    perp_unit_text unit = { .value = p->number };
    const char *end = perp_unit_text_read(s, p->scope, &unit);
    if (end == NULL) {
      int n = 0;
      while (isalnum((unsigned char)unit.wrong[n]) || unit.wrong[n] == '^') n++;
      return expr_parse_complain(p, (int)(unit.wrong - p->text),
                                 "units are products as kg m^2/s, 1/s, N m/rad", "%s '%.*s'",
                                 unit.why, n, unit.wrong);
    }
    if (end > s) {
      char text[64], name[64];
      expr->number = unit.value;
      expr->unit = perp_pool_strdup(p->pool, perp_unit_name(unit.of, name, sizeof name));
      /* names that say more than their dimension: rad, rad/s */
      snprintf(text, sizeof text, "%.*s%.*s", p->end - p->at, p->text + p->at, (int)(end - s), s);
      for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
        if (perp_parse_real(NULL, text, dimensions[i], &expr->number) == PERP_OK) {
          expr->unit = dimensions[i];
          break;
        }
      p->end += (int)(end - s);
    }
  }
  expr_parse_advance(p);
  return expr;
}

static int find_column(const perp_scope *scope, const char *name, size_t n)
{
  for (int i = 0; i < scope->n_columns; i++)
    if (strlen(scope->columns[i].name) == n && strncmp(scope->columns[i].name, name, n) == 0)
      return i;
  return -1;
}

/* An option of any plug-in of the kind, of scene files that were read among them; NULL when none
 * has it. */
static const perp_opt *find_option(const perp_ctx *ctx, perp_kind kind, const char *key)
{
  const perp_desc *desc;
  const perp_opt *opt = NULL;
  for (int i = 0; opt == NULL && (desc = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    opt = perp_option(desc, key);
  for (int i = 0; opt == NULL && ctx->opened != NULL && (desc = ctx->opened(kind, i)) != NULL; i++)
    opt = perp_option(desc, key);
  return opt;
}

static perp_expr *unknown_column(struct parser *p, const char *word)
{
  enum { LONG = 120 };
  int n = p->scope->n_columns;
  const char **names = perp_pool_alloc(p->pool, (size_t)n + 1, sizeof *names);
  for (int i = 0; i < n; i++) names[i] = p->scope->columns[i].name;
  const char *hint = perp_unit_symbol(word)
                         ? perp_pool_printf(p->pool, "a unit stands behind a number: 1 %s", word)
                         : did_you_mean(p, word, names, n);
  perp_text known = { 0 };
  perp_text_add(&known, "known: ");
  for (int i = 0; i < n && known.n < LONG; i++)
    perp_text_add(&known, "%s%.40s", i ? ", " : "", names[i]);
  if (known.n >= LONG) perp_text_add(&known, ", ...");
  expr_parse_complain(p, p->at, hint != NULL ? hint : known.s, "unknown %s '%s'",
                      p->scope->arithmetic ? "name" : "column", word);
  perp_text_free(&known);
  return NULL;
}

/* A function of numbers. */
static perp_expr *read_function(struct parser *p, const char *name, int offset)
{
  const char *names[64];
  int f = 0, end;
  for (; perp_expr_calls[f].name != NULL && strcmp(perp_expr_calls[f].name, name) != 0; f++)
    names[f] = perp_expr_calls[f].name;
  const struct call *c = &perp_expr_calls[f];
  if (c->name == NULL)
    return expr_parse_complain(p, offset, did_you_mean(p, name, names, f), "unknown function '%s'",
                               name);
  perp_expr *e = expr_parse_node(p, OP_CALL, T_NUMBER, offset, NULL, NULL);
  e->call = c;
  e->item = perp_pool_alloc(p->pool, CALL_ARGUMENTS, sizeof *e->item);
  expr_parse_advance(p); /* the parenthesis */
  do {
    if (e->n_items == c->most)
      return expr_parse_complain(p, p->at, NULL, "%s: one argument too many", name);
    const enum type type = c->unit == CALL_IF && e->n_items == 0 ? T_BOOL : T_NUMBER;
    perp_expr *a = expr_parse_need(p, type, read_level(p, LEVEL_OR, NULL));
    if (a == NULL) return NULL;
    e->item[e->n_items++] = a;
    end = p->at;
  } while (list_goes_on(p));
  if (e->n_items < c->least)
    return expr_parse_complain(p, end, NULL, "%s: an argument is missing", name);
  return p->failed ? NULL : e;
}

static perp_expr *read_call(struct parser *p, const char *name, int offset)
{
  if (p->scope->arithmetic) return read_function(p, name, offset);
  int f = 0;
  while (f < N_FUNCTIONS && strcmp(functions[f], name) != 0) f++;
  if (f == N_FUNCTIONS) {
    const char *hint = did_you_mean(p, name, functions, N_FUNCTIONS);
    return expr_parse_complain(
        p, offset, hint != NULL ? hint : "known: max, min, median, mean, sum, count, slope, order",
        "unknown function '%s'", name);
  }
  if (!p->scope->aggregates)
    return expr_parse_complain(
        p, offset, NULL, "%s(...) works only in claims: here each run is tested separately", name);
  if (p->inside)
    return expr_parse_complain(p, offset, NULL, "%s(...) cannot stand inside another such function",
                               name);
  p->inside = true;
  perp_expr *e = expr_parse_node(p, strcmp(name, "order") == 0 ? OP_SLOPE : OP_MAX + (enum op)f,
                                 T_NUMBER, offset, NULL, NULL);
  /* values first (none for count, two for slope), then the condition */
  int values = e->op == OP_COUNT ? 0 : e->op == OP_SLOPE ? 2 : 1, n = 0, end;
  expr_parse_advance(p); /* the parenthesis */
  do {
    int at = p->at;
    if (n > values) return expr_parse_complain(p, at, NULL, "%s: one argument too many", name);
    perp_expr *a = read_level(p, LEVEL_OR, NULL);
    if (a == NULL) return NULL;
    if (n < values && a->type != T_NUMBER)
      return expr_parse_complain(p, at, NULL, "%s: argument %d must be a number", name, n + 1);
    if (n == values && a->type != T_BOOL)
      return expr_parse_complain(p, at, NULL, "%s: the last argument must be a condition", name);
    e->arg[n == values ? 2 : n] = a;
    if (n < values && values == 1) e->unit = a->unit;
    n++;
    end = p->at;
  } while (list_goes_on(p));
  if (n < values) return expr_parse_complain(p, end, NULL, "%s: an argument is missing", name);
  p->inside = false;
  return e;
}

/* left: the column that a text on this side would be compared with; NULL on the left. */
static perp_expr *read_word(struct parser *p, const perp_expr *left)
{
  int offset = p->at;
  size_t n = (size_t)(p->end - p->at);
  if (expr_parse_keyword(p->text + p->at, n))
    return expr_parse_complain(p, offset, NULL, "'%.*s' is not allowed here", (int)n,
                               p->text + offset);
  char *word = perp_pool_strndup(p->pool, p->text + p->at, n);
  const char *rest = p->text + p->end + strspn(p->text + p->end, " \t");
  if (*rest == '(') {
    expr_parse_advance(p);
    return read_call(p, word, offset);
  }
  const perp_scope *scope = p->scope;
  const char *key = NULL, *dot = strchr(word, '.');
  int c = find_column(scope, word, n);
  if (c < 0 && dot != NULL) {
    c = find_column(scope, word, (size_t)(dot - word));
    if (c >= 0 && scope->columns[c].type != PERP_COLUMN_PLUGIN) c = -1;
    key = dot + 1;
  }
  if (c >= 0) {
    const perp_column *column = &scope->columns[c];
    const perp_opt *opt = key != NULL ? find_option(scope->ctx, column->kind, key) : NULL;
    if (key != NULL && opt == NULL)
      return expr_parse_complain(p, offset, NULL, "no %s has an option '%s'",
                                 perp_kind_name(column->kind), key);
    if (scope->aggregates && !p->inside)
      return expr_parse_complain(p, offset, NULL,
                                 "'%s' has one value for each run: use max(%s, ...)", word, word);
    bool is_number = opt != NULL ? opt->type == PERP_OPT_REAL || opt->type == PERP_OPT_INT
                                 : column->type == PERP_COLUMN_NUMBER;
    enum type type = is_number                                           ? T_NUMBER
                     : opt == NULL && column->type == PERP_COLUMN_PLUGIN ? T_PLUGIN
                                                                         : T_TEXT;
    perp_expr *expr = expr_parse_node(p, OP_COLUMN, type, offset, NULL, NULL);
    expr->column = c;
    expr->key = key;
    if (is_number) expr->unit = opt != NULL ? opt->unit : column->unit;
    expr_parse_advance(p);
    return expr;
  }
  bool infinite = strcmp(word, "inf") == 0;
  /* a bare text, where one is compared with */
  if (!infinite && (left == NULL || left->type == T_NUMBER)) return unknown_column(p, word);
  perp_expr *expr = expr_parse_node(p, infinite ? OP_NUMBER : OP_TEXT, infinite ? T_NUMBER : T_TEXT,
                                    offset, NULL, NULL);
  expr->number = HUGE_VAL;
  expr->text = word;
  expr_parse_advance(p);
  return expr;
}

static perp_expr *read_atom(struct parser *p, const perp_expr *left)
{
  perp_expr *expr = NULL;
  switch (p->token) {
  case NUMBER:
    return expr_parse_read_number(p);
  case TEXT:
    expr = expr_parse_node(p, OP_TEXT, T_TEXT, p->at, NULL, NULL);
    expr->text = perp_pool_strndup(p->pool, p->text + p->at + 1, (size_t)(p->end - p->at - 2));
    expr_parse_advance(p);
    return expr;
  case WORD:
    return read_word(p, left);
  case SIGN:
    if (!expr_parse_is(p, "("))
      return expr_parse_complain(p, p->at, NULL, "'%.*s' is not allowed here", p->end - p->at,
                                 p->text + p->at);
    expr_parse_advance(p);
    expr = read_level(p, LEVEL_OR, NULL);
    if (expr != NULL && !expr_parse_accept(p, ")"))
      return expr_parse_complain(p, p->at, NULL, "expected ')'");
    return expr;
  case END:
    return expr_parse_complain(p, p->at, NULL, "the expression ends too early");
  case BAD:
    break;
  }
  return NULL;
}

/* ---- comparisons ---- */

static perp_expr *from_ctx(struct parser *p, int offset, const perp_ctx *ctx)
{
  char message[sizeof ctx->msg];
  snprintf(message, sizeof message, "%s", ctx->msg);
  const char *hint = perp_cut_hint(message);
  return expr_parse_complain(p, offset, hint, "%.200s", message);
}

/* "m or rad": is `unit` one of the alternatives? */
static bool expr_parse_unit_is(const char *alternatives, const char *unit)
{
  for (const char *s = alternatives;; s += 4) {
    const char *end = strstr(s, " or ");
    size_t n = end != NULL ? (size_t)(end - s) : strlen(s);
    if (strlen(unit) == n && strncmp(s, unit, n) == 0) return true;
    if (end == NULL) return false;
    s = end;
  }
}

/* Can these two be compared?  Texts that stand for plug-ins and choices must exist. */
static perp_expr *check_pair(struct parser *p, const perp_expr *a, perp_expr *b, bool order)
{
  if (a->type == T_BOOL || b->type == T_BOOL)
    return expr_parse_complain(p, b->offset, NULL, "a condition cannot be compared");
  if ((a->type == T_NUMBER) != (b->type == T_NUMBER))
    return expr_parse_complain(p, b->offset, NULL, "a number cannot be compared with a text");
  if (a->type == T_NUMBER) {
    if (a->unit != NULL && b->unit != NULL && !expr_parse_unit_is(a->unit, b->unit) &&
        !expr_parse_unit_is(b->unit, a->unit) && (a->op == OP_NUMBER || b->op == OP_NUMBER))
      return expr_parse_complain(p, b->offset, NULL, "wrong unit: %s cannot be compared with %s",
                                 a->unit[0] ? a->unit : "a pure number",
                                 b->unit[0] ? b->unit : "a pure number");
    return b;
  }
  if (order) return expr_parse_complain(p, b->offset, NULL, "texts have no order: use == or !=");
  if (b->op != OP_TEXT) return b;
  perp_ctx ctx = *p->scope->ctx;
  if (a->type == T_PLUGIN) {
    perp_spec spec;
    const perp_kind kind = p->scope->columns[a->column].kind;
    if ((b->absent = perp_optional_absent(&ctx, kind, b->text)) != NULL) return b;
    if (perp_spec_parse(&ctx, kind, b->text, &spec) != PERP_OK) return from_ctx(p, b->offset, &ctx);
    perp_spec_free(&spec);
  } else if (a->op == OP_COLUMN && a->key == NULL) {
    const char *const *choices = p->scope->columns[a->column].choices;
    int n = 0;
    while (choices != NULL && choices[n] != NULL && strcmp(choices[n], b->text) != 0) n++;
    if (choices != NULL && choices[n] == NULL)
      return expr_parse_complain(p, b->offset, did_you_mean(p, b->text, choices, n),
                                 "%s never has the value '%s'", p->scope->columns[a->column].name,
                                 b->text);
  }
  return b;
}

static perp_expr *read_in(struct parser *p, perp_expr *a, int offset)
{
  if (!expr_parse_accept(p, "("))
    return expr_parse_complain(p, p->at, NULL, "expected '(' after in");
  perp_expr *e = expr_parse_node(p, OP_IN, T_BOOL, offset, a, NULL);
  e->item = perp_pool_alloc(p->pool, MOST_ITEMS, sizeof *e->item);
  do {
    perp_expr *b = read_level(p, LEVEL_SUM, a);
    if (b == NULL || check_pair(p, a, b, false) == NULL) return NULL;
    if (e->n_items == MOST_ITEMS) return expr_parse_complain(p, b->offset, NULL, "too many items");
    e->item[e->n_items++] = b;
  } while (list_goes_on(p));
  return e;
}

static perp_expr *read_comparison(struct parser *p)
{
  perp_expr *a = read_level(p, LEVEL_SUM, NULL);
  if (a == NULL) return NULL;
  int offset = p->at;
  if (expr_parse_accept(p, "not")) {
    if (!expr_parse_accept(p, "in"))
      return expr_parse_complain(p, p->at, NULL, "expected 'in' after not");
    perp_expr *in = read_in(p, a, offset);
    return in != NULL ? expr_parse_node(p, OP_NOT, T_BOOL, offset, in, NULL) : NULL;
  }
  if (expr_parse_accept(p, "in")) return read_in(p, a, offset);
  if (expr_parse_is(p, "="))
    return expr_parse_complain(p, offset, "did you mean '=='?", "'=' is not a comparison");
  for (int i = 0; i < (int)(sizeof comparisons / sizeof *comparisons); i++) {
    if (!expr_parse_accept(p, comparisons[i])) continue;
    enum op op = OP_EQ + (enum op)i;
    perp_expr *b = read_level(p, LEVEL_SUM, a);
    if (b == NULL || check_pair(p, a, b, op > OP_NE) == NULL) return NULL;
    return expr_parse_node(p, op, T_BOOL, a->offset, a, b);
  }
  return a;
}

/* ---- levels ---- */

/* "not" before a comparison, "-" before an atom and its power. */
static perp_expr *read_prefixed(struct parser *p, bool logic, const perp_expr *left)
{
  enum type type = logic ? T_BOOL : T_NUMBER;
  int offset = p->at;
  perp_expr *e;
  if (++p->depth > DEEPEST) return expr_parse_complain(p, p->at, NULL, "nested too deeply");
  if (expr_parse_accept(p, logic ? "not" : "-")) {
    perp_expr *a = expr_parse_need(p, type, read_prefixed(p, logic, NULL));
    if (a == NULL) return NULL;
    e = expr_parse_node(p, logic ? OP_NOT : OP_NEGATE, type, offset, a, NULL);
    e->unit = a->unit;
  } else if (logic) {
    e = read_comparison(p);
  } else {
    e = read_atom(p, left);
    if (e != NULL && expr_parse_accept(p, "^")) {
      perp_expr *power = expr_parse_need(p, T_NUMBER, read_prefixed(p, false, NULL));
      e = expr_parse_need(p, T_NUMBER, e);
      if (e == NULL || power == NULL) return NULL;
      e = expr_parse_node(p, OP_POW, T_NUMBER, e->offset, e, power);
    }
  }
  p->depth--;
  return e;
}

static const struct binary *binary_at(const struct parser *p, enum level level)
{
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (binaries[i].level == level && expr_parse_is(p, binaries[i].sign)) return &binaries[i];
  return NULL;
}

static perp_expr *read_level(struct parser *p, enum level level, const perp_expr *left)
{
  if (level == LEVEL_NOT || level == LEVEL_MINUS) return read_prefixed(p, level == LEVEL_NOT, left);
  enum type type = level < LEVEL_NOT ? T_BOOL : T_NUMBER;
  perp_expr *expr = read_level(p, level + 1, left);
  for (const struct binary *b; expr != NULL && !p->failed && (b = binary_at(p, level)) != NULL;) {
    expr_parse_advance(p);
    perp_expr *right = expr_parse_need(p, type, read_level(p, level + 1, NULL));
    expr = expr_parse_need(p, type, expr);
    if (expr == NULL || right == NULL) return NULL;
    if (b->op == OP_DIV && right->op == OP_NUMBER && right->number == 0 && !p->scope->arithmetic)
      return expr_parse_complain(p, right->offset, NULL, "this is a division by 0");
    expr = expr_parse_node(p, b->op, type, expr->offset, expr, right);
  }
  return expr;
}

perp_expr *perp_expr_parse(perp_pool *pool, const perp_scope *scope, const char *text,
                           perp_expr_error *error)
{
  *error = (perp_expr_error){ 0 };
  struct parser p = { .pool = pool, .scope = scope, .text = text, .error = error };
  expr_parse_advance(&p);
  perp_expr *expr = read_level(&p, LEVEL_OR, NULL);
  if (scope->number)
    expr = expr_parse_need(&p, T_NUMBER, expr);
  else if (!scope->arithmetic || (expr != NULL && expr->type != T_NUMBER))
    expr = expr_parse_need(&p, T_BOOL, expr);
  if (expr != NULL && p.token != END)
    expr = expr_parse_complain(&p, p.at, NULL, "'%.*s' is not allowed here", p.end - p.at,
                               text + p.at);
  return p.failed ? NULL : expr;
}
