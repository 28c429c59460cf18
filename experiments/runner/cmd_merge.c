/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp merge: several results folders of one study become one.
 *
 * The journals are the results: they are copied beside each other, together with what cells left in series,
 * log, env and problems; study and plan must be the same everywhere.  Cells that were computed more than
 * once must have come out the same. */
#include "experiments/report/report.h"
#include "experiments/runner/command.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* study.yaml without its first line, which says how it was run. */
static char *study_text(const char *dir)
{
  char *path = perp_xprintf("%s/study.yaml", dir), *text = perp_read_file(path, NULL);
  free(path);
  if (text != NULL && text[0] == '#') {
    char *rest = text + strcspn(text, "\n");
    memmove(text, rest, strlen(rest) + 1);
  }
  return text;
}

static perp_status same_study(perp_ctx *ctx, const perp_results *a, const perp_results *b)
{
  char *x = study_text(a->dir), *y = study_text(b->dir);
  bool same = x != NULL && y != NULL && strcmp(x, y) == 0 && a->plan.n == b->plan.n;
  free(x);
  free(y);
  for (int i = 0; same && i < a->plan.n; i++)
    same = strcmp(a->plan.cells[i].id, b->plan.cells[i].id) == 0;
  if (same) return PERP_OK;
  return PERP_FAIL(ctx, PERP_ERR_FORMAT,
                   "%s and %s are not parts of one run: their study.yaml differ (study %s with %d "
                   "cells, %s with %d)",
                   a->dir, b->dir, a->study->name, a->plan.n, b->study->name, b->plan.n);
}

static bool same_value(double a, double b)
{
  return a == b || (isnan(a) && isnan(b));
}

/* The first result metric that differs between two records of one cell, -1 none, -2 the status. */
static int difference(const perp_study *s, const perp_record *a, const perp_record *b)
{
  if (a->status != b->status) return -2;
  for (int m = 0; m < s->n_metrics; m++)
    if (!s->metric[m].timing && !same_value(a->value[m], b->value[m])) return m;
  return -1;
}

struct merge {
  int n;
  perp_results *part;
  int duplicates, conflicts;
};

static void find_duplicates(struct merge *g)
{
  const perp_study *s = g->part[0].study;
  for (int i = 0; i < g->part[0].plan.n; i++) {
    int first = -1;
    for (int k = 0; k < g->n; k++) {
      const perp_record *rec = &g->part[k].record[i];
      if (rec->attempt == 0) continue;
      if (first < 0) {
        first = k;
        continue;
      }
      g->duplicates++;
      const perp_record *old = &g->part[first].record[i];
      int m = difference(s, old, rec);
      if (m == -1) continue;
      g->conflicts++;
      if (g->conflicts > 10) continue;
      if (m == -2)
        perp_say("%s: %s in %s, %s in %s", g->part[0].plan.cells[i].id,
                 perp_cell_status_names[old->status], g->part[first].dir,
                 perp_cell_status_names[rec->status], g->part[k].dir);
      else
        perp_say("%s: %s is %.17g in %s, %.17g in %s", g->part[0].plan.cells[i].id,
                 s->metric[m].name, old->value[m], g->part[first].dir, rec->value[m],
                 g->part[k].dir);
    }
  }
}

static perp_status copy_file(perp_ctx *ctx, const char *from, const char *to)
{
  size_t n = 0;
  char *text = perp_read_file(from, &n);
  if (text == NULL) return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", from, strerror(errno));
  perp_status status = perp_write_file(ctx, to, text, n);
  free(text);
  return status;
}

/* Journals of part k get its number in front: where two have the same cell, the first folder wins. */
static perp_status copy_folder(perp_ctx *ctx, const char *from, const char *to, const char *name,
                               int k)
{
  char *source = perp_xprintf("%s/%s", from, name), *target = perp_xprintf("%s/%s", to, name);
  DIR *d = opendir(source);
  perp_status status = d != NULL ? perp_make_dirs(ctx, target) : PERP_OK;
  for (struct dirent *e; d != NULL && status == PERP_OK && (e = readdir(d)) != NULL;) {
    if (e->d_name[0] == '.') continue;
    bool journal = strcmp(name, "journal") == 0;
    char *a = perp_xprintf("%s/%s", source, e->d_name);
    char *b = journal ? perp_xprintf("%s/part%03d-%s", target, k + 1, e->d_name)
                      : perp_xprintf("%s/%s", target, e->d_name);
    if (journal || !perp_exists(b)) status = copy_file(ctx, a, b);
    free(a);
    free(b);
  }
  if (d != NULL) closedir(d);
  free(source);
  free(target);
  return status;
}

/* The selection of the whole: what all parts agree on. */
static perp_selection joined(const struct merge *g)
{
  perp_selection s = g->part[0].selection;
  for (int k = 1; k < g->n; k++) {
    const perp_selection *o = &g->part[k].selection;
    if (s.only != NULL && (o->only == NULL || strcmp(s.only, o->only) != 0)) s.only = NULL;
    if (s.skip != NULL && (o->skip == NULL || strcmp(s.skip, o->skip) != 0)) s.skip = NULL;
    if (s.plugins == NULL) s.plugins = o->plugins;
  }
  s.shard = NULL;
  return s;
}

