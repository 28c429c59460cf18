/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp version, doctor, test */
#include "experiments/run/program.h"
#include "experiments/plugins/plugin_files.h"
#include "experiments/cli/conformance.h"
#include "experiments/web/web.h"
#include "experiments/base/build.h"
#include "experiments/cli/command.h"
#include "experiments/base/commit.h"
#include "experiments/study/describe.h"
#include "experiments/base/env.h"
#include "solvers/core/optional.h"
#include "experiments/base/numbers.h"
#include "experiments/base/files.h"

#include <cblas.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cmd_version(perp_ctx *ctx, const perp_args *args)
{
  (void)ctx;
  if (perp_option_given(args, "cflags")) {
    /* The headers of this very program: the source tree when it runs from its build folder, else
     * where meson install put them, beside the program or at its prefix. */
    char *exe = perp_program_path();
    char *slash = strrchr(exe, '/');
    if (slash != NULL) *slash = '\0';
    char *beside = perp_xprintf("%s/../include/perp", exe);
    char *whole = perp_real_path(beside);
    if (whole != NULL)
      printf("-I%s\n", whole);
    else if (perp_exists(PERP_HEADERS_SOURCE "/experiments/plugins/perp.h"))
      printf("-I%s -I%s/experiments/plugins\n", PERP_HEADERS_SOURCE, PERP_HEADERS_SOURCE);
    else
      printf("-I%s\n", PERP_HEADERS_INSTALLED);
    free(whole);
    free(beside);
    free(exe);
  } else if (perp_option_given(args, "json")) {
    char *text = perp_env_json(true);
    fputs(text, stdout);
    free(text);
  } else
    printf("perp %s (%s), %s, %s %s\n", PERP_VERSION, PERP_COMMIT, PERP_COMPILER, PERP_BUILDTYPE,
           PERP_FLAGS);
  return PERP_EXIT_OK;
}

static const perp_flag version_flags[] = {
  { "json", 0, NULL, "Print JSON, with compiler, flags, libraries and machine." },
  { "cflags", 0, NULL, "Print compiler options that find the headers for plug-ins." },
  { 0 }
};

const perp_command perp_version_command = {
  .cli.name = "version",
  .cli.usage = "[--json | --cflags]",
  .cli.summary = "Prints version, commit and build of this program.",
  .cli.example = "perp version --json  # stored in a results folder as env/<id>.json",
  .cli.flags = version_flags,
  .summary = "Print version, commit and build",
  .run = cmd_version
};

/* ---- doctor ---- */

static bool on_path(const char *program)
{
  const char *path = getenv("PATH");
  while (path != NULL && *path != '\0') {
    size_t n = strcspn(path, ":");
    char file[4096];
    snprintf(file, sizeof file, "%.*s/%s", (int)n, path, program);
    if (access(file, X_OK) == 0) return true;
    path += n + (path[n] == ':');
  }
  return false;
}

/* OpenBLAS takes kernels of SSE3 where it does not know a processor. */
static bool doctor_old_kernels(void)
{
#ifdef __x86_64__
  static const char *const old[] = { "Prescott", "Core2", "Penryn", "Dunnington", "Nehalem" };
  for (size_t i = 0; i < sizeof old / sizeof *old && __builtin_cpu_supports("avx2"); i++)
    if (strcmp(openblas_get_corename(), old[i]) == 0) return true;
#endif
  return false;
}

static int cmd_doctor(perp_ctx *ctx, const perp_args *args)
{
  (void)args;
  int bad = 0;
  char buf[64];
#define REPORT(good, must, ...)                                                                    \
  do {                                                                                             \
    bool good_ = (good);                                                                           \
    printf("%-5s ", good_ ? "ok" : (must) ? "WRONG" : "note");                                     \
    printf(__VA_ARGS__);                                                                           \
    printf("\n");                                                                                  \
    if (!good_ && (must)) bad++;                                                                   \
  } while (0)
  int plugins = 0;
  for (int k = PERP_KIND_NONE + 1; k < PERP_KIND_COUNT; k++)
    for (int i = 0; perp_plugin_name(ctx, (perp_kind)k, i) != NULL; i++) plugins++;
  REPORT(plugins > 0, true, "%d plug-ins", plugins);
  perp_pool pool = { 0 };
  perp_study_file *files;
  int studies = perp_study_files(&pool, &files);
  REPORT(studies > 0, true, "%d studies%s", studies,
         studies > 0 ? "" : " - none found in " PERP_STUDIES_INSTALLED);
  perp_pool_free(&pool);
  REPORT(strcmp(PERP_BUILDTYPE, "release") == 0, false, "build type %s%s", PERP_BUILDTYPE,
         strcmp(PERP_BUILDTYPE, "release") == 0 ? ""
                                                : ": timings of this build are not representative");
  REPORT(openblas_get_num_threads() == 1, false, "OpenBLAS uses %d thread(s)",
         openblas_get_num_threads());
  const bool old = doctor_old_kernels();
  REPORT(!old, false, "OpenBLAS uses the kernels of %s%s", openblas_get_corename(),
         old ? ", without AVX2, which this processor has: it is newer than OpenBLAS; "
               "OPENBLAS_CORETYPE=Haswell makes dense factorizations twice as fast"
             : "");
  double t0 = perp_clock_thread(), t1;
  do t1 = perp_clock_thread();
  while (t1 == t0);
  REPORT(t1 - t0 < 1e-5, false, "thread-CPU clock advances in steps of %.2g us", 1e6 * (t1 - t0));
  double load = perp_load();
  int cores = perp_cores();
  REPORT(!(load > 0.5 * cores), false, "load %s on %d cores%s", perp_brief(load, buf), cores,
         load > 0.5 * cores ? ": wall times will be noisy, thread-CPU times less so" : "");
  REPORT(on_path("gnuplot"), false, "gnuplot%s",
         on_path("gnuplot") ? ""
                            : " is missing: reports have no figures (apt install gnuplot-nox)");
  REPORT(perp_web_built(), false, "pages of reports, runs and lessons%s",
         perp_web_built() ? ""
                          : ": none without their script (apt install esbuild libjs-three "
                            "libjs-katex, then build perp again)");
  REPORT(access(".", W_OK) == 0, false, "results are written to %s",
         access(".", W_OK) == 0 ? "./results" : "... this folder is read-only: use -o DIR");
#undef REPORT
  return bad > 0 ? PERP_EXIT_INTERNAL : PERP_EXIT_OK;
}

