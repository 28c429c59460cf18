/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp lcp as a user meets it: every family made and solved, every way to say a problem, every
 * problem file in $PERP_PROBLEMS (skipped where that is not set), and malformed files. */
#include "solvers/lcp/problem.h"
#include "tests/cli/program.h"

#include <ftw.h>

static const char *text_of(const json_t *j, const char *key)
{
  const char *s = json_string_value(json_object_get(j, key));
  return s != NULL ? s : "";
}

/* A number, or a text that says how it is not one. */
static double real_of(const json_t *j, const char *key)
{
  const json_t *v = json_object_get(j, key);
  return json_is_number(v) ? json_number_value(v) : (double)NAN;
}

static json_t *solve_stdin(const char *words, int *status)
{
  int file = open("problem", O_RDONLY);
  if (file < 0 || dup2(file, 0) < 0) bail("problem");
  close(file);
  *status = run(words);
  return json_loads(out, 0, NULL);
}

/* ---- every family, through a pipe ---- */

static bool refuted(const json_t *j)
{
  const json_t *c = json_object_get(j, "certificate"), *z = json_object_get(c, "z"), *v;
  size_t i;
  if (strcmp(text_of(c, "proves"), "infeasible") != 0) return false;
  /* the proof on its own, from the vector alone */
  FILE *file = fopen("z", "w");
  if (file == NULL) bail("z");
  json_array_foreach(z, i, v) fprintf(file, "%.17g\n", json_number_value(v));
  fclose(file);
  int status = run("lcp check problem z --certificate --json");
  json_t *k = json_loads(out, 0, NULL);
  bool proved = strcmp(text_of(k, "proves"), "infeasible") == 0 && status == 0;
  json_decref(k);
  return proved;
}

static void test_families(void)
{
  static const int sizes[] = { 1, 12, 48 };
  const perp_lcp_family *f;
  for (int k = 0; (f = perp_lcp_family_at(k)) != NULL; k++) {
    bool solvable = f->classes & PERP_CLASS_SOLVABLE, good = true;
    if (!solvable && !(f->classes & PERP_CLASS_UNSOLVABLE)) continue; /* neither is promised */
    int last = 0, made = 0;
    char wrong[200] = "";
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes && good; s++) {
      int n = perp_lcp_family_rows(f, sizes[s]), status;
      if (n == last) continue;
      last = n;
      made++;
      char *words = perp_xprintf("lcp generate %s --n %d", f->name, n);
      int generated = run(words);
      free(words);
      if (rename("stdout.txt", "problem") != 0) bail("problem");
      json_t *j = solve_stdin("lcp solve - --lcp auto --json", &status);
      good = generated == 0 && j != NULL &&
             (solvable ? status == 0 && strcmp(text_of(j, "status"), "solved") == 0 &&
                             real_of(j, "residual") <= 1e-10
                       : status == 10 && strcmp(text_of(j, "status"), "failed") == 0 && refuted(j));
      if (!good)
        snprintf(wrong, sizeof wrong, "n = %d: status %d, %s, residual %g", n, status,
                 text_of(j, "reason"), real_of(j, "residual"));
      json_decref(j);
    }
    if (!ok(good, "generate %s | solve - --lcp auto: %s (%d sizes)", f->name,
            solvable ? "solved" : "refuted", made))
      tap_note("%s\n", wrong);
  }
}

/* ---- one problem, said in every way ---- */

static json_t *multipliers(const char *words)
{
  int status;
  json_t *j = solve_stdin(words, &status), *lambda = json_incref(json_object_get(j, "lambda"));
  if (status != 0) complain();
  json_decref(j);
  return lambda;
}

