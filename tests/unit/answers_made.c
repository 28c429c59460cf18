/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Answers on made-up results: ties, noise, what cannot be told, unsuited and unsolved cells,
 * proofs, metrics of which more is better, budgets, exponents, and what is never mixed.  Every
 * expectation is worked out by hand from the figures that the test writes into the journal. */
#include "experiments/answers/answers.h"
#include "experiments/results/symptoms.h"
#include "tests/unit/toy_kind.h"

#include "tests/tap.h"
#include "experiments/base/files.h"

#include <jansson.h>

static perp_ctx ctx;
static char root[] = "/tmp/perp-answers-XXXXXX";

/* ---- a kind with scenes, problems, solvers and steps ---- */

static const perp_param made_params[] = {
  { "scene", "a scene", PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "a", false },
  { "stab", "who is compared", PERP_PARAM_PLUGIN, PERP_KIND_stab, "", 0, 0, 0, "none", false },
  { "h", "step", PERP_PARAM_REAL, PERP_KIND_NONE, "s", 0, HUGE_VAL, PERP_OPEN_MIN, "1", false },
  { 0 }
};
static const perp_metric made_metrics[] = {
  { "err.q.max", "", "an error", -1, false }, { "score", "", "more is better", 1, false },
  { "calls", "", "work", -1, false },         { "drift", "m", "a proxy", -1, false },
  { "time.cpu", "s", "time", -1, true },      { NULL, NULL, NULL, 0, false }
};
static const perp_metric *made_list(const perp_ctx *c, perp_pool *pool)
{
  (void)c, (void)pool;
  return made_metrics;
}
static void made_command(const perp_study *study, const perp_cell *cell, perp_text *out)
{
  (void)study, (void)cell;
  perp_text_add(out, "perp");
}
static const perp_cell_kind made_kind = {
  .name = "made", .params = made_params, .metrics = made_list, .command = made_command, .runs = true
};
static const perp_cell_kind *const made_kinds[] = { &made_kind, NULL };

/* What a cell of the made-up run came to. */
struct outcome {
  const char *status, *reason;
  double err, score, calls, drift, time;
};
typedef struct outcome outcome_fn(const char *scene, const char *stab, double h);

