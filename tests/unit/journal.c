/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Journals, cells that misbehave, resuming, and the promise that a kill at any moment loses no
 * finished cell, computes none twice and changes no byte of cells.csv. */
#include "experiments/base/messages.h"
#include "experiments/study/process_pool.h"
#include "experiments/results/journal.h"
#include "experiments/run/run.h"
#include "tests/unit/toy_kind.h"

#include "tests/tap.h"
#include "experiments/base/files.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/wait.h>

static perp_ctx ctx;
static char root[] = "/tmp/perp-run-XXXXXX";

#define HEAD                                                                                       \
  "schema: perp-study/1\nstudy: { name: toys }\nlimits: { timeout: 60 s, memory: 256 MiB }\n"

/* ---- helpers ---- */

static void remove_tree(const char *dir)
{
  char *command = perp_xprintf("rm -rf '%s'", dir);
  if (system(command) != 0) printf("# could not remove %s\n", dir);
  free(command);
}

static pid_t start(const char *text, const perp_run_options *o)
{
  fflush(stdout);
  pid_t pid = fork();
  if (pid != 0) return pid;
  char *log = perp_xprintf("%s/log", root);
  int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
  dup2(fd, 1);
  dup2(fd, 2);
  perp_diag diag = { 0 };
  perp_study *study = NULL;
  if (toy_study(&ctx, text, &diag, &study) != PERP_OK) _exit(99);
  int code = perp_run(&ctx, study, o, toy_kinds);
  fflush(stdout);
  _exit(code);
}

static int finish(pid_t pid)
{
  int status = 0;
  waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 256 + WTERMSIG(status);
}

static int run(const char *text, const perp_run_options *o)
{
  return finish(start(text, o));
}

static perp_run_options options(const char *dir)
{
  return (perp_run_options){
    .dir = dir, .jobs = 2, .timeout = (double)NAN, .memory = (double)NAN, .again = "perp run toys"
  };
}

static char *content(const char *dir, const char *name)
{
  char *path = perp_xprintf("%s/%s", dir, name), *text = perp_read_file(path, NULL);
  free(path);
  return text != NULL ? text : perp_xstrdup("");
}

static bool logged(const char *part)
{
  char *text = content(root, "log");
  bool found = strstr(text, part) != NULL;
  if (!found) printf("# log: %s\n", text);
  free(text);
  return found;
}

struct counts {
  int cells, starts, times, runs;
};
static void count_line(void *user, const json_t *line)
{
  struct counts *c = user;
  const char *event = json_string_value(json_object_get(line, "event"));
  c->cells += strcmp(event, "cell") == 0;
  c->starts += strcmp(event, "start") == 0;
  c->times += strcmp(event, "time") == 0;
  c->runs += strcmp(event, "run") == 0;
}
static struct counts journal_of(const char *dir)
{
  struct counts c = { 0 };
  int torn;
  char *path = perp_xprintf("%s/journal", dir);
  perp_journal_read(&ctx, path, count_line, &c, &torn);
  free(path);
  return c;
}

/* Processes of our session that outlived their runner. */
static int orphans(void)
{
  int left = 0;
  DIR *d = opendir("/proc");
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;) {
    char *path = perp_xprintf("/proc/%s/stat", e->d_name), *stat = perp_read_file(path, NULL);
    int pid = 0, ppid = 0, pgrp = 0, session = 0;
    char state = 0;
    const char *after = stat != NULL ? strrchr(stat, ')') : NULL;
    if (after != NULL && sscanf(after + 1, " %c %d %d %d", &state, &ppid, &pgrp, &session) == 4) {
      sscanf(stat, "%d", &pid);
      left += strstr(stat, "(test_journal)") != NULL && state != 'Z' && session == getsid(0) &&
              pid != getpid() && ppid != getpid() && getpgrp() != pgrp;
    }
    free(stat);
    free(path);
  }
  if (d != NULL) closedir(d);
  return left;
}

/* None may be left; on a busy machine they take a while to die. */
static bool children_are_gone(void)
{
  for (int k = 0; k < 500 && orphans() > 0; k++) usleep(20000);
  return orphans() == 0;
}

/* ---- journals ---- */

