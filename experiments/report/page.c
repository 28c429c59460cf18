/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "experiments/report/page.h"

#include "experiments/base/messages.h"
#include "experiments/pages/latex.h"
#include "experiments/study/words.h"
#include "experiments/base/files.h"

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

const char *perp_page_title(perp_page *page, const char *metric)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  const char *words = perp_words(metric);
  if (m == NULL || m->unit[0] == '\0') return words;
  return perp_pool_printf(&page->pool, "%s [%s]", words, m->unit);
}

const char *perp_page_abscissa(perp_page *page)
{
  const char *x = page->view.x_name;
  if (x == NULL || strcmp(x, "h [s]") != 0) return x == NULL ? "" : perp_words(x);
  return perp_pool_printf(&page->pool, "%s [s]", perp_words("h"));
}

double perp_page_noise(perp_page *page, const char *metric, double *shade)
{
  const perp_metric *m = perp_study_metric(page->study, metric);
  const double rounding = m != NULL && m->unit[0] == '\0' && m->better < 0 && !m->timing &&
                                  strstr(metric, "err") != NULL
                              ? 1e-13
                              : 0;
  *shade = 0;
  if (strncmp(metric, "err.q", 5) != 0) return rounding;
  json_t *list = json_load_file(perp_pool_printf(&page->pool, "%s/reference.json", page->dir), 0,
                                NULL),
         *reference;
  size_t i;
  json_array_foreach(list, i, reference)
  {
    const double worst = json_number_value(json_object_get(reference, "worst"));
    *shade = fmax(*shade, 10 * worst);
  }
  json_decref(list);
  return fmax(rounding, *shade);
}

const char *perp_page_command(perp_page *page, int cell)
{
  perp_text text = { 0 };
  page->study->kind->command(page->study, &page->results->plan.cells[cell], &text);
  const char *kept = perp_pool_strdup(&page->pool, text.s == NULL ? "" : text.s);
  perp_text_free(&text);
  return kept;
}

const char *perp_page_file(perp_page *page, int cell, const char *folder, const char *suffix)
{
  return perp_pool_printf(&page->pool, "%s/%s/%s.%s", page->results->record[cell].dir, folder,
                          page->results->plan.cells[cell].id, suffix);
}

bool perp_page_read_series(perp_page *page, int cell, perp_csv *csv)
{
  const char *path = perp_page_file(page, cell, "series", "csv");
  return perp_exists(path) && perp_csv_read(page->ctx, path, csv) == PERP_OK;
}

perp_curve perp_page_curve(perp_page *page, const char *label, perp_plot_style style, int colour,
                           int most)
{
  return (perp_curve){ .label = label,
                       .style = style,
                       .colour = colour,
                       .x = perp_pool_alloc(&page->pool, (size_t)most, sizeof(double)),
                       .y = perp_pool_alloc(&page->pool, (size_t)most, sizeof(double)) };
}

void perp_page_point(perp_curve *c, double x, double y)
{
  ((double *)(uintptr_t)c->x)[c->n] = x;
  ((double *)(uintptr_t)c->y)[c->n++] = y;
}

void perp_page_say_failed(perp_page *page)
{
  if (page->failed.n > 0)
    perp_say("error: these figures could not be drawn: %s: %s", page->failed.s, page->reason);
  perp_text_free(&page->failed);
}

/* Figures that fail one after the other for one reason are named in one message. */
static void figure_failed(perp_page *page, const char *id)
{
  page->undrawn++;
  if (page->failed.n > 0 && strcmp(page->reason, page->ctx->msg) != 0) perp_page_say_failed(page);
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
  perp_html(page->out, "<p class=\"note\" id=\"fig-%s\">%s: not drawn, %s</p>\n", f->id, f->title,
            zeros > 0 && others == 0 && f->logy
                ? "as all its values are exactly 0 and its axis is logarithmic (a scene without "
                  "joints has no constraint error)."
            : others > 0 || zeros > 0
                ? "as none of its values is positive and its axes are logarithmic."
                : "as no run has a value.");
}

void perp_page_figure(perp_page *page, const perp_figure *f, const char *caption)
{
  if (perp_figure_points(f) == 0) {
    figure_empty(page, f);
    return;
  }
  const char *svg = perp_pool_printf(&page->pool, "%s/%s.svg", page->figs, f->id);
  perp_figure sized = *f;
  sized.width = page->width;
  perp_status status = perp_figure_draw(page->ctx, &sized, page->figs, page->formats);
  if (status != PERP_OK) {
    perp_text_add(&page->warnings, "%s: %s\n", f->id, page->ctx->msg);
    if (status != PERP_ERR_ARG) figure_failed(page, f->id);
    return;
  }
  page->figures++;
  if (!page->folded) perp_text_add(&page->chief, "%s\n", f->id);
  perp_text_add(&page->drawn, "\\expandafter\\def\\csname perp@fig@%s\\endcsname{\\centering",
                f->id);
  perp_text_add(&page->drawn,
                strstr(page->formats, "tikz") != NULL
                    ? "\\perpfit{\\input{\\perpfigs %s.tex}}\\caption{"
                    : "\\perpfit{\\includegraphics{\\perpfigs %s.pdf}}\\caption{",
                f->id);
  char *tex = perp_tex_string(caption);
  perp_text_add(&page->drawn, "%s}\\label{fig:%s}}\n", tex, f->id);
  free(tex);
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

void perp_page_left_out(perp_page *page, int shown, int of)
{
  if (of <= shown || page->all_figures) return;
  perp_html(page->out,
            "<p class=\"note\">Figures of %d of %d choices are shown; <code>perp report %s --figs "
            "all</code> draws all of them.</p>\n",
            shown, of, page->dir);
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
