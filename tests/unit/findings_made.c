/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Findings on made-up results with planted effects: one setting dominates, two settings interact,
 * pure noise, nothing but differences below a floor, one competitor, failures; and sentences of the
 * study itself.  Shares of complete grids are worked out by hand, those of a grid with holes by
 * least squares (GSL, singular value decomposition) on columns of zeros and ones. */
#include "experiments/answers/headline.h"
#include "experiments/answers/findings.h"
#include "experiments/base/files.h"
#include "experiments/expr/expr.h"
#include "experiments/study/plan.h"
#include "tests/tap.h"

#include <gsl/gsl_blas.h>
#include <gsl/gsl_multifit.h>
#include <jansson.h>
#include <stdlib.h>

static perp_ctx ctx;
static char root[] = "/tmp/perp-findings-XXXXXX";

/* ---- a kind with scenes, two methods and steps ---- */

static const perp_desc euler = { "euler", "s", "r", NULL, NULL, 0, 0 },
                       heun = { "heun", "s", "r", NULL, NULL, 0, 0 },
                       rk4 = { "rk4", "s", "r", NULL, NULL, 0, 0 },
                       dopri5 = { "dopri5", "s", "r", NULL, NULL, 0, 0 },
                       none = { "none", "s", "r", NULL, NULL, 0, 0 },
                       baumgarte = { "baumgarte", "s", "r", NULL, NULL, 0, 0 },
                       post = { "post", "s", "r", NULL, NULL, 0, 0 };
static const perp_plugin plugins[] = { { PERP_KIND_ode, &euler }, { PERP_KIND_ode, &heun },
                                       { PERP_KIND_ode, &rk4 },   { PERP_KIND_ode, &dopri5 },
                                       { PERP_KIND_stab, &none }, { PERP_KIND_stab, &baumgarte },
                                       { PERP_KIND_stab, &post }, { PERP_KIND_NONE, NULL } };
static const perp_param params[] = {
  { "scene", "a scene", PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "a", false },
  { "ode", "integrator", PERP_PARAM_PLUGIN, PERP_KIND_ode, "", 0, 0, 0, "euler", false },
  { "stab", "stabilization", PERP_PARAM_PLUGIN, PERP_KIND_stab, "", 0, 0, 0, "none", false },
  { "h", "step", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, PERP_OPEN_MIN, "1", false },
  { 0 }
};
static const perp_metric metrics[] = { { "err.tip.max", "m", "an error", -1, false },
                                       { NULL, NULL, NULL, 0, false } };
static const perp_metric *metric_list(const perp_ctx *c, perp_pool *pool)
{
  (void)c, (void)pool;
  return metrics;
}
static void command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  (void)study, (void)cell;
  perp_text_add(out, "perp");
}
static const perp_cell_kind kind = {
  .name = "made", .params = params, .metrics = metric_list, .command = command, .runs = true
};
static const perp_cell_kind *const kinds[] = { &kind, NULL };

/* Places of a run in the grid. */
struct at {
  int scene, ode, stab, h;
};
/* The decimal logarithm of the error; NaN: the run diverged. */
typedef double effect_fn(struct at at);

static int place(const char *text, const char *const *of)
{
  int k = 0;
  while (strcmp(text, of[k]) != 0) k++;
  return k;
}

static struct at at_of(const perp_cell *cell)
{
  static const char *const scenes[] = { "a", "b" },
                           *const odes[] = { "euler", "heun", "rk4", "dopri5" },
                           *const stabs[] = { "none", "baumgarte", "post" };
  const double h = cell->value[3].number;
  return (struct at){ place(cell->value[0].text, scenes), place(cell->value[1].text, odes),
                      place(cell->value[2].text, stabs),
                      h == 1   ? 0
                      : h == 2 ? 1
                               : 2 };
}

static void write_to(const char *dir, const char *name, const char *text)
{
  char *path = perp_xprintf("%s/%s", dir, name);
  FILE *f = fopen(path, "w");
  if (f == NULL) bail("%s", path);
  fputs(text, f);
  fclose(f);
  free(path);
}

