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
static perp_expr *expr_parse_complain(struct parser *parser, int offset, const char *hint,
                                      const char *fmt, ...)
{
  if (parser->failed) return NULL; /* the first error counts */
  parser->failed = true;
  parser->error->offset = offset;
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(parser->error->message, sizeof parser->error->message, fmt, ap);
  va_end(ap);
  snprintf(parser->error->hint, sizeof parser->error->hint, "%s", hint != NULL ? hint : "");
  return NULL;
}

static bool word_part(const char *text, int i, bool arithmetic)
{
  unsigned char c = (unsigned char)text[i];
  if (isalnum(c) || c == '_') return true;
  if (arithmetic) return false;
  return c == '.' || c == ':' ||
         (c == '-' && isalnum((unsigned char)text[i - 1]) && isalpha((unsigned char)text[i + 1]));
}

static void expr_parse_advance(struct parser *parser)
{
  const char *at = parser->text;
  int offset = parser->end;
  while (isspace((unsigned char)at[offset])) offset++;
  parser->at = offset;
  unsigned char c = (unsigned char)at[offset];
  if (c == '\0') {
    parser->token = END;
  } else if (isdigit(c) || (c == '.' && isdigit((unsigned char)at[offset + 1]))) {
    offset = (int)(perp_real_at(at + offset, &parser->number) - at);
    parser->token = NUMBER;
  } else if (c == '"' || c == '\'') {
    parser->token = TEXT;
    for (offset++; at[offset] != '\0' && (unsigned char)at[offset] != c; offset++) {}
    if (at[offset] == '\0') {
      parser->token = BAD;
      expr_parse_complain(parser, parser->at, NULL, "a quote is not closed");
    } else
      offset++;
  } else if (isalpha(c) || c == '_') {
    parser->token = WORD;
    while (offset == parser->at || word_part(at, offset, parser->scope->arithmetic)) offset++;
  } else if (strchr("()<>=!,+-*/^", c) != NULL) {
    parser->token = SIGN;
    offset += strchr("<>=!", c) != NULL && at[offset + 1] == '=' ? 2 : 1;
  } else {
    parser->token = BAD;
    expr_parse_complain(parser, offset, NULL, "unexpected character '%c'", c);
  }
  parser->end = offset;
}

/* Is this the current token?  (a word or a sign: texts have quotes) */
static bool expr_parse_is(const struct parser *parser, const char *token)
{
  size_t n = strlen(token);
  return n == (size_t)(parser->end - parser->at) &&
         strncmp(parser->text + parser->at, token, n) == 0;
}

static bool expr_parse_accept(struct parser *parser, const char *token)
{
  bool is = expr_parse_is(parser, token);
  if (is) expr_parse_advance(parser);
  return is;
}

static bool expr_parse_keyword(const char *text, size_t n)
{
  static const char *const words[] = { "and", "or", "not", "in" };
  for (int i = 0; i < 4; i++)
    if (strlen(words[i]) == n && strncmp(words[i], text, n) == 0) return true;
  return false;
}

static perp_expr *expr_parse_node(struct parser *parser, enum op op, enum type type, int offset,
                                  perp_expr *left, perp_expr *right)
{
  if (++parser->parts >
      MOST_PARTS) /* the node is there all the same: the end of reading comes later */
    expr_parse_complain(parser, offset, "divide it, for instance by let",
                        "the expression has more than %d numbers, names and operators", MOST_PARTS);
  perp_expr *expr = perp_pool_alloc(parser->pool, 1, sizeof *expr);
  *expr = (perp_expr){ .op = op, .type = type, .offset = offset, .arg = { left, right } };
  return expr;
}

static perp_expr *expr_parse_need(struct parser *parser, enum type type, perp_expr *expr)
{
  if (expr == NULL || expr->type == type) return expr;
  return expr_parse_complain(parser, expr->offset, NULL,
                             type == T_NUMBER ? "a number is required here"
                                              : "a condition is required here, such as h <= 1 ms");
}

