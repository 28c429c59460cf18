/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/report.h"

#include "experiments/report/data.h"
#include "experiments/report/page.h"
#include "experiments/report/tex.h"
#include "experiments/report/web.h"
#include "experiments/cli/cli.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

double perp_page_value(const perp_page *page, int cell, const char *metric)
{
  int m = perp_results_metric(page->results, metric);
  return m < 0 ? (double)NAN : perp_results_value(page->results, cell, m);
}

bool perp_page_has(const perp_page *page, const char *metric)
{
  for (int r = 0; r < page->results->plan.n; r++)
    if (perp_view_stands(&page->view, r) && !isnan(perp_page_value(page, r, metric))) return true;
  return false;
}

const char *perp_page_axis(perp_page *page, const char *metric)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  if (m == NULL || m->unit[0] == '\0') return metric;
  return perp_pool_printf(&page->pool, "%s [%s]", metric, m->unit);
}

const char *perp_page_command(perp_page *page, int cell)
{
  perp_text text = { 0 };
  page->study->kind->command(page->study, &page->results->plan.cells[cell], &text);
  const char *kept = perp_pool_strdup(&page->pool, text.s == NULL ? "" : text.s);
  perp_text_free(&text);
  return kept;
}

static void tex_caption(perp_text *to, const char *caption)
{
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (out == NULL) return;
  perp_tex_text(out, caption);
  fclose(out);
  perp_text_put(to, text, size);
  free(text);
}

static void say_failed(perp_page *page)
{
  if (page->failed.n > 0) perp_say("error: not drawn: %s: %s", page->failed.s, page->reason);
  perp_text_free(&page->failed);
}

/* Figures that fail one after the other for one reason are named in one message. */
static void figure_failed(perp_page *page, const char *id)
{
  page->undrawn++;
  if (page->failed.n > 0 && strcmp(page->reason, page->ctx->msg) != 0) say_failed(page);
  if (page->failed.n == 0) page->reason = perp_pool_strdup(&page->pool, page->ctx->msg);
  perp_text_add(&page->failed, "%s%s", page->failed.n > 0 ? ", " : "", id);
}

/* A figure without a point is no fault of the report: the page says why there is none. */
static void figure_empty(perp_page *page, const perp_figure *f)
{
  int zeros = 0, others = 0;
  if (page->interactive && page->folded) return;
  for (int k = 0; k < f->n; k++)
    for (int i = 0; i < f->curves[k].n; i++) {
      zeros += f->curves[k].y[i] == 0;
      others += isfinite(f->curves[k].y[i]) && f->curves[k].y[i] != 0;
    }
  perp_html(page->out, "<p class=\"note\" id=\"fig-%s\">%s: not drawn, ", f->id, f->title);
  perp_html(page->out, "%s</p>\n",
            zeros > 0 && others == 0 && f->logy
                ? "as all its values are exactly 0, which has no place on a logarithmic axis (a "
                  "scene without joints has no constraint error)."
            : others > 0 || zeros > 0 ? "as none of its values has a place on its logarithmic axes."
                                      : "as no run has a value for it.");
}

