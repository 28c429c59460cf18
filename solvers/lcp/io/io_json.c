/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Problems as JSON, as `perp lcp generate --json` writes them: one object with the members of the
 * table below in any order.  A and b must be there; the others default to a pure LCP.  n, where
 * given, must be the length of b.  Infinite bounds are the strings "inf" and "-inf"; solution may
 * be null.
 *
 * Strict RFC 8259 otherwise: no NaN or Infinity, no comments, no second member of the same name,
 * nothing after the object.  A first pass finds the members and checks the syntax of everything, so
 * that memory is asked for only once the numbers that fill it have been seen. */
#include "solvers/core/shown.h"
#include "solvers/lcp/io/io_scan.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum member {
  J_FAMILY,
  J_PROVENANCE,
  J_N,
  J_A,
  J_B,
  J_LO,
  J_HI,
  J_FRICTION_OF,
  J_MU,
  J_CONE,
  J_UNIT,
  J_CONTACT_OF,
  J_FROZEN,
  J_SOLUTION,
  MEMBERS
};
static const char *const member_names[MEMBERS] = { "family", "provenance", "n",    "A",
                                                   "b",      "lo",         "hi",   "friction_of",
                                                   "mu",     "cone",       "unit", "contact_of",
                                                   "frozen", "solution" };

/* What is one item of the array of a member, and where it goes. */
enum item { REAL, BOUND, INDEX, FLAG, ROW };
static const struct {
  enum item kind;
  size_t to; /* in perp_lcp_arrays */
} member_arrays[MEMBERS] = {
  [J_B] = { REAL, offsetof(perp_lcp_arrays, b) },
  [J_LO] = { BOUND, offsetof(perp_lcp_arrays, lo) },
  [J_HI] = { BOUND, offsetof(perp_lcp_arrays, hi) },
  [J_FRICTION_OF] = { INDEX, offsetof(perp_lcp_arrays, fric_of) },
  [J_MU] = { REAL, offsetof(perp_lcp_arrays, mu) },
  [J_CONE] = { FLAG, offsetof(perp_lcp_arrays, cone) },
  [J_UNIT] = { REAL, offsetof(perp_lcp_arrays, unit) },
  [J_CONTACT_OF] = { INDEX, offsetof(perp_lcp_arrays, contact_of) },
  [J_SOLUTION] = { REAL, offsetof(perp_lcp_arrays, solution) },
};

/* ---- syntax ---- */

enum { DEEPEST = 64, LONGEST = 512 };

/* The next character that is not blank, not taken; 0 at the end. */
static char io_json_peek(perp_scan *scan)
{
  for (; scan->at < scan->end; scan->at++) {
    if (*scan->at != ' ' && *scan->at != '\t' && *scan->at != '\r' && *scan->at != '\n') break;
    scan->line += *scan->at == '\n';
  }
  scan->word_line = scan->line;
  return scan->at < scan->end ? *scan->at : '\0';
}

/* What stands at the next place, for messages. */
static perp_status io_json_unexpected(perp_scan *scan, const char *what)
{
  char c = io_json_peek(scan);
  if (scan->at == scan->end) {
    int line = scan->line; /* of the last line that has something on it */
    for (const char *at = scan->at; at > scan->begin && isspace((unsigned char)at[-1]); at--)
      line -= at[-1] == '\n';
    return perp_scan_fail(scan, line, "end of file where %s is expected", what);
  }
  char word[24];
  size_t n = 0;
  if (isalnum((unsigned char)c) || c == '-' || c == '+' || c == '.')
    for (const char *at = scan->at; at < scan->end && n + 1 < sizeof word &&
                                    (isalnum((unsigned char)*at) || strchr("+-._", *at) != NULL);
         at++)
      word[n++] = *at;
  else
    word[n++] = isprint((unsigned char)c) ? c : '?';
  word[n] = '\0';
  return perp_scan_fail(scan, scan->line, "%s is expected, got '%s'", what, word);
}

