/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/watch/picture.h"

#include "experiments/base/shell.h"
#include "experiments/base/files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char seconds[] = "120"; /* the page of a large scene takes some */

/* Can it be started from here? */
static bool picture_program(perp_pool *pool, const char *name)
{
  if (strchr(name, '/') != NULL) return access(name, X_OK) == 0;
  const char *path = getenv("PATH");
  for (const char *at = path; at != NULL && *at != '\0';) {
    const size_t n = strcspn(at, ":");
    if (access(perp_pool_printf(pool, "%.*s/%s", (int)n, at, name), X_OK) == 0) return true;
    at += n + (at[n] == ':');
  }
  return false;
}

/* NULL: none */
static const char *picture_browser(perp_pool *pool)
{
  static const char *const names[] = { "chromium", "chromium-browser", "google-chrome",
                                       "google-chrome-stable" };
  const char *given = getenv("PERP_CHROMIUM");
  if (given != NULL && given[0] != '\0') return picture_program(pool, given) ? given : NULL;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (picture_program(pool, names[i])) return names[i];
  return NULL;
}

bool perp_picture_possible(perp_ctx *ctx)
{
  perp_pool pool = { 0 };
  const char *given = getenv("PERP_CHROMIUM");
  const bool found = picture_browser(&pool) != NULL;
  perp_pool_free(&pool);
  if (found) return true;
  if (given != NULL && given[0] != '\0')
    PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
              "a picture needs Chromium, and PERP_CHROMIUM=%s cannot be executed", given);
  else
    PERP_FAIL(ctx, PERP_ERR_EXTERNAL,
              "a picture needs Chromium, which is not installed: ./perp setup pictures (without "
              "--png a page for any browser is made)");
  return false;
}

/* "file:///a%%20b.html#still" */
static void picture_address(perp_text *out, const char *path, double at)
{
  perp_text_add(out, "file://");
  for (const char *text = path; *text != '\0'; text++)
    if (isalnum((unsigned char)*text) || strchr("/-_.~", *text) != NULL)
      perp_text_add(out, "%c", *text);
    else
      perp_text_add(out, "%%%02X", (unsigned)(unsigned char)*text);
  perp_text_add(out, "#still");
  if (at >= 0) perp_text_add(out, "&t=%.17g", at);
}

static perp_status picture_take(perp_ctx *ctx, perp_pool *pool, const char *page,
                                const char *folder, const perp_picture *picture)
{
  const char *browser = picture_browser(pool);
  char *whole = perp_real_path(page);
  perp_text address = { 0 };
  if (browser == NULL || whole == NULL) {
    free(whole);
    return PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "Chromium is missing, or the page %s is", page);
  }
  picture_address(&address, whole, picture->at);
  free(whole);
  /* a profile of its own: else a Chromium that runs already would be asked, and this one ends */
  const char *argv[] = { "timeout",
                         "-k",
                         "5",
                         seconds,
                         browser,
                         "--headless",
                         perp_pool_printf(pool, "--user-data-dir=%s/profile", folder),
                         "--no-first-run",
                         "--hide-scrollbars",
                         "--use-gl=angle",
                         "--use-angle=swiftshader",
                         "--enable-unsafe-swiftshader",
                         "--force-device-scale-factor=1",
                         "--default-background-color=FFFFFFFF",
                         perp_pool_printf(pool, "--window-size=%d,%d", picture->width,
                                          picture->height),
                         perp_pool_printf(pool, "--screenshot=%s/shot.png", folder),
                         geteuid() == 0 ? "--no-sandbox" : "--mute-audio",
                         address.s,
                         NULL };
  int status = 0;
  perp_status done = perp_process_run(
      ctx, &(perp_process){ .argv = argv, .quiet = true, .said = -1 }, &status);
  if (done == PERP_OK && (!WIFEXITED(status) || WEXITSTATUS(status) != 0))
    done = PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "%s made no picture of %s (%s)", browser, page,
                     WIFEXITED(status) && WEXITSTATUS(status) == 124 ? "after two minutes"
                                                                     : "it failed");
  perp_text_free(&address);
  return done;
}

perp_status perp_picture_of(perp_ctx *ctx, const char *page, const char *png,
                            const perp_picture *picture)
{
  perp_pool pool = { 0 };
  char *folder = perp_temp_folder(ctx);
  if (folder == NULL) return PERP_ERR_IO;
  perp_status status = picture_take(ctx, &pool, page, folder, picture);
  if (status == PERP_OK) {
    size_t size = 0;
    char *bytes = perp_read_file(perp_pool_printf(&pool, "%s/shot.png", folder), &size);
    status = bytes == NULL
                 ? PERP_FAIL(ctx, PERP_ERR_EXTERNAL, "Chromium made no picture of %s", page)
                 : perp_write_file(ctx, png, bytes, size);
    free(bytes);
  }
  perp_temp_remove(folder);
  perp_pool_free(&pool);
  return status;
}
