/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outside plug-ins: from the template to the table of a study; files that must not be loaded; code
 * that crashes, hangs, eats memory or answers NaN costs one row and nothing else. */
#include "experiments/base/build.h"
#include "tests/cli/program.h"

static bool shell(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text t = { 0 };
  perp_text_add(&t, "(");
  perp_text_vadd(&t, fmt, ap);
  va_end(ap);
  perp_text_add(&t, ") >shell.txt 2>&1");
  bool done = system(t.s) == 0;
  if (!done) {
    char *said = perp_read_file("shell.txt", NULL);
    tap_note("%s\n# %.1500s\n", t.s, said != NULL ? said : "");
    free(said);
  }
  perp_text_free(&t);
  return done;
}

/* ---- the template: one command builds it, the contract holds, it stands in a study ---- */

static void test_template(const char *kind)
{
  char *words = perp_xprintf("new plugin %s --name mine-%s", kind, kind);
  int status = run(words);
  ok(status == 0 && strstr(out, "Makefile") != NULL, "perp %s writes a folder", words);
  free(words);
  ok(shell("make -C mine-%s PERP_CFLAGS=\"$(%s version --cflags)\"", kind, program) &&
         !file_has("shell.txt", "warning"),
     "%s: make builds it without a warning", kind);
  words = perp_xprintf("test --plugin mine-%s/mine-%s.so --json", kind, kind);
  json_t *j = json_of(words, 0);
  const json_t *conformance = json_array_get(j, 0);
  int held = (int)json_integer_value(json_object_get(conformance, "held"));
  ok(held >= 10 && json_integer_value(json_object_get(conformance, "failed")) == 0 &&
         json_is_true(json_object_get(conformance, "complete")),
     "%s: %d checks of the contract hold", kind, held);
  json_decref(j);
  free(words);
  words = perp_xprintf("list %s --plugin mine-%s/mine-%s.so",
                       strcmp(kind, "metric") == 0 ? "metrics" : kind, kind, kind);
  char *name = perp_xprintf("mine-%s", kind);
  says(words, name);
  free(words);
  words = perp_xprintf("run mine-%s/study.yaml --plugin mine-%s/mine-%s.so -o study-%s -q "
                       "--no-report -j 2 --set measure.repeats=0",
                       kind, kind, kind, kind);
  status = run(words);
  char *table = perp_xprintf("study-%s/derived/cells.csv", kind);
  if (!ok(status == 0 && file_has(table, name), "%s: its study runs, and it is in the table", kind))
    complain();
  free(table);
  free(words);
  free(name);
}

static void test_templates(void)
{
  static const char *const kinds[] = { "lcp",         "ode",   "kkt",    "stab",  "contact",
                                       "formulation", "scene", "metric", "force", "joint" };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) test_template(kinds[i]);

  refuses(2, "new plugin lcp --name mine-lcp", "mine-lcp/mine-lcp.c exists already");
  refuses(2, "new plugin", "the kind of the plug-in is missing");
  refuses(2, "new plugin lcpp", "did you mean 'lcp'?");
  refuses(2, "new plugn lcp", "did you mean 'plugin'?");
  refuses(2, "new plugin lcp --name pgs", "there is a lcp 'pgs' already");
  refuses(2, "new plugin lcp --name My", "--name must be lower-case");
  says("new study -o first.yaml", "first.yaml");
  says("check first.yaml", "12 runs");
  refuses(2, "new study -o first.yaml", "exists already");

  says("info mine-lcp --plugin mine-lcp/mine-lcp.so", "Relaxation");
  refuses(2, "info mine-lcp", "mine-lcp");
  says("simulate pendulum --ode mine-ode --formulation acceleration --t-end 0.1s "
       "--plugin=mine-ode/mine-ode.so",
       "drift.pos.max");
  setenv("PERP_PLUGIN_PATH", "nowhere:mine-lcp:mine-ode/mine-ode.so", 1);
  says("info mine-lcp", "Relaxation");
  says("info mine-ode", "Ralston");
  unsetenv("PERP_PLUGIN_PATH");
}

/* A run remembers its plug-ins: loading without them says which, rebuilding one reruns its cells
 * only. */
