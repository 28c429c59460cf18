/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Status and results of two runs are deterministic: any difference is real, and one that is worse
 * by more than a tolerance is a regression.  Times are not: compare_times.c. */
#include "experiments/cli/compare.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double rounding = 1e-12; /* results below it are rounding of zero */

const char *const perp_finding_names[PERP_FINDINGS] = { "time", "accuracy", "status" };

void perp_compare_finding(perp_compare *compare, perp_finding_class class, bool worse,
                          const char *where, const char *what, double before, double after)
{
  if (worse)
    compare->regressions[class]++;
  else
    compare->improvements++;
  if (compare->json) {
    perp_json_object(&compare->j, NULL,
                     "class %s, worse? %d, where %s, what %s, before %g, after %g",
                     perp_finding_names[class], worse, where, what, before, after);
    return;
  }
  enum { MOST = 20 };
  int shown = worse ? compare->regressions[class] : compare->improvements;
  if (shown > MOST) return;
  printf("%s %s  %s: %s%s\n", worse ? "WORSE " : "better", perp_finding_names[class], where, what,
         shown == MOST ? " (further ones are not listed; --json prints all)" : "");
}

/* ---- cells ---- */

void perp_compare_match(perp_compare *compare, int *only_base, int *only_now)
{
  compare->a = perp_xalloc((size_t)compare->base.plan.n + 1, sizeof *compare->a);
  compare->b = perp_xalloc((size_t)compare->base.plan.n + 1, sizeof *compare->b);
  perp_pool pool = { 0 };
  perp_names ids = { 0 }; /* of now: the number of an id is its cell */
  for (int cell = 0; cell < compare->now.plan.n; cell++)
    perp_names_index(&pool, &ids, compare->now.plan.cells[cell].id, -1);
  int in_both = 0;
  for (int record = 0; record < compare->base.plan.n; record++) {
    if (compare->base.record[record].attempt == 0) continue;
    const int k = perp_names_index(&pool, &ids, compare->base.plan.cells[record].id, ids.n);
    if (k < 0 || compare->now.record[k].attempt == 0) {
      ++*only_base;
      continue;
    }
    compare->a[in_both] = record;
    compare->b[in_both++] = k;
  }
  perp_pool_free(&pool);
  compare->n = in_both;
  *only_now = -in_both;
  for (int k = 0; k < compare->now.plan.n; k++) *only_now += compare->now.record[k].attempt > 0;
}

char *perp_compare_name(const perp_compare *compare, int k)
{
  perp_text text = { 0 };
  perp_text_add(&text, "%.8s ", compare->base.plan.cells[compare->a[k]].id);
  perp_cell_label(compare->base.study, &compare->base.plan.cells[compare->a[k]], &text);
  return text.s;
}

void perp_compare_status(perp_compare *compare)
{
  for (int k = 0; k < compare->n; k++) {
    perp_cell_status before = compare->base.record[compare->a[k]].status,
                     after = compare->now.record[compare->b[k]].status;
    const bool good = before == PERP_CELL_OK || before == PERP_CELL_FIXED_WORK;
    const bool still = after == PERP_CELL_OK || after == PERP_CELL_FIXED_WORK;
    if (before == after || (!good && !still)) continue;
    /* what schema 1 calls ok may have been any of these */
    const int old = compare->base.record[compare->a[k]].schema,
              new = compare->now.record[compare->b[k]].schema;
    if (old != new &&perp_cell_whole(before) && perp_cell_whole(after)) continue;
    char what[128], *name = perp_compare_name(compare, k);
    snprintf(what, sizeof what, "%s, was %s", perp_cell_status_names[after],
             perp_cell_status_names[before]);
    perp_compare_finding(compare, PERP_FINDING_STATUS, good && (!still || before == PERP_CELL_OK),
                         name, what, before, after);
    free(name);
  }
}

/* Figures below `rounding` are zero to either of them. */
static void compare_largest(perp_compare *compare, int k, const char *metric, double before,
                            double after)
{
  const double size = fmax(fabs(before), fabs(after)), off = fabs(after - before) / size;
  if (!(size > rounding) || !isfinite(off) || off <= compare->largest) return;
  char *name = perp_compare_name(compare, k);
  compare->largest = off;
  snprintf(compare->largest_of, sizeof compare->largest_of, "%s, %s", metric, name);
  free(name);
}

/* Counts of work (steps, pivots) are whole numbers: one more or less of a few is no finding. */
static bool count_noise(double before, double after)
{
  return before == rint(before) && after == rint(after) && fabs(after - before) <= 1;
}

int perp_compare_results(perp_compare *compare)
{
  const perp_study *study = compare->base.study;
  int changed = 0;
  for (int k = 0; k < compare->n; k++) {
    const perp_record *x = &compare->base.record[compare->a[k]],
                      *y = &compare->now.record[compare->b[k]];
    bool differs = false;
    if (x->status != y->status || !perp_cell_whole(x->status)) continue;
    for (int m = 0; m < study->n_metrics; m++) {
      const perp_metric *metric = &study->metric[m];
      int other = perp_results_metric(&compare->now, metric->name);
      if (metric->timing || other < 0) continue;
      double before = x->value[m], after = y->value[other];
      if (before == after || (isnan(before) && isnan(after))) continue;
      differs = true;
      if (metric->better == 0) continue;
      compare_largest(compare, k, metric->name, before, after);
      /* the change in the direction that is worse, relative to before */
      double worse = metric->better < 0 ? after - before : before - after, size = fabs(before);
      bool lost = isfinite(before) && !isfinite(after), won = !isfinite(before) && isfinite(after);
      if (!lost && !won &&
          (fmax(fabs(before), fabs(after)) < rounding || count_noise(before, after) ||
           !(fabs(worse) > compare->accuracy_tol * size)))
        continue;
      char what[160], *name = perp_compare_name(compare, k);
      snprintf(what, sizeof what, "%s %.4g, was %.4g (%+.1f %%)", metric->name, after, before,
               100 * (after - before) / size);
      perp_compare_finding(compare, PERP_FINDING_ACCURACY, lost || (!won && worse > 0), name, what,
                           before, after);
      free(name);
    }
    changed += differs;
  }
  return changed;
}