static bool io_json_take(perp_scan *scan, char c)
{
  if (io_json_peek(scan) != c || scan->at == scan->end) return false;
  scan->at++;
  return true;
}

static int hex_digits(const char *text, const char *end)
{
  int code = 0;
  for (int i = 0; i < 4; i++) {
    if (text + i >= end || !isxdigit((unsigned char)text[i])) return -1;
    int digit = isdigit((unsigned char)text[i]) ? text[i] - '0'
                                                : tolower((unsigned char)text[i]) - 'a' + 10;
    code = 16 * code + digit;
  }
  return code;
}

/* A string without its quotes, cut to size; what is not printable ASCII becomes '?'. */
static perp_status io_json_read_text(perp_scan *scan, const char *what, char *buf, size_t size)
{
  size_t n = 0;
  if (!io_json_take(scan, '"')) return io_json_unexpected(scan, what);
  for (; scan->at < scan->end && *scan->at != '"'; scan->at++) {
    char c = *scan->at;
    if ((unsigned char)c < 0x20)
      return perp_scan_fail(scan, scan->line, "a string ends within its line: '\"' is missing");
    if (c == '\\') {
      static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/     ";
      const char *at = ++scan->at < scan->end && *scan->at != '\0' ? strchr(escapes, *scan->at)
                                                                   : NULL;
      int code = at == NULL && scan->at < scan->end && *scan->at == 'u'
                     ? hex_digits(scan->at + 1, scan->end)
                     : -1;
      if (at == NULL && code < 0)
        return perp_scan_fail(scan, scan->line, "an invalid escape in a string");
      if (code >= 0) scan->at += 4;
      c = at != NULL ? meant[at - escapes] : code >= 0x20 && code < 0x7f ? (char)code : '?';
    }
    if ((unsigned char)c >= 0x80) { /* the rest of its bytes goes with the first */
      char one[5] = "";
      unsigned code;
      memcpy(one, scan->at, (size_t)(scan->end - scan->at < 4 ? scan->end - scan->at : 4));
      const int bytes = perp_utf8(one, &code);
      if (bytes == 0)
        return perp_scan_fail(scan, scan->line, "byte 0x%02x of a string is not valid UTF-8",
                              (unsigned char)c);
      scan->at += bytes - 1;
    }
    if (n + 1 < size) buf[n++] = isprint((unsigned char)c) ? c : '?';
  }
  buf[n] = '\0';
  return io_json_take(scan, '"') ? PERP_OK : io_json_unexpected(scan, "the end of a string");
}

static size_t io_json_digits(const char *text, const char *end)
{
  size_t n = 0;
  while (text + n < end && isdigit((unsigned char)text[n])) n++;
  return n;
}

/* A number; integer (may be NULL) tells whether it has neither fraction nor exponent. */
static perp_status io_json_read_number(perp_scan *scan, const char *what, double *value,
                                       bool *integer)
{
  char word[LONGEST];
  char c = io_json_peek(scan);
  const char *at = scan->at + (c == '-');
  size_t n = io_json_digits(at, scan->end);
  if (n == 0 || (n > 1 && *at == '0')) return io_json_unexpected(scan, what);
  at += n;
  const char *whole = at;
  if (at < scan->end && *at == '.') {
    n = io_json_digits(at + 1, scan->end);
    if (n == 0) return io_json_unexpected(scan, what);
    at += n + 1;
  }
  if (at < scan->end && (*at == 'e' || *at == 'E')) {
    at++;
    if (at < scan->end && (*at == '+' || *at == '-')) at++;
    n = io_json_digits(at, scan->end);
    if (n == 0) return io_json_unexpected(scan, what);
    at += n;
  }
  if (integer != NULL) *integer = at == whole;
  n = (size_t)(at - scan->at);
  if (n >= sizeof word)
    return perp_scan_fail(scan, scan->line, "%s is too long: %zu characters", what, n);
  memcpy(word, scan->at, n);
  word[n] = '\0';
  *value = strtod_l(word, NULL, scan->c);
  if (!isfinite(*value))
    return perp_scan_fail(scan, scan->line,
                          "%s must be finite, got %.40s, beyond the range of a double", what, word);
  scan->at = at;
  return PERP_OK;
}