static void test_memory(void)
{
  says("status study-lcp", "complete"); /* its study names the file */
  ok(shell("mv state forgotten"), "what is remembered is put away");
  refuses(3, "status study-lcp", "; this run used --plugin ");
  ok(strstr(err, "mine-lcp/mine-lcp.so") != NULL, "... and the file is named");
  says("status study-lcp --plugin mine-lcp/mine-lcp.so", "complete");
  int status = run("run mine-lcp/study.yaml --plugin mine-lcp/mine-lcp.so -o study-lcp --no-report "
                   "--set measure.repeats=0");
  ok(status == 0 && strstr(err, " 0 to run") != NULL, "the same plug-in: nothing is run again");
  ok(shell("sed -i 's/, 1, 0, 2, PERP_OPEN/, 1.1, 0, 2, PERP_OPEN/' mine-lcp/mine-lcp.c && make -C "
           "mine-lcp "
           "PERP_CFLAGS=\"$(%s version --cflags)\"",
           program),
     "the plug-in is changed and built again");
  status = run("run mine-lcp/study.yaml --plugin mine-lcp/mine-lcp.so -o study-lcp --no-report "
               "--set measure.repeats=0");
  if (!ok(status == 0 && strstr(err, "15 to repeat (their plug-in has changed), 15 to run") != NULL,
          "its cells are run again, the others are not"))
    complain();
}

/* The row of a table whose line has all of these. */
static bool row(const char *csv, const char *a, const char *b, const char *c)
{
  for (const char *s = csv; s != NULL && *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
    char *line = perp_xprintf("%.*s", (int)strcspn(s, "\n"), s);
    bool found = strstr(line, a) != NULL && strstr(line, b) != NULL && strstr(line, c) != NULL;
    free(line);
    if (found) return true;
  }
  return false;
}

/* ---- the key `plugins` of a study: it is one file to run ---- */

#define KEYED(plugins, names)                                                                      \
  "schema: perp-study/1\n"                                                                         \
  "kind: lcp\n"                                                                                    \
  "study: { name: keyed }\n"                                                                       \
  "plugins: " plugins "\n"                                                                         \
  "problems: { generate: [{ family: spd, n: [4, 8] }] }\n"                                         \
  "grid: { lcp: [" names "] }\n"                                                                   \
  "accept: { targets: [1e-8] }\n"                                                                  \
  "measure: { repeats: 1 }\n"                                                                      \
  "metrics: { primary: time.cpu, record: [rel, iterations] }\n"

