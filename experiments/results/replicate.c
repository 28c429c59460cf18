/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/replicate.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>

static double replicate_number(const perp_expr *expr, const perp_scope *scope)
{
  if (expr == NULL || perp_expr_undecided(expr, scope)) return (double)NAN;
  const perp_value value = perp_expr_eval(expr, scope, -1);
  return value.type == PERP_VALUE_NUMBER ? value.number : (double)NAN;
}

/* Does one figure agree with what is stated?  NaN agrees with nothing. */
static bool replicate_agrees(const perp_replicate_row *row, double stated, double ours)
{
  if (row->kind == PERP_STATED_BELOW) return ours < stated;
  if (row->within > 0 && fabs(ours - stated) <= row->within) return true;
  const double ratio = ours / stated;
  return row->factor > 0 && ratio >= 1 / row->factor && ratio <= row->factor;
}

static bool replicate_all_agree(const perp_replicate_row *row, const double *ours)
{
  for (int point = 0; point < row->n_points; point++)
    if (!replicate_agrees(row, row->point[point].value, ours[point])) return false;
  return true;
}

/* The main test of a row and the one of its twin, as far as the declared verdict needs them. */
struct replicate_tests {
  bool known, agrees; /* figures exist; they agree with the document */
  bool twin_known, twin_passes;
  bool evidence;
};

static void replicate_figures(const perp_replicate_row *row, const perp_scope *scope,
                              perp_replicate_result *result, struct replicate_tests *tests)
{
  const bool numbers = row->kind == PERP_STATED_VALUE || row->kind == PERP_STATED_BELOW;
  if (!numbers) return;
  tests->known = tests->twin_known = true;
  for (int point = 0; point < row->n_points; point++) {
    result->measured[point] = replicate_number(row->point[point].measured, scope);
    result->twin[point] = replicate_number(row->point[point].twin, scope);
    tests->known = tests->known && !isnan(result->measured[point]);
    tests->twin_known = tests->twin_known && !isnan(result->twin[point]);
  }
  tests->agrees = tests->known && replicate_all_agree(row, result->measured);
  tests->twin_passes = tests->twin_known && replicate_all_agree(row, result->twin);
}

/* The interval stands for the figure: it agrees where both of its ends do, and the twin passes
 * inside of it. */
static void replicate_interval(const perp_replicate_row *row, const perp_scope *scope,
                               perp_replicate_result *result, struct replicate_tests *tests)
{
  if (row->least == NULL || row->n_points == 0) return;
  result->least = replicate_number(row->least, scope);
  result->most = replicate_number(row->most, scope);
  tests->known = result->least <= result->most;
  tests->agrees = tests->known;
  tests->twin_passes = tests->twin_known;
  for (int point = 0; point < row->n_points; point++) {
    const double stated = row->point[point].value;
    tests->agrees = tests->agrees && replicate_agrees(row, stated, result->least) &&
                    replicate_agrees(row, stated, result->most);
    tests->twin_passes = tests->twin_passes && result->twin[point] >= result->least &&
                         result->twin[point] <= result->most;
  }
}

static const char *replicate_judge(const perp_replicate_row *row,
                                   const struct replicate_tests *tests,
                                   perp_replicate_result *result)
{
  result->none = true;
  if (!tests->known) return "a figure is missing: a run failed or was not made";
  const bool interval = row->least != NULL;
  if (!tests->agrees && !tests->evidence && !interval)
    return row->evidence != NULL ? "it is not reproduced, and its evidence does not hold"
                                 : "it is not reproduced, and has no evidence against it";
  result->none = false;
  result->verdict = tests->agrees     ? PERP_REPLICATE_REPRODUCED
                    : tests->evidence ? PERP_REPLICATE_CONTRADICTED
                                      : PERP_REPLICATE_UNDETERMINED;
  if (result->verdict != row->declared)
    return result->verdict == PERP_REPLICATE_REPRODUCED     ? "the runs reproduce it"
           : result->verdict == PERP_REPLICATE_CONTRADICTED ? "the runs contradict it"
                                                            : "the runs leave it undetermined";
  if (!tests->twin_known) return "a figure of its twin is missing, so the row tests nothing";
  if (tests->twin_passes) return "its twin passes too, so the row tests nothing";
  result->confirmed = true;
  return "";
}

