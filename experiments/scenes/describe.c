/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A scene file as a plug-in: its descriptor, which builds the scene. */
#include "experiments/scenes/build.h"

#include <string.h>

/* The first message in one line, with its hint behind "; ". */
static void describe_line(const perp_diag *diag, char *buf, size_t size)
{
  const char *s = diag->text.s != NULL ? diag->text.s : "error: unknown", *end = strchr(s, '\n');
  const char *error = strstr(s, "error: ");
  const int length = end != NULL ? (int)(end - s) : (int)strlen(s),
            before = error != NULL ? (int)(error - s) : 0;
  int n = snprintf(buf, size, "%.*s%.*s", before, s, length - before - 7, s + before + 7);
  const char *caret = end != NULL ? strstr(end, "\n      | ") : NULL;
  if (caret != NULL) caret = strchr(caret + 1, '^');
  if (caret != NULL && caret[1] == ' ' && n > 0 && (size_t)n < size)
    snprintf(buf + n, size - (size_t)n, "; %.*s", (int)strcspn(caret + 2, "\n"), caret + 2);
}

perp_status perp_scene_file_refuse(perp_ctx *ctx, perp_diag *diag, perp_status status)
{
  char line[480];
  describe_line(diag, line, sizeof line);
  perp_diag_free(diag);
  return PERP_FAIL(ctx, status, "%s", line);
}

static perp_status describe_make(perp_ctx *ctx, const void *data, const void *opts,
                                 perp_scene *scene)
{
  perp_diag diag = { 0 };
  const perp_status status = perp_scene_file_build(ctx, &diag, data, opts, scene);
  if (status != PERP_OK) return perp_scene_file_refuse(ctx, &diag, status);
  perp_diag_free(&diag);
  return PERP_OK;
}

static const char *describe_text(const perp_node *root, const char *key, const char *dflt)
{
  const perp_node *scene = perp_tree_get(root, "scene");
  const perp_node *node = scene != NULL ? perp_tree_get(scene, key) : NULL;
  return node != NULL && node->type == PERP_NODE_SCALAR ? node->text : dflt;
}

void perp_scene_file_describe(perp_scene_file *f, const char *name)
{
  f->name = perp_pool_strdup(&f->pool, name);
  f->desc = (perp_scene_desc){
    .d = { .name = f->name,
           .summary = describe_text(f->root, "summary", "a scene from a file"),
           .reference = describe_text(f->root, "reference", f->name),
           .equation = describe_text(f->root, "equation", NULL),
           .opts = f->n_options > 0 ? f->options : NULL,
           .opts_size = (size_t)f->n_options * sizeof(double) },
    .build_from = describe_make,
    .data = f,
  };
}
