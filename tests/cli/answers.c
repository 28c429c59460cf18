/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One answer in four places: what the terminal, the page, the LaTeX files and answers.json say
 * about a study is the same text.  For every study that comes with perp, on made-up results of its
 * short cells, and for a study of one's own that is run. */
#include "experiments/lcp/kind_lcp.h"
#include "experiments/simulate/kind_gradient.h"
#include "experiments/metrics/metrics.h"
#include "experiments/pages/latex.h"
#include "experiments/report/report.h"
#include "experiments/answers/findings.h"
#include "experiments/simulate/kind_simulate.h"
#include "experiments/study/describe.h"
#include "experiments/scenes/scene_file.h"
#include "models/models.h"
#include "tests/cli/program.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>

static perp_ctx ctx;
static const perp_cell_kind *const kinds[] = { &perp_kind_simulate, &perp_kind_lcp,
                                               &perp_kind_gradient, NULL };

/* ---- made-up results of a study ---- */

/* A number in (0, 1) from a text. */
static double drawn(const char *id, const char *what)
{
  const uint64_t h = perp_hash64(what, strlen(what), perp_hash64(id, strlen(id), 1));
  return ((double)(h >> 11) + 1) / 9007199254740993.;
}

static void made_line(const perp_study *s, const char *id, perp_text *t)
{
  const double luck = drawn(id, "status");
  const char *status = luck < 0.7   ? "ok"
                       : luck < 0.8 ? "unsuited"
                       : luck < 0.9 ? "diverged"
                                    : "unsolved";
  perp_text_add(
      t,
      "{\"event\":\"cell\",\"cell\":\"%s\",\"attempt\":1,\"status\":\"%s\",\"reason\":\"%s\","
      "\"cpu_s\":1,\"wall_s\":1,\"values\":{",
      id, status,
      luck < 0.05                 ? "infeasible"
      : strcmp(status, "ok") == 0 ? "converged"
                                  : status);
  for (int m = 0; m < s->n_metrics; m++)
    perp_text_add(t, "%s\"%s\":%.3g", m > 0 ? "," : "", s->metric[m].name,
                  pow(10, -8 * drawn(id, s->metric[m].name)));
  perp_text_add(t, "}}\n");
}

static void made_folder(const perp_study *s, const char *dir)
{
  perp_plan plan;
  perp_selection selection = { 0 };
  perp_text t = { 0 };
  char *journal = perp_xprintf("%s/journal", dir), *path = perp_xprintf("%s/study.yaml", dir);
  perp_make_dirs(&ctx, journal);
  FILE *f = fopen(path, "w");
  perp_tree_write(s->root, f);
  fclose(f);
  free(path);
  path = perp_xprintf("%s/plan.jsonl", dir);
  if (perp_plan_make(&ctx, s, &plan) != PERP_OK ||
      perp_plan_write(&ctx, path, s, &plan, &selection) != PERP_OK)
    bail("%s: %s", s->name, ctx.msg);
  free(path);
  perp_text_add(&t, "{\"event\":\"run\",\"schema\":2}\n");
  for (int i = 0; i < plan.n; i++) made_line(s, plan.cells[i].id, &t);
  path = perp_xprintf("%s/made.jsonl", journal);
  write_file(path, t.s);
  free(path);
  free(journal);
  perp_text_free(&t);
  perp_plan_free(&plan);
}

/* ---- the four places ---- */

/* Without what a medium adds: blanks and line ends, names of characters, and the signs of LaTeX's
 * mathematics, in which letters have their names and powers are digits. */