static void test_journal(void)
{
  char *dir = perp_xprintf("%s/journal-only", root);
  perp_make_dirs(&ctx, dir);
  perp_journal a, b;
  ok(perp_journal_open(&ctx, dir, &a) == PERP_OK && perp_journal_open(&ctx, dir, &b) == PERP_OK &&
         strcmp(a.path, b.path) != 0,
     "two journals of one process are two files");
  const char *const lines[] = { "{\"event\": \"cell\", \"x\": \"inf\"}", "{\"event\": \"time\"}" };
  for (int i = 0; i < 2; i++) perp_journal_write(&ctx, &a, lines[i], strlen(lines[i]));
  perp_journal_write(&ctx, &b, lines[1], strlen(lines[1]));
  FILE *f = fopen(a.path, "a"); /* what a kill in the middle of a write could leave */
  fputs("{\"event\": \"cell\", \"ce", f);
  fclose(f);
  struct counts c = { 0 };
  int torn = 0;
  ok(perp_journal_read(&ctx, dir, count_line, &c, &torn) == PERP_OK && c.cells == 1 &&
         c.times == 2 && torn == 1,
     "whole lines are read, a torn one is counted and passed over");
  perp_journal_close(&ctx, &a);
  perp_journal_close(&ctx, &b);
  ok(perp_journal_read(&ctx, "/nonexistent/journal", count_line, &c, &torn) == PERP_OK,
     "a missing folder has no lines");
  json_t *v = json_pack("[s, s, s, f, n]", "inf", "-inf", "nan", 0.1);
  ok(perp_json_number(json_array_get(v, 0)) == HUGE_VAL &&
         perp_json_number(json_array_get(v, 1)) == -HUGE_VAL &&
         isnan(perp_json_number(json_array_get(v, 2))) &&
         perp_json_number(json_array_get(v, 3)) == 0.1 &&
         isnan(perp_json_number(json_array_get(v, 4))) && isnan(perp_json_number(NULL)),
     "numbers that JSON has no name for");
  json_decref(v);
  free(dir);
}

/* What is written, absent figures among it, is read back as it was. */
static void test_numbers(void)
{
  char *text = NULL;
  size_t size;
  const double x[] = { 0.1, (double)NAN, HUGE_VAL };
  perp_json j = { .out = open_memstream(&text, &size) };
  perp_json_members(&j, "{ none %g, least %g", (double)NAN, -HUGE_VAL);
  perp_json_real(&j, "absent", (double)NAN);
  perp_json_reals(&j, "x", x, 3);
  perp_json_close(&j, '}');
  fclose(j.out);
  ok(strcmp(text, "{\"least\": \"-inf\", \"x\": [0.10000000000000001, null, \"inf\"]}\n") == 0,
     "an absent figure is left out, null in a list, and never a string");
  json_t *v = json_loads(text, 0, NULL);
  const json_t *list = json_object_get(v, "x");
  ok(isnan(perp_json_number(json_object_get(v, "none"))) &&
         perp_json_number(json_object_get(v, "least")) == -HUGE_VAL &&
         perp_json_number(json_array_get(list, 0)) == 0.1 &&
         isnan(perp_json_number(json_array_get(list, 1))) &&
         perp_json_number(json_array_get(list, 2)) == HUGE_VAL,
     "and they are read back");
  json_decref(v);
  free(text);
}

/* ---- cells that misbehave ---- */

