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
static void check_put(struct checking *c, bool good, const char *fmt, ...)
{
  char text[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  c->wrong += !good;
  perp_wrap_after(stdout, good ? "  good" : "  WRONG", 8, text);
}

/* The solution must be accepted, the wrong answer refused. */
static void check_exercise(struct checking *c, int k, perp_results *results)
{
  const perp_lesson_exercise *e = &c->l->exercises[k];
  const char *const answer[] = { e->solution, e->wrong };
  for (int i = 0; i < 2; i++) {
    bool right = false;
    perp_text why = { 0 };
    char *dir = perp_xprintf("%s/exercise%d-%d", c->dir, k, i);
    const perp_status status = perp_lesson_check(c->ctx, c->l, e, answer[i], dir, results, &right,
                                                 &why, NULL);
    check_put(c, status == PERP_OK && right == (i == 0), "exercise %d: %s '%s' is %s (%s)", k + 1,
              i == 0 ? "the solution" : "the wrong answer", answer[i],
              status != PERP_OK ? "not valid"
              : right           ? "accepted"
                                : "refused",
              status != PERP_OK ? c->ctx->msg : why.s);
    perp_text_free(&why);
    free(dir);
  }
}

static void check_results(struct checking *c, perp_results *results)
{
  const perp_lesson *l = c->l;
  check_put(c, results->count[PERP_CELL_OK] + results->count[PERP_CELL_FIXED_WORK] > 0,
            "%d runs, %d complete", results->plan.n,
            results->count[PERP_CELL_OK] + results->count[PERP_CELL_FIXED_WORK]);
  const perp_claim_result *claims = perp_results_claims(c->ctx, results);
  for (int i = 0; i < results->study->n_claims; i++)
    check_put(c, strcmp(perp_verdict_name(claims[i].verdict), "proved") == 0, "%s: %s%s",
              perp_verdict_name(claims[i].verdict), claims[i].claim->text,
              perp_claim_sides(&results->pool, &claims[i]));
  for (int i = 0; i < l->n_plots; i++) {
    perp_lesson_figure figure;
    perp_lesson_pick(c->ctx, &results->pool, results, &l->plots[i], NULL, &figure);
    check_put(c, figure.n > 0, "figure '%s': %d curves", l->plots[i].title, figure.n);
  }
  for (int i = 0; i < l->n_show; i++) {
    perp_text text = { 0 };
    const bool number = perp_lesson_say(c->ctx, results, &l->show[i], &text);
    check_put(c, number, "%s", perp_lesson_plain(&results->pool, text.s));
    perp_text_free(&text);
  }
}

static perp_status check_run(struct checking *c)
{
  perp_results results;
  const bool runs = c->l->study != NULL;
  fflush(stdout);
  if (runs) PERP_TRY(perp_lesson_run(c->ctx, c->l, NULL, 0, c->dir, &results));
  if (runs) check_results(c, &results);
  for (int i = 0; i < c->l->n_solvers; i++) {
    FILE *null = fopen("/dev/null", "w");
    const perp_status status = null != NULL
                                   ? perp_lesson_pivots(c->ctx, c->l, c->l->solvers[i], null, NULL)
                                   : PERP_OK;
    if (null != NULL) fclose(null);
    check_put(c, status == PERP_OK, "solver %s%s%s", c->l->solvers[i],
              status == PERP_OK ? "" : ": ", status == PERP_OK ? "" : c->ctx->msg);
  }
  for (int i = 0; i < c->l->n_exercises; i++) check_exercise(c, i, runs ? &results : NULL);
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
  perp_lesson *l = NULL;
  perp_status status = perp_lesson_read(ctx, args->arg[0], &diag, &l);
  if (status == PERP_OK) perp_lesson_examine(ctx, l, &diag);
  if (status != PERP_OK || diag.errors > 0) {
    if (diag.text.s != NULL)
      fputs(diag.text.s, stderr);
    else
      perp_print_error(ctx);
    perp_diag_free(&diag);
    perp_lesson_free(l);
    return PERP_EXIT_INPUT;
  }
  perp_diag_free(&diag);
  printf("%s is a valid lesson: %s, %d minutes, %d exercise%s%s\n", l->folder, l->title, l->minutes,
         l->n_exercises, l->n_exercises == 1 ? "" : "s",
         l->notes == NULL ? "; it has no notes.md for the teacher" : "");
  struct checking c = { .ctx = ctx, .l = l };
  int code = PERP_EXIT_OK;
  if (perp_option_given(args, "run")) {
    c.dir = perp_temp_folder(ctx);
    status = c.dir != NULL ? check_run(&c) : PERP_ERR_IO;
    if (c.dir != NULL) perp_temp_remove(c.dir);
    code = status != PERP_OK ? perp_refuse(ctx, PERP_EXIT_INTERNAL)
           : c.wrong > 0     ? PERP_EXIT_FAILED
                             : PERP_EXIT_OK;
  } else {
    perp_text path = { 0 };
    perp_shell_path(&path, l->folder);
    perp_say("next: perp check %s --run, perp lesson %s", path.s, path.s);
    perp_text_free(&path);
  }
  perp_lesson_free(l);
  return code;
}