/* Over a value of any kind; items: of an array, -1 for anything else; numbers: in all of it. */
static perp_status io_json_skip(perp_scan *scan, const char *what, int depth, int *items,
                                size_t *numbers)
{
  double v;
  int inner;
  char text[16], c = io_json_peek(scan);
  *items = -1;
  if (depth > DEEPEST)
    return perp_scan_fail(scan, scan->line, "arrays or objects are nested too deeply");
  if (c == '"') {
    ++*numbers; /* "inf" */
    return io_json_read_text(scan, what, text, sizeof text);
  }
  if (c == '-' || isdigit((unsigned char)c)) {
    ++*numbers;
    return io_json_read_number(scan, what, &v, NULL);
  }
  static const char *const words[] = { "true", "false", "null" };
  for (size_t k = 0; k < 3; k++) {
    size_t n = strlen(words[k]);
    if ((size_t)(scan->end - scan->at) >= n && memcmp(scan->at, words[k], n) == 0) {
      scan->at += n;
      return PERP_OK;
    }
  }
  if (c != '[' && c != '{') return io_json_unexpected(scan, what);
  char close = c == '[' ? ']' : '}';
  scan->at++;
  int count = 0;
  if (!io_json_take(scan, close)) {
    do {
      if (c == '{') {
        PERP_TRY(io_json_read_text(scan, "a name", text, sizeof text));
        if (!io_json_take(scan, ':')) return io_json_unexpected(scan, "':'");
      }
      PERP_TRY(io_json_skip(scan, what, depth + 1, &inner, numbers));
      if (count == INT_MAX) return perp_scan_fail(scan, scan->line, "an array is too long");
      count++;
    } while (io_json_take(scan, ','));
    if (!io_json_take(scan, close))
      return io_json_unexpected(scan, c == '[' ? "',' or ']'" : "',' or '}'");
  }
  if (c == '[') *items = count;
  return PERP_OK;
}

/* ---- the members ---- */

struct member_place {
  const char *at; /* of its value; NULL: absent */
  int line, items;
  size_t numbers;
};

static perp_status find_members(perp_scan *scan, struct member_place *place)
{
  char name[32];
  if (!io_json_take(scan, '{')) return io_json_unexpected(scan, "'{'");
  if (io_json_take(scan, '}')) return PERP_OK;
  do {
    PERP_TRY(io_json_read_text(scan, "the name of a member", name, sizeof name));
    int k = 0;
    while (k < MEMBERS && strcmp(member_names[k], name) != 0) k++;
    if (k == MEMBERS)
      return perp_scan_unknown(scan, scan->line, "member", name, member_names, MEMBERS);
    if (place[k].at != NULL) return perp_scan_fail(scan, scan->line, "%s is specified twice", name);
    if (!io_json_take(scan, ':')) return io_json_unexpected(scan, "':'");
    io_json_peek(scan);
    place[k].at = scan->at;
    place[k].line = scan->line;
    PERP_TRY(io_json_skip(scan, name, 1, &place[k].items, &place[k].numbers));
  } while (io_json_take(scan, ','));
  if (!io_json_take(scan, '}')) return io_json_unexpected(scan, "',' or '}'");
  if (io_json_peek(scan) != '\0' || scan->at < scan->end)
    return io_json_unexpected(scan, "the end of the file");
  return PERP_OK;
}

/* Stand before the value of a member. */
static void go_to(perp_scan *scan, const struct member_place *place)
{
  scan->at = place->at;
  scan->line = scan->word_line = place->line;
}

static perp_status io_json_read_int(perp_scan *scan, const char *what, int least, int most,
                                    int *value)
{
  double v;
  bool integer;
  PERP_TRY(io_json_read_number(scan, what, &v, &integer));
  if (!integer) return perp_scan_fail(scan, scan->line, "%s must be an integer, got %g", what, v);
  if (!(v >= least && v <= most))
    return perp_scan_fail(scan, scan->line, "%s must be in [%d, %d], got %.10g", what, least, most,
                          v);
  *value = (int)v;
  return PERP_OK;
}

