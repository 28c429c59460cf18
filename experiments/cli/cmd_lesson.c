/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lesson */
#include "experiments/lessons/lesson.h"
#include "experiments/lessons/lesson_text.h"
#include "experiments/cli/command.h"
#include "experiments/web/web.h"
#include "experiments/base/shell.h"
#include "experiments/base/table.h"
#include "experiments/base/files.h"

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

static const char *plain(struct session *work, const char *text)
{
  return perp_lesson_plain(&work->pool, text);
}

static void wait_for_enter(void)
{
  printf("  [Enter] ");
  fflush(stdout);
  for (int c = getchar(); c != '\n' && c != EOF;) c = getchar();
}

/* ---- the prediction ---- */

static int cmd_lesson_predict(struct session *work)
{
  const perp_lesson *lesson = work->l;
  int64_t k = 0;
  printf("PREDICT\n");
  perp_wrap(stdout, 2, plain(work, lesson->ask));
  for (int i = 0; i < lesson->n_choices; i++) {
    char *choice = perp_xprintf("%d  %s", i + 1, plain(work, lesson->choices[i]));
    perp_wrap(stdout, 3, choice);
    free(choice);
  }
  const int status = perp_option_int(work->ctx, work->args, "answer", 1, lesson->n_choices, &k);
  if (status >= 0) return status;
  if (!perp_option_given(work->args, "answer") && work->talks) {
    char line[64];
    printf("  your answer [1-%d]: ", lesson->n_choices);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) != NULL) k = strtol(line, NULL, 10);
  }
  if (k > 0)
    printf("  you say: %s\n",
           k <= lesson->n_choices ? plain(work, lesson->choices[k - 1]) : "none of these");
  printf("\n");
  return -1;
}

static void cmd_lesson_resolve(struct session *work)
{
  const perp_lesson *lesson = work->l;
  char *answer = perp_xprintf("ANSWER   %d: %s", lesson->answer,
                              plain(work, lesson->choices[lesson->answer - 1]));
  perp_wrap(stdout, 0, answer);
  free(answer);
  perp_wrap(stdout, 2, plain(work, lesson->because));
  printf("\n");
}

/* ---- what was computed ---- */

static void show_results(struct session *work, perp_results *results)
{
  printf("RUN      %d simulations or solves\n\n", results->plan.n);
  for (int plot = 0; plot < work->l->n_plots; plot++) {
    perp_lesson_figure figure;
    perp_lesson_pick(work->ctx, &work->pool, results, &work->l->plots[plot], NULL, &figure);
    const char *picture = perp_lesson_draw(&work->pool, &figure, &work->l->plots[plot]);
    if (picture != NULL)
      printf("%s\n", picture);
    else
      printf("  (%s: no figure, because gnuplot is missing or there is no data)\n\n",
             work->l->plots[plot].title);
    if (work->talks) wait_for_enter();
  }
  for (int show = 0; show < work->l->n_show; show++) {
    perp_text text = { 0 };
    perp_lesson_say(work->ctx, results, &work->l->show[show], &text);
    perp_wrap(stdout, 2, plain(work, text.s));
    perp_text_free(&text);
  }
  const perp_claim_result *claims = perp_results_claims(work->ctx, results);
  for (int claim = 0; claim < results->study->n_claims; claim++) {
    perp_text text = { 0 };
    perp_text_add(&text, "%s: %s%s", perp_verdict_name(claims[claim].verdict),
                  claims[claim].claim->text, perp_claim_sides(&results->pool, &claims[claim]));
    perp_wrap(stdout, 2, text.s);
    perp_text_free(&text);
  }
  printf("\n");
}

static void ask_exercises(struct session *work)
{
  const perp_lesson *lesson = work->l;
  for (int exercise = 0; exercise < lesson->n_exercises; exercise++) {
    char choice[24] = "", number[24] = "";
    if (lesson->n_exercises > 1) {
      snprintf(number, sizeof number, " %d", exercise + 1);
      if (exercise > 0) snprintf(choice, sizeof choice, " --exercise %d", exercise + 1);
    }
    printf("EXERCISE%s\n", number);
    perp_wrap(stdout, 2, plain(work, lesson->exercises[exercise].ask));
    printf("  check your answer with: perp lesson %s%s --check '%s'\n", lesson->call, choice,
           lesson->exercises[exercise].try != NULL ? "..." : "NUMBER");
  }
}

/* ---- the command ---- */

