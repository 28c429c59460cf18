/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/results/join.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void perp_results_warn_unlike(const perp_results *results)
{
  perp_text unlike = { 0 };
  perp_results_unlike(results, &unlike);
  if (unlike.n > 0)
    perp_say("warning: the parts were computed under different conditions, which may explain "
             "differences between runs:\n  %.*s",
             (int)unlike.n - 1, unlike.s);
  perp_text_free(&unlike);
}

int perp_results_open(perp_ctx *ctx, const char *name, perp_results *results)
{
  char *usual = perp_xprintf("results/%s", name);
  const char *dir = !perp_exists(name) && perp_exists(usual) ? usual : name;
  perp_status status = perp_results_load(ctx, dir, NULL, results);
  char *plan = perp_xprintf("%s/plan.jsonl", dir);
  const bool there = perp_exists(plan); /* a results folder, with something that cannot be read */
  free(plan);
  free(usual);
  if (status == PERP_OK) return -1;
  perp_print_error(ctx);
  if (status == PERP_ERR_NOMEM) return PERP_EXIT_INFRA;
  return there ? PERP_EXIT_INPUT : PERP_EXIT_USAGE;
}

/* The study as it was run, but for where its plug-ins lay; cells know what these were. */
static char *study_text(perp_study *study)
{
  char *text = NULL;
  size_t n = 0;
  FILE *file = perp_memory_stream(&text, &n);
  perp_tree_write(perp_tree_without(&study->pool, study->root, "plugins"), file);
  perp_memory_stream_close(file);
  return text;
}

static perp_status same_study(perp_ctx *ctx, const perp_results *a, const perp_results *b)
{
  char *x = study_text(a->study), *y = study_text(b->study);
  bool same = strcmp(x, y) == 0 && a->plan.n == b->plan.n;
  free(x);
  free(y);
  for (int cell = 0; same && cell < a->plan.n; cell++)
    same = strcmp(a->plan.cells[cell].id, b->plan.cells[cell].id) == 0;
  if (same) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                   "%s and %s are not parts of one run: their files study.yaml differ (study %s "
                   "with %d runs, %s with %d)",
                   a->dir, b->dir, a->study->name, a->plan.n, b->study->name, b->plan.n);
}

/* The first result metric that differs between two records of one cell, -1 none, -2 the status. */
static int join_difference(const perp_study *study, const perp_record *a, const perp_record *b)
{
  if (a->status != b->status) return -2;
  for (int metric = 0; metric < study->n_metrics; metric++) {
    const double x = a->value[metric], y = b->value[metric];
    if (!study->metric[metric].timing && x != y && !(isnan(x) && isnan(y))) return metric;
  }
  return -1;
}

static void find_duplicates(perp_join *join)
{
  const perp_study *study = join->part[0].study;
  for (int record = 0; record < join->part[0].plan.n; record++) {
    int first = -1;
    for (int part = 0; part < join->n; part++) {
      const perp_record *rec = &join->part[part].record[record];
      if (rec->attempt == 0) continue;
      if (first < 0) {
        first = part;
        continue;
      }
      join->duplicates++;
      const perp_record *old = &join->part[first].record[record];
      int metric = join_difference(study, old, rec);
      if (metric == -1) continue;
      join->conflicts++;
      if (join->conflicts > 10) continue;
      if (metric == -2)
        perp_say("%s: %s in %s, %s in %s", join->part[0].plan.cells[record].id,
                 perp_cell_status_names[old->status], join->part[first].dir,
                 perp_cell_status_names[rec->status], join->part[part].dir);
      else
        perp_say("%s: %s is %.17g in %s, %.17g in %s", join->part[0].plan.cells[record].id,
                 study->metric[metric].name, old->value[metric], join->part[first].dir,
                 rec->value[metric], join->part[part].dir);
    }
  }
}

int perp_join_load(perp_ctx *ctx, const perp_args *args, bool keep_first, perp_join *join)
{
  *join = (perp_join){ .part = perp_xalloc((size_t)args->n, sizeof *join->part) };
  for (int part = 0; part < args->n; part++) {
    for (int i = 0; i < part; i++)
      if (strcmp(args->arg[i], args->arg[part]) == 0)
        return perp_usage_error(args, "%s is named more than once", args->arg[part]);
    int status = perp_results_open(ctx, args->arg[part], &join->part[part]);
    if (status >= 0) return status;
    join->n++;
    if (part > 0 && same_study(ctx, &join->part[0], &join->part[part]) != PERP_OK) {
      perp_print_error(ctx);
      return PERP_EXIT_INPUT;
    }
    if (part > 0 && join->part[part].selection.schema != join->part[0].selection.schema) {
      perp_say("error: %s has results of schema %d, %s of schema %d: their statuses have different "
               "meanings. Run the older study again.",
               join->part[0].dir, join->part[0].selection.schema, join->part[part].dir,
               join->part[part].selection.schema);
      return PERP_EXIT_INPUT;
    }
  }
  find_duplicates(join);
  if (join->conflicts == 0 || keep_first) return -1;
  perp_say(
      "error: %d run(s) differ between the folders; --keep-first uses those of the first folder",
      join->conflicts);
  return PERP_EXIT_INPUT;
}

void perp_join_free(perp_join *join)
{
  for (int part = 0; part < join->n; part++) perp_results_free(&join->part[part]);
  free(join->part);
  *join = (perp_join){ 0 };
}

/* Has it more to say: a result, else a reason why there is none, else at least a start? */
static bool knows_more(const perp_record *a, const perp_record *b)
{
  if ((a->attempt > 0) != (b->attempt > 0)) return a->attempt > 0;
  if (a->attempt > 0) return false; /* both have a result: the first folder wins */
  if ((a->status == PERP_CELL_PLANNED) != (b->status == PERP_CELL_PLANNED))
    return a->status == PERP_CELL_PLANNED; /* what one part skipped another one was to run */
  return a->interrupted && !b->interrupted;
}

void perp_join_records(perp_join *join)
{
  perp_results *r = &join->part[0];
  for (int part = 1; part < join->n; part++) {
    const perp_results *o = &join->part[part];
    for (int record = 0; record < r->plan.n; record++)
      if (knows_more(&o->record[record], &r->record[record])) r->record[record] = o->record[record];
    for (int p = 0; p < o->programs.n; p++)
      perp_names_index(&r->pool, &r->programs, o->programs.text[p], -1);
    for (int l = 0; l < o->limits.n; l++)
      perp_names_index(&r->pool, &r->limits, o->limits.text[l], -1);
    for (int env = 0; env < o->n_envs; env++) perp_results_note_env(r, o->envs[env].id, o->dir);
    r->torn += o->torn;
    r->started = fmin(r->started, o->started);
    r->ended = fmax(r->ended, o->ended);
  }
  perp_results_count(r);
}
