/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The sections of a report that are tables and text. */
#include "experiments/report/page.h"
#include "experiments/answers/answers.h"
#include "experiments/results/warned.h"
#include "experiments/study/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What tells a cell from the others, without the parameter `left_out` (-1: with all). */
static const char *label_without(perp_page *page, int row, int left_out)
{
  const perp_view *v = &page->view;
  const char *label = perp_view_label(&page->pool, v, row, left_out);
  if (v->x_name == NULL) return label[0] == '\0' ? "the only run" : label;
  if (strcmp(v->x_name, "tol") == 0) return label; /* it says so */
  int name = (int)strcspn(v->x_name, " ");
  return perp_pool_printf(&page->pool, "%s%s%.*s = %.6g", label, label[0] == '\0' ? "" : ", ", name,
                          v->x_name, v->x[row]);
}

const char *perp_page_row_label(perp_page *page, int row)
{
  return label_without(page, row, -1);
}

/* ---- answers ---- */

static void sections_counts(perp_page *page)
{
  perp_html(page->out, "<p class=\"note\">%d runs: ", page->results->plan.n);
  bool first = true;
  for (int s = 0; s < PERP_CELL_STATUSES; s++) {
    if (page->results->count[s] == 0) continue;
    perp_html(page->out, "%s%d %s", first ? "" : ", ", page->results->count[s],
              perp_cell_status_names[s]);
    first = false;
    if (s == PERP_CELL_OK && perp_results_proved(page->results) > 0)
      perp_html(page->out, " (%d of these proved that no solution exists)",
                perp_results_proved(page->results));
  }
  perp_html(page->out, ".");
  if (page->study->accept.unsolved > 0)
    perp_html(page->out, " The study lets a run win with up to %m %% of unsolved problems.",
              100 * page->study->accept.unsolved);
  perp_html(page->out, "</p>\n");
  if (page->results->as_recorded > 0)
    perp_html(page->out,
              "<p class=\"note mark\">%d runs have results of schema 1, in which ok means that the "
              "run reached its end, not that all of its problems were solved.</p>\n",
              page->results->as_recorded);
}

/* The comparisons behind an answer: a row for each competitor where they are few, else one for each
 * comparison. */
static void answer_rows(perp_page *page, const perp_answer *a)
{
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    perp_html(page->out, "<tr><td>%s</td><td title=\"%s\">%s</td><td class=\"text\">%s</td>",
              line->apart, line->condition, line->words, line->who[0] != '\0' ? line->who : "-");
    if (a->question->kind == PERP_ASK_MOST)
      perp_html(page->out, "<td class=\"n\">%d</td>", isnan(line->value) ? 0 : (int)line->value);
    else
      perp_html(page->out, "<td class=\"n\">%m</td>", line->value);
    perp_html(page->out, "<td>%s</td><td class=\"n\">%m</td></tr>\n", line->second, line->next);
  }
}

static void answer_columns(perp_page *page, const perp_answer *a)
{
  perp_html(page->out, "<tr><th>%s</th>", a->by);
  for (int i = 0; i < a->n_lines; i++)
    perp_html(page->out, "<th class=\"n\">%s%s%s</th>", a->line[i].brief,
              a->line[i].limit[0] != '\0' ? " " : "", a->line[i].limit);
  perp_html(page->out, "</tr>\n");
  for (int k = 0; k < a->n_who; k++) {
    perp_html(page->out, "<tr><td><code>%s</code></td>", a->who[k]);
    for (int i = 0; i < a->n_lines; i++) {
      const perp_answer_entry *e = &a->line[i].entry[k];
      const char *colour = e->best                                         ? " best"
                           : e->cell >= 0                                  ? ""
                           : strcmp(e->why, "unsuited") == 0 || !e->why[0] ? " unsuited"
                                                                           : " mark";
      perp_html(page->out, "<td class=\"n%s\">%s</td>", colour,
                perp_answer_entry_text(&page->pool, a, e));
    }
    perp_html(page->out, "</tr>\n");
  }
}

