/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Recursive descent into a tree whose nodes carry their type: everything that can be wrong with an
 * expression is found when it is read, with its place, and evaluation cannot fail. */
#include "experiments/base/expr_tree.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 60, MOST_ITEMS = 64 };

/* ---- words ---------------------------------------------------------------------------------------------- */

enum token { END, NUMBER, TEXT, WORD, SIGN, BAD };

struct parser {
  perp_pool *pool;
  const perp_scope *scope;
  const char *text;
  perp_expr_error *error;
  bool failed, inside; /* inside an aggregate */
  int depth;
  /* current token */
  enum token token;
  int at, end;
  char sign[3];
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

static bool word_part(const char *s, int i)
{
  unsigned char c = (unsigned char)s[i];
  if (isalnum(c) || c == '_' || c == '.' || c == ':') return true;
  return c == '-' && isalnum((unsigned char)s[i - 1]) && isalpha((unsigned char)s[i + 1]);
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
    char *end;
    strtod(s + i, &end);
    i = (int)(end - s);
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
    while (i == p->at || word_part(s, i)) i++;
  } else if (strchr("()<>=!,+-*/^", c) != NULL) {
    p->token = SIGN;
    p->sign[0] = (char)c;
    p->sign[1] = p->sign[2] = '\0';
    i++;
    if (strchr("<>=!", c) != NULL && s[i] == '=') p->sign[1] = s[i++];
  } else {
    p->token = BAD;
    expr_parse_complain(p, i, NULL, "unexpected character '%c'", c);
  }
  p->end = i;
}

static bool is_word(const struct parser *p, const char *word)
{
  return p->token == WORD && strlen(word) == (size_t)(p->end - p->at) &&
         strncmp(p->text + p->at, word, strlen(word)) == 0;
}

static bool is_sign(const struct parser *p, const char *sign)
{
  return p->token == SIGN && strcmp(p->sign, sign) == 0;
}

static bool expr_parse_keyword(const char *s, size_t n)
{
  static const char *const words[] = { "and", "or", "not", "in" };
  for (int i = 0; i < 4; i++)
    if (strlen(words[i]) == n && strncmp(words[i], s, n) == 0) return true;
  return false;
}

static perp_expr *expr_parse_node(struct parser *p, enum op op, enum type type, int offset)
{
  perp_expr *e = perp_pool_alloc(p->pool, 1, sizeof *e);
  e->op = op;
  e->type = type;
  e->offset = offset;
  return e;
}

/* ---- atoms ----------------------------------------------------------------------------------------------- */

static perp_expr *read_or(struct parser *p);
static perp_expr *read_sum(struct parser *p, const perp_expr *left);

/* The unit behind a number belongs to it: 1 ms, 50 deg. */
static perp_expr *expr_parse_read_number(struct parser *p)
{
  static const char *const dimensions[] = { "s",   "m", "kg", "rad", "rad/s", "m/s",    "m/s^2",
                                            "1/s", "N", "Nm", "N/m", "Ns/m",  "kg/m^3", "J" };
  perp_expr *e = expr_parse_node(p, OP_NUMBER, T_NUMBER, p->at);
  e->number = strtod(p->text + p->at, NULL);
  const char *s = p->text + p->end;
  int skip = (int)strspn(s, " \t"), n = 0;
  if (isalpha((unsigned char)s[skip]))
    while (isalnum((unsigned char)s[skip + n]) ||
           (n > 0 && (s[skip + n] == '/' || s[skip + n] == '^') &&
            isalnum((unsigned char)s[skip + n + 1])))
      n++;
  if (n > 0 && !expr_parse_keyword(s + skip, (size_t)n)) {
    char text[64];
    bool known = false;
    snprintf(text, sizeof text, "%.*s%.*s", p->end - p->at, p->text + p->at, n, s + skip);
    for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions && !known; i++)
      if (perp_parse_real(NULL, text, dimensions[i], &e->number) == PERP_OK) {
        e->unit = dimensions[i];
        known = true;
      }
    if (!known)
      return expr_parse_complain(p, p->end + skip, NULL, "unknown unit '%.*s'", n, s + skip);
    p->end += skip + n;
  }
  expr_parse_advance(p);
  return e;
}

