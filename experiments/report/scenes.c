/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Studies of several scenes without an abscissa: a table of the parts that are compared against the
 * scenes, with the primary figure of each run or the reason why there is none. */
#include "experiments/report/page.h"

#include <string.h>

enum { SCENES_LEAST = 3, SCENES_MOST = 60, ROWS_MOST = 200 };

const char *perp_page_brief_scene(perp_page *page, const char *text)
{
  char *out = perp_pool_alloc(&page->pool, 2 * strlen(text) + 1, 1),
       *to = out; /* a space per comma */
  int digits = 0;
  for (const char *s = text; *s != '\0'; s++) {
    bool number = (*s >= '0' && *s <= '9') || *s == '.';
    digits = number ? digits + 1 : 0;
    if (digits > 8) continue;
    *to++ = *s;
    if (*s == ',') *to++ = ' ';
  }
  *to = '\0';
  return out;
}

static void scenes_field(perp_page *page, int cell, const char *metric)
{
  if (cell < 0) {
    perp_html(page->out, "<td></td>");
    return;
  }
  const perp_record *record = &page->results->record[cell];
  if (!perp_view_stands(&page->view, cell)) {
    const char *why = record->reason[0] != '\0' ? record->reason
                                                : perp_cell_status_names[record->status];
    perp_html(page->out, "<td class=\"%s\">%s</td>",
              record->status == PERP_CELL_UNSUITED ? "unsuited" : "bad", why);
    return;
  }
  double value = perp_page_value(page, cell, metric);
  const char *mark = perp_view_mark(&page->pool, &page->view, cell);
  perp_html(page->out, "<td class=\"n\">%m", value);
  if (mark[0] != '\0') perp_html(page->out, "<br><small class=\"mark\">%s</small>", mark);
  perp_html(page->out, "</td>");
}

void perp_page_scenes(perp_page *page)
{
  const perp_view *v = &page->view;
  const int cells = page->results->plan.n, column = perp_kind_param(page->study->kind, "scene");
  const char *metric = page->study->metrics.primary;
  perp_names scene = { 0 }, row = { 0 };
  if (column < 0 || v->x_name != NULL) return;
  int *at = perp_pool_alloc(&page->pool, (size_t)SCENES_MOST * ROWS_MOST, sizeof *at);
  for (int i = 0; i < SCENES_MOST * ROWS_MOST; i++) at[i] = -1;
  for (int c = 0; c < cells; c++) {
    int s = perp_names_index(&page->pool, &scene, perp_view_text(v, c, column), SCENES_MOST);
    int r = perp_names_index(&page->pool, &row, perp_view_label(&page->pool, v, c, column),
                             ROWS_MOST);
    if (s >= 0 && r >= 0) at[r * SCENES_MOST + s] = c;
  }
  if (scene.n < SCENES_LEAST || row.n < 2) return;
  perp_html(page->out,
            "<h2 id=\"scenes\">Results on each scene</h2>\n<p class=\"note\">Value of "
            "the %s for each run, or the cause of its absence. <em>unsolved</em>: share of "
            "problems left unsolved. <em>fixed-work</em>: the run used a fixed number of "
            "sweeps. <em>several solutions</em>: others have another motion.</p>\n<div "
            "class=\"scroll\"><table><tr><th></th>",
            perp_page_title(page, metric));
  for (int s = 0; s < scene.n; s++)
    perp_html(page->out, "<th class=\"head\">%s</th>", perp_page_brief_scene(page, scene.text[s]));
  perp_html(page->out, "</tr>\n");
  for (int r = 0; r < row.n; r++) {
    perp_html(page->out, "<tr><td><code>%s</code></td>", row.text[r]);
    for (int s = 0; s < scene.n; s++) scenes_field(page, at[r * SCENES_MOST + s], metric);
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n");
}
