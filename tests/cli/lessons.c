/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every lesson: it reads, runs, shows what it claims, and its exercises know right from wrong. */
#include "tests/cli/program.h"

static bool has_gnuplot;

static void test_lesson(const char *name)
{
  char *words = perp_xprintf("lesson %s", name);
  int status = run(words);
  if (!ok(status == 0 && strstr(out, "PREDICT") != NULL && strstr(out, "ANSWER") != NULL &&
              strstr(out, "EXERCISE") != NULL,
          "%s: story, prediction, answer, exercise", name))
    complain();
  ok(strstr(out, "refuted:") == NULL && strstr(out, "undecided:") == NULL,
     "%s: the run shows what it claims", name);
  bool has_plots = strstr(out, "RUN ") != NULL;
  if (!has_plots)
    ok(strstr(out, "set        lambda") != NULL || strstr(out, "index set") != NULL,
       "%s: is told pivot by pivot", name);
  else if (has_gnuplot)
    ok(strstr(out, "-+\n") != NULL && strstr(out, "no figure") == NULL, "%s: draws its figures",
       name);
  else
    skip("no gnuplot", "%s: draws its figures", name);
  size_t widest = 0;
  for (const char *s = out; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strcspn(s, "\n") > widest) widest = strcspn(s, "\n");
  ok(widest <= 80 && strchr(out, '\f') == NULL, "%s: fits the screen (%zu columns)", name, widest);
  free(words);
}

/* perp check --run: the claims, the figures, the solution accepted and the wrong answer refused. */
static void test_check(const char *name)
{
  char *words = perp_xprintf("check %s/experiments/lessons/%s --run", getenv("PERP_HOME"), name);
  if (!ok(run(words) == 0 && strstr(out, "is accepted") != NULL &&
              strstr(out, "is refused") != NULL && strstr(out, "WRONG") == NULL,
          "%s: holds what it says, and its exercises know right from wrong", name))
    complain();
  free(words);
}

static void test_options(void)
{
  says("lesson list", "drift        Why constraints drift");
  says("lesson", "painleve");
  refuses(2, "lesson drfit", "did you mean 'drift'?");
  refuses(2, "lesson drift --check euler:x=1", "euler has no option 'x'");
  says("lesson lcp --answer 2", "you say: rows 1 and 3");
  refuses(2, "lesson order --check much", "a number is required");
  says("lesson drift --step", "A = J M^-1 J', 18 x 18");
  ok(strstr(out, "largest |J v|: ") != NULL, "--step shows one step in full");
  refuses(2, "lesson lcp --step", "has no scene");
  int status = run("lesson drift --html drift.html -o kept");
  ok(status == 0 && file_has("drift.html", "<title>Why constraints drift</title>") &&
         perp_exists("kept/derived/cells.csv"),
     "--html writes a page, -o keeps the results");
  ok(file_has("drift.html", "\"plots\": [{\"title\": ") &&
         file_has("drift.html", "\"schema\": \"perp-lesson-page/2\""),
     "the page has its figures inside");
  ok(!file_has("drift.html", "src=\"http") && !file_has("drift.html", "href=\"http") &&
         file_has("drift.html", "default-src 'none'"),
     "and needs no network");
  ok(run("lesson lcp --html lcp.html") == 0 && file_has("lcp.html", "tableau"),
     "the page of a pivoting lesson");
}

/* What lemke and dantzig tell, checked against the answer by hand: rows 1 and 3 active, 3x - 2z =
 * 2, -2x + 2z = 4. */
static void test_pivots(void)
{
  run("lesson lcp");
  ok(strstr(out, "lambda1 =         6        1       -1        1") != NULL &&
         strstr(out, "w2 =         1        1      0.5      0.5") != NULL &&
         strstr(out, "lambda3 =         8        1     -0.5      1.5") != NULL,
     "the last tableau is the solution");
  ok(strstr(out, "pivot 6: lambda3 grows by 3 until w3 = 0") != NULL &&
         strstr(out, "pivot 2: lambda2 grows by 1 until lambda1 = 0") != NULL,
     "dantzig gives row 1 up and takes it again");
  ok(strstr(out, "cover: t = 4 makes every w >= 0; w3 becomes 0") != NULL &&
         strstr(out, "pivot 4: w2 grows by 1 until t = 0\n") != NULL,
     "lemke begins with t = 4 and ends with t = 0");
  ok(strstr(out, "w2 =         1        4        3       -3        1  <") != NULL &&
         strstr(out, "const  lambda1  lambda2 >lambda3       w3\n") != NULL,
     "its tableau has t among the basic variables, and marks what enters and leaves");
  run("lesson painleve");
  ok(strstr(out, "no index set gives a solution") != NULL &&
         strstr(out, "no lambda satisfies the linear conditions") != NULL,
     "an LCP without solution: no index set, and a proof");
  run("lesson redundant");
  ok(strstr(out, "2 solution(s) among all index sets") != NULL ||
         strstr(out, "3 solution(s)") != NULL,
     "two corners of one set of solutions");
}

