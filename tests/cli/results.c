/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is done with results: shards and merge, explain, rerun, compare, export, ref. */
#include "tests/cli/program.h"

#include <sys/stat.h>

static const char study[] =
    "schema: perp-study/1\n"
    "study: { name: small, title: A small study }\n"
    "scene: pendulum\n"
    "t_end: 0.1 s\n"
    "formulation: acceleration\n"
    "grid:\n"
    "  h: [4 ms, 2 ms, 1 ms]\n"
    "  ode: [rk4, midpoint, euler]\n"
    "  stab: [none, \"baumgarte:alpha=[20, 40]\"]\n"
    "exclude: [{ where: 'ode == euler and stab.alpha == 40', reason: enough }]\n"
    "measure: { repeats: 2 }\n"
    "metrics: { primary: err.q.max, record: [err.q.max, drift.pos.max, steps] }\n";

/* ---- journals rewritten: the same run, with something changed in it ---- */

struct change {
  const char *cells; /* substring of the plan line of the cells that change: "\"ode\":\"euler\""; ""
                        = all */
  const char *metric;
  double factor;
  const char *status; /* NULL: as it was */
  bool busy;          /* the made-up machine has other work */
  uint64_t clock;     /* not 0: times are those of a made-up clock with this seed, 3 % of scatter */
};

/* Copy the folder `from` to `to` with one change in the cells. */
static void changed_copy(const char *from, const char *to, struct change c)
{
  char *command = perp_xprintf("rm -rf %s && cp -r %s %s", to, from, to);
  if (system(command) != 0) bail("%s", command);
  free(command);
  command = perp_xprintf("%s/plan.jsonl", to);
  char *plan = perp_read_file(command, NULL);
  free(command);
  command = perp_xprintf("cat %s/journal/*.jsonl > all.txt && rm %s/journal/*", to, to);
  if (system(command) != 0) bail("%s", command);
  free(command);
  char *journal = perp_read_file("all.txt", NULL);
  perp_text out_text = { 0 };
  perp_rng *rng = perp_rng_create(c.clock);
  for (char *s = journal; *s != '\0';) {
    size_t n = strcspn(s, "\n");
    json_t *line = json_loadb(s, n, 0, NULL);
    const char *id = json_string_value(json_object_get(line, "cell"));
    char *at = id != NULL ? strstr(plan, id) : NULL;
    if (at != NULL) {
      char *cell = perp_xprintf("%.*s", (int)strcspn(at, "\n"), at);
      json_t *values = json_object_get(line, "values"), *v;
      bool hit = strstr(cell, c.cells) != NULL;
      /* what a machine under load measures is no basis of a test */
      if (c.clock != 0 && json_object_get(values, "time.step_us") != NULL)
        json_object_set_new(values, "time.step_us",
                            json_real((double)(1 + id[0] % 16) * perp_rng_uniform(rng, 1, 1.03)));
      if (c.clock != 0) json_object_del(line, "pace_s");
      v = json_object_get(values, c.metric != NULL ? c.metric : "");
      if (c.clock != 0 && json_object_get(line, "cpu_s") != NULL) /* quiet, or busy: wall / cpu */
        json_object_set_new(
            line, "wall_s",
            json_real((c.busy ? 2 : 1) * json_number_value(json_object_get(line, "cpu_s"))));
      if (hit && json_is_number(v))
        json_object_set_new(values, c.metric, json_real(c.factor * json_number_value(v)));
      if (hit && c.status != NULL &&
          strcmp(json_string_value(json_object_get(line, "event")), "cell") == 0)
        json_object_set_new(line, "status", json_string(c.status));
      free(cell);
    }
    char *text = json_dumps(line, JSON_REAL_PRECISION(17));
    perp_text_add(&out_text, "%s\n", text);
    free(text);
    json_decref(line);
    s += n + (s[n] == '\n');
  }
  char *path = perp_xprintf("%s/journal/one.jsonl", to);
  write_file(path, out_text.s);
  perp_rng_destroy(rng);
  free(path);
  perp_text_free(&out_text);
  free(journal);
  free(plan);
}