static void test_formats(void)
{
  static const char *const families[] = { "spd", "boxed", "stack-box", "stack-cone" };
  for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
    char *words = perp_xprintf("lcp generate %s --n 12 -o a.lcp", families[k]);
    ok(run(words) == 0, "perp %s", words);
    free(words);
    bool contacts = strncmp(families[k], "stack", 5) == 0;
    const char *to = contacts ? "lcp convert a.lcp a.hdf5" : "lcp convert a.lcp a.mtx";
    bool binary = contacts &&
                  run(to) != 2; /* 2: built without HDF5, or not the contacts of fclib */
    if (!contacts) ok(run(to) == 0, "perp %s", to);
    run("lcp solve a.lcp --lcp auto --json");
    json_t *j = json_loads(out, 0, NULL), *lambda = json_object_get(j, "lambda");
    if (run("lcp convert a.lcp --json") != 0) complain();
    if (rename("stdout.txt", "problem") != 0) bail("problem");
    json_t *same = multipliers("lcp solve - --lcp auto --json");
    ok(lambda != NULL && json_equal(lambda, same), "%s: JSON on stdin has the same answer",
       families[k]);
    json_decref(same);
    if (run("lcp convert problem problem.lcp") != 0) complain();
    run("lcp solve problem.lcp --lcp auto --json");
    json_t *i = json_loads(out, 0, NULL);
    ok(lambda != NULL && json_equal(lambda, json_object_get(i, "lambda")),
       "%s: JSON converted to .lcp has it too", families[k]);
    json_decref(i);
    if (binary || !contacts) {
      run(contacts ? "lcp solve a.hdf5 --lcp auto --json" : "lcp solve a.mtx --lcp auto --json");
      i = json_loads(out, 0, NULL);
      ok(lambda != NULL && json_equal(lambda, json_object_get(i, "lambda")), "%s: so has %s",
         families[k], contacts ? "fclib" : "Matrix Market");
      json_decref(i);
    }
    json_decref(j);
  }
}

/* ---- the verdict as a user meets it ---- */

static void put(const char *name, const char *text)
{
  FILE *f = fopen(name, "w");
  if (f == NULL || fputs(text, f) < 0 || fclose(f) != 0) bail("%s", name);
}

static void test_verdict(void)
{
  put("fs.json", "{\"n\":2,\"A\":[[0,1],[1,0]],\"b\":[-0.4,41]}");
  put("l.txt", "5e15 0");
  answers(10, "lcp check fs.json l.txt",
          "# not solved: residual 1 (tol 1e-10), data 1"); /* its second row rests */
  answers(10, "lcp check fs.json l.txt --json", "\"data\"");
  answers(10, "lcp check fs.json l.txt --tol 1e-8", "# not solved: residual");
  put("two.json", "{\"n\":2,\"A\":[[1,0],[0,1]],\"b\":[-1,-1000]}");
  put("near.txt", "1 999.99");
  answers(0, "lcp check two.json near.txt --tol 1e-3", "# solved: residual");
  answers(10, "lcp check two.json near.txt --tol 1e-3 --tol-data 1e-6",
          "# not solved: residual 5e-06 (tol 0.001), data 1e-05 (tol 1e-06)");
  put("half.json", "{\"n\":1,\"A\":[[2]],\"b\":[-2]}");
  put("half.txt", "0.5");
  /* no solution: the sum of w_1 and w_2 is -4; pgs-subspace ends with 2.7e39, beside which that is
   * rounding */
  put("huge.json", "{\"n\":4,\"A\":[[13,-6,6,2],[-6,9,-9,6],[6,-9,9,-6],[2,6,-6,8]],"
                   "\"b\":[-1,-4,0,-1]}");
  answers(10, "lcp solve huge.json --lcp pgs-subspace", "# not solved by pgs-subspace");
  answers(10, "lcp solve huge.json --lcp lemke", "no solution exists");
  /* w = -1 beside terms of 1 and 2 */
  answers(10, "lcp check half.json half.txt --tol 0.33333333333333331",
          "# undecided: residual 0.333 (tol 0.333)");
  answers(10, "lcp check half.json half.txt --tol 0.33333333333333331 --json", "\"undecided\"");
  answers(10, "lcp check half.json half.txt --tol 0.33", "# not solved: residual 0.333");
  put("denormal.json", "{\"n\":2,\"A\":[[1e-318,0],[0,1e-318]],\"b\":[-1e-318,-3e-318]}");
  put("ones.txt", "1 1");
  answers(10, "lcp check denormal.json ones.txt", "# not solved: residual 0.5");
  put("beyond.txt", "1e310");
  refuses(3, "lcp check half.json beyond.txt",
          "beyond.txt:1: lambda must be finite, got 1e310, beyond the range of a double");
  /* the solution, 1e310, is no double */
  put("far.json", "{\"n\":1,\"A\":[[1e-310]],\"b\":[-1]}");
  answers(10, "lcp solve far.json --lcp lemke", "# not solved by lemke: inaccurate");
  put("unit.json", "{\"n\":2,\"A\":[[4,1],[1,2]],\"b\":[-4,-1],\"unit\":[1,3]}");
  put("x.txt", "1 0.5");
  answers(10, "lcp check unit.json x.txt", "data 0.75");
  if (run("lcp convert unit.json unit.lcp") != 0) complain();
  answers(10, "lcp check unit.lcp x.txt", "data 0.75");
  put("unit.json", "{\"n\":1,\"A\":[[4]],\"b\":[-4],\"unit\":[0]}");
  refuses(3, "lcp check unit.json half.txt", "unit = 0, must be finite and > 0");
}

