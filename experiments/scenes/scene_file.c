/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The scene files that the program has read, as scenes. */
#include "experiments/scenes/scene_file.h"

#include "experiments/base/messages.h"
#include "experiments/import/import.h"
#include "experiments/scenes/build.h"
#include "models/scenes/paths.h"
#include "experiments/base/files.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct known {
  struct known *next;
  char *path;   /* as it was opened */
  bool example; /* of those that come with perp */
  perp_scene_file file;
};
static struct known *known, *gone; /* gone: found no more, but somebody may still use them */
static char *beside;               /* folder of the study, NULL: none */

/* ---- names ---- */

static bool scene_file_ends(const char *text, size_t n)
{
  return (n > 5 && strncmp(text + n - 5, ".yaml", 5) == 0) ||
         (n > 4 && strncmp(text + n - 4, ".yml", 4) == 0) || perp_import_ends(text, n);
}

/* Length of the name of a file that a text begins with, behind which options may stand; 0: none. */
static size_t scene_file_length(const char *text)
{
  for (size_t n = 0;; n++) {
    n += strcspn(text + n, ":");
    if (scene_file_ends(text, n)) return n;
    if (text[n] == '\0') return 0;
  }
}

bool perp_scene_file_named(const char *text)
{
  return scene_file_length(text) > 0;
}

bool perp_scene_file_robot(const char *text)
{
  return perp_import_ends(text, scene_file_length(text));
}

bool perp_scene_file_is(const char *text)
{
  for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
    at += *at == '\n';
    if (strncmp(at, "schema:", 7) != 0) continue;
    at += 7 + strspn(at + 7, " \t\"'");
    return strncmp(at, "perp-scene/", 11) == 0;
  }
  return false;
}

/* A small file of a results folder that need not be there: NULL.  *why: errno where it is and
 * cannot be read, else 0. */
static char *scene_file_kept(const char *path, int *why)
{
  char *text = perp_read_plain(path, NULL);
  *why = text == NULL && errno != ENOENT && errno != ENOTDIR ? errno : 0;
  return text;
}

/* The folder that scenes named in a study are relative to: its own, in a results folder that of the
 * copies. */
static char *scene_file_folder(const char *study, int *why)
{
  const char *slash = strrchr(study, '/');
  char *folder = slash != NULL ? perp_xprintf("%.*s", (int)(slash - study), study)
                               : perp_xstrdup(".");
  char *kept = perp_xprintf("%s/scenes/folder", folder), *sub = scene_file_kept(kept, why);
  if (sub != NULL && strchr(sub, '\n') != NULL) {
    *strchr(sub, '\n') = '\0';
    char *inside = perp_xprintf("%s/scenes/%s", folder, sub);
    free(folder);
    folder = inside;
  }
  free(sub);
  free(kept);
  return folder;
}

/* Folders of packages of which a results folder has copies come before all others.  Names that lead
 * out of it are none of perp's. */
static void scene_file_packages(const char *study, int *why)
{
  const char *slash = strrchr(study, '/'), *before = getenv("PERP_PACKAGE_PATH");
  char *folder = slash != NULL ? perp_xprintf("%.*s", (int)(slash - study), study)
                               : perp_xstrdup(".");
  char *kept = perp_xprintf("%s/scenes/packages", folder), *list = scene_file_kept(kept, why), *bad;
  perp_text path = { 0 };
  for (char *at = list; at != NULL && *at != '\0'; at += *at == '\n') {
    const int n = (int)strcspn(at, "\n");
    char *dir = perp_xprintf("%s/scenes/%.*s", folder, n, at);
    if (strstr(dir + strlen(folder), "..") == NULL && perp_exists(dir))
      perp_text_add(&path, "%s%s", path.n > 0 ? ":" : "", dir);
    free(dir);
    at += n;
  }
  if (path.n > 0 && before != NULL) perp_text_add(&path, ":%s", before);
  if (path.n > 0 && !perp_import_package_path(path.s, &bad)) free(bad);
  perp_text_free(&path);
  free(list);
  free(kept);
  free(folder);
}

int perp_scene_files_beside(const char *file)
{
  int why;
  free(beside);
  beside = scene_file_folder(file, &why);
  if (why == 0) scene_file_packages(file, &why);
  return why;
}

