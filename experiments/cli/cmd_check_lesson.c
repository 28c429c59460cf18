/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp check of the folder of a lesson. */
#include "experiments/cli/command.h"
#include "experiments/lessons/lesson.h"
#include "experiments/lessons/lesson_text.h"

#include "experiments/base/files.h"
#include "experiments/base/shell.h"
#include "experiments/base/table.h"

#include <stdlib.h>
#include <string.h>

struct checking {
  perp_ctx *ctx;
  const perp_lesson *l;
  char *dir;
  int wrong;
};

static void check_put(struct checking *c, bool good, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static void check_put(struct checking *checking, bool good, const char *fmt, ...)
{
  char text[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  checking->wrong += !good;
  perp_wrap_after(stdout, good ? "  good" : "  WRONG", 8, text);
}

/* The solution must be accepted, the wrong answer refused. */
static void check_exercise(struct checking *checking, int k, perp_results *results)
{
  const perp_lesson_exercise *exercise = &checking->l->exercises[k];
  const char *const answer[] = { exercise->solution, exercise->wrong };
  for (int i = 0; i < 2; i++) {
    bool right = false;
    perp_text why = { 0 };
    char *dir = perp_xprintf("%s/exercise%d-%d", checking->dir, k, i);
    const perp_status status = perp_lesson_check(checking->ctx, checking->l, exercise, answer[i],
                                                 dir, results, &right, &why, NULL);
    check_put(checking, status == PERP_OK && right == (i == 0), "exercise %d: %s '%s' is %s (%s)",
              k + 1, i == 0 ? "the solution" : "the wrong answer", answer[i],
              status != PERP_OK ? "not valid"
              : right           ? "accepted"
                                : "refused",
              status != PERP_OK ? checking->ctx->msg : why.s);
    perp_text_free(&why);
    free(dir);
  }
}

static void check_results(struct checking *checking, perp_results *results)
{
  const perp_lesson *lesson = checking->l;
  check_put(checking, results->count[PERP_CELL_OK] + results->count[PERP_CELL_FIXED_WORK] > 0,
            "%d runs, %d complete", results->plan.n,
            results->count[PERP_CELL_OK] + results->count[PERP_CELL_FIXED_WORK]);
  const perp_claim_result *claims = perp_results_claims(checking->ctx, results);
  for (int claim = 0; claim < results->study->n_claims; claim++)
    check_put(checking, strcmp(perp_verdict_name(claims[claim].verdict), "proved") == 0, "%s: %s%s",
              perp_verdict_name(claims[claim].verdict), claims[claim].claim->text,
              perp_claim_sides(&results->pool, &claims[claim]));
  for (int plot = 0; plot < lesson->n_plots; plot++) {
    perp_lesson_figure figure;
    perp_lesson_pick(checking->ctx, &results->pool, results, &lesson->plots[plot], NULL, &figure);
    check_put(checking, figure.n > 0, "figure '%s': %d curves", lesson->plots[plot].title,
              figure.n);
  }
  for (int show = 0; show < lesson->n_show; show++) {
    perp_text text = { 0 };
    const bool number = perp_lesson_say(checking->ctx, results, &lesson->show[show], &text);
    check_put(checking, number, "%s", perp_lesson_plain(&results->pool, text.s));
    perp_text_free(&text);
  }
}

static perp_status check_run(struct checking *checking)
{
  perp_results results;
  const bool runs = checking->l->study != NULL;
  fflush(stdout);
  if (runs) PERP_TRY(perp_lesson_run(checking->ctx, checking->l, NULL, 0, checking->dir, &results));
  if (runs) check_results(checking, &results);
  for (int solver = 0; solver < checking->l->n_solvers; solver++) {
    FILE *null = fopen("/dev/null", "w");
    const perp_status status = null != NULL
                                   ? perp_lesson_pivots(checking->ctx, checking->l,
                                                        checking->l->solvers[solver], null, NULL)
                                   : PERP_OK;
    if (null != NULL) fclose(null);
    check_put(checking, status == PERP_OK, "solver %s%s%s", checking->l->solvers[solver],
              status == PERP_OK ? "" : ": ", status == PERP_OK ? "" : checking->ctx->msg);
  }
  for (int exercise = 0; exercise < checking->l->n_exercises; exercise++)
    check_exercise(checking, exercise, runs ? &results : NULL);
  if (runs) perp_results_free(&results);
  return PERP_OK;
}

static int check_course(perp_ctx *ctx, const perp_args *args)
{
  perp_diag diag = { 0 };
  perp_course *course;
  if (perp_option_given(args, "run"))
    return perp_usage_error(args, "--run is for the folder of one lesson");
  const perp_status status = perp_course_read(ctx, args->arg[0], &diag, &course);
  if (status == PERP_OK)
    printf("%s is a valid course of %d lessons: %s\n", args->arg[0], course->n, course->title);
  else if (diag.text.s != NULL)
    fputs(diag.text.s, stderr);
  else
    perp_print_error(ctx);
  perp_diag_free(&diag);
  perp_course_free(course);
  return status == PERP_OK ? PERP_EXIT_OK : PERP_EXIT_INPUT;
}

int perp_command_check_lesson(perp_ctx *ctx, const perp_args *args)
{
  if (!perp_lesson_is(args->arg[0])) return check_course(ctx, args);
  perp_diag diag = { 0 };
  perp_lesson *lesson = NULL;
  perp_status status = perp_lesson_read(ctx, args->arg[0], &diag, &lesson);
  if (status == PERP_OK) perp_lesson_examine(ctx, lesson, &diag);
  if (status != PERP_OK || diag.errors > 0) {
    if (diag.text.s != NULL)
      fputs(diag.text.s, stderr);
    else
      perp_print_error(ctx);
    perp_diag_free(&diag);
    perp_lesson_free(lesson);
    return PERP_EXIT_INPUT;
  }
  perp_diag_free(&diag);
  printf("%s is a valid lesson: %s, %d minutes, %d exercise%s%s\n", lesson->folder, lesson->title,
         lesson->minutes, lesson->n_exercises, lesson->n_exercises == 1 ? "" : "s",
         lesson->notes == NULL ? "; it has no notes.md for the teacher" : "");
  struct checking checking = { .ctx = ctx, .l = lesson };
  int code = PERP_EXIT_OK;
  if (perp_option_given(args, "run")) {
    checking.dir = perp_temp_folder(ctx);
    status = checking.dir != NULL ? check_run(&checking) : PERP_ERR_IO;
    if (checking.dir != NULL) perp_temp_remove(checking.dir);
    code = status != PERP_OK    ? perp_refuse(ctx, PERP_EXIT_INTERNAL)
           : checking.wrong > 0 ? PERP_EXIT_FAILED
                                : PERP_EXIT_OK;
  } else {
    perp_text path = { 0 };
    perp_shell_path(&path, lesson->folder);
    perp_say("next: perp check %s --run, perp lesson %s", path.s, path.s);
    perp_text_free(&path);
  }
  perp_lesson_free(lesson);
  return code;
}
