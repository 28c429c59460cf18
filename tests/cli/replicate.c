/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A study of statements of documents, as a user runs it: counts on the terminal, tables, page, and
 * a row that the runs do not confirm.  What is refused has its place in the file. */
#include "tests/cli/program.h"

static const char study[] =
    "schema: perp-study/1\n"
    "study: { name: said, question: Is it so? }\n"
    "h: 1 ms\n"
    "t_end: 0.1 s\n"
    "formulation: velocity\n"
    "runs:\n"
    "  - { name: held, scene: \"chain:links=2\", stab: \"post:velocity=true\" }\n"
    "  - { name: loose, scene: \"chain:links=2\", stab: none }\n"
    "  - { name: tuned, scene: \"chain:links=2\", stab: \"baumgarte:alpha=[50, 200]\", h: [1 ms, 2 "
    "ms] }\n"
    "metrics: { primary: drift.pos.max, record: [drift.pos.max] }\n"
    "answer: { claims: all }\n"
    "replicate:\n"
    "  papers: { a: \"A 1999, a paper\", b: \"B 2000, another\" }\n"
    "  rows:\n"
    "    - { paper: a, at: table 1, states: \"joints hold, | and so on\", printed: 1 ms, below: "
    "1e-9 m, unit: m,\n"
    "        measured: 'max(drift.pos.max, run == held)', verdict: reproduced, twin: "
    "'max(drift.pos.max, run == loose)' }\n"
    "    - { paper: a, at: table 2, states: joints drift by 1 m, printed: 1 ms, value: 1 m, unit: "
    "m, factor: 2,\n"
    "        measured: 'max(drift.pos.max, run == loose)', verdict: contradicted,\n"
    "        evidence: 'max(drift.pos.max, run == loose) < 1 mm', twin: 'max(drift.pos.max, run == "
    "loose) > 1 mm' }\n"
    "    - { paper: b, at: figure 3, states: joints drift a little, printed: nothing, value: 0.02 "
    "mm, unit: m, factor: 1.1,\n"
    "        missing: the step, interval: ['min(drift.pos.max, run == tuned)', 'max(drift.pos.max, "
    "run == tuned)'],\n"
    "        verdict: undetermined, twin: 'max(drift.pos.max, run == held)' }\n"
    "    - { paper: b, at: figure 4, states: gears turn, printed: a picture, verdict: "
    "undetermined, missing: gears }\n"
    "    - { paper: b, at: figure 5, states: joints hold, printed: nothing, below: 1 km, unit: m,\n"
    "        measured: 'max(drift.pos.max, run == held)', verdict: reproduced, twin: "
    "'max(drift.pos.max, run == loose)' }\n";

static void whole_run(void)
{
  write_file("said.yaml", study);
  ok(run("check said.yaml --quick") == 0 && strstr(out, "6 combinations: 6 runs") != NULL,
     "the study is valid, with the runs of its list");
  /* a row that is not confirmed is like a refuted claim: the run did what was asked */
  ok(run("run said.yaml -o said") == 0, "it runs: %s", err);
  static const char *const due[] = {
    "A 1999, a paper: 1 reproduced, 1 contradicted, 0 undetermined, 0 refuted",
    "B 2000, another: 0 reproduced, 0 contradicted, 2 undetermined (1 not run), 1\nrefuted",
    "refuted: figure 5",
    "twin passes too",
    "All documents: 1 reproduced, 1 contradicted, 2 undetermined (1 not run), 1",
    "Of 5 statements:"
  };
  for (size_t i = 0; i < sizeof due / sizeof *due; i++)
    ok(strstr(out, due[i]) != NULL, "it prints: %s", due[i]);
  bool narrow = true;
  for (const char *s = out; *s != '\0';) {
    const size_t n = strcspn(s, "\n");
    if (n > 80 && strstr(out, "Statements") != NULL && s > strstr(out, "Statements") &&
        s < strstr(out, "All documents"))
      narrow = false;
    s += n + (s[n] == '\n');
  }
  ok(narrow, "in 80 columns");
}