static const char *did_you_mean(struct parser *parser, const char *word, const char *const *names,
                                int n)
{
  const char *close = perp_closest(word, names, n);
  return close != NULL ? perp_pool_printf(parser->pool, "did you mean '%s'?", close) : NULL;
}

/* Behind an item in parentheses: does another one follow?  false also after an error. */
static bool list_goes_on(struct parser *parser)
{
  if (expr_parse_accept(parser, ",")) return true;
  if (!expr_parse_accept(parser, ")"))
    expr_parse_complain(parser, parser->at, NULL, "expected ',' or ')'");
  return false;
}

/* ---- atoms ---- */

static perp_expr *read_level(struct parser *p, enum level level, const perp_expr *left);

/* The unit behind a number belongs to it: 1 ms, 50 deg. */
static perp_expr *expr_parse_read_number(struct parser *parser)
{
  static const char *const dimensions[] = { "s",      "m",   "kg",  "rad", "rad/s", "m/s",
                                            "m/s^2",  "1/s", "N",   "Nm",  "N/m",   "Ns/m",
                                            "kg/m^3", "J",   "m^2", "m^3", "kg m^2" };
  perp_expr *expr = expr_parse_node(parser, OP_NUMBER, T_NUMBER, parser->at, NULL, NULL);
  expr->number = parser->number;
  const char *s = parser->text + parser->end;
  const int skip = (int)strspn(s, " \t");
  size_t word = 0;
  while (isalnum((unsigned char)s[(size_t)skip + word])) word++;
  if (!expr_parse_keyword(s + skip, word)) {
    perp_unit_text unit = { .value = parser->number };
    const char *end = perp_unit_text_read(s, parser->scope, &unit);
    if (end == NULL) {
      int n = 0;
      while (isalnum((unsigned char)unit.wrong[n]) || unit.wrong[n] == '^') n++;
      return expr_parse_complain(parser, (int)(unit.wrong - parser->text),
                                 "units are products as kg m^2/s, 1/s, N m/rad", "%s '%.*s'",
                                 unit.why, n, unit.wrong);
    }
    if (end > s) {
      char text[64], name[64];
      expr->number = unit.value;
      expr->unit = perp_pool_strdup(parser->pool, perp_unit_name(unit.of, name, sizeof name));
      /* names that say more than their dimension: rad, rad/s */
      snprintf(text, sizeof text, "%.*s%.*s", parser->end - parser->at, parser->text + parser->at,
               (int)(end - s), s);
      for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
        if (perp_parse_real(NULL, text, dimensions[i], &expr->number) == PERP_OK) {
          expr->unit = dimensions[i];
          break;
        }
      parser->end += (int)(end - s);
    }
  }
  expr_parse_advance(parser);
  return expr;
}

