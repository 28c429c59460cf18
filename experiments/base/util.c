/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/base/util.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- memory ---- */

static void *or_die(void *p)
{
  if (p == NULL) {
    fputs("perp: out of memory\n", stderr);
    _exit(1);
  }
  return p;
}

void *perp_xalloc(size_t count, size_t size)
{
  return or_die(calloc(count > 0 ? count : 1, size > 0 ? size : 1));
}

void *perp_xrealloc(void *p, size_t count, size_t size)
{
  return or_die(reallocarray(p, count > 0 ? count : 1, size));
}

char *perp_xstrdup(const char *s)
{
  return or_die(strdup(s));
}

static char *util_vprintf(const char *fmt, va_list ap) __attribute__((format(printf, 1, 0)));
static char *util_vprintf(const char *fmt, va_list ap)
{
  char *s = NULL;
  return or_die(vasprintf(&s, fmt, ap) < 0 ? NULL : s);
}

char *perp_xprintf(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *s = util_vprintf(fmt, ap);
  va_end(ap);
  return s;
}

struct perp_pool_block {
  struct perp_pool_block *next;
  _Alignas(16) char bytes[];
};

void *perp_pool_alloc(perp_pool *pool, size_t count, size_t size)
{
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) or_die(NULL);
  struct perp_pool_block *b = or_die(calloc(1, sizeof *b + bytes));
  b->next = pool->blocks;
  pool->blocks = b;
  return b->bytes;
}

void *perp_pool_grown(perp_pool *pool, const void *array, int n, size_t size)
{
  if ((n & (n - 1)) != 0) return (void *)(uintptr_t)array;
  void *longer = perp_pool_alloc(pool, 2 * (size_t)n + 1, size);
  if (n > 0) memcpy(longer, array, (size_t)n * size);
  return longer;
}

char *perp_pool_strndup(perp_pool *pool, const char *s, size_t n)
{
  char *copy = perp_pool_alloc(pool, n + 1, 1);
  memcpy(copy, s, n);
  return copy;
}

char *perp_pool_strdup(perp_pool *pool, const char *s)
{
  return perp_pool_strndup(pool, s, strlen(s));
}

char *perp_pool_printf(perp_pool *pool, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char *s = util_vprintf(fmt, ap), *copy = perp_pool_strdup(pool, s);
  va_end(ap);
  free(s);
  return copy;
}

void perp_pool_free(perp_pool *pool)
{
  while (pool->blocks != NULL) {
    struct perp_pool_block *next = pool->blocks->next;
    free(pool->blocks);
    pool->blocks = next;
  }
}

/* The slot of a text, or the free one where it belongs. */
static int names_slot(const perp_names *names, const char *text)
{
  int k = (int)(perp_hash64(text, strlen(text), 0) & (uint64_t)(names->slots - 1));
  while (names->slot[k] > 0 && strcmp(names->text[names->slot[k] - 1], text) != 0)
    k = (k + 1) & (names->slots - 1);
  return k;
}

int perp_names_index(perp_pool *pool, perp_names *names, const char *text, int most)
{
  if (names->n > 0 && strcmp(names->text[names->n - 1], text) == 0) return names->n - 1;
  if (2 * names->n >= names->slots) { /* never more than half full */
    names->slots = names->slots > 0 ? 2 * names->slots : 32;
    names->slot = perp_pool_alloc(pool, (size_t)names->slots, sizeof *names->slot);
    for (int i = 0; i < names->n; i++) names->slot[names_slot(names, names->text[i])] = i + 1;
  }
  const int k = names_slot(names, text);
  if (names->slot[k] > 0) return names->slot[k] - 1;
  if (names->n == most) return -1;
  names->text = perp_pool_grown(pool, names->text, names->n, sizeof *names->text);
  names->text[names->n] = text;
  names->slot[k] = names->n + 1;
  return names->n++;
}

void perp_text_put(perp_text *t, const char *bytes, size_t n)
{
  if (t->n + n + 1 > t->size) {
    t->size = 2 * (t->n + n + 1) + 64;
    t->s = perp_xrealloc(t->s, t->size, 1);
  }
  memcpy(t->s + t->n, bytes, n);
  t->n += n;
  t->s[t->n] = '\0';
}

void perp_text_vadd(perp_text *t, const char *fmt, va_list ap)
{
  char *s = util_vprintf(fmt, ap);
  perp_text_put(t, s, strlen(s));
  free(s);
}

void perp_text_add(perp_text *t, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text_vadd(t, fmt, ap);
  va_end(ap);
}

void perp_text_free(perp_text *t)
{
  free(t->s);
  *t = (perp_text){ 0 };
}

/* ---- JSON out ---- */