static char *plain(const char *text)
{
  static const char *const names[][2] = {
    { "&amp;", "&" },
    { "&lt;", "<" },
    { "&gt;", ">" },
    { "&quot;", "\"" },
    { "\\textasciicircum", "" },
    { "α", "alpha" },
    { "β", "beta" },
    { "γ", "gamma" },
    { "λ", "lambda" },
    { "μ", "mu" },
    { "ω", "omega" },
    { "ρ", "rho" },
    { "θ", "theta" },
    { "×", "times" },
    { "·", "cdot" },
    { "≤", "le" },
    { "≥", "ge" },
    { "…", "ldots" },
    { "°", "circ" },
    { "−", "-" },
    { "–", "--" },
    { "—", "---" },
    { "⁰", "0" },
    { "¹", "1" },
    { "²", "2" },
    { "³", "3" },
    { "⁴", "4" },
    { "⁵", "5" },
    { "⁶", "6" },
    { "⁷", "7" },
    { "⁸", "8" },
    { "⁹", "9" },
    { "⁻", "-" },
  };
  perp_text t = { 0 };
  perp_text_put(&t, "", 0);
  while (*text != '\0') {
    bool named = false;
    for (size_t k = 0; k < sizeof names / sizeof *names && !named; k++) {
      named = *text == *names[k][0] && strncmp(text, names[k][0], strlen(names[k][0])) == 0;
      if (!named) continue;
      perp_text_add(&t, "%s", names[k][1]);
      text += strlen(names[k][0]);
    }
    if (named) continue;
    if (strchr("\\${}^", *text) == NULL && !isspace((unsigned char)*text))
      perp_text_put(&t, text, 1);
    text++;
  }
  return t.s;
}

/* Answers and findings: as texts that each place must have. */
struct said {
  const perp_answer *answer;
  const perp_finding *finding;
  int n, n_findings;
};

static bool all_have(const char *dir, const char *file, const char *more, const struct said *all)
{
  const perp_answer *a = all->answer;
  const int n = all->n;
  char *path = perp_xprintf("%s/%s", dir, file),
       *raw = more != NULL ? perp_xstrdup(more) : perp_read_file(path, NULL);
  char *text = plain(raw != NULL ? raw : "");
  bool there = n > 0;
  for (int i = 0; i < n; i++) {
    const char *const said[] = { a[i].text, a[i].basis, a[i].note };
    for (int k = 0; k < 3; k++) {
      char *part = plain(said[k]);
      if (strstr(text, part) == NULL)
        tap_note("%s has no '%s'\n", more != NULL ? "the terminal" : path, said[k]);
      there = there && strstr(text, part) != NULL;
      free(part);
    }
  }
  there = there && all->n_findings > 0;
  for (int i = 0; i < all->n_findings; i++) {
    char *part = plain(all->finding[i].text);
    if (strstr(text, part) == NULL)
      tap_note("%s lacks the finding '%s'\n", more != NULL ? "the terminal" : path,
               all->finding[i].text);
    there = there && strstr(text, part) != NULL;
    free(part);
  }
  free(text);
  free(raw);
  free(path);
  return there;
}

/* The findings of an object, in their order. */
static bool json_finds(const json_t *object, const struct said *all)
{
  const json_t *list = json_object_get(object, "findings");
  bool same = (int)json_array_size(list) == all->n_findings;
  for (int i = 0; i < all->n_findings && same; i++) {
    const json_t *one = json_array_get(list, (size_t)i);
    same = strcmp(json_string_value(json_object_get(one, "text")), all->finding[i].text) == 0 &&
           json_is_true(json_object_get(one, "lead")) == all->finding[i].lead;
  }
  return same;
}

static bool json_has(const char *dir, const struct said *all)
{
  const perp_answer *a = all->answer;
  const int n = all->n;
  char *path = perp_xprintf("%s/derived/answers.json", dir);
  json_t *j = json_load_file(path, 0, NULL), *list = json_object_get(j, "answers");
  bool same = (int)json_array_size(list) == n;
  for (int i = 0; i < n && same; i++) {
    const json_t *one = json_array_get(list, (size_t)i);
    same = strcmp(json_string_value(json_object_get(one, "answer")), a[i].text) == 0 &&
           strcmp(json_string_value(json_object_get(one, "asked")), a[i].asked) == 0 &&
           strcmp(json_string_value(json_object_get(one, "basis")), a[i].basis) == 0 &&
           (int)json_array_size(json_object_get(one, "comparisons")) == a[i].n_lines;
  }
  same = same && json_finds(j, all);
  json_decref(j);
  free(path);
  return same;
}

