/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results folders that are empty, partial, damaged: a page or a one-line error, never a crash. With
 * an argument: how many random damages (40). */
#include "tests/cli/program.h"

#include <dirent.h>

static const char study[] =
    "schema: perp-study/1\n"
    "study: { name: small, title: A small study }\n"
    "scene: pendulum\n"
    "t_end: 0.1 s\n"
    "formulation: acceleration\n"
    "grid:\n"
    "  h: [4 ms, 2 ms, 1 ms]\n"
    "  ode: [rk4, midpoint]\n"
    "  stab: [none, \"baumgarte:alpha=20\"]\n"
    "measure: { repeats: 2 }\n"
    "metrics: { primary: err.q.max, record: [err.q.max, drift.pos.max, steps], series: { every: 10 "
    "ms } }\n"
    "published: [{ where: 'stab == none and h == 1 ms', metric: drift.pos.max, value: 1 mm, "
    "source: nobody, conditions: 'h == 1 ms' }]\n"
    "claims:\n"
    "  - { text: order 4, expr: 'slope(err.q.max, h, ode == rk4) > 3' }\n"
    "  - { text: a ratio, expr: 'max(err.q.max, ode == rk4) / min(err.q.max, ode == midpoint) < 1' "
    "}\n"
    "report: { plots: [convergence, work-precision, drift-vs-time, energy-vs-time, stability-map, "
    "failure-matrix, "
    "performance-profile, data-profile, ecdf-targets, time-vs-n, replay] }\n";

static void shell(const char *fmt, ...)
{
  va_list ap;
  va_start(ap, fmt);
  perp_text t = { 0 };
  perp_text_vadd(&t, fmt, ap);
  va_end(ap);
  if (system(t.s) != 0) bail("%s", t.s);
  perp_text_free(&t);
}

static int lines_of(const char *s)
{
  int n = 0;
  for (; *s != '\0'; s++) n += *s == '\n';
  return n;
}

/* The data that the script of the page reads are one JSON object. */
static bool readable_data(const char *page)
{
  char *text = perp_read_file(page, NULL), *at = text != NULL ? strstr(text, "id=\"data\">") : NULL;
  char *end = at != NULL ? strstr(at, "</script>") : NULL;
  json_t *data = NULL;
  /* infinity is 1e999 there, which the reader of a browser takes and jansson does not */
  for (char *s = at; s != NULL && (s = strstr(s, "1e999")) != NULL;) memcpy(s, "1e300", 5);
  if (end != NULL) data = json_loadb(at + 10, (size_t)(end - at) - 10, 0, NULL);
  bool good = json_is_object(data);
  json_decref(data);
  free(text);
  return good;
}

/* A page, or an error of a few lines that begins as all do. */
static bool survives(const char *words, bool page)
{
  shell("rm -f x/report.html");
  int status = run(words);
  bool said = strstr(err, "perp: error: ") == err || strstr(err, ": error: ") != NULL;
  if (status == 0 && page)
    return perp_exists("x/report.html") && file_has("x/report.html", "</html>") &&
           readable_data("x/report.html");
  if (status == 0) return true;
  return status < 64 && said && lines_of(err) <= 4;
}

static bool all_survive(const char *what)
{
  static const struct {
    const char *words;
    bool page;
  } commands[] = { { "report x --tex tex", true },
                   { "status x", false },
                   { "status x --json", false },
                   { "export x --to csv", false },
                   { "compare --as-recorded good x --json", false },
                   { "compare --as-recorded x good", false } };
  bool all = true;
  for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
    int codes = 0;
    bool good = survives(commands[i].words, commands[i].page);
    /* compare may find something: status 6 without an error */
    codes = !good && strncmp(commands[i].words, "compare", 7) == 0 && err[0] == '\0';
    if (good || codes) continue;
    all = false;
    tap_note("%s: perp %s\n", what, commands[i].words);
    complain();
  }
  return all;
}

