/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small TAP-13 producer: one line per check, numbers with all their digits.
 * Exit status 0 under meson (PERP_TAP set), which reads the lines; 1 on failure by hand. */
#ifndef PERP_TAP_H
#define PERP_TAP_H

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* a sanitizer has its own way with memory */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define TAP_SANITIZED
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define TAP_SANITIZED
#endif
#endif

static int tap_count, tap_failed, tap_passed;

__attribute__((format(printf, 4, 5), unused)) static int tap_check(int pass, const char *file,
                                                                   int line, const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char text[4096];
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  for (char *c = text; *c != '\0'; c++) /* a check is one line */
    if (*c == '\n') *c = ' ';
  printf("%sok %d - %s\n", pass ? "" : "not ", ++tap_count, text);
  if (!pass) {
    tap_failed++;
    printf("# failed at %s:%d\n", file, line);
  }
  fflush(stdout);
  return pass;
}
/* The largest of errors: a NaN stays one, and fails; (fmax)(x, y) drops it. */
__attribute__((unused)) static double tap_largest(double x, double y)
{
  return isnan(x) || isnan(y) ? (double)NAN : fmax(x, y);
}
#define fmax(x, y) tap_largest(x, y)
/* cond first: the words may be of what it has set */
#define ok(cond, ...)                                                                              \
  (tap_passed = !!(cond), tap_check(tap_passed, __FILE__, __LINE__, __VA_ARGS__))
/* |got - want| <= atol + rtol |want| */
#define near(got, want, atol, rtol, ...)                                                           \
  do {                                                                                             \
    double got_ = (got), want_ = (want), allowed_ = (atol) + (rtol)*fabs(want_);                   \
    if (!ok(fabs(got_ - want_) <= allowed_, __VA_ARGS__))                                          \
      printf("# got %.17g want %.17g |diff| %.3g allowed %.3g\n", got_, want_, fabs(got_ - want_), \
             allowed_);                                                                            \
  } while (0)
/* got <= bound; NaN fails */
#define below(got, bound, ...)                                                                     \
  do {                                                                                             \
    double got_ = (got), bound_ = (bound);                                                         \
    if (!ok(got_ <= bound_, __VA_ARGS__)) printf("# got %.17g bound %.3g\n", got_, bound_);        \
  } while (0)
#define skip(why, ...)                                                                             \
  do {                                                                                             \
    printf("ok %d - ", ++tap_count);                                                               \
    printf(__VA_ARGS__);                                                                           \
    printf(" # SKIP %s\n", why);                                                                   \
  } while (0)
/* What a reader may want to know, of any number of lines: comments, each. */
__attribute__((format(printf, 1, 2), unused)) static void tap_note(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char text[8192];
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  printf("# ");
  for (const char *c = text; *c != '\0'; c++) {
    putchar(*c);
    if (*c == '\n' && c[1] != '\0') printf("# ");
  }
  if (text[0] == '\0' || text[strlen(text) - 1] != '\n') putchar('\n');
}
/* The text may have several lines, the reason is one. */
__attribute__((format(printf, 1, 2), noreturn, unused)) static void bail(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  char text[4096];
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  for (char *c = text; *c != '\0'; c++)
    if (*c == '\n') *c = ' ';
  printf("Bail out! %s\n", text);
  exit(99);
}

__attribute__((unused)) static int tap_done(void)
{
  printf("1..%d\n", tap_count);
  return tap_failed != 0 && getenv("PERP_TAP") == NULL;
}

#endif
