/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/report.h"

#include "experiments/report/page.h"
#include "experiments/base/files.h"
#include "experiments/web/web.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

/* How a page in the folder `from` refers to the folder `to`; a text of the caller. */
static char *report_relative(const char *from, const char *to)
{
  char *a = perp_real_path(from), *b = perp_real_path(to);
  perp_text text = { 0 };
  if (a == NULL || b == NULL) {
    perp_text_add(&text, "%s", to);
  } else {
    size_t common = 0; /* up to the last '/' that both share */
    for (size_t i = 0; a[i] == b[i] || (a[i] == '\0' && b[i] == '/'); i++) {
      if (a[i] == '\0' || a[i] == '/') common = i + 1;
      if (a[i] == '\0' || b[i] == '\0') break;
    }
    for (const char *s = common <= strlen(a) ? a + common : ""; *s != '\0';) {
      perp_text_add(&text, "../");
      s += strcspn(s, "/");
      s += *s == '/';
    }
    perp_text_add(&text, "%s", b + common);
  }
  free(a);
  free(b);
  return text.s;
}

static void report_sections(perp_page *page)
{
  page->section = "headline";
  perp_page_top(page);
  page->section = "problems";
  perp_page_problems(page);
  page->section = "curves";
  perp_page_curves(page);
  page->section = "series";
  perp_page_series(page);
}

/* The figures of gnuplot, for documents: counted first, so that the progress line knows them. */
static void report_figures(perp_page *page)
{
  size_t size;
  page->counting = true;
  report_sections(page);
  page->counting = false;
  free(page->drawn_json);
  page->drawn_json = NULL;
  page->figures = (perp_json){ .out = perp_memory_stream(&page->drawn_json, &size) };
  perp_progress_begin(&page->progress, PERP_PROGRESS_AUTO, "figures", page->n_figures,
                      page->n_figures, 1);
  perp_json_open(&page->figures, NULL, '[');
  report_sections(page);
  perp_json_close(&page->figures, ']');
  perp_progress_clear(&page->progress);
  perp_memory_stream_close(page->figures.out);
}

/* report.json at path, and the page of it beside it; without the script of the pages only the
 * former. */
static perp_status report_write(perp_page *page, const char *path, const char *json_path,
                                bool *written)
{
  char *text = NULL;
  size_t size = 0;
  FILE *stream = perp_memory_stream(&text, &size);
  perp_page_data(page, stream);
  perp_memory_stream_close(stream);
  perp_out file;
  perp_status status = perp_out_open(page->ctx, json_path, &file);
  if (status == PERP_OK) {
    fwrite(text, 1, size, file.f);
    status = perp_out_close(page->ctx, &file, true);
  }
  *written = perp_web_built();
  if (status == PERP_OK && *written)
    status = perp_web_page(page->ctx, path, page->study->title, text, size);
  free(text);
  return status;
}

perp_status perp_report_results(perp_ctx *ctx, perp_results *results,
                                const perp_report_request *request, char *page_path, size_t size,
                                int *undrawn)
{
  perp_page page = { .ctx = ctx,
                     .dir = results->dir,
                     .study = results->study,
                     .results = results,
                     .all_figures = request->all_figures,
                     .width = request->width };
  page.formats = request->figs != NULL ? request->figs : request->tex != NULL ? "pdf" : "svg";
  perp_view_build(ctx, &page.pool, results, &page.view);
  perp_headline_choose(ctx, results, &page.view, &page.top);

  snprintf(page_path, size, "%s", request->out != NULL ? request->out : "");
  if (request->out == NULL) snprintf(page_path, size, "%s/report.html", results->dir);
  const size_t stem = strlen(page_path);
  const bool html = stem > 5 && strcmp(page_path + stem - 5, ".html") == 0;
  const char *json_path = perp_pool_printf(&page.pool, "%.*s.json", (int)(html ? stem - 5 : stem),
                                           page_path);
  char *path = perp_pool_strdup(&page.pool, page_path);
  const char *folder = strchr(path, '/') != NULL ? dirname(path) : ".";
  const char *home = request->together ? folder : results->dir;
  const bool drawing = request->figs != NULL || request->tex != NULL;
  page.figs = perp_pool_printf(&page.pool, "%s/figs", home);
  perp_status status = perp_make_dirs(ctx, folder);
  if (status == PERP_OK && drawing) status = perp_make_part(ctx, home, "figs");
  char *link = report_relative(folder, page.figs);
  page.link = link;
  bool written = false;
  /* the page comes first; it is written again when it can name the files of the figures */
  page.drawn_json = perp_xstrdup("[]");
  if (status == PERP_OK) status = report_write(&page, page_path, json_path, &written);
  if (status == PERP_OK && drawing) {
    report_figures(&page);
    status = report_write(&page, page_path, json_path, &written);
  }
  if (status == PERP_OK && request->tex != NULL) status = perp_page_tex(&page, request->tex);
  if (status == PERP_OK && !written) snprintf(page_path, size, "%s", json_path);
  perp_page_say_failed(&page);
  if (undrawn != NULL) *undrawn = page.undrawn;
  free(link);
  free(page.drawn_json);
  perp_text_free(&page.warnings);
  perp_text_free(&page.drawn);
  perp_text_free(&page.chief);
  perp_pool_free(&page.pool);
  return status;
}

perp_status perp_report(perp_ctx *ctx, const char *dir, const perp_report_request *request,
                        char *page_path, size_t size)
{
  perp_results results;
  PERP_TRY(perp_results_load(ctx, dir, NULL, &results));
  perp_status status = perp_report_results(ctx, &results, request, page_path, size, NULL);
  perp_results_free(&results);
  return status;
}
