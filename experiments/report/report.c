/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/report.h"

#include "experiments/report/page.h"
#include "experiments/report/web.h"
#include "experiments/base/files.h"

#include <jansson.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>

static void report_environment(perp_page *page)
{
  perp_html(page->out, "<h2 id=\"environment\">Environment</h2>\n");
  for (int i = 0; i < page->results->n_envs; i++) {
    json_t *env = json_load_file(perp_pool_printf(&page->pool, "%s/env/%s.json",
                                                  page->results->envs[i].dir,
                                                  page->results->envs[i].id),
                                 0, NULL);
    perp_html(page->out, "<dl>\n");
    const char *key;
    json_t *value;
    json_object_foreach(env, key, value)
    {
      char *text = json_is_string(value) ? perp_xstrdup(json_string_value(value))
                                         : json_dumps(value, JSON_ENCODE_ANY);
      perp_html(page->out, "<dt>%s</dt><dd>%s</dd>\n", key, text == NULL ? "" : text);
      free(text);
    }
    perp_html(page->out, "</dl>\n");
    json_decref(env);
  }
  char *study = perp_read_file(perp_pool_printf(&page->pool, "%s/study.yaml", page->dir), NULL);
  if (study != NULL)
    perp_html(page->out,
              "<details><summary>The study as it was run</summary><pre>%s</pre></details>\n",
              study);
  free(study);
}

/* The links of the page: the sections that have something to say, which stand in the text of the
 * body. */
static void report_links(FILE *out, const char *body)
{
  static const struct {
    const char *anchor, *name;
  } links[] = { { "summary", "Summary" },        { "published", "Published values" },
                { "problems", "Solvers" },       { "scenes", "Scenes" },
                { "curves", "Figures" },         { "series", "Over time" },
                { "replay", "Replay" },          { "warned", "Warnings" },
                { "failures", "Failures" },      { "cells", "All runs" },
                { "methods", "Methods" },        { "definitions", "Definitions" },
                { "environment", "Environment" } };
  perp_html(out, "<nav aria-label=\"sections\">");
  for (size_t i = 0; i < sizeof links / sizeof *links; i++) {
    char heading[64];
    snprintf(heading, sizeof heading, "<h2 id=\"%s\">", links[i].anchor);
    if (strstr(body, heading) != NULL)
      perp_html(out, "<a href=\"#%s\">%s</a>", links[i].anchor, links[i].name);
  }
  perp_html(out, "</nav>\n");
}

static void report_header(perp_page *page, const char *body)
{
  const perp_study *study = page->study;
  perp_html(page->out, "<section id=\"s-header\">\n<h1>%s</h1>\n<p class=\"question\">%s</p>\n",
            study->title, study->question);
  report_links(page->out, body);
  if (study->profile != NULL)
    perp_html(page->out, "<p class=\"note\">Study <code>%s</code>, profile <code>%s</code>.</p>\n",
              study->name, study->profile);
  perp_html(page->out, "</section>\n");
}

static void report_warnings(perp_page *page)
{
  if (page->warnings.n > 0)
    perp_html(page->out, "<h2>Figures that were not drawn</h2>\n<pre>%s</pre>\n", page->warnings.s);
}

/* Parts that different programs have made are no one run: said before any figure. */
static void report_unlike(perp_page *page)
{
  perp_text unlike = { 0 };
  perp_results_unlike(page->results, &unlike);
  if (unlike.n > 0)
    perp_html(page->out,
              "<p class=\"note mark\">The parts of these results were computed under different "
              "conditions, which may explain differences between runs:</p>\n<pre>%s</pre>\n",
              unlike.s);
  perp_text_free(&unlike);
}

/* Said where it helps: to whom the pictures are all there is. */
static void report_upgrade(perp_page *page)
{
  if (page->interactive || page->figures == 0) return;
  perp_html(page->out,
            "<p class=\"note\">This page shows fixed figures. <code>./perp report %s "
            "--interactive</code> writes a page whose figures can be filtered and compared, with "
            "animations of the runs (once: <code>./perp setup web</code>).</p>\n",
            page->dir);
}