static void test_study(const char *folder)
{
  ok(shell("mkdir -p a/deep b/deep && cp %s/slowed0.so a/slow.so && cp %s/slowed0.so b/slow.so",
           folder, folder),
     "a plug-in in two places");
  write_file("a/deep/keyed.yaml", KEYED("[../slow.so]", "dantzig, slowed"));
  ok(shell("cp a/deep/keyed.yaml b/deep"), "a study in two places");
  says("check a/deep/keyed.yaml", "4 runs");
  says("plan a/deep/keyed.yaml", "slowed");
  int status = run("run a/deep/keyed.yaml -o keyed -q");
  char *table = perp_read_file("keyed/derived/cells.csv", NULL);
  ok(status == 0 && row(table, "slowed", ",ok,", "") && row(table, "dantzig", ",ok,", "") &&
         perp_exists("keyed/report.html"),
     "its path is from the study's folder: it runs, and has a page");
  char cell[17] = "";
  const char *at = table != NULL ? strstr(table, ",ok,") : NULL;
  for (const char *s = table; s != NULL && *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strstr(s, "slowed") != NULL && strcspn(s, "\n") > (size_t)(strstr(s, "slowed") - s))
      snprintf(cell, sizeof cell, "%.16s", s);
  ok(at != NULL && strlen(cell) == 16, "a cell of it: %s", cell);
  free(table);
  says("status keyed", "complete");
  says("answer keyed", "slowed");
  says("report keyed", "report.html");
  char *words = perp_xprintf("rerun keyed %s", cell);
  says(words, "same");
  free(words);
  words = perp_xprintf("show keyed %s", cell);
  says(words, "slowed");
  ok(strstr(out, "a/slow.so") != NULL, "the command of the cell alone loads the file");
  free(words);
  says("run keyed/study.yaml -o keyed", "4 runs");
  says("explain a/deep/keyed.yaml 'lcp == slowed' -o keyed", "slowed");
  /* scripts of a cluster: from any folder */
  says("cluster parallel a/deep/keyed.yaml -o jobs --tasks 2", "4 runs in 2 task(s)");
  ok(shell(
         "cd / && sh %s/jobs/cluster/start.sh && grep -q ',ok,.*slowed' %s/jobs/derived/cells.csv",
         program_dir, program_dir),
     "the jobs of a cluster load it");
  /* parts from machines where it lies elsewhere */
  ok(run("run a/deep/keyed.yaml --shard 1/2 -o part1 -q --no-report") == 0 &&
         run("run b/deep/keyed.yaml --shard 2/2 -o part2 -q --no-report") == 0,
     "two parts, each with a file of its own");
  ok(run("merge part1 part2 -o whole --plugin a/slow.so") == 0 &&
         file_has("whole/derived/cells.csv", "slowed"),
     "... are parts of one run");
  if (!file_has("whole/derived/cells.csv", "slowed")) complain();
  /* --plugin takes the place of a file of the same name */
  ok(shell("mv a/slow.so slow.so"), "the file is moved");
  refuses(3, "status keyed", "cannot read the plug-in ");
  says("status keyed --plugin slow.so", "complete");
  says("check a/deep/keyed.yaml --plugin slow.so", "4 runs");
  ok(shell("mv slow.so a/slow.so"), "... and back");
  says("status keyed", "complete");
  ok(shell("cp %s/slowed20.so a/slow.so", folder), "it is changed");
  refuses(3, "status keyed", "study.yaml:");
  ok(strstr(err, "you have not run this version of it") != NULL,
     "a folder is data: code that nobody has run is not loaded by it");
  status = run("run a/deep/keyed.yaml -o keyed -q");
  ok(status == 0, "running the study is");
  says("status keyed", "complete");

  /* what is wrong, in which line */
  static const struct {
    const char *plugins, *says;
  } wrong[] = { { "[nowhere.py]", "cannot read the plug-in nowhere.py: No such file" },
                { "nowhere.so", "cannot read the plug-in nowhere.so: No such file" },
                { "[a/deep/keyed.yaml]", "cannot load" },
                { "[{ file: x.so }]", "plugins must be a list of single values" } };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    char *text = perp_xprintf(KEYED("%s", "dantzig"), wrong[i].plugins);
    write_file("wrong.yaml", text);
    refuses(3, "run wrong.yaml", wrong[i].says);
    ok(strncmp(err, "wrong.yaml:4:", 13) == 0 && strstr(err + 1, "error:") != NULL &&
           strstr(strstr(err, "error:") + 1, "error:") == NULL,
       "... one error, in line 4");
    free(text);
  }
  char *text = perp_xprintf(KEYED("%s/unfit6.so", "dantzig"), folder);
  write_file("wrong.yaml", text);
  refuses(3, "check wrong.yaml", "crashes while it is loaded: signal 6");
  free(text);
}

/* ---- installed: headers, perp.pc, the program outside of the source tree ---- */

static void test_installed(void)
{
  const char *build = getenv("PERP_BUILD_ROOT");
  if (build == NULL || !shell("command -v meson pkg-config")) {
    skip("no meson or pkg-config", "an installed perp serves plug-ins");
    return;
  }
  ok(shell("DESTDIR=$PWD/inst meson install -C %s --no-rebuild --quiet", build), "meson install");
  char *prefix = perp_xprintf("%s/inst%s", program_dir, PERP_PREFIX);
  char *flags = perp_xprintf("PKG_CONFIG_PATH=$(dirname $(find $PWD/inst -name perp.pc)) "
                             "pkg-config --define-variable=prefix=%s",
                             prefix);
  ok(shell("test -n \"$(find inst -name perp.pc)\" && test -f %s/include/perp/perp.h", prefix),
     "perp.pc and perp.h are there");
  ok(shell("cd %s/share && bash -n bash-completion/completions/perp && test -s "
           "zsh/site-functions/_perp && "
           "test -s fish/vendor_completions.d/perp.fish && test -s man/man1/perp.1",
           prefix),
     "completions of three shells and the man page are there");
  /* each installed header can be included first and alone */
  ok(shell("cd %s/include/perp && for h in $(find . -name '*.h'); do printf '#include \"%%s\"\\n' "
           "$h | "
           "gcc -std=gnu11 -Wall -Werror -fsyntax-only -I. -x c - || exit 1; done",
           prefix),
     "each installed header compiles alone");
  ok(shell("unset PERP_HOME; %s/bin/perp new plugin lcp --name away && "
           "gcc -std=gnu11 -shared -fPIC -O2 -Wall -Wextra -Werror $(%s --cflags perp) away/away.c "
           "-o "
           "away/away.so",
           prefix, flags),
     "a plug-in builds against perp.pc");
  ok(shell("unset PERP_HOME; %s/bin/perp list lcp --plugin away/away.so | grep -q '^ *away '",
           prefix),
     "the installed program lists it");
  ok(shell("unset PERP_HOME; %s/bin/perp test --plugin away/away.so | grep -q 'failed 0, skipped'",
           prefix),
     "the installed contract tests hold");
  free(flags);
  free(prefix);
}

