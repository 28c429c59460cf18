/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Joints whose rows depend on time (bad_plugins/timed.c): the honest one is taken, each lie is
 * found by the check that is there for it. */
#include "tests/cli/program.h"

enum { BEHIND = 9 }; /* the lie that writes where it must not */

int main(void)
{
  program_open();
  static const struct {
    const char *what, *says;
  } timed[] = { { "rows that depend on time, honest", NULL },
                { "a C_t of the wrong sign", "J v is the derivative of C" },
                { "a C_t of nothing", "J v is the derivative of C" },
                { "a J that is half of what it should be for one body",
                  "J v is the derivative of C" },
                { "a J that turns what it does not turn", "J v is the derivative of C" },
                { "a gamma that forgets the time", "Jdot v is the derivative of J v" },
                { "a gamma of the time alone", "Jdot v is the derivative of J v" },
                { "a gamma with the time backwards", "Jdot v is the derivative of J v" },
                { "a C that hangs on what else is asked for", "C is the same whatever else" },
                { "writes behind C_t", "writes nothing beside C_t" },
                { "a C_t that is wrong later", "J v is the derivative of C" },
                { "another one each time", "identical bits" },
                { "a zero of another time", "takes its zero from the initial state" },
                { "invariant, and it is not", "moves with its bodies" } };
  const char *folder = getenv("PERP_BAD_PLUGINS");
  if (folder == NULL) bail("PERP_BAD_PLUGINS names no folder");
  for (size_t i = 0; i < sizeof timed / sizeof *timed; i++) {
    if (SANITIZED && i == BEHIND) {
      skip("the sanitizer stops it before the contract tests can", "%s", timed[i].what);
      continue;
    }
    char *plugin = perp_xprintf("%s/timed%zu.so", folder, i);
    judge(plugin, i == 0 ? 0 : 10, timed[i].says, "joint", timed[i].what);
    free(plugin);
  }
  program_close();
  return tap_done();
}
