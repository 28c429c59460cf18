/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The contract tests are the programs of tests/contract, one a kind, the same that check the
 * plug-ins of perp. Each runs in a process of its own with a time limit: what it says (TAP) is
 * sorted by plug-in. */
#include "experiments/run/program.h"
#include "experiments/cli/conformance.h"

#include "experiments/plugins/plugin_files.h"
#include "experiments/base/build.h"
#include "experiments/base/messages.h"
#include "experiments/base/shell.h"
#include "experiments/study/describe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

struct outcome {
  perp_text text; /* its stdout */
  char ended[160];
  bool complete; /* came to its end */
};

/* In a build tree beside the program: builds it there, since the launcher builds the program alone.
 * NULL: it is no build tree, or the build failed. */
static char *contract_build(const char *folder, const char *kind)
{
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  char *tree = perp_xprintf("%s/..", folder), *rules = perp_xprintf("%s/build.ninja", tree);
  char *target = perp_xprintf("tests/contract/test_%s", kind);
  char *made = perp_xprintf("%s/%s", tree, target);
  if (access(rules, R_OK) == 0 && access(tree, W_OK) == 0) {
    const char *const argv[] = { "ninja", "-C", tree, target, NULL };
    int status;
    perp_say("building the contract test of kind %s (once)", kind);
    if (perp_process_run(&ctx, &(perp_process){ .argv = argv, .quiet = true, .said = -1 },
                         &status) != PERP_OK)
      perp_print_error(&ctx);
    else if (status != 0)
      perp_say("the build failed; its output: ninja -C %s %s", tree, target);
  }
  const bool there = access(made, X_OK) == 0;
  free(tree);
  free(rules);
  free(target);
  if (there) return made;
  free(made);
  return NULL;
}

/* In the build tree beside the program, or where meson install put it. */
static char *contract_program(const char *kind)
{
  char *exe = perp_program_path();
  char *slash = strrchr(exe, '/');
  if (slash != NULL) *slash = '\0';
  char *paths[] = { perp_xprintf("%s/../tests/contract/test_%s", exe, kind),
                    perp_xprintf("%s/../libexec/perp/contract/test_%s", exe, kind),
                    perp_xprintf("%s/test_%s", PERP_CONTRACT_INSTALLED, kind) };
  char *found = NULL;
  for (int i = 0; i < 3; i++) {
    if (found == NULL && access(paths[i], X_OK) == 0)
      found = paths[i];
    else
      free(paths[i]);
  }
  if (found == NULL) found = contract_build(exe, kind);
  free(exe);
  return found;
}

static void run_program(const char *program, const char *plugin, double seconds,
                        struct outcome *outcome)
{
  *outcome = (struct outcome){ 0 };
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    snprintf(outcome->ended, sizeof outcome->ended, "pipe: %s", strerror(errno));
    return;
  }
  fflush(NULL);
  pid_t pid = fork();
  if (pid == 0) {
    setpgid(0, 0);
    dup2(ends[1], 1);
    struct rlimit none = { 0, 0 }, cpu = { (rlim_t)seconds + 5, (rlim_t)seconds + 5 };
    setrlimit(RLIMIT_CORE, &none);
    setrlimit(RLIMIT_CPU, &cpu);
    setenv("PERP_CONTRACT_PLUGIN", plugin, 1);
    setenv("PERP_TAP", "1", 1);
    unsetenv("PERP_PLUGIN_PATH");
    execl(program, program, (char *)NULL);
    _exit(127);
  }
  close(ends[1]);
  double until = perp_clock_wall() + seconds;
  bool killed = false, output = true;
  while (output) {
    struct pollfd pollfd = { .fd = ends[0], .events = POLLIN };
    double left = until - perp_clock_wall();
    if (left <= 0 && !killed) {
      killed = true;
      kill(-pid, SIGKILL);
      kill(pid, SIGKILL);
    }
    if (poll(&pollfd, 1, left > 0 ? (int)(1000 * left) + 1 : 1000) <= 0) continue;
    char buffer[4096];
    ssize_t n = read(ends[0], buffer, sizeof buffer);
    if (n > 0) perp_text_put(&outcome->text, buffer, (size_t)n);
    output = n > 0 || (n < 0 && errno == EINTR);
  }
  close(ends[0]);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  if (killed)
    snprintf(outcome->ended, sizeof outcome->ended, "stopped after %g s", seconds);
  else if (WIFSIGNALED(status))
    snprintf(outcome->ended, sizeof outcome->ended, "crashed: signal %d (%s)", WTERMSIG(status),
             strsignal(WTERMSIG(status)));
  else if (WEXITSTATUS(status) == 99)
    snprintf(outcome->ended, sizeof outcome->ended, "returned no result");
  else if (WEXITSTATUS(status) != 0)
    snprintf(outcome->ended, sizeof outcome->ended, "ended with status %d", WEXITSTATUS(status));
  else
    outcome->complete = true;
}