/* A build tree with the program alone, as the launcher makes it: the contract test is built when it
 * is asked for. */
static void test_bare_tree(void)
{
  const char *root = getenv("PERP_BUILD_ROOT");
  char *tree = perp_xprintf("%s/tree", program_dir);
  ok(shell("mkdir -p %s/experiments && cp %s %s/experiments/perp && "
           "printf 'rule link\\n  command = ln -s %s/$out $out\\n"
           "build tests/contract/test_lcp: link\\n' >%s/build.ninja",
           tree, program, tree, root, tree) &&
         shell("%s/experiments/perp new plugin lcp --name bare && make -C bare check "
               "PERP=%s/experiments/perp PERP_CFLAGS=\"$(%s version --cflags)\"",
               tree, tree, program) &&
         file_has("shell.txt", "building the contract test of kind lcp (once)") &&
         file_has("shell.txt", "failed 0, skipped"),
     "make check of a new plug-in builds the contract test that it needs");
  ok(shell("make -C bare check PERP=%s/experiments/perp PERP_CFLAGS=\"$(%s version --cflags)\"",
           tree, program) &&
         !file_has("shell.txt", "building"),
     "once");
  free(tree);
}

/* A formulation of one's own: another name for one of perp, to see that the contract tests look at
 * it. */
static void test_formulation(void)
{
  write_file("mine.c", "#include \"perp.h\"\n"
                       "extern const perp_formulation_desc perp_formulation_acceleration;\n"
                       "static perp_formulation_desc mine;\n"
                       "__attribute__((constructor)) static void fill(void)\n"
                       "{\n"
                       "  mine = perp_formulation_acceleration;\n"
                       "  mine.d.name = \"mine\";\n"
                       "}\n"
                       "PERP_OUTSIDE({ PERP_KIND_formulation, &mine.d });\n");
  ok(shell("gcc -std=gnu11 -shared -fPIC $(%s version --cflags) mine.c -o mine.so", program),
     "a formulation builds");
  says("simulate pendulum --formulation mine --ode rk4 --t-end 0.1s --plugin ./mine.so",
       "formulation mine");
  json_t *j = json_of("test --plugin ./mine.so --json", 0);
  const json_t *conformance = json_array_get(j, 0);
  ok(json_integer_value(json_object_get(conformance, "held")) > 50 &&
         json_integer_value(json_object_get(conformance, "failed")) == 0,
     "the contract tests of formulations look at it and hold");
  json_decref(j);
}

/* ---- files that must not be loaded ---- */