static struct outcome fine(double err)
{
  return (struct outcome){ "ok", "reached-end", err, err, 1, 1, 1 };
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

static void add_value(perp_text *t, const char *name, double v)
{
  const char *quote = isinf(v) ? "\"" : ""; /* "inf", as the journal has it */
  if (!isnan(v))
    perp_text_add(t, "%s\"%s\":%s%.17g%s", t->s[t->n - 1] == '{' ? "" : ",", name, quote, v, quote);
}

/* A results folder of that study, as if it had been run; rounds: of times, which scatter by
 * `scatter`. */
static void made_up(const char *text, outcome_fn *of, int rounds, double scatter, perp_results *r)
{
  static int number;
  char *dir = perp_xprintf("%s/%d", root, number++), *journal = perp_xprintf("%s/journal", dir);
  perp_make_dirs(&ctx, journal);
  char *study_text = perp_xprintf("schema: perp-study/1\nstudy: { name: made, question: Who? }\n%s",
                                  text);
  write_to(dir, "study.yaml", study_text);
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  perp_study_request q = { .file = "made.yaml", .text = study_text, .kinds = made_kinds };
  if (perp_study_read(&ctx, &q, &diag, &study) != PERP_OK) bail("%s", diag.text.s);
  perp_plan plan;
  perp_selection selection = { 0 };
  char *path = perp_xprintf("%s/plan.jsonl", dir);
  if (perp_plan_make(&ctx, study, &plan) != PERP_OK ||
      perp_plan_write(&ctx, path, study, &plan, &selection) != PERP_OK)
    bail("%s", ctx.msg);
  free(path);
  perp_text t = { 0 };
  perp_text_add(&t, "{\"event\":\"run\",\"schema\":2,\"env\":\"e\"}\n");
  for (int i = 0; i < plan.n; i++) {
    const perp_value *v = plan.cells[i].value;
    const struct outcome o = of(v[0].text, v[1].text, v[2].number);
    perp_text_add(
        &t,
        "{\"event\":\"cell\",\"cell\":\"%s\",\"attempt\":1,\"status\":\"%s\",\"reason\":\"%s\","
        "\"cpu_s\":1,\"wall_s\":1,\"values\":{",
        plan.cells[i].id, o.status, o.reason);
    add_value(&t, "err.q.max", o.err);
    add_value(&t, "score", o.score);
    add_value(&t, "calls", o.calls);
    add_value(&t, "drift", o.drift);
    add_value(&t, "time.cpu", o.time);
    perp_text_add(&t, "}}\n");
    for (int k = 0; k < rounds; k++)
      perp_text_add(
          &t,
          "{\"event\":\"time\",\"cell\":\"%s\",\"attempt\":1,\"status\":\"ok\",\"cpu_s\":1,"
          "\"wall_s\":1,\"values\":{\"time.cpu\":%.17g}}\n",
          plan.cells[i].id, o.time * (1 + scatter * (k - (rounds - 1) / 2.)));
  }
  write_to(journal, "one.jsonl", t.s);
  perp_text_free(&t);
  perp_plan_free(&plan);
  perp_study_free(study);
  perp_diag_free(&diag);
  free(study_text);
  if (perp_results_load(&ctx, dir, made_kinds, r) != PERP_OK) bail("%s", ctx.msg);
  free(journal);
  free(dir);
}

static const perp_answer *only(perp_results *r)
{
  const perp_answer *a;
  const int n = perp_results_answers(&ctx, r, &a);
  ok(n == 1, "one answer: %d", n);
  return a;
}

static bool has(const char *text, const char *part)
{
  if (strstr(text, part) == NULL) tap_note("'%s' has no '%s'\n", text, part);
  return strstr(text, part) != NULL;
}

#define GRID                                                                                       \
  "grid: { stab: [none, baumgarte, post] }\nmetrics: { primary: err.q.max }\nmeasure: { repeats: " \
  "5 }\n"

static bool named(const char *stab, const char *name)
{
  return strncmp(stab, name, strlen(name)) == 0;
}

/* ---- ties and floors ---- */

static struct outcome tied(const char *scene, const char *stab, double h)
{
  (void)scene, (void)h;
  return fine(named(stab, "none") ? 0.5 : named(stab, "post") ? 0.2001 : 0.2);
}

/* Below a floor of 1e-8 in scene a; in b all but one fail. */
static struct outcome undecided(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(named(stab, "none") ? 1e-10 : named(stab, "post") ? 3e-13 : 1e-12);
  (void)h;
  if (strcmp(scene, "b") == 0 && !named(stab, "post")) o.status = "diverged";
  return o;
}

static struct outcome tiny(const char *scene, const char *stab, double h)
{
  (void)scene, (void)h;
  return fine(named(stab, "none") ? 3e-9 : named(stab, "post") ? 2e-13 : 9e-13);
}

static struct outcome close_times(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(1);
  (void)scene, (void)h;
  o.time = named(stab, "none") ? 1 : named(stab, "post") ? 1.1 : 2;
  return o;
}

static void ties(void)
{
  perp_results r;
  made_up(GRID "answer: { best: err.q.max, by: stab }\n", tied, 0, 0, &r);
  const perp_answer *a = only(&r);
  ok(a->n_lines == 1 && a->line[0].n_best == 2 &&
         has(a->text, "Baumgarte and post-stabilization tie"),
     "figures within 1 %% are a tie: %s", a->text);
  ok(has(a->text, "next: no stabilization, factor 2.5"),
     "... and the next is that of another figure");
  perp_results_free(&r);

  made_up(GRID "answer: { best: err.q.max, by: stab }\n", tiny, 0, 0, &r);
  a = only(&r);
  ok(a->line[0].n_best == 1 &&
         has(a->text,
             "Post-stabilization gives the smallest relative error of the coordinates (2.00e-13"),
     "2e-13 is less than 9e-13: %s", a->text);
  write_to(r.dir, "reference.json", "[{\"scene\":\"a\",\"worst\":4e-12}]");
  perp_results_count(&r);
  perp_results_answers(&ctx, &r, &a);
  ok(a->line[0].n_best == 2 &&
         has(a->text, "Baumgarte and post-stabilization tie for the smallest relative error of the "
                      "coordinates (below 4.00e-12") &&
         has(a->note, "Differences below 4.00e-12 are ignored (difference of two independent "
                      "references)."),
     "not where two references are 4e-12 apart: %s %s", a->text, a->note);
  perp_results_free(&r);
  made_up(GRID "answer: { best: err.q.max, by: stab, floor: 1e-8 }\n", tiny, 0, 0, &r);
  a = only(&r);
  ok(a->line[0].n_best == 3, "nor where the study says that 1e-8 is none: %s", a->text);
  perp_results_free(&r);

  made_up("grid: { scene: [a, b], stab: [none, baumgarte, post] }\nmetrics: { primary: err.q.max "
          "}\nanswer: { best: err.q.max, by: stab, for: scene, floor: 1e-8 }\n",
          undecided, 0, 0, &r);
  a = only(&r);
  ok(has(a->text, "In 1 comparison all competitors are equal.") && !has(a->text, "gives"),
     "who is equal to all others, or alone, is the best nowhere: %s", a->text);
  perp_results_free(&r);

  made_up(GRID "answer: { best: time.cpu, by: stab }\n", close_times, 5, 0.001, &r);
  a = only(&r);
  ok(a->line[0].n_best == 1 && has(a->text, "No stabilization gives the smallest CPU time (1 s; "
                                            "next: post-stabilization, factor 1.1)"),
     "10 %% more time is more when the clock is steady: %s", a->text);
  perp_results_free(&r);
  made_up(GRID "answer: { best: time.cpu, by: stab }\n", close_times, 5, 0.06, &r);
  a = only(&r);
  ok(a->line[0].n_best == 2, "not when rounds scatter by more: %s", a->text);
  perp_results_free(&r);
  made_up(GRID "answer: { best: time.cpu, by: stab }\n", close_times, 1, 0, &r);
  a = only(&r);
  ok(a->line[0].n_best == 2, "nor when there was one round: %s", a->text);
  perp_results_free(&r);
}

/* ---- counting ---- */

/* Scenes a ... e.  none solves a, b, proves c, and e does not suit it, it fails in d; baumgarte
 * solves a, b, d and fails in c; post "proves" that a has no solution, which others have found, and
 * solves b, c is proved by it as well; d is above the tolerance after the sweeps asked for. */
static struct outcome counted(const char *scene, const char *stab, double h)
{
  static const char *const what[3][5] = { { "ok", "ok", "infeasible", "diverged", "unsuited" },
                                          { "ok", "ok", "diverged", "ok", "unsuited" },
                                          { "infeasible", "ok", "infeasible", "fixed-work",
                                            "ok" } };
  const char *w = what[named(stab, "none") ? 0 : named(stab, "baumgarte") ? 1 : 2][scene[0] - 'a'];
  struct outcome o = fine(1);
  (void)h;
  o.status = strcmp(w, "infeasible") == 0 ? "ok" : w;
  if (strcmp(w, "ok") != 0) o.reason = w;
  if (strcmp(w, "unsuited") == 0) o.status = "diverged"; /* as journals of before have it */
  return o;
}

static void counting(void)
{
  perp_results r;
  made_up("grid: { scene: [a, b, c, d, e], stab: [none, baumgarte, post] }\nmetrics: { primary: "
          "err.q.max }\n"
          "answer: { most: solved, by: stab, for: scene }\n",
          counted, 0, 0, &r);
  ok(r.count[PERP_CELL_UNSUITED] == 2 && r.count[PERP_CELL_DIVERGED] == 2,
     "unsuited is not diverged");
  const perp_answer *a = only(&r);
  const perp_answer_entry *e = a->line[0].entry;
  ok(a->n_who == 3 && a->n_lines == 6, "a line for all and one for each scene: %d", a->n_lines);
  ok(e[0].value == 3 && e[0].asked == 5 && e[0].unsuited == 1 && e[0].proved == 1,
     "none: 3 of 4 that suit it, one of them proved");
  ok(e[1].value == 3 && e[1].unsuited == 1 && e[1].proved == 0, "baumgarte: 3 of 4");
  ok(e[2].value == 3 && e[2].asked == 5 && e[2].proved == 1,
     "post: a proof of what others have solved does not count, nor fixed work: %g", e[2].value);
  ok(a->line[0].n_best == 3 &&
         has(a->text, "solve all contact problems in the largest number of runs (3 each)"),
     "three that answer three are a tie: %s", a->text);
  perp_results_free(&r);
}

/* ---- more is better, and cells that cannot win ---- */

static struct outcome scores(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(named(stab, "none") ? 1 : named(stab, "post") ? 7 : 3);
  (void)scene, (void)h;
  return o;
}

static struct outcome not_all(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(named(stab, "none") ? 1e-3 : named(stab, "post") ? 1e-6 : 1e-2);
  (void)h;
  if (named(stab, "post")) o.status = "unsolved";
  if (scene[0] == 'b') o.err = (double)NAN;
  return o;
}

static void winners(void)
{
  perp_results r;
  made_up("grid: { stab: [none, baumgarte, post] }\nmetrics: { primary: score }\n", scores, 0, 0,
          &r);
  const perp_answer *a = only(&r);
  ok(has(a->asked, "Largest score, by stab") &&
         has(a->basis, "Runs are compared by stabilization.") &&
         has(a->text,
             "Post-stabilization gives the largest score (7; next: Baumgarte, factor 2.33)"),
     "where more is better the largest is best: %s: %s", a->asked, a->text);
  ok(a->question->assumed && has(a->note, "has no `answer`"),
     "and a study that asks nothing is told so");
  perp_results_free(&r);

  made_up(
      "grid: { scene: [a, b], stab: [none, baumgarte, post] }\nmetrics: { primary: err.q.max }\n",
      not_all, 0, 0, &r);
  a = only(&r);
  ok(a->n_lines == 1 &&
         has(a->text, "error of the coordinates (0.001; next: Baumgarte, factor 10)"),
     "the unsolved one with the least error wins nothing: %s", a->text);
  ok(strcmp(perp_answer_entry_text(&r.pool, a, &a->line[0].entry[2]), "(1.00e-06)") == 0 &&
         strcmp(a->line[0].entry[2].why, "unsolved") == 0,
     "... its figure stands in brackets");
  ok(has(perp_results_left_out(&r),
         "3 of 6 completed runs have no value of the largest relative error of the coordinates: b"),
     "cells without the metric are counted: %s", perp_results_left_out(&r));
  perp_results_free(&r);
}

/* ---- what is never mixed, budgets, slopes ---- */

/* Order 1 and cheap, order 2 and four times as dear; post does not work in scene b. */
static struct outcome orders(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(named(stab, "none") ? h : named(stab, "post") ? h * h : 3 * h);
  o.calls = (named(stab, "post") ? 4 : 1) / h;
  o.drift = named(stab, "post") ? 0.5 : named(stab, "none") ? 0.3 : 0.1;
  if (scene[0] == 'b') o.err *= 10;
  if (scene[0] == 'b' && named(stab, "post")) o.status = "diverged";
  return o;
}

#define STEPS                                                                                      \
  "grid: { scene: [a, b], stab: [none, baumgarte, post], h: [0.1, 0.01, 0.001] }\nmetrics: { "     \
  "primary: err.q.max }\n"

static void never_mixed(void)
{
  perp_results r;
  made_up(STEPS "answer: { best: err.q.max, by: stab }\n", orders, 0, 0, &r);
  const perp_answer *a = only(&r);
  ok(a->n_lines == 6 && strcmp(a->apart_by, "scene, h") == 0,
     "scenes and steps are held apart though nobody said so: %d by %s", a->n_lines, a->apart_by);
  ok(has(a->text, "No single stabilization is best everywhere. No stabilization gives the smallest "
                  "relative error of the coordinates in 3 of 6 comparisons, post-stabilization in "
                  "3."),
     "%s", a->text);
  perp_results_free(&r);

  made_up(STEPS "answer: { best: err.q.max, at: calls, budgets: [20, 1000], targets: 0.01, by: "
                "stab, for: scene }\n",
          orders, 0, 0, &r);
  a = only(&r);
  /* a, 20 calls: none 0.1, baumgarte 0.3, post costs 40; 1000: none 1e-3, post 1e-4 (h 0.01: 400
   * calls); error 0.01: none 100, post 40 */
  ok(a->n_lines == 6, "two budgets and a target for each scene: %d", a->n_lines);
  ok(strcmp(a->line[0].who, "none") == 0 && strcmp(a->line[0].entry[2].why, "over budget") == 0,
     "within 20 calls the one of order 1 is best, post has nothing: %s", a->line[0].entry[2].why);
  ok(strcmp(a->line[1].who, "post") == 0 && a->line[1].value == 1e-4,
     "within 1000 that of order 2");
  ok(strcmp(a->line[2].who, "post") == 0 && fabs(a->line[2].value - 40) < 1e-9 &&
         fabs(a->line[2].next - 100) < 1e-9,
     "an error of 0.01 costs 40 and 100 calls: %g, %g", a->line[2].value, a->line[2].next);
  ok(strcmp(a->line[3].entry[2].why, "diverged") == 0, "who fails in a scene says why");
  perp_results_free(&r);

  made_up(STEPS "answer: { best: err.q.max, at: calls, by: stab, for: scene }\n", orders, 0, 0, &r);
  a = only(&r);
  bool some = a->n_lines >= 4;
  for (int i = 0; i < a->n_lines; i++) some = some && a->line[i].n_best > 0;
  ok(some, "budgets are chosen where the study gives none, each reached by somebody: %d lines",
     a->n_lines);
  perp_results_free(&r);

  made_up(STEPS "answer: { slope: err.q.max, over: h, by: stab, for: scene }\n", orders, 0, 0, &r);
  a = only(&r);
  ok(fabs(a->line[0].entry[0].value - 1) < 1e-9 && fabs(a->line[0].entry[2].value - 2) < 1e-9,
     "orders 1 and 2: %s", a->text);
  perp_results_free(&r);

  made_up(STEPS "answer: { best: err.q.max, proxy: drift, by: stab, for: [scene, h] }\n", orders, 0,
          0, &r);
  a = only(&r);
  /* baumgarte drifts least everywhere: its error is 3 h over the least of h^2, h: 3, 30 (h 0.1),
   * 300, 3000 */
  ok(has(a->text, "another winner in 6 of 6 comparisons.") &&
         has(a->text, "times the smallest one"),
     "who is chosen by drift is up to 3000 times worse: %s", a->text);
  perp_results_free(&r);
}

/* ---- one answer everywhere ---- */

static void everywhere(void)
{
  perp_results r;
  made_up(GRID "answer: { best: err.q.max, by: stab }\n", tied, 0, 0, &r);
  const perp_answer *a = only(&r);
  ok(perp_results_derive(&ctx, &r) == PERP_OK, "derived/ is written");
  char *path = perp_xprintf("%s/derived/answers.json", r.dir);
  json_t *j = json_load_file(path, 0, NULL),
         *first = json_array_get(json_object_get(j, "answers"), 0);
  free(path);
  const char *text = json_string_value(json_object_get(first, "answer"));
  const json_t *best = json_object_get(json_array_get(json_object_get(first, "comparisons"), 0),
                                       "best");
  ok(text != NULL && strcmp(text, a->text) == 0 && json_array_size(best) == 2,
     "answers.json says the same, and names both");
  char *printed = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&printed, &size);
  perp_results_summary(&ctx, &r, false, out);
  fclose(out);
  ok(has(printed, "(0.2; next: no stabilization, factor 2.5)"), "the terminal, too");
  ok(has(printed, "0.2*"), "ties are marked");
  free(printed);
  json_decref(j);
  perp_results_free(&r);
}

