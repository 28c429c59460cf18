/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/json.h"

#include "experiments/base/memory.h"
#include "solvers/core/shown.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void perp_write_quoted(FILE *out, const char *text)
{
  putc('"', out);
  for (int n; *text != '\0'; text += n > 0 ? n : 1) {
    unsigned code = 0;
    n = perp_utf8(text, &code);
    if (*text == '"' || *text == '\\')
      fprintf(out, "\\%c", *text);
    else if (*text == '\n')
      fputs("\\n", out);
    else if (*text == '\t')
      fputs("\\t", out);
    else if (n == 0 || perp_shown_bytes(text) == 0) /* what is no UTF-8: the sign for that */
      fprintf(out, "\\u%04x", n == 0 ? 0xfffd : code);
    else
      fwrite(text, 1, (size_t)n, out);
  }
  putc('"', out);
}

static void json_lead(perp_json *json, const char *key)
{
  if (json->depth > 0) {
    if (json->filled[json->depth]) fputs(json->indent ? "," : ", ", json->out);
    json->filled[json->depth] = true;
    if (json->indent) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  }
  if (key != NULL) {
    perp_write_quoted(json->out, key);
    fputs(": ", json->out);
  }
}

void perp_json_open(perp_json *json, const char *key, char bracket)
{
  json_lead(json, key);
  putc(bracket, json->out);
  json->filled[++json->depth] = false;
}

void perp_json_close(perp_json *json, char bracket)
{
  bool filled = json->filled[json->depth--];
  if (filled && json->indent) fprintf(json->out, "\n%*s", 2 * json->depth, "");
  putc(bracket, json->out);
  if (json->depth == 0) putc('\n', json->out);
}

void perp_json_text(perp_json *json, const char *key, const char *value)
{
  json_lead(json, key);
  if (value == NULL)
    fputs("null", json->out);
  else
    perp_write_quoted(json->out, value);
}

void perp_json_real(perp_json *json, const char *key, double value)
{
  if (isnan(value) && key != NULL) return; /* a figure that a run does not have is absent */
  json_lead(json, key);
  if (isfinite(value))
    fprintf(json->out, "%.17g", value);
  else
    fputs(isnan(value) ? "null" : value > 0 ? "\"inf\"" : "\"-inf\"", json->out);
}

void perp_json_int(perp_json *json, const char *key, int64_t value)
{
  json_lead(json, key);
  fprintf(json->out, "%lld", (long long)value);
}

void perp_json_bool(perp_json *json, const char *key, bool value)
{
  json_lead(json, key);
  fputs(value ? "true" : "false", json->out);
}

static void json_members(perp_json *json, const char *form, va_list ap)
{
  for (form += strspn(form, ", "); *form != '\0'; form += strspn(form, ", ")) {
    char name[64];
    const size_t n = strcspn(form, " ?:{}[]");
    const char *key = n > 0 ? name : NULL;
    const bool truth = form[n] == '?';
    snprintf(name, sizeof name, "%.*s", (int)n, form);
    form += n + strspn(form + n, "?: %");
    const char what = *form++;
    if (what == '{' || what == '[')
      perp_json_open(json, key, what);
    else if (what == '}' || what == ']')
      perp_json_close(json, what);
    else if (what == 's')
      perp_json_text(json, key, va_arg(ap, const char *));
    else if (what == 'g')
      perp_json_real(json, key, va_arg(ap, double));
    else if (what == 'd' && truth)
      perp_json_bool(json, key, va_arg(ap, int) != 0);
    else if (what == 'd')
      perp_json_int(json, key, va_arg(ap, int));
    else { /* %lld */
      perp_json_int(json, key, va_arg(ap, long long));
      form += 2;
    }
  }
}

void perp_json_members(perp_json *json, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  json_members(json, form, ap);
  va_end(ap);
}

void perp_json_object(perp_json *json, const char *key, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  perp_json_open(json, key, '{');
  json_members(json, form, ap);
  perp_json_close(json, '}');
  va_end(ap);
}

void perp_json_reals(perp_json *json, const char *key, const double *x, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(json, NULL, x[i]);
  perp_json_close(json, ']');
}

void perp_json_ints(perp_json *json, const char *key, const int *x, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_int(json, NULL, x[i]);
  perp_json_close(json, ']');
}

void perp_json_texts(perp_json *json, const char *key, const char *const *value, int n)
{
  perp_json_open(json, key, '[');
  for (int i = 0; i < n; i++) perp_json_text(json, NULL, value[i]);
  perp_json_close(json, ']');
}

void perp_json_floats(perp_json *json, const char *key, const float *v, size_t n)
{
  char *text = perp_base64(v, n * sizeof *v); /* both supported processors are little endian */
  perp_json_text(json, key, text);
  free(text);
}

void perp_json_raw(perp_json *out, const char *key, const char *json)
{
  json_lead(out, key);
  fputs(json, out->out);
}

char *perp_base64(const void *bytes, size_t n)
{
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *b = bytes;
  char *text = perp_xalloc((n + 2) / 3 * 4 + 1, 1), *to = text;
  for (size_t i = 0; i < n; i += 3) {
    unsigned b1 = i + 1 < n ? b[i + 1] : 0, b2 = i + 2 < n ? b[i + 2] : 0;
    *to++ = digits[b[i] >> 2];
    *to++ = digits[(b[i] & 3u) << 4 | b1 >> 4];
    *to++ = i + 1 < n ? digits[(b1 & 15) << 2 | b2 >> 6] : '=';
    *to++ = i + 2 < n ? digits[b2 & 63] : '=';
  }
  return text;
}