static void test_misbehaviour(void)
{
#ifdef TAP_SANITIZED /* has no limit of memory: it would eat all there is until its time is up */
#define EAT ""
#else
#define EAT ", eat"
#endif
  static const char text[] = HEAD
      "h: 0.5 s\ngrid: { act: [compute, segv, abort, exit, print, diverge, nan, orphan, "
      "scribble" EAT "] }\nmetrics: { record: [err, calls] }\n";
  char *dir = perp_xprintf("%s/bad", root);
  perp_run_options o = options(dir);
  ok(run(text, &o) == PERP_EXIT_INFRA, "crashes among the cells: exit status 5");
  perp_results r;
  if (perp_results_load(&ctx, dir, toy_kinds, &r) != PERP_OK) bail("%s", ctx.msg);
  static const struct {
    const char *act;
    perp_cell_status status;
    const char *cause;
  } want[] = { { "compute", PERP_CELL_OK, "" },
               { "segv", PERP_CELL_CRASH, "signal 11 (Segmentation fault)" },
               { "abort", PERP_CELL_CRASH, "signal 6 (Aborted)" },
               { "exit", PERP_CELL_CRASH, "ended with status 3 and without a result" },
               { "print", PERP_CELL_CRASH, "signal 6 (Aborted)" },
               { "diverge", PERP_CELL_DIVERGED, "not finite at t = 1, \"quoted\"" },
               { "nan", PERP_CELL_OK, "" },
               { "orphan", PERP_CELL_OK, "" },
               { "scribble", PERP_CELL_CRASH, "ended with status 0 and without a result" },
               { "eat", PERP_CELL_OOM, "memory limit of 256 MiB reached" } };
  int act = perp_kind_param(&toy_kind, "act");
  for (size_t k = 0; k < sizeof want / sizeof *want; k++)
    for (int i = 0; i < r.plan.n; i++) {
      if (strcmp(r.plan.cells[i].value[act].text, want[k].act) != 0) continue;
#ifdef TAP_SANITIZED
      if (strcmp(want[k].act, "segv") == 0) {
        skip("a sanitizer has its own way with memory", "%s", want[k].act);
        continue;
      }
#endif
      const perp_record *rec = &r.record[i];
      if (!ok(rec->status == want[k].status && strcmp(rec->cause, want[k].cause) == 0,
              "%s ends as %s: %s", want[k].act, perp_cell_status_names[want[k].status],
              want[k].cause))
        tap_note("%s: %s\n", perp_cell_status_names[rec->status], rec->cause);
      if (strcmp(want[k].act, "print") == 0)
        ok(strcmp(rec->stderr_tail, "said on stderr\n") == 0, "what it said on stderr is kept");
      if (strcmp(want[k].act, "compute") == 0) near(rec->value[0], 0.25, 0, 0, "its number");
    }
  char *csv = content(dir, "derived/cells.csv"),
       *schema = content(dir, "derived/cells.schema.json");
  int rows = 0;
  for (const char *s = csv; *s != '\0'; s++) rows += *s == '\n';
  ok(rows == r.plan.n + 1, "one row a planned cell");
  ok(strstr(csv, "diverged,\"not finite at t = 1, \"\"quoted\"\"\",not-finite,,,,,0,,diverge,") !=
             NULL &&
         strstr(csv, ",inf,\n") != NULL,
     "texts are quoted, infinite numbers are inf, missing ones empty");
  json_t *parsed = json_loads(schema, 0, NULL);
  ok(json_is_array(parsed) && json_array_size(parsed) == 10 + 5 + 2,
     "the schema names every column");
  json_decref(parsed);
  free(csv);
  free(schema);
  perp_results_free(&r);
  ok(children_are_gone(), "no process is left behind");

  /* a second run has nothing to do; --retry runs the chosen causes again */
  struct counts before = journal_of(dir);
  ok(run(text, &o) == PERP_EXIT_INFRA && journal_of(dir).cells == before.cells,
     "finished cells are not run again");
  o.retry[PERP_CELL_CRASH] = true;
  int code = run(text, &o);
  struct counts after = journal_of(dir);
  ok(code == PERP_EXIT_INFRA && after.cells > before.cells && after.cells <= before.cells + 7,
     "--retry crash runs the crashed ones again");
  free(dir);
}

/* Short cells take turns in a process, and are still cells of their own: a crash costs that cell,
 * what one leaves behind is not held against another one, and each has its own words. */
static void test_shared_process(void)
{
  static const char text[] = HEAD
      "grid: { act: [compute, poison, fragile, abort, say], h: [1 s, 2 s, 3 s, 4 s, 5 s, 6 s, 7 s, "
      "8 s, 9 s, 10 s, 11 s, 12 s] }\nmetrics: { record: [err, calls] }\n";
  char *dir = perp_xprintf("%s/shared", root);
  perp_run_options o = options(dir);
  ok(run(text, &o) == PERP_EXIT_INFRA, "sixty short cells, twelve of them crash");
  perp_results r;
  if (perp_results_load(&ctx, dir, toy_kinds, &r) != PERP_OK) bail("%s", ctx.msg);
  const int act = perp_kind_param(&toy_kind, "act"), h = perp_kind_param(&toy_kind, "h"),
            time = perp_results_metric(&r, "time.step_us");
  int crashed = 0, fine = 0, words = 0, processes = 0;
  for (int i = 0; i < r.plan.n; i++) {
    const perp_record *rec = &r.record[i];
    const bool aborts = strcmp(r.plan.cells[i].value[act].text, "abort") == 0;
    crashed += aborts && rec->status == PERP_CELL_CRASH;
    fine += !aborts && rec->status == PERP_CELL_OK;
    char *own = perp_xprintf("h is %s\n", r.plan.cells[i].value[h].text);
    words += strcmp(rec->stderr_tail,
                    strcmp(r.plan.cells[i].value[act].text, "say") == 0 ? own : "") == 0;
    free(own);
    bool new = !isnan(rec->value[time]); /* the number of its process is in it */
    for (int k = 0; k < i && new; k++) new = r.record[k].value[time] != rec->value[time];
    processes += new;
  }
  ok(crashed == 12, "those and no others crash (%d)", crashed);
  ok(fine == 48, "what a cell leaves behind in the process costs no other one (%d)", fine);
  ok(words == 60, "each has what it printed itself (%d)", words);
  ok(processes < 40, "48 cells had %d processes", processes);
  ok(journal_of(dir).cells == 60, "each ended once");
  perp_results_free(&r);
  free(dir);
}

