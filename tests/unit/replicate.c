/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts on statements of documents, from figures that are made up: every verdict, a twin that
 * passes, figures that are missing; what a study may not say about its runs and sources; and the
 * rules for the studies that come with perp. */
#include "experiments/results/replicate.h"
#include "experiments/study/describe.h"
#include "experiments/study/plan.h"

#include "tests/tap.h"
#include "experiments/base/files.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static perp_ctx ctx;

/* ---- a kind with named runs: the figure of a cell is its own parameter ---- */

static const perp_param made_params[] = {
  { "scene", "a scene", PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "a", false },
  { "figure", "what is measured", PERP_PARAM_REAL, PERP_KIND_NONE, "", -HUGE_VAL, HUGE_VAL, 0, NULL,
    false },
  { "run", "its name", PERP_PARAM_TEXT, PERP_KIND_NONE, "", 0, 0, 0, "", true },
  { 0 }
};
static const perp_metric made_metrics[] = { { "drift", "m", "an error", -1, false },
                                            { NULL, NULL, NULL, 0, false } };
static const perp_metric *made_list(const perp_ctx *c, perp_pool *pool)
{
  (void)c, (void)pool;
  return made_metrics;
}
static const perp_cell_kind made_kind = {
  .name = "made", .params = made_params, .metrics = made_list, .runs = true
};
static const perp_cell_kind *const made_kinds[] = { &made_kind, NULL };

static const char head[] = "schema: perp-study/1\nstudy: { name: made, question: Who? }\n";
static const char runs[] = "runs:\n  - { name: good, figure: 2 }\n  - { name: bad, figure: 20 }\n"
                           "  - { name: wide, figure: [1, 5] }\n  - { name: lost, figure: 7 }\n";

static perp_status study_of(const char *text, perp_diag *diag, perp_study **study)
{
  char *whole = perp_xprintf("%s%s", head, text);
  *diag = (perp_diag){ 0 };
  const perp_study_request q = { .file = "made.yaml", .text = whole, .kinds = made_kinds };
  const perp_status status = perp_study_read(&ctx, &q, diag, study);
  free(whole);
  return status;
}

/* Results as if the study had been run; the run `lost` diverges. */
static void results_of(const char *text, perp_results *r)
{
  perp_diag diag;
  *r = (perp_results){ 0 };
  if (study_of(text, &diag, &r->study) != PERP_OK) bail("%s", diag.text.s);
  perp_diag_free(&diag);
  if (perp_plan_make(&ctx, r->study, &r->plan) != PERP_OK) bail("%s", ctx.msg);
  r->record = perp_pool_alloc(&r->pool, (size_t)r->plan.n, sizeof *r->record);
  for (int i = 0; i < r->plan.n; i++) {
    perp_record *rec = &r->record[i];
    rec->status = r->study->n_runs > 0 && strcmp(r->plan.cells[i].value[2].text, "lost") == 0
                      ? PERP_CELL_DIVERGED
                      : PERP_CELL_OK;
    rec->value = perp_pool_alloc(&r->pool, 1, sizeof *rec->value);
    rec->value[0] = r->plan.cells[i].value[1].number;
  }
}

static void results_end(perp_results *r)
{
  perp_plan_free(&r->plan);
  perp_study_free(r->study);
  perp_pool_free(&r->pool);
}

/* ---- verdicts ---- */

#define ROW(rest)                                                                                  \
  "    - { paper: toy, at: table 1, states: it drifts, printed: nothing, " rest " }\n"
#define OF(name) "'max(drift, run == " name ")'"
#define VALUE    "value: 2.5 m, unit: m, factor: 1.3, "

#define SPAN "interval: ['min(drift, run == wide)', 'max(drift, run == wide)'], missing: the step, "