static perp_status read_bound(perp_scan *scan, const char *what, double *value)
{
  char text[16];
  if (io_json_peek(scan) != '"') return io_json_read_number(scan, what, value, NULL);
  PERP_TRY(io_json_read_text(scan, what, text, sizeof text));
  if (strcmp(text, "inf") != 0 && strcmp(text, "-inf") != 0)
    return perp_scan_fail(scan, scan->line, "%s must be a number, \"inf\" or \"-inf\", got \"%s\"",
                          what, text);
  *value = text[0] == '-' ? -HUGE_VAL : HUGE_VAL;
  return PERP_OK;
}

/* An array of n items. */
struct items {
  enum item kind;
  const char *name;
  int n;
  void *to;      /* double, int in [-1, n - 1] or signed char, 0 or 1; NULL: only look */
  size_t stride; /* of doubles */
};

static perp_status read_items(perp_scan *scan, struct items items)
{
  double v;
  int k = 0;
  char name[32];
  if (!io_json_take(scan, '[')) return io_json_unexpected(scan, "'['");
  for (int i = 0; i < items.n; i++) {
    if (i > 0 && !io_json_take(scan, ',')) {
      if (io_json_peek(scan) != ']') return io_json_unexpected(scan, "','");
      return items.kind == ROW
                 ? perp_scan_fail(scan, scan->line, "A has %d rows but n = %d", i, items.n)
                 : perp_scan_fail(scan, scan->line, "%s has %d entries, not %d", items.name, i,
                                  items.n);
    }
    double *x = items.to != NULL ? (double *)items.to + (size_t)i * items.stride : NULL;
    switch (items.kind) {
    case ROW:
      snprintf(name, sizeof name, "row %d of A", i);
      PERP_TRY(read_items(scan, (struct items){ REAL, name, items.n, x, (size_t)items.n }));
      break;
    case REAL:
    case BOUND:
      PERP_TRY(items.kind == BOUND ? read_bound(scan, items.name, &v)
                                   : io_json_read_number(scan, items.name, &v, NULL));
      if (x != NULL) *x = v;
      break;
    case INDEX:
      PERP_TRY(io_json_read_int(scan, items.name, -1, items.n - 1, (int *)items.to + i));
      break;
    case FLAG:
      PERP_TRY(io_json_read_int(scan, items.name, 0, 1, &k));
      ((signed char *)items.to)[i] = (signed char)k;
      break;
    }
  }
  if (io_json_take(scan, ']')) return PERP_OK;
  if (io_json_peek(scan) != ',') return io_json_unexpected(scan, "',' or ']'");
  return items.kind == ROW
             ? perp_scan_fail(scan, scan->line, "A has more than n = %d rows", items.n)
             : perp_scan_fail(scan, scan->line, "%s has more than %d entries", items.name, items.n);
}

/* The rows of A; A NULL: only look. */
static perp_status io_json_read_rows(perp_scan *scan, int n, double *A)
{
  return read_items(scan, (struct items){ ROW, "A", n, A, 1 });
}

/* The array of member k, where it is present and wanted. */
static perp_status read_member(perp_scan *scan, const struct member_place *place, enum member k,
                               int n, const perp_lcp_arrays *arrays)
{
  void *to;
  memcpy(&to, (const char *)arrays + member_arrays[k].to, sizeof to);
  if (place[k].at == NULL || to == NULL) return PERP_OK;
  go_to(scan, &place[k]);
  if (place[k].items < 0) return io_json_unexpected(scan, "'['");
  if (place[k].items != n)
    return perp_scan_fail(scan, scan->line, "%s has %d entries but n = %d", member_names[k],
                          place[k].items, n);
  return read_items(scan, (struct items){ member_arrays[k].kind, member_names[k], n, to, 1 });
}