/* ---- shards, merge ---- */

static void test_merge(void)
{
  write_file("small.yaml", study);
  int status = run("run small.yaml -o whole -q --no-report -j 2");
  ok(status == 0, "the whole study runs");
  says("plan small.yaml --shards 2", "perp run small.yaml --shard 2/2 -o small-2");
  json_t *j = json_of("plan small.yaml --shards 3 --json", 0);
  int cells = 0;
  double work = 0;
  for (size_t i = 0; i < json_array_size(j); i++) {
    cells += (int)json_integer_value(json_object_get(json_array_get(j, i), "cells"));
    work += json_number_value(json_object_get(json_array_get(j, i), "work"));
  }
  ok(json_array_size(j) == 3 && cells == 24 && fabs(work - 1) < 1e-12,
     "three shards have all 24 cells and all work");
  json_decref(j);
  says("check small.yaml --pilot", " on one core, ");
  refuses(2, "plan small.yaml --shards 0", "--shards: '0' is not a whole number");
  refuses(2, "run small.yaml --shard 3/2", "--shard must be k/n");

  ok(run("run small.yaml -o part1 -q --shard 1/2") == 0 &&
         run("run small.yaml -o part2 -q --shard 2/2") == 0,
     "two shards run");
  says("merge part1 part2 -o both", "24 runs from 2 folders in both");
  ok(same_file("whole/derived/cells.csv", "both/derived/cells.csv"),
     "merged, they give the same cells.csv, byte for byte");
  ok(perp_exists("both/report.html"), "and a report");
  status = run("run small.yaml -o both --no-report");
  ok(status == 0 && strstr(err, "24 already finished, 0 to run") != NULL,
     "nothing is left to run there");
  ok(run("report part1 part2 -o page/parts.html --figs svg") == 0 &&
         file_has("page/parts.html", "\"counts\": {\"ok\": 24}") &&
         perp_exists("page/figs/work-precision.svg") &&
         file_has("page/parts.json", "\"figs\": \"figs\"") &&
         file_has("page/parts.json", "{\"id\": \"work-precision\", \"section\": \"curves\""),
     "one page of two folders, its figures beside it");
  ok(run("report part1 both -o page/some.html") == 0 &&
         strstr(err, "12 run(s) are in more than one of the 2 folders") != NULL,
     "cells that both have are counted");
  ok(run("report both -o page/both.html --figs svg") == 0 &&
         file_has("page/both.html", "\"figs\": \"../both/figs\""),
     "a page elsewhere finds its figures");
  setenv("PERP_REPORT_JS", "", 1);
  ok(run("report both -o page/json.html") == 5 && strcmp(out, "page/json.json\n") == 0 &&
         strstr(err, "no page was written") != NULL && !perp_exists("page/json.html") &&
         perp_exists("page/json.json"),
     "without the script of the pages its data, and how to get the page");
  ok(run("run small.yaml -o bare --set measure.repeats=0 -q") == 0 &&
         strstr(err, "no page was written") != NULL && perp_exists("bare/report.json"),
     "... a study runs as ever");
  unsetenv("PERP_REPORT_JS");
  refuses(2, "report both --figs svg,bmp", "--figs: unknown format 'bmp'");
  refuses(2, "run small.yaml -o json --progress jsn", "did you mean 'json'?");
  ok(run("run small.yaml -o json --set measure.repeats=0 --no-report --progress json") == 0,
     "progress for programs");
  bool objects = err[0] != '\0', last = false;
  for (const char *s = err; *s != '\0'; s += strcspn(s, "\n") + 1) {
    json_t *o = json_loadb(s, strcspn(s, "\n"), 0, NULL);
    objects = objects && o != NULL && json_is_number(json_object_get(o, "left_s"));
    last = json_integer_value(json_object_get(o, "done")) ==
           json_integer_value(json_object_get(o, "total"));
    json_decref(o);
  }
  ok(objects && last, "one object a line, the last one when all is done");
  refuses(2, "report part1 part2", "several folders need an output file: -o FILE.html");
  refuses(2, "report part1 part1 -o x.html", "part1 is named more than once");
  ok(run("run small.yaml -o hash1 --set measure.repeats=0 -q --shard hash:1/2") == 0 &&
         run("run small.yaml -o hash2 --set measure.repeats=0 -q --shard hash:2/2") == 0 &&
         run("merge hash2 hash1 -o both2 --no-report") == 0 &&
         same_file("whole/derived/cells.csv", "both2/derived/cells.csv"),
     "so do shards by id, in any order");

  status = run("merge part1 -o half --no-report");
  ok(status == 7 && strstr(out, "12 missing") != NULL &&
         strstr(err, "perp run half/study.yaml -o half") != NULL,
     "one shard alone: status 7, and how to go on");
  status = run("run half/study.yaml -o half -q --no-report");
  ok(status == 0 && same_file("whole/derived/cells.csv", "half/derived/cells.csv"),
     "going on completes it");
  says("merge part1 whole part2 -o three --no-report", "24 of them computed more than once");
  ok(same_file("whole/derived/cells.csv", "three/derived/cells.csv"),
     "duplicates that agree change nothing");
  changed_copy("part1", "liar",
               (struct change){ "\"ode\": \"euler\"", "err.q.max", 1 + 1e-15, NULL, false, 0 });
  refuses(3, "merge part1 liar part2 -o no", "error: ");
  ok(strstr(err, "err.q.max is ") != NULL && !perp_exists("no/plan.jsonl"),
     "duplicates that differ by one unit are refused, with both figures");
  ok(run("merge part1 liar part2 -o first --keep-first --no-report") == 0 &&
         same_file("whole/derived/cells.csv", "first/derived/cells.csv"),
     "--keep-first takes the first");
  refuses(2, "merge part1 part2 -o both", "both contains results already");
  refuses(2, "merge part1 part1 -o no", "part1 is named more than once");
  refuses(2, "merge part1 part2", "use -o DIR");
  ok(run("run small.yaml -o other -q --no-report --set t_end=0.2s --set measure.repeats=0") == 0,
     "another study");
  refuses(3, "merge part1 other -o no", "are not parts of one run");
}