/* Apart from the others, which may take their time on a busy machine. */
static void test_timeout(void)
{
  char *dir = perp_xprintf("%s/late", root);
  perp_run_options o = options(dir);
  o.timeout = 1;
  ok(run(HEAD "h: 1 s\nact: loop\n", &o) == PERP_EXIT_FAILED, "a cell without an end");
  char *csv = content(dir, "derived/cells.csv");
  ok(strstr(csv, ",timeout,killed at the time limit of 1 s,") != NULL,
     "loop ends as timeout: killed at the time limit of 1 s");
  ok(children_are_gone(), "and is gone");
  free(csv);
  free(dir);
}

/* ---- selection, status, exit codes ---- */

static void test_selection(void)
{
  static const char text[] = HEAD "grid: { h: [1 s, 2 s, 4 s, 8 s] }\nmeasure: { repeats: 2 }\n";
  char *dir = perp_xprintf("%s/selected", root);
  perp_run_options o = options(dir);
  o.only = "h > 1 s";
  o.skip = "h == 8 s";
  ok(run(text, &o) == PERP_EXIT_OK && journal_of(dir).cells == 2 && journal_of(dir).times == 4,
     "--only and --skip: two of four cells, two rounds each");
  char *csv = content(dir, "derived/cells.csv");
  ok(strstr(csv, ",skipped,--only 'h > 1 s',,,,,,0,,compute,,1,") != NULL &&
         strstr(csv, ",skipped,--skip 'h == 8 s',,,,,,0,,compute,,8,") != NULL,
     "the others are rows with the reason");
  free(csv);
  o.only = "h > 9 s";
  ok(run(text, &o) == PERP_EXIT_NOTHING && logged("nothing is selected"),
     "nothing selected: status 4");
  o.only = "hh > 9 s";
  ok(run(text, &o) == PERP_EXIT_USAGE && logged("unknown column 'hh'"), "a bad --only: status 2");
  o = options(dir);
  ok(run(text, &o) == PERP_EXIT_OK && journal_of(dir).cells == 4 && journal_of(dir).times == 8,
     "the rest is run later");
  o.only = "status == ok and h < 3 s";
  o.fresh = true;
  ok(run(text, &o) == PERP_EXIT_NOTHING, "--fresh forgets: no cell has a status any more");
  o = options(dir);
  o.shard = "slice:1/2";
  ok(run(text, &o) == PERP_EXIT_OK && journal_of(dir).cells == 2, "the first of two shards");
  o.shard = "slice:2/2";
  ok(run(text, &o) == PERP_EXIT_OK && journal_of(dir).cells == 4, "the second finds the rest");
  free(dir);

  dir = perp_xprintf("%s/hopeless", root);
  o = options(dir);
  ok(run(HEAD "h: 1 s\nact: diverge\n", &o) == PERP_EXIT_FAILED, "no cell ok: status 10");
  ok(run(HEAD "h: 1 s\nexclude: [{ where: 'h > 0' }]\n", &o) == PERP_EXIT_NOTHING,
     "everything excluded: status 4");
  free(dir);
  dir = perp_xprintf("%s/no/such\n/place", "/proc");
  o = options(dir);
  ok(run(HEAD "h: 1 s\n", &o) == PERP_EXIT_INTERNAL && logged("cannot create the folder"),
     "a folder that cannot be made: status 1");
  free(dir);
}