static int find_column(const perp_scope *scope, const char *name, size_t n)
{
  for (int column = 0; column < scope->n_columns; column++)
    if (strlen(scope->columns[column].name) == n &&
        strncmp(scope->columns[column].name, name, n) == 0)
      return column;
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

static perp_expr *unknown_column(struct parser *parser, const char *word)
{
  enum { LONG = 120 };
  int n = parser->scope->n_columns;
  const char **names = perp_pool_alloc(parser->pool, (size_t)n + 1, sizeof *names);
  for (int column = 0; column < n; column++) names[column] = parser->scope->columns[column].name;
  const char *hint = perp_unit_symbol(word)
                         ? perp_pool_printf(parser->pool, "a unit stands behind a number: 1 %s",
                                            word)
                         : did_you_mean(parser, word, names, n);
  perp_text known = { 0 };
  perp_text_add(&known, "known: ");
  for (int i = 0; i < n && known.n < LONG; i++)
    perp_text_add(&known, "%s%.40s", i ? ", " : "", names[i]);
  if (known.n >= LONG) perp_text_add(&known, ", ...");
  expr_parse_complain(parser, parser->at, hint != NULL ? hint : known.s, "unknown %s '%s'",
                      parser->scope->arithmetic ? "name" : "column", word);
  perp_text_free(&known);
  return NULL;
}

/* A function of numbers. */
static perp_expr *read_function(struct parser *parser, const char *name, int offset)
{
  const char *names[64];
  int f = 0, end;
  for (; perp_expr_calls[f].name != NULL && strcmp(perp_expr_calls[f].name, name) != 0; f++)
    names[f] = perp_expr_calls[f].name;
  const struct call *call = &perp_expr_calls[f];
  if (call->name == NULL)
    return expr_parse_complain(parser, offset, did_you_mean(parser, name, names, f),
                               "unknown function '%s'", name);
  perp_expr *e = expr_parse_node(parser, OP_CALL, T_NUMBER, offset, NULL, NULL);
  e->call = call;
  e->item = perp_pool_alloc(parser->pool, CALL_ARGUMENTS, sizeof *e->item);
  expr_parse_advance(parser); /* the parenthesis */
  do {
    if (e->n_items == call->most)
      return expr_parse_complain(parser, parser->at, NULL, "%s: one argument too many", name);
    const enum type type = call->unit == CALL_IF && e->n_items == 0 ? T_BOOL : T_NUMBER;
    perp_expr *a = expr_parse_need(parser, type, read_level(parser, LEVEL_OR, NULL));
    if (a == NULL) return NULL;
    e->item[e->n_items++] = a;
    end = parser->at;
  } while (list_goes_on(parser));
  if (e->n_items < call->least)
    return expr_parse_complain(parser, end, NULL, "%s: an argument is missing", name);
  return parser->failed ? NULL : e;
}

static perp_expr *read_call(struct parser *parser, const char *name, int offset)
{
  if (parser->scope->arithmetic) return read_function(parser, name, offset);
  int f = 0;
  while (f < N_FUNCTIONS && strcmp(functions[f], name) != 0) f++;
  if (f == N_FUNCTIONS) {
    const char *hint = did_you_mean(parser, name, functions, N_FUNCTIONS);
    return expr_parse_complain(
        parser, offset,
        hint != NULL ? hint : "known: max, min, median, mean, sum, count, slope, order",
        "unknown function '%s'", name);
  }
  if (!parser->scope->aggregates)
    return expr_parse_complain(parser, offset, NULL,
                               "%s(...) works only in claims: here each run is tested separately",
                               name);
  if (parser->inside)
    return expr_parse_complain(parser, offset, NULL,
                               "%s(...) cannot stand inside another such function", name);
  parser->inside = true;
  perp_expr *e = expr_parse_node(parser,
                                 strcmp(name, "order") == 0 ? OP_SLOPE : OP_MAX + (enum op)f,
                                 T_NUMBER, offset, NULL, NULL);
  /* values first (none for count, two for slope), then the condition */
  int values = e->op == OP_COUNT ? 0 : e->op == OP_SLOPE ? 2 : 1, n = 0, end;
  expr_parse_advance(parser); /* the parenthesis */
  do {
    int at = parser->at;
    if (n > values) return expr_parse_complain(parser, at, NULL, "%s: one argument too many", name);
    perp_expr *a = read_level(parser, LEVEL_OR, NULL);
    if (a == NULL) return NULL;
    if (n < values && a->type != T_NUMBER)
      return expr_parse_complain(parser, at, NULL, "%s: argument %d must be a number", name, n + 1);
    if (n == values && a->type != T_BOOL)
      return expr_parse_complain(parser, at, NULL, "%s: the last argument must be a condition",
                                 name);
    e->arg[n == values ? 2 : n] = a;
    if (n < values && values == 1) e->unit = a->unit;
    n++;
    end = parser->at;
  } while (list_goes_on(parser));
  if (n < values) return expr_parse_complain(parser, end, NULL, "%s: an argument is missing", name);
  parser->inside = false;
  return e;
}

/* left: the column that a text on this side would be compared with; NULL on the left. */
static perp_expr *read_word(struct parser *parser, const perp_expr *left)
{
  int offset = parser->at;
  size_t n = (size_t)(parser->end - parser->at);
  if (expr_parse_keyword(parser->text + parser->at, n))
    return expr_parse_complain(parser, offset, NULL, "'%.*s' is not allowed here", (int)n,
                               parser->text + offset);
  char *word = perp_pool_strndup(parser->pool, parser->text + parser->at, n);
  const char *rest = parser->text + parser->end + strspn(parser->text + parser->end, " \t");
  if (*rest == '(') {
    expr_parse_advance(parser);
    return read_call(parser, word, offset);
  }
  const perp_scope *scope = parser->scope;
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
      return expr_parse_complain(parser, offset, NULL, "no %s has an option '%s'",
                                 perp_kind_name(column->kind), key);
    if (scope->aggregates && !parser->inside)
      return expr_parse_complain(parser, offset, NULL,
                                 "'%s' has one value for each run: use max(%s, ...)", word, word);
    bool is_number = opt != NULL ? opt->type == PERP_OPT_REAL || opt->type == PERP_OPT_INT
                                 : column->type == PERP_COLUMN_NUMBER;
    enum type type = is_number                                           ? T_NUMBER
                     : opt == NULL && column->type == PERP_COLUMN_PLUGIN ? T_PLUGIN
                                                                         : T_TEXT;
    perp_expr *expr = expr_parse_node(parser, OP_COLUMN, type, offset, NULL, NULL);
    expr->column = c;
    expr->key = key;
    if (is_number) expr->unit = opt != NULL ? opt->unit : column->unit;
    expr_parse_advance(parser);
    return expr;
  }
  bool infinite = strcmp(word, "inf") == 0;
  /* a bare text, where one is compared with */
  if (!infinite && (left == NULL || left->type == T_NUMBER)) return unknown_column(parser, word);
  perp_expr *expr = expr_parse_node(parser, infinite ? OP_NUMBER : OP_TEXT,
                                    infinite ? T_NUMBER : T_TEXT, offset, NULL, NULL);
  expr->number = HUGE_VAL;
  expr->text = word;
  expr_parse_advance(parser);
  return expr;
}