static void verdicts(void)
{
  static const struct {
    const char *row, *word, *why, *stated, *measured;
  } due[] = {
    { ROW(VALUE "measured: " OF("good") ", verdict: reproduced, twin: " OF("bad")), "reproduced",
      "", "2.5 m", "2 m" },
    /* 0.5 m apart are within 0.6 m */
    { ROW("value: 2500 mm, unit: m, within: 0.6 m, measured: " OF(
          "good") ", verdict: reproduced, twin: " OF("bad")),
      "reproduced", "", "2.5 m", "2 m" },
    { ROW("value: 2.5, within: 0.4, measured: " OF("good") ", verdict: reproduced, twin: " OF(
          "bad")),
      "refuted", "no evidence", "2.5", "2" },
    { ROW(VALUE "measured: " OF("good") ", verdict: reproduced, twin: 'min(drift, run == good)'"),
      "refuted", "twin passes", "2.5 m", "2 m" },
    { ROW(VALUE "measured: " OF("good") ", verdict: reproduced, twin: " OF("lost")), "refuted",
      "figure of its twin is missing", "2.5 m", "2 m" },
    { ROW(VALUE "measured: " OF("lost") ", verdict: reproduced, twin: " OF("bad")), "refuted",
      "figure is missing", "2.5 m", "none m" },
    { ROW("below: 3, measured: " OF("good") ", verdict: reproduced, twin: " OF("bad")),
      "reproduced", "", "< 3", "2" },
    { ROW("curve: [[good, 2], [bad, 19]], factor: 1.1, measured: 'max(drift, run == {x})', "
          "verdict: "
          "reproduced, twin: 'max(drift, run == {x}) / 2'"),
      "reproduced", "", "good: 2, bad: 19", "good: 2, bad: 20" },
    /* one point of two is off */
    { ROW("curve: [[good, 2], [bad, 9]], factor: 1.1, measured: 'max(drift, run == {x})', verdict: "
          "reproduced, twin: 'max(drift, run == {x}) / 2'"),
      "refuted", "no evidence", "good: 2, bad: 9", "good: 2, bad: 20" },
    { ROW("holds: 'max(drift, run == good) < 3', verdict: reproduced, twin: 'max(drift, run == "
          "bad) "
          "< 3'"),
      "reproduced", "", "holds", "holds" },
    { ROW("holds: 'count(run == lost and status == diverged) == 1', verdict: reproduced, twin: "
          "'count(run == good and status == diverged) == 1'"),
      "reproduced", "", "holds", "holds" },
    { ROW(VALUE
          "measured: " OF("bad") ", verdict: contradicted, evidence: 'max(drift, run == good) "
                                 "< 3', twin: 'max(drift, run == bad) < 3'"),
      "contradicted", "", "2.5 m", "20 m" },
    { ROW(VALUE
          "measured: " OF("bad") ", verdict: contradicted, evidence: 'max(drift, run == good) "
                                 "< 1', twin: 'max(drift, run == bad) < 3'"),
      "refuted", "evidence does not hold", "2.5 m", "20 m" },
    { ROW(VALUE "measured: " OF("good") ", verdict: contradicted, evidence: 'max(drift, run == "
                                        "good) < 3', twin: 'max(drift, run == bad) < 3'"),
      "refuted", "reproduce it", "2.5 m", "2 m" },
    { ROW("holds: 'max(drift, run == bad) < 3', verdict: contradicted, evidence: 'max(drift, run "
          "== "
          "bad) > 9', twin: 'max(drift, run == good) > 9'"),
      "contradicted", "", "holds", "does not hold" },
    { ROW(VALUE SPAN "verdict: undetermined, twin: " OF("bad")), "undetermined", "", "2.5 m",
      "1 to 5 m, stated value inside" },
    /* the twin is inside of the interval */
    { ROW(VALUE SPAN "verdict: undetermined, twin: " OF("good")), "refuted", "twin passes", "2.5 m",
      "1 to 5 m, stated value inside" },
    /* the whole interval agrees */
    { ROW("value: 2.5, factor: 3, " SPAN "verdict: undetermined, twin: " OF("bad")), "refuted",
      "reproduce it", "2.5", "1 to 5, stated value inside" },
    { ROW("value: 7, factor: 1.1, " SPAN "verdict: undetermined, twin: " OF("bad")), "undetermined",
      "", "7", "1 to 5, stated value outside" },
    { ROW("verdict: undetermined, missing: the scene"), "undetermined", "", "", "not run" },
  };
  perp_text text = { 0 };
  perp_text_add(&text, "%sreplicate:\n  papers: { toy: a paper }\n  rows:\n", runs);
  const int n = sizeof due / sizeof *due;
  for (int i = 0; i < n; i++) perp_text_add(&text, "%s", due[i].row);
  perp_results r;
  results_of(text.s, &r);
  const perp_replicate_result *p = perp_results_replicate(&ctx, &r);
  for (int i = 0; i < n; i++) {
    const char *stated = perp_replicate_stated_text(&r.pool, p[i].row),
               *measured = perp_replicate_measured_text(&r.pool, &p[i]);
    const bool why = due[i].why[0] != '\0' ? strstr(p[i].why, due[i].why) != NULL
                                           : p[i].why[0] == '\0';
    ok(strcmp(perp_replicate_word(&p[i]), due[i].word) == 0 && why, "row %d is %s: %s", i,
       due[i].word, p[i].why);
    ok(strcmp(stated, due[i].stated) == 0 && strcmp(measured, due[i].measured) == 0,
       "... stated %s, measured %s", stated, measured);
  }
  const perp_replicate_count count = perp_replicate_counted(r.study, p, 0);
  ok(count.rows == n && count.verdict[PERP_REPLICATE_REPRODUCED] == 6 &&
         count.verdict[PERP_REPLICATE_CONTRADICTED] == 2 &&
         count.verdict[PERP_REPLICATE_UNDETERMINED] == 3 && count.not_run == 1 &&
         count.refuted == n - 11,
     "counted: %s", perp_replicate_count_text(&r.pool, &count));
  results_end(&r);
  perp_text_free(&text);
}