/* ---- what rests hides nothing; cones need no name of a solver ---- */

static void test_solved(void)
{
#define FC "3\n1\n0\n3\n3\n3 3\n1 0 0\n0 1 0\n0 0 1\n-1 0.25 0\n0.5\n"
  put("rest.json", "{\"n\":2,\"A\":[[1,0],[0,1e-14]],\"b\":[-1,1]}");
  put("none.txt", "0 0");
  put("right.txt", "1 0");
  answers(10, "lcp check rest.json none.txt", "# not solved");
  answers(0, "lcp check rest.json right.txt", "# solved");
  /* x = (1, 0), lambda = (0, 0) */
  answers(10, "lcp check rest.json none.txt", "# largest distance to the one solution: 1 or less");
  answers(10, "lcp check rest.json none.txt --json", "\"matrix\": \"dominant\"");
  put("contact.dat", FC);
  answers(0, "lcp solve contact.dat", "# solved by auto");
  put("contact.dat", FC "1\n");
  answers(0, "lcp solve contact.dat", "# solved by auto");
  answers(10, "lcp solve contact.dat --lcp lemke", "unsuited");
  ok(strstr(err, "auto") != NULL || strstr(out, "auto") != NULL, "who serves is named");
  put("contact.dat", FC "0.3\n");
  refuses(3, "lcp solve contact.dat", "'0.3' after the 1 coefficients of friction");
  put("contact.dat", FC "and a remark\n");
  refuses(3, "lcp solve contact.dat", "'and' after the 1 coefficients of friction");
  put("contact.dat", "3\n1\n1\n0\n3\n3\n3 3\n1 0 0\n0 1 0\n0 0 1\n-1 0.25 0\n0.5\n0.3\n");
  refuses(3, "lcp solve contact.dat", "a plasticity problem of Siconos (model 1)");
#undef FC
}

/* ---- malformed files ---- */

