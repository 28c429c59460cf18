/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Study files: what is read, and for each thing that can be wrong its place, message and hint. */
#include "tests/unit/toy_kind.h"

#include "tests/tap.h"

static perp_ctx ctx;

static void refused(const char *what, const char *text, const char *place, const char *message,
                    const char *hint)
{
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  perp_status status = toy_study(&ctx, text, &diag, &study);
  char head[300];
  snprintf(head, sizeof head, "toy.yaml:%s: error: %s", place, message);
  bool good = status == PERP_ERR_FORMAT && study == NULL && diag.text.s != NULL &&
              strstr(diag.text.s, place[0] ? head : message) != NULL &&
              strstr(diag.text.s, hint) != NULL;
  if (!ok(good, "refused: %s", what))
    tap_note("%s\n", diag.text.s != NULL ? diag.text.s : "no message");
  perp_diag_free(&diag);
  perp_study_free(study);
}

static perp_study *accepted(const char *what, const perp_study_request *q)
{
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  perp_study_request with_kinds = *q;
  with_kinds.kinds = toy_kinds;
  ok(perp_study_read(&ctx, &with_kinds, &diag, &study) == PERP_OK && study != NULL, "%s", what);
  if (diag.text.s != NULL) printf("# %s\n", diag.text.s);
  perp_diag_free(&diag);
  return study;
}

#define HEAD "schema: perp-study/1\n"

static const char full[] =
    "schema: perp-study/1\n"
    "study: { name: toys, title: Toys, question: Why?, seed: 7 }\n"
    "n: 3\n"
    "grid:\n"
    "  h: [ { log2: [-1, -3] }, 1 ms, 0.001, { linear: [1 s, 2 s, 3] }, { log10: [-2, -3] } ]\n"
    "  stab:\n"
    "    - none\n"
    "    - \"baumgarte:alpha=[50, 200 1/s],passes=[1,2]\"\n"
    "    - post\n"
    "exclude:\n"
    "  - { where: 'stab == \"post\" and h > 0.9', reason: too slow }\n"
    "measure: { repeats: 2, order: sequential, clock: wall }\n"
    "limits: { timeout: 2 min, memory: 512MiB }\n"
    "metrics: { primary: err, record: [err, calls], series: { every: 2 ms, fields: [x] } }\n"
    "published:\n"
    "  - { where: 'stab == none', metric: err, value: 20 mm, source: \"figure 1\",\n"
    "      conditions: 'h <= 1 s' }\n"
    "claims:\n"
    "  - { text: small, expr: 'max(err, stab == post) < 1 m' }\n"
    "report: { plots: [convergence, \"stability-map(alpha*h,h)\"] }\n"
    "profiles:\n"
    "  short: { grid: { stab: [none] }, measure: { repeats: 1 } }\n"
    "  long: {}\n";