struct tally {
  int held, failed, skipped;
};

static const char *next_line(const char *text)
{
  text += strcspn(text, "\n");
  return *text == '\n' ? text + 1 : text;
}

/* A line of what the tests said, about one plug-in. */
struct check {
  const char *line, *what; /* line NULL before the first one */
  int length;              /* of what */
  bool good, skipped;
};

/* One line of TAP about the plug-in `name`: "ok 12 - NAME: what", "not ok ...", "# SKIP". */
static bool conformance_about(const char *line, const char *name, struct check *check)
{
  const bool good = strncmp(line, "ok ", 3) == 0;
  if (!good && strncmp(line, "not ok ", 7) != 0) return false;
  const char *dash = strstr(line, " - ");
  const size_t end = strcspn(line, "\n");
  if (dash == NULL || (size_t)(dash - line) > end) return false;
  *check = (struct check){ line, dash + 3, (int)(line + end - dash) - 3, good, false };
  check->skipped = good && memmem(check->what, (size_t)check->length, "# SKIP", 6) != NULL;
  /* with one plug-in in the file every check is its own; names in front tell several apart */
  return name == NULL || (strncmp(check->what, name, strlen(name)) == 0 &&
                          strchr(": ", check->what[strlen(name)]) != NULL);
}

static bool next_check(const struct outcome *outcome, const char *name, struct check *check)
{
  const char *at = check->line != NULL ? next_line(check->line) : outcome->text.s;
  for (; at != NULL && *at != '\0'; at = next_line(at))
    if (conformance_about(at, name, check)) return true;
  return false;
}

static void conformance_count(const struct outcome *outcome, const char *name, struct tally *tally)
{
  *tally = (struct tally){ 0 };
  for (struct check check = { 0 }; next_check(outcome, name, &check);)
    *(check.skipped ? &tally->skipped : check.good ? &tally->held : &tally->failed) += 1;
}

static void print_checks(const struct outcome *outcome, const char *name, bool verbose)
{
  for (struct check check = { 0 }; next_check(outcome, name, &check);) {
    if (check.good && !verbose) continue;
    printf("    %-8s %.*s\n",
           check.skipped ? "skipped"
           : check.good  ? "held"
                         : "FAILED",
           check.length, check.what);
    /* figures stand before the line or behind it, in comments; the place in the tests says little
     * here */
    for (const char *at = next_line(check.line); !check.good && *at == '#'; at = next_line(at))
      if (strncmp(at, "# failed at", 11) != 0) {
        fputs("             ", stdout);
        fwrite(at, 1, strcspn(at, "\n"), stdout);
        putchar('\n');
      }
  }
}

static void print_options(const perp_desc *desc)
{
  for (const perp_opt *opt = desc->opts; opt != NULL && opt->type != PERP_OPT_END; opt++) {
    char range[128];
    perp_opt_range(opt, range, sizeof range);
    printf("    option   %s in %s %s: %s\n", opt->key, range, opt->unit, opt->help);
  }
}