static void four_places(const char *name, const char *dir)
{
  perp_results r;
  const perp_answer *a;
  char page[4096], *tex = perp_xprintf("%s/tex", dir), *printed = NULL;
  size_t size = 0;
  if (perp_results_load(&ctx, dir, NULL, &r) != PERP_OK) bail("%s", ctx.msg);
  const int n = perp_results_answers(&ctx, &r, &a);
  FILE *f = open_memstream(&printed, &size);
  perp_results_summary(&ctx, &r, false, f);
  fclose(f);
  const perp_report_request request = { .tex = tex };
  const bool written = perp_results_derive(&ctx, &r) == PERP_OK &&
                       perp_report_results(&ctx, &r, &request, page, sizeof page, NULL) == PERP_OK;
  ok(written, "%s: page, tables and derived files are written", name);
  bool asked = n > 0;
  for (int i = 0; i < n; i++)
    asked = asked && !a[i].question->assumed && a[i].question->ask[0] != '\0';
  ok(asked || strcmp(name, "own") == 0, "%s says what it asks, in words and as data", name);
  struct said all = { .answer = a, .n = n };
  all.n_findings = perp_results_findings(&ctx, &r, &all.finding);
  int lead = 0;
  for (int i = 0; i < all.n_findings; i++) lead += all.finding[i].lead;
  ok(lead >= 1 && lead <= PERP_FINDINGS_LEAD, "%s: %d findings lead", name, lead);
  bool terminal = all_have(dir, "", printed, &all), html = all_have(dir, "report.json", NULL, &all);
  ok(terminal && html && all_have(dir, "tex/tables.tex", NULL, &all) && json_has(dir, &all),
     "%s: terminal, page, LaTeX and JSON have the same %d answers and %d findings", name, n,
     all.n_findings);
  free(printed);
  free(tex);
  perp_results_free(&r);
}

static void shipped(void)
{
  perp_pool pool = { 0 };
  perp_study_file *files;
  const int n = perp_study_files(&pool, &files);
  /* figures and gnuplot are not what this is about: without it the page says that figures could not
   * be drawn */
  char *path = perp_xstrdup(getenv("PATH") != NULL ? getenv("PATH") : "");
  setenv("PATH", "/nonexistent", 1);
  for (int i = 0; i < n; i++) {
    perp_diag diag = { 0 };
    perp_study *s = NULL;
    /* many scenes: their figures and plans take long, and say the same */
    const char *const few[] = { "report.plots=[]", "grid.scene=[bouncing-ball, press]" };
    const bool many = strcmp(files[i].name, "contact-canonical") == 0;
    const perp_study_request q = { .file = files[i].path, .set = few, .n_set = 1 + many };
    if (perp_study_read(&ctx, &q, &diag, &s) != PERP_OK) bail("%s", diag.text.s);
    made_folder(s, files[i].name);
    four_places(files[i].name, files[i].name);
    perp_study_free(s);
    perp_diag_free(&diag);
  }
  setenv("PATH", path, 1);
  free(path);
  ok(n >= 20, "%d studies come with perp", n);
  perp_pool_free(&pool);
}

/* ---- a study of one's own ---- */

static const char own[] =
    "schema: perp-study/1\n"
    "study: { name: own, title: Three solvers on stacks, question: Which carries which height? }\n"
    "t_end: 0.05 s\nformulation: velocity\ncontact: box\n"
    "grid:\n"
    "  lcp: [dantzig, \"pgs:max_iter=3\", fischer-newton]\n"
    "  scene: \"stack:boxes=[2, 4, 8]\"\n"
    "metrics: { primary: force.rel.err, record: [force.rel.err, time.step_us] }\n"
    "claims:\n"
    "  - { text: three, expr: 'count(lcp == dantzig) == 3' }\n"
    "  - { text: four, expr: 'count(lcp == dantzig) == 4' }\n"
    "  - { text: nobody, expr: 'max(force.rel.err, h == 1 s) < 1' }\n";

/* The widest line that a terminal gets. */
static int widest(const char *text)
{
  int most = 0, w = 0;
  for (; *text != '\0'; text++) {
    w = *text == '\n' ? 0 : w + (((unsigned char)*text & 0xc0) != 0x80);
    if (w > most) most = w;
  }
  return most;
}

