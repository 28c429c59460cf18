/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How reliable is perp compare on this machine?  A measurement and no test: what it says depends on
 * the machine and on who else works there (meson test --benchmark self-compare; --verbose shows the
 * lines).  20 comparisons of a build with itself, and 10 with a solver that really takes 20 % more,
 * each by the journals alone and with the suspicions timed again. */
#include "tests/cli/program.h"

static const char same[] = LINKS_STUDY("same", "steps]");
/* large enough that a solve is most of what is timed */
static const char slower[] =
    "schema: perp-study/1\n"
    "kind: lcp\n"
    "study: { name: slower }\n"
    "problems: { generate: [{ family: [spd, psd, stack], n: [96, 160] }] }\n"
    "grid: { lcp: [slowed, dantzig, lemke, keller] }\n"
    "accept: { targets: [1e-8] }\n"
    "measure: { repeats: 5 }\n";
enum { RECORDED, CONFIRMED, WAYS };
static const char *ways[WAYS] = { "--as-recorded" };

static void must(const char *words)
{
  if (run(words) == 0) return;
  complain();
  bail("perp %s", words);
}

static void run_study(const char *study, const char *dir, const char *plugin)
{
  char *words = perp_xprintf("run %s -o %s -q --no-report %s", study, dir, plugin);
  must(words);
  free(words);
}

/* Regressions in time: all, and those whose line has `part`. */
static int compare(const char *words, const char *part, int *with)
{
  int all = 0;
  int status = run(words);
  if (status != 0 && status != 6) complain();
  *with = 0;
  for (const char *s = out; (s = strstr(s, "WORSE  time")) != NULL; s++) {
    char *line = perp_xprintf("%.*s", (int)strcspn(s, "\n"), s);
    printf("# %s\n", line);
    *with += strstr(line, part) != NULL;
    all++;
    free(line);
  }
  return all;
}

static void itself(int trials)
{
  int quiet[WAYS] = { 0 }, with;
  run_study("same.yaml", "run0", "");
  for (int k = 1; k <= trials; k++) {
    char *dir = perp_xprintf("run%d", k);
    run_study("same.yaml", dir, "");
    free(dir);
    for (int w = 0; w < WAYS; w++) {
      char *words = perp_xprintf("compare run%d run%d %s", k - 1, k, ways[w]);
      quiet[w] += compare(words, "", &with) == 0;
      free(words);
    }
  }
  ok(quiet[CONFIRMED] == trials, "one build against itself: quiet %d of %d times, as recorded %d",
     quiet[CONFIRMED], trials, quiet[RECORDED]);
}

static void really_slower(int trials)
{
  const char *plugins = getenv("PERP_BAD_PLUGINS");
  char *before = perp_xprintf("--plugin %s/slowed0.so", plugins),
       *after = perp_xprintf("--plugin %s/slowed20.so", plugins);
  int caught[WAYS] = { 0 }, others[WAYS] = { 0 };
  for (int k = 1; k <= trials; k++) {
    char *a = perp_xprintf("before%d", k), *b = perp_xprintf("after%d", k);
    run_study("slower.yaml", a, before);
    run_study("slower.yaml", b, after);
    for (int w = 0; w < WAYS; w++) {
      int with;
      char *words = perp_xprintf("compare %s %s %s --again-plugin %s/slowed20.so %s", a, b, before,
                                 plugins, ways[w]);
      int all = compare(words, "slowed", &with);
      caught[w] += with > 0;
      others[w] += all > with;
      free(words);
    }
    free(a);
    free(b);
  }
  ok(caught[CONFIRMED] == trials && others[CONFIRMED] == 0,
     "a solver 20 %% slower: found %d of %d times, as recorded %d; another one blamed %d and %d "
     "times",
     caught[CONFIRMED], trials, caught[RECORDED], others[CONFIRMED], others[RECORDED]);
  free(before);
  free(after);
}

int main(void)
{
  program_open();
  ways[CONFIRMED] = perp_xprintf("--again-with %s", program);
  write_file("same.yaml", same);
  write_file("slower.yaml", slower);
  itself(20);
  really_slower(10);
  program_close();
  return tap_done();
}
