/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A status that means it: what is said of runs with unsolved problems, of fixed work, of runs that
 * are cut short, and of results that an earlier perp has written. */
#include "tests/cli/program.h"

#include <signal.h>

static const char *text_of(const json_t *j, const char *key)
{
  const char *s = json_string_value(json_object_get(j, key));
  return s != NULL ? s : "";
}

/* ---- one run ---- */

static void test_simulate(void)
{
  static const struct {
    const char *lcp, *status, *message;
    int code;
  } cases[] = {
    { "lemke", "ok", "", 0 },
    { "psor:max_iter=3", "unsolved", "96 of 96 problems not solved (100 %): max-iter 96", 9 },
    { "pgs:sweeps=10", "fixed-work",
      "48 of 48 problems above the tolerance after the requested sweeps", 0 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *words = perp_xprintf("simulate wall --lcp %s --t-end 0.2s --json", cases[i].lcp);
    json_t *j = json_of(words, cases[i].code);
    ok(strcmp(text_of(j, "status"), cases[i].status) == 0 &&
           strcmp(text_of(j, "reason"), "reached-end") == 0,
       "%s: %s (%s)", cases[i].lcp, text_of(j, "status"), text_of(j, "reason"));
    ok(strncmp(text_of(j, "message"), cases[i].message, strlen(cases[i].message)) == 0 &&
           (cases[i].message[0] != '\0' || text_of(j, "message")[0] == '\0'),
       "... '%s'", text_of(j, "message"));
    ok(json_is_false(json_object_get(j, "partial")), "... a whole run");
    json_decref(j);
    free(words);
  }
  int code = run("simulate wall --lcp psor:max_iter=3 --t-end 0.2s");
  ok(code == 9 && strstr(out, "unsolved (reached-end)") != NULL && strstr(out, "exact") == NULL,
     "and in words, which call nothing exact");
  code = run("simulate wall --lcp pgs:sweeps=10 --t-end 0.2s");
  ok(code == 0 && strstr(out, "fixed-work (reached-end)") != NULL && strstr(out, "exact") == NULL,
     "fixed work likewise");
  /* sweeps leave overlaps in the projection, too, which are no problem without an answer */
  code = run("simulate mass-ratio:ratio=100 --lcp pgs:sweeps=20 --h 10ms --t-end 0.5s");
  ok(code == 0 && strstr(out, "fixed-work (reached-end)") != NULL, "in projections, too");
}

static int lines_of(const char *name)
{
  char *text = perp_read_file(name, NULL);
  int n = 0;
  for (const char *s = text; s != NULL && *s != '\0'; s++) n += *s == '\n';
  free(text);
  return n;
}

static void cut_short(const char *words, int code, const char *status, const char *reason)
{
  json_t *j = json_of(words, code);
  ok(strcmp(text_of(j, "status"), status) == 0 && strcmp(text_of(j, "reason"), reason) == 0,
     "%s: %s", text_of(j, "status"), text_of(j, "reason"));
  double t = json_number_value(json_object_get(json_object_get(j, "final"), "t"));
  ok(json_is_true(json_object_get(j, "partial")) && t > 0 && metric(j, "steps") > 0,
     "... up to t = %g s, %g steps, marked as partial", t, metric(j, "steps"));
  json_decref(j);
}

static void test_limits(const char *folder)
{
  cut_short("simulate chain:links=6 --t-end 100000s --timeout 0.6s --json --series late.csv", 10,
            "timeout", "time-limit");
  ok(lines_of("late.csv") >= 2, "the series goes as far");
  int code = run("simulate chain:links=6 --t-end 100000s --timeout 0.5s");
  ok(code == 10 && strstr(out, "timeout (time-limit) at t = ") != NULL &&
         strstr(out, "stopped at the time limit of 0.5 s") != NULL &&
         strstr(out, "drift.pos.max") != NULL,
     "and in words, with the metrics");
  /* a step that does not end: what was kept before it */
  char *words = perp_xprintf(
      "simulate stack:boxes=1 --lcp bad-hang --h 1ms --sample 1ms --t-end 1s "
      "--timeout 1s --json --series hang.csv --plugin %s/ends.so",
      folder);
  cut_short(words, 10, "timeout", "time-limit");
  ok(lines_of("hang.csv") >= 2, "its series, too (%d lines)", lines_of("hang.csv"));
  free(words);
  /* Ctrl-C, and what a batch system sends */
  static const int numbers[] = { SIGINT, SIGTERM };
  for (int k = 0; k < 2; k++) {
    pid_t pid = start(
        "simulate chain:links=6 --t-end 100000s --sample 0.1s --json --series gone.csv");
    for (int i = 0; i < 500 && lines_of("gone.csv.tmp") < 2; i++) usleep(20000);
    kill(pid, numbers[k]);
    code = finish(pid);
    json_t *j = json_loads(out, 0, NULL);
    ok(code == 10 && strcmp(text_of(j, "status"), "interrupted") == 0 &&
           json_is_true(json_object_get(j, "partial")) && metric(j, "steps") > 0,
       "signal %d: status 10, interrupted, with the metrics so far", numbers[k]);
    json_decref(j);
    unlink("gone.csv");
  }
}

static bool wait_for(const char *command)
{
  for (int i = 0; i < 3000; i++) {
    if (system(command) == 0) return true;
    usleep(20000);
  }
  return false;
}

/* Two Ctrl-C: a run ends at once, although a cell of it would go on for days, and what is written
 * stays. */
static void test_interrupts(void)
{
  write_file("two.yaml", "schema: perp-study/1\n"
                         "study: { name: two }\n"
                         "scene: chain:links=3\n"
                         "formulation: velocity\n"
                         "ode: symplectic-euler\n"
                         "h: 1 ms\n"
                         "grid: { t_end: [10 ms, 1000000 s] }\n"
                         "metrics: { primary: drift.pos.max, record: [drift.pos.max] }\n");
  pid_t pid = start("run two.yaml -o two -j 2 --no-report");
  bool begun = wait_for("grep -rqs '\"event\": \"cell\"' two/journal") &&
               wait_for("test $(grep -rs '\"event\": \"start\"' two/journal | wc -l) = 2");
  kill(pid, SIGINT);
  bool asked = wait_for("grep -q 'Ctrl-C again to stop at once' stderr.txt");
  kill(pid, SIGINT);
  int code = finish(pid);
  if (!ok(begun && asked && code == 7 && strstr(err, "continue with: perp run two.yaml") != NULL,
          "a second Ctrl-C ends the run: status 7"))
    complain();
  char *journal = system("cat two/journal/* > two.jsonl") == 0 ? perp_read_file("two.jsonl", NULL)
                                                               : NULL;
  int lines = 0, broken = 0;
  for (char *line = journal; line != NULL && *line != '\0'; lines++) {
    const size_t length = strcspn(line, "\n");
    json_t *j = json_loadb(line, length, 0, NULL);
    broken += j == NULL || line[length] != '\n';
    json_decref(j);
    line += length + (line[length] == '\n');
  }
  free(journal);
  ok(lines == 5 && broken == 0, "its journal has %d whole lines: run, start, start, cell, end",
     lines);
  says("status two", "interrupted");
  code = run("run two.yaml -o two --no-report --only 't_end < 1'");
  ok(code == 0 && strstr(err, "1 already finished, 0 to run") != NULL,
     "the cell that was finished is not run again");
}

/* References that take their time, before any cell: one Ctrl-C ends it. */
static void test_interrupted_reference(void)
{
  write_file("ref.yaml", "schema: perp-study/1\n"
                         "study: { name: ref }\n"
                         "scene: chain:links=60\n"
                         "t_end: 3000 s\n"
                         "reference: { method: reduced, tol: 1e-14,\n"
                         "             agree: { with: extrapolation, below: 1e-3 } }\n"
                         "formulation: velocity\n"
                         "ode: symplectic-euler\n"
                         "grid: { h: [2 ms, 1 ms] }\n"
                         "metrics: { primary: err.q.max }\n");
  signal(SIGINT, SIG_DFL); /* a shell that starts this in the background has it ignored */
  pid_t pid = start("run ref.yaml -o ref --no-report");
  bool begun = wait_for("grep -q '2 to run' stderr.txt");
  usleep(100000); /* among the references by now; earlier serves as well */
  kill(pid, SIGINT);
  int code = finish(pid);
  if (!ok(begun && code == 256 + SIGINT, "Ctrl-C among the references ends the run (%d)", code))
    complain();
  says("status ref", "incomplete");
}

static void test_ends(const char *folder)
{
  static const struct {
    const char *lcp;
    bool late;
  } cases[] = {
    { "bad-exit", false }, { "bad-end", false }, { "bad-create", false }, { "bad-later", true }
  };
  write_file("p.json", "{\"n\":2,\"A\":[[2,1],[1,2]],\"b\":[-1,-1]}");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *words = perp_xprintf(
        "simulate stack:boxes=1 --h 1ms --t-end 1s --lcp %s --plugin %s/ends.so", cases[i].lcp,
        folder);
    int code = run(words);
    if (!ok(code == 5 && strstr(out, "crash (crash)") != NULL &&
                strstr(out, "ended with status 0 and without a result") != NULL,
            "%s ends the process: simulate says so, status 5", cases[i].lcp))
      complain();
    char *json = perp_xprintf("%s --json", words);
    json_t *j = json_of(json, 5);
    ok(strcmp(text_of(j, "status"), "crash") == 0 && json_is_true(json_object_get(j, "partial")) &&
           (metric(j, "steps") > 0) == cases[i].late,
       "... as JSON, %s", cases[i].late ? "with what there was before" : "without figures");
    json_decref(j);
    free(json);
    free(words);
    if (cases[i].late) continue;
    words = perp_xprintf("lcp solve p.json --lcp %s --plugin %s/ends.so", cases[i].lcp, folder);
    code = run(words);
    ok(code == 5 && strstr(out, "crash: ended with status 0 and without a result") != NULL,
       "... lcp solve, too");
    json = perp_xprintf("%s --json", words);
    j = json_of(json, 5);
    ok(strcmp(text_of(j, "status"), "failed") == 0 && strcmp(text_of(j, "reason"), "crash") == 0,
       "... as JSON");
    json_decref(j);
    free(json);
    free(words);
  }
  json_t *j = json_of("lcp solve p.json --lcp pgs:sweeps=1 --json", 0);
  ok(strcmp(text_of(j, "status"), "fixed-work") == 0, "lcp solve: fixed work is called so");
  json_decref(j);
}