void perp_page_figure(perp_page *page, const perp_figure *f, const char *caption)
{
  char svg[1400];
  if (perp_figure_points(f) == 0) {
    figure_empty(page, f);
    return;
  }
  snprintf(svg, sizeof svg, "%s/%s.svg", page->figs, f->id);
  perp_status status = perp_figure_draw(page->ctx, f, page->figs, page->formats);
  if (status != PERP_OK) {
    perp_text_add(&page->warnings, "%s: %s\n", f->id, page->ctx->msg);
    if (status != PERP_ERR_ARG) figure_failed(page, f->id);
    return;
  }
  page->figures++;
  perp_text_add(&page->drawn, "\\expandafter\\def\\csname perp@fig@%s\\endcsname{\\centering",
                f->id);
  perp_text_add(&page->drawn,
                strstr(page->formats, "tikz") != NULL
                    ? "\\perpfit{\\input{\\perpfigs %s.tex}}\\caption{"
                    : "\\includegraphics[width=\\linewidth]{\\perpfigs %s.pdf}\\caption{",
                f->id);
  tex_caption(&page->drawn, caption);
  perp_text_add(&page->drawn, "}\\label{fig:%s}}\n", f->id);
  if (page->interactive && page->folded) return;
  perp_html(page->out, "<figure id=\"fig-%s\">\n", f->id);
  size_t n = 0;
  char *picture = perp_read_plain(svg, &n);
  if (picture != NULL) {
    perp_html_svg(page->out, picture, n, f->alt);
  } else {
    PERP_FAIL(page->ctx, PERP_ERR_IO, "%s: %s", svg, strerror(errno));
    perp_text_add(&page->warnings, "%s: %s\n", f->id, page->ctx->msg);
    figure_failed(page, f->id);
  }
  free(picture);
  perp_html(page->out,
            "<figcaption>%s <span class=\"note\">Files: <a href=\"%s/%s.svg\">svg</a>, "
            "<a href=\"%s/%s.gp\">gp</a>, <a "
            "href=\"%s/%s.csv\">csv</a></span></figcaption>\n</figure>\n",
            caption, page->link, f->id, page->link, f->id, page->link, f->id);
}

void perp_page_fold(perp_page *page, const char *summary, int count)
{
  page->folded = true;
  if (page->interactive) return;
  perp_html(page->out, "<details><summary>");
  perp_html(page->out, summary, count);
  perp_html(page->out, "</summary>\n");
}

void perp_page_unfold(perp_page *page)
{
  if (!page->interactive) perp_html(page->out, "</details>\n");
  page->folded = false;
}

void perp_page_environment(perp_page *page)
{
  perp_html(page->out, "<h2 id=\"environment\">Environment</h2>\n");
  for (int i = 0; i < page->results->n_envs; i++) {
    char *path = perp_xprintf("%s/env/%s.json", page->results->envs[i].dir,
                              page->results->envs[i].id);
    json_t *env = json_load_file(path, 0, NULL);
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
    free(path);
  }
  char *study_path = perp_xprintf("%s/study.yaml", page->dir);
  size_t size;
  char *study = perp_read_file(study_path, &size);
  if (study != NULL)
    perp_html(page->out,
              "<details><summary>The study as it was run</summary><pre>%s</pre></details>\n",
              study);
  free(study);
  free(study_path);
}

static void header(perp_page *page)
{
  const perp_study *study = page->study;
  bool problems = perp_page_has_problems(page);
  const struct {
    const char *anchor, *name;
    bool there;
  } links[] = { { "summary", "Summary", !problems },
                { "published", "Published figures", study->n_published > 0 },
                { "problems", "Solvers", problems },
                { "curves", "Figures", page->view.x_name != NULL },
                { "failures", "Failures", true },
                { "cells", "All cells", true },
                { "methods", "Methods", true },
                { "definitions", "Definitions", true },
                { "environment", "Environment", true } };
  perp_html(page->out, "<h1>%s</h1>\n<p class=\"question\">%s</p>\n<nav aria-label=\"sections\">",
            study->title, study->question);
  for (size_t i = 0; i < sizeof links / sizeof *links; i++)
    if (links[i].there)
      perp_html(page->out, "<a href=\"#%s\">%s</a>", links[i].anchor, links[i].name);
  perp_html(page->out, "</nav>\n");
  if (study->profile != NULL)
    perp_html(page->out, "<p class=\"note\">Study <code>%s</code>, profile <code>%s</code>.</p>\n",
              study->name, study->profile);
}

static void warnings(perp_page *page)
{
  if (page->warnings.n == 0) return;
  perp_html(page->out, "<h2>Warnings</h2>\n<pre>%s</pre>\n", page->warnings.s);
}