static void test_malformed(void)
{
#define LCP2  "perp-lcp 1\nn 2\nA dense\n2 1\n1 2\nb\n-1\n-1\n"
#define JSON2 "{\"n\": 2,\n\"A\": [[2, 1], [1, 2]],\n"
  static const struct {
    const char *what, *text, *message;
  } cases[] = {
    { "truncated", LCP2, ":9: the file ends without 'end'" },
    { "truncated JSON", JSON2 "\"b\": [-1,", ":3: end of file where b is expected" },
    { "NaN", "perp-lcp 1\nn 1\nA dense\nnan\nb\n-1\nend\n", ":4: an entry of A is NaN" },
    { "NaN in JSON", JSON2 "\"b\": [-1, NaN]}", ":3: b is expected, got 'NaN'" },
    { "Inf", "perp-lcp 1\nn 1\nA dense\n1\nb\n-inf\nend\n", ":6: b must be finite, got -inf" },
    { "negative n", "perp-lcp 1\nn -1\n", ":2: n must be in [0, 2147483647], got -1" },
    { "negative n in JSON", "{\n\"n\": -1, \"A\": [], \"b\": []}", ":2: n must be in" },
    { "n too large", "perp-lcp 1\nn 2000000000\nA coordinate 0\nb\n1\nend\n",
      ":6: the file ends too early" },
    { "n too large in JSON", "{\"n\": 2000000000,\n\"A\": [], \"b\": []}", ":2: b has 0 entries" },
    { "n too large in a .dat file",
      "2000000000\n0\n2000000000\n2000000000\n2000000000 2000000000\n1",
      ":6: the file ends too early" },
    { "lo > hi", LCP2 "lo\n0\n2\nhi\n1\n1\nend\n", ":14: row 1: lo = 2, hi = 1" },
    { "lo > hi in JSON", JSON2 "\"b\": [-1, -1],\n\"lo\": [0, 2],\n\"hi\": [1, 1]}",
      ":5: row 1: lo = 2, hi = 1" },
    { "lo > hi in Matrix Market", "%%MatrixMarket matrix array real general\n1 4\n1\n-1\n2\n1\n",
      ":6: row 1: lo = 2, hi = 1" },
    { "a friction cycle", LCP2 "friction 2\n0 1 0.5\n1 0 0.5\nend\n",
      ":11: row 1 takes its bounds from friction row 0" },
    { "a friction cycle in JSON",
      JSON2 "\"b\": [-1, -1], \"mu\": [1, 1],\n\"friction_of\": [1, 0]}",
      ":4: row 0 takes its bounds from friction row 1" },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    write_file("wrong", cases[k].text);
    int status = run("lcp solve wrong --lcp lemke");
    const char *at = strstr(err, cases[k].message), *end = strchr(err, '\n');
    if (!ok(status == 3 && out[0] == '\0' && at != NULL && end != NULL && end[1] == '\0' &&
                strstr(err, "wrong:") != NULL,
            "%s: status 3 and one line with %s", cases[k].what, cases[k].message))
      complain();
  }
  /* so many rows that their square does not fit the bound: 2^20 rows, 8 TiB */
  FILE *f = fopen("wrong", "w");
  if (f == NULL) bail("wrong");
  fprintf(f, "perp-lcp 1\nn 1048576\nA coordinate 0\nb\n");
  for (int i = 0; i < 1048576; i++) fputs("0\n", f);
  fputs("end\n", f);
  fclose(f);
  refuses(2, "lcp solve wrong --lcp lemke",
          "lemke needs a dense A: with 1048576 rows it takes 8.8e+06 MB");
  refuses(2, "lcp solve wrong --lcp bpp", "auto takes A as it is");
}

/* ---- a study ---- */

