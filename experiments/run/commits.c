/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/run/commits.h"

#include "experiments/base/build.h"
#include "experiments/base/messages.h"
#include "experiments/base/shell.h"
#include "experiments/base/files.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

enum { PARTS = 4, MOST_WORDS = 64 };
static const char *const sides[] = { "base", "new" };

/* One command, what it prints goes to a file of the temporary folder; its exit status, -1 after a
 * message. */
static int commits_do(perp_ctx *ctx, const perp_commits *commits, const char *const *words)
{
  char *log = perp_xprintf("%s/log", commits->folder);
  const char *argv[MOST_WORDS + 5] = { "sh", "-c", "exec \"$@\" >\"$0\" 2>&1 </dev/null", log };
  int n = 4, status = 0;
  for (; *words != NULL && n < MOST_WORDS + 4; words++) argv[n++] = *words;
  const perp_status started = perp_process_run(ctx, &(perp_process){ .argv = argv }, &status);
  free(log);
  if (started != PERP_OK) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/* The last lines of what the command printed become the message. */
static perp_status commits_failed(perp_ctx *ctx, const perp_commits *commits, const char *what)
{
  char *log = perp_xprintf("%s/log", commits->folder), *text = perp_read_file(log, NULL);
  const char *from = text != NULL ? text : "";
  while (strlen(from) > 360) from += strcspn(from, "\n") + 1;
  PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s failed: %.*s", what,
            (int)(strlen(from) > 0 ? strlen(from) - 1 : 0), from);
  free(text);
  free(log);
  return PERP_ERR_EXTERNAL;
}

static perp_status commits_must(perp_ctx *ctx, const perp_commits *commits, const char *what,
                                const char *const *words)
{
  const int status = commits_do(ctx, commits, words);
  return status < 0    ? PERP_ERR_EXTERNAL
         : status == 0 ? PERP_OK
                       : commits_failed(ctx, commits, what);
}

static perp_status commits_build(perp_ctx *ctx, perp_commits *commits, int side, const char *commit)
{
  char *tree = perp_xprintf("%s/%s", commits->folder, sides[side]),
       *build = perp_xprintf("%s/build", tree), *named = perp_xprintf("%s^{commit}", commit),
       *what = perp_xprintf("building %s", commit);
  perp_say("building %s", commit);
  const char *const known[] = { "git",       "-C",       commits->root,
                                "rev-parse", "--verify", "--end-of-options",
                                named,       NULL };
  const char *const add[] = { "git",      "-C", commits->root, "worktree", "add",
                              "--detach", tree, commit,        NULL };
  const char *const setup[] = { "meson", "setup", build, tree, NULL };
  const char *const ninja[] = { "ninja", "-C", build, "experiments/perp", NULL };
  perp_status status = PERP_OK;
  if (commits_do(ctx, commits, known) != 0)
    status = PERP_FAIL(ctx, PERP_ERR_ARG, "'%s' is neither a results folder nor a commit of %s",
                       commit, commits->root);
  if (status == PERP_OK) status = commits_must(ctx, commits, "git worktree add", add);
  if (status == PERP_OK) status = commits_must(ctx, commits, what, setup);
  if (status == PERP_OK) status = commits_must(ctx, commits, what, ninja);
  commits->program[side] = perp_xprintf("%s/experiments/perp", build);
  free(tree);
  free(build);
  free(named);
  free(what);
  return status;
}

/* Part k of the study by one of them. */
static perp_status commits_part(perp_ctx *ctx, const perp_args *args, const perp_commits *commits,
                                int side, int part, const char *study)
{
  char *home = perp_xprintf("PERP_HOME=%s/%s", commits->folder, sides[side]),
       *shard = perp_xprintf("%d/%d", part, PARTS);
  const char *words[MOST_WORDS] = { "env",     home,          commits->program[side],
                                    "run",     study,         "--shard",
                                    shard,     "-o",          commits->result[side],
                                    "--quiet", "--no-report", "--keep-program" };
  int n = 12;
  for (int i = 0; i < args->n_flags && n + 2 < MOST_WORDS; i++)
    if (strcmp(args->flag[i].flag->name, "set") == 0) {
      words[n++] = "--set";
      words[n++] = args->flag[i].value;
    }
  const int status = commits_do(ctx, commits, words);
  free(home);
  free(shard);
  if (status < 0) return PERP_ERR_EXTERNAL;
  const bool ran = status == PERP_EXIT_OK || status == PERP_EXIT_INFRA ||
                   status == PERP_EXIT_FAILED ||
                   status == PERP_EXIT_NOTHING; /* no cell in this part */
  return ran ? PERP_OK : commits_failed(ctx, commits, args->arg[side]);
}

perp_status perp_commits_run(perp_ctx *ctx, const perp_args *args, const char *study,
                             const char *out, perp_commits *commits)
{
  const char *home = getenv("PERP_HOME");
  *commits = (perp_commits){ .folder = perp_temp_folder(ctx) };
  if (commits->folder == NULL) return PERP_ERR_IO;
  commits->root = perp_xstrdup(home != NULL && home[0] != '\0' ? home : PERP_HEADERS_SOURCE);
  char *file = perp_real_path(study);
  if (file == NULL) return PERP_FAIL(ctx, PERP_ERR_IO, "%s: %s", study, perp_input_why(errno));
  perp_status status = perp_make_dirs(ctx, out);
  for (int side = 0; side < 2 && status == PERP_OK; side++) {
    commits->result[side] = perp_xprintf("%s/%s", out, sides[side]);
    char *plan = perp_xprintf("%s/plan.jsonl", commits->result[side]);
    if (perp_exists(plan))
      status = PERP_FAIL(ctx, PERP_ERR_IO,
                         "%s already contains results: choose another folder (-o)",
                         commits->result[side]);
    free(plan);
  }
  for (int side = 0; side < 2 && status == PERP_OK; side++)
    status = commits_build(ctx, commits, side, args->arg[side]);
  /* one goes first in every other part: a slow minute of the machine meets both */
  for (int k = 0; k < 2 * PARTS && status == PERP_OK; k++) {
    const int part = k / 2 + 1, side = (k + part + 1) % 2;
    if (k % 2 == 0) perp_say("running part %d of %d with both versions", part, PARTS);
    status = commits_part(ctx, args, commits, side, part, file);
  }
  free(file);
  return status;
}

void perp_commits_free(perp_commits *commits)
{
  perp_ctx quiet;
  perp_ctx_init(&quiet);
  for (int side = 0; side < 2; side++) {
    if (commits->root != NULL && commits->folder != NULL) {
      char *tree = perp_xprintf("%s/%s", commits->folder, sides[side]);
      const char *const words[] = { "git",    "-C",      commits->root, "worktree",
                                    "remove", "--force", tree,          NULL };
      if (perp_exists(tree)) commits_do(&quiet, commits, words);
      free(tree);
    }
    free(commits->program[side]);
    free(commits->result[side]);
  }
  perp_temp_remove(commits->folder);
  free(commits->root);
  *commits = (perp_commits){ 0 };
}