/* ---- what perp check says ---- */

static void refused(const char *answer, const char *message, const char *place)
{
  char *text = perp_xprintf("schema: perp-study/1\nstudy: { name: made }\n"
                            "grid: { stab: [none, post] }\n%s",
                            answer);
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  perp_study_request q = { .file = "made.yaml", .text = text, .kinds = made_kinds };
  const perp_status status = perp_study_read(&ctx, &q, &diag, &study);
  ok(status == PERP_ERR_FORMAT && has(diag.text.s, message) && has(diag.text.s, place),
     "%s is refused: %s", answer, message);
  perp_study_free(study);
  perp_diag_free(&diag);
  free(text);
}

static void checks(void)
{
  refused("answer: { best: err.q.mx, by: stab }\n", "unknown metric 'err.q.mx'",
          "made.yaml:4:17: error");
  refused("answer: { best: err.q.max, by: stb }\n", "did you mean 'stab'?",
          "made.yaml:4:32: error");
  refused("answer: { best: err.q.max, by: stab.alfa }\n", "no stab has an option 'alfa'",
          "made.yaml:4:32");
  refused("answer: { by: stab }\n", "one of best, most, slope and claims is missing",
          "made.yaml:4:9");
  refused("answer: { best: err.q.max, most: solved }\n", "for two questions write a list",
          "made.yaml:4:34");
  refused("answer: { best: err.q.max, by: stab, for: [h, stab] }\n", "is under both by and for",
          "made.yaml:4:47");
  refused("answer: { slope: err.q.max }\n", "answer.slope requires 'over' as well",
          "made.yaml:4:18");
  refused("answer: { best: err.q.max, where: 'stab = none' }\n", "error", "made.yaml:4:");
  refused("answer: { claims: all }\n", "the study has no claims", "made.yaml:4:19");
  refused("answer: { most: unsolved }\n", "unknown count 'unsolved'", "made.yaml:4:17");
  refused("answer: 3\n", "answer must be a map", "made.yaml:4:9");
}

