/* SPDX-License-Identifier: GPL-3.0-or-later */
/* "Did you mean": optimal string alignment distance (Damerau-Levenshtein without repeated edits).
 */
#include "solvers/core/core.h"

#include <limits.h>
#include <string.h>

enum { LONGEST = 63 };

static int suggest_min3(int a, int b, int c)
{
  return a < b ? (a < c ? a : c) : (b < c ? b : c);
}

static int suggest_distance(const char *a, const char *b)
{
  int na = (int)strlen(a), nb = (int)strlen(b);
  if (na > LONGEST || nb > LONGEST) return INT_MAX; /* nobody mistypes those */
  int row[3][LONGEST + 1];                          /* the two rows before, and this one */
  for (int j = 0; j <= nb; j++) row[0][j] = j;
  for (int i = 1; i <= na; i++) {
    int *cur = row[i % 3], *up = row[(i + 2) % 3], *upup = row[(i + 1) % 3];
    cur[0] = i;
    for (int j = 1; j <= nb; j++) {
      int swap = a[i - 1] != b[j - 1];
      cur[j] = suggest_min3(up[j] + 1, cur[j - 1] + 1, up[j - 1] + swap);
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
          upup[j - 2] + 1 < cur[j])
        cur[j] = upup[j - 2] + 1;
    }
  }
  return row[na % 3][nb];
}

const char *perp_closest(const char *word, const char *const *candidates, int n)
{
  const char *best = NULL;
  int limit = 1 + (int)strlen(word) / 3, best_distance = limit + 1;
  for (int i = 0; i < n; i++) {
    int d = suggest_distance(word, candidates[i]);
    /* an abbreviation ("baum") is close, however much is missing */
    if (strlen(word) >= 3 && strncmp(word, candidates[i], strlen(word)) == 0 && d > 1) d = 1;
    if (d < best_distance) {
      best_distance = d;
      best = candidates[i];
    }
  }
  return best;
}