static perp_expr *read_atom(struct parser *parser, const perp_expr *left)
{
  perp_expr *expr = NULL;
  switch (parser->token) {
  case NUMBER:
    return expr_parse_read_number(parser);
  case TEXT:
    expr = expr_parse_node(parser, OP_TEXT, T_TEXT, parser->at, NULL, NULL);
    expr->text = perp_pool_strndup(parser->pool, parser->text + parser->at + 1,
                                   (size_t)(parser->end - parser->at - 2));
    expr_parse_advance(parser);
    return expr;
  case WORD:
    return read_word(parser, left);
  case SIGN:
    if (!expr_parse_is(parser, "("))
      return expr_parse_complain(parser, parser->at, NULL, "'%.*s' is not allowed here",
                                 parser->end - parser->at, parser->text + parser->at);
    expr_parse_advance(parser);
    expr = read_level(parser, LEVEL_OR, NULL);
    if (expr != NULL && !expr_parse_accept(parser, ")"))
      return expr_parse_complain(parser, parser->at, NULL, "expected ')'");
    return expr;
  case END:
    return expr_parse_complain(parser, parser->at, NULL, "the expression ends too early");
  case BAD:
    break;
  }
  return NULL;
}

/* ---- comparisons ---- */

static perp_expr *from_ctx(struct parser *parser, int offset, const perp_ctx *ctx)
{
  char message[sizeof ctx->msg];
  snprintf(message, sizeof message, "%s", ctx->msg);
  const char *hint = perp_cut_hint(message);
  return expr_parse_complain(parser, offset, hint, "%.200s", message);
}

/* "m or rad": is `unit` one of the alternatives? */
static bool expr_parse_unit_is(const char *alternatives, const char *unit)
{
  for (const char *at = alternatives;; at += 4) {
    const char *end = strstr(at, " or ");
    size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
    if (strlen(unit) == n && strncmp(at, unit, n) == 0) return true;
    if (end == NULL) return false;
    at = end;
  }
}

