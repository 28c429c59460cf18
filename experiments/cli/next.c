/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/cli/next.h"

#include "experiments/base/files.h"
#include "experiments/base/shell.h"
#include "experiments/cli/command.h"
#include "experiments/web/web.h"
#include "experiments/run/program.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Is there a program of this name in PATH? */
static bool next_in_path(const char *name)
{
  const char *path = getenv("PATH");
  for (size_t n; path != NULL && *path != '\0'; path += n + (path[n] == ':')) {
    n = strcspn(path, ":");
    char *file = perp_xprintf("%.*s/%s", (int)n, path, name);
    const bool found = n > 0 && access(file, X_OK) == 0;
    free(file);
    if (found) return true;
  }
  return false;
}

/* The program as this shell finds it: perp, the launcher in this folder, or a path. */
static void next_program(perp_text *out)
{
  const char *home = getenv("PERP_HOME");
  char *launcher = home != NULL ? perp_xprintf("%s/perp", home) : NULL;
  char *here = perp_real_path("."), *there = home != NULL ? perp_real_path(home) : NULL;
  char *program = perp_program_path();
  if (next_in_path("perp"))
    perp_text_add(out, "perp");
  else if (launcher == NULL || access(launcher, X_OK) != 0)
    perp_shell_path(out, program);
  else if (here != NULL && there != NULL && strcmp(here, there) == 0)
    perp_text_add(out, "./perp");
  else
    perp_shell_path(out, launcher);
  free(program);
  free(there);
  free(here);
  free(launcher);
}

/* The first run that failed; -1: none has. */
static int next_failed(const perp_results *results)
{
  for (int record = 0; record < results->plan.n; record++) {
    const perp_cell_status s = results->record[record].status;
    if (s != PERP_CELL_PLANNED && s != PERP_CELL_UNSUITED && s != PERP_CELL_SKIPPED &&
        !perp_cell_whole(s))
      return record;
  }
  return -1;
}

/* The run with the best figure of those that may win; -1: none may. */
static int next_best(const perp_results *results)
{
  const int metric = perp_results_metric(results, results->study->metrics.primary);
  int best = -1;
  double least = HUGE_VAL;
  for (int cell = 0; cell < results->plan.n && metric >= 0; cell++) {
    const double v = perp_results_value(results, cell, metric) *
                     (results->study->metric[metric].better > 0 ? -1 : 1);
    if (!perp_results_wins(results, cell) || !(v < least)) continue;
    best = cell;
    least = v;
  }
  return best;
}

/* "perp simulate ..." of a run as perp view; false where it cannot be shown so. */
static bool next_view(const perp_results *results, int cell, const char *program, perp_text *out)
{
  static const char alone[] = "perp simulate ";
  char *command = perp_web_built() ? perp_command_alone(results->study, &results->plan.cells[cell])
                                   : NULL;
  const bool shown = command != NULL && strncmp(command, alone, strlen(alone)) == 0 &&
                     strstr(command, " --sample") == NULL && strstr(command, " --engine") == NULL;
  if (shown) perp_text_add(out, "%s view %s", program, command + strlen(alone));
  free(command);
  return shown;
}

void perp_next_say(const perp_results *results, bool shown)
{
  enum { COMMANDS = 3 };
  perp_text program = { 0 }, dir = { 0 }, command[COMMANDS + 1] = { 0 };
  const char *what[COMMANDS + 1];
  int n = 0;
  next_program(&program);
  perp_shell_path(&dir, results->dir);
  what[n] = "every comparison behind the answer";
  perp_text_add(&command[n++], "%s answer %s", program.s, dir.s);
  const int failed = next_failed(results), best = next_best(results);
  if (failed >= 0) {
    what[n] = "a run that failed: why, and the command that repeats it";
    perp_text_add(&command[n++], "%s show %s %.8s", program.s, dir.s,
                  results->plan.cells[failed].id);
  }
  if (best >= 0 && (failed < 0 || shown)) {
    what[n] = "the run with the best figure, moving";
    if (!next_view(results, best, program.s, &command[n])) {
      what[n] = "the run with the best figure, and the command that repeats it";
      perp_text_add(&command[n], "%s show %s %.8s", program.s, dir.s, results->plan.cells[best].id);
    }
    n++;
  }
  if (!shown) {
    what[n] = "the report, in the browser";
    perp_text_add(&command[n++], "%s report %s --open", program.s, dir.s);
  }
  fprintf(stderr, "\nNext:\n");
  for (int i = 0; i < n; i++) fprintf(stderr, "  %s\n      %s\n", command[i].s, what[i]);
  for (int i = 0; i <= COMMANDS; i++) perp_text_free(&command[i]);
  perp_text_free(&program);
  perp_text_free(&dir);
}
