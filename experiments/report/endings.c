/* SPDX-License-Identifier: GPL-3.0-or-later */
/* failure-matrix(PART) of a study of motion: how the cells of each part ended on each scene, with
 * the cause; and the causes with all that they are said of. */
#include "experiments/report/page.h"
#include "experiments/results/endings.h"
#include "experiments/results/tally.h"

#include <stdlib.h>

static const char *endings_class(perp_cell_status worst)
{
  return worst == PERP_CELL_PLANNED || worst == PERP_CELL_OK ? "good"
         : worst == PERP_CELL_UNSUITED                       ? "unsuited"
         : perp_cell_whole(worst)                            ? "mark"
                                                             : "bad";
}

static void endings_field(perp_page *page, const perp_ending *a)
{
  if (a->worst == PERP_CELL_PLANNED) {
    perp_html(page->out, "<td></td>");
    return;
  }
  perp_html(page->out, "<td class=\"%s\" title=\"%s\">%s", endings_class(a->worst),
            page->results->record[a->cell].cause, perp_cell_status_names[a->worst]);
  if (a->n < a->of) perp_html(page->out, "<br><small>%d of %d</small>", a->n, a->of);
  perp_html(page->out, "</td>");
}

static void endings_causes(perp_page *page, const perp_endings *e)
{
  perp_tally causes = { 0 };
  for (int k = 0; k < e->rows.n * e->scenes.n; k++) {
    const perp_ending *a = &e->at[k];
    if (a->worst <= PERP_CELL_FIXED_WORK) continue;
    const perp_record *rec = &page->results->record[a->cell];
    perp_tally_add(&causes,
                   perp_pool_printf(&page->pool, "%s: %s", perp_cell_status_names[a->worst],
                                    rec->cause[0] != '\0' ? rec->cause : rec->reason),
                   k);
  }
  perp_tally_sort(&causes);
  perp_html(page->out, "<details><summary>Causes</summary>\n<div class=\"scroll\"><table><tr><th "
                       "class=\"n\">fields</th><th>cause</th><th>first example</th></tr>\n");
  for (int c = 0; c < causes.n; c++)
    perp_html(page->out,
              "<tr><td class=\"n\">%d</td><td class=\"wrap\">%s</td><td><code>%s</code> on "
              "<code>%s</code></td></tr>\n",
              causes.count[c].n, causes.count[c].name,
              e->rows.text[causes.count[c].first / e->scenes.n],
              perp_page_brief_scene(page, e->scenes.text[causes.count[c].first % e->scenes.n]));
  perp_html(page->out, "</table></div></details>\n");
  free(causes.count);
}

void perp_page_endings(perp_page *page)
{
  perp_endings e;
  if (!perp_results_endings(page->results, &e)) return;
  perp_html(page->out,
            "<h2 id=\"endings\">Outcome on each scene</h2>\n<p class=\"note\">Each field shows the "
            "worst outcome of the runs of one %s on one scene, and their number. Point at a field "
            "to see the cause. <em>Unsuited</em>: the scene is outside the domain of the method; "
            "this is not a failure.</p>\n<div class=\"scroll\"><table><tr><th></th>",
            e.part);
  for (int c = 0; c < e.scenes.n; c++)
    perp_html(page->out, "<th class=\"head\">%s</th>",
              perp_page_brief_scene(page, e.scenes.text[c]));
  perp_html(page->out, "</tr>\n");
  for (int row = 0; row < e.rows.n; row++) {
    perp_html(page->out, "<tr><td><code>%s</code></td>", e.rows.text[row]);
    for (int c = 0; c < e.scenes.n; c++) endings_field(page, &e.at[row * e.scenes.n + c]);
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n");
  endings_causes(page, &e);
}