static void test_study(void)
{
  write_file("mini.yaml", "schema: perp-study/1\n"
                          "kind: lcp\n"
                          "study: { name: mini, title: Mini }\n"
                          "problems: { generate: [ { family: [spd, stack-box], n: 12 },\n"
                          "                         { family: [murty2], n: 16 },\n"
                          "                         { family: [nosol], n: 4 } ] }\n"
                          "grid: { lcp: [lemke, \"psor:omega=1.3\", auto] }\n"
                          "accept: { targets: [1e-8] }\n"
                          "measure: { repeats: 1 }\n"
                          "limits: { timeout: 30 s, memory: 1 GiB }\n"
                          "metrics: { primary: time.cpu }\n");
  int status = run("run mini.yaml -o res -q --no-report");
  size_t longest = 0;
  for (const char *s = out; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strcspn(s, "\n") > longest) longest = strcspn(s, "\n");
  if (!ok(status == 0 && longest <= 80, "a study of problems: status 0, %zu columns", longest))
    complain();
  ok(strstr(out, "a=spd b=stack-box c=murty2 d=nosol") != NULL &&
         strstr(out, " a b c d\n") != NULL && strstr(out, " 1 1 1 1\n") != NULL,
     "the families and how many problems each has");
  ok(strstr(out, "  auto           4/4 1 1 1 1\n") != NULL &&
         strstr(out, "  lemke          3/3 1 - 1 1\n") != NULL,
     "who answers which family: none, outside of the domain, a proof");
  const char *why = strstr(out, "Causes of failures");
  ok(why != NULL && strstr(why, "lemke     1 unsuited\n") != NULL &&
         strstr(why, "psor      1 max-iter\n") != NULL && strstr(why, "auto") == NULL,
     "and why not");
  run("lcp solve --lcp siconos:pivot-lumod --json /dev/null");
  if (strstr(err, "./perp setup siconos") != NULL) {
    skip("built without Siconos", "a peer that crashes");
    return;
  }
  status = run(
      "run mini.yaml -o peer -q --no-report --set 'grid.lcp=[siconos:lemke, siconos:pivot-lumod]' "
      "--set 'problems.generate={family: stack, n: 64}'");
  ok(status == 0 || status == 10, "a peer that crashes is a result, not a failure of the study");
  ok(strstr(out, "siconos:pivot-lumod") != NULL && strstr(out, "crash,") == NULL &&
         strstr(out, " crash\n") == NULL,
     "and its cell is a failed row");
  if (strstr(out, "siconos:pivot-lumod") == NULL) complain();
}

/* ---- files of others ---- */

static int loaded, solved, unsolved, wrong;

static int one_file(const char *path, const struct stat *s, int type, struct FTW *where)
{
  (void)where;
  static const char *const suffixes[] = { ".dat", ".lcp", ".mtx", ".hdf5", ".json" };
  bool problem = false;
  for (size_t k = 0; k < sizeof suffixes / sizeof *suffixes; k++) {
    size_t n = strlen(suffixes[k]), m = strlen(path);
    problem = problem || (m > n && strcmp(path + m - n, suffixes[k]) == 0);
  }
  if (type != FTW_F || !problem) return 0;
  char *words = perp_xprintf("lcp info '%s' --json", path);
  char *place = perp_xprintf("%s:", path);
  int status = run(words);
  json_t *j = json_loads(out, 0, NULL);
  const char *said = strstr(err, place);
  bool readable = status == 0 && json_is_integer(json_object_get(j, "n"));
  if (!ok(readable || (status == 3 && out[0] == '\0' && said != NULL &&
                       strspn(said + strlen(place), "0123456789") > 0),
          "%s: read, or refused with its line", path)) {
    tap_note("status %d\n", status);
    complain();
  }
  if (status == 3) printf("# %s", err);
  if (readable && s->st_size < 300000) { /* the largest friction problems take half a minute */
    loaded++;
    free(words);
    words = perp_xprintf("lcp solve '%s' --lcp auto --json", path);
    status = run(words);
    json_t *k = json_loads(out, 0, NULL);
    solved += status == 0;
    unsolved += status == 10;
    wrong += (status != 0 && status != 10) || (status == 0 && !(real_of(k, "residual") <= 1e-10));
    json_decref(k);
  } else
    loaded += readable;
  json_decref(j);
  free(words);
  free(place);
  return 0;
}

static void test_files(void)
{
  const char *problems = getenv("PERP_PROBLEMS");
  if (problems == NULL || access(problems, R_OK) != 0) {
    skip("PERP_PROBLEMS names no folder", "problem files");
    return;
  }
  if (nftw(problems, one_file, 16, 0) != 0) bail("%s", problems);
  ok(wrong == 0 && unsolved == 0, "%d files read: %d solved by auto, %d not solved, %d wrong",
     loaded, solved, unsolved, wrong);
}