static void claims_told(json_t *answers)
{
  static const char *const verdict[] = { "proved", "refuted", "undecided" };
  const json_t *claims = json_object_get(answers, "claims");
  bool right = json_array_size(claims) == 3;
  for (size_t i = 0; i < 3 && right; i++)
    right = strcmp(json_string_value(json_object_get(json_array_get(claims, i), "verdict")),
                   verdict[i]) == 0;
  ok(right, "the verdict of each claim is in the JSON");
  ok(json_number_value(json_object_get(json_array_get(claims, 1), "left")) == 3 &&
         json_number_value(json_object_get(json_array_get(claims, 1), "right")) == 4,
     "with both sides");
}

/* The table of the first answer in a box, and whether the box is wider than 8.4 cm. */
static void column_fits(void)
{
  if (system("command -v pdflatex > /dev/null 2>&1") != 0) {
    skip("no pdflatex", "the table fits a column of %s", "8.4 cm");
    return;
  }
  write_file("tex/width.tex", "\\documentclass{article}\\usepackage{textcomp,array,booktabs}\n"
                              "\\input{tables}\\begin{document}\n"
                              "\\setbox0=\\vbox{\\hsize=8.4cm\\parindent=0pt\\hfuzz="
                              "0pt\\perpAnswerTable{1}}\\end{document}\n");
  ok(system("cd tex && pdflatex -interaction=nonstopmode width.tex > width.txt 2>&1") == 0 ||
         perp_exists("tex/width.log"),
     "LaTeX reads the tables");
  char *log = perp_read_file("tex/width.log", NULL);
  ok(log != NULL && strstr(log, "Overfull") == NULL && strstr(log, "\n!") == NULL,
     "the table fits a column of 8.4 cm");
  free(log);
}

static void own_study(void)
{
  write_file("own.yaml", own);
  ok(run("run own.yaml -o own -q --no-report") == 0, "a study of three solvers over heights runs");
  ok(strstr(out, "\ndantzig ") != NULL && strstr(out, "\npgs:max_iter=3 ") != NULL &&
         strstr(out, "\nfischer-newton ") != NULL && strstr(out, "boxes=2 ") != NULL &&
         strstr(out, "boxes=8") != NULL,
     "a row for each solver, a column for each height: %s", out);
  ok(widest(out) <= 80, "in 80 columns: %d", widest(out));
  says("answer own", "question is assumed");
  setenv("COLUMNS", "50", 1);
  ok(run("answer own") == 0 && widest(out) <= 50, "in 50 where COLUMNS says so: %d", widest(out));
  unsetenv("COLUMNS");
  ok(run("answer own") == 0 && strstr(out, "┤") == NULL, "in a file there is no chart ...");
  says("answer own --plot", "┤");
  refuses(2, "answer own --plot --json", "use --json or --plot");
  json_t *j = json_of("answer own --json", 0);
  char *kept = perp_read_file("own/derived/answers.json", NULL),
       *now = json_dumps(j, JSON_COMPACT | JSON_SORT_KEYS);
  json_t *before = json_loads(kept != NULL ? kept : "", 0, NULL);
  char *then = json_dumps(before, JSON_COMPACT | JSON_SORT_KEYS);
  ok(now != NULL && then != NULL && strcmp(now, then) == 0,
     "perp answer --json is derived/answers.json");
  claims_told(j);
  free(kept);
  free(now);
  free(then);
  json_decref(j);
  json_decref(before);
  ok(run("report own --tex tex") == 0, "its page and tables");
  column_fits();
  refuses(2, "answer nowhere", "is not a results folder");
  write_file("bad.yaml", "schema: perp-study/1\nscene: pendulum\ngrid: { h: [1 ms, 2 ms] }\n"
                         "answer: { best: err.q.max, by: oed }\n");
  refuses(3, "check bad.yaml", "bad.yaml:4:32: error: answer.by: unknown parameter 'oed'");
}

int main(void)
{
  perp_ctx_init(&ctx);
  if (perp_register_models(&ctx) != PERP_OK || perp_register_metrics(&ctx) != PERP_OK ||
      perp_scene_files_register(&ctx) != PERP_OK)
    bail("%s", ctx.msg);
  perp_register_kinds(kinds);
  program_open();
  own_study();
  shipped();
  program_close();
  return tap_done();
}