static void print_passport(perp_kind kind, const perp_desc *desc, const struct outcome *outcome,
                           const char *name, const struct tally *tally, bool verbose)
{
  char caps[512];
  perp_capabilities(kind, desc->caps, caps, sizeof caps);
  printf("  %s %s: %s\n", perp_kind_name(kind), desc->name, desc->summary);
  printf("    source   %s\n", desc->reference);
  if (desc->equation != NULL) printf("    equation %s\n", desc->equation);
  printf("    declares %s\n", caps[0] != '\0' ? caps : "nothing beyond its kind");
  print_options(desc);
  printf("    checked  %d, held %d, failed %d, skipped %d\n",
         tally->held + tally->failed + tally->skipped, tally->held, tally->failed, tally->skipped);
  print_checks(outcome, name, verbose);
  if (!outcome->complete) {
    printf("    FAILED   the tests did not reach their end: %s\n", outcome->ended);
    const char *last = "";
    for (const char *at = outcome->text.s; at != NULL && *at != '\0'; at = next_line(at)) last = at;
    if (*last != '\0') printf("             last line: %.*s\n", (int)strcspn(last, "\n"), last);
  }
}

static void json_passport(perp_json *json, perp_kind kind, const perp_desc *desc,
                          const struct outcome *outcome, const char *name,
                          const struct tally *tally)
{
  perp_json_open(json, NULL, '{');
  char caps[512];
  perp_capabilities(kind, desc->caps, caps, sizeof caps);
  perp_json_members(json,
                    "kind %s, name %s, declares %s, tested? %d, held %d, failed %d, skipped %d, "
                    "complete? %d, ended %s",
                    perp_kind_name(kind), desc->name, caps, true, tally->held, tally->failed,
                    tally->skipped, outcome->complete, !outcome->complete ? outcome->ended : "");
  perp_json_open(json, "failures", '[');
  for (struct check check = { 0 }; next_check(outcome, name, &check);) {
    char text[512];
    if (check.good) continue;
    snprintf(text, sizeof text, "%.*s", check.length, check.what);
    perp_json_text(json, NULL, text);
  }
  perp_json_close(json, ']');
  perp_json_close(json, '}');
}

int perp_conformance(double seconds, bool json, bool verbose)
{
  perp_json out = { .out = stdout, .indent = true };
  bool all_held = true, missing = false;
  if (json) perp_json_open(&out, NULL, '[');
  const perp_plugin_file *file;
  for (int i = 0; (file = perp_plugin_file_at(i)) != NULL; i++) {
    if (!json) printf("%s, interface version %d\n", file->path, file->content->abi);
    struct outcome outcome[PERP_KIND_COUNT];
    bool ran[PERP_KIND_COUNT] = { false };
    int of_kind[PERP_KIND_COUNT] = { 0 };
    for (const perp_plugin *plugin = file->content->plugins; plugin->kind != PERP_KIND_NONE;
         plugin++)
      of_kind[plugin->kind]++;
    for (const perp_plugin *plugin = file->content->plugins; plugin->kind != PERP_KIND_NONE;
         plugin++) {
      const char *kind = perp_kind_name(plugin->kind);
      char *program = !ran[plugin->kind] ? contract_program(kind) : NULL;
      if (!ran[plugin->kind]) {
        if (program == NULL) {
          perp_say("error: the contract tests are missing (test_%s); in the source tree: ./perp "
                   "test --plugin FILE.so",
                   kind);
          missing = true;
          continue;
        }
        run_program(program, file->path, seconds, &outcome[plugin->kind]);
        ran[plugin->kind] = true;
        free(program);
      }
      const struct outcome *o = &outcome[plugin->kind];
      struct tally tally = { 0 };
      const char *name = of_kind[plugin->kind] > 1 ? plugin->d->name : NULL;
      conformance_count(o, name, &tally);
      all_held = all_held && tally.failed == 0 && tally.held > 0 && o->complete;
      if (json)
        json_passport(&out, plugin->kind, plugin->d, o, name, &tally);
      else
        print_passport(plugin->kind, plugin->d, o, name, &tally, verbose);
    }
    for (int k = 0; k < PERP_KIND_COUNT; k++)
      if (ran[k]) perp_text_free(&outcome[k].text);
  }
  if (json) perp_json_close(&out, ']');
  return missing ? PERP_EXIT_USAGE : all_held ? PERP_EXIT_OK : PERP_EXIT_FAILED;
}
