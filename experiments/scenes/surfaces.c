/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Meshes and height fields of a scene file: triangles, and heights in rows, by a formula, or of a
 * table. */
#include "experiments/base/files.h"
#include "experiments/scenes/claims.h"
#include "experiments/scenes/parts.h"
#include "experiments/base/numbers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_HEIGHTS = 1 << 23 };

/* ---- triangles ---- */

struct triangle_list {
  int n, n_vertices;
  int *t;
  bool good;
};

static void surfaces_triangle(perp_scene_reader *reader, const perp_node *node,
                              struct triangle_list *list)
{
  if (node->type != PERP_NODE_LIST || node->n != 3) {
    PERP_SCENE_WRONG(reader, node, "a triangle must be a list of three vertices, numbered from 0");
    list->good = false;
    return;
  }
  list->t = perp_pool_grown(reader->pool, list->t, list->n, 3 * sizeof *list->t);
  for (int k = 0; k < 3 && list->good; k++)
    list->good = perp_values_whole(&reader->values, node->item[k], 0, list->n_vertices - 1,
                                   &list->t[3 * list->n + k]);
  if (list->good) list->n++;
}

static void surfaces_triangle_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const perp_key keys[] = { PERP_KEY_SPECIAL("triangle"), PERP_KEYS_ENTRY, PERP_KEYS_END };
  struct triangle_list *list = user;
  const perp_node *triangle = perp_tree_get(entry, "triangle");
  list->good = list->good && perp_keys_read(reader, entry, "triangles", keys, NULL);
  if (triangle != NULL && list->good) surfaces_triangle(reader, triangle, list);
  if (triangle != NULL) return;
  PERP_SCENE_WRONG(reader, entry, "'triangle' is missing here");
  list->good = false;
}

int *perp_scene_triangles(perp_scene_reader *reader, const perp_node *given, int n_vertices, int *n)
{
  struct triangle_list list = { .n_vertices = n_vertices, .good = true };
  *n = 0;
  if (given->type != PERP_NODE_LIST) {
    PERP_SCENE_WRONG(reader, given, "a list of triangles is required here");
    return NULL;
  }
  list.t = perp_pool_grown(reader->pool, NULL, 0, 3 * sizeof *list.t);
  const int errors = reader->diag->errors;
  for (int i = 0; i < given->n && list.good; i++)
    if (given->item[i]->type == PERP_NODE_MAP)
      perp_entry(reader, given->item[i], surfaces_triangle_entry, &list);
    else
      surfaces_triangle(reader, given->item[i], &list);
  if (!list.good || reader->diag->errors != errors) return NULL;
  *n = list.n;
  return list.t;
}

/* ---- heights ---- */

struct height_list {
  int n, row; /* row: numbers in the first row, 0: there is none */
  double *h;
  bool good;
};

static void surfaces_push(perp_scene_reader *reader, const perp_node *at, double h,
                          struct height_list *list)
{
  if (list->n == MOST_HEIGHTS) {
    PERP_SCENE_WRONG(reader, at, "the field has more than %d heights, which is the limit",
                     MOST_HEIGHTS);
    list->good = false;
    return;
  }
  list->h = perp_pool_grown(reader->pool, list->h, list->n, sizeof *list->h);
  list->h[list->n++] = h;
}

static void surfaces_height_entry(perp_scene_reader *reader, const perp_node *entry, void *user)
{
  static const perp_key keys[] = { PERP_KEY_SPECIAL("height"), PERP_KEYS_ENTRY, PERP_KEYS_END };
  struct height_list *list = user;
  const perp_node *height = perp_tree_get(entry, "height");
  double h;
  list->good = list->good && perp_keys_read(reader, entry, "heights", keys, NULL);
  if (height == NULL) {
    PERP_SCENE_WRONG(reader, entry, "'height' is missing here");
    list->good = false;
  }
  if (list->good) list->good = perp_values_number(&reader->values, height, "m", &h);
  if (list->good) surfaces_push(reader, height, h, list);
}

static bool surfaces_row_length(perp_scene_reader *reader, const perp_node *at, int line, int n,
                                struct height_list *list)
{
  if (list->row == 0) list->row = n;
  if (n == list->row && n >= 2) return true;
  perp_diag_error(reader->diag, at, 0, "rows run along x and all have the same number of heights",
                  "row %d has %d heights, but the first row has %d", line, n, list->row);
  return list->good = false;
}

/* rows of numbers, or what one formula makes with `repeat` */
static void surfaces_heights(perp_scene_reader *reader, const perp_node *given,
                             struct height_list *list)
{
  if (given->type == PERP_NODE_MAP) {
    perp_entry(reader, given, surfaces_height_entry, list);
    return;
  }
  for (int line = 0; line < given->n && list->good; line++) {
    const perp_node *row = given->item[line];
    double h;
    if (row->type != PERP_NODE_LIST) {
      perp_diag_error(reader->diag, row, 0,
                      "[[0, 0.1], [0, 0.2]], or { repeat: { j: 0..9, i: 0..9 }, height: ... }",
                      "heights must be a list of rows, which are lists of numbers");
      list->good = false;
      return;
    }
    if (!surfaces_row_length(reader, row, line, row->n, list)) return;
    for (int i = 0; i < row->n && list->good; i++) {
      list->good = perp_values_number(&reader->values, row->item[i], "m", &h);
      if (list->good) surfaces_push(reader, row->item[i], h, list);
    }
  }
}