static void test_unfit(const char *folder)
{
  char *version = perp_xprintf(
      "was built for interface version %d, but this perp has version %d; build it again",
      PERP_ABI + 1, PERP_ABI);
  const char *const why[] = { "it does not end in PERP_OUTSIDE",
                              version,
                              "perp_ctx has",
                              "a metric 'steps' exists already",
                              "undefined symbol: perp_no_such_function",
                              "crashes while it is loaded: signal 6",
                              "ends the program while it is loaded",
                              "metric unfit has no value",
                              "the name of a metric must consist of lower-case",
                              "bodies_min and bodies_max must be 1 to 16: got 1 and 17",
                              "declares neither IN_SPACE nor IN_PLANE",
                              "declares CONSERVATIVE, but has no energy",
                              "a force 'spring' exists already",
                              "own is reserved for joints included in perp",
                              "joint unfit has no rows",
                              "joint unfit has neither evaluate nor at_time",
                              "joint unfit has both evaluate and at_time",
                              "joint unfit: at_time excludes bias and prescribed",
                              "controllers cannot be plug-ins" };
  for (int i = 1; i <= (int)(sizeof why / sizeof *why); i++) {
    char *words = perp_xprintf("list metrics --plugin %s/unfit%d.so", folder, i);
    refuses(3, words, why[i - 1]);
    free(words);
  }
  free(version);
  refuses(2, "list lcp --plugin nowhere.so", "cannot read the plug-in nowhere.so: No such file");
  write_file("text.so", "not an object\n");
  refuses(3, "list lcp --plugin text.so", "cannot load");
  refuses(2, "list lcp --plugin", "--plugin needs a value");
}

/* ---- code that misbehaves ---- */

static int rows(const char *csv, const char *part)
{
  int n = 0;
  for (const char *s = csv; (s = strstr(s, part)) != NULL; s++) n++;
  return n;
}

static void test_bad(const char *folder)
{
  write_file("bad.yaml",
             "schema: perp-study/1\n"
             "kind: lcp\n"
             "study: { name: bad }\n"
             "problems: { generate: [{ family: [spd], n: 8, instances: 1 }] }\n"
             "grid: { lcp: [dantzig, bad-segv, bad-loop, bad-memory, bad-nan, pgs, lemke] }\n"
             "accept: { targets: [1e-8] }\n"
             "measure: { repeats: 2 }\n"
             "limits: { timeout: 1 s, memory: 256 MiB }\n");
  char *words = perp_xprintf("run bad.yaml --plugin %s/bad.so -o bad -q -j 2%s", folder,
                             SANITIZED ? " --skip 'lcp == \"bad-memory\"'" : "");
  int status = run(words);
  free(words);
  if (!ok(status == 5, "a study with four bad solvers: status 5, got %d", status)) complain();
  char *csv = perp_read_file("bad/derived/cells.csv", NULL);
  ok(row(csv, "bad-segv", ",crash,", "signal 11 (Segmentation fault)"),
     "a crash: one row, its signal");
  ok(row(csv, "bad-loop", ",timeout,", "killed at the time limit of 1 s"),
     "an endless loop: one row, the time limit");
  if (SANITIZED)
    skip("no memory limit under a sanitizer", "endless allocation: one row, the memory limit");
  else
    ok(row(csv, "bad-memory", ",oom,", "memory limit of 256 MiB reached"),
       "endless allocation: one row, the memory limit");
  ok(row(csv, "bad-nan", ",unsolved,", "") && !row(csv, "bad-nan", ",ok,", "") &&
         row(csv, "bad-nan", "not-finite", ""),
     "an answer of NaN: one row, not finite");
  ok(rows(csv, ",ok,") == 3 && row(csv, ",ok,", "dantzig", "") && row(csv, ",ok,", "pgs", "") &&
         row(csv, ",ok,", "lemke", ""),
     "the three others finished");
  if (csv == NULL || rows(csv, ",ok,") != 3) printf("# %.2000s\n", csv);
  free(csv);
  ok(perp_exists("bad/report.html"), "and the report is there");
  words = perp_xprintf("show bad --plugin %s/bad.so ", folder);
  csv = perp_read_file("bad/derived/cells.csv", NULL);
  for (const char *s = csv; s != NULL && *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n') {
    if (strncmp(s + 16, ",crash,", 7) != 0) continue;
    char *show = perp_xprintf("%s%.16s", words, s);
    says(show, "about to use a null pointer");
    free(show);
  }
  free(csv);
  free(words);

  words = perp_xprintf("simulate pendulum --formulation acceleration --ode bad-nan --t-end 0.1s "
                       "--json --plugin %s/bad.so",
                       folder);
  json_t *j = json_of(words, 10);
  ok(j != NULL && strcmp(json_string_value(json_object_get(j, "status")), "diverged") == 0,
     "an integrator of NaN diverges");
  json_decref(j);
  free(words);
  /* the contract tests survive the same plug-ins */
  words = perp_xprintf("test --plugin %s/bad.so --timeout 20s --json", folder);
  j = json_of(words, 10);
  ok(json_array_size(j) == 5 && json_is_false(json_object_get(json_array_get(j, 0), "complete")) &&
         strstr(json_string_value(json_object_get(json_array_get(j, 0), "ended")),
                "crashed: signal 11") != NULL,
     "the conformance report of a solver that crashes says so");
  json_decref(j);
  free(words);
}

