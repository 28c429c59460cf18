/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The attacker's tests: results folders that name programs and plug-ins, links in them, texts that
 * are commands where a shell, gnuplot or a browser would read them.  `mark` is what a payload
 * leaves when it runs. */
#include "tests/cli/program.h"

#include <sys/stat.h>

static const char few[] = "schema: perp-study/1\n"
                          "study: { name: few, title: %s }\n"
                          "scene: pendulum\n"
                          "t_end: 20 ms\n"
                          "grid: { formulation: [velocity, impulse], h: [1 ms, 2 ms, 4 ms] }\n"
                          "measure: { repeats: %d }\n"
                          "metrics:\n"
                          "  primary: drift.pos.max\n"
                          "  record: [drift.pos.max, steps]\n"
                          "  series: { every: 4 ms, fields: [drift.pos, q] }\n";
/* A name for -o that is a command, or ends a quoted string and begins one. */
#define EVIL "it's;touch mark;`touch mark`$(touch mark)"
static char mark[4200], payload[4200];

static void shell(const char *command)
{
  if (system(command) != 0) bail("%s", command);
}

static bool marked(void)
{
  bool is = perp_exists(mark) || perp_exists("mark");
  unlink(mark);
  return is;
}

/* Words as they are, blanks and quotes too; the list ends with NULL. */
static int run_words(const char *first, ...)
{
  const char *argv[32] = { program, first };
  va_list ap;
  va_start(ap, first);
  for (int n = 2; n < 31 && (argv[n] = va_arg(ap, const char *)) != NULL; n++) {}
  va_end(ap);
  return finish(start_words(argv));
}

static void write_study(const char *name, const char *title, int repeats)
{
  char *text = perp_xprintf(few, title, repeats);
  write_file(name, text);
  free(text);
}

static uint64_t hash_of(const char *path)
{
  size_t n = 0;
  char *bytes = perp_read_file(path, &n);
  if (bytes == NULL) bail("no %s", path);
  uint64_t hash = perp_hash64(bytes, n, 0);
  free(bytes);
  return hash;
}

/* ---- programs and plug-ins ---- */

/* The journal of a folder says that this program and this plug-in made it, with hashes that are
 * right. */
static void forge(const char *dir, const char *path, const char *plugin)
{
  char *code = perp_xprintf("\"program\": {\"path\": \"%s\", \"hash\": \"%016llx\"}, \"plugins\": ",
                            path, (unsigned long long)hash_of(path));
  char *list = plugin == NULL ? perp_xstrdup("[]")
                              : perp_xprintf("[{\"path\": \"%s\", \"hash\": \"%016llx\"}]", plugin,
                                             (unsigned long long)hash_of(plugin));
  char *command = perp_xprintf("cd %s/journal && for f in *.jsonl; do sed 's|\"program\": {[^}]*}, "
                               "\"plugins\": \\[[^]]*\\]|%s%s|' \"$f\" >x && mv x \"$f\"; done && "
                               "grep -q '%s' *.jsonl",
                               dir, code, list, path);
  shell(command);
  free(code);
  free(list);
  free(command);
}

/* Everything that reads a folder, done to a copy of it. */
static void read_folder(const char *from, const char *what)
{
  static const char dir[] = "received";
  char *fetch = perp_xprintf("rm -rf received && cp -r %s received", from);
  shell(fetch);
  free(fetch);
  static const char *const commands[] = { "compare base %s",
                                          "compare base %s --again 1",
                                          "compare %s base --fail-on time --time-tol 0",
                                          "compare %s %s --again 1",
                                          "status %s",
                                          "show %s %s",
                                          "rerun %s %s",
                                          "rerun %s %s --time",
                                          "explain %s/study.yaml %s",
                                          "report %s",
                                          "report %s --figs svg,tikz --tex tex",
                                          "export %s --to csv -o export.csv",
                                          "merge %s -o merged",
                                          "run %s/study.yaml -o %s",
                                          "run %s/study.yaml -o %s --retry timeout" };
  char *plan = perp_xprintf("%s/plan.jsonl", dir), *text = perp_read_file(plan, NULL);
  char id[17] = "", *at = text != NULL ? strstr(text, "\"cell\": \"") : NULL;
  if (at != NULL) snprintf(id, sizeof id, "%s", at + 9);
  bool ran = false;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    bool cell = strstr(commands[i], "w %s") != NULL || strstr(commands[i], "run %s %s") != NULL ||
                strstr(commands[i], "explain") != NULL;
    char words[600];
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    snprintf(words, sizeof words, commands[i], dir, cell ? id : dir);
#pragma GCC diagnostic pop
    int status = run(words);
    if (marked()) {
      printf("# ran it: perp %s (status %d)\n", words, status);
      ran = true;
    }
    shell("rm -rf merged tex export.csv");
  }
  ok(!ran && id[0] != '\0', "%s: no command that reads the folder runs it", what);
  free(text);
  free(plan);
}