/* ---- figures that gnuplot does not draw ---- */

/* `run` with a gnuplot of our own before the real one on PATH. */
static int run_with_gnuplot(const char *script, const char *words)
{
  char *path = perp_xstrdup(getenv("PATH")),
       *before = perp_xprintf("%s/fake:%s", program_dir, path);
  char *text = perp_xprintf("#!/bin/sh\nPATH='%s'\n%s\n", path, script);
  write_file("fake/gnuplot", text);
  if (chmod("fake/gnuplot", 0755) != 0) bail("no gnuplot of our own");
  setenv("PATH", before, 1);
  int status = run(words);
  setenv("PATH", path, 1);
  free(path);
  free(before);
  free(text);
  return status;
}

static void test_gnuplot(void)
{
  static const char fails[] =
      "case \"$*\" in *work-precision*) echo 'x.gp line 1: warning: odd' >&2\n"
      "  printf '\\nset bad\\n    ^\\n\"x.gp\" line 7: no such option\\n\\n' >&2; exit 1 ;; esac\n"
      "exec gnuplot \"$@\"";
  if (mkdir("fake", 0777) != 0) bail("no folder");
  int status = run_with_gnuplot(fails, "report whole -o page/fails.html --figs svg");
  ok(status == 5 && strcmp(out, "page/fails.html\n") == 0 &&
         strstr(err, "work-precision") != NULL &&
         strstr(err, "\"x.gp\" line 7: no such option") != NULL && strstr(err, "odd") == NULL &&
         strstr(err, "convergence-1") == NULL,
     "a figure that gnuplot refuses is named with the reason: %s", err);
  ok(file_has("page/fails.html", "\"counts\": {\"ok\": 24}") &&
         file_has("page/fails.html", "{\"id\": \"convergence-1\"") &&
         !file_has("page/fails.html", "{\"id\": \"work-precision\"") &&
         file_has("page/fails.html", "\"undrawn\": \"work-precision: ") &&
         file_has("page/fails.html", "</html>"),
     "the rest of the report is there");
  status = run_with_gnuplot("exit 0", "report whole -o page/none.html --figs svg");
  ok(status == 5 && strstr(err, "convergence-1") != NULL && strstr(err, "work-precision") != NULL,
     "a gnuplot that writes nothing: %s", err);
  status = run_with_gnuplot("kill -SEGV $$", "report whole -o page/none.html --figs svg");
  ok(status == 5 && strstr(err, "signal 11") != NULL, "a gnuplot that crashes: %s", err);
  ok(run("report whole -o page/whole.html --figs svg") == 0 && err[0] == '\0',
     "with gnuplot itself all is drawn");
}