static void edit(const char *path, const char *before, const char *after)
{
  char *text = perp_read_file(path, NULL), *at = text != NULL ? strstr(text, before) : NULL;
  FILE *f = at != NULL ? fopen(path, "w") : NULL;
  ok(f != NULL, "%s has '%s'", path, before);
  if (f != NULL) {
    fprintf(f, "%.*s%s%s", (int)(at - text), text, after, at + strlen(before));
    fclose(f);
  }
  free(text);
}

/* A lesson of one's own: made, checked, run, mistaken. */
static void test_own(void)
{
  ok(run("new lesson mine") == 0 && perp_exists("mine/lesson.yaml"), "new lesson");
  ok(run("check mine --run") == 0 && strstr(out, "WRONG") == NULL, "it runs as it is");
  ok(run("new lesson mine") == 2, "nothing is overwritten");
  says("lesson ./mine --answer 1", "perp lesson ./mine --check");
  says("lesson ./mine --notes", "Aim");
  edit("mine/lesson.yaml", "drift.pos.max", "drift.pso.max");
  refuses(3, "check ./mine", "mine/lesson.yaml:");
  ok(strstr(err, "did you mean 'drift.pos.max'?") != NULL, "with the line and a remedy");
  edit("mine/lesson.yaml", "drift.pso.max", "drift.pos.max");
  edit("mine/lesson.yaml", "answer: ", "answr: ");
  refuses(3, "lesson ./mine", "unknown key 'answr' in predict");
  edit("mine/lesson.yaml", "answr: ", "answer: ");
  edit("mine/lesson.md", "# Conclusion", "# Conclusio");
  refuses(3, "lesson ./mine", "the line '# Conclusion' is missing");
  edit("mine/lesson.md", "# Conclusio", "# Conclusion");
  edit("mine/lesson.yaml", "wrong: baumgarte", "wrong: post:passes=3");
  ok(run("check ./mine --run") == 10 && strstr(out, "WRONG") != NULL,
     "a wrong answer that is accepted is found");
  refuses(2, "lesson ./nobody", "has no lesson.yaml");
  /* a problem beside lesson.yaml is found from any folder, by the name that the lesson gives it */
  write_file("mine/small.lcp", "perp-lcp 1\nfamily small\nn 2\nA dense\n2 1\n1 2\nb\n-1 -1\nend\n");
  write_file(
      "mine/lesson.yaml",
      "schema: perp-lesson/2\ntitle: Beside\nminutes: 1\n"
      "predict: { ask: Is it solved, choices: [by Lemke, not at all], answer: 1, because: w = 0 }\n"
      "study:\n  kind: lcp\n  problems: { files: [\"sm*.lcp\"] }\n  grid: { lcp: [lemke] }\n"
      "  measure: { repeats: 0 }\n  metrics: { primary: residual }\n"
      "  claims: [{ text: solved, expr: 'max(residual, problem == \"file:small.lcp\") < 1e-12' }]\n"
      "exercises: [{ ask: How many rows, expr: max(rows), within: 1%, solution: \"2\", "
      "wrong: \"3\", hint: Count. }]\n");
  says("check mine --run", "is accepted");
  ok(strstr(out, "WRONG") == NULL, "a problem beside the lesson is found");
}

static void write_text(const char *path, const char *text)
{
  FILE *f = fopen(path, "w");
  if (f == NULL || fputs(text, f) < 0) ok(false, "%s is written", path);
  if (f != NULL) fclose(f);
}

static void test_course(void)
{
  write_text("course.yaml", "schema: perp-course/1\ntitle: Two\ntext: Both.\nlessons: [lcp, "
                            "redundant]\n");
  refuses(2, "lesson course.yaml", "-o DIR");
  says("check course.yaml", "a valid course of 2 lessons");
  ok(run("lesson course.yaml -o pages") == 0 && perp_exists("pages/index.html") &&
         perp_exists("pages/lcp.html") && perp_exists("pages/perp.js") &&
         file_has("pages/lcp.html", "<script src=\"perp.js\">"),
     "a course is a folder of pages with one script");
  ok(run("lesson course.yaml --html one.html") == 0 && file_has("one.html", "\"name\": \"lcp\"") &&
         file_has("one.html", "\"name\": \"redundant\""),
     "or one file");
  write_text("course.yaml", "schema: perp-course/1\ntitle: Two\ntext: Both.\nlessons: [lpc]\n");
  refuses(3, "lesson course.yaml -o pages", "course.yaml:4:");
}

int main(void)
{
  program_open();
  has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
  json_t *list = json_of("lesson list --json", 0);
  ok(json_array_size(list) >= 10, "%zu lessons", json_array_size(list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
    test_check(name);
  }
  json_decref(list);
  test_lesson("baumgarte");
  test_lesson("lcp");
  test_options();
  test_pivots();
  test_own();
  test_course();
  program_close();
  return tap_done();
}
