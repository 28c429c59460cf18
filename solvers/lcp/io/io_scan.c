/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words and numbers with their line. */
#include "solvers/lcp/io/io_scan.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

perp_status perp_scan_open(perp_ctx *ctx, const char *name, const char *data, size_t size,
                           char comment, perp_scan *t)
{
  *t = (perp_scan){ .ctx = ctx,
                    .name = name,
                    .begin = data,
                    .at = data,
                    .end = data + size,
                    .line = 1,
                    .word_line = 1,
                    .comment = comment };
  t->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (t->c == (locale_t)0) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a locale");
  return PERP_OK;
}

void perp_scan_close(perp_scan *t)
{
  if (t->c != (locale_t)0) freelocale(t->c);
  t->c = (locale_t)0;
}

perp_status perp_scan_fail(perp_scan *t, int line, const char *fmt, ...)
{
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return PERP_FAIL(t->ctx, PERP_ERR_FORMAT, "%s:%d: %s", t->name, line, text);
}

perp_status perp_scan_unknown(perp_scan *t, int line, const char *what, const char *word,
                              const char *const *known, int n)
{
  const char *near = perp_closest(word, known, n);
  char list[200] = "";
  size_t used = 0;
  for (int i = 0; i < n && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", known[i]);
  if (near != NULL)
    return perp_scan_fail(t, line, "unknown %s '%.40s'; did you mean '%s'? (valid: %s)", what, word,
                          near, list);
  return perp_scan_fail(t, line, "unknown %s '%.40s' (valid: %s)", what, word, list);
}

static void skip_blanks(perp_scan *t)
{
  for (; t->at < t->end; t->at++) {
    if (t->comment != 0 && *t->at == t->comment) {
      while (t->at < t->end && *t->at != '\n') t->at++;
      if (t->at == t->end) return;
    }
    if (!perp_scan_blank(*t->at)) return;
    t->line += *t->at == '\n';
  }
}

bool perp_scan_word(perp_scan *t, char *word, size_t size)
{
  size_t n = 0;
  skip_blanks(t);
  t->word_line = t->line;
  if (t->at == t->end) return false;
  for (; t->at < t->end && !perp_scan_blank(*t->at) && !(t->comment != 0 && *t->at == t->comment);
       t->at++)
    if (n + 1 < size) /* unprintable bytes would spoil a terminal */
      word[n++] = isprint((unsigned char)*t->at) ? *t->at : '?';
  word[n] = '\0';
  return true;
}

bool perp_scan_at_line_end(const perp_scan *t)
{
  const char *p = t->at;
  while (p < t->end && *p != '\n' && perp_scan_blank(*p)) p++;
  return p == t->end || *p == '\n' || (t->comment != 0 && *p == t->comment);
}

void perp_scan_rest(perp_scan *t, char *buf, size_t size)
{
  size_t n = 0;
  while (t->at < t->end && *t->at != '\n' && perp_scan_blank(*t->at)) t->at++;
  for (; t->at < t->end && *t->at != '\n'; t->at++)
    if (n + 1 < size) buf[n++] = iscntrl((unsigned char)*t->at) ? ' ' : *t->at;
  while (n > 0 && buf[n - 1] == ' ') n--;
  buf[n] = '\0';
}

void perp_scan_skip_line(perp_scan *t)
{
  while (t->at < t->end && *t->at != '\n') t->at++;
}

enum { WORD = 128 };

/* The last line that has something on it. */
static int last_line(const perp_scan *t)
{
  const char *p = t->at;
  return t->line - (p > t->begin && p[-1] == '\n');
}

/* The next word, of a number; kind: "an integer" or "a number". */
static perp_status io_scan_take(perp_scan *t, const char *what, const char *kind, char word[WORD])
{
  if (!perp_scan_word(t, word, WORD))
    return perp_scan_fail(t, last_line(t), "end of file where %s is expected", what);
  if (strlen(word) == WORD - 1) /* it may have been cut */
    return perp_scan_fail(t, t->word_line, "%s must be %s, got '%.40s...'", what, kind, word);
  return PERP_OK;
}

perp_status perp_scan_int(perp_scan *t, const char *what, int least, int most, int *value)
{
  char word[WORD], *end;
  PERP_TRY(io_scan_take(t, what, "an integer", word));
  errno = 0;
  long long v = strtoll(word, &end, 10);
  if (end == word || *end != '\0')
    return perp_scan_fail(t, t->word_line, "%s must be an integer, got '%.40s'", what, word);
  if (errno != 0 || v < least || v > most)
    return perp_scan_fail(t, t->word_line, "%s must be in [%d, %d], got %.40s", what, least, most,
                          word);
  *value = (int)v;
  return PERP_OK;
}

static perp_status io_scan_number(perp_scan *t, const char *what, bool infinite, double *value)
{
  char word[WORD], *end;
  PERP_TRY(io_scan_take(t, what, "a number", word));
  double v = strtod_l(word, &end, t->c);
  if (end == word || *end != '\0')
    return perp_scan_fail(t, t->word_line, "%s must be a number, got '%.40s'", what, word);
  if (isnan(v)) return perp_scan_fail(t, t->word_line, "%s is NaN", what);
  bool spelled = strpbrk(word, "nN") != NULL; /* "inf", not an overflow */
  if (isinf(v) && !(infinite && spelled))
    return perp_scan_fail(t, t->word_line, "%s must be finite, got %.40s%s", what, word,
                          spelled ? "" : ", beyond the range of a double");
  *value = v;
  return PERP_OK;
}

perp_status perp_scan_real(perp_scan *t, const char *what, double *value)
{
  return io_scan_number(t, what, false, value);
}

perp_status perp_scan_bound(perp_scan *t, const char *what, double *value)
{
  return io_scan_number(t, what, true, value);
}

perp_status perp_scan_reals(perp_scan *t, const char *what, size_t n, double *x)
{
  for (size_t i = 0; i < n; i++) PERP_TRY(perp_scan_real(t, what, &x[i]));
  return PERP_OK;
}

perp_status perp_scan_afford(perp_scan *t, const char *what, double count)
{
  double room = (double)(t->end - t->at + 1) / 2;
  if (count <= room) return PERP_OK;
  int line = t->line;
  for (const char *p = t->at; p < t->end; p++) line += *p == '\n' && p + 1 < t->end;
  return perp_scan_fail(t, line, "the file ends too early: %.10g numbers are left of %s", count,
                        what);
}
