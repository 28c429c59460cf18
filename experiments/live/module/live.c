/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The module as a page sees it: memory, messages, scenes that the page brings, methods. */
#include "experiments/live/module/live.h"

#include "experiments/base/json.h"
#include "experiments/base/memory.h"
#include "experiments/metrics/metrics.h"
#include "experiments/scenes/build.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_SCENES = 512 };
static perp_ctx ctx;
static bool ready;
static perp_scene_file *scene[MOST_SCENES];
static perp_plugin table[MOST_SCENES + 1];
static char *text;
static size_t text_size;
static FILE *text_out;

perp_ctx *live_ctx(void)
{
  if (ready) return &ctx;
  perp_ctx_init(&ctx);
  perp_register_models(&ctx);
  perp_register_metrics(&ctx);    /* gauges of scenes are named by them */
  perp_register_own(&ctx, table); /* empty so far */
  ready = true;
  return &ctx;
}

FILE *live_text_begin(void)
{
  free(text);
  text = NULL;
  text_out = open_memstream(&text, &text_size);
  if (text_out == NULL) abort();
  return text_out;
}

const char *live_text_end(void)
{
  fclose(text_out);
  return text;
}

LIVE_EXPORT(live_room) void *live_room(size_t bytes)
{
  return malloc(bytes + 1);
}

LIVE_EXPORT(live_free) void live_free(void *room)
{
  free(room);
}

LIVE_EXPORT(live_message) const char *live_message(void)
{
  return live_ctx()->msg;
}

/* A scene file as JSON, under a name; NULL: the message says what is wrong with it. */
LIVE_EXPORT(live_scene) const char *live_scene(const char *name, const char *json)
{
  perp_diag diag = { 0 };
  int i = 0;
  live_ctx();
  while (scene[i] != NULL && strcmp(scene[i]->desc.d.name, name) != 0) i++;
  if (i + 1 >= MOST_SCENES) {
    PERP_FAIL(&ctx, PERP_ERR_NOMEM, "no room for more than %d scenes", MOST_SCENES);
    return NULL;
  }
  perp_scene_file *file = calloc(1, sizeof *file);
  if (file == NULL) abort();
  if (!perp_scene_file_read(&ctx, &diag, name, json, strlen(json), file)) {
    snprintf(ctx.msg, sizeof ctx.msg, "%s", diag.text.s != NULL ? diag.text.s : "");
    perp_diag_free(&diag);
    perp_pool_free(&file->pool);
    free(file);
    return NULL;
  }
  perp_scene_file_describe(file, perp_pool_strdup(&file->pool, name));
  perp_diag_free(&diag);
  scene[i] = file; /* an older one of that name may still be in use: it stays in memory */
  table[i] = (perp_plugin){ PERP_KIND_scene, &file->desc.d };
  return name;
}

/* given NULL: the defaults */
static void put_options(perp_json *json, const perp_desc *d, const void *given)
{
  char range[256], dflt[PERP_TEXT_MAX + 8];
  void *opts = given == NULL && d->opts_size > 0 ? calloc(1, d->opts_size) : NULL;
  if (opts != NULL) perp_opts_default(d, opts);
  perp_json_open(json, "options", '[');
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++) {
    perp_opt_range(o, range, sizeof range);
    perp_opt_format(o, given != NULL ? given : opts, dflt, sizeof dflt);
    perp_json_members(json, "{ key %s, unit %s, help %s, range %s, value %s }", o->key, o->unit,
                      o->help, range, dflt);
  }
  perp_json_close(json, ']');
  free(opts);
}

/* A method with options as it is written for the command line, of a kind as live_methods names it:
 * { name, text, options: [{ key, unit, help, range, value }] }; NULL: the message says what is
 * wrong with it. */
LIVE_EXPORT(live_spec) const char *live_spec(const char *kind, const char *method)
{
  perp_spec spec;
  char all[1024] = "";
  perp_kind k = PERP_KIND_NONE;
  for (int i = 1; i < PERP_KIND_COUNT; i++)
    if (strcmp(perp_kind_name((perp_kind)i), kind) == 0) k = (perp_kind)i;
  if (perp_spec_parse(live_ctx(), k, method, &spec) != PERP_OK) return NULL;
  perp_spec_format(&spec, all, sizeof all);
  perp_json json = { .out = live_text_begin() };
  perp_json_open(&json, NULL, '{');
  perp_json_members(&json, "name %s, text %s", spec.d->name, all);
  put_options(&json, spec.d, spec.opts);
  perp_json_close(&json, '}');
  perp_spec_free(&spec);
  return live_text_end();
}

/* { scene: [{ name, summary, caps, options }], lcp: [...], ... } */
LIVE_EXPORT(live_methods) const char *live_methods(void)
{
  static const perp_kind kinds[] = { PERP_KIND_scene,  PERP_KIND_formulation, PERP_KIND_ode,
                                     PERP_KIND_kkt,    PERP_KIND_lcp,         PERP_KIND_stab,
                                     PERP_KIND_contact };
  perp_json json = { .out = live_text_begin() };
  live_ctx();
  perp_json_open(&json, NULL, '{');
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
    perp_json_open(&json, perp_kind_name(kinds[k]), '[');
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(&ctx, kinds[k], i)) != NULL; i++) {
      perp_json_open(&json, NULL, '{');
      perp_json_members(&json, "name %s, summary %s, caps %lld", d->name, d->summary,
                        (long long)d->caps);
      put_options(&json, d, NULL);
      perp_json_close(&json, '}');
    }
    perp_json_close(&json, ']');
  }
  perp_json_close(&json, '}');
  return live_text_end();
}
