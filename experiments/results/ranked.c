/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Cells in a ranking: those that may win before fixed work, and that before unsolved. */
#include "experiments/results/results.h"

#include <stdlib.h>

static int ranked_by_key(const void *a, const void *b)
{
  const perp_ranked *x = a, *y = b;
  if (x->group != y->group) return x->group - y->group;
  return x->key != y->key ? (x->key > y->key) - (x->key < y->key) : x->at - y->at;
}

void perp_ranked_sort(perp_ranked *list, int n)
{
  for (int i = 0; i < n; i++) list[i].at = i;
  if (n > 0) qsort(list, (size_t)n, sizeof *list, ranked_by_key);
}

int perp_results_group(const perp_results *results, int cell)
{
  return perp_results_wins(results, cell) ? 0 : perp_results_counts(results, cell) ? 1 : 2;
}