/* What is too large is refused before it is made or read, with the bound and how to raise it. */
static void test_bounds(void)
{
  refuses(2, "lcp generate spd --n 15000", "more than the limit of 1e+03 MB; --memory 3600MB");
  refuses(2, "lcp generate stack --n 16000", "(less with --factored)");
  says("lcp generate stack --n 16000 --factored -o large.lcp", "");
  ok(run("lcp generate stack --n 4000 -o four.lcp") == 0 && strstr(err, "needs up to 1") != NULL,
     "generate says what it takes: %s", err);
  refuses(2, "lcp generate spd --n 64 --memory 1kB", "spd of 64 rows takes 0.0655 MB");
  ok(run("lcp generate spd --n 64 -o s.lcp") == 0 && run("lcp info s.lcp --memory 200kB") == 0,
     "a file within its bound is read");
  refuses(2, "lcp info s.lcp --memory 20kB", "--memory");
  refuses(2, "lcp solve s.lcp --memory 20kB", "--memory");
  refuses(3, "lcp solve /dev/zero", "cannot read /dev/zero: it is not a regular file");
  refuses(3, "lcp solve /dev/null", "it is not a regular file");
  /* a short file of many rows */
  FILE *f = fopen("short.mtx", "w");
  fputs("%%MatrixMarket matrix array real general\n30000 30001\n1\n", f);
  fclose(f);
  refuses(3, "lcp info short.mtx", "ends too early");
}

/* two cubes: 8 contacts, 24 rows of a box pyramid, resting from the first step on */
static void test_harvest(void)
{
  const char *words = "lcp harvest stack:boxes=2 --contact box --lcp dantzig --size 24,1000 "
                      "--per-size 2 --t-end 0.05s -o kept";
  ok(run(words) == 0 && strstr(out, "stack-n24-1.lcp") != NULL, "perp %s", words);
  int status = run("lcp info kept/stack-n24-1.lcp --json");
  json_t *j = json_loads(out, 0, NULL);
  ok(status == 0 && json_integer_value(json_object_get(j, "n")) == 24 &&
         json_integer_value(json_object_get(j, "contact")) == 8 &&
         real_of(j, "solution_residual") <= 1e-8,
     "a harvested problem has its rows and a judged solution");
  const char *from = json_string_value(json_object_get(j, "provenance"));
  /* two bodies have 12 degrees of freedom */
  ok(from != NULL && strstr(from, "stack:boxes=2 --contact box") != NULL &&
         strstr(from, "rank 12") != NULL,
     "its provenance names the run and the rank 12 of two bodies");
  json_decref(j);
  says("lcp solve kept/stack-n24-1.lcp --lcp dantzig", "converged");
  refuses(2, "lcp harvest pendulum", "no problem to harvest");
  refuses(2, "lcp harvest stack --size 4,x", "--size");
  /* what is named and has no effect */
  refuses(2, "lcp generate murty1 --n 8 --seed 3",
          "--seed has no effect: nothing in murty1 is random");
  ok(run("lcp generate murty1 --n 8 --seed 3 --permute -o murty.lcp") == 0,
     "--seed of --permute has one");
  refuses(2, "lcp solve murty.lcp --friction box",
          "--friction has no effect: murty.lcp has no friction");
  refuses(2, "lcp convert murty.lcp --pyramid 8",
          "--pyramid has no effect: murty.lcp has no friction");
  refuses(2, "lcp convert murty.lcp --box", "--box has no effect: murty.lcp has no friction");
}

