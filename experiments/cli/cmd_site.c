/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp site: a static site of the source tree and of results, made by experiments/site/make.py. */
#include "experiments/base/build.h"
#include "experiments/base/files.h"
#include "experiments/base/messages.h"
#include "experiments/base/numbers.h"
#include "experiments/cli/command.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The script in the tree that the launcher names, else in that of the build; NULL: neither is here.
 * The caller frees it. */
static char *site_script(void)
{
  const char *home = getenv("PERP_HOME");
  char *path = home != NULL ? perp_xprintf("%s/experiments/site/make.py", home) : NULL;
  if (path == NULL || !perp_exists(path)) {
    free(path);
    path = perp_xprintf("%s/../site/make.py", PERP_TEMPLATES_SOURCE);
  }
  if (perp_exists(path)) return path;
  free(path);
  return NULL;
}

static int cmd_site(perp_ctx *ctx, const perp_args *args)
{
  const char *out = perp_args_get(args, "output"), *port = perp_args_get(args, "port");
  int64_t number;
  if (out == NULL) return perp_usage_error(args, "name the folder of the site: -o DIR");
  if (port != NULL && perp_parse_int(ctx, port, 1, 65535, &number) != PERP_OK)
    return perp_usage_error(args, "--port: '%s' is not a whole number from 1 to 65535", port);
  if (port != NULL && !perp_option_given(args, "serve"))
    return perp_usage_error(args, "--port is that of --serve: add --serve");
  char *script = site_script(), self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (script == NULL || n <= 0) {
    free(script);
    perp_say("error: the site is made of the source tree: run ./perp site there");
    return PERP_EXIT_USAGE;
  }
  self[n] = '\0';
  const char **words = perp_xalloc((size_t)args->n + 12, sizeof *words);
  int k = 0;
  words[k++] = "python3";
  words[k++] = script;
  words[k++] = "-o";
  words[k++] = out;
  if (perp_option_given(args, "serve")) words[k++] = "--serve";
  if (port != NULL) words[k++] = "--port";
  if (port != NULL) words[k++] = port;
  words[k++] = "--";
  words[k++] = self;
  for (int i = 0; i < args->n; i++) words[k++] = args->arg[i];
  words[k] = NULL;
  fflush(NULL);
  execvp("python3", (char *const *)(uintptr_t)words);
  perp_say("error: python3: %s (apt-get install python3)", strerror(errno));
  free(words);
  free(script);
  return PERP_EXIT_INTERNAL;
}

static const perp_flag site_flags[] = {
  { "output", 'o', "DIR",
    "Folder of the site. A site that is there already is replaced; a folder with other files is "
    "refused." },
  { "serve", 0, NULL, "Serve the site at localhost until Ctrl-C, and print the address." },
  { "port", 0, "N", "Port of --serve (default: 8000)." },
  { 0 }
};

const perp_command perp_site_command = {
  .cli.name = "site",
  .cli.usage = "-o DIR [RESULTS...] [options]",
  .cli.summary =
      "Makes a static site: what the studies found with their interactive pages, the documentation "
      "with a search, a page for each method and scene, lessons, gallery, interfaces of C and "
      "Python. It opens from files and needs no network.",
  .cli.more =
      "RESULTS are folders made by `perp run`; the studies of results/published are there without. "
      "./perp site builds the contract tests, too: pages of methods have their results. Needed: "
      "cmark-gfm, esbuild, libjs-katex (packages.txt); pages of the C interface: doxygen.",
  .cli.example = "./perp site -o site results/chain6-stab --serve",
  .cli.flags = site_flags,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Make a static site of documentation, findings and methods",
  .run = cmd_site
};