static void answer_table(perp_page *page, const perp_answer *a)
{
  enum { COLUMNS_MOST = 16 };
  if (a->n_lines == 0 || a->n_who < 2) return;
  const bool columns = a->n_lines <= COLUMNS_MOST;
  perp_html(page->out,
            "<details><summary>%d comparison%s of %d competitors</summary><div "
            "class=\"scroll\"><table>\n",
            a->n_lines, a->n_lines == 1 ? "" : "s", a->n_who);
  if (!columns)
    perp_html(page->out,
              "<tr><th>%s</th><th>at</th><th>best</th><th class=\"n\">value</th><th>next</th><th "
              "class=\"n\">value</th></tr>\n",
              a->apart_by);
  if (columns)
    answer_columns(page, a);
  else
    answer_rows(page, a);
  perp_html(page->out, "</table></div></details>\n");
}

/* The test of a claim is folded: it may be long, and few read it. */
static void sections_claims(perp_page *page)
{
  int n = page->study->n_claims;
  if (n == 0) return;
  const perp_claim_result *result = perp_results_claims(page->ctx, page->results);
  perp_html(page->out,
            "<h3>Claims</h3>\n<div class=\"scroll\"><table><tr><th>claim</th><th>verdict</th><th "
            "class=\"n\">measured</th></tr>\n");
  for (int i = 0; i < n; i++) {
    const perp_claim_result *c = &result[i];
    const bool absent = perp_expr_absent(c->claim->expr) != NULL;
    perp_html(
        page->out,
        "<tr><td class=\"wrap\">%s<details><summary>test</summary><code>%s</code></details></td>"
        "<td class=\"%s\">%s%s</td><td class=\"n\">%m</td></tr>\n",
        c->claim->text, c->claim->expr_text, c->verdict == PERP_CLAIM_PROVED ? "good" : "bad",
        perp_verdict_name(c->verdict), absent ? perp_claim_sides(&page->results->pool, c) : "",
        c->left);
  }
  perp_html(page->out, "</table></div>\n");
}

void perp_page_answers(perp_page *page)
{
  const perp_answer *answer;
  const int n = perp_results_answers(page->ctx, page->results, &answer);
  perp_html(page->out, "<div class=\"answer\"><ul>\n");
  for (int i = 0; i < n; i++) {
    perp_html(page->out, "<li>");
    if (answer[i].question->ask[0] != '\0')
      perp_html(page->out, "<strong>%s</strong><br>\n", answer[i].question->ask);
    perp_html(page->out, "<span title=\"%s\">%s</span>", answer[i].asked, answer[i].text);
    if (answer[i].basis[0] != '\0' || answer[i].note[0] != '\0')
      perp_html(page->out, " <small class=\"note\">%s%s%s</small>", answer[i].basis,
                answer[i].basis[0] != '\0' && answer[i].note[0] != '\0' ? " " : "", answer[i].note);
    answer_table(page, &answer[i]);
    perp_html(page->out, "</li>\n");
  }
  perp_page_best_match(page);
  perp_html(page->out, "</ul>\n");
  const char *left_out = perp_results_left_out(page->results);
  if (left_out[0] != '\0') perp_html(page->out, "<p class=\"note\">%s</p>\n", left_out);
  sections_counts(page);
  perp_html(page->out, "</div>\n");
  perp_page_symptoms(page);
  perp_page_replicate(page);
  sections_claims(page);
}

/* ---- summary ---- */

const char *perp_page_scene(const perp_page *page, int row)
{
  return perp_view_text(&page->view, row, perp_kind_param(page->study->kind, "scene"));
}

/* One step, one size for all: only there are figures of different curves alike.  Under error
 * control the tolerance is the method's own. */
static bool ranked_alike(const perp_page *page, int row, double x)
{
  return isnan(x) || page->view.x[row] == x || perp_view_adaptive(&page->view, row);
}