/* A results folder of the study, whose errors are 10^effect. */
static void made_up(const char *text, effect_fn *effect, perp_results *r)
{
  static int number;
  char *dir = perp_xprintf("%s/%d", root, number++), *journal = perp_xprintf("%s/journal", dir),
       *path = perp_xprintf("%s/plan.jsonl", dir);
  perp_make_dirs(&ctx, journal);
  char *study_text = perp_xprintf("schema: perp-study/1\nstudy: { name: made, question: Who? }\n%s",
                                  text);
  write_to(dir, "study.yaml", study_text);
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  const perp_study_request q = { .file = "made.yaml", .text = study_text, .kinds = kinds };
  if (perp_study_read(&ctx, &q, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
  perp_plan plan;
  perp_selection selection = { 0 };
  if (perp_plan_make(&ctx, study, &plan) != PERP_OK ||
      perp_plan_write(&ctx, path, study, &plan, &selection) != PERP_OK)
    bail("%s", ctx.msg);
  perp_text t = { 0 };
  perp_text_add(&t, "{\"event\":\"run\",\"schema\":2,\"env\":\"e\"}\n");
  for (int i = 0; i < plan.n; i++) {
    const double y = effect(at_of(&plan.cells[i]));
    perp_text_add(&t,
                  "{\"event\":\"cell\",\"cell\":\"%s\",\"attempt\":1,\"status\":\"%s\",\"reason\":"
                  "\"%s\",\"cause\":\"%s\",\"cpu_s\":1,\"wall_s\":1,\"values\":{",
                  plan.cells[i].id, isnan(y) ? "diverged" : "ok",
                  isnan(y) ? "not-finite" : "reached-end",
                  isnan(y) ? "the state is too large" : "");
    if (!isnan(y)) perp_text_add(&t, "\"err.tip.max\":%.17g", pow(10, y));
    perp_text_add(&t, "}}\n");
  }
  write_to(journal, "one.jsonl", t.s);
  perp_text_free(&t);
  perp_plan_free(&plan);
  perp_study_free(study);
  perp_diag_free(&diag);
  if (perp_results_load(&ctx, dir, kinds, r) != PERP_OK) bail("%s", ctx.msg);
  free(path);
  free(study_text);
  free(journal);
  free(dir);
}

#define GRID                                                                                       \
  "grid: { scene: [a, b], ode: [euler, heun, rk4, dopri5], stab: [none, baumgarte, post], h: [1, " \
  "2, 4] }\n"
#define ASK "answer: { best: err.tip.max, by: stab }\n"

static const perp_finding *found(const perp_finding *list, int n, perp_found_kind what)
{
  for (int i = 0; i < n; i++)
    if (list[i].kind == what) return &list[i];
  return NULL;
}

static void show(const perp_finding *list, int n)
{
  for (int i = 0; i < n; i++)
    tap_note("%s%s: %s\n", perp_found_names[list[i].kind], list[i].lead ? " (leads)" : "",
             list[i].text);
}

/* The share of a key, or a pair, in the JSON; NaN: not there. */
static double share_of(perp_results *r, const char *key, const char *second)
{
  char *text = NULL;
  size_t size = 0;
  perp_json j = { .out = open_memstream(&text, &size) };
  perp_json_open(&j, NULL, '{');
  perp_findings_json(&ctx, r, &j);
  perp_json_close(&j, '}');
  fclose(j.out);
  json_t *root_of = json_loads(text, 0, NULL);
  const json_t *terms = json_object_get(json_array_get(json_object_get(root_of, "shares"), 0),
                                        "terms");
  double share = (double)NAN;
  for (size_t i = 0; i < json_array_size(terms); i++) {
    const json_t *term = json_array_get(terms, i), *keys = json_object_get(term, "keys");
    const char *a = json_string_value(json_array_get(keys, 0)),
               *b = json_string_value(json_array_get(keys, 1));
    if (strcmp(a, key) == 0 && strcmp(b != NULL ? b : "", second) == 0)
      share = json_number_value(json_object_get(term, "share"));
  }
  json_decref(root_of);
  free(text);
  return share;
}

static bool close_to(double a, double b)
{
  return fabs(a - b) < 1e-9;
}

/* ---- one setting dominates ---- */

/* Variances: ode 5, step 1/6, stabilization 2/75; scenes 2.25 are taken off. */
static double dominated(struct at at)
{
  return -2. * at.ode + 0.5 * at.h - 0.2 * at.stab + 3. * at.scene - 3;
}

static void dominance(void)
{
  perp_results r;
  const perp_finding *list;
  made_up(GRID ASK, dominated, &r);
  const int n = perp_results_findings(&ctx, &r, &list);
  const perp_finding *factor = found(list, n, PERP_FOUND_FACTOR);
  const double total = 5 + 1. / 6 + 2. / 75;
  show(list, n);
  ok(factor != NULL && factor == list && strcmp(factor->factor, "ode") == 0 && factor->lead &&
         strcmp(factor->text,
                "The integrator decides: it explains 96 % of the differences of the error of the "
                "tip within a scene; the step size h explains 3 %, the stabilization 0.5 %.") == 0,
     "one setting dominates, and the first finding says so");
  ok(close_to(share_of(&r, "ode", ""), 5 / total) &&
         close_to(share_of(&r, "h", ""), 1 / 6. / total) &&
         close_to(share_of(&r, "stab", ""), 2 / 75. / total) &&
         close_to(share_of(&r, "ode", "stab"), 0),
     "its shares are those worked out by hand");
  ok(found(list, n, PERP_FOUND_ORDER) == NULL && found(list, n, PERP_FOUND_NOISE) == NULL &&
         found(list, n, PERP_FOUND_FAILURES) == NULL && found(list, n, PERP_FOUND_FLOOR) == NULL,
     "nothing else is found: no interaction, no failure, no floor");
  const perp_finding *winner = &list[1];
  ok(winner->kind == PERP_FOUND_WINNER && strcmp(winner->who, "post") == 0 &&
         fabs(winner->effect - pow(10, 0.2)) < 1e-9 &&
         strcmp(winner->text,
                "The smallest error of the tip is that of post-stabilization in all 6 "
                "comparisons, typically 1.6 times smaller than that of Baumgarte.") == 0,
     "the question of the study is answered, with its factor 10^0.2");
  const perp_finding *best = &list[2];
  ok(best->kind == PERP_FOUND_WINNER && strcmp(best->who, "dopri5") == 0 &&
         close_to(best->effect / 100, 1),
     "and the best integrator is named, with its factor 100, though nobody asked");
  perp_results_free(&r);
}

/* ---- an interaction ---- */

/* Post is ten times better with euler, baumgarte with rk4; the pair has variance 1/4, steps 1/24.
 */
static double interacting(struct at at)
{
  const double sign = (at.stab == 2) == (at.ode == 0) ? -1 : 1;
  return 0.5 * sign + 0.25 * at.h;
}

static void interaction(void)
{
  perp_results r;
  const perp_finding *list;
  made_up("grid: { ode: [euler, rk4], stab: [baumgarte, post], h: [1, 2, 4] }\n" ASK, interacting,
          &r);
  const int n = perp_results_findings(&ctx, &r, &list);
  const perp_finding *order = found(list, n, PERP_FOUND_ORDER);
  show(list, n);
  ok(list[0].kind == PERP_FOUND_FACTOR &&
         strcmp(list[0].text,
                "The combination of integrator and stabilization matters most: it explains 86 % of "
                "the differences of the error of the tip, the step size h alone 14 %.") == 0,
     "two settings interact, and the first finding says so");
  ok(close_to(share_of(&r, "ode", "stab"), 6. / 7) && close_to(share_of(&r, "ode", ""), 0) &&
         close_to(share_of(&r, "stab", ""), 0) && close_to(share_of(&r, "h", ""), 1. / 7),
     "its shares are those worked out by hand");
  ok(order != NULL && order->lead && strcmp(order->factor, "ode") == 0 &&
         strstr(order->text, "by a factor of 10 before") != NULL,
     "and where the order changes is said: %s", order != NULL ? order->text : "");
  perp_results_free(&r);
}

/* ---- noise ---- */

static uint64_t draw = 11;

static double noisy(struct at at)
{
  const int key[] = { at.scene, at.ode, at.stab, at.h };
  return -5 + 3 * (double)(perp_hash64(key, sizeof key, draw) >> 11) / 9007199254740992.;
}

static void noise(void)
{
  perp_results r;
  const perp_finding *list;
  made_up(GRID ASK, noisy, &r);
  const int n = perp_results_findings(&ctx, &r, &list);
  show(list, n);
  ok(n == 1 && list[0].kind == PERP_FOUND_NOISE &&
         strncmp(list[0].text, "No setting explains the differences of the error of the tip", 59) ==
             0,
     "of pure noise the only finding is that nothing explains it");
  perp_results_free(&r);
  int quiet = 0;
  const int draws = 100;
  for (draw = 100; draw < 100 + (uint64_t)draws; draw++) {
    made_up(GRID ASK, noisy, &r);
    quiet += perp_results_findings(&ctx, &r, &list) == 1 && list[0].kind == PERP_FOUND_NOISE;
    perp_results_free(&r);
  }
  draw = 11;
  /* 1 % for factors and 1 % for pairs: more than 6 of 100 by chance in one of 200 cases */
  ok(quiet >= draws - 6, "so it is in %d of %d draws", quiet, draws);
}

/* ---- a floor ---- */

static double tiny(struct at at)
{
  return at.ode == 0 ? -12.5 : -10;
}

static void floors(void)
{
  perp_results r;
  const perp_finding *list;
  made_up(GRID "floor: 1e-9 m\n" ASK, tiny, &r);
  int n = perp_results_findings(&ctx, &r, &list);
  show(list, n);
  ok(n == 1 && list[0].kind == PERP_FOUND_SAME &&
         strcmp(list[0].text,
                "The error of the tip does not distinguish the runs: all 72 are below "
                "1.00e-09 m (floor of the study).") == 0,
     "3e-13 against 1e-10 is no difference below a floor of 1e-9");
  perp_results_free(&r);
  made_up(GRID ASK, tiny, &r);
  n = perp_results_findings(&ctx, &r, &list);
  ok(list[0].kind == PERP_FOUND_FACTOR, "and it is one without");
  perp_results_free(&r);
}

/* ---- one competitor, failures ---- */

static double failing(struct at at)
{
  return at.stab == 1 && at.h == 2 ? (double)NAN : dominated(at);
}

static void alone(void)
{
  perp_results r;
  const perp_finding *list;
  made_up("grid: { scene: [a, b], ode: [rk4, euler], h: [1, 2] }\n" ASK, dominated, &r);
  int n = perp_results_findings(&ctx, &r, &list);
  show(list, n);
  ok(list[0].kind == PERP_FOUND_ALONE &&
         strcmp(list[0].text, "There is nobody to compare with: the only stabilization of the "
                              "study is none.") == 0,
     "one competitor wins against nobody: %s", list[0].text);
  perp_results_free(&r);

  made_up(GRID ASK, failing, &r);
  n = perp_results_findings(&ctx, &r, &list);
  const perp_finding *failures = found(list, n, PERP_FOUND_FAILURES);
  ok(failures != NULL &&
         strcmp(failures->text, "8 of 72 runs are not ranked: 8 diverged. All of them are among "
                                "the 24 runs with Baumgarte. The most frequent reason (8 runs), "
                                "for example: the state is too large.") == 0,
     "what failed, where and why: %s", failures != NULL ? failures->text : "");
  perp_results_free(&r);
}

/* ---- a grid with holes ---- */

/* The residual sum of squares of y by columns of zeros and ones of these settings. */
static double least_squares(const struct at *at, const double *y, int n, bool ode, bool stab,
                            bool h, bool pair)
{
  enum { COLUMNS = 2 + 4 + 3 + 3 + 12 };
  gsl_matrix *x = gsl_matrix_calloc((size_t)n, COLUMNS), *cov = gsl_matrix_alloc(COLUMNS, COLUMNS);
  gsl_vector *b = gsl_vector_alloc((size_t)n), *c = gsl_vector_alloc(COLUMNS);
  gsl_multifit_linear_workspace *work = gsl_multifit_linear_alloc((size_t)n, COLUMNS);
  size_t rank;
  double rss;
  for (int i = 0; i < n; i++) {
    const size_t row = (size_t)i;
    gsl_vector_set(b, row, y[i]);
    gsl_matrix_set(x, row, (size_t)at[i].scene, 1);
    if (ode) gsl_matrix_set(x, row, (size_t)(2 + at[i].ode), 1);
    if (stab) gsl_matrix_set(x, row, (size_t)(6 + at[i].stab), 1);
    if (h) gsl_matrix_set(x, row, (size_t)(9 + at[i].h), 1);
    if (pair) gsl_matrix_set(x, row, (size_t)(12 + 3 * at[i].ode + at[i].stab), 1);
  }
  gsl_multifit_linear_tsvd(x, b, 1e-12, c, cov, &rss, &rank, work);
  gsl_blas_dgemv(CblasNoTrans, -1, x, c, 1, b);
  rss = pow(gsl_blas_dnrm2(b), 2);
  gsl_multifit_linear_free(work);
  gsl_matrix_free(x);
  gsl_matrix_free(cov);
  gsl_vector_free(b);
  gsl_vector_free(c);
  return rss;
}

static double holed(struct at at)
{
  const bool hole = (at.stab == 1 && at.h == 2) || (at.ode == 3 && at.stab == 0 && at.scene == 1);
  return hole ? (double)NAN : dominated(at) + 0.4 * noisy(at) + 0.3 * at.ode * at.stab;
}

static void holes(void)
{
  perp_results r;
  struct at at[72] = { 0 };
  double y[72] = { 0 };
  int n = 0;
  made_up(GRID ASK, holed, &r);
  for (int i = 0; i < r.plan.n; i++) {
    const struct at a = at_of(&r.plan.cells[i]);
    if (isnan(holed(a))) continue;
    at[n] = a;
    y[n++] = holed(a);
  }
  const double blocks = least_squares(at, y, n, false, false, false, false),
               all = least_squares(at, y, n, true, true, true, false),
               pair = least_squares(at, y, n, true, true, true, true),
               ode = least_squares(at, y, n, false, true, true, false),
               stab = least_squares(at, y, n, true, false, true, false);
  ok(n == 61 && fabs(share_of(&r, "ode", "") - (ode - all) / blocks) < 1e-7 &&
         fabs(share_of(&r, "stab", "") - (stab - all) / blocks) < 1e-7 &&
         fabs(share_of(&r, "ode", "stab") - (all - pair) / blocks) < 1e-7,
     "with %d of 72 runs shares are those of least squares: %.6g against %.6g", n,
     share_of(&r, "ode", ""), (ode - all) / blocks);
  perp_results_free(&r);
}

/* ---- sentences of the study ---- */

static void stated(void)
{
  perp_results r;
  const perp_finding *list;
  made_up(
      GRID ASK
      "finding:\n"
      "  - { text: 'dopri5 is off by {max(err.tip.max, ode == dopri5 and scene == a and h == 1)} "
      "m at most.', expr: 'max(err.tip.max, ode == dopri5 and scene == a and h == 1) < 1 m' }\n"
      "  - { text: 'euler is exact.', expr: 'max(err.tip.max, ode == euler) == 0' }\n"
      "  - { text: 'At 8 s it is {max(err.tip.max, h == 8)} m.', expr: 'max(err.tip.max) > 0' }\n",
      dominated, &r);
  const int n = perp_results_findings(&ctx, &r, &list);
  show(list, n);
  ok(strcmp(list[0].text, "dopri5 is off by 1.00e-09 m at most.") == 0 && list[0].lead &&
         strcmp(list[0].verdict, "proved") == 0,
     "a sentence of the study comes first, with its figure");
  ok(!list[n - 2].lead && strcmp(list[n - 2].text, "These runs refute: euler is exact.") == 0 &&
         strcmp(list[n - 2].verdict, "refuted") == 0,
     "what the runs refute is said last");
  ok(strcmp(list[n - 1].verdict, "undecided") == 0, "and what they do not decide");
  perp_results_free(&r);
}

static void refused(void)
{
  static const char *const bad[][2] = {
    { "finding: [{ text: a }]\n", "'expr' is missing" },
    { "finding: [{ expr: 'max(err.tip.max) < 1' }]\n", "'text' is missing" },
    { "finding: [{ text: 'off by {max(err.tip.max', expr: 'max(err.tip.max) < 1' }]\n",
      "brace is not closed" },
    { "finding: [{ text: 'off by {max(err.tap.max)} m', expr: 'max(err.tip.max) < 1' }]\n",
      "err.tip.max" },
    { "floor: -1 m\n", "floor" },
    { "floor: 1 kg\n", "unit" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *text = perp_xprintf(
        "schema: perp-study/1\nstudy: { name: made, question: Who? }\n" GRID "%s", bad[i][0]);
    perp_diag diag = { 0 };
    perp_study *study = NULL;
    const perp_study_request q = { .file = "made.yaml", .text = text, .kinds = kinds };
    const perp_status status = perp_study_read(&ctx, &q, &diag, &study);
    ok(status == PERP_ERR_FORMAT && strstr(diag.text.s, bad[i][1]) != NULL, "refused: %s: %s",
       bad[i][1], diag.text.s != NULL ? diag.text.s : "");
    perp_study_free(study);
    perp_diag_free(&diag);
    free(text);
  }
}

/* ---- the figure on top ---- */

/* Integrators differ by 3 decades, with projection only; elsewhere by 0.03. */
static double with_post(struct at at)
{
  return (at.stab == 2 ? -1 : -0.01) * (at.ode - 1.5) - 2 + 0.1 * at.h;
}

static double by_ode(struct at at)
{
  return -at.ode - 1;
}

static int letters(const char *text, const char *mark)
{
  int n = 0;
  for (; (text = strstr(text, mark)) != NULL; text++) n++;
  return n;
}

/* The error of dopri5 is 0: 10 to the power of -400. */
static double one_zero(struct at at)
{
  return at.ode == 3 ? -400 : -at.ode;
}

/* Columns of the widest line. */
static int widest(const char *text)
{
  int most = 0, n = 0;
  for (; *text != '\0'; text++) {
    n = *text == '\n' ? 0 : n + (((unsigned char)*text & 0xc0) != 0x80);
    most = n > most ? n : most;
  }
  return most;
}

static void on_top(void)
{
  perp_results r;
  perp_view view;
  perp_headline top;
  char *text = NULL;
  size_t size;
  made_up(GRID "metrics: { primary: err.tip.max }\nreport: { figure: { panels: scene } }\n",
          with_post, &r);
  perp_view_build(&ctx, &r.pool, &r, &view);
  perp_headline_choose(&ctx, &r, &view, &top);
  ok(top.kind == PERP_HEADLINE_CURVES && strcmp(params[top.colour].key, "ode") == 0 &&
         strcmp(params[top.panels].key, "scene") == 0 && strcmp(top.x, "h") == 0,
     "the integrator, which matters most, is in colour, against the step");
  ok(top.n_slices == 3 && strstr(top.slice[0].words, "post") != NULL &&
         fabs(top.slice[0].effect - 3) < 1e-12 && fabs(top.slice[1].effect - 0.03) < 1e-12,
     "the slice in which it makes a difference is the first: %s, %g decades", top.slice[0].words,
     top.slice[0].effect);
  ok(top.slice[0].n == 24 && top.slice[0].n_shown == 4 && top.slice[0].left == 0 &&
         top.slice[0].curves == 8,
     "with all of its curves");
  perp_results_free(&r);

  made_up("grid: { ode: [euler, heun, rk4, dopri5], h: [1, 2, 4] }\n"
          "metrics: { primary: err.tip.max }\n",
          by_ode, &r);
  FILE *out = open_memstream(&text, &size);
  perp_headline_print(&ctx, &r, out);
  fclose(out);
  int lines = 0;
  for (const char *s = text; *s != '\0'; s++) lines += *s == '\n';
  ok(widest(text) <= 80 && lines >= 12 && lines <= 16, "a chart of %d columns, %d lines",
     widest(text), lines);
  ok(strstr(text, "rror of the tip [m]") != NULL && strstr(text, "step size h [s]") != NULL &&
         strstr(text, "c  RK4") != NULL,
     "axes with units, curves in words");
  const char *d = strstr(text, "d··"), *a = strstr(text, "a··");
  ok(a != NULL && d != NULL && a < d && letters(text, "·a") == 2 && letters(text, "·d") == 2,
     "three points a curve, the largest error on top:\n%s", text);
  free(text);
  perp_results_free(&r);

  /* without steps a row for each choice; a value of 0 lies below the floor as well */
  made_up("grid: { ode: [euler, heun, rk4, dopri5] }\nmetrics: { primary: err.tip.max }\nfloor: "
          "1e-30 m\n",
          one_zero, &r);
  out = open_memstream(&text, &size);
  perp_headline_print(&ctx, &r, out);
  fclose(out);
  perp_view_build(&ctx, &r.pool, &r, &view);
  perp_headline_choose(&ctx, &r, &view, &top);
  double x, y;
  int marks = 0;
  for (int i = 0; i < r.plan.n; i++) marks += perp_headline_point(&top, &view, i, &x, &y);
  ok(top.kind == PERP_HEADLINE_ROWS && marks == 4 && strstr(text, "Dormand–Prince 5 ┤") != NULL,
     "a row and a mark for each of %d choices:\n%s", marks, text);
  free(text);
  perp_results_free(&r);

  made_up(GRID "metrics: { primary: err.tip.max }\nfloor: 1 m\n", by_ode, &r);
  out = open_memstream(&text, &size);
  perp_headline_print(&ctx, &r, out);
  fclose(out);
  ok(size == 0, "no figure of differences below the floor");
  free(text);
  perp_results_free(&r);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register(&ctx, plugins);
  if (mkdtemp(root) == NULL) bail("no temporary folder");
  dominance();
  interaction();
  noise();
  floors();
  alone();
  holes();
  stated();
  refused();
  on_top();
  char *clean = perp_xprintf("rm -rf %s", root);
  if (system(clean) != 0) printf("# could not remove %s\n", root);
  free(clean);
  return tap_done();
}
