/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every lesson: it reads, runs, shows what it claims, and its exercise knows right from wrong. */
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

/* The scalar of a key of the exercise, as it stands in the file. */
static char *exercise_of(const char *name, const char *key)
{
  char *path = perp_xprintf("%s/experiments/lessons/%s.yaml", getenv("PERP_HOME"), name);
  char *text = perp_read_file(path, NULL), *mark = perp_xprintf("\n  %s: ", key);
  char *at = text != NULL ? strstr(text, mark) : NULL, *value = NULL;
  if (at != NULL) {
    at += strlen(mark);
    if (*at == '"') at++;
    value = perp_xprintf("%.*s", (int)strcspn(at, "\"\n"), at);
  }
  free(mark);
  free(text);
  free(path);
  return value;
}

static void test_exercise(const char *name)
{
  static const struct {
    const char *key;
    int status;
    const char *says;
  } answers[] = { { "solution", 0, "right: " }, { "wrong", 10, "not yet: " } };
  for (int k = 0; k < 2; k++) {
    char *answer = exercise_of(name, answers[k].key);
    char *words = perp_xprintf("lesson %s --check '%s'", name, answer != NULL ? answer : "?");
    int status = run(words);
    if (!ok(status == answers[k].status &&
                strncmp(out, answers[k].says, strlen(answers[k].says)) == 0,
            "%s: %s is %s", name, answer, k == 0 ? "right" : "not"))
      complain();
    free(words);
    free(answer);
  }
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
  ok(file_has("drift.html", "\"plots\": [{\"title\": "), "the page has its figures inside");
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

int main(void)
{
  program_open();
  has_gnuplot = system("command -v gnuplot >/dev/null 2>&1") == 0;
  json_t *list = json_of("lesson list --json", 0);
  ok(json_array_size(list) >= 10, "%zu lessons", json_array_size(list));
  for (size_t i = 0; i < json_array_size(list); i++) {
    const char *name = json_string_value(json_object_get(json_array_get(list, i), "name"));
    test_lesson(name);
    test_exercise(name);
  }
  json_decref(list);
  test_options();
  test_pivots();
  program_close();
  return tap_done();
}