static int list_lessons(const perp_args *args, const perp_course *course)
{
  const bool json = perp_option_given(args, "json");
  perp_json out = { .out = stdout, .indent = true };
  if (json) perp_json_open(&out, NULL, '[');
  for (int i = 0; i < course->n; i++) {
    const struct perp_course_lesson *lesson = &course->lesson[i];
    if (json)
      perp_json_object(&out, NULL, "name %s, title %s, minutes %d", lesson->name, lesson->title,
                       lesson->minutes);
    else
      printf("%-12s %s\n", lesson->name, lesson->title);
  }
  if (json) perp_json_close(&out, ']');
  return PERP_EXIT_OK;
}

static int cmd_lesson_failed(const struct session *work, perp_status status)
{
  return perp_refuse(work->ctx, status == PERP_ERR_OPTION     ? PERP_EXIT_USAGE
                                : status == PERP_ERR_EXTERNAL ? PERP_EXIT_INFRA
                                : status == PERP_ERR_FORMAT   ? PERP_EXIT_INPUT
                                                              : PERP_EXIT_INTERNAL);
}

static int check_answer(struct session *work, const char *answer)
{
  bool right;
  int64_t k = 1;
  perp_text why = { 0 };
  const int wrong = perp_option_int(work->ctx, work->args, "exercise", 1, work->l->n_exercises, &k);
  if (wrong >= 0) return wrong;
  const perp_lesson_exercise *exercise = &work->l->exercises[k - 1];
  perp_status status = perp_lesson_check(work->ctx, work->l, exercise, answer, work->dir, NULL,
                                         &right, &why, NULL);
  if (status != PERP_OK) {
    perp_text_free(&why);
    return cmd_lesson_failed(work, status);
  }
  printf("%s: %s\n", right ? "right" : "not yet", why.s);
  if (!right) perp_wrap(stdout, 2, plain(work, exercise->hint));
  if (right && exercise->because != NULL) perp_wrap(stdout, 2, plain(work, exercise->because));
  perp_text_free(&why);
  return right ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}

static int show_step(struct session *work)
{
  perp_study *study = NULL;
  perp_diag diag = { 0 };
  if (work->l->study != NULL) study = perp_lesson_study(work->ctx, work->l, NULL, 0, &diag);
  if (study == NULL || perp_kind_param(study->kind, "scene") < 0) {
    perp_diag_free(&diag);
    perp_study_free(study);
    return perp_usage_error(work->args, "--step: lesson %s has no scene", work->l->name);
  }
  perp_plan plan;
  perp_status status = perp_plan_make(work->ctx, study, &plan);
  if (status == PERP_OK) {
    const perp_cell *cell = &plan.cells[0];
    const double h = cell->value[perp_kind_param(study->kind, "h")].number;
    status = perp_lesson_step(work->ctx, cell->value[perp_kind_param(study->kind, "scene")].text,
                              h > 0 ? h : 1e-3, stdout);
    perp_plan_free(&plan);
  }
  perp_diag_free(&diag);
  perp_study_free(study);
  return status == PERP_OK ? PERP_EXIT_OK : cmd_lesson_failed(work, status);
}

static int cmd_lesson_tell(struct session *work)
{
  const perp_lesson *lesson = work->l;
  perp_results results;
  bool ran = false;
  if ((perp_args_get(work->args, "html") != NULL || perp_option_given(work->args, "open")) &&
      !perp_web_built())
    return cmd_lesson_failed(work, perp_web_missing(work->ctx));
  printf("%s\n", lesson->title);
  for (size_t i = 0; i < strlen(lesson->title); i++) putchar('=');
  printf("\n\n");
  perp_lesson_print(&work->pool, lesson->story, stdout);
  int status = cmd_lesson_predict(work);
  if (status >= 0) return status;
  perp_status done = PERP_OK;
  if (lesson->study != NULL) {
    fflush(stdout);
    done = perp_lesson_run(work->ctx, lesson, NULL, 0, work->dir, &results);
    ran = done == PERP_OK;
    if (ran) show_results(work, &results);
  }
  if (done == PERP_OK && lesson->n > 0) perp_lesson_problem(lesson, stdout);
  for (int i = 0; i < lesson->n_solvers && done == PERP_OK; i++)
    done = perp_lesson_pivots(work->ctx, lesson, lesson->solvers[i], stdout,
                              work->talks ? wait_for_enter : NULL);
  if (done == PERP_OK) {
    if (lesson->n > 0) printf("\n");
    cmd_lesson_resolve(work);
    perp_lesson_print(&work->pool, lesson->conclusion, stdout);
    ask_exercises(work);
    const char *html = perp_args_get(work->args, "html");
    bool open = perp_option_given(work->args, "open");
    char *usual = perp_xprintf("lesson-%s.html", lesson->name);
    if (html == NULL && open) html = usual;
    if (html != NULL)
      done = perp_lesson_page(work->ctx, lesson, ran ? &results : NULL, work->dir, html);
    if (html != NULL && done == PERP_OK) printf("page    %s\n", html);
    if (html != NULL && open && done == PERP_OK) perp_show_page(html);
    free(usual);
  }
  if (ran) perp_results_free(&results);
  return done == PERP_OK ? PERP_EXIT_OK : cmd_lesson_failed(work, done);
}

