/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a lesson computes: its study, the exercise. */
#include "experiments/lessons/lesson.h"
#include "experiments/base/arguments.h"
#include "experiments/run/run.h"
#include "experiments/base/numbers.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the run ---- */

static perp_study *lesson_run_read_study(perp_ctx *ctx, const perp_lesson *l,
                                         const char *const *set, int n_set)
{
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  char *name = perp_xprintf("lesson %s", l->name);
  perp_study_request q = {
    .file = name, .text = l->study, .profile = "", .set = set, .n_set = n_set
  };
  if (perp_study_read(ctx, &q, &diag, &study) != PERP_OK) {
    /* the first line of the message, without the place, which means nothing to the reader */
    const char *first = strstr(diag.text.s, "error: ");
    first = first != NULL ? first + 7 : diag.text.s;
    PERP_FAIL(ctx, PERP_ERR_OPTION, "%.*s", (int)strcspn(first, "\n"), first);
    study = NULL;
  }
  perp_diag_free(&diag);
  free(name);
  return study;
}

perp_status perp_lesson_run(perp_ctx *ctx, const perp_lesson *l, const char *const *set, int n_set,
                            const char *dir, perp_results *results)
{
  perp_study *study = lesson_run_read_study(ctx, l, set, n_set);
  if (study == NULL) return PERP_ERR_OPTION;
  perp_run_options o = { .dir = dir,
                         .quiet = true,
                         .fresh = true,
                         .again = "perp lesson",
                         .timeout = (double)NAN,
                         .memory = (double)NAN };
  /* the summary of a run is not for the reader of a lesson */
  fflush(stdout);
  int keep = dup(1), null = open("/dev/null", O_WRONLY);
  if (null >= 0) dup2(null, 1);
  int code = perp_run(ctx, study, &o, NULL);
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
static perp_status lesson_run_value(perp_ctx *ctx, perp_results *r, const char *expr, double *value)
{
  perp_expr_error error;
  double zero;
  /* the language knows conditions: the left side of one is the number */
  const char *condition = perp_pool_printf(&r->pool, "(%s) >= 0", expr);
  const perp_scope scope = perp_results_scope(ctx, r, true);
  const perp_expr *e = perp_expr_parse(&r->pool, &scope, condition, &error);
  if (e == NULL) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s: %s", expr, error.message);
  perp_expr_sides(e, &scope, value, &zero);
  return PERP_OK;
}

void perp_lesson_say(perp_ctx *ctx, perp_results *r, const perp_lesson_number *n, perp_text *out)
{
  char buf[32];
  double value;
  const char *at = strstr(n->text, "{}");
  const char *number = lesson_run_value(ctx, r, n->expr, &value) != PERP_OK
                           ? ctx->msg
                           : perp_brief(value, buf);
  if (at != NULL)
    perp_text_add(out, "%.*s%s%s", (int)(at - n->text), n->text, number, at + 2);
  else
    perp_text_add(out, "%s: %s", n->text, number);
}

/* ---- the exercise ---- */

static perp_status check_number(perp_ctx *ctx, const perp_lesson *l, perp_results *r,
                                const char *answer, bool *right, perp_text *why)
{
  double given = perp_real_of(answer), want;
  if (isnan(given))
    return PERP_FAIL(ctx, PERP_ERR_OPTION, "a number is required: got '%s'", answer);
  PERP_TRY(lesson_run_value(ctx, r, l->exercise.expr, &want));
  *right = fabs(given - want) <= l->exercise.within * fabs(want);
  if (*right)
    perp_text_add(why, "the run gives %.3g", want);
  else
    perp_text_add(why, "%s is %s", answer, given < want ? "too small" : "too large");
  return PERP_OK;
}

static perp_status check_try(perp_ctx *ctx, const perp_lesson *l, perp_results *r, bool *right,
                             perp_text *why)
{
  perp_expr_error error;
  const perp_scope scope = perp_results_scope(ctx, r, true);
  const perp_expr *e = perp_expr_parse(&r->pool, &scope, l->exercise.check, &error);
  if (e == NULL) return PERP_FAIL(ctx, PERP_ERR_FORMAT, "exercise.check: %s", error.message);
  double left, wanted;
  *right = perp_expr_true(e, &scope, -1);
  perp_expr_sides(e, &scope, &left, &wanted);
  if (perp_expr_undecided(e, &scope))
    perp_text_add(why,
                  r->count[PERP_CELL_OK] + r->count[PERP_CELL_FIXED_WORK] > 0
                      ? "%s: the run has no such value"
                  : r->count[PERP_CELL_UNSOLVED] > 0 ? "%s: every run left problems unsolved"
                                                     : "%s: no run reached its end",
                  l->exercise.check);
  else
    perp_text_add(why, isfinite(left) ? "%s [%.3g against %.3g]" : "%s", l->exercise.check, left,
                  wanted);
  return PERP_OK;
}

perp_status perp_lesson_check(perp_ctx *ctx, const perp_lesson *l, const char *answer,
                              const char *dir, bool *right, perp_text *why)
{
  *right = false;
  if (l->study == NULL) { /* a pivoting lesson: the answer is compared as it is */
    double given = perp_real_of(answer), want = perp_real_of(l->exercise.expr);
    *right = fabs(given - want) <= l->exercise.within * fabs(want) + 1e-12;
    perp_text_add(why, *right ? "%s" : "%s is not correct", answer);
    return PERP_OK;
  }
  const char *set[PERP_ARGS_MAX];
  int n = 0;
  for (; n < l->n_set && n < PERP_ARGS_MAX - 1; n++) set[n] = l->set[n];
  char *mine = l->exercise.try != NULL ? perp_xprintf("%s=%s", l->exercise.try, answer) : NULL;
  if (mine != NULL) set[n++] = mine;
  perp_results results;
  perp_status status = perp_lesson_run(ctx, l, set, n, dir, &results);
  free(mine);
  if (status != PERP_OK) return status;
  status = l->exercise.try != NULL ? check_try(ctx, l, &results, right, why)
                                   : check_number(ctx, l, &results, answer, right, why);
  perp_results_free(&results);
  return status;
}
