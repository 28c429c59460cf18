/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/replicate.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <string.h>

static double replicate_number(const perp_expr *e, const perp_scope *scope)
{
  if (e == NULL || perp_expr_undecided(e, scope)) return (double)NAN;
  const perp_value v = perp_expr_eval(e, scope, -1);
  return v.type == PERP_VALUE_NUMBER ? v.number : (double)NAN;
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
  for (int i = 0; i < row->n_points; i++)
    if (!replicate_agrees(row, row->point[i].value, ours[i])) return false;
  return true;
}

/* The main test of a row and the one of its twin, as far as the declared verdict needs them. */
struct replicate_tests {
  bool known, agrees; /* figures exist; they agree with the document */
  bool twin_known, twin_passes;
  bool evidence;
};

static void replicate_figures(const perp_replicate_row *row, const perp_scope *scope,
                              perp_replicate_result *p, struct replicate_tests *t)
{
  const bool numbers = row->kind == PERP_STATED_VALUE || row->kind == PERP_STATED_BELOW;
  if (!numbers) return;
  t->known = t->twin_known = true;
  for (int i = 0; i < row->n_points; i++) {
    p->measured[i] = replicate_number(row->point[i].measured, scope);
    p->twin[i] = replicate_number(row->point[i].twin, scope);
    t->known = t->known && !isnan(p->measured[i]);
    t->twin_known = t->twin_known && !isnan(p->twin[i]);
  }
  t->agrees = t->known && replicate_all_agree(row, p->measured);
  t->twin_passes = t->twin_known && replicate_all_agree(row, p->twin);
}

/* The interval stands for the figure: it agrees where both of its ends do, and the twin passes
 * inside of it. */
static void replicate_interval(const perp_replicate_row *row, const perp_scope *scope,
                               perp_replicate_result *p, struct replicate_tests *t)
{
  if (row->least == NULL || row->n_points == 0) return;
  p->least = replicate_number(row->least, scope);
  p->most = replicate_number(row->most, scope);
  t->known = p->least <= p->most;
  t->agrees = t->known;
  t->twin_passes = t->twin_known;
  for (int i = 0; i < row->n_points; i++) {
    const double stated = row->point[i].value;
    t->agrees = t->agrees && replicate_agrees(row, stated, p->least) &&
                replicate_agrees(row, stated, p->most);
    t->twin_passes = t->twin_passes && p->twin[i] >= p->least && p->twin[i] <= p->most;
  }
}

static const char *replicate_judge(const perp_replicate_row *row, const struct replicate_tests *t,
                                   perp_replicate_result *p)
{
  p->none = true;
  if (!t->known) return "a figure is missing: a run failed or was not made";
  const bool interval = row->least != NULL;
  if (!t->agrees && !t->evidence && !interval)
    return row->evidence != NULL ? "it is not reproduced, and its evidence does not hold"
                                 : "it is not reproduced, and has no evidence against it";
  p->none = false;
  p->verdict = t->agrees     ? PERP_REPLICATE_REPRODUCED
               : t->evidence ? PERP_REPLICATE_CONTRADICTED
                             : PERP_REPLICATE_UNDETERMINED;
  if (p->verdict != row->declared)
    return p->verdict == PERP_REPLICATE_REPRODUCED     ? "the runs reproduce it"
           : p->verdict == PERP_REPLICATE_CONTRADICTED ? "the runs contradict it"
                                                       : "the runs leave it undetermined";
  if (!t->twin_known) return "a figure of its twin is missing, so the row tests nothing";
  if (t->twin_passes) return "its twin passes too, so the row tests nothing";
  p->confirmed = true;
  return "";
}