/* ---- studies ---- */

static const char study[] =
    "schema: perp-study/1\nstudy: { name: honest, title: walls }\nscene: stack:boxes=6\n"
    "grid: { lcp: [lemke, \"pgs:max_iter=3\", \"pgs:sweeps=3\"] }\nt_end: 0.1 s\n"
    "metrics: { primary: truth.err, record: [truth.err], series: { every: 10 ms } }\n"
    "claims: [{ text: one ran well, expr: 'count(status == ok) == 1' }]\n"
    "limits: { timeout: 20 s }\n";

static bool csv_row(const char *csv, const char *status, const char *part)
{
  for (const char *s = csv; s != NULL && *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
    char *row = perp_xprintf("%.*s", (int)strcspn(s, "\n"), s);
    char *field = perp_xprintf(",%s,", status);
    bool here = strstr(row, field) != NULL && strstr(row, part) != NULL;
    free(field);
    free(row);
    if (here) return true;
  }
  return false;
}

static void test_study(void)
{
  write_file("honest.yaml", study);
  int code = run("run honest.yaml -o honest -q");
  if (!ok(code == 0 && strstr(out, "1 ok, 1 fixed-work, 1 unsolved") != NULL,
          "a study with each of them: status 0"))
    complain();
  ok(strstr(out, "proved: one ran well") != NULL || strstr(out, "proved:") != NULL,
     "the claim sees the statuses");
  const char *lemke = strstr(out, "\nlemke "), *fixed = strstr(out, "\npgs:sweeps=3 "),
             *unsolved = strstr(out, "\npgs:max_iter=3 ");
  ok(lemke != NULL && fixed != NULL && unsolved != NULL && lemke < fixed && fixed < unsolved,
     "what is ok comes first, the others are marked behind it");
  for (const char *s = out; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strcspn(s, "\n") > 80) ok(false, "a line of more than 80 columns: %.90s", s);
  char *csv = perp_read_file("honest/derived/cells.csv", NULL);
  ok(csv_row(csv, "unsolved", ",48,48,1,0,0,") && csv_row(csv, "fixed-work", ",24,0,0,24,0,") &&
         csv_row(csv, "ok", ",24,0,0,0,0,"),
     "cells.csv: problems, unsolved, share, swept, partial");
  free(csv);
  char *page = perp_read_file("honest/report.html", NULL);
  ok(page != NULL && strstr(page, "\"unsolved\": 1") != NULL &&
         strstr(page, "48 of 48 problems not solved (100 %)") != NULL &&
         strstr(page, "unsolved 100 %") != NULL && strstr(page, "fixed-work") != NULL,
     "the page does not say that nothing failed, and marks them");
  free(page);
  code = run("report honest --tex tex");
  ok(code == 0 && file_has("tex/tables.tex", "unsolved 100 \\%"),
     "the table for papers marks them");
  json_t *j = json_of("status honest --json", 0);
  const json_t *count = json_object_get(j, "status");
  ok(json_integer_value(json_object_get(count, "unsolved")) == 1 &&
         json_integer_value(json_object_get(count, "fixed-work")) == 1,
     "status counts them");
  json_decref(j);

  /* accepted: it may win */
  code = run("run honest.yaml -o generous -q --no-report --set accept.unsolved=100%");
  ok(code == 0 && strstr(out, "Runs are compared by") != NULL, "with accept: { unsolved: 100%% }");
  fixed = strstr(out, "\npgs:sweeps=3 ");
  unsolved = strstr(out, "\npgs:max_iter=3 ");
  ok(fixed != NULL && unsolved != NULL && unsolved < fixed,
     "an unsolved cell is ranked with the ok ones, still marked");
  refuses(2, "check honest.yaml --set accept.unsolved=120%", "unsolved must be the share");
  refuses(2, "check honest.yaml --set accept.unsolvd=1%", "did you mean 'unsolved'");

  code = run("run honest.yaml -o none -q --no-report --only 'lcp == \"pgs:max_iter=3\"'");
  ok(code == 10 && strstr(out, "No two runs") != NULL, "unsolved cells alone: status 10, no best");
  code = run("run honest.yaml -o fixed -q --no-report --only 'lcp == \"pgs:sweeps=3\"'");
  ok(code == 0, "fixed work alone: status 0");
}

