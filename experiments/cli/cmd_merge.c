/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp merge: several results folders of one study become one.
 *
 * The journals are the results: they are copied beside each other, together with what cells left in
 * series, log, env and problems; study and plan must be the same everywhere.  Cells that were
 * computed more than once must have come out the same. */
#include "experiments/answers/answers.h"
#include "experiments/report/report.h"
#include "experiments/cli/command.h"
#include "experiments/base/shell.h"
#include "experiments/scenes/scene_file.h"
#include "experiments/base/files.h"
#include "solvers/core/input.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_status copy_file(perp_ctx *ctx, const char *from, const char *to)
{
  size_t n = 0;
  char *text = perp_read_plain(from, &n); /* what a link leads to is no part of the folder */
  if (text == NULL)
    return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", from,
                     errno == ELOOP
                         ? "it is a link to files outside of the folder; copy the files themselves"
                         : perp_input_why(errno));
  perp_status status = perp_write_file(ctx, to, text, n);
  free(text);
  return status;
}

/* Journals of part k get its number in front: where two have the same cell, the first folder
 * wins. */
static perp_status copy_folder(perp_ctx *ctx, const char *from, const char *to, const char *name,
                               int k)
{
  char *source = perp_xprintf("%s/%s", from, name), *target = perp_xprintf("%s/%s", to, name);
  DIR *dir = opendir(source);
  perp_status status = dir != NULL ? perp_make_part(ctx, to, name) : PERP_OK;
  for (struct dirent *entry; dir != NULL && status == PERP_OK && (entry = readdir(dir)) != NULL;) {
    if (entry->d_name[0] == '.') continue;
    bool journal = strcmp(name, "journal") == 0;
    char *a = perp_xprintf("%s/%s", source, entry->d_name);
    char *b = journal ? perp_xprintf("%s/part%03d-%s", target, k + 1, entry->d_name)
                      : perp_xprintf("%s/%s", target, entry->d_name);
    if (journal || !perp_exists(b)) status = copy_file(ctx, a, b);
    free(a);
    free(b);
  }
  if (dir != NULL) closedir(dir);
  free(source);
  free(target);
  return status;
}

static perp_status write_folder(perp_ctx *ctx, const perp_join *join, const char *dir)
{
  static const char *const folders[] = { "journal", "series",   "replay",   "log",
                                         "env",     "problems", "reference" };
  PERP_TRY(perp_make_dirs(ctx, dir));
  perp_status status = PERP_OK;
  for (int part = 0; part < join->n; part++)
    for (size_t f = 0; f < sizeof folders / sizeof *folders && status == PERP_OK; f++)
      status = copy_folder(ctx, join->part[part].dir, dir, folders[f], part);
  static const char *const single[] = { "study.yaml", "reference.json" };
  for (size_t f = 0; f < 2 && status == PERP_OK; f++) {
    char *a = perp_xprintf("%s/%s", join->part[0].dir, single[f]),
         *b = perp_xprintf("%s/%s", dir, single[f]);
    if (perp_exists(a)) status = copy_file(ctx, a, b);
    free(a);
    free(b);
  }
  char *study = perp_xprintf("%s/study.yaml", join->part[0].dir);
  if (status == PERP_OK) status = perp_scene_files_keep(ctx, dir, study);
  free(study);
  char *plan = perp_xprintf("%s/plan.jsonl", dir);
  /* The selection of the whole: what all parts agree on. */
  perp_selection s = join->part[0].selection;
  for (int part = 1; part < join->n; part++) {
    const perp_selection *o = &join->part[part].selection;
    if (s.only != NULL && (o->only == NULL || strcmp(s.only, o->only) != 0)) s.only = NULL;
    if (s.skip != NULL && (o->skip == NULL || strcmp(s.skip, o->skip) != 0)) s.skip = NULL;
    if (s.plugins == NULL) s.plugins = o->plugins;
  }
  s.shard = NULL;
  s.schema = join->part[0].selection.schema;
  perp_selection selection = s;
  if (status == PERP_OK)
    status = perp_plan_write(ctx, plan, join->part[0].study, &join->part[0].plan, &selection);
  free(plan);
  return status;
}