/* ---- explain, rerun ---- */

static void test_explain(void)
{
  run("plan small.yaml");
  char *id = perp_xprintf("%.16s", out),
       *words = perp_xprintf("explain small.yaml %s -o whole", id);
  says(words, "perp run would keep it: it ended as ok in attempt 1");
  ok(strstr(out, "  ode            rk4") != NULL, "explain lists what the id is made of");
  free(words);
  words = perp_xprintf("explain small.yaml %.12s", id);
  says(words, "perp run would run it: there are no results yet");
  free(words);
  says("explain small.yaml 'ode == euler and h == 4 ms' -o part1", "run   h=0.004 ode=euler stab=");
  says("explain small.yaml 'ode == euler and h == 4 ms' -o part1", "keep  h=0.004 ode=euler stab=");
  says("explain small.yaml 'h == 1 ms' -o whole --set measure.repeats=6", "keep");
  int status = run("explain small.yaml 'ode == euler and stab.alpha == 40' -o whole");
  ok(status == 4 && strstr(out, "enough") != NULL,
     "an excluded combination: status 4 and the reason");
  refuses(2, "explain small.yaml 'ood == rk4'", "unknown column 'ood'");
  refuses(2, "explain small.yaml 0123456789abcdef", "no run has an id");

  words = perp_xprintf("rerun whole %s", id);
  says(words, "the same results to the last bit");
  free(words);
  words = perp_xprintf("rerun whole %s --json --here", id);
  json_t *j = json_of(words, 0);
  ok(json_is_true(json_object_get(j, "same")), "rerun --json --here");
  json_decref(j);
  free(words);
  changed_copy("whole", "liar2", (struct change){ "", "drift.pos.max", 1.5, NULL, false, 0 });
  words = perp_xprintf("rerun liar2 %s", id);
  status = run(words);
  ok(status == 6 && strstr(out, "DIFFERS") != NULL, "results that do not come again: status 6");
  free(words);
  write_file("one.yaml",
             "schema: perp-study/1\nkind: lcp\nstudy: { name: one }\nproblems: { generate: [{ "
             "family: [spd], n: 8 }] }\n"
             "grid: { lcp: [dantzig] }\naccept: { targets: [1e-8] }\nmeasure: { repeats: 0 }\n");
  write_file("falls.yaml",
             "schema: perp-study/1\nstudy: { name: falls }\nscene: 'stack:boxes=2'\nt_end: 0.1 s\n"
             "lcp: dantzig\nmeasure: { repeats: 0 }\n");
  ok(run("run one.yaml -o one -q --no-report") == 0 &&
         run("run falls.yaml -o falls -q --no-report") == 0,
     "two small studies");
  run("plan one.yaml");
  words = perp_xprintf("rerun one %.16s --dump-lcp one.lcp", out);
  ok(run(words) == 0 && perp_exists("one.lcp") && run("lcp solve one.lcp --lcp dantzig") == 0,
     "--dump-lcp writes the problem of a cell");
  free(words);
  run("plan falls.yaml");
  words = perp_xprintf("rerun falls %.16s --dump-lcp problems", out);
  ok(run(words) == 0 && system("ls problems/*.lcp >/dev/null 2>&1") == 0,
     "--dump-lcp writes the problems that a simulation meets");
  free(words);
  refuses(2, "rerun whole zz", "no run has an id that begins with 'zz'");
  free(id);
}