/* Motions that depend on the choice are no differences of solvers: such a run wins nothing, however
 * small its error. */
static void test_several(void)
{
  const char *source = getenv("PERP_SOURCE");
  char *file = perp_xprintf(
      "schema: perp-study/1\nstudy: { name: grips }\n"
      "scene: %s/tests/data/scenes/gripper.yaml\nformulation: velocity:choice=least-norm\n"
      "contact: cone\ngrid: { lcp: [prox, pgs] }\nt_end: 0.1 s\n"
      "metrics: { primary: pose.drift.max }\n"
      "answer: [{ best: pose.drift.max, by: lcp }]\n",
      source != NULL ? source : ".");
  write_file("grips.yaml", file);
  free(file);
  int code = run("run grips.yaml -o grips -q --no-report");
  if (!ok(code == 0 && strstr(out, "1 ok, 1 several solutions") != NULL,
          "a study of a grip: one ok, one of several solutions, status 0"))
    complain();
  const char *prox = strstr(out, "\nprox "), *pgs = strstr(out, "\npgs ");
  ok(prox != NULL && pgs != NULL && prox < pgs && strstr(pgs, "(") != NULL,
     "... which is marked, behind the other");
  code = run("run grips.yaml -o grips2 -q --no-report --set grid.lcp=pgs");
  ok(code == 0 && strstr(out, "1 several solutions") != NULL, "that alone: status 0");
}

