/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scene files that come with perp: parts of the program, so that it finds them wherever it
 * runs. */
#include "experiments/scenes/build.h"
#include "experiments/scenes/shipped_lines.h"
#include "models/scenes/paths.h"

#include "experiments/base/messages.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>

enum { N = sizeof shipped_names / sizeof *shipped_names - 1 };
static perp_scene_file file[N + 1];
static const char *text[N + 1]; /* NULL: not read yet */
static perp_plugin table[N + 1];

const perp_plugin *perp_scenes_shipped(void)
{
  if (table[0].d != NULL) return table;
  for (int i = 0; i < N; i++) {
    file[i].desc.d.name = shipped_names[i];
    table[i] = (perp_plugin){ PERP_KIND_scene, &file[i].desc.d };
  }
  table[N] = (perp_plugin){ PERP_KIND_NONE, NULL };
  return table;
}

static int shipped_index(const perp_desc *desc)
{
  int i = 0;
  while (i < N && table[i].d != desc) i++;
  return i < N ? i : -1;
}

/* Its lines with an end each. */
static const char *shipped_text(perp_pool *pool, int i)
{
  const char *const *line = shipped_lines;
  for (; i > 0; i--) {
    while (*line != NULL) line++;
    line++;
  }
  size_t size = 1;
  for (const char *const *s = line; *s != NULL; s++) size += strlen(*s) + 1;
  char *whole = perp_pool_alloc(pool, size, 1), *to = whole;
  for (; *line != NULL; line++) {
    to = stpcpy(to, *line);
    *to++ = '\n';
  }
  return whole;
}

static perp_status shipped_broken(perp_ctx *ctx, const void *data, const void *opts,
                                  perp_scene *scene)
{
  (void)opts, (void)scene;
  return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s", (const char *)data);
}

void perp_scene_shipped_need(const perp_desc *desc)
{
  const int i = shipped_index(desc);
  if (i < 0 || text[i] != NULL) return;
  perp_scene_file *scene_file = &file[i];
  perp_diag diag = { 0 };
  perp_ctx ctx;
  perp_ctx_init(&ctx);
  text[i] = shipped_text(&scene_file->pool, i);
  const char *shown = perp_pool_printf(&scene_file->pool, "%s.yaml", shipped_names[i]);
  if (perp_scene_file_read(&ctx, &diag, shown, text[i], strlen(text[i]), scene_file)) {
    perp_diag_free(&diag);
    perp_scene_file_describe(scene_file, shipped_names[i]);
    return;
  }
  perp_scene_file_refuse(&ctx, &diag, PERP_ERR_FORMAT);
  scene_file->desc.build_from = shipped_broken;
  scene_file->desc.data = perp_pool_strdup(&scene_file->pool, ctx.msg);
  scene_file->desc.d.summary = scene_file->desc.d.reference = scene_file->desc.data;
}

char *perp_scene_shipped_path(const perp_desc *desc)
{
  const int i = shipped_index(desc);
  const char *home = getenv("PERP_HOME");
  const char *const roots[][2] = { { home != NULL ? home : "", "experiments/scenes/shipped" },
                                   { PERP_SOURCE_DIR, "experiments/scenes/shipped" },
                                   { PERP_DATA_DIR, "scenes" } };
  for (int k = 0; i >= 0 && k < 3; k++) {
    if (roots[k][0][0] == '\0') continue;
    char *path = perp_xprintf("%s/%s/%s.yaml", roots[k][0], roots[k][1], shipped_names[i]);
    if (perp_exists(path)) return path;
    free(path);
  }
  return NULL;
}

char *perp_scene_shipped_source(const perp_desc *desc)
{
  const int i = shipped_index(desc);
  return i >= 0 ? perp_xstrdup(text[i]) : NULL;
}
