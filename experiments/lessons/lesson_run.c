/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lesson computes: its study, the exercise. */
#include "experiments/lessons/lesson.h"
#include "experiments/base/arguments.h"
#include "experiments/run/run.h"
#include "experiments/base/numbers.h"

#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the run ---- */

perp_study *perp_lesson_study(perp_ctx *ctx, const perp_lesson *lesson, const char *const *set,
                              int n_set, perp_diag *diag)
{
  perp_study *study = NULL;
  const perp_study_request request = {
    .file = lesson->file, .tree = lesson->study, .profile = "", .set = set, .n_set = n_set
  };
  return perp_study_read(ctx, &request, diag, &study) == PERP_OK ? study : NULL;
}

perp_status perp_lesson_run(perp_ctx *ctx, const perp_lesson *lesson, const char *const *set,
                            int n_set, const char *dir, perp_results *results)
{
  perp_diag diag = { 0 };
  perp_study *study = perp_lesson_study(ctx, lesson, set, n_set, &diag);
  if (study == NULL) {
    /* the first line of the message, without the place, which means nothing to the reader */
    const char *first = strstr(diag.text.s, "error: ");
    first = first != NULL ? first + 7 : diag.text.s;
    PERP_FAIL(ctx, PERP_ERR_OPTION, "%.*s", (int)strcspn(first, "\n"), first);
  }
  perp_diag_free(&diag);
  if (study == NULL) return PERP_ERR_OPTION;
  perp_run_options opts = { .dir = dir,
                            .quiet = true,
                            .fresh = true,
                            .again = "perp lesson",
                            .timeout = (double)NAN,
                            .memory = (double)NAN };
  /* the summary of a run is not for the reader of a lesson */
  fflush(stdout);
  int keep = dup(1), null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, 1);
  int code = perp_run(ctx, study, &opts, NULL);
  fflush(stdout);
  if (keep >= 0) dup2(keep, 1);
  if (null >= 0) close(null);
  if (keep >= 0) close(keep);
  perp_study_free(study);
  if (code != PERP_EXIT_OK && code != PERP_EXIT_FAILED && code != PERP_EXIT_INFRA)
    return PERP_FAIL(ctx, PERP_ERR_INTERNAL, "the run of the lesson ended with status %d", code);
  return perp_results_load(ctx, dir, NULL, results);
}

/* ---- numbers ---- */

/* Value of a number written in the language of claims; NaN when it has none.  PERP_ERR_FORMAT when
 * it does not read. */
static perp_status lesson_run_value(perp_ctx *ctx, perp_results *results, const char *expr,
                                    double *value)
{
  perp_expr_error error;
  double zero;
  /* the language knows conditions: the left side of one is the number */
  const char *condition = perp_pool_printf(&results->pool, "(%s) >= 0", expr);
  const perp_scope scope = perp_results_scope(ctx, results, true);
  const perp_expr *e = perp_expr_parse(&results->pool, &scope, condition, &error);
  if (e == NULL) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: %s", expr, error.message);
  perp_expr_sides(e, &scope, value, &zero);
  return PERP_OK;
}

/* Counts as they are, everything else with three digits. */
static void lesson_run_put(double v, char buf[32])
{
  const bool whole = fabs(v) < 1e6 && (v == rint(v) || fabs(v) >= 1000);
  snprintf(buf, 32, whole ? "%.0f" : "%.3g", v);
}

bool perp_lesson_say(perp_ctx *ctx, perp_results *results, const perp_lesson_number *lesson_number,
                     perp_text *out)
{
  char buf[32];
  double value = (double)NAN;
  const char *at = strstr(lesson_number->text, "{}");
  const char *number = lesson_run_value(ctx, results, lesson_number->expr, &value) != PERP_OK
                           ? ctx->msg
                           : buf;
  lesson_run_put(value, buf);
  if (at != NULL)
    perp_text_add(out, "%.*s%s%s", (int)(at - lesson_number->text), lesson_number->text, number,
                  at + 2);
  else
    perp_text_add(out, "%s: %s", lesson_number->text, number);
  return !isnan(value);
}

/* ---- the exercise ---- */

static perp_status check_number(perp_ctx *ctx, const perp_lesson_exercise *exercise,
                                perp_results *results, const char *answer, bool *right,
                                perp_text *why, double *want)
{
  const double given = perp_real_of(answer);
  if (isnan(given))
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "a number is required: got '%s'", answer);
  if (results != NULL)
    PERP_TRY(lesson_run_value(ctx, results, exercise->expr, want));
  else
    *want = perp_real_of(exercise->expr);
  *right = fabs(given - *want) <= exercise->within * fabs(*want) + 1e-12;
  if (*right)
    perp_text_add(why, results != NULL ? "the run gives %.3g" : "%.4g", *want);
  else
    perp_text_add(why, "%s is %s", answer, given < *want ? "too small" : "too large");
  return PERP_OK;
}

static perp_status check_try(perp_ctx *ctx, const perp_lesson_exercise *exercise,
                             perp_results *results, bool *right, perp_text *why)
{
  perp_expr_error error;
  const perp_scope scope = perp_results_scope(ctx, results, true);
  const perp_expr *check = perp_expr_parse(&results->pool, &scope, exercise->check, &error);
  if (check == NULL) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "check: %s", error.message);
  double left, wanted;
  *right = perp_expr_true(check, &scope, -1);
  perp_expr_sides(check, &scope, &left, &wanted);
  if (perp_expr_undecided(check, &scope))
    perp_text_add(why,
                  results->count[PERP_CELL_OK] + results->count[PERP_CELL_FIXED_WORK] > 0
                      ? "%s: the run has no such value"
                  : results->count[PERP_CELL_UNSOLVED] > 0 ? "%s: every run left problems unsolved"
                                                           : "%s: no run reached its end",
                  exercise->check);
  else
    perp_text_add(why, isfinite(left) ? "%s [%.3g against %.3g]" : "%s", exercise->check, left,
                  wanted);
  return PERP_OK;
}

perp_status perp_lesson_check(perp_ctx *ctx, const perp_lesson *lesson,
                              const perp_lesson_exercise *exercise, const char *answer,
                              const char *dir, perp_results *known, bool *right, perp_text *why,
                              double *want)
{
  double other;
  *right = false;
  if (want == NULL) want = &other;
  *want = (double)NAN;
  /* an answer by hand requires no run */
  if (exercise->try == NULL && !isnan(perp_real_of(exercise->expr)))
    return check_number(ctx, exercise, NULL, answer, right, why, want);
  if (exercise->try == NULL && exercise->n_set == 0 && known != NULL)
    return check_number(ctx, exercise, known, answer, right, why, want);
  const char *set[PERP_ARGS_MAX];
  int n = 0;
  for (; n < exercise->n_set && n < PERP_ARGS_MAX - 1; n++) set[n] = exercise->set[n];
  char *mine = exercise->try != NULL ? perp_xprintf("%s=%s", exercise->try, answer) : NULL;
  if (mine != NULL) set[n++] = mine;
  perp_results results;
  perp_status status = perp_lesson_run(ctx, lesson, set, n, dir, &results);
  free(mine);
  if (status != PERP_OK) return status;
  status = exercise->try != NULL ? check_try(ctx, exercise, &results, right, why)
                                 : check_number(ctx, exercise, &results, answer, right, why, want);
  perp_results_free(&results);
  return status;
}