int perp_page_ranked(perp_page *page, int *cell, int most)
{
  const perp_view *v = &page->view;
  const char *primary = page->study->metrics.primary;
  const double x = perp_page_shown_x(page);
  const bool size = v->x_name != NULL && strncmp(v->x_name, "h ", 2) != 0;
  const double sign = perp_study_metric(page->study, primary)->better > 0 ? -1 : 1;
  perp_ranked *list = perp_pool_alloc(&page->pool, (size_t)v->n_groups + 1, sizeof *list);
  perp_names scene = { 0 };
  int n = 0, kept = 0;
  for (int g = 0; g < v->n_groups; g++) {
    perp_ranked best = { -1, 3, HUGE_VAL, 0 };
    for (int i = 0; i < v->group[g].n; i++) {
      const int row = v->group[g].cell[i];
      const double value = sign * perp_page_value(page, row, primary);
      const int group = perp_results_group(page->results, row);
      if (perp_view_stands(v, row) && !isnan(value) && ranked_alike(page, row, x) &&
          (group < best.group || (group == best.group && value < best.key)))
        best = (perp_ranked){ row, group, value, 0 };
    }
    if (best.cell >= 0) list[n++] = best;
  }
  perp_ranked_sort(list, n);
  for (int i = 0; i < n && !size; i++)
    perp_names_index(&page->pool, &scene, perp_page_scene(page, list[i].cell), -1);
  /* scene by scene: errors in one say nothing about those in another */
  for (int k = 0; k < (size ? 1 : scene.n); k++)
    for (int i = 0; i < n && kept < most; i++)
      if (size || strcmp(perp_page_scene(page, list[i].cell), scene.text[k]) == 0)
        cell[kept++] = list[i].cell;
  return kept;
}

int perp_page_shown_metrics(perp_page *page, const char **metric, int most)
{
  const perp_study *s = page->study;
  const char *primary = s->metrics.primary, *time = "time.step_us";
  int n = 0;
  bool told = strcmp(primary, time) == 0;
  metric[n++] = primary;
  for (int i = 0; i < s->metrics.n_record && n < most - 1; i++) {
    const char *name = s->metrics.record[i];
    if (strcmp(name, primary) == 0 || !perp_page_has(page, name)) continue;
    told = told || strcmp(name, time) == 0;
    metric[n++] = name;
  }
  if (!told && perp_page_has(page, time)) metric[n++] = time;
  return n;
}

/* Is this the best of its scene in the column? */
static bool summary_best(const perp_page *page, const int *row, int n, int i, const char *metric)
{
  const int better = perp_study_metric(page->study, metric)->better;
  const double value = perp_page_value(page, row[i], metric);
  if (better == 0 || isnan(value) || !perp_results_wins(page->results, row[i])) return false;
  for (int k = 0; k < n; k++)
    if (perp_results_wins(page->results, row[k]) &&
        strcmp(perp_page_scene(page, row[k]), perp_page_scene(page, row[i])) == 0 &&
        better * (perp_page_value(page, row[k], metric) - value) > 0)
      return false;
  return true;
}

void perp_page_summary(perp_page *page)
{
  enum { MOST = 40, COLUMNS = 24 };
  const char *primary = page->study->metrics.primary;
  if (!perp_page_has(page, primary) || perp_page_has_problems(page)) return;
  int row[MOST], n = perp_page_ranked(page, row, MOST);
  const char *shown[COLUMNS];
  const int n_shown = perp_page_shown_metrics(page, shown, COLUMNS);
  const double x = perp_page_shown_x(page);
  perp_html(page->out,
            "<h2 id=\"summary\">Summary</h2>\n<p class=\"note\">All combinations, sorted by the %s "
            "for each scene",
            perp_words(primary));
  if (!isnan(x))
    perp_html(page->out, ", at %s = %m (methods with error control: at their tolerance)",
              perp_page_abscissa(page), x);
  perp_html(page->out,
            "%s. Green: the best of the scene. Runs with a status other than ok are listed last "
            "and cannot be the best.</p>\n<div class=\"scroll\"><table><tr><th>combination</th>",
            n == MOST ? "; the first 40 are shown" : "");
  for (int k = 0; k < n_shown; k++)
    perp_html(page->out, "<th class=\"n head\" title=\"%s\">%s</th>", shown[k],
              perp_page_title(page, shown[k]));
  perp_html(page->out, "</tr>\n");
  for (int i = 0; i < n; i++) {
    perp_html(page->out, "<tr><td>%s", perp_page_row_label(page, row[i]));
    const char *mark = perp_view_mark(&page->pool, &page->view, row[i]);
    if (mark[0] != '\0') perp_html(page->out, " <small class=\"mark\">%s</small>", mark);
    perp_html(page->out, "</td>");
    for (int k = 0; k < n_shown; k++)
      perp_html(page->out, "<td class=\"n%s\">%m</td>",
                summary_best(page, row, n, i, shown[k]) ? " best" : "",
                perp_page_value(page, row[i], shown[k]));
    perp_html(page->out, "</tr>\n");
  }
  perp_html(page->out, "</table></div>\n");
}