/* The line where item i of an array stands; its syntax is known to be right. */
static int io_json_line_of(perp_scan scan, const struct member_place *place, int i)
{
  int items;
  size_t numbers = 0;
  if (place->at == NULL) return scan.line;
  scan.ctx = NULL;
  go_to(&scan, place);
  io_json_take(&scan, '[');
  for (int k = 0; k < i; k++) {
    io_json_skip(&scan, "", 1, &items, &numbers);
    io_json_take(&scan, ',');
  }
  io_json_peek(&scan);
  return scan.line;
}

static perp_status io_json_read_friction(perp_scan *scan, const struct member_place *place, int n,
                                         perp_lcp_arrays arrays)
{
  PERP_TRY(read_member(scan, place, J_FRICTION_OF, n, &arrays));
  PERP_TRY(read_member(scan, place, J_MU, n, &arrays));
  PERP_TRY(read_member(scan, place, J_CONE, n, &arrays));
  for (int i = 0; i < n; i++) {
    int j = arrays.fric_of[i];
    if (j < 0) continue;
    if (j == i || arrays.fric_of[j] >= 0) {
      int line = io_json_line_of(*scan, &place[J_FRICTION_OF], i);
      return j == i
                 ? perp_scan_fail(scan, line, "row %d takes its bounds from itself", i)
                 : perp_scan_fail(scan, line, "row %d takes its bounds from friction row %d", i, j);
    }
    if (arrays.mu[i] < 0)
      return perp_scan_fail(scan, io_json_line_of(*scan, &place[J_MU], i),
                            "mu must be >= 0, got %g", arrays.mu[i]);
  }
  return PERP_OK;
}

static perp_status io_json_read_bounds(perp_scan *scan, const struct member_place *place, int n,
                                       perp_lcp_arrays arrays)
{
  const double *lo = arrays.lo, *hi = arrays.hi;
  PERP_TRY(read_member(scan, place, J_LO, n, &arrays));
  PERP_TRY(read_member(scan, place, J_HI, n, &arrays));
  for (int i = 0; i < n; i++)
    if (!(lo[i] <= hi[i]) || lo[i] == HUGE_VAL || hi[i] == -HUGE_VAL)
      return perp_scan_fail(
          scan, io_json_line_of(*scan, &place[place[J_HI].at != NULL ? J_HI : J_LO], i),
          "row %d: lo = %g, hi = %g; lo <= hi, lo < inf and hi > -inf are required", i, lo[i],
          hi[i]);
  return PERP_OK;
}

static perp_status io_json_read_size(perp_scan *scan, const struct member_place *place, int *n)
{
  if (place[J_N].at != NULL) {
    go_to(scan, &place[J_N]);
    PERP_TRY(io_json_read_int(scan, "n", 0, INT_MAX, n));
  }
  if (place[J_B].at == NULL) return perp_scan_fail(scan, scan->line, "member b is missing");
  if (place[J_A].at == NULL) return perp_scan_fail(scan, scan->line, "member A is missing");
  go_to(scan, &place[J_B]);
  if (place[J_B].items < 0) return io_json_unexpected(scan, "'['");
  if (place[J_N].at != NULL && *n != place[J_B].items)
    return perp_scan_fail(scan, scan->line, "b has %d entries but n = %d", place[J_B].items, *n);
  *n = place[J_B].items;
  /* where the count is wrong a look at the rows says which one */
  if ((double)place[J_A].numbers != (double)*n * *n) {
    go_to(scan, &place[J_A]);
    PERP_TRY(io_json_read_rows(scan, *n, NULL));
    return perp_scan_fail(scan, scan->line, "A is not n x n");
  }
  return PERP_OK;
}

static bool word_at(const perp_scan *scan, const struct member_place *place, const char *word)
{
  size_t n = strlen(word);
  return place->at != NULL && (size_t)(scan->end - place->at) >= n &&
         memcmp(place->at, word, n) == 0;
}

