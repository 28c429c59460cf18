/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Twenty SIGKILLs at random moments. */
#include "tests/cli/program.h"

#include <signal.h>

static const char study[] = LINKS_STUDY("slow", "err.q.max, steps], series: { every: 10 ms }");

/* Finished cells in the journals of a folder; torn lines do not count. */
static int finished(const char *dir)
{
  char *command = perp_xprintf(
      "cat %s/journal/*.jsonl 2>/dev/null | grep -c '\"event\": \"cell\".*}$' >count.txt", dir);
  if (system(command) < 0) bail("%s", command);
  free(command);
  char *text = perp_read_file("count.txt", NULL);
  int n = text != NULL ? atoi(text) : 0;
  free(text);
  return n;
}

static void test_kills(int kills)
{
  ok(run("run slow.yaml -o calm -q --no-report -j 2") == 0, "an undisturbed run");
  perp_rng *rng = perp_rng_create(91);
  int killed = 0, lost = 0;
  for (int k = 0; k < kills; k++) {
    int before = finished("killed");
    pid_t pid = start("run slow.yaml -o killed -q --no-report -j 2");
    usleep((useconds_t)perp_rng_uniform(rng, 5e3, 350e3));
    kill(pid, SIGKILL);
    killed += finish(pid) == 256 + SIGKILL;
    usleep(50000);
    lost += finished("killed") < before;
  }
  perp_rng_destroy(rng);
  ok(killed >= kills / 2, "%d of %d kills struck a running study", killed, kills);
  ok(lost == 0, "no finished cell was lost");
  int status = run("run slow.yaml -o killed --no-report -j 2");
  ok(status == 0 && finished("killed") == 24,
     "the run after that completes it; no finished cell was computed twice (%d)",
     finished("killed"));
  ok(same_file("calm/derived/cells.csv", "killed/derived/cells.csv"),
     "cells.csv is the same, byte for byte");
}

int main(void)
{
  program_open();
  write_file("slow.yaml", study);
  test_kills(20);
  program_close();
  return tap_done();
}
