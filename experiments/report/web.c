/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/web.h"

#include "experiments/report/web_paths.h"
#include "experiments/base/shell.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <sys/wait.h>

/* The folder of the sources: where the launcher is, else where perp was configured. */
static const char *web_sources(perp_pool *pool)
{
  const char *home = getenv("PERP_HOME"), *path = WEB_SOURCE;
  if (home != NULL && home[0] != '\0')
    path = perp_pool_printf(pool, "%s/experiments/report/web", home);
  return perp_exists(path) ? path : WEB_SOURCE;
}

char *perp_web_bundle(void)
{
  size_t size;
  perp_pool pool = { 0 };
  const char *given = getenv("PERP_REPORT_JS");
  if (given != NULL) return given[0] == '\0' ? NULL : perp_read_file(given, &size);
  char *text = perp_read_file(perp_pool_printf(&pool, "%s/dist/report.js", web_sources(&pool)),
                              &size);
  if (text == NULL) text = perp_read_file(WEB_INSTALLED, &size);
  perp_pool_free(&pool);
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
  perp_pool pool = { 0 };
  const char *script = perp_pool_printf(&pool, "%s/build.sh", web_sources(&pool));
  const char *const argv[] = { "sh", script, NULL };
  int result = 0;
  perp_status status =
      perp_exists(script)
          ? perp_process_run(ctx, &(perp_process){ .argv = argv }, &result)
          : PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                      "%s does not exist: perp was installed without the interactive figures",
                      script);
  if (status == PERP_OK && (!WIFEXITED(result) || WEXITSTATUS(result) != 0))
    status = PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
                       "the interactive figures could not be built: see the messages above");
  perp_pool_free(&pool);
  return status;
}
