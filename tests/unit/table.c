/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of a terminal in little room: nothing wider than it, rows that share their first columns,
 * words that lose their ends, columns that go; what differs stays different. */
#include "tests/tap.h"
#include "experiments/base/table.h"

#include <stdlib.h>
#include <string.h>

static const char *const rows[][5] = {
  { "scene", "formulation", "best", "figure", "next" },
  { "chain:links=6", "velocity", "baumgarte:alpha=50", "0.0148", "post:velocity=true" },
  { "pendulum", "velocity", "post", "1.2e-05", "none" },
  { "chain:links=6", "acceleration", "baumgarte:alpha=200", "0.00291", "baumgarte:alpha=2000" },
  { "pendulum", "acceleration", "post:velocity=true", "3e-09", "baumgarte:alpha=50" },
};

/* The table in so many columns; *whole: whether all of its columns are there. */
static char *table_printed(int width, int fold, int spare, bool *whole)
{
  perp_table t;
  char number[16], *text = NULL;
  size_t n = 0;
  snprintf(number, sizeof number, "%d", width);
  setenv("COLUMNS", number, 1);
  perp_table_init(&t, "lllrl");
  t.fold = fold;
  t.spare = spare;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) perp_table_row(&t, rows[k]);
  FILE *out = open_memstream(&text, &n);
  *whole = perp_table_print(&t, out);
  fclose(out);
  perp_table_free(&t);
  return text;
}

static int widest_line(const char *s)
{
  int most = 0;
  for (; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
    const int n = (int)strcspn(s, "\n");
    most = n > most ? n : most;
  }
  return most;
}

static int times(const char *text, const char *part)
{
  int n = 0;
  for (const char *s = text; (s = strstr(s, part)) != NULL; s++) n++;
  return n;
}

int main(void)
{
  bool whole;
  char *s = table_printed(120, 1, 1, &whole);
  ok(whole && times(s, "\n") == 6 && times(s, "chain:links=6") == 2 && strstr(s, "..") == NULL &&
         strstr(s, " \n") == NULL,
     "with room it is as it was given, without blanks at ends of lines");
  free(s);
  s = table_printed(76, 1, 1, &whole);
  ok(whole && widest_line(s) <= 76 && strstr(s, "..") == NULL && times(s, "chain:links=6") == 1 &&
         strstr(s, "\nchain:links=6\n  velocity") != NULL &&
         strstr(s, "baumgarte:alpha=2000") != NULL,
     "in 76 columns rows that share a scene stand together below it, in whole words");
  if (!whole) printf("# %s\n", s);
  free(s);
  s = table_printed(64, 1, 1, &whole);
  ok(whole && widest_line(s) <= 64 && strstr(s, "..") == NULL && strstr(s, ".:alpha=2000") != NULL,
     "in 64 words lose their ends, numbers do not");
  free(s);
  s = table_printed(44, 1, 1, &whole);
  ok(!whole && widest_line(s) <= 44 && strstr(s, "..") == NULL && strstr(s, "next") == NULL,
     "in 44 the last column goes, and the caller knows");
  free(s);
  for (int width = 40; width <= 120; width++) {
    s = table_printed(width, width % 3, 0, &whole);
    bool apart = whole && times(s, "50") >= 2;
    if (widest_line(s) > width && width > 60) apart = false;
    if (!apart || width == 120) {
      ok(apart, "any width: it fits from 60 columns on, all columns are there");
      if (!apart) printf("# %d\n%s\n", width, s);
      free(s);
      break;
    }
    free(s);
  }
  unsetenv("COLUMNS");
  return tap_done();
}
