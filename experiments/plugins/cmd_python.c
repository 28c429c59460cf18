/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp python: make the Python package known to a Python. */
#include "experiments/plugins/python_process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int cmd_python(perp_ctx *ctx, const perp_args *args)
{
  static const char *const what[] = { "install", "uninstall" };
  char *home;
  if (perp_choose(args, "unknown word", args->arg[0], what, 2, "") < 0) return PERP_EXIT_USAGE;
  if (perp_python_home(ctx, &home) != PERP_OK) return perp_refuse(ctx, PERP_EXIT_INTERNAL);
  perp_python_setenv(home);
  free(home);
  execlp(perp_python_name(), perp_python_name(), "-m", "perp", args->arg[0], (char *)NULL);
  perp_say("error: cannot run %s: %s; PERP_PYTHON names another one", perp_python_name(),
           strerror(errno));
  return PERP_EXIT_INTERNAL;
}

const perp_command perp_python_command = {
  .cli.name = "python",
  .cli.usage = "install | uninstall",
  .cli.summary =
      "Makes `import perp` work in python3, from everywhere, or takes that back. Nothing "
      "is copied or fetched: a file perp.pth among the packages of the user (of the "
      "virtual environment) names the folder of the package.",
  .cli.more =
      "PERP_PYTHON names another Python than python3. docs/how-to/python.md has the functions.",
  .cli.example = "perp python install   # then: python3 -c 'import perp; print(perp.lcp([[2, 1], "
                 "[1, 2]], [-5, -6]))'",
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "make `import perp` work in Python",
  .run = cmd_python
};
