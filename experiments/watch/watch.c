/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/watch/watch.h"

#include "experiments/base/shell.h"
#include "experiments/watch/motion_page.h"
#include "experiments/web/web.h"
#include "experiments/simulate/parts.h"
#include "experiments/simulate/replay.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { SIZE_LEAST = 100, SIZE_MOST = 8000 };

/* "stack" of "stack:boxes=3" and of "my/stack.yaml:boxes=3" */
static const char *watch_name(perp_pool *pool, const char *scene)
{
  char *text = perp_pool_strdup(pool, scene);
  char *options = strchr(text, ':');
  if (options != NULL) *options = '\0';
  char *dot = strrchr(text, '.');
  if (dot != NULL && strchr(dot, '/') == NULL) *dot = '\0';
  const char *slash = strrchr(text, '/');
  return slash != NULL ? slash + 1 : text;
}

/* "1200x800" */
static bool watch_size(const char *text, int *width, int *height)
{
  char *end;
  const long w = strtol(text, &end, 10);
  if (end == text || *end != 'x' || !isdigit((unsigned char)end[1])) return false;
  const long h = strtol(end + 1, &end, 10);
  if (*end != '\0' || w < SIZE_LEAST || w > SIZE_MOST || h < SIZE_LEAST || h > SIZE_MOST)
    return false;
  *width = (int)w;
  *height = (int)h;
  return true;
}

int perp_watch_begin(perp_ctx *ctx, const perp_args *args, const char *scene, bool tell,
                     perp_watching *watching)
{
  *watching = (perp_watching){ .png = perp_args_get(args, "png"),
                               .picture = { .width = 1200, .height = 800, .at = -1 },
                               .tell = tell };
  const char *size = perp_args_get(args, "size"), *out = perp_args_get(args, "output");
  if (size != NULL && !watch_size(size, &watching->picture.width, &watching->picture.height))
    return perp_usage_error(args, "--size must be WIDTHxHEIGHT, from %d to %d pixels each: got %s",
                            SIZE_LEAST, SIZE_MOST, size);
  int status = perp_option_real(ctx, args, "at", "s", true, &watching->picture.at);
  if (status >= 0) return status;
  if (watching->png == NULL && (size != NULL || perp_option_given(args, "at")))
    return perp_usage_error(args, "--%s applies to a picture: it needs --png FILE",
                            size != NULL ? "size" : "at");
  if (watching->png != NULL && !perp_picture_possible(ctx))
    return perp_refuse(ctx, PERP_EXIT_INFRA);
  if (!perp_web_built()) {
    perp_web_missing(ctx);
    return perp_refuse(ctx, PERP_EXIT_INFRA);
  }
  const bool display = getenv("DISPLAY") != NULL || getenv("WAYLAND_DISPLAY") != NULL;
  watching->open = perp_option_given(args, "open") ||
                   (display && watching->png == NULL && !perp_option_given(args, "no-open"));
  watching->out = out != NULL ? perp_pool_strdup(&watching->pool, out)
                              : perp_pool_printf(&watching->pool, "results/view/%s.html",
                                                 watch_name(&watching->pool, scene));
  watching->folder = perp_temp_folder(ctx);
  if (watching->folder != NULL) return -1;
  perp_pool_free(&watching->pool);
  return perp_refuse(ctx, PERP_EXIT_INTERNAL);
}

int perp_watch_unused(const perp_args *args)
{
  static const perp_flag flags[] = { PERP_WATCH_FLAGS, { 0 } };
  for (const perp_flag *flag = flags; flag->name != NULL; flag++)
    if (perp_option_given(args, flag->name))
      return perp_usage_error(args, "--%s applies to the page: it needs --view", flag->name);
  return -1;
}

const char *perp_watch_replay(perp_watching *watching, int i)
{
  return perp_pool_printf(&watching->pool, "%s/replay%d.json", watching->folder, i);
}

