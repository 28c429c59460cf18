/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Courses: lists of lessons. */
#include "experiments/base/build.h"
#include "experiments/base/files.h"
#include "experiments/base/numbers.h"
#include "experiments/base/shell.h"
#include "experiments/lessons/lesson.h"
#include "solvers/core/finite.h"
#include "solvers/core/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *perp_course_file(perp_pool *pool)
{
  const char *home = getenv("PERP_HOME");
  const char *dirs[] = { home != NULL ? perp_pool_printf(pool, "%s/experiments/lessons", home)
                                      : NULL,
                         PERP_LESSONS_INSTALLED, PERP_LESSONS_SOURCE };
  for (int i = 0; i < 3; i++) {
    const char *file = dirs[i] != NULL ? perp_pool_printf(pool, "%s/course.yaml", dirs[i]) : NULL;
    if (file != NULL && perp_exists(file)) return file;
  }
  return NULL;
}

bool perp_course_is(const char *path)
{
  const size_t n = strlen(path);
  if (n < 5 || strcmp(path + n - 5, ".yaml") != 0) return false;
  char *text = perp_read_file(path, NULL);
  const bool is = text != NULL && strstr(text, "perp-course/") != NULL;
  free(text);
  return is;
}

static const char *course_text(perp_diag *diag, const perp_node *map, const char *key)
{
  const perp_node *node = perp_tree_get(map, key);
  if (node != NULL && node->type == PERP_NODE_SCALAR) return node->text;
  perp_diag_error(diag, node != NULL ? node : map, 0, NULL,
                  node != NULL ? "'%s' must be a text" : "the key '%s' is missing", key);
  return "";
}

/* Title, minutes and number of exercises of the lesson in a folder. */
static void course_head(perp_course *course, struct perp_course_lesson *lesson)
{
  perp_diag quiet = { 0 };
  size_t size = 0;
  const char *file = perp_pool_printf(&course->pool, "%s/lesson.yaml", lesson->folder);
  char *text = perp_read_file(file, &size);
  const perp_node *root = text != NULL ? perp_tree_read(&course->pool, &quiet, file, text, size)
                                       : NULL;
  const perp_node *title = root != NULL ? perp_tree_get(root, "title") : NULL,
                  *minutes = root != NULL ? perp_tree_get(root, "minutes") : NULL,
                  *exercises = root != NULL ? perp_tree_get(root, "exercises") : NULL;
  /* what is wrong with the lesson is told when it is read itself */
  lesson->title = title != NULL && title->type == PERP_NODE_SCALAR ? title->text : lesson->name;
  if (minutes != NULL && minutes->type == PERP_NODE_SCALAR)
    lesson->minutes = perp_whole(perp_real_of(minutes->text), 1 << 20);
  if (exercises != NULL && exercises->type == PERP_NODE_LIST) lesson->exercises = exercises->n;
  perp_diag_free(&quiet);
  free(text);
}

/* Where the lesson of an item of the list is: with a '/' beside the course, else one that comes
 * with perp. */
static void course_item(perp_course *course, perp_diag *diag, const perp_node *item,
                        const char *path, const char *shipped)
{
  struct perp_course_lesson *lesson = &course->lesson[course->n];
  if (item->type != PERP_NODE_SCALAR || item->text[0] == '\0') {
    perp_diag_error(diag, item, 0, "- drift, or - ./mine", "a name or a path is required here");
    return;
  }
  const bool beside = strchr(item->text, '/') != NULL;
  const char *from = beside ? path : shipped, *slash = strrchr(from, '/');
  lesson->folder = item->text[0] == '/' || slash == NULL
                       ? perp_pool_strdup(&course->pool, item->text)
                       : perp_pool_printf(&course->pool, "%.*s/%s", (int)(slash - from), from,
                                          item->text);
  if (!perp_lesson_is(lesson->folder)) {
    perp_diag_error(diag, item, 0,
                    beside ? "perp new lesson makes a folder with one"
                           : "perp lesson list shows the names; a folder beside has a '/': ./mine",
                    "there is no lesson '%s' (no %s/lesson.yaml)", item->text, lesson->folder);
    return;
  }
  char *name = perp_base_name(lesson->folder, "");
  lesson->name = perp_pool_strdup(&course->pool, name);
  lesson->call = beside ? lesson->folder : lesson->name;
  free(name);
  for (int i = 0; i < course->n; i++)
    if (strcmp(course->lesson[i].name, lesson->name) == 0)
      perp_diag_error(diag, item, 0, NULL, "there are two lessons '%s'", lesson->name);
  course_head(course, lesson);
  course->n++;
}

perp_status perp_course_read(perp_ctx *ctx, const char *path, perp_diag *diag, perp_course **out)
{
  static const char *const keys[] = { "schema", "title", "text", "lessons", NULL };
  size_t size = 0;
  *out = NULL;
  char *text = perp_read_file(path, &size);
  if (text == NULL)
    return PERP_FAIL(ctx, PERP_ERR_IO, "cannot read %s: %s", path, perp_input_why(errno));
  perp_course *course = perp_xalloc(1, sizeof *course);
  const char *shipped = perp_course_file(&course->pool);
  const perp_node *root = perp_tree_read(&course->pool, diag, path, text, size);
  free(text);
  const perp_node *list = NULL;
  if (root != NULL && root->type == PERP_NODE_MAP) {
    perp_study_check_keys(diag, root, "a course", keys);
    const char *schema = course_text(diag, root, "schema");
    if (schema[0] != '\0' && strcmp(schema, "perp-course/1") != 0)
      perp_diag_error(diag, perp_tree_get(root, "schema"), 0, "schema: perp-course/1",
                      "unknown schema '%s'", schema);
    course->title = course_text(diag, root, "title");
    course->text = course_text(diag, root, "text");
    list = perp_tree_get(root, "lessons");
  }
  if (diag->errors == 0 && (list == NULL || list->type != PERP_NODE_LIST || list->n == 0))
    perp_diag_error(diag, root, 0, "lessons: [drift, ./mine]",
                    "a course requires a list of lessons");
  if (diag->errors == 0)
    course->lesson = perp_pool_alloc(&course->pool, (size_t)list->n, sizeof *course->lesson);
  for (int i = 0; course->lesson != NULL && i < list->n; i++)
    course_item(course, diag, list->item[i], path, shipped != NULL ? shipped : path);
  if (diag->errors > 0) {
    perp_course_free(course);
    return PERP_FAIL(ctx, PERP_ERR_FORMAT, "%s is not a valid course", path);
  }
  *out = course;
  return PERP_OK;
}

void perp_course_free(perp_course *course)
{
  if (course == NULL) return;
  perp_pool pool = course->pool;
  free(course);
  perp_pool_free(&pool);
}