/* ---- compare ---- */

static void finds(const char *words, int status, const char *class, int at_least, const char *what)
{
  json_t *j = json_of(words, status);
  int n = (int)json_integer_value(json_object_get(json_object_get(j, "regressions"), class));
  if (!ok(at_least > 0 ? n >= at_least : n == 0, "%s: %d regression(s) in %s", what, n, class))
    complain();
  json_decref(j);
}

static void test_compare(void)
{
  finds("compare whole whole --json", 0, "time", 0, "a run against itself");
  says("compare --as-recorded whole both", "results: 0 of 24 runs differ");
  changed_copy("whole", "timed", (struct change){ "", NULL, 1, NULL, false, 1 });
  changed_copy("whole", "again", (struct change){ "", NULL, 1, NULL, false, 2 });
  finds("compare --as-recorded timed again --json", 0, "time", 0, "a second run of the same build");
  changed_copy("whole", "slow",
               (struct change){ "\"ode\": \"midpoint\"", "time.step_us", 1.2, NULL, false, 3 });
  finds("compare --as-recorded timed slow --json", 6, "time", 1, "a solver 20 % slower");
  ok(strstr(out, "\"ode = midpoint\"") != NULL && strstr(out, "\"ode = rk4\"") == NULL &&
         strstr(out, "\"where\": \"h =") == NULL,
     "... and it is named, no other");
  /* a machine that is half as slow again in the second run, and busy */
  changed_copy("again", "busy", (struct change){ "", "time.step_us", 1.5, NULL, true, 5 });
  finds("compare --as-recorded timed busy --json", 0, "time", 0, "one build on a busy machine");
  changed_copy("busy", "busier",
               (struct change){ "\"ode\": \"midpoint\"", "time.step_us", 1.25, NULL, true, 6 });
  finds("compare --as-recorded busy busier --json", 6, "time", 1, "a solver 25 % slower there");
  ok(strstr(out, "\"ode = midpoint\"") != NULL && strstr(out, "\"ode = rk4\"") == NULL,
     "... is named, no other");
  finds("compare --as-recorded slow timed --json", 0, "time", 0, "20 % faster");
  ok(strstr(out, "\"worse\": false") != NULL, "... is an improvement");
  finds("compare --as-recorded timed slow --json --fail-on accuracy", 0, "accuracy", 0,
        "--fail-on leaves time out");
  finds("compare --as-recorded timed slow --json --time-tol 30%", 0, "time", 0,
        "a tolerance of 30 %");
  changed_copy("whole", "slow5",
               (struct change){ "\"ode\": \"midpoint\"", "time.step_us", 1.05, NULL, false, 4 });
  finds("compare --as-recorded timed slow5 --json", 0, "time", 0, "5 % slower");
  changed_copy("whole", "drifts",
               (struct change){ "\"ode\": \"rk4\"", "drift.pos.max", 1.1, NULL, false, 0 });
  finds("compare --as-recorded whole drifts --json", 6, "accuracy", 3, "a drift worsened by 10 %");
  finds("compare --as-recorded drifts whole --json", 0, "accuracy", 0, "a drift improved");
  changed_copy("whole", "drifts2",
               (struct change){ "\"ode\": \"rk4\"", "drift.pos.max", 1.02, NULL, false, 0 });
  finds("compare --as-recorded whole drifts2 --json", 0, "accuracy", 0, "a drift worsened by 2 %");
  finds("compare --as-recorded whole drifts2 --json --accuracy-tol 1%", 6, "accuracy", 3,
        "... with a tolerance of 1 %");
  changed_copy("whole", "fails", (struct change){ "\"h\": 0.004,", NULL, 1, "diverged", false, 0 });
  finds("compare --as-recorded whole fails --json", 6, "status", 8, "cells that diverge now");
  finds("compare --as-recorded fails whole --json", 0, "status", 0, "cells that end well now");
  refuses(2, "compare --as-recorded whole slow --fail-on tiem", "did you mean 'time'?");
  refuses(2, "compare --as-recorded whole slow --time-tol much", "--time-tol must be a number");
  refuses(2, "compare whole nowhere", "not a results folder");
  refuses(4, "compare whole other", "no finished run in common");
  says("compare --as-recorded timed slow5", "24 runs in both");
}

