/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a study found out, as members of report.json: the answers, tables and verdicts that terminal
 * and LaTeX print too.  The page only lays them out. */
#include "experiments/base/messages.h"
#include "experiments/base/files.h"
#include "experiments/answers/findings.h"
#include "experiments/report/page.h"
#include "experiments/results/endings.h"
#include "experiments/results/replicate.h"
#include "experiments/results/symptoms.h"
#include "experiments/results/warned.h"
#include "experiments/study/words.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- answers ---- */

static void findings_answer(perp_page *page, perp_json *j, const perp_answer *a)
{
  perp_json_members(j, "{ ask %s, asked %s, text %s, basis %s, note %s", a->question->ask, a->asked,
                    a->text, a->basis, a->note);
  perp_json_members(j, "counted? %d, by %s, apart_by %s", a->question->kind == PERP_ASK_MOST,
                    a->n_lines > 0 ? a->by : "", a->n_lines > 0 ? a->apart_by : "");
  perp_json_texts(j, "who", a->who, a->n_who);
  perp_json_open(j, "lines", '[');
  for (int i = 0; i < a->n_lines; i++) {
    const perp_answer_line *line = &a->line[i];
    perp_json_members(
        j, "{ apart %s, brief %s, limit %s, condition %s, words %s, who %s, second %s", line->apart,
        line->brief, line->limit, line->condition, line->words, line->who, line->second);
    perp_json_real(j, "value", line->value);
    perp_json_real(j, "next", line->next);
    perp_json_open(j, "entries", '[');
    for (int k = 0; k < a->n_who; k++) {
      const perp_answer_entry *e = &line->entry[k];
      perp_json_members(j, "{ text %s, class %s }", perp_answer_entry_text(&page->pool, a, e),
                        e->best                                         ? "best"
                        : e->cell >= 0                                  ? ""
                        : strcmp(e->why, "unsuited") == 0 || !e->why[0] ? "unsuited"
                                                                        : "mark");
    }
    perp_json_members(j, "] }");
  }
  perp_json_members(j, "] }");
}

static void findings_answers(perp_page *page, perp_json *j)
{
  const perp_answer *answer;
  const int n = perp_results_answers(page->ctx, page->results, &answer);
  perp_json_open(j, "answers", '[');
  for (int i = 0; i < n; i++) findings_answer(page, j, &answer[i]);
  perp_json_members(j, "] left_out %s, counts: {", perp_results_left_out(page->results));
  for (int s = 0; s < PERP_CELL_STATUSES; s++)
    if (page->results->count[s] > 0)
      perp_json_int(j, perp_cell_status_names[s], page->results->count[s]);
  perp_json_members(j, "} proved %d, schema_1 %d, accept_unsolved %g",
                    perp_results_proved(page->results), page->results->as_recorded,
                    page->study->accept.unsolved);
}

static void findings_claims(perp_page *page, perp_json *j)
{
  const int n = page->study->n_claims;
  perp_json_open(j, "claims", '[');
  if (n > 0) {
    const perp_claim_result *result = perp_results_claims(page->ctx, page->results);
    for (int i = 0; i < n; i++) {
      const perp_claim_result *c = &result[i];
      const bool absent = perp_expr_absent(c->claim->expr) != NULL;
      perp_json_members(j, "{ text %s, test %s, verdict %s, sides %s", c->claim->text,
                        c->claim->expr_text, perp_verdict_name(c->verdict),
                        absent ? perp_claim_sides(&page->results->pool, c) : "");
      perp_json_bool(j, "proved", c->verdict == PERP_CLAIM_PROVED);
      perp_json_real(j, "measured", c->left);
      perp_json_close(j, '}');
    }
  }
  perp_json_close(j, ']');
}

/* ---- tables of some studies ---- */