static int show_notes(struct session *work)
{
  if (work->l->notes == NULL) {
    printf("%s has no notes for the teacher (%s/notes.md)\n", work->l->name, work->l->folder);
    return PERP_EXIT_OK;
  }
  printf("%s (%d minutes): notes for the teacher\n\n", work->l->title, work->l->minutes);
  perp_lesson_print(&work->pool, work->l->notes, stdout);
  return PERP_EXIT_OK;
}

static int cmd_lesson_told(perp_ctx *ctx, perp_diag *diag)
{
  if (diag->text.s != NULL)
    fputs(diag->text.s, stderr);
  else
    perp_print_error(ctx);
  perp_diag_free(diag);
  return PERP_EXIT_INPUT;
}

/* The texts of a lesson; the answers are not in them. */
static int put_texts(const struct session *work)
{
  const perp_lesson *lesson = work->l;
  perp_json json = { .out = stdout, .indent = true };
  perp_json_members(&json, "{ name %s, title %s, minutes %d, story %s, conclusion %s, notes %s",
                    lesson->name, lesson->title, lesson->minutes, lesson->story, lesson->conclusion,
                    lesson->notes);
  perp_json_members(&json, "predict: { ask %s", lesson->ask);
  perp_json_texts(&json, "choices", lesson->choices, lesson->n_choices);
  perp_json_members(&json, "}, exercises: [");
  for (int exercise = 0; exercise < lesson->n_exercises; exercise++)
    perp_json_members(&json, "{ ask %s, hint %s, try %s }", lesson->exercises[exercise].ask,
                      lesson->exercises[exercise].hint, lesson->exercises[exercise].try);
  perp_json_close(&json, ']');
  perp_json_close(&json, '}');
  return PERP_EXIT_OK;
}

static int run_lesson(struct session *work, const char *folder, const char *call)
{
  perp_diag diag = { 0 };
  if (perp_lesson_read(work->ctx, folder, &diag, &work->l) != PERP_OK)
    return cmd_lesson_told(work->ctx, &diag);
  perp_text word = { 0 };
  perp_shell_path(&word, call);
  work->l->call = perp_pool_strdup(&work->l->pool, word.s);
  perp_text_free(&word);
  const char *keep = perp_args_get(work->args, "output"),
             *answer = perp_args_get(work->args, "check");
  work->dir = keep != NULL ? perp_xstrdup(keep) : perp_temp_folder(work->ctx);
  const int status = work->dir == NULL ? perp_refuse(work->ctx, PERP_EXIT_INTERNAL)
                     : answer != NULL  ? check_answer(work, answer)
                     : perp_option_given(work->args, "step")  ? show_step(work)
                     : perp_option_given(work->args, "notes") ? show_notes(work)
                     : perp_option_given(work->args, "json")  ? put_texts(work)
                                                              : cmd_lesson_tell(work);
  if (keep == NULL)
    perp_temp_remove(work->dir);
  else
    free(work->dir);
  perp_lesson_free(work->l);
  perp_pool_free(&work->pool);
  return status;
}

/* Pages of all lessons of a course: -o DIR, or one file (--html). */
static int make_course(perp_ctx *ctx, const perp_args *args, const perp_course *course)
{
  const char *html = perp_args_get(args, "html"), *out = perp_args_get(args, "output");
  if ((html != NULL) == (out != NULL))
    return perp_usage_error(args, "a course is written as a folder, -o DIR, or as one file, --html "
                                  "FILE: give one of them");
  struct session work = { .ctx = ctx };
  char *dir = perp_temp_folder(ctx);
  if (dir == NULL) return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  const perp_status status = perp_course_pages(ctx, course, dir, html != NULL ? html : out,
                                               html != NULL);
  perp_temp_remove(dir);
  if (status != PERP_OK) return cmd_lesson_failed(&work, status);
  char *index = html != NULL ? perp_xstrdup(html) : perp_xprintf("%s/index.html", out);
  printf("%s\n", index);
  if (perp_option_given(args, "open")) perp_show_page(index);
  free(index);
  return PERP_EXIT_OK;
}