static void tables(void)
{
  char *csv = perp_read_file("said/derived/replicate.csv", NULL),
       *md = perp_read_file("said/derived/replicate.md", NULL),
       *page = perp_read_file("said/report.html", NULL);
  ok(csv != NULL && strncmp(csv, "paper,at,states,unit,x,stated,", 30) == 0 &&
         strstr(csv, "\na,table 1,\"joints hold, | and so on\",m,,") != NULL &&
         strstr(csv, ",reproduced,refuted,") != NULL &&
         strstr(csv, "\nb,figure 4,gears turn,") != NULL,
     "derived/replicate.csv has a line for each");
  ok(md != NULL && strstr(md, "| all | 5 | 1 | 1 | 2 | 1 |") != NULL &&
         strstr(md, "joints hold, \\| and so on") != NULL,
     "derived/replicate.md has the counts, and borders only where they belong");
  ok(page != NULL && strstr(page, "\"replicate\": [{") != NULL &&
         strstr(page, "\"confirmed\": false, \"declared\": \"reproduced\", \"why\": \"") != NULL,
     "the page has a section");
  free(csv);
  free(md);
  free(page);
  json_t *j = json_load_file("said/derived/answers.json", 0, NULL);
  const json_t *all = json_object_get(j, "replicate"), *rows = json_object_get(all, "rows");
  ok(json_array_size(rows) == 5 && json_array_size(json_object_get(all, "papers")) == 2 &&
         json_is_false(json_object_get(json_array_get(rows, 4), "confirmed")) &&
         json_is_true(json_object_get(json_array_get(rows, 0), "confirmed")),
     "derived/answers.json has the rows");
  json_decref(j);
}

static void refusals(void)
{
  write_file("no.yaml",
             "schema: perp-study/1\nscene: pendulum\nh: [1 ms]\n"
             "published: [{ where: 'h > 0', metric: err.q.max, value: 1, source: a book }]\n");
  refuses(3, "check no.yaml", "no.yaml:4:13: error: the key 'conditions' is missing");
  write_file("no.yaml", "schema: perp-study/1\nscene: pendulum\nh: [1 ms]\n"
                        "claims: [{ text: x, expr: 'max(err.q.max) < 1', paper: a book }]\n");
  refuses(3, "check no.yaml", "no.yaml:4:10: error: the key 'conditions' is missing");
  write_file("no.yaml", "schema: perp-study/1\nscene: pendulum\nh: [1 ms]\n"
                        "claims: [{ text: x, expr: 'max(err.q.max) < 1', paper: a book, "
                        "conditions: 'h == 2 ms' }]\n");
  refuses(3, "check no.yaml", "no.yaml:4:10: error: the conditions of the source hold in no run");
  refuses(3, "run no.yaml", "no.yaml:4:10: error: the conditions of the source hold in no run");
}

/* Results of a perp that did not ask for conditions can still be read; the same study cannot be
 * run. */
static void older_results(void)
{
  static const char head[] =
      "schema: perp-study/1\nscene: pendulum\nt_end: 0.1 s\nh: [2 ms, 1 ms]\n"
      "published: [{ where: 'h > 0', metric: err.q.max, value: 1, source: a book";
  char *now = perp_xprintf("%s, conditions: 'h > 0' }]\n", head),
       *then = perp_xprintf("%s }]\n", head);
  write_file("old.yaml", now);
  ok(run("run old.yaml -o old --no-report") == 0, "a study with conditions runs");
  write_file("old/study.yaml", then);
  ok(run("answer old") == 0 && run("report old") == 0, "results without them are read: %s", err);
  write_file("old.yaml", then);
  refuses(3, "check old.yaml", "the key 'conditions' is missing");
  free(now);
  free(then);
}

int main(void)
{
  program_open();
  whole_run();
  tables();
  refusals();
  older_results();
  program_close();
  return tap_done();
}
