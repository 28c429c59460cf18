/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp view: a run, or two beside each other, on a page that shows them moving. */
#include "experiments/base/guard.h"
#include "experiments/watch/request.h"
#include "experiments/watch/watch.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 2 };

static perp_cut view_cut(void *user)
{
  return (perp_cut)*perp_kept_cut(user);
}

static void view_keep(const perp_result *so_far, void *user)
{
  (void)so_far;
  (void)user;
}

/* In the child: run, record. */
static int view_here(perp_ctx *ctx, perp_cli_request *request, const perp_guard *guard,
                     const perp_watching *watching, int i)
{
  const perp_minder minder = { view_cut, view_keep, guard->kept };
  perp_result result;
  request->q.minder = &minder;
  const perp_status done = perp_simulate(ctx, &request->q, &result);
  if (done != PERP_OK) return perp_refuse(ctx, perp_exit_of(done));
  if (result.cut == PERP_CUT_TIME)
    snprintf(result.message, sizeof result.message, "stopped at the time limit of %g s",
             request->timeout);
  const perp_cell_status status = perp_result_status(&result);
  char cause[512];
  if (status != PERP_CELL_OK && status != PERP_CELL_FIXED_WORK)
    perp_say("%s: %s at t = %.6g s%s%s", result.scene, perp_result_status_name(&result), result.t,
             perp_result_cause(&result, cause, sizeof cause)[0] != '\0' ? ": " : "", cause);
  const perp_status written = perp_watch_result(ctx, watching, i, &result);
  perp_result_free(&result);
  return written == PERP_OK ? PERP_EXIT_OK : perp_refuse(ctx, perp_exit_of(written));
}

/* Outside code may do anything to the process that runs it. */
static int view_run(perp_ctx *ctx, perp_cli_request *request, perp_watching *watching, int i)
{
  perp_guard guard;
  request->q.picture_at = fmax(0, watching->picture.at);
  request->q.replay.path = perp_watch_replay(watching, i);
  request->q.replay.film = true;
  if (perp_guard_begin(ctx, request->timeout, 1, &guard) != PERP_OK)
    return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  if (guard.child) exit(perp_guard_leave(&guard, view_here(ctx, request, &guard, watching, i)));
  const int code = guard.cut == PERP_CUT_NONE     ? guard.code
                   : guard.cut == PERP_CUT_MEMORY ? PERP_EXIT_INFRA
                                                  : PERP_EXIT_FAILED;
  if (guard.cut != PERP_CUT_NONE) perp_say("error: %s: %s", request->q.scene, guard.cause);
  perp_guard_free(&guard);
  return code;
}

/* "stab=post h=2ms": the arguments with these values instead; texts from pool. */
static int view_against(perp_pool *pool, const perp_args *args, const char *text, perp_args *out)
{
  static const perp_flag known[] = { PERP_REQUEST_FLAGS, { 0 } };
  const char *names[PERP_ARGS_MAX];
  int n = 0;
  for (; known[n].name != NULL; n++) names[n] = known[n].name;
  names[n++] = "scene";
  *out = *args;
  char *copy = perp_pool_strdup(pool, text), *left = NULL;
  for (char *word = strtok_r(copy, " ", &left); word != NULL; word = strtok_r(NULL, " ", &left)) {
    char *value = strchr(word, '=');
    if (value == NULL)
      return perp_usage_error(
          args, "--against: '%s' is not NAME=VALUE, as in --against 'stab=post h=2ms'", word);
    *value++ = '\0';
    if (strcmp(word, "t_end") == 0) word[1] = '-';
    const int k = perp_choose(
        args, "--against: part", word, names, n,
        " (a kind of method, h, t-end, tol, perturb, equivalent, seed, timeout or scene)");
    if (k < 0) return PERP_EXIT_USAGE;
    if (k == n - 1) {
      out->arg[0] = value;
      continue;
    }
    if (out->n_flags == PERP_ARGS_MAX) return perp_usage_error(args, "--against: too many values");
    out->flag[out->n_flags].flag = &known[k];
    out->flag[out->n_flags++].value = value;
  }
  return -1;
}

static int cmd_view(perp_ctx *ctx, const perp_args *args)
{
  static perp_cli_request request[RUNS];
  static perp_args other;
  perp_pool pool = { 0 };
  perp_watching watching = { 0 };
  const char *against = perp_args_get(args, "against");
  const int runs = against != NULL ? 2 : 1;
  int code = perp_command_request(ctx, args, &request[0]);
  if (code < 0 && against != NULL) code = view_against(&pool, args, against, &other);
  if (code < 0 && against != NULL) code = perp_command_request(ctx, &other, &request[1]);
  if (code < 0) code = perp_watch_begin(ctx, args, request[0].q.scene, true, &watching);
  for (int i = 0; i < runs && code < 0; i++) {
    request[i].q.forces.wanted = perp_option_given(args, "forces");
    code = view_run(ctx, &request[i], &watching, i);
    if (code == PERP_EXIT_OK) code = -1;
  }
  if (code < 0)
    code = perp_watch_end(ctx, &watching, runs);
  else if (watching.folder != NULL) {
    perp_temp_remove(watching.folder);
    perp_pool_free(&watching.pool);
  }
  perp_pool_free(&pool);
  return code;
}

static const perp_flag view_flags[] = { PERP_REQUEST_FLAGS,
                                        { "against", 0, "'NAME=VALUE ...'",
                                          "Add a second simulation that differs in these values: "
                                          "'stab=baumgarte h=2ms', 'scene=stack:boxes=9'." },
                                        { "forces", 0, NULL,
                                          "Show reaction forces of joints as arrows." },
                                        PERP_FILTER_FLAG,
                                        PERP_WATCH_FLAGS,
                                        { 0 } };

const perp_command perp_view_command = {
  .cli.name = "view",
  .cli.usage = "SCENE [options]",
  .cli.summary =
      "Simulates one scene, or two beside each other, and makes a page with an animation: bodies "
      "with shadows, contacts, impulses as arrows, energy and drift. The reference solution is "
      "drawn transparently. The page needs no network; its path is printed.",
  .cli.more =
      "Keys: space plays and pauses, the arrow keys go from frame to frame, F fits the picture; "
      "drag to turn it.\n\nFor two simulations with one clock: perp view chain:links=6 --stab none "
      "--against stab=post. For a picture: perp view stack:boxes=9 --png stack.png --at 1s. A "
      "simulation that fails is shown until its end, with a message.\n\nExit status: 0 the page "
      "was made, 5 perp was built without the script of its pages, or Chromium is missing with "
      "--png "
      "(an error names it).",
  .cli.example = "perp view tippe-top --t-end 8s",
  .cli.flags = view_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Make a page with an animation of one simulation or of two",
  .run = cmd_view
};
