/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words and numbers with their line. */
#include "solvers/lcp/io/io_scan.h"

#include "solvers/core/shown.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

perp_status perp_scan_open(perp_ctx *ctx, const char *name, const char *data, size_t size,
                           char comment, perp_scan *scan)
{
  *scan = (perp_scan){ .ctx = ctx,
                       .name = name,
                       .begin = data,
                       .at = data,
                       .end = data + size,
                       .line = 1,
                       .word_line = 1,
                       .comment = comment };
  scan->c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  if (scan->c == (locale_t)0) return PERP_FAIL(ctx, PERP_ERR_NOMEM, "no memory for a locale");
  return PERP_OK;
}

void perp_scan_close(perp_scan *scan)
{
  if (scan->c != (locale_t)0) freelocale(scan->c);
  scan->c = (locale_t)0;
}

perp_status perp_scan_fail(perp_scan *scan, int line, const char *fmt, ...)
{
  char text[300];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  return PERP_FAIL(scan->ctx, PERP_ERR_FORMAT, "%s:%d: %s", scan->name, line, text);
}

perp_status perp_scan_unknown(perp_scan *scan, int line, const char *what, const char *word,
                              const char *const *known, int n)
{
  const char *near = perp_closest(word, known, n);
  char list[200] = "";
  size_t used = 0;
  for (int i = 0; i < n && used < sizeof list; i++)
    used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i > 0 ? ", " : "", known[i]);
  if (near != NULL)
    return perp_scan_fail(scan, line, "unknown %s '%.40s'; did you mean '%s'? (valid: %s)", what,
                          word, near, list);
  return perp_scan_fail(scan, line, "unknown %s '%.40s' (valid: %s)", what, word, list);
}

static void skip_blanks(perp_scan *scan)
{
  for (; scan->at < scan->end; scan->at++) {
    if (scan->comment != 0 && *scan->at == scan->comment) {
      while (scan->at < scan->end && *scan->at != '\n') scan->at++;
      if (scan->at == scan->end) return;
    }
    if (!perp_scan_blank(*scan->at)) return;
    scan->line += *scan->at == '\n';
  }
}

bool perp_scan_word(perp_scan *scan, char *word, size_t size)
{
  size_t n = 0;
  skip_blanks(scan);
  scan->word_line = scan->line;
  if (scan->at == scan->end) return false;
  for (; scan->at < scan->end && !perp_scan_blank(*scan->at) &&
         !(scan->comment != 0 && *scan->at == scan->comment);
       scan->at++)
    if (n + 1 < size) /* unprintable bytes would spoil a terminal */
      word[n++] = isprint((unsigned char)*scan->at) ? *scan->at : '?';
  word[n] = '\0';
  return true;
}

bool perp_scan_at_line_end(const perp_scan *scan)
{
  const char *at = scan->at;
  while (at < scan->end && *at != '\n' && perp_scan_blank(*at)) at++;
  return at == scan->end || *at == '\n' || (scan->comment != 0 && *at == scan->comment);
}

void perp_scan_rest(perp_scan *scan, char *buf, size_t size)
{
  size_t n = 0;
  while (scan->at < scan->end && *scan->at != '\n' && perp_scan_blank(*scan->at)) scan->at++;
  for (; scan->at < scan->end && *scan->at != '\n'; scan->at++)
    if (n + 1 < size) buf[n++] = iscntrl((unsigned char)*scan->at) ? ' ' : *scan->at;
  while (n > 0 && buf[n - 1] == ' ') n--;
  buf[n] = '\0';
  perp_shown_clean(buf);
}

void perp_scan_skip_line(perp_scan *scan)
{
  while (scan->at < scan->end && *scan->at != '\n') scan->at++;
}

enum { WORD = 128 };

/* The last line that has something on it. */
static int last_line(const perp_scan *scan)
{
  const char *at = scan->at;
  return scan->line - (at > scan->begin && at[-1] == '\n');
}

/* The next word, of a number; kind: "an integer" or "a number". */
static perp_status io_scan_take(perp_scan *scan, const char *what, const char *kind,
                                char word[WORD])
{
  if (!perp_scan_word(scan, word, WORD))
    return perp_scan_fail(scan, last_line(scan), "end of file where %s is expected", what);
  if (strlen(word) == WORD - 1) /* it may have been cut */
    return perp_scan_fail(scan, scan->word_line, "%s must be %s, got '%.40s...'", what, kind, word);
  return PERP_OK;
}

perp_status perp_scan_int(perp_scan *scan, const char *what, int least, int most, int *value)
{
  char word[WORD], *end;
  PERP_TRY(io_scan_take(scan, what, "an integer", word));
  errno = 0;
  long long v = strtoll(word, &end, 10);
  if (end == word || *end != '\0')
    return perp_scan_fail(scan, scan->word_line, "%s must be an integer, got '%.40s'", what, word);
  if (errno != 0 || v < least || v > most)
    return perp_scan_fail(scan, scan->word_line, "%s must be in [%d, %d], got %.40s", what, least,
                          most, word);
  *value = (int)v;
  return PERP_OK;
}

static perp_status io_scan_number(perp_scan *scan, const char *what, bool infinite, double *value)
{
  char word[WORD], *end;
  PERP_TRY(io_scan_take(scan, what, "a number", word));
  double v = strtod_l(word, &end, scan->c);
  if (end == word || *end != '\0')
    return perp_scan_fail(scan, scan->word_line, "%s must be a number, got '%.40s'", what, word);
  if (isnan(v)) return perp_scan_fail(scan, scan->word_line, "%s is NaN", what);
  bool spelled = strpbrk(word, "nN") != NULL; /* "inf", not an overflow */
  if (isinf(v) && !(infinite && spelled))
    return perp_scan_fail(scan, scan->word_line, "%s must be finite, got %.40s%s", what, word,
                          spelled ? "" : ", beyond the range of a double");
  *value = v;
  return PERP_OK;
}

perp_status perp_scan_real(perp_scan *scan, const char *what, double *value)
{
  return io_scan_number(scan, what, false, value);
}

perp_status perp_scan_bound(perp_scan *scan, const char *what, double *value)
{
  return io_scan_number(scan, what, true, value);
}

perp_status perp_scan_reals(perp_scan *scan, const char *what, size_t n, double *x)
{
  for (size_t i = 0; i < n; i++) PERP_TRY(perp_scan_real(scan, what, &x[i]));
  return PERP_OK;
}

perp_status perp_scan_afford(perp_scan *scan, const char *what, double count)
{
  double room = (double)(scan->end - scan->at + 1) / 2;
  if (count <= room) return PERP_OK;
  int line = scan->line;
  for (const char *at = scan->at; at < scan->end; at++) line += *at == '\n' && at + 1 < scan->end;
  return perp_scan_fail(scan, line, "the file ends too early: %.10g numbers are left of %s", count,
                        what);
}