static void test_programs(void)
{
  char kept[128], object[4200];
  snprintf(object, sizeof object, "%s/payload.so", getenv("PERP_BAD_PLUGINS"));
  setenv("PERP_TEST_MARK", mark, 1);
  char *script = perp_xprintf(
      "#!/bin/sh\ntouch '%s'\necho '{\"metrics\": {\"time.step_us\": 1}}'\n", mark);
  write_file("payload", script);
  shell("chmod +x payload");
  free(script);
  shell("rm -rf base forged && cp -r real base && cp -r real forged && mkdir forged/program");
  snprintf(kept, sizeof kept, "forged/program/%016llx", (unsigned long long)hash_of("payload"));
  char *copy = perp_xprintf("cp payload %s", kept);
  shell(copy);
  free(copy);
  forge("forged", payload, NULL);
  read_folder("forged", "a program at a path that is recorded, with its hash");
  int status = run_words("compare", "base", "forged", "--again", "1", "--again-with", program,
                         "--again-with", payload, NULL);
  if (!ok(status != 2 && marked(), "it does run when the person names it")) complain();
  status = run_words("compare", "base", "forged", "--again", "1", "--again-with", program, NULL);
  ok(status == 3 && strstr(err, "is not the program that made forged") != NULL && !marked(),
     "another one that the person names is refused");
  shell("mv payload elsewhere");
  read_folder("forged", "a program that is in the folder");
  shell("mv elsewhere payload");

  shell("rm -rf forged && cp -r real forged");
  forge("forged", program, object);
  read_folder("forged", "a plug-in at a path that is recorded, with its hash");
  status = run_words("compare", "base", "forged", "--again", "1", "--again-with", program, NULL);
  ok(status == 3 && strstr(err, "--again-plugin") != NULL && !marked(),
     "... nor does naming the program load it");
  char *named = perp_xprintf("sed -i '2i plugins: [\"%s\"]' forged/study.yaml", object);
  shell(named);
  free(named);
  read_folder("forged", "a plug-in that its study names");
  status = run("status forged");
  ok(status == 3 && strstr(err, "study.yaml:2:") != NULL && strstr(err, "is not loaded") != NULL &&
         !marked(),
     "... and says why: %.120s", err);
  shell("rm -rf forged && cp -r real forged");
  forge("forged", program, object);
  shell("sed -i '1s|}$|, \"plugins\": \" --plugin x.so; touch mark\"}|; s|pendulum|nothing-known|' "
        "forged/plan.jsonl forged/study.yaml");
  status = run("status forged");
  ok(status == 3 && strstr(err, "touch mark") == NULL,
     "a forged command line is not shown as one: %.80s", err);
}

/* ---- quotes ---- */