/* Said where it helps: to whom the pictures are all there is. */
static void upgrade(perp_page *page)
{
  if (page->interactive || page->figures == 0) return;
  perp_html(
      page->out,
      "<p class=\"note\">The figures of this page are pictures; "
      "<code>./perp report %s --interactive</code> makes a page on which they can be filtered, "
      "compared and replayed (needs npm).</p>\n",
      page->dir);
}

static void body(perp_page *page, const char *script)
{
  static const struct {
    const char *name; /* the script finds the sections by it */
    void (*write)(perp_page *);
  } sections[] = {
    { "header", header },
    { "answers", perp_page_answers },
    { "summary", perp_page_summary },
    { "published", perp_page_published },
    { "problems", perp_page_problems },
    { "scenes", perp_page_scenes },
    { "curves", perp_page_curves },
    { "series", perp_page_series },
    { "replay", perp_page_replay },
    { "failures", perp_page_failures },
    { "cells", perp_page_cells },
    { "methods", perp_page_methods },
    { "definitions", perp_page_definitions },
    { "environment", perp_page_environment },
    { "warnings", warnings },
    { "upgrade", upgrade },
  };
  perp_html_begin(page->out, page->study->title, NULL, script);
  for (size_t i = 0; i < sizeof sections / sizeof *sections; i++) {
    perp_html(page->out, "<section id=\"s-%s\">\n", sections[i].name);
    sections[i].write(page);
    perp_html(page->out, "</section>\n");
  }
  if (script != NULL) {
    perp_page_data(page);
    perp_html_script(page->out, script);
  }
  perp_html_end(page->out);
}

/* How a page in the folder `from` refers to the folder `to`; a text of the caller. */
static char *relative(const char *from, const char *to)
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

static char *folder_of(const char *path)
{
  const char *slash = strrchr(path, '/');
  if (slash == NULL) return perp_xstrdup(".");
  return slash == path ? perp_xstrdup("/") : perp_xprintf("%.*s", (int)(slash - path), path);
}

perp_status perp_report_results(perp_ctx *ctx, perp_results *results,
                                const perp_report_request *request, char *page_path, size_t size,
                                int *undrawn)
{
  perp_page page = { .ctx = ctx, .dir = results->dir, .study = results->study, .results = results };
  /* the page itself needs svg, a document pdf */
  page.formats = request->figs != NULL ? request->figs : request->tex != NULL ? "pdf" : "svg";
  if (strstr(page.formats, "svg") == NULL)
    page.formats = perp_pool_printf(&page.pool, "svg,%s", page.formats);
  perp_view_build(ctx, &page.pool, results, &page.view);
  char *script = request->no_js ? NULL : perp_web_bundle();
  page.interactive = script != NULL;

  snprintf(page_path, size, "%s", request->out != NULL ? request->out : "");
  if (request->out == NULL) snprintf(page_path, size, "%s/report.html", results->dir);
  char *folder = folder_of(page_path);
  page.figs = perp_pool_printf(&page.pool, "%s/figs", request->together ? folder : results->dir);
  perp_status status = perp_make_dirs(ctx, folder);
  if (status == PERP_OK)
    status = perp_make_part(ctx, request->together ? folder : results->dir, "figs");
  char *link = relative(folder, page.figs);
  page.link = link;
  perp_out file = { 0 };
  if (status == PERP_OK) status = perp_out_open(ctx, page_path, &file);
  page.out = file.f;
  if (page.out != NULL) {
    body(&page, script);
    status = perp_out_close(ctx, &file, true);
  }
  if (status == PERP_OK && request->tex != NULL) status = perp_page_tex(&page, request->tex);
  say_failed(&page);
  if (undrawn != NULL) *undrawn = page.undrawn;
  free(script);
  free(folder);
  free(link);
  perp_text_free(&page.warnings);
  perp_text_free(&page.drawn);
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