char *perp_scene_examples(void)
{
  const char *home = getenv("PERP_HOME");
  const char *const roots[][2] = { { home != NULL ? home : "", "experiments/scenes/examples" },
                                   { PERP_SOURCE_DIR, "experiments/scenes/examples" },
                                   { PERP_DATA_DIR, "examples" } };
  for (int i = 0; i < 3; i++) {
    if (roots[i][0][0] == '\0') continue;
    char *path = perp_xprintf("%s/%s", roots[i][0], roots[i][1]);
    if (perp_exists(path)) return path;
    free(path);
  }
  return NULL;
}

/* Where a scene of that name is; where it is nowhere, the name. */
static char *scene_file_place(const char *name, bool *example)
{
  char *path = beside != NULL && name[0] != '/' && strcmp(beside, ".") != 0
                   ? perp_xprintf("%s/%s", beside, name)
                   : perp_xstrdup(name);
  *example = false;
  if (perp_exists(path)) return path;
  free(path);
  if (strchr(name, '/') == NULL && !perp_exists(name)) {
    char *folder = perp_scene_examples();
    path = folder != NULL ? perp_xprintf("%s/%s", folder, name) : NULL;
    free(folder);
    if (path != NULL && perp_exists(path)) return *example = true, path;
    free(path);
  }
  return perp_xstrdup(name);
}

/* ---- scenes ---- */

/* Lines of what an import has lost, for people. */
static void scene_file_say(const char *path, const char *lines)
{
  for (const char *at = lines; *at != '\0'; at += *at == '\n') {
    const int n = (int)strcspn(at, "\n");
    perp_say("%s: %.*s", path, n, at);
    at += n;
  }
}

/* What an import has made, as a file that is made of those that it has read. */
static bool scene_file_imported(perp_ctx *ctx, const char *path, perp_diag *diag,
                                perp_import *import, perp_scene_file *file)
{
  const bool good = perp_scene_file_read(ctx, diag, path, import->scene, import->size, file);
  if (good) {
    file->part = NULL;
    file->n_parts = 0;
    for (int i = 0; i < import->n_files; i++) {
      file->part = perp_pool_grown(&file->pool, file->part, file->n_parts, sizeof *file->part);
      file->part[file->n_parts++] = perp_pool_strdup(&file->pool, import->file[i]);
    }
    file->path = file->part[0];
    file->said = perp_pool_strdup(&file->pool, import->said);
  }
  perp_import_free(import);
  return good;
}

/* ---- figures: their options choose the part of the motion that the scene begins with ---- */

static struct figure {
  struct figure *next;
  char *name;
  perp_skeleton_options options;
  perp_scene_file file;
} * figures;

static double scene_file_option(const perp_scene_file *file, const void *opts, const char *key)
{
  for (int option = 0; option < file->n_options; option++)
    if (strcmp(file->options[option].key, key) == 0) {
      const void *at = (const char *)opts + file->options[option].offset;
      return file->options[option].type == PERP_OPT_INT ? *(const int *)at : *(const double *)at;
    }
  return 0;
}

static perp_scene_file *scene_file_figure_of(perp_ctx *ctx, perp_diag *diag,
                                             const perp_scene_file *file,
                                             const perp_skeleton_options *options)
{
  for (struct figure *figure = figures; figure != NULL; figure = figure->next)
    if (strcmp(figure->name, file->name) == 0 && figure->options.start == options->start &&
        figure->options.end == options->end && figure->options.frame_time == options->frame_time)
      return &figure->file;
  struct figure *figure = perp_xalloc(1, sizeof *figure);
  perp_import import;
  const char *path = file->path;
  if (!perp_import_skeleton(diag, NULL, path, options, true, &import) ||
      !scene_file_imported(ctx, path, diag, &import, &figure->file)) {
    perp_pool_free(&figure->file.pool);
    free(figure);
    return NULL;
  }
  figure->file.folder = file->folder;
  figure->file.name = file->name;
  figure->name = perp_xstrdup(file->name);
  figure->options = *options;
  figure->next = figures;
  figures = figure;
  return &figure->file;
}