const perp_command perp_doctor_command = {
  .cli.name = "doctor",
  .cli.usage = "",
  .cli.summary = "Looks for problems of this machine that spoil results or reports, and prints a "
                 "remedy for each.",
  .cli.example = "perp doctor          # exit status 1 if something must be repaired",
  .summary = "Check this machine for problems that spoil results",
  .run = cmd_doctor
};

/* ---- setup ---- */

static int cmd_setup(perp_ctx *ctx, const perp_args *args)
{
  (void)ctx;
  const char *packages = args->n > 0 ? perp_optional_packages(args->arg[0]) : NULL;
  if (packages != NULL)
    perp_say("error: optional parts are built from the source tree: run ./perp setup %s there (it "
             "installs %s)",
             args->arg[0], packages);
  else
    perp_say("error: optional parts are built from the source tree: run ./perp setup there");
  return PERP_EXIT_USAGE;
}

const perp_command perp_setup_command = {
  .cli.name = "setup",
  .cli.usage = "[NAME...]",
  .cli.summary =
      "Lists the optional parts of perp, or installs the named ones and builds perp with "
      "them. The launcher `perp` in the source tree does it.",
  .cli.example = "./perp setup sundials mujoco   # ./perp setup engines, ./perp setup all",
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Install optional parts: SUNDIALS, Siconos, MuJoCo, engines",
  .run = cmd_setup
};

/* ---- test ---- */

static int cmd_test(perp_ctx *ctx, const perp_args *args)
{
  if (perp_plugin_file_at(0) != NULL) {
    double seconds = 60;
    const int status = perp_option_parsed(ctx, args, "timeout", perp_parse_duration, &seconds);
    if (status >= 0) return status;
    return perp_conformance(seconds, perp_option_given(args, "json"),
                            perp_option_given(args, "verbose"));
  }
  perp_say("error: the tests are in the source tree: run ./perp test there");
  return PERP_EXIT_USAGE;
}

static const perp_flag test_flags[] = {
  { "suite", 0, "NAME", "Suite to run: unit, contract, agree, invariant, golden, cli, fuzz, ..." },
  { "plugin", 0, "FILE.so",
    "Run the contract tests on your plug-in and print a conformance report." },
  { "timeout", 0, "TIME", "With --plugin: time limit of the tests of one kind (default: 60s)." },
  { "verbose", 'v', NULL, "With --plugin: print every check, not only failures." },
  { "json", 0, NULL, "With --plugin: print the conformance report as JSON." },
  { 0 }
};

const perp_command perp_test_command = {
  .cli.name = "test",
  .cli.usage = "[NAME...] [--suite NAME] | --plugin FILE.so",
  .cli.summary = "Builds and runs tests: those that are named, or the whole suite. The launcher "
                 "`perp` in the source tree uses meson, and accepts all options of `meson test`.",
  .cli.more =
      "A NAME is the name of a test, or a part of several names: lcp_exact, contact. Only what "
      "these tests need is built. --list prints all names; --setup full adds the slow tests. "
      "With --plugin the contract tests run on your own plug-in. The report lists what the plug-in "
      "declares and which checks passed. Exit status: 0 all passed, 10 some failed.",
  .cli.example = "./perp test lcp_pivot         # one test\n"
                 "  ./perp test --suite contract  # every plug-in against its contract",
  .cli.flags = test_flags,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Run the test suite",
  .run = cmd_test
};