/* ---- who shows what ---- */

/* drift is bounded by 1: below, above, of no value, and not at all */
static struct outcome sick(const char *scene, const char *stab, double h)
{
  struct outcome o = fine(1);
  o.drift = named(stab, "none") ? 0.5 : 2;
  if (strcmp(scene, "b") == 0 && named(stab, "none"))
    o.status = "unsolved", o.drift = h > 1 ? 0.25 : 0.75;
  if (strcmp(scene, "b") == 0 && named(stab, "baumgarte"))
    o.status = "unsuited", o.reason = "unsuited";
  if (strcmp(scene, "b") == 0 && named(stab, "post"))
    o = (struct outcome){ "diverged",  "too-large", (double)NAN, (double)NAN,
                          (double)NAN, 5,           (double)NAN };
  if (strcmp(scene, "c") == 0) o.drift = named(stab, "post") ? HUGE_VAL : (double)NAN;
  return o;
}

#define SYMPTOMS                                                                                   \
  "grid: { scene: [a, b, c], stab: [none, baumgarte, post], h: [1, 2] }\n"                         \
  "metrics: { primary: err.q.max, record: [err.q.max, drift] }\n"                                  \
  "symptoms:\n  columns:\n    - { name: none, where: 'stab == none' }\n"                           \
  "    - { name: fed, where: 'stab == baumgarte' }\n    - { name: post, where: 'stab == post' }\n" \
  "  rows:\n"