static char *journal_path(void)
{
  DIR *d = opendir("x/journal");
  char *path = NULL;
  for (struct dirent *e; d != NULL && (e = readdir(d)) != NULL;)
    if (e->d_name[0] != '.' && path == NULL) path = perp_xprintf("x/journal/%s", e->d_name);
  if (d != NULL) closedir(d);
  return path;
}

/* Rewrite the journal: every number of `values` becomes `value`, every status `status` (NULL: as it
 * is). */
static void rewrite(const char *value, const char *status)
{
  char *path = journal_path(), *text = perp_read_file(path, NULL);
  perp_text t = { 0 };
  for (char *s = text; *s != '\0';) {
    size_t n = strcspn(s, "\n");
    json_t *line = json_loadb(s, n, 0, NULL), *values = json_object_get(line, "values"), *v;
    const char *key;
    void *next;
    if (value != NULL)
      json_object_foreach_safe(values, next, key, v)
          json_object_set_new(values, key, json_string(value));
    if (status != NULL && json_object_get(line, "status") != NULL)
      json_object_set_new(line, "status", json_string(status));
    char *dump = json_dumps(line, 0);
    perp_text_add(&t, "%s\n", dump);
    free(dump);
    json_decref(line);
    s += n + (s[n] == '\n');
  }
  write_file(path, t.s);
  perp_text_free(&t);
  free(text);
  free(path);
}

static void fresh(void)
{
  shell("rm -rf x && cp -r good x");
}

static void test_cases(void)
{
  static const struct {
    const char *what, *command;
  } cases[] = {
    { "an empty folder", "rm -rf x && mkdir x" },
    { "a study alone", "rm -rf x && mkdir x && cp good/study.yaml x" },
    { "no journal", "rm -rf x/journal" },
    { "an empty journal", "for f in x/journal/*; do : >$f; done" },
    { "a journal of its first line", "for f in x/journal/*; do head -1 $f >j; cp j $f; done" },
    { "a journal cut in a line", "for f in x/journal/*; do head -c 3000 $f >j; cp j $f; done" },
    { "one cell", "for f in x/journal/*; do grep -m 3 '' $f >j; grep -m 1 '\"event\": \"cell\"' $f "
                  ">>j; cp j $f; done" },
    { "timing rounds without results",
      "for f in x/journal/*; do grep -v '\"event\": \"cell\"' $f >j; cp j $f; done" },
    { "results without timing rounds",
      "for f in x/journal/*; do grep -v '\"event\": \"time\"' $f >j; cp j $f; done" },
    { "no series", "rm -rf x/series" },
    { "series cut short", "for f in x/series/*; do head -c 100 $f >j; cp j $f; done" },
    { "series of one row", "for f in x/series/*; do head -2 $f >j; cp j $f; done" },
    { "series that are no tables", "for f in x/series/*; do echo hello >$f; done" },
    { "no environments", "rm -rf x/env" },
    { "environments that are no JSON", "for f in x/env/*; do echo '{' >$f; done" },
    { "no derived tables", "rm -rf x/derived" },
    { "an empty plan", ": >x/plan.jsonl" },
    { "a plan of its head", "head -1 x/plan.jsonl >j && cp j x/plan.jsonl" },
    { "a plan of one cell", "head -2 x/plan.jsonl >j && cp j x/plan.jsonl" },
    { "a plan cut in a line", "head -c 1000 x/plan.jsonl >j && cp j x/plan.jsonl" },
    { "a study that is no YAML", "echo '[' >x/study.yaml" },
    { "an empty study", ": >x/study.yaml" },
    { "two journals with the same cells", "for f in x/journal/*; do cp $f $f-2.jsonl; done" },
    { "a journal of nonsense", "head -c 4000 /dev/zero | tr '\\0' '{' >x/journal/a.jsonl" },
    { "a journal of zeros", "head -c 4000 /dev/zero >x/journal/a.jsonl" },
    { "references that are no JSON", "echo no >x/reference.json" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fresh();
    shell("%s", cases[i].command);
    ok(all_survive(cases[i].what), "%s", cases[i].what);
  }
  static const struct {
    const char *what, *value, *status;
  } values[] = { { "all NaN", "nan", NULL },
                 { "all infinite", "inf", NULL },
                 { "all minus infinity", "-inf", NULL },
                 { "all numbers are texts", "many", NULL },
                 { "all zero", NULL, NULL },
                 { "all crashed", NULL, "crash" },
                 { "all timed out", NULL, "timeout" },
                 { "all out of memory", NULL, "oom" },
                 { "all diverged", "nan", "diverged" },
                 { "a status nobody knows", NULL, "sleepy" },
                 { "all planned", NULL, "planned" },
                 { "all skipped", NULL, "skipped" } };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    fresh();
    if (strcmp(values[i].what, "all zero") == 0)
      shell("sed -i 's/: [0-9.e+-]*\\([,}]\\)/: 0\\1/g' x/journal/*");
    else
      rewrite(values[i].value, values[i].status);
    ok(all_survive(values[i].what), "%s", values[i].what);
  }
}