/* ---- failures ---- */

/* The value of the parameter that is compared, "" without one. */
static const char *subject_of(const perp_page *page, int row)
{
  const perp_view *v = &page->view;
  int lcp = perp_page_has_problems(page) ? perp_kind_param(page->study->kind, "lcp") : -1;
  return lcp >= 0          ? perp_view_text(v, row, lcp)
         : v->subject >= 0 ? perp_view_text(v, row, v->axis[v->subject])
                           : "";
}

/* The colour of how a cell ended: what went wrong, what only has to be known, what is right. */
static const char *record_class(const perp_record *rec)
{
  return rec->status == PERP_CELL_OK ? (strcmp(rec->reason, "infeasible") == 0 ? "good" : "")
         : rec->status == PERP_CELL_UNSUITED ? "unsuited"
         : perp_cell_whole(rec->status)      ? "mark"
                                             : "bad";
}

/* One line for the cells of a subject that failed for one reason, the most frequent first. */
static void failures_by_reason(perp_page *page, const int *row, int n)
{
  perp_tally failures = { 0 };
  for (int i = 0; i < n; i++) {
    const perp_record *rec = &page->results->record[row[i]];
    perp_tally_add(&failures,
                   perp_pool_printf(&page->pool, "%d %s %s", rec->status, rec->reason,
                                    subject_of(page, row[i])),
                   row[i]);
  }
  perp_tally_sort(&failures);
  perp_html(
      page->out,
      "<div class=\"scroll\"><table><tr><th "
      "class=\"n\">runs</th><th>of</th><th>status</th><th>reason</th><th>example</th></tr>\n");
  for (int k = 0; k < failures.n; k++) {
    const int first = failures.count[k].first;
    const perp_record *rec = &page->results->record[first];
    perp_html(page->out,
              "<tr><td class=\"n\">%d</td><td><code>%s</code></td><td "
              "class=\"%s\">%s</td><td>%s</td><td class=\"wrap\">%s (<code>%s</code>)</td></tr>\n",
              failures.count[k].n, subject_of(page, first), record_class(rec),
              perp_cell_status_names[rec->status], rec->reason, rec->cause,
              page->results->plan.cells[first].id);
  }
  free(failures.count);
  perp_html(page->out, "</table></div>\n");
}

void perp_page_warned(perp_page *page)
{
  perp_tally warnings;
  const char **text = perp_results_warnings(page->results, &page->pool, &warnings);
  if (warnings.n > 0)
    perp_html(page->out,
              "<h2 id=\"warned\">Warnings</h2>\n<p class=\"note\">A run with a warning may be ok: "
              "it reached its end, but its figures show a loss that the status does not "
              "say.</p>\n<div class=\"scroll\"><table><tr><th class=\"n\">runs</th><th>warning"
              "</th><th>first example</th></tr>\n");
  for (int k = 0; k < warnings.n; k++)
    perp_html(
        page->out,
        "<tr><td class=\"n\">%d</td><td class=\"wrap\">%s</td><td><code>%s</code></td></tr>\n",
        warnings.count[k].n, text[k], page->results->plan.cells[warnings.count[k].first].id);
  if (warnings.n > 0) perp_html(page->out, "</table></div>\n");
  free(warnings.count);
}

