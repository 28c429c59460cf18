/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/tally.h"

#include <stdlib.h>
#include <string.h>

void perp_tally_add(perp_tally *tally, const char *name, int thing)
{
  int k = 0;
  while (k < tally->n && strcmp(tally->count[k].name, name) != 0) k++;
  if (k == tally->n) {
    tally->count = perp_xrealloc(tally->count, (size_t)++tally->n, sizeof *tally->count);
    tally->count[k] = (perp_count){ .name = name, .first = thing };
  }
  tally->count[k].n++;
}

const char *perp_tally_alike(perp_pool *pool, const char *text)
{
  static const char digits[] = "0123456789.+-";
  char *alike = perp_pool_strdup(pool, text), *to = alike;
  for (const char *from = alike;; to++) {
    const size_t number = strspn(from, digits);
    *to = number > 0 ? '0' : *from;
    if (*to == '\0') return alike;
    from += number > 0 ? number : 1;
  }
}

static int tally_more(const void *a, const void *b)
{
  const perp_count *x = a, *y = b;
  return x->n != y->n ? y->n - x->n : x->first - y->first;
}

void perp_tally_sort(perp_tally *tally)
{
  if (tally->n > 0) qsort(tally->count, (size_t)tally->n, sizeof *tally->count, tally_more);
}