static void replicate_one(const perp_replicate_row *row, const perp_scope *scope, perp_pool *pool,
                          perp_replicate_result *p)
{
  *p = (perp_replicate_result){ .row = row, .least = (double)NAN, .most = (double)NAN, .why = "" };
  p->measured = perp_pool_alloc(pool, (size_t)row->n_points + 1, sizeof(double));
  p->twin = perp_pool_alloc(pool, (size_t)row->n_points + 1, sizeof(double));
  struct replicate_tests t = { 0 };
  for (int i = 0; i < row->n_points; i++) p->measured[i] = p->twin[i] = (double)NAN;
  p->run = row->kind == PERP_STATED_HOLDS || row->least != NULL ||
           (row->n_points > 0 && row->point[0].measured != NULL);
  if (!p->run) {
    p->verdict =
        PERP_REPLICATE_UNDETERMINED; /* nothing to test: the reader has asked what is missing */
    p->confirmed = true;
    return;
  }
  replicate_figures(row, scope, p, &t);
    if (row->kind == PERP_STATED_HOLDS) {
    t.known = !perp_expr_undecided(row->holds, scope);
    t.agrees = t.known && perp_expr_true(row->holds, scope, -1);
  }
  if (row->twin != NULL) {
    t.twin_known = !perp_expr_undecided(row->twin, scope);
    t.twin_passes = t.twin_known && perp_expr_true(row->twin, scope, -1);
  }
  t.evidence = row->evidence != NULL && !perp_expr_undecided(row->evidence, scope) &&
                perp_expr_true(row->evidence, scope, -1);
  replicate_interval(row, scope, p, &t);
  p->why = replicate_judge(row, &t, p);
}

const perp_replicate_result *perp_results_replicate(const perp_ctx *ctx, perp_results *r)
{
  const perp_replicate *all = &r->study->replicate;
  const perp_scope scope = perp_results_scope(ctx, r, true);
  perp_replicate_result *list = perp_pool_alloc(&r->pool, (size_t)all->n_rows + 1, sizeof *list);
  for (int i = 0; i < all->n_rows; i++) replicate_one(&all->row[i], &scope, &r->pool, &list[i]);
  return list;
}

perp_replicate_count perp_replicate_counted(const perp_study *s, const perp_replicate_result *list,
                                            int paper)
{
  perp_replicate_count count = { 0 };
  for (int i = 0; i < s->replicate.n_rows; i++) {
    const perp_replicate_result *p = &list[i];
    if (paper >= 0 && p->row->paper != paper) continue;
    count.rows++;
    if (p->confirmed)
      count.verdict[p->verdict]++;
    else
      count.refuted++;
    count.not_run += !p->run;
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
    const perp_replicate_point *p = &row->point[i];
    const double v = values != NULL ? values[i] : p->value;
    text = perp_pool_printf(pool, "%s%s%s%s%s", text, i > 0 ? ", " : "", p->x,
                            p->x[0] != '\0' ? ": " : "",
                            isnan(v) ? "none" : perp_number(v, number));
  }
  return row->unit[0] != '\0' ? perp_pool_printf(pool, "%s %s", text, row->unit) : text;
}

const char *perp_replicate_stated_text(perp_pool *pool, const perp_replicate_row *row)
{
  if (row->kind == PERP_STATED_HOLDS) return "holds";
  return row->kind == PERP_STATED_NOTHING ? "" : replicate_points(pool, row, NULL);
}

const char *perp_replicate_measured_text(perp_pool *pool, const perp_replicate_result *p)
{
  char least[32], most[32];
  if (!p->run) return "not run";
  if (p->row->kind == PERP_STATED_HOLDS)
    return p->none || p->verdict != PERP_REPLICATE_REPRODUCED ? "does not hold" : "holds";
  if (p->row->least == NULL) return replicate_points(pool, p->row, p->measured);
  if (isnan(p->least) || isnan(p->most)) return "none";
  bool inside = true;
  for (int i = 0; i < p->row->n_points; i++)
    inside = inside && p->row->point[i].value >= p->least && p->row->point[i].value <= p->most;
  return perp_pool_printf(pool, "%s to %s%s%s, stated value %s", perp_number(p->least, least),
                          perp_number(p->most, most), p->row->unit[0] != '\0' ? " " : "",
                          p->row->unit, inside ? "inside" : "outside");
}

const char *perp_replicate_word(const perp_replicate_result *p)
{
  return p->confirmed ? perp_replicated_names[p->verdict] : "refuted";
}
