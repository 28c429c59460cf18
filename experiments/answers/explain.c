/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/answers/explain.h"

#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double chance = 0.01;   /* of at least one of several effects to seem real */
static const double straight = 1e-9; /* change of a fit, relative to the spread, that ends it */
enum { SWEEPS = 300 };

/* ---- factors ---- */

/* The levels of a key over the runs; one level: no factor. */
static void explain_factor(struct answering *answers, answers_explained *explained,
                           perp_study_key key)
{
  perp_results *results = answers->r;
  const perp_param *param = &results->study->kind->params[key.param];
  perp_names levels = { 0 };
  answers_factor *factor = &explained->factor[explained->n_factors];
  *factor = (answers_factor){ .key = key,
                              .block = strcmp(param->key, "scene") == 0 ||
                                       strcmp(param->key, "problem") == 0,
                              .method = param->type == PERP_PARAM_PLUGIN };
  factor->method = factor->method && !factor->block && key.name == false &&
                   (key.option == NULL || key.without);
  factor->of = perp_pool_alloc(&results->pool, (size_t)explained->n + 1, sizeof *factor->of);
  for (int i = 0; i < explained->n; i++) {
    const char *text = answers_value(answers, &key, explained->cell[i]);
    factor->of[i] = perp_names_index(&results->pool, &levels, text, -1);
  }
  factor->n = levels.n;
  factor->level = levels.text;
  if (factor->n < 2) return;
  /* two names of one partition are one factor: the first */
  for (int k = 0; k < explained->n_factors; k++) {
    if (explained->factor[k].n != factor->n) continue;
    bool same = true;
    for (int i = 0; i < explained->n && same; i++)
      same = explained->factor[k].of[i] == factor->of[i];
    if (same) return;
  }
  explained->n_factors++;
}

void answers_factors(struct answering *answers, answers_explained *explained)
{
  const perp_study *study = answers->r->study;
  explained->factor = perp_pool_alloc(&answers->r->pool, 2 * (size_t)study->n_params + 1,
                                      sizeof *explained->factor);
  for (int p = 0; p < study->n_params; p++) {
    const perp_param *param = &study->kind->params[p];
    perp_study_key key = { .text = param->key, .param = p };
    if (strcmp(param->key, "seed") == 0 || strcmp(param->key, "run") == 0) continue;
    bool tolerances = false;
    for (int i = 0; i < explained->n && !tolerances && param->type == PERP_PARAM_PLUGIN; i++)
      tolerances = strstr(answers->r->plan.cells[explained->cell[i]].value[p].text, "tol=") != NULL;
    if (tolerances) {
      explain_factor(
          answers, explained,
          (perp_study_key){ .text = perp_pool_printf(&answers->r->pool, "%s.tol", param->key),
                            .param = p,
                            .option = "tol" });
      key.option = "tol";
      key.without = true;
    }
    explain_factor(answers, explained, key);
  }
}

/* ---- fits ---- */

/* One effect of a fit: the group of each run. */
struct effect {
  const int *of;
  int n;
};

struct fitting {
  const answers_explained *e;
  perp_pool *pool;
  struct effect effect[64];
  double *mean[64]; /* of each group; NULL: not kept */
  int n;
  double *r; /* [runs] what is left */
  double *sum;
  int *count;
};

static void fit_add(struct fitting *fit, const int *of, int n)
{
  if (fit->n < 64) fit->effect[fit->n++] = (struct effect){ of, n };
}

/* The residual sum of squares of the effects added, and how many parameters they have. */
static double fit_run(struct fitting *fit, const double *y, int runs)
{
  double mean = 0, most = 0, rss = 0;
  for (int run = 0; run < runs; run++) mean += y[run] / runs;
  for (int run = 0; run < runs; run++) {
    fit->r[run] = y[run] - mean;
    most = fmax(most, fabs(fit->r[run]));
  }
  for (int sweep = 0; sweep < SWEEPS; sweep++) {
    double change = 0;
    for (int k = 0; k < fit->n; k++) {
      const struct effect *effect = &fit->effect[k];
      memset(fit->sum, 0, (size_t)effect->n * sizeof *fit->sum);
      memset(fit->count, 0, (size_t)effect->n * sizeof *fit->count);
      for (int run = 0; run < runs; run++) {
        fit->sum[effect->of[run]] += fit->r[run];
        fit->count[effect->of[run]]++;
      }
      for (int g = 0; g < effect->n; g++) {
        if (fit->count[g] > 0) fit->sum[g] /= fit->count[g];
        change = fmax(change, fabs(fit->sum[g]));
        if (fit->mean[k] != NULL) fit->mean[k][g] += fit->sum[g];
      }
      for (int run = 0; run < runs; run++) fit->r[run] -= fit->sum[effect->of[run]];
    }
    if (change <= straight * most) break;
  }
  for (int run = 0; run < runs; run++) rss += fit->r[run] * fit->r[run];
  return rss;
}