static void test_budget(void)
{
  static const char text[] = HEAD "act: slow\ngrid: { h: { linear: [1 s, 60 s, 60] } }\n";
  char *dir = perp_xprintf("%s/budget", root);
  perp_run_options o = options(dir);
  o.budget = 1e-3;
  ok(run(text, &o) == PERP_EXIT_RESUMABLE && logged("the time budget is used up") &&
         logged("continue with: perp run toys"),
     "a used-up budget: status 7 and how to go on");
  int done = journal_of(dir).cells;
  ok(done < 60, "%d of 60 cells are done", done);
  o.budget = 0;
  ok(run(text, &o) == PERP_EXIT_OK && journal_of(dir).cells == 60,
     "going on does the rest, nothing twice");
  free(dir);

  /* Ctrl-C once: running cells end, the rest is left */
  dir = perp_xprintf("%s/interrupt", root);
  o = options(dir);
  pid_t pid = start(text, &o);
  while (journal_of(dir).cells < 3) usleep(2000);
  kill(pid, SIGINT);
  ok(finish(pid) == PERP_EXIT_RESUMABLE && logged("stopping after the") && logged("interrupted"),
     "SIGINT: status 7");
  struct counts c = journal_of(dir);
  ok(c.cells == c.starts && c.cells < 60, "what was started is finished: %d cells", c.cells);
  pid = start(text, &o);
  while (journal_of(dir).cells < c.cells + 3) usleep(2000);
  /* one runner a folder; it waits, however long the second one takes to start */
  kill(pid, SIGSTOP);
  ok(run(text, &o) == PERP_EXIT_INTERNAL && logged("another perp run is using"),
     "a second runner is refused");
  kill(pid, SIGTERM);
  kill(pid, SIGCONT);
  ok(finish(pid) == PERP_EXIT_RESUMABLE, "SIGTERM: status 7");
  ok(run(text, &o) == PERP_EXIT_OK && children_are_gone(), "... and complete afterwards");
  free(dir);
}

/* ---- rounds in other journals ---- */

static void test_rounds(void)
{
  static const char text[] = HEAD
      "act: compute\ngrid: { h: [1 s, 2 s] }\nmeasure: { repeats: 2 }\n";
  static const char once[] = HEAD
      "act: compute\ngrid: { h: [1 s, 2 s] }\nmeasure: { repeats: 1 }\n";
  char *dir = perp_xprintf("%s/rounds", root), *command;
  perp_run_options o = options(dir);
  ok(run(once, &o) == PERP_EXIT_OK, "one round");
  /* the name of a journal has the process in it: those of a later run may come first */
  command = perp_xprintf("cd '%s/journal' && mv *.jsonl zzz-1-0.jsonl", dir);
  ok(system(command) == 0 && run(text, &o) == PERP_EXIT_OK && journal_of(dir).times == 4 &&
         journal_of(dir).cells == 2,
     "a second round in a journal that is read before the results it times");
  free(command);
  free(dir);
}

/* ---- SIGKILL ---- */

static void test_kill(int kills)
{
  static const char text[] = HEAD
      "act: slow\nn: 3\ngrid: { h: { linear: [1 s, 20 s, 20] }, stab: [post, "
      "'baumgarte:alpha=[1, 2]'] }\nmeasure: { repeats: 1 }\n";
  char *dir = perp_xprintf("%s/undisturbed", root);
  perp_run_options o = options(dir);
  ok(run(text, &o) == PERP_EXIT_OK, "an undisturbed run");
  char *want = content(dir, "derived/cells.csv");
  free(dir);

  perp_rng *rng = perp_rng_create(20251);
  dir = perp_xprintf("%s/killed", root);
  o = options(dir);
  int killed = 0, lost = 0, twice = 0, code = -1;
  for (int k = 0; k < kills; k++) {
    struct counts before = journal_of(dir);
    pid_t pid = start(text, &o);
    usleep((useconds_t)perp_rng_uniform(rng, 0, 250e3));
    if (waitpid(pid, NULL, WNOHANG) == pid) { /* it was faster: the next ones find nothing to do */
      code = 0;
      continue;
    }
    kill(pid, SIGKILL);
    killed += finish(pid) == 256 + SIGKILL;
    lost += journal_of(dir).cells < before.cells;
    ok(children_are_gone(), "kill %d at %d cells: the children are gone", k + 1,
       journal_of(dir).cells);
  }
  perp_rng_destroy(rng);
  code = run(text, &o);
  struct counts c = journal_of(dir);
  twice = c.cells - 60;
  ok(code == PERP_EXIT_OK && lost == 0, "after %d kills the run ends; no finished cell was lost",
     killed);
  ok(twice == 0, "no finished cell was computed twice (%d cells, %d starts)", c.cells, c.starts);
  char *got = content(dir, "derived/cells.csv");
  ok(strcmp(got, want) == 0 && strlen(got) > 1000, "cells.csv is the same, byte for byte");
  free(got);
  free(want);
  free(dir);
}

int main(int argc, char **argv)
{
  if (mkdtemp(root) == NULL) bail("no temporary folder");
  perp_ctx_init(&ctx);
  perp_register(&ctx, toy_plugins);
  test_journal();
  test_numbers();
  test_misbehaviour();
  test_shared_process();
  test_timeout();
  test_selection();
  test_budget();
  test_rounds();
  test_kill(argc > 1 ? atoi(argv[1]) : 6);
  remove_tree(root);
  return tap_done();
}