perp_status perp_watch_result(perp_ctx *ctx, const perp_watching *watching, int i,
                              const perp_result *result)
{
  perp_pool pool = { 0 };
  size_t size;
  perp_out out;
  char cause[512];
  const char *from = perp_pool_printf(&pool, "%s/replay%d.json", watching->folder, i);
  char *replay = perp_read_file(from, &size);
  const char *path = perp_pool_printf(&pool, "%s/run%d.json", watching->folder, i);
  perp_status status = PERP_OK;
  if (replay == NULL && errno != ENOENT)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", from, strerror(errno));
  else if (replay == NULL)
    status = result->formulation[0] == '\0'
                 ? PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                             "%s has no bodies to draw: it is a system of equations; perp simulate "
                             "--series writes its motion as numbers",
                             result->scene)
                 : PERP_FAIL(ctx, PERP_ERR_UNSUPPORTED,
                             "%s has more than 10000 bodies, too many to be shown on a page",
                             result->scene);
  if (status == PERP_OK && watching->picture.at > result->t * (1 + 1e-12))
    perp_say("the run ended at t = %.6g s: the picture shows its last state", result->t);
  if (status == PERP_OK) status = perp_out_open(ctx, path, &out);
  if (status == PERP_OK) {
    perp_json json = { .out = out.f };
    perp_json_members(
        &json, "{ scene %s, h %g, t_end %g, reached %g, status %s, reason %s, cause %s",
        result->scene, result->h, result->t_end, result->t, perp_result_status_name(result),
        perp_result_reason(result), perp_result_cause(result, cause, sizeof cause));
    perp_json_members(&json, "truth %s, events %s", result->truth, result->events);
    perp_json_open(&json, "parts", '{');
    for (int part = 0; part < PERP_PARTS; part++)
      if (perp_part_used(result, part)[0] != '\0')
        perp_json_text(&json, perp_part_name(part), perp_part_used(result, part));
    perp_json_close(&json, '}');
    perp_json_raw(&json, "replay", replay);
    perp_json_close(&json, '}');
    status = perp_out_close(ctx, &out, true);
  }
  free(replay);
  perp_pool_free(&pool);
  return status;
}

static int watch_page(perp_ctx *ctx, perp_watching *watching, int n)
{
  enum { RUNS = 2 };
  char *run[RUNS] = { 0 };
  size_t size;
  int read = 0;
  for (; read < n; read++) {
    run[read] = perp_read_file(
        perp_pool_printf(&watching->pool, "%s/run%d.json", watching->folder, read), &size);
    if (run[read] == NULL) break;
  }
  const int why = errno;
  perp_status status = read < n ? PERP_ERR_IO
                                : perp_motion_page(ctx, watching->out, (const char *const *)run, n);
  for (int i = 0; i < RUNS; i++) free(run[i]);
  if (read < n) { /* the one that is missing has said why */
    perp_say("no page: a simulation was not recorded%s%s", why != ENOENT ? ": " : "",
             why != ENOENT ? strerror(why) : "");
    return why == ENOENT ? PERP_EXIT_FAILED : PERP_EXIT_INPUT;
  }
  if (status == PERP_OK && watching->png != NULL)
    status = perp_picture_of(ctx, watching->out, watching->png, &watching->picture);
  if (status != PERP_OK)
    return perp_refuse(ctx, status == PERP_ERR_IO ? PERP_EXIT_INPUT : PERP_EXIT_INFRA);
  fprintf(watching->tell ? stdout : stderr, "%s\n", watching->out);
  if (watching->png != NULL) fprintf(watching->tell ? stdout : stderr, "%s\n", watching->png);
  fflush(stdout);
  if (watching->open) perp_show_page(watching->out);
  return PERP_EXIT_OK;
}

int perp_watch_end(perp_ctx *ctx, perp_watching *watching, int n)
{
  const int code = watch_page(ctx, watching, n);
  perp_temp_remove(watching->folder);
  perp_pool_free(&watching->pool);
  *watching = (perp_watching){ 0 };
  return code;
}