static perp_status report_body(perp_page *page, const char *script)
{
  static const struct {
    const char *name; /* the script finds the sections by it */
    void (*write)(perp_page *);
  } sections[] = { { "unlike", report_unlike },
                   { "answers", perp_page_answers },
                   { "summary", perp_page_summary },
                   { "published", perp_page_published },
                   { "problems", perp_page_problems },
                   { "scenes", perp_page_scenes },
                   { "endings", perp_page_endings },
                   { "curves", perp_page_curves },
                   { "series", perp_page_series },
                   { "replay", perp_page_replay },
                   { "warned", perp_page_warned },
                   { "failures", perp_page_failures },
                   { "cells", perp_page_cells },
                   { "methods", perp_page_methods },
                   { "definitions", perp_page_definitions },
                   { "environment", report_environment },
                   { "warnings", report_warnings },
                   { "upgrade", report_upgrade } };
  FILE *out = page->out;
  char *body = NULL;
  size_t size = 0;
  page->out = open_memstream(&body, &size);
  if (page->out == NULL) {
    page->out = out;
    return PERP_FAIL(page->ctx, PERP_ERR_NOMEM, "no memory for the page");
  }
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    perp_html(page->out, "<section id=\"s-%s\">\n", sections[i].name);
    sections[i].write(page);
    perp_html(page->out, "</section>\n");
  }
  fclose(page->out);
  page->out = out;
  perp_html_begin(page->out, page->study->title, NULL, script);
  report_header(page, body);
  fwrite(body, 1, size, page->out);
  free(body);
  if (script != NULL) {
    perp_page_data(page);
    perp_html_script(page->out, script);
  }
  perp_html_end(page->out);
  return PERP_OK;
}

/* How a page in the folder `from` refers to the folder `to`; a text of the caller. */
static char *report_relative(const char *from, const char *to)
{
  char *a = realpath(from, NULL), *b = realpath(to, NULL);
  perp_text t = { 0 };
  if (a == NULL || b == NULL) {
    perp_text_add(&t, "%s", to);
  } else {
    size_t common = 0; /* up to the last '/' that both share */
    for (size_t i = 0; a[i] == b[i] || (a[i] == '\0' && b[i] == '/'); i++) {
      if (a[i] == '\0' || a[i] == '/') common = i + 1;
      if (a[i] == '\0' || b[i] == '\0') break;
    }
    for (const char *s = common <= strlen(a) ? a + common : ""; *s != '\0';) {
      perp_text_add(&t, "../");
      s += strcspn(s, "/");
      s += *s == '/';
    }
    perp_text_add(&t, "%s", b + common);
  }
  free(a);
  free(b);
  return t.s;
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
  /* the page itself needs svg, a document pdf */
  page.formats = request->figs != NULL ? request->figs : request->tex != NULL ? "pdf" : "svg";
  if (strstr(page.formats, "svg") == NULL)
    page.formats = perp_pool_printf(&page.pool, "svg,%s", page.formats);
  perp_view_build(ctx, &page.pool, results, &page.view);
  char *script = request->no_js ? NULL : perp_web_bundle();
  page.interactive = script != NULL;

  snprintf(page_path, size, "%s", request->out != NULL ? request->out : "");
  if (request->out == NULL) snprintf(page_path, size, "%s/report.html", results->dir);
  char *path = perp_pool_strdup(&page.pool, page_path);
  const char *folder = strchr(path, '/') != NULL ? dirname(path) : ".";
  const char *home = request->together ? folder : results->dir;
  page.figs = perp_pool_printf(&page.pool, "%s/figs", home);
  perp_status status = perp_make_dirs(ctx, folder);
  if (status == PERP_OK) status = perp_make_part(ctx, home, "figs");
  char *link = report_relative(folder, page.figs);
  page.link = link;
  perp_out file = { 0 };
  if (status == PERP_OK) status = perp_out_open(ctx, page_path, &file);
  page.out = file.f;
  if (page.out != NULL) {
    status = report_body(&page, script);
    const perp_status closed = perp_out_close(ctx, &file, status == PERP_OK);
    if (status == PERP_OK) status = closed;
  }
  if (status == PERP_OK && request->tex != NULL) status = perp_page_tex(&page, request->tex);
  perp_page_say_failed(&page);
  if (undrawn != NULL) *undrawn = page.undrawn;
  free(script);
  free(link);
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