static int find_column(const perp_scope *scope, const char *name, size_t n)
{
  for (int i = 0; i < scope->n_columns; i++)
    if (strlen(scope->columns[i].name) == n && strncmp(scope->columns[i].name, name, n) == 0)
      return i;
  return -1;
}

/* An option of any plug-in of the kind; NULL when none has it. */
static const perp_opt *find_option(const perp_ctx *ctx, perp_kind kind, const char *key)
{
  const perp_desc *d;
  for (int i = 0; (d = perp_plugin_at(ctx, kind, i)) != NULL; i++)
    for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
      if (strcmp(o->key, key) == 0) return o;
  return NULL;
}

static perp_expr *unknown_column(struct parser *p, const char *word)
{
  enum { MOST = 256 };
  const char *names[MOST] = { NULL };
  int n = 0;
  for (int i = 0; i < p->scope->n_columns && n < MOST; i++) names[n++] = p->scope->columns[i].name;
  const char *close = perp_closest(word, names, n);
  char hint[200];
  if (close != NULL)
    snprintf(hint, sizeof hint, "did you mean '%s'?", close);
  else {
    size_t used = (size_t)snprintf(hint, sizeof hint, "known: ");
    for (int i = 0; i < n && used < 120; i++)
      used += (size_t)snprintf(hint + used, sizeof hint - used, "%s%.40s", i ? ", " : "", names[i]);
    if (used >= 120) snprintf(hint + used, sizeof hint - used, ", ...");
  }
  return expr_parse_complain(p, p->at, hint, "unknown column '%s'", word);
}

static const struct {
  const char *name;
  enum op op;
} functions[] = { { "max", OP_MAX },    { "min", OP_MIN }, { "median", OP_MEDIAN },
                  { "mean", OP_MEAN },  { "sum", OP_SUM }, { "count", OP_COUNT },
                  { "slope", OP_SLOPE } };

