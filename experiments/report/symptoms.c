/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Who shows what: the symptoms that the study names against its columns, each with its figure. */
#include "experiments/results/symptoms.h"
#include "experiments/report/page.h"

#include <math.h>

static void symptoms_entry(perp_page *page, const perp_symptom_entry *e)
{
  static const char *const colour[] = {
    [PERP_SHOWN_NOT_ASKED] = "",        [PERP_SHOWN_NO] = "",
    [PERP_SHOWN_YES] = " bad",          [PERP_SHOWN_DEPENDS] = " mark",
    [PERP_SHOWN_NOTHING] = " unsuited", [PERP_SHOWN_UNSUITED] = " unsuited",
    [PERP_SHOWN_FAILED] = " mark",      [PERP_SHOWN_NOT_RUN] = " unsuited"
  };
  perp_html(page->out, "<td class=\"n%s\">", colour[e->shown]);
  if (e->shown == PERP_SHOWN_YES || e->shown == PERP_SHOWN_NO || e->shown == PERP_SHOWN_DEPENDS)
    perp_html(page->out, "%s",
              isinf(e->value) ? "never" : perp_pool_printf(&page->pool, "%.2g", e->value));
  else
    perp_html(page->out, "<small>%s%s%s</small>", perp_shown_name(e->shown),
              e->shown == PERP_SHOWN_FAILED ? ": " : "",
              e->shown == PERP_SHOWN_FAILED ? e->why : "");
  if (e->shown == PERP_SHOWN_YES) perp_html(page->out, "<br><small>shows it</small>");
  if (e->shown == PERP_SHOWN_DEPENDS)
    perp_html(page->out, "<br><small>from %s; shown in %d of %d runs</small>",
              perp_pool_printf(&page->pool, "%.2g", e->least), e->showing, e->runs);
  if (e->unsolved) perp_html(page->out, "<br><small class=\"mark\">unsolved</small>");
  perp_html(page->out, "</td>");
}

static void symptoms_source(perp_page *page, const char *source)
{
  const char *link = perp_symptom_link(&page->pool, source);
  if (link == NULL)
    perp_html(page->out, "%s", source);
  else
    perp_html(page->out, "<a href=\"%s\">%s</a>", link, source);
}

void perp_page_symptoms(perp_page *page)
{
  const perp_study *s = page->study;
  if (s->n_symptoms == 0) return;
  const perp_symptom_entry *e = perp_results_symptoms(page->ctx, page->results);
  perp_html(
      page->out,
      "<h3 id=\"symptoms\">Reported problems and where they occur</h3>\n<p class=\"note\">A "
      "run <span class=\"bad\">shows</span> the problem if its value exceeds the bound of "
      "the row. If only some of the equivalent runs show it, the entry has the largest and "
      "the smallest value. <em>Unsuited</em>: the method lacks a feature that the scene requires. "
      "Empty: not tested.</p>\n<div class=\"scroll\"><table class=\"tight\"><tr><th "
      "class=\"head\">reported problem, engine and bound</th>");
  for (int k = 0; k < s->n_symptom_columns; k++)
    perp_html(page->out, "<th class=\"n\">%s</th>", s->symptom_columns[k].name);
  perp_html(page->out, "</tr>\n");
  for (int i = 0; i < s->n_symptoms; i++) {
    const perp_symptom *p = &s->symptoms[i];
    perp_html(page->out, "<tr><td class=\"text\">%s<br>%s%s", p->text, p->of,
              p->of[0] != '\0' ? ", " : "");
    symptoms_source(page, p->source);
    perp_html(page->out, "<br><code>%s</code></td>", perp_symptom_bound(&page->pool, s, p));
    for (int k = 0; k < s->n_symptom_columns; k++) symptoms_entry(page, e++);
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n<dl>\n");
  for (int k = 0; k < s->n_symptom_columns; k++)
    perp_html(page->out, "<dt><code>%s</code></dt><dd>%s</dd>\n", s->symptom_columns[k].name,
              s->symptom_columns[k].text);
  perp_html(page->out, "</dl>\n");
}