/* The command on the line that begins with `label` of the last output, done by a shell. */
static int do_said(const char *text, const char *label)
{
  const char *at = strstr(text, label);
  if (at == NULL) return -1;
  at += strlen(label);
  at += strspn(at, " ");
  char *bin = perp_xprintf("perp() { '%s' \"$@\"; }\n%.*s >said.txt 2>&1\n", program,
                           (int)strcspn(at, "\n"), at);
  write_file("said.sh", bin);
  free(bin);
  int status = system("sh said.sh");
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_quotes(void)
{
  write_study("few.yaml", "few", 0);
  ok(run_words("run", "few.yaml", "-o", EVIL, "-q", NULL) == 0 &&
         perp_exists(EVIL "/report.html") && !marked(),
     "run -o, with its report");
  ok(run_words("report", EVIL, "-o", EVIL "2.html", "--tex", EVIL "-tex", NULL) == 0 &&
         perp_exists(EVIL "2.html") && !marked(),
     "report -o, --tex");
  ok(run_words("export", EVIL, "--to", "csv", "-o", EVIL ".csv", NULL) == 0 && !marked(),
     "export -o");
  ok(run_words("merge", EVIL, "-o", EVIL "-merged", NULL) == 0 && !marked(), "merge -o");
  ok(run_words("lesson", "drift", "-o", EVIL "-lesson", "--html", EVIL "-lesson.html", "--answer",
               "1", NULL) == 0 &&
         perp_exists(EVIL "-lesson.html") && strstr(out, "no figure") == NULL && !marked(),
     "lesson -o, --html");
  ok(run_words("simulate", "pendulum", "--t-end", "10ms", "--series", EVIL ".series", NULL) == 0 &&
         perp_exists(EVIL ".series") && !marked(),
     "simulate --series");
  ok(run_words("new", "plugin", "lcp", "--name", "evil", "-o", EVIL "-plugin", NULL) == 0 &&
         !marked(),
     "new plugin -o");
  ok(do_said(err, "next: ") >= 0 && !marked(), "... and what it says to do next");
  ok(run_words("new", "study", "-o", EVIL ".yaml", "--name", "few", NULL) == 0 && !marked(),
     "new study -o");
  ok(run_words("cluster", "parallel", "few.yaml", "-o", EVIL "-jobs", "--tasks", "2", NULL) == 0 &&
         !marked(),
     "cluster parallel -o");
  int status = do_said(out, "start ");
  ok(status == 0 && perp_exists(EVIL "-jobs/report.html") && !marked(),
     "... the scripts that it wrote run, and run nothing else (%d)", status);
  ok(run_words("cluster", "parallel", "few.yaml", "-o", EVIL "-now", "--tasks", "2", "--submit",
               NULL) == 0 &&
         perp_exists(EVIL "-now/report.html") && !marked(),
     "cluster --submit");
  shell("cp few.yaml \"it's;touch mark.yaml\"");
  ok(run_words("plan", "it's;touch mark.yaml", "--shards", "2", "--set", "t_end=10 ms", NULL) ==
             0 &&
         do_said(out, "work: ") == 0 && perp_exists("few-1/plan.jsonl") && !marked(),
     "plan --shards: its command runs as it was meant");
  char *plugin = perp_xprintf("cp \"$PERP_BAD_PLUGINS/slowed0.so\" \"it's\\`touch mark\\`.so\"");
  shell(plugin);
  free(plugin);
  ok(run_words("plan", "few.yaml", "--shards", "2", "--plugin", "it's`touch mark`.so", NULL) == 0 &&
         do_said(out, "work: ") >= 0 && !marked(),
     "a plug-in with such a name in a command");
}

/* Texts of a study where gnuplot, LaTeX and a browser read them. */
static void test_texts(void)
{
  write_study("evil.yaml",
              "\"it's `touch mark` </title></script><script>x()</script> \\\\write18{touch mark} "
              "\\n! touch mark\\n', system('touch mark'), '\"",
              0);
  int status = run_words("run", "evil.yaml", "-o", "evil", "-q", NULL);
  ok(status == 0 && !marked(), "a title of commands: %.200s", err);
  ok(file_has("evil/report.html", "&lt;script&gt;x()") &&
         !file_has("evil/report.html", "<script>x()"),
     "in the page it is text");
  ok(file_has("evil/report.html",
              "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; ") &&
         file_has("evil/report.html", "script-src '") && !file_has("evil/report.html", "unsafe-"),
     "the page has a policy without exceptions");
  shell("mkdir -p evil/figs");
  write_file("evil/figs/gnuplot-tikz.lua", "os.execute(\"touch '../../mark'; touch mark\")\n");
  run_words("report", "evil", "--figs", "svg,tikz", "--tex", "tex", NULL);
  ok(!marked() && !perp_exists("evil/figs/mark"), "a script planted beside the figures is not run");
  ok(!file_has("tex/tables.tex", "\\write18") && !file_has("tex/numbers.tex", "\\write18"),
     "no control sequence reaches LaTeX");
}

/* ---- links ---- */

static void fresh_folder(void)
{
  shell("rm -rf linked outside && cp -r real linked && mkdir outside && echo mine >outside/mine && "
        "chmod -R u+w linked");
}

static bool untouched(void)
{
  return system("test \"$(ls -A outside)\" = mine && test \"$(cat outside/mine)\" = mine") == 0;
}

static void test_links(void)
{
  static const char *const folders[] = { "journal", "series",  "replay", "log",
                                         "env",     "derived", "figs",   "program" };
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    fresh_folder();
    char *plant = perp_xprintf("rm -rf linked/%s && ln -s ../outside linked/%s", folders[i],
                               folders[i]);
    shell(plant);
    free(plant);
    int status[] = { run("run few.yaml -o linked -q"), run("run few.yaml -o linked -q --fresh"),
                     run("run few.yaml -o linked -q --keep-program"),
                     run("report linked --figs svg") };
    /* a run writes no figures */
    const int first = strcmp(folders[i], "figs") == 0 ? status[3] : status[0];
    ok(untouched() && (first != 0 || strcmp(folders[i], "program") == 0),
       "linked/%s leads outside: nothing is written or removed there (%d %d %d %d)", folders[i],
       status[0], status[1], status[2], status[3]);
  }
  static const char *const files[] = {
    "derived/cells.csv", "derived/timing.csv", "study.yaml~", "report.html", ".lock", "figs/x"
  };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    fresh_folder();
    char *plant = perp_xprintf("mkdir -p linked/figs && ln -sf ../%soutside/mine linked/%s",
                               strchr(files[i], '/') != NULL ? "../" : "", files[i]);
    shell(plant);
    free(plant);
    run("run few.yaml -o linked -q");
    run("run few.yaml -o linked -q --fresh");
    run("report linked --figs svg");
    ok(untouched(), "linked/%s leads to a file: it stays as it is", files[i]);
  }
  /* every file that a cell and a report write */
  fresh_folder();
  shell("cd linked && for f in $(find series replay log figs derived -type f); do ln -sf "
        "../../outside/mine $f; done");
  shell("cp linked/plan.jsonl ids; cd linked && for id in $(grep -o '\"cell\": \"[0-9a-f]*' "
        "plan.jsonl "
        "| cut -d'\"' -f4); do ln -sf ../../outside/mine log/$id.err; ln -sf ../../outside/mine "
        "series/$id.csv; ln -sf ../../outside/mine replay/$id.json; done; rm -rf journal");
  int status = run("run few.yaml -o linked -q");
  ok(status == 0 && untouched() && file_has("linked/derived/cells.csv", "ok"),
     "links in the place of all files: they are replaced (%d)", status);
  ok(run("status linked") == 0 && strstr(out, "complete") != NULL, "... by the results");

  fresh_folder();
  shell("ln -s ../outside/mine linked/env/secret.json");
  status = run("merge linked -o joined");
  ok(!file_has("joined/env/secret.json", "mine"), "merge copies nothing from outside (%d)", status);
  shell("ln -s outside/mine named.csv");
  ok(run("simulate pendulum --t-end 10ms --series named.csv") == 0 && untouched() &&
         file_has("named.csv", "t[s]"),
     "simulate --series replaces a link");
  ok(run("lcp generate spd --n 3 -o named.csv") != 0 || untouched(), "lcp generate -o, too");
}

static void test_temporary(void)
{
  shell("mkdir -p temporary && rm -rf joined");
  char *here = perp_xprintf("%s/temporary", program_dir);
  setenv("TMPDIR", here, 1);
  ok(run("lesson drift --answer 1") == 0 && run("report real --figs svg") == 0 &&
         run("run few.yaml -o again -q") == 0 &&
         system("test -z \"$(ls -A temporary)\" && test -z \"$(find again real -name '*.tmp')\"") ==
             0,
     "nothing is left in TMPDIR");
  setenv("TMPDIR", "/nonexistent", 1);
  int status = run("lesson drift --answer 1");
  ok(status == 1 && strstr(err, "/nonexistent") != NULL, "TMPDIR is where they are: %.100s", err);
  unsetenv("TMPDIR");
  free(here);
}

int main(void)
{
  program_open();
  snprintf(mark, sizeof mark, "%s/mark", program_dir);
  snprintf(payload, sizeof payload, "%s/payload", program_dir);
  write_study("few.yaml", "few", 3);
  if (run("run few.yaml -o real -q -j 1") != 0) {
    complain();
    bail("no run");
  }
  test_programs();
  test_quotes();
  test_texts();
  test_links();
  test_temporary();
  program_close();
  return tap_done();
}