static int cmd_merge_finish(perp_ctx *ctx, const perp_join *join, const char *dir, bool report)
{
  perp_results results;
  if (perp_results_load(ctx, dir, NULL, &results) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  int code = PERP_EXIT_OK, missing = results.count[PERP_CELL_PLANNED];
  if (perp_results_derive(ctx, &results) != PERP_OK) code = perp_refuse(ctx, PERP_EXIT_INTERNAL);
  printf("%s: %d runs from %d folders in %s", results.study->name, results.plan.n - missing,
         join->n, dir);
  if (join->duplicates > 0) printf(", %d of them computed more than once", join->duplicates);
  if (missing > 0) printf(", %d missing", missing);
  printf("\nTables: %s/derived/cells.csv, timing.csv\n", dir);
  fflush(stdout);
  perp_results_warn_unlike(&results);
  char page[4096];
  perp_report_request request = { 0 };
  if (code == PERP_EXIT_OK && report) {
    if (perp_report(ctx, dir, &request, page, sizeof page) == PERP_OK)
      printf("report  %s\n", page);
    else
      code = perp_refuse(ctx, PERP_EXIT_INTERNAL);
  }
  if (code == PERP_EXIT_OK && missing > 0) {
    perp_text again = { 0 };
    char *study = perp_xprintf("%s/study.yaml", dir);
    perp_text_add(&again, "perp run ");
    perp_shell_path(&again, study);
    perp_text_add(&again, " -o ");
    perp_shell_path(&again, dir);
    perp_say("not complete; continue with: %s", again.s);
    free(study);
    perp_text_free(&again);
    code = PERP_EXIT_RESUMABLE;
  }
  perp_results_free(&results);
  return code;
}

static int cmd_merge(perp_ctx *ctx, const perp_args *args)
{
  const char *dir = perp_args_get(args, "output");
  if (dir == NULL) return perp_usage_error(args, "the output folder is missing: use -o DIR");
  char *plan = perp_xprintf("%s/plan.jsonl", dir);
  bool taken = perp_exists(plan);
  free(plan);
  if (taken)
    return perp_usage_error(args, "%s contains results already; choose another folder", dir);
  perp_join join;
  int status = perp_join_load(ctx, args, perp_option_given(args, "keep-first"), &join);
  if (status < 0 && write_folder(ctx, &join, dir) != PERP_OK)
    status = perp_refuse(ctx, PERP_EXIT_INTERNAL);
  if (status < 0) status = cmd_merge_finish(ctx, &join, dir, !perp_option_given(args, "no-report"));
  perp_join_free(&join);
  return status;
}

static const perp_flag merge_flags[] = {
  { "output", 'o', "DIR", "Folder to write; it must not contain results." },
  { "keep-first", 0, NULL,
    "Where folders disagree about a run, use the first folder that has it." },
  { "no-report", 0, NULL, "Write tables only, no report.html." },
  { 0 }
};

const perp_command perp_merge_command = {
  .cli.name = "merge",
  .cli.usage = "DIR... -o DIR",
  .cli.summary = "Merges results of one study that were computed in shards (perp run --shard) into "
                 "one folder. Runs that were computed more than once must have the same results; "
                 "times can differ.",
  .cli.more = "Exit status: 0 complete, 3 the folders are not shards of one study or disagree, 7 "
              "runs are missing.",
  .cli.example = "perp merge part-1 part-2 -o results/chain6-stab  # after perp run chain6-stab "
                 "--shard 1/2 -o part-1, and 2/2 -o part-2",
  .cli.flags = merge_flags,
  .cli.min_args = 1,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Merge results that were computed in shards",
  .run = cmd_merge
};