static void reads(void)
{
  perp_study *s = accepted("a study with everything is read; without a profile it takes short",
                           &(perp_study_request){ .file = "toy.yaml", .text = full });
  if (s == NULL) bail("no study");
  ok(strcmp(s->profile, "short") == 0 && s->n_axes == 1 && s->measure.repeats == 1,
     "short replaces the list of stab and leaves h");
  ok(perp_tree_get(s->root, "profiles") == NULL, "the effective study has no profiles");
  perp_study_free(s);

  s = accepted("profile long",
               &(perp_study_request){ .file = "toy.yaml", .text = full, .profile = "long" });
  ok(s->n_axes == 2 && s->axes[0].n == 8 && s->axes[1].n == 6,
     "2^-1 2^-2 2^-3, 1 ms (also as 0.001 and 10^-3), 1 1.5 2 s, 10^-2: 8 steps; 6 parts");
  const char *const steps[] = { "0.5", "0.25", "0.125", "0.001", "1", "1.5", "2", "0.01" };
  for (int i = 0; i < 8; i++) ok(strcmp(s->axes[0].value[i].text, steps[i]) == 0, "h %s", steps[i]);
  const char *const parts[] = { "none",
                                "baumgarte:alpha=50",
                                "baumgarte:alpha=50,passes=2",
                                "baumgarte:alpha=200",
                                "baumgarte:alpha=200,passes=2",
                                "post" };
  for (int i = 0; i < 6; i++)
    if (!ok(strcmp(s->axes[1].value[i].text, parts[i]) == 0, "brackets give %s", parts[i]))
      printf("# %s\n", s->axes[1].value[i].text);
  ok(s->option_columns.n == 2 && strcmp(s->option_columns.text[0], "stab.alpha") == 0 &&
         strcmp(s->option_columns.text[1], "stab.passes") == 0,
     "options in brackets become columns");
  ok(s->limits.timeout == 120 && s->limits.memory == 536870912, "limits with units");
  ok(!s->measure.interleaved && !s->measure.thread_cpu && s->metrics.every == 0.002, "measure");
  near(s->published[0].value, 0.02, 0, 1e-16, "20 mm");
  ok(strcmp(s->fixed[perp_kind_param(s->kind, "seed")]->text, "7") == 0,
     "cells take the seed of the study");

  /* the effective study reads back as the same study */
  char *text = NULL;
  size_t size = 0;
  FILE *f = open_memstream(&text, &size);
  perp_tree_write(s->root, f);
  fclose(f);
  perp_study *again = accepted("the effective study reads back",
                               &(perp_study_request){ .file = "again.yaml", .text = text });
  bool same = again->n_axes == 2 && again->axes[1].n == 6 && again->n_claims == 1;
  for (int i = 0; same && i < 6; i++)
    same = strcmp(again->axes[1].value[i].text, s->axes[1].value[i].text) == 0;
  ok(same, "... with the same grid");
  perp_study_free(again);
  perp_study_free(s);
  free(text);

  const char *sets[] = { "h=[1 ms, 2 ms]", "measure.repeats=5", "stab=post:alpha=[1,2]",
                         "study.title=\"A: B\"" };
  s = accepted("--set replaces, adds and finds what the grid varies",
               &(perp_study_request){
                   .file = "toy.yaml", .text = full, .profile = "", .set = sets, .n_set = 4 });
  ok(s->axes[0].n == 2 && s->axes[1].n == 2 && s->measure.repeats == 5 &&
         strcmp(s->title, "A: B") == 0 && s->profile == NULL,
     "... as it says");
  perp_study_free(s);
  s = accepted("JSON is a subset",
               &(perp_study_request){ .file = "toy.yaml",
                                      .text = "{\"schema\": \"perp-study/1\", \"h\": \"1 ms\"}" });
  ok(s->n_axes == 0 && strcmp(s->name, "toy") == 0, "the name comes from the file");
  perp_study_free(s);
  s = accepted("anchors and aliases",
               &(perp_study_request){ .file = "toy.yaml",
                                      .text = HEAD
                                      "grid: { h: &steps [1 s, 2 s], n: [1, 2] }\n"
                                      "profiles: { other: { grid: { h: *steps } } }\n" });
  perp_study_free(s);
}