static const perp_scene_file *scene_file_figure(perp_ctx *ctx, perp_diag *diag,
                                                const perp_scene_file *file, const void *opts)
{
  const perp_skeleton_options options = { (int)scene_file_option(file, opts, "start"),
                                          (int)scene_file_option(file, opts, "end"),
                                          scene_file_option(file, opts, "frame_time"), NULL };
  perp_scene_file *is = scene_file_figure_of(ctx, diag, file, &options);
  if (is != NULL && !is->told) {
    is->told = true;
    scene_file_say(file->name, is->said);
  }
  return is;
}

/* A robot (MJCF, URDF) or a figure becomes the text of a scene first, and says what it has lost. */
static bool scene_file_robot(perp_ctx *ctx, const char *path, perp_diag *diag, const perp_node *at,
                             perp_scene_file *file)
{
  perp_import robot;
  const bool figure = perp_import_is_figure(path);
  const perp_skeleton_options all = { 0 };
  if (!(figure ? perp_import_skeleton(diag, at, path, &all, true, &robot)
               : perp_import_read(diag, at, path, NULL, &robot)) ||
      !scene_file_imported(ctx, path, diag, &robot, file))
    return false;
  if (figure)
    file->variant = scene_file_figure;
  else
    scene_file_say(path, file->said);
  return true;
}

/* The file of that name, read when it has not been; NULL after an error. */
static const perp_scene_file *scene_file_get(perp_ctx *ctx, const char *name, perp_diag *diag,
                                             const perp_node *at)
{
  bool example;
  char *path = scene_file_place(name, &example);
  for (const struct known *k = known; k != NULL; k = k->next)
    if (strcmp(k->file.name, name) == 0 && (strcmp(k->path, path) == 0 || !perp_exists(path))) {
      free(path);
      return &k->file;
    }
  struct known *k = perp_xalloc(1, sizeof *k);
  if (!perp_exists(path)) {
    perp_diag_error(diag, at, 0, NULL, "there is no scene file %s", name);
  } else if (perp_import_ends(path, strlen(path))
                 ? scene_file_robot(ctx, path, diag, at, &k->file)
                 : perp_scene_file_read(ctx, diag, path, NULL, 0, &k->file)) {
    perp_scene_file_describe(&k->file, name);
    k->path = path;
    k->example = example;
    k->next = known;
    known = k;
    return &k->file;
  }
  perp_pool_free(&k->file.pool);
  free(k);
  free(path);
  return NULL;
}

static perp_status scene_file_open(perp_ctx *ctx, perp_kind kind, const char *name,
                                   const perp_desc **desc)
{
  perp_diag diag = { 0 };
  *desc = NULL;
  if (kind != PERP_KIND_scene || !scene_file_ends(name, strlen(name))) return PERP_OK;
  const perp_scene_file *file = scene_file_get(ctx, name, &diag, NULL);
  if (file == NULL) return perp_scene_file_refuse(ctx, &diag, PERP_ERR_FORMAT);
  perp_diag_free(&diag);
  *desc = &file->desc.d;
  return PERP_OK;
}

static const perp_desc *scene_file_opened(perp_kind kind, int i)
{
  const struct known *k = kind == PERP_KIND_scene ? known : NULL;
  while (k != NULL && i-- > 0) k = k->next;
  return k != NULL ? &k->file.desc.d : NULL;
}

perp_status perp_scene_files_register(perp_ctx *ctx)
{
  ctx->opened = scene_file_opened;
  ctx->open = scene_file_open;
  ctx->need = perp_scene_shipped_need;
  return perp_register_own(ctx, perp_scenes_shipped());
}

static const perp_scene_file *scene_file_of(const perp_desc *desc)
{
  for (const struct known *k = known; k != NULL; k = k->next)
    if (&k->file.desc.d == desc) return &k->file;
  return NULL;
}

char *perp_scene_file_path(const perp_desc *desc)
{
  const perp_scene_file *file = scene_file_of(desc);
  return file != NULL ? perp_xstrdup(file->path) : perp_scene_shipped_path(desc);
}

char *perp_scene_file_source(const perp_desc *desc)
{
  const perp_scene_file *file = scene_file_of(desc);
  return file != NULL ? perp_read_file(file->path, NULL) : perp_scene_shipped_source(desc);
}

uint64_t perp_scene_file_hash(const perp_desc *desc)
{
  const perp_scene_file *file = scene_file_of(desc);
  return file != NULL ? file->hash | 1 : 0;
}

