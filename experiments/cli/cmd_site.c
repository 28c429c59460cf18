/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perp site, submit: a static site of the source tree and of results, made by
 * experiments/site/make.py, and what others send to it, made by submit.py there. */
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
static char *site_script(const char *name)
{
  const char *home = getenv("PERP_HOME");
  char *path = home != NULL ? perp_xprintf("%s/experiments/site/%s", home, name) : NULL;
  if (path == NULL || !perp_exists(path)) {
    free(path);
    path = perp_xprintf("%s/../site/%s", PERP_TEMPLATES_SOURCE, name);
  }
  if (perp_exists(path)) return path;
  free(path);
  return NULL;
}

static const char site_flag[] = ""; /* in place of a value, by its address: there is none */

/* Become the script: python3 SCRIPT OPTION... -- PROGRAM ARGUMENT... with the options [n], name and
 * value, whose value is not NULL.  Returns on an error only. */
static int site_become(const char *name, const char *const (*option)[2], int n,
                       const perp_args *args)
{
  char *script = site_script(name), self[4096];
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (script == NULL || length <= 0) {
    free(script);
    perp_say("error: this command is made of the source tree: run ./perp there");
    return PERP_EXIT_USAGE;
  }
  self[length] = '\0';
  const char **words = perp_xalloc((size_t)(args->n + 2 * n + 5), sizeof *words);
  int k = 0;
  words[k++] = "python3";
  words[k++] = script;
  for (int i = 0; i < n; i++) {
    if (option[i][1] == NULL) continue;
    words[k++] = option[i][0];
    if (option[i][1] != site_flag) words[k++] = option[i][1];
  }
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

static int cmd_site(perp_ctx *ctx, const perp_args *args)
{
  const char *out = perp_args_get(args, "output"), *port = perp_args_get(args, "port");
  const bool serve = perp_option_given(args, "serve");
  int64_t number;
  if (out == NULL) return perp_usage_error(args, "name the folder of the site: -o DIR");
  if (port != NULL && perp_parse_int(ctx, port, 1, 65535, &number) != PERP_OK)
    return perp_usage_error(args, "--port: '%s' is not a whole number from 1 to 65535", port);
  if (port != NULL && !serve)
    return perp_usage_error(args, "--port is that of --serve: add --serve");
  const char *const option[][2] = { { "-o", out },
                                    { "--serve", serve ? site_flag : NULL },
                                    { "--port", port },
                                    { "--verify", perp_args_get(args, "verify") } };
  return site_become("make.py", option, 4, args);
}

static const perp_flag site_flags[] = {
  { "output", 'o', "DIR",
    "Folder of the site. A site that is there already is replaced; a folder with other files is "
    "refused." },
  { "serve", 0, NULL, "Serve the site at localhost until Ctrl-C, and print the address." },
  { "port", 0, "N", "Port of --serve (default: 8000)." },
  { "verify", 0, "FILE",
    "Plug-in of a submission, built here from its source: its contract tests and five of the runs "
    "are repeated, and the page says what differs." },
  { 0 }
};

const perp_command perp_site_command = {
  .cli.name = "site",
  .cli.usage = "-o DIR [RESULTS...] [options]",
  .cli.summary =
      "Makes a static site that opens from files and needs no network. It has the findings of "
      "studies with their interactive pages, the documentation with a search, and a page for each "
      "method and scene. Lessons, gallery and the interfaces of C and Python are there, too.",
  .cli.more =
      "RESULTS are folders made by `perp run` or `perp submit`; the studies of results/published "
      "are "
      "there without. Nothing of a submission is executed but the plug-in that --verify names. "
      "./perp site builds the contract tests, too: pages of methods have their results. Needed: "
      "cmark-gfm, esbuild, libjs-katex (packages.txt); pages of the C interface: doxygen.",
  .cli.example = "./perp site -o site results/chain6-stab --serve",
  .cli.flags = site_flags,
  .cli.max_args = PERP_ARGS_MAX,
  .summary = "Make a static site of documentation, findings and methods",
  .run = cmd_site
};

/* ---- submit ---- */

static int cmd_submit(perp_ctx *ctx, const perp_args *args)
{
  (void)ctx;
  const char *out = perp_args_get(args, "output");
  if (out == NULL) return perp_usage_error(args, "name the folder of the submission: -o DIR");
  const char *const option[][2] = { { "-o", out },
                                    { "--by", perp_args_get(args, "by") },
                                    { "--link", perp_args_get(args, "link") } };
  return site_become("submit.py", option, 3, args);
}

static const perp_flag submit_flags[] = { { "output", 'o', "DIR", "New folder of the submission." },
                                          { "by", 0, "TEXT", "Names of those who submit." },
                                          { "link", 0, "URL",
                                            "Where the source of the plug-in is." },
                                          { 0 } };

const perp_command perp_submit_command = {
  .cli.name = "submit",
  .cli.usage = "RESULTS -o DIR [options]",
  .cli.summary =
      "Makes a folder of a plug-in and its results for the site of others: descriptor, contract "
      "tests, versions, machine, journal, and a sum of each file. The plug-in itself is not in it.",
  .cli.more = "RESULTS is a folder made by `perp run` with the plug-in. perp site shows the "
              "submission beside the other findings, and repeats a sample of its runs with "
              "--verify. See docs/how-to/publish.md.",
  .cli.example = "perp submit results/mine -o mine-2026 --by 'A group' --link "
                 "https://example.org/mine",
  .cli.flags = submit_flags,
  .cli.min_args = 1,
  .cli.max_args = 1,
  .summary = "Make a folder of your plug-in and its results for a site",
  .run = cmd_submit
};
