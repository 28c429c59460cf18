/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Published figures beside ours: which reading of the source reproduces it. */
#include "experiments/report/page.h"

#include <math.h>

void perp_page_best_match(perp_page *page)
{
  if (page->study->n_published == 0) return;
  perp_variant *variant;
  int n = perp_results_variants(page->ctx, page->results, &variant);
  if (n > 0 && !isnan(variant[0].mismatch))
    perp_html(page->out,
              "<li>Closest to the published values: <strong>%s</strong>, which differs by a factor "
              "of %m on average (geometric mean; a failed run counts as 100).</li>\n",
              variant[0].label, pow(10, variant[0].mismatch));
}

int perp_page_published_cells(const perp_page *page, int i, int *row)
{
  const perp_scope scope = perp_results_scope(page->ctx, page->results, false);
  int n = 0;
  for (int r = 0; r < page->results->plan.n; r++)
    if (perp_expr_true(page->study->published[i].where, &scope, r) &&
        (page->study->published[i].conditions == NULL ||
         perp_expr_true(page->study->published[i].conditions, &scope, r)))
      row[n++] = r;
  return n;
}

void perp_page_published(perp_page *page)
{
  const perp_study *study = page->study;
  if (study->n_published == 0) return;
  perp_variant *variant;
  int n = perp_results_variants(page->ctx, page->results, &variant);
  perp_html(page->out,
            "<h2 id=\"published\">Published values and ours</h2>\n<p class=\"note\">Each row is "
            "one choice of the methods that the source does not specify; the best match is first. "
            "Mismatch: geometric mean of the ratio between our value and the published one, at "
            "least 1. A failed or unsolved run counts as 100.</p>\n<div "
            "class=\"scroll\"><table><tr><th>variant</th><th class=\"n\">mismatch</th>");
  for (int i = 0; i < study->n_published; i++)
    perp_html(page->out, "<th class=\"n wrap\" title=\"%s\">%s<br><code>%s</code><br>%s</th>",
              study->published[i].metric, study->published[i].source,
              study->published[i].where_text, perp_page_title(page, study->published[i].metric));
  perp_html(page->out, "</tr>\n<tr><td><strong>published</strong></td><td></td>");
  for (int i = 0; i < study->n_published; i++)
    perp_html(page->out, "<td class=\"n\"><strong>%m</strong></td>", study->published[i].value);
  perp_html(page->out, "</tr>\n");
  for (int v = 0; v < n; v++) {
    perp_html(page->out, "<tr><td>%s</td><td class=\"n\">", variant[v].label);
    if (isnan(variant[v].mismatch))
      perp_html(page->out, "&ndash;");
    else
      perp_html(page->out, "&times; %m", pow(10, variant[v].mismatch));
    perp_html(page->out, "</td>");
    for (int i = 0; i < study->n_published; i++) {
      int cell = variant[v].cell[i];
      if (cell >= 0 && !perp_results_wins(page->results, cell))
        perp_html(page->out, "<td class=\"n bad\">%s</td>",
                  perp_cell_status_names[page->results->record[cell].status]);
      else
        perp_html(page->out, "<td class=\"n\">%m</td>",
                  cell < 0 ? (double)NAN : perp_page_value(page, cell, study->published[i].metric));
    }
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n");
}
