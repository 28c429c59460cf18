/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Robots and figures as the text of a scene, and the files that they are made of. */
#include "experiments/import/import.h"

#include "experiments/import/figure.h"
#include "experiments/import/import_process.h"
#include "experiments/import/robot_search.h"
#include "experiments/base/files.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FILES = 1000 };

bool perp_import_ends(const char *name, size_t n)
{
  static const char *const ends[] = { ".xml", ".mjcf", ".urdf", ".sdf", ".world", "model.config" };
  if (perp_skeleton_ends(name, n)) return true;
  for (int i = 0; i < 6; i++) {
    const size_t k = strlen(ends[i]);
    if (n > k && strncmp(name + n - k, ends[i], k) == 0) return true;
  }
  return false;
}

bool perp_import_is_figure(const char *path)
{
  return perp_skeleton_ends(path, strlen(path));
}

void perp_import_free(perp_import *import)
{
  for (int file = 0; file < import->n_files; file++) free(import->file[file]);
  free(import->file);
  free(import->scene);
  free(import->said);
  *import = (perp_import){ 0 };
}

/* ---- files ---- */

static void import_add_file(perp_import *import, const char *path)
{
  char *whole = perp_real_path(path);
  for (int file = 0; whole != NULL && file < import->n_files; file++)
    if (strcmp(import->file[file], whole) == 0) {
      free(whole);
      return;
    }
  if (whole == NULL || import->n_files == MOST_FILES) {
    free(whole);
    return;
  }
  import->file = perp_xrealloc(import->file, (size_t)import->n_files + 1, sizeof *import->file);
  import->file[import->n_files++] = whole;
}

/* The message at its line of the file. */
static void import_refuse(perp_diag *diag, const char *path, const char *text, int line,
                          const char *error, const char *hint)
{
  const perp_source src = { path, text };
  const char *at = text;
  int lines = 1;
  for (; lines < line && (at = strchr(at, '\n')) != NULL; at++) lines++;
  const perp_node place = { .src = &src,
                            .line = lines - 1,
                            .column = line > 0 && at != NULL ? (int)strspn(at, " \t") : 0 };
  perp_diag_error(diag, &place, 0, hint[0] != '\0' ? hint : NULL, "%s", error);
}

static char *import_content(perp_diag *diag, const perp_node *at, const char *path)
{
  const char *why;
  size_t size = 0;
  char *text = perp_read_input(path, &size, &why);
  if (text != NULL && memchr(text, '\0', size) != NULL) why = "it is not a text file";
  if (why == NULL) return text;
  perp_diag_error(diag, at, 0, NULL, "cannot read the robot %s: %s", path, why);
  free(text);
  return NULL;
}

bool perp_import_skeleton(perp_diag *diag, const perp_node *at, const char *path,
                          const perp_skeleton_options *options, bool parameters, perp_import *out)
{
  perp_bvh bvh;
  perp_text scene = { 0 }, said = { 0 };
  char *other;
  *out = (perp_import){ 0 };
  if (!perp_skeleton_load(diag, at, path, options, &bvh, &other)) return false;
  const perp_figure_source source = { path, &bvh, *options, parameters };
  const bool good = perp_figure_scene(diag, &source, &scene, &said, &out->lost);
  if (good) {
    perp_text_put(&scene, "", 0);
    perp_text_put(&said, "", 0);
    out->scene = scene.s;
    out->size = scene.n;
    out->said = said.s;
    import_add_file(out, path);
    if (other != NULL) import_add_file(out, other);
  }
  free(other);
  perp_bvh_free(&bvh);
  return good;
}

bool perp_import_read(perp_diag *diag, const perp_node *at, const char *path, const char *key,
                      perp_import *out)
{
  char why[200] = "";
  *out = (perp_import){ 0 };
  if (perp_import_is_figure(path)) {
    const perp_skeleton_options all = { 0 };
    if (key == NULL) return perp_import_skeleton(diag, at, path, &all, false, out);
    perp_diag_error(diag, at, 0, "leave out --key", "a file of a skeleton has no keyframes: %s",
                    path);
    return false;
  }
  char *text = import_content(diag, at, path);
  if (text == NULL) return false;
  perp_robot_report report = { 0 };
  bool good = perp_import_ask(path, key, &report, why, sizeof why);
  if (!good)
    import_refuse(diag, path, text, 0, why,
                  "a damaged mesh can end the reader: export its meshes anew, or leave them out");
  else if (report.error.n > 0) {
    /* the line is one of the file that the error is in */
    char *other = strcmp(report.file.s, path) != 0 ? perp_read_file(report.file.s, NULL) : NULL;
    import_refuse(diag, report.file.s, other != NULL ? other : text, report.line, report.error.s,
                  report.hint.s);
    free(other);
    good = false;
  } else {
    out->scene = report.scene.s;
    out->size = report.scene.n;
    out->said = report.said.s;
    out->lost = report.lost;
    report.scene = report.said = (perp_text){ 0 };
    import_add_file(out, path);
    for (char *s = report.files.s; *s != '\0'; s++) {
      const size_t n = strcspn(s, "\n");
      char *file = perp_xprintf("%.*s", (int)n, s);
      import_add_file(out, file);
      free(file);
      s += n;
    }
  }
  perp_text_free(&report.scene);
  perp_text_free(&report.said);
  perp_text_free(&report.files);
  perp_text_free(&report.error);
  perp_text_free(&report.hint);
  perp_text_free(&report.file);
  free(text);
  return good;
}

void perp_import_filter(bool filter)
{
  perp_robot_filter(filter);
}

void perp_import_floating(bool floating)
{
  perp_urdf_floating(floating);
}

bool perp_import_package_path(const char *list, char **bad)
{
  return perp_package_path_set(list, bad);
}