void perp_write_quoted(FILE *out, const char *s)
{
  putc('"', out);
  for (; *s != '\0'; s++) {
    unsigned char c = (unsigned char)*s;
    if (c == '"' || c == '\\')
      fprintf(out, "\\%c", c);
    else if (c == '\n')
      fputs("\\n", out);
    else if (c == '\t')
      fputs("\\t", out);
    else if (c < 0x20 || c == 0x7f)
      fprintf(out, "\\u%04x", c);
    else
      putc(c, out);
  }
  putc('"', out);
}

static void json_lead(perp_json *j, const char *key)
{
  if (j->depth > 0) {
    if (j->filled[j->depth]) fputs(j->indent ? "," : ", ", j->out);
    j->filled[j->depth] = true;
    if (j->indent) fprintf(j->out, "\n%*s", 2 * j->depth, "");
  }
  if (key != NULL) {
    perp_write_quoted(j->out, key);
    fputs(": ", j->out);
  }
}

void perp_json_open(perp_json *j, const char *key, char bracket)
{
  json_lead(j, key);
  putc(bracket, j->out);
  j->filled[++j->depth] = false;
}

void perp_json_close(perp_json *j, char bracket)
{
  bool filled = j->filled[j->depth--];
  if (filled && j->indent) fprintf(j->out, "\n%*s", 2 * j->depth, "");
  putc(bracket, j->out);
  if (j->depth == 0) putc('\n', j->out);
}

void perp_json_text(perp_json *j, const char *key, const char *value)
{
  json_lead(j, key);
  if (value == NULL)
    fputs("null", j->out);
  else
    perp_write_quoted(j->out, value);
}

void perp_json_real(perp_json *j, const char *key, double value)
{
  if (isnan(value) && key != NULL) return; /* a figure that a run does not have is absent */
  json_lead(j, key);
  if (isfinite(value))
    fprintf(j->out, "%.17g", value);
  else
    fputs(isnan(value) ? "null" : value > 0 ? "\"inf\"" : "\"-inf\"", j->out);
}

void perp_json_int(perp_json *j, const char *key, int64_t value)
{
  json_lead(j, key);
  fprintf(j->out, "%lld", (long long)value);
}

void perp_json_bool(perp_json *j, const char *key, bool value)
{
  json_lead(j, key);
  fputs(value ? "true" : "false", j->out);
}

static void json_members(perp_json *j, const char *form, va_list ap)
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
      perp_json_open(j, key, what);
    else if (what == '}' || what == ']')
      perp_json_close(j, what);
    else if (what == 's')
      perp_json_text(j, key, va_arg(ap, const char *));
    else if (what == 'g')
      perp_json_real(j, key, va_arg(ap, double));
    else if (what == 'd' && truth)
      perp_json_bool(j, key, va_arg(ap, int) != 0);
    else if (what == 'd')
      perp_json_int(j, key, va_arg(ap, int));
    else { /* %lld */
      perp_json_int(j, key, va_arg(ap, long long));
      form += 2;
    }
  }
}

void perp_json_members(perp_json *j, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  json_members(j, form, ap);
  va_end(ap);
}

void perp_json_object(perp_json *j, const char *key, const char *form, ...)
{
  va_list ap;
  va_start(ap, form);
  perp_json_open(j, key, '{');
  json_members(j, form, ap);
  perp_json_close(j, '}');
  va_end(ap);
}

void perp_json_reals(perp_json *j, const char *key, const double *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_real(j, NULL, x[i]);
  perp_json_close(j, ']');
}

void perp_json_ints(perp_json *j, const char *key, const int *x, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_int(j, NULL, x[i]);
  perp_json_close(j, ']');
}

void perp_json_texts(perp_json *j, const char *key, const char *const *value, int n)
{
  perp_json_open(j, key, '[');
  for (int i = 0; i < n; i++) perp_json_text(j, NULL, value[i]);
  perp_json_close(j, ']');
}

void perp_json_floats(perp_json *j, const char *key, const float *v, size_t n)
{
  char *text = perp_base64(v, n * sizeof *v); /* both supported processors are little endian */
  perp_json_text(j, key, text);
  free(text);
}

void perp_json_raw(perp_json *j, const char *key, const char *json)
{
  json_lead(j, key);
  fputs(json, j->out);
}

double perp_json_number(const struct json_t *value)
{
  if (json_is_number(value)) return json_number_value(value);
  const char *text = json_string_value(value);
  if (text != NULL && strcmp(text, "inf") == 0) return HUGE_VAL;
  if (text != NULL && strcmp(text, "-inf") == 0) return -HUGE_VAL;
  return (double)NAN;
}

/* ---- numbers for people ---- */

const char *perp_number(double v, char buf[32])
{
  if (isnan(v))
    snprintf(buf, 32, "-");
  else
    snprintf(buf, 32, v != 0 && isfinite(v) && (fabs(v) < 1e-3 || fabs(v) >= 1e5) ? "%.2e" : "%.3g",
             v);
  return buf;
}

