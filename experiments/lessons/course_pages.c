/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pages of lessons and courses.  Their data is one object, of which the script of the lessons
 * (experiments/web/lesson) makes everything:
 *
 *   { schema, version, script: bytes, course: { title, text, lessons: [{ name, title, minutes,
 * exercises }] }, lessons: [...], module }
 *
 * lessons has those that are on this page: all in a course of one file, none in an index. */
#include "experiments/base/build.h"
#include "experiments/base/files.h"
#include "experiments/lessons/lesson.h"
#include "experiments/live/live_scenes.h"
#include "experiments/web/web.h"

#include <stdlib.h>
#include <string.h>

static const char policy[] = " 'wasm-unsafe-eval'";

struct pages {
  perp_ctx *ctx;
  const perp_course *course; /* NULL: a lesson alone */
  char *data;
  size_t n;
  perp_json json;
};

static void pages_begin(struct pages *pages)
{
  pages->json = (perp_json){ .out = perp_memory_stream(&pages->data, &pages->n) };
  size_t script = 0;
  free(perp_web_file("lesson.js", &script));
  perp_json_members(&pages->json, "{ schema %s, version %s, script %lld", "perp-lesson-page/2",
                    PERP_VERSION, (long long)script);
  if (pages->course != NULL) {
    perp_json_members(&pages->json, "course: { title %s, text %s, lessons: [", pages->course->title,
                      pages->course->text);
    for (int lesson = 0; lesson < pages->course->n; lesson++)
      perp_json_members(&pages->json, "{ name %s, title %s, minutes %d, exercises %d }",
                        pages->course->lesson[lesson].name, pages->course->lesson[lesson].title,
                        pages->course->lesson[lesson].minutes,
                        pages->course->lesson[lesson].exercises);
    perp_json_members(&pages->json, "] }");
  }
  perp_json_open(&pages->json, "lessons", '[');
}

/* path NULL: after an error.  inside: with script and module, else with src [n_src] beside. */
static perp_status pages_end(struct pages *pages, const char *title, const char *path, bool inside,
                             const char *const *src, int n_src)
{
  size_t size;
  perp_status status = PERP_OK;
  char *module = inside ? perp_live_module(&size) : NULL,
       *script = inside ? perp_web_file("lesson.js", &size) : NULL;
  perp_json_close(&pages->json, ']');
  if (module != NULL) perp_json_text(&pages->json, "module", module);
  perp_json_close(&pages->json, '}');
  perp_memory_stream_close(pages->json.out);
  if (path != NULL)
    status = inside && script == NULL ? perp_web_missing(pages->ctx)
             : inside
                 ? perp_web_page_of(pages->ctx, path, title, script, policy, pages->data, pages->n)
                 : perp_web_page_beside(pages->ctx, path, title, src, n_src, policy, pages->data,
                                        pages->n);
  free(pages->data);
  free(module);
  free(script);
  return status;
}

perp_status perp_lesson_page(perp_ctx *ctx, const perp_lesson *lesson, perp_results *results,
                             const char *dir, const char *path)
{
  struct pages pages = { .ctx = ctx };
  pages_begin(&pages);
  const perp_status status = perp_lesson_put(ctx, lesson, results, dir, &pages.json),
                    ended = pages_end(&pages, lesson->title, status == PERP_OK ? path : NULL, true,
                                      NULL, 0);
  return status != PERP_OK ? status : ended;
}

/* Read, run and put one lesson of the course. */
static perp_status pages_lesson(struct pages *pages, const struct perp_course_lesson *item,
                                const char *dir)
{
  perp_diag diag = { 0 };
  perp_lesson *lesson;
  perp_results results;
  perp_status status = perp_lesson_read(pages->ctx, item->folder, &diag, &lesson);
  if (status != PERP_OK) {
    if (diag.text.s != NULL) fputs(diag.text.s, stderr);
    perp_diag_free(&diag);
    return status;
  }
  perp_diag_free(&diag);
  lesson->call = perp_pool_strdup(&lesson->pool, item->call);
  char *mine = perp_xprintf("%s/%s", dir, lesson->name);
  const bool runs = lesson->study != NULL;
  if (runs) status = perp_lesson_run(pages->ctx, lesson, NULL, 0, mine, &results);
  if (status == PERP_OK) {
    status = perp_lesson_put(pages->ctx, lesson, runs ? &results : NULL, mine, &pages->json);
    if (runs) perp_results_free(&results);
  }
  free(mine);
  perp_lesson_free(lesson);
  return status;
}

/* A text as a file of the folder; what is in front of it and behind it makes it a script. */
static perp_status pages_file(perp_ctx *ctx, const char *folder, const char *name,
                              const char *before, const char *text, const char *after)
{
  char *path = perp_xprintf("%s/%s", folder, name);
  perp_out file;
  perp_status status = perp_out_open(ctx, path, &file);
  if (status == PERP_OK) {
    fprintf(file.f, "%s%s%s", before, text, after);
    status = perp_out_close(ctx, &file, true);
  }
  free(path);
  return status;
}

static perp_status pages_folder(perp_ctx *ctx, const perp_course *course, const char *dir,
                                const char *folder)
{
  static const char *const src[] = { "perp.js", "perp-module.js" };
  size_t size;
  char *script = perp_web_file("lesson.js", &size), *module = perp_live_module(&size);
  const int n_src = module != NULL ? 2 : 1;
  perp_status status = script == NULL ? perp_web_missing(ctx) : perp_make_dirs(ctx, folder);
  /* the module comes first: the script finds it there */
  const char *order[] = { module != NULL ? src[1] : src[0], src[0] };
  if (status == PERP_OK) status = pages_file(ctx, folder, src[0], "", script, "");
  if (status == PERP_OK && module != NULL)
    status = pages_file(ctx, folder, src[1], "globalThis.perpModule = \"", module, "\";\n");
  for (int lesson = -1; lesson < course->n && status == PERP_OK; lesson++) {
    struct pages pages = { .ctx = ctx, .course = course };
    char *path = perp_xprintf("%s/%s.html", folder,
                              lesson < 0 ? "index" : course->lesson[lesson].name);
    pages_begin(&pages);
    if (lesson >= 0) status = pages_lesson(&pages, &course->lesson[lesson], dir);
    const perp_status ended = pages_end(&pages,
                                        lesson < 0 ? course->title : course->lesson[lesson].title,
                                        status == PERP_OK ? path : NULL, false, order, n_src);
    if (status == PERP_OK) status = ended;
    free(path);
  }
  free(script);
  free(module);
  return status;
}

perp_status perp_course_pages(perp_ctx *ctx, const perp_course *course, const char *dir,
                              const char *path, bool single)
{
  if (!single) return pages_folder(ctx, course, dir, path);
  struct pages pages = { .ctx = ctx, .course = course };
  perp_status status = PERP_OK;
  pages_begin(&pages);
  for (int lesson = 0; lesson < course->n && status == PERP_OK; lesson++)
    status = pages_lesson(&pages, &course->lesson[lesson], dir);
  const perp_status ended = pages_end(&pages, course->title, status == PERP_OK ? path : NULL, true,
                                      NULL, 0);
  return status != PERP_OK ? status : ended;
}