static perp_status read_labels(perp_scan *scan, const struct member_place *place,
                               perp_lcp_problem *out)
{
  char text[LONGEST];
  if (place[J_FAMILY].at != NULL) {
    go_to(scan, &place[J_FAMILY]);
    PERP_TRY(io_json_read_text(scan, "a string", out->family, sizeof out->family));
  }
  if (place[J_PROVENANCE].at != NULL && !word_at(scan, &place[J_PROVENANCE], "null")) {
    go_to(scan, &place[J_PROVENANCE]);
    PERP_TRY(io_json_read_text(scan, "a string", text, sizeof text));
    PERP_TRY(perp_lcp_problem_note(scan->ctx, out, "%s", text));
  }
  if (place[J_FROZEN].at != NULL) {
    out->p.frozen = word_at(scan, &place[J_FROZEN], "true");
    go_to(scan, &place[J_FROZEN]);
    if (!out->p.frozen && !word_at(scan, &place[J_FROZEN], "false"))
      return io_json_unexpected(scan, "true or false");
  }
  return PERP_OK;
}

/* Bounds and friction rows that say nothing are left out: the problem is then a pure LCP. */
static void io_json_simplify(perp_lcp_problem *out)
{
  perp_lcp *lcp = &out->p;
  bool bounds = false, friction = false, cones = false, units = false, contacts = false;
  for (int i = 0; i < lcp->n; i++) {
    bounds = bounds || (lcp->lo != NULL && (lcp->lo[i] != 0 || lcp->hi[i] != HUGE_VAL));
    friction = friction || (lcp->fric_of != NULL && lcp->fric_of[i] >= 0);
    cones = cones || (lcp->cone != NULL && lcp->cone[i] != 0);
    units = units || (lcp->unit != NULL && lcp->unit[i] != 1);
    contacts = contacts || (lcp->contact_of != NULL && lcp->contact_of[i] >= 0);
  }
  if (!bounds) lcp->lo = lcp->hi = NULL;
  if (!units) lcp->unit = NULL;
  if (!contacts) lcp->contact_of = NULL;
  if (!cones) lcp->cone = NULL;
  if (friction || cones) return;
  lcp->fric_of = NULL;
  lcp->mu = NULL;
}

perp_status perp_lcp_read_json(perp_scan *scan, perp_lcp_problem *out)
{
  struct member_place place[MEMBERS] = { { 0 } };
  int n = 0;
  PERP_TRY(find_members(scan, place));
  int last = scan->line;
  PERP_TRY(io_json_read_size(scan, place, &n));
  bool solution = place[J_SOLUTION].at != NULL && !word_at(scan, &place[J_SOLUTION], "null");
  unsigned parts = PERP_PART_A | PERP_PART_BOUNDS | PERP_PART_FRICTION;
  if (place[J_CONE].at != NULL) parts |= PERP_PART_CONE;
  if (place[J_UNIT].at != NULL) parts |= PERP_PART_UNIT;
  if (place[J_CONTACT_OF].at != NULL) parts |= PERP_PART_CONTACTS;
  if (solution) parts |= PERP_PART_SOLUTION;
  PERP_TRY(perp_lcp_problem_new(scan->ctx, n, parts, out));
  perp_lcp_arrays arrays = perp_lcp_edit(out);
  PERP_TRY(read_labels(scan, place, out));
  go_to(scan, &place[J_A]);
  PERP_TRY(io_json_read_rows(scan, n, arrays.A));
  PERP_TRY(read_member(scan, place, J_B, n, &arrays));
  PERP_TRY(io_json_read_bounds(scan, place, n, arrays));
  PERP_TRY(io_json_read_friction(scan, place, n, arrays));
  PERP_TRY(read_member(scan, place, J_UNIT, n, &arrays));
  PERP_TRY(read_member(scan, place, J_CONTACT_OF, n, &arrays));
  PERP_TRY(read_member(scan, place, J_SOLUTION, n, &arrays));
  io_json_simplify(out);
  scan->line = last;
  return PERP_OK;
}
