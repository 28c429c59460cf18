/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lesson */
#include "experiments/lessons/lesson.h"
#include "experiments/cli/command.h"
#include "experiments/web/web.h"
#include "experiments/base/shell.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct session {
  perp_ctx *ctx;
  const perp_args *args;
  perp_lesson *l;
  bool talks; /* stdin and stdout are a terminal */
  char *dir;  /* of the run */
  perp_pool pool;
};

static void cmd_lesson_paragraphs(const char *const *text, int n)
{
  for (int i = 0; i < n; i++) {
    perp_wrap(stdout, 0, text[i]);
    printf("\n");
  }
}

static void wait_for_enter(void)
{
  printf("  [Enter] ");
  fflush(stdout);
  for (int c = getchar(); c != '\n' && c != EOF;) c = getchar();
}

/* ---- the prediction ---- */

static int cmd_lesson_predict(struct session *s)
{
  const perp_lesson *lesson = s->l;
  int64_t k = 0;
  printf("PREDICT\n");
  perp_wrap(stdout, 2, lesson->ask);
  for (int i = 0; i < lesson->n_choices; i++) {
    char *choice = perp_xprintf("%d  %s", i + 1, lesson->choices[i]);
    perp_wrap(stdout, 3, choice);
    free(choice);
  }
  const int status = perp_option_int(s->ctx, s->args, "answer", 1, lesson->n_choices, &k);
  if (status >= 0) return status;
  if (!perp_option_given(s->args, "answer") && s->talks) {
    char line[64];
    printf("  your answer [1-%d]: ", lesson->n_choices);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) != NULL) k = strtol(line, NULL, 10);
  }
  if (k > 0)
    printf("  you say: %s\n", k <= lesson->n_choices ? lesson->choices[k - 1] : "none of these");
  printf("\n");
  return -1;
}

static void cmd_lesson_resolve(const struct session *s)
{
  const perp_lesson *lesson = s->l;
  char *answer = perp_xprintf("ANSWER   %d: %s", lesson->answer,
                              lesson->choices[lesson->answer - 1]);
  perp_wrap(stdout, 0, answer);
  free(answer);
  perp_wrap(stdout, 2, lesson->because);
  printf("\n");
}

/* ---- what was computed ---- */

static void show_results(struct session *s, perp_results *results)
{
  printf("RUN      %d simulations or solves\n\n", results->plan.n);
  for (int i = 0; i < s->l->n_plots; i++) {
    perp_lesson_figure figure;
    perp_lesson_pick(s->ctx, &s->pool, results, &s->l->plots[i], NULL, &figure);
    const char *picture = perp_lesson_draw(&s->pool, &figure, &s->l->plots[i]);
    if (picture != NULL)
      printf("%s\n", picture);
    else
      printf("  (%s: no figure, because gnuplot is missing or there is no data)\n\n",
             s->l->plots[i].title);
    if (s->talks) wait_for_enter();
  }
  for (int i = 0; i < s->l->n_show; i++) {
    perp_text text = { 0 };
    perp_lesson_say(s->ctx, results, &s->l->show[i], &text);
    perp_wrap(stdout, 2, text.s);
    perp_text_free(&text);
  }
  const perp_claim_result *claims = perp_results_claims(s->ctx, results);
  for (int i = 0; i < results->study->n_claims; i++) {
    perp_text text = { 0 };
    perp_text_add(&text, "%s: %s%s", perp_verdict_name(claims[i].verdict), claims[i].claim->text,
                  perp_claim_sides(&results->pool, &claims[i]));
    perp_wrap(stdout, 2, text.s);
    perp_text_free(&text);
  }
  printf("\n");
}

static void ask_exercise(const struct session *s)
{
  const perp_lesson *lesson = s->l;
  printf("EXERCISE\n");
  perp_wrap(stdout, 2, lesson->exercise.ask);
  printf("  check your answer with: perp lesson %s --check '%s'\n", lesson->name,
         lesson->exercise.try != NULL ? "..." : "NUMBER");
}

/* ---- the command ---- */