bool perp_scene_file_uses(const perp_desc *desc, const char *section, const char *kind)
{
  const perp_scene_file *file = scene_file_of(desc);
  const perp_node *list = file != NULL ? perp_tree_get(file->root, section) : NULL;
  for (int i = 0; list != NULL && list->type == PERP_NODE_LIST && i < list->n; i++) {
    const perp_node *entry = list->item[i],
                    *word = entry->type == PERP_NODE_MAP ? perp_tree_get(entry, "kind") : NULL;
    if (word != NULL && word->type == PERP_NODE_SCALAR &&
        (strcmp(word->text, kind) == 0 || strchr(word->text, '{') != NULL))
      return true;
  }
  return false;
}

bool perp_scene_file_check(perp_ctx *ctx, const char *text, perp_diag *diag, const perp_node *at)
{
  const int errors = diag->errors;
  char *name = perp_xprintf("%.*s", (int)scene_file_length(text), text);
  const perp_scene_file *file = scene_file_get(ctx, name, diag, at);
  free(name);
  if (file == NULL) return false;
  perp_spec spec;
  perp_scene scene;
  perp_ctx quiet = *ctx;
  if (perp_spec_parse(&quiet, PERP_KIND_scene, text, &spec) != PERP_OK) return true;
  if (perp_scene_file_build(ctx, diag, file, spec.opts, &scene) == PERP_OK)
    perp_scene_destroy(&scene);
  perp_spec_free(&spec);
  return diag->errors == errors;
}

bool perp_scene_text_check(perp_ctx *ctx, const char *name, const char *text, size_t size,
                           perp_diag *diag)
{
  perp_scene_file file = { 0 };
  perp_scene scene;
  bool good = perp_scene_file_read(ctx, diag, name, text, size, &file);
  if (good) {
    perp_scene_file_describe(&file, name);
    void *opts = perp_xalloc(1, file.desc.d.opts_size + 1);
    perp_opts_default(&file.desc.d, opts);
    good = perp_scene_file_build(ctx, diag, &file, opts, &scene) == PERP_OK;
    if (good) perp_scene_destroy(&scene);
    free(opts);
  }
  perp_pool_free(&file.pool);
  return good;
}

/* ---- what a run keeps ---- */

/* The longest folder, with '/' behind it, that both paths are in; *n: its length in both. */
static void scene_file_common(const char *a, const char *b, size_t *n)
{
  size_t last = 0;
  for (size_t i = 0; i < *n && a[i] == b[i] && a[i] != '\0'; i++)
    if (a[i] == '/') last = i + 1;
  *n = last;
}

/* A link in the place of a folder would lead out of the results. */
static perp_status scene_file_no_link(perp_ctx *ctx, char *to, size_t from)
{
  struct stat st;
  for (char *at = to + from; (at = strchr(at, '/')) != NULL; at++) {
    *at = '\0';
    const bool link = lstat(to, &st) == 0 && S_ISLNK(st.st_mode);
    *at = '/';
    if (link)
      return PERP_FAIL(ctx, PERP_ERR_IO,
                       "the path to %s has a symbolic link: nothing is written through it", to);
  }
  return PERP_OK;
}

static perp_status scene_file_copy(perp_ctx *ctx, const char *from, const char *to)
{
  size_t size;
  char *bytes = perp_read_file(from, &size),
       *folder = perp_xprintf("%.*s", (int)(strrchr(to, '/') - to), to);
  perp_status status = bytes != NULL ? perp_make_dirs(ctx, folder)
                                     : PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", from,
                                                 strerror(errno));
  if (status == PERP_OK) status = perp_write_file(ctx, to, bytes, size);
  free(bytes);
  free(folder);
  return status;
}

/* Copies that an earlier run has left in a folder are written anew: what was read of them is
 * forgotten. */
static void scene_file_forget(const char *folder)
{
  char *whole = perp_real_path(folder);
  const size_t n = whole != NULL ? strlen(whole) : 0;
  for (struct known **at = &known; n > 0 && *at != NULL;) {
    struct known *k = *at;
    const bool copy = strncmp(k->file.path, whole, n) == 0 && k->file.path[n] == '/';
    if (!copy) {
      at = &k->next;
      continue;
    }
    *at = k->next;
    k->next = gone;
    gone = k;
  }
  free(whole);
}