/* ---- runs ---- */

static void named_runs(void)
{
  perp_results r;
  results_of("scene: b\nruns:\n  - { name: one, figure: [1, 2] }\n"
             "  - { name: two, figure: 2, scene: [b, c] }\n",
             &r);
  static const char *const due[][3] = {
    { "b", "1", "one" }, { "b", "2", "one" }, { "b", "2", "two" }, { "c", "2", "two" }
  };
  bool same = r.plan.n == 4 && r.plan.combinations == 4;
  for (int i = 0; i < 4 && same; i++)
    for (int p = 0; p < 3; p++)
      same = same && strcmp(r.plan.cells[i].value[p].text, due[i][p]) == 0;
  ok(same, "each run has its own combinations, and what the study says for all");
  results_end(&r);
}

/* ---- what is refused ---- */

static void refused(void)
{
  static const struct {
    const char *text, *word;
  } bad[] = {
    { "runs: [{ name: a, figure: 1 }]\ngrid: { figure: [1] }\n",
      "made.yaml:3:7: error: a study has" },
    { "runs: [{ figure: 1 }]\n", "made.yaml:3:8: error: the key 'name' is missing" },
    { "runs: [{ name: a, figure: 1 }, { name: a, figure: 2 }]\n", "two runs have the name 'a'" },
    { "runs: [{ name: a-1, figure: 1 }]\n", "begins with a letter" },
    { "runs: [{ name: a }]\n", "'figure' is missing" },
    { "runs: [{ name: a, figure: x }]\n", "figure" },
    { "runs: [{ name: a, figure: 1, run: b }]\n", "run" },
    { "figure: 3\nruns: [{ name: a, figure: 1 }]\n", "every run has its own" },
    { "runs: [{ name: a, figure: 1 }]\nclaims: [{ text: x, expr: 'max(drift, run == b) > 1' }]\n",
      "'b'" },
    { "figure: 1\npublished: [{ where: 'figure > 0', metric: drift, value: 1 m, source: x }]\n",
      "made.yaml:4:13: error: the key 'conditions' is missing" },
    { "figure: 1\nclaims: [{ text: x, expr: 'max(drift) > 0', paper: y }]\n",
      "the key 'conditions' is missing" },
    { "figure: 1\nclaims: [{ text: x, expr: 'max(drift) > 0', paper: y, conditions: 'drift > 0' "
      "}]\n",
      "drift" },
  };
  static const struct {
    const char *row, *word;
  } rows[] = {
    { ROW(VALUE "measured: " OF("good") ", verdict: reproduced"), "'twin' is missing" },
    { ROW("value: 1, measured: " OF("good") ", verdict: reproduced, twin: " OF("bad")),
      "reading error is missing" },
    { ROW(VALUE "verdict: reproduced, twin: " OF("bad")), "'measured' is missing" },
    { ROW(VALUE "measured: " OF("good") ", verdict: contradicted, twin: 'max(drift) > 1'"),
      "needs the key 'evidence'" },
    { ROW("verdict: undetermined"), "must say what is missing" },
    { ROW(VALUE "measured: " OF("good") ", verdict: undetermined, missing: x"),
      "have an interval" },
    { ROW(VALUE SPAN "verdict: undetermined"), "'twin' is missing" },
    { ROW("verdict: reproduced, twin: 'max(drift) > 1'"), "value, below, curve or holds" },
    { ROW(VALUE "below: 2, measured: " OF("good") ", verdict: reproduced, twin: " OF("bad")),
      "one of value" },
    { ROW("verdict: proved, missing: x"), "verdict" },
    { ROW(VALUE "measured: " OF("god") ", verdict: reproduced, twin: " OF("bad")), "god" },
    { ROW(VALUE "measured: 'max(drift) > 1', verdict: reproduced, twin: " OF("bad")),
      "a number is required" },
    { "    - { paper: other, at: x, states: x, printed: x, verdict: undetermined, missing: x }\n",
      "unknown paper 'other'" },
    { "    - { paper: toy, at: x, states: x, verdict: undetermined, missing: x }\n",
      "'printed' is missing" },
  };
  perp_diag diag;
  perp_study *study;
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    const perp_status status = study_of(bad[i].text, &diag, &study);
    ok(status == PERP_ERR_FORMAT && strstr(diag.text.s, bad[i].word) != NULL, "refused: %s%s",
       bad[i].word, status == PERP_OK ? " (is not)" : "");
    perp_diag_free(&diag);
    perp_study_free(study);
  }
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    char *text = perp_xprintf("%sreplicate:\n  papers: { toy: a paper }\n  rows:\n%s", runs,
                              rows[i].row);
    const perp_status status = study_of(text, &diag, &study);
    ok(status == PERP_ERR_FORMAT && strstr(diag.text.s, rows[i].word) != NULL,
       "a row is refused: %s%s", rows[i].word, status == PERP_OK ? " (is not)" : "");
    perp_diag_free(&diag);
    perp_study_free(study);
    free(text);
  }
}