static void symptoms(void)
{
  perp_results r;
  made_up(
      SYMPTOMS
      "    - { name: a, text: it drifts, of: X 1.2, source: who/what#7, where: 'scene == a', "
      "metric: "
      "drift, above: 1 m }\n"
      "    - { name: b, where: 'scene == b', metric: drift, above: 1000 mm }\n"
      "    - { name: c, where: 'scene == c', metric: drift, above: 1 m }\n"
      "    - { name: apart, where: 'scene in (a, b)', metric: drift, above: 0.2 m, spread: true }\n"
      "    - { name: mixed, where: 'scene == b', metric: drift, above: 0.5 m }\n"
      "    - { name: elsewhere, where: 'scene == d', metric: drift, above: 1 m }\n",
      sick, 0, 0, &r);
  static const struct {
    perp_shown shown;
    double value;
    const char *text;
  } due[6][3] = {
    { { PERP_SHOWN_NO, 0.5, "0.5" }, { PERP_SHOWN_YES, 2, "! 2" }, { PERP_SHOWN_YES, 2, "! 2" } },
    /* the worst of two cells; a figure of what did not reach its end is none */
    { { PERP_SHOWN_NO, 0.75, "0.75 u" },
      { PERP_SHOWN_UNSUITED, NAN, "-" },
      { PERP_SHOWN_FAILED, NAN, "too-large" } },
    { { PERP_SHOWN_NOTHING, NAN, "?" },
      { PERP_SHOWN_NOTHING, NAN, "?" },
      { PERP_SHOWN_YES, HUGE_VAL, "! inf" } },
    /* scenes are compared at equal steps: 0.5 with 0.75, 0.5 with 0.25 */
    { { PERP_SHOWN_YES, 0.25, "! 0.25 u" },
      { PERP_SHOWN_NOTHING, NAN, "?" },
      { PERP_SHOWN_FAILED, NAN, "too-large" } },
    /* one step shows it and the other does not */
    { { PERP_SHOWN_DEPENDS, 0.75, "~ 0.75 (1 of 2) u" },
      { PERP_SHOWN_UNSUITED, NAN, "-" },
      { PERP_SHOWN_FAILED, NAN, "too-large" } },
    { { PERP_SHOWN_NOT_ASKED, NAN, "" },
      { PERP_SHOWN_NOT_ASKED, NAN, "" },
      { PERP_SHOWN_NOT_ASKED, NAN, "" } },
  };
  const perp_symptom_entry *e = perp_results_symptoms(&ctx, &r);
  for (int i = 0; i < 6; i++)
    for (int k = 0; k < 3; k++, e++) {
      const bool same = e->value == due[i][k].value || (isnan(e->value) && isnan(due[i][k].value));
      const char *text = perp_symptom_text(&r.pool, e);
      ok(e->shown == due[i][k].shown && same && strcmp(text, due[i][k].text) == 0,
         "symptom %s of column %d: %s, %g, '%s'", r.study->symptoms[i].name, k,
         perp_shown_name(e->shown), e->value, text);
    }
  char *made = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&made, &size);
  perp_symptoms_markdown(&ctx, &r, out);
  fclose(out);
  ok(has(made, "| it drifts | X 1.2 | [who/what#7](https://github.com/who/what/issues/7) | `drift "
               "> 1 m` | "
               "0.5 | **2** | **2** |\n"),
     "a row of the Markdown table");
  free(made);
  perp_results_free(&r);
}