void perp_page_failures(perp_page *page)
{
  enum { FEW = 12 };
  const perp_results *results = page->results;
  const int fixed = results->count[PERP_CELL_FIXED_WORK],
            unsuited = results->count[PERP_CELL_UNSUITED];
  int failed = 0;
  int *row = perp_pool_alloc(&page->pool, (size_t)results->plan.n + 1, sizeof *row);
  for (int r = 0; r < results->plan.n; r++)
    if (results->record[r].status != PERP_CELL_OK &&
        results->record[r].status != PERP_CELL_UNSUITED &&
        results->record[r].status != PERP_CELL_FIXED_WORK)
      row[failed++] = r;
  perp_html(page->out, "<h2 id=\"failures\">Failures</h2>\n");
  if (fixed > 0)
    perp_html(page->out,
              "<p class=\"note\">%d runs used a fixed number of sweeps (<span "
              "class=\"mark\">fixed-work</span>). Their residual is their result; no problem "
              "counts as solved.</p>\n",
              fixed);
  if (unsuited > 0)
    perp_html(page->out,
              "<p class=\"note\">%d runs are <span class=\"unsuited\">unsuited</span>: outside the "
              "domain that the method declares. They do not count as failures.</p>\n",
              unsuited);
  if (failed == 0) {
    perp_html(page->out,
              page->results->as_recorded > 0
                  ? "<p>No failure is recorded: every run reached its end. Results of schema 1 do "
                    "not say whether all problems were solved.</p>\n"
              : fixed > 0
                  ? "<p>No failures: every other run reached its end and solved all problems.</p>\n"
                  : "<p>No failures: every run reached its end and solved all problems.</p>\n");
    return;
  }
  perp_html(page->out,
            "<p class=\"note\">A failed run is a result and is listed with its cause. "
            "An <span class=\"mark\">unsolved</span> run reached its end with unsolved "
            "problems; one with <span class=\"mark\">several solutions</span> solved them, but "
            "others have another motion. The values of both are shown with a mark and "
            "cannot win. The values of a run that stopped early are those up to that time.</p>\n");
  const int shown = failed < PERP_PAGE_ROWS ? failed : PERP_PAGE_ROWS;
  if (failed > FEW) {
    failures_by_reason(page, row, failed);
    perp_html(page->out, "<details><summary>%s %d of these runs</summary>\n",
              shown < failed ? "the first" : "all", shown);
  }
  perp_html(page->out, "<div "
                       "class=\"scroll\"><table><tr><th>run</th><th>combination</th><th>status</"
                       "th><th>reason</th><th>cause</th></tr>\n");
  for (int i = 0; i < shown; i++) {
    const perp_record *rec = &page->results->record[row[i]];
    perp_text label = { 0 };
    perp_cell_label(page->study, &page->results->plan.cells[row[i]], &label);
    perp_html(page->out,
              "<tr><td><code>%s</code></td><td>%s</td><td class=\"%s\">%s</td><td>%s</td><td "
              "class=\"wrap\">%s</td></tr>\n",
              page->results->plan.cells[row[i]].id, label.s != NULL ? label.s : "",
              record_class(rec), perp_cell_status_names[rec->status], rec->reason, rec->cause);
    perp_text_free(&label);
  }
  perp_html(page->out, "</table></div>\n");
  if (failed > FEW) perp_html(page->out, "</details>\n");
}

/* ---- cells ---- */