const char *perp_brief(double v, char buf[32])
{
  if (isnan(v))
    snprintf(buf, 32, "-");
  else
    snprintf(buf, 32, "%.4g", v);
  return buf;
}

const char *perp_brief_time(double s, char buf[32])
{
  if (!(s >= 0) || s > 1e9)
    snprintf(buf, 32, "?");
  else if (s < 10)
    snprintf(buf, 32, "%.1f s", s);
  else if (s < 100)
    snprintf(buf, 32, "%.0f s", s);
  else if (s < 3600)
    snprintf(buf, 32, "%d min %02d s", (int)s / 60, (int)s % 60);
  else
    snprintf(buf, 32, "%d h %02d min", (int)s / 3600, (int)s / 60 % 60);
  return buf;
}

/* ---- small languages ---- */

/* Number followed by one of the units, in any case of letters when `fold`. */
static perp_status util_scaled(perp_ctx *ctx, const char *what, const char *text,
                               const char *const *units, const double *factors, bool bare,
                               double *value)
{
  char *end;
  double v = strtod(text, &end);
  if (end == text || !isfinite(v))
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a %s", text, what);
  if (v < 0) return PERP_FAIL(ctx, PERP_ERR_OPTION, "a %s cannot be negative: got %s", what, text);
  while (isspace((unsigned char)*end)) end++;
  char list[128] = "";
  for (int i = 0; units[i] != NULL; i++) {
    if (strcmp(end, units[i]) == 0) {
      *value = v * factors[i];
      return PERP_OK;
    }
    size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, "%s%s", i ? ", " : "", units[i]);
  }
  if (*end == '\0' && (bare || v == 0)) {
    *value = v;
    return PERP_OK;
  }
  return PERP_FAIL(ctx, PERP_ERR_OPTION,
                   *end == '\0' ? "'%s': a %s needs a unit%.0s; use one of: %s"
                                : "'%s' is not a %s: unknown unit '%s'; use one of: %s",
                   text, what, end, list);
}

perp_status perp_parse_duration(perp_ctx *ctx, const char *text, double *seconds)
{
  static const char *const units[] = { "s", "ms", "us", "m", "min", "h", "d", NULL };
  static const double factors[] = { 1, 1e-3, 1e-6, 60, 60, 3600, 86400 };
  return util_scaled(ctx, "duration", text, units, factors, false, seconds);
}

perp_status perp_parse_size(perp_ctx *ctx, const char *text, double *bytes)
{
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "kB", "MB", "GB", NULL };
  static const double factors[] = {
    1, 1024., 1048576., 1073741824., 1099511627776., 1e3, 1e6, 1e9
  };
  return util_scaled(ctx, "size", text, units, factors, true, bytes);
}

perp_status perp_parse_int(perp_ctx *ctx, const char *text, int64_t lo, int64_t hi, int64_t *value)
{
  char *end;
  errno = 0;
  long long v = strtoll(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || v < lo || v > hi)
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "'%s' is not a whole number in [%lld, %lld]", text,
                     (long long)lo, (long long)hi);
  *value = v;
  return PERP_OK;
}

const perp_opt *perp_option(const perp_desc *d, const char *key)
{
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++)
    if (strcmp(o->key, key) == 0) return o;
  return NULL;
}

const perp_opt *perp_option_text(const perp_ctx *ctx, perp_kind kind, const char *plugin,
                                 const char *key, char *buf, size_t size)
{
  perp_ctx quiet = *ctx;
  perp_spec spec;
  buf[0] = '\0';
  if (plugin[0] == '\0' || perp_spec_parse(&quiet, kind, plugin, &spec) != PERP_OK) return NULL;
  const perp_opt *o = perp_option(spec.d, key);
  if (o != NULL) perp_opt_format(o, spec.opts, buf, size);
  perp_spec_free(&spec);
  return o;
}

bool perp_unit_is(const char *alternatives, const char *unit)
{
  for (const char *s = alternatives;; s += 4) {
    const char *end = strstr(s, " or ");
    size_t n = end != NULL ? (size_t)(end - s) : strlen(s);
    if (strlen(unit) == n && strncmp(s, unit, n) == 0) return true;
    if (end == NULL) return false;
    s = end;
  }
}

uint64_t perp_hash64(const void *bytes, size_t n, uint64_t seed)
{
  const unsigned char *p = bytes;
  uint64_t h = 0xcbf29ce484222325u ^ seed;
  for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 0x100000001b3u;
  h ^= h >> 33;
  h *= 0xff51afd7ed558ccdu;
  h ^= h >> 33;
  h *= 0xc4ceb9fe1a85ec53u;
  return h ^ h >> 33;
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

bool perp_colour(FILE *stream)
{
  const char *none = getenv("NO_COLOR"), *term = getenv("TERM");
  return isatty(fileno(stream)) && (none == NULL || none[0] == '\0') && term != NULL &&
         strcmp(term, "dumb") != 0;
}
