/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/warned.h"

#include <math.h>
#include <string.h>

const char **perp_results_warnings(const perp_results *results, perp_pool *pool, perp_tally *tally)
{
  *tally = (perp_tally){ 0 };
  for (int record = 0; record < results->plan.n; record++)
    for (int warning = 0; warning < results->record[record].n_warnings; warning++)
      perp_tally_add(tally, perp_tally_alike(pool, results->record[record].warning[warning]),
                     record);
  perp_tally_sort(tally);
  const char **text = perp_pool_alloc(pool, (size_t)tally->n + 1, sizeof *text);
  for (int k = 0; k < tally->n; k++) {
    const perp_record *rec = &results->record[tally->count[k].first];
    for (int w = 0; w < rec->n_warnings && text[k] == NULL; w++)
      if (strcmp(perp_tally_alike(pool, rec->warning[w]), tally->count[k].name) == 0)
        text[k] = rec->warning[w];
  }
  return text;
}

bool perp_results_compared(const perp_results *results, const char *metric, double *least,
                           double *most)
{
  const perp_cell_kind *kind = results->study->kind;
  const char *name = kind->count != NULL ? kind->count(metric) : NULL;
  const int m = perp_results_metric(results, metric),
            count = name != NULL ? perp_results_metric(results, name) : -1;
  *least = HUGE_VAL;
  *most = 0;
  for (int cell = 0; count >= 0 && m >= 0 && cell < results->plan.n; cell++) {
    const double of = perp_results_value(results, cell, count);
    if (isnan(of) || isnan(perp_results_value(results, cell, m))) continue;
    *least = fmin(*least, of);
    *most = fmax(*most, of);
  }
  return *most > 0;
}