static void findings_symptoms(perp_page *page, perp_json *j)
{
  static const char *const colour[] = {
    [PERP_SHOWN_NOT_ASKED] = "",       [PERP_SHOWN_NO] = "",
    [PERP_SHOWN_YES] = "bad",          [PERP_SHOWN_DEPENDS] = "mark",
    [PERP_SHOWN_NOTHING] = "unsuited", [PERP_SHOWN_UNSUITED] = "unsuited",
    [PERP_SHOWN_FAILED] = "mark",      [PERP_SHOWN_NOT_RUN] = "unsuited"
  };
  const perp_study *s = page->study;
  if (s->n_symptoms == 0) return;
  const perp_symptom_entry *e = perp_results_symptoms(page->ctx, page->results);
  perp_json_members(j, "symptoms: { columns: [");
  for (int k = 0; k < s->n_symptom_columns; k++)
    perp_json_members(j, "{ name %s, text %s }", s->symptom_columns[k].name,
                      s->symptom_columns[k].text);
  perp_json_members(j, "] rows: [");
  for (int i = 0; i < s->n_symptoms; i++) {
    const perp_symptom *p = &s->symptoms[i];
    perp_json_members(j, "{ text %s, of %s, source %s, link %s, bound %s, entries: [", p->text,
                      p->of, p->source, perp_symptom_link(&page->pool, p->source),
                      perp_symptom_bound(&page->pool, s, p));
    for (int k = 0; k < s->n_symptom_columns; k++, e++) {
      perp_json_members(j, "{ verdict %s, class %s, why %s, runs %d, showing %d, unsolved? %d",
                        perp_shown_name(e->shown), colour[e->shown], e->why, e->runs, e->showing,
                        e->unsolved);
      perp_json_members(j, "measured? %d, shown? %d, depends? %d",
                        e->shown == PERP_SHOWN_YES || e->shown == PERP_SHOWN_NO ||
                            e->shown == PERP_SHOWN_DEPENDS,
                        e->shown == PERP_SHOWN_YES, e->shown == PERP_SHOWN_DEPENDS);
      perp_json_real(j, "value", e->value);
      perp_json_real(j, "least", e->least);
      perp_json_close(j, '}');
    }
    perp_json_members(j, "] }");
  }
  perp_json_members(j, "] }");
}

static void findings_replicate(perp_page *page, perp_json *j)
{
  const perp_replicate *all = &page->study->replicate;
  if (all->n_rows == 0) return;
  const perp_replicate_result *list = perp_results_replicate(page->ctx, page->results);
  perp_json_open(j, "replicate", '[');
  for (int k = 0; k < all->n_papers; k++) {
    const perp_replicate_count count = perp_replicate_counted(page->study, list, k);
    if (count.rows == 0) continue;
    perp_json_members(j, "{ paper %s, count %s, rows: [", all->paper[k],
                      perp_replicate_count_text(&page->pool, &count));
    for (int i = 0; i < all->n_rows; i++) {
      static const char *const colour[] = { "good", "bad", "mark" };
      const perp_replicate_result *p = &list[i];
      const perp_replicate_row *row = p->row;
      if (row->paper != k) continue;
      perp_json_members(j, "{ at %s, states %s, printed %s, derived %s, reading %s, missing %s",
                        row->at, row->states, row->printed, row->derived, row->reading,
                        row->missing);
      perp_json_members(j, "test %s, evidence %s, wrong_condition %s, stated %s, measured %s",
                        row->measured_text, row->evidence_text, row->twin_text,
                        perp_replicate_stated_text(&page->pool, row),
                        perp_replicate_measured_text(&page->pool, p));
      perp_json_members(j, "verdict %s, class %s, confirmed? %d, declared %s, why %s }",
                        perp_replicate_word(p), p->confirmed ? colour[p->verdict] : "bad",
                        p->confirmed, perp_replicated_names[row->declared], p->why);
    }
    perp_json_members(j, "] }");
  }
  perp_json_close(j, ']');
}