static void refuses(void)
{
  refused("a duplicate key", HEAD "h: 1 s\nn: 2\nh: 2 s\n", "4:1",
          "the key 'h' occurs twice (first in line 2)", "    4 | h: 2 s");
  refused("an unknown key", HEAD "h: 1 s\ngird: {}\n", "3:1", "unknown key 'gird' in the study",
          "did you mean 'grid'?");
  refused("an unknown key in the grid", HEAD "grid: { h: [1 s], stap: [none] }\n", "2:19",
          "unknown key 'stap' in grid", "did you mean 'stab'?");
  refused("an unknown plug-in",
          HEAD "h: 1 s\ngrid:\n  stab:\n    - none\n    - baumgart:alpha=50\n", "6:7",
          "unknown stab 'baumgart'", "      |       ^ did you mean 'baumgarte'?");
  refused("an unknown option", HEAD "h: 1 s\nstab: \"baumgarte:passes=1,alhpa=50\"\n", "3:27",
          "baumgarte has no option 'alhpa'", "did you mean 'alpha'?");
  refused("a value outside its range", HEAD "h: 1 s\nstab: baumgarte:alpha=-4\n", "3:17",
          "baumgarte.alpha must be in [0, inf) 1/s: got -4", "");
  refused("the same inside of brackets", HEAD "h: 1 s\nstab: 'baumgarte:alpha=[1, -4]'\n", "3:18",
          "baumgarte.alpha must be in [0, inf) 1/s: got -4", "");
  refused("h = 0", HEAD "h: 0\n", "2:4", "h must be in (0, inf) s: got 0", "");
  refused("a wrong unit", HEAD "h: 1 kg\n", "2:4", "h: '1 kg': wrong unit 'kg'", "us");
  refused("NaN", HEAD "h: nan\n", "2:4", "h: 'nan' is not a number", "");
  refused("not a number", HEAD "h: fast\n", "2:4", "h: 'fast' is not a number", "");
  refused("n = 1.5", HEAD "h: 1 s\nn: 1.5\n", "3:4", "n must be an integer in [1, 1000]",
          "got 1.5");
  refused("a missing parameter", HEAD "n: 2\n", "1:1", "'h' is missing: step", "");
  refused("a parameter in two places", HEAD "h: 1 s\ngrid: { h: [1 s, 2 s] }\n", "2:4",
          "h is also set in the grid (line 3)", "");
  refused("an empty list", HEAD "grid: { h: [] }\n", "2:12", "h: the list is empty", "");
  refused("an empty value", HEAD "h:\n", "", "h has no value", "");
  refused("a nested list", HEAD "grid: { h: [[1 s]] }\n", "2:13", "h: a list inside a list", "");
  refused("an open bracket", HEAD "h: 1 s\nstab: 'post:alpha=[1, 2'\n", "3:19",
          "this bracket is not closed", "");
  refused("an empty item", HEAD "h: 1 s\nstab: 'post:alpha=[1,,2]'\n", "3:22",
          "an item of the list is empty", "");
  refused("a bad range", HEAD "grid: { h: [{ log3: [1, 2] }] }\n", "2:15", "unknown key 'log3'",
          "did you mean 'log2'?");
  refused("a range without end", HEAD "grid: { h: [{ log2: [1] }] }\n", "2:13", "a range is {", "");
  refused("a range of names", HEAD "h: 1 s\ngrid: { stab: { log2: [1, 2] } }\n", "3:15",
          "stab requires names, not a range", "");
  refused("no schema", "h: 1 s\n", "1:1", "the line 'schema: perp-study/1' is missing", "");
  refused("an unknown schema", "schema: perp-study/9\nh: 1 s\n", "1:9",
          "unknown schema 'perp-study/9'", "use perp-study/1");
  refused("an unknown kind", HEAD "kind: toi\nh: 1 s\n", "2:7", "unknown kind of study 'toi'",
          "did you mean 'toy'?");
  refused("a name with a slash", HEAD "study: { name: a/b }\nh: 1 s\n", "2:17",
          "the name of a study is used as a file name", "");
  refused("a negative seed", HEAD "study: { seed: -1 }\nh: 1 s\n", "2:16",
          "seed: '-1' is not a whole number", "");
  refused("a bad expression", HEAD "h: 1 s\nexclude:\n  - { where: 'stab == pst' }\n", "4:23",
          "unknown stab 'pst'", "did you mean 'post'?");
  refused("a metric in an exclude", HEAD "h: 1 s\nexclude:\n  - { where: 'err > 1' }\n", "4:15",
          "unknown column 'err'", "");
  refused("an exclude without where", HEAD "h: 1 s\nexclude:\n  - { reason: no }\n", "4:5",
          "the key 'where' is missing here", "");
  refused("an unknown metric", HEAD "h: 1 s\nmetrics: { primary: eror }\n", "3:21",
          "unknown metric 'eror'", "did you mean 'err'?");
  refused("a figure of what is not varied", HEAD "h: 1 s\nreport: { figure: { colour: stabb } }\n",
          "3:29", "unknown parameter 'stabb'", "did you mean 'stab'?");
  refused("a figure of no metric", HEAD "h: 1 s\nreport: { figure: { y: err.tip.mux } }\n", "3:24",
          "unknown metric 'err.tip.mux'", "(perp list metrics)");
  refused("an unknown plot", HEAD "h: 1 s\nreport: { plots: [convergance] }\n", "3:19",
          "unknown plot 'convergance'", "did you mean 'convergence'?");
  refused("repeats beyond an int", HEAD "h: 1 s\nmeasure: { repeats: 1e99 }\n", "3:21",
          "repeats must be in [0, 1000]: got 1e99", "");
  refused("a bad timeout", HEAD "h: 1 s\nlimits: { timeout: 5 }\n", "3:20",
          "timeout: '5': a duration needs a unit", "");
  refused("a bad memory limit", HEAD "h: 1 s\nlimits: { memory: 1 GoB }\n", "3:19",
          "memory: '1 GoB' is not a size", "");
  refused("an unknown clock", HEAD "h: 1 s\nmeasure: { clock: cpu-thread }\n", "3:19",
          "unknown clock 'cpu-thread'", "one of: thread-cpu, wall");
  refused("broken YAML", HEAD "h: [1 s\n", "", "toy.yaml:", "error: flow sequence");
  refused("a tab as indentation", HEAD "grid:\n\th: 1 s\n", "3:1", "tab", "");
  refused("a byte that is not UTF-8", HEAD "h: 1 s\n%: &a \xa6\n", "3:7",
          "byte 0xa6 is not valid UTF-8", "");
  refused("an empty file", "", "", "toy.yaml: the file is empty", "");
  refused("a list instead of a map", "- 1\n- 2\n", "1:1", "a study must be a map of key: value",
          "");
  refused("two documents", HEAD "h: 1 s\n---\nh: 2 s\n", "4:1", "a second document begins here",
          "");
  refused("an alias from nowhere", HEAD "h: *nowhere\n", "2:5", "this alias has no anchor", "");
  refused("a section that is no map", HEAD "h: 1 s\nmeasure: 3\n", "3:10",
          "measure must be a map of key: value", "");
  refused("a list that is none", HEAD "h: 1 s\nclaims: no\n", "3:9", "claims must be a list", "");

  perp_diag diag = { 0 };
  perp_study *s;
  const char *set[] = { "gird.h=1 s" };
  perp_study_request q = {
    .file = "toy.yaml", .text = full, .kinds = toy_kinds, .profile = "shrt"
  };
  ok(perp_study_read(&ctx, &q, &diag, &s) == PERP_ERR_OPTION &&
         strstr(diag.text.s, "has no profile 'shrt'") != NULL &&
         strstr(diag.text.s, "did you mean 'short'?") != NULL,
     "an unknown profile is an error of the command line");
  perp_diag_free(&diag);
  diag = (perp_diag){ 0 };
  q.profile = NULL;
  q.set = set;
  q.n_set = 1;
  ok(perp_study_read(&ctx, &q, &diag, &s) == PERP_ERR_OPTION &&
         strstr(diag.text.s, "unknown key 'gird'") != NULL,
     "so is an unknown key of --set");
  perp_diag_free(&diag);
  diag = (perp_diag){ 0 };
  set[0] = "h";
  ok(perp_study_read(&ctx, &q, &diag, &s) == PERP_ERR_OPTION &&
         strstr(diag.text.s, "expected key=value") != NULL,
     "and a --set without =");
  perp_diag_free(&diag);
  diag = (perp_diag){ 0 };
  q = (perp_study_request){ .file = "/nonexistent/x.yaml", .kinds = toy_kinds };
  ok(perp_study_read(&ctx, &q, &diag, &s) == PERP_ERR_IO &&
         strstr(diag.text.s, "cannot read /nonexistent/x.yaml") != NULL,
     "a file that is not there");
  perp_diag_free(&diag);
}

int main(void)
{
  perp_ctx_init(&ctx);
  perp_register(&ctx, toy_plugins);
  reads();
  refuses();
  return tap_done();
}