/* Can these two be compared?  Texts that stand for plug-ins and choices must exist. */
static perp_expr *check_pair(struct parser *parser, const perp_expr *a, perp_expr *b, bool order)
{
  if (a->type == T_BOOL || b->type == T_BOOL)
    return expr_parse_complain(parser, b->offset, NULL, "a condition cannot be compared");
  if ((a->type == T_NUMBER) != (b->type == T_NUMBER))
    return expr_parse_complain(parser, b->offset, NULL, "a number cannot be compared with a text");
  if (a->type == T_NUMBER) {
    if (a->unit != NULL && b->unit != NULL && !expr_parse_unit_is(a->unit, b->unit) &&
        !expr_parse_unit_is(b->unit, a->unit) && (a->op == OP_NUMBER || b->op == OP_NUMBER))
      return expr_parse_complain(
          parser, b->offset, NULL, "wrong unit: %s cannot be compared with %s",
          a->unit[0] ? a->unit : "a pure number", b->unit[0] ? b->unit : "a pure number");
    return b;
  }
  if (order)
    return expr_parse_complain(parser, b->offset, NULL, "texts have no order: use == or !=");
  if (b->op != OP_TEXT) return b;
  perp_ctx ctx = *parser->scope->ctx;
  if (a->type == T_PLUGIN) {
    perp_spec spec;
    const perp_kind kind = parser->scope->columns[a->column].kind;
    if ((b->absent = perp_optional_absent(&ctx, kind, b->text)) != NULL) return b;
    if (perp_spec_parse(&ctx, kind, b->text, &spec) != PERP_OK)
      return from_ctx(parser, b->offset, &ctx);
    perp_spec_free(&spec);
  } else if (a->op == OP_COLUMN && a->key == NULL) {
    const char *const *choices = parser->scope->columns[a->column].choices;
    int n = 0;
    while (choices != NULL && choices[n] != NULL && strcmp(choices[n], b->text) != 0) n++;
    if (choices != NULL && choices[n] == NULL)
      return expr_parse_complain(parser, b->offset, did_you_mean(parser, b->text, choices, n),
                                 "%s never has the value '%s'",
                                 parser->scope->columns[a->column].name, b->text);
  }
  return b;
}

static perp_expr *read_in(struct parser *parser, perp_expr *a, int offset)
{
  if (!expr_parse_accept(parser, "("))
    return expr_parse_complain(parser, parser->at, NULL, "expected '(' after in");
  perp_expr *e = expr_parse_node(parser, OP_IN, T_BOOL, offset, a, NULL);
  e->item = perp_pool_alloc(parser->pool, MOST_ITEMS, sizeof *e->item);
  do {
    perp_expr *b = read_level(parser, LEVEL_SUM, a);
    if (b == NULL || check_pair(parser, a, b, false) == NULL) return NULL;
    if (e->n_items == MOST_ITEMS)
      return expr_parse_complain(parser, b->offset, NULL, "too many items");
    e->item[e->n_items++] = b;
  } while (list_goes_on(parser));
  return e;
}

static perp_expr *read_comparison(struct parser *parser)
{
  perp_expr *a = read_level(parser, LEVEL_SUM, NULL);
  if (a == NULL) return NULL;
  int offset = parser->at;
  if (expr_parse_accept(parser, "not")) {
    if (!expr_parse_accept(parser, "in"))
      return expr_parse_complain(parser, parser->at, NULL, "expected 'in' after not");
    perp_expr *in = read_in(parser, a, offset);
    return in != NULL ? expr_parse_node(parser, OP_NOT, T_BOOL, offset, in, NULL) : NULL;
  }
  if (expr_parse_accept(parser, "in")) return read_in(parser, a, offset);
  if (expr_parse_is(parser, "="))
    return expr_parse_complain(parser, offset, "did you mean '=='?", "'=' is not a comparison");
  for (int i = 0; i < (int)(sizeof comparisons / sizeof *comparisons); i++) {
    if (!expr_parse_accept(parser, comparisons[i])) continue;
    enum op op = OP_EQ + (enum op)i;
    perp_expr *b = read_level(parser, LEVEL_SUM, a);
    if (b == NULL || check_pair(parser, a, b, op > OP_NE) == NULL) return NULL;
    return expr_parse_node(parser, op, T_BOOL, a->offset, a, b);
  }
  return a;
}