static void replicate_one(const perp_replicate_row *row, const perp_scope *scope, perp_pool *pool,
                          perp_replicate_result *result)
{
  *result = (perp_replicate_result){
    .row = row, .least = (double)NAN, .most = (double)NAN, .why = ""
  };
  result->measured = perp_pool_alloc(pool, (size_t)row->n_points + 1, sizeof(double));
  result->twin = perp_pool_alloc(pool, (size_t)row->n_points + 1, sizeof(double));
  struct replicate_tests tests = { 0 };
  for (int point = 0; point < row->n_points; point++)
    result->measured[point] = result->twin[point] = (double)NAN;
  result->run = row->kind == PERP_STATED_HOLDS || row->least != NULL ||
                (row->n_points > 0 && row->point[0].measured != NULL);
  if (!result->run) {
    result->verdict =
        PERP_REPLICATE_UNDETERMINED; /* nothing to test: the reader has asked what is missing */
    result->confirmed = true;
    return;
  }
  replicate_figures(row, scope, result, &tests);
  if (row->kind == PERP_STATED_HOLDS) {
    tests.known = !perp_expr_undecided(row->holds, scope);
    tests.agrees = tests.known && perp_expr_true(row->holds, scope, -1);
  }
  if (row->twin != NULL) {
    tests.twin_known = !perp_expr_undecided(row->twin, scope);
    tests.twin_passes = tests.twin_known && perp_expr_true(row->twin, scope, -1);
  }
  tests.evidence = row->evidence != NULL && !perp_expr_undecided(row->evidence, scope) &&
                   perp_expr_true(row->evidence, scope, -1);
  replicate_interval(row, scope, result, &tests);
  result->why = replicate_judge(row, &tests, result);
}

const perp_replicate_result *perp_results_replicate(const perp_ctx *ctx, perp_results *results)
{
  const perp_replicate *all = &results->study->replicate;
  const perp_scope scope = perp_results_scope(ctx, results, true);
  perp_replicate_result *list = perp_pool_alloc(&results->pool, (size_t)all->n_rows + 1,
                                                sizeof *list);
  for (int row = 0; row < all->n_rows; row++)
    replicate_one(&all->row[row], &scope, &results->pool, &list[row]);
  return list;
}

perp_replicate_count perp_replicate_counted(const perp_study *study,
                                            const perp_replicate_result *list, int paper)
{
  perp_replicate_count count = { 0 };
  for (int row = 0; row < study->replicate.n_rows; row++) {
    const perp_replicate_result *result = &list[row];
    if (paper >= 0 && result->row->paper != paper) continue;
    count.rows++;
    if (result->confirmed)
      count.verdict[result->verdict]++;
    else
      count.refuted++;
    count.not_run += !result->run;
  }
  return count;
}

const char *perp_replicate_count_text(perp_pool *pool, const perp_replicate_count *count)
{
  const char *not_run = count->not_run > 0 ? perp_pool_printf(pool, " (%d not run)", count->not_run)
                                           : "";
  return perp_pool_printf(pool, "%d reproduced, %d contradicted, %d undetermined%s, %d refuted",
                          count->verdict[PERP_REPLICATE_REPRODUCED],
                          count->verdict[PERP_REPLICATE_CONTRADICTED],
                          count->verdict[PERP_REPLICATE_UNDETERMINED], not_run, count->refuted);
}

/* "x: value, x: value unit"; values [n_points]. */
static const char *replicate_points(perp_pool *pool, const perp_replicate_row *row,
                                    const double *values)
{
  const char *text = row->kind == PERP_STATED_BELOW && values == NULL ? "< " : "";
  for (int i = 0; i < row->n_points; i++) {
    char number[32];
    const perp_replicate_point *point = &row->point[i];
    const double v = values != NULL ? values[i] : point->value;
    text = perp_pool_printf(pool, "%s%s%s%s%s", text, i > 0 ? ", " : "", point->x,
                            point->x[0] != '\0' ? ": " : "",
                            isnan(v) ? "none" : perp_number(v, number));
  }
  return row->unit[0] != '\0' ? perp_pool_printf(pool, "%s %s", text, row->unit) : text;
}

const char *perp_replicate_stated_text(perp_pool *pool, const perp_replicate_row *row)
{
  if (row->kind == PERP_STATED_HOLDS) return "holds";
  return row->kind == PERP_STATED_NOTHING ? "" : replicate_points(pool, row, NULL);
}

const char *perp_replicate_measured_text(perp_pool *pool, const perp_replicate_result *result)
{
  char least[32], most[32];
  if (!result->run) return "not run";
  if (result->row->kind == PERP_STATED_HOLDS)
    return result->none || result->verdict != PERP_REPLICATE_REPRODUCED ? "does not hold" : "holds";
  if (result->row->least == NULL) return replicate_points(pool, result->row, result->measured);
  if (isnan(result->least) || isnan(result->most)) return "none";
  bool inside = true;
  for (int point = 0; point < result->row->n_points; point++)
    inside = inside && result->row->point[point].value >= result->least &&
             result->row->point[point].value <= result->most;
  return perp_pool_printf(pool, "%s to %s%s%s, stated value %s", perp_number(result->least, least),
                          perp_number(result->most, most), result->row->unit[0] != '\0' ? " " : "",
                          result->row->unit, inside ? "inside" : "outside");
}

const char *perp_replicate_word(const perp_replicate_result *result)
{
  return result->confirmed ? perp_replicated_names[result->verdict] : "refuted";
}