static int list_lessons(const perp_args *args, const perp_lesson_file *file, int n)
{
  if (perp_option_given(args, "json")) {
    perp_json json = { .out = stdout, .indent = true };
    perp_json_open(&json, NULL, '[');
    for (int i = 0; i < n; i++)
      perp_json_object(&json, NULL, "name %s, title %s", file[i].name, file[i].title);
    perp_json_close(&json, ']');
    return PERP_EXIT_OK;
  }
  for (int i = 0; i < n; i++) printf("%-12s %s\n", file[i].name, file[i].title);
  return PERP_EXIT_OK;
}

static int cmd_lesson_failed(const struct session *s, perp_status status)
{
  return perp_refuse(s->ctx, status == PERP_ERR_OPTION     ? PERP_EXIT_USAGE
                             : status == PERP_ERR_EXTERNAL ? PERP_EXIT_INFRA
                                                           : PERP_EXIT_INTERNAL);
}

static int check_answer(struct session *s, const char *answer)
{
  bool right;
  perp_text why = { 0 };
  perp_status status = perp_lesson_check(s->ctx, s->l, answer, s->dir, &right, &why);
  if (status != PERP_OK) {
    perp_text_free(&why);
    return cmd_lesson_failed(s, status);
  }
  printf("%s: %s\n", right ? "right" : "not yet", why.s);
  if (!right) perp_wrap(stdout, 2, s->l->exercise.hint);
  perp_text_free(&why);
  return right ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int show_step(struct session *s)
{
  perp_study *study = NULL;
  perp_diag diag = { 0 };
  perp_study_request request = { .file = s->l->name, .text = s->l->study, .profile = "" };
  if (s->l->study == NULL || perp_study_read(s->ctx, &request, &diag, &study) != PERP_OK ||
      perp_kind_param(study->kind, "scene") < 0) {
    perp_diag_free(&diag);
    perp_study_free(study);
    return perp_usage_error(s->args, "--step: lesson %s has no scene", s->l->name);
  }
  perp_plan plan;
  perp_status status = perp_plan_make(s->ctx, study, &plan);
  if (status == PERP_OK) {
    const perp_cell *cell = &plan.cells[0];
    const double h = cell->value[perp_kind_param(study->kind, "h")].number;
    status = perp_lesson_step(s->ctx, cell->value[perp_kind_param(study->kind, "scene")].text,
                              h > 0 ? h : 1e-3, stdout);
    perp_plan_free(&plan);
  }
  perp_diag_free(&diag);
  perp_study_free(study);
  return status == PERP_OK ? PERP_EXIT_OK : cmd_lesson_failed(s, status);
}

static int cmd_lesson_tell(struct session *s)
{
  const perp_lesson *lesson = s->l;
  perp_results results;
  bool ran = false;
  if ((perp_args_get(s->args, "html") != NULL || perp_option_given(s->args, "open")) &&
      !perp_web_built())
    return cmd_lesson_failed(s, perp_web_missing(s->ctx));
  printf("%s\n", lesson->title);
  for (size_t i = 0; i < strlen(lesson->title); i++) putchar('=');
  printf("\n\n");
  cmd_lesson_paragraphs(lesson->story, lesson->n_story);
  int status = cmd_lesson_predict(s);
  if (status >= 0) return status;
  perp_status done = PERP_OK;
  if (lesson->study != NULL) {
    fflush(stdout);
    done = perp_lesson_run(s->ctx, lesson, NULL, 0, s->dir, &results);
    ran = done == PERP_OK;
    if (ran) show_results(s, &results);
  }
  if (done == PERP_OK && lesson->n > 0) perp_lesson_problem(lesson, stdout);
  for (int i = 0; i < lesson->n_solvers && done == PERP_OK; i++)
    done = perp_lesson_pivots(s->ctx, lesson, lesson->solvers[i], stdout,
                              s->talks ? wait_for_enter : NULL);
  if (done == PERP_OK) {
    if (lesson->n > 0) printf("\n");
    cmd_lesson_resolve(s);
    cmd_lesson_paragraphs(lesson->end, lesson->n_end);
    ask_exercise(s);
    const char *html = perp_args_get(s->args, "html");
    bool open = perp_option_given(s->args, "open");
    char *usual = perp_xprintf("lesson-%s.html", lesson->name);
    if (html == NULL && open) html = usual;
    if (html != NULL) done = perp_lesson_page(s->ctx, lesson, ran ? &results : NULL, s->dir, html);
    if (html != NULL && done == PERP_OK) printf("page    %s\n", html);
    if (html != NULL && open && done == PERP_OK) perp_show_page(html);
    free(usual);
  }
  if (ran) perp_results_free(&results);
  return done == PERP_OK ? PERP_EXIT_OK : cmd_lesson_failed(s, done);
}

static int run_lesson(struct session *s, const perp_lesson_file *file)
{
  perp_diag diag = { 0 };
  if (perp_lesson_read(s->ctx, file->path, file->name, &diag, &s->l) != PERP_OK) {
    if (diag.text.s != NULL)
      fputs(diag.text.s, stderr);
    else
      perp_print_error(s->ctx);
    perp_diag_free(&diag);
    return PERP_EXIT_INPUT;
  }
  perp_diag_free(&diag);
  const char *keep = perp_args_get(s->args, "output");
  s->dir = keep != NULL ? perp_xstrdup(keep) : perp_temp_folder(s->ctx);
  int status;
  if (s->dir == NULL)
    status = perp_refuse(s->ctx, PERP_EXIT_INTERNAL);
  else {
    const char *answer = perp_args_get(s->args, "check");
    status = answer != NULL                       ? check_answer(s, answer)
             : perp_option_given(s->args, "step") ? show_step(s)
                                                  : cmd_lesson_tell(s);
  }
  if (keep == NULL)
    perp_temp_remove(s->dir);
  else
    free(s->dir);
  perp_lesson_free(s->l);
  perp_pool_free(&s->pool);
  return status;
}

static int cmd_lesson(perp_ctx *ctx, const perp_args *args)
{
  perp_pool pool = { 0 };
  perp_lesson_file *files;
  const int n = perp_lesson_files(&pool, &files);
  struct session s = { .ctx = ctx, .args = args, .talks = isatty(0) && isatty(1) };
  int status = PERP_EXIT_USAGE;
  if (args->n == 0 || strcmp(args->arg[0], "list") == 0)
    status = list_lessons(args, files, n);
  else {
    const char **names = perp_pool_alloc(&pool, (size_t)n + 1, sizeof *names);
    for (int i = 0; i < n; i++) names[i] = files[i].name;
    const int k = perp_choose(args, "unknown lesson", args->arg[0], names, n, "");
    if (k >= 0) status = run_lesson(&s, &files[k]);
  }
  perp_pool_free(&pool);
  return status;
}

static const perp_flag lesson_flags[] = {
  { "answer", 'a', "K", "Your prediction (without it, perp asks on a terminal)." },
  { "check", 0, "ANSWER", "Check your answer to the exercise." },
  { "step", 0, NULL,
    "Print one time step of the scene with all numbers: q, v, C, J, A, b, lambda." },
  { "html", 0, "FILE", "Write a page with the story and the figures." },
  { "open", 0, NULL, "Write the page and open it in a browser." },
  { "output", 'o', "DIR", "Folder in which the results are stored." },
  { "json", 0, NULL, "Print the list of lessons as JSON." },
  { 0 }
};

const perp_command perp_lesson_command = {
  .cli.name = "lesson",
  .cli.usage = "[list | NAME] [options]",
  .cli.summary = "Lessons on constrained dynamics and its solvers. Each has a story, a prediction, "
                 "an experiment of a few seconds, and an exercise that checks your answer.",
  .cli.more = "Exit status of --check: 0 right, 10 not yet right.",
  .cli.example = "perp lesson drift",
  .cli.flags = lesson_flags,
  .cli.max_args = 1,
  .summary = "Learn with a story, a prediction, an experiment and an exercise",
  .run = cmd_lesson
};
