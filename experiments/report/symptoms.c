/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who shows what: the symptoms that the study names against its columns, each with its figure. */
#include "experiments/results/symptoms.h"
#include "experiments/report/page.h"

#include <math.h>
#include <string.h>

static void symptoms_entry(perp_page *page, const perp_symptom_entry *e)
{
  static const char *const colour[] = {
    [PERP_SHOWN_NOT_ASKED] = "",         [PERP_SHOWN_NO] = "",
    [PERP_SHOWN_YES] = " bad",           [PERP_SHOWN_NOTHING] = " unsuited",
    [PERP_SHOWN_UNSUITED] = " unsuited", [PERP_SHOWN_FAILED] = " mark",
    [PERP_SHOWN_NOT_RUN] = " unsuited"
  };
  char number[32];
  perp_html(page->out, "<td class=\"n%s\">", colour[e->shown]);
  if (!isnan(e->value) && (e->shown == PERP_SHOWN_YES || e->shown == PERP_SHOWN_NO))
    perp_html(page->out, "%s", isinf(e->value) ? "never" : perp_number(e->value, number));
  perp_html(page->out, "<br><small>%s", perp_shown_name(e->shown));
  if (e->shown == PERP_SHOWN_FAILED) perp_html(page->out, ": %s", e->why);
  if (e->unsolved) perp_html(page->out, ", <span class=\"mark\">unsolved</span>");
  perp_html(page->out, "</small></td>");
}

/* OWNER/NAME#NUMBER is a thread. */
static void symptoms_source(perp_page *page, const char *source)
{
  const char *hash = strchr(source, '#');
  if (hash == NULL || strchr(source, '/') == NULL || strchr(source, ' ') != NULL) {
    perp_html(page->out, "%s", source);
    return;
  }
  const char *place = perp_pool_printf(&page->pool, "https://github.com/%.*s/issues/%s",
                                       (int)(hash - source), source, hash + 1);
  perp_html(page->out, "<a href=\"%s\">%s</a>", place, source);
}

void perp_page_symptoms(perp_page *page)
{
  const perp_study *s = page->study;
  if (s->n_symptoms == 0) return;
  const perp_symptom_entry *e = perp_results_symptoms(page->ctx, page->results);
  perp_html(page->out,
            "<h2 id=\"symptoms\">Who shows what</h2>\n<p class=\"note\">A run <span class=\"bad\">"
            "shows it</span> where its figure is above the bound of the row. <em>Unsuited</em>: it "
            "lacks what the scene needs, and nothing is said.</p>\n<div "
            "class=\"scroll\"><table><tr><th>what is reported</th><th>of</th><th>bound</th>");
  for (int k = 0; k < s->n_symptom_columns; k++)
    perp_html(page->out, "<th class=\"n\">%s</th>", s->symptom_columns[k].name);
  perp_html(page->out, "</tr>\n");
  for (int i = 0; i < s->n_symptoms; i++) {
    const perp_symptom *p = &s->symptoms[i];
    perp_html(page->out, "<tr><td class=\"text\">%s<br><small>", p->text);
    symptoms_source(page, p->source);
    perp_html(page->out,
              "</small></td><td class=\"wrap\">%s</td><td class=\"wrap\"><code>%s</code></td>",
              p->of, perp_symptom_bound(&page->pool, s, p));
    for (int k = 0; k < s->n_symptom_columns; k++) symptoms_entry(page, e++);
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n<dl>\n");
  for (int k = 0; k < s->n_symptom_columns; k++)
    perp_html(page->out, "<dt><code>%s</code></dt><dd>%s</dd>\n", s->symptom_columns[k].name,
              s->symptom_columns[k].text);
  perp_html(page->out, "</dl>\n");
}