/* A condition of a source that holds in no run. */
static void empty_conditions(void)
{
  static const struct {
    const char *text, *word; /* "": nothing is wrong */
  } due[] = {
    { "published: [{ where: 'figure > 0', metric: drift, value: 1 m, source: x, conditions: "
      "'figure == 1' }]\n",
      "" },
    { "published: [{ where: 'figure > 0', metric: drift, value: 1 m, source: x, conditions: "
      "'figure == 3' }]\n",
      "made.yaml:4:13: error: the conditions of the source hold in no run" },
    { "published: [{ where: 'figure == 2', metric: drift, value: 1 m, source: x, conditions: "
      "'figure == 1' }]\n",
      "hold in no run of `where`" },
    { "published: [{ where: 'status == ok', metric: drift, value: 1 m, source: x, conditions: "
      "'figure == 1' }]\n",
      "" },
    { "claims: [{ text: x, expr: 'max(drift) > 0', paper: y, conditions: 'figure == 2' }]\n", "" },
    { "claims: [{ text: x, expr: 'max(drift) > 0', paper: y, conditions: 'scene == b' }]\n",
      "made.yaml:4:10: error: the conditions of the source hold in no run" },
  };
  for (size_t i = 0; i < sizeof due / sizeof *due; i++) {
    char *text = perp_xprintf("figure: [1, 2]\n%s", due[i].text);
    perp_results r;
    results_of(text, &r);
    perp_diag diag = { 0 };
    perp_plan_check(&ctx, r.study, &r.plan, &diag);
    ok(due[i].word[0] == '\0' ? diag.errors == 0
                              : diag.errors == 1 && strstr(diag.text.s, due[i].word) != NULL,
       "conditions %d: %s", (int)i, diag.errors > 0 ? diag.text.s : "they hold in a run");
    perp_diag_free(&diag);
    results_end(&r);
    free(text);
  }
}

