/* SPDX-License-Identifier: GPL-3.0-or-later */
/* JSON out; what perp reads back goes through jansson. */
#ifndef PERP_JSON_H
#define PERP_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Numbers as %.17g.  A member that is not a number (NaN) is left out, in a list it is null;
 * infinite values, which JSON cannot write, are the strings "inf" and "-inf".  key NULL: inside a
 * list. `indent` true puts each member on a line of its own. */
typedef struct perp_json {
  FILE *out;
  bool indent;
  int depth;
  bool filled[32];
} perp_json;
/* From here on jansson ends the process where memory does: a text that lacks a member would read as
 * whole.  Before its first use. */
void perp_json_memory(void);
void perp_json_open(perp_json *json, const char *key, char bracket);      /* '{' or '[' */
void perp_json_close(perp_json *json, char bracket);                      /* '}' or ']' */
void perp_json_text(perp_json *json, const char *key, const char *value); /* NULL gives null */
void perp_json_real(perp_json *json, const char *key, double value);
void perp_json_int(perp_json *json, const char *key, int64_t value);
void perp_json_bool(perp_json *json, const char *key, bool value);
/* Several members in one call.  The form names them, each with its value in the way of printf, so
 * that the compiler checks the types: "name %s"   a text, NULL gives null      "share %g"    a real
 * number "rows %d", "steps %lld"   whole          "solved? %d"  true or false
 *   "{", "key: {", "}", "[", ...   open and close
 * perp_json_members(&j, "{ name %s, rows %d, solved? %d }", name, n, good); */
void perp_json_members(perp_json *json, const char *form, ...)
    __attribute__((format(printf, 2, 3)));
/* An object of such members.  key NULL: inside a list. */
void perp_json_object(perp_json *json, const char *key, const char *form, ...)
    __attribute__((format(printf, 3, 4)));
/* Lists. */
void perp_json_reals(perp_json *json, const char *key, const double *x, int n);
void perp_json_ints(perp_json *json, const char *key, const int *x, int n);
void perp_json_texts(perp_json *json, const char *key, const char *const *value, int n);
/* float32, little endian, as one base64 text: 5.4 bytes a number. */
void perp_json_floats(perp_json *json, const char *key, const float *v, size_t n);
/* A text in quotes as JSON has it, which YAML reads, too. */
void perp_write_quoted(FILE *out, const char *s);
/* Text that is JSON already. */
void perp_json_raw(perp_json *j, const char *key, const char *json);
/* A value read back as a number: JSON number, or "inf", "-inf"; NaN when absent, null or "nan", as
 * journals of before have it.  (Of jansson.) */
struct json_t;
double perp_json_number(const struct json_t *value);
/* JSON of others as of jansson, an object or a list: texts in it have no characters that may not be
 * shown (solvers/core/shown.h), they are question marks.  NULL: it is none, or no regular file. */
struct json_t *perp_json_read(const char *text, size_t n);
struct json_t *perp_json_read_file(const char *path);
/* Bytes [n] as base64 text; free it. */
char *perp_base64(const void *bytes, size_t n);

#endif