/* ---- tables ---- */

/* `none` wins at the first two steps, post at the others. */
static struct outcome late(const char *scene, const char *stab, double h)
{
  (void)scene;
  return fine(strcmp(stab, h <= 2 ? "none" : "post") == 0 ? 1e-3 : 1e-2);
}

static char *printed_in(perp_results *r, const perp_answer *a, int most, const char *columns)
{
  char *text = NULL;
  size_t size = 0;
  setenv("COLUMNS", columns, 1);
  FILE *out = open_memstream(&text, &size);
  perp_answer_print(r, a, most, out);
  fclose(out);
  unsetenv("COLUMNS");
  return text;
}

static void tables(void)
{
  perp_results r;
  made_up("grid: { stab: [none, baumgarte, post], h: [1, 2, 4, 8, 16, 32] }\n"
          "answer: { best: err.q.max, by: stab, for: h }\n",
          late, 0, 0, &r);
  const perp_answer *a = only(&r);
  char *text = printed_in(&r, a, 1, "200");
  ok(has(text, "\npost  ") && !has(text, "\nnone") && has(text, "... and 2 more"),
     "with room for one row it is that of who is best most often");
  ok(!has(text, "\033"), "no bold letters where the stream is no terminal");
  free(text);
  text = printed_in(&r, a, 2, "40");
  ok(has(text, "none") && has(text, "\n4 s") && has(text, "post"),
     "a row of who is best most often is shown where comparisons are cut");
  free(text);
  perp_results_free(&r);
}