/* ---- KKT systems as files ---- */

enum { KKT = 4 }; /* rows of a pendulum in the plane: three coordinates, one rod */

/* A Matrix Market file, dense: a symmetric one has its other triangle filled in.  Returns the
 * columns. */
static int read_matrix(const char *path, double A[KKT][KKT])
{
  char *text = perp_read_file(path, NULL), *s = text;
  int rows = 0, columns = 0, entries = 0;
  if (text == NULL) return 0;
  bool symmetric = strstr(text, "coordinate real symmetric\n") != NULL;
  for (int i = 0; i < KKT * KKT; i++) A[i / KKT][i % KKT] = 0;
  while (*s == '%') s += strcspn(s, "\n") + 1;
  int read = sscanf(s, symmetric ? "%d %d %d" : "%d %d", &rows, &columns, &entries);
  s += strcspn(s, "\n") + 1;
  bool good = read == 2 + symmetric && rows == KKT && columns <= KKT;
  for (int k = 0; good && k < (symmetric ? entries : rows * columns); k++) {
    int i = k % KKT + 1, j = k / KKT + 1;
    double v = 0;
    good = symmetric ? sscanf(s, "%d %d %lf", &i, &j, &v) == 3 && 1 <= j && j <= i && i <= KKT
                     : sscanf(s, "%lf", &v) == 1;
    if (!good) break;
    A[i - 1][j - 1] = v;
    if (symmetric) A[j - 1][i - 1] = v;
    s += strcspn(s, "\n") + 1;
  }
  good = good && *s == '\0';
  free(text);
  return good ? columns : 0;
}

/* A scene without joints has no constraint error: its figure is none, and the page says why in a
 * sentence. */
static void test_empty_figure(void)
{
  write_file("loose.yaml", "schema: perp-study/1\nstudy: { name: loose }\nscene: 'stack:boxes=2'\n"
                           "t_end: 0.02 s\nformulation: velocity\node: symplectic-euler\n"
                           "grid: { h: [2 ms, 1 ms] }\n"
                           "metrics: { primary: energy.rel.max,\n"
                           "           series: { every: 4 ms, fields: [drift.pos, energy] } }\n");
  ok(run("run loose.yaml -o loose -q --no-report") == 0 && run("report loose --figs svg") == 0 &&
         file_has("loose/report.html", "\"id\": \"drift-1\"") &&
         file_has("loose/report.html",
                  "\"empty\": \"all its values are exactly 0 and its axis is") &&
         file_has("loose/report.html", "\"id\": \"energy-1\""),
     "a figure without a point says why");
  ok(file_has("loose/report.html", "\"undrawn\": \"\"") &&
         !file_has("loose/report.html", "has no points"),
     "... and is no warning");
}