/* rows of a table: numbers in m, with commas, semicolons or blanks between them; # begins a comment
 */
static void surfaces_table(perp_scene_reader *reader, const perp_node *file,
                           struct height_list *list)
{
  const char *path = perp_scene_path(reader, file), *why;
  size_t size;
  char *bytes = path != NULL ? perp_read_input(path, &size, &why) : NULL;
  list->good = bytes != NULL;
  if (path != NULL && bytes == NULL)
    PERP_SCENE_WRONG(reader, file, "cannot read %s: %s", path, why);
  int number = 0;
  for (char *line = bytes, *next; line != NULL && list->good; line = next) {
    const int before = list->n;
    next = strchr(line, '\n');
    if (next != NULL) *next++ = '\0';
    number++;
    line[strcspn(line, "#\r")] = '\0';
    for (char *at = line + strspn(line, " \t,;"); *at != '\0' && list->good;) {
      double h;
      char *end = (char *)(uintptr_t)perp_real_at(at, &h);
      if (end == NULL || !isfinite(h)) {
        PERP_SCENE_WRONG(reader, file, "%s:%d: a number is required: got '%.20s'", path, number,
                         at);
        list->good = false;
        break;
      }
      surfaces_push(reader, file, h, list);
      at = end + strspn(end, " \t,;");
    }
    if (list->good && list->n > before)
      surfaces_row_length(reader, file, number, list->n - before, list);
  }
  free(bytes);
}

static bool surfaces_field(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def)
{
  const perp_node *heights = perp_tree_get(node, "heights"), *file = perp_tree_get(node, "file"),
                  *grid = perp_tree_get(node, "grid");
  struct height_list list = { .good = true };
  if ((heights == NULL) == (file == NULL)) {
    perp_diag_error(reader->diag, file != NULL ? file : node, 0,
                    "heights: [[...], [...]], or file: bumps.csv",
                    "a height field needs either the key 'heights', or 'file' with them");
    return false;
  }
  if (perp_tree_get(node, "spacing") == NULL) {
    perp_diag_error(reader->diag, node, 0, "spacing: [0.1, 0.1]", "'spacing' is missing here");
    return false;
  }
  if (file != NULL)
    surfaces_table(reader, file, &list);
  else
    surfaces_heights(reader, heights, &list);
  if (!list.good) return false;
  if (list.row > 0) def->grid[0] = list.row, def->grid[1] = list.n / list.row;
  for (int k = 0; grid != NULL && k < 2; k++) {
    int given;
    if (grid->type != PERP_NODE_LIST || grid->n != 2) {
      PERP_SCENE_WRONG(reader, grid, "a grid must be [points along x, points along y]");
      return false;
    }
    if (!perp_values_whole(&reader->values, grid->item[k], 2, MOST_HEIGHTS, &given)) return false;
    if (list.row > 0 && given != def->grid[k]) {
      PERP_SCENE_WRONG(reader, grid, "the heights form a grid of %d x %d points", def->grid[0],
                       def->grid[1]);
      return false;
    }
    def->grid[k] = given;
  }
  if (list.row == 0 && grid == NULL) {
    perp_diag_error(reader->diag, node, 0, "grid: [points along x, points along y]",
                    "'grid' is missing here: heights that are not in rows need it");
    return false;
  }
  if ((int64_t)def->grid[0] * def->grid[1] != list.n) {
    perp_diag_error(reader->diag, grid, 0,
                    "repeat: { j: 0..ny-1, i: 0..nx-1 }: the last index runs along x",
                    "a grid of %d x %d points needs %lld heights: got %d", def->grid[0],
                    def->grid[1], (long long)def->grid[0] * def->grid[1], list.n);
    return false;
  }
  def->heights = list.h;
  return true;
}

bool perp_scene_read_surface(perp_scene_reader *reader, const perp_node *node, perp_shape_def *def)
{
  static const char *const of_field[] = { "heights", "file", "grid", "spacing", "depth" };
  for (size_t i = 0; i < sizeof of_field / sizeof *of_field; i++) {
    const perp_node *wrong = perp_tree_get(node, of_field[i]);
    if (wrong == NULL || def->kind == PERP_SHAPE_HEIGHT_FIELD) continue;
    perp_diag_error(reader->diag, wrong, 0, "kind: height-field", "'%s' is only for height fields",
                    of_field[i]);
    return false;
  }
  if (def->kind == PERP_SHAPE_HEIGHT_FIELD) return surfaces_field(reader, node, def);
  if (def->kind != PERP_SHAPE_MESH) return true;
  const perp_node *triangles = perp_tree_get(node, "triangles");
  if (triangles == NULL || def->vertices == NULL) {
    perp_diag_error(reader->diag, node, 0,
                    "vertices: [[x, y, z], ...], triangles: [[0, 1, 2], ...]",
                    "a mesh needs the keys 'vertices' and 'triangles'");
    return false;
  }
  def->triangles = perp_scene_triangles(reader, triangles, def->n_vertices, &def->n_triangles);
  return def->triangles != NULL;
}
