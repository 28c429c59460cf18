/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The command line from outside: exit status, what goes to stdout, what goes to stderr. */
#include "experiments/cli/cli.h"
#include "tests/cli/program.h"

/* ---- help, names, lists ---- */

/* 80 columns, every line of what the last command printed; columns are the first bytes of UTF-8 */
static void fits_the_screen(const char *words)
{
  int longest = 0, columns = 0;
  for (const char *s = out; *s != '\0'; s++) {
    columns = *s == '\n' ? 0 : columns + ((*s & 0xc0) != 0x80);
    if (columns > longest) longest = columns;
  }
  ok(longest <= 80, "%s: fits the screen (%d columns)", words, longest);
}

static void test_help(void)
{
  says("--help", "Commands");
  fits_the_screen("--help");
  static const char *const lcp[] = { "solve",    "check",   "generate", "harvest",
                                     "sequence", "convert", "info" };
  for (size_t i = 0; i < sizeof lcp / sizeof *lcp; i++) {
    char *words = perp_xprintf("lcp %s --help", lcp[i]);
    says(words, "Example");
    fits_the_screen(words);
    free(words);
  }
  ok(run("cluster --help") == 0 && strstr(out, " \\\n      --partition short") != NULL,
     "a long example is broken so that a shell reads it");
  says("help run", "perp run STUDY");
  refuses(2, "", "perp COMMAND");
  refuses(2, "rnu", "did you mean 'run'?");
  refuses(2, "xyzzyx", "unknown command 'xyzzyx'");
  for (const perp_command *const *v = perp_commands; *v != NULL; v++) {
    const char *name = (*v)->cli.name;
    char *words = perp_xprintf("%s --help", name);
    says(words, "perp ");
    ok(strcmp(name, "lcp") == 0 || strstr(out, "Example") != NULL, "%s: the help has an example",
       name);
    fits_the_screen(words);
    free(words);
  }
  ok(strchr(out, '\033') == NULL, "no colours in a pipe");
  says("version", "perp ");
  json_t *j = json_of("version --json", 0);
  ok(json_is_string(json_object_get(j, "commit")), "version names the commit");
  json_decref(j);
  says("completion bash", "complete -F _perp perp");
  char *complete = perp_xprintf(
      "mkdir path && ln -s '%s' path/perp && PATH=$PWD/path:$PATH bash -c '"
      "source <(perp completion bash); COMP_WORDS=(perp run x --op); "
      "COMP_CWORD=3; _perp; test \"${COMPREPLY[*]}\" = --open'",
      program);
  ok(system(complete) == 0, "options are completed: perp run x --open");
  free(complete);
  refuses(2, "completion tcsh", "no completion for 'tcsh'");
  refuses(2, "test", "./perp test");
}

static void test_lists(void)
{
  says("info acceleration", "drives");
  says("info velocity", "soft-joints");
  says("info ggl", "uses-kkt");
  ok(strstr(out, "drives") == NULL, "ggl does not serve drives");
  static const char *const kinds[] = { "scenes", "formulation", "ode",    "kkt",
                                       "lcp",    "stab",        "metrics" };
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    char *words = perp_xprintf("list %s --json", kinds[k]);
    json_t *j = json_of(words, 0);
    bool complete = json_array_size(j) > 0;
    size_t i, o;
    json_t *d, *option;
    json_array_foreach(j, i, d)
    {
      complete = complete && json_is_string(json_object_get(d, "name")) &&
                 json_is_string(json_object_get(d, "summary")) &&
                 json_is_string(json_object_get(d, "reference")) &&
                 json_is_array(json_object_get(d, "capabilities")) &&
                 json_is_array(json_object_get(d, "options"));
      json_array_foreach(json_object_get(d, "options"), o, option)
      {
        complete = complete && json_is_string(json_object_get(option, "name")) &&
                   json_is_string(json_object_get(option, "type")) &&
                   json_is_string(json_object_get(option, "unit")) &&
                   json_is_string(json_object_get(option, "range")) &&
                   json_object_get(option, "default") != NULL &&
                   strlen(json_string_value(json_object_get(option, "help"))) > 0;
      }
    }
    ok(complete, "%s: each has name, summary, reference, capabilities and complete options",
       kinds[k]);
    json_decref(j);
    free(words);
  }
  static const char *const lists[] = { "scenes", "formulation", "ode",     "kkt",     "lcp",
                                       "stab",   "contact",     "metrics", "studies", "plots" };
  for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
    char *words = perp_xprintf("list %s", lists[k]);
    says(words, "");
    fits_the_screen(words);
    free(words);
  }
  says("list studies", "chain6-stab             Constraint stabilization on the 6-link chain");
  says("list plots", "work-precision");
  json_decref(json_of("list plots --json", 0));
  says("list scene", "pendulum");
  says("list", "scenes");
  refuses(2, "list scnes", "did you mean 'scenes'?");
  says("info rk4", "order         4");
  says("info gsl:rk8pd", "order         8");
  says("info stab none", "none (stab)");
  json_t *lcp = json_of("list lcp --json", 0), *d;
  size_t i;
  int full = 0, wide = 0, present = 0;
  json_array_foreach(lcp, i, d)
  {
    if (json_is_true(json_object_get(d, "absent"))) continue;
    present++;
    char *words = perp_xprintf("info lcp %s", json_string_value(json_object_get(d, "name")));
    full += run(words) == 0 && strstr(out, "\n  serves        ") != NULL &&
            strstr(out, "\n  ties          ") != NULL &&
            strstr(out, "\n  cost          ") != NULL && strstr(out, "\n  iterations    ") != NULL;
    for (const char *line = out; *line != '\0';) {
      const size_t length = strcspn(line, "\n");
      wide += length > 80;
      line += length + (line[length] != '\0');
    }
    free(words);
  }
  ok(full > 15 && full == present,
     "info of each of %d lcp solvers: what it serves, ties, cost, iterations", full);
  ok(wide == 0, "... on lines of at most 80 columns");
  json_decref(lcp);
  says("info baumgarte", "1/s");
  refuses(2, "info baumgart", "did you mean 'baumgarte'?");
  json_t *j = json_of("info dopri5 --json", 0);
  ok(json_integer_value(json_object_get(json_array_get(j, 0), "order")) == 5, "dopri5 has order 5");
  json_decref(j);
}

