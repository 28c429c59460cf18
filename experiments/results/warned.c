/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/warned.h"

#include <string.h>

const char **perp_results_warnings(const perp_results *r, perp_pool *pool, perp_tally *t)
{
  *t = (perp_tally){ 0 };
  for (int i = 0; i < r->plan.n; i++)
    for (int k = 0; k < r->record[i].n_warnings; k++)
      perp_tally_add(t, perp_tally_alike(pool, r->record[i].warning[k]), i);
  perp_tally_sort(t);
  const char **text = perp_pool_alloc(pool, (size_t)t->n + 1, sizeof *text);
  for (int k = 0; k < t->n; k++) {
    const perp_record *rec = &r->record[t->count[k].first];
    for (int w = 0; w < rec->n_warnings && text[k] == NULL; w++)
      if (strcmp(perp_tally_alike(pool, rec->warning[w]), t->count[k].name) == 0)
        text[k] = rec->warning[w];
  }
  return text;
}