/* The best of each curve, as \perpSummary of tables.tex shows them too. */
static void findings_summary(perp_page *page, perp_json *j)
{
  enum { MOST = 40, COLUMNS = 24 };
  if (!perp_page_has(page, page->study->metrics.primary) || perp_page_has_problems(page)) return;
  int row[MOST];
  const char *shown[COLUMNS];
  const int n = perp_page_ranked(page, row, MOST),
            columns = perp_page_shown_metrics(page, shown, COLUMNS);
  const double x = perp_page_shown_x(page);
  perp_json_open(j, "summary", '{');
  perp_json_bool(j, "complete", n < MOST);
  perp_json_text(j, "abscissa", isnan(x) ? "" : perp_page_abscissa(page));
  perp_json_real(j, "x", x);
  const char *label[MOST];
  perp_json_text(j, "constant", perp_page_labels(page, row, n, label));
  perp_json_texts(j, "metrics", shown, columns);
  perp_json_open(j, "rows", '[');
  for (int i = 0; i < n; i++) {
    perp_json_members(j, "{ run %d, label %s, mark %s", row[i], label[i],
                      perp_view_mark(&page->pool, &page->view, row[i]));
    perp_json_open(j, "values", '[');
    for (int k = 0; k < columns; k++)
      perp_json_real(j, NULL, perp_page_value(page, row[i], shown[k]));
    perp_json_members(j, "] best: [");
    for (int k = 0; k < columns; k++)
      perp_json_bool(j, NULL, perp_page_best_of_scene(page, row, n, i, shown[k]));
    perp_json_members(j, "] }");
  }
  perp_json_members(j, "] }");
}

/* Published figures beside ours, a row for each choice of what the source leaves open. */
static void findings_published(perp_page *page, perp_json *j)
{
  const perp_study *study = page->study;
  int *row = perp_pool_alloc(&page->pool, (size_t)page->results->plan.n + 1, sizeof *row);
  perp_json_open(j, "published", '[');
  for (int i = 0; i < study->n_published; i++) {
    const char *metric = study->published[i].metric;
    perp_json_members(j, "{ metric %s, words %s, source %s, where %s", metric,
                      perp_page_title(page, metric), study->published[i].source,
                      study->published[i].where_text);
    perp_json_real(j, "value", study->published[i].value);
    perp_json_ints(j, "cells", row, perp_page_published_cells(page, i, row));
    perp_json_close(j, '}');
  }
  perp_json_members(j, "] variants: [");
  perp_variant *variant;
  const int n = study->n_published == 0 ? 0
                                        : perp_results_variants(page->ctx, page->results, &variant);
  for (int v = 0; v < n; v++) {
    perp_json_members(j, "{ label %s", variant[v].label);
    perp_json_real(j, "factor", pow(10, variant[v].mismatch));
    perp_json_open(j, "values", '[');
    for (int i = 0; i < study->n_published; i++) {
      const int cell = variant[v].cell[i];
      if (cell >= 0 && !perp_results_wins(page->results, cell))
        perp_json_text(j, NULL, perp_cell_status_names[page->results->record[cell].status]);
      else
        perp_json_real(j, NULL,
                       cell < 0 ? (double)NAN
                                : perp_page_value(page, cell, study->published[i].metric));
    }
    perp_json_members(j, "] }");
  }
  perp_json_close(j, ']');
}

/* failure-matrix(PART): the worst ending of each part on each scene. */
static void findings_endings(perp_page *page, perp_json *j)
{
  perp_endings e;
  if (!perp_results_endings(page->results, &e)) return;
  perp_json_members(j, "endings: { part %s", e.part);
  perp_json_texts(j, "rows", e.rows.text, e.rows.n);
  perp_json_texts(j, "scenes", e.scenes.text, e.scenes.n);
  perp_json_open(j, "fields", '['); /* row by row; null: nothing was run */
  for (int k = 0; k < e.rows.n * e.scenes.n; k++) {
    const perp_ending *a = &e.at[k];
    if (a->worst == PERP_CELL_PLANNED)
      perp_json_raw(j, NULL, "null");
    else
      perp_json_members(j, "{ status %s, n %d, of %d, run %d, failed? %d }",
                        perp_cell_status_names[a->worst], a->n, a->of, a->cell,
                        a->worst > PERP_CELL_FIXED_WORK);
  }
  perp_json_members(j, "] }");
}

