/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/plugins/scene_copy.h"

#include "experiments/base/files.h"
#include "experiments/scenes/scene_file.h"

#include <errno.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64 };

static bool copy_ends(const char *file, const char *end)
{
  const size_t n = strlen(file), k = strlen(end);
  return n > k && strcmp(file + n - k, end) == 0;
}

/* A scene of its own, which --from may name; *stem: of how many letters. */
static bool copy_scene(const char *file, int *stem)
{
  *stem = (int)(strrchr(file, '.') != NULL ? strrchr(file, '.') - file : 0);
  return copy_ends(file, ".yaml") || copy_ends(file, ".bvh");
}

static perp_status copy_text(perp_ctx *ctx, const char *to, const char *text, size_t size)
{
  if (perp_exists(to))
    return PERP_FAIL(ctx, PERP_ERR_ARG, "%s exists already; nothing is overwritten", to);
  PERP_TRY(perp_write_file(ctx, to, text, size));
  printf("%s\n", to);
  return PERP_OK;
}

static perp_status copy_file(perp_ctx *ctx, const char *folder, const char *file, const char *to)
{
  char *path = perp_xprintf("%s/%s", folder, file);
  size_t size;
  char *text = perp_read_file(path, &size);
  const perp_status status = text != NULL ? copy_text(ctx, to, text, size)
                                          : PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path,
                                                      strerror(errno));
  free(text);
  free(path);
  return status;
}

static perp_status copy_unknown(perp_ctx *ctx, const char *name, char *const *example, int n)
{
  const char *names[2 * MOST];
  int known = 0;
  for (int i = 0; i < n; i++) names[known++] = example[i];
  const perp_desc *desc = perp_find(ctx, PERP_KIND_scene, name);
  if (desc != NULL)
    return PERP_FAIL(
        ctx, PERP_ERR_ARG,
        "scene '%s' is written in C: perp export-scene %s writes its model as a scene file", name,
        name);
  for (int i = 0; known < 2 * MOST && (desc = perp_plugin_at(ctx, PERP_KIND_scene, i)) != NULL;
       i++) {
    char *source = perp_scene_file_source(desc);
    if (source != NULL) names[known++] = desc->name;
    free(source);
  }
  const char *near = perp_closest(name, names, known);
  perp_text list = { 0 };
  for (int i = 0; i < n; i++) perp_text_add(&list, "%s%s", i > 0 ? ", " : "", example[i]);
  const perp_status status = PERP_FAIL(ctx, PERP_ERR_ARG,
                                       "no scene file '%s' is included in perp (examples: %s; perp "
                                       "info shows which scenes are files)%s%s%s",
                                       name, list.s != NULL ? list.s : "not installed",
                                       near != NULL ? "; did you mean '" : "",
                                       near != NULL ? near : "", near != NULL ? "'?" : "");
  perp_text_free(&list);
  return status;
}

/* The files of an example: those with its name before the first dot. */
static perp_status copy_example(perp_ctx *ctx, const char *folder, const char *name,
                                const char *file_as, char **file)
{
  struct dirent **entry = NULL;
  char *example[MOST];
  int n_examples = 0, stem;
  const int n = folder != NULL ? scandir(folder, &entry, NULL, alphasort) : 0;
  perp_status status = PERP_OK;
  *file = NULL;
  for (int i = 0; i < n; i++) {
    const char *is = entry[i]->d_name;
    const bool scene = copy_scene(is, &stem);
    if (scene && n_examples < MOST) example[n_examples++] = perp_xprintf("%.*s", stem, is);
    if (strncmp(is, name, strlen(name)) != 0 || is[strlen(name)] != '.') continue;
    const char *to = scene && file_as != NULL ? file_as : is;
    if (status == PERP_OK) status = copy_file(ctx, folder, is, to);
    if (scene && *file == NULL) *file = perp_xstrdup(to);
  }
  if (status == PERP_OK && *file == NULL) status = copy_unknown(ctx, name, example, n_examples);
  for (int i = 0; i < n_examples; i++) free(example[i]);
  for (int i = 0; i < n; i++) free(entry[i]);
  free(entry);
  return status;
}

perp_status perp_scene_copy(perp_ctx *ctx, const char *name, const char *file_as, char **file)
{
  const perp_desc *desc = perp_find(ctx, PERP_KIND_scene, name);
  char *text = desc != NULL ? perp_scene_file_source(desc) : NULL;
  perp_status status;
  if (text != NULL) {
    *file = file_as != NULL ? perp_xstrdup(file_as) : perp_xprintf("%s.yaml", name);
    status = copy_text(ctx, *file, text, strlen(text));
    free(text);
    return status;
  }
  char *folder = perp_scene_examples();
  status = copy_example(ctx, folder, name, file_as, file);
  free(folder);
  return status;
}