/* What is wrong with the section is said with its place. */
static void symptoms_refused(void)
{
  static const struct {
    const char *row, *word;
  } bad[] = {
    { "    - { name: a, where: 'scene == a', metric: drift }\n", "'above' is missing" },
    { "    - { name: a, where: 'scene == a', metric: drift, above: 1 kg }\n", "unit" },
    { "    - { name: a, where: 'scene == a', metric: drift, above: -1 m }\n", "above must be in" },
    { "    - { name: a, where: 'scene == a', metric: drifts, above: 1 m }\n", "unknown metric" },
    { "    - { name: a, where: 'drift > 1', metric: drift, above: 1 m }\n", "drift" },
    { "    - { where: 'scene == a', metric: drift, above: 1 m }\n", "'name' is missing" },
    { "    - { name: a, where: 'scene == a', metric: drift, above: 1 m, below: 2 }\n", "below" },
    { "    []\n", "rows are missing" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *text = perp_xprintf(
        "schema: perp-study/1\nstudy: { name: made, question: Who? }\n" SYMPTOMS "%s", bad[i].row);
    perp_diag diag = { 0 };
    perp_study *study = NULL;
    perp_study_request q = { .file = "made.yaml", .text = text, .kinds = made_kinds };
    const perp_status status = perp_study_read(&ctx, &q, &diag, &study);
    ok(status == PERP_ERR_FORMAT && has(diag.text.s, bad[i].word), "a bad row is refused: %s",
       bad[i].word);
    perp_study_free(study);
    perp_diag_free(&diag);
    free(text);
  }
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register(&ctx, toy_plugins);
  if (mkdtemp(root) == NULL) bail("no temporary folder");
  ties();
  counting();
  winners();
  never_mixed();
  everywhere();
  checks();
  tables();
  symptoms();
  symptoms_refused();
  char *command = perp_xprintf("rm -rf %s", root);
  if (system(command) != 0) printf("# could not remove %s\n", root);
  free(command);
  return tap_done();
}