/* a solver that changes its problem is judged on the problem as it was */
static void test_liar(const char *folder)
{
  write_file("one.json", "{\"n\":1,\"A\":[[2]],\"b\":[-2]}");
  char *words = perp_xprintf("lcp solve one.json --lcp liar --json --plugin %s/liar.so", folder);
  json_t *j = json_of(words, 10);
  const json_t *status = json_object_get(j, "reason"), *rel = json_object_get(j, "residual");
  ok(j != NULL && json_is_string(status) && strcmp(json_string_value(status), "inaccurate") == 0 &&
         json_number_value(rel) == 1,
     "lcp solve: a solver that makes b = 0 has not solved b = -2");
  json_decref(j);
  free(words);
  words = perp_xprintf("simulate stack:boxes=2 --lcp liar --t-end 50ms --json --plugin %s/liar.so",
                       folder);
  j = json_of(words, 9);
  const json_t *lcp = json_object_get(j, "lcp");
  const long long problems = json_integer_value(json_object_get(lcp, "problems"));
  ok(problems > 0 && json_integer_value(json_object_get(lcp, "solved")) == 0 &&
         json_integer_value(json_object_get(lcp, "failures")) == problems &&
         strcmp(json_string_value(json_object_get(j, "status")), "unsolved") == 0,
     "simulate: %lld problems, none of them solved", problems);
  json_decref(j);
  free(words);
}

/* engines that misbehave: a row each, with its cause; a good one beside them, and what it does not
 * serve */
static void test_engines(const char *folder)
{
  write_file("engines.yaml",
             "schema: perp-study/1\n"
             "t_end: 50 ms\n"
             "h: 10 ms\n"
             "limits: { timeout: 1 s }\n"
             "grid:\n"
             "  scene: [free-body, \"chain:links=2\"]\n"
             "  engine: [perp, fall, fall-segv, fall-loop, fall-ends, fall-nan, fall-fails]\n"
             "report: { plots: [\"failure-matrix(engine)\"] }\n");
  char *words = perp_xprintf("run engines.yaml -o engines --no-report -q --plugin %s/engines.so",
                             folder);
  const int status = run(words);
  free(words);
  if (!ok(status == 5, "a study with five bad engines: status 5, got %d", status)) complain();
  if (!ok(strstr(out, "\n              ab\n  perp        ++\n  fall        +-\n  fall-segv   C-\n"
                      "  fall-loop   T-\n  fall-ends   C-\n  fall-nan    D-\n  fall-fails  D-\n"
                      "  a=free-body b=chain:links=2\n") != NULL &&
              strstr(out, "\n  fall-nan\n    1 diverged: stopped at t = 0 s: not-finite: ") != NULL,
          "how each ended on each scene, and why"))
    tap_note("%.3000s\n", out);
  char *csv = perp_read_file("engines/derived/cells.csv", NULL);
  ok(row(csv, "fall-segv", ",crash,", "signal 11 (Segmentation fault)"), "an engine that crashes");
  ok(row(csv, "fall-loop", ",timeout,", "killed at the time limit of 1 s"), "one that hangs");
  ok(row(csv, "fall-ends", ",crash,", ""), "one that ends the program");
  ok(row(csv, "fall-nan", ",diverged,", "returned a state of body 0 that is not finite"),
     "one that answers NaN");
  ok(row(csv, "fall-fails", ",diverged,", "its buffer is full"), "one that says that it failed");
  ok(row(csv, ",fall,", ",ok,", "fall 1, nothing to choose"), "a good one, and what it resolved");
  ok(rows(csv, ",unsuited,") == 12 /* status and reason */ &&
         row(csv, "chain", ",unsuited,", "does not support the joint 'ball'"),
     "what they do not serve is unsuited");
  ok(rows(csv, ",ok,") == 3, "and perp goes on");
  if (csv == NULL || rows(csv, ",ok,") != 3) printf("# %.2000s\n", csv);
  free(csv);
  words = perp_xprintf("report engines --plugin %s/engines.so", folder);
  ok(run(words) == 0 && file_has("engines/report.html", "\"endings\": {\"part\": \"engine\"") &&
         file_has("engines/report.html", "\"fall-segv\""),
     "and in the report");
  free(words);
  words = perp_xprintf("simulate free-body --engine fall --lcp pgs --plugin %s/engines.so", folder);
  refuses(2, words, "has no effect with an external engine");
  free(words);
}

