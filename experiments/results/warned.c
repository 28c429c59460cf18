/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/warned.h"

#include <math.h>
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

bool perp_results_compared(const perp_results *r, const char *metric, double *least, double *most)
{
  const perp_cell_kind *kind = r->study->kind;
  const char *name = kind->count != NULL ? kind->count(metric) : NULL;
  const int m = perp_results_metric(r, metric),
            count = name != NULL ? perp_results_metric(r, name) : -1;
  *least = HUGE_VAL;
  *most = 0;
  for (int i = 0; count >= 0 && m >= 0 && i < r->plan.n; i++) {
    const double of = perp_results_value(r, i, count);
    if (isnan(of) || isnan(perp_results_value(r, i, m))) continue;
    *least = fmin(*least, of);
    *most = fmax(*most, of);
  }
  return *most > 0;
}