void perp_page_cells(perp_page *page)
{
  const char *primary = page->study->metrics.primary;
  const int shown = page->results->plan.n < PERP_PAGE_ROWS ? page->results->plan.n : PERP_PAGE_ROWS;
  perp_html(page->out,
            "<h2 id=\"cells\">All runs</h2>\n<p class=\"note\"><code>perp show %s RUN</code> "
            "prints everything about one run. The command in its row repeats "
            "it.</p>\n<details><summary>%s%d runs</summary><div "
            "class=\"scroll\"><table><tr><th>run</th><th>combination</th><th>status</th><th "
            "class=\"n\">%s</th><th>command</th></tr>\n",
            page->dir, shown < page->results->plan.n ? "the first " : "", shown,
            perp_page_title(page, primary));
  for (int r = 0; r < shown; r++) {
    const perp_record *rec = &page->results->record[r];
    char buf[32];
    perp_html(page->out,
              "<tr><td><code>%s</code></td><td>%s</td><td class=\"%s\">%s</td><td class=\"n\">%m",
              page->results->plan.cells[r].id, perp_page_row_label(page, r), record_class(rec),
              perp_record_mark(rec, buf), perp_page_value(page, r, primary));
    if (rec->partial)
      perp_html(page->out, "<br><small class=\"mark\">up to t = %m s</small>", rec->reached);
    perp_html(page->out, "</td><td><code>%s</code></td></tr>\n", perp_page_command(page, r));
  }
  perp_html(page->out, "</table></div>");
  if (shown < page->results->plan.n)
    perp_html(page->out,
              "<p class=\"note\">All %d runs are in <code>%s/derived/cells.csv</code>.</p>",
              page->results->plan.n, page->dir);
  perp_html(page->out, "</details>\n");
}

/* ---- method cards ---- */

/* Is this text the plug-in `name`, with options or without? */
static bool is_plugin(const char *text, const char *name)
{
  size_t n = strlen(name);
  if (strncmp(text, name, n) != 0) return false;
  return text[n] == '\0' || (text[n] == ':' && strcspn(text + n, "=") < strlen(text + n));
}

static void sections_card(perp_page *page, perp_kind kind, const perp_desc *d)
{
  perp_html(page->out, "<details><summary><code>%s %s</code> &ndash; %s</summary>\n",
            perp_kind_name(kind), d->name, d->summary);
  if (d->equation != NULL) perp_html(page->out, "<pre>%s</pre>\n", d->equation);
  perp_html(page->out, "<p class=\"note\">Source: %s</p>\n", d->reference);
  if (d->opts != NULL) {
    perp_html(page->out, "<div "
                         "class=\"scroll\"><table><tr><th>option</th><th>range</th><th>unit</"
                         "th><th>meaning</th></tr>\n");
    for (const perp_opt *o = d->opts; o->type != PERP_OPT_END; o++) {
      char range[256];
      perp_opt_range(o, range, sizeof range);
      perp_html(page->out, "<tr><td><code>%s</code></td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
                o->key, range, o->unit, o->help);
    }
    perp_html(page->out, "</table></div>\n");
  }
  perp_html(page->out, "</details>\n");
}

void perp_page_methods(perp_page *page)
{
  const perp_cell_kind *kind = page->study->kind;
  perp_html(page->out, "<h2 id=\"methods\">Methods of this study</h2>\n");
  for (int p = 0; p < perp_kind_params(kind); p++) {
    if (kind->params[p].type != PERP_PARAM_PLUGIN) continue;
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(page->ctx, kind->params[p].plugin, i)) != NULL; i++)
      for (int r = 0; r < page->results->plan.n; r++)
        if (is_plugin(perp_view_text(&page->view, r, p), d->name)) {
          sections_card(page, kind->params[p].plugin, d);
          break;
        }
  }
}

/* ---- definitions, environment ---- */

void perp_page_definitions(perp_page *page)
{
  perp_html(page->out, "<h2 id=\"definitions\">Definitions</h2>\n<dl>\n");
  for (int i = 0; i < page->study->metrics.n_record; i++) {
    const perp_metric *m = perp_study_metric(page->study, page->study->metrics.record[i]);
    double least, most;
    if (m == NULL) continue;
    perp_html(page->out, "<dt><code>%s</code></dt><dd>%s%s%s%s", m->name, m->meaning,
              m->unit[0] ? " [" : "", m->unit, m->unit[0] ? "]" : "");
    if (perp_results_compared(page->results, m->name, &least, &most))
      perp_html(page->out, ". Comparisons in a run: %m to %m", least, most);
    perp_html(page->out, "</dd>\n");
  }
  perp_html(page->out, "<dt><code>time.step_us</code></dt><dd>Mean thread CPU time of one step, "
                       "without the computation of metrics [us]</dd>\n</dl>\n");
}