/* The next folder of packages, "DIR/", that a part of a scene is in; NULL: there is none.  The
 * caller frees it. */
static char *scene_file_package(const char **list)
{
  while (*list != NULL && **list != '\0') {
    const size_t n = strcspn(*list, ":");
    char *dir = perp_xprintf("%.*s/", (int)n, *list);
    bool used = false;
    for (const struct known *k = known; k != NULL && n > 0; k = k->next)
      for (int i = 0; i < k->file.n_parts && !k->example; i++)
        used |= strncmp(k->file.part[i], dir, n + 1) == 0;
    *list += n + ((*list)[n] == ':');
    if (used) return dir;
    free(dir);
  }
  return NULL;
}

/* They are the roots of names package://NAME/x: a copy is found where they are kept whole. */
static perp_status scene_file_keep_packages(perp_ctx *ctx, const char *dir, size_t n)
{
  perp_text lines = { 0 };
  for (int i = 0; i < 2; i++) {
    const char *list = getenv(i == 0 ? "PERP_PACKAGE_PATH" : "ROS_PACKAGE_PATH");
    for (char *package; (package = scene_file_package(&list)) != NULL; free(package))
      perp_text_add(&lines, "%s\n", package + n);
  }
  if (lines.n == 0) return PERP_OK;
  char *path = perp_xprintf("%s/scenes/packages", dir);
  const perp_status status = perp_write_file(ctx, path, lines.s, lines.n);
  free(path);
  perp_text_free(&lines);
  return status;
}

perp_status perp_scene_files_keep(perp_ctx *ctx, const char *dir, const char *study)
{
  char *scenes = perp_xprintf("%s/scenes", dir);
  scene_file_forget(scenes);
  free(scenes);
  if (known == NULL) return PERP_OK;
  int why;
  char *folder = scene_file_folder(study, &why);
  char *whole = perp_real_path(folder[0] != '\0' ? folder : "/"), *target = NULL;
  const int why_not = errno;
  char *base = perp_xprintf("%s/", whole != NULL ? whole : "");
  size_t n = strlen(base);
  perp_status status = why == 0 ? perp_make_part(ctx, dir, "scenes")
                                : PERP_FAIL(ctx, PERP_ERR_IO, "cannot read scenes/folder of %s: %s",
                                            dir, strerror(why));
  if (status == PERP_OK && whole == NULL)
    status = PERP_FAIL(ctx, PERP_ERR_IO, "cannot find the folder of %s: %s", study,
                       strerror(why_not));
  for (const struct known *k = known; k != NULL; k = k->next)
    for (int i = 0; i < k->file.n_parts && !k->example; i++)
      scene_file_common(base, k->file.part[i], &n);
  for (int i = 0; i < 2; i++) {
    const char *list = getenv(i == 0 ? "PERP_PACKAGE_PATH" : "ROS_PACKAGE_PATH");
    for (char *package; (package = scene_file_package(&list)) != NULL; free(package))
      scene_file_common(base, package, &n);
  }
  for (const struct known *k = known; k != NULL && status == PERP_OK; k = k->next)
    for (int i = 0; i < k->file.n_parts && status == PERP_OK; i++) {
      /* examples are kept beside the study, where they will be found first */
      target = k->example ? perp_xprintf("%s/scenes/%s%s", dir, base + n,
                                         strrchr(k->file.part[i], '/') + 1)
                          : perp_xprintf("%s/scenes/%s", dir, k->file.part[i] + n);
      status = scene_file_no_link(ctx, target, strlen(dir) + 1);
      if (status == PERP_OK) status = scene_file_copy(ctx, k->file.part[i], target);
      free(target);
    }
  if (status == PERP_OK) status = scene_file_keep_packages(ctx, dir, n);
  if (status == PERP_OK) {
    char *place = perp_xprintf("%s/scenes/%s.", dir, base + n); /* paths lead through it */
    status = perp_make_dirs(ctx, place);
    free(place);
  }
  if (status == PERP_OK) {
    target = perp_xprintf("%s/scenes/folder", dir);
    char *text = perp_xprintf("%s.\n", base + n);
    status = perp_write_file(ctx, target, text, strlen(text));
    free(text);
    free(target);
  }
  free(base);
  free(whole);
  free(folder);
  return status;
}
