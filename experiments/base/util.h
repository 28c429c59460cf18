/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Small tools of the runner: memory, growing text, files, JSON out, tables, durations.
 *
 * The runner is a program, not a library: when its own book-keeping runs out of memory it says so
 * on stderr and ends with status 1.  Solvers and cells never pass through these functions. */
#ifndef PERP_UTIL_H
#define PERP_UTIL_H

#include "experiments/base/files.h"

#include <stdarg.h>

/* ---- memory ---- */

void *perp_xalloc(size_t count, size_t size); /* zeroed; never NULL */
void *perp_xrealloc(void *p, size_t count, size_t size);
char *perp_xstrdup(const char *s);
char *perp_xprintf(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Everything that lives as long as a study or a plan, freed at once. */
typedef struct perp_pool {
  struct perp_pool_block *blocks;
} perp_pool;
void *perp_pool_alloc(perp_pool *pool, size_t count, size_t size); /* zeroed; never NULL */
/* An array of n things with room for one more: longer, and a copy, whenever n is a power of two. */
void *perp_pool_grown(perp_pool *pool, const void *array, int n, size_t size);
char *perp_pool_strdup(perp_pool *pool, const char *s);
char *perp_pool_strndup(perp_pool *pool, const char *s, size_t n);
char *perp_pool_printf(perp_pool *pool, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_pool_free(perp_pool *pool);

/* Different texts (borrowed), numbered in the order in which they come. */
typedef struct perp_names {
  int n;
  const char **text;
  int *slot, slots; /* [slots] where a text stands, by its hash: number + 1, 0 free */
} perp_names;
/* The number of a text, which is added when it is new; -1 when there are `most` others (-1: no
 * limit). */
int perp_names_index(perp_pool *pool, perp_names *names, const char *text, int most);

/* Growing text; s is NULL while empty, always terminated afterwards. */
typedef struct perp_text {
  char *s;
  size_t n, size;
} perp_text;
void perp_text_add(perp_text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void perp_text_vadd(perp_text *t, const char *fmt, va_list ap)
    __attribute__((format(printf, 2, 0)));
void perp_text_put(perp_text *t, const char *bytes, size_t n);
void perp_text_free(perp_text *t);

/* ---- JSON out ---- */

/* Numbers as %.17g.  A member that is not a number (NaN) is left out, in a list it is null;
 * infinite values, which JSON cannot write, are the strings "inf" and "-inf".  key NULL: inside a
 * list. `indent` true puts each member on a line of its own. */
typedef struct perp_json {
  FILE *out;
  bool indent;
  int depth;
  bool filled[32];
} perp_json;
void perp_json_open(perp_json *j, const char *key, char bracket);      /* '{' or '[' */
void perp_json_close(perp_json *j, char bracket);                      /* '}' or ']' */
void perp_json_text(perp_json *j, const char *key, const char *value); /* NULL gives null */
void perp_json_real(perp_json *j, const char *key, double value);
void perp_json_int(perp_json *j, const char *key, int64_t value);
void perp_json_bool(perp_json *j, const char *key, bool value);
/* Several members in one call.  The form names them, each with its value in the way of printf, so
 * that the compiler checks the types: "name %s"   a text, NULL gives null      "share %g"    a real
 * number "rows %d", "steps %lld"   whole          "solved? %d"  true or false
 *   "{", "key: {", "}", "[", ...   open and close
 * perp_json_members(&j, "{ name %s, rows %d, solved? %d }", name, n, good); */
void perp_json_members(perp_json *j, const char *form, ...) __attribute__((format(printf, 2, 3)));
/* An object of such members.  key NULL: inside a list. */
void perp_json_object(perp_json *j, const char *key, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
/* Lists. */
void perp_json_reals(perp_json *j, const char *key, const double *x, int n);
void perp_json_ints(perp_json *j, const char *key, const int *x, int n);
void perp_json_texts(perp_json *j, const char *key, const char *const *value, int n);
/* float32, little endian, as one base64 text: 5.4 bytes a number. */
void perp_json_floats(perp_json *j, const char *key, const float *v, size_t n);
/* A text in quotes as JSON has it, which YAML reads, too. */
void perp_write_quoted(FILE *out, const char *s);
/* Text that is JSON already. */
void perp_json_raw(perp_json *j, const char *key, const char *json);
/* A value read back as a number: JSON number, or "inf", "-inf"; NaN when absent, null or "nan", as
 * journals of before have it.  (Of jansson.) */
struct json_t;
double perp_json_number(const struct json_t *value);

/* ---- tables for people ---- */

enum { PERP_TABLE_COLUMNS = 16, PERP_TABLE_WIDTH = 80 };
/* Columns of a stream: those of its terminal, else COLUMNS where it is set, else 80; at least 40.
 */
int perp_width(FILE *out);
typedef struct perp_table {
  int columns, n;
  bool right[PERP_TABLE_COLUMNS]; /* numbers */
  int fold;    /* so many of the first columns may become lines above the rows that share them */
  int spare;   /* so many of the last columns may be left out */
  char **cell; /* [n] row by row, owned */
} perp_table;
/* The first row is the head; columns whose letter in align is 'r' are flush right. */
void perp_table_init(perp_table *t, const char *align);
/* The next cell of the row, then of the next one. */
void perp_table_put(perp_table *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* One row: `columns` strings, copied. */
void perp_table_row(perp_table *t, const char *const *text);
/* What does not fit in perp_width(out): the first columns become lines above the rows that share
 * them (fold), as far as that needs and first where rows share them; such rows are put together.
 * Then words lose their ends ("accel.", all of a column alike), the last columns go (spare; then
 * false is returned), and what is still too wide is shortened with "..", the widest first, where
 * texts do not differ; none of it further than they can be told apart. */
bool perp_table_print(const perp_table *t, FILE *out);
void perp_table_free(perp_table *t);
/* Text wrapped at that width, every line indented. */
void perp_wrap(FILE *out, int indent, const char *text);
void perp_wrapf(FILE *out, int indent, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* The same behind a label that is shorter than the indent. */
void perp_wrap_after(FILE *out, const char *label, int indent, const char *text);
/* Narrow columns with long names: the letter of name k at their head, and what the letters from ..
 * to - 1 are, "a=arch b=...". */
char perp_names_letter(int k);
void perp_names_legend(FILE *out, const perp_names *names, int from, int to);

/* Figure of a table, three digits: "0.0123", "12.3", "1.23e-05"; "-" when NaN.  One form
 * everywhere. */
const char *perp_number(double v, char buf[32]);
/* Number for people: 4 significant digits; "-" when NaN. */
const char *perp_brief(double v, char buf[32]);
/* "0.4 s", "12 s", "3 min 20 s", "2 h 05 min" */
const char *perp_brief_time(double seconds, char buf[32]);

/* ---- small languages ---- */

/* "90s", "10m", "2h", "1.5 min", "500ms": seconds.  A bare number is refused except 0. */
perp_status perp_parse_duration(perp_ctx *ctx, const char *text, double *seconds);
/* "512MiB", "1 GiB", "2GB", "4096": bytes. */
perp_status perp_parse_size(perp_ctx *ctx, const char *text, double *bytes);
/* A whole number in [lo, hi], nothing behind it. */
perp_status perp_parse_int(perp_ctx *ctx, const char *text, int64_t lo, int64_t hi, int64_t *value);

/* An option of a plug-in; NULL when it has none of that name. */
const perp_opt *perp_option(const perp_desc *d, const char *key);
/* The same of the plug-in in a text ("psor:omega=1.3"), with its value there in buf; NULL, and an
 * empty buf, also when the text is empty or no such plug-in. */
const perp_opt *perp_option_text(const perp_ctx *ctx, perp_kind kind, const char *plugin,
                                 const char *key, char *buf, size_t size);

/* "m or rad": is `unit` one of the alternatives? */
bool perp_unit_is(const char *alternatives, const char *unit);

/* FNV-1a over the bytes, then a finalizer that spreads every bit: 64 bits, the same on every
 * machine. Collisions are not excluded; whoever builds a set of keys checks for them. */
uint64_t perp_hash64(const void *bytes, size_t n, uint64_t seed);

/* Bytes [n] as base64 text; free it. */
char *perp_base64(const void *bytes, size_t n);

/* May colours be used on this stream?  (a terminal, NO_COLOR unset, TERM not "dumb") */
bool perp_colour(FILE *stream);

#endif