static void fit_open(struct fitting *fit, struct answering *answers,
                     const answers_explained *explained)
{
  int groups = 1;
  for (int factor = 0; factor < explained->n_factors; factor++)
    for (int b = 0; b < explained->n_factors; b++)
      if (factor != b && explained->factor[factor].n * explained->factor[b].n > groups)
        groups = explained->factor[factor].n * explained->factor[b].n;
  for (int factor = 0; factor < explained->n_factors; factor++)
    groups = groups > explained->factor[factor].n ? groups : explained->factor[factor].n;
  *fit = (struct fitting){ .e = explained, .pool = &answers->r->pool };
  fit->r = perp_pool_alloc(fit->pool, (size_t)explained->n + 1, sizeof *fit->r);
  fit->sum = perp_pool_alloc(fit->pool, (size_t)groups, sizeof *fit->sum);
  fit->count = perp_pool_alloc(fit->pool, (size_t)groups, sizeof *fit->count);
}

/* All factors but `skip` (-1: none; -2: blocks alone). */
static double fit_factors(struct fitting *fit, int skip)
{
  fit->n = 0;
  for (int factor = 0; factor < fit->e->n_factors; factor++)
    if (factor != skip && (skip != -2 || fit->e->factor[factor].block))
      fit_add(fit, fit->e->factor[factor].of, fit->e->factor[factor].n);
  return fit_run(fit, fit->e->y, fit->e->n);
}

/* The combinations of two factors as groups; `of` [runs] out.  Their number. */
static int pair_groups(const answers_explained *explained, int factor, int b, int *of, bool *there)
{
  const answers_factor *fa = &explained->factor[factor], *fb = &explained->factor[b];
  int n = 0;
  memset(there, 0, (size_t)(fa->n * fb->n) * sizeof *there);
  for (int i = 0; i < explained->n; i++) {
    of[i] = fa->of[i] * fb->n + fb->of[i];
    n += !there[of[i]];
    there[of[i]] = true;
  }
  return n;
}

/* Is what an effect explains more than chance gives, where it is one of so many that are tried? */
static bool real(double gained, int parameters, double left, int freedom, int tried)
{
  if (parameters < 1 || freedom < 1 || !(gained > 0)) return false;
  if (left <= 0) return true;
  return gsl_cdf_fdist_Q(gained / parameters / (left / freedom), parameters, freedom) <
         chance / tried;
}

static int term_more(const void *x, const void *y)
{
  const answers_term *a = x, *b = y;
  if ((a->b < 0) != (b->b < 0)) return a->b < 0 ? -1 : 1;
  if (a->share != b->share) return a->share < b->share ? 1 : -1;
  return a->a != b->a ? a->a - b->a : a->b - b->b;
}

static void explain_terms(struct answering *answers, answers_explained *explained)
{
  struct fitting fit;
  fit_open(&fit, answers, explained);
  const int n = explained->n_factors;
  const double blocks = fit_factors(&fit, -2), all = fit_factors(&fit, -1);
  double total = 0, mean = 0;
  for (int i = 0; i < explained->n; i++) mean += explained->y[i] / explained->n;
  for (int i = 0; i < explained->n; i++)
    total += (explained->y[i] - mean) * (explained->y[i] - mean);
  int freedom = explained->n - 1;
  for (int factor = 0; factor < n; factor++) freedom -= explained->factor[factor].n - 1;
  explained->term = perp_pool_alloc(&answers->r->pool, (size_t)(n * n) + 1,
                                    sizeof *explained->term);
  if (!(blocks > 1e-20 * (1 + total))) return; /* nothing to explain */
  /* factors are tested against what they and the largest real pair leave: an interaction is no
   * noise */
  double rest = all;
  int free_rest = freedom;
  int *of = perp_pool_alloc(&answers->r->pool, (size_t)explained->n + 1, sizeof *of);
  for (int a = 0; a < n; a++)
    for (int b = a + 1; b < n; b++) {
      const answers_factor *fa = &explained->factor[a], *fb = &explained->factor[b];
      if (fa->block && fb->block) continue;
      bool *there = perp_xalloc((size_t)(fa->n * fb->n), sizeof *there);
      const int groups = pair_groups(explained, a, b, of, there);
      free(there);
      const int parameters = groups - fa->n - fb->n + 1;
      if (parameters < 1 || fa->n * fb->n > 4 * explained->n) continue;
      fit_factors(&fit, -1);
      fit_add(&fit, of, fa->n * fb->n);
      const double left = fit_run(&fit, explained->y, explained->n), gained = fmax(0, all - left);
      const bool sure = real(gained, parameters, left, freedom - parameters, n * (n - 1) / 2);
      explained->term[explained->n_terms++] = (answers_term){ a, b, gained / blocks, sure };
      if (!sure || left >= rest) continue;
      rest = left;
      free_rest = freedom - parameters;
    }
  for (int factor = 0; factor < n; factor++) {
    if (explained->factor[factor].block) continue;
    const double gained = fmax(0, fit_factors(&fit, factor) - all);
    explained->term[explained->n_terms++] = (answers_term){
      factor, -1, gained / blocks, real(gained, explained->factor[factor].n - 1, rest, free_rest, n)
    };
    explained->n_main++;
  }
  qsort(explained->term, (size_t)explained->n_terms, sizeof *explained->term, term_more);
}