static void test_dump_kkt(void)
{
  write_file("rod.yaml",
             "schema: perp-study/1\nstudy: { name: rod, title: Rod }\n"
             "scene: 'pendulum:amplitude=30deg'\nt_end: 0.02 s\nformulation: acceleration\n"
             "ode: rk4\nstab: none\ngrid: { h: [2 ms], kkt: [kkt-dense, schur-dense] }\n"
             "metrics: { primary: err.q.max }\n");
  ok(run("run rod.yaml -o rod -q --no-report") == 0 && run("plan rod.yaml") == 0, "two cells");
  char *words = perp_xprintf("rerun rod %.16s --dump-kkt kkt", out);
  double K[KKT][KKT], b[KKT][KKT], x[KKT][KKT];
  says(words, "step000008-4.mtx");
  free(words);
  int solves = read_matrix("kkt/step000001-1-b.mtx", b);
  ok(read_matrix("kkt/step000001-1.mtx", K) == KKT &&
         read_matrix("kkt/step000001-1-x.mtx", x) == solves && solves > 0,
     "matrix, right-hand sides and answers of the first system read as Matrix Market");
  double worst = 0;
  for (int k = 0; k < solves; k++)
    for (int i = 0; i < KKT; i++) {
      double r = -b[i][k];
      for (int j = 0; j < KKT; j++) r += K[i][j] * x[j][k];
      worst = fmax(worst, fabs(r));
    }
  ok(worst < 1e-13, "K x = b to %.1e", worst);
  /* at rest: the rod carries m g cos(phi), the mass falls along the circle with g sin(phi) */
  ok(fabs(hypot(x[0][0], x[1][0]) - 9.81 * 0.5) < 1e-12, "|a| = g sin(30 deg)");
  ok(fabs(fabs(x[3][0]) - 9.81 * sqrt(0.75)) < 1e-12, "|lambda| = m g cos(30 deg)");
  ok(fabs(hypot(K[3][0], K[3][1]) - 1) < 1e-15, "J is the direction of the rod");
  ok(perp_exists("kkt/step000010-4.mtx") && !perp_exists("kkt/step000003-1.mtx"),
     "steps 1, 2, 4, 8 and the last system");
  refuses(2, "rerun rod 0 --dump-kkt kkt --steps x", "steps must be all");
}

/* ---- export, ref ---- */

static int lines(const char *s)
{
  int n = 0;
  for (; *s != '\0'; s++) n += *s == '\n';
  return n;
}

