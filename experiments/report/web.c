/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/web.h"

#include "experiments/report/web_paths.h"
#include "experiments/base/shell.h"

#include <stdlib.h>
#include <sys/wait.h>

/* The folder of the sources: where the launcher is, else where perp was configured. */
static char *web_sources(void)
{
  const char *home = getenv("PERP_HOME");
  if (home != NULL && home[0] != '\0') {
    char *path = perp_xprintf("%s/experiments/report/web", home);
    if (perp_exists(path)) return path;
    free(path);
  }
  return perp_xstrdup(WEB_SOURCE);
}

char *perp_web_bundle(void)
{
  size_t size;
  const char *given = getenv("PERP_REPORT_JS");
  if (given != NULL) return given[0] == '\0' ? NULL : perp_read_file(given, &size);
  char *folder = web_sources(), *path = perp_xprintf("%s/dist/report.js", folder);
  char *text = perp_read_file(path, &size);
  if (text == NULL) text = perp_read_file(WEB_INSTALLED, &size);
  free(path);
  free(folder);
  return text;
}

bool perp_web_built(void)
{
  char *text = perp_web_bundle();
  bool built = text != NULL;
  free(text);
  return built;
}

perp_status perp_web_build(perp_ctx *ctx)
{
  char *folder = web_sources(), *script = perp_xprintf("%s/build.sh", folder);
  const char *const argv[] = { "sh", script, NULL };
  int result = 0;
  perp_status status = perp_exists(script)
                           ? perp_process_run(ctx, &(perp_process){ .argv = argv }, &result)
                           : PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                                       "%s is not there: perp was installed without it", script);
  if (status == PERP_OK && (!WIFEXITED(result) || WEXITSTATUS(result) != 0))
    status = PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                       "the interactive figures could not be built (the reason is above)");
  free(script);
  free(folder);
  return status;
}