/* ---- simulate ---- */

#define CHAIN                                                                                      \
  "simulate chain:links=6 --formulation velocity --ode symplectic-euler --kkt tree --h 1ms "       \
  "--t-end 0.8s"

static void test_simulate(void)
{
  json_t *j = json_of(CHAIN " --stab post --json", 0);
  below(metric(j, "drift.pos.max"), 1e-5, "post-stabilization keeps the chain together");
  ok(strcmp(json_string_value(json_object_get(j, "status")), "ok") == 0 &&
         json_number_value(json_object_get(json_object_get(j, "time"), "step_us")) > 0 &&
         json_integer_value(json_object_get(json_object_get(j, "counters"), "steps")) == 800 &&
         json_number_value(json_object_get(json_object_get(j, "final"), "t")) == 0.8,
     "status, time, counters and final state are there");
  ok(json_object_get(json_object_get(j, "metrics"), "contacts.max") == NULL &&
         strstr(out, "nan") == NULL,
     "figures that it does not have are absent");
  json_decref(j);
  j = json_of(CHAIN " --stab none --json", 0);
  ok(metric(j, "drift.pos.max") > 1e-3, "without stabilization it drifts");
  json_decref(j);
  j = json_of("simulate pendulum --formulation acceleration --ode gsl:rk8pd --tol 1e-12 --stab "
              "post --t-end 1s "
              "--series p.csv --json",
              0);
  below(metric(j, "err.q.max"), 1e-9, "--tol reaches the integrator");
  json_decref(j);
  char *csv = perp_read_file("p.csv", NULL);
  ok(csv != NULL && strncmp(csv, "t[s],", 5) == 0 && strchr(csv, '\n')[1] == '0',
     "--series writes a table with units");
  free(csv);
  ok(run("simulate chain:links=6 --formulation acceleration --ode euler --stab "
         "baumgarte:alpha=2000 "
         "--h 10ms --t-end 1s --json") == 10,
     "divergence: status 10");
  j = json_loads(out, 0, NULL);
  ok(j != NULL && strcmp(json_string_value(json_object_get(j, "status")), "diverged") == 0,
     "... and its JSON is printed");
  json_decref(j);
  j = json_of("simulate chain:links=100 --formulation acceleration --ode rk4 --h 1us --t-end 100s "
              "--timeout "
              "50ms --json",
              10);
  ok(strcmp(json_string_value(json_object_get(j, "status")), "timeout") == 0,
     "a time limit: status 10");
  json_decref(j);
  says("simulate pendulum:strength=15", "joint 0 broke under a force of 15.0");
  says("simulate bead:track=ramp", "joint 0 'wire' released; its point left the curve at s = ");
  says("simulate pendulum --t-end 0.1s", "drift.pos.max");
  says("simulate andrews --formulation radau5:tol=1e-3", "lambda.err.max is a single comparison");
  ok(run("simulate pendulum --t-end 0.1s") == 0 && strstr(out, "lambda.compared") != NULL &&
         strstr(out, "single comparison") == NULL,
     "a maximum over many comparisons has their number, and no warning");
  size_t widest = 0;
  for (const char *s = out; *s != '\0'; s += strcspn(s, "\n"), s += *s == '\n')
    if (strcspn(s, "\n") > widest) widest = strcspn(s, "\n");
  ok(widest <= 80, "the table fits in 80 columns: %zu", widest);

  static const struct {
    const char *words, *message;
  } bad[] = {
    { "simulate", "an argument is missing" },
    { "simulate chian", "did you mean 'chain'?" },
    { "simulate chain:lnks=3", "did you mean 'links'?" },
    { "simulate chain:links=0", "chain.links must be an integer in [1, " },
    { "simulate chain:mass=-1", "chain.mass must be in [0, inf) kg: got -1" },
    { "simulate pendulum:mass=0", "pendulum.mass must be in (0, inf) kg" },
    { "simulate rope:link=spring,stiffness=-1", "rope.stiffness must be in (0, inf) N/m: got -1" },
    { "simulate rope:start=drop,particles=4", "an odd number of particles: got 4" },
    { "simulate bead:track=hoop,spin=1", "spin must exceed sqrt(gravity / radius) = 4.42" },
    { "simulate tree:soft=1e-3,bodies=3 --formulation reduced",
      "joint 1 (world - body 0) is soft (0.001); joint coordinates need rigid" },
    { "simulate pendulum --h 0", "--h must be in (0, inf) s: got 0" },
    { "simulate pendulum --h -1ms", "--h must be in (0, inf) s: got -1ms" },
    { "simulate pendulum --h nan", "'nan' is not a number" },
    { "simulate pendulum --h inf", "--h must be in (0, inf) s: got inf" },
    { "simulate pendulum --h 1kg", "wrong unit 'kg'; use one of: s, ms" },
    { "simulate pendulum --h fast", "'fast' is not a number" },
    { "simulate pendulum --h", "--h needs a value" },
    { "simulate pendulum --h 2s --t-end 1s",
      "the step h = 2 s is longer than the run, which ends at t_end = 1 s" },
    { "simulate pendulum --h 20s", "the step h = 20 s is longer than the run" },
    { "lcp harvest stack --h 20s", "the step h = 20 s is longer than the run" },
    { "simulate pendulum --h 1e-300s", "are more than 1e+12: choose a larger step" },
    { "simulate pendulum --t-end 1e300s", "are more than 1e+12: choose a larger step" },
    { "simulate pendulum --formulation reduced --ode dopri5 --tol 1e-6 --t-end 1e300s",
      "are more than 1e+12" },
    { "simulate pendulum --formulation reduced --ode dopri5 --tol 1e-6 --sample 1e-300s",
      "samples 1e-300 s apart to the end t_end = 10 s are more than 1e+12" },
    { "lcp harvest stack --h 1e-300s", "are more than 1e+12" },
    { "simulate stack --contact coulomb",
      "unknown contact 'coulomb' (valid: frictionless, box, polyhedral, cone, " },
    { "simulate pendulum --formulation dae", "unknown formulation 'dae' (perp list formulation)" },
    { "simulate xyzzyx", "unknown scene 'xyzzyx' (perp list scenes)" },
    { "list solvers", "unknown kind 'solvers' (valid: scenes, formulation, ode, kkt, lcp, " },
    { "lesson xyzzyx", "unknown lesson 'xyzzyx' (valid: pictures, order, " },
    { "run chain6-stab --progress bars", "unknown style 'bars' (valid: auto, plain, json, none)" },
    { "run chain6-stab --open --no-report", "--open shows the report, and --no-report makes none" },
    { "simulate pendulum --t-end 0", "--t-end must be in (0, inf) s" },
    { "simulate pendulum --ode rk5", "did you mean 'rk4'?" },
    { "simulate pendulum --ode rk4:tol", "expected key=value" },
    { "simulate pendulum --ode rk4 --tol 2", "rk4.tol must be in [0, 1): got 2" },
    { "simulate pendulum --tol 1e-3", "--tol needs --ode" },
    { "simulate pendulum --oed rk4", "did you mean '--ode'?" },
    { "simulate pendulum --kkt tre", "did you mean 'tree'?" },
    { "simulate pendulum --stab baumgarte:alpha=-1", "baumgarte.alpha must be in [0, inf)" },
    { "simulate pendulum --formulation velocity --ode rk4", "velocity" },
    { "simulate jam --seed x", "jam.seed: 'x' is not a number" },
    { "simulate pendulum --seed 3", "--seed has no effect in scene pendulum" },
    { "simulate chain --formulation reduced --stab post",
      "stab post has no effect with formulation reduced: remove it, or choose a formulation that "
      "uses one: acceleration, velocity" },
    { "simulate chain --formulation impulse --ode rk4",
      "ode rk4 has no effect with formulation impulse" },
    { "simulate chain --formulation reduced --kkt tree",
      "kkt tree has no effect with formulation reduced" },
    { "simulate chain --formulation groups:of=reduced --kkt tree",
      "kkt tree has no effect with formulation reduced" },
    { "simulate chain --lcp dantzig",
      "lcp dantzig has no effect in scene chain, which has no contacts, limits or motors" },
    { "simulate chain --contact cone", "contact cone has no effect in scene chain" },
    { "simulate free-body --stab none", "stab none has no effect in scene free-body" },
    { "simulate stack --kkt tree", "kkt tree has no effect in scene stack, which has no joints" },
    { "simulate circle --stab post", "a plain ODE problem without bodies" },
    { "simulate chain:truth=none --sample 1ms", "the time between samples has no effect" },
    { "lcp harvest stack --formulation ggl --lcp pgs", "lcp pgs has no effect" },
    { "lcp harvest motor --contact box", "contact box has no effect in scene motor" },
    { "simulate pendulum --timeout 3", "needs a unit" },
    { "simulate pendulum more", "too many arguments: 'more'" },
    { "simulate pendulum --json=yes", "--json takes no value" },
    { "simulate stack --png x.png", "--png applies to the page: it needs --view" },
    { "view stack --at 1s", "--at applies to a picture: it needs --png FILE" },
    { "view stack --png x.png --size 10x10",
      "--size must be WIDTHxHEIGHT, from 100 to 8000 pixels" },
    { "view pendulum --stab pots", "did you mean 'post'?" },
    { "view pendulum --against stap=post", "did you mean 'stab'?" },
    { "view pendulum --against post", "'post' is not NAME=VALUE" },
    { "view pendulum --against ode=rk5", "did you mean 'rk4'?" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refuses(2, bad[i].words, bad[i].message);
  /* what these errors advise */
  ok(run("simulate pendulum --h 0.5s --t-end 1s --json") == 0, "a smaller step");
  j = json_of("simulate pendulum --t-end 0.1ms --json", 0);
  ok(json_number_value(json_object_get(j, "h")) == 1e-4, "a step that nobody named fits the run");
  json_decref(j);
  ok(run("simulate pendulum --formulation reduced --ode dopri5 --tol 1e-6 --h 1e-300s --t-end "
         "0.1s") == 0,
     "the first step of error control may be tiny");
  ok(run("simulate pendulum --sample 1e300s --t-end 0.1s") == 0,
     "samples further apart than its end");
  ok(run("simulate pendulum --t-end 0.1s --series /nonexistent/x.csv") == 1 &&
         strstr(err, "cannot write /nonexistent/x.csv: No such file") != NULL,
     "a series that cannot be written: status 1");
}

/* Pages that move, without a browser: any text is a script. */
static void test_view(void)
{
  const char *before = getenv("PERP_REPORT_JS");
  char *js = before != NULL ? strdup(before) : NULL;
  char script[] = "/tmp/perp-script-XXXXXX", page[] = "/tmp/perp-page-XXXXXX", words[256];
  const int a = mkstemp(script), b = mkstemp(page);
  if (a < 0 || b < 0 || write(a, "1;", 2) != 2) bail("no temporary files");
  close(a);
  close(b);
  setenv("PERP_REPORT_JS", "", 1);
  refuses(5, "view pendulum --no-open", "no page was written: PERP_REPORT_JS='' is no script");
  setenv("PERP_REPORT_JS", script, 1);
  setenv("PERP_CHROMIUM", "/nonexistent/chromium", 1);
  refuses(5, "view pendulum --png x.png", "PERP_CHROMIUM=/nonexistent/chromium cannot be executed");
  setenv("PERP_CHROMIUM", "/bin/true", 1);
  refuses(2, "view pendulum --t-end 0.1s --png x.png --at 1s --no-open",
          "there is no picture of t = 1 s: the run ends at t_end = 0.1 s");
  refuses(2, "simulate pendulum --t-end 0.1s --view --png x.png --at 1s --no-open --json",
          "there is no picture of t = 1 s: the run ends at t_end = 0.1 s");
  unsetenv("PERP_CHROMIUM");
  refuses(2, "view pendulum --h 20s --no-open", "the step h = 20 s is longer than the run");
  refuses(2, "view oscillator --no-open", "oscillator has no bodies to draw");
  snprintf(words, sizeof words, "view pendulum --t-end 0.1s --against h=2ms --no-open -o %s", page);
  ok(run(words) == 0 && strncmp(out, page, strlen(page)) == 0, "perp view says where its page is");
  size_t size = 0;
  char *text = perp_read_file(page, &size);
  const char *first = text != NULL ? strstr(text, "perp-replay/2") : NULL;
  ok(first != NULL && strstr(first + 1, "perp-replay/2") != NULL &&
         strstr(text, "<script>1;</script>") != NULL,
     "which has both runs, and the script");
  free(text);
  unlink(page);
  unlink(script);
  if (js != NULL)
    setenv("PERP_REPORT_JS", js, 1);
  else
    unsetenv("PERP_REPORT_JS");
  free(js);
}

/* ---- studies ---- */

static void test_bad_studies(void)
{
  static const struct {
    const char *what, *text, *message;
  } bad[] = {
    { "a duplicate key", "schema: perp-study/1\nscene: pendulum\nscene: chain\n",
      "bad.yaml:3:1: error: the key 'scene' occurs twice (first in line 2); remove one of them\n   "
      " "
      "3 | scene: "
      "chain\n      | ^" },
    { "an unknown stab",
      "schema: perp-study/1\nscene: chain\ngrid:\n  stab:\n    - none\n    - baumgart:alpha=50\n",
      "bad.yaml:6:7: error: unknown stab 'baumgart'\n    6 |     - baumgart:alpha=50\n      |      "
      " ^ did you "
      "mean 'baumgarte'?" },
    { "a value outside its range", "schema: perp-study/1\nscene: chain\nstab: baumgarte:alpha=-4\n",
      "bad.yaml:3:17: error: baumgarte.alpha must be in [0, inf)" },
    { "an unknown key", "schema: perp-study/1\nscene: chain\nlimts: { timeout: 3 s }\n",
      "did you mean 'limits'?" },
    { "h = 0", "schema: perp-study/1\nscene: chain\nh: [1 ms, 0]\n",
      "bad.yaml:3:11: error: h must be in (0, inf)" },
    { "a wrong unit", "schema: perp-study/1\nscene: chain\nt_end: 3 m\n", "wrong unit 'm'" },
    { "a step longer than the run",
      "schema: perp-study/1\nscene: chain\nt_end: 10 ms\nh: [4 ms, 20 ms, 2 ms]\n",
      "bad.yaml:4:11: error: the step h = 0.02 s is longer than the run, which ends at t_end = "
      "0.01 "
      "s" },
    { "an unknown metric",
      "schema: perp-study/1\nscene: chain\nmetrics: { primary: err.tipp.max }\n",
      "did you mean 'err.tip.max'?" },
    { "no scene", "schema: perp-study/1\nh: 1 ms\n", "'scene' is missing" },
    { "no YAML", "schema: [\n", "error: " },
    { "an empty file", "", "the file is empty" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    write_file("bad.yaml", bad[i].text);
    int a = run("check bad.yaml");
    bool first = a == 3 && strstr(err, bad[i].message) != NULL && out[0] == '\0';
    int b = run("run bad.yaml");
    if (!ok(first && b == 3 && strstr(err, bad[i].message) != NULL, "%s: status 3 and its place",
            bad[i].what)) {
      tap_note("status %d, %d\n", a, b);
      complain();
    }
  }
  refuses(3, "run nothing-here.yaml", "cannot read nothing-here.yaml: No such file");
  refuses(3, "run /tmp/x.yaml/y.yaml", "cannot read");
  write_file("secret.yaml", "schema: perp-study/1\n");
  refuses(2, "run chain6-stb", "did you mean 'chain6-stab'?");
  refuses(2, "run chain6-stab --set profile=shrot", "did you mean 'short'?");
  refuses(2, "run chain6-stab --set gird.h=1", "did you mean 'grid'?");
  refuses(2, "run chain6-stab --set h=0", "h must be in (0, inf) s: got 0");
  refuses(2, "run chain6-stab --only 'stbb == post' -o x", "did you mean 'stab'?");
  refuses(2, "run chain6-stab --retry crsh", "did you mean 'crash'?");
  refuses(2, "run chain6-stab --shard slice:3/2", "--shard must be");
  refuses(2, "run chain6-stab --jobs 0", "--jobs: '0' is not a whole number");
  refuses(2, "run chain6-stab --timeout 5", "needs a unit");
  refuses(2, "run chain6-stab --memory 5GoB", "unknown unit 'GoB'");
  refuses(2, "run chain6-stab --fresh --resume", "contradict");
  refuses(2, "run", "an argument is missing");
  refuses(2, "status nowhere", "not a results folder");
  refuses(2, "show nowhere 12", "not a results folder");
}

static const char mini[] =
    "schema: perp-study/1\n"
    "study: { name: mini, title: A small study }\n"
    "scene: pendulum\n"
    "t_end: 0.2 s\n"
    "formulation: acceleration\n"
    "grid:\n"
    "  h: [4 ms, 2 ms, 1 ms]\n"
    "  ode: [rk4, midpoint]\n"
    "  stab: [none, \"baumgarte:alpha=[20, 40]\"]\n"
    "exclude: [{ where: 'ode == midpoint and stab.alpha == 40', reason: enough }]\n"
    "measure: { repeats: 2 }\n"
    "metrics: { primary: err.q.max, record: [err.q.max, steps], series: { every: 10 ms, fields: "
    "[energy, q] } }\n"
    "claims: [{ text: order 4, expr: 'slope(err.q.max, h, ode == rk4 and stab == none) > 3.5' }]\n";

static void test_study(void)
{
  write_file("mini.yaml", mini);
  says("check mini.yaml", "18 combinations, 3 excluded (enough): 15 runs");
  json_t *j = json_of("check mini.yaml --json", 0);
  ok(json_integer_value(json_object_get(j, "cells")) == 15, "check --json counts");
  json_decref(j);
  j = json_of("plan mini.yaml --json", 0);
  const char *command = json_string_value(json_object_get(json_array_get(j, 2), "command"));
  ok(json_array_size(j) == 15 && strstr(command, "--stab baumgarte:alpha=40 --h 0.004") != NULL,
     "plan --json: %s", command);
  /* that command is the cell */
  char *alone = perp_xprintf("%s --json --rounds 0", strchr(command, ' ') + 1);
  json_t *one = json_of(alone, 0);
  free(alone);
  int got = run("run mini.yaml -o res -j 2 --no-report");
  ok(got == 0 && strstr(out, "15 runs: 15 ok") != NULL && strstr(out, "proved: order 4") != NULL &&
         strstr(out, "res/derived/cells.csv") != NULL,
     "the study runs");
  char *csv = perp_read_file("res/derived/cells.csv", NULL);
  ok(csv != NULL &&
         strncmp(csv,
                 "cell,status,cause,reason,problems,unsolved,share,swept,partial,reached,scene,"
                 "formulation,ode,kkt,lcp,stab,contact,engine,h,t_end,seed,sample,perturb,"
                 "equivalent,stab.name,"
                 "stab.alpha,err.q.max,steps\n",
                 178) == 0,
     "cells.csv has a head");
  char number[40];
  snprintf(number, sizeof number, ",40,%.17g,50", metric(one, "err.q.max"));
  ok(csv != NULL && strstr(csv, number) != NULL, "the cell alone gives the same number:%s", number);
  json_decref(one);
  json_decref(j);
  static const char *const files[] = { "res/study.yaml", "res/plan.jsonl", "res/derived/timing.csv",
                                       "res/derived/cells.schema.json",
                                       "res/derived/timing.schema.json" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    ok(perp_exists(files[i]), "%s", files[i]);
  got = run("run mini.yaml -o res --no-report");
  ok(got == 0 && strstr(err, "15 already finished, 0 to run") != NULL,
     "running it again does nothing");
  ok(strstr(err, "another build") == NULL, "... without a warning");
  /* bytes at the end of a program change nothing but its hash */
  got = system("cp \"$PERP_BIN\" other && printf x >>other && "
               "./other run mini.yaml -o res --no-report >/dev/null 2>other.txt");
  ok(got == 0 && file_has("other.txt", "15 already finished, 0 to run") &&
         file_has("other.txt", "finished runs are of another build of perp and are not repeated"),
     "another build says whose the finished runs are");
  char *again = perp_read_file("res/derived/cells.csv", NULL);
  ok(again != NULL && strcmp(csv, again) == 0, "... and writes the same table");
  free(again);
  /* the effective study of the folder is the study */
  got = run("run res/study.yaml -o res2 --no-report -q --set measure.repeats=0");
  again = perp_read_file("res2/derived/cells.csv", NULL);
  ok(got == 0 && again != NULL && strcmp(csv, again) == 0 && err[0] == '\0',
     "res/study.yaml makes the same cells; -q is quiet");
  free(again);
  free(csv);
  says("status res", "complete");
  j = json_of("status res --json", 0);
  ok(json_integer_value(json_object_get(json_object_get(j, "status"), "ok")) == 15 &&
         json_is_false(json_object_get(j, "running")),
     "status --json");
  json_decref(j);
  j = json_of("plan mini.yaml --json", 0);
  char *show = perp_xprintf("show res %.10s --json",
                            json_string_value(json_object_get(json_array_get(j, 0), "cell")));
  json_t *cell = json_of(show, 0);
  ok(metric(cell, "err.q.max") > 0 &&
         json_integer_value(json_object_get(
             json_object_get(json_object_get(cell, "time"), "time.step_us"), "n")) == 2,
     "show --json: metrics and two timing rounds");
  json_decref(cell);
  json_decref(j);
  free(show);
  refuses(2, "show res zzzz", "no run has an id that begins with 'zzzz'");
  got = run("run mini.yaml -o res --no-report --only 'h == 9 ms'");
  ok(got == 4 && strstr(err, "nothing is selected") != NULL, "nothing selected: status 4");
  got = run("run mini.yaml -o res3 --no-report -q --set 'stab=baumgarte:alpha=1e9' --set ode=rk4");
  ok(got == 10, "no cell ok: status 10");
  if (got != 10) complain();
  got = run("run mini.yaml -o res4 --no-report -q --set formulation=velocity");
  ok(got == 10 && strstr(out, "15 runs: 15 skipped") != NULL &&
         strstr(out, "formulation velocity needs an ODE method with one") != NULL,
     "parts that do not fit are cells that are skipped, with the reason");
  got = run("run mini.yaml -o res5 --no-report -q --set scene=circle --set 'reference={agree: "
            "{with: file, below: 1e-9}}'");
  ok(got == 3 && strstr(err, "no reference of the kind 'file'") != NULL,
     "a reference that is not there");
  got = run("run chain6-stab -o res6 --no-report -q --set reference.agree.below=1e-20 --only 'h == "
            "4 ms'");
  ok(got == 8 && strstr(err, "DISAGREE") != NULL, "references that disagree: status 8");
}

/* What a run ends with: commands that can be typed, and the page in a browser. */
static void test_next(void)
{
  write_file("next.yaml",
             "schema: perp-study/1\nstudy: { name: advice }\nscene: pendulum\nt_end: 0.1 s\n"
             "formulation: acceleration\nstab: none\n"
             "grid: { h: [4 ms, 2 ms], ode: [rk4, midpoint] }\n"
             "metrics: { primary: err.q.max, record: [err.q.max, steps] }\n");
  int got = run("run next.yaml -o 'my results' --no-report");
  ok(got == 0 && strstr(out, "Next:") == NULL &&
         strstr(out, "my results/derived/cells.csv") != NULL,
     "results are on standard output, without advice");
  int commands = 0;
  char *said = perp_xstrdup(err);
  for (char *s = strstr(said, "\nNext:\n"); s != NULL && (s = strstr(s, "\n  ")) != NULL; s += 3) {
    if (s[3] == ' ') continue;
    char *end = strchr(s + 3, '\n'), *open = strstr(s, " --open\n");
    *end = '\0';
    if (open != NULL && open < end) *open = '\0'; /* there is no desktop */
    char *line = perp_xprintf("{ %s; } >next.txt 2>&1", s + 3);
    ok((strstr(line, "'my results'") != NULL || strstr(line, "perp view ") != NULL) &&
           system(line) == 0,
       "next: %s", s + 3);
    commands++;
    free(line);
    *end = '\n';
  }
  free(said);
  ok(commands == 3, "%d commands to try", commands);
  got = run("run next.yaml -o quiet --no-report -q");
  ok(got == 0 && err[0] == '\0', "--quiet: none");
  got = run("run next.yaml -o objects --no-report --progress json");
  ok(got == 0 && strstr(err, "Next:") == NULL, "--progress json: none");
  got = run("run next.yaml -o failed --no-report --set 'stab=[none, baumgarte:alpha=1e9]'");
  ok(got == 0 && strstr(err, " show failed ") != NULL && strstr(err, "a run that failed") != NULL,
     "a run that failed is the first to look at");

  /* a browser that leaves a note */
  const char *before = getenv("PATH");
  char *path = perp_xprintf("%s/desktop:%s", program_dir, before), *kept = perp_xstrdup(before);
  if (system("mkdir desktop && printf '#!/bin/sh\nprintf %%s \"$1\" >opened.tmp && mv opened.tmp "
             "opened.txt\n' >desktop/xdg-open && chmod +x desktop/xdg-open") != 0)
    bail("no folder");
  setenv("PATH", path, 1);
  got = run("run next.yaml -o opened --open");
  for (int i = 0; i < 500 && !perp_exists("opened.txt"); i++) usleep(10000);
  ok(got == 0 && file_has("opened.txt", "/opened/report.html") && strstr(err, "--open") == NULL,
     "--open shows the report, and no advice to open it follows");
  setenv("PATH", kept, 1);
  free(path);
  free(kept);
}

/* ---- combinations that are not as they look ---- */

static void test_combinations(void)
{
  write_file("equal.yaml", "schema: perp-study/1\n"
                           "scene: pendulum\n"
                           "t_end: 10 ms\n"
                           "grid:\n"
                           "  formulation: [velocity, reduced]\n"
                           "  stab: [none, post, baumgarte]\n"
                           "  h: [2 ms, 1 ms]\n");
  const char *equal = "12 combinations give 8 runs: stab has no effect with formulation reduced";
  says("check equal.yaml", equal);
  says("check equal.yaml", "every run can be set up (4 different combinations of methods tried)");
  int got = run("plan equal.yaml");
  ok(got == 0 && strstr(err, equal) != NULL, "plan says which combinations are equal");
  got = run("run equal.yaml -o equal --no-report");
  ok(got == 0 && strstr(err, equal) != NULL && strstr(out, "8 runs: 8 ok") != NULL,
     "... and run does, before it runs them once");

  write_file("bad.yaml", "schema: perp-study/1\n"
                         "scene: pendulum\n"
                         "formulation: [reduced, penalty]\n"
                         "grid: { h: [2 ms, 1 ms], stab: [none, post] }\n");
  const char *caret =
      "bad.yaml:4:39: error: stab post is not used by any run: it has no effect with "
      "formulation penalty\n"
      "    4 | grid: { h: [2 ms, 1 ms], stab: [none, post] }\n"
      "      |                                       ^ remove it";
  refuses(3, "check bad.yaml", caret);
  refuses(3, "plan bad.yaml", caret);
  refuses(3, "run bad.yaml -o bad", caret);
  ok(!perp_exists("bad"), "and nothing is written");
  says("check bad.yaml --set formulation=reduced", "4 combinations give 2 runs");
  refuses(2, "check bad.yaml --set kkt=tree",
          "--set kkt:1:1: error: kkt tree is not used by any run");

  /* 3 x 3 parts, 4 of which refuse each other; a scene that does not serve a formulation */
  write_file("refused.yaml", "schema: perp-study/1\n"
                             "scene: stack:boxes=2\n"
                             "t_end: 10 ms\n"
                             "grid:\n"
                             "  lcp: [dantzig, lemke, block-gs]\n"
                             "  contact: [box, \"polyhedral:directions=4\", cone]\n");
  const char *refused = "4 of 9 runs cannot be set up and will be skipped:";
  says("check refused.yaml", refused);
  says("check refused.yaml",
       "  1: contact box needs an LCP solver for friction rows: 'lemke' does not support them");
  ok(run("check refused.yaml --quick") == 0 && strstr(out, "skipped") == NULL,
     "check --quick does not try");
  json_t *j = json_of("check refused.yaml --json", 0);
  ok(json_array_size(json_object_get(j, "refused")) == 4 &&
         json_integer_value(json_object_get(j, "tried")) == 9,
     "check --json has the reasons");
  json_decref(j);
  const int plain = run("plan refused.yaml");
  ok(plain == 0 && strstr(err, refused) != NULL &&
         strstr(err, "  1: contact box needs an LCP solver for friction rows: 'lemke' does not "
                     "support them") != NULL,
     "plan says it in the same words");
  ok(run("plan refused.yaml --quick") == 0 && strstr(err, "skipped") == NULL,
     "plan --quick does not try");
  j = json_of("plan refused.yaml --json", 0);
  int with = 0;
  for (size_t i = 0; i < json_array_size(j); i++)
    with += json_object_get(json_array_get(j, i), "refused") != NULL;
  ok(json_array_size(j) == 9 && with == 4, "plan --json has the reason of each cell");
  json_decref(j);
  got = run("run refused.yaml -o refused --no-report");
  ok(got == 0 && strstr(err, refused) != NULL && strstr(out, "9 runs: 5 ok, 4 skipped") != NULL,
     "run says it first, and skips them");
  char *csv = perp_read_file("refused/derived/cells.csv", NULL);
  int rows = 0;
  for (const char *s = csv; s != NULL && (s = strstr(s, ",skipped,")) != NULL; s++) rows++;
  ok(rows == 4 && strstr(csv, "friction rows: 'lemke' does not support them") != NULL,
     "a skipped cell is a row with its reason");
  char id[17] = "", words[64];
  const char *row = csv != NULL ? strstr(csv, ",skipped,") : NULL;
  if (row != NULL && row - csv > 16) snprintf(id, sizeof id, "%.16s", row - 16);
  free(csv);
  snprintf(words, sizeof words, "rerun refused %s", id);
  says(words, "skipped");
  got = run("run refused.yaml -o refused --no-report");
  ok(got == 0 && strstr(err, "9 already finished, 0 to run") != NULL, "... and is finished");
  got = run("run refused.yaml -o refused --no-report --retry skipped");
  ok(got == 0 && strstr(err, "4 to repeat (--retry)") != NULL && strstr(err, refused) != NULL,
     "--retry skipped tries these again");
}

int main(void)
{
  program_open();
  test_help();
  test_lists();
  test_simulate();
  test_view();
  test_combinations();
  test_bad_studies();
  test_study();
  test_next();
  program_close();
  return tap_done();
}