static void test_export(void)
{
  says("export whole --to csv", "cell,status,cause,problems,unsolved,share,partial,reached,scene,");
  ok(lines(out) == 25 && strstr(out, "time.step_us.median") != NULL,
     "csv: a head and 24 cells, with times");
  says("export whole --to jsonl", "\"metrics\": {");
  json_t *j = json_loadb(out, strcspn(out, "\n"), 0, NULL);
  ok(lines(out) == 24 &&
         json_array_size(json_object_get(json_object_get(j, "time"), "time.step_us")) == 2 &&
         json_number_value(json_object_get(json_object_get(j, "parameters"), "h")) == 0.004,
     "jsonl: one cell a line, numbers as numbers, all rounds");
  json_decref(j);
  ok(run("export whole --to gnuplot -o x.dat") == 0 && file_has("x.dat", "\"err.q.max\""),
     "gnuplot: a file with named columns");
  if (system("command -v gnuplot >/dev/null") == 0)
    ok(system("gnuplot -e 'set terminal dumb; set key autotitle columnhead; plot \"x.dat\" using "
              "(column(\"h\")):(column(\"err.q.max\"))' "
              ">plot.txt 2>&1") == 0 &&
           !file_has("plot.txt", "warning"),
       "gnuplot reads it");
  else
    skip("no gnuplot", "gnuplot reads it");
  int status = run("export whole --to hdf5 -o x.h5");
  if (status == 1 && strstr(err, "without HDF5") != NULL)
    skip("built without HDF5", "hdf5");
  else {
    size_t bytes = 0;
    char *file = perp_read_file("x.h5", &bytes);
    ok(status == 0 && bytes > 2000 && memcmp(file, "\211HDF", 4) == 0, "hdf5: a file of %zu bytes",
       bytes);
    free(file);
  }
  refuses(2, "export whole", "--to is missing");
  refuses(2, "export whole --to cvs", "did you mean 'csv'?");
  refuses(2, "export whole --to hdf5", "needs a file: -o FILE");
  says("ref chain6-stab", "chain: agree: reduced");
  ok(run("ref chain6-stab --below 1e-20") == 8 && strstr(out, "DISAGREE") != NULL,
     "ref: disagreement is status 8");
  json_decref(json_of("ref small.yaml --json", 0));
  write_file("refs.yaml",
             "schema: perp-study/1\nstudy: { name: refs }\nscene: carousel\nt_end: 0.1 s\n"
             "ode: rk4\ngrid: { h: [2 ms] }\n"
             "reference: { method: reduced, agree: { with: extrapolation, below: 1e-10 } }\n");
  says("ref refs.yaml", "agree: reduced coordinates, gsl:rk8pd:tol=1e-13 against extrapolation");
  ok(strstr(out, "kept") == NULL && run("run refs.yaml -q --no-report") == 0 &&
         file_has("results/refs/reference.json", "\"agree\": true"),
     "two ways to the same motion, without a closed form");
  says("ref refs.yaml", "(stored by an earlier run; --recompute");
  ok(run("ref refs.yaml --recompute") == 0 && strstr(out, "kept") == NULL, "--recompute");
  ok(run("ref refs.yaml --below 1e-30") == 8, "what is kept is judged anew");
  says("ref lcp-compare", "need no references");
  refuses(2, "ref chain6-stab --below x", "--below must be");
}

/* What runs lose under ok is in the summary, the journal, the page, and beside the run. */
static void test_warnings(void)
{
  write_file("plate.yaml",
             "schema: perp-scene/1\n"
             "scene: { summary: a plate spins, gravity: 0, t_end: 1 s, h: 1/60 }\n"
             "bodies:\n  - { name: plate, mass: 2, solid: { kind: box, size: [1, 0.4, 0.05] }, w: "
             "[60, 6, 20] }\n");
  write_file("plates.yaml",
             "schema: perp-study/1\nstudy: { name: plates, title: Plates, question: loss }\n"
             "kind: simulate\ngrid: { scene: plate.yaml, h: [1/60, 1/120] }\n"
             "measure: { repeats: 0 }\n"
             "metrics: { primary: momentum.ang.max, record: [momentum.ang.max] }\n");
  const char *line = "conserved quantities change: angular momentum by ";
  ok(run("run plates.yaml -o plates") == 0 && strstr(out, "2 runs: 2 ok") != NULL &&
         strstr(out, "Warnings\n  2 runs: e.g. conserved quantities") != NULL,
     "two runs are ok, and their loss is one warning");
  ok(run("report plates") == 0 && file_has("plates/report.html", line) &&
         file_has("plates/report.html", "\"warnings\": [{\"n\": 2"),
     "the page has it");
  ok(run("simulate plate.yaml") == 0 && strstr(out, "\nwarning  conserved quantities") != NULL &&
         strstr(out, "\nkeeps    energy to ") != NULL,
     "so has a single run");
  json_t *j = json_of("simulate plate.yaml --json", 0);
  const json_t *list = json_object_get(j, "warnings");
  const char *text = json_string_value(json_array_get(list, 0));
  ok(json_array_size(list) == 1 && text != NULL && strncmp(text, line, strlen(line)) == 0,
     "and its JSON");
  json_decref(j);
}

int main(void)
{
  program_open();
  test_merge();
  test_gnuplot();
  test_explain();
  test_compare();
  test_empty_figure();
  test_dump_kkt();
  test_export();
  test_warnings();
  program_close();
  return tap_done();
}