/* Bytes changed, cut out or doubled at random places of random files. */
static void test_random(int times)
{
  static const char *const files[] = { "x/plan.jsonl", "x/study.yaml", NULL,
                                       NULL,           NULL,           "x/reference.json" };
  perp_rng *rng = perp_rng_create(5);
  int bad = 0;
  for (int k = 0; k < times; k++) {
    fresh();
    for (int d = perp_rng_int(rng, 3); d >= 0; d--) {
      int which = perp_rng_int(rng, 6);
      char *path = files[which] != NULL ? perp_xstrdup(files[which]) : journal_path();
      size_t n = 0;
      char *text = path != NULL ? perp_read_file(path, &n) : NULL;
      if (text != NULL && n > 10) {
        size_t at = (size_t)perp_rng_int(rng, (int)n), length = (size_t)perp_rng_int(rng, 40);
        if (at + length > n) length = n - at;
        perp_text t = { 0 };
        perp_text_put(&t, text, at);
        switch (perp_rng_int(rng, 5)) {
        case 0: /* other bytes */
          for (size_t i = 0; i < length; i++) {
            char c = (char)perp_rng_int(rng, 256);
            perp_text_put(&t, &c, 1);
          }
          perp_text_put(&t, text + at + length, n - at - length);
          break;
        case 1: /* a piece is missing */
          perp_text_put(&t, text + at + length, n - at - length);
          break;
        case 2: /* twice */
          perp_text_put(&t, text + at, length);
          perp_text_put(&t, text + at, n - at);
          break;
        case 3: /* the rest is missing */
          break;
        default: /* a number that nobody expects */
          perp_text_add(&t, "%s", perp_rng_int(rng, 2) ? "-1e999" : "999999999999999999999");
          perp_text_put(&t, text + at + length, n - at - length);
        }
        perp_ctx ctx;
        perp_ctx_init(&ctx);
        perp_write_file(&ctx, path, t.s != NULL ? t.s : "", t.n);
        perp_text_free(&t);
      }
      free(text);
      free(path);
    }
    char what[40];
    snprintf(what, sizeof what, "random damage %d", k);
    bad += !all_survive(what);
  }
  perp_rng_destroy(rng);
  ok(bad == 0, "%d random damages: a page or an error each time", times);
}

int main(int argc, char **argv)
{
  program_open();
  write_file("small.yaml", study);
  /* any script will do: what is tested are the data beside it */
  write_file("script.js", "0;\n");
  setenv("PERP_REPORT_JS", "script.js", 1);
  ok(run("run small.yaml -o good -q --no-report -j 2") == 0, "a good run");
  fresh();
  ok(survives("report x", true), "its report, with data for the figures");
  test_cases();
  test_random(argc > 1 ? atoi(argv[1]) : 10);
  program_close();
  return tap_done();
}