/* Eight bodies that fall together: contacts come and go, islands meet. */
static void test_sequence(void)
{
  const char *words =
      "lcp harvest falling:objects=8,side=2 --contact cone --lcp block-gs --h 0.02s "
      "--sequence 6 --from 0.96s --t-end 3s --name heap -o seq";
  ok(run(words) == 0 && strstr(out, "heap-000.lcp") != NULL && strstr(out, "heap-005.lcp") != NULL,
     "perp %s", words);
  says("lcp info seq/heap-003.lcp", "heap: problem 3 of 0 ... 5");
  int status = run("lcp info seq/heap-003.lcp --json"), rows = 0, born = 0, gone = 0;
  json_t *j = json_loads(out, 0, NULL), *part = json_object_get(j, "before");
  status |= json_unpack(part, "{s:i,s:i,s:i}", "rows", &rows, "born", &born, "gone", &gone);
  const int n = (int)json_integer_value(json_object_get(j, "n"));
  ok(status == 0 && n == rows + born - gone, "%d rows are %d before, %d born, %d gone", n, rows,
     born, gone);
  json_decref(j);
  status = run("lcp sequence seq/heap --lcp block-gs --json");
  j = json_loads(out, 0, NULL);
  ok(status == 0 && json_integer_value(json_object_get(j, "problems")) == 11 &&
         json_integer_value(json_object_get(j, "solved")) == 11 &&
         json_integer_value(json_object_get(j, "rows_born")) > 0 &&
         json_integer_value(json_object_get(j, "rows_gone")) > 0 && real_of(j, "warm_work") > 0 &&
         real_of(j, "warm_work") < 1.5 * real_of(j, "cold_work"),
     "six problems, cold and warm: eleven answers");
  json_decref(j);
  says("lcp sequence seq/heap --lcp aclm", "6 of 6 solved"); /* as time steps count it */
  says("lcp sequence seq/heap --lcp aclm", "no warm start: aclm");
  ok(run("lcp sequence seq/heap --lcp dantzig") == 10 && strstr(out, "0 of 11 solved") != NULL,
     "a method that serves no cones solves none");

  /* what is asked for in vain */
  refuses(2, "lcp harvest stack --sequence 4 --size 16", "--size selects among single problems");
  refuses(2, "lcp harvest stack --from 1s", "needs --sequence N");
  refuses(2, "lcp harvest stack --sequence 1", "not a whole number in [2, 1000]");
  refuses(2, "lcp harvest stack --sequence 4 --name a/b", "--name must have");
  refuses(2, "lcp harvest pendulum --sequence 4", "no problem to harvest");
  refuses(2, "lcp harvest stack --contact polyhedral --lcp lemke --sequence 4",
          "--contact frictionless");
  refuses(2, "lcp harvest stack --contact box:limits=fixed --lcp dantzig --sequence 4",
          "two problems in one step");
  refuses(2, "lcp harvest stack --formulation acceleration --sequence 4",
          "carried over between steps");
  refuses(2, "lcp harvest bouncing-ball --sequence 4 --t-end 0.01s", "a sequence needs two");

  /* a study of it */
  write_file("seq.yaml",
             "schema: perp-study/1\nkind: lcp\nstudy: { name: seq }\n"
             "problems: { sequences: ['seq/h*'] }\n"
             "grid: { lcp: [block-gs, aclm, dantzig, 'pgs:max_iter=20'] }\n"
             "accept: { targets: [1e-8] }\nmeasure: { repeats: 1 }\n"
             "metrics: { record: [rel, work.counted, warm.work.rel, warm.time.rel, rows.born] }\n");
  if (!ok(run("run seq.yaml -o seqrun -q --no-report") == 0, "a study of a sequence")) complain();
  char *csv = perp_read_file("seqrun/derived/cells.csv", NULL);
  ok(csv != NULL && strstr(csv, "sequence:seq/heap") != NULL, "its problem goes by its prefix");
  ok(csv != NULL && strstr(csv, "of 11 solved; problem ") != NULL &&
         strstr(csv, "later warm starts use its last iterate") != NULL,
     "what was not all solved says how many were, and where the others began");
  ok(csv != NULL && strstr(csv, "dantzig does not serve") != NULL, "who is unsuited says why");
  free(csv);

  /* damage */
  static const struct {
    const char *command, *message;
  } damages[] = {
    { "cp -r seq d0 && rm d0/heap-002.lcp", "heap-002.lcp: No such file" },
    { "cp -r seq d1 && cp d1/heap-003.lcp d1/heap-002.lcp",
      "heap-002.lcp: is problem 3 of its sequence, not 2" },
    { "cp -r seq d2 && sed -i 's/^before [0-9]*/before 99/' d2/heap-002.lcp",
      "heap-002.lcp: section before expects 99 rows" },
    { "cp -r seq d3 && sed -i 's/^sequence 2 6 heap/sequence 2 6 other/' d3/heap-002.lcp",
      "heap-002.lcp: belongs to sequence other of 6 problems, but the previous file to heap of 6" },
    { "cp -r seq d4 && sed -i '/^sequence/d' d4/heap-000.lcp",
      "heap-000.lcp: belongs to no sequence" },
    { "cp -r seq d5 && sed -i '/^end/d' d5/heap-004.lcp", "the file ends without 'end'" },
    { "cp -r seq d6 && sed -i 's/^before \\([0-9]*\\) .*/before \\1 2\\n0 0 1\\n0 0 1\\nend/' "
      "d6/heap-001.lcp",
      "the carry to row 0 from row 0 is specified twice" },
    { "cp -r seq d7 && sed -i 's/^sequence 0 6/sequence 0 2000/' d7/heap-000.lcp",
      "(at most 1000)" },
  };
  for (size_t k = 0; k < sizeof damages / sizeof *damages; k++) {
    char text[80];
    if (system(damages[k].command) != 0) bail("%s", damages[k].command);
    snprintf(text, sizeof text, "lcp sequence d%zu/heap --lcp block-gs", k);
    refuses(3, text, damages[k].message);
  }
}