static void findings_warnings(perp_page *page, perp_json *j)
{
  perp_tally warnings;
  const char **text = perp_results_warnings(page->results, &page->pool, &warnings);
  perp_json_open(j, "warnings", '[');
  for (int k = 0; k < warnings.n; k++)
    perp_json_members(j, "{ n %d, text %s, run %d }", warnings.count[k].n, text[k],
                      warnings.count[k].first);
  perp_json_close(j, ']');
  free(warnings.count);
}

/* ---- what was used ---- */

/* Is this text the plug-in `name`, with options or without? */
static bool findings_plugin(const char *text, const char *name)
{
  size_t n = strlen(name);
  if (strncmp(text, name, n) != 0) return false;
  return text[n] == '\0' || (text[n] == ':' && strcspn(text + n, "=") < strlen(text + n));
}

static void findings_card(perp_json *j, perp_kind kind, const perp_desc *d)
{
  perp_json_members(j, "{ kind %s, name %s, summary %s, equation %s, reference %s, options: [",
                    perp_kind_name(kind), d->name, d->summary, d->equation, d->reference);
  for (const perp_opt *o = d->opts; o != NULL && o->type != PERP_OPT_END; o++) {
    char range[256];
    perp_opt_range(o, range, sizeof range);
    perp_json_members(j, "{ key %s, range %s, unit %s, help %s }", o->key, range, o->unit, o->help);
  }
  perp_json_members(j, "] }");
}

static void findings_methods(perp_page *page, perp_json *j)
{
  const perp_cell_kind *kind = page->study->kind;
  perp_json_open(j, "methods", '[');
  for (int p = 0; p < perp_kind_params(kind); p++) {
    if (kind->params[p].type != PERP_PARAM_PLUGIN) continue;
    const perp_desc *d;
    for (int i = 0; (d = perp_plugin_at(page->ctx, kind->params[p].plugin, i)) != NULL; i++)
      for (int r = 0; r < page->results->plan.n; r++)
        if (findings_plugin(perp_view_text(&page->view, r, p), d->name)) {
          findings_card(j, kind->params[p].plugin, d);
          break;
        }
  }
  perp_json_members(j, "] definitions: [");
  for (int i = 0; i < page->study->metrics.n_record; i++) {
    const perp_metric *m = perp_study_metric(page->study, page->study->metrics.record[i]);
    double least, most;
    if (m == NULL) continue;
    perp_json_members(j, "{ name %s, meaning %s, unit %s", m->name, m->meaning, m->unit);
    if (perp_results_compared(page->results, m->name, &least, &most))
      perp_json_reals(j, "comparisons", (double[]){ least, most }, 2);
    perp_json_close(j, '}');
  }
  perp_json_close(j, ']');
}

static void findings_environment(perp_page *page, perp_json *j)
{
  perp_text unlike = { 0 };
  perp_results_unlike(page->results, &unlike);
  perp_json_text(j, "unlike", unlike.n > 0 ? unlike.s : "");
  perp_text_free(&unlike);
  perp_json_open(j, "environment", '[');
  for (int i = 0; i < page->results->n_envs; i++) {
    json_t *env = perp_json_read_file(perp_pool_printf(
        &page->pool, "%s/env/%s.json", page->results->envs[i].dir, page->results->envs[i].id));
    char *text = json_is_object(env) ? json_dumps(env, JSON_COMPACT) : NULL;
    perp_json_raw(j, NULL, text != NULL ? text : "{}");
    free(text);
    json_decref(env);
  }
  perp_json_close(j, ']');
  const char *path = perp_pool_printf(&page->pool, "%s/study.yaml", page->dir);
  char *study = perp_read_file(path, NULL);
  if (study == NULL) perp_say_unread(path);
  perp_json_text(j, "study_file", study != NULL ? study : "");
  free(study);
}

void perp_page_findings(perp_page *page, perp_json *j)
{
  perp_findings_json(page->ctx, page->results, j);
  findings_answers(page, j);
  findings_claims(page, j);
  findings_symptoms(page, j);
  findings_replicate(page, j);
  findings_summary(page, j);
  findings_published(page, j);
  findings_endings(page, j);
  findings_warnings(page, j);
  findings_methods(page, j);
  findings_environment(page, j);
}