static perp_expr *read_call(struct parser *p, const char *name, int offset)
{
  int f = -1, n_functions = (int)(sizeof functions / sizeof *functions);
  const char *names[8];
  for (int i = 0; i < n_functions; i++) {
    names[i] = functions[i].name;
    if (strcmp(functions[i].name, name) == 0) f = i;
  }
  if (f < 0) {
    const char *close = perp_closest(name, names, n_functions);
    char hint[64] = "known: max, min, median, mean, sum, count, slope";
    if (close != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", close);
    return expr_parse_complain(p, offset, hint, "unknown function '%s'", name);
  }
  if (!p->scope->aggregates)
    return expr_parse_complain(
        p, offset, NULL, "%s(...) works in claims only: here each cell is looked at alone", name);
  if (p->inside) return expr_parse_complain(p, offset, NULL, "%s(...) inside of another one", name);
  p->inside = true;
  perp_expr *e = expr_parse_node(p, functions[f].op, T_NUMBER, offset);
  /* values first (none for count, two for slope), then the condition */
  int values = e->op == OP_COUNT ? 0 : e->op == OP_SLOPE ? 2 : 1;
  expr_parse_advance(p); /* the parenthesis */
  for (int i = 0;; i++) {
    int at = p->at;
    if (i > values) return expr_parse_complain(p, at, NULL, "%s: one argument too many", name);
    perp_expr *a = read_or(p);
    if (a == NULL) return NULL;
    if (i < values && a->type != T_NUMBER)
      return expr_parse_complain(p, at, NULL, "%s: argument %d must be a number", name, i + 1);
    if (i == values && a->type != T_BOOL)
      return expr_parse_complain(p, at, NULL, "%s: the last argument must be a condition", name);
    e->arg[i == values ? 2 : i] = a;
    if (i < values && values == 1) e->unit = a->unit;
    if (is_sign(p, ")")) {
      if (i + 1 < values)
        return expr_parse_complain(p, p->at, NULL, "%s: an argument is missing", name);
      break;
    }
    if (!is_sign(p, ",")) return expr_parse_complain(p, p->at, NULL, "expected ',' or ')'");
    expr_parse_advance(p);
  }
  expr_parse_advance(p);
  p->inside = false;
  return e;
}

/* left: the column that a text on this side would be compared with; NULL on the left. */
static perp_expr *read_word(struct parser *p, const perp_expr *left)
{
  int offset = p->at;
  size_t n = (size_t)(p->end - p->at);
  if (expr_parse_keyword(p->text + p->at, n))
    return expr_parse_complain(p, offset, NULL, "'%.*s' is out of place", (int)n, p->text + offset);
  char *word = perp_pool_strndup(p->pool, p->text + p->at, n);
  const char *rest = p->text + p->end + strspn(p->text + p->end, " \t");
  if (*rest == '(') {
    expr_parse_advance(p);
    return read_call(p, word, offset);
  }
  const perp_scope *s = p->scope;
  const char *key = NULL, *dot = strchr(word, '.');
  int c = find_column(s, word, n);
  if (c < 0 && dot != NULL) {
    c = find_column(s, word, (size_t)(dot - word));
    if (c >= 0 && s->columns[c].type != PERP_COLUMN_PLUGIN) c = -1;
    key = dot + 1;
  }
  if (c >= 0) {
    const perp_column *column = &s->columns[c];
    const perp_opt *o = key != NULL ? find_option(s->ctx, column->kind, key) : NULL;
    if (key != NULL && o == NULL)
      return expr_parse_complain(p, offset, NULL, "no %s has an option '%s'",
                                 perp_kind_name(column->kind), key);
    if (s->aggregates && !p->inside)
      return expr_parse_complain(p, offset, NULL,
                                 "'%s' has one value for each cell: use max(%s, ...)", word, word);
    bool is_number = o != NULL ? o->type == PERP_OPT_REAL || o->type == PERP_OPT_INT
                               : column->type == PERP_COLUMN_NUMBER;
    enum type type = is_number                                         ? T_NUMBER
                     : o == NULL && column->type == PERP_COLUMN_PLUGIN ? T_PLUGIN
                                                                       : T_TEXT;
    perp_expr *e = expr_parse_node(p, OP_COLUMN, type, offset);
    e->column = c;
    e->key = key;
    if (is_number) e->unit = o != NULL ? o->unit : column->unit;
    expr_parse_advance(p);
    return e;
  }
  if (strcmp(word, "inf") == 0) {
    perp_expr *e = expr_parse_node(p, OP_NUMBER, T_NUMBER, offset);
    e->number = HUGE_VAL;
    expr_parse_advance(p);
    return e;
  }
  /* a bare text, where one is compared with */
  if (left != NULL && left->type != T_NUMBER) {
    perp_expr *e = expr_parse_node(p, OP_TEXT, T_TEXT, offset);
    e->text = word;
    expr_parse_advance(p);
    return e;
  }
  return unknown_column(p, word);
}

static perp_expr *read_atom(struct parser *p, const perp_expr *left)
{
  switch (p->token) {
  case NUMBER:
    return expr_parse_read_number(p);
  case TEXT: {
    perp_expr *e = expr_parse_node(p, OP_TEXT, T_TEXT, p->at);
    e->text = perp_pool_strndup(p->pool, p->text + p->at + 1, (size_t)(p->end - p->at - 2));
    expr_parse_advance(p);
    return e;
  }
  case WORD:
    return read_word(p, left);
  case SIGN:
    if (is_sign(p, "(")) {
      expr_parse_advance(p);
      perp_expr *e = read_or(p);
      if (e != NULL && !is_sign(p, ")")) return expr_parse_complain(p, p->at, NULL, "expected ')'");
      expr_parse_advance(p);
      return e;
    }
    return expr_parse_complain(p, p->at, NULL, "'%s' is out of place", p->sign);
  case END:
    return expr_parse_complain(p, p->at, NULL, "the expression ends too early");
  case BAD:
    break;
  }
  return NULL;
}

/* ---- arithmetic -------------------------------------------------------------------------------------------- */

static perp_expr *need_number(struct parser *p, perp_expr *e)
{
  if (e != NULL && e->type != T_NUMBER)
    return expr_parse_complain(p, e->offset, NULL, "a number is needed here");
  return e;
}

static perp_expr *expr_parse_pair(struct parser *p, enum op op, enum type type, perp_expr *a,
                                  perp_expr *b)
{
  if (a == NULL || b == NULL) return NULL;
  perp_expr *e = expr_parse_node(p, op, type, a->offset);
  e->arg[0] = a;
  e->arg[1] = b;
  return e;
}

static perp_expr *read_unary(struct parser *p, const perp_expr *left)
{
  if (++p->depth > DEEPEST) return expr_parse_complain(p, p->at, NULL, "nested too deeply");
  perp_expr *e;
  if (is_sign(p, "-")) {
    int offset = p->at;
    expr_parse_advance(p);
    perp_expr *a = need_number(p, read_unary(p, NULL));
    if (a == NULL) return NULL;
    e = expr_parse_node(p, OP_NEGATE, T_NUMBER, offset);
    e->arg[0] = a;
    e->unit = a->unit;
  } else {
    e = read_atom(p, left);
    if (e != NULL && is_sign(p, "^")) {
      expr_parse_advance(p);
      e = expr_parse_pair(p, OP_POW, T_NUMBER, need_number(p, e),
                          need_number(p, read_unary(p, NULL)));
    }
  }
  p->depth--;
  return e;
}

static perp_expr *read_term(struct parser *p, const perp_expr *left)
{
  perp_expr *e = read_unary(p, left);
  while (e != NULL && (is_sign(p, "*") || is_sign(p, "/"))) {
    enum op op = is_sign(p, "*") ? OP_MUL : OP_DIV;
    expr_parse_advance(p);
    e = expr_parse_pair(p, op, T_NUMBER, need_number(p, e), need_number(p, read_unary(p, NULL)));
  }
  return e;
}

static perp_expr *read_sum(struct parser *p, const perp_expr *left)
{
  perp_expr *e = read_term(p, left);
  while (e != NULL && (is_sign(p, "+") || is_sign(p, "-"))) {
    enum op op = is_sign(p, "+") ? OP_ADD : OP_SUB;
    expr_parse_advance(p);
    e = expr_parse_pair(p, op, T_NUMBER, need_number(p, e), need_number(p, read_term(p, NULL)));
  }
  return e;
}

/* ---- comparisons --------------------------------------------------------------------------------------------- */

static perp_expr *from_ctx(struct parser *p, int offset, const perp_ctx *ctx)
{
  char message[sizeof ctx->msg];
  snprintf(message, sizeof message, "%s", ctx->msg);
  char *hint = strstr(message, "; did you mean");
  if (hint != NULL) *hint = '\0';
  return expr_parse_complain(p, offset, hint != NULL ? hint + 2 : NULL, "%.200s", message);
}

/* Can these two be compared?  Texts that stand for plug-ins and choices must exist. */
static perp_expr *check_pair(struct parser *p, const perp_expr *a, perp_expr *b, bool order)
{
  if (a->type == T_BOOL || b->type == T_BOOL)
    return expr_parse_complain(p, b->offset, NULL, "a condition cannot be compared");
  if ((a->type == T_NUMBER) != (b->type == T_NUMBER))
    return expr_parse_complain(p, b->offset, NULL, "a number cannot be compared with a text");
  if (a->type == T_NUMBER) {
    if (a->unit != NULL && b->unit != NULL && !perp_unit_is(a->unit, b->unit) &&
        !perp_unit_is(b->unit, a->unit) && (a->op == OP_NUMBER || b->op == OP_NUMBER))
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
    if (perp_spec_parse(&ctx, p->scope->columns[a->column].kind, b->text, &spec) != PERP_OK)
      return from_ctx(p, b->offset, &ctx);
    perp_spec_free(&spec);
  } else if (a->op == OP_COLUMN && a->key == NULL) {
    const char *const *choices = p->scope->columns[a->column].choices;
    int n = 0;
    bool found = choices == NULL;
    for (; choices != NULL && choices[n] != NULL; n++)
      found = found || strcmp(choices[n], b->text) == 0;
    if (!found) {
      const char *close = perp_closest(b->text, choices, n);
      char hint[100] = "";
      if (close != NULL) snprintf(hint, sizeof hint, "did you mean '%s'?", close);
      return expr_parse_complain(p, b->offset, hint, "%s is never '%s'",
                                 p->scope->columns[a->column].name, b->text);
    }
  }
  return b;
}

static perp_expr *read_in(struct parser *p, perp_expr *a, int offset)
{
  if (!is_sign(p, "(")) return expr_parse_complain(p, p->at, NULL, "expected '(' after in");
  expr_parse_advance(p);
  perp_expr *e = expr_parse_node(p, OP_IN, T_BOOL, offset);
  e->arg[0] = a;
  e->item = perp_pool_alloc(p->pool, MOST_ITEMS, sizeof *e->item);
  for (;;) {
    perp_expr *b = read_sum(p, a);
    if (b == NULL || check_pair(p, a, b, false) == NULL) return NULL;
    if (e->n_items == MOST_ITEMS) return expr_parse_complain(p, b->offset, NULL, "too many items");
    e->item[e->n_items++] = b;
    if (is_sign(p, ")")) break;
    if (!is_sign(p, ",")) return expr_parse_complain(p, p->at, NULL, "expected ',' or ')'");
    expr_parse_advance(p);
  }
  expr_parse_advance(p);
  return e;
}

static perp_expr *read_comparison(struct parser *p)
{
  static const struct {
    const char *sign;
    enum op op;
  } signs[] = { { "==", OP_EQ }, { "!=", OP_NE }, { "<", OP_LT },
                { "<=", OP_LE }, { ">", OP_GT },  { ">=", OP_GE } };
  perp_expr *a = read_sum(p, NULL);
  if (a == NULL) return NULL;
  int offset = p->at;
  if (is_word(p, "not")) {
    expr_parse_advance(p);
    if (!is_word(p, "in")) return expr_parse_complain(p, p->at, NULL, "expected 'in' after not");
    expr_parse_advance(p);
    perp_expr *in = read_in(p, a, offset), *e = expr_parse_node(p, OP_NOT, T_BOOL, offset);
    e->arg[0] = in;
    return in != NULL ? e : NULL;
  }
  if (is_word(p, "in")) {
    expr_parse_advance(p);
    return read_in(p, a, offset);
  }
  if (is_sign(p, "="))
    return expr_parse_complain(p, offset, "did you mean '=='?", "'=' compares nothing");
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    if (!is_sign(p, signs[i].sign)) continue;
    expr_parse_advance(p);
    perp_expr *b = read_sum(p, a);
    if (b == NULL || check_pair(p, a, b, signs[i].op > OP_NE) == NULL) return NULL;
    return expr_parse_pair(p, signs[i].op, T_BOOL, a, b);
  }
  return a;
}