double *answers_pair_means(struct answering *answers, const answers_explained *explained, int a,
                           int b)
{
  struct fitting fit;
  const int groups = explained->factor[a].n * explained->factor[b].n;
  fit_open(&fit, answers, explained);
  int *of = perp_pool_alloc(fit.pool, (size_t)explained->n + 1, sizeof *of);
  bool *there = perp_pool_alloc(fit.pool, (size_t)groups, sizeof *there);
  double *mean = perp_pool_alloc(fit.pool, (size_t)groups, sizeof *mean);
  pair_groups(explained, a, b, of, there);
  for (int factor = 0; factor < explained->n_factors; factor++)
    if (factor != a && factor != b)
      fit_add(&fit, explained->factor[factor].of, explained->factor[factor].n);
  fit_add(&fit, of, groups);
  fit.mean[fit.n - 1] = mean;
  fit_run(&fit, explained->y, explained->n);
  for (int group = 0; group < groups; group++)
    if (!there[group]) mean[group] = (double)NAN;
  return mean;
}

/* ---- a metric ---- */

/* How far apart the runs of one block are at most, in decades. */
static double explain_decades(const answers_explained *explained)
{
  double *lo = perp_xalloc((size_t)explained->n + 1, sizeof *lo),
         *hi = perp_xalloc((size_t)explained->n + 1, sizeof *hi), most = 0;
  const answers_factor *block = NULL;
  for (int factor = 0; factor < explained->n_factors; factor++)
    if (explained->factor[factor].block &&
        (block == NULL || explained->factor[factor].n > block->n))
      block = &explained->factor[factor];
  for (int i = 0; i <= explained->n; i++) {
    lo[i] = HUGE_VAL;
    hi[i] = -HUGE_VAL;
  }
  for (int i = 0; i < explained->n; i++) {
    const int g = block != NULL ? block->of[i] : 0;
    lo[g] = fmin(lo[g], explained->y[i]);
    hi[g] = fmax(hi[g], explained->y[i]);
    most = fmax(most, hi[g] - lo[g]);
  }
  free(lo);
  free(hi);
  return most;
}

/* The floor of each run: the largest of its scene or problem, below which all are equal. */
static void explain_floors(struct answering *answers, answers_explained *explained, double *floor)
{
  const perp_study *study = answers->r->study;
  const int scene = perp_kind_param(study->kind, "scene"),
            block = scene >= 0 ? scene : perp_kind_param(study->kind, "problem");
  double *most = perp_xalloc((size_t)explained->n + 1, sizeof *most);
  int *of = perp_xalloc((size_t)explained->n + 1, sizeof *of);
  perp_names blocks = { 0 };
  for (int i = 0; i < explained->n; i++) {
    const int cell = explained->cell[i];
    if (block >= 0)
      of[i] = perp_names_index(&answers->r->pool, &blocks,
                               answers->r->plan.cells[cell].value[block].text, -1);
    most[of[i]] = fmax(most[of[i]], answers_floor(answers, explained->metric, cell));
  }
  for (int i = 0; i < explained->n; i++) {
    floor[i] = most[of[i]];
    explained->floor = fmax(explained->floor, floor[i]);
    explained->below += fabs(perp_results_value(answers->r, explained->cell[i],
                                                explained->metric)) < floor[i];
  }
  free(most);
  free(of);
}

bool answers_explain(struct answering *answers, int metric, answers_explained *explained)
{
  perp_results *results = answers->r;
  int *cell = perp_pool_alloc(&results->pool, (size_t)results->plan.n + 1, sizeof *cell);
  double least = HUGE_VAL;
  *explained = (answers_explained){ .metric = metric, .cell = cell };
  answers->metric = metric;
  for (int i = 0; i < results->plan.n; i++) {
    const double v = fabs(perp_results_value(results, i, metric));
    if (!perp_results_wins(results, i) || !isfinite(v)) continue;
    cell[explained->n++] = i;
    if (v > 0) least = fmin(least, v);
  }
  if (explained->n < 3) return false;
  explained->y = perp_pool_alloc(&results->pool, (size_t)explained->n, sizeof *explained->y);
  explain_floors(answers, explained, explained->y);
  for (int i = 0; i < explained->n; i++) {
    const double v = fmax(fabs(perp_results_value(results, cell[i], metric)), explained->y[i]);
    explained->y[i] = log10(v > 0             ? v
                            : isfinite(least) ? least
                                              : 1); /* a count of 0 has no logarithm */
  }
  answers_factors(answers, explained);
  explained->decades = explain_decades(explained);
  explain_terms(answers, explained);
  return true;
}