/* A contact of Stewart and Trinkle stays one: harvested, read back, solved by blocks and in turn.
 */
static void test_contacts(void)
{
  const char *words = "lcp harvest incline --contact polyhedral --lcp lemke --size 40 --t-end 0.1s "
                      "-o pyramids";
  ok(run(words) == 0 && strstr(out, "incline-n40-1.lcp") != NULL, "perp %s", words);
  int status = run("lcp info pyramids/incline-n40-1.lcp");
  ok(status == 0 && strstr(out, "4 of Stewart and Trinkle, as given in the file") != NULL,
     "perp lcp info tells of its 4 contacts");
  static const struct {
    const char *method;
    int least;
  } cases[] = { { "block-gs", 2 }, { "staggered", 2 }, { "staggered:friction=keller", 2 } };
  run("lcp generate incline-slide --boxes 4 -o slide.lcp");
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    char text[120];
    snprintf(text, sizeof text, "lcp solve slide.lcp --lcp %s --json", cases[k].method);
    status = run(text);
    json_t *j = json_loads(out, 0, NULL);
    ok(status == 0 && json_integer_value(json_object_get(j, "iterations")) >= cases[k].least &&
           json_number_value(json_object_get(j, "work")) > 96 * 96,
       "perp %s", text);
    json_decref(j);
  }
  ok(run("lcp solve slide.lcp --lcp pgs") == 10 && strstr(err, "use block-gs or lemke") != NULL,
     "pgs does not take such rows one by one, and says who does");
}

int main(void)
{
  const char *problems = getenv("PERP_PROBLEMS");
  char *full = problems != NULL ? realpath(problems, NULL) : NULL;
  if (full != NULL) setenv("PERP_PROBLEMS", full, 1);
  free(full);
  program_open();
  test_families();
  test_formats();
  test_verdict();
  test_solved();
  test_malformed();
  test_study();
  test_bounds();
  test_harvest();
  test_sequence();
  test_contacts();
  test_files();
  program_close();
  return tap_done();
}
