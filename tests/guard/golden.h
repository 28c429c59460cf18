/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A file of numbers, a line each of "name: what number, what number, ...", and what has become of
 * them. */
#ifndef TESTS_GUARD_GOLDEN_H
#define TESTS_GUARD_GOLDEN_H

#include "tests/option_values.h"
#include "tests/tap.h"
#include "experiments/base/memory.h"
#include "experiments/base/files.h"

#include <stdarg.h>
#include <string.h>

enum { GOLDEN_LINES = 4096, GOLDEN_NUMBERS = 72 };

typedef struct golden_line {
  char name[160];
  int n;
  const char *what[GOLDEN_NUMBERS];
  double number[GOLDEN_NUMBERS], room[GOLDEN_NUMBERS]; /* by which it may change */
} golden_line;
static golden_line golden[GOLDEN_LINES];
static int golden_lines;

__attribute__((format(printf, 1, 2), unused)) static golden_line *golden_add(const char *fmt, ...)
{
  if (golden_lines == GOLDEN_LINES) bail("more than %d lines", GOLDEN_LINES);
  golden_line *l = &golden[golden_lines++];
  *l = (golden_line){ 0 };
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(l->name, sizeof l->name, fmt, ap);
  va_end(ap);
  return l;
}

/* what: a string that lives on */
__attribute__((unused)) static void golden_put(golden_line *l, const char *what, double number,
                                               double room)
{
  if (l->n == GOLDEN_NUMBERS) bail("%s: more than %d numbers", l->name, GOLDEN_NUMBERS);
  l->what[l->n] = what;
  l->number[l->n] = number;
  l->room[l->n++] = room;
}

/* LCP methods that are led by rounding, and so by the kernels that a processor gets, where A is not
 * definite. */
static inline bool golden_led(const char *name)
{
  static const char *const led[] = { "staggered",      "fischer-newton", "minmap-newton",
                                     "interior-point", "cone-newton",    "fixed-point",
                                     "auto",           "prox",           "aclm" };
  for (size_t k = 0; k < sizeof led / sizeof *led; k++)
    if (strncmp(name, led[k], strlen(led[k])) == 0) return true;
  return false;
}

/* One number for many: which is larger by how much shows.  What is infinite or unknown is left out.
 */
static inline void golden_put_sum(golden_line *l, const char *what, int n, const double *x,
                                  double room)
{
  double sum = 0, size = 0;
  for (int i = 0; i < n; i++) {
    const double weight = 1 + fmod(0.6180339887498949 * (i + 1), 1);
    if (!isfinite(x[i])) continue;
    sum += weight * x[i];
    size += fabs(x[i]);
  }
  golden_put(l, what, sum, 1e-9 + room * size);
}

/* A line of the file against one that was made: -1 another line, 0 differs (told: it is printed
 * how), 1 the same. */
static int golden_compare(const char *text, const golden_line *l, bool told)
{
  size_t n = strlen(l->name);
  if (strncmp(text, l->name, n) != 0 || text[n] != ':' || text[n + 1] != ' ') return -1;
  const char *end = text + strcspn(text, "\n");
  int i = 0, same = 1;
  for (const char *s = text + n + 2; s < end; i++) {
    size_t word = i < l->n ? strlen(l->what[i]) : 0;
    if (word == 0 || strncmp(s, l->what[i], word) != 0 || s[word] != ' ') {
      if (told) printf("# %s: the file has %.*s\n", l->name, (int)strcspn(s, ",\n"), s);
      return 0;
    }
    double was = strtod(s + word, NULL);
    if (!(fabs(was - l->number[i]) <= l->room[i])) {
      if (told) printf("# %s: %s: %.9g, was %.9g\n", l->name, l->what[i], l->number[i], was);
      same = 0;
    }
    s += strcspn(s, ",\n");
    while (s < end && (*s == ',' || *s == ' ')) s++;
  }
  if (i != l->n && told) printf("# %s: %d numbers, the file has %d\n", l->name, l->n, i);
  return same && i == l->n;
}

static void golden_check(const char *path)
{
  char *file = perp_read_file(path, NULL);
  if (file == NULL) bail("cannot read %s", path);
  static bool found[GOLDEN_LINES];
  int other = 0;
  for (const char *s = file; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
    if (*s == '#' || *s == '\n') continue;
    int same = -1;
    for (int i = 0; i < golden_lines && same < 0; i++) {
      if (found[i] || (same = golden_compare(s, &golden[i], true)) < 0) continue;
      found[i] = true;
      ok(same, "%s", golden[i].name);
    }
    if (same >= 0) continue;
    printf("# gone: %.*s\n", (int)strcspn(s, "\n"), s);
    other++;
  }
  for (int i = 0; i < golden_lines; i++)
    if (!found[i]) {
      printf("# not in the file: %s\n", golden[i].name);
      other++;
    }
  ok(other == 0, "the same %d lines as in the file", golden_lines);
  if (tap_failed > 0) printf("# if that is as it should be: ninja -C build accept-work\n");
  free(file);
}

/* Lines whose numbers are within their tolerances stay as they are in the file. */
static void golden_write(const char *path)
{
  char *was = perp_read_file(path, NULL);
  FILE *f = fopen(path, "w");
  int changed = 0;
  if (f == NULL) bail("cannot write %s", path);
  fprintf(f, "# Written by `ninja -C build accept-work`, read by the test of the same name.\n");
  for (int i = 0; i < golden_lines; i++) {
    const golden_line *l = &golden[i];
    const char *old = was;
    while (old != NULL && *old != '\0' && golden_compare(old, l, false) != 1) {
      old += strcspn(old, "\n");
      old += *old == '\n';
    }
    if (old != NULL && *old != '\0') {
      fprintf(f, "%.*s\n", (int)strcspn(old, "\n"), old);
      continue;
    }
    fprintf(f, "%s:", l->name);
    for (int k = 0; k < l->n; k++)
      fprintf(f, "%s %s %.10g", k > 0 ? "," : "", l->what[k], l->number[k]);
    fputc('\n', f);
    changed++;
  }
  if (fclose(f) != 0) bail("cannot write %s", path);
  printf("# %s: %d lines, %d of them new or changed\n", path, golden_lines, changed);
  free(was);
}

/* Check against tests/guard/NAME, or write it. */
__attribute__((unused)) static void golden_end(const char *name, bool accept)
{
  const char *root = getenv("PERP_SOURCE");
  if (root == NULL) bail("PERP_SOURCE names no folder");
  char *path = perp_xprintf("%s/tests/guard/%s", root, name);
  (accept ? golden_write : golden_check)(path);
  free(path);
}

#endif