/* models that contradict themselves: one line that names the culprit, and the status of wrong input
 */
static void test_models(const char *folder)
{
  static const struct {
    const char *what, *says;
  } cases[] = {
    { "limits", "drive 0 'stop': no finite value lies within the limits: got [2, 1]" },
    { "axis", "joint 0 'rail': axis_a is zero or not finite" },
    { "self", "joint 0 'rail': connects a body with itself" },
    { "stiffness", "joint 0 'rail': stiffness and damping must be in [0, inf): got -5 and 0" },
    { "servo", "drive 0 'stop': stiffness and damping must be in [0, inf): got -5 and 0" },
    { "curve",
      "joint 0 'rail': the lower end of the line must be below its upper end: got [3, 2]" },
    { "domain", "joint 0 'rail': the point starts at s = 0, outside the domain [1, 2]" },
    { "anchor", "joint 0 'rail': the initial position contradicts it: |C| = 0.5" },
    { "no-axis", "joint 0, a slider joint, does not leave a coordinate about axis_b free" },
    { "slender", "body 0 'block': inertia is not positive definite" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *words = perp_xprintf("simulate bad-model:what=%s --plugin %s/models.so", cases[i].what,
                               folder);
    refuses(2, words, cases[i].says);
    const char *end = strchr(err, '\n');
    ok(end == NULL || end[1] == '\0', "%s: in one line", cases[i].what);
    free(words);
  }
  /* a scene that crashes, or never comes to an end, is a message of `check`, and one cell */
  write_file("scenes.yaml", "schema: perp-study/1\n"
                            "t_end: 10 ms\n"
                            "limits: { timeout: 1 s }\n"
                            "grid: { scene: \"bad-model:what=[crash, loop, limits, good]\" }\n");
  char *words = perp_xprintf("check scenes.yaml --plugin %s/models.so", folder);
  says(words, "1 of 4 runs cannot be set up and will be skipped:\n  1: drive 0 'stop': no finite "
              "value lies within the limits");
  ok(strstr(out, "2 of 4 runs fail during set-up:\n  1: crash: signal 6") != NULL &&
         strstr(out, "  1: timeout: killed at the time limit of 1 s (run") != NULL,
     "... and how two fail");
  free(words);
  words = perp_xprintf("run scenes.yaml -o scenes --no-report --plugin %s/models.so", folder);
  ok(run(words) == 5 && strstr(out, "4 runs: 1 ok, 1 timeout, 1 crash, 1 skipped") != NULL,
     "... and run has a row for each");
  free(words);
  refuses(2, "simulate spring:stiffness=-1", "spring.stiffness must be in (0, inf) N/m: got -1");
  /* a curve that ends is no error: its bead leaves it */
  says("simulate bead:track=ramp", "released; its point left the curve");
  /* a part of another kind */
  refuses(2, "simulate pendulum --stab ggl", "it is a formulation (--formulation ggl)");
}

int main(void)
{
  /* a segmentation fault is to end the process as it does without a sanitizer */
  if (SANITIZED) setenv("ASAN_OPTIONS", "handle_segv=0", 1);
  program_open();
  const char *folder = getenv("PERP_BAD_PLUGINS");
  if (folder == NULL) bail("PERP_BAD_PLUGINS names no folder");
  test_formulation();
  test_bare_tree();
  test_unfit(folder);
  test_models(folder);
  test_liar(folder);
  test_bad(folder);
  test_engines(folder);
  test_study(folder);
  if (SANITIZED)
    skip("plug-ins of the template are built without the sanitizer", "templates");
  else {
    test_templates();
    test_memory();
    test_installed();
  }
  program_close();
  return tap_done();
}
