/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What documents state beside what the runs measure, each with its verdict. */
#include "experiments/report/page.h"
#include "experiments/results/replicate.h"

static void replicate_row(perp_page *page, const perp_replicate_result *p)
{
  static const char *const colour[] = { "good", "bad", "mark" };
  const perp_replicate_row *row = p->row;
  perp_html(page->out,
            "<tr><td class=\"text\">%s<br>%s<details><summary>conditions</summary>"
            "<p>Printed: %s</p>",
            row->at, row->states, row->printed);
  if (row->derived[0] != '\0') perp_html(page->out, "<p>Derived: %s</p>", row->derived);
  if (row->reading[0] != '\0') perp_html(page->out, "<p>Reading: %s</p>", row->reading);
  if (row->missing[0] != '\0') perp_html(page->out, "<p>Missing: %s</p>", row->missing);
  if (row->measured_text[0] != '\0')
    perp_html(page->out, "<p>Test: <code>%s</code></p>", row->measured_text);
  if (row->evidence_text[0] != '\0')
    perp_html(page->out, "<p>Evidence: <code>%s</code></p>", row->evidence_text);
  if (row->twin_text[0] != '\0')
    perp_html(page->out, "<p>Wrong condition, which must fail: <code>%s</code></p>",
              row->twin_text);
  perp_html(page->out, "</details></td><td class=\"n\">%s</td><td class=\"n\">%s</td>",
            perp_replicate_stated_text(&page->pool, row),
            perp_replicate_measured_text(&page->pool, p));
  perp_html(page->out, "<td class=\"%s\">%s", p->confirmed ? colour[p->verdict] : "bad",
            perp_replicate_word(p));
  if (!p->confirmed)
    perp_html(page->out, "<br><small>declared %s, but %s</small>",
              perp_replicated_names[row->declared], p->why);
  perp_html(page->out, "</td></tr>\n");
}

void perp_page_replicate(perp_page *page)
{
  const perp_replicate *all = &page->study->replicate;
  if (all->n_rows == 0) return;
  const perp_replicate_result *list = perp_results_replicate(page->ctx, page->results);
  perp_html(page->out, "<h3 id=\"replicate\">Statements of the documents</h3>\n<p class=\"note\">"
                       "<em>Reproduced</em>: within the reading error or the factor of the row. "
                       "<em>Contradicted</em>: outside of it, and the evidence of the row holds. "
                       "<em>Undetermined</em>: a condition is missing in the document, or a method "
                       "in perp. <em>Refuted</em>: the verdict that the study declares is not the "
                       "one of the runs.</p>\n");
  for (int k = 0; k < all->n_papers; k++) {
    const perp_replicate_count count = perp_replicate_counted(page->study, list, k);
    if (count.rows == 0) continue;
    perp_html(page->out,
              "<h4>%s</h4>\n<p>%s.</p>\n<div class=\"scroll\"><table class=\"tight\"><tr><th>"
              "statement</th><th class=\"n\">stated</th><th class=\"n\">perp</th><th>verdict</th>"
              "</tr>\n",
              all->paper[k], perp_replicate_count_text(&page->pool, &count));
    for (int i = 0; i < all->n_rows; i++)
      if (list[i].row->paper == k) replicate_row(page, &list[i]);
    perp_html(page->out, "</table></div>\n");
  }
}
