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

static void pages_begin(struct pages *p)
{
  p->json = (perp_json){ .out = perp_memory_stream(&p->data, &p->n) };
  size_t script = 0;
  free(perp_web_file("lesson.js", &script));
  perp_json_members(&p->json, "{ schema %s, version %s, script %lld", "perp-lesson-page/2",
                    PERP_VERSION, (long long)script);
  if (p->course != NULL) {
    perp_json_members(&p->json, "course: { title %s, text %s, lessons: [", p->course->title,
                      p->course->text);
    for (int i = 0; i < p->course->n; i++)
      perp_json_members(&p->json, "{ name %s, title %s, minutes %d, exercises %d }",
                        p->course->lesson[i].name, p->course->lesson[i].title,
                        p->course->lesson[i].minutes, p->course->lesson[i].exercises);
    perp_json_members(&p->json, "] }");
  }
  perp_json_open(&p->json, "lessons", '[');
}

/* path NULL: after an error.  inside: with script and module, else with src [n_src] beside. */
static perp_status pages_end(struct pages *p, const char *title, const char *path, bool inside,
                             const char *const *src, int n_src)
{
  size_t size;
  perp_status status = PERP_OK;
  char *module = inside ? perp_live_module(&size) : NULL,
       *script = inside ? perp_web_file("lesson.js", &size) : NULL;
  perp_json_close(&p->json, ']');
  if (module != NULL) perp_json_text(&p->json, "module", module);
  perp_json_close(&p->json, '}');
  perp_memory_stream_close(p->json.out);
  if (path != NULL)
    status = inside && script == NULL ? perp_web_missing(p->ctx)
             : inside
                 ? perp_web_page_of(p->ctx, path, title, script, policy, p->data, p->n)
                 : perp_web_page_beside(p->ctx, path, title, src, n_src, policy, p->data, p->n);
  free(p->data);
  free(module);
  free(script);
  return status;
}

perp_status perp_lesson_page(perp_ctx *ctx, const perp_lesson *l, perp_results *results,
                             const char *dir, const char *path)
{
  struct pages p = { .ctx = ctx };
  pages_begin(&p);
  const perp_status status = perp_lesson_put(ctx, l, results, dir, &p.json),
                    ended = pages_end(&p, l->title, status == PERP_OK ? path : NULL, true, NULL, 0);
  return status != PERP_OK ? status : ended;
}

/* Read, run and put one lesson of the course. */
static perp_status pages_lesson(struct pages *p, const struct perp_course_lesson *item,
                                const char *dir)
{
  perp_diag diag = { 0 };
  perp_lesson *l;
  perp_results results;
  perp_status status = perp_lesson_read(p->ctx, item->folder, &diag, &l);
  if (status != PERP_OK) {
    if (diag.text.s != NULL) fputs(diag.text.s, stderr);
    perp_diag_free(&diag);
    return status;
  }
  perp_diag_free(&diag);
  l->call = perp_pool_strdup(&l->pool, item->call);
  char *mine = perp_xprintf("%s/%s", dir, l->name);
  const bool runs = l->study != NULL;
  if (runs) status = perp_lesson_run(p->ctx, l, NULL, 0, mine, &results);
  if (status == PERP_OK) {
    status = perp_lesson_put(p->ctx, l, runs ? &results : NULL, mine, &p->json);
    if (runs) perp_results_free(&results);
  }
  free(mine);
  perp_lesson_free(l);
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
  for (int i = -1; i < course->n && status == PERP_OK; i++) {
    struct pages p = { .ctx = ctx, .course = course };
    char *path = perp_xprintf("%s/%s.html", folder, i < 0 ? "index" : course->lesson[i].name);
    pages_begin(&p);
    if (i >= 0) status = pages_lesson(&p, &course->lesson[i], dir);
    const perp_status ended = pages_end(&p, i < 0 ? course->title : course->lesson[i].title,
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
  struct pages p = { .ctx = ctx, .course = course };
  perp_status status = PERP_OK;
  pages_begin(&p);
  for (int i = 0; i < course->n && status == PERP_OK; i++)
    status = pages_lesson(&p, &course->lesson[i], dir);
  const perp_status ended = pages_end(&p, course->title, status == PERP_OK ? path : NULL, true,
                                      NULL, 0);
  return status != PERP_OK ? status : ended;
}