static void test_cells_cut_short(const char *folder)
{
  write_file("cut.yaml", "schema: perp-study/1\nstudy: { name: cut }\nscene: stack:boxes=1\n"
                         "grid: { lcp: [bad-hang, bad-later] }\nh: 1 ms\nt_end: 1 s\n"
                         "metrics: { series: { every: 1 ms } }\nlimits: { timeout: 1 s }\n");
  char *words = perp_xprintf("run cut.yaml -o cut -q --no-report --plugin %s/ends.so", folder);
  int code = run(words);
  free(words);
  ok(code == 10, "no cell succeeded");
  char *csv = perp_read_file("cut/derived/cells.csv", NULL);
  ok(csv_row(csv, "timeout", "killed at the time limit of 1 s, at t = 0.0"),
     "a cell that is killed says how far it came");
  ok(csv_row(csv, "crash", "ended with status 0 and without a result") &&
         csv_row(csv, "crash", ",1,0.0"),
     "one that ends its process, too, and is marked as partial");
  free(csv);
  ok(run("run cut.yaml -o cut2 -q --no-report --set grid.lcp=lemke --set t_end=100000s") == 10,
     "a cell that only takes too long");
  csv = perp_read_file("cut2/derived/cells.csv", NULL);
  ok(csv_row(csv, "timeout", "stopped at the time limit of 1 s, at t = "),
     "stops by itself at the limit");
  free(csv);
  words = perp_xprintf("run cut.yaml -o cut3 -q --no-report --plugin %s/ends.so "
                       "--set grid.lcp=bad-wait --set t_end=20ms",
                       folder);
  run(words);
  free(words);
  csv = perp_read_file("cut3/derived/cells.csv", NULL);
  ok(!csv_row(csv, "timeout", "limit") && csv_row(csv, "unsolved", ""),
     "one that waits for 2 s and works for less than the 1 s of the limit ends as it would alone");
  free(csv);
}

