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
  perp_say("error: cannot run %s: %s; set PERP_PYTHON to another Python", perp_python_name(),
           strerror(errno));
  return PERP_EXIT_INTERNAL;
}

const perp_command perp_python_command = {
  .cli.name = "python",
  .cli.usage = "install | uninstall",
  .cli.summary = "Makes `import perp` work in python3, in every folder, or undoes this. Nothing is "
                 "copied or downloaded. A file perp.pth in the package folder of the user (or of "
                 "the virtual environment) names the folder of the package.",
  .cli.more =
      "Set PERP_PYTHON to use another Python than python3. See docs/tutorials/python.md for "
      "the functions.",
  .cli.example = "perp python install   # then: python3 -c 'import perp; print(perp.lcp([[2, 1], "
                 "[1, 2]], [-5, -6]))'",
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Make `import perp` work in Python",
  .run = cmd_python
};