static perp_status write_folder(perp_ctx *ctx, const struct merge *g, const char *dir)
{
  static const char *const folders[] = { "journal", "series",   "replay",   "log",
                                         "env",     "problems", "reference" };
  PERP_TRY(perp_make_dirs(ctx, dir));
  perp_status status = PERP_OK;
  for (int k = 0; k < g->n; k++)
    for (size_t f = 0; f < sizeof folders / sizeof *folders && status == PERP_OK; f++)
      status = copy_folder(ctx, g->part[k].dir, dir, folders[f], k);
  static const char *const single[] = { "study.yaml", "reference.json" };
  for (size_t f = 0; f < 2 && status == PERP_OK; f++) {
    char *a = perp_xprintf("%s/%s", g->part[0].dir, single[f]),
         *b = perp_xprintf("%s/%s", dir, single[f]);
    if (perp_exists(a)) status = copy_file(ctx, a, b);
    free(a);
    free(b);
  }
  char *plan = perp_xprintf("%s/plan.jsonl", dir);
  perp_selection selection = joined(g);
  if (status == PERP_OK)
    status = perp_plan_write(ctx, plan, g->part[0].study, &g->part[0].plan, &selection);
  free(plan);
  return status;
}

static int finish(perp_ctx *ctx, const struct merge *g, const char *dir, bool report)
{
  perp_results r;
  if (perp_results_load(ctx, dir, NULL, &r) != PERP_OK) {
    perp_print_error(ctx);
    return PERP_EXIT_INTERNAL;
  }
  int code = PERP_EXIT_OK, missing = r.count[PERP_CELL_PLANNED];
  if (perp_results_derive(ctx, &r) != PERP_OK) {
    perp_print_error(ctx);
    code = PERP_EXIT_INTERNAL;
  }
  printf("%s: %d cells from %d folders in %s", r.study->name, r.plan.n - missing, g->n, dir);
  if (g->duplicates > 0) printf(", %d of them computed more than once", g->duplicates);
  if (missing > 0) printf(", %d missing", missing);
  printf("\ntables  %s/derived/cells.csv, timing.csv\n", dir);
  char page[4096];
  perp_report_request request = { 0 };
  if (code == PERP_EXIT_OK && report) {
    if (perp_report(ctx, dir, &request, page, sizeof page) == PERP_OK)
      printf("report  %s\n", page);
    else {
      perp_print_error(ctx);
      code = PERP_EXIT_INTERNAL;
    }
  }
  if (code == PERP_EXIT_OK && missing > 0) {
    perp_say("not complete; go on with: perp run %s/study.yaml -o %s", dir, dir);
    code = PERP_EXIT_RESUMABLE;
  }
  perp_results_free(&r);
  return code;
}

int perp_cmd_merge(perp_ctx *ctx, int argc, char **argv)
{
  static const perp_flag flags[] = {
    { "output", 'o', "DIR", "the folder to write; must not hold results yet" },
    { "keep-first", 0, NULL, "where folders disagree about a cell, take the first that has it" },
    { "no-report", 0, NULL, "tables only, no report.html" },
    { 0 }
  };
  static const perp_cli cli = {
    "merge",
    "DIR... -o DIR",
    "Puts the results of one study that were computed in parts (perp run --shard) into one folder. "
    "Cells computed "
    "more than once must agree in all results; times may differ.",
    "Exit status 0: complete; 3: not parts of one run, or they disagree; 7: cells are missing.",
    "perp merge part-1 part-2 -o results/chain6-stab",
    flags,
    1,
    PERP_ARGS_MAX
  };
  perp_args args;
  int status = perp_args_read(&cli, argc, argv, &args);
  if (status >= 0) return status;
  const char *dir = perp_args_get(&args, "output");
  if (dir == NULL) return perp_usage_error(&args, "where to? -o DIR is missing");
  char *plan = perp_xprintf("%s/plan.jsonl", dir);
  bool taken = perp_exists(plan);
  free(plan);
  if (taken) return perp_usage_error(&args, "%s holds results already", dir);
  struct merge g = { .part = perp_xalloc((size_t)args.n, sizeof *g.part) };
  for (int k = 0; k < args.n && status < 0; k++) {
    status = perp_command_results(ctx, args.arg[k], &g.part[k]);
    if (status < 0) g.n++;
    if (status < 0 && k > 0 && same_study(ctx, &g.part[0], &g.part[k]) != PERP_OK) {
      perp_print_error(ctx);
      status = PERP_EXIT_INPUT;
    }
    for (int i = 0; i < k && status < 0; i++)
      if (strcmp(args.arg[i], args.arg[k]) == 0)
        status = perp_usage_error(&args, "%s is named twice", args.arg[k]);
  }
  if (status < 0) {
    find_duplicates(&g);
    if (g.conflicts > 0 && perp_args_get(&args, "keep-first") == NULL) {
      perp_say("error: %d cell(s) differ between folders; --keep-first takes the first one",
               g.conflicts);
      status = PERP_EXIT_INPUT;
    }
  }
  if (status < 0 && write_folder(ctx, &g, dir) != PERP_OK) {
    perp_print_error(ctx);
    status = PERP_EXIT_INTERNAL;
  }
  if (status < 0) status = finish(ctx, &g, dir, perp_args_get(&args, "no-report") == NULL);
  for (int k = 0; k < g.n; k++) perp_results_free(&g.part[k]);
  free(g.part);
  return status;
}