/* BLAS asks the system for a buffer again and again: a limit of memory looked like a limit of time.
 */
static void test_memory(const char *folder)
{
  if (SANITIZED) {
    skip("no memory limit under a sanitizer", "a limit of memory");
    return;
  }
  write_file("oom.yaml",
             "schema: perp-study/1\nstudy: { name: oom }\n"
             "grid: { scene: [wall, \"chain:links=20\"], lcp: [lemke], kkt: [kkt-dense] }\n"
             "t_end: 0.05 s\nlimits: { timeout: 60 s }\n");
  int code = run("run oom.yaml -o oom -q --no-report --memory 64MiB");
  if (!ok(code == 5 && strstr(out, "1 ok, 1 oom") != NULL &&
              strstr(out, "memory limit of 64 MiB reached") != NULL,
          "a memory limit of 64 MiB ends what needs more, as oom"))
    complain();
  write_file("abort.yaml", "schema: perp-study/1\nstudy: { name: abort }\nscene: stack:boxes=1\n"
                           "grid: { lcp: [bad-abort] }\nh: 1 ms\nt_end: 10 ms\n");
  char *words = perp_xprintf(
      "run abort.yaml -o abort -q --no-report --memory 64MiB --plugin %s/ends.so", folder);
  code = run(words);
  free(words);
  if (!ok(code == 10 && strstr(out, "1 oom") != NULL &&
              strstr(out, "memory limit of 64 MiB reached") != NULL,
          "what aborts for want of memory, as exact arithmetic does, is oom, not a crash"))
    complain();
}

/* ---- results of an earlier perp ---- */

static void test_schema(void)
{
  int code = run("run honest.yaml -o old -q --no-report");
  ok(code == 0, "a folder to make old");
  /* as schema 1 wrote it: no schema, no counts, an unsolved run was ok */
  ok(system("sed -i 's/\"schema\": 2, //; s/\"status\": \"unsolved\"/\"status\": \"ok\"/; "
            "s/\"problems\": [0-9]*, \"unsolved\": [0-9]*, \"swept\": [0-9]*, //' "
            "old/plan.jsonl old/journal/*.jsonl") == 0 &&
         system("cp -r old old2; cp -r old new; sed -i 's/\"plan\": \"perp-plan.2\"/&, "
                "\"schema\": 3/' new/plan.jsonl") == 0,
     "... is changed");
  says("status old", "ok has the older meaning (schema 1");
  json_t *j = json_of("status old --json", 0);
  ok(json_integer_value(json_object_get(j, "schema")) == 1 &&
         json_integer_value(json_object_get(j, "ok_as_recorded")) == 2,
     "as JSON, too");
  json_decref(j);
  ok(run("report old") == 0 && file_has("old/report.html", "\"schema_1\": 2"),
     "the page of it says what its ok is worth");
  refuses(3, "run honest.yaml -o old", "results of schema 1");
  ok(strstr(err, "--fresh") != NULL, "... and how to go on");
  says("status old", "ok has the older meaning (schema 1");
  refuses(3, "status new", "the results have schema 3, but this perp reads schemas up to 2");
  refuses(3, "merge old honest -o both", "schema");
  ok(run("merge old old2 -o both --no-report") == 0 && run("status both") == 0 &&
         strstr(out, "ok has the older meaning (schema 1") != NULL,
     "two old folders make an old one");
  code = run("compare old honest --as-recorded");
  ok(code == 0 && strstr(out, "ok in old has the older meaning (schema 1)") != NULL &&
         strstr(out, "WORSE") == NULL,
     "compare: an ok of schema 1 that is unsolved now is no regression");
  ok(run("run honest.yaml -o old -q --no-report --fresh") == 0 && run("status old") == 0 &&
         strstr(out, "as recorded") == NULL,
     "--fresh makes a new one of it");
}

int main(void)
{
  program_open();
  if (SANITIZED)
    setenv("ASAN_OPTIONS", "detect_leaks=0", 1); /* what ends the process leaves its memory */
  const char *folder = getenv("PERP_BAD_PLUGINS");
  if (folder == NULL) bail("PERP_BAD_PLUGINS names no folder");
  test_simulate();
  test_limits(folder);
  test_interrupts();
  test_interrupted_reference();
  test_ends(folder);
  test_study();
  test_several();
  test_cells_cut_short(folder);
  test_memory(folder);
  test_schema();
  program_close();
  return tap_done();
}