static perp_expr *need_condition(struct parser *p, perp_expr *e)
{
  if (e != NULL && e->type != T_BOOL)
    return expr_parse_complain(p, e->offset, NULL, "a condition is needed here, like h <= 1 ms");
  return e;
}

static perp_expr *read_not(struct parser *p)
{
  if (++p->depth > DEEPEST) return expr_parse_complain(p, p->at, NULL, "nested too deeply");
  perp_expr *e;
  if (is_word(p, "not")) {
    int offset = p->at;
    expr_parse_advance(p);
    perp_expr *a = need_condition(p, read_not(p));
    if (a == NULL) return NULL;
    e = expr_parse_node(p, OP_NOT, T_BOOL, offset);
    e->arg[0] = a;
  } else
    e = read_comparison(p);
  p->depth--;
  return e;
}

static perp_expr *read_and(struct parser *p)
{
  perp_expr *e = read_not(p);
  while (e != NULL && is_word(p, "and")) {
    expr_parse_advance(p);
    e = expr_parse_pair(p, OP_AND, T_BOOL, need_condition(p, e), need_condition(p, read_not(p)));
  }
  return e;
}

static perp_expr *read_or(struct parser *p)
{
  perp_expr *e = read_and(p);
  while (e != NULL && is_word(p, "or")) {
    expr_parse_advance(p);
    e = expr_parse_pair(p, OP_OR, T_BOOL, need_condition(p, e), need_condition(p, read_and(p)));
  }
  return e;
}

perp_expr *perp_expr_parse(perp_pool *pool, const perp_scope *scope, const char *text,
                           perp_expr_error *error)
{
  *error = (perp_expr_error){ 0 };
  struct parser p = { .pool = pool, .scope = scope, .text = text, .error = error };
  expr_parse_advance(&p);
  perp_expr *e = need_condition(&p, read_or(&p));
  if (e != NULL && p.token != END)
    e = expr_parse_complain(&p, p.at, NULL, "'%.*s' is out of place", p.end - p.at, text + p.at);
  return p.failed ? NULL : e;
}