/* One of the shipped lessons by name, else a folder. */
static int find_lesson(perp_ctx *ctx, const perp_args *args, const perp_course *course)
{
  const char *name = args->arg[0];
  struct session work = { .ctx = ctx, .args = args, .talks = isatty(0) && isatty(1) };
  for (int lesson = 0; lesson < course->n; lesson++)
    if (strcmp(course->lesson[lesson].name, name) == 0)
      return run_lesson(&work, course->lesson[lesson].folder, name);
  if (perp_lesson_is(name)) return run_lesson(&work, name, name);
  if (strchr(name, '/') != NULL)
    return perp_usage_error(args,
                            "%s is not the folder of a lesson: it has no lesson.yaml (perp "
                            "new lesson makes one)",
                            name);
  perp_pool pool = { 0 };
  const char **names = perp_pool_alloc(&pool, (size_t)course->n + 1, sizeof *names);
  for (int lesson = 0; lesson < course->n; lesson++) names[lesson] = course->lesson[lesson].name;
  perp_choose(args, "unknown lesson", name, names, course->n, "");
  perp_pool_free(&pool);
  return PERP_EXIT_USAGE;
}

static int cmd_lesson(perp_ctx *ctx, const perp_args *args)
{
  perp_pool pool = { 0 };
  perp_diag diag = { 0 };
  perp_course *course = NULL;
  const char *name = args->n > 0 ? args->arg[0] : "list", *file = perp_course_file(&pool);
  const bool own = perp_course_is(name), all = strcmp(name, "all") == 0;
  int status;
  if (own) file = name;
  if (file == NULL) {
    PERP_FAIL(ctx, PERP_ERR_IO, "the lessons are not there: PERP_HOME must be the folder of perp");
    status = perp_refuse(ctx, PERP_EXIT_INFRA);
  } else if (perp_course_read(ctx, file, &diag, &course) != PERP_OK)
    status = cmd_lesson_told(ctx, &diag);
  else
    status = own || all                  ? make_course(ctx, args, course)
             : strcmp(name, "list") == 0 ? list_lessons(args, course)
                                         : find_lesson(ctx, args, course);
  perp_course_free(course);
  perp_diag_free(&diag);
  perp_pool_free(&pool);
  return status;
}

static const perp_flag lesson_flags[] = {
  { "answer", 'a', "K", "Your prediction (without it, perp asks on a terminal)." },
  { "check", 0, "ANSWER", "Check your answer to an exercise." },
  { "exercise", 0, "K", "Number of the exercise that --check is about (default: 1)." },
  { "notes", 0, NULL, "Print the notes for the teacher." },
  { "step", 0, NULL,
    "Print one time step of the scene with all numbers: q, v, C, J, A, b, lambda." },
  { "html", 0, "FILE", "Write the lesson or course as one page, for any browser." },
  { "open", 0, NULL, "Write the page and open it in a browser." },
  { "output", 'o', "DIR",
    "Folder in which the results of a lesson, or the pages of a course, are stored." },
  { "json", 0, NULL, "Print the list of lessons, or the texts of one, as JSON." },
  { 0 }
};

const perp_command perp_lesson_command = {
  .cli.name = "lesson",
  .cli.usage = "[list | NAME | FOLDER | all | COURSE.yaml] [options]",
  .cli.summary =
      "Lessons on constrained dynamics and its solvers. Each has a story, a prediction, "
      "an experiment of a few seconds, and exercises that check your answer. A course is "
      "a list of lessons and becomes a folder of pages, or one page.",
  .cli.more =
      "FOLDER is a lesson of your own: perp new lesson makes one, docs/how-to/lessons.md "
      "describes it. `all` is the course of all lessons that come with perp.\n\nExit status "
      "of --check: 0 right, 10 not yet right.",
  .cli.example = "perp lesson drift",
  .cli.flags = lesson_flags,
  .cli.max_args = 1,
  .summary = "Learn with a story, a prediction, an experiment and an exercise",
  .run = cmd_lesson
};