/* ---- levels ---- */

/* "not" before a comparison, "-" before an atom and its power. */
static perp_expr *read_prefixed(struct parser *parser, bool logic, const perp_expr *left)
{
  enum type type = logic ? T_BOOL : T_NUMBER;
  int offset = parser->at;
  perp_expr *e;
  if (++parser->depth > DEEPEST)
    return expr_parse_complain(parser, parser->at, NULL, "nested too deeply");
  if (expr_parse_accept(parser, logic ? "not" : "-")) {
    perp_expr *a = expr_parse_need(parser, type, read_prefixed(parser, logic, NULL));
    if (a == NULL) return NULL;
    e = expr_parse_node(parser, logic ? OP_NOT : OP_NEGATE, type, offset, a, NULL);
    e->unit = a->unit;
  } else if (logic) {
    e = read_comparison(parser);
  } else {
    e = read_atom(parser, left);
    if (e != NULL && expr_parse_accept(parser, "^")) {
      perp_expr *power = expr_parse_need(parser, T_NUMBER, read_prefixed(parser, false, NULL));
      e = expr_parse_need(parser, T_NUMBER, e);
      if (e == NULL || power == NULL) return NULL;
      e = expr_parse_node(parser, OP_POW, T_NUMBER, e->offset, e, power);
    }
  }
  parser->depth--;
  return e;
}

static const struct binary *binary_at(const struct parser *parser, enum level level)
{
  for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
    if (binaries[i].level == level && expr_parse_is(parser, binaries[i].sign)) return &binaries[i];
  return NULL;
}

static perp_expr *read_level(struct parser *parser, enum level level, const perp_expr *left)
{
  if (level == LEVEL_NOT || level == LEVEL_MINUS)
    return read_prefixed(parser, level == LEVEL_NOT, left);
  enum type type = level < LEVEL_NOT ? T_BOOL : T_NUMBER;
  perp_expr *expr = read_level(parser, level + 1, left);
  for (const struct binary *binary;
       expr != NULL && !parser->failed && (binary = binary_at(parser, level)) != NULL;) {
    expr_parse_advance(parser);
    perp_expr *right = expr_parse_need(parser, type, read_level(parser, level + 1, NULL));
    expr = expr_parse_need(parser, type, expr);
    if (expr == NULL || right == NULL) return NULL;
    if (binary->op == OP_DIV && right->op == OP_NUMBER && right->number == 0 &&
        !parser->scope->arithmetic)
      return expr_parse_complain(parser, right->offset, NULL, "this is a division by 0");
    expr = expr_parse_node(parser, binary->op, type, expr->offset, expr, right);
  }
  return expr;
}

perp_expr *perp_expr_parse(perp_pool *pool, const perp_scope *scope, const char *text,
                           perp_expr_error *error)
{
  *error = (perp_expr_error){ 0 };
  struct parser parser = { .pool = pool, .scope = scope, .text = text, .error = error };
  expr_parse_advance(&parser);
  perp_expr *expr = read_level(&parser, LEVEL_OR, NULL);
  if (scope->number)
    expr = expr_parse_need(&parser, T_NUMBER, expr);
  else if (!scope->arithmetic || (expr != NULL && expr->type != T_NUMBER))
    expr = expr_parse_need(&parser, T_BOOL, expr);
  if (expr != NULL && parser.token != END)
    expr = expr_parse_complain(&parser, parser.at, NULL, "'%.*s' is not allowed here",
                               parser.end - parser.at, text + parser.at);
  return parser.failed ? NULL : expr;
}