/* ---- the studies that come with perp ---- */

/* A claim that names the author of a source says which, and its conditions. */
static void quotes(void)
{
  static const char *const authors[] = { "Cline",  "Overveld", "Vondrak", "Servin",
                                         "Bender", " his ",    "A source" };
  perp_pool pool = { 0 };
  perp_study_file *files;
  const int n = perp_study_files(&pool, &files);
  int claims = 0, bare = 0;
  for (int i = 0; i < n; i++) {
    char *text = perp_read_file(files[i].path, NULL);
    const perp_node *list = NULL;
    perp_diag diag = { 0 };
    const perp_node *root = perp_tree_read(&pool, &diag, files[i].path, text, strlen(text));
    if (root != NULL) list = perp_tree_get(root, "claims");
    for (int k = 0; list != NULL && k < list->n; k++) {
      const perp_node *says = perp_tree_get(list->item[k], "text");
      bool quotes = false;
      for (size_t a = 0; says != NULL && a < sizeof authors / sizeof *authors; a++)
        quotes = quotes || strstr(says->text, authors[a]) != NULL;
      /* Vondrak's tests have names: TestChain */
      quotes = quotes || (says != NULL && strncmp(says->text, "Test", 4) == 0);
      claims += quotes;
      if (!quotes || perp_tree_get(list->item[k], "paper") != NULL) continue;
      bare++;
      tap_note("%s: a claim names a source and has no `paper`: %s", files[i].name, says->text);
    }
    perp_diag_free(&diag);
    free(text);
  }
  ok(n > 10 && bare == 0, "%d claims of %d studies quote a source, %d without naming it", claims, n,
     bare);
  perp_pool_free(&pool);
}

/* Does docs/explanation/replication.md have the rows of the study, as it would be written from a
 * run? */
static void page_is_of_study(void)
{
  const char *source = getenv("PERP_SOURCE");
  char *page_path = perp_xprintf("%s/docs/explanation/replication.md",
                                 source != NULL ? source : "."),
       *study_path = perp_xprintf("%s/experiments/studies/replicate.yaml",
                                  source != NULL ? source : "."),
       *page = perp_read_file(page_path, NULL), *text = perp_read_file(study_path, NULL);
  if (page == NULL || text == NULL) bail("no page %s, or no study", page_path);
  perp_pool pool = { 0 };
  perp_diag diag = { 0 };
  const perp_node *root = perp_tree_read(&pool, &diag, study_path, text, strlen(text)),
                  *rows = perp_tree_get(perp_tree_get(root, "replicate"), "rows");
  int missing = 0;
  for (int i = 0; rows != NULL && i < rows->n; i++) {
    const char *says = perp_tree_get(rows->item[i], "states")->text,
               *verdict = perp_tree_get(rows->item[i], "verdict")->text,
               *line = strstr(page, perp_pool_printf(&pool, "| %s |", says));
    /* the verdict stands in the same line */
    const size_t n = line != NULL ? strcspn(line, "\n") : 0;
    const char *word = line != NULL ? strstr(line, verdict) : NULL;
    if (word != NULL && word < line + n) continue;
    missing++;
    tap_note("the page lacks, or has another verdict of: %s", says);
  }
  ok(rows != NULL && rows->n >= 90 && missing == 0,
     "docs/explanation/replication.md has the %d rows of the study (results/publish.py "
     "--replicate)",
     rows != NULL ? rows->n : 0);
  perp_diag_free(&diag);
  perp_pool_free(&pool);
  free(page);
  free(text);
  free(page_path);
  free(study_path);
}

int main(void)
{
  perp_ctx_init(&ctx);
  verdicts();
  named_runs();
  refused();
  empty_conditions();
  quotes();
  page_is_of_study();
  return tap_done();
}
